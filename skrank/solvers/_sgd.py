"""Stochastic gradient descent."""

import numpy as np

from skrank._core._shared_parameters import shares_parameters
from skrank.solvers._stochastic import StochasticSolver, check_number


@shares_parameters
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

    References
    ----------
    Sutskever et al. (2013), On the importance of initialization and momentum in deep
    learning, eq. 1-4.

    Examples
    --------
    >>> from skrank.solvers import SGD
    >>> SGD(learning_rate=0.01, schedule="cosine")
    SGD(learning_rate=0.01, schedule='cosine')
    """

    def __init__(
        self,
        *,
        learning_rate: float = 0.05,
        momentum: float = 0.9,
        nesterov: bool = True,
        **shared,
    ):
        super().__init__(**shared)
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.nesterov = nesterov

    def _check_parameters(self):
        super()._check_parameters()
        check_number(self, "momentum", at_least=0.0, below=1.0)

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
