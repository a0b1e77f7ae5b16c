"""Fusion with weights of the runs that are learned from judged queries."""

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from skrank._core._finite import quiet
from skrank._core._parameters import NonNegative, PositiveInt, invalid_parameter
from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._borda import Borda
from skrank.aggregation._comb import CombSUM
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._judgements import (
    JudgedDocuments,
    Judgements,
    measured_runs,
)
from skrank.metrics import BaseMeasure, get_measure
from skrank.metrics._registry import MeasureLike

# Factors that the line search tries for a weight.
_FACTORS = (0.0, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0)


class WeightedFusion(BaseAggregator):
    r"""Aggregator whose weights are chosen by a measure on judged queries.

    .. math::

       w = \arg\max_w M\Bigl(\sum_r w_r\, s_r\Bigr)

    for a measure M such as NDCG and, in place of the weighted sum, any aggregator that
    has weights.

    Parameters
    ----------
    aggregator : BaseAggregator, default=None
        Aggregator with a parameter ``weights``; None takes `CombSUM`.
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure of the training queries.
    search : {"line", "none"}, default="line"
        Way to the weights: "none" takes the measures of the single runs, to some power;
        "line" begins with these weights and changes one of them at a time as long as
        the measure of the fused ranking rises.
    power : float, default=1.0
        Power of the measures of the single runs.
    max_iter : int, default=10
        Maximum number of times that the line search goes through all weights.

    Attributes
    ----------
    weights_ : ndarray of shape (n_runs,)
        Weights, which sum to 1.
    aggregator_ : BaseAggregator
        The aggregator with these weights.
    train_value_ : float
        Measure of the fused ranking of the training queries.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    The measure of the training queries never falls in the search.
    Complexity: up to 8 aggregations for each run and each time through all weights.

    References
    ----------
    [Vogt1999]_ and [Wu2002]_ for weights by performance; [Metzler2007]_, section 4.1,
    for the line search.

    Examples
    --------
    >>> from skrank.aggregation import WeightedFusion
    >>> good = {"q1": {"a": 3.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}
    >>> bad = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"a": 5.0, "b": 2.0}}
    >>> fusion = WeightedFusion().fit([good, bad], {"q1": {"a": 1}, "q2": {"b": 1}})
    >>> fusion.train_value_
    1.0
    >>> bool(fusion.weights_[0] > fusion.weights_[1])
    True
    """

    short_name: ClassVar[str] = "weighted"
    learns: ClassVar[bool] = True

    aggregator: BaseAggregator | None = None
    measure: MeasureLike = "ndcg@10"
    search: Literal["line", "none"] = "line"
    power: NonNegative = 1.0
    max_iter: PositiveInt = 10

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"search": "none", "power": 2.0}, {"aggregator": Borda()}]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.aggregator is not None and not hasattr(self.aggregator, "weights"):
            raise invalid_parameter(
                self, "aggregator", "an aggregator that has weights", self.aggregator
            )

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        assert judgements is not None
        measure = get_measure(self.measure)
        values = measured_runs(joined, judgements, measure)
        # Where a smaller value is better, the best run has the greatest weight, too.
        if not measure.greater_is_better:
            values = values.max() + values.min() - values
        weights = self._powers(np.maximum(values, 0.0))
        search = _LineSearch(self, joined, JudgedDocuments(joined, judgements), measure)
        weights = weights / weights.sum()
        value = search.evaluate(weights)
        if self.search == "line":
            weights, value = search.run(weights, value, self.max_iter)
        self.weights_, self.train_value_ = weights, value
        self.aggregator_ = search.aggregator(weights)

    def _powers(self, values: np.ndarray) -> np.ndarray:
        if not values.any():  # all runs are equally bad
            return np.ones(len(values))
        with quiet():
            weights = values**self.power
        if 0.0 < weights.sum() < np.inf:
            return weights
        # Of parts of the greatest value, no power is beyond the range of numbers.
        return (values / values.max()) ** self.power

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return self.aggregator_._fused(joined)


class _LineSearch:
    """Search of weights, one at a time.

    Parameters
    ----------
    owner : WeightedFusion
        Source of the parameters.
    joined : JoinedRuns
        Runs.
    documents : JudgedDocuments
        Their judged queries.
    measure : BaseMeasure
        Measure to improve.
    """

    def __init__(
        self,
        owner: WeightedFusion,
        joined: JoinedRuns,
        documents: JudgedDocuments,
        measure: BaseMeasure,
    ):
        self._prototype = CombSUM() if owner.aggregator is None else owner.aggregator
        self._joined, self._documents, self._measure = joined, documents, measure

    def aggregator(self, weights: np.ndarray) -> BaseAggregator:
        """Return an aggregator with these weights."""
        return clone(self._prototype).set_params(weights=weights.tolist())

    def evaluate(self, weights: np.ndarray) -> float:
        """Return the measure of the training queries."""
        scores = self.aggregator(weights)._fused(self._joined)
        return self._documents.measure(self._measure, scores)

    def run(
        self, weights: np.ndarray, value: float, max_iter: int
    ) -> tuple[np.ndarray, float]:
        """Return better weights, and the measure that they reach."""
        for _ in range(max_iter):
            before = value
            for run in range(len(weights)):
                weights, value = self._improved(weights, value, run)
            if not self._measure.is_better(value, before):
                break
        return weights, value

    def _improved(self, weights, value, run) -> tuple[np.ndarray, float]:
        # A weight of 0 comes back as a part of the mean weight.
        base = weights[run] or 1.0 / len(weights)
        best = weights, value
        for factor in _FACTORS:
            tried = weights.copy()
            tried[run] = factor * base
            if not tried.any():
                continue
            tried /= tried.sum()
            found = self.evaluate(tried)
            if self._measure.is_better(found, best[1]):
                best = tried, found
        return best
