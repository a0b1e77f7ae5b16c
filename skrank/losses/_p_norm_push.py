"""The loss of the p-norm push."""

from copy import copy
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from skrank._core import _segments
from skrank._core._finite import quiet
from skrank._core._parameters import Interval
from skrank.losses._base import BaseLoss, PreparedLoss
from skrank.losses._exponential import PreparedPush
from skrank.losses._pairs import given_pairs_of_queries


class PNormPushLoss(BaseLoss):
    r"""P-norm push: bad documents pay for their height by a power of it.

    .. math:: \ell_q = \sum_{v \in q} \Big( \sum_{u : y_u > y_v}
              e^{-(f(x_u) - f(x_v))} \Big)^p

    The inner sum estimates how many documents stand wrongly below v, and the power
    makes it dear to stand above many. For p = 1 it is `ExponentialLoss`; as p grows,
    the worst document of each query decides. Convex. In the source there are two
    grades and a single list. Here v is compared with all documents of better grades:
    a document of a middle grade is pushed down below the better ones and lifted above
    the worse ones.

    Over given pairs (`ExplicitPairsLoss`) the inner sum is over the documents that are
    preferred to v, each with the weight of its pair.

    The weight of a document within its query multiplies its exponentials as the better
    one; the mean weight of a query multiplies the value of the query.

    Complexity: O(n_documents) after the documents have been sorted by grade once. In a
    query whose scores differ by more than 600 the pairs are enumerated.

    Parameters
    ----------
    p : float, default=4.0
        Power, at least 1.
    normalization : {"pair", "query"}, default="pair"
        Whether values are as above, so that long queries weigh by the p-th power of
        their length, or divided by what equal scores would give, so that all queries
        begin at the same loss.

    References
    ----------
    [Liu2011]_, section 3.3.5, eq. 3.26–3.27; [Rudin2009]_, section 2.

    Examples
    --------
    >>> from skrank.losses import PNormPushLoss
    >>> PNormPushLoss(p=2).value_gradient([1, 1, 0], [0, 0, 0], [0, 3])
    (array([4.]), array([-4., -4.,  8.]))
    """

    short_name: ClassVar[str] = "p_norm_push"
    shift_invariant = True
    has_hessian = True
    p: Annotated[float, Interval(1)] = field(default=4.0, kw_only=False)
    normalization: Literal["pair", "query"] = "pair"

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return "query" if self.normalization == "query" else "pair"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"p": 1.0}, {"p": 2.5, "normalization": "query"}]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        return _PreparedPush(
            y, ptr, sample_weight, n_threads, float(self.p), self.normalization
        )

    def over_pairs(
        self, data: PreparedLoss, pairs: np.ndarray, pair_weight: np.ndarray
    ) -> PreparedLoss:
        """Bind the loss to pairs that are given one by one.

        Parameters
        ----------
        data : PreparedLoss
            Queries, and weights of their rows.
        pairs : ndarray of shape (n_pairs, 2)
            Rows of the preferred and of the other document, sorted by query.
        pair_weight : ndarray of shape (n_pairs,)
            Weight of each pair.

        Returns
        -------
        PreparedLoss
            The loss of these pairs.
        """
        return _PushOverPairs(self, data, pairs, pair_weight)


class _PreparedPush(PreparedPush):
    """Sum of powers over the worse documents."""

    # The name is needed here already, where the loss is evaluated before it is bound.
    loss_name = "PNormPushLoss"

    def _why_not_finite(self, total, raw) -> str:
        return f"{super()._why_not_finite(total, raw)} with p={self.p:g}; lower p"

    def __init__(self, y, ptr, sample_weight, n_threads, p, normalization):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.p = p
        self.weight, mean = _within_query(self)
        if normalization == "query":
            mean, units = _alike(self, mean)
            self.total_weight = float(units[units > 0].sum())
        self.factors = mean


def _within_query(prepared):
    """Return the weights of rows within their query, and those of the queries."""
    weight, mean = prepared.weight, np.ones(prepared.n_queries)
    if weight is not None:
        sizes = np.diff(prepared.ptr)
        mean = _segments.segment_sum(weight, prepared.ptr) / np.maximum(sizes, 1)
        # A query without weight keeps weights of 0.
        scale = np.where(mean > 0, mean, 1.0)
        weight = weight / np.repeat(scale, sizes)
    return weight, mean


def _alike(prepared, mean):
    """Return the factors under which equal scores give each query its weight.

    The other array holds the weights, 0 where a query has no pair.
    """
    at_start, _ = prepared.value_gradient(np.zeros(prepared.n_documents))
    weight = np.where(at_start > 0, mean, 0.0)
    return mean / np.where(at_start > 0, at_start, 1.0), weight


class _PushOverPairs(PreparedLoss):
    """Sum of powers over the worse documents of given pairs."""

    n_columns = 1

    def __init__(self, loss, data, pairs, pair_weight):
        self.ptr, self.weight, self.p = data.ptr, data.weight, float(loss.p)
        within, mean = _within_query(data)
        own = pair_weight
        if within is not None:
            own = pair_weight * data.weight[pairs[:, 0]]
            pair_weight = pair_weight * within[pairs[:, 0]]
        query = np.searchsorted(self.ptr, pairs[:, 0], side="right") - 1
        self.units = np.bincount(query, own, data.n_queries).astype(float)
        # A pair of weight 0 that is far out of order must not overflow.
        pairs, pair_weight = pairs[pair_weight > 0.0], pair_weight[pair_weight > 0.0]
        # The curvature of a pair that is given twice is not twice that of one.
        n = data.n_documents
        codes, place = np.unique(pairs @ [n, 1], return_inverse=True)
        self.better, self.worse = codes // n, codes % n
        self.pair_weight = np.bincount(place, pair_weight, len(codes)).astype(float)
        self.factors = np.ones(len(mean))
        if loss.normalization == "query":
            mean, self.units = _alike(self, mean)
        self.factors, self.total_weight = mean, float(self.units.sum())

    def subset(self, queries):
        """Loss of the pairs of some queries."""
        part = copy(self)
        part.ptr, pairs, moved = given_pairs_of_queries(self.ptr, self.better, queries)
        part.better, part.worse = self.better[pairs] + moved, self.worse[pairs] + moved
        part.pair_weight, part.factors = self.pair_weight[pairs], self.factors[queries]
        part.units = self.units[queries]
        part.total_weight = float(part.units.sum())
        part.weight = None  # contained in those of the pairs
        return part

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return self._evaluate(raw)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        values, gradient, slopes, terms, shares = self._evaluate(raw)
        hessian = self.p * slopes
        of_better = terms * (1.0 + (self.p - 1.0) * shares)
        hessian += np.bincount(self.better, of_better, self.n_documents)
        return values, gradient, hessian

    @quiet()
    def along(self, raw, ranks) -> tuple[float, float, float]:
        """Evaluate the loss on a line; see `PreparedPush.along`."""
        values, _, slopes, terms, shares = self._evaluate(raw)
        ranks = self._scores(ranks)
        step = ranks[self.worse] - ranks[self.better]
        # First and second derivative of the logarithms of the inner sums.
        n = self.n_documents
        first = np.bincount(self.worse, shares * step, n)
        second = np.bincount(self.worse, shares * step * step, n)
        curvature = slopes @ ((self.p - 1.0) * first * first + second)
        return float(values.sum()), float(terms @ step), float(curvature)

    def _evaluate(self, raw):
        """Values, gradient, slopes by the worse documents, and terms of the pairs.

        A slope is p times the power of a worse document's inner sum. Terms are the
        parts of it that pairs have, and shares those parts as fractions.
        """
        raw, n = self._scores(raw), self.n_documents
        inner = self.pair_weight * np.exp(raw[self.worse] - raw[self.better])
        sums = np.bincount(self.worse, inner, n)
        factors = np.repeat(self.factors, np.diff(self.ptr))
        powers = factors * sums**self.p
        slopes = self.p * powers
        shares = inner / np.where(sums > 0.0, sums, 1.0)[self.worse]
        terms = slopes[self.worse] * shares
        gradient = slopes - np.bincount(self.better, terms, n)
        return _segments.segment_sum(powers, self.ptr), gradient, slopes, terms, shares
