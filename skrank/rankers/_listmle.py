"""ListMLE."""

from collections.abc import Callable
from typing import Literal

from skrank._core._parameters import Numbers, Positive, PositiveInt
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, ListMLELoss
from skrank.rankers._energy_ranker import BaseNetworkRanker


class ListMLE(BaseNetworkRanker):
    r"""ListMLE: likelihood of the ideal ranking under the Plackett-Luce model.

    .. math:: \ell_q = -\sum_{j=1}^{k} \log \frac{e^{f(x_{\pi_j})}}
              {\sum_{t=j}^{m} e^{f(x_{\pi_t})}}

    where :math:`\pi` sorts the documents of the query by grade.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    after one sort by grade.

    Parameters
    ----------
    top_k : int, default=None
        Number of leading positions in the likelihood; None takes the whole ranking.
    ties : {"best", "average", "stable", "random"}, default="best"
        Order of documents of equal grade: the ideal ranking that the current scores
        make most likely, the mean over all ideal rankings, the order of the rows, or
        one drawn at random. See `ListMLELoss` for how the mean is taken.
    position_weights : {"p", "log2"}, array-like or callable, default=None
        Weights of the positions; "p" is the p-ListMLE choice :math:`2^{m-j} - 1`,
        relative to the first.
    prior : tuple of float, default=None
        Shape and rate of a Gamma prior on the strengths :math:`e^{f(x)}` (Bayesian
        Plackett-Luce).

    References
    ----------
    [Liu2011]_, section 4.3.2, eq. 4.24–4.25; [Xia2008]_; [Fang2016]_, section 4.3,
    eq. 22; [Lan2014]_ for the weights of positions; [Guiver2009]_ for the prior.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ListMLE
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ListMLE(top_k=5).fit(X, y, groups).predict(X).shape == y.shape
    True
    """

    approach = "listwise"

    top_k: PositiveInt | None = None
    ties: Literal["best", "average", "stable", "random"] = "best"
    position_weights: Literal["p", "log2"] | Callable | Numbers | None = None
    prior: tuple[Positive, Positive] | None = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"ties": "stable", "top_k": 3},
            {"ties": "random"},
            {"ties": "average", "top_k": 5},
            {"position_weights": "p"},
            {"prior": (2.0, 1.0)},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = ListMLELoss(
            top_k=self.top_k,
            ties=self.ties,
            position_weights=self.position_weights,
            prior=self.prior,
            random_state=self.random_state,
        )
        return self._energy(), loss
