# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Arithmetic in one pass over arrays, for which NumPy takes a pass per operation.

Operations and their order are NumPy's, so that results are the same to the bit.
"""

import numpy as np

from cython cimport floating

from skrank._core._lengths cimport check_length

cdef extern from "_one_pass.hpp" namespace "skrank" nogil:
    void rectify_rows[T](T *z, const T *bias, Py_ssize_t n, Py_ssize_t d)
    void multiply_outer[T](const T *left, const T *right, const T *outputs,
                           Py_ssize_t n, Py_ssize_t d, T *out)
    void step_adam(double *params, const double *gradient, double *mean,
                   double *square, Py_ssize_t n, double beta_1, double beta_2,
                   double epsilon, double root_scale, double rate)
    void find_offenders(const double *raw, const Py_ssize_t *column, Py_ssize_t n,
                        Py_ssize_t n_labels, double *right, double *wrong,
                        Py_ssize_t *offender)
    void scatter_slopes(const double *right, const double *wrong,
                        const Py_ssize_t *column, const Py_ssize_t *offender,
                        Py_ssize_t n, Py_ssize_t n_labels, double *slopes)

cdef extern from "_glue.hpp":
    pass


def rectify(floating[:, ::1] z not None, const floating[::1] bias not None):
    """Replace z by max(z + bias, 0); NaN stays.

    Parameters
    ----------
    z : ndarray of shape (n, d), dtype float32 or float64
        Inputs of units without their biases; overwritten by the outputs.
    bias : ndarray of shape (d,)
        Biases, in the same precision.
    """
    cdef Py_ssize_t n = z.shape[0], d = z.shape[1]
    check_length(bias.shape[0], d, "bias")
    if n and d:
        with nogil:
            rectify_rows(&z[0, 0], &bias[0], n, d)


def rectified_outer(const floating[::1] left not None, const floating[::1] right not None,
                    const floating[:, ::1] outputs not None):
    """Outer product where rectified units are above 0, and 0 elsewhere.

    Parameters
    ----------
    left : ndarray of shape (n,), dtype float32 or float64
        One factor.
    right : ndarray of shape (d,)
        The other one, in the same precision.
    outputs : ndarray of shape (n, d)
        Outputs of the units, in the same precision.

    Returns
    -------
    ndarray of shape (n, d)
        The product.
    """
    cdef Py_ssize_t n = left.shape[0], d = right.shape[0]
    check_length(outputs.shape[0], n, "outputs")
    check_length(outputs.shape[1], d, "columns of outputs")
    result = np.empty((n, d), dtype=np.float32 if floating is float else np.float64)
    cdef floating[:, ::1] out = result
    if n and d:
        with nogil:
            multiply_outer(&left[0], &right[0], &outputs[0, 0], n, d, &out[0, 0])
    return result


def adam(double[::1] params not None, const double[::1] gradient not None,
         double[::1] mean not None, double[::1] square not None,
         double beta_1, double beta_2, double epsilon, double root_scale, double rate):
    """Make one step of Adam, in place.

    Parameters
    ----------
    params : ndarray of shape (n_params,)
        Parameters.
    gradient : ndarray of shape (n_params,)
        Gradient.
    mean, square : ndarrays of shape (n_params,)
        Moving averages of gradients and of their squares.
    beta_1, beta_2 : float
        Decays of the averages.
    epsilon : float
        What is added to the divisor.
    root_scale : float
        What roots of ``square`` are divided by.
    rate : float
        Step size.
    """
    cdef Py_ssize_t n = params.shape[0]
    check_length(gradient.shape[0], n, "gradient")
    check_length(mean.shape[0], n, "mean")
    check_length(square.shape[0], n, "square")
    if n:
        with nogil:
            step_adam(&params[0], &gradient[0], &mean[0], &square[0], n, beta_1, beta_2,
                      epsilon, root_scale, rate)


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
    cdef Py_ssize_t n = raw.shape[0], n_labels = raw.shape[1]
    _check_columns(column, n, n_labels, "column")
    right_array, wrong_array = np.empty(n), np.empty(n)
    offender_array = np.empty(n, dtype=np.intp)
    cdef double[::1] right = right_array, wrong = wrong_array
    cdef Py_ssize_t[::1] offender = offender_array
    if n:
        with nogil:
            find_offenders(&raw[0, 0], &column[0], n, n_labels, &right[0], &wrong[0],
                           &offender[0])
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
    cdef Py_ssize_t n = column.shape[0]
    _check_columns(column, n, n_labels, "column")
    _check_columns(offender, n, n_labels, "offender")
    check_length(right.shape[0], n, "right")
    check_length(wrong.shape[0], n, "wrong")
    out = np.zeros((n, n_labels))
    cdef double[:, ::1] slopes = out
    if n:
        with nogil:
            scatter_slopes(&right[0], &wrong[0], &column[0], &offender[0], n, n_labels,
                           &slopes[0, 0])
    return out
