# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Losses over preference pairs: value per query and gradient with respect to the scores.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. ``order`` and ``lower`` come from
`skrank._core._segments.label_order`. Every query is handled by one thread, which writes
nothing but the rows of this query, so results do not depend on the number of threads.
"""

import numpy as np

from libc.math cimport INFINITY
from libcpp cimport bool as cbool

from skrank._core._for_each_query cimport doubles, out_doubles
from skrank._core._graded_queries cimport GradedQueries, graded_queries

cdef extern from "_graded_queries.hpp" namespace "skrank" nogil:
    void c_pair_weights "skrank::pair_weights"(GradedQueries, double*, double*)

cdef extern from "_logistic_pairs.hpp" namespace "skrank" nogil:
    void logistic_losses(GradedQueries, const double *scores, double sigma,
                         double *values, double *gradient, double *hessian,
                         int n_threads) except +

cdef extern from "_gap_windows.hpp" namespace "skrank" nogil:
    cppclass Hinge:
        Hinge(double margin, cbool squared)
        Hinge(double margin, cbool squared, double cap, double width)

cdef extern from "_hinge_pairs.hpp" namespace "skrank" nogil:
    void hinge_losses(GradedQueries, const double *scores, const Hinge &,
                      double *values, double *gradient, double *hessian,
                      int n_threads) except +

cdef extern from "_sigmoid_pairs.hpp" namespace "skrank" nogil:
    void sigmoid_losses(GradedQueries, const double *scores, double beta,
                        double *values, double *gradient, int n_threads) except +

cdef extern from "_owa_pairs.hpp" namespace "skrank" nogil:
    void owa_losses(GradedQueries, const double *scores, const double *alpha,
                    const Hinge &, double *values, double *gradient,
                    int n_threads) except +

cdef extern from "_magnitude_pairs.hpp" namespace "skrank" nogil:
    void misordered_losses(GradedQueries, const double *scores, const double *residuals,
                           cbool squared, double *values, double *gradient,
                           int n_threads) except +
    void squared_difference_losses(GradedQueries, const double *residuals,
                                   double *values, double *gradient,
                                   int n_threads) except +

cdef extern from "_glue.hpp":
    pass


def logistic(const double[::1] scores, const Py_ssize_t[::1] ptr,
             const int[::1] order, const int[::1] lower, const double[::1] weight,
             double sigma, bint want_hessian, int n_threads):
    """Logistic loss over all preference pairs, log(1 + exp(-sigma (s_u - s_v))).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    sigma : float
        Steepness.
    want_hessian : bool
        Whether to compute the diagonal of the Hessian.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    hessian : ndarray of shape (n_documents,) or None
        Diagonal of the Hessian. Complexity: O(number of pairs).
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    hessian = np.empty(scores.shape[0]) if want_hessian else None
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        logistic_losses(queries, s, sigma, v, g, h, n_threads)
    return values, gradient, hessian


def hinge(const double[::1] scores, const Py_ssize_t[::1] ptr,
          const int[::1] order, const int[::1] lower, const double[::1] weight,
          double margin, bint squared, double cap, double width, int n_threads):
    """Hinge loss over all preference pairs, max(0, margin - (s_u - s_v)) or its square.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    margin : float
        Wanted difference of scores.
    squared : bool
        Whether the loss is squared.
    cap : float
        Largest loss of a pair, above 0; infinity for none. Squares have none.
    width : float
        Length of the parabola that replaces each kink, 0 or more; 0 keeps the kink.
        Squares have none.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient, or a subgradient, of the sum of all values. Complexity: O(m log m) for
        a query of m documents, whatever the number of grades; up to 512 documents, or
        768 with a cap or a width, the pairs are enumerated.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        hinge_losses(queries, s, Hinge(margin, squared, cap, width), v, g, NULL,
                     n_threads)
    return values, gradient


def squared_hinge_hessian(const double[::1] scores, const Py_ssize_t[::1] ptr,
                          const int[::1] order, const int[::1] lower,
                          const double[::1] weight, double margin, int n_threads):
    """Squared hinge loss over all preference pairs, with its second derivatives.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    margin : float
        Wanted difference of scores.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    hessian : ndarray of shape (n_documents,)
        Diagonal of the Hessian: twice the weight of the pairs of each document that
        miss the margin. Complexity: that of `hinge`.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    hessian = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(hessian)
    with nogil:
        hinge_losses(queries, s, Hinge(margin, True), v, g, h, n_threads)
    return values, gradient, hessian


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
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        sigmoid_losses(queries, s, beta, v, g, n_threads)
    return values, gradient


def owa_hinge(const double[::1] scores, const Py_ssize_t[::1] ptr,
              const int[::1] order, const int[::1] lower, const double[::1] weight,
              const double[::1] alpha, double margin, double width, bint squared,
              int n_threads):
    """Ordered weighted sums of the hinge losses of each preferred document.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        Weights of the documents as preferred ones.
    alpha : ndarray of shape (n_places,)
        Weight of the largest loss of a preferred document, the second largest and so
        on; as long as the longest query.
    margin : float
        Wanted difference of scores.
    width : float
        Length of the parabola that replaces the kink; 0 keeps it. Squares have none.
    squared : bool
        Whether the hinge is squared.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the preferred documents of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient, or a subgradient, of the sum of all values. Complexity: O(m log m +
        m k) for a query of m documents with k grades.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    if alpha.shape[0] < np.max(np.diff(ptr), initial=0):
        raise ValueError("alpha is shorter than the longest query")
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *a = doubles(alpha, alpha.shape[0], "alpha")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        owa_losses(queries, s, a, Hinge(margin, squared, INFINITY, width), v, g,
                   n_threads)
    return values, gradient


def misordered(const double[::1] scores, const double[::1] residuals,
               const Py_ssize_t[::1] ptr, const int[::1] order, const int[::1] lower,
               const double[::1] weight, bint squared, int n_threads):
    """Differences of residuals over all preference pairs that are out of order.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    residuals : ndarray of shape (n_documents,)
        Scores minus grades, d: a pair with s_u < s_v costs d_v - d_u.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    squared : bool
        Whether the differences are squared.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values where no pair changes its order. Complexity:
        O(m log m) for a query of m documents.
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                scores.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *d = doubles(residuals, scores.shape[0], "residuals")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        misordered_losses(queries, s, d, squared, v, g, n_threads)
    return values, gradient


def squared_differences(const double[::1] residuals, const Py_ssize_t[::1] ptr,
                        const int[::1] order, const int[::1] lower,
                        const double[::1] weight, int n_threads):
    """Squared differences of residuals over all preference pairs, (d_u - d_v)^2.

    Parameters
    ----------
    residuals : ndarray of shape (n_documents,)
        Scores minus grades.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    weight : ndarray of shape (n_documents,) or None
        A pair has the weight of its preferred document.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Sum over the pairs of each query.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents).
    """
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                residuals.shape[0])
    values = np.zeros(queries.queries.count)
    gradient = np.empty(residuals.shape[0])
    cdef const double *d = doubles(residuals, residuals.shape[0], "residuals")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        squared_difference_losses(queries, d, v, g, n_threads)
    return values, gradient


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
    cdef GradedQueries queries = graded_queries(ptr, order, lower, weight,
                                                order.shape[0])
    preferred = np.zeros(order.shape[0])
    other = np.zeros(order.shape[0])
    cdef double *p = out_doubles(preferred)
    cdef double *o = out_doubles(other)
    with nogil:
        c_pair_weights(queries, p, o)
    return preferred, other
