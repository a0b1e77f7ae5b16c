"""The loop that stochastic solvers share: epochs of mini-batches of queries.

A solver adds its update rule by `_start`; everything else (drawing queries, schedule,
clipping, averaging, stopping) lives here, once.
"""

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank.solvers._base import BaseSolver, SolverResult, constraint_of

# By default an epoch makes this many steps or more, however few the queries are.
_STEPS_PER_EPOCH = 20
_MAX_BATCH = 32

#: Factor of the learning rate in epoch ``t`` of ``T``, counted from 0.
SCHEDULES = {
    "constant": lambda t, T: 1.0,
    "inverse": lambda t, T: 1.0 / (1.0 + t),
    "inverse_sqrt": lambda t, T: 1.0 / math.sqrt(1.0 + t),
    "linear": lambda t, T: 1.0 - t / T,
    "halving": lambda t, T: 2.0 ** (-0.5 * t),
    "cosine": lambda t, T: 0.5 * (1.0 + math.cos(math.pi * t / T)),
}


class StochasticSolver(BaseSolver):
    """Base class of solvers that step after every mini-batch of queries.

    Subclasses have a ``learning_rate``, implement `_start` and add their own checks to
    `_check_parameters`.

    Parameters
    ----------
    batch_queries : int or None, default=None
        Queries per batch at most; None takes 32, or fewer where an epoch would
        otherwise make less than 20 steps.
    max_iter : int, default=100
        Epochs at most.
    tol : float or None, default=None
        Stop when the mean objective of an epoch has not fallen by this share of the
        best one for ``n_iter_no_change`` epochs. None trains for ``max_iter``.
    n_iter_no_change : int, default=5
        Epochs to wait for an improvement.
    schedule : str or callable, default="constant"
        Factor of the learning rate in epoch ``t`` (from 0) of ``T``: ``"constant"``;
        ``"inverse"`` 1/(1+t); ``"inverse_sqrt"`` 1/√(1+t); ``"linear"`` 1−t/T;
        ``"cosine"`` (1+cos(πt/T))/2; ``"halving"`` 2^(−t/2); or ``schedule(t)``.
    clip_norm : float or None, default=None
        Largest Euclidean norm of a batch's gradient; longer ones are shortened.
    average : float or None, default=None
        Decay of an exponential moving average of the parameters over steps, such as
        0.999; the average is then what is monitored and returned.
    """

    requires = ("batch", "n_queries")
    keeps_constraints = True

    def __init__(
        self,
        *,
        batch_queries: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        schedule: str | Callable[[int], float] = "constant",
        clip_norm: float | None = None,
        average: float | None = None,
    ):
        self.batch_queries = batch_queries
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.average = average

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
            If a hyper-parameter is not acceptable, or if the objective stops being
            finite, which a smaller learning rate cures.
        """
        self.check(objective)
        self._check_parameters()
        run = _Run(self, objective, params, rng)
        history: list[float] = []
        plateau = _Plateau(self.tol, self.n_iter_no_change)
        converged = False
        for epoch in range(self.max_iter):
            history.append(run.epoch(epoch))
            told = monitor is not None and monitor(
                run.current(), len(history), history[-1]
            )
            converged = bool(told) or plateau.reached(history[-1])
            if converged:
                break
        if not converged and self.tol is not None:
            _warn_not_converged(self)
        return SolverResult(
            run.current(), len(history), history[-1], converged, history
        )

    def _check_parameters(self):
        """Raise a ValueError that names the first parameter out of range."""
        check_number(self, "learning_rate", above=0.0)
        if self.batch_queries is not None:
            check_count(self, "batch_queries")
        check_count(self, "max_iter")
        check_count(self, "n_iter_no_change")
        if self.tol is not None:
            check_number(self, "tol", at_least=0.0)
        if self.clip_norm is not None:
            check_number(self, "clip_norm", above=0.0)
        if self.average is not None:
            check_number(self, "average", at_least=0.0, below=1.0)
        if not callable(self.schedule) and self.schedule not in SCHEDULES:
            raise ValueError(
                f"schedule must be a callable or one of {', '.join(SCHEDULES)}; "
                f"got {self.schedule!r}"
            )


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
                value, gradient = batch.value_gradient(self.params)
                self._require_finite(value, epoch)
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

    def _schedule(self, epoch):
        schedule = self.solver.schedule
        if callable(schedule):
            return schedule(epoch)
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
            yield np.sort(order[start:stop])

    def _clipped(self, gradient):
        limit = self.solver.clip_norm
        if limit is None:
            return gradient
        # Not by BLAS, whose rounding depends on its threads.
        norm = math.sqrt(np.square(gradient).sum())
        return gradient * (limit / norm) if norm > limit else gradient

    def _require_finite(self, value, epoch):
        if not math.isfinite(value):
            raise ValueError(
                f"{type(self.solver).__name__} diverged in epoch {epoch + 1}: the "
                "objective or the parameters are no longer finite; use a learning_rate "
                f"smaller than {self.solver.learning_rate:g}, set clip_norm, or scale "
                "the features"
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


def check_number(
    solver, name, *, above=-math.inf, at_least=-math.inf, below=math.inf
) -> None:
    """Raise unless a parameter is a finite real number within bounds."""
    value = getattr(solver, name)
    finite = isinstance(value, Real) and math.isfinite(value)
    if finite and value > above and value >= at_least and value < below:
        return
    bounds = [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"at least {at_least:g}"] if at_least > -math.inf else []
    bounds += [f"below {below:g}"] if below < math.inf else []
    raise ValueError(
        f"{name} must be a finite number {' and '.join(bounds)}, got {value!r}"
    )


def check_count(solver, name) -> None:
    """Raise unless a parameter is an int of at least 1."""
    value = getattr(solver, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an int of at least 1, got {value!r}")
