"""Models for the learning-to-rank module of Solr."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._validation import check_options
from skrank.export._ranklib import java_float
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

_PACKAGE = "org.apache.solr.ltr.model."
_TREES, _LINEAR = _PACKAGE + "MultipleAdditiveTreesModel", _PACKAGE + "LinearModel"
_SLACK = np.float32(1e-6)  # Solr adds it to every threshold
_STEPS = 3  # number of neighbouring floats to try on each side
_NO_SLACK = 5  # above 2**5, half the distance of two floats is more than the slack
_MAX_SHIFT = 126  # 2**-126 is the smallest divisor that is a normal float
_NORMALIZER = "org.apache.solr.ltr.norm.StandardNormalizer"


def to_solr(
    model: Any,
    name: str,
    *,
    store: str | None = None,
    feature_names: Sequence[str] | None = None,
    missing: Missing = "learned",
) -> str:
    """Write a ranker for the LTR module of Solr.

    The text is the body of ``PUT /schema/model-store``: a MultipleAdditiveTreesModel or
    a LinearModel. Solr adds 1e-6 to every threshold; the text makes up for that, if
    need be with a normalizer that multiplies a feature of small values by a power of
    two. So every feature value, which Solr holds in single precision, goes the same way
    at every split, and scores are equal up to the rounding of single precision. The
    constant term of a linear model has no place in Solr and is left out: it does not
    change the order of documents.

    Parameters
    ----------
    model : BaseRanker or Pipeline
        A fitted ranker of trees, or a linear ranker, which may stand behind scalers.
    name : str
        Name of the model.
    store : str, default=None
        Name of the feature store; None leaves Solr's default.
    feature_names : sequence of str, default=None
        Names of the features in the feature store, one for each column; None takes the
        column names of the data frame that the model was fitted on.
    missing : {"learned", "zero"}, default="learned"
        Side of a split that missing values go to: the learned one, which needs Solr 9.2
        and features with a default value of NaN, or that of 0, as in any version.

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

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import score_solr, to_solr
    >>> from skrank.rankers import LambdaMART
    >>> X, y, groups = make_ranking(20, n_features=3, n_informative=2, random_state=0)
    >>> ranker = LambdaMART(n_estimators=5).fit(X, y, groups)
    >>> names = ["bm25", "clicks", "age"]
    >>> text = to_solr(ranker, "products", feature_names=names)
    >>> served = score_solr(text, X, feature_names=names)
    >>> bool(np.allclose(served, ranker.predict(X.astype(np.float32)), atol=1e-5))
    True
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be a string that is not empty, got {shown(name)}")
    check_options(to_solr, locals())
    function = scoring_function(model)
    names = required_feature_names(feature_names, function, "Solr")
    if function.kind == "linear":
        weights = single(function.coef, "a coefficient")
        features, kind = [{"name": n} for n in names], _LINEAR
        params = {"weights": {n: float(w) for n, w in zip(names, weights)}}
    else:
        trees = server_trees(function, missing, "Solr")
        shifts = _shifts(trees, names)
        # Solr computes every feature that is listed, even if no split asks for it, but
        # refuses a model without any.
        used = shifts or {0: 0}
        features = [_feature(names[j], shift) for j, shift in used.items()]
        kind, params = _TREES, _params(trees, names, shifts, missing == "learned")
    document = {"class": kind, "name": name}
    if store is not None:
        document["store"] = store
    document |= {"features": features, "params": params}
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError(
            "a tree is too deep for nested JSON; set max_depth of the ranker"
        ) from None


def _params(trees, names, shifts, with_missing):
    params: dict[str, Any] = {"isNullSameAsZero": False} if with_missing else {}
    params["trees"] = [
        {"weight": "1", "root": _tree(tree, names, shifts, with_missing)}
        for tree in trees
    ]
    return params


def _tree(tree, names, shifts, with_missing):
    powers = [shifts.get(j, 0) for j in tree.feature]
    thresholds, _ = before_slack(_shifted(tree.threshold, powers))
    nodes = {}
    for k in tree.from_leaves_up():
        if tree.feature[k] < 0:
            nodes[k] = {"value": java_float(tree.value[k])}
            continue
        node = {"feature": names[tree.feature[k]]}
        node["threshold"] = java_float(thresholds[k])
        if with_missing:
            node["missing"] = "left" if tree.missing_left[k] else "right"
        node["left"] = nodes.pop(tree.left[k])
        node["right"] = nodes.pop(tree.left[k] + 1)
        nodes[k] = node
    return nodes[0]


def _feature(name, shift):
    """Entry of a feature, with a normalizer that multiplies it by a power of two."""
    if not shift:
        return {"name": name}
    params = {"avg": "0.0", "std": java_float(2.0**-shift)}
    return {"name": name, "norm": {"class": _NORMALIZER, "params": params}}


def _shifts(trees, names):
    """Exponents of the powers of two that multiply the features in use.

    Not every small threshold is the sum of a single precision number and Solr's slack.
    For thresholds above 32, the slack is lost in rounding, and a multiplication by a
    power of two rounds nothing.
    """
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    shifts = {}
    for j in np.unique(feature[feature >= 0]).tolist():
        at = threshold[feature == j]
        size = np.abs(at[(at != 0) & (np.abs(at) < LARGEST)])
        shifts[j] = 0
        if not before_slack(_shifted(at, 0))[1].all():
            needed = _NO_SLACK - int(np.frexp(size.min())[1]) + 1
            shifts[j] = min(needed, _MAX_SHIFT)
        moved = _shifted(at, shifts[j])
        if np.any(np.abs(moved[np.abs(at) < LARGEST]) >= LARGEST) or not np.all(
            before_slack(moved)[1]
        ):
            raise ValueError(
                f"Solr adds 1e-6 to every threshold, and those of feature "
                f"{names[j]!r}, from {size.min():.3g} to {size.max():.3g} in size, are "
                "too far apart to make up for it; fit on the logarithm of the feature"
            )
    return shifts


def _shifted(threshold, power):
    """Thresholds times powers of two; those above all values stay above all of them.

    Large values that are multiplied become infinite, and so does the threshold above
    them.
    """
    above = np.where(np.asarray(power) == 0, LARGEST, np.float32(np.inf))
    with quiet():
        moved = np.ldexp(threshold, power)
    return np.where(threshold < LARGEST, np.minimum(moved, LARGEST), above)


def before_slack(wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that become given thresholds when Solr adds its slack.

    Parameters
    ----------
    wanted : ndarray of float32
        Thresholds to reach.

    Returns
    -------
    before : ndarray of float32
        Numbers whose sums with the slack are the thresholds, where such numbers exist.
    exact : ndarray of bool
        Whether such a number exists.
    """
    start = (wanted.astype(np.float64) - np.float64(_SLACK)).astype(np.float32)
    before, exact = start, start + _SLACK == wanted
    with quiet():
        for direction in (np.float32(np.inf), np.float32(-np.inf)):
            candidate = start
            for _ in range(_STEPS):
                candidate = np.nextafter(candidate, direction)
                found = ~exact & (candidate + _SLACK == wanted)
                before, exact = np.where(found, candidate, before), exact | found
    return before, exact


@reads_text("Solr")
def score_solr(
    text: str, X: Any, *, feature_names: Sequence[str] | None = None
) -> np.ndarray:
    """Score documents as Solr will, from the text that is sent to it.

    Features go through their normalizers first. A split goes left if and only if
    ``x <= threshold + 1e-6`` in single precision. A missing value is 0, unless the
    model says ``"isNullSameAsZero": false``.

    Parameters
    ----------
    text : str
        Text as returned by `to_solr`.
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
    >>> from skrank.export import score_solr, to_solr
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(20, n_features=2, n_informative=2, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> text = to_solr(ranker, "svm", feature_names=["bm25", "clicks"])
    >>> served = score_solr(text, X, feature_names=["bm25", "clicks"])
    >>> bool(np.allclose(served, ranker.predict(X), atol=1e-5))
    True
    """
    document, rows = json.loads(text), single_rows(X)
    names = [feature["name"] for feature in document["features"]]
    columns = columns_of(names, feature_names, X if hasattr(X, "shape") else rows)
    rows = rows[:, [columns[name] for name in names]]
    rows = _normalized(rows, document["features"])
    params = document["params"]
    if document["class"] == _LINEAR:
        weights = [float(finite_single(params["weights"][n], "weight")) for n in names]
        return sum_of_products(without_missing(rows), weights)
    if document["class"] != _TREES:
        raise ValueError(f"class {shown(document['class'])} is unknown")
    if params.get("isNullSameAsZero", True):
        rows = without_missing(rows)
    position = {name: j for j, name in enumerate(names)}

    def goes_left(node, at):
        x = rows[at, position[node["feature"]]]
        below = x <= np.float32(node["threshold"]) + _SLACK
        return np.where(np.isnan(x), node.get("missing") == "left", below)

    total = np.zeros(len(rows), dtype=np.float32)
    for tree in params["trees"]:
        total += finite_single(tree["weight"], "weight") * leaf_values(
            tree["root"],
            len(rows),
            goes_left,
            is_leaf=lambda node: "feature" not in node,
            children=lambda node: (node["left"], node["right"]),
            value=lambda node: finite_single(node["value"], "value"),
        )
    return total


def _normalized(rows, features):
    rows = rows.copy()
    for j, feature in enumerate(features):
        if "norm" in feature:
            params = feature["norm"]["params"]
            with quiet():
                rows[:, j] -= np.float32(params["avg"])
                rows[:, j] /= np.float32(params["std"])
    return rows
