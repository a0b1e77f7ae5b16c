"""What every solver promises."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank.solvers import BaseSolver, SolverResult
from skrank.testing._common import Check, called, close, copies_of, require, same_bits

# Near the minimum, steps of the gradient of some queries go back and forth.
_BATCH_TOLERANCE = 0.1


class RidgeObjective:
    """Ridge regression, each row a query, with everything that a solver may ask for.

    The loss has no cap, no kink, no weights and no working set, so that its relaxed,
    smooth, held and extended versions are itself.

    Parameters
    ----------
    X : ndarray of shape (n_queries, n_features)
        Rows.
    y : ndarray of shape (n_queries,)
        Targets.
    alpha : float, default=0.1
        Strength of the penalty.
    """

    total_weight = 1.0

    def __init__(self, X, y, alpha: float = 0.1):
        self.X, self.y, self.alpha = X, y, alpha
        self.n_queries = len(y)
        self.penalty = np.full(X.shape[1], alpha)

    @classmethod
    def example(cls) -> "RidgeObjective":
        """Return an objective of 100 queries and four parameters."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100, 4))
        return cls(X, X @ [1.0, 2.0, 0.5, 0.3] + 0.3 * rng.normal(size=100))

    def value_gradient(self, params):
        """Return the objective and its gradient."""
        residual = self.X @ params - self.y
        n = len(self.y)
        value = 0.5 * residual @ residual / n + 0.5 * self.alpha * params @ params
        return value, self.X.T @ residual / n + self.alpha * params

    def batch(self, queries, rng):
        """Return the objective of some queries."""
        return RidgeObjective(self.X[queries], self.y[queries], self.alpha)

    def smoothed(self, width):
        """Return the objective itself."""
        return self

    def relaxed(self):
        """Return the objective itself."""
        return self

    def held_at(self, params):
        """Return the objective itself."""
        return self

    def extended(self, params):
        """Return the objective itself."""
        return self

    def minimum(self) -> np.ndarray:
        """Return the solution of the normal equations.

        They are ``(X'X / n + alpha I) w = X'y / n``.
        """
        n, d = self.X.shape
        gram = self.X.T @ self.X / n + self.alpha * np.eye(d)
        return np.linalg.solve(gram, self.X.T @ self.y / n)


class OnlySome:
    """What an objective offers under some names, and nothing else."""

    def __init__(self, objective, names):
        for name in names:
            setattr(self, name, getattr(objective, name))


class Watch:
    """A monitor that notes what it hears and stops after some iterations."""

    def __init__(self, stop_after: float = math.inf):
        self.stop_after = stop_after
        self.heard: list[tuple[int, np.ndarray, float]] = []

    def start(self, params, value):
        """Note what the minimisation starts from."""
        self.heard.append((0, params, value))

    def __call__(self, params, n_iter, value):
        self.heard.append((n_iter, params, value))
        return n_iter >= self.stop_after


def solve(solver: Any, objective: Any, monitor: Any = None) -> SolverResult:
    """Minimise an objective from the same start with the same seed."""
    start = np.full(4, 0.5)
    result = clone(solver).solve(objective, start, np.random.RandomState(0), monitor)
    require(
        isinstance(result, SolverResult),
        solver,
        f"must return a SolverResult, returned {type(result).__name__}",
    )
    return result


def check_minimum(solver: BaseSolver) -> None:
    """Check that a convex objective is minimised."""
    objective = RidgeObjective.example()
    result = solve(solver, objective)
    is_full = "batch" not in solver.requires and not getattr(solver, "solver", None)
    tolerance = 1e-4 if is_full else _BATCH_TOLERANCE
    distance = np.abs(result.params - objective.minimum()).max()
    require(
        distance <= tolerance,
        solver,
        f"ends {distance:.2g} away from the minimum of a ridge regression",
    )


def check_start(solver: BaseSolver) -> None:
    """Check that the parameters to start from are left as they were."""
    start = np.full(4, 0.5)
    result = clone(solver).solve(
        RidgeObjective.example(), start, np.random.RandomState(0)
    )
    unchanged = bool(np.all(start == 0.5)) and not np.shares_memory(
        result.params, start
    )
    require(unchanged, solver, "changes the parameters that it starts from")


def check_result(solver: BaseSolver) -> None:
    """Check that the value is that of the parameters, and the history complete."""
    objective = RidgeObjective.example()
    result = solve(solver, objective)
    value = objective.value_gradient(result.params)[0]
    require(
        close(result.value, value, 1e-12, 0.0),
        solver,
        f"returns the value {result.value!r} with parameters whose value is {value!r}",
    )
    require(
        result.n_iter == len(result.history),
        solver,
        f"returns a history of {len(result.history)} values after {result.n_iter} "
        "iterations",
    )


def check_monitor(solver: BaseSolver) -> None:
    """Check that the monitor hears the start, each iteration, and is obeyed."""
    objective, watch = RidgeObjective.example(), Watch()
    result = solve(solver, objective, watch)
    numbers = [n_iter for n_iter, *_ in watch.heard]
    require(
        numbers == list(range(result.n_iter + 1)),
        solver,
        "must tell the monitor of the start, by announce_start, and of each iteration",
    )
    told = [value for *_, value in watch.heard[1:]]
    require(
        told == result.history, solver, "tells the monitor other values than it keeps"
    )
    obeyed = Watch(stop_after=2)
    result = solve(solver, objective, obeyed)
    require(
        result.n_iter == len(obeyed.heard) - 1 == 2 and result.converged,
        solver,
        "does not stop, as converged, when the monitor returns True",
    )
    require(
        close(result.params, obeyed.heard[-1][1], 1e-12, 0.0),
        solver,
        "returns other parameters than those at which the monitor stopped it",
    )


def check_seeds(solver: BaseSolver) -> None:
    """Check that equal seeds give equal bits."""
    objective = RidgeObjective.example()
    first, again = (solve(solver, objective).params for _ in range(2))
    require(same_bits(again, first), solver, "ends elsewhere with the same seed")


def check_requires(solver: BaseSolver) -> None:
    """Check that the solver asks for what it names, and for nothing else."""
    objective = RidgeObjective.example()
    names = set(solver.requires)
    if names & {"smoothed", "relaxed", "held_at"}:
        names |= {"batch", "n_queries"}  # for the solver inside
    try:
        found = solve(solver, OnlySome(objective, names)).params
    except AttributeError as error:
        raise AssertionError(
            f"{called(solver)} asks for {error.name}, which its attribute requires "
            "does not name"
        ) from error
    require(
        same_bits(found, solve(solver, objective).params),
        solver,
        "depends on parts of the objective that its attribute requires does not name",
    )
    for name in solver.requires:
        try:
            solve(solver, OnlySome(objective, names - {name}))
        except TypeError:
            continue
        except AttributeError as error:
            raise AssertionError(
                f"{called(solver)} must refuse an objective without {name} by a "
                "TypeError: begin solve by self.check(objective)"
            ) from error
        require(
            False, solver, f"does not miss {name}, which its attribute requires names"
        )


class _NonNegative:
    """Parameters that are not negative."""

    def feasible(self, params):
        return bool(np.all(params >= 0.0))

    def project(self, params):
        return np.maximum(params, 0.0)


def check_constraints(solver: BaseSolver) -> None:
    """Check that constraints are kept, or refused."""
    objective: Any = RidgeObjective.example()
    objective.y = -objective.y
    objective.constraint = _NonNegative
    try:
        least = solve(solver, objective).params.min()
    except TypeError:
        require(
            not solver.keeps_constraints,
            solver,
            "says keeps_constraints=True, but refuses an objective with a constraint",
        )
        return
    require(
        least >= 0.0,
        solver,
        "neither keeps the constraint of an objective nor refuses it: begin solve by "
        "self.check(objective)",
    )


def check_copies(solver: BaseSolver) -> None:
    """Check that clones and unpickled copies end where the solver does."""
    objective = RidgeObjective.example()
    expected = solve(solver, objective).params
    for copied in copies_of(solver):
        require(
            same_bits(solve(copied, objective).params, expected),
            solver,
            "ends elsewhere after it was cloned or pickled",
        )


def checks_of_solvers(solver: BaseSolver) -> Iterator[Check]:
    """Yield the checks of a solver."""
    yield from (
        check_copies,
        check_minimum,
        check_start,
        check_result,
        check_monitor,
        check_seeds,
        check_requires,
        check_constraints,
    )
