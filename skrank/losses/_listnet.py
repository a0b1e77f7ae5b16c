"""ListNet: cross entropy of top-k probabilities."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _list_losses, _segments
from skrank.losses._base import BaseLoss, PreparedLoss, query_weights
from skrank.metrics._gain import gain_of_grades


class ListNetLoss(BaseLoss):
    r"""Cross entropy of the top-k probabilities of grades and scores.

    Under the Plackett–Luce model the list g of k documents comes first with probability

    .. math:: P_f(g) = \prod_{j=1}^{k} \frac{e^{f(x_{g_j})}}
              {\sum_{u \notin \{g_1, \ldots, g_{j-1}\}} e^{f(x_u)}} .

    With target probabilities :math:`P_y` made in the same way from the gains of the
    grades,

    .. math:: L(f; \mathbf{x}, \mathbf{y}) = - \sum_{g} P_y(g) \log P_f(g) .

    It differs from the Kullback–Leibler divergence of the two by the entropy of the
    target, a constant. The unit is the query, with the mean weight of its rows; a query
    whose grades are all equal adds nothing.

    Complexity: O(n_documents) for ``top_k`` 1 and 2, where the sum over lists has a
    closed form. For longer lists there are too many, and the expectation is taken over
    ``n_samples`` lists drawn from :math:`P_y` once, at a cost of O(n_samples m) per
    query of m documents.

    Parameters
    ----------
    gain : {"linear", "exp2"}, callable, mapping or array, default="linear"
        Gain of a grade: the grade itself, ``2**y - 1``, or any other form that the
        measures take.
    top_k : int, default=1
        Length k of the lists.
    n_samples : int, default=32
        Number of lists drawn for each query when ``top_k`` is 3 or more.
    random_state : int, RandomState instance or None, default=0
        Seed of these lists.

    References
    ----------
    Liu, *Learning to Rank for Information Retrieval*, 2011, eq. 4.22–4.23 (the sum in
    the denominator of eq. 4.22 runs from j to m);
    Cao et al., "Learning to rank: from pairwise approach to listwise approach", 2007;
    Luo et al., "Stochastic top-k ListNet", 2015, for the sampled lists.

    Examples
    --------
    >>> from skrank.losses import ListNetLoss
    >>> values, gradient = ListNetLoss().value_gradient([1, 0], [1, 0], [0, 2])
    >>> values.round(4).tolist(), abs(gradient).round(12).tolist()
    ([0.5822], [0.0, 0.0])
    """

    unit = "query"
    shift_invariant = True

    def __init__(
        self, gain="linear", top_k: int = 1, n_samples: int = 32, random_state=0
    ):
        self.gain = gain
        self.top_k = top_k
        self.n_samples = n_samples
        self.random_state = random_state

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``: for top-1 lists."""
        return self.top_k == 1

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set; see `BaseLoss.prepare`."""
        for name in ("top_k", "n_samples"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if self.top_k == 1:
            return _PreparedListNet(y, ptr, sample_weight, n_threads, self.gain)
        if self.top_k == 2:
            return _PreparedTopTwo(y, ptr, sample_weight, n_threads, self.gain)
        return _PreparedSamples(y, ptr, sample_weight, n_threads, self)


class _PreparedTargets(PreparedLoss):
    """Top-one probabilities of the grades, and their cross entropy."""

    def __init__(self, y, ptr, sample_weight, n_threads, gain):
        super().__init__(y, ptr, sample_weight, n_threads)
        gains = np.ascontiguousarray(gain_of_grades(gain, self.y))
        self.target, _ = _segments.segment_softmax(gains, self.ptr, self.n_threads)
        self.query_weight = query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def value_gradient(self, raw):
        return _list_losses.softmax_cross_entropy(
            self._scores(raw), self.ptr, self.target, self.query_weight, self.n_threads
        )


class _PreparedListNet(_PreparedTargets):
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian, p (1 - p) for softmax p."""
        raw = self._scores(raw)
        values, gradient = self.value_gradient(raw)
        p, _ = _segments.segment_softmax(raw, self.ptr, self.n_threads)
        weight = np.repeat(self.query_weight, np.diff(self.ptr))
        return values, gradient, weight * p * (1.0 - p)


class _PreparedTopTwo(_PreparedTargets):
    r"""Lists of two documents.

    The second place adds
    :math:`\sum_i p_i \log \sum_{u \ne i} e^{f_u} - \sum_j t_j f_j`, where :math:`p_i`
    is the target probability of document i in the first place and
    :math:`t_j = p_j \sum_{i \ne j} p_i / (1 - p_i)` that of j in the second.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, gain):
        super().__init__(y, ptr, sample_weight, n_threads, gain)
        self.rest = _others(self.target, self.ptr)
        odds = np.divide(
            self.target, self.rest, out=np.zeros_like(self.rest), where=self.rest > 0
        )
        total = np.repeat(_segments.segment_sum(odds, self.ptr), np.diff(self.ptr))
        self.second = self.target * (total - odds)

    def value_gradient(self, raw):
        raw = self._scores(raw)
        values, gradient = super().value_gradient(raw)
        p, log_sum = _segments.segment_softmax(raw, self.ptr, self.n_threads)
        sizes = np.diff(self.ptr)
        rest = _others(p, self.ptr)
        counts = np.repeat(self.query_weight > 0, sizes)
        first = np.where(counts, self.target, 0.0)
        log_rest = np.repeat(log_sum, sizes) + np.log(np.where(counts, rest, 1.0))
        added = first * log_rest - np.where(counts, self.second * raw, 0.0)
        # d log(rest of i) / d f_u = e^{f_u} / rest of i, for every u but i.
        ratio = np.divide(first, rest, out=np.zeros_like(rest), where=counts)
        total = np.repeat(_segments.segment_sum(ratio, self.ptr), sizes)
        slope = np.where(counts, p * (total - ratio) - self.second, 0.0)
        weight = np.repeat(self.query_weight, sizes)
        values = values + self.query_weight * _segments.segment_sum(added, self.ptr)
        return values, gradient + weight * slope


def _others(p, ptr):
    """Sum of the probabilities of the other documents of the query.

    A probability above one half is the only one, and ``1 - p`` loses digits there: the
    others are summed instead.
    """
    minor = p <= 0.5
    rest = _segments.segment_sum(np.where(minor, p, 0.0), ptr)
    rest = np.where(minor, 1.0 - p, np.repeat(rest, np.diff(ptr)))
    return np.maximum(rest, np.finfo(float).tiny)


class _PreparedSamples(PreparedLoss):
    """Lists drawn from the target distribution, under the Plackett-Luce kernel."""

    def __init__(self, y, ptr, sample_weight, n_threads, loss):
        super().__init__(y, ptr, sample_weight, n_threads)
        gains = gain_of_grades(loss.gain, self.y)
        rng = check_random_state(loss.random_state)
        self.top_k = int(loss.top_k)
        self.query_weight = query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        # Sorting gains plus Gumbel noise draws rankings of the Plackett-Luce model.
        self.orders = [
            _segments.segment_order(
                gains + rng.gumbel(size=len(gains)), self.ptr, self.n_threads
            )
            for _ in range(loss.n_samples)
        ]

    def value_gradient(self, raw):
        raw = self._scores(raw)
        values, gradient = np.zeros(self.n_queries), np.zeros(self.n_documents)
        for order in self.orders:
            value, slope = _list_losses.plackett_luce(
                raw,
                self.ptr,
                order,
                None,
                self.query_weight,
                self.top_k,
                self.n_threads,
            )
            values += value
            gradient += slope
        return values / len(self.orders), gradient / len(self.orders)
