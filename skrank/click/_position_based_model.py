"""The position-based model: clicks take an examined rank and attraction."""

from typing import ClassVar

import numpy as np

from skrank.click._browsing import BaseBrowsingEM
from skrank.click._cells import Cells
from skrank.click._log import Log


class PositionBasedModel(BaseBrowsingEM):
    r"""Clicks on documents that are examined, which depends on the rank, and attract.

    .. math::

       P(C_i = 1) = \gamma_i \, \alpha_{q,d_i}

    Attraction and examination are fitted by expectation maximisation. Only their
    products can be seen in a log: the probabilities of examination are known up to a
    common factor, unless the prior says more.

    Attributes
    ----------
    examination_ : ndarray of shape (n_ranks,)
        The probabilities :math:`\gamma_i`. Ranks below those of the log have the value
        of the last one.

    Notes
    -----
    The steps go over the pairs of query and document at each rank where they were
    shown, whatever the number of sessions. Complexity: O(n) for n impressions, and in
    each step O(c) for c such cells.

    References
    ----------
    [Craswell2008]_; [Liu2011]_, section 13.2.1; [Chuklin2015]_, section 3.4.

    Examples
    --------
    >>> from skrank.click import PositionBasedModel, Sessions
    >>> lists = [["a", "b"], ["b", "a"]] * 20
    >>> clicks = [[1, 0], [0, 1], [1, 0], [1, 0]] * 10
    >>> model = PositionBasedModel().fit(Sessions.from_lists(["q"] * 40, lists, clicks))
    >>> bool(model.relevance("q", "a") > model.relevance("q", "b"))
    True
    >>> bool(model.examination_[0] > model.examination_[1])
    True
    """

    short_name: ClassVar[str] = "pbm"
    aliases: ClassVar[tuple[str, ...]] = ("position_based",)

    def _slots(self, log: Log) -> np.ndarray:
        return log.rank - 1

    def _estimate(self, cells: Cells) -> None:
        self.examination_ = self._maximise(cells, int(cells.slot.max()) + 1)

    def _examination_table(self) -> np.ndarray:
        return self.examination_[:, None]
