# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reductions, sorting and ranks within queries.

Rows of a query stand next to each other; query ``q`` is rows ``ptr[q]:ptr[q + 1]``.
Every query is handled by one thread, so results do not depend on the number of threads.
"""

import numpy as np

from skrank._core._for_each_query cimport (
    Queries, doubles, ints, out_doubles, out_ints, queries_of,
)

cdef extern from "_segments.hpp" namespace "skrank" nogil:
    void segment_sums(Queries, const double *x, double *sums)
    void segment_running_sums(Queries, const double *x, double *sums)
    void segment_softmaxes(Queries, const double *x, double *probabilities,
                           double *logsumexp, int n_threads) except +
    void segment_orders(Queries, const double *x, int *order, int n_threads) except +
    void ranks_of_orders(Queries, const int *order, Py_ssize_t *ranks)
    void lower_places(Queries, const double *y, const int *order, int *lower)
    void sort_all_ties(Queries, const double *x, const int *order, const int *lower,
                       int *out, int n_threads) except +


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
