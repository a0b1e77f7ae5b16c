"""What rankers have learned is checked when their files are loaded."""

import contextlib

import numpy as np
import pytest
from _tamper import GROUPS, X, Y, npy, read, write
from scipy import sparse
from sklearn.linear_model import LinearRegression

from skrank.compat import PyTerrierLearner
from skrank.energies import MLPEnergy, NadarayaWatsonEnergy
from skrank.export import load_model, save_model
from skrank.export._ranker_state import (
    NUMBER,
    check_logs,
    check_query_ids,
    check_scalar,
)
from skrank.rankers import (
    MART,
    AdaRank,
    AssociationRuleRanker,
    CoordinateAscent,
    EnergyRanker,
    GBRank,
    GERank,
    NestedRanker,
    RankBoost,
    RankSVM,
    Rocchio,
    SubsetRegression,
    SVMClassifierRanker,
)


@pytest.fixture
def data():
    """Rows, grades and queries."""
    return X, Y, GROUPS


def edited(model, path, array=None, params=None, **state):
    """Save a model, then change what the file says of it."""
    save_model(model, path)
    document, members = read(path)
    if array is not None:
        name, content = array
        members[document["model"]["state"][name]["member"]] = npy(content)
    document["model"]["state"].update(state)
    document["model"]["params"].update(params or {})
    write(path, document, members)
    return path


def test_features_without_scales_take_no_memory(data, tmp_path, monkeypatch):
    """A place for each of them filled the memory when a small file was loaded."""
    ranker = AdaRank(n_estimators=3).fit(*data)
    path = edited(ranker, tmp_path / "m", n_features_in_=10**9)
    message = rf"scales_ must be an array of float64 of shape \({10**9}\)"
    with pytest.raises(ValueError, match=message):
        load_model(path)

    def tocsc(X):
        raise MemoryError

    monkeypatch.setattr(sparse.csr_array, "tocsc", tocsc)
    # A model that has chosen no feature looks at none.
    ranker.alphas_, ranker.features_ = ranker.alphas_[:0], ranker.features_[:0]
    with pytest.raises(ValueError, match=message):
        load_model(edited(ranker, tmp_path / "m", n_features_in_=10**9))
    ranker.n_features_in_ = 10**9
    assert not ranker.predict(sparse.csr_array((3, 10**9))).any()


@pytest.mark.parametrize("length", [0, 3, 5])
@pytest.mark.parametrize("init", [None, RankSVM()], ids=str)
def test_features_have_a_scale_each(init, length, data, tmp_path):
    ranker = AdaRank(n_estimators=3, init=init).fit(*data)
    assert len(ranker.scales_) == 4
    ranker.alphas_, ranker.features_ = ranker.alphas_[:0], ranker.features_[:0]
    assert load_model(edited(ranker, tmp_path / "m")).n_features_in_ == 4
    path = edited(ranker, tmp_path / "m", array=("scales_", np.ones(length)))
    with pytest.raises(ValueError, match=r"scales_ must be .* of shape \(4\)"):
        load_model(path)


def test_weak_estimators_have_a_scale_each(data, tmp_path):
    ranker = AdaRank(estimator=SubsetRegression(), n_estimators=2).fit(*data)
    n = len(ranker.alphas_)
    assert len(load_model(edited(ranker, tmp_path / "m")).scales_) == n
    path = edited(ranker, tmp_path / "m", array=("scales_", np.ones(n + 1)))
    with pytest.raises(ValueError, match=rf"scales_ must be .* of shape \({n}\)"):
        load_model(path)


@pytest.mark.parametrize("baseline", [np.zeros(0), np.zeros(2), np.array([np.nan])])
@pytest.mark.parametrize("cls", [AdaRank, MART, RankBoost])
def test_scores_begin_at_one_number(cls, baseline, data, tmp_path):
    ranker = cls(n_estimators=3).fit(*data)
    path = edited(ranker, tmp_path / "m", array=("baseline_", baseline))
    with pytest.raises(ValueError, match="baseline_ must be"):
        load_model(path)


@pytest.mark.parametrize("inner", [None, "x", 1.5, []])
def test_an_estimator_within_another_is_one(inner, data, tmp_path):
    learner = PyTerrierLearner(RankSVM())
    learner.fit(*data[:2], group=np.unique(data[2], return_counts=True)[1])
    path = edited(learner, tmp_path / "m", estimator_=inner)
    with pytest.raises(ValueError, match="estimator_ must be an estimator"):
        load_model(path)


@pytest.mark.parametrize("code", [-1, 5, 10**9, 2**63 - 1])
def test_codes_of_grades_are_those_of_grades(code, data, tmp_path):
    """Counting codes took a place for each number below the largest, if not less."""
    ranker = AssociationRuleRanker(mining="predict").fit(*data)
    assert len(ranker.grades_) == 5
    codes = ranker.training_codes_.copy()
    codes[4] = code
    path = edited(ranker, tmp_path / "m", array=("training_codes_", codes))
    with pytest.raises(ValueError, match="training_codes_ must be numbers below 5"):
        load_model(path)


def test_weights_of_the_rows_of_training_are_not_negative(data, tmp_path):
    ranker = AssociationRuleRanker(mining="predict")
    ranker.fit(*data, sample_weight=np.full(len(data[1]), 2.0))
    assert load_model(edited(ranker, tmp_path / "m")).training_weight_[0] == 2.0
    weight = ("training_weight_", -ranker.training_weight_)
    path = edited(ranker, tmp_path / "m", array=weight)
    with pytest.raises(ValueError, match="training_weight_ must be"):
        load_model(path)


def test_every_node_has_a_value_from_when_it_was_grown(data, tmp_path):
    ranker = GBRank(n_estimators=3, min_samples_leaf=1).fit(*data)
    values = ranker.grown_values_
    assert len(load_model(edited(ranker, tmp_path / "m")).grown_values_) == len(values)
    path = edited(ranker, tmp_path / "m", array=("grown_values_", values[:-1]))
    with pytest.raises(ValueError, match="grown_values_ must be"):
        load_model(path)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_number_of_processes_is_bounded(sign, data, tmp_path):
    model = LinearRegression(n_jobs=sign * 1024).fit(*data[:2])
    assert load_model(edited(model, tmp_path / "m")).n_jobs == sign * 1024
    path = edited(model, tmp_path / "m", params={"n_jobs": sign * 1025})
    with pytest.raises(ValueError, match="n_jobs must be None or from -1024 to 1024"):
        load_model(path)


@pytest.mark.parametrize(
    ("logs", "fit"),
    [
        (None, True),
        ({}, True),
        ({"training": {}, "held out": {"ndcg": np.ones(3)}}, True),
        ([], False),
        ({1: {"ndcg": np.ones(3)}}, False),
        ({"training": [1.0]}, False),
        ({"training": {1: np.ones(3)}}, False),
        ({"training": {"ndcg": [1.0]}}, False),
        ({"training": {"ndcg": np.ones((3, 1))}}, False),
        ({"training": {"ndcg": np.ones(3, dtype=np.float32)}}, False),
    ],
    ids=str,
)
def test_logs_hold_an_array_for_each_measure_of_each_set(logs, fit, data):
    ranker = RankSVM().fit(*data)
    ranker.evals_result_ = logs
    if logs is None:  # as in older files
        del ranker.evals_result_
    told = contextlib.nullcontext() if fit else pytest.raises(ValueError, match="evals")
    with told:
        check_logs(ranker)


@pytest.mark.parametrize(
    ("energy", "told"),
    [
        (NadarayaWatsonEnergy(max_landmarks=7), "n_features_in_ must be 4, the number"),
        (MLPEnergy((3,), standardize=True), "n_features_in_ must be 4, the number"),
        (
            MLPEnergy((3,), standardize=False),
            "EnergyRanker.* features with what it has",
        ),
    ],
    ids=["landmarks", "scaled", "unscaled"],
)
def test_energies_within_rankers_are_as_wide_as_the_rows(energy, told, data, tmp_path):
    X, y, groups = data
    ranker = EnergyRanker(energy=energy, max_iter=2, random_state=0).fit(X, y, groups)
    loaded = load_model(edited(ranker, tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    # There are seven landmarks, but their number is not that of features.
    with pytest.raises(ValueError, match=told):
        load_model(edited(ranker, tmp_path / "m", n_features_in_=7))


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (RankSVM(kernel="rbf", n_components=5, random_state=0), "map_"),
        (GERank(query_features=(), max_iter=2, random_state=0), "min_"),
    ],
    ids=["kernel", "gaussian"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_energies_are_as_wide_as_their_rankers(ranker, name, data, tmp_path):
    ranker.fit(*data)
    for n in (3, 5):
        path = edited(ranker, tmp_path / "m", n_features_in_=n)
        told = f"n_features_in_ must be 4, the number of features of {name} of energy_"
        with pytest.raises(ValueError, match=f"{told}, got {n}"):
            load_model(path)


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("n_iter_", 0, True),
        ("n_iter_", -1, False),
        ("n_iter_", 1.5, False),
        ("converged_", 1, False),
        ("n_queries_without_preference_", 0, True),
        ("n_queries_without_preference_", -1, False),
    ],
)
def test_numbers_are_of_their_kind(name, value, fits, data, tmp_path):
    path = edited(RankSVM().fit(*data), tmp_path / "m", **{name: value})
    told = contextlib.nullcontext() if fits else pytest.raises(ValueError, match=name)
    with told:
        load_model(path)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (-1.7e308, True),
        (10**308, True),
        (10**309, False),
        (-np.inf, False),
        (np.nan, False),
        ("1", False),
    ],
)
def test_numbers_are_finite(value, fits):
    owner = RankSVM()
    owner.gap_ = value
    if fits:
        assert check_scalar(owner, "gap_", NUMBER) == value
        return
    with pytest.raises(ValueError, match="gap_ must be a finite number, got"):
        check_scalar(owner, "gap_", NUMBER)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([3, -1], "query_sizes_ must be numbers >= 0"),
        ([3], "query_sizes_ must be"),
        ([3, 1, 1], "query_sizes_ must be"),
        ([3.0, 1.0], "query_sizes_ must be"),
        ([0, 0], None),
    ],
)
def test_every_query_has_a_number_of_rows(sizes, message):
    owner = RankSVM()
    owner.query_ids_, owner.query_sizes_ = np.array(["a", "b"]), np.array(sizes)
    told = contextlib.nullcontext()
    if message:
        told = pytest.raises(ValueError, match=message)
    with told:
        check_query_ids(owner)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b"], "query_ids_ must be an array of query ids"),
        (np.array([["a", "b"]]), "query_ids_ must be an array of one dimension"),
        (np.array([[1], 2], dtype=object), "query_ids_ must be ids that can be hashed"),
    ],
)
def test_ids_of_queries_can_be_hashed(ids, message):
    owner = RankSVM()
    owner.query_ids_, owner.query_sizes_ = ids, np.array([1, 1])
    with pytest.raises(ValueError, match=message):
        check_query_ids(owner)


def test_vectors_of_sparse_rows_stay_sparse(data, tmp_path):
    X, y, groups = data
    rows = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    ranker = Rocchio().fit(rows, y, groups)
    assert sparse.issparse(ranker.vectors_)
    loaded = load_model(edited(ranker, tmp_path / "m"))
    expected = ranker.predict(rows, groups=groups)
    np.testing.assert_array_equal(loaded.predict(rows, groups=groups), expected)


def test_items_of_rules_are_whole_numbers(data, tmp_path):
    ranker = AssociationRuleRanker(mining="fit").fit(*data)
    assert len(load_model(edited(ranker, tmp_path / "m")).itemsets_)
    items = ("itemsets_", ranker.itemsets_.astype(np.float64))
    path = edited(ranker, tmp_path / "m", array=items)
    with pytest.raises(ValueError, match="itemsets_ must be an array of int"):
        load_model(path)


@pytest.mark.parametrize(
    "ranker",
    [
        CoordinateAscent(max_iter=1, random_state=0),
        SubsetRegression(),
        SVMClassifierRanker(),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_linear_rankers_have_a_number_beside_their_coefficients(ranker, data, tmp_path):
    ranker.fit(*data)
    for value in ("x", None, True, np.inf):
        ranker.intercept_ = value
        save_model(ranker, tmp_path / "m")
        with pytest.raises(ValueError, match="intercept_ must be a finite number, got"):
            load_model(tmp_path / "m")
    ranker.intercept_ = 0.0
    for coef in (ranker.coef_[:, None], ranker.coef_.astype(np.float32)):
        ranker.coef_ = coef
        save_model(ranker, tmp_path / "m")
        with pytest.raises(
            ValueError, match=r"coef_ must be .* float64 of shape \(4\)"
        ):
            load_model(tmp_path / "m")


@pytest.mark.parametrize("flags", [True, [1.0, 0.0], "yes"], ids=repr)
def test_the_words_of_what_stands_for_an_array_of_flags(flags, data, tmp_path):
    model = NestedRanker().fit(*data)
    model.is_trained_ = np.array(flags) if isinstance(flags, list) else flags
    save_model(model, tmp_path / "m")
    with pytest.raises(
        ValueError, match=r"is_trained_ must be an array of bool.*, got"
    ):
        load_model(tmp_path / "m")
