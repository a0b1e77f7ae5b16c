# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Logistic pairs weighted by the change of a measure when two documents swap.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``; every query is handled by one thread, so
results do not depend on the number of threads.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport doubles, doubles_or_none, out_doubles
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
