"""Hinge losses of preference pairs."""

from numbers import Real

import numpy as np

from skrank._core import _pair_losses
from skrank.losses._base import BaseLoss, check_positive
from skrank.losses._pairs import PairLossMixin, PreparedPairs


class PairwiseHingeLoss(PairLossMixin, BaseLoss):
    r"""Hinge loss of preference pairs.

    For every pair of documents of one query with :math:`y_u > y_v`,

    .. math:: L(f; x_u, x_v) = \max(0, M - (f(x_u) - f(x_v))).

    A pair has the weight of its preferred document, and the mean is taken over pairs.
    The gradient is a subgradient where the difference equals the margin. Complexity:
    O(m log m) per query of m documents, whatever the number of distinct grades.

    Parameters
    ----------
    margin : float, default=1.0
        Difference of scores M from which on a pair costs nothing; 0 or more.

    References
    ----------
    Liu, *Learning to Rank for Information Retrieval*, 2011, §3.2.6;
    Fang and Liu, 2016, eq. 11–15.

    Examples
    --------
    >>> from skrank.losses import PairwiseHingeLoss
    >>> loss = PairwiseHingeLoss(margin=1.0)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0.5, 0, -1], [0, 3])
    >>> values.tolist(), gradient.tolist()
    ([0.5], [-1.0, 1.0, 0.0])
    """

    unit = "pair"
    shift_invariant = True
    _squared = False

    def __init__(self, margin: float = 1.0):
        self.margin = margin

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set; see `BaseLoss.prepare`."""
        margin = _check_margin(self.margin)
        return _PreparedHinge(y, ptr, sample_weight, n_threads, margin, self._squared)

    def margin_loss(self, margins):
        """Loss and slope of single pairs.

        Parameters
        ----------
        margins : ndarray of shape (n_pairs,)
            Score of the preferred document minus score of the other.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Loss of each pair.
        slopes : ndarray of shape (n_pairs,)
            Derivative with respect to the margin.
        """
        short = np.maximum(0.0, self.margin - margins)
        return short, -(short > 0).astype(np.float64)

    def smoothed(self, width: float) -> "SmoothedHingeLoss":
        """Return a differentiable loss that differs by at most ``width / 2`` a pair.

        Parameters
        ----------
        width : float
            Length of the parabola that replaces the kink.

        Returns
        -------
        SmoothedHingeLoss
        """
        return SmoothedHingeLoss(margin=self.margin, width=width)


class SmoothedHingeLoss(PairwiseHingeLoss):
    r"""Hinge loss of preference pairs with a parabola in place of the kink.

    With :math:`z = f(x_u) - f(x_v)` for :math:`y_u > y_v`,

    .. math:: L(z) = \frac{\max(0, M - z)^2 - \max(0, M - \mu - z)^2}{2 \mu},

    which is at most :math:`\mu / 2` below the hinge. Being the difference of two
    squared hinges it costs twice as much: O(m log m) per query of m documents.

    Parameters
    ----------
    margin : float, default=1.0
        Difference of scores M from which on a pair costs nothing; 0 or more.
    width : float, default=1.0
        Length :math:`\mu` of the parabola.

    References
    ----------
    Chapelle and Keerthi, "Efficient algorithms for ranking with SVMs", 2010, section 5,
    for smooth hinges in ranking.

    Examples
    --------
    >>> from skrank.losses import SmoothedHingeLoss
    >>> loss = SmoothedHingeLoss(margin=1.0, width=0.5)
    >>> values, gradient = loss.value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([0.75], [-1.0, 1.0])
    """

    def __init__(self, margin: float = 1.0, width: float = 1.0):
        super().__init__(margin)
        self.width = width

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set; see `BaseLoss.prepare`."""
        width = check_positive(self.width, "width")
        outer = super().prepare(y, ptr, sample_weight, n_threads=n_threads)
        return _PreparedSmoothedHinge(outer, width)

    def margin_loss(self, margins):
        """Loss and slope of single pairs; see `PairwiseHingeLoss.margin_loss`."""
        outer = np.maximum(0.0, self.margin - margins)
        inner = np.maximum(0.0, outer - self.width)
        values = (outer - inner) * (outer + inner) / (2 * self.width)
        return values, (inner - outer) / self.width


class PairwiseSquaredHingeLoss(PairwiseHingeLoss):
    r"""Squared hinge loss of preference pairs.

    For every pair of documents of one query with :math:`y_u > y_v`,

    .. math:: L(f; x_u, x_v) = \max(0, M - (f(x_u) - f(x_v)))^2,

    the differentiable relative of `PairwiseHingeLoss`, with the same unit, weights and
    complexity.

    Parameters
    ----------
    margin : float, default=1.0
        Difference of scores M from which on a pair costs nothing; 0 or more.

    References
    ----------
    Liu, *Learning to Rank for Information Retrieval*, 2011, §3.2.6;
    Chapelle and Keerthi, "Efficient algorithms for ranking with SVMs", 2010.

    Examples
    --------
    >>> from skrank.losses import PairwiseSquaredHingeLoss
    >>> loss = PairwiseSquaredHingeLoss(margin=1.0)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0.5, 0, -1], [0, 3])
    >>> values.tolist(), gradient.tolist()
    ([0.25], [-1.0, 1.0, 0.0])
    """

    _squared = True

    def margin_loss(self, margins):
        """Loss and slope of single pairs; see `PairwiseHingeLoss.margin_loss`."""
        short = np.maximum(0.0, self.margin - margins)
        return short * short, -2.0 * short

    def smoothed(self, width: float) -> "PairwiseSquaredHingeLoss":
        """Return the loss itself, which is smooth."""
        return self


def _check_margin(margin):
    if not isinstance(margin, Real) or not 0 <= margin < np.inf:
        raise ValueError(f"margin must be a number >= 0, got {margin!r}")
    return float(margin)


class _PreparedHinge(PreparedPairs):
    def __init__(self, y, ptr, sample_weight, n_threads, margin, squared):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.margin = margin
        self.squared = squared

    def value_gradient(self, raw):
        return self.at_margin(raw, self.margin, self.squared)

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
            self.n_threads,
        )


class _PreparedSmoothedHinge:
    """Difference of the squared hinges at the two ends of the parabola."""

    def __init__(self, pairs, width):
        self.pairs = pairs
        self.width = width
        self.total_weight = pairs.total_weight

    def value_gradient(self, raw):
        pairs, width = self.pairs, self.width
        outer, outer_slope = pairs.at_margin(raw, pairs.margin, True)
        inner, inner_slope = pairs.at_margin(raw, pairs.margin - width, True)
        scale = 0.5 / width
        return scale * (outer - inner), scale * (outer_slope - inner_slope)
