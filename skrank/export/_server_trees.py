"""Trees in single precision, as search engines hold them.

A search engine holds features and thresholds as 32-bit floats. For such a feature,
:math:`x \\le t` is the same as :math:`x \\le t'` with the largest 32-bit float
:math:`t' \\le t`, so that every feature value goes the same way in both systems.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsFloat, get_args

import numpy as np
import numpy.typing as npt

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._missing import rows_with_nan, unmasked
from skrank._core._numbers import is_mixed
from skrank.export._scoring import TreeFunction, as_names
from skrank.export._texts import FeatureError

LARGEST = np.finfo(np.float32).max
Missing = Literal["learned", "zero"]


@dataclass(frozen=True)
class ServerTree:
    """One tree, whose children are indices of its own nodes.

    Attributes
    ----------
    feature : list of int
        Feature of each node, -1 for a leaf.
    threshold : ndarray of float32
        Largest value that goes left at each node; infinite or the largest float where
        every value does.
    left : list of int
        Left child of each node; the right child is the node after it.
    missing_left : list of bool
        Whether a missing value goes left at each node.
    value : ndarray of float32
        Value of each leaf.
    """

    feature: list[int]
    threshold: np.ndarray
    left: list[int]
    missing_left: list[bool]
    value: np.ndarray

    def all_left(self, k: int) -> bool:
        """Return whether every value goes left at a node."""
        return bool(self.threshold[k] >= LARGEST)

    def from_leaves_up(self) -> list[int]:
        """Return the nodes in an order in which children come before their parents."""
        order, stack = [], [0]
        while stack:
            k = stack.pop()
            order.append(k)
            if self.feature[k] >= 0:
                stack += [self.left[k], self.left[k] + 1]
        return order[::-1]

    def depths(self) -> list[int]:
        """Return the depth of every node."""
        depth = [0] * len(self.feature)
        for k in reversed(self.from_leaves_up()):
            if self.feature[k] >= 0:
                depth[self.left[k]] = depth[self.left[k] + 1] = depth[k] + 1
        return depth


def round_down(thresholds: npt.ArrayLike) -> np.ndarray:
    """Return the largest single precision numbers that are not above the given ones."""
    with quiet():
        rounded = np.asarray(thresholds).astype(np.float32)
    # The conversion rounds to the nearest number, which may lie above.
    above = rounded.astype(np.float64) > np.asarray(thresholds)
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def single(values: npt.ArrayLike, what: str) -> np.ndarray:
    """Convert to single precision; raise an error if a value does not fit into it."""
    with quiet():
        rounded = np.asarray(values, dtype=np.float64).astype(np.float32)
    if not np.all(np.isfinite(rounded)):
        raise ValueError(f"{what} is not finite in single precision; scale the grades")
    return rounded


def server_trees(
    function: TreeFunction, missing: Missing, server: str
) -> list[ServerTree]:
    """Return the trees of a function; a baseline becomes a first tree of one leaf.

    Parameters
    ----------
    function : TreeFunction
        The scoring function.
    missing : {"learned", "zero"}
        Side that missing values go to: the learned one, or that of 0.
    server : str
        Name of the search engine, for error messages.

    Returns
    -------
    list of ServerTree

    Raises
    ------
    ValueError
        If a split is by category, or a number does not fit into single precision.
    """
    if not isinstance(missing, str) or missing not in get_args(Missing):
        raise ValueError(f"missing must be 'learned' or 'zero', got {shown(missing)}")
    ensemble: Any = function.ensemble
    by_category = np.flatnonzero(ensemble.category_ >= 0)
    if len(by_category):
        raise ValueError(
            f"feature {ensemble.feature_[by_category[0]]} is categorical, and {server} "
            "has no splits by category; encode the feature as numbers, as by "
            "OneHotEncoder, and fit without categorical_features"
        )
    threshold = round_down(ensemble.threshold_)
    learned = ensemble.missing_left_.astype(bool)
    goes_left = learned if missing == "learned" else threshold >= 0
    value = single(ensemble.value_, "the value of a leaf")
    ends = [*ensemble.roots_[1:].tolist(), len(threshold)]
    trees = [
        ServerTree(
            feature=ensemble.feature_[start:end].tolist(),
            threshold=threshold[start:end],
            left=(ensemble.left_[start:end] - start).tolist(),
            missing_left=goes_left[start:end].tolist(),
            value=value[start:end],
        )
        for start, end in zip(ensemble.roots_.tolist(), ends)
    ]
    if function.baseline or not trees:
        trees.insert(0, _constant(function.baseline))
    return trees


def _constant(score):
    value = single([score], "the baseline")
    return ServerTree([-1], np.zeros(1, dtype=np.float32), [-1], [False], value)


def single_rows(X: npt.ArrayLike) -> np.ndarray:
    """Return the rows in single precision, as a search engine receives them."""
    try:
        X = np.asarray(rows_with_nan(np.asarray(unmasked(X))))
    except ValueError:  # lists of different lengths
        raise FeatureError("X must hold rows of equal length") from None
    if X.ndim != 2:
        raise FeatureError(f"X must have two dimensions, got shape {X.shape}")
    has_dates = X.dtype == object and is_mixed(X, (np.datetime64, np.timedelta64))
    if X.dtype.kind in "cmM" or has_dates:  # NumPy would make numbers of these
        raise FeatureError(f"X must hold numbers, got {X.dtype}")
    try:
        with quiet():
            return np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise FeatureError(f"X must hold numbers: {error}") from None


def columns_of(
    names: Iterable[str], feature_names: Sequence[str] | None, X: Any
) -> dict[str, int]:
    """Return the column of each feature.

    Parameters
    ----------
    names : iterable of str
        Names of the features that a model asks for.
    feature_names : sequence of str or None
        Names of the columns; None takes those of a data frame.
    X : array-like of shape (n_documents, n_features)
        Rows to score.

    Returns
    -------
    dict of str to int
        Columns by the names of the features.

    Raises
    ------
    ValueError
        If the columns have no names, or the model asks for an unknown feature.
    """
    if feature_names is None:
        feature_names = getattr(X, "columns", None)
    if feature_names is None:
        raise FeatureError("feature_names is missing: the columns of X have no names")
    try:
        columns = {str(name): j for j, name in enumerate(as_names(feature_names))}
    except TypeError as error:
        raise FeatureError(str(error)) from None
    if len(columns) != X.shape[1]:
        raise FeatureError(
            f"feature_names must name the {X.shape[1]} columns of X, got {len(columns)}"
        )
    for name in names:
        if name not in columns:
            raise FeatureError(
                f"the model asks for feature {shown(name)}, which X lacks"
            )
    return columns


def leaf_values(
    root: Any,
    n_rows: int,
    goes_left: Callable[[Any, np.ndarray], np.ndarray],
    is_leaf: Callable[[Any], bool],
    children: Callable[[Any], tuple[Any, Any]],
    value: Callable[[Any], Any],
) -> np.ndarray:
    """Return the value of the leaf that each row ends in.

    Parameters
    ----------
    root : object
        Root of the tree.
    n_rows : int
        Number of rows.
    goes_left : callable
        ``goes_left(node, rows)`` returns a mask of the rows, given by their numbers.
    is_leaf : callable
        ``is_leaf(node)`` returns whether a node is a leaf.
    children : callable
        ``children(node)`` returns the left and the right child.
    value : callable
        ``value(node)`` returns the value of a leaf.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float32
        Values of the leaves.
    """
    found = np.empty(n_rows, dtype=np.float32)
    # A stack instead of recursion: trees may be deeper than Python allows calls.
    stack = [(root, np.arange(n_rows))]
    while stack:
        node, rows = stack.pop()
        if is_leaf(node):
            found[rows] = value(node)
        elif len(rows):
            left = goes_left(node, rows)
            first, second = children(node)
            stack += [(first, rows[left]), (second, rows[~left])]
    return found


def sum_of_products(X: np.ndarray, weights: Iterable[SupportsFloat]) -> np.ndarray:
    """Return sums of products in single precision, added column by column."""
    # Servers add one product after another. NumPy would add in pairs, which rounds
    # otherwise.
    total = np.zeros(len(X), dtype=np.float32)
    for j, weight in enumerate(weights):
        total += X[:, j] * np.float32(weight)
    return total


def without_missing(rows: np.ndarray) -> np.ndarray:
    """Return the rows with 0 for missing values."""
    return np.where(np.isnan(rows), np.float32(0), rows)
