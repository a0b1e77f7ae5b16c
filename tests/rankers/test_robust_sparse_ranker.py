"""The robust sparse ranker against eq. 3.32 to 3.37, written out."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.metrics import ndcg_score
from skrank.rankers import RobustSparseRanker
from skrank.solvers import IteratedWeights, SparseLBFGS


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=10, n_features=6, n_informative=3, random_state=0)


def importance(y, groups, scores, k=None):
    """Pairs with the weights of eq. 3.32, with the gains and discounts of NDCG."""
    pairs = []
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        by_score = rows[np.argsort(-scores[rows], kind="stable")]
        place = {row: rank for rank, row in enumerate(by_score, start=1)}
        gain = {row: 2.0 ** y[row] - 1.0 for row in rows}

        def discount(rank):
            return 1.0 / np.log2(1.0 + rank) if k is None or rank <= k else 0.0

        ideal = np.sort([gain[row] for row in rows])[::-1]
        best = sum(g * discount(rank) for rank, g in enumerate(ideal, start=1))
        for u, v in product(rows, rows):
            if y[u] > y[v]:
                step = discount(place[u]) - discount(place[v])
                pairs.append((u, v, abs((gain[u] - gain[v]) * step) / best))
    return pairs


def naive_objective(w, X, pairs, n_queries, l1):
    u, v, weight = map(np.array, zip(*pairs))
    margins = (X[u] - X[v]) @ w
    return weight @ np.logaddexp(0.0, -margins) / n_queries + l1 * np.abs(w).sum()


@pytest.mark.parametrize(("measure", "k"), [("ndcg", None), ("ndcg@3", 3)])
def test_minimises_the_loss_with_the_weights_of_its_first_classifier(data, measure, k):
    X, y, groups = data
    solver = IteratedWeights(SparseLBFGS(l1=0.01), max_updates=1, tol=1e-10)
    ranker = RobustSparseRanker(measure, l1=0.01, solver=solver).fit(X, y, groups)
    pairs = importance(y, groups, X @ ranker.first_coef_, k)
    value = naive_objective(ranker.coef_, X, pairs, 10, 0.01)
    assert_allclose(ranker.loss_curve_[-1], value, rtol=1e-9)
    steps = 1e-4 * np.vstack([np.eye(6), -np.eye(6)])
    around = [naive_objective(ranker.coef_ + s, X, pairs, 10, 0.01) for s in steps]
    assert min(around) >= value


def test_ends_where_the_weights_are_those_of_its_own_ranking():
    # On other data the rankings may go round in a circle.
    X, y, groups = make_ranking(
        n_queries=10, n_features=6, n_informative=3, random_state=1
    )
    ranker = RobustSparseRanker(l1=0.03, max_updates=50).fit(X, y, groups)
    assert ranker.converged_
    pairs = importance(y, groups, X @ ranker.coef_)
    value = naive_objective(ranker.coef_, X, pairs, 10, 0.03)
    steps = 0.02 * np.vstack([np.eye(6), -np.eye(6)])
    around = [naive_objective(ranker.coef_ + s, X, pairs, 10, 0.03) for s in steps]
    assert min(around) > value - 1e-4


def test_the_regret_of_pairs_bounds_that_of_the_ranking(data):
    """Eq. 3.37 for the ranking by a classifier's own scores."""
    X, y, groups = data
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = X @ rng.normal(size=6)
        lost = [w for u, v, w in importance(y, groups, scores) if scores[u] < scores[v]]
        regret = 1.0 - ndcg_score(y, scores, groups=groups, k=None)
        assert regret <= sum(lost) / 10 + 1e-12


def test_a_stronger_penalty_leaves_fewer_coefficients(data):
    kept = [
        np.count_nonzero(RobustSparseRanker(l1=l1).fit(*data).coef_)
        for l1 in (1e-5, 0.02)
    ]
    with pytest.warns(TrainingDataWarning, match="l1=10 is stronger than"):
        none = RobustSparseRanker(l1=10.0).fit(*data)
    assert 6 == kept[0] > kept[1] > np.count_nonzero(none.coef_) == 0


def test_informative_features_are_found():
    X, y, groups = make_ranking(
        n_queries=40, n_features=20, n_informative=4, noise=0.1, random_state=0
    )
    strong = np.abs(RobustSparseRanker(l1=1e-5).fit(X, y, groups).coef_)
    sparse_ = RobustSparseRanker(l1=0.02).fit(X, y, groups)
    assert np.count_nonzero(sparse_.coef_) < 12
    assert np.all(sparse_.coef_[np.argsort(strong)[-3:]] != 0.0)
    assert sparse_.score(X, y, groups) > 0.8


def test_only_measures_of_gain_times_discount_can_be_held(data):
    with pytest.raises(ValueError, match="measure must be a sum of gains times disc"):
        RobustSparseRanker("map").fit(*data)
    for inner in (SparseLBFGS(), None):
        with pytest.raises(ValueError, match="measure must be a sum of gains times"):
            RobustSparseRanker("map", solver=IteratedWeights(inner)).fit(*data)


@pytest.mark.parametrize("measure", ["map", "err"])
def test_a_solver_that_holds_no_weights_takes_any_measure(data, measure):
    X, y, groups = data
    ranker = RobustSparseRanker(measure, solver="sgd", random_state=0)
    assert ranker.fit(X, y, groups).score(X, y, groups) > 0.6


def test_advice_where_it_does_not_converge_is_of_its_own_penalty(data):
    with pytest.warns(ConvergenceWarning, match=r"; raise max_iter or l1, or scale"):
        RobustSparseRanker(max_updates=1, max_iter=1).fit(*data)
