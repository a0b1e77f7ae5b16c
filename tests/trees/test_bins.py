"""Bins: equal to NumPy's searchsorted, and thresholds that cut rows evenly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import NotFittedError

from skrank.trees import BinMapper

MISSING = 255


def as_matrix(flat, n, d):
    """Bins as rows and columns; they stand in blocks of 16 (the last maybe 8)."""
    columns, start = [], 0
    for first in range(0, d, 16):
        width = 16 if first + 16 <= d or d - first > 8 else 8
        block = flat[start : start + n * width].reshape(n, width)
        columns.append(block[:, : d - first])
        start += n * width
    assert start == len(flat)
    return np.column_stack(columns)


def reference_bins(mapper, X):
    """Number of thresholds below each value; 255 for missing and unknown ones."""
    bins = np.empty(X.shape, dtype=np.uint8)
    for j, known in enumerate(mapper.thresholds_):
        column = X[:, j].astype(known.dtype)
        place = np.searchsorted(known, column)
        valid = ~np.isnan(column)
        if mapper.is_categorical_[j]:
            valid &= np.isin(column, known[: mapper.n_bins_[j]])
        bins[:, j] = np.where(valid, place, MISSING)
    return bins


def mixed_rows(rng, n, d, dtype):
    """Features with ties, gaps, signs, huge and tiny values and missing ones."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-30, 30, size=d)
    few = rng.random(d) < 0.4
    X[:, few] = rng.integers(-3, 4, size=(n, few.sum()))
    X[rng.random((n, d)) < 0.1] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 8, 9, 16, 17, 24, 25, 40])
def test_bins_equal_searchsorted(rng, d, dtype):
    X = mixed_rows(rng, 1500, d, dtype)
    X[:, 0] = rng.integers(0, 9, size=len(X))
    mapper = BinMapper(max_bins=50, categorical_features=[0]).fit(X[:1200])
    X[1200:1210, 0] = [100, -1, 2.5, np.nan, 0, 1, 2, 8, 9, 7]
    found = as_matrix(mapper.transform(X, n_threads=2), len(X), d)
    np.testing.assert_array_equal(found, reference_bins(mapper, X))
    np.testing.assert_array_equal(found[1200:1204, 0], MISSING)


@settings(max_examples=40, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 3)),
        elements=st.one_of(
            st.just(np.nan),
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from([0.0, -0.0, 1.0, 5e-324, -5e-324, 1e308, -1e308]),
        ),
    ),
    st.integers(2, 255),
)
def test_any_values(X, max_bins):
    mapper = BinMapper(max_bins=max_bins).fit(X)
    bins = as_matrix(mapper.transform(X), *X.shape)
    np.testing.assert_array_equal(bins, reference_bins(mapper, X))
    for j, column in enumerate(X.T):
        distinct = np.unique(column[~np.isnan(column)])
        assert mapper.n_bins_[j] <= max_bins
        if len(distinct) <= max_bins:  # one bin for each value, in their order
            assert mapper.n_bins_[j] == max(len(distinct), 1)
            own = bins[~np.isnan(column), j]
            np.testing.assert_array_equal(distinct[own], column[~np.isnan(column)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_between_few_values_are_midpoints(rng, dtype):
    values = np.array([-5.0, -1.0, 0.0, 0.5, 4.0], dtype=dtype)
    X = rng.permutation(np.tile(values, 4))[:, None]
    mapper = BinMapper().fit(X)
    np.testing.assert_array_equal(mapper.thresholds_[0, :4], [-3, -0.5, 0.25, 2.25])
    assert np.isinf(mapper.thresholds_[0, 4:]).all()


@pytest.mark.parametrize("max_bins", [2, 3, 10, 100, 255])
def test_bins_of_distinct_values_hold_equal_counts(rng, max_bins):
    n = 5100
    X = rng.permutation(np.arange(n, dtype=np.float64))[:, None]
    mapper = BinMapper(max_bins=max_bins).fit(X)
    counts = np.bincount(mapper.transform(X).reshape(n, 8)[:, 0])
    assert mapper.n_bins_[0] == len(counts) == max_bins
    # Targets are whole numbers of rows, so that one bin is at most one row larger.
    assert counts.max() - counts.min() <= max_bins
    assert abs(counts - n / max_bins).max() <= max(1, 0.1 * n / max_bins)


def test_a_value_of_many_rows_leaves_bins_to_the_others(rng):
    X = np.concatenate([np.zeros(9000), rng.normal(size=1000)])[:, None]
    mapper = BinMapper(max_bins=51).fit(X)
    bins = mapper.transform(X).reshape(len(X), 8)[:, 0]
    counts = np.bincount(bins)
    others = np.delete(counts, bins[0])
    assert counts[bins[0]] <= 9000 + 1000 / 25
    assert len(others) == 50
    # About 1000 / 50 rows each, although the mean over all bins is 200.
    assert others.max() <= 40


def test_a_threshold_separates_neighbouring_floats():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    X = np.array([[low], [high]])
    mapper = BinMapper().fit(X)
    assert low <= mapper.thresholds_[0, 0] < high


def test_constant_and_missing_features(rng):
    X = np.column_stack([np.full(30, 2.0), np.full(30, np.nan), np.full(30, np.nan)])
    mapper = BinMapper(categorical_features=[2]).fit(X)
    assert mapper.n_bins_.tolist() == [1, 1, 0]
    bins = as_matrix(mapper.transform(X), 30, 3)
    np.testing.assert_array_equal(bins, [[0, MISSING, MISSING]] * 30)
    encoded = mapper.encode(np.ones((2, 3)))
    assert np.isnan(encoded[:, 2]).all()


def test_a_sample_gives_about_the_same_thresholds(rng):
    X = rng.normal(size=(20_000, 2))
    full = BinMapper(max_bins=20).fit(X)
    some = BinMapper(max_bins=20, n_samples=5000, random_state=0).fit(X)
    again = BinMapper(max_bins=20, n_samples=5000, random_state=0).fit(X)
    np.testing.assert_array_equal(some.thresholds_, again.thresholds_)
    ranks = [
        np.searchsorted(np.sort(X[:, 0]), mapper.thresholds_[0, :19]) / len(X)
        for mapper in (full, some)
    ]
    # Quantiles of 5000 rows scatter by at most about 0.5 / sqrt(5000) = 0.007.
    np.testing.assert_allclose(*ranks, atol=0.03)


def test_threads_do_not_matter(rng):
    X = mixed_rows(rng, 3000, 35, np.float32)
    mappers = [BinMapper().fit(X, n_threads=n) for n in (1, 2, 3)]
    for mapper in mappers[1:]:
        np.testing.assert_array_equal(mapper.thresholds_, mappers[0].thresholds_)
    bins = [mappers[0].transform(X, n_threads=n) for n in (1, 2, 3)]
    np.testing.assert_array_equal(bins[0], bins[1])
    np.testing.assert_array_equal(bins[0], bins[2])


def test_encode_numbers_categories(rng):
    X = np.array([[10.0, 3.0], [np.nan, 1.0], [7.0, 1.0], [10.0, 2.0]])
    mapper = BinMapper(categorical_features=np.array([True, False])).fit(X)
    encoded = mapper.encode(np.array([[7.0, 9.0], [10.0, 9], [8.0, 9], [np.nan, 9]]))
    np.testing.assert_array_equal(encoded[:, 0], [0, 1, np.nan, np.nan])
    np.testing.assert_array_equal(encoded[:, 1], 9)
    plain = BinMapper().fit(X)
    assert plain.encode(X) is X


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
def test_categories_are_known_in_either_precision(fitted):
    X = np.array([[0.1], [0.2], [0.7]])
    mapper = BinMapper(categorical_features=[0]).fit(X.astype(fitted))
    for dtype in (np.float32, np.float64):
        encoded = mapper.encode(X.astype(dtype))
        np.testing.assert_array_equal(encoded[:, 0], [0, 1, 2])


def test_read_only_and_integer_rows(rng):
    X = rng.integers(0, 5, size=(50, 3))
    X.flags.writeable = False
    mapper = BinMapper().fit(X)
    np.testing.assert_array_equal(as_matrix(mapper.transform(X), 50, 3), X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_bins": 256}, r"max_bins must be a whole number in \[2, 255\], got 256"),
        ({"max_bins": 1}, r"max_bins must be a whole number in \[2, 255\], got 1"),
        ({"max_bins": 2.5}, r"max_bins must be a whole number in \[2, 255\], got 2.5"),
        ({"n_samples": 0}, "n_samples must be a whole number >= 1, got 0"),
        ({"categorical_features": 1}, "array-like of indices or flags of features"),
        ({"categorical_features": [3]}, "indices from 0 to 2"),
        ({"categorical_features": [-1]}, "indices from 0 to 2"),
        ({"categorical_features": ["a"]}, "indices from 0 to 2"),
        ({"categorical_features": [True, False]}, r"one entry per feature, \(3,\)"),
        ({"categorical_features": [1], "max_bins": 9}, "has 20 categories"),
    ],
)
def test_bad_parameters(params, message):
    X = np.arange(60.0).reshape(20, 3)
    with pytest.raises(ValueError, match=message):
        BinMapper(**params).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_what_a_mask_hides_is_missing(dtype):
    values = np.array([[1], [900], [2], [4]], dtype=dtype)
    X = np.ma.masked_array(values, mask=values == 900)
    plain = np.where(values == 900, np.nan, values)
    masked, missing = BinMapper().fit(X), BinMapper().fit(plain)
    np.testing.assert_array_equal(masked.cuts_, missing.cuts_)
    np.testing.assert_array_equal(masked.transform(X), missing.transform(plain))
    np.testing.assert_array_equal(masked.encode(X), plain)


def test_bins_that_are_not_fitted(rng):
    X = rng.normal(size=(5, 3))
    for method in (BinMapper().transform, BinMapper().encode):
        with pytest.raises(NotFittedError, match="BinMapper instance is not fitted"):
            method(X)
    assert not hasattr(BinMapper(), "thresholds_")
    with pytest.raises(NotFittedError, match="BinMapper instance is not fitted"):
        _ = BinMapper().thresholds_


def test_bad_rows(rng):
    mapper = BinMapper().fit(rng.normal(size=(5, 3)))
    for method in (mapper.transform, mapper.encode):
        with pytest.raises(ValueError, match="X must have 3 features, got 2"):
            method(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="rows and features"):
        BinMapper().fit(np.zeros((0, 3)))
