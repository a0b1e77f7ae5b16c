# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scores of rows under a forest of trees, and what features contribute to them.

Leaves may hold linear functions, which are fitted here too.
"""

import numpy as np

from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

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

cdef extern from "_linear_leaves.hpp" namespace "skrank" nogil:
    cppclass LinearTerms:
        const int64_t* start
        const int32_t* feature
        const double* coef
        const double* center
        const double* low
        const double* high
        int64_t n_terms

    void add_linear_forest[T](const ForestArrays&, const LinearTerms&, int64_t first,
                              int64_t last, const T *X, int64_t n, int64_t d,
                              int n_outputs, double *scores, int n_threads) except +

    cppclass LinearLeaf:
        int64_t node
        vector[int32_t] feature
        vector[double] coef, center, low, high

    cppclass LinearFit[T]:
        LinearFit(const ForestArrays&, const T *X, int64_t d, const double *gradient,
                  const double *hessian, const double *scale, double l2) except +
        void fit(const int32_t *rows, int64_t n, int n_threads) except +
        vector[LinearLeaf] leaves

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


def add_linear_trees(
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
    const int64_t[::1] term_start,
    const int32_t[::1] term_feature,
    const double[:, ::1] terms,
    int64_t first_tree,
    int64_t last_tree,
    int n_threads=1,
):
    """Do what `add_trees` does for trees whose leaves hold linear functions.

    The rows of ``terms`` are coefficients, centers, lowest and highest values.
    """
    cdef:
        int64_t n = X.shape[0], d = X.shape[1]
        ForestArrays arrays = arrays_of(
            feature, threshold, left, missing_left, category, value, roots, output,
            categories)
        LinearTerms linear
    check_length(scores.shape[0], n, "scores")
    check_length(term_start.shape[0], arrays.n_nodes + 1, "term_start")
    check_length(terms.shape[0], 4, "terms")
    check_length(terms.shape[1], term_feature.shape[0], "a row of terms")
    if n == 0 or last_tree <= first_tree:
        return
    linear.start = &term_start[0]
    linear.n_terms = term_feature.shape[0]
    if linear.n_terms:
        linear.feature = &term_feature[0]
        linear.coef, linear.center = &terms[0, 0], &terms[1, 0]
        linear.low, linear.high = &terms[2, 0], &terms[3, 0]
    with nogil:
        add_linear_forest(arrays, linear, first_tree, last_tree, &X[0, 0], n, d,
                          <int>scores.shape[1], &scores[0, 0], n_threads)


def fit_linear_tree(
    const floating[:, ::1] X,
    const double[::1] gradient,
    hessian,
    rows,
    const double[::1] scale, double l2,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const uint8_t[::1] missing_left,
    const int32_t[::1] category,
    const double[::1] value,
    const int64_t[::1] roots,
    const int32_t[::1] output,
    const uint64_t[:, ::1] categories,
    int n_threads=1,
):
    """Fit the terms of the leaves of one tree; return their starts, features and numbers.

    ``hessian`` may be None, which stands for ones, and ``rows`` for all rows. Features of
    ``scale`` 0 have no terms.
    """
    cdef:
        int64_t n = X.shape[0], d = X.shape[1], m = n, k
        const double[::1] second
        const int32_t[::1] chosen
        const double* h = NULL
        const int32_t* r = NULL
        ForestArrays arrays = arrays_of(feature, threshold, left, missing_left, category,
                                        value, roots, output, categories)
        LinearFit[floating]* fit
    check_length(roots.shape[0], 1, "roots")
    check_length(gradient.shape[0], n, "gradient")
    check_length(scale.shape[0], d, "scale")
    if n == 0 or d == 0:
        raise ValueError("there must be rows and features")
    if output[0] != 0:
        raise ValueError(f"output must be 0, got {output[0]}")
    if hessian is not None:
        second = hessian
        check_length(second.shape[0], n, "hessian")
        h = &second[0]
    if rows is not None:
        chosen = rows
        m = chosen.shape[0]
        if m == 0:
            raise ValueError("rows must not be empty")
        for k in range(m):
            if not 0 <= chosen[k] < n:
                raise ValueError(f"rows must be from 0 to {n - 1}")
        r = &chosen[0]
    fit = new LinearFit[floating](arrays, &X[0, 0], d, &gradient[0], h, &scale[0], l2)
    try:
        with nogil:
            fit.fit(r, m, n_threads)
        sizes = np.zeros(arrays.n_nodes + 1, dtype=np.int64)
        features, numbers = [np.zeros(0, dtype=np.int32)], [np.zeros((4, 0))]
        for k in range(<int64_t>fit.leaves.size()):
            found = _terms(fit.leaves[k])
            sizes[fit.leaves[k].node + 1] = len(found[0])
            features.append(found[0])
            numbers.append(found[1])
    finally:
        del fit
    return np.cumsum(sizes), np.concatenate(features), np.concatenate(numbers, axis=1)


cdef _terms(const LinearLeaf& leaf):
    cdef:
        Py_ssize_t p = leaf.feature.size(), j
        int32_t[::1] feature = np.empty(p, dtype=np.int32)
        double[:, ::1] numbers = np.empty((4, p))
    for j in range(p):
        feature[j] = leaf.feature[j]
        numbers[0, j], numbers[1, j] = leaf.coef[j], leaf.center[j]
        numbers[2, j], numbers[3, j] = leaf.low[j], leaf.high[j]
    return np.asarray(feature), np.asarray(numbers)
