"""The search of thresholds, and sums of ranks, against plain loops."""

import numpy as np
import pytest

from skrank.trees import BinMapper
from skrank.trees._binning import ThresholdSearch, add_ranks, sum_ramps


def rows(n=200, d=19, seed=0, dtype=np.float64):
    """Features with many values, few values, one value and missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 2] = 7.0
    X[rng.random(n) < 0.3, 3] = np.nan
    X[:, 4] = np.where(rng.random(n) < 0.5, np.nan, 1.0)
    X[:, 5] = np.nan
    return X


def search_of(X, **options):
    mapper = BinMapper(**options).fit(X)
    search = ThresholdSearch(mapper.transform(X), len(X), mapper.n_bins_)
    return mapper, search


def candidates(X, mapper, low, high):
    """All weak rankers as (feature, threshold, rank of missing values, ranks)."""
    for j in range(X.shape[1]):
        column = X[:, j]
        missing = np.isnan(column)
        bounds = [-np.inf, *mapper.thresholds_[j, : mapper.n_bins_[j] - 1], np.inf]
        for bound in bounds:
            for rank in [0, 1][not low : 1 + high]:
                yield j, bound, rank, np.where(missing, rank, column > bound)


@pytest.mark.parametrize("max_bins", [255, 6])
@pytest.mark.parametrize(("low", "high"), [(True, True), (True, False), (False, True)])
def test_the_best_threshold_is_that_of_a_plain_loop(max_bins, low, high):
    X = rows()
    mapper, search = search_of(X, max_bins=max_bins)
    for seed in range(5):
        potentials = np.random.default_rng(seed).normal(size=len(X))
        potentials -= potentials.mean()  # as pairs give them
        feature, place, rank, total = search.best(potentials, low, high)
        tried = [
            (abs(potentials @ ranks), j, bound, missing)
            for j, bound, missing, ranks in candidates(X, mapper, low, high)
        ]
        size = max(tried)[0]
        assert abs(total) == pytest.approx(size, rel=1e-12)
        bound = -np.inf if place < 0 else mapper.thresholds_[feature, place]
        # Thresholds that part the same rows are equally good.
        best = [t[1:] for t in tried if t[0] > size * (1 - 1e-12)]
        assert (feature, bound, rank) in best
        ranks = np.where(np.isnan(X[:, feature]), rank, X[:, feature] > bound)
        assert potentials @ ranks == pytest.approx(total, rel=1e-10)


def test_missing_values_alone_may_be_what_matters():
    X = np.array([[np.nan], [np.nan], [1.0], [1.0]])
    _, search = search_of(X)
    potentials = np.array([-2.0, -1.0, 2.0, 1.0])
    assert search.best(potentials) == (0, -1, 0, 3.0)
    assert search.best(-potentials) == (0, -1, 0, -3.0)
    # With rank 1 for missing values, all others must have rank 0.
    assert search.best(potentials, low=False) == (0, 0, 1, -3.0)
    assert search.best(-potentials, low=False) == (0, 0, 1, 3.0)


def test_of_equal_sums_the_first_counts():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    _, search = search_of(X)
    assert search.best(np.array([-1.0, 0.0, 1.0])) == (0, 0, 0, 1.0)
    assert search.best(np.zeros(3)) == (-1, -1, 0, 0.0)


@pytest.mark.parametrize("scale", [1.0, 1e-250, 1e300])
def test_histograms_are_exact_for_any_number_of_threads(scale):
    X = rows(n=20_000)
    potentials = scale * np.random.default_rng(1).normal(size=len(X))
    mapper, search = search_of(X)
    found = search.best(potentials)
    histogram = search.histogram()
    for n_threads in (2, 3, 5):
        assert search.best(potentials, n_threads=n_threads) == found
        np.testing.assert_array_equal(search.histogram(), histogram)
    # Sums of integers do not depend on the order of rows either.
    moved = np.random.default_rng(2).permutation(len(X))
    other = ThresholdSearch(mapper.transform(X[moved]), len(X), mapper.n_bins_)
    assert other.best(potentials[moved]) == found
    bins = np.searchsorted(mapper.thresholds_[0, : mapper.n_bins_[0] - 1], X[:, 0])
    expected = np.bincount(bins, potentials / scale, 256)
    np.testing.assert_allclose(histogram[0] / scale, expected, atol=1e-9)


def test_a_search_refuses_what_it_cannot_sum():
    _, search = search_of(rows(n=4))
    assert not search.histogram().any()
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="potentials must be finite"):
            search.best(np.array([0.0, bad, 1.0, 0.0]))
    with pytest.raises(ValueError, match="potentials must have length 4"):
        search.best(np.zeros(5))
    with pytest.raises(ValueError, match="rows and features"):
        ThresholdSearch(np.zeros(0, np.uint8), 0, np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="n_bins"):
        ThresholdSearch(np.zeros(8, np.uint8), 1, np.array([256], np.int32))


def rank(x, low, high, missing):
    if np.isnan(x):
        return missing
    return float(x > low) if low == high else min(max((x - low) / (high - low), 0), 1)


WEAK = {
    "feature": np.array([0, 3, 3, 4, 1], np.int32),
    "low": np.array([0.1, -0.5, -np.inf, 0.0, 0.0]),
    "high": np.array([0.1, 1.5, -np.inf, 0.0, 2.0]),
    "missing": np.array([0.0, 1.0, 0.0, 1.0, 0.0]),
    "weight": np.array([0.7, -0.2, 0.4, 1.1, 0.3]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_ranks_are_added_as_in_a_plain_loop(dtype, n_threads):
    X = rows(n=2100, dtype=dtype)
    scores = np.ones(len(X))
    add_ranks(X, scores, **WEAK, first=1, last=5, n_threads=n_threads)
    for i in (0, 63, 64, 1023, 1024, 2099):
        expected = 1.0
        for t in range(1, 5):
            x = float(X[i, WEAK["feature"][t]])
            ends = (WEAK[name][t] for name in ("low", "high", "missing"))
            expected += WEAK["weight"][t] * rank(x, *ends)
        assert scores[i] == expected


def test_only_weak_rankers_that_exist_are_added():
    X = rows(n=3)
    with pytest.raises(ValueError, match="there are 5 weak rankers"):
        add_ranks(X, np.zeros(3), **WEAK, first=0, last=6)
    with pytest.raises(ValueError, match="feature must be from 0 to 2"):
        add_ranks(X[:, :3].copy(), np.zeros(3), **WEAK, first=0, last=5)


def test_sums_of_ramps_are_those_of_a_plain_loop():
    X = rows(n=9000, d=7)
    potentials = np.random.default_rng(0).normal(size=len(X))
    low, high = np.full(7, -0.5), np.array([1.0, 2.0, 1.0, 0.5, 0.5, 1.0, -0.5])
    sums, missing = sum_ramps(X, low, high, potentials)
    unknown = np.isnan(X)
    with np.errstate(invalid="ignore"):
        ranks = np.clip((X - low) / np.where(high > low, high - low, 1.0), 0, 1)
    expected = potentials @ np.where(unknown, 0.0, ranks)
    np.testing.assert_allclose(sums, expected, atol=1e-11)
    np.testing.assert_allclose(missing, potentials @ unknown, atol=1e-11)
    for n_threads in (2, 3):
        again = sum_ramps(X, low, high, potentials, n_threads)
        np.testing.assert_array_equal(again, [sums, missing])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_at_a_threshold_is_not_above_it(dtype):
    X = np.array([[0.5], [1.0], [1.5]], dtype=dtype)
    one, scores = np.ones(1), np.zeros(3)
    first = np.zeros(1, dtype=np.int32)
    add_ranks(X, scores, first, one, one, 0 * one, one, first=0, last=1)
    assert scores.tolist() == [0.0, 0.0, 1.0]
