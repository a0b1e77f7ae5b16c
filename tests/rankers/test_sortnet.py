"""SortNet against the equations of the book, pair by pair."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.energies import ComparatorEnergy
from skrank.losses import SquareSquareLoss
from skrank.rankers import SortNet
from skrank.rankers._sortnet import _Comparisons, _sorting_network

PTR = np.array([0, 4, 5, 9])
Y = np.array([2.0, 1, 0, 1, 0, 1, 0, 0, 2])


@pytest.fixture(scope="module")
def model():
    """Rows, an energy of two pairs of units, and its parameters."""
    X = np.random.default_rng(0).normal(size=(9, 3))
    energy = ComparatorEnergy(2, standardize=False).setup(X)
    rng = np.random.RandomState(0)
    return X, energy, energy.init_params(3, rng) + 0.1 * rng.normal(size=21)


def outputs(energy, params, x_u, x_v):
    """Both outputs of the network by eq. 3.5–3.6, unit by unit."""
    of_units, output = energy.parts(params)
    theta, bias = of_units[:12].reshape(3, 4), of_units[12:]
    hidden, mirror = [], []
    for i in range(2):
        b = bias[i] + bias[2 + i]
        hidden.append(expit(theta[:, i] @ x_u + theta[:, 2 + i] @ x_v + b))
        mirror.append(expit(theta[:, i] @ x_v + theta[:, 2 + i] @ x_u + b))
    w, w_mirror, b = output
    before = expit(np.dot(w, hidden) + np.dot(w_mirror, mirror) + b)
    after = expit(np.dot(w_mirror, hidden) + np.dot(w, mirror) + b)
    return before, after


def test_outputs_are_those_of_the_book(model):
    X, energy, params = model
    pairs = list(itertools.permutations(range(9), 2))
    found = energy.compare(params, X, *zip(*pairs))
    for (u, v), row in zip(pairs, found):
        expected = outputs(energy, params, X[u], X[v])
        np.testing.assert_allclose(row, expected)
        # P(u > v) = P(v < u)
        np.testing.assert_allclose(row, outputs(energy, params, X[v], X[u])[::-1])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_eq_3_7(weighted, model):
    X, energy, params = model
    weight = np.linspace(0.5, 2.0, 9) if weighted else None
    data = GroupedRows(X, Y, PTR, sample_weight=weight)
    objective = _Comparisons(energy, SquareSquareLoss(), data, 0.1)
    expected = total = 0.0
    for u, v in itertools.permutations(range(9), 2):
        same = np.searchsorted(PTR, u, "right") == np.searchsorted(PTR, v, "right")
        if same and Y[u] > Y[v]:
            w = 1.0 if weight is None else weight[u]
            before, after = outputs(energy, params, X[u], X[v])
            expected += w * ((1 - before) ** 2 + after**2)
            total += w
    penalty = 0.05 * np.sum((energy.penalty_mask(3) * params) ** 2)
    value, gradient = objective.value_gradient(params)
    np.testing.assert_allclose(value, expected / total + penalty)
    slopes = approx_fprime(params, lambda p: objective.value_gradient(p)[0], 1e-7)
    np.testing.assert_allclose(gradient, slopes, atol=1e-6)
    # Batches of one query average to the whole.
    batches = [objective.batch(np.array([q])).value_gradient(params) for q in range(3)]
    np.testing.assert_allclose(np.mean([b[0] for b in batches]), value)
    np.testing.assert_allclose(np.mean([b[1] for b in batches], axis=0), gradient)


def test_aggregation_is_the_mean_preference(model):
    X, energy, params = model
    scores = energy.scores(params, X, PTR)
    for a, b in itertools.pairwise(PTR):
        for u in range(a, b):
            others = [outputs(energy, params, X[u], X[v])[0] for v in range(a, b)]
            del others[u - a]
            expected = np.mean(others) - 0.5 if others else 0.0
            np.testing.assert_allclose(scores[u], expected, atol=1e-14)


@pytest.mark.parametrize("n", [*range(1, 35), 100])
def test_the_network_sorts(n):
    x = np.random.default_rng(n).permutation(n)
    for half, low, high in _sorting_network(n):
        assert half < n
        assert len({*low, *high}) == 2 * len(low)
        assert (low < high).all()
        swapped = x[low] > x[high]
        low, high = low[swapped], high[swapped]
        x[low], x[high] = x[high], x[low]
    assert (x == np.arange(n)).all()


def test_sorting_follows_answers_that_agree_with_each_other():
    """One pair of units with opposite weights compares by a score."""
    X, y, groups = make_ranking(n_queries=9, docs_per_query=(1, 40), random_state=0)
    ranker = SortNet(1, ranking="sort", max_iter=1, random_state=0).fit(X, y, groups)
    energy, d = ranker.energy_, X.shape[1]
    direction = np.random.default_rng(0).normal(size=d)
    params = np.zeros(energy.n_params(d))
    params[: 2 * d].reshape(d, 2)[:] = direction[:, None] * [1.0, -1.0]
    params[-3:] = [1.0, -1.0, 0.0]
    ranker.params_ = params
    score = ((X - energy.units_.mean_) / energy.units_.scale_) @ direction
    ranks = ranker.rank(X, groups)
    for q in np.unique(groups):
        rows = groups == q
        assert (np.argsort(-score[rows]) == np.argsort(ranks[rows])).all()
    aggregated = ranker.set_params(ranking="aggregation").rank(X, groups)
    assert (aggregated == ranks).all()


@pytest.mark.parametrize("n_others", [1, 16, 17, 40, 200])
def test_sorting_does_not_depend_on_other_queries(n_others):
    """Not even where answers contradict each other."""
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    ranker = SortNet(ranking="sort", max_iter=8, random_state=0).fit(X, y, groups)
    rng = np.random.default_rng(0)
    others = rng.normal(size=(n_others, X.shape[1]))
    for m in (5, 9, 14, 16):
        rows = rng.normal(size=(m, X.shape[1]))
        both = np.vstack([rows, others])
        alone = ranker.predict(rows, np.zeros(m))
        beside = ranker.predict(both, np.repeat([0, 1], [m, n_others]))[:m]
        np.testing.assert_array_equal(beside, alone)


def test_compare_gives_both_orders():
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    ranker = SortNet(4, max_iter=30, random_state=0).fit(X, y, groups)
    assert ranker.score(X, y, groups) > 0.8
    best, worst = X[y == y.max()][:20], X[y == 0][:20]
    n = min(len(best), len(worst))
    assert ranker.compare(best[:n], worst[:n]).mean() > 0.8
    assert ranker.compare(worst[:n], best[:n]).mean() < 0.2
    with pytest.raises(ValueError, match="X_other must have as many rows as X, 3, got"):
        ranker.compare(X[:3], X[:2])
