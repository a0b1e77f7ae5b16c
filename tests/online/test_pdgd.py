"""PDGD against plain loops over its formulas, and against enumerations."""

import itertools
from collections import Counter

import numpy as np
import pytest

from skrank.click import SimulatedUser
from skrank.datasets import make_ranking
from skrank.energies import MLPEnergy
from skrank.online import PDGD
from skrank.online._interleaving import draw, preference_gradient
from skrank.online._rankings import bounds_of_lists


def log_probability(order, scores, n_shown):
    """Logarithm of the Plackett-Luce probability of the first documents of an order."""
    left, found = list(range(len(scores))), 0.0
    for document in order[:n_shown]:
        found += scores[document] - np.logaddexp.reduce([scores[d] for d in left])
        left.remove(document)
    return found


def preferences(clicks):
    """Places of the inferred preferences: clicked, and not clicked but seen."""
    if not any(clicks):
        return []
    last = max(t for t, c in enumerate(clicks) if c)
    seen = range(min(last + 2, len(clicks)))
    return [(i, j) for i in seen for j in seen if clicks[i] and not clicks[j]]


def pair_gradient(scores, shown, i, j, *, weighted=True):
    """The paper's equations for one preference, between two places."""
    swapped = list(shown)
    swapped[i], swapped[j] = shown[j], shown[i]
    n = len(shown)
    ratio = log_probability(shown, scores, n) - log_probability(swapped, scores, n)
    rho = 1.0 / (1.0 + np.exp(ratio)) if weighted else 1.0
    a, b = np.exp(scores[shown[i]]), np.exp(scores[shown[j]])
    gradient = np.zeros(len(scores))
    gradient[shown[i]] = rho * a * b / (a + b) ** 2
    gradient[shown[j]] = -gradient[shown[i]]
    return gradient


def gradient_by_formulas(scores, shown, clicks, *, weighted=True):
    """The sum over all preferences."""
    gradient = np.zeros(len(scores))
    for i, j in preferences(clicks):
        gradient += pair_gradient(scores, shown, i, j, weighted=weighted)
    return gradient


def of_kernel(scores, shown, clicks):
    return preference_gradient(
        np.asarray(scores, dtype=float),
        np.array([0, len(scores)]),
        np.array(shown, dtype=np.int32),
        np.array([0, len(shown)]),
        np.array(clicks, dtype=np.uint8),
    )


@pytest.mark.parametrize("n_shown", [2, 3, 5])
def test_the_gradient_is_that_of_the_formulas(n_shown):
    rng = np.random.default_rng(0)
    for _ in range(10):
        scores = 2.0 * rng.normal(size=5)
        shown = rng.permutation(5)[:n_shown].tolist()
        for clicks in itertools.product([0, 1], repeat=n_shown):
            expected = gradient_by_formulas(scores, shown, clicks)
            found = of_kernel(scores, shown, clicks)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("spread", [30.0, 150.0, 600.0, 3000.0])
def test_the_gradient_of_scores_that_lie_far_apart(spread):
    rng = np.random.default_rng(0)
    for n_shown in (2, 6, 8):
        scores = spread * rng.uniform(-1.0, 1.0, size=8)
        scores[1:3] = scores[0] + rng.normal(size=2)  # of others the slopes are 0
        shown = rng.permutation(8)[:n_shown].tolist()
        clicks = rng.integers(0, 2, n_shown).tolist()
        apart = [
            (i, j)
            for i, j in preferences(clicks)
            if abs(scores[shown[i]] - scores[shown[j]]) < 700.0
        ]
        expected = np.zeros(8)
        for i, j in apart:
            centred = scores - scores[[shown[i], shown[j]]].max()
            expected += pair_gradient(centred, shown, i, j)
        found = of_kernel(scores, shown, clicks)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


def click_chances(grades, user):
    """All click patterns of a cascade user with their probabilities."""
    attraction = user.click_probability(grades)
    stop = user.stop_probability(grades)

    def go_on(place, clicks, chance):
        if place == len(grades):
            yield clicks, chance
            return
        a, s = attraction[place], stop[place]
        yield from go_on(place + 1, (*clicks, 0), chance * (1 - a))
        yield from go_on(place + 1, (*clicks, 1), chance * a * (1 - s))
        rest = (0,) * (len(grades) - place - 1)
        yield (*clicks, 1, *rest), chance * a * s

    return go_on(0, (), 1.0)


def expected_gradient(scores, grades, user, n_shown, gradient_of):
    """Mean of a gradient over all lists and all clicks."""
    total = np.zeros(len(scores))
    for shown in itertools.permutations(range(len(scores)), n_shown):
        of_list = np.exp(log_probability(shown, scores, n_shown))
        for clicks, chance in click_chances(grades[list(shown)], user):
            total += of_list * chance * gradient_of(scores, list(shown), clicks)
    return total


USER = SimulatedUser("informational", max_grade=4)


@pytest.mark.parametrize("n_shown", [2, 4])
def test_documents_of_one_grade_do_not_move(n_shown):
    """The weights rho make up for the places, which without them would count."""
    scores, grades = np.array([1.0, 0.3, -0.5, 0.0]), np.full(4, 2.0)
    found = expected_gradient(scores, grades, USER, n_shown, of_kernel)
    np.testing.assert_allclose(found, 0.0, atol=1e-14)

    def without(scores, shown, clicks):
        return gradient_by_formulas(scores, shown, clicks, weighted=False)

    biased = expected_gradient(scores, grades, USER, n_shown, without)
    assert np.abs(biased).max() > 1e-3


def test_better_documents_rise_and_equal_ones_do_not_move_each_other():
    """The coefficient of a pair has the sign of its grades, as the paper proves."""
    scores, grades = np.array([-1.0, 0.5, 1.0]), np.array([4.0, 1.0, 1.0])

    def of_pair(k, other):
        def gradient(scores, shown, clicks):
            found = np.zeros(3)
            for i, j in preferences(clicks):
                if {shown[i], shown[j]} == {k, other}:
                    found += pair_gradient(scores, shown, i, j)
            return found

        return expected_gradient(scores, grades, USER, 3, gradient)

    np.testing.assert_allclose(of_pair(1, 2), 0.0, atol=1e-14)
    for other in (1, 2):
        found = of_pair(0, other)
        assert found[0] > 1e-4
        assert found[0] == pytest.approx(-found[other])


@pytest.mark.parametrize("n_shown", [1, 2, 3])
def test_lists_are_drawn_by_the_plackett_luce_model(n_shown):
    scores, n = np.array([1.0, 0.0, -0.7]), 4000
    found = draw(
        np.tile(scores, n), np.arange(n + 1) * 3, np.arange(n + 1) * n_shown, 5
    )
    counts = Counter(map(tuple, found.reshape(n, n_shown).tolist()))
    for shown in itertools.permutations(range(3), n_shown):
        chance = np.exp(log_probability(shown, scores, n_shown))
        error = 5.0 * np.sqrt(chance * (1.0 - chance) / n)
        assert abs(counts[shown] / n - chance) < error


def test_scores_of_any_size_give_finite_gradients():
    for size in (1e2, 1e4, 1e300):
        scores = size * np.array([1.0, -1.0, 0.5, -1.0, 0.0])
        for shown in ([0, 1, 2, 3, 4], [1, 0, 3], [3, 1]):
            for clicks in itertools.product([0, 1], repeat=len(shown)):
                found = of_kernel(scores, shown, clicks)
                assert np.isfinite(found).all()
                assert abs(found.sum()) < 1e-12
    # Documents far apart are certain: nothing is left to learn.
    assert of_kernel([0.0, 1e4], [1, 0], [0, 1]).tolist() == [0.0, 0.0]
    # Equal documents at the end of a list that is certain: rho is a half.
    found = of_kernel([1e4, 0.0, 0.0], [0, 1, 2], [1, 0, 1])
    assert found[2] == pytest.approx(0.5 * 0.25)


def test_threads_and_other_impressions_change_nothing():
    rng = np.random.default_rng(0)
    ptr = np.append(0, np.cumsum(rng.integers(1, 30, 100)))
    bounds = bounds_of_lists(ptr, 10)
    scores = rng.normal(size=ptr[-1])
    shown = draw(scores, ptr, bounds, 1)
    clicked = (rng.random(len(shown)) < 0.3).astype(np.uint8)
    whole = preference_gradient(scores, ptr, shown, bounds, clicked)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(draw(scores, ptr, bounds, 1, n_threads), shown)
        again = preference_gradient(scores, ptr, shown, bounds, clicked, n_threads)
        np.testing.assert_array_equal(again, whole)
    for i in (0, 7, 99):
        rows, places = slice(ptr[i], ptr[i + 1]), slice(bounds[i], bounds[i + 1])
        alone = of_kernel(scores[rows], shown[places], clicked[places])
        np.testing.assert_array_equal(alone, whole[rows])


@pytest.mark.parametrize("hidden", [(), (3,)])
def test_a_step_is_that_of_a_plain_loop(hidden):
    X, _, groups = make_ranking(
        n_queries=3, n_features=4, n_informative=2, random_state=0
    )
    ranker = PDGD(
        hidden_layer_sizes=hidden,
        learning_rate=0.5,
        learning_rate_decay=0.9,
        length=4,
        random_state=0,
    )
    shown = ranker.propose(X, groups, random_state=0)
    start = ranker.params_.copy()
    clicks = (np.arange(len(shown.rows)) % 3 == 1).astype(int)
    ranker.partial_fit(X, clicks, groups, shown=shown)

    gradient = np.zeros(len(X))
    scores = X @ start if not hidden else ranker.energy_.scores(start, X)
    for i, query in enumerate(shown.query_ids):
        rows = np.flatnonzero(groups == query)
        places = slice(shown.ptr[i], shown.ptr[i + 1])
        local = [rows.tolist().index(row) for row in shown.rows[places]]
        gradient[rows] = gradient_by_formulas(scores[rows], local, clicks[places])
    step = X.T @ gradient
    if hidden:
        energy = MLPEnergy(hidden, standardize=False).setup(X)
        step = energy.scores_and_vjp(start, X)[1](gradient)
    np.testing.assert_allclose(
        ranker.params_ - start, 0.5 * step, rtol=1e-8, atol=1e-12
    )
    assert ranker.n_impressions_ == 3

    again, before = ranker.propose(X, groups, random_state=1), ranker.params_.copy()
    ranker.partial_fit(X, clicks, groups, shown=again)
    slower = ranker.params_ - before
    ranker.params_, ranker.n_impressions_ = before, 0
    ranker.partial_fit(X, clicks, groups, shown=again)
    np.testing.assert_allclose(slower, 0.9**3 * (ranker.params_ - before), rtol=1e-6)


def test_rows_in_the_order_in_which_they_were_shown():
    X, _, groups = make_ranking(
        n_queries=3, n_features=4, n_informative=2, random_state=0
    )
    shown = PDGD(length=None).propose(X, groups, random_state=0)
    clicks = (np.arange(len(X)) % 3 == 1).astype(int)
    by_proposal = PDGD().partial_fit(X, clicks, groups, shown=shown)
    rows = shown.rows
    by_order = PDGD().partial_fit(X[rows], clicks, groups[rows])
    np.testing.assert_allclose(by_order.params_, by_proposal.params_, rtol=1e-12)


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_it_learns_from_users_of_every_kind(hidden):
    X, y, groups = make_ranking(n_queries=60, random_state=0)
    train = groups < 40
    for user in ("perfect", "navigational", "informational"):
        ranker = PDGD(hidden_layer_sizes=hidden, user=user, random_state=0, max_iter=10)
        ranker.fit(X[train], y[train], groups[train])
        start = PDGD(hidden_layer_sizes=hidden, random_state=0)
        start.propose(X, groups)
        test = X[~train], y[~train], groups[~train]
        assert ranker.score(*test) > start.score(*test) + 0.1


def test_a_network_has_no_coefficients():
    X, _, groups = make_ranking(n_queries=3, random_state=0)
    ranker = PDGD(hidden_layer_sizes=(2,))
    ranker.propose(X, groups)
    with pytest.raises(AttributeError, match="no coef_"):
        ranker.coef_  # noqa: B018
