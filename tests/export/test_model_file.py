"""Model files: exact round trips, and refusal of everything that is not safe."""

import functools
import io
import json
import warnings
import zipfile

import numpy as np
import pytest
import sklearn
from scipy import sparse
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
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.validation import check_is_fitted

import skrank.rankers
from skrank.base import BaseRanker
from skrank.datasets import make_ranking
from skrank.energies import MLPEnergy
from skrank.export import load_model, save_model
from skrank.export._allowed import SKLEARN_CLASSES
from skrank.losses import ListNetLoss, LogLoss
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import (
    MART,
    BoostedRanker,
    EnergyRanker,
    LambdaMART,
    LambdaRank,
    LogisticRanker,
    RandomForestRanker,
    RankNet,
    RankSVM,
    StructRank,
    SubsetRegression,
)
from skrank.solvers import Adam

RANKERS = [
    getattr(skrank.rankers, name)
    for name in skrank.rankers.__all__
    if issubclass(getattr(skrank.rankers, name), BaseRanker)
]


@pytest.fixture(scope="module")
def data():
    """A small ranking task."""
    return make_ranking(n_queries=12, n_features=5, n_informative=3, random_state=0)


def fit(model, data):
    """Fit without remarks on convergence, which do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def round_trip(model, tmp_path):
    path = tmp_path / "model.skrank"
    save_model(model, path)
    return load_model(path)


def assert_same(a, b):
    """Equal type and content, all the way down."""
    assert type(a) is type(b)
    if hasattr(a, "get_params"):
        assert vars(a).keys() == vars(b).keys()
        for name, value in vars(a).items():
            if name != "_metadata_request":
                assert_same(value, vars(b)[name])
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    elif sparse.issparse(a):
        assert (a != b).nnz == 0
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype
        assert np.shape(a) == np.shape(b)
        assert a.tobytes() == b.tobytes() or a.tolist() == b.tolist()
    elif isinstance(a, float):
        assert a.hex() == b.hex()
    elif isinstance(a, np.random.RandomState):
        assert_same(a.get_state()[1], b.get_state()[1])
    else:
        assert a == b


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda cls: cls.__name__)
def test_every_ranker_round_trips_exactly(ranker, data, tmp_path):
    model = fit(ranker(), data)
    loaded = round_trip(model, tmp_path)
    assert_same(model, loaded)
    groups = {"groups": data[2]} if model._needs_groups else {}
    expected = model.predict(data[0], **groups)
    assert loaded.predict(data[0], **groups).tobytes() == expected.tobytes()
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert repr(clone(loaded)) == repr(clone(model))


@pytest.mark.parametrize(
    "model",
    [
        RankNet(hidden_layer_sizes=(4,), max_iter=2, random_state=0),
        RankSVM(kernel="rbf", n_components=10, random_state=np.random.RandomState(3)),
        EnergyRanker(
            MLPEnergy((3,)), ListNetLoss(), solver=Adam(max_iter=2), random_state=1
        ),
        LogisticRanker(threshold="all"),
        StructRank("random", "nadaraya-watson", max_iter=2, random_state=0),
        SubsetRegression(estimator=Lasso(1e-3), gain="exp2"),
        make_pipeline(StandardScaler(), RankSVM()),
        Pipeline([("none", "passthrough"), ("rank", RankSVM(early_stopping=True))]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_compositions_round_trip_exactly(model, data, tmp_path):
    X, y, groups = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, Pipeline):
            model.fit(X, y, **{f"{model.steps[-1][0]}__groups": groups})
        else:
            model.fit(X, y, groups)
    loaded = round_trip(model, tmp_path)
    assert_same(model, loaded)
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()


SKLEARN_MODELS = [
    ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", "passthrough", [3])]),
    PCA(2),
    TruncatedSVD(2, random_state=0),
    SelectFromModel(Ridge()),
    VarianceThreshold(),
    MissingIndicator(features="all"),
    SimpleImputer(strategy="median", add_indicator=True),
    Nystroem(n_components=5, random_state=0),
    RBFSampler(n_components=5, random_state=0),
    BayesianRidge(),
    ElasticNet(alpha=1e-3),
    HuberRegressor(),
    Lasso(alpha=1e-3),
    LinearRegression(),
    LogisticRegression(),
    Ridge(),
    FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]),
    Pipeline([("a", StandardScaler()), ("b", Ridge())]),
    Binarizer(),
    FunctionTransformer(),
    KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    MaxAbsScaler(),
    MinMaxScaler(),
    Normalizer(),
    OneHotEncoder(handle_unknown="ignore"),
    OrdinalEncoder(),
    PolynomialFeatures(2),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=10),
    RobustScaler(),
    StandardScaler(),
    LinearSVR(),
    LinearSVC(),
]


def test_every_listed_scikit_learn_class_is_tested():
    tested = {type(model).__name__ for model in SKLEARN_MODELS}
    assert {name.rpartition(".")[2] for name in SKLEARN_CLASSES} == tested


@pytest.mark.parametrize("model", SKLEARN_MODELS, ids=lambda m: type(m).__name__)
def test_scikit_learn_classes_round_trip_exactly(model, data, tmp_path):
    X, y, _ = data
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    loaded = round_trip(model, tmp_path)
    check_is_fitted(loaded)
    for method in ("transform", "predict"):
        if hasattr(model, method):
            expected, found = getattr(model, method)(X), getattr(loaded, method)(X)
            assert_same(expected, found)


WIDE = np.random.default_rng(0).normal(size=(6, 10, 4))
LAYOUTS = {
    "reversed": WIDE[0, ::-1],
    "reversed and contiguous within": WIDE[..., 0].copy()[::-1],
    "all reversed": np.asfortranarray(WIDE)[::-1, ::-1, ::-1],
    "first of Fortran order": np.asfortranarray(WIDE[..., 0])[:3],
    "one of Fortran order": np.asfortranarray(WIDE[..., 0])[:1],
    "first of C order": WIDE[1:3, 2:5, :3],
    "gaps": WIDE[::2, ::3, ::-2],
    "axes": WIDE.transpose(2, 0, 1),
    "column": WIDE[:, :1, 1],
    "vector": WIDE[1, ::-3, 0],
    "one number repeated": np.broadcast_to(np.array([0.5]), (3, 4)),
    "single precision": WIDE.astype(np.float32)[..., ::-1],
    "byte order": WIDE.astype(">f8")[:, ::-1],
}


def order_of_memory(array):
    """Return what products of matrices go by: gaps, signs and the order of axes."""
    steps = np.abs(array.strides)
    order = [axis for axis in np.argsort(steps, kind="stable") if array.shape[axis] > 1]
    return np.sign(array.strides).tolist(), order, min(steps) == array.itemsize


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_lie_in_memory_as_they_did(name, tmp_path):
    array = LAYOUTS[name]
    loaded = round_trip(RankSVM(kernel_params={"array": array}), tmp_path)
    found = loaded.kernel_params["array"]
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    assert order_of_memory(found) == order_of_memory(array)
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
        assert found.flags[flag] == array.flags[flag]
    # A gap is as narrow as can be, however much was left out there.
    assert found.base.size <= 3 * array.size
    content = (tmp_path / "model.skrank").read_bytes()
    round_trip(loaded, tmp_path)
    assert (tmp_path / "model.skrank").read_bytes() == content


def test_arrays_of_the_usual_orders_say_nothing_of_strides(tmp_path):
    arrays = [WIDE, np.asfortranarray(WIDE), WIDE[0], WIDE[:0], WIDE[:1], np.eye(1)]
    arrays += [np.arange(9)[::2], np.array(["a", "b", "c"])[::-1], np.float64(1.0)]
    save_model(RankSVM(kernel_params={"arrays": arrays}), tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert b"strides" not in archive.read("model.json")


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("solver", ["full", "arpack", "randomized", "covariance_eigh"])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_components_give_the_same_bits(kind, solver, n_components, tmp_path):
    if kind is sparse.csr_matrix and solver in ("full", "randomized"):
        pytest.skip("solvers of dense rows")
    X = kind(np.where(np.abs(WIDE) > 0.3, WIDE, 0.0).reshape(30, 8))
    model = PCA(n_components, svd_solver=solver, random_state=0).fit(X)
    loaded = round_trip(model, tmp_path)
    for rows in (X, kind(X[:1]), kind(X[:7])):
        assert loaded.transform(rows).tobytes() == model.transform(rows).tobytes()
    scores = model.transform(X)
    expected = model.inverse_transform(scores)
    assert loaded.inverse_transform(scores).tobytes() == expected.tobytes()


def test_sparse_rows_and_odd_values_round_trip(tmp_path):
    ranker = RankSVM()
    ranker.kernel_params = {
        "floats": [0.1, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324],
        "ints": (2**70, -1, True, None),
        "arrays": [
            np.arange(6, dtype=np.int8).reshape(2, 3),
            np.asfortranarray(np.eye(3, dtype=np.float32)),
            np.array(["a", "bb"]),
            np.array([["x", 1], [None, (2, 3)]], dtype=object),
            np.zeros((0, 4)),
            np.datetime64("2020-01-01"),
            np.float32(0.1),
        ],
        "sparse": [sparse.csr_matrix(np.eye(3)), sparse.csc_array(np.eye(2))],
        "sets": {"b", "a"},
        "frozen": frozenset({1}),
        "slice": slice(1, None, 2),
        "bytes": b"\x00\xff",
        "dtype": [np.dtype("float32"), np.float64],
        ("a", 1): "tuple as key",
        "generator": np.random.RandomState(5),
    }
    loaded = round_trip(ranker, tmp_path)
    assert_same(ranker.kernel_params, loaded.kernel_params)


def test_a_generator_goes_on_with_the_same_numbers(tmp_path):
    generator = np.random.default_rng(7)
    generator.normal(size=3)
    ranker = RankSVM(kernel_params={"generator": generator})
    loaded = round_trip(ranker, tmp_path).kernel_params["generator"]
    assert loaded.normal() == generator.normal()


def test_metadata_requests_are_kept(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        model = StandardScaler().set_fit_request(sample_weight=True)
        loaded = round_trip(model, tmp_path)
        assert str(loaded.get_metadata_routing()) == str(model.get_metadata_routing())


def test_equal_models_make_equal_files(data, tmp_path):
    for name in ("a", "b"):
        save_model(fit(RankSVM(), data), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def refuse_to_save(model, message, tmp_path):
    path = tmp_path / "model.skrank"
    path.write_text("before")
    with pytest.raises(TypeError, match=message):
        save_model(model, path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["model.skrank"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            RankSVM(callback=print),
            r"RankSVM\.callback cannot be saved: print",
        ),
        (
            make_pipeline(StandardScaler(), SubsetRegression(gain=np.square)),
            r"Pipeline\.steps\[1\]\[1\]\.gain cannot be saved",
        ),
        (
            SubsetRegression(functools.partial(print)),
            r"SubsetRegression\.estimator cannot be saved",
        ),
        (
            RankSVM(kernel_params={"a": [1, object()]}),
            r"kernel_params\['a'\]\[1\] cannot be saved: objects of builtins.object",
        ),
        (
            RankSVM(random_state=np.ma.masked_array([1])),
            "masked_array|MaskedArray",
        ),
        (RankSVM(margin=np.zeros(2, dtype="f4,i4")), r"RankSVM\.margin .* dtype"),
        (GridSearchCV(RankSVM(), {}), "not one of the classes"),
        ("RankSVM", "model must be an estimator"),
        (RankSVM, "model must be an estimator"),
    ],
)
def test_what_is_not_safe_is_refused_before_anything_is_written(
    model, message, tmp_path
):
    refuse_to_save(model, message, tmp_path)


def test_a_search_is_refused_with_advice(tmp_path):
    search = GridSearchCV(RankSVM(), {})
    search.best_estimator_ = RankSVM()
    refuse_to_save(search, "save its best_estimator_ instead", tmp_path)


def test_a_class_of_the_user_is_refused(tmp_path):
    class Mine(RankSVM):
        pass

    refuse_to_save(Mine(), "Mine is not one of the classes", tmp_path)


def test_missing_folder_and_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_model(RankSVM(), tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save_model(RankSVM(), tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")


@pytest.fixture
def saved(data, tmp_path):
    """Path of a saved model, and a function that edits its JSON and members."""
    path = tmp_path / "model.skrank"
    save_model(fit(RankSVM(), data), path)

    def edit(change=None, **members):
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        document = json.loads(contents["model.json"])
        if change is not None:
            change(document)
        contents["model.json"] = json.dumps(document).encode()
        contents.update({k: v for k, v in members.items() if v is not None})
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                if members.get(name, b"") is not None:
                    archive.writestr(name, content)
        return path

    edit.path = path
    return edit


def test_the_header(saved):
    with zipfile.ZipFile(saved.path) as archive:
        document = json.loads(archive.read("model.json"))
    assert document["format"] == "skrank-model"
    assert document["format_version"] == 2
    assert document["versions"]["skrank"] == skrank.__version__
    assert document["model"]["class"] == "skrank.rankers.RankSVM"


def change_class(name):
    return lambda document: document["model"].update({"class": name})


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "sklearn.model_selection.GridSearchCV",
        "skrank.rankers._rank_svm.RankSVM",
        "skrank.export.load_model",
        "subprocess.Popen",
        "",
        None,
        ["skrank.rankers.RankSVM"],
    ],
)
def test_classes_outside_the_list_are_refused(saved, name):
    with pytest.raises(ValueError, match="is not allowed in a model file"):
        load_model(saved(change_class(name)))


def test_unknown_versions_and_formats_are_refused(saved):
    with pytest.raises(ValueError, match="format version 99 is unknown"):
        load_model(saved(lambda document: document.update(format_version=99)))
    with pytest.raises(ValueError, match="no header of format 'skrank-model'"):
        load_model(saved(lambda document: document.update(format="other")))


def test_another_version_of_skrank_warns(saved):
    path = saved(lambda document: document["versions"].update(skrank="0.0.1"))
    with pytest.warns(UserWarning, match=r"written by skrank 0\.0\.1"):
        load_model(path)


def npy(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def test_pickled_arrays_are_refused(saved):
    content = npy(np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"arrays/0\.npy holds Python objects, which"):
        load_model(saved(**{"arrays/0.npy": content}))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["params"].pop("alpha"),
        lambda m: m["params"].update(more=1),
        lambda m: m["state"].update(predict=1),
        lambda m: m["state"].update(__class__="x"),
        lambda m: m["state"].update(coef_={"type": "object", "value": 1}),
        lambda m: m["state"].update(coef_={"type": "array", "member": "../x"}),
        lambda m: m["state"].update(coef_={"type": "float", "value": "1e5"}),
        lambda m: m["state"].update(coef_={"type": "numpy_type", "value": "load"}),
        lambda m: m["state"].update(coef_={"value": 1}),
        lambda m: m["state"].update(
            coef_={
                "type": "random_state",
                "legacy": False,
                "state": {"type": "dict", "items": [["bit_generator", "save"]]},
            }
        ),
        lambda m: m.pop("state"),
        lambda m: m.update(params=[]),
        lambda m: m.update(requests={"fit": {"no_such": True}}),
        lambda m: m.update(requests={"__init__": {}}),
    ],
)
def test_edited_models_are_refused(saved, change):
    with pytest.raises(ValueError, match="not a valid model file"):
        load_model(saved(lambda document: change(document["model"])))


@pytest.mark.parametrize(
    ("member", "bad"),
    [
        (1, np.array([0, 1000], dtype=np.int32)),
        (1, np.array([0, -1], dtype=np.int32)),
        (2, np.array([0, 1, 3], dtype=np.int32)),
        (2, np.array([0, 1, -1], dtype=np.int32)),
        # The last difference is 2^63 - 1 if nobody watches for an overflow.
        (2, np.array([0, 1, -(2**63)])),
        (2, np.array([0, 1, 2**64 - 1], dtype=np.uint64)),
        (2, np.array([1, 1, 2], dtype=np.int32)),
        (2, np.array([], dtype=np.int32)),
        (2, np.array([[0, 1, 2]], dtype=np.int32)),
    ],
)
def test_sparse_indices_are_checked(saved, member, bad):
    matrix = sparse.csr_matrix(np.eye(2))
    ranker = RankSVM(kernel_params={"a": matrix})
    save_model(ranker, saved.path)
    with zipfile.ZipFile(saved.path) as archive:
        names = archive.namelist()
    name = f"arrays/{member}.npy"
    assert name in names
    with pytest.raises(ValueError, match="not a valid model file"):
        load_model(saved(**{name: npy(bad)}))


def test_damaged_files_are_refused(saved):
    whole = saved.path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2], whole[:-30]):
        saved.path.write_bytes(content)
        with pytest.raises(ValueError, match="damaged or not a model file"):
            load_model(saved.path)


def test_a_flipped_bit_is_noticed(saved):
    content = bytearray(saved.path.read_bytes())
    content[200] ^= 0xFF
    saved.path.write_bytes(content)
    with pytest.raises(ValueError, match="model file"):
        load_model(saved.path)


def test_no_damage_of_one_byte_gives_another_model(saved, data):
    """A damaged file is refused, or the damage hit nothing that is read."""
    content = saved.path.read_bytes()
    expected = load_model(saved.path).predict(data[0])
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), size=150, replace=False):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        saved.path.write_bytes(damaged)
        try:
            model = load_model(saved.path)
        except ValueError:
            continue
        assert model.predict(data[0]).tobytes() == expected.tobytes()


def test_missing_members_are_refused(saved):
    with pytest.raises(ValueError, match="not a valid model file"):
        load_model(saved(**{"arrays/0.npy": None}))


def test_deep_nesting_is_refused(saved):
    nested = "[" * 100_000 + "]" * 100_000
    with zipfile.ZipFile(saved.path, "w") as archive:
        archive.writestr("model.json", nested)
    with pytest.raises(ValueError, match="not a valid model file"):
        load_model(saved.path)


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_what_loading_would_refuse_is_not_saved(kind, data, tmp_path):
    X, y, groups = data
    ranker = RankSVM().fit(X, y, np.asarray(groups).astype(kind))
    with pytest.raises(TypeError, match=r"query_ids_ cannot be saved: .* dtype c"):
        save_model(ranker, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_query_scalers_round_trip(data, tmp_path):
    X, _, groups = data
    scaler = QueryMinMaxScaler(feature_range=(0, 2)).fit(X)
    loaded = round_trip(scaler, tmp_path)
    assert_same(scaler.transform(X, groups=groups), loaded.transform(X, groups=groups))


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_pipelines_with_text_columns_are_loaded(encoder, data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, groups = data
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["text"] = np.where(X[:, 0] > 0, "u", "v")
    columns = ColumnTransformer(
        [("n", StandardScaler(), ["a", "b"]), ("t", encoder, ["text"])]
    )
    model = make_pipeline(columns, RankSVM()).fit(frame, y, ranksvm__groups=groups)
    loaded = round_trip(model, tmp_path)
    assert loaded.predict(frame).tobytes() == model.predict(frame).tobytes()


@pytest.mark.parametrize("path", [None, 5, [], b"model.skrank"])
def test_neither_a_path_nor_a_file_object(path):
    with pytest.raises(TypeError, match=r"^path must be a path, a string or pathlib"):
        save_model(RankSVM(), path)


def test_an_interrupt_in_the_middle_of_a_member_is_what_is_raised(
    tmp_path, monkeypatch
):
    def interrupted(self, content):
        raise KeyboardInterrupt

    ranker = RankSVM().fit([[0.0], [1.0]], [0, 1], [0, 0])
    monkeypatch.setattr(zipfile._ZipWriteFile, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_model(ranker, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore")
def test_models_of_poor_data_are_loaded(ranker, data, tmp_path):
    X, y, groups = data
    X = X.copy()
    X[:, 3:] = [3.0, 0.0]  # features that are constant
    for variant in ranker._variants():
        for grades in (y, (y > 1).astype(float)):
            model = ranker()
            small = {"random_state": 0, "n_estimators": 20}
            known = {
                name: value for name, value in small.items() if name in vars(model)
            }
            model.set_params(**(known | variant))
            try:
                model.fit(X, grades, groups)
                save_model(model, tmp_path / "model.skrank")
            except (TypeError, ValueError):
                continue  # two grades are too few, or an option has no safe form
            loaded = load_model(tmp_path / "model.skrank")
            expected = model.predict(X, groups)
            assert loaded.predict(X, groups).tobytes() == expected.tobytes()


def test_parameters_that_loading_would_refuse_are_not_saved(data, tmp_path):
    ranker = MART(n_estimators=2).fit(*data).set_params(min_samples_leaf=None)
    with pytest.raises(ValueError, match="min_samples_leaf must be a whole number"):
        save_model(ranker, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def top_is_relevant(y_true, y_score):
    return float(y_true[np.argmax(y_score)] > 0)


class OwnLoss(LogLoss):
    """A loss of the user's own."""


class OwnScores(LogLoss):
    """A loss that predictions go through."""

    def to_scores(self, raw):
        return -np.asarray(raw)


OPTIONS = {"n_estimators": 3, "min_samples_leaf": 1, "random_state": 0}


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (LambdaMART(top_is_relevant, **OPTIONS), "measure", "ndcg@10"),
        (BoostedRanker(OwnLoss(), **OPTIONS), "loss", LogLoss()),
        (RandomForestRanker(loss=OwnLoss(), **OPTIONS), "loss", None),
        (LambdaRank(top_is_relevant, max_iter=2, random_state=0), "measure", "map"),
        (EnergyRanker(loss=OwnLoss(), max_iter=2), "loss", None),
        (
            MART(validation_measure=["map", top_is_relevant], **OPTIONS),
            "validation_measure",
            "map",
        ),
        (make_pipeline(PCA(2), MART(callback=lambda _: False)), "mart__callback", None),
    ],
    ids=lambda v: type(v).__name__,
)
def test_models_that_learned_from_own_functions_are_saved_without_them(
    model, name, value, data, tmp_path
):
    model = clone(model)
    if hasattr(model, "steps"):
        with sklearn.config_context(enable_metadata_routing=True):
            model.fit(data[0], data[1], groups=data[2])
    else:
        fit(model, data)
    expected = model.predict(data[0])
    short = name.rpartition("__")[2]
    path = tmp_path / "m"
    with pytest.raises(TypeError, match=rf"{short}.* set_params\({short}=.* before"):
        save_model(model, path)
    loaded = round_trip(model.set_params(**{name: value}), tmp_path)
    np.testing.assert_array_equal(loaded.predict(data[0]), expected)
    if "warm_start" in model.get_params():
        for ranker in (model, loaded):
            ranker.set_params(warm_start=True)
            if "n_estimators" in ranker.get_params():
                ranker.set_params(n_estimators=5)
            fit(ranker, data)
        np.testing.assert_array_equal(loaded.predict(data[0]), model.predict(data[0]))


def test_what_messages_advise_is_accepted(data, tmp_path):
    ranker = LambdaMART(top_is_relevant, **OPTIONS).fit(*data)
    refuse_to_save(ranker, r"call set_params\(measure='ndcg@30'\) of Lamb", tmp_path)
    round_trip(ranker.set_params(measure="ndcg@30"), tmp_path)
    ranker = MART(learning_rate=lambda i: 0.1, **OPTIONS)
    path = tmp_path / "model.skrank"
    path.unlink()
    refuse_to_save(ranker, r"call set_params\(learning_rate='auto'\)", tmp_path)
    ranker.fit(*data)
    told = r"set_params\(learning_rate=ranker\.learning_rates_\) before"
    refuse_to_save(ranker, told, tmp_path)
    round_trip(ranker.set_params(learning_rate=ranker.learning_rates_), tmp_path)


def test_losses_that_predictions_go_through_stay(data, tmp_path):
    ranker = BoostedRanker(OwnScores(), **OPTIONS).fit(*data).set_params(loss=None)
    refuse_to_save(ranker, r"BoostedRanker\.loss_ cannot be saved: .*OwnSc", tmp_path)
