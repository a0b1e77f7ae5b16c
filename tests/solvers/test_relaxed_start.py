"""Capped losses from the minimum of the loss without its cap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.energies import LinearEnergy
from skrank.losses import LogLoss, LVQ2Loss
from skrank.solvers import LBFGS, RelaxedStart


def objective(loss):
    """Pairs of documents: eight a distance 1 apart, two -2."""
    difference = np.array([1.0] * 8 + [-2.0] * 2)
    X = np.zeros((20, 1))
    X[::2, 0] = difference
    y = np.tile([1.0, 0.0], 10)
    return Objective(LinearEnergy(), loss, GroupedRows(X, y, np.arange(0, 21, 2)), 0.0)


@pytest.fixture
def solver():
    return RelaxedStart(LBFGS(), tol=1e-9)


def test_leaves_a_flat_region(solver):
    # At -10 the eight pairs are beyond the cap and the two others satisfied. Without
    # the cap the mean slope is -0.8, then -0.8 + 0.4, up to the margin of the eight.
    capped = objective(LVQ2Loss(cap=1.5, margin=1.0, width=0.01))
    start, rng = np.array([-10.0]), np.random.RandomState(0)
    with pytest.warns(ConvergenceWarning, match="use RelaxedStart"):
        stuck = LBFGS(tol=1e-9).solve(capped, start, rng)
    freed = solver.solve(capped, start, rng)
    assert stuck.params.tolist() == [-10.0]
    # All eight hold their margin of 1 but for the parabola; the two are given up.
    assert freed.params[0] > 0.98
    assert_allclose(stuck.value, 0.8 * 1.5)
    assert_allclose(freed.value, 0.2 * 1.5, atol=1e-3)
    assert_allclose(freed.value, capped.value_gradient(freed.params)[0])


def test_monitor_sees_both_problems(solver):
    capped = objective(LVQ2Loss(cap=1.5, margin=1.0, width=0.5))
    seen = []

    def monitor(params, n_iter, value):
        seen.append(n_iter)
        return False

    result = solver.solve(capped, np.array([-1.0]), np.random.RandomState(0), monitor)
    assert seen == list(range(1, result.n_iter + 1))
    stopped = solver.solve(
        capped, np.array([-1.0]), np.random.RandomState(0), lambda *_: True
    )
    assert stopped.n_iter == 1


def test_a_loss_without_a_cap_is_named(solver):
    with pytest.raises(TypeError, match="LogLoss has no cap to relax"):
        solver.solve(objective(LogLoss()), np.zeros(1), np.random.RandomState(0))
