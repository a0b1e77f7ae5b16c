"""YetiRank."""

from dataclasses import field
from typing import Annotated, Literal

from skrank._core._parameters import Interval, NonNegative
from skrank.losses import BaseLoss, YetiRankLoss
from skrank.metrics._gain import Gain
from skrank.rankers._boosting import BaseBoostedRanker


class YetiRank(BaseBoostedRanker):
    r"""YetiRank: trees on pairs that are neighbours in noisy rankings.

    .. math:: L = \sum_{y_u > y_v} w_{uv} \log(1 + e^{-(F(x_u) - F(x_v))}), \qquad
              w_{uv} = \frac{|g(y_u) - g(y_v)|}{T} \sum_t \gamma^{R_t(u, v) - 1}

    where the sum is over those of T rankings by scores with noise in which u and v are
    neighbours, and :math:`R_t(u, v)` is the rank of the upper one. The noise is drawn
    anew for every tree, so that a few rankings do: each tree sees other pairs. What the
    scores have settled hardly counts, and what they leave open does at any rank.

    With its defaults this is the ranker to try first: on validation queries of eleven
    collections, its mean rank is the best among those of this package and of others
    with their defaults; see :doc:`/benchmarks`.

    Complexity: O(n d) per level of a tree for n documents with d features, and
    O(n_rankings m log m) per round for a query of m documents.

    Parameters
    ----------
    n_rankings : int, default=3
        Number T of noisy rankings for each tree; the paper has 100.
    noise : float, default=1.0
        Factor of the logistic noise.
    decay : "reciprocal" or float in (0, 1], default=0.93
        What a pair counts by the rank R of its upper document: 1 / R, as in the paper,
        or :math:`\gamma^{R - 1}`.
    gain : {"linear", "exp2"}, callable, mapping or array, default="linear"
        Gain g of a grade.

    References
    ----------
    [Gulin2011]_, section 3; the geometric decay is that of CatBoost. [Liu2011]_,
    section 3.2, for pairs.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import YetiRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = YetiRank(n_estimators=50, min_samples_leaf=5, random_state=0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.8
    True
    """

    approach = "pairwise"

    n_rankings: Annotated[int, Interval(1, 10_000)] = field(default=3, kw_only=False)
    noise: NonNegative = 1.0
    decay: Literal["reciprocal"] | Annotated[float, Interval(0, 1, "right")] = 0.93
    gain: Gain = "linear"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_rankings": 2, "decay": "reciprocal", "gain": "exp2"},
            {"noise": 0.0, "decay": 1.0},
        ]

    def _loss(self) -> BaseLoss:
        return YetiRankLoss(
            self.n_rankings, noise=self.noise, decay=self.decay, gain=self.gain
        )
