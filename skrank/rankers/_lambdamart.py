"""LambdaMART."""

from dataclasses import field

from sklearn.linear_model import Ridge

from skrank._core._parameters import Positive, PositiveInt
from skrank.losses import BaseLoss, LambdaLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._boosting import BaseBoostedRanker


class LambdaMART(BaseBoostedRanker):
    r"""LambdaMART: trees on the lambdas of a ranking measure.

    .. math:: \lambda_{uv} = -\frac{\sigma |\Delta_{uv}|}
              {1 + e^{\sigma (F(x_u) - F(x_v))}}, \qquad y_u > y_v

    where :math:`\Delta_{uv}` is the change of the measure if the two documents swapped
    their places in the current ranking. The gradient of a document is the sum of the
    lambdas of its pairs, and its Hessian is
    :math:`\sum \sigma |\lambda_{uv}| (1 - |\lambda_{uv}| / (\sigma |\Delta_{uv}|))`.

    Complexity: O(n d) per level of a tree for n documents with d features, and O(m log
    m + m k) per round for a query of m documents and a measure cut at k.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@30"
        Any measure of `skrank.metrics` that depends on scores by the ranks alone. A
        deeper cut than that of the measure of interest trains better, because pairs
        below the cut contribute nothing.
    truncation : int, default=None
        If given, only pairs with at least one document among the first ``truncation``
        of the current ranking count.
    sigma : float, default=1.0
        Steepness of the logistic function.
    normalize : bool, default=True
        Whether queries with many relevant documents are damped; see `LambdaLoss`.
    damping : float, default=0.1
        If given, pairs of close scores count more than others, and the more so the
        smaller this number is; see `LambdaLoss`.
    l2_regularization : float, default=30.0
        Number of documents whose Hessian is added to the sum of Hessians of a leaf, in
        units of the mean Hessian at the start of training, ``hessian_unit_``.

    References
    ----------
    [Burges2010]_, section 7; [Liu2011]_, section 3.3.7, eq. 3.30–3.31.

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

    measure: MeasureLike = field(default="ndcg@30", kw_only=False)
    truncation: PositiveInt | None = None
    sigma: Positive = 1.0
    normalize: bool = True
    damping: Positive | None = 0.1
    l2_regularization = 30.0

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map", "truncation": 5, "normalize": False, "damping": None},
            {"measure": "mrr", "init": Ridge()},
            {"dropout": 0.2, "learning_rate": 0.5, "random_state": 0},
        ]

    def _loss(self) -> BaseLoss:
        return LambdaLoss(
            measure=self.measure,
            truncation=self.truncation,
            sigma=self.sigma,
            normalize=self.normalize,
            damping=self.damping,
        )
