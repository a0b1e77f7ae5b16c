"""Solvers that keep parameters within a constraint."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from skrank.solvers import LBFGS, SGD, Adam, ConstrainedSGD, ProjectedGradient
from skrank.solvers._projected_gradient import _Run


class NonNegative:
    def feasible(self, params):
        return bool(np.all(params >= 0.0))

    def project(self, params):
        return np.maximum(params, 0.0)


class LeastSquares:
    """Mean over rows of |x w - y|^2 / 2, every row being a query."""

    def __init__(self, X, y, bound=True, seen=None):
        self.X, self.y, self.bound = X, y, bound
        self.n_queries = len(y)
        self.seen = [] if seen is None else seen

    def constraint(self):
        return NonNegative() if self.bound else None

    def value_gradient(self, params):
        self.seen.append(params.min())
        residual = self.X @ params - self.y
        n = len(self.y)
        return 0.5 * residual @ residual / n, self.X.T @ residual / n

    def batch(self, queries, rng):
        return LeastSquares(self.X[queries], self.y[queries], self.bound, self.seen)


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(60, 5))
    return LeastSquares(X, X @ [1.0, -2.0, 0.5, 0.0, 3.0] + 0.1 * rng.normal(size=60))


def test_projected_gradient_solves_non_negative_least_squares(problem):
    expected, _ = nnls(problem.X, problem.y)
    result = ProjectedGradient(tol=1e-9).solve(problem, np.ones(5), None)
    assert result.converged
    assert_allclose(result.params, expected, atol=1e-7)
    assert min(problem.seen) >= 0.0
    value, _ = problem.value_gradient(expected)
    assert_allclose(result.value, value, rtol=1e-9)
    assert result.history[-1] == result.value


def test_projected_gradient_without_a_constraint(problem):
    problem.bound = False
    expected = np.linalg.lstsq(problem.X, problem.y, rcond=None)[0]
    result = ProjectedGradient(tol=1e-9).solve(problem, -np.ones(5), None)
    assert_allclose(result.params, expected, atol=1e-7)


def test_projected_gradient_says_when_it_runs_out_of_iterations(problem):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        result = ProjectedGradient(max_iter=2, tol=1e-12).solve(
            problem, np.ones(5), None
        )
    assert not result.converged
    assert result.n_iter == len(result.history) == 2


def test_projected_gradient_at_the_minimum_and_at_a_monitors_word(problem):
    expected, _ = nnls(problem.X, problem.y)
    result = ProjectedGradient(tol=1e-6).solve(problem, expected, None)
    assert result.n_iter == 0
    assert result.converged
    result = ProjectedGradient().solve(problem, np.ones(5), None, lambda *_: True)
    assert result.n_iter == 1


@pytest.mark.parametrize(
    "solver",
    [
        ConstrainedSGD(learning_rate=0.05),
        ConstrainedSGD(learning_rate=0.05, constraint="project", max_iter=60),
        SGD(learning_rate=0.05, schedule="linear"),
        Adam(learning_rate=0.05, schedule="linear"),
    ],
    ids=repr,
)
def test_stochastic_solvers_stay_feasible(problem, solver):
    start = np.ones(5)
    result = solver.solve(problem, start, np.random.RandomState(0))
    assert min(problem.seen) >= 0.0
    assert result.params.min() >= 0.0
    assert_array_equal(start, 1.0)
    expected, _ = nnls(problem.X, problem.y)
    tolerance = 2.0 if getattr(solver, "constraint", "") == "reduce_step" else 0.15
    assert_allclose(result.params, expected, atol=tolerance)
    first, last = (problem.value_gradient(p)[0] for p in (start, result.params))
    assert last < first


def test_steps_are_halved_until_they_are_feasible():
    # From 1 with gradient 8: steps of 8, 4 and 2 leave the set, 1 reaches 0.
    class Slope:
        n_queries = 1
        value_gradient = staticmethod(lambda params: (0.0, np.array([8.0, -1.0])))
        batch = lambda self, queries, rng: self
        constraint = lambda self: NonNegative()

    solver = ConstrainedSGD(learning_rate=1.0, max_iter=1)
    result = solver.solve(Slope(), np.ones(2), np.random.RandomState(0))
    assert_allclose(result.params, [0.0, 1.125])
    # On the boundary no step is short enough; projection moves the other parameter.
    stuck = solver.solve(Slope(), np.array([0.0, 1.0]), np.random.RandomState(0))
    assert_allclose(stuck.params, [0.0, 1.0])
    solver.set_params(constraint="project")
    moved = solver.solve(Slope(), np.array([0.0, 1.0]), np.random.RandomState(0))
    assert_allclose(moved.params, [0.0, 2.0])


def test_learning_rate_falls_by_half_in_two_epochs():
    rates = []

    class Flat:
        n_queries = 1
        batch = lambda self, queries, rng: self

        def value_gradient(self, params):
            rates.append(params[0])
            return 0.0, np.array([-1.0])

    ConstrainedSGD(max_iter=4).solve(Flat(), np.zeros(1), np.random.RandomState(0))
    # The last point is where the objective is evaluated in the end.
    assert_allclose(np.diff(rates), 0.5 * 2.0 ** np.array([0.0, -0.5, -1.0, -1.5]))


def test_solvers_that_know_no_constraint_refuse_it(problem):
    with pytest.raises(TypeError, match="LBFGS does not keep parameters within"):
        LBFGS().solve(problem, np.ones(5), None)


class SquaredScale:
    """(a² − 1)² / 4 + (b − 1)² / 2 with a, b ≥ 0: the slope in a is 0 at a = 0."""

    def value_gradient(self, params):
        a, b = params
        value = 0.25 * (a**2 - 1.0) ** 2 + 0.5 * (b - 1.0) ** 2
        return value, np.array([a * (a**2 - 1.0), b - 1.0])

    def constraint(self):
        return NonNegative()


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.0, 1.0], [3.0, 0.5], [9.0, 0.0]])
def test_projected_gradient_leaves_a_boundary_without_slope(start):
    result = ProjectedGradient(tol=1e-8).solve(SquaredScale(), np.array(start), None)
    assert_allclose(result.params, [1.0, 1.0], atol=1e-6)


def test_projected_gradient_stays_on_a_boundary_that_is_a_minimum():
    class Bowl(SquaredScale):
        def value_gradient(self, params):
            return 0.5 * float(params @ params), params.copy()

    result = ProjectedGradient().solve(Bowl(), np.zeros(2), None)
    assert_array_equal(result.params, 0.0)
    assert result.converged
    assert result.n_iter == 0


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (
            ConstrainedSGD(constraint="clip"),
            "constraint must be 'reduce_step' or 'project'",
        ),
        (
            ConstrainedSGD(learning_rate=0.0),
            "learning_rate must be a number > 0, got 0",
        ),
        (ProjectedGradient(tol=-1.0), "tol must be a number >= 0, got -1"),
        (ProjectedGradient(max_iter=0), "max_iter must be a whole number >= 1"),
        (ProjectedGradient(memory=0), "memory must be a whole number >= 1"),
    ],
)
def test_bad_hyper_parameters(solver, message, problem):
    with pytest.raises(ValueError, match=message):
        solver.solve(problem, np.ones(5), np.random.RandomState(0))


def test_halving_ends_after_fifty_trials():
    trials = []

    class Never:
        project = staticmethod(np.array)

        def feasible(self, params):
            trials.append(params[0])
            return False

    class Slope:
        n_queries = 1
        value_gradient = staticmethod(lambda params: (0.0, np.array([1.0])))
        batch = lambda self, queries, rng: self
        constraint = lambda self: Never()

    solver = ConstrainedSGD(learning_rate=1.0, max_iter=1)
    result = solver.solve(Slope(), np.zeros(1), np.random.RandomState(0))
    assert result.params.tolist() == [0.0]
    assert [-(2.0**-s) for s in range(50)] == trials[:50]
    assert len(trials) == 50


class Line:
    """An objective of one parameter with slope -1 and curvature 1 at 0.

    The first direction is then 1, and the values on it are ``values``.
    """

    def __init__(self, values):
        self.values = dict(values)
        self.seen = []

    def value_gradient(self, params):
        place = float(params[0])
        if place in (0.0, 1e-4):  # the start, and the trial step from it
            return 0.0, np.array([place - 1.0])
        self.seen.append(place)
        return self.values.get(place, -1.0), np.array([-0.5])


SUFFICIENT = 0.0 + 1e-4 * 1.0 * -1.0


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ({1.0: SUFFICIENT}, [1.0]),
        ({1.0: np.nextafter(SUFFICIENT, 0.0)}, [1.0, 0.5]),  # minimum beyond a half
        ({1.0: 1.0}, [1.0, 0.25]),  # minimum of 2 t^2 - t
        ({1.0: 2.0}, [1.0, 1.0 / 6.0]),
        ({1.0: 99.0}, [1.0, 0.1]),  # minimum at 1 / 200, which is too short
        ({1.0: 1.0, 0.25: 0.25 * SUFFICIENT}, [1.0, 0.25]),
        ({1.0: 1.0, 0.25: 0.0}, [1.0, 0.25, 0.125]),
        ({1.0: 1.0, 0.25: 0.25}, [1.0, 0.25, 0.0625]),  # minimum of 8 t^2 - t
    ],
)
def test_projected_gradient_shortens_steps_that_bring_too_little(values, seen):
    objective = Line(values)
    run = _Run(objective, np.zeros(1), memory=10)
    assert run.spectral == pytest.approx(1.0)
    run.spectral = 1.0  # to the bit
    assert run.step()
    assert objective.seen == seen
    assert run.params.tolist() == seen[-1:]
    assert run.value == values.get(seen[-1], -1.0)


def test_projected_gradient_shortens_steps_by_differences_of_values():
    objective = Line({1.0: 9.0, 0.25: 7.0})
    run = _Run(objective, np.zeros(1), memory=10)
    run.value, run.recent, run.spectral = 8.0, [8.0], 1.0
    assert run.step()
    assert objective.seen == [1.0, 0.25]


def test_projected_gradient_gives_up_after_forty_trials():
    objective = Line({})
    objective.value_gradient = lambda params: (
        0.0 if params[0] in (0.0, 1e-4) else objective.seen.append(params[0]) or 1.0,
        np.array([params[0] - 1.0]),
    )
    run = _Run(objective, np.zeros(1), memory=10)
    assert not run.step()
    assert len(objective.seen) == 40
    assert run.params.tolist() == [0.0]


@pytest.mark.parametrize(("memory", "accepted"), [(1, False), (2, True), (10, True)])
def test_projected_gradient_remembers_values(memory, accepted):
    # From 3 down to 1, and then up to 2: above the last value, below the one before.
    values = iter([3.0, 3.0, 1.0, 2.0, 0.0])
    objective = Line({})
    objective.value_gradient = lambda params: (next(values), np.array([-1.0]))
    run = _Run(objective, np.zeros(1), memory)
    assert run.step()
    assert (run.value, run.recent[-1]) == (1.0, 1.0)
    assert run.step()
    assert run.value == (2.0 if accepted else 0.0)
    assert run.recent == [3.0, 1.0, 2.0][-memory:] if accepted else run.recent == [0.0]


@pytest.mark.parametrize(
    ("turned", "step"),
    [(4.0, 0.5), (1e-12, 1e10), (1e12, 1e-10), (0.0, None), (-1.0, None)],
)
def test_spectral_steps_have_bounds(turned, step):
    run = _Run(Line({}), np.zeros(1), memory=10)
    assert run._spectral(np.array([2.0]), run.gradient + turned) == step


class Tilted:
    """A given gradient everywhere, which can be another one later."""

    def __init__(self, gradient):
        self.gradient = np.array(gradient)

    def value_gradient(self, params):
        return 0.0, self.gradient

    def constraint(self):
        return NonNegative()


@pytest.mark.parametrize(
    ("params", "gradient", "step"),
    [
        ([4.0, 1.0], [2.0, -8.0], 0.5),  # 2 and 8 along the way, 4 is the size
        ([0.25, 0.5], [0.25, -0.5], 2.0),  # small parameters have size 1
        ([0.0, 2.0], [9.0, -1.0], 2.0),  # the first one cannot move
        ([0.0, 2.0], [9.0, 0.0], 1.0),
        ([], [], 1.0),
    ],
)
def test_cautious_steps_move_by_the_size_of_the_parameters(params, gradient, step):
    run = _Run(Tilted(gradient), np.array(params), memory=1)
    assert run._cautious_step() == step
    assert run.spectral == step  # there is no curvature
    run.spectral = -1.0
    run._accept(run.params, 0.0, run.gradient)
    assert run.spectral == step


@pytest.mark.parametrize(
    ("params", "gradient", "residual"),
    [([4.0, 1.0], [0.5, -0.25], 0.5), ([0.0, 1.0], [3.0, 0.5], 0.5), ([], [], 0.0)],
)
def test_the_residual_is_the_largest_possible_move(params, gradient, residual):
    assert _Run(Tilted(gradient), np.array(params), memory=1).residual() == residual


@pytest.mark.parametrize(
    ("start", "minimum", "trial", "step"),
    [
        (0.0, 4.0, 1e-4, 0.25),  # the cautious step, to 1; the spectral one is 1
        (4.0, 3.0, 4.0 - 4e-4, 1.0),  # the cautious step would be 4
    ],
)
def test_the_first_step_is_cautious_and_spectral(start, minimum, trial, step):
    seen = []

    class Parabola:
        def value_gradient(self, params):
            seen.append(params[0])
            return 0.5 * float((params[0] - minimum) ** 2), params - minimum

    run = _Run(Parabola(), np.array([start]), memory=1)
    assert_allclose(seen, [start, trial], rtol=1e-12)
    assert run.spectral == pytest.approx(step)


class Ridge(Tilted):
    """What is 0 at the start has no slope there; ``heights`` are values further on."""

    def __init__(self, slope, heights=()):
        super().__init__(np.zeros(len(slope)))
        self.slope, self.heights, self.seen = np.array(slope), dict(heights), []

    def value_gradient(self, params):
        self.seen.append(params.tolist())
        inside = bool((params[:2] > 0.0).any())
        return self.heights.get(params[0], 0.0), (self.slope if inside else np.zeros(3))


def at_rest(slope, heights=()):
    """A run at a point on the boundary that has no slope, with no trials so far."""
    objective = Ridge(slope, heights)
    run = _Run(objective, np.array([0.0, 0.0, 3.0]), memory=1)
    objective.seen.clear()
    return run, objective


def test_leaving_the_boundary_halves_the_way_until_the_value_falls():
    # The size of the parameters is 3; the second one would not bring anything, and the
    # third one is not at the boundary.
    run, objective = at_rest([-1.0, 0.0, 5.0], {3.0: 2.0, 1.5: 0.0, 0.75: -1.0})
    assert run.leave_boundary()
    places = np.array(objective.seen)
    assert_allclose(places[:, 0], [3e-4, 3.0, 1.5, 0.75])
    assert_allclose(places[:, 1], [3e-4, 0.0, 0.0, 0.0])
    assert_array_equal(places[:, 2], 3.0)
    assert_array_equal(run.params, [0.75, 0.0, 3.0])
    assert (run.value, run.recent) == (-1.0, [-1.0])


def test_leaving_the_boundary_is_given_up():
    # Equal values are not lower ones; 2^-13 is the last half above 10^-4.
    run, objective = at_rest([-1.0, 0.0, 5.0])
    assert not run.leave_boundary()
    assert_allclose([p[0] for p in objective.seen], [3e-4, *(3 * 0.5 ** np.arange(14))])
    assert_array_equal(run.params, [0.0, 0.0, 3.0])
    # Small parameters have size 1.
    run, objective = at_rest([-1.0, 0.0, 5.0])
    run.params[2] = 0.5
    assert not run.leave_boundary()
    assert [p[0] for p in objective.seen] == [1e-4, *(0.5 ** np.arange(14))]
    # Nothing grows.
    run, objective = at_rest([1.0, 0.0, -5.0])
    assert not run.leave_boundary()
    assert len(objective.seen) == 1
    # Something has a slope already, or is not at the boundary: there is nothing to try.
    for params, gradient in (
        ([0.0, 0.0, 3.0], [1.0, 1.0, 0.0]),
        ([1.0, 1.0, 3.0], 0.0),
    ):
        run, objective = at_rest([-1.0, -1.0, -1.0])
        run.params, run.gradient = np.array(params), np.zeros(3) + gradient
        assert not run.leave_boundary()
        assert not objective.seen
