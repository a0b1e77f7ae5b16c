"""Stochastic gradient descent."""

from typing import Any

import numpy as np

from skrank.solvers._stochastic import Decay, StochasticSolver


class SGD(StochasticSolver):
    r"""Stochastic gradient descent with momentum over mini-batches of queries.

    .. math:: v_t = \mu v_{t-1} - \eta_t g_t, \quad
              w_t = w_{t-1} + v_t

    and with ``nesterov`` :math:`w_t = w_{t-1} + \mu v_t - \eta_t g_t`, where
    :math:`g_t` is the gradient of the objective over the queries of one batch.

    Every epoch visits each query once, in an order drawn anew, in batches whose sizes
    differ by at most one query. Complexity: O(p) per step beside the gradient.

    Parameters
    ----------
    learning_rate : float, default=0.05
        Step size :math:`\eta`.
    momentum : float, default=0.9
        Share :math:`\mu` of the previous step, in [0, 1).
    nesterov : bool, default=True
        Whether to look ahead along the momentum. Without momentum it changes nothing.
    per_unit : bool, default=False
        Whether the learning rate is meant for each unit of the loss (document, pair or
        query) and not for their mean: the gradient of a batch is then multiplied by
        the number of units that a batch of its size has on average. With
        ``batch_queries=1`` and without momentum a step is

        .. math:: w_{t+1} = w_t - \eta_t \Bigl( \sum_{u \in q} \nabla \ell_u(w_t)
                  + \frac{W}{Q} \alpha w_t \Bigr),

        with W units in Q queries: descriptions of stochastic gradient descent that
        step after every document or pair, gathered over each query.

    References
    ----------
    [Sutskever2013]_, eq. 1–4.

    Examples
    --------
    >>> from skrank.solvers import SGD
    >>> SGD(learning_rate=0.01, schedule="cosine")
    SGD(learning_rate=0.01, schedule='cosine')
    """

    short_name = "sgd"

    learning_rate = 0.05
    momentum: Decay = 0.9
    nesterov: bool = True
    per_unit: bool = False

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        plain = {"momentum": 0.0, "per_unit": True}
        heavy = {"nesterov": False, "schedule": "linear"}
        return [*super()._variants(), heavy, plain]

    @property
    def requires(self):
        """What the objective must offer."""
        return (*super().requires, *(("total_weight",) if self.per_unit else ()))

    def _batch_rate(self, batch):
        return batch.total_weight if self.per_unit else 1.0

    def _start(self, n_params):
        velocity = np.zeros(n_params)
        momentum, nesterov = self.momentum, self.nesterov

        def step(params, gradient, learning_rate):
            nonlocal velocity
            move = learning_rate * gradient
            velocity *= momentum
            velocity -= move
            if nesterov:
                params += momentum * velocity
                params -= move
            else:
                params += velocity

        return step
