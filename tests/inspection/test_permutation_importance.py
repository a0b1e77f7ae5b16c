"""Permutation importance by query: what moves, what stays, and what it adds up to."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.inspection import query_permutation_importance
from skrank.metrics import ndcg_score, query_mean_squared_error
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import MART, BoltzRank, RankSVM


class Recorder:
    """Scores rows by their first feature and keeps what it was asked."""

    def __init__(self):
        self.seen = []

    def predict(self, X):
        self.seen.append(np.array(X))
        return np.asarray(X)[:, 0]


@pytest.mark.parametrize("within", [True, False])
def test_one_feature_at_a_time_moves(ragged, within):
    X, y, groups = ragged
    recorder = Recorder()
    query_permutation_importance(
        recorder, X, y, groups, n_repeats=2, within=within, random_state=0
    )
    original, *permuted = recorder.seen
    np.testing.assert_array_equal(original, X)
    assert len(permuted) == 2 * X.shape[1]
    for turn, rows in enumerate(permuted):
        j = turn % X.shape[1]
        np.testing.assert_array_equal(np.delete(rows, j, 1), np.delete(X, j, 1))
        assert (rows[:, j] != X[:, j]).any()
        np.testing.assert_array_equal(np.sort(rows[:, j]), np.sort(X[:, j]))
        stays = all(
            set(rows[groups == q, j]) == set(X[groups == q, j])
            for q in np.unique(groups)
        )
        assert stays == within


def test_every_order_of_a_query_is_equally_likely():
    X = np.tile(np.arange(3.0), 400)[:, None]
    groups = np.repeat(np.arange(400), 3)
    recorder = Recorder()
    y = np.tile([0.0, 0, 1], 400)
    query_permutation_importance(recorder, X, y, groups, n_repeats=5, random_state=0)
    orders = np.concatenate(recorder.seen[1:]).reshape(-1, 3) @ [9, 3, 1]
    _, counts = np.unique(orders, return_counts=True)
    # 2000 draws of 6 orders: mean 333, standard deviation 17.
    assert len(counts) == 6
    assert abs(counts - 2000 / 6).max() < 70


def test_values_are_differences_of_the_measure(ragged):
    X, y, groups = ragged
    recorder = Recorder()
    weight = np.random.default_rng(0).random(len(y))
    result = query_permutation_importance(
        recorder,
        X,
        y,
        groups,
        measure="ndcg@3",
        n_repeats=3,
        sample_weight=weight,
        random_state=0,
    )
    measured = [
        ndcg_score(y, rows[:, 0], groups=groups, k=3, sample_weight=weight)
        for rows in recorder.seen
    ]
    expected = (measured[0] - np.array(measured[1:])).reshape(3, -1).T
    np.testing.assert_allclose(result.importances, expected, atol=1e-12)
    np.testing.assert_allclose(result.importances_mean, expected.mean(axis=1))
    np.testing.assert_allclose(result.importances_std, expected.std(axis=1))
    np.testing.assert_allclose(result.baseline, measured[0])
    np.testing.assert_array_equal(result.importances[1:], 0.0)
    assert result.importances_mean[0] > 0


def test_features_of_queries_matter_across_queries_only(rng):
    class Difference:
        def predict(self, X):
            return X[:, 1] - 10 * X[:, 0]

    groups = np.repeat(np.arange(30), 6)
    X = np.column_stack([np.repeat(rng.normal(size=30), 6), rng.normal(size=180)])
    y = np.digitize(X[:, 1], [-0.5, 0.5]).astype(float)
    X[:, 1] += 10 * X[:, 0]
    ranker = Difference()
    result = query_permutation_importance(ranker, X, y, groups, random_state=0)
    np.testing.assert_allclose(result.importances[0], 0.0, atol=1e-12)
    assert result.importances_mean[1] > 0.1
    mixed = query_permutation_importance(
        ranker, X, y, groups, within=False, random_state=0
    )
    assert mixed.importances_mean[0] > 0.1


def test_input_of_any_kind(ragged):
    X, y, groups = ragged
    frame = pd.DataFrame(X, columns=list("abcdef"))
    ranker = RankSVM().fit(X, y, groups)
    named = RankSVM().fit(frame, y, groups)
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    options = {"n_repeats": 2, "random_state": 3}
    expected = query_permutation_importance(ranker, X, y, groups, **options)
    for estimator, rows, grades, ids in (
        (named, frame, y, groups),
        (ranker, sparse.csr_matrix(X), y, groups),
        (ranker, X.tolist(), y, groups),
        (ranker, X, series, None),
    ):
        result = query_permutation_importance(estimator, rows, grades, ids, **options)
        np.testing.assert_allclose(result.importances, expected.importances)


def halved_and_reversed(X, kind):
    """Return sparse rows with every value in two halves, and columns from the last."""
    rows = sparse.csr_array(X[:, ::-1])
    columns = X.shape[1] - 1 - np.repeat(rows.indices, 2)
    parts = (np.repeat(rows.data / 2, 2), columns, 2 * rows.indptr)
    return kind(parts, shape=X.shape)


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_stay_as_they_are(ragged, kind, writeable):
    X, y, groups = ragged
    ranker = RankSVM().fit(X, y, groups)
    rows = halved_and_reversed(X, kind)
    parts = (rows.data, rows.indices, rows.indptr)
    before = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = writeable
    options = {"n_repeats": 1, "random_state": 3}
    result = query_permutation_importance(ranker, rows, y, groups, **options)
    expected = query_permutation_importance(ranker, X, y, groups, **options)
    np.testing.assert_allclose(result.importances, expected.importances)
    for part, was in zip((rows.data, rows.indices, rows.indptr), before):
        np.testing.assert_array_equal(part, was)


def test_pipelines_and_missing_values(ragged):
    X, y, groups = ragged
    pipeline = make_pipeline(StandardScaler(), MART(min_samples_leaf=3))
    X = np.where(X < -1.5, np.nan, X)
    pipeline.fit(X, y, mart__groups=groups)
    result = query_permutation_importance(pipeline, X, y, groups, random_state=0)
    assert np.argmax(result.importances_mean) == 0


def test_importances_follow_the_direction_of_the_measure(ragged):
    """A feature that the ranking needs is important by an error, too."""
    X, y, groups = ragged
    recorder = Recorder()
    X = np.column_stack([y, X[:, 1]])  # scores are the grades: an error of 0
    result = query_permutation_importance(
        recorder, X, y, groups, measure="mse", n_repeats=2, random_state=0
    )
    errors = [
        query_mean_squared_error(y, rows[:, 0], groups=groups) for rows in recorder.seen
    ]
    expected = np.array(errors[1:]).reshape(2, 2).T
    assert result.baseline == 0.0
    np.testing.assert_allclose(result.importances, expected, rtol=1e-12)
    assert result.importances_mean[0] > 0
    np.testing.assert_array_equal(result.importances[1], 0.0)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_rankers_that_need_groups_are_given_them(ragged, in_pipeline):
    X, y, groups = ragged
    ranker = BoltzRank(
        pairwise_potential=True, n_samples=10, max_iter=2, random_state=0
    )
    with sklearn.config_context(enable_metadata_routing=True):
        if in_pipeline:
            ranker = make_pipeline(QueryStandardScaler(), ranker)
        ranker.fit(X, y, groups=groups)
        scores = ranker.predict(X, groups=groups)
    result = query_permutation_importance(
        ranker, X, y, groups, n_repeats=1, random_state=0
    )
    np.testing.assert_allclose(
        result.baseline, ndcg_score(y, scores, groups=groups, k=10)
    )


def test_bad_arguments(ragged):
    X, y, groups = ragged
    with pytest.raises(ValueError, match="n_repeats"):
        query_permutation_importance(Recorder(), X, y, groups, n_repeats=0)
    with pytest.raises(ValueError, match="query_permutation_importance needs to know"):
        query_permutation_importance(Recorder(), X, y)
