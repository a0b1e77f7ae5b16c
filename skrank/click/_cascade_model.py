"""The cascade model: users go down the list and stop at the first click."""

from typing import ClassVar

import numpy as np

from skrank.click._cells import Cells
from skrank.click._chain import BaseChainModel
from skrank.click._counting import BaseCountingModel
from skrank.click._log import Log


class CascadeModel(BaseChainModel, BaseCountingModel):
    r"""Users examine one document after another and stop at the first click.

    .. math::

       P(C_i = 1) = \alpha_{q,d_i} \prod_{j<i} (1 - \alpha_{q,d_j}), \qquad
       \alpha_{q,d}
       = \frac{\#\text{first clicks on } d + a}{\#\text{impressions of } d
       \text{ down to the first click} + a + b}

    with :math:`a` and :math:`b` for ``prior_clicks`` and ``prior_skips``. A second
    click in a session is impossible: its log-likelihood is −inf. What stands below the
    first click is not counted.

    Notes
    -----
    The estimate maximises the likelihood of sessions cut behind their first click, if
    there is no prior. Complexity: O(n) for n impressions.

    References
    ----------
    [Craswell2008]_; [Liu2011]_, section 13.2.1; [Chuklin2015]_, section 3.5.

    Examples
    --------
    >>> from skrank.click import CascadeModel, Sessions
    >>> sessions = Sessions.from_lists(["q", "q"], [["a", "b"]] * 2, [[1, 0], [0, 1]])
    >>> model = CascadeModel(prior_clicks=0, prior_skips=0).fit(sessions)
    >>> model.relevance(["q", "q"], ["a", "b"])
    array([0.5, 1. ])
    """

    short_name: ClassVar[str] = "cascade"

    def _slots(self, log: Log) -> np.ndarray:
        return np.where(log.before == 0, 0, -1)

    def _estimate(self, cells: Cells) -> None:
        clicks, shown = cells.by_pair(cells.clicks), cells.by_pair(cells.shown)
        self.relevance_ = self._rate(clicks, shown)

    def _continuation(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(len(log.pair)), np.zeros(len(log.pair))
