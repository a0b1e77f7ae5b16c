"""IR-SVM: weights of queries and of pairs of grades."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.metrics import get_measure
from skrank.rankers import IRSVM, RankSVM
from skrank.solvers import LBFGS

EXACT = LBFGS(tol=1e-10)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=12, n_features=5, n_informative=3, random_state=0)


def objective(w, X, y, groups, alpha, tau):
    """Eq. 3.24 with squared hinges, divided by the total weight of all pairs."""
    loss = total = 0.0
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        pairs = [(u, v) for u, v in product(rows, rows) if y[u] > y[v]]
        for u, v in pairs:
            weight = tau(y[u], y[v]) / len(pairs)
            loss += weight * max(0.0, 1.0 - w @ (X[u] - X[v])) ** 2
            total += weight
    return 0.5 * alpha * w @ w + loss / total


@pytest.mark.parametrize("tau", [None, lambda a, b: a - b])
def test_minimises_equation_3_24(data, tau):
    X, y, groups = data
    ranker = IRSVM(alpha=0.1, rank_pair_weights=tau, solver=EXACT).fit(X, y, groups)
    of_grades = tau or (lambda a, b: 1.0)
    at = [
        objective(ranker.coef_ + step, X, y, groups, 0.1, of_grades)
        for step in 1e-4 * np.vstack([np.zeros(5), np.eye(5), -np.eye(5)])
    ]
    assert min(at) == at[0]
    assert_allclose(ranker.loss_curve_[-1], at[0], rtol=1e-9)


def test_queries_of_equally_many_pairs_make_it_the_ranking_svm():
    y, groups = np.tile([0.0, 1.0, 2.0, 0.0], 12), np.repeat(np.arange(6), 8)
    X = np.random.default_rng(0).normal(size=(48, 3)) + 0.5 * y[:, None]
    found = IRSVM(alpha=0.01, solver=EXACT).fit(X, y, groups).coef_
    expected = RankSVM(alpha=0.01, solver=EXACT).fit(X, y, groups).coef_
    assert_allclose(found, expected, rtol=1e-7)


def test_repeating_the_documents_of_a_query_does_not_make_it_count_more(data):
    X, y, groups = data
    rows = np.concatenate([np.arange(len(y)), np.flatnonzero(groups == 0)])
    once = IRSVM(alpha=0.01, solver=EXACT).fit(X, y, groups).coef_
    twice = IRSVM(alpha=0.01, solver=EXACT).fit(X[rows], y[rows], groups[rows]).coef_
    assert_allclose(twice, once, rtol=1e-6)


def naive_drops(measure, y, groups):
    """What the measure loses by every swap in a perfect ranking, averaged."""
    measure = get_measure(measure)
    drops = {}
    for query in np.unique(groups):
        own = np.sort(y[groups == query])[::-1]
        scores = -np.arange(len(own), dtype=float)
        ptr = np.array([0, len(own)])
        best = measure.per_query(own, scores, ptr)[0]
        of_query = {}
        for u, v in product(range(len(own)), repeat=2):
            if own[u] > own[v]:
                swapped = scores.copy()
                swapped[[u, v]] = scores[[v, u]]
                loss = best - measure.per_query(own, swapped, ptr)[0]
                of_query.setdefault((own[u], own[v]), []).append(loss)
        for pair, losses in of_query.items():
            drops.setdefault(pair, []).append(np.mean(losses))
    return {pair: np.mean(of_queries) for pair, of_queries in drops.items()}


@pytest.mark.parametrize("measure", ["ndcg@1", "ndcg@5", "map", "err"])
def test_weights_are_mean_drops_of_the_measure(data, measure):
    X, y, groups = data
    weights = IRSVM(rank_pair_weights=measure).fit(X, y, groups).rank_pair_weights_
    expected = naive_drops(measure, y, groups)
    assert set(weights) >= set(expected)
    for pair, drop in expected.items():
        assert_allclose(weights[pair], drop, atol=1e-12)


def test_estimated_weights_are_those_that_train(data, tmp_path):
    X, y, groups = data
    estimated = IRSVM(rank_pair_weights="ndcg@3", alpha=0.01).fit(X, y, groups)
    given = estimated.rank_pair_weights_
    again = IRSVM(rank_pair_weights=given, alpha=0.01).fit(X, y, groups)
    assert_allclose(again.coef_, estimated.coef_, rtol=1e-12)
    assert not hasattr(again, "rank_pair_weights_")
    save_model(estimated, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.rank_pair_weights_ == given
    assert_allclose(loaded.predict(X), estimated.predict(X), rtol=0)


def test_preferences_have_no_grades_to_weigh(data):
    X, _, _ = data
    ranker = IRSVM(rank_pair_weights="ndcg@3")
    match = "IRSVM: rank_pair_weights must be None with preferences"
    with pytest.raises(ValueError, match=match):
        ranker.fit(X, preferences=[[0, 1]])
    assert IRSVM().fit(X, preferences=[[0, 1]]).coef_.shape == (5,)


def test_a_measure_that_no_swap_changes_is_refused():
    X, y, groups = make_ranking(n_queries=4, random_state=0)
    y = (y > 0).astype(float)
    ranker = IRSVM(rank_pair_weights="recall")
    with pytest.raises(ValueError, match="a measure that some swap in a perfect"):
        ranker.fit(X, y, groups)
