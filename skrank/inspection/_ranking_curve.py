"""Curves of a measure over its cut-off."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    check_grades,
    check_scores,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank.inspection._axes import axes_or_new
from skrank.metrics import (
    BaseMeasure,
    bootstrap_interval,
    check_query_leakage,
    get_measure,
    query_weights,
)


class RankingCurveDisplay:
    r"""Curves of a measure over its cut-off, one for each ranker.

    .. math:: k \mapsto \frac{1}{\sum_q w_q} \sum_q w_q \, M@k(q)

    Make one with `from_estimators` or `from_predictions`; the constructor only holds
    data.

    Parameters
    ----------
    k : array-like of shape (n_cutoffs,)
        Cut-offs, increasing.
    curves : dict of str to array-like of shape (n_cutoffs,)
        Mean of the measure at each cut-off, by name of the ranker.
    measure_name : str
        Name of the measure without its cut-off.
    intervals : dict of str to array-like of shape (n_cutoffs, 2), default=None
        Ends of a confidence interval at each cut-off, by name of the ranker.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where `plot` drew.
    figure_ : matplotlib figure
        Its figure.
    lines_ : list of matplotlib lines
        One for each ranker.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import RankingCurveDisplay
    >>> from skrank.rankers import ListNet, RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> rankers = {"RankSVM": RankSVM(), "ListNet": ListNet()}
    >>> rankers = {name: r.fit(X, y, groups) for name, r in rankers.items()}
    >>> display = RankingCurveDisplay.from_estimators(rankers, X, y, groups)
    >>> [line.get_label() for line in display.lines_]
    ['RankSVM', 'ListNet']
    """

    def __init__(
        self,
        *,
        k: Iterable[int],
        curves: Mapping[str, Any],
        measure_name: str,
        intervals: Mapping[str, Any] | None = None,
    ):
        self.k = k
        self.curves = curves
        self.measure_name = measure_name
        self.intervals = intervals

    def plot(self, ax=None, **line_kw: Any) -> "RankingCurveDisplay":
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for every curve.

        Returns
        -------
        RankingCurveDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = axes_or_new(ax, "RankingCurveDisplay.plot")
        options = {"marker": "o", "markersize": 4, **line_kw}
        self.lines_ = []
        for name, curve in self.curves.items():
            (line,) = ax.plot(self.k, curve, label=name, **options)
            self.lines_.append(line)
            if self.intervals is not None:
                low, high = np.asarray(self.intervals[name]).T
                ax.fill_between(
                    self.k, low, high, color=line.get_color(), alpha=0.15, linewidth=0
                )
        ax.set_xlabel("Cut-off k")
        ax.set_ylabel(f"Mean {self.measure_name}@k")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X,
        y,
        groups=None,
        *,
        measure: str | BaseMeasure = "ndcg",
        k: Iterable[int] = range(1, 11),
        sample_weight=None,
        confidence: float | None = None,
        random_state=None,
        ax=None,
        **line_kw: Any,
    ) -> "RankingCurveDisplay":
        """Score data by fitted rankers and draw their curves.

        Parameters
        ----------
        estimators : dict of str to estimator
            Fitted rankers, or anything with ``predict``, by the name to show.
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. If None, the ids are read from a level named "qid"
            of the pandas index of ``y`` or ``X``.
        measure : str or BaseMeasure, default="ndcg"
            A measure with a cut-off, which is left open here.
        k : iterable of int, default=range(1, 11)
            Cut-offs, increasing.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; a query weighs as much as its documents on average.
        confidence : float, default=None
            Coverage of a bootstrap interval over queries, drawn as a band; None draws
            none. Takes no ``sample_weight``.
        random_state : int, RandomState or None, default=None
            Source of the bootstrap samples.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for every curve.

        Returns
        -------
        RankingCurveDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the measure takes no cut-off, or anything does not fit in length.
        """
        groups = resolve_groups(
            groups,
            y,
            X,
            n_samples=n_rows(X),
            caller="RankingCurveDisplay.from_estimators",
        )
        scores = {}
        for name, estimator in _named(estimators, "estimators").items():
            check_query_leakage(estimator, groups)
            scores[name] = estimator.predict(X)
        return cls.from_predictions(
            y,
            scores,
            groups,
            measure=measure,
            k=k,
            sample_weight=sample_weight,
            confidence=confidence,
            random_state=random_state,
            ax=ax,
            **line_kw,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_scores: Mapping[str, Any],
        groups=None,
        *,
        measure: str | BaseMeasure = "ndcg",
        k: Iterable[int] = range(1, 11),
        sample_weight=None,
        confidence: float | None = None,
        random_state=None,
        ax=None,
        **line_kw: Any,
    ) -> "RankingCurveDisplay":
        """Draw the curves of given scores.

        Complexity: O(n_documents n_cutoffs) for each ranker, beside the bootstrap.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Relevance grades.
        y_scores : dict of str to array-like of shape (n_documents,)
            Scores of each ranker, by the name to show.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. If None, the ids are read from a level named "qid"
            of the pandas index of ``y_true``.
        measure : str or BaseMeasure, default="ndcg"
            A measure with a cut-off, which is left open here.
        k : iterable of int, default=range(1, 11)
            Cut-offs, increasing.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; a query weighs as much as its documents on average.
        confidence : float, default=None
            Coverage of a bootstrap interval over queries, drawn as a band; None draws
            none. Takes no ``sample_weight``.
        random_state : int, RandomState or None, default=None
            Source of the bootstrap samples.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for every curve.

        Returns
        -------
        RankingCurveDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the measure takes no cut-off, or anything does not fit in length.
        """
        if confidence is not None and sample_weight is not None:
            raise ValueError("confidence is not available with sample_weight")
        measures = _at_cutoffs(measure, _check_cutoffs(k))
        judged = _Judged(y_true, groups, sample_weight)
        curves, intervals = {}, {}
        for name, y_score in _named(y_scores, "y_scores").items():
            values = judged.per_query(measures, y_score, name)
            curves[name] = judged.means(measures, values)
            if confidence is not None:
                intervals[name] = _band(values, confidence, random_state)
        display = cls(
            k=np.array([measure.k for measure in measures]),
            curves=curves,
            measure_name=clone(measures[0]).set_params(k=None).name,
            intervals=intervals or None,
        )
        return display.plot(ax, **line_kw)


class _Judged:
    """Grades grouped by query, for several measures and rankers."""

    def __init__(self, y_true, groups, sample_weight):
        y = check_grades(y_true, name="y_true")
        groups = resolve_groups(
            groups,
            y_true,
            n_samples=len(y),
            caller="RankingCurveDisplay.from_predictions",
        )
        self.index = QueryIndex.from_groups(groups)
        self.y = self.index.take(y)
        weight = self.index.take(check_weights(sample_weight, len(y)))
        self.weights = query_weights(weight, self.index.ptr)

    def per_query(self, measures, y_score, name):
        """Values of shape (n_queries, n_cutoffs)."""
        scores = check_scores(y_score, len(self.y), name=f"y_scores[{name!r}]")
        scores = self.index.take(scores)
        columns = [m.per_query(self.y, scores, self.index.ptr) for m in measures]
        return np.column_stack(columns)

    def means(self, measures, values):
        """Mean over queries at each cut-off."""
        columns = zip(measures, values.T)
        return np.array([m.mean(column, self.weights) for m, column in columns])


def _named(mapping, name):
    if not isinstance(mapping, Mapping):
        raise TypeError(
            f"{name} must be a dict from the name of each ranker, got "
            f"{type(mapping).__name__}"
        )
    if not mapping:
        raise ValueError(f"{name} is empty")
    return mapping


def _check_cutoffs(k):
    cutoffs = np.atleast_1d(np.asarray(list(k)))
    if cutoffs.dtype.kind not in "iu" or len(cutoffs) == 0:
        raise ValueError(f"k must hold integers, got {k!r}")
    if cutoffs[0] < 1 or (np.diff(cutoffs) <= 0).any():
        raise ValueError(f"k must hold increasing integers from 1 on, got {k!r}")
    return cutoffs


def _at_cutoffs(measure, cutoffs):
    """Return the measure at each cut-off."""
    measure = get_measure(measure)
    if "k" not in measure.get_params(deep=False):
        raise ValueError(
            f"measure {measure.name!r} has no cut-off k to draw a curve over"
        )
    if measure.k is not None:
        raise ValueError(
            f"measure {measure.name!r} has a cut-off already; leave it open and pass "
            "cut-offs as k"
        )
    return [clone(measure).set_params(k=int(k)) for k in cutoffs]


def _band(values, confidence, random_state):
    """Intervals of shape (n_cutoffs, 2) over the queries that have a value."""
    defined = ~np.isnan(values).any(axis=1)
    return bootstrap_interval(
        values[defined],
        confidence=confidence,
        n_resamples=2000,
        random_state=random_state,
    )
