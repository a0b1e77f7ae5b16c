"""Stochastic gradient descent that never leaves the constraint."""

from typing import Any, Literal

import numpy as np

from skrank.solvers._stochastic import StochasticSolver

# A step of 2^-50 times its length changes nothing any more.
_MAX_HALVINGS = 50


class ConstrainedSGD(StochasticSolver):
    r"""Stochastic gradient descent inside a constraint, by ever shorter steps.

    .. math:: w_t = w_{t-1} - \frac{\eta_t}{2^{s}}\, g_t, \qquad s = \min\{s \ge 0 :
              w_t \text{ is feasible}\}

    where :math:`g_t` is the gradient of the objective over the queries of one batch. A
    parameter on the boundary whose gradient points outwards blocks every step of its
    batch; projection does not have this weakness and moves the others on.

    Complexity: O(p) per step and trial beside the gradient, O(p log p) for a projection
    with a bound.

    Parameters
    ----------
    learning_rate : float, default=0.5
        Step size :math:`\eta`. The default is that of the paper, whose objective is a
        sum; for a mean over edges it is too small by far, and `StructRank` takes 20.
    constraint : {"reduce_step", "project"}, default="reduce_step"
        How a step that leaves the constraint is mended: halved until it does not, or
        taken to the nearest feasible point.
    batch_queries : int or None, default=1
        Largest number of queries in a batch; None takes 32, or fewer where an epoch
        would otherwise make less than 20 steps.
    max_iter : int, default=10
        Largest number of epochs.
    schedule : str or callable, default="halving"
        Factor of the learning rate in epoch ``t`` (from 0) of ``T``; ``"halving"`` is
        2^(−t/2), a factor 1/√2 after each epoch. For others see `SGD`.

    References
    ----------
    [Huang2008]_, section 5.

    Examples
    --------
    >>> from skrank.solvers import ConstrainedSGD
    >>> ConstrainedSGD(constraint="project").schedule
    'halving'
    """

    short_name = "constrained_sgd"

    learning_rate = 0.5
    constraint: Literal["reduce_step", "project"] = "reduce_step"
    batch_queries = 1
    max_iter = 10
    schedule = "halving"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        quick = {"learning_rate": 0.05}
        return [quick, quick | {"constraint": "project", "max_iter": 60}]

    def _start(self, n_params):
        def step(params, gradient, learning_rate):
            params -= learning_rate * gradient

        return step

    def _move(self, step, params, gradient, rate, constraint):
        if constraint is None or self.constraint == "project":
            super()._move(step, params, gradient, rate, constraint)
            return
        for _ in range(_MAX_HALVINGS):
            moved = np.array(params)
            step(moved, gradient, rate)
            if constraint.feasible(moved):
                params[:] = moved
                return
            rate *= 0.5
