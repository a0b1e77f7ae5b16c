"""Models of users who leave when a document that they clicked satisfies them."""

from typing import ClassVar

import numpy as np

from skrank.click._chain import BaseChainModel
from skrank.click._counting import BasePriorModel
from skrank.click._log import Log


class BaseSatisfactionModel(BaseChainModel, BasePriorModel):
    r"""Base class of dynamic Bayesian networks of clicks.

    A document that is examined is clicked if it attracts the user, and a clicked one
    may satisfy them; then they leave. Otherwise they go on with probability
    :math:`\gamma`. What they like of a document before and after the click are two
    things; its relevance is the product.

    Attributes
    ----------
    attraction_ : ndarray of shape (n_pairs,)
        Probability :math:`a_u` that a document is clicked if it is examined.
    satisfaction_ : ndarray of shape (n_pairs,)
        Probability :math:`s_u` that it satisfies a user who clicked on it.
    relevance_ : ndarray of shape (n_pairs,)
        Product :math:`a_u s_u` of both.
    gamma_ : float
        Probability :math:`\gamma` to go on without satisfaction.
    """

    _columns: ClassVar[dict[str, str]] = {
        "relevance": "relevance_",
        "attraction": "attraction_",
        "satisfaction": "satisfaction_",
    }

    def _unknown(self) -> dict[str, float]:
        mean = self._prior_mean()
        return {"relevance_": mean**2, "attraction_": mean, "satisfaction_": mean}

    def _attraction(self, log: Log) -> np.ndarray:
        return self._of_pairs("attraction_", log.pair)

    def _continuation(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        unsatisfied = 1.0 - self._of_pairs("satisfaction_", log.pair)
        return np.full(len(log.pair), self.gamma_), self.gamma_ * unsatisfied
