"""Sparse rows have the bins, trees and scores of the same rows in dense form."""

import pickle

import numpy as np
import pytest
from _growing import assert_same_trees
from scipy import sparse

from skrank._core._sparse import csr_parts
from skrank.trees import BinMapper, CategoryEncoder, TreeEnsemble, _binning, _grower
from skrank.trees._bins import SparseBins

GROWTH = ["leaf", "depth", "symmetric"]


def sparse_rows(rng, n=400, d=37, share=0.08, dtype=np.float64):
    """Rows with few, many and no distinct values, and missing ones."""
    X = np.where(rng.random((n, d)) < share, rng.normal(size=(n, d)), 0.0)
    X[:, 3] = np.where(X[:, 3] != 0, np.abs(X[:, 3]), 0)  # zero is the least value
    X[:, 4] = np.round(2 * X[:, 4])
    X[:, 5] = 0.0
    X[:, 6] = rng.normal(size=n)  # no zeros at all
    X[:, 7] = np.where(rng.random(n) < 0.9, 2.5, 0.0)
    X[rng.random((n, d)) < 0.01] = np.nan
    return X.astype(dtype)


def csr(X):
    """CSR rows with some zeros among the entries."""
    stored = sparse.csr_matrix(X)
    zeros = sparse.csr_matrix(X)
    zeros.data[:] = 0.0
    places = np.argwhere(X == 0)[::7]
    entries = np.r_[stored.data, np.zeros(len(places), X.dtype)]
    rows, columns = stored.nonzero()
    rows, columns = np.r_[rows, places[:, 0]], np.r_[columns, places[:, 1]]
    made = sparse.csr_matrix((entries, (rows, columns)), shape=X.shape)
    assert made.nnz == stored.nnz + len(places)
    return made


def dense_of(bins, mapper):
    """Bins of every row and feature from those of the entries."""
    n = len(bins.ptr) - 1
    table = np.tile(bins.common, (n, 1))
    rows = np.repeat(np.arange(n), np.diff(bins.ptr))
    missing = bins.place == mapper.n_bins_[bins.feature]
    table[rows, bins.feature] = np.where(missing, 255, bins.place)
    return table


def in_rows(flat, n, d):
    """Rows of the bins that stand in blocks of features."""
    blocks = [flat[n * f : n * (f + 16)].reshape(n, -1) for f in range(0, d, 16)]
    return np.hstack(blocks)[:, :d]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 5, 255])
@pytest.mark.parametrize("n_samples", [200_000, 150])
def test_bins_are_those_of_dense_rows(rng, dtype, max_bins, n_samples):
    X = sparse_rows(rng, n=2500, d=21, dtype=dtype)
    params = {"max_bins": max_bins, "n_samples": n_samples, "random_state": 0}
    dense, thin = BinMapper(**params).fit(X), BinMapper(**params).fit(csr(X))
    assert thin.cuts_.dtype == dtype
    for name in ("cuts_", "n_bins_", "thresholds_", "is_categorical_"):
        np.testing.assert_array_equal(getattr(thin, name), getattr(dense, name))
    bins = thin.transform(csr(X))
    assert isinstance(bins, SparseBins)
    assert (bins.place != bins.common[bins.feature]).all()  # the others are dropped
    expected = in_rows(dense.transform(X), *X.shape)
    np.testing.assert_array_equal(dense_of(bins, thin), expected)


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_of_equal_features_the_first_one_is_taken(rng, growth, n_threads):
    X = np.tile(sparse_rows(rng, n=3000, d=11), 7)
    gradient = rng.normal(size=3000) + np.nan_to_num(X[:, 6])
    mapper = BinMapper().fit(X)
    n_bins, d = mapper.n_bins_, X.shape[1]
    trees = [
        _grower.Grower(
            mapper.transform(rows), 3000, n_bins, np.zeros(d, "u1"), np.zeros(d, "i1")
        ).grow(gradient, growth=growth, max_depth=4, n_threads=n_threads)
        for rows in (X, csr(X))
    ]
    assert_same_trees(*trees)
    assert trees[0]["feature"].max() < 11


def test_thresholds_of_rows_that_repeat(rng):
    # Their entries are more than the matrix has.
    X = sparse_rows(rng)
    rows = np.tile(np.arange(len(X), dtype=np.int32), 3)
    categorical = np.zeros(X.shape[1], dtype=np.uint8)
    parts = csr_parts(csr(X))
    counts, cuts = _binning.find_sparse_thresholds(*parts, rows, 20, categorical)
    table = np.full((X.shape[1], 255), np.inf)
    expected = _binning.find_thresholds(X, rows, 20, categorical, table)
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(cuts, table[np.isfinite(table)])


def test_bins_of_dense_sparse_rows_are_bytes(rng):
    X = sparse_rows(rng, share=0.5)
    mapper = BinMapper().fit(csr(X))
    np.testing.assert_array_equal(mapper.transform(csr(X)), mapper.transform(X))


def test_entries_need_not_be_in_order_nor_stored_once(rng):
    X = sparse_rows(rng, share=0.05)
    rows = csr(X)
    loose = sparse.csr_matrix(
        (
            np.repeat(rows.data / 2, 2)[::-1],
            np.repeat(rows.indices, 2)[::-1],
            2 * (rows.indptr[-1] - rows.indptr[::-1]),
        ),
        shape=X.shape,
    )
    assert not loose.has_canonical_format
    bins = BinMapper().fit(loose).transform(loose)
    expected = BinMapper().fit(X[::-1]).transform(csr(X[::-1]))
    for found, wanted in zip(bins, expected):
        np.testing.assert_array_equal(found, wanted)


def test_categories_of_sparse_columns(rng):
    X = sparse_rows(rng)
    X[:, 1] = rng.choice([-1.0, 0.0, 3.0], len(X))
    X[:, 2] = rng.choice([1.0, 2.0], len(X))  # zero is no category
    X[:, 8] = rng.choice([0.0, 4.0, 7.0], len(X), p=[0.9, 0.05, 0.05])
    X[:5, [1, 2, 8]] = np.nan
    params = {"categorical_features": [1, 2, 8]}
    dense, thin = BinMapper(**params).fit(X), BinMapper(**params).fit(csr(X))
    np.testing.assert_array_equal(thin.cuts_, dense.cuts_)
    np.testing.assert_array_equal(thin.n_bins_, dense.n_bins_)
    X[5:9, [1, 2, 8]] = 0.0, 5.0, 9.0  # two of them unknown
    X[9:20, 2] = 0.0
    encoded = thin.encode(csr(X))
    assert sparse.issparse(encoded)
    np.testing.assert_array_equal(encoded.toarray(), dense.encode(X))
    bins = dense_of(thin.transform(csr(X)), thin)
    np.testing.assert_array_equal(bins, in_rows(dense.transform(X), *X.shape))
    with pytest.raises(ValueError, match=r"feature 0 has \d+ categories; at most"):
        BinMapper(categorical_features=[0], max_bins=5).fit(csr(X))


def test_levels_of_sparse_columns(rng):
    X = np.where(rng.random((300, 6)) < 0.4, rng.integers(1, 40, (300, 6)), 0.0)
    X[3, 1] = np.nan
    params = {"categorical_features": [1, 4], "max_levels": 9}
    dense, thin = (
        CategoryEncoder(**params).fit(X),
        CategoryEncoder(**params).fit(csr(X)),
    )
    np.testing.assert_array_equal(thin.is_categorical_, dense.is_categorical_)
    for a, b in zip(thin.levels_ + thin.numbers_, dense.levels_ + dense.numbers_):
        np.testing.assert_array_equal(a, b)
    X[:9] += 1.0
    encoded = thin.transform(csr(X).tocoo())
    np.testing.assert_array_equal(encoded.toarray(), dense.transform(X))
    assert CategoryEncoder().fit(csr(X)).is_categorical_.tolist() == [False] * 6
    with pytest.raises(ValueError, match="X has none"):
        CategoryEncoder(categorical_features=["a"]).fit(csr(X))
    with pytest.raises(ValueError, match="a table of 6 columns, got 5"):
        thin.transform(csr(X)[:, :5])


def growers(X, categorical, monotonic):
    mapper = BinMapper(categorical_features=categorical).fit(X)
    mask = mapper.is_categorical_.view(np.uint8)
    bins = mapper.transform(csr(X))
    assert isinstance(bins, SparseBins)
    return (
        _grower.Grower(form, len(X), mapper.n_bins_, mask, monotonic)
        for form in (mapper.transform(X), tuple(bins))
    )


OPTIONS = [
    {"min_samples_leaf": 1, "min_weight": 0.0, "l2": 1.0},
    {"min_samples_leaf": 12, "max_leaf_nodes": 60, "noise": 0.3},
    {"min_samples_leaf": 5, "random_thresholds": True, "max_features": 9},
    {"max_depth": 3, "max_bytes": 1, "path_smoothing": 2.0, "min_samples_leaf": 3},
]


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("constrained", [False, True])
def test_trees_are_those_of_dense_rows(rng, growth, constrained):
    X = sparse_rows(rng, n=900)
    X[:, 1] = rng.choice([0.0, 1.0, 2.0, 5.0], len(X), p=[0.7, 0.1, 0.1, 0.1])
    X[:, 2] = rng.choice([1.0, 2.0], len(X))
    monotonic = np.zeros(X.shape[1], dtype=np.int8)
    if constrained:
        monotonic[[3, 6, 10]] = 1, -1, 1
    dense, thin = growers(X, [1, 2], monotonic)
    rows = np.flatnonzero(rng.random(len(X)) < 0.7).astype(np.int32)
    n_splits = 0
    for seed, options in enumerate(OPTIONS):
        y = np.nan_to_num(X[:, 3] + X[:, 6] * X[:, 4]) + 0.3 * rng.normal(size=len(X))
        hessian = rng.random(len(X)) ** 4  # which tell little of the number of rows
        for chosen, n_threads in ((None, 3), (rows, 1)):
            more = {"growth": growth, "seed": seed, "n_threads": n_threads}
            weight = rng.random(len(X)) if seed % 2 else None
            trees = [
                g.grow(y, hessian, chosen, weight=weight, **options, **more)
                for g in (dense, thin)
            ]
            assert_same_trees(*trees)
            n_splits += len(trees[0]["feature"]) // 2
            scores = np.zeros((2, len(X), 1))
            for grower, to in zip((dense, thin), scores):
                grower.add_to(to, everywhere=chosen is not None)
            np.testing.assert_array_equal(*scores)
    assert n_splits > 30


def test_many_threads_and_rows(rng):
    """So many entries that leaves keep their sums, and that threads share them."""
    X = sparse_rows(rng, n=9000, d=60, share=0.03)
    X[:, 10:] = np.sign(X[:, 10:])
    dense, thin = growers(X, None, np.zeros(60, dtype=np.int8))
    y = np.nan_to_num(X[:, 3] + X[:, 12] * X[:, 6]) + 0.1 * rng.normal(size=len(X))
    options = {"min_samples_leaf": 2, "max_leaf_nodes": 40}
    expected = dense.grow(y, **options)
    for n_threads in (1, 2, 7):
        assert_same_trees(expected, thin.grow(y, n_threads=n_threads, **options))


def test_rows_without_entries(rng):
    bins = SparseBins(
        np.zeros(41, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.uint8),
        np.zeros(3, dtype=np.uint8),
    )
    mask = np.zeros(3, dtype=np.uint8)
    grower = _grower.Grower(bins, 40, np.ones(3, np.int32), mask, mask.view(np.int8))
    for growth in GROWTH:
        tree = grower.grow(rng.normal(size=40), growth=growth, max_depth=4)
        assert tree["feature"].tolist() == [-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 300])
def test_scores_are_those_of_dense_rows(rng, dtype, n):
    X = sparse_rows(rng, n=1000, dtype=dtype)
    X[:, 1] = rng.choice([0.0, 1.0, 2.0], len(X), p=[0.8, 0.1, 0.1])
    mapper = BinMapper(categorical_features=[1]).fit(X)
    nothing = np.zeros(X.shape[1], dtype=np.uint8)
    grower = _grower.Grower(
        mapper.transform(csr(X)),
        len(X),
        mapper.n_bins_,
        mapper.is_categorical_.view(np.uint8),
        nothing.view(np.int8),
    )
    trees = [
        grower.grow(rng.normal(size=len(X)), min_samples_leaf=3, growth=g, max_depth=6)
        for g in GROWTH * 3
    ]
    forest = TreeEnsemble.empty(3).append(trees, [0, 1, 2] * 3, mapper)
    table = TreeEnsemble.empty(3).append(trees, [0, 1, 2] * 3, mapper.thresholds_)
    np.testing.assert_array_equal(forest.threshold_, table.threshold_)
    X = X[:n]
    for first, last in [(0, None), (2, 3), (4, 7)]:
        for n_threads in (1, 3):
            dense, thin = rng.normal(size=(1, n, 3)).repeat(2, axis=0)
            more = {"n_threads": n_threads}
            forest.add_to(dense, mapper.encode(X), first, last, **more)
            forest.add_to(thin, mapper.encode(csr(X)), first, last, **more)
            np.testing.assert_array_equal(thin, dense)
    with pytest.raises(ValueError, match="X must have the features of the trees, got"):
        forest.add_to(dense, csr(X)[:, :3])


def test_mappers_of_older_versions_have_a_table(rng):
    mapper = BinMapper(categorical_features=[4]).fit(np.round(sparse_rows(rng)))
    state = mapper.__getstate__()
    table, older = mapper.thresholds_, BinMapper(categorical_features=[4])
    older.__setstate__({k: v for k, v in state.items() if k != "cuts_"} | {
        "thresholds_": table
    })  # fmt: skip
    np.testing.assert_array_equal(older.cuts_, mapper.cuts_)
    again = pickle.loads(pickle.dumps(older))
    np.testing.assert_array_equal(again.thresholds_, table)
