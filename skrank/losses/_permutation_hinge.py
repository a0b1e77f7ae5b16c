"""Hinge losses of perfect against imperfect rankings, weighed by a measure."""

from copy import copy
from dataclasses import field
from typing import ClassVar, Self

import numpy as np

from skrank._core import _segments
from skrank._core._parameters import invalid_parameter
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike


class PermutationHingeLoss(BaseLoss):
    r"""Hinge loss of perfect rankings against imperfect ones, weighed by a measure.

    .. math:: \ell_q = \max_{\pi \in B} \, (M(\pi^*) - M(\pi)) \,
              [1 + F(f, \pi) - F(f, \pi^*)]_+

    .. math:: F(f, \pi) = \frac{1}{P} \sum_{u, v: y_u > y_v} \pm (f(x_u) - f(x_v))

    with the measure M, a perfect ranking :math:`\pi^*` and, in F, a plus where u is
    ranked above v and a minus otherwise, over the P pairs of different gain. Nothing is
    known that finds the worst of all rankings, so that those that count are a working
    set B. It begins with the reverse of the perfect ranking; ``extended`` of the
    prepared loss adds the rankings by some scores, as `skrank.rankers.PermuRank` does
    again and again. Where B holds the current ranking, the loss is not less than what
    the measure of this ranking falls short of its best value. Convex.

    The unit is the query. Queries whose documents all have the same gain count nothing.
    Complexity: O(m b) for a query of m documents and b rankings; adding one, O(m g) for
    g different gains.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="map"
        Any measure of rankings.

    References
    ----------
    [Xu2008]_; [Liu2011]_, section 4.2.2.1, eq. 4.21.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import PermutationHingeLoss
    >>> loss = PermutationHingeLoss("map").prepare([1, 0, 0], [0, 3])
    >>> loss.value_gradient(np.array([0.9, 1.0, 0.0]))[0].round(4)  # of the reverse
    array([0.1333])
    >>> loss.extended(np.array([0.9, 1.0, 0.0])).value_gradient(np.zeros(3))[0].round(4)
    array([0.6667])
    """

    short_name: ClassVar[str] = "permutation_hinge"
    unit = "query"
    shift_invariant = True

    measure: MeasureLike = field(default="map", kw_only=False)

    @classmethod
    def _variants(cls):
        return [{}, {"measure": "ndcg"}, {"measure": "err"}]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        measure = get_measure(self.measure)
        if not measure.has_swap_deltas:
            accepted = "a measure of rankings, such as 'map', 'ndcg@10' or 'err'"
            raise invalid_parameter(self, "measure", accepted, self.measure)
        return _PreparedWorkingSet(
            measure, PreparedLoss(y, ptr, sample_weight, n_threads)
        )


class _PreparedWorkingSet(PreparedLoss):
    """Rankings of all queries: what the measure loses by them, and turned pairs."""

    n_columns = 1

    def __init__(self, measure, data):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.measure = measure
        terms = measure.delta_terms(self.y, self.ptr)
        self.gain = np.asarray(self.y if terms is None else terms.gain)
        self.query = np.repeat(np.arange(self.n_queries), np.diff(self.ptr))
        self.query_weight = informative_query_weights(self.gain, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        reverse = np.lexsort((self.gain, self.query))
        higher_below, _ = self._turned(reverse)
        n_pairs = _segments.segment_sum(higher_below, self.ptr)
        self.pull = 2.0 / np.maximum(n_pairs, 1.0)
        self.best = self._measured(np.lexsort((-self.gain, self.query)))
        self.rankings = [self._ranking(reverse)]

    def value_gradient(self, raw):
        raw = self._scores(raw)
        values, gradient = np.zeros(self.n_queries), np.zeros(self.n_documents)
        ascending = np.lexsort((raw, self.query))
        gaps = np.diff(raw[ascending], prepend=0.0)
        gaps[self.ptr[:-1][np.diff(self.ptr) > 0]] = 0.0  # not between two queries
        for lost, turned in self.rankings:
            # The counts of a query sum to 0, so that the sum of counts times scores is
            # one over gaps: a score far from the others takes no digits of theirs.
            above = -(np.cumsum(turned[ascending]) - turned[ascending])
            product = self.pull * _segments.segment_sum(above * gaps, self.ptr)
            found = lost * np.maximum(1.0 + product, 0.0)
            higher = found > values
            values[higher] = found[higher]
            rows = higher[self.query]
            gradient[rows] = ((lost * self.pull)[self.query] * turned)[rows]
        return self.query_weight * values, self.query_weight[self.query] * gradient

    def extended(self, raw) -> Self:
        """Return the loss with the rankings by some scores in its working set.

        Parameters
        ----------
        raw : ndarray of shape (n_documents,)
            Scores. Of documents of equal score, the worst stands first.

        Returns
        -------
        PreparedLoss
            A loss of the same class.
        """
        found = copy(self)
        order = np.lexsort((self.gain, -self._scores(raw), self.query))
        found.rankings = [*self.rankings, self._ranking(order)]
        return found

    def _ranking(self, order):
        """Return what the measure loses by a ranking of each query, and its counts.

        A document counts the better ones below it, less the worse ones above it.
        """
        higher_below, lower_above = self._turned(order)
        lost = self.measure.sign * (self.best - self._measured(order))
        return np.maximum(np.nan_to_num(lost), 0.0), higher_below - lower_above

    def _measured(self, order):
        scores = np.empty(self.n_documents)
        scores[order] = -np.arange(self.n_documents, dtype=np.float64)
        return self.measure.per_query(
            self.y, scores, self.ptr, n_threads=self.n_threads
        )

    def _turned(self, order):
        """Count, for each row, better ones below it and worse ones above it."""
        gain, starts = self.gain[order], self.ptr[self.query]
        below, above = np.zeros((2, self.n_documents))
        for level in np.unique(gain):
            same = gain == level
            better = np.append(0, np.cumsum(gain > level))
            worse = np.append(0, np.cumsum(gain < level))
            ends = self.ptr[self.query + 1][same]
            rows = order[same]
            below[rows] = better[ends] - better[1:][same]
            above[rows] = worse[1:][same] - worse[starts[same]]
        return below, above
