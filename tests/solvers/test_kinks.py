"""Minima of losses with kinks, where no gradient is near 0."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skrank._objective import Objective
from skrank.energies import LinearEnergy
from skrank.losses import HingeLoss
from skrank.rankers import EnergyRanker
from skrank.solvers import LBFGS, SmoothingHomotopy, SparseLBFGS, _lbfgs
from skrank.solvers._kinks import _Way, look_around


def few_rows(seed):
    """Few documents, so that few kinks meet, and the strength of a penalty."""
    rng = np.random.RandomState(seed)
    n_queries, n_features = rng.randint(2, 6), rng.randint(1, 4)
    groups = np.repeat(np.arange(n_queries), rng.randint(3, 9, n_queries))
    X = rng.randn(len(groups), n_features)
    y = rng.randint(0, 3, len(groups))
    return (X, y, groups), 10.0 ** rng.uniform(-3, 0)


def hinge_objective(rows, alpha, w):
    X, y, groups = rows
    better, worse = np.nonzero((y[:, None] > y) & (groups[:, None] == groups))
    margins = (X[better] - X[worse]) @ w
    return np.maximum(0.0, 1.0 - margins).mean() + 0.5 * alpha * w @ w


# Where steps of L-BFGS became too short beside a kink, from 0.1 to 2 % above the
# minimum, and SciPy took this for convergence; and, without whitening and under bounds,
# other ones.
@pytest.mark.parametrize(
    ("solver", "seeds"),
    [
        (LBFGS(), [47, 99, 164, 261, 281]),
        (SparseLBFGS(l1=0.0), [20, 72, 96, 102, 199, 201, 203, 280]),
    ],
    ids=["plain", "split"],
)
def test_kinks_are_left_behind(solver, seeds):
    for seed in seeds:
        rows, alpha = few_rows(seed)
        ranker = EnergyRanker(LinearEnergy(), HingeLoss(), solver=solver, alpha=alpha)
        ranker.fit(*rows)
        assert ranker.converged_
        # At most half the last width above the minimum.
        homotopy = SmoothingHomotopy(final_width=1e-5)
        smooth = clone(ranker).set_params(solver=homotopy).fit(*rows)
        most = hinge_objective(rows, alpha, smooth.coef_)
        assert hinge_objective(rows, alpha, ranker.coef_) <= most + 1e-5
        assert ranker.n_iter_ < 200


class Pieces:
    """The largest of some planes, plus half the square of the distance from 0."""

    def __init__(self, slopes):
        self.slopes = np.asarray(slopes, dtype=np.float64)

    def value_gradient(self, w):
        heights = self.slopes @ w
        top = int(np.argmax(heights))
        return heights[top] + 0.5 * float(w @ w), self.slopes[top] + w


# With slopes of mean 0 among them, no point is lower than 0.
AROUND = [[3.0, 0.0], [-1.0, 1.0], [-1.0, -2.0]]
FREE = np.full(2, -np.inf)


def test_a_mean_of_gradients_proves_a_minimum():
    beside = np.array([1e-14, 1e-14])
    found = look_around(Pieces(AROUND).value_gradient, beside, FREE, 1e-6)
    assert found == (True, True, None)


def test_a_way_down_follows_the_crease():
    # Beside (1, 1) the two planes are equal along the diagonal, whose lowest point is
    # where the derivative of t + t² along it is 0: t = -1/2.
    evaluate = Pieces([[5.0, -4.0], [-4.0, 5.0]]).value_gradient
    found = look_around(evaluate, np.array([1.0, 1.0 + 1e-14]), FREE, 1e-6)
    assert not found.is_minimum
    assert found.has_kinks
    point, value = found.lower
    assert abs(point[0] - point[1]) < 1e-8
    assert value == pytest.approx(-0.25)
    np.testing.assert_allclose(point, -0.5, atol=1e-4)


def test_bounds_may_be_what_holds_a_minimum():
    # From 0 both planes fall along (-1, -1), which only the bounds forbid.
    evaluate = Pieces([[1.0, 2.0], [2.0, 1.0]]).value_gradient
    assert look_around(evaluate, np.zeros(2), np.zeros(2), 1e-6).is_minimum
    # With one of them the other coordinate is free. On it the lowest place is the
    # kink of -w and w / 2 - 0, at 0.
    evaluate = Pieces([[1.0, -1.0], [-0.1, 0.5]]).value_gradient
    half = np.array([0.0, -np.inf])
    assert look_around(evaluate, np.array([0.0, 1e-14]), half, 1e-6).is_minimum
    assert not look_around(evaluate, np.array([0.0, 1.0]), half, 1e-6).is_minimum


@pytest.mark.parametrize("curvature", [1.0, 1e6, 1e12])
def test_what_is_smooth_has_no_kinks(curvature):
    def evaluate(w):
        return 1.0 + 0.5 * curvature * float(w @ w), curvature * w

    for size in (1e-6, 1e-3, 1.0):
        found = look_around(evaluate, np.array([size, size]), FREE, 1e-9)
        assert not found.has_kinks
        assert found.lower is None


@pytest.mark.parametrize(
    ("solver", "advice"),
    [
        (
            LBFGS(),
            "lowers the objective; for a loss with kinks use SmoothingHomotopy or",
        ),
        (
            SparseLBFGS(),
            r"for a loss with kinks use SmoothingHomotopy\(SparseLBFGS\(\)",
        ),
    ],
    ids=["plain", "split"],
)
def test_kinks_that_hold_the_solver_are_named_with_what_helps(solver, advice):
    class Wrong:
        """A distance whose slope is wrong behind the nearest point."""

        def value_gradient(self, w):
            return abs(float(w[0])) + 1.0, np.ones(1)

    with pytest.warns(ConvergenceWarning, match=advice):
        result = solver.solve(Wrong(), np.full(1, 2.5), None)
    assert not result.converged


def test_a_slope_may_stay_below_zero_behind_a_kink():
    def evaluate(w):
        value = 1.0 - min(w[0], 5e-12) - 0.01 * max(w[0] - 5e-12, 0.0)
        return value, np.array([-1.0 if w[0] < 5e-12 else -0.01])

    assert look_around(evaluate, np.zeros(1), FREE[:1], 1e-6).has_kinks


def test_a_step_may_lie_behind_the_kink_from_the_start():
    evaluate = Pieces(AROUND).value_gradient
    way = _Way(evaluate, np.array([1.0, -1.0]), FREE, np.array([1.0, 0.0]))
    before, behind = way.turn(way.at(1e-3))
    assert before is behind
    np.testing.assert_allclose(way.lowest(before, behind)[0], [1.001, -1.0])


def test_pieces_of_equal_slope():
    # Of documents of zeros and ones, so that there is no place where tangents meet.
    rows = ["10", "00", "01", "00", "00", "11", "01", "11", "00", "10", "01", "01"]
    X = np.array([list(map(float, row)) for row in rows])
    y = np.array([0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 1])
    groups = np.repeat([0, 1, 2], [2, 5, 5])
    solver = SparseLBFGS()
    ranker = EnergyRanker(LinearEnergy(), HingeLoss(), solver=solver, alpha=0.0)
    ranker.fit(X, y, groups)
    better, worse = np.nonzero((y[:, None] > y) & (groups[:, None] == groups))
    pairs = X[better] - X[worse]
    n, d = pairs.shape
    cost = np.concatenate([np.full(2 * d, solver.l1), np.full(n, 1.0 / n)])
    lacks = np.hstack([-pairs, pairs, -np.eye(n)])
    best = linprog(cost, A_ub=lacks, b_ub=-np.ones(n)).fun
    found = np.maximum(0.0, 1.0 - pairs @ ranker.coef_).mean()
    assert found + solver.l1 * np.abs(ranker.coef_).sum() <= best * (1.0 + 1e-6)


@pytest.mark.parametrize("convex", [True, False])
def test_only_where_the_objective_is_convex(convex, monkeypatch):
    looked = []

    def look(*given):
        looked.append(given)
        return look_around(*given)

    monkeypatch.setattr(_lbfgs, "look_around", look)
    monkeypatch.setattr(Objective, "convex", convex)
    rows, alpha = few_rows(47)
    EnergyRanker(LinearEnergy(), HingeLoss(), solver=LBFGS(), alpha=alpha).fit(*rows)
    assert bool(looked) == convex


class Hinges:
    """The objective of few rows, in plain coordinates."""

    def __init__(self, seed):
        (X, y, groups), self.alpha = few_rows(seed)
        better, worse = np.nonzero((y[:, None] > y) & (groups[:, None] == groups))
        self.differences = X[better] - X[worse]

    def value_gradient(self, w):
        lack = 1.0 - self.differences @ w
        slope = (lack > 0.0) @ self.differences / len(lack)
        value = np.maximum(0.0, lack).mean() + 0.5 * self.alpha * float(w @ w)
        return value, self.alpha * w - slope


def stopping_at(last, objective, heard):
    def monitor(params, n_iter, value):
        heard.append(objective.value_gradient(params)[0])
        return n_iter == last

    return monitor


@pytest.mark.parametrize(
    "solver", [LBFGS(), SparseLBFGS(l1=0.0)], ids=["plain", "split"]
)
def test_a_monitor_hears_of_every_step_and_may_stop_at_each(solver):
    for seed in (47, 96, 280):
        objective = Hinges(seed)
        start = np.zeros(objective.differences.shape[1])
        whole = solver.solve(objective, start, None)
        assert whole.converged
        assert len(whole.history) == whole.n_iter
        assert (np.diff(whole.history) <= 0).all()
        for n in range(1, whole.n_iter):
            heard = []
            monitor = stopping_at(n, objective, heard)
            part = solver.solve(objective, start, None, monitor)
            assert part.converged
            assert part.n_iter == n
            assert part.history == whole.history[:n]
            np.testing.assert_allclose(heard, part.history, rtol=1e-12)
            limited = clone(solver).set_params(max_iter=n)
            with pytest.warns(ConvergenceWarning, match=f"after {n} iterations"):
                part = limited.solve(objective, start, None)
            assert part.history == whole.history[:n]
