"""Lambda-weighted pairs: a ranking measure steers the logistic loss."""

from copy import copy
from dataclasses import field
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from skrank._core import _pair_losses, _segments
from skrank._core._informative import warn_of_data
from skrank._core._parameters import Positive, PositiveInt, invalid_parameter
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike


class LambdaLoss(BaseLoss):
    r"""Logistic loss of pairs, weighted by what a swap would change in a measure.

    With :math:`|\Delta_{uv}|` the absolute change of the measure when documents u and v
    swap their places in the *current* ranking, the loss of a query is

    .. math::

        L(f; \mathbf{x}, \mathbf{y}) = \sum_{y_u > y_v} |\Delta_{uv}|
        \log(1 + e^{-\sigma (f(x_u) - f(x_v))}),

    and its gradient, the lambdas, is taken with the deltas held fixed. The loss
    therefore jumps where the ranking changes: solvers that compare values between steps
    (L-BFGS) may stop early; SGD, Adam and boosting use the gradient only. Documents
    with equal scores rank in the order of the rows. The unit is the query: the mean of
    the loss is over queries with different grades. A pair has the weight of its
    preferred document. Complexity: O(m log m + m min(m, k, truncation)) for a query of
    m documents and a measure cut at k.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Any measure of `skrank.metrics` that depends on scores by the ranks alone, or a
        function ``f(y_true, y_score)`` of one query that does. NDCG and its relatives,
        precision, average precision, reciprocal rank and ERR run compiled. For others
        every swap of two documents of different grade is evaluated: O(m²) evaluations
        for a query of m documents, or O(m t) with ``truncation=t``, most often of O(m
        log m) each. A measure that no swap changes on the data, such as precision
        without a cut-off, cannot train; there is a warning.
    truncation : int, default=None
        If given, only pairs with at least one document among the first ``truncation``
        of the current ranking count.
    sigma : float, default=1.0
        Steepness of the logistic function.
    normalize : bool, default=False
        Whether to multiply the loss of every query by :math:`\log_2(1 + S) / S`, where
        :math:`S = 2 \sum_{y_u > y_v} |\lambda_{uv}|` counts the lambda of every pair
        twice, once for each of its documents; queries with many relevant documents then
        dominate less. The weight of the query, the mean of its documents' weights, is
        not part of S.
    damping : float, default=None
        If given, the delta of a pair is divided by this plus :math:`\sigma |f(x_u) -
        f(x_v)|`, also held fixed, so that pairs which are close count more; not in
        queries whose scores are all equal.

    References
    ----------
    [Liu2011]_, section 3.3.7, eq. 3.30–3.31; [Burges2010]_.

    Examples
    --------
    >>> from skrank.losses import LambdaLoss
    >>> values, gradient = LambdaLoss("ndcg@2").value_gradient([0, 1], [0, 0], [0, 2])
    >>> gradient.round(4).tolist()  # half of the NDCG lost in second place
    [0.1845, -0.1845]
    """

    short_name: ClassVar[str] = "lambda"
    unit = "query"
    shift_invariant = True
    convex = False
    descends = False
    has_hessian = True

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    truncation: PositiveInt | None = field(default=None, kw_only=False)
    sigma: Positive = field(default=1.0, kw_only=False)
    normalize: bool = field(default=False, kw_only=False)
    damping: Positive | None = field(default=None, kw_only=False)

    def _check_parameters(self):
        super()._check_parameters()
        measure = get_measure(self.measure)
        if not getattr(measure, "has_swap_deltas", True):
            raise invalid_parameter(
                self,
                "measure",
                "one that two documents change by swapping their ranks, such as "
                "'ndcg@10', 'map', 'rr', 'err@10' or 'p@10'",
                self.measure,
            )

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "ndcg@3", "truncation": 2, "sigma": 2.0},
            {"measure": "map"},
            {"measure": "rr"},
            {"measure": "err"},
            {"measure": "ndcg", "normalize": True},
            {"damping": 0.01},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        measure = get_measure(self.measure)
        data = PreparedLoss(y, ptr, sample_weight, n_threads)
        terms = measure.delta_terms(np.asarray(data.y), data.ptr)
        if terms is None:
            return _PreparedSwaps(self, measure, data)
        # The kernel prefers the document of higher gain, but where less is better the
        # gain falls with the grade. Only the kind "gain_discount" may change its sign.
        if measure.greater_is_better:
            return _PreparedLambda(self, measure, data, terms, terms.gain)
        if terms.kind == "gain_discount":
            return _PreparedLambda(self, measure, data, terms, -terms.gain)
        return _PreparedSwaps(self, measure, data)

    def _check_bound(self, prepared):
        super()._check_bound(prepared)
        measure = prepared.measure
        if prepared.total_weight == 0 or prepared.learns():
            return
        if measure.needs_cut_off:
            warn_unchanged(measure)
        else:
            self._warn_of_equal_documents()


def warn_unchanged(measure):
    """Warn that a measure is the same for all rankings, and say what to do.

    Parameters
    ----------
    measure : BaseMeasure
        Measure that no swap of two documents changes.
    """
    warn_of_data(
        f"no swap of two documents changes {measure.name} on these data; "
        f"{_remedy(measure)}"
    )


def _remedy(measure):
    """What to do about a measure that no swap changes."""
    if measure.k is None:
        cut = measure._with(k=10)
        return f"give the measure a cut-off, such as '{cut.name}'"
    return (
        "give the measure a cut-off that is less than the number of documents of a "
        "query, or another relevance level"
    )


class _LambdaPairs(PreparedLoss):
    """What both ways of getting the deltas share."""

    n_columns = 1

    def __init__(self, loss, measure, data):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.measure = measure
        self.sigma = float(loss.sigma)
        self.truncation = 0 if loss.truncation is None else int(loss.truncation)
        self.normalize = bool(loss.normalize)
        self.damping = 0.0 if loss.damping is None else float(loss.damping)
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def value_gradient(self, raw):
        return self.gradient_hessian(raw)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        raise NotImplementedError

    def learns(self):
        """Whether a swap of two documents changes the measure in any query."""
        # Training starts from equal scores. There success, for one, may be 1 after any
        # single swap; from the worst ranking, some swap changes it if any ever does.
        at_first, worst = np.zeros(self.n_documents), -np.asarray(self.y)
        return self._has_loss(at_first) or self._has_loss(worst)

    def _has_loss(self, raw):
        """Whether a pair has a weight in the ranking by these scores."""
        return self.gradient_hessian(raw)[0].any()


class _PreparedLambda(_LambdaPairs):
    """Deltas by the compiled terms of the measure."""

    #: Scores whose ranking the deltas are taken at; None for the current ones.
    ranking: np.ndarray | None = None

    def __init__(self, loss, measure, data, terms, gain):
        super().__init__(loss, measure, data)
        self.kind = terms.kind
        self.gain = np.ascontiguousarray(gain, dtype=np.float64)
        self.discount = np.ascontiguousarray(terms.discount, dtype=np.float64)
        self.scale = np.ascontiguousarray(terms.scale, dtype=np.float64)
        self.order, self.lower = _segments.label_order(
            self.gain, self.ptr, self.n_threads
        )

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._of_queries(self._scores(raw), 0, self.n_queries)

    @available_if(lambda self: self.kind == "gain_discount" and not self.truncation)
    def held_at(self, raw):
        """Return the same loss with its deltas held at the ranking by some scores.

        Offered where the change of a swap is a product of a difference of gains and one
        of discounts, as for NDCG, and without truncation.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Scores by which documents are ranked.

        Returns
        -------
        PreparedLoss
            A convex function of scores where there is no damping and no normalisation:
            its pairs keep their weights.
        """
        held = copy(self)
        held.ranking = self._scores(raw)
        return held

    def _has_loss(self, raw):
        # Most often one query is enough to tell, and the others need no pass.
        first = int(np.argmax(self.query_weight > 0))
        spans = ((first, first + 1), (0, self.n_queries))
        return any(self._of_queries(raw, *span)[0].any() for span in spans)

    def _of_queries(self, raw, first, stop):
        """Value, gradient and diagonal of the Hessian of consecutive queries."""
        rows = slice(self.ptr[first], self.ptr[stop])
        return _pair_losses.lambda_loss(
            raw[rows],
            self.ptr[first : stop + 1] - self.ptr[first],
            self.kind,
            self.gain[rows],
            self.discount,
            self.scale[first:stop],
            None if self.weight is None else self.weight[rows],
            self.order[rows],
            self.lower[rows],
            self.sigma,
            self.truncation,
            self.normalize,
            self.damping,
            self.n_threads,
            None if self.ranking is None else self.ranking[rows],
        )


class _PreparedSwaps(_LambdaPairs):
    """Deltas by the measure's matrix of swaps, query by query."""

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        raw = self._scores(raw)
        values = np.zeros(self.n_queries)
        gradient, hessian = np.zeros_like(raw), np.zeros_like(raw)
        for q, rows, *of_rows in self._queries(raw):
            found = self._one_query(rows, *of_rows)
            values[q], gradient[rows], hessian[rows] = found
        return values, gradient, hessian

    def _has_loss(self, raw):
        # Swaps take long to evaluate: stop at the first query that tells.
        for _, *of_query in self._queries(raw):
            if self._one_query(*of_query)[0] > 0:
                return True
        return False

    def _queries(self, raw):
        """Number, rows, scores and ranks of each query, one after the other."""
        ranks = _segments.segment_ranks(raw, self.ptr, self.n_threads)
        for q in np.flatnonzero(self.query_weight):
            rows = slice(self.ptr[q], self.ptr[q + 1])
            yield q, rows, raw[rows], ranks[rows]

    def _one_query(self, rows, raw, ranks):
        y = np.asarray(self.y)[rows]
        wanted = y[:, None] != y
        if self.truncation:
            inside = ranks <= self.truncation
            wanted &= inside[:, None] | inside
        pair_weight = np.abs(self.measure._deltas_of_pairs(y, ranks, wanted))
        pair_weight[y[:, None] < y] = 0.0
        if self.weight is not None:
            pair_weight *= self.weight[rows][:, None]
        margin = self.sigma * (raw[:, None] - raw)
        if self.damping and margin.any():
            pair_weight /= self.damping + np.abs(margin)
        wrong = expit(-margin)
        pull = pair_weight * wrong * self.sigma
        curvature = pull * expit(margin) * self.sigma
        factor = 1.0
        if self.normalize and pull.any():
            weight = 1.0 if self.weight is None else self.weight[rows].mean()
            total = 2.0 * pull.sum() / weight
            factor = np.log1p(total) / (np.log(2.0) * total)
        value = np.sum(pair_weight * np.logaddexp(0.0, -margin))
        gradient = pull.sum(axis=0) - pull.sum(axis=1)
        hessian = curvature.sum(axis=0) + curvature.sum(axis=1)
        return factor * value, factor * gradient, factor * hessian
