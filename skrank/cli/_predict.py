"""``skrank predict``: one score per line."""

import argparse

import numpy as np
from sklearn.base import BaseEstimator

from skrank.cli._io import Documents, read_letor, source, write_lines
from skrank.cli._models import n_features_of_model, naming_files, predict_scores
from skrank.export import load_model


def run(args: argparse.Namespace) -> None:
    """Score the documents of a file."""
    _, _, scores = scored(args)
    write_lines(map(repr, scores.tolist()), args.output)


def scored(args: argparse.Namespace) -> tuple[BaseEstimator, Documents, np.ndarray]:
    """Return the model and the documents that the arguments name, and their scores."""
    limit = args.max_bytes
    model = load_model(source(args.model, limit), max_bytes=limit)
    width = n_features_of_model(model)
    data = read_letor(args.data, width, n_jobs=args.jobs, max_bytes=limit)
    with naming_files(args.data):
        return model, data, predict_scores(model, data)
