"""Functionals of the Gibbs distribution over all answers."""

import numpy as np

from skrank._core import _segments
from skrank._core._shared_parameters import shares_parameters
from skrank.losses._base import check_positive
from skrank.losses._functional import MarginFunctional, logistic
from skrank.losses._margin_functionals import MCELoss, PreparedSigmoid
from skrank.losses._ranknet import _PreparedRankNet


@shares_parameters
class _GibbsFunctional(MarginFunctional):
    """Functionals of P(a) proportional to exp(-beta E(a)) over the answers a.

    Parameters
    ----------
    beta : float, default=1.0
        Inverse temperature.
    """

    def __init__(self, *, beta: float = 1.0, **shared):
        super().__init__(**shared)
        self.beta = beta

    def _check_parameters(self):
        check_positive(self.beta, "beta")


@shares_parameters
class NLLLoss(_GibbsFunctional):
    r"""Negative log-likelihood of the right answer.

    .. math:: L = E(\text{right}) + \frac{1}{\beta} \log \sum_a e^{-\beta E(a)}

    over the answers a: all labels of the document (pointwise), or the two documents of
    a pair (pairwise, where it is :math:`\frac1\beta \log(1 + e^{\beta (E_u - E_v)})`).
    It tends to `PerceptronLoss` as :math:`\beta` grows.

    Complexity: O(n_documents n_labels), or O(number of pairs).

    References
    ----------
    Fang and Liu, 2016, table 2; LeCun et al., 2006, eq. 20.

    Examples
    --------
    >>> from skrank.losses import NLLLoss
    >>> prepared = NLLLoss(reading="pointwise").prepare([1], [0, 1], labels=[0, 1])
    >>> values, gradient = prepared.value_gradient([[0.0, 0.0]])
    >>> values.round(4).tolist(), gradient.tolist()
    ([0.6931], [[0.5, -0.5]])
    """

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``: those of pairs do."""
        return self.reading == "pairwise"

    def margin_loss(self, margins):
        """Loss and slope of single margins; see `MarginFunctional.margin_loss`."""
        values, slopes = logistic(-self.beta * margins)
        return values / self.beta, -slopes

    def _prepare_pairs(self, y, ptr, sample_weight, n_threads):
        beta = float(self.beta)
        return _PreparedScaledRankNet(y, ptr, sample_weight, n_threads, beta)

    def _of_labels(self, raw, column, n_threads):
        rows = np.arange(len(raw))
        slopes, log_sums = _gibbs(self.beta * raw, n_threads)
        values = log_sums / self.beta - raw[rows, column]
        np.negative(slopes, out=slopes)
        slopes[rows, column] += 1.0
        return values, slopes


@shares_parameters
class MEELoss(_GibbsFunctional):
    r"""Minimum empirical error: the probability of a wrong answer.

    .. math:: L = 1 - \frac{e^{-\beta E(\text{right})}}{\sum_a e^{-\beta E(a)}}

    over the answers a: all labels of the document (pointwise), or the two documents of
    a pair (pairwise, where it equals `MCELoss`). Between 0 and 1, not convex.

    Complexity: O(n_documents n_labels), or O(number of pairs).

    References
    ----------
    Fang and Liu, 2016, table 2; LeCun et al., 2006, section 2.2.6.

    Examples
    --------
    >>> from skrank.losses import MEELoss
    >>> prepared = MEELoss(reading="pointwise").prepare([1], [0, 1], labels=[0, 1])
    >>> prepared.value_gradient([[0.0, 0.0]])
    (array([0.5]), array([[ 0.25, -0.25]]))
    """

    convex = False
    margin_loss = MCELoss.margin_loss

    def _prepare_pairs(self, y, ptr, sample_weight, n_threads):
        return PreparedSigmoid(y, ptr, sample_weight, n_threads, float(self.beta))

    def _of_labels(self, raw, column, n_threads):
        rows = np.arange(len(raw))
        wrong, _ = _gibbs(self.beta * raw, n_threads)
        right = wrong[rows, column]
        wrong[rows, column] = 0.0
        values = wrong.sum(axis=1)  # 1 - right without cancellation
        slopes = (-self.beta * right)[:, None] * wrong
        slopes[rows, column] = self.beta * right * values
        return values, slopes


class _PreparedScaledRankNet(_PreparedRankNet):
    """RankNet's loss divided by its steepness."""

    def _evaluate(self, raw, want_hessian):
        parts = super()._evaluate(raw, want_hessian)
        return tuple(None if part is None else part / self.sigma for part in parts)


def _gibbs(scaled, n_threads):
    """Softmax and the logarithm of its denominator, row by row."""
    n, n_labels = scaled.shape
    ptr = np.arange(0, n * n_labels + 1, n_labels, dtype=np.intp)
    probabilities, log_sums = _segments.segment_softmax(scaled.ravel(), ptr, n_threads)
    return probabilities.reshape(n, n_labels), log_sums
