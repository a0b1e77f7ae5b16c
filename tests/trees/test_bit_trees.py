"""Prediction by bits of tests: the scores of a walk, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.trees import BinMapper, TreeEnsemble, _grower

#: From this number of rows on, trees of few tests are added by their bits.
MANY = 128


def make_forest(
    rng, *, n=600, d=6, dtype=np.float64, n_outputs=1, kinds=("symmetric",)
):
    """Trees of several kinds on noise with missing values and ties."""
    X = np.round(rng.normal(size=(n, d)), 1).astype(dtype)
    X[rng.random((n, d)) < 0.15] = np.nan
    mapper = BinMapper(categorical_features=[1] if "category" in kinds else None).fit(X)
    categorical = mapper.is_categorical_.view(np.uint8)
    grower = _grower.Grower(
        mapper.transform(X), n, mapper.n_bins_, categorical, np.zeros(d, dtype=np.int8)
    )
    options = {
        "symmetric": {"growth": "symmetric", "max_depth": 6},
        "deep": {"growth": "symmetric", "max_depth": 8, "min_samples_leaf": 1},
        "deeper": {"growth": "symmetric", "max_depth": 9, "min_samples_leaf": 1},
        "leaf": {"max_leaf_nodes": 31, "min_samples_leaf": 2},
        "stump": {"max_leaf_nodes": 2},
        "constant": {"min_samples_leaf": n},
        "category": {"growth": "symmetric", "max_depth": 3},
    }
    trees = [
        grower.grow(rng.normal(size=n), seed=t, **options[kind])
        for t, kind in enumerate(kinds)
    ]
    outputs = [t % n_outputs for t in range(len(kinds))]
    forest = TreeEnsemble.empty(n_outputs).append(trees, outputs, mapper.thresholds_)
    return forest, mapper


def scores_in_parts(forest, X, n_rows, **options):
    """Scores of a few rows at a time, which walk down the trees."""
    scores = np.zeros((len(X), forest.n_outputs))
    for first in range(0, len(X), n_rows):
        rows = slice(first, first + n_rows)
        forest.add_to(scores[rows], X[rows], **options)
    return scores


def new_rows(rng, mapper, n, dtype, missing=0.1):
    X = np.round(rng.normal(size=(n, len(mapper.n_bins_))), 1).astype(dtype)
    X[rng.random(X.shape) < missing] = np.nan
    # Values right at a threshold, and beyond all of them.
    X[: n // 4, 0] = rng.choice(mapper.thresholds_[0, : mapper.n_bins_[0] - 1], n // 4)
    X[0, 2:5] = np.inf, -np.inf, np.finfo(dtype).max
    return X


KINDS = [
    ("symmetric",) * 5,
    ("deep", "deeper", "stump"),
    ("leaf", "symmetric", "constant", "stump", "leaf"),
    ("category", "symmetric", "category"),
]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [0.0, 0.2, 1.0])
def test_many_rows_get_the_scores_of_a_walk(rng, kinds, dtype, missing):
    forest, mapper = make_forest(rng, kinds=kinds, dtype=dtype, n_outputs=2)
    for n in (MANY, MANY + 1, 2 * MANY - 1, 1500):
        X = mapper.encode(new_rows(rng, mapper, n, dtype, missing))
        expected = scores_in_parts(forest, X, MANY - 1)
        if missing < 1.0:
            assert len(np.unique(expected)) > 10
        for threads in (1, 3):
            found = np.zeros_like(expected)
            forest.add_to(found, X, n_threads=threads)
            np.testing.assert_array_equal(found, expected)


def test_some_of_the_trees(rng):
    forest, mapper = make_forest(rng, kinds=("symmetric", "leaf", "symmetric", "stump"))
    X = new_rows(rng, mapper, 300, np.float64)
    for first, last in ((0, 1), (1, 3), (2, 4), (3, 3)):
        found = np.zeros((300, 1))
        forest.add_to(found, X, first, last)
        expected = np.zeros((300, 1))
        for k in range(0, 300, 100):
            forest.add_to(expected[k : k + 100], X[k : k + 100], first, last)
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_small_trees(data):
    """Trees of few tests in any arrangement, not only symmetric ones."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    d = data.draw(st.integers(1, 5))
    kinds = data.draw(
        st.lists(
            st.sampled_from(["symmetric", "stump", "small", "constant"]), min_size=1
        )
    )
    X = np.round(rng.normal(size=(200, d)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper().fit(X)
    nothing = np.zeros(d, dtype=np.uint8)
    grower = _grower.Grower(
        mapper.transform(X), 200, mapper.n_bins_, nothing, nothing.view(np.int8)
    )
    options = {
        "symmetric": {"growth": "symmetric", "max_depth": 4, "min_samples_leaf": 1},
        "stump": {"max_leaf_nodes": 2},
        "small": {"max_leaf_nodes": 9, "min_samples_leaf": 1},
        "constant": {"min_samples_leaf": 200},
    }
    trees = [
        grower.grow(rng.normal(size=200), seed=k, **options[kind])
        for k, kind in enumerate(kinds)
    ]
    forest = TreeEnsemble.empty().append(trees, [0] * len(trees), mapper.thresholds_)
    rows = rng.normal(size=(150, d))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    found = np.zeros((150, 1))
    forest.add_to(found, rows)
    np.testing.assert_array_equal(found, scores_in_parts(forest, rows, 100))
