# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reductions, sorting and ranks within queries.

Rows of a query stand next to each other; query ``q`` is rows ``ptr[q]:ptr[q + 1]``.
Every query is handled by one thread, so results do not depend on the number of threads.
"""

import numpy as np

from libc.stdint cimport uint8_t
from libcpp.vector cimport vector

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, ints, out_doubles, out_ints, queries_of,
)
from skrank._core._lengths cimport check_length

cdef extern from "_segments.hpp" namespace "skrank" nogil:
    void segment_sums(Queries, const double *x, double *sums)
    void segment_running_sums(Queries, const double *x, double *sums)
    void segment_softmaxes(Queries, const double *x, double *probabilities,
                           double *logsumexp, int n_threads) except +
    void segment_orders(Queries, const double *x, int *order, int n_threads) except +
    void orders_with_ties(Queries, const double *x, Py_ssize_t *order, uint8_t *tied,
                          int n_threads) except +
    struct PartList:
        const double *parts
        const Py_ssize_t *rows
        const Py_ssize_t *ptr
    void sums_of_parts(Queries, const vector[PartList] &lists, const double *fill,
                       double *sums, int n_threads) except +
    void ranks_of_orders(Queries, const int *order, Py_ssize_t *ranks)
    void lower_places(Queries, const double *y, const int *order, int *lower)
    void sort_all_ties(Queries, const double *x, const int *order, const int *lower,
                       int *out, int n_threads) except +

cdef extern from "_glue.hpp":
    pass


cdef inline Py_ssize_t *_out_places(Py_ssize_t[::1] x):
    if x.shape[0] == 0:
        return NULL
    return &x[0]


def segment_sum(const double[::1] x, const Py_ssize_t[::1] ptr):
    """Sum of the rows of each query, added in row order; 0 for an empty query.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Values.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Returns
    -------
    ndarray of shape (n_queries,)
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    sums = np.empty(queries.count)
    cdef const double *values = doubles(x, x.shape[0], "x")
    cdef double *out = out_doubles(sums)
    with nogil:
        segment_sums(queries, values, out)
    return sums


def segment_cumsum(const double[::1] x, const Py_ssize_t[::1] ptr):
    """Cumulative sums that start anew with each query.

    One sum over all rows, less what came before, would give the rounding errors of
    large queries to the small ones behind them.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Values.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    sums = np.empty(x.shape[0])
    cdef const double *values = doubles(x, x.shape[0], "x")
    cdef double *out = out_doubles(sums)
    with nogil:
        segment_running_sums(queries, values, out)
    return sums


def segment_softmax(const double[::1] x, const Py_ssize_t[::1] ptr, int n_threads=1):
    """Softmax within each query, and the logarithm of its denominator.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Scores; differences within a query may be of any size.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    probabilities : ndarray of shape (n_documents,)
        exp(x) over its sum within the query.
    logsumexp : ndarray of shape (n_queries,)
        log of the sum of exp(x); -inf for an empty query.
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    probabilities = np.empty(x.shape[0])
    logsumexp = np.full(queries.count, -np.inf)
    cdef const double *values = doubles(x, x.shape[0], "x")
    cdef double *p = out_doubles(probabilities)
    cdef double *log_total = out_doubles(logsumexp)
    with nogil:
        segment_softmaxes(queries, values, p, log_total, n_threads)
    return probabilities, logsumexp


def segment_order(const double[::1] x, const Py_ssize_t[::1] ptr, int n_threads=1):
    """Order of the documents within each query by descending value.

    Ties keep the order of the rows. NaN sorts as -inf.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Scores or grades.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        ``order[ptr[q] + r]`` is the document in position r, counted from ``ptr[q]``.
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    order = np.empty(x.shape[0], dtype=np.int32)
    cdef const double *values = doubles(x, x.shape[0], "x")
    cdef int *out = out_ints(order)
    with nogil:
        segment_orders(queries, values, out, n_threads)
    return order


def segment_best_first(const double[::1] x, const Py_ssize_t[::1] ptr,
                       int n_threads=1):
    """Rows of each query by descending value, and which of them are tied.

    Ties keep the order of the rows. Values that are in order already are not sorted.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Scores without NaN.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    order : ndarray of shape (n_documents,), dtype intp
        ``order[ptr[q] + r]`` is the row of the document in position r of query q.
    tied : ndarray of shape (n_documents,), dtype uint8
        1 where a document has the same value as the one a position above it, else 0.
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    order = np.empty(x.shape[0], dtype=np.intp)
    tied = np.empty(x.shape[0], dtype=np.uint8)
    cdef const double *values = doubles(x, x.shape[0], "x")
    cdef Py_ssize_t *out = _out_places(order)
    cdef uint8_t[::1] flags = tied
    cdef uint8_t *equal = &flags[0] if flags.shape[0] else NULL
    with nogil:
        orders_with_ties(queries, values, out, equal, n_threads)
    return order, tied


def places_of_order(const Py_ssize_t[::1] order, const Py_ssize_t[::1] ptr):
    """Rank of every row from the order of the rows of each query.

    Parameters
    ----------
    order : ndarray of shape (n_documents,), dtype intp
        Rows of each query in the order of its ranks.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64
        1.0 for the first row of a query.
    """
    cdef Py_ssize_t q, r, n = order.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    ranks = np.empty(n)
    cdef double[::1] out = ranks
    for r in range(n):
        if not 0 <= order[r] < n:
            raise ValueError(f"order must hold rows below {n}")
    for q in range(queries.count):
        for r in range(ptr[q], ptr[q + 1]):
            out[order[r]] = r - ptr[q] + 1
    return ranks


cdef PartList _part_list(const double[::1] parts, tuple entries, Queries queries,
                         Py_ssize_t n_documents) except *:
    """Parts of one list, whose rows are checked because they are written to."""
    cdef PartList part_list
    cdef const Py_ssize_t[::1] rows, ptr
    cdef Py_ssize_t q, e
    part_list.rows = part_list.ptr = NULL
    if entries is None:
        part_list.parts = doubles(parts, n_documents, "parts")
        return part_list
    rows, ptr = entries
    part_list.parts = doubles(parts, rows.shape[0], "parts")
    check_length(ptr.shape[0], queries.count + 1, "ptr of the entries")
    cdef bint fits = ptr[0] == 0 and ptr[queries.count] == rows.shape[0]
    for q in range(queries.count):
        fits &= 0 <= ptr[q] <= ptr[q + 1] <= rows.shape[0]
        if not fits:
            break
        for e in range(ptr[q], ptr[q + 1]):
            fits &= queries.ptr[q] <= rows[e] < queries.ptr[q + 1]
    if not fits:
        raise ValueError("rows of the entries must belong to their queries")
    part_list.rows = &rows[0] if rows.shape[0] else &ptr[0]
    part_list.ptr = &ptr[0]
    return part_list


def sums_over_lists(parts, entries, const Py_ssize_t[::1] ptr,
                    const double[:, ::1] fill=None, int n_threads=1):
    """Sum over several lists what they give to each document.

    Parts are added from the smallest to the largest, so that sums do not depend on the
    order of the lists, not even in the last digit.

    Parameters
    ----------
    parts : list of ndarray of shape (n_entries,)
        What each entry of each list gives; NaN gives nothing.
    entries : list of (rows, ptr) or None
        Rows of the entries of each list, which differ within a query, and their pointer
        array, both of dtype intp; None where entries are all rows in their order.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array of the rows.
    fill : ndarray of shape (n_queries, n_lists), default=None
        What each list gives to the rows of a query that it does not have; NaN or None
        stands for nothing.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        Sums; 0 where there is no part.
    """
    if parts is None or entries is None or ptr is None or ptr.shape[0] < 1:
        raise ValueError("parts, entries and ptr must be given")
    parts, entries = list(parts), list(entries)  # which nobody else can shorten
    cdef Py_ssize_t i, n = len(parts), n_documents = ptr[ptr.shape[0] - 1]
    cdef Queries queries = queries_of(ptr, n_documents)
    cdef vector[PartList] lists
    cdef const double *filling = NULL
    check_length(len(entries), n, "entries")
    for i in range(n):
        lists.push_back(_part_list(parts[i], entries[i], queries, n_documents))
    if fill is not None:
        check_length(fill.shape[0], queries.count, "fill")
        check_length(fill.shape[1], n, "fill")
        filling = &fill[0, 0] if queries.count and n else NULL
    sums = np.zeros(n_documents)
    cdef double *out = out_doubles(sums)
    if n:
        with nogil:
            sums_of_parts(queries, lists, filling, out, n_threads)
    return sums


def segment_ranks(const double[::1] x, const Py_ssize_t[::1] ptr, int n_threads=1):
    """1-based rank of every document within its query, the largest value first.

    Ties are ranked in the order of the rows.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    order = segment_order(x, ptr, n_threads)
    ranks = np.empty(x.shape[0], dtype=np.intp)
    cdef const int *places = ints(order, x.shape[0], "order")
    cdef Py_ssize_t *out = _out_places(ranks)
    with nogil:
        ranks_of_orders(queries, places, out)
    return ranks


def label_order(const double[::1] y, const Py_ssize_t[::1] ptr, int n_threads=1):
    """Documents by descending grade, and where the lower grades begin.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    order : ndarray of shape (n_documents,), dtype int32
        As `segment_order` of ``y``.
    lower : ndarray of shape (n_documents,), dtype int32
        ``lower[ptr[q] + r]`` is the first position of query q whose grade is lower than
        that of position r; the size of the query if there is none.
    """
    cdef Queries queries = queries_of(ptr, y.shape[0])
    order = segment_order(y, ptr, n_threads)
    lower = np.empty(y.shape[0], dtype=np.int32)
    cdef const double *grades = doubles(y, y.shape[0], "y")
    cdef const int *places = ints(order, y.shape[0], "order")
    cdef int *out = out_ints(lower)
    with nogil:
        lower_places(queries, grades, places, out)
    return order, lower


def sort_ties(const double[::1] x, const int[::1] order, const int[::1] lower,
              const Py_ssize_t[::1] ptr, int n_threads=1):
    """Order by descending grade, and by descending score among equal grades.

    Parameters
    ----------
    x : ndarray of shape (n_documents,)
        Scores; NaN sorts as -inf.
    order, lower : ndarrays of shape (n_documents,), dtype int32
        Documents by grade, from `label_order`.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        As `segment_order`; documents equal in both keep the order of the rows.
    """
    cdef Queries queries = queries_of(ptr, x.shape[0])
    result = np.empty(x.shape[0], dtype=np.int32)
    cdef const double *values = doubles(x, x.shape[0], "x")
    cdef const int *places = ints(order, x.shape[0], "order")
    cdef const int *ends = ints(lower, x.shape[0], "lower")
    cdef int *out = out_ints(result)
    with nogil:
        sort_all_ties(queries, values, places, ends, out, n_threads)
    return result


def rows_of_segments(const Py_ssize_t[::1] ptr not None,
                     const Py_ssize_t[::1] chosen not None):
    """Rows of some queries, query after query, and the pointer array of these rows.

    Parameters
    ----------
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    chosen : ndarray of shape (n_chosen,), dtype intp
        Numbers of queries, which may repeat.

    Returns
    -------
    rows : ndarray of shape (n_rows,), dtype intp
        Numbers of the rows.
    ends : ndarray of shape (n_chosen + 1,), dtype intp
        Pointer array of ``rows``.
    """
    cdef Py_ssize_t i, q, row, place = 0, count = ptr.shape[0] - 1
    ends = np.zeros(chosen.shape[0] + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] end = ends
    for i in range(chosen.shape[0]):
        q = chosen[i]
        if not 0 <= q < count:
            raise ValueError(f"queries must be below {count} and not below 0, got {q}")
        if ptr[q] > ptr[q + 1]:
            raise ValueError(f"ptr must ascend, but it descends after query {q}")
        end[i + 1] = end[i] + ptr[q + 1] - ptr[q]
    rows = np.empty(end[chosen.shape[0]], dtype=np.intp)
    cdef Py_ssize_t *out = _out_places(rows)
    for i in range(chosen.shape[0]):
        for row in range(ptr[chosen[i]], ptr[chosen[i] + 1]):
            out[place] = row
            place += 1
    return rows, ends
