"""Models for the learning-to-rank plugins of Elasticsearch and OpenSearch."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank.export._ranklib import score_ranklib, to_ranklib
from skrank.export._scoring import required_feature_names, scoring_function
from skrank.export._server_trees import (
    LARGEST,
    Missing,
    columns_of,
    leaf_values,
    server_trees,
    single,
    single_rows,
    sum_of_products,
    without_missing,
)
from skrank.export._texts import finite_single, reads_text

XGBOOST, RANKLIB, LINEAR = "model/xgboost+json", "model/ranklib", "model/linear"
_SERVER = "Elasticsearch"


def to_elasticsearch(
    model: Any,
    name: str,
    *,
    type: Literal["model/xgboost+json", "model/ranklib", "model/linear"] | None = None,
    feature_names: Sequence[str] | None = None,
    missing: Missing = "learned",
) -> str:
    """Write a ranker for the LTR plugin of Elasticsearch or OpenSearch.

    The text is the body of ``POST _ltr/_featureset/FEATURES/_createmodel``. Thresholds
    are moved to single precision such that every feature value, which the plugin holds
    in single precision, goes the same way at every split; scores are equal up to the
    rounding of single precision. The constant term of a linear model has no place in
    "model/linear" and is left out: it does not change the order of documents.

    Parameters
    ----------
    model : BaseRanker or Pipeline
        A fitted ranker of trees, or a linear ranker, which may stand behind scalers.
    name : str
        Name of the model.
    type : {"model/xgboost+json", "model/ranklib", "model/linear"}, default=None
        Format of the definition; None means "model/xgboost+json" for trees and
        "model/linear" for linear models. "model/ranklib" addresses features by number,
        so the feature set must hold them in the order of the columns.
    feature_names : sequence of str, default=None
        Names of the features in the feature set, one for each column; None takes the
        column names of the data frame that the model was fitted on.
    missing : {"learned", "zero"}, default="learned"
        Side of a split that missing values go to: the learned one (versions of the
        plugin that ignore it send them to the right), or that of 0, which is right if
        the plugin logged the training data with 0 for features that did not match.

    Returns
    -------
    str
        JSON.

    Raises
    ------
    ValueError
        If the model cannot be represented, as with splits by category, trees that start
        from another ranker, several outputs, kernels or networks; or if names are
        missing.
    TypeError
        If ``model`` is no ranker.

    Notes
    -----
    A split of "model/xgboost+json" goes left if and only if ``threshold > x``, so the
    threshold is the next single precision number above that of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import score_elasticsearch, to_elasticsearch
    >>> from skrank.rankers import LambdaMART
    >>> X, y, groups = make_ranking(20, n_features=3, n_informative=2, random_state=0)
    >>> ranker = LambdaMART(n_estimators=5).fit(X, y, groups)
    >>> names = ["bm25", "clicks", "age"]
    >>> body = to_elasticsearch(ranker, "products", feature_names=names)
    >>> served = score_elasticsearch(body, X, feature_names=names)
    >>> bool(np.allclose(served, ranker.predict(X.astype(np.float32)), atol=1e-5))
    True
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be a string that is not empty, got {shown(name)}")
    function = scoring_function(model)
    if type is None:
        type = XGBOOST if function.kind == "trees" else LINEAR
    accepted = {XGBOOST: ("trees",), LINEAR: ("linear",), RANKLIB: ("trees", "linear")}
    if not isinstance(type, str) or type not in accepted:
        raise ValueError(
            f"type must be one of {', '.join(accepted)}, got {shown(type)}"
        )
    if function.kind not in accepted[type]:
        raise ValueError(
            f"type={shown(type)} cannot hold a model of kind {function.kind!r}"
        )
    if type == RANKLIB:
        definition = to_ranklib(model, missing=missing)
    else:
        names = required_feature_names(feature_names, function, _SERVER)
        write = _xgboost if type == XGBOOST else _linear
        definition = write(function, names, missing)
    document = {"model": {"name": name, "model": {"type": type}}}
    document["model"]["model"]["definition"] = definition
    return json.dumps(document, indent=1, allow_nan=False)


def _linear(function, names, missing):
    weights = single(function.coef, "a coefficient")
    content = {name: float(w) for name, w in zip(names, weights)}
    return json.dumps(content, allow_nan=False)


def _xgboost(function, names, missing):
    trees = server_trees(function, missing, _SERVER)
    try:
        return json.dumps([_tree(tree, names) for tree in trees], allow_nan=False)
    except RecursionError:
        raise ValueError(
            "a tree is too deep for nested JSON; set max_depth of the ranker"
        ) from None


def _tree(tree, names):
    depth, nodes = tree.depths(), {}
    for k in tree.from_leaves_up():
        if tree.feature[k] < 0:
            nodes[k] = {"nodeid": k, "leaf": float(tree.value[k])}
            continue
        left, right = tree.left[k], tree.left[k] + 1
        if tree.all_left(k):
            # No threshold is above every number, but every number is at least the
            # lowest one: the children change places.
            yes, no, threshold = right, left, -LARGEST
        else:
            yes, no, threshold = left, right, _next_above(tree.threshold[k])
        nodes[k] = {
            "nodeid": k,
            "depth": depth[k],
            "split": names[tree.feature[k]],
            "split_condition": float(threshold),
            "yes": yes,
            "no": no,
            "missing": left if tree.missing_left[k] else right,
            "children": [nodes.pop(yes), nodes.pop(no)],
        }
    return nodes[0]


def _next_above(number):
    with quiet():  # the number may be minus infinity
        return np.nextafter(number, np.float32(np.inf))


@reads_text("the plugin")
def score_elasticsearch(
    text: str, X: Any, *, feature_names: Sequence[str] | None = None
) -> np.ndarray:
    """Score documents as the plugin will, from the text that is sent to it.

    Features, thresholds and sums are in single precision. A split goes left if and only
    if ``threshold > x``, and missing values go where the split says.

    Parameters
    ----------
    text : str
        Text as returned by `to_elasticsearch`.
    X : array-like of shape (n_documents, n_features)
        One row per document; NaN is a missing value.
    feature_names : sequence of str, default=None
        Names of the columns of ``X``; None takes the column names of a data frame.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float32
        Scores.

    Raises
    ------
    ValueError
        If the text is no model, or the model asks for a feature that ``X`` lacks.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import score_elasticsearch, to_elasticsearch
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(20, n_features=2, n_informative=2, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> body = to_elasticsearch(ranker, "svm", feature_names=["bm25", "clicks"])
    >>> served = score_elasticsearch(body, X, feature_names=["bm25", "clicks"])
    >>> bool(np.allclose(served, ranker.predict(X), atol=1e-5))
    True
    """
    inner = json.loads(text)["model"]["model"]
    if inner["type"] == RANKLIB:
        return score_ranklib(inner["definition"], X)
    rows, content = single_rows(X), json.loads(inner["definition"])
    if inner["type"] == LINEAR:
        columns = columns_of(content, feature_names, X if hasattr(X, "shape") else rows)
        weights = np.zeros(rows.shape[1])
        for name, weight in content.items():
            weights[columns[name]] = finite_single(weight, "weight")
        return sum_of_products(without_missing(rows), weights)
    if inner["type"] != XGBOOST:
        raise ValueError(f"type {shown(inner['type'])} is unknown")
    names = set().union(*map(_asked, content))
    columns = columns_of(names, feature_names, X if hasattr(X, "shape") else rows)

    def goes_left(node, at):
        x = rows[at, columns[node["split"]]]
        below = np.float32(node["split_condition"]) > x
        return np.where(np.isnan(x), node["missing"] == node["yes"], below)

    total = np.zeros(len(rows), dtype=np.float32)
    for root in content:
        total += leaf_values(
            root,
            len(rows),
            goes_left,
            is_leaf=lambda node: "leaf" in node,
            children=lambda node: node["children"],
            value=lambda node: finite_single(node["leaf"], "leaf"),
        )
    return total


def _asked(root):
    """Names of the features that a tree asks for."""
    stack, names = [root], set()
    while stack:
        node = stack.pop()
        if "leaf" not in node:
            names.add(node["split"])
            stack += node["children"]
    return names
