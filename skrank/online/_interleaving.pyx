# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lists to show, drawn from rankings or from scores, and what clicks on them say.

The documents of an impression are numbered from 0. A list and its clicks belong to one
impression, whose documents are rows ``ptr[i]:ptr[i + 1]``. Results do not depend on the
number of threads.
"""

import numpy as np

from libc.math cimport isfinite
from libc.stdint cimport uint8_t, uint64_t
from libcpp.vector cimport vector

from skrank._core._for_each_query cimport (
    Queries, doubles, out_doubles, out_ints, queries_of,
)
from skrank._core._lengths cimport check_length

cdef extern from "_interleaving.hpp" namespace "skrank" nogil:
    struct Rankings:
        const int *document
        const Py_ssize_t *ptr
        int count
    struct Shown:
        const int *document
        const Py_ssize_t *ptr
        const uint8_t *click
    void rank_weights(double tau, Py_ssize_t longest, double *weight)
    void deal_lists(Queries, Rankings, int scheme, const double *weight, uint64_t seed,
                    const Py_ssize_t *ptr, int *shown, int *team,
                    int n_threads) except +
    void balanced_credits(Queries, Rankings, Shown, double *credit,
                          int n_threads) except +
    void marginal_credits(Queries, Rankings, Shown, const double *weight,
                          double *credit, int n_threads) except +
    void rank_columns(Queries, const double *scores, int count, uint64_t seed,
                      int *document, int n_threads) except +
    void draw_lists(Queries, const double *scores, uint64_t seed, const Py_ssize_t *ptr,
                    int *shown, int n_threads) except +
    void preference_gradients(Queries, const double *scores, Shown, double *gradient,
                              int n_threads) except +

cdef extern from "../_core/_glue.hpp":
    pass

_SCHEMES = {"balanced": 0, "team_draft": 1, "probabilistic": 2}


cdef int _check_documents(const int[::1] document, const Py_ssize_t[::1] bounds,
                          const Py_ssize_t[::1] ptr, Py_ssize_t lists,
                          str name) except -1:
    """Check that numbers of documents are below the number of the impression's."""
    cdef Py_ssize_t i, k, size
    for i in range(ptr.shape[0] - 1):
        size = ptr[i + 1] - ptr[i]
        for k in range(bounds[i * lists], bounds[(i + 1) * lists]):
            if not 0 <= document[k] < size:
                raise ValueError(f"{name} must hold numbers of the impression's documents")
    return 0


cdef int _check_finite(const double *scores, Py_ssize_t n) except -1:
    """Check that scores can be sorted, which NaN cannot."""
    cdef Py_ssize_t i
    for i in range(n):
        if not isfinite(scores[i]):
            raise ValueError("scores are not finite; scale the features, or make smaller steps")
    return 0


cdef int _check_shown(const Py_ssize_t[::1] bounds, const Py_ssize_t[::1] ptr) except -1:
    """Check that no list is longer than the documents that there are."""
    cdef Py_ssize_t i
    check_length(0 if bounds is None else bounds.shape[0], ptr.shape[0], "shown_ptr")
    queries_of(bounds, bounds[bounds.shape[0] - 1])
    for i in range(ptr.shape[0] - 1):
        if bounds[i + 1] - bounds[i] > ptr[i + 1] - ptr[i]:
            raise ValueError("a list must not be longer than there are documents")
    return 0


cdef Rankings _rankings(const int[::1] document, const Py_ssize_t[::1] lists,
                        Py_ssize_t n_rankings, const Py_ssize_t[::1] ptr) except *:
    cdef Py_ssize_t i, r, n_impressions = ptr.shape[0] - 1
    if not 0 < n_rankings < 2**31:
        raise ValueError(f"n_rankings must be at least 1, got {n_rankings}")
    check_length(lists.shape[0], n_impressions * n_rankings + 1, "lists")
    queries_of(lists, document.shape[0])
    _check_documents(document, lists, ptr, n_rankings, "document")
    for i in range(n_impressions):
        for r in range(i * n_rankings, (i + 1) * n_rankings):
            if lists[r + 1] - lists[r] > ptr[i + 1] - ptr[i]:
                raise ValueError("a ranking must hold no document twice")
    cdef const int *first = &document[0] if document.shape[0] else NULL
    return Rankings(first, &lists[0], <int>n_rankings)


cdef Shown _shown(const int[::1] shown, const Py_ssize_t[::1] shown_ptr,
                  const uint8_t[::1] click, const Py_ssize_t[::1] ptr) except *:
    cdef Py_ssize_t n
    cdef const int *document = NULL
    cdef const uint8_t *clicked = NULL
    _check_shown(shown_ptr, ptr)
    n = shown_ptr[shown_ptr.shape[0] - 1]
    check_length(0 if shown is None else shown.shape[0], n, "shown")
    check_length(0 if click is None else click.shape[0], n, "click")
    _check_documents(shown, shown_ptr, ptr, 1, "shown")
    if n:
        document, clicked = &shown[0], &click[0]
    return Shown(document, &shown_ptr[0], clicked)


cdef Queries _impressions(const Py_ssize_t[::1] ptr) except *:
    """Impressions by the bounds of their documents alone."""
    if ptr is None or ptr.shape[0] == 0:
        raise ValueError("ptr must have at least one entry")
    return queries_of(ptr, ptr[ptr.shape[0] - 1])


cdef vector[double] _weights(double tau, Queries queries):
    cdef Py_ssize_t q, longest = 1
    for q in range(queries.count):
        longest = max(longest, queries.ptr[q + 1] - queries.ptr[q])
    cdef vector[double] weight = vector[double](longest)
    rank_weights(tau, longest, weight.data())
    return weight


def deal(str scheme, const int[::1] document, const Py_ssize_t[::1] lists,
         Py_ssize_t n_rankings, const Py_ssize_t[::1] ptr,
         const Py_ssize_t[::1] shown_ptr, uint64_t seed, double tau=3.0,
         int n_threads=1):
    """Draw one list from the rankings of each impression.

    Parameters
    ----------
    scheme : {"balanced", "team_draft", "probabilistic"}
        How the list is drawn.
    document : ndarray of shape (n_entries,), dtype int32
        Documents of each ranking, best first, none of them twice in a ranking.
    lists : ndarray of shape (n_impressions * n_rankings + 1,), dtype intp
        Bounds of the rankings, those of an impression next to each other.
    n_rankings : int
        Number of rankings of each impression.
    ptr : ndarray of shape (n_impressions + 1,), dtype intp
        Bounds of the documents of each impression.
    shown_ptr : ndarray of shape (n_impressions + 1,), dtype intp
        Bounds of the lists.
    seed : int
        Seed of the draws.
    tau : float, default=3.0
        Power of the rank by which the weights of documents fall; read by
        "probabilistic".
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    shown : ndarray of shape (n_shown,), dtype int32
        Documents of each list; −1 where no ranking had any left.
    team : ndarray of shape (n_shown,), dtype int32
        Ranking that each document was taken from.
    """
    cdef Queries queries = _impressions(ptr)
    cdef Rankings rankings = _rankings(document, lists, n_rankings, ptr)
    cdef int code = _SCHEMES[scheme]
    _check_shown(shown_ptr, ptr)
    cdef vector[double] weight = _weights(tau, queries)
    shown = np.full(shown_ptr[-1 + shown_ptr.shape[0]], -1, dtype=np.int32)
    team = np.full(len(shown), -1, dtype=np.int32)
    cdef int *to = out_ints(shown)
    cdef int *by = out_ints(team)
    with nogil:
        deal_lists(queries, rankings, code, weight.data(), seed, &shown_ptr[0], to, by,
                   n_threads)
    return shown, team


def balanced_credit(const int[::1] document, const Py_ssize_t[::1] lists,
                    Py_ssize_t n_rankings, const Py_ssize_t[::1] ptr,
                    const int[::1] shown, const Py_ssize_t[::1] shown_ptr,
                    const uint8_t[::1] click, int n_threads=1):
    """Clicks on the first documents of each ranking, as deep as the lowest click lies.

    Parameters
    ----------
    document, lists, n_rankings, ptr, shown_ptr, n_threads
        As in `deal`.
    shown : ndarray of shape (n_shown,), dtype int32
        Documents that were shown.
    click : ndarray of shape (n_shown,), dtype uint8
        Whether each of them was clicked.

    Returns
    -------
    ndarray of shape (n_impressions * n_rankings,)
    """
    cdef Queries queries = _impressions(ptr)
    cdef Rankings rankings = _rankings(document, lists, n_rankings, ptr)
    cdef Shown seen = _shown(shown, shown_ptr, click, ptr)
    credit = np.zeros(queries.count * n_rankings)
    cdef double *out = out_doubles(credit)
    with nogil:
        balanced_credits(queries, rankings, seen, out, n_threads)
    return credit


def marginal_credit(const int[::1] document, const Py_ssize_t[::1] lists,
                    Py_ssize_t n_rankings, const Py_ssize_t[::1] ptr,
                    const int[::1] shown, const Py_ssize_t[::1] shown_ptr,
                    const uint8_t[::1] click, double tau=3.0, int n_threads=1):
    """Clicks, shared by the probabilities that rankings contributed the document.

    Parameters
    ----------
    document, lists, n_rankings, ptr, shown_ptr, tau, n_threads
        As in `deal`.
    shown, click
        As in `balanced_credit`.

    Returns
    -------
    ndarray of shape (n_impressions * n_rankings,)
    """
    cdef Queries queries = _impressions(ptr)
    cdef Rankings rankings = _rankings(document, lists, n_rankings, ptr)
    cdef Shown seen = _shown(shown, shown_ptr, click, ptr)
    cdef vector[double] weight = _weights(tau, queries)
    credit = np.zeros(queries.count * n_rankings)
    cdef double *out = out_doubles(credit)
    with nogil:
        marginal_credits(queries, rankings, seen, weight.data(), out, n_threads)
    return credit


def rank_by_columns(const double[:, ::1] scores, const Py_ssize_t[::1] ptr,
                    uint64_t seed, int n_threads=1):
    """Rankings by each column of scores, ties in an order that is drawn.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_rankings)
        Scores.
    ptr : ndarray of shape (n_impressions + 1,), dtype intp
        Bounds of the documents of each impression.
    seed : int
        Seed of the order of ties, which is the same for all columns.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents * n_rankings,), dtype int32
        Documents of each ranking, as `deal` takes them.
    """
    if scores is None:
        raise ValueError("scores must be an array")
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    cdef Py_ssize_t count = scores.shape[1]
    if not 0 < count < 2**31:
        raise ValueError(f"scores must have a column for each ranking, got {count}")
    document = np.empty(scores.shape[0] * count, dtype=np.int32)
    cdef int *out = out_ints(document)
    cdef const double *first = &scores[0, 0] if scores.shape[0] else NULL
    _check_finite(first, scores.shape[0] * count)
    with nogil:
        rank_columns(queries, first, <int>count, seed, out, n_threads)
    return document


def draw(const double[::1] scores, const Py_ssize_t[::1] ptr,
         const Py_ssize_t[::1] shown_ptr, uint64_t seed, int n_threads=1):
    """Draw documents without replacement, with probabilities as exp(score).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores, finite.
    ptr, shown_ptr, seed, n_threads
        As in `deal`.

    Returns
    -------
    ndarray of shape (n_shown,), dtype int32
        Documents of each list, counted from the first one of the impression.
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    cdef const double *x = doubles(scores, scores.shape[0], "scores")
    _check_finite(x, scores.shape[0])
    _check_shown(shown_ptr, ptr)
    shown = np.empty(shown_ptr[-1 + shown_ptr.shape[0]], dtype=np.int32)
    cdef int *out = out_ints(shown)
    with nogil:
        draw_lists(queries, x, seed, &shown_ptr[0], out, n_threads)
    return shown


def preference_gradient(const double[::1] scores, const Py_ssize_t[::1] ptr,
                        const int[::1] shown, const Py_ssize_t[::1] shown_ptr,
                        const uint8_t[::1] click, int n_threads=1):
    """Gradient of pairwise differentiable gradient descent, for each document.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores that the lists were drawn by, finite.
    ptr, shown_ptr, n_threads
        As in `deal`.
    shown, click
        As in `balanced_credit`.

    Returns
    -------
    ndarray of shape (n_documents,)
        To be added to the scores, in steps.
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    cdef const double *x = doubles(scores, scores.shape[0], "scores")
    _check_finite(x, scores.shape[0])
    cdef Shown seen = _shown(shown, shown_ptr, click, ptr)
    gradient = np.zeros(scores.shape[0])
    cdef double *out = out_doubles(gradient)
    with nogil:
        preference_gradients(queries, x, seen, out, n_threads)
    return gradient
