# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Choices in every query: selections, and votes on which document is the better one.

Documents are picked one after the other, pairs are kept, and rankings by features are
compared with each other. A run that votes prefers the document that it places before the
other one; it has no vote on documents whose place is NaN. Voters with scores prefer the
document of higher score. Results do not depend on the number of threads.
"""

import numpy as np

from libc.math cimport isfinite

from skrank._core._for_each_query cimport (
    Queries, doubles, ints, out_doubles, out_ints, queries_of,
)
from skrank._core._lengths cimport check_length

cdef extern from "_document_picks.hpp" namespace "skrank" nogil:
    struct Ranked:
        const double *ranks
        const double *relevant
        const int *wanted
        int n_systems
    struct KeptPairs:
        const double *y
        const double *scores
        const double *slack
    void pick_by_difference(Queries, Ranked, double prior, int *pick,
                            int n_threads) except +
    void pick_by_mixture(Queries, Ranked, double log_beta, int *pick,
                         int n_threads) except +
    void sums_over_pairs(Queries, KeptPairs, const double *x, double *below,
                         double *above, int n_threads) except +
    void list_pairs(Queries, KeptPairs, const Py_ssize_t *start, Py_ssize_t *rows,
                    int n_threads) except +
    void pick_by_pairs(Queries, KeptPairs, const double *value, const int *wanted,
                       int *pick, int n_threads) except +

cdef extern from "_rank_correlations.hpp" namespace "skrank" nogil:
    void rank_correlations(const double *values, Py_ssize_t n, Py_ssize_t count, int kind,
                           const Queries &queries, double *sums, int n_threads) except +

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


cdef Ranked _ranked(const double[:, ::1] ranks, const double[::1] relevant,
                    const int[::1] wanted, Queries queries) except *:
    """Systems by ranks that may index tables as long as a query."""
    cdef Ranked ranked
    cdef Py_ssize_t q, row, s, size
    cdef double rank
    if ranks.shape[1] < 1 or ranks.shape[1] > 0x7fffffff:
        raise ValueError("ranks must have a column for each system, and at least one")
    for q in range(queries.count):
        size = queries.ptr[q + 1] - queries.ptr[q]
        for row in range(queries.ptr[q], queries.ptr[q + 1]):
            for s in range(ranks.shape[1]):
                rank = ranks[row, s]
                if not (1 <= rank and (rank <= size or not isfinite(rank))):
                    raise ValueError("ranks must be from 1 to the size of a query, or inf")
    ranked.ranks = &ranks[0, 0] if ranks.shape[0] else NULL
    ranked.relevant = doubles(relevant, ranks.shape[0], "relevant")
    ranked.wanted = ints(wanted, queries.count, "wanted")
    ranked.n_systems = <int>ranks.shape[1]
    return ranked


cdef Queries _queries_of_table(const double[:, ::1] table, const Py_ssize_t[::1] ptr) except *:
    if table is None:
        raise ValueError("ranks must be an array")
    return queries_of(ptr, table.shape[0])


cdef KeptPairs _pairs(const double[::1] y, const double[::1] scores,
                      const double[::1] slack, Queries queries) except *:
    cdef KeptPairs pairs
    cdef Py_ssize_t n = queries.ptr[queries.count]
    pairs.y = doubles(y, n, "y")
    pairs.scores = doubles(scores, n, "scores")
    pairs.slack = doubles(slack, queries.count, "slack")
    return pairs


cdef Queries _queries_by_ptr(const Py_ssize_t[::1] ptr) except *:
    if ptr is None or ptr.shape[0] == 0:
        raise ValueError("ptr must have at least one entry")
    return queries_of(ptr, ptr[ptr.shape[0] - 1])


def picks_by_difference(const double[:, ::1] ranks, const double[::1] relevant,
                        const int[::1] wanted, const Py_ssize_t[::1] ptr, double prior,
                        int n_threads=1):
    """Pick the documents whose grades change differences of sum precision most.

    Parameters
    ----------
    ranks : ndarray of shape (n_documents, n_systems)
        Ranks from 1 in the query by each system; infinity for what it did not retrieve.
    relevant : ndarray of shape (n_documents,)
        1 for relevant documents, 0 for others; read of picked documents only.
    wanted : ndarray of shape (n_queries,), dtype int32
        Number of documents to pick.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    prior : float
        Probability that a document is relevant before its grade is read.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        Place in the order of picks of the query, from 0; -1 for what is not picked.
    """
    cdef Queries queries = _queries_of_table(ranks, ptr)
    cdef Ranked ranked = _ranked(ranks, relevant, wanted, queries)
    pick = np.full(ranks.shape[0], -1, dtype=np.int32)
    cdef int *out = out_ints(pick)
    with nogil:
        pick_by_difference(queries, ranked, prior, out, n_threads)
    return pick


def picks_by_mixture(const double[:, ::1] ranks, const double[::1] relevant,
                     const int[::1] wanted, const Py_ssize_t[::1] ptr, double log_beta,
                     int n_threads=1):
    """Pick the documents for which systems vouch that have been right so far.

    Parameters
    ----------
    ranks, relevant, wanted, ptr : ndarrays
        As for `picks_by_difference`.
    log_beta : float
        Logarithm of the factor of the weight of a system for each unit of its loss.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        As from `picks_by_difference`.
    """
    cdef Queries queries = _queries_of_table(ranks, ptr)
    cdef Ranked ranked = _ranked(ranks, relevant, wanted, queries)
    pick = np.full(ranks.shape[0], -1, dtype=np.int32)
    cdef int *out = out_ints(pick)
    with nogil:
        pick_by_mixture(queries, ranked, log_beta, out, n_threads)
    return pick


def sums_over_kept(const double[::1] y, const double[::1] scores,
                   const double[::1] slack, const double[::1] x,
                   const Py_ssize_t[::1] ptr, int n_threads=1):
    """Sum numbers over the kept pairs of each document.

    Of documents u and v of a query, the pair is kept if the grade of u is the better
    one and ``scores[u] - scores[v] + slack > 0``.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades.
    scores : ndarray of shape (n_documents,)
        Scores.
    slack : ndarray of shape (n_queries,)
        By how much the better document may fall short.
    x : ndarray of shape (n_documents,)
        Numbers.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    below : ndarray of shape (n_documents,)
        Sum over the documents v of pairs that have the document first.
    above : ndarray of shape (n_documents,)
        Sum over the documents u of pairs that have it second.
    """
    cdef Queries queries = _queries_by_ptr(ptr)
    cdef KeptPairs pairs = _pairs(y, scores, slack, queries)
    cdef const double *values = doubles(x, queries.ptr[queries.count], "x")
    below = np.zeros(queries.ptr[queries.count])
    above = np.zeros(queries.ptr[queries.count])
    cdef double *first = out_doubles(below)
    cdef double *second = out_doubles(above)
    with nogil:
        sums_over_pairs(queries, pairs, values, first, second, n_threads)
    return below, above


def kept_pairs(const double[::1] y, const double[::1] scores, const double[::1] slack,
               const Py_ssize_t[::1] ptr, int n_threads=1):
    """List the kept pairs, as `sums_over_kept` knows them.

    Parameters
    ----------
    y, scores, slack, ptr : ndarrays
        As for `sums_over_kept`.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_pairs, 2), dtype intp
        Rows of the better and of the other document, query after query.
    """
    cdef Queries queries = _queries_by_ptr(ptr)
    cdef KeptPairs pairs = _pairs(y, scores, slack, queries)
    below, _ = sums_over_kept(y, scores, slack, np.ones(len(y)), ptr, n_threads)
    counts = np.append(0, np.cumsum(below)).astype(np.intp)
    cdef const Py_ssize_t[::1] start = counts[np.asarray(ptr)]
    rows = np.empty((counts[len(counts) - 1], 2), dtype=np.intp)
    cdef Py_ssize_t[:, ::1] table = rows
    cdef Py_ssize_t *out = &table[0, 0] if table.shape[0] else NULL
    with nogil:
        list_pairs(queries, pairs, &start[0], out, n_threads)
    return rows


def picks_by_pairs(const double[::1] y, const double[::1] scores,
                   const double[::1] slack, const double[::1] value,
                   const int[::1] wanted, const Py_ssize_t[::1] ptr, int n_threads=1):
    """Pick the documents that have most kept pairs with those picked before.

    Parameters
    ----------
    y, scores, slack, ptr : ndarrays
        As for `sums_over_kept`.
    value : ndarray of shape (n_documents,)
        Which of the documents with as many pairs is picked: that of the greatest value.
    wanted : ndarray of shape (n_queries,), dtype int32
        Number of documents to pick.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        As from `picks_by_difference`.
    """
    cdef Queries queries = _queries_by_ptr(ptr)
    cdef KeptPairs pairs = _pairs(y, scores, slack, queries)
    cdef Py_ssize_t n = queries.ptr[queries.count]
    cdef const double *values = doubles(value, n, "value")
    cdef const int *counts = ints(wanted, queries.count, "wanted")
    pick = np.full(n, -1, dtype=np.int32)
    cdef int *out = out_ints(pick)
    with nogil:
        pick_by_pairs(queries, pairs, values, counts, out, n_threads)
    return pick


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
