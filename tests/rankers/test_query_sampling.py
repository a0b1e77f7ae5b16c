"""Which queries a tree sees: shares, weights, and probabilities by gradients."""

import numpy as np
import pytest

from skrank.datasets import make_ranking
from skrank.rankers import MART, LambdaMART
from skrank.rankers._boosting import faded
from skrank.rankers._query_sampling import (
    draw_minimal_variance,
    draw_share,
    draw_weights,
    inclusion_probabilities,
)

PTR = np.array([0, 3, 4, 9, 11])


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_features=8, n_informative=5, random_state=0)


def test_a_share_of_whole_queries_is_drawn():
    for seed in range(20):
        rows = draw_share(seed, PTR, 0.5).rows
        queries = np.unique(np.searchsorted(PTR, rows, side="right") - 1)
        assert len(queries) == 2
        np.testing.assert_array_equal(
            rows, np.concatenate([np.arange(*PTR[[q, q + 1]]) for q in queries])
        )
    assert draw_share(0, PTR, 1.0).rows is None


def test_weights_of_the_bayesian_bootstrap_are_exponential():
    ptr = np.arange(0, 40_001, 2)
    weight = draw_weights(0, ptr, 1.0).weight
    np.testing.assert_array_equal(weight[::2], weight[1::2])  # one per query
    # Mean, variance and median of the exponential distribution; 20,000 draws.
    assert abs(weight.mean() - 1.0) < 0.03
    assert abs(weight.var() - 1.0) < 0.08
    assert abs(np.median(weight) - np.log(2.0)) < 0.03
    np.testing.assert_array_equal(draw_weights(0, ptr, 0.0).weight, 1.0)
    spread = [draw_weights(0, ptr, t).weight.std() for t in (0.1, 0.5, 1.0, 2.0)]
    assert spread == sorted(spread)


@pytest.mark.parametrize("n_expected", [1.0, 2.5, 7.0, 30.0])
def test_probabilities_are_in_proportion_up_to_one(rng, n_expected):
    sizes = rng.exponential(size=40) ** 2
    p = inclusion_probabilities(sizes, n_expected)
    np.testing.assert_allclose(p.sum(), n_expected)
    ratio = sizes / p
    np.testing.assert_allclose(ratio[p < 1], ratio[p < 1][0])
    assert (sizes[p == 1] >= ratio[p < 1][0] * (1 - 1e-12)).all()
    assert (p <= 1).all()


def test_probabilities_where_many_sizes_are_zero():
    np.testing.assert_array_equal(inclusion_probabilities(np.zeros(4), 2.0), 0.5)
    sizes = np.array([0.0, 3.0, 0.0, 1.0])
    np.testing.assert_array_equal(inclusion_probabilities(sizes, 3.0), sizes > 0)


def test_minimal_variance_draws_part_of_the_queries(data):
    with pytest.raises(ValueError, match="set subsample below 1, got 1"):
        MART(sampling="minimal_variance").fit(*data)


def test_sums_of_the_minimal_variance_sample_are_unbiased(rng):
    n = 60
    ptr = np.arange(0, 4 * n + 1, 4)
    gradient = (
        rng.normal(size=(4 * n, 1)) * np.repeat(rng.exponential(size=n), 4)[:, None]
    )
    hessian = rng.random((4 * n, 1))
    sums, sizes = [], []
    for seed in range(3000):
        sample = draw_minimal_variance(seed, ptr, 0.4, gradient, hessian)
        g, h = sample.scaled(gradient[:, 0], hessian[:, 0])
        assert set(np.flatnonzero(sample.factor)) == set(sample.rows)
        sums.append([g[:40].sum(), h[:40].sum()])
        sizes.append(len(sample.rows) / 4)
    error = np.std(sums, axis=0) / np.sqrt(3000)
    expected = [gradient[:40].sum(), hessian[:40].sum()]
    assert (np.abs(np.mean(sums, axis=0) - expected) < 4 * error).all()
    assert abs(np.mean(sizes) - 0.4 * n) < 0.3
    _, second = sample.scaled(gradient[:, 0], None)
    np.testing.assert_array_equal(second, sample.factor)


def test_queries_with_larger_gradients_vary_the_sums_less(rng):
    """The variance is below that of equally likely queries of the same number."""
    n = 60
    ptr = np.arange(0, 4 * n + 1, 4)
    scale = np.repeat(rng.exponential(size=n) ** 2, 4)
    gradient = rng.normal(size=4 * n) * scale
    own, plain = [], []
    for seed in range(1000):
        sample = draw_minimal_variance(seed, ptr, 0.3, gradient[:, None], None)
        own.append((gradient * sample.factor).sum())
        plain.append(gradient[draw_share(seed, ptr, 0.3).rows].sum() / 0.3)
    assert np.std(own) < 0.8 * np.std(plain)


def test_bootstrap_weights_do_not_enter_the_values_of_leaves(data):
    X, y, groups = data
    ranker = MART(
        n_estimators=1, learning_rate=1.0, sampling="bayesian", random_state=0
    )
    scores = ranker.fit(X, y, groups).predict(X)
    for value in np.unique(scores):
        np.testing.assert_allclose(value, y[scores == value].mean())
    other = MART(n_estimators=1, learning_rate=1.0, random_state=0).fit(X, y, groups)
    assert (other.predict(X) != scores).any()


def test_a_temperature_of_zero_changes_nothing(data):
    options = {"n_estimators": 5, "random_state": 0}
    plain = LambdaMART(**options).fit(*data)
    cold = LambdaMART(sampling="bayesian", bagging_temperature=0.0, **options)
    np.testing.assert_array_equal(
        plain.predict(data[0]), cold.fit(*data).predict(data[0])
    )


@pytest.mark.parametrize(
    "options",
    [
        {"sampling": "bayesian"},
        {"sampling": "minimal_variance", "subsample": 0.5},
        {"random_strength": 2.0},
        {"random_strength": 2.0, "growth": "leaf"},
    ],
    ids=str,
)
def test_neither_threads_nor_the_order_of_queries_matter(data, options):
    X, y, groups = data
    order = np.argsort(
        np.random.default_rng(0).permutation(groups.max() + 1)[groups], kind="stable"
    )  # queries move, rows within a query do not
    scores = []
    for n_jobs, rows in ((1, slice(None)), (2, slice(None)), (2, order)):
        ranker = LambdaMART(n_estimators=8, random_state=0, n_jobs=n_jobs, **options)
        scores.append(ranker.fit(X[rows], y[rows], groups[rows]).predict(X))
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
    plain = LambdaMART(n_estimators=8, random_state=0).fit(*data).predict(X)
    assert (scores[0] != plain).any()


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_a_warm_start_goes_on_with_the_noise(data, growth):
    options = {"random_strength": 2.0, "random_state": 0, "growth": growth}
    whole = LambdaMART(n_estimators=10, **options).fit(*data)
    parts = LambdaMART(n_estimators=4, warm_start=True, **options).fit(*data)
    parts.set_params(n_estimators=10).fit(*data)
    np.testing.assert_array_equal(whole.predict(data[0]), parts.predict(data[0]))


def test_noise_fades_after_steps_of_the_logarithm_of_the_number_of_documents():
    noise = [faded(3.0, 0.5 * k, 1000) for k in range(100)]
    assert noise[0] > 2.99
    assert (np.diff(noise) < 0).all()
    np.testing.assert_allclose(faded(3.0, np.log(1000), 1000), 1.5)
    assert noise[-1] < 1e-10


def test_noise_costs_gain_of_the_first_split(data):
    gains = []
    for strength in (0.0, 3.0):
        ranker = MART(random_strength=strength, n_estimators=1, random_state=0)
        gains.append(ranker.fit(*data).ensemble_.gain_[0])
    assert gains[1] < gains[0]


def test_weights_for_all_queries_leave_nothing_to_draw(data):
    with pytest.raises(ValueError, match=r"subsample=0.5 draws queries, but sampling"):
        MART(sampling="bayesian", subsample=0.5).fit(*data)
