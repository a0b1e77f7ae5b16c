"""The objective of searches without gradients: the exact mean of a measure."""

from typing import Any

import numpy as np

from skrank._core import _measures
from skrank._core._informative import warn_of_data
from skrank._core._parameters import invalid_parameter
from skrank._rows import GroupedRows
from skrank.metrics import BaseMeasure, query_weights
from skrank.metrics._registry import MeasureLike, measure_at_worst

# What the value at equal scores tells of the constant of a query, beyond rounding.
_CONSTANT = 1e-9
# Treatments of equal scores that no order of rows can profit from.
_FAIR = ("average", "worst", "threshold")


def measure_to_maximise(owner: Any, measure: MeasureLike) -> BaseMeasure:
    """Return a measure that a search can optimise, or raise an error.

    Parameters
    ----------
    owner : object
        Estimator with the parameter ``measure``.
    measure : str, BaseMeasure or callable
        The measure.

    Returns
    -------
    BaseMeasure
        A measure of rankings. A function, which may break ties by the order of the
        rows, sees the least relevant of documents of equal score first.

    Raises
    ------
    InvalidParameterError
        If it depends on the scores themselves, or if a ranker could profit from the
        order of the rows by making scores equal.
    """
    chosen = measure_at_worst(measure)
    if not chosen.has_swap_deltas:
        accepted = "a measure of rankings such as 'ndcg@10' or 'map'"
        raise invalid_parameter(owner, "measure", accepted, measure)
    if getattr(chosen, "ties", "average") not in _FAIR:
        accepted = (
            f"a measure whose ties is one of {', '.join(_FAIR)}, so that equal scores "
            "do not count as the order of the rows"
        )
        raise invalid_parameter(owner, "measure", accepted, measure)
    return chosen


class ExactMeasure:
    r"""The mean of a measure over queries, with the scores as its argument.

    .. math:: M(s) = \frac{1}{W} \sum_q w_q\, M(s_q, y_q)

    over the queries that carry information. Documents of equal score count with the
    mean over their orders, unless the measure itself says otherwise, so that nothing
    is won by scores that are equal. Values are those of kernels where the measure has
    `DeltaTerms`, and of `BaseMeasure.per_query` otherwise.

    Parameters
    ----------
    measure : BaseMeasure
        As returned by `measure_to_maximise`.
    data : GroupedRows
        Graded rows.
    n_threads : int
        Number of threads. Results do not depend on it.

    Attributes
    ----------
    sign : int
        1 if greater values are better, -1 otherwise.
    weight : ndarray of shape (n_queries,)
        Weight of each query in the mean; they sum to 1, or to 0 where no query carries
        information.
    """

    def __init__(self, measure: BaseMeasure, data: GroupedRows, n_threads: int):
        self.measure, self.n_threads = measure, n_threads
        self.y = np.ascontiguousarray(data.y, dtype=np.float64)
        self.ptr = data.ptr
        self.sign = measure.sign
        equal = np.zeros(data.n_documents)
        at_equal = measure.per_query(self.y, equal, self.ptr, n_threads=n_threads)
        self.defined = ~np.isnan(at_equal)
        given = query_weights(data.sample_weight, data.ptr)
        weight = np.ones(data.n_queries) if given is None else given.copy()
        weight[~self.defined] = 0.0
        largest = weight.max(initial=0.0)
        weight = weight / largest if largest > 0.0 else weight
        self.weight = weight / weight.sum() if largest > 0.0 else weight
        terms = None
        if getattr(measure, "ties", "average") == "average":
            terms = measure.delta_terms(self.y, self.ptr)
        self._terms: tuple[int, np.ndarray, np.ndarray, np.ndarray] | None = None
        if terms is not None:
            self._terms = _kernel_arguments(terms, self.ptr)
        self.constant = np.zeros(data.n_queries)
        if self._terms is not None:
            constant = np.where(self.defined, at_equal - self.values(equal), 0.0)
            self.constant[np.abs(constant) > _CONSTANT] = constant[
                np.abs(constant) > _CONSTANT
            ]
        if data.has_preference().any() and self.mean(self.y) == self.mean(-self.y):
            warn_of_data(
                f"{measure.name} is the same for the best and for the worst ranking of "
                "these data, although grades differ, so that nothing is learned; check "
                "its cut-off, its relevance level, its gain and the weights"
            )

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the value of each query; 0 where it carries no information.

        Parameters
        ----------
        scores : ndarray of shape (n_documents,)
            Finite scores.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        if self._terms is None:
            values = self.measure.per_query(
                self.y, scores, self.ptr, n_threads=self.n_threads
            )
            return np.where(self.defined, values, 0.0)
        found = _measures.exact_values(
            scores, self.ptr, *self._terms, self.weight, self.n_threads
        )
        return found + self.constant

    def mean(self, scores: np.ndarray) -> float:
        """Return the weighted mean over queries; 0 if none carries information."""
        return float(self.weight @ self.values(scores))

    def loss(self, mean: float) -> float:
        """Return by how much a mean misses the best value, or its negative.

        The latter is the case for measures such as DCG whose values have no bound.
        """
        best = self.measure.bounds[1 if self.sign > 0 else 0]
        return self.sign * ((best if np.isfinite(best) else 0.0) - mean)

    def order(self, scores: np.ndarray) -> np.ndarray:
        """Return the rows of each query, counted from its first, by falling score."""
        order = _measures.rank_rows(scores, None, self.ptr, self.n_threads)
        first = np.repeat(self.ptr[:-1], np.diff(self.ptr))
        return (order - first).astype(np.int32)

    def on_grid(
        self, scores: np.ndarray, direction: np.ndarray, order: np.ndarray, steps
    ) -> np.ndarray:
        """Return the mean at ``scores + step * direction`` for each step.

        Parameters
        ----------
        scores, direction : ndarray of shape (n_documents,)
            Scores, and what a step of 1 adds to them.
        order : ndarray of shape (n_documents,)
            The order of the scores.
        steps : ndarray of shape (n_steps,)
            Ascending steps, of which one is 0.

        Returns
        -------
        ndarray of shape (n_steps,)
        """
        if self._terms is None:
            return np.array([self.mean(scores + step * direction) for step in steps])
        zero = int(np.flatnonzero(steps == 0.0)[0])
        sums = _measures.exact_values_on_grid(
            scores,
            direction,
            order,
            steps,
            zero,
            self.ptr,
            *self._terms,
            self.weight,
            self.n_threads,
        )
        return sums + float(self.weight @ self.constant)

    @property
    def has_exact_lines(self) -> bool:
        """Whether `best_on_line` works: the measure has `DeltaTerms`."""
        return self._terms is not None

    def best_on_line(
        self, scores: np.ndarray, direction: np.ndarray, width: float = 1e-9
    ) -> tuple[float, float]:
        """Return the best mean along a line, and a step that reaches it.

        Complexity: O(m² log m) for each query of m documents.

        Parameters
        ----------
        scores, direction : ndarray of shape (n_documents,)
            Scores, and what a step of 1 adds to them.
        width : float, default=1e-9
            Angle up to which a part of the line is too narrow to count.

        Returns
        -------
        mean : float
            The best mean; -inf times the sign where every part is too narrow.
        step : float
            The middle, as an angle, of the widest part of the line that has it.
        """
        assert self._terms is not None
        value, begin, end = _measures.best_on_line(
            scores,
            direction,
            width,
            self.ptr,
            *self._terms,
            self.sign * self.weight,
            self.n_threads,
        )
        step = float(np.tan(0.5 * (np.arctan(begin) + np.arctan(end))))
        return self.sign * value + float(self.weight @ self.constant), step


def _kernel_arguments(terms, ptr) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arguments of the kernels that say what the measure is."""
    counted = np.flatnonzero(terms.discount)
    n = counted[-1] + 1 if len(counted) else 0
    return (
        _measures.KINDS.index(terms.kind),
        np.ascontiguousarray(terms.gain, dtype=np.float64),
        np.ascontiguousarray(terms.discount[:n], dtype=np.float64),
        np.ascontiguousarray(np.broadcast_to(terms.scale, len(ptr) - 1), dtype=float),
    )
