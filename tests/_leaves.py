"""Leaves of rows, and the trees above them, for tests that compute values anew."""

from copy import copy

import numpy as np

from skrank._rows import GroupedRows
from skrank.rankers._row_order import ordered_by_content


def leaf_of_rows(forest, X, tree):
    """The node in which every row ends; X is as `TreeEnsemble.add_to` takes it."""
    numbered = copy(forest)
    vars(numbered).pop("terms_", None)
    numbered.value_ = np.arange(len(forest.value_), dtype=float)
    found = np.zeros((len(X), forest.n_outputs))
    numbered.add_to(found, X, tree, tree + 1)
    return found[:, forest.output_[tree]].astype(int)


def parents_of(forest):
    """The parent of every node, -1 for roots."""
    parent = np.full(len(forest.feature_), -1)
    inner = np.flatnonzero(forest.feature_ >= 0)
    parent[forest.left_[inner]] = parent[forest.left_[inner] + 1] = inner
    return parent


def path_to(parent, node):
    """The nodes from the root to a node, both included."""
    path = [node]
    while parent[path[-1]] >= 0:
        path.append(parent[path[-1]])
    return path[::-1]


def starts_of_queries(groups):
    """The pointer array of queries whose ids ascend."""
    return np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [len(groups)]])


def as_trees_see_them(X, y, groups):
    """The rows of ascending queries in the order in which trees learn from them.

    Losses break ties by it, so that only there a plain loop has the same ones.
    """
    order = ordered_by_content(GroupedRows(X, y, starts_of_queries(groups))).X.order
    return X[order], y[order], groups[order]
