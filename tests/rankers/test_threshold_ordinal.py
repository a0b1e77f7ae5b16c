"""Ordinal regression with thresholds: limit cases, order and probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.rankers import LogisticRanker, ThresholdOrdinal
from skrank.solvers import LBFGS, SGD, Adam, ConstrainedSGD, SmoothingHomotopy

ALPHA = 0.02
EXACT = LBFGS(tol=1e-10, max_iter=5000)


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=15, n_features=4, n_informative=3, n_grades=4, random_state=0
    )
    return X, np.array([0.0, 1.0, 4.0, 7.5])[y.astype(int)], groups


def test_two_grades_and_the_logistic_penalty_are_logistic_regression(data):
    X, y, groups = data
    two = np.where(y > 1, 3.0, 1.0)
    peer = LogisticRegression(C=1 / (ALPHA * len(y)), tol=1e-10, max_iter=1000)
    peer.fit(X, two)
    for construction in ("all", "immediate"):
        ranker = ThresholdOrdinal(construction=construction, alpha=ALPHA, solver=EXACT)
        ranker.fit(X, two, groups)
        assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-6)
        assert_allclose(ranker.thresholds_, -peer.intercept_, atol=1e-6)
        assert_array_equal(ranker.predict_grades(X), peer.predict(X))
        if construction == "all":
            proba = ranker.predict_proba(X)
            assert_allclose(proba, peer.predict_proba(X), atol=1e-6)
    ours = LogisticRanker(threshold=2.0, alpha=ALPHA, solver=EXACT).fit(X, two, groups)
    assert_allclose(ranker.coef_, ours.coef_, atol=1e-6)


@pytest.mark.parametrize("penalty", ["hinge", "squared_hinge"])
def test_two_grades_and_a_hinge_are_a_support_vector_machine(data, penalty):
    X, y, groups = (part[:60] for part in data)
    two = (y > 1).astype(float)
    rows = np.column_stack([X, np.full(len(y), 1e3)])  # a constant that costs nothing
    peer = LinearSVC(
        loss=penalty,
        C=1 / (ALPHA * len(y)),
        tol=1e-10,
        max_iter=200_000,
        fit_intercept=False,
        random_state=0,
    )
    if penalty == "hinge":  # liblinear is slow on the constant, so use a QP of SciPy
        w, b = hinge_by_slacks(X, two)
    else:
        peer.fit(rows, two)
        w, b = peer.coef_[0, :-1], -1e3 * peer.coef_[0, -1]
    solver = SmoothingHomotopy(LBFGS(), final_width=1e-6, tol=1e-9, max_iter=2000)
    ranker = ThresholdOrdinal(penalty=penalty, alpha=ALPHA)
    ranker.set_params(solver=solver if penalty == "hinge" else EXACT).fit(
        X, two, groups
    )
    assert_allclose(ranker.coef_, w, atol=2e-4)
    assert_allclose(ranker.thresholds_, b, atol=2e-3)


def hinge_by_slacks(X, y):
    """The machine as a quadratic programme, in its dual form."""
    z = np.where(y > 0, 1.0, -1.0)
    rows, bound = z[:, None] * X, 1.0 / (ALPHA * len(y))

    def value(a):
        w = rows.T @ a
        return 0.5 * w @ w - a.sum(), rows @ w - 1.0

    result = minimize(
        value,
        np.full(len(y), 1e-3),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, bound)] * len(y),
        constraints={"type": "eq", "fun": lambda a: z @ a, "jac": lambda a: z},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    w = rows.T @ result.x
    free = (result.x > 1e-4 * bound) & (result.x < (1 - 1e-4) * bound)
    return w, np.median((X @ w - z)[free])


def by_hand(construction, phi, X, y, params):
    """The objective as a loop over documents and thresholds."""
    grades = np.unique(y).tolist()
    w, b = params[: X.shape[1]], params[X.shape[1] :]
    total = 0.0
    for x, grade in zip(X, y):
        place = grades.index(grade)
        for k, threshold in enumerate(b):
            if construction == "all" or k in (place - 1, place):
                s = 1.0 if k < place else -1.0
                total += phi(s * (w @ x - threshold))
    return total / len(y) + 0.5 * ALPHA * w @ w


SMOOTH = {
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "exponential": lambda z: np.exp(-z),
    "squared": lambda z: (1.0 - z) ** 2,
    "squared_hinge": lambda z: max(0.0, 1.0 - z) ** 2,
    "smooth_hinge": lambda z: 0.5 - z if z <= 0 else 0.5 * max(0.0, 1.0 - z) ** 2,
}


# The squared hinge has no second derivative at its end.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("construction", ["all", "immediate"])
@pytest.mark.parametrize("penalty", SMOOTH)
def test_the_minimum_is_that_of_the_objective(data, construction, penalty):
    X, y, groups = (part[:16] for part in data)
    ranker = ThresholdOrdinal(construction=construction, penalty=penalty, alpha=ALPHA)
    ranker.set_params(solver=EXACT).fit(X, y, groups)
    found = np.r_[ranker.coef_, ranker.thresholds_]

    def value(params):
        return by_hand(construction, SMOOTH[penalty], X, y, params)

    assert_allclose(value(found), ranker.loss_curve_[-1])
    order = {"type": "ineq", "fun": lambda p: np.diff(p[4:])}
    options = {"maxiter": 30}
    best = minimize(
        value, found + 0.1, method="SLSQP", constraints=order, options=options
    )
    assert value(found) <= best.fun + 1e-6


def test_the_order_binds_where_a_grade_is_rare_and_not_otherwise():
    """A middle grade that lies above the highest one: its thresholds coincide."""
    X = np.r_[np.linspace(-3, -1, 40), np.linspace(1, 2, 40), [4.0, 4.1, 4.2]][:, None]
    y = np.r_[np.zeros(40), np.full(40, 2.0), np.ones(3)]
    groups = np.zeros(83)
    near = ThresholdOrdinal(construction="immediate", alpha=1e-2, solver=EXACT)
    near.fit(X, y, groups)
    assert near.thresholds_[0] == near.thresholds_[1]
    full = ThresholdOrdinal(alpha=1e-2, solver=EXACT).fit(X, y, groups)
    assert full.thresholds_[1] > full.thresholds_[0]


@pytest.mark.parametrize("variant", ThresholdOrdinal._variants(), ids=str)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_thresholds_are_in_order_at_every_iteration(variant, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.choice([0.0, 1.0, 2.0, 5.0], 60)
    seen = []

    def look(info):
        seen.append(np.diff(info["energy"].thresholds(info["params"])).min())

    ranker = ThresholdOrdinal(**variant, callback=look, max_iter=8, random_state=0)
    ranker.fit(X, y, np.repeat(np.arange(6), 10))
    assert len(seen) > 1
    assert min(seen) >= 0.0


@pytest.mark.parametrize(
    "solver",
    [Adam(learning_rate=0.05), SGD(learning_rate=0.05), ConstrainedSGD()],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stochastic_solvers_keep_the_order(data, solver):
    X, y, groups = data
    solver = clone(solver).set_params(max_iter=20)
    ranker = ThresholdOrdinal(solver=solver, random_state=0).fit(X, y, groups)
    assert np.all(np.diff(ranker.thresholds_) >= 0.0)
    assert ranker.score(X, y, groups) > 0.7


def test_probabilities_and_grades(data):
    X, y, groups = data
    ranker = ThresholdOrdinal(alpha=1e-3).fit(X, y, groups)
    proba = ranker.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert np.all(proba >= 0.0)
    above = 1 / (1 + np.exp(ranker.thresholds_ - ranker.predict(X)[:, None]))
    assert_allclose(np.cumsum(proba[:, ::-1], axis=1)[:, -2::-1], above)
    expected = [
        ranker.grades_[np.sum(f >= ranker.thresholds_)] for f in ranker.predict(X)
    ]
    assert_array_equal(ranker.predict_grades(X), expected)
    assert np.mean(ranker.predict_grades(X) == y) > 0.5
    assert_allclose(ranker.energies(X), -ranker.predict(X))
    for other in ({"penalty": "hinge"}, {"construction": "immediate"}):
        assert not hasattr(ThresholdOrdinal(**other), "predict_proba")


def test_a_warm_start_goes_on_with_its_grades(data, tmp_path):
    X, y, groups = data
    ranker = ThresholdOrdinal(warm_start=True, tol=1e-8).fit(X, y, groups)
    few = ranker.params_.copy()
    ranker.fit(X, y, groups)
    assert_allclose(ranker.params_, few, atol=1e-4)
    save_model(ranker, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert_array_equal(again.predict_proba(X), ranker.predict_proba(X))
    with pytest.raises(ValueError, match="y holds grade 9, which is not among grades="):
        ranker.fit(X, np.where(y > 4, 9.0, y), groups)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_a_single_grade(data):
    X, _, groups = data
    ranker = ThresholdOrdinal(alpha=1.0).fit(X, np.full(len(X), 3.0), groups)
    assert ranker.thresholds_.shape == (0,)
    assert_array_equal(ranker.predict_grades(X), 3.0)
    assert_array_equal(ranker.predict_proba(X), 1.0)
