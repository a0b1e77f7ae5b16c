"""What all splitters by query share.

A splitter deals with whole queries: it assigns numbers of queries to folds and leaves
it to the base class to turn them into rows. Queries are numbered in the order of their
ids, so the folds do not depend on the order of the rows, and the rows of a fold come
out query after query in that order, which is what libraries that want sorted query ids
need, and what keeps a prefix of the training rows from cutting more than one query.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._validation import n_rows, resolve_groups


def _order_of_ids(ids):
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

    def __init__(self, groups):
        index = QueryIndex.from_groups(groups, canonical=True)
        self._index = index
        self._place = None
        if index.ids.dtype == object:
            self._place = np.array(_order_of_ids(index.ids), dtype=np.intp)
        self.ids = index.ids if self._place is None else index.ids[self._place]
        self.sizes = index.sizes if self._place is None else index.sizes[self._place]

    def __len__(self):
        return self._index.n_queries

    @property
    def codes(self):
        """Number of the query of each input row, shape (n_samples,)."""
        codes = self._index.codes
        if self._place is not None:
            number = np.empty_like(self._place)
            number[self._place] = np.arange(len(number))
            codes = number[codes]
        return self._index.restore(codes)

    def rows(self, queries):
        """Input rows of some queries, query after query in the order of their ids."""
        queries = np.sort(queries)
        if self._place is not None:
            queries = self._place[queries]
        rows, _ = rows_of_queries(self._index.ptr, queries)
        return rows if self._index.order is None else self._index.order[rows]


def queries_of(X, y, groups, caller):
    """Number the queries of a call; ids come from groups or a pandas 'qid' level."""
    n_samples = n_rows(X if X is not None else y)
    groups = resolve_groups(groups, y, X, n_samples=n_samples, caller=caller)
    return Queries(groups)


def check_count(value, name, minimum):
    """Raise unless a parameter is an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")


def check_enough_queries(n_queries, needed, splitter):
    """Raise if there are fewer queries than folds."""
    if n_queries < needed:
        raise ValueError(
            f"{splitter} needs at least {needed} queries, one for each fold; "
            f"groups holds {n_queries}"
        )


class BaseQuerySplitter(BaseCrossValidator):
    """Base class of splitters that keep every query whole.

    Subclasses implement ``_split_queries(queries, X, y)``, which yields pairs of arrays
    of query numbers. Groups are requested from scikit-learn's metadata routing.
    """

    __metadata_request__split = {"groups": True}

    def split(self, X, y=None, groups=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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
            If there are no groups, their length is wrong or there are too few queries.
        """
        queries = queries_of(X, y, groups, type(self).__name__)
        for train, test in self._split_queries(queries, X, y):
            yield queries.rows(train), queries.rows(test)

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
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
            How many pairs ``split`` yields.
        """
        return self.n_splits

    def _split_queries(self, queries, X, y):
        raise NotImplementedError


def complement(n_queries, chosen):
    """Numbers of the queries that were not chosen."""
    return np.delete(np.arange(n_queries), chosen)
