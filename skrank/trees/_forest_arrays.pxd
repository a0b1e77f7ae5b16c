# cython: language_level=3
"""The arrays of trees at the doors of compiled functions."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef extern from "_forest.hpp" namespace "skrank" nogil:
    cppclass ForestArrays:
        const int32_t* feature
        const double* threshold
        const int32_t* left
        const uint8_t* missing_left
        const int32_t* category
        const double* value
        int64_t n_nodes
        const int64_t* roots
        const int32_t* output
        int64_t n_trees
        const uint64_t* categories
        int64_t n_sets


cdef inline ForestArrays arrays_of(
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const uint8_t[::1] missing_left,
    const int32_t[::1] category,
    const double[::1] value,
    const int64_t[::1] roots,
    const int32_t[::1] output,
    const uint64_t[:, ::1] categories,
) except *:
    """Arrays that are long enough; without trees, they must not be read."""
    cdef:
        int64_t size = feature.shape[0]
        ForestArrays arrays
    if not (size == threshold.shape[0] == left.shape[0] == missing_left.shape[0]
            == category.shape[0] == value.shape[0]):
        raise ValueError("the arrays of the nodes differ in length")
    if roots.shape[0] != output.shape[0] or categories.shape[1] != 4:
        raise ValueError("the arrays of the trees do not fit")
    arrays.n_nodes, arrays.n_trees = size, roots.shape[0]
    arrays.n_sets = categories.shape[0]
    if arrays.n_trees == 0:
        return arrays
    if size == 0:
        raise ValueError("the trees have no nodes")
    arrays.feature, arrays.threshold = &feature[0], &threshold[0]
    arrays.left, arrays.missing_left = &left[0], &missing_left[0]
    arrays.category, arrays.value = &category[0], &value[0]
    arrays.roots, arrays.output = &roots[0], &output[0]
    arrays.categories = &categories[0, 0] if arrays.n_sets else NULL
    return arrays
