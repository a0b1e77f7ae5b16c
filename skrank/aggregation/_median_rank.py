"""Median rank aggregation."""

from typing import Any, ClassVar, Literal

import numpy as np

from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._comb import median_of_runs
from skrank.aggregation._joined import JoinedRuns


class MedianRank(BaseAggregator):
    r"""Median of the ranks of a document, the smallest first.

    .. math::

       s(d) = -\operatorname{median}_r \pi_r(d)

    with :math:`\pi_r(d)` the rank of document d in run r. One run that errs does not
    move the median far.

    Parameters
    ----------
    missing : {"last", "average", "skip"}, default="last"
        Rank of documents that a run lacks: "last" is the rank behind its last document,
        "average" the mean of the ranks that are left up to the number of documents that
        any run retrieved, and "skip" takes the median over the runs that have the
        document. A run that has nothing for a query is left out in any case.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    The median of an even number of ranks is the mean of the two in the middle. The
    order is within a constant factor of the best one by Spearman's footrule, and so by
    Kendall's distance, for complete lists.
    Complexity: O(n log n) for n retrieved documents.

    References
    ----------
    [Fagin2003]_, section 2; [Liu2011]_, section 3.3.1.

    Examples
    --------
    >>> from skrank.aggregation import MedianRank
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 9, "c": 8}}]
    >>> runs += [{"q": {"b": 1}}]
    >>> MedianRank().aggregate(runs)
    {'q': {'a': -1.0, 'c': -2.0, 'b': -2.0}}
    """

    short_name: ClassVar[str] = "median"
    aliases: ClassVar[tuple[str, ...]] = ("median_rank",)

    missing: Literal["last", "average", "skip"] = "last"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"missing": "average"}, {"missing": "skip"}]

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        ranks = joined.ranks.T
        if self.missing != "skip":
            n_retrieved = joined.n_retrieved.T
            rank = n_retrieved + 1.0
            if self.missing == "average":
                rank = (n_retrieved + 1.0 + joined.sizes) / 2.0
            rank[n_retrieved == 0] = np.nan
            ranks = np.where(np.isnan(ranks), np.repeat(rank, joined.sizes, 1), ranks)
        return -median_of_runs(ranks)
