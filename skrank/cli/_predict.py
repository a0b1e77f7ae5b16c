"""``skrank predict``: one score per line."""

import argparse

import numpy as np
from sklearn.base import BaseEstimator

from skrank._core._inner import needs_groups
from skrank.cli._io import Documents, read_letor, source, write_lines
from skrank.cli._models import n_features_of_model, naming_files, predict_scores
from skrank.cli._options import refuse_unused
from skrank.cli._tables import check_columns, columns_of_model, read_table
from skrank.export import load_model


def run(args: argparse.Namespace) -> None:
    """Score the documents of a file."""
    _, _, scores = scored(args, by_query=False)
    write_lines(map(repr, scores.tolist()), args.output)


def scored(
    args: argparse.Namespace, *, by_query: bool = True
) -> tuple[BaseEstimator, Documents, np.ndarray]:
    """Return the model and the documents that the arguments name, and their scores.

    Where the result does not go by query, only some models need to know the queries.
    """
    limit = args.max_bytes
    model = load_model(source(args.model, limit), max_bytes=limit)
    width = n_features_of_model(model)
    needs_qid = by_query or needs_groups(model)
    if check_columns(args, {"data": args.data}, needs_qid=needs_qid):
        refuse_unused(args, "on tables", ("jobs",))
        data = read_table(args, args.data, columns_of_model(model))
    else:
        data = read_letor(args.data, width, n_jobs=args.jobs, max_bytes=limit)
    with naming_files(args.data):
        return model, data, predict_scores(model, data)
