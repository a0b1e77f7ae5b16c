"""Dueling bandit gradient descent."""

import numpy as np

from skrank.online._bandits import BaseBanditRanker, Interleaving
from skrank.online._base import BaseInterleaving
from skrank.online._probabilistic import ProbabilisticInterleaving
from skrank.online._team_draft import TeamDraftInterleaving


class DuelingBanditRanker(BaseBanditRanker):
    r"""Dueling bandit gradient descent: a step towards every candidate that wins.

    For each list that is to be shown, a unit vector u is drawn, and the rankings by the
    parameters w and by the candidate :math:`w + \delta u` are interleaved. If clicks
    prefer the candidate,

    .. math:: w \leftarrow w + \alpha \, u,

    otherwise w stays. No pair of documents is looked at, and no model of users is
    needed; the price is that one bit is learned from a list. `PDGD` learns faster, and
    comes closer to rankers that were trained with the grades.

    All scores are zero at first, so that the first lists are random.

    Complexity: O(n d + n log n) per list, for n documents with d features.

    Parameters
    ----------
    learning_rate : float, default=0.01
        Length :math:`\alpha` of the steps.
    delta : float, default=1.0
        Distance :math:`\delta` of the candidates.
    interleaving : {"team_draft", "probabilistic"}, default="team_draft"
        How a list is drawn from both rankings: `TeamDraftInterleaving` or
        `ProbabilisticInterleaving`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Parameters w.

    References
    ----------
    [Yue2009]_, algorithm 1, without the projection onto a ball.

    Examples
    --------
    >>> from skrank.click import SimulatedUser
    >>> from skrank.datasets import make_ranking
    >>> from skrank.online import DuelingBanditRanker
    >>> X, y, groups = make_ranking(n_queries=60, random_state=0)
    >>> test = X[groups >= 30], y[groups >= 30], groups[groups >= 30]
    >>> X, y, groups = X[groups < 30], y[groups < 30], groups[groups < 30]
    >>> ranker, user = DuelingBanditRanker(learning_rate=0.1), SimulatedUser()
    >>> for day in range(50):
    ...     shown = ranker.propose(X, groups, random_state=day)
    ...     clicks = user.click(y[shown.rows], shown.ptr, random_state=day)
    ...     ranker = ranker.partial_fit(X, clicks, groups, shown=shown)
    >>> ranker.n_impressions_
    1500
    >>> ranker.score(*test) > 0.7
    True
    """

    interleaving: Interleaving = "team_draft"

    @classmethod
    def _variants(cls):
        return [{}, {"interleaving": "probabilistic", "length": None}]

    def _count(self) -> int:
        return 1

    def _method(self) -> BaseInterleaving:
        if self.interleaving == "team_draft":
            return TeamDraftInterleaving(length=self.length)
        return ProbabilisticInterleaving(length=self.length, tau=self.tau)

    def _towards(self, credits: np.ndarray) -> np.ndarray:
        return (credits[:, 1:] > credits[:, :1]).astype(np.float64)
