"""Minimising a loss that is not smooth through ever sharper smooth ones."""

import math
import warnings
from dataclasses import field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import (
    Fraction,
    NonNegative,
    Positive,
    PositiveInt,
    invalid_parameter,
)
from skrank.solvers._base import (
    BaseSolver,
    SolverResult,
    announce_start,
    finite_value,
    remedies,
)
from skrank.solvers._lbfgs import FLAT_START, LBFGS

# Of a factor close to 1, all widths would take a fit without an end.
_MAX_WIDTHS = 2000


def check_factor(owner: Any, first: float, last: float) -> None:
    """Refuse a ratio of widths that makes a fit of thousands of problems.

    Parameters
    ----------
    owner : object
        Has the parameter ``factor``.
    first, last : float
        Widths between which it leads.

    Raises
    ------
    InvalidParameterError
        If more than 2,000 widths would lie between them.
    """
    fall = math.log(first) - math.log(last)
    if fall > -_MAX_WIDTHS * math.log(owner.factor):
        largest = math.exp(-fall / _MAX_WIDTHS)
        accepted = f"at most {largest:.6g} from the width {first:g} to {last:g}"
        raise invalid_parameter(owner, "factor", accepted, owner.factor)


class SmoothingHomotopy(BaseSolver):
    r"""Solve a sequence of smooth problems that approach a non-smooth one.

    .. math:: w_t = \arg\min_w J_{\mu_t}(w) \text{ from } w_{t-1}, \qquad
              \mu_t = \mu_0 \rho^t

    Each problem starts where the last one ended, so that all of them together cost a
    few times what one costs. For a loss with kinks such as `skrank.losses.HingeLoss`,
    :math:`|J_\mu(w) - J(w)| \le \mu / 2`, so that the last width bounds how far the
    result is from the minimum of the loss itself. For a smooth measure,
    `skrank.losses.SmoothMeasureLoss`, widths are temperatures, and there is no such
    bound: the problem is not convex, and the path from the easy problems decides which
    of its minima is found.

    Parameters
    ----------
    solver : BaseSolver, default=None
        Solves each smooth problem; None means `LBFGS`.
    width : float, default=1.0
        First smoothing width :math:`\mu_0`, in units of the scores.
    final_width : float, default=1e-3
        Last smoothing width.
    factor : float, default=0.1
        Ratio :math:`\rho` of successive widths.
    max_iter : int, default=500
        Largest number of iterations for each problem.
    tol : float or None, default=1e-6
        Tolerance of each problem; None leaves that of ``solver``.

    References
    ----------
    [Nesterov2005]_, section 2; [Chapelle2010b]_; [Liu2011]_, section 4.2.1.4.

    Examples
    --------
    >>> from skrank.rankers import RankSVM
    >>> from skrank.solvers import SmoothingHomotopy
    >>> RankSVM(hinge="linear", solver=SmoothingHomotopy(final_width=0.01)).hinge
    'linear'
    """

    short_name = "homotopy"
    requires = ("value_gradient", "smoothed")

    solver: BaseSolver | None = field(default=None, kw_only=False)
    width: Positive = 1.0
    final_width: Positive = 1e-3
    factor: Fraction = 0.1
    max_iter: PositiveInt = 500
    tol: NonNegative | None = 1e-6

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"final_width": 1e-4}, {"factor": 0.5, "tol": 1e-8}]

    @property
    def keeps_constraints(self):
        """Whether the solver of the smooth problems keeps constraints."""
        return (LBFGS() if self.solver is None else self.solver).keeps_constraints

    def keeps(self, constraint) -> bool:
        """Return whether the inner solver keeps parameters in a set."""
        return (LBFGS() if self.solver is None else self.solver).keeps(constraint)

    def _check_parameters(self):
        super()._check_parameters()
        if self.final_width > self.width:
            accepted = f"at most width={self.width:g}"
            raise invalid_parameter(self, "final_width", accepted, self.final_width)

        check_factor(self, self.width, self.final_width)

    def _widths(self):
        widths = [self.width]
        while widths[-1] > self.final_width:
            widths.append(max(self.final_width, widths[-1] * self.factor))
        return widths

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        inner = limited(self, LBFGS())
        history: list[float] = []
        watch = Continued(monitor, history)
        exhausted, result = False, None
        for width in self._widths():
            with warnings.catch_warnings():
                # The sharper the problem, the sooner no step lowers it in double
                # precision; that ends one stage and is no failure of the whole.
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = inner.solve(objective.smoothed(width), params, rng, watch)
            params = result.params
            exhausted |= result.n_iter >= self.max_iter
            if watch.stopped:
                break
        if exhausted:
            warnings.warn(
                f"SmoothingHomotopy used max_iter={self.max_iter} iterations in one of "
                f"its problems; {remedies(objective)}",
                ConvergenceWarning,
                stacklevel=2,
            )
        stuck = not history and result is not None and not result.converged
        if stuck:
            # Smooth versions of a loss without a margin are flat where it has its kink.
            warnings.warn(
                f"SmoothingHomotopy made no step, because {FLAT_START}",
                ConvergenceWarning,
                stacklevel=2,
            )
        value = finite_value(objective, params)
        converged = not exhausted and not stuck
        return SolverResult(params, len(history), value, converged, history)


def limited(solver, default: BaseSolver) -> Any:
    """Return the inner solver of a wrapping one, with the limits of the latter.

    Parameters
    ----------
    solver : BaseSolver
        Has ``solver``, ``max_iter`` and ``tol``, None for the tolerance that the inner
        solver has itself.
    default : BaseSolver
        What None for ``solver`` means.

    Returns
    -------
    BaseSolver
        A copy.
    """
    inner: Any = clone(default if solver.solver is None else solver.solver)
    limits = {"max_iter": solver.max_iter, "tol": solver.tol}
    return inner.set_params(**{k: v for k, v in limits.items() if v is not None})


class Continued:
    """A monitor that counts iterations on across several problems.

    Parameters
    ----------
    monitor : callable or None
        Hears of every iteration, and once of the start of the first problem.
    history : list of float
        Objectives are appended to it.
    """

    def __init__(self, monitor, history):
        self.monitor = monitor
        self.history = history
        self.stopped = False
        self.started = False

    def start(self, params: np.ndarray, value: float) -> None:
        """Pass on the start of the first problem."""
        if not self.started:
            announce_start(self.monitor, params, value)
        self.started = True

    def __call__(self, params, n_iter, value):
        """Note one iteration; True tells the solver to stop."""
        self.history.append(value)
        if self.monitor is not None:
            self.stopped = self.monitor(params, len(self.history), value)
        return self.stopped
