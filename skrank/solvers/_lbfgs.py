"""Limited-memory BFGS."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._base import (
    BaseSolver,
    SolverResult,
    announce_start,
    constraint_of,
    finite_value_gradient,
    remedies,
)

# `OptimizeResult.status` of a line search that found no lower point.
_NO_LOWER_POINT = 2
# Evaluations of one line search, and of one where these were not enough: beside a hinge
# the curvature changes by orders of magnitude within one step.
_MAX_STEPS, _MORE_STEPS = 20, 50
#: What helps where the gradient is 0 at the start.
FLAT_START = (
    "the gradient is 0 where it starts. Losses without a margin are flat where all "
    "scores are equal: use a margin above 0. Losses that have reached their cap are "
    "flat as well: use RelaxedStart"
)


class LBFGS(BaseSolver):
    r"""Limited-memory BFGS over all queries, in whitened coordinates where they exist.

    The step is :math:`v_{t+1} = v_t - \eta_t H_t \nabla L(v_t)`, with :math:`H_t` built
    from the last ``memory`` differences of gradients and :math:`\eta_t` by a line
    search. Where scores are linear in the parameters, :math:`v = R w` with
    :math:`R^T R \approx X^T X / n`, so that badly conditioned features cost tens of
    evaluations instead of hundreds. Every evaluation reads the data once. Lower bounds
    of parameters, such as those of the steps between ordered thresholds, are kept;
    other constraints are not.

    Parameters
    ----------
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-6
        Stop when the largest component of the gradient in the solver's coordinates is
        at most ``tol`` times the larger of 1 and the objective.
    memory : int, default=10
        Number of stored gradient differences.
    whiten : bool, default=True
        Whether to ask the objective for better coordinates.

    References
    ----------
    [Nocedal2006]_, section 7.2.

    Examples
    --------
    >>> from skrank.rankers import RankSVM
    >>> from skrank.solvers import LBFGS
    >>> RankSVM(solver=LBFGS(max_iter=50)).solver.max_iter
    50
    """

    short_name = "lbfgs"

    max_iter: PositiveInt = 500
    tol: NonNegative = 1e-6
    memory: PositiveInt = 10
    whiten: bool = True

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"tol": 1e-9}, {"tol": 1e-9, "whiten": False, "memory": 3}]

    def keeps(self, constraint) -> bool:
        """Return whether a set is nothing but lower bounds, which are kept."""
        return hasattr(constraint, "lower_bounds")

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        find = getattr(objective, "coordinates", None)
        frame = find() if self.whiten and find is not None else None
        run = LbfgsRun(objective, frame, monitor, params)
        start = params if frame is None else frame.from_params(params)
        bounds = _bounds(constraint_of(objective), frame)
        limits = Limits(self.max_iter, self.tol, self.memory)
        result = run.minimised(start, bounds, limits)
        stuck_at_start = run.starts_flat and result.nit == 0
        converged = (bool(result.success) or run.stopped) and not stuck_at_start
        if not converged:
            advice = self._advice(result, stuck_at_start, remedies(objective))
            warnings.warn(advice, ConvergenceWarning, stacklevel=2)
        final = result.x if frame is None else frame.to_params(result.x)
        return SolverResult(
            final, int(result.nit), float(result.fun), converged, run.history
        )

    def _advice(self, result, stuck_at_start, remedy):
        """What went wrong, and what helps."""
        if stuck_at_start:
            return f"LBFGS made no step, because {FLAT_START}"
        if result.status != _NO_LOWER_POINT:
            return (
                f"LBFGS stopped after {result.nit} iterations before reaching "
                f"tol={self.tol:g} ({result.message}); {remedy}"
            )
        if result.nit == 0:
            return (
                "LBFGS made no step, because the objective has a kink where it starts. "
                "Losses without a margin have one where all scores are equal: use a "
                "margin above 0, or a stochastic solver such as Adam"
            )
        return (
            f"LBFGS stopped after {result.nit} iterations before reaching "
            f"tol={self.tol:g}, because no step along its direction lowers the "
            "objective; for a loss with kinks use SmoothingHomotopy or a stochastic "
            "solver such as Adam, otherwise raise tol, or scale the features"
        )


def _bounds(constraint, frame) -> Bounds | None:
    """Return the bounds of the coordinates, in which bounded parameters are as is."""
    if constraint is None:
        return None
    lower: Any = constraint.lower_bounds  # SciPy's types have a single bound
    if frame is not None:
        bounded = np.isfinite(lower)
        where = frame.from_params(bounded.astype(np.float64)) == 1.0
        values = frame.from_params(np.where(bounded, lower, 0.0))
        lower = np.where(where, values, -np.inf)
    return Bounds(lower, np.inf)


class Limits(NamedTuple):
    """When a minimisation ends, and how much it remembers; see `LBFGS`."""

    max_iter: int
    tol: float
    memory: int


class LbfgsRun:
    """One minimisation: changes coordinates and keeps the history.

    Parameters
    ----------
    objective : object
        Offers ``value_gradient(params)``.
    frame : object or None
        Coordinates with ``to_params(v)`` and ``pull(gradient)``.
    monitor : callable or None
        See `BaseSolver.solve`.
    start : ndarray of shape (n_params,)
        Parameters before the first iteration.
    """

    def __init__(self, objective, frame, monitor, start):
        self.objective = objective
        self.frame = frame
        self.monitor = monitor
        self.start = start
        self.history: list[float] = []
        self.stopped = False
        self.evaluated = False
        self.starts_flat = False

    def _note_start(self, value, gradient):
        """Look at the first evaluation, which is that of the start."""
        self.evaluated = True
        announce_start(self.monitor, self.start, value)
        # Of parameters that are not all 0, a loss of 0 is what one wants. Data without
        # any preference have nothing to learn, which is not the solver's concern.
        suspicious = value > 0 or not np.any(self.start)
        some_units = getattr(self.objective, "total_weight", 1.0) > 0
        self.starts_flat = not np.any(gradient) and suspicious and some_units

    def value_gradient(self, v):
        params = v if self.frame is None else self.frame.to_params(v)
        value, gradient = finite_value_gradient(self.objective, params)
        if not self.evaluated:
            self._note_start(value, gradient)
        return value, gradient if self.frame is None else self.frame.pull(gradient)

    def minimised(self, start, bounds, limits) -> OptimizeResult:
        """Return what SciPy finds, in its coordinates.

        Parameters
        ----------
        start : ndarray of shape (n_params,)
            Coordinates to begin with.
        bounds : Bounds, sequence or None
            Bounds of the coordinates.
        limits : Limits
            Parameters of the solver.

        Returns
        -------
        OptimizeResult
        """
        result = self._minimised(start, bounds, limits, _MAX_STEPS)
        n_done = result.nit
        if result.status != _NO_LOWER_POINT or not 0 < n_done < limits.max_iter:
            return result
        limits = limits._replace(max_iter=limits.max_iter - n_done)
        result = self._minimised(result.x, bounds, limits, _MORE_STEPS)
        # Along a kink, steps that become shorter and shorter change nothing in the end,
        # which is no minimum unless the gradient says so.
        if result.status == 0 and "PGTOL" not in str(result.message):
            result.success, result.status = False, _NO_LOWER_POINT
        result.nit += n_done
        return result

    def _minimised(self, start, bounds, limits, n_steps):
        return minimize(
            self.value_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=self.after_iteration,
            options={
                "maxiter": limits.max_iter,
                "maxfun": 20 * limits.max_iter,
                "maxcor": limits.memory,
                "maxls": n_steps,
                "gtol": limits.tol,
                "ftol": 10 * np.finfo(float).eps,
            },
        )

    def after_iteration(self, intermediate_result):
        self.history.append(float(intermediate_result.fun))
        if self.monitor is None:
            return
        v = np.array(intermediate_result.x)
        params = v if self.frame is None else self.frame.to_params(v)
        if self.monitor(params, len(self.history), self.history[-1]):
            self.stopped = True
            raise StopIteration
