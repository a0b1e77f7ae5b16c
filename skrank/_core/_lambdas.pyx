# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Logistic pairs weighted by the change of a measure when two documents swap.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``; every query is handled by one thread, so
results do not depend on the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport log2


cdef extern from "_lambda_pairs.hpp" namespace "skrank" nogil:
    cppclass LambdaSums:
        double loss
        double pull
    enum: PADDING
    LambdaSums lambda_pairs(int kind, double *x, double *gain, double *weight,
                            const double *discount, int top, int m, double near,
                            double *e, double *a, double *b, double *grad, double *hess)
    LambdaSums graded_pairs(double *x, double *gain, const double *weight,
                            double *discount, const int *lower, int m, double near,
                            double *e, double *grad, double *hess)

cdef extern from "_sort.hpp" namespace "skrank" nogil:
    enum: SORT_WORK_DOUBLES
    void sort_descending(const double *x, int m, double *work, double *sorted_x,
                         int *order)

# In the order of DeltaKind in _lambda_pairs.hpp.
KINDS = ("gain_discount", "average_precision", "reciprocal_rank", "cascade")


cdef inline double _norm(double pull, const double *weight, int m) noexcept nogil:
    """Factor that turns the sum of all slopes into its log2(1 + .).

    The weight of the query does not count, so that it stays a factor of the loss.
    """
    cdef int r
    cdef double total = 0.0
    if weight != NULL:
        for r in range(m):
            total += weight[r]
        pull = pull * m / total if total > 0.0 else 0.0
    if not pull > 0.0:
        return 1.0
    return log2(1.0 + 2.0 * pull) / (2.0 * pull)


cdef struct Scratch:
    # One thread's arrays, each as long as the largest query, padded.
    double *x
    double *gain
    double *weight
    double *discount
    double *grad
    double *hess
    double *a
    double *b
    double *e
    double *sort_work
    int *by_score


cdef Scratch _scratch(double *work, int *by_score, Py_ssize_t width) noexcept nogil:
    cdef Scratch s
    s.x = work
    s.gain = work + width
    s.weight = work + 2 * width
    s.discount = work + 3 * width
    s.grad = work + 4 * width
    s.hess = work + 5 * width
    s.a = work + 6 * width
    s.b = work + 7 * width
    s.e = work + 8 * width
    s.sort_work = work + 9 * width
    s.by_score = by_score
    return s


cdef void _load(Scratch *s, const double *scores, const double *gain,
                const double *weight, const int *order, int m,
                double sigma) noexcept nogil:
    """Copy the documents of a query in the given order."""
    cdef int r
    for r in range(m):
        s.x[r] = sigma * scores[order[r]]
        s.gain[r] = gain[order[r]]
        s.grad[r] = 0.0
        s.hess[r] = 0.0
    if weight != NULL:
        for r in range(m):
            s.weight[r] = weight[order[r]]


cdef bint _keeps_most_ranks(const double *discount, int m) noexcept nogil:
    """Whether the cut-off of the measure leaves more than half of the ranks."""
    return discount[m // 2] != 0.0


def lambda_loss(const double[::1] scores, const Py_ssize_t[::1] ptr, str kind,
                const double[::1] gain, const double[::1] discount,
                const double[::1] scale, const double[::1] weight,
                const int[::1] order, const int[::1] lower, double sigma,
                int truncation, bint normalize, double damping, int n_threads):
    """Logistic pairs weighted by swap deltas that are held at the current ranking.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores; ties rank in the order of the rows.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    kind : str
        One of `KINDS`; see `skrank.metrics.DeltaTerms`.
    gain : ndarray of shape (n_documents,)
        Gain, 0/1 relevance or stop probability; of a pair the document of higher gain
        is the preferred one.
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as long as the longest query.
    scale : ndarray of shape (n_queries,)
        Factor of each query; queries of scale 0 are skipped.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    order, lower : ndarrays of shape (n_documents,), dtype int32
        Documents by gain, from `label_order`.
    sigma : float
        Steepness.
    truncation : int
        Only pairs with at least one document in the first ``truncation`` ranks count;
        0 for all pairs.
    normalize : bool
        Whether to scale a query so that its slopes, which sum to S in absolute value
        over its documents' pairs, sum to log2(1 + S); weights of mean 1 enter S.
    damping : float
        If above 0, the delta of a pair is divided by this plus sigma times the
        difference of the two scores, except in queries whose scores are all equal.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted loss of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values, the deltas held fixed.
    hessian : ndarray of shape (n_documents,)
        Diagonal of the Hessian. Complexity: O(m log m + m min(m, k, truncation)) for a
        query of m documents and a measure cut at k.
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef Py_ssize_t width = int(np.max(np.diff(ptr), initial=1)) + PADDING
    cdef int m, r, kind_number = KINDS.index(kind)
    cdef double factor
    cdef LambdaSums sums
    cdef Scratch s
    cdef const int *positions
    cdef double[:, ::1] work = np.empty((n_threads, (9 + SORT_WORK_DOUBLES) * width))
    cdef int[:, ::1] by_score = np.empty((n_threads, width), dtype=np.int32)
    cdef const double *weights = NULL
    values_array = np.zeros(n_queries)
    gradient_array = np.zeros(scores.shape[0])
    hessian_array = np.zeros(scores.shape[0])
    cdef double[::1] values = values_array
    cdef double[::1] gradient = gradient_array, hessian = hessian_array
    if discount.shape[0] < np.max(np.diff(ptr), initial=0):
        raise ValueError("discount is shorter than the longest query")
    if weight is not None and weight.shape[0] > 0:
        weights = &weight[0]
    with nogil, parallel(num_threads=n_threads):
        s = _scratch(&work[threadid(), 0], &by_score[threadid(), 0], width)
        for q in prange(n_queries, schedule="dynamic", chunksize=16):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m < 2 or scale[q] == 0.0:
                continue
            sort_descending(&scores[start], m, s.sort_work, s.x, s.by_score)
            if (kind_number == 0 and (truncation <= 0 or truncation >= m)
                    and _keeps_most_ranks(&discount[0], m)):
                positions = &order[start]
                for r in range(m):
                    s.a[s.by_score[r]] = discount[r]
                for r in range(m):
                    s.discount[r] = s.a[positions[r]]
                _load(&s, &scores[start], &gain[start],
                      weights + start if weights != NULL else NULL, positions, m, sigma)
                sums = graded_pairs(s.x, s.gain, s.weight if weights != NULL else NULL,
                                    s.discount, &lower[start], m, damping, s.e, s.grad,
                                    s.hess)
            else:
                positions = s.by_score
                _load(&s, &scores[start], &gain[start],
                      weights + start if weights != NULL else NULL, positions, m, sigma)
                sums = lambda_pairs(kind_number, s.x, s.gain,
                                    s.weight if weights != NULL else NULL, &discount[0],
                                    truncation if truncation > 0 else m, m, damping,
                                    s.e, s.a, s.b, s.grad, s.hess)
            factor = scale[q]
            if normalize:
                factor = factor * _norm(
                    sigma * scale[q] * sums.pull,
                    weights + start if weights != NULL else NULL, m)
            values[q] = factor * sums.loss
            for r in range(m):
                gradient[start + positions[r]] = factor * sigma * s.grad[r]
                hessian[start + positions[r]] = factor * sigma * sigma * s.hess[r]
    return values_array, gradient_array, hessian_array
