"""Scoring functions as JSON: small, exact, readable in any language, safe to load.

The text is one object. Numbers are written with as many digits as identify the double.

================== =========================================================
key                value
================== =========================================================
``format``         "skrank-scoring-function"
``format_version`` 1
``versions``       of skrank, which wrote it
``ranker``         name of the class that learned the function
``n_features``     number of features
``feature_names``  their names, or null
``kind``           "linear" or "trees"
``coef``           linear: a number for each feature
``intercept``      linear: a number
``baseline``       trees: number to which the trees add
``categories``     trees: known values, ascending, by the number of the feature
``precision``      trees: "single" or "double", of the known values
``trees``          trees: list of objects of lists with one entry per node
================== =========================================================

A row starts at node 0 of each tree and adds the ``value`` of the leaf it ends in. A
node with ``feature`` -1 is a leaf; at others the row goes to node ``left`` or the one
after that. A missing value goes left if ``missing_left``, another if it is at most
``threshold``, where null stands for a threshold above all values. Where ``categories``
of the tree has an entry for the node, a list of positions in the known values, a value
goes left if it is one of these, and an unknown value is a missing one. A value and a
known value are compared in the lower of their precisions.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NoReturn, Self

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import shortened, shown, words_of
from skrank._core._parameters import NThreads, Parameters
from skrank._core._threads import effective_n_threads
from skrank._version import __version__
from skrank.base import BaseRanker
from skrank.export._scoring import (
    LinearFunction,
    TreeFunction,
    check_feature_names,
    check_no_surrogates,
    scoring_function,
)
from skrank.export._tree_state import (
    MAX_CATEGORIES,
    are_categories,
    check_parents,
    check_splits,
    words_of_set,
)
from skrank.trees import TreeEnsemble

FORMAT = "skrank-scoring-function"
FORMAT_VERSION = 1
_HEADER = {"format", "format_version", "versions", "ranker"}
_COMMON = _HEADER | {"n_features", "feature_names", "kind"}
_KEYS = {
    "linear": _COMMON | {"coef", "intercept"},
    "trees": _COMMON | {"baseline", "categories", "precision", "trees"},
}
_TREE_KEYS = {"feature", "threshold", "left", "missing_left", "value"}
_PRECISIONS = {"single": np.float32, "double": np.float64}


class FrozenRanker(BaseRanker, Parameters):
    """A scoring function that was read by `from_json`: it ranks but does not learn.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.

    Attributes
    ----------
    function_ : object
        Scoring function.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the text has them.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import from_json, to_json
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=20, random_state=0)
    >>> ranker = from_json(to_json(MART(n_estimators=5).fit(X, y, groups)))
    >>> ranker.top_documents(X, groups, k=1).shape
    (20,)
    """

    approach = "any"

    n_jobs: NThreads = field(default=None, kw_only=False)

    def fit(self, X: Any, y: Any = None, groups: Any = None, **more: Any) -> NoReturn:
        """Raise an error, because a frozen ranker does not learn."""
        raise TypeError(
            "a FrozenRanker holds a scoring function that was read from JSON and "
            "cannot be fitted; fit the ranker that it came from"
        )

    def _hold(self, function: LinearFunction | TreeFunction) -> Self:
        """Become the ranker of a scoring function."""
        self.function_ = function
        self.n_features_in_ = function.n_features
        if function.feature_names is not None:
            self.feature_names_in_ = np.array(function.feature_names, dtype=object)
        return self

    @property
    def _accepts_missing(self):
        return hasattr(self, "function_") and self.function_.accepts_missing

    @property
    def _accepts_sparse(self):
        return not hasattr(self, "function_") or self.function_.accepts_sparse

    def _predict(self, X):
        self._check_parameters()
        return self.function_.scores(X, effective_n_threads(self.n_jobs))


def to_json(model: Any, *, feature_names: Sequence[str] | None = None) -> str:
    """Write the scoring function of a ranker as JSON.

    A few lines in any language can score documents from the text, whose parts are
    listed in the guide. `from_json` reads it back; the scores of a ranker of trees or
    of a linear ranker are then the same to the bit. Scalers before a linear ranker are
    folded into its coefficients, so that scores of a pipeline are equal up to rounding.

    Parameters
    ----------
    model : BaseRanker or Pipeline
        Fitted ranker of trees or linear ranker, the latter also behind scalers.
    feature_names : sequence of str, default=None
        Names of the columns; None takes the column names of the data frame that the
        model was fitted on, if it was one.

    Returns
    -------
    str
        JSON.

    Raises
    ------
    ValueError
        If the scores are neither linear nor a sum of trees, or not finite.
    TypeError
        If ``model`` is no ranker.

    See Also
    --------
    save_model : Keeps any model with its parameters and training curves.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import from_json, to_json
    >>> from skrank.rankers import LambdaMART
    >>> X, y, groups = make_ranking(n_queries=20, random_state=0)
    >>> ranker = LambdaMART(n_estimators=5).fit(X, y, groups)
    >>> again = from_json(to_json(ranker))
    >>> bool((again.predict(X) == ranker.predict(X)).all())
    True
    """
    function = scoring_function(model)
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": {"skrank": __version__},
        "ranker": function.ranker,
        "n_features": function.n_features,
        "feature_names": check_feature_names(feature_names, function),
        "kind": function.kind,
    }
    write = _write_linear if function.kind == "linear" else _write_trees
    try:
        return json.dumps(document | write(function), allow_nan=False)
    except ValueError:
        raise ValueError("the model holds a number that is not finite") from None


def _write_linear(function):
    return {"coef": function.coef.tolist(), "intercept": function.intercept}


def _write_trees(function):
    ensemble = function.ensemble
    ends = [*ensemble.roots_[1:].tolist(), len(ensemble.feature_)]
    trees = [
        _write_tree(ensemble, start, end)
        for start, end in zip(ensemble.roots_.tolist(), ends)
    ]
    known = function.categories
    single = any(values.dtype == np.float32 for values in known.values())
    return {
        "baseline": function.baseline,
        "categories": {str(j): values.tolist() for j, values in known.items()},
        "precision": "single" if single else "double",
        "trees": trees,
    }


def _write_tree(ensemble, start, end):
    inner = ensemble.feature_[start:end] >= 0
    left = np.where(inner, ensemble.left_[start:end] - start, -1)
    threshold = ensemble.threshold_[start:end].tolist()
    tree = {
        "feature": ensemble.feature_[start:end].tolist(),
        "threshold": [None if math.isinf(t) else t for t in threshold],
        "left": left.tolist(),
        "missing_left": (inner & (ensemble.missing_left_[start:end] > 0)).tolist(),
        "value": ensemble.value_[start:end].tolist(),
    }
    by_category = np.flatnonzero(ensemble.category_[start:end] >= 0)
    if len(by_category):
        sets = ensemble.categories_[ensemble.category_[start + by_category]]
        tree["categories"] = {
            str(k): members.tolist()
            for k, members in zip(by_category.tolist(), map(_members, sets))
        }
    return tree


def _members(words):
    """Numbers in bit sets of four words, ascending."""
    shifts = np.arange(64, dtype=np.uint64)
    return np.flatnonzero((words[:, None] >> shifts) & np.uint64(1))


def from_json(text: str) -> FrozenRanker:
    """Read a scoring function that `to_json` wrote.

    Everything is checked: a text from an untrusted source becomes a scoring function or
    raises an error, and it never runs code.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    FrozenRanker
        A ranker that predicts the scores of the one that was written.

    Raises
    ------
    ValueError
        If the text is damaged, has another format or version, or describes no scoring
        function, as with lists of wrong length, numbers that are not finite or cycles.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import from_json, to_json
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=20, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> from_json(to_json(ranker)).score(X, y, groups) == ranker.score(X, y, groups)
    True
    """
    if not isinstance(text, str | bytes):
        raise TypeError(f"text must be JSON that to_json wrote, got {shown(text)}")
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except RecursionError:
        raise ValueError(
            "text is not a scoring function: it is nested too deeply"
        ) from None
    except (TypeError, ValueError) as error:
        problem = shortened(words_of(error), 200)
        raise ValueError(f"text is not a scoring function: {problem}") from None
    _check_header(document)
    kind = document.get("kind")
    if not (isinstance(kind, str) and kind in _KEYS):
        raise ValueError(f"kind must be 'linear' or 'trees', got {shown(kind)}")
    _check_keys(document, _KEYS[kind], "the model")
    n_features = _integer(document["n_features"], 1, 2**31 - 1, "n_features")
    read = _read_linear if kind == "linear" else _read_trees
    return FrozenRanker()._hold(
        read(document, n_features, _names(document, n_features))
    )


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number")


def _unique(pairs):
    # JSON leaves open which of two equal keys counts, so readers would disagree.
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs more than once")
    return found


def _check_header(document):
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"not a scoring function: no header of format {FORMAT!r}")
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"format version {shown(version)} is unknown; this version of skrank reads "
            f"version {FORMAT_VERSION}"
        )


def _check_keys(found, expected, where, optional=frozenset()):
    if not isinstance(found, dict):
        raise ValueError(f"{where} must be an object")
    odd = (set(found) ^ expected) - optional
    if odd:
        word = "unknown" if odd & set(found) else "missing"
        raise ValueError(f"{where}: {word} key {shown(min(odd))}")


def _integer(value, low, high, where):
    # Not isinstance: True is an int in Python, but not a number in JSON.
    if type(value) is not int or not low <= value <= high:
        raise ValueError(
            f"{where} must be an integer from {low} to {high}, got {shown(value, 40)}"
        )
    return value


def _number(value, where):
    if type(value) not in (int, float):
        raise ValueError(f"{where} must be a number, got {shown(value, 40)}")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"{where} is not finite")
    return value


def _list(value, length, where):
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list")
    if length is not None and len(value) != length:
        raise ValueError(f"{where} must have length {length}, got {len(value)}")
    return value


def _names(document, n_features):
    names = document["feature_names"]
    if names is None:
        return None
    _list(names, n_features, "feature_names")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < n_features:
        raise ValueError("feature_names must be strings that differ")
    return tuple(check_no_surrogates(names))


def _ranker_name(document):
    if not isinstance(document["ranker"], str):
        raise ValueError("ranker must be a string")
    return document["ranker"]


def _read_linear(document, n_features, names):
    coef = _list(document["coef"], n_features, "coef")
    return LinearFunction(
        coef=np.array([_number(c, f"coef {j}") for j, c in enumerate(coef)]),
        intercept=_number(document["intercept"], "intercept"),
        feature_names=names,
        ranker=_ranker_name(document),
    )


def _read_trees(document, n_features, names):
    precision = document["precision"]
    if not (isinstance(precision, str) and precision in _PRECISIONS):
        raise ValueError(
            f"precision must be 'single' or 'double', got {shown(precision)}"
        )
    categories = _read_categories(
        document["categories"], n_features, _PRECISIONS[precision]
    )
    ensemble = TreeEnsemble.empty()
    nodes, sets = [], []
    for t, tree in enumerate(_list(document["trees"], None, "trees")):
        _read_tree(tree, f"tree {t}", n_features, categories, nodes, sets, ensemble)
    _fill(ensemble, nodes, sets)
    check_parents(ensemble)
    check_splits(ensemble, {j: len(values) for j, values in categories.items()})
    return TreeFunction(
        ensemble=ensemble,
        baseline=_number(document["baseline"], "baseline"),
        categories=categories,
        n_features=n_features,
        feature_names=names,
        ranker=_ranker_name(document),
    )


def _read_categories(found, n_features, dtype):
    if not isinstance(found, dict):
        raise ValueError("categories must be an object")
    categories = {}
    for key, values in found.items():
        where = f"categories of feature {shown(key)}"
        is_number = len(key) < 11 and key.isascii() and key.isdigit()
        j = int(key) if is_number else -1
        if str(j) != key or j >= n_features:
            raise ValueError(f"{where}: there is no such feature")
        numbers = [_number(v, where) for v in _list(values, None, where)]
        # Values that the precision cannot hold would never equal a feature.
        with quiet():
            values = np.array(numbers, dtype=dtype)
        if values.tolist() != numbers or not are_categories(values, [len(values)]):
            raise ValueError(
                f"{where} must be at most {MAX_CATEGORIES} ascending numbers of the "
                "precision"
            )
        categories[j] = values
    return categories


def _read_tree(tree, where, n_features, categories, nodes, sets, ensemble):
    """Append the nodes of a tree, with children counted from the first of all."""
    _check_keys(tree, _TREE_KEYS, where, optional=frozenset({"categories"}))
    n = len(_list(tree["feature"], None, f"{where}: feature"))
    for key in _TREE_KEYS:
        _list(tree[key], n, f"{where}: {key}")
    chosen = tree.get("categories", {})
    if n == 0 or not isinstance(chosen, dict):
        raise ValueError(f"{where} has no nodes, or its categories are no object")
    if not set(chosen) <= set(map(str, range(n))):
        raise ValueError(f"{where}: categories of a node that does not exist")
    start = len(nodes)
    for k in range(n):
        node = _read_node(tree, k, n, n_features, f"{where}, node {k}")
        if node["feature"] >= 0:
            node["left"] += start
        _read_choice(node, chosen.get(str(k)), categories, sets, f"{where}, node {k}")
        nodes.append(node)
    ensemble.roots_ = np.append(ensemble.roots_, start)


def _read_node(tree, k, n, n_features, where):
    feature = _integer(tree["feature"][k], -1, n_features - 1, f"{where}: feature")
    is_leaf = feature < 0
    # Both children come after their parent and exist, so that scoring always ends.
    low, high = (-1, -1) if is_leaf else (k + 1, n - 2)
    if not is_leaf and low > high:
        raise ValueError(f"{where}: left has no room for two children")
    threshold = tree["threshold"][k]
    if type(tree["missing_left"][k]) is not bool:
        raise ValueError(f"{where}: missing_left must be true or false")
    return {
        "feature": feature,
        "left": _integer(tree["left"][k], low, high, f"{where}: left"),
        "threshold": (
            math.inf if threshold is None else _number(threshold, f"{where}: threshold")
        ),
        "missing_left": tree["missing_left"][k],
        "value": _number(tree["value"][k], f"{where}: value"),
        "category": -1,
    }


def _read_choice(node, chosen, categories, sets, where):
    """Read the set of categories that go left, if a node has one."""
    if chosen is None:
        return
    # That other features have none is checked later.
    last = len(categories.get(node["feature"], range(MAX_CATEGORIES))) - 1
    members = [
        _integer(c, 0, last, f"{where}: category")
        for c in _list(chosen, None, f"{where}: categories")
    ]
    node["category"] = len(sets)
    node["threshold"] = math.inf
    sets.append(words_of_set(members))


def _fill(ensemble, nodes, sets):
    def column(name, dtype):
        return np.array([node[name] for node in nodes], dtype=dtype)

    for name in ("feature", "left", "category"):
        setattr(ensemble, f"{name}_", column(name, np.int32))
    for name in ("threshold", "value"):
        setattr(ensemble, f"{name}_", column(name, np.float64))
    ensemble.missing_left_ = column("missing_left", np.uint8)
    ensemble.categories_ = np.array(sets, dtype=np.uint64).reshape(-1, 4)
    ensemble.gain_ = ensemble.weight_ = np.zeros(len(nodes))
    ensemble.count_ = np.zeros(len(nodes), dtype=np.int64)
    ensemble.output_ = np.zeros(ensemble.n_trees, dtype=np.int32)
