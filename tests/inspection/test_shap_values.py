"""Contributions sum to the scores, whatever the ranker, and follow their definition."""

import tracemalloc
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.compat import RankingRegressor
from skrank.inspection import explain_preference, shap_values
from skrank.losses import ThresholdLoss
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import (
    MART,
    BoostedRanker,
    GBRank,
    LambdaMART,
    ListNet,
    McRank,
    RandomForestRanker,
    RankBoost,
    RankNet,
    RankSVM,
)

OPTIONS = {"n_estimators": 8, "min_samples_leaf": 3, "random_state": 0}
TREES = [
    MART(**OPTIONS),
    LambdaMART(**OPTIONS),
    GBRank(**OPTIONS),
    RandomForestRanker(**OPTIONS),
    MART(**OPTIONS, max_features=0.5, subsample=0.5),
    MART(**OPTIONS, init=RankSVM()),
    MART(**OPTIONS, init=RandomForestRanker(**OPTIONS)),
    BoostedRanker(loss=ThresholdLoss(), **OPTIONS),
]
LINEAR = [RankSVM(), ListNet(alpha=0.1), RankNet()]


@pytest.fixture
def with_gaps(ragged):
    """Ragged rows with missing values and a column of categories."""
    X, y, groups = ragged
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 5] = rng.integers(5, size=len(X))
    return X, y, groups


def name_of(ranker):
    parts = [type(ranker).__name__]
    parts += [type(getattr(ranker, name, None)).__name__ for name in ("init", "loss")]
    return "-".join(part for part in parts if part != "NoneType")


def brute_force(ranker, row, background):
    """Shapley values by the mean score of rows that mix this one and the background."""
    d = len(row)
    value = {}
    for size in range(d + 1):
        for known in map(frozenset, combinations(range(d), size)):
            mixed = np.array(background)
            mixed[:, list(known)] = row[list(known)]
            value[known] = ranker.predict(mixed).mean()
    phi = np.zeros(d)
    for known, before in value.items():
        for j in set(range(d)) - known:
            weight = factorial(len(known)) * factorial(d - len(known) - 1)
            phi[j] += weight / factorial(d) * (value[known | {j}] - before)
    return phi


@pytest.mark.parametrize("ranker", TREES + LINEAR, ids=name_of)
@pytest.mark.parametrize("kind", ["covers", "rows", "query"])
def test_contributions_sum_to_the_scores(ragged, ranker, kind):
    X, y, groups = ragged
    ranker.fit(X, y, groups)
    linear = ranker in LINEAR or isinstance(getattr(ranker, "init", None), RankSVM)
    if kind == "covers" and linear:
        with pytest.raises(
            ValueError, match=r"^background is missing: (RankSVM|ListNet|RankNet) is"
        ):
            shap_values(ranker, X)
        return
    background = {"covers": None, "rows": X[:9], "query": "query"}[kind]
    explanation = shap_values(ranker, X, background, groups)
    scores = ranker.predict(X)
    np.testing.assert_allclose(explanation.scores, scores, rtol=1e-10, atol=1e-10)
    if kind == "rows":
        np.testing.assert_allclose(explanation.base_values, scores[:9].mean())
    if kind == "query":
        means = pd.Series(scores).groupby(groups).transform("mean")
        np.testing.assert_allclose(explanation.base_values, means, atol=1e-10)


@pytest.mark.parametrize(
    "ranker", [TREES[0], TREES[3], TREES[6], TREES[7], LINEAR[0]], ids=name_of
)
def test_equal_to_the_sum_over_coalitions(ragged, ranker):
    X, y, groups = ragged
    ranker.fit(X, y, groups)
    found = shap_values(ranker, X[:3], X[5:15]).values
    expected = [brute_force(ranker, row, X[5:15]) for row in X[:3]]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("background", [False, True])
def test_missing_values_and_categories(with_gaps, background):
    X, y, groups = with_gaps
    options = OPTIONS | {"max_leaf_nodes": 31, "categorical_features": [5]}
    ranker = MART(**options).fit(X, y, groups)
    rows = X[:6].copy()
    rows[0, 5] = 99.0  # not seen in fit
    Z = X[6:20] if background else None
    explanation = shap_values(ranker, rows, Z)
    np.testing.assert_allclose(explanation.scores, ranker.predict(rows), atol=1e-10)
    assert (ranker.ensemble_.category_ >= 0).any()
    if background:
        expected = [brute_force(ranker, row, Z) for row in rows]
        np.testing.assert_allclose(explanation.values, expected, atol=1e-10)


@pytest.mark.parametrize("background", [None, "query", 7])
def test_same_bits_for_any_number_of_threads(ragged, background):
    X, y, groups = ragged
    ranker = LambdaMART(**OPTIONS).fit(X, y, groups)
    Z = X[:background] if isinstance(background, int) else background
    found = [shap_values(ranker, X, Z, groups, n_jobs=n).values for n in (1, 2, 3)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    rows = np.random.default_rng(0).permutation(len(X))
    moved = shap_values(ranker, X[rows], Z, groups[rows]).values
    if background == "query":
        np.testing.assert_allclose(moved, found[0][rows], atol=1e-12)
    else:
        np.testing.assert_array_equal(moved, found[0][rows])


def test_single_precision(ragged):
    X, y, groups = ragged
    single = X.astype(np.float32)
    ranker = MART(**OPTIONS).fit(single, y, groups)
    explanation = shap_values(ranker, single, X[:5])
    np.testing.assert_allclose(explanation.scores, ranker.predict(single), atol=1e-10)
    np.testing.assert_array_equal(
        shap_values(ranker, single).values,
        shap_values(ranker, single.astype(np.float64)).values,
    )


def test_sparse_rows(ragged):
    X, y, groups = ragged
    X = np.where(X > 0, X, 0.0)
    for ranker in (RankSVM(), MART(**OPTIONS)):
        ranker.fit(X, y, groups)
        dense = shap_values(ranker, X, X)
        for rows in (sparse.csr_matrix(X), sparse.csr_array(X)):
            found = shap_values(ranker, rows, rows)
            np.testing.assert_allclose(found.values, dense.values, atol=1e-12)
            np.testing.assert_array_equal(found.data, X)


def test_a_pipeline_explains_its_last_step(ragged):
    X, y, groups = ragged
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler(), RankSVM())
    pipeline.fit(frame, y, ranksvm__groups=groups)
    explanation = shap_values(pipeline, frame, frame)
    assert explanation.feature_names == list("abcdef")
    np.testing.assert_allclose(
        explanation.values, pipeline[0].transform(frame) * pipeline[-1].coef_
    )
    np.testing.assert_allclose(explanation.scores, pipeline.predict(frame))


def test_scaling_by_query(ragged):
    X, y, groups = ragged
    scaled = QueryStandardScaler().fit(X).transform(X, groups=groups)
    ranker = MART(**OPTIONS).fit(scaled, y, groups)
    pipeline = make_pipeline(QueryStandardScaler().fit(X), ranker)
    explanation = shap_values(pipeline, X, "query", groups)
    np.testing.assert_array_equal(explanation.data, scaled)
    np.testing.assert_allclose(explanation.scores, ranker.predict(scaled), atol=1e-10)
    against = shap_values(pipeline, X, X, groups, background_groups=groups)
    np.testing.assert_allclose(against.scores, ranker.predict(scaled), atol=1e-10)
    assert explanation.feature_names == [f"x{j}" for j in range(6)]


def test_a_search_explains_its_winner(ragged):
    from sklearn.model_selection import GridSearchCV

    X, y, groups = ragged
    data = pd.DataFrame(X, index=pd.Index(groups, name="qid"))
    data.columns = list("abcdef")
    search = GridSearchCV(MART(**OPTIONS), {"max_leaf_nodes": [3]}, cv=QueryKFold(2))
    search.fit(data, pd.Series(y, index=data.index))
    explanation = shap_values(search, data, "query")
    np.testing.assert_allclose(explanation.scores, search.predict(data), atol=1e-10)
    assert explanation.feature_names == list("abcdef")


def test_probabilities_of_grades(ragged):
    X, y, groups = ragged
    for ranker in (McRank(**OPTIONS), McRank(method="ordinal", **OPTIONS)):
        ranker.fit(X, y, groups)
        n = ranker.ensemble_.n_outputs
        with pytest.raises(ValueError, match=f"McRank cannot be .* of its {n} sums of"):
            shap_values(ranker, X)
        raw = ranker._raw(X)
        for k in range(n):
            explanation = shap_values(ranker, X, output=k)
            np.testing.assert_allclose(explanation.scores, raw[:, k], atol=1e-10)
        with pytest.raises(ValueError, match=f"from 0 to {n - 1}, got {n}"):
            shap_values(ranker, X, output=n)


@pytest.mark.parametrize("ranker", [TREES[0], TREES[5], LINEAR[0]], ids=name_of)
def test_a_preference_sums_to_the_difference(ragged, ranker):
    X, y, groups = ragged
    X[4, 2] = X[9, 2]
    ranker.fit(X, y, groups)
    scores = ranker.predict(X)
    there = explain_preference(ranker, X, 4, 9)
    back = explain_preference(ranker, X, 9, -len(X) + 4)
    np.testing.assert_allclose(there.difference, scores[4] - scores[9], atol=1e-10)
    np.testing.assert_allclose(there.scores, scores[[4, 9]], atol=1e-10)
    np.testing.assert_allclose(there.values, -back.values, atol=1e-12)
    assert there.values[2] == 0.0
    assert back.documents == (9, 4)
    np.testing.assert_array_equal(there.data, X[[4, 9]])


def test_what_cannot_be_explained_is_named(ragged):
    X, y, groups = ragged
    kernel = RankSVM(kernel="rbf", n_components=5).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"^RankSVM cannot be explained: its sco"):
        shap_values(kernel, X, X)
    boost = RankBoost(n_estimators=3).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"has no coeff.*query_partial_dependence"):
        explain_preference(boost, X, 0, 1)
    with pytest.raises(TypeError, match=r"must be a fitted ranker of skrank"):
        shap_values(StandardScaler().fit(X), X)
    adapter = RankingRegressor(RankSVM()).fit(X, y, groups)
    with pytest.raises(TypeError, match=r"RankSVM.*; pass its estimator_, and rows as"):
        shap_values(adapter, X)
    shap_values(adapter.estimator_, X, X)
    other = RankingRegressor(LinearRegression()).fit(X, y, groups)
    with pytest.raises(TypeError, match=r"got RankingRegressor\(.*\)$"):
        shap_values(other, X)
    mart = MART(**OPTIONS, init=LinearInit()).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"scores of LinearInit, which is no ranker"):
        shap_values(mart, X)


class LinearInit(StandardScaler):
    """An estimator of somebody else's that predicts."""

    def predict(self, X):
        return X[:, 0]


def test_bad_arguments_are_named(ragged):
    X, y, groups = ragged
    ranker = MART(**OPTIONS).fit(X, y, groups)
    with pytest.raises(ValueError, match=r'background must be rows, "query" or None'):
        shap_values(ranker, X, "train")
    with pytest.raises(ValueError, match=r"background"):
        shap_values(ranker, X, X[:, :3])
    with pytest.raises(ValueError, match=r"groups"):
        shap_values(ranker, X, "query")
    with pytest.raises(ValueError, match=r"^a must be one of \d+, counted from 0"):
        explain_preference(ranker, X, len(X), 0)
    with pytest.raises(TypeError, match=r"^b must be an integer, got 1.5"):
        explain_preference(ranker, X, 0, 1.5)
    with pytest.raises(ValueError, match=r"output: RankSVM has no sums of trees"):
        shap_values(RankSVM().fit(X, y, groups), X, X, output=0)


def test_covers_that_are_zero_are_refused(ragged):
    X, y, groups = ragged
    ranker = MART(**OPTIONS).fit(X, y, groups)
    ranker.ensemble_.count_ = np.zeros_like(ranker.ensemble_.count_)
    with pytest.raises(ValueError, match=r"node 0 has no rows below it"):
        shap_values(ranker, X)
    assert np.isfinite(shap_values(ranker, X, X).values).all()


def test_one_document_and_no_split(ragged):
    X, y, groups = ragged
    ranker = MART(**OPTIONS).fit(X, y, groups)
    alone = shap_values(ranker, X[:1])
    np.testing.assert_array_equal(alone.values, shap_values(ranker, X).values[:1])
    with pytest.warns(UserWarning, match="no tree has a split"):
        stump = MART(min_samples_leaf=1000).fit(X, y, groups)
    for background in (None, X):
        explanation = shap_values(stump, X, background)
        assert not explanation.values.any()
        np.testing.assert_allclose(explanation.scores, stump.predict(X))


def test_two_documents_of_many_sparse_ones_take_little_memory():
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 20_000, density=1e-3, random_state=0, format="csr")
    groups = np.repeat(np.arange(50), 40)
    y = rng.integers(0, 3, 2000)
    options = {"n_estimators": 2, "min_samples_leaf": 1, "random_state": 0}
    ranker = MART(**options).fit(X, y, groups)
    expected = explain_preference(ranker, X[:2], 0, 1)
    tracemalloc.start()
    found = explain_preference(ranker, X, 0, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found.values, expected.values)
    assert peak < X.shape[0] * X.shape[1]  # a byte for each number, if it were dense
