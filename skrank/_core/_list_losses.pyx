# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses over whole lists, and over networks of their preference edges.

Each gives the value per query and the gradient with respect to the scores. In a network,
the edges of a query meet: each with every other one, or those of one preferred document.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower``, documents by grade,
come from `skrank._core._segments.label_order`. Every query is handled by one thread,
which writes nothing but the rows of this query, so results do not depend on the number
of threads.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, ints, out_doubles, queries_of,
)
from skrank._core._graded_queries cimport GradedQueries, graded_queries
from skrank._core._lengths cimport check_length

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

cdef extern from "_edge_losses.hpp" namespace "skrank" nogil:
    void edge_pair_losses(GradedQueries, const double *first, const double *second,
                          cbool direct, double *values, double *gradient_first,
                          double *gradient_second, int n_threads) except +
    void sampled_edge_pair_losses(Queries, const double *first, const double *second,
                                  const int *pairs, const double *pair_weight,
                                  Py_ssize_t n_pairs, double *values,
                                  double *gradient_first, double *gradient_second,
                                  int n_threads) except +
    void star_losses(GradedQueries, const double *scores, double *values,
                     double *gradient, int n_threads) except +

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
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                first.shape[0])
    values = np.zeros(queries.queries.count)
    gradient_first = np.empty(first.shape[0])
    gradient_second = None if second is None else np.empty(first.shape[0])
    cdef const double *a = doubles(first, first.shape[0], "first")
    cdef const double *b = doubles_or_none(second, first.shape[0], "second")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient_first)
    cdef double *h = out_doubles(gradient_second)
    with nogil:
        edge_pair_losses(queries, a, b, direct, v, g, h, n_threads)
    return values, gradient_first, gradient_second


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
    cdef Queries queries = queries_of(ptr, first.shape[0])
    cdef Py_ssize_t n_pairs = pairs.shape[1]
    check_length(pairs.shape[0], queries.count, "pairs")
    check_length(pairs.shape[2], 4, "a pair of pairs")
    check_length(pair_weight.shape[0], queries.count, "pair_weight")
    check_length(pair_weight.shape[1], n_pairs, "a row of pair_weight")
    values = np.zeros(queries.count)
    gradient_first = np.zeros(first.shape[0])
    gradient_second = None if second is None else np.zeros(first.shape[0])
    if n_pairs == 0:
        return values, gradient_first, gradient_second
    cdef const double *a = doubles(first, first.shape[0], "first")
    cdef const double *b = doubles_or_none(second, first.shape[0], "second")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient_first)
    cdef double *h = g if second is None else out_doubles(gradient_second)
    cdef const int *rows = &pairs[0, 0, 0]
    cdef const double *weight = &pair_weight[0, 0]
    with nogil:
        sampled_edge_pair_losses(queries, a, b, rows, weight, n_pairs, v, g, h, n_threads)
    return values, gradient_first, gradient_second


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
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        star_losses(queries, s, v, g, n_threads)
    return values, gradient
