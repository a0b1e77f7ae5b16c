# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What compiled modules hand to loops over queries: addresses of arrays, and queries."""

cdef extern from "_for_each_query.hpp" namespace "skrank" nogil:
    struct Queries:
        const Py_ssize_t *ptr
        Py_ssize_t count


cdef inline Queries queries_of(const Py_ssize_t[::1] ptr):
    return Queries(&ptr[0], ptr.shape[0] - 1)


# Arrays may be None or empty, and then have no address.
cdef inline const double *doubles(const double[::1] x):
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]


cdef inline const int *ints(const int[::1] x):
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]


# Arrays that are written.
cdef inline double *out_doubles(double[::1] x):
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]


cdef inline int *out_ints(int[::1] x):
    if x is None or x.shape[0] == 0:
        return NULL
    return &x[0]
