"""Structured SVMs: certified minima, bounds of the measure, and kernels."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.metrics import AP, NDCG, evaluate_measure
from skrank.rankers import SVMMAP, SVMMRR, SVMNDCG, PermuRank, StructuredSVMRanker
from skrank.solvers import CuttingPlane


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=25, n_features=6, n_informative=4, random_state=0)


def constraints(X, y, groups):
    """Slope and constant of the violation of every ranking, by every query."""
    found = []
    for query in np.unique(groups):
        rows, grades = X[groups == query], y[groups == query]
        m, relevant = len(grades), grades > 0
        ranks = np.array(list(permutations(range(m))))
        ptr = m * np.arange(len(ranks) + 1)
        ap = AP().per_query(np.tile(grades, len(ranks)), -1.0 * ranks.ravel(), ptr)
        differ = relevant[:, None] & ~relevant
        below = ranks[:, :, None] > ranks[:, None, :]  # the first document of the two
        turned = (below & differ).reshape(len(ranks), -1).astype(float)
        pairs = (rows[:, None, :] - rows[None, :, :]).reshape(m * m, -1)
        found.append((-2.0 * turned @ pairs / differ.sum(), 1.0 - ap))
    return found


@pytest.mark.parametrize("alpha", [1.0, 0.05])
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_the_gap_is_certified_by_a_quadratic_program(alpha, tol):
    rng = np.random.default_rng(0)
    n_queries, m, d = 4, 4, 3
    X, groups = rng.normal(size=(n_queries * m, d)), np.repeat(np.arange(n_queries), m)
    y = np.tile([1.0, 0.0, 0.0, 1.0], n_queries)
    planes = constraints(X, y, groups)
    S = np.vstack([slopes for slopes, _ in planes])
    c = np.concatenate([constants for _, constants in planes])
    query = np.repeat(np.arange(n_queries), [len(k) for _, k in planes])
    slack = np.eye(n_queries)[query]
    weights = np.append(np.zeros(d), np.full(n_queries, 1.0 / n_queries))
    best = minimize(
        lambda z: 0.5 * alpha * z[:d] @ z[:d] + weights @ z,
        np.append(np.zeros(d), np.ones(n_queries)),
        jac=lambda z: np.append(alpha * z[:d], np.zeros(n_queries)) + weights,
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda z: slack @ z[d:] - S @ z[:d] - c,
            "jac": lambda z: np.hstack([-S, slack]),
        },
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    ranker = SVMMAP(alpha=alpha, tol=tol).fit(X, y, groups)
    w = ranker.coef_
    value = 0.5 * alpha * w @ w + np.mean([(s @ w + k).max() for s, k in planes])
    assert best.success
    assert_allclose(ranker.loss_curve_[-1], value, rtol=1e-9)
    assert ranker.gap_ <= tol * value
    assert -1e-8 <= value - best.fun <= ranker.gap_ + 1e-8


@pytest.mark.parametrize(
    "ranker",
    [SVMMAP(), SVMMRR(), SVMNDCG(k=5), SVMNDCG(weights="discount"), PermuRank()],
)
def test_the_objective_bounds_what_the_measure_falls_short_of(data, ranker):
    X, y, groups = data
    ranker.set_params(alpha=1e-3).fit(X, y, groups)
    measure = ranker.loss_.measure
    measure = AP() if isinstance(measure, str) else measure
    found = evaluate_measure(measure, y, ranker.predict(X), groups=groups)
    share = 1.02 if isinstance(ranker, PermuRank) else 1.0  # its round_tol
    assert 1.0 - found <= share * ranker.loss_curve_[-1]
    assert ranker.gap_ <= 1e-3 * ranker.loss_curve_[-1]


def test_names_are_choices_of_the_measure(data):
    pairs = [
        (SVMMAP(relevance_level=2), AP(relevance_level=2)),
        (SVMMRR(k=3), "mrr@3"),
        (SVMNDCG(k=5, gain="linear"), NDCG(5, gain="linear")),
    ]
    for ranker, measure in pairs:
        other = StructuredSVMRanker(measure=measure).fit(*data)
        assert_allclose(ranker.fit(*data).coef_, other.coef_, rtol=1e-12)


def test_gaps_are_told_by_solvers_that_know_them(data):
    ranker = SVMMAP(max_iter=3, solver="adam", random_state=0).fit(*data)
    assert not hasattr(ranker, "gap_")
    ranker.set_params(solver=CuttingPlane(tol=1e-6), max_iter=None).fit(*data)
    assert ranker.gap_ <= 1e-6 * ranker.loss_curve_[-1]
    ranker.set_params(solver="adam", max_iter=3).fit(*data)
    assert not hasattr(ranker, "gap_")


def test_a_gap_is_that_of_the_parameters(data):
    X, y, groups = data
    held = {"X_val": X, "y_val": y[::-1].copy(), "groups_val": groups}
    ranker = SVMMAP(n_iter_no_change=2, random_state=0).fit(*data, **held)
    assert ranker.best_iteration_ < ranker.n_iter_
    assert not hasattr(ranker, "gap_")
    ranker.set_params(n_iter_no_change=None, early_stopping=False).fit(*data)
    gap, params = ranker.gap_, ranker.params_
    # Of a warm start of which nothing is kept.
    held["y_val"] = np.minimum(ranker.rank(X, groups).max() - ranker.rank(X, groups), 9)
    ranker.set_params(warm_start=True, early_stopping=True, alpha=1.0)
    ranker.fit(*data, **held)
    assert ranker.best_iteration_ == 0
    assert np.array_equal(ranker.params_, params)
    assert not hasattr(ranker, "gap_")
    assert gap > 0


def test_kernels_lower_the_bound(data):
    linear, kernel = (
        SVMMAP(alpha=1e-3, kernel=k, n_components=60, random_state=0).fit(*data)
        for k in ("linear", "rbf")
    )
    assert kernel.coef_.shape == (60,)
    assert kernel.loss_curve_[-1] < 1.0
    assert linear.loss_curve_[-1] < 1.0


def test_rounds_end_where_rankings_no_longer_raise_the_objective(data):
    few = PermuRank(max_rounds=1, alpha=1e-3).fit(*data)
    many = PermuRank(alpha=1e-3).fit(*data)
    assert not few.converged_
    assert many.converged_
    assert many.loss_curve_[-1] >= few.loss_curve_[-1]
    assert many.n_iter_ > few.n_iter_


def test_equal_scores_that_are_best_are_told():
    X, y, groups = make_ranking(n_queries=20, docs_per_query=30, random_state=0)
    ranker = SVMNDCG(weights=[1.0] * 30)  # by which all rankings are alike
    with pytest.warns(TrainingDataWarning, match="least where all scores are equal"):
        ranker.fit(X, y, groups)
    assert not ranker.params_.any()


@pytest.mark.parametrize("give", [lambda ranks: 1.0, lambda ranks: [1.0]])
def test_functions_give_a_weight_for_every_rank(give):
    X, y, groups = make_ranking(n_queries=5, random_state=0)
    with pytest.raises(ValueError, match="weights must give one number per rank"):
        SVMNDCG(weights=give).fit(X, y, groups)


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (3, 0), (3, 1), ()])
def test_weights_of_positions_have_one_axis(shape, data):
    with pytest.raises(ValueError, match=r"^SVMNDCG: weights must be"):
        SVMNDCG(weights=np.ones(shape)).fit(*data)
