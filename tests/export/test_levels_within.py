"""What takes a ranker is saved and loaded with the levels that the ranker has learned.

A loaded model is tried by rows of its own making. They must be rows that the estimators
within take, at any depth: a column of names must hold names that are known there.
"""

import inspect

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from skrank.compat import PyTerrierLearner, RankingRegressor
from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.export._allowed import class_of_name, skrank_classes
from skrank.export._probe_rows import probe_rows
from skrank.model_selection import QuerySubsample
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import MultipleHyperplaneRanker, NestedRanker, RankSVM, YetiRank

pd = pytest.importorskip("pandas")

X, Y, GROUPS = make_ranking(n_queries=40, n_features=5, n_informative=3, random_state=0)
_SITES = np.random.default_rng(0).choice(["blog", "news", "wiki"], len(Y))
FULL = pd.DataFrame(X).rename(columns="f{}".format).assign(site=_SITES)
# The first column is not the one of names, whose place then matters.
FULL = FULL[["f0", "f1", "site", "f2", "f3", "f4"]]
GAPS = FULL.assign(
    site=FULL["site"].where(np.arange(len(Y)) % 5 > 0),
    f1=FULL["f1"].where(np.arange(len(Y)) % 7 > 0),
)
QID = FULL.assign(qid=GROUPS)[["qid", *FULL]]
# These make numbers of all features before any estimator within sees them, or are for
# rankers of other libraries.
_OF_NUMBERS = {
    *("AdaRank", "PreferenceOrdering", "SVMClassifierRanker", "SigmoidRanker"),
    *("SubsetRegression", "TextRanker", "PeerRanker"),
}


def ranker():
    return YetiRank(n_estimators=5, random_state=0)


def _wrappers():
    """Yield the public classes that predict by an estimator that they are given."""
    for name in sorted(skrank_classes()):
        cls = class_of_name(name)
        if hasattr(cls, "predict") and not inspect.isabstract(cls):
            parameters = inspect.signature(cls).parameters
            if parameters.keys() & {"estimator", "estimators"}:
                yield cls


WRAPPERS = {cls.__name__: cls for cls in _wrappers() if cls.__name__ not in _OF_NUMBERS}


def fitted(wrapper, frame, groups=GROUPS):
    """Return a wrapper that is fitted on a frame, with whatever its `fit` needs."""
    if isinstance(wrapper, PyTerrierLearner):
        return wrapper.fit(frame, Y, np.unique(groups, return_counts=True)[1])
    if type(wrapper).__module__.startswith("skrank.unbiased"):
        if "propensities" in wrapper.get_params():
            wrapper.set_params(propensities=[1.0, 0.5, 0.25])
        places = np.arange(len(Y)) % 3 + 1
        return wrapper.fit(frame, (Y > 1) * 1.0, groups, positions=places)
    return wrapper.fit(frame, Y, groups)


def scores(model, frame):
    if "groups" in inspect.signature(model.predict).parameters:
        return model.predict(frame, GROUPS)
    return model.predict(frame)


def check_is_saved(model, frames, tmp_path):
    """Check that a model that comes from a file gives the same scores to the bit."""
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for frame in frames:
        found = scores(loaded, frame)
        assert len(np.unique(found)) > 2
        np.testing.assert_array_equal(found, scores(model, frame))


def test_all_that_take_a_ranker_are_found():
    known = {"MultipleHyperplaneRanker", "NestedRanker", "PropensityWeightedRanker"}
    known |= {"QuerySubsample", "RankingRegressor", "RegressionEM", "PyTerrierLearner"}
    assert known <= WRAPPERS.keys()
    assert {cls.__name__ for cls in _wrappers()} >= _OF_NUMBERS


@pytest.mark.parametrize("train", [FULL, GAPS], ids=["full", "gaps"])
@pytest.mark.parametrize("cls", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_wrapper_of_a_ranker_with_names_is_saved(cls, train, tmp_path):
    model = fitted(cls(ranker()), train)
    check_is_saved(model, [FULL, GAPS], tmp_path)


@pytest.mark.parametrize("column", ["qid", 0])
def test_the_column_of_queries_is_no_column_of_the_ranker(column, tmp_path):
    model = RankingRegressor(ranker(), groups_column=column).fit(QID, Y)
    check_is_saved(model, [QID, GAPS.assign(qid=GROUPS)[[*QID]]], tmp_path)


def test_rows_without_names_of_columns(tmp_path):
    named = YetiRank(n_estimators=5, categorical_features=[2], random_state=0)
    rows = GAPS.to_numpy(dtype=object)
    model = QuerySubsample(named).fit(rows, Y, GROUPS)
    check_is_saved(model, [rows], tmp_path)


def test_wrappers_within_wrappers(tmp_path):
    deep = QuerySubsample(RankingRegressor(NestedRanker(ranker())))
    check_is_saved(deep.fit(FULL, Y, GROUPS), [FULL, GAPS], tmp_path)
    deep = NestedRanker(RankingRegressor(ranker(), groups_column="qid"))
    check_is_saved(deep.fit(QID, Y, GROUPS), [QID], tmp_path)


def _columns(**parts):
    """Return a step that scales numbers and does something else with names."""
    numbers = ["f0", "f1", "f2", "f3", "f4"]
    given = [("numbers", StandardScaler(), numbers)]
    given += [(name, part, ["site"]) for name, part in parts.items()]
    return ColumnTransformer(given, remainder="passthrough")


FILL = SimpleImputer(strategy="most_frequent").set_output(transform="pandas")
PIPELINES = {
    "encoder": make_pipeline(_columns(site=OneHotEncoder()), RankSVM()),
    "places": make_pipeline(_columns(site=OrdinalEncoder()), ranker()),
    "passed through": make_pipeline(
        _columns().set_output(transform="pandas"), ranker()
    ),
    "twice": make_pipeline(
        _columns().set_output(transform="pandas"),
        make_pipeline("passthrough", ranker()),
    ),
    "filled": make_pipeline(FILL, ranker()),
    "part of columns": make_pipeline(
        _columns(site=make_pipeline(FILL, OneHotEncoder())), RankSVM()
    ),
    "nothing": Pipeline([("nothing", "passthrough"), ("rank", ranker())]),
    "statistics": make_pipeline(QueryTargetEncoder(), RankSVM()),
}


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_a_wrapper_of_a_pipeline_with_names_is_saved(pipeline, tmp_path):
    for model in (RankingRegressor(pipeline), NestedRanker(pipeline)):
        check_is_saved(model.fit(FULL, Y, GROUPS), [FULL], tmp_path)
    pipeline = make_pipeline("passthrough", RankingRegressor(pipeline))
    last = {"rankingregressor__groups": GROUPS}
    check_is_saved(pipeline.fit(FULL, Y, **last), [FULL], tmp_path)


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_rows_that_are_tried_go_through_a_pipeline(pipeline):
    """Nothing is refused and passed over: names are those that each step knows."""
    model = RankingRegressor(pipeline).fit(FULL, Y, GROUPS)
    rows = probe_rows(model, 6)
    assert set(rows["site"]) <= set(_SITES)
    assert rows["f0"].tolist() == [0.0, 1.0, -1.0]
    assert np.isfinite(model.predict(rows, np.zeros(3))).all()


def test_a_selector_of_features_moves_columns():
    frame = FULL.assign(site=np.where(Y > 1, "good", "bad"))
    chosen = SelectFromModel(ranker(), max_features=1, threshold=-np.inf)
    chosen.set_output(transform="pandas").fit(frame, Y, groups=GROUPS)
    assert chosen.get_feature_names_out().tolist() == ["site"]
    last = ranker().fit(frame[["site"]], Y, GROUPS)
    one = np.zeros((len(Y), 6))
    one[:, 2] = X[:, 0]
    chosen.estimator_ = RankSVM().fit(one, Y, GROUPS)  # which knows no level
    rows = probe_rows(Pipeline([("chosen", chosen), ("rank", last)]), 6)
    assert set(rows["site"]) == {"good", "bad"}


def test_models_within_may_know_different_levels(tmp_path):
    """The strings are the levels of some grades, and numbers those of others."""
    values = np.where(Y > 1, "blog", "7").astype(object)
    values[Y <= 1] = 7
    values[(Y <= 1) & (np.arange(len(Y)) % 2 == 0)] = 8
    frame = FULL.assign(site=values)
    named = ranker().set_params(categorical_features=["site"])
    model = MultipleHyperplaneRanker(named).fit(frame, Y, GROUPS)
    levels = {tuple(each.encoder_.levels_[0].tolist()) for each in model.estimators_}
    assert levels >= {(7, 8), ("blog",)}
    check_is_saved(model, [frame], tmp_path)


@pytest.mark.parametrize("name", sorted(_OF_NUMBERS - {"TextRanker", "PeerRanker"}))
def test_others_take_no_names(name):
    (cls,) = [cls for cls in _wrappers() if cls.__name__ == name]
    with pytest.raises((TypeError, ValueError)):
        cls().fit(FULL, Y, GROUPS)
