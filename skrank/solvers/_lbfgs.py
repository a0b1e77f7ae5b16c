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
    has_units,
    remedies,
)
from skrank.solvers._kinks import look_around, projected

# `OptimizeResult.status` of a line search that found no lower point, and of too few
# iterations.
NO_LOWER_POINT, _MAX_ITER_REACHED = 2, 1
# Evaluations of one line search, and of one where these were not enough: beside a hinge
# the curvature changes by orders of magnitude within one step.
_MAX_STEPS, _MORE_STEPS = 20, 50
# A gradient of this share of that at the start is no sign of a minimum, however little
# the last steps changed.
_STEEP = 1e-6
# Beside a kink, the search goes on as long as the objective falls by this share.
_WORTH = 1e-11
# Along a smaller gradient, relative to the objective, the latter changes by less than
# the rounding of double precision: about the root of it.
_SMALL = 1e-8
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

    A loss with kinks, such as `skrank.losses.HingeLoss`, is lowest where kinks meet,
    and no gradient is near 0 there. Where steps become too short beside a kink, the
    solver looks at the gradients on its other sides: if a mean of them is near 0, this
    is the minimum; otherwise it goes on against the shortest mean of them. Many
    documents make such a loss nearly smooth, and `SmoothingHomotopy` makes it smooth.
    Objectives that are not convex, such as those of networks, end at the first kink.

    Parameters
    ----------
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-6
        Stop when the largest component of the gradient in the solver's coordinates is
        at most ``tol``, or when the objective changes by its rounding only.
    memory : int, default=10
        Number of stored gradient differences.
    whiten : bool, default=True
        Whether to ask the objective for better coordinates.

    References
    ----------
    [Nocedal2006]_, section 7.2; [Wolfe1975]_, for the kinks.

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
        ended = bool(result.success) or run.stopped
        ended |= run.starts_at_minimum and result.nit == 0
        converged = ended and not stuck_at_start
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
        if result.status != NO_LOWER_POINT:
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
        self.failure: StopIteration | None = None
        self.evaluated = False
        self.starts_flat = False
        self.steepness: Any = None  # largest slope at the start
        self.starts_at_minimum = False

    def _note_start(self, value, gradient):
        """Look at the first evaluation, which is that of the start."""
        self.evaluated = True
        announce_start(self.monitor, self.start, value)
        # Of parameters that are not all 0, a loss of 0 is what one wants. Above 0, a
        # convex objective is flat nowhere but at its minimum. Data without any
        # preference have nothing to learn, which is not the solver's concern.
        convex = getattr(self.objective, "convex", False)
        suspicious = not convex if value > 0 else not np.any(self.start)
        self.starts_flat = (
            not np.any(gradient) and suspicious and has_units(self.objective)
        )
        # Within rounding, no step lowers what is at its minimum. Beside a kink, which
        # is the other reason, the gradient is not small.
        pulled = gradient if self.frame is None else self.frame.pull(gradient)
        size = np.abs(pulled).max(initial=0.0)
        self.starts_at_minimum = size <= _SMALL * max(1.0, abs(value))

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
        bounds : Bounds or None
            Lower bounds of the coordinates.
        limits : Limits
            Parameters of the solver.

        Returns
        -------
        OptimizeResult
        """
        result = self._minimised(start, bounds, limits, _MAX_STEPS)
        rounding = _SMALL * max(1.0, abs(result.fun))
        flat = max(limits.tol, _STEEP * self.steepness, rounding)
        if result.status == NO_LOWER_POINT and 0 < result.nit < limits.max_iter:
            result = self._continued(result, bounds, limits)
            # Steps that become shorter and shorter change nothing in the end, which is
            # no minimum unless the gradient says so.
            if result.status in (0, NO_LOWER_POINT):
                result.success = not _ends_steeply(result, bounds, flat)
                result.status = 0 if result.success else NO_LOWER_POINT
        # Kinks of a function that is not convex prove nothing, and may be without end.
        if not getattr(self.objective, "convex", True):
            return result
        return self._past_kinks(result, bounds, limits, flat)

    def _continued(self, result, bounds, limits):
        """Go on without what the last steps have taught, which holds no more."""
        left = limits._replace(max_iter=limits.max_iter - result.nit)
        found = self._minimised(result.x, bounds, left, _MORE_STEPS)
        found.nit += result.nit
        return found

    def _past_kinks(self, result, bounds, limits, flat):
        """Go on from where kinks end a minimisation too early.

        Beside a kink, no step along the direction of L-BFGS changes much, which SciPy
        takes for convergence or for a failure, and neither need be true.
        """
        lower = np.full(len(result.x), -np.inf if bounds is None else bounds.lb)
        while 0 < result.nit < limits.max_iter and _ends_steeply(result, bounds, flat):
            found = look_around(self.value_gradient, result.x, lower, flat)
            if found.is_minimum:
                result.success, result.status = True, 0
            if found.is_minimum or not found.has_kinks:
                break
            before = result.fun
            if found.lower is not None:
                result = self._after_leap(result, found.lower, bounds, limits)
            worth = before - result.fun > _WORTH * abs(before)
            if not worth and _ends_steeply(result, bounds, flat):
                result.success, result.status = False, NO_LOWER_POINT
                break
        return result

    def _after_leap(self, result, lower, bounds, limits):
        """Go on from a lower point, the way to which counts as an iteration."""
        result.x, result.fun = lower
        result.nit += 1
        result.success, result.status = False, _MAX_ITER_REACHED
        result.message = "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT"
        try:
            self.after_iteration(result)
        except StopIteration:
            if not self.stopped:  # it is one of the user's functions
                raise
            return result
        if result.nit == limits.max_iter:
            return result
        return self._continued(result, bounds, limits)

    def _evaluate(self, v):
        value, gradient = self.value_gradient(v)
        if self.steepness is None:
            self.steepness = float(np.abs(gradient).max(initial=0.0))
        return value, gradient

    def _minimised(self, start, bounds, limits, n_steps):
        result = minimize(
            self._evaluate,
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
        if self.failure is not None:
            raise self.failure
        return result

    def after_iteration(self, intermediate_result):
        self.history.append(float(intermediate_result.fun))
        if self.monitor is None:
            return
        v = np.array(intermediate_result.x)
        params = v if self.frame is None else self.frame.to_params(v)
        try:
            stop = self.monitor(params, len(self.history), self.history[-1])
        except StopIteration as error:  # which SciPy takes for an end of our own
            self.failure = error
            raise
        if stop:
            self.stopped = True
            raise StopIteration


def _ends_steeply(result, bounds, flat):
    """Whether a minimisation has ended by itself, but not where all is flat."""
    if result.status not in (0, NO_LOWER_POINT):
        return False
    pinned = result.x <= (-np.inf if bounds is None else bounds.lb)
    return np.abs(projected(result.jac, pinned)).max(initial=0.0) > flat
