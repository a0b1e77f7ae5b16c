"""Minimising a loss with a cap from a minimum of the same loss without it."""

from dataclasses import field
from typing import Any

from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._adam import Adam
from skrank.solvers._base import BaseSolver, SolverResult, finite_value
from skrank.solvers._homotopy import Continued, limited
from skrank.solvers._lbfgs import LBFGS


class RelaxedStart(BaseSolver):
    r"""Minimise a loss without its cap first, and the loss itself from there.

    .. math:: w_0 = \arg\min_w J_{M = \infty}(w), \qquad
              w = \arg\min_w J_M(w) \text{ from } w_0

    A capped loss has no gradient where it has reached its cap, so that scores which
    start far from right, such as those of a random network, would stay there.

    Parameters
    ----------
    solver : BaseSolver, default=None
        Solves both problems; None means `Adam`.
    max_iter : int, default=100
        Largest number of iterations or epochs for each of the two problems.
    tol : float or None, default=None
        Tolerance of each problem; None leaves that of ``solver``.

    References
    ----------
    [Collobert2006]_, section 3, where the hinge is the first step towards a ramp.

    Examples
    --------
    >>> from skrank.rankers import EnergyPairwise
    >>> from skrank.solvers import LBFGS, RelaxedStart
    >>> EnergyPairwise(solver=RelaxedStart(LBFGS(), tol=1e-6)).solver.max_iter
    100
    """

    short_name = "relaxed"
    requires = ("value_gradient", "relaxed")

    solver: BaseSolver | None = field(default=None, kw_only=False)
    max_iter: PositiveInt = 100
    tol: NonNegative | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [
            {"solver": Adam(learning_rate=0.05)},
            {"solver": LBFGS(), "tol": 1e-8},
        ]

    @property
    def keeps_constraints(self):
        """Whether the solver of the two problems keeps constraints."""
        return (Adam() if self.solver is None else self.solver).keeps_constraints

    def keeps(self, constraint) -> bool:
        """Return whether the inner solver keeps parameters in a set."""
        return (Adam() if self.solver is None else self.solver).keeps(constraint)

    def check(self, objective) -> None:
        """Check also that the inner solver can minimise the second problem."""
        super().check(objective)
        limited(self, Adam()).check(objective)

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        inner = limited(self, Adam())
        history: list[float] = []
        watch = Continued(monitor, history)
        result = inner.solve(objective.relaxed(), params, rng, watch)
        if not watch.stopped:
            result = inner.solve(objective, result.params, rng, watch)
        value = finite_value(objective, result.params)
        return SolverResult(
            result.params, len(history), value, result.converged, history
        )
