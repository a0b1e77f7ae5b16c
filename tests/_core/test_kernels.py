"""The compiled kernels against plain NumPy loops."""

import subprocess
import sys
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from skrank._core import _list_losses, _pair_losses, _segments


@st.composite
def ragged_queries(draw, max_size=40, max_grade=4):
    """Grades, scores, weights and pointer array of a few queries."""
    sizes = draw(st.lists(st.integers(0, max_size), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = sum(sizes)
    y = rng.integers(0, max_grade + 1, n).astype(float)
    scores = draw(st.sampled_from([1e-3, 1.0, 50.0, 1e4])) * rng.normal(size=n)
    if draw(st.booleans()):
        scores = np.round(scores)  # ties
    weight = rng.uniform(0.0, 2.0, n) if draw(st.booleans()) else None
    return y, scores, weight, np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)


ragged = settings(max_examples=60, deadline=None)


def queries(ptr):
    return [slice(a, b) for a, b in pairwise(ptr)]


def pair_reference(y, s, weight, pair_loss, pair_slope):
    """Value and gradient of one query, pair by pair."""
    value, gradient = 0.0, np.zeros(len(y))
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                w = 1.0 if weight is None else weight[i]
                value += w * pair_loss(s[i] - s[j])
                gradient[i] += w * pair_slope(s[i] - s[j])
                gradient[j] -= w * pair_slope(s[i] - s[j])
    return value, gradient


def assert_matches_pairs(y, s, weight, ptr, result, pair_loss, pair_slope):
    values, gradient = result
    for q, rows in enumerate(queries(ptr)):
        w = None if weight is None else weight[rows]
        value, slope = pair_reference(y[rows], s[rows], w, pair_loss, pair_slope)
        scale = max(1.0, np.abs(slope).max(initial=0.0))
        np.testing.assert_allclose(values[q], value, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(
            gradient[rows], slope, rtol=1e-11, atol=1e-12 * scale
        )


@ragged
@given(ragged_queries())
def test_order_is_the_stable_sort(data):
    _, scores, _, ptr = data
    order = _segments.segment_order(scores, ptr)
    ranks = _segments.segment_ranks(scores, ptr)
    for rows in queries(ptr):
        expected = np.argsort(-scores[rows], kind="stable")
        np.testing.assert_array_equal(order[rows], expected)
        np.testing.assert_array_equal(
            ranks[rows][expected], np.arange(len(expected)) + 1
        )


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 257, 1000, 4097])
@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_order_for_any_size(size, levels):
    x = np.random.default_rng(size).integers(0, levels, size).astype(float)
    ptr = np.array([0, size], dtype=np.intp)
    expected = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(_segments.segment_order(x, ptr), expected)


LONG = 1500
DRAWS = {
    "uniform": lambda rng: rng.random(LONG),
    "ties": lambda rng: rng.integers(0, 5, LONG) / 3.0,
    "equal": lambda rng: np.full(LONG, 0.1),
    "zeros of both signs": lambda rng: rng.choice([0.0, -0.0, 1e-300, 1.0], LONG),
    "heavy tails": lambda rng: rng.standard_cauchy(LONG) ** 3,
    "one outlier": lambda rng: np.append(rng.random(LONG - 1), 1e300),
    "two close groups": lambda rng: rng.integers(0, 2, LONG) + 1e-12 * rng.random(LONG),
    "tiny": lambda rng: rng.random(LONG) * 1e-320,
    "huge": lambda rng: rng.uniform(-1, 1, LONG) * 1.7e308,
    "infinities": lambda rng: rng.choice([np.inf, -np.inf, 0.0, 1.0, 2.0], LONG),
    "missing": lambda rng: rng.choice([np.nan, 0.0, 1.0], LONG),
    "falling": lambda rng: -np.sort(-rng.random(LONG)),
    "rising": lambda rng: np.sort(rng.random(LONG)),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_order_of_long_queries(draw):
    x = DRAWS[draw](np.random.default_rng(0))
    ptr = np.array([0, LONG], dtype=np.intp)
    keys = np.where(np.isnan(x), -np.inf, x)
    expected = np.argsort(-keys, kind="stable")
    np.testing.assert_array_equal(_segments.segment_order(x, ptr), expected)


@ragged
@given(ragged_queries())
def test_best_first_is_the_stable_sort_with_its_ties(data):
    _, scores, _, ptr = data
    order, tied = _segments.segment_best_first(scores, ptr)
    ranks = _segments.places_of_order(order, ptr)
    for rows in queries(ptr):
        own = np.argsort(-scores[rows], kind="stable")
        ranked = scores[rows][own]
        np.testing.assert_array_equal(order[rows], rows.start + own)
        np.testing.assert_array_equal(tied[rows][1:], ranked[1:] == ranked[:-1])
        assert not tied[rows][:1].any()
        np.testing.assert_array_equal(ranks[rows][own], np.arange(len(own)) + 1.0)


@pytest.mark.parametrize("n_lists", [1, 2, 3, 5, 13])
@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_over_lists_add_the_smallest_first(n_lists, filled, n_threads):
    rng = np.random.default_rng(n_lists)
    ptr = np.array([0, 4, 4, 50, 51], dtype=np.intp)
    dense = rng.normal(size=(n_lists, 51)) * 10.0 ** rng.integers(-9, 9, (n_lists, 51))
    dense[rng.random(dense.shape) < 0.1] = np.nan
    held = rng.random(dense.shape) < 0.7
    fill = rng.normal(size=(4, n_lists)) if filled else None
    entries, parts = [], []
    for has, row in zip(held, dense):
        # The rows of a query in any order.
        rows = [rng.permutation(np.flatnonzero(has[a:b]) + a) for a, b in pairwise(ptr)]
        bounds = np.cumsum([0, *map(len, rows)])
        entries.append((np.concatenate(rows), bounds))
        parts.append(row[entries[-1][0]])
    missing = np.zeros((n_lists, 51))
    if filled:
        missing = np.repeat(fill, np.diff(ptr), axis=0).T
    table = np.where(held, dense, missing)
    table = np.where(np.isnan(table), 0.0, table)
    # Not `sum`, which compensates for its roundings from CPython 3.12 on.
    expected = [reduce(add, sorted(column)) for column in table.T.tolist()]
    found = _segments.sums_over_lists(parts, entries, ptr, fill, n_threads)
    assert found.tolist() == expected
    whole = _segments.sums_over_lists(list(table), [None] * n_lists, ptr)
    assert whole.tolist() == expected


def test_sums_over_lists_check_rows():
    ptr, parts = np.array([0, 2, 3]), [np.ones(2)]
    for rows, bounds in (
        ([0, 1], [0, 1, 2]),
        ([0, 3], [0, 1, 2]),
        ([-1, 2], [0, 1, 2]),
        ([0, 2], [0, 3, 2]),
        ([0, 2], [1, 1, 2]),
    ):
        entries = [(np.array(rows), np.array(bounds))]
        with pytest.raises(ValueError, match="rows of the entries must belong"):
            _segments.sums_over_lists(parts, entries, ptr)
    with pytest.raises(ValueError, match="order must hold rows below 3"):
        _segments.places_of_order(np.array([0, 1, 3]), ptr)


def test_order_puts_nan_and_minus_infinity_last():
    x = np.array([np.nan, 1.0, -np.inf, np.inf, -0.0, 0.0])
    order = _segments.segment_order(x, np.array([0, 6], dtype=np.intp))
    assert order.tolist() == [3, 1, 4, 5, 0, 2]


@ragged
@given(ragged_queries())
def test_label_order(data):
    y, scores, _, ptr = data
    order, lower = _segments.label_order(y, ptr)
    by_score = _segments.sort_ties(scores, order, lower, ptr)
    for rows in queries(ptr):
        grades = y[rows]
        expected = np.argsort(-grades, kind="stable")
        np.testing.assert_array_equal(order[rows], expected)
        ordered = grades[expected]
        np.testing.assert_array_equal(
            lower[rows], [(ordered >= grade).sum() for grade in ordered]
        )
        np.testing.assert_array_equal(
            by_score[rows], np.lexsort((-scores[rows], -grades))
        )


@ragged
@given(ragged_queries())
def test_segment_sum_and_softmax(data):
    _, scores, _, ptr = data
    sums = _segments.segment_sum(scores, ptr)
    p, log_sum = _segments.segment_softmax(scores, ptr)
    for q, rows in enumerate(queries(ptr)):
        np.testing.assert_allclose(sums[q], scores[rows].sum(), atol=1e-9)
        if rows.start == rows.stop:
            assert log_sum[q] == -np.inf
            continue
        # Where one score is far above the others, the logarithm is that of almost 1,
        # which holds the others in its last digits only.
        np.testing.assert_allclose(
            log_sum[q], logsumexp(scores[rows]), rtol=1e-13, atol=1e-15
        )
        expected = np.exp(scores[rows] - logsumexp(scores[rows]))
        np.testing.assert_allclose(p[rows], expected, rtol=1e-9, atol=1e-300)


def test_softmax_is_accurate_over_the_whole_range():
    x = np.linspace(-700.0, 0.0, 4001)
    p, _ = _segments.segment_softmax(x, np.array([0, len(x)], dtype=np.intp))
    np.testing.assert_allclose(p / p[-1], np.exp(x), rtol=1e-15 * 8)


@ragged
@given(ragged_queries(), st.sampled_from([0.3, 1.0, 7.0]))
def test_ranknet(data, sigma):
    y, s, weight, ptr = data
    order, lower = _segments.label_order(y, ptr)
    result = _pair_losses.logistic(s, ptr, order, lower, weight, sigma, False, 1)
    assert result[2] is None
    assert_matches_pairs(
        y,
        s,
        weight,
        ptr,
        result[:2],
        lambda d: np.logaddexp(0.0, -sigma * d),
        lambda d: -sigma * expit(-sigma * d),
    )


@ragged
@given(ragged_queries())
def test_ranknet_hessian(data):
    y, s, weight, ptr = data
    order, lower = _segments.label_order(y, ptr)
    plain = _pair_losses.logistic(s, ptr, order, lower, weight, 2.0, False, 1)
    values, gradient, hessian = _pair_losses.logistic(
        s, ptr, order, lower, weight, 2.0, True, 1
    )
    np.testing.assert_array_equal(values, plain[0])
    np.testing.assert_array_equal(gradient, plain[1])
    for rows in queries(ptr):
        z = s[rows]
        better = (y[rows][:, None] > y[rows]).astype(float)
        if weight is not None:
            better *= weight[rows][:, None]
        gap = 2.0 * (z[:, None] - z)
        pairs = 4.0 * better * expit(gap) * expit(-gap)
        expected = pairs.sum(axis=0) + pairs.sum(axis=1)
        np.testing.assert_allclose(hessian[rows], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("spread", [80.0, 88.0, 350.0, 689.0, 691.0, 1e5, 1e30])
def test_ranknet_where_the_factorisation_ends(spread):
    rng = np.random.default_rng(0)
    s = rng.normal(size=60)
    s *= spread / np.ptp(s)
    y = rng.integers(0, 3, 60).astype(float)
    ptr = np.array([0, 60], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    values, gradient, _ = _pair_losses.logistic(
        s, ptr, order, lower, None, 1.0, False, 1
    )
    value, slope = pair_reference(
        y, s, None, lambda d: np.logaddexp(0.0, -d), lambda d: -expit(-d)
    )
    np.testing.assert_allclose(values[0], value, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0])
@ragged
@given(data=ragged_queries())
def test_hinge(squared, margin, data):
    y, s, weight, ptr = data
    order, lower = _segments.label_order(y, ptr)
    result = _pair_losses.hinge(
        s, ptr, order, lower, weight, margin, squared, np.inf, 0.0, 1
    )
    if squared:
        loss, slope = (
            lambda d: max(0.0, margin - d) ** 2,
            lambda d: -2 * max(0.0, margin - d),
        )
    else:
        loss, slope = (
            lambda d: max(0.0, margin - d),
            lambda d: -1.0 if margin - d > 0 else 0.0,
        )
    if not squared:  # a subgradient is not unique where the slack is 0
        gap = np.abs(s[:, None] - s)
        if np.any(np.abs(gap - margin) < 1e-9):
            s = s + np.random.default_rng(0).normal(size=len(s))
            result = _pair_losses.hinge(
                s, ptr, order, lower, weight, margin, False, np.inf, 0.0, 1
            )
    assert_matches_pairs(y, s, weight, ptr, result, loss, slope)


def hinge_matrix(y, s, weight, margin, squared):
    """Value and gradient of one query by the matrix of its pairs."""
    pairs = (y[:, None] > y) * (1.0 if weight is None else weight[:, None])
    slack = np.maximum(0.0, margin - (s[:, None] - s))
    slope = pairs * (2.0 * slack if squared else slack > 0)
    value = np.sum(pairs * (slack**2 if squared else slack))
    return value, slope.sum(axis=0) - slope.sum(axis=1)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("margin", [-0.5, 0.0, 1.0, 3.7])
@pytest.mark.parametrize("grades", ["few", "real"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_hinge_of_long_queries(squared, margin, grades, weighted, offset):
    rng = np.random.default_rng(1)
    m = 900  # beyond the size up to which pairs are enumerated
    y = rng.integers(0, 4, m).astype(float) if grades == "few" else rng.random(m)
    s = offset + 2.0 * rng.normal(size=m)
    weight = rng.uniform(0.5, 2.0, m) if weighted else None
    ptr = np.array([0, m], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    values, gradient = _pair_losses.hinge(
        s, ptr, order, lower, weight, margin, squared, np.inf, 0.0, 1
    )
    value, slope = hinge_matrix(y, s, weight, margin, squared)
    tolerance = 1e-12 * max(1.0, np.abs(slope).max())
    np.testing.assert_allclose(values[0], value, rtol=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=10 * tolerance)


@pytest.mark.parametrize("m", [40, 900])
@pytest.mark.parametrize("weighted", [False, True])
def test_curvature_of_squared_hinges(m, weighted):
    """The second derivative of the square of a gap above 0 is 2."""
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 4, m).astype(float), 2.0 * rng.normal(size=m)
    weight = rng.uniform(0.5, 2.0, m) if weighted else None
    ptr = np.array([0, m], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    *_, hessian = _pair_losses.squared_hinge_hessian(
        s, ptr, order, lower, weight, 1.0, 1
    )
    own = np.ones(m) if weight is None else weight
    bent = (y[:, None] > y) * own[:, None] * (s[:, None] - s < 1.0)
    expected = 2.0 * (bent.sum(axis=0) + bent.sum(axis=1))
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)


def test_hinge_keeps_the_margin_beside_huge_scores():
    # Sums over documents near 1e30 would swallow a margin of 1 near 0.
    rng = np.random.default_rng(2)
    s = np.concatenate((rng.normal(size=300), 1e30 * (1 + rng.random(300))))
    y = np.concatenate((rng.integers(0, 2, 300), np.full(300, 2))).astype(float)
    ptr = np.array([0, 600], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    values, gradient = _pair_losses.hinge(
        s, ptr, order, lower, None, 1.0, True, np.inf, 0.0, 1
    )
    value, slope = hinge_matrix(y, s, None, 1.0, True)
    np.testing.assert_allclose(values[0], value, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)


SCORES_OF_LONG_QUERIES = {
    "usual": lambda rng, m: 2.0 * rng.normal(size=m),
    "small": lambda rng, m: 1e-9 * rng.normal(size=m),
    "outlier": lambda rng, m: np.append(1e6, rng.normal(size=m - 1)),
    "far outlier": lambda rng, m: np.append(-1e12, rng.normal(size=m - 1)),
    "outliers": lambda rng, m: (
        np.where(rng.random(m) < 0.1, 1e30, 1.0) * rng.normal(size=m)
    ),
    "groups": lambda rng, m: rng.choice([0.0, 3e7, 6e7], m) + rng.normal(size=m),
    "far groups": lambda rng, m: (
        rng.choice([-1e9, 0.0, 3.0, 1e12], m) + rng.normal(size=m)
    ),
    "large": lambda rng, m: 1e17 * rng.normal(size=m),
    "ties": lambda rng, m: 0.25 * rng.integers(-9, 10, m),
}


@pytest.fixture(params=SCORES_OF_LONG_QUERIES)
def long_query(request):
    """Grades, scores and weights of a query beyond the direct loop over pairs."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 4, 900).astype(float)
    scores = SCORES_OF_LONG_QUERIES[request.param](rng, 900)
    return y, scores, rng.uniform(0.5, 2.0, 900)


def sums_of_pairs(y, s, weight, margin, of_gap):
    """Value of one query and the slopes up and down, by the matrix of its pairs."""
    better, worse = np.nonzero(y[:, None] > y)
    values, slopes = of_gap(margin + (s[worse] - s[better]))
    values, slopes = weight[better] * values, weight[better] * slopes
    sums = [np.bincount(rows, slopes, len(y)) for rows in (worse, better)]
    return values.sum(), *sums


def ramp_by_its_parts(gap, cap, width):
    """The integral of a slope that climbs, stays and falls, each part by itself."""
    rise, top = min(width, cap), max(width, cap)
    climb = np.clip(gap, 0.0, rise)
    if width == 0.0:
        return np.clip(gap, 0.0, cap), 1.0 * ((gap > 0.0) & (gap <= cap))
    fall = np.clip(gap - top, 0.0, rise)
    slope = (climb - fall) / width
    steepest = rise / width * np.clip(gap - rise, 0.0, top - rise)
    bends = climb**2 + fall * (2.0 * rise - fall)
    return steepest + bends / (2.0 * width), slope


def assert_sums_of_pairs(found, expected, scale):
    value, up, down = expected
    np.testing.assert_allclose(found[0], [value], rtol=1e-12)
    error = np.abs(found[1] - (up - down))
    assert np.all(error <= 1e-12 * (up + down + scale))


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.5, 2.0, 7.0])
@pytest.mark.parametrize("cap", [1e-2, 0.5, 3.0, 1e6, np.inf])
@pytest.mark.parametrize("margin", [0.0, 1.0, -0.25])
def test_ramp_of_long_queries(long_query, margin, cap, width):
    y, s, weight = long_query
    ptr = np.array([0, len(y)], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    found = _pair_losses.hinge(
        s, ptr, order, lower, weight, margin, False, cap, width, 1
    )
    expected = sums_of_pairs(
        y, s, weight, margin, lambda gap: ramp_by_its_parts(gap, cap, width)
    )
    bend = 1.0 + (min(cap, 1e6) / width if cap < np.inf and width else 0.0)
    assert_sums_of_pairs(found, expected, bend)


def test_squared_hinge_of_long_queries(long_query):
    y, s, weight = long_query
    ptr = np.array([0, len(y)], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    found = _pair_losses.hinge(s, ptr, order, lower, weight, 1.0, True, np.inf, 0.0, 1)
    expected = sums_of_pairs(
        y, s, weight, 1.0, lambda gap: (np.maximum(gap, 0.0) ** 2, 2 * gap * (gap > 0))
    )
    assert_sums_of_pairs(found, expected, 1.0)


def test_misordered_of_long_queries(long_query):
    y, s, weight = long_query
    ptr = np.array([0, len(y)], dtype=np.intp)
    order, lower = _segments.label_order(y, ptr)
    residuals = s - y
    found = _pair_losses.misordered(s, residuals, ptr, order, lower, weight, True, 1)
    better, worse = np.nonzero((y[:, None] > y) & (s[:, None] < s))
    error = residuals[worse] - residuals[better]
    value = np.sum(weight[better] * error**2)
    slopes = 2.0 * weight[better] * error
    up, down = (np.bincount(rows, slopes, len(y)) for rows in (worse, better))
    assert_sums_of_pairs(found, (value, up, down), 1.0)


@pytest.mark.parametrize("width", [0.0, 0.5])
@pytest.mark.parametrize("cap", [2.0, np.inf])
@pytest.mark.parametrize("m", [100, 900])
def test_ramp_of_scores_without_order(m, cap, width):
    rng = np.random.default_rng(5)
    y, s = rng.integers(0, 3, m).astype(float), rng.normal(size=m)
    ptr = np.array([0, m], dtype=np.intp)
    s[7] = np.nan  # forms no pair
    order, lower = _segments.label_order(y, ptr)
    values, gradient = _pair_losses.hinge(
        s, ptr, order, lower, None, 1.0, False, cap, width, 1
    )
    kept = np.arange(m) != 7
    ptr = np.array([0, m - 1], dtype=np.intp)
    order, lower = _segments.label_order(y[kept], ptr)
    expected = _pair_losses.hinge(
        s[kept], ptr, order, lower, None, 1.0, False, cap, width, 1
    )
    np.testing.assert_allclose(values, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient[kept], expected[1], rtol=1e-12, atol=1e-12)
    assert gradient[7] == 0.0


@ragged
@given(ragged_queries())
def test_listnet(data):
    y, s, _, ptr = data
    target, _ = _segments.segment_softmax(y, ptr)
    query_weight = np.arange(len(ptr) - 1, dtype=float)
    values, gradient = _list_losses.softmax_cross_entropy(
        s, ptr, target, query_weight, 1
    )
    for q, rows in enumerate(queries(ptr)):
        log_p = s[rows] - logsumexp(s[rows]) if rows.stop > rows.start else s[rows]
        expected = -q * np.sum(target[rows] * log_p)
        np.testing.assert_allclose(values[q], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            gradient[rows], q * (np.exp(log_p) - target[rows]), atol=1e-12
        )


def plackett_luce_reference(s, stage_weight, k):
    """Value and gradient for documents in the given order."""
    value, gradient = 0.0, np.zeros(len(s))
    for t in range(min(k, len(s))):
        log_total = logsumexp(s[t:])
        value += stage_weight[t] * (log_total - s[t])
        gradient[t:] += stage_weight[t] * np.exp(s[t:] - log_total)
        gradient[t] -= stage_weight[t]
    return value, gradient


@ragged
@given(ragged_queries(), st.sampled_from([0, 1, 3]), st.booleans())
def test_plackett_luce(data, top_k, weighted):
    _, s, _, ptr = data
    n = len(s)
    order = _segments.segment_order(np.random.default_rng(n).random(n), ptr)
    stage_weight = np.random.default_rng(1).random(n) if weighted else None
    ones = np.ones(len(ptr) - 1)
    values, gradient = _list_losses.plackett_luce(
        s, ptr, order, stage_weight, ones, top_k, 1
    )
    for q, rows in enumerate(queries(ptr)):
        stages = np.ones(n)[rows] if stage_weight is None else stage_weight[rows]
        in_order = s[rows][order[rows]]
        value, slope = plackett_luce_reference(in_order, stages, top_k or n)
        np.testing.assert_allclose(values[q], value, rtol=1e-11, atol=1e-10)
        np.testing.assert_allclose(
            gradient[rows][order[rows]], slope, rtol=1e-9, atol=1e-11
        )


def test_plackett_luce_shares_a_stage_between_huge_equal_scores():
    # log 2 is lost beside 1e30, yet both documents have probability one half.
    s = np.array([1e30, 1e30, -1e30])
    order = np.arange(3, dtype=np.int32)
    ptr = np.array([0, 3], dtype=np.intp)
    values, gradient = _list_losses.plackett_luce(s, ptr, order, None, np.ones(1), 0, 1)
    np.testing.assert_allclose(values, [np.log(2.0)])
    np.testing.assert_allclose(gradient, [-0.5, 0.5, 0.0], atol=1e-15)


def swap_change(kind, gain, discount, ranks):
    """|change| of every swap, by evaluating the ranking before and after."""

    def evaluate(ranks):
        g, d = gain[np.argsort(ranks)], discount[: len(ranks)]
        if kind == "gain_discount":
            return np.sum(g * d)
        if kind == "average_precision":
            return np.sum(g * np.cumsum(g) * d)
        if kind == "reciprocal_rank":
            return d[np.argmax(g)] if g.any() else 0.0
        return np.sum(d * g * np.cumprod(np.concatenate(([1.0], 1.0 - g[:-1]))))

    m = len(ranks)
    change = np.zeros((m, m))
    for i in range(m):
        for j in range(i):
            swapped = ranks.copy()
            swapped[[i, j]] = ranks[[j, i]]
            change[i, j] = change[j, i] = abs(evaluate(swapped) - evaluate(ranks))
    return change


def run_lambda(s, ptr, kind, gain, discount, scale, weight, *options):
    order, lower = _segments.label_order(gain, ptr)
    return _pair_losses.lambda_loss(
        s, ptr, kind, gain, discount, scale, weight, order, lower, *options
    )


def lambda_reference(kind, gain, discount, s, weight, sigma, truncation, damping):
    """Value, gradient and Hessian of one query by the matrix of its pairs."""
    ranks = np.empty(len(s), dtype=int)
    ranks[np.argsort(-s, kind="stable")] = np.arange(len(s))
    pairs = swap_change(kind, gain, discount, ranks) * (gain[:, None] > gain)
    inside = ranks < (truncation or len(s))
    pairs *= inside[:, None] | inside
    if weight is not None:
        pairs *= weight[:, None]
    gap = sigma * (s[:, None] - s)
    if damping and gap.any():
        pairs /= damping + np.abs(gap)
    slope = sigma * pairs * expit(-gap)
    curvature = sigma**2 * pairs * expit(-gap) * expit(gap)
    return (
        np.sum(pairs * np.logaddexp(0.0, -gap)),
        slope.sum(axis=0) - slope.sum(axis=1),
        curvature.sum(axis=0) + curvature.sum(axis=1),
        slope.sum(),
    )


@pytest.mark.parametrize("kind", _pair_losses.KINDS)
@settings(max_examples=40, deadline=None)
@given(
    data=ragged_queries(max_size=14),
    cutoff=st.sampled_from([1, 3, 100]),
    truncation=st.sampled_from([0, 2, 5]),
    normalize=st.booleans(),
    damping=st.sampled_from([0.0, 0.1]),
)
def test_lambda_pairs(kind, data, cutoff, truncation, normalize, damping):
    y, s, weight, ptr = data
    gain = {"gain_discount": 2.0**y - 1.0, "cascade": (2.0**y - 1.0) / 15.0}.get(
        kind, (y > 1).astype(float)
    )
    discount = np.where(np.arange(14) < cutoff, 1.0 / np.arange(1, 15), 0.0)
    scale = np.arange(len(ptr) - 1) + 0.5
    result = run_lambda(
        s,
        ptr,
        kind,
        gain,
        discount,
        scale,
        weight,
        1.5,
        truncation,
        normalize,
        damping,
        1,
    )
    for q, rows in enumerate(queries(ptr)):
        w = None if weight is None else weight[rows]
        *expected, pull = lambda_reference(
            kind, gain[rows], discount, s[rows], w, 1.5, truncation, damping
        )
        factor = scale[q]
        if normalize and pull > 0:
            total = 2.0 * scale[q] * pull / (1.0 if w is None else w.mean())
            factor *= np.log2(1.0 + total) / total
        for found, reference in zip(result, expected):
            part = found[q] if np.ndim(reference) == 0 else found[rows]
            np.testing.assert_allclose(
                part,
                factor * reference,
                rtol=1e-10,
                atol=1e-12 * abs(s).max(initial=1.0),
            )


def test_cascade_passes_documents_that_always_stop():
    # A stop probability of 1 makes the ratio (1 - p_j) / (1 - p_i) infinite.
    gain, s = np.array([0.2, 1.0, 0.5, 0.0]), np.array([0.0, 3.0, 2.0, 1.0])
    ptr, discount = np.array([0, 4], dtype=np.intp), 1.0 / np.arange(1, 5)
    found = run_lambda(
        s, ptr, "cascade", gain, discount, np.ones(1), None, 1.0, 0, False, 0.0, 1
    )
    value, slope, curvature, _ = lambda_reference(
        "cascade", gain, discount, s, None, 1.0, 0, 0.0
    )
    np.testing.assert_allclose(found[0], [value])
    np.testing.assert_allclose(found[1], slope, atol=1e-15)
    np.testing.assert_allclose(found[2], curvature, atol=1e-15)


def test_lambda_pairs_need_a_discount_for_every_rank():
    s, ptr = np.zeros(3), np.array([0, 3], dtype=np.intp)
    with pytest.raises(ValueError, match="discount is shorter"):
        run_lambda(
            s, ptr, "cascade", s, np.ones(2), np.ones(1), None, 1.0, 0, False, 0, 1
        )


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_a_bit(n_threads):
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 400, 60)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    n = ptr[-1]
    y, s, weight = (
        rng.integers(0, 4, n).astype(float),
        rng.normal(size=n),
        rng.random(n),
    )

    def evaluate(threads):
        order, lower = _segments.label_order(y, ptr, threads)
        ones, discount = np.ones(len(sizes)), 1.0 / np.arange(1, 401)
        return (
            order,
            lower,
            _segments.segment_order(s, ptr, threads),
            _segments.sort_ties(s, order, lower, ptr, threads),
            *_segments.segment_softmax(s, ptr, threads),
            *_pair_losses.logistic(s, ptr, order, lower, weight, 1.0, True, threads),
            *_pair_losses.hinge(
                s, ptr, order, lower, weight, 1.0, True, np.inf, 0.0, threads
            ),
            *_list_losses.softmax_cross_entropy(s, ptr, y, ones, threads),
            *_list_losses.plackett_luce(s, ptr, order, None, ones, 0, threads),
            *run_lambda(
                s,
                ptr,
                "cascade",
                y / 4,
                discount,
                ones,
                None,
                1.0,
                9,
                True,
                0.1,
                threads,
            ),
        )

    for one, many in zip(evaluate(1), evaluate(n_threads)):
        np.testing.assert_array_equal(one, many)


def test_no_documents_at_all():
    empty, ptr = np.empty(0), np.array([0, 0], dtype=np.intp)
    order, lower = _segments.label_order(empty, ptr)
    values, gradient, _ = _pair_losses.logistic(
        empty, ptr, order, lower, empty, 1.0, False, 1
    )
    assert values.tolist() == [0.0]
    assert len(gradient) == 0


# In a process of its own with little memory: all edges of a query with a wide range
# of scores are sorted, which needs gigabytes here.
WITHOUT_MEMORY = """
import resource
import numpy as np
from skrank._core import _list_losses, _segments
m = 40_000
s, y = np.linspace(0.0, 1e6, m), np.arange(m) % 2.0
ptr = np.array([0, m, m + 1], dtype=np.intp)
s, y = np.append(s, 0.0), np.append(y, 0.0)
order, lower = _segments.label_order(y, ptr)
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
limit = pages * resource.getpagesize() + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for n_threads in (1, 2):
    try:
        _list_losses.edge_pairs(s, None, ptr, order, lower, None, False, n_threads)
    except MemoryError:
        print("refused")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_memory_that_runs_out_in_a_thread_is_an_exception():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True
    )
    assert run.stdout.split() == ["refused", "refused"], run.stderr


def test_running_sums_start_anew_with_each_query(rng):
    sizes = [3, 0, 5, 1]
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    values = rng.normal(size=9)
    values[:3] = [1e300, 1.0, -1e300]
    got = _segments.segment_cumsum(values, ptr)
    expected = [np.cumsum(values[a:b]) for a, b in pairwise(ptr)]
    np.testing.assert_array_equal(got, np.concatenate(expected))
    assert _segments.segment_cumsum(np.empty(0), np.array([0])).shape == (0,)
