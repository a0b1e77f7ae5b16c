"""What every loss must satisfy."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skrank.losses import (
    BoltzmannLoss,
    CDNLoss,
    EnergyLoss,
    HingeLoss,
    LambdaLoss,
    ListMLELoss,
    ListNetLoss,
    ListwiseEnergyLoss,
    LogisticLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    MEELoss,
    NLLLoss,
    PerceptronLoss,
    SquaredHingeLoss,
    SquaredLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)

# Few documents may well be alike to a measure.
pytestmark = pytest.mark.filterwarnings("ignore:.*tells no documents of a query apart")
LOSSES = [
    SquaredLoss(),
    LogisticLoss(),
    LogisticLoss(threshold=2),
    LogLoss(),
    LogLoss(sigma=2.5),
    HingeLoss(),
    HingeLoss(margin=0.3),
    SquaredHingeLoss(),
    SquaredHingeLoss(margin=0.3),
    HingeLoss(margin=1.0, width=0.4),
    ListNetLoss(),
    ListNetLoss(gain="exp2"),
    ListNetLoss(top_k=2),
    ListNetLoss(top_k=3, n_samples=4),
    ListMLELoss(),
    ListMLELoss(top_k=2, ties="stable"),
    ListMLELoss(ties="random", position_weights="p", random_state=0),
    ListMLELoss(position_weights="log2"),
    ListwiseEnergyLoss(),
    ListwiseEnergyLoss(top_k=2, cap=np.inf, margin=1.0, normalization="sublist"),
    ListwiseEnergyLoss(top_k=None, cap=0.7, margin=0.5, ties="stable"),
    ListwiseEnergyLoss(cap=1.0, margin=0.5, ties="random", random_state=0),
    ListwiseEnergyLoss(cap=0.9, margin=0.5, width=0.4),
    BoltzmannLoss(),
    BoltzmannLoss("map", n_samples=7, mix=0.0),
    BoltzmannLoss("ndcg@3", mix=1.0, g="logistic", scale=3.0),
    LambdaLoss(),
    LambdaLoss("ndcg@3", truncation=2, sigma=2.0),
    LambdaLoss("map"),
    LambdaLoss("rr"),
    LambdaLoss("err"),
    LambdaLoss("ndcg", normalize=True),
    CDNLoss(),
    CDNLoss(average="query"),
    CDNLoss("disconnected"),
    CDNLoss("star"),
    EnergyLoss(),
    PerceptronLoss(),
    HingeLoss(margin=0.3),
    HingeLoss(width=0.4),
    LVQ2Loss(cap=0.7),
    LVQ2Loss(cap=0.7, margin=0.3, width=0.2),
    LogLoss(),
    MCELoss(),
    MCELoss(beta=2.5),
    SquareSquareLoss(margin=0.7),
    SquareExponentialLoss(gamma=0.5),
    NLLLoss(beta=2.5),
    MEELoss(beta=0.5),
]
# These know rows only by their order.
ROW_DEPENDENT = ("stable", "random")

each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


@st.composite
def ragged_data(draw, max_size=8):
    """Grades, scores without ties, positive weights and pointer array."""
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = sum(sizes)
    y = rng.integers(0, 4, n).astype(float)
    scores = rng.permutation(n) * 0.21 + rng.uniform(0.0, 0.1, n) - 0.1 * n
    return y, scores, rng.uniform(0.2, 2.0, n), np.concatenate(([0], np.cumsum(sizes)))


@pytest.fixture
def data(rng):
    """A fixed draw of ragged data."""
    sizes = np.array([5, 1, 7, 3, 9, 2])
    n = sizes.sum()
    y = rng.integers(0, 4, n).astype(float)
    y[6:13] = 1.0  # a query whose grades are all equal
    scores = rng.permutation(n) * 0.21 + rng.uniform(0.0, 0.1, n) - 2.0
    return y, scores, rng.uniform(0.2, 2.0, n), np.concatenate(([0], np.cumsum(sizes)))


def finite_differences(function, x, step=1e-3):
    """Fourth-order central differences of a scalar function."""
    gradient = np.empty_like(x)
    for i in range(len(x)):
        e = np.zeros_like(x)
        e[i] = step
        gradient[i] = (
            8.0 * (function(x + e) - function(x - e))
            - (function(x + 2.0 * e) - function(x - 2.0 * e))
        ) / (12.0 * step)
    return gradient


def holds_factor(loss):
    """Whether a factor of the loss is held fixed that differences would see."""
    return getattr(loss, "normalize", False)


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_the_derivative_of_the_value(loss, weighted, data):
    if holds_factor(loss):
        pytest.skip("the normalising factor is held fixed, as the deltas are")
    y, scores, weight, ptr = data
    prepared = loss.prepare(y, ptr, weight if weighted else None)
    _, gradient = prepared.value_gradient(scores)
    expected = finite_differences(
        lambda s: prepared.value_gradient(s)[0].sum(), scores, step=1e-4
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


@each_loss
def test_hessian_is_the_derivative_of_the_gradient(loss, data):
    y, scores, weight, ptr = data
    prepared = loss.prepare(y, ptr, weight)
    if not loss.has_hessian:
        assert not hasattr(prepared, "gradient_hessian")
        return
    values, gradient, hessian = prepared.gradient_hessian(scores)
    for found, expected in zip((values, gradient), prepared.value_gradient(scores)):
        np.testing.assert_array_equal(found, expected)
    if holds_factor(loss):
        return
    for i in range(len(scores)):
        expected = finite_differences(
            lambda s, i=i: prepared.value_gradient(
                scores + s * (np.arange(len(y)) == i)
            )[1][i],
            np.zeros(1),
            step=1e-4,
        )
        np.testing.assert_allclose(hessian[i], expected[0], rtol=1e-6, atol=1e-7)


@each_loss
def test_prepare_once_equals_evaluating_once(loss, data):
    y, scores, weight, ptr = data
    prepared = loss.prepare(y, ptr, weight)
    for found, expected in zip(
        loss.value_gradient(y, scores, ptr, weight), prepared.value_gradient(scores)
    ):
        np.testing.assert_array_equal(found, expected)
    assert prepared.total_weight > 0
    np.testing.assert_array_equal(loss.to_scores(scores), scores)


@each_loss
@settings(max_examples=10, deadline=None)
@given(data=ragged_data())
def test_queries_do_not_see_each_other(loss, data):
    if getattr(loss, "ties", None) == "random" or getattr(loss, "top_k", 1) == 3:
        return  # what is drawn depends on the whole data set
    y, scores, weight, ptr = data
    values, gradient = loss.value_gradient(y, scores, ptr, weight)
    for q, (a, b) in enumerate(pairwise(ptr)):
        value, slope = loss.value_gradient(y[a:b], scores[a:b], [0, b - a], weight[a:b])
        np.testing.assert_allclose(value[0], values[q], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(slope, gradient[a:b], rtol=1e-12, atol=1e-13)


@each_loss
@settings(max_examples=10, deadline=None)
@given(data=ragged_data(), shift=st.floats(-5, 5))
def test_shift_of_a_query(loss, data, shift):
    y, scores, weight, ptr = data
    if not loss.shift_invariant:
        return
    shifts = shift * np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    values, gradient = loss.value_gradient(y, scores, ptr, weight)
    shifted = loss.value_gradient(y, scores + shifts, ptr, weight)
    np.testing.assert_allclose(shifted[0], values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(shifted[1], gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.add.reduceat(gradient, ptr[:-1]), 0.0, atol=1e-10)


@each_loss
@settings(max_examples=10, deadline=None)
@given(data=ragged_data(), seed=st.integers(0, 100))
def test_order_of_rows_within_a_query_does_not_matter(loss, data, seed):
    if isinstance(loss, BoltzmannLoss):
        return  # which of equal grades comes first is drawn by row
    if getattr(loss, "ties", None) in ROW_DEPENDENT or getattr(loss, "top_k", 1) == 3:
        return
    y, scores, weight, ptr = data
    query = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    moved = np.lexsort((np.random.default_rng(seed).random(len(y)), query))
    values, gradient = loss.value_gradient(y, scores, ptr, weight)
    found = loss.value_gradient(y[moved], scores[moved], ptr, weight[moved])
    np.testing.assert_allclose(found[0], values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[1], gradient[moved], rtol=1e-10, atol=1e-12)


@each_loss
def test_queries_without_preference(loss):
    if loss.unit == "document":
        return  # every document counts
    y = np.array([2.0, 1.0, 1.0, 1.0, 3.0, 0.0])  # sizes 1, 3 (equal), 2
    ptr = [0, 1, 4, 6]
    prepared = loss.prepare(y, ptr)
    values, gradient = prepared.value_gradient(np.linspace(1.0, -1.0, 6) ** 3)
    assert values[:2].tolist() == [0.0, 0.0]
    assert gradient[:4].tolist() == [0.0] * 4
    assert prepared.total_weight == 1.0  # one pair, one query
    without = loss.prepare(y[:4], ptr[:3])
    assert without.total_weight == 0.0
    assert not np.any(without.value_gradient(np.arange(4.0))[1])


@each_loss
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_scores_give_finite_results(loss, scale, data):
    y, scores, weight, ptr = data
    prepared = loss.prepare(y, ptr, weight)
    for found in prepared.value_gradient(scale * scores):
        assert np.all(np.isfinite(found))
    if scale < 1:  # as good as equal scores
        np.testing.assert_allclose(
            prepared.value_gradient(scale * scores)[0],
            prepared.value_gradient(1e-60 * scores)[0],
            rtol=1e-12,
            atol=1e-25,
        )


@each_loss
def test_constant_weight_of_a_query_is_repetition_of_the_query(loss, data):
    if holds_factor(loss) or getattr(loss, "ties", None) == "random":
        return  # neither is linear in the weight of a query
    if getattr(loss, "top_k", 1) == 3:
        return
    y, scores, _, ptr = data
    query = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    twice = np.flatnonzero(query == 0)
    rows = np.concatenate((np.arange(len(y)), twice))
    weighted = loss.prepare(y, ptr, np.where(query == 0, 2.0, 1.0))
    repeated = loss.prepare(y[rows], np.append(ptr, ptr[-1] + len(twice)))
    values, gradient = weighted.value_gradient(scores)
    again, slopes = repeated.value_gradient(scores[rows])
    np.testing.assert_allclose(weighted.total_weight, repeated.total_weight)
    np.testing.assert_allclose(values.sum(), again.sum(), rtol=1e-12)
    summed = np.bincount(rows, slopes)
    np.testing.assert_allclose(gradient, summed, rtol=1e-12, atol=1e-14)


@each_loss
def test_kinds_of_arrays(loss, data):
    y, scores, weight, ptr = data
    scores = scores.astype(np.float32)
    expected = loss.value_gradient(y, scores.astype(np.float64), ptr, weight)
    for array in (y, scores, weight, ptr):
        array.flags.writeable = False
    variants = [
        (y, scores, ptr, weight),
        (y.astype(np.int32), scores, ptr.astype(np.int32), weight),
        (y.tolist(), scores.tolist(), ptr.tolist(), weight.tolist()),
        (np.repeat(y, 2)[::2], np.repeat(scores, 2)[::2], ptr, weight),
    ]
    for arguments in variants:
        for found, reference in zip(loss.value_gradient(*arguments), expected):
            np.testing.assert_array_equal(found, reference)
            assert found.dtype == np.float64


@each_loss
@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_a_bit(loss, n_threads):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 120, 100)  # above the size that runs on one thread
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    y = rng.integers(0, 4, ptr[-1]).astype(float)
    scores = rng.normal(size=len(y))
    one = loss.value_gradient(y, scores, ptr)
    many = loss.value_gradient(y, scores, ptr, n_threads=n_threads)
    for a, b in zip(one, many):
        np.testing.assert_array_equal(a, b)


@each_loss
def test_pickle_and_clone(loss, data):
    y, scores, weight, ptr = data
    expected = loss.value_gradient(y, scores, ptr, weight)
    prepared = pickle.loads(pickle.dumps(loss.prepare(y, ptr, weight)))
    for copy in (pickle.loads(pickle.dumps(loss)), clone(loss)):
        assert copy.get_params() == loss.get_params()
        for found, reference in zip(
            copy.value_gradient(y, scores, ptr, weight), expected
        ):
            np.testing.assert_array_equal(found, reference)
    for found, reference in zip(prepared.value_gradient(scores), expected):
        np.testing.assert_array_equal(found, reference)


@each_loss
def test_convex_losses_lie_above_their_tangents(loss, data):
    y, scores, weight, ptr = data
    if not loss.convex:
        return
    prepared = loss.prepare(y, ptr, weight)
    rng = np.random.default_rng(0)
    values, gradient = prepared.value_gradient(scores)
    for _ in range(20):
        step = rng.normal(size=len(scores))
        tangent = values.sum() + gradient @ step
        assert prepared.value_gradient(scores + step)[0].sum() >= tangent - 1e-9


@each_loss
@pytest.mark.parametrize("name", ["y", "raw", "sample_weight"])
def test_wrong_length_names_the_argument(loss, name, data):
    y, scores, weight, ptr = data
    arguments = {"y": y, "raw": scores, "sample_weight": weight}
    arguments[name] = arguments[name][:-1]
    with pytest.raises(ValueError, match=f"{name} must have one number per document"):
        loss.value_gradient(
            arguments["y"], arguments["raw"], ptr, arguments["sample_weight"]
        )


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (LogLoss(sigma=0.0), "sigma must be a number > 0, got 0.0"),
        (LogLoss(sigma="1"), "sigma must be a number > 0, got '1'"),
        (HingeLoss(margin=-1.0), "margin must be a number >= 0, got -1.0"),
        (ListNetLoss(gain="squared"), "gain must be"),
        (ListNetLoss(top_k=0), "top_k must be"),
        (ListMLELoss(ties="first"), "ties must be 'best', 'average', 'partition',"),
        (ListMLELoss(top_k=0), "top_k must be a whole number >= 1 or None, got 0"),
        (
            ListMLELoss(position_weights="q"),
            "position_weights must be 'p' or",
        ),
        (ListMLELoss(position_weights=[-1.0]), "one finite weight >= 0 per position"),
        (
            LambdaLoss(truncation=0),
            "truncation must be a whole number >= 1",
        ),
        (LambdaLoss(sigma=-1.0), "sigma must be a number > 0"),
        (LambdaLoss("gcnd"), "gcnd"),
    ],
)
def test_bad_hyper_parameters(loss, message):
    with pytest.raises(ValueError, match=message):
        loss.prepare([1.0, 0.0], [0, 2])
