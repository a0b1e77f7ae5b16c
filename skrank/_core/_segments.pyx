# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reductions, sorting and ranks within queries.

Rows of a query stand next to each other; query ``q`` is rows ``ptr[q]:ptr[q + 1]``.
Every query is handled by one thread, so results do not depend on their number.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid


cdef extern from "_simd.hpp" namespace "skrank" nogil:
    double softmax(const double *x, int m, double *out)

cdef extern from "_sort.hpp" namespace "skrank" nogil:
    enum: SORT_WORK_DOUBLES
    void sort_descending(const double *x, int m, double *work, double *sorted_x,
                         int *order)


def _largest(const Py_ssize_t[::1] ptr):
    return int(np.max(np.diff(ptr), initial=1))


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
    cdef Py_ssize_t q, i, n_queries = ptr.shape[0] - 1
    cdef double total
    out = np.empty(n_queries)
    cdef double[::1] sums = out
    with nogil:
        for q in range(n_queries):
            total = 0.0
            for i in range(ptr[q], ptr[q + 1]):
                total = total + x[i]
            sums[q] = total
    return out


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
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    probabilities = np.empty(x.shape[0])
    logsumexp = np.full(n_queries, -np.inf)
    cdef double[::1] p = probabilities, log_total = logsumexp
    for q in prange(n_queries, nogil=True, schedule="dynamic", chunksize=64,
                    num_threads=n_threads):
        start = ptr[q]
        if ptr[q + 1] > start:
            log_total[q] = softmax(&x[start], <int>(ptr[q + 1] - start), &p[start])
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
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef Py_ssize_t width = _largest(ptr)
    cdef double[:, ::1] work = np.empty((n_threads, (1 + SORT_WORK_DOUBLES) * width))
    cdef double *mine
    out = np.empty(x.shape[0], dtype=np.int32)
    cdef int[::1] order = out
    with nogil, parallel(num_threads=n_threads):
        mine = &work[threadid(), 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=64):
            start = ptr[q]
            if ptr[q + 1] > start:
                sort_descending(&x[start], <int>(ptr[q + 1] - start), mine + width,
                                mine, &order[start])
    return out


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
    cdef const int[::1] order = segment_order(x, ptr, n_threads)
    cdef Py_ssize_t q, r, start
    out = np.empty(x.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] ranks = out
    with nogil:
        for q in range(ptr.shape[0] - 1):
            start = ptr[q]
            for r in range(ptr[q + 1] - start):
                ranks[start + order[start + r]] = r + 1
    return out


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
    cdef Py_ssize_t q, start
    cdef int r, size, first
    order_array = segment_order(y, ptr, n_threads)
    lower_array = np.empty(y.shape[0], dtype=np.int32)
    cdef const int[::1] order = order_array
    cdef int[::1] lower = lower_array
    with nogil:
        for q in range(ptr.shape[0] - 1):
            start = ptr[q]
            size = <int>(ptr[q + 1] - start)
            first = size
            for r in range(size - 1, -1, -1):
                if (r + 1 < size and y[start + order[start + r]]
                        > y[start + order[start + r + 1]]):
                    first = r + 1
                lower[start + r] = first
    return order_array, lower_array


cdef void _sort_ties(const double *x, const int *order, const int *lower, int m,
                     double *work, int *permutation, int *out) noexcept nogil:
    """Sort every run of equal grades by descending score."""
    cdef int first = 0, size, r
    cdef double *keys = work
    cdef double *sort_work = work + 2 * m
    while first < m:
        size = lower[first] - first
        for r in range(size):
            keys[r] = x[order[first + r]]
        sort_descending(keys, size, sort_work, keys + m, permutation)
        for r in range(size):
            out[first + r] = order[first + permutation[r]]
        first = first + size


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
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef Py_ssize_t width = _largest(ptr)
    cdef double[:, ::1] work = np.empty((n_threads, (2 + SORT_WORK_DOUBLES) * width))
    cdef int[:, ::1] permutation = np.empty((n_threads, width), dtype=np.int32)
    out = np.empty(x.shape[0], dtype=np.int32)
    cdef int[::1] result = out
    for q in prange(n_queries, nogil=True, schedule="dynamic", chunksize=64,
                    num_threads=n_threads):
        start = ptr[q]
        if ptr[q + 1] > start:
            _sort_ties(&x[start], &order[start], &lower[start],
                       <int>(ptr[q + 1] - start), &work[threadid(), 0],
                       &permutation[threadid(), 0], &result[start])
    return out
