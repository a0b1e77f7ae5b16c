"""Magnitude-preserving rankers against regressions on differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from skrank.datasets import make_ranking
from skrank.losses import MagnitudePreservingLoss
from skrank.rankers import BoostedRanker, MagnitudePreservingRanker
from skrank.solvers import LBFGS

EXACT = LBFGS(tol=1e-11)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=12, n_features=5, n_informative=3, random_state=0)


def pairs_of(y, groups):
    return np.nonzero((groups[:, None] == groups) & (y[:, None] > y))


def test_squares_are_ridge_regression_on_differences(data):
    X, y, groups = data
    u, v = pairs_of(y, groups)
    # A mean over P pairs is that of the sum with a ridge of alpha P / 2.
    ridge = Ridge(0.1 * len(u) / 2, fit_intercept=False).fit(X[u] - X[v], y[u] - y[v])
    ranker = MagnitudePreservingRanker(alpha=0.1, solver=EXACT).fit(X, y, groups)
    assert_allclose(ranker.coef_, ridge.coef_, rtol=1e-7)


def test_squares_with_a_kernel_are_kernel_ridge_regression_on_differences(data):
    X, y, groups = (part[:60] for part in data)
    u, v = pairs_of(y, groups)
    K = rbf_kernel(X, gamma=0.2)
    gram = K[u][:, u] - K[u][:, v] - K[v][:, u] + K[v][:, v]
    ridge = KernelRidge(alpha=0.1 * len(u) / 2, kernel="precomputed")
    dual = ridge.fit(gram, y[u] - y[v]).dual_coef_
    expected = (K[:, u] - K[:, v]) @ dual
    ranker = MagnitudePreservingRanker(
        kernel="rbf",
        kernel_params={"gamma": 0.2},
        n_components=None,
        alpha=0.1,
        solver=EXACT,
    ).fit(X, y, groups)
    assert_allclose(ranker.predict(X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("beta", [1.0, 2.0, 3.0])
def test_without_a_free_zone_svr_is_the_plain_loss(data, beta):
    free, plain = (
        MagnitudePreservingRanker(kind, beta=beta, epsilon=0.0, alpha=0.1).fit(*data)
        for kind in ("svr", "mp")
    )
    assert_allclose(free.coef_, plain.coef_, rtol=1e-6, atol=1e-9)


def test_errors_of_power_1_are_least_absolute_differences(data):
    X, y, groups = data
    ranker = MagnitudePreservingRanker(beta=1.0, alpha=0.1).fit(X, y, groups)
    u, v = pairs_of(y, groups)

    def objective(w):
        errors = np.abs((X[u] - X[v]) @ w - (y[u] - y[v]))
        return errors.mean() + 0.05 * w @ w

    rng = np.random.default_rng(0)
    least = min(objective(ranker.coef_ + 0.01 * rng.normal(size=5)) for _ in range(200))
    assert objective(ranker.coef_) <= least + 1e-4


def test_the_hinge_loss_ends_below_where_it_starts(data):
    X, y, groups = data
    ptr = np.append(0, np.cumsum(np.unique(groups, return_counts=True)[1]))
    loss = MagnitudePreservingLoss("hmp").prepare(y, ptr)
    values = [
        loss.value_gradient(
            MagnitudePreservingRanker(kind, max_iter=1000).fit(X, y, groups).predict(X)
        )[0].sum()
        for kind in ("hmp", "mp")
    ]
    assert 0.0 < values[0] < values[1]


def test_squares_can_be_boosted(data):
    X, y, groups = data
    loss = MagnitudePreservingLoss()
    ranker = BoostedRanker(loss, n_estimators=30, min_samples_leaf=5, learning_rate=0.3)
    ranker.fit(X, y, groups)
    assert ranker.loss_curve_[-1] < 0.5 * ranker.loss_curve_[0]
    assert np.all(np.diff(ranker.loss_curve_) < 0)


@pytest.mark.parametrize("beta", [0.5, -1.0, "2"])
def test_powers_below_1_are_refused(data, beta):
    with pytest.raises(ValueError, match="MagnitudePreservingRanker: beta must be"):
        MagnitudePreservingRanker(beta=beta).fit(*data)
