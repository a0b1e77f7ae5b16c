# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Pairwise potentials: a small network summed over the other documents of a query.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. A row of ``units`` has what each hidden unit
gets from the document as the first of a pair, then as the second. Every query is handled
by one thread, which writes nothing but what belongs to it, so results do not depend on
the number of threads.
"""

import numpy as np

from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport Queries, doubles, out_doubles, queries_of
from skrank._core._lengths cimport check_length

cdef extern from "_pair_potential.hpp" namespace "skrank" nogil:
    struct PairNetwork:
        const double *weight
        double bias
        int n_hidden
        cbool average

    void pair_potentials(Queries, const double *rows, PairNetwork, double *out,
                         int n_threads) except +
    void pair_potential_gradients(Queries, const double *rows, PairNetwork,
                                  const double *pull, double *grad_rows,
                                  double *grad_output, int n_threads) except +

cdef extern from "_glue.hpp":
    pass


cdef const double *_rows(const double[:, ::1] x):
    if x.shape[0] == 0 or x.shape[1] == 0:
        return NULL
    return &x[0, 0]


cdef PairNetwork _network(const double[:, ::1] units, const double[::1] weight,
                          double bias, bint average) except *:
    cdef Py_ssize_t n_hidden = weight.shape[0]
    check_length(units.shape[1], 2 * n_hidden, "a row of units")
    return PairNetwork(doubles(weight, n_hidden, "weight"), bias, <int>n_hidden, average)


def scores(const double[:, ::1] units, const Py_ssize_t[::1] ptr,
           const double[::1] weight, double bias, bint average, int n_threads):
    """Sum, or mean, of the pairwise potential over the other documents.

    Parameters
    ----------
    units : ndarray of shape (n_documents, 2 * n_hidden)
        Contributions of each document to the hidden units.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    weight : ndarray of shape (n_hidden,)
        Weights of the output.
    bias : float
        Bias of the output.
    average : bool
        Whether to divide by the number of other documents.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        0 in a query of one document. Complexity: O(m² n_hidden) per query of m
        documents, memory O(m n_hidden) per thread.
    """
    cdef Queries queries = queries_of(ptr, units.shape[0])
    cdef PairNetwork network = _network(units, weight, bias, average)
    out = np.zeros(units.shape[0])
    cdef const double *rows = _rows(units)
    cdef double *o = out_doubles(out)
    with nogil:
        pair_potentials(queries, rows, network, o, n_threads)
    return out


def gradient(const double[:, ::1] units, const Py_ssize_t[::1] ptr,
             const double[::1] weight, double bias, bint average,
             const double[::1] pull, int n_threads):
    """Pull a gradient with respect to `scores` back to their arguments.

    Parameters
    ----------
    units, ptr, weight, bias, average
        As in `scores`.
    pull : ndarray of shape (n_documents,)
        Gradient with respect to the scores.
    n_threads : int
        Number of threads.

    Returns
    -------
    units_gradient : ndarray of shape (n_documents, 2 * n_hidden)
        Gradient with respect to ``units``.
    output_gradient : ndarray of shape (n_queries, n_hidden + 1)
        Share of each query in the gradient of the weights and the bias. Complexity:
        as for `scores`; hidden units are computed again rather than kept.
    """
    cdef Queries queries = queries_of(ptr, units.shape[0])
    cdef PairNetwork network = _network(units, weight, bias, average)
    units_gradient = np.zeros((units.shape[0], units.shape[1]))
    output_gradient = np.zeros((queries.count, weight.shape[0] + 1))
    cdef const double *rows = _rows(units)
    cdef const double *p = doubles(pull, units.shape[0], "pull")
    cdef double *of_units = out_doubles(units_gradient.reshape(-1))
    cdef double *of_output = out_doubles(output_gradient.reshape(-1))
    with nogil:
        pair_potential_gradients(queries, rows, network, p, of_units, of_output,
                                 n_threads)
    return units_gradient, output_gradient
