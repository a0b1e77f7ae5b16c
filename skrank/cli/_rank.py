"""``skrank rank``: rankings as a TREC run."""

import argparse

from skrank._core._messages import on_one_line, shown
from skrank._core._queries import QueryIndex
from skrank.cli._errors import CommandError
from skrank.cli._io import write_lines
from skrank.cli._options import check_tag
from skrank.cli._predict import scored
from skrank.datasets._container import document_names
from skrank.datasets._trec import check_fields, trec_order


def run(args: argparse.Namespace) -> None:
    """Rank the documents of every query of a file."""
    if args.k is not None and args.k < 1:
        raise CommandError(f"-k must be at least 1, got {args.k}")
    check_tag(args.tag)
    _, data, scores = scored(args)
    names = document_names(data)
    _check_names(data, names, args.data)
    write_lines(_lines(data, names, scores, args.tag, args.k), args.output)


def _check_names(data, names, path):
    """Raise an error if a run cannot hold the names of queries and documents."""
    try:
        check_fields(data.groups, names, len(data.groups))
    except (TypeError, ValueError) as error:  # of bytes, or of what breaks a line
        raise CommandError(f"{on_one_line(path)}: {error}") from error
    if data.docids is None:
        return
    pairs = list(zip(data.groups.tolist(), names.tolist()))
    if len(set(pairs)) < len(pairs):
        seen: set = set()
        query, name = next(p for p in pairs if p in seen or seen.add(p))
        raise CommandError(
            f"{on_one_line(path)}: document {shown(name)} occurs twice in query "
            f"{shown(query)}; a run cannot hold both"
        )


def _lines(data, names, scores, tag, k):
    index = QueryIndex.from_groups(data.groups)
    grouped, names = index.take(scores), index.take(names)
    order = trec_order(index.codes, grouped, names)
    for query, start, stop in zip(index.ids.tolist(), index.ptr, index.ptr[1:]):
        for rank, row in enumerate(order[start:stop][:k].tolist(), 1):
            score = float(grouped[row])
            yield f"{query} Q0 {names[row]} {rank} {score!r} {tag}"
