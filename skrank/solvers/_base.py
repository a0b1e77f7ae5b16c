"""What a solver is: something that minimises an objective it knows nothing about.

A solver asks for capabilities by name (`requires`) and calls them; it never looks at
the type of the energy or of the loss. The objective offers ``value_gradient(params)``,
``n_queries``, ``batch(queries, rng)`` and, for convex problems in linear scores,
``coordinates()``. Further capabilities, such as ``smoothed(width)``, are there exactly
where its energy and its loss can do it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from skrank._core._finite import NotFiniteError, quiet
from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank._core._validation import as_numbers


@dataclass
class SolverResult:
    """Where a solver ended.

    Attributes
    ----------
    params : ndarray of shape (n_params,)
        Final parameters.
    n_iter : int
        Number of iterations, or of epochs of a stochastic solver.
    value : float
        Objective at ``params``, over all queries and without the noise of training.
    converged : bool
        Whether the solver's own criterion was met (or it was told to stop).
    history : list of float
        Objective after every iteration. Stochastic solvers, which never evaluate it as
        a whole, give its mean over the batches of each epoch, along which the
        parameters moved; so do not compare it with ``value``.
    gap : float or None
        How far ``value`` is above the minimum at most, where the solver knows it.
    """

    params: np.ndarray
    n_iter: int
    value: float
    converged: bool
    history: list[float] = field(default_factory=list)
    gap: float | None = None


Monitor = Callable[[np.ndarray, int, float], bool]


def constraint_of(objective: Any) -> Any:
    """Return the set that the parameters of an objective must stay in, or None.

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


def announce_start(monitor: Any, params: np.ndarray, value: float) -> None:
    """Tell a monitor that wants to know it what the minimisation starts from.

    Parameters
    ----------
    monitor : callable or None
        May offer ``start(params, value)``.
    params : ndarray of shape (n_params,)
        Parameters before the first iteration.
    value : float
        Objective there; NaN where the solver does not know it.
    """
    start = getattr(monitor, "start", None)
    if start is not None:
        start(np.array(params), value)


def not_finite(objective: Any, what: str, remedy: str | None = None) -> NotFiniteError:
    """Return the error that says that a minimisation has left the finite numbers.

    Parameters
    ----------
    objective : object
        May offer ``loss_name``, by which the error then calls it.
    what : str
        What happened, such as "became inf".
    remedy : str, default=None
        What the user can do about it; see `finite_value_gradient`.

    Returns
    -------
    NotFiniteError
        Error to raise; a ValueError.
    """
    name = getattr(objective, "loss_name", None)
    owner = "the objective" if name is None else f"the objective with {name}"
    return NotFiniteError(f"{owner} {what}; {remedy or _scale_or_penalise(objective)}")


def has_penalty(objective: Any) -> bool:
    """Return whether an objective has a penalty, which could be raised.

    An objective that knows of none, or whose ``alpha`` is 0, may have to do without:
    advice to raise it would lead nowhere.

    Parameters
    ----------
    objective : object
        May have the attribute ``alpha``, the strength of its L2 penalty.

    Returns
    -------
    bool
        Whether the strength is above 0.
    """
    return getattr(objective, "alpha", 0.0) > 0.0


def has_units(objective: Any) -> bool:
    """Return whether there is anything to learn from.

    Parameters
    ----------
    objective : object
        What is minimised.

    Returns
    -------
    bool
        False for an objective whose ``total_weight`` is 0: a loss of preferences, say,
        where every query has a single document.
    """
    return getattr(objective, "total_weight", 1.0) > 0.0


def remedies(objective: Any) -> str:
    """Return what helps a solver that has used up its iterations.

    Parameters
    ----------
    objective : object
        The objective that it minimised.

    Returns
    -------
    str
        A clause such as "raise max_iter, or scale the features".
    """
    penalty = " or alpha" if has_penalty(objective) else ""
    return f"raise max_iter{penalty}, or scale the features"


def _scale_or_penalise(objective) -> str:
    excessive = getattr(objective, "excessive", None)
    if excessive:
        return f"lower {excessive}"
    penalty = " or raise alpha" if has_penalty(objective) else ""
    return f"scale the features{penalty}"


def finite_value_gradient(
    objective: Any,
    params: np.ndarray,
    remedy: str | None = None,
) -> tuple[float, np.ndarray]:
    """Evaluate an objective; raise a ValueError where it is not finite.

    Parameters
    ----------
    objective : object
        Offers ``value_gradient(params)``.
    params : ndarray of shape (n_params,)
        Where to evaluate it.
    remedy : str, default=None
        What the user can do where it is not finite; None for what helps where a solver
        chooses its steps by itself.

    Returns
    -------
    value : float
        The objective.
    gradient : ndarray of shape (n_params,)
        Its gradient.

    Raises
    ------
    NotFiniteError
        If the objective or a part of its gradient is infinite or NaN.
    """
    value, gradient = _finite_value(objective, params, remedy)
    if not np.isfinite(gradient).all():
        raise not_finite(objective, "has a gradient that is not finite", remedy)
    return value, gradient


def finite_value(
    objective: Any, params: np.ndarray, remedy: str | None = None
) -> float:
    """Return an objective; raise a ValueError where it is not finite.

    Parameters
    ----------
    objective : object
        Offers ``value_gradient(params)``.
    params : ndarray of shape (n_params,)
        Where to evaluate it.
    remedy : str, default=None
        What the user can do where it is not finite; see `finite_value_gradient`.

    Returns
    -------
    float
        The objective.

    Raises
    ------
    NotFiniteError
        If the objective is infinite or NaN.
    """
    return float(_finite_value(objective, params, remedy)[0])


def value_and_gradient(objective: Any, params: np.ndarray) -> tuple[float, np.ndarray]:
    """Evaluate an objective, which may be one of the user's.

    Parameters
    ----------
    objective : object
        Offers ``value_gradient(params)``.
    params : ndarray of shape (n_params,)
        Where to evaluate it.

    Returns
    -------
    value : float
        The objective.
    gradient : ndarray of shape (n_params,), dtype float64
        Its gradient.

    Raises
    ------
    TypeError or ValueError
        If the objective returns something else.
    """
    found = objective.value_gradient(params)
    name = f"{type(objective).__name__}.value_gradient"
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(
            f"{name} must return a value and a gradient, got {shown(found)}"
        )
    value, gradient = found
    # Objectives of this package return such arrays.
    if type(gradient) is not np.ndarray or gradient.dtype.char != "d":
        gradient = as_numbers(gradient, f"the gradient of {name}")
    if gradient.shape != params.shape:
        raise ValueError(
            f"{name} must return a gradient of the shape of the parameters, "
            f"{params.shape}, got shape {gradient.shape}"
        )
    return value, gradient


def _finite_value(objective, params, remedy):
    try:
        with quiet():
            value, gradient = value_and_gradient(objective, params)
    except NotFiniteError as error:  # of the loss itself
        remedy = remedy or _scale_or_penalise(objective)
        raise NotFiniteError(f"{error}; {remedy}") from error
    if not math.isfinite(value):
        raise not_finite(objective, f"became {value}", remedy)
    return value, gradient


class BaseSolver(Parameters, BaseEstimator):
    """Base class of solvers.

    Subclasses declare their parameters as annotated class attributes and implement
    `solve`, which begins with `check`.
    """

    #: Name by which rankers and the registry know the solver; set by concrete classes.
    short_name: ClassVar[str]
    #: What the objective must offer.
    requires = ("value_gradient",)
    #: Whether parameters are kept in the set that the objective's `constraint` names.
    keeps_constraints = False

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments that the contract tests run over."""
        return [{}]

    def keeps(self, constraint: Any) -> bool:
        """Return whether parameters are kept in a set.

        Parameters
        ----------
        constraint : object
            With methods ``feasible(params)`` and ``project(params)`` and, if it is
            nothing but lower bounds, an array ``lower_bounds``.

        Returns
        -------
        bool
        """
        return self.keeps_constraints

    def check(self, objective: Any) -> None:
        """Check the parameters, and that the objective offers what is needed.

        Parameters
        ----------
        objective : object
            The objective to be minimised.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        TypeError
            If a parameter has a wrong type, if the objective lacks something that this
            solver needs, or if it has a constraint that this solver would not keep.
        """
        self._check_parameters()
        missing = [name for name in self.requires if not hasattr(objective, name)]
        if missing:
            raise TypeError(self._why_unsuitable(objective, missing))
        constraint = constraint_of(objective)
        if constraint is not None and not self.keeps(constraint):
            raise TypeError(
                f"{type(self).__name__} does not keep parameters within the constraint "
                "of this energy; use ProjectedGradient, ConstrainedSGD, Adam or SGD"
            )

    def _why_unsuitable(self, objective, missing) -> str:
        """Say what an objective lacks, in its own words where it has any."""
        why_not = getattr(objective, "why_not", None)
        reasons = [] if why_not is None else [why_not(name) for name in missing]
        reasons = [reason for reason in reasons if reason]
        name = type(self).__name__
        if reasons and hasattr(objective, "loss_name"):
            return (
                f"solver: {name} cannot minimise {objective.loss_name}, because "
                f"{' and '.join(reasons)}; choose another solver or another loss"
            )
        because = "".join(f"; {reason}" for reason in reasons)
        return (
            f"{name} needs an objective with {', '.join(missing)}, which "
            f"{type(objective).__name__} does not offer{because}"
        )

    def solve(
        self,
        objective: Any,
        params: np.ndarray,
        rng: Any,
        monitor: Monitor | None = None,
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
            solver stops when it returns True. If it offers ``start(params, value)``,
            that is called once before the first iteration, with a NaN value by
            solvers that do not evaluate the objective there.

        Returns
        -------
        SolverResult
            Parameters and how they were reached.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if the objective stops being finite.
        TypeError
            If a parameter has a wrong type, or if the objective lacks something.
        """
        raise NotImplementedError
