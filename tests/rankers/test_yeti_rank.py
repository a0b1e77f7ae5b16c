"""YetiRank as boosting on its loss, and the defaults of boosted rankers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.losses import LogLoss, RankCosineLoss, YetiRankLoss
from skrank.rankers import (
    MART,
    BoostedRanker,
    LambdaMART,
    RandomForestRanker,
    YetiRank,
)
from skrank.rankers._learning_rates import rate_for

SMALL = {"n_estimators": 8, "min_samples_leaf": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_features=6, n_informative=4, random_state=0)


def test_it_is_boosting_on_neighbours_in_noisy_rankings(data):
    X = data[0]
    for options in (
        {},
        {"n_rankings": 4, "noise": 0.5, "decay": "reciprocal", "gain": "exp2"},
    ):
        loss = YetiRankLoss(**{"n_rankings": 3, "decay": 0.93} | options)
        expected = BoostedRanker(loss, **SMALL).fit(*data).predict(X)
        assert_array_equal(YetiRank(**options, **SMALL).fit(*data).predict(X), expected)


def test_noise_is_that_of_the_seed_and_anew_for_every_tree(data):
    X = data[0]
    one, other = (
        YetiRank(**SMALL | {"random_state": seed}).fit(*data).predict(X)
        for seed in (0, 1)
    )
    assert (one != other).any()
    whole = YetiRank(**SMALL, learning_rate=0.1).fit(*data)
    parts = YetiRank(**SMALL | {"n_estimators": 3}, learning_rate=0.1, warm_start=True)
    parts.fit(*data).set_params(n_estimators=8).fit(*data)
    assert_array_equal(whole.predict(X), parts.predict(X))


def test_the_rate_grows_with_documents_and_falls_with_trees(data):
    assert rate_for(10_000, 200) == pytest.approx(0.05)
    assert rate_for(80_000, 200) == pytest.approx(0.1)
    assert rate_for(10_000, 400) == pytest.approx(0.025)
    assert rate_for(10**9, 10) == 0.3
    n = len(data[1])
    for n_trees in (10, 40):
        ranker = YetiRank(n_estimators=n_trees).fit(*data)
        assert ranker.learning_rate_ == rate_for(n, n_trees)
    assert YetiRank(n_estimators=2, learning_rate=0.7).fit(*data).learning_rate_ == 0.7


def depth_of_trees(ranker):
    """The mean depth of the trees."""
    forest, depths = ranker.ensemble_, np.zeros(len(ranker.ensemble_.feature_), int)
    for k in np.flatnonzero(forest.feature_ >= 0):
        depths[forest.left_[k] : forest.left_[k] + 2] = depths[k] + 1
    return np.maximum.reduceat(depths, forest.roots_).mean()


@pytest.mark.parametrize(("leaves", "ratio"), [(None, 3.0), (8, 0.0)])
def test_levels_must_gain_more_than_noise_unless_leaves_are_numbered(
    leaves, ratio, data
):
    options = SMALL | {"max_leaf_nodes": leaves}
    default = YetiRank(**options).fit(*data)
    same = YetiRank(**options, min_gain_to_noise=ratio).fit(*data)
    assert_array_equal(default.predict(data[0]), same.predict(data[0]))
    other = YetiRank(**options, min_gain_to_noise=1.0).fit(*data)
    assert (default.predict(data[0]) != other.predict(data[0])).any()


def test_trees_are_as_deep_as_the_data_can_tell(rng):
    X = rng.normal(size=(3000, 5))
    groups = np.repeat(np.arange(100), 30)
    product = 4.0 * (X[:, :4] > 0).all(axis=1)
    signal, noise = (
        MART(n_estimators=10, random_state=0).fit(X, y, groups)
        for y in (product, rng.random(3000))
    )
    assert depth_of_trees(signal) >= 3
    assert depth_of_trees(noise) < 2
    grown = MART(n_estimators=10, min_gain_to_noise=0.0, random_state=0)
    assert depth_of_trees(grown.fit(X, rng.random(3000), groups)) > 4


def test_the_unit_of_grades_does_not_matter_for_noise(rng):
    X, groups = rng.normal(size=(600, 5)), np.repeat(np.arange(20), 30)
    y = np.abs(X[:, 0] * X[:, 1] + rng.normal(size=600))
    forests = [
        MART(n_estimators=10, random_state=0).fit(X, unit * y, groups).ensemble_
        for unit in (1.0, 2.0**20, 2.0**-30)
    ]
    for forest in forests[1:]:
        assert_array_equal(forest.feature_, forests[0].feature_)


def test_documents_that_are_held_out_do_not_count_for_the_rate(data):
    ranker = YetiRank(n_estimators=20, early_stopping=True, random_state=0).fit(*data)
    assert ranker.learning_rate_ < rate_for(len(data[1]), 20)


def test_a_warm_start_keeps_the_rate_and_the_unit_of_the_penalty(data):
    options = SMALL | {"l2_regularization": 5.0, "warm_start": True}
    ranker = LambdaMART(**options).fit(*data)
    before = ranker.learning_rate_, ranker.hessian_unit_
    ranker.set_params(n_estimators=16).fit(*data)
    assert (ranker.learning_rate_, ranker.hessian_unit_) == before
    ranker.set_params(n_estimators=17, learning_rate=0.5).fit(*data)
    assert ranker.learning_rate_ == 0.5


def test_the_penalty_is_in_documents_of_mean_hessian(data):
    X, y, groups = data
    options = SMALL | {"l2_regularization": 20.0, "min_hessian_leaf": 0.0}
    options |= {"stochastic_rounding": False, "random_strength": 0.0}
    one = BoostedRanker(LogLoss(), **options).fit(X, y, groups)
    weight = np.full(len(y), 1024.0)
    many = BoostedRanker(LogLoss(), **options).fit(X, y, groups, sample_weight=weight)
    assert many.hessian_unit_ == pytest.approx(1024 * one.hessian_unit_)
    assert_allclose(many.predict(X), one.predict(X), rtol=1e-9)
    ptr = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [len(y)]])
    _, _, hessian = LogLoss().prepare(y, ptr).gradient_hessian(np.zeros(len(y)))
    assert one.hessian_unit_ == pytest.approx(hessian.mean())
    assert not RankCosineLoss().has_hessian
    assert BoostedRanker(RankCosineLoss(), **SMALL).fit(*data).hessian_unit_ == 1.0


def test_trees_are_symmetric_unless_their_leaves_are_limited(data):
    X = data[0]
    auto = LambdaMART(**SMALL).fit(*data).predict(X)
    symmetric = LambdaMART(growth="symmetric", max_depth=4, **SMALL).fit(*data)
    assert_array_equal(auto, symmetric.predict(X))
    auto = LambdaMART(max_leaf_nodes=7, **SMALL).fit(*data).predict(X)
    leafwise = LambdaMART(growth="leaf", max_leaf_nodes=7, **SMALL).fit(*data)
    assert_array_equal(auto, leafwise.predict(X))
    default = LambdaMART(growth="leaf", **SMALL).fit(*data).predict(X)
    named = LambdaMART(growth="leaf", max_leaf_nodes=31, **SMALL).fit(*data)
    assert_array_equal(default, named.predict(X))


@pytest.mark.parametrize("cls", [LambdaMART, RandomForestRanker])
def test_symmetric_trees_refuse_a_number_of_leaves(cls, data):
    ranker = cls(growth="symmetric", max_leaf_nodes=15, **SMALL)
    with pytest.raises(ValueError, match=r"max_leaf_nodes=15 limits .* max_depth"):
        ranker.fit(*data)


def test_models_keep_their_rate_when_saved(data, tmp_path):
    ranker = YetiRank(**SMALL, warm_start=True).fit(*data)
    save_model(ranker, tmp_path / "model.skrank")
    loaded = load_model(tmp_path / "model.skrank")
    assert loaded.learning_rate_ == ranker.learning_rate_
    for model in (ranker, loaded):
        model.set_params(n_estimators=12).fit(*data)
    assert_array_equal(loaded.predict(data[0]), ranker.predict(data[0]))
