"""Rankers that compare themselves with candidates around them."""

from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from skrank._core._parameters import Positive
from skrank.online._base import BaseInterleaving, Lists, Softness
from skrank.online._base_ranker import BaseClickRanker
from skrank.online._rankings import Rankings
from skrank.rankers._rounds import draw_seed


class BaseBanditRanker(BaseClickRanker):
    """Base class of rankers that compare themselves with candidates around them.

    Parameters
    ----------
    delta : float, default=1.0
        Distance of the candidates.
    tau : float, default=3.0
        Power of the rank by which the probability of a document falls, for
        ``interleaving="probabilistic"``.
    """

    approach: ClassVar[str] = "listwise"

    delta: Positive = 1.0
    tau: Softness = 3.0

    def _count(self) -> int:
        """Return the number of candidates."""
        raise NotImplementedError

    def _method(self) -> BaseInterleaving:
        """Return what draws a list from the rankings."""
        raise NotImplementedError

    def _towards(self, credits: np.ndarray) -> np.ndarray:
        """Return the weight of each candidate's direction in the step.

        Parameters
        ----------
        credits : ndarray of shape (n_impressions, 1 + n_candidates)
            Credits, the first one being that of the ranker as it is.

        Returns
        -------
        ndarray of shape (n_impressions, n_candidates)
        """
        raise NotImplementedError

    def _show(self, X: Any, ptr: np.ndarray, rng) -> Lists:
        shape = (len(ptr) - 1, self._count(), len(self.params_))
        directions = rng.standard_normal(shape)
        directions /= np.sqrt(np.square(directions).sum(axis=2, keepdims=True))
        scores = self._scores_of_candidates(X, ptr, directions)
        n_threads = self._kernel_threads(scores.size)
        rankings = Rankings.from_scores(scores, ptr, draw_seed(rng), n_threads)
        lists = self._method()._deal(rankings, draw_seed(rng), n_threads)
        return lists._replace(directions=directions)

    def _scores_of_candidates(self, X, ptr, directions) -> np.ndarray:
        """Return scores of the ranker and of its candidates, a column for each."""
        scores = np.empty((X.shape[0], 1 + directions.shape[1]))
        scores[:, 0] = self._scores_at(self.params_, X)
        for i, (start, stop) in enumerate(pairwise(ptr)):
            rows = X[start:stop]
            if sparse.issparse(rows):
                beside = np.asarray(rows @ directions[i].T)
            else:  # not by BLAS, whose rounding depends on its threads
                beside = np.einsum("ij,kj->ik", rows, directions[i])
            scores[start:stop, 1:] = self.delta * beside
        scores[:, 1:] += scores[:, :1]
        return scores

    def _step(
        self, X: Any, ptr: np.ndarray, lists: Lists, clicked: np.ndarray, weight: Any
    ) -> np.ndarray:
        assert lists.directions is not None
        assert lists.method is not None
        if not clicked.any():  # then no ranking is ahead of another
            return np.zeros(len(self.params_))
        n_threads = self._kernel_threads(X.shape[0])
        credits = lists.method._credits(lists, clicked, n_threads)
        share = self._towards(credits)
        if weight is not None:
            share = share * weight[:, None]
        return np.einsum("ij,ijk->k", share, lists.directions)


#: How a list is drawn from the rankings of several candidates.
Interleaving = Literal["team_draft", "probabilistic"]
