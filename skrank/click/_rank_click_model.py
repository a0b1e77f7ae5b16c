"""The baseline in which clicks depend on nothing but the rank."""

from typing import ClassVar

import numpy as np

from skrank.click._browsing import BaseBrowsingModel
from skrank.click._cells import Cells
from skrank.click._log import Log


class RankClickModel(BaseBrowsingModel):
    r"""Clicks with one probability for each rank: the rate of clicks there.

    .. math::

       P(C_i = 1) = \rho_i
       = \frac{\#\text{clicks at rank } i + a}{\#\text{sessions with rank } i + a + b}

    with :math:`a` and :math:`b` for ``prior_clicks`` and ``prior_skips``. Ranks below
    those of the log have the rate of the last one.

    Attributes
    ----------
    examination_ : ndarray of shape (n_ranks,)
        The probabilities :math:`\rho_i`: the model takes it that all that is examined
        is clicked.

    Notes
    -----
    The relevance of all pairs is 1. Complexity: O(n) for n impressions.

    References
    ----------
    [Chuklin2015]_, section 3.2.

    Examples
    --------
    >>> from skrank.click import RankClickModel, Sessions
    >>> sessions = Sessions.from_lists(["q", "q"], [["a", "b"]] * 2, [[1, 0], [1, 1]])
    >>> RankClickModel(prior_clicks=0, prior_skips=0).fit(sessions).examination_
    array([1. , 0.5])
    """

    short_name: ClassVar[str] = "rank"

    def _slots(self, log: Log) -> np.ndarray:
        return log.rank - 1

    def _estimate(self, cells: Cells) -> None:
        n_ranks = int(cells.slot.max()) + 1
        clicks, shown = (
            cells.by_slot(counts, n_ranks) for counts in (cells.clicks, cells.shown)
        )
        self.examination_ = self._rate(clicks, shown)
        self.relevance_ = np.ones(len(cells.table))

    def _unknown(self) -> dict[str, float]:
        return {"relevance_": 1.0}

    def _examination_table(self) -> np.ndarray:
        return self.examination_[:, None]
