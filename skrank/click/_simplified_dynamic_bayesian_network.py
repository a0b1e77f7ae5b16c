"""The simplified dynamic Bayesian network: what follows from two counts."""

from typing import ClassVar

import numpy as np

from skrank.click._cells import Cells
from skrank.click._counting import BaseCountingModel
from skrank.click._log import Log
from skrank.click._satisfaction import BaseSatisfactionModel


class SimplifiedDynamicBayesianNetwork(BaseSatisfactionModel, BaseCountingModel):
    r"""Dynamic Bayesian network whose users go on until a document satisfies them.

    With :math:`\gamma = 1`, and taking it that the last click satisfied the user, the
    parameters follow from counts:

    .. math::

       a_u = \frac{\#\text{clicks on } u}{\#\text{impressions of } u
       \text{ down to the last click}}, \qquad
       s_u = \frac{\#\text{last clicks on } u}{\#\text{clicks on } u}

    to which the pseudo-counts of the prior are added. All documents of a session
    without clicks are examined.

    Notes
    -----
    ``DynamicBayesianNetwork(gamma=1.0)`` has the same users, and allows for those who
    went on behind the last click and found nothing. Complexity: O(n) for n impressions.

    References
    ----------
    [Chapelle2009b]_, section 5, algorithm 1; [Liu2011]_, section 13.2.1.3.

    Examples
    --------
    >>> from skrank.click import Sessions, SimplifiedDynamicBayesianNetwork
    >>> clicks = [[1, 0], [0, 1], [1, 1], [0, 0]]
    >>> sessions = Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, clicks)
    >>> model = SimplifiedDynamicBayesianNetwork(prior_clicks=0, prior_skips=0)
    >>> table = model.fit(sessions).relevance_table()
    >>> table["attraction"].round(3), table["satisfaction"]
    (array([0.5  , 0.667]), array([0.5, 1. ]))
    """

    short_name: ClassVar[str] = "sdbn"
    aliases: ClassVar[tuple[str, ...]] = ("simplified_dbn",)

    def _slots(self, log: Log) -> np.ndarray:
        is_last = (log.rank == log.last_of).astype(np.intp)
        return np.where((log.rank <= log.last_of) | (log.last_of == 0), is_last, -1)

    def _estimate(self, cells: Cells) -> None:
        clicks, shown = cells.by_pair(cells.clicks), cells.by_pair(cells.shown)
        last = cells.by_pair(cells.clicks * (cells.slot == 1))
        self.attraction_ = self._rate(clicks, shown)
        self.satisfaction_ = self._rate(last, clicks)
        self.relevance_ = self.attraction_ * self.satisfaction_
        self.gamma_ = 1.0
