"""Sigmoid pairs and pair weights against loops over pairs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from skrank._core import _one_pass, _pair_losses, _segments


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def graded(request):
    """Grades, scores, weights, pointer array; among the queries an empty one."""
    rng = np.random.default_rng(0)
    sizes = np.array([5, 0, 1, 30, 4, 67])
    n = sizes.sum()
    y = rng.integers(0, 4, n).astype(float)
    y[36:40] = 2.0  # a query whose grades are all equal
    weight = rng.uniform(0.2, 2.0, n) if request.param else None
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    return y, rng.normal(size=n), weight, ptr


def pairs_of(y, a, b):
    """Rows (preferred, other) of all preference pairs of one query."""
    return a + np.argwhere(y[a:b, None] > y[a:b])


def test_pair_weights(graded):
    y, _, weight, ptr = graded
    w = np.ones(len(y)) if weight is None else weight
    preferred, other = np.zeros(len(y)), np.zeros(len(y))
    for a, b in pairwise(ptr):
        for u, v in pairs_of(y, a, b):
            preferred[u] += w[u]
            other[v] += w[u]
    found = _pair_losses.pair_weights(ptr, *_segments.label_order(y, ptr), weight)
    np.testing.assert_allclose(found[0], preferred, rtol=1e-13)
    np.testing.assert_allclose(found[1], other, rtol=1e-13)


# The largest ranges leave the doubles when exponentials are factorised.
@pytest.mark.parametrize("scale", [1e-30, 1.0, 50.0, 1e4, 1e30])
@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_sigmoid_pairs(graded, scale, beta):
    y, scores, weight, ptr = graded
    scores = scale * scores
    w = np.ones(len(y)) if weight is None else weight
    order, lower = _segments.label_order(y, ptr)
    values, gradient = _pair_losses.sigmoid(scores, ptr, order, lower, weight, beta, 1)
    expected = np.zeros(len(y))
    for q, (a, b) in enumerate(pairwise(ptr)):
        value = 0.0
        for u, v in pairs_of(y, a, b):
            z = beta * (scores[v] - scores[u])
            value += w[u] * expit(z)
            slope = w[u] * beta * expit(z) * expit(-z)
            expected[u] -= slope
            expected[v] += slope
        np.testing.assert_allclose(values[q], value, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12)


def test_threads_do_not_change_a_bit(graded):
    y, scores, weight, ptr = graded
    order, lower = _segments.label_order(y, ptr)
    one, two = (
        _pair_losses.sigmoid(scores, ptr, order, lower, weight, 1.0, n) for n in (1, 2)
    )
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_offenders_and_scatter(n_labels):
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 3, (40, n_labels)).astype(float)  # with ties
    column = rng.integers(0, n_labels, 40).astype(np.intp)
    rows = np.arange(40)
    energies = -raw
    right, wrong, offender = _one_pass.offenders(raw, column)
    np.testing.assert_array_equal(right, energies[rows, column])
    energies[rows, column] = np.inf
    np.testing.assert_array_equal(wrong, energies.min(axis=1))
    np.testing.assert_array_equal(offender, energies.argmin(axis=1))
    up, down = rng.normal(size=(2, 40))
    expected = np.zeros((40, n_labels))
    expected[rows, column] = up
    expected[rows, offender] += down
    found = _one_pass.scatter(up, down, column, offender, n_labels)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_neighbours_of_a_document_beside_equal_ones(place):
    """One document of another grade, and some at the end that are equal next to it.

    Its neighbours are found without sorting where they are single documents; memory
    behind the arrays must not be read for those that are not.
    """
    scores = np.array([1.0, 0.0, -1.0, 0.5, 0.5])
    scores[0] = {"first": 1.0, "middle": 0.5, "last": -2.0}[place]
    y = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    by_rank = np.array([0.9, 0.7, 0.5, 0.3, 0.1])
    values, gradient, hessian = _pair_losses.neighbour_pairs(
        scores,
        np.array([0, 5], dtype=np.intp),
        y,
        y,
        np.zeros((1, 5)),
        by_rank,
        np.ones(1),
        None,
        1,
    )
    order = np.argsort(-scores, kind="stable")
    expected, slopes, curvatures = 0.0, np.zeros(5), np.zeros(5)
    for rank, (a, b) in enumerate(pairwise(order)):
        if y[a] == y[b]:
            continue
        u, v = (a, b) if y[a] > y[b] else (b, a)
        wrong = expit(scores[v] - scores[u])
        expected += by_rank[rank] * np.logaddexp(0.0, scores[v] - scores[u])
        slopes[u] -= by_rank[rank] * wrong
        slopes[v] += by_rank[rank] * wrong
        curvatures[[u, v]] += by_rank[rank] * wrong * (1.0 - wrong)
    np.testing.assert_allclose(values, [expected], rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(hessian, curvatures, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 20_001])
def test_logistic_noise(n):
    bits = np.random.default_rng(n).integers(2**32, size=(2, n), dtype=np.uint32)
    bits[:, :3] = np.array([0, 2**32 - 1, 2**31], dtype=np.uint32)[:n]
    u = (bits + 0.5) / 2.0**32
    expected = 0.5 * np.log(u / (1.0 - u))
    found = _pair_losses.logistic_noise(bits, 0.5, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    np.testing.assert_array_equal(found, _pair_losses.logistic_noise(bits, 0.5, 2))
