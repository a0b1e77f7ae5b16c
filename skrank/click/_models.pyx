# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Loops over sessions, and over what was counted in them, of the models of clicks.

Sessions, or pairs of query and document, are handled by one thread each, and sums over
them are taken in an order that depends on the data alone, or as whole numbers. So results
do not depend on the number of threads.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from skrank._core._lengths cimport check_length

cdef extern from "_click_cells.hpp" namespace "skrank" nogil:
    struct CellCounts:
        Py_ssize_t *pair
        Py_ssize_t *slot
        int64_t *clicks
        int64_t *skips
    struct Cells:
        const Py_ssize_t *ptr
        const Py_ssize_t *slot
        const double *clicks
        const double *skips
        Py_ssize_t n_pairs, n_slots
    struct Browsing:
        const double *attraction
        const double *examination
    struct PseudoCounts:
        double clicks, skips, behaviour
    struct SlotCounts:
        const double *clicks
        const double *shown
    struct Examination:
        const double *table
        Py_ssize_t n_ranks, n_distances
    void c_click_context "skrank::click_context"(
        const Py_ssize_t *ptr, Py_ssize_t n_sessions, const uint8_t *click,
        int32_t *before, int32_t *last, int n_threads) except +
    Py_ssize_t c_number_pairs "skrank::number_pairs"(
        const Py_ssize_t *query, const Py_ssize_t *document, Py_ssize_t n,
        Py_ssize_t n_queries, Py_ssize_t n_documents, Py_ssize_t *pair,
        Py_ssize_t *pair_query, Py_ssize_t *pair_document) except +
    Py_ssize_t c_count_cells "skrank::count_cells"(
        const Py_ssize_t *pair, const Py_ssize_t *slot, const uint8_t *click,
        Py_ssize_t n, Py_ssize_t n_pairs, Py_ssize_t n_slots, CellCounts) except +
    double c_browsing_step "skrank::browsing_step"(
        Cells, Browsing, PseudoCounts, SlotCounts, double *attraction,
        double *examination, int n_threads) except +
    void c_browsing_examination "skrank::browsing_examination"(
        const Py_ssize_t *ptr, Py_ssize_t n_sessions, const double *a, Examination,
        double *probability, int n_threads) except +
    void c_draw_browsing "skrank::draw_browsing"(
        const Py_ssize_t *ptr, Py_ssize_t n_sessions, const double *a, Examination,
        const double *uniform, uint8_t *click, int n_threads) except +

cdef extern from "_click_chains.hpp" namespace "skrank" nogil:
    struct Chains:
        const Py_ssize_t *ptr
        Py_ssize_t n_sessions
        const double *attraction
        const double *after_skip
        const double *after_click
    void c_chain_examination "skrank::chain_examination"(
        Chains, double *probability, int n_threads) except +
    void c_chain_conditionals "skrank::chain_conditionals"(
        Chains, const uint8_t *click, double *probability, int n_threads) except +
    void c_draw_chains "skrank::draw_chains"(
        Chains, const double *uniform, uint8_t *click, int n_threads) except +
    void c_chain_posteriors "skrank::chain_posteriors"(
        Chains, const uint8_t *click, const int32_t *last, double *examined,
        double *log_likelihood, int n_threads) except +
    void c_sums_by_code "skrank::sums_by_code"(
        const double *values, const Py_ssize_t *code, Py_ssize_t n,
        Py_ssize_t n_codes, double *sums) except +

cdef extern from "_click_posteriors.hpp" namespace "skrank" nogil:
    struct Posteriors:
        const Py_ssize_t *ptr
        Py_ssize_t n_pairs
        const double *clicks
        const double *factor
        const double *count
    struct Rules:
        const double *nodes
        const double *weights
        Py_ssize_t n_nodes
        double left, right
    void c_posterior_moments "skrank::posterior_moments"(
        Posteriors, Rules, double *mean, double *variance, int n_threads) except +
    void c_posterior_grids "skrank::posterior_grids"(
        Posteriors, Rules, Py_ssize_t n_points, bint flat, double *low, double *high,
        double *density, int n_threads) except +

cdef extern from "../_core/_glue.hpp":
    pass

ctypedef fused Value:
    double
    uint8_t
    int32_t
    int64_t
    Py_ssize_t


# An empty array has no address.
cdef inline const Value *_at(const Value[::1] x, Py_ssize_t length, str name) except? NULL:
    if x is None:
        raise ValueError(f"{name} must be an array")
    check_length(x.shape[0], length, name)
    return &x[0] if length else NULL


# Arrays that are written: the caller has just made them.
cdef inline Value *_out(Value[::1] x):
    return &x[0] if x.shape[0] else NULL


cdef const Py_ssize_t *_bounds(const Py_ssize_t[::1] ptr, Py_ssize_t n) except NULL:
    """Return the address of bounds that ascend from 0 to n, each step below 2^31."""
    cdef Py_ssize_t s
    cdef bint fits = ptr is not None and ptr.shape[0] > 0
    fits = fits and ptr[0] == 0 and ptr[ptr.shape[0] - 1] == n
    if fits:
        for s in range(ptr.shape[0] - 1):
            fits &= 0 <= ptr[s + 1] - ptr[s] <= 0x7fffffff
    if not fits:
        raise ValueError(f"ptr must ascend from 0 to the number of rows, {n}")
    return &ptr[0]


cdef int _check_codes(const Py_ssize_t[::1] code, Py_ssize_t low, Py_ssize_t stop,
                      str name) except -1:
    cdef Py_ssize_t i
    for i in range(code.shape[0]):
        if not low <= code[i] < stop:
            raise ValueError(f"{name} must be from {low} to {stop - 1}, got {code[i]}")
    return 0


def click_context(const uint8_t[::1] click not None, const Py_ssize_t[::1] ptr,
                  int n_threads=1):
    """Ranks of the last clicks before each impression, and in each session.

    Parameters
    ----------
    click : ndarray of shape (n_impressions,), dtype uint8
        1 for documents that were clicked.
    ptr : ndarray of shape (n_sessions + 1,), dtype intp
        Bounds of the sessions.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    before : ndarray of shape (n_impressions,), dtype int32
        Rank of the last click above each impression, from 1; 0 if there is none.
    last : ndarray of shape (n_sessions,), dtype int32
        Rank of the last click of each session; 0 if there is none.
    """
    cdef Py_ssize_t n = click.shape[0]
    cdef const Py_ssize_t *bounds = _bounds(ptr, n)
    cdef Py_ssize_t n_sessions = ptr.shape[0] - 1
    before_array = np.empty(n, dtype=np.int32)
    last_array = np.empty(n_sessions, dtype=np.int32)
    cdef int32_t[::1] before = before_array, last = last_array
    cdef const uint8_t *c = _at(click, n, "click")
    cdef int32_t *b = _out(before)
    cdef int32_t *final = _out(last)
    with nogil:
        c_click_context(bounds, n_sessions, c, b, final, n_threads)
    return before_array, last_array


def number_pairs(const Py_ssize_t[::1] query not None,
                 const Py_ssize_t[::1] document not None, Py_ssize_t n_queries,
                 Py_ssize_t n_documents):
    """Number the distinct pairs of a query and a document, in their order.

    Parameters
    ----------
    query : ndarray of shape (n_impressions,), dtype intp
        Number of the query of each impression.
    document : ndarray of shape (n_impressions,), dtype intp
        Number of its document.
    n_queries, n_documents : int
        How many there are.

    Returns
    -------
    pair : ndarray of shape (n_impressions,), dtype intp
        Number of the pair of each impression.
    pair_query, pair_document : ndarrays of shape (n_pairs,), dtype intp
        Query and document of each pair, ascending. Complexity: O(n_impressions +
        n_queries + n_documents).
    """
    cdef Py_ssize_t n = query.shape[0], n_pairs
    check_length(document.shape[0], n, "document")
    _check_codes(query, 0, n_queries, "query")
    _check_codes(document, 0, n_documents, "document")
    pairs = np.empty(n, dtype=np.intp)
    queries, documents = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] pair = pairs, of_query = queries, of_document = documents
    cdef const Py_ssize_t *q = _at(query, n, "query")
    cdef const Py_ssize_t *d = _at(document, n, "document")
    cdef Py_ssize_t *p = _out(pair)
    cdef Py_ssize_t *pq = _out(of_query)
    cdef Py_ssize_t *pd = _out(of_document)
    with nogil:
        n_pairs = c_number_pairs(q, d, n, n_queries, n_documents, p, pq, pd)
    return pairs, queries[:n_pairs].copy(), documents[:n_pairs].copy()


def count_cells(const Py_ssize_t[::1] pair not None, const Py_ssize_t[::1] slot not None,
                const uint8_t[::1] click not None, Py_ssize_t n_pairs,
                Py_ssize_t n_slots):
    """Count clicks and skips by pair and slot.

    Parameters
    ----------
    pair : ndarray of shape (n_impressions,), dtype intp
        Pair of each impression.
    slot : ndarray of shape (n_impressions,), dtype intp
        Slot of each impression, such as its rank; −1 leaves it out.
    click : ndarray of shape (n_impressions,), dtype uint8
        1 for documents that were clicked.
    n_pairs, n_slots : int
        How many there are.

    Returns
    -------
    pair, slot : ndarrays of shape (n_cells,), dtype intp
        Pairs and slots that occur, in ascending order.
    clicks, skips : ndarrays of shape (n_cells,), dtype int64
        Their impressions. Complexity: O(n_impressions + n_pairs + n_slots), and the
        time to sort the slots of each pair.
    """
    cdef Py_ssize_t n = pair.shape[0], n_cells
    _check_codes(pair, 0, n_pairs, "pair")
    check_length(slot.shape[0], n, "slot")
    _check_codes(slot, -1, n_slots, "slot")
    found = np.empty((2, n), dtype=np.intp)
    counts = np.empty((2, n), dtype=np.int64)
    cdef Py_ssize_t[::1] of_pair = found[0], of_slot = found[1]
    cdef int64_t[::1] clicks = counts[0], skips = counts[1]
    cdef CellCounts cells = CellCounts(
        _out(of_pair), _out(of_slot), _out(clicks), _out(skips),
    )
    cdef const Py_ssize_t *p = _at(pair, n, "pair")
    cdef const Py_ssize_t *s = _at(slot, n, "slot")
    cdef const uint8_t *c = _at(click, n, "click")
    with nogil:
        n_cells = c_count_cells(p, s, c, n, n_pairs, n_slots, cells)
    return (found[0, :n_cells].copy(), found[1, :n_cells].copy(),
            counts[0, :n_cells].copy(), counts[1, :n_cells].copy())


def browsing_step(const Py_ssize_t[::1] ptr, const Py_ssize_t[::1] slot not None,
                  const double[::1] clicks, const double[::1] skips,
                  const double[::1] clicked, const double[::1] shown not None,
                  const double[::1] attraction not None,
                  const double[::1] examination, tuple prior, int n_threads=1):
    """Make one step of EM, in which a click takes attraction and examination.

    Parameters
    ----------
    ptr : ndarray of shape (n_pairs + 1,), dtype intp
        Bounds of the cells of each pair.
    slot : ndarray of shape (n_cells,), dtype intp
        Slot of each cell.
    clicks, skips : ndarrays of shape (n_cells,)
        Impressions of each cell.
    clicked, shown : ndarrays of shape (n_slots,)
        Clicks and impressions of each slot.
    attraction : ndarray of shape (n_pairs,)
        Probabilities that documents attract users.
    examination : ndarray of shape (n_slots,)
        Probabilities that they are examined.
    prior : tuple of float
        Pseudo-counts of clicks and skips of each pair, and of both outcomes of each
        slot.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    attraction : ndarray of shape (n_pairs,)
        Probabilities after the step.
    examination : ndarray of shape (n_slots,)
        Probabilities after the step.
    log_likelihood : float
        That of the probabilities before the step, without the prior. Complexity:
        O(n_cells + n_slots).
    """
    cdef Py_ssize_t n = slot.shape[0], n_pairs = attraction.shape[0]
    cdef Py_ssize_t n_slots = shown.shape[0]
    cdef const Py_ssize_t *bounds = _bounds(ptr, n)
    check_length(ptr.shape[0], n_pairs + 1, "ptr")
    _check_codes(slot, 0, n_slots, "slot")
    cdef Cells cells = Cells(
        bounds, _at(slot, n, "slot"), _at(clicks, n, "clicks"), _at(skips, n, "skips"),
        n_pairs, n_slots,
    )
    cdef Browsing now = Browsing(
        _at(attraction, n_pairs, "attraction"), _at(examination, n_slots, "examination")
    )
    cdef PseudoCounts counts = PseudoCounts(prior[0], prior[1], prior[2])
    cdef SlotCounts slots = SlotCounts(
        _at(clicked, n_slots, "clicked"), _at(shown, n_slots, "shown")
    )
    attractions, examinations = np.empty(n_pairs), np.empty(n_slots)
    cdef double[::1] new_attraction = attractions, new_examination = examinations
    cdef double *a = _out(new_attraction)
    cdef double *g = _out(new_examination)
    cdef double value
    with nogil:
        value = c_browsing_step(cells, now, counts, slots, a, g, n_threads)
    return attractions, examinations, value


cdef Examination _examination(const double[:, ::1] table) except *:
    if table is None or not (table.shape[0] and table.shape[1]):
        raise ValueError("examination must have a row for each rank")
    return Examination(&table[0, 0], table.shape[0], table.shape[1])


def browsing_examination(const double[::1] attraction not None,
                         const double[:, ::1] examination, const Py_ssize_t[::1] ptr,
                         int n_threads=1):
    """Probabilities of examination that depends on the last click before.

    Parameters
    ----------
    attraction : ndarray of shape (n_impressions,)
        Probability that each document attracts the user.
    examination : ndarray of shape (n_ranks, n_distances)
        Probability that a document is examined, by its rank and the distance to the
        last click before it, both from 1.
    ptr : ndarray of shape (n_sessions + 1,), dtype intp
        Bounds of the sessions.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_impressions,)
        Complexity: O(m²) for a session of m documents, and O(m) for one distance.
    """
    cdef Py_ssize_t n = attraction.shape[0]
    cdef const Py_ssize_t *bounds = _bounds(ptr, n)
    cdef Py_ssize_t n_sessions = ptr.shape[0] - 1
    cdef Examination table = _examination(examination)
    result = np.empty(n)
    cdef double[::1] probability = result
    cdef const double *a = _at(attraction, n, "attraction")
    cdef double *out = _out(probability)
    with nogil:
        c_browsing_examination(bounds, n_sessions, a, table, out, n_threads)
    return result


def draw_browsing(const double[::1] attraction not None,
                  const double[:, ::1] examination, const Py_ssize_t[::1] ptr,
                  const double[::1] uniform, int n_threads=1):
    """Draw clicks where examination depends on the last click before.

    Parameters
    ----------
    attraction, examination, ptr, n_threads
        As in `browsing_examination`.
    uniform : ndarray of shape (n_impressions,)
        Random numbers from 0 to 1.

    Returns
    -------
    ndarray of shape (n_impressions,), dtype uint8
    """
    cdef Py_ssize_t n = attraction.shape[0]
    cdef const Py_ssize_t *bounds = _bounds(ptr, n)
    cdef Py_ssize_t n_sessions = ptr.shape[0] - 1
    cdef Examination table = _examination(examination)
    result = np.empty(n, dtype=np.uint8)
    cdef uint8_t[::1] click = result
    cdef const double *a = _at(attraction, n, "attraction")
    cdef const double *u = _at(uniform, n, "uniform")
    cdef uint8_t *out = _out(click)
    with nogil:
        c_draw_browsing(bounds, n_sessions, a, table, u, out, n_threads)
    return result


cdef Chains _chains(const double[::1] attraction, const double[::1] after_skip,
                    const double[::1] after_click, const Py_ssize_t[::1] ptr) except *:
    if attraction is None:
        raise ValueError("attraction must be an array")
    cdef Py_ssize_t n = attraction.shape[0]
    cdef const Py_ssize_t *bounds = _bounds(ptr, n)
    return Chains(
        bounds, ptr.shape[0] - 1, _at(attraction, n, "attraction"),
        _at(after_skip, n, "after_skip"), _at(after_click, n, "after_click"),
    )


def chain_examination(const double[::1] attraction, const double[::1] after_skip,
                      const double[::1] after_click, const Py_ssize_t[::1] ptr,
                      int n_threads=1):
    """Probabilities of examination by users who go on from document to document.

    Parameters
    ----------
    attraction : ndarray of shape (n_impressions,)
        Probability that each document is clicked if it is examined.
    after_skip, after_click : ndarrays of shape (n_impressions,)
        Probability that the next one is examined if this one was, and was not clicked
        or was clicked.
    ptr : ndarray of shape (n_sessions + 1,), dtype intp
        Bounds of the sessions.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_impressions,)
    """
    cdef Chains chains = _chains(attraction, after_skip, after_click, ptr)
    cdef Py_ssize_t n = attraction.shape[0]
    result = np.empty(n)
    cdef double[::1] probability = result
    cdef double *out = _out(probability)
    with nogil:
        c_chain_examination(chains, out, n_threads)
    return result


def chain_conditionals(const double[::1] attraction, const double[::1] after_skip,
                       const double[::1] after_click, const uint8_t[::1] click,
                       const Py_ssize_t[::1] ptr, int n_threads=1):
    """Probabilities of clicks, given the clicks and skips before them.

    Parameters
    ----------
    attraction, after_skip, after_click, ptr, n_threads
        As in `chain_examination`.
    click : ndarray of shape (n_impressions,), dtype uint8
        1 for documents that were clicked.

    Returns
    -------
    ndarray of shape (n_impressions,)
    """
    cdef Chains chains = _chains(attraction, after_skip, after_click, ptr)
    cdef Py_ssize_t n = attraction.shape[0]
    result = np.empty(n)
    cdef double[::1] probability = result
    cdef const uint8_t *c = _at(click, n, "click")
    cdef double *out = _out(probability)
    with nogil:
        c_chain_conditionals(chains, c, out, n_threads)
    return result


def draw_chains(const double[::1] attraction, const double[::1] after_skip,
                const double[::1] after_click, const Py_ssize_t[::1] ptr,
                const double[::1] uniform, int n_threads=1):
    """Draw clicks of users who go on from document to document.

    Parameters
    ----------
    attraction, after_skip, after_click, ptr, n_threads
        As in `chain_examination`.
    uniform : ndarray of shape (n_impressions,)
        Random numbers from 0 to 1.

    Returns
    -------
    ndarray of shape (n_impressions,), dtype uint8
    """
    cdef Chains chains = _chains(attraction, after_skip, after_click, ptr)
    cdef Py_ssize_t n = attraction.shape[0]
    result = np.empty(n, dtype=np.uint8)
    cdef uint8_t[::1] click = result
    cdef const double *u = _at(uniform, n, "uniform")
    cdef uint8_t *out = _out(click)
    with nogil:
        c_draw_chains(chains, u, out, n_threads)
    return result


def chain_posteriors(const double[::1] attraction, const double[::1] after_skip,
                     const double[::1] after_click, const uint8_t[::1] click,
                     const int32_t[::1] last, const Py_ssize_t[::1] ptr,
                     int n_threads=1):
    """Probabilities that documents were examined, given all clicks of the session.

    Parameters
    ----------
    attraction, after_skip, after_click, click, ptr, n_threads
        As in `chain_conditionals`.
    last : ndarray of shape (n_sessions,), dtype int32
        Rank of the last click of each session, as `click_context` returns it.

    Returns
    -------
    examined : ndarray of shape (n_impressions,)
        Probabilities; 1 up to the last click.
    log_likelihood : ndarray of shape (n_sessions,)
        Log-likelihood of each session; −inf if it is impossible.
    """
    cdef Chains chains = _chains(attraction, after_skip, after_click, ptr)
    cdef Py_ssize_t s, n = attraction.shape[0], n_sessions = chains.n_sessions
    cdef const int32_t *final = _at(last, n_sessions, "last")
    for s in range(n_sessions):
        if not 0 <= final[s] <= ptr[s + 1] - ptr[s]:
            raise ValueError("last must hold ranks within the session, or 0")
    examined_array, values_array = np.empty(n), np.empty(n_sessions)
    cdef double[::1] examined = examined_array, values = values_array
    cdef const uint8_t *c = _at(click, n, "click")
    cdef double *e = _out(examined)
    cdef double *v = _out(values)
    with nogil:
        c_chain_posteriors(chains, c, final, e, v, n_threads)
    return examined_array, values_array


def sums_by_code(const double[::1] values, const Py_ssize_t[::1] code not None,
                 Py_ssize_t n_codes):
    """Sums of numbers from 0 to 1 by code, the same to the bit in any order.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers from 0 to 1.
    code : ndarray of shape (n,), dtype intp
        Code of each number; −1 leaves it out.
    n_codes : int
        How many codes there are.

    Returns
    -------
    ndarray of shape (n_codes,)
        Sums of what is left of the numbers when they are cut off behind 62 binary
        places.
    """
    cdef Py_ssize_t n = code.shape[0]
    _check_codes(code, -1, n_codes, "code")
    result = np.empty(n_codes)
    cdef double[::1] sums = result
    cdef const double *x = _at(values, n, "values")
    cdef const Py_ssize_t *c = _at(code, n, "code")
    cdef double *out = _out(sums)
    with nogil:
        c_sums_by_code(x, c, n, n_codes, out)
    return result


cdef Posteriors _posteriors(const double[::1] clicks, const Py_ssize_t[::1] ptr,
                            const double[::1] factor, const double[::1] count) except *:
    if clicks is None or factor is None:
        raise ValueError("clicks and factor must be arrays")
    cdef Py_ssize_t n_pairs = clicks.shape[0], n = factor.shape[0]
    cdef const Py_ssize_t *bounds = _bounds(ptr, n)
    check_length(ptr.shape[0], n_pairs + 1, "ptr")
    return Posteriors(
        bounds, n_pairs, _at(clicks, n_pairs, "clicks"), _at(factor, n, "factor"),
        _at(count, n, "count"),
    )


cdef Rules _rules(const double[::1] nodes, const double[::1] weights, double left,
                  double right) except *:
    if nodes is None or nodes.shape[0] % 4:
        raise ValueError("nodes must hold four rules")
    cdef Py_ssize_t n = nodes.shape[0]
    return Rules(
        _at(nodes, n, "nodes"), _at(weights, n, "weights"), n // 4, left, right
    )


def posterior_moments(const double[::1] clicks, const Py_ssize_t[::1] ptr,
                      const double[::1] factor, const double[::1] count,
                      const double[::1] nodes, const double[::1] weights, double left,
                      double right, int n_threads=1):
    """Means and variances of densities r^clicks times powers of 1 − factor r.

    Parameters
    ----------
    clicks : ndarray of shape (n_pairs,)
        Exponents of r, at least 0.
    ptr : ndarray of shape (n_pairs + 1,), dtype intp
        Bounds of the factors of each pair.
    factor : ndarray of shape (n_factors,)
        Factors, at most 1.
    count : ndarray of shape (n_factors,)
        Exponents, at least 0.
    nodes, weights : ndarrays of shape (4 * n_nodes,)
        Rules of Gauss and Jacobi on [0, 1]: without exponents at the ends, with that of
        the left end, with that of the right end, and with both.
    left, right : float
        These exponents: what the exponents of r and of 1 − r have beyond whole numbers.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    mean, variance : ndarrays of shape (n_pairs,)
        Complexity: O(n_factors n_nodes).
    """
    cdef Posteriors all = _posteriors(clicks, ptr, factor, count)
    cdef Rules rules = _rules(nodes, weights, left, right)
    means, variances = np.empty(all.n_pairs), np.empty(all.n_pairs)
    cdef double[::1] mean = means, variance = variances
    cdef double *m = _out(mean)
    cdef double *v = _out(variance)
    with nogil:
        c_posterior_moments(all, rules, m, v, n_threads)
    return means, variances


def posterior_grids(const double[::1] clicks, const Py_ssize_t[::1] ptr,
                    const double[::1] factor, const double[::1] count,
                    const double[::1] nodes, const double[::1] weights, double left,
                    double right, Py_ssize_t n_points, bint flat, int n_threads=1):
    """Tables of densities r^clicks times powers of 1 − factor r.

    Parameters
    ----------
    clicks, ptr, factor, count, nodes, weights, left, right, n_threads
        As in `posterior_moments`.
    n_points : int
        Number of places, at least 2.
    flat : bool
        Whether the places are those of t, where r = t³ (10 − 15 t + 6 t²): on this
        scale densities have no steep ends.

    Returns
    -------
    low, high : ndarrays of shape (n_pairs,)
        Bounds outside of which the density is negligible.
    density : ndarray of shape (n_pairs, n_points)
        Densities, whose integral is 1, at equal distances between the bounds.
    """
    cdef Posteriors all = _posteriors(clicks, ptr, factor, count)
    cdef Rules rules = _rules(nodes, weights, left, right)
    cdef Py_ssize_t n_pairs = all.n_pairs
    if n_points < 2:
        raise ValueError(f"n_points must be at least 2, got {n_points}")
    lows, highs = np.empty(n_pairs), np.empty(n_pairs)
    table = np.empty((n_pairs, n_points))
    cdef double[::1] low = lows, high = highs, density = table.reshape(-1)
    cdef double *a = _out(low)
    cdef double *b = _out(high)
    cdef double *d = _out(density)
    with nogil:
        c_posterior_grids(all, rules, n_points, flat, a, b, d, n_threads)
    return lows, highs, table
