"""ListMLE: likelihood of the order of the grades under the Plackett–Luce model."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from operator import attrgetter
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _list_losses, _segments
from skrank._core._parameters import PositiveInt, Seed, invalid_parameter
from skrank._core._validation import as_numbers, called
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.losses._tied_orders import MAX_TIED, best_order, mean_over_orders
from skrank.metrics._gain import numbers_of_function


class ListMLELoss(BaseLoss):
    r"""Negative log-likelihood of the order of the grades (Plackett–Luce).

    With :math:`\pi^{-1}(j)` the document that the grades put in position j,

    .. math::

        L(f; \mathbf{x}, \pi_y) = \sum_{j=1}^{k} w_j \Bigl(
        \log \sum_{t=j}^{m} e^{f(x_{\pi^{-1}(t)})} - f(x_{\pi^{-1}(j)}) \Bigr),

    where k = ``top_k`` positions count and :math:`w_j` are the position weights, ones
    by default. The unit is the query, with the mean weight of its rows; a query whose
    grades are all equal adds nothing.

    Complexity: O(n_documents), plus sorting the tied documents of each query when
    ``ties="best"``. Where the sets of b tied documents are enumerated, as below,
    :math:`O(b\,2^b)` for each run of ties; O(n_samples n_documents) for orders that are
    drawn; a hundred points of quadrature or so, O(n_documents) each, where
    ``ties="partition"``.

    Parameters
    ----------
    top_k : int, default=None
        Number of positions that count; None for all of them. Under ``ties="partition"``
        the grades that begin further down are not told apart.
    ties : {"best", "average", "partition", "stable", "random"}, default="best"
        The order of documents of equal grade. "best" takes the most likely of all
        orders that agree with the grades; the loss then stays continuous but is no
        longer convex. Under position weights that never increase it sorts tied
        documents by their current scores; under others the best order depends on all
        scores, and the sets of up to 10 tied documents are enumerated; more are an
        error. "average" takes the mean of the loss over all these orders: exactly for
        up to 10 tied documents, and over ``n_samples`` orders that are drawn once for
        more. "partition" sums the likelihood over all these orders, which is the
        probability that no document comes before one of a higher grade; the loss is
        convex. For a grade B above the lower grades R it is

        .. math::

            -\log \int_0^\infty W e^{-W t} \prod_{i \in B}
            \bigl(1 - e^{-e^{f(x_i)} t}\bigr)\, dt, \qquad
            W = \sum_{j \in R} e^{f(x_j)},

        by quadrature, with an error below :math:`10^{-10}` for any number of tied
        documents. "stable" keeps the order of the rows, "random" draws one order when
        the loss is bound to the data.
    position_weights : {None, "p", "log2"}, array-like or callable, default=None
        Weights of the positions. "p" decreases by about a half from one position to
        the next, :math:`(2^{m-j} - 1) / (2^{m-1} - 1)` (p-ListMLE, scaled to start at
        1); "log2" is :math:`1 / \log_2(1 + j)`; an array holds the weights of the first
        positions, further ones are 0; a callable gets ``(positions, sizes)``, 1-based
        positions and the sizes of their queries, and returns an array of weights. Only
        None under ``ties="partition"``, which has no order within a grade.
    prior : tuple of float, default=None
        Shape a >= 1 and rate b > 0 of a Gamma prior on the strengths :math:`e^{f}`,
        which adds :math:`\sum_j b e^{f(x_j)} - (a - 1) f(x_j)` to the loss of a query
        (Bayesian Plackett–Luce); scores are then no longer free to shift. Beyond a
        score of 50 the exponential goes on as its tangent, so that it cannot overflow.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders that are drawn, by ``ties="random"`` or "average".
    n_samples : int, default=32
        Number of orders of more than 10 tied documents that ``ties="average"`` draws.

    References
    ----------
    [Liu2011]_, section 4.3.1, eq. 4.22 (whose denominator must run from j to m), and
    section 4.3.2, eq. 4.24 and 4.25, exercises 4.7 and 4.9; [Xia2008]_; [Fang2016]_,
    eq. 21–25; [Lan2014]_, for the weights "p"; [Guiver2009]_, for the prior; [Ma2021]_,
    section 4, for the partitions.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ListMLELoss
    >>> values, gradient = ListMLELoss().value_gradient([2, 1, 0], [0, 0, 0], [0, 3])
    >>> bool(abs(values[0] - np.log(3 * 2 * 1)) < 1e-12)
    True
    >>> gradient.round(4).tolist()
    [-0.6667, -0.1667, 0.8333]
    """

    short_name: ClassVar[str] = "listmle"
    unit = "query"

    top_k: PositiveInt | None = field(default=None, kw_only=False)
    ties: Literal["best", "average", "partition", "stable", "random"] = field(
        default="best", kw_only=False
    )
    position_weights: (
        Literal["p", "log2"] | Sequence[float] | np.ndarray | Callable | None
    ) = field(default=None, kw_only=False)
    prior: tuple[float, float] | None = field(default=None, kw_only=False)
    random_state: Seed = field(default=None, kw_only=False)
    n_samples: PositiveInt = 32

    def _check_parameters(self):
        super()._check_parameters()
        if self.ties == "partition" and self.position_weights is not None:
            accepted = "None where ties='partition', which orders no positions"
            raise invalid_parameter(
                self, "position_weights", accepted, self.position_weights
            )
        if self.prior is None:
            return
        shape, rate = self.prior
        if not (1 <= shape < np.inf and 0 < rate < np.inf):
            accepted = "(shape >= 1, rate > 0) or None"
            raise invalid_parameter(self, "prior", accepted, self.prior)

    @classmethod
    def _variants(cls):
        return [
            {},
            {"top_k": 2, "ties": "stable"},
            {"ties": "random", "position_weights": "p", "random_state": 0},
            {"ties": "average", "random_state": 0},
            {"ties": "average", "top_k": 3, "random_state": 0, "n_samples": 5},
            {"ties": "partition"},
            {"ties": "partition", "top_k": 2},
            {"position_weights": "log2"},
            {"position_weights": [1.0, 1.0, 0.5]},
            {"prior": (2.0, 0.5)},
        ]

    @property
    def shift_invariant(self):
        """Whether scores of a query may shift: not under a prior."""
        return self.prior is None

    @property
    def convex(self):
        """Whether the loss is convex: not when tied documents follow the scores."""
        return self.ties != "best"

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _TIES[self.ties](self, y, ptr, sample_weight, n_threads)


def _stage_weights(position_weights, ptr):
    """Weight of each position of each query, or None for ones."""
    if position_weights is None:
        return None
    sizes = np.diff(ptr)
    size = np.repeat(sizes, sizes)
    position = np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes) + 1
    if callable(position_weights):
        found = called("position_weights", position_weights, position, size)
        weights = numbers_of_function("position_weights", found, len(position))
    elif isinstance(position_weights, str):
        weights = _named_weights(position_weights, position, size)
    else:
        table = as_numbers(position_weights, "position_weights")
        if table.ndim != 1 or not len(table):
            raise ValueError(
                "position_weights must hold one weight for each of the first positions,"
                f" got an array of shape {table.shape}"
            )
        weights = np.append(table, 0.0)[np.minimum(position - 1, len(table))]
    if weights.shape != position.shape or not np.all(
        np.isfinite(weights) & (weights >= 0)
    ):
        raise ValueError(
            "position_weights must give one finite weight >= 0 per position"
        )
    return np.ascontiguousarray(weights)


def _named_weights(name, position, size):
    if name == "log2":
        return 1.0 / np.log2(1.0 + position)
    # "p" in powers of 1/2, since 2^m overflows for long lists
    scale = 1.0 - np.exp2(1.0 - np.maximum(size, 2))
    return np.exp2(1.0 - position) * (1.0 - np.exp2(position - size)) / scale


class _PreparedListMLE(PreparedLoss):
    """Likelihood of one order of each query: by grade, ties in the order of the rows.

    Parameters
    ----------
    loss : ListMLELoss
        Hyper-parameters.
    y, ptr, sample_weight, n_threads
        See `PreparedLoss`.
    """

    n_columns = 1

    def __init__(self, loss, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.top_k = 0 if loss.top_k is None else int(loss.top_k)
        self.prior = None if loss.prior is None else tuple(map(float, loss.prior))
        self.stage_weight = _stage_weights(loss.position_weights, self.ptr)
        self.order, self.lower = _segments.label_order(self.y, self.ptr, self.n_threads)
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        self._fix_ties(loss)

    def _fix_ties(self, loss):
        """Decide, once, what can be decided about documents of equal grade."""

    def subset(self, queries):
        """Loss of some queries, with the orders that were drawn for them."""
        part, rows = self._part(queries, ["order", "lower"], ["query_weight"])
        part.total_weight = float(part.query_weight.sum())
        if self.stage_weight is not None:
            part.stage_weight = self.stage_weight[rows]
        self._take_ties(part, rows, queries)
        return part

    def _take_ties(self, part, rows, queries):
        """Give a part what `_fix_ties` decided about its queries."""

    def _order_by(self, key):
        """Order by grade, and ties by a key, descending."""
        return _segments.sort_ties(
            key, self.order, self.lower, self.ptr, self.n_threads
        )

    def _draw(self, rng):
        return self._order_by(rng.uniform(size=self.n_documents))

    def _likelihood(self, raw, order, stage_weight):
        return _list_losses.plackett_luce(
            raw,
            self.ptr,
            order,
            stage_weight,
            self.query_weight,
            self.top_k,
            self.n_threads,
        )

    def _over_ties(self, raw):
        """Values and gradient without the prior."""
        return self._likelihood(raw, self.order, self.stage_weight)

    def value_gradient(self, raw):
        values, gradient = self._over_ties(self._centred_scores(raw))
        if self.prior is None:
            return values, gradient
        penalty, slope = _gamma_penalty(self._scores(raw), *self.prior)
        weight = np.repeat(self.query_weight, np.diff(self.ptr))
        values = values + _segments.segment_sum(weight * penalty, self.ptr)
        return values, gradient + weight * slope

    def _runs(self):
        """Runs of two or more tied documents in positions that count.

        Returns
        -------
        list of _Run
            Those of queries with a preference, in order.
        """
        weights = self._counted_weights()
        sizes = np.diff(self.ptr)
        query = np.repeat(np.arange(self.n_queries), sizes)
        changes = np.flatnonzero(np.diff(self.lower) | np.diff(query)) + 1
        edges = np.concatenate(([0], changes, [self.n_documents]))
        tied = np.flatnonzero(np.diff(edges) > 1)
        runs = []
        for start, end in zip(edges[tied].tolist(), edges[tied + 1].tolist()):
            q = query[start]
            if self.query_weight[q] and weights[start:end].any():
                stop = int(self.ptr[q + 1])
                runs.append(_Run(start, end, stop, int(q), weights[start:end]))
        return runs

    def _counted_weights(self):
        """Weight of every position, 0 beyond ``top_k``."""
        weights = self.stage_weight
        weights = np.ones(self.n_documents) if weights is None else weights.copy()
        if self.top_k:
            sizes = np.diff(self.ptr)
            position = np.arange(self.n_documents) - np.repeat(self.ptr[:-1], sizes)
            weights[position >= self.top_k] = 0.0
        return weights

    def _moved(self, runs, part, queries):
        """Runs of some queries, at the places that they have in the part."""
        moved = []
        for q, query in enumerate(queries):
            first = bisect_left(runs, query, key=_query_of)
            last = bisect_right(runs, query, key=_query_of)
            shift = int(part.ptr[q] - self.ptr[query])
            moved += [run.moved(shift, q) for run in runs[first:last]]
        return moved

    def _below(self, raw, order, run):
        """Rows below a run of ties, their best score, and strengths beside that one."""
        rows = self.ptr[run.query] + order[run.end : run.stop]
        top = raw[rows].max(initial=-np.inf)
        return rows, top, np.exp(raw[rows] - top)


class _Run(NamedTuple):
    """Positions of tied documents, counted over all queries.

    Attributes
    ----------
    start, end : int
        The positions are ``start:end``.
    stop : int
        End of the query.
    query : int
        Number of the query.
    weights : ndarray of shape (end - start,)
        Weights of the positions.
    """

    start: int
    end: int
    stop: int
    query: int
    weights: np.ndarray

    def moved(self, shift, query):
        """The same run, so many positions further on and in another query."""
        start, end, stop = self.start + shift, self.end + shift, self.stop + shift
        return _Run(start, end, stop, query, self.weights)


_query_of = attrgetter("query")


class _PreparedRandom(_PreparedListMLE):
    """Ties in an order that is drawn once."""

    def _fix_ties(self, loss):
        self.order = self._draw(check_random_state(loss.random_state))


class _PreparedBest(_PreparedListMLE):
    """Ties in the most likely order."""

    def _fix_ties(self, loss):
        weights = self.stage_weight
        self.hard = []
        # Runs need not be looked for where no weight is above the one before.
        if weights is not None and np.any(np.diff(weights) > 0):
            runs = self._runs()
            self.hard = [run for run in runs if np.any(np.diff(run.weights) > 0)]
        longest = max((run.end - run.start for run in self.hard), default=0)
        if longest > MAX_TIED:
            raise ValueError(
                f"ties='best' finds the best order of at most {MAX_TIED} documents of "
                f"equal grade where position weights increase, not of {longest}; "
                "use weights that do not increase, or ties='average' or 'random'"
            )

    def _take_ties(self, part, rows, queries):
        part.hard = self._moved(self.hard, part, queries)

    def _over_ties(self, raw):
        order = self._order_by(raw)
        for run in self.hard:
            tied = order[run.start : run.end].copy()
            _, top, strengths = self._below(raw, order, run)
            scores = raw[self.ptr[run.query] + tied]
            origin = max(top, scores.max())
            rest = (top - origin, strengths.sum())
            best = best_order(scores - origin, run.weights, rest)
            order[run.start : run.end] = tied[best]
        return self._likelihood(raw, order, self.stage_weight)


class _PreparedAverage(_PreparedListMLE):
    """Mean over all orders of the ties.

    The order within one run of ties changes no term of another, so that every run has
    its own mean: exact where it is short, and over drawn orders where it is long.
    """

    def _fix_ties(self, loss):
        self.alone = self._counted_weights()
        self.drawn_weight = np.zeros(self.n_documents)
        runs = self._runs()
        for run in runs:
            self.alone[run.start : run.end] = 0.0
        self.short = [run for run in runs if run.end - run.start <= MAX_TIED]
        for run in runs:
            if run.end - run.start > MAX_TIED:
                self.drawn_weight[run.start : run.end] = run.weights
        self.drawn = []
        if self.drawn_weight.any():
            rng = check_random_state(loss.random_state)
            self.drawn = [self._draw(rng) for _ in range(loss.n_samples)]

    def _take_ties(self, part, rows, queries):
        part.alone = self.alone[rows]
        part.drawn_weight = self.drawn_weight[rows]
        part.short = self._moved(self.short, part, queries)
        needed = part.drawn_weight.any()
        part.drawn = [order[rows] for order in self.drawn] if needed else []

    def _over_ties(self, raw):
        values, gradient = self._likelihood(raw, self.order, self.alone)
        for order in self.drawn:
            value, slope = self._likelihood(raw, order, self.drawn_weight)
            values += value / len(self.drawn)
            gradient += slope / len(self.drawn)
        for run in self.short:
            below, top, strengths = self._below(raw, self.order, run)
            tied = self.ptr[run.query] + self.order[run.start : run.end]
            total = strengths.sum()
            value, slopes, slope_rest = mean_over_orders(
                raw[tied], run.weights, (top, total)
            )
            weight = self.query_weight[run.query]
            values[run.query] += weight * value
            gradient[tied] += weight * slopes
            if len(below):
                gradient[below] += weight * slope_rest / total * strengths
        return values, gradient


class _PreparedPartition(_PreparedListMLE):
    """All orders of the ties together."""

    def _over_ties(self, raw):
        return _list_losses.partition_likelihood(
            raw,
            self.ptr,
            self.order,
            self.lower,
            self.query_weight,
            self.top_k,
            self.n_threads,
        )


_TIES = {
    "best": _PreparedBest,
    "average": _PreparedAverage,
    "partition": _PreparedPartition,
    "stable": _PreparedListMLE,
    "random": _PreparedRandom,
}


def _gamma_penalty(raw, shape, rate):
    """Negative log density of a Gamma prior on ``exp(raw)``, and its derivative.

    Beyond a strength of e^50 the exponential goes on as its tangent, so that no trial
    step of a line search overflows.
    """
    capped = np.minimum(raw, 50.0)
    strength = np.exp(capped)
    penalty = rate * strength * (1.0 + raw - capped) - (shape - 1.0) * raw
    return penalty, rate * strength - (shape - 1.0)
