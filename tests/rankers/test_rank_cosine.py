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


def _slopes(transform, scores, y, groups, gamma=0.5):
    """Slopes of the falling loss, query by query from the formula, by differences."""
    phi = {
        "linear": lambda s: s,
        "exponential": lambda s: np.exp(gamma * s),
        "logistic": lambda s: 1.0 / (1.0 + np.exp(-gamma * s)),
    }[transform]

    def loss(scores):
        total = 0.0
        for query in np.unique(groups):
            target, image = phi(y[groups == query]), phi(scores[groups == query])
            lengths = np.sqrt(target @ target) * np.sqrt(image @ image)
            total += 0.5 - target @ image / (2.0 * lengths)
        return total

    steps = 1e-6 * np.eye(len(scores))
    return np.array([loss(scores - s) - loss(scores + s) for s in steps]) / 2e-6


@pytest.mark.parametrize("transform", ["linear", "exponential", "logistic"])
def test_a_stump_is_the_mean_slope_on_the_best_side_of_one_feature(transform, rng):
    X = rng.permutation(np.linspace(-1.0, 1.0, 48)).reshape(24, 2)
    y = rng.integers(0, 3, size=24).astype(float)
    groups = np.repeat(np.arange(4), 6)
    y[::6], y[1::6] = 0.0, 2.0
    start = rng.normal(size=24)
    ranker = BoostedRanker(
        RankCosineLoss(transform, gamma=0.5),
        n_estimators=1,
        learning_rate=3.0,
        max_leaf_nodes=2,
        min_samples_leaf=2,
        stochastic_rounding=False,
        random_strength=0.0,
    ).fit(X, y, groups, init_score=start)
    slopes = _slopes(transform, start, y, groups)
    found = {}
    for j in range(2):
        for threshold in np.sort(X[:, j])[1:-2]:
            above = X[:, j] > threshold
            sides = slopes[above], slopes[~above]
            found[j, threshold] = sum(side.sum() ** 2 / len(side) for side in sides)
    j, threshold = max(found, key=lambda split: found[split])
    above = X[:, j] > threshold
    expected = np.where(above, slopes[above].mean(), slopes[~above].mean())
    assert_allclose(ranker.predict(X), 3.0 * expected, rtol=2e-3, atol=1e-6)


def test_the_first_linear_stump_points_to_the_grades():
    # Scores of 0 have no direction: the slope is the one towards the grades, of the
    # same length in every query, and any learning rate gives the same loss after it.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [0.5], [2.5]])
    y, groups = np.array([0.0, 0, 3, 4, 0, 2]), np.array([0, 0, 0, 0, 1, 1])
    losses = []
    for rate in (0.01, 1.0, 100.0):
        ranker = BoostedRanker(
            RankCosineLoss("linear"),
            n_estimators=2,
            learning_rate=rate,
            max_leaf_nodes=2,
            min_samples_leaf=1,
            random_strength=0.0,
        ).fit(X, y, groups)
        losses.append(ranker.loss_curve_)
    first = next(ranker.staged_predict(X)) / 100.0
    high = np.mean([0.3, 0.4, 0.5])  # y / (2 |y|) of the documents above the threshold
    assert_allclose(first, [0.0, 0.0, high, high, 0.0, high], rtol=1e-4, atol=1e-6)
    cosine = 7.0 / (5.0 * np.sqrt(2.0))
    for curve in losses:
        assert_allclose(curve[:2], [0.5, 0.5 * (0.5 - 0.5 * cosine)], rtol=1e-6)


def test_stumps_make_an_additive_model(data):
    X, y, groups = data
    ranker = BoostedRanker(RankCosineLoss(), max_leaf_nodes=2, learning_rate=5.0)
    ranker.fit(X, y, groups)
    assert np.all(np.diff(ranker.loss_curve_) < 1e-12)
    left, right = X[:50].copy(), X[50:100].copy()
    left[:, :10], right[:, :10] = X[50:100, :10], X[:50, :10]  # exchanged features
    exchanged = ranker.predict(left) + ranker.predict(right)
    assert_allclose(exchanged, ranker.predict(X[:50]) + ranker.predict(X[50:100]))
