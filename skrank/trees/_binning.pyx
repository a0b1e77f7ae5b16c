# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Quantile thresholds of features, and rows as bins in blocks of features."""

import numpy as np

from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t

from skrank._core._lengths cimport check_length

cdef extern from "_binning.hpp" namespace "skrank" nogil:
    cppclass Layout:
        Layout(int64_t, int)
        int64_t bytes()
    void all_thresholds[T](
        const T*, int64_t, const int32_t*, int64_t, int, const uint8_t*, T*, int32_t*,
        int) except +
    void bin_all_rows[T](
        const T*, const Layout&, const T*, const uint8_t*, uint8_t*, int) except +

MISSING_BIN = 255


cdef int _check_features(
    int64_t d, const floating[:, ::1] thresholds, const uint8_t[::1] categorical
) except -1:
    check_length(thresholds.shape[0], d, "thresholds")
    check_length(thresholds.shape[1], MISSING_BIN, "a row of thresholds")
    return check_length(categorical.shape[0], d, "categorical")


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
    cdef int64_t d = X.shape[1], m = rows.shape[0], i
    cdef int32_t[::1] found = np.zeros(d, dtype=np.int32)
    _check_features[floating](d, thresholds, categorical)
    for i in range(m):
        if not 0 <= rows[i] < X.shape[0]:
            raise ValueError(f"rows must be from 0 to {X.shape[0] - 1}, got {rows[i]}")
    if not 1 <= max_bins <= MISSING_BIN:
        raise ValueError(f"max_bins must be from 1 to {MISSING_BIN}, got {max_bins}")
    if d and m:
        with nogil:
            all_thresholds(&X[0, 0], d, &rows[0], m, max_bins, &categorical[0],
                           &thresholds[0, 0], &found[0], n_threads)
    return np.asarray(found)


def bin_matrix(
    const floating[:, ::1] X,
    const floating[:, ::1] thresholds,
    const uint8_t[::1] categorical,
    int n_threads=1,
):
    """Bins of all rows, a flat array of bytes in blocks of features."""
    cdef int64_t n = X.shape[0], d = X.shape[1]
    _check_features[floating](d, thresholds, categorical)
    cdef Layout* layout = new Layout(n, <int>d)
    cdef uint8_t[::1] bins
    try:
        bins = np.empty(layout.bytes(), dtype=np.uint8)
        if n and d:
            with nogil:
                bin_all_rows(&X[0, 0], layout[0], &thresholds[0, 0], &categorical[0],
                             &bins[0], n_threads)
    finally:
        del layout
    return np.asarray(bins)
