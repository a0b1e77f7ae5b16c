"""Spectral projected gradient."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._core._finite import NotFiniteError
from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._base import (
    BaseSolver,
    SolverResult,
    announce_start,
    constraint_of,
    finite_value_gradient,
)

_SMALLEST_STEP, _LARGEST_STEP = 1e-10, 1e10
# Share of the promised decrease that a step must bring.
_SUFFICIENT = 1e-4
_MAX_HALVINGS = 40
# Length, relative to the parameters, of the trial step that measures the curvature.
_TRIAL = 1e-4


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

    Scores may depend on the square of a parameter that must not be negative, as those
    of `NadarayaWatsonEnergy` do. Its derivative is then 0 on the boundary, whether or
    not the objective falls beyond it. So where the gradient vanishes, parameters on the
    boundary are moved inside as far as that lowers the objective; the solver stops
    where it does not.

    Parameters
    ----------
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-5
        Stop when no component of :math:`P(w - \nabla L(w)) - w` exceeds this.
    memory : int, default=10
        Number of last values below whose largest the objective must fall.

    References
    ----------
    [Birgin2000]_, algorithm 2.

    Examples
    --------
    >>> from skrank.solvers import ProjectedGradient
    >>> ProjectedGradient(max_iter=50)
    ProjectedGradient(max_iter=50)
    """

    short_name = "projected"
    keeps_constraints = True

    max_iter: PositiveInt = 200
    tol: NonNegative = 1e-5
    memory: PositiveInt = 10

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"tol": 1e-8}, {"tol": 1e-8, "memory": 1}]

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        run = _Run(objective, params, self.memory)
        announce_start(monitor, run.params, run.value)
        history: list[float] = []
        converged = False
        while not converged and len(history) < self.max_iter:
            if run.residual() <= self.tol:
                if not run.leave_boundary():
                    converged = True
                    break
            elif not run.step():
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
        self.spectral = self._first_step()

    def _evaluate(self, params):
        return finite_value_gradient(self.objective, params)

    def _direction(self, step):
        return self.project(self.params - step * self.gradient) - self.params

    def _cautious_step(self):
        """Step that moves the parameters by about their own size."""
        steepest = np.abs(self._direction(1.0)).max(initial=0.0)
        size = max(1.0, np.abs(self.params).max(initial=0.0))
        return size / steepest if steepest > 0 else 1.0

    def _first_step(self):
        """Spectral step of a short trial step along the projected gradient.

        A first step of unit length, whatever the curvature, may overshoot to the
        boundary, where parameters can have no gradient to bring them back.
        """
        step = self._cautious_step()
        params = self.params + _TRIAL * self._direction(step)
        _, gradient = self._evaluate(params)
        return min(step, self._spectral(params, gradient) or step)

    def _spectral(self, params, gradient):
        """Step of Barzilai and Borwein; None where the curvature is not positive."""
        moved, turned = params - self.params, gradient - self.gradient
        curvature = (moved * turned).sum()
        if curvature <= 0:
            return None
        step = (moved * moved).sum() / curvature
        return min(max(step, _SMALLEST_STEP), _LARGEST_STEP)

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
            try:
                value, gradient = self._evaluate(params)
            except NotFiniteError:  # a step too far, as exponential losses show
                length *= 0.1
                continue
            if value <= highest + _SUFFICIENT * length * slope:
                self._accept(params, value, gradient)
                return True
            # Minimum of the parabola through both values, within safe bounds.
            drop = 2.0 * (value - self.value - length * slope)
            best = -slope * length**2 / drop if drop > 0 else 0.5 * length
            length = min(max(best, 0.1 * length), 0.5 * length)
        return False

    def leave_boundary(self):
        """Move inside where that lowers the objective; False if it does nowhere."""
        size = max(1.0, np.abs(self.params).max(initial=0.0))
        pinned = self.project(self.params - size) >= self.params
        pinned &= self.gradient == 0.0
        if not pinned.any():
            return False
        near = self.project(self.params + _TRIAL * size * pinned)
        _, gradient = self._evaluate(near)
        growing = pinned & (gradient < 0.0)
        length = size if growing.any() else 0.0
        while length > _TRIAL * size:
            params = self.project(self.params + length * growing)
            value, gradient = self._evaluate(params)
            if value < self.value:
                self._accept(params, value, gradient)
                return True
            length *= 0.5
        return False

    def _accept(self, params, value, gradient):
        # Without curvature there is no spectral step, and a very long one would end at
        # the far side of the constraint.
        spectral = self._spectral(params, gradient)
        self.params, self.value, self.gradient = params, value, gradient
        self.recent = [*self.recent, value][-self.memory :]
        self.spectral = self._cautious_step() if spectral is None else spectral
