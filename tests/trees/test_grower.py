"""Growing: every split is the best of all, by exhaustive search in plain NumPy."""

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
    subsets,
    whole_numbers,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def best_gain(X, g, h, ways, *, l2=0.0, least=1, min_weight=0.0):
    """The best gain, where ``ways`` says how features that are no numbers are split."""
    best = 0.0
    for j, column in enumerate(X.T):
        for left in ways.get(j, cuts)(column):
            sizes = left.sum(), (~left).sum()
            weights = h[left].sum(), h[~left].sum()
            if min(sizes) >= least and min(weights) >= min_weight:
                best = max(best, gain_of(left, g, h, l2))
    return best


def check_tree(
    tree, mapper, X, g, h, *, rows=None, categorical=(), alone=(), **options
):
    """Every split has the best gain, and the leaf that gains most is split first."""
    l2, min_gain = options.get("l2", 0.0), options.get("min_gain", 0.0)
    limits = {"l2": l2, "least": options.get("min_samples_leaf", 1)}
    limits["min_weight"] = options.get("min_weight", 0.0)
    max_depth = options.get("max_depth", 0) or np.inf
    ways = dict.fromkeys(categorical, subsets) | dict.fromkeys(alone, singles)
    rows_of = rows_of_nodes(
        tree, mapper, X, np.arange(len(X)) if rows is None else rows
    )
    depth, best = {0: 0}, {}
    for k, own in rows_of.items():
        np.testing.assert_equal(tree["count"][k], len(own))
        np.testing.assert_allclose(tree["weight"][k], h[own].sum())
        if tree["feature"][k] >= 0:
            depth |= dict.fromkeys((tree["left"][k], tree["left"][k] + 1), depth[k] + 1)
        else:
            weight = h[own].sum() + l2
            value = -g[own].sum() / weight if weight else 0.0
            np.testing.assert_allclose(tree["value"][k], value, rtol=1e-12, atol=1e-12)
        found = best_gain(X[own], g[own], h[own], ways, **limits)
        best[k] = found if depth[k] < max_depth else 0.0
    inner = np.flatnonzero(tree["feature"] >= 0)
    order = inner[np.argsort(tree["left"][inner])]
    frontier = {0}
    for k in order:
        left = goes_left(tree, mapper, k, X[rows_of[k]])
        actual = gain_of(left, g[rows_of[k]], h[rows_of[k]], l2)
        np.testing.assert_allclose(tree["gain"][k], best[k], rtol=1e-9)
        np.testing.assert_allclose(actual, best[k], rtol=1e-9)
        assert best[k] >= max(best[leaf] for leaf in frontier) * (1 - 1e-9)
        frontier = frontier - {k} | {tree["left"][k], tree["left"][k] + 1}
    if len(frontier) < options.get("max_leaf_nodes", 8):
        assert max(best[leaf] for leaf in frontier) <= min_gain + 1e-9
    assert len(frontier) <= options.get("max_leaf_nodes", 8)


OPTIONS = [
    {},
    {"max_leaf_nodes": 2},
    {"max_leaf_nodes": 30},
    {"max_depth": 1},
    {"max_depth": 2, "max_leaf_nodes": 30},
    {"l2": 3.0},
    {"min_gain": 10.0, "max_leaf_nodes": 30},
    {"min_weight": 12.0, "max_leaf_nodes": 30},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_every_split_is_the_best(options, seed):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 40, 4)
    gradient, hessian = whole_numbers(rng, 40)
    mapper, grower = make_grower(X)
    tree = grow(grower, gradient, hessian, **options)
    check_tree(tree, mapper, X, gradient, hessian, **options)
    assert len(tree["feature"]) >= 3


@pytest.mark.parametrize("least", [2, 5, 11, 20])
def test_leaves_are_large_enough_and_still_the_best(rng, least):
    X = some_rows(rng, 40, 4)
    gradient, _ = whole_numbers(rng, 40)
    mapper, grower = make_grower(X)
    options = {"min_samples_leaf": least, "max_leaf_nodes": 30}
    tree = grow(grower, gradient, **options)
    check_tree(tree, mapper, X, gradient, np.ones(40), **options)
    # Hessians of a bin say how many rows it has only on average.
    _, hessian = whole_numbers(rng, 40)
    hessian[::3] = 0.0
    tree = grow(grower, gradient, hessian, **options)
    assert tree["count"][tree["feature"] < 0].min() >= least


def test_a_split_that_proves_too_small_is_searched_again(rng):
    # One row has most of the hessian, so that it looks like most of the rows.
    X = np.arange(20.0)[:, None]
    gradient = np.where(np.arange(20) == 0, 7.0, -1.0)
    hessian = np.where(np.arange(20) == 0, 7.0, 1.0)
    mapper, grower = make_grower(X)
    options = {"min_samples_leaf": 5, "max_leaf_nodes": 2}
    tree = grow(grower, gradient, hessian, **options)
    # A leaf needs that share of the hessian, too: 5 of 20 rows, 6.5 of 26.
    check_tree(tree, mapper, X, gradient, hessian, min_weight=6.5, **options)
    assert sorted(tree["count"][1:]) == [5, 15]


def test_rows_without_gradient_and_hessian_are_counted(rng):
    # They show in no sum, so that only counting tells on which side they are.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = some_rows(rng, 60, 4, missing=0.4)
        gradient, hessian = whole_numbers(rng, 60)
        gradient[np.isnan(X[:, 0])] = hessian[np.isnan(X[:, 0])] = 0.0
        gradient[X[:, 1] > 3] = hessian[X[:, 1] > 3] = 0.0
        mapper, grower = make_grower(X, categorical=[3])
        options = {"min_samples_leaf": 3, "max_leaf_nodes": 30}
        tree = grow(grower, gradient, hessian, **options)
        rows_of = rows_of_nodes(tree, mapper, X, np.arange(60))
        for k, rows in rows_of.items():
            assert tree["count"][k] == len(rows) >= 3


@pytest.mark.parametrize("seed", range(6))
def test_categories_are_cut_like_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 40, 3, missing=0.1 * (seed % 3))
    gradient, hessian = whole_numbers(rng, 40)
    mapper, grower = make_grower(X, categorical=[0, 2])
    options = {"max_leaf_nodes": 4}
    tree = grow(grower, gradient, hessian, **options)
    check_tree(tree, mapper, X, gradient, hessian, categorical=(0, 2), **options)
    assert (tree["category"] >= 0).any()


@pytest.mark.parametrize("options", [{}, {"l2": 3.0}, {"min_weight": 12.0}], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_levels_that_stand_alone_are_parted_from_all_others(seed, options):
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 60, 3, missing=0.15 * (seed % 3))
    gradient, hessian = whole_numbers(rng, 60)
    mapper, grower = make_grower(X, alone=[0, 2])
    options = {"max_leaf_nodes": 12} | options
    tree = grow(grower, gradient, hessian, **options)
    check_tree(tree, mapper, X, gradient, hessian, alone=(0, 2), **options)
    assert (tree["category"] >= 0).any()


@pytest.mark.parametrize("alone", [False, True])
def test_categories_that_prove_too_small_are_searched_by_counted_rows(alone):
    """Both sides need enough rows, and as large a part of the hessian."""
    n_counted, least, n = 0, 12, 60
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = some_rows(rng, n, 1, missing=0.15 * (seed % 3))
        gradient, hessian = whole_numbers(rng, n)
        hidden = ~(X[:, 0] < 3)  # of these rows no sum tells, but of one of each level
        hidden[np.unique(X, return_index=True)[1]] = False
        gradient[hidden] = hessian[hidden] = 0.0
        gradient[0] = hessian[0] = MOST
        found = {}
        for left in singles(X[:, 0]) if alone else in_order(X[:, 0], gradient, hessian):
            sizes, weights = (
                [values[left].sum(), values[~left].sum()]
                for values in (np.ones(n), hessian)
            )
            if min(weights) >= least / n * hessian.sum():
                enough = bool(min(sizes) >= least)
                gain = gain_of(left, gradient, hessian, 0.0)
                found[enough] = max(found.get(enough, 0.0), gain)
        levels = {"alone": [0]} if alone else {"categorical": [0]}
        _, grower = make_grower(X, **levels)
        tree = grow(grower, gradient, hessian, min_samples_leaf=least, max_leaf_nodes=2)
        expected = found.get(True, 0.0)
        np.testing.assert_allclose(tree["gain"][0], expected, rtol=1e-9)
        n_counted += expected < found.get(False, 0.0)
    assert n_counted > 2


def in_order(column, g, h):
    """Cuts of categories in the order of their mean gradients, where they have any."""
    missing = np.isnan(column)
    known = np.unique(column[~missing])
    weights = np.array([h[column == value].sum() for value in known])
    sums = np.array([g[column == value].sum() for value in known])
    means = np.divide(sums, weights, out=np.zeros(len(known)), where=weights > 0)
    order = known[np.argsort(means, kind="stable")]
    for cut in range(1, len(order) + 1):
        first = np.isin(column, order[:cut])
        yield first
        yield first | missing


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_small_data(data):
    n, d = data.draw(st.integers(1, 25)), data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = some_rows(rng, n, d, missing=data.draw(st.sampled_from([0.0, 0.3, 1.0])))
    gradient, hessian = whole_numbers(rng, n)
    rows = None
    if data.draw(st.booleans()):
        rows = np.sort(rng.permutation(n)[: rng.integers(1, n + 1)]).astype(np.int32)
        gradient[rows[0]] = hessian[rows[0]] = MOST
    levels = {data.draw(st.sampled_from(["categorical", "alone"])): [0]}
    if data.draw(st.booleans()):
        levels = {}
    mapper, grower = make_grower(X, **levels)
    tree = grow(grower, gradient, hessian, rows)
    check_tree(tree, mapper, X, gradient, hessian, rows=rows, **levels)


def test_categories_of_equal_mean_gradient_come_by_their_number():
    X = np.repeat([0.0, 1.0, 2.0, 3.0], [1, 4, 4, 1])[:, None]
    gradient = np.repeat([-7.0, 0.0, 0.0, 7.0], [1, 4, 4, 1])
    mapper, grower = make_grower(X, categorical=[0])
    # Five rows on either side: the first category with one of those in the middle.
    tree = grow(grower, gradient, min_samples_leaf=5, max_leaf_nodes=2)
    assert set(X[goes_left(tree, mapper, 0, X), 0]) == {0.0, 1.0}


def test_smoothing_orders_rare_categories_by_shrunken_means():
    differs = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.geometric(0.15, size=(40, 1)).astype(float)
        gradient, hessian = whole_numbers(rng, 40)
        known = np.unique(X)
        own = X[:, 0][:, None] == known
        mean = (gradient @ own) / (hessian @ own + 10.0)
        order = np.argsort(mean, kind="stable")
        best = max(
            gain_of(np.isin(X[:, 0], known[order[:cut]]), gradient, hessian, 0.0)
            for cut in range(1, len(known))
        )
        _, grower = make_grower(X, categorical=[0])
        smooth, sharp = (
            grow(grower, gradient, hessian, max_leaf_nodes=2, smoothing=smoothing)
            for smoothing in (10.0, 0.0)
        )
        np.testing.assert_allclose(smooth["gain"][0], best)
        assert sharp["gain"][0] >= smooth["gain"][0]
        differs += sharp["gain"][0] > smooth["gain"][0] * (1 + 1e-9)
    assert differs > 0


def test_missing_values_unseen_by_a_node_follow_the_majority():
    X = np.arange(10.0)[:, None]
    for cut in (3, 7):
        gradient = np.where(np.arange(10) < cut, 1.0, -1.0)
        _, grower = make_grower(X)
        tree = grow(grower, gradient, max_leaf_nodes=2)
        assert tree["count"].tolist() == [10, cut, 10 - cut]
        assert tree["missing_left"][0] == (cut > 5)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_missing_values_go_where_their_gradients_belong(side):
    X = np.array([[0.0]] * 5 + [[1.0]] * 5 + [[np.nan]] * 4)
    gradient = np.array([-1.0] * 5 + [1.0] * 5 + [side] * 4)
    _, grower = make_grower(X)
    tree = grow(grower, gradient, max_leaf_nodes=2)
    assert tree["missing_left"][0] == (side < 0)
    assert sorted(tree["count"][1:]) == [5, 9]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([-1, 1]), st.booleans())
def test_monotonic_constraints_hold_everywhere(seed, sign, stochastic):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    gradient = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=120)
    hessian = rng.random(120) + 0.1
    mapper, grower = make_grower(X, monotonic=[sign, 0, -sign])
    options = {"max_leaf_nodes": 25, "l2": 0.5, "stochastic": stochastic}
    tree = grow(grower, gradient, hessian, **options)
    steps = np.linspace(-4, 4, 60)
    for feature, direction in ((0, sign), (2, -sign)):
        lines = np.repeat(rng.normal(size=(20, 1, 3)), 60, axis=1)
        lines[:, :, feature] = steps
        values = predict(tree, mapper, lines.reshape(-1, 3)).reshape(20, 60)
        assert (direction * np.diff(values, axis=1) >= 0).all()


def bounded(g, h, l2, bounds):
    """Value of a leaf within its bounds, and twice the decrease that it brings."""
    weight = h.sum() + l2
    value = np.clip(-g.sum() / weight, *bounds)
    return value, -(2 * g.sum() * value + weight * value**2)


def bounded_gain(left, g, h, l2, bounds, sign):
    """Gain of a split, and the values of its sides; no gain if these are disordered."""
    if left.all() or not left.any():
        return 0.0, (0.0, 0.0)
    (low, first), (high, second) = (
        bounded(g[side], h[side], l2, bounds) for side in (left, ~left)
    )
    gain = first + second - bounded(g, h, l2, bounds)[1]
    return (gain if sign * (high - low) >= 0 else 0.0), (low, high)


@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_every_split_is_the_best_that_constraints_allow(seed, l2):
    """A leaf stays on its side of the middle between the leaves that were split."""
    rng = np.random.default_rng(seed)
    X, signs = some_rows(rng, 60, 3, missing=0.3), [1, -1, 0]
    g, h = whole_numbers(rng, 60)
    mapper, grower = make_grower(X, monotonic=signs)
    tree = grow(grower, g, h, l2=l2)
    bounds = {0: (-np.inf, np.inf)}
    for k, rows in rows_of_nodes(tree, mapper, X, np.arange(60)).items():
        terms = g[rows], h[rows], l2, bounds[k]
        j, child = tree["feature"][k], tree["left"][k]
        if j < 0:
            np.testing.assert_allclose(tree["value"][k], bounded(*terms)[0])
            continue
        # Below all known values of a node, missing ones may go left by themselves.
        best = max(
            bounded_gain(left[rows], *terms, sign)[0]
            for column, sign in zip(X.T, signs)
            for left in cuts(column)
        )
        left = goes_left(tree, mapper, k, X[rows])
        gain, values = bounded_gain(left, *terms, signs[j])
        np.testing.assert_allclose([tree["gain"][k], gain], best)
        (low, high), middle = bounds[k], np.clip(np.mean(values), *bounds[k])
        sides = [(low, middle), (middle, high)] if signs[j] else [bounds[k]] * 2
        bounds[child], bounds[child + 1] = sides[:: signs[j] or 1]
    assert tree["missing_left"].any()
    assert np.isfinite([bounds[k] for k in np.flatnonzero(tree["feature"] < 0)]).any()


def test_constraints_that_do_not_bind_change_nothing(rng):
    X = some_rows(rng, 60, 2, missing=0.0)
    X[:, 0] = np.arange(60)
    gradient = -np.sort(rng.integers(-7, 8, size=60)).astype(float)
    gradient[0] = MOST
    trees = [
        grow(make_grower(X, monotonic=signs)[1], gradient, max_leaf_nodes=2)
        for signs in ([0, 0], [1, 0])
    ]
    for name in ("feature", "bin", "count"):
        np.testing.assert_array_equal(trees[0][name], trees[1][name])
    np.testing.assert_allclose(trees[0]["gain"], trees[1]["gain"])


def test_max_features_tries_so_many_per_split(rng):
    X = some_rows(rng, 300, 20, missing=0.0)
    gradient = np.where(X[:, 4] > 2, 7.0, -7.0) + 0.0
    _, grower = make_grower(X)
    everything = grow(grower, gradient, max_leaf_nodes=2)
    assert everything["feature"][0] == 4
    first = [
        grow(grower, gradient, max_leaf_nodes=2, max_features=5, seed=s)["feature"][0]
        for s in range(200)
    ]
    # Feature 4 wins whenever it is among the 5 of 20: 200 draws, standard deviation 6.
    assert 25 <= np.sum(np.array(first) == 4) <= 75
    assert len(set(first)) > 5
    same = grow(grower, gradient, max_leaf_nodes=2, max_features=20)
    np.testing.assert_array_equal(same["feature"], everything["feature"])


def test_threads_and_repetition_do_not_change_a_bit(rng):
    X, gradient, hessian = large_problem(rng)
    subset = np.flatnonzero(rng.random(len(X)) < 0.7).astype(np.int32)
    _, grower = make_grower(X, categorical=[5])
    for rows in (None, subset):
        trees = [
            grow(
                grower,
                gradient,
                hessian,
                rows,
                max_leaf_nodes=31,
                min_samples_leaf=20,
                stochastic=True,
                n_threads=n,
            )
            for n in (1, 2, 3, 16, 2, 1)  # more than there are processors, too
        ]
        assert len(trees[0]["feature"]) == 61
        for tree in trees[1:]:
            assert_same_trees(tree, trees[0])


def test_threads_that_find_no_split_leave_it_to_the_others(rng):
    """Features are shared in their order: the first threads have constant ones only."""
    X, gradient = np.zeros((5000, 48)), rng.normal(size=5000)
    X[:, 40:] = rng.normal(size=(5000, 8))
    trees = [
        grow(make_grower(X)[1], gradient, min_samples_leaf=20, n_threads=n)
        for n in (1, 2, 3, 16)
    ]
    assert trees[0]["feature"][0] >= 40
    for tree in trees[1:]:
        assert_same_trees(tree, trees[0])


@pytest.mark.parametrize("d", [3, 8, 40, 47])
@pytest.mark.parametrize("options", [{}, {"l2": 2.5}, {"min_weight": 3.0}], ids=str)
def test_wide_and_portable_instructions_grow_the_same_tree(rng, d, options):
    X = rng.normal(size=(3_000, d))
    X[:, ::2] = np.round(X[:, ::2], 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    gradient, hessian = rng.normal(size=len(X)), rng.random(len(X))
    _, grower = make_grower(X)
    options = {"min_samples_leaf": 20, "max_leaf_nodes": 63} | options
    trees = [
        grow(grower, gradient, hessian, n_threads=n, wide=wide, **options)
        for n in (1, 2)
        for wide in (True, False)
    ]
    assert len(trees[0]["feature"]) > 50
    for tree in trees[1:]:
        assert_same_trees(tree, trees[0])


@pytest.mark.parametrize("max_bytes", [0, 300_000])
def test_histograms_given_up_for_memory_change_nothing(rng, max_bytes):
    X, gradient, hessian = large_problem(rng, n=5000)
    _, grower = make_grower(X, categorical=[5])
    options = {"max_leaf_nodes": 60, "min_samples_leaf": 20}
    full = grow(grower, gradient, hessian, **options)
    assert_same_trees(
        grow(grower, gradient, hessian, max_bytes=max_bytes, **options), full
    )


def test_scores_of_all_rows(rng):
    X, gradient, hessian = large_problem(rng, n=3000)
    mapper, grower = make_grower(X, categorical=[5])
    rows = np.flatnonzero(rng.random(len(X)) < 0.5).astype(np.int32)
    tree = grow(grower, gradient, hessian, rows, max_leaf_nodes=31)
    expected = predict(tree, mapper, X.astype(float))
    scores = np.zeros((len(X), 2))
    grower.add_to(scores, 1)
    np.testing.assert_array_equal(scores[rows, 1], expected[rows])
    np.testing.assert_array_equal(np.delete(scores[:, 1], rows), 0.0)
    scores[:] = 0.0
    grower.add_to(scores, 0, everywhere=True)
    np.testing.assert_array_equal(scores[:, 0], expected)
    np.testing.assert_array_equal(scores[:, 1], 0.0)


def test_monotone_transforms_of_features_change_nothing(rng):
    X = some_rows(rng, 200, 5)
    gradient, hessian = whole_numbers(rng, 200)
    trees = [
        grow(make_grower(rows)[1], gradient, hessian)
        for rows in (X, np.exp(X), X**3 - 1e6, np.float32(X))
    ]
    for tree in trees[1:]:
        assert_same_trees(tree, trees[0])


def test_the_order_of_features_only_names_them(rng):
    X = rng.normal(size=(400, 21))  # real gradients: no two gains are equal
    gradient = X[:, 3] * X[:, 17] + rng.normal(size=400)
    order = rng.permutation(21)
    tree = grow(make_grower(X)[1], gradient, min_samples_leaf=10)
    moved = grow(make_grower(X[:, order])[1], gradient, min_samples_leaf=10)
    inner = moved["feature"] >= 0
    moved["feature"][inner] = order[moved["feature"][inner]]
    assert_same_trees(tree, moved)


def test_the_order_of_rows_does_not_matter(rng):
    X = some_rows(rng, 300, 4)
    gradient, hessian = whole_numbers(rng, 300)
    order = rng.permutation(300)
    tree = grow(make_grower(X)[1], gradient, hessian)
    moved = grow(make_grower(X[order])[1], gradient[order], hessian[order])
    assert_same_trees(tree, moved)


def test_stochastic_rounding_is_unbiased_where_the_nearest_is_not():
    # One gradient sets the unit, a third of which is all that the others have.
    n = 200_000
    unit = 1.0 / (2147483647 // n - 1)
    gradient = np.full(n, unit / 3)
    gradient[0] = 1.0
    X = (np.arange(n) % 2).astype(float)[:, None]
    gradient[1::2] *= -1
    gradient[2::2] *= 1.0
    _, grower = make_grower(X)
    nearest = grow(grower, gradient, max_leaf_nodes=2)
    found = [
        grow(grower, gradient, max_leaf_nodes=2, stochastic=True, seed=s)["gain"][0]
        for s in range(5)
    ]
    even, odd = gradient[::2].sum(), gradient[1::2].sum()
    expected = (even**2 + odd**2) / (n / 2) - (even + odd) ** 2 / n
    np.testing.assert_allclose(found, expected, rtol=0.02)
    assert nearest["gain"][0] < 0.5 * expected


def test_leaf_values_come_from_unrounded_gradients(rng):
    X = np.repeat([0.0, 1.0], 500)[:, None]
    gradient = rng.normal(size=1000) + 10 * X[:, 0]
    hessian = rng.random(1000)
    _, grower = make_grower(X)
    tree = grow(grower, gradient, hessian, max_leaf_nodes=2, learning_rate=0.3, l2=2.0)
    for k, rows in ((1, slice(0, 500)), (2, slice(500, None))):
        expected = -0.3 * gradient[rows].sum() / (hessian[rows].sum() + 2.0)
        np.testing.assert_allclose(tree["value"][k], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("X", "gradient", "hessian"),
    [
        (np.ones((50, 3)), np.arange(50.0), None),
        (np.full((50, 3), np.nan), np.arange(50.0), None),
        (np.arange(50.0)[:, None], np.zeros(50), None),
        (np.arange(50.0)[:, None], np.arange(50.0), np.zeros(50)),
        (np.ones((1, 1)), np.ones(1), None),
        (np.full((50, 1), 3.0), np.ones(50), np.zeros(50)),
    ],
    ids=["constant", "missing", "no gradient", "no hessian", "one row", "nothing"],
)
def test_nothing_to_split(X, gradient, hessian):
    _, grower = make_grower(X)
    tree = grow(grower, gradient, hessian)
    assert tree["feature"].tolist() == [-1]
    assert np.isfinite(tree["value"]).all()


def test_gradients_of_any_size(rng):
    X = some_rows(rng, 100, 3)
    gradient, hessian = whole_numbers(rng, 100)
    _, grower = make_grower(X)
    tree = grow(grower, gradient, hessian)
    for scale in (2.0**-200, 2.0**200):
        scaled = grow(grower, gradient * scale, hessian * scale)
        for name in ("feature", "bin", "count", "value"):
            np.testing.assert_array_equal(scaled[name], tree[name])


def test_there_is_no_last_tree_before_the_first_one(rng):
    X = some_rows(rng, 40, 3)
    _, grower = make_grower(X)
    for call in (
        lambda: grower.add_to(np.zeros((40, 1))),
        lambda: grower.add_to(np.zeros((40, 1)), everywhere=True),
        lambda: grower.step(np.zeros(40)),
        lambda: grower.go(0.5),
        lambda: grower.penalty(),
        lambda: grower.scaled(2.0),
    ):
        with pytest.raises(ValueError, match="there must be a tree"):
            call()
    with pytest.raises(ValueError, match="min_weight must be >= 0, got nan"):
        grower.grow(np.ones(40), min_weight=np.nan)


@pytest.mark.parametrize("unit", [1e-310, 5e-324, 1e300])
def test_gradients_of_the_least_and_largest_size(rng, unit):
    X = some_rows(rng, 40, 3)
    gradient, _ = whole_numbers(rng, 40)
    _, grower = make_grower(X)
    for growth in ("leaf", "symmetric"):
        options = {"growth": growth, "max_depth": 3, "stochastic": True}
        tree = grow(grower, unit * gradient, unit * np.abs(gradient), **options)
        assert np.isfinite(tree["gain"]).all()


def test_bad_arguments(rng):
    X = some_rows(rng, 30, 2)
    _, grower = make_grower(X)
    with pytest.raises(ValueError, match="gradient must have one entry per row, 30"):
        grow(grower, np.ones(29))
    with pytest.raises(ValueError, match="hessian must have one entry per row, 30"):
        grow(grower, np.ones(30), np.ones(31))
    for rows in ([], [30], [-1, 0]):
        with pytest.raises(ValueError, match="rows must be from 0 to 29"):
            grow(grower, np.ones(30), None, np.array(rows, dtype=np.int32))
    with pytest.raises(ValueError, match="scores must have one entry per row"):
        grower.add_to(np.zeros((29, 1)))
    with pytest.raises(ValueError, match="output must be from 0 to 0"):
        grower.add_to(np.zeros((30, 1)), 1)
