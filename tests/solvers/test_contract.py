"""What every solver promises, over all public solvers and their variants."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skrank import solvers
from skrank._core._registry import by_short_name, public_classes
from skrank.solvers import BaseSolver, RelaxedStart, SmoothingHomotopy

CLASSES = public_classes(solvers, BaseSolver)
SOLVERS = [cls(**variant) for cls in CLASSES for variant in cls._variants()]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=repr)
# Near the minimum, steps of the gradient of some queries go back and forth.
BATCH_TOLERANCE = 0.1


class Toy:
    """Ridge regression, each row a query, with everything that a solver may ask for.

    The loss has no cap, no kink and no weights, so that its relaxed, smooth and held
    versions are itself.
    """

    total_weight = 1.0

    def __init__(self, X, y, alpha=0.1):
        self.X, self.y, self.alpha = X, y, alpha
        self.n_queries = len(y)
        self.penalty = np.full(X.shape[1], alpha)

    def value_gradient(self, params):
        residual = self.X @ params - self.y
        n = len(self.y)
        value = 0.5 * residual @ residual / n + 0.5 * self.alpha * params @ params
        return value, self.X.T @ residual / n + self.alpha * params

    def batch(self, queries, rng):
        return Toy(self.X[queries], self.y[queries], self.alpha)

    def smoothed(self, width):
        return self

    def relaxed(self):
        return self

    def held_at(self, params):
        return self

    def minimum(self):
        """Normal equations: (X'X / n + alpha I) w = X'y / n."""
        n, d = self.X.shape
        gram = self.X.T @ self.X / n + self.alpha * np.eye(d)
        return np.linalg.solve(gram, self.X.T @ self.y / n)


class Only:
    """What an objective offers under some names, and nothing else."""

    def __init__(self, objective, names):
        for name in names:
            setattr(self, name, getattr(objective, name))


class Watch:
    """A monitor that notes what it hears and stops after some iterations."""

    def __init__(self, stop_after=math.inf):
        self.stop_after = stop_after
        self.heard = []

    def start(self, params, value):
        self.heard.append((0, params, value))

    def __call__(self, params, n_iter, value):
        self.heard.append((n_iter, params, value))
        return n_iter >= self.stop_after


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    return Toy(X, X @ [1.0, 2.0, 0.5, 0.3] + 0.3 * rng.normal(size=100))


def solve(solver, objective, monitor=None):
    start = np.full(4, 0.5)
    return solver.solve(objective, start, np.random.RandomState(0), monitor)


def test_every_solver_has_a_short_name():
    assert list(by_short_name(solvers, BaseSolver).values()) == CLASSES


@each_solver
def test_reaches_the_minimum_of_a_convex_objective(solver, toy):
    result = solve(solver, toy)
    is_full = "batch" not in solver.requires and not getattr(solver, "solver", None)
    tolerance = 1e-4 if is_full else BATCH_TOLERANCE
    assert_allclose(result.params, toy.minimum(), atol=tolerance)


@each_solver
def test_leaves_the_start_as_it_was(solver, toy):
    start = np.full(4, 0.5)
    start.flags.writeable = False
    result = solver.solve(toy, start, np.random.RandomState(0))
    assert_array_equal(start, 0.5)
    assert not np.shares_memory(result.params, start)


@each_solver
def test_the_value_is_the_objective_at_the_parameters(solver, toy):
    result = solve(solver, toy)
    assert_allclose(result.value, toy.value_gradient(result.params)[0], rtol=1e-12)
    assert result.n_iter == len(result.history)


@each_solver
def test_the_start_is_reported_once_and_before_anything_else(solver, toy):
    watch = Watch()
    result = solve(solver, toy, watch)
    assert [n_iter for n_iter, *_ in watch.heard] == list(range(result.n_iter + 1))
    _, params, value = watch.heard[0]
    assert_array_equal(params, 0.5)
    assert math.isnan(value) or value == toy.value_gradient(params)[0]
    assert [value for *_, value in watch.heard[1:]] == result.history


@each_solver
def test_stops_when_it_is_told(solver, toy):
    watch = Watch(stop_after=2)
    result = solve(solver, toy, watch)
    assert result.n_iter == len(watch.heard) - 1 == 2
    assert result.converged
    assert_allclose(result.params, watch.heard[-1][1], rtol=1e-12)


@each_solver
def test_equal_seeds_give_equal_bits(solver, toy):
    assert_array_equal(solve(solver, toy).params, solve(clone(solver), toy).params)


@each_solver
def test_asks_for_what_it_names_and_for_nothing_else(solver, toy):
    names = set(solver.requires)
    if names & {"smoothed", "relaxed", "held_at"}:
        names |= {"batch", "n_queries"}  # for the solver inside
    result = solve(solver, Only(toy, names))
    assert_array_equal(result.params, solve(solver, toy).params)
    for name in solver.requires:
        lacking = Only(toy, names - {name})
        with pytest.raises(TypeError, match=rf"needs an objective with .*\b{name}\b"):
            solve(solver, lacking)


@each_solver
def test_keeps_constraints_or_refuses_them(solver, toy):
    class NonNegative:
        def feasible(self, params):
            return bool(np.all(params >= 0.0))

        def project(self, params):
            return np.maximum(params, 0.0)

    toy.y = -toy.y
    toy.constraint = NonNegative
    if solver.keeps_constraints:
        assert solve(solver, toy).params.min() >= 0.0
    else:
        with pytest.raises(TypeError, match="does not keep parameters within"):
            solve(solver, toy)


@pytest.mark.parametrize("wrapper", [SmoothingHomotopy, RelaxedStart])
def test_a_wrapping_solver_checks_the_one_inside(wrapper, toy):
    toy = Only(toy, ["value_gradient", "smoothed", "relaxed"])
    toy.smoothed = lambda width: toy
    toy.relaxed = lambda: toy
    with pytest.raises(TypeError, match="Adam needs an objective with batch"):
        solve(wrapper(solvers.Adam()), toy)
    with pytest.raises(ValueError, match="Adam: beta_1 must be a number in"):
        solve(wrapper(solvers.Adam(beta_1=2.0)), toy)


def test_a_refusal_says_why(toy):
    toy = Only(toy, ["value_gradient"])
    toy.why_not = lambda name: f"the toy has no {name} version"
    match = (
        "SmoothingHomotopy needs an objective with smoothed, which Only does not offer;"
        " the toy has no smoothed version"
    )
    with pytest.raises(TypeError, match=match):
        solve(SmoothingHomotopy(), toy)
