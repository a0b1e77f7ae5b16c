# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes of PRank, a perceptron with ordered thresholds, over dense and sparse rows."""

import numpy as np

from cython cimport floating
from libc.stdint cimport uint64_t

from skrank._core._for_each_query cimport doubles_or_none, out_doubles
from skrank._core._lengths cimport check_length

cdef extern from "_rank_perceptrons.hpp" namespace "skrank" nogil:
    cppclass DenseRows[T]:
        const T *X
        Py_ssize_t d
    cppclass SparseRows[T]:
        const T *data
        const int *indices
        const Py_ssize_t *indptr
    struct Lesson:
        const Py_ssize_t *order
        Py_ssize_t n_steps
        const int *place
        const double *weight
    struct Draw:
        double share
        uint64_t seed, first
    void learn_pass[R](const R &, const Lesson &, const Draw &, double *params,
                       Py_ssize_t count, Py_ssize_t d, Py_ssize_t m, double *corrected,
                       double *drawn, int n_threads) except +

cdef extern from "_glue.hpp":
    pass


cdef Lesson _lesson(const int[::1] place, const double[::1] weight,
                    const Py_ssize_t[::1] order, Py_ssize_t n,
                    Py_ssize_t m) except *:
    cdef Py_ssize_t i
    cdef Lesson lesson
    if m < 0:
        raise ValueError(f"n_thresholds must be at least 0, got {m}")
    check_length(place.shape[0], n, "place")
    for i in range(n):
        if not 0 <= place[i] <= m:
            raise ValueError(f"place must be from 0 to {m}, got {place[i]}")
    for i in range(order.shape[0]):
        if not 0 <= order[i] < n:
            raise ValueError(f"order must be below {n}, got {order[i]}")
    lesson.order = &order[0] if order.shape[0] else NULL
    lesson.n_steps = order.shape[0]
    lesson.place = &place[0] if n else NULL
    lesson.weight = doubles_or_none(weight, n, "weight")
    return lesson


def learn_dense(const floating[:, ::1] X, const int[::1] place, const double[::1] weight,
                const Py_ssize_t[::1] order, double[:, ::1] params,
                Py_ssize_t n_thresholds, double share, uint64_t seed, uint64_t first,
                int n_threads):
    """Train perceptrons on dense rows, changing their parameters in place.

    Parameters
    ----------
    X : ndarray of shape (n_documents, n_features)
        Rows.
    place : ndarray of shape (n_documents,), dtype int32
        Place of each grade among all grades, from 0.
    weight : ndarray of shape (n_documents,) or None
        Length of the step that a document causes.
    order : ndarray of shape (n_steps,), dtype intp
        Rows in the order in which they are learned from.
    params : ndarray of shape (n_perceptrons, n_features + n_thresholds)
        Direction and thresholds of each perceptron.
    n_thresholds : int
        Number of thresholds.
    share : float
        Probability that a perceptron learns from a document.
    seed : int
        Seed of the draws.
    first : int
        Number of documents before these, on which the draws depend as well.
    n_threads : int
        Number of threads, which share the perceptrons.

    Returns
    -------
    corrected : ndarray of shape (n_perceptrons,)
        Weighted number of thresholds on the wrong side of a score.
    drawn : ndarray of shape (n_perceptrons,)
        Weight of the documents that were learned from. Complexity: O(n_perceptrons
        n_steps (n_features + n_thresholds)).
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], count = params.shape[0]
    cdef Py_ssize_t m = n_thresholds
    check_length(params.shape[1], d + m, "each row of params")
    cdef Lesson lesson = _lesson(place, weight, order, n, m)
    cdef Draw draw = Draw(share, seed, first)
    cdef DenseRows[floating] rows
    rows.X = &X[0, 0] if n and d else NULL
    rows.d = d
    corrected, drawn = np.zeros(count), np.zeros(count)
    cdef double *c = out_doubles(corrected)
    cdef double *g = out_doubles(drawn)
    cdef double *p = &params[0, 0] if count and params.shape[1] else NULL
    with nogil:
        learn_pass(rows, lesson, draw, p, count, d, m, c, g, n_threads)
    return corrected, drawn


def learn_sparse(const floating[::1] data, const int[::1] indices,
                 const Py_ssize_t[::1] indptr, Py_ssize_t n_features, const int[::1] place,
                 const double[::1] weight, const Py_ssize_t[::1] order,
                 double[:, ::1] params, Py_ssize_t n_thresholds, double share,
                 uint64_t seed, uint64_t first, int n_threads):
    """Train perceptrons on CSR rows; see `learn_dense` for all but the rows.

    Parameters
    ----------
    data : ndarray of shape (n_entries,)
        Entries.
    indices : ndarray of shape (n_entries,), dtype int32
        Column of each entry.
    indptr : ndarray of shape (n_documents + 1,), dtype intp
        Where each row begins.
    n_features : int
        Number of columns.
    place, weight, order, params, n_thresholds, share, seed, first, n_threads
        As for dense rows.

    Returns
    -------
    corrected : ndarray of shape (n_perceptrons,)
        Weighted number of thresholds on the wrong side of a score.
    drawn : ndarray of shape (n_perceptrons,)
        Weight of the documents that were learned from. A document costs as much as it
        has entries and thresholds.
    """
    cdef Py_ssize_t n = indptr.shape[0] - 1, count = params.shape[0], i
    cdef Py_ssize_t n_entries = data.shape[0], d = n_features, m = n_thresholds
    check_length(params.shape[1], d + m, "each row of params")
    check_length(indices.shape[0], n_entries, "indices")
    cdef bint fits = n >= 0 and d >= 0 and indptr[0] == 0 and indptr[n] == n_entries
    if fits:
        for i in range(n):
            fits &= indptr[i] <= indptr[i + 1]
        for i in range(n_entries):
            fits &= 0 <= indices[i] < d
    if not fits:
        raise ValueError("indptr and indices must be those of a CSR matrix")
    cdef Lesson lesson = _lesson(place, weight, order, n, m)
    cdef Draw draw = Draw(share, seed, first)
    cdef SparseRows[floating] rows
    rows.data = &data[0] if n_entries else NULL
    rows.indices = &indices[0] if n_entries else NULL
    rows.indptr = &indptr[0]
    corrected, drawn = np.zeros(count), np.zeros(count)
    cdef double *c = out_doubles(corrected)
    cdef double *g = out_doubles(drawn)
    cdef double *p = &params[0, 0] if count and params.shape[1] else NULL
    with nogil:
        learn_pass(rows, lesson, draw, p, count, d, m, c, g, n_threads)
    return corrected, drawn
