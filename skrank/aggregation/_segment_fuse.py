"""SegFuse: probabilities of relevance in segments of growing length, and scores."""

from typing import Any, ClassVar

import numpy as np

from skrank._core._parameters import Positive
from skrank.aggregation._base import BaseScoreAggregator
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._judgements import Judgements
from skrank.aggregation._positions import HitLists
from skrank.aggregation._sums import sum_of_runs


class SegFuse(BaseScoreAggregator):
    r"""Sum of shifted scores, weighted by the relevance in segments of growing length.

    .. math::

       s(d) = \sum_{r \ni d} P_r(k_r(d))\, (1 + s_r(d))

    with :math:`s_r` the normalised score, :math:`k_r(d)` the segment of the rank of d,
    and :math:`P_r(k)` the number of relevant documents in segment k, averaged over the
    training queries and divided by the length of the segment, even where lists end
    before. Segments end at the ranks :math:`10 \cdot 2^{k-1} - 5` for k = 1, … 10;
    documents behind the last one add nothing.

    Parameters
    ----------
    relevance_level : float, default=1.0
        Smallest grade of a relevant document.

    Attributes
    ----------
    estimates_ : list of ndarray of shape (10,)
        Probability of relevance in each segment, for each run.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents.

    References
    ----------
    [Shokouhi2007]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import SegFuse
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> SegFuse().fit(runs, {"q": {"b": 1}}).aggregate(runs)
    {'q': {'b': 0.6000000000000001, 'a': 0.4, 'c': 0.2}}
    """

    short_name: ClassVar[str] = "segfuse"
    learns: ClassVar[bool] = True

    _bounds: ClassVar = np.append(0, 10 * 2 ** np.arange(10) - 5)

    relevance_level: Positive = 1.0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"normalization": "zmuv"}]

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        assert judgements is not None
        relevant = judgements.grades >= self.relevance_level
        self.estimates_ = [
            HitLists.of_run(joined, run, relevant, judgements.judged).mean_precisions(
                np.append(self._bounds, np.inf)
            )[:-1]
            for run in range(joined.n_runs)
        ]

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        scores = self._normalized(joined)
        for run, learned in enumerate(self.estimates_):
            padded = np.append(learned, 0.0)
            ranks = np.nan_to_num(joined.ranks[:, run], nan=np.inf)
            segment = np.searchsorted(self._bounds, ranks - 1, "right") - 1
            scores[run] = padded[segment] * (scores[run] + 1.0)
        return sum_of_runs(scores)
