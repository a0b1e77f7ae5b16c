"""Structured losses of cumulative distribution networks over preference edges."""

import math
from dataclasses import field
from numbers import Integral
from typing import ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from skrank._core import _list_losses, _pair_losses
from skrank._core._parameters import PositiveInt, Seed
from skrank.losses._base import BaseLoss, informative_query_weights
from skrank.losses._pairs import PreparedPairs


class CDNLoss(BaseLoss):
    r"""Negative log-probability of an order graph, by a network of its edges.

    The order graph of a query has an edge e from document i to j wherever
    :math:`y_i > y_j`, with :math:`r_e = f(x_i) - f(x_j)`. The network says which edges
    depend on each other (a cumulative distribution network):

    .. math::

        \text{full}\quad & \sum_e \frac{1}{|E|} \sum_{e'}
        \log\bigl(1 + e^{-w_1 r_e} + e^{-w_2 r_{e'}}\bigr) \\
        \text{disconnected}\quad & \sum_e \log\bigl(1 + e^{-w_1 r_e}\bigr) \\
        \text{star}\quad & \sum_i \log\Bigl(1 + \sum_{k: y_k < y_i}
        e^{-w_1 (f(x_i) - f(x_k))}\Bigr)

    "full" joins all ordered pairs of edges, an edge and itself included as in eq. 8 of
    the paper; "random" estimates the same mean over e' from edges matched at random.
    "disconnected" is `LogLoss`. "star" has one multivariate sigmoid for each
    preferred document and is `ListMLELoss` where all grades differ.

    The weights :math:`w_1, w_2 \ge 0` are parameters of the model, so raw scores may
    have two columns, :math:`w_1 f` for the edges e and :math:`w_2 f` for e'; a single
    column serves both. An edge has the weight of its preferred document, a pair of
    edges the product of both, and :math:`|E|` is then the sum of the weights of the
    edges: a query whose rows all weigh 2 counts as one that is repeated.

    Complexity for a query with E edges between m documents: "full" takes O(E) time and
    O(m) memory, with some hundred operations per edge, because the sum over e' is an
    analytic function of :math:`r_e` that is interpolated to about 1e-13; where scores
    range over more than 80, O(E log E) time and O(E) memory. "disconnected" takes O(E),
    "random" O(n_networks n_edge_pairs) and "star" O(m).

    Parameters
    ----------
    topology : {"full", "disconnected", "random", "star"}, default="full"
        Which preferences are joined.
    average : {"edge", "query"}, default="edge"
        What the mean is taken over: all edges of all queries ("star": all preferred
        documents), or queries, each being the mean over its own edges. The scale of the
        loss is then about the same for all topologies.
    n_edge_pairs : int, default=200
        With "random", pairs of edges in each network of a query.
    n_networks : int, default=5
        With "random", networks over which the mean is taken.
    random_state : int, RandomState instance or None, default=None
        Source of "random". An int draws the same networks whenever the loss is bound to
        the same data, and batches take those of their queries; None or a RandomState
        draws new networks for every batch.

    References
    ----------
    [Huang2008]_, eq. 5 and 8–10, section 6.1 for the special cases and section 6.2 for
    random networks.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import CDNLoss
    >>> values, gradient = CDNLoss().value_gradient([2, 1, 0], [0, 0, 0], [0, 3])
    >>> bool(abs(values[0] - 3 * np.log(3)) < 1e-12)  # three edges, terms of log 3
    True
    """

    short_name: ClassVar[str] = "cdn"
    weighs_scores = True
    shift_invariant = True

    topology: Literal["full", "disconnected", "random", "star"] = field(
        default="full", kw_only=False
    )
    average: Literal["edge", "query"] = field(default="edge", kw_only=False)
    n_edge_pairs: PositiveInt = field(default=200, kw_only=False)
    n_networks: PositiveInt = field(default=5, kw_only=False)
    random_state: Seed = field(default=None, kw_only=False)

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return "query" if self.average == "query" else "pair"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"average": "query"},
            {"topology": "disconnected"},
            {"topology": "star"},
            {"topology": "random", "n_edge_pairs": 9, "random_state": 0},
            {"topology": "random", "n_networks": 2, "random_state": 0},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        prepared = _TOPOLOGIES[self.topology](y, ptr, sample_weight, n_threads)
        prepared.bind(self)
        return prepared


class _PreparedEdges(PreparedPairs):
    """Edges of the order graphs, and what each query's sum is multiplied by."""

    def bind(self, loss):
        """Find the weight of the units."""
        self.unit_weight = unit_weight = self._unit_weight()
        self.scale = None
        if loss.average == "query":
            weight = informative_query_weights(self.y, self.ptr, self.weight)
            some = unit_weight > 0
            self.scale = np.divide(
                weight, unit_weight, out=np.zeros_like(weight), where=some
            )
            self.unit_weight = weight
        self.total_weight = float(self.unit_weight.sum())

    def _worse(self):
        """Number of documents below each, in order of grade."""
        sizes = np.diff(self.ptr)
        return np.repeat(sizes, sizes) - self.lower

    def _sorted_weight(self):
        """Weights in order of grade."""
        if self.weight is None:
            return np.ones(self.n_documents)
        return self.weight[self.order + np.repeat(self.ptr[:-1], np.diff(self.ptr))]

    def _edge_weight(self):
        """Sum of the weights of the edges of each query."""
        return self._by_query(self._sorted_weight() * self._worse())

    _unit_weight = _edge_weight

    def _by_query(self, x):
        query = np.repeat(np.arange(self.n_queries), np.diff(self.ptr))
        return np.bincount(query, x, minlength=self.n_queries)

    def value_gradient(self, raw):
        raw = np.asarray(raw, dtype=np.float64)
        two = raw.shape == (self.n_documents, 2)
        first = self._scores(raw[:, 0]) if two else self._centred_scores(raw)
        second = self._scores(raw[:, 1]) if two else None
        values, slope, second_slope = self._sums(first, second)
        if self.scale is not None:
            values = values * self.scale
            slope = slope * np.repeat(self.scale, np.diff(self.ptr))
        if not two:
            return values, slope
        if second_slope is None:
            second_slope = np.zeros_like(slope)
        elif self.scale is not None:
            second_slope = second_slope * np.repeat(self.scale, np.diff(self.ptr))
        return values, np.stack([slope, second_slope], axis=1)

    def _sums(self, first, second):
        """Values and gradients with respect to the two columns of scores."""
        raise NotImplementedError


class _Full(_PreparedEdges):
    def _sums(self, first, second):
        return _list_losses.edge_pairs(
            first,
            second,
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            False,
            self.n_threads,
        )


class _Disconnected(_PreparedEdges):
    def _sums(self, first, second):
        return _pair_losses.logistic(
            first,
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            1.0,
            False,
            self.n_threads,
        )  # no Hessian in third place, as no second gradient


class _Star(_PreparedEdges):
    def _unit_weight(self):
        return self._by_query(self._sorted_weight() * (self._worse() > 0))

    def _sums(self, first, second):
        values, slope = _list_losses.stars(
            first, self.ptr, self.order, self.lower, self.weight, self.n_threads
        )
        return values, slope, None


class _Random(_PreparedEdges):
    """Networks in which the edges of one sample are matched with those of another."""

    def bind(self, loss):
        """Draw the networks."""
        super().bind(loss)
        rng = check_random_state(loss.random_state)
        # An int would draw the same again.
        self.draws_anew = not isinstance(loss.random_state, Integral)
        shape = (self.n_queries, int(loss.n_networks), int(loss.n_edge_pairs))
        first = self._draw_edges(rng.random_sample(shape))
        second = self._draw_edges(rng.random_sample(shape))
        # Both samples run evenly through all edges; a random order matches them.
        matched = np.argsort(rng.random_sample(shape), axis=-1)
        second = np.take_along_axis(second, matched, axis=-1)
        self.pair_weight, self.pairs = self._pairs(first, second)

    @available_if(lambda self: not self.draws_anew)
    def subset(self, queries):
        """Loss of some queries, with the networks that were drawn for them."""
        by_query = ["unit_weight", "pair_weight", "pairs"]
        if self.scale is not None:
            by_query.append("scale")
        part, _ = self._part(queries, by_query=by_query)
        part.total_weight = float(part.unit_weight.sum())
        return part

    def _draw_edges(self, uniform):
        """One edge out of each of n equal parts of all edges of a query."""
        n = uniform.shape[-1]
        n_edges = self._by_query(self._worse())[:, None, None]
        place = (np.arange(n) + uniform) * (n_edges / n)
        return np.minimum(place, np.maximum(n_edges - 1, 0)).astype(np.int64)

    def _pairs(self, first, second):
        shape = first.shape[0], math.prod(first.shape[1:])
        first, second = first.reshape(shape), second.reshape(shape)
        n_edges, total = self._by_query(self._worse()), self._edge_weight()
        ends, weights = [], []
        for edges in (first, second):
            better, worse, weight = self._ends(edges)
            ends += [better, worse]
            weights.append(weight)
        zeros = np.zeros(len(total))
        scale = np.divide(n_edges**2, total, out=zeros, where=total > 0)
        pair_weight = weights[0] * weights[1] * scale[:, None] / first.shape[1]
        pairs = np.stack(ends, axis=-1).astype(np.int32)
        return np.ascontiguousarray(pair_weight), np.ascontiguousarray(pairs)

    def _ends(self, edges):
        """Both documents of numbered edges and the weight of the preferred one."""
        if self.n_documents == 0:
            empty = np.zeros(edges.shape, dtype=np.int64)
            return empty, empty, np.zeros(edges.shape)
        worse = self._worse()
        before = np.concatenate(([0], np.cumsum(worse)))
        number = edges + before[self.ptr[:-1]][:, None]
        number = np.minimum(number, max(before[-1] - 1, 0))
        row = np.searchsorted(before, number, side="right") - 1
        row = np.minimum(row, self.n_documents - 1)
        start = self.ptr[:-1][:, None]
        below = start + self.lower[row] + (number - before[row])
        below = np.minimum(below, self.n_documents - 1)
        return self.order[row], self.order[below], self._sorted_weight()[row]

    def _sums(self, first, second):
        return _list_losses.sampled_edge_pairs(
            first, second, self.ptr, self.pairs, self.pair_weight, self.n_threads
        )


_TOPOLOGIES = {
    "full": _Full,
    "disconnected": _Disconnected,
    "random": _Random,
    "star": _Star,
}
