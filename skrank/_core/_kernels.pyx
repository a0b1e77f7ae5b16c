# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses within queries: value per query and gradient with respect to the scores.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower`` come from
`skrank._core._segments.label_order`. Every query is handled by one thread, which writes
nothing but the rows of this query, so results do not depend on the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid


cdef extern from "_simd.hpp" namespace "skrank" nogil:
    enum: PADDING
    double ranknet_pairs(double *x, const int *lower, const double *weight,
                         int m, double *e, double *grad, double *hess)
    cppclass Moments:
        pass
    double hinge_direct(double *x, const int *lower, const double *weight, int m,
                        double margin, double *grad)
    double squared_hinge_direct(double *x, const int *lower, const double *weight,
                                int m, double margin, double *grad)
    double hinge_sorted(const double *x, const int *by_score, const int *level,
                        int n_levels, const double *weight, int m, double margin,
                        bint squared, Moments *memory, double *grad)
    void find_extremes(const double *x, int m, double *bottom, double *top)
    double softmax_cross_entropy(const double *x, const double *target, int m,
                                 double *grad)
    double plackett_luce_stages(const double *x, const double *w, int m, int k,
                                double *e, double *tail, double *grad)

cdef extern from "_sort.hpp" namespace "skrank" nogil:
    enum: SORT_WORK_DOUBLES
    void sort_descending(const double *x, int m, double *work, double *sorted_x,
                         int *order)

# Up to here all pairs, in wide registers, are faster than sorting.
cdef int DIRECT_SIZE = 256
# Beyond this ratio of scores to margin, sums by level lose the digits of the margin.
cdef double DIRECT_RANGE = 1e8


def _work_space(int n_threads, int n_arrays, const Py_ssize_t[::1] ptr):
    """Scratch memory per thread: arrays as long as the largest query, padded."""
    width = int(np.max(np.diff(ptr), initial=1)) + PADDING
    return np.empty((n_threads, n_arrays, width))


cdef inline const double *_data(const double[::1] x) noexcept nogil:
    """Address of an array that may be None or empty."""
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]


cdef inline void _gather(const double *x, const int *order, int m, double scale,
                         double *out) noexcept nogil:
    cdef int r
    for r in range(m):
        out[r] = scale * x[order[r]]


cdef inline void _scatter(const double *x, const int *order, int m, double scale,
                          double *out) noexcept nogil:
    cdef int r
    for r in range(m):
        out[order[r]] = scale * x[r]


cdef inline void _clear(double *x, int m) noexcept nogil:
    cdef int r
    for r in range(m):
        x[r] = 0.0


def ranknet(const double[::1] scores, const Py_ssize_t[::1] ptr,
            const int[::1] order, const int[::1] lower, const double[::1] weight,
            double sigma, bint want_hessian, int n_threads):
    """Logistic loss over all preference pairs, log(1 + exp(-sigma (s_u - s_v))).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    sigma : float
        Steepness.
    want_hessian : bool
        Whether to compute the diagonal of the Hessian.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    hessian : ndarray of shape (n_documents,) or None
        Diagonal of the Hessian. Complexity: O(number of pairs).
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int m
    cdef double[:, :, ::1] work = _work_space(n_threads, 5, ptr)
    cdef double *x
    cdef double *w
    cdef double *e
    cdef double *g
    cdef double *h
    cdef const double *weights = _data(weight)
    values_array = np.zeros(n_queries)
    gradient_array = np.empty(scores.shape[0])
    hessian_array = np.empty(scores.shape[0] if want_hessian else 0)
    cdef double[::1] values = values_array, gradient = gradient_array
    cdef double[::1] hessian = hessian_array
    with nogil, parallel(num_threads=n_threads):
        x = &work[threadid(), 0, 0]
        e = &work[threadid(), 1, 0]
        g = &work[threadid(), 2, 0]
        h = &work[threadid(), 3, 0]
        w = &work[threadid(), 4, 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=16):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m == 0:
                continue
            _gather(&scores[start], &order[start], m, sigma, x)
            if weights != NULL:
                _gather(weights + start, &order[start], m, 1.0, w)
            _clear(g, m)
            if want_hessian:
                _clear(h, m)
            values[q] = ranknet_pairs(x, &lower[start], w if weights != NULL else NULL,
                                      m, e, g, h if want_hessian else NULL)
            _scatter(g, &order[start], m, sigma, &gradient[start])
            if want_hessian:
                _scatter(h, &order[start], m, sigma * sigma, &hessian[start])
    return values_array, gradient_array, hessian_array if want_hessian else None


cdef int _number_levels(const int *lower, int m, int *level) noexcept nogil:
    """Number the grades from the best, 0; return how many there are."""
    cdef int r, current = 0
    for r in range(m):
        if r > 0 and lower[r - 1] == r:
            current = current + 1
        level[r] = current
    return current + 1


cdef double _hinge_query(double *x, const int *lower, const double *weight, int m,
                         double margin, bint squared, double *work, int *indices,
                         double *grad) noexcept nogil:
    """One query, documents in order of grade; ``work`` has 3 m + 3 numbers or more."""
    cdef int n_levels
    cdef int *level = indices
    cdef int *by_score = indices + m
    cdef double scale = margin if margin > 0.0 else 1.0
    cdef double bottom = 0.0, top = 0.0
    if m > DIRECT_SIZE:
        find_extremes(x, m, &bottom, &top)
    if m <= DIRECT_SIZE or not top - bottom <= DIRECT_RANGE * scale:
        if squared:
            return squared_hinge_direct(x, lower, weight, m, margin, grad)
        return hinge_direct(x, lower, weight, m, margin, grad)
    n_levels = _number_levels(lower, m, level)
    sort_descending(x, m, work, work + SORT_WORK_DOUBLES * m, by_score)
    return hinge_sorted(x, by_score, level, n_levels, weight, m, margin, squared,
                        <Moments *>work, grad)


def hinge(const double[::1] scores, const Py_ssize_t[::1] ptr,
          const int[::1] order, const int[::1] lower, const double[::1] weight,
          double margin, bint squared, int n_threads):
    """Hinge loss over all preference pairs, max(0, margin - (s_u - s_v)) or its square.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    margin : float
        Wanted difference of scores.
    squared : bool
        Whether the loss is squared.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient, or a subgradient, of the sum of all values. Complexity: O(m log m) for
        a query of m documents, whatever the number of grades; up to 256 documents, and
        for scores beyond 1e8 margins, the pairs are enumerated.
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int m
    cdef double[:, :, ::1] work = _work_space(n_threads, 4 + SORT_WORK_DOUBLES, ptr)
    cdef int[:, ::1] indices = np.empty((n_threads, 2 * work.shape[2]), dtype=np.int32)
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
            _gather(&scores[start], &order[start], m, 1.0, x)
            if weights != NULL:
                _gather(weights + start, &order[start], m, 1.0, w)
            _clear(g, m)
            values[q] = _hinge_query(x, &lower[start], w if weights != NULL else NULL,
                                     m, margin, squared, &work[threadid(), 3, 0],
                                     &indices[threadid(), 0], g)
            _scatter(g, &order[start], m, 1.0, &gradient[start])
    return values_array, gradient_array


def listnet(const double[::1] scores, const Py_ssize_t[::1] ptr,
            const double[::1] target, const double[::1] query_weight, int n_threads):
    """Cross entropy between a target distribution and the softmax of the scores.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    target : ndarray of shape (n_documents,)
        Probabilities that sum to one within each query.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query; queries of weight 0 are skipped.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted cross entropies.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents).
    """
    cdef Py_ssize_t q, i, start, n_queries = ptr.shape[0] - 1
    cdef int m
    cdef double w
    values_array = np.zeros(n_queries)
    gradient_array = np.zeros(scores.shape[0])
    cdef double[::1] values = values_array, gradient = gradient_array
    for q in prange(n_queries, nogil=True, schedule="dynamic", chunksize=64,
                    num_threads=n_threads):
        start = ptr[q]
        m = <int>(ptr[q + 1] - start)
        w = query_weight[q]
        if m == 0 or w == 0.0:
            continue
        values[q] = w * softmax_cross_entropy(&scores[start], &target[start], m,
                                              &gradient[start])
        if w != 1.0:
            for i in range(start, start + m):
                gradient[i] = w * gradient[i]
    return values_array, gradient_array


def plackett_luce(const double[::1] scores, const Py_ssize_t[::1] ptr,
                  const int[::1] order, const double[::1] stage_weight,
                  const double[::1] query_weight, int top_k, int n_threads):
    """Negative log-likelihood of given orders under the Plackett-Luce model.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    order : ndarray of shape (n_documents,), dtype int32
        The order of each query, as `segment_order` gives it.
    stage_weight : ndarray of shape (n_documents,) or None
        ``stage_weight[ptr[q] + t]`` is the weight of position t of query q.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query; queries of weight 0 are skipped.
    top_k : int
        Number of positions that count; 0 for all.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted negative log-likelihoods.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents).
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int m, k
    cdef double[:, :, ::1] work = _work_space(n_threads, 4, ptr)
    cdef double *x
    cdef double *e
    cdef double *tail
    cdef double *g
    cdef const double *stages = _data(stage_weight)
    values_array = np.zeros(n_queries)
    gradient_array = np.zeros(scores.shape[0])
    cdef double[::1] values = values_array, gradient = gradient_array
    with nogil, parallel(num_threads=n_threads):
        x = &work[threadid(), 0, 0]
        e = &work[threadid(), 1, 0]
        tail = &work[threadid(), 2, 0]
        g = &work[threadid(), 3, 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=64):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m == 0 or query_weight[q] == 0.0:
                continue
            k = top_k if 0 < top_k < m else m
            _gather(&scores[start], &order[start], m, 1.0, x)
            values[q] = query_weight[q] * plackett_luce_stages(
                x, stages + start if stages != NULL else NULL, m, k, e, tail, g)
            _scatter(g, &order[start], m, query_weight[q], &gradient[start])
    return values_array, gradient_array
