"""McRank: probabilities, expected gains and its two variants."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.losses import CategoricalLoss, LogisticLoss, ThresholdLoss
from skrank.rankers import BoostedRanker, McRank

SMALL = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
METHODS = pytest.mark.parametrize("method", ["multiclass", "ordinal"])


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(n_queries=15, n_features=12, n_grades=4, random_state=0)
    return X, np.array([0.0, 1.0, 4.0, 7.0])[y.astype(int)], groups


@METHODS
@pytest.mark.parametrize("gain", ["linear", "exp2"])
def test_scores_are_expected_gains(data, method, gain):
    X, y, groups = data
    ranker = McRank(method=method, gain=gain, **SMALL).fit(X, y, groups)
    proba = ranker.predict_proba(X)
    assert proba.shape == (len(X), 4)
    assert np.all(proba >= 0.0)
    assert_allclose(proba.sum(axis=1), 1.0)
    gains = ranker.grades_ if gain == "linear" else 2**ranker.grades_ - 1
    assert_allclose(ranker.predict(X), proba @ gains)  # equation 2.8
    assert_array_equal(ranker.predict_grades(X), ranker.grades_[proba.argmax(axis=1)])
    assert np.mean(ranker.predict_grades(X) == y) > 0.6
    *_, last = ranker.staged_predict(X)
    assert_array_equal(last, ranker.predict(X))


def test_probabilities_are_those_of_the_trees(data):
    X, y, groups = data
    many = McRank(**SMALL).fit(X, y, groups)
    F = many._raw(X)
    expected = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)  # equation 2.7
    assert_allclose(many.predict_proba(X), expected)
    ordinal = McRank(method="ordinal", **SMALL).fit(X, y, groups)
    above = np.minimum.accumulate(1 / (1 + np.exp(-ordinal._raw(X))), axis=1)
    proba = ordinal.predict_proba(X)
    assert_allclose(np.cumsum(proba[:, ::-1], axis=1)[:, -2::-1], above)


@METHODS
def test_trees_are_those_of_the_loss(data, method):
    X, y, groups = data
    grades = np.unique(y)
    loss = (
        CategoricalLoss(grades=grades)
        if method == "multiclass"
        else ThresholdLoss(grades=grades)
    )
    ranker = McRank(method=method, **SMALL).fit(X, y, groups)
    peer = BoostedRanker(loss, **SMALL).fit(X, y, groups)
    assert_array_equal(ranker._raw(X), peer._raw(X))
    if method == "multiclass":
        assert_allclose(ranker.predict(X), peer.predict(X))


def test_questions_of_the_ordinal_variant_are_logistic_regressions(data):
    X, y, groups = data
    options = SMALL | {"stochastic_rounding": False, "random_strength": 0.0}
    ranker = McRank(method="ordinal", **options).fit(X, y, groups)
    for k, threshold in enumerate([1.0, 4.0, 7.0]):
        loss = LogisticLoss(threshold=threshold)
        single = BoostedRanker(loss, **options).fit(X, y, groups)
        assert_allclose(ranker._raw(X)[:, k], single.predict(X), atol=1e-12)


def test_training_begins_at_the_shares_of_the_grades(data):
    X, y, groups = data
    ranker = McRank(n_estimators=1, min_samples_leaf=len(y))
    with pytest.warns(UserWarning, match="no tree has a split"):
        ranker.fit(X, y, groups)
    shares = [np.mean(y == grade) for grade in ranker.grades_]
    order = np.argsort(ranker.predict_proba(X[:1])[0])
    assert_array_equal(order, np.argsort(shares))


@METHODS
def test_a_warm_start_keeps_the_grades(data, method, tmp_path):
    X, y, groups = data
    whole = McRank(method=method, **SMALL).fit(X, y, groups)
    parts = McRank(method=method, **(SMALL | {"n_estimators": 3}), warm_start=True)
    parts.fit(X, y, groups).set_params(n_estimators=8).fit(X, y, groups)
    assert_array_equal(parts.predict(X), whole.predict(X))
    save_model(parts, tmp_path / "model.json")
    assert_array_equal(load_model(tmp_path / "model.json").predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="y holds grade 9, which is not among grades="):
        parts.set_params(n_estimators=9).fit(X, np.where(y > 4, 9.0, y), groups)
    with pytest.raises(ValueError, match="gain"):
        McRank(gain={0.0: 1.0}).fit(X, y, groups)


@METHODS
@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_a_single_grade(data, method):
    X, _, groups = data
    ranker = McRank(method=method, **SMALL).fit(X, np.full(len(X), 3.0), groups)
    assert_array_equal(ranker.predict_proba(X), np.ones((len(X), 1)))
    assert_array_equal(ranker.predict_grades(X), 3.0)
    assert_allclose(ranker.predict(X), 3.0)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_grades"])
def test_nothing_is_predicted_before_fit(method):
    with pytest.raises(NotFittedError, match="McRank instance is not fitted yet"):
        getattr(McRank(), method)(np.eye(3))
