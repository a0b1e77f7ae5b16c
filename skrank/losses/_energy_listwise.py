"""Energy of a ranked list under the LVQ2 loss functional."""

from copy import deepcopy
from dataclasses import field
from typing import Annotated, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _segments
from skrank._core._parameters import Interval, NonNegative, PositiveInt, Seed
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights


class ListwiseEnergyLoss(BaseLoss):
    r"""LVQ2 loss of the energy of the ideal ranking.

    With :math:`\pi^{-1}(t)` the document that the grades put in position t and energies
    :math:`E = -f`, the energy of the list is what the first k documents have more than
    the rest of the list, seen from their position,

    .. math::

        E_{list} = \sum_{j=1}^{k} \Bigl( E(x_{\pi^{-1}(j)})
        - \sum_{t=j}^{m} P(t) \, E(x_{\pi^{-1}(t)}) \Bigr), \qquad
        P(t) \propto \begin{cases} 1 & t = 1 \\ 1 / \log_2 t & t > 1 \end{cases}

    and the loss of a query is :math:`\min(M, \max(0, \mu + E_{list}))`. Collected by
    document, :math:`E_{list} = \sum_t c_t E(x_{\pi^{-1}(t)})` with coefficients

    .. math:: c_t = [t \le k] - P(t) \min(t, k)

    that are computed once when the loss is bound to the grades: an evaluation costs
    O(m) for m documents. At the two kinks, :math:`\mu + E_{list} = 0` and M, the
    gradient is the one in between. The unit is the query, with the mean weight of its
    rows; a query whose grades are all equal adds nothing.

    Parameters
    ----------
    top_k : int, default=5
        Number of leading positions k; None for all of them.
    cap : float, default=5.0
        Largest loss M of a query: lists that are further off than this are given up.
        ``numpy.inf`` makes the loss convex.
    margin : float, default=0.0
        How far :math:`\mu` below zero the energy must be to cost nothing. With 0, as in
        the paper, scores that are all zero are a minimum of the loss, from which L-BFGS
        does not depart: take a margin above 0, or a stochastic solver.
    normalization : {"list", "sublist"}, default="list"
        What P sums to one over: the whole list, as in the paper, or the positions from
        j on, so that every inner sum is a mean. Under "list" the coefficients of a
        query sum to more than zero, so that the loss also falls when all scores of a
        query rise; under "sublist" only differences of scores matter.
    ties : {"average", "stable", "random"}, default="average"
        The order of documents of equal grade. "average" takes the mean of
        :math:`E_{list}` over all orders that agree with the grades, exactly; "stable"
        keeps the order of the rows, "random" draws one order when the loss is bound to
        the data.
    width : float, default=0.0
        Length of the parabola that replaces each kink; 0 keeps the kinks.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``.

    References
    ----------
    [Fang2016]_, section 5.3, eq. 29–32. The logarithm of eq. 31 is taken to base 2,
    since a natural one would weigh the second position more than the first.

    Examples
    --------
    >>> from skrank.losses import ListwiseEnergyLoss
    >>> loss = ListwiseEnergyLoss(top_k=1, margin=1.0)
    >>> values, gradient = loss.value_gradient([1, 0], [0.5, 0.0], [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([0.75], [-0.5, 0.5])
    """

    short_name: ClassVar[str] = "listwise_energy"
    unit = "query"

    top_k: PositiveInt | None = field(default=5, kw_only=False)
    cap: Annotated[float, Interval(0, np.inf, "right")] = field(
        default=5.0, kw_only=False
    )
    margin: NonNegative = field(default=0.0, kw_only=False)
    normalization: Literal["list", "sublist"] = field(default="list", kw_only=False)
    ties: Literal["average", "stable", "random"] = field(
        default="average", kw_only=False
    )
    width: NonNegative = field(default=0.0, kw_only=False)
    random_state: Seed = field(default=None, kw_only=False)

    @property
    def shift_invariant(self):
        """Whether scores of a query may shift: where every inner sum is a mean."""
        return self.normalization == "sublist"

    @property
    def convex(self):
        """Whether the loss is convex: without a cap."""
        return self.cap == np.inf

    def relaxed(self) -> "ListwiseEnergyLoss":
        """Return the loss without its cap, which is convex."""
        return deepcopy(self).set_params(cap=np.inf)

    def smoothed(self, width: float) -> "ListwiseEnergyLoss":
        """Return a differentiable loss that differs by at most ``width / 2`` a query.

        Parameters
        ----------
        width : float
            Length of the parabola that replaces each kink.

        Returns
        -------
        ListwiseEnergyLoss
        """
        return deepcopy(self).set_params(width=width)

    @classmethod
    def _variants(cls):
        return [
            {},
            {"top_k": 2, "cap": np.inf, "margin": 1.0, "normalization": "sublist"},
            {"top_k": None, "cap": 0.7, "margin": 0.5, "ties": "stable"},
            {"cap": 1.0, "margin": 0.5, "ties": "random", "random_state": 0},
            {"cap": 0.9, "margin": 0.5, "width": 0.4},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedListwiseEnergy(
            y, ptr, sample_weight, n_threads, self, self.random_state
        )


def ramp(z, cap, width=0.0):
    """LVQ2 loss of an energy and its slope: zero, then rising, then constant.

    Parameters
    ----------
    z : ndarray
        Energies, margin included.
    cap : float
        Largest loss; may be infinite.
    width : float, default=0.0
        Length of the parabola that replaces each kink.

    Returns
    -------
    values, slopes : ndarrays like z
        Without a parabola, the slope at both kinks is 1, as in the update rules of
        [Fang2016]_, eq. 28 and section 5.3.
    """
    if width == 0.0:
        return np.clip(z, 0.0, cap), ((z >= 0.0) & (z <= cap)).astype(np.float64)
    z = np.minimum(z, cap + width)  # the loss is constant from there
    rise = np.clip(z, 0.0, width)
    values, slopes = rise / (2.0 * width) * rise + (np.maximum(z, width) - width), rise
    if cap < np.inf:
        bend = np.clip(z - cap, 0.0, width)
        beyond = np.maximum(z - cap, width) - width
        values = values - bend / (2.0 * width) * bend - beyond
        slopes = slopes - bend
    return values, slopes / width


def position_coefficients(size, top_k, normalization):
    """Coefficient of each position's energy in the energy of a list.

    Parameters
    ----------
    size : int
        Length m of the list.
    top_k : int or None
        Leading positions.
    normalization : {"list", "sublist"}
        Positions that the weights of an inner sum are normalised over.

    Returns
    -------
    ndarray of shape (size,)
    """
    position = np.arange(1, size + 1)
    k = size if top_k is None else min(top_k, size)
    discount = np.ones(size)
    discount[1:] = 1.0 / np.log2(position[1:])
    # Total weight of the positions from j on, for j = 1..k.
    rest = np.cumsum(discount[::-1])[::-1][:k]
    if normalization == "list":
        rest = np.full(k, rest[0])
    mass = np.cumsum(1.0 / rest)
    return (position <= k) - discount * mass[np.minimum(position, k) - 1]


class _PreparedListwiseEnergy(PreparedLoss):
    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads, loss, random_state):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.margin = float(loss.margin)
        self.cap = float(loss.cap)
        self.width = float(loss.width)
        self.shift_invariant = loss.shift_invariant
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        order, lower = _segments.label_order(self.y, self.ptr, self.n_threads)
        if loss.ties == "random":
            key = check_random_state(random_state).uniform(size=self.n_documents)
            order = _segments.sort_ties(key, order, lower, self.ptr, self.n_threads)
        by_position = self._by_position(loss.top_k, loss.normalization)
        if loss.ties == "average":
            by_position = self._average_ties(by_position, lower)
        start = np.repeat(self.ptr[:-1], np.diff(self.ptr))
        #: Coefficient of each document's score in minus the energy of its list.
        self.coefficients = np.empty(self.n_documents)
        self.coefficients[start + order] = by_position

    def _by_position(self, top_k, normalization):
        """Coefficients in the order of the grades; they depend on lengths only."""
        sizes, which = np.unique(np.diff(self.ptr), return_inverse=True)
        tables = [position_coefficients(m, top_k, normalization) for m in sizes if m]
        offset = np.concatenate(([0], np.cumsum(sizes)))[which]
        shift = np.repeat(offset - self.ptr[:-1], np.diff(self.ptr))
        table = np.concatenate([np.empty(0), *tables])
        return table[np.arange(self.n_documents) + shift]

    def _average_ties(self, coefficients, lower):
        """Mean over each run of equal grades."""
        n = self.n_documents
        first = np.empty(n, dtype=bool)
        first[1:] = lower[1:] != lower[:-1]
        first[self.ptr[:-1][np.diff(self.ptr) > 0]] = True
        runs = np.append(np.flatnonzero(first), n).astype(np.intp)
        sizes = np.diff(runs)
        return np.repeat(_segments.segment_sum(coefficients, runs) / sizes, sizes)

    def subset(self, queries):
        """Loss of some queries, with the orders that were drawn for them."""
        part, _ = self._part(queries, ["coefficients"], ["query_weight"])
        part.total_weight = float(part.query_weight.sum())
        return part

    def list_energies(self, raw):
        """Energy of the ideal ranking of each query, shape (n_queries,)."""
        shifts = self.shift_invariant
        scores = self._centred_scores(raw) if shifts else self._scores(raw)
        return -_segments.segment_sum(self.coefficients * scores, self.ptr)

    def value_gradient(self, raw):
        z = self.margin + self.list_energies(raw)
        values, slopes = ramp(z, self.cap, self.width)
        slopes = np.repeat(self.query_weight * slopes, np.diff(self.ptr))
        return self.query_weight * values, -slopes * self.coefficients
