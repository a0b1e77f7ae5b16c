# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Kendall's correlation of many rankings of the documents of the same queries.

Results do not depend on the number of threads.
"""

import numpy as np

from skrank._core._for_each_query cimport Queries, out_doubles, queries_of

cdef extern from "_rank_correlations.hpp" namespace "skrank" nogil:
    void rank_correlations(const double *values, Py_ssize_t n, Py_ssize_t count, int kind,
                           const Queries &queries, double *sums, int n_threads) except +

cdef extern from "_glue.hpp":
    pass


def kendall_sums(const double[:, ::1] values, const Py_ssize_t[::1] ptr, bint concordance,
                 int n_threads=1):
    """Kendall's correlation of every two rankings, summed over the queries.

    Parameters
    ----------
    values : ndarray of shape (n_rankings, n_documents)
        Scores that each ranking gives to the documents, none of them NaN.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array. A query of one document adds nothing.
    concordance : bool
        Whether to take the share of the pairs that both rankings order alike, instead
        of tau-b, which counts a ranking of equal scores as 0.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_rankings, n_rankings)
        Symmetric. Complexity: O(m² n_rankings² / 64) for a query of m documents.
    """
    if values is None:
        raise ValueError("values must be an array")
    cdef Py_ssize_t count = values.shape[0], n = values.shape[1]
    cdef Queries queries = queries_of(ptr, n)
    sums = np.zeros((count, count))
    cdef double *out = out_doubles(sums.ravel())
    cdef const double *first = NULL
    if count and n:
        first = &values[0, 0]
    with nogil:
        rank_correlations(first, n, count, concordance, queries, out, n_threads)
    lower = np.tril(sums)
    return lower + np.tril(sums, -1).T
