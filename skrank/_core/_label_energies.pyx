# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Energies of the labels of a document: the right one and the most offending wrong one."""

import numpy as np

from libc.math cimport INFINITY

from skrank._core._lengths cimport check_length


cdef int _check_columns(const Py_ssize_t[::1] columns, Py_ssize_t n, Py_ssize_t n_labels,
                        str name) except -1:
    cdef Py_ssize_t i
    check_length(columns.shape[0], n, name)
    for i in range(n):
        if not 0 <= columns[i] < n_labels:
            raise ValueError(f"{name} must be below {n_labels}, got {columns[i]}")
    return 0


def offenders(const double[:, ::1] raw, const Py_ssize_t[::1] column):
    """Energies of the right label and of the most offending wrong one.

    Parameters
    ----------
    raw : ndarray of shape (n_documents, n_labels)
        Scores, the negative energies.
    column : ndarray of shape (n_documents,), dtype intp
        Column of the right label.

    Returns
    -------
    right : ndarray of shape (n_documents,)
        Energy of the right label.
    wrong : ndarray of shape (n_documents,)
        Lowest energy of the others; infinite if there is no other label.
    offender : ndarray of shape (n_documents,), dtype intp
        Column of that label, the first of equal ones. Complexity: O(n_documents n_labels).
    """
    cdef Py_ssize_t i, k, best, n = raw.shape[0]
    cdef double score
    _check_columns(column, n, raw.shape[1], "column")
    right_array, wrong_array = np.empty(n), np.empty(n)
    offender_array = np.empty(n, dtype=np.intp)
    cdef double[::1] right = right_array, wrong = wrong_array
    cdef Py_ssize_t[::1] offender = offender_array
    with nogil:
        for i in range(n):
            score = -INFINITY
            best = 1 if column[i] == 0 and raw.shape[1] > 1 else 0
            for k in range(raw.shape[1]):
                if k != column[i] and raw[i, k] > score:
                    score = raw[i, k]
                    best = k
            right[i] = -raw[i, column[i]]
            wrong[i] = -score
            offender[i] = best
    return right_array, wrong_array, offender_array


def scatter(const double[::1] right, const double[::1] wrong,
            const Py_ssize_t[::1] column, const Py_ssize_t[::1] offender,
            Py_ssize_t n_labels):
    """Slopes of all labels from those of the right and of the offending one.

    Parameters
    ----------
    right, wrong : ndarrays of shape (n_documents,)
        Slopes with respect to the two energies.
    column, offender : ndarrays of shape (n_documents,), dtype intp
        Columns of the two labels.
    n_labels : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_documents, n_labels)
        Slopes with respect to the energies of all labels.
    """
    cdef Py_ssize_t i, n = column.shape[0]
    _check_columns(column, n, n_labels, "column")
    _check_columns(offender, n, n_labels, "offender")
    check_length(right.shape[0], n, "right")
    check_length(wrong.shape[0], n, "wrong")
    out = np.zeros((column.shape[0], n_labels))
    cdef double[:, ::1] slopes = out
    with nogil:
        for i in range(n):
            slopes[i, column[i]] = right[i]
            slopes[i, offender[i]] += wrong[i]
    return out
