# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Right and wrong answers: preference pairs, and the labels of a document.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower`` come from
`skrank._core._segments.label_order`. Every query is handled by one thread, which writes
nothing but the rows of this query, so results do not depend on the number of threads.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY


cdef extern from "_sigmoid_pairs.hpp" namespace "skrank" nogil:
    enum: PADDING
    double sigmoid_pairs(double *x, const int *lower, const double *weight, int m,
                         double *e, double *grad)


def pair_weights(const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
                 const double[::1] weight):
    """Total weight of the preference pairs of each document, by its place in them.

    Parameters
    ----------
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.

    Returns
    -------
    preferred : ndarray of shape (n_documents,)
        Weight of the pairs in which the document is the preferred one.
    other : ndarray of shape (n_documents,)
        Weight of the pairs in which it is the other one. Complexity: O(n_documents).
    """
    cdef Py_ssize_t q, start, row
    cdef int m, r, s, end
    cdef double above, run, w
    preferred_array = np.zeros(order.shape[0])
    other_array = np.zeros(order.shape[0])
    cdef double[::1] preferred = preferred_array, other = other_array
    with nogil:
        for q in range(ptr.shape[0] - 1):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            above = 0.0
            r = 0
            while r < m:
                end = lower[start + r]
                run = 0.0
                for s in range(r, end):
                    row = start + order[start + s]
                    w = 1.0 if weight is None else weight[row]
                    preferred[row] = w * (m - end)
                    other[row] = above
                    run = run + w
                above = above + run
                r = end
    return preferred_array, other_array


def sigmoid(const double[::1] scores, const Py_ssize_t[::1] ptr,
            const int[::1] order, const int[::1] lower, const double[::1] weight,
            double beta, int n_threads):
    """Sigmoid of all preference pairs, 1 / (1 + exp(beta (s_u - s_v))).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    beta : float
        Steepness.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(number of pairs).
    """
    cdef Py_ssize_t q, start, n_queries = ptr.shape[0] - 1
    cdef int m, r
    cdef Py_ssize_t width = int(np.max(np.diff(ptr), initial=1)) + PADDING
    cdef double[:, :, ::1] work = np.empty((n_threads, 4, width))
    cdef double *x
    cdef double *e
    cdef double *g
    cdef double *w
    cdef bint weighted = weight is not None
    values_array = np.zeros(n_queries)
    gradient_array = np.empty(scores.shape[0])
    cdef double[::1] values = values_array, gradient = gradient_array
    with nogil, parallel(num_threads=n_threads):
        x = &work[threadid(), 0, 0]
        e = &work[threadid(), 1, 0]
        g = &work[threadid(), 2, 0]
        w = &work[threadid(), 3, 0]
        for q in prange(n_queries, schedule="dynamic", chunksize=16):
            start = ptr[q]
            m = <int>(ptr[q + 1] - start)
            if m == 0:
                continue
            for r in range(m):
                x[r] = beta * scores[start + order[start + r]]
                g[r] = 0.0
                if weighted:
                    w[r] = weight[start + order[start + r]]
            values[q] = sigmoid_pairs(x, &lower[start], w if weighted else NULL, m, e,
                                      g)
            for r in range(m):
                gradient[start + order[start + r]] = beta * g[r]
    return values_array, gradient_array


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
        Lowest energy of the others; infinite if there are none.
    offender : ndarray of shape (n_documents,), dtype intp
        Its column, the first of equal ones. Complexity: O(n_documents n_labels).
    """
    cdef Py_ssize_t i, k, best, n = raw.shape[0]
    cdef double score
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
        Their columns.
    n_labels : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_documents, n_labels)
        Slopes with respect to the energies of all labels.
    """
    cdef Py_ssize_t i
    out = np.zeros((column.shape[0], n_labels))
    cdef double[:, ::1] slopes = out
    with nogil:
        for i in range(column.shape[0]):
            slopes[i, column[i]] = right[i]
            slopes[i, offender[i]] += wrong[i]
    return out
