"""Structured hinge losses against all rankings, and what they bound."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment

from skrank.losses import StructuredHingeLoss
from skrank.metrics import AP, DCG, NDCG, get_measure

PAIRWISE = ["map", "map@1", "map@2", "map@4", "map(rel=2)", "mrr", "mrr@2", "success@2"]
SUMS = ["ndcg", "ndcg@3", "dcg@2", "p@2", "recall@3", "f@2", "rbp"]
SHARP = {"weights": [1.0, 1.0, 0.3, 0.1]}
CASES = [
    *[(name, {}) for name in PAIRWISE],
    *[(name, {"weights": w}) for name in SUMS for w in ("pairs", "discount", "root")],
    *[(name, SHARP) for name in ("ndcg", "p@2")],
]
each_case = pytest.mark.parametrize(("name", "options"), CASES)


def measure_of(name):
    if name == "map(rel=2)":
        return AP(relevance_level=2)
    return get_measure(name)


def pairs_of(measure, y, ranks):
    """Slopes of the scores of whole rankings: means over pairs, above minus below."""
    gain = measure.delta_terms(y, np.array([0, len(y)])).gain
    differ = gain[:, None] != gain
    above = np.sign(ranks[:, None, :] - ranks[:, :, None]) * differ
    return above.sum(axis=2) / (differ.sum() / 2)


def positions_of(measure, y, ranks, weights):
    """Slopes of the scores of whole rankings: the weights of positions."""
    m = len(y)
    by_rank = (1.0 + np.arange(1, m + 1)) ** -0.25
    if weights == "discount":
        by_rank = measure.delta_terms(y, np.array([0, m])).discount
    elif weights != "root":
        by_rank = np.append(weights, np.zeros(m))[:m]
    return by_rank[ranks]


def all_rankings(name, y, options):
    """Shortfall of every ranking, and its slopes less those of perfect rankings."""
    measure, m = measure_of(name), len(y)
    pairs = name in PAIRWISE or options == {"weights": "pairs"}
    slopes_of = pairs_of if pairs else partial(positions_of, **options)
    ranks = np.array(list(permutations(range(m))))
    ptr = m * np.arange(len(ranks) + 1)
    values = measure.per_query(
        np.tile(y, len(ranks)), -ranks.astype(float).ravel(), ptr
    )
    slopes = slopes_of(measure, y, ranks)
    # Perfect rankings sort by what the measure tells apart.
    gain = measure.delta_terms(y, np.array([0, m])).gain
    sorts = np.array([np.all(np.diff(gain[np.argsort(r)]) <= 0) for r in ranks])
    return values.max() - values, slopes - slopes[sorts].mean(axis=0)


def short_query(name, rng, size=None):
    """Grades that carry information, and scores with or without ties."""
    while True:
        y = rng.integers(0, 3, size or rng.integers(2, 7)).astype(float)
        gain = measure_of(name).delta_terms(y, np.array([0, len(y)])).gain
        if gain.min() < gain.max():
            break
    scores = rng.normal(size=len(y)) * rng.choice([0.1, 1.0, 10.0])
    return y, np.round(scores) if rng.random() < 0.3 else scores


@each_case
def test_no_ranking_violates_more(name, options):
    rng = np.random.default_rng(0)
    loss = StructuredHingeLoss(measure_of(name), **options)
    for size in [None] * 8 + [7]:
        y, scores = short_query(name, rng, size)
        lost, slopes = all_rankings(name, y, options)
        values, gradient = loss.value_gradient(y, scores, [0, len(y)])
        expected = (lost + slopes @ scores).max()
        assert_allclose(values[0], expected, rtol=1e-12, atol=1e-12)
        # The subgradient is one of the loss, which is the greatest of linear functions.
        for other in scores + rng.normal(size=(5, len(y))):
            there = (lost + slopes @ other).max()
            assert there >= expected + gradient @ (other - scores) - 1e-9


@each_case
def test_value_bounds_what_the_measure_falls_short_of(name, options):
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 60, 40)
    ptr = np.append(0, np.cumsum(sizes))
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    measure = measure_of(name)
    for spread in (0.0, 1e-3, 1.0, 100.0):
        scores = spread * rng.normal(size=ptr[-1])
        values, _ = StructuredHingeLoss(measure, **options).value_gradient(
            y, scores, ptr
        )
        best, found = (measure.per_query(y, s, ptr) for s in (y, scores))
        informative = values > 0
        assert informative.mean() > 0.8
        assert np.all(values - (best - found) >= -1e-9, where=~np.isnan(found))


@each_case
def test_value_is_convex_in_the_scores(name, options):
    rng = np.random.default_rng(2)
    sizes = np.full(20, 12)
    ptr = np.append(0, np.cumsum(sizes))
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    prepared = StructuredHingeLoss(measure_of(name), **options).prepare(y, ptr)
    for scale in (0.1, 1.0, 10.0):
        a, b = scale * rng.normal(size=(2, ptr[-1]))
        t = rng.random()
        (at_a, _), (at_b, _), (between, _) = (
            prepared.value_gradient(s) for s in (a, b, t * a + (1 - t) * b)
        )
        assert np.all(between <= t * at_a + (1 - t) * at_b + 1e-9)


def test_a_perfect_ranking_with_a_large_margin_has_no_loss():
    y = np.array([2.0, 0.0, 0.0, 0.0])
    for name, options in CASES:
        if options is SHARP:
            continue  # the first two positions weigh the same
        loss = StructuredHingeLoss(measure_of(name), **options)
        values, gradient = loss.value_gradient(y, 100.0 * y, [0, 4])
        assert_allclose(values[0], 0.0, atol=1e-12)
        assert_allclose(gradient, 0.0, atol=1e-14)


@pytest.mark.parametrize("weights", [[0.5, 1.0], [0.0], [1.0, -1.0]])
def test_weights_must_not_rise(weights):
    with pytest.raises(ValueError, match=r"weights.*do not rise, the first one"):
        StructuredHingeLoss("ndcg", weights=weights).prepare([1, 0], [0, 2])


def test_functions_must_weigh_every_rank():
    loss = StructuredHingeLoss("ndcg", weights=lambda ranks: 1.0)
    with pytest.raises(ValueError, match=r"one number per rank.*got shape \(\)"):
        loss.prepare([1, 0], [0, 2])


def test_weights_behind_the_longest_query_do_not_matter():
    y, scores, ptr = [1.0, 0.0, 2.0, 0.0, 1.0], np.arange(5.0), [0, 2, 5]
    exact, longer = (
        StructuredHingeLoss("ndcg", weights=weights).value_gradient(y, scores, ptr)
        for weights in ([1.0, 0.5, 0.25], [1.0, 0.5, 0.25, 0.2, 0.1])
    )
    assert_array_equal(longer[0], exact[0])
    assert_array_equal(longer[1], exact[1])


def test_discounts_must_not_rise():
    measure = DCG(discount=[0.5, 1.0])
    with pytest.raises(ValueError, match="discount does not rise with the rank"):
        StructuredHingeLoss(measure).prepare([1, 0], [0, 2])


def test_sorting_and_the_assignment_agree():
    rng = np.random.default_rng(6)
    ptr = np.append(0, np.cumsum(rng.integers(1, 90, 30)))
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    for spread in (0.0, 0.1, 10.0):
        scores = np.round(spread * rng.normal(size=ptr[-1]), 1)
        discount = NDCG().delta_terms(y, ptr).discount
        found, expected = (
            StructuredHingeLoss("ndcg", weights=weights).value_gradient(y, scores, ptr)
            for weights in (discount, "discount")
        )
        assert_allclose(found[0], expected[0], rtol=1e-12)
        assert_allclose(found[1], expected[1], atol=1e-12)


def test_assignments_against_scipy():
    rng = np.random.default_rng(7)
    for size in (2, 30, 120):
        y = rng.integers(0, 3, size).astype(float)
        y[:2] = 2.0, 0.0
        scores = rng.normal(size=size) * rng.choice([0.01, 0.1, 1.0])
        terms = NDCG().delta_terms(y, np.array([0, size]))
        weights = (1.0 + np.arange(1, size + 1)) ** -0.25
        shares = terms.scale[0] * np.outer(terms.gain, terms.discount)
        rows, places = linear_sum_assignment(np.outer(scores, weights) - shares, True)
        loss = StructuredHingeLoss("ndcg", weights="root")
        values, _ = loss.value_gradient(y, scores, [0, size])
        order = np.argsort(-terms.gain, kind="stable")
        perfect = np.empty(size)
        for gain in np.unique(terms.gain):
            same = terms.gain == gain
            perfect[same] = weights[same[order]].mean()
        best = (np.outer(scores, weights) - shares)[rows, places].sum()
        assert_allclose(values[0], best + 1.0 - perfect @ scores, atol=1e-10)


def test_average_precision_on_one_wrong_pair():
    # Where the relevant document is second, AP is 1/2, and the pair's slope turns.
    for gap in (-1.0, 0.0, 0.2, 0.3):
        values, gradient = StructuredHingeLoss("map").value_gradient(
            [1, 0], [gap, 0.0], [0, 2]
        )
        assert_allclose(values[0], max(0.0, 0.5 - 2.0 * gap), atol=1e-15)
        expected = [-2.0, 2.0] if gap < 0.25 else [0.0, 0.0]
        assert_array_equal(gradient, expected)


@each_case
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_scores(name, options, scale):
    rng = np.random.default_rng(3)
    y, scores = short_query(name, rng, 7)
    lost, slopes = all_rankings(name, y, options)
    values, gradient = StructuredHingeLoss(measure_of(name), **options).value_gradient(
        y, scale * scores, [0, 7]
    )
    assert_allclose(values[0], (lost + slopes @ (scale * scores)).max(), rtol=1e-9)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *[(name, {}) for name in ("map", "map@3", "mrr", "ndcg")],
        ("ndcg", {"weights": "discount"}),
        ("ndcg@3", {"weights": "root"}),
    ],
)
def test_a_document_far_ahead_costs_the_others_no_digits(name, options):
    """It keeps its place, so that its score cancels."""
    prepared = StructuredHingeLoss(name, **options).prepare([2, 1, 0, 0], [0, 4])
    expected, slope = prepared.value_gradient([10.0, 0.1, 0.0, 0.2])
    for ahead in (1e12, 1e17, 1e20, 1e300):
        values, gradient = prepared.value_gradient([ahead, 0.1, 0.0, 0.2])
        assert_allclose(values, expected, rtol=1e-9)
        assert_allclose(gradient, slope, rtol=1e-9, atol=1e-15)


@each_case
def test_queries_without_information_count_nothing(name, options):
    ptr = [0, 1, 4, 7, 10]
    y = np.array([2.0, 0, 0, 0, 2, 2, 2, 2, 0, 0])
    prepared = StructuredHingeLoss(measure_of(name), **options).prepare(y, ptr)
    values, gradient = prepared.value_gradient(np.zeros(10))
    assert prepared.total_weight == 1.0
    assert_array_equal(values[:3], 0.0)
    assert_array_equal(gradient[:7], 0.0)
    assert (values[3] > 0) == (name != "recall@3")


@pytest.mark.parametrize("weights", ["pairs", "discount", "root"])
def test_queries_of_which_the_measure_knows_nothing(weights):
    loss = StructuredHingeLoss(NDCG(k=3, short_query="zero"), weights=weights)
    prepared = loss.prepare([1.0, 0.0, 1.0, 0.0, 0.0], [0, 2, 5])
    values, gradient = prepared.value_gradient(np.zeros(5))
    assert prepared.total_weight == 1.0
    assert values[0] == 0.0 < values[1]
    assert_array_equal(gradient[:2], 0.0)
    nothing = loss.prepare([], [0]).value_gradient([])
    assert [part.shape for part in nothing] == [(0,), (0,)]


@each_case
def test_threads_and_order_of_queries_change_no_bit(name, options):
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 80, 60)
    ptr = np.append(0, np.cumsum(sizes))
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    scores = np.round(rng.normal(size=ptr[-1]), 1)  # with ties
    loss = StructuredHingeLoss(measure_of(name), **options)
    values, gradient = loss.prepare(y, ptr).value_gradient(scores)
    prepared = loss.prepare(y, ptr)
    for prepared.n_threads in (2, 5):
        for a, b in zip(prepared.value_gradient(scores), (values, gradient)):
            assert_array_equal(a, b)
    order = rng.permutation(60)
    rows = np.concatenate([np.arange(ptr[q], ptr[q + 1]) for q in order])
    moved = np.append(0, np.cumsum(sizes[order]))
    other = loss.value_gradient(y[rows], scores[rows], moved)
    assert_array_equal(other[0], values[order])
    assert_array_equal(other[1], gradient[rows])


def test_a_long_cut_off_is_none():
    rng = np.random.default_rng(5)
    ptr = np.arange(0, 421, 20)
    y, scores = rng.integers(0, 2, 420).astype(float), rng.normal(size=420)
    plain = StructuredHingeLoss("map").value_gradient(y, scores, ptr)
    cut = StructuredHingeLoss("map@19").value_gradient(y, scores, ptr)
    assert_allclose(plain[0], cut[0], atol=0.06)  # what the last rank can matter
    assert_array_equal(
        StructuredHingeLoss("map@20").value_gradient(y, scores, ptr)[1], plain[1]
    )


def test_pairs_of_two_gains_and_average_precision_agree_on_their_score():
    # With one relevant document, AP, RR and the sum of reciprocal ranks are the same.
    rng = np.random.default_rng(8)
    y, scores = np.eye(9)[3], rng.normal(size=9)
    alike = [
        StructuredHingeLoss(measure).value_gradient(y, scores, [0, 9])
        for measure in ("map", "mrr", DCG(gain="linear", discount="reciprocal"))
    ]
    for values, gradient in alike[1:]:
        assert_allclose(values, alike[0][0])
        assert_allclose(gradient, alike[0][1])


def two_gains(name, rng, size):
    """Two grades, not always 0 and 1, and scores."""
    # Of 1 and 2, a measure of binary relevance makes one gain.
    low, high = rng.choice([[0, 1], [0, 4], [0, 2] if name == "rbp" else [1, 2]])
    y = np.where(rng.random(size) < rng.choice([0.1, 0.5, 0.9]), high, low).astype(
        float
    )
    y[:2] = high, low
    y = rng.permutation(y)
    scores = rng.normal(size=size) * rng.choice([0.01, 0.1, 1.0])
    return y, np.round(scores, 1) if rng.random() < 0.3 else scores


@pytest.mark.parametrize("name", ["ndcg", "dcg", "rbp", "ndcg@10"])
def test_two_gains_against_all_rankings(name):
    rng = np.random.default_rng(9)
    loss = StructuredHingeLoss(measure_of(name))
    for size in [2, 3, 4, 5, 6, 6, 6, 7, 7]:
        y, scores = two_gains(name, rng, size)
        lost, slopes = all_rankings(name, y, {"weights": "pairs"})
        prepared = loss.prepare(y, [0, size])
        assert prepared.weight_of_two.any()
        values, gradient = prepared.value_gradient(scores)
        expected = (lost + slopes @ scores).max()
        assert_allclose(values[0], expected, rtol=1e-12, atol=1e-12)
        for other in scores + rng.normal(size=(5, size)):
            there = (lost + slopes @ other).max()
            assert there >= expected + gradient @ (other - scores) - 1e-9


@pytest.mark.parametrize("name", ["ndcg", "rbp"])
def test_two_gains_against_all_ways_to_interleave(name):
    rng = np.random.default_rng(10)
    sizes = rng.integers(2, 150, 40)
    parts = [two_gains(name, rng, size) for size in sizes]
    ptr = np.append(0, np.cumsum(sizes))
    y, scores = (np.concatenate(part) for part in zip(*parts))
    fast, slow = (StructuredHingeLoss(name).prepare(y, ptr) for _ in range(2))
    slow.weight_of_more, slow.weight_of_two = slow.query_weight, 0 * slow.query_weight
    (values, gradient), expected = (p.value_gradient(scores) for p in (fast, slow))
    assert_allclose(values, expected[0], rtol=1e-11, atol=1e-12)
    assert_allclose(gradient, expected[1], atol=1e-12)


def test_one_relevant_document_against_all_its_places():
    rng = np.random.default_rng(11)
    for size in (2, 30, 200):
        y = np.eye(size)[rng.integers(size)]
        scores = rng.normal(size=size) * rng.choice([0.01, 0.1, 1.0])
        discount = 1.0 / np.log2(2.0 + np.arange(size))
        own, pull = scores[y == 1][0], 2.0 / (size - 1)
        # Another document adds its pair if it stands above the one that counts.
        above = np.append(0.0, np.cumsum(np.sort(scores[y == 0])[::-1] - own))
        expected = (1.0 - discount + pull * above).max()
        values, _ = StructuredHingeLoss("ndcg").value_gradient(y, scores, [0, size])
        assert_allclose(values[0], expected, atol=1e-12)


def test_a_cut_off_within_the_query_visits_all_ways():
    prepared = StructuredHingeLoss("ndcg@3").prepare([1.0, 0, 0, 0, 1, 0], [0, 4, 6])
    assert prepared.weight_of_two.astype(bool).tolist() == [False, True]


def test_long_queries_of_two_gains_are_taken():
    y = np.repeat([1.0, 0.0], 5000)
    values, _ = StructuredHingeLoss("ndcg").value_gradient(y, 9.0 * y, [0, 10_000])
    assert values[0] == 0.0
    with pytest.raises(ValueError, match=r"too many of, \[5000, 5000\]"):
        StructuredHingeLoss("ndcg@10").prepare(y, [0, 10_000])


def test_too_many_states_are_refused():
    y = np.repeat(np.arange(5.0), 30)
    loss = StructuredHingeLoss("ndcg")
    with pytest.raises(ValueError, match=r"query number 1 has too many.*'discount'"):
        loss.prepare(np.append([1.0, 0.0], y), [0, 2, 152])
    assert StructuredHingeLoss("ndcg", weights="discount").prepare(y, [0, 150])


@pytest.mark.parametrize("name", ["err", "mse", "kendall", "bpref"])
def test_measures_without_an_exact_search_are_refused_by_name(name):
    with pytest.raises(ValueError, match=f"measure .* can be found.*'{name}'"):
        StructuredHingeLoss(name).prepare([1, 0], [0, 2])
