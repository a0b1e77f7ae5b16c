"""Selectors of features, against plain loops over documents, features and subsets."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.stats import kendalltau, spearmanr
from sklearn.base import BaseEstimator, clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank._core._choices import kendall_sums
from skrank._core._queries import QueryIndex
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.exceptions import NotFiniteError, TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.losses import LogLoss
from skrank.metrics import evaluate_measure, get_measure
from skrank.model_selection import QueryKFold, query_learning_curve
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import (
    MART,
    RankBoost,
    RankSVM,
    RobustSparseRanker,
    SubsetRegression,
)
from skrank.selection import (
    GAS,
    L1PathSelector,
    QueryRFE,
    QueryRFECV,
    SelectByMeasure,
)
from skrank.selection._elimination import permutation_importances
from skrank.selection._feature_base import _squares_within, spreads
from skrank.selection._gas import greedy
from skrank.solvers import SGD


def selectors():
    return [
        SelectByMeasure(2),
        GAS(2),
        L1PathSelector(2, n_steps=4),
        QueryRFE(SubsetRegression(), step=0.5, n_repeats=1, random_state=0),
        QueryRFECV(SubsetRegression(), step=0.5, n_repeats=1, cv=2, random_state=0),
    ]


over_selectors = pytest.mark.parametrize(
    "selector", selectors(), ids=lambda s: type(s).__name__
)


@pytest.fixture
def single_query():
    with skrank.config_context(assume_single_query=True):
        yield


# The data of the checks are one query, made for other estimators.
@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
@pytest.mark.usefixtures("single_query")
@parametrize_with_checks(selectors()[:-1])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rows(seed=0, n_queries=25):
    X, y, groups = make_ranking(
        n_queries=n_queries, n_features=6, n_informative=3, random_state=seed
    )
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], groups[order]


@over_selectors
def test_order_of_rows_and_ids_do_not_matter(selector):
    X, y, groups = rows()
    expected = selector.fit(X, y, groups).get_support()
    order = np.argsort(groups, kind="stable")
    found = selector.fit(X[order], y[order], groups[order]).get_support()
    np.testing.assert_array_equal(found, expected)
    text = np.array([f"q{g:03d}" for g in groups])
    np.testing.assert_array_equal(selector.fit(X, y, text).get_support(), expected)
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    np.testing.assert_array_equal(selector.fit(X, series).get_support(), expected)


@over_selectors
def test_sparse_rows_and_frames(selector):
    X, y, groups = rows()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = selector.fit(X, y, groups).transform(X)
    thin = sparse.csr_matrix(X)
    found = selector.fit(thin, y, groups).transform(thin)
    np.testing.assert_array_equal(found.toarray(), dense)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    selector.set_output(transform="pandas")
    found = selector.fit(frame, y, groups).transform(frame)
    assert found.columns.tolist() == selector.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), dense)
    selector.set_output(transform="default")


@over_selectors
def test_model_files(selector, tmp_path):
    X, y, groups = rows()
    selector.fit(X, y, groups)
    save_model(selector, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), selector.transform(X))


@over_selectors
def test_pipelines_and_searches_hand_the_groups_on(selector):
    X, y, groups = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(selector, SubsetRegression()).fit(X, y, groups=groups)
        expected = selector.fit(X, y, groups).get_support()
        np.testing.assert_array_equal(pipe[0].get_support(), expected)
        name = type(selector).__name__.lower()
        parameter = {"QueryRFECV": "min_features_to_select"}.get(
            type(selector).__name__, "n_features_to_select"
        )
        search = GridSearchCV(pipe, {f"{name}__{parameter}": [1, 3]}, cv=QueryKFold(2))
        search.fit(X, y, groups=groups)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    pipe = make_pipeline(selector, SubsetRegression()).fit(X, series)  # not routed
    np.testing.assert_array_equal(pipe[0].get_support(), expected)


@over_selectors
def test_bad_input(selector):
    X, y, groups = rows()
    name = type(selector).__name__
    with pytest.raises(ValueError, match=f"{name}.fit needs to know the query"):
        selector.fit(X, y)
    with pytest.raises(ValueError, match=f"{name} requires y to be passed"):
        selector.fit(X, None, groups)
    with pytest.raises(ValueError, match="grades for"):
        selector.fit(X, y[:-1], groups)
    with pytest.raises(ValueError, match="infinity"):
        selector.fit(np.where(X[0, 0] == X, np.inf, X), y, groups)
    if name != "QueryRFECV":
        wrong = sklearn.clone(selector).set_params(n_features_to_select=7)
        with pytest.raises(ValueError, match="=7 is more than X has, n_features=6"):
            wrong.fit(X, y, groups)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(None, 3), (1, 1), (6, 6), (0.5, 3), (0.4, 2), (0.3, 1), (0.01, 1)],
)
def test_numbers_and_shares_of_features(wanted, expected):
    assert SelectByMeasure(wanted).fit(*rows()).n_features_ == expected


# Filters.


@pytest.mark.parametrize("measure", ["ndcg@10", "map(rel=2)", "err@5"])
def test_importances_are_values_of_the_measure(measure):
    X, y, groups = rows()
    selector = SelectByMeasure(2, importance=measure).fit(X, y, groups)
    up = [evaluate_measure(measure, y, X[:, j], groups=groups) for j in range(6)]
    down = [evaluate_measure(measure, y, -X[:, j], groups=groups) for j in range(6)]
    np.testing.assert_allclose(selector.importances_, np.maximum(up, down), rtol=1e-12)
    np.testing.assert_array_equal(
        selector.directions_, np.where(np.array(up) >= down, 1, -1)
    )
    best = np.argsort(np.maximum(up, down))[-2:]
    assert set(np.flatnonzero(selector.get_support())) == set(best)


def test_importances_by_a_loss():
    X, y, groups = rows()
    order = np.argsort(groups, kind="stable")
    X, y, groups = X[order], y[order], groups[order]
    selector = SelectByMeasure(importance=LogLoss()).fit(X, y, groups)
    z = (X - X.mean(axis=0)) / X.std(axis=0)

    def mean_loss(scores):
        losses = [
            np.log1p(np.exp(scores[v] - scores[u]))
            for u in range(len(y))
            for v in range(len(y))
            if groups[u] == groups[v] and y[u] > y[v]
        ]
        return np.mean(losses)

    for j in (0, 4):
        least = min(mean_loss(z[:, j]), mean_loss(-z[:, j]))
        expected = np.log(2.0) - least
        np.testing.assert_allclose(selector.importances_[j], expected, rtol=1e-9)


@pytest.mark.parametrize("power", [-900, 900])
def test_importances_by_a_loss_do_not_depend_on_the_unit(power):
    X, y, groups = rows()
    for selector in (SelectByMeasure(importance=LogLoss()), GAS(importance=LogLoss())):
        expected = clone(selector).fit(X, y, groups).importances_
        found = clone(selector).fit(np.ldexp(X, power), y, groups).importances_
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_errors_have_the_opposite_sign():
    X, y, groups = rows()
    X = np.column_stack([X, y + 0.1])
    selector = SelectByMeasure(1, importance="mse").fit(X, y, groups)
    assert selector.get_support()[-1]
    np.testing.assert_allclose(selector.importances_[-1], -0.01, rtol=1e-9)


def test_threshold():
    X, y, groups = rows()
    every = SelectByMeasure(6).fit(X, y, groups).importances_
    level = np.sort(every)[2]
    found = SelectByMeasure(threshold=level).fit(X, y, groups)
    np.testing.assert_array_equal(found.get_support(), every >= level)
    found = SelectByMeasure(1, threshold=level).fit(X, y, groups)
    assert np.flatnonzero(found.get_support()) == [np.argmax(every)]
    with pytest.raises(ValueError, match="threshold=2 leaves no feature"):
        SelectByMeasure(threshold=2).fit(X, y, groups)


def test_a_feature_that_tells_nothing_counts_as_falling():
    X, y, groups = rows()
    X[:, 2] = 7.0
    selector = SelectByMeasure(2, importance="ndcg").fit(X, y, groups)
    assert selector.directions_[2] == 1


def test_missing_values_rank_last():
    X, y, groups = rows()
    holes = np.random.default_rng(1).random(X.shape) < 0.3
    holed = np.where(holes, np.nan, X)
    found = SelectByMeasure(3).fit(holed, y, groups)
    for j, sign in enumerate(found.directions_):
        filled = np.where(holes[:, j], X.min() - X.max() - 1, sign * X[:, j])
        expected = evaluate_measure("ndcg@10", y, filled, groups=groups)
        np.testing.assert_allclose(found.importances_[j], expected, rtol=1e-12)
    assert found.transform(holed).shape == (len(X), 3)
    empty = np.column_stack([np.full(len(X), np.nan), X])
    assert GAS(3).fit(empty, y, groups).get_support()[1:].sum() == 3
    with pytest.raises(ValueError, match="NaN"):
        L1PathSelector(2).fit(holed, y, groups)


@pytest.mark.parametrize("selector", [SelectByMeasure(2), GAS(2)])
def test_grades_without_preference_warn(selector):
    X, y, groups = rows()
    with pytest.warns(TrainingDataWarning, match="no query prefers a document to"):
        selector.fit(X, np.zeros(len(y)), groups)
    assert np.isfinite(selector.importances_).all()
    assert selector.n_features_ == 2


@pytest.mark.parametrize(
    "selector",
    [
        SelectByMeasure(2),
        GAS(2),
        QueryRFE(SubsetRegression(), n_repeats=1, random_state=0),
        QueryRFECV(SubsetRegression(), n_repeats=1, cv=2, random_state=0),
    ],
    ids=lambda s: type(s).__name__,
)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, groups: (X, np.full(len(y), 2.0), groups), "the same grade, 2"),
        (lambda X, y, groups: (X, y, np.arange(len(y))), "has a single document"),
        (lambda X, y, groups: (0 * X, y, groups), "has the same value in all rows"),
        (lambda X, y, groups: (X, groups, y), "y and groups look swapped"),
    ],
    ids=["grades", "groups", "features", "swapped"],
)
def test_data_that_tell_nothing_are_warned_of(selector, change, message):
    given = change(*make_ranking(n_queries=30, docs_per_query=6, random_state=0))
    with pytest.warns(TrainingDataWarning, match=message) as told:
        clone(selector).fit(*given)
    assert len(told) == 1


# GAS.


def oriented(selector, X):
    return X * selector.directions_


@pytest.mark.parametrize("similarity", ["kendall", "spearman", "concordance"])
def test_similarities_are_means_over_queries(similarity):
    X, y, groups = rows(n_queries=8)
    X = np.round(X, 0)  # equal values
    X[:, 5] = groups  # equal for all documents of a query
    selector = GAS(2, similarity=similarity).fit(X, y, groups)
    Z = oriented(selector, X)

    def of_query(x, z):
        if similarity == "concordance":
            signs = np.sign(x[:, None] - x) * np.sign(z[:, None] - z)
            return (signs > 0).sum() / (len(x) * (len(x) - 1))
        if len(np.unique(x)) == 1 or len(np.unique(z)) == 1:
            return 0.0
        function = kendalltau if similarity == "kendall" else spearmanr
        return function(x, z).statistic

    for i, j in [(0, 1), (2, 2), (3, 4), (4, 5), (5, 5)]:
        queries = [groups == q for q in np.unique(groups)]
        values = [of_query(Z[q, i], Z[q, j]) for q in queries if q.sum() > 1]
        expected = np.mean(values)
        assert selector.similarity_[i, j] == pytest.approx(expected, abs=1e-12)
        assert selector.similarity_[i, j] == selector.similarity_[j, i]


@pytest.mark.parametrize("similarity", ["kendall", "spearman", "concordance"])
def test_a_query_of_one_document_says_nothing_of_similarity(similarity):
    X, y, groups = rows()
    expected = GAS(2, similarity=similarity).fit(X, y, groups).similarity_
    alone = np.append(groups, groups.max() + 1 + np.arange(20))
    X, y = np.append(X, X[:20], axis=0), np.append(y, y[:20])
    found = GAS(2, similarity=similarity).fit(X, y, alone).similarity_
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def objective(chosen, importances, similarity, c):
    """Value of the objective for a set of features, term by term."""
    value = sum(importances[i] for i in chosen)
    for i in chosen:
        for j in chosen:
            if i != j:
                value -= c * similarity[i, j]
    return value


def test_search_takes_the_best_next_feature_by_the_objective():
    X, y, groups = rows()
    selector = GAS(4, c=0.2).fit(X, y, groups)
    taken = []
    for feature in selector.order_:
        values = {
            j: objective([*taken, j], selector.importances_, selector.similarity_, 0.2)
            for j in range(6)
            if j not in taken
        }
        assert values[feature] == pytest.approx(max(values.values()), abs=1e-12)
        taken.append(feature)
    expected = objective(taken, selector.importances_, selector.similarity_, 0.2)
    assert selector.objective_ == pytest.approx(expected, abs=1e-12)
    assert set(taken) == set(np.flatnonzero(selector.get_support()))


@pytest.mark.parametrize("seed", range(20))
def test_search_is_near_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    d, n = 8, int(rng.integers(1, 8))
    similarity = rng.random((d, d))
    similarity = (similarity + similarity.T) / 2
    importances = rng.random(d)
    # So little that no feature is ever worth less than nothing.
    c = importances.min() / (2 * similarity.sum(axis=1).max())
    _, gains = greedy(importances, similarity, c, n)
    best = max(
        objective(chosen, importances, similarity, c)
        for chosen in combinations(range(d), n)
    )
    assert gains.sum() >= (1 - np.exp(-1)) * best - 1e-12
    assert gains.sum() <= best + 1e-12
    # Without similarities, with one feature and with all, it is the best itself.
    assert greedy(importances, similarity, 0.0, n)[1].sum() == pytest.approx(
        np.sort(importances)[-n:].sum()
    )
    if n == 1:
        assert gains.sum() == pytest.approx(best)
    whole = greedy(importances, similarity, c, d)[1].sum()
    expected = objective(range(d), importances, similarity, c)
    assert whole == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
def test_search_is_exact_where_features_form_groups_of_copies(seed):
    # One of each group costs nothing, and a second one more than it is worth.
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, size=9)
    similarity = (group[:, None] == group).astype(float)
    importances = rng.random(9)
    n = len(np.unique(group))
    _, gains = greedy(importances, similarity, 5.0, n)
    best = max(
        objective(chosen, importances, similarity, 5.0)
        for chosen in combinations(range(9), n)
    )
    assert gains.sum() == pytest.approx(best)


def test_concordance_selects_what_tau_selects_with_half_the_weight():
    X, y, groups = rows()
    c = 0.15
    tau = GAS(4, c=c).fit(X, y, groups)
    share = GAS(4, c=2 * c, similarity="concordance").fit(X, y, groups)
    np.testing.assert_array_equal(share.order_, tau.order_)
    sizes = np.bincount(groups)
    assert (sizes[sizes > 0] > 1).all()
    np.testing.assert_allclose(2 * share.similarity_ - 1, tau.similarity_, atol=1e-12)


def test_threads_do_not_change_a_bit():
    X, y, groups = rows()
    first, second = (GAS(3, n_jobs=n).fit(X, y, groups).similarity_ for n in (1, 3))
    np.testing.assert_array_equal(first, second)


def test_pairs_of_a_long_query_come_in_several_batches():
    # 300 rankings leave room for 7,000 words each, or some 450,000 pairs; 1024 words
    # are taken, so that the 124,750 pairs of 500 documents come in two parts.
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(3, 503)), 1)
    ptr = np.array([0, 2, 502, 503])
    sums = kendall_sums(values, ptr, False, 2)
    for i, j in [(0, 1), (2, 1), (2, 2)]:
        expected = sum(
            kendalltau(values[i, a:b], values[j, a:b]).statistic
            for a, b in [(0, 2), (2, 502)]
        )
        assert sums[i, j] == pytest.approx(expected, abs=1e-12)
    shares = kendall_sums(values, ptr, True)
    x = values[:, 2:502]
    agree = np.sign(x[0][:, None] - x[0]) * np.sign(x[1][:, None] - x[1]) > 0
    first = np.sign(values[:2, 1] - values[:2, 0]).prod() > 0
    assert shares[0, 1] == pytest.approx(agree.sum() / (500 * 499) + first)


# The path of the L1 penalty.


def test_the_path_begins_at_the_first_coefficient():
    X, y, groups = rows()
    selector = L1PathSelector(6, n_steps=20, ratio=1e-3).fit(X, y, groups)
    assert (selector.coefs_[0] == 0).all()
    assert (selector.coefs_[-1] != 0).all()
    l1s = selector.l1s_
    np.testing.assert_allclose(l1s[1:] / l1s[:-1], l1s[1] / l1s[0], rtol=1e-9)
    # The slope of the mean loss at 0, pair by pair, of features of unit spread.
    order = np.argsort(groups, kind="stable")
    X, y, groups = X[order], y[order], groups[order]
    means = np.array([X[groups == q].mean(axis=0) for q in groups])
    Z = X / np.sqrt(((X - means) ** 2).mean(axis=0))
    slopes, n = np.zeros(6), 0
    for q in np.unique(groups):
        own = np.flatnonzero(groups == q)
        pairs = [(u, v) for u in own for v in own if y[u] > y[v]]
        if pairs:
            slopes += 0.5 * np.mean([Z[u] - Z[v] for u, v in pairs], axis=0)
            n += 1
    np.testing.assert_allclose(l1s[0], np.abs(slopes / n).max(), rtol=1e-9)
    first = np.argmax(np.abs(slopes))
    few = L1PathSelector(1, n_steps=20, ratio=1e-3).fit(X, y, groups)
    assert np.flatnonzero(few.get_support()) == [first]
    assert few.entry_l1_[first] == few.entry_l1_.max() == few.l1s_[-1]


def test_of_features_that_enter_at_once_the_largest_coefficients_are_kept():
    X, y, groups = rows()
    path = L1PathSelector(6, n_steps=2, ratio=1e-3).fit(X, y, groups)
    assert (path.entry_l1_ == path.l1s_[1]).all()
    largest = np.argsort(-np.abs(path.coefs_[1]))[:3]
    few = L1PathSelector(3, n_steps=2, ratio=1e-3).fit(X, y, groups)
    assert sorted(largest) == np.flatnonzero(few.get_support()).tolist()


def test_the_path_does_not_depend_on_scales():
    X, y, groups = rows()
    scale = 10.0 ** np.arange(-3, 3)
    first = L1PathSelector(3).fit(X, y, groups)
    second = L1PathSelector(3).fit(X * scale, y, groups)
    np.testing.assert_array_equal(first.get_support(), second.get_support())
    np.testing.assert_allclose(first.l1s_, second.l1s_, rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1.7e9])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_spreads_of_sparse_rows_are_those_of_dense_ones(offset, kind):
    X, y, groups = rows()
    X = np.column_stack([offset + X[:, 0], np.where(X[:, 1] > 0.5, X[:, 1], 0.0)])
    X = np.column_stack([X, groups + offset, np.full(len(y), 0.1), np.zeros(len(y))])
    X = np.column_stack([X, np.where(np.arange(len(y)) == 3, np.nan, X[:, 1])])
    index = QueryIndex.from_groups(groups)
    dense = spreads_or_nan(GroupedRows.from_index(X, y, index))
    thin = spreads_or_nan(GroupedRows.from_index(kind(X).tocsr(), y, index))
    np.testing.assert_allclose(thin, dense, rtol=1e-12, atol=0.0)
    assert thin[2] == thin[3] == thin[4] == 0.0


@pytest.mark.parametrize("power", [-1000, -510, -405, 405, 510, 1000])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_spreads_have_the_unit_of_the_feature(power, kind):
    X, y, groups = rows()
    index = QueryIndex.from_groups(groups)
    usual = spreads(GroupedRows.from_index(kind(X), y, index))
    found = spreads(GroupedRows.from_index(kind(np.ldexp(X, power)), y, index))
    np.testing.assert_allclose(found, np.ldexp(usual, power), rtol=1e-15)


def spreads_or_nan(given):
    return np.sqrt(_squares_within(given) / given.n_documents)


def test_the_path_of_other_rankers():
    X, y, groups = rows()
    X = np.column_stack([X, np.ones(len(X))])
    ranker = RobustSparseRanker(max_updates=1)
    selector = L1PathSelector(3, estimator=ranker, n_steps=8).fit(X, y, groups)
    assert selector.n_features_ == 3
    assert not selector.get_support()[-1]  # equal in all queries
    assert (selector.coefs_[0] == 0).all()
    pipe = make_pipeline(StandardScaler(), ranker)
    other = L1PathSelector(3, estimator=pipe, n_steps=8).fit(X, y, groups)
    assert other.n_features_ == 3


def test_a_path_that_cannot_be_followed():
    X, y, groups = rows()
    with pytest.raises(ValueError, match=r"one parameter called l1.* has none"):
        L1PathSelector(estimator=RankSVM()).fit(X, y, groups)
    with pytest.raises(ValueError, match="no feature has a coefficient"):
        L1PathSelector(l1_max=1e3, ratio=0.5, n_steps=2).fit(X, y, groups)
    # One step of SGD knows of no penalty.
    wrong = RobustSparseRanker(solver=SGD(max_iter=1))
    with pytest.raises(ValueError, match="coefficients are not 0 at a penalty"):
        L1PathSelector(estimator=wrong).fit(X, y, groups)


# Elimination.


def test_permutations_stay_within_queries():
    X, y, groups = rows()
    # Worth a lot between queries, and nothing within: grades of whole queries differ.
    y = y + 3.0 * (groups % 2)
    X = np.column_stack([X, groups % 2])
    order = np.argsort(groups, kind="stable")
    ptr = np.append(np.flatnonzero(np.diff(groups[order], prepend=-1)), len(y))
    grouped = GroupedRows(X[order], y[order], ptr)
    ridge = Ridge().fit(X, y)
    assert abs(ridge.coef_[-1]) > 1
    rng = np.random.RandomState(0)
    found = permutation_importances(ridge, grouped, get_measure("ndcg@10"), 3, rng)
    assert found[-1] == 0
    assert found.max() > 0.05
    # What a feature is worth to a model counts within queries, too.
    selector = QueryRFE(Ridge(), n_features_to_select=6, importance="model")
    selector.fit(X, y, groups)
    assert selector.ranking_.tolist() == [1] * 6 + [2]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        ["passthrough"],
        [SimpleImputer()],
        [QueryStandardScaler()],
        [StandardScaler()],
    ],
    ids=str,
)
def test_what_a_pipeline_has_learned_counts_within_queries(steps):
    X, y, groups = rows()
    X = X * 10.0 ** np.arange(X.shape[1])  # units are of no account
    options = {"n_features_to_select": 1, "importance": "model"}
    with sklearn.config_context(enable_metadata_routing=True):
        found = QueryRFE(make_pipeline(*steps, LinearRegression()), **options)
        found.fit(X, y, groups)
    if any(isinstance(step, QueryStandardScaler) for step in steps):
        X = QueryStandardScaler().fit_transform(X, groups=groups)
    alone = QueryRFE(LinearRegression(), **options).fit(X, y, groups)
    assert found.ranking_.tolist() == alone.ranking_.tolist()


@pytest.mark.parametrize("cv", [None, 3, QueryKFold(3)])
def test_importances_are_what_permutations_cost(cv):
    X, y, groups = rows()
    selector = QueryRFE(
        SubsetRegression(), n_features_to_select=3, random_state=0, cv=cv, n_repeats=3
    )
    selector.fit(X, y, groups)
    assert sorted(selector.ranking_) == [1, 1, 1, 2, 3, 4]
    # make_ranking has its informative features among the first ones it names.
    kept = np.flatnonzero(selector.get_support())
    full = SubsetRegression().fit(X, y, groups)
    without = [
        evaluate_measure(
            "ndcg@10",
            y,
            full.predict(
                X * (np.arange(6) != j) + X.mean(axis=0) * (np.arange(6) == j)
            ),
            groups=groups,
        )
        for j in range(6)
    ]
    assert set(np.argsort(without)[:2]) <= set(kept)
    np.testing.assert_array_equal(
        selector.estimator_.predict(X[:, kept]),
        SubsetRegression().fit(X[:, kept], y, groups).predict(X[:, kept]),
    )


def test_steps_of_elimination():
    X, y, groups = rows()
    ranker = SubsetRegression()
    for step, sizes in [(1, [6, 5, 4, 3, 2, 1]), (4, [6, 2, 1]), (0.5, [6, 3, 2, 1])]:
        selector = QueryRFECV(ranker, step=step, cv=2, n_repeats=1, random_state=0)
        selector.fit(X, y, groups)
        assert selector.n_features_tried_.tolist() == sizes
        assert selector.validation_values_.shape == (len(sizes), 2)


def test_the_number_of_features_is_that_of_validation_queries():
    X, y, groups = rows(n_queries=40)
    rng = np.random.default_rng(0)
    X = np.column_stack([X, rng.normal(size=(len(X), 6))])
    cv = QueryKFold(4)
    selector = QueryRFECV(SubsetRegression(), cv=cv, n_repeats=2, random_state=0)
    selector.fit(X, y, groups)
    means = selector.validation_values_.mean(axis=1)
    sizes = selector.n_features_tried_
    assert selector.n_features_ == sizes[means == means.max()].min()
    # The values of all features are those of cross-validation.
    for fold, (train, test) in enumerate(cv.split(X, y, groups)):
        model = SubsetRegression().fit(X[train], y[train], groups[train])
        expected = model.score(X[test], y[test], groups[test])
        assert selector.validation_values_[0, fold] == pytest.approx(expected)
    shorter = sklearn.clone(selector).set_params(rule="one_standard_error")
    shorter.fit(X, y, groups)
    best = selector.validation_values_[np.argmax(means)]
    bound = means.max() - best.std(ddof=1) / 2
    assert shorter.n_features_ == sizes[means >= bound].min()
    jobs = sklearn.clone(selector).set_params(n_jobs=2).fit(X, y, groups)
    np.testing.assert_array_equal(jobs.ranking_, selector.ranking_)


@pytest.mark.parametrize(
    "split",
    [
        None,
        "ab",
        "nothing",
        (None, [0]),
        ([0, 1], None),
        ([0.5], [1]),
        ([[0]], [1]),
        ([10**6], [0]),
        ([-(10**6)], [0]),
        ([], [0]),
        ([0], [1], [2]),
        (np.ma.masked_array([0, 1], [False, True]), [2]),
        (np.array([True, False]), [2]),
    ],
    ids=str,
)
def test_splitters_that_yield_no_row_numbers_are_named(split):
    class Odd:
        def split(self, X, y=None, groups=None):
            if split != "nothing":
                yield split

        def get_n_splits(self, X=None, y=None, groups=None):
            return 1

    X, y, groups = rows()
    masked = split is not None and np.ma.isMaskedArray(split[0])
    message = "is masked" if masked else "a splitter that yields pairs"
    for selector in (QueryRFECV(SubsetRegression(), cv=Odd()), QueryRFE(cv=Odd())):
        with pytest.raises(ValueError, match=f"cv must .*{message}"):
            selector.fit(X, y, groups)
    with pytest.raises(ValueError, match=f"cv must .*{message}"):
        query_learning_curve(SubsetRegression(), X, with_queries(y, groups), cv=Odd())


def with_queries(y, groups):
    return pd.Series(y, index=pd.Index(groups, name="qid"))


def test_splitters_may_use_one_array_again_and_again():
    class Reusing(QueryKFold):
        def split(self, X, y=None, groups=None):
            train, test = np.empty(80, dtype=int), np.empty(20, dtype=int)
            for one, other in super().split(X, y, groups):
                train[:], test[:] = one, other
                yield train, test

    X, y, groups = make_ranking(n_queries=10, docs_per_query=10, random_state=0)
    found = []
    for cv in (QueryKFold(5), Reusing(5)):
        selector = QueryRFECV(SubsetRegression(), step=0.5, cv=cv, random_state=0)
        labels = with_queries(y, groups)
        curve = query_learning_curve(SubsetRegression(), X, labels, cv=cv)
        found.append((selector.fit(X, y, groups).validation_values_, curve[2]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("attribute", ["feature_importances_", "coef_"])
@pytest.mark.parametrize("number", [np.nan, np.inf, None, 1j, "a"])
def test_what_a_model_says_of_features_must_be_numbers(attribute, number):
    class Model(LinearRegression):
        def fit(self, X, y):
            super().fit(X, y)
            setattr(self, attribute, np.array([number] * X.shape[1]))
            return self

    X, y, groups = make_ranking(n_queries=4, random_state=0)
    selector = QueryRFE(Model(), n_features_to_select=2, importance="model")
    message = f"{attribute} of Model must hold (finite )?numbers, got"
    with pytest.raises(ValueError, match=message):
        selector.fit(X, y, groups)


@pytest.mark.parametrize(
    "selector",
    [
        QueryRFE(SubsetRegression()),
        QueryRFE(SubsetRegression(), cv=2),
        QueryRFE(SubsetRegression(), cv=2, n_jobs=2),
        QueryRFECV(SubsetRegression(), cv=2),
    ],
)
def test_what_users_raise_stays_as_it_is(selector):
    def measure(y_true, y_score):
        raise StopIteration("no")

    class Splitter:
        def split(self, X, y, groups):
            raise StopIteration("no folds")

        def get_n_splits(self, *_):
            return 2

    X, y, groups = make_ranking(n_queries=4, random_state=0)
    selector = clone(selector)
    with pytest.raises(StopIteration, match=r"^no$"):
        selector.set_params(measure=measure).fit(X, y, groups)
    if selector.cv is not None:
        with pytest.raises(StopIteration, match=r"^no folds$"):
            selector.set_params(cv=Splitter()).fit(X, y, groups)


@pytest.mark.parametrize("cv", [2, 3])
def test_standard_errors_are_those_of_a_sample(cv):
    for seed in range(20):
        X, y, groups = make_ranking(n_queries=14, random_state=seed)
        selector = QueryRFECV(SubsetRegression(), cv=cv, rule="one_standard_error")
        selector.set_params(importance="model", random_state=0).fit(X, y, groups)
        values = selector.validation_values_
        means = values.mean(axis=1)
        error = values[np.argmax(means)].std(ddof=1) / np.sqrt(cv)
        near = selector.n_features_tried_[means >= means.max() - error]
        assert selector.n_features_ == near.min()


def test_trees_take_missing_values_and_say_what_they_learned():
    X, y, groups = rows()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    trees = MART(n_estimators=5, min_samples_leaf=5, random_state=0)
    selector = QueryRFE(trees, n_features_to_select=2, importance="model")
    assert selector.fit(X, y, groups).transform(X).shape == (len(X), 2)
    first = trees.fit(X, y, groups).feature_importances_
    assert first[selector.ranking_ == selector.ranking_.max()] == [first.min()]
    with pytest.raises(ValueError, match="NaN"):
        QueryRFE(RankSVM()).fit(X, y, groups)
    with pytest.raises(TypeError, match="dense data is required"):
        QueryRFE(RankBoost()).fit(sparse.csr_matrix(np.nan_to_num(X)), y, groups)


def test_what_elimination_refuses():
    X, y, groups = rows()
    kernel = RankSVM(kernel="rbf", n_components=10)
    with pytest.raises(ValueError, match="importance='model' needs an estimator"):
        QueryRFE(kernel, importance="model").fit(X, y, groups)
    for cv in (1, 26, "a", QueryKFold):
        with pytest.raises(ValueError, match="QueryRFE: cv must be"):
            QueryRFE(cv=cv).fit(X, y, groups)
    with pytest.raises(ValueError, match="QueryRFECV: step must be"):
        QueryRFECV(step=0.0).fit(X, y, groups)
    selector = QueryRFECV(measure="map(rel=99)", cv=2, step=0.5, n_repeats=1)
    with pytest.raises(ValueError, match="no validation query has a value"):
        selector.fit(X, y, groups)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_features_whose_squares_overflow_are_named(as_rows):
    X = as_rows(np.random.default_rng(0).normal(size=(30, 3)) * 1e160)
    with pytest.raises(NotFiniteError, match="X must hold numbers of at most"):
        QueryRFE(RankSVM()).fit(X, np.arange(30) % 3, groups=np.arange(30) // 5)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_the_path_takes_features_whose_squares_are_no_floats(power, as_rows):
    X, y, groups = rows()
    expected = L1PathSelector(6).fit(as_rows(X), y, groups)
    scaled = X * [2.0**power, 1.0, 1.0, 4.0, 2.0**power, 1.0]
    found = L1PathSelector(6).fit(as_rows(scaled), y, groups)
    np.testing.assert_array_equal(found.entry_l1_, expected.entry_l1_)
    scaled[:, 3] = X[:, 3] * 1e-312
    with pytest.raises(NotFiniteError, match=r"of feature 3 is .*e-31\d, so scale"):
        L1PathSelector(6).fit(as_rows(scaled), y, groups)


class Indifferent(BaseEstimator):
    """A ranker to which all features are of one importance."""

    def fit(self, X, y):
        self.feature_importances_ = np.ones(X.shape[1])
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize("step", [0.01, np.float32(0.01), np.float64(0.3)])
def test_a_small_share_is_one_feature(step):
    X, y, groups = rows()
    options = {"n_features_to_select": 1, "importance": "model"}
    found = QueryRFE(Indifferent(), step=step, **options).fit(X, y, groups)
    # Of equally important features, the last ones go first.
    assert found.ranking_.tolist() == list(range(1, X.shape[1] + 1))


@pytest.mark.parametrize("cv", [None, 3])
def test_of_some_measures_less_is_better(cv):
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 3, 120).astype(float), np.repeat(np.arange(12), 10)
    X = np.column_stack([rng.normal(size=(120, 3)), y + 0.1 * rng.normal(size=120)])
    options = {"measure": "mse", "random_state": 0}
    found = QueryRFE(Ridge(), n_features_to_select=1, cv=cv, **options)
    assert found.fit(X, y, groups).ranking_[3] == 1
    chosen = QueryRFECV(Ridge(), cv=3, **options).fit(X, y, groups)
    assert chosen.ranking_[3] == 1
    assert (chosen.validation_values_ < 0.0).all()


def test_features_are_judged_by_rankers_that_have_not_seen_the_queries():
    X, y, groups = rows()
    seen = []

    class Recorder(Ridge):
        def fit(self, X, y):
            seen.append(len(X))
            return super().fit(X, y)

    QueryRFE(Recorder(), n_features_to_select=5, cv=3).fit(X, y, groups)
    # All rows, those of each fold, and all rows with the features that are left.
    assert [n == len(X) for n in seen] == [True, False, False, False, True]


def test_folds_do_not_depend_on_the_ids_of_queries():
    X, y, groups = rows()
    options = {"n_features_to_select": 2, "cv": 3, "random_state": 0}
    names = np.array([f"q{(7 * q) % 31:02d}" for q in range(31)])
    found = [
        QueryRFE(Ridge(), **options).fit(X, y, g).ranking_.tolist()
        for g in (groups, names[groups])
    ]
    assert found[0] == found[1]


class Given:
    """A splitter of which the pairs of row numbers are given."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def get_n_splits(self, X=None, y=None, groups=None):
        return len(self.pairs)

    def split(self, X, y=None, groups=None):
        yield from self.pairs


def test_rows_may_be_counted_from_the_end_and_must_be_some():
    X, y, groups = rows()
    order = np.argsort(groups, kind="stable")
    X, y, groups = X[order], y[order], groups[order]
    n, first = len(y), int((groups < 12).sum())
    train, test = np.arange(first), np.arange(first, n)
    found = [
        QueryRFE(RankSVM(), cv=Given((part, test)), random_state=0)
        .fit(X, y, groups)
        .ranking_
        for part in (train, train - n)
    ]
    np.testing.assert_array_equal(*found)
    for part in (test[:0], np.array([-n - 1]), np.array([n])):
        with pytest.raises((TypeError, ValueError), match="row numbers"):
            QueryRFE(RankSVM(), cv=Given((train, part))).fit(X, y, groups)


def test_a_missing_value_beside_large_ones_leaves_the_importance():
    X, y, groups = rows()
    X[3, 1] = np.nan
    expected = SelectByMeasure(importance=LogLoss()).fit(X, y, groups).importances_
    X[:, 1] *= 2.0**600
    found = SelectByMeasure(importance=LogLoss()).fit(X, y, groups).importances_
    np.testing.assert_array_equal(found, expected)


def test_functions_gain_nothing_from_the_order_of_the_rows():
    X, y, groups = rows()
    order = np.lexsort((-y, groups))
    y, groups = y[order], groups[order]

    def first(y, scores):
        return float(y[np.argsort(-scores, kind="stable")][0])

    equal = np.column_stack([X[order, 0], np.zeros(len(y))])
    found = SelectByMeasure(1, importance=first).fit(equal, y, groups)
    least = np.mean([y[groups == q].min() for q in np.unique(groups)])
    assert found.importances_[1] == pytest.approx(least)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_missing_objects_are_missing_features(kind):
    X, y, groups = rows()
    given = X.astype(object)
    given[2, 1] = pd.NA
    eliminated = QueryRFE(SubsetRegression(), n_features_to_select=3, n_repeats=1)
    for selector in (eliminated, L1PathSelector(3), GAS(3)):
        selector.fit(X, y, groups)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that fit had none of
            with pytest.raises(ValueError, match="contains NaN"):
                selector.inverse_transform(kind(given[:, :3]))
            if isinstance(selector, GAS):
                selector.transform(kind(given))
                continue
            with pytest.raises(ValueError, match="contains NaN"):
                selector.transform(kind(given))
