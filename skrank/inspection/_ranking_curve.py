"""Curves of a measure over its cut-off."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from skrank._core._inner import check_predicts, scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, Seed
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_ids,
    check_options,
    check_scores,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank.inspection._axes import as_shaped, axes_or_new, check_display
from skrank.inspection._legends import place_legend
from skrank.inspection._texts import fit_title, in_legend
from skrank.metrics import (
    BaseMeasure,
    bootstrap_interval,
    check_query_leakage,
    get_measure,
    query_weights,
)
from skrank.metrics._evaluate import check_judgements


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
        Mean of the measure at each cut-off, by the name of the ranker.
    measure_name : str
        Name of the measure without its cut-off.
    greater_is_better : bool, default=True
        Direction of the measure; the axis says so if lower is better.
    intervals : dict of str to array-like of shape (n_cutoffs, 2), default=None
        Bounds of a confidence interval at each cut-off, by the name of the ranker.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    lines_ : list of matplotlib lines
        One line for each ranker.

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
        greater_is_better: bool = True,
        intervals: Mapping[str, Any] | None = None,
    ):
        self.k = k
        self.curves = curves
        self.measure_name = measure_name
        self.greater_is_better = greater_is_better
        self.intervals = intervals

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
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
        k, curves, intervals = self._checked()
        ax = axes_or_new(ax, "RankingCurveDisplay.plot")
        options = {"marker": "o", "markersize": 4, **line_kw}
        self.lines_ = []
        for name, curve in curves.items():
            (line,) = ax.plot(k, curve, label=in_legend(name), **options)
            self.lines_.append(line)
            if self.intervals is not None:
                low, high = intervals[name].T
                ax.fill_between(
                    k, low, high, color=line.get_color(), alpha=0.15, linewidth=0
                )
        ax.set_xlabel("Cut-off k")
        direction = "" if self.greater_is_better else " (lower is better)"
        fit_title(ax, ax.set_ylabel(f"Mean {self.measure_name}@k{direction}"))
        ax.xaxis.get_major_locator().set_params(integer=True)
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _checked(self):
        """Return the cut-offs, and curves and intervals by the names of rankers."""
        lengths: dict[str, int] = {}
        check_display(self)
        k = as_shaped(self.k, "k", ("n_cutoffs",), lengths)
        curves = {
            name: as_shaped(curve, f"curves[{name!r}]", ("n_cutoffs",), lengths)
            for name, curve in self.curves.items()
        }
        if self.intervals is not None and self.intervals.keys() != curves.keys():
            raise ValueError(
                f"intervals must have the names of curves, {list(curves)}, got "
                f"{list(self.intervals)}"
            )
        intervals = {
            name: as_shaped(ends, f"intervals[{name!r}]", ("n_cutoffs", 2), lengths)
            for name, ends in (self.intervals or {}).items()
        }
        return k, curves, intervals

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        measure: str | BaseMeasure | Callable = "ndcg",
        k: Iterable[int] = range(1, 11),
        sample_weight: npt.ArrayLike | None = None,
        confidence: Fraction | None = None,
        random_state: Seed = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Score documents by fitted rankers and draw the curves of the rankers.

        Parameters
        ----------
        estimators : dict of str to estimator
            Fitted rankers, pipelines, or anything with ``predict``, by the name to
            show; those that need groups are given them.
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. If None, the ids are read from a level named "qid"
            of the pandas index of ``y`` or ``X``.
        measure : str, BaseMeasure or callable, default="ndcg"
            A measure that takes a cut-off, which is left open here.
        k : iterable of int, default=range(1, 11)
            Cut-offs, increasing.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; the weight of a query is the mean weight of its documents.
        confidence : float, default=None
            Coverage of a bootstrap interval over queries, which is drawn as a band;
            None draws no band. Not available with ``sample_weight``.
        random_state : int, RandomState or None, default=None
            Source of the bootstrap samples.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for every curve.

        Returns
        -------
        RankingCurveDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the measure takes no cut-off, or lengths do not agree.
        """
        check_options(cls.from_estimators, locals())
        groups = resolve_groups(
            groups,
            y,
            X,
            n_samples=n_rows(X),
            caller="RankingCurveDisplay.from_estimators",
        )
        scores = {}
        for name, estimator in _named(estimators, "estimators").items():
            check_predicts(estimator, f"estimators[{shown(name)}]")
            check_query_leakage(estimator, groups)
            scores[name] = scores_of(estimator, X, groups, response_method="predict")
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
        y_true: npt.ArrayLike,
        y_scores: Mapping[str, npt.ArrayLike],
        groups: npt.ArrayLike | None = None,
        *,
        measure: str | BaseMeasure | Callable = "ndcg",
        k: Iterable[int] = range(1, 11),
        sample_weight: npt.ArrayLike | None = None,
        confidence: Fraction | None = None,
        random_state: Seed = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the curves of given scores.

        Complexity: O(n_documents n_cutoffs) for each ranker, besides the bootstrap.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Relevance grades.
        y_scores : dict of str to array-like of shape (n_documents,)
            Scores of each ranker, by the name to show.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. If None, the ids are read from a level named "qid"
            of the pandas index of ``y_true``.
        measure : str, BaseMeasure or callable, default="ndcg"
            A measure that takes a cut-off, which is left open here.
        k : iterable of int, default=range(1, 11)
            Cut-offs, increasing.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; the weight of a query is the mean weight of its documents.
        confidence : float, default=None
            Coverage of a bootstrap interval over queries, which is drawn as a band;
            None draws no band. Not available with ``sample_weight``.
        random_state : int, RandomState or None, default=None
            Source of the bootstrap samples.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for every curve.

        Returns
        -------
        RankingCurveDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the measure takes no cut-off, or lengths do not agree.
        """
        check_options(cls.from_predictions, locals())
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
            measure_name=_with_cutoff(measures[0], None).name,
            greater_is_better=measures[0].greater_is_better,
            intervals=intervals or None,
        )
        return display.plot(ax, **line_kw)


class _Judged:
    """Grades grouped by query, by which several rankers are judged."""

    def __init__(self, y_true, groups, sample_weight):
        y = check_judgements(y_true, name="y_true")
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

    def per_query(self, measures, y_score, name) -> np.ndarray:
        """Return the values of the measures, of shape (n_queries, n_cutoffs)."""
        scores = check_scores(y_score, len(self.y), name=f"y_scores[{shown(name)}]")
        scores = self.index.take(scores)
        columns = [m.per_query(self.y, scores, self.index.ptr) for m in measures]
        return np.column_stack(columns)

    def means(self, measures, values) -> np.ndarray:
        """Return the mean over queries at each cut-off."""
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
    cutoffs = as_ids(list(k), "k", "cut-off")
    if cutoffs.dtype.kind not in "iu" or len(cutoffs) == 0:
        raise ValueError(f"k must hold integers, got {shown(k)}")
    if cutoffs[0] < 1 or (np.diff(cutoffs) <= 0).any():
        raise ValueError(f"k must hold increasing integers from 1 on, got {shown(k)}")
    return cutoffs


def _at_cutoffs(measure, cutoffs):
    """Copies of the measure, one for each cut-off."""
    measure = get_measure(measure)
    takes_k = getattr(measure, "takes_cut_off", True)
    if "k" not in measure.get_params(deep=False) or not takes_k:
        raise ValueError(
            f"measure {measure.name!r} has no cut-off k to draw a curve over"
        )
    if measure.k is not None:
        raise ValueError(
            f"measure {measure.name!r} has a cut-off already; leave it open and pass "
            "cut-offs as k"
        )
    return [_with_cutoff(measure, int(k)) for k in cutoffs]


def _with_cutoff(measure, k) -> BaseMeasure:
    copy: Any = clone(measure)
    return copy.set_params(k=k)


def _band(values, confidence, random_state):
    """Bootstrap intervals of shape (n_cutoffs, 2)."""
    # Queries without a value would make every resampled mean NaN.
    defined = ~np.isnan(values).any(axis=1)
    return bootstrap_interval(
        values[defined],
        confidence=confidence,
        n_resamples=2000,
        random_state=random_state,
    )
