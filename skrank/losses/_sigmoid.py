"""Smooth losses of the margin: the logistic function, and its integral."""

from dataclasses import field
from typing import ClassVar

import numpy as np
from scipy.special import expit

from skrank._core import _pair_losses
from skrank._core._parameters import Positive
from skrank.losses._functional import BaseMarginLoss, logistic
from skrank.losses._pairs import PreparedPairs


class LogLoss(BaseMarginLoss):
    r"""Log loss: a smooth hinge without end.

    .. math:: L = \log(1 + e^{\sigma (E(\text{right}) - E(\text{wrong}))})

    Pairwise it is the loss of `RankNet`, :math:`\log(1 + e^{-\sigma (f(x_u) -
    f(x_v))})` for u preferred to v: the cross entropy of the target probability 1 and
    the modelled probability that u precedes v. Pointwise, with the energy :math:`-r f`
    and labels −1 and 1, it is that of logistic regression on 2 f.

    Complexity: O(n_documents n_labels), or O(number of pairs) with one division and no
    exponential per pair.

    Parameters
    ----------
    sigma : float, default=1.0
        Steepness of the logistic function.

    References
    ----------
    [Liu2011]_, section 3.2.3, eq. 3.8–3.9; [Burges2005]_; [Fang2016]_, table 2, eq. 7,
    16 and 19.

    Examples
    --------
    >>> from skrank.losses import LogLoss
    >>> values, gradient = LogLoss().value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()
    ([0.6931], [-0.5, 0.5])
    """

    short_name: ClassVar[str] = "log"
    sigma: Positive = field(default=1.0, kw_only=False)

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        values, slopes = logistic(-(self.sigma * margins))
        return values, -self.sigma * slopes

    def margin_curvature(self, margins: np.ndarray) -> np.ndarray:
        """Second derivative with respect to the margin, shape (n_pairs,)."""
        return self.sigma * (self.sigma * bell(self.sigma * margins))

    def _prepare_pairs(self, *rows):
        return PreparedLogistic(*rows, sigma=float(self.sigma))

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"sigma": 2.5}]


class MCELoss(BaseMarginLoss):
    r"""Minimum classification error: a smooth count of errors.

    .. math:: L = \frac{1}{1 + e^{-\beta (E(\text{right}) - E(\text{wrong}))}}

    Between 0 and 1, and steep where the two energies are equal: pairwise, a smooth
    count of wrongly ordered pairs, the loss of robust pairwise ranking with sigmoid
    functions. Not convex.

    Complexity: O(n_documents n_labels), or O(number of pairs) with one division and no
    exponential per pair.

    Parameters
    ----------
    beta : float, default=1.0
        Steepness; 1 in table 2 of [Fang2016]_.

    References
    ----------
    [Fang2016]_, table 2; [LeCun2006]_, eq. 15; [Liu2011]_, section 3.3.4, eq. 3.25,
    whose exponent must have the opposite sign, or wrong orders would cost nothing.

    Examples
    --------
    >>> from skrank.losses import MCELoss
    >>> values, gradient = MCELoss().value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([0.5], [-0.25, 0.25])
    """

    short_name: ClassVar[str] = "mce"
    convex = False
    beta: Positive = 1.0

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        return sigmoid(self.beta, margins)

    def _prepare_pairs(self, *rows):
        return PreparedSigmoid(*rows, beta=float(self.beta))

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"beta": 2.5}]


def sigmoid(beta: float, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope of 1 / (1 + exp(beta margin))."""
    wrong, right = expit(-beta * margins), expit(beta * margins)
    return wrong, -beta * wrong * right


def bell(x: np.ndarray) -> np.ndarray:
    """Slope of the logistic function, without cancellation far from 0."""
    return expit(x) * expit(-x)


class PreparedLogistic(PreparedPairs):
    """Sum of logistic losses over all preference pairs.

    Parameters
    ----------
    y, ptr, sample_weight, n_threads, weighting
        See `PreparedPairs`.
    sigma : float
        Steepness.
    divisor : float, default=1.0
        What values and derivatives are divided by.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, weighting, sigma, divisor=1.0):
        super().__init__(y, ptr, sample_weight, n_threads, weighting)
        self.sigma = sigma
        self.divisor = divisor

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return self._evaluate(raw, False)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw, True)

    def _evaluate(self, raw, want_hessian):
        parts = _pair_losses.logistic(
            self._centred_scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.sigma,
            want_hessian,
            self.n_threads,
        )
        if self.divisor == 1.0:
            return parts
        return tuple(None if part is None else part / self.divisor for part in parts)


class PreparedSigmoid(PreparedPairs):
    """Sum of sigmoids over all preference pairs.

    Parameters
    ----------
    y, ptr, sample_weight, n_threads, weighting
        See `PreparedPairs`.
    beta : float
        Steepness.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, weighting, beta):
        super().__init__(y, ptr, sample_weight, n_threads, weighting)
        self.beta = beta

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return _pair_losses.sigmoid(
            self._centred_scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.beta,
            self.n_threads,
        )
