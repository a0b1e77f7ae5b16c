"""Curves of online rankers: how they rank, and what learning cost their users."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from skrank._core._messages import shown
from skrank.inspection._axes import as_shaped, axes_or_new, check_display
from skrank.inspection._legends import place_legend
from skrank.inspection._texts import fit_title, in_legend

# Points of a curve, beyond which more cannot be seen.
_N_POINTS = 500


class RegretCurveDisplay:
    r"""Offline performance and cumulative regret of online rankers, by impressions.

    The curves of a ranker are means over its runs, from
    `skrank.online.simulate_online`, the bands their standard deviations. Regret adds up
    what the best lists would have had more than those that were shown:

    .. math:: T \mapsto \sum_{t \le T} \bigl( \max_R M(q_t, R) - M(q_t, R_t) \bigr)

    Make one with `from_runs`; the constructor only holds data.

    Parameters
    ----------
    impressions : dict of str to array-like of shape (n_checkpoints,)
        Numbers of impressions after which a ranker was measured, by its name.
    offline : dict of str to array-like of shape (n_runs, n_checkpoints)
        Measure of held-out queries at these.
    steps : dict of str to array-like of shape (n_steps,)
        Numbers of impressions at which the regret is drawn.
    regret : dict of str to array-like of shape (n_runs, n_steps)
        Cumulative regret at these.
    measure_name : str
        Name of the measure.

    Attributes
    ----------
    axes_ : ndarray of shape (2,)
        Axes that `plot` drew on: offline performance, and regret.
    figure_ : matplotlib figure
        Figure of the axes.
    offline_lines_ : list of matplotlib lines
        Lines of the first axes, one for each ranker.
    regret_lines_ : list of matplotlib lines
        Lines of the second axes.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import RegretCurveDisplay
    >>> from skrank.online import PDGD, DuelingBanditRanker, simulate_online
    >>> X, y, groups = make_ranking(n_queries=20, random_state=0)
    >>> runs = {
    ...     type(ranker).__name__: simulate_online(
    ...         ranker, X, y, groups, n_impressions=200, random_state=0
    ...     )
    ...     for ranker in (PDGD(), DuelingBanditRanker())
    ... }
    >>> display = RegretCurveDisplay.from_runs(runs)
    >>> [line.get_label() for line in display.regret_lines_]
    ['PDGD', 'DuelingBanditRanker']
    """

    def __init__(
        self,
        *,
        impressions: Mapping[str, Any],
        offline: Mapping[str, Any],
        steps: Mapping[str, Any],
        regret: Mapping[str, Any],
        measure_name: str,
    ):
        self.impressions = impressions
        self.offline = offline
        self.steps = steps
        self.regret = regret
        self.measure_name = measure_name

    def plot(self, axes: Any = None, **line_kw: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        axes : sequence of two matplotlib axes, default=None
            Axes to draw on; None makes a new figure with two, side by side.
        **line_kw : dict
            Passed on to ``plot`` of the axes for every curve.

        Returns
        -------
        RegretCurveDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        curves = self._checked()
        left, right = _two_axes(axes)
        self.offline_lines_, self.regret_lines_ = [], []
        for name, (impressions, offline, steps, regret) in curves.items():
            line = _draw(left, impressions, offline, name, {"marker": "o"} | line_kw)
            self.offline_lines_.append(line)
            color = {"color": line.get_color()}
            line = _draw(right, steps, regret, name, color | line_kw)
            self.regret_lines_.append(line)
        # Most is learned at first. Below one impression the axis is linear.
        left.set_xscale("symlog", linthresh=1.0)
        left.set_xlim(left=0.0)
        fit_title(left, left.set_ylabel(f"Offline {self.measure_name}"))
        title = f"Cumulative regret in {self.measure_name}"
        fit_title(right, right.set_ylabel(title))
        for ax in (left, right):
            ax.set_xlabel("Impressions")
        place_legend(right)
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self

    def _checked(self) -> dict[str, tuple[np.ndarray, ...]]:
        """Return the arrays of each ranker, by its name."""
        check_display(self)
        parts = {
            "impressions": ("n_checkpoints",),
            "offline": ("n_runs", "n_checkpoints"),
            "steps": ("n_steps",),
            "regret": ("n_runs", "n_steps"),
        }
        names = list(self.offline)
        for part in parts:
            if list(getattr(self, part)) != names:
                raise ValueError(
                    f"{part} must have the names of offline, {shown(names)}, got "
                    f"{shown(list(getattr(self, part)))}"
                )
        if not names:
            raise ValueError("offline is empty")
        curves = {}
        for name in names:
            lengths: dict[str, int] = {}
            curves[name] = tuple(
                as_shaped(
                    getattr(self, part)[name], f"{part}[{name!r}]", shape, lengths
                )
                for part, shape in parts.items()
            )
        return curves

    @classmethod
    def from_runs(
        cls, runs: Mapping[str, Any], *, axes: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the curves of simulations.

        Parameters
        ----------
        runs : dict of str to OnlineRun, or to sequence of OnlineRun
            A run, or several runs with other seeds, of each ranker, by the name to
            show. Those of a ranker have the same checkpoints and as many impressions.
        axes : sequence of two matplotlib axes, default=None
            Axes to draw on; None makes a new figure with two, side by side.
        **line_kw : dict
            Passed on to ``plot`` of the axes for every curve.

        Returns
        -------
        RegretCurveDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``runs`` is no dict of runs.
        ValueError
            If it is empty, runs of a ranker differ in their checkpoints, or runs differ
            in their measure.
        """
        if not isinstance(runs, Mapping):
            raise TypeError(
                f"runs must be a dict from the name of each ranker, got {shown(runs)}"
            )
        if not runs:
            raise ValueError("runs is empty")
        several = {str(name): _as_list(name, of_one) for name, of_one in runs.items()}
        measures = {run.measure_name for of_one in several.values() for run in of_one}
        if len(measures) > 1:
            raise ValueError(f"runs must have one measure, got {sorted(measures)}")
        steps = {name: _steps(of_one[0]) for name, of_one in several.items()}
        return cls(
            impressions={name: of[0].impressions for name, of in several.items()},
            offline={
                name: np.array([run.offline for run in of])
                for name, of in several.items()
            },
            steps=steps,
            regret={
                name: np.array([run.cumulative_regret[steps[name] - 1] for run in of])
                for name, of in several.items()
            },
            measure_name=measures.pop(),
        ).plot(axes, **line_kw)


def _as_list(name, runs) -> list[Any]:
    """Return the runs of one ranker, which are alike."""
    # Asked for by what they have: the floor of simulations need not be known here.
    found = [runs] if hasattr(runs, "cumulative_regret") else runs
    is_list = isinstance(found, Sequence) and not isinstance(found, str | bytes)
    found = list(found) if is_list else []
    if not found or not all(hasattr(run, "cumulative_regret") for run in found):
        raise TypeError(
            f"runs[{shown(name)}] must be what simulate_online returned, or a sequence "
            f"of it, got {shown(runs)}"
        )
    for run in found:
        same = np.array_equal(run.impressions, found[0].impressions)
        if not same or len(run.regret) != len(found[0].regret):
            raise ValueError(f"runs[{shown(name)}] differ in their checkpoints")
        if not len(run.regret):
            raise ValueError(f"runs[{shown(name)}] has no impression")
    return found


def _steps(run) -> np.ndarray:
    """Return the numbers of impressions at which regret is drawn."""
    n = len(run.regret)
    return np.unique(np.linspace(1, n, min(n, _N_POINTS)).astype(np.intp))


def _two_axes(axes) -> tuple[Any, Any]:
    """Return the axes to draw on."""
    if axes is None:
        left = axes_or_new(None, "RegretCurveDisplay.plot")
        figure = left.figure
        figure.clear()
        figure.set_size_inches(9.0, 4.0)
        left, right = figure.subplots(1, 2)
        return left, right
    is_array = isinstance(axes, np.ndarray) and axes.shape == (2,)
    is_pair = is_array or (isinstance(axes, Sequence) and len(axes) == 2)
    pair = list(axes) if is_pair else []
    if len(pair) != 2:
        raise TypeError(
            "RegretCurveDisplay.plot: axes must be two matplotlib axes or None, got "
            f"{shown(axes)}"
        )
    left, right = (axes_or_new(ax, "RegretCurveDisplay.plot") for ax in pair)
    return left, right


def _draw(ax, x, runs, name, line_kw) -> Any:
    """Draw the mean over runs, and a band of a standard deviation on either side."""
    mean = runs.mean(axis=0)
    (line,) = ax.plot(x, mean, **{"label": in_legend(name), "markersize": 3} | line_kw)
    if len(runs) > 1:
        spread = runs.std(axis=0, ddof=1)
        low, high = mean - spread, mean + spread
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    return line
