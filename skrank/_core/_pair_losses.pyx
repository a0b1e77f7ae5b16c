# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses over preference pairs: value per query and gradient with respect to the scores.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower`` come from
`skrank._core._segments.label_order`. Those of lambdas weigh pairs by the ranks of the two
documents and by what they do to a measure. Every query is handled by one thread, which writes
nothing but the rows of this query, so results do not depend on the number of threads.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t
from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, out_doubles, queries_of,
)
from skrank._core._graded_queries cimport GradedQueries, graded_queries

cdef extern from "_graded_queries.hpp" namespace "skrank" nogil:
    void c_pair_weights "skrank::pair_weights"(GradedQueries, double*, double*)

cdef extern from "_logistic_pairs.hpp" namespace "skrank" nogil:
    void logistic_losses(GradedQueries, const double *scores, double sigma,
                         double *values, double *gradient, double *hessian,
                         int n_threads) except +

cdef extern from "_gap_windows.hpp" namespace "skrank" nogil:
    cppclass Hinge:
        Hinge(double margin, cbool squared)
        Hinge(double margin, cbool squared, double cap, double width)

cdef extern from "_hinge_pairs.hpp" namespace "skrank" nogil:
    void hinge_losses(GradedQueries, const double *scores, const Hinge &,
                      double *values, double *gradient, double *hessian,
                      int n_threads) except +

cdef extern from "_sigmoid_pairs.hpp" namespace "skrank" nogil:
    void sigmoid_losses(GradedQueries, const double *scores, double beta,
                        double *values, double *gradient, int n_threads) except +

cdef extern from "_owa_pairs.hpp" namespace "skrank" nogil:
    void owa_losses(GradedQueries, const double *scores, const double *alpha,
                    const Hinge &, double *values, double *gradient,
                    int n_threads) except +

cdef extern from "_magnitude_pairs.hpp" namespace "skrank" nogil:
    void misordered_losses(GradedQueries, const double *scores, const double *residuals,
                           cbool squared, double *values, double *gradient,
                           int n_threads) except +
    void squared_difference_losses(GradedQueries, const double *residuals,
                                   double *values, double *gradient,
                                   int n_threads) except +

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


def logistic(const double[::1] scores, const Py_ssize_t[::1] ptr,
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
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    hessian = np.empty(scores.shape[0]) if want_hessian else None
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        logistic_losses(queries, s, sigma, v, g, h, n_threads)
    return values, gradient, hessian


def hinge(const double[::1] scores, const Py_ssize_t[::1] ptr,
          const int[::1] order, const int[::1] lower, const double[::1] weight,
          double margin, bint squared, double cap, double width, int n_threads):
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
    cap : float
        Largest loss of a pair, above 0; infinity for none. Squares have none.
    width : float
        Length of the parabola that replaces each kink, 0 or more; 0 keeps the kink.
        Squares have none.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient, or a subgradient, of the sum of all values. Complexity: O(m log m) for
        a query of m documents, whatever the number of grades; up to 512 documents, or
        768 with a cap or a width, the pairs are enumerated.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        hinge_losses(queries, s, Hinge(margin, squared, cap, width), v, g, NULL,
                     n_threads)
    return values, gradient


def squared_hinge_hessian(const double[::1] scores, const Py_ssize_t[::1] ptr,
                          const int[::1] order, const int[::1] lower,
                          const double[::1] weight, double margin, int n_threads):
    """Squared hinge loss over all preference pairs, with its second derivatives.

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
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    hessian : ndarray of shape (n_documents,)
        Diagonal of the Hessian: twice the weight of the pairs of each document that
        miss the margin. Complexity: that of `hinge`.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    hessian = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        hinge_losses(queries, s, Hinge(margin, True), v, g, h, n_threads)
    return values, gradient, hessian


def sigmoid(const double[::1] scores, const Py_ssize_t[::1] ptr,
            const int[::1] order, const int[::1] lower, const double[::1] weight,
            double beta, int n_threads):
    """Sigmoid of all preference pairs, 1 / (1 + exp(beta (s_u - s_v))).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    beta : float
        Steepness.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(number of pairs).
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        sigmoid_losses(queries, s, beta, v, g, n_threads)
    return values, gradient


def owa_hinge(const double[::1] scores, const Py_ssize_t[::1] ptr,
              const int[::1] order, const int[::1] lower, const double[::1] weight,
              const double[::1] alpha, double margin, double width, bint squared,
              int n_threads):
    """Ordered weighted sums of the hinge losses of each preferred document.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        Weights of the documents as preferred ones.
    alpha : ndarray of shape (n_places,)
        Weight of the largest loss of a preferred document, the second largest and so
        on; as long as the longest query.
    margin : float
        Wanted difference of scores.
    width : float
        Length of the parabola that replaces the kink; 0 keeps it. Squares have none.
    squared : bool
        Whether the hinge is squared.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the preferred documents of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient, or a subgradient, of the sum of all values. Complexity: O(m log m +
        m k) for a query of m documents with k grades.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    if alpha.shape[0] < np.max(np.diff(ptr), initial=0):
        raise ValueError("alpha is shorter than the longest query")
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *a = doubles(alpha, alpha.shape[0], "alpha")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        owa_losses(queries, s, a, Hinge(margin, squared, INFINITY, width), v, g,
                   n_threads)
    return values, gradient


def misordered(const double[::1] scores, const double[::1] residuals,
               const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
               const double[::1] weight, bint squared, int n_threads):
    """Differences of residuals over all preference pairs that are out of order.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    residuals : ndarray of shape (n_documents,)
        Scores minus grades, d: a pair with s_u < s_v costs d_v - d_u.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    squared : bool
        Whether the differences are squared.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values where no pair changes its order. Complexity:
        O(m log m) for a query of m documents.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *d = doubles(residuals, scores.shape[0], "residuals")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        misordered_losses(queries, s, d, squared, v, g, n_threads)
    return values, gradient


def squared_differences(const double[::1] residuals, const Py_ssize_t[::1] ptr,
                        const int[::1] order, const int[::1] lower,
                        const double[::1] weight, int n_threads):
    """Squared differences of residuals over all preference pairs, (d_u - d_v)^2.

    Parameters
    ----------
    residuals : ndarray of shape (n_documents,)
        Scores minus grades.
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
        Gradient of the sum of all values. Complexity: O(n_documents).
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                residuals.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(residuals.shape[0])
    cdef const double *d = doubles(residuals, residuals.shape[0], "residuals")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        squared_difference_losses(queries, d, v, g, n_threads)
    return values, gradient


def pair_weights(const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
                 const double[::1] weight):
    """Total weight of the preference pairs of each document, by its place in them.

    Parameters
    ----------
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.

    Returns
    -------
    preferred : ndarray of shape (n_documents,)
        Weight of the pairs in which the document is the preferred one.
    other : ndarray of shape (n_documents,)
        Weight of the pairs in which it is the other one. Complexity: O(n_documents).
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                order.shape[0])
    preferred = np.zeros(order.shape[0])
    other = np.zeros(order.shape[0])
    cdef double *p = out_doubles(preferred)
    cdef double *o = out_doubles(other)
    with nogil:
        c_pair_weights(queries, p, o)
    return preferred, other


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
