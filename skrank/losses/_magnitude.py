"""Losses that keep the magnitude of preferences."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from skrank._core import _pair_losses, _segments
from skrank._core._parameters import Interval, NonNegative
from skrank.losses._base import BaseLoss
from skrank.losses._functional import hinge
from skrank.losses._hinge import PreparedHinge, PreparedRamp
from skrank.losses._pairs import PairSum, PairWeighting, PreparedPairs, add_pairs

# Larger powers overflow at errors of 1000 already.
Power = Annotated[float, Interval(1, 100)]


class MagnitudePreservingLoss(BaseLoss):
    r"""Losses that want scores to differ as much as the grades do.

    .. math::

        L_{MP} &= |\Delta f - \Delta y|^\beta \\
        L_{HMP} &= \begin{cases} 0 & \text{if } \Delta f \ge 0 \\
                   |\Delta f - \Delta y|^\beta & \text{otherwise} \end{cases} \\
        L_{SVR} &= \max(0, |\Delta f - \Delta y| - \varepsilon)^\beta

    with :math:`\Delta f = f(x_u) - f(x_v)` and :math:`\Delta y = y_u - y_v > 0` for
    each preference pair. "mp" is regression on differences; "svr" leaves small errors
    free; "hmp" charges only pairs that are out of order, which makes it discontinuous
    where two scores are equal, and not convex. Scores that are all equal cost nothing
    under "hmp", so solvers must not start there: see `skrank.solvers.RelaxedStart`,
    which starts from "mp".

    A query of m documents costs O(m) for "mp" with a power of 2, apart from one sort by
    grade, O(m log m) for powers of 1 and 2, and O(m²), in blocks, otherwise or where
    weights depend on both grades.

    Parameters
    ----------
    kind : {"mp", "hmp", "svr"}, default="mp"
        Which of the losses.
    beta : float, default=2.0
        Power :math:`\beta`, from 1 to 100.
    epsilon : float, default=0.1
        Half width :math:`\varepsilon` of what costs nothing under "svr".
    width : float, default=0.0
        Length of the parabolas that replace the kinks of "mp" and "svr" with a power of
        1; 0 keeps them.
    normalization : {"pair", "query", "n_pairs"}, default="pair"
        Weight of queries; see `BaseMarginLoss`.
    grade_weights : callable or mapping, default=None
        Weight of a pair by its two grades; see `BaseMarginLoss`.

    References
    ----------
    [Cortes2007]_, section 2; [Liu2011]_, section 3.3.2, eq. 3.21–3.23. Eq. 3.23 prints
    :math:`|\Delta f - \Delta y - \varepsilon|^\beta`, which would not be 0 at the edge
    of the free zone on one side.

    Examples
    --------
    >>> from skrank.losses import MagnitudePreservingLoss
    >>> loss = MagnitudePreservingLoss("svr", beta=1.0, epsilon=0.5)
    >>> values, gradient = loss.value_gradient([2, 0], [0.0, 0.0], [0, 2])
    >>> values.tolist(), gradient.tolist()  # 2 is wanted, 1.5 is enough
    ([1.5], [-1.0, 1.0])
    """

    short_name: ClassVar[str] = "magnitude_preserving"
    shift_invariant = True

    kind: Literal["mp", "hmp", "svr"] = field(default="mp", kw_only=False)
    beta: Power = 2.0
    epsilon: NonNegative = 0.1
    width: NonNegative = 0.0
    normalization: Literal["pair", "query", "n_pairs"] = "pair"
    grade_weights: Callable | Mapping | None = None

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return "pair" if self.normalization == "pair" else "query"

    @property
    def convex(self):
        """Whether the loss is convex: all but "hmp"."""
        return self.kind != "hmp"

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``: that of squares."""
        return self.kind == "mp" and self.beta == 2.0 and self.grade_weights is None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"beta": 1.0, "normalization": "query"},
            {"beta": 1.5, "normalization": "n_pairs"},
            {"kind": "hmp"},
            {"kind": "hmp", "beta": 1.0},
            {"kind": "hmp", "beta": 3.0},
            {"kind": "svr", "epsilon": 0.3},
            {"kind": "svr", "beta": 1.0, "grade_weights": _total},
            {"kind": "svr", "beta": 1.0, "width": 0.4},
            {"beta": 1.0, "width": 0.4, "grade_weights": _total},
        ]

    def relaxed(self) -> Self:
        """Return the convex loss that also charges pairs in order: "mp" for "hmp"."""
        return self._with(kind="mp") if self.kind == "hmp" else self

    def smoothed(self, width: float) -> Self:
        """Return the loss with a parabola in place of each kink.

        Parameters
        ----------
        width : float
            Length of the parabolas; a pair changes by ``width / 2`` at most.

        Returns
        -------
        MagnitudePreservingLoss
            The loss itself if its power is above 1, or if it is "hmp", whose jumps no
            parabola bridges.
        """
        has_kinks = self.beta == 1.0 and self.kind != "hmp"
        return self._with(width=width) if has_kinks else self

    def pair_terms(
        self, margins: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single pairs.

        Parameters
        ----------
        margins : ndarray of shape (n_pairs,)
            Differences of scores, the preferred document first.
        targets : ndarray of shape (n_pairs,)
            Differences of grades, above 0.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Loss of each pair.
        slopes : ndarray of shape (n_pairs,)
            Derivative with respect to the margin.
        """
        errors = margins - targets
        size = np.abs(errors)
        if self.kind == "svr":
            size = np.maximum(0.0, size - self.epsilon)
        elif self.kind == "hmp":
            size = np.where(margins < 0.0, size, 0.0)
        if self.beta == 1.0 and self.kind != "hmp":
            values, steep = hinge(size, float(self.width))
            return values, np.where(size > 0.0, np.sign(errors) * steep, 0.0)
        steep = np.where(size > 0.0, size ** (self.beta - 1.0), 0.0)
        return size * steep, self.beta * np.sign(errors) * steep

    def _prepare(self, y, ptr, sample_weight, n_threads):
        weighting = PairWeighting.of(self, y)
        rows = (y, ptr, sample_weight, n_threads, weighting)
        by_row = weighting is None or weighting.by_row
        if not by_row or self.beta not in (1.0, 2.0):
            return _PairBlocks(self, *rows)
        if self.kind == "hmp":
            return _PreparedMisordered(self, *rows)
        if self.kind == "mp" and self.beta == 2.0:
            return _PreparedSquares(*rows)
        return _PreparedTwoHinges(self, *rows)


def _total(better, worse):
    """A weighting by both grades, for `_variants`."""
    return better + worse


class _PreparedSquares(PreparedPairs):
    """Squared errors, by their sums over whole grades."""

    def value_gradient(self, raw):
        residuals = self._centred_scores(raw) - self.y
        return _pair_losses.squared_differences(
            residuals, self.ptr, self.order, self.lower, self.weight, self.n_threads
        )

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian, which scores do not change."""
        places = _pair_losses.pair_weights(
            self.ptr, self.order, self.lower, self.weight
        )
        return *self.value_gradient(raw), 2.0 * (places[0] + places[1])


class _PreparedTwoHinges(PreparedPairs):
    """Errors of both signs: hinges of residuals, and of residuals with their sign."""

    def __init__(self, loss, *rows):
        free = float(loss.epsilon) if loss.kind == "svr" else 0.0
        width = float(loss.width) if loss.beta == 1.0 else 0.0
        shape = (-free, np.inf, width)
        if loss.beta == 2.0:
            self.one_side = PreparedHinge(*rows, margin=-free, squared=True)
        else:
            self.one_side = PreparedRamp(*rows, shape=shape)
        self.one_side.loss_name = type(loss).__name__
        super().__init__(*rows)

    def value_gradient(self, raw):
        residuals = self._centred_scores(raw) - self.y
        short, up = self.one_side.value_gradient(residuals)
        beyond, down = self.one_side.value_gradient(-residuals)
        return short + beyond, up - down


class _PreparedMisordered(PreparedPairs):
    """Errors of the pairs that are out of order, gathered by score."""

    def __init__(self, loss, *rows):
        super().__init__(*rows)
        self.squared = loss.beta == 2.0

    def value_gradient(self, raw):
        return _pair_losses.misordered(
            self._scores(raw),
            self._centred_scores(raw) - self.y,
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.squared,
            self.n_threads,
        )


class _PairBlocks(PairSum):
    """Any of the losses, pair by pair; they compare grades as well as scores."""

    def value_gradient(self, raw):
        raw = self._scores(raw)
        losses, gradient = np.zeros_like(raw), np.zeros_like(raw)
        for rows, better, worse, weight in self.blocks():
            y, scores = self.y[rows], raw[rows]
            values, slopes = self.loss.pair_terms(
                scores[better] - scores[worse], y[better] - y[worse]
            )
            sums = losses[rows], gradient[rows]
            add_pairs(*sums, better, worse, values, slopes, weight)
        return _segments.segment_sum(losses, self.ptr), gradient
