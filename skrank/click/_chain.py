"""Models of users who look at one document after another, and stop at some place."""

from abc import abstractmethod

import numpy as np

from skrank.click._base import BaseClickModel
from skrank.click._log import Log
from skrank.click._models import chain_conditionals, chain_examination, draw_chains


class BaseChainModel(BaseClickModel):
    """Base class of models in which documents are examined in their order.

    The first document is examined. Subclasses return by ``_continuation`` how likely
    the next one is after a skip and after a click, for each impression.
    """

    @abstractmethod
    def _continuation(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities to go on after a skip and after a click."""

    def _conditional(self, log: Log) -> np.ndarray:
        a, on = self._attraction(log), self._continuation(log)
        return chain_conditionals(a, *on, log.click, log.ptr, log.n_threads)

    def _marginal_examination(self, log: Log) -> np.ndarray:
        a, on = self._attraction(log), self._continuation(log)
        return chain_examination(a, *on, log.ptr, log.n_threads)

    def _draw(self, log: Log, uniform: np.ndarray) -> np.ndarray:
        a, on = self._attraction(log), self._continuation(log)
        return draw_chains(a, *on, log.ptr, uniform, log.n_threads)
