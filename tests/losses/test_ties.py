"""Losses of preferences and ties, pair by pair from the formulas of the models."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from skrank.datasets import make_ranking
from skrank.losses import BradleyTerryLoss, LogLoss, ThurstoneMostellerLoss
from skrank.rankers import BoostedRanker, EnergyRanker

LOSSES = [BradleyTerryLoss(3.0), ThurstoneMostellerLoss(0.7)]
PTR = np.array([0, 5, 8, 9])
Y = np.array([2.0, 0, 1, 1, 0, 1, 1, 1, 2])  # the second query ties throughout


def probabilities(loss, a, b):
    """Of the first document being better, and of a tie."""
    if isinstance(loss, BradleyTerryLoss):
        theta, a, b = loss.theta, np.exp(a), np.exp(b)
        tie = (theta**2 - 1) * a * b / ((a + theta * b) * (theta * a + b))
        return a / (a + theta * b), tie
    better = norm.cdf(a - b - loss.epsilon)
    return better, norm.cdf(a - b + loss.epsilon) - better


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_the_negative_log_likelihood(loss, weighted):
    rng = np.random.default_rng(0)
    s = rng.normal(size=9)
    weight = np.repeat([0.5, 2.0, 3.0], np.diff(PTR)) if weighted else np.ones(9)
    expected = total = 0.0
    for u, v in itertools.permutations(range(5), 2):
        better, tie = probabilities(loss, s[u], s[v])
        if Y[u] > Y[v]:
            expected -= weight[u] * np.log(better)
            total += weight[u]
        elif Y[u] == Y[v] and u < v:
            expected -= weight[u] * np.log(tie)
            total += weight[u]
    prepared = loss.prepare(Y, PTR, weight if weighted else None)
    values, _ = prepared.value_gradient(s)
    np.testing.assert_allclose(values, [expected, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(prepared.total_weight, total)


def test_factors_of_a_tie_may_exceed_1():
    """One document of a tie that has all the weight gains from a larger score."""
    loss = BradleyTerryLoss(2.0)
    prepared = loss.prepare([2.0, 2.0, 0.0], [0, 3], [1.0, 0.0, 0.0])
    scores = np.array([2.0, -2.0, -3.0])
    values, gradient = prepared.value_gradient(scores)
    expected = np.log1p(2.0 * np.exp(-5.0)) + np.log1p(2.0 * np.exp(-4.0))
    expected -= 0.5 * np.log(3.0)
    assert expected < 0.0
    np.testing.assert_allclose(values, [expected])
    steps = 1e-6 * np.eye(3)
    slopes = [
        (prepared.value_gradient(scores + step)[0] - values)[0] / 1e-6 for step in steps
    ]
    np.testing.assert_allclose(gradient, slopes, atol=1e-5)


def test_preferences_that_are_sure_cost_nothing():
    values, _ = BradleyTerryLoss(3.0).value_gradient([2, 1, 0], [4e2, 0, -4e2], [0, 3])
    assert 0.0 <= values[0] < 1e-12


def test_squares_of_wide_thresholds_do_not_overflow():
    """A tie of the difference d has about the probability theta exp(-d)."""
    prepared = BradleyTerryLoss(1e200).prepare([1.0, 1.0, 0.0], [0, 3])
    values, _ = prepared.value_gradient(np.array([600.0, 0.0, -2e3]))
    np.testing.assert_allclose(values, 600.0 - 200.0 * np.log(10.0))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("d", [-3.0, 0.0, 0.4, 2.0])
def test_the_three_answers_exhaust_all(loss, d):
    better, tie = probabilities(loss, d, 0.0)
    worse, _ = probabilities(loss, 0.0, d)
    np.testing.assert_allclose(better + tie + worse, 1.0)


def test_weights_of_ties():
    """Of the two factors of a tie each has the weight of its document, or the mean."""
    y, s, w = [1.0, 1.0, 0.0], np.array([0.3, -0.2, 0.0]), np.array([2.0, 0.5, 9.0])
    values, _ = BradleyTerryLoss(3.0).value_gradient(y, s, [0, 3], w)
    logs = [np.log(expit(d - np.log(3.0))) for d in (0.5, -0.5, 0.3, -0.2)]
    expected = -w[0] * (logs[0] + logs[2]) - w[1] * (logs[1] + logs[3])
    np.testing.assert_allclose(values[0], expected - 0.5 * (w[0] + w[1]) * np.log(8.0))
    loss = ThurstoneMostellerLoss(0.7)
    values, _ = loss.value_gradient(y, s, [0, 3], w)
    expected = -1.25 * np.log(probabilities(loss, *s[:2])[1])
    expected -= 2.0 * np.log(probabilities(loss, s[0], 0.0)[0])
    expected -= 0.5 * np.log(probabilities(loss, s[1], 0.0)[0])
    np.testing.assert_allclose(values[0], expected)


def test_without_equal_grades_the_limits_are_logistic_and_probit():
    rng = np.random.default_rng(1)
    y, s, ptr = rng.permutation(7).astype(float), rng.normal(size=7), [0, 4, 7]
    found = BradleyTerryLoss(1 + 1e-12).value_gradient(y, s, ptr)
    for a, b in zip(found, LogLoss().value_gradient(y, s, ptr)):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    values, _ = ThurstoneMostellerLoss(1e-12).value_gradient(y, s, ptr)
    for q, (a, b) in enumerate(itertools.pairwise(ptr)):
        pairs = itertools.permutations(range(a, b), 2)
        logs = [np.log(norm.cdf(s[u] - s[v])) for u, v in pairs if y[u] > y[v]]
        np.testing.assert_allclose(values[q], -sum(logs), rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_far_apart_keep_their_digits(loss):
    for d in (40.0, 1e3, 1e7):
        prepared = loss.prepare([1.0, 1.0, 0.0], [0, 3])
        s = np.array([d, 0.0, -d])
        values, gradient, hessian = prepared.gradient_hessian(s)
        step = 1e-3 * d
        up, down = (
            prepared.value_gradient(s + e)[0][0] for e in ([step, 0, 0], [-step, 0, 0])
        )
        np.testing.assert_allclose(gradient[0], (up - down) / (2 * step), rtol=1e-6)
        assert np.isfinite(values).all()
        assert ((hessian >= 0) & (hessian < 4)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_ties_are_drawn_together(loss):
    """The only force on two documents of equal grade beside a third one."""
    y, ptr = [1.0, 1.0, 0.0], [0, 3]
    _, gradient = loss.value_gradient(y, [1.0, -1.0, -30.0], ptr)
    assert gradient[0] > 0 > gradient[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_energies_and_trees_take_them(loss):
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    assert EnergyRanker(loss=loss).fit(X, y, groups).score(X, y, groups) > 0.8
    boosted = BoostedRanker(loss, n_estimators=20, min_samples_leaf=5)
    assert boosted.fit(X, y, groups).score(X, y, groups) > 0.8


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (BradleyTerryLoss(1.0), "theta must be a number > 1, got 1.0"),
        (ThurstoneMostellerLoss(0.0), "epsilon must be a number > 0, got 0.0"),
    ],
)
def test_thresholds_that_leave_no_ties(loss, message):
    with pytest.raises(ValueError, match=message):
        loss.prepare([1.0, 0.0], [0, 2])


def test_a_preference_that_is_sure_costs_nothing():
    for d in (40.0, 1e3, 1e8, 1e12):
        for shift in (0.0, d):
            values, _ = BradleyTerryLoss(2.0).value_gradient(
                [1, 0], [d + shift, shift], [0, 2]
            )
            assert 0.0 <= values[0] < 1e-15
    values, _ = BradleyTerryLoss(2.0).value_gradient([1, 0], [0.0, 1e8], [0, 2])
    np.testing.assert_allclose(values, 1e8 + np.log(2.0), rtol=1e-15)
