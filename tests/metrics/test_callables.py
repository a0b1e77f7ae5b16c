"""Gains, discounts and weights of pairs that users give as functions or as tables."""

import itertools
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from skrank.metrics import DCG, NDCG, KendallTau, MeanNDCG, kendall_tau
from skrank.metrics._gain import falling


@pytest.mark.parametrize("measure", [NDCG(), NDCG(k=3), MeanNDCG()], ids=str)
@pytest.mark.parametrize(
    "discount", [lambda j: j * 1.0, [0.1, 0.2, 0.5, 3.0], [0.5, 1.0], lambda j: j > 1]
)
def test_a_discount_that_rises_is_refused_where_the_best_ranking_counts(
    measure, discount
):
    measure = clone(measure).set_params(discount=discount)
    y, scores = np.array([2.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="discount must not rise with the rank"):
        measure.per_query(y, scores, np.array([0, 4]))
    if isinstance(measure, NDCG):
        with pytest.raises(ValueError, match="discount must not rise with the rank"):
            measure.swap_deltas(y, [1, 2, 3, 4])


def test_a_discount_may_rise_beyond_the_cut_off_and_by_rounding():
    y, scores, ptr = np.array([2.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0]), [0, 3]
    cut = NDCG(k=2, discount=[1.0, 0.5, 2.0]).per_query(y, scores, ptr)
    assert cut == NDCG(k=2, discount=[1.0, 0.5]).per_query(y, scores, ptr)
    rounded = NDCG(discount=[0.3, 0.1 + 0.2, 0.1]).per_query(y, scores, ptr)
    assert rounded == pytest.approx((0.3 + 0.1 * 3) / (0.3 * 3 + 0.3))
    # Nothing is divided by the best value: the discount may have any form.
    rising = DCG(discount=[0.5, 1.0, 2.0], gain="linear")
    assert rising.per_query(y, scores, ptr) == 1.0 * 1 + 2.0 * 2


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (10**400, "the result of the function {} must hold numbers, got 1000"),
        ([10**400] * 3, "the result of the function {} must hold numbers, got dtype"),
        (["a", "b", "c"], "the result of the function {} must hold numbers, got dtype"),
    ],
)
@pytest.mark.parametrize("name", ["gain", "discount"])
def test_what_gain_and_discount_return_is_checked(name, found, message):
    measure = NDCG().set_params(**{name: lambda array: found})
    y, ptr = np.array([2.0, 1.0, 0.0]), np.array([0, 3])
    with pytest.raises(ValueError, match=message.format(name)):
        measure.per_query(y, y, ptr)


def test_what_a_mapped_gain_holds_is_checked():
    y, ptr = np.array([1.0, 0.0]), np.array([0, 2])
    with pytest.raises(ValueError, match="gain must hold numbers, got dtype object"):
        NDCG(gain={0: 0, 1: 10**400}).per_query(y, y, ptr)


def test_a_discount_is_one_number_for_each_rank():
    y, ptr = np.array([2.0, 1.0, 0.0]), np.array([0, 3])
    assert DCG(gain="linear", discount=lambda j: 1.0).per_query(y, -y, ptr) == 3
    for found in ([1.0], np.ones((3, 1)), np.ones(2)):
        with pytest.raises(ValueError, match="discount must return one number for eac"):
            DCG(discount=lambda j, found=found: found).per_query(y, y, ptr)


WEIGHED = {"variant": "set", "groups": [1] * 4}


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            lambda h, l: [1.0],
            "function weight must return one number for each of 6 ent",
        ),
        (lambda h, l: np.ones((len(h), 1)), r"returned an array of shape \(6, 1\)"),
        (lambda h, l: np.ones(len(h) + 1), r"returned an array of shape \(7,\)"),
        (lambda h, l: l - h - 1, "weight must not be negative .*, got -3"),
        (
            lambda h, l: ["x"] * len(h),
            "the function weight must hold numbers, got dtype",
        ),
        (lambda h, l: 10**400, "the function weight must hold numbers, got 1000"),
        (lambda h, l: None, "weight must be finite for all pairs of grades"),
        (lambda h: h, "the function weight failed"),
    ],
)
def test_what_a_weight_of_pairs_returns_is_checked(weight, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kendall_tau([2, 1, 0, 1], [0.1, 0.9, 0.5, 0.2], weight=weight, **WEIGHED)


def test_a_weight_of_pairs_may_be_one_number():
    y, scores = [2, 1, 0, 1], [0.1, 0.9, 0.5, 0.2]
    plain = kendall_tau(y, scores, **WEIGHED)
    assert kendall_tau(y, scores, weight=lambda h, l: 1.0, **WEIGHED) == plain


@pytest.mark.parametrize("m", [1, 2, 3, 40, 41])
@pytest.mark.parametrize("factor", [1.0, 2.0**1015])
def test_weighted_pairs_are_counted_in_blocks(m, factor, rng, monkeypatch):
    y, scores = rng.integers(0, 4, m), np.round(rng.normal(size=m), 1)
    y[0] = 5  # the first block has the largest weights, the last one small ones
    y = y.astype(float)[::-1]
    if m > 1 and len(set(y)) == 1:
        y[0] = 0
    agreed = total = 0.0
    for i, j in itertools.combinations(range(m), 2):
        weight = abs(y[i] - y[j])
        order = np.sign((y[i] - y[j]) * (scores[i] - scores[j]))
        agreed += weight * (1 + order) / 2
        total += weight
    monkeypatch.setattr("skrank.metrics._correlation_measures._PAIRS_AT_ONCE", 2 * m)
    tau = KendallTau(variant="set", weight=lambda high, low: (high - low) * factor)
    found = tau.per_query(y, scores, np.array([0, m]))[0]
    if m == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(agreed / total, rel=1e-12)


def test_weighted_pairs_are_counted_in_bounded_memory(rng):
    m = 3000
    y, scores = rng.integers(0, 3, m).astype(float), rng.normal(size=m)
    tau = KendallTau(variant="set", weight=lambda high, low: high - low)
    tracemalloc.start()
    try:
        tau.per_query(y, scores, np.array([0, m]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < m**2 / 2 * 8 / 2  # half of what the weights of all pairs would take


def test_a_discount_that_rises_by_little_is_named_with_its_ranks():
    with pytest.raises(ValueError, match=r"at rank 1 and .* at rank 2$"):
        falling(np.array([1.0, 1.0 + 1e-9, 0.5]))


def test_large_weights_after_smaller_ones(monkeypatch):
    monkeypatch.setattr("skrank.metrics._correlation_measures._PAIRS_AT_ONCE", 1)
    tau = KendallTau(
        variant="order", weight=lambda high, _: np.where(high == 2, 1e240, 1e260)
    )
    # The pairs of grade 2 are in order, and the other one is not.
    ptr = np.array([0, 3])
    found = tau.per_query(np.array([2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0]), ptr)
    assert found[0] == pytest.approx(2e-20)


def test_pairs_of_equal_grades_agree_with_any_order():
    tau = KendallTau(variant="set", weight=lambda high, _: np.ones(len(high)))
    ptr = np.array([0, 3])
    found = tau.per_query(np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.0]), ptr)
    assert found[0] == 1.0
