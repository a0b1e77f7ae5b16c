# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Most violated rankings of structured prediction: values and subgradients.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. Every query is handled by one thread, which
writes nothing but the rows of this query, so results do not depend on the number of
threads.
"""

import numpy as np

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, ints, out_doubles, queries_of,
)

cdef extern from "_interleavings.hpp" namespace "skrank" nogil:
    cdef enum BinaryMeasure:
        AVERAGE_PRECISION
        RECIPROCAL_RANK
        GAIN_DISCOUNT
    void most_violated_interleavings(Queries, const double *scores,
                                     const double *relevance, BinaryMeasure measure,
                                     const double *discount, int k,
                                     const double *scale,
                                     const double *query_weight, double *values,
                                     double *gradient, int n_threads) except +

cdef extern from "_positions.hpp" namespace "skrank" nogil:
    struct Positions:
        Queries queries
        const double *scores
        const double *gain
        const double *target
        const double *weight
        const double *discount
        const double *scale
        const double *best
        const double *query_weight
    void most_violated_sorts(const Positions&, double *values, double *gradient,
                             int n_threads) except +
    void most_violated_assignments(const Positions&, double *values, double *gradient,
                                   int n_threads) except +

cdef extern from "_lattices.hpp" namespace "skrank" nogil:
    void most_violated_paths(const Positions&, const int *perfect, double *values,
                             double *gradient, int n_threads) except +

cdef extern from "_glue.hpp":
    pass


cdef Py_ssize_t _longest(const Py_ssize_t[::1] ptr):
    cdef Py_ssize_t q, most = 0
    for q in range(ptr.shape[0] - 1):
        most = max(most, ptr[q + 1] - ptr[q])
    return most


def interleavings(const double[::1] scores, const Py_ssize_t[::1] ptr,
                  const double[::1] relevance, str kind, const double[::1] discount,
                  const double[::1] scale, const double[::1] query_weight,
                  int n_threads):
    """Most violated rankings where pairs of a relevant and another document count.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores, finite.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    relevance : ndarray of shape (n_documents,)
        1 for relevant documents, 0 for others.
    kind : {"average_precision", "reciprocal_rank", "gain_discount"}
        Form of the measure; see `skrank.metrics.DeltaTerms`.
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as long as the longest query: falling, convex and above 0
        up to a cut-off k, and 0 beyond it. For "gain_discount" it must be convex
        throughout every query that has a weight.
    scale, query_weight : ndarrays of shape (n_queries,)
        Factor of the measure, and weight of the query; queries of weight 0 are
        skipped.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        What the most violated ranking violates.
    gradient : ndarray of shape (n_documents,)
        Subgradient of the sum of all values. Complexity: O(m log m) for a query of m
        documents; on top, for average precision cut off at k < m, O(m k).
    """
    cdef BinaryMeasure measure
    if kind == "average_precision":
        measure = AVERAGE_PRECISION
    elif kind == "reciprocal_rank":
        measure = RECIPROCAL_RANK
    elif kind == "gain_discount":
        measure = GAIN_DISCOUNT
    else:
        raise ValueError(f"kind must be that of a binary measure, got {kind!r}")
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *is_relevant = doubles(relevance, scores.shape[0], "relevance")
    cdef const double *d = doubles(discount, _longest(ptr), "discount")
    cdef const double *factor = doubles(scale, queries.count, "scale")
    cdef const double *weight = doubles(query_weight, queries.count, "query_weight")
    cdef int k = 0
    while k < discount.shape[0] and discount[k] > 0.0:
        k += 1
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        most_violated_interleavings(queries, s, is_relevant, measure, d, k, factor,
                                    weight, v, g, n_threads)
    return values, gradient


def positions(const double[::1] scores, const Py_ssize_t[::1] ptr,
              const double[::1] gain, const double[::1] target,
              const double[::1] weight, const double[::1] discount,
              const double[::1] scale, const double[::1] best,
              const double[::1] query_weight, int n_threads):
    """Most violated rankings where every position has a weight.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores, finite.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    gain, target : ndarrays of shape (n_documents,)
        Gain of each document, and the mean of its weights in perfect rankings.
    weight, discount : ndarrays of shape (n_documents,)
        Weights in the score of a ranking, and discounts in the measure, of the
        positions of each query; falling, and discounts at least 0. None for weights
        that are the discounts.
    scale, best, query_weight : ndarrays of shape (n_queries,)
        Factor and greatest value of the measure, and weight of the query; queries of
        weight 0 are skipped.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        What the most violated ranking violates.
    gradient : ndarray of shape (n_documents,)
        Subgradient of the sum of all values. Complexity for a query of m documents:
        O(m log m) where weights are discounts; otherwise O(m² R) for R documents whose
        gain is not the least.
    """
    cdef Py_ssize_t n = scores.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef Py_ssize_t n_queries = queries.count
    values = np.zeros(n_queries)
    gradient = np.zeros(n)
    cdef Positions every = Positions(
        queries, doubles(scores, n, "scores"), doubles(gain, n, "gain"),
        doubles(target, n, "target"), doubles_or_none(weight, n, "weight"),
        doubles(discount, n, "discount"), doubles(scale, n_queries, "scale"),
        doubles(best, n_queries, "best"),
        doubles(query_weight, n_queries, "query_weight"),
    )
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef bint is_product = weight is None
    with nogil:
        if is_product:
            most_violated_sorts(every, v, g, n_threads)
        else:
            most_violated_assignments(every, v, g, n_threads)
    return values, gradient


def paths(const double[::1] scores, const Py_ssize_t[::1] ptr, const int[::1] order,
          const double[::1] gain, const double[::1] discount, const double[::1] scale,
          const double[::1] best, const double[::1] query_weight, int n_threads):
    """Most violated rankings of sums of gains where pairs of different gain count.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores, finite.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    order : ndarray of shape (n_documents,), dtype int32
        Rows of each query, from 0, by falling gain, with at most 255 different gains.
    gain : ndarray of shape (n_documents,)
        Gain of each document.
    discount : ndarray of shape (n_documents,)
        Discounts of the positions of each query, one after the other.
    scale, best, query_weight : ndarrays of shape (n_queries,)
        Factor and greatest value of the measure, and weight of the query; queries of
        weight 0 are skipped.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        What the most violated ranking violates.
    gradient : ndarray of shape (n_documents,)
        Subgradient of the sum of all values. Complexity: the product of the numbers of
        documents of each gain, plus one.
    """
    cdef Py_ssize_t i, n = scores.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef Py_ssize_t q, n_queries = queries.count
    values = np.zeros(n_queries)
    gradient = np.zeros(n)
    cdef Positions every = Positions(
        queries, doubles(scores, n, "scores"), doubles(gain, n, "gain"), NULL, NULL,
        doubles(discount, n, "discount"), doubles(scale, n_queries, "scale"),
        doubles(best, n_queries, "best"),
        doubles(query_weight, n_queries, "query_weight"),
    )
    cdef const int *perfect = ints(order, n, "order")
    for q in range(n_queries):
        for i in range(ptr[q], ptr[q + 1]):
            if not 0 <= perfect[i] < ptr[q + 1] - ptr[q]:
                raise ValueError("order must hold rows of each query, counted from 0")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        most_violated_paths(every, perfect, v, g, n_threads)
    return values, gradient
