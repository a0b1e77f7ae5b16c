"""Base class of the splitters, and the queries that they split.

A splitter deals with whole queries: it assigns numbers of queries to folds, and the
base class turns these into rows. Queries are numbered in the order of their ids, so
that the folds do not depend on the order of the rows. The rows of a fold come out query
after query in that order, because some libraries want sorted query ids, and because a
prefix of the training rows then cuts at most one query.
"""

from collections.abc import Generator, Iterator
from dataclasses import field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, Seed
from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._validation import n_rows, resolve_groups

Folds = Annotated[int, Interval(2, None)]
#: Numbers of the training and of the test queries of every split.
QuerySplits = Iterator[tuple[np.ndarray, np.ndarray]]


def _order_of_ids(ids: np.ndarray) -> list[int]:
    """Sort ids of any hashable type; ids that do not compare sort by type and text."""
    numbers = range(len(ids))
    try:
        return sorted(numbers, key=ids.__getitem__)
    except TypeError:
        return sorted(numbers, key=lambda i: (type(ids[i]).__name__, repr(ids[i])))


class Queries:
    """The queries of a data set, numbered in the order of their ids.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        Id of each query.
    sizes : ndarray of shape (n_queries,)
        Number of rows of each query.
    """

    def __init__(self, groups: np.ndarray):
        index = QueryIndex.from_groups(groups, canonical=True)
        self._index = index
        # Place of each query number in the index. The index orders ids that compare;
        # others it leaves in the order of the rows, on which folds must not depend.
        self._place: np.ndarray | None = None
        if index.ids.dtype == object:
            self._place = np.array(_order_of_ids(index.ids), dtype=np.intp)
        self.ids = index.ids if self._place is None else index.ids[self._place]
        self.sizes = index.sizes if self._place is None else index.sizes[self._place]

    def __len__(self) -> int:
        return self._index.n_queries

    @property
    def codes(self) -> np.ndarray:
        """Number of the query of each input row, shape (n_samples,)."""
        codes = self._index.codes
        if self._place is not None:
            number = np.empty_like(self._place)
            number[self._place] = np.arange(len(number))
            codes = number[codes]
        return self._index.restore(codes)

    def rows(self, queries: np.ndarray) -> np.ndarray:
        """Return the input rows of some queries, in the order of the queries' ids."""
        queries = np.sort(queries)
        if self._place is not None:
            queries = self._place[queries]
        rows, _ = rows_of_queries(self._index.ptr, queries)
        return rows if self._index.order is None else self._index.order[rows]


def queries_of(X: Any, y: Any, groups: npt.ArrayLike | None, caller: str) -> Queries:
    """Number the queries of a call, whose ids may come from a pandas index."""
    n_samples = n_rows(X if X is not None else y)
    groups = resolve_groups(groups, y, X, n_samples=n_samples, caller=caller)
    return Queries(groups)


def check_enough_queries(n_queries: int, splitter: Any) -> None:
    """Raise an error if there are fewer queries than a splitter makes folds."""
    needed = splitter.n_splits
    if n_queries < needed:
        raise ValueError(
            f"{type(splitter).__name__}(n_splits={needed}) needs at least {needed} "
            f"queries, one for each fold; groups holds {n_queries}"
        )


class BaseQuerySplitter(Parameters, BaseEstimator, BaseCrossValidator):
    """Base class of the splitters, which keep every query whole.

    Subclasses implement ``_split_queries(queries, X, y)``, which yields pairs of arrays
    of query numbers. Groups are requested from scikit-learn's metadata routing.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    random_state : int, RandomState instance or None, default=None
        Source of randomness; an integer gives the same splits in every call.
    """

    n_splits: Folds = field(default=5, kw_only=False)
    random_state: Seed = None

    __metadata_request__split = {"groups": True}

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    def split(
        self, X: Any, y: Any = None, groups: npt.ArrayLike | None = None
    ) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
        """Yield the rows of the training and of the test queries of every split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The documents; only their number is used.
        y : array-like of shape (n_samples,), default=None
            Relevance grades. A pandas object may carry the queries in an index level
            named ``qid``.
        groups : array-like of shape (n_samples,), default=None
            One query id per row, of any hashable type, in any order.

        Yields
        ------
        train : ndarray of shape (n_train,)
            Rows of the training queries, query after query in the order of their ids.
        test : ndarray of shape (n_test,)
            Rows of the test queries.

        Raises
        ------
        ValueError
            If a parameter is not accepted, there are no groups, their length is wrong,
            or there are too few queries.
        """
        self._check_parameters()
        queries = queries_of(X, y, groups, type(self).__name__)
        for parts in self._split_queries(queries, X, y):
            if not isinstance(parts, tuple | list) or len(parts) != 2:
                raise self._no_numbers(parts, len(queries))
            train, test = (self._checked_part(part, len(queries)) for part in parts)
            yield queries.rows(train), queries.rows(test)

    def _checked_part(self, part: Any, n_queries: int) -> np.ndarray:
        """Return the numbers of queries that a class, of the user's perhaps, chose."""
        found = np.asarray(part)
        whole = found.ndim == 1 and (found.dtype.kind in "iu" or not found.size)
        if whole and found.size:
            whole = found.min() >= 0 and found.max() < n_queries
        if not whole:
            raise self._no_numbers(part, n_queries)
        return found.astype(np.intp)

    def _no_numbers(self, found: Any, n_queries: int) -> ValueError:
        return ValueError(
            f"{type(self).__name__}._split_queries must yield pairs of arrays of "
            f"numbers of queries, from 0 to {n_queries - 1}, got {shown(found)}"
        )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.
        groups : object, default=None
            Ignored.

        Returns
        -------
        int
            Number of pairs that ``split`` yields.
        """
        self._check_parameters()
        return int(self.n_splits)

    def _split_queries(self, queries: Queries, X: Any, y: Any) -> QuerySplits:
        """Yield the numbers of the training and of the test queries."""
        raise NotImplementedError


def complement(n_queries: int, chosen: np.ndarray) -> np.ndarray:
    """Return the numbers of the queries that were not chosen."""
    return np.delete(np.arange(n_queries), chosen)
