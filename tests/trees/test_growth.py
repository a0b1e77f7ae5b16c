"""Other orders of growth: level by level, and symmetric trees by exhaustive search."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from _growing import (
    MOST,
    assert_same_trees,
    cuts,
    gain_of,
    goes_left,
    grow,
    large_problem,
    make_grower,
    predict,
    rows_of_nodes,
    singles,
    some_rows,
    whole_numbers,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

MODES = ["leaf", "depth", "symmetric"]


def depths(tree):
    depth = np.zeros(len(tree["feature"]), dtype=int)
    for k in np.flatnonzero(tree["feature"] >= 0):
        depth[tree["left"][k]] = depth[tree["left"][k] + 1] = depth[k] + 1
    return depth


def splits_in_order(tree):
    inner = np.flatnonzero(tree["feature"] >= 0)
    return inner[np.argsort(tree["left"][inner])]


@pytest.mark.parametrize("n_leaves", [3, 6, 11, 40])
def test_levels_are_split_one_after_the_other(rng, n_leaves):
    X = some_rows(rng, 80, 4)
    gradient, hessian = whole_numbers(rng, 80)
    _, grower = make_grower(X)
    tree = grow(grower, gradient, hessian, growth="depth", max_leaf_nodes=n_leaves)
    order = splits_in_order(tree)
    depth = depths(tree)[order]
    assert (np.diff(depth) >= 0).all()
    for level in range(depth.max() + 1):  # within a level, the best leaf first
        assert (np.diff(tree["gain"][order[depth == level]]) <= 0).all()
    assert len(order) == n_leaves - 1


def test_every_order_comes_to_the_same_leaves(rng):
    """Whatever order leaves are split in, each is split by its own best split."""
    X = some_rows(rng, 80, 4)
    gradient, hessian = whole_numbers(rng, 80)
    mapper, grower = make_grower(X, categorical=[1])
    options = {"max_leaf_nodes": 1000, "max_depth": 4, "min_samples_leaf": 3}
    by_leaf, by_depth = (
        grow(grower, gradient, hessian, growth=growth, **options)
        for growth in ("leaf", "depth")
    )
    assert sorted(by_leaf["gain"]) == sorted(by_depth["gain"])
    np.testing.assert_array_equal(
        predict(by_leaf, mapper, X), predict(by_depth, mapper, X)
    )


def gain_in_leaf(left, g, h, *, l2, least, min_weight):
    """What a split gains in one leaf, 0 where the leaf is left as it is."""
    sizes, weights = (left.sum(), (~left).sum()), (h[left].sum(), h[~left].sum())
    if least > 1:  # a share of the Hessian, too
        min_weight = max(min_weight, (least - 1e-6) / len(left) * h.sum())
    if min(sizes) < least or min(weights) < min_weight or min(sizes) == 0:
        return 0.0
    gain = gain_of(left, g, h, l2)
    return gain if gain > 1e-9 else 0.0


def split_of(tree, k):
    """What decides which side rows go to at a node."""
    levels = tree["categories"][tree["category"][k]] if tree["category"][k] >= 0 else ()
    return [*(tree[name][k] for name in ("feature", "bin", "missing_left")), *levels]


def check_symmetric(
    tree, mapper, X, g, h, *, max_depth, rows=None, ratio=0.0, alone=(), **limits
):
    """Each level is split where the sum over its leaves is the best of all."""
    noise = ratio * (g**2).sum() / h.sum()
    limits = FREE | limits
    rows_of = rows_of_nodes(
        tree, mapper, X, np.arange(len(X)) if rows is None else rows
    )
    frontier, n_levels = [0], 0
    while True:
        leaves = [rows_of[k] for k in frontier]
        best = max(
            sum(gain_in_leaf(left[own], g[own], h[own], **limits) for own in leaves)
            for j, column in enumerate(X.T)
            for left in (singles if j in alone else cuts)(column)
        )
        least = 1e-9
        if n_levels:
            least += noise * sum(len(own) >= 2 * limits["least"] for own in leaves)
        # Leaves of the level that are split are those whose children come next.
        first = min(
            (tree["left"][k] for k in frontier if tree["feature"][k] >= 0), default=0
        )
        if not first or n_levels == max_depth:
            assert not first
            assert n_levels == max_depth or best < least
            return n_levels
        test = min(
            (k for k in frontier if tree["feature"][k] >= 0),
            key=lambda k: tree["left"][k],
        )
        found, following = 0.0, []
        for k in frontier:
            left = goes_left(tree, mapper, test, X[rows_of[k]])
            gain = gain_in_leaf(left, g[rows_of[k]], h[rows_of[k]], **limits)
            found += gain
            if gain == 0.0:
                following.append(k)  # left as it is
                continue
            assert split_of(tree, k) == split_of(tree, test)
            np.testing.assert_allclose(tree["gain"][k], gain, rtol=1e-9)
            following += [tree["left"][k], tree["left"][k] + 1]
        np.testing.assert_allclose(found, best, rtol=1e-9)
        assert found >= least
        frontier, n_levels = following, n_levels + 1


FREE = {"l2": 0.0, "least": 1, "min_weight": 0.0}
LIMITS = [{}, {"l2": 3.0}, {"min_weight": 9.0}, {"l2": 0.5, "min_weight": 1.0}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_bytes", [0, 1 << 27])
def test_every_level_has_the_best_split_in_sum(seed, limits, max_bytes):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 60, 4, missing=0.1 * seed)
    gradient, hessian = whole_numbers(rng, 60)
    mapper, grower = make_grower(X)
    options = {"growth": "symmetric", "max_depth": 3, "max_bytes": max_bytes}
    tree = grow(grower, gradient, hessian, **options, **limits)
    assert check_symmetric(tree, mapper, X, gradient, hessian, max_depth=3, **limits)
    assert (tree["feature"] >= 0).sum() >= 3


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_levels_that_stand_alone_are_parted_from_all_others(seed, limits):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 80, 3, missing=0.1 * seed)
    gradient, hessian = whole_numbers(rng, 80)
    mapper, grower = make_grower(X, alone=[0, 2])
    tree = grow(grower, gradient, hessian, growth="symmetric", max_depth=3, **limits)
    limits = limits | {"max_depth": 3, "alone": (0, 2)}
    assert check_symmetric(tree, mapper, X, gradient, hessian, **limits)
    assert (tree["category"] >= 0).any()


def levels_left(tree, k, n):
    """The levels, of n, that go left at a node."""
    words = tree["categories"][tree["category"][k]]
    return {b for b in range(n) if int(words[b // 64]) >> (b % 64) & 1}


@pytest.mark.parametrize("growth", MODES)
def test_a_level_that_stands_alone_leaves_all_others_on_one_side(growth):
    """Those that a node has no rows of are among the others."""
    found = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, size=(60, 1)).astype(float)
        X[rng.random(60) < 0.2] = np.nan
        rows = np.flatnonzero((X[:, 0] != 1) & (X[:, 0] != 4)).astype(np.int32)
        gradient, hessian = whole_numbers(rng, 60)
        gradient[rows[0]] = hessian[rows[0]] = MOST
        _, grower = make_grower(X, alone=[0])
        options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2}
        tree = grow(grower, gradient, hessian, rows, **options)
        left = levels_left(tree, 0, 6)
        # Missing values go right, beside the one or beside the others.
        assert left in (
            *({b} for b in (0, 2, 3, 5)),
            *({*range(6)} - {b} for b in (0, 2, 3, 5)),
            {*range(6)},
        )
        one = np.isin(X[rows, 0], [*left])
        best = max(
            gain_of(way, gradient[rows], hessian[rows], 0.0)
            for way in singles(X[rows, 0])
        )
        np.testing.assert_allclose(
            gain_of(one, gradient[rows], hessian[rows], 0.0), best
        )
        np.testing.assert_allclose(tree["gain"][0], best)
        found.add(len(left))
    assert found == {1, 5, 6}


@pytest.mark.parametrize("growth", MODES)
def test_rows_that_no_sum_tells_of_are_among_the_others(growth):
    """Whole levels, and missing values, without gradients and hessians are counted."""
    n, least = 60, 12
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = some_rows(rng, n, 1, missing=0.15 * (seed % 3))
        gradient, hessian = whole_numbers(rng, n)
        hidden = ~(X[:, 0] < 1 + seed % 4)
        gradient[hidden] = hessian[hidden] = 0.0
        first = np.flatnonzero(~hidden)[0]
        gradient[first] = hessian[first] = MOST
        limits = {"l2": 0.0, "least": least, "min_weight": 0.0}
        best = max(
            gain_in_leaf(left, gradient, hessian, **limits) for left in singles(X[:, 0])
        )
        _, grower = make_grower(X, alone=[0])
        options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2}
        tree = grow(grower, gradient, hessian, min_samples_leaf=least, **options)
        np.testing.assert_allclose(tree["gain"][0], best, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("least", [3, 9])
@pytest.mark.parametrize("seed", range(4))
def test_leaves_of_symmetric_trees_are_large_enough(seed, least, missing):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 60, 4, missing=missing)
    gradient, hessian = whole_numbers(rng, 60)
    mapper, grower = make_grower(X)
    options = {"growth": "symmetric", "max_depth": 4, "min_samples_leaf": least}
    tree = grow(grower, gradient, **options)
    check_symmetric(tree, mapper, X, gradient, np.ones(60), max_depth=4, least=least)
    # Of a bin, hessians say how many rows there are only about: a split that seems best
    # may leave too few of them.
    tree = grow(grower, gradient, hessian, **options)
    check_symmetric(tree, mapper, X, gradient, hessian, max_depth=4, least=least)
    hessian[::3] = 0.0
    tree = grow(grower, gradient, hessian, **options)
    rows_of = rows_of_nodes(tree, mapper, X, np.arange(60))
    for k, rows in rows_of.items():
        assert tree["count"][k] == len(rows) >= least


def test_a_level_that_proves_too_small_is_searched_by_counted_rows():
    # One row has most of the hessian, so that it looks like most of the rows.
    X = np.arange(20.0)[:, None]
    gradient = np.where(np.arange(20) == 0, 7.0, -1.0)
    hessian = np.where(np.arange(20) == 0, 7.0, 1.0)
    _, grower = make_grower(X)
    options = {"growth": "symmetric", "max_depth": 1, "min_samples_leaf": 5}
    tree = grow(grower, gradient, hessian, **options)
    assert sorted(tree["count"][1:]) == [5, 15]


def pairs_of_nodes(part, whole):
    """Nodes of a tree and those of a larger one that it is the top of."""
    pairs, k = [(0, 0)], 0
    while k < len(pairs):
        small, large = pairs[k]
        k += 1
        if part["feature"][small] < 0:
            continue
        for name in ("feature", "bin", "missing_left", "gain"):
            assert part[name][small] == whole[name][large]
        for side in (0, 1):
            pairs.append((part["left"][small] + side, whole["left"][large] + side))
    return pairs


@pytest.mark.parametrize("ratio", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_splits_after_the_first_gain_more_than_noise(rng, growth, ratio):
    X = some_rows(rng, 80, 4, missing=0.1)
    gradient, hessian = whole_numbers(rng, 80)
    _, grower = make_grower(X, categorical=[1])
    options = {"growth": growth, "max_leaf_nodes": 1000}
    whole = grow(grower, gradient, hessian, **options)
    part = grow(grower, gradient, hessian, min_gain_to_noise=ratio, **options)
    least = ratio * (gradient**2).sum() / hessian.sum()
    pairs = pairs_of_nodes(part, whole)
    assert len(pairs) == len(part["feature"]) < len(whole["feature"])
    for small, large in pairs:
        gains = whole["feature"][large] >= 0 and whole["gain"][large] > least
        assert (part["feature"][small] >= 0) == (gains or small == 0)


@pytest.mark.parametrize("ratio", [0.7, 1.3, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_levels_after_the_first_gain_more_than_noise(seed, ratio):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 80, 4)
    gradient, hessian = whole_numbers(rng, 80)
    mapper, grower = make_grower(X)
    options = {"growth": "symmetric", "max_depth": 5, "min_gain_to_noise": ratio}
    tree = grow(grower, gradient, hessian, **options)
    limits = {"max_depth": 5, "ratio": ratio}
    n_levels = check_symmetric(tree, mapper, X, gradient, hessian, **limits)
    assert n_levels < 5 or ratio < 1


def test_the_first_split_may_gain_less_than_noise(rng):
    X = some_rows(rng, 60, 4)
    gradient, hessian = whole_numbers(rng, 60)
    for growth in MODES:
        _, grower = make_grower(X)
        options = {"growth": growth, "min_gain_to_noise": 1e300}
        tree = grow(grower, gradient, hessian, **options)
        assert len(tree["feature"]) == 3
        # Without gradients there is nothing to compare, and nothing to split.
        assert len(grow(grower, 0 * gradient, hessian, **options)["feature"]) == 1


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_symmetric_tree_of_one_level_is_a_tree_of_two_leaves(data):
    n, d = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = some_rows(rng, n, d, missing=data.draw(st.sampled_from([0.0, 0.3, 1.0])))
    gradient, hessian = whole_numbers(rng, n)
    hessian[rng.random(n) < 0.2] = 0.0
    hessian[0] = MOST
    rows = None
    if data.draw(st.booleans()):
        rows = np.sort(rng.permutation(n)[: rng.integers(1, n + 1)]).astype(np.int32)
    monotonic = rng.integers(-1, 2, d) if data.draw(st.booleans()) else np.zeros(d)
    categorical = np.flatnonzero(monotonic == 0)[:1]
    _, grower = make_grower(X, categorical=categorical, monotonic=monotonic)
    options = {
        "l2": data.draw(st.sampled_from([0.0, 2.0])),
        "min_samples_leaf": data.draw(st.sampled_from([1, 4])),
    }
    one_level = grow(
        grower, gradient, hessian, rows, growth="symmetric", max_depth=1, **options
    )
    two_leaves = grow(grower, gradient, hessian, rows, max_leaf_nodes=2, **options)
    # Equal gains: one looks at empty bins of the drawn rows, and the other does not.
    np.testing.assert_allclose(one_level["gain"], two_leaves["gain"], rtol=1e-9)
    assert sorted(one_level["count"]) == sorted(two_leaves["count"])


def test_categories_are_ordered_by_what_they_deviate_in_the_leaves():
    """The second level cuts the order of deviations from the means of the first."""
    rng = np.random.default_rng(3)
    n = 400
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 7, n)]).astype(float)
    effect = np.array([3, -2, 0, 1, -3, 2, -1])[X[:, 1].astype(int)]
    gradient = np.clip(4 * (2 * X[:, 0] - 1) + effect, -MOST, MOST)
    gradient[0] = MOST
    _, grower = make_grower(X, categorical=[1])
    tree = grow(grower, gradient, growth="symmetric", max_depth=2)
    assert tree["feature"][0] == 0
    means = np.array([gradient[X[:, 0] == side].mean() for side in (0, 1)])
    deviation = gradient - means[X[:, 0].astype(int)]
    mean = [deviation[X[:, 1] == c].mean() for c in range(7)]
    order = np.argsort(mean)
    best = max(
        sum(
            gain_of(
                np.isin(X[own, 1], order[:cut]), gradient[own], np.ones(own.sum()), 0
            )
            for own in (X[:, 0] == 0, X[:, 0] == 1)
        )
        for cut in range(1, 7)
    )
    children = [tree["left"][0], tree["left"][0] + 1]
    assert (tree["feature"][children] == 1).all()
    np.testing.assert_allclose(tree["gain"][children].sum(), best)
    sets = tree["categories"][tree["category"][children]]
    np.testing.assert_array_equal(sets[0], sets[1])


@pytest.mark.parametrize("smoothing", [0.0, 30.0])
@pytest.mark.parametrize("seed", range(8))
def test_missing_and_absent_categories_of_a_level(seed, smoothing):
    """Missing values are on the side of the first or of the last categories."""
    rng = np.random.default_rng(seed)
    n = 300
    sizes = rng.permutation([0.02, 0.03, 0.05, 0.2, 0.3, 0.4])
    column = rng.choice(6, size=n, p=sizes).astype(float)
    column[rng.random(n) < 0.15] = np.nan
    X = np.column_stack([rng.integers(0, 2, n).astype(float), column])
    effect = np.append(rng.integers(-3, 4, 6), 3 * (-1) ** seed)
    codes = np.where(np.isnan(column), 6, column).astype(int)
    gradient = np.clip(4 * (2 * X[:, 0] - 1) + effect[codes], -MOST, MOST)
    gradient[0] = MOST
    _, grower = make_grower(X, categorical=[1])
    rows = np.flatnonzero(codes != 3).astype(np.int32)  # of one, nothing is known
    options = {"growth": "symmetric", "max_depth": 2, "smoothing": smoothing}
    tree = grow(grower, gradient, None, rows, **options)
    assert tree["feature"][0] == 0
    g, codes, side = gradient[rows], codes[rows], X[rows, 0].astype(int)
    means = np.array([g[side == k].mean() for k in (0, 1)])
    known = np.unique(codes[codes < 6])
    keys = [
        (g - means[side])[codes == c].sum() / ((codes == c).sum() + smoothing)
        for c in known
    ]
    order, found = known[np.argsort(keys, kind="stable")], []
    for cut in range(1, len(order) + 1):
        for first in (order[:cut], [*order[:cut], 6]):
            one = np.isin(codes, first)
            parts = [(one[side == k], g[side == k]) for k in (0, 1)]
            found.append(
                sum(gain_in_leaf(a, b, np.ones(len(b)), **FREE) for a, b in parts)
            )
    children = [tree["left"][0], tree["left"][0] + 1]
    assert (tree["feature"][children] == 1).all()
    np.testing.assert_allclose(tree["gain"][children].sum(), max(found))
    # The level of which nothing is known goes where more rows of the others go.
    left = levels_left(tree, children[0], 6)
    goes = np.isin(codes[codes < 6], list(left))
    assert (3 in left) == (goes.sum() > (~goes).sum())


def test_smoothing_moves_rare_categories_of_a_level_to_the_middle():
    """By means the rare one is last, and then no cut leaves enough rows."""
    sizes = [20, 5, 60]
    X = np.repeat(np.arange(3.0), sizes)[:, None]
    gradient = np.repeat([-2.0, 2.0, 1.0], sizes)
    _, grower = make_grower(X, categorical=[0])
    options = {"growth": "symmetric", "max_depth": 1, "min_samples_leaf": 22}
    tree = grow(grower, gradient, smoothing=0.0, **options)
    assert tree["feature"].tolist() == [-1]
    tree = grow(grower, gradient, smoothing=30.0, **options)
    assert sorted(tree["count"][1:]) == [25, 60]


@pytest.mark.parametrize("growth", MODES)
def test_of_equal_gains_the_first_feature_and_the_first_place_win(growth):
    column = np.arange(10.0)
    X = np.column_stack([np.zeros(10), column, column])
    rows = np.array([0, 1, 2, 3, 8, 9], dtype=np.int32)  # nothing in five bins
    mapper, grower = make_grower(X)
    gradient = np.where(column < 5, -3.0, 3.0)
    tree = grow(grower, gradient, None, rows, growth=growth, max_depth=1)
    assert tree["feature"][0] == 1
    assert 3.0 <= mapper.thresholds_[1, tree["bin"][0]] < 4.0


@pytest.mark.parametrize("constrained", [False, True])
def test_leaves_of_a_level_that_gain_too_little_stay_as_they_are(constrained):
    # One leaf would gain 9² + 9² + 5² + 5² - 4 * 7² = 16, and the other one 4.
    X = np.array([[0, 0], [0, 0], [0, 1], [0, 1]] * 2, dtype=float)
    X[4:, 0] = 1.0
    gradient = np.array([-9, -9, -5, -5, 6, 6, 8, 8], dtype=float)
    _, grower = make_grower(X, monotonic=[0, -1] if constrained else None)
    options = {"growth": "symmetric", "max_depth": 2}
    for least, sizes in ((3.0, [2, 2, 2, 2]), (5.0, [2, 2, 4]), (17.0, [4, 4])):
        tree = grow(grower, gradient, min_gain=least, **options)
        assert sorted(tree["count"][tree["feature"] < 0]) == sizes


@pytest.mark.parametrize("constrained", [False, True])
def test_what_leaves_gain_too_little_is_not_in_the_sum_of_a_level(constrained):
    # In four rows, the steps 2a and 2b of two features gain 4a² and 4b².
    X = np.array(list(product([0.0, 1.0], repeat=3)))
    sides = 2.0 * X - 1.0
    a, b = np.where(X[:, 0] == 0, 2.0, 1.0), 1.5
    gradient = 20.0 * sides[:, 0] + a * sides[:, 1] + b * sides[:, 2]
    _, grower = make_grower(X, monotonic=[0, -1, -1] if constrained else None)
    options = {"growth": "symmetric", "max_depth": 2}
    # 16 + 4 are more than 9 + 9, but not without the 4.
    for least, feature in ((0.0, 1), (5.0, 2)):
        tree = grow(grower, gradient, min_gain=least, **options)
        assert tree["feature"][:3].tolist() == [0, feature, feature]


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("growth", MODES)
def test_missing_values_join_the_side_that_they_resemble(growth, constrained):
    X = np.array([np.nan, np.nan, 0.0, 0.0, 1.0, 1.0])[:, None]
    for sign in (1.0, -1.0):
        gradient = np.array([5.0, 5.0, 5.0, 5.0, -5.0, -5.0])
        gradient[:2] *= sign
        _, grower = make_grower(X, monotonic=[1] if constrained else None)
        tree = grow(grower, gradient, growth=growth, max_depth=1)
        assert tree["missing_left"][0] == (sign == 1.0)
        assert sorted(tree["count"][1:]) == [2, 4]


def test_every_level_has_draws_of_its_own(rng):
    X = np.repeat(rng.normal(size=(500, 1)), 12, axis=1)  # all gain the same
    gradient = rng.normal(size=500)
    for options in ({"max_features": 1}, {"noise": 1.0}):
        _, grower = make_grower(X)
        trees = [
            grow(
                grower, gradient, growth="symmetric", max_depth=2, seed=seed, **options
            )
            for seed in range(20)
        ]
        first, second = ([tree["feature"][k] for tree in trees] for k in (0, 1))
        assert len(set(first)) > 5
        assert sum(a == b for a, b in zip(first, second)) < 10


@pytest.mark.parametrize("growth", MODES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sign=st.sampled_from([-1, 1]))
def test_monotonic_constraints_hold_everywhere(growth, seed, sign):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    gradient = np.nan_to_num(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2])
    gradient += rng.normal(size=120)
    mapper, grower = make_grower(X, monotonic=[sign, 0, -sign])
    options = {"growth": growth, "l2": 0.5, "stochastic": True, "noise": 1.0}
    options |= {"max_leaf_nodes": 25, "max_depth": 5}
    tree = grow(grower, gradient, rng.random(120) + 0.1, **options)
    steps = np.linspace(-4, 4, 60)
    for feature, direction in ((0, sign), (2, -sign)):
        lines = np.repeat(rng.normal(size=(20, 1, 3)), 60, axis=1)
        lines[:, :, feature] = steps
        values = predict(tree, mapper, lines.reshape(-1, 3)).reshape(20, 60)
        assert (direction * np.diff(values, axis=1) >= 0).all()


def test_constraints_that_do_not_bind_change_nothing(rng):
    X = some_rows(rng, 200, 3, missing=0.0)
    X[:, 0] = np.arange(200)
    gradient = -np.sort(rng.integers(-7, 8, size=200)).astype(float)
    gradient[0] = MOST
    options = {"growth": "symmetric", "max_depth": 1}
    trees = [
        grow(make_grower(X, monotonic=signs)[1], gradient, **options)
        for signs in ([0, 0, 0], [1, 0, 0])
    ]
    for name in ("feature", "bin", "count"):
        np.testing.assert_array_equal(trees[0][name], trees[1][name])


@pytest.mark.parametrize(
    ("growth", "noise"),
    [("depth", 0.0), ("symmetric", 0.0), ("symmetric", 2.0), ("leaf", 2.0)],
)
@pytest.mark.parametrize("d", [6, 36])
def test_threads_instructions_and_memory_do_not_change_a_bit(rng, growth, noise, d):
    X, gradient, hessian = large_problem(rng, n=20_000, d=d)
    subset = np.flatnonzero(rng.random(len(X)) < 0.7).astype(np.int32)
    _, grower = make_grower(X, categorical=[5])
    options = {"growth": growth, "max_depth": 5, "min_samples_leaf": 20}
    options |= {"stochastic": True, "max_leaf_nodes": 32, "noise": noise}
    ways = [
        (n, wide, most)
        for n in (1, 2, 16)
        for wide in (True, False)
        for most in (1 << 27, 400_000, 0)
    ]
    for rows in (None, subset):
        trees = [
            grow(
                grower,
                gradient,
                hessian,
                rows,
                n_threads=n,
                wide=wide,
                max_bytes=most,
                **options,
            )
            for n, wide, most in ways
        ]
        assert len(trees[0]["feature"]) > 30
        for tree in trees[1:]:
            assert_same_trees(tree, trees[0])


@pytest.mark.parametrize("growth", MODES)
def test_scores_of_the_rows_grown_on_are_those_of_the_nodes(rng, growth):
    X, gradient, hessian = large_problem(rng, n=3000, d=8)
    hessian[rng.random(3000) < 0.3] = 0.0  # rows that no sum tells of
    gradient[hessian == 0.0] = 0.0
    X[:, 0] = np.where(np.isnan(X[:, 0]) & (hessian > 0), 0.0, X[:, 0])
    mapper, grower = make_grower(X, categorical=[5])
    options = {"growth": growth, "max_leaf_nodes": 31, "max_depth": 5}
    tree = grow(grower, gradient, hessian, min_samples_leaf=5, **options)
    scores = np.zeros((2, 3000, 1))
    grower.add_to(scores[0])
    grower.add_to(scores[1], everywhere=True)
    expected = predict(tree, mapper, X.astype(float))
    np.testing.assert_array_equal(scores[:, :, 0], [expected, expected])


@pytest.mark.parametrize("growth", MODES)
def test_the_order_of_rows_does_not_matter(rng, growth):
    X = some_rows(rng, 300, 4)
    gradient, hessian = whole_numbers(rng, 300)
    order = rng.permutation(300)
    options = {"growth": growth, "max_depth": 4, "noise": 0.5}
    tree = grow(make_grower(X)[1], gradient, hessian, **options)
    moved = grow(make_grower(X[order])[1], gradient[order], hessian[order], **options)
    assert_same_trees(tree, moved)


@pytest.mark.parametrize("growth", MODES)
def test_repeated_rows_are_rows_of_more_weight(rng, growth):
    X = some_rows(rng, 80, 4)
    gradient, hessian = whole_numbers(rng, 80)
    times = rng.integers(1, 4, 80)
    options = {"growth": growth, "max_depth": 4, "l2": 1.0}
    _, grower = make_grower(X)
    weighted = grow(grower, times * gradient, times * hessian, **options)
    rows = np.repeat(np.arange(80), times)
    repeated = grow(make_grower(X[rows])[1], gradient[rows], hessian[rows], **options)
    np.testing.assert_array_equal(weighted["feature"], repeated["feature"])
    for name in ("value", "gain", "weight"):
        np.testing.assert_allclose(weighted[name], repeated[name], rtol=1e-3, atol=1e-3)


def test_a_level_tries_some_features(rng):
    X = rng.normal(size=(500, 12))
    gradient = X.sum(axis=1) + rng.normal(size=500)
    _, grower = make_grower(X)
    options = {"growth": "symmetric", "max_depth": 4}
    seen = []
    for seed in range(40):
        tree = grow(grower, gradient, max_features=1, seed=seed, **options)
        inner = tree["feature"] >= 0
        tests = {*zip(tree["feature"][inner], tree["bin"][inner])}
        assert 1 <= len(tests) <= 4
        seen += [feature for feature, _ in tests]
    assert len(set(seen)) == 12
    alike = [grow(grower, gradient, max_features=k, **options) for k in (0, 12)]
    assert_same_trees(*alike)


@pytest.mark.parametrize(
    ("X", "gradient", "hessian"),
    [
        (np.ones((50, 3)), np.arange(50.0), None),
        (np.full((50, 3), np.nan), np.arange(50.0), None),
        (np.arange(50.0)[:, None], np.zeros(50), None),
        (np.arange(50.0)[:, None], np.arange(50.0), np.zeros(50)),
        (np.ones((1, 1)), np.ones(1), None),
    ],
    ids=["constant", "missing", "no gradient", "no hessian", "one row"],
)
@pytest.mark.parametrize("growth", ["depth", "symmetric"])
def test_nothing_to_split(X, gradient, hessian, growth):
    _, grower = make_grower(X)
    tree = grow(grower, gradient, hessian, growth=growth)
    assert tree["feature"].tolist() == [-1]


def test_a_symmetric_tree_without_a_limit_ends(rng):
    X = some_rows(rng, 60, 4)
    gradient, hessian = whole_numbers(rng, 60)
    mapper, grower = make_grower(X)
    tree = grow(grower, gradient, hessian, growth="symmetric", max_depth=0)
    assert check_symmetric(tree, mapper, X, gradient, hessian, max_depth=np.inf) > 3


@pytest.mark.parametrize("growth", MODES)
def test_noise_decides_as_often_as_its_scale_says(growth):
    """Two features of one threshold each; scores are roots of what sides explain."""
    rng = np.random.default_rng(5)
    n, strength, n_draws = 400, 0.4, 1500
    X = rng.integers(0, 2, size=(n, 2)).astype(float)
    effect = 2.0 * X[:, 0] + 1.7 * X[:, 1]
    gradient = np.clip(np.round(effect + rng.normal(size=n) * 3), -MOST, MOST)
    gradient[0] = MOST
    hessian = rng.integers(1, 8, size=n).astype(float)
    hessian[0] = MOST
    _, grower = make_grower(X)
    explained = [
        gain_of(column == 0, gradient, hessian, 0.0)
        + gradient.sum() ** 2 / hessian.sum()
        for column in X.T
    ]
    spread = strength * np.sqrt((gradient**2).sum() / hessian.sum())
    gap = np.diff(np.sqrt(explained))[0] / (spread * np.sqrt(2.0))
    expected = norm.cdf(gap)  # that the second one is chosen
    options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2}
    chosen = [
        grow(grower, gradient, hessian, noise=strength, seed=seed, **options)[
            "feature"
        ][0]
        for seed in range(n_draws)
    ]
    assert 0.1 < expected < 0.9
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert abs(np.mean(chosen) - expected) < 4 * error


@pytest.mark.parametrize("growth", MODES)
def test_noise_never_chooses_a_split_without_gain(growth):
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    gradient = np.array([1.0, -1, 1, -1]) * MOST  # the first two are worth nothing
    _, grower = make_grower(X)
    options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2, "noise": 100.0}
    for seed in range(20):
        tree = grow(grower, gradient, np.full(4, 1.0 * MOST), seed=seed, **options)
        assert (tree["feature"][0], tree["bin"][0]) == (0, 1)
        assert tree["gain"][0] > 0


@pytest.mark.parametrize("growth", MODES)
def test_noise_never_chooses_a_place_without_gain_between_others(growth):
    X = np.arange(4.0)[:, None]
    gradient = np.array([1.0, -1, 1, -1]) * MOST  # the middle gains nothing
    _, grower = make_grower(X)
    options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2, "noise": 100.0}
    for seed in range(20):
        tree = grow(grower, gradient, np.full(4, 1.0 * MOST), seed=seed, **options)
        assert tree["bin"][0] in (0, 2)
        assert tree["gain"][0] > 0


def mixed(x):
    """The random number of a counter, as the header on chance defines it."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def noise_of(seed, feature, place, side):
    """The noise of a split of the root, whose sum of four numbers is scaled."""
    bits = mixed(mixed(mixed(seed + 2)) ^ (feature << 9 | side << 8 | place))
    total = sum(bits >> shift & 0xFFFF for shift in (0, 16, 32, 48))
    return (total - 131070.0) / 37837.227


def places_of(column, g, h, levels=None):
    """What splits of a feature are numbered by, and which rows go left."""
    missing = np.isnan(column)
    known = np.unique(column[~missing])
    if levels is not None:
        means = [g[column == value].sum() / h[column == value].sum() for value in known]
        known = known[np.argsort(means, kind="stable")]
    parts = [np.isin(column, known[: n + 1]) for n in range(len(known))]
    if levels == "alone":
        parts = [*(column == value for value in known), ~missing]
    for place, part in enumerate(parts):
        # Of levels, missing values always go right, and the others left.
        second = part | missing if levels is None else ~(part | missing)
        for side, left in enumerate((part, second) if missing.any() else (part,)):
            if left.any() and not left.all():
                yield place, bool(side), left


@pytest.mark.parametrize("growth", MODES)
@pytest.mark.parametrize("strength", [0.01, 0.3, 3.0])
def test_the_best_score_of_all_splits_wins_whatever_was_not_drawn(growth, strength):
    rng = np.random.default_rng(8)
    X = rng.integers(0, 40, size=(300, 12)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    gradient, hessian = whole_numbers(rng, 300)
    effect = (X[:, 3] % 18 > 11) + 1.5 * (X[:, 6] // 6 == 4)
    gradient = np.clip(np.round(gradient + 3 * effect), -MOST, MOST)
    X[:, [3, 6]] = np.where(np.isnan(X[:, [3, 6]]), np.nan, X[:, [3, 6]] // 6)
    mapper, grower = make_grower(X, categorical=[3], alone=[6])
    spread = strength * np.sqrt((gradient**2).sum() / hessian.sum())
    before = gradient.sum() ** 2 / hessian.sum()
    kinds = {3: "categorical", 6: "alone"}
    candidates = [
        (f, place, side, left, gain_of(left, gradient, hessian, 0.0))
        for f, column in enumerate(X.T)
        for place, side, left in places_of(column, gradient, hessian, kinds.get(f))
    ]
    features = set()
    for seed in range(60):
        scores = [
            np.sqrt(before + gain) + spread * noise_of(seed, f, place, side)
            for f, place, side, _, gain in candidates
        ]
        f, _, _, left, gain = candidates[int(np.argmax(scores))]
        options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2}
        tree = grow(grower, gradient, hessian, noise=strength, seed=seed, **options)
        assert tree["feature"][0] == f
        np.testing.assert_array_equal(goes_left(tree, mapper, 0, X), left)
        np.testing.assert_allclose(tree["gain"][0], gain)
        features.add(f)
    assert features >= ({3, 6} if strength == 0.3 else set())


@pytest.mark.parametrize("growth", MODES)
def test_the_least_noise_that_makes_a_score_better_is_enough(growth):
    """Of two features that gain the same, the second one draws a sum higher by 1."""
    seed = 171678
    apart = noise_of(seed, 1, 0, 0) - noise_of(seed, 0, 0, 0)
    np.testing.assert_allclose(apart, 1.0 / 37837.227, rtol=1e-9)
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    gradient, hessian = np.array([1.0, -1]) * MOST, np.full(2, 1.0 * MOST)
    _, grower = make_grower(X)
    options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2, "noise": 1.0}
    tree = grow(grower, gradient, hessian, seed=seed, **options)
    assert tree["feature"][0] == 1


@pytest.mark.parametrize("growth", MODES)
def test_noise_never_takes_a_split_that_gains_nothing(growth, rng):
    X = rng.integers(0, 2, size=(300, 40)).astype(float)
    gradient = np.where(X[:, 7] > 0, 1.0, -1.0)
    _, grower = make_grower(X)
    tree = grow(grower, gradient, growth=growth, max_depth=4, noise=10.0)
    assert (tree["gain"][tree["feature"] >= 0] > 0).all()


@pytest.mark.parametrize("growth", MODES)
def test_weights_count_in_the_search_only(growth, rng):
    X = some_rows(rng, 80, 4)
    gradient, hessian = whole_numbers(rng, 80)
    weight = rng.integers(1, 4, size=80).astype(float)
    options = {"growth": growth, "max_depth": 4}
    mapper, grower = make_grower(X)
    weighted = grow(grower, gradient, hessian, weight=weight, **options)
    scaled = grow(grower, weight * gradient, weight * hessian, **options)
    for name in ("feature", "bin", "gain", "count"):
        np.testing.assert_array_equal(weighted[name], scaled[name])
    for k, rows in rows_of_nodes(weighted, mapper, X, np.arange(80)).items():
        np.testing.assert_allclose(weighted["weight"][k], hessian[rows].sum())
        if weighted["feature"][k] < 0:
            value = -gradient[rows].sum() / hessian[rows].sum()
            np.testing.assert_allclose(weighted["value"][k], value, atol=1e-12)
    with pytest.raises(ValueError, match="weight must have one entry per row, 80"):
        grow(grower, gradient, weight=np.ones(79))


@pytest.mark.parametrize("growth", MODES)
@pytest.mark.parametrize("constrained", [False, True])
def test_path_smoothing_is_a_mean_of_the_values_along_the_path(
    rng, growth, constrained
):
    X = some_rows(rng, 80, 3)
    gradient, hessian = whole_numbers(rng, 80)
    mapper, grower = make_grower(X, monotonic=[int(constrained), 0, 0])
    options = {"growth": growth, "max_depth": 4, "l2": 1.5, "learning_rate": 0.5}
    plain = grow(grower, gradient, hessian, **options)
    smooth = grow(grower, gradient, hessian, path_smoothing=4.0, **options)
    for name in ("feature", "bin", "gain", "count", "weight"):
        np.testing.assert_array_equal(smooth[name], plain[name])
    value = {}
    for k, rows in rows_of_nodes(smooth, mapper, X, np.arange(80)).items():
        g, h = gradient[rows].sum(), hessian[rows].sum()
        value[k] = (4.0 * value[-1, k] - g) / (h + 5.5) if k else -g / (h + 1.5)
        if smooth["feature"][k] >= 0:
            child = smooth["left"][k]
            value[-1, child] = value[-1, child + 1] = value[k]
        elif not constrained:
            np.testing.assert_allclose(smooth["value"][k], 0.5 * value[k], atol=1e-14)
    if constrained:
        leaves = smooth["feature"] < 0
        own = np.array([0.5 * value[k] for k in np.flatnonzero(leaves)])
        assert (np.abs(smooth["value"][leaves] - own) > 1e-9).any() or growth != "leaf"
        lines = np.repeat(rng.integers(0, 6, size=(20, 1, 3)), 8, axis=1).astype(float)
        lines[:, :, 0] = np.arange(8) - 1
        values = predict(smooth, mapper, lines.reshape(-1, 3)).reshape(20, 8)
        assert (np.diff(values, axis=1) >= 0).all()


@pytest.mark.parametrize("growth", MODES)
def test_random_thresholds_are_drawn_evenly_from_those_of_the_node(growth):
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(7.0), 10)[:, None]
    gradient = np.sort(rng.normal(size=70))
    rows = np.flatnonzero(X[:, 0] != 3.0).astype(
        np.int32
    )  # an empty bin is no threshold
    _, grower = make_grower(X)
    options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2}
    options |= {"random_thresholds": True}
    times = np.zeros(7)
    for seed in range(1200):
        tree = grow(grower, gradient, None, rows, seed=seed, **options)
        assert tree["feature"][0] == 0
        times[tree["bin"][0]] += 1
    if growth == "symmetric":  # of the level's, which are those of all rows
        times[2] += times[3]
        share = np.array([1, 1, 2, 0, 1, 1, 0]) / 6
    else:
        share = np.array([1, 1, 1, 0, 1, 1, 0]) / 5
    np.testing.assert_array_equal(times[share == 0] * [growth != "symmetric", 1], 0)
    expected = 1200 * share[share > 0]
    assert (np.abs(times[share > 0] - expected) < 4 * np.sqrt(expected)).all()


@pytest.mark.parametrize("growth", MODES)
@pytest.mark.parametrize("kind", ["categorical", "alone"])
@pytest.mark.parametrize("any_missing", [False, True])
def test_random_cuts_of_levels_are_drawn_evenly(growth, kind, any_missing):
    X = np.repeat([0.0, 1, 2, 3, 4, 5, np.nan], 10)[:, None]
    gradient = np.repeat([-7.0, -5, 0, -3, 1, 5, 7], 10)
    rows = np.flatnonzero(X[:60, 0] != 2.0)  # a level of no row is no cut
    rows = np.append(rows, [60] * any_missing).astype(np.int32)
    column, g = X[rows, 0], gradient[rows]
    lefts = {
        (place, side): left
        for place, side, left in places_of(column, g, 1 + 0 * g, kind)
    }
    gains = {cut: gain_of(left, g, np.ones(len(g)), 0.0) for cut, left in lefts.items()}
    n = 1 + max(place for place, _ in lefts)
    # Trees by their leaves draw once, and take the better side for missing values.
    drawn = (
        product(range(n), range(n))
        if growth == "symmetric"
        else zip(range(n), range(n))
    )
    expected = Counter(
        max([(first, False), (second, True)], key=lambda cut: gains.get(cut, 0.0))
        for first, second in drawn
    )
    mapper, grower = make_grower(X, **{kind: [0]})
    options = {"growth": growth, "max_depth": 1, "max_leaf_nodes": 2}
    options |= {"random_thresholds": True}
    times = Counter()
    for seed in range(1000):
        tree = grow(grower, gradient, None, rows, seed=seed, **options)
        found = goes_left(tree, mapper, 0, X[rows])
        times.update(cut for cut, left in lefts.items() if (left == found).all())
    assert times.total() == 1000
    assert times.keys() == expected.keys()
    for cut, share in expected.items():
        most = 1000 * share / expected.total()
        assert abs(times[cut] - most) < 4 * np.sqrt(most)


@pytest.mark.parametrize("growth", MODES)
def test_the_best_of_the_random_thresholds_is_taken(growth, rng):
    X = some_rows(rng, 200, 12)
    gradient, hessian = whole_numbers(rng, 200)
    mapper, grower = make_grower(X, categorical=[3])
    options = {"growth": growth, "max_depth": 3, "min_samples_leaf": 4}
    best = grow(grower, gradient, hessian, **options)
    found = set()
    for seed in range(20):
        tree = grow(
            grower, gradient, hessian, seed=seed, random_thresholds=True, **options
        )
        assert 0 < tree["gain"][0] <= best["gain"][0] * (1 + 1e-12)
        counts = [
            len(rows)
            for rows in rows_of_nodes(tree, mapper, X, np.arange(200)).values()
        ]
        assert min(counts) >= 4
        found.add((tree["feature"][0], tree["bin"][0], tree["category"][0]))
    assert len(found) > 3


def test_unknown_growth(rng):
    _, grower = make_grower(some_rows(rng, 30, 2))
    with pytest.raises(ValueError, match=r"growth must be one of .* got 'breadth'"):
        grow(grower, np.ones(30), growth="breadth")


@pytest.mark.parametrize("growth", ["leaf", "depth"])
@pytest.mark.parametrize("large", [0, 1])
def test_of_leaves_of_equal_gain_the_left_one_is_split(large, growth):
    """One side has more rows, which have neither gradients nor hessians."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [large, 0], [large, 1]], dtype=float)
    gradient = np.array([-7.0, -3.0, 3.0, 7.0, 0.0, 0.0])  # either side gains 8
    hessian = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    _, grower = make_grower(X)
    options = {"growth": growth, "max_leaf_nodes": 3}
    tree = grow(grower, gradient, hessian, **options)
    np.testing.assert_allclose(tree["gain"][1], 8.0)
    assert tree["feature"].tolist() == [0, 1, -1, -1, -1]


@pytest.mark.parametrize("growth", MODES)
def test_noise_and_constraints_never_take_a_split_that_gains_nothing(growth, rng):
    X = rng.integers(0, 2, size=(300, 40)).astype(float)
    gradient = np.where(X[:, 7] > 0, 1.0, -1.0)
    _, grower = make_grower(X, monotonic=np.ones(40))
    options = {"growth": growth, "max_depth": 4, "noise": 10.0}
    trees = [grow(grower, gradient, seed=seed, **options) for seed in range(5)]
    for tree in trees:
        assert (tree["gain"][tree["feature"] >= 0] > 0).all()
