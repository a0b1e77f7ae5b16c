# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Votes of runs, and of scores, between the documents of each query.

A run prefers the document that it places before the other one; it has no vote on
documents whose place is NaN. Results do not depend on the number of threads.
"""

import numpy as np

from skrank._core._for_each_query cimport (
    Queries, doubles, ints, out_doubles, out_ints, queries_of,
)
from skrank._core._lengths cimport check_length

cdef extern from "_majority.hpp" namespace "skrank" nogil:
    struct Runs:
        const double *places
        const double *weight
        int count
    void copeland_counts(Queries, Runs, double *counts, int n_threads) except +
    void majority_orders(Queries, Runs, int *order, int n_threads) except +
    void local_kemeny_orders(Queries, Runs, int *order, int n_threads) except +
    void kendall_distances(Queries, Runs, const int *order, double *distances,
                           int n_threads) except +

cdef extern from "_greedy_order.hpp" namespace "skrank" nogil:
    struct Voters:
        const double *scores
        const double *weight
        int count

    void c_greedy_ranks "skrank::greedy_ranks"(Queries, Voters, double *rank,
                                               int n_threads) except +

cdef extern from "_glue.hpp":
    pass


cdef Runs _runs(const double[:, ::1] places, const double[::1] weight) except *:
    if places is None:
        raise ValueError("places must be an array")
    cdef Py_ssize_t n_runs = places.shape[1]
    if not 0 < n_runs < 2**31:
        raise ValueError(f"places must have a column for each run, got {n_runs}")
    cdef const double *w = doubles(weight, n_runs, "weight")
    # An empty array has no address.
    cdef const double *first = NULL
    if places.shape[0]:
        first = &places[0, 0]
    return Runs(first, w, <int>n_runs)


cdef int _check_order(const int[::1] order, const Py_ssize_t[::1] ptr) except -1:
    cdef Py_ssize_t q, i
    check_length(0 if order is None else order.shape[0], ptr[ptr.shape[0] - 1], "order")
    for q in range(ptr.shape[0] - 1):
        for i in range(ptr[q], ptr[q + 1]):
            if not 0 <= order[i] < ptr[q + 1] - ptr[q]:
                raise ValueError("order must hold places within the query")
    return 0


def copeland(const double[:, ::1] places, const double[::1] weight,
             const Py_ssize_t[::1] ptr, int n_threads=1):
    """Pairwise contests that each document wins, less those that it loses.

    Parameters
    ----------
    places : ndarray of shape (n_documents, n_runs)
        Place of each document in each run, the best one first; NaN: no vote.
    weight : ndarray of shape (n_runs,)
        Weight of the votes of each run.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    cdef Runs runs = _runs(places, weight)
    cdef Queries queries = queries_of(ptr, places.shape[0])
    counts = np.zeros(places.shape[0])
    cdef double *out = out_doubles(counts)
    with nogil:
        copeland_counts(queries, runs, out, n_threads)
    return counts


def sort_by_majority(const double[:, ::1] places, const double[::1] weight,
                     const int[::1] order, const Py_ssize_t[::1] ptr,
                     int n_threads=1):
    """Order in which no document is preferred by a majority to the one before it.

    Parameters
    ----------
    places, weight, ptr, n_threads
        As in `copeland`.
    order : ndarray of shape (n_documents,), dtype int32
        Documents of each query in the order to begin with, counted from its first row.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        As ``order``, from merging sorted parts.
    """
    cdef Runs runs = _runs(places, weight)
    cdef Queries queries = queries_of(ptr, places.shape[0])
    _check_order(order, ptr)
    result = np.array(order)
    cdef int *out = out_ints(result)
    with nogil:
        majority_orders(queries, runs, out, n_threads)
    return result


def local_kemeny(const double[:, ::1] places, const double[::1] weight,
                 const int[::1] order, const Py_ssize_t[::1] ptr, int n_threads=1):
    """Insert documents in a given order, each as far up as majorities prefer it.

    Parameters
    ----------
    places, weight, order, ptr, n_threads
        As in `sort_by_majority`.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        As ``order``.
    """
    cdef Runs runs = _runs(places, weight)
    cdef Queries queries = queries_of(ptr, places.shape[0])
    _check_order(order, ptr)
    result = np.array(order)
    cdef int *out = out_ints(result)
    with nogil:
        local_kemeny_orders(queries, runs, out, n_threads)
    return result


def kendall_distance(const double[:, ::1] places, const double[::1] weight,
                     const int[::1] order, const Py_ssize_t[::1] ptr,
                     int n_threads=1):
    """Weighted number of pairs that an order puts otherwise than the runs.

    Parameters
    ----------
    places, weight, order, ptr, n_threads
        As in `sort_by_majority`.

    Returns
    -------
    ndarray of shape (n_queries,)
    """
    cdef Runs runs = _runs(places, weight)
    cdef Queries queries = queries_of(ptr, places.shape[0])
    _check_order(order, ptr)
    distances = np.zeros(queries.count)
    cdef const int *given = ints(order, places.shape[0], "order")
    cdef double *out = out_doubles(distances)
    with nogil:
        kendall_distances(queries, runs, given, out, n_threads)
    return distances


def greedy_ranks(const double[:, ::1] scores, const Py_ssize_t[::1] ptr,
                 const double[::1] weight, int n_threads):
    """Ranks of documents in the greedy order of weighted preferences.

    The preference for document u over v is the sum of the weights of the voters that
    give u a higher score, less that of those who give it a lower one.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_voters)
        Scores that each voter gives to each document.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    weight : ndarray of shape (n_voters,)
        Weight of each voter; a negative one votes for the opposite.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        Ranks from 1. Complexity: O(m² n_voters) for a query of m documents, memory
        O(m n_voters) per thread.
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    cdef Py_ssize_t n_voters = scores.shape[1]
    check_length(weight.shape[0], n_voters, "weight")
    ranks = np.empty(scores.shape[0])
    cdef const double *s = NULL
    if scores.shape[0] and n_voters:
        s = &scores[0, 0]
    cdef Voters voters = Voters(s, doubles(weight, n_voters, "weight"), <int>n_voters)
    cdef double *r = out_doubles(ranks)
    with nogil:
        c_greedy_ranks(queries, voters, r, n_threads)
    return ranks
