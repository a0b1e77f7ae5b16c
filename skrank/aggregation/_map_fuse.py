"""MAPFuse: reciprocal ranks weighted by average precision."""

from typing import ClassVar

import numpy as np

from skrank._core._parameters import Positive
from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._judgements import Judgements, measured_runs
from skrank.aggregation._sums import sum_by_rank
from skrank.metrics import AP


class MAPFuse(BaseAggregator):
    r"""Sum of reciprocal ranks, weighted by the average precision of the runs.

    .. math::

       s(d) = \sum_{r \ni d} \frac{\mathrm{MAP}_r}{\pi_r(d)}

    with :math:`\mathrm{MAP}_r` the mean average precision of run r over the training
    queries.

    Parameters
    ----------
    relevance_level : float, default=1.0
        Smallest grade of a relevant document.

    Attributes
    ----------
    weights_ : ndarray of shape (n_runs,)
        Mean average precision of each run.
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
    >>> from skrank.aggregation import MAPFuse
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> MAPFuse().fit(runs, {"q": {"b": 1}}).aggregate(runs)
    {'q': {'b': 1.25, 'c': 0.5, 'a': 0.5}}
    """

    short_name: ClassVar[str] = "mapfuse"
    learns: ClassVar[bool] = True

    relevance_level: Positive = 1.0

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        assert judgements is not None
        measure = AP(relevance_level=self.relevance_level)
        self.weights_ = measured_runs(joined, judgements, measure)

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return sum_by_rank(joined, self.weights_, np.divide, self.n_jobs)
