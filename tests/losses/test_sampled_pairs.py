"""Losses over drawn pairs."""

import numpy as np
import pytest

from skrank.losses import (
    HingeLoss,
    ListNetLoss,
    LogLoss,
    SampledPairsLoss,
    SquareExponentialLoss,
)


@pytest.fixture
def data(rng):
    ptr = np.array([0, 6, 7, 15, 19])
    y = rng.integers(0, 3, size=19).astype(float)
    y[15:] = 2.0  # a query without preference
    return y, rng.normal(size=19), rng.uniform(0.5, 2.0, 19), ptr


@pytest.mark.parametrize("against", ["lower", "zero"])
@pytest.mark.parametrize("loss", [LogLoss(), SquareExponentialLoss(0.5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_expectation_is_the_loss_over_all_pairs(loss, against, weighted, data):
    y, scores, weight, ptr = data
    weight = weight if weighted else np.ones(len(y))
    values, gradient, total = np.zeros(4), np.zeros(len(y)), 0.0
    for q in range(4):
        for u in range(ptr[q], ptr[q + 1]):
            for v in range(ptr[q], ptr[q + 1]):
                if y[u] > y[v] and (against == "lower" or y[v] == 0):
                    parts = loss.pair_loss(scores[u : u + 1], scores[v : v + 1])
                    value, up, down = (weight[u] * part[0] for part in parts)
                    values[q] += value
                    gradient[u] += up
                    gradient[v] += down
                    total += weight[u]
    sampled = SampledPairsLoss(loss, 40_000, random_state=0, against=against)
    prepared = sampled.prepare(y, ptr, weight)
    found, slopes = prepared.value_gradient(scores)
    np.testing.assert_allclose(prepared.total_weight, total)
    np.testing.assert_allclose(found, values, rtol=0.03)
    np.testing.assert_allclose(slopes, gradient, atol=0.03 * np.abs(gradient).max())


@pytest.mark.parametrize("against", ["lower", "zero"])
def test_pairs_are_uniform_within_their_query(against, data):
    y, _, _, ptr = data
    loss = SampledPairsLoss(LogLoss(), 20_000, random_state=1, against=against)
    prepared = loss.prepare(y, ptr)
    query = np.repeat(np.arange(4), np.diff(ptr))
    allowed = (query[:, None] == query) & (y[:, None] > y)
    if against == "zero":
        allowed &= y == 0
    counts = np.zeros((19, 19))
    np.add.at(counts, (prepared.better, prepared.worse), 1)
    assert np.all(counts[~allowed] == 0)
    for q in range(4):
        there = allowed & (query == q)[:, None]
        if there.any():
            expected = 20_000 / there.sum()
            deviation = np.abs(counts[there] - expected) / np.sqrt(expected)
            assert deviation.max() < 5


def test_gradient_is_the_derivative_for_the_pairs_drawn(data):
    y, scores, weight, ptr = data
    prepared = SampledPairsLoss(LogLoss(), 7, random_state=0).prepare(y, ptr, weight)
    _, gradient = prepared.value_gradient(scores)
    step = 1e-6
    for i in range(len(y)):
        e = step * (np.arange(len(y)) == i)
        up, down = (prepared.value_gradient(scores + s * e)[0].sum() for s in (1, -1))
        np.testing.assert_allclose(gradient[i], (up - down) / (2 * step), atol=1e-7)


def test_what_a_seed_means(data):
    y, _, _, ptr = data

    def pairs(loss):
        prepared = loss.prepare(y, ptr)
        return prepared.better.tolist(), prepared.worse.tolist()

    fixed = SampledPairsLoss(LogLoss(), 9, random_state=3)
    assert pairs(fixed) == pairs(fixed)
    fresh = SampledPairsLoss(LogLoss(), 9, np.random.RandomState(3))
    first, second = pairs(fresh), pairs(fresh)
    assert first == pairs(fixed)
    assert first != second


def test_data_without_pairs():
    prepared = SampledPairsLoss(LogLoss(), 3, random_state=0).prepare(
        [1.0, 1.0, 0.0], [0, 2, 3]
    )
    values, gradient = prepared.value_gradient([0.1, 0.2, 0.3])
    assert prepared.total_weight == 0
    assert values.tolist() == [0.0, 0.0]
    assert gradient.tolist() == [0.0, 0.0, 0.0]


def test_flags_and_smoothing_are_those_of_the_loss(data):
    y, scores, _, ptr = data
    loss = SampledPairsLoss(HingeLoss(0.5), 5, random_state=0)
    assert (loss.convex, loss.shift_invariant, loss.reads_labels) == (True, True, True)
    smooth = loss.smoothed(0.2)
    assert smooth.loss.width == 0.2
    sharp, bent = (part.value_gradient(y, scores, ptr)[0] for part in (loss, smooth))
    assert np.all(np.abs(sharp - bent) <= 0.1 * loss.prepare(y, ptr).total_weight)


def test_label_energies_count_with_their_minimum(data, rng):
    y, _, _, ptr = data
    raw = rng.normal(size=(19, 3))
    loss = SampledPairsLoss(HingeLoss(), 5, random_state=0)
    values, gradient = loss.prepare(y, ptr, labels=[0, 1, 2]).value_gradient(raw)
    expected, slopes = loss.prepare(y, ptr).value_gradient(raw.max(axis=1))
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(gradient.sum(axis=1), slopes)


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (SampledPairsLoss(ListNetLoss()), TypeError, "loss must be a pairwise loss"),
        (SampledPairsLoss(LogLoss(reading="pointwise")), TypeError, "pairwise loss"),
        (
            SampledPairsLoss(LogLoss(), 0),
            ValueError,
            "n_pairs must be a whole number",
        ),
        (
            SampledPairsLoss(LogLoss(), 1.5),
            ValueError,
            "n_pairs must be a whole number",
        ),
        (
            SampledPairsLoss(LogLoss(), against="0"),
            ValueError,
            "against must be 'lower'",
        ),
    ],
)
def test_bad_arguments(loss, error, message):
    with pytest.raises(error, match=message):
        loss.prepare([1.0, 0.0], [0, 2])


def test_grades_without_zero_are_warned_of_once(data):
    y, _, _, ptr = data
    loss = SampledPairsLoss(LogLoss(), 3, random_state=0, against="zero")
    with pytest.warns(UserWarning, match="found no pair to train on.*against='lower'"):
        prepared = loss.prepare(y + 1.0, ptr)
    assert prepared.total_weight == 0
    loss._bind(y + 1.0, ptr)  # batches are not the place to say so
    loss.prepare(y, ptr)
