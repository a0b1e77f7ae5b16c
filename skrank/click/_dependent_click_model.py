"""The dependent click model: after a click, users go on with a chance of the rank."""

from typing import ClassVar

import numpy as np

from skrank.click._cells import Cells
from skrank.click._chain import BaseChainModel
from skrank.click._counting import BaseCountingModel, BehaviourPriorMixin
from skrank.click._log import Log
from skrank.click._sessions import Sessions


class DependentClickModel(BaseChainModel, BaseCountingModel, BehaviourPriorMixin):
    r"""Users go on after a skip, and after a click with a chance that the rank tells.

    .. math::

       e_1 = 1, \qquad c_i = e_i \, r_{d_i}, \qquad
       e_{i+1} = \lambda_i c_i + (e_i - c_i)

    with :math:`e_i` and :math:`c_i` for the probabilities of examination and of a
    click. A lower bound of the likelihood, in which nothing below the last click at
    rank :math:`k` is examined, is largest for

    .. math::

       r_d = \frac{\#\text{clicks on } d}{\#\text{impressions of } d \text{ down to }
       k}, \qquad
       \lambda_i = 1 - \frac{\#\text{sessions whose last click is at } i}
       {\#\text{sessions with a click at } i}

    to which the pseudo-counts of the prior are added. All documents of a session
    without clicks are examined.

    Attributes
    ----------
    continuation_ : ndarray of shape (n_ranks,)
        The probabilities :math:`\lambda_i` to go on after a click at rank i, which are
        those of the prior where nobody clicked. Ranks below those of the log have the
        value of the last one.

    Notes
    -----
    Where all are 0, this is the cascade model. The bound [Liu2011]_ prints in eq. 13.3
    lacks the term :math:`\log r_{d_k}` of the last click, and eq. 13.4 has to count the
    impressions at rank :math:`k` itself, too; otherwise a document that is clicked
    whenever it is seen, and last, would have no impressions.
    Complexity: O(n) for n impressions.

    References
    ----------
    [Guo2009]_; [Liu2011]_, section 13.2.1.1, eq. 13.1–13.5.

    Examples
    --------
    >>> from skrank.click import DependentClickModel, Sessions
    >>> clicks = [[1, 0], [0, 1], [1, 1], [0, 0]]
    >>> sessions = Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, clicks)
    >>> model = DependentClickModel(
    ...     prior_clicks=0, prior_skips=0, behaviour_prior=0
    ... ).fit(sessions)
    >>> model.continuation_
    array([0.5, 0. ])
    >>> model.relevance(["q", "q"], ["a", "b"]).round(3)
    array([0.5  , 0.667])
    """

    short_name: ClassVar[str] = "dcm"
    aliases: ClassVar[tuple[str, ...]] = ("dependent_click",)

    def _slots(self, log: Log) -> np.ndarray:
        is_last = log.rank == log.last_of
        slots = 2 * (log.rank - 1) + is_last
        return np.where((log.rank <= log.last_of) | (log.last_of == 0), slots, -1)

    def _count(self, sessions: Sessions) -> Cells:
        n_ranks = int(np.diff(sessions.ptr).max(initial=0))
        return super()._count(sessions).with_empty(0, 2 * (n_ranks - 1))

    def _take(self, cells: Cells, n_sessions: int) -> None:
        # Nothing is counted below the last click; an empty cell tells how many ranks
        # the log has, and no part of it needs one of its own.
        deepest, held = int(cells.slot.max()) // 2, cells.shown > 0
        if not held.all():
            cells = cells.only(held).with_empty(0, 2 * deepest)
        super()._take(cells, n_sessions)

    def _estimate(self, cells: Cells) -> None:
        clicks, shown = cells.by_pair(cells.clicks), cells.by_pair(cells.shown)
        self.relevance_ = self._rate(clicks, shown)
        n_ranks = int(cells.slot.max()) // 2 + 1
        of_rank = cells.by_slot(cells.clicks, 2 * n_ranks).reshape(-1, 2)
        self.continuation_ = self._share(of_rank[:, 0], of_rank.sum(axis=1))

    def _continuation(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        row = np.minimum(log.rank, len(self.continuation_)) - 1
        return np.ones(len(log.pair)), self.continuation_[row]
