"""Models in the text format of RankLib."""

from typing import Any, SupportsFloat
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from skrank.export._scoring import scoring_function
from skrank.export._server_trees import (
    LARGEST,
    Missing,
    leaf_values,
    server_trees,
    single_rows,
    without_missing,
)
from skrank.export._texts import FeatureError, finite_single, reads_text

_TREES, _LINEAR = "## LambdaMART", "## Linear Regression"


def to_ranklib(model: Any, *, missing: Missing = "learned") -> str:
    """Write a ranker as RankLib does.

    RankLib, and the plugins of search engines that contain it, address features by
    number: the first column is feature 1. Trees become a "LambdaMART" model, whatever
    ranker learned them, and linear models become "Linear Regression".

    Parameters
    ----------
    model : BaseRanker or Pipeline
        A fitted ranker of trees, or a linear ranker, which may stand behind scalers.
    missing : {"learned", "zero"}, default="learned"
        Side of a split that missing values go to. RankLib reads a missing value as 0:
        with "learned", a ranker that sends missing values elsewhere is refused; with
        "zero", they go where 0 goes.

    Returns
    -------
    str
        Text of a model file.

    Raises
    ------
    ValueError
        If the model cannot be represented, as with splits by category, missing values
        that do not go where 0 goes, trees that start from another ranker, several
        outputs, kernels or networks.
    TypeError
        If ``model`` is no ranker.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import to_ranklib
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=20, random_state=0)
    >>> ranker = MART(n_estimators=1, max_leaf_nodes=2).fit(X, y, groups)
    >>> text = to_ranklib(ranker, missing="zero")
    >>> text.splitlines()[:2]
    ['## LambdaMART', '<ensemble>']
    """
    function = scoring_function(model)
    if function.kind == "linear":
        return _linear(function)
    trees = server_trees(function, missing, "RankLib")
    lines = [_TREES, "<ensemble>"]
    for number, tree in enumerate(trees, 1):
        # RankLib would read white space between elements as nodes.
        lines.append(f'<tree id="{number}" weight="1.0">{_tree(tree)}</tree>')
    return "\n".join([*lines, "</ensemble>", ""])


def _linear(function):
    if not np.all(np.isfinite([*function.coef, function.intercept])):
        raise ValueError("a coefficient is not finite")
    terms = [function.intercept, *function.coef]
    content = " ".join(f"{i}:{float(term)!r}" for i, term in enumerate(terms))
    return f"{_LINEAR}\n{content}\n"


def _tree(tree):
    parts = {}
    for k in tree.from_leaves_up():
        if tree.feature[k] < 0:
            parts[k] = f"<output>{float(tree.value[k])!r}</output>"
            continue
        _check_missing(tree, k)
        left, right = parts.pop(tree.left[k]), parts.pop(tree.left[k] + 1)
        threshold = java_float(min(tree.threshold[k], LARGEST))
        parts[k] = (
            f"<feature>{tree.feature[k] + 1}</feature>"
            f"<threshold>{threshold}</threshold>"
            f'<split pos="left">{left}</split><split pos="right">{right}</split>'
        )
    return f"<split>{parts[0]}</split>"


def _check_missing(tree, k):
    if tree.missing_left[k] != bool(tree.threshold[k] >= 0):
        raise ValueError(
            f"a split of feature {tree.feature[k]} sends missing values elsewhere than "
            "0, but RankLib reads a missing value as 0; missing='zero' sends them "
            "where 0 goes, which changes nothing for rows without missing values"
        )


def java_float(number: SupportsFloat) -> str:
    """Write a number such that Java reads back the same single precision number."""
    number = float(number)
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)


@reads_text("RankLib")
def score_ranklib(text: str, X: npt.ArrayLike) -> np.ndarray:
    """Score documents as RankLib will, from the text of a model file.

    A split goes left if and only if ``x <= threshold`` in single precision; a missing
    value is 0. Trees are summed in single precision, linear models in double.

    Parameters
    ----------
    text : str
        Text as returned by `to_ranklib`.
    X : array-like of shape (n_documents, n_features)
        One row per document; NaN is a missing value.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float32
        Scores.

    Raises
    ------
    ValueError
        If the text is no model of RankLib.
    TypeError
        If it is no text.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import score_ranklib, to_ranklib
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=20, random_state=0)
    >>> ranker = MART(n_estimators=5).fit(X, y, groups)
    >>> served = score_ranklib(to_ranklib(ranker, missing="zero"), X)
    >>> bool(np.allclose(served, ranker.predict(X.astype(np.float32)), atol=1e-5))
    True
    """
    rows = without_missing(single_rows(X))
    head, _, body = text.partition("\n")
    if head == _LINEAR:
        return _score_linear(body, rows)
    if head != _TREES:
        raise ValueError(f"the first line must be {_TREES!r} or {_LINEAR!r}")
    total = np.zeros(len(rows), dtype=np.float32)

    def goes_left(node, at):
        x = rows[at, _column(node[0].text, rows.shape[1])]
        return x <= np.float32(node[1].text)

    for tree in ElementTree.fromstring(body):
        values = leaf_values(
            tree[0],
            len(rows),
            goes_left,
            is_leaf=lambda node: node[0].tag == "output",
            children=lambda node: (node[2], node[3]),
            value=lambda node: finite_single(node[0].text, "output"),
        )
        # RankLib multiplies in double precision and keeps the sum in single precision.
        weight = np.float64(finite_single(tree.attrib["weight"], "weight"))
        total = (total + values * weight).astype(np.float32)
    return total


def _column(number, n_features):
    column = int(number) - 1
    if column < 0:  # which NumPy would count from the end
        raise ValueError(f"features count from 1, got {column + 1}")
    if column >= n_features:
        raise FeatureError(
            f"X must have at least {column + 1} features for this model, got "
            f"{n_features}"
        )
    return column


def _score_linear(body, rows):
    terms = dict(term.split(":") for term in body.split())
    for number, weight in terms.items():
        finite_single(weight, f"the weight of feature {number}")
    total = np.full(len(rows), float(terms.pop("0")))
    for number, weight in terms.items():
        column = rows[:, _column(number, rows.shape[1])]
        total += float(weight) * column.astype(np.float64)
    return total.astype(np.float32)
