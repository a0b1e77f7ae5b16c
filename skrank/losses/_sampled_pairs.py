"""Pairwise losses over a random sample of the preference pairs."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _segments
from skrank.losses._base import BaseLoss
from skrank.losses._functional import PreparedMinimum
from skrank.losses._pairs import PreparedPairs, single_pairs

_AGAINST = ("lower", "zero")


class SampledPairsLoss(BaseLoss):
    r"""A pairwise loss over pairs drawn at random within each query.

    .. math:: \ell_q = \frac{P_q}{n} \sum_{p=1}^{n} w_{u_p} \,
              \phi\bigl(f(x_{u_p}), f(x_{v_p})\bigr)

    with n pairs drawn uniformly, with replacement, from the :math:`P_q` preference
    pairs of the query. The expectation is the loss over all of them. Pairs are drawn
    when the loss is bound to data, so a stochastic solver sees new ones in every batch.

    Over `RankNetLoss` this is Bayesian personalised ranking (BPR). With
    ``against="zero"`` it draws the triples of GERank: a query, a relevant document and
    one of grade 0.

    Complexity: O(n_queries n_pairs) per evaluation; O(n_queries n_pairs log
    n_documents) and one sort by grade to draw.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss that offers ``pair_loss(better, worse)``.
    n_pairs : int, default=32
        Number n of pairs per query.
    random_state : int, RandomState instance or None, default=None
        An int draws in the same way every time; a RandomState goes on drawing.
    against : {"lower", "zero"}, default="lower"
        The other documents of pairs: all of a lower grade, or those of grade 0.

    References
    ----------
    Fang and Liu, 2016, section 4.2.2; Rendle et al., 2009, section 4; Wu et al., 2022,
    section 5.2.

    Examples
    --------
    >>> from skrank.losses import RankNetLoss, SampledPairsLoss
    >>> loss = SampledPairsLoss(RankNetLoss(), n_pairs=4, random_state=0)
    >>> values, gradient = loss.value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.tolist()  # the only pair, four times
    ([0.6931], [-0.5, 0.5])
    """

    unit = "pair"

    def __init__(self, loss, n_pairs: int = 32, random_state=None, *, against="lower"):
        self.loss = loss
        self.n_pairs = n_pairs
        self.random_state = random_state
        self.against = against

    @property
    def convex(self):
        """Whether the loss of a pair is convex."""
        return self.loss.convex

    @property
    def shift_invariant(self):
        """Whether the loss of a pair depends on the difference of scores alone."""
        return self.loss.shift_invariant

    @property
    def reads_labels(self):
        """Whether the loss takes energies that depend on the label."""
        return self.loss.reads_labels

    @property
    def compares_minima(self):
        """Whether documents are compared by their minima over the labels."""
        return self.loss.compares_minima

    def smoothed(self, width: float) -> "SampledPairsLoss":
        """Return a sample under the smooth version of the loss."""
        return SampledPairsLoss(
            self.loss.smoothed(width),
            self.n_pairs,
            self.random_state,
            against=self.against,
        )

    def prepare(self, y, ptr, sample_weight=None, *, labels=None, n_threads: int = 1):
        """Draw pairs; see `EnergyFunctional.prepare` for ``labels``."""
        if not hasattr(self.loss, "pair_loss") or self.loss.unit != "pair":
            raise TypeError(
                "loss must be a pairwise loss such as RankNetLoss() or HingeLoss(), "
                f"got {self.loss!r}"
            )
        if not isinstance(self.n_pairs, Integral) or self.n_pairs < 1:
            raise ValueError(f"n_pairs must be an int >= 1, got {self.n_pairs!r}")
        if self.against not in _AGAINST:
            raise ValueError(f"against must be one of {_AGAINST}, got {self.against!r}")
        rng = check_random_state(self.random_state)
        pairs = _PreparedSample(self, y, ptr, sample_weight, n_threads, rng)
        return pairs if labels is None else PreparedMinimum(pairs, len(labels))


class _PreparedSample(PreparedPairs):
    def __init__(self, loss, y, ptr, sample_weight, n_threads, rng):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.loss = loss.loss
        self.draws_anew = not isinstance(loss.random_state, Integral)
        sizes = np.diff(self.ptr)
        start = np.repeat(self.ptr[:-1], sizes)
        rows = self.order + start
        first = self._first_other(rows, sizes, loss.against)
        counts = np.repeat(sizes, sizes) - first  # pairs of each document, by grade
        weight = 1.0 if self.weight is None else self.weight[rows]
        self.total_weight = float(np.sum(weight * counts))
        ends = np.cumsum(counts)
        per_query = np.diff(np.append(0, ends)[self.ptr])
        self.queries = np.flatnonzero(per_query)
        self.shape = (len(self.queries), int(loss.n_pairs))
        n_there = per_query[self.queries]
        drawn = rng.randint(0, n_there[:, None], size=self.shape, dtype=np.int64)
        drawn += np.append(0, ends)[self.ptr[self.queries]][:, None]
        u = np.searchsorted(ends, drawn.ravel(), side="right")
        v = start[u] + first[u] + drawn.ravel() - (ends[u] - counts[u])
        self.better, self.worse = rows[u], rows[v]
        self.pair_weight = np.repeat(n_there / loss.n_pairs, loss.n_pairs)
        if self.weight is not None:
            self.pair_weight *= self.weight[self.better]

    def _first_other(self, rows, sizes, against):
        """First position, by grade, of the documents that each one may be paired with.

        From there to the end of the query, every document will do.
        """
        if against == "lower":
            return self.lower.astype(np.intp)
        is_zero = self.y == 0
        n_zero = _segments.segment_sum(is_zero.astype(np.float64), self.ptr)
        first = np.repeat(sizes - n_zero.astype(np.intp), sizes)
        return np.where(is_zero[rows], np.repeat(sizes, sizes), first)

    def value_gradient(self, raw):
        values, gradient = single_pairs(
            self.loss, self._scores(raw), self.better, self.worse, self.pair_weight
        )
        per_query = np.zeros(self.n_queries)
        per_query[self.queries] = values.reshape(self.shape).sum(axis=1)
        return per_query, gradient
