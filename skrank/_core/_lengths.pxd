# cython: language_level=3
"""The check of a length at the door of a compiled function."""


cdef inline int check_length(Py_ssize_t found, Py_ssize_t expected, str name) except -1:
    if found != expected:
        raise ValueError(f"{name} must have length {expected}, got {found}")
    return 0
