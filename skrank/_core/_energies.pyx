# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What families of scoring functions compute for rows and queries.

Products of a dense feature matrix with a vector and with its transpose: BLAS would do,
but its threads fight with the kernels' own (2-3 times slower), it wants both operands in
one precision, and its sums depend on the number of threads. Rows are cut into blocks that
depend on the data only, so these results do not.

Pairwise potentials: a small network summed over the other documents of a query. A row of
``units`` has what each hidden unit gets from the document as the first of a pair, then as
the second.

Divergences between Gaussians with diagonal covariances: a Gaussian of L dimensions is a
row of 2 L numbers, its means and then numbers s that stand for the variances elu(s) + 1.

Documents ``ptr[q]:ptr[q + 1]`` belong to query ``q``. Every query is handled by one
thread, which writes nothing but what belongs to this query, so results do not depend on
the number of threads.
"""

import numpy as np

from cython cimport floating
from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport Queries, doubles, out_doubles, queries_of
from skrank._core._lengths cimport check_length

cdef extern from "_linear.hpp" namespace "skrank" nogil:
    Py_ssize_t count_blocks(Py_ssize_t n, Py_ssize_t d)
    void matvec_blocks[T](const T*, Py_ssize_t, Py_ssize_t, const double*, double*,
                          int) except +
    void rmatvec_blocks[T](const T*, Py_ssize_t, Py_ssize_t, const double*, double*,
                           int) except +

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

cdef extern from "_gaussian.hpp" namespace "skrank" nogil:
    void all_divergences(Queries, int kind, const double *documents,
                         const double *queries, int L, double *values,
                         int n_threads) except +
    void all_divergence_gradients(Queries, int kind, const double *documents,
                                  const double *queries, const double *weight, int L,
                                  double *grad_documents, double *grad_queries,
                                  int n_threads) except +

cdef extern from "_glue.hpp":
    pass


def matvec(const floating[:, ::1] X, const double[::1] w, int n_threads=1):
    """Return ``X @ w`` in float64; X has shape (n, d), w has shape (d,)."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1]
    cdef double[::1] out = np.zeros(n)
    if w.shape[0] != d:
        raise ValueError(f"w has {w.shape[0]} entries for {d} features")
    if n and d:
        with nogil:
            matvec_blocks(&X[0, 0], n, d, &w[0], &out[0], n_threads)
    return np.asarray(out)


def rmatvec(const floating[:, ::1] X, const double[::1] v, int n_threads=1):
    """Return ``X.T @ v`` in float64; X has shape (n, d), v has shape (n,)."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1]
    cdef double[:, ::1] sums = np.zeros((count_blocks(n, d), d))
    if v.shape[0] != n:
        raise ValueError(f"v has {v.shape[0]} entries for {n} rows")
    if n and d:
        with nogil:
            rmatvec_blocks(&X[0, 0], n, d, &v[0], &sums[0, 0], n_threads)
    return np.asarray(sums).sum(axis=0)


cdef const double *_rows(const double[:, ::1] x):
    if x.shape[0] == 0 or x.shape[1] == 0:
        return NULL
    return &x[0, 0]


cdef PairNetwork _network(const double[:, ::1] units, const double[::1] weight,
                          double bias, bint average) except *:
    cdef Py_ssize_t n_hidden = weight.shape[0]
    check_length(units.shape[1], 2 * n_hidden, "a row of units")
    return PairNetwork(doubles(weight, n_hidden, "weight"), bias, <int>n_hidden, average)


def potential_scores(const double[:, ::1] units, const Py_ssize_t[::1] ptr,
                     const double[::1] weight, double bias, bint average,
                     int n_threads):
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


def potential_gradient(const double[:, ::1] units, const Py_ssize_t[::1] ptr,
                       const double[::1] weight, double bias, bint average,
                       const double[::1] pull, int n_threads):
    """Pull a gradient with respect to `potential_scores` back to their arguments.

    Parameters
    ----------
    units, ptr, weight, bias, average
        As in `potential_scores`.
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
        as for `potential_scores`; hidden units are computed again rather than kept.
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


# In the order of DivergenceKind in _gaussian.hpp.
DIVERGENCES = ("kl", "reverse_kl", "jensen_shannon", "expected_likelihood")


cdef Queries _runs(const double[:, ::1] documents, const double[:, ::1] queries,
                   const Py_ssize_t[::1] ptr) except *:
    cdef Queries runs = queries_of(ptr, documents.shape[0])
    check_length(queries.shape[0], runs.count, "queries")
    check_length(queries.shape[1], documents.shape[1], "a row of queries")
    if queries.shape[1] % 2:
        raise ValueError(f"a row of queries must have even length, got {queries.shape[1]}")
    return runs


def divergences(str divergence, const double[:, ::1] documents, const double[:, ::1] queries,
                const Py_ssize_t[::1] ptr, int n_threads):
    """Divergence of each document from its query.

    Parameters
    ----------
    divergence : str
        One of ``DIVERGENCES``.
    documents : ndarray of shape (n_documents, 2 * L)
        Gaussians of documents.
    queries : ndarray of shape (n_queries, 2 * L)
        Gaussians of queries.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_documents,)
        Complexity: O(n_documents * L).
    """
    cdef Queries runs = _runs(documents, queries, ptr)
    cdef int kind = DIVERGENCES.index(divergence), L = <int>(queries.shape[1] // 2)
    value = np.empty(documents.shape[0])
    cdef double *out = out_doubles(value)
    if documents.shape[0] and L:
        with nogil:
            all_divergences(runs, kind, &documents[0, 0], &queries[0, 0], L, out,
                            n_threads)
    return value


def divergence_gradients(str divergence, const double[:, ::1] documents,
                         const double[:, ::1] queries, const Py_ssize_t[::1] ptr,
                         const double[::1] weight, int n_threads):
    """Gradients of the weighted sum of all divergences.

    Parameters
    ----------
    divergence : str
        One of ``DIVERGENCES``.
    documents : ndarray of shape (n_documents, 2 * L)
        Gaussians of documents.
    queries : ndarray of shape (n_queries, 2 * L)
        Gaussians of queries.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    weight : ndarray of shape (n_documents,)
        Factor of each divergence.
    n_threads : int
        Number of threads.

    Returns
    -------
    document_gradient : ndarray of shape (n_documents, 2 * L)
        Gradient with respect to the rows of ``documents``.
    query_gradient : ndarray of shape (n_queries, 2 * L)
        Gradient with respect to the rows of ``queries``. Complexity:
        O(n_documents * L).
    """
    cdef Queries runs = _runs(documents, queries, ptr)
    cdef int kind = DIVERGENCES.index(divergence), L = <int>(queries.shape[1] // 2)
    document_gradient = np.empty((documents.shape[0], documents.shape[1]))
    query_gradient = np.zeros((queries.shape[0], queries.shape[1]))
    cdef double[:, ::1] of_documents = document_gradient, of_queries = query_gradient
    cdef const double *w = doubles(weight, documents.shape[0], "weight")
    if documents.shape[0] and L:
        with nogil:
            all_divergence_gradients(runs, kind, &documents[0, 0], &queries[0, 0], w, L,
                                     &of_documents[0, 0], &of_queries[0, 0], n_threads)
    return document_gradient, query_gradient
