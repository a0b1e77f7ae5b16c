"""Local Kemenisation of an order."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from skrank._core._choices import kendall_distance, local_kemeny
from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._borda import Borda
from skrank.aggregation._joined import JoinedRuns, best_first
from skrank.aggregation._judgements import Judgements
from skrank.aggregation._votes import (
    BaseVotingAggregator,
    local_order,
    scores_of_order,
)


class LocalKemeny(BaseVotingAggregator):
    r"""Order of another aggregator, in which no two neighbours contradict a majority.

    The documents are inserted one after the other behind those before them, and move up
    as long as a majority prefers them to the one before:

    .. math::

       \sum_{r : \pi_r(e) < \pi_r(d)} w_r \le \sum_{r : \pi_r(d) < \pi_r(e)} w_r
       \quad \text{for neighbours } d, e

    Every move lowers Kendall's distance from the runs. If every document of a set beats
    every one outside of it, the set comes first (the extended Condorcet criterion).

    Parameters
    ----------
    initial : BaseAggregator, default=None
        Aggregator that gives the order to begin with; None takes `Borda` with the
        weights and with what ``missing`` says: its "average" for "last", and its "skip"
        for "skip".

    Attributes
    ----------
    distance_ : ndarray of shape (n_queries,)
        Weighted number of disagreements of the order with the runs, after `fit`.
    initial_ : BaseAggregator
        The fitted aggregator of the order to begin with, after `fit`, if there is one.
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Scores are m, m − 1, … 1 for m documents.
    Complexity: O(n_runs m²) for m documents of a query, and O(n_runs m) if the order to
    begin with is nearly one that is locally best.

    References
    ----------
    [Dwork2001]_, sections 2 and 3.

    Examples
    --------
    >>> from skrank.aggregation import LocalKemeny, MC4
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"b": 3, "c": 2, "a": 1}}]
    >>> runs += [{"q": {"a": 3, "c": 2, "b": 1}}]
    >>> LocalKemeny(initial=MC4()).aggregate(runs)
    {'q': {'a': 3.0, 'b': 2.0, 'c': 1.0}}
    """

    short_name: ClassVar[str] = "local_kemeny"

    initial: BaseAggregator | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"initial": Borda(missing="zero")}]

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        vars(self).pop("initial_", None)
        if self.initial is not None:
            self.initial_ = clone(self.initial)
            self.initial_._learn_from(joined, judgements)
        joined = joined.retrieved_only()
        self.distance_ = kendall_distance(
            *self._voters(joined), self._order(joined), joined.ptr
        )

    def _needs_fit(self) -> bool:
        return isinstance(self.initial, BaseAggregator) and self.initial._needs_fit()

    def _check_runs(self, joined: JoinedRuns) -> None:
        super()._check_runs(joined)
        if self.initial is not None:
            self.initial._check_runs(joined)

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return scores_of_order(self._order(joined), joined.ptr)

    def _order(self, joined: JoinedRuns) -> np.ndarray:
        initial = vars(self).get("initial_", self.initial)
        if initial is None:
            order = self._borda_order(joined)
        else:
            scores = initial._fused(joined)
            order = best_first(scores, joined.ptr, joined.docids, n_jobs=self.n_jobs)
            order = local_order(order, joined.ptr)
        return local_kemeny(
            *self._voters(joined),
            order,
            joined.ptr,
            self._threads(joined),
        )
