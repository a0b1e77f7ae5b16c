# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Quantile thresholds of features, and rows as bins in blocks of features."""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from "_binning.hpp" namespace "skrank" nogil:
    cppclass Layout:
        Layout(int64_t, int)
        int n_blocks
        int width(int)
        int64_t start(int)
        int64_t bytes()
    void block_thresholds[T](
        const T*, int64_t, const int32_t*, int64_t, int, int, const uint8_t*, T*,
        int32_t*) except +
    void bin_rows32 "skrank::bin_rows"(
        const float*, int64_t, int64_t, int64_t, int, int, const float*,
        const uint8_t*, uint8_t*)
    void bin_rows64 "skrank::bin_rows"(
        const double*, int64_t, int64_t, int64_t, int, int, const double*,
        const uint8_t*, uint8_t*)

cdef int64_t BIN_ROWS = 1024
MISSING_BIN = 255


def find_thresholds(
    const floating[:, ::1] X,
    const int32_t[::1] rows,
    int max_bins,
    const uint8_t[::1] categorical,
    floating[:, ::1] thresholds,
    int n_threads=1,
):
    """Fill ``thresholds`` (d, 255) from some rows; return their numbers, shape (d,).

    A value ``v`` has bin ``b`` if exactly ``b`` thresholds lie below it. Rows of
    ``thresholds`` of categorical features are left as they are: their categories,
    ascending and followed by infinity.
    """
    cdef:
        int64_t d = X.shape[1], m = rows.shape[0]
        int n_blocks = (d + 15) // 16, b
        int32_t[::1] found = np.zeros(d, dtype=np.int32)
    if d == 0 or m == 0:
        return np.asarray(found)
    for b in prange(n_blocks, nogil=True, schedule="dynamic", num_threads=n_threads):
        block_thresholds(&X[0, 0], d, &rows[0], m, b, max_bins, &categorical[0],
                         &thresholds[0, 0], &found[0])
    return np.asarray(found)


def bin_matrix(
    const floating[:, ::1] X,
    const floating[:, ::1] thresholds,
    const uint8_t[::1] categorical,
    int n_threads=1,
):
    """Bins of all rows, a flat array of bytes in blocks of features."""
    cdef:
        int64_t n = X.shape[0], d = X.shape[1], chunk, first, last
        int64_t n_chunks = (n + BIN_ROWS - 1) // BIN_ROWS
        Layout* layout = new Layout(n, <int>d)
        int b
        uint8_t[::1] bins = np.empty(layout.bytes(), dtype=np.uint8)
    try:
        if n == 0 or d == 0:
            return np.asarray(bins)
        for chunk in prange(n_chunks, nogil=True, schedule="dynamic",
                            num_threads=n_threads):
            first = chunk * BIN_ROWS
            last = min(n, first + BIN_ROWS)
            for b in range(layout.n_blocks):
                if floating is float:
                    bin_rows32(&X[0, 0], d, first, last, b, layout.width(b),
                               &thresholds[0, 0], &categorical[0],
                               &bins[layout.start(b)])
                else:
                    bin_rows64(&X[0, 0], d, first, last, b, layout.width(b),
                               &thresholds[0, 0], &categorical[0],
                               &bins[layout.start(b)])
    finally:
        del layout
    return np.asarray(bins)
