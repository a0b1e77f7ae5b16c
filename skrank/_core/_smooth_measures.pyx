# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ranking measures smoothed by soft ranks: value per query and gradient by the scores.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``. A measure is ``factor[q]`` times a sum over the
documents of positive gain (``form`` 0: of gain times discount; 1: of that times one plus
the gains above; 2: of that times the product of one minus the gains above), made smooth.
Every query is handled by one thread, which writes nothing but the rows of this query, so
results do not depend on the number of threads.
"""

import numpy as np

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, out_doubles, queries_of,
)

cdef extern from "_smooth_measure.hpp" namespace "skrank" nogil:
    struct SmoothMeasure:
        Queries queries
        int form
        const double *gain
        const double *factor
        const double *discount
        int n_ranks

cdef extern from "_sigmoid_ranks.hpp" namespace "skrank" nogil:
    cppclass RealDiscount:
        int rule
        const double *table
        const double *slope
        int n_table
        double cut_off
        double steepness

    void sigmoid_measures(const SmoothMeasure&, const double *scores,
                          double inverse_width, const RealDiscount&, double *values,
                          double *gradient, int n_threads) except +

cdef extern from "_soft_positions.hpp" namespace "skrank" nogil:
    void position_measures(const SmoothMeasure&, const double *scores, int kind,
                           double inverse_width, double *values, double *gradient,
                           int n_threads) except +

cdef extern from "_rank_distributions.hpp" namespace "skrank" nogil:
    void noisy_measures(const SmoothMeasure&, const double *scores,
                        const double *variance, double inverse_width, bint normal,
                        double *values, double *gradient, double *variance_gradient,
                        int n_threads) except +

cdef extern from "_glue.hpp":
    pass


cdef SmoothMeasure _measure(
    const Py_ssize_t[::1] ptr, int form, const double[::1] gain, const double[::1] factor,
    const double[::1] discount, Py_ssize_t n_rows,
) except *:
    cdef SmoothMeasure measure
    cdef Py_ssize_t n_ranks = 0 if discount is None else discount.shape[0]
    measure.queries = queries_of(ptr, n_rows)
    measure.form = form
    measure.gain = doubles(gain, n_rows, "gain")
    measure.factor = doubles(factor, measure.queries.count, "factor")
    # No list is longer than a number of 32 bits can say.
    n_ranks = min(n_ranks, <Py_ssize_t>0x7fffffff)
    measure.discount = &discount[0] if n_ranks else NULL
    measure.n_ranks = <int>n_ranks
    return measure


def sigmoid_ranks(const double[::1] scores, const Py_ssize_t[::1] ptr, int form,
                  const double[::1] gain, const double[::1] factor,
                  const double[::1] discount, const double[::1] slope, int rule,
                  double cut_off, double steepness, double width, int n_threads):
    """A measure of ranks that are one plus a sum of sigmoids.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    form : int
        Form of the measure.
    gain : ndarray of shape (n_documents,)
        Gains.
    factor : ndarray of shape (n_queries,)
        Factor of each query; queries of factor 0 are skipped.
    discount, slope : ndarray of shape (n_ranks,)
        Discount of each rank, as if there were no cut-off, and its slope there; read only
        where ``rule`` is 2.
    rule : int
        Discount of a real rank: 0 for the inverse of ``log2(1 + rank)``, 1 for that of
        the rank, 2 for a cubic between the ranks of the table.
    cut_off : float
        Rank after which the discount fades; 0 for none.
    steepness : float
        Steepness of the cut-off and of comparisons of ranks, per rank.
    width : float
        Difference of scores that is one unit of the sigmoid.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Measures times factors.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(m r) for a query of m documents,
        of which r have a gain.
    """
    cdef RealDiscount real
    cdef SmoothMeasure measure = _measure(ptr, form, gain, factor, discount,
                                          scores.shape[0])
    real.rule, real.cut_off, real.steepness = rule, cut_off, steepness
    real.table, real.n_table = measure.discount, measure.n_ranks
    real.slope = doubles(slope, measure.n_ranks, "slope")
    if rule == 2 and measure.n_ranks == 0:
        raise ValueError("discount must hold the discount of one rank at least")
    values = np.zeros(measure.queries.count)
    gradient = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        sigmoid_measures(measure, s, 1.0 / width, real, v, g, n_threads)
    return values, gradient


def soft_positions(const double[::1] scores, const Py_ssize_t[::1] ptr, int form,
                   const double[::1] gain, const double[::1] factor,
                   const double[::1] discount, int kind, double width, int n_threads):
    """A measure of positions that are distributions over the documents.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    form : int
        Form of the measure.
    gain : ndarray of shape (n_documents,)
        Gains.
    factor : ndarray of shape (n_queries,)
        Factor of each query; queries of factor 0 are skipped.
    discount : ndarray of shape (n_ranks,)
        Discounts of the ranks that count.
    kind : int
        0: probabilities fall with the squared distance to the score at the rank; 1: with
        the distance; 2: those of NeuralSort.
    width : float
        Difference of scores that counts as one.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Measures times factors.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(m log m + m k) for a query of m
        documents and k ranks that count.
    """
    cdef SmoothMeasure measure = _measure(ptr, form, gain, factor, discount,
                                          scores.shape[0])
    values = np.zeros(measure.queries.count)
    gradient = np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        position_measures(measure, s, kind, 1.0 / width, v, g, n_threads)
    return values, gradient


def noisy_scores(const double[::1] scores, const double[::1] variance,
                 const Py_ssize_t[::1] ptr, int form, const double[::1] gain,
                 const double[::1] factor, const double[::1] discount, bint normal,
                 double width, int n_threads):
    """An expected measure of scores with normal noise.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Means of the scores.
    variance : ndarray of shape (n_documents,) or None
        Variance of each score divided by the squared width; None for 1.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    form : int
        Form of the measure.
    gain : ndarray of shape (n_documents,)
        Gains.
    factor : ndarray of shape (n_queries,)
        Factor of each query; queries of factor 0 are skipped.
    discount : ndarray of shape (n_ranks,)
        Discounts of the ranks that count.
    normal : bool
        Whether a normal distribution takes the place of that of a rank.
    width : float
        Standard deviation of the noise.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Expected measures times factors.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values.
    variance_gradient : ndarray of shape (n_documents,) or None
        The same with respect to the variances, where there are any. Complexity: O(m r k)
        for a query of m documents, of which r have a gain, and k ranks that count; O((m
        + k) r) if ``normal``.
    """
    cdef SmoothMeasure measure = _measure(ptr, form, gain, factor, discount,
                                          scores.shape[0])
    values = np.zeros(measure.queries.count)
    gradient = np.zeros(scores.shape[0])
    variance_gradient = None if variance is None else np.zeros(scores.shape[0])
    cdef const double *s = doubles(scores, scores.shape[0], "scores")
    cdef const double *noise = doubles_or_none(variance, scores.shape[0], "variance")
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    cdef double *h = out_doubles(variance_gradient)
    with nogil:
        noisy_measures(measure, s, noise, 1.0 / width, normal, v, g, h, n_threads)
    return values, gradient, variance_gradient
