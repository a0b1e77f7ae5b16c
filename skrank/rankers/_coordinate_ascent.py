"""Coordinate ascent on a measure."""

from dataclasses import field
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import NonNegative, Positive, PositiveInt
from skrank._core._threads import effective_n_threads, n_threads_for
from skrank._rows import GroupedRows
from skrank.energies import LinearEnergy
from skrank.metrics._registry import MeasureLike
from skrank.rankers._exact_measure import ExactMeasure, measure_to_maximise
from skrank.rankers._iterations import (
    BaseIterativeRanker,
    EarlyStoppingMixin,
    ThreadsMixin,
)
from skrank.rankers._scaled_columns import ScaledColumns

# What a pass that fails leaves as it was.
_STATE = ("weights", "coef", "scores", "mean", "loss", "order")
# What rounding alone may change in a mean.
_NOTHING = 1e-12


class CoordinateAscent(EarlyStoppingMixin, ThreadsMixin, BaseIterativeRanker):
    r"""Coordinate ascent: the measure itself, one weight of a linear ranker at a time.

    .. math:: w_j \leftarrow \arg\max_{w_j} \frac{1}{W} \sum_q w_q\, M(X_q w, y_q),
              \qquad w \leftarrow w / \lVert w \rVert_1

    Along one coordinate, scores are :math:`a + t x_j`, and the measure is piecewise
    constant in the step t: it changes only where two documents of a query change
    places. A pass goes over all coordinates in random order and takes each step that
    makes the measure better. A start ends with the pass that gains less than ``tol``,
    and the best of all starts is kept: by validation queries where there are any.

    Documents of equal score count with the mean over their orders, so that nothing is
    won by making scores equal. Steps are counted in units of the spread of a feature
    within queries, to a power of two, so that scaling a feature by one changes
    nothing; features that are constant within every query have the weight 0.

    Complexity: a line takes O(n + c) on the grid for n documents, besides the n of
    each step, where c counts the pairs of documents that change places; exactly, it
    takes O(m log m) for each of the m documents of a query, and memory for all places
    at which the measure changes.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure to maximise, or to minimise if smaller values are better. It must
        depend on the ranking only.
    n_restarts : int, default=5
        Number of starts.
    start : {"uniform", "random"}, default="uniform"
        Weights to start from: all equal, so that starts differ by the order of the
        coordinates; or random for every start but the first.
    line_search : {"grid", "exact"}, default="grid"
        Whether to try ``n_steps`` steps to each side, and the one that makes the weight
        0, or to find the best of all steps. The exact search needs a measure with
        `DeltaTerms`; it goes to the middle of the widest part of the line that has the
        best value.
    n_steps : int, default=25
        Number of steps of the grid to each side.
    first_step : float, default=0.001
        Length s of the shortest step, relative to the sum of all weights.
    step_factor : float, default=2.0
        Factor b by which steps grow: they are :math:`s, s + sb, s + sb + sb^2, \dots`
    tol : float, default=0.001
        Gain of the measure in one pass below which a start ends.
    max_iter : int, default=100
        Number of passes of each start at most.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.
    callback : callable or sequence of callables, default=None
        Function that is called before the first pass and after each one with a dict of
        ``iteration`` (0 before the first), ``objective``, ``descends`` (True: it is
        meant to fall), ``params`` (the current weights) and, where there are validation
        queries, ``evals`` (the value of each measure, by the names of the set and of
        the measure) and ``validation`` (the value that decides). If it returns True,
        training stops. Of several functions all are called.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Constant of the scores; always 0.
    n_iter_ : int
        Number of passes of the start that was kept.
    best_iteration_ : int
        Pass whose weights were kept.
    loss_curve_ : ndarray of shape (n_iterations,)
        What the measure missed to its best value after each pass; for a measure without
        a best value, such as DCG, its negative.
    validation_curve_ : ndarray
        Validation measure after each pass, if there were validation queries.

    References
    ----------
    [Metzler2007]_, section 3.2; the grid is that of RankLib.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import CoordinateAscent
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = CoordinateAscent("map", random_state=0).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "listwise"

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    n_restarts: PositiveInt = 5
    start: Literal["uniform", "random"] = "uniform"
    line_search: Literal["grid", "exact"] = "grid"
    n_steps: PositiveInt = 25
    first_step: Positive = 0.001
    step_factor: Positive = 2.0
    tol: NonNegative = 0.001
    max_iter: PositiveInt = 100

    @classmethod
    def _variants(cls):
        return [
            {"n_restarts": 2},
            {"n_restarts": 2, "line_search": "exact", "start": "random"},
            {"measure": "map", "n_restarts": 1, "n_steps": 10, "step_factor": 3.0},
            {"measure": "mrr", "n_restarts": 1, "line_search": "exact"},
        ]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        measure = measure_to_maximise(self, self.measure)
        rng = check_random_state(self.random_state)
        data, validation = self._hold_out(data, validation, rng)
        # A step of the grid takes about 2 ns for each row.
        work = 4.0 * self.n_steps * data.n_documents
        n_threads = n_threads_for(work, effective_n_threads(self.n_jobs))
        exact = ExactMeasure(measure, data, n_threads)
        if self.line_search == "exact" and not exact.has_exact_lines:
            raise ValueError(
                f"CoordinateAscent: line_search='exact' needs a measure with "
                f"DeltaTerms and ties='average', which {measure.name!r} is not; use "
                "line_search='grid'"
            )

        def scores_of(coef, rows):
            return self._scores_at(coef, rows.X)

        search, ended = _Search(self, data, exact), []
        for number in range(self.n_restarts):
            monitor = self._monitor(data, validation, scores_of)
            search.begin(self._start(number, rng))
            curve = self._climb(search, monitor, rng)
            ended.append((monitor, curve, search.coef))
        monitor, curve, coef = min(ended, key=_badness)
        self._store_progress(monitor, len(curve), curve)
        best = monitor.best_state
        self.coef_ = coef if best is None else np.array(best)
        self.intercept_ = 0.0

    def _start(self, number, rng) -> np.ndarray:
        """Return the weights that a start begins with."""
        if number == 0 or self.start == "uniform":
            return np.ones(self.n_features_in_)
        return rng.uniform(-1.0, 1.0, self.n_features_in_)

    def _climb(self, search, monitor, rng) -> list[float]:
        """Make the passes of one start; return the loss after each of them."""
        monitor.start(search.coef, search.loss)
        curve: list[float] = []
        for _ in range(self.max_iter):
            before = search.loss
            search.sweep(rng)
            curve.append(search.loss)
            stop = monitor.needed and monitor(search.coef, len(curve), search.loss)
            if stop or before - search.loss < max(self.tol, _NOTHING):
                break
        return curve

    def _scores_at(self, coef, X) -> np.ndarray:
        return LinearEnergy(n_jobs=self.n_jobs).scores(coef, X)

    def _predict(self, X) -> np.ndarray:
        return np.asarray(self._scores_at(self.coef_, X), dtype=np.float64)


def _badness(ended) -> float:
    """Return what is the least for the best start: by validation, or else its loss."""
    monitor, curve, _ = ended
    return -monitor.best if np.isfinite(monitor.best) else curve[-1]


class _Search:
    """Weights of features in units of their spreads, and steps along one of them.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Weights of the features as they are.
    loss : float
        What the measure misses to its best value.
    """

    def __init__(self, ranker, data, exact):
        self.ranker, self.data, self.exact = ranker, data, exact
        self.n_features = data.X.shape[1]
        self.columns = ScaledColumns(data.X, data.ptr)
        self.coef = np.zeros(self.n_features)
        growing = ranker.step_factor ** np.arange(ranker.n_steps)
        sizes = ranker.first_step * np.cumsum(growing)
        sizes = sizes[np.isfinite(sizes)]
        self.steps = np.concatenate([-sizes[::-1], [0.0], sizes])

    def begin(self, weights) -> None:
        """Start from weights, those of features without any spread left out."""
        weights = np.where(self.columns.used, weights, 0.0)
        size = np.abs(weights).sum()
        self._move_to(weights / size if size > 0.0 else weights)

    def _move_to(self, weights) -> None:
        self.weights = weights
        self.coef = np.ldexp(weights, self.columns.powers)
        self.scores = self.ranker._scores_at(self.coef, self.data.X)
        self.mean = self.exact.mean(self.scores)
        self.loss = self.exact.loss(self.mean)
        self.order = self.exact.order(self.scores)

    def sweep(self, rng) -> None:
        """Go over all coordinates in random order."""
        before = {name: vars(self)[name] for name in _STATE}
        for j in rng.permutation(self.n_features):
            if self.columns.used[j]:
                self._along(j)
        size = np.abs(self.weights).sum()
        if self.weights is before["weights"]:
            return
        if size > 0.0 and np.isfinite(size):
            self._move_to(self.weights / size)
            if self.loss < before["loss"] - _NOTHING:
                return
        # The scores of the new weights, computed afresh, round in another way.
        vars(self).update(before)

    def _along(self, j) -> None:
        """Take the best step along one coordinate, if it is better than none."""
        column = self.columns[j]
        step, mean = self._best_step(column, self.weights[j])
        if self.exact.sign * (mean - self.mean) <= _NOTHING:
            return
        scores = self.scores + step * column
        if self.ranker.line_search == "exact":
            # Rounding may bring documents out of a very narrow part of the line.
            mean = self.exact.mean(scores)
            if self.exact.sign * (mean - self.mean) <= _NOTHING:
                return
        self.weights = self.weights.copy()
        self.weights[j] += step
        self.scores, self.mean = scores, mean
        self.order = self.exact.order(scores)

    def _best_step(self, column, weight) -> tuple[float, float]:
        exact = self.exact
        if self.ranker.line_search == "exact":
            mean, step = exact.best_on_line(self.scores, column)
            return step, mean
        # The sum of the sizes of the weights becomes 1 again at the end of the pass.
        steps = self.steps * np.abs(self.weights).sum()
        if weight != 0.0 and -weight not in steps:
            place = np.searchsorted(steps, -weight)
            steps = np.concatenate([steps[:place], [-weight], steps[place:]])
        means = exact.sign * exact.on_grid(self.scores, column, self.order, steps)
        if np.isnan(means).any():
            raise ValueError(
                "CoordinateAscent: measure is NaN for all queries at some scores and a "
                "number at others, so that it cannot be maximised"
            )
        # Of equal values the shortest step counts, and of two of the same length that
        # to the right.
        best = np.flatnonzero(means >= means.max() - _NOTHING)
        chosen = best[np.lexsort((-steps[best], np.abs(steps[best])))[0]]
        return float(steps[chosen]), float(exact.sign * means[chosen])
