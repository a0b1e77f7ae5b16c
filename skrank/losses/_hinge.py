"""Hinges: losses that ask for a margin between the right and the wrong energy."""

from dataclasses import field
from typing import Annotated, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from skrank._core import _pair_losses, _segments
from skrank._core._parameters import Interval, NonNegative
from skrank.losses._functional import BaseMarginLoss, hinge
from skrank.losses._pairs import PreparedPairs


class _Ramp(BaseMarginLoss):
    """Hinges, cut off at a cap or not.

    Parameters
    ----------
    width : float, default=0.0
        Length of the parabola that replaces each kink; 0 keeps the kink.
    """

    width: NonNegative = 0.0

    def _shape(self) -> tuple[float, float, float]:
        """Margin, cap and width of the hinge."""
        raise NotImplementedError

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        return _ramp_of(margins, *self._shape())

    def _prepare_pairs(self, *rows):
        return PreparedRamp(*rows, shape=self._shape())

    def smoothed(self, width: float) -> Self:
        """Return the loss with a parabola in place of each kink.

        Parameters
        ----------
        width : float
            Length of the parabola; a pair or document changes by ``width / 2`` at most.

        Returns
        -------
        BaseMarginLoss
            A loss of the same class.
        """
        return self._with(width=width)

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"width": 0.4}]


class PerceptronLoss(_Ramp):
    r"""Perceptron loss: how far the right energy lies above the lowest one.

    .. math:: L = E(\text{right}) - \min_a E(a)

    over the answers a: all labels of the document (pointwise), or the two documents of
    a pair (pairwise, where it is :math:`\max(0, E_u - E_v)` for u preferred to v).
    Equal energies cost nothing, so scores that are all zero are a minimum, where a line
    search stops; a stochastic solver departs, because the gradient there is that of the
    side on which answers cost. Pairwise, this holds where the scores of a query are all
    equal, as in `HingeLoss` with a margin of 0; `HingeLoss` with a margin above 0 has
    no such minimum.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents.

    References
    ----------
    [Fang2016]_, table 2; [LeCun2006]_, eq. 7.

    Examples
    --------
    >>> from skrank.losses import PerceptronLoss
    >>> values, gradient = PerceptronLoss().value_gradient([1, 0], [0, 2], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([2.0], [-1.0, 1.0])
    """

    short_name: ClassVar[str] = "perceptron"

    def _shape(self):
        return 0.0, np.inf, float(self.width)


class HingeLoss(_Ramp):
    r"""Hinge loss: the right energy must lie below the wrong one by a margin.

    .. math:: L = \max(0, M + E(\text{right}) - E(\text{wrong}))

    Pairwise, right and wrong are the preferred and the other document of a pair, so
    that :math:`L = \max(0, M - (f(x_u) - f(x_v)))`, the loss of `RankSVM`; pointwise, a
    document's label and its most offending wrong label. The loss of an energy
    :math:`-r f` with labels −1 and 1 is :math:`\max(0, M - 2 r f)`, so that M = 2 gives
    twice the hinge loss of a support vector machine.

    With a width :math:`\mu` the kink becomes a parabola,

    .. math:: L(z) = \frac{\max(0, M - z)^2 - \max(0, M - \mu - z)^2}{2 \mu},

    which is at most :math:`\mu / 2` below the hinge, for solvers that need a smooth
    loss.

    With a margin of 0, scores that are all zero are a minimum: L-BFGS stops where it
    starts, at coefficients of zero. Take a margin above 0, whose size only sets the
    scale of the scores, or a stochastic solver: where the scores of a query are all
    equal, the gradient is that of the side on which pairs cost. Where only some of them
    are, the sum over all pairs gives pairs of equal scores a gradient of zero. Losses
    that are summed pair by pair (explicit or drawn pairs, weights by both grades), and
    the pointwise reading, take the side on which answers cost for every tie.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents,
    whatever the number of distinct grades and the range of the scores.

    Parameters
    ----------
    margin : float, default=1.0
        Margin M, 0 or more: the difference from which on an answer costs nothing.

    References
    ----------
    [Liu2011]_, section 3.2.6; [Fang2016]_, table 2, eq. 6 (which must read
    :math:`M - 2 r \theta^T x`) and eq. 11–15; [LeCun2006]_, eq. 11; [Chapelle2010]_,
    section 5, for smooth hinges.

    Examples
    --------
    >>> from skrank.losses import HingeLoss
    >>> values, gradient = HingeLoss().value_gradient([1, 0], [0.5, 0], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([0.5], [-1.0, 1.0])
    >>> prepared = HingeLoss(reading="pointwise").prepare([1], [0, 1], labels=[0, 1, 2])
    >>> prepared.value_gradient([[-3.0, -1.0, -0.5]])
    (array([1.5]), array([[ 0., -1.,  1.]]))
    """

    short_name: ClassVar[str] = "hinge"
    margin: NonNegative = field(default=1.0, kw_only=False)

    def _shape(self):
        return float(self.margin), np.inf, float(self.width)

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"margin": 0.3}]


class SquaredHingeLoss(BaseMarginLoss):
    r"""Squared hinge loss: smooth, and harder on large errors than the hinge.

    .. math:: L = \max(0, M + E(\text{right}) - E(\text{wrong}))^2

    Pairwise, right and wrong are the preferred and the other document of a pair, so
    that :math:`L = \max(0, M - (f(x_u) - f(x_v)))^2`; pointwise, a document's label and
    its most offending wrong label. With a margin of 0, scores that are all zero are a
    minimum that no solver leaves; the size of a margin above 0 only sets the scale of
    the scores.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents,
    whatever the number of distinct grades and the range of the scores.

    Parameters
    ----------
    margin : float, default=1.0
        Margin M, 0 or more: the difference from which on an answer costs nothing.

    References
    ----------
    [Liu2011]_, section 3.2.6; [Chapelle2010]_.

    Examples
    --------
    >>> from skrank.losses import SquaredHingeLoss
    >>> loss = SquaredHingeLoss(margin=1.0)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0.5, 0, -1], [0, 3])
    >>> values.tolist(), gradient.tolist()
    ([0.25], [-1.0, 1.0, 0.0])
    """

    short_name: ClassVar[str] = "squared_hinge"
    margin: NonNegative = field(default=1.0, kw_only=False)

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        short = np.maximum(0.0, self.margin - margins)
        return short * short, -2.0 * short

    def margin_curvature(self, margins: np.ndarray) -> np.ndarray:
        """Second derivative with respect to the margin, shape (n_pairs,)."""
        return 2.0 * (margins < self.margin)

    def smoothed(self, width: float) -> Self:
        """Return the loss itself, which is smooth."""
        return self

    def _prepare_pairs(self, *rows):
        return PreparedHinge(*rows, margin=float(self.margin), squared=True)

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"margin": 0.3}]


class LVQ2Loss(_Ramp):
    r"""LVQ2 loss: a hinge that gives up what is too far off.

    .. math:: L = \min(C, \max(0, M + E(\text{right}) - E(\text{wrong})))

    Only answers in a window near the decision have a gradient: a pair whose order is
    badly wrong is treated as noise. Not convex.

    With a margin of 0, the choice of the paper, scores that are all zero are a minimum:
    L-BFGS stops where it starts, at coefficients of zero. Take a margin above 0, start
    from the loss without its cap (`skrank.solvers.RelaxedStart`) with such a margin, or
    take a stochastic solver: where the scores of a query are all equal, the gradient is
    that of the paper's eq. 28, which steps wherever the right energy is not below the
    wrong one. Where only some of them are, the sum over all pairs gives pairs of equal
    scores a gradient of zero; `HingeLoss` says where every tie steps.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents,
    whatever the number of distinct grades and the range of the scores.

    Parameters
    ----------
    cap : float, default=1.0
        Largest loss C of one pair or document; ``numpy.inf`` gives `HingeLoss`.
    margin : float, default=0.0
        Margin M, 0 or more: the difference from which on an answer costs nothing.

    References
    ----------
    [Fang2016]_, table 2 and section 5.2, eq. 28; table 4 has a cap of 1 for MQ2007 and
    of 0.1 for MQ2008.

    Examples
    --------
    >>> from skrank.losses import LVQ2Loss
    >>> loss = LVQ2Loss(cap=1.0)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0, 0.5, 3], [0, 3])
    >>> values.tolist(), gradient.tolist()
    ([1.5], [-1.0, 1.0, 0.0])
    """

    short_name: ClassVar[str] = "lvq2"
    cap: Annotated[float, Interval(0, np.inf, "right")] = field(
        default=1.0, kw_only=False
    )
    margin: NonNegative = 0.0

    @property
    def convex(self):
        """Whether the loss is convex: only without a cap."""
        return self.cap == np.inf

    def relaxed(self) -> Self:
        """Return the loss without its cap, which is convex."""
        return self._with(cap=np.inf)

    def _shape(self):
        return float(self.margin), float(self.cap), float(self.width)

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"cap": 0.7, "margin": 0.3}, {"cap": np.inf}]


def _ramp_of(margins, margin, cap, width) -> tuple[np.ndarray, np.ndarray]:
    """Return hinges of margins, cut off at the cap, and their slopes."""
    # Beyond the cap all is constant, and sums of large numbers would cancel.
    gap = margin - margins
    values, slopes = hinge(np.minimum(gap, cap + width), width)
    if cap < np.inf:
        excess, excess_slopes = hinge(np.minimum(gap - cap, width), width)
        values, slopes = values - excess, slopes - excess_slopes
    return values, -slopes


class PreparedHinge(PreparedPairs):
    """Sum of hinges, or of their squares, over all preference pairs.

    Parameters
    ----------
    y, ptr, sample_weight, n_threads, weighting
        See `PreparedPairs`.
    margin : float
        Difference of scores from which on a pair costs nothing.
    squared : bool
        Whether hinges are squared.
    """

    def __init__(
        self, y, ptr, sample_weight, n_threads, weighting, margin, squared=False
    ):
        super().__init__(y, ptr, sample_weight, n_threads, weighting)
        self.margin = margin
        self.squared = squared

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return self.at_margin(raw, self.margin, self.squared)

    @available_if(lambda self: self.squared)
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return _pair_losses.squared_hinge_hessian(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.margin,
            self.n_threads,
        )

    def at_margin(self, raw, margin, squared):
        """Value and gradient for another margin or power on the same pairs."""
        return _pair_losses.hinge(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            margin,
            squared,
            np.inf,
            0.0,
            self.n_threads,
        )


class PreparedRamp(PreparedPairs):
    """Sum of hinges over all preference pairs, bent, cut off at a cap, or both.

    Parameters
    ----------
    y, ptr, sample_weight, n_threads, weighting
        See `PreparedPairs`.
    shape : tuple of float
        Margin, cap and width of the hinges.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, weighting, shape):
        super().__init__(y, ptr, sample_weight, n_threads, weighting)
        self.margin, self.cap, self.width = shape
        self.stuck_at_zero = self.margin == 0.0 and self.width == 0.0
        if self.stuck_at_zero:
            self.preferred, self.other = _pair_losses.pair_weights(
                self.ptr, self.order, self.lower, self.weight
            )

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        raw = self._scores(raw)
        values, gradient = _pair_losses.hinge(
            raw,
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.margin,
            False,
            self.cap,
            self.width,
            self.n_threads,
        )
        if self.stuck_at_zero:
            # The kernel's slope at the kink is 0, and no solver would leave a start
            # where all scores are equal; eq. 28 of Fang steps where E_u - E_v >= 0.
            flat = self._is_flat(raw)
            gradient[flat] = self.other[flat] - self.preferred[flat]
        return values, gradient

    def _is_flat(self, raw):
        """Rows of queries whose scores are all equal."""
        sizes = np.diff(self.ptr)
        held = sizes > 0  # queries without rows may start behind the last row
        first = np.repeat(raw[self.ptr[:-1][held]], sizes[held])
        differs = _segments.segment_sum((raw != first).astype(np.float64), self.ptr)
        return np.repeat(differs == 0.0, sizes)
