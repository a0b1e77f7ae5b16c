"""Scorers inside and outside of scikit-learn, and the warning about leakage."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

import skrank
from skrank.metrics import (
    AP,
    QueryLeakageWarning,
    check_query_leakage,
    get_measure,
    make_ranking_scorer,
    ndcg_score,
)
from skrank.model_selection import QueryKFold


class Recorder(BaseEstimator):
    """Scores by the first feature; keeps its training queries as rankers do."""

    __metadata_request__fit = {"groups": True}

    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y, groups=None):
        self.query_ids_, self.query_sizes_ = np.unique(groups, return_counts=True)
        return self

    def predict(self, X):
        return self.sign * np.asarray(X)[:, 0]


class Relational(Recorder):
    """Wants the groups in predict and adds one to the first row of each query."""

    __metadata_request__predict = {"groups": True}

    def predict(self, X, groups=None):
        _, first = np.unique(groups, return_index=True)
        scores = np.zeros(len(X))
        scores[first] = 1.0
        return scores


@pytest.fixture
def model(ragged):
    X, y, _ = ragged
    return LinearRegression().fit(X, y)


def by_hand(measure, y, scores, groups, weight=None):
    """Mean over queries by a loop over queries, each evaluated alone."""
    values, weights = [], []
    for query in np.unique(groups):
        rows = groups == query
        ptr = np.array([0, rows.sum()])
        value = measure.per_query(y[rows], scores[rows], ptr)[0]
        if not np.isnan(value):
            values.append(value)
            weights.append(1.0 if weight is None else weight[rows].mean())
    return np.average(values, weights=weights)


@pytest.mark.parametrize("name", ["ndcg@10", "ndcg@3", "map", "err@20", "mrr", "p@5"])
def test_scorer_is_the_mean_over_queries(name, model, ragged):
    X, y, groups = ragged
    expected = by_hand(get_measure(name), y, model.predict(X), groups)
    assert make_ranking_scorer(name)(model, X, y, groups) == pytest.approx(expected)


def test_weights_of_rows_become_weights_of_queries(model, ragged, rng):
    X, y, groups = ragged
    weight = rng.uniform(size=len(y))
    scorer = make_ranking_scorer("ndcg@5")
    expected = by_hand(get_measure("ndcg@5"), y, model.predict(X), groups, weight)
    got = scorer(model, X, y, groups=groups, sample_weight=weight)
    assert got == pytest.approx(expected)


def test_measure_objects_presets_and_parameters(model, ragged):
    X, y, groups = ragged
    scores = model.predict(X)
    for scorer, measure in [
        (make_ranking_scorer(AP()), AP()),
        (
            make_ranking_scorer("ndcg@5", preset="sklearn"),
            get_measure("ndcg@5", "sklearn"),
        ),
        (
            make_ranking_scorer("ndcg@5", gain="linear"),
            get_measure("ndcg(gain=linear)@5"),
        ),
    ]:
        expected = by_hand(measure, y, scores, groups)
        assert scorer(model, X, y, groups) == pytest.approx(expected)
    with pytest.raises(TypeError, match=r"ndcg@5 has no parameters \['gains'\]"):
        make_ranking_scorer("ndcg@5", gains="linear")


def test_smaller_is_better_is_negated(model, ragged):
    X, y, groups = ragged
    expected = by_hand(get_measure("mse"), y, model.predict(X), groups)
    got = make_ranking_scorer("mse")(model, X, y, groups)
    assert got == pytest.approx(-expected)
    got = make_ranking_scorer("mse", greater_is_better=True)(model, X, y, groups)
    assert got == pytest.approx(expected)


def test_metric_functions(model, ragged):
    X, y, groups = ragged
    scores = model.predict(X)
    with_groups = make_ranking_scorer(ndcg_score, k=3)
    assert repr(with_groups) == "make_ranking_scorer('ndcg@3')"
    expected = ndcg_score(y, scores, groups=groups, k=3)
    assert with_groups(model, X, y, groups) == pytest.approx(expected)

    def of_one_query(y_true, y_score, power):
        return np.max(np.abs(y_true - y_score)) ** power

    values = [
        of_one_query(y[groups == q], scores[groups == q], 2) for q in np.unique(groups)
    ]
    alone = make_ranking_scorer(of_one_query, power=2, greater_is_better=False)
    assert alone(model, X, y, groups) == pytest.approx(-np.mean(values))
    with pytest.raises(ValueError, match="needs a measure by name"):
        make_ranking_scorer(of_one_query, preset="mslr")


def test_several_measures_predict_once(ragged):
    X, y, groups = ragged
    calls = []

    class Counting(Recorder):
        def predict(self, X):
            calls.append(len(X))
            return super().predict(X)

    scores = make_ranking_scorer(["ndcg@10", "map"])(Counting(), X, y, groups)
    assert list(scores) == ["ndcg@10", "map"]
    assert len(calls) == 1
    for name, value in scores.items():
        assert value == make_ranking_scorer(name)(Counting(), X, y, groups)
    with pytest.raises(ValueError, match="given once each"):
        make_ranking_scorer(["map", "map"])


def test_class_probabilities_rank_by_the_expected_grade(ragged):
    X, y, groups = ragged
    classifier = LogisticRegression().fit(X, y)
    expected = classifier.predict_proba(X) @ classifier.classes_
    scorer = make_ranking_scorer("map", response_method="predict_proba")
    assert repr(scorer).endswith("response_method='predict_proba')")
    got = scorer(classifier, X, y, groups)
    assert got == pytest.approx(by_hand(get_measure("map"), y, expected, groups))
    text = LogisticRegression().fit(X, np.where(y > 1, "good", "bad"))
    with pytest.raises(ValueError, match="needs numeric classes"):
        scorer(text, X, y, groups)


def test_response_methods(model, ragged):
    X, y, groups = ragged
    either = make_ranking_scorer(
        "map", response_method=("decision_function", "predict")
    )
    assert either(model, X, y, groups) == make_ranking_scorer("map")(
        model, X, y, groups
    )
    with pytest.raises(AttributeError, match="none of the response methods decision_f"):
        make_ranking_scorer("map", response_method="decision_function")(
            model, X, y, groups
        )
    with pytest.raises(ValueError, match="response_method must be 'predict', "):
        make_ranking_scorer("map", response_method="transform")


def test_predict_receives_groups_if_it_takes_them(ragged):
    X, y, groups = ragged
    scorer = make_ranking_scorer("map")
    expected = by_hand(get_measure("map"), y, Relational().predict(X, groups), groups)
    assert scorer(Relational(), X, y, groups) == pytest.approx(expected)
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing):
            pipe = make_pipeline(StandardScaler(), Relational())
            name = "groups" if routing else "relational__groups"
            pipe.fit(X, y, **{name: groups})
            assert scorer(pipe, X, y, groups) == pytest.approx(expected)


@pytest.mark.parametrize("container", ["y", "X"])
def test_queries_from_the_index(container, model, ragged):
    pd = pytest.importorskip("pandas")
    X, y, groups = ragged
    expected = make_ranking_scorer("map")(model, X, y, groups)
    index = pd.Index(groups, name="qid")
    if container == "y":
        y = pd.Series(y, index=index)
    else:
        X = pd.DataFrame(X, index=index)
        model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    assert make_ranking_scorer("map")(model, X, y) == pytest.approx(expected)


def test_bad_input(model, ragged):
    X, y, groups = ragged
    scorer = make_ranking_scorer("ndcg@10")
    with pytest.raises(
        ValueError, match=r"make_ranking_scorer\('ndcg@10'\) needs to know the query"
    ):
        scorer(model, X, y)
    with skrank.config_context(assume_single_query=True):
        assert 0 < scorer(model, X, y) <= 1
    with pytest.raises(ValueError, match="groups must hold one query id per row"):
        scorer(model, X, y, groups[:-1])
    with pytest.raises(ValueError, match="must not hold NaN, found in row 0"):
        scorer(Recorder(np.nan), X, y, groups)
    with pytest.raises(ValueError, match="unknown measure 'ndgc'"):
        make_ranking_scorer("ndgc")


def test_missing_groups_in_a_search_say_what_to_do(ragged):
    X, y, _ = ragged
    search = GridSearchCV(
        LinearRegression(),
        {"fit_intercept": [True]},
        scoring=make_ranking_scorer("map"),
    )
    with (
        pytest.warns(UserWarning, match="non-finite"),
        pytest.warns(UserWarning, match="needs to know the query of every row"),
    ):
        search.fit(X, y)


def test_routing_request_and_its_change(ragged):
    scorer = make_ranking_scorer("map")
    request = get_routing_for_object(scorer)
    assert request.score.requests == {
        "groups": True,
        "sample_weight": True,
        "times": True,
    }
    changed = clone(scorer).set_score_request(sample_weight=False)
    assert get_routing_for_object(changed).score.requests["sample_weight"] is False
    assert changed != scorer
    with pytest.raises(TypeError, match=r"not \['queries'\]"):
        scorer.set_score_request(queries=True)


def test_equality_clone_and_pickle():
    for make in (
        lambda: make_ranking_scorer("ndcg@10"),
        lambda: make_ranking_scorer(["map", "ndcg@5"], response_method="predict_proba"),
        lambda: make_ranking_scorer(ndcg_score, k=4, greater_is_better=False),
    ):
        scorer = make()
        for other in (make(), clone(scorer), pickle.loads(pickle.dumps(scorer))):
            assert other == scorer
            assert hash(other) == hash(scorer)
            assert repr(other) == repr(scorer)
    assert make_ranking_scorer("ndcg@10") != make_ranking_scorer("ndcg@5")
    assert make_ranking_scorer("ndcg@5") != make_ranking_scorer("ndcg@5", gain="linear")
    assert make_ranking_scorer("map") != "map"


@pytest.mark.parametrize("scoring", ["dict", "list"])
def test_several_measures_in_a_search(scoring, ragged):
    X, y, groups = ragged
    names = ["ndcg@10", "map"]
    if scoring == "dict":
        scoring = {name: make_ranking_scorer(name) for name in names}
    else:
        scoring = make_ranking_scorer(names)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            Recorder(),
            {"sign": [-1.0, 1.0]},
            scoring=scoring,
            refit="map",
            cv=QueryKFold(3),
        ).fit(X, y, groups=groups)
        results = cross_validate(
            Recorder(),
            X,
            y,
            scoring=scoring,
            cv=QueryKFold(3),
            params={"groups": groups},
        )
    assert search.best_params_ == {"sign": 1.0}
    for name in names:
        folds = QueryKFold(3).split(X, y, groups)
        expected = [
            by_hand(get_measure(name), y[test], X[test, 0], groups[test])
            for _, test in folds
        ]
        np.testing.assert_allclose(results[f"test_{name}"], expected)
        mean = search.cv_results_[f"mean_test_{name}"][1]
        assert mean == pytest.approx(np.mean(expected))


def test_sample_weight_in_a_search_without_routing(ragged):
    pd = pytest.importorskip("pandas")
    X, y, groups = ragged

    class Weighted(Recorder):
        def fit(self, X, y, groups=None, sample_weight=None):
            return super().fit(X, y, y.index.get_level_values("qid"))

    search = GridSearchCV(
        Weighted(),
        {"sign": [1.0]},
        scoring=make_ranking_scorer("map"),
        cv=QueryKFold(3),
    )
    weight = np.linspace(1, 2, len(y))
    search.fit(
        X, pd.Series(y, index=pd.Index(groups, name="qid")), sample_weight=weight
    )
    assert 0 < search.best_score_ <= 1


# Leakage ------------------------------------------------------------------------------


def leaks(estimator, groups):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_query_leakage(estimator, np.asarray(groups))
    assert all(w.category is QueryLeakageWarning for w in caught)
    return len(caught)


def test_which_scores_leak():
    trained = Recorder().fit(None, None, ["a", "a", "b", "b", "c"])
    assert not leaks(trained, ["d", "e", "d"])  # other queries
    assert not leaks(trained, ["b", "c", "a", "b", "a"])  # the training data itself
    assert leaks(trained, ["a", "b", "c"])  # rows of queries that were split
    assert leaks(trained, ["a", "a"])  # some of the training queries
    assert leaks(trained, ["a", "a", "b", "b", "c", "d"])  # training data and more
    with skrank.config_context(assume_single_query=True):
        assert not leaks(trained, ["a"])
    trained.query_sizes_[:] = 0  # learned from preference pairs: rows are not counted
    assert not leaks(trained, ["b", "c", "a"])
    assert leaks(trained, ["b", "c"])
    assert not leaks(LinearRegression(), ["a"])  # does not keep its queries


def test_leakage_is_seen_through_wrappers(ragged):
    X, y, groups = ragged
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), Recorder()),
            {"recorder__sign": [1.0]},
            cv=QueryKFold(3),
            scoring=make_ranking_scorer("map"),
            return_train_score=True,
        ).fit(X, y, groups=groups)
        search.score(X, y, groups=groups)
        with pytest.warns(QueryLeakageWarning, match=r"1 of the 1 scored .* \(3\)"):
            search.score(X[groups == 3], y[groups == 3], groups=groups[groups == 3])


def test_folds_that_cut_queries_warn(ragged):
    X, y, groups = ragged
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.warns(QueryLeakageWarning, match="Split by query"),
    ):
        cross_validate(
            Recorder(),
            X,
            y,
            cv=2,
            scoring=make_ranking_scorer("map"),
            params={"groups": groups},
        )
