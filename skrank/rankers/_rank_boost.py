"""RankBoost."""

from typing import Literal

from skrank._core._parameters import invalid_parameter
from skrank.losses import BaseLoss, ExponentialLoss
from skrank.rankers._threshold_boosting import BaseThresholdBooster


class RankBoost(BaseThresholdBooster):
    r"""RankBoost: thresholded features that order the pairs that are still wrong.

    .. math:: \ell = \sum_{(u, v)} D(u, v)\, e^{-(f(x_u) - f(x_v))}, \qquad
              f(x) = \sum_t \alpha_t h_t(x)

    over pairs of which u is preferred. In round t, pairs weigh :math:`D_t(u, v) \propto
    D(u, v)\, e^{-(f_{t-1}(x_u) - f_{t-1}(x_v))}`, and the weak ranker is the one with
    the largest :math:`|r_t|`,

    .. math:: r_t = \sum_{(u, v)} D_t(u, v)\, (h_t(x_u) - h_t(x_v))
              = \sum_d \pi_t(d)\, h_t(x_d)

    where the potential :math:`\pi_t(d)` sums the weights of the pairs that d should
    win minus those that it should lose. Whatever ``step`` is, a round multiplies the
    loss by at most

    .. math:: \sqrt{(1 + 2 \epsilon)^2 - r_t^2} - 2 \epsilon \le 1

    for ``smoothing`` :math:`\epsilon`, so that it never rises. The product of
    :math:`\sqrt{1 - r_t^2}`, which bounds the loss of the paper, is the limit of small
    :math:`\epsilon`.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``. Each pair is then visited in every round.

    Complexity: O(n d) additions per round for n documents with d features, and O(n) for
    the pairs, however many there are.

    Parameters
    ----------
    step : {"bound", "binary", "search"}, default="bound"
        How :math:`\alpha_t` is chosen. "search" finds the minimum of the loss
        numerically, for any weak ranker; "binary" is that minimum in closed form for
        ranks of 0 and 1, :math:`\frac12 \log (W_+ / W_-)`; "bound" minimises a bound,
        :math:`\frac12 \log ((1 + r_t) / (1 - r_t))`, and is the shortest step. The
        default has the best MAP on the validation queries of MQ2008 and OHSUMED.
    normalization : {"pair", "query"}, default="pair"
        Whether all pairs weigh the same, or the pairs of a query together what the
        query weighs.

    References
    ----------
    [Freund2003]_, sections 3.1–3.3; [Liu2011]_, section 3.2.5, algorithm 1 and eq.
    3.12–3.16, where the sign of the exponent and, in eq. 3.14, the two weights must be
    exchanged: pairs that are in order must lose weight. The smoothing is that of
    [Schapire1999]_, section 4.2.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankBoost
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankBoost(n_estimators=50).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"

    step: Literal["bound", "binary", "search"] = "bound"
    normalization: Literal["pair", "query"] = "pair"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"step": "binary", "max_bins": 16, "missing_rank": "low"},
            {"step": "search", "normalization": "query", "weak_rankers": "feature"},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        if self.weak_rankers == "feature" and self.step == "binary":
            accepted = "'search' or 'bound' where weak_rankers='feature'"
            raise invalid_parameter(self, "step", accepted, self.step)

    def _loss(self) -> BaseLoss:
        return ExponentialLoss(normalization=self.normalization)

    def _alpha(self, line):
        if self.step == "search":
            return line.by_search()
        return line.by_agreement() if self.step == "binary" else line.by_mean()
