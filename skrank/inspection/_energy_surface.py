"""The energy surface of a ranker before and after its training."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_numbers,
    check_grades,
    check_options,
    resolve_groups,
)
from skrank.inspection._axes import as_shaped, axes_or_new, check_display, grade_colors
from skrank.inspection._legends import place_legend
from skrank.inspection._readings import query_means
from skrank.inspection._texts import fit_title
from skrank.inspection._watch import TrainingWatch

# More distinct grades than this are joined to this many ranges of equal size, because
# more violins than these, twice, cannot be told apart.
_MAX_GROUPS = 7
_MAX_TICKS = 10
_LIGHTEST = 0.82  # place of the lowest grade on the colour map
_TITLES = "before training", "after training"


class EnergySurfaceDisplay:
    r"""Energies before and after training, by the grade of the document.

    For energies of documents, the picture shows how :math:`E(q, d)` is distributed for
    the documents of each grade, relative to the mean of their query: training digs
    holes under good documents and raises hills under the others. The vertical bar spans
    the middle half of the energies, and the dot is their median.

    For energies that depend on the label, it shows :math:`E(q, d, r)` over the labels
    r, as means over the documents of each grade: training lowers the energy of the
    documents' own label, which is marked by a ring, against the energies of the other
    labels.

    Make one with `from_training` or `from_energies`; the constructor only holds data.

    Parameters
    ----------
    before : array-like of shape (n_documents,) or (n_documents, n_labels)
        Energies before training.
    after : array-like like ``before``
        Energies after training.
    y : array-like of shape (n_documents,)
        Relevance grades.
    labels : array-like of shape (n_labels,), default=None
        Labels of the columns, ascending; None for energies of documents.
    center : bool, default=True
        Whether the energies of documents are relative to the mean of their query;
        this changes the label of the axis only.
    name : str, default=None
        Name of the ranker, shown as the title.

    Attributes
    ----------
    estimator_ : ranker or Pipeline
        The clone that `from_training` fitted.
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    artists_ : list of matplotlib artists
        Distributions or curves of each grade: first those before training, then those
        after it.

    References
    ----------
    [Fang2016]_, sections 4 and 5, figures 1 and 2.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import EnergySurfaceDisplay
    >>> from skrank.rankers import ListMLE
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> display = EnergySurfaceDisplay.from_training(ListMLE(), X, y, groups)
    >>> names, before, after = display.means()
    >>> names
    ['0', '1', '2', '3', '4']
    >>> bool(before[4] == before[0]), bool(after[4] < after[0])
    (True, True)
    """

    estimator_: Any

    def __init__(
        self,
        *,
        before: Any,
        after: Any,
        y: Any,
        labels: Any = None,
        center: bool = True,
        name: str | None = None,
    ):
        self.before = before
        self.after = after
        self.y = y
        self.labels = labels
        self.center = center
        self.name = name

    def means(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the mean energies of the documents of each grade.

        This needs no matplotlib.

        Returns
        -------
        names : list of str
            Names of the grades, ascending; of ranges of grades if there are many.
        before, after : ndarrays of shape (n_grades,) or (n_grades, n_labels)
            Mean energies before and after training.
        """
        data = self._checked()
        names, group, _ = _grade_groups(data["y"])
        members = [group == g for g in range(len(names))]
        before, after = (
            np.array([data[name][rows].mean(axis=0) for rows in members])
            for name in ("before", "after")
        )
        return names, before, after

    def plot(self, ax: Any = None, *, cmap: str = "viridis") -> Self:
        """Draw both surfaces side by side on one scale.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        cmap : str, default="viridis"
            Name of the colour map of the grades; the highest grade is the darkest.

        Returns
        -------
        EnergySurfaceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        data = self._checked()
        ax = axes_or_new(ax, "EnergySurfaceDisplay.plot")
        draw = self._plot_documents if self.labels is None else self._plot_labels
        places, names, shift = draw(data, ax, cmap)
        ax.set_xticks([*places, *(np.asarray(places) + shift)], names * 2)
        width = np.ptp(places)
        gap = (shift - width) / 2
        ax.set_xlim(places[0] - gap, places[-1] + shift + gap)
        ax.axvline(places[-1] + gap, color="0.7", linewidth=1)
        for title, left in zip(_TITLES, (places[0], places[0] + shift)):
            ax.text(
                left + width / 2,
                1.01,
                title,
                transform=ax.get_xaxis_transform(),
                ha="center",
                va="bottom",
            )
        if self.name is not None:
            fit_title(ax, ax.set_title(self.name, pad=22))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _checked(self) -> dict[str, np.ndarray]:
        by_label = () if self.labels is None else ("n_labels",)
        energies = ("n_documents", *by_label)
        shapes = {"before": energies, "after": energies, "y": ("n_documents",)}
        return check_display(self, labels=("n_labels",), **shapes)

    def _plot_documents(self, data, ax, cmap):
        names, group, _ = _grade_groups(data["y"])
        shift = len(names) + 1
        self.artists_ = []
        for name, offset in (("before", 0), ("after", shift)):
            for g, color in enumerate(grade_colors(cmap, len(names), _LIGHTEST)):
                values = data[name][group == g]
                self.artists_.append(_violin(ax, values, offset + g, color))
        ax.set_xlabel("Grade of the document")
        ax.set_ylabel("Energy − mean of its query" if self.center else "Energy")
        return np.arange(len(names)), names, shift

    def _plot_labels(self, data, ax, cmap):
        names, *both = self.means()
        _, _, grades = _grade_groups(data["y"])
        labels = data["labels"]
        span = max(np.ptp(labels), 1.0)
        shift = span * (1 + 1 / max(len(labels) - 1, 2))
        self.artists_ = []
        for energies, offset in zip(both, (0.0, shift)):
            for g, color in enumerate(grade_colors(cmap, len(names), _LIGHTEST)):
                name = f"grade {names[g]}" if offset == 0 else None
                style = {"color": color, "marker": "o", "markersize": 4, "label": name}
                self.artists_ += ax.plot(labels + offset, energies[g], **style)
                own = np.flatnonzero(labels == grades[g])
                style = {"markersize": 11, "markerfacecolor": "none", "color": color}
                ax.plot(labels[own] + offset, energies[g, own], "o", **style)
        ax.set_xlabel("Label r")
        ax.set_ylabel("Mean energy E(q, d, r)")
        place_legend(ax, title="documents of")
        shown = labels[:: -(-len(labels) // _MAX_TICKS)]
        return shown, [f"{label:g}" for label in shown], shift

    @classmethod
    def from_energies(
        cls,
        before: npt.ArrayLike,
        after: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        labels: npt.ArrayLike | None = None,
        center: bool = True,
        name: str | None = None,
        ax: Any = None,
        cmap: str = "viridis",
    ) -> Self:
        """Draw given energies.

        Parameters
        ----------
        before : array-like of shape (n_documents,) or (n_documents, n_labels)
            Energies before training.
        after : array-like like ``before``
            Energies after training.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order; needed for centring only. If None, the
            ids are read from a level named "qid" of the pandas index of ``y``.
        labels : array-like of shape (n_labels,), default=None
            Labels of the columns of energies that depend on the label, ascending.
        center : bool, default=True
            Whether to subtract the mean energy of each query; for energies of documents
            only.
        name : str, default=None
            Name of the ranker, shown as the title.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        cmap : str, default="viridis"
            Name of the colour map of the grades.

        Returns
        -------
        EnergySurfaceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the shapes of the arguments do not agree, or an energy is not finite.
        """
        check_options(cls.from_energies, locals())
        grades = check_grades(y, name="y")
        columns = ()
        if labels is not None:
            columns = as_shaped(labels, "labels", ("n_labels",), {}).shape
        before = _check_energies(before, "before", (len(grades), *columns))
        after = _check_energies(after, "after", (len(grades), *columns))
        if labels is None and center:
            ids = resolve_groups(
                groups,
                y,
                n_samples=len(grades),
                caller="EnergySurfaceDisplay.from_energies",
            )
            index = QueryIndex.from_groups(ids)
            before, after = _centered(before, index), _centered(after, index)
        display = cls(
            before=before,
            after=after,
            y=grades,
            labels=labels,
            center=center,
            name=name,
        )
        return display.plot(ax, cmap=cmap)

    @classmethod
    def from_training(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        center: bool = True,
        fit_params: Mapping[str, Any] | None = None,
        ax: Any = None,
        cmap: str = "viridis",
    ) -> Self:
        """Train a clone of a ranker and draw the energies of its training rows.

        The surface before training belongs to the parameters that the training really
        started from, which of several restarts is the start of the one that was kept;
        the surface after training belongs to the parameters that the ranker kept.
        Linear rankers start from zero, so their surface is flat at first. Complexity:
        that of the training and of computing the energies of all rows twice.

        Parameters
        ----------
        estimator : ranker or Pipeline
            An energy-based ranker, or a pipeline that ends in one; left unchanged.
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order. If None, the ids are read from a level
            named "qid" of the pandas index of ``y`` or ``X``.
        center : bool, default=True
            Whether to subtract the mean energy of each query; for energies of documents
            only, of which nothing but differences within a query matters to a ranking.
        fit_params : dict, default=None
            Further arguments of `fit`, such as ``sample_weight``. Queries that the
            ranker holds out for validation are drawn with the others.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        cmap : str, default="viridis"
            Name of the colour map of the grades.

        Returns
        -------
        EnergySurfaceDisplay
            The display, drawn; its ``estimator_`` is the fitted clone, and its rows are
            grouped by query.

        Raises
        ------
        TypeError
            If the estimator is not an energy-based ranker.
        """
        check_options(cls.from_training, locals())
        watch = TrainingWatch(estimator, "EnergySurfaceDisplay")
        watch.fit(X, y, groups, fit_params)
        display = cls.from_energies(
            watch.before(),
            watch.after(),
            watch.data.y,
            watch.data.query_of_rows,
            labels=watch.labels,
            center=center,
            name=watch.name,
            ax=ax,
            cmap=cmap,
        )
        display.estimator_ = watch.estimator
        return display


def _check_energies(energies, name, shape):
    energies = as_numbers(energies, name)
    if energies.shape != shape:
        raise ValueError(
            f"{name} must have shape {shape}, one energy per document"
            f"{' and label' if len(shape) > 1 else ''}; got shape {energies.shape}"
        )
    if not np.isfinite(energies).all():
        raise ValueError(f"{name} must hold finite energies")
    return energies


def _centered(energies, index):
    grouped = index.take(energies)
    return index.restore(grouped - query_means(grouped, index.ptr))


def _grade_groups(y):
    """Names of the grades, number of the grade of each row, and the grades themselves.

    If there are many, they are joined to ranges, whose own grades are NaN.
    """
    y = np.asarray(y, dtype=np.float64)
    grades, group = np.unique(y, return_inverse=True)
    if len(grades) <= _MAX_GROUPS:
        return [f"{grade:g}" for grade in grades], group, grades
    cuts = np.unique(np.quantile(y, np.arange(1, _MAX_GROUPS) / _MAX_GROUPS))
    used, group = np.unique(np.searchsorted(cuts, y), return_inverse=True)
    members = [y[group == g] for g in range(len(used))]
    names = [f"{m.min():.3g} to {m.max():.3g}" for m in members]
    return names, group, np.full(len(used), np.nan)


def _violin(ax, values, place, color):
    """Draw a distribution of energies: its shape, its middle half and its median."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    parts = ax.violinplot([values], positions=[place], widths=0.85, showextrema=False)
    (body,) = parts["bodies"]
    body.set(facecolor=color, edgecolor=color, alpha=0.6, linewidth=1)
    ax.vlines(place, low, high, color="black", linewidth=3)
    ax.plot([place], [median], "o", color="white", markeredgecolor="black", zorder=3)
    return body
