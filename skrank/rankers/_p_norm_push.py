"""P-norm push."""

from dataclasses import field
from typing import Annotated, Literal

from skrank._core._parameters import Interval
from skrank.losses import BaseLoss, PNormPushLoss
from skrank.rankers._threshold_boosting import BaseThresholdBooster


class PNormPush(BaseThresholdBooster):
    r"""P-norm push: thresholded features that push bad documents down from the top.

    .. math:: \ell_q = \sum_{v \in q} \Big( \sum_{u : y_u > y_v}
              e^{-(f(x_u) - f(x_v))} \Big)^p, \qquad f(x) = \sum_t \alpha_t h_t(x)

    A document that stands above many better ones costs far more than several that stand
    above a few each: the greater p, the more the top of the list counts. For p = 1 this
    is `RankBoost`. Each round is a step of coordinate descent: the weak ranker along
    which the loss falls fastest, with the exact minimum of the convex loss as its
    weight.

    The source has two grades and one list. The extension to more grades, in which
    a document is compared with all that have a better grade, and the sum over queries
    are those of `PNormPushLoss`, not of the source.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``. The inner sum is then over the documents that
    are preferred to v, and each pair is visited in every evaluation.

    Complexity: O(n d) additions per round for n documents with d features, and about
    ten evaluations of the loss in O(n), however many pairs there are.

    Parameters
    ----------
    p : float, default=4.0
        Power, at least 1.
    normalization : {"query", "pair"}, default="query"
        Whether all queries begin at the same loss, or values are as above, so that
        queries weigh by the p-th power of their length.

    References
    ----------
    [Rudin2009]_, sections 2 and 4; [Liu2011]_, section 3.3.5, eq. 3.26–3.27.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import PNormPush
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = PNormPush(n_estimators=50).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"

    p: Annotated[float, Interval(1)] = field(default=4.0, kw_only=False)
    normalization: Literal["pair", "query"] = "query"

    _remedy = "lower p, or scale init_score"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"p": 1.0, "normalization": "pair", "weak_rankers": "feature"},
            {"p": 2.5, "missing_rank": "high", "smoothing": 1e-3},
        ]

    def _loss(self) -> BaseLoss:
        return PNormPushLoss(self.p, normalization=self.normalization)

    def _alpha(self, line):
        return line.by_search()
