# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Growing trees on binned rows."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from skrank._core._lengths cimport check_length

cdef extern from "_grower.hpp" namespace "skrank" nogil:
    cppclass Layout:
        Layout(int64_t, int)
        int64_t bytes()

    cppclass Features:
        int count
        const int32_t* n_bins
        const uint8_t* categorical
        const int8_t* monotonic

    cppclass GrowOptions:
        int growth, max_leaf_nodes, max_depth, min_samples_leaf, max_features, n_threads
        double min_weight, l2, min_gain, min_gain_to_noise, learning_rate, smoothing, noise
        double path_smoothing
        cbool random_thresholds
        int64_t max_bytes
        uint64_t seed
        cbool wide

    cppclass Node:
        int32_t feature, left, category
        uint8_t bin, missing_left
        double value, gain, weight
        int64_t count

    cppclass Leaf:
        int64_t begin, end
        int node

    cppclass TreeGrower:
        vector[Node] nodes
        vector[uint64_t] categories
        vector[Leaf] leaves
        const int32_t* row_data()
        void grow(const double*, const double*, const double*, const int32_t*, int64_t,
                  cbool, const GrowOptions&) except +
        void step(const double*, const double*)
        void go(double)
        double penalty(cbool)
        void scale(double)
        void add_to(double*, int64_t) except +
        void add_to_all(double*, int64_t) except +

    cppclass CGrower "skrank::Grower"(TreeGrower):
        CGrower(const uint8_t*, int64_t, const Features&) except +

cdef extern from "_sparse_grower.hpp" namespace "skrank" nogil:
    cppclass SparseRows:
        int64_t n_rows
        const int64_t* ptr
        const int32_t* feature
        const uint8_t* place
        const uint8_t* common

    cppclass SparseGrower(TreeGrower):
        SparseGrower(const SparseRows&, const Features&) except +

cdef extern from "../_core/_glue.hpp":
    pass


#: Orders in which the leaves of a tree are split.
GROWTH = ("leaf", "depth", "symmetric")


cdef const uint8_t* _dense_rows(const uint8_t[::1] bins, int64_t n, int64_t d) except NULL:
    check_length(bins.shape[0], Layout(n, <int>d).bytes(), "bins")
    return &bins[0]


cdef SparseRows _sparse_rows(tuple bins, int64_t n, const int32_t[::1] n_bins) except *:
    """Entries that belong to the rows and to their bins."""
    cdef:
        const int64_t[::1] ptr = bins[0]
        const int32_t[::1] feature = bins[1]
        const uint8_t[::1] place = bins[2]
        const uint8_t[::1] common = bins[3]
        int64_t d = n_bins.shape[0], size = feature.shape[0], r, e
        SparseRows rows
    check_length(ptr.shape[0], n + 1, "ptr")
    check_length(place.shape[0], size, "place")
    check_length(common.shape[0], d, "common")
    if ptr[0] != 0 or ptr[n] != size:
        raise ValueError(f"ptr must run from 0 to {size}")
    for r in range(n):
        if not ptr[r] <= ptr[r + 1] <= size:
            raise ValueError("ptr must ascend")
        for e in range(ptr[r], ptr[r + 1]):
            if not 0 <= feature[e] < d or (e > ptr[r] and feature[e] <= feature[e - 1]):
                raise ValueError(f"features of a row must ascend from 0 to {d - 1}")
            if place[e] > n_bins[feature[e]]:
                raise ValueError("place must be at most the number of bins")
    rows.n_rows, rows.ptr, rows.common = n, &ptr[0], &common[0]
    rows.feature = &feature[0] if size else NULL
    rows.place = &place[0] if size else NULL
    return rows


cdef class Grower:
    """Grows trees on one set of binned rows.

    Parameters
    ----------
    bins : ndarray of uint8, or tuple of ndarray
        Bins of dense rows as `_binning.bin_matrix` makes them, or of sparse rows as
        `_binning.bin_entries` does. Trees are the same.
    n_rows : int
        Number of rows.
    n_bins : ndarray of shape (d,), dtype int32
        Bins of each feature, without that of missing values.
    categorical : ndarray of shape (d,), dtype uint8
        1 where the bins of a feature are categories any set of which may go left, 2 where
        each of them is parted from the others, else 0.
    monotonic : ndarray of shape (d,), dtype int8
        1, -1 or 0.
    """

    cdef TreeGrower* grower
    cdef object arrays
    cdef int64_t n_rows

    def __cinit__(self, bins, int64_t n_rows, const int32_t[::1] n_bins,
                  const uint8_t[::1] categorical, const int8_t[::1] monotonic):
        cdef Features features
        d = n_bins.shape[0]
        if n_rows < 1 or d < 1:
            raise ValueError(f"there must be rows and features, got {n_rows} and {d}")
        check_length(categorical.shape[0], d, "categorical")
        check_length(monotonic.shape[0], d, "monotonic")
        for k in range(d):
            if not 0 <= n_bins[k] <= 255:
                raise ValueError(f"n_bins must be from 0 to 255, got {n_bins[k]}")
        self.n_rows = n_rows
        features.count, features.n_bins = <int>d, &n_bins[0]
        features.categorical, features.monotonic = &categorical[0], &monotonic[0]
        if isinstance(bins, tuple):
            self.grower = new SparseGrower(
                _sparse_rows(tuple(bins), n_rows, n_bins), features)
        else:
            self.grower = new CGrower(_dense_rows(bins, n_rows, d), n_rows, features)
        # The arrays must live as long as the grower.
        self.arrays = bins, n_bins, categorical, monotonic

    def __dealloc__(self):
        del self.grower

    def grow(self, const double[::1] gradient, hessian=None, rows=None, *, weight=None,
             str growth="leaf", int max_leaf_nodes=31, int max_depth=0, int min_samples_leaf=20,
             double min_weight=1e-3, double l2=0.0, double min_gain=0.0,
             double min_gain_to_noise=0.0, double learning_rate=0.1, double smoothing=10.0, double path_smoothing=0.0, double noise=0.0,
             int max_features=0, cbool random_thresholds=False, int64_t max_bytes=1 << 27, uint64_t seed=0, cbool stochastic=True,
             int n_threads=1, cbool wide=True):
        """Grow a tree; return its nodes as a dict of arrays.

        ``gradient`` and ``hessian`` (None: ones; never negative) have one entry per row
        of the bins; ``rows``, if given, lists those to grow on, ascending. ``weight``, if
        given, multiplies both in the search for splits, and not in the values of leaves.
        ``noise`` is that of the scores of splits, in units of what one standard deviation
        of the gradients explains, and ``min_gain_to_noise`` a least gain in units of what
        a split at random gains, for each leaf but the first one. Without ``wide``, only instructions that every machine
        has are used.
        """
        cdef:
            GrowOptions options
            const double[::1] second, third
            const int32_t[::1] chosen
            const double* h = NULL
            const double* w = NULL
            const int32_t* r = NULL
            int64_t n = self.n_rows, k
        _check_length(gradient.shape[0], n, "gradient")
        if growth not in GROWTH:
            raise ValueError(f"growth must be one of {GROWTH}, got {growth!r}")
        if not min_weight >= 0.0:
            raise ValueError(f"min_weight must be >= 0, got {min_weight}")
        options.growth = GROWTH.index(growth)
        options.max_leaf_nodes = max_leaf_nodes
        options.max_depth = max_depth
        options.min_samples_leaf = min_samples_leaf
        options.min_weight = min_weight
        options.l2 = l2
        options.min_gain = min_gain
        options.min_gain_to_noise = min_gain_to_noise
        options.learning_rate = learning_rate
        options.smoothing = smoothing
        options.path_smoothing = path_smoothing
        options.noise = noise
        options.random_thresholds = random_thresholds
        options.max_features = max_features
        options.max_bytes = max_bytes
        options.seed = seed
        options.n_threads = n_threads
        options.wide = wide
        if hessian is not None:
            second = hessian
            _check_length(second.shape[0], self.n_rows, "hessian")
            h = &second[0]
        if weight is not None:
            third = weight
            _check_length(third.shape[0], self.n_rows, "weight")
            w = &third[0]
        if rows is not None:
            chosen = rows
            n = chosen.shape[0]
            if n == 0 or chosen[0] < 0 or chosen[n - 1] >= self.n_rows:
                raise ValueError(f"rows must be from 0 to {self.n_rows - 1}")
            for k in range(1, n):
                if chosen[k] <= chosen[k - 1]:
                    raise ValueError("rows must ascend")
            r = &chosen[0]
        with nogil:
            self.grower.grow(&gradient[0], h, w, r, n, stochastic, options)
        return self._nodes()

    def step(self, const double[::1] gradient, hessian=None):
        """Refine the values of the leaves of the last tree by one more Newton step.

        The tree must have been grown with ``learning_rate=1``; the gradient and the
        Hessian are those at the scores to which its values have been added.
        """
        cdef:
            const double[::1] second
            const double* h = NULL
        self._check_grown()
        _check_length(gradient.shape[0], self.n_rows, "gradient")
        if hessian is not None:
            second = hessian
            _check_length(second.shape[0], self.n_rows, "hessian")
            h = &second[0]
        with nogil:
            self.grower.step(&gradient[0], h)

    def go(self, double share):
        """Go a share of the last Newton step of the leaves only; 1 is all of it."""
        self._check_grown()
        self.grower.go(share)

    def penalty(self, cbool before=False):
        """Return what the penalties on the values of the leaves add to the loss.

        With ``before``, what they added before the last step.
        """
        self._check_grown()
        return self.grower.penalty(before)

    def scaled(self, double factor):
        """Multiply the values of the leaves of the last tree; return its nodes."""
        self._check_grown()
        self.grower.scale(factor)
        return self._nodes()

    cdef int _check_grown(self) except -1:
        if self.grower.nodes.size() == 0:
            raise ValueError("there must be a tree, grown by the method grow")
        return 0

    cdef _nodes(self):
        cdef:
            int64_t n = self.grower.nodes.size(), k
            int32_t[::1] feature = np.empty(n, dtype=np.int32)
            int32_t[::1] left = np.empty(n, dtype=np.int32)
            int32_t[::1] category = np.empty(n, dtype=np.int32)
            uint8_t[::1] bin_ = np.empty(n, dtype=np.uint8)
            uint8_t[::1] missing_left = np.empty(n, dtype=np.uint8)
            double[::1] value = np.empty(n), gain = np.empty(n), weight = np.empty(n)
            int64_t[::1] count = np.empty(n, dtype=np.int64)
            uint64_t[::1] sets = np.empty(self.grower.categories.size(), dtype=np.uint64)
        for k in range(n):
            feature[k] = self.grower.nodes[k].feature
            left[k] = self.grower.nodes[k].left
            category[k] = self.grower.nodes[k].category
            bin_[k] = self.grower.nodes[k].bin
            missing_left[k] = self.grower.nodes[k].missing_left
            value[k] = self.grower.nodes[k].value
            gain[k] = self.grower.nodes[k].gain
            weight[k] = self.grower.nodes[k].weight
            count[k] = self.grower.nodes[k].count
        for k in range(sets.shape[0]):
            sets[k] = self.grower.categories[k]
        return {
            "feature": np.asarray(feature), "left": np.asarray(left),
            "category": np.asarray(category), "bin": np.asarray(bin_),
            "missing_left": np.asarray(missing_left), "value": np.asarray(value),
            "gain": np.asarray(gain), "weight": np.asarray(weight),
            "count": np.asarray(count),
            "categories": np.asarray(sets).reshape(-1, 4),
        }

    def add_to(self, double[:, ::1] scores, int output=0, *, cbool everywhere=False):
        """Add the values of the last tree to the scores of the rows it was grown on.

        With ``everywhere``, to the scores of all rows.
        """
        cdef int64_t stride = scores.shape[1]
        _check_length(scores.shape[0], self.n_rows, "scores")
        if not 0 <= output < stride:
            raise ValueError(f"output must be from 0 to {stride - 1}, got {output}")
        self._check_grown()
        with nogil:
            if everywhere:
                self.grower.add_to_all(&scores[0, output], stride)
            else:
                self.grower.add_to(&scores[0, output], stride)


def _check_length(found, expected, name):
    if found != expected:
        raise ValueError(f"{name} must have one entry per row, {expected}; got {found}")
