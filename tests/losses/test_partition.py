"""ListMLE over all orders of the ties together, against sums and closed forms."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from skrank.losses import ListMLELoss

PARTITION = ListMLELoss(ties="partition")


def orders(y):
    """Orders that agree with the grades."""
    for order in permutations(range(len(y))):
        order = np.array(order)
        if not np.any(np.diff(y[order]) > 0):
            yield order


def enumerated(y, raw):
    """-log of the sum of the likelihoods of all orders that agree with the grades."""
    likelihoods = []
    for order in orders(y):
        ranked = raw[order]
        stages = [ranked[j] - logsumexp(ranked[j:]) for j in range(len(y))]
        likelihoods.append(sum(stages))
    return -logsumexp(likelihoods)


def recursion(scores, log_rest):
    """-log P that some documents come before all others, over their subsets.

    Whichever document of a set is drawn first, the rest of the set must follow.
    """
    b = len(scores)
    log_p = np.full(1 << b, -np.inf)
    log_p[0] = 0.0
    strength = np.full(1 << b, log_rest)
    for number in range(1, 1 << b):
        inside = [i for i in range(b) if number >> i & 1]
        last = inside[-1]
        strength[number] = np.logaddexp(strength[number ^ (1 << last)], scores[last])
        log_p[number] = logsumexp(
            [log_p[number ^ (1 << i)] + scores[i] - strength[number] for i in inside]
        )
    return -log_p[-1]


def block(top, bottom):
    """The loss of one query with two grades."""
    y = np.append(np.ones(len(top)), np.zeros(len(bottom)))
    values, _ = PARTITION.value_gradient(y, np.append(top, bottom), [0, len(y)])
    return values[0]


@pytest.mark.parametrize("scale", [0.3, 2.0, 10.0])
@pytest.mark.parametrize(
    "grades", [[2, 0, 2, 1, 0, 2, 0], [1, 3, 1, 1, 1], [0, 1, 1, 1, 0], [3, 2, 1, 0]]
)
def test_it_is_the_sum_over_all_orders(grades, scale, rng):
    y, raw = np.array(grades, dtype=float), scale * rng.normal(size=len(grades))
    values, _ = PARTITION.value_gradient(y, raw, [0, len(y)])
    np.testing.assert_allclose(values[0], enumerated(y, raw), rtol=1e-10)


@pytest.mark.parametrize("b", [2, 5, 9])
@pytest.mark.parametrize("shift", [-20.0, 0.0, 4.0, 30.0])
@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])
def test_quadrature_equals_the_recursion_over_subsets(b, shift, scale, rng):
    scores, rest = shift + scale * rng.normal(size=b), scale * rng.normal(size=3)
    expected = recursion(scores, logsumexp(rest))
    np.testing.assert_allclose(block(scores, rest), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("b", [1, 3, 40, 1000])
@pytest.mark.parametrize("n_lower", [1, 7, 500])
def test_equal_strengths_give_a_binomial_coefficient(b, n_lower):
    expected = gammaln(b + n_lower + 1) - gammaln(b + 1) - gammaln(n_lower + 1)
    found = block(np.zeros(b), np.zeros(n_lower))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("b", [2, 17, 3000])
@pytest.mark.parametrize("ahead", [-8.0, 2.0, 5.0, 9.0, 20.0, 60.0])
def test_one_lower_document_gives_a_beta_function(b, ahead):
    # The integral of c t^(c - 1) (1 - t)^b, c the strength of the lower document.
    expected = ahead - betaln(np.exp(-ahead), b + 1)
    found = block(np.full(b, ahead), np.zeros(1))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_without_ties_it_is_the_likelihood_of_the_order(rng):
    y, raw = rng.permutation(9).astype(float), rng.normal(size=9)
    for found, expected in zip(
        PARTITION.value_gradient(y, raw, [0, 9]),
        ListMLELoss().value_gradient(y, raw, [0, 9]),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_it_lies_below_every_other_treatment_of_ties(rng):
    y, raw = rng.integers(0, 3, 8).astype(float), 3 * rng.normal(size=8)
    best, mean, single, partition = (
        ListMLELoss(ties=ties).value_gradient(y, raw, [0, 8])[0][0]
        for ties in ("best", "average", "stable", "partition")
    )
    n_orders = sum(1 for _ in orders(y))
    assert best - np.log(n_orders) <= partition <= best <= min(mean, single)


def test_it_is_convex(rng):
    y = rng.integers(0, 3, 12).astype(float)
    prepared = PARTITION.prepare(y, [0, 12])
    for scale in (0.5, 5.0, 50.0):
        a, b = scale * rng.normal(size=(2, 12))
        ends = [prepared.value_gradient(x)[0][0] for x in (a, b, 0.5 * (a + b))]
        assert ends[2] <= 0.5 * (ends[0] + ends[1]) + 1e-9


@pytest.mark.parametrize("top_k", [1, 2, 3, 4, 6, 20])
def test_lower_grades_are_merged_beyond_the_cut_off(top_k, rng):
    y, raw = np.array([2.0, 1, 2, 1, 0, 1, 0]), rng.normal(size=7)
    # Grade 1 begins in position 3, and grade 0 in position 6.
    merged = np.where(y < {1: 2, 2: 2, 3: 1, 4: 1}.get(top_k, 0), -1.0, y)
    loss = ListMLELoss(top_k, "partition")
    for found, expected in zip(
        loss.value_gradient(y, raw, [0, 7]),
        PARTITION.value_gradient(merged, raw, [0, 7]),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-30, 1e3, 1e30])
def test_extreme_scores_stay_finite(scale, rng):
    y, raw = rng.integers(0, 3, 30).astype(float), scale * rng.normal(size=30)
    for found in PARTITION.value_gradient(y, raw, [0, 30]):
        assert np.all(np.isfinite(found))


def test_far_wrong_documents_cost_the_difference_of_scores():
    # The stronger rest must wait for both: two stages that each cost 1000.
    found, slope = PARTITION.value_gradient([1, 1, 0], [0.0, 0.0, 1e3], [0, 3])
    assert found[0] == pytest.approx(2e3 - np.log(2.0))
    np.testing.assert_allclose(slope, [-1.0, -1.0, 2.0])


def test_weights_and_the_prior_apply_as_to_other_ties(rng):
    y, ptr, raw = rng.integers(0, 3, 10).astype(float), [0, 6, 10], rng.normal(size=10)
    weight, prior = np.repeat([2.0, 0.5], [6, 4]), (2.0, 0.5)
    values, gradient = ListMLELoss(ties="partition", prior=prior).value_gradient(
        y, raw, ptr, weight
    )
    plain, slopes = PARTITION.value_gradient(y, raw, ptr)
    penalty = 0.5 * np.exp(raw) - raw
    for q, (a, b) in enumerate(pairwise(ptr)):
        w = weight[a]
        np.testing.assert_allclose(values[q], w * (plain[q] + penalty[a:b].sum()))
        slope = slopes[a:b] + 0.5 * np.exp(raw[a:b]) - 1.0
        np.testing.assert_allclose(gradient[a:b], w * slope)


def test_position_weights_are_refused():
    loss = ListMLELoss(ties="partition", position_weights="p")
    with pytest.raises(ValueError, match="position_weights must be None where ties="):
        loss.prepare([1.0, 0.0], [0, 2])
