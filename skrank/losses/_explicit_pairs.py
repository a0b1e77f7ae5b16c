"""Pairwise losses over preference pairs that are given one by one."""

import numpy as np

from skrank.losses._base import BaseLoss
from skrank.losses._pairs import single_pairs


class ExplicitPairsLoss(BaseLoss):
    r"""A pairwise loss over an explicit list of preference pairs.

    .. math:: \sum_{p} w_p \, \phi\bigl(f(x_{u_p}), f(x_{v_p})\bigr)

    where :math:`\phi` is the loss of one pair under ``loss``. All documents count as
    one query. Complexity: O(n_pairs + n_documents) per evaluation.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss that offers ``pair_loss(better, worse)``.
    pairs : ndarray of shape (n_pairs, 2)
        Row numbers; the first document is preferred to the second.
    pair_weight : ndarray of shape (n_pairs,), default=None
        Weight of each pair; None means ones.

    References
    ----------
    Liu (2011), section 1.3.3.2, pairwise preferences as judgements.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ExplicitPairsLoss, RankNetLoss
    >>> loss = ExplicitPairsLoss(RankNetLoss(), np.array([[1, 0]]))
    >>> values, gradient = loss.value_gradient([0, 0], [0.0, 0.0], [0, 2])
    >>> gradient.tolist()
    [0.5, -0.5]
    """

    unit = "pair"

    def __init__(self, loss, pairs, pair_weight=None):
        self.loss = loss
        self.pairs = pairs
        self.pair_weight = pair_weight

    @property
    def convex(self):
        """Whether the loss of a pair is convex."""
        return self.loss.convex

    @property
    def shift_invariant(self):
        """Whether the loss of a pair depends on the difference of scores alone."""
        return self.loss.shift_invariant

    def smoothed(self, width: float) -> "ExplicitPairsLoss":
        """Return the same pairs under the smooth version of the loss."""
        return ExplicitPairsLoss(
            self.loss.smoothed(width), self.pairs, self.pair_weight
        )

    def relaxed(self) -> "ExplicitPairsLoss":
        """Return the same pairs under the loss without its cap."""
        return ExplicitPairsLoss(self.loss.relaxed(), self.pairs, self.pair_weight)

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to its pairs; see `BaseLoss.prepare`."""
        return _PreparedExplicitPairs(self, int(ptr[-1]))


class _PreparedExplicitPairs:
    def __init__(self, loss, n_documents):
        self.loss = loss.loss
        self.better, self.worse = np.ascontiguousarray(np.transpose(loss.pairs))
        self.n_documents = n_documents
        self.weight = loss.pair_weight
        n_pairs = len(self.better)
        self.total_weight = float(n_pairs if self.weight is None else self.weight.sum())

    def value_gradient(self, raw):
        raw = np.asarray(raw, dtype=np.float64)
        values, gradient = single_pairs(
            self.loss, raw, self.better, self.worse, self.weight
        )
        return np.array([values.sum()]), gradient
