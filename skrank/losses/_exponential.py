"""The exponential loss of pairs, which RankBoost minimises."""

from typing import ClassVar

import numpy as np

from skrank._core import _boosting_losses
from skrank.losses._functional import BaseMarginLoss
from skrank.losses._pairs import PreparedPairs


class ExponentialLoss(BaseMarginLoss):
    r"""Exponential of the negative margin: the loss of `RankBoost`.

    .. math:: L = e^{E(\text{right}) - E(\text{wrong})}

    Pairwise it is :math:`e^{-(f(x_u) - f(x_v))}` for u preferred to v, an upper bound
    of the pairwise 0–1 loss. A pair is a product of one factor of either document, so
    that sums over the grades replace the sum over pairs. A single pair that is far out
    of order outweighs all others.

    Complexity: O(n_documents n_labels) pointwise; pairwise O(n_documents) after the
    documents have been sorted by grade once. In a query whose scores differ by more
    than 600 the pairs are enumerated.

    References
    ----------
    [Liu2011]_, section 3.2.5, eq. 3.12; [Freund2003]_, section 3.

    Examples
    --------
    >>> from skrank.losses import ExponentialLoss
    >>> ExponentialLoss().value_gradient([1, 0], [0, 0], [0, 2])
    (array([1.]), array([-1.,  1.]))
    """

    short_name: ClassVar[str] = "exponential"

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        values = np.exp(-margins)
        return values, -values

    def margin_curvature(self, margins: np.ndarray) -> np.ndarray:
        """Second derivative with respect to the margin, shape (n_pairs,)."""
        return np.exp(-margins)

    def _prepare_pairs(self, *rows):
        return _PreparedExponential(*rows)


class PreparedAgreement(PreparedPairs):
    """Pairs whose loss tells what a weak ranker says of them."""

    _is_fidelity: ClassVar[bool]

    def agreement(self, raw, ranks) -> tuple[float, float, float]:
        r"""Sum the absolute slopes of pairs that a weak ranker orders.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Scores.
        ranks : array-like of shape (n_documents,)
            What the weak ranker says of each document, in [0, 1]; high is good.

        Returns
        -------
        right, wrong, total : float
            Sums over pairs (u, v) of :math:`|L'_{uv}| h_u (1 - h_v)`, of
            :math:`|L'_{uv}| (1 - h_u) h_v`, and of :math:`|L'_{uv}|`. For ranks of 0
            and 1 the first two are the pairs in the right and in the wrong order.
        """
        sums = _boosting_losses.agreement(
            self._scores(raw),
            self._scores(ranks),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self._is_fidelity,
            self.n_threads,
        )
        right, wrong, total = sums.sum(axis=0).tolist()
        return right, wrong, total


class PreparedPush(PreparedPairs):
    """Powers of sums of exponentials over the better documents, for each worse one.

    Parameters
    ----------
    y, ptr, sample_weight, n_threads, weighting
        See `PreparedPairs`.
    """

    p = 1.0
    factors: np.ndarray | None = None

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return self._push(raw, False)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._push(raw, True)

    def along(self, raw, ranks) -> tuple[float, float, float]:
        """Evaluate the loss on the line raw + t ranks at t = 0.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Scores.
        ranks : array-like of shape (n_documents,)
            Direction.

        Returns
        -------
        value, slope, curvature : float
            Sum of the loss, and its first and second derivative by t.
        """
        sums = _boosting_losses.along(
            self._scores(raw),
            self._scores(ranks),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.p,
            self.factors,
            self.n_threads,
        )
        value, slope, curvature = sums.sum(axis=0).tolist()
        return value, slope, curvature

    def _push(self, raw, want_hessian):
        return _boosting_losses.push(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.p,
            self.factors,
            want_hessian,
            self.n_threads,
        )


class _PreparedExponential(PreparedAgreement, PreparedPush):
    """Sum of exponential losses over all preference pairs."""

    _is_fidelity = False
