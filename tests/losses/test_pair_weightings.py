"""Margin losses in a few lines, and the weightings of pairs, against plain loops."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from _labels import label
from scipy.special import expit

from skrank._core import _segments
from skrank.losses import (
    BaseMarginLoss,
    ExplicitPairsLoss,
    HingeLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    NLLLoss,
    SampledPairsLoss,
    SquaredHingeLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
    _pairs,
)


class FidelityLoss(BaseMarginLoss):
    """Fidelity of target and modelled probability, Liu, eq. 3.11."""

    convex = False

    def margin_loss(self, margins):
        wrong = expit(-margins)
        root = np.sqrt(expit(margins))
        return 1.0 - root, -0.5 * root * wrong

    def margin_curvature(self, margins):
        wrong, right = expit(-margins), expit(margins)
        return -0.5 * np.sqrt(right) * wrong * (0.5 * wrong - right)


class ExponentialLoss(BaseMarginLoss):
    """RankBoost's loss, Liu, eq. 3.12."""

    def margin_loss(self, margins):
        values = np.exp(-margins)
        return values, -values


class IRSVMLoss(HingeLoss):
    """Hinges normalised per query, Liu, eq. 3.24; weights of grades are given."""

    normalization = "query"


TOYS = [FidelityLoss(), ExponentialLoss(), IRSVMLoss()]
FAST = [
    HingeLoss(0.7),
    HingeLoss(0.7, width=0.3),
    LVQ2Loss(0.7, margin=0.2),
    SquaredHingeLoss(0.7),
    LogLoss(1.5),
    MCELoss(beta=1.5),
    NLLLoss(beta=1.5),
    SquareSquareLoss(0.7),
    SquareExponentialLoss(0.5),
]


def gain(better, worse):
    return np.exp2(better)


def gap(better, worse):
    return better - worse


WEIGHTS = [None, gain, gap, {(2, 0): 3.0, (2, 1): 1.5, (1, 0): 0.0}]


@pytest.fixture
def data(rng):
    ptr = np.array([0, 6, 6, 7, 15, 19])
    y = rng.integers(0, 3, size=19).astype(float)
    y[15:] = 2.0  # a query without preference
    return y, rng.normal(size=19), rng.uniform(0.5, 2.0, 19), ptr


def brute_force(loss, y, raw, weight, ptr, against=None):
    """Values and gradient, pair by pair; values of the weights, too."""
    values, gradient = np.zeros(len(ptr) - 1), np.zeros(len(y))
    totals = np.zeros(len(ptr) - 1)
    table = loss.grade_weights
    for q, (a, b) in enumerate(pairwise(ptr)):
        pairs = [(u, v) for u in range(a, b) for v in range(a, b) if y[u] > y[v]]
        if against == "zero":
            pairs = [(u, v) for u, v in pairs if y[v] == 0]
        weights = []
        for u, v in pairs:
            of_pair = 1.0
            if callable(table):
                of_pair = table(y[u], y[v])
            elif table is not None:
                of_pair = table[y[u], y[v]]
            weights.append(weight[u] * of_pair)
        if loss.normalization == "query" and sum(weights) > 0:
            factor = np.mean(weight[a:b]) / sum(weights)
            weights = [factor * w for w in weights]
        totals[q] = sum(weights)
        for (u, v), w in zip(pairs, weights):
            value, up, down = loss.pair_loss(raw[[u]], raw[[v]])
            values[q] += w * value[0]
            gradient[u] += w * up[0]
            gradient[v] += w * down[0]
    return values, gradient, totals


def variant(loss, normalization, grade_weights):
    return loss._with(normalization=normalization, grade_weights=grade_weights)


@pytest.mark.parametrize("loss", [*FAST, *TOYS], ids=label)
@pytest.mark.parametrize("normalization", ["pair", "query"])
@pytest.mark.parametrize("grade_weights", WEIGHTS, ids=label)
@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_pairs_equal_a_plain_loop(
    loss, normalization, grade_weights, weighted, data
):
    y, raw, weight, ptr = data
    loss = variant(loss, normalization, grade_weights)
    prepared = loss.prepare(y, ptr, weight if weighted else None)
    weight = weight if weighted else np.ones(len(y))
    values, gradient, totals = brute_force(loss, y, raw, weight, ptr)
    found, slopes = prepared.value_gradient(raw)
    np.testing.assert_allclose(found, values, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(prepared.total_weight, totals.sum(), rtol=1e-12)
    if normalization == "query":
        assert loss.unit == "query"
        if not weighted:
            np.testing.assert_allclose(prepared.total_weight, 2)  # queries with pairs


def test_weights_of_the_better_grade_keep_the_kernel(data):
    y, _, _, ptr = data
    kernel = HingeLoss(normalization="query", grade_weights=gain).prepare(y, ptr)
    generic = HingeLoss(normalization="query", grade_weights=gap).prepare(y, ptr)
    assert not isinstance(kernel, _pairs.PairSum)
    assert isinstance(generic, _pairs.PairSum)


@pytest.mark.parametrize("loss", [*TOYS, LogLoss(1.5), NLLLoss(beta=2.0)], ids=label)
def test_blocks_of_any_size_give_the_sum(loss, data, monkeypatch):
    y, raw, weight, ptr = data
    loss = variant(loss, "query", gap)
    expected = loss.prepare(y, ptr, weight).value_gradient(raw)
    for block in (1, 3, 7):
        monkeypatch.setattr(_pairs, "BLOCK", block)
        prepared = loss.prepare(y, ptr, weight)
        for found, reference in zip(prepared.value_gradient(raw), expected):
            np.testing.assert_allclose(found, reference, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", [*TOYS, LogLoss(1.5), NLLLoss(beta=2.0)], ids=label)
@pytest.mark.parametrize("grade_weights", [None, gap], ids=label)
def test_derivatives_of_generic_sums(loss, grade_weights, data):
    y, raw, weight, ptr = data
    loss = loss._with(grade_weights=grade_weights)
    if isinstance(loss, IRSVMLoss):
        loss = loss._with(width=0.3)
    prepared = loss.prepare(y, ptr, weight)
    has_curvature = hasattr(loss, "margin_curvature")
    assert loss.has_hessian == has_curvature
    assert hasattr(prepared, "gradient_hessian") == has_curvature
    _, gradient = prepared.value_gradient(raw)
    step = 1e-5
    for i in range(len(raw)):
        e = step * (np.arange(len(raw)) == i)
        (up, above), (down, below) = (
            prepared.value_gradient(raw + s * e) for s in (1, -1)
        )
        slope = (up.sum() - down.sum()) / (2 * step)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-6, atol=1e-8)
        if has_curvature:
            curvature = (above[i] - below[i]) / (2 * step)
            hessian = prepared.gradient_hessian(raw)[2][i]
            np.testing.assert_allclose(hessian, curvature, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", [LogLoss(1.5), NLLLoss(beta=2.0)], ids=label)
def test_the_kernel_and_the_generic_sum_agree(loss, data):
    y, raw, weight, ptr = data
    kernel = loss.prepare(y, ptr, weight).gradient_hessian(raw)
    generic = _pairs.PairSum(loss, y, ptr, weight, 1).gradient_hessian(raw)
    for found, expected in zip(generic, kernel):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("against", ["lower", "zero"])
@pytest.mark.parametrize("normalization", ["pair", "query"])
@pytest.mark.parametrize("grade_weights", WEIGHTS[:3], ids=label)
def test_sampled_pairs_have_the_weights_of_all(
    against, normalization, grade_weights, data
):
    y, raw, weight, ptr = data
    inner = variant(LogLoss(1.5), normalization, grade_weights)
    loss = SampledPairsLoss(inner, 60_000, random_state=0, against=against)
    prepared = loss.prepare(y, ptr, weight)
    values, gradient, totals = brute_force(inner, y, raw, weight, ptr, against)
    np.testing.assert_allclose(prepared.total_weight, totals.sum())
    found, slopes = prepared.value_gradient(raw)
    np.testing.assert_allclose(found, values, rtol=0.03)
    np.testing.assert_allclose(slopes, gradient, atol=0.03 * np.abs(gradient).max())


def equal_queries(y, ptr, own, weight, against_zero):
    """How GERank weighted rows by hand before losses did."""
    sizes = np.diff(ptr)
    worse = np.empty(len(y))
    if against_zero:
        zeros = _segments.segment_sum((y == 0).astype(np.float64), ptr)
        worse = np.where(y > 0, np.repeat(zeros, sizes), 0.0)
    else:
        pairs = _pairs.PreparedPairs(y, ptr, None, 1)
        rows = pairs.order + np.repeat(ptr[:-1], sizes)
        worse[rows] = np.repeat(sizes, sizes) - pairs.lower
    total = _segments.segment_sum(weight * worse, ptr)
    mean = _segments.segment_sum(own, ptr) / np.maximum(sizes, 1)
    factor = np.divide(mean, total, out=np.ones_like(mean), where=total > 0)
    return weight * np.repeat(factor, sizes)


def exp2_gain(base, better, worse):
    return base**better - 1.0


@pytest.mark.parametrize("with_gain", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_triples", [None, 9])
def test_gerank_by_hand_is_the_same_to_the_bit(with_gain, weighted, n_triples, data):
    y, raw, weight, ptr = data
    own = weight if weighted else np.ones(len(y))
    by_hand = own * (2.0**y - 1.0) if with_gain else own
    by_hand = equal_queries(y, ptr, own, by_hand, n_triples is not None)
    for inner in FAST:
        new = inner._with(
            normalization="query",
            grade_weights=partial(exp2_gain, 2.0) if with_gain else None,
        )
        if n_triples is not None:
            inner = SampledPairsLoss(inner, n_triples, 0, against="zero")
            new = SampledPairsLoss(new, n_triples, 0, against="zero")
        expected = inner.prepare(y, ptr, by_hand)
        prepared = new.prepare(y, ptr, weight if weighted else None)
        assert prepared.total_weight == expected.total_weight
        for a, b in zip(prepared.value_gradient(raw), expected.value_gradient(raw)):
            np.testing.assert_array_equal(a, b)


def test_explicit_pairs_of_equal_queries(data):
    y, raw, weight, ptr = data
    query = np.repeat(np.arange(5), np.diff(ptr))
    pairs = np.argwhere((query[:, None] == query) & (y[:, None] > y))
    pairs = np.random.default_rng(0).permutation(pairs)
    inner = LogLoss(normalization="query")
    expected = inner.prepare(y, ptr, weight)
    explicit = ExplicitPairsLoss(inner, pairs).prepare(y, ptr, weight)
    np.testing.assert_allclose(explicit.total_weight, expected.total_weight)
    for found, reference in zip(
        explicit.gradient_hessian(raw), expected.gradient_hessian(raw)
    ):
        np.testing.assert_allclose(found, reference, rtol=1e-12, atol=1e-14)


def test_long_queries_are_never_a_matrix(rng):
    tracemalloc = pytest.importorskip("tracemalloc")
    y, raw = rng.random(3000), rng.normal(size=3000)  # 4.5 million pairs
    prepared = FidelityLoss().prepare(y, [0, 3000])
    tracemalloc.start()
    prepared.value_gradient(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000  # bytes; one boolean matrix


@pytest.mark.parametrize(
    ("grade_weights", "message"),
    [
        (3.0, "grade_weights must be a function, a Mapping or"),
        (lambda better, worse: -better, "one finite weight >= 0 for every pair"),
        (lambda better, worse: 1.0 / worse, "got inf for grade 1 above grade 0"),
        ({(2, 0): 1.0, (2, 1): 1.0}, r"no weight for the grades \(1.0, 0.0\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_grade_weights(grade_weights, message):
    loss = HingeLoss(grade_weights=grade_weights)
    with pytest.raises(ValueError, match=message):
        loss.prepare([2.0, 1.0, 0.0], [0, 3]).value_gradient(np.zeros(3))


@pytest.mark.parametrize("params", [{"normalization": "query"}, {"grade_weights": gap}])
def test_weightings_are_of_pairs(params):
    loss = HingeLoss(reading="pointwise", **params)
    with pytest.raises(ValueError, match="where reading='pointwise'"):
        loss.prepare([1.0, 0.0], [0, 2], labels=[0, 1])
