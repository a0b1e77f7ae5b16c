"""The fidelity loss of pairs, which FRank minimises."""

from typing import Annotated, ClassVar

import numpy as np
from scipy.special import expit

from skrank._core import _boosting_losses
from skrank._core._parameters import Interval
from skrank.losses._exponential import PreparedAgreement
from skrank.losses._functional import BaseMarginLoss
from skrank.losses._pairs import PairSum


class FidelityLoss(BaseMarginLoss):
    r"""Fidelity of the target and the modelled probability of an order.

    .. math:: L = 1 - \sqrt{\bar P P} - \sqrt{(1 - \bar P)(1 - P)}, \qquad
              P = \frac{1}{1 + e^{E(\text{right}) - E(\text{wrong})}}

    Between 0 and 1, so that no pair outweighs the others, and 0 where both
    probabilities agree. Not convex, and no bound of the 0–1 loss.

    Complexity: O(n_documents n_labels) pointwise; pairwise O(number of pairs), with one
    square root and one division per pair and no exponential. In queries of more than 80
    documents per grade, and of up to 16 grades, sums over sorted scores replace the
    pairs: O(m log m) and about 0.3 µs for each of the m documents.

    Parameters
    ----------
    target : float, default=1.0
        Target probability :math:`\bar P` that the preferred document comes first, at
        least 0.5. Below 1 the wanted margin is finite, and every pair is visited in
        blocks.

    References
    ----------
    [Liu2011]_, section 3.2.4, eq. 3.11; [Tsai2007]_, eq. 5.

    Examples
    --------
    >>> from skrank.losses import FidelityLoss
    >>> values, gradient = FidelityLoss().value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.round(4).tolist()
    ([0.2929], [-0.1768, 0.1768])
    """

    short_name: ClassVar[str] = "fidelity"
    convex = False
    target: Annotated[float, Interval(0.5, 1)] = 1.0

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"target": 0.8}]

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins; see `BaseMarginLoss.margin_loss`."""
        right, wrong = expit(margins), expit(-margins)
        root, other = np.sqrt(right), np.sqrt((1.0 - self.target) * wrong)
        share = np.sqrt(self.target)
        # 1 - root without cancellation; all else vanishes where the target is 1.
        values = wrong / (1.0 + root) + (1.0 - share) * root - other
        return values, 0.5 * (other * right - share * root * wrong)

    def _prepare_pairs(self, *rows):
        return _PreparedFidelity(*rows) if self.target == 1 else PairSum(self, *rows)


class _PreparedFidelity(PreparedAgreement):
    """Sum of fidelity losses over all preference pairs."""

    _is_fidelity = True

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return _boosting_losses.fidelity(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.n_threads,
        )
