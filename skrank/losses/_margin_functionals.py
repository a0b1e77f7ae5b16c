"""Functionals of the difference between a right and a wrong energy."""

from numbers import Real

import numpy as np
from scipy.special import expit

from skrank._core import _pair_losses, _segments
from skrank._core._shared_parameters import shares_parameters
from skrank.losses._base import check_positive
from skrank.losses._functional import (
    MarginFunctional,
    check_at_least_zero,
    hinge,
    logistic,
)
from skrank.losses._hinge import _PreparedHinge
from skrank.losses._pairs import PreparedPairs
from skrank.losses._ranknet import _PreparedRankNet


class _Ramp(MarginFunctional):
    """Hinges, cut off at a cap or not."""

    def _shape(self):
        """Margin, cap and width of the hinge, checked."""
        raise NotImplementedError

    def _check_parameters(self):
        self._shape()

    def margin_loss(self, margins):
        """Loss and slope of single margins; see `MarginFunctional.margin_loss`."""
        margin, cap, width = self._shape()
        # Beyond the cap all is constant, and sums of large numbers would cancel.
        gap = np.minimum(margin - margins, cap + width)
        values, slopes = hinge(gap, width)
        if cap < np.inf:
            excess, excess_slopes = hinge(gap - cap, width)
            values, slopes = values - excess, slopes - excess_slopes
        return values, -slopes

    def _prepare_pairs(self, y, ptr, sample_weight, n_threads):
        return _PreparedRamp(y, ptr, sample_weight, n_threads, *self._shape())

    def smoothed(self, width: float):
        """Return the loss with a parabola in place of each kink.

        Parameters
        ----------
        width : float
            Length of the parabola; a pair or document changes by ``width / 2`` at most.

        Returns
        -------
        EnergyFunctional
        """
        return type(self)(**{**self.get_params(deep=False), "width": width})


@shares_parameters
class PerceptronLoss(_Ramp):
    r"""Perceptron loss: how far the right energy lies above the lowest one.

    .. math:: L = E(\text{right}) - \min_a E(a)

    over the answers a: all labels of the document (pointwise), or the two documents of
    a pair (pairwise, where it is :math:`\max(0, E_u - E_v)` for u preferred to v).
    Equal energies cost nothing, so scores that are all zero are a minimum; the
    gradient there still pushes right answers down, from which a stochastic solver
    departs. `HingeLoss` asks for a margin.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents.

    Parameters
    ----------
    width : float, default=0.0
        Length of the parabola that replaces the kink; 0 keeps the kink.

    References
    ----------
    Fang and Liu, 2016, table 2; LeCun et al., 2006, eq. 7.

    Examples
    --------
    >>> from skrank.losses import PerceptronLoss
    >>> values, gradient = PerceptronLoss().value_gradient([1, 0], [0, 2], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([2.0], [-1.0, 1.0])
    """

    def __init__(self, *, width: float = 0.0, **shared):
        super().__init__(**shared)
        self.width = width

    def _shape(self):
        return 0.0, np.inf, check_at_least_zero(self.width, "width")


@shares_parameters
class HingeLoss(_Ramp):
    r"""Hinge loss: the right energy must lie below the wrong one by a margin.

    .. math:: L = \max(0, m + E(\text{right}) - E(\text{wrong}))

    Pairwise, right and wrong are the preferred and the other document of a pair, the
    loss of `RankSVM`; pointwise, a document's label and its most offending wrong label.
    The loss of an energy :math:`-r f` with labels −1 and 1 is :math:`\max(0, m - 2 r
    f)`, so that m = 2 gives twice the hinge loss of a support vector machine.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents.

    Parameters
    ----------
    margin : float, default=1.0
        Margin m; 0 or more.
    width : float, default=0.0
        Length of the parabola that replaces the kink; 0 keeps the kink.

    References
    ----------
    Fang and Liu, 2016, table 2, eq. 6 (which must read :math:`M - 2 r \theta^T x`) and
    eq. 11; LeCun et al., 2006, eq. 11.

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

    def __init__(self, margin: float = 1.0, *, width: float = 0.0, **shared):
        super().__init__(**shared)
        self.margin = margin
        self.width = width

    def _shape(self):
        margin = check_at_least_zero(self.margin, "margin")
        return margin, np.inf, check_at_least_zero(self.width, "width")


@shares_parameters
class LVQ2Loss(_Ramp):
    r"""LVQ2 loss: a hinge that gives up what is too far off.

    .. math:: L = \min(M, \max(0, m + E(\text{right}) - E(\text{wrong})))

    Only answers in a window near the decision have a gradient: a pair whose order is
    badly wrong is treated as noise. Not convex. With m = 0, the choice of the paper,
    scores that are all zero are a minimum; the gradient there is that of the paper's
    eq. 28, which a stochastic solver can follow, but a line search cannot.

    Complexity: O(n_documents n_labels), or O(m log m) per query of m documents, as the
    difference of two sums of hinges. Values of pairs (not gradients) lose digits where
    scores exceed the cap by many orders of magnitude.

    Parameters
    ----------
    cap : float, default=1.0
        Largest loss M of one pair or document; ``numpy.inf`` gives `HingeLoss`.
    margin : float, default=0.0
        Margin m; 0 or more.
    width : float, default=0.0
        Length of the parabola that replaces each kink; 0 keeps the kinks.

    References
    ----------
    Fang and Liu, 2016, table 2 and section 5.2, eq. 28; table 4 has M = 1 for MQ2007
    and M = 0.1 for MQ2008.

    Examples
    --------
    >>> from skrank.losses import LVQ2Loss
    >>> loss = LVQ2Loss(cap=1.0)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0, 0.5, 3], [0, 3])
    >>> values.tolist(), gradient.tolist()
    ([1.5], [-1.0, 1.0, 0.0])
    """

    def __init__(
        self, cap: float = 1.0, *, margin: float = 0.0, width: float = 0.0, **shared
    ):
        super().__init__(**shared)
        self.cap = cap
        self.margin = margin
        self.width = width

    @property
    def convex(self):
        """Whether the loss is convex: only without a cap."""
        return self.cap == np.inf

    def relaxed(self) -> "LVQ2Loss":
        """Return the loss without its cap, which is convex."""
        return type(self)(**{**self.get_params(deep=False), "cap": np.inf})

    def _shape(self):
        if not isinstance(self.cap, Real) or not self.cap > 0:
            raise ValueError(
                f"cap must be a positive number or infinity, got {self.cap!r}"
            )
        margin = check_at_least_zero(self.margin, "margin")
        return margin, float(self.cap), check_at_least_zero(self.width, "width")


@shares_parameters
class LogLoss(MarginFunctional):
    r"""Log loss: a smooth hinge without end.

    .. math:: L = \log(1 + e^{E(\text{right}) - E(\text{wrong})})

    Pairwise this is the loss of `RankNet`; pointwise, for the energy :math:`-r f` with
    labels −1 and 1, it is that of logistic regression on 2 f.

    Complexity: O(n_documents n_labels), or O(number of pairs).

    References
    ----------
    Fang and Liu, 2016, table 2, eq. 7, 16 and 19.

    Examples
    --------
    >>> from skrank.losses import LogLoss
    >>> values, gradient = LogLoss().value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()
    ([0.6931], [-0.5, 0.5])
    """

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``: those of pairs do."""
        return self.reading == "pairwise"

    def margin_loss(self, margins):
        """Loss and slope of single margins; see `MarginFunctional.margin_loss`."""
        values, slopes = logistic(-margins)
        return values, -slopes

    def _prepare_pairs(self, y, ptr, sample_weight, n_threads):
        return _PreparedRankNet(y, ptr, sample_weight, n_threads, 1.0)


@shares_parameters
class MCELoss(MarginFunctional):
    r"""Minimum classification error: a smooth count of errors.

    .. math:: L = \frac{1}{1 + e^{-\beta (E(\text{right}) - E(\text{wrong}))}}

    Between 0 and 1, and steep where the two energies are equal: pairwise, a smooth
    count of wrongly ordered pairs. Not convex.

    Complexity: O(n_documents n_labels), or O(number of pairs) with one division and no
    exponential per pair.

    Parameters
    ----------
    beta : float, default=1.0
        Steepness; 1 in the paper.

    References
    ----------
    Fang and Liu, 2016, table 2; LeCun et al., 2006, eq. 15.

    Examples
    --------
    >>> from skrank.losses import MCELoss
    >>> values, gradient = MCELoss().value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([0.5], [-0.25, 0.25])
    """

    convex = False

    def __init__(self, *, beta: float = 1.0, **shared):
        super().__init__(**shared)
        self.beta = beta

    def _check_parameters(self):
        check_positive(self.beta, "beta")

    def margin_loss(self, margins):
        """Loss and slope of single margins; see `MarginFunctional.margin_loss`."""
        wrong, right = expit(-self.beta * margins), expit(self.beta * margins)
        return wrong, -self.beta * wrong * right

    def _prepare_pairs(self, y, ptr, sample_weight, n_threads):
        return PreparedSigmoid(y, ptr, sample_weight, n_threads, float(self.beta))


class _PreparedRamp(_PreparedHinge):
    """Difference of the hinges at the two ends of the ramp."""

    def __init__(self, y, ptr, sample_weight, n_threads, margin, cap, width):
        super().__init__(y, ptr, sample_weight, n_threads, margin, False)
        self.cap = cap
        self.width = width
        self.preferred, self.other = _pair_losses.pair_weights(
            self.ptr, self.order, self.lower, self.weight
        )

    def value_gradient(self, raw):
        raw = self._scores(raw)
        values, gradient = self._hinge(raw, self.margin)
        if self.cap < np.inf:
            excess, slopes = self._hinge(raw, self.margin - self.cap)
            most = self.cap * _segments.segment_sum(self.preferred, self.ptr)
            values, gradient = np.clip(values - excess, 0.0, most), gradient - slopes
        if self.margin == 0.0 and self.width == 0.0:
            # The kernel's slope at the kink is 0, and no solver would leave a start
            # where all scores are equal; eq. 28 of Fang steps where E_u - E_v >= 0.
            flat = self._is_flat(raw)
            gradient[flat] = self.other[flat] - self.preferred[flat]
        return values, gradient

    def _hinge(self, raw, margin):
        if self.width == 0.0:
            return self.at_margin(raw, margin, False)
        outer, outer_slope = self.at_margin(raw, margin, True)
        inner, inner_slope = self.at_margin(raw, margin - self.width, True)
        scale = 0.5 / self.width
        return scale * (outer - inner), scale * (outer_slope - inner_slope)

    def _is_flat(self, raw):
        """Rows of queries whose scores are all equal."""
        sizes = np.diff(self.ptr)
        first = np.repeat(raw[np.minimum(self.ptr[:-1], len(raw) - 1)], sizes)
        differs = _segments.segment_sum((raw != first).astype(np.float64), self.ptr)
        return np.repeat(differs == 0.0, sizes)


class PreparedSigmoid(PreparedPairs):
    """Sum of sigmoids over all preference pairs.

    Parameters
    ----------
    y, ptr, sample_weight, n_threads
        See `PreparedPairs`.
    beta : float
        Steepness.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, beta):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.beta = beta

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return _pair_losses.sigmoid(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.beta,
            self.n_threads,
        )
