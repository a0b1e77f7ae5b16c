"""The baseline in which clicks depend on nothing but the document."""

from typing import ClassVar

import numpy as np

from skrank.click._browsing import BaseBrowsingModel
from skrank.click._cells import Cells
from skrank.click._log import Log


class DocumentClickModel(BaseBrowsingModel):
    r"""Clicks with one probability for each document of a query: its rate of clicks.

    .. math::

       P(C = 1 \mid q, d) = \alpha_{q,d}
       = \frac{\#\text{clicks on } d + a}{\#\text{impressions of } d + a + b}

    with :math:`a` and :math:`b` for ``prior_clicks`` and ``prior_skips``. Documents
    that stood at the top are overrated: nobody asks whether the others were seen.

    Notes
    -----
    Complexity: O(n) for n impressions.

    References
    ----------
    [Chuklin2015]_, section 3.3.

    Examples
    --------
    >>> from skrank.click import DocumentClickModel, Sessions
    >>> sessions = Sessions.from_lists(["q", "q"], [["a", "b"]] * 2, [[1, 0], [1, 1]])
    >>> model = DocumentClickModel().fit(sessions)
    >>> model.relevance("q", "a"), model.relevance("q", "new")
    (0.75, 0.5)
    """

    short_name: ClassVar[str] = "document"

    def _slots(self, log: Log) -> np.ndarray:
        return np.zeros(len(log.pair), dtype=np.intp)

    def _estimate(self, cells: Cells) -> None:
        clicks, shown = cells.by_pair(cells.clicks), cells.by_pair(cells.shown)
        self.relevance_ = self._rate(clicks, shown)
