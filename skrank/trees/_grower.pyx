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

    cppclass GrowOptions:
        int max_leaf_nodes, max_depth, min_samples_leaf, max_features, n_threads
        double min_weight, l2, min_gain, learning_rate, smoothing
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

    cppclass CGrower "skrank::Grower":
        CGrower(const uint8_t*, int64_t, int, const int32_t*, const uint8_t*,
                const int8_t*) except +
        vector[Node] nodes
        vector[uint64_t] categories
        vector[Leaf] leaves
        const int32_t* row_data()
        void grow(const double*, const double*, const int32_t*, int64_t, cbool,
                  const GrowOptions&) except +
        void add_to(double*, int64_t) except +
        void add_to_all(double*, int64_t) except +


cdef class Grower:
    """Grows trees on one set of binned rows.

    Parameters
    ----------
    bins : ndarray of uint8
        As `_binning.bin_matrix` makes them.
    n_rows : int
        Number of rows.
    n_bins : ndarray of shape (d,), dtype int32
        Bins of each feature, without that of missing values.
    categorical : ndarray of shape (d,), dtype uint8
        Whether a feature's bins are categories.
    monotonic : ndarray of shape (d,), dtype int8
        1, -1 or 0.
    """

    cdef CGrower* grower
    cdef object bins, n_bins, categorical, monotonic
    cdef int64_t n_rows

    def __cinit__(self, const uint8_t[::1] bins, int64_t n_rows,
                  const int32_t[::1] n_bins, const uint8_t[::1] categorical,
                  const int8_t[::1] monotonic):
        # The arrays must live as long as the grower.
        d = n_bins.shape[0]
        if n_rows < 1 or d < 1:
            raise ValueError(f"there must be rows and features, got {n_rows} and {d}")
        check_length(categorical.shape[0], d, "categorical")
        check_length(monotonic.shape[0], d, "monotonic")
        check_length(bins.shape[0], Layout(n_rows, <int>d).bytes(), "bins")
        for k in range(d):
            if not 0 <= n_bins[k] <= 255:
                raise ValueError(f"n_bins must be from 0 to 255, got {n_bins[k]}")
        self.bins, self.n_bins = bins, n_bins
        self.categorical, self.monotonic = categorical, monotonic
        self.n_rows = n_rows
        self.grower = new CGrower(&bins[0], n_rows, <int>n_bins.shape[0], &n_bins[0],
                                  &categorical[0], &monotonic[0])

    def __dealloc__(self):
        del self.grower

    def grow(self, const double[::1] gradient, hessian=None, rows=None, *,
             int max_leaf_nodes=31, int max_depth=0, int min_samples_leaf=20,
             double min_weight=1e-3, double l2=0.0, double min_gain=0.0,
             double learning_rate=0.1, double smoothing=10.0, int max_features=0,
             int64_t max_bytes=1 << 27, uint64_t seed=0, cbool stochastic=True,
             int n_threads=1, cbool wide=True):
        """Grow a tree; return its nodes as a dict of arrays.

        ``gradient`` and ``hessian`` (None: ones; never negative) have one entry per row
        of the bins; ``rows``, if given, lists those to grow on, ascending. Without
        ``wide``, only instructions that every machine has are used.
        """
        cdef:
            GrowOptions options
            const double[::1] second
            const int32_t[::1] chosen
            const double* h = NULL
            const int32_t* r = NULL
            int64_t n = self.n_rows, k
        _check_length(gradient.shape[0], n, "gradient")
        options.max_leaf_nodes = max_leaf_nodes
        options.max_depth = max_depth
        options.min_samples_leaf = min_samples_leaf
        options.min_weight = min_weight
        options.l2 = l2
        options.min_gain = min_gain
        options.learning_rate = learning_rate
        options.smoothing = smoothing
        options.max_features = max_features
        options.max_bytes = max_bytes
        options.seed = seed
        options.n_threads = n_threads
        options.wide = wide
        if hessian is not None:
            second = hessian
            _check_length(second.shape[0], self.n_rows, "hessian")
            h = &second[0]
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
            self.grower.grow(&gradient[0], h, r, n, stochastic, options)
        return self._nodes()

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
        with nogil:
            if everywhere:
                self.grower.add_to_all(&scores[0, output], stride)
            else:
                self.grower.add_to(&scores[0, output], stride)


def _check_length(found, expected, name):
    if found != expected:
        raise ValueError(f"{name} must have one entry per row, {expected}; got {found}")
