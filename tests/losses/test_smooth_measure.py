"""Smooth measures: their formulas in NumPy, and the measure itself in the limit."""

import re
from itertools import product
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom, norm

from skrank.exceptions import InvalidParameterError
from skrank.losses import SmoothMeasureLoss, smooth
from skrank.losses._smooth_measure import Method
from skrank.metrics import DCG, NDCG, RBP, get_measure, known_measures
from skrank.metrics._gain import discount_of_ranks

# Few documents may well be alike to a measure.
pytestmark = pytest.mark.filterwarnings("ignore:.*tells no documents of a query apart")

MEASURES = [
    NDCG(),
    NDCG(k=3),
    NDCG(k=4, gain="linear", discount="letor"),
    DCG(gain=[0, 1, 5, 6], discount=lambda r: 1 / np.sqrt(r)),
    DCG(k=2),
    *map(get_measure, ("map", "map@3", "mrr", "mrr@2", "err", "err@3", "p@3")),
    *map(get_measure, ("recall@2", "f@4", "rbp", "success@2")),
    RBP(k=3, p=0.5),
]
EXACT_DISCOUNTS = {"log2": lambda r: 1 / np.log2(1 + r), "reciprocal": lambda r: 1 / r}

each_measure = pytest.mark.parametrize("measure", MEASURES, ids=str)
each_method = pytest.mark.parametrize("method", get_args(Method))


@pytest.fixture
def query():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, 9).astype(float), rng.permutation(9) * 0.4 - 1.1


def value_of(measure, y, scores):
    return measure.per_query(y, scores, np.array([0, len(y)]))[0]


def loss_of(measure, value):
    return 1 - value if np.isfinite(measure.bounds[1]) else -value


def terms_of(measure, y):
    return measure.delta_terms(y, np.array([0, len(y)]))


def form_of_ranks(kind, gain, discounts, above):
    """The three sums; above[u, i] says how far u is above i, 0 on the diagonal."""
    if kind == "average_precision":
        return np.sum(gain * discounts * (1 + gain @ above))
    if kind == "gain_discount":
        return np.sum(gain * discounts)
    return np.sum(gain * discounts * np.prod(1 - gain[:, None] * above, axis=0))


@each_measure
def test_the_form_of_a_measure_is_the_measure(measure, query):
    y, scores = query
    terms = terms_of(measure, y)
    ranks = np.argsort(np.argsort(-scores)) + 1
    above = (ranks[:, None] < ranks).astype(float)
    value = form_of_ranks(terms.kind, terms.gain, terms.discount[ranks - 1], above)
    assert measure.rank_form == terms.kind
    np.testing.assert_allclose(terms.scale[0] * value, value_of(measure, y, scores))


@pytest.mark.parametrize(
    "measure",
    [m for m in MEASURES if terms_of(m, np.arange(3.0)).rule in ("log2", "reciprocal")],
    ids=str,
)
@pytest.mark.parametrize("width", [0.05, 1.0])
def test_sigmoid_ranks_by_the_formula(measure, width, query):
    y, scores = query
    terms, beta = terms_of(measure, y), 2.0 / width
    ranks = 0.5 + expit((scores[:, None] - scores) / width).sum(axis=0)
    above = expit(beta * (ranks - ranks[:, None]))
    np.fill_diagonal(above, 0.0)
    discounts = EXACT_DISCOUNTS[terms.rule](ranks)
    if measure.k is not None:
        discounts = discounts * expit(beta * (measure.k + 0.5 - ranks))
    value = form_of_ranks(terms.kind, terms.gain, discounts, above)
    loss = smooth(measure, "sigmoid", width=width, steepness=2.0)
    found = loss.value_gradient(y, scores, [0, len(y)])[0][0]
    np.testing.assert_allclose(found, loss_of(measure, terms.scale[0] * value))


def loss_value(measure, method, y, scores, **options):
    loss = smooth(measure, method, **options)
    return loss.value_gradient(y, scores, [0, len(y)])[0][0]


@each_measure
@each_method
def test_cold_measures_are_the_measure(measure, method, query):
    y, scores = query
    exact = loss_of(measure, value_of(measure, y, scores))
    errors = [
        abs(loss_value(measure, method, y, scores, width=width) - exact)
        for width in (0.3, 0.03, 0.003)
    ]
    assert errors[1] <= errors[0] + 1e-12
    assert errors[2] < 1e-12


def above_by_noise(scores, width=1.0, variance=1.0):
    """Probability that the row is above the column, 0 on the diagonal."""
    sums = np.add.outer(variance, variance) * np.ones((len(scores), len(scores)))
    p = norm.cdf((scores[:, None] - scores) / (width * np.sqrt(sums)))
    np.fill_diagonal(p, 0.0)
    return p


def enumerated(terms, above):
    """Expectation of the form over all independent outcomes of comparisons."""
    m, total = len(above), 0.0
    table = np.append(terms.discount, np.zeros(m))
    for i in np.flatnonzero(terms.gain):
        for outcome in product((0.0, 1.0), repeat=m - 1):
            won = np.insert(outcome, i, 0.0)
            p = np.prod(np.where(won > 0, above[:, i], 1.0 - above[:, i]))
            part = terms.gain[i] * table[int(won.sum())]
            if terms.kind == "average_precision":
                part *= 1.0 + won @ terms.gain
            elif terms.kind != "gain_discount":
                part *= np.prod(1.0 - won * terms.gain)
            total += p * part
    return terms.scale[0] * total


@each_measure
def test_softrank_is_the_expectation_over_all_outcomes(measure):
    rng = np.random.default_rng(4)
    for m in (1, 2, 5, 7):
        y = rng.integers(0, 4, m).astype(float)
        y[:2] = [2.0, 0.0][:m]
        scores = rng.normal(size=m)
        expected = enumerated(terms_of(measure, y), above_by_noise(scores, 0.7))
        if m == 1:
            continue  # a query of one document adds nothing
        found = loss_value(measure, "softrank", y, scores, width=0.7)
        np.testing.assert_allclose(found, loss_of(measure, expected), rtol=1e-12)


def rank_distribution(scores, method, document, **options):
    """Probability of each rank of one document."""
    m = len(scores)
    y = (np.arange(m) == document).astype(float)
    found = [get_measure(f"recall@{r + 1}") for r in range(m)]
    inside = [1 - loss_value(recall, method, y, scores, **options) for recall in found]
    return np.diff(inside, prepend=0.0)


@pytest.mark.parametrize("method", ["softrank", "softrank-gaussian"])
def test_rank_distributions_against_drawn_comparisons(method):
    rng = np.random.default_rng(0)
    scores, n = rng.normal(size=12), 200_000
    above = above_by_noise(scores, 0.8)
    for document in (0, 5):
        ranks = (rng.random((n, 12)) < above[:, document]).sum(axis=1)
        drawn = np.bincount(ranks, minlength=12) / n
        found = rank_distribution(scores, method, document, width=0.8)
        np.testing.assert_allclose(found.sum(), 1.0)
        error = 5e-3 if method == "softrank" else 3e-2
        np.testing.assert_allclose(found, drawn, atol=error)


def test_rank_distributions_against_drawn_scores():
    """Comparisons with one document depend on each other; means know nothing of it."""
    rng = np.random.default_rng(1)
    scores, n = rng.normal(size=10), 200_000
    drawn = scores + 0.6 * rng.normal(size=(n, 10))
    for document in (2, 7):
        ranks = (drawn > drawn[:, [document]]).sum(axis=1)
        found = rank_distribution(scores, "softrank", document, width=0.6)
        np.testing.assert_allclose(found @ np.arange(10), ranks.mean(), atol=0.02)
        spread = np.abs(found - np.bincount(ranks, minlength=10) / n).sum() / 2
        assert 0.005 < spread < 0.4


def normal_form(terms, above):
    """The form where each rank is normal, given as sums over ranks."""
    m, total = len(above), 0.0
    ranks = np.arange(1, m + 1)
    for i in np.flatnonzero(terms.gain):
        p, reach, gain = above[:, i], 1.0, terms.gain
        if terms.kind in ("cascade", "reciprocal_rank"):
            passed = 1 - gain * p
            p, reach = p * (1 - gain) / passed, np.prod(passed)
        mean, variance = 1 + p.sum(), 1 / 400 + p @ (1 - p)
        edges = (np.arange(m + 1) + 0.5 - mean) / np.sqrt(variance)
        edges[[0, -1]] = -np.inf, np.inf
        part = np.diff(norm.cdf(edges)) * terms.discount
        if terms.kind == "average_precision":
            slope = gain @ (p * (1 - p)) / variance
            part = part * (1 + gain @ p + slope * (ranks - mean))
        total += gain[i] * reach * part.sum()
    return terms.scale[0] * total


@each_measure
def test_normal_ranks_by_the_formula(measure, query):
    y, scores = query
    expected = normal_form(terms_of(measure, y), above_by_noise(scores, 0.5))
    found = loss_value(measure, "softrank-gaussian", y, scores, width=0.5)
    np.testing.assert_allclose(found, loss_of(measure, expected), rtol=1e-9)


@pytest.mark.parametrize("width", [0.5, 1.0])
def test_trials_by_the_formula(width, query):
    y, scores = query
    trials, p = len(y) / width**2, norm.cdf(np.sqrt(np.pi) * scores)
    above = above_by_noise(trials * p, variance=trials * p * (1 - p))
    for measure in ("ndcg", "map@3", "err"):
        measure = get_measure(measure)
        expected = enumerated(terms_of(measure, y), above)
        found = loss_value(measure, "probit-binomial", y, scores, width=width)
        np.testing.assert_allclose(found, loss_of(measure, expected))
    # For a test of the normal distributions, comparisons of binomial numbers.
    n = 40
    chances = norm.cdf(np.sqrt(np.pi) * np.array([0.0, 0.2]))
    numbers = [binom.pmf(np.arange(n + 1), n, chance) for chance in chances]
    joint = np.outer(*numbers)
    exact = np.tril(joint, -1).sum() + 0.5 * np.trace(joint)
    near = above_by_noise(n * chances, variance=n * chances * (1 - chances))[0, 1]
    np.testing.assert_allclose(near, exact, atol=2e-3)


def soft_permutation(scores, method, width):
    """The matrix of which position holds which document."""
    m, t = len(scores), np.sort(scores)[::-1]
    if method == "softmax":
        logits = -(((scores - t[:, None]) / width) ** 2)
    elif method == "softsort":
        logits = -np.abs(scores - t[:, None]) / width
    else:
        distance = np.abs(scores[:, None] - scores).sum(axis=1)
        positions = np.arange(1, m + 1)[:, None]
        logits = ((m + 1 - 2 * positions) * scores - distance) / width
    return softmax(logits, axis=1)


@each_measure
@pytest.mark.parametrize("method", ["softmax", "softsort", "neuralsort"])
def test_soft_positions_by_the_formula(measure, method, query):
    y, scores = query
    scores[3] = scores[5]  # a tie
    terms = terms_of(measure, y)
    gains = soft_permutation(scores, method, 0.4) @ terms.gain
    higher = np.tril(np.ones((len(y), len(y))), -1).T
    value = form_of_ranks(terms.kind, gains, terms.discount, higher)
    found = loss_value(measure, method, y, scores, width=0.4)
    np.testing.assert_allclose(found, loss_of(measure, terms.scale[0] * value))


def recursion(scores, gain, discount):
    """Eq. 4.4–4.5 for one query, without a thought about memory."""
    above, total = above_by_noise(scores), 0.0
    for i in np.flatnonzero(gain):
        chances = np.array([1.0])
        for p in np.delete(above[:, i], i):
            chances = np.append(chances, 0.0) * (1 - p) + np.append(0.0, chances) * p
        total += gain[i] * (chances @ discount)
    return total


def test_long_lists_do_without_the_states_of_all_rivals():
    rng = np.random.default_rng(3)
    y, scores = rng.integers(0, 2, 400).astype(float), rng.normal(size=400)
    y[40:] = 0.0
    expected = recursion(scores, y, discount_of_ranks("log2", 400))
    loss = smooth(DCG(gain="linear"), "softrank").prepare(y, [0, 400])
    values, gradient = loss.value_gradient(scores)
    np.testing.assert_allclose(values, -expected)
    for i in (0, 17, 399):
        step = 1e-4 * (np.arange(400) == i)
        rise = [loss.value_gradient(scores + k * step)[0][0] for k in (-1, 1)]
        np.testing.assert_allclose(gradient[i], np.diff(rise)[0] / 2e-4, rtol=1e-5)


EXTREMES = {
    "tiny": lambda s: 1e-30 * s,
    "huge": lambda s: 1e30 * s,
    "equal": np.zeros_like,
    "equal and far": lambda s: np.full_like(s, 1e30),
    "two levels": lambda s: np.where(s > 0, 1e30, -1e30),
    "one outlier": lambda s: np.where(s == s.max(), 1e150, s),
}


@each_method
def test_documents_of_equal_scores_are_told_apart_by_their_grades_alone(method):
    loss = SmoothMeasureLoss(method=method)
    y, scores = np.array([2.0, 0, 1, 3, 0]), np.array([1.0, 1, 1, 0, -1])
    order = [1, 2, 0, 3, 4]
    value, slope = loss.value_gradient(y, scores, [0, 5])
    again, other = loss.value_gradient(y[order], scores[order], [0, 5])
    np.testing.assert_allclose(again, value)
    np.testing.assert_allclose(other, slope[order], atol=1e-12)


@each_method
@pytest.mark.parametrize("scores", [[0.3, 0.3, 0.3, -0.1], [1.0, 0.0, 0.0, 1.0]])
def test_gradients_at_equal_scores_sum_to_zero(method, scores):
    loss = SmoothMeasureLoss("ndcg", method=method)
    if not loss.shift_invariant:
        return
    slope = loss.value_gradient([2, 0, 1, 0], scores, [0, 4])[1]
    assert np.abs(slope).max() > 0.01
    assert abs(slope.sum()) < 1e-12


@pytest.mark.filterwarnings("ignore:no swap of two documents")
@each_method
@pytest.mark.parametrize("extreme", EXTREMES)
def test_extreme_scores(method, extreme, query):
    y, scores = query
    scores = EXTREMES[extreme](scores)
    for measure in MEASURES:
        loss = smooth(measure, method)
        values, gradient = loss.value_gradient(y, scores, [0, len(y)])
        assert np.isfinite(values).all()
        assert np.isfinite(gradient).all()
        steps = method != "sigmoid" or str(measure) in ("ndcg", "dcg", "rbp")
        if extreme == "huge" and method != "probit-binomial" and steps:
            exact = loss_of(measure, value_of(measure, y, scores))
            np.testing.assert_allclose(values, exact, atol=1e-12)
            np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


@each_method
@each_measure
def test_queries_without_information(method, measure):
    y = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 2.0, 0.0])
    prepared = smooth(measure, method).prepare(y, [0, 2, 4, 4, 5, 11])
    values, gradient = prepared.value_gradient(np.linspace(-1.0, 1.0, 11))
    assert prepared.total_weight == 1.0
    assert not values[:4].any()
    assert not gradient[:5].any()
    assert gradient[5:].any()


def test_queries_of_which_the_measure_knows_nothing():
    measure = get_measure("map(rel=3)")
    prepared = smooth(measure).prepare([1.0, 2.0, 0.0, 3.0], [0, 2, 4])
    assert prepared.query_weight.tolist() == [0.0, 1.0]
    short = NDCG(k=3, short_query="zero")
    assert smooth(short).prepare([1.0, 0.0], [0, 2]).total_weight == 0.0


@each_method
def test_order_of_queries_does_not_change_a_bit(method):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 60, 30)
    ptr = np.append(0, np.cumsum(sizes))
    y = rng.integers(0, 4, ptr[-1]).astype(float)
    scores = rng.normal(size=ptr[-1])
    values, gradient = smooth("map", method).value_gradient(y, scores, ptr, n_threads=2)
    moved = rng.permutation(30)
    rows = np.concatenate([np.arange(ptr[q], ptr[q + 1]) for q in moved])
    found = smooth("map", method).value_gradient(
        y[rows], scores[rows], np.append(0, np.cumsum(sizes[moved]))
    )
    np.testing.assert_array_equal(found[0], values[moved])
    np.testing.assert_array_equal(found[1], gradient[rows])


def test_smoothed_changes_the_temperature_alone():
    loss = smooth("map", "softsort", width=2.0)
    assert loss.smoothed(0.5).get_params() == {**loss.get_params(), "width": 0.5}


@pytest.mark.parametrize("name", ["bpref", "tau", "mse", "meanndcg"])
def test_measures_that_cannot_be_smoothed_are_refused_by_name(name):
    message = f"SmoothMeasureLoss: measure must be .*one of dcg, err, f, map.*{name}"
    for make in (smooth, lambda m: SmoothMeasureLoss(m).prepare([1, 0], [0, 2])):
        with pytest.raises(InvalidParameterError, match=message):
            make(name)


def test_the_list_of_measures_is_that_of_those_that_work():
    with pytest.raises(InvalidParameterError) as refused:
        smooth("mse")
    names = re.search(r"one of ([\w, ]+), got", str(refused.value))[1].split(", ")
    assert set(names) == {
        name for name in known_measures() if get_measure(name).rank_form is not None
    }
    for name in names:
        smooth(name)


def test_a_measure_that_no_ranking_changes_is_warned_about():
    with pytest.warns(UserWarning, match="no swap .* give the measure a cut-off"):
        smooth("p").prepare([1, 0], [0, 2])
    smooth("p@1").prepare([1, 0], [0, 2])


def test_tables_of_discounts_are_met_at_integer_ranks(query):
    y, _ = query
    table = [1.0, 0.9, 0.2, 0.1]
    measure = DCG(discount=table)
    scores = np.argsort(y) * 100.0
    found = smooth(measure, width=0.1).value_gradient(y, scores, [0, 9])[0][0]
    np.testing.assert_allclose(found, -value_of(measure, y, scores))
    assert discount_of_ranks(table, 9)[4:].tolist() == [0.0] * 5


@pytest.mark.parametrize("k", [None, 4])
def test_tables_of_discounts_are_the_same_beside_longer_queries(k, query):
    y, scores = query
    loss = smooth(DCG(k=k, discount=lambda r: 1 / np.sqrt(r)), width=0.1)
    m = len(y)
    values, gradient = loss.value_gradient(y, scores, [0, m])
    beside = loss.value_gradient(
        np.append(y, np.ones(2 * m)),
        np.append(scores, np.arange(2.0 * m)),
        [0, m, 3 * m],
    )
    np.testing.assert_allclose(beside[0][0], values[0], rtol=1e-12)
    np.testing.assert_allclose(beside[1][:m], gradient, rtol=1e-9, atol=1e-15)


def test_squares_of_wide_links_do_not_overflow():
    """Where no trial is left, all documents share the mean rank."""
    loss = SmoothMeasureLoss("ndcg", method="probit-binomial", width=1e200)
    prepared = loss.prepare([2.0, 1.0, 0.0], [0, 3])
    values, gradient = prepared.value_gradient(np.array([0.3, 0.1, -1.0]))
    narrower = loss.set_params(width=1e100).prepare([2.0, 1.0, 0.0], [0, 3])
    expected, _ = narrower.value_gradient(np.array([0.3, 0.1, -1.0]))
    np.testing.assert_allclose(values, expected)
    np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("far", [1e17, -1e17])
@each_method
def test_a_score_far_from_the_others_leaves_them_their_digits(method, far):
    loss = SmoothMeasureLoss(method=method, width=0.1)
    y, rest = [2.0, 1, 0, 1, 0], [0.1, -0.3, 0.4, 0.2]
    found, slope = loss.value_gradient(y, [far, *rest], [0, 5])
    value, expected = loss.value_gradient(y, [np.sign(far) * 1e4, *rest], [0, 5])
    np.testing.assert_allclose(found, value, rtol=1e-9)
    np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-12)
