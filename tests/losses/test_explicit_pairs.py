"""Losses over single pairs, and the priors and samples of the listwise losses."""

from itertools import pairwise

import numpy as np
import pytest

from skrank.losses import (
    ExplicitPairsLoss,
    HingeLoss,
    ListMLELoss,
    ListNetLoss,
    LogLoss,
    SquaredHingeLoss,
)

LOSSES = [
    LogLoss(sigma=1.5),
    HingeLoss(margin=0.7),
    SquaredHingeLoss(margin=0.7),
    HingeLoss(margin=0.7, width=0.4),
]


@pytest.fixture
def graded(rng):
    ptr = np.array([0, 6, 7, 15])
    return rng.integers(0, 3, size=15).astype(float), rng.normal(size=15), ptr


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_all_pairs_one_by_one_equal_the_kernel(loss, graded):
    y, scores, ptr = graded
    query = np.repeat(np.arange(3), np.diff(ptr))
    same = query[:, None] == query
    pairs = np.argwhere(same & (y[:, None] > y))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=15)
    explicit = ExplicitPairsLoss(loss, pairs, weight[pairs[:, 0]]).prepare(y, ptr)
    values, gradient = explicit.value_gradient(scores)
    prepared = loss.prepare(y, ptr, weight)
    expected, slope = prepared.value_gradient(scores)
    np.testing.assert_allclose(values.sum(), expected.sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)
    np.testing.assert_allclose(explicit.total_weight, prepared.total_weight)


@pytest.mark.parametrize("width", [0.1, 1.0, 3.0])
def test_smooth_hinge_stays_close_to_the_hinge(width):
    margins = np.linspace(-4, 4, 401)
    hinge, _ = HingeLoss(margin=1.0).margin_loss(margins)
    smooth, _ = HingeLoss(margin=1.0).smoothed(width).margin_loss(margins)
    gap = hinge - smooth
    assert gap.min() >= -1e-12
    assert gap.max() <= width / 2 + 1e-12


def test_squared_hinge_is_smooth_already():
    loss = SquaredHingeLoss()
    assert loss.smoothed(0.1) is loss


def test_gamma_prior_adds_its_log_density(graded):
    y, scores, ptr = graded
    shape, rate = 2.5, 0.3
    plain = ListMLELoss(ties="stable").prepare(y, ptr)
    prior = ListMLELoss(ties="stable", prior=(shape, rate)).prepare(y, ptr)
    added = prior.value_gradient(scores)[0] - plain.value_gradient(scores)[0]
    density = rate * np.exp(scores) - (shape - 1) * scores
    counted = [np.ptp(y[a:b]) > 0 for a, b in pairwise(ptr)]
    expected = [c * density[a:b].sum() for a, b, c in zip(ptr, ptr[1:], counted)]
    np.testing.assert_allclose(added, expected, rtol=1e-10)
    assert not ListMLELoss(prior=(shape, rate)).shift_invariant
    finite = prior.value_gradient(scores * 1e4)
    assert all(np.isfinite(part).all() for part in finite)


@pytest.mark.parametrize("prior", [(0.5, 1.0), (2.0, 0.0)])
def test_prior_must_be_log_concave(prior, graded):
    y, _, ptr = graded
    with pytest.raises(ValueError, match="shape >= 1, rate > 0"):
        ListMLELoss(prior=prior).prepare(y, ptr)


def test_sampled_lists_average_to_the_expectation():
    # Top-3 lists of 3 documents are the six rankings, whose sum can be written out.
    y, scores = np.array([2.0, 1.0, 0.0]), np.array([0.3, -0.2, 0.5])

    def log_probability(utility, order):
        ordered = utility[list(order)]
        return sum(ordered[j] - np.logaddexp.reduce(ordered[j:]) for j in range(3))

    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    expected = -sum(
        np.exp(log_probability(y, order)) * log_probability(scores, order)
        for order in orders
    )
    loss = ListNetLoss(top_k=3, n_samples=4000)
    found = loss.value_gradient(y, scores, [0, 3])[0][0]
    np.testing.assert_allclose(found, expected, rtol=0.02)
