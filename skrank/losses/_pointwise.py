"""Losses of single documents."""

from dataclasses import field
from typing import ClassVar

import numpy as np
from scipy.special import expit

from skrank._core import _segments
from skrank.losses._base import BaseLoss, PreparedLoss, weighted


class SquaredLoss(BaseLoss):
    r"""Squared difference between score and grade.

    .. math:: L(f; x_j, y_j) = (y_j - f(x_j))^2

    The unit is the document: every document counts, whatever the grades of its query.
    Complexity: O(n_documents).

    References
    ----------
    [Liu2011]_, eq. 2.1.

    Examples
    --------
    >>> from skrank.losses import SquaredLoss
    >>> values, gradient = SquaredLoss().value_gradient([2, 0, 1], [1, 0, 3], [0, 2, 3])
    >>> values.tolist(), gradient.tolist()
    ([1.0, 4.0], [-2.0, 0.0, 4.0])
    """

    short_name: ClassVar[str] = "squared"
    unit = "document"
    has_hessian = True

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedSquared(y, ptr, sample_weight, n_threads)


class LogisticLoss(BaseLoss):
    r"""Logistic loss of "the document is relevant".

    With :math:`z_j = 1` if the grade of document j reaches the threshold, else −1,

    .. math:: L(f; x_j, y_j) = \log(1 + e^{-z_j f(x_j)}),

    the negative log-likelihood of the model in which the score is the log-odds of
    relevance. The unit is the document. Complexity: O(n_documents).

    Parameters
    ----------
    threshold : float, default=1
        Lowest grade that counts as relevant.

    References
    ----------
    [Liu2011]_, eq. 2.3–2.4.

    Examples
    --------
    >>> from skrank.losses import LogisticLoss
    >>> values, gradient = LogisticLoss().value_gradient([2, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()
    ([1.3863], [-0.5, 0.5])
    """

    short_name: ClassVar[str] = "logistic"
    unit = "document"
    has_hessian = True

    threshold: float = field(default=1, kw_only=False)

    @classmethod
    def _variants(cls):
        return [{}, {"threshold": 2}]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedLogistic(y, ptr, sample_weight, n_threads, self.threshold)


class _PreparedPointwise(PreparedLoss):
    """Sums element-wise losses over queries."""

    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.total_weight = float(
            self.n_documents if self.weight is None else self.weight.sum()
        )

    def _losses(self, raw):
        """Loss of each document."""
        raise NotImplementedError

    def _slope(self, raw):
        """Derivative of each loss."""
        raise NotImplementedError

    def _curvature(self, raw):
        """Second derivative of each loss."""
        raise NotImplementedError

    def value_gradient(self, raw):
        raw = self._scores(raw)
        losses = weighted(self._losses(raw), self.weight)
        slopes = weighted(self._slope(raw), self.weight)
        return _segments.segment_sum(losses, self.ptr), slopes

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        values, gradient = self.value_gradient(raw)
        curvatures = self._curvature(self._scores(raw))
        return values, gradient, weighted(curvatures, self.weight)


class _PreparedSquared(_PreparedPointwise):
    def _losses(self, raw):
        return np.square(raw - self.y)

    def _slope(self, raw):
        return 2.0 * (raw - self.y)

    def _curvature(self, raw):
        return np.full_like(raw, 2.0)


class _PreparedLogistic(_PreparedPointwise):
    def __init__(self, y, ptr, sample_weight, n_threads, threshold):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.sign = np.where(self.y >= threshold, 1.0, -1.0)

    def _losses(self, raw):
        return np.logaddexp(0.0, -self.sign * raw)

    def _slope(self, raw):
        return -self.sign * expit(-self.sign * raw)

    def _curvature(self, raw):
        return expit(raw) * expit(-raw)
