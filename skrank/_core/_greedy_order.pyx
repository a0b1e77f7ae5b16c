# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The greedy order of documents by weighted votes on every pair of them.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. Every query is handled by one thread, which
writes nothing but the rows of this query, so results do not depend on the number of
threads.
"""

import numpy as np

from skrank._core._for_each_query cimport Queries, doubles, out_doubles, queries_of
from skrank._core._lengths cimport check_length

cdef extern from "_greedy_order.hpp" namespace "skrank" nogil:
    struct Voters:
        const double *scores
        const double *weight
        int count

    void c_greedy_ranks "skrank::greedy_ranks"(Queries, Voters, double *rank,
                                               int n_threads) except +


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
