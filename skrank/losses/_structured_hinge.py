"""The structured hinge loss: how much the most violated ranking violates."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from skrank._core import _segments, _structured
from skrank._core._messages import shown
from skrank._core._parameters import invalid_parameter
from skrank._core._validation import as_numbers, called
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics import get_measure
from skrank.metrics._ranked_documents import positions
from skrank.metrics._registry import MeasureLike

PositionWeights = Literal["pairs", "discount", "root"] | Callable | Sequence[float]

# Measures of these forms, see `DeltaTerms`, have an exact search, others have none.
_PAIRWISE = ("average_precision", "reciprocal_rank")
# Binary logarithm of the number of states of a search that there is memory for.
_MOST_STATES = 24
# What rounding may add to a second difference, relative to the discount.
_ROUNDING = 1e-15
_ACCEPTED = (
    "a measure whose most violated ranking can be found: average precision ('map'), "
    "'mrr', 'success@k', or a sum of gains times discounts of ranks, as 'ndcg@k', "
    "'dcg@k', 'p@k', 'recall@k', 'f@k' and 'rbp' are; functions do not say how to find "
    "it"
)


class StructuredHingeLoss(BaseLoss):
    r"""Hinge loss of the ranking that violates most what a measure asks for.

    .. math:: \ell_q = \max_\pi \left[ M(\pi^*) - M(\pi) + F(f, \pi) - F(f, \pi^*)
              \right]

    where M is the measure, :math:`\pi^*` a perfect ranking and F the score of a whole
    ranking, which is greatest where documents are sorted by their scores. So the loss
    is never less than what the measure of the current ranking falls short of its best
    value: for AP, NDCG and RR it bounds one minus the measure. It is convex, because
    it is the greatest of functions that are linear in the scores; its subgradient is
    that of the most violated ranking.

    *Pairs.* F is the mean over the P pairs of documents that the measure tells apart,

    .. math:: F(f, \pi) = \frac{1}{P} \sum_{u, v: y_u > y_v} \pm (f(x_u) - f(x_v)),

    with a plus where u is ranked above v, and a minus otherwise. In the most violated
    ranking documents of equal gain keep the order of their scores; what is searched for
    is how relevant and other documents interleave. That takes O(m log m) for average
    precision and for the rank of the first relevant document, with m documents, and O(m
    k) more for average precision cut off at k. It takes no longer for sums of gains
    times discounts of ranks, such as NDCG, if a query has two different gains and the
    discounts of its ranks are convex, as they are without a cut-off. Otherwise all ways
    to take documents from the top of each grade are visited: as many as the product of
    the numbers of documents of each gain, plus one.

    *Positions.* For such sums, F may weigh positions instead,

    .. math:: F(f, \pi) = \sum_j c_{\pi(j)} f(x_j),

    and finding the most violated ranking is a linear assignment. Where the weights c
    are the discounts of the measure (the factor 1 − p of RBP is part of them), sorting
    documents by :math:`f(x_j)` minus their share of the measure solves it, in
    O(m log m); other weights take up to O(m² R) for
    R documents whose gain is not the least. Documents of equal gain may stand in any
    order in a perfect ranking; :math:`F(f, \pi^*)` is the mean over all of these. So
    differences of scores within a grade cost something: in long queries with noisy
    features so much that the minimum is at scores that are all equal.

    The unit is the query. Queries whose documents all have the same gain count nothing.

    Parameters
    ----------
    measure : str or BaseMeasure, default="map"
        Average precision, reciprocal rank, success, or a sum of gains times discounts
        that do not rise with the rank: NDCG, DCG, precision, recall, F or RBP.
    weights : {"pairs", "discount", "root"}, callable or sequence, default="pairs"
        Score of a ranking, for measures that are such sums: the mean over pairs, or
        weights c of positions: the discounts of the measure, "root" for :math:`c_j = (1
        + j)^{-1/4}`, a function of an array of ranks, or the weights of the first
        ranks, followed by zeros. They must not rise. Other measures count pairs.

    References
    ----------
    [Liu2011]_, section 4.2.2.1, eq. 4.15–4.18 and 4.20 (where the sum of eq. 4.17 takes
    differences of labels, the source has the order of u and v, divided by the number of
    pairs, as here); [Yue2007]_ for average precision; [Chakrabarti2008]_ for reciprocal
    rank, and NDCG of two grades; [Le2007]_ for positions and "root".

    Examples
    --------
    >>> from skrank.losses import StructuredHingeLoss
    >>> loss = StructuredHingeLoss("map")
    >>> values, gradient = loss.value_gradient([1, 0], [0.0, 0.0], [0, 2])
    >>> values.tolist(), gradient.tolist()  # as if the relevant document were second
    ([0.5], [-2.0, 2.0])
    >>> values, _ = StructuredHingeLoss("ndcg").value_gradient([1, 0], [9, 0], [0, 2])
    >>> values.tolist()
    [0.0]
    """

    short_name: ClassVar[str] = "structured_hinge"
    unit = "query"
    shift_invariant = True

    measure: MeasureLike = field(default="map", kw_only=False)
    weights: PositionWeights = "pairs"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map@3"},
            {"measure": "mrr"},
            {"measure": "ndcg"},
            {"measure": "ndcg", "weights": "discount"},
            {"measure": "ndcg@3", "weights": "root"},
            {"measure": "p@2", "weights": [1.0, 0.5, 0.5, 0.1]},
            {"measure": "rbp", "weights": _reciprocal},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        measure = get_measure(self.measure)
        data = PreparedLoss(y, ptr, sample_weight, n_threads)
        terms = None
        if measure.has_swap_deltas and measure.greater_is_better:
            terms = measure.delta_terms(data.y, data.ptr)
        if terms is not None and terms.kind in _PAIRWISE:
            return _PreparedInterleavings(data, terms)
        if terms is None or terms.kind != "gain_discount":
            raise invalid_parameter(self, "measure", _ACCEPTED, self.measure)
        if np.any(np.diff(terms.discount) > 0):
            accepted = "a measure whose discount does not rise with the rank"
            raise invalid_parameter(self, "measure", accepted, self.measure)
        if isinstance(self.weights, str) and self.weights == "pairs":
            return _PreparedPaths(data, terms)
        return _PreparedPositions(data, terms, self._position_weights(data))

    def _position_weights(self, data):
        """Weights of the positions of all queries; None for the discounts."""
        if isinstance(self.weights, str) and self.weights == "discount":
            return None
        weights = self._weights_of_ranks(int(np.diff(data.ptr).max(initial=1)))
        falls = np.isfinite(weights).all() and np.all(np.diff(weights) <= 0)
        if not (falls and weights[-1] >= 0 and weights[0] > 0):
            accepted = "finite weights >= 0 that do not rise, the first one above 0"
            raise invalid_parameter(self, "weights", accepted, self.weights)
        return weights[positions(data.ptr)]

    def _weights_of_ranks(self, n_ranks):
        ranks, weights = np.arange(1.0, n_ranks + 1.0), np.zeros(n_ranks)
        if isinstance(self.weights, str):
            weights[:] = _fourth_root(ranks)
        elif callable(self.weights):
            given = as_numbers(called("weights", self.weights, ranks), "weights")
            if given.shape != ranks.shape:
                raise ValueError(
                    "weights must give one number per rank, an array of shape "
                    f"{ranks.shape}, got shape {given.shape}"
                )
            weights[:] = given
        else:
            given = as_numbers(self.weights, "weights")[:n_ranks]
            weights[: len(given)] = given
        return weights


def _fourth_root(ranks):
    return (1.0 + ranks) ** -0.25


def _reciprocal(ranks):
    """Weights of positions, for `_variants`."""
    return 1.0 / ranks


class _PreparedStructured(PreparedLoss):
    """A loss whose value is that of the most violated ranking."""

    n_columns = 1

    def __init__(self, data, terms):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.gain = np.ascontiguousarray(terms.gain, dtype=np.float64)
        self.discount = np.ascontiguousarray(terms.discount, dtype=np.float64)
        self.scale = np.ascontiguousarray(terms.scale, dtype=np.float64)
        weight = informative_query_weights(self.gain, self.ptr, self.weight)
        self.query_weight = np.where(self.scale > 0.0, weight, 0.0)
        self.total_weight = float(self.query_weight.sum())

    def value_gradient(self, raw):
        return self.most_violated(raw)

    def most_violated(self, raw):
        """Values and subgradient at the most violated rankings."""
        raise NotImplementedError


class _PreparedInterleavings(_PreparedStructured):
    """Pairs of relevant and other documents."""

    def __init__(self, data, terms):
        super().__init__(data, terms)
        self.kind = terms.kind

    def most_violated(self, raw):
        """Values and subgradient at the most violated rankings."""
        return _structured.interleavings(
            self._scores(raw),
            self.ptr,
            self.gain,
            self.kind,
            self.discount,
            self.scale,
            self.query_weight,
            self.n_threads,
        )


class _PreparedSums(_PreparedStructured):
    """Sums of gains times discounts, given for the positions of each query."""

    def __init__(self, data, terms):
        super().__init__(data, terms)
        self.discount = self.discount[positions(self.ptr)]
        self.lost = _means_of_equals(self.discount, self.gain, self.ptr)
        self.best = self.scale * _segments.segment_sum(self.gain * self.lost, self.ptr)


class _PreparedPositions(_PreparedSums):
    """Weights of positions."""

    def __init__(self, data, terms, weights):
        super().__init__(data, terms)
        self.weights, self.target = weights, self.lost
        if weights is not None:
            self.target = _means_of_equals(weights, self.gain, self.ptr)

    def most_violated(self, raw):
        """Values and subgradient at the most violated rankings."""
        return _structured.positions(
            self._centred_scores(raw),
            self.ptr,
            self.gain,
            self.target,
            self.weights,
            self.discount,
            self.scale,
            self.best,
            self.query_weight,
            self.n_threads,
        )


class _PreparedPaths(_PreparedSums):
    """Pairs of documents of different gain."""

    def __init__(self, data, terms):
        super().__init__(data, terms)
        order, starts, sizes = _blocks(self.gain, self.ptr)
        self.order = (order - np.repeat(self.ptr[:-1], np.diff(self.ptr))).astype("i4")
        query = np.searchsorted(self.ptr, starts, side="right") - 1
        n_gains = np.bincount(query, minlength=self.n_queries)
        two = (n_gains == 2) & (np.diff(self.ptr) <= _convex_until(terms.discount))
        self._set_two_gains(terms.discount, two)
        states = np.zeros(self.n_queries)
        np.add.at(states, query, np.log2(sizes + 1.0))
        states[two] = 0.0
        if self.n_queries and states.max() > _MOST_STATES:
            worst = int(np.argmax(states))
            found = sizes[query == worst].tolist()
            raise ValueError(
                "weights='pairs' visits the product of the numbers of documents of "
                f"each gain, which query number {worst} has too many of, "
                f"{shown(found)}; choose weights='discount' for so long queries of so "
                "many grades"
            )

    def _set_two_gains(self, discount, two):
        """Keep what queries of two gains need, which interleave as for precision."""
        starts, sizes = self.ptr[:-1], np.diff(self.ptr)
        filled = sizes > 0
        least, most = np.zeros((2, self.n_queries))
        least[filled] = np.minimum.reduceat(self.gain, starts[filled])
        most[filled] = np.maximum.reduceat(self.gain, starts[filled])
        self.by_rank = discount
        self.higher = (self.gain > np.repeat(least, sizes)).astype(np.float64)
        self.scale_of_two = self.scale * (most - least)
        self.weight_of_two = np.where(two, self.query_weight, 0.0)
        self.weight_of_more = np.where(two, 0.0, self.query_weight)

    def _interleavings(self, raw):
        return _structured.interleavings(
            raw,
            self.ptr,
            self.higher,
            "gain_discount",
            self.by_rank,
            self.scale_of_two,
            self.weight_of_two,
            self.n_threads,
        )

    def most_violated(self, raw):
        """Values and subgradient at the most violated rankings."""
        raw = self._scores(raw)
        if not self.weight_of_more.any():
            return self._interleavings(raw)
        values, gradient = _structured.paths(
            raw,
            self.ptr,
            self.order,
            self.gain,
            self.discount,
            self.scale,
            self.best,
            self.weight_of_more,
            self.n_threads,
        )
        if self.weight_of_two.any():
            # Each kernel leaves zeros for the queries of the other one.
            for whole, part in zip((values, gradient), self._interleavings(raw)):
                whole += part
        return values, gradient


def _convex_until(discount):
    """Return the number of ranks up to which a discount is convex."""
    bends = np.flatnonzero(np.diff(discount, 2) < -_ROUNDING * np.abs(discount[:-2]))
    return int(bends[0]) + 2 if len(bends) else len(discount)


def _means_of_equals(by_place, gain, ptr):
    """Return, for each document, the mean over its places in perfect rankings.

    Parameters
    ----------
    by_place : ndarray of shape (n_documents,)
        What each place of each query has.
    gain : ndarray of shape (n_documents,)
        Gains: perfect rankings sort by them.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents,)
        Means over the places of all documents of the same query and gain.
    """
    order, starts, sizes = _blocks(gain, ptr)
    means = np.add.reduceat(by_place, starts) / sizes if len(starts) else by_place
    found = np.empty(len(gain))
    found[order] = np.repeat(means, sizes)
    return found


def _blocks(gain, ptr):
    """Return a perfect order of the rows, and where blocks of equal gain begin in it.

    Parameters
    ----------
    gain : ndarray of shape (n_documents,)
        Gains.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    order : ndarray of shape (n_documents,)
        Rows, query by query, by falling gain.
    starts, sizes : ndarrays of shape (n_blocks,)
        First place and length of each block.
    """
    query = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    order = np.lexsort((-gain, query))
    changes = (np.diff(gain[order]) != 0) | (np.diff(query) != 0)
    starts = np.flatnonzero(np.append(np.ones(min(1, len(gain)), dtype=bool), changes))
    return order, starts, np.diff(np.append(starts, len(gain)))
