"""Prediction: equal to walking down the trees one row at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from skrank.export import load_model, save_model
from skrank.trees import BinMapper, TreeEnsemble, _grower
from skrank.trees._forest import add_trees


def walk(forest, row, tree):
    """Leaf of one row, by the documented rules."""
    k = forest.roots_[tree]
    while forest.feature_[k] >= 0:
        value = row[forest.feature_[k]]
        if np.isnan(value):
            left = forest.missing_left_[k]
        elif forest.category_[k] >= 0:
            words = forest.categories_[forest.category_[k]]
            left = int(words[int(value) // 64]) >> (int(value) % 64) & 1
        else:
            left = value <= forest.threshold_[k]
        k = forest.left_[k] + (0 if left else 1)
    return k


def reference(forest, X, first=0, last=None):
    scores = np.zeros((len(X), forest.n_outputs))
    for tree in range(first, forest.n_trees if last is None else last):
        for i, row in enumerate(X):
            scores[i, forest.output_[tree]] += forest.value_[walk(forest, row, tree)]
    return scores


def make_forest(
    rng,
    *,
    n=400,
    d=5,
    n_trees=6,
    n_outputs=1,
    dtype=np.float64,
    categorical=True,
    **options,
):
    """A forest on noise with missing values; feature 1 may be categorical."""
    X = rng.normal(size=(n, d)).astype(dtype)
    X[:, 1:2] = rng.integers(0, 200, size=(n, 1))
    X[rng.random((n, d)) < 0.1] = np.nan
    mapper = BinMapper(categorical_features=[1] if categorical and d > 1 else None).fit(
        X
    )
    grower = _grower.Grower(
        mapper.transform(X),
        n,
        mapper.n_bins_,
        mapper.is_categorical_.view(np.uint8),
        np.zeros(d, dtype=np.int8),
    )
    options = {"min_samples_leaf": 5, "max_leaf_nodes": 15} | options
    trees = [grower.grow(rng.normal(size=n), seed=t, **options) for t in range(n_trees)]
    outputs = [t % n_outputs for t in range(n_trees)]
    forest = TreeEnsemble.empty(n_outputs).append(trees, outputs, mapper.thresholds_)
    return forest, mapper, X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 63, 64, 65, 200])
def test_scores_equal_the_reference_walk(rng, n, dtype):
    forest, mapper, _ = make_forest(rng, n_outputs=2, dtype=dtype)
    X = rng.normal(size=(n, 5)) * 2
    X[:, 1] = rng.integers(-5, 260, size=n)  # some categories are unknown
    X[rng.random((n, 5)) < 0.1 * (n > 7)] = np.nan
    X = mapper.encode(X.astype(dtype))
    for threads in (1, 2, 3):
        scores = np.zeros((n, 2))
        forest.add_to(scores, X, n_threads=threads)
        np.testing.assert_array_equal(scores, reference(forest, X))
    assert (forest.category_ >= 0).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 65, 200])
def test_rows_that_walk_together_equal_the_reference_walk(rng, n, dtype):
    # Without categories, eight rows walk together, and faster if no value is missing.
    forest, mapper, _ = make_forest(rng, n_outputs=2, dtype=dtype, categorical=False)
    assert (forest.category_ < 0).all()
    complete = (rng.normal(size=(n, 5)) * 2).astype(dtype)
    complete[:, 1] = rng.integers(0, 200, size=n)
    missing = [np.zeros((n, 5), dtype=bool) for _ in range(3)] + [
        rng.random((n, 5)) < 0.3
    ]
    missing[1][0, 0] = missing[2][-1, -1] = True
    missing.append(np.ones((n, 5), dtype=bool))
    for where in missing:
        X = mapper.encode(np.where(where, np.nan, complete))
        scores = np.zeros((n, 2))
        forest.add_to(scores, X)
        np.testing.assert_array_equal(scores, reference(forest, X))


@pytest.mark.parametrize("n", [1023, 1024, 1025, 2600])
def test_many_rows_get_the_scores_that_a_few_of_them_get(rng, n):
    # Threads take 1,024 rows at a time.
    forest, mapper, _ = make_forest(rng, n_outputs=2)
    X = rng.normal(size=(n, 5)) * 2
    X[:, 1] = rng.integers(0, 200, size=n)
    X = mapper.encode(X)
    expected = np.zeros((n, 2))
    for first in range(0, n, 100):
        forest.add_to(expected[first : first + 100], X[first : first + 100])
    assert len(np.unique(expected[:, 0])) > 100
    for threads in (1, 3):
        scores = np.zeros((n, 2))
        forest.add_to(scores, X, n_threads=threads)
        np.testing.assert_array_equal(scores, expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 80))
def test_any_forest(seed, d, n):
    rng = np.random.default_rng(seed)
    forest, mapper, X = make_forest(rng, n=n, d=d, n_trees=3, min_samples_leaf=1)
    X = mapper.encode(X)
    scores = np.zeros((n, 1))
    forest.add_to(scores, X)
    np.testing.assert_array_equal(scores, reference(forest, X))


def test_training_rows_reach_the_leaves_that_counted_them(rng):
    forest, mapper, X = make_forest(rng)
    X = mapper.encode(X)
    for tree in range(forest.n_trees):
        leaves = [walk(forest, row, tree) for row in X]
        leaf, counts = np.unique(leaves, return_counts=True)
        np.testing.assert_array_equal(forest.count_[leaf], counts)


def test_single_precision_rows_of_a_forest_in_double_precision(rng):
    forest, mapper, X = make_forest(rng)
    single = mapper.encode(X.astype(np.float32))
    scores = np.zeros((len(X), 1))
    forest.add_to(scores, single)
    # A value goes left exactly if it does as a double.
    np.testing.assert_array_equal(scores, reference(forest, single.astype(float)))


def test_parts_add_up(rng):
    forest, mapper, X = make_forest(rng, n_outputs=3)
    X = mapper.encode(X)
    scores = rng.normal(size=(len(X), 3))
    before = scores.copy()
    for first, last in ((0, 1), (1, 4), (4, 4), (4, None)):
        forest.add_to(scores, X, first, last)
    expected = before.copy()
    for tree in range(6):
        expected += reference(forest, X, tree, tree + 1)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n_trees", [0, 1, 4, 6, 9])
def test_truncated(rng, n_trees):
    forest, mapper, X = make_forest(rng)
    X = mapper.encode(X)
    kept = forest.truncated(n_trees)
    assert kept.n_trees == min(n_trees, 6)
    scores = np.zeros((len(X), 1))
    kept.add_to(scores, X)
    np.testing.assert_array_equal(scores, reference(forest, X, 0, min(n_trees, 6)))


def test_appending_in_parts_is_appending_at_once(rng):
    _, mapper, X = make_forest(rng)
    grower = _grower.Grower(
        mapper.transform(X),
        len(X),
        mapper.n_bins_,
        mapper.is_categorical_.view(np.uint8),
        np.zeros(5, dtype=np.int8),
    )
    trees = [grower.grow(rng.normal(size=len(X)), seed=t) for t in range(4)]
    once = TreeEnsemble.empty().append(trees, [0] * 4, mapper.thresholds_)
    parts = TreeEnsemble.empty().append(trees[:1], [0], mapper.thresholds_)
    parts.append([], [], mapper.thresholds_)
    parts.append(trees[1:], [0] * 3, mapper.thresholds_)
    for name, value in vars(once).items():
        np.testing.assert_array_equal(getattr(parts, name), value)


def test_feature_importances(rng):
    forest, _, _ = make_forest(rng)
    inner = forest.feature_ >= 0
    split = np.array([(forest.feature_ == j).sum() for j in range(5)])
    gain = [forest.gain_[forest.feature_ == j].sum() for j in range(5)]
    np.testing.assert_allclose(
        forest.feature_importances(5, "split"), split / inner.sum()
    )
    np.testing.assert_allclose(
        forest.feature_importances(5), np.array(gain) / np.sum(gain)
    )
    np.testing.assert_array_equal(
        TreeEnsemble.empty().feature_importances(3), np.zeros(3)
    )
    with pytest.raises(ValueError, match="kind must be 'gain' or 'split'"):
        forest.feature_importances(5, "cover")


def test_files(rng, tmp_path):
    forest, mapper, _ = make_forest(rng)
    for model in (forest, mapper):
        save_model(model, tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert vars(loaded).keys() == vars(model).keys()
        for name, value in vars(model).items():
            np.testing.assert_array_equal(getattr(loaded, name), value)


def damaged(rng, **changes):
    forest, mapper, X = make_forest(rng)
    for name, change in changes.items():
        array = getattr(forest, name).copy()
        setattr(forest, name, change(array))
    return forest, mapper.encode(X)


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"left_": put(0, 0)},
        {"left_": put(0, -5)},
        {"left_": put(0, 10**6)},
        {"feature_": put(0, 5)},
        {"roots_": put(1, 0)},
        {"roots_": put(0, -1)},
        {"roots_": put(-1, 10**9)},
        {"output_": put(0, 1)},
        {"output_": put(0, -1)},
        {"category_": put(slice(None), 10**6)},
        {"value_": lambda array: array[:-1]},
        {"output_": lambda array: array[:-1]},
        {"categories_": lambda array: array[:, :2]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_arrays_of_a_damaged_file_lead_no_row_astray(rng, changes):
    forest, X = damaged(rng, **changes)
    with pytest.raises(
        ValueError, match=r"do not fit|differ in length|contiguous|X must"
    ):
        forest.add_to(np.zeros((len(X), 1)), X)


def test_odd_numbers_of_categories_go_right(rng):
    forest, mapper, X = make_forest(rng)
    odd = mapper.encode(X)
    odd[:, 1] = np.resize([-1.0, 1e300, 300.0, np.inf, 256.0], len(X))
    unknown = odd.copy()
    unknown[:, 1] = 255.0  # no category has this number
    scores = np.zeros((2, len(X), 1))
    forest.add_to(scores[0], odd)
    forest.add_to(scores[1], unknown)
    np.testing.assert_array_equal(scores[0], scores[1])


def test_bad_arguments(rng):
    forest, _, X = make_forest(rng)
    with pytest.raises(ValueError, match="scores must have 400 rows, got 3"):
        forest.add_to(np.zeros((3, 1)), X)
    with pytest.raises(TypeError, match="scores must be a matrix of dtype float64"):
        forest.add_to(np.zeros((400, 1), dtype=np.float32), X)
    told = r"X must have the features of the trees, got 1; they ask for feature \d"
    with pytest.raises(ValueError, match=told):
        forest.add_to(np.zeros((400, 1)), X[:, :1].copy())
    with pytest.raises(ValueError, match="first must be a whole number >= 0, got -2"):
        forest.add_to(np.zeros((400, 1)), X, -2, 3)


BOTH = {"first_tree": 0, "last_tree": 2}


def two_trees(left=(1, 4), feature=(0, 1), category=(-1, -1), threshold=0.5):
    """Two trees: node 0 with leaves 1 and 2, and node 3 with leaves 4 and 5."""
    return {
        "feature": np.array([feature[0], -1, -1, feature[1], -1, -1], dtype=np.int32),
        "threshold": np.full(6, threshold),
        "left": np.array([left[0], 1, 2, left[1], 4, 5], dtype=np.int32),
        "missing_left": np.zeros(6, dtype=np.uint8),
        "category": np.array([category[0], -1, -1, category[1], -1, -1], np.int32),
        "value": np.array([0.0, 1.0, 2.0, 0.0, 10.0, 20.0]),
        "roots": np.array([0, 3]),
        "output": np.zeros(2, dtype=np.int32),
        "categories": np.full((1, 4), 2, dtype=np.uint64),  # the set {1, 65, 129, 193}
    }


@pytest.mark.parametrize("n", [1, 8])  # rows walk alone, or eight together
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_children_are_later_nodes_of_the_same_tree(n, dtype):
    X = np.resize(np.array([[0.0, 1.0], [1.0, 0.0]], dtype=dtype), (n, 2))
    scores = np.zeros((n, 1))
    add_trees(X, scores, **two_trees(), first_tree=0, last_tree=2)
    assert scores.ravel().tolist() == np.resize([21.0, 12.0], n).tolist()
    largest = np.iinfo(np.int32).max
    for wrong in (2, 3, 4, 0, -1, largest, largest - 1, -largest):
        with pytest.raises(ValueError, match="the arrays of the trees do not fit"):
            add_trees(X, scores, **two_trees((wrong, 4)), first_tree=0, last_tree=2)
    for wrong in (5, 6, 3, 2, 1, largest):
        with pytest.raises(ValueError, match="the arrays of the trees do not fit"):
            add_trees(X, scores, **two_trees((1, wrong)), first_tree=0, last_tree=2)
    # The other tree alone, as early exit scores it.
    scores[:] = 0
    add_trees(X, scores, **two_trees((largest, 4)), first_tree=1, last_tree=2)
    assert scores.ravel().tolist() == np.resize([20.0, 10.0], n).tolist()


def test_features_and_sets_of_categories_exist():
    X, scores = np.ones((9, 2)), np.zeros((9, 1))
    for feature in (2, 2**31 - 1):
        with pytest.raises(ValueError, match="do not fit"):
            add_trees(X, scores, **two_trees(feature=(0, feature)), **BOTH)
    for category in (1, 2**31 - 1):
        with pytest.raises(ValueError, match="do not fit"):
            add_trees(X, scores, **two_trees(category=(category, -1)), **BOTH)
    assert not scores.any()
    add_trees(X, scores, **two_trees(category=(0, -1)), **BOTH)
    assert scores.ravel().tolist() == [21.0] * 9  # 1 is in the set, and above 0.5


@pytest.mark.parametrize("threshold", [0.5, 0.1, 0.3, 0.7, -0.1, 1e-46, 3e38, 0.0])
@pytest.mark.parametrize("n", [1, 8])
def test_single_precision_falls_on_the_side_of_double_precision(threshold, n):
    # Thresholds that single precision has, and some above or below its nearest.
    near = np.float32(threshold)
    lower, upper = np.nextafter(near, np.float32([-np.inf, np.inf]))
    for value in (lower, near, upper):
        X, scores = np.full((n, 2), value), np.zeros((n, 1))
        add_trees(X, scores, **two_trees(threshold=threshold), **BOTH)
        expected = 11.0 if float(value) <= threshold else 22.0
        assert scores.ravel().tolist() == [expected] * n, (value, threshold)


def test_an_ensemble_without_arrays_says_so():
    ensemble = TreeEnsemble()
    for use in (
        ensemble.arrays,
        lambda: ensemble.feature_importances(3),
        lambda: ensemble.truncated(1),
        lambda: ensemble.add_to(np.zeros((2, 1)), np.zeros((2, 3))),
    ):
        with pytest.raises(NotFittedError, match=r"call TreeEnsemble.empty\(\) first"):
            use()
