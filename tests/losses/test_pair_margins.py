"""Losses of pair margins against plain sums over pairs, and their limit cases."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid

from skrank.losses import (
    BPRLoss,
    ExplicitPairsLoss,
    HingeLoss,
    LambdaLoss,
    LogLoss,
    LVQ2Loss,
    MagnitudePreservingLoss,
    MCELoss,
    OWPCLoss,
    PerceptronLoss,
    RankCosineLoss,
    SampledPairsLoss,
    SquaredHingeLoss,
)

SIZES = (4, 1, 9, 6, 40)
PTR = np.append(0, np.cumsum(SIZES))
N = PTR[-1]
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, N).astype(float)
Y[5:8] = 1.0
SCORES = RNG.normal(size=N)
WEIGHT = RNG.uniform(0.2, 2.0, N)


def queries():
    return [np.arange(a, b) for a, b in pairwise(PTR)]


def pairs():
    """Query and rows of every preference pair."""
    return [
        (q, u, v)
        for q, rows in enumerate(queries())
        for u in rows
        for v in rows
        if Y[u] > Y[v]
    ]


# Ordered weighted averages ------------------------------------------------------------


def naive_owpc(loss, scores, weight):
    """Eq. 3.28 and 3.29, document by document."""
    values, total = np.zeros(len(SIZES)), 0.0
    for q, rows in enumerate(queries()):
        owas, counts = [], []
        for u in rows:
            others = rows[Y[rows] < Y[u]]
            if not len(others):
                continue
            gaps = np.maximum(0.0, loss.margin - (scores[u] - scores[others]))
            if loss.hinge == "squared":
                gaps = gaps**2
            elif loss.width:
                inside = np.maximum(0.0, gaps - loss.width)
                gaps = (gaps**2 - inside**2) / (2 * loss.width)
            alpha = loss.place_weights(len(others))
            owa = np.sort(gaps)[::-1] @ alpha / alpha.sum()
            owas.append(weight[u] * owa)
            counts.append(weight[u] * len(others))
            if loss.normalization == "pair":
                owas[-1] *= len(others)
                total += counts[-1]
            elif loss.normalization == "document":
                total += weight[u]
            else:
                owas[-1] *= len(others)
        values[q] = sum(owas)
        if loss.normalization == "query" and owas:
            values[q] *= weight[rows].mean() / sum(counts)
            total += weight[rows].mean()
    return values, total


OWPC = [
    OWPCLoss(weights, hinge=hinge, width=width, normalization=normalization)
    for weights in ("uniform", "reciprocal", "max", [1.0, 0.7, 0.7, 0.1])
    for hinge, width, normalization in (
        ("linear", 0.0, "pair"),
        ("linear", 0.5, "query"),
        ("squared", 0.0, "document"),
    )
]


@pytest.mark.parametrize("loss", OWPC, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_owpc_is_the_sum_of_ordered_averages(loss, weighted):
    weight = WEIGHT if weighted else np.ones(N)
    prepared = loss.prepare(Y, PTR, WEIGHT if weighted else None)
    for scale in (0.1, 1.0, 10.0):
        values, total = naive_owpc(loss, scale * SCORES, weight)
        assert_allclose(prepared.value_gradient(scale * SCORES)[0], values, rtol=1e-12)
        assert_allclose(prepared.total_weight, total, rtol=1e-12)


@pytest.mark.parametrize("normalization", ["pair", "query"])
@pytest.mark.parametrize("hinge", ["linear", "squared"])
def test_uniform_owpc_is_the_hinge(hinge, normalization):
    plain = {"linear": HingeLoss, "squared": SquaredHingeLoss}[hinge]
    expected = plain(normalization=normalization).prepare(Y, PTR, WEIGHT)
    loss = OWPCLoss("uniform", hinge=hinge, normalization=normalization)
    found = loss.prepare(Y, PTR, WEIGHT)
    assert_allclose(found.total_weight, expected.total_weight)
    for a, b in zip(found.value_gradient(SCORES), expected.value_gradient(SCORES)):
        assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_the_largest_loss_alone_is_the_hinge_of_the_best_of_the_worse():
    loss = OWPCLoss("max", normalization="document").prepare(Y, PTR)
    expected = sum(
        max(0.0, 1.0 - (SCORES[u] - SCORES[rows][Y[rows] < Y[u]].max()))
        for rows in queries()
        for u in rows
        if (Y[rows] < Y[u]).any()
    )
    assert_allclose(loss.value_gradient(SCORES)[0].sum(), expected, rtol=1e-12)


def test_worse_documents_of_equal_score_share_their_weights():
    y, raw = [1, 0, 0, 0], [0.0, 0.5, 0.5, -3.0]
    for order in ([0, 1, 2, 3], [0, 2, 1, 3]):
        rows = np.array(order)
        _, gradient = OWPCLoss("max").value_gradient(
            np.array(y)[rows], np.array(raw)[rows], [0, 4]
        )
        # Three pairs; each of the two has half the weight of the first place.
        assert gradient.tolist() == [-3.0, 1.5, 1.5, 0.0]
    # Scores that differ, however little, are in order.
    raw[2] = np.nextafter(0.5, 0.0)
    _, gradient = OWPCLoss("max").value_gradient(y, raw, [0, 4])
    assert gradient.tolist() == [-3.0, 3.0, 0.0, 0.0]


def test_the_gradient_of_owpc_is_a_subgradient_at_ties():
    raw = np.round(SCORES)  # many ties
    prepared = OWPCLoss().prepare(Y, PTR)
    values, gradient = prepared.value_gradient(raw)
    rng = np.random.default_rng(1)
    for step in (0.01, 1.0):
        for _ in range(20):
            other = raw + step * rng.normal(size=N)
            bound = values.sum() + gradient @ (other - raw)
            assert prepared.value_gradient(other)[0].sum() >= bound - 1e-9


@pytest.mark.parametrize(
    "weights",
    [[0.5, 1.0], [1.0, -1.0], [0.0], [], [np.inf, 1.0], np.sqrt],
)
def test_weights_that_rise_or_are_negative_are_refused(weights):
    match = "OWPCLoss: weights must be finite weights >= 0 that do not rise"
    with pytest.raises(ValueError, match=match):
        OWPCLoss(weights).prepare(Y, PTR)


@pytest.mark.parametrize("weights", [memoryview(np.ones(3)), np.ones((0, 3))], ids=type)
def test_weights_are_a_sequence(weights):
    with pytest.raises(ValueError, match=r"^OWPCLoss: weights must be .* a sequence"):
        OWPCLoss(weights).prepare(Y, PTR)


# Magnitude-preserving losses ----------------------------------------------------------


def naive_magnitude(loss, scores, weight, of_grades=lambda a, b: 1.0):
    """Eq. 3.21 to 3.23, pair by pair, with the penalty (|.| - epsilon)^beta."""
    values = np.zeros(len(SIZES))
    for q, u, v in pairs():
        wanted, found = Y[u] - Y[v], scores[u] - scores[v]
        error = abs(found - wanted)
        if loss.kind == "hmp" and found >= 0:
            error = 0.0
        if loss.kind == "svr":
            error = max(0.0, error - loss.epsilon)
        values[q] += weight[u] * of_grades(Y[u], Y[v]) * error**loss.beta
    return values


MAGNITUDE = [
    MagnitudePreservingLoss(kind, beta=beta, epsilon=0.4)
    for kind in ("mp", "hmp", "svr")
    for beta in (1.0, 2.0, 1.5, 3.0)
]


@pytest.mark.parametrize("loss", MAGNITUDE, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_magnitude_losses_are_sums_over_pairs(loss, weighted):
    weight = WEIGHT if weighted else np.ones(N)
    prepared = loss.prepare(Y, PTR, WEIGHT if weighted else None)
    for scale in (0.0, 0.1, 1.0, 10.0):
        expected = naive_magnitude(loss, scale * SCORES, weight)
        assert_allclose(prepared.value_gradient(scale * SCORES)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["mp", "hmp", "svr"])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_blocks_of_pairs_and_sums_over_grades_agree(kind, beta):
    fast = MagnitudePreservingLoss(kind, beta=beta, normalization="query")
    slow = fast._with(grade_weights=lambda a, b: 1.0 + 0.0 * (a - b), beta=beta)
    fast, slow = fast.prepare(Y, PTR, WEIGHT), slow.prepare(Y, PTR, WEIGHT)
    table = {(a, b): 1.0 for a in range(4) for b in range(a)}
    blocks = MagnitudePreservingLoss(
        kind, beta=beta, normalization="query", grade_weights=table
    ).prepare(Y, PTR, WEIGHT)
    assert type(blocks) is not type(fast)
    for other in (slow, blocks):
        assert_allclose(other.total_weight, fast.total_weight)
        for a, b in zip(
            other.value_gradient(SCORES), fast.value_gradient(SCORES), strict=True
        ):
            assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_the_hinge_magnitude_loss_counts_no_ties():
    loss = MagnitudePreservingLoss("hmp")
    values, gradient = loss.value_gradient([1, 0, 2], [0.0, 0.0, 0.0], [0, 3])
    assert values.tolist() == [0.0]
    assert not gradient.any()


# Weights of pairs ---------------------------------------------------------------------


def difference(better, worse):
    return better - worse


@pytest.mark.parametrize("grade_weights", [None, difference, lambda a, b: a])
def test_weights_by_grades_remain_under_the_number_of_pairs(grade_weights):
    loss = LogLoss(normalization="n_pairs", grade_weights=grade_weights)
    prepared = loss.prepare(Y, PTR, WEIGHT)
    of_grades = grade_weights or (lambda a, b: 1.0)
    expected, total = np.zeros(len(SIZES)), 0.0
    for q, rows in enumerate(queries()):
        own = [(u, v) for p, u, v in pairs() if p == q]
        count = sum(WEIGHT[u] for u, _ in own)
        for u, v in own:
            weight = WEIGHT[u] / count * WEIGHT[rows].mean() * of_grades(Y[u], Y[v])
            expected[q] += weight * np.logaddexp(0.0, SCORES[v] - SCORES[u])
            total += weight
    assert_allclose(prepared.value_gradient(SCORES)[0], expected, rtol=1e-12)
    assert_allclose(prepared.total_weight, total, rtol=1e-12)


def test_explicit_pairs_keep_their_weights_under_the_number_of_pairs():
    given = np.array([(u, v) for _, u, v in pairs()])
    weight = Y[given[:, 0]] - Y[given[:, 1]]
    graded = LogLoss(normalization="n_pairs", grade_weights=difference)
    plain = ExplicitPairsLoss(LogLoss(normalization="n_pairs"), given, weight)
    for rows in (None, WEIGHT):
        expected = graded.prepare(Y, PTR, rows).value_gradient(SCORES)
        found = plain.prepare(Y, PTR, rows).value_gradient(SCORES)
        for a, b in zip(found, expected):
            assert_allclose(a, b, rtol=1e-12, atol=1e-14)


# Limits and bounds --------------------------------------------------------------------


def misordered(scores):
    return sum(scores[u] < scores[v] for _, u, v in pairs())


def test_sigmoid_and_ramp_approach_the_number_of_misordered_pairs():
    steep = MCELoss(beta=1e8).value_gradient(Y, SCORES, PTR)[0].sum()
    narrow = LVQ2Loss(cap=1e-9).value_gradient(Y, SCORES, PTR)[0].sum() / 1e-9
    assert_allclose([steep, narrow], misordered(SCORES), rtol=1e-6)


def test_the_ramp_without_a_cap_is_the_hinge():
    expected = HingeLoss().value_gradient(Y, SCORES, PTR)
    for a, b in zip(
        LVQ2Loss(cap=1e9, margin=1.0).value_gradient(Y, SCORES, PTR), expected
    ):
        assert_allclose(a, b, rtol=1e-12, atol=1e-6)


def test_the_sigmoid_falls_with_the_margin():
    values = [
        MCELoss().value_gradient([1, 0], [s, 0], [0, 2])[0][0] for s in (-1, 0, 1)
    ]
    assert values[0] > values[1] == 0.5 > values[2]


# Cross entropy is a bound in bits: at a margin of 0 it is log 2 in natural units.
BOUNDS = [
    (LogLoss(), np.log(2.0)),
    (HingeLoss(), 1.0),
    (SquaredHingeLoss(), 1.0),
    (MCELoss(), 0.5),
    (LVQ2Loss(cap=1.0, margin=1.0), 1.0),
    (OWPCLoss("uniform"), 1.0),
    (MagnitudePreservingLoss("mp"), 1.0),
    (MagnitudePreservingLoss("hmp", beta=1.0), 1.0),
    (MagnitudePreservingLoss("svr", epsilon=0.0), 1.0),
]


@pytest.mark.parametrize(("loss", "unit"), BOUNDS, ids=lambda x: type(x).__name__)
def test_losses_bound_the_pairwise_error(loss, unit):
    """For grades that differ by at least 1, as magnitudes count."""
    prepared = loss.prepare(Y, PTR)
    for seed in range(20):
        scores = np.random.default_rng(seed).normal(size=N) * (1 + seed % 5)
        assert prepared.value_gradient(scores)[0].sum() / unit >= misordered(scores)


def test_bpr_is_the_log_loss_of_drawn_pairs():
    found = BPRLoss(n_pairs=5, random_state=3, sigma=2.0).prepare(Y, PTR, WEIGHT)
    expected = SampledPairsLoss(LogLoss(2.0), 5, 3).prepare(Y, PTR, WEIGHT)
    for a, b in zip(found.value_gradient(SCORES), expected.value_gradient(SCORES)):
        assert_array_equal(a, b)
    many = BPRLoss(n_pairs=20_000, random_state=0).value_gradient(Y, SCORES, PTR)[0]
    assert_allclose(many, LogLoss().value_gradient(Y, SCORES, PTR)[0], rtol=0.02)


# RankCosine ---------------------------------------------------------------------------

TRANSFORMS = {
    "linear": lambda s: s,
    "exponential": lambda s: np.exp(1.3 * s),
    "logistic": lambda s: 1.0 / (1.0 + np.exp(-1.3 * s)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_rank_cosine_is_equation_2_20(transform):
    phi = TRANSFORMS[transform]
    loss = RankCosineLoss(transform, gamma=1.3)
    values, _ = loss.value_gradient(Y, SCORES, PTR)
    for q, rows in enumerate(queries()):
        a, b = phi(Y[rows]), phi(SCORES[rows])
        expected = 0.5 - a @ b / (2 * np.linalg.norm(a) * np.linalg.norm(b))
        informative = len(set(Y[rows])) > 1
        assert_allclose(values[q], expected * informative, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 1e3, 1e200])
def test_rank_cosine_lies_between_0_and_1(transform, scale):
    loss = RankCosineLoss(transform)
    for sign in (1.0, -1.0):
        values, gradient = loss.value_gradient(Y, sign * scale * SCORES, PTR)
        assert np.all((values >= 0.0) & (values <= 1.0))
        assert np.isfinite(gradient).all()


def test_linear_rank_cosine_does_not_see_the_scale_of_scores():
    loss = RankCosineLoss("linear")
    expected, _ = loss.value_gradient(Y, SCORES, PTR)
    for scale in (1e-100, 0.01, 7.0, 1e100):
        found, gradient = loss.value_gradient(Y, scale * SCORES, PTR)
        assert_allclose(found, expected, rtol=1e-12)
        assert_allclose(gradient @ SCORES, 0.0, atol=1e-12 / scale)


def test_tiny_scores_have_a_direction():
    scores = np.array([0.5, -0.3, 1.7])
    (value,), gradient = RankCosineLoss("linear").value_gradient(
        [0, 0, 1], scores, [0, 3]
    )
    for size in (1e-290, 1e-300, 1e-307):
        tiny = RankCosineLoss("linear").value_gradient([0, 0, 1], size * scores, [0, 3])
        assert tiny[0][0] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(size * tiny[1], gradient, rtol=1e-12)


def test_linear_rank_cosine_descends_from_zero():
    loss = RankCosineLoss("linear")
    values, gradient = loss.value_gradient(Y, np.zeros(N), PTR)
    assert set(values.tolist()) == {0.0, 0.5}
    lower, _ = loss.value_gradient(Y, -1e-3 * gradient, PTR)
    assert_allclose(lower, 0.0, atol=1e-12)  # proportional to the grades


# Lambda losses ------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["ndcg@3", "ndcg", "dcg", "p@5"])
def test_held_deltas_do_not_move_with_the_scores(measure):
    prepared = LambdaLoss(measure, sigma=1.5).prepare(Y, PTR, WEIGHT)
    expected = prepared.value_gradient(SCORES)
    held = prepared.held_at(SCORES)
    for a, b in zip(held.value_gradient(SCORES), expected):
        assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    # One function of all scores: its gradient is exact across changes of the ranking.
    rng = np.random.default_rng(2)
    start, end = rng.normal(size=(2, N))
    middle = np.linspace(0.0, 1.0, 201)[:, None]
    way = end - start
    slopes = [held.value_gradient(start + t * way)[1] @ way for t in middle]
    rise = np.sum(held.value_gradient(end)[0] - held.value_gradient(start)[0])
    assert_allclose(trapezoid(slopes, middle[:, 0]), rise, rtol=1e-3)
    assert prepared.ranking is None


@pytest.mark.parametrize(
    "loss", [LambdaLoss("map"), LambdaLoss("err@5"), LambdaLoss("ndcg", truncation=3)]
)
def test_deltas_of_other_forms_cannot_be_held(loss):
    assert not hasattr(loss.prepare(Y, PTR), "held_at")


def smooth_ramp(gap, cap, width):
    """A ramp and its slope by its four parts, without differences of large numbers."""
    if width and 0 < gap < width:
        return gap**2 / (2 * width), gap / width
    if gap <= 0:
        return 0.0, 0.0
    if gap < cap:
        return gap - width / 2, 1.0
    if gap >= cap + width:
        return cap, 0.0
    return cap - (cap + width - gap) ** 2 / (2 * width), (cap + width - gap) / width


@pytest.mark.parametrize("size", [3e7, 1e12, 1e17])
@pytest.mark.parametrize(
    "loss",
    [
        HingeLoss(width=0.5),
        PerceptronLoss(width=0.25),
        LVQ2Loss(2.0, margin=1.0),
        LVQ2Loss(2.0, margin=1.0, width=0.5),
    ],
    ids=str,
)
def test_scores_far_beyond_the_width(loss, size):
    """A query beside another one, of which the sums would lose all digits."""
    _, cap, width = loss._shape()
    scores = SCORES.copy()
    scores[-40:-30] *= size  # and thirty documents close together
    prepared = loss.prepare(Y, PTR, WEIGHT)
    values, gradient = prepared.value_gradient(scores)
    expected, slopes = np.zeros(len(SIZES)), np.zeros(N)
    for q, u, v in pairs():
        gap = loss._shape()[0] - (scores[u] - scores[v])
        value, slope = smooth_ramp(gap, cap, width)
        expected[q] += WEIGHT[u] * value
        slopes[u] -= WEIGHT[u] * slope
        slopes[v] += WEIGHT[u] * slope
    assert_allclose(values, expected, rtol=1e-12)
    assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9)
    # The query by itself, and the others beside any query, have the same bits.
    alone = loss.prepare(Y[-40:], [0, 40], WEIGHT[-40:]).value_gradient(scores[-40:])
    assert_array_equal(alone[0], values[-1:])
    assert_array_equal(alone[1], gradient[-40:])
    assert_array_equal(values[:-1], prepared.value_gradient(SCORES)[0][:-1])


@pytest.mark.parametrize("size", [3e7, 1e12, 1e17])
@pytest.mark.parametrize("normalization", ["pair", "query", "document"])
@pytest.mark.parametrize("form", [{"width": 0.5}, {"hinge": "squared"}, {}], ids=str)
def test_owpc_of_scores_far_beyond_the_width(form, normalization, size):
    loss = OWPCLoss(normalization=normalization, **form)
    scores = SCORES.copy()
    scores[-40:-30] *= size
    scores[-8:-4] = scores[-4]  # some are equal
    values, gradient = loss.prepare(Y, PTR, WEIGHT).value_gradient(scores)
    # Given pairs are looked at one by one; without a width the sums do not cancel.
    given = np.array([(u, v) for _, u, v in pairs()])
    one_by_one = ExplicitPairsLoss(loss, given).prepare(Y, PTR, WEIGHT)
    expected, slopes = one_by_one.value_gradient(scores)
    assert_allclose(values, expected, rtol=1e-12)
    assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9)


def test_nothing_jumps_where_scores_differ_much():
    for loss in (HingeLoss(width=0.5), LVQ2Loss(), OWPCLoss(width=0.5)):
        for limit in (1.0, 0.5):
            scores = SCORES.copy()
            scores[-1] = scores[-40:-1].min() + limit * 0.999999e7
            below, slope = loss.prepare(Y, PTR).value_gradient(scores)
            scores[-1] = scores[-40:-1].min() + limit * 1.000001e7
            above, other = loss.prepare(Y, PTR).value_gradient(scores)
            assert_allclose(above, below, rtol=1e-5)
            assert_allclose(other, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weights", ["uniform", "reciprocal", "max"])
def test_squares_of_a_small_loss_beside_large_scores(weights):
    # The preferred document and another one are equal, and two are far below.
    loss, scores = OWPCLoss(weights, hinge="squared"), [1e8, 1e8, -1e8, 0.3]
    value, gradient = loss.value_gradient([1, 0, 0, 0], scores, [0, 4])
    first = 3 * loss.place_weights(3)[0] / loss.place_weights(3).sum()
    assert_allclose(value, [first], rtol=1e-12)
    assert_allclose(gradient, [-2 * first, 2 * first, 0, 0], rtol=1e-12)


@pytest.mark.parametrize(
    "loss",
    [
        PerceptronLoss(),
        HingeLoss(),
        HingeLoss(width=0.3),
        SquaredHingeLoss(),
        LVQ2Loss(0.7, margin=0.2),
        LVQ2Loss(0.7, margin=0.2, width=0.3),
        LVQ2Loss(0.3, margin=0.2, width=0.7),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [1e6, 1e12])
def test_an_outlier_of_a_long_query_takes_no_digits_of_the_others(loss, size):
    rng = np.random.default_rng(0)
    y = np.append(2.0, rng.integers(0, 3, 899).astype(float))
    scores = rng.normal(size=900)
    weight = rng.uniform(0.5, 2.0, 900)
    others, expected = loss.value_gradient(y[1:], scores[1:], [0, 899], weight[1:])
    # The outlier is in order with all others, so that it costs nothing.
    scores[0] = size
    value, gradient = loss.value_gradient(y, scores, [0, 900], weight)
    assert_allclose(value, others, rtol=1e-12)
    assert_allclose(gradient[1:], expected, rtol=1e-12, atol=1e-11)
    assert gradient[0] == 0.0
    # In no order with any of them, it adds to what it pairs with; the best are left.
    scores[0] = -size
    _, gradient = loss.value_gradient(y, scores, [0, 900], weight)
    best = y[1:] == 2.0
    assert_allclose(gradient[1:][best], expected[best], rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("n", [40, 900])
@pytest.mark.parametrize(
    "form", [HingeLoss, PerceptronLoss, LVQ2Loss, OWPCLoss], ids=lambda f: f.__name__
)
def test_a_width_without_an_inverse_is_none(form, n):
    rng = np.random.default_rng(0)
    y, raw = rng.integers(0, 3, n), rng.normal(size=n)
    expected = form().value_gradient(y, raw, [0, n])
    found = form(width=1e-310).value_gradient(y, raw, [0, n])
    assert_array_equal(found[0], expected[0])
    assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("n", [40, 900])  # pairs one by one, and sums over windows
@pytest.mark.parametrize(
    "loss", [PerceptronLoss(), HingeLoss(), LVQ2Loss(2.0, margin=1.0)], ids=str
)
def test_slopes_at_kinks_are_those_of_smaller_gaps(loss, n):
    rng = np.random.default_rng(0)
    y, raw = rng.integers(0, 3, n), rng.integers(-3, 4, n).astype(float)
    margin, cap, _ = loss._shape()
    gaps = np.where(y[:, None] > y, margin - (raw[:, None] - raw), 0.0)
    assert (gaps == cap).any() or cap == np.inf
    slopes = (gaps > 0) & (gaps <= cap)
    value, gradient = loss.value_gradient(y, raw, [0, n])
    assert_array_equal(value, [np.clip(gaps, 0.0, cap).sum()])
    assert_array_equal(gradient, slopes.sum(axis=0) - slopes.sum(axis=1).astype(float))


@pytest.mark.parametrize(("cap", "width"), [(1.0, 1e-17), (100.0, 1e-8), (3.0, 0.5)])
def test_beyond_the_cap_there_is_no_slope(cap, width):
    loss = LVQ2Loss(cap, margin=1.0, width=width)
    value, gradient = loss.value_gradient([1, 0], [0.0, 3 * cap], [0, 2])
    assert_allclose(value, [cap], rtol=1e-12)
    assert_array_equal(gradient, 0.0)


def long_query(n):
    """Grades, scores, weights; and margins and weights of all pairs, in matrices."""
    rng = np.random.default_rng(n)
    y, raw = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
    weight = rng.uniform(0.2, 2.0, n)
    margins = raw[:, None] - raw
    return y, raw, weight, margins, weight[:, None] * (y[:, None] > y)


def check_sums(loss, n, values, slopes):
    """Compare a loss of a query with sums of values and of slopes in the margins."""
    y, raw, weight, _, pair_weight = long_query(n)
    value, gradient = loss.value_gradient(y, raw, [0, n], weight)
    assert_allclose(value, [(pair_weight * values).sum()], rtol=1e-11)
    expected = (pair_weight * slopes).sum(axis=1) - (pair_weight * slopes).sum(axis=0)
    assert_allclose(gradient, expected, rtol=1e-10, atol=1e-9)


# Pairs are looked at one by one in the first, and in sums over scores in the second.
long = pytest.mark.parametrize("n", [60, 900])


@long
@pytest.mark.parametrize(
    "loss",
    [
        HingeLoss(),
        HingeLoss(width=0.5),
        LVQ2Loss(1.5, margin=0.5),
        LVQ2Loss(1.5, margin=0.5, width=0.25),
        LVQ2Loss(0.25, margin=0.5, width=1.5),
    ],
    ids=str,
)
def test_hinges_of_weighted_pairs_are_summed(loss, n):
    margin, cap, width = loss._shape()
    margins = long_query(n)[3]

    def positive(gap):
        """The positive part with a parabola in place of its kink, and its slope."""
        if not width:
            return np.maximum(gap, 0.0), (gap > 0) * 1.0
        bend = np.clip(gap, 0.0, width)
        return bend**2 / (2 * width) + np.maximum(gap - width, 0.0), bend / width

    values, slopes = positive(margin - margins)
    if cap < np.inf:
        values, slopes = (
            a - b for a, b in zip((values, slopes), positive(margin - margins - cap))
        )
    check_sums(loss, n, values, -slopes)


@long
def test_squared_hinges_of_weighted_pairs_are_summed(n):
    y, raw, weight, margins, pair_weight = long_query(n)
    gaps = np.maximum(1.0 - margins, 0.0)
    check_sums(SquaredHingeLoss(), n, gaps**2, -2.0 * gaps)
    prepared = SquaredHingeLoss().prepare(y, [0, n], weight)
    hessian = prepared.gradient_hessian(raw)[2]
    curvature = 2.0 * pair_weight * (gaps > 0)
    expected = curvature.sum(axis=0) + curvature.sum(axis=1)
    assert_allclose(hessian, expected, rtol=1e-11)


@long
@pytest.mark.parametrize("kind", ["mp", "hmp"])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_magnitudes_of_weighted_pairs_are_summed(kind, beta, n):
    y, _, _, margins, _ = long_query(n)
    errors = margins - (y[:, None] - y)
    if kind == "hmp":
        errors = np.where(margins < 0, errors, 0.0)
    slopes = beta * np.sign(errors) * np.abs(errors) ** (beta - 1.0)
    loss = MagnitudePreservingLoss(kind, beta=beta)
    check_sums(loss, n, np.abs(errors) ** beta, slopes)


@long
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_equal_scores_of_long_queries_have_no_magnitude(beta, n):
    y, raw, weight, _, pair_weight = long_query(n)
    raw = np.round(4.0 * raw)  # many ties
    margins = raw[:, None] - raw
    errors = np.where(margins < 0, y[:, None] - y - margins, 0.0)
    slopes = pair_weight * np.where(errors > 0, beta * errors ** (beta - 1.0), 0.0)
    loss = MagnitudePreservingLoss("hmp", beta=beta)
    value, gradient = loss.value_gradient(y, raw, [0, n], weight)
    assert_allclose(value, [(pair_weight * errors**beta).sum()], rtol=1e-11)
    expected = slopes.sum(axis=0) - slopes.sum(axis=1)
    assert_allclose(gradient, expected, rtol=1e-10, atol=1e-9)
