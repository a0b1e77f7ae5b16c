"""Curves of the objective and of the measures over iterations."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import NonNegativeInt
from skrank._core._pipelines import fitted_last_step
from skrank._validation_sets import TRAINING, measures_of
from skrank.inspection._axes import as_shaped, axes_or_new, check_display
from skrank.inspection._legends import place_legend
from skrank.inspection._texts import fit_title, in_legend


class TrainingCurveDisplay:
    """Objective and measures of a ranker over its iterations.

    Make one with `from_estimator`; the constructor only holds data.

    Parameters
    ----------
    loss_curve : array-like of shape (n_iterations,), default=None
        Objective after each iteration; None if it is not drawn.
    validation_curve : array-like of shape (n_iterations,), default=None
        Validation measure that decides after each iteration, if there were validation
        queries.
    best_iteration : int, default=None
        Iteration whose parameters were kept, counted from 1; marked on the
        ``validation_curve``.
    validation_name : str, default="validation measure"
        Label of the ``validation_curve``.
    name : str, default=None
        Name of the ranker, shown as the title.
    loss_name : str, default="objective"
        Label of the ``loss_curve``.
    other_curves : mapping of str to array-like of shape (n_iterations,), default=None
        Further measures after each iteration, such as those of training queries or of
        other validation sets, by their labels. They share the axis of the
        ``validation_curve``.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes of the objective, or of the measures where it is not drawn.
    validation_ax_ : matplotlib axes or None
        Axes of the measures: the same place with a scale of its own; None if there are
        none.
    figure_ : matplotlib figure
        Figure of both axes.
    loss_line_ : matplotlib line or None
        Line of the objective.
    validation_line_ : matplotlib line or None
        Line of the validation measure.
    other_lines_ : list of matplotlib lines
        Lines of the ``other_curves``, in their order.
    best_line_ : matplotlib line or None
        Vertical line at the best iteration.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import TrainingCurveDisplay
    >>> from skrank.rankers import RankNet
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankNet((8,), max_iter=20, early_stopping=True, random_state=0)
    >>> display = TrainingCurveDisplay.from_estimator(ranker.fit(X, y, groups))
    >>> len(display.loss_line_.get_xdata()) == ranker.n_iter_
    True
    """

    def __init__(
        self,
        *,
        loss_curve: Any = None,
        validation_curve: Any = None,
        best_iteration: NonNegativeInt | None = None,
        validation_name: str = "validation measure",
        name: str | None = None,
        loss_name: str = "objective",
        other_curves: Mapping[str, Any] | None = None,
    ):
        self.loss_curve = loss_curve
        self.validation_curve = validation_curve
        self.best_iteration = best_iteration
        self.validation_name = validation_name
        self.name = name
        self.loss_name = loss_name
        self.other_curves = other_curves

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for all curves.

        Returns
        -------
        TrainingCurveDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no curve, or one cannot be drawn.
        """
        curves, others = self._check()
        ax = axes_or_new(ax, "TrainingCurveDisplay.plot")
        ax.set_xlabel("Iteration")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self.loss_line_: Any = None
        self.validation_line_: Any = None
        self.best_line_: Any = None
        self.validation_ax_: Any = None
        self.other_lines_: list[Any] = []
        if self.loss_curve is not None:
            style = {"color": "C0", "label": in_legend(self.loss_name), **line_kw}
            (self.loss_line_,) = ax.plot(*_numbered(curves["loss_curve"]), **style)
            title = self.loss_name[:1].upper() + self.loss_name[1:]
            fit_title(ax, ax.set_ylabel(title))
        if self.validation_curve is not None or others:
            self.validation_ax_ = ax if self.loss_line_ is None else ax.twinx()
            decisive = curves.get("validation_curve")
            self._plot_measures(self.validation_ax_, decisive, others, line_kw)
        drawn = [self.loss_line_, self.validation_line_, *self.other_lines_]
        # The upper axes hide the lower ones, so they carry the legend.
        top = ax if self.validation_ax_ is None else self.validation_ax_
        drawn.append(self.best_line_)
        if self.name is not None:
            fit_title(ax, ax.set_title(self.name))
        handles = [line for line in drawn if line is not None]
        place_legend(top, shared=[] if top is ax else [ax], handles=handles)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _check(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Check what is drawn; return the two curves, if given, and the others."""
        data = check_display(
            self, loss_curve=("n_iterations",), validation_curve=("n_measured",)
        )
        others = {}
        for label, values in (self.other_curves or {}).items():
            if not isinstance(label, str):
                raise TypeError(
                    f"other_curves must have strings as labels, got {shown(label)}"
                )
            name = f"other_curves[{label!r}]"
            others[label] = as_shaped(values, name, ("n_measured",), {})
        if not data and not others:
            raise ValueError(
                "there is nothing to draw; pass loss_curve, validation_curve or "
                "other_curves"
            )
        if self.best_iteration is not None and "validation_curve" in data:
            last = len(data["validation_curve"])
            if self.best_iteration > last:
                raise ValueError(
                    f"best_iteration must be at most {last}, the length of "
                    f"validation_curve, got {self.best_iteration}"
                )
        return data, others

    def _plot_measures(self, ax, decisive, others, line_kw):
        """Draw the curve that decides, and the others in further colours."""
        title = "Measure" if decisive is None else self.validation_name
        fit_title(ax, ax.set_ylabel(title))
        if decisive is not None:
            style = {"color": "C1", "label": in_legend(self.validation_name), **line_kw}
            (self.validation_line_,) = ax.plot(*_numbered(decisive), **style)
            if self.best_iteration is not None:
                self._mark_best(ax, decisive, self.best_iteration, style["color"])
        for number, (label, values) in enumerate(others.items(), 2):
            style = {
                "color": f"C{number}",
                "linestyle": "--",
                "label": in_legend(label),
            }
            (line,) = ax.plot(*_numbered(values), **{**style, **line_kw})
            self.other_lines_.append(line)

    def _mark_best(self, ax, curve, best, color):
        self.best_line_ = ax.axvline(
            best,
            color="0.5",
            linestyle="--",
            linewidth=1,
            label=f"best iteration ({best})",
        )
        if best > 0:  # 0 is a model that was there before
            ax.plot([best], [curve[best - 1]], "o", color=color)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves of a fitted ranker.

        These are the objective and all that the ranker keeps in ``evals_result_``. An
        objective that may rise by design, as that of LambdaMART, is labelled so, and
        is left out where the measures of the training queries are known
        (``evaluate_training=True``, ``verbose`` or a ``callback``).

        Parameters
        ----------
        estimator : ranker or Pipeline
            A fitted ranker that keeps ``loss_curve_``, or a pipeline that ends in one.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for all curves.

        Returns
        -------
        TrainingCurveDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator keeps no ``loss_curve_``.
        """
        ranker = fitted_last_step(estimator)
        if not hasattr(ranker, "loss_curve_"):
            raise TypeError(
                f"estimator: {type(ranker).__name__} keeps no loss_curve_; a training "
                "curve needs a ranker that is trained in iterations"
            )
        return cls(**_curves_of(ranker)).plot(ax, **line_kw)


def _curves_of(ranker) -> dict[str, Any]:
    """Return the arguments of a display for a ranker."""
    validation = np.asarray(getattr(ranker, "validation_curve_", ()))
    logs = getattr(ranker, "evals_result_", {})  # files of older versions have none
    decides, given = None, getattr(ranker, "validation_measure", None)
    measure = None if given is None else measures_of(given)[0]
    if len(validation) and measure is not None:
        decides = _deciding(logs, measure.name, validation)
    others = {
        f"{name} {each}": values
        for name, of_set in logs.items()
        for each, values in of_set.items()
        if (name, each) != (decides, measure and measure.name)
    }
    descends = getattr(getattr(ranker, "loss_", None), "descends", True)
    # An objective that rises by design says nothing that the measure does not say.
    hidden = not descends and TRAINING in logs
    return {
        "loss_curve": None if hidden else ranker.loss_curve_,
        "validation_curve": validation if len(validation) else None,
        "best_iteration": ranker.best_iteration_ if len(validation) else None,
        "validation_name": _validation_name(ranker, measure, decides),
        "name": type(ranker).__name__,
        "loss_name": "objective" if descends else "objective, which may rise",
        "other_curves": others or None,
    }


def _deciding(logs, measure, validation) -> str | None:
    """Return the name of the set whose values are those that decided."""
    for name in reversed(logs):
        values = logs[name].get(measure, ())
        if name != TRAINING and np.array_equal(values, validation, equal_nan=True):
            return name
    return None


def _validation_name(ranker, measure, decides) -> str:
    """Name of the curve that decided, with its direction if lower is better."""
    if measure is None:
        return "validation measure"
    direction = "" if measure.greater_is_better else " (lower is better)"
    rule = getattr(ranker, "validation_rule", "last")
    several = len(set(getattr(ranker, "evals_result_", {})) - {TRAINING}) > 1
    if several and decides is None:
        return f"{rule} of the validation sets, {measure.name}{direction}"
    return f"{decides or 'validation'} {measure.name}{direction}"


def _numbered(curve: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Iterations, counted from 1, and the values of a curve."""
    return np.arange(1, len(curve) + 1), curve
