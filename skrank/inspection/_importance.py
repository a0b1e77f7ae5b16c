"""Importances of features, drawn as bars."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import PositiveInt
from skrank._core._pipelines import fitted_last_step
from skrank._core._validation import as_ids, check_options
from skrank.inspection._axes import axes_or_new, check_display
from skrank.inspection._texts import fit_title, name_ticks


class FeatureImportanceDisplay:
    """Importances of features, drawn as bars with the greatest on top.

    Make one with `from_estimator` or `from_permutations`; the constructor only holds
    data.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Importance of each feature.
    deviations : array-like of shape (n_features,), default=None
        Standard deviations of the importances, drawn as whiskers.
    feature_names : sequence of str, default=None
        Names of the features; None shows their numbers.
    kind : str, default="importance"
        Name of what the bars show, for the label of the axis.
    max_features : int, default=20
        Number of features to draw.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    bars_ : matplotlib container
        One bar for each feature drawn, the least important first.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import FeatureImportanceDisplay
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, random_state=0).fit(X, y, groups)
    >>> display = FeatureImportanceDisplay.from_estimator(ranker, max_features=5)
    >>> len(display.bars_)
    5
    """

    def __init__(
        self,
        *,
        importances: Any,
        deviations: Any = None,
        feature_names: Any = None,
        kind: str = "importance",
        max_features: PositiveInt = 20,
    ):
        self.importances = importances
        self.deviations = deviations
        self.feature_names = feature_names
        self.kind = kind
        self.max_features = max_features

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
        FeatureImportanceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the data have other shapes, or numbers that cannot be drawn.
        """
        shape = ("n_features",)
        data = check_display(self, importances=shape, deviations=shape)
        importances = data["importances"]
        if "deviations" in data and (data["deviations"] < 0).any():
            raise ValueError(
                f"deviations must hold numbers >= 0, got {data['deviations'].min():g}"
            )
        names = names_of(self.feature_names, len(importances))
        ax = axes_or_new(ax, "FeatureImportanceDisplay.plot")
        # Of equal importances, the feature with the lower number is drawn on top:
        # otherwise the sort would decide, and pictures would differ between platforms.
        order = np.lexsort((np.arange(len(importances)), -importances))
        order = order[: self.max_features][::-1]
        if self.deviations is not None:
            bar_kw = {"xerr": data["deviations"][order], **bar_kw}
        places = np.arange(len(order))
        self.bars_ = ax.barh(places, importances[order], **bar_kw)
        room = name_ticks(ax, places, [str(names[j]) for j in order])
        title = self.kind[:1].upper() + self.kind[1:]
        fit_title(ax, ax.set_xlabel(title), room)
        ax.set_ylabel("Feature")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: Literal["gain", "split"] = "gain",
        feature_names: Sequence[str] | None = None,
        max_features: PositiveInt = 20,
        ax: Any = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the importances of the features in the splits of a ranker of trees.

        Parameters
        ----------
        estimator : ranker or Pipeline
            A fitted ranker with ``ensemble_``, or a pipeline that ends in one.
        kind : {"gain", "split"}, default="gain"
            "gain" is the share of a feature in the total gain of all splits, "split"
            its share in the number of splits.
        feature_names : sequence of str, default=None
            Names of the features; None takes the names seen in `fit`, if there were
            any.
        max_features : int, default=20
            Number of features to draw.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **bar_kw : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        FeatureImportanceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no trees.
        """
        check_options(cls.from_estimator, locals())
        ranker = fitted_last_step(estimator)
        if not hasattr(ranker, "ensemble_"):
            raise TypeError(
                f"estimator: {type(ranker).__name__} has no trees; use "
                "from_permutations with query_permutation_importance, which takes any "
                "ranker"
            )
        if feature_names is None:
            feature_names = getattr(ranker, "feature_names_in_", None)
        display = cls(
            importances=ranker.ensemble_.feature_importances(
                ranker.n_features_in_, kind
            ),
            feature_names=feature_names,
            kind=f"share of {'total gain' if kind == 'gain' else 'splits'}",
            max_features=max_features,
        )
        return display.plot(ax, **bar_kw)

    @classmethod
    def from_permutations(
        cls,
        result: Any,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: PositiveInt = 20,
        ax: Any = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the importances that `query_permutation_importance` returned.

        Parameters
        ----------
        result : Bunch
            Means and standard deviations as ``importances_mean`` and
            ``importances_std``, and ``feature_names`` if there are any.
        feature_names : sequence of str, default=None
            Names of the features; None takes those of the data frame that was permuted,
            if it was one.
        max_features : int, default=20
            Number of features to draw.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **bar_kw : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        FeatureImportanceDisplay
            The display, drawn.
        """
        check_options(cls.from_permutations, locals())
        if not hasattr(result, "importances_mean"):
            raise TypeError(
                "result must be what query_permutation_importance returns, got "
                f"{shown(result)}"
            )
        if feature_names is None:
            feature_names = getattr(result, "feature_names", None)
        display = cls(
            importances=result.importances_mean,
            deviations=result.importances_std,
            feature_names=feature_names,
            kind="loss of the measure when permuted",
            max_features=max_features,
        )
        return display.plot(ax, **bar_kw)


def names_of(names: Any, count: int, owner: str = "feature_names") -> np.ndarray:
    """Return names of features or documents, which are their numbers if there are none.

    Parameters
    ----------
    names : sequence or None
        Names.
    count : int
        Number of names that there should be.
    owner : str, default="feature_names"
        Name of the parameter that holds them, for error messages.

    Returns
    -------
    ndarray of shape (count,)
    """
    if names is None:
        return np.arange(count)
    names = as_ids(names, owner, "name")
    if len(names) != count:
        what = "features" if owner == "feature_names" else owner
        raise ValueError(f"{owner} must name {count} {what}, got {len(names)} names")
    return names
