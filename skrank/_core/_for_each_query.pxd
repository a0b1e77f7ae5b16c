# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What compiled modules hand to loops over queries: addresses of arrays, and queries.

The loops trust the lengths of arrays. So every address is taken by a function that
compares the length first: a wrong one is an error here, and never foreign memory there.
"""

from skrank._core._lengths cimport check_length

cdef extern from "_for_each_query.hpp" namespace "skrank" nogil:
    struct Queries:
        const Py_ssize_t *ptr
        Py_ssize_t count


# Sizes of queries are numbers of 32 bits in the loops.
cdef enum:
    LARGEST_QUERY = 0x7fffffff


cdef inline Queries queries_of(const Py_ssize_t[::1] ptr, Py_ssize_t n_rows) except *:
    cdef Py_ssize_t q, count = ptr.shape[0] - 1
    cdef bint fits = count >= 0 and ptr[0] == 0 and ptr[count] == n_rows
    if fits:
        for q in range(count):
            fits &= 0 <= ptr[q + 1] - ptr[q] <= LARGEST_QUERY
    if not fits:
        raise ValueError(f"ptr must ascend from 0 to the number of rows, {n_rows}")
    return Queries(&ptr[0], count)


# An empty array has no address, and None counts as empty.
cdef inline const double *doubles(
    const double[::1] x, Py_ssize_t length, str name
) except? NULL:
    check_length(x.shape[0], length, name)
    return &x[0] if length else NULL


cdef inline const int *ints(const int[::1] x, Py_ssize_t length, str name) except? NULL:
    check_length(x.shape[0], length, name)
    return &x[0] if length else NULL


# Where None means that there is no such array.
cdef inline const double *doubles_or_none(
    const double[::1] x, Py_ssize_t length, str name
) except? NULL:
    if x is None:
        return NULL
    return doubles(x, length, name)


# Arrays that are written: the caller has just made them.
cdef inline double *out_doubles(double[::1] x):
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]


cdef inline int *out_ints(int[::1] x):
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]
