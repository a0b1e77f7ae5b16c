"""What every sum of trees that was read must be, whatever the format of its file.

Model files and JSON say differently what the arrays are, and check their own types and
lengths. That nodes make trees, and that these split what the features are, is checked
here for both.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from skrank.trees import TreeEnsemble

MAX_CATEGORIES = 255


def check_parents(trees: TreeEnsemble) -> None:
    """Check that every node of a tree but the first is a child of one node.

    Parameters
    ----------
    trees : TreeEnsemble
        Trees whose children are later nodes of the same tree, which leaves no cycles.

    Raises
    ------
    ValueError
        If a node has no parent or several.
    """
    left = trees.left_[trees.feature_ >= 0].astype(np.int64)
    n_parents = np.bincount(np.append(left, left + 1), minlength=len(trees.feature_))
    n_parents[trees.roots_] += 1
    _refuse(
        trees,
        np.flatnonzero(n_parents != 1),
        "{tree}: every node but the first must be a child of one node",
    )


def check_splits(trees: TreeEnsemble, known: Mapping[int, int]) -> None:
    """Check that splits are by categories where features have them.

    Parameters
    ----------
    trees : TreeEnsemble
        Trees whose nodes have sets of categories that there are.
    known : mapping of int to int
        Number of categories of each categorical feature.

    Raises
    ------
    ValueError
        If a node splits a categorical feature as a number, or another one by
        categories, or chooses categories that the feature does not have.
    """
    features = np.array(sorted(known), dtype=np.int64)
    by_category = trees.category_ >= 0
    _refuse(
        trees,
        np.flatnonzero(np.isin(trees.feature_, features) != by_category),
        "{tree}, node {node}: splits of the features with categories, and they alone, "
        "choose categories",
    )
    nodes = np.flatnonzero(by_category)
    if not len(nodes):
        return
    counts = np.array([known[j] for j in features.tolist()])
    count = counts[np.searchsorted(features, trees.feature_[nodes])]
    beyond = trees.categories_[trees.category_[nodes]] & ~_first_members()[count]
    _refuse(
        trees,
        nodes[beyond.any(axis=1)],
        "{tree}, node {node}: categories must be some of those of its feature",
    )


def are_categories(values: np.ndarray, counts: npt.ArrayLike) -> bool:
    """Return whether numbers are known values of categorical features.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Those of all features, one feature after the other.
    counts : array-like of shape (n_features,)
        Number of values of each feature.

    Returns
    -------
    bool
        Whether they are finite, ascend within each feature and are not too many.
    """
    counts = np.asarray(counts)
    feature = np.repeat(np.arange(len(counts)), counts)
    ascends = (values[1:] > values[:-1]) | (feature[1:] != feature[:-1])
    return bool(
        (counts <= MAX_CATEGORIES).all() and np.isfinite(values).all() and ascends.all()
    )


def words_of_set(members) -> list[int]:
    """Return four words that hold a set of numbers, one bit for each."""
    words = [0, 0, 0, 0]
    for number in members:
        words[number >> 6] |= 1 << (number & 63)
    return words


def _first_members() -> np.ndarray:
    """Return the words of all numbers below 0, 1 and so on."""
    sets = [words_of_set(range(n)) for n in range(MAX_CATEGORIES + 1)]
    return np.array(sets, dtype=np.uint64)


def _refuse(trees: TreeEnsemble, nodes: np.ndarray, problem: str) -> None:
    """Raise an error about the first of some nodes, if there are any."""
    if not len(nodes):
        return
    tree = int(np.searchsorted(trees.roots_, nodes[0], side="right")) - 1
    node = int(nodes[0] - trees.roots_[tree])
    raise ValueError(problem.format(tree=f"tree {tree}", node=node))
