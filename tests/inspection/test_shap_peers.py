"""The same trees and rankers explained by LightGBM and by the package shap."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from skrank.inspection import shap_values
from skrank.metrics import make_ranking_scorer
from skrank.rankers import MART, LambdaMART, RandomForestRanker

explanations = pytest.importorskip(
    "benchmarks.explanations", reason="the folder of benchmarks is not here"
)

# These libraries warn of deprecations in others.
pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = {"n_estimators": 10, "min_samples_leaf": 3, "random_state": 0}


@pytest.fixture
def with_gaps(ragged):
    # In single precision, in which shap compares values with thresholds.
    X, y, groups = ragged
    X = np.round(X, 2)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, y, groups


def boosted(X, y, groups, **more):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    order = np.argsort(groups, kind="stable")
    data = lightgbm.Dataset(
        X[order], y[order], group=np.unique(groups, return_counts=True)[1]
    )
    options = {"objective": "lambdarank", "min_data_in_leaf": 2, "verbose": -1}
    return lightgbm.train({**options, "num_leaves": 15, **more}, data, 20)


@pytest.mark.parametrize("missing", [False, True])
def test_lightgbm_contributes_the_same(ragged, with_gaps, missing):
    X, y, groups = with_gaps if missing else ragged
    booster = boosted(X, y, groups)
    expected = booster.predict(X, pred_contrib=True)
    ensemble = explanations.from_lightgbm(booster)
    found, mean = explanations.contributions(ensemble, X)
    np.testing.assert_allclose(found, expected[:, :-1], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(mean, expected[:, -1], rtol=1e-10)
    scores = booster.predict(X, raw_score=True)
    np.testing.assert_allclose(found.sum(axis=1) + mean, scores, atol=1e-10)


@pytest.mark.parametrize(
    "ranker", [MART(**OPTIONS), LambdaMART(**OPTIONS), RandomForestRanker(**OPTIONS)]
)
def test_shap_explains_the_trees_by_the_same_values(with_gaps, ranker):
    shap = pytest.importorskip("shap", reason="the package shap is not installed")
    X, y, groups = with_gaps
    ranker.fit(X, y, groups)
    trees = explanations.as_shap_trees(ranker.ensemble_)
    by_covers = shap.TreeExplainer(trees, feature_perturbation="tree_path_dependent")
    expected = by_covers.shap_values(X, check_additivity=False)
    np.testing.assert_allclose(shap_values(ranker, X).values, expected, atol=1e-10)
    background = X[:20]
    by_rows = shap.TreeExplainer(
        trees, background, feature_perturbation="interventional"
    )
    expected = by_rows.shap_values(X, check_additivity=False)
    # In single precision.
    found = shap_values(ranker, X, background).values
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_shap_explains_any_ranker_by_its_predictions(ragged):
    shap = pytest.importorskip("shap", reason="the package shap is not installed")
    X, y, groups = ragged
    ranker = MART(**OPTIONS).fit(X, y, groups)
    explainer = shap.ExactExplainer(ranker.predict, X[:20])
    expected = explainer(X[:3])
    found = shap_values(ranker, X[:3], X[:20])
    np.testing.assert_allclose(found.values, expected.values, atol=1e-10)
    np.testing.assert_allclose(found.base_values, expected.base_values)
    theirs = shap.Explanation(**vars(found))
    assert theirs.feature_names == found.feature_names
    np.testing.assert_array_equal(theirs[1].values, found.values[1])


def test_permutation_importance_of_scikit_learn(ragged):
    X, y, groups = ragged
    index = pd.Index(groups, name="qid")
    frame = pd.DataFrame(X, columns=list("abcdef"), index=index)
    grades = pd.Series(y, index=index)
    ranker = MART(**OPTIONS).fit(frame, grades)
    scoring = make_ranking_scorer("ndcg@10")
    result = permutation_importance(ranker, frame, grades, scoring=scoring, n_repeats=2)
    assert np.argmax(result.importances_mean) == 0
