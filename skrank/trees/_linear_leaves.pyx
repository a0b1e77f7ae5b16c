# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Trees whose leaves hold linear functions: fitting them, and scores of rows."""

import numpy as np

from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from skrank._core._lengths cimport check_length
from skrank.trees._forest_arrays cimport ForestArrays, arrays_of

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
    const int64_t[::1] term_start,
    const int32_t[::1] term_feature,
    const double[:, ::1] terms,
    int64_t first_tree,
    int64_t last_tree,
    int n_threads=1,
):
    """Add trees ``[first_tree, last_tree)`` to scores of shape (n, n_outputs), in place.

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


def fit_tree(
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
