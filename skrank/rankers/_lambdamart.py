"""LambdaMART."""

from dataclasses import field

from sklearn.linear_model import Ridge

from skrank._core._parameters import Positive, PositiveInt
from skrank.losses import LambdaLoss
from skrank.metrics import BaseMeasure
from skrank.rankers._boosting import BaseBoostedRanker


class LambdaMART(BaseBoostedRanker):
    r"""LambdaMART: trees on the lambdas of a ranking measure.

    .. math:: \lambda_{uv} = -\frac{\sigma |\Delta_{uv}|}
              {1 + e^{\sigma (F(x_u) - F(x_v))}}, \qquad y_u > y_v

    where :math:`\Delta_{uv}` is what a swap of the two documents would change in the
    measure. A document's gradient is the sum over its pairs, and its hessian
    :math:`\sum \sigma |\lambda_{uv}| (1 - |\lambda_{uv}| / (\sigma |\Delta_{uv}|))`.

    Parameters
    ----------
    measure : str or BaseMeasure, default="ndcg@30"
        Any measure with swap deltas. A deeper cut than the one that counts trains
        better: pairs below it move nothing.
    truncation : int, default=None
        Only pairs with a document among the first so many of the current ranking.
    sigma : float, default=1.0
        Steepness of the logistic function.
    normalize : bool, default=True
        Whether queries with many relevant documents are damped; see `LambdaLoss`.
    damping : float, default=0.1
        If given, pairs of close scores count more, the smaller it is; see `LambdaLoss`.
        None weights all alike.
    l2_regularization : float, default=3.0
        Added to the sum of hessians of a leaf.

    References
    ----------
    Burges (2010), From RankNet to LambdaRank to LambdaMART: an overview, section 7;
    Liu (2011), eq. 3.30-3.31.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import LambdaMART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = LambdaMART(n_estimators=20, min_samples_leaf=5).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.8
    True
    """

    approach = "listwise"

    measure: str | BaseMeasure = field(default="ndcg@30", kw_only=False)
    truncation: PositiveInt | None = None
    sigma: Positive = 1.0
    normalize: bool = True
    damping: Positive | None = 0.1
    l2_regularization = 3.0

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map", "truncation": 5, "normalize": False, "damping": None},
            {"measure": "mrr", "init": Ridge()},
        ]

    def _loss(self):
        return LambdaLoss(
            measure=self.measure,
            truncation=self.truncation,
            sigma=self.sigma,
            normalize=self.normalize,
            damping=self.damping,
        )
