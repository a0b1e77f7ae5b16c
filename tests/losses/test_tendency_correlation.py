"""How closely surrogates of a measure follow it: Liu, section 5.4.2.

Definition 5.1 compares the differences that two rankers make to a surrogate and to the
measure. Theorems 5.4 and 5.5 bound its epsilon from above for SoftNDCG and AppNDCG,
Theorem 5.6 from below for the structured hinges; where a statement says nothing as
printed, or leaves a symbol undefined, the one that is tested is sharper.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import erf, erfc, erfinv

from skrank.losses import PermutationHingeLoss, StructuredHingeLoss, smooth
from skrank.metrics import average_precision, ndcg_score

MARGIN = 1e-9  # for rounding
# Largest relative change of the logarithmic discount when a document moves by one rank.
STEEPEST = np.log2(3.0) - 1.0


@st.composite
def pairs_of_rankers(draw, delta=None):
    """Grades, two score vectors, and the least difference of two scores in each."""
    m = draw(st.integers(2, 8))
    y = np.array(draw(st.lists(st.integers(0, 4), min_size=m, max_size=m)), float)
    assume(y.any())
    if delta is None:
        delta = draw(st.floats(0.05, 2.0))
    scores = []
    for _ in range(2):
        gaps = draw(st.lists(st.floats(1.0, 3.0), min_size=m, max_size=m))
        order = draw(st.permutations(range(m)))
        # Rounding in the sums must not make a difference smaller than delta.
        scores.append((1.0 + 1e-9) * delta * np.cumsum(gaps)[order])
    return y, scores, delta


def query(y):
    return np.zeros(len(y), dtype=int)


def disagreement(y, scores, loss, measure=ndcg_score):
    """Epsilon(1, w1, w2, x, y) of definition 5.1, for the surrogate 1 - loss."""
    surrogate, exact = (
        [surrogate_of(y, s, loss) for s in scores],
        [measure(y, s, groups=query(y)) for s in scores],
    )
    return abs(surrogate[0] - surrogate[1] - (exact[0] - exact[1]))


def surrogate_of(y, scores, loss):
    return 1.0 - loss.value_gradient(y, scores, [0, len(y)])[0][0]


# Theorem 5.4


def soft(sigma):
    return smooth("ndcg", method="softrank", width=sigma)


@given(pairs_of_rankers(), st.floats(0.05, 2.0))
def test_soft_ndcg_follows_ndcg(example, sigma):
    """A bound for every sigma, by the expected number of documents on a wrong side.

    A document changes places with each other one with the probability erfc(delta / (2
    sigma)) / 2 at most, and its discount by less than `STEEPEST` of itself for each.
    """
    y, scores, delta = example
    bound = STEEPEST * (len(y) - 1) * erfc(delta / (2.0 * sigma))
    assert disagreement(y, scores, soft(sigma)) <= bound + MARGIN


def printed_bound(m, sigma, delta):
    """The sum of epsilon 1 and epsilon 2 of Theorem 5.4."""
    x = delta / (2.0 * sigma)
    first = (m - 1) * sigma / (2.0 * delta * np.sqrt(np.pi)) * np.exp(-(x**2))
    third = (m - 1) * (1.0 - erf(x) ** 2) / 4.0
    return first + np.sqrt(third / (1.0 - 5.0 * third)) + 5.0 * third


def largest_sigma(m, delta):
    """The condition of Theorem 5.4, under which 5 epsilon 3 is less than 1."""
    return delta / (2.0 * erfinv(np.sqrt((5.0 * m - 9.0) / (5.0 * m - 5.0))))


@given(pairs_of_rankers(), st.floats(0.1, 0.99))
def test_the_bound_of_soft_ndcg_as_printed(example, share):
    """Theorem 5.4, if the undefined N is 1 or more, and even without its 2^L."""
    y, scores, delta = example
    m = len(y)
    sigma = share * largest_sigma(m, delta)
    printed = printed_bound(m, sigma, delta)
    assert disagreement(y, scores, soft(sigma)) <= printed + MARGIN
    # It follows from the bound above, whose every term its last one exceeds.
    sharper = STEEPEST * (m - 1) * erfc(delta / (2.0 * sigma))
    assert sharper <= printed + MARGIN


# Theorem 5.5


def app(alpha):
    return smooth("ndcg", method="sigmoid", width=1.0 / alpha)


@given(pairs_of_rankers(), st.floats(0.1, 20.0))
def test_app_ndcg_follows_ndcg(example, alpha):
    """Theorem 5.5 with the 1 in the denominator, for every alpha.

    A soft rank misses the rank by (m - 1) / (exp(alpha delta) + 1) at most, and the
    logarithmic discount changes by less than 1 / (2 ln 2) of itself for each rank.
    """
    y, scores, delta = example
    bound = (len(y) - 1) / (np.exp(delta * alpha) + 1.0) / np.log(2.0)
    assert disagreement(y, scores, app(alpha)) <= bound + MARGIN


def test_the_bound_of_app_ndcg_is_within_a_factor_of_two():
    """Two documents in the right order by one ranker, in the wrong one by the other."""
    y, alpha = np.array([1.0, 0.0]), 1.0
    for delta in (1.0, 5.0, 10.0):
        scores = np.array([0.0, -delta]), np.array([0.0, delta])
        bound = 1.0 / (np.exp(delta * alpha) + 1.0) / np.log(2.0)
        assert disagreement(y, scores, app(alpha)) > 0.5 * bound


@pytest.mark.parametrize("loss", [app(1e3), soft(1e-3)])
@given(example=pairs_of_rankers(delta=0.1))
def test_surrogates_become_the_measure(loss, example):
    """What both theorems are for: nothing is left at a low enough temperature."""
    y, scores, _ = example
    assert disagreement(y, scores, loss) < 1e-9


@pytest.mark.parametrize("loss", [app(1e3), soft(1e-3)])
def test_no_temperature_serves_all_data(loss):
    """Without a delta, which the book's discussion forgets: shrinking w ends it."""
    y = np.array([1.0, *np.zeros(30)])
    best = np.linspace(1.0, 0.0, len(y))
    tiny = 1e-9
    scores = tiny * best, -tiny * best
    lost = 1.0 - 1.0 / np.log2(1.0 + len(y))
    exact = [ndcg_score(y, s, groups=query(y)) for s in scores]
    assert exact[0] - exact[1] == pytest.approx(lost)
    surrogate = [surrogate_of(y, s, loss) for s in scores]
    assert surrogate[0] == pytest.approx(surrogate[1], abs=1e-4)


# Theorem 5.6


def lost_document(n_relevant, n_other, depth):
    """Grades, and the scores of a ranker that is perfect but for one document.

    That one is far below all others, and by how much the hinge counts.
    """
    m = n_relevant + n_other
    y = np.zeros(m)
    y[: n_relevant - 1] = 1.0
    y[-1] = 1.0
    first = np.arange(m, 0.0, -1.0)
    first[-1] = -depth
    return y, first


SIZES = [(0.5, 6, 200), (0.8, 20, 2000), (0.9, 40, 8000)]


@pytest.mark.parametrize(("difference", "n_relevant", "n_other"), SIZES)
@pytest.mark.parametrize("depth", [1e8, 1e9])  # of infinitely many
def test_structured_hinges_prefer_the_worse_ranking(
    difference, n_relevant, n_other, depth
):
    """Theorem 5.6 for SVM-map, with w2 = -w1 / depth."""
    y, first = lost_document(n_relevant, n_other, depth)
    second = -first / depth
    better, worse = (average_precision(y, s, groups=query(y)) for s in (first, second))
    assert better - worse >= difference
    loss = StructuredHingeLoss("map")
    assert surrogate_of(y, first, loss) < surrogate_of(y, second, loss)


@pytest.mark.parametrize("loss", [StructuredHingeLoss("ndcg"), None])
@pytest.mark.parametrize("depth", [1e7, 1e8])
def test_the_hinges_of_ndcg_prefer_the_worse_ranking(loss, depth):
    """Theorem 5.6 for SVM-ndcg and, with None, for PermuRank."""
    y, first = lost_document(20, 2000, depth)
    second = -first / depth
    better, worse = (ndcg_score(y, s, groups=query(y)) for s in (first, second))
    assert better - worse >= 0.5
    if loss is None:
        # Of all rankings the reverse of the best one is at hand; for the second, no
        # loss exceeds 1 + max F - F(perfect) <= 1 + 2 max |f(u) - f(v)|.
        loss = PermutationHingeLoss("ndcg")
        most = 1.0 + 2.0 * np.ptp(second)
    else:
        most = 1.0 - surrogate_of(y, second, loss)
    assert 1.0 - surrogate_of(y, first, loss) > most


def test_gaps_between_scores_do_not_help_the_hinges():
    """All scores differ by 1 or more, as Theorems 5.4 and 5.5 ask with delta = 1."""
    y, first = lost_document(10, 200, 1e8)
    second = -np.arange(len(y), 0.0, -1.0)
    second[-1] = 1.0
    assert min(np.diff(np.sort(first)).min(), np.diff(np.sort(second)).min()) >= 1.0
    better, worse = (average_precision(y, s, groups=query(y)) for s in (first, second))
    loss = StructuredHingeLoss("map")
    assert better - worse >= 0.5
    assert surrogate_of(y, first, loss) < surrogate_of(y, second, loss)
