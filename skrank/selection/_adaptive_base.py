"""What selectors share that read the grade of a document once it is selected."""

from abc import abstractmethod

import numpy as np

from skrank._core._parameters import Positive
from skrank._core._threads import n_threads_for
from skrank.selection._training_base import (
    BaseTrainingSelector,
    Candidates,
    Chosen,
    SharedMixin,
)

# Nanoseconds in which one thread weighs what a system says of a document, roughly.
_WEIGHING = 10


class BaseAdaptiveSelector(SharedMixin, BaseTrainingSelector):
    """Base class of selectors that read the grade of a document once it is selected.

    Parameters
    ----------
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.
    """

    relevance_level: Positive | None = None

    _needs_grades = True

    @classmethod
    def _variants(cls):
        return [{}, {"share": 0.5, "relevance_level": 2}]

    def _chosen(self, candidates):
        level, y = self.relevance_level, candidates.y
        assert y is not None  # `select` asks for it
        relevant = y > 0 if level is None else y >= level
        wanted = self._n_wanted(candidates.sizes)
        work = _WEIGHING * candidates.ranks.size * int(wanted.max(initial=1))
        pick = self._picks(
            candidates, relevant.astype(np.float64), wanted, n_threads_for(work)
        )
        return Chosen(pick >= 0, candidates.retrieved)

    @abstractmethod
    def _picks(
        self,
        candidates: Candidates,
        relevant: np.ndarray,
        wanted: np.ndarray,
        n_threads: int,
    ) -> np.ndarray:
        """Return the place of each document in the order of picks, or -1."""
