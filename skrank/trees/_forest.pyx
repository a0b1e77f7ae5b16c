# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scores of rows under a forest of trees, and what features contribute to them."""

import numpy as np

from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from skrank._core._lengths cimport check_length
from skrank.trees._forest_arrays cimport ForestArrays, arrays_of

cdef extern from "_forest.hpp" namespace "skrank" nogil:
    void add_forest[T](const ForestArrays&, int64_t first_tree, int64_t last_tree,
                       const T *X, int64_t n, int64_t d, int n_outputs, double *scores,
                       int n_threads) except +

    cppclass SparseX[T]:
        const int64_t* ptr
        const int32_t* feature
        const T* value

    void add_forest_to_sparse[T](
        const ForestArrays&, int64_t first_tree, int64_t last_tree, const SparseX[T]&,
        const int32_t *column_of, int64_t n_columns, int64_t n, int n_outputs,
        double *scores, int n_threads) except +

cdef extern from "_shapley_background.hpp" namespace "skrank" nogil:
    double path_contributions[T](
        const ForestArrays&, const int64_t *count, const double *scale, const T *X,
        int64_t n, int64_t d, int n_outputs, double *out, int n_threads) except +
    double background_contributions[T](
        const ForestArrays&, const double *scale, const T *Z, int64_t n_background,
        const T *X, int64_t n, int64_t d, int n_outputs, double *out,
        int n_threads) except +

cdef extern from "../_core/_glue.hpp":
    pass


def add_trees(
    const floating[:, ::1] X,
    double[:, ::1] scores,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const uint8_t[::1] missing_left,
    const int32_t[::1] category,
    const double[::1] value,
    const int64_t[::1] roots,
    const int32_t[::1] output,
    const uint64_t[:, ::1] categories,
    int64_t first_tree,
    int64_t last_tree,
    int n_threads=1,
):
    """Add trees ``[first_tree, last_tree)`` to scores of shape (n, n_outputs), in place."""
    cdef:
        int64_t n = X.shape[0], d = X.shape[1]
        ForestArrays arrays = arrays_of(
            feature, threshold, left, missing_left, category, value, roots, output,
            categories)
    if scores.shape[0] != n:
        raise ValueError(f"scores must have {n} rows, got {scores.shape[0]}")
    if n == 0 or last_tree <= first_tree:
        return
    with nogil:
        add_forest(arrays, first_tree, last_tree, &X[0, 0], n, d, <int>scores.shape[1],
                   &scores[0, 0], n_threads)


def add_trees_to_sparse(
    const int64_t[::1] ptr,
    const int32_t[::1] features,
    const floating[::1] values,
    const int32_t[::1] column_of,
    int64_t n_columns,
    double[:, ::1] scores,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const uint8_t[::1] missing_left,
    const int32_t[::1] category,
    const double[::1] value,
    const int64_t[::1] roots,
    const int32_t[::1] output,
    const uint64_t[:, ::1] categories,
    int64_t first_tree,
    int64_t last_tree,
    int n_threads=1,
):
    """Do what `add_trees` does for the rows of a CSR matrix.

    ``column_of`` has the number of the column, below ``n_columns``, that the nodes name
    each feature of the matrix by, and -1 for features that are not needed.
    """
    cdef:
        int64_t n = ptr.shape[0] - 1, d = column_of.shape[0], size = features.shape[0], k
        SparseX[floating] X
        ForestArrays arrays = arrays_of(
            feature, threshold, left, missing_left, category, value, roots, output,
            categories)
    check_length(scores.shape[0], n, "scores")
    check_length(values.shape[0], size, "values")
    if n <= 0 or last_tree <= first_tree:
        return
    if n_columns < 1:
        raise ValueError(f"there must be columns, got {n_columns}")
    for k in range(d):
        if column_of[k] >= n_columns:
            raise ValueError(f"columns must be below {n_columns}, got {column_of[k]}")
    if ptr[0] != 0 or ptr[n] != size:
        raise ValueError(f"ptr must run from 0 to {size}")
    for k in range(n):
        if ptr[k + 1] < ptr[k]:
            raise ValueError("ptr must ascend")
    for k in range(size):
        if not 0 <= features[k] < d:
            raise ValueError(f"features must be from 0 to {d - 1}, got {features[k]}")
    X.ptr = &ptr[0]
    X.feature = &features[0] if size else NULL
    X.value = &values[0] if size else NULL
    with nogil:
        add_forest_to_sparse(arrays, first_tree, last_tree, X, &column_of[0], n_columns,
                             n, <int>scores.shape[1], &scores[0, 0], n_threads)


def contributions(
    const floating[:, ::1] X,
    const floating[:, ::1] background,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const uint8_t[::1] missing_left,
    const int32_t[::1] category,
    const double[::1] value,
    const int64_t[::1] roots,
    const int32_t[::1] output,
    const uint64_t[:, ::1] categories,
    const int64_t[::1] count,
    const double[::1] scale,
    int n_threads=1,
):
    """Return Shapley values of shape (n, d) for the sum of scaled trees, and its mean.

    Without rows in ``background``, the nodes weigh as many rows as they count.
    """
    cdef:
        int64_t n = X.shape[0], d = X.shape[1], n_background = background.shape[0]
        double expected = 0.0
        ForestArrays arrays = arrays_of(
            feature, threshold, left, missing_left, category, value, roots, output,
            categories)
        int64_t n_trees = arrays.n_trees
        int n_outputs = 0
    check_length(count.shape[0], arrays.n_nodes, "count")
    check_length(scale.shape[0], n_trees, "scale")
    check_length(background.shape[1], d, "a row of background")
    values = np.zeros((n, d))
    cdef double[:, ::1] out = values
    if n == 0 or n_trees == 0:
        return values, 0.0
    n_outputs = np.max(output) + 1
    with nogil:
        if n_background:
            expected = background_contributions(
                arrays, &scale[0], &background[0, 0], n_background, &X[0, 0], n, d,
                n_outputs, &out[0, 0], n_threads)
        else:
            expected = path_contributions(
                arrays, &count[0], &scale[0], &X[0, 0], n, d, n_outputs, &out[0, 0],
                n_threads)
    return values, expected
