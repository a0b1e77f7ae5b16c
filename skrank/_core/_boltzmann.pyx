# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Boltzmann distributions over samples of rankings.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``, m of them. Its ``n_samples`` rankings stand one
after the other from ``places[start[q]]`` on: the 0-based place of each of its documents.
``table[table_start[q] + r]`` is what one unit of score adds to the energy in place r.
Every query is handled by one thread, which writes nothing but what belongs to it, so
results do not depend on the number of threads.
"""

import numpy as np

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from skrank._core._for_each_query cimport Queries, out_doubles, queries_of
from skrank._core._lengths cimport check_length

cdef extern from "_boltzmann.hpp" namespace "skrank" nogil:
    cppclass RankSamples[Place]:
        const Py_ssize_t *start
        const Place *places
        const double *table
        const Py_ssize_t *table_start
        int n

    void draw_all_samples[Place](Queries, const double *y, const int *order,
                                 const int *lower, const Py_ssize_t *start,
                                 int n_samples, uint64_t seed, Place *places,
                                 int n_threads) except +
    void all_sample_energies[Place](Queries, const double *scores,
                                    const RankSamples[Place]&, double *energy,
                                    int n_threads) except +
    void boltzmann_losses[Place](Queries, const double *scores,
                                 const RankSamples[Place]&, const double *gain,
                                 const double *target, const double *query_weight,
                                 double mix, double *values, double *gradient,
                                 int n_threads) except +

cdef extern from "_glue.hpp":
    pass

ctypedef fused place_t:
    uint16_t
    uint32_t


cdef int _check_room(const Py_ssize_t[::1] ptr, const Py_ssize_t[::1] start,
                     Py_ssize_t per_document, Py_ssize_t room, str name) except -1:
    """Check that the part of every query lies within an array of length ``room``."""
    cdef Py_ssize_t q, size
    check_length(start.shape[0], ptr.shape[0] - 1, f"the starts in {name}")
    for q in range(start.shape[0]):
        size = (ptr[q + 1] - ptr[q]) * per_document
        if size and not 0 <= start[q] <= room - size:
            raise ValueError(f"{name} has no room for query {q}")
    return 0


cdef RankSamples[place_t] _samples(
    const Py_ssize_t[::1] ptr, const Py_ssize_t[::1] start, const place_t[::1] places,
    const double[::1] table, const Py_ssize_t[::1] table_start, int n_samples,
) except *:
    cdef RankSamples[place_t] samples
    _check_room(ptr, start, n_samples, places.shape[0], "places")
    _check_room(ptr, table_start, 1, table.shape[0], "table")
    samples.start, samples.table_start = &start[0], &table_start[0]
    samples.places, samples.table = &places[0], &table[0]
    samples.n = n_samples
    return samples


def draw(const double[::1] y, const Py_ssize_t[::1] ptr, const int[::1] order,
         const int[::1] lower, const Py_ssize_t[::1] start, place_t[::1] places,
         int n_samples, uint64_t seed, int n_threads):
    """Fill in the rank samples of every query.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    start : ndarray of shape (n_queries,), dtype intp
        Where the samples of each query begin.
    places : ndarray of shape (n_documents * n_samples,), dtype uint16 or uint32
        Receives the 0-based places. Complexity: O(m) per sample.
    n_samples : int
        Number of rankings per query.
    seed : int
        Seed; the samples of a query depend on it, on the grades of the query and on the
        order of its rows, and not on other queries.
    n_threads : int
        Number of threads.
    """
    cdef Queries queries = queries_of(ptr, y.shape[0])
    check_length(order.shape[0], y.shape[0], "order")
    check_length(lower.shape[0], y.shape[0], "lower")
    if y.shape[0] == 0 or n_samples < 1:
        return
    _check_room(ptr, start, n_samples, places.shape[0], "places")
    with nogil:
        draw_all_samples(queries, &y[0], &order[0], &lower[0], &start[0], n_samples, seed,
                         &places[0], n_threads)


def energies(const double[::1] scores, const Py_ssize_t[::1] ptr,
             const Py_ssize_t[::1] start, const place_t[::1] places,
             const double[::1] table, const Py_ssize_t[::1] table_start, int n_samples,
             int n_threads):
    """Energies of all rank samples.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores.
    ptr, start, places, table, table_start : ndarrays
        Queries, samples and coefficients.
    n_samples : int
        Number of rankings per query.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_queries, n_samples)
        Complexity: O(n_documents * n_samples).
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    energy = np.zeros((queries.count, n_samples))
    if scores.shape[0] == 0 or n_samples < 1:
        return energy
    cdef double[:, ::1] out = energy
    cdef RankSamples[place_t] samples = _samples[place_t](
        ptr, start, places, table, table_start, n_samples
    )
    with nogil:
        all_sample_energies(queries, &scores[0], samples, &out[0, 0], n_threads)
    return energy


def loss(const double[::1] scores, const Py_ssize_t[::1] ptr,
         const Py_ssize_t[::1] start, const place_t[::1] places,
         const double[::1] table, const Py_ssize_t[::1] table_start,
         const double[:, ::1] gain, const double[:, ::1] target,
         const double[::1] query_weight, double mix, int n_threads):
    """Mix of expected gain and cross entropy over the rank samples.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores.
    ptr, start, places, table, table_start : ndarrays
        Queries, samples and coefficients.
    gain : ndarray of shape (n_queries, n_samples)
        Gain of each sample.
    target : ndarray of shape (n_queries, n_samples)
        Target probability of each sample.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query; queries of weight 0 are skipped.
    mix : float
        Weight of the expected gain; the rest goes to the cross entropy.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted cross entropies less expected gains.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents * n_samples).
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    check_length(gain.shape[0], queries.count, "gain")
    check_length(target.shape[0], queries.count, "target")
    check_length(target.shape[1], gain.shape[1], "a row of target")
    check_length(query_weight.shape[0], queries.count, "query_weight")
    if scores.shape[0] == 0 or gain.shape[1] == 0:
        return values, gradient
    cdef RankSamples[place_t] samples = _samples[place_t](
        ptr, start, places, table, table_start, <int>gain.shape[1]
    )
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        boltzmann_losses(queries, &scores[0], samples, &gain[0, 0], &target[0, 0],
                         &query_weight[0], mix, v, g, n_threads)
    return values, gradient
