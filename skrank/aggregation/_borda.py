"""Borda's count."""

from typing import Any, ClassVar, Literal

import numpy as np

from skrank.aggregation._base import BaseAggregator, WeightedRunsMixin
from skrank.aggregation._joined import JoinedRuns


class Borda(WeightedRunsMixin, BaseAggregator):
    r"""Borda's count: sum over the runs of the points for the place of a document.

    .. math::

       s(d) = \sum_r w_r\, b_r(d), \qquad b_r(d) = m - \pi_r(d) + 1

    with :math:`m` the number of documents that any run retrieved, and
    :math:`\pi_r(d)` the rank of document d in run r.

    Parameters
    ----------
    missing : {"average", "zero", "skip"}, default="average"
        Points of documents that a run lacks: "average" shares the points that are left,
        so that all runs give as many points; "zero" gives none; "skip" takes the mean
        points over the runs that have the document. A run that has nothing for a query
        gives no points in any case.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, for their ranks.

    References
    ----------
    [Aslam2001]_, section 2 (BordaFuse and weighted BordaFuse); [Dwork2001]_, section
    3.1; [Liu2011]_, section 3.3.1.

    Examples
    --------
    >>> from skrank.aggregation import Borda
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> Borda().aggregate(runs)
    {'q': {'b': 5.0, 'a': 4.0, 'c': 3.0}}
    """

    short_name: ClassVar[str] = "borda"
    aliases: ClassVar[tuple[str, ...]] = ("bordafuse", "w_bordafuse")

    missing: Literal["average", "zero", "skip"] = "average"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"missing": "zero"}, {"missing": "skip"}]

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        points = []
        for run, ranks in enumerate(joined.own_ranks):
            _, ptr = joined.rows_of(run)
            points.append(np.repeat(joined.sizes, np.diff(ptr)) - ranks + 1.0)
        fill = _left(joined) if self.missing == "average" else None
        total = self._weighted_sum(joined, points, fill)
        if self.missing != "skip":
            return total
        ones = [np.ones_like(own) for own in points]
        shares = self._weighted_sum(joined, ones)
        return total / np.where(shares > 0, shares, 1.0)


def _left(joined: JoinedRuns) -> np.ndarray:
    """Return the mean of the points that each run has not given, by query."""
    left = (joined.sizes[:, None] - joined.n_retrieved + 1) / 2.0
    left[joined.n_retrieved == 0] = np.nan
    return left
