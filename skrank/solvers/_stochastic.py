"""The loop that stochastic solvers share: epochs of mini-batches of queries.

A solver adds its update rule by `_start`; everything else (drawing queries, schedule,
clipping, averaging, stopping) lives here, once.
"""

import math
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._core._finite import NotFiniteError
from skrank._core._messages import shown
from skrank._core._parameters import (
    Interval,
    InvalidParameterError,
    NonNegative,
    Positive,
    PositiveInt,
)
from skrank._core._validation import called
from skrank.solvers._base import (
    BaseSolver,
    SolverResult,
    announce_start,
    constraint_of,
    finite_value,
    has_units,
    not_finite,
    value_and_gradient,
)

# By default an epoch makes this many steps or more, however few the queries are.
_STEPS_PER_EPOCH = 20
_MAX_BATCH = 32

#: Share of the past that a moving average keeps in every step.
Decay = Annotated[float, Interval(0, 1, "left")]
Schedule = Literal["constant", "inverse", "inverse_sqrt", "linear", "halving", "cosine"]

#: Factor of the learning rate in epoch ``t`` of ``T``, counted from 0.
SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": lambda t, T: 1.0,
    "inverse": lambda t, T: 1.0 / (1.0 + t),
    "inverse_sqrt": lambda t, T: 1.0 / math.sqrt(1.0 + t),
    "linear": lambda t, T: 1.0 - t / T,
    "halving": lambda t, T: 2.0 ** (-0.5 * t),
    "cosine": lambda t, T: 0.5 * (1.0 + math.cos(math.pi * t / T)),
}


class StochasticSolver(BaseSolver):
    """Base class of solvers that step after every mini-batch of queries.

    Subclasses implement `_start`.

    Parameters
    ----------
    learning_rate : float, default=0.05
        Step size.
    batch_queries : int or None, default=None
        Largest number of queries in a batch; None takes 32, or fewer where an epoch
        would otherwise make less than 20 steps.
    max_iter : int, default=100
        Largest number of epochs.
    tol : float or None, default=None
        Stop when the mean objective of an epoch has not fallen by this share of the
        best one for ``n_iter_no_change`` epochs. None trains for ``max_iter``.
    n_iter_no_change : int, default=5
        Number of epochs to wait for an improvement.
    schedule : str or callable, default="constant"
        Factor of the learning rate in epoch ``t`` (from 0) of ``T``: ``"constant"``;
        ``"inverse"`` 1/(1+t); ``"inverse_sqrt"`` 1/√(1+t); ``"linear"`` 1−t/T;
        ``"cosine"`` (1+cos(πt/T))/2; ``"halving"`` 2^(−t/2); or ``schedule(t)``, a
        number >= 0. Every minimisation begins at epoch 0, that of a warm start as well.
    clip_norm : float or None, default=None
        Largest Euclidean norm of a batch's gradient; longer ones are shortened.
    average : float or None, default=None
        Decay of an exponential moving average of the parameters over steps, such as
        0.999; the average is then what is monitored and returned.
    """

    requires = ("value_gradient", "batch", "n_queries")
    keeps_constraints = True

    learning_rate: Positive = 0.05
    batch_queries: PositiveInt | None = None
    max_iter: PositiveInt = 100
    tol: NonNegative | None = None
    n_iter_no_change: PositiveInt = 5
    schedule: Schedule | Callable[[int], float] = "constant"
    clip_norm: Positive | None = None
    average: Decay | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        long = {"max_iter": 200}
        schedules = [name for name in SCHEDULES if name != "halving"]
        return [
            *(long | {"schedule": schedule} for schedule in schedules),
            {"schedule": "halving", "batch_queries": 1},
            long | {"batch_queries": 20, "average": 0.9, "clip_norm": 1.0},
            long | {"tol": 1e-6, "schedule": "linear"},
        ]

    def _start(self, n_params) -> Callable:
        """Return ``step(params, gradient, learning_rate)``, which moves params."""
        raise NotImplementedError

    def _move(self, step, params, gradient, rate, constraint):
        """Make one step in place, back into the constraint if there is one."""
        step(params, gradient, rate)
        if constraint is not None:
            params[:] = constraint.project(params)

    def _batch_rate(self, batch) -> float:
        """Factor of the learning rate for one batch."""
        return 1.0

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if the objective stops being finite,
            which a smaller learning rate cures.
        TypeError
            If a parameter has a wrong type, or if the objective lacks something.
        """
        self.check(objective)
        run = _Run(self, objective, params, rng)
        announce_start(monitor, run.params, math.nan)
        history: list[float] = []
        plateau = _Plateau(self.tol, self.n_iter_no_change)
        converged = False
        nothing = not has_units(objective)  # that more than one epoch would teach
        for epoch in range(self.max_iter):
            history.append(run.epoch(epoch))
            told = monitor is not None and monitor(
                run.current(), len(history), history[-1]
            )
            converged = nothing or bool(told) or plateau.reached(history[-1])
            if converged:
                break
        if not converged and self.tol is not None:
            _warn_not_converged(self)
        # The history is a mean along the way; what compares restarts is the objective
        # at the end of it.
        final = run.current()
        value = finite_value(objective, final, run.remedy)
        return SolverResult(final, len(history), value, converged, history)


class _Run:
    """One minimisation: the parameters, the state of the rule and the average."""

    def __init__(self, solver, objective, params, rng):
        self.solver = solver
        self.objective = objective
        self.rng = rng
        self.params = np.array(params, dtype=np.float64)
        self.step = solver._start(len(self.params))
        self.constraint = constraint_of(objective)
        if self.constraint is not None:
            self.params = self.constraint.project(self.params)
        self.mean = None
        if solver.average is not None:
            self.mean = _MovingMean(len(self.params), solver.average)

    def current(self):
        """Parameters as a monitor and the caller see them: a copy."""
        return self.params.copy() if self.mean is None else self.mean.value()

    def epoch(self, epoch):
        """Visit every query once; return the mean objective of the batches."""
        rate = self.solver.learning_rate * self._schedule(epoch)
        total = 0.0
        # Overflow is reported below, in terms of what the user can change.
        with np.errstate(over="ignore", invalid="ignore"):
            for queries in self._batches():
                batch = self.objective.batch(queries, self.rng)
                value, gradient = self._evaluate(batch, epoch)
                factor = self.solver._batch_rate(batch)
                self.solver._move(
                    self.step,
                    self.params,
                    self._clipped(gradient),
                    factor * rate,
                    self.constraint,
                )
                if self.mean is not None:
                    self.mean.add(self.params)
                total += len(queries) * value
        self._require_finite(self.params @ self.params, epoch)
        return total / self.objective.n_queries

    def _evaluate(self, batch, epoch):
        try:
            value, gradient = value_and_gradient(batch, self.params)
        except NotFiniteError as error:  # of the loss itself
            raise NotFiniteError(
                f"{self._diverged(epoch)}: {error}; {self.remedy}"
            ) from error
        self._require_finite(value, epoch)
        return value, gradient

    def _schedule(self, epoch):
        schedule = self.solver.schedule
        if callable(schedule):
            factor = called("schedule", schedule, epoch)
            is_number = isinstance(factor, Real) and not isinstance(factor, bool)
            # Whole numbers of any length are compared before they become floats.
            size: Any = abs(factor) if is_number else math.inf
            in_range = bool(size <= sys.float_info.max)
            if not (in_range and float(factor) >= 0.0):
                raise InvalidParameterError(
                    f"{type(self.solver).__name__}: schedule must return a number "
                    f">= 0, got {shown(factor)} in epoch {epoch} (the first one is 0)"
                )
            return float(factor)
        return SCHEDULES[schedule](epoch, self.solver.max_iter)

    def _batches(self):
        """Shuffled queries in parts of nearly equal size."""
        n = self.objective.n_queries
        order = self.rng.permutation(n)
        size = self.solver.batch_queries
        if size is None:
            size = min(_MAX_BATCH, max(1, n // _STEPS_PER_EPOCH))
        n_batches = -(-n // size)
        bounds = [i * n // n_batches for i in range(n_batches + 1)]
        for start, stop in pairwise(bounds):
            # Rows are gathered faster in the order in which they are stored.
            order[start:stop].sort()
            yield order[start:stop]

    def _clipped(self, gradient):
        limit = self.solver.clip_norm
        if limit is None:
            return gradient
        # Not by BLAS, whose rounding depends on its threads.
        norm = math.sqrt(np.square(gradient).sum())
        return gradient * (limit / norm) if norm > limit else gradient

    def _require_finite(self, value, epoch):
        if not math.isfinite(value):
            what = "is no longer finite, or the parameters are not"
            error = not_finite(self.objective, what, self.remedy)
            raise NotFiniteError(f"{self._diverged(epoch)}: {error}")

    def _diverged(self, epoch) -> str:
        return f"{type(self.solver).__name__} diverged in epoch {epoch + 1}"

    @property
    def remedy(self) -> str:
        """What the user can do where the objective is not finite."""
        return (
            f"use a learning_rate smaller than {self.solver.learning_rate:g}, set "
            "clip_norm, or scale the features"
        )


class _MovingMean:
    """Exponential moving average whose weights sum to 1 from the first value on."""

    def __init__(self, n_params, decay):
        self.decay = decay
        self.sum = np.zeros(n_params)
        self.weight = 0.0

    def add(self, params):
        self.sum *= self.decay
        self.sum += (1.0 - self.decay) * params
        self.weight = self.decay * self.weight + (1.0 - self.decay)

    def value(self):
        return self.sum / self.weight


class _Plateau:
    """Tells when the objective has stopped improving."""

    def __init__(self, tol, patience):
        self.tol = tol
        self.patience = patience
        self.best = math.inf
        self.waited = 0

    def reached(self, value):
        if self.tol is None:
            return False
        worthwhile = self.tol * abs(self.best) if math.isfinite(self.best) else 0.0
        self.waited = 0 if value < self.best - worthwhile else self.waited + 1
        self.best = min(self.best, value)
        return self.waited >= self.patience


def _warn_not_converged(solver):
    warnings.warn(
        f"{type(solver).__name__} stopped after max_iter={solver.max_iter} while "
        f"the objective still improved by more than tol={solver.tol:g}; raise "
        "max_iter, or set tol=None to train for that many epochs",
        ConvergenceWarning,
        stacklevel=3,
    )
