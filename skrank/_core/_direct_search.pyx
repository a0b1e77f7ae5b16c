# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Exact values of measures, as searches without gradients ask for them.

A measure comes as the gains of documents, the discounts of ranks and the scales of
queries that `skrank.metrics.DeltaTerms` holds, with the number of its kind. Documents
of equal score count with the mean over their orders. Sums over queries are made in an
order of their own, so that the number of threads never changes a bit.
"""

import numpy as np

from skrank._core._for_each_query cimport (
    Queries, doubles, ints, out_doubles, queries_of,
)

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

    void exact_values(Queries, ExactMeasure, const double*, double*, int) except +
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

#: Kinds of measures, in the order of their numbers.
KINDS = ("gain_discount", "average_precision", "reciprocal_rank", "cascade")


cdef ExactMeasure _measure(
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


def values(const double[::1] scores, const Py_ssize_t[::1] ptr, int kind,
           const double[::1] gain, const double[::1] discount, const double[::1] scale,
           const double[::1] weight, int n_threads):
    """Value of each query under some scores, 0 where the scale is 0."""
    cdef Py_ssize_t n = scores.shape[0]
    cdef Queries queries = queries_of(ptr, n)
    cdef ExactMeasure measure = _measure(queries, kind, gain, discount, scale, weight, n)
    result = np.zeros(queries.count)
    cdef const double *s = doubles(scores, n, "scores")
    cdef double *out = out_doubles(result)
    with nogil:
        exact_values(queries, measure, s, out, n_threads)
    return result


def values_on_grid(const double[::1] scores, const double[::1] direction,
                   const int[::1] order, const double[::1] steps, Py_ssize_t zero,
                   const Py_ssize_t[::1] ptr, int kind, const double[::1] gain,
                   const double[::1] discount, const double[::1] scale,
                   const double[::1] weight, int n_threads):
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
    cdef ExactMeasure measure = _measure(queries, kind, gain, discount, scale, weight, n)
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
    cdef ExactMeasure measure = _measure(queries, kind, gain, discount, scale, weight, n)
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
