"""Minimising a loss with a cap from a minimum of the same loss without it."""

from sklearn.base import clone

from skrank.solvers._adam import Adam
from skrank.solvers._base import BaseSolver, SolverResult
from skrank.solvers._homotopy import _Continued


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
        Iterations or epochs at most, for each of the two problems.
    tol : float, default=None
        Tolerance of each problem.

    References
    ----------
    Collobert et al. (2006), Trading convexity for scalability, section 3, where the
    hinge is the first step towards a ramp.

    Examples
    --------
    >>> from skrank.rankers import EnergyPairwise
    >>> from skrank.solvers import LBFGS, RelaxedStart
    >>> EnergyPairwise(solver=RelaxedStart(LBFGS(), tol=1e-6)).solver.max_iter
    100
    """

    requires = ("value_gradient", "relaxed")

    def __init__(self, solver=None, *, max_iter: int = 100, tol: float | None = None):
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        inner = Adam() if self.solver is None else clone(self.solver)
        inner.set_params(max_iter=self.max_iter, tol=self.tol)
        history: list[float] = []
        watch = _Continued(monitor, history)
        result = inner.solve(objective.relaxed(), params, rng, watch)
        if not watch.stopped:
            result = inner.solve(objective, result.params, rng, watch)
        value, _ = objective.value_gradient(result.params)
        return SolverResult(
            result.params, len(history), value, result.converged, history
        )
