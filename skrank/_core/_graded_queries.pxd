# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Queries whose documents are listed from the best grade to the worst."""

from skrank._core._for_each_query cimport Queries, doubles_or_none, ints, queries_of


cdef extern from "_graded_queries.hpp" namespace "skrank" nogil:
    struct GradedQueries:
        Queries queries
        const int *order
        const int *lower
        const double *weight


cdef inline GradedQueries graded_queries(
    const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
    const double[::1] weight, Py_ssize_t n_rows,
) except *:
    return GradedQueries(
        queries_of(ptr, n_rows),
        ints(order, n_rows, "order"),
        ints(lower, n_rows, "lower"),
        doubles_or_none(weight, n_rows, "weight"),
    )
