"""Random splits of whole queries."""

import numbers
from collections.abc import Callable
from dataclasses import field
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from skrank._core._parameters import Fraction, PositiveInt, Seed
from skrank._core._queries import take_rows
from skrank._core._sparse import check_sparse
from skrank._core._validation import (
    check_arguments,
    n_rows,
    resolve_groups,
)
from skrank.model_selection._base import (
    BaseQuerySplitter,
    Queries,
    QuerySplits,
)

SetSize = Fraction | PositiveInt | None


class QueryShuffleSplit(BaseQuerySplitter):
    """Random test sets of whole queries, drawn anew for each split.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.
    test_size : float or int, default=None
        Share (float in (0, 1)) or number (int) of the queries in the test set. None
        takes the queries that ``train_size`` leaves, or 0.2.
    train_size : float or int, default=None
        Share or number of the queries in the training set. None takes the queries that
        the test set leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QueryShuffleSplit
    >>> groups = np.repeat(np.arange(10), 3)
    >>> splitter = QueryShuffleSplit(2, test_size=0.2, random_state=0)
    >>> for train, test in splitter.split(np.zeros((30, 1)), groups=groups):
    ...     print(np.unique(groups[test]), len(train))
    [2 8] 24
    [3 5] 24
    """

    n_splits: PositiveInt = field(default=5, kw_only=False)
    test_size: SetSize = None
    train_size: SetSize = None

    @classmethod
    def _variants(cls):
        return [
            {"random_state": 0},
            {"n_splits": 1, "test_size": 0.4, "random_state": 0},
            {"test_size": 1, "train_size": 2, "random_state": 0},
        ]

    def _split_queries(self, queries: Queries, X: Any, y: Any) -> QuerySplits:
        n_train, n_test = _set_sizes(len(queries), self.test_size, self.train_size, 0.2)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            order = rng.permutation(len(queries))
            yield order[n_test : n_test + n_train], order[:n_test]


def _n_chosen(
    size: float, n_queries: int, name: str, rounding: Callable[[float], int]
) -> int:
    """Return the number of queries that a share or a number asks for."""
    if not isinstance(size, numbers.Integral):
        return rounding(size * n_queries)
    if size >= n_queries:
        raise ValueError(
            f"{name} as a number of queries must lie between 1 and {n_queries - 1} for "
            f"{n_queries} queries, got {size}"
        )
    return int(size)


def _set_sizes(
    n_queries: int, test_size: SetSize, train_size: SetSize, default: float
) -> tuple[int, int]:
    """Return the numbers of training and of test queries."""
    if test_size is None and train_size is None:
        test_size = default
    n_train = n_test = 0
    # Shares are rounded up for the test set and down for the training set, as in
    # scikit-learn.
    if test_size is not None:
        n_test = _n_chosen(test_size, n_queries, "test_size", ceil)
    if train_size is not None:
        n_train = _n_chosen(train_size, n_queries, "train_size", floor)
    if test_size is None:
        n_test = n_queries - n_train
    elif train_size is None:
        n_train = n_queries - n_test
    if n_train + n_test > n_queries or n_train < 1 or n_test < 1:
        raise ValueError(
            f"test_size={test_size!r} and train_size={train_size!r} ask for {n_train} "
            f"training and {n_test} test queries; there are {n_queries}, and each set "
            "needs at least one"
        )
    return n_train, n_test


def train_test_query_split(
    *arrays: Any,
    groups: npt.ArrayLike | None = None,
    test_size: SetSize = None,
    train_size: SetSize = None,
    shuffle: bool = True,
    random_state: Seed = None,
) -> list[Any]:
    """Split arrays into a training and a test part that hold whole queries.

    Parameters
    ----------
    *arrays : sequence of indexables with n_samples rows
        Arrays, data frames, sparse matrices or lists to split.
    groups : array-like of shape (n_samples,), default=None
        One query id per row. None reads them from the first pandas object whose index
        has a level named ``qid``.
    test_size : float or int, default=None
        Share (float in (0, 1)) or number (int) of the queries in the test part. None
        takes the queries that ``train_size`` leaves, or 0.25.
    train_size : float or int, default=None
        Share or number of the queries in the training part. None takes the queries that
        the test part leaves.
    shuffle : bool, default=True
        Whether to draw the test queries at random. If False, they are the last ones in
        the order of the ids.
    random_state : int, RandomState instance or None, default=None
        Source of randomness of the draw.

    Returns
    -------
    list
        Training part and test part of each array in turn, followed by those of
        ``groups`` if it was given. Rows come query after query in the order of the ids.

    Raises
    ------
    ValueError
        If an argument is not accepted, lengths differ, there are no groups, or a part
        would have no query.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import train_test_query_split
    >>> X, groups = np.arange(8), np.repeat([1, 2, 3, 4], 2)
    >>> X_train, X_test, g_train, g_test = train_test_query_split(
    ...     X, groups=groups, test_size=0.5, random_state=0)
    >>> g_train, g_test
    (array([1, 1, 2, 2]), array([3, 3, 4, 4]))
    """
    if not arrays:
        raise ValueError("train_test_query_split needs at least one array to split")
    check_arguments(
        train_test_query_split,
        test_size=test_size,
        train_size=train_size,
        shuffle=shuffle,
        random_state=random_state,
    )
    for array in arrays:
        check_sparse(array, "arrays")
    lengths = [n_rows(array, "arrays") for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"arrays must have the same number of rows, got {lengths}")
    ids = resolve_groups(
        groups, *arrays, n_samples=lengths[0], caller="train_test_query_split"
    )
    queries = Queries(ids)
    n_train, n_test = _set_sizes(len(queries), test_size, train_size, 0.25)
    if shuffle:
        order = check_random_state(random_state).permutation(len(queries))
    else:
        # The test set is taken from the front, and is to hold the last ids.
        order = np.arange(len(queries))[::-1]
    test = queries.rows(order[:n_test])
    train = queries.rows(order[n_test : n_test + n_train])
    if groups is not None:
        arrays = (*arrays, ids)
    return [take_rows(array, rows) for array in arrays for rows in (train, test)]
