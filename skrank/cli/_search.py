"""``skrank search``: the best documents of queries, as a TREC run."""

import argparse

import numpy as np

from skrank.cli._io import lines_of_run, write_lines
from skrank.cli._options import check_tag
from skrank.cli._texts import read_index, read_queries, search_of
from skrank.datasets import Run


def run(args: argparse.Namespace) -> None:
    """Search an index for queries."""
    tag = args.model if args.tag is None else args.tag
    check_tag(tag)
    index = read_index(args.index, args.max_bytes)
    queries = read_queries(args)
    search = search_of(args, index)
    query_of, document_of, scores = search.find(queries, args.k)
    docids = np.asarray(index.ids_)[document_of]
    found = Run(queries.ids[query_of], docids, scores, tag)
    # A run without documents has no lines.
    write_lines(lines_of_run(found, tag) if len(scores) else (), args.output)
