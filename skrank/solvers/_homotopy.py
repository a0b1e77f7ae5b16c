"""Minimising a kinked loss through ever sharper smooth ones."""

import warnings

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skrank.solvers._base import BaseSolver, SolverResult
from skrank.solvers._lbfgs import LBFGS


class SmoothingHomotopy(BaseSolver):
    r"""Solve a sequence of smooth problems that approach a non-smooth one.

    .. math:: w_t = \arg\min_w J_{\mu_t}(w) \text{ from } w_{t-1}, \qquad
              \mu_t = \mu_0 \rho^t, \qquad |J_\mu(w) - J(w)| \le \mu / 2

    The last width bounds how far the result is from the minimum of the loss itself.
    Each problem starts where the last one ended, so that all of them together cost a
    few times what one costs.

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
        Iterations at most for each problem.
    tol : float, default=1e-6
        Tolerance of each problem.

    References
    ----------
    Nesterov (2005), Smooth minimization of non-smooth functions.

    Examples
    --------
    >>> from skrank.rankers import RankSVM
    >>> from skrank.solvers import SmoothingHomotopy
    >>> RankSVM(hinge="linear", solver=SmoothingHomotopy(final_width=0.01)).hinge
    'linear'
    """

    requires = ("value_gradient", "smoothed")

    def __init__(
        self,
        solver=None,
        *,
        width: float = 1.0,
        final_width: float = 1e-3,
        factor: float = 0.1,
        max_iter: int = 500,
        tol: float = 1e-6,
    ):
        self.solver = solver
        self.width = width
        self.final_width = final_width
        self.factor = factor
        self.max_iter = max_iter
        self.tol = tol

    def _widths(self):
        if not 0 < self.final_width <= self.width:
            raise ValueError(
                "final_width must be positive and at most width, got "
                f"{self.final_width!r} and {self.width!r}"
            )
        if not 0 < self.factor < 1:
            raise ValueError(f"factor must lie between 0 and 1, got {self.factor!r}")
        widths = [self.width]
        while widths[-1] > self.final_width:
            widths.append(max(self.final_width, widths[-1] * self.factor))
        return widths

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        inner = LBFGS() if self.solver is None else clone(self.solver)
        inner.set_params(max_iter=self.max_iter, tol=self.tol)
        history: list[float] = []
        watch = _Continued(monitor, history)
        exhausted = False
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
                "its problems; raise max_iter or alpha, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        value, _ = objective.value_gradient(params)
        return SolverResult(params, len(history), value, not exhausted, history)


class _Continued:
    """A monitor that counts iterations on across the problems."""

    def __init__(self, monitor, history):
        self.monitor = monitor
        self.history = history
        self.stopped = False

    def __call__(self, params, n_iter, value):
        self.history.append(value)
        if self.monitor is not None:
            self.stopped = self.monitor(params, len(self.history), value)
        return self.stopped
