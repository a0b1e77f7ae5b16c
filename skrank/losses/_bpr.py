"""The loss of Bayesian personalised ranking."""

from dataclasses import field
from typing import ClassVar, Literal

from skrank._core._parameters import Positive, PositiveInt, Seed
from skrank.losses._base import BaseLoss
from skrank.losses._sampled_pairs import SampledPairsLoss
from skrank.losses._sigmoid import LogLoss


class BPRLoss(BaseLoss):
    r"""Loss of Bayesian personalised ranking: log loss of pairs drawn at random.

    .. math:: \ell_q = \frac{P_q}{n} \sum_{p=1}^{n}
              \log\bigl(1 + e^{-\sigma (f(x_{u_p}) - f(x_{v_p}))}\bigr)

    with n pairs drawn uniformly, with replacement, from the :math:`P_q` preference
    pairs of the query. It is `SampledPairsLoss` over `LogLoss`: in expectation the loss
    of `RankNet`, at a cost that does not depend on the number of pairs. A stochastic
    solver sees new pairs in every batch. Where scores are cheap, the sum over all pairs
    has less noise and costs hardly more; drawing pays where queries have very many
    documents.

    Complexity: O(n_queries n_pairs) per evaluation; O(n_queries n_pairs log
    n_documents) and one sort by grade to draw.

    Parameters
    ----------
    n_pairs : int, default=32
        Number n of pairs per query.
    random_state : int, RandomState instance or None, default=None
        An int draws the same pairs whenever the loss is bound to the same data, and
        batches take their part of these; None or a RandomState goes on drawing.
    sigma : float, default=1.0
        Steepness of the logistic function.
    normalization : {"pair", "query"}, default="pair"
        Whether queries count by their number of pairs, or alike.

    References
    ----------
    [Rendle2009]_, section 4; [Fang2016]_, section 4.2.2.

    Examples
    --------
    >>> from skrank.losses import BPRLoss
    >>> loss = BPRLoss(n_pairs=4, random_state=0)
    >>> values, gradient = loss.value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()  # the only pair, four times
    ([0.6931], [-0.5, 0.5])
    """

    short_name: ClassVar[str] = "bpr"
    shift_invariant = True

    n_pairs: PositiveInt = field(default=32, kw_only=False)
    random_state: Seed = field(default=None, kw_only=False)
    sigma: Positive = 1.0
    normalization: Literal["pair", "query"] = "pair"

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return self.normalization

    @classmethod
    def _variants(cls):
        return [
            {"random_state": 0},
            {"n_pairs": 3, "sigma": 2.5, "random_state": 0},
            {"normalization": "query", "random_state": 0},
        ]

    def _sampled(self) -> SampledPairsLoss:
        return SampledPairsLoss(
            LogLoss(self.sigma, normalization=self.normalization),
            self.n_pairs,
            self.random_state,
        )

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return self._sampled()._prepare(y, ptr, sample_weight, n_threads)
