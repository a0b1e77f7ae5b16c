# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Boltzmann distributions over samples of rankings.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``, m of them. Its ``n_samples`` rankings stand one
after the other from ``places[start[q]]`` on: the 0-based place of each of its documents.
``table[table_start[q] + r]`` is what one unit of score adds to the energy in place r.
Every query is handled by one thread, which writes nothing but what belongs to it, so
results do not depend on the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport uint16_t, uint32_t, uint64_t


cdef extern from "_boltzmann.hpp" namespace "skrank" nogil:
    cppclass SplitMix:
        pass
    SplitMix query_generator(uint64_t seed, const double *y, const int *order, int m)
    void draw_samples[Place](SplitMix rng, const int *order, const int *lower, int m,
                             int n_samples, int *work, Place *places)
    void sample_energies[Place](const double *s, const double *table,
                                const Place *places, int m, int n_samples,
                                double *energy)
    void pull_energies[Place](const double *slope, const double *table,
                              const Place *places, int m, int n_samples, double *grad)
    double boltzmann_value(double *energy, const double *gain, const double *target,
                           double mix, int n, double *p)

ctypedef fused place_t:
    uint16_t
    uint32_t


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
        Written: 0-based places. Complexity: O(m) per sample.
    n_samples : int
        Rankings per query.
    seed : int
        The samples of a query depend on the seed, its grades and the order of its rows.
    n_threads : int
        Number of threads.
    """
    cdef Py_ssize_t q, first, n_queries = ptr.shape[0] - 1
    cdef int m, width = int(np.max(np.diff(ptr), initial=1))
    cdef int[:, ::1] work = np.empty((n_threads, 5 * width + 2), dtype=np.int32)
    with nogil, parallel(num_threads=n_threads):
        for q in prange(n_queries, schedule="dynamic", chunksize=8):
            first = ptr[q]
            m = <int>(ptr[q + 1] - first)
            if m == 0:
                continue
            draw_samples(query_generator(seed, &y[first], &order[first], m),
                         &order[first], &lower[first], m, n_samples,
                         &work[threadid(), 0], &places[start[q]])


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
        Rankings per query.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_queries, n_samples)
        Complexity: O(n_documents * n_samples).
    """
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1
    cdef int m
    out = np.zeros((n_queries, n_samples))
    cdef double[:, ::1] energy = out
    for q in prange(n_queries, nogil=True, schedule="dynamic", chunksize=8,
                    num_threads=n_threads):
        m = <int>(ptr[q + 1] - ptr[q])
        if m > 0:
            sample_energies(&scores[ptr[q]], &table[table_start[q]], &places[start[q]],
                            m, n_samples, &energy[q, 0])
    return out


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
    cdef Py_ssize_t q, i, first, n_queries = ptr.shape[0] - 1
    cdef int m, n_samples = <int>gain.shape[1]
    cdef double[:, :, ::1] work = np.empty((n_threads, 2, n_samples))
    cdef double *energy
    cdef double *p
    values_array = np.zeros(n_queries)
    gradient_array = np.zeros(scores.shape[0])
    cdef double[::1] values = values_array, gradient = gradient_array
    with nogil, parallel(num_threads=n_threads):
        energy = &work[threadid(), 0, 0]
        p = &work[threadid(), 1, 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=8):
            first = ptr[q]
            m = <int>(ptr[q + 1] - first)
            if m == 0 or query_weight[q] == 0.0:
                continue
            sample_energies(&scores[first], &table[table_start[q]], &places[start[q]],
                            m, n_samples, energy)
            values[q] = query_weight[q] * boltzmann_value(
                energy, &gain[q, 0], &target[q, 0], mix, n_samples, p)
            for i in range(n_samples):
                energy[i] = query_weight[q] * energy[i]
            pull_energies(energy, &table[table_start[q]], &places[start[q]], m,
                          n_samples, &gradient[first])
    return values_array, gradient_array
