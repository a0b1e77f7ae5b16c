"""Rows grouped by query.

Every kernel and every loss sees the rows of a query next to each other, with a pointer
array: the documents of query ``q`` are the rows from ``ptr[q]`` up to, not including,
``ptr[q + 1]``. `QueryIndex` makes that array from one id per row and remembers how the
rows were moved, so that input whose queries are already adjacent is never copied.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core import _segments
from skrank._core._finite import quiet

_FEW = 10_000
# Of 1 and "a"; of a tuple and a number of NumPy; of False in NumPy and 2**63.
_DO_NOT_COMPARE = TypeError, ValueError, OverflowError


def _numbered(ids):
    """Number ids of any hashable type in the order of their first appearance."""
    seen: defaultdict = defaultdict(count().__next__)
    codes = np.fromiter(map(seen.__getitem__, ids), np.intp, len(ids))
    uniques = np.empty(len(seen), dtype=object)
    uniques[:] = list(seen)
    return uniques, codes


@quiet()
def _in_order(uniques, codes):
    """Return distinct objects in their order, if they have one, and its numbers."""
    try:
        rank_to_code = np.array(
            sorted(range(len(uniques)), key=uniques.__getitem__), dtype=np.intp
        )
    except _DO_NOT_COMPARE:
        return uniques, codes
    code_to_rank = np.empty_like(rank_to_code)
    code_to_rank[rank_to_code] = np.arange(len(rank_to_code))
    return uniques[rank_to_code], code_to_rank[codes]


def _run_starts(ids):
    """Return the first row of every run of equal neighbouring ids."""
    if len(ids) == 0:
        return np.empty(0, dtype=np.intp)
    return np.r_[0, np.flatnonzero(ids[1:] != ids[:-1]) + 1].astype(np.intp)


def distinct(values: np.ndarray) -> bool:
    """Return whether no value occurs twice; False if they cannot be told apart."""
    try:
        # Where the rows of queries are mixed, an id soon comes a second time.
        first = values[:_FEW].tolist()
        if len(set(first)) < len(first):
            return False
        return len(set(values.tolist())) == len(values)
    except TypeError:
        return False


class Grouped:
    """Mixin of classes that hold rows of queries and their pointer array ``ptr``."""

    ptr: np.ndarray

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.ptr) - 1

    @property
    def n_documents(self) -> int:
        """Number of documents, over all queries."""
        return int(self.ptr[-1])

    @property
    def sizes(self) -> np.ndarray:
        """Number of documents of each query, shape (n_queries,)."""
        return np.diff(self.ptr)


@dataclass(frozen=True, eq=False)
class QueryIndex(Grouped):
    """The queries of a data set as a pointer array.

    Attributes
    ----------
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]`` after `take`.
    order : ndarray of shape (n_documents,), dtype intp, or None
        Input row of each grouped row; None if the input is already grouped.
    ids : ndarray of shape (n_queries,)
        Id of each query.
    """

    ptr: np.ndarray
    order: np.ndarray | None
    ids: np.ndarray

    @classmethod
    def from_groups(
        cls, groups: np.ndarray, *, canonical: bool = False
    ) -> "QueryIndex":
        """Return the index of rows that are grouped by their id.

        Parameters
        ----------
        groups : ndarray of shape (n_documents,)
            One query id per row, as returned by `check_groups`.
        canonical : bool, default=False
            If True, queries come in the order of their ids whatever the order of the
            rows, so that results do not depend on the latter. If False, rows whose
            queries are adjacent stay where they are.

        Returns
        -------
        QueryIndex
            Index of the queries, made in O(n) if the rows of every query are adjacent
            and in O(n log n) otherwise.
        """
        # Which objects are the same is asked in one way, so that no order of the rows
        # makes other queries: 1 == np.array([1]) holds, and as keys they differ.
        uniques, codes = _numbered(groups) if groups.dtype == object else (None, groups)
        starts = _run_starts(codes)
        ids = groups[starts]
        n = len(groups)
        if distinct(ids) if uniques is None else len(ids) == len(uniques):
            ascending = len(ids) < 2 or _is_ascending(ids)
            if ascending or not canonical:
                return cls(_frozen(np.append(starts, n)), None, ids)
        if uniques is None:
            uniques, codes = np.unique(groups, return_inverse=True)
        else:  # np.unique would compare all of them
            uniques, codes = _in_order(uniques, codes)
        order = _stable_order(codes, len(uniques))
        sizes = np.bincount(codes, minlength=len(uniques))
        ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
        # Without an order, nothing is copied when rows are taken or restored.
        if np.array_equal(order, np.arange(n)):
            order = None
        return cls(_frozen(ptr), None if order is None else _frozen(order), uniques)

    @property
    def codes(self) -> np.ndarray:
        """Query number of each grouped row, shape (n_documents,)."""
        return np.repeat(np.arange(self.n_queries), self.sizes)

    def take(self, array: Any) -> Any:
        """Return the rows of an array grouped by query; the array if nothing moves."""
        if array is None or self.order is None:
            return array
        return array[self.order]

    def restore(self, array: np.ndarray) -> np.ndarray:
        """Return the rows of a grouped array in their input order, undoing `take`."""
        if self.order is None:
            return array
        restored = np.empty_like(array)
        restored[self.order] = array
        return restored


def _stable_order(codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Return the rows in the order of their codes, and in their own within each code.

    A transposition counts the rows of each code, in O(n). NumPy sorts such numbers by
    comparisons, five times as long, and during one sort nobody looks for Ctrl-C.
    """
    n = len(codes)
    one_each = sparse.csc_array(
        (np.arange(n), codes, np.arange(n + 1)), shape=(n_codes, n)
    )
    return one_each.tocsr().data


@quiet()
def _is_ascending(ids) -> bool:
    try:
        return bool(np.all(ids[1:] > ids[:-1]))
    except _DO_NOT_COMPARE:  # they keep their order of appearance
        return True


def _frozen(array) -> np.ndarray:
    # Kernels trust the pointers without checking them: nobody may change them later.
    array = np.ascontiguousarray(array, dtype=np.intp)
    array.flags.writeable = False
    return array


def rows_of_queries(
    ptr: np.ndarray, queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """List the rows of some queries, and make the pointer array of these rows.

    Parameters
    ----------
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array of all queries.
    queries : ndarray of shape (n_chosen,), dtype intp
        Numbers of the chosen queries, in the order in which they are wanted.

    Returns
    -------
    rows : ndarray of shape (n_rows,), dtype intp
        Row numbers, query after query.
    chosen_ptr : ndarray of shape (n_chosen + 1,), dtype intp
        Pointer array of ``rows``.
    """
    return _segments.rows_of_segments(
        np.ascontiguousarray(ptr, dtype=np.intp),
        np.ascontiguousarray(queries, dtype=np.intp),
    )


def _in_row_order(array) -> bool:
    return isinstance(array, np.ndarray) and array.flags.c_contiguous


def take_rows(array: Any, rows: np.ndarray | slice) -> Any:
    """Return some rows of an array, a data frame, a sparse matrix or a list."""
    if hasattr(array, "iloc"):
        return array.iloc[rows]
    if sparse.issparse(array):
        return array.tocsr()[rows]
    if isinstance(array, memoryview):
        array = np.asarray(array)
    if not hasattr(array, "shape"):  # a list, a tuple or another sequence
        return array[rows] if isinstance(rows, slice) else [array[i] for i in rows]
    # Twice as fast as indexing, but it would copy the whole of an array in other order.
    if isinstance(rows, np.ndarray) and _in_row_order(array):
        return array.take(rows, axis=0)
    return array[rows]
