"""Fusion by the relevance that training queries show at each rank of a run.

Every method estimates, for each run, a number per rank from judged queries, and sums
the numbers of a document's ranks.
"""

from abc import abstractmethod
from typing import Annotated, ClassVar

import numpy as np

from skrank._core._parameters import Interval, NonNegativeInt, Positive
from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._judgements import Judgements
from skrank.aggregation._sums import sum_of_runs


class BasePositionFusion(BaseAggregator):
    """Base class of aggregators that learn a value of each rank of each run.

    Parameters
    ----------
    relevance_level : float, default=1.0
        Smallest grade of a relevant document.
    """

    learns: ClassVar[bool] = True
    #: Score of documents that a run lacks.
    _missing: ClassVar[float] = np.nan

    relevance_level: Positive = 1.0

    @abstractmethod
    def _estimate(self, lists: "HitLists") -> np.ndarray:
        """Return what is learned of a run from its judged lists."""

    @abstractmethod
    def _values(self, learned: np.ndarray, ranks, sizes) -> np.ndarray:
        """Return the values of ranks in lists of some sizes."""

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        assert judgements is not None
        relevant = judgements.grades >= self.relevance_level
        self.estimates_ = [
            self._estimate(HitLists.of_run(joined, run, relevant, judgements.judged))
            for run in range(joined.n_runs)
        ]

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return sum_of_runs(self._parts(joined))

    def _parts(self, joined: JoinedRuns) -> np.ndarray:
        parts = np.full((joined.n_runs, joined.n_documents), self._missing)
        for run, learned in enumerate(self.estimates_):
            rows, ptr = joined.rows_of(run)
            sizes = np.repeat(np.diff(ptr), np.diff(ptr))
            ranks = joined.ranks[rows, run].astype(np.intp)
            parts[run, rows] = self._values(learned, ranks, sizes)
        return parts


class HitLists:
    """The ranks of relevant documents of one run in judged queries.

    Parameters
    ----------
    ranks : ndarray of shape (n_hits,), dtype intp
        1-based ranks of relevant documents.
    sizes : ndarray of shape (n_hits,), dtype intp
        Number of documents of the list of each.
    lengths : ndarray of shape (n_queries,), dtype intp
        Number of documents of the list of each judged query.
    """

    def __init__(self, ranks: np.ndarray, sizes: np.ndarray, lengths: np.ndarray):
        self.ranks, self.sizes, self.lengths = ranks, sizes, lengths

    @classmethod
    def of_run(cls, joined, run, relevant, judged) -> "HitLists":
        """Return the lists of a run."""
        lengths = joined.n_retrieved[:, run]
        hit = relevant & joined.retrieved[:, run] & np.repeat(judged, joined.sizes)
        ranks = joined.ranks[hit, run].astype(np.intp)
        return cls(ranks, np.repeat(lengths, joined.sizes)[hit], lengths[judged])

    def mean_precisions(self, bounds: np.ndarray) -> np.ndarray:
        """Return the mean share of hits at ranks within bounds, over the queries."""
        counts = np.histogram(self.ranks - 1, bounds)[0]
        return counts / np.diff(bounds) / len(self.lengths)


class PosFuse(BasePositionFusion):
    r"""Sum over the runs of the probability of relevance at the rank of a document.

    .. math::

       s(d) = \sum_{r \ni d} P_r(\pi_r(d)), \qquad
       P_r(p) = \frac{|\{q : r_q(p) \text{ is relevant}\}|}{|\{q : |r_q| \ge p\}|}

    with :math:`r_q(p)` the document at rank p of run r for the training query q.

    Attributes
    ----------
    estimates_ : list of ndarray
        Probability of relevance at each rank, for each run.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents.

    References
    ----------
    [Lillis2010]_, section 4.

    Examples
    --------
    >>> from skrank.aggregation import PosFuse
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> PosFuse().fit(runs, {"q": {"b": 1}}).aggregate(runs)
    {'q': {'b': 2.0, 'c': 0.0, 'a': 0.0}}
    """

    short_name: ClassVar[str] = "posfuse"

    def _estimate(self, lists: HitLists) -> np.ndarray:
        longest = int(lists.lengths.max(initial=0))
        hits = np.bincount(lists.ranks, minlength=longest + 1)[1:]
        lengths = np.bincount(lists.lengths, minlength=longest + 1)
        # Lists that reach a rank, for each rank.
        return hits / np.cumsum(lengths[::-1])[::-1][1:]

    def _values(self, learned: np.ndarray, ranks, sizes) -> np.ndarray:
        padded = np.append(learned, 0.0)
        return padded[np.minimum(ranks - 1, len(learned))]


class SlideFuse(PosFuse):
    r"""Sum over the runs of the probability of relevance around the rank of a document.

    .. math::

       s(d) = \sum_{r \ni d} \frac{1}{b - a + 1} \sum_{p=a}^{b} P_r(p)

    with the probabilities :math:`P_r` of `PosFuse`, and the window from :math:`a =
    \max(\pi_r(d) - w, 1)` to :math:`b = \min(\pi_r(d) + w, |r|)`.

    Parameters
    ----------
    window : int, default=5
        Number of ranks w on either side.

    Attributes
    ----------
    estimates_ : list of ndarray
        Probability of relevance at each rank, for each run.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents.

    References
    ----------
    [Lillis2008]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import SlideFuse
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> SlideFuse(window=1).fit(runs, {"q": {"b": 1}}).aggregate(runs)
    {'q': {'b': 1.0, 'c': 0.5, 'a': 0.5}}
    """

    short_name: ClassVar[str] = "slidefuse"

    window: NonNegativeInt = 5

    def _values(self, learned: np.ndarray, ranks, sizes) -> np.ndarray:
        first = np.maximum(ranks - 1 - self.window, 0)
        behind = np.minimum(ranks + self.window, sizes)
        sums = np.append(0.0, np.cumsum(learned))
        last = len(learned)
        total = sums[np.minimum(behind, last)] - sums[np.minimum(first, last)]
        return total / (behind - first)


class ProbFuse(BasePositionFusion):
    r"""Sum over the runs of the probability of relevance in the segment of a document.

    Every list is cut into segments of equal length:

    .. math::

       s(d) = \sum_{r \ni d} \frac{P_r(k_r(d))}{k_r(d)}

    with :math:`k_r(d)` the number of the segment that holds d, counted from 1, and
    :math:`P_r(k)` the share of relevant documents in segment k, averaged over the
    training queries.

    Parameters
    ----------
    n_segments : int, default=25
        Number of segments of a list, at most a million.

    Attributes
    ----------
    estimates_ : list of ndarray of shape (n_segments,)
        Probability of relevance in each segment, for each run.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents.

    References
    ----------
    [Lillis2006]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import ProbFuse
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> ProbFuse(n_segments=2).fit(runs, {"q": {"b": 1}}).aggregate(runs)
    {'q': {'b': 1.5, 'c': 0.0, 'a': 0.0}}
    """

    short_name: ClassVar[str] = "probfuse"

    n_segments: Annotated[int, Interval(1, 1_000_000)] = 25

    def _segments(self, ranks, sizes) -> tuple[np.ndarray, np.ndarray]:
        """Return the segment of each rank, counted from 0, and its length."""
        length = -(-sizes // self.n_segments)
        segment = (ranks - 1) // length
        return segment, np.minimum(length, sizes - segment * length)

    def _estimate(self, lists: HitLists) -> np.ndarray:
        segment, length = self._segments(lists.ranks, lists.sizes)
        # In the order of the lengths, so that the order of the queries does not matter.
        order = np.lexsort((length, segment))
        parts = 1.0 / length[order]
        shares = np.bincount(segment[order], parts, minlength=self.n_segments)
        return shares / len(lists.lengths)

    def _values(self, learned: np.ndarray, ranks, sizes) -> np.ndarray:
        segment, _ = self._segments(ranks, sizes)
        return learned[segment] / (segment + 1)


class BayesFuse(BasePositionFusion):
    r"""Sum over the runs of the log-odds of relevance at the rank of a document.

    .. math::

       s(d) = \sum_r \log \frac{P_r(\pi_r(d))}{1 - P_r(\pi_r(d))}

    with :math:`P_r` the precision of run r in the training queries between the ranks 0,
    5, 10, 15, 20, 30, 100, 200, 500 and 1000 of trec_eval: the mean number of relevant
    documents between two of these, divided by their distance, even where lists end
    before. A probability of 0.001 stands in place of 0, below rank 1000 and for
    documents that a run lacks; a probability of 1 has the odds 1 : 0.001.

    Attributes
    ----------
    estimates_ : list of ndarray of shape (9,)
        Log-odds of relevance between these ranks, for each run.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents.

    References
    ----------
    [Aslam2001]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import BayesFuse
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> list(BayesFuse().fit(runs, {"q": {"b": 1}}).aggregate(runs)["q"])
    ['b', 'c', 'a']
    """

    short_name: ClassVar[str] = "bayesfuse"

    _bounds: ClassVar = np.array([0, 5, 10, 15, 20, 30, 100, 200, 500, 1000])
    _missing: ClassVar[float] = float(np.log(0.001 / 0.999))

    def _estimate(self, lists: HitLists) -> np.ndarray:
        p = lists.mean_precisions(np.append(self._bounds, np.inf))[:-1]
        p = np.where(p == 0, 0.001, p)
        return np.log(p / np.where(p == 1, 0.001, 1.0 - p))

    def _values(self, learned: np.ndarray, ranks, sizes) -> np.ndarray:
        padded = np.append(learned, self._missing)
        return padded[np.searchsorted(self._bounds, ranks - 1, "right") - 1]
