"""SoftRank."""

from dataclasses import field
from typing import Any, Literal

import numpy as np

from skrank._core._parameters import Positive
from skrank.losses import BaseLoss, SmoothMeasureLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._smooth_ranker import BaseSmoothRanker


class SoftRank(BaseSmoothRanker):
    r"""SoftRank: the expectation of a measure over scores with normal noise.

    .. math:: \ell_q = 1 - \frac{1}{Z} \sum_j G(y_j) \sum_r \eta(r) P_j(r), \qquad
              s_j \sim N(f(x_j), \sigma^2), \qquad
              P_j^{(u)}(r) = P_j^{(u-1)}(r - 1) \pi_{uj}
              + P_j^{(u-1)}(r) (1 - \pi_{uj}),

    for NDCG (SoftNDCG), and in the same way for other measures: "p@5" gives SoftPC,
    "map" SoftAP. :math:`\pi_{uj} = \Phi((f(x_u) - f(x_j)) / (\sqrt 2 \sigma))` is the
    probability that u is above j.

    With ``sigma="learned"`` the noise is a parameter of the model, as that of the score
    of a Gaussian process. Only :math:`f / \sigma` counts for the expectation. What
    tells the two apart are priors: that of the parameters w and a log-normal one of
    :math:`\sigma` around 1, so that the objective is

    .. math:: \frac{1}{W} \sum_q \ell_q + \frac{\alpha}{2}
              \bigl(\lVert w \rVert^2 + \log^2 \sigma\bigr).

    Of [Guiver2008]_ this is the noise, which all documents share. It is not the
    variance that a Gaussian process gives to each of them. On validation queries of
    MQ2008 and OHSUMED the fixed default was better than learned noise under every prior
    that was tried, ``alpha`` from 0.001 to 1.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and for a query of m documents, of which r have a gain, and a measure cut at k, O(m
    r k), or O(r (m + k)) for normal ranks.

    Parameters
    ----------
    measure : str or BaseMeasure, default="ndcg@10"
        Any measure that `skrank.losses.smooth` takes, such as NDCG, MAP, P@k or ERR.
    sigma : float or "learned", default=0.3
        Standard deviation of the noise, in units of the scores.
    ranks : {"binomial", "gaussian"}, default="binomial"
        Distribution of a rank: that of the recursion, or the normal one with the same
        mean and variance.
    alpha : float, default=1e-3
        Strength of the L2 penalty, relative to the mean loss.

    Attributes
    ----------
    sigma_ : float
        Standard deviation of the noise.
    params_ : ndarray of shape (n_params,) or (n_params + 1,)
        Learned parameters; with ``sigma="learned"``, the last one is the logarithm of
        ``sigma_``.

    References
    ----------
    [Taylor2008]_; [Guiver2008]_; [Liu2011]_, section 4.2.1.1, eq. 4.2–4.5.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SoftRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = SoftRank("map", sigma="learned").fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7, 0 < ranker.sigma_ < 1
    (True, True)
    """

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    sigma: Positive | Literal["learned"] = 0.3
    ranks: Literal["binomial", "gaussian"] = "binomial"
    alpha = 1e-3

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map", "ranks": "gaussian", "sigma": 1.0},
            {"measure": "p@5", "sigma": "learned", "start": "energy"},
            {"sigma": "learned", "hidden_layer_sizes": (8,), "max_iter": 3},
        ]

    @property
    def _learns_sigma(self):
        return self.sigma == "learned"

    def _loss(self) -> BaseLoss:
        method = "softrank" if self.ranks == "binomial" else "softrank-gaussian"
        width: Any = 1.0 if self._learns_sigma else self.sigma
        return SmoothMeasureLoss(self.measure, method=method, width=width)

    def _objective(self, energy, loss, data, n_threads):
        objective = super()._objective(energy, loss, data, n_threads)
        return _NoiseObjective(objective) if self._learns_sigma else objective

    def _n_params(self, energy, n_features) -> int:
        return super()._n_params(energy, n_features) + self._learns_sigma

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        params = super()._init_params(energy, n_features, rng)
        return np.append(params, 0.0) if self._learns_sigma else params

    def _fitting_params(self, rows) -> np.ndarray:
        n = self.energy_.n_params(rows.shape[1])
        if np.shape(self.params_) in (
            (n,),
            (n + 1,),
        ):  # whatever `sigma` is set to by now
            return self.params_
        return super()._fitting_params(rows)

    def _model_scores(self, energy, loss, params, X, ptr) -> np.ndarray:
        params = params[: energy.n_params(X.shape[1])]
        return super()._model_scores(energy, loss, params, X, ptr)

    def _energies(self, X, ptr=None):
        energy = self.energy_
        rows = energy.transform(X)
        params = self._fitting_params(rows)[: energy.n_params(rows.shape[1])]
        return -energy.scores(params, rows, ptr)

    def _store(self, energy, loss, result, monitor) -> None:
        super()._store(energy, loss, result, monitor)
        learned = self._learns_sigma
        self.sigma_ = float(np.exp(self.params_[-1]) if learned else self.sigma)

    def _store_coef(self, energy):
        params = self.params_[:-1] if self._learns_sigma else self.params_
        self.coef_, self.intercept_ = energy.coefficients(params)


class _NoiseObjective:
    r"""An objective with one parameter more, the logarithm of what divides the scores.

    A loss of :math:`f / \sigma` has the derivative :math:`- \sum_j f_j\, \partial L /
    \partial f_j` by :math:`\log \sigma`.
    """

    def __init__(self, objective: Any):
        self.objective = objective
        self.n_queries = objective.n_queries
        self.total_weight = objective.total_weight
        self.loss_name = objective.loss_name
        self.alpha = objective.alpha

    def value_gradient(self, params):
        """Return the objective and its gradient with respect to the parameters."""
        inner, data = self.objective, self.objective.data
        params, log_sigma = params[:-1], params[-1]
        raw, vjp = inner.energy.scores_and_vjp(params, data.X, inner.rng, data.ptr)
        raw = raw * np.exp(-log_sigma)
        values, slopes = inner.prepared.value_gradient(raw)
        scale = 1.0 / inner.total_weight if inner.total_weight else 0.0
        slopes = scale * slopes
        shrunk = inner.penalty * params
        penalty = shrunk @ params + inner.alpha * log_sigma**2
        by_log = inner.alpha * log_sigma - slopes @ raw
        gradient = vjp(np.exp(-log_sigma) * slopes) + shrunk
        return scale * np.sum(values) + 0.5 * penalty, np.append(gradient, by_log)

    def batch(self, queries, rng=None):
        """Return the objective of some queries only."""
        return _NoiseObjective(self.objective.batch(queries, rng))

    def coordinates(self):
        """Return coordinates in which the objective is well conditioned, or None."""
        frame = self.objective.coordinates()
        return None if frame is None else _WithNoise(frame)


class _WithNoise:
    """A change of coordinates that leaves the last parameter as it is."""

    def __init__(self, frame):
        self.frame = frame

    def to_params(self, v):
        return np.append(self.frame.to_params(v[:-1]), v[-1])

    def from_params(self, params):
        return np.append(self.frame.from_params(params[:-1]), params[-1])

    def pull(self, gradient):
        return np.append(self.frame.pull(gradient[:-1]), gradient[-1])
