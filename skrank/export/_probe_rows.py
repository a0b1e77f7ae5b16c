"""Rows by which estimators are tried that were read from a file."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from skrank.base import BaseRanker
from skrank.export._attributes import error_of
from skrank.export._level_state import rows_of_levels

# Numbers that are tried: both sides of most thresholds and units.
PROBE = (0.0, 1.0, -1.0)
# More features than this are tried as CSR rows, where they take no memory.
MANY_FEATURES = 100_000


def probe_rows(estimator: Any, n_features: int) -> Any:
    """Return a few rows that an estimator takes, with names where it knows names.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted estimator.
    n_features : int
        Number of its features.

    Returns
    -------
    ndarray, CSR matrix or DataFrame of shape (3, n_features)

    Raises
    ------
    ValueError
        If a part of the estimator takes columns that there are not.
    """
    if n_features > MANY_FEATURES and getattr(estimator, "_accepts_sparse", False):
        return sparse.csr_matrix((len(PROBE), n_features))
    probe = np.array(PROBE)
    if getattr(estimator, "method", None) == "box-cox":  # for positive numbers only
        probe = np.exp(probe)
    rows = np.repeat(probe[:, None], n_features, axis=1)
    if isinstance(estimator, BaseRanker):
        return rows_of_levels(estimator, rows)
    known = dict(_known_names(estimator, n_features))
    if known:
        rows = rows.astype(object)
        for column, name in known.items():
            rows[:, column] = name
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    try:
        import pandas as pd
    except ImportError:
        return rows
    frame = pd.DataFrame(rows, columns=cast(Any, names))
    return frame.infer_objects() if known else frame


def _known_names(estimator: Any, n_features: int) -> Iterator[tuple[int, Any]]:
    """Yield columns whose values encoders look up, with a value that they know."""
    if isinstance(estimator, ColumnTransformer):
        for _, part, columns in estimator.transformers_:
            places = _places(estimator, columns, n_features)
            for at, name in _known_names(part, len(places)):
                yield places[at], name
    elif isinstance(estimator, Pipeline):
        yield from _known_names(estimator.steps[0][1], n_features)
    elif isinstance(estimator, FeatureUnion):
        for _, part in estimator.transformer_list:
            yield from _known_names(part, n_features)
    else:
        categories = getattr(estimator, "categories_", ())
        for at, known in enumerate(categories[:n_features]):
            yield at, known[0]


def _places(estimator: Any, columns: Any, n_features: int) -> list[int]:
    """Return the numbers of columns that are given by number, by name or by a mask."""
    names: list[Any] = list(getattr(estimator, "feature_names_in_", ()))
    try:
        if isinstance(columns, slice):
            start, stop = columns.start, columns.stop
            if isinstance(start, str):
                start = names.index(start)
            if isinstance(stop, str):  # which belongs to the slice
                stop = names.index(stop) + 1
            columns = slice(start, stop, columns.step)
        else:
            columns = np.atleast_1d(columns)
            if not columns.size:
                return []
            if columns.dtype.kind in "OU":
                columns = [names.index(name) for name in columns.tolist()]
        return np.arange(n_features)[columns].tolist()
    except (IndexError, TypeError, ValueError):
        accepted = "triples of a name, a transformer and columns that there are"
        raise error_of(estimator, "transformers_", accepted, columns) from None
