# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Threaded products of a dense feature matrix with a vector and with its transpose.

BLAS would do, but its threads fight with the kernels' own (2-3 times slower), it wants
both operands in one precision, and its sums depend on the number of threads. Rows are
cut into blocks that depend on the data only, so these results do not.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange

cdef extern from "_linear.hpp" namespace "skrank" nogil:
    void c_matvec "skrank::matvec"(
        const float*, Py_ssize_t, Py_ssize_t, const double*, double*)
    void c_matvec64 "skrank::matvec64"(
        const double*, Py_ssize_t, Py_ssize_t, const double*, double*)
    void c_rmatvec "skrank::rmatvec"(
        const float*, Py_ssize_t, Py_ssize_t, const double*, double*)
    void c_rmatvec64 "skrank::rmatvec64"(
        const double*, Py_ssize_t, Py_ssize_t, const double*, double*)

cdef Py_ssize_t MAX_BLOCKS = 64
cdef Py_ssize_t MIN_BLOCK_ENTRIES = 1 << 15


cdef Py_ssize_t _n_blocks(Py_ssize_t n, Py_ssize_t d) noexcept nogil:
    return max(1, min(MAX_BLOCKS, n * max(d, 1) // MIN_BLOCK_ENTRIES))


def matvec(const floating[:, ::1] X, const double[::1] w, int n_threads=1):
    """Return ``X @ w`` in float64; X has shape (n, d), w has shape (d,)."""
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], b, lo, hi
        Py_ssize_t blocks = _n_blocks(n, d)
        double[::1] out = np.zeros(n)
    if w.shape[0] != d:
        raise ValueError(f"w has {w.shape[0]} entries for {d} features")
    if n == 0 or d == 0:
        return np.asarray(out)
    for b in prange(blocks, nogil=True, schedule="dynamic",
                    num_threads=min(n_threads, blocks)):
        lo = n * b // blocks
        hi = n * (b + 1) // blocks
        if floating is float:
            c_matvec(&X[lo, 0], hi - lo, d, &w[0], &out[lo])
        else:
            c_matvec64(&X[lo, 0], hi - lo, d, &w[0], &out[lo])
    return np.asarray(out)


def rmatvec(const floating[:, ::1] X, const double[::1] v, int n_threads=1):
    """Return ``X.T @ v`` in float64; X has shape (n, d), v has shape (n,)."""
    cdef:
        Py_ssize_t n = X.shape[0], d = X.shape[1], b, lo, hi
        Py_ssize_t blocks = _n_blocks(n, d)
        double[:, ::1] sums = np.zeros((blocks, d))
    if v.shape[0] != n:
        raise ValueError(f"v has {v.shape[0]} entries for {n} rows")
    if n == 0 or d == 0:
        return np.zeros(d)
    for b in prange(blocks, nogil=True, schedule="dynamic",
                    num_threads=min(n_threads, blocks)):
        lo = n * b // blocks
        hi = n * (b + 1) // blocks
        if floating is float:
            c_rmatvec(&X[lo, 0], hi - lo, d, &v[lo], &sums[b, 0])
        else:
            c_rmatvec64(&X[lo, 0], hi - lo, d, &v[lo], &sums[b, 0])
    return np.asarray(sums).sum(axis=0)
