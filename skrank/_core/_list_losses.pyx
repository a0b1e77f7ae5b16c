# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses over whole lists: value per query and gradient with respect to the scores.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. Every query is handled by one thread, which
writes nothing but the rows of this query, so results do not depend on the number of
threads.
"""

import numpy as np

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, ints, out_doubles, queries_of,
)

cdef extern from "_softmax.hpp" namespace "skrank" nogil:
    void softmax_cross_entropies(Queries, const double *scores, const double *target,
                                 const double *query_weight, double *values,
                                 double *gradient, int n_threads) except +

cdef extern from "_plackett_luce.hpp" namespace "skrank" nogil:
    void plackett_luce_losses(Queries, const double *scores, const int *order,
                              const double *stage_weight, const double *query_weight,
                              int top_k, double *values, double *gradient,
                              int n_threads) except +

cdef extern from "_partition_likelihood.hpp" namespace "skrank" nogil:
    void partition_losses(Queries, const double *scores, const int *order,
                          const int *lower, const double *query_weight, int top_k,
                          double *values, double *gradient, int n_threads) except +

cdef extern from "_glue.hpp":
    pass


def softmax_cross_entropy(const double[::1] scores, const Py_ssize_t[::1] ptr,
                          const double[::1] target, const double[::1] query_weight,
                          int n_threads):
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
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *t = doubles(target, scores.shape[0], "target")
    cdef const double *weight = doubles(query_weight, queries.count, "query_weight")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        softmax_cross_entropies(queries, s, t, weight, v, g, n_threads)
    return values, gradient


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
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *stages = doubles_or_none(stage_weight, scores.shape[0],
                                               "stage_weight")
    cdef const double *weight = doubles(query_weight, queries.count, "query_weight")
    cdef const int *places = ints(order, scores.shape[0], "order")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        plackett_luce_losses(queries, s, places, stages, weight, top_k, v, g, n_threads)
    return values, gradient


def partition_likelihood(const double[::1] scores, const Py_ssize_t[::1] ptr,
                         const int[::1] order, const int[::1] lower,
                         const double[::1] query_weight, int top_k, int n_threads):
    """Negative log-likelihood of ordered partitions under the Plackett-Luce model.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    order, lower : ndarrays of shape (n_documents,), dtype int32
        Documents by grade, from `label_order`.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query; queries of weight 0 are skipped.
    top_k : int
        Grades that begin after this position are not told apart; 0 for all of them.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted negative log-likelihoods.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents) exponentials for
        each of some hundred points of quadrature.
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *weight = doubles(query_weight, queries.count, "query_weight")
    cdef const int *places = ints(order, scores.shape[0], "order")
    cdef const int *ends = ints(lower, scores.shape[0], "lower")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        partition_losses(queries, s, places, ends, weight, top_k, v, g, n_threads)
    return values, gradient
