"""Trees in single precision, as serving systems hold them.

A system holds features and thresholds as 32-bit floats. For such a feature,
:math:`x \\le t` is the same as :math:`x \\le t'` with the largest 32-bit float
:math:`t' \\le t`, so every feature value goes the way it goes here.
"""

from dataclasses import dataclass

import numpy as np

LARGEST = np.finfo(np.float32).max
MISSING = ("learned", "zero")


@dataclass(frozen=True)
class ServerTree:
    """One tree; children are indices of its own nodes.

    Attributes
    ----------
    feature : list of int
        Feature of a node, -1 for a leaf.
    threshold : ndarray of float32
        A value that is at most this goes left; infinite or the largest float where
        every value does.
    left : list of int
        Left child; the right one is the next node.
    missing_left : list of bool
        Whether a missing value goes left.
    value : ndarray of float32
        Of leaves.
    """

    feature: list
    threshold: np.ndarray
    left: list
    missing_left: list
    value: np.ndarray

    def all_left(self, k):
        """Whether every value goes left at a node."""
        return bool(self.threshold[k] >= LARGEST)

    def from_leaves_up(self):
        """Nodes in an order in which children come before their parents."""
        order, stack = [], [0]
        while stack:
            k = stack.pop()
            order.append(k)
            if self.feature[k] >= 0:
                stack += [self.left[k], self.left[k] + 1]
        return order[::-1]

    def depths(self):
        """Depth of every node."""
        depth = [0] * len(self.feature)
        for k in reversed(self.from_leaves_up()):
            if self.feature[k] >= 0:
                depth[self.left[k]] = depth[self.left[k] + 1] = depth[k] + 1
        return depth


def round_down(thresholds):
    """Largest single precision numbers that are not above the given ones."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(thresholds).astype(np.float32)
    above = rounded.astype(np.float64) > thresholds
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def single(values, what):
    """Values in single precision, which must be able to hold them."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, dtype=np.float64).astype(np.float32)
    if not np.all(np.isfinite(rounded)):
        raise ValueError(f"{what} is not finite in single precision; scale the grades")
    return rounded


def server_trees(function, missing, server):
    """Trees of a function; the first is a leaf with the baseline if there is any.

    Parameters
    ----------
    function : TreeFunction
        Scoring function.
    missing : {"learned", "zero"}
        Where missing values go: as learned, or where 0 goes.
    server : str
        For error messages.

    Returns
    -------
    list of ServerTree

    Raises
    ------
    ValueError
        If a split is by category, or a value cannot be held.
    """
    if missing not in MISSING:
        raise ValueError(f"missing must be 'learned' or 'zero', got {missing!r}")
    ensemble = function.ensemble
    by_category = np.flatnonzero(ensemble.category_ >= 0)
    if len(by_category):
        raise ValueError(
            f"feature {ensemble.feature_[by_category[0]]} is categorical, and {server} "
            "knows no splits by category; encode the feature as numbers, as by "
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


def single_rows(X):
    """Rows in single precision, as a system receives them."""
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32)


def columns_of(names, feature_names, X):
    """Column of each name.

    Parameters
    ----------
    names : iterable of str
        Features that a model asks for.
    feature_names : sequence of str or None
        Names of the columns; None takes those of a data frame.
    X : array-like of shape (n_documents, n_features)
        Rows.

    Returns
    -------
    dict of str to int

    Raises
    ------
    ValueError
        If a feature is unknown.
    """
    if feature_names is None:
        feature_names = getattr(X, "columns", None)
    if feature_names is None:
        raise ValueError("feature_names is missing: the columns of X have no names")
    columns = {str(name): j for j, name in enumerate(feature_names)}
    if len(columns) != X.shape[1]:
        raise ValueError(
            f"feature_names must name the {X.shape[1]} columns of X, got {len(columns)}"
        )
    for name in names:
        if name not in columns:
            raise ValueError(f"the model asks for feature {name!r}, which X lacks")
    return columns


def leaf_values(root, n_rows, goes_left, is_leaf, children, value):
    """Value of the leaf of each row.

    Parameters
    ----------
    root : object
        First node.
    n_rows : int
        Number of rows.
    goes_left : callable
        From a node and row numbers to a mask.
    is_leaf : callable
        Whether a node is a leaf.
    children : callable
        Left and right child of a node.
    value : callable
        Value of a leaf.

    Returns
    -------
    ndarray of float32
    """
    found = np.empty(n_rows, dtype=np.float32)
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


def sum_of_products(X, weights):
    """Sum of products in single precision, one after another as a server adds."""
    total = np.zeros(len(X), dtype=np.float32)
    for j, weight in enumerate(weights):
        total += X[:, j] * np.float32(weight)
    return total


def without_missing(rows):
    """Rows with 0 for missing values."""
    return np.where(np.isnan(rows), np.float32(0), rows)
