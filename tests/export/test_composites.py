"""Files of pipelines whose parts no longer fit each other are refused by name."""

import copy
import re

import numpy as np
import pytest
import sklearn
from _tamper import GROUPS, X, Y, read, write
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import skrank
from skrank.export import load_model, save_model
from skrank.preprocessing import (
    QueryMinMaxScaler,
    QueryStandardScaler,
    QueryTargetEncoder,
)
from skrank.rankers import MultipleHyperplaneRanker, RankSVM
from skrank.selection import SelectByMeasure

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame(
    {"a": 1.0 + X[:, 0] ** 2, "b": X[:, 1], "s": np.where(Y > 1, "u", "v")}
)
PLACES = "_transformer_to_input_indices must be the places of the columns"


@pytest.fixture(scope="module")
def model():
    """A pipeline with columns of numbers and of names."""
    parts = [("n", StandardScaler(), ["a", "b"]), ("s", OneHotEncoder(), ["s"])]
    model = make_pipeline(ColumnTransformer(parts), RankSVM(max_iter=50))
    return model.fit(FRAME, Y, ranksvm__groups=GROUPS)


def columns_of(document):
    """Return what the file says that the transformer of columns has learned."""
    return document["model"]["params"]["steps"][0]["items"][1]["state"]


def _indices(state):
    return state["_transformer_to_input_indices"]["items"]


def _part(state):
    return state["transformers_"][0]["items"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: _indices(s)[0][1].reverse(), PLACES),
        (lambda s: _indices(s)[0][1].append(2), PLACES),
        (lambda s: _indices(s)[1].__setitem__(1, [0]), PLACES),
        (lambda s: _indices(s).pop(), PLACES),
        (lambda s: _indices(s)[0].__setitem__(1, 7), "must be lists of places"),
        (lambda s: _part(s).__setitem__(0, "s"), PLACES),
        (lambda s: _part(s).__setitem__(0, 3), "must be triples with a name, got 3"),
        (
            lambda s: _part(s)[1]["state"]["feature_names_in_"]["items"].reverse(),
            "StandardScaler: feature_names_in_ must be those of its columns, "
            "['a', 'b'], got ['b', 'a']",
        ),
        (
            lambda s: _part(s)[2].append("s"),
            "StandardScaler: n_features_in_ must be 3, the number of columns that it "
            "is given, got 2",
        ),
        (lambda s: s["_columns"].reverse(), "_columns must be the columns in"),
        (lambda s: s.pop("_columns"), "the attribute _columns is missing"),
        (
            lambda s: s["_remainder"]["items"].__setitem__(2, [1]),
            "_remainder must be a triple with the columns of no transformer, []",
        ),
        (
            lambda s: s["output_indices_"]["items"][0][1]["items"].__setitem__(1, 1),
            "output_indices_ must be slices",
        ),
        (lambda s: s["output_indices_"]["items"].pop(0), "output_indices_ must be"),
    ],
)
def test_columns_agree_with_themselves(change, told, model, tmp_path):
    path = tmp_path / "model"
    save_model(model, path)
    document, members = read(path)
    change(columns_of(document))
    write(path, document, members)
    with pytest.raises(ValueError, match=re.escape(told)):
        load_model(path)


def test_a_number_of_columns_takes_no_memory(tmp_path):
    path = tmp_path / "model"
    save_model(ColumnTransformer([("n", StandardScaler(), [0, 1])]).fit(X), path)
    document, members = read(path)
    document["model"]["state"]["n_features_in_"] = 2**30
    write(path, document, members)
    with pytest.raises(ValueError, match="n_features_in_ must be the number of"):
        load_model(path)


def test_parts_of_a_union_have_the_same_columns(tmp_path):
    union = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())])
    union.fit(FRAME[["a", "b"]])
    union.transformer_list[1][1].feature_names_in_ = np.array(["a", "c"], dtype=object)
    save_model(union, tmp_path / "model")
    told = r"MinMaxScaler: feature_names_in_ must be those .* \['a', 'b'\], got"
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("names", [True, False])
def test_steps_fit_each_other(names, model, tmp_path):
    # Behind encoders, whose refusals of values must not hide it, and without them.
    small = RankSVM(max_iter=50).fit(X[:, :2], Y, GROUPS)
    before = model[0] if names else StandardScaler().fit(X[:, :1])
    mixed = make_pipeline(copy.deepcopy(before), small)
    save_model(mixed, tmp_path / "model")
    n = 4 if names else 1  # two numbers and two levels
    told = f"Pipeline cannot predict rows .* X has {n} features, but RankSVM is expec"
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "model")


def columns(*parts, **options):
    """Return a transformer of columns with names that do not matter."""
    named = [(f"p{j}", *part) for j, part in enumerate(parts)]
    return ColumnTransformer(named, **options)


BINS = {"quantile_method": "averaged_inverted_cdf", "encode": "onehot-dense"}


@pytest.mark.parametrize(
    "steps",
    [
        [PowerTransformer("box-cox")],
        [MinMaxScaler(), Nystroem(kernel="chi2", n_components=4)],
        [MinMaxScaler(), Nystroem(kernel="additive_chi2", n_components=4)],
        [MinMaxScaler((1, 2)), PowerTransformer("box-cox")],
        [PolynomialFeatures(6), RobustScaler()],
        [columns((PowerTransformer("box-cox"), ["a"]), remainder="passthrough")],
        [columns((SimpleImputer(), ["a"]), remainder=StandardScaler())],
        [columns((KBinsDiscretizer(3, **BINS), slice("a", "b")))],
        [columns(("drop", slice("a", "a")), ("passthrough", [-1]), (Nystroem(), []))],
        [columns((FeatureUnion([("m", MissingIndicator())]), [True, False]))],
        [KBinsDiscretizer(3, **BINS), OneHotEncoder(sparse_output=False)],
        [KBinsDiscretizer(3, **BINS | {"encode": "ordinal"}), OrdinalEncoder()],
        [make_pipeline(FeatureUnion([("s", StandardScaler())]), VarianceThreshold())],
    ],
    ids=str,
)
def test_whatever_values_a_step_refuses_models_are_loaded(steps, tmp_path):
    frame = FRAME[["a", "b"]].abs() + 0.1
    if "Polynomial" in str(steps):
        frame *= 1e-60  # the scale of products is such that rows of ones overflow
    if "SimpleImputer" in str(steps) or "MissingIndicator" in str(steps):
        frame["a"] = frame["a"].where(frame["a"] > frame["a"].median())
    model = make_pipeline(*steps).fit(frame)
    parameters = repr(model)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    expected = model.transform(frame)
    assert np.array_equal(loaded.transform(frame), expected, equal_nan=True)
    # What was set for the trial is as before.
    assert repr(loaded) == parameters


@pytest.mark.parametrize(
    "steps",
    [
        [QueryStandardScaler(), RankSVM()],
        [QueryMinMaxScaler(), RankSVM(kernel="chi2")],
        [MinMaxScaler(), RankSVM(kernel="additive_chi2")],
        [columns((QueryStandardScaler(), ["a"]), (StandardScaler(), ["b"])), RankSVM()],
        [make_pipeline(QueryMinMaxScaler(), StandardScaler()), RankSVM()],
        [QueryTargetEncoder(["s"], random_state=0), QueryStandardScaler(), RankSVM()],
        [SelectByMeasure(1), RankSVM()],
        [MultipleHyperplaneRanker(make_pipeline(QueryStandardScaler(), RankSVM()))],
    ],
    ids=str,
)
def test_what_needs_queries_or_positive_numbers_is_loaded(steps, tmp_path):
    names = ["a", "b", "s"] if "QueryTargetEncoder" in str(steps) else ["a", "b"]
    frame = FRAME[names]
    with sklearn.config_context(enable_metadata_routing=True):
        for step in steps:
            if hasattr(step, "set_fit_request"):
                step.set_fit_request(groups=True)
        model = make_pipeline(*steps).fit(frame, Y, groups=GROUPS)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    with skrank.config_context(assume_single_query=True):
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    # The trial takes its rows for one query, and the model is as strict as before.
    if isinstance(steps[0], (QueryStandardScaler, QueryMinMaxScaler)):
        with pytest.raises(ValueError, match="needs to know the query of every row"):
            loaded.predict(frame)


def test_an_imputer_fills_in_finite_numbers(tmp_path):
    frame = FRAME[["a", "b"]].where(FRAME[["a", "b"]] > 0)
    model = make_pipeline(SimpleImputer(), RankSVM(max_iter=50))
    model.fit(frame, Y, ranksvm__groups=GROUPS)
    model[0].statistics_[0] = np.inf
    save_model(model, tmp_path / "model")
    told = "SimpleImputer: statistics_ must be finite, or NaN where nothing is known"
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "model")


def test_encoders_refuse_after_loading_what_they_refused_before(model, tmp_path):
    save_model(model, tmp_path / "model")
    with pytest.raises(ValueError, match="unknown categories"):
        load_model(tmp_path / "model").predict(FRAME.assign(s="w"))
