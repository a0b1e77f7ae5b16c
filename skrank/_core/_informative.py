"""Warnings about training data that say nothing, or not what they are meant to say."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from scipy import sparse

# A gain of 2^10 times the next one leaves the latter less than .1 percent.
_DWARFING_GAP = 10.0

_inside = ContextVar("inside", default=False)
_n_told = ContextVar("n_told", default=0)


class TrainingDataWarning(UserWarning):
    """A ranker can learn nothing from its training data, or not what they mean.

    The message says what was found and what to do about it: every query has a single
    document, all grades or all features of each query are equal, y and groups look
    swapped, one gain of a query dwarfs all others, no validation query prefers a
    document to another, no tree could be split, or the fitted ranker gives all
    documents of a query the same score.

    Examples
    --------
    >>> import warnings
    >>> from skrank.exceptions import TrainingDataWarning
    >>> warnings.simplefilter("error", TrainingDataWarning)  # have it raised
    >>> warnings.simplefilter("default", TrainingDataWarning)  # or shown once
    """


@contextmanager
def inner_fit() -> Iterator[None]:
    """Keep fits of a ranker inside another one from warning of its share of the data.

    The outer ranker has looked at all data, and a part of them may well be without
    preference.
    """
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def is_inner_fit() -> bool:
    """Return whether a fit is one inside another, which warns of nothing."""
    return _inside.get()


def n_warnings() -> int:
    """Return how often data have been warned of so far, for the difference of two."""
    return _n_told.get()


def warn_of_data(message: str) -> None:
    """Warn of training data, unless another ranker does that.

    Parameters
    ----------
    message : str
        What was found, why that matters, and what to do about it.
    """
    if not is_inner_fit():
        _n_told.set(n_warnings() + 1)
        warnings.warn(message, TrainingDataWarning, stacklevel=level_of_caller())


def level_of_caller() -> int:
    """Return how many frames up the user's own code is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("skrank.", "sklearn.")
    ):
        level, frame = level + 1, frame.f_back
    return level


def without_preference(
    y: np.ndarray, n_queries: int, groups_name: str = "groups", y_name: str = "y"
) -> str:
    """Say why no query prefers a document, and what to do about it.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, which are the same within every query.
    n_queries : int
        Number of queries.
    groups_name : str, default="groups"
        Name of the argument that holds the queries.
    y_name : str, default="y"
        Name of the argument that holds the grades.

    Returns
    -------
    str
        Two sentences.
    """
    n = len(y)
    if n == 1:
        return "there is a single document, and nothing to compare it with; pass more"
    if n_queries == n:
        return (
            f"every query has a single document: {groups_name} holds {n} different ids "
            f"for {n} rows, as row numbers do. There is nothing to rank within a "
            "query; pass the query of each row, which the documents of a query share"
        )
    if y.min() == y.max():
        return (
            f"all {n} documents have the same grade, {y[0]:g}. There is no order to "
            f"learn; check {y_name}"
        )
    return (
        f"the documents of each of the {n_queries} queries all have the same grade. "
        "Grades that differ only between queries say nothing about the order within "
        f"one; check whether {y_name} belongs to these rows, and {groups_name} to "
        "their queries"
    )


def same_documents(X: Any, ptr: np.ndarray) -> bool:
    """Return whether the documents of each query have the same features.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Features, grouped by query; missing values equal each other.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    bool
        Whether nothing tells the documents of a query apart. Of data in which the first
        two documents differ no more is read than these.
    """
    for start, stop in zip(ptr[:-1].tolist(), ptr[1:].tolist()):
        for row in range(start + 1, stop):
            if not _same_rows(X, start, row):
                return False
    return True


def _same_rows(X, i, j) -> bool:
    if hasattr(X, "iloc"):
        return X.iloc[i].equals(X.iloc[j])
    if not sparse.issparse(X):
        # Objects, as names of categories are, have no test for NaN.
        return np.array_equal(X[i], X[j], equal_nan=X.dtype.kind in "fc")
    parts = [slice(*X.indptr[row : row + 2]) for row in (i, j)]
    # Zeros may be stored.
    kept = [X.data[part] != 0 for part in parts]
    return all(
        np.array_equal(
            *(array[part][keep] for part, keep in zip(parts, kept)), equal_nan=True
        )
        for array in (X.indices, X.data)
    )


def without_features(X: Any, n_queries: int) -> str:
    """Say how features fail to tell documents apart, and what to do about it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Features, which are the same for all documents of a query.
    n_queries : int
        Number of queries.

    Returns
    -------
    str
        Two sentences.
    """
    if same_documents(X, np.array([0, X.shape[0]])):
        return (
            "every feature has the same value in all rows. Documents without a "
            "difference get equal scores; check X"
        )
    return (
        f"the documents of each of the {n_queries} queries all have the same features. "
        "Features that differ only between queries say nothing about the order within "
        "one; check whether X holds features of documents, and groups their queries"
    )


def dwarfing_gap(y: np.ndarray, ptr: np.ndarray) -> float | None:
    """Return how far the best grade of a typical query exceeds the next one.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    float or None
        The median over queries with two different grades above 0; None where its power
        of 2 does not dwarf other gains.
    """
    if y.max(initial=0.0) <= _DWARFING_GAP:
        return None
    starts, sizes = ptr[:-1], np.diff(ptr)
    starts, sizes = starts[sizes > 0], sizes[sizes > 0]
    best = np.maximum.reduceat(y, starts)
    below = np.where(y < np.repeat(best, sizes), y, 0.0)
    after = np.maximum.reduceat(below, starts)
    gaps = (best - after)[after > 0]
    if not len(gaps):
        return None
    gap = float(np.median(gaps))
    return gap if gap > _DWARFING_GAP else None
