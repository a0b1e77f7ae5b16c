"""Features that are the same for all documents of a query."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._exact import beyond_floats, order_of, values_of
from skrank._core._levels import (
    column_of,
    columns_of_names,
    is_frame,
    levels_of,
    n_columns,
    name_of_column,
    names_of_columns,
)
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._sparse import check_sparse
from skrank._core._tables import refuse_series
from skrank._core._validation import (
    as_numbers,
    n_rows,
    naming,
    resolve_groups,
)
from skrank.inspection._columns import in_order

# Features that vary in fewer queries are told one by one.
_FEW = 0.1
_BLOCK_VALUES = 1 << 22  # values of a matrix that are looked at together


@dataclass(frozen=True, eq=False)
class FeatureVariation:
    """In how many queries each feature varies.

    Attributes
    ----------
    share : ndarray of shape (n_features,)
        Share of the queries of two or more documents in which a feature has more than
        one value; 0 if there is no such query. A missing value differs from others.
    is_query_constant : ndarray of shape (n_features,), dtype bool
        Whether a feature has one value in each query, but not everywhere.
    is_constant : ndarray of shape (n_features,), dtype bool
        Whether a feature has one value in all rows.
    n_queries : int
        Number of queries of two or more documents.
    feature_names : list or None
        Names of the features, where X was a data frame.
    """

    share: np.ndarray
    is_query_constant: np.ndarray
    is_constant: np.ndarray
    n_queries: int
    feature_names: list | None = None

    def to_text(self) -> str:
        """Return a report for people.

        Returns
        -------
        str
            Lines that name the features that vary in no query, or in few of them.
        """
        n_features = len(self.share)
        few = (self.share > 0) & (self.share < _FEW)
        queries = f"{self.n_queries} queries of two or more documents"
        lines = [
            f"{n_features} features in {queries}",
            f"constant within every query: {self._listed(self.is_query_constant)}",
            f"constant in all rows: {self._listed(self.is_constant)}",
            f"varying in fewer than {_FEW:.0%} of the queries: "
            + self._listed(few, with_share=True),
        ]
        return "\n".join(lines)

    def _listed(self, mask, with_share=False) -> str:
        names = self.feature_names
        found = []
        for j in np.flatnonzero(mask).tolist():
            name = str(j) if names is None else str(names[j])
            found.append(f"{name} ({self.share[j]:.1%})" if with_share else name)
        return ", ".join(found) or "none"


def feature_variation(X: Any, groups: npt.ArrayLike | None = None) -> FeatureVariation:
    """Find the features that are the same for all documents of a query.

    Such a feature, the length of the query or the time of day, cannot order documents
    by itself: all documents of a query get the same addend. A linear ranker gains
    nothing from it, and in a tree a split on it pays only through later splits, which
    may then differ between kinds of queries. Complexity: O(n d), or O(e log e) for the
    e stored entries of a sparse matrix.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
        One row per document; a data frame may hold names.
    groups : array-like of shape (n_documents,), default=None
        The query of each row, in any order. If None, the ids are read from a level
        named "qid" of the pandas index of X.

    Returns
    -------
    FeatureVariation
        In how many queries each feature varies; ``to_text()`` is a report.

    Raises
    ------
    ValueError
        If the queries are not known, or X is no table of numbers and names.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.inspection import feature_variation
    >>> X = np.array([[3, 0.1], [3, 0.7], [5, 0.2], [5, 0.2]])
    >>> found = feature_variation(X, groups=[1, 1, 2, 2])
    >>> found.share, found.is_query_constant
    (array([0. , 0.5]), array([ True, False]))
    >>> print(found.to_text())
    2 features in 2 queries of two or more documents
    constant within every query: 0
    constant in all rows: none
    varying in fewer than 10% of the queries: none
    """
    check_sparse(X)
    refuse_series(X)
    n = n_rows(X)
    ids = resolve_groups(groups, X, n_samples=n, caller="feature_variation")
    index = QueryIndex.from_groups(ids)
    if sparse.issparse(X):
        varies, is_constant = _of_sparse(in_order(X), index)
    else:
        varies, is_constant = _of_table(X, index)
    several = index.sizes > 1
    n_queries = int(several.sum())
    return FeatureVariation(
        share=varies / max(n_queries, 1),
        is_query_constant=(varies == 0) & ~is_constant,
        is_constant=is_constant,
        n_queries=n_queries,
        feature_names=names_of_columns(X) or None,
    )


def _of_table(X: Any, index: QueryIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return in how many queries each column varies, and which are constant."""
    d = n_columns(X)
    if not d or not index.n_documents:
        raise ValueError(f"X must have rows and features, got {shown(X)}")
    if is_frame(X):
        named = columns_of_names(X)
        blocks = (_numbers_of_column(X, j, named[j]) for j in range(d))
    else:
        X = _apart(X, "X")
        width = max(1, _BLOCK_VALUES // len(X))
        blocks = (X[:, j : j + width] for j in range(0, d, width))
    found = [_of_block(take_rows(block, _order(index)), index.ptr) for block in blocks]
    varies, is_constant = zip(*found)
    return np.concatenate(varies), np.concatenate(is_constant)


def _order(index: QueryIndex) -> Any:
    return slice(None) if index.order is None else index.order


def _numbers_of_column(X: Any, j: int, is_named: bool) -> np.ndarray:
    """Return a column of a data frame as numbers, shape (n_documents, 1)."""
    column, name = column_of(X, j), name_of_column(X, j)
    with naming("X"):
        values = levels_of(column, name)[1] if is_named else _apart(column, name)
    return values.astype(np.float64)[:, None]


def _apart(values: Any, name: str) -> np.ndarray:
    """Return floats that differ where numbers do, in the order of the numbers."""
    numbers = as_numbers(values, name)
    if not beyond_floats(numbers):
        return numbers
    exact = values_of(values)
    as_text = exact.dtype == object and any(isinstance(v, str) for v in exact.flat)
    return numbers if exact.dtype.kind not in "iuO" or as_text else order_of(exact)


def _of_block(block: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    of_queries = _differ(block, ptr).sum(axis=0)
    return of_queries, ~_differ(block, np.array([0, len(block)]))[0]


def _differ(values: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return which runs of values hold different ones, column by column."""
    low, high = (f.reduceat(values, ptr[:-1], axis=0) for f in (np.fmin, np.fmax))
    n_missing = np.add.reduceat(np.isnan(values), ptr[:-1], axis=0, dtype=np.intp)
    sizes = np.diff(ptr).reshape(-1, *[1] * (values.ndim - 1))
    # Without any value, low and high are NaN, which is not below itself.
    return (low < high) | ((n_missing > 0) & (n_missing < sizes))


def _of_sparse(X: Any, index: QueryIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for a matrix of few entries, from these alone."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored = X.data != 0  # NaN is stored, too
    queries = index.restore(index.codes)[rows[stored]]
    columns, values = X.indices[stored], _apart(X.data[stored], "X")
    varies = np.zeros(X.shape[1], dtype=np.intp)
    is_constant = np.ones(X.shape[1], dtype=bool)
    if not len(values):
        return varies, is_constant
    order = np.lexsort((queries, columns))
    columns, queries, values = columns[order], queries[order], values[order]
    for sizes, keys in (
        (index.sizes, queries),
        (np.array([X.shape[0]]), np.zeros_like(queries)),
    ):
        begins = (np.diff(columns) != 0) | (np.diff(keys) != 0)
        starts = np.flatnonzero(np.append(True, begins))
        ptr = np.append(starts, len(values))
        # Where some are stored and others are not, there are zeros, too.
        differ = _differ(values, ptr) | (np.diff(ptr) < sizes[keys[starts]])
        if keys is queries:
            np.add.at(varies, columns[starts], differ)
        else:
            is_constant[columns[starts]] = ~differ
    return varies, is_constant
