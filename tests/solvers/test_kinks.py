"""Minima of losses with kinks, where no gradient is near 0."""

import numpy as np
import pytest
from _line import Line
from scipy.optimize import linprog, nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skrank._objective import Objective
from skrank.energies import LinearEnergy
from skrank.losses import HingeLoss
from skrank.rankers import EnergyRanker
from skrank.solvers import LBFGS, SmoothingHomotopy, SparseLBFGS, _lbfgs
from skrank.solvers._kinks import (
    Surroundings,
    _shortest_mean,
    _Way,
    look_around,
    projected,
)


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


def surroundings(monkeypatch, lower):
    """Replace what is found around any point; return the list of the looks."""
    looks = []

    def look(*given):
        looks.append(given)
        assert len(looks) < 9
        return Surroundings(False, True, lower)

    monkeypatch.setattr(_lbfgs, "look_around", look)
    return looks


def leaps_that_lower(monkeypatch, share, slope):
    """Replace leaps: the first two lower the objective by a share of it.

    Behind each, the gradient is that before it times ``slope``.
    """
    leaps = []

    def leap(run, result, lower, bounds, limits):
        leaps.append(lower)
        result.nit += 1
        if len(leaps) <= 2:
            result.fun -= share * result.fun
        result.jac = slope * result.jac
        return result

    monkeypatch.setattr(_lbfgs.LbfgsRun, "_after_leap", leap)
    return leaps


@pytest.mark.parametrize(("share", "n_leaps"), [(0.0, 1), (1e-12, 1), (1e-10, 3)])
def test_leaps_go_on_as_long_as_they_lower_something(share, n_leaps, monkeypatch):
    surroundings(monkeypatch, (np.zeros(1), 0.0))
    leaps = leaps_that_lower(monkeypatch, share, slope=1.0)
    objective = Hinges(47)
    start = np.zeros(objective.differences.shape[1])
    with pytest.warns(ConvergenceWarning, match="no step along its direction"):
        assert not LBFGS().solve(objective, start, None).converged
    assert len(leaps) == n_leaps


@pytest.mark.parametrize("share", [0.0, 1e-12, 1e-10])
def test_a_leap_to_where_all_is_flat_is_the_last_one(share, monkeypatch):
    surroundings(monkeypatch, (np.zeros(1), 0.0))
    leaps = leaps_that_lower(monkeypatch, share, slope=0.0)
    objective = Hinges(47)
    start = np.zeros(objective.differences.shape[1])
    assert LBFGS().solve(objective, start, None).converged
    assert len(leaps) == 1


def test_no_way_down_beside_a_kink_ends_the_search(monkeypatch):
    looks = surroundings(monkeypatch, None)
    objective = Hinges(47)
    start = np.zeros(objective.differences.shape[1])
    with pytest.warns(ConvergenceWarning, match="no step along its direction"):
        assert not LBFGS().solve(objective, start, None).converged
    assert len(looks) == 1


def test_nothing_lies_around_a_minimum_at_a_bound(monkeypatch):
    class AtBound:
        """The square of the distance from -1, among the numbers from 0 on."""

        convex = True
        lower_bounds = np.zeros(1)

        def constraint(self):
            return self

        def value_gradient(self, w):
            return float((w[0] + 1.0) ** 2), 2.0 * (w + 1.0)

    looks = surroundings(monkeypatch, None)
    result = LBFGS().solve(AtBound(), np.ones(1), None)
    assert result.converged
    assert result.params.tolist() == [0.0]
    assert looks == []


def way_on(line):
    """Return the way from 0 on which a line is looked at."""
    return _Way(line, np.zeros(1), FREE[:1], np.ones(1))


def bent(kink, slope=1.0, height=0.0):
    """A line that falls up to a kink, and then rises as steeply."""
    return Line(
        lambda t: height + slope * (abs(t - kink) - kink),
        lambda t: slope if t >= kink else -slope,
    )


def test_bounds_take_what_leads_out_of_them():
    pinned = np.array([False, False, True, True])
    found = projected(np.array([-2.0, 2.0, -2.0, 2.0]), pinned)
    assert found.tolist() == [-2.0, 2.0, -2.0, 0.0]


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(
    ("gradients", "pinned", "shortest"),
    [
        # The foot of the perpendicular from 0 on a line, or the nearer end.
        ([[3, 0], [0, 4]], [], [1.92, 1.44]),
        ([[1, 0], [3, 1]], [], [1, 0]),
        ([[3, 1], [1, 0]], [], [1, 0]),
        # Within a triangle lies 0; of another one, a side is nearest.
        ([[3, 0], [-1, 1], [-1, -2]], [], [0, 0]),
        ([[3, 2], [-3, 2], [0, 9]], [], [0, 2]),
        # Bounds leave nothing of what leads out of them.
        ([[1, 5]], [1], [1, 0]),
        ([[1, 5], [-1, 5]], [1], [0, 0]),
        ([[1, -2], [1, 2]], [0], [0, 0]),
        ([[1, -2], [1, -4]], [0, 1], [0, -2]),
    ],
)
def test_the_shortest_mean(gradients, pinned, shortest, unit):
    fixed = np.isin(np.arange(2), pinned)
    found = _shortest_mean(list(unit * np.array(gradients, dtype=float)), fixed)
    np.testing.assert_allclose(found / unit, shortest, atol=1e-9)


@pytest.mark.parametrize("n", [3, 10, 40])
@pytest.mark.parametrize("seed", range(5))
def test_no_mean_of_many_gradients_is_shorter(n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 12)) + 0.3
    found = _shortest_mean(list(rows), np.zeros(12, dtype=bool))
    # The hyperplane through it, at right angles, has all gradients behind it.
    assert (rows @ found >= found @ found - 1e-7).all()
    _, rest = nnls(np.vstack([rows.T, np.ones(n)]), np.append(found, 1.0))
    assert rest < 1e-7


@pytest.mark.parametrize("slope", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("height", [0.0, 1e-3, -1e3, 1e3])
def test_how_near_a_kink_is_beside_a_point(slope, height):
    """Within 1e-10 of the objective; a tenth of it must be left to call it a descent.

    After a step of 1 to a kink at p, the decrease is 2 p - 1.
    """
    reach = 1e-10 * max(1.0, abs(height)) / slope
    near, far = bent(0.54 * reach, slope, height), bent(0.56 * reach, slope, height)
    flat = 1e-6 * slope
    assert look_around(near, np.zeros(1), FREE[:1], flat) == (True, True, None)
    found = look_around(far, np.zeros(1), FREE[:1], flat)
    assert not found.is_minimum
    assert found.lower[1] < height


def test_a_gradient_that_is_as_flat_as_asked_for_is_enough():
    steep = Line(lambda t: 0.25 * t, lambda t: 0.25)
    assert look_around(steep, np.zeros(1), FREE[:1], 0.25) == (True, False, None)
    assert look_around(steep, np.zeros(1), FREE[:1], 0.24) == (False, False, None)


def test_a_bound_as_near_as_a_kink_holds_a_point():
    rising = Line(lambda t: t, lambda t: 1.0)
    zero = np.zeros(1)
    assert look_around(rising, np.array([9e-11]), zero, 1e-6) == (True, False, None)
    # Farther away, it is what a way down ends at.
    found = look_around(rising, np.array([2e-10]), zero, 1e-6)
    assert found == (False, True, (zero, 0.0))


def test_a_bound_that_is_met_on_the_way_leaves_the_others_free():
    # From beside the bound of the first one, the second one leads down to its kink.
    def evaluate(w):
        value = w[0] + abs(w[1] + 2e-9)
        return value, np.array([1.0, 1.0 if w[1] > -2e-9 else -1.0])

    bounds = np.array([0.0, -np.inf])
    point, value = look_around(evaluate, np.array([1e-12, 0.0]), bounds, 1e-6).lower
    np.testing.assert_allclose(point, [1e-12, -2e-9], rtol=0.01, atol=2e-12)
    assert value < 1e-11


@pytest.mark.parametrize("n", [40, 41])
def test_so_many_pieces_may_meet(n):
    """The largest of n numbers falls only along all of them, each of which is a piece.

    With half the square of the distance, the lowest place is -1/n of each.
    """
    start = np.zeros(n)
    found = look_around(Pieces(np.eye(n)).value_gradient, start, np.full(n, -np.inf), 0)
    assert not found.is_minimum
    assert found.has_kinks
    if n > 40:
        assert found.lower is None
    else:
        np.testing.assert_allclose(found.lower[0], -1.0 / n, rtol=1e-5)
        assert found.lower[1] == pytest.approx(-0.5 / n, rel=1e-7)


def test_a_way_goes_on_along_bounds():
    def evaluate(w):
        return 0.0, np.array([2.0, 5.0])

    start, lower = np.array([0.5, 0.0]), np.zeros(2)
    way = _Way(evaluate, start, lower, np.array([-1.0, 1.0]))
    assert way.after(0.25).tolist() == [0.25, 0.25]
    assert way.after(2.0).tolist() == [0.0, 2.0]
    assert [way.at(step).slope for step in (0.0, 0.25, 0.5, 2.0)] == [
        3.0,
        3.0,
        5.0,
        5.0,
    ]


def test_steps_to_a_turn_become_longer_by_four():
    line = bent(10.0)
    way = way_on(line)
    before, behind = way.turn(way.at(1.0))
    assert (before.step, behind.step) == (4.0, 16.0)
    assert (before.slope, behind.slope) == (-1.0, 1.0)


def test_a_way_that_never_turns_is_left_after_twenty_steps():
    way = way_on(Line(lambda t: -t, lambda t: -1.0))
    before, behind = way.turn(way.at(1.0))
    assert before is behind
    assert before.step == 4.0**20
    assert way.lowest(before, behind)[1] == -(4.0**20)


@pytest.mark.parametrize("high", [0.5, -4.0, np.inf, np.nan])
def test_a_place_that_is_not_lower_is_behind_a_turn(high):
    way = way_on(Line(lambda t: -t if t < 5 else high, lambda t: -1.0))
    before, behind = way.turn(way.at(1.0))
    assert (before.step, behind.step) == (4.0, 16.0)
    assert way.lowest(before, behind)[1] == -4.0


@pytest.mark.parametrize("first", [1.0, 5.0])
def test_what_is_flat_at_the_bottom_is_lowest(first):
    line = Line(lambda t: max(3.0 - t, 0.0), lambda t: -1.0 if t < 3 else 0.0)
    way = way_on(line)
    before, behind = way.turn(way.at(first))
    assert before is behind
    assert way.lowest(before, behind)[1] == 0.0


@pytest.mark.parametrize(
    ("slope", "is_kink"),
    [
        # Turns of 2 within a tenth, and within a fifth, of the width: a 64th of it has
        # 10/64 of the former turn, and 5/64 of the latter one.
        (lambda t: np.clip(20.0 * (t - 0.33), -1, 1), True),
        (lambda t: np.clip(10.0 * (t - 0.33), -1, 1), False),
        # A jump early on, and then slowly upwards.
        (lambda t: -1.0 if t < 0.3 else 0.8 + 0.2 * t, True),
        (lambda t: -1.0 + 0.2 * t if t < 0.7 else 1.0, True),
        (lambda t: t - 1.0, False),
        (lambda t: -1.0, False),
        (lambda t: -1.0 if t < 0.3 else -2.0, False),
    ],
)
@pytest.mark.parametrize("first", [0.0, 4.0])
def test_what_counts_as_a_kink(slope, is_kink, first):
    way = way_on(Line(lambda t: 0.0, lambda t: slope(t - first)))
    assert way.has_kink(way.at(first), way.at(first + 1.0)) == is_kink


def test_two_tangents_meet_where_a_kink_is():
    for first, kink, height in ((0, 3, 3), (1, 3, 5), (0.5, 1.25, 0)):
        line = bent(kink, 1.0, height)
        way = way_on(line)
        ends = way.at(first), way.at(4.0)
        line.n_calls = 0
        point, value = way.lowest(*ends)
        assert (point[0], value) == (kink, height - kink)
        assert line.n_calls == 1


@pytest.mark.parametrize("power", [1.5, 2.0, 4.0, 9.0])
@pytest.mark.parametrize("kink", [0.1, 0.5, 0.9])
def test_the_lowest_place_between_two(power, kink):
    """A line that falls, and a power that rises from where both are equal, or below."""

    def value(t):
        return 1.0 + max(-5.0 * (t - kink), 0.0) + max(t, 0.0) ** power

    def slope(t):
        return power * t ** (power - 1.0) - 5.0 * (t < kink)

    line = Line(value, slope)
    # The line falls faster than the power rises, or not any more.
    turn = (5.0 / power) ** (1.0 / (power - 1.0))
    best = value(min(kink, turn))
    way = way_on(line)
    ends = way.at(0.01), way.at(1.0)
    line.n_calls = 0
    assert way.lowest(*ends)[1] == pytest.approx(best, rel=3e-13)
    assert line.n_calls <= 30


def test_both_places_come_closer():
    """Tangents of an exponential function meet a 200th nearer each time."""
    line = Line(
        lambda t: 1.0 - t + np.exp(200.0 * (t - 0.5)),
        lambda t: 200.0 * np.exp(200.0 * (t - 0.5)) - 1.0,
    )
    way = way_on(line)
    value = way.lowest(way.at(0.0), way.at(1.0))[1]
    # Its slope is 0 where the exponential function is 1/200.
    assert value == pytest.approx(0.5 + (np.log(200.0) + 1.0) / 200.0, rel=1e-12)


def test_a_search_between_two_places_ends():
    # Slopes that have nothing to do with the values.
    line = Line(lambda t: np.sin(1e3 * t), lambda t: -1.0 if t < 0.7 else 1.0)
    way = way_on(line)
    ends = way.at(0.0), way.at(1.0)
    line.n_calls = 0
    way.lowest(*ends)
    assert line.n_calls <= 30


def test_parts_of_parameters_begin_where_the_parameters_do():
    class Bowl:
        """Half the squared distance from a point, where the minimum is."""

        def value_gradient(self, w):
            away = w - np.array([2.0, -3.0, 0.0])
            return 0.5 * float(away @ away), away

    start = np.array([2.0, -3.0, 0.0])
    result = SparseLBFGS(l1=0.0).solve(Bowl(), start, None)
    assert result.n_iter == 0
    np.testing.assert_array_equal(result.params, start)
    # Under a penalty of 1/2, each is shorter by a half, whose squares are 1/4.
    result = SparseLBFGS(l1=0.5).solve(Bowl(), start, None)
    np.testing.assert_allclose(result.params, [1.5, -2.5, 0.0], atol=1e-6)
    assert result.params[2] == 0.0
    assert result.value == pytest.approx(0.25 + 0.5 * 4.0)


def test_a_gradient_that_shortens_nothing_ends_the_search():
    # Its values say that no step leads down, and its slopes that every step does.
    line = Line(lambda t: 1.0, lambda t: 1.0 if t >= 0.0 else 0.9995)
    found = look_around(line, np.zeros(1), FREE[:1], 1e-6)
    assert found == (False, True, None)
    assert line.n_calls < 20
