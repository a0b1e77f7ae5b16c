"""What trees of a file must be, node by node."""

from types import SimpleNamespace

import numpy as np
import pytest

from skrank.export._tree_state import are_categories, check_parents, check_splits


def trees_of(feature, **arrays):
    """Return what the checks look at, of a single tree."""
    n = len(feature)
    arrays = {
        "left_": np.zeros(n, dtype=int),
        "category_": np.full(n, -1),
        "roots_": np.array([0]),
    } | arrays
    return SimpleNamespace(feature_=np.array(feature), **arrays)


@pytest.mark.parametrize(
    ("feature", "left"),
    [([-1, -1, -1], [0, 0, 0]), ([0, 0, -1, -1], [1, 2, 0, 0])],
    ids=["no parent", "two parents"],
)
def test_every_node_has_one_parent(feature, left):
    with pytest.raises(ValueError, match="must be a child"):
        check_parents(trees_of(feature, left_=np.array(left)))


def test_categories_ascend_within_each_feature():
    assert are_categories(np.array([0.0, 1.0, 0.0, 2.0]), [2, 2])
    assert not are_categories(np.array([0.0, 1.0, 2.0, 0.0]), [2, 2])


def test_there_may_be_255_categories():
    assert are_categories(np.arange(255.0), [255])
    assert not are_categories(np.arange(256.0), [256])
    words = [[2**64 - 1] * 3 + [2**63 - 1]]
    trees = trees_of([0, -1, -1], categories_=np.array(words, dtype=np.uint64))
    trees.category_[0] = 0
    check_splits(trees, {0: 255})
    with pytest.raises(ValueError, match="tree 0, node 0: categories must be some of"):
        check_splits(trees, {0: 254})


def test_the_tree_and_the_node_are_named():
    trees = trees_of([-1, 0, -1, -1], roots_=np.array([0, 1]))
    with pytest.raises(ValueError, match=r"^tree 1, node 0: splits of"):
        check_splits(trees, {0: 2})
