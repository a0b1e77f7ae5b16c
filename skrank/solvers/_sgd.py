"""Stochastic gradient descent."""

from collections.abc import Callable

import numpy as np

from skrank.solvers._stochastic import StochasticSolver, check_number


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
        batch_queries: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        schedule: str | Callable[[int], float] = "constant",
        clip_norm: float | None = None,
        average: float | None = None,
    ):
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.nesterov = nesterov
        self.batch_queries = batch_queries
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.average = average

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
