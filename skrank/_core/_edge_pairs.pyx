# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses over the preference edges of queries: edge pairs and stars of edges.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower`` come from
`skrank._core._segments.label_order`. Every query is handled by one thread, which writes
nothing but the rows of this query, so results do not depend on the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libcpp cimport bool as cbool


cdef extern from "_edge_pairs.hpp" namespace "skrank" nogil:
    enum: PADDING
    cbool edge_pairs_query(const double *a, const double *b, const int *lower,
                           const double *weight, int m, cbool direct, double *value,
                           double *grad_a, double *grad_b)
    double star_query(const double *x, const int *lower, const double *weight, int m,
                      double *log_sums, double *grad)
    double pair_loss(double u, double v, double *p, double *q)


def _work_space(int n_threads, int n_arrays, const Py_ssize_t[::1] ptr):
    """Scratch memory per thread: arrays as long as the largest query, padded."""
    width = int(np.max(np.diff(ptr), initial=1)) + PADDING
    return np.empty((n_threads, n_arrays, width))


cdef inline const double *_data(const double[::1] x) noexcept nogil:
    """Address of an array that may be None or empty."""
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]


cdef inline void _gather(const double *x, const int *order, int m,
                         double *out) noexcept nogil:
    cdef int r
    for r in range(m):
        out[r] = x[order[r]]


cdef inline void _scatter(const double *x, const int *order, int m,
                          double *out) noexcept nogil:
    cdef int r
    for r in range(m):
        out[order[r]] = x[r]


def edge_pairs(const double[::1] first, const double[::1] second,
               const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
               const double[::1] weight, bint direct, int n_threads):
    """Bivariate sigmoids of all ordered pairs of edges.

    Sums log(1 + exp(-r_e) + exp(-r'_e')) over the edges e of a query and takes the mean
    over e', weighted by the weight of e'.

    Parameters
    ----------
    first : ndarray of shape (n_documents,)
        Scores of the edges e.
    second : ndarray of shape (n_documents,) or None
        Scores of the edges e'; None means those of e.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        An edge has the weight of its preferred document.
    direct : bool
        Whether to take every pair by itself instead of interpolating the sum over e'.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over e of the weighted mean over e'.
    gradient_first : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    gradient_second : ndarray of shape (n_documents,) or None
        None where ``second`` is None. Complexity: O(E) time and O(m) memory for E edges
        between m documents; O(E log E) time and O(E) memory where scores range over
        more than 80; O(E^2) if ``direct``.
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int m, failures = 0
    cdef bint two = second is not None
    cdef double[:, :, ::1] work = _work_space(n_threads, 5, ptr)
    cdef double *a
    cdef double *b
    cdef double *w
    cdef double *grad_a
    cdef double *grad_b
    cdef const double *weights = _data(weight)
    values_array = np.zeros(n_queries)
    first_array = np.empty(first.shape[0])
    second_array = np.empty(first.shape[0] if two else 0)
    cdef double[::1] values = values_array
    cdef double[::1] gradient_first = first_array, gradient_second = second_array
    with nogil, parallel(num_threads=n_threads):
        a = &work[threadid(), 0, 0]
        b = &work[threadid(), 1, 0]
        w = &work[threadid(), 2, 0]
        grad_a = &work[threadid(), 3, 0]
        grad_b = &work[threadid(), 4, 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=1):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m == 0:
                continue
            _gather(&first[start], &order[start], m, a)
            if two:
                _gather(&second[start], &order[start], m, b)
            if weights != NULL:
                _gather(weights + start, &order[start], m, w)
            if not edge_pairs_query(a, b if two else NULL, &lower[start],
                                    w if weights != NULL else NULL, m, direct,
                                    &values[q], grad_a, grad_b):
                failures += 1
            _scatter(grad_a, &order[start], m, &gradient_first[start])
            if two:
                _scatter(grad_b, &order[start], m, &gradient_second[start])
    if failures:
        raise MemoryError(f"no memory for the edges of {failures} queries")
    return values_array, first_array, second_array if two else None


def sampled_edge_pairs(const double[::1] first, const double[::1] second,
                       const Py_ssize_t[::1] ptr, const int[:, :, ::1] pairs,
                       const double[:, ::1] pair_weight, int n_threads):
    """Bivariate sigmoids of given pairs of edges.

    Parameters
    ----------
    first : ndarray of shape (n_documents,)
        Scores of the first edges.
    second : ndarray of shape (n_documents,) or None
        Scores of the second edges; None means those of the first.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    pairs : ndarray of shape (n_queries, n_pairs, 4), dtype int32
        Rows i, j, k, l within the query for the pair of edges i -> j and k -> l.
    pair_weight : ndarray of shape (n_queries, n_pairs)
        Weight of each pair; those of weight 0 are skipped.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted sum over the pairs of each query.
    gradient_first : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    gradient_second : ndarray of shape (n_documents,) or None
        None where ``second`` is None. Complexity: O(n_queries n_pairs).
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int s, n_pairs = <int>pairs.shape[1]
    cdef bint two = second is not None
    cdef double w, total
    cdef double[:, ::1] share = np.empty((n_threads, 2))
    cdef const int *pair
    cdef double *p
    cdef const double *x
    cdef const double *y
    cdef double *g
    cdef double *h
    values_array = np.zeros(n_queries)
    first_array = np.zeros(first.shape[0])
    second_array = np.zeros(first.shape[0]) if two else first_array
    cdef double[::1] values = values_array
    cdef double[::1] gradient_first = first_array, gradient_second = second_array
    with nogil, parallel(num_threads=n_threads):
        p = &share[threadid(), 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=16):
            start = ptr[q]
            if start == ptr[q + 1]:
                continue
            x = &first[start]
            y = &second[start] if two else x
            g = &gradient_first[start]
            h = &gradient_second[start]
            total = 0.0
            for s in range(n_pairs):
                pair = &pairs[q, s, 0]
                w = pair_weight[q, s]
                if w == 0.0:
                    continue
                total = total + w * pair_loss(x[pair[1]] - x[pair[0]],
                                              y[pair[3]] - y[pair[2]], p, p + 1)
                g[pair[1]] += w * p[0]
                g[pair[0]] -= w * p[0]
                h[pair[3]] += w * p[1]
                h[pair[2]] -= w * p[1]
            values[q] = total
    return values_array, first_array, second_array if two else None


def stars(const double[::1] scores, const Py_ssize_t[::1] ptr, const int[::1] order,
          const int[::1] lower, const double[::1] weight, int n_threads):
    """One multivariate sigmoid over the edges of each preferred document.

    Sums log(1 + sum of exp(s_k - s_i) over the documents k below i).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        Weight of each preferred document.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the preferred documents of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents).
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int m
    cdef double[:, :, ::1] work = _work_space(n_threads, 4, ptr)
    cdef double *x
    cdef double *w
    cdef double *g
    cdef const double *weights = _data(weight)
    values_array = np.zeros(n_queries)
    gradient_array = np.empty(scores.shape[0])
    cdef double[::1] values = values_array, gradient = gradient_array
    with nogil, parallel(num_threads=n_threads):
        x = &work[threadid(), 0, 0]
        w = &work[threadid(), 1, 0]
        g = &work[threadid(), 2, 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=16):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m == 0:
                continue
            _gather(&scores[start], &order[start], m, x)
            if weights != NULL:
                _gather(weights + start, &order[start], m, w)
            values[q] = star_query(x, &lower[start], w if weights != NULL else NULL, m,
                                   &work[threadid(), 3, 0], g)
            _scatter(g, &order[start], m, &gradient[start])
    return values_array, gradient_array
