"""Pairwise losses over preference pairs that are given one by one."""

from dataclasses import field

import numpy as np
from sklearn.utils.metaestimators import available_if

from skrank._core import _segments
from skrank._core._finite import quiet
from skrank._core._parameters import invalid_parameter
from skrank._core._queries import rows_of_queries
from skrank.losses._base import PreparedLoss, weighted
from skrank.losses._functional import PreparedMinimum
from skrank.losses._pairs import BLOCK, curvature_of, pair_sums, query_factor
from skrank.losses._wrapped import WrappedPairLoss


class ExplicitPairsLoss(WrappedPairLoss):
    r"""A pairwise loss over an explicit list of preference pairs.

    .. math:: \ell_q = \sum_{p \in q} w_p \, \phi\bigl(f(x_{u_p}), f(x_{v_p})\bigr)

    where :math:`\phi` is the loss of one pair under ``loss``. Both documents of a pair
    belong to the same query; grades are not looked at. The weight of a pair is its own
    times the row weight of its preferred document; under ``normalization="query"`` of
    the loss, the pairs of each query together weigh the mean weight of its rows; under
    ``normalization="n_pairs"``, they would do so if all weights of pairs were 1. A loss
    that joins the pairs of a document, such as `PNormPushLoss`, says itself what it is
    over given pairs.
    Complexity: O(n_pairs + n_documents) per evaluation.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss, one that offers ``pair_loss(better, worse)``, such as
        `LogLoss` or `HingeLoss`; without ``grade_weights``, as there are no grades. Or
        one that offers ``over_pairs``, such as `PNormPushLoss`.
    pairs : ndarray of shape (n_pairs, 2)
        Row numbers; the first document is preferred to the second. They count the rows
        that the loss is prepared with; `fit` of a ranker groups its rows before, so
        that pairs belong into its ``preferences``.
    pair_weight : ndarray of shape (n_pairs,), default=None
        Weight of each pair; None means ones.

    References
    ----------
    [Liu2011]_, section 1.3.3.2, pairwise preferences as judgements.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ExplicitPairsLoss, LogLoss
    >>> loss = ExplicitPairsLoss(LogLoss(), np.array([[1, 0]]))
    >>> values, gradient = loss.value_gradient([0, 0], [0.0, 0.0], [0, 2])
    >>> gradient.tolist()
    [0.5, -0.5]
    """

    pairs: np.ndarray = field(kw_only=False)
    pair_weight: np.ndarray | None = field(default=None, kw_only=False)

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``, as the loss does."""
        if hasattr(self.loss, "over_pairs"):
            return self.loss.has_hessian
        return hasattr(self.loss, "margin_curvature")

    _needs_grades = False
    _accepted = ("pair_loss", "over_pairs")

    def _check_parameters(self):
        super()._check_parameters()
        pairs = np.asarray(self.pairs)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            accepted = "an array of row numbers of shape (n_pairs, 2)"
            raise invalid_parameter(self, "pairs", accepted, self.pairs)
        if np.any(pairs[:, 0] == pairs[:, 1]):
            accepted = "pairs of two different rows"
            raise invalid_parameter(self, "pairs", accepted, self.pairs)
        if self.pair_weight is not None:
            weight = np.asarray(self.pair_weight, dtype=np.float64)
            finite = np.isfinite(weight).all() and (weight >= 0).all()
            if weight.shape != pairs.shape[:1] or not finite:
                accepted = f"{len(pairs)} finite numbers >= 0, one per pair, or None"
                raise invalid_parameter(self, "pair_weight", accepted, self.pair_weight)
        if getattr(self.loss, "grade_weights", None) is not None:
            accepted = "a loss without grade_weights, because pairs have no grades"
            raise invalid_parameter(self, "loss", accepted, self.loss)

    @classmethod
    def _variants(cls):
        from skrank.losses import HingeLoss, LogLoss, OWPCLoss, PNormPushLoss

        pairs = np.array([[1, 0]])
        return [
            {"loss": HingeLoss(), "pairs": pairs},
            {"loss": HingeLoss(normalization="query"), "pairs": pairs},
            {
                "loss": HingeLoss(normalization="n_pairs"),
                "pairs": pairs,
                "pair_weight": np.array([2.0]),
            },
            {"loss": LogLoss(), "pairs": pairs, "pair_weight": np.array([2.0])},
            {"loss": PNormPushLoss(2.0), "pairs": pairs},
            {"loss": OWPCLoss(), "pairs": pairs, "pair_weight": np.array([2.0])},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        data = PreparedLoss(y, ptr, sample_weight, n_threads)
        query = self._query_of_pairs(data)
        # Stable, so that the pairs of a query are summed in the order given.
        order = np.argsort(query, kind="stable")
        pairs = np.asarray(self.pairs, dtype=np.intp)[order]
        pair_ptr = np.searchsorted(query[order], np.arange(data.n_queries + 1))
        if hasattr(self.loss, "over_pairs"):
            own = self.pair_weight
            own = np.ones(len(pairs)) if own is None else np.asarray(own, float)[order]
            return self.loss.over_pairs(data, pairs, own)
        weight = self._weights(data)
        weight = None if weight is None else weight[order]
        normalization = getattr(self.loss, "normalization", "pair")
        if normalization != "pair":
            total = np.ones(len(pairs)) if weight is None else weight
            if normalization == "n_pairs" and self.pair_weight is not None:
                rows = data.weight
                total = np.ones(len(pairs)) if rows is None else rows[pairs[:, 0]]
            total = np.bincount(query[order], total, data.n_queries)
            factor = query_factor(total, data.weight, data.ptr)[query[order]]
            weight = factor if weight is None else weight * factor
        prepared = _PreparedExplicitPairs(self.loss, data.ptr, pairs, pair_ptr, weight)
        return prepared if labels is None else PreparedMinimum(prepared, len(labels))

    def _query_of_pairs(self, data):
        """Query of each pair, which must not join two."""
        pairs = np.asarray(self.pairs)
        outside = np.flatnonzero(np.any((pairs < 0) | (pairs >= data.n_documents), 1))
        if len(outside):
            raise ValueError(
                f"pairs must hold row numbers from 0 to {data.n_documents - 1}; pair "
                f"{outside[0]} is {pairs[outside[0]].tolist()}"
            )
        query = np.searchsorted(data.ptr, pairs, side="right") - 1
        crossing = np.flatnonzero(query[:, 0] != query[:, 1])
        if len(crossing):
            raise ValueError(
                f"pairs must stay within a query; pair {crossing[0]} joins two"
            )
        return query[:, 0]

    def _weights(self, data):
        """Weight of each pair, in the order given; None for ones."""
        weight = self.pair_weight
        if weight is not None:
            weight = np.asarray(weight, dtype=np.float64)
        if data.weight is None:
            return weight
        preferred = data.weight[np.asarray(self.pairs)[:, 0]]
        return preferred if weight is None else weight * preferred


class _PreparedExplicitPairs(PreparedLoss):
    """Pairs sorted by query; those of query q are ``pair_ptr[q]:pair_ptr[q + 1]``."""

    n_columns = 1

    def __init__(self, loss, ptr, pairs, pair_ptr, weight):
        self.loss = loss
        self.ptr = ptr
        self.pairs = pairs
        self.pair_ptr = pair_ptr
        self.better, self.worse = np.ascontiguousarray(pairs.T)
        self.weight = weight
        self.total_weight = float(len(pairs) if weight is None else weight.sum())

    def subset(self, queries):
        """Loss of the pairs of some queries."""
        _, ptr = rows_of_queries(self.ptr, queries)
        chosen, pair_ptr = rows_of_queries(self.pair_ptr, queries)
        moved = np.repeat(ptr[:-1] - self.ptr[queries], np.diff(pair_ptr))
        pairs = self.pairs[chosen] + moved[:, None]
        weight = None if self.weight is None else self.weight[chosen]
        return _PreparedExplicitPairs(self.loss, ptr, pairs, pair_ptr, weight)

    def value_gradient(self, raw):
        return self._evaluate(raw, False)[:2]

    @available_if(lambda self: hasattr(self.loss, "margin_curvature"))
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw, True)

    def blocks(self):
        """Yield all pairs, a block at a time; see `PairSum.blocks`."""
        for begin in range(0, len(self.pairs), BLOCK):
            chosen = slice(begin, begin + BLOCK)
            pairs = self.pairs[chosen]
            rows = slice(int(pairs.min()), int(pairs.max()) + 1)
            better, worse = (pairs - rows.start).T
            weight = None if self.weight is None else self.weight[chosen]
            yield rows, better, worse, weight

    @available_if(lambda self: hasattr(self.loss, "margin_loss"))
    @quiet()
    def agreement(self, raw, ranks) -> tuple[float, float, float]:
        """Sum the absolute slopes of pairs; see `PreparedAgreement.agreement`."""
        _, slopes = self._by_margin(raw)
        up, down = self._scores(ranks)[self.pairs.T]
        steep = np.abs(slopes)
        right, wrong = steep @ (up * (1.0 - down)), steep @ ((1.0 - up) * down)
        return float(right), float(wrong), float(steep.sum())

    @available_if(lambda self: hasattr(self.loss, "margin_curvature"))
    @quiet()
    def along(self, raw, ranks) -> tuple[float, float, float]:
        """Evaluate the loss on a line; see `PreparedPush.along`."""
        values, slopes = self._by_margin(raw)
        up, down = self._scores(raw)[self.pairs.T]
        curved = weighted(curvature_of(self.loss, up - down), self.weight)
        up, down = self._scores(ranks)[self.pairs.T]
        step = up - down
        return float(values.sum()), float(slopes @ step), float(curved @ (step * step))

    def _by_margin(self, raw):
        """Return the weighted loss of each pair, and its slope by the margin."""
        up, down = self._scores(raw)[self.pairs.T]
        values, slopes = self.loss._of_margins(up - down)
        return weighted(values, self.weight), weighted(slopes, self.weight)

    def _evaluate(self, raw, want_hessian):
        values, gradient, hessian = pair_sums(
            self.loss,
            self._scores(raw),
            self.better,
            self.worse,
            self.weight,
            want_hessian,
        )
        if self.n_queries == 1:  # without groups; NumPy sums long arrays best
            return np.array([values.sum()]), gradient, hessian
        return _segments.segment_sum(values, self.pair_ptr), gradient, hessian
