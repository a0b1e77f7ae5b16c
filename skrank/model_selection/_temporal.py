"""Splits of the rows of every query by time."""

from collections.abc import Generator
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from skrank._core._columns import column_of, place_of
from skrank._core._parameters import (
    Fraction,
    NonNegativeInt,
    Parameters,
    PositiveInt,
)
from skrank._core._times import check_times, times_of_index
from skrank._core._validation import n_rows, naming
from skrank.model_selection._base import Queries, queries_of


class TemporalQuerySplit(Parameters, BaseEstimator, BaseCrossValidator):
    r"""Hold out the last rows of every query, by time.

    For recommenders, where a query is a user and its rows are the items that the user
    rated: the ranker learns from the earlier ratings of each user, and is tested on
    the later ones. Unlike the other splitters, this one has rows of the same query on
    both sides. Let query q have :math:`m_q` rows, numbered from 0 in the order of their
    times, and :math:`t_q` test rows in a split. Split :math:`k = 0, \dots, K - 1` has

    .. math:: \text{test} = [s, s + t_q),\quad \text{train} = [0, s - \text{gap}),
              \quad s = m_q - (K - k)\, t_q,

    so that the training sets grow and the last split tests the last rows. A query that
    would be left with fewer than ``min_train_size`` training rows is not tested in that
    split: all its rows before :math:`s + t_q` stay in training.

    Parameters
    ----------
    n_splits : int, default=1
        Number of splits K.
    test_size : float or int, default=0.2
        Share (float in (0, 1), rounded up) or number (int) of the rows of each query in
        one test set. A test set of one row has no order that could be judged.
    gap : int, default=0
        Number of rows of each query that are left out between training and test.
    min_train_size : int, default=1
        Smallest number of training rows of a query that is tested.
    time_column : int or str, default=None
        Number or name of the column of X that holds the times, for callers that pass
        no ``times``. None reads them from a level "time" of the pandas index of ``y``
        or ``X``.

    See Also
    --------
    QueryKFold : Splits in which no query is on both sides.

    Notes
    -----
    Rows of equal times follow each other as they are given, so that a split depends on
    the order of the rows only there. Times are requested from scikit-learn's metadata
    routing, as groups are. Complexity: O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import TemporalQuerySplit
    >>> users = np.array(["ann", "bob", "ann", "ann", "bob", "ann", "bob"])
    >>> times = np.array([3, 5, 1, 2, 4, 4, 6])
    >>> X = np.zeros((7, 1))
    >>> splitter = TemporalQuerySplit(test_size=1)
    >>> for train, test in splitter.split(X, groups=users, times=times):
    ...     print(users[test], times[test], times[train])
    ['ann' 'bob'] [4 6] [1 2 3 4 5]
    """

    n_splits: PositiveInt = field(default=1, kw_only=False)
    test_size: Fraction | PositiveInt = 0.2
    gap: NonNegativeInt = 0
    min_train_size: PositiveInt = 1
    time_column: int | str | None = None

    __metadata_request__split = {"groups": True, "times": True}

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"n_splits": 2, "test_size": 1},
            {"test_size": 2, "gap": 1, "min_train_size": 2},
        ]

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: npt.ArrayLike | None = None,
        times: npt.ArrayLike | None = None,
    ) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
        """Yield the earlier and the later rows of the queries, for every split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The documents, of which only the column ``time_column`` is used.
        y : array-like of shape (n_samples,), default=None
            Relevance grades. The index of a pandas object may carry the queries in a
            level "qid", and the times in a level "time".
        groups : array-like of shape (n_samples,), default=None
            One query id per row, of any hashable type, in any order.
        times : array-like of shape (n_samples,), default=None
            Time of each row: numbers or dates, of which a later one is greater.

        Yields
        ------
        train : ndarray of shape (n_train,)
            Training rows, query after query in the order of their ids, and in the order
            of their times within a query.
        test : ndarray of shape (n_test,)
            Test rows, in the same order.

        Raises
        ------
        ValueError
            If a parameter is not accepted, there are no groups or times, their length
            is wrong, or no query has enough rows for a split.
        """
        self._check_parameters()
        queries = queries_of(X, y, groups, type(self).__name__)
        codes = queries.codes
        order = np.lexsort((self._times(X, y, times), codes))
        first = np.cumsum(queries.sizes) - queries.sizes
        place = np.arange(len(order)) - np.repeat(first, queries.sizes)
        for train, test in self._parts(queries, place):
            yield order[train], order[test]

    def _times(self, X, y, times) -> np.ndarray:
        """Return the time of each row, from where it is given."""
        n = n_rows(X if X is not None else y)
        if times is not None:
            return check_times(times, n)
        if self.time_column is not None:
            if X is None:
                raise ValueError(
                    f"time_column={self.time_column!r} is a column of X, but X is "
                    "None; pass X, or the times by times="
                )
            self._check_one_column(X)
            with naming("time_column"):
                column = column_of(X, place_of(self.time_column, X, "time_column"))
            return check_times(column, n, name="time_column")
        found = times_of_index(y, X)
        if found is None:
            raise ValueError(
                "TemporalQuerySplit needs to know the time of every row: pass times= "
                "(params={'times': times} where scikit-learn routes metadata), name a "
                "column of X by time_column=, or give y a pandas index with a level "
                "named 'time'"
            )
        return check_times(found, n, name="the level 'time'")

    def _check_one_column(self, X) -> None:
        """Refuse a name that several columns have."""
        names = [str(column) for column in getattr(X, "columns", ())]
        if isinstance(self.time_column, str) and names.count(self.time_column) > 1:
            raise ValueError(
                f"time_column: {names.count(self.time_column)} columns are named "
                f"{self.time_column!r}; give the number of one of them"
            )

    def _parts(self, queries: Queries, place: np.ndarray):
        """Yield masks of training and test rows, in the order of queries and times."""
        sizes = queries.sizes
        if not len(sizes):
            raise ValueError("TemporalQuerySplit needs at least one row, got none")
        n_test = np.full(len(sizes), self.test_size)
        if isinstance(self.test_size, float | np.floating):
            # The least excess over a whole number is a rounding error of the product.
            n_test = np.ceil(self.test_size * sizes - 1e-9).astype(np.intp)
            n_test = np.maximum(n_test, 1)
        for k in range(self.n_splits):
            end = sizes - (self.n_splits - 1 - k) * n_test
            n_train = end - n_test - self.gap
            tested = n_train >= self.min_train_size
            if not tested.any():
                raise ValueError(
                    "TemporalQuerySplit finds no query with enough rows for test_size, "
                    f"gap and min_train_size in split {k + 1} of "
                    f"{self.n_splits}; the largest of {len(sizes)} queries has "
                    f"{sizes.max()} rows"
                )
            until = np.where(tested, n_train, end)
            begin = np.where(tested, end - n_test, end)
            train = place < np.repeat(until, sizes)
            test = place >= np.repeat(begin, sizes)
            yield train, test & (place < np.repeat(end, sizes))

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, times: Any = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.
        groups : object, default=None
            Ignored.
        times : object, default=None
            Ignored.

        Returns
        -------
        int
            Number of pairs that ``split`` yields.
        """
        self._check_parameters()
        return int(self.n_splits)
