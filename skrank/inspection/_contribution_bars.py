"""Contributions to one score, or to the difference of two, drawn as bars."""

from typing import Any, Self

import numpy as np

from skrank._core._parameters import NonNegativeInt, PositiveInt
from skrank._core._validation import check_options
from skrank.inspection._axes import axes_or_new, check_display
from skrank.inspection._explanation import (
    Explanation,
    PreferenceExplanation,
    check_kind,
    check_place,
    text_of_value,
)
from skrank.inspection._importance import names_of
from skrank.inspection._texts import fit_parts, fit_title, name_ticks

LIFTS, LOWERS, OTHERS = "C0", "C1", "0.6"


class WaterfallDisplay:
    """How contributions lead from a base value to the score of one document.

    Bars follow each other from the base value at the bottom to the score at the top;
    the greatest contributions are drawn, and the sum of all others.

    Parameters
    ----------
    contributions : array-like of shape (n_features,)
        Contribution of each feature.
    base_value : float
        What the contributions are added to.
    data : array-like of shape (n_features,), default=None
        Values of the features, shown beside their names.
    feature_names : sequence of str, default=None
        Names of the features; None shows their numbers.
    max_features : int, default=10
        Number of features to draw.
    display_data : array-like of the shape of ``data``, default=None
        Values for people, which are shown in place of ``data``, such as names.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    bars_ : matplotlib container
        The bars from the bottom: the sum of the features that are not drawn, if there
        are any, and then the features, the greatest contribution last.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import WaterfallDisplay, shap_values
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, random_state=0).fit(X, y, groups)
    >>> explanation = shap_values(ranker, X, "query", groups)
    >>> display = WaterfallDisplay.from_explanation(explanation, 3, max_features=5)
    >>> len(display.bars_)
    6
    """

    def __init__(
        self,
        *,
        contributions: Any,
        base_value: float,
        data: Any = None,
        feature_names: Any = None,
        max_features: PositiveInt = 10,
        display_data: Any = None,
    ):
        self.contributions = contributions
        self.base_value = base_value
        self.data = data
        self.feature_names = feature_names
        self.max_features = max_features
        self.display_data = display_data

    def plot(self, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **bar_kw : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        WaterfallDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the data have other shapes, or numbers that cannot be drawn.
        """
        shape = ("n_features",)
        found = check_display(self, contributions=shape, data=shape, base_value=())
        values, base = found["contributions"], float(found["base_value"])
        names, texts = _labels(self, values.shape, found.get("data"))
        ax = axes_or_new(ax, "WaterfallDisplay.plot")
        bars = _greatest(values, names, texts, self.max_features)
        starts = base + np.concatenate([[0.0], np.cumsum(bars.values)])
        color = {"color": bars.colors()}
        places = np.arange(len(bars.values))
        self.bars_ = ax.barh(places, bars.values, left=starts[:-1], **color | bar_kw)
        for bar in self.bars_:
            bar.sticky_edges.x.clear()  # the first bar would begin at the frame
        ax.bar_label(self.bars_, [f"{value:+.3g}" for value in bars.values], padding=3)
        for place, end in enumerate(starts[1:-1]):
            ax.plot([end, end], [place + 0.4, place + 0.6], color="0.6", linewidth=1)
        ax.axvline(base, color="0.6", linestyle=":", linewidth=1, zorder=0)
        ax.axvline(starts[-1], color="0.6", linestyle="--", linewidth=1, zorder=0)
        ax.margins(x=0.2)
        room = name_ticks(ax, places, bars.names, bars.texts)
        title = f"Score, from {base:.3g} to {starts[-1]:.3g}"
        fit_title(ax, ax.set_xlabel(title), room)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        document: NonNegativeInt = 0,
        *,
        max_features: PositiveInt = 10,
        ax: Any = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the contributions to the score of one document.

        Parameters
        ----------
        explanation : Explanation
            What `shap_values` returned.
        document : int, default=0
            Row of the document in the explanation.
        max_features : int, default=10
            Number of features to draw.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **bar_kw : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        WaterfallDisplay
            The display, drawn.
        """
        check_options(cls.from_explanation, locals())
        check_kind(explanation, Explanation)
        row = check_place(document, "document", len(explanation.values))
        levels = explanation.display_data
        display = cls(
            contributions=explanation.values[row],
            base_value=float(explanation.base_values[row]),
            data=explanation.data[row],
            display_data=None if levels is None else levels[row],
            feature_names=explanation.feature_names,
            max_features=max_features,
        )
        return display.plot(ax, **bar_kw)


class PreferenceDisplay:
    """What speaks for one document and what for another, as bars to either side.

    Parameters
    ----------
    contributions : array-like of shape (n_features,)
        Contribution of each feature to the difference of the scores.
    data : array-like of shape (2, n_features), default=None
        Values of the features of the two documents, shown beside their names.
    feature_names : sequence of str, default=None
        Names of the features; None shows their numbers.
    documents : sequence of two objects, default=("a", "b")
        Names of the two documents.
    max_features : int, default=10
        Number of features to draw.
    display_data : array-like of the shape of ``data``, default=None
        Values for people, which are shown in place of ``data``, such as names.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    bars_ : matplotlib container
        The bars from the bottom: the sum of the features that are not drawn, if there
        are any, and then the features, the greatest contribution last.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import PreferenceDisplay, explain_preference
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> explanation = explain_preference(ranker, X, 0, 1)
    >>> display = PreferenceDisplay.from_explanation(explanation, max_features=5)
    >>> len(display.bars_)
    6
    """

    def __init__(
        self,
        *,
        contributions: Any,
        data: Any = None,
        feature_names: Any = None,
        documents: Any = ("a", "b"),
        max_features: PositiveInt = 10,
        display_data: Any = None,
    ):
        self.contributions = contributions
        self.data = data
        self.feature_names = feature_names
        self.documents = documents
        self.max_features = max_features
        self.display_data = display_data

    def plot(self, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **bar_kw : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        PreferenceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the data have other shapes, or numbers that cannot be drawn.
        """
        shape = ("n_features",)
        found = check_display(self, contributions=shape, data=(2, *shape))
        values = found["contributions"]
        first, second = names_of(self.documents, 2, "documents")
        names, texts = _labels(self, (2, *values.shape), found.get("data"))
        ax = axes_or_new(ax, "PreferenceDisplay.plot")
        bars = _greatest(values, names, texts, self.max_features)
        places = np.arange(len(bars.values))
        self.bars_ = ax.barh(places, bars.values, **{"color": bars.colors()} | bar_kw)
        ax.bar_label(self.bars_, [f"{value:+.3g}" for value in bars.values], padding=3)
        ax.axvline(0.0, color="0.3", linewidth=1)
        ax.margins(x=0.2)
        room = name_ticks(ax, places, bars.names, bars.texts)
        sides = f"← for {second}", f"for {first} →"
        middle = f"Difference {values.sum():+.3g}"
        fit_parts(ax, [sides[0], middle, sides[1]], " " * 6, room)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_explanation(
        cls,
        explanation: PreferenceExplanation,
        *,
        documents: Any = None,
        max_features: PositiveInt = 10,
        ax: Any = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the contributions to the difference of two scores.

        Parameters
        ----------
        explanation : PreferenceExplanation
            What `explain_preference` returned.
        documents : sequence of two objects, default=None
            Names of the documents; None takes the numbers of their rows.
        max_features : int, default=10
            Number of features to draw.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **bar_kw : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        PreferenceDisplay
            The display, drawn.
        """
        check_options(cls.from_explanation, locals())
        check_kind(explanation, PreferenceExplanation)
        if documents is None:
            documents = [f"row {row}" for row in explanation.documents]
        display = cls(
            contributions=explanation.values,
            data=explanation.data,
            display_data=explanation.display_data,
            feature_names=explanation.feature_names,
            documents=documents,
            max_features=max_features,
        )
        return display.plot(ax, **bar_kw)


class _Bars:
    """Contributions from the bottom to the top, with names and values of features."""

    def __init__(self, values, names, texts, n_others):
        self.values, self.names, self.texts = values, names, texts
        self.n_others = n_others

    def colors(self) -> list[str]:
        """Return the colour of each bar."""
        own = [LIFTS if value >= 0 else LOWERS for value in self.values]
        return [OTHERS, *own[1:]] if self.n_others else own


def _greatest(values, names, texts, max_features) -> _Bars:
    """Return the greatest contributions, and the sum of the others at the bottom."""
    order = np.lexsort((np.arange(len(values)), -np.abs(values)))
    chosen, rest = order[:max_features][::-1], order[max_features:]
    amounts = values[chosen]
    names, texts = [names[j] for j in chosen], [texts[j] for j in chosen]
    if len(rest):
        what = "1 other" if len(rest) == 1 else f"{len(rest)} others"
        amounts = np.append(values[rest].sum(), amounts)
        names, texts = [what, *names], [[], *texts]
    return _Bars(amounts, names, texts, len(rest))


def _labels(display, shape, data) -> tuple[list[str], list[list[str]]]:
    """Return the names of the features and the texts of their values, if known."""
    names = [str(name) for name in names_of(display.feature_names, shape[-1])]
    if display.display_data is not None:
        data = np.array(display.display_data, dtype=object)
        if data.shape != shape:
            raise ValueError(
                f"display_data must be an array of shape {shape}, got {data.shape}"
            )
    if data is None:
        return names, [[] for _ in names]
    columns = np.atleast_2d(data).T
    return names, [[text_of_value(v, 3) for v in column] for column in columns]
