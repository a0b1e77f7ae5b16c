"""ApproxAP."""

from dataclasses import field

from skrank._core._parameters import Positive, PositiveInt
from skrank.losses import BaseLoss, SmoothMeasureLoss
from skrank.metrics import AP
from skrank.rankers._smooth_ranker import BaseSmoothRanker


class ApproxAP(BaseSmoothRanker):
    r"""ApproxAP: average precision at ranks that are sums of sigmoids.

    .. math:: \ell_q = 1 - \frac{1}{m_1} \sum_{j \text{ relevant}} \frac{1}{\hat\pi_j}
              \Bigl(1 + \sum_{u \ne j \text{ relevant}}
              \frac{1}{1 + e^{\beta (\hat\pi_u - \hat\pi_j)}}\Bigr), \qquad
              \hat\pi_j = 1 + \sum_{u \ne j} \frac{1}{1 + e^{(f(x_j) - f(x_u)) / \tau}}

    for :math:`m_1` relevant documents. As :math:`\tau` tends to 0, this is 1 less the
    average precision.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and O(m r) for a query of m documents, of which r are relevant.

    Parameters
    ----------
    k : int, default=None
        Cut-off of average precision; None for whole lists.
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.
    width : float, default=0.3
        Temperature :math:`\tau`, in units of the scores; the paper's :math:`\alpha` is
        its inverse.
    steepness : float, default=1.0
        Steepness :math:`\beta` of comparisons of ranks, in multiples of ``1 / width``
        per rank.
    alpha : float, default=1e-3
        Strength of the L2 penalty, relative to the mean loss.

    References
    ----------
    [Qin2010b]_; [Liu2011]_, section 4.2.1.3, eq. 4.10, where this measure is only
    mentioned.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ApproxAP
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ApproxAP().fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    k: PositiveInt | None = field(default=None, kw_only=False)
    relevance_level: float | None = None
    width: Positive = 0.3
    steepness: Positive = 1.0
    alpha = 1e-3

    @classmethod
    def _variants(cls):
        return [
            {},
            {"k": 5, "relevance_level": 2.0, "steepness": 0.5},
            {"width": 1.0, "start": "energy"},
        ]

    def _loss(self) -> BaseLoss:
        measure = AP(self.k, relevance_level=self.relevance_level)
        return SmoothMeasureLoss(
            measure, method="sigmoid", width=self.width, steepness=self.steepness
        )
