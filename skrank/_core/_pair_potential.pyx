# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Pairwise potentials: a small network summed over the other documents of a query.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. A row of ``units`` has what each hidden unit
gets from the document as the first of a pair, then as the second. Every query is handled
by one thread, which writes nothing but what belongs to it, so results do not depend on
the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid


cdef extern from "_pair_potential.hpp" namespace "skrank" nogil:
    enum: PADDING
    enum: LANES
    void pair_scores(const double *rows, const double *weight, double bias, int m,
                     int n_hidden, Py_ssize_t stride, double *work, double *out)
    void pair_gradient(const double *rows, const double *weight, double bias, int m,
                       int n_hidden, Py_ssize_t stride, const double *pull,
                       double *work, double *grad_rows, double *grad_params)


def scores(const double[:, ::1] units, const Py_ssize_t[::1] ptr,
           const double[::1] weight, double bias, bint average, int n_threads):
    """Sum, or mean, of the pairwise potential over the other documents.

    Parameters
    ----------
    units : ndarray of shape (n_documents, 2 * n_hidden)
        Contributions of each document to the hidden units.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    weight : ndarray of shape (n_hidden,)
        Weights of the output.
    bias : float
        Bias of the output.
    average : bool
        Whether to divide by the number of other documents.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        0 in a query of one document. Complexity: O(m² n_hidden) per query of m
        documents, memory O(m n_hidden) per thread.
    """
    cdef Py_ssize_t q, i, start, n_queries = ptr.shape[0] - 1
    cdef int m, n_hidden = <int>weight.shape[0]
    cdef Py_ssize_t stride = int(np.max(np.diff(ptr), initial=1)) + PADDING
    cdef double[:, ::1] work = np.empty((n_threads, n_hidden * (2 * stride + LANES)))
    out_array = np.zeros(units.shape[0])
    cdef double[::1] out = out_array
    with nogil, parallel(num_threads=n_threads):
        for q in prange(n_queries, schedule="dynamic", chunksize=1):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m < 2:
                continue
            pair_scores(&units[start, 0], &weight[0], bias, m, n_hidden, stride,
                        &work[threadid(), 0], &out[start])
            if average:
                for i in range(start, start + m):
                    out[i] = out[i] / (m - 1)
    return out_array


def gradient(const double[:, ::1] units, const Py_ssize_t[::1] ptr,
             const double[::1] weight, double bias, bint average,
             const double[::1] pull, int n_threads):
    """Pull a gradient with respect to `scores` back to their arguments.

    Parameters
    ----------
    units, ptr, weight, bias, average
        As in `scores`.
    pull : ndarray of shape (n_documents,)
        Gradient with respect to the scores.
    n_threads : int
        Number of threads.

    Returns
    -------
    units_gradient : ndarray of shape (n_documents, 2 * n_hidden)
        Gradient with respect to ``units``.
    output_gradient : ndarray of shape (n_queries, n_hidden + 1)
        What each query adds to the gradient of the weights and the bias. Complexity:
        as for `scores`; hidden units are computed again rather than kept.
    """
    cdef Py_ssize_t q, i, start, n_queries = ptr.shape[0] - 1
    cdef int m, n_hidden = <int>weight.shape[0]
    cdef Py_ssize_t width = int(np.max(np.diff(ptr), initial=1))
    cdef Py_ssize_t stride = width + PADDING
    cdef Py_ssize_t n_work = n_hidden * (4 * stride + 3 * LANES)
    cdef double[:, ::1] work = np.empty((n_threads, n_work + width))
    units_array = np.zeros((units.shape[0], units.shape[1]))
    output_array = np.zeros((n_queries, n_hidden + 1))
    cdef double[:, ::1] of_units = units_array, of_output = output_array
    cdef double *mine
    cdef double scale
    with nogil, parallel(num_threads=n_threads):
        for q in prange(n_queries, schedule="dynamic", chunksize=1):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m < 2:
                continue
            mine = &work[threadid(), n_work]
            scale = 1.0 / (m - 1) if average else 1.0
            for i in range(m):
                mine[i] = scale * pull[start + i]
            pair_gradient(&units[start, 0], &weight[0], bias, m, n_hidden, stride, mine,
                          &work[threadid(), 0], &of_units[start, 0], &of_output[q, 0])
    return units_array, output_array
