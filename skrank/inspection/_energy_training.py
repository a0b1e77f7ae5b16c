"""Energies of desired and undesired answers over the iterations of training."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from skrank._core._parameters import NonNegativeInt, PositiveInt
from skrank._core._validation import check_arguments, check_options
from skrank.inspection._axes import axes_or_new, check_display
from skrank.inspection._legends import place_legend
from skrank.inspection._readings import (
    label_weights,
    list_weights,
    pair_weights,
    query_means,
)
from skrank.inspection._texts import fit_title
from skrank.inspection._watch import TrainingWatch

Reading = Literal["pairwise", "listwise", "pointwise"]
Normalization = Literal["list", "sublist"]
Scale = Literal["energy", "relative", "rate"]

_NAMES: dict[Reading, tuple[str, str]] = {
    "pairwise": ("preferred documents", "other documents"),
    "listwise": ("desired: top k", "contrastive"),
    "pointwise": ("own label", "other labels"),
}
_SCALES: dict[Scale, str] = {
    "energy": "Energy (lower is better)",
    "relative": "Energy relative to the start",
    "rate": "Decrease of the energy per iteration",
}


class EnergyTrainingDisplay:
    r"""Energies of desired and undesired answers over the iterations of training.

    Learning shapes the energy surface: it should lower the energy of desired answers
    against the energy of the others. Which answers these are depends on the *reading*
    of the task:

    - ``"pairwise"``: the mean energies of the preferred document and of the other
      document over all preference pairs;
    - ``"listwise"``: the two terms of the energy of the ideal list :math:`\pi`, as
      means over queries, with weights P(t) that fall like :math:`1 / \log_2 t`,

      .. math:: \sum_{j=1}^{k} E(x_{\pi_j}), \qquad
                \sum_{j=1}^{k} \sum_{t=j}^{m} P(t) \, E(x_{\pi_t});

    - ``"pointwise"``: for energies that depend on the label, the mean energies of the
      documents' own labels and of all other labels.

    Make one with `from_training`; the constructor only holds data.

    Parameters
    ----------
    desired : array-like of shape (n_iterations + 1,)
        Mean energy of the desired answers: before training, then after each iteration.
    others : array-like of shape (n_iterations + 1,)
        Mean energy of the other answers, at the same times.
    desired_name : str, default="preferred documents"
        Label of the first line.
    others_name : str, default="other documents"
        Label of the second line.
    best_iteration : int, default=None
        Iteration whose parameters were kept, if it was chosen on validation queries;
        marked by a vertical line.
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
    desired_line_ : matplotlib line
        Line of the desired answers.
    others_line_ : matplotlib line
        Line of the other answers.
    best_line_ : matplotlib line or None
        Vertical line at the best iteration.

    References
    ----------
    [Fang2016]_, section 7.2, figure 9, with eq. 29-31 for the listwise terms and
    figures 1 and 2 for the other readings.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import EnergyTrainingDisplay
    >>> from skrank.rankers import RankNet
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankNet((8,), max_iter=10, random_state=0)
    >>> display = EnergyTrainingDisplay.from_training(ranker, X, y, groups)
    >>> gap = display.others - display.desired
    >>> len(gap), bool(gap[-1] > gap[0])
    (11, True)
    """

    estimator_: Any

    def __init__(
        self,
        *,
        desired: Any,
        others: Any,
        desired_name: str = "preferred documents",
        others_name: str = "other documents",
        best_iteration: NonNegativeInt | None = None,
        name: str | None = None,
    ):
        self.desired = desired
        self.others = others
        self.desired_name = desired_name
        self.others_name = others_name
        self.best_iteration = best_iteration
        self.name = name

    def plot(self, ax: Any = None, *, scale: Scale = "energy", **line_kw: Any) -> Self:
        r"""Draw both curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        scale : {"energy", "relative", "rate"}, default="energy"
            "energy" draws the energies :math:`E_t` themselves. "relative" draws
            :math:`E_t / |E_s|`, where s is the first iteration at which both energies
            differ from zero, because some rankers start with energies of zero. "rate"
            draws the rate of decrease :math:`(E_{t-1} - E_t) / |E_{t-1}|`, which is
            undefined where :math:`E_{t-1}` is zero.
        **line_kw : dict
            Passed on to ``ax.plot`` for both curves.

        Returns
        -------
        EnergyTrainingDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the scale is unknown, or it is "relative" and all energies are zero.
        """
        check_arguments(EnergyTrainingDisplay.plot, scale=scale)
        iterations, desired, others = self.curves(scale)
        ax = axes_or_new(ax, "EnergyTrainingDisplay.plot")
        style = {"color": "C0", "label": self.desired_name, **line_kw}
        (self.desired_line_,) = ax.plot(iterations, desired, **style)
        style = {"color": "C1", "ls": "--", "label": self.others_name, **line_kw}
        (self.others_line_,) = ax.plot(iterations, others, **style)
        self.best_line_ = None
        if self.best_iteration is not None:
            self.best_line_ = ax.axvline(
                self.best_iteration,
                color="0.5",
                linestyle=":",
                linewidth=1,
                label=f"best iteration ({self.best_iteration})",
            )
        ax.set_xlabel("Iteration")
        ax.set_ylabel(_SCALES[scale])
        ax.xaxis.get_major_locator().set_params(integer=True)
        if scale != "energy":
            ax.yaxis.set_major_formatter(_percent)
        if self.name is not None:
            fit_title(ax, ax.set_title(self.name))
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def curves(
        self, scale: Scale = "energy"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return both curves on a scale of `plot`; this needs no matplotlib.

        Parameters
        ----------
        scale : {"energy", "relative", "rate"}, default="energy"
            Scale of the energies, as in `plot`.

        Returns
        -------
        iterations : ndarray of shape (n_points,)
            Iterations; 0 is before training.
        desired, others : ndarrays of shape (n_points,)
            Values on this scale; NaN where they are undefined.

        Raises
        ------
        ValueError
            If the scale is unknown, or it is "relative" and all energies are zero.
        """
        check_arguments(EnergyTrainingDisplay.curves, scale=scale)
        shape = ("n_iterations",)
        data = check_display(self, desired=shape, others=shape)
        both = np.array([data["desired"], data["others"]])
        iterations = np.arange(both.shape[1])
        if scale == "relative":
            start = _first_without_zero(both)
            iterations, both = iterations[start:], both[:, start:]
            both = both / np.abs(both[:, :1])
        elif scale == "rate":
            before = np.abs(both[:, :-1])
            rates = np.full_like(before, np.nan)
            np.divide(both[:, :-1] - both[:, 1:], before, out=rates, where=before > 0)
            iterations, both = iterations[1:], rates
        return iterations, both[0], both[1]

    @classmethod
    def from_training(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        reading: Reading = "pairwise",
        top_k: PositiveInt | None = 5,
        normalization: Normalization = "list",
        center: bool = False,
        fit_params: Mapping[str, Any] | None = None,
        scale: Scale = "energy",
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Train a clone of a ranker and draw the energies of its training rows.

        The energies at iteration 0 belong to the parameters that the training really
        started from. Of several restarts, the one that was kept is shown. Complexity:
        that of the training and of computing the energies of all rows once per
        iteration.

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
        reading : {"pairwise", "listwise", "pointwise"}, default="pairwise"
            Which answers are desired. "pointwise" needs an energy that depends on the
            label; for the others, the energy of a document is the one that it is ranked
            by.
        top_k : int, default=5
            Number k of leading positions of "listwise"; None means all positions.
        normalization : {"list", "sublist"}, default="list"
            Positions over which the weights P of "listwise" sum to one: those of the
            whole list, as in the paper, or those from j on.
        center : bool, default=False
            Whether energies are taken relative to the mean of their query; without
            effect on "pointwise". Only differences within a query matter to a ranking,
            and without centring both curves may move in parallel.
        fit_params : dict, default=None
            Further arguments of `fit`, such as ``sample_weight``. Queries that the
            ranker holds out for validation are drawn with the others.
        scale : {"energy", "relative", "rate"}, default="energy"
            Scale of the energies, as in `plot`.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        **line_kw : dict
            Passed on to ``ax.plot`` for both curves.

        Returns
        -------
        EnergyTrainingDisplay
            The display, drawn; its ``estimator_`` is the fitted clone.

        Raises
        ------
        TypeError
            If the estimator is not an energy-based ranker, or if the reading is
            "pointwise" and its energy does not depend on the label.
        ValueError
            If an option is not acceptable, or no document is preferred to another.
        """
        check_options(cls.from_training, locals())
        record = _Means(reading, top_k, normalization, center)
        watch = TrainingWatch(
            estimator,
            "EnergyTrainingDisplay",
            by_label=reading == "pointwise",
            record=record,
        ).fit(X, y, groups, fit_params)
        desired, others = np.transpose(watch.records)
        validated = len(watch.ranker.validation_curve_) > 0
        display = cls(
            desired=desired,
            others=others,
            desired_name=record.names[0],
            others_name=record.names[1],
            best_iteration=watch.ranker.best_iteration_ if validated else None,
            name=watch.name,
        )
        display.estimator_ = watch.estimator
        return display.plot(ax, scale=scale, **line_kw)


class _Means:
    """Mean energies of the desired and of the other answers, under one reading."""

    def __init__(self, reading, top_k, normalization, center):
        self.reading = reading
        self.top_k = top_k
        self.normalization = normalization
        self.center = center
        self.weights = None
        self.names = _NAMES[reading]
        if reading == "listwise" and top_k is not None:
            self.names = f"desired: top {top_k}", self.names[1]

    def __call__(self, energies, data, labels):
        # Grades are known only once the rows are, and weights depend on them alone.
        if self.weights is None:
            self.weights = self._make_weights(data, labels)
        return [float((weights * energies).sum()) for weights in self.weights]

    def _make_weights(self, data, labels):
        y, ptr = data.y, data.ptr
        if self.reading == "pointwise":
            if labels is None:
                raise TypeError(
                    "reading='pointwise' needs an energy that depends on the label, "
                    "such as AbsoluteLabelEnergy"
                )
            return label_weights(y, labels)
        if self.reading == "pairwise":
            weights = pair_weights(y, ptr)
        else:
            weights = list_weights(y, ptr, self.top_k, self.normalization)
        if not self.center:
            return weights
        # Centring is a symmetric linear map: the weights are centred once, instead of
        # the energies in every iteration.
        return [weight - query_means(weight, ptr) for weight in weights]


def _first_without_zero(both):
    nonzero = np.flatnonzero((both != 0).all(axis=0))
    if not len(nonzero):
        raise ValueError(
            "the energies stay zero, so there is nothing they could be relative to; "
            "use scale='energy'"
        )
    return nonzero[0]


def _percent(value, position):
    return f"{100 * value:g} %"
