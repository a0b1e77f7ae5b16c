"""What a ranking loses if the values of one feature change places."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank._core._columns import column_of, n_columns, with_column


def shuffled_within(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return the rows of each query in an order that is drawn at random.

    Parameters
    ----------
    codes : ndarray of shape (n_documents,)
        Query number of each row, ascending.
    rng : RandomState
        Source of the order.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        The row from which each row takes its value.
    """
    # Sorting by query first and random key second shuffles all queries at once.
    return np.lexsort((rng.random_sample(len(codes)), codes))


def falls_by_permutation(
    X: Any,
    measured: Callable[[Any], float],
    n_repeats: int,
    permutation: Callable[[], np.ndarray],
) -> tuple[float, np.ndarray]:
    """Measure rows as they are, and by how much less if one feature is permuted.

    Parameters
    ----------
    X : array-like, data frame or CSR matrix of shape (n_documents, n_features)
        Rows.
    measured : callable
        Measure of rows.
    n_repeats : int
        Number of permutations of each feature.
    permutation : callable
        Returns the row from which each row takes its value, another one each time.

    Returns
    -------
    before : float
        Measure of the rows.
    falls : ndarray of shape (n_features, n_repeats)
        What it is above that of the rows in which a feature has been permuted.
    """
    before = measured(X)
    falls = np.empty((n_columns(X), n_repeats))
    for repeat in range(n_repeats):
        # All features see the same permutations, so that chance adds the same to each
        # and their differences scatter less.
        rows = permutation()
        for j in range(len(falls)):
            moved = with_column(X, j, column_of(X, j)[rows])
            falls[j, repeat] = before - measured(moved)
    return before, falls
