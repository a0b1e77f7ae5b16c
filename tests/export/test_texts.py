"""Texts of models that are damaged: one clear error, whatever is wrong with them."""

import json
import math
import random

import numpy as np
import pytest

from skrank.datasets import make_ranking
from skrank.export import (
    from_json,
    score_elasticsearch,
    score_ranklib,
    score_solr,
    to_elasticsearch,
    to_json,
    to_ranklib,
    to_solr,
)
from skrank.rankers import MART, RankSVM

NAMES = ["a", "b", "c"]
X, y, groups = make_ranking(10, n_features=3, n_informative=2, random_state=0)
MODELS = {
    "linear": RankSVM().fit(X, y, groups),
    "trees": MART(n_estimators=2, max_leaf_nodes=4).fit(X, y, groups),
}
SYSTEMS = {
    "json": (lambda m: to_json(m), lambda text: from_json(text).predict(X)),
    "ranklib": (
        lambda m: to_ranklib(m, missing="zero"),
        lambda text: score_ranklib(text, X),
    ),
    "solr": (
        lambda m: to_solr(m, "m", feature_names=NAMES),
        lambda text: score_solr(text, X, feature_names=NAMES),
    ),
    "elasticsearch": (
        lambda m: to_elasticsearch(m, "m", feature_names=NAMES),
        lambda text: score_elasticsearch(text, X, feature_names=NAMES),
    ),
}
ODD = [None, True, [], {}, "x", -1, 10**400, float("nan"), "9" * 10**6, [[]], 2**63]


def places(value, path=()):
    yield path
    if isinstance(value, (dict, list)):
        keys = list(value) if isinstance(value, dict) else range(min(len(value), 3))
        for key in keys:
            yield from places(value[key], (*path, key))


def changed(text, path, value):
    document = part = json.loads(text)
    for key in path[:-1]:
        part = part[key]
    if not path:
        return json.dumps(value)
    part[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_damaged_text_is_a_value_error(system, model):
    write, score = SYSTEMS[system]
    text = write(MODELS[model])
    rng = random.Random(0)
    texts = ["", "[" * 10**5, '{"a":' * 10**5, "<ensemble>" * 10**5]
    texts += [text[:n] for n in range(0, len(text), 1 + len(text) // 50)]
    if system != "ranklib":
        for path in places(json.loads(text)):
            texts += [changed(text, path, value) for value in rng.sample(ODD, 4)]
    refused = 0
    for damaged in texts:
        try:
            score(damaged)
        except ValueError as error:
            refused += 1
            message = str(error)
        else:
            message = ""
        assert len(message) < 500
    assert refused > len(texts) / 3


@pytest.mark.parametrize("system", [s for s in SYSTEMS if s != "json"])
def test_what_is_no_text_is_a_type_error(system):
    with pytest.raises(TypeError, match="text must be that of a model, got b'text'"):
        SYSTEMS[system][1](b"text")


def test_features_of_ranklib_count_from_one():
    with pytest.raises(ValueError, match="features count from 1, got 0"):
        score_ranklib("## Linear Regression\n0:1.0 00:1.0", X)


def test_rows_that_do_not_fit_are_not_blamed_on_the_text():
    text = to_solr(MODELS["linear"], "m", feature_names=NAMES)
    with pytest.raises(ValueError, match=r"^X must have two dimensions"):
        score_solr(text, X[0], feature_names=NAMES)
    with pytest.raises(ValueError, match=r"^X must hold numbers"):
        score_solr(text, [["a", "b", "c"]], feature_names=NAMES)
    with pytest.raises(ValueError, match=r"^the model asks for feature 'c'"):
        score_solr(text, X, feature_names=["a", "b", "d"])


_TREE = (
    "## LambdaMART\n<ensemble><tree id='1' weight='{weight}'><split>"
    "<output>{value}</output></split></tree></ensemble>"
)


def _solr(weight, value):
    tree = {"weight": weight, "root": {"value": value}}
    return _of_solr("MultipleAdditiveTreesModel", {"trees": [tree]})


def _of_solr(kind, params):
    features = [{"name": "a"}]
    path = f"org.apache.solr.ltr.model.{kind}"
    return json.dumps({"class": path, "features": features, "params": params})


def _elasticsearch(kind, definition):
    inner = {"type": kind, "definition": json.dumps(definition)}
    return json.dumps({"model": {"model": inner}})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e308])
def test_models_of_numbers_that_are_not_finite_are_refused(odd):
    X = np.ones((3, 1))
    for score, text in (
        (score_ranklib, f"## Linear Regression\n0:0.0 1:{odd}"),
        (score_ranklib, f"## Linear Regression\n0:{odd} 1:1.0"),
        (score_ranklib, _TREE.format(weight=odd, value=1.0)),
        (score_ranklib, _TREE.format(weight=1.0, value=odd)),
        (score_solr, _solr(odd, 1.0)),
        (score_solr, _solr(1.0, odd)),
        (score_solr, _of_solr("LinearModel", {"weights": {"a": odd}})),
        (score_elasticsearch, _elasticsearch("model/linear", {"a": odd})),
        (score_elasticsearch, _elasticsearch("model/xgboost+json", [{"leaf": odd}])),
    ):
        more = {} if score is score_ranklib else {"feature_names": ["a"]}
        with pytest.raises(ValueError, match=r"must be a finite number, got '?-?[ni1]"):
            score(text, X, **more)


@pytest.mark.filterwarnings("error")
def test_sums_of_served_models_that_overflow_are_refused():
    text = "## Linear Regression\n0:3e38 1:3e38"
    with pytest.raises(ValueError, match="X: row 1 gets the score inf"):
        score_ranklib(text, [[0.0], [1.0]])
