"""LambdaRank."""

from dataclasses import field

from skrank._core._parameters import Positive, PositiveInt
from skrank.energies import BaseEnergy
from skrank.energies._mlp import LayerSizes
from skrank.losses import BaseLoss, LambdaLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._energy_ranker import BaseNetworkRanker
from skrank.solvers import Adam, BaseSolver


class LambdaRank(BaseNetworkRanker):
    r"""LambdaRank: RankNet's pairs weighted by what swapping them does to a measure.

    .. math:: \lambda_{uv} = \frac{-\sigma \, |\Delta M_{uv}|}
              {1 + e^{\sigma (f(x_u) - f(x_v))}}, \qquad u \succ v

    The changes :math:`\Delta M` are taken at the current ranking and held fixed in the
    gradient, so there is no function whose minimum is sought and no line search: the
    solver is `Adam` over mini-batches of queries, by default with learning rate 0.02
    for linear scores and 0.002 for networks.

    Pairs without grades cannot take the place of ``y``, because the measure weighs a
    pair by the grades of its documents and of all others.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and O(m log m + m k) for a query of m documents and a measure cut at k.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Any measure of `skrank.metrics` that depends on scores by the ranks alone, such
        as NDCG, DCG, MAP, MRR, ERR, RBP or P@k.
    truncation : int, default=None
        If given, only pairs with at least one document among the first ``truncation``
        of the current ranking count.
    normalize : bool, default=False
        Whether to scale the lambdas of each query so that their sum grows only with
        its logarithm.
    sigma : float, default=1.0
        Steepness of the logistic function.
    damping : float, default=None
        If given, pairs of close scores count more than others, and the more so the
        smaller this number is; see `LambdaLoss`.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver that follows the lambdas. None means `Adam`, with learning rate 0.02 for
        linear scores and 0.002 for networks.

    References
    ----------
    [Liu2011]_, section 3.3.7, eq. 3.30–3.31; [Burges2006]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import LambdaRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = LambdaRank(measure="map", random_state=0, max_iter=20)
    >>> ranker.fit(X, y, groups).predict(X).shape == y.shape
    True
    """

    approach = "pairwise"
    _why_grades = "its measure needs grades; RankNet takes preferences"

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    truncation: PositiveInt | None = None
    normalize: bool = False
    sigma: Positive = 1.0
    damping: Positive | None = None
    # Keyword-only, unlike in the base class: by place comes the measure, as in
    # `LambdaMART`.
    hidden_layer_sizes: LayerSizes = ()

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map", "truncation": 5},
            {"measure": "mrr", "normalize": True, "damping": 0.1},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = LambdaLoss(
            measure=self.measure,
            truncation=self.truncation,
            sigma=self.sigma,
            normalize=self.normalize,
            damping=self.damping,
        )
        return self._energy(), loss

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return Adam(learning_rate=2e-2 if energy.linear else 2e-3)
