"""Curves of the objective and of the validation measure over iterations."""

from typing import Any, Self

import numpy as np

from skrank._core._parameters import NonNegativeInt
from skrank.inspection._axes import axes_or_new, check_display
from skrank.inspection._pipelines import fitted_last_step
from skrank.metrics import get_measure


class TrainingCurveDisplay:
    """Objective and validation measure of a ranker over its iterations.

    Make one with `from_estimator`; the constructor only holds data.

    Parameters
    ----------
    loss_curve : array-like of shape (n_iterations,)
        Objective after each iteration.
    validation_curve : array-like of shape (n_iterations,), default=None
        Validation measure after each iteration, if there were validation queries.
    best_iteration : int, default=None
        Iteration whose parameters were kept, counted from 1; marked on the
        ``validation_curve``.
    validation_name : str, default="validation measure"
        Label of the second axis.
    name : str, default=None
        Name of the ranker, shown as the title.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes of the objective.
    validation_ax_ : matplotlib axes or None
        Axes of the validation measure: the same place with a scale of its own.
    figure_ : matplotlib figure
        Figure of both axes.
    loss_line_ : matplotlib line
        Line of the objective.
    validation_line_ : matplotlib line or None
        Line of the validation measure.
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
        loss_curve: Any,
        validation_curve: Any = None,
        best_iteration: NonNegativeInt | None = None,
        validation_name: str = "validation measure",
        name: str | None = None,
    ):
        self.loss_curve = loss_curve
        self.validation_curve = validation_curve
        self.best_iteration = best_iteration
        self.validation_name = validation_name
        self.name = name

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for both curves.

        Returns
        -------
        TrainingCurveDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        data = check_display(
            self, loss_curve=("n_iterations",), validation_curve=("n_measured",)
        )
        if self.best_iteration is not None and "validation_curve" in data:
            last = len(data["validation_curve"])
            if self.best_iteration > last:
                raise ValueError(
                    f"best_iteration must be at most {last}, the length of "
                    f"validation_curve, got {self.best_iteration}"
                )
        ax = axes_or_new(ax, "TrainingCurveDisplay.plot")
        style = {"color": "C0", "label": "objective", **line_kw}
        (self.loss_line_,) = ax.plot(*_numbered(self.loss_curve), **style)
        ax.set_xlabel("Iteration")
        ax.set_ylabel("Objective")
        ax.xaxis.get_major_locator().set_params(integer=True)
        self.validation_ax_ = self.validation_line_ = self.best_line_ = None
        if self.validation_curve is not None:
            self._plot_validation(ax, line_kw)
        drawn = [self.loss_line_, self.validation_line_, self.best_line_]
        # The upper axes hide the lower ones, so they carry the legend.
        top = ax if self.validation_ax_ is None else self.validation_ax_
        top.legend(
            handles=[line for line in drawn if line is not None], loc="center right"
        )
        if self.name is not None:
            ax.set_title(self.name)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_validation(self, ax, line_kw):
        self.validation_ax_ = ax.twinx()
        self.validation_ax_.set_ylabel(self.validation_name)
        iterations, curve = _numbered(self.validation_curve)
        style = {"color": "C1", "label": self.validation_name, **line_kw}
        (self.validation_line_,) = self.validation_ax_.plot(iterations, curve, **style)
        if self.best_iteration is None:
            return
        self.best_line_ = self.validation_ax_.axvline(
            self.best_iteration,
            color="0.5",
            linestyle="--",
            linewidth=1,
            label=f"best iteration ({self.best_iteration})",
        )
        self.validation_ax_.plot(
            [self.best_iteration],
            [curve[self.best_iteration - 1]],
            "o",
            color=style["color"],
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves of a fitted ranker.

        Parameters
        ----------
        estimator : ranker or Pipeline
            A fitted ranker that keeps ``loss_curve_``, or a pipeline that ends in one.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for both curves.

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
        validation = np.asarray(getattr(ranker, "validation_curve_", ()))
        measured = len(validation) > 0
        display = cls(
            loss_curve=ranker.loss_curve_,
            validation_curve=validation if measured else None,
            best_iteration=ranker.best_iteration_ if measured else None,
            validation_name=_validation_name(ranker),
            name=type(ranker).__name__,
        )
        return display.plot(ax, **line_kw)


def _validation_name(ranker) -> str:
    """Name of the validation measure, with its direction if lower is better."""
    measure = getattr(ranker, "validation_measure", None)
    if measure is None:
        return "validation measure"
    measure = get_measure(measure)
    direction = "" if measure.greater_is_better else " (lower is better)"
    return f"validation {measure.name}{direction}"


def _numbered(curve):
    """Iterations, counted from 1, and the values of a curve."""
    curve = np.asarray(curve, dtype=np.float64)
    return np.arange(1, len(curve) + 1), curve
