"""RankCosine."""

from dataclasses import field
from typing import Literal

import numpy as np

from skrank._core._parameters import Positive, invalid_parameter
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.energies._mlp import LayerSizes
from skrank.losses import BaseLoss, RankCosineLoss
from skrank.rankers._energy_ranker import BaseNetworkRanker


class RankCosine(BaseNetworkRanker):
    r"""RankCosine: the cosine between the scores and the grades of each query.

    .. math:: \ell_q = \frac12 - \frac{\sum_j \varphi(y_j) \varphi(f(x_j))}
              {2 \sqrt{\sum_j \varphi^2(y_j)} \sqrt{\sum_j \varphi^2(f(x_j))}}

    A regression whose loss is between 0 and 1 for each query, whatever its number of
    documents, so that no query decides alone. Not convex; training starts at scores
    that are all equal.

    The original is a generalised additive model, which grows by one weak ranker after
    the other. Here all parameters move together. ``BoostedRanker(RankCosineLoss(),
    max_leaf_nodes=2)`` is the additive model: each of its trees looks at one feature,
    and more leaves join several. The loss has no Hessian, so that a tree steps by the
    mean slope of its documents times ``learning_rate``. Under "exponential" and
    "logistic", such slopes are of the order of 1 / m in a query of m documents: rates
    from 1 to 10 suit where 0.1 hardly moves.

    Complexity: O(n p) per iteration for n documents and p parameters of the energy.

    Parameters
    ----------
    transformation : {"linear", "exponential", "logistic"}, default="exponential"
        Transformation :math:`\varphi`; see `RankCosineLoss`. "linear" does not see the
        scale of the scores, so that ``alpha``, which would shrink it to nothing, must
        be 0.
    gamma : float, default=1.0
        Steepness of the transformations that are not linear.
    alpha : float, default=0.0
        Strength of the L2 penalty, relative to the mean loss.

    References
    ----------
    [Liu2011]_, section 2.5.3, eq. 2.20; [Qin2008]_, section 4.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankCosine
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> RankCosine().fit(X, y, groups).score(X, y, groups) > 0.7
    True

    The additive model of the original, tree by tree:

    >>> from skrank.losses import RankCosineLoss
    >>> from skrank.rankers import BoostedRanker
    >>> ranker = BoostedRanker(RankCosineLoss(), max_leaf_nodes=2, learning_rate=5.0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "pointwise"

    transformation: Literal["linear", "exponential", "logistic"] = field(
        default="exponential", kw_only=False
    )
    gamma: Positive = 1.0
    alpha = 0.0
    # Keyword-only, unlike in the base class: by place comes the transformation.
    hidden_layer_sizes: LayerSizes = ()

    @classmethod
    def _variants(cls):
        return [
            {},
            {"transformation": "linear"},
            {"transformation": "logistic", "alpha": 1e-4},
            {"hidden_layer_sizes": (8,), "max_iter": 20},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        if self.transformation == "linear" and self.alpha:
            accepted = (
                "0 where transformation='linear', because a penalty would make scores "
                "shrink without end"
            )
            raise invalid_parameter(self, "alpha", accepted, self.alpha)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return self._energy(), RankCosineLoss(self.transformation, gamma=self.gamma)

    def _energy(self) -> BaseEnergy:
        energy = super()._energy()
        if isinstance(energy, LinearEnergy) and self.transformation != "exponential":
            # Documents of grade 0 want a score whose transformation is that of 0.
            energy = LinearEnergy(fit_intercept=True, n_jobs=self.n_jobs)
        return energy

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        params = super()._init_params(energy, n_features, rng)
        if energy.linear and self.transformation == "linear":
            params[-1] = 1.0  # scores of 0 have no direction
        return params
