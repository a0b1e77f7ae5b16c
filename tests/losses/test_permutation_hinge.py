"""Hinge losses over working sets of rankings, against plain loops over pairs."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank.losses import PermutationHingeLoss
from skrank.metrics import get_measure

SIZES = (5, 1, 9, 3, 14)
PTR = np.append(0, np.cumsum(SIZES))
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, PTR[-1]).astype(float)
Y[15:18] = 1.0  # nothing to tell apart
RANKINGS = RNG.normal(size=(3, PTR[-1]))


def naive(measure, y, rankings, scores):
    """Eq. 4.21 for one query, over rankings that sort by given scores."""
    ptr = np.array([0, len(y)])
    gain = measure.delta_terms(y, ptr).gain
    pairs = [(u, v) for u in range(len(y)) for v in range(len(y)) if gain[u] > gain[v]]
    if not pairs:
        return 0.0
    best, values = measure.per_query(y, gain, ptr)[0], [0.0]
    for order in rankings:
        turned = sum(scores[v] - scores[u] for u, v in pairs if order[u] < order[v])
        lost = best - measure.per_query(y, order, ptr)[0]
        values.append(lost * max(0.0, 1.0 + 2.0 * turned / len(pairs)))
    return max(values)


@pytest.mark.parametrize("name", ["map", "ndcg", "ndcg@3", "err", "p@2", "rbp"])
def test_values_are_those_of_the_worst_ranking_of_the_set(name):
    measure = get_measure(name)
    prepared = PermutationHingeLoss(name).prepare(Y, PTR)
    for ranking in RANKINGS:
        prepared = prepared.extended(ranking)
    for scale in (0.0, 0.3, 3.0):
        scores = scale * np.random.default_rng(1).normal(size=PTR[-1])
        values, gradient = prepared.value_gradient(scores)
        for q, (a, b) in enumerate(pairwise(PTR)):
            orders = [-Y[a:b], *RANKINGS[:, a:b]]
            expected = naive(measure, Y[a:b], orders, scores[a:b])
            assert_allclose(values[q], expected, atol=1e-12)
        other = scores + np.random.default_rng(2).normal(size=PTR[-1])
        there = prepared.value_gradient(other)[0].sum()
        assert there >= values.sum() + gradient @ (other - scores) - 1e-12


@pytest.mark.parametrize("name", ["map", "ndcg@3", "mrr", "err"])
def test_a_set_with_the_current_ranking_bounds_what_the_measure_falls_short_of(name):
    measure = get_measure(name)
    scores = 0.1 * RANKINGS[0]
    prepared = PermutationHingeLoss(name).prepare(Y, PTR)
    values, _ = prepared.extended(scores).value_gradient(scores)
    best, found = (measure.per_query(Y, s, PTR) for s in (Y, scores))
    assert np.all(values >= np.nan_to_num(best - found) - 1e-12)


def test_more_rankings_never_lower_the_loss():
    prepared = PermutationHingeLoss("map").prepare(Y, PTR)
    before = prepared.value_gradient(RANKINGS[1])[0]
    after = prepared.extended(RANKINGS[2]).value_gradient(RANKINGS[1])[0]
    assert np.all(after >= before)
    assert_array_equal(prepared.value_gradient(RANKINGS[1])[0], before)


def test_measures_of_scores_are_refused_by_name():
    with pytest.raises(ValueError, match=r"measure .* of rankings.*'mse'"):
        PermutationHingeLoss("mse").prepare([1, 0], [0, 2])


def test_a_document_whose_pairs_cancel_takes_no_digits():
    """The first document has as many better ones below it as worse ones."""
    y, scores = [2, 1, 0, 3, 4], [0.0, 0.2494, 0.3496, -0.5949, -0.7811]
    loss = PermutationHingeLoss("err")
    expected = loss.value_gradient(y, scores, [0, 5])
    for far in (-1e17, 1e10, 1e12, 1e17):
        found = loss.value_gradient(y, [far, *scores[1:]], [0, 5])
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
        np.testing.assert_array_equal(found[1], expected[1])
