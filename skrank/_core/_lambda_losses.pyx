# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Logistic pairs weighted by the ranks of two documents and what they do to a measure.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``; every query is handled by one thread, so
results do not depend on the number of threads.
"""

import numpy as np

from libc.stdint cimport uint32_t
from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, out_doubles, queries_of,
)
from skrank._core._graded_queries cimport GradedQueries, graded_queries

cdef extern from "_lambda_losses.hpp" namespace "skrank" nogil:
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

    void lambda_losses(GradedQueries, const double *scores, const double *ranking,
                       LambdaMeasure, LambdaOptions, double *values, double *gradient, double *hessian,
                       int n_threads) except +

cdef extern from "_lambda_bounds.hpp" namespace "skrank" nogil:
    struct BoundTerms:
        cbool each_other
        const double *gain
        const double *discount
        const double *apart
        const double *scale
        double by_discount

    void bound_losses(Queries, const double *scores, const double *ranking,
                      const double *weight, BoundTerms, double sigma, double *values,
                      double *gradient, double *hessian, int n_threads) except +

cdef extern from "_neighbour_pairs.hpp" namespace "skrank" nogil:
    struct Perturbed:
        const double *grade
        const double *gain
        const double *noise
        const double *by_rank
        Py_ssize_t stride
        int n_rankings

    void neighbour_losses(Queries, const double *scores, Perturbed,
                          const double *weight, const double *scale, double *values,
                          double *gradient, double *hessian, int n_threads) except +
    void draw_logistic(const uint32_t *bits, Py_ssize_t n, double scale, double *out,
                       int n_threads) except +

cdef extern from "_glue.hpp":
    pass

# In the order of DeltaKind in _lambda_pairs.hpp.
KINDS = ("gain_discount", "average_precision", "reciprocal_rank", "cascade")


def lambda_loss(const double[::1] scores, const Py_ssize_t[::1] ptr, str kind,
                const double[::1] gain, const double[::1] discount,
                const double[::1] scale, const double[::1] weight,
                const int[::1] order, const int[::1] lower, double sigma,
                int truncation, bint normalize, double damping, int n_threads,
                const double[::1] ranking=None):
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
    ranking : ndarray of shape (n_documents,), default=None
        Scores by which the documents are ranked for the deltas; None for the current
        ones. Only for the kind "gain_discount" and without truncation; all pairs of
        different gain are then visited.

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
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    if discount.shape[0] < np.max(np.diff(ptr), initial=0):
        raise ValueError("discount is shorter than the longest query")
    if ranking is not None and (kind != "gain_discount" or truncation > 0):
        raise ValueError("ranking needs kind='gain_discount' and truncation=0")
    cdef LambdaMeasure measure = LambdaMeasure(
        KINDS.index(kind),
        doubles(gain, scores.shape[0], "gain"),
        doubles(discount, discount.shape[0], "discount"),
        doubles(scale, queries.queries.count, "scale"),
    )
    cdef LambdaOptions options = LambdaOptions(sigma, truncation, normalize, damping)
    values = np.zeros(queries.queries.count)
    gradient = np.zeros(scores.shape[0])
    hessian = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *r = doubles_or_none(ranking, scores.shape[0], "ranking")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        lambda_losses(queries, s, s if r == NULL else r, measure, options, v, g, h,
                      n_threads)
    return values, gradient, hessian


def lambda_bound(const double[::1] scores, const Py_ssize_t[::1] ptr, bint each_other,
                 const double[::1] gain, const double[::1] discount,
                 const double[::1] apart, double by_discount,
                 const double[::1] scale, const double[::1] weight, double sigma,
                 int n_threads, const double[::1] ranking=None):
    """Logistic pairs whose weights depend on the ranks of both documents.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores; ties rank in the order of the rows.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    each_other : bool
        Whether a document loses its gain times its discount for every other document
        that is ahead of it; otherwise pairs of documents cost the difference of their
        gains times a function of both ranks, if the one of lower gain is ahead.
    gain : ndarray of shape (n_documents,)
        Gains.
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as long as the longest query.
    apart : ndarray of shape (n_ranks,) or None
        What weighs a pair that is so many ranks apart, as long as the longest query;
        None if ``each_other``.
    by_discount : float
        Factor of the difference of two discounts, which is added to ``apart``.
    scale : ndarray of shape (n_queries,)
        Factor of each query; queries of scale 0 are skipped.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of the document that should not be behind.
    sigma : float
        Steepness.
    n_threads : int
        Number of threads.
    ranking : ndarray of shape (n_documents,), default=None
        Scores by which the documents are ranked for the weights; None for the current
        ones.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted loss of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values, the weights held fixed.
    hessian : ndarray of shape (n_documents,)
        Diagonal of the Hessian. Complexity: O(m^2) for a query of m documents.
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    longest = np.max(np.diff(ptr), initial=0)
    if discount.shape[0] < longest:
        raise ValueError("discount is shorter than the longest query")
    if not each_other and (apart is None or apart.shape[0] < longest):
        raise ValueError("apart is shorter than the longest query")
    cdef Py_ssize_t n_apart = 0 if apart is None else apart.shape[0]
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *r = doubles_or_none(ranking, scores.shape[0], "ranking")
    cdef const double *w = doubles_or_none(weight, scores.shape[0], "weight")
    cdef BoundTerms terms = BoundTerms(
        each_other,
        doubles(gain, scores.shape[0], "gain"),
        doubles(discount, discount.shape[0], "discount"),
        doubles_or_none(apart, n_apart, "apart"),
        doubles(scale, queries.count, "scale"),
        by_discount,
    )
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    hessian = np.zeros(scores.shape[0])
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        bound_losses(queries, s, s if r == NULL else r, w, terms, sigma, v, g, h,
                     n_threads)
    return values, gradient, hessian


def neighbour_pairs(const double[::1] scores, const Py_ssize_t[::1] ptr,
                    const double[::1] grade, const double[::1] gain,
                    const double[:, ::1] noise, const double[::1] by_rank,
                    const double[::1] scale, const double[::1] weight, int n_threads):
    """Logistic pairs of neighbours in rankings by scores plus noise.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    grade : ndarray of shape (n_documents,)
        Grades; of a pair the document of the higher grade is the preferred one.
    gain : ndarray of shape (n_documents,)
        Gains, equal for equal grades; a pair weighs as much as they differ.
    noise : ndarray of shape (n_rankings, n_documents)
        What is added to the scores before ranking; equal sums rank in the order of the
        rows.
    by_rank : ndarray of shape (n_ranks,)
        Weight of a pair by the rank of its upper document, as long as the longest
        query.
    scale : ndarray of shape (n_queries,)
        Factor of each query; queries of scale 0 are skipped.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted means over the rankings.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values, the rankings held fixed.
    hessian : ndarray of shape (n_documents,)
        Diagonal of the Hessian. Complexity: O(n_rankings m log m) for a query of m
        documents.
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    if by_rank.shape[0] < np.max(np.diff(ptr), initial=0):
        raise ValueError("by_rank is shorter than the longest query")
    if noise is None or noise.shape[1] != scores.shape[0] or noise.shape[0] == 0:
        raise ValueError("noise must have a row for each ranking, one number per document")
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *w = doubles_or_none(weight, scores.shape[0], "weight")
    cdef const double *factor = doubles(scale, queries.count, "scale")
    cdef const double *noise_of = NULL
    if scores.shape[0]:
        noise_of = &noise[0, 0]
    cdef Perturbed perturbed = Perturbed(
        doubles(grade, scores.shape[0], "grade"),
        doubles(gain, scores.shape[0], "gain"),
        noise_of,
        doubles(by_rank, by_rank.shape[0], "by_rank"),
        scores.shape[0],
        <int>noise.shape[0],
    )
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    hessian = np.zeros(scores.shape[0])
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        neighbour_losses(queries, s, perturbed, w, factor, v, g, h, n_threads)
    return values, gradient, hessian


def logistic_noise(const uint32_t[:, ::1] bits, double scale, int n_threads):
    """Draws from the logistic distribution.

    Parameters
    ----------
    bits : ndarray of shape (n_rankings, n_documents), dtype uint32
        Whole numbers, all of equal chance.
    scale : float
        Scale of the distribution.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_rankings, n_documents)
        scale * log(u / (1 - u)), where u is (bits + 1/2) / 2^32. Complexity: O(n) for
        n numbers.
    """
    if bits is None:
        raise ValueError("bits must be an array, got None")
    noise = np.empty((bits.shape[0], bits.shape[1]))
    cdef Py_ssize_t n = bits.shape[0] * bits.shape[1]
    if n == 0:
        return noise
    cdef const uint32_t *b = &bits[0, 0]
    cdef double *out = out_doubles(noise.reshape(-1))
    with nogil:
        draw_logistic(b, n, scale, out, n_threads)
    return noise
