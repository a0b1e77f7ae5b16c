"""What a solver is: something that minimises an objective it knows nothing about.

A solver asks for capabilities by name (`requires`) and calls them; it never looks at
the type of the energy or of the loss. The objective offers ``value_gradient(params)``,
``n_queries``, ``batch(queries, rng)`` and, for convex problems in linear scores,
``coordinates()``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


@dataclass
class SolverResult:
    """Where a solver ended.

    Attributes
    ----------
    params : ndarray of shape (n_params,)
        Final parameters.
    n_iter : int
        Iterations, or epochs of a stochastic solver.
    value : float
        Objective at ``params``.
    converged : bool
        Whether the solver's own criterion was met (or it was told to stop).
    history : list of float
        Objective after every iteration.
    """

    params: np.ndarray
    n_iter: int
    value: float
    converged: bool
    history: list[float] = field(default_factory=list)


Monitor = Callable[[np.ndarray, int, float], bool]


def constraint_of(objective: Any):
    """Set that the parameters of an objective must stay in, or None.

    Parameters
    ----------
    objective : object
        May offer ``constraint()``.

    Returns
    -------
    object or None
        With methods ``feasible(params)`` and ``project(params)``.
    """
    find = getattr(objective, "constraint", None)
    return None if find is None else find()


class BaseSolver(BaseEstimator):
    """Base class of solvers."""

    #: What the objective must offer.
    requires: tuple[str, ...] = ("value_gradient",)
    #: Whether parameters are kept in the set that the objective's `constraint` names.
    keeps_constraints = False

    def check(self, objective: Any) -> None:
        """Raise a TypeError if the objective lacks something this solver needs."""
        missing = [name for name in self.requires if not hasattr(objective, name)]
        if missing:
            raise TypeError(
                f"{type(self).__name__} needs an objective with {', '.join(missing)}, "
                f"which {type(objective).__name__} does not offer"
            )
        if constraint_of(objective) is not None and not self.keeps_constraints:
            raise TypeError(
                f"{type(self).__name__} does not keep parameters within the constraint "
                "of this energy; use ProjectedGradient, ConstrainedSGD, Adam or SGD"
            )

    def solve(
        self, objective: Any, params, rng, monitor: Monitor | None = None
    ) -> SolverResult:
        """Minimise an objective.

        Parameters
        ----------
        objective : object
            Offers what `requires` names.
        params : ndarray of shape (n_params,)
            Where to start; left unchanged.
        rng : RandomState
            Source of all randomness.
        monitor : callable, default=None
            Called as ``monitor(params, n_iter, value)`` after every iteration; the
            solver stops when it returns True.

        Returns
        -------
        SolverResult
            Parameters and how they were reached.
        """
        raise NotImplementedError
