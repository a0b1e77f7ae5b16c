"""ListNet against all lists, where scores lie far apart, and of long lists."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import logsumexp

from skrank.losses import ListNetLoss

FAR_APART = [
    [0.0, 60.0, 1.0],
    [60.0, 0.0, 61.0],
    [30.0, -20.0, 50.0, 110.0],
    [3e5, -2e5, 5e5, 1.1e6],
]
each_scores = pytest.mark.parametrize("scores", FAR_APART, ids=str)


def log_shares(strength):
    """Logarithms of the probabilities of each document to come first."""
    return strength - logsumexp(strength)


def log_shares_after(strength, first):
    """The same of the others once a document is gone, which has -inf."""
    rest = np.where(np.arange(len(strength)) == first, -np.inf, strength)
    return log_shares(rest)


def top_two(gains, scores):
    """Cross entropy over all ordered pairs of documents, and its slopes."""
    value, slope = 0.0, np.zeros(len(scores))
    for first, second in permutations(range(len(scores)), 2):
        log_target = log_shares(gains)[first] + log_shares_after(gains, first)[second]
        at_first, at_second = log_shares(scores), log_shares_after(scores, first)
        target = np.exp(log_target)
        value -= target * (at_first[first] + at_second[second])
        # The slope of a logarithm of a share is 1 for the document less all shares.
        slope += target * (np.exp(at_first) + np.exp(at_second))
        slope[[first, second]] -= target
    return value, slope


@each_scores
def test_lists_of_two_against_all_pairs_where_scores_lie_far_apart(scores):
    m = len(scores)
    loss = ListNetLoss(gain="exp2", top_k=2)
    for grades in permutations([10, 1, 0, 2][:m]):
        y, raw = np.array(grades, dtype=float), np.array(scores)
        values, gradient = loss.value_gradient(y, raw, [0, m])
        value, slope = top_two(2.0**y - 1.0, raw)
        np.testing.assert_allclose(values, [value], rtol=1e-9)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("gain", ["linear", "exp2"])
@each_scores
def test_of_three_documents_two_decide_on_the_third(scores, gain):
    for grades in permutations([10, 1, 0]):
        two, three = (
            ListNetLoss(gain, top_k=k).value_gradient(grades, scores[:3], [0, 3])
            for k in (2, 3)
        )
        np.testing.assert_allclose(two[0], three[0], rtol=1e-9)
        np.testing.assert_allclose(two[1], three[1], rtol=1e-9, atol=1e-12)


def test_lists_that_no_double_can_count():
    """172 documents have more orders than a double holds."""
    y, scores = np.arange(172.0) % 2, np.linspace(-1, 1, 172)
    values, gradient = ListNetLoss(top_k=172).value_gradient(y, scores, [0, 172])
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
    with pytest.raises(ValueError, match="n_samples='exact' sums at most"):
        ListNetLoss(top_k=172, n_samples="exact").value_gradient(y, scores, [0, 172])
