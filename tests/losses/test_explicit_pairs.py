"""Losses over single pairs, and the priors and samples of the listwise losses."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from skrank.losses import (
    ExplicitPairsLoss,
    ExponentialLoss,
    FidelityLoss,
    HingeLoss,
    ListMLELoss,
    ListNetLoss,
    LogLoss,
    LVQ2Loss,
    OWPCLoss,
    PNormPushLoss,
    SampledPairsLoss,
    SquaredHingeLoss,
    _explicit_pairs,
)

LOSSES = [
    LogLoss(sigma=1.5),
    HingeLoss(margin=0.7),
    SquaredHingeLoss(margin=0.7),
    HingeLoss(margin=0.7, width=0.4),
]


@pytest.fixture
def graded(rng):
    ptr = np.array([0, 6, 7, 15])
    return rng.integers(0, 3, size=15).astype(float), rng.normal(size=15), ptr


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_all_pairs_one_by_one_equal_the_kernel(loss, graded):
    y, scores, ptr = graded
    query = np.repeat(np.arange(3), np.diff(ptr))
    same = query[:, None] == query
    pairs = np.argwhere(same & (y[:, None] > y))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=15)
    explicit = ExplicitPairsLoss(loss, pairs, weight[pairs[:, 0]]).prepare(y, ptr)
    values, gradient = explicit.value_gradient(scores)
    prepared = loss.prepare(y, ptr, weight)
    expected, slope = prepared.value_gradient(scores)
    np.testing.assert_allclose(values.sum(), expected.sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)
    np.testing.assert_allclose(explicit.total_weight, prepared.total_weight)


@pytest.mark.parametrize("width", [0.1, 1.0, 3.0])
def test_smooth_hinge_stays_close_to_the_hinge(width):
    margins = np.linspace(-4, 4, 401)
    hinge, _ = HingeLoss(margin=1.0).margin_loss(margins)
    smooth, _ = HingeLoss(margin=1.0).smoothed(width).margin_loss(margins)
    gap = hinge - smooth
    assert gap.min() >= -1e-12
    assert gap.max() <= width / 2 + 1e-12


def test_squared_hinge_is_smooth_already():
    loss = SquaredHingeLoss()
    assert loss.smoothed(0.1) is loss


def test_gamma_prior_adds_its_log_density(graded):
    y, scores, ptr = graded
    shape, rate = 2.5, 0.3
    plain = ListMLELoss(ties="stable").prepare(y, ptr)
    prior = ListMLELoss(ties="stable", prior=(shape, rate)).prepare(y, ptr)
    added = prior.value_gradient(scores)[0] - plain.value_gradient(scores)[0]
    density = rate * np.exp(scores) - (shape - 1) * scores
    counted = [np.ptp(y[a:b]) > 0 for a, b in pairwise(ptr)]
    expected = [c * density[a:b].sum() for a, b, c in zip(ptr, ptr[1:], counted)]
    np.testing.assert_allclose(added, expected, rtol=1e-10)
    assert not ListMLELoss(prior=(shape, rate)).shift_invariant
    finite = prior.value_gradient(scores * 1e4)
    assert all(np.isfinite(part).all() for part in finite)


def test_gamma_prior_goes_on_as_the_tangent_at_50():
    loss = ListMLELoss(prior=(2.0, 0.5))
    values, gradient = loss.value_gradient([1, 0], [55.0, 0.0], [0, 2])
    # What is not a multiple of the strength of e^50 is lost to rounding.
    assert values[0] == pytest.approx(0.5 * np.exp(50.0) * (1.0 + 5.0), rel=1e-14)
    assert gradient[0] == pytest.approx(0.5 * np.exp(50.0), rel=1e-14)


@pytest.mark.parametrize("prior", [(0.5, 1.0), (2.0, 0.0)])
def test_prior_must_be_log_concave(prior, graded):
    y, _, ptr = graded
    with pytest.raises(ValueError, match="shape >= 1, rate > 0"):
        ListMLELoss(prior=prior).prepare(y, ptr)


def test_sampled_lists_average_to_the_expectation():
    # Top-3 lists of 3 documents are the six rankings, whose sum can be written out.
    y, scores = np.array([2.0, 1.0, 0.0]), np.array([0.3, -0.2, 0.5])

    def log_probability(utility, order):
        ordered = utility[list(order)]
        return sum(ordered[j] - np.logaddexp.reduce(ordered[j:]) for j in range(3))

    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    expected = -sum(
        np.exp(log_probability(y, order)) * log_probability(scores, order)
        for order in orders
    )
    loss = ListNetLoss(top_k=3, n_samples=4000)
    found = loss.value_gradient(y, scores, [0, 3])[0][0]
    np.testing.assert_allclose(found, expected, rtol=0.02)


def _pairs_of(y, ptr):
    query = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    pairs = np.argwhere((query[:, None] == query) & (y[:, None] > y))
    return np.random.default_rng(2).permutation(pairs)


def test_values_are_those_of_the_queries(graded):
    y, scores, ptr = graded
    explicit = ExplicitPairsLoss(LogLoss(1.5), _pairs_of(y, ptr)).prepare(y, ptr)
    expected = LogLoss(1.5).prepare(y, ptr)
    for found, reference in zip(
        explicit.gradient_hessian(scores), expected.gradient_hessian(scores)
    ):
        np.testing.assert_allclose(found, reference, rtol=1e-12, atol=1e-14)


def test_subsets_move_the_pairs_along(graded):
    y, scores, ptr = graded
    pairs = _pairs_of(y, ptr)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(pairs))
    prepared = ExplicitPairsLoss(HingeLoss(0.7), pairs, weight).prepare(y, ptr)
    values, gradient = prepared.value_gradient(scores)
    part = prepared.subset(np.array([2, 0]))
    rows = np.concatenate((np.arange(7, 15), np.arange(6)))
    found, slopes = part.value_gradient(scores[rows])
    np.testing.assert_allclose(found, values[[2, 0]])
    np.testing.assert_allclose(slopes, gradient[rows])
    assert part.total_weight == pytest.approx(prepared.total_weight)


def test_row_weights_multiply_pair_weights(graded):
    y, scores, ptr = graded
    pairs, weight = _pairs_of(y, ptr), np.random.default_rng(1).random(15)
    both = ExplicitPairsLoss(LogLoss(), pairs).prepare(y, ptr, weight)
    by_hand = ExplicitPairsLoss(LogLoss(), pairs, weight[pairs[:, 0]]).prepare(y, ptr)
    for found, expected in zip(
        both.value_gradient(scores), by_hand.value_gradient(scores)
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["smoothed", "relaxed"])
def test_capabilities_are_those_of_the_loss(method):
    pairs = np.array([[1, 0]])
    for loss, has in [
        (LogLoss(), ()),
        (HingeLoss(), ("smoothed",)),
        (LVQ2Loss(), ("smoothed", "relaxed")),
    ]:
        for wrapper in (ExplicitPairsLoss(loss, pairs), SampledPairsLoss(loss)):
            assert hasattr(wrapper, method) == (method in has)
    relaxed = SampledPairsLoss(LVQ2Loss(cap=0.5), 7, 3, against="zero").relaxed()
    assert relaxed.loss.cap == np.inf
    assert (relaxed.n_pairs, relaxed.random_state, relaxed.against) == (7, 3, "zero")


@pytest.mark.parametrize(
    ("loss", "pairs", "message"),
    [
        (ListNetLoss(), [[1, 0]], "loss must be a pairwise loss such as LogLoss"),
        (LogLoss(reading="pointwise"), [[1, 0]], "loss must be a pairwise loss"),
        (LogLoss(grade_weights={}), [[1, 0]], "a loss without grade_weights"),
        (LogLoss(), [[1, 0, 2]], r"row numbers of shape \(n_pairs, 2\)"),
        (LogLoss(), [[0.0, 1.0]], "an array of row numbers"),
        (LogLoss(), [[0, 1], [0, 2]], "must stay within a query; pair 1 joins two"),
        (LogLoss(), [[0, 3]], r"row numbers from 0 to 2; pair 0 is \[0, 3\]"),
    ],
)
def test_bad_pairs(loss, pairs, message):
    with pytest.raises(ValueError, match=message):
        ExplicitPairsLoss(loss, np.array(pairs)).prepare(np.zeros(3), [0, 2, 3])


def test_a_loss_without_pairs_is_a_type_error():
    with pytest.raises(TypeError, match="got ListNetLoss"):
        ExplicitPairsLoss(ListNetLoss(), np.array([[1, 0]])).prepare([0, 0], [0, 2])


@pytest.mark.parametrize("kind", [list, pd.DataFrame, np.asarray])
def test_pairs_and_weights_of_any_kind(kind):
    loss = ExplicitPairsLoss(LogLoss(), kind([[0, 1], [2, 1]]), [2.0, 1.0])
    expected = ExplicitPairsLoss(
        LogLoss(), np.array([[0, 1], [2, 1]]), np.array([2.0, 1.0])
    )
    scores = [0.5, 0.0, -1.0]
    for found, wanted in zip(
        loss.value_gradient(None, scores, [0, 3]),
        expected.value_gradient(None, scores, [0, 3]),
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "weight", [[-1.0], [np.nan], [np.inf], [1.0, 2.0], [[1.0]], []]
)
def test_bad_weights_of_pairs(weight):
    with pytest.raises(ValueError, match="pair_weight must be 1 finite numbers >= 0"):
        ExplicitPairsLoss(LogLoss(), [[0, 1]], weight).prepare(None, [0, 2])


def test_a_pair_of_one_row():
    with pytest.raises(ValueError, match="pairs must be pairs of two different rows"):
        ExplicitPairsLoss(LogLoss(), [[1, 1]]).prepare(None, [0, 2])


def test_pairs_and_weights_from_lists(graded):
    y, scores, ptr = graded
    pairs = _pairs_of(y, ptr)
    weight = np.arange(1.0, len(pairs) + 1)
    rows = np.linspace(0.5, 1.5, len(y))
    found, expected = (
        ExplicitPairsLoss(LogLoss(), *given).prepare(y, ptr, rows)
        for given in ((pairs.tolist(), weight.tolist()), (pairs, weight))
    )
    np.testing.assert_array_equal(
        found.value_gradient(scores)[1], expected.value_gradient(scores)[1]
    )


# Preferences in a circle, one twice, a document without any, and pairs of two queries.
CIRCLE = np.array([[0, 1], [1, 2], [2, 0], [0, 3], [0, 1], [5, 6], [7, 6]])
CIRCLE_PTR = np.array([0, 4, 5, 9])
WEIGHT_OF_PAIRS = np.array([1.0, 0.5, 2.0, 1.5, 0.3, 1.0, 0.0])
WEIGHT_OF_ROWS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.7, 1.0, 0.4, 1.0])
JOINING = [
    PNormPushLoss(p)._with(normalization=normalization)
    for p in (1.0, 2.0, 2.5)
    for normalization in ("pair", "query")
] + [
    OWPCLoss(weights, hinge=hinge, normalization=normalization, width=width)
    for weights, hinge, width in (
        ("reciprocal", "linear", 0.0),
        ("max", "squared", 0.0),
        ([1.0, 0.5], "linear", 0.4),
    )
    for normalization in ("pair", "query", "document")
]


@pytest.mark.parametrize("loss", JOINING, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_that_joins_pairs_is_that_of_grades_over_all_pairs(
    loss, weighted, graded
):
    y, scores, ptr = graded
    query = np.repeat(np.arange(3), np.diff(ptr))
    same = query[:, None] == query
    pairs = np.argwhere(same & (y[:, None] > y))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=15) if weighted else None
    mixed = np.random.default_rng(2).permutation(pairs)
    explicit = ExplicitPairsLoss(loss, mixed).prepare(None, ptr, weight)
    prepared = loss.prepare(y, ptr, weight)
    np.testing.assert_allclose(explicit.total_weight, prepared.total_weight)
    assert ExplicitPairsLoss(loss, mixed).has_hessian == loss.has_hessian
    method = "gradient_hessian" if loss.has_hessian else "value_gradient"
    for found, expected in zip(
        getattr(explicit, method)(scores), getattr(prepared, method)(scores)
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def _push(scores, p, pair_weight):
    """Value of each query of `CIRCLE`, from the formula."""
    inner = np.zeros(9)
    for (u, v), weight in zip(CIRCLE, pair_weight):
        inner[v] += weight * np.exp(scores[v] - scores[u])
    return np.array([(inner[a:b] ** p).sum() for a, b in pairwise(CIRCLE_PTR)])


def _slopes(function, scores, step=1e-6):
    """Central differences of the sum of a function's values."""
    moves = step * np.eye(len(scores))
    rise = [function(scores + m).sum() - function(scores - m).sum() for m in moves]
    return np.array(rise) / (2.0 * step)


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5])
def test_p_norm_push_over_a_circle_of_weighted_pairs(p, rng):
    scores = rng.normal(size=9)
    loss = ExplicitPairsLoss(PNormPushLoss(p), CIRCLE, WEIGHT_OF_PAIRS)
    prepared = loss.prepare(None, CIRCLE_PTR)
    values, gradient, hessian = prepared.gradient_hessian(scores)
    np.testing.assert_allclose(values, _push(scores, p, WEIGHT_OF_PAIRS))

    def value(scores):
        return _push(scores, p, WEIGHT_OF_PAIRS)

    np.testing.assert_allclose(gradient, _slopes(value, scores), atol=1e-7)
    for j, step in enumerate(1e-5 * np.eye(9)):
        slopes = [prepared.value_gradient(scores + s)[1][j] for s in (step, -step)]
        curved = (slopes[0] - slopes[1]) / 2e-5
        np.testing.assert_allclose(hessian[j], curved, rtol=1e-6, atol=1e-7)
    assert prepared.total_weight == WEIGHT_OF_PAIRS.sum()


def test_p_norm_push_over_pairs_gives_queries_their_weight(rng):
    scores = rng.normal(size=9)
    loss = PNormPushLoss(2.0, normalization="query")
    prepared = ExplicitPairsLoss(loss, CIRCLE, WEIGHT_OF_PAIRS).prepare(
        None, CIRCLE_PTR, WEIGHT_OF_ROWS
    )
    sizes = np.diff(CIRCLE_PTR)
    mean = np.add.reduceat(WEIGHT_OF_ROWS, CIRCLE_PTR[:-1]) / sizes
    weight = WEIGHT_OF_PAIRS * WEIGHT_OF_ROWS[CIRCLE[:, 0]]
    at_start = _push(np.zeros(9), 2.0, weight)
    expected = _push(scores, 2.0, weight)[[0, 2]] / at_start[[0, 2]] * mean[[0, 2]]
    np.testing.assert_allclose(prepared.value_gradient(scores)[0][[0, 2]], expected)
    np.testing.assert_allclose(prepared.total_weight, mean[[0, 2]].sum())


def test_a_pair_without_weight_cannot_overflow():
    loss = ExplicitPairsLoss(PNormPushLoss(2.0), CIRCLE, WEIGHT_OF_PAIRS)
    scores = np.zeros(9)
    scores[7] = -1e4  # pair 6, of weight 0, is far out of order
    assert loss.prepare(None, CIRCLE_PTR).value_gradient(scores)[0][2] == 1.0


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("normalization", ["pair", "query", "document"])
def test_owpc_over_a_circle_of_pairs(power, normalization, rng):
    scores = rng.normal(size=9)
    hinge = "linear" if power == 1 else "squared"
    loss = OWPCLoss([1.0, 0.6, 0.2], hinge=hinge, normalization=normalization)
    of_document = np.array([2.0, 0.5, 1.0, 0, 0, 1.5, 0, 0.3, 0])

    def value(scores):
        sums, counts = np.zeros(9), np.zeros(9)
        alphas = np.array([1.0, 0.6, 0.2])
        for u in np.unique(CIRCLE[:, 0]):
            margins = scores[u] - scores[CIRCLE[CIRCLE[:, 0] == u, 1]]
            losses = np.sort(np.maximum(0.0, 1.0 - margins) ** power)[::-1]
            counts[u] = len(losses)
            mean = alphas[: len(losses)] @ losses / alphas[: len(losses)].sum()
            sums[u] = of_document[u] * mean
        if normalization != "document":
            sums *= counts
        values = np.add.reduceat(sums, CIRCLE_PTR[:-1])
        if normalization == "query":
            total = np.add.reduceat(of_document * counts, CIRCLE_PTR[:-1])
            values = values / np.where(total > 0, total, 1.0)
        return values

    explicit = ExplicitPairsLoss(loss, CIRCLE, of_document[CIRCLE[:, 0]])
    values, gradient = explicit.prepare(None, CIRCLE_PTR).value_gradient(scores)
    np.testing.assert_allclose(values, value(scores), rtol=1e-12)
    np.testing.assert_allclose(gradient, _slopes(value, scores), atol=1e-7)


def test_documents_of_equal_score_share_the_weights_of_their_places():
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    loss = ExplicitPairsLoss(OWPCLoss([1.0, 0.5, 0.0], normalization="pair"), pairs)
    _, gradient = loss.value_gradient(None, [0.0, 0.5, 0.5, 0.0], [0, 4])
    np.testing.assert_allclose(gradient, [-3.0, 1.5, 1.5, 0.0])


def test_owpc_has_no_place_for_weights_of_pairs():
    loss = ExplicitPairsLoss(OWPCLoss(), CIRCLE, WEIGHT_OF_PAIRS)
    match = "document 0 has pairs of weight 1 and 1.5"
    with pytest.raises(ValueError, match=match):
        loss.prepare(None, CIRCLE_PTR)


@pytest.mark.parametrize("loss", [ExponentialLoss(), FidelityLoss(), PNormPushLoss(2)])
def test_what_a_weak_ranker_says_of_given_pairs(loss, rng):
    scores, ranks = rng.normal(size=9), rng.uniform(size=9)
    prepared = ExplicitPairsLoss(loss, CIRCLE, WEIGHT_OF_PAIRS).prepare(
        None, CIRCLE_PTR
    )
    push = isinstance(loss, PNormPushLoss)
    assert hasattr(prepared, "agreement") != push
    assert hasattr(prepared, "along") == (not isinstance(loss, FidelityLoss))
    if not push:
        sums = np.zeros(3)
        for (u, v), weight in zip(CIRCLE, WEIGHT_OF_PAIRS):
            wrong = 1.0 / (1.0 + np.exp(scores[u] - scores[v]))
            steep = np.exp(scores[v] - scores[u])
            if isinstance(loss, FidelityLoss):
                steep = 0.5 * np.sqrt(1.0 - wrong) * wrong
            up, down = ranks[u], ranks[v]
            sums += weight * steep * np.array([up * (1 - down), (1 - up) * down, 1.0])
        np.testing.assert_allclose(prepared.agreement(scores, ranks), sums)
    if hasattr(prepared, "along"):

        def value(t):
            return prepared.value_gradient(scores + t * ranks)[0].sum()

        h = 1e-4
        first = (value(h) - value(-h)) / (2 * h)
        second = (value(h) - 2 * value(0.0) + value(-h)) / h**2
        expected = value(0.0), first, second
        np.testing.assert_allclose(prepared.along(scores, ranks), expected, rtol=1e-5)


def test_blocks_hand_out_every_pair_once(monkeypatch):
    monkeypatch.setattr(_explicit_pairs, "BLOCK", 3)
    prepared = ExplicitPairsLoss(LogLoss(), CIRCLE, WEIGHT_OF_PAIRS).prepare(
        None, CIRCLE_PTR
    )
    blocks = list(prepared.blocks())
    assert len(blocks) == 3
    seen = [np.column_stack([b, w]) + rows.start for rows, b, w, _ in blocks]
    assert np.concatenate(seen).tolist() == CIRCLE.tolist()
    weights = np.concatenate([weight for *_, weight in blocks])
    assert weights.tolist() == WEIGHT_OF_PAIRS.tolist()
    plain = ExplicitPairsLoss(LogLoss(), CIRCLE).prepare(None, CIRCLE_PTR)
    assert all(weight is None for *_, weight in plain.blocks())


@pytest.mark.parametrize("loss", [*JOINING, LogLoss(), ExponentialLoss()], ids=repr)
def test_some_queries_hold_their_pairs_in_any_order(loss, rng):
    weight = None if isinstance(loss, OWPCLoss) else WEIGHT_OF_PAIRS
    explicit = ExplicitPairsLoss(loss, CIRCLE, weight)
    prepared = explicit.prepare(None, CIRCLE_PTR, WEIGHT_OF_ROWS)
    scores = rng.normal(size=9)
    values, gradient = prepared.value_gradient(scores)
    for queries in ([0], [2, 0], [1, 2], [2, 0, 2]):
        part = prepared.subset(np.array(queries))
        rows = np.concatenate(
            [np.arange(*CIRCLE_PTR[query : query + 2]) for query in queries]
        )
        found, slopes = part.value_gradient(scores[rows])
        np.testing.assert_allclose(found, values[queries], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(slopes, gradient[rows], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("far", [-720.0, -1e8])
def test_a_given_pair_without_a_weight_counts_nothing_even_if_it_overflows(far):
    pairs, weight = [[0, 1], [1, 2]], [0.0, 1.0]
    prepared = ExplicitPairsLoss(ExponentialLoss(), pairs, weight).prepare(
        [2, 1, 0], [0, 3]
    )
    near, away = np.array([0.1, 0.5, 0.0]), np.array([far, 0.5, 0.0])
    results = [
        (
            *prepared.gradient_hessian(raw),
            *prepared.agreement(raw, np.array([0.0, 1.0, 0.5])),
            *prepared.along(raw, np.array([0.0, 1.0, 0.5])),
        )
        for raw in (near, away)
    ]
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
