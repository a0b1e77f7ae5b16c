"""Edited and damaged model files are refused, or they are models that work."""

import copy
import io
import json
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from _saved import RUNS, class_names, saved_of
from _tamper import GROUPS, X, Y, edited_array, npy, read, write
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.impute import MissingIndicator
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC, LinearSVR

from skrank.aggregation import (
    MC1,
    BayesFuse,
    Borda,
    LearnedFusion,
    LocalKemeny,
    MAPFuse,
    PosFuse,
    ProbFuse,
    SegFuse,
    WeightedFusion,
)
from skrank.energies import PairwisePotentialEnergy
from skrank.exceptions import TrainingDataWarning
from skrank.export import from_json, load_model, save_model, to_json
from skrank.preprocessing import QueryStandardScaler, QueryTargetEncoder
from skrank.rankers import (
    MART,
    BoltzRank,
    FRank,
    GERank,
    LargeMarginOrdinal,
    LogisticRanker,
    McRank,
    PRank,
    PreferenceOrdering,
    RandomForestRanker,
    RankBoost,
    RankSVM,
    RobustSparseRanker,
    Rocchio,
    SubsetRegression,
    ThresholdOrdinal,
)

_PROGRAM = Path(__file__).parents[1] / "_tamper.py"


def run(*arguments):
    """Run the program that edits files, in a process that may crash."""
    command = [sys.executable, str(_PROGRAM), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-3:]
    assert done.returncode == 0, (done.returncode, done.stdout[-3000:], last)


def test_edited_files_of_every_class_are_refused_or_work():
    run("all", "0")


@pytest.fixture
def data():
    """Rows, grades and queries, as the program has them."""
    return X, Y, GROUPS


def edited(model, path, change=None, array=None, **state):
    """Save a model, then change the file."""
    save_model(model, path)
    document, members = read(path)
    if array is not None:
        name, content = array
        member = document["model"]["state"][name]["member"]
        members[member] = npy(content)
    document["model"]["state"].update(state)
    if change is not None:
        change(document)
    write(path, document, members)
    return path


@pytest.mark.parametrize("n", [0, 101, 103, 120, 150, 200, 10_000])
def test_parameters_of_pairwise_potentials_must_fit(n, data, tmp_path):
    ranker = BoltzRank(pairwise_potential=True, max_iter=2, random_state=0).fit(*data)
    assert len(ranker.params_) not in (n, 1)
    path = edited(ranker, tmp_path / "m", array=("params_", np.zeros(n)))
    with pytest.raises(ValueError, match="params_ must have shape"):
        load_model(path)
    ranker.params_ = np.zeros(n)
    with pytest.raises(ValueError, match="params_ must have shape"):
        ranker.predict(X, data[2])


def test_the_energy_of_pairs_checks_the_parameters_of_its_output():
    energy = PairwisePotentialEnergy(n_hidden=2).setup(X)
    params = np.zeros(energy.n_params(X.shape[1]) + 500)
    with pytest.raises(ValueError, match="params must hold the 42 parameters"):
        energy.scores(params, X, np.array([0, len(X)]))


@pytest.mark.parametrize("version", [2.0, True, "2", None])
def test_format_versions_are_whole_numbers(version, data, tmp_path):
    path = edited(
        RankSVM(),
        tmp_path / "m",
        lambda document: document.update(format_version=version),
    )
    with pytest.raises(ValueError, match=f"format version {version!r} is unknown"):
        load_model(path)


def test_parameters_are_checked(tmp_path):
    path = edited(
        RankSVM(),
        tmp_path / "m",
        lambda document: document["model"]["params"].update(alpha="x"),
    )
    with pytest.raises(ValueError, match="RankSVM: alpha must be a number >= 0"):
        load_model(path)


@pytest.mark.parametrize("name", ["params_", "energy_", "loss_", "n_features_in_"])
def test_missing_attributes_are_named(name, data, tmp_path):
    path = edited(
        RankSVM().fit(*data),
        tmp_path / "m",
        lambda document: document["model"]["state"].pop(name),
    )
    with pytest.raises(ValueError, match=name):
        load_model(path)


@pytest.mark.parametrize("ranker", [RankBoost(n_estimators=3), FRank(n_estimators=3)])
def test_thresholded_features_need_bins(ranker, data, tmp_path):
    """A prediction does not, and a warm start would raise an AttributeError."""
    path = edited(
        clone(ranker).fit(*data),
        tmp_path / "m",
        lambda document: document["model"]["state"].pop("bin_mapper_"),
    )
    with pytest.raises(ValueError, match="the attribute bin_mapper_ is missing"):
        load_model(path)


def test_children_of_nodes_stay_in_their_tree(data, tmp_path):
    ranker = MART(n_estimators=3, min_samples_leaf=5).fit(*data)
    trees = ranker.ensemble_
    for wrong in (np.iinfo(np.int32).max, len(trees.left_) - 1, 0):
        left = trees.left_.copy()
        left[0] = wrong
        save_model(ranker, tmp_path / "m")
        document, members = read(tmp_path / "m")
        member = document["model"]["state"]["ensemble_"]["state"]["left_"]["member"]
        write(tmp_path / "m", document, {**members, member: npy(left)})
        with pytest.raises(ValueError, match="left_ must be later nodes"):
            load_model(tmp_path / "m")


def test_leaves_have_no_category(data, tmp_path):
    ranker = MART(n_estimators=3, min_samples_leaf=5).fit(*data)
    trees = ranker.ensemble_
    trees.category_ = np.where(trees.feature_ < 0, 1, trees.category_).astype(np.int32)
    save_model(ranker, tmp_path / "m")
    with pytest.raises(ValueError, match="category_ must be -1 for leaves"):
        load_model(tmp_path / "m")


def test_leaves_have_no_feature(data, tmp_path):
    trees = MART(n_estimators=3, min_samples_leaf=5).fit(*data).ensemble_
    other = np.where(trees.feature_ < 0, -6, trees.feature_).astype(np.int32)
    path = edited(trees, tmp_path / "m", array=("feature_", other))
    with pytest.raises(ValueError, match="feature_ must be numbers of features, or -1"):
        load_model(path)


@pytest.mark.parametrize(
    "name", ["learning_rate_", "gradient_unit_", "hessian_unit_", "leaf_unit_"]
)
@pytest.mark.parametrize("odd", [None, "a", [1], -1.0])
def test_what_a_warm_start_goes_on_with_is_a_number(name, odd, data, tmp_path):
    path = edited(MART(n_estimators=2).fit(*data), tmp_path / "m", **{name: odd})
    with pytest.raises(ValueError, match=f"MART: {name} must be"):
        load_model(path)


def test_a_learning_rate_is_above_zero(data, tmp_path):
    ranker = MART(n_estimators=2).fit(*data)
    path = edited(ranker, tmp_path / "m", learning_rate_=0)
    with pytest.raises(ValueError, match="learning_rate_ must be a number > 0"):
        load_model(path)


@pytest.mark.parametrize("odd", [np.zeros(7, dtype=np.int8), np.full(3, 2, np.int8)])
def test_constraints_are_signs_of_the_features(odd, data, tmp_path):
    ranker = MART(n_estimators=2).fit(*data)
    path = edited(ranker, tmp_path / "m", array=("monotonic_cst_", odd))
    with pytest.raises(ValueError, match="MART: monotonic_cst_ must"):
        load_model(path)


@pytest.mark.parametrize("gain", ["exp2", "linear", np.arange(5.0)])
def test_the_gain_of_gerank_is_saved(gain, data, tmp_path):
    ranker = GERank((4,), n_components=2, gain=gain, query_features=(), max_iter=2)
    ranker.fit(*data)
    save_model(ranker, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.predict(X).tobytes() == ranker.predict(X).tobytes()
    assert repr(loaded.loss_) == repr(ranker.loss_)


def test_a_function_as_gain_of_gerank_is_refused(data, tmp_path):
    ranker = GERank((4,), n_components=2, gain=np.sqrt, query_features=(), max_iter=2)
    with pytest.raises(TypeError, match=r"GERank\.gain cannot be saved"):
        save_model(ranker.fit(*data), tmp_path / "m")


@pytest.mark.parametrize("change", ["longer", "shorter", "zero", "complex"])
@pytest.mark.parametrize(
    ("scaler", "name"),
    [
        (StandardScaler(), "mean_"),
        (StandardScaler(), "var_"),
        (StandardScaler(), "scale_"),
        (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), "n_bins_"),
        (MinMaxScaler(), "min_"),
        (RobustScaler(), "center_"),
        (QuantileTransformer(n_quantiles=5), "quantiles_"),
        (QuantileTransformer(n_quantiles=5), "references_"),
        (PowerTransformer(), "lambdas_"),
    ],
    ids=str,
)
def test_arrays_of_scalers_have_the_length_of_the_features(
    scaler, name, change, data, tmp_path
):
    scaler = clone(scaler).fit(X)
    array = getattr(scaler, name)
    edits = {
        "longer": np.concatenate([array, array[-1:]]),
        "shorter": array[:-1],
        "zero": np.zeros_like(array),
        "complex": array + 1j,
    }
    if change == "zero" and name != "scale_":
        pytest.skip("0 is a number like others here")
    path = edited(scaler, tmp_path / "m", array=(name, edits[change]))
    cls = type(scaler).__name__
    # How many quantiles there are, the array that is checked first says.
    checked = "references_" if name == "quantiles_" else name
    told = f"{cls}: {checked} must be an array of shape .+, got 'shape "
    told = {"complex": "real numbers", "zero": cls}.get(change, told)
    with pytest.raises(ValueError, match=told):
        load_model(path)


@pytest.mark.parametrize("sparse_coef", [False, True])
def test_a_wrong_shape_is_told_beside_the_right_one(sparse_coef, tmp_path):
    model = LogisticRegression().fit(X, Y > 1)
    model.coef_ = np.append(model.coef_, [[1.0]], axis=1)
    if sparse_coef:
        model.sparsify()
    save_model(model, tmp_path / "m")
    n = X.shape[1]
    told = rf"coef_ must be an array of shape \(n, {n}\), got 'shape \(1, {n + 1}\)'"
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("shape", [(0,), (2,), (3,), (5,), (1, 1), (3, 1), (1, 3)])
@pytest.mark.parametrize(
    "model",
    [
        *(BayesianRidge(), ElasticNet(), HuberRegressor(), Lasso()),
        *(LinearRegression(), Ridge(), LinearSVR(), LinearSVC()),
        *(LogisticRegression(), SubsetRegression()),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_there_are_as_many_intercepts_as_outputs(model, shape, data, tmp_path):
    """Three of them fit the three rows that are tried, and no other rows."""
    X, y, groups = data
    more = {"groups": groups} if isinstance(model, SubsetRegression) else {}
    save_model(clone(model).fit(X, y > 1, **more), tmp_path / "m")
    document, members = read(tmp_path / "m")
    state = document["model"]["state"]
    state = state.get("estimator_", {}).get("state", state)
    state["intercept_"] = {"type": "array", "member": "arrays/99.npy"}
    members["arrays/99.npy"] = npy(np.zeros(shape))
    write(tmp_path / "m", document, members)
    told = r"intercept_ must be a number or an array of shape \(1,\), .* got .shape"
    with pytest.raises(ValueError, match=told):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["coef_", "intercept_"])
@pytest.mark.parametrize(
    "model",
    [
        *(BayesianRidge(), ElasticNet(), HuberRegressor(), Lasso()),
        *(LinearRegression(), Ridge(), LinearSVR(), LinearSVC()),
        LogisticRegression(),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_models_are_of_finite_numbers(model, name, value, tmp_path):
    model = clone(model).fit(X, Y > 1)
    array = np.array(getattr(model, name))
    array.flat[-1] = value
    setattr(model, name, array)
    save_model(model, tmp_path / "m")
    with pytest.raises(ValueError, match=f"{name} must be of finite numbers, got"):
        load_model(tmp_path / "m")
    if name == "coef_" and isinstance(model, LogisticRegression):
        save_model(model.sparsify(), tmp_path / "m")
        with pytest.raises(ValueError, match="coef_ must be of finite numbers, got"):
            load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("model", "change"),
    [
        *((model, np.atleast_2d) for model in (ElasticNet(), Lasso(), Ridge())),
        *((model, np.atleast_2d) for model in (BayesianRidge(), HuberRegressor())),
        *((model, np.ravel) for model in (LinearSVC(), LogisticRegression())),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_coefficients_have_the_axes_that_the_class_gives_them(model, change, tmp_path):
    """Of two features, a vector has as many entries as there are classes."""
    model = clone(model).fit(X[:, :2], Y > 1)
    model.coef_ = change(model.coef_)
    save_model(model, tmp_path / "m")
    with pytest.raises(ValueError, match="coef_ must be an array of shape"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("model", [ElasticNet(), LinearRegression(), Ridge()], ids=str)
def test_regressions_of_several_outputs_are_read(
    model, fit_intercept, n_outputs, data, tmp_path
):
    X, y, _ = data
    model = clone(model).set_params(fit_intercept=fit_intercept)
    model.fit(X, np.outer(y, np.arange(1, n_outputs + 1)))
    save_model(model, tmp_path / "m")
    found = load_model(tmp_path / "m").predict(X)
    np.testing.assert_array_equal(found, model.predict(X))


@pytest.mark.parametrize("places", [[4], [-1], [0.5], [[0]], [0, 1, 2, 9]])
def test_columns_of_an_indicator_are_those_of_the_rows(places, tmp_path):
    rows = np.where(np.eye(4) > 0, np.nan, 1.0)
    model = MissingIndicator().fit(rows)
    path = edited(model, tmp_path / "m", array=("features_", np.array(places)))
    with pytest.raises(ValueError, match="MissingIndicator: features_ must be"):
        load_model(path)


@pytest.mark.parametrize("wrong", [-1, 1000, 10**9, -(10**9), 2**70, 0.0, True, None])
@pytest.mark.parametrize(
    ("generator", "place", "end"),
    [
        (np.random.RandomState(3), "pos", 624),
        (np.random.Generator(np.random.MT19937(3)), "pos", 624),
        (np.random.Generator(np.random.Philox(3)), "buffer_pos", 4),
    ],
    ids=["RandomState", "MT19937", "Philox"],
)
def test_generators_go_on_within_their_numbers(generator, place, end, wrong, tmp_path):
    def change(document):
        text = json.dumps(document)
        changed = re.sub(rf'("{place}"), \d+', rf"\1, {json.dumps(wrong)}", text)
        assert changed != text
        document.update(json.loads(changed))

    model = RankSVM(kernel_params={"generator": generator})
    path = edited(model, tmp_path / "m", change)
    with pytest.raises(ValueError, match=f"whole number from 0 to {end}, got "):
        load_model(path)


_NAN = {"type": "float", "value": "nan"}


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *(("query_ids_", other) for other in (5, "abc", [[1]], _NAN, None)),
        *(("query_sizes_", other) for other in (5, [], ...)),
        *(("n_queries_without_preference_", other) for other in (-1, "x", ...)),
        *(("n_iter_", other) for other in (1.5, -1, ...)),
        *(("best_iteration_", other) for other in (True, ...)),
        *(("loss_curve_", other) for other in (3, [1.0], ...)),
        *(("validation_curve_", other) for other in ("x", ...)),
        *(("n_features_in_", other) for other in (0, "x")),
        *(("intercept_", other) for other in (10**30, "x", [], 7.5, ...)),
        ("converged_", "x"),
    ],
)
def test_records_of_training_are_what_they_are_documented_to_be(
    name, other, data, tmp_path
):
    path = tmp_path / "a model.skrank"
    save_model(RankSVM().fit(*data), path)
    document, members = read(path)
    state = document["model"]["state"]
    state.pop(name) if other is ... else state.update({name: other})
    write(path, document, members)
    with pytest.raises(ValueError, match=rf"a model\.skrank.*\b{name}\b") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ranker", "n_grades"),
    [
        (PRank(), 0),
        (PRank(), 1),
        (ThresholdOrdinal(), 0),
        (LargeMarginOrdinal(), 0),
        (McRank(n_estimators=2, min_samples_leaf=1), 0),
    ],
)
def test_there_is_a_grade_above_each_threshold(ranker, n_grades, data, tmp_path):
    path = tmp_path / "model.skrank"
    save_model(ranker.fit(*data), path)
    document, members = read(path)
    member = document["model"]["state"]["grades_"]["member"]
    members[member] = npy(ranker.grades_[:n_grades])
    write(path, document, members)
    with pytest.raises(ValueError, match=r"grades_ must be (finite|one more)"):
        load_model(path)


def test_records_of_training_have_their_shapes(data, tmp_path):
    ranker = RankSVM().fit(*data)
    odd = {
        "query_ids_": ranker.query_ids_[None],
        "query_sizes_": ranker.query_sizes_[:-1],
        "loss_curve_": ranker.loss_curve_[:, None],
        "coef_": np.append(ranker.coef_, 0.0),
    }
    for name, array in odd.items():
        path = edited(ranker, tmp_path / "m", array=(name, array))
        with pytest.raises(ValueError, match=f"RankSVM: {name} must be an array"):
            load_model(path)
    path = edited(ranker, tmp_path / "m", array=("coef_", ranker.coef_ * 2))
    with pytest.raises(ValueError, match="coef_ must be that of params_"):
        load_model(path)


def test_grades_and_thresholds_are_what_was_learned(data, tmp_path):
    for ranker, name, change in (
        (PRank(max_iter=2), "grades_", lambda a: a[::-1].copy()),
        (PRank(max_iter=2), "params_", lambda a: a[0]),
        (McRank(n_estimators=2), "grades_", lambda a: a * np.inf),
        (LogisticRanker(threshold="all"), "coef_", lambda a: a[:, :-1]),
        (LogisticRanker(threshold="all"), "intercept_", lambda a: a[:2]),
        (MART(n_estimators=2), "baseline_", lambda a: a[:, None]),
        (PreferenceOrdering([("a", RankSVM())]), "weights_", lambda a: a[:-1]),
        (RobustSparseRanker(), "first_coef_", lambda a: a[:-1]),
    ):
        fitted = ranker.fit(*data)
        with np.errstate(invalid="ignore"):
            other = change(getattr(fitted, name))
        path = edited(fitted, tmp_path / "m", array=(name, other))
        with pytest.raises(ValueError, match=name):
            load_model(path)


@pytest.mark.parametrize("n_outputs", [0, 10**8, 10**18])
@pytest.mark.parametrize("cls", [MART, McRank, RandomForestRanker])
def test_a_number_of_outputs_takes_no_memory(cls, n_outputs, data, tmp_path):
    def change(document):
        trees = document["model"]["state"]["ensemble_"]
        trees["params"]["n_outputs"] = n_outputs

    path = edited(cls(n_estimators=2).fit(*data), tmp_path / "m", change)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"n_outputs must"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_trees_add_to_scores_that_there_are(data, tmp_path):
    fitted = McRank(n_estimators=2).fit(*data)
    for output in (-1, fitted.ensemble_.n_outputs):
        other = np.full_like(fitted.ensemble_.output_, output)
        path = edited(fitted.ensemble_, tmp_path / "m", array=("output_", other))
        with pytest.raises(ValueError, match="output_ must be numbers below"):
            load_model(path)


@pytest.mark.parametrize("kind", ["Pipeline", "FeatureUnion"])
def test_parts_of_pipelines_come_in_pairs(kind, tmp_path):
    def lengthen(document):
        params = document["model"]["params"]
        parts = params["steps" if kind == "Pipeline" else "transformer_list"]
        parts[0]["items"].append(parts[0]["items"][1])

    parts = [("a", StandardScaler()), ("b", MinMaxScaler())]
    model = {"Pipeline": Pipeline, "FeatureUnion": FeatureUnion}[kind](parts).fit(X, Y)
    path = edited(model, tmp_path / "m", lengthen)
    with pytest.raises(ValueError, match=f"{kind}: .* must be a list of pairs, got"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "odd"), [("gain_", np.inf), ("weight_", np.inf), ("threshold_", -np.inf)]
)
def test_numbers_of_trees_are_finite(name, odd, data, tmp_path):
    trees = MART(n_estimators=2).fit(*data).ensemble_
    numbers = getattr(trees, name).copy()
    numbers[trees.roots_[0]] = odd
    path = edited(trees, tmp_path / "m", array=(name, numbers))
    with pytest.raises(ValueError, match=f"TreeEnsemble: {name} must be"):
        load_model(path)


def test_sparse_numbers_are_without_nan(data, tmp_path):
    X, y, groups = data
    ranker = Rocchio().fit(sparse.csr_matrix(X), y, groups)
    ranker.vectors_.data[0] = np.nan
    save_model(ranker, tmp_path / "m")
    with pytest.raises(ValueError, match="Rocchio: vectors_ must be finite"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
@pytest.mark.parametrize(
    "known",
    [[2.0, 1.0, 3.0], [1.0, 3.0, 2.0], [1.0, 1.0, 2.0], [1.0, 2.0, 2.0]],
)
def test_categories_that_are_searched_by_halving_ascend(encoder, known, tmp_path):
    encoder = clone(encoder).fit(np.array([[1.0], [2.0], [3.0]]))
    encoder.categories_ = [np.array(known)]
    save_model(encoder, tmp_path / "m")
    with pytest.raises(ValueError, match="categories_ must be ascending"):
        load_model(tmp_path / "m")
    encoder.categories_ = [np.array([1.0, 2.0, np.nan])]
    save_model(encoder, tmp_path / "m")
    assert np.isnan(load_model(tmp_path / "m").categories_[0][-1])


def test_a_pipeline_is_fitted_to_its_end(data, tmp_path):
    X, y, groups = data
    model = Pipeline([("scale", StandardScaler()), ("rank", RankSVM())])
    model.fit(X, y, rank__groups=groups).set_params(rank=RankSVM())
    save_model(model, tmp_path / "m")
    message = "Pipeline cannot predict rows of n_features_in_=4"
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "m")


@pytest.fixture(scope="module")
def aggregators():
    """Every aggregator in its variants, fitted, and some that have others within."""
    names = [name for name in class_names() if name.startswith("skrank.aggregation.")]
    fitted = [saved.model for name in names for saved in saved_of(name)]
    more = [
        LocalKemeny(initial=BayesFuse()),
        WeightedFusion(aggregator=LocalKemeny()),
        LearnedFusion(ranker=LogisticRanker(), features=("score", "retrieved")),
    ]
    return fitted + [aggregator.fit(RUNS, Y, GROUPS) for aggregator in more]


def learned_arrays(model):
    """Yield the names, the places in a model file and the values of arrays."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            yield name, (name,), value
        elif isinstance(value, list) and name.endswith("_"):
            for place, array in enumerate(value):
                yield rf"{name}\[{place}\]", (name, place), array


def array_edits(array):
    """Yield arrays that must not stand in place of a learned array."""
    yield array[None]
    yield np.full(array.shape, "x")
    yield array.astype(np.float32) if array.dtype.kind == "f" else array.astype(float)
    if array.dtype.kind == "f" and len(array):
        odd = array.copy()
        odd[0] = np.nan
        yield odd


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_arrays_of_aggregators_are_what_was_learned(aggregators, tmp_path):
    path = tmp_path / "m"
    n_tried = 0
    for model in aggregators:
        save_model(model, path)
        fused = model.aggregate(RUNS, GROUPS)
        assert load_model(path).aggregate(RUNS, GROUPS).tobytes() == fused.tobytes()
        document, members = read(path)
        for name, place, array in learned_arrays(model):
            content = document["model"]["state"]
            for key in place:
                content = content[key]
            for other in array_edits(array):
                write(path, document, {**members, content["member"]: npy(other)})
                with pytest.raises(ValueError, match=f"{type(model).__name__}: {name}"):
                    load_model(path)
                n_tried += 1
    assert n_tried > 100


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_attributes_of_aggregators_are_of_their_kinds(aggregators, tmp_path):
    path = tmp_path / "m"
    for model in aggregators:
        save_model(model, path)
        document, members = read(path)
        state = document["model"]["state"]
        for name in tuple(state):
            wrong = ["os.system", None, [], [0], ["x"], {"type": "tuple", "items": []}]
            if name != "train_value_":
                wrong += [1e-320, -2, 10**30, True]
            for other in wrong:
                document["model"]["state"] = {**state, name: other}
                write(path, document, members)
                with pytest.raises(ValueError, match=f"{type(model).__name__}: {name}"):
                    load_model(path)
            # Without any attribute, the model is one that was not fitted.
            if name != "initial_" and len(state) > 1:
                document["model"]["state"] = {
                    k: v for k, v in state.items() if k != name
                }
                write(path, document, members)
                with pytest.raises(
                    ValueError, match=f"the attribute {name} is missing"
                ):
                    load_model(path)


@pytest.mark.parametrize(
    ("aggregator", "change", "told"),
    [
        (BayesFuse(), lambda a: np.append(a, 0.0), r"of shape \(9\)"),
        (SegFuse(), lambda a: a[:-1], r"of shape \(10\)"),
        (ProbFuse(n_segments=3), lambda a: a[:2], r"of shape \(3\)"),
        (PosFuse(), lambda a: a - 0.5, "numbers from 0 to 1"),
        (SegFuse(), lambda a: a + 2.0, "numbers from 0 to 1"),
    ],
    ids=["longer", "shorter", "of_3", "negative", "large"],
)
def test_estimates_fit_the_segments(aggregator, change, told, tmp_path):
    model = clone(aggregator).fit(RUNS, Y, GROUPS)
    model.estimates_[1] = change(model.estimates_[1])
    save_model(model, tmp_path / "m")
    with pytest.raises(ValueError, match=rf"estimates_\[1\] must be .*{told}"):
        load_model(tmp_path / "m")
    model.estimates_ = model.estimates_[:-1]
    save_model(model, tmp_path / "m")
    with pytest.raises(ValueError, match="estimates_ must be a list of 4 arrays"):
        load_model(tmp_path / "m")


def test_parts_of_aggregators_belong_to_their_runs(tmp_path):
    few = RUNS[:, :2]
    weights = MAPFuse().fit(RUNS, Y, GROUPS)
    weights.weights_ = weights.weights_[:-1]
    local = LocalKemeny(initial=Borda()).fit(RUNS, Y, GROUPS)
    local.initial_ = Borda().fit(few, Y, GROUPS)
    weighted = WeightedFusion().fit(RUNS, Y, GROUPS)
    weighted.aggregator_.set_params(weights=[1.0, 0.0, 0.0, 0.0])
    uneven = WeightedFusion().fit(RUNS, Y, GROUPS)
    uneven.weights_ = uneven.weights_ / 2
    learned = LearnedFusion(ranker=RankSVM()).fit(RUNS, Y, GROUPS)
    learned.ranker_ = RankSVM().fit(np.nan_to_num(few), Y, GROUPS)
    unfitted = LearnedFusion(ranker=RankSVM()).fit(RUNS, Y, GROUPS)
    unfitted.ranker_ = RankSVM()
    for model, told in (
        (weights, r"weights_ must be an array of float64 of shape \(4\)"),
        (local, "initial_ must be fitted to 4 runs"),
        (weighted, "aggregator_ must be an aggregator whose weights are weights_"),
        (uneven, "weights_ must be numbers that sum to 1"),
        (learned, "ranker_ must be an estimator that was fitted to 4 features"),
        (unfitted, "LearnedFusion cannot aggregate runs with what it has learned"),
    ):
        save_model(model, tmp_path / "m")
        with pytest.raises(ValueError, match=told):
            load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("model", "name"), [(RankSVM(), "n_features_in_"), (BayesFuse(), "n_runs_")]
)
def test_a_state_holds_what_is_learned(model, name, tmp_path):
    model = clone(model).fit(np.nan_to_num(RUNS), Y, GROUPS)

    def replace(**state):
        return lambda document: document["model"].update(state=state)

    for state, told in (
        ({"a": 1}, "learns no attribute 'a'"),
        ({"a_": 1}, f"the attribute {name} is missing"),
    ):
        path = edited(model, tmp_path / "m", replace(**state))
        with pytest.raises(ValueError, match=told):
            load_model(path)
    path = edited(model, tmp_path / "m", _needs_groups=None)
    with pytest.raises(ValueError, match="'_needs_groups' belongs to the class"):
        load_model(path)


def test_aggregators_of_many_runs_are_not_tried(tmp_path, monkeypatch):
    """A file of 400 bytes said that there were 10,000, which took a minute."""
    runs = np.nan_to_num(RUNS)
    path = edited(MC1().fit(runs, groups=GROUPS), tmp_path / "m", n_runs_=10_000)
    monkeypatch.setattr(MC1, "predict", lambda *_: pytest.fail("tried"))
    assert load_model(path).n_runs_ == 10_000
    path = edited(MC1().fit(runs, groups=GROUPS), tmp_path / "m", n_runs_=2)
    with pytest.raises(pytest.fail.Exception, match="tried"):
        load_model(path)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_numbers_of_rankers_are_finite(odd, data, tmp_path):
    for ranker, name in (
        (Rocchio(), "mean_vector_"),
        (Rocchio(), "vectors_"),
        (RankSVM(), "loss_curve_"),
        (MART(n_estimators=2), "loss_curve_"),
    ):
        ranker.fit(*data)
        numbers = getattr(ranker, name).copy()
        numbers.flat[0] = odd
        path = edited(ranker, tmp_path / "m", array=(name, numbers))
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            load_model(path)


def test_records_that_a_fit_may_leave_without_a_number_are_read(data, tmp_path):
    X, y, groups = data
    ranker = RankSVM()
    with pytest.warns((TrainingDataWarning, UndefinedMetricWarning)):
        ranker.fit(X, y, groups, X_val=X[:2], y_val=[0, 0], groups_val=[1, 1])
    assert np.isnan(ranker.validation_curve_).all()
    save_model(ranker, tmp_path / "m")
    assert np.isnan(load_model(tmp_path / "m").validation_curve_).all()


def test_sparse_vectors_of_rocchio_are_read(data, tmp_path):
    X, y, groups = data
    rows = sparse.csr_matrix(X)
    ranker = Rocchio().fit(rows, y, groups)
    save_model(ranker, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    expected = ranker.predict(rows, groups)
    assert loaded.predict(rows, groups).tobytes() == expected.tobytes()
    vectors = ranker.vectors_
    for other in (vectors[:-1], vectors[:, :-1], vectors.astype("f4"), vectors.tocsc()):
        ranker.vectors_ = other
        save_model(ranker, tmp_path / "m")
        with pytest.raises(
            ValueError, match="vectors_ must be a CSR matrix of float64"
        ):
            load_model(tmp_path / "m")


@pytest.fixture(scope="module")
def with_categories():
    rows = np.random.RandomState(0).randint(6, size=(80, 2)).astype(float)
    ranker = MART(
        n_estimators=3,
        min_samples_leaf=2,
        max_leaf_nodes=6,
        categorical_features=[0],
        random_state=0,
    )
    return ranker.fit(rows, (rows[:, 0] > 2) + rows[:, 1], np.arange(80) // 8)


def _an_inner_node(ranker, by_category):
    trees = ranker.ensemble_
    found = (trees.feature_ >= 0) & ((trees.category_ >= 0) == by_category)
    return trees, int(np.flatnonzero(found)[0])


def _without_parent(ranker):
    """Let a node have the children that another one has."""
    trees = ranker.ensemble_
    first, *_, last = np.flatnonzero(trees.feature_[: trees.roots_[1]] >= 0)
    trees.left_[first] = trees.left_[last]
    return "tree 0: every node but the first must be a child of one node"


def _number_of_categories(ranker):
    trees, node = _an_inner_node(ranker, by_category=True)
    trees.category_[node] = -1
    return "splits of the features with categories, and they alone, choose"


def _categories_of_numbers(ranker):
    trees, node = _an_inner_node(ranker, by_category=False)
    trees.category_[node] = 0
    return "splits of the features with categories, and they alone, choose"


def _unknown_category(ranker):
    trees, node = _an_inner_node(ranker, by_category=True)
    trees.categories_[trees.category_[node], 0] |= np.uint64(1 << 6)
    return "categories must be some of those of its feature"


def _missing_feature(ranker):
    trees, node = _an_inner_node(ranker, by_category=False)
    trees.feature_[node] = 2
    return "feature_ must be numbers below 2"


def _equal_categories(ranker):
    ranker.bin_mapper_.cuts_[1] = ranker.bin_mapper_.cuts_[0]
    return "cuts_ must be finite and ascending for each categorical feature"


def _infinite_category(ranker):
    ranker.bin_mapper_.cuts_[5] = np.inf
    return "cuts_ must be finite and ascending for each categorical feature"


@pytest.mark.parametrize(
    "tamper",
    [
        _without_parent,
        _number_of_categories,
        _categories_of_numbers,
        _unknown_category,
        _missing_feature,
        _equal_categories,
        _infinite_category,
    ],
)
def test_trees_are_checked_as_those_of_json_are(tamper, with_categories, tmp_path):
    ranker = copy.deepcopy(with_categories)
    from_json(to_json(ranker))
    message = tamper(ranker)
    save_model(ranker, tmp_path / "m")
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "m")


def test_names_of_features_differ(with_categories, tmp_path):
    ranker = copy.deepcopy(with_categories)
    ranker.feature_names_in_ = np.array(["a", "b"], dtype=object)
    save_model(ranker, tmp_path / "m")
    document, members = read(tmp_path / "m")
    document["model"]["state"]["feature_names_in_"]["items"] = ["a", "a"]
    write(tmp_path / "m", document, members)
    with pytest.raises(ValueError, match="feature_names_in_ must be strings that diff"):
        load_model(tmp_path / "m")
    # As scikit-learn 1.8 lets them be; the file could not be read again.
    ranker.feature_names_in_[1] = "a"
    with pytest.raises(ValueError, match="two of its features are named 'a'; rename"):
        save_model(ranker, tmp_path / "m")


@pytest.mark.parametrize("seed", range(3))
def test_models_that_load_are_scoring_functions(seed, with_categories, tmp_path):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 8, size=(20, 2)).astype(float)
    save_model(with_categories, tmp_path / "m")
    document, members = read(tmp_path / "m")
    n_loaded = 0
    for name, content in list(members.items()) * 4:
        other = edited_array(np.load(io.BytesIO(content)), rng)
        write(tmp_path / "m", document, {**members, name: npy(other)})
        try:
            model = load_model(tmp_path / "m")
        except ValueError:
            continue
        frozen = from_json(to_json(model))
        np.testing.assert_array_equal(frozen.predict(X), model.predict(X))
        n_loaded += 1
    assert n_loaded


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, 10**30, 1.5, "x"])
@pytest.mark.parametrize(
    "made",
    [QueryTargetEncoder([0], random_state=0), QueryStandardScaler()],
    ids=lambda made: type(made).__name__,
)
def test_numbers_of_features_of_transformers_are_checked(made, number, data, tmp_path):
    path = tmp_path / "model.skrank"
    X, y, groups = data
    save_model(made.fit(np.round(X), y, groups=groups), path)
    document, members = read(path)
    document["model"]["state"]["n_features_in_"] = number
    write(path, document, members)
    with pytest.raises(ValueError, match="n_features_in_ must be a whole number >= 1"):
        load_model(path)
