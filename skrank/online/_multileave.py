"""Multileave gradient descent."""

from typing import Literal

import numpy as np

from skrank._core._parameters import PositiveInt
from skrank.online._bandits import BaseBanditRanker, Interleaving
from skrank.online._base import BaseInterleaving
from skrank.online._probabilistic import ProbabilisticMultileaving
from skrank.online._team_draft import TeamDraftMultileaving


class MultileaveRanker(BaseBanditRanker):
    r"""Multileave gradient descent: a step towards the best of many candidates.

    For each list that is to be shown, unit vectors :math:`u_1, \ldots, u_n` are drawn,
    and the rankings by the parameters w and by all candidates :math:`w + \delta u_j`
    are multileaved. With W the candidates that clicks prefer to w,

    .. math:: w \leftarrow w + \alpha \, \frac{1}{|W|} \sum_{j \in W} u_j,

    or, under ``update="best"``, W holds only those of them with the highest credit. It
    learns in fewer impressions than `DuelingBanditRanker`, which is the case of one
    candidate; how well it ranks in the end is the same.

    All scores are zero at first, so that the first lists are random.

    Complexity: O(R (n d + n log n)) per list, for n documents with d features and R
    candidates.

    Parameters
    ----------
    learning_rate : float, default=0.01
        Length :math:`\alpha` of the steps.
    delta : float, default=1.0
        Distance :math:`\delta` of the candidates.
    n_candidates : int, default=9
        Number of candidates.
    interleaving : {"team_draft", "probabilistic"}, default="team_draft"
        How a list is drawn from all rankings: `TeamDraftMultileaving`, which compares
        only candidates that contribute to the list, or `ProbabilisticMultileaving`.
    update : {"mean", "best"}, default="mean"
        Which of the candidates that win count.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Parameters w.

    References
    ----------
    [Schuth2016]_; [Oosterhuis2016]_ for probabilistic multileaving.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.online import MultileaveRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MultileaveRanker(learning_rate=0.1, random_state=0).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    n_candidates: PositiveInt = 9
    interleaving: Interleaving = "team_draft"
    update: Literal["mean", "best"] = "mean"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_candidates": 2, "interleaving": "probabilistic", "update": "best"},
        ]

    def _count(self) -> int:
        return int(self.n_candidates)

    def _method(self) -> BaseInterleaving:
        if self.interleaving == "team_draft":
            return TeamDraftMultileaving(length=self.length)
        return ProbabilisticMultileaving(length=self.length, tau=self.tau)

    def _towards(self, credits: np.ndarray) -> np.ndarray:
        wins = credits[:, 1:] > credits[:, :1]
        if self.update == "best":
            wins &= credits[:, 1:] == credits[:, 1:].max(axis=1, keepdims=True)
        return wins / np.maximum(wins.sum(axis=1, keepdims=True), 1)
