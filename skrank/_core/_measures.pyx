# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Kernels of the ranking measures, threaded over queries.

Every function takes arrays grouped by query with a pointer array ``ptr`` and writes one
value per query, so that the number of threads never changes a bit. "Ranked" arrays hold
the documents of each query in the order of their ranks (see `rank_rows`). Where the
ranked scores are given too, blocks of equal scores count with their expected value over
all orders of the block; pass None to take the order as it is.
"""

import numpy as np

from cython.parallel cimport prange

from libcpp cimport bool as cbool

cdef extern from "_measures.hpp" namespace "skrank" nogil:
    ctypedef Py_ssize_t Index
    cdef cppclass PairCounts:
        double concordant
        double discordant
        double tied
    const Index SELECT_LIMIT
    void c_rank_rows "skrank::rank_rows"(
        const double*, const double*, Index, Index*)
    void c_rank_values "skrank::rank_values"(
        const double*, const double*, const double*, Index, double*, double*)
    double c_discounted_sum "skrank::discounted_sum"(
        const double*, const double*, Index, const double*, Index)
    double c_precision_sum "skrank::precision_sum"(
        const double*, const double*, Index, const double*, Index)
    double c_threshold_precision_sum "skrank::threshold_precision_sum"(
        const double*, const double*, Index, Index)
    double c_cascade "skrank::cascade"(
        const double*, const double*, Index, const double*, Index)
    double c_preference_sum "skrank::preference_sum"(
        const double*, const double*, Index, double, double)
    double c_top_dcg "skrank::top_dcg"(
        const double*, const double*, Index, const double*, Index, cbool, cbool)
    double c_ideal_dcg "skrank::ideal_dcg"(
        const double*, Index, const double*, Index, cbool)
    PairCounts c_count_pairs "skrank::count_pairs"(const double*, const double*, Index)
    double c_rank_biased_overlap "skrank::rank_biased_overlap"(
        const double*, const double*, const double*, const double*, Index, double)

# Below this many rows, starting threads costs more than it saves.
_SMALL = 20_000


cdef inline const double* _address(const double[::1] array) noexcept nogil:
    if array is None or array.shape[0] == 0:
        return NULL
    return &array[0]


cdef inline const double* _at(const double* base, Py_ssize_t i) noexcept nogil:
    if base == NULL:
        return NULL
    return base + i


cdef int _threads(Py_ssize_t n_rows, int n_threads) noexcept:
    return 1 if n_rows < _SMALL else n_threads


def select_limit():
    """Largest k that `top_dcg` takes."""
    return SELECT_LIMIT


def rank_rows(const double[::1] scores, const double[::1] key, const Py_ssize_t[::1] ptr,
              int n_threads=1):
    """Rows of each query by decreasing score, then increasing key, then row."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a, i
    order = np.empty(scores.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] out = order
    cdef const double* k = _address(key)
    cdef int threads = _threads(scores.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        if ptr[q + 1] > a:
            c_rank_rows(&scores[a], _at(k, a), ptr[q + 1] - a, &out[a])
            for i in range(a, ptr[q + 1]):
                out[i] = out[i] + a
    return order


def rank_values(const double[::1] scores, const double[::1] key,
                const double[::1] values, const Py_ssize_t[::1] ptr, bint with_scores,
                int n_threads=1):
    """Values, and scores if wanted, in the order of `rank_rows`."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    ranked = np.empty(scores.shape[0])
    ranked_scores = np.empty(scores.shape[0]) if with_scores else None
    cdef double[::1] out = ranked
    cdef double[::1] out_scores = ranked_scores
    cdef const double* k = _address(key)
    cdef double* s = NULL
    if with_scores:
        s = &out_scores[0]
    cdef int threads = _threads(scores.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        if ptr[q + 1] > a:
            c_rank_values(&scores[a], _at(k, a), &values[a], ptr[q + 1] - a, &out[a],
                          <double*> _at(s, a))
    return ranked, ranked_scores


def discounted_sum(const double[::1] values, const double[::1] scores,
                   const Py_ssize_t[::1] ptr, const double[::1] discount,
                   int n_threads=1):
    """Sum of ranked values times the discount of their rank, per query."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* s = _address(scores)
    cdef const double* v = _address(values)
    cdef const double* d = _address(discount)
    cdef int threads = _threads(values.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_discounted_sum(
            v + a, _at(s, a), ptr[q + 1] - a, d, discount.shape[0])
    return result


def precision_sum(const double[::1] relevant, const double[::1] scores,
                  const Py_ssize_t[::1] ptr, const double[::1] discount,
                  int n_threads=1):
    """Sum over relevant ranks of the hits so far times the discount, per query."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* s = _address(scores)
    cdef const double* v = _address(relevant)
    cdef const double* d = _address(discount)
    cdef int threads = _threads(relevant.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_precision_sum(
            v + a, _at(s, a), ptr[q + 1] - a, d, discount.shape[0])
    return result


def threshold_precision_sum(const double[::1] relevant, const double[::1] scores,
                            const Py_ssize_t[::1] ptr, Py_ssize_t k, int n_threads=1):
    """`precision_sum` where documents of equal score enter the list together."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* s = _address(scores)
    cdef const double* v = _address(relevant)
    cdef int threads = _threads(relevant.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_threshold_precision_sum(v + a, _at(s, a), ptr[q + 1] - a, k)
    return result


def cascade(const double[::1] stop, const double[::1] scores,
            const Py_ssize_t[::1] ptr, const double[::1] discount, int n_threads=1):
    """Expected discount of the rank where a user stops, per query."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* s = _address(scores)
    cdef const double* v = _address(stop)
    cdef const double* d = _address(discount)
    cdef int threads = _threads(stop.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_cascade(v + a, _at(s, a), ptr[q + 1] - a, d, discount.shape[0])
    return result


def preference_sum(const double[::1] grade, const double[::1] scores,
                   const Py_ssize_t[::1] ptr, const double[::1] n_relevant,
                   const double[::1] n_other, int n_threads=1):
    """Numerator of bpref; grade is 1, 0, or negative for what does not count."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* s = _address(scores)
    cdef const double* v = _address(grade)
    cdef int threads = _threads(grade.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_preference_sum(
            v + a, _at(s, a), ptr[q + 1] - a, n_relevant[q], n_other[q])
    return result


def top_dcg(const double[::1] grade, const double[::1] scores,
            const Py_ssize_t[::1] ptr, const double[::1] discount, bint exp2,
            bint average, int n_threads=1):
    """DCG at ``len(discount)`` of unranked rows by selection, per query."""
    if discount.shape[0] > SELECT_LIMIT:
        raise ValueError(f"top_dcg takes at most {SELECT_LIMIT} discounts")
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* s = _address(scores)
    cdef const double* v = _address(grade)
    cdef const double* d = _address(discount)
    cdef int threads = _threads(grade.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_top_dcg(
            v + a, s + a, ptr[q + 1] - a, d, discount.shape[0], exp2, average)
    return result


def ideal_dcg(const double[::1] grade, const Py_ssize_t[::1] ptr,
              const double[::1] discount, bint exp2, int n_threads=1):
    """DCG of the best order of each query, for a gain that grows with the grade."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* v = _address(grade)
    cdef const double* d = _address(discount)
    cdef int threads = _threads(grade.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_ideal_dcg(v + a, ptr[q + 1] - a, d, discount.shape[0], exp2)
    return result


def count_pairs(const double[::1] grade, const double[::1] scores,
                const Py_ssize_t[::1] ptr, int n_threads=1):
    """Concordant, discordant and score-tied pairs of different grades, (Q, 3).

    Rows are ranked: the scores of each query decrease.
    """
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty((n_queries, 3))
    cdef double[:, ::1] out = result
    cdef PairCounts pairs
    cdef const double* s = _address(scores)
    cdef const double* v = _address(grade)
    cdef int threads = _threads(grade.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        pairs = c_count_pairs(v + a, s + a, ptr[q + 1] - a)
        out[q, 0] = pairs.concordant
        out[q, 1] = pairs.discordant
        out[q, 2] = pairs.tied
    return result


def rank_biased_overlap(const double[::1] from1, const double[::1] to1,
                        const double[::1] from2, const double[::1] to2,
                        const Py_ssize_t[::1] ptr, double p, int n_threads=1):
    """Extrapolated RBO of two rankings given as blocks of positions, per query."""
    cdef Py_ssize_t q, n_queries = ptr.shape[0] - 1, a
    result = np.empty(n_queries)
    cdef double[::1] out = result
    cdef const double* f1 = _address(from1)
    cdef const double* t1 = _address(to1)
    cdef const double* f2 = _address(from2)
    cdef const double* t2 = _address(to2)
    cdef int threads = _threads(from1.shape[0], n_threads)
    for q in prange(n_queries, nogil=True, num_threads=threads, schedule="dynamic",
                    chunksize=16):
        a = ptr[q]
        out[q] = c_rank_biased_overlap(
            f1 + a, t1 + a, f2 + a, t2 + a, ptr[q + 1] - a, p)
    return result
