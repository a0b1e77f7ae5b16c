# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Threaded products of a dense feature matrix with a vector and with its transpose.

BLAS would do, but its threads fight with the kernels' own (2-3 times slower), it wants
both operands in one precision, and its sums depend on the number of threads. Rows are
cut into blocks that depend on the data only, so these results do not.
"""

import numpy as np

from cython cimport floating

cdef extern from "_linear.hpp" namespace "skrank" nogil:
    Py_ssize_t count_blocks(Py_ssize_t n, Py_ssize_t d)
    void matvec_blocks[T](const T*, Py_ssize_t, Py_ssize_t, const double*, double*,
                          int) except +
    void rmatvec_blocks[T](const T*, Py_ssize_t, Py_ssize_t, const double*, double*,
                           int) except +

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
