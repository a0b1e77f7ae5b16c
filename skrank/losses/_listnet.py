"""ListNet: cross entropy of top-one probabilities."""

import numpy as np

from skrank._core import _kernels, _segments
from skrank.losses._base import BaseLoss, PreparedLoss, query_weights

_GAINS = {"identity": lambda y: y, "exp2": lambda y: np.exp2(y) - 1.0}


class ListNetLoss(BaseLoss):
    r"""Cross entropy of the top-one probabilities of grades and scores.

    Under the Plackett–Luce model document j comes first with probability
    :math:`e^{s_j} / \sum_u e^{s_u}`. With target probabilities made in the same way
    from the gains :math:`g(y_j)` of the grades,

    .. math::

        L(f; \mathbf{x}, \mathbf{y}) = - \sum_j P_j \log
        \frac{e^{f(x_j)}}{\sum_u e^{f(x_u)}}, \qquad
        P_j = \frac{e^{g(y_j)}}{\sum_u e^{g(y_u)}} .

    It differs from the Kullback–Leibler divergence of the two by the entropy of the
    target, a constant. The unit is the query, with the mean weight of its rows; a query
    whose grades are all equal adds nothing. Complexity: O(n_documents).

    Parameters
    ----------
    gain : {"identity", "exp2"} or callable, default="identity"
        Gain of a grade: the grade itself, ``2**y - 1``, or a function that maps an
        array of grades to an array of gains.

    References
    ----------
    Liu, *Learning to Rank for Information Retrieval*, 2011, eq. 4.22–4.23 (the sum in
    the denominator of eq. 4.22 runs from j to m; here j = 1);
    Cao et al., "Learning to rank: from pairwise approach to listwise approach", 2007.

    Examples
    --------
    >>> from skrank.losses import ListNetLoss
    >>> values, gradient = ListNetLoss().value_gradient([1, 0], [1, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.round(12).tolist()
    ([0.5822], [0.0, 0.0])
    """

    unit = "query"
    shift_invariant = True
    has_hessian = True

    def __init__(self, gain="identity"):
        self.gain = gain

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set; see `BaseLoss.prepare`."""
        gain = self.gain if callable(self.gain) else _GAINS.get(self.gain)
        if gain is None:
            raise ValueError(
                f"gain must be 'identity', 'exp2' or a callable, got {self.gain!r}"
            )
        return _PreparedListNet(y, ptr, sample_weight, n_threads, gain)


class _PreparedListNet(PreparedLoss):
    def __init__(self, y, ptr, sample_weight, n_threads, gain):
        super().__init__(y, ptr, sample_weight, n_threads)
        gains = np.ascontiguousarray(gain(self.y), dtype=np.float64)
        self.target, _ = _segments.segment_softmax(gains, self.ptr, self.n_threads)
        self.query_weight = query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def value_gradient(self, raw):
        return _kernels.listnet(
            self._scores(raw), self.ptr, self.target, self.query_weight, self.n_threads
        )

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian, p (1 - p) for softmax p."""
        raw = self._scores(raw)
        values, gradient = self.value_gradient(raw)
        p, _ = _segments.segment_softmax(raw, self.ptr, self.n_threads)
        weight = np.repeat(self.query_weight, np.diff(self.ptr))
        return values, gradient, weight * p * (1.0 - p)
