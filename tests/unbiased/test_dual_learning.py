"""Scores and propensities that correct each other."""

import numpy as np
import pytest
import sklearn
from _biased_clicks import click_data
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy
from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.losses import ListNetLoss
from skrank.metrics import get_measure, make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import ListNet
from skrank.solvers import Adam
from skrank.unbiased import DualLearningRanker
from skrank.unbiased._dual_learning import DualObjective

DATA = click_data()
X, Y, GROUPS, CLICKS, POSITIONS, CURVE = DATA


def _fit(positions=POSITIONS, clicks=CLICKS, **options):
    options = {"max_iter": 30, "random_state": 0} | options
    ranker = DualLearningRanker(**options)
    return ranker.fit(X, clicks, GROUPS, positions=positions)


def test_propensities_and_scores_are_found_from_clicks():
    ranker = _fit()
    assert_allclose(ranker.propensities_, CURVE, atol=0.15)
    assert ranker.propensities_[0] == 1.0
    naive = ListNet().fit(X, CLICKS, GROUPS).score(X, Y, GROUPS)
    skyline = ListNet().fit(X, Y, GROUPS).score(X, Y, GROUPS)
    assert ranker.score(X, Y, GROUPS) > 0.5 * (naive + skyline)


def _objective(max_weight):
    ptr = np.array([0, 3, 4, 8])
    rng = np.random.RandomState(0)
    data = GroupedRows(
        rng.standard_normal((8, 2)),
        np.array([1.0, 0, 1, 1, 0, 1, 0, 0]),
        ptr,
        sample_weight=1.0 + rng.random_sample(8),
        side={"positions": np.array([2, 1, 3, 1, 4, 2, 1, 3])},
    )
    energy = LinearEnergy(fit_intercept=False)
    energy.setup(data.X, rng, data.y, data.ptr)
    objective = DualObjective(energy, ListNetLoss(), data, 0.1)
    objective.max_weight, objective.n_places = max_weight, 4
    return objective, np.concatenate(
        [rng.standard_normal(2), 0.7 * rng.standard_normal(4)]
    )


@pytest.mark.parametrize("max_weight", [1e6, 1.5])
def test_the_value_and_the_gradient_are_those_of_a_loop(max_weight):
    objective, params = _objective(max_weight)
    data = objective.data
    f, g = data.X @ params[:2], params[2:][data.side["positions"] - 1]
    first = [1, 3, 6]  # rows shown in the first place
    clicks = data.y * data.sample_weight
    total, slope = 0.0, np.zeros(6)
    for q in range(3):
        rows = np.arange(data.ptr[q], data.ptr[q + 1])
        for i in rows[data.y[rows] > 0]:
            by_place = clicks[i] * min(np.exp(params[2] - g[i]), max_weight)
            by_score = clicks[i] * min(np.exp(f[first[q]] - f[i]), max_weight)
            at = list(rows).index(i)
            total -= (
                by_place * log_softmax(f[rows])[at]
                + by_score * log_softmax(g[rows])[at]
            )
            for j in rows:
                apart = float(i == j)
                chance_f = np.exp(log_softmax(f[rows]))[list(rows).index(j)]
                chance_g = np.exp(log_softmax(g[rows]))[list(rows).index(j)]
                slope[:2] += by_place * (chance_f - apart) * data.X[j]
                place = data.side["positions"][j] - 1
                slope[2 + place] += by_score * (chance_g - apart)
    penalty = 0.05 * params[:2] @ params[:2]
    value, gradient = objective.value_gradient(params)
    assert_allclose(value, total / clicks.sum() + penalty)
    slope /= clicks.sum()
    slope[:2] += 0.1 * params[:2]
    assert_allclose(gradient, slope)


def test_two_losses_that_weigh_each_other_are_not_convex():
    """Although the energy is linear, and the loss of lists by itself convex."""
    objective, params = _objective(1.5)
    assert objective.energy.linear
    assert ListNetLoss().convex
    assert not objective.convex
    rng = np.random.default_rng(0)
    steps = [3.0 * rng.normal(size=len(params)) for _ in range(20)]
    above = [
        objective.value_gradient(params)[0]
        - (
            objective.value_gradient(params + step)[0]
            + objective.value_gradient(params - step)[0]
        )
        / 2
        for step in steps
    ]
    assert max(above) > 0.01


def test_batches_average_to_the_whole():
    objective, params = _objective(10.0)
    whole = objective.value_gradient(params)
    parts = [objective.batch(np.array([q])).value_gradient(params) for q in range(3)]
    assert_allclose(np.mean([value for value, _ in parts]), whole[0])
    assert_allclose(np.mean([gradient for _, gradient in parts], axis=0), whole[1])


def test_clicks_in_one_place_leave_the_ranker_of_lists():
    """Where every click is in the first place, there is nothing to correct."""
    clicks = ((POSITIONS == 1) & (np.arange(len(X)) % 5 > 0)).astype(float)
    solver = Adam(learning_rate=0.01, max_iter=5)
    own = _fit(clicks=clicks, solver=solver, max_iter=None, alpha=0.0)
    plain = ListNet(solver=solver, random_state=0, alpha=0.0)
    plain.fit(X, clicks * 50.0, GROUPS)  # gains this large leave one document
    assert np.corrcoef(own.coef_, plain.coef_)[0, 1] > 0.99
    assert (own.propensities_[1:] < 0.9).all()


def test_a_seed_gives_the_same_bits_for_any_number_of_threads_and_order():
    one = _fit(max_iter=3, hidden_layer_sizes=(4,))
    order = np.concatenate([np.flatnonzero(q == GROUPS) for q in range(999, -1, -1)])
    two = DualLearningRanker(
        max_iter=3, random_state=0, hidden_layer_sizes=(4,), n_jobs=4
    ).fit(X[order], CLICKS[order], GROUPS[order], positions=POSITIONS[order])
    assert_array_equal(one.params_, two.params_)
    assert_array_equal(one.propensities_, two.propensities_)


def test_a_warm_start_goes_on_with_the_propensities():
    first = _fit(max_iter=20, warm_start=True)
    before = first.propensities_
    first.set_params(max_iter=1).fit(X, CLICKS, GROUPS, positions=POSITIONS)
    assert np.abs(first.propensities_ - before).max() < 0.1


def test_a_warm_start_takes_places_beyond_for_equal_to_the_first():
    ranker = _fit(max_iter=1, warm_start=True)
    n = len(ranker.propensities_)
    solver = Adam(learning_rate=1e-9)  # stays where it starts
    ranker.set_params(solver=solver, max_iter=1)
    before = ranker.propensities_
    further = np.where(n == POSITIONS, n + 1, POSITIONS)
    ranker.fit(X, CLICKS, GROUPS, positions=further)
    assert_allclose(ranker.propensities_[: n - 1], before[: n - 1], rtol=1e-4)
    assert ranker.propensities_[n] == pytest.approx(1.0, rel=1e-4)


def test_places_that_no_row_has_lie_between_their_neighbours():
    ranker = _fit(positions=np.where(POSITIONS >= 3, POSITIONS + 1, POSITIONS))
    curve = ranker.propensities_
    assert len(curve) == 7
    assert_allclose(curve[2], np.sqrt(curve[1] * curve[3]))


def test_the_first_place_has_the_propensity_1_where_no_row_has_it():
    curve = _fit(positions=POSITIONS + 1).propensities_
    assert curve[:2].tolist() == [1.0, 1.0]
    assert_allclose(curve[1:], CURVE, atol=0.2)


def test_validation_queries_choose_the_epoch():
    held = {"X_val": X[:600], "y_val": Y[:600], "groups_val": GROUPS[:600]}
    ranker = DualLearningRanker(max_iter=8, random_state=0)
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, **held)
    values = get_measure(ranker.validation_measure).per_query(
        Y[:600], ranker.predict(X[:600]), np.arange(101) * 6
    )
    assert_allclose(np.nanmean(values), ranker.validation_curve_.max())


def test_the_best_iteration_is_the_one_that_was_kept():
    rows, y, groups = make_ranking(n_queries=60, noise=2.0, random_state=0)
    train, held = groups < 40, groups >= 40
    places = np.arange(len(y)) % 10 + 1
    ranker = DualLearningRanker(
        hidden_layer_sizes=(16,), max_iter=40, n_iter_no_change=3, random_state=0
    )
    ranker.fit(
        rows[train],
        (y[train] > 1).astype(float),
        groups[train],
        positions=places[train],
        X_val=rows[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    curve = ranker.validation_curve_
    assert ranker.best_iteration_ == 1 + curve.argmax() < ranker.n_iter_
    assert ranker.n_iter_ == len(curve)
    assert ranker.score(rows[held], y[held], groups[held]) == curve.max()


def test_positions_are_routed():
    ranker = make_pipeline(StandardScaler(), DualLearningRanker(max_iter=3))
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            ranker,
            X,
            CLICKS,
            cv=QueryKFold(2),
            scoring=make_ranking_scorer("ndcg@5"),
            params={"groups": GROUPS, "positions": POSITIONS},
        )
    assert np.isfinite(scores).all()


def test_a_model_file_brings_it_back(tmp_path):
    ranker = _fit(max_iter=2)
    save_model(ranker, tmp_path / "dual.skrank")
    again = load_model(tmp_path / "dual.skrank")
    assert_array_equal(again.predict(X), ranker.predict(X))
    assert_array_equal(again.propensities_, ranker.propensities_)


def test_bad_arguments_are_refused():
    with pytest.raises(InvalidParameterError, match="solver must be one that steps"):
        _fit(solver="lbfgs")
    with pytest.raises(InvalidParameterError, match="max_weight must be a number >= 1"):
        _fit(max_weight=0.5)
    with pytest.raises(ValueError, match=r"DualLearningRanker.fit needs positions"):
        DualLearningRanker().fit(X, CLICKS, GROUPS)
    with pytest.raises(ValueError, match="positions must hold whole numbers from 1"):
        _fit(positions=POSITIONS - 1)
