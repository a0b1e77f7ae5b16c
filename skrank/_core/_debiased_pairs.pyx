# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lambda pairs of clicks, with a factor for the place of each of the two documents.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``; every query is handled by one thread, so
results do not depend on the number of threads.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport doubles, out_doubles
from skrank._core._graded_queries cimport GradedQueries, graded_queries

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
