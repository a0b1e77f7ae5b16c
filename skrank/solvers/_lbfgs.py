"""Limited-memory BFGS."""

import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from skrank.solvers._base import BaseSolver, SolverResult


class LBFGS(BaseSolver):
    r"""Limited-memory BFGS over all queries, in whitened coordinates where they exist.

    The step is :math:`v_{t+1} = v_t - \eta_t H_t \nabla L(v_t)`, with :math:`H_t` built
    from the last ``memory`` differences of gradients and :math:`\eta_t` by a line
    search. Where scores are linear in the parameters, :math:`v = R w` with
    :math:`R^T R \approx X^T X / n`, so that badly conditioned features cost tens of
    evaluations instead of hundreds. Every evaluation reads the data once.

    Parameters
    ----------
    max_iter : int, default=500
        Iterations at most.
    tol : float, default=1e-6
        Stop when the largest component of the gradient in the solver's coordinates is
        at most ``tol`` times the larger of 1 and the objective.
    memory : int, default=10
        Number of stored gradient differences.
    whiten : bool, default=True
        Whether to ask the objective for better coordinates.

    References
    ----------
    Nocedal & Wright (2006), Numerical Optimization, section 7.2.

    Examples
    --------
    >>> from skrank.rankers import RankSVM
    >>> from skrank.solvers import LBFGS
    >>> RankSVM(solver=LBFGS(max_iter=50)).solver.max_iter
    50
    """

    def __init__(
        self,
        *,
        max_iter: int = 500,
        tol: float = 1e-6,
        memory: int = 10,
        whiten: bool = True,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.whiten = whiten

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        find = getattr(objective, "coordinates", None)
        frame = find() if self.whiten and find is not None else None
        run = _Run(objective, frame, monitor)
        start = params if frame is None else frame.from_params(params)
        result = minimize(
            run.value_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=run.after_iteration,
            options={
                "maxiter": self.max_iter,
                "maxfun": 20 * self.max_iter,
                "maxcor": self.memory,
                "gtol": self.tol,
                "ftol": 10 * np.finfo(float).eps,
            },
        )
        converged = bool(result.success) or run.stopped
        if not converged:
            warnings.warn(
                f"LBFGS stopped after {result.nit} iterations before reaching "
                f"tol={self.tol:g} ({result.message}); raise max_iter or alpha, or "
                "scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        final = result.x if frame is None else frame.to_params(result.x)
        return SolverResult(
            final, int(result.nit), float(result.fun), converged, run.history
        )


class _Run:
    """One minimisation: changes coordinates and keeps the history."""

    def __init__(self, objective, frame, monitor):
        self.objective = objective
        self.frame = frame
        self.monitor = monitor
        self.history: list[float] = []
        self.stopped = False

    def value_gradient(self, v):
        params = v if self.frame is None else self.frame.to_params(v)
        value, gradient = self.objective.value_gradient(params)
        if not np.isfinite(value):
            raise ValueError(
                f"the objective became {value}; scale the features or raise alpha"
            )
        return value, gradient if self.frame is None else self.frame.pull(gradient)

    def after_iteration(self, intermediate_result):
        self.history.append(float(intermediate_result.fun))
        if self.monitor is None:
            return
        v = np.array(intermediate_result.x)
        params = v if self.frame is None else self.frame.to_params(v)
        if self.monitor(params, len(self.history), self.history[-1]):
            self.stopped = True
            raise StopIteration
