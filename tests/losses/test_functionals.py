"""Loss functionals of energies in both readings."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from skrank.losses import (
    EnergyLoss,
    ExplicitPairsLoss,
    HingeLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    MEELoss,
    NLLLoss,
    PerceptronLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)

LABELS = np.array([0.0, 1.0, 2.0, 4.0])


def log_sum_exp(e, beta):
    return np.log(np.sum(np.exp(-beta * np.asarray(e)))) / beta


# The rows of table 2, written out for one answer: E of the right answer, E of the most
# offending wrong one, and the energies of all answers.
TABLE = [
    (EnergyLoss(), lambda e, o, a: e),
    (PerceptronLoss(), lambda e, o, a: e - min(a)),
    (HingeLoss(margin=0.7), lambda e, o, a: max(0, 0.7 + e - o)),
    (LogLoss(), lambda e, o, a: np.log(1 + np.exp(e - o))),
    (MCELoss(beta=1.5), lambda e, o, a: 1 / (1 + np.exp(-1.5 * (e - o)))),
    (LVQ2Loss(cap=0.8), lambda e, o, a: min(0.8, max(0, e - o))),
    (LVQ2Loss(0.8, margin=0.5), lambda e, o, a: min(0.8, max(0, 0.5 + e - o))),
    (LVQ2Loss(np.inf, margin=0.5), lambda e, o, a: max(0, 0.5 + e - o)),
    (SquareSquareLoss(margin=1.2), lambda e, o, a: e**2 + max(0, 1.2 - o) ** 2),
    (SquareExponentialLoss(gamma=0.6), lambda e, o, a: e**2 + 0.6 * np.exp(-o)),
    (SquareExponentialLoss(gamma=0), lambda e, o, a: e**2),
    (NLLLoss(beta=1.5), lambda e, o, a: e + log_sum_exp(a, 1.5)),
    (
        MEELoss(beta=1.5),
        lambda e, o, a: 1 - np.exp(-1.5 * e) / np.sum(np.exp(-1.5 * np.array(a))),
    ),
]
each_row = pytest.mark.parametrize(
    ("loss", "row"), TABLE, ids=[repr(loss) for loss, _ in TABLE]
)
each_loss = pytest.mark.parametrize("loss", [loss for loss, _ in TABLE], ids=repr)


def pointwise(loss):
    return clone(loss).set_params(reading="pointwise")


def offending(energies, column):
    """Column of the wrong label of lowest energy."""
    wrong = [k for k in range(len(energies)) if k != column]
    return min(wrong, key=lambda k: energies[k])


@pytest.fixture
def data(rng):
    """Grades, scores of documents, scores of labels, weights, pointer array."""
    ptr = np.array([0, 6, 7, 15, 24])
    y = rng.choice(LABELS, 24)
    return (
        y,
        rng.normal(size=24),
        rng.normal(size=(24, 4)),
        rng.uniform(0.5, 2, 24),
        ptr,
    )


def numeric_gradient(function, x, step=1e-5):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = step
        near, far = function(x + e) - function(x - e), function(x + 2 * e)
        gradient[i] = (8 * near - far + function(x - 2 * e)) / (12 * step)
    return gradient


@each_row
@pytest.mark.parametrize("weighted", [False, True])
def test_pairwise_reading_is_the_table(loss, row, weighted, data):
    y, scores, _, weight, ptr = data
    prepared = loss.prepare(y, ptr, weight if weighted else None)
    values, _ = prepared.value_gradient(scores)
    n_pairs = 0.0
    for q, (a, b) in enumerate(pairwise(ptr)):
        expected = 0.0
        for u, v in a + np.argwhere(y[a:b, None] > y[a:b]):
            w = weight[u] if weighted else 1.0
            n_pairs += w
            expected += w * row(-scores[u], -scores[v], [-scores[u], -scores[v]])
        np.testing.assert_allclose(values[q], expected, rtol=1e-12, atol=1e-13)
    assert loss.unit == "pair"
    np.testing.assert_allclose(prepared.total_weight, n_pairs)


@each_row
@pytest.mark.parametrize("weighted", [False, True])
def test_pointwise_reading_is_the_table(loss, row, weighted, data):
    y, _, raw, weight, ptr = data
    loss = pointwise(loss)
    prepared = loss.prepare(y, ptr, weight if weighted else None, labels=LABELS)
    values, gradient = prepared.value_gradient(raw)
    w = weight if weighted else np.ones(len(y))
    expected = np.empty(len(y))
    for i, energies in enumerate(-raw):
        right = LABELS.tolist().index(y[i])
        wrong = offending(energies, right)
        expected[i] = w[i] * row(energies[right], energies[wrong], energies.tolist())
    np.testing.assert_allclose(
        values, np.add.reduceat(expected, ptr[:-1]), rtol=1e-12, atol=1e-13
    )
    assert loss.unit == "document"
    np.testing.assert_allclose(prepared.total_weight, w.sum())
    derivative = numeric_gradient(lambda r: prepared.value_gradient(r)[0].sum(), raw)
    np.testing.assert_allclose(gradient, derivative, rtol=1e-6, atol=1e-8)


@each_loss
def test_pairs_of_label_energies_count_with_their_minimum(loss, data):
    y, _, raw, weight, ptr = data
    prepared = loss.prepare(y, ptr, weight, labels=LABELS)
    values, gradient = prepared.value_gradient(raw)
    lowest = np.argmax(raw, axis=1)  # of the energies -raw
    inner = loss.prepare(y, ptr, weight)
    expected, slopes = inner.value_gradient(raw.max(axis=1))
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(gradient[np.arange(24), lowest], slopes)
    assert np.count_nonzero(gradient) <= 24
    assert prepared.total_weight == inner.total_weight


@each_loss
def test_pair_loss_and_explicit_pairs_equal_the_sum(loss, data):
    y, scores, _, weight, ptr = data
    query = np.repeat(np.arange(4), np.diff(ptr))
    pairs = np.argwhere((query[:, None] == query) & (y[:, None] > y))
    explicit = ExplicitPairsLoss(loss, pairs, weight[pairs[:, 0]])
    assert explicit.shift_invariant == loss.shift_invariant
    assert explicit.convex == loss.convex
    value, gradient = explicit.value_gradient(y, scores, ptr)
    expected, slopes = loss.value_gradient(y, scores, ptr, weight)
    np.testing.assert_allclose(value.sum(), expected.sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-12)


@each_loss
@pytest.mark.parametrize("reading", ["pairwise", "pointwise"])
def test_flags_hold(loss, reading, data):
    y, _, raw, weight, ptr = data
    loss = clone(loss).set_params(reading=reading)
    labels = LABELS if reading == "pointwise" else None
    raw = raw if reading == "pointwise" else raw[:, 0]
    prepared = loss.prepare(y, ptr, weight, labels=labels)
    values, gradient = prepared.value_gradient(raw)
    shifted = prepared.value_gradient(raw + 0.8)[0]
    assert np.allclose(values, shifted, atol=1e-12) == loss.shift_invariant
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(200, *raw.shape))
    above = [
        prepared.value_gradient(raw + step)[0].sum()
        - values.sum()
        - np.sum(gradient * step)
        for step in steps
    ]
    assert (min(above) >= -1e-10) == loss.convex
    assert hasattr(prepared, "gradient_hessian") == loss.has_hessian


@each_loss
@pytest.mark.parametrize("scale", [1e-30, 1e3, 1e30])
def test_extreme_energies_of_labels(loss, scale, data):
    y, _, raw, weight, ptr = data
    prepared = pointwise(loss).prepare(y, ptr, weight, labels=LABELS)
    for found in prepared.value_gradient(scale * raw):
        assert np.all(np.isfinite(found))


@each_loss
def test_ties_of_labels_go_to_the_lowest(loss):
    # Labels 0 and 4 offend equally against label 1: label 0 is the one that counts.
    if isinstance(loss, (NLLLoss, MEELoss, EnergyLoss)):
        pytest.skip("takes all labels, or one")
    prepared = pointwise(loss).prepare([1.0], [0, 1], labels=[0.0, 1.0, 4.0])
    _, gradient = prepared.value_gradient([[-0.2, -0.5, -0.2]])
    assert gradient[0, 2] == 0.0


@each_loss
def test_a_single_label_offends_nobody(loss):
    prepared = pointwise(loss).prepare([3.0, 3.0], [0, 2], labels=[3.0])
    values, gradient = prepared.value_gradient([[-0.5], [-2.0]])
    if isinstance(loss, (EnergyLoss, SquareSquareLoss, SquareExponentialLoss)):
        power = 1 if isinstance(loss, EnergyLoss) else 2
        np.testing.assert_allclose(values, [0.5**power + 2.0**power])
    else:
        np.testing.assert_allclose(values, [0.0], atol=1e-15)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


@each_loss
def test_pointwise_without_labels_is_an_error(loss, data):
    y, scores, _, _, ptr = data
    with pytest.raises(TypeError, match=r"reading='pairwise'"):
        pointwise(loss).prepare(y, ptr)
    prepared = pointwise(loss).prepare(y, ptr, labels=LABELS)
    with pytest.raises(ValueError, match=r"document and label, shape \(24, 4\)"):
        prepared.value_gradient(scores)
    with pytest.raises(ValueError, match=r"document and label, shape \(24, 4\)"):
        loss.prepare(y, ptr, labels=LABELS).value_gradient(scores)


def test_grades_outside_the_labels_are_an_error():
    with pytest.raises(ValueError, match="found 3"):
        LogLoss(reading="pointwise").prepare([0.0, 3.0], [0, 2], labels=[0.0, 1.0])


@each_loss
def test_pickle_of_prepared_labels(loss, data):
    y, _, raw, weight, ptr = data
    prepared = pointwise(loss).prepare(y, ptr, weight, labels=LABELS)
    again = pickle.loads(pickle.dumps(prepared))
    for a, b in zip(prepared.value_gradient(raw), again.value_gradient(raw)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("loss", [PerceptronLoss(), HingeLoss(0.5), LVQ2Loss(0.7)])
@pytest.mark.parametrize("width", [0.05, 0.4, 3.0])
def test_smooth_hinges_stay_close(loss, width):
    margins = np.linspace(-4, 4, 801)
    kinked, _ = loss.margin_loss(margins)
    smooth = loss.smoothed(width)
    assert type(smooth) is type(loss)
    values, slopes = smooth.margin_loss(margins)
    assert np.abs(values - kinked).max() <= width / 2 + 1e-12
    step = 1e-6
    numeric = (
        smooth.margin_loss(margins + step)[0] - smooth.margin_loss(margins - step)[0]
    ) / (2 * step)
    np.testing.assert_allclose(slopes, numeric, atol=1e-5 / width)


@pytest.mark.parametrize("loss", [PerceptronLoss(), HingeLoss(0.0), LVQ2Loss(0.1)])
def test_equal_scores_do_not_hold_a_stochastic_solver(loss):
    # Eq. 28 steps where 0 <= E_u - E_v: every pair pushes, with slope -1 and 1.
    values, gradient = loss.value_gradient([2, 1, 0, 1], [0.3] * 4, [0, 4])
    assert values.tolist() == [0.0]
    assert gradient.tolist() == [-3.0, 0.0, 3.0, 0.0]
    mixed = loss.value_gradient([1, 0, 1, 0], [0.0, 0.0, 2.0, 1.0], [0, 2, 4])[1]
    assert mixed.tolist() == [-1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("size", [300, 900])  # on both sides of sorting
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_lvq2_of_large_queries(size, width):
    rng = np.random.default_rng(size)
    y, s = rng.integers(0, 3, size).astype(float), rng.normal(size=size)
    loss = LVQ2Loss(cap=0.5, margin=0.2, width=width)
    u, v = np.nonzero(y[:, None] > y)
    values, slopes = loss.margin_loss(s[u] - s[v])
    gradient = np.bincount(u, slopes, size) - np.bincount(v, slopes, size)
    found, found_gradient = loss.value_gradient(y, s, [0, size])
    np.testing.assert_allclose(found[0], values.sum(), rtol=1e-9)
    np.testing.assert_allclose(found_gradient, gradient, rtol=1e-9, atol=1e-8)


def test_nll_tends_to_the_perceptron_and_starts_at_ranknet(data):
    y, scores, raw, _, ptr = data
    cold = NLLLoss(beta=1e4, reading="pointwise").prepare(y, ptr, labels=LABELS)
    hard = PerceptronLoss(reading="pointwise").prepare(y, ptr, labels=LABELS)
    np.testing.assert_allclose(
        cold.value_gradient(raw)[0], hard.value_gradient(raw)[0], atol=1e-2
    )
    for a, b in zip(
        NLLLoss().prepare(y, ptr).gradient_hessian(scores),
        LogLoss().prepare(y, ptr).gradient_hessian(scores),
    ):
        np.testing.assert_array_equal(a, b)


def test_square_exponential_goes_on_as_its_tangent():
    loss = SquareExponentialLoss(gamma=2.0)
    energy = -100.0 - np.array([0.0, 1.0, 5.0])
    value, slope = loss._pull_up(energy)
    top = 2.0 * np.exp(100.0)
    np.testing.assert_allclose(value, top * np.array([1.0, 2.0, 6.0]), rtol=1e-12)
    np.testing.assert_allclose(slope, -top, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (HingeLoss(reading="listwise"), "reading must be 'pairwise' or 'pointwise'"),
        (HingeLoss(margin=-1.0), "margin must be a number >= 0, got -1.0"),
        (HingeLoss(width="a"), "width must be a number >= 0, got 'a'"),
        (PerceptronLoss(width=-1), "width must be a number >= 0"),
        (LVQ2Loss(cap=0.0), "cap must be a number > 0, or infinity, got 0.0"),
        (LVQ2Loss(margin=np.nan), "margin must be a number >= 0"),
        (MCELoss(beta=0), "beta must be a number > 0"),
        (NLLLoss(beta=-1), "beta must be a number > 0"),
        (MEELoss(beta=None), "beta must be a number > 0"),
        (SquareSquareLoss(margin=0), "margin must be a number > 0"),
        (SquareExponentialLoss(gamma=-1), "gamma must be a number >= 0"),
    ],
)
def test_bad_hyper_parameters(loss, message):
    with pytest.raises(ValueError, match=message):
        loss.prepare([1.0, 0.0], [0, 2])


@pytest.mark.parametrize("width", [0.0, 0.3])
def test_lvq2_is_flat_far_beyond_its_cap(width):
    loss = LVQ2Loss(cap=0.7, margin=0.2, width=width)
    values, slopes = loss.margin_loss(np.array([-1.3, -1e30, 5.0, np.inf]))
    np.testing.assert_allclose(values, [0.7, 0.7, 0.0, 0.0], rtol=1e-14)
    assert not np.any(slopes)
