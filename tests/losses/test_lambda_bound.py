"""Bounds of the LambdaLoss framework against loops over their formulas."""

from itertools import pairwise

import numpy as np
import pytest

from skrank.losses import LambdaBoundLoss, LambdaLoss, LogLoss
from skrank.rankers import BoostedRanker, EnergyRanker
from skrank.solvers import Adam, IteratedWeights

BOUNDS = ("ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2")


def ranks_of(scores):
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    return ranks


def pair_weight(bound, u, v, y, gain, ranks, mu):
    """Weight of the pair (u, v), whose first document should not be behind."""
    if bound == "arp1":
        return y[u] / y.sum()
    if bound == "ndcg1":
        return gain[u] / np.log2(1 + ranks[u])
    if y[u] <= y[v]:
        return 0.0
    if bound == "arp2":
        return (y[u] - y[v]) / y.sum()
    apart = abs(ranks[u] - ranks[v])
    delta = 1 / np.log2(1 + apart) - 1 / np.log2(2 + apart)
    rho = abs(1 / np.log2(1 + ranks[u]) - 1 / np.log2(1 + ranks[v]))
    factor = delta if bound == "ndcg2" else rho + mu * delta
    return factor * (gain[u] - gain[v])


def looped(bound, y, scores, ranks, weight, mu=10.0, sigma=1.0):
    gain = 2.0**y - 1
    best = np.sort(gain)[::-1] @ (1 / np.log2(1 + np.arange(1, len(y) + 1)))
    total = 0.0
    for u in range(len(y)):
        for v in range(len(y)):
            if u != v:
                w = weight[u] * pair_weight(bound, u, v, y, gain / best, ranks, mu)
                total += w * np.log2(1 + np.exp(-sigma * (scores[u] - scores[v])))
    return total


@pytest.fixture
def graded(rng):
    ptr = np.array([0, 6, 7, 18, 29])
    y = rng.integers(0, 5, 29).astype(float)
    return y, ptr, rng.normal(size=29), rng.uniform(0.5, 2.0, 29)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sigma", [1.0, 0.4])
def test_values_are_those_of_the_formulas(bound, weighted, sigma, graded):
    y, ptr, scores, weight = graded
    weight = weight if weighted else np.ones(29)
    loss = LambdaBoundLoss(bound, mu=3.0, sigma=sigma)
    values, _ = loss.value_gradient(y, scores, ptr, weight)
    for q, (a, b) in enumerate(pairwise(ptr)):
        part = slice(a, b)
        expected = looped(
            bound, y[part], scores[part], ranks_of(scores[part]), weight[part], 3, sigma
        )
        np.testing.assert_allclose(values[q], expected * (b - a > 1), rtol=1e-12)


@pytest.mark.parametrize("bound", ["ndcg1", "ndcg2", "ndcg2++"])
def test_gains_may_be_linear(bound, graded):
    y, ptr, scores, _ = graded
    found = LambdaBoundLoss(bound, gain="linear").value_gradient(y, scores, ptr)
    # Grades of which 2^y - 1 is the gain.
    expected = LambdaBoundLoss(bound).value_gradient(np.log2(1 + y), scores, ptr)
    for i in range(2):
        np.testing.assert_allclose(found[i], expected[i], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("bound", BOUNDS)
def test_queries_without_different_grades_add_nothing(bound):
    y, ptr = [0.0, 0.0, 3.0, 3.0, 1.0, 0.0], [0, 2, 4, 6]
    prepared = LambdaBoundLoss(bound).prepare(y, ptr)
    values, gradient = prepared.value_gradient(np.arange(6.0))
    assert prepared.total_weight == 1.0
    assert values[:2].tolist() == [0.0, 0.0]
    assert values[2] > 0
    assert not gradient[:4].any()


def test_the_mean_is_over_queries_of_different_grades():
    y, ptr = [0.0, 1.0, 1.0, 2.0, 1.0, 1.0], [0, 2, 4, 6]
    prepared = LambdaBoundLoss("ndcg2", gain=[1.0, 1.0, 2.0]).prepare(y, ptr)
    values, _ = prepared.value_gradient(np.zeros(6))
    assert prepared.total_weight == 2.0
    assert (values > 0).tolist() == [False, True, False]


def test_only_weights_that_are_fixed_make_it_convex():
    convex = [bound for bound in BOUNDS if LambdaBoundLoss(bound).convex]
    assert convex == ["arp1", "arp2"]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_weights_may_be_held_at_another_ranking(bound, scale, graded, rng):
    y, ptr, scores, weight = graded
    other = rng.normal(size=29)
    held = LambdaBoundLoss(bound).prepare(y, ptr, weight).held_at(other)
    scores = scale * scores
    values, gradient, hessian = held.gradient_hessian(scores)
    for q, (a, b) in enumerate(pairwise(ptr)):
        part = slice(a, b)
        ranks = ranks_of(other[part])
        expected = looped(bound, y[part], scores[part], ranks, weight[part])
        np.testing.assert_allclose(values[q], expected * (b - a > 1), rtol=1e-11)
    step = 1e-4
    for i in range(29):
        e = step * (np.arange(29) == i)
        up, down = (held.gradient_hessian(scores + d) for d in (e, -e))
        slope = (up[0].sum() - down[0].sum()) / (2 * step)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-6, atol=1e-7 * scale)
        curvature = (up[1][i] - down[1][i]) / (2 * step)
        np.testing.assert_allclose(hessian[i], curvature, rtol=1e-5, atol=1e-8)


def test_the_parts_of_the_sum_of_two(graded):
    """NDCG-Loss2++ is mu times NDCG-Loss2 and the loss of LambdaRank, to base 2."""
    y, ptr, scores, weight = graded
    both, distance, swap = (
        loss.value_gradient(y, scores, ptr, weight)
        for loss in (
            LambdaBoundLoss("ndcg2++", mu=4.0),
            LambdaBoundLoss("ndcg2"),
            LambdaLoss("ndcg"),
        )
    )
    for i in range(2):
        expected = 4.0 * distance[i] + swap[i] / np.log(2)
        np.testing.assert_allclose(both[i], expected, rtol=1e-11, atol=1e-13)


def test_the_second_bound_of_the_position_weighs_the_pairs_of_ranknet(graded):
    y, ptr, scores, _ = graded
    grades = np.unique(y)
    weights = {(a, b): a - b for a in grades for b in grades if a > b}
    pairs = LogLoss(grade_weights=weights).value_gradient(y, scores, ptr)
    total = np.add.reduceat(y, ptr[:-1])
    found = LambdaBoundLoss("arp2").value_gradient(y, scores, ptr)
    keep = np.diff(ptr) > 1
    expected = pairs[0][keep] / total[keep] / np.log(2)
    np.testing.assert_allclose(found[0][keep], expected, rtol=1e-11)


def test_two_documents_in_wrong_order():
    # The relevant one is in rank 2 of 2, where its discount is 1 / log2(3).
    for bound, weight in (("ndcg1", 1 / np.log2(3)), ("ndcg2", 1 - 1 / np.log2(3))):
        found, _ = LambdaBoundLoss(bound).value_gradient([0, 1], [1.0, 0.0], [0, 2])
        assert found[0] == pytest.approx(weight * np.log2(1 + np.e))


@pytest.mark.parametrize("scale", [1e-30, 1e3, 1e30])
@pytest.mark.parametrize("bound", BOUNDS)
def test_extreme_scores_stay_finite(bound, scale, graded):
    y, ptr, scores, _ = graded
    prepared = LambdaBoundLoss(bound).prepare(y, ptr)
    for found in prepared.gradient_hessian(scale * scores):
        assert np.all(np.isfinite(found))


@pytest.mark.parametrize("bound", BOUNDS)
def test_trees_and_networks_learn_from_them(bound, ragged):
    X, y, groups = ragged
    loss = LambdaBoundLoss(bound)
    trees = BoostedRanker(loss, n_estimators=20, min_samples_leaf=3, random_state=0)
    network = EnergyRanker(loss=loss, solver=Adam(max_iter=30), random_state=0)
    for ranker in (trees, network):
        start = np.zeros(len(y))
        scores = ranker.fit(X, y, groups).predict(X)
        assert np.ptp(scores) > 0
        prepared, order = loss.prepare(*by_query(y, groups)[:2]), by_query(y, groups)[2]
        begun, ended = (
            prepared.value_gradient(s[order])[0].sum() for s in (start, scores)
        )
        assert ended < begun


def by_query(y, groups):
    """Grades and pointers of rows sorted by query, and their order."""
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    return y[order], np.concatenate(([0], np.cumsum(sizes))), order


@pytest.mark.parametrize("bound", ["ndcg1", "ndcg2"])
def test_expectation_and_minimisation_in_turn(bound, ragged):
    X, y, groups = ragged
    ranker = EnergyRanker(loss=LambdaBoundLoss(bound), alpha=1e-2)
    ranker.set_params(solver=IteratedWeights(max_updates=4)).fit(X, y, groups)
    assert ranker.score(X, y, groups) > 0.6


def test_negative_grades_have_no_gain():
    for bound in BOUNDS:
        with pytest.raises(ValueError, match=r"(got|found) -1"):
            LambdaBoundLoss(bound).prepare([-1.0, 1.0], [0, 2])
    with pytest.raises(ValueError, match=r"found -3 with the gain -3 in row 2$"):
        LambdaBoundLoss("arp1").prepare([2.0, -1.0, -3.0], [0, 3])
