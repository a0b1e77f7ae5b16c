"""FRank."""

from typing import Literal

from skrank.losses import BaseLoss, FidelityLoss
from skrank.rankers._threshold_boosting import BaseThresholdBooster


class FRank(BaseThresholdBooster):
    r"""FRank: thresholded features under the fidelity loss.

    .. math:: \ell = \sum_q \frac{1}{n_q} \sum_{(u, v) \in q}
              1 - \sqrt{P_{uv}}, \qquad
              P_{uv} = \frac{1}{1 + e^{-(f(x_u) - f(x_v))}}, \qquad
              f(x) = \sum_t \alpha_t h_t(x)

    over the :math:`n_q` pairs of a query of which u is preferred. The loss of a pair
    is bounded, so that pairs that are hopeless do not attract all weight, as they do in
    `RankBoost`. With the slopes :math:`W_{uv} = \sqrt{P_{uv}} (1 - P_{uv})` of the
    pairs, the weight of a weak ranker is

    .. math:: \alpha_t = \frac12 \log
              \frac{\sum_{h_t(x_u) > h_t(x_v)} W_{uv}}
                   {\sum_{h_t(x_u) < h_t(x_v)} W_{uv}}

    which stops short of the nearest minimum, so that the loss never rises. For ranks
    between 0 and 1, those of ``weak_rankers="feature"``, a pair is shared out: the sum
    above has :math:`W_{uv}\, h_t(x_u) (1 - h_t(x_v))` of every pair, the sum below
    :math:`W_{uv}\, (1 - h_t(x_u))\, h_t(x_v)`. The paper
    tries this step for every candidate and takes the one of the smallest loss; here
    the weak ranker is the one along which the loss falls fastest, as in `RankBoost`,
    because it is found without a visit to the pairs for each threshold.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``. Each pair is then visited in every round.

    Complexity: O(n d) additions per round for n documents with d features, and what the
    pairs take: one square root and one division each in short queries, and O(m log m)
    in long ones of m documents, as `FidelityLoss` says.

    Parameters
    ----------
    normalization : {"query", "pair"}, default="query"
        Whether the pairs of a query together weigh what the query weighs, as in the
        paper, or all pairs the same.

    References
    ----------
    [Tsai2007]_, section 3; [Liu2011]_, section 3.2.4, eq. 3.11.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import FRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = FRank(n_estimators=50).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"

    normalization: Literal["pair", "query"] = "query"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"normalization": "pair", "max_bins": 16, "smoothing": 1e-3},
        ]

    def _loss(self) -> BaseLoss:
        return FidelityLoss(normalization=self.normalization)

    def _alpha(self, line):
        return line.by_agreement()
