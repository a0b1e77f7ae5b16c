"""Learning curves of selectors: how well rankers rank that learned from n documents."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import Fraction, Seed
from skrank._core._validation import check_options
from skrank.inspection._axes import as_shaped, axes_or_new, check_display
from skrank.inspection._legends import place_legend
from skrank.inspection._texts import fit_title, in_legend
from skrank.selection import SelectorComparison


class LearningCurveDisplay:
    """Measure of rankers by the number of documents that they learned from.

    Make one with `from_comparison`; the constructor only holds data.

    Parameters
    ----------
    n_documents : dict of str to array-like of shape (n_points,)
        Numbers of documents, by the name of the selector; not negative.
    values : dict of str to array-like of shape (n_points,)
        Measure of rankers that learned from as many documents, or by how much it is
        ahead of a reference.
    intervals : dict of str to array-like of shape (n_points, 2), default=None
        Lower and upper bounds of the values of some or all selectors, which are drawn
        as bands.
    measure_name : str, default="measure"
        Name of the measure.
    reference : str or None, default=None
        Name of the selector from which the values are differences; None means that they
        are none.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    lines_ : list of matplotlib lines
        Lines, one for each selector.

    See Also
    --------
    skrank.selection.compare_selectors : Makes the comparison to draw.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import LearningCurveDisplay
    >>> from skrank.rankers import RankSVM
    >>> from skrank.selection import SVMSelectiveSampling, compare_selectors
    >>> X, y, groups = make_ranking(n_queries=60, random_state=0)
    >>> pool, test = groups < 40, groups >= 40
    >>> comparison = compare_selectors(
    ...     RankSVM(), X[pool], y[pool], groups[pool], X_test=X[test], y_test=y[test],
    ...     groups_test=groups[test], n_rounds=2, n_repeats=1,
    ...     selectors={"SVM": SVMSelectiveSampling()})
    >>> display = LearningCurveDisplay.from_comparison(comparison)
    >>> [line.get_label() for line in display.lines_]
    ['SVM', 'random']
    """

    def __init__(
        self,
        *,
        n_documents: Mapping[str, Any],
        values: Mapping[str, Any],
        intervals: Mapping[str, Any] | None = None,
        measure_name: str = "measure",
        reference: str | None = None,
    ):
        self.n_documents = n_documents
        self.values = values
        self.intervals = intervals
        self.measure_name = measure_name
        self.reference = reference

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves, and the bands around those that have intervals.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for all curves.

        Returns
        -------
        LearningCurveDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the data are no curves, names differ, numbers of documents are missing or
            negative, or a lower bound is above the upper one.
        """
        curves = self._checked()
        ax = axes_or_new(ax, "LearningCurveDisplay.plot")
        self.lines_ = []
        for name, (counts, values, interval) in curves.items():
            options: dict[str, Any] = {"marker": "o", "markersize": 3}
            options |= {"label": in_legend(name)} | line_kw
            (line,) = ax.plot(counts, values, **options)
            if interval is not None:
                low, high = interval.T
                color = line.get_color()
                ax.fill_between(counts, low, high, color=color, alpha=0.15, linewidth=0)
            self.lines_.append(line)
        label = self.measure_name
        if self.reference is not None:
            ax.axhline(0.0, color="0.5", linewidth=0.8)
            label = f"{label}, difference from {self.reference}"
        ax.set_xlabel("Documents")
        fit_title(ax, ax.set_ylabel(label))
        place_legend(ax, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _checked(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Return the arrays of each selector, by its name."""
        check_display(self)
        names, bands = list(self.values), self.intervals or {}
        if not names:
            raise ValueError("values is empty")
        for kind in ("values", "n_documents", "intervals"):
            for name in getattr(self, kind) or {}:
                if not isinstance(name, str):
                    raise TypeError(f"{kind} must have texts as names, got {name!r}")
        if list(self.n_documents) != names:
            raise ValueError(
                f"n_documents must have the names of values, {shown(names)}, got "
                f"{shown(list(self.n_documents))}"
            )
        unknown = [name for name in bands if name not in names]
        if unknown:
            raise ValueError(
                f"intervals must have names of values, {shown(names)}, got "
                f"{shown(unknown[0])}"
            )
        curves = {}
        for name in names:
            lengths: dict[str, int] = {}

            def part(kind, *shape, name=name, lengths=lengths):
                given = getattr(self, kind)[name]
                return as_shaped(given, f"{kind}[{name!r}]", shape, lengths)

            values = part("values", "n_points")
            counts = part("n_documents", "n_points")
            band = part("intervals", "n_points", 2) if name in bands else None
            _check_points(name, counts, band)
            curves[name] = counts, values, band
        return curves

    @classmethod
    def from_comparison(
        cls,
        comparison: SelectorComparison,
        *,
        reference: str | None = None,
        bands: Sequence[str] | None = None,
        confidence: Fraction = 0.95,
        random_state: Seed = 0,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw what `skrank.selection.compare_selectors` found.

        Parameters
        ----------
        comparison : SelectorComparison
            Learning curves of selectors.
        reference : str or None, default=None
            Name of a selector from which differences are drawn, with paired intervals,
            which are narrower than those of the curves; None draws the curves.
        bands : sequence of str or None, default=None
            Names of the selectors whose intervals are drawn; None draws all of them.
        confidence : float, default=0.95
            Coverage of the intervals.
        random_state : int, RandomState or None, default=0
            Source of the samples of test queries.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for all curves.

        Returns
        -------
        LearningCurveDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``comparison`` is none.
        ValueError
            If there is no selector of a name, or curves to be compared have other
            numbers of points.
        """
        check_options(LearningCurveDisplay.from_comparison, locals())
        if not isinstance(comparison, SelectorComparison):
            raise TypeError(
                "comparison must be a SelectorComparison, as compare_selectors returns "
                f"it, got {shown(comparison)}"
            )
        options: dict[str, Any] = {
            "confidence": confidence,
            "random_state": random_state,
        }
        names = [name for name in comparison.curves if name != reference]
        values, intervals = {}, {}
        for name in names:
            if reference is None:
                values[name] = comparison.mean(name)
                intervals[name] = comparison.interval(name, **options)
            else:
                found = comparison.difference(name, reference, **options)
                values[name], intervals[name] = found
        wanted = names if bands is None else list(bands)
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ValueError(
                f"bands must hold names of drawn selectors, {shown(names)}, got "
                f"{shown(unknown[0])}"
            )
        return cls(
            n_documents={name: comparison.n_judged[name] for name in names},
            values=values,
            intervals={name: intervals[name] for name in wanted},
            measure_name=comparison.measure_name,
            reference=reference,
        ).plot(ax, **line_kw)


def _check_points(name, counts, band) -> None:
    """Check the numbers of documents of a selector, and the order of its bounds."""
    wrong = np.isnan(counts) | (counts < 0)
    if wrong.any():
        raise ValueError(
            f"n_documents[{name!r}] must hold numbers of documents, which are at least "
            f"0, got {counts[wrong][0]:g}"
        )
    if band is None:
        return
    exchanged = band[:, 0] > band[:, 1]
    if exchanged.any():
        low, high = band[exchanged][0]
        raise ValueError(
            f"intervals[{name!r}] must hold lower bounds before upper ones, got "
            f"{low:g} before {high:g}"
        )
