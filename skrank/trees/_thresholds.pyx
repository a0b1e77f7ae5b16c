# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Weak rankers that look at one feature: the best of all, and sums of many."""

import numpy as np

from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from skrank._core._lengths cimport check_length

cdef extern from "_thresholds.hpp" namespace "skrank" nogil:
    cppclass Layout:
        Layout(int64_t, int)
        int64_t bytes()

    cppclass Threshold:
        int32_t feature, bin
        int missing
        int64_t sum

    cppclass CSearch "skrank::ThresholdSearch":
        CSearch(const uint8_t*, int64_t, int, const int32_t*) except +
        double unit
        vector[int64_t] histogram
        Threshold best
        void search(const double*, cbool, cbool, int) except +

    void c_add_ranks "skrank::add_ranks"[T](
        const T *X, int64_t n, int64_t d, const int32_t *feature, const double *low,
        const double *high, const double *missing, const double *weight, int64_t first,
        int64_t last, double *scores, int n_threads) except +
    void c_sum_ramps "skrank::sum_ramps"[T](
        const T *X, int64_t n, int64_t d, const double *low, const double *high,
        const double *potential, double *sums, int n_threads) except +

cdef extern from "../_core/_glue.hpp":
    pass


cdef class ThresholdSearch:
    """Finds the best threshold of all features, for potentials of one set of rows.

    Parameters
    ----------
    bins : ndarray of uint8
        As `_binning.bin_matrix` makes them.
    n_rows : int
        Number of rows.
    n_bins : ndarray of shape (d,), dtype int32
        Bins of each feature, without that of missing values.
    """

    cdef CSearch* search
    cdef object bins, n_bins
    cdef int64_t n_rows, d

    def __cinit__(self, const uint8_t[::1] bins, int64_t n_rows,
                  const int32_t[::1] n_bins):
        # The arrays must live as long as the search.
        self.d = n_bins.shape[0]
        if n_rows < 1 or self.d < 1:
            raise ValueError(
                f"there must be rows and features, got {n_rows} and {self.d}"
            )
        check_length(bins.shape[0], Layout(n_rows, <int>self.d).bytes(), "bins")
        for k in range(self.d):
            if not 0 <= n_bins[k] <= 255:
                raise ValueError(f"n_bins must be from 0 to 255, got {n_bins[k]}")
        self.bins, self.n_bins, self.n_rows = bins, n_bins, n_rows
        self.search = new CSearch(&bins[0], n_rows, <int>self.d, &n_bins[0])

    def __dealloc__(self):
        del self.search

    def best(self, const double[::1] potentials, cbool low=True, cbool high=True,
             int n_threads=1):
        """Return the feature, bin, rank of missing values and sum of the best one.

        The sum of the potentials of the rows above the bin is the largest of all in
        size; it is counted with missing values where their rank is 1. ``low`` and
        ``high`` say whether that rank may be 0, and 1. The feature is -1 where all sums
        are 0. The bin is -1 where all values but missing ones are above, and the last
        one where only missing values have rank 1.
        """
        check_length(potentials.shape[0], self.n_rows, "potentials")
        with nogil:
            self.search.search(&potentials[0], low, high, n_threads)
        found = self.search.best
        return found.feature, found.bin, found.missing, found.sum * self.search.unit

    def histogram(self):
        """Return the sums of the last potentials in all bins, shape (d, 256)."""
        cdef int64_t k, size = 256 * self.d
        cdef double[::1] sums = np.zeros(size)
        if self.search.histogram.size():
            for k in range(size):
                sums[k] = self.search.histogram[k] * self.search.unit
        return np.asarray(sums).reshape(-1, 256)


def add_ranks(
    const floating[:, ::1] X,
    double[::1] scores,
    const int32_t[::1] feature,
    const double[::1] low,
    const double[::1] high,
    const double[::1] missing,
    const double[::1] weight,
    int64_t first,
    int64_t last,
    int n_threads=1,
):
    """Add weak rankers ``[first, last)``, times their weights, to scores, in place.

    The rank of a value is 1 above ``low`` where ``high`` equals it, and otherwise on the
    line from 0 at ``low`` to 1 at ``high``; that of a missing value is ``missing``.
    """
    cdef int64_t n = X.shape[0], d = X.shape[1], size = feature.shape[0], t
    check_length(scores.shape[0], n, "scores")
    check_length(low.shape[0], size, "low")
    check_length(high.shape[0], size, "high")
    check_length(missing.shape[0], size, "missing")
    check_length(weight.shape[0], size, "weight")
    if not 0 <= first <= last <= size:
        raise ValueError(f"there are {size} weak rankers, got [{first}, {last})")
    for t in range(first, last):
        if not 0 <= feature[t] < d:
            raise ValueError(f"feature must be from 0 to {d - 1}, got {feature[t]}")
    if n == 0 or first == last:
        return
    with nogil:
        c_add_ranks(&X[0, 0], n, d, &feature[0], &low[0], &high[0], &missing[0],
                    &weight[0], first, last, &scores[0], n_threads)


def sum_ramps(
    const floating[:, ::1] X,
    const double[::1] low,
    const double[::1] high,
    const double[::1] potentials,
    int n_threads=1,
):
    """Sums of potentials times ranks on a line, and of those of missing values, (2, d)."""
    cdef int64_t n = X.shape[0], d = X.shape[1]
    check_length(low.shape[0], d, "low")
    check_length(high.shape[0], d, "high")
    check_length(potentials.shape[0], n, "potentials")
    cdef double[:, ::1] sums = np.zeros((2, d))
    if n and d:
        with nogil:
            c_sum_ramps(&X[0, 0], n, d, &low[0], &high[0], &potentials[0], &sums[0, 0],
                        n_threads)
    return np.asarray(sums)
