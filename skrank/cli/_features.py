"""``skrank features``: features of found documents, as LETOR text."""

import argparse
import warnings
from typing import Any

import numpy as np

from skrank._core._messages import on_one_line, shown
from skrank.cli._errors import CommandError
from skrank.cli._io import source, write_lines
from skrank.cli._options import refuse_unused
from skrank.cli._texts import (
    name_list,
    read_index,
    read_queries,
    search_of,
    warn_of_empty,
    write_by_name,
)
from skrank.datasets import dump_letor, load_qrels, load_run, load_tsv_queries
from skrank.text import (
    InvertedIndex,
    LetorFeatures,
    LinkGraph,
    TextCollection,
    letor_table,
)

_OF_SEARCH = ("model", "field", "settings", "rm3", "rm3_settings", "k")
_TABLES = ("gov", "ohsumed", "letor4")


def run(args: argparse.Namespace) -> None:
    """Describe the documents of a search or of a run."""
    if args.run is not None:
        refuse_unused(args, "with --run", _OF_SEARCH)
    index = read_index(args.index, args.max_bytes)
    queries = read_queries(args)
    # All files are read before the search, which may take long.
    judged = _judged(args, queries)
    if args.run is None:
        search = search_of(args, index)
    else:
        search, found = None, _pairs_of_run(args, queries, index)
    given = _given(args, index)
    extractor = _extractor(args, index, given)
    unneeded = given.keys() - extractor._needs()
    refuse_unused(args, "with these features, none of which needs it", unneeded)
    extractor.fit(index, **given)
    if search is not None:
        found = search.find(queries, args.k)[:2]
    query_of, document_of = found
    if not len(query_of):
        raise CommandError("no query has a document, so there is nothing to describe")
    X = extractor.extract(queries.fields["text"], query_of, document_of)
    ids, docids = queries.ids[query_of], np.asarray(index.ids_)[document_of]
    pairs = zip(ids.tolist(), docids.tolist())
    grades = [max(judged.get(pair, 0.0), 0.0) for pair in pairs]
    write_by_name(
        lambda path: dump_letor(X, grades, ids, path, docids=docids), args.output
    )
    if args.names is not None:
        write_lines(extractor.feature_names_, args.names)


def _given(args, index: InvertedIndex) -> dict[str, Any]:
    """Return the links and URLs of the documents, if there are any."""
    given: dict[str, Any] = {}
    names, limit = np.asarray(index.ids_).tolist(), args.max_bytes
    if args.links is None:
        refuse_unused(args, "without --links", ("outside",))
    else:
        given["links"] = LinkGraph.from_file(
            source(args.links, limit), ids=names, outside=args.outside, max_bytes=limit
        )
    if args.urls is not None:
        table = load_tsv_queries(source(args.urls, limit), max_bytes=limit)
        place = table.find(names)
        if (place < 0).any():
            missing = names[int(np.argmax(place < 0))]
            raise CommandError(
                f"{on_one_line(args.urls)} has no URL of {int((place < 0).sum())} "
                f"documents, such as {shown(missing)}"
            )
        given["urls"] = [table.fields["text"][number] for number in place.tolist()]
    return given


def _extractor(args, index: InvertedIndex, given: dict[str, Any]) -> LetorFeatures:
    """Return the extractor that the arguments describe."""
    if args.feature_set is None:
        refuse_unused(args, "without --feature-set", ("links", "urls"))
        return LetorFeatures(fields=name_list(args.fields, "--fields"))
    refuse_unused(args, "with --feature-set", ("fields",))
    if args.feature_set not in _TABLES:
        names = name_list(args.feature_set, "--feature-set")
        return LetorFeatures(feature_set=names)
    known = {"links": "links" in given, "urls": "urls" in given, "topics": False}
    table = letor_table(args.feature_set, fields=index.fields_, **known)
    return LetorFeatures(feature_set=list(table.values()))


def _pairs_of_run(
    args, queries: TextCollection, index: InvertedIndex
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of a run as numbers, query by query."""
    run = load_run(source(args.run, args.max_bytes), max_bytes=args.max_bytes)
    query_of = queries.find(run.groups.tolist())
    place = {name: number for number, name in enumerate(np.asarray(index.ids_))}
    document_of = np.array([place.get(d, -1) for d in run.docids], dtype=np.intp)
    for numbers, names, what, path in (
        (query_of, run.groups, "query", args.queries),
        (document_of, run.docids, "document", args.index),
    ):
        if (numbers < 0).any():
            unknown = str(names[int(np.argmax(numbers < 0))])
            raise CommandError(
                f"{on_one_line(args.run)} has the {what} {shown(unknown)}, which "
                f"{on_one_line(path)} lacks"
            )
    order = np.argsort(query_of, kind="stable")
    warn_of_empty(queries, query_of)
    return query_of[order], document_of[order]


def _judged(args, queries: TextCollection) -> dict[tuple[str, str], float]:
    """Return the grades of pairs of queries and documents, as far as there are any."""
    if args.qrels is None:
        return {}
    qrels = load_qrels(source(args.qrels, args.max_bytes), max_bytes=args.max_bytes)
    unjudged = set(queries.ids.tolist()) - set(qrels.groups.tolist())
    if len(unjudged) == len(queries):
        raise CommandError(
            f"{on_one_line(args.qrels)} judges none of the queries of "
            f"{on_one_line(args.queries)}"
        )
    if unjudged:
        warnings.warn(
            f"{len(unjudged)} of {len(queries)} queries have no judgements, such as "
            f"{shown(min(unjudged))}",
            stacklevel=2,
        )
    pairs = zip(qrels.groups.tolist(), qrels.docids.tolist())
    return dict(zip(pairs, qrels.y.tolist()))
