"""Rankers of smooth measures: what they minimise, where they start, and annealing."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy, MLPEnergy
from skrank.exceptions import InvalidParameterError
from skrank.losses import smooth
from skrank.metrics import AP, DCG, NDCG
from skrank.rankers import (
    ApproxAP,
    ApproxNDCG,
    BoostedRanker,
    DecisionTheoreticRanker,
    EnergyRanker,
    ListNet,
    RankSVM,
    SmoothRank,
    SoftRank,
)
from skrank.rankers._soft_rank import _NoiseObjective
from skrank.solvers import LBFGS, Adam, SmoothingHomotopy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LOSSES = [
    (ApproxNDCG(k=3, gain="linear"), smooth(NDCG(3, gain="linear"), width=0.3)),
    (ApproxAP(k=4, width=0.5), smooth(AP(4), width=0.5)),
    (SoftRank("err", sigma=0.4), smooth("err", "softrank", width=0.4)),
    (SoftRank("p@3", ranks="gaussian"), smooth("p@3", "softrank-gaussian", width=0.3)),
    (SmoothRank("mrr"), smooth("mrr", "softmax", width=0.1)),
    (DecisionTheoreticRanker(width=2.0), smooth("ndcg@10", "probit-binomial", width=2)),
]


@pytest.fixture
def data(ragged):
    X, y, groups = ragged
    order = np.argsort(groups, kind="stable")
    return X[order], y[order], groups[order]


@pytest.mark.parametrize(("ranker", "loss"), LOSSES, ids=str)
def test_rankers_minimise_the_smooth_measure(ranker, loss, data):
    X, y, groups = data
    ranker.set_params(solver=LBFGS(max_iter=15), start="energy", alpha=1e-3).fit(
        X, y, groups
    )
    constant = isinstance(ranker, DecisionTheoreticRanker)
    composed = EnergyRanker(
        LinearEnergy(fit_intercept=constant),
        loss,
        solver=LBFGS(max_iter=15),
        alpha=1e-3,
    )
    composed.fit(X, y, groups)
    found, expected = ranker.loss_curve_, composed.loss_curve_
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ranker.coef_, composed.coef_)


def test_training_starts_at_a_minimum_of_listnet(data):
    X, y, groups = data
    seen = []
    ranker = ApproxNDCG(callback=seen.append, max_iter=1, alpha=1e-2).fit(X, y, groups)
    listnet = ListNet(alpha=1e-2).fit(X, y, groups)
    np.testing.assert_allclose(seen[0]["params"], listnet.params_, rtol=1e-6)
    assert np.abs(ranker.coef_ - listnet.coef_).max() > 1e-3


def test_cut_off_measures_of_long_lists_need_the_start():
    """The ranks of equal scores are far behind the cut-off, where all is flat."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(600, 3)), np.repeat([0, 1, 2], 200)
    y = (X[:, 0] > 1).astype(float)
    flat = ApproxNDCG(start="energy", width=0.1).fit(X, y, groups)
    assert flat.n_iter_ == 0
    assert ApproxNDCG(width=0.1).fit(X, y, groups).score(X, y, groups) > 0.95


def test_smooth_rank_anneals_its_temperature(data):
    X, y, groups = data
    ranker = SmoothRank("map", width=0.2, first_width=2.0, factor=0.1, max_iter=7)
    solver = ranker._resolve_solver(LinearEnergy())
    assert solver._widths() == [2.0, 0.2]
    assert solver.max_iter == 7
    ranker.fit(X, y, groups)
    start = ListNet(alpha=1e-3).fit(X, y, groups)
    warm = EnergyRanker(
        loss=smooth("map", "softmax", width=0.2), alpha=1e-3, warm_start=True
    )
    warm.fit(X, y, groups)
    warm.params_ = start.params_
    warm.set_params(solver=SmoothingHomotopy(**solver.get_params(deep=False)))
    warm.fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, warm.coef_, rtol=1e-9)
    with pytest.raises(InvalidParameterError, match="first_width must be at least wid"):
        SmoothRank(width=2.0).fit(X, y, groups)


def rows(X, y, groups):
    ptr = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups))
    return GroupedRows(X, y, ptr)


def test_the_objective_of_learned_noise_and_its_gradient(data):
    loss = smooth("map", "softrank")
    grouped = rows(*data)
    energy = LinearEnergy()
    objective = _NoiseObjective(Objective(energy, loss, grouped, alpha=0.1))
    rng = np.random.default_rng(0)
    params = np.append(rng.normal(size=data[0].shape[1]), 0.4)
    value, gradient = objective.value_gradient(params)
    plain = Objective(energy, loss.smoothed(np.exp(0.4)), grouped, alpha=0.1)
    expected = plain.value_gradient(params[:-1])[0] + 0.05 * 0.4**2
    np.testing.assert_allclose(value, expected)
    slopes = approx_fprime(params, lambda p: objective.value_gradient(p)[0], 1e-7)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-6)
    batches = [objective.batch(np.array([q])) for q in range(objective.n_queries)]
    parts = [batch.value_gradient(params) for batch in batches]
    np.testing.assert_allclose(np.mean([part[0] for part in parts]), value)
    np.testing.assert_allclose(np.mean([part[1] for part in parts], axis=0), gradient)


@pytest.mark.parametrize("sizes", [(), (4,)])
def test_learned_noise_is_not_part_of_the_scores(sizes, data):
    X, y, groups = data
    ranker = SoftRank(
        sigma="learned", hidden_layer_sizes=sizes, max_iter=3, random_state=0
    ).fit(X, y, groups)
    assert ranker.sigma_ == np.exp(ranker.params_[-1]) != 1.0
    scores = ranker.energy_.scores(ranker.params_[:-1], X)
    np.testing.assert_allclose(ranker.predict(X), scores)
    np.testing.assert_allclose(ranker.energies(X), -scores)
    again = ranker.set_params(warm_start=True, max_iter=1)
    assert again.fit(X, y, groups).params_.shape == ranker.params_.shape


def test_given_noise_is_told(data):
    assert SoftRank(sigma=0.7, max_iter=2).fit(*data).sigma_ == 0.7


def test_clicks_are_a_utility(data):
    X, y, groups = data
    clicks = DCG(gain=lambda grade: 0.2 * grade, discount=[0.8, 0.5, 0.3, 0.1])
    ranker = DecisionTheoreticRanker(clicks, max_iter=20).fit(X, y, groups)
    assert ranker.loss_curve_[-1] < ranker.loss_curve_[0] < 0  # negative clicks
    assert ranker.score(X, y, groups) > 0.7


@pytest.mark.parametrize("method", ["softrank", "sigmoid", "neuralsort"])
def test_smooth_measures_train_trees_and_networks(method, data):
    X, y, groups = data
    loss = smooth("ndcg@5", method, width=0.5)
    trees = BoostedRanker(loss=loss, n_estimators=20, min_samples_leaf=3)
    network = EnergyRanker(
        MLPEnergy(hidden_layer_sizes=(8,)),
        loss,
        solver=Adam(max_iter=30),
        random_state=0,
    )
    for ranker in (trees, network):
        assert ranker.fit(X, y, groups).score(X, y, groups) > 0.75


def test_factors_close_to_1_are_refused():
    """Widths from 1e300 to 0.1 halve about a thousand times, which is no hindrance."""
    X, y, groups = make_ranking(n_queries=3, random_state=0)
    message = r"SmoothRank: factor must be at most 0\.99.* to 0\.1, got 0\.9999"
    with pytest.raises(InvalidParameterError, match=message):
        SmoothRank(factor=0.9999).fit(X, y, groups)
    message = "SmoothingHomotopy: factor must be at most 0.99"
    with pytest.raises(InvalidParameterError, match=message):
        RankSVM(solver=SmoothingHomotopy(factor=1 - 1e-16), hinge="linear").fit(
            X, y, groups
        )
    ranker = SmoothRank("mrr", first_width=1e300, max_iter=2, start="energy")
    assert np.isfinite(ranker.fit(X, y, groups).predict(X)).all()
