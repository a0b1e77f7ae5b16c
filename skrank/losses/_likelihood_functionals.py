"""Functionals of the Gibbs distribution over all answers."""

from typing import ClassVar

import numpy as np

from skrank._core import _segments
from skrank._core._parameters import Positive
from skrank.losses._functional import BaseMarginLoss, logistic
from skrank.losses._sigmoid import PreparedLogistic, PreparedSigmoid, bell, sigmoid


class _GibbsFunctional(BaseMarginLoss):
    """Functionals of P(a) proportional to exp(-beta E(a)) over the answers a.

    Parameters
    ----------
    beta : float, default=1.0
        Inverse temperature.
    """

    beta: Positive = 1.0

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"beta": 2.5}]


class NLLLoss(_GibbsFunctional):
    r"""Negative log-likelihood of the right answer.

    .. math:: L = E(\text{right}) + \frac{1}{\beta} \log \sum_a e^{-\beta E(a)}

    over the answers a: all labels of the document (pointwise), or the two documents of
    a pair (pairwise, where it is :math:`\frac1\beta \log(1 + e^{\beta (E_u - E_v)})`).
    It tends to `PerceptronLoss` as :math:`\beta` grows.

    Complexity: O(n_documents n_labels), or O(number of pairs).

    References
    ----------
    [Fang2016]_, table 2; [LeCun2006]_, eq. 20.

    Examples
    --------
    >>> from skrank.losses import NLLLoss
    >>> prepared = NLLLoss(reading="pointwise").prepare([1], [0, 1], labels=[0, 1])
    >>> values, gradient = prepared.value_gradient([[0.0, 0.0]])
    >>> values.round(4).tolist(), gradient.tolist()
    ([0.6931], [[0.5, -0.5]])
    """

    short_name: ClassVar[str] = "nll"

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        values, slopes = logistic(-self.beta * margins)
        return values / self.beta, -slopes

    def margin_curvature(self, margins: np.ndarray) -> np.ndarray:
        """Second derivative with respect to the margin, shape (n_pairs,)."""
        return self.beta * bell(self.beta * margins)

    def _prepare_pairs(self, *rows):
        beta = float(self.beta)
        return PreparedLogistic(*rows, sigma=beta, divisor=beta)

    def _of_labels(self, raw, column, n_threads):
        rows = np.arange(len(raw))
        slopes, log_sums = _gibbs(self.beta * raw, n_threads)
        values = log_sums / self.beta - raw[rows, column]
        np.negative(slopes, out=slopes)
        slopes[rows, column] += 1.0
        return values, slopes


class MEELoss(_GibbsFunctional):
    r"""Minimum empirical error: the probability of a wrong answer.

    .. math:: L = 1 - \frac{e^{-\beta E(\text{right})}}{\sum_a e^{-\beta E(a)}}

    over the answers a: all labels of the document (pointwise), or the two documents of
    a pair (pairwise, where it equals `MCELoss`). Between 0 and 1, not convex.

    Complexity: O(n_documents n_labels), or O(number of pairs).

    References
    ----------
    [Fang2016]_, table 2; [LeCun2006]_, section 2.2.6.

    Examples
    --------
    >>> from skrank.losses import MEELoss
    >>> prepared = MEELoss(reading="pointwise").prepare([1], [0, 1], labels=[0, 1])
    >>> prepared.value_gradient([[0.0, 0.0]])
    (array([0.5]), array([[ 0.25, -0.25]]))
    """

    short_name: ClassVar[str] = "mee"
    convex = False

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        return sigmoid(self.beta, margins)

    def _prepare_pairs(self, *rows):
        return PreparedSigmoid(*rows, beta=float(self.beta))

    def _of_labels(self, raw, column, n_threads):
        rows = np.arange(len(raw))
        wrong, _ = _gibbs(self.beta * raw, n_threads)
        right = wrong[rows, column]
        wrong[rows, column] = 0.0
        values = wrong.sum(axis=1)  # 1 - right without cancellation
        slopes = (-self.beta * right)[:, None] * wrong
        slopes[rows, column] = self.beta * right * values
        return values, slopes


def _gibbs(scaled, n_threads):
    """Softmax and the logarithm of its denominator, row by row."""
    n, n_labels = scaled.shape
    ptr = np.arange(0, n * n_labels + 1, n_labels, dtype=np.intp)
    probabilities, log_sums = _segments.segment_softmax(scaled.ravel(), ptr, n_threads)
    return probabilities.reshape(n, n_labels), log_sums
