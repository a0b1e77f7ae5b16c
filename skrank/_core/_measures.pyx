# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ranking measures, value per query.

Every function takes arrays grouped by query with a pointer array ``ptr`` and writes one
value per query, so that the number of threads never changes a bit. "Ranked" arrays hold
the documents of each query in the order of their ranks (see `rank_rows`). Where the
ranked scores are given too, blocks of equal scores count with their expected value over
all orders of the block; pass None to take the order as it is.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._threads import n_threads_for

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, out_doubles, queries_of,
)
from skrank._core._lengths cimport check_length

cdef extern from "_measures_of_queries.hpp" namespace "skrank" nogil:
    const Py_ssize_t SELECT_LIMIT

    struct RankedRows:
        Queries queries
        const double *value
        const double *score

    struct Discount:
        const double *of_rank
        Py_ssize_t n

    struct Blocks:
        const double *from1
        const double *to1
        const double *from2
        const double *to2

    void rank_all_rows(Queries, const double*, const double*, Py_ssize_t*, int) except +
    void rank_all_values(RankedRows, const double*, double*, double*, int) except +
    void discounted_sums(RankedRows, Discount, double*, int) except +
    void precision_sums(RankedRows, Discount, double*, int) except +
    void threshold_precision_sums(RankedRows, Py_ssize_t, double*, int) except +
    void cascades(RankedRows, Discount, double*, int) except +
    void preference_sums(RankedRows, const double*, const double*, double*, int) except +
    void top_dcgs(RankedRows, Discount, cbool, cbool, double*, int) except +
    void ideal_dcgs(RankedRows, Discount, cbool, double*, int) except +
    void count_all_pairs(RankedRows, double*, int) except +
    void rank_biased_overlaps(Queries, Blocks, double, double*, int) except +

cdef extern from "_glue.hpp":
    pass

# About what a measure takes.
cdef double NANOSECONDS_PER_ROW = 5.0


cdef int _threads(const double[::1] rows, int n_threads) except -1:
    if n_threads == 1:
        return 1
    return n_threads_for(NANOSECONDS_PER_ROW * rows.shape[0], n_threads)


cdef RankedRows _ranked(
    const Py_ssize_t[::1] ptr, const double[::1] values, const double[::1] scores
) except *:
    cdef Py_ssize_t n = values.shape[0]
    return RankedRows(
        queries_of(ptr, n),
        doubles(values, n, "values"),
        doubles_or_none(scores, n, "scores"),
    )


cdef Discount _discount(const double[::1] discount) except *:
    cdef Py_ssize_t n = discount.shape[0]
    return Discount(doubles(discount, n, "discount"), n)


def select_limit():
    """Largest k that `top_dcg` takes."""
    return SELECT_LIMIT


def rank_rows(const double[::1] scores, const double[::1] key, const Py_ssize_t[::1] ptr,
              int n_threads=1):
    """Rows of each query by decreasing score, then increasing key, then row."""
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    order = np.empty(scores.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] out = order
    cdef const double *k = doubles_or_none(key, scores.shape[0], "key")
    cdef int threads = _threads(scores, n_threads)
    if scores.shape[0]:
        with nogil:
            rank_all_rows(queries, &scores[0], k, &out[0], threads)
    return order


def rank_values(const double[::1] scores, const double[::1] key,
                const double[::1] values, const Py_ssize_t[::1] ptr, bint with_scores,
                int n_threads=1):
    """Values, and scores if wanted, in the order of `rank_rows`."""
    check_length(scores.shape[0], values.shape[0], "scores")
    cdef RankedRows rows = _ranked(ptr, values, scores)
    ranked = np.empty(scores.shape[0])
    ranked_scores = np.empty(scores.shape[0]) if with_scores else None
    cdef const double *k = doubles_or_none(key, scores.shape[0], "key")
    cdef double *out = out_doubles(ranked)
    cdef double *out_scores = out_doubles(ranked_scores)
    cdef int threads = _threads(scores, n_threads)
    with nogil:
        rank_all_values(rows, k, out, out_scores, threads)
    return ranked, ranked_scores


def discounted_sum(const double[::1] values, const double[::1] scores,
                   const Py_ssize_t[::1] ptr, const double[::1] discount,
                   int n_threads=1):
    """Sum of ranked values times the discount of their rank, per query."""
    cdef RankedRows rows = _ranked(ptr, values, scores)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef Discount weights = _discount(discount)
    cdef int threads = _threads(values, n_threads)
    with nogil:
        discounted_sums(rows, weights, out, threads)
    return result


def precision_sum(const double[::1] relevant, const double[::1] scores,
                  const Py_ssize_t[::1] ptr, const double[::1] discount,
                  int n_threads=1):
    """Sum over relevant ranks of the hits so far times the discount, per query."""
    cdef RankedRows rows = _ranked(ptr, relevant, scores)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef Discount weights = _discount(discount)
    cdef int threads = _threads(relevant, n_threads)
    with nogil:
        precision_sums(rows, weights, out, threads)
    return result


def threshold_precision_sum(const double[::1] relevant, const double[::1] scores,
                            const Py_ssize_t[::1] ptr, Py_ssize_t k, int n_threads=1):
    """`precision_sum` where documents of equal score enter the list together."""
    cdef RankedRows rows = _ranked(ptr, relevant, scores)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef int threads = _threads(relevant, n_threads)
    with nogil:
        threshold_precision_sums(rows, k, out, threads)
    return result


def cascade(const double[::1] stop, const double[::1] scores,
            const Py_ssize_t[::1] ptr, const double[::1] discount, int n_threads=1):
    """Expected discount of the rank where a user stops, per query."""
    cdef RankedRows rows = _ranked(ptr, stop, scores)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef Discount weights = _discount(discount)
    cdef int threads = _threads(stop, n_threads)
    with nogil:
        cascades(rows, weights, out, threads)
    return result


def preference_sum(const double[::1] grade, const double[::1] scores,
                   const Py_ssize_t[::1] ptr, const double[::1] n_relevant,
                   const double[::1] n_other, int n_threads=1):
    """Numerator of bpref; grade is 1, 0, or negative for what does not count."""
    cdef RankedRows rows = _ranked(ptr, grade, scores)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef const double *relevant = doubles(n_relevant, rows.queries.count, "n_relevant")
    cdef const double *other = doubles(n_other, rows.queries.count, "n_other")
    cdef int threads = _threads(grade, n_threads)
    with nogil:
        preference_sums(rows, relevant, other, out, threads)
    return result


def top_dcg(const double[::1] grade, const double[::1] scores,
            const Py_ssize_t[::1] ptr, const double[::1] discount, bint exp2,
            bint average, int n_threads=1):
    """DCG at ``len(discount)`` of unranked rows by selection, per query."""
    if discount.shape[0] > SELECT_LIMIT:
        raise ValueError(f"top_dcg takes at most {SELECT_LIMIT} discounts")
    check_length(scores.shape[0], grade.shape[0], "scores")
    cdef RankedRows rows = _ranked(ptr, grade, scores)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef Discount weights = _discount(discount)
    cdef int threads = _threads(grade, n_threads)
    with nogil:
        top_dcgs(rows, weights, exp2, average, out, threads)
    return result


def ideal_dcg(const double[::1] grade, const Py_ssize_t[::1] ptr,
              const double[::1] discount, bint exp2, int n_threads=1):
    """DCG of the best order of each query, for a gain that grows with the grade."""
    cdef RankedRows rows = _ranked(ptr, grade, None)
    result = np.zeros(rows.queries.count)
    cdef double *out = out_doubles(result)
    cdef Discount weights = _discount(discount)
    cdef int threads = _threads(grade, n_threads)
    with nogil:
        ideal_dcgs(rows, weights, exp2, out, threads)
    return result


def count_pairs(const double[::1] grade, const double[::1] scores,
                const Py_ssize_t[::1] ptr, int n_threads=1):
    """Concordant, discordant and score-tied pairs of different grades, (Q, 3).

    Rows are ranked: the scores of each query decrease.
    """
    check_length(scores.shape[0], grade.shape[0], "scores")
    cdef RankedRows rows = _ranked(ptr, grade, scores)
    result = np.zeros((rows.queries.count, 3))
    cdef double *out = out_doubles(result.reshape(-1))
    cdef int threads = _threads(grade, n_threads)
    with nogil:
        count_all_pairs(rows, out, threads)
    return result


def rank_biased_overlap(const double[::1] from1, const double[::1] to1,
                        const double[::1] from2, const double[::1] to2,
                        const Py_ssize_t[::1] ptr, double p, int n_threads=1):
    """Extrapolated RBO of two rankings given as blocks of positions, per query."""
    cdef Py_ssize_t n = from1.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef Blocks blocks = Blocks(
        doubles(from1, n, "from1"),
        doubles(to1, n, "to1"),
        doubles(from2, n, "from2"),
        doubles(to2, n, "to2"),
    )
    result = np.zeros(queries.count)
    cdef double *out = out_doubles(result)
    cdef int threads = _threads(from1, n_threads)
    with nogil:
        rank_biased_overlaps(queries, blocks, p, out, threads)
    return result
