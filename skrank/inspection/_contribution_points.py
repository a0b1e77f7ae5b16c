"""Contributions to the scores of many documents, drawn as points."""

from typing import Any, Self

import numpy as np
from scipy.stats import rankdata

from skrank._core._messages import shown
from skrank._core._parameters import PositiveInt
from skrank._core._validation import check_options
from skrank.inspection._axes import axes_or_new, check_display
from skrank.inspection._explanation import (
    Explanation,
    check_kind,
    check_place,
    text_of_value,
)
from skrank.inspection._importance import names_of
from skrank.inspection._texts import fit_title, level_ticks, name_ticks

_NAMES_SHARE = 0.3  # of the width, next to which the colour bar has its own
_MISSING = "0.7"  # colour of missing values
_N_BINS = 60  # along a line of the beeswarm, in which points stand side by side
_HEIGHT = 0.4  # of half a line


class BeeswarmDisplay:
    """Contributions of the most important features to the scores of all documents.

    Each line is a feature and each point a document, at the contribution of the feature
    to its score; the colour is the rank of the feature's value among all documents,
    grey where it is missing or a name. Features are in the order of their mean absolute
    contribution.

    Parameters
    ----------
    contributions : array-like of shape (n_documents, n_features)
        Contribution of each feature to each score.
    data : array-like of shape (n_documents, n_features)
        Values of the features.
    feature_names : sequence of str, default=None
        Names of the features; None shows their numbers.
    cmap : str, default="viridis"
        Name of the colour map, from low values to high ones.
    max_features : int, default=10
        Number of features to draw.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    points_ : list of matplotlib collections
        The points of each feature drawn, the least important first.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import BeeswarmDisplay, shap_values
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, random_state=0).fit(X, y, groups)
    >>> explanation = shap_values(ranker, X, "query", groups)
    >>> display = BeeswarmDisplay.from_explanation(explanation, max_features=5)
    >>> len(display.points_)
    5
    """

    def __init__(
        self,
        *,
        contributions: Any,
        data: Any,
        feature_names: Any = None,
        cmap: str = "viridis",
        max_features: PositiveInt = 10,
    ):
        self.contributions = contributions
        self.data = data
        self.feature_names = feature_names
        self.cmap = cmap
        self.max_features = max_features

    def plot(self, ax: Any = None, **scatter_kw: Any) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **scatter_kw : dict
            Passed on to ``ax.scatter``.

        Returns
        -------
        BeeswarmDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the data have other shapes, or numbers that cannot be drawn.
        """
        shape = ("n_documents", "n_features")
        found = check_display(self, contributions=shape, data=shape)
        values, data = found["contributions"], found["data"]
        names = names_of(self.feature_names, values.shape[1])
        ax = axes_or_new(ax, "BeeswarmDisplay.plot")
        colors = _colormap(self.cmap)
        mean = np.abs(values).mean(axis=0)
        order = np.lexsort((np.arange(len(mean)), -mean))[: self.max_features][::-1]
        reach = np.ptp(values[:, order]) or 1.0
        ax.axvline(0.0, color="0.6", linewidth=1, zorder=0)
        given = {"s": 9, "linewidths": 0, "rasterized": len(values) > 1000} | scatter_kw
        self.points_ = [
            ax.scatter(
                values[:, j],
                line + _side_by_side(values[:, j], reach),
                c=_colors_of(data[:, j], colors),
                **given,
            )
            for line, j in enumerate(order)
        ]
        chosen = [str(names[j]) for j in order]
        name_ticks(ax, np.arange(len(order)), chosen, share=_NAMES_SHARE)
        ax.set_xlabel("Contribution to the score")
        _add_colorbar(ax, colors)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        cmap: str = "viridis",
        max_features: PositiveInt = 10,
        ax: Any = None,
        **scatter_kw: Any,
    ) -> Self:
        """Draw the contributions to the scores of all documents.

        Parameters
        ----------
        explanation : Explanation
            What `shap_values` returned.
        cmap : str, default="viridis"
            Name of the colour map, from low values to high ones.
        max_features : int, default=10
            Number of features to draw.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **scatter_kw : dict
            Passed on to ``ax.scatter``.

        Returns
        -------
        BeeswarmDisplay
            The display, drawn.
        """
        check_options(cls.from_explanation, locals())
        check_kind(explanation, Explanation)
        display = cls(
            contributions=explanation.values,
            data=_without_names(explanation),
            feature_names=explanation.feature_names,
            cmap=cmap,
            max_features=max_features,
        )
        return display.plot(ax, **scatter_kw)


class DependenceDisplay:
    """Contributions of one feature over its values, a point for each document.

    Points of one value at different heights show that the feature interacts with
    others. Documents without the value are drawn at the left edge.

    Parameters
    ----------
    contributions : array-like of shape (n_documents,)
        Contribution of the feature to each score.
    data : array-like of shape (n_documents,)
        Values of the feature.
    feature_name : str, default="Feature"
        Name of the feature.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    points_ : matplotlib collection
        The points of the documents that have a value.
    missing_ : matplotlib collection or None
        The points of the others, if there are any.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import DependenceDisplay, shap_values
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, random_state=0).fit(X, y, groups)
    >>> explanation = shap_values(ranker, X)
    >>> display = DependenceDisplay.from_explanation(explanation, "x2")
    >>> display.ax_.get_xlabel()
    'x2'
    """

    def __init__(self, *, contributions: Any, data: Any, feature_name: str = "Feature"):
        self.contributions = contributions
        self.data = data
        self.feature_name = feature_name

    def plot(self, ax: Any = None, **scatter_kw: Any) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **scatter_kw : dict
            Passed on to ``ax.scatter``.

        Returns
        -------
        DependenceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the data have other shapes, or numbers that cannot be drawn.
        """
        shape = ("n_documents",)
        found = check_display(self, contributions=shape, data=shape)
        values, data = found["contributions"], found["data"]
        ax = axes_or_new(ax, "DependenceDisplay.plot")
        given = {"s": 12, "linewidths": 0, "alpha": 0.6} | scatter_kw
        known = ~np.isnan(data)
        ax.axhline(0.0, color="0.6", linewidth=1, zorder=0)
        self.points_ = ax.scatter(data[known], values[known], **given)
        self.missing_ = None
        if not known.all():
            low, high = (
                (data[known].min(), data[known].max()) if known.any() else (0, 1)
            )
            at = np.full((~known).sum(), low - 0.05 * ((high - low) or 1.0))
            style = given | {"color": "0.5", "label": "missing"}
            self.missing_ = ax.scatter(at, values[~known], **style)
            ax.legend()
        fit_title(ax, ax.set_xlabel(str(self.feature_name)))
        ax.set_ylabel("Contribution to the score")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        feature: int | str,
        *,
        ax: Any = None,
        **scatter_kw: Any,
    ) -> Self:
        """Draw the contributions of one feature to the scores of all documents.

        Parameters
        ----------
        explanation : Explanation
            What `shap_values` returned.
        feature : int or str
            Number or name of the feature.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **scatter_kw : dict
            Passed on to ``ax.scatter``.

        Returns
        -------
        DependenceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there is no such feature.
        """
        check_kind(explanation, Explanation)
        names = list(explanation.feature_names)
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(
                    f"feature must be one of {', '.join(names[:9])}"
                    f"{', …' * (len(names) > 9)}, got {shown(feature)}"
                )
            feature = names.index(feature)
        j = check_place(feature, "feature", len(names))
        display = cls(
            contributions=explanation.values[:, j],
            data=explanation.data[:, j],
            feature_name=names[j],
        )
        display.plot(ax, **scatter_kw)
        if explanation.display_data is not None:
            _name_levels(display.ax_, display.data, explanation.display_data[:, j])
        return display


def _without_names(explanation) -> np.ndarray:
    """Return the values of the features; names are neither low nor high."""
    data = explanation.data
    if explanation.display_data is None:
        return data
    columns = explanation.display_data.T
    names = [any(isinstance(level, str) for level in column) for column in columns]
    return np.where(names, np.nan, data)


def _name_levels(ax, numbers, levels) -> None:
    """Write the names of levels at their numbers; rare levels may share a number."""
    names: dict[float, set] = {}
    for number, level in zip(numbers.tolist(), levels.tolist()):
        if number == number and level != number:
            names.setdefault(number, set()).add(text_of_value(level, 3))
    if names:
        texts = [min(found) + ", …" * (len(found) > 1) for found in names.values()]
        level_ticks(ax, list(names), texts)


def _colormap(cmap):
    import matplotlib as mpl

    try:
        return mpl.colormaps.get_cmap(cmap)
    except (TypeError, ValueError):
        raise ValueError(
            f"cmap must be the name of a colour map of matplotlib, got {shown(cmap)}"
        ) from None


def _colors_of(values, colors) -> np.ndarray:
    """Return the colour of each value, by its rank; missing values are grey."""
    from matplotlib.colors import to_rgba

    known = ~np.isnan(values)
    found = np.tile(to_rgba(_MISSING), (len(values), 1))
    ranks = rankdata(values[known])
    if known.any():
        span = np.ptp(ranks)
        found[known] = colors((ranks - ranks.min()) / span if span else ranks * 0 + 0.5)
    return found


def _side_by_side(values, reach) -> np.ndarray:
    """Return offsets that keep points of nearly the same contribution apart."""
    bins = np.floor((values - values.min()) / reach * _N_BINS).astype(int)
    order = np.argsort(bins, kind="stable")
    sizes = np.bincount(bins)
    place = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # 0, 1, -1, 2, -2, … from the middle of the line, closer where there are many.
    offset = (place + 1) // 2 * np.where(place % 2, 1, -1)
    found = np.empty(len(values))
    found[order] = offset * min(0.06, 2 * _HEIGHT / max(sizes.max(), 1))
    return found


def _add_colorbar(ax, colors) -> None:
    from matplotlib.cm import ScalarMappable

    bar = ax.figure.colorbar(ScalarMappable(cmap=colors), ax=ax, ticks=[0, 1])
    bar.set_ticklabels(["low", "high"])
    bar.set_label("Value of the feature", labelpad=-8)
