"""Curves over ranks of models of clicks: examination and perplexity."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from skrank._core._messages import shown
from skrank._core._validation import check_arguments
from skrank.click import BaseClickModel, Sessions
from skrank.click._base import Kind
from skrank.inspection._axes import as_shaped, axes_or_new
from skrank.inspection._legends import place_legend
from skrank.inspection._texts import in_legend


class _RankCurves:
    """Base class of displays with a curve over the ranks for each model."""

    _label = ""

    def __init__(self, curves: Mapping[str, Any]):
        self.curves = curves

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
        display
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError or ValueError
            If there is no curve, or one cannot be drawn.
        """
        curves = self._checked()
        ax = axes_or_new(ax, f"{type(self).__name__}.plot")
        self.lines_: dict[str, Any] = {}
        for name, curve in curves.items():
            style = {"marker": "o", "markersize": 4, "label": in_legend(name)} | line_kw
            ranks = np.arange(1, len(curve) + 1)
            (self.lines_[name],) = ax.plot(ranks, curve, **style)
        ax.set_xlabel("Rank")
        ax.set_ylabel(self._label)
        ax.xaxis.get_major_locator().set_params(integer=True)
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _checked(self) -> dict[str, np.ndarray]:
        if not isinstance(self.curves, Mapping):
            raise TypeError(
                "curves must be a mapping of names to numbers by rank, got "
                f"{shown(self.curves)}"
            )
        if not self.curves:
            raise ValueError("curves must hold at least one curve, got none")
        return {
            str(name): as_shaped(values, f"curves[{name!r}]", ("n_ranks",), {})
            for name, values in self.curves.items()
        }


class ExaminationCurveDisplay(_RankCurves):
    """How likely documents are examined at each rank, by several models of clicks.

    Make one with `from_models`; the constructor only holds data.

    Parameters
    ----------
    curves : mapping of str to array-like of shape (n_ranks,)
        Probabilities of examination from the first rank on, by the names of models.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes of the curves.
    figure_ : matplotlib figure
        Figure of the axes.
    lines_ : dict of str to matplotlib line
        Lines by name.

    Examples
    --------
    >>> from skrank.click import CascadeModel, RankClickModel, Sessions
    >>> from skrank.inspection import ExaminationCurveDisplay
    >>> clicks = [[1, 0, 0], [0, 1, 0]] * 5
    >>> log = Sessions.from_lists(["q"] * 10, [["a", "b", "c"]] * 10, clicks)
    >>> models = {"cascade": CascadeModel().fit(log), "rank": RankClickModel().fit(log)}
    >>> display = ExaminationCurveDisplay.from_models(models, log)
    >>> sorted(display.lines_)
    ['cascade', 'rank']
    """

    _label = "Probability of examination"

    @classmethod
    def from_models(
        cls, models: Any, sessions: Sessions, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the curves of fitted models.

        Parameters
        ----------
        models : click model, or mapping of str to click models
            Fitted models by name.
        sessions : Sessions
            Sessions whose lists are looked at.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        ExaminationCurveDisplay
            The display, which has been drawn.
        """
        curves = {
            name: model.examination_by_rank(sessions)
            for name, model in _by_name(models).items()
        }
        return cls(curves).plot(ax, **line_kw)


class PerplexityCurveDisplay(_RankCurves):
    """Perplexity of several models of clicks at each rank.

    Make one with `from_models`; the constructor only holds data.

    Parameters
    ----------
    curves : mapping of str to array-like of shape (n_ranks,)
        Perplexities from the first rank on, by the names of models.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes of the curves.
    figure_ : matplotlib figure
        Figure of the axes.
    lines_ : dict of str to matplotlib line
        Lines by name.

    Examples
    --------
    >>> from skrank.click import CascadeModel, RankClickModel, Sessions
    >>> from skrank.inspection import PerplexityCurveDisplay
    >>> clicks = [[1, 0, 0], [0, 1, 0]] * 5
    >>> log = Sessions.from_lists(["q"] * 10, [["a", "b", "c"]] * 10, clicks)
    >>> models = {"cascade": CascadeModel().fit(log), "rank": RankClickModel().fit(log)}
    >>> display = PerplexityCurveDisplay.from_models(models, log)
    >>> display.ax_.get_ylabel()
    'Perplexity'
    """

    _label = "Perplexity"

    @classmethod
    def from_models(
        cls,
        models: Any,
        sessions: Sessions,
        *,
        kind: Kind = "marginal",
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the curves of fitted models.

        Parameters
        ----------
        models : click model, or mapping of str to click models
            Fitted models by name.
        sessions : Sessions
            Sessions, best those that the models were not fitted to.
        kind : {"conditional", "marginal"}, default="marginal"
            Kind of the probabilities, as in `skrank.click.BaseClickModel.perplexity`.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        PerplexityCurveDisplay
            The display, which has been drawn.
        """
        check_arguments(cls.from_models, kind=kind)
        curves = {
            name: model.perplexity(sessions, kind=kind)
            for name, model in _by_name(models).items()
        }
        return cls(curves).plot(ax, **line_kw)


def _by_name(models: Any) -> dict[str, BaseClickModel]:
    if isinstance(models, BaseClickModel):
        models = {type(models).__name__: models}
    if not isinstance(models, Mapping) or not all(
        isinstance(model, BaseClickModel) for model in models.values()
    ):
        raise TypeError(
            f"models must be a model of clicks, or several by name, got {shown(models)}"
        )
    if not models:
        raise ValueError("models must hold at least one model, got none")
    return {str(name): model for name, model in models.items()}
