"""Files of pipelines whose parts no longer fit each other are refused by name."""

import copy
import re

import numpy as np
import pytest
import sklearn
from _tamper import GROUPS, X, Y, read, write
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectFromModel, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC, LinearSVR

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
FEW = {"type": "object_array", "shape": [1], "items": ["a"]}
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
        (
            lambda s: s.update(_remainder=s["_remainder"]["items"][:2]),
            "_remainder must be a triple with the columns of no transformer, []",
        ),
        (
            lambda s: s["_remainder"]["items"].append(None),
            "_remainder must be a triple with the columns of no transformer, []",
        ),
        (lambda s: s.update(_remainder="drop"), "_remainder must be a triple"),
        (lambda s: s.update(_remainder=None), "_remainder must be a triple"),
        (lambda s: s.pop("_remainder"), "the attribute _remainder is missing"),
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


@pytest.mark.parametrize(
    "slices",
    [
        {"s": [1, 4, None]},  # two parts overlap
        {"s": [3, 5, None]},  # a gap
        {"n": [1, 2, None]},
        {"n": [-2, 2, None]},
        {"n": [2, 0, None]},
        {"n": [0, 2, 1]},
        {"n": [None, 2, None]},
        {"n": [0, None, None]},
        {"n": [0, 2.0, None]},
        {"n": ["0", 2, None]},
        {"remainder": [1, 2, None]},
        {"remainder": [4, 3, None]},
    ],
    ids=str,
)
def test_slices_of_columns_follow_each_other(slices, model, tmp_path):
    path = tmp_path / "model"
    save_model(model, path)
    document, members = read(path)
    for name, kept in columns_of(document)["output_indices_"]["items"]:
        kept["items"] = slices.get(name, kept["items"])
    write(path, document, members)
    told = "ColumnTransformer: output_indices_ must be slices by the names"
    with pytest.raises(ValueError, match=told):
        load_model(path)


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_a_part_without_columns_may_stand_anywhere(place, model, tmp_path):
    path = tmp_path / "model"
    save_model(model, path)
    document, members = read(path)
    for name, kept in columns_of(document)["output_indices_"]["items"]:
        if name == "remainder":
            assert kept["items"][0] == kept["items"][1]
            kept["items"][:2] = [place, place]
    write(path, document, members)
    np.testing.assert_array_equal(load_model(path).predict(FRAME), model.predict(FRAME))


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


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("where", ["alone", "pipeline", "columns", "configuration"])
def test_encoders_that_make_data_frames_are_loaded(where, kind, tmp_path):
    pytest.importorskip(kind)
    model = OneHotEncoder(sparse_output=False)
    frame, everywhere = FRAME[["s"]], None
    if where == "columns":
        model, frame = columns((model, ["s"]), remainder="passthrough"), FRAME
    elif where == "pipeline":
        model = make_pipeline(model, StandardScaler())
    if where == "configuration":
        everywhere = kind
    else:
        model.set_output(transform=kind)
    with sklearn.config_context(transform_output=everywhere):
        expected = model.fit(frame).transform(frame)
        save_model(model, tmp_path / "model")
        found = load_model(tmp_path / "model").transform(frame)
    assert type(found) is type(expected)
    assert found.equals(expected)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize(
    "within", [Ridge(), make_pipeline(StandardScaler(), Ridge()), RankSVM()], ids=str
)
def test_a_selector_has_the_names_of_its_model(within, kind, tmp_path):
    frame = FRAME[["a", "b"]]
    if kind == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({name: frame[name].to_numpy() for name in frame})
    options = {}
    if isinstance(within, Pipeline):
        options["importance_getter"] = "named_steps.ridge.coef_"
    model = SelectFromModel(within, **options)
    model.fit(frame, Y, **({"groups": GROUPS} if within.__class__ is RankSVM else {}))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(loaded.transform(frame), model.transform(frame))


def test_names_of_a_selector_belong_to_its_model(tmp_path):
    model = SelectFromModel(Ridge()).fit(FRAME[["a", "b"]], Y)
    save_model(model, tmp_path / "model")
    document, members = read(tmp_path / "model")
    state = document["model"]["state"]
    changes = [
        ({"feature_names_in_": FEW}, r"feature_names_in_ must be .* of shape \(2\)"),
        ({"estimator_": None}, "the attribute n_features_in_ is missing"),
    ]
    for change, told in changes:
        document["model"]["state"] = {**state, **change}
        write(tmp_path / "model", document, members)
        with pytest.raises(ValueError, match=f"SelectFromModel: {told}"):
            load_model(tmp_path / "model")


def test_an_imputer_fills_in_finite_numbers(tmp_path):
    frame = FRAME[["a", "b"]].where(FRAME[["a", "b"]] > 0)
    model = make_pipeline(SimpleImputer(), RankSVM(max_iter=50))
    model.fit(frame, Y, ranksvm__groups=GROUPS)
    model[0].statistics_[0] = np.inf
    save_model(model, tmp_path / "model")
    told = "SimpleImputer: statistics_ must be finite, or NaN where nothing is known"
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "model")


def test_an_imputer_of_names_is_loaded(tmp_path):
    frame = FRAME[["s"]].where(FRAME["b"] > 0)
    model = SimpleImputer(strategy="most_frequent", missing_values=np.nan).fit(frame)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(frame), model.transform(frame))


def one_more(array, axis):
    """Return an array whose last entry along an axis is there twice."""
    array = np.asarray(array)
    last = np.take(array, [-1], axis=axis)
    return np.concatenate([array, last], axis=axis)


LEARNED = [
    (StandardScaler(), {"mean_": "(2,)", "var_": "(2,)", "scale_": "(2,)"}),
    (
        MinMaxScaler(),
        dict.fromkeys(
            ["scale_", "min_", "data_min_", "data_max_", "data_range_"], "(2,)"
        ),
    ),
    (MaxAbsScaler(), {"scale_": "(2,)", "max_abs_": "(2,)"}),
    (RobustScaler(), {"center_": "(2,)", "scale_": "(2,)"}),
    (PowerTransformer(), {"lambdas_": "(2,)"}),
    (
        QuantileTransformer(n_quantiles=5),
        {"quantiles_": "(n, 2)", "references_": "(5,)"},
    ),
    (KBinsDiscretizer(3, **BINS), {"bin_edges_": "(2,)", "n_bins_": "(2,)"}),
    (SimpleImputer(), {"statistics_": "(2,)"}),
    (VarianceThreshold(), {"variances_": "(2,)"}),
    (
        PCA(1),
        {
            "components_": "(n, 2)",
            "mean_": "(2,)",
            "explained_variance_": "(1,)",
            "explained_variance_ratio_": "(1,)",
            "singular_values_": "(1,)",
        },
    ),
    (
        TruncatedSVD(1, algorithm="arpack"),
        {
            "components_": "(n, 2)",
            "explained_variance_": "(1,)",
            "explained_variance_ratio_": "(1,)",
            "singular_values_": "(1,)",
        },
    ),
    (
        Nystroem(n_components=3, random_state=0),
        {
            "components_": "(n, 2)",
            "normalization_": "(3, 3)",
            "component_indices_": "(3,)",
        },
    ),
    (
        RBFSampler(n_components=3, random_state=0),
        {"random_weights_": "(2, n)", "random_offset_": "(3,)"},
    ),
    *(
        (estimator, {"coef_": "(2,)"})
        for estimator in (
            BayesianRidge(),
            ElasticNet(),
            HuberRegressor(),
            Lasso(),
            LinearRegression(),
            LinearSVR(max_iter=10_000),
            Ridge(),
        )
    ),
    (LinearSVC(max_iter=10_000), {"coef_": "(n, 2)"}),
    (LogisticRegression(), {"coef_": "(n, 2)"}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "name", "shape"),
    [(estimator, *shape) for estimator, shapes in LEARNED for shape in shapes.items()],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_what_was_learned_has_as_many_entries_as_there_are_features(
    estimator, name, shape, tmp_path
):
    estimator = clone(estimator).fit(FRAME[["a", "b"]].to_numpy(), Y)
    save_model(estimator, tmp_path / "model")
    load_model(tmp_path / "model")
    right = getattr(estimator, name)
    setattr(estimator, name, one_more(right, axis=int(shape.startswith("(n"))))
    save_model(estimator, tmp_path / "model")
    kind = type(estimator).__name__
    told = re.escape(f"{kind}: {name} must be an array of shape {shape}, got")
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "model")
    # Nor may it have two dimensions more, or none.
    for other in (np.asarray(right)[None, None], np.asarray(right).flat[0]):
        setattr(estimator, name, other)
        save_model(estimator, tmp_path / "model")
        with pytest.raises(ValueError, match=f"{kind}: {name} must be"):
            load_model(tmp_path / "model")


def test_encoders_refuse_after_loading_what_they_refused_before(model, tmp_path):
    save_model(model, tmp_path / "model")
    with pytest.raises(ValueError, match="unknown categories"):
        load_model(tmp_path / "model").predict(FRAME.assign(s="w"))
