"""Adam."""

import math
from typing import Any

import numpy as np

from skrank._core._one_pass import adam
from skrank._core._parameters import Positive
from skrank.solvers._stochastic import Decay, StochasticSolver


class Adam(StochasticSolver):
    r"""Adaptive moment estimation over mini-batches of queries.

    .. math:: m_t &= \beta_1 m_{t-1} + (1 - \beta_1) g_t, \quad
              v_t = \beta_2 v_{t-1} + (1 - \beta_2) g_t^2 \\
              w_t &= w_{t-1} - \eta_t \frac{m_t / (1 - \beta_1^t)}
                     {\sqrt{v_t / (1 - \beta_2^t)} + \epsilon}

    where :math:`g_t` is the gradient of the objective over the queries of one batch.

    Every epoch visits each query once, in an order drawn anew, in batches whose sizes
    differ by at most one query. Complexity: O(p) per step beside the gradient.

    Parameters
    ----------
    learning_rate : float, default=1e-3
        Step size :math:`\eta`.
    beta_1 : float, default=0.9
        Decay of the mean of gradients, in [0, 1).
    beta_2 : float, default=0.999
        Decay of the mean of squared gradients, in [0, 1).
    epsilon : float, default=1e-8
        Keeps the step finite where gradients vanish.

    References
    ----------
    [Kingma2015]_, algorithm 1, and section 7.2 for the moving average of parameters.

    Examples
    --------
    >>> from skrank.solvers import Adam
    >>> Adam(learning_rate=0.01, max_iter=50)
    Adam(learning_rate=0.01, max_iter=50)
    """

    short_name = "adam"

    learning_rate = 1e-3
    beta_1: Decay = 0.9
    beta_2: Decay = 0.999
    epsilon: Positive = 1e-8

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        common = {"learning_rate": 0.05}
        return [common | variant for variant in super()._variants()]

    def _start(self, n_params):
        mean, square = np.zeros(n_params), np.zeros(n_params)
        beta_1, beta_2, epsilon = self.beta_1, self.beta_2, self.epsilon
        t = 0

        def step(params, gradient, learning_rate):
            nonlocal t
            t += 1
            root_scale = math.sqrt(1.0 - beta_2**t)
            rate = learning_rate / (1.0 - beta_1**t)
            decays = beta_1, beta_2, epsilon
            adam(params, gradient, mean, square, *decays, root_scale, rate)

        return step
