"""The baseline in which all documents are clicked alike."""

from typing import ClassVar

import numpy as np

from skrank.click._browsing import BaseBrowsingModel
from skrank.click._cells import Cells
from skrank.click._log import Log


class RandomClickModel(BaseBrowsingModel):
    r"""Clicks with one probability for all documents: the rate of clicks in the log.

    .. math::

       P(C = 1) = \rho = \frac{\#\text{clicks} + a}{\#\text{impressions} + a + b}

    with :math:`a` and :math:`b` for ``prior_clicks`` and ``prior_skips``. It is the
    least that other models have to beat.

    Attributes
    ----------
    click_rate_ : float
        The probability :math:`\rho`, which is the relevance of all pairs, too.

    Notes
    -----
    Complexity: O(n) for n impressions.

    References
    ----------
    [Chuklin2015]_, section 3.1.

    Examples
    --------
    >>> from skrank.click import RandomClickModel, Sessions
    >>> sessions = Sessions.from_lists(["q", "q"], [["a", "b"]] * 2, [[1, 0], [1, 1]])
    >>> RandomClickModel(prior_clicks=0, prior_skips=0).fit(sessions).click_rate_
    0.75
    """

    short_name: ClassVar[str] = "random"

    def _slots(self, log: Log) -> np.ndarray:
        return np.zeros(len(log.pair), dtype=np.intp)

    def _estimate(self, cells: Cells) -> None:
        clicks, shown = cells.clicks.sum(), cells.shown.sum()
        rate = self._rate(np.array([clicks]), np.array([shown]))
        self.click_rate_ = float(rate[0])
        self.relevance_ = np.full(len(cells.table), self.click_rate_)

    def _unknown(self) -> dict[str, float]:
        return {"relevance_": self.click_rate_}
