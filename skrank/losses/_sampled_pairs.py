"""Pairwise losses over a random sample of the preference pairs."""

import warnings
from dataclasses import field
from numbers import Integral
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from skrank._core import _segments
from skrank._core._parameters import PositiveInt, Seed
from skrank.losses._functional import PreparedMinimum
from skrank.losses._pairs import PairIndex, PairWeighting, PreparedPairs, pair_sums
from skrank.losses._wrapped import WrappedPairLoss


class SampledPairsLoss(WrappedPairLoss):
    r"""A pairwise loss over pairs drawn at random within each query.

    .. math:: \ell_q = \frac{P_q}{n} \sum_{p=1}^{n} w_{u_p} \,
              \phi\bigl(f(x_{u_p}), f(x_{v_p})\bigr)

    with n pairs drawn uniformly, with replacement, from the :math:`P_q` preference
    pairs of the query. The expectation is the loss over all of them. Pairs are drawn
    when the loss is bound to data. A stochastic solver sees new ones in every batch,
    unless ``random_state`` is an int: its batches then share the pairs of the whole.

    Over `LogLoss` this is Bayesian personalised ranking (BPR). With
    ``against="zero"`` it draws the triples of GERank: a query, a relevant document and
    one of grade 0.

    Complexity: O(n_queries n_pairs) per evaluation; O(n_queries n_pairs log
    n_documents) and one sort by grade to draw.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss, one that offers ``pair_loss(better, worse)``, such as
        `LogLoss` or `HingeLoss`. Its ``normalization`` and ``grade_weights`` hold for
        the pairs that may be drawn.
    n_pairs : int, default=32
        Number n of pairs per query.
    random_state : int, RandomState instance or None, default=None
        An int draws the same pairs whenever the loss is bound to the same data, and
        batches take their part of these; None or a RandomState goes on drawing.
    against : {"lower", "zero"}, default="lower"
        The other documents of pairs: all of a lower grade, or those of grade 0. If
        there are none of grade 0, nothing can be learned, of which the loss warns.

    References
    ----------
    [Fang2016]_, section 4.2.2; [Rendle2009]_, section 4; [Wu2022]_, section 5.2.

    Examples
    --------
    >>> from skrank.losses import LogLoss, SampledPairsLoss
    >>> loss = SampledPairsLoss(LogLoss(), n_pairs=4, random_state=0)
    >>> values, gradient = loss.value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()  # the only pair, four times
    ([0.6931], [-0.5, 0.5])
    """

    n_pairs: PositiveInt = field(default=32, kw_only=False)
    random_state: Seed = field(default=None, kw_only=False)
    against: Literal["lower", "zero"] = "lower"

    @classmethod
    def _variants(cls):
        from skrank.losses import HingeLoss, LogLoss, SquareSquareLoss

        return [
            {"loss": LogLoss(), "random_state": 0},
            {"loss": SquareSquareLoss(), "n_pairs": 3, "random_state": 0},
            {"loss": HingeLoss(), "against": "zero", "random_state": 0},
            {"loss": HingeLoss(normalization="query"), "random_state": 0},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        rng = check_random_state(self.random_state)
        pairs = _PreparedSample(self, y, ptr, sample_weight, n_threads, rng)
        return pairs if labels is None else PreparedMinimum(pairs, len(labels))

    def _check_bound(self, prepared):
        if self.against == "zero" and prepared.total_weight == 0:
            warnings.warn(
                "SampledPairsLoss(against='zero') found no pair to train on: no "
                "document of grade 0 shares its query with one of a higher grade; "
                "use against='lower', or grades that begin at 0",
                UserWarning,
                stacklevel=3,
            )


class _PreparedSample(PreparedPairs):
    def __init__(self, loss, y, ptr, sample_weight, n_threads, rng):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.loss = loss.loss
        self.draws_anew = not isinstance(loss.random_state, Integral)
        index = PairIndex(self, self._first_other(loss.against))
        weighting = PairWeighting.of(self.loss, self.y)
        if weighting is not None:
            self.weight = weighting.row_weights(self, index)
        per_query = np.diff(np.append(0, index.ends)[self.ptr])
        self.queries = np.flatnonzero(per_query)
        self.shape = (len(self.queries), int(loss.n_pairs))
        n_there = per_query[self.queries]
        drawn = rng.randint(0, n_there[:, None], size=self.shape, dtype=np.int64)
        drawn += np.append(0, index.ends)[self.ptr[self.queries]][:, None]
        self.better, self.worse = index.look_up(drawn.ravel())
        self.pair_weight = np.repeat(n_there / loss.n_pairs, loss.n_pairs)
        if self.weight is not None:
            self.pair_weight *= self.weight[self.better]
        totals = self._totals(index, weighting)
        self.total_weight = float(np.sum(totals))
        self.query_total = _segments.segment_sum(totals, self.ptr)

    @available_if(lambda self: not self.draws_anew)
    def subset(self, queries):
        """Loss of some queries, over the pairs that were drawn for them."""
        part, _ = self._part(queries, by_query=["query_total"])
        part.total_weight = float(part.query_total.sum())
        known = np.isin(queries, self.queries)
        part.queries = np.flatnonzero(known)
        place = np.searchsorted(self.queries, queries[known])
        part.shape = (len(place), self.shape[1])
        moved = (part.ptr[:-1] - self.ptr[queries])[known][:, None]
        part.better = (self.better.reshape(self.shape)[place] + moved).ravel()
        part.worse = (self.worse.reshape(self.shape)[place] + moved).ravel()
        part.pair_weight = self.pair_weight.reshape(self.shape)[place].ravel()
        return part

    def _first_other(self, against):
        """First position, by grade, of the documents that each one may be paired with.

        From there to the end of the query, every document will do. None stands for
        those of lower grade.
        """
        if against == "lower":
            return None
        sizes = np.diff(self.ptr)
        is_zero = self.y == 0
        n_zero = _segments.segment_sum(is_zero.astype(np.float64), self.ptr)
        first = np.repeat(sizes - n_zero.astype(np.intp), sizes)
        rows = self.order + np.repeat(self.ptr[:-1], sizes)
        return np.where(is_zero[rows], np.repeat(sizes, sizes), first)

    def _totals(self, index, weighting):
        """Weight of the pairs that may be drawn, by their preferred document.

        Weights by both grades enter the weights of the pairs that were drawn.
        """
        weight = 1.0 if self.weight is None else self.weight[index.rows]
        if weighting is None or weighting.by_row:
            return weight * index.counts
        of_grades = weighting.weights(self.y[self.better], self.y[self.worse])
        self.pair_weight *= of_grades
        return weighting.totals(self, index)

    def value_gradient(self, raw):
        values, gradient, _ = pair_sums(
            self.loss, self._scores(raw), self.better, self.worse, self.pair_weight
        )
        per_query = np.zeros(self.n_queries)
        per_query[self.queries] = values.reshape(self.shape).sum(axis=1)
        return per_query, gradient
