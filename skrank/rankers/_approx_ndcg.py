"""ApproxNDCG."""

from dataclasses import field

from skrank._core._parameters import Positive, PositiveInt
from skrank.losses import BaseLoss, SmoothMeasureLoss
from skrank.metrics import NDCG
from skrank.metrics._gain import Gain
from skrank.rankers._smooth_ranker import BaseSmoothRanker


class ApproxNDCG(BaseSmoothRanker):
    r"""ApproxNDCG: NDCG at ranks that are sums of sigmoids.

    .. math:: \ell_q = 1 - \frac{1}{Z} \sum_j \frac{G(y_j)}{\log_2(1 + \hat\pi_j)},
              \qquad \hat\pi_j = 1 + \sum_{u \ne j}
              \frac{1}{1 + e^{(f(x_j) - f(x_u)) / \tau}}

    The logarithm is to base 2, as in NDCG itself. With a cut-off k each term is also
    multiplied by :math:`1 / (1 + e^{\beta (\hat\pi_j - k - 1/2)})`, and Z is that of
    NDCG@k.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and O(m r) for a query of m documents, of which r are relevant: one division per
    pair, and one exponential per document.

    Parameters
    ----------
    k : int, default=10
        Cut-off; None for whole lists.
    gain : {"exp2", "linear"} or callable, default="exp2"
        Gain of a grade.
    width : float, default=0.3
        Temperature :math:`\tau`, in units of the scores; the paper's :math:`\alpha` is
        its inverse.
    steepness : float, default=1.0
        Steepness :math:`\beta` of the cut-off, in multiples of ``1 / width`` per rank.
    alpha : float, default=1e-3
        Strength of the L2 penalty, relative to the mean loss.

    References
    ----------
    [Qin2010b]_; [Liu2011]_, section 4.2.1.3, eq. 4.8–4.11.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ApproxNDCG
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ApproxNDCG().fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    k: PositiveInt | None = field(default=10, kw_only=False)
    gain: Gain = "exp2"
    width: Positive = 0.3
    steepness: Positive = 1.0
    alpha = 1e-3

    @classmethod
    def _variants(cls):
        return [
            {},
            {"k": None, "gain": "linear", "start": "energy"},
            {"k": 3, "steepness": 2.0, "width": 1.0},
            {"hidden_layer_sizes": (8,), "max_iter": 5},
        ]

    def _loss(self) -> BaseLoss:
        measure = NDCG(self.k, gain=self.gain)
        return SmoothMeasureLoss(
            measure, method="sigmoid", width=self.width, steepness=self.steepness
        )
