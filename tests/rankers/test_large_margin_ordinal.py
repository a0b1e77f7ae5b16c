"""Large-margin ordinal regression, against quadratic programmes of SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize
from sklearn.svm import SVC

from skrank.rankers import LargeMarginOrdinal, ThresholdOrdinal
from skrank.solvers import SmoothingHomotopy

EXACT = SmoothingHomotopy(final_width=1e-7, tol=1e-10, max_iter=5000)
CONSTRAINTS = pytest.mark.parametrize("constraints", ["explicit", "implicit"])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(14, 2))
    y = np.digitize(X @ [1.0, -0.5] + 0.3 * rng.normal(size=14), [-0.6, 0.5])
    return X, np.array([0.0, 1.0, 3.0])[y], np.repeat([0, 1], 7)


def terms(y, constraints):
    """Pairs of a document and a threshold, and whether it belongs above."""
    places = np.searchsorted(np.unique(y), y)
    for j, place in enumerate(places):
        for k in range(places.max()):
            if constraints == "implicit" or k in (place - 1, place):
                yield j, k, place > k


def solve(objective, slope, inequalities, start, ball=None):
    """Minimise over inequalities that are linear, and perhaps one that is not."""
    rows = []
    for f in inequalities:
        zero = np.asarray(f(np.zeros(len(start))))
        A = np.transpose([np.asarray(f(e)) - zero for e in np.eye(len(start))])
        rows.append({"type": "ineq", "fun": f, "jac": lambda v, A=A: A})
    if ball is not None:
        rows.append({"type": "ineq", "fun": ball[0], "jac": ball[1]})
    return minimize(
        objective,
        start,
        jac=slope,
        method="SLSQP",
        constraints=rows,
        options={"ftol": 1e-14, "maxiter": 1000},
    )


@CONSTRAINTS
def test_fixed_margin_is_the_quadratic_programme(data, constraints):
    """Equation 2.12: a slack for every document and threshold that it has."""
    X, y, groups = data
    alpha, pairs = 0.1, list(terms(y, constraints))

    def slack_rows(v):
        w, b, slack = v[:2], v[2:4], v[4:]
        return [
            (1 if above else -1) * (w @ X[j] - b[k]) - 1 + slack[i]
            for i, (j, k, above) in enumerate(pairs)
        ]

    best = solve(
        lambda v: 0.5 * alpha * v[:2] @ v[:2] + v[4:].sum() / len(y),
        lambda v: np.r_[alpha * v[:2], 0, 0, np.full(len(pairs), 1 / len(y))],
        [slack_rows, lambda v: v[4:], lambda v: np.diff(v[2:4])],
        np.r_[np.zeros(2), -1.0, 1.0, np.full(len(pairs), 3.0)],
    )
    ranker = LargeMarginOrdinal(constraints=constraints, alpha=alpha, solver=EXACT)
    ranker.fit(X, y, groups)
    w, b = ranker.coef_, ranker.thresholds_
    sides = [(1 if above else -1) * (w @ X[j] - b[k]) for j, k, above in pairs]
    slacks = np.maximum(0.0, 1.0 - np.array(sides))
    found = 0.5 * alpha * w @ w + slacks.sum() / len(y)
    assert_allclose(found, best.fun, atol=1e-4)
    assert_allclose(ranker.coef_, best.x[:2], atol=1e-3)
    assert_allclose(ranker.margins_, 2 / np.linalg.norm(best.x[:2]), rtol=1e-3)


@CONSTRAINTS
def test_sum_of_margins_is_the_programme_of_the_book(data, constraints):
    """Equation 2.13, with its bound on w."""
    X, y, groups = data
    alpha, pairs = 0.2, list(terms(y, constraints))

    def slack_rows(v):  # v = w, a_1, b_1, a_2, b_2 and the slacks
        w, slack = v[:2], v[6:]
        return [
            (w @ X[j] - v[3 + 2 * k] if above else v[2 + 2 * k] - w @ X[j]) + slack[i]
            for i, (j, k, above) in enumerate(pairs)
        ]

    def objective(v):
        return alpha * (v[2] - v[3] + v[4] - v[5]) + v[6:].sum() / len(y)

    slope = np.r_[0, 0, alpha * np.resize([1, -1], 4), np.full(len(pairs), 1 / len(y))]
    ball = (
        lambda v: 1.0 - v[:2] @ v[:2],
        lambda v: np.r_[-2.0 * v[:2], np.zeros(len(v) - 2)],
    )
    best = solve(
        objective,
        lambda v: slope,
        [slack_rows, lambda v: v[6:], lambda v: np.diff(v[2:6])],
        np.r_[0.6, -0.3, -1.0, -0.5, 0.5, 1.0, np.full(len(pairs), 3.0)],
        ball,
    )
    assert best.fun < -1e-3
    ranker = LargeMarginOrdinal(
        strategy="sum_of_margins", constraints=constraints, alpha=alpha, solver=EXACT
    ).fit(X, y, groups)
    found = np.r_[ranker.coef_, ranker.energy_.thresholds(ranker.params_)]
    slacks = [
        max(0.0, found[3 + 2 * k] - f if above else f - found[2 + 2 * k])
        for j, k, above in pairs
        for f in [ranker.coef_ @ X[j]]
    ]
    assert_allclose(objective(np.r_[found, slacks]), best.fun, atol=1e-4)
    assert_allclose(np.linalg.norm(ranker.coef_), 1.0)
    assert_allclose(ranker.coef_, best.x[:2], atol=5e-3)
    assert np.all(np.diff(found[2:]) >= -1e-12)
    assert_allclose(ranker.thresholds_, (found[2::2] + found[3::2]) / 2)
    assert_allclose(ranker.margins_, found[3::2] - found[2::2])


def machine(X, two, C):
    return SVC(kernel="linear", C=C, tol=1e-10).fit(X, two)


@CONSTRAINTS
def test_two_grades_are_a_support_vector_machine(data, constraints):
    X, y, groups = data
    two = (y > 0).astype(float)
    alpha = 0.1
    ranker = LargeMarginOrdinal(constraints=constraints, alpha=alpha, solver=EXACT)
    ranker.fit(X, two, groups)
    peer = machine(X, two, 1 / (alpha * len(y)))
    assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-3)
    # The same direction as that of the machine with the same margin.
    ranker.set_params(strategy="sum_of_margins", alpha=0.25).fit(X, two, groups)

    def difference(log_c):
        return (
            2 / np.linalg.norm(machine(X, two, np.exp(log_c)).coef_) - ranker.margins_
        )

    peer = machine(X, two, np.exp(brentq(lambda c: difference(c)[0], -4.0, 4.0)))
    direction = peer.coef_[0] / np.linalg.norm(peer.coef_)
    assert_allclose(ranker.coef_, direction, atol=5e-3)


def test_fixed_margin_is_the_hinge_of_thresholds(data):
    X, y, groups = data
    for constraints, construction in (("implicit", "all"), ("explicit", "immediate")):
        ours = LargeMarginOrdinal(constraints=constraints).fit(X, y, groups)
        peer = ThresholdOrdinal(construction=construction, penalty="hinge")
        assert_allclose(ours.params_, peer.fit(X, y, groups).params_)


@CONSTRAINTS
def test_thresholds_are_in_order_on_any_data(constraints):
    for strategy in ("fixed_margin", "sum_of_margins"):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 3)), rng.choice([0.0, 1.0, 2.0, 5.0], 60)
        ranker = LargeMarginOrdinal(
            strategy=strategy, constraints=constraints, alpha=0.05
        )
        ranker.fit(X, y, np.repeat(np.arange(6), 10))
        assert np.all(np.diff(ranker.thresholds_) >= 0.0)
        assert np.all(ranker.margins_ >= 0.0)


def test_margins_without_limit_are_refused(data):
    X, y, groups = data
    share = min(np.mean(y == 0), np.mean(y == 3))
    ranker = LargeMarginOrdinal(strategy="sum_of_margins", alpha=1.01 * share)
    with pytest.raises(
        ValueError, match="at most the share of the lowest and of the h"
    ):
        ranker.fit(X, y, groups)
    ranker.set_params(alpha=0.5 * share).fit(X, y, groups)
