# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Divergences between Gaussians with diagonal covariances.

A Gaussian of L dimensions is a row of 2 L numbers: its means and then numbers s that
stand for the variances elu(s) + 1. Documents ``ptr[q]:ptr[q + 1]`` belong to query
``q``. Every query is handled by one thread, which writes nothing but what belongs to
this query, so results do not depend on the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid


cdef extern from "_gaussian.hpp" namespace "skrank" nogil:
    void divergences(int kind, const double *documents, int m, const double *query,
                     int L, double *log_v, double *values)
    void divergence_gradients(int kind, const double *documents, int m,
                              const double *query, const double *g, int L,
                              double *grad_documents, double *grad_query)

DIVERGENCES = ("kl", "reverse_kl", "jensen_shannon", "expected_likelihood")


def values(str divergence, const double[:, ::1] documents, const double[:, ::1] queries,
           const Py_ssize_t[::1] ptr, int n_threads):
    """Divergence of each document from its query.

    Parameters
    ----------
    divergence : str
        One of ``DIVERGENCES``.
    documents : ndarray of shape (n_documents, 2 * L)
        Gaussians of documents.
    queries : ndarray of shape (n_queries, 2 * L)
        Gaussians of queries.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Documents of each query.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        Complexity: O(n_documents * L).
    """
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1
    cdef int m, L = <int>(queries.shape[1] // 2)
    cdef int kind = DIVERGENCES.index(divergence)
    out = np.empty(documents.shape[0])
    cdef double[::1] value = out
    cdef double[:, ::1] log_v = np.empty((n_threads, L))
    with nogil, parallel(num_threads=n_threads):
        for q in prange(n_queries, schedule="dynamic", chunksize=4):
            m = <int>(ptr[q + 1] - ptr[q])
            if m > 0:
                divergences(kind, &documents[ptr[q], 0], m, &queries[q, 0], L,
                            &log_v[threadid(), 0], &value[ptr[q]])
    return out


def gradients(str divergence, const double[:, ::1] documents,
              const double[:, ::1] queries, const Py_ssize_t[::1] ptr,
              const double[::1] weight, int n_threads):
    """Gradients of the weighted sum of all divergences.

    Parameters
    ----------
    divergence : str
        One of ``DIVERGENCES``.
    documents : ndarray of shape (n_documents, 2 * L)
        Gaussians of documents.
    queries : ndarray of shape (n_queries, 2 * L)
        Gaussians of queries.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Documents of each query.
    weight : ndarray of shape (n_documents,)
        What each divergence is multiplied by.
    n_threads : int
        Number of threads.

    Returns
    -------
    document_gradient : ndarray of shape (n_documents, 2 * L)
        With respect to means and numbers s of documents.
    query_gradient : ndarray of shape (n_queries, 2 * L)
        The same for queries, summed over their documents. Complexity:
        O(n_documents * L).
    """
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1
    cdef int m, L = <int>(queries.shape[1] // 2)
    cdef int kind = DIVERGENCES.index(divergence)
    document_array = np.empty((documents.shape[0], documents.shape[1]))
    query_array = np.zeros((queries.shape[0], queries.shape[1]))
    cdef double[:, ::1] document_gradient = document_array
    cdef double[:, ::1] query_gradient = query_array
    with nogil, parallel(num_threads=n_threads):
        for q in prange(n_queries, schedule="dynamic", chunksize=4):
            m = <int>(ptr[q + 1] - ptr[q])
            if m > 0:
                divergence_gradients(kind, &documents[ptr[q], 0], m, &queries[q, 0],
                                     &weight[ptr[q]], L, &document_gradient[ptr[q], 0],
                                     &query_gradient[q, 0])
    return document_array, query_array
