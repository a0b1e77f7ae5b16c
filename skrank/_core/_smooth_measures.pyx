# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Measures made smooth: by soft ranks, or in expectation over sampled rankings.

Query ``q`` is rows ``ptr[q]:ptr[q + 1]``, m of them. Every query is handled by one
thread, which writes nothing but what belongs to it, so results do not depend on the
number of threads.

By soft ranks, a measure is ``factor[q]`` times a sum over the documents of positive gain
(``form`` 0: of gain times discount; 1: of that times one plus the gains above; 2: of that
times the product of one minus the gains above), made smooth.

Sampled rankings have a Boltzmann distribution. The ``n_samples`` rankings of a query
stand one after the other from ``places[start[q]]`` on: the 0-based place of each of its
documents. ``table[table_start[q] + r]`` is what one unit of score adds to the energy of a
ranking in place r.
"""

import numpy as np

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from skrank._core._for_each_query cimport (
    Queries, doubles, doubles_or_none, out_doubles, queries_of,
)
from skrank._core._lengths cimport check_length

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

cdef extern from "_boltzmann.hpp" namespace "skrank" nogil:
    cppclass RankSamples[Place]:
        const Py_ssize_t *start
        const Place *places
        const double *table
        const Py_ssize_t *table_start
        int n

    void draw_all_samples[Place](Queries, const double *y, const int *order,
                                 const int *lower, const Py_ssize_t *start,
                                 int n_samples, uint64_t seed, Place *places,
                                 int n_threads) except +
    void all_sample_energies[Place](Queries, const double *scores,
                                    const RankSamples[Place]&, double *energy,
                                    int n_threads) except +
    void boltzmann_losses[Place](Queries, const double *scores,
                                 const RankSamples[Place]&, const double *gain,
                                 const double *target, const double *query_weight,
                                 double mix, double *values, double *gradient,
                                 int n_threads) except +

cdef extern from "_glue.hpp":
    pass

ctypedef fused place_t:
    uint16_t
    uint32_t



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

cdef int _check_room(const Py_ssize_t[::1] ptr, const Py_ssize_t[::1] start,
                     Py_ssize_t per_document, Py_ssize_t room, str name) except -1:
    """Check that the part of every query lies within an array of length ``room``."""
    cdef Py_ssize_t q, size
    check_length(start.shape[0], ptr.shape[0] - 1, f"the starts in {name}")
    for q in range(start.shape[0]):
        size = (ptr[q + 1] - ptr[q]) * per_document
        if size and not 0 <= start[q] <= room - size:
            raise ValueError(f"{name} has no room for query {q}")
    return 0


cdef RankSamples[place_t] _samples(
    const Py_ssize_t[::1] ptr, const Py_ssize_t[::1] start, const place_t[::1] places,
    const double[::1] table, const Py_ssize_t[::1] table_start, int n_samples,
) except *:
    cdef RankSamples[place_t] samples
    _check_room(ptr, start, n_samples, places.shape[0], "places")
    _check_room(ptr, table_start, 1, table.shape[0], "table")
    samples.start, samples.table_start = &start[0], &table_start[0]
    samples.places, samples.table = &places[0], &table[0]
    samples.n = n_samples
    return samples


def draw_rankings(const double[::1] y, const Py_ssize_t[::1] ptr,
                  const int[::1] order, const int[::1] lower,
                  const Py_ssize_t[::1] start, place_t[::1] places, int n_samples,
                  uint64_t seed, int n_threads):
    """Fill in the sampled rankings of every query.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades.
    ptr, order, lower : ndarrays
        The queries and their documents by grade.
    start : ndarray of shape (n_queries,), dtype intp
        Where the samples of each query begin.
    places : ndarray of shape (n_documents * n_samples,), dtype uint16 or uint32
        Receives the 0-based places. Complexity: O(m) per sample.
    n_samples : int
        Number of rankings per query.
    seed : int
        Seed; the samples of a query depend on it, on the grades of the query and on the
        order of its rows, and not on other queries.
    n_threads : int
        Number of threads.
    """
    cdef Queries queries = queries_of(ptr, y.shape[0])
    check_length(order.shape[0], y.shape[0], "order")
    check_length(lower.shape[0], y.shape[0], "lower")
    if y.shape[0] == 0 or n_samples < 1:
        return
    _check_room(ptr, start, n_samples, places.shape[0], "places")
    with nogil:
        draw_all_samples(queries, &y[0], &order[0], &lower[0], &start[0], n_samples, seed,
                         &places[0], n_threads)


def ranking_energies(const double[::1] scores, const Py_ssize_t[::1] ptr,
                     const Py_ssize_t[::1] start, const place_t[::1] places,
                     const double[::1] table, const Py_ssize_t[::1] table_start,
                     int n_samples, int n_threads):
    """Energies of all sampled rankings.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores.
    ptr, start, places, table, table_start : ndarrays
        Queries, samples and coefficients.
    n_samples : int
        Number of rankings per query.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_queries, n_samples)
        Complexity: O(n_documents * n_samples).
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    energy = np.zeros((queries.count, n_samples))
    if scores.shape[0] == 0 or n_samples < 1:
        return energy
    cdef double[:, ::1] out = energy
    cdef RankSamples[place_t] samples = _samples[place_t](
        ptr, start, places, table, table_start, n_samples
    )
    with nogil:
        all_sample_energies(queries, &scores[0], samples, &out[0, 0], n_threads)
    return energy


def boltzmann_loss(const double[::1] scores, const Py_ssize_t[::1] ptr,
                   const Py_ssize_t[::1] start, const place_t[::1] places,
                   const double[::1] table, const Py_ssize_t[::1] table_start,
                   const double[:, ::1] gain, const double[:, ::1] target,
                   const double[::1] query_weight, double mix, int n_threads):
    """Mix of expected gain and cross entropy over the sampled rankings.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores.
    ptr, start, places, table, table_start : ndarrays
        Queries, samples and coefficients.
    gain : ndarray of shape (n_queries, n_samples)
        Gain of each sample.
    target : ndarray of shape (n_queries, n_samples)
        Target probability of each sample.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query; queries of weight 0 are skipped.
    mix : float
        Weight of the expected gain; the rest goes to the cross entropy.
    n_threads : int
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Weighted cross entropies less expected gains.
    gradient : ndarray of shape (n_documents,)
        Gradient of the sum of all values. Complexity: O(n_documents * n_samples).
    """
    cdef Queries queries = queries_of(ptr, scores.shape[0])
    values = np.zeros(queries.count)
    gradient = np.zeros(scores.shape[0])
    check_length(gain.shape[0], queries.count, "gain")
    check_length(target.shape[0], queries.count, "target")
    check_length(target.shape[1], gain.shape[1], "a row of target")
    check_length(query_weight.shape[0], queries.count, "query_weight")
    if scores.shape[0] == 0 or gain.shape[1] == 0:
        return values, gradient
    cdef RankSamples[place_t] samples = _samples[place_t](
        ptr, start, places, table, table_start, <int>gain.shape[1]
    )
    cdef double *v = out_doubles(values)
    cdef double *g = out_doubles(gradient)
    with nogil:
        boltzmann_losses(queries, &scores[0], samples, &gain[0, 0], &target[0, 0],
                         &query_weight[0], mix, v, g, n_threads)
    return values, gradient
