"""Elasticsearch and OpenSearch: the text against the rule of the plugin."""

import json

import numpy as np
import pandas as pd
import pytest
from _exported import (
    EXTREME,
    LARGEST,
    NAMES,
    assert_like_predict,
    frozen,
    hard_rows,
    sums_by_hand,
)
from scipy.sparse import bsr_array

from skrank.export import score_elasticsearch, score_ranklib, to_elasticsearch
from skrank.rankers import LambdaMART, RankSVM


def body_of(ranker, **options):
    return to_elasticsearch(ranker, "m", feature_names=NAMES, **options)


def definition_of(body):
    inner = json.loads(body)["model"]["model"]
    return inner["type"], inner["definition"]


def test_every_single_precision_value_goes_the_same_way(forest):
    rows = hard_rows(forest)
    served = score_elasticsearch(body_of(forest), rows, feature_names=NAMES)
    assert served.dtype == np.float32
    np.testing.assert_array_equal(served, sums_by_hand(forest, rows))
    assert_like_predict(forest, rows, served)


def test_extreme_thresholds():
    rows = hard_rows(EXTREME)
    served = score_elasticsearch(body_of(EXTREME), rows, feature_names=NAMES)
    np.testing.assert_array_equal(served, sums_by_hand(EXTREME, rows))
    assert_like_predict(EXTREME, rows, served)


def test_missing_values_go_where_0_goes_if_asked(forest):
    rows = hard_rows(forest)
    body = body_of(forest, missing="zero")
    served = score_elasticsearch(body, rows, feature_names=NAMES)
    np.testing.assert_array_equal(served, sums_by_hand(forest, rows, True))
    zeros = np.nan_to_num(rows, nan=0.0)
    same = score_elasticsearch(body, zeros, feature_names=NAMES)
    np.testing.assert_array_equal(served, same)


def test_double_precision_rows_are_rounded_by_the_server():
    ranker = frozen([(0, 0.1, False, 1.0, 2.0)])
    x = np.full((1, 5), np.nextafter(0.1, 1.0))  # above 0.1 only as a double
    served = score_elasticsearch(body_of(ranker), x, feature_names=NAMES)
    single = x.astype(np.float32)
    # 0.1 in single precision is 0.100000001…, so both roads end at the right.
    assert float(single[0, 0]) > 0.1
    assert served[0] == ranker.predict(single)[0] == ranker.predict(x)[0] == 2.0
    ranker = frozen([(0, 0.7, False, 1.0, 2.0)])
    x = np.full((1, 5), np.nextafter(0.7, 1.0))  # and 0.7 is 0.69999998…
    served = score_elasticsearch(body_of(ranker), x, feature_names=NAMES)
    single = x.astype(np.float32)
    assert float(single[0, 0]) < 0.7 < x[0, 0]
    assert ranker.predict(x)[0] == 2.0
    assert served[0] == ranker.predict(single)[0] == 1.0


def test_the_form_of_a_tree():
    ranker = frozen([(1, 0.5, True, 3.0, (0, 2.0, False, 4.0, 5.0))], n_features=2)
    body = to_elasticsearch(ranker, "name", feature_names=["a", "b"])
    document = json.loads(body)
    assert document["model"]["name"] == "name"
    kind, definition = definition_of(body)
    assert kind == "model/xgboost+json"
    (root,) = json.loads(definition)
    assert list(root) == [
        "nodeid", "depth", "split", "split_condition", "yes", "no", "missing",
        "children",
    ]  # fmt: skip
    assert (root["nodeid"], root["depth"], root["split"]) == (0, 0, "b")
    assert np.float32(root["split_condition"]) == np.nextafter(
        np.float32(0.5), np.float32(1)
    )
    yes, no = root["children"]
    assert (root["yes"], root["no"]) == (yes["nodeid"], no["nodeid"])
    assert root["missing"] == root["yes"]
    assert yes == {"nodeid": root["yes"], "leaf": 3.0}
    assert (no["depth"], no["missing"]) == (1, no["no"])
    ids = [root["nodeid"], yes["nodeid"], no["nodeid"]]
    ids += [child["nodeid"] for child in no["children"]]
    assert len(set(ids)) == 5


def test_a_split_that_only_parts_missing_values():
    ranker = frozen([(0, np.inf, False, 1.0, 2.0)])
    (root,) = json.loads(definition_of(body_of(ranker))[1])
    yes, no = root["children"]
    # The lowest number is above no number, so every value takes "no".
    assert root["split_condition"] == -float(LARGEST)
    assert (yes["leaf"], no["leaf"], root["missing"]) == (2.0, 1.0, root["yes"])


def test_the_rule_of_the_plugin_itself():
    """Left if and only if threshold > x, and NaN by ``missing``."""
    tree = {
        "nodeid": 0, "depth": 0, "split": "a", "split_condition": 0.5,
        "yes": 1, "no": 2, "missing": 1,
        "children": [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}],
    }  # fmt: skip
    inner = {"type": "model/xgboost+json", "definition": json.dumps([tree])}
    text = json.dumps({"model": {"name": "m", "model": inner}})
    X = np.array([[0.5], [np.nextafter(0.5, 0)], [0.4999999], [0.6], [np.nan]])
    # The second is 0.5 in single precision.
    expected = [2.0, 2.0, 1.0, 2.0, 1.0]
    assert score_elasticsearch(text, X, feature_names=["a"]).tolist() == expected


def test_a_baseline_is_a_tree_of_one_leaf():
    ranker = frozen([(0, 0.5, False, 1.0, 2.0)], baseline=0.75)
    trees = json.loads(definition_of(body_of(ranker))[1])
    assert trees[0] == {"nodeid": 0, "leaf": 0.75}
    assert len(trees) == 2
    nothing = frozen([])
    trees = json.loads(definition_of(body_of(nothing))[1])
    assert trees == [{"nodeid": 0, "leaf": 0.0}]  # the plugin wants a tree at least


def test_linear_models_lose_their_constant_only(linear, data):
    X = data[0]
    body = body_of(linear)
    kind, definition = definition_of(body)
    assert kind == "model/linear"
    assert list(json.loads(definition)) == NAMES
    served = score_elasticsearch(body, X, feature_names=NAMES)
    expected = linear.predict(X) - linear.intercept_
    size = np.abs(X) @ np.abs(linear.coef_)
    assert np.all(np.abs(served - expected) <= 8 * np.finfo(np.float32).eps * size)


def test_ranklib_inside(linear, forest, data):
    rows = hard_rows(forest, missing=False)
    body = body_of(forest, type="model/ranklib", missing="zero")
    kind, definition = definition_of(body)
    assert (kind, definition.splitlines()[0]) == ("model/ranklib", "## LambdaMART")
    served = score_elasticsearch(body, rows)
    np.testing.assert_array_equal(served, score_ranklib(definition, rows))
    kind, definition = definition_of(body_of(linear, type="model/ranklib"))
    assert definition.splitlines()[0] == "## Linear Regression"


def test_names_come_from_the_data_frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y, groups = rng.integers(3, size=60), np.repeat(np.arange(6), 10)
    ranker = LambdaMART(n_estimators=3).fit(X, y, groups)
    body = to_elasticsearch(ranker, "m")
    served = score_elasticsearch(body, X[["b", "a"]])
    expected = sums_by_hand(ranker, X.to_numpy())
    np.testing.assert_array_equal(served, expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"name": " "}, ValueError, "name must be a string that is not empty"),
        ({"name": None}, ValueError, "name must be a string that is not empty"),
        ({"type": "model/xgboost"}, ValueError, "type must be one of model/xgb"),
        ({"type": "model/linear"}, ValueError, "cannot hold a model of kind 'trees'"),
        ({"missing": "left"}, ValueError, "missing must be 'learned' or 'zero'"),
        ({"feature_names": None}, ValueError, "feature_names is missing"),
        ({"feature_names": ["a"]}, ValueError, "the 5 features of the model.*got 1"),
        ({"feature_names": list("aabcd")}, ValueError, "'a' occurs more than once"),
        ({"feature_names": ["a", "b", "c", "d", ""]}, ValueError, "a name is empty"),
        ({"feature_names": [1, 2, 3, 4, 5]}, TypeError, "must be str, got 1"),
        ({"feature_names": "abcde"}, TypeError, "must be a sequence of str"),
        ({"feature_names": set("abcde")}, TypeError, "must be a sequence of str"),
        (
            {"feature_names": bsr_array(np.eye(2))},
            TypeError,
            "must be a sequence of str",
        ),
    ],
)
def test_wrong_options(options, error, message):
    ranker = frozen([(0, 0.5, False, 1.0, 2.0)])
    options = {"name": "m", "feature_names": NAMES} | options
    with pytest.raises(error, match=message):
        to_elasticsearch(ranker, **options)


def test_linear_models_are_no_trees(data):
    with pytest.raises(ValueError, match="cannot hold a model of kind 'linear'"):
        body_of(RankSVM().fit(*data), type="model/xgboost+json")


def test_numbers_beyond_single_precision_are_refused():
    with pytest.raises(ValueError, match="the value of a leaf is not finite"):
        body_of(frozen([1e39]))
    with pytest.raises(ValueError, match="the baseline is not finite"):
        body_of(frozen([], baseline=1e39))


def test_rows_without_the_features_are_refused():
    body = body_of(frozen([(0, 0.5, False, 1.0, 2.0)]))
    with pytest.raises(ValueError, match="asks for feature 'bm25', which X lacks"):
        score_elasticsearch(body, np.zeros((1, 1)), feature_names=["a"])
    with pytest.raises(ValueError, match="must name the 2 columns of X, got 1"):
        score_elasticsearch(body, np.zeros((1, 2)), feature_names=["a"])
    with pytest.raises(ValueError, match="the columns of X have no names"):
        score_elasticsearch(body, np.zeros((1, 1)))
    with pytest.raises(ValueError, match="two dimensions"):
        score_elasticsearch(body, np.zeros(3), feature_names=NAMES)


def test_deep_trees_are_written_or_refused():
    tree = 0.0
    for depth in range(300):
        tree = (0, float(-depth), False, 1.0, tree)
    ranker = frozen([tree])
    rows = hard_rows(ranker)
    served = score_elasticsearch(body_of(ranker), rows, feature_names=NAMES)
    np.testing.assert_array_equal(served, sums_by_hand(ranker, rows))
