"""Weights of rows in the tools of scikit-learn, requested without a word.

Every tool runs with and without weights. With them, its result must equal a loop over
folds that hands the weights over by hand, to the fit and to the measure.
"""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank.compat import RankingRegressor
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import PRank, SubsetRegression

CV = QueryKFold(3)
NDCG = make_ranking_scorer("ndcg@10")


class Task:
    """A ranking task with weights, or without."""

    def __init__(self, weighted):
        rng = np.random.default_rng(0)
        self.groups = np.repeat(np.arange(15), rng.integers(4, 9, 15))
        n = len(self.groups)
        self.X = rng.normal(size=(n, 3))
        self.y = rng.integers(0, 4, n).astype(float)
        self.weight = rng.uniform(0.1, 5, n) if weighted else None
        self.params = {"groups": self.groups}
        if weighted:
            self.params["sample_weight"] = self.weight

    def at(self, rows):
        return None if self.weight is None else self.weight[rows]

    def scores(self, train, test, alpha=1e-6, scaled=False):
        X = self.X
        if scaled:
            X = StandardScaler().fit(X[train]).transform(X)
        ranker = SubsetRegression(alpha=alpha).fit(
            X[train], self.y[train], self.groups[train], sample_weight=self.at(train)
        )
        return ranker.predict(X[test])

    def cross_validated(self, n_train=None, **options):
        return [
            ndcg_score(
                self.y[test],
                self.scores(train[:n_train], test, **options),
                groups=self.groups[test],
                k=10,
                sample_weight=self.at(test),
            )
            for train, test in CV.split(self.X, self.y, self.groups)
        ]


@pytest.fixture(params=[True, False], ids=["weights", "no_weights"])
def task(request):
    with sklearn.config_context(enable_metadata_routing=True):
        yield Task(request.param)


@pytest.fixture
def ranker():
    return SubsetRegression(alpha=1e-6)


@pytest.mark.parametrize("scoring", [None, NDCG], ids=["score", "scorer"])
def test_cross_val_score(task, ranker, scoring):
    got = cross_val_score(
        ranker, task.X, task.y, cv=CV, scoring=scoring, params=task.params
    )
    np.testing.assert_allclose(got, task.cross_validated())


def test_weights_change_the_scores(ranker):
    assert Task(True).cross_validated() != pytest.approx(Task(False).cross_validated())


def test_grid_search_and_its_score(task, ranker):
    search = GridSearchCV(ranker, {"alpha": [1e-6, 1e3]}, cv=CV, scoring=NDCG)
    search.fit(task.X, task.y, **task.params)
    for i, alpha in enumerate([1e-6, 1e3]):
        got = [search.cv_results_[f"split{k}_test_score"][i] for k in range(3)]
        np.testing.assert_allclose(got, task.cross_validated(alpha=alpha))
    rows = np.arange(len(task.y))
    expected = task.scores(rows, rows, alpha=search.best_params_["alpha"])
    np.testing.assert_allclose(search.predict(task.X), expected)
    value = ndcg_score(
        task.y, expected, groups=task.groups, k=10, sample_weight=task.weight
    )
    assert search.score(task.X, task.y, **task.params) == pytest.approx(value)


def test_nested_search_and_predictions(task, ranker):
    search = GridSearchCV(ranker, {}, cv=QueryKFold(2), scoring=NDCG)
    got = cross_val_score(
        search, task.X, task.y, cv=CV, scoring=NDCG, params=task.params
    )
    np.testing.assert_allclose(got, task.cross_validated())
    found = cross_val_predict(ranker, task.X, task.y, cv=CV, params=task.params)
    for train, test in CV.split(task.X, task.y, task.groups):
        np.testing.assert_allclose(found[test], task.scores(train, test))


def test_curves_and_selection(task, ranker):
    options = {"cv": CV, "scoring": NDCG, "params": task.params}
    sizes, _, got = learning_curve(ranker, task.X, task.y, train_sizes=[0.5], **options)
    expected = task.cross_validated(n_train=sizes[0])
    np.testing.assert_allclose(got[0], expected)
    _, got = validation_curve(
        ranker, task.X, task.y, param_name="alpha", param_range=[1e3], **options
    )
    np.testing.assert_allclose(got[0], task.cross_validated(alpha=1e3))
    selector = SequentialFeatureSelector(
        ranker, n_features_to_select=2, cv=CV, scoring=NDCG
    )
    assert selector.fit(task.X, task.y, **task.params).get_support().sum() == 2


def test_pipelines_say_what_their_scaler_is_to_do(task, ranker):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    got = cross_val_score(
        make_pipeline(scaler, ranker), task.X, task.y, cv=CV, params=task.params
    )
    np.testing.assert_allclose(got, task.cross_validated(scaled=True))
    silent = make_pipeline(StandardScaler(), ranker)
    if task.weight is None:
        got = cross_val_score(silent, task.X, task.y, cv=CV, params=task.params)
        np.testing.assert_allclose(got, task.cross_validated(scaled=True))
    else:
        with pytest.raises(UnsetMetadataPassedError, match=r"StandardScaler\.fit"):
            silent.fit(task.X, task.y, **task.params)


@pytest.mark.parametrize("scaler", [MinMaxScaler(), QueryStandardScaler()])
def test_scalers_that_know_no_weights_need_no_request(task, ranker, scaler):
    results = cross_validate(
        make_pipeline(scaler, ranker),
        task.X,
        task.y,
        cv=CV,
        scoring=NDCG,
        params=task.params,
        error_score="raise",
    )
    assert np.isfinite(results["test_score"]).all()


def test_adapters_and_ensembles(task, ranker):
    adapted = RankingRegressor(make_pipeline(StandardScaler(), ranker))
    vote = VotingRegressor([("a", adapted)]).fit(task.X, task.y, **task.params)
    rows = np.arange(len(task.y))
    expected = task.scores(rows, rows, scaled=True)
    np.testing.assert_allclose(vote.predict(task.X), expected)
    column = RankingRegressor(ranker, groups_column=0)
    X = np.column_stack([task.groups, task.X])
    splits = list(CV.split(task.X, task.y, task.groups))
    weights = {} if task.weight is None else {"sample_weight": task.weight}
    stack = StackingRegressor([("a", column)], cv=splits).fit(X, task.y, **weights)
    np.testing.assert_allclose(stack.estimators_[0].predict(X), task.scores(rows, rows))


def test_a_request_can_be_withdrawn(task, ranker):
    withdrawn = clone(ranker).set_fit_request(sample_weight=False)
    got = cross_val_score(
        withdrawn, task.X, task.y, cv=CV, scoring=NDCG, params=task.params
    )
    plain = Task(False)
    for value, (train, test) in zip(got, CV.split(task.X, task.y, task.groups)):
        expected = ndcg_score(
            task.y[test],
            plain.scores(train, test),
            groups=task.groups[test],
            k=10,
            sample_weight=task.at(test),
        )
        assert value == pytest.approx(expected)


def test_what_rankers_request():
    routing = get_routing_for_object(PRank())
    assert routing.fit.requests["sample_weight"] is True
    assert routing.partial_fit.requests["sample_weight"] is True
    assert routing.score.requests["sample_weight"] is True
