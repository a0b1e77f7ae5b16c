"""YetiRank against a loop over its rankings, and how its noise is drawn."""

from itertools import pairwise

import numpy as np
import pytest

from skrank.energies import MLPEnergy
from skrank.losses import YetiRankLoss
from skrank.rankers import BoostedRanker, EnergyRanker
from skrank.solvers import Adam


def derivatives(y, scores, noise, by_rank, weight):
    """Slope and curvature of the loss of one query, in its rankings as they are."""
    slope, curvature = np.zeros(len(y)), np.zeros(len(y))
    for z in noise:
        order = np.argsort(-(scores + z), kind="stable")
        for rank, (a, b) in enumerate(pairwise(order), start=1):
            if y[a] != y[b]:
                p, o = (a, b) if y[a] > y[b] else (b, a)
                pair = weight[p] * by_rank(rank) * abs(y[a] - y[b])
                wrong = 1 / (1 + np.exp(scores[p] - scores[o]))
                slope[[p, o]] += -pair * wrong, pair * wrong
                curvature[[p, o]] += pair * wrong * (1 - wrong)
    return slope / len(noise), curvature / len(noise)


def looped(y, scores, noise, by_rank, weight):
    """The loss of one query, ranking after ranking."""
    total = 0.0
    for z in noise:
        order = np.argsort(-(scores + z), kind="stable")
        for rank, (a, b) in enumerate(pairwise(order), start=1):
            if y[a] != y[b]:
                p, o = (a, b) if y[a] > y[b] else (b, a)
                pair = weight[p] * by_rank(rank) * abs(y[a] - y[b])
                total += pair * np.log1p(np.exp(-(scores[p] - scores[o])))
    return total / len(noise)


@pytest.fixture
def graded(rng):
    ptr = np.array([0, 6, 7, 18, 27, 29])
    y = rng.integers(0, 4, 29).astype(float)
    y[27:] = 0.0, 2.0  # a single pair
    return y, ptr, rng.normal(size=29), rng.uniform(0.5, 2.0, 29)


@pytest.mark.parametrize("decay", ["reciprocal", 0.85])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_means_over_the_rankings(decay, weighted, graded):
    y, ptr, scores, weight = graded
    weight = weight if weighted else np.ones(29)
    loss = YetiRankLoss(7, decay=decay, random_state=3)
    prepared = loss.prepare(y, ptr, weight)
    values, _ = prepared.value_gradient(scores)

    def by_rank(rank):
        return 1 / rank if decay == "reciprocal" else decay ** (rank - 1)

    assert prepared.noise.shape == (7, 29)
    for q, (a, b) in enumerate(pairwise(ptr)):
        part = slice(a, b)
        noise = prepared.noise[:, part]
        expected = looped(y[part], scores[part], noise, by_rank, weight[part])
        np.testing.assert_allclose(values[q], expected, rtol=1e-12)


# With many grades a query is sorted; with few documents of another grade than the rest
# of a long query, their neighbours are looked for.
@pytest.mark.parametrize("n_few", [None, 1, 5, 12])
def test_derivatives_are_sums_over_the_rankings(n_few, rng):
    sizes = [4, 60, 9, 83, 300]  # all rankings at once, some of them, or one
    ptr = np.append(0, np.cumsum(sizes))
    n = ptr[-1]
    y = rng.integers(0, 4, n).astype(float)
    if n_few is not None:
        y = np.where(np.concatenate([np.arange(m) for m in sizes]) < n_few, y + 1, 0.0)
    scores, weight = 3 * rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    prepared = YetiRankLoss(6, random_state=1).prepare(y, ptr, weight)
    _, gradient, hessian = prepared.gradient_hessian(scores)
    for a, b in pairwise(ptr):
        part = slice(a, b)
        expected = derivatives(
            y[part],
            scores[part],
            prepared.noise[:, part],
            lambda r: 1 / r,
            weight[part],
        )
        np.testing.assert_allclose(gradient[part], expected[0], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(hessian[part], expected[1], rtol=1e-10, atol=1e-14)


def test_a_tie_that_is_found_after_pairs_were_added():
    """Pairs of the documents before it are not counted twice."""
    y, scores = np.zeros(16), np.arange(16.0)[::-1]
    y[[0, 8]] = 1.0, 2.0
    scores[8] = scores[9]  # a tie, which a sort breaks by the order of the rows
    prepared = YetiRankLoss(noise=0.0).prepare(y, [0, 16])
    values, gradient, hessian = prepared.gradient_hessian(scores)
    weight, noise = np.ones(16), np.zeros((1, 16))
    expected = derivatives(y, scores, noise, lambda r: 1 / r, weight)
    total = looped(y, scores, noise, lambda r: 1 / r, weight)
    np.testing.assert_allclose(np.sum(values), total, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(hessian, expected[1], rtol=1e-12, atol=1e-15)


def test_gains_may_fall_where_grades_rise():
    """The higher grade is preferred; the gains say how much it matters."""
    y, scores, gain = (
        np.array([2.0, 3.0, 0.0]),
        np.array([1.0, 0.0, -1.0]),
        [4, 0, 2, 1],
    )
    loss = YetiRankLoss(1, noise=0.0, gain=gain, random_state=0)
    values, gradient = loss.value_gradient(y, scores, [0, 3])
    expected = 1.0 * np.log1p(np.exp(1.0)) + 0.5 * 3.0 * np.log1p(np.exp(-1.0))
    np.testing.assert_allclose(values, [expected])
    assert gradient[1] < 0.0 < gradient[0]


def test_noise_is_logistic():
    n = 40_000
    y = np.tile([0.0, 1.0], n // 2)
    prepared = YetiRankLoss(1, noise=2.0, random_state=0).prepare(y, [0, n])
    share = np.mean(prepared.noise <= 2.0 * np.log(3.0))  # where r is 3 / 4
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / n)


def test_without_noise_only_neighbours_in_the_current_ranking_count():
    y, scores = np.array([2.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.1])
    values, gradient = YetiRankLoss(noise=0.0).value_gradient(y, scores, [0, 3])
    first = 2.0 * np.log1p(np.exp(-0.1))
    second = 0.5 * np.log1p(np.exp(0.1))
    assert values[0] == pytest.approx(first + second)
    assert gradient[0] == pytest.approx(-2.0 / (1 + np.exp(0.1)))


def test_gains_weigh_the_pairs():
    y, scores = np.array([2.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.1])
    loss = YetiRankLoss(noise=0.0, gain="exp2")
    values, _ = loss.value_gradient(y, scores, [0, 3])
    # Gains are 3, 0 and 1, and the second pair begins at rank 2.
    expected = 3.0 * np.log1p(np.exp(-0.1)) + 0.5 * np.log1p(np.exp(0.1))
    assert values[0] == pytest.approx(expected)
    assert loss.prepare(y, [0, 3]).noise.shape == (1, 3)  # others would be the same


def test_some_queries_keep_their_rankings(graded):
    y, ptr, scores, weight = graded
    prepared = YetiRankLoss(random_state=2).prepare(y, ptr, weight)
    values, gradient = prepared.value_gradient(scores)
    rows = np.r_[ptr[3] : ptr[4], ptr[1] : ptr[3]]
    part = prepared.subset(np.array([3, 1, 2]))
    found = part.value_gradient(scores[rows])
    np.testing.assert_array_equal(found[0], values[[3, 1, 2]])
    np.testing.assert_array_equal(found[1], gradient[rows])
    expected = weight[ptr[3] : ptr[4]].mean() + weight[ptr[2] : ptr[3]].mean()
    assert part.total_weight == pytest.approx(expected)


def test_draws_follow_the_seed_and_the_number(graded):
    y, ptr, scores, _ = graded
    one, same = (YetiRankLoss(random_state=5).prepare(y, ptr) for _ in range(2))
    np.testing.assert_array_equal(one.noise, same.noise)
    assert not one.draws_anew
    other = one.drawn_anew(4)
    assert not np.array_equal(other.noise, one.noise)
    np.testing.assert_array_equal(other.noise, same.drawn_anew(4).noise)
    np.testing.assert_array_equal(one.noise, same.noise)  # the first is as it was
    assert other.value_gradient(scores)[0].sum() != one.value_gradient(scores)[0].sum()
    generator = np.random.RandomState(0)
    first, second = (
        YetiRankLoss(random_state=generator).prepare(y, ptr) for _ in range(2)
    )
    assert first.draws_anew
    assert not hasattr(first, "subset")
    assert not np.array_equal(first.noise, second.noise)


def test_every_tree_has_its_own_rankings(ragged, monkeypatch):
    X, y, groups = ragged
    numbers = []
    prepared = type(YetiRankLoss().prepare([1.0, 0.0], [0, 2]))
    draw = prepared.drawn_anew

    def noted(self, number):
        numbers.append(number)
        return draw(self, number)

    monkeypatch.setattr(prepared, "drawn_anew", noted)
    make = {"n_estimators": 4, "min_samples_leaf": 3, "random_state": 0}
    first, second = (
        BoostedRanker(YetiRankLoss(random_state=1), **make).fit(X, y, groups)
        for _ in range(2)
    )
    assert len(set(numbers[:4])) == 4
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("state", [0, np.random.RandomState(0)])
def test_trees_and_networks_learn_from_it(state, ragged):
    X, y, groups = ragged
    loss = YetiRankLoss(random_state=state)
    trees = BoostedRanker(loss, n_estimators=30, min_samples_leaf=3, random_state=0)
    network = EnergyRanker(
        MLPEnergy(hidden_layer_sizes=(8,)),
        loss,
        solver=Adam(max_iter=60),
        random_state=0,
    )
    start = BoostedRanker(loss, n_estimators=1, max_leaf_nodes=2, random_state=0)
    least = start.fit(X, y, groups).score(X, y, groups)
    for ranker in (trees, network):
        assert ranker.fit(X, y, groups).score(X, y, groups) > least


@pytest.mark.parametrize("n_rankings", [0, 10_001, 10**9])
def test_the_number_of_rankings_is_bounded(n_rankings):
    # Their noise takes 8 bytes for each document and ranking.
    with pytest.raises(ValueError, match=r"n_rankings must be .* in \[1, 10000\]"):
        YetiRankLoss(n_rankings).prepare(np.array([1.0, 0.0]), np.array([0, 2]))
