"""Limited-memory BFGS under an L1 penalty."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import Bounds
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._base import BaseSolver, SolverResult
from skrank.solvers._lbfgs import NO_LOWER_POINT, LbfgsRun, Limits


class SparseLBFGS(BaseSolver):
    r"""Limited-memory BFGS for an objective plus an L1 penalty, with exact zeros.

    .. math:: \min_w J(w) + \lambda \lVert w \rVert_1 =
              \min_{a, b \ge 0} J(a - b) + \lambda \sum_j (a_j + b_j)

    Both parts of a parameter are kept above 0 by L-BFGS-B, and end at 0 exactly where
    the penalty is larger than the slope of the objective. Parameters that the L2
    penalty leaves out, such as intercepts, are not penalised. Every evaluation reads
    the data once. Zeros are those of the given features, so that there are no better
    coordinates: scale the features.

    Parameters
    ----------
    l1 : float, default=1e-3
        Strength :math:`\lambda` of the penalty.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-6
        Stop when the largest component of the projected gradient is at most ``tol``.
    memory : int, default=10
        Number of stored gradient differences.

    References
    ----------
    [Byrd1995]_; [Schmidt2007]_, section 3.2, for the two parts.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankNet
    >>> from skrank.solvers import SparseLBFGS
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankNet(solver=SparseLBFGS(l1=0.05)).fit(X, y, groups)
    >>> bool((ranker.coef_ == 0.0).sum() > 5)
    True
    """

    short_name = "sparse_lbfgs"

    l1: NonNegative = 1e-3
    max_iter: PositiveInt = 1000
    tol: NonNegative = 1e-6
    memory: PositiveInt = 10

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"l1": 0.0, "tol": 1e-9}, {"l1": 0.0, "tol": 1e-8, "memory": 3}]

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        penalised = getattr(objective, "penalty_mask", None)
        mask = np.ones(len(params)) if penalised is None else penalised()
        run = _SplitRun(objective, _Halves(), monitor, params, self.l1 * mask)
        start = np.concatenate([np.maximum(params, 0.0), np.maximum(-params, 0.0)])
        limits = Limits(self.max_iter, self.tol, self.memory)
        result = run.minimised(start, Bounds(0.0, np.inf), limits)
        converged = bool(result.success) or run.stopped
        if not converged:
            warnings.warn(self._advice(result), ConvergenceWarning, stacklevel=2)
        final = run.frame.to_params(result.x)
        return SolverResult(
            final, int(result.nit), float(result.fun), converged, run.history
        )

    def _advice(self, result):
        """What went wrong, and what helps."""
        stopped = (
            f"SparseLBFGS stopped after {result.nit} iterations before reaching "
            f"tol={self.tol:g}"
        )
        if result.status == NO_LOWER_POINT:
            return (
                f"{stopped}, because no step along its direction lowers the objective; "
                "for a loss with kinks use SmoothingHomotopy(SparseLBFGS()), otherwise "
                "raise tol, or scale the features"
            )
        return (
            f"{stopped} ({result.message}); raise max_iter or l1, or scale the features"
        )


class _Halves:
    """Coordinates of parameters as differences of two parts."""

    def to_params(self, parts):
        n = len(parts) // 2
        return parts[:n] - parts[n:]

    def pull(self, gradient):
        return np.concatenate([gradient, -gradient])


class _SplitRun(LbfgsRun):
    """A minimisation that adds the penalty to value and gradient."""

    def __init__(self, objective, frame, monitor, start, l1):
        super().__init__(objective, frame, monitor, start)
        self.l1 = np.concatenate([l1, l1])

    def value_gradient(self, v):
        value, gradient = super().value_gradient(v)
        return value + float(self.l1 @ v), gradient + self.l1
