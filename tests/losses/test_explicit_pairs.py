"""Losses over single pairs, and the priors and samples of the listwise losses."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from skrank.losses import (
    ExplicitPairsLoss,
    HingeLoss,
    ListMLELoss,
    ListNetLoss,
    LogLoss,
    LVQ2Loss,
    SampledPairsLoss,
    SquaredHingeLoss,
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
