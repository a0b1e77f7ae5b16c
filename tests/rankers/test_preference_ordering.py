"""Hedge on preference functions, and the greedy order, against plain loops."""

import itertools
import tracemalloc

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._core._choices import greedy_ranks
from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import PreferenceOrdering, RankSVM, SubsetRegression
from skrank.rankers._preference_ordering import _by_components


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_features=4, n_informative=3, random_state=0)


def preferences(scores, weights):
    """PREF(u, v) in [0, 1]: the weight of voters for u, and half of the undecided."""
    sign = np.sign(scores[:, None, :] - scores[None, :, :])
    return 0.5 * (1.0 + sign @ weights)


def agreement(order, preference):
    return sum(preference[u, v] for u, v in itertools.combinations(order, 2))


def naive_greedy(preference):
    left, order = list(range(len(preference))), []
    while left:
        best = max(
            left,
            key=lambda v: (
                round(sum(preference[v, u] - preference[u, v] for u in left), 9),
                -v,
            ),
        )
        order.append(best)
        left.remove(best)
    return order


def vote(m, n_voters, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, m, (m, n_voters)).astype(float)
    weights = rng.dirichlet(np.ones(n_voters))
    return scores, weights


@pytest.mark.parametrize("seed", range(20))
def test_the_greedy_order(seed):
    m = 3 + seed % 5
    scores, weights = vote(m, 5, seed)
    preference = preferences(scores, weights)
    order = np.argsort(greedy_ranks(scores, np.array([0, m]), weights, 1))
    assert order.tolist() == naive_greedy(preference)
    best = max(
        agreement(other, preference) for other in itertools.permutations(range(m))
    )
    assert 0.5 * best <= agreement(order, preference) <= best + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_components_help_and_stay_together(seed):
    """The best order of all keeps the components apart, in one order of them."""
    m = 4 + seed % 4
    scores, weights = vote(m, 3, seed)
    preference = preferences(scores, weights)
    ptr = np.array([0, m])
    rows, parts = _by_components(scores, weights, ptr)
    assert sorted(rows) == list(range(m))
    within = greedy_ranks(scores[rows], parts, weights, 1)
    order = rows[
        np.lexsort((within, np.repeat(np.arange(len(parts) - 1), np.diff(parts))))
    ]
    for first, second in itertools.combinations(range(len(parts) - 1), 2):
        for u in rows[parts[first] : parts[first + 1]]:
            for v in rows[parts[second] : parts[second + 1]]:
                assert preference[u, v] >= preference[v, u] - 1e-12
    best = max(agreement(o, preference) for o in itertools.permutations(range(m)))
    assert agreement(order, preference) >= 0.5 * best


def test_votes_of_long_lists_are_counted_in_blocks():
    m = 2000
    rng = np.random.default_rng(0)
    votes, weights = rng.normal(size=(m, 3)).round(1), np.array([1.0, 2.0, -4.0])
    tracemalloc.start()
    try:
        rows, parts = _by_components(votes, weights, np.array([0, m]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * m**2
    assert sorted(rows) == list(range(m))
    label = np.empty(m, dtype=np.intp)
    label[rows] = np.repeat(np.arange(len(parts) - 1), np.diff(parts))
    for row in range(0, m, 100):
        later = votes[label > label[row]]
        assert (np.sign(votes[row] - later) @ weights >= 0).all()


def test_ranks_do_not_depend_on_threads_and_other_queries():
    rng = np.random.default_rng(0)
    ptr = np.array([0, 3, 3, 40, 41, 90])
    scores, weights = rng.normal(size=(90, 6)), rng.normal(size=6)
    whole = greedy_ranks(scores, ptr, weights, 1)
    np.testing.assert_array_equal(greedy_ranks(scores, ptr, weights, 3), whole)
    for a, b in itertools.pairwise(ptr):
        part = greedy_ranks(scores[a:b].copy(), np.array([0, b - a]), weights, 1)
        np.testing.assert_array_equal(part, whole[a:b])
    none = greedy_ranks(np.empty((3, 0)), np.array([0, 3]), np.empty(0), 1)
    assert none.tolist() == [1, 2, 3]


@pytest.mark.parametrize("features", ["both", "ascending"])
@pytest.mark.parametrize("weighted", [False, True])
def test_hedge(features, weighted, data):
    """One query after the other, in any order."""
    X, y, groups = data
    beta = 0.8
    of_query = np.linspace(0.5, 2.0, 20) if weighted else np.ones(20)
    functions = list(X.T) + ([-x for x in X.T] if features == "both" else [])
    weights = np.ones(len(functions))
    for q in np.random.default_rng(0).permutation(20):
        rows = np.flatnonzero(groups == q)
        pairs = [(u, v) for u in rows for v in rows if y[u] > y[v]]
        for t, f in enumerate(functions):
            signs = [np.sign(f[u] - f[v]) for u, v in pairs]
            weights[t] *= beta ** (of_query[q] * np.mean((1 - np.array(signs)) / 2))
    weights /= weights.sum()
    expected = weights[:4] - (weights[4:] if features == "both" else 0.0)
    ranker = PreferenceOrdering(features=features, beta=beta)
    ranker.fit(X, y, groups, sample_weight=of_query[groups])
    np.testing.assert_allclose(ranker.weights_, expected)


@pytest.mark.parametrize("beta", [0.5, "auto"])
def test_weights_count_queries(beta, data):
    """A query of mean weight 2 counts twice, whichever documents have the weight."""
    X, y, groups = data
    ranker = PreferenceOrdering(beta=beta)
    twice = np.flatnonzero(groups % 3 == 0)
    rows = np.append(np.arange(len(y)), twice)
    new = np.append(groups, groups[twice] + 100)
    repeated = clone(ranker).fit(X[rows], y[rows], new)
    weight = np.random.default_rng(0).uniform(0.0, 3.0, len(y))
    for q in np.unique(groups):
        weight[groups == q] *= (1 + (q % 3 == 0)) / weight[groups == q].mean()
    weighted = clone(ranker).fit(X, y, groups, sample_weight=weight)
    np.testing.assert_allclose(weighted.losses_, repeated.losses_)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_)


def test_hedge_finds_the_best_function_and_the_bound_of_its_loss(data):
    """Freund and Schapire: L <= (-ln beta L_best + ln T) / (1 - beta)."""
    X, y, groups = data
    ranker = PreferenceOrdering(beta=0.1).fit(X, y, groups)
    strength = np.abs(ranker.losses_ - 0.5)
    assert np.argmax(np.abs(ranker.weights_)) == np.argmax(strength)
    reverse = np.flatnonzero(ranker.losses_ > 0.5)
    assert (ranker.weights_[reverse] <= 0).all()
    auto = PreferenceOrdering().fit(X, y, groups)
    beta = 1 / (1 + np.sqrt(2 * np.log(8) / 20))
    twin = PreferenceOrdering(beta=beta).fit(X, y, groups)
    np.testing.assert_allclose(auto.weights_, twin.weights_)


def test_estimators_vote_beside_features(data, tmp_path):
    X, y, groups = data
    pipe = make_pipeline(StandardScaler(), RankSVM())
    ranker = PreferenceOrdering(
        [("svm", pipe), ("ridge", Ridge())],
        features="none",
        beta=0.5,
        strong_components=True,
    ).fit(X, y, groups, X_val=X, y_val=y, groups_val=groups)
    assert len(ranker.weights_) == 2
    np.testing.assert_allclose(ranker.weights_.sum(), 1.0)
    # The heavier voter decides every pair, and there is no circle.
    heavy = ranker.estimators_[int(np.argmax(ranker.weights_))]
    scores, ranks = heavy.predict(X), ranker.rank(X, groups)
    for q in np.unique(groups):
        rows = groups == q
        assert (np.argsort(-scores[rows]) == np.argsort(ranks[rows])).all()
    save_model(ranker, tmp_path / "model.skrank")
    again = load_model(tmp_path / "model.skrank")
    np.testing.assert_array_equal(again.predict(X, groups), ranker.predict(X, groups))


def test_parameters_of_estimators_are_searched(data):
    X, y, groups = data
    ranker = PreferenceOrdering([("svm", RankSVM())], features="none")
    assert ranker.get_params()["svm__alpha"] == RankSVM().alpha
    ranker.set_params(svm__alpha=0.5)
    assert ranker.estimators[0][1].alpha == 0.5
    ranker.set_params(svm=SubsetRegression())
    assert isinstance(ranker.estimators[0][1], SubsetRegression)
    grid = {"svm": [RankSVM(), SubsetRegression()], "beta": [0.5, "auto"]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ranker, grid, cv=QueryKFold(2), scoring=make_ranking_scorer("ndcg@10")
        ).fit(X, y, groups=groups)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    "estimators", [[RankSVM()], [("a", RankSVM()), ("a", RankSVM())], [("beta", 1)]]
)
def test_bad_estimators(estimators, data):
    with pytest.raises(ValueError, match="estimators must be pairs of a name and an"):
        PreferenceOrdering(estimators).fit(*data)


def test_bad_input(data):
    with pytest.raises(ValueError, match="features='none' needs estimators to vote"):
        PreferenceOrdering(features="none").fit(*data)
    with pytest.raises(ValueError, match="predict needs to know the query"):
        PreferenceOrdering().fit(*data).predict(data[0])
