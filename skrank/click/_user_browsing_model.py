"""The user browsing model: examination depends on the last click before."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from skrank.click._browsing import BaseBrowsingEM, PlacesMixin
from skrank.click._cells import Cells


class UserBrowsingModel(BaseBrowsingEM, PlacesMixin):
    r"""Clicks on documents that attract and are examined, given the last click before.

    .. math::

       P(C_i = 1 \mid C_1, \dots, C_{i-1})
       = \gamma_{i, i - t_i} \, \alpha_{q,d_i}, \qquad
       t_i = \max \{l < i : C_l = 1\}

    where :math:`t_i = 0` if there is no click before. Users who have just clicked
    examine the next document more likely than others do. With ``max_distance=1``, this
    is the position-based model.

    Attributes
    ----------
    examination_ : ndarray of shape (n_ranks, n_distances)
        The probabilities :math:`\gamma_{i, i - t}`, by rank and distance from 1; 0
        where the distance exceeds the rank. What lies beyond has the values of the
        last rank and of the greatest distance.

    Notes
    -----
    The steps go over the pairs of query and document at each place where they were
    shown, whatever the number of sessions. Complexity: O(n) for n impressions, and in
    each step O(c) for c such cells; marginal probabilities take O(m²) for a session of
    m documents.

    References
    ----------
    [Dupret2008]_; [Chuklin2015]_, section 3.6.

    Examples
    --------
    >>> from skrank.click import Sessions, UserBrowsingModel
    >>> lists = [["a", "b"], ["b", "a"]] * 20
    >>> clicks = [[1, 0], [0, 1], [1, 1], [0, 0]] * 10
    >>> model = UserBrowsingModel().fit(Sessions.from_lists(["q"] * 40, lists, clicks))
    >>> model.examination_.shape
    (2, 2)
    """

    short_name: ClassVar[str] = "ubm"
    aliases: ClassVar[tuple[str, ...]] = ("user_browsing",)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"max_rank": 3}, {"max_distance": 2}]

    def _estimate(self, cells: Cells) -> None:
        places, n_ranks, width = self._in_table(cells)
        found = self._maximise(replace(cells, slot=places), n_ranks * width)
        self.examination_ = self._table_of(found, n_ranks)

    def _examination_table(self) -> np.ndarray:
        return self.examination_
