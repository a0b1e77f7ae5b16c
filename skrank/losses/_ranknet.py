"""RankNet: logistic loss of preference pairs."""

import numpy as np
from scipy.special import expit

from skrank._core import _pair_losses
from skrank.losses._base import BaseLoss, check_positive
from skrank.losses._pairs import PairLossMixin, PreparedPairs


class RankNetLoss(PairLossMixin, BaseLoss):
    r"""Logistic loss of preference pairs.

    For every pair of documents of one query with :math:`y_u > y_v`,

    .. math:: L(f; x_u, x_v) = \log(1 + e^{-\sigma (f(x_u) - f(x_v))}),

    the cross entropy of the target probability 1 and the modelled probability that u
    precedes v. A pair has the weight of its preferred document, and the mean is taken
    over pairs. Documents of equal grade form no pair, so a query whose grades are all
    equal adds nothing. Complexity: O(number of pairs), with one division and no
    exponential per pair.

    Parameters
    ----------
    sigma : float, default=1.0
        Steepness of the logistic function.

    References
    ----------
    Liu, *Learning to Rank for Information Retrieval*, 2011, eq. 3.8–3.9;
    Fang and Liu, 2016, eq. 16 and 19.

    Examples
    --------
    >>> from skrank.losses import RankNetLoss
    >>> values, gradient = RankNetLoss().value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()
    ([0.6931], [-0.5, 0.5])
    """

    unit = "pair"
    shift_invariant = True
    has_hessian = True

    def __init__(self, sigma: float = 1.0):
        self.sigma = sigma

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set; see `BaseLoss.prepare`."""
        sigma = check_positive(self.sigma, "sigma")
        return _PreparedRankNet(y, ptr, sample_weight, n_threads, sigma)

    def margin_loss(self, margins):
        """Loss and slope of single pairs; see `PairwiseHingeLoss.margin_loss`."""
        scaled = self.sigma * margins
        return np.logaddexp(0.0, -scaled), -self.sigma * expit(-scaled)


class _PreparedRankNet(PreparedPairs):
    def __init__(self, y, ptr, sample_weight, n_threads, sigma):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.sigma = sigma

    def value_gradient(self, raw):
        return self._evaluate(raw, False)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw, True)

    def _evaluate(self, raw, want_hessian):
        return _pair_losses.logistic(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.sigma,
            want_hessian,
            self.n_threads,
        )
