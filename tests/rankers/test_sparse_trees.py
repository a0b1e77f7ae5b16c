"""Rankers of trees learn from CSR matrices what they learn from the same dense rows."""

import copy
import resource

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from skrank.cli import main
from skrank.datasets import dump_letor
from skrank.exceptions import TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.inspection import shap_values
from skrank.losses import SquaredLoss
from skrank.rankers import (
    MART,
    BoostedRanker,
    GBRank,
    LambdaMART,
    McRank,
    QBRank,
    RandomForestRanker,
    RankBoost,
)
from skrank.trees._bins import SparseBins

D = 30
SMALL = {"n_estimators": 6, "min_samples_leaf": 4, "random_state": 0}


def sparse_data(rng, n=500, share=0.06):
    X = np.where(rng.random((n, D)) < share, rng.exponential(size=(n, D)), 0.0)
    X[:, 5] = rng.choice([0.0, 3.0, 4.0, 9.0], n, p=[0.8, 0.1, 0.05, 0.05])
    X[rng.random((n, D)) < 0.01] = np.nan
    grades = np.nan_to_num(X[:, 0] + X[:, 1] - X[:, 2]) + (X[:, 5] == 4.0)
    y = np.digitize(grades + 0.2 * rng.normal(size=n), [0.2, 0.6, 1.2]).astype(float)
    return X, y, np.arange(n) // 10


@pytest.fixture
def data(rng):
    return sparse_data(rng)


def assert_same_models(thin, dense, X):
    """Assert that two rankers have the same bits, for both kinds of rows."""
    for name, value in vars(dense.ensemble_).items():
        assert_array_equal(vars(thin.ensemble_)[name], value, err_msg=name)
    assert_array_equal(thin.bin_mapper_.cuts_, dense.bin_mapper_.cuts_)
    assert dense.ensemble_.feature_.max() >= 0  # there is a split
    expected = dense.predict(X)
    assert_array_equal(thin.predict(sparse.csr_array(X)), expected)
    assert_array_equal(dense.predict(sparse.csr_matrix(X)), expected)
    assert_array_equal(thin.predict(X), expected)


RANKERS = [
    LambdaMART(**SMALL),
    LambdaMART(**SMALL, growth="symmetric", categorical_features=[5], max_depth=4),
    LambdaMART(**SMALL, growth="depth", subsample=0.5, max_features=0.4),
    LambdaMART(**SMALL, sampling="bayesian", random_strength=1.0, max_bins=5),
    LambdaMART(**SMALL, monotonic_cst=[1, 1, -1] + [0] * (D - 3)),
    LambdaMART(**SMALL, sampling="minimal_variance", subsample=0.6),
    LambdaMART(**SMALL, categorical_features=[0, 5], max_bins=9),  # with rare levels
    MART(**SMALL, stochastic_rounding=False, path_smoothing=1.0),
    BoostedRanker(loss=SquaredLoss(), **SMALL, early_stopping=True),
    McRank(**SMALL),
    GBRank(**SMALL),
    QBRank(**SMALL),
    RandomForestRanker(**SMALL),
    RandomForestRanker(**SMALL, splitter="random", growth="symmetric"),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: repr(r)[:60])
def test_models_are_those_of_dense_rows(data, rng, ranker):
    X, y, groups = data
    X = X.astype([np.float64, np.float32][RANKERS.index(ranker) % 2])
    weight = rng.random(len(y))
    dense = copy.deepcopy(ranker.fit(X, y, groups, sample_weight=weight))
    thin = ranker.fit(sparse.csr_matrix(X), y, groups, sample_weight=weight)
    assert_same_models(thin, dense, X)
    assert_array_equal(thin.feature_importances_, dense.feature_importances_)


def test_scores_to_start_from_validation_and_warm_starts(data, rng):
    X, y, groups = data
    start, rows = rng.normal(size=len(y)), sparse.csr_matrix(X)
    train, held = slice(0, 350), slice(350, 500)
    fitted = []
    for form in (X, rows):
        ranker = LambdaMART(**SMALL, warm_start=True)
        for n_estimators in (3, 7):
            ranker.set_params(n_estimators=n_estimators).fit(
                form[train],
                y[train],
                groups[train],
                init_score=start[train],
                X_val=form[held],
                y_val=y[held],
                groups_val=groups[held],
                init_score_val=start[held],
            )
        fitted.append(ranker)
    dense, thin = fitted
    assert_same_models(thin, dense, X)
    assert_array_equal(thin.validation_curve_, dense.validation_curve_)
    stages = zip(thin.staged_predict(rows), dense.staged_predict(X), strict=True)
    for a, b in stages:
        assert_array_equal(a, b)
    for early_exit in (False, True):
        best = thin.top_documents(rows, groups, k=3, early_exit=early_exit)
        assert_array_equal(best, dense.top_documents(X, groups, k=3))


def test_init_sees_the_rows_as_they_are(data):
    X, y, groups = data
    rows = sparse.csr_matrix(X)
    init = RandomForestRanker(n_estimators=3, random_state=1)
    dense, thin = (LambdaMART(init=init, **SMALL).fit(x, y, groups) for x in (X, rows))
    assert_same_models(thin, dense, X)
    with pytest.raises(TypeError, match="dense data is required"):
        LambdaMART(init=RankBoost(), **SMALL).fit(rows, y, groups)


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_bits_do_not_depend_on_threads_nor_on_the_order_of_rows(rng, growth):
    X, y, groups = sparse_data(rng, n=3000)
    rows, order = sparse.csr_matrix(X), rng.permutation(300)
    moved = np.concatenate([np.flatnonzero(groups == q) for q in order])
    params = {**SMALL, "growth": growth}
    expected = LambdaMART(**params, n_jobs=1).fit(rows, y, groups)
    again = LambdaMART(**params, n_jobs=3).fit(rows[moved], y[moved], groups[moved])
    assert_same_models(again, expected, X)
    assert_array_equal(again.predict(rows[moved]), expected.predict(rows)[moved])


def test_saved_models_and_explanations(data, tmp_path):
    X, y, groups = data
    rows = sparse.csr_matrix(X)
    thin = LambdaMART(**SMALL, categorical_features=[5]).fit(rows, y, groups)
    dense = LambdaMART(**SMALL, categorical_features=[5]).fit(X, y, groups)
    save_model(thin, tmp_path / "thin.skrank")
    assert_same_models(load_model(tmp_path / "thin.skrank"), dense, X)
    found, expected = (shap_values(dense, form[:20]) for form in (rows, X))
    assert_array_equal(found.values, expected.values)


def test_sparse_files(data, tmp_path):
    X, y, groups = data
    X = np.nan_to_num(X)
    dump_letor(X, y, groups, tmp_path / "train.txt")
    models = []
    for options in ([], ["--sparse"]):
        model = str(tmp_path / f"{len(options)}.skrank")
        main(
            ["fit", str(tmp_path / "train.txt"), "--ranker", "lambdamart"]
            + ["--save", model, "--set", "n_estimators=5"]
            + ["--set", "random_state=0", *options]
        )
        models.append(load_model(model))
    assert_same_models(*models[::-1], X)


def test_memory_is_that_of_the_entries(rng):
    """A histogram of all bins of these columns would take 800 MB."""
    n, d, per_row = 400, 400_000, 8
    columns = rng.integers(0, d, size=(n, per_row))
    columns[:, 0] = rng.integers(0, 5, size=n)
    ptr = np.arange(n + 1) * per_row
    rows = sparse.csr_matrix((rng.random(columns.size), columns.ravel(), ptr), (n, d))
    y = (columns[:, 0] == 1) + 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ranker = LambdaMART(**SMALL).fit(rows, y, np.arange(n) // 10)
    assert ranker.feature_importances_.argmax() == 1
    assert np.corrcoef(ranker.predict(rows), y)[0, 1] > 0.5
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000  # kilobytes


def test_same_missing_values_tell_no_documents_apart():
    rows = sparse.csr_matrix(np.tile([0.0, np.nan, 2.0], (40, 1)))
    with pytest.warns(TrainingDataWarning, match="same value in all rows"):
        LambdaMART(**SMALL).fit(rows, np.arange(40) % 2, np.arange(40) // 10)


def test_bins_are_sparse_here(data):
    X, y, groups = data
    ranker = LambdaMART(**SMALL).fit(X, y, groups)
    assert isinstance(ranker.bin_mapper_.transform(sparse.csr_matrix(X)), SparseBins)
