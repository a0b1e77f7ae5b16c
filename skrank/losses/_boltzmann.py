"""Expected gain and cross entropy under a Boltzmann distribution over rankings."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _segments, _smooth_measures
from skrank._core._messages import shown
from skrank._core._parameters import (
    Interval,
    Positive,
    Seed,
    invalid_parameter,
)
from skrank._core._queries import rows_of_queries
from skrank._core._validation import as_numbers, calling
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike

# Rows of rank samples that are measured at a time.
_BLOCK_ROWS = 1 << 20

#: How much a difference of x ranks, x >= 1, counts among m documents.
RANK_WEIGHTS: dict[str, Callable] = {
    "linear": lambda x, m: 2.0 * x / (m - 1),
    "sign": lambda x, m: np.ones(len(x)),
    "logistic": lambda x, m: np.tanh(0.5 * x),
}


class BoltzmannLoss(BaseLoss):
    r"""Expected ranking gain, mixed with a cross entropy, over a sample of rankings.

    A ranking R that puts document j in rank :math:`r_j` has the energy

    .. math::

        E(R \mid S) = \frac{2}{m (m - 1)} \sum_{r_j > r_k} g(r_j - r_k) (s_j - s_k),

    which is low where high scores have small ranks, and among the rankings of the
    sample :math:`\mathcal{R}` of its query the probability
    :math:`P(R \mid S) \propto e^{-E(R \mid S)}`. The loss of a query is

    .. math::

        L = -\lambda \sum_{R} P(R \mid S)\, G(R)
        - (1 - \lambda) \sum_{R} P(R \mid Y) \log P(R \mid S),

    where G is a ranking measure and :math:`P(R \mid Y)` is the same distribution with
    the grades as scores. ``mix=1`` is the expected gain alone, ``mix=0`` the cross
    entropy alone.

    The sample is drawn once, when the loss is bound to the data. Its first ranking is
    by the grades. Further ones exchange some documents of the two best grades (up to
    35 % of the sample), some of two neighbouring lower grades (20 %; of the two grades
    where there are no more), some of the best and the worst grade, and the rest is any
    permutation; then documents are ranked by the grades they have, those of one grade
    at random. The sample of a query depends on the seed and on its grades only, not on
    other queries.

    The unit is the query, with the mean weight of its rows; a query whose grades are
    all equal adds nothing. The energy is linear in the scores for any g, with one
    coefficient per rank, so an evaluation costs O(n_documents n_samples); the ranks
    take two bytes each.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@10"
        The gain G: any measure of `skrank.metrics` of which more is better. Where it is
        undefined, as for a query without relevant documents, the gain is 0.
    n_samples : int, default=100
        Rankings per query.
    mix : float, default=0.9
        Share :math:`\lambda` of the expected gain, in [0, 1].
    g : {"linear", "sign", "logistic"} or callable, default="linear"
        What a difference of ranks counts: ``2 x / (m - 1)``, ``sign(x)``, or
        ``tanh(x / 2)``. A callable gets ``(x, m)`` with an array of differences
        ``1 ... m - 1`` and the length of the list, and returns an array.
    scale : float, default=1.0
        Positive factor :math:`\alpha` of g. The larger, the more the probability
        gathers on few rankings, for scores and grades alike.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample.

    References
    ----------
    [Volkovs2009]_, eq. 4–6, 11, 12, 14, 15 and section 4.2; [Liu2011]_, section 4.3.4,
    whose eq. 4.28 has the opposite sign.

    Examples
    --------
    >>> from skrank.losses import BoltzmannLoss
    >>> loss = BoltzmannLoss("ndcg", mix=1.0)
    >>> good, _ = loss.value_gradient([2, 1, 0], [4.0, 2.0, 0.0], [0, 3])
    >>> bad, gradient = loss.value_gradient([2, 1, 0], [0.0, 2.0, 4.0], [0, 3])
    >>> bool(good[0] < bad[0]), bool(gradient[0] < 0 < gradient[2])
    (True, True)
    """

    short_name: ClassVar[str] = "boltzmann"
    unit = "query"
    shift_invariant = True

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    n_samples: Annotated[int, Interval(2, None)] = field(default=100, kw_only=False)
    mix: Annotated[float, Interval(0, 1)] = field(default=0.9, kw_only=False)
    g: Literal["linear", "sign", "logistic"] | Callable = field(
        default="linear", kw_only=False
    )
    scale: Positive = field(default=1.0, kw_only=False)
    random_state: Seed = field(default=0, kw_only=False)

    @property
    def convex(self):
        """Whether the loss is convex: as a cross entropy alone."""
        return self.mix == 0

    def _check_parameters(self):
        super()._check_parameters()
        measure = get_measure(self.measure)
        if not measure.greater_is_better:
            accepted = "one of which more is better"
            raise invalid_parameter(self, "measure", accepted, self.measure)

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map", "n_samples": 7, "mix": 0.0, "g": "sign"},
            {"measure": "ndcg@3", "mix": 1.0, "g": "logistic", "scale": 3.0},
            {"random_state": 1},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        data = PreparedLoss(y, ptr, sample_weight, n_threads)
        measure = get_measure(self.measure)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        samples = _draw(data, int(self.n_samples), seed)
        samples.set_table(data.ptr, self.g, float(self.scale))
        samples.gain = _measured(measure, data, samples)
        samples.target = _softmax(-samples.energies(data.y, data.ptr, data.n_threads))
        return _PreparedBoltzmann(data, samples, float(self.mix))


def energy_table(m: int, g="linear", scale: float = 1.0):
    r"""Coefficients :math:`c(r)` of the energy :math:`E(R|S) = \sum_j c(r_j) s_j`.

    Collecting the terms of document j in eq. 4 of the paper, with
    :math:`G(n) = \sum_{x=1}^{n} g(x)`,

    .. math:: c(r) = \frac{2}{m (m - 1)} \bigl(G(r - 1) - G(m - r)\bigr).

    Parameters
    ----------
    m : int
        Length of the list.
    g : str or callable, default="linear"
        As in `BoltzmannLoss`.
    scale : float, default=1.0
        Factor of g.

    Returns
    -------
    ndarray of shape (m,)
        Antisymmetric about the middle rank; zeros for a list of one document.
        Complexity: O(m).
    """
    if m < 2:
        return np.zeros(m)
    x = np.arange(1.0, m)
    weights = RANK_WEIGHTS[g](x, m) if isinstance(g, str) else _own_weights(g, x, m)
    total = np.concatenate(([0.0], np.cumsum(weights)))
    return 2.0 * scale / (m * (m - 1)) * (total - total[::-1])


def _own_weights(g, x, m):
    """Weights of the differences of ranks by a function of the user's."""
    with calling("g"):
        weights = as_numbers(g(x.copy(), m), "its result")
    if weights.shape != x.shape or not np.isfinite(weights).all():
        raise ValueError(
            "the function g must return one finite number for each of "
            f"{len(x)} differences, returned {shown(weights)}"
        )
    return weights


def _nothing():
    return np.empty(0)


@dataclass
class _RankSamples:
    """Rank samples of queries; the arrays of places and tables may serve more queries.

    Attributes
    ----------
    places : ndarray, dtype uint16 or uint32
        0-based places, sample after sample.
    start : ndarray of shape (n_queries,)
        Where the samples of each query begin.
    table, table_start : ndarray
        Coefficients of the energy, and where those of each query begin.
    gain, target : ndarray of shape (n_queries, n_samples)
        Gain and target probability of each sample.
    """

    places: np.ndarray
    start: np.ndarray
    n_samples: int
    table: np.ndarray = field(default_factory=_nothing)
    table_start: np.ndarray = field(default_factory=_nothing)
    gain: np.ndarray = field(default_factory=_nothing)
    target: np.ndarray = field(default_factory=_nothing)

    def set_table(self, ptr, g, scale):
        """One table for each length of query."""
        lengths, which = np.unique(np.diff(ptr), return_inverse=True)
        tables = [energy_table(int(m), g, scale) for m in lengths]
        self.table = np.concatenate([*tables, [0.0]])
        self.table_start = (np.cumsum(lengths) - lengths).astype(np.intp)[which]

    def of(self, queries):
        """Samples of some queries."""
        return replace(
            self,
            start=self.start[queries],
            table_start=self.table_start[queries],
            gain=self.gain[queries],
            target=self.target[queries],
        )

    def energies(self, scores, ptr, n_threads):
        """Energies of all samples, (n_queries, n_samples)."""
        return _smooth_measures.ranking_energies(
            scores,
            ptr,
            self.start,
            self.places,
            self.table,
            self.table_start,
            self.n_samples,
            n_threads,
        )


def _draw(data, n_samples, seed):
    sizes = np.diff(data.ptr)
    kind = np.uint16 if sizes.max(initial=0) <= 1 << 16 else np.uint32
    # One more, so that the address of an empty query at the end is within the array.
    places = np.zeros(data.n_documents * n_samples + 1, dtype=kind)
    start = data.ptr[:-1] * n_samples
    order, lower = _segments.label_order(data.y, data.ptr, data.n_threads)
    _smooth_measures.draw_rankings(
        data.y,
        data.ptr,
        order,
        lower,
        start,
        places,
        n_samples,
        seed,
        data.n_threads,
    )
    return _RankSamples(places, start, n_samples)


def _measured(measure, data, samples):
    """Gain of every sample, through the public interface of measures."""
    n = samples.n_samples
    gain = np.empty((data.n_queries, n))
    # Queries are cut into blocks by where their rows would fall.
    block_of = data.ptr[:-1] * n // _BLOCK_ROWS
    edges = np.flatnonzero(np.diff(block_of, prepend=-1, append=-1))
    for first, last in pairwise(edges):
        rows, ptr = rows_of_queries(data.ptr, np.repeat(np.arange(first, last), n))
        begin = samples.start[first]
        places = samples.places[begin : begin + len(rows)]
        values = measure.per_query(
            data.y[rows], -places.astype(np.float64), ptr, n_threads=data.n_threads
        )
        gain[first:last] = values.reshape(-1, n)
    return np.nan_to_num(gain, nan=0.0)


def _softmax(x):
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


class _PreparedBoltzmann(PreparedLoss):
    n_columns = 1

    def __init__(self, data, samples, mix):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.samples = samples
        self.mix = mix
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def subset(self, queries):
        """Loss of some queries, with the rank samples they have here."""
        rows, ptr = rows_of_queries(self.ptr, queries)
        weight = None if self.weight is None else self.weight[rows]
        data = PreparedLoss(self.y[rows], ptr, weight, 1)
        return _PreparedBoltzmann(data, self.samples.of(queries), self.mix)

    def value_gradient(self, raw):
        samples = self.samples
        return _smooth_measures.boltzmann_loss(
            self._centred_scores(raw),
            self.ptr,
            samples.start,
            samples.places,
            samples.table,
            samples.table_start,
            samples.gain,
            samples.target,
            self.query_weight,
            self.mix,
            self.n_threads,
        )
