"""RankNet."""

from skrank._core._parameters import Positive
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, LogLoss
from skrank.rankers._energy_ranker import BaseNetworkRanker


class RankNet(BaseNetworkRanker):
    r"""RankNet: cross entropy of the probability that one document beats another.

    .. math:: \ell_q = \sum_{u \succ v}
              \log\bigl(1 + e^{-\sigma (f(x_u) - f(x_v))}\bigr)

    The gradient is gathered for each document before it is propagated back, so that a
    query of m documents costs m passes through the network and not m²; the pairs
    themselves cost one division each. In place of grades `fit` also takes pairs of row
    numbers, the preferred document first: ``fit(X, preferences=pairs)``.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and one division per pair.

    Parameters
    ----------
    sigma : float, default=1.0
        Steepness of the logistic function.

    References
    ----------
    [Liu2011]_, section 3.2.3, eq. 3.8–3.9; [Burges2005]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankNet
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankNet(hidden_layer_sizes=(8,), random_state=0, max_iter=20)
    >>> ranker.fit(X, y, groups).predict(X).shape == y.shape
    True
    """

    approach = "pairwise"

    sigma: Positive = 1.0

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        return [
            {},
            {"sigma": 2.0, "solver": "sgd"},
            {"hidden_layer_sizes": (8,), "activation": "tanh", "dropout": 0.1},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return self._energy(), LogLoss(sigma=self.sigma)
