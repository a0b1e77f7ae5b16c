"""Contributions of features are Shapley values, by the sum over all coalitions."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from skrank.trees import TreeEnsemble, _forest

NODES = ("feature", "threshold", "left", "missing_left", "category", "value", "count")


def contributions(ensemble, X, background=None, scale=None, n_threads=1):
    """Call the kernel on the arrays of an ensemble."""
    Z = np.empty((0, X.shape[1]), dtype=X.dtype) if background is None else background
    scale = np.ones(ensemble.n_trees) if scale is None else scale
    arrays = *ensemble.arrays(), ensemble.count_
    return _forest.contributions(X, Z, *arrays, scale, n_threads)


def random_tree(rng, n_leaves, d, categorical=()):
    """Arrays of a tree that tests random features, often the same one again."""
    tree = {name: [0] for name in NODES}
    tree |= {"feature": [-1], "left": [-1], "category": [-1], "threshold": [np.inf]}
    tree["count"] = [int(rng.integers(2000, 3000))]
    sets = []
    for _ in range(n_leaves - 1):
        leaves = [k for k, f in enumerate(tree["feature"]) if f < 0]
        k = rng.choice([at for at in leaves if tree["count"][at] > 1])
        f = tree["feature"][k] = int(rng.integers(d))
        tree["left"][k] = len(tree["feature"])
        tree["missing_left"][k] = int(rng.integers(2))
        if f in categorical:
            tree["category"][k] = len(sets)
            sets.append(rng.integers(0, 2**63, size=4, dtype=np.uint64))
        else:
            tree["threshold"][k] = float(rng.normal())
        part = int(rng.integers(1, tree["count"][k]))
        for count in (part, tree["count"][k] - part):
            leaf = {"feature": -1, "left": -1, "category": -1, "threshold": np.inf}
            leaf |= {"missing_left": 0, "count": count, "value": float(rng.normal())}
            for name, value in leaf.items():
                tree[name].append(value)
    return tree, sets


def random_ensemble(seed, sizes, d, categorical=(), n_outputs=1):
    """An ensemble of random trees with leaves of these numbers."""
    rng = np.random.default_rng(seed)
    ensemble = TreeEnsemble.empty(n_outputs)
    sets = []
    for number, size in enumerate(sizes):
        tree, more = random_tree(rng, size, d, categorical)
        first = len(ensemble.feature_)
        for name, values in tree.items():
            old = getattr(ensemble, f"{name}_")
            new = np.array(values, dtype=old.dtype)
            if name == "left":
                new[new >= 0] += first
            if name == "category":
                new[new >= 0] += len(sets)
            setattr(ensemble, f"{name}_", np.concatenate([old, new]))
        sets += more
        ensemble.roots_ = np.append(ensemble.roots_, first)
        output = np.int32(number % n_outputs)
        ensemble.output_ = np.append(ensemble.output_, output)
    if sets:
        ensemble.categories_ = np.array(sets)
    return ensemble


def goes_left(ensemble, k, value):
    if np.isnan(value):
        return bool(ensemble.missing_left_[k])
    if ensemble.category_[k] < 0:
        return value <= ensemble.threshold_[k]
    words = ensemble.categories_[ensemble.category_[k]]
    return bool((int(words[int(value) // 64]) >> (int(value) % 64)) & 1)


def by_covers(ensemble, k, row, known):
    """Value of a node when only some features of a row are known."""
    f, left = ensemble.feature_[k], ensemble.left_[k]
    if f < 0:
        return ensemble.value_[k]
    if f in known:
        side = left if goes_left(ensemble, k, row[f]) else left + 1
        return by_covers(ensemble, side, row, known)
    share = ensemble.count_[left] / ensemble.count_[k]
    return share * by_covers(ensemble, left, row, known) + (1 - share) * by_covers(
        ensemble, left + 1, row, known
    )


def by_background(ensemble, k, row, known, Z):
    """Mean value of a node over rows that take some features from this one."""
    mixed = np.array(Z)
    mixed[:, list(known)] = row[list(known)]
    everything = set(range(len(row)))
    return np.mean([by_covers(ensemble, k, z, everything) for z in mixed])


def brute_force(ensemble, row, scale, game):
    """Shapley values by the sum over all coalitions, and the value of the empty one."""
    d = len(row)

    def value(known):
        pairs = zip(ensemble.roots_, scale, strict=True)
        return sum(s * game(ensemble, root, row, known) for root, s in pairs)

    values = {
        frozenset(known): value(known)
        for size in range(d + 1)
        for known in combinations(range(d), size)
    }
    phi = np.zeros(d)
    for known, before in values.items():
        for j in set(range(d)) - known:
            weight = factorial(len(known)) * factorial(d - len(known) - 1)
            phi[j] += weight / factorial(d) * (values[known | {j}] - before)
    return phi, values[frozenset()]


def rows(seed, n, d, categorical=()):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, list(categorical)] = np.floor(100 + 50 * X[:, list(categorical)]).clip(0, 255)
    X[np.random.default_rng(seed + 1).random((n, d)) < 0.15] = np.nan
    return X


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("sizes", [[2], [8, 1, 5], [16, 16], [40]])
@pytest.mark.parametrize("categorical", [(), (0, 2)])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_equal_to_the_sum_over_coalitions(sizes, categorical, n_outputs, background):
    ensemble = random_ensemble(len(sizes), sizes, 5, categorical, n_outputs)
    X, Z = rows(0, 4, 5, categorical), rows(5, 7, 5, categorical)
    scale = np.linspace(-1, 2, len(sizes))
    game = by_covers
    if background:

        def game(ensemble, k, row, known):
            return by_background(ensemble, k, row, known, Z)

    found, mean = contributions(ensemble, X, Z if background else None, scale)
    for row, phi in zip(X, found, strict=True):
        expected, empty = brute_force(ensemble, row, scale, game)
        np.testing.assert_allclose(phi, expected, rtol=0, atol=1e-12)
        assert mean == pytest.approx(empty, abs=1e-12)
