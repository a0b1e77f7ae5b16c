"""K folds of whole queries: plain, stratified and repeated."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import PositiveInt
from skrank._core._validation import check_grades, n_rows
from skrank.model_selection._base import (
    BaseQuerySplitter,
    Queries,
    QuerySplits,
    check_enough_queries,
    complement,
)

Balanced = Literal["grades", "relevant", "size"]

# Real-valued grades are binned: with a stratum for each of thousands of values, every
# query would differ from all others, and balancing would cost as much as it is useless.
_MAX_STRATA = 32


class QueryKFold(BaseQuerySplitter):
    """K folds of whole queries, each of which is the test set once.

    The queries are cut into ``n_splits`` consecutive parts whose numbers of queries
    differ by at most one, in the order of their ids or, with ``shuffle=True``, in
    random order. The order of the rows does not matter.

    Parameters
    ----------
    shuffle : bool, default=False
        Whether to shuffle the queries before they are cut into parts.

    See Also
    --------
    StratifiedQueryKFold : Folds with about the same distribution of grades.
    LetorFolds : Folds that also have a validation part.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QueryKFold
    >>> groups = np.array(["b", "a", "a", "c", "b", "c"])
    >>> X = np.zeros((6, 1))
    >>> for train, test in QueryKFold(3).split(X, groups=groups):
    ...     print(groups[train], groups[test])
    ['b' 'b' 'c' 'c'] ['a' 'a']
    ['a' 'a' 'c' 'c'] ['b' 'b']
    ['a' 'a' 'b' 'b'] ['c' 'c']
    """

    shuffle: bool = False

    @classmethod
    def _variants(cls):
        return [{}, {"n_splits": 2, "shuffle": True, "random_state": 0}]

    def _split_queries(self, queries: Queries, X: Any, y: Any) -> QuerySplits:
        check_enough_queries(len(queries), self)
        order = np.arange(len(queries))
        if self.shuffle:
            check_random_state(self.random_state).shuffle(order)
        for test in np.array_split(order, self.n_splits):
            yield complement(len(queries), test), test


class RepeatedQueryKFold(BaseQuerySplitter):
    """K folds of whole queries, repeated with a new shuffle each time.

    Parameters
    ----------
    n_repeats : int, default=10
        Number of times that the folds are drawn.

    Examples
    --------
    >>> from skrank.model_selection import RepeatedQueryKFold
    >>> RepeatedQueryKFold(n_splits=2, n_repeats=3).get_n_splits()
    6
    """

    n_repeats: PositiveInt = 10

    @classmethod
    def _variants(cls):
        return [{"random_state": 0}, {"n_splits": 2, "n_repeats": 3, "random_state": 0}]

    def _split_queries(self, queries: Queries, X: Any, y: Any) -> QuerySplits:
        check_enough_queries(len(queries), self)
        rng = check_random_state(self.random_state)
        fold = QueryKFold(self.n_splits, shuffle=True, random_state=rng)
        for _ in range(self.n_repeats):
            yield from fold._split_queries(queries, X, y)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, which is that of folds times that of repeats.

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
        return super().get_n_splits() * int(self.n_repeats)


class StratifiedQueryKFold(BaseQuerySplitter):
    r"""K folds of whole queries with about the same content in every fold.

    Every query has a vector of contents :math:`c_q` (see ``by``), scaled so that each
    component sums to one over all queries. Queries are taken in blocks of ``n_splits``,
    from the fullest to the emptiest, and each fold receives one query of every block: a
    query goes to the open fold :math:`f` that minimises
    :math:`\sum_{q' \in f} c_{q'}^\top c_q`. This is the choice that least increases
    the sum of the squared contents of the folds. Numbers of queries differ by at most
    one between folds.

    Parameters
    ----------
    by : {"grades", "relevant", "size"}, default="grades"
        Content that the folds should share evenly: the number of documents of each
        grade (more than 32 different grades are binned by quantiles), the number of
        documents of a grade above 0, or the number of documents.
    shuffle : bool, default=False
        Whether the queries of a block take their turn in random order.

    Notes
    -----
    Complexity: O(n log n + Q K G) for Q queries, K folds and G grades.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import StratifiedQueryKFold
    >>> groups = np.repeat(np.arange(4), [9, 8, 2, 1])
    >>> X = np.zeros((20, 1))
    >>> for train, test in StratifiedQueryKFold(2, by="size").split(X, groups=groups):
    ...     print(np.unique(groups[test]), len(test))
    [0 3] 10
    [1 2] 10
    """

    by: Balanced = "grades"
    shuffle: bool = False

    @classmethod
    def _variants(cls):
        return [
            {},
            {"by": "relevant", "shuffle": True, "random_state": 0},
            {"by": "size", "n_splits": 2},
        ]

    def _split_queries(self, queries: Queries, X: Any, y: Any) -> QuerySplits:
        check_enough_queries(len(queries), self)
        content = _contents(self.by, queries, X, y)
        rng = check_random_state(self.random_state) if self.shuffle else None
        fold_of = _balance(content, self.n_splits, rng)
        for fold in range(self.n_splits):
            yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


def _contents(by: Balanced, queries: Queries, X: Any, y: Any) -> np.ndarray:
    """Content of each query, (n_queries, n_components), columns summing to one."""
    if by == "size":
        content = queries.sizes[:, None].astype(float)
    else:
        if y is None:
            raise ValueError(f"StratifiedQueryKFold(by={by!r}) needs y, got None")
        strata = _strata(check_grades(y, n_samples=n_rows(X)), by)
        content = np.zeros((len(queries), strata.max() + 1))
        np.add.at(content, (queries.codes, strata), 1.0)
        if by == "relevant":
            content = content[:, -1:] if strata.any() else np.ones_like(content)
    return content / np.maximum(content.sum(axis=0), 1.0)


def _strata(y: np.ndarray, by: Balanced) -> np.ndarray:
    """Return the number of the stratum of each document."""
    if by == "relevant":
        return (y > 0).astype(np.intp)
    grades, strata = np.unique(y, return_inverse=True)
    if len(grades) > _MAX_STRATA:
        edges = np.quantile(y, np.linspace(0, 1, _MAX_STRATA + 1)[1:-1])
        _, strata = np.unique(np.searchsorted(edges, y), return_inverse=True)
    return strata


def _balance(
    content: np.ndarray, n_splits: int, rng: np.random.RandomState | None
) -> np.ndarray:
    """Return the fold of each query."""
    order = np.arange(len(content))
    preference = np.arange(n_splits)  # decides between folds of equal cost
    if rng is not None:
        rng.shuffle(order)
        rng.shuffle(preference)
    # The stable sort keeps the shuffled order of queries with equal content.
    order = order[np.argsort(-content[order].sum(axis=1), kind="stable")]
    fold_of = np.empty(len(content), dtype=np.intp)
    held = np.zeros((n_splits, content.shape[1]))
    # Each fold gets one query of a block, so that their numbers of queries differ by at
    # most one. A greedy choice alone would not ensure this.
    for start in range(0, len(order), n_splits):
        block = order[start : start + n_splits]
        if rng is not None:
            rng.shuffle(block)
        is_open = np.ones(n_splits, dtype=bool)
        for query in block:
            cost = np.where(is_open, held @ content[query], np.inf)[preference]
            fold = preference[np.argmin(cost)]
            is_open[fold] = False
            fold_of[query] = fold
            held[fold] += content[query]
    return fold_of
