"""The losses of boosting against sums over all pairs, and their limit cases."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from skrank.losses import ExponentialLoss, FidelityLoss, LogLoss, PNormPushLoss


class Data:
    """Ragged queries; the best document of each one is lifted above the others."""

    def __init__(self, seed=0, sizes=(6, 1, 9, 4), lift=0.0):
        rng = np.random.default_rng(seed)
        n = sum(sizes)
        self.ptr = np.concatenate(([0], np.cumsum(sizes)))
        self.y = rng.integers(0, 3, n).astype(float)
        self.raw = 2.0 * rng.normal(size=n)
        for a, b in pairwise(self.ptr):
            self.raw[a + np.argmax(self.y[a:b])] += lift
        self.weight = rng.uniform(0.3, 2.0, n)
        self.ranks = rng.integers(0, 2, n).astype(float)

    def pairs(self):
        """Pairs (query, preferred row, other row)."""
        for q, (a, b) in enumerate(pairwise(self.ptr)):
            for u in range(a, b):
                for v in range(a, b):
                    if self.y[u] > self.y[v]:
                        yield q, u, v


# So far apart, exponentials of scores cannot be factorised any more.
WIDE = pytest.mark.parametrize("lift", [0.0, 650.0])


def exponential(gap):
    return np.exp(-gap), -np.exp(-gap)


def fidelity(gap):
    p = 1.0 / (1.0 + np.exp(-gap))
    return 1.0 - np.sqrt(p), -0.5 * np.sqrt(p) * (1.0 - p)


@WIDE
@pytest.mark.parametrize(
    ("loss", "of_pair"), [(ExponentialLoss, exponential), (FidelityLoss, fidelity)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_margin_losses_sum_over_all_pairs(loss, of_pair, weighted, lift):
    data = Data(lift=lift)
    weight = data.weight if weighted else np.ones(len(data.y))
    values, gradient = np.zeros(4), np.zeros(len(data.y))
    sums = np.zeros(3)
    h = data.ranks
    for q, u, v in data.pairs():
        value, slope = (weight[u] * x for x in of_pair(data.raw[u] - data.raw[v]))
        values[q] += value
        gradient[u] += slope
        gradient[v] -= slope
        sums -= slope * np.array([h[u] * (1 - h[v]), (1 - h[u]) * h[v], 1.0])
    prepared = loss().prepare(data.y, data.ptr, data.weight if weighted else None)
    found = prepared.value_gradient(data.raw)
    size = values.max()
    np.testing.assert_allclose(found[0], values, rtol=1e-12, atol=1e-15 * size)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-11, atol=1e-13 * size)
    agreement = prepared.agreement(data.raw, data.ranks)
    np.testing.assert_allclose(agreement, sums, rtol=1e-12, atol=1e-15 * size)
    # What a weak ranker gains to first order is the difference of both sums.
    np.testing.assert_allclose(
        agreement[0] - agreement[1], -found[1] @ data.ranks, atol=1e-13 * size
    )


@WIDE
@pytest.mark.parametrize("p", [1.0, 2.0, 2.7, 4.0])
@pytest.mark.parametrize("normalization", ["pair", "query"])
def test_the_push_is_a_power_of_sums_over_better_documents(p, normalization, lift):
    data = Data(lift=lift)
    height = np.zeros(len(data.y))
    start = np.zeros(len(data.y))
    for _, u, v in data.pairs():
        height[v] += np.exp(data.raw[v] - data.raw[u])
        start[v] += 1.0
    values = np.array([np.sum(height[a:b] ** p) for a, b in pairwise(data.ptr)])
    at_start = np.array([np.sum(start[a:b] ** p) for a, b in pairwise(data.ptr)])
    if normalization == "query":
        values = values / np.where(at_start > 0, at_start, 1.0)
    prepared = PNormPushLoss(p, normalization=normalization).prepare(data.y, data.ptr)
    np.testing.assert_allclose(prepared.value_gradient(data.raw)[0], values, rtol=1e-12)
    expected = sum(at_start > 0) if normalization == "query" else start.sum()
    assert prepared.total_weight == expected


@WIDE
@pytest.mark.parametrize("normalization", ["pair", "query"])
def test_with_power_1_the_push_is_the_exponential_loss(normalization, lift):
    data = Data(lift=lift)
    for weight in (None, data.weight):
        rows = data.y, data.ptr, weight
        push = PNormPushLoss(1, normalization=normalization).prepare(*rows)
        pairs = ExponentialLoss(normalization=normalization).prepare(*rows)
        np.testing.assert_allclose(push.total_weight, pairs.total_weight)
        found = push.gradient_hessian(data.raw)
        for a, b in zip(found, pairs.gradient_hessian(data.raw)):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * found[0].max())


@WIDE
@pytest.mark.parametrize("p", [1.0, 3.0, 1.5])
def test_derivatives_along_a_line(p, lift):
    data = Data(lift=lift)
    prepared = PNormPushLoss(p).prepare(data.y, data.ptr, data.weight)
    ranks = np.random.default_rng(2).uniform(size=len(data.y))
    value, slope, curvature = prepared.along(data.raw, ranks)
    values, gradient = prepared.value_gradient(data.raw)
    np.testing.assert_allclose(value, values.sum(), rtol=1e-13)
    np.testing.assert_allclose(slope, gradient @ ranks, rtol=1e-11)
    near = [prepared.along(data.raw + t * ranks, ranks)[1] for t in (1e-5, -1e-5)]
    np.testing.assert_allclose(curvature, (near[0] - near[1]) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("p", [2.0, 4.0])
def test_the_curvature_of_scores_far_apart(p):
    data = Data(lift=650.0)
    prepared = PNormPushLoss(p).prepare(data.y, data.ptr, data.weight)
    _, _, hessian = prepared.gradient_hessian(data.raw)
    for i in range(len(hessian)):
        step = 1e-5 * (np.arange(len(hessian)) == i)
        up, down = (prepared.value_gradient(data.raw + s)[1][i] for s in (step, -step))
        np.testing.assert_allclose(
            hessian[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-9 * hessian.max()
        )


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 400.0])
@pytest.mark.parametrize("n_grades", [2, 5])
def test_long_queries_without_a_visit_to_the_pairs(spread, n_grades):
    """The sweep over sorted scores, which only long queries take, with ties."""
    n, rng = 450, np.random.default_rng(0)
    y = rng.integers(0, n_grades, n).astype(float)
    raw = spread * np.round(rng.normal(size=n), 2)
    weight, ranks = rng.uniform(0.2, 2.0, n), rng.integers(0, 2, n).astype(float)
    gap = raw[:, None] - raw
    root, wrong = np.sqrt(expit(gap)), expit(-gap)
    pair = weight[:, None] * (y[:, None] > y)
    slopes = 0.5 * pair * root * wrong
    prepared = FidelityLoss().prepare(y, [0, n], weight)
    values, gradient = prepared.value_gradient(raw)
    np.testing.assert_allclose(values, np.sum(pair * wrong / (1 + root)), rtol=1e-12)
    expected = slopes.sum(axis=0) - slopes.sum(axis=1)
    np.testing.assert_allclose(gradient, expected, atol=1e-12 * abs(expected).max())
    sums = [
        ranks @ slopes @ (1 - ranks),
        (1 - ranks) @ slopes @ ranks,
        slopes.sum(),
    ]
    np.testing.assert_allclose(prepared.agreement(raw, ranks), sums, rtol=1e-12)


def test_long_and_short_queries_agree():
    """Documents of weight 0 make a query long, and change nothing else."""
    rng = np.random.default_rng(1)
    y, raw = rng.integers(0, 2, 100).astype(float), rng.normal(size=100)
    short = FidelityLoss().prepare(y, [0, 100]).value_gradient(raw)
    y = np.concatenate([y, np.full(300, 1.0)])
    raw = np.concatenate([raw, rng.normal(size=300)])
    weight = (np.arange(400) < 100).astype(float)
    swept = FidelityLoss().prepare(y, [0, 400], weight).value_gradient(raw)
    np.testing.assert_allclose(swept[0], short[0], rtol=1e-12)
    np.testing.assert_allclose(swept[1][:100], short[1], rtol=1e-10, atol=1e-12)


def test_bounds_on_the_pairwise_0_1_loss():
    """Exponential and push bound the number of wrong pairs; fidelity stays below 1."""
    data = Data()
    wrong = np.zeros(4)
    for q, u, v in data.pairs():
        wrong[q] += data.raw[u] <= data.raw[v]
    rows = data.y, data.raw, data.ptr
    assert (ExponentialLoss().value_gradient(*rows)[0] >= wrong).all()
    pairs = PNormPushLoss(1).value_gradient(*rows)[0]
    assert (pairs >= wrong).all()
    prepared = FidelityLoss().prepare(data.y, data.ptr)
    assert (prepared.value_gradient(1e3 * data.raw)[0] <= prepared.n_pairs).all()
    np.testing.assert_allclose(
        prepared.value_gradient(1e6 * data.raw)[0], wrong, atol=1e-12
    )


def test_fidelity_is_least_at_the_target():
    margins = np.linspace(-8, 8, 1601)
    for target in (0.5, 0.7, 0.9):
        values, slopes = FidelityLoss(target=target).margin_loss(margins)
        best = np.log(target / (1 - target))
        assert abs(margins[np.argmin(values)] - best) < 0.011
        np.testing.assert_allclose(values.min(), 0.0, atol=1e-5)
        assert (np.sign(slopes) == np.sign(margins - best))[
            abs(margins - best) > 0.02
        ].all()
    right = FidelityLoss().margin_loss(np.array([40.0]))[0]
    np.testing.assert_allclose(right, np.exp(-40.0) / 2, rtol=1e-12)  # no cancellation


def test_fidelity_is_bounded_where_the_log_loss_is_not():
    far = np.array([-1000.0])
    assert FidelityLoss().margin_loss(far)[0] == pytest.approx(1.0)
    assert LogLoss().margin_loss(far)[0] == pytest.approx(1000.0)


def test_a_large_power_looks_at_the_worst_document():
    """The gradient of the logarithm of the loss is that of the highest sum alone."""
    data = Data(sizes=(9,))
    prepared = PNormPushLoss(60).prepare(data.y, data.ptr)
    values, gradient = prepared.value_gradient(data.raw)
    height = np.zeros(9)
    for _, u, v in data.pairs():
        height[v] += np.exp(data.raw[v] - data.raw[u])
    share = gradient / (60 * values[0])
    assert share[np.argmax(height)] == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(np.log(values[0]) / 60, np.log(height.max()), rtol=1e-3)


def test_bad_parameters():
    with pytest.raises(ValueError, match="p must be a number >= 1"):
        PNormPushLoss(0.5).prepare([1, 0], [0, 2])
    with pytest.raises(ValueError, match="target must be a number in"):
        FidelityLoss(target=0.4).prepare([1, 0], [0, 2])
