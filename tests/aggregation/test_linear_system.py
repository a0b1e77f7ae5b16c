"""Elimination in blocks, against LAPACK."""

import tracemalloc

import numpy as np
import pytest

from skrank.aggregation import MC4, _linear_system
from skrank.aggregation._linear_system import solve_dominant


def dominant(m):
    """Return a system whose diagonal barely dominates its columns, and a target."""
    rng = np.random.default_rng(m)
    matrix = rng.normal(size=(m, m))
    np.fill_diagonal(matrix, 0.0)
    sizes = np.abs(matrix).sum(axis=0)
    np.fill_diagonal(matrix, rng.choice([-1.0, 1.0], m) * (1.01 * sizes + 0.01))
    return matrix, rng.normal(size=m)


@pytest.mark.parametrize("m", [1, 5, 7, 8, 14, 50])
def test_blocks_agree_with_lapack(m, monkeypatch):
    matrix, target = dominant(m)
    expected = np.linalg.solve(matrix, target)
    monkeypatch.setattr(_linear_system, "_ONE_CALL", 0)
    monkeypatch.setattr(_linear_system, "_BLOCK", 7)
    found = solve_dominant(matrix, target)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_one_call_solves_small_systems():
    matrix, target = dominant(30)
    expected = np.linalg.solve(matrix, target)
    np.testing.assert_array_equal(solve_dominant(matrix, target), expected)


def test_long_lists_take_one_matrix(monkeypatch):
    m = 2100
    scores = np.random.default_rng(0).normal(size=(m, 3))
    groups = np.zeros(m)
    tracemalloc.start()
    try:
        found = MC4().aggregate(scores, groups)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 13 * m**2  # a matrix of float64 and one of bytes, and blocks
    monkeypatch.setattr(_linear_system, "_ONE_CALL", m)
    expected = MC4().aggregate(scores, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
