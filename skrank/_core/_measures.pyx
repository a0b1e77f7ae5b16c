# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ranking measures, value per query, and what searches without gradients ask of them.

Functions take arrays grouped by query with a pointer array ``ptr`` and write one value
per query. "Ranked" arrays hold the documents of each query in the order of their ranks
(see `rank_rows`). Where the ranked scores are given too, blocks of equal scores count
with their expected value over all orders of the block; pass None to take the order as it
is.

Searches without gradients take scores that are not ranked: they ask for the values of
scores, of a formula's too, and for sums of values along a line. There, a measure comes as
the gains of documents, the discounts of ranks and the scales of queries that
`skrank.metrics.DeltaTerms` holds, with the number of its kind. Documents of equal score
count with the mean over their orders. Sums over queries are made in an order of their
own, so that the number of threads never changes a bit.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._threads import n_threads_for

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, ints, out_doubles, queries_of,
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

cdef extern from "_line_search.hpp" namespace "skrank" nogil:
    struct ExactMeasure:
        int kind
        const double *gain
        const double *discount
        Py_ssize_t n
        const double *scale
        const double *weight

    struct LineBest:
        double value
        double begin "from"
        double end "to"

    void c_exact_values "skrank::exact_values"(Queries, ExactMeasure, const double*,
                                               double*, int) except +
    void grid_values(Queries, ExactMeasure, const double*, const double*, const int*,
                     const double*, Py_ssize_t, Py_ssize_t, double*, int) except +
    LineBest exact_line(Queries, ExactMeasure, const double*, const double*, double,
                        int) except +

cdef extern from "_programs.hpp" namespace "skrank" nogil:
    struct Program:
        const int *token
        Py_ssize_t n_tokens
        int depth
        const double *constant

    struct Columns:
        const double *first
        Py_ssize_t n_rows
        int count

    void run_program(Program, Columns, double*, int) except +

cdef extern from "_glue.hpp":
    pass

#: Kinds of the measures that `DeltaTerms` may describe, in the order of their numbers.
KINDS = ("gain_discount", "average_precision", "reciprocal_rank", "cascade")

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


cdef ExactMeasure _exact_measure(
    Queries queries, int kind, const double[::1] gain, const double[::1] discount,
    const double[::1] scale, const double[::1] weight, Py_ssize_t n_rows
) except *:
    if not 0 <= kind < 4:
        raise ValueError(f"kind must be the number of one of {KINDS}, got {kind}")
    if discount is None:
        raise ValueError("discount must be an array")
    return ExactMeasure(
        kind,
        doubles(gain, n_rows, "gain"),
        doubles(discount, discount.shape[0], "discount"),
        discount.shape[0],
        doubles(scale, queries.count, "scale"),
        doubles(weight, queries.count, "weight"),
    )


def exact_values(const double[::1] scores, const Py_ssize_t[::1] ptr, int kind,
                 const double[::1] gain, const double[::1] discount,
                 const double[::1] scale, const double[::1] weight, int n_threads):
    """Value of each query under some scores, 0 where the scale is 0."""
    cdef Py_ssize_t n = scores.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef ExactMeasure measure = _exact_measure(queries, kind, gain, discount, scale,
                                               weight, n)
    result = np.zeros(queries.count)
    cdef const double *s = doubles(scores, n, "scores")
    cdef double *out = out_doubles(result)
    with nogil:
        c_exact_values(queries, measure, s, out, n_threads)
    return result


def exact_values_on_grid(const double[::1] scores, const double[::1] direction,
                         const int[::1] order, const double[::1] steps,
                         Py_ssize_t zero, const Py_ssize_t[::1] ptr, int kind,
                         const double[::1] gain, const double[::1] discount,
                         const double[::1] scale, const double[::1] weight,
                         int n_threads):
    """Weighted sum over queries at each step along a direction.

    Parameters
    ----------
    scores, direction : ndarray of shape (n_documents,)
        Scores at step 0, and what a step of 1 adds to them.
    order : ndarray of shape (n_documents,), dtype int32
        Rows of each query, counted from its first one, in the order of ``scores``.
    steps : ndarray of shape (n_steps,)
        Steps, ascending.
    zero : int
        Place of the step 0.
    ptr, kind, gain, discount, scale, weight, n_threads
        Queries, and the measure; ``weight`` is that of each query.

    Returns
    -------
    ndarray of shape (n_steps,)
        Sums of the values times the weights.
    """
    cdef Py_ssize_t n = scores.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef ExactMeasure measure = _exact_measure(queries, kind, gain, discount, scale,
                                               weight, n)
    if steps is None or not 0 <= zero < steps.shape[0]:
        raise ValueError("zero must be the place of one of the steps")
    result = np.zeros(steps.shape[0])
    cdef Py_ssize_t n_steps = steps.shape[0]
    cdef const double *a = doubles(scores, n, "scores")
    cdef const double *x = doubles(direction, n, "direction")
    cdef const int *rows = ints(order, n, "order")
    cdef const double *step = doubles(steps, n_steps, "steps")
    cdef double *out = out_doubles(result)
    with nogil:
        grid_values(queries, measure, a, x, rows, step, n_steps, zero, out, n_threads)
    return result


def best_on_line(const double[::1] scores, const double[::1] direction, double width,
                 const Py_ssize_t[::1] ptr, int kind, const double[::1] gain,
                 const double[::1] discount, const double[::1] scale,
                 const double[::1] weight, int n_threads):
    """The largest weighted sum along a line, and the ends of the part that has it.

    Parts whose angle, the difference of the arcus tangents of their ends, is at most
    ``width`` do not count; of several parts with the same sum, the widest does.
    """
    cdef Py_ssize_t n = scores.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef ExactMeasure measure = _exact_measure(queries, kind, gain, discount, scale,
                                               weight, n)
    cdef const double *a = doubles(scores, n, "scores")
    cdef const double *x = doubles(direction, n, "direction")
    cdef LineBest best
    with nogil:
        best = exact_line(queries, measure, a, x, width, n_threads)
    return best.value, best.begin, best.end


cdef int _depth(const int[::1] tokens, Py_ssize_t n_operands) except -1:
    """Largest number of operands that wait at a time, of a program that works."""
    cdef Py_ssize_t k
    cdef int waiting = 0, most = 0
    for k in range(tokens.shape[0]):
        if tokens[k] >= n_operands or tokens[k] < -4:
            raise ValueError(f"token {tokens[k]} is neither an operator nor an operand")
        if tokens[k] >= 0:
            waiting += 1
            most = max(most, waiting)
        elif waiting < 2:
            raise ValueError("an operator must have two operands")
        else:
            waiting -= 1
    if waiting != 1:
        raise ValueError(f"a program must leave one value, not {waiting}")
    return most


def program_scores(const double[:, ::1] columns, const int[::1] tokens,
                   const double[::1] constants, int n_threads):
    """Value of a formula for every row.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_rows)
        Features, one after the other.
    tokens : ndarray of shape (n_tokens,), dtype int32
        The formula, operands first: -1, -2, -3 and -4 for plus, minus, times and over,
        the number of a column, or the number of columns plus that of a constant.
    constants : ndarray of shape (n_constants,)
        Constants.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if columns is None or tokens is None or constants is None:
        raise ValueError("columns, tokens and constants must be arrays")
    cdef Py_ssize_t d = columns.shape[0], n = columns.shape[1]
    cdef int depth = _depth(tokens, d + constants.shape[0])
    result = np.zeros(n)
    cdef Program program = Program(
        &tokens[0], tokens.shape[0], depth,
        doubles(constants, constants.shape[0], "constants"),
    )
    cdef Columns rows = Columns(NULL, n, <int>d)
    if n and d:
        rows.first = &columns[0, 0]
    cdef double *out = out_doubles(result)
    with nogil:
        run_program(program, rows, out, n_threads)
    return result
