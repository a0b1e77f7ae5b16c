"""Propensities from documents that were shown in several places."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone

from skrank.click import Sessions, SimulatedUser
from skrank.exceptions import InvalidParameterError
from skrank.unbiased import InterventionPropensities

METHODS = ["all_pairs", "pivot", "chain", "randomized"]
USER = SimulatedUser("navigational", examination="position", eta=0.8, max_grade=4)


def _log(n=60_000, size=5, order="random", seed=0):
    """Sessions of twelve queries whose documents come in a random order."""
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 5, size=(12, size))
    query = rng.integers(0, 12, size=n)
    ranked = rng.permuted(np.tile(np.arange(size), (n, 1)), axis=1)
    if order == "swapped":  # with the first place, half of the time
        ranked = np.tile(np.arange(size), (n, 1))
        partner = rng.integers(0, size, size=n)
        rows = np.arange(n)
        ranked[rows, 0], ranked[rows, partner] = partner, np.zeros(n, dtype=int)
    if order == "rankers":  # of which each shows another document first
        best = rng.integers(0, 3, size=n)
        ranked = (np.arange(size) + best[:, None]) % size
    shown = grades[query[:, None], ranked]
    ptr = np.arange(n + 1) * size
    clicks = USER.click(shown.ravel().astype(float), ptr, random_state=seed)
    return Sessions.from_lists(query, ranked, clicks.reshape(n, size))


RANDOM = _log()


@pytest.mark.parametrize("method", METHODS)
def test_random_orders_give_the_propensities_back(method):
    found = InterventionPropensities(method).fit(RANDOM).propensities_
    assert found[0] == 1.0
    assert_allclose(found, USER.propensities(5), rtol=0.06)


@pytest.mark.parametrize("method", ["pivot", "all_pairs"])
def test_swaps_with_the_first_place_give_the_propensities_back(method):
    found = InterventionPropensities(method).fit(_log(order="swapped"))
    assert_allclose(found.propensities_, USER.propensities(5), rtol=0.1)
    # The first document goes everywhere, and each other one to the first place.
    shared = found.n_interventions_
    assert (shared[1, 2:] == 12).all()
    assert (shared[0] == [60, 24, 24, 24, 24]).all()


@pytest.mark.parametrize("method", ["chain", "all_pairs"])
def test_logs_of_several_rankers_give_the_propensities_back(method):
    found = InterventionPropensities(method).fit(_log(order="rankers"))
    assert_allclose(found.propensities_, USER.propensities(5), rtol=0.12)


def test_click_rates_alone_are_wrong_where_good_documents_come_first():
    log = _log(order="rankers")
    rates = InterventionPropensities("randomized").fit(log).propensities_
    right = InterventionPropensities("all_pairs").fit(log).propensities_
    true = USER.propensities(5)
    assert np.abs(right - true).max() < 0.5 * np.abs(rates - true).max()


def _sums_by_loop(sessions):
    """Shares of clicks, summed over documents shown in both of two places."""
    shown = {}
    for s in range(len(sessions)):
        for place, row in enumerate(range(sessions.ptr[s], sessions.ptr[s + 1])):
            key = sessions.query[s], sessions.document[row]
            shown.setdefault(key, {}).setdefault(place, []).append(sessions.click[row])
    size = int(np.diff(sessions.ptr).max())
    clicked, both = np.zeros((size, size)), np.zeros((size, size))
    for places in shown.values():
        for k in places:
            for j in places:
                clicked[k, j] += np.mean(places[k])
                both[k, j] += 1
    return clicked, both


SMALL = RANDOM[:400]


def test_ratios_are_those_of_their_formulas():
    clicked, both = _sums_by_loop(SMALL)
    pivot = InterventionPropensities("pivot").fit(SMALL)
    assert_allclose(pivot.propensities_, clicked[:, 0] / clicked[0])
    assert_array_equal(pivot.n_interventions_, both)
    chain = InterventionPropensities("chain").fit(SMALL).propensities_
    for k in range(4):
        assert_allclose(chain[k + 1] / chain[k], clicked[k + 1, k] / clicked[k, k + 1])


def test_all_pairs_are_most_likely():
    """No other propensities and relevances make the clicks likelier."""
    clicked, both = _sums_by_loop(SMALL)
    found = InterventionPropensities().fit(SMALL).propensities_

    def loss(params, p=None):
        p = np.append(1.0, params[:4]) * params[4] if p is None else p
        r = np.zeros((5, 5))
        r[np.triu_indices(5, 1)] = params[-10:]
        r += r.T
        off = ~np.eye(5, dtype=bool)
        chance = (p[:, None] * r)[off]
        return -np.sum(
            clicked[off] * np.log(chance) + (both - clicked)[off] * np.log(1 - chance)
        )

    start = np.concatenate([found[1:], [0.9], np.full(10, 0.5)])
    bounds = [(1e-4, 1.1)] * 4 + [(0.5, 0.9)] + [(1e-4, 1 - 1e-4)] * 10
    best = minimize(
        loss, start, bounds=bounds, options={"maxiter": 5000, "maxfun": 10**6}
    )
    assert_allclose(best.x[:4], found[1:], rtol=2e-3)


def test_places_beyond_are_left_out():
    whole = InterventionPropensities("pivot").fit(RANDOM).propensities_
    part = InterventionPropensities("pivot", n_positions=3).fit(RANDOM).propensities_
    assert_array_equal(part, whole[:3])


def test_parts_of_logs_in_another_order_give_the_same():
    order = np.random.default_rng(0).permutation(len(SMALL))
    for method in METHODS:
        one = InterventionPropensities(method).fit(SMALL).propensities_
        other = clone(InterventionPropensities(method)).fit(SMALL[order]).propensities_
        assert_allclose(one, other, rtol=1e-6)


def test_what_the_log_does_not_tell_is_an_error():
    still = Sessions.from_lists(["q"] * 3, [["a", "b"]] * 3, [[1, 1]] * 3)
    for method in ("pivot", "chain", "all_pairs"):
        with pytest.raises(
            ValueError, match=r"of place 2: no document .* was clicked there"
        ):
            InterventionPropensities(method).fit(still)
    silent = Sessions.from_lists(["q"] * 2, [["a", "b"], ["b", "a"]], [[1, 0]] * 2)
    with pytest.raises(ValueError, match="place 2: nothing was clicked there"):
        InterventionPropensities("randomized").fit(silent)
    with pytest.raises(ValueError, match="set n_positions to fewer places"):
        InterventionPropensities("pivot").fit(silent)
    with pytest.raises(ValueError, match="at least one impression"):
        InterventionPropensities().fit(silent[:0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lists", [[[0, 1], [1, 0]] * 2, [[0], [1], [0], [1]]])
def test_one_place_has_the_propensity_1(method, lists):
    for clicked in (0, 1):
        clicks = [[clicked] * len(one) for one in lists]
        log = Sessions.from_lists(["q"] * 4, lists, clicks)
        found = InterventionPropensities(method, n_positions=1).fit(log)
        assert found.propensities_.tolist() == [1.0]
        shared = None if method == "randomized" else [[2]]
        counts = found.n_interventions_
        assert (counts if counts is None else counts.tolist()) == shared


def test_places_that_are_too_many_to_compare_are_refused():
    size = 1500
    log = Sessions.from_lists(["q"], [np.arange(size)], [np.ones(size, dtype=int)])
    for method in ("all_pairs", "pivot", "chain"):
        words = f"method='{method}' compares at most 1000 places, .* 1500; set n_posit"
        with pytest.raises(ValueError, match=words):
            InterventionPropensities(method).fit(log)
    found = InterventionPropensities("randomized").fit(log)
    assert_array_equal(found.propensities_, np.ones(size))


def test_rates_of_many_places_need_no_table_of_their_pairs():
    size = 30_000  # of which a table of pairs would take 7.2 GB
    ranked = [np.arange(size), np.arange(size)[::-1]]
    clicks = [np.ones(size, dtype=int), np.arange(size) % 2 == 0]
    log = Sessions.from_lists(["q"] * 2, ranked, clicks)
    tracemalloc.start()
    try:
        found = InterventionPropensities("randomized").fit(log)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    expected = np.where(np.arange(size) % 2 == 0, 1.0, 0.5)
    assert_array_equal(found.propensities_, expected)


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="sessions must be"):
        InterventionPropensities().fit([[1, 2]])
    with pytest.raises(InvalidParameterError, match="method must be 'all_pairs'"):
        InterventionPropensities("swap").fit(SMALL)
    with pytest.raises(InvalidParameterError, match="n_positions must be"):
        InterventionPropensities(n_positions=0).fit(SMALL)


@pytest.mark.parametrize("clicks", [[1, 1, 1], [1, 1, 0]])
def test_propensities_at_the_ends_of_their_range(clicks):
    # Whoever clicks everywhere makes the likelihood grow without end.
    orders = ["abc", "bca", "cab", "acb", "bac", "cba"]
    log = Sessions.from_lists(
        ["q"] * 12, [list(order) for order in orders] * 2, [clicks, [1, 1, 1]] * 6
    )
    found = InterventionPropensities().fit(log).propensities_
    assert np.isfinite(found).all()
    assert (found > 0).all()
    assert_allclose(found, np.sum([clicks, [1, 1, 1]], axis=0) / 2, atol=0.05)
