"""Minimising a loss over rankings that are met on the way."""

from dataclasses import field
from typing import Any

from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._base import BaseSolver, SolverResult
from skrank.solvers._cutting_plane import CuttingPlane
from skrank.solvers._homotopy import Continued, limited


class WorkingSet(BaseSolver):
    r"""Minimise a loss over a working set of rankings, and add those by its minimum.

    .. math:: w_{t + 1} = \arg\min_w J(w; B_t), \qquad
              B_{t + 1} = B_t \cup \{\pi(w_{t + 1})\}

    Losses such as `PermutationHingeLoss` are the largest of what some rankings cost.
    The rankings by the minimum join them, until they no longer raise the objective; as
    there are finitely many rankings, this comes to an end. The gap of the result is
    that of the last problem, over its working set.

    Parameters
    ----------
    solver : BaseSolver, default=None
        Solves each problem; None means `CuttingPlane`.
    max_rounds : int, default=20
        Largest number of problems.
    round_tol : float, default=1e-2
        The last rankings may raise the objective by this share of it.
    max_iter : int, default=1000
        Largest number of iterations for each problem.
    tol : float or None, default=1e-3
        Tolerance of each problem; None leaves that of ``solver``.

    References
    ----------
    [Xu2008]_.

    Examples
    --------
    >>> from skrank.solvers import CuttingPlane, WorkingSet
    >>> WorkingSet(CuttingPlane(tol=1e-4), max_rounds=5).max_rounds
    5
    """

    short_name = "working_set"
    requires = ("value_gradient", "penalty", "extended")

    solver: BaseSolver | None = field(default=None, kw_only=False)
    max_rounds: PositiveInt = 20
    round_tol: NonNegative = 1e-2
    max_iter: PositiveInt = 1000
    tol: NonNegative | None = 1e-3

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"tol": 1e-9}, {"solver": CuttingPlane(), "max_rounds": 2}]

    @property
    def keeps_constraints(self):
        """Whether the solver of the problems keeps constraints."""
        return (
            CuttingPlane() if self.solver is None else self.solver
        ).keeps_constraints

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        inner = limited(self, CuttingPlane())
        history: list[float] = []
        watch = Continued(monitor, history)
        converged, result = False, None
        for _ in range(self.max_rounds):
            result = inner.solve(objective, params, rng, watch)
            params = result.params
            objective = objective.extended(params)
            value, _ = objective.value_gradient(params)
            converged = value - result.value <= self.round_tol * abs(value)
            converged = converged or watch.stopped
            if converged:
                break
        assert result is not None  # there is at least one problem
        return SolverResult(
            params, len(history), result.value, converged, history, result.gap
        )
