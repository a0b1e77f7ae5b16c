# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Quantile thresholds of features, rows as bins in blocks of features, and weak rankers.

A weak ranker looks at one feature: the best threshold of all is found in bins, and sums of
many are made from values.
"""

import numpy as np

from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from skrank._core._lengths cimport check_length

cdef extern from "_binning.hpp" namespace "skrank" nogil:
    cppclass Layout:
        Layout(int64_t, int)
        int64_t bytes()
    void all_thresholds[T](
        const T*, int64_t, const int32_t*, int64_t, int, const uint8_t*, T*, int32_t*,
        int) except +
    void bin_all_rows[T](
        const T*, const int64_t*, const Layout&, const T*, const uint8_t*, uint8_t*, int
    ) except +

cdef extern from "_sparse_binning.hpp" namespace "skrank" nogil:
    cppclass SparseValues[T]:
        int64_t n_rows, n_features
        const int64_t* ptr
        const int32_t* feature
        const T* value

    cppclass Cuts[T]:
        const T* of
        const int64_t* start
        const uint8_t* categorical

    void all_sparse_thresholds[T](
        const SparseValues[T]&, const int32_t*, int64_t, int, const uint8_t*, int64_t*,
        T*, int32_t*, int) except +
    void bin_all_entries[T](
        const SparseValues[T]&, const Cuts[T]&, const int32_t*, uint8_t*, int64_t*,
        int32_t*, uint8_t*, int) except +
    void spread_entries(
        const Layout&, const int64_t*, const int32_t*, const uint8_t*, const uint8_t*,
        const int32_t*, uint8_t*)

cdef extern from "_row_hashes.hpp" namespace "skrank" nogil:
    void hash_all_rows[T](const T*, int64_t, int64_t, uint64_t*, int) except +
    void hash_all_entries[T](const int64_t*, const int32_t*, const T*, int64_t, uint64_t*)

cdef extern from "_thresholds.hpp" namespace "skrank" nogil:
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

MISSING_BIN = 255


cdef int _check_features(
    int64_t d, const floating[:, ::1] thresholds, const uint8_t[::1] categorical
) except -1:
    check_length(thresholds.shape[0], d, "thresholds")
    check_length(thresholds.shape[1], MISSING_BIN, "a row of thresholds")
    return check_length(categorical.shape[0], d, "categorical")


cdef int _check_sample(const int32_t[::1] rows, int64_t n, int max_bins) except -1:
    cdef int64_t i
    for i in range(rows.shape[0]):
        if not 0 <= rows[i] < n:
            raise ValueError(f"rows must be from 0 to {n - 1}, got {rows[i]}")
    if not 1 <= max_bins <= MISSING_BIN:
        raise ValueError(f"max_bins must be from 1 to {MISSING_BIN}, got {max_bins}")
    return 0


cdef int _check_entries(
    const int64_t[::1] ptr, const int32_t[::1] feature, int64_t d
) except -1:
    """Check that entries belong to rows, and ascend by their features in each."""
    cdef int64_t n = ptr.shape[0] - 1, size = feature.shape[0], r, e
    if n < 0 or ptr[0] != 0 or ptr[n] != size:
        raise ValueError(f"ptr must run from 0 to {size}")
    for r in range(n):
        if not ptr[r] <= ptr[r + 1] <= size:
            raise ValueError("ptr must ascend")
        for e in range(ptr[r], ptr[r + 1]):
            if not 0 <= feature[e] < d or (e > ptr[r] and feature[e] <= feature[e - 1]):
                raise ValueError(f"features of a row must ascend from 0 to {d - 1}")
    return 0


cdef SparseValues[floating] _sparse_values(
    const int64_t[::1] ptr, const int32_t[::1] feature, const floating[::1] values,
    int64_t d,
) except *:
    cdef SparseValues[floating] X
    check_length(values.shape[0], feature.shape[0], "values")
    _check_entries(ptr, feature, d)
    X.n_rows, X.n_features, X.ptr = ptr.shape[0] - 1, d, &ptr[0]
    X.feature = &feature[0] if feature.shape[0] else NULL
    X.value = &values[0] if feature.shape[0] else NULL
    return X


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
    cdef int64_t d = X.shape[1], m = rows.shape[0]
    cdef int32_t[::1] found = np.zeros(d, dtype=np.int32)
    _check_features[floating](d, thresholds, categorical)
    _check_sample(rows, X.shape[0], max_bins)
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
    order=None,
):
    """Bins of all rows, a flat array of bytes in blocks of features.

    ``order``, if given, lists the row of X that each row of the bins is made of.
    """
    cdef int64_t n = X.shape[0], d = X.shape[1], i
    cdef const int64_t[::1] row_of
    cdef const int64_t* taken = NULL
    _check_features[floating](d, thresholds, categorical)
    if order is not None:
        row_of = order
        check_length(row_of.shape[0], n, "order")
        for i in range(n):
            if not 0 <= row_of[i] < n:
                raise ValueError(f"order must hold rows from 0 to {n - 1}")
        if n:
            taken = &row_of[0]
    cdef Layout* layout = new Layout(n, <int>d)
    cdef uint8_t[::1] bins
    try:
        bins = np.empty(layout.bytes(), dtype=np.uint8)
        if n and d:
            with nogil:
                bin_all_rows(&X[0, 0], taken, layout[0], &thresholds[0, 0],
                             &categorical[0], &bins[0], n_threads)
    finally:
        del layout
    return np.asarray(bins)


def find_sparse_thresholds(
    const int64_t[::1] ptr,
    const int32_t[::1] feature,
    const floating[::1] values,
    const int32_t[::1] rows,
    int max_bins,
    const uint8_t[::1] categorical,
    int n_threads=1,
):
    """Return the thresholds that some rows of a CSR matrix have in dense form.

    These are the number of thresholds of each feature, and the thresholds of all, those
    of one feature after those of another. Categorical features have none.
    """
    cdef:
        int64_t d = categorical.shape[0], m = rows.shape[0], n_entries = 0, f, r, at = 0
        int i
        SparseValues[floating] X = _sparse_values[floating](ptr, feature, values, d)
        int64_t[::1] start = np.zeros(d + 1, dtype=np.int64)
        int32_t[::1] found = np.zeros(d, dtype=np.int32)
    _check_sample(rows, X.n_rows, max_bins)
    for r in range(m):
        n_entries += ptr[rows[r] + 1] - ptr[rows[r]]
    columns = np.empty(max(n_entries, 1), dtype=np.asarray(values).dtype)
    cdef floating[::1] cuts = columns
    if d and m:
        with nogil:
            all_sparse_thresholds(X, &rows[0], m, max_bins, &categorical[0], &start[0],
                                  &cuts[0], &found[0], n_threads)
    for f in range(d):
        for i in range(found[f]):
            cuts[at] = cuts[start[f] + i]
            at += 1
    return np.asarray(found), columns[:at].copy()


def bin_entries(
    const int64_t[::1] ptr,
    const int32_t[::1] feature,
    const floating[::1] values,
    const floating[::1] cuts,
    const int64_t[::1] start,
    const int32_t[::1] n_bins,
    const uint8_t[::1] categorical,
    int n_threads=1,
):
    """Bins of the entries of a CSR matrix that are not in the bin of zero.

    ``cuts`` are the thresholds or the categories, of feature f from ``start[f]`` on.
    Returned are the pointers of the rows, the features, the numbers of the bins, where
    missing values have that after the bins of the feature, and the bin of zero of each
    feature, 255 for an unknown category.
    """
    cdef:
        int64_t d = n_bins.shape[0], size = feature.shape[0], f
        SparseValues[floating] X = _sparse_values[floating](ptr, feature, values, d)
        Cuts[floating] of
        int64_t[::1] to_ptr = np.zeros(X.n_rows + 1, dtype=np.int64)
        uint8_t[::1] common = np.empty(d, dtype=np.uint8)
    check_length(categorical.shape[0], d, "categorical")
    check_length(start.shape[0], d + 1, "start")
    for f in range(d):
        if not (0 <= start[f] <= start[f + 1] <= cuts.shape[0]
                and start[f + 1] - start[f] <= n_bins[f] <= MISSING_BIN):
            raise ValueError("cuts must be those of the bins")
    features = np.empty(max(size, 1), dtype=np.int32)
    places = np.empty(max(size, 1), dtype=np.uint8)
    cdef int32_t[::1] to_feature = features
    cdef uint8_t[::1] to_place = places
    of.of = &cuts[0] if cuts.shape[0] else NULL
    of.start = &start[0]
    if d:
        of.categorical = &categorical[0]
        with nogil:
            bin_all_entries(X, of, &n_bins[0], &common[0], &to_ptr[0], &to_feature[0],
                            &to_place[0], n_threads)
    kept = to_ptr[X.n_rows]
    if kept < size:  # the memory of those that were dropped is given back
        features, places = features[:kept].copy(), places[:kept].copy()
    return np.asarray(to_ptr), features[:kept], places[:kept], np.asarray(common)


def dense_bins(
    const int64_t[::1] ptr,
    const int32_t[::1] feature,
    const uint8_t[::1] place,
    const uint8_t[::1] common,
    const int32_t[::1] n_bins,
):
    """Bins of entries, as `bin_entries` returns them, in the form of `bin_matrix`."""
    cdef int64_t n = ptr.shape[0] - 1, d = n_bins.shape[0], size = feature.shape[0]
    check_length(common.shape[0], d, "common")
    check_length(place.shape[0], size, "place")
    _check_entries(ptr, feature, d)
    cdef Layout* layout = new Layout(n, <int>d)
    cdef uint8_t[::1] bins
    try:
        bins = np.empty(layout.bytes(), dtype=np.uint8)
        if n and d:
            with nogil:
                spread_entries(layout[0], &ptr[0], &feature[0] if size else NULL,
                               &place[0] if size else NULL, &common[0], &n_bins[0],
                               &bins[0])
    finally:
        del layout
    return np.asarray(bins)


def hash_rows(const floating[:, ::1] X, int n_threads=1):
    """Return numbers that say what the rows hold, equal for equal rows, shape (n,)."""
    cdef int64_t n = X.shape[0], d = X.shape[1]
    cdef uint64_t[::1] found = np.zeros(n, dtype=np.uint64)
    if n and d:
        with nogil:
            hash_all_rows(&X[0, 0], n, d, &found[0], n_threads)
    return np.asarray(found)


def hash_entries(
    const int64_t[::1] ptr, const int32_t[::1] feature, const floating[::1] values,
    int64_t d,
):
    """Return what `hash_rows` does, for the rows of a CSR matrix of d features."""
    cdef SparseValues[floating] X = _sparse_values[floating](ptr, feature, values, d)
    cdef uint64_t[::1] found = np.zeros(X.n_rows, dtype=np.uint64)
    if X.n_rows:
        with nogil:
            hash_all_entries(X.ptr, X.feature, X.value, X.n_rows, &found[0])
    return np.asarray(found)


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
