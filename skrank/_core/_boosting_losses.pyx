# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses of boosting over preference pairs, and what weak rankers say of the pairs.

Boosting on clicks takes lambda pairs with a factor for the place of each of the two
documents.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower`` come from
`skrank._core._segments.label_order`. Every query is handled by one thread, which writes
nothing but what belongs to this query, so results do not depend on the number of threads.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport doubles, doubles_or_none, out_doubles
from skrank._core._graded_queries cimport GradedQueries, graded_queries

cdef extern from "_boosting_pairs.hpp" namespace "skrank" nogil:
    void push_losses(GradedQueries, const double *scores, double p,
                     const double *factors, double *values, double *gradient,
                     double *hessian, int n_threads) except +
    void fidelity_losses(GradedQueries, const double *scores, double *values,
                         double *gradient, int n_threads) except +
    void lines(GradedQueries, const double *scores, const double *ranks, double p,
               const double *factors, double *sums, int n_threads) except +
    void agreements(GradedQueries, const double *scores, const double *ranks,
                    cbool fidelity, double *sums, int n_threads) except +

cdef extern from "_debiased_pairs.hpp" namespace "skrank" nogil:
    struct LambdaMeasure:
        int kind
        const double *gain
        const double *discount
        const double *scale

    struct LambdaOptions:
        double sigma
        int truncation
        cbool normalize
        double damping

    struct PlaceFactors:
        const double *preferred
        const double *other

    struct DebiasedSums:
        double *gradient
        double *hessian
        double *as_preferred
        double *as_other

    void debiased_losses(GradedQueries, const double *scores, LambdaMeasure,
                         LambdaOptions, PlaceFactors, double *values, DebiasedSums,
                         int n_threads) except +

cdef extern from "_glue.hpp":
    pass


def push(const double[::1] scores, const Py_ssize_t[::1] ptr, const int[::1] order,
         const int[::1] lower, const double[::1] weight, double p,
         const double[::1] factors, bint want_hessian, int n_threads):
    """Sums over the worse documents v of (sum over u of w_u exp(s_v - s_u)) ** p.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    p : float
        Power; 1 gives the sum over all pairs.
    factors : ndarray of shape (n_queries,) or None
        What the sum of each query is multiplied by.
    want_hessian : bool
        Whether to compute the diagonal of the Hessian.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    hessian : ndarray of shape (n_documents,) or None
        Diagonal of the Hessian. Complexity: O(n_documents); in queries whose scores
        differ by more than 600, the pairs are enumerated.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    hessian = np.empty(scores.shape[0]) if want_hessian else None
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *f = doubles_or_none(factors, queries.queries.count, "factors")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        push_losses(queries, s, p, f, v, g, h, n_threads)
    return values, gradient, hessian


def fidelity(const double[::1] scores, const Py_ssize_t[::1] ptr,
             const int[::1] order, const int[::1] lower, const double[::1] weight,
             int n_threads):
    """Fidelity loss over all preference pairs, 1 - (1 + exp(s_v - s_u)) ** -0.5.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(number of pairs), without any
        exponential per pair; O(m log m) for long queries of m documents.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        fidelity_losses(queries, s, v, g, n_threads)
    return values, gradient


def along(const double[::1] scores, const double[::1] ranks,
          const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
          const double[::1] weight, double p, const double[::1] factors, int n_threads):
    """Values of `push` on the line scores + t ranks at t = 0, and their derivatives.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ranks : ndarray of shape (n_documents,)
        Direction.
    ptr, order, lower, weight, p, factors
        See `push`.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_queries, 3)
        Value, first and second derivative of each query.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    sums = np.zeros((queries.queries.count, 3))
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *r = doubles(ranks, scores.shape[0], "ranks")
    cdef const double *f = doubles_or_none(factors, queries.queries.count, "factors")
    cdef double *to = out_doubles(sums.ravel())
    with nogil:
        lines(queries, s, r, p, f, to, n_threads)
    return sums


def agreement(const double[::1] scores, const double[::1] ranks,
              const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
              const double[::1] weight, bint fidelity, int n_threads):
    """Slopes of the loss of all pairs, by what a weak ranker says of the pairs.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ranks : ndarray of shape (n_documents,)
        Ranks in [0, 1] by the weak ranker; a high one is good.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    fidelity : bool
        Whether the loss is the fidelity loss; otherwise it is the exponential loss.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_queries, 3)
        Sums over pairs of the absolute slope times h_u (1 - h_v), times (1 - h_u) h_v,
        and of the slope alone.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    sums = np.zeros((queries.queries.count, 3))
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *r = doubles(ranks, scores.shape[0], "ranks")
    cdef double *to = out_doubles(sums.ravel())
    with nogil:
        agreements(queries, s, r, fidelity, to, n_threads)
    return sums


def debiased_lambda_loss(const double[::1] scores, const Py_ssize_t[::1] ptr,
                         const double[::1] gain, const double[::1] discount,
                         const double[::1] scale, const double[::1] weight,
                         const double[::1] preferred, const double[::1] other,
                         const int[::1] order, const int[::1] lower, double sigma,
                         int truncation, bint normalize, double damping,
                         int n_threads):
    """Logistic pairs by what swaps change, times a factor for each of both documents.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores; ties rank in the order of the rows.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    gain : ndarray of shape (n_documents,)
        Gain; of a pair the document of higher gain is the preferred one.
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as long as the longest query.
    scale : ndarray of shape (n_queries,)
        Factor of each query; queries of scale 0 are skipped.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    preferred, other : ndarrays of shape (n_documents,)
        Factors of a document as the preferred one of a pair and as the other one.
    order, lower : ndarrays of shape (n_documents,), dtype int32
        Documents by gain, from `label_order`.
    sigma, truncation, normalize, damping
        See `lambda_loss`.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Loss of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values, the deltas held fixed.
    hessian : ndarray of shape (n_documents,)
        Diagonal of the Hessian.
    as_preferred, as_other : ndarrays of shape (n_documents,)
        Losses of the pairs in which the document is the preferred one, or the other
        one, with all factors but its own. Complexity: O(m log m + m c) for a query of m
        documents, of which c are preferred to any.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    if discount.shape[0] < np.max(np.diff(ptr), initial=0):
        raise ValueError("discount is shorter than the longest query")
    cdef Py_ssize_t n = scores.shape[0]
    cdef LambdaMeasure measure = LambdaMeasure(
        0,
        doubles(gain, n, "gain"),
        doubles(discount, discount.shape[0], "discount"),
        doubles(scale, queries.queries.count, "scale"),
    )
    cdef LambdaOptions options = LambdaOptions(sigma, truncation, normalize, damping)
    cdef PlaceFactors factors = PlaceFactors(
        doubles(preferred, n, "preferred"), doubles(other, n, "other")
    )
    values = np.zeros(queries.queries.count)
    results = [np.zeros(n) for _ in range(4)]
    cdef const double *s = doubles(scores, n, "scores")
    cdef double *v = out_doubles(values)
    cdef DebiasedSums sums = DebiasedSums(
        out_doubles(results[0]), out_doubles(results[1]), out_doubles(results[2]),
        out_doubles(results[3]),
    )
    with nogil:
        debiased_losses(queries, s, measure, options, factors, v, sums, n_threads)
    return values, *results
