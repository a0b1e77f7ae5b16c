"""Adam."""

import math
from collections.abc import Callable

import numpy as np

from skrank.solvers._stochastic import StochasticSolver, check_number


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
    batch_queries : int or None, default=None
        Queries per batch at most; None takes 32, or fewer where an epoch would
        otherwise make less than 20 steps.
    max_iter : int, default=100
        Epochs at most.
    tol : float or None, default=None
        Stop when the mean objective of an epoch has not fallen by this share of the
        best one for ``n_iter_no_change`` epochs. None trains for ``max_iter``.
    n_iter_no_change : int, default=5
        Epochs to wait for an improvement.
    schedule : str or callable, default="constant"
        Factor of the learning rate in epoch ``t`` (from 0) of ``T``: ``"constant"``;
        ``"inverse"`` 1/(1+t); ``"inverse_sqrt"`` 1/√(1+t); ``"linear"`` 1−t/T;
        ``"cosine"`` (1+cos(πt/T))/2; or ``schedule(t)``.
    clip_norm : float or None, default=None
        Largest Euclidean norm of a batch's gradient; longer ones are shortened.
    average : float or None, default=None
        Decay of an exponential moving average of the parameters over steps, such as
        0.999; the average is then what is monitored and returned.

    References
    ----------
    Kingma & Ba (2015), Adam: A Method for Stochastic Optimization, algorithm 1; the
    moving average of parameters: section 7.2.

    Examples
    --------
    >>> from skrank.solvers import Adam
    >>> Adam(learning_rate=0.01, max_iter=50)
    Adam(learning_rate=0.01, max_iter=50)
    """

    def __init__(
        self,
        *,
        learning_rate: float = 1e-3,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        batch_queries: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        schedule: str | Callable[[int], float] = "constant",
        clip_norm: float | None = None,
        average: float | None = None,
    ):
        self.learning_rate = learning_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.batch_queries = batch_queries
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.average = average

    def _check_parameters(self):
        super()._check_parameters()
        check_number(self, "beta_1", at_least=0.0, below=1.0)
        check_number(self, "beta_2", at_least=0.0, below=1.0)
        check_number(self, "epsilon", above=0.0)

    def _start(self, n_params):
        mean, square = np.zeros(n_params), np.zeros(n_params)
        work = np.empty(n_params)
        beta_1, beta_2, epsilon = self.beta_1, self.beta_2, self.epsilon
        t = 0

        def step(params, gradient, learning_rate):
            nonlocal mean, square, t
            t += 1
            mean *= beta_1
            mean += np.multiply(gradient, 1.0 - beta_1, out=work)
            square *= beta_2
            np.multiply(gradient, gradient, out=work)
            square += np.multiply(work, 1.0 - beta_2, out=work)
            root = np.sqrt(square, out=work)
            root /= math.sqrt(1.0 - beta_2**t)
            root += epsilon
            np.divide(mean, root, out=work)
            params -= np.multiply(work, learning_rate / (1.0 - beta_1**t), out=work)

        return step
