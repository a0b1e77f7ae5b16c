"""Levels of categorical columns that were read from a file."""

import math
from collections.abc import Iterator
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from skrank.export._attributes import array_of, attribute, checked_array, error_of
from skrank.preprocessing import QueryTargetEncoder
from skrank.trees import CategoryEncoder


def check_category_encoder(encoder: CategoryEncoder) -> None:
    """Raise an error if an encoder of categories cannot have learned its attributes.

    Parameters
    ----------
    encoder : CategoryEncoder
        Encoder that was read from a file.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind or of the wrong shape.
    """
    mask = array_of(encoder, "is_categorical_", [np.bool_], (None,))
    columns = array_of(encoder, "columns_", [np.int64], (None,))
    known = np.flatnonzero(mask)
    if not np.isin(columns, known).all() or not (np.diff(columns) > 0).all():
        raise error_of(encoder, "columns_", "ascending categorical columns", columns)
    check_levels(encoder, len(columns))
    numbers = attribute(encoder, "numbers_", list, "a list of arrays")
    if len(numbers) != len(columns):
        accepted = f"a list of {len(columns)} arrays, one for each column"
        raise error_of(encoder, "numbers_", accepted, numbers)
    for k, (of_column, levels) in enumerate(zip(numbers, encoder.levels_)):
        name = f"numbers_[{k}]"
        checked_array(encoder, name, of_column, [np.int64], (len(levels),))
        most = encoder.max_levels
        if len(levels) and not 0 <= of_column.min() <= of_column.max() < most:
            raise error_of(encoder, name, f"numbers below {most}", of_column)


def check_target_encoder(encoder: QueryTargetEncoder) -> None:
    """Raise an error if target statistics cannot be those that an encoder has learned.

    Parameters
    ----------
    encoder : QueryTargetEncoder
        Encoder that was read from a file.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind or of the wrong shape, or a
        statistic is not finite.
    """
    n = attribute(encoder, "n_features_in_", int, "a whole number >= 1")
    columns = array_of(encoder, "columns_", [np.int64], (None,))
    ascend = (np.diff(columns) > 0).all()
    if not (ascend and (columns >= 0).all() and (columns < n).all()):
        raise error_of(encoder, "columns_", f"ascending numbers below {n}", columns)
    if "feature_names_in_" in vars(encoder):
        array_of(encoder, "feature_names_in_", [np.dtype(object)], (n,))
    check_levels(encoder, len(columns))
    encodings = attribute(encoder, "encodings_", list, "a list of arrays")
    if len(encodings) != len(columns):
        accepted = f"a list of {len(columns)} arrays, one for each column"
        raise error_of(encoder, "encodings_", accepted, encodings)
    for k, (of_column, levels) in enumerate(zip(encodings, encoder.levels_)):
        name = f"encodings_[{k}]"
        # The last one is that of missing values.
        checked_array(encoder, name, of_column, [np.float64], (len(levels) + 1,))
        if not np.isfinite(of_column).all():
            raise error_of(encoder, name, "finite", of_column)


def check_levels(owner: Any, n_columns: int) -> None:
    """Raise an error unless there are the levels of some number of columns.

    Parameters
    ----------
    owner : BaseEstimator
        Estimator with an attribute ``levels_``.
    n_columns : int
        Number of columns.

    Raises
    ------
    ValueError
        If levels are missing, neither strings nor finite numbers, or do not ascend.
    """
    levels = attribute(owner, "levels_", list, "a list of arrays")
    if len(levels) != n_columns:
        accepted = f"a list of {n_columns} arrays, one for each column"
        raise error_of(owner, "levels_", accepted, levels)
    for k, of_column in enumerate(levels):
        name = f"levels_[{k}]"
        if not isinstance(of_column, np.ndarray) or of_column.ndim != 1:
            raise error_of(owner, name, "an array of one dimension", of_column)
        if of_column.dtype.kind not in "biufUO" or not _ascend(of_column.tolist()):
            raise error_of(owner, name, "ascending numbers, then strings", of_column)


def _ascend(levels: list) -> bool:
    keys = []
    for level in levels:
        is_text = isinstance(level, str)
        if not is_text and not (isinstance(level, Real) and not math.isnan(level)):
            return False
        keys.append((is_text, level))
    return all(first < second for first, second in pairwise(keys))


def levels_by_column(estimator: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the columns whose values an estimator looks up, with the levels it knows.

    Parameters
    ----------
    estimator : BaseEstimator
        An encoder of levels, a ranker with one, or anything else, which knows none.

    Yields
    ------
    column : int
        Number of a column.
    levels : ndarray of shape (n_levels,)
        Numbers ascending, then strings ascending.
    """
    encoder = getattr(estimator, "encoder_", estimator)
    if isinstance(encoder, (CategoryEncoder, QueryTargetEncoder)):
        columns = getattr(encoder, "columns_", np.empty(0, dtype=np.int64))
        yield from zip(columns.tolist(), getattr(encoder, "levels_", ()))


def add_encoder(ranker: Any) -> None:
    """Give trees of an older version, which know no levels, an encoder without any.

    Parameters
    ----------
    ranker : BaseTreeRanker
        Ranker that was read from a file and has not been checked.
    """
    bins = vars(ranker).get("bin_mapper_")
    mask = getattr(bins, "is_categorical_", None)
    if "encoder_" in vars(ranker) or not isinstance(mask, np.ndarray):
        return
    encoder = CategoryEncoder()
    encoder.is_categorical_ = mask.copy()
    encoder.columns_ = np.empty(0, dtype=np.int64)
    encoder.levels_, encoder.numbers_ = [], []
    ranker.encoder_ = encoder
