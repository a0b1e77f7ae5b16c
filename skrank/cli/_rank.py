"""``skrank rank``: rankings as a TREC run."""

import argparse

from skrank._core._messages import on_one_line
from skrank.cli._errors import CommandError
from skrank.cli._io import lines_of_run, write_lines
from skrank.cli._options import check_tag
from skrank.cli._predict import scored
from skrank.datasets import Run
from skrank.datasets._container import document_names
from skrank.datasets._trec import check_fields


def run(args: argparse.Namespace) -> None:
    """Rank the documents of every query of a file."""
    if args.k is not None and args.k < 1:
        raise CommandError(f"-k must be at least 1, got {args.k}")
    check_tag(args.tag)
    _, data, scores = scored(args)
    names = document_names(data)
    _check_names(data, names, args.data)
    ranked = Run(data.groups, names, scores, args.tag)
    write_lines(lines_of_run(ranked, args.tag, args.k), args.output)


def _check_names(data, names, path):
    """Raise an error if a run cannot hold the names of queries and documents."""
    try:
        check_fields(data.groups, names, len(data.groups))
    except (TypeError, ValueError) as error:  # of bytes, twins, what breaks a line
        raise CommandError(f"{on_one_line(path)}: {error}") from error
