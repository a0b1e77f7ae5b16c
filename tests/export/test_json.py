"""Scoring functions as JSON: exact round trips, and refusal of everything else."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from _exported import EXTREME, NAMES, frozen, hard_rows, make_data
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skrank
from skrank.export import FrozenRanker, from_json, save_model, to_json, to_solr
from skrank.rankers import LambdaMART, ListNet, RankSVM, SubsetRegression


def test_trees_predict_the_same_bits(forest):
    text = to_json(forest)
    again = from_json(text)
    rows = hard_rows(forest).astype(np.float64)
    rows[:300] *= np.random.default_rng(0).normal(size=(300, 1))
    rows[np.abs(rows) > 1e30] = 1.0
    for X in (rows, rows.astype(np.float32)):
        assert again.predict(X).tobytes() == forest.predict(X).tobytes()
    assert json.loads(to_json(again)) == json.loads(text)


def test_linear_functions_predict_the_same_bits(linear, data):
    X = data[0]
    again = from_json(to_json(linear))
    found, expected = again.predict(X), linear.predict(X)
    if isinstance(linear, SubsetRegression):  # whose sums are those of BLAS
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    else:
        assert found.tobytes() == expected.tobytes()
    assert to_json(again) == to_json(linear)


def test_a_category_that_single_precision_cannot_hold_is_refused():
    document = changed(TREES, ("categories", "1"), [0.1, 0.5, 1.0])
    from_json(json.dumps(document))
    document["precision"] = "single"
    with pytest.raises(ValueError, match="ascending numbers of the precision"):
        from_json(json.dumps(document))


def test_a_categorical_feature_without_any_value():
    X, y, groups = make_data()
    X[:, 2] = np.nan
    ranker = LambdaMART(n_estimators=3, categorical_features=[2]).fit(X, y, groups)
    again = from_json(to_json(ranker))
    X[::2, 2] = 1.0
    assert again.predict(X).tobytes() == ranker.predict(X).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_categories_predict_the_same_bits(dtype):
    X, y, groups = make_data()
    X = X.astype(dtype)
    rng = np.random.default_rng(0)
    X[:, 1] = np.round(X[:, 0] * 10) / 10
    X[:, 3] = rng.integers(-100, 100, len(X))
    X[rng.random(X.shape) < 0.05] = np.nan
    ranker = LambdaMART(
        n_estimators=8, categorical_features=[1, 3], min_samples_leaf=5
    ).fit(X, y, groups)
    text = to_json(ranker)
    assert any("categories" in tree for tree in json.loads(text)["trees"])
    again = from_json(text)
    X[:40, 1] = 1e6  # unknown categories
    X[40:80, 3] = 0.5
    for rows in (X, X.astype(np.float32), X.astype(np.float64)):
        assert again.predict(rows).tobytes() == ranker.predict(rows).tobytes()
    assert to_json(again) == text
    assert json.loads(text)["precision"] == (
        "single" if dtype is np.float32 else "double"
    )


def test_a_frozen_ranker_ranks(data):
    X, y, groups = data
    ranker = LambdaMART(n_estimators=5).fit(X, y, groups)
    again = from_json(to_json(ranker))
    assert again.score(X, y, groups) == ranker.score(X, y, groups)
    np.testing.assert_array_equal(again.rank(X, groups), ranker.rank(X, groups))
    again.set_params(n_jobs=2)
    assert again.predict(X).tobytes() == ranker.predict(X).tobytes()


def test_a_frozen_ranker_does_not_learn(data):
    again = from_json(to_json(RankSVM().fit(*data)))
    with pytest.raises(TypeError, match="cannot be fitted"):
        again.fit(*data)
    with pytest.raises(NotFittedError):
        clone(again).predict(data[0])
    with pytest.raises(NotFittedError):
        FrozenRanker().predict(data[0])
    with pytest.raises(ValueError, match="X has 2 features"):
        again.predict(data[0][:, :2])


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_parameters_of_a_frozen_ranker_are_checked(linear, data, n_jobs):
    again = from_json(to_json(linear)).set_params(n_jobs=n_jobs)
    with pytest.raises(ValueError, match="FrozenRanker: n_jobs must be a whole number"):
        again.predict(data[0])


def test_missing_values_and_sparse_rows_are_those_of_the_kind(data):
    X, y, groups = data
    linear = from_json(to_json(RankSVM().fit(X, y, groups)))
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(linear.predict(rows), linear.predict(X), rtol=1e-9)
    missing = np.full((1, 5), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        linear.predict(missing)
    assert np.isfinite(EXTREME.predict(missing)).all()
    with pytest.raises(TypeError, match="dense data is required"):
        EXTREME.predict(rows)


def test_names_of_features_are_kept(data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=NAMES)
    ranker = ListNet().fit(frame, y, groups)
    again = from_json(to_json(ranker))
    assert again.feature_names_in_.tolist() == NAMES
    assert again.predict(frame).tobytes() == ranker.predict(frame).tobytes()
    named = from_json(to_json(ListNet().fit(X, y, groups), feature_names=NAMES))
    assert named.feature_names_in_.tolist() == NAMES
    assert to_solr(named, "m") == to_solr(ranker, "m")


def test_the_header(data):
    document = json.loads(to_json(RankSVM().fit(*data)))
    assert document["format"] == "skrank-scoring-function"
    assert document["format_version"] == 1
    assert document["versions"] == {"skrank": skrank.__version__}
    assert document["ranker"] == "RankSVM"


def test_models_that_are_not_finite_are_refused(data):
    ranker = RankSVM().fit(*data)
    ranker.coef_[0] = ranker.params_[0] = np.inf
    with pytest.raises(ValueError, match="a coefficient of the model is not finite"):
        to_json(ranker)


def test_a_frozen_ranker_is_saved_as_json_only(data, tmp_path):
    again = from_json(to_json(RankSVM().fit(*data)))
    with pytest.raises(TypeError, match="not one of the classes"):
        save_model(again, tmp_path / "model")


LINEAR = {
    "format": "skrank-scoring-function",
    "format_version": 1,
    "versions": {"skrank": "0"},
    "ranker": "X",
    "n_features": 2,
    "feature_names": None,
    "kind": "linear",
    "coef": [1, -2.5],
    "intercept": 0.5,
}
TREES = {k: v for k, v in LINEAR.items() if k not in ("coef", "intercept")} | {
    "kind": "trees",
    "baseline": 1.0,
    "categories": {"1": [2.0, 3.0, 7.0]},
    "precision": "double",
    "trees": [
        {
            "feature": [0, -1, 1, -1, -1],
            "threshold": [0.5, None, None, None, None],
            "left": [1, -1, 3, -1, -1],
            "missing_left": [True, False, False, False, False],
            "value": [0, 10, 0, 20, 30],
            "categories": {"2": [0, 2]},
        }
    ],
}


def test_texts_written_by_hand():
    X = np.array([[1.0, 1.0], [0.0, 2.0]])
    assert from_json(json.dumps(LINEAR)).predict(X).tolist() == [-1.0, -4.5]
    X = np.array([[0.5, 2], [0.6, 2], [0.6, 3], [0.6, 7], [0.6, 4], [np.nan, 3]])
    expected = [11.0, 21.0, 31.0, 21.0, 31.0, 11.0]
    assert from_json(json.dumps(TREES)).predict(X).tolist() == expected


def changed(document, path, value):
    document = copy.deepcopy(document)
    *way, last = path
    place = document
    for key in way:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return document


TREE = ("trees", 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "skrank-model", "no header of format"),
        (("format_version",), 2, "format version 2 is unknown.*reads version 1"),
        (("kind",), "kernel", "kind must be 'linear' or 'trees', got 'kernel'"),
        (("kind",), "linear", "unknown key|missing key"),
        (("more",), 1, "the model: unknown key 'more'"),
        (("baseline",), KeyError, "the model: missing key 'baseline'"),
        (("baseline",), "1", "baseline must be a number"),
        (("baseline",), 10**400, "baseline is not finite"),
        (("n_features",), 0, "n_features must be an integer from 1"),
        (("n_features",), 2.0, "n_features must be an integer"),
        (("n_features",), True, "n_features must be an integer"),
        (("n_features",), 1, "there is no such feature|from -1 to 0"),
        (("feature_names",), ["a"], "feature_names must have length 2, got 1"),
        (("feature_names",), ["a", "a"], "strings that differ"),
        (("feature_names",), ["a", "\ud800"], r"UTF-8 can hold, got '\\ud800'"),
        (("feature_names",), [1, 2], "strings that differ"),
        (("ranker",), 1, "ranker must be a string"),
        (("trees",), {}, "trees must be a list"),
        (("trees",), [1], "tree 0 must be an object"),
        ((*TREE, "value"), [1.0], "tree 0: value must have length 5, got 1"),
        ((*TREE, "left"), 1, "tree 0: left must be a list"),
        ((*TREE, "feature"), [], "tree 0: .* must have length 0|no nodes"),
        ((*TREE, "gain"), [], "tree 0: unknown key 'gain'"),
        ((*TREE, "feature", 0), 2, "node 0: feature must be .* from -1 to 1, got 2"),
        ((*TREE, "feature", 0), -2, "node 0: feature must be"),
        ((*TREE, "feature", 0), 0.0, "node 0: feature must be"),
        ((*TREE, "feature", 0), False, "node 0: feature must be"),
        ((*TREE, "left", 0), 0, "node 0: left must be an integer from 1 to 3, got 0"),
        ((*TREE, "left", 0), 4, "node 0: left must be an integer from 1 to 3, got 4"),
        ((*TREE, "left", 2), 1, "node 2: left must be an integer from 3 to 3, got 1"),
        ((*TREE, "left", 2), 2**40, "node 2: left must be"),
        ((*TREE, "left", 0), 2, "every node but the first must be a child of one"),
        ((*TREE, "left", 0), 3, "every node but the first must be a child of one"),
        ((*TREE, "left", 1), 3, "node 1: left must be an integer from -1 to -1"),
        ((*TREE, "feature", 4), 0, "node 4: left has no room for two children"),
        ((*TREE, "threshold", 0), "0.5", "node 0: threshold must be a number"),
        ((*TREE, "threshold", 0), True, "node 0: threshold must be a number"),
        ((*TREE, "missing_left", 0), 1, "node 0: missing_left must be true or false"),
        ((*TREE, "value", 1), None, "node 1: value must be a number"),
        ((*TREE, "value", 1), 10**400, "node 1: value is not finite"),
        ((*TREE, "categories"), [], "its categories are no object"),
        ((*TREE, "categories"), {}, "node 2: splits of the features with categories"),
        ((*TREE, "categories", "0"), [0], "node 0: splits of the features with"),
        ((*TREE, "categories", "1"), [0], "node 1: splits of the features with"),
        ((*TREE, "categories", "5"), [0], "categories of a node that does not exist"),
        ((*TREE, "categories", "02"), [0], "categories of a node that does not exist"),
        ((*TREE, "categories", "2"), [3], "category must be an integer from 0 to 2"),
        ((*TREE, "categories", "2"), [-1], "category must be an integer from 0 to 2"),
        ((*TREE, "categories", "2"), 1, "node 2: categories must be a list"),
        (("categories",), [], "categories must be an object"),
        (("categories", "2"), [1.0], "'2': there is no such feature"),
        (("categories", "x"), [1.0], "'x': there is no such feature"),
        (("categories", "01"), [1.0], "'01': there is no such feature"),
        (("categories", "9" * 5000), [1.0], "there is no such feature"),
        (("categories", "1"), [2, 2, 7], "must be at most 255 ascending numbers"),
        (("categories", "1"), list(range(256)), "at most 255 ascending numbers"),
        (("precision",), "half", "precision must be 'single' or 'double', got 'half'"),
        (("precision",), ["single"], "precision must be 'single' or 'double'"),
        (("categories", "1"), ["a"], "must be a number"),
    ],
)
def test_what_describes_no_trees_is_refused(path, value, message):
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(changed(TREES, path, value)))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("coef",), [1.0], "coef must have length 2, got 1"),
        (("coef",), "12", "coef must be a list"),
        (("coef", 1), None, "coef 1 must be a number"),
        (("coef", 1), False, "coef 1 must be a number"),
        (("coef", 1), float("nan"), "NaN is not a number"),
        (("coef", 1), -float("inf"), "-Infinity is not a number"),
        (("intercept",), KeyError, "missing key 'intercept'"),
    ],
)
def test_what_describes_no_linear_function_is_refused(path, value, message):
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(changed(LINEAR, path, value)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[]",
        "null",
        json.dumps(LINEAR)[:-1],
        json.dumps(LINEAR).replace("0.5", "1e999"),
        json.dumps(LINEAR).replace('"ranker"', '"kind": "linear", "ranker"'),
        "[" * 100_000 + "]" * 100_000,
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"not a scoring function|is not finite"):
        from_json(text)


@pytest.mark.parametrize("text", [None, 3])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(TypeError, match="text must be JSON that to_json wrote, got"):
        from_json(text)


def test_no_change_of_one_character_crashes():
    text = json.dumps(TREES)
    X = np.array([[0.6, 3.0]])
    rng = np.random.default_rng(0)
    for place in rng.choice(len(text), size=200, replace=False):
        other = '0123456789-.,[]{}" eE'[rng.integers(21)]
        damaged = text[:place] + other + text[place + 1 :]
        try:
            ranker = from_json(damaged)
        except ValueError:
            continue
        assert ranker.predict(X[:, : ranker.n_features_in_]).shape == (1,)


def test_many_trees_and_baselines():
    trees = [(j % 5, j / 7, j % 2 == 0, float(j), -float(j)) for j in range(50)]
    ranker = frozen(trees, baseline=0.1)
    X = np.random.default_rng(0).normal(scale=3, size=(40, 5))
    expected = np.full(40, 0.1)
    for j in range(50):
        expected += np.where(X[:, j % 5] <= j / 7, float(j), -float(j))
    np.testing.assert_array_equal(ranker.predict(X), expected)
