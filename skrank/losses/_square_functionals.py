"""Functionals that treat the right and the wrong energy each on its own.

Summed over preference pairs they fall apart into sums over documents: a document counts
as the preferred one as often as there are worse documents in its query, and as the
other one as often as there are better ones. No pair is visited.
"""

from dataclasses import field
from typing import ClassVar

import numpy as np

from skrank._core import _pair_losses, _segments
from skrank._core._parameters import NonNegative, Positive
from skrank.losses._functional import EnergyFunctional
from skrank.losses._pairs import PreparedPairs

# Beyond this exponent the exponential goes on as its tangent, which stays finite.
_MAX_EXPONENT = 100.0


class _SeparableFunctional(EnergyFunctional):
    """A functional of the right energy plus a functional of the wrong one."""

    def _push_down(self, energies):
        """Values and slopes for right answers."""
        raise NotImplementedError

    def _pull_up(self, energies):
        """Values and slopes for wrong answers."""
        raise NotImplementedError

    def _contrast(self, right, wrong):
        low, low_slope = self._push_down(right)
        high, high_slope = self._pull_up(wrong)
        return low + high, low_slope, high_slope

    def _prepare_pairs(self, *rows):
        return _PreparedSeparable(self, *rows)


class EnergyLoss(_SeparableFunctional):
    r"""Energy loss: the energy of the right answer.

    .. math:: L = E(\text{right})

    Nothing pulls wrong answers up. That suffices pointwise for energies that cannot be
    low for all labels at once, such as :math:`\frac12 (f - r)^2`, with which it is
    regression; an energy that can, such as that of two learned embeddings, collapses.
    Pairwise it lowers the energies of preferred documents without limit, other than by
    the penalty.

    Complexity: O(n_documents).

    References
    ----------
    [Fang2016]_, table 2 and eq. 8; [LeCun2006]_, section 2.2.1.

    Examples
    --------
    >>> from skrank.losses import EnergyLoss
    >>> prepared = EnergyLoss(reading="pointwise").prepare([1], [0, 1], labels=[0, 1])
    >>> prepared.value_gradient([[-2.0, -0.5]])
    (array([0.5]), array([[ 0., -1.]]))
    """

    short_name: ClassVar[str] = "energy"

    def _push_down(self, energies):
        return energies, np.ones_like(energies)

    def _pull_up(self, energies):
        return 0.0, np.zeros_like(energies)


class SquareSquareLoss(_SeparableFunctional):
    r"""Square-square loss: right energies to zero, wrong ones beyond a margin.

    .. math:: L = E(\text{right})^2 + \max(0, m - E(\text{wrong}))^2

    Made for energies that are zero at best, such as distances and divergences. Convex
    in the energies.

    Complexity: O(n_documents n_labels), or O(m) per query of m documents after one sort
    by grade.

    Parameters
    ----------
    margin : float, default=1.0
        Energy m from which on a wrong answer costs nothing.

    References
    ----------
    [LeCun2006]_, eq. 13; [Wu2022]_, appendix C. Table 2 of [Fang2016]_ prints a minus
    sign in place of the plus, with which the loss would reward wrong answers of low
    energy.

    Examples
    --------
    >>> from skrank.losses import SquareSquareLoss
    >>> loss = SquareSquareLoss(margin=2.0)
    >>> values, gradient = loss.value_gradient([1, 0], [-1.0, -0.5], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([3.25], [-2.0, 3.0])
    """

    short_name: ClassVar[str] = "square_square"
    margin: Positive = field(default=1.0, kw_only=False)

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"margin": 0.7}]

    def _push_down(self, energies):
        return energies * energies, 2.0 * energies

    def _pull_up(self, energies):
        short = np.maximum(0.0, self.margin - energies)
        return short * short, -2.0 * short


class SquareExponentialLoss(_SeparableFunctional):
    r"""Square-exponential loss: right energies to zero, wrong ones ever further up.

    .. math:: L = E(\text{right})^2 + \gamma e^{-E(\text{wrong})}

    The margin is infinite, with a force that fades exponentially. Convex in the
    energies. Below an energy of −100 the exponential is continued by its tangent, so
    that results stay finite.

    Complexity: O(n_documents n_labels), or O(m) per query of m documents after one sort
    by grade.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight :math:`\gamma` of wrong answers, 0 or more; the :math:`\beta` of table 2.

    References
    ----------
    [Fang2016]_, table 2 and section 5.1 (table 4 has γ = 0.001); [Wu2022]_, eq. 5.

    Examples
    --------
    >>> from skrank.losses import SquareExponentialLoss
    >>> loss = SquareExponentialLoss(gamma=2.0)
    >>> values, gradient = loss.value_gradient([1, 0], [-1.0, 0.0], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([3.0], [-2.0, 2.0])
    """

    short_name: ClassVar[str] = "square_exponential"
    gamma: NonNegative = field(default=1.0, kw_only=False)

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"gamma": 0.001}]

    def _push_down(self, energies):
        return energies * energies, 2.0 * energies

    def _pull_up(self, energies):
        exponents = np.minimum(-energies, _MAX_EXPONENT)
        slopes = self.gamma * np.exp(exponents)
        beyond = np.maximum(-energies - _MAX_EXPONENT, 0.0)
        return slopes * (1.0 + beyond), -slopes


class _PreparedSeparable(PreparedPairs):
    """A separable functional over all preference pairs, document by document."""

    def __init__(self, functional, *rows):
        super().__init__(*rows)
        self.functional = functional
        self.preferred, self.other = _pair_losses.pair_weights(
            self.ptr, self.order, self.lower, self.weight
        )

    def value_gradient(self, raw):
        energies = -self._scores(raw)
        low, low_slope = self.functional._push_down(energies)
        high, high_slope = self.functional._pull_up(energies)
        losses = self.preferred * low + self.other * high
        slopes = self.preferred * low_slope + self.other * high_slope
        return _segments.segment_sum(losses, self.ptr), -slopes
