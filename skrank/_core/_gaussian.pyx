# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Divergences between Gaussians with diagonal covariances.

A Gaussian of L dimensions is a row of 2 L numbers: its means and then numbers s that
stand for the variances elu(s) + 1. Documents ``ptr[q]:ptr[q + 1]`` belong to query
``q``. Every query is handled by one thread, which writes nothing but what belongs to
this query, so results do not depend on the number of threads.
"""

import numpy as np

from skrank._core._for_each_query cimport Queries, doubles, out_doubles, queries_of
from skrank._core._lengths cimport check_length

cdef extern from "_gaussian.hpp" namespace "skrank" nogil:
    void all_divergences(Queries, int kind, const double *documents,
                         const double *queries, int L, double *values,
                         int n_threads) except +
    void all_divergence_gradients(Queries, int kind, const double *documents,
                                  const double *queries, const double *weight, int L,
                                  double *grad_documents, double *grad_queries,
                                  int n_threads) except +

cdef extern from "_glue.hpp":
    pass

# In the order of DivergenceKind in _gaussian.hpp.
DIVERGENCES = ("kl", "reverse_kl", "jensen_shannon", "expected_likelihood")


cdef Queries _runs(const double[:, ::1] documents, const double[:, ::1] queries,
                   const Py_ssize_t[::1] ptr) except *:
    cdef Queries runs = queries_of(ptr, documents.shape[0])
    check_length(queries.shape[0], runs.count, "queries")
    check_length(queries.shape[1], documents.shape[1], "a row of queries")
    if queries.shape[1] % 2:
        raise ValueError(f"a row of queries must have even length, got {queries.shape[1]}")
    return runs


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
        Pointer array.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        Complexity: O(n_documents * L).
    """
    cdef Queries runs = _runs(documents, queries, ptr)
    cdef int kind = DIVERGENCES.index(divergence), L = <int>(queries.shape[1] // 2)
    value = np.empty(documents.shape[0])
    cdef double *out = out_doubles(value)
    if documents.shape[0] and L:
        with nogil:
            all_divergences(runs, kind, &documents[0, 0], &queries[0, 0], L, out,
                            n_threads)
    return value


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
        Pointer array.
    weight : ndarray of shape (n_documents,)
        Factor of each divergence.
    n_threads : int
        Number of threads.

    Returns
    -------
    document_gradient : ndarray of shape (n_documents, 2 * L)
        Gradient with respect to the rows of ``documents``.
    query_gradient : ndarray of shape (n_queries, 2 * L)
        Gradient with respect to the rows of ``queries``. Complexity:
        O(n_documents * L).
    """
    cdef Queries runs = _runs(documents, queries, ptr)
    cdef int kind = DIVERGENCES.index(divergence), L = <int>(queries.shape[1] // 2)
    document_gradient = np.empty((documents.shape[0], documents.shape[1]))
    query_gradient = np.zeros((queries.shape[0], queries.shape[1]))
    cdef double[:, ::1] of_documents = document_gradient, of_queries = query_gradient
    cdef const double *w = doubles(weight, documents.shape[0], "weight")
    if documents.shape[0] and L:
        with nogil:
            all_divergence_gradients(runs, kind, &documents[0, 0], &queries[0, 0], w, L,
                                     &of_documents[0, 0], &of_queries[0, 0], n_threads)
    return document_gradient, query_gradient
