"""Forests: means of trees on drawn queries."""

import numpy as np
import pytest

from skrank.datasets import make_ranking
from skrank.losses import LogisticLoss, LogLoss
from skrank.rankers import RandomForestRanker

FAST = {"n_estimators": 10, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_features=8, n_informative=4, random_state=0)


def test_leaves_of_one_tree_hold_mean_grades(data):
    X, y, groups = data
    ranker = RandomForestRanker(
        n_estimators=1, bootstrap=False, max_features=1.0, max_leaf_nodes=6
    ).fit(X, y, groups)
    scores = ranker.predict(X)
    assert len(np.unique(scores)) == 6
    for value in np.unique(scores):
        np.testing.assert_allclose(value, y[scores == value].mean())


def test_all_trees_see_the_same_without_bootstrap(data):
    options = {"bootstrap": False, "max_features": 1.0, "stochastic_rounding": False}
    one = RandomForestRanker(n_estimators=1, **options).fit(*data)
    ten = RandomForestRanker(n_estimators=10, **options).fit(*data)
    np.testing.assert_allclose(one.predict(data[0]), ten.predict(data[0]), rtol=1e-12)


def test_a_tree_sees_whole_queries_with_their_multiplicity(data):
    X, y, groups = data
    ranker = RandomForestRanker(**FAST, max_leaf_nodes=2).fit(X, y, groups)
    forest = ranker.ensemble_
    sizes = np.bincount(groups)[np.unique(groups)]
    # Hessians of the squared loss are 2 per row and draw; 40 queries are drawn.
    weight = forest.weight_[forest.roots_] / 2
    assert (forest.count_[forest.roots_] < len(y)).all()
    assert (weight > forest.count_[forest.roots_]).all()
    assert 0.7 < weight.mean() / (40 * sizes.mean()) < 1.3


def test_the_forest_is_the_mean_of_its_trees(data):
    X = data[0]
    ranker = RandomForestRanker(**FAST).fit(*data)
    total = np.zeros((len(X), 1))
    for tree in range(10):
        ranker.ensemble_.add_to(total, X, tree, tree + 1)
    np.testing.assert_allclose(ranker.predict(X), total[:, 0])
    assert data[1].min() <= ranker.predict(X).min()
    assert ranker.predict(X).max() <= data[1].max()


@pytest.mark.parametrize("loss", [LogisticLoss(), LogLoss()])
def test_other_losses(loss, data):
    assert RandomForestRanker(loss=loss, **FAST).fit(*data).score(*data) > 0.8


def test_features_are_drawn_per_split(data):
    ranker = RandomForestRanker(**FAST, max_features=1, max_leaf_nodes=2).fit(*data)
    roots = ranker.ensemble_.feature_[ranker.ensemble_.roots_]
    assert len(set(roots)) > 2


def test_random_thresholds_gain_less_and_rank_as_well(data):
    gains = []
    for splitter in ("best", "random"):
        ranker = RandomForestRanker(**FAST, splitter=splitter).fit(*data)
        gains.append(ranker.ensemble_.gain_[ranker.ensemble_.roots_].mean())
        assert ranker.score(*data) > 0.75
    assert gains[1] < 0.9 * gains[0]


def test_progress(data, capsys):
    seen = []
    RandomForestRanker(**FAST, verbose=2, callback=seen.append).fit(*data)
    assert [info["iteration"] for info in seen] == list(range(11))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "[RandomForestRanker] iteration    10"
    assert len(lines) == 10
