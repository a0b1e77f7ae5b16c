"""RankCosine on data with a known optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank.datasets import make_ranking
from skrank.losses import RankCosineLoss
from skrank.rankers import BoostedRanker, RankCosine


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, random_state=0)


@pytest.mark.parametrize("transform", ["linear", "exponential", "logistic"])
def test_finds_scores_that_are_the_grades(transform):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    groups = np.repeat(np.arange(20), 10)
    grades = X @ [1.0, -2.0, 0.5] + 8.0  # all above 0
    ranker = RankCosine(transform, gamma=0.3, tol=1e-10).fit(X, grades, groups)
    assert_allclose(ranker.loss_curve_[-1], 0.0, atol=1e-7)
    coef, expected = ranker.coef_, np.array([1.0, -2.0, 0.5])
    if transform == "linear":  # whose scale is free
        coef, expected = coef / coef[0], expected / expected[0]
    assert_allclose(coef, expected, rtol=1e-2)


@pytest.mark.parametrize("transform", ["linear", "exponential", "logistic"])
def test_ranks_better_than_chance_with_networks_and_trees(data, transform):
    network = RankCosine(
        transform, hidden_layer_sizes=(4,), max_iter=30, random_state=0
    )
    trees = BoostedRanker(
        RankCosineLoss(transform), n_estimators=10, min_samples_leaf=5
    )
    for ranker in (network, trees, RankCosine(transform)):
        assert ranker.fit(*data).score(*data) > 0.75
        assert ranker.loss_curve_.min() >= 0.0
        assert ranker.loss_curve_.max() <= 1.0


def test_a_loss_without_scale_takes_no_penalty(data):
    with pytest.raises(ValueError, match="RankCosine: alpha must be 0 where transform"):
        RankCosine("linear", alpha=0.1).fit(*data)
