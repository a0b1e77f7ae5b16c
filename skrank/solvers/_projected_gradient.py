"""Spectral projected gradient."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank.solvers._base import BaseSolver, SolverResult, constraint_of
from skrank.solvers._stochastic import check_count, check_number

_SMALLEST_STEP, _LARGEST_STEP = 1e-10, 1e10
# Share of the promised decrease that a step must bring.
_SUFFICIENT = 1e-4
_MAX_HALVINGS = 40


class ProjectedGradient(BaseSolver):
    r"""Spectral projected gradient over all queries.

    .. math:: d_t = P(w_t - \lambda_t \nabla L(w_t)) - w_t, \qquad
              w_{t+1} = w_t + \eta_t d_t

    where P projects onto the objective's constraint, :math:`\lambda_t` is the step of
    Barzilai and Borwein, :math:`s^T s / s^T y` of the last differences s of parameters
    and y of gradients, and :math:`\eta_t \le 1` lowers the objective below the highest
    of its last ``memory`` values. Every point stays feasible if the constraint is
    convex. Without a constraint it is plain spectral descent, and `LBFGS` is faster.
    Every evaluation reads the data once.

    Parameters
    ----------
    max_iter : int, default=200
        Iterations at most.
    tol : float, default=1e-5
        Stop when no component of :math:`P(w - \nabla L(w)) - w` exceeds this.
    memory : int, default=10
        Number of last values below whose largest the objective must fall.

    References
    ----------
    Birgin, Martínez & Raydan (2000), Nonmonotone spectral projected gradient methods
    on convex sets, algorithm 2.

    Examples
    --------
    >>> from skrank.solvers import ProjectedGradient
    >>> ProjectedGradient(max_iter=50)
    ProjectedGradient(max_iter=50)
    """

    keeps_constraints = True

    def __init__(self, *, max_iter: int = 200, tol: float = 1e-5, memory: int = 10):
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        check_count(self, "max_iter")
        check_count(self, "memory")
        check_number(self, "tol", at_least=0.0)
        run = _Run(objective, params, self.memory)
        history: list[float] = []
        converged = False
        while not converged and len(history) < self.max_iter:
            if run.residual() <= self.tol:
                converged = True
                break
            if not run.step():
                break  # rounding: no step lowers the objective any more
            history.append(run.value)
            converged = monitor is not None and bool(
                monitor(run.params.copy(), len(history), run.value)
            )
        if not converged and len(history) >= self.max_iter:
            warnings.warn(
                f"ProjectedGradient stopped after max_iter={self.max_iter} before "
                f"reaching tol={self.tol:g}; raise max_iter, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        stuck = not converged and len(history) < self.max_iter
        return SolverResult(
            run.params, len(history), run.value, converged or stuck, history
        )


class _Run:
    """One minimisation: the point, its gradient and the spectral step."""

    def __init__(self, objective, params, memory):
        constraint = constraint_of(objective)
        self.objective = objective
        self.project = np.array if constraint is None else constraint.project
        self.memory = memory
        self.params = self.project(np.asarray(params, dtype=np.float64))
        self.value, self.gradient = self._evaluate(self.params)
        self.recent = [self.value]
        steepest = np.abs(self._direction(1.0)).max(initial=0.0)
        self.spectral = 1.0 / steepest if steepest > 0 else 1.0

    def _evaluate(self, params):
        value, gradient = self.objective.value_gradient(params)
        if not np.isfinite(value):
            raise ValueError(
                f"the objective became {value}; scale the features or raise alpha"
            )
        return value, gradient

    def _direction(self, step):
        return self.project(self.params - step * self.gradient) - self.params

    def residual(self):
        """Largest component of the projected gradient."""
        return np.abs(self._direction(1.0)).max(initial=0.0)

    def step(self):
        """Move once; False if no length along the direction lowers the objective."""
        direction = self._direction(self.spectral)
        slope = (direction * self.gradient).sum()  # not by BLAS: it rounds by threads
        highest = max(self.recent)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            params = self.params + length * direction
            value, gradient = self._evaluate(params)
            if value <= highest + _SUFFICIENT * length * slope:
                self._accept(params, value, gradient)
                return True
            # Minimum of the parabola through both values, within safe bounds.
            drop = 2.0 * (value - self.value - length * slope)
            best = -slope * length**2 / drop if drop > 0 else 0.5 * length
            length = min(max(best, 0.1 * length), 0.5 * length)
        return False

    def _accept(self, params, value, gradient):
        moved, turned = params - self.params, gradient - self.gradient
        curvature = (moved * turned).sum()
        step = (moved * moved).sum() / curvature if curvature > 0 else _LARGEST_STEP
        self.spectral = min(max(step, _SMALLEST_STEP), _LARGEST_STEP)
        self.params, self.value, self.gradient = params, value, gradient
        self.recent = [*self.recent[1 - self.memory :], value][-self.memory :]
