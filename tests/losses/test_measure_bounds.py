"""Which losses bound 1 - NDCG and 1 - AP, with which constants.

Every inequality of chapter 5 of Liu's book, over random grades and scores; where one is
false as printed, the smallest example that breaks it, and the constant that holds.
Rankings put documents of equal scores in the worst order, except where said otherwise.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skrank.losses import (
    ExponentialLoss,
    HingeLoss,
    LambdaBoundLoss,
    LambdaLoss,
    ListMLELoss,
    LogLoss,
)

# Few distinct scores, so that many are equal, or real numbers.
SCORES = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-4.0, 4.0, allow_nan=False).map(lambda s: round(s, 3)),
)
PAIRWISE = {"hinge": HingeLoss(), "exponential": ExponentialLoss()}
MARGIN = 1e-9  # for rounding


@st.composite
def queries(draw, highest=4, smallest=2):
    """Grades that are not all 0, and scores."""
    m = draw(st.integers(smallest, 8))
    y = draw(st.lists(st.integers(0, highest), min_size=m, max_size=m))
    scores = draw(st.lists(SCORES, min_size=m, max_size=m))
    assume(max(y) > 0)
    return np.array(y, dtype=float), np.array(scores)


def worst_order(y, scores):
    """Documents by score; of equal scores the lower grades first."""
    return np.lexsort((y, -scores))


def discounts(m):
    return 1.0 / np.log2(1.0 + np.arange(1, m + 1))


def exp2(y):
    return 2.0**y - 1.0


def best_dcg(gain):
    return np.sort(gain)[::-1] @ discounts(len(gain))


def ndcg_error(y, order, gain=exp2):
    return 1.0 - gain(y)[order] @ discounts(len(y)) / best_dcg(gain(y))


def ap_error(y, order, level=1):
    relevant = y[order] >= level
    hits = np.cumsum(relevant)
    return 1.0 - np.mean((hits / np.arange(1, len(y) + 1))[relevant])


def truth(y, scores):
    """The order of Omega_y that the scores agree with most: by grade, then by score."""
    return np.lexsort((-scores, -y))


def essential_loss(y, scores, beta, same_grade=False):
    """Weighted number of documents that do not beat all after them (eq. 5.7, 5.8).

    Documents of equal grade and score are errors only if ``same_grade``, as printed.
    """
    order = truth(y, scores)
    y, scores = y[order], scores[order]
    total = 0.0
    for t in range(len(y) - 1):
        rivals = scores[t + 1 :][
            np.full(len(y) - t - 1, same_grade) | (y[t + 1 :] < y[t])
        ]
        total += beta[t] * np.any(rivals >= scores[t])
    return total


def ndcg_weights(y):
    return np.sort(exp2(y))[::-1] * discounts(len(y))


def value(loss, y, scores):
    return loss.value_gradient(y, scores, [0, len(y)])[0][0]


# Pointwise


@given(queries())
def test_regression_on_gains_bounds_ndcg(query):
    """Eq. 5.1, with gains in the place of grades."""
    y, scores = query
    square = np.sqrt(2.0 * np.sum(discounts(len(y)) ** 2))
    distance = np.linalg.norm(scores - exp2(y))
    error = ndcg_error(y, worst_order(y, scores))
    assert error <= square * distance / best_dcg(exp2(y)) + MARGIN


@given(queries())
def test_regression_on_grades_bounds_ndcg_of_linear_gain(query):
    """Eq. 5.1 as printed holds if the gain of a grade is the grade."""
    y, scores = query
    square = np.sqrt(2.0 * np.sum(discounts(len(y)) ** 2))
    error = ndcg_error(y, worst_order(y, scores), gain=np.array)
    assert error <= square * np.linalg.norm(scores - y) / best_dcg(y) + MARGIN


def test_regression_on_grades_does_not_bound_ndcg():
    """Eq. 5.1 as printed, with the gains of the book's NDCG."""
    y, scores = np.array([4.0, 0.0]), np.array([1.9, 2.0])
    square = np.sqrt(2.0 * np.sum(discounts(2) ** 2))
    bound = square * np.linalg.norm(scores - y) / best_dcg(exp2(y))
    assert ndcg_error(y, worst_order(y, scores)) > 1.1 * bound


def classification_bound(y, predicted):
    """Eq. 5.2 for five grades: the arithmetic minus the geometric mean of squares."""
    m, d = len(y), discounts(len(y))
    spread = np.sum(d**2) - m * np.prod(d ** (2.0 / m))
    n_wrong = np.sum(y != predicted)
    return 15.0 / best_dcg(exp2(y)) * np.sqrt(2.0 * max(0.0, spread) * n_wrong)


@given(queries(), st.randoms(use_true_random=False))
def test_classification_bounds_ndcg(query, random):
    """Eq. 5.2: documents ranked by their predicted grade."""
    y, _ = query
    predicted = np.array(
        [g if random.random() < 0.5 else random.randint(0, 4) for g in y]
    )
    error = ndcg_error(y, worst_order(y, predicted))
    assert error <= classification_bound(y, predicted) + MARGIN


def test_the_example_of_a_loose_bound():
    """Section 5.2: four grades, all of them one too low, and a perfect ranking."""
    y = np.array([4.0, 3.0, 2.0, 1.0])
    assert ndcg_error(y, worst_order(y, y - 1)) == pytest.approx(0.0)
    # Z is a sum of 2^y - 1, where the book prints 2^(y - 1), and the bound 25.43 / Z,
    # where it prints 24.49 / Z; both are larger than any error.
    assert best_dcg(exp2(y)) == pytest.approx(21.35, abs=0.005)
    assert classification_bound(y, y - 1) == pytest.approx(25.43 / 21.35, abs=0.005)


# Pairwise


def joachims_bound(n_relevant, pairwise):
    """Eq. 5.3."""
    total = pairwise + n_relevant * (n_relevant + 1) / 2
    return 1.0 - np.sum(np.sqrt(np.arange(1, n_relevant + 1))) ** 2 / total / n_relevant


@pytest.mark.parametrize("name", PAIRWISE)
@given(query=queries(highest=3))
def test_pairs_bound_average_precision_indirectly(name, query):
    """Eq. 5.3, for losses that are at least 1 at a margin of 0."""
    y, scores = query
    bound = joachims_bound(np.sum(y >= 1), value(PAIRWISE[name], y, scores))
    assert ap_error(y, worst_order(y, scores)) <= bound + MARGIN


@given(queries(highest=3))
def test_logistic_pairs_bound_average_precision_to_base_two(query):
    y, scores = query
    logistic = value(LogLoss(), y, scores) / np.log(2.0)
    bound = joachims_bound(np.sum(y >= 1), logistic)
    assert ap_error(y, worst_order(y, scores)) <= bound + MARGIN


def test_natural_logarithms_of_pairs_do_not_bound_average_precision():
    """Eq. 5.3 as printed, with the loss of RankNet: log 2 < 1 at a margin of 0."""
    y, scores = np.array([1.0, 0.0]), np.zeros(2)
    bound = joachims_bound(1, value(LogLoss(), y, scores))
    assert ap_error(y, worst_order(y, scores)) == pytest.approx(0.5)
    assert bound < 0.41


@pytest.mark.parametrize("name", PAIRWISE)
@given(query=queries())
def test_pairs_bound_the_essential_loss(name, query):
    """Theorem 5.2, with documents of equal grade never taken for errors."""
    y, scores = query
    for beta in (ndcg_weights(y), np.ones(len(y))):
        bound = np.max(beta[:-1]) * value(PAIRWISE[name], y, scores)
        assert essential_loss(y, scores, beta) <= bound + MARGIN


def test_equal_scores_of_one_grade_break_the_theorem_as_printed():
    """Theorem 5.2 with the strict comparison of eq. 5.6 within a grade."""
    y, scores = np.array([1.0, 1.0, 0.0]), np.array([2.0, 2.0, 0.0])
    assert value(HingeLoss(), y, scores) == 0.0
    assert essential_loss(y, scores, np.ones(3), same_grade=True) == 1.0
    assert essential_loss(y, scores, np.ones(3)) == 0.0


def test_natural_logarithms_of_pairs_lie_below_the_essential_loss():
    """Theorem 5.2 as printed, with the loss of RankNet."""
    y, scores = np.array([1.0, 0.0]), np.zeros(2)
    logistic = value(LogLoss(), y, scores)
    assert logistic < essential_loss(y, scores, np.ones(2)) == 1.0
    assert logistic / np.log(2.0) == pytest.approx(1.0)


def largest_weight(y):
    """G(K - 1) eta(1) / Z_m, with the highest grade of the query for K - 1."""
    return exp2(y.max()) / best_dcg(exp2(y))


@given(queries())
def test_wrong_pairs_bound_both_measures(query):
    """Constants that are .37 and .5 of those of the book.

    A ranking comes from the best one by as many exchanges of neighbours as it has wrong
    pairs, none of which takes more from DCG than the first gain moving to rank 2. A
    relevant document with c others before it has a precision of 1 / (1 + c) or more,
    and 1 - 1 / (1 + c) is at most c / 2.
    """
    y, scores = query
    wrong = (y[:, None] > y) & (scores[:, None] <= scores)
    order = worst_order(y, scores)
    fall = largest_weight(y) * (1.0 - 1.0 / np.log2(3.0))
    assert ndcg_error(y, order) <= fall * wrong.sum() + MARGIN
    against = wrong & (y[:, None] >= 1) & (y < 1)
    assert ap_error(y, order) <= against.sum() / (2.0 * np.sum(y >= 1)) + MARGIN


@pytest.mark.parametrize("name", ["hinge", "exponential", "logistic"])
@given(query=queries())
def test_pairs_bound_both_measures(name, query):
    """Eq. 5.9 and 5.10, which hold with natural logarithms, too."""
    y, scores = query
    pairs = value(PAIRWISE.get(name, LogLoss()), y, scores)
    order = worst_order(y, scores)
    assert ndcg_error(y, order) <= largest_weight(y) * pairs + MARGIN
    assert ap_error(y, order) <= pairs / np.sum(y >= 1) + MARGIN


# The essential loss


@given(queries())
def test_the_essential_loss_bounds_both_measures(query):
    """Theorem 5.1."""
    y, scores = query
    order = worst_order(y, scores)
    of_ndcg = essential_loss(y, scores, ndcg_weights(y)) / best_dcg(exp2(y))
    of_ap = essential_loss(y, scores, np.ones(len(y))) / np.sum(y >= 1)
    assert ndcg_error(y, order) <= of_ndcg + MARGIN
    assert ap_error(y, order) <= of_ap + MARGIN


@given(queries())
def test_the_essential_loss_of_ndcg_vanishes_with_its_error(query):
    y, scores = query
    error = ndcg_error(y, worst_order(y, scores))
    loss = essential_loss(y, scores, ndcg_weights(y))
    assert (error < 1e-12) == (loss == 0.0)


def test_the_essential_loss_of_average_precision_need_not_vanish():
    """Section 5.3 calls a zero necessary: it is for two grades, and not for more."""
    y, scores = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    assert ap_error(y, worst_order(y, scores)) == 0.0
    assert essential_loss(y, scores, np.ones(2)) == 1.0
    binary = np.array([1.0, 1.0, 0.0])
    assert essential_loss(binary, np.array([0.0, 1.0, -1.0]), np.ones(3)) == 0.0


# Listwise


@pytest.mark.parametrize("ties", ["best", "average", "stable"])
@given(query=queries())
def test_the_likelihood_of_an_order_bounds_both_measures(ties, query):
    """Theorem 5.3, eq. 5.12 and 5.13, for one order of the ties or a mean of them."""
    y, scores = query
    assume(np.ptp(y) > 0)
    likelihood = value(ListMLELoss(ties=ties), y, scores) / np.log(2.0)
    for beta in (ndcg_weights(y), np.ones(len(y))):
        for same_grade in (False, ties == "best"):
            loss = essential_loss(y, scores, beta, same_grade)
            assert loss <= np.max(beta[:-1]) * likelihood + MARGIN
    order = worst_order(y, scores)
    assert ndcg_error(y, order) <= largest_weight(y) * likelihood + MARGIN
    assert ap_error(y, order) <= likelihood / np.sum(y >= 1) + MARGIN


@given(queries())
def test_the_likelihood_of_the_partition_needs_a_larger_constant(query):
    """Of b documents of one grade, e errors cost log(1 + e) at least."""
    y, scores = query
    assume(np.ptp(y) > 0)
    b = max(np.sum(y == grade) for grade in np.unique(y)[1:])
    likelihood = value(ListMLELoss(ties="partition"), y, scores) * b / np.log(1.0 + b)
    order = worst_order(y, scores)
    assert ndcg_error(y, order) <= largest_weight(y) * likelihood + MARGIN
    assert ap_error(y, order) <= likelihood / np.sum(y >= 1) + MARGIN


def test_the_partition_costs_less_than_the_constant_of_one_order_asks():
    y, scores = np.append(np.ones(7), 0.0), np.zeros(8)
    partition = value(ListMLELoss(ties="partition"), y, scores)
    assert partition == pytest.approx(np.log(8.0))
    assert partition / np.log(2.0) < essential_loss(y, scores, np.ones(8)) == 7.0


@pytest.mark.parametrize("sigma", [0.3, 5.0])
@given(query=queries())
def test_losses_of_ranked_pairs_bound_ndcg(sigma, query):
    """NDCG-Loss1 by its derivation; the two others by these examples only."""
    y, scores = query
    assume(np.ptp(y) > 0 and len(np.unique(scores)) == len(scores))
    error = ndcg_error(y, worst_order(y, scores))
    for bound in ("ndcg1", "ndcg2"):
        assert error <= value(LambdaBoundLoss(bound, sigma=sigma), y, scores) + MARGIN
    swaps = value(LambdaLoss("ndcg", sigma=sigma), y, scores)
    assert error <= swaps / np.log(2.0) + MARGIN


@given(query=queries())
def test_the_bounds_of_the_average_relevance_position(query):
    y, scores = query
    assume(np.ptp(y) > 0)
    ranks = np.arange(1, len(y) + 1)
    position = y[worst_order(y, scores)] @ ranks / y.sum()
    least = np.sort(y)[::-1] @ ranks / y.sum()
    first, second = (value(LambdaBoundLoss(b), y, scores) for b in ("arp1", "arp2"))
    assert position - 1.0 <= first + MARGIN
    assert position - least <= second + MARGIN
