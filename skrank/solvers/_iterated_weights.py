"""Minimising a loss whose weights depend on its minimum."""

from dataclasses import field
from typing import Any

import numpy as np

from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._base import BaseSolver, SolverResult
from skrank.solvers._homotopy import Continued, limited
from skrank.solvers._lbfgs import LBFGS


class IteratedWeights(BaseSolver):
    r"""Minimise a loss with its weights held, and take new weights at the minimum.

    .. math:: w_{t + 1} = \arg\min_w J(w; \omega(w_t)) \text{ from } w_t

    Losses such as `LambdaLoss` weigh pairs by what they matter in the current ranking.
    With these weights held, the loss is an ordinary function, here minimised until the
    weights are those of its own minimum. Nothing makes the sequence converge in
    general; it ends when parameters hardly move, or after ``max_updates`` minima.

    Parameters
    ----------
    solver : BaseSolver, default=None
        Solves each problem; None means `LBFGS`.
    max_updates : int, default=10
        Largest number of problems.
    update_tol : float, default=1e-3
        The sequence has converged when no parameter moves by more than this share of
        the largest one.
    max_iter : int, default=500
        Largest number of iterations for each problem.
    tol : float or None, default=None
        Tolerance of each problem; None leaves that of ``solver``.

    References
    ----------
    [Sun2009]_; [Liu2011]_, section 3.3.8.

    Examples
    --------
    >>> from skrank.solvers import IteratedWeights, SparseLBFGS
    >>> IteratedWeights(SparseLBFGS(l1=0.01), max_updates=5).max_updates
    5
    """

    short_name = "iterated_weights"
    requires = ("value_gradient", "held_at")

    solver: BaseSolver | None = field(default=None, kw_only=False)
    max_updates: PositiveInt = 10
    update_tol: NonNegative = 1e-3
    max_iter: PositiveInt = 500
    tol: NonNegative | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"tol": 1e-9}, {"solver": LBFGS(), "max_updates": 2, "tol": 1e-9}]

    @property
    def keeps_constraints(self):
        """Whether the solver of the problems keeps constraints."""
        return (LBFGS() if self.solver is None else self.solver).keeps_constraints

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        inner = limited(self, LBFGS())
        history: list[float] = []
        watch = Continued(monitor, history)
        converged, result = False, None
        for _ in range(self.max_updates):
            result = inner.solve(objective.held_at(params), params, rng, watch)
            moved = np.max(np.abs(result.params - params), initial=0.0)
            params = result.params
            largest = np.max(np.abs(params), initial=0.0)
            converged = watch.stopped or moved <= self.update_tol * largest
            if converged:
                break
        assert result is not None  # there is at least one problem
        return SolverResult(params, len(history), result.value, converged, history)
