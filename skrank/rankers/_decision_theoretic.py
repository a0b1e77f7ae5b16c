"""Decision-theoretic ranking."""

from dataclasses import field
from typing import ClassVar

from skrank._core._parameters import Positive
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.losses import BaseLoss, SmoothMeasureLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._smooth_ranker import BaseSmoothRanker


class DecisionTheoreticRanker(BaseSmoothRanker):
    r"""Decision-theoretic ranking: the expected utility under a model of the scores.

    .. math:: \max_w \frac{1}{W} \sum_q E\, U(s, y) - \frac{\alpha}{2} \lVert w
              \rVert^2, \qquad s_j \sim \mathrm{Bin}\bigl(m,
              \Psi(f(x_j); 0, 1 / \pi)\bigr)

    The score of each of the m documents of a query is a number of successes in m
    trials, whose probability is the cumulative normal distribution with variance
    :math:`1 / \pi` at :math:`f(x_j)`. The utility U is a ranking measure, or what
    clicks are worth: with c(y) the probability that a user who looks at a document of
    grade y clicks on it, and e(r) the probability of looking at rank r, the expected
    number of clicks is ``DCG(gain=c, discount=e)``; `skrank.metrics.ERR` and
    `skrank.metrics.RBP` are those of other models of users.

    The expectation takes the comparisons of one document with all others for
    independent, as `SoftRank` does, and the binomial distributions for normal. Where
    the paper infers a distribution of w, this finds one w under the same factorised
    normal prior, whose logarithm is the penalty. Shifts of all scores count, so that
    linear scores have a constant.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and O(m r k) for a query of m documents, of which r have a gain, and a utility cut
    at k.

    Parameters
    ----------
    utility : str or BaseMeasure, default="ndcg@10"
        Any measure that `skrank.losses.smooth` takes.
    width : float, default=1.0
        Noise relative to that of the model: scores are successes in ``m / width**2``
        trials.
    alpha : float, default=1e-3
        Strength of the L2 penalty, relative to the mean loss.

    References
    ----------
    [Zoeter2008]_; [Liu2011]_, section 4.2.1.2, eq. 4.6–4.7.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.metrics import DCG
    >>> from skrank.rankers import DecisionTheoreticRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> clicks = DCG(gain=[0.1, 0.3, 0.5, 0.7, 0.9], discount=[0.9, 0.6, 0.4, 0.3, 0.2])
    >>> ranker = DecisionTheoreticRanker(clicks).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    utility: MeasureLike = field(default="ndcg@10", kw_only=False)
    width: Positive = 1.0
    alpha = 1e-3

    _names_in_loss: ClassVar[dict[str, str]] = {"measure": "utility"}

    @classmethod
    def _variants(cls):
        return [
            {},
            {"utility": "rbp", "width": 0.5},
            {"utility": "map", "start": "energy"},
        ]

    def _energy(self) -> BaseEnergy:
        energy = super()._energy()
        if energy.linear:
            return LinearEnergy(fit_intercept=True, n_jobs=self.n_jobs)
        return energy

    def _loss(self) -> BaseLoss:
        return SmoothMeasureLoss(
            self.utility, method="probit-binomial", width=self.width
        )
