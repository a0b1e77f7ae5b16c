"""Lambdas with a factor for each place, against a loop over all pairs."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank.losses import LambdaLoss
from skrank.metrics import get_measure
from skrank.unbiased._unbiased_lambdamart import DebiasedPairs

SIZES = [3, 1, 5, 40, 2, 21]
PTR = np.append(0, np.cumsum(SIZES))
N = PTR[-1]
PLACES = np.concatenate(
    [np.random.RandomState(q).permutation(m) for q, m in enumerate(SIZES)]
)
OPTIONS = [
    {"measure": "ndcg@30"},
    {"measure": "ndcg@3", "sigma": 2.0, "damping": 0.1},
    {"measure": "dcg", "truncation": 2, "normalize": True},
    {"measure": "ndcg", "normalize": True, "damping": 0.5},
]


def _data(seed=0):
    rng = np.random.RandomState(seed)
    clicks = (rng.random_sample(N) < 0.3) * rng.randint(1, 3, N).astype(float)
    return clicks, rng.standard_normal(N), 0.5 + rng.random_sample(N)


def _prepared(options, weight=None, n_threads=1):
    clicks, raw, _ = _data()
    plain = LambdaLoss(**options).prepare(clicks, PTR, weight, n_threads=n_threads)
    pairs = DebiasedPairs(plain, PLACES, 1.0, None)
    rng = np.random.RandomState(7)
    for ratio in pairs.ratios:
        ratio[:] = 0.2 + rng.random_sample(len(ratio))
    return pairs, raw


def _by_loop(options, weight, plus, minus):
    """Value, gradient, Hessian and both sums, pair by pair."""
    clicks, raw, _ = _data()
    loss, measure = LambdaLoss(**options), get_measure(options["measure"])
    weight = np.ones(N) if weight is None else weight
    values, found = np.zeros(len(SIZES)), np.zeros((4, N))
    for q, (a, b) in enumerate(pairwise(PTR)):
        y, x = clicks[a:b], raw[a:b]
        if len(np.unique(y)) < 2:
            continue
        ranks = np.empty(b - a, dtype=int)
        ranks[np.argsort(-x, kind="stable")] = np.arange(1, b - a + 1)
        deltas = np.abs(measure.swap_deltas(y, ranks))
        total, pull, own = 0.0, 0.0, np.zeros((4, b - a))
        for u, v in ((u, v) for u in range(b - a) for v in range(b - a) if y[u] > y[v]):
            if loss.truncation and min(ranks[u], ranks[v]) > loss.truncation:
                continue
            margin = loss.sigma * (x[u] - x[v])
            share = weight[a + u] * deltas[u, v]
            if loss.damping:
                share /= loss.damping + abs(margin)
            t_u, t_v = plus[PLACES[a + u]], minus[PLACES[a + v]]
            pair = share * np.log1p(np.exp(-margin))
            wrong = 1 / (1 + np.exp(margin))
            slope = loss.sigma * share * wrong / (t_u * t_v)
            curvature = loss.sigma * slope * (1 - wrong)
            total += pair / (t_u * t_v)
            pull += slope
            own[:, u] += -slope, curvature, pair / t_v, 0.0
            own[:, v] += slope, curvature, 0.0, pair / t_u
        factor = 1.0
        if loss.normalize:
            twice = 2 * pull / weight[a:b].mean()
            factor = np.log2(1 + twice) / twice
        values[q], found[:, a:b] = factor * total, factor * own
    return values, *found


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_a_loop_over_pairs(options, weighted):
    weight = _data()[2] if weighted else None
    pairs, raw = _prepared(options, weight)
    expected = _by_loop(options, weight, *pairs.ratios)
    for own, other in zip(pairs.sums(raw), expected, strict=True):
        assert_allclose(own, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_ratios_of_one_leave_the_plain_lambdas(options):
    pairs, raw = _prepared(options)
    for ratio in pairs.ratios:
        ratio[:] = 1.0
    plain = pairs.plain.gradient_hessian(raw)
    for own, other in zip(pairs.gradient_hessian(raw), plain, strict=True):
        assert_array_equal(own, other)
    for own, other in zip(pairs.sums(raw)[:3], plain, strict=True):
        assert_allclose(own, other, rtol=1e-10, atol=1e-13)


def test_the_gradient_is_that_of_the_value_while_ranks_stay():
    pairs, raw = _prepared({"measure": "ndcg"})
    _, gradient, hessian = pairs.gradient_hessian(raw)
    step = 1e-5
    for row in range(0, N, 5):
        moved = raw.copy()
        moved[row] += step
        up, slope_up = pairs.gradient_hessian(moved)[:2]
        moved[row] -= 2 * step
        down, slope_down = pairs.gradient_hessian(moved)[:2]
        assert_allclose((up - down).sum() / (2 * step), gradient[row], atol=1e-7)
        slope = (slope_up - slope_down)[row] / (2 * step)
        assert_allclose(slope, hessian[row], atol=1e-6)


def test_ratios_follow_their_formula():
    pairs, raw = _prepared({"measure": "ndcg@10"})
    plus, minus = (ratio.copy() for ratio in pairs.ratios)
    _, _, _, as_preferred, as_other = _by_loop(
        {"measure": "ndcg@10"}, None, plus, minus
    )
    pairs.update(raw)
    for before, after, losses in (
        (plus, pairs.ratios[0], as_preferred),
        (minus, pairs.ratios[1], as_other),
    ):
        for place in range(len(before)):
            total = losses[place == PLACES].sum()
            expected = np.sqrt(total / losses[PLACES == 0].sum())
            assert_allclose(after[place], expected if total else before[place])


def test_clipping_bounds_the_weights_and_not_the_ratios():
    pairs, raw = _prepared({"measure": "ndcg"})
    pairs.floor = 0.6
    clipped = [np.maximum(ratio, 0.6) for ratio in pairs.ratios]
    expected = _by_loop({"measure": "ndcg"}, None, *clipped)
    for own, other in zip(pairs.sums(raw), expected, strict=True):
        assert_allclose(own, other, rtol=1e-9, atol=1e-12)


def test_ratios_without_any_loss_stay():
    plain = LambdaLoss("ndcg").prepare(np.zeros(N), PTR)
    pairs = DebiasedPairs(plain, PLACES, 0.0, None)
    pairs.update(np.zeros(N))
    assert all((ratio == 1.0).all() for ratio in pairs.ratios)


def test_ratios_stay_where_the_first_place_has_no_loss():
    clicks, raw, _ = _data()
    plain = LambdaLoss("ndcg").prepare(clicks * (PLACES > 0), PTR)
    pairs = DebiasedPairs(plain, PLACES, 0.0, None)
    pairs.update(raw)
    assert (pairs.ratios[0] == 1.0).all()
    assert (pairs.ratios[1] != 1.0).any()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_threads_do_not_change_a_bit(options):
    one, raw = _prepared(options)
    two, _ = _prepared(options, n_threads=4)
    for own, other in zip(one.sums(raw), two.sums(raw), strict=True):
        assert_array_equal(own, other)


def test_scores_far_apart_stay_finite():
    pairs, raw = _prepared({"measure": "ndcg"})
    for own in pairs.sums(1e300 * raw):
        assert np.isfinite(own).all()
    values, gradient = pairs.sums(800.0 * np.sign(raw))[:2]
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
