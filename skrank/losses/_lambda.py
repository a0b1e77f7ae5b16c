"""Lambda-weighted pairs: a ranking measure steers the logistic loss."""

from dataclasses import field
from typing import ClassVar

import numpy as np
from scipy.special import expit

from skrank._core import _lambda_losses, _segments
from skrank._core._parameters import Positive, PositiveInt, invalid_parameter
from skrank.losses._base import BaseLoss, PreparedLoss, query_weights
from skrank.metrics import BaseMeasure, get_measure


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
    measure : str or BaseMeasure, default="ndcg@10"
        Any measure of `skrank.metrics` that depends on scores by the ranks alone. NDCG
        and its relatives, precision, average precision, reciprocal rank and ERR run
        compiled; for others the matrix of swap deltas of each query is built in Python,
        which is slow for long lists.
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
    has_hessian = True

    measure: str | BaseMeasure = field(default="ndcg@10", kw_only=False)
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
        terms = measure.delta_terms(data.y, data.ptr)
        prepared = _PreparedLambda if terms is not None else _PreparedSwaps
        return prepared(self, terms or measure, data)


class _LambdaPairs(PreparedLoss):
    """What both ways of getting the deltas share."""

    def __init__(self, loss, deltas, data):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.deltas = deltas
        self.sigma = float(loss.sigma)
        self.truncation = 0 if loss.truncation is None else int(loss.truncation)
        self.normalize = bool(loss.normalize)
        self.damping = 0.0 if loss.damping is None else float(loss.damping)
        self.query_weight = query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def value_gradient(self, raw):
        return self.gradient_hessian(raw)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        raise NotImplementedError


class _PreparedLambda(_LambdaPairs):
    """Deltas by the compiled terms of the measure."""

    def __init__(self, loss, deltas, data):
        super().__init__(loss, deltas, data)
        self.gain = np.ascontiguousarray(deltas.gain, dtype=np.float64)
        self.discount = np.ascontiguousarray(deltas.discount, dtype=np.float64)
        self.scale = np.ascontiguousarray(deltas.scale, dtype=np.float64)
        self.order, self.lower = _segments.label_order(
            self.gain, self.ptr, self.n_threads
        )

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return _lambda_losses.lambda_loss(
            self._scores(raw),
            self.ptr,
            self.deltas.kind,
            self.gain,
            self.discount,
            self.scale,
            self.weight,
            self.order,
            self.lower,
            self.sigma,
            self.truncation,
            self.normalize,
            self.damping,
            self.n_threads,
        )


class _PreparedSwaps(_LambdaPairs):
    """Deltas by the measure's matrix of swaps, query by query."""

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        raw = self._scores(raw)
        ranks = _segments.segment_ranks(raw, self.ptr, self.n_threads)
        values = np.zeros(self.n_queries)
        gradient, hessian = np.zeros_like(raw), np.zeros_like(raw)
        for q in np.flatnonzero(self.query_weight):
            rows = slice(self.ptr[q], self.ptr[q + 1])
            values[q], gradient[rows], hessian[rows] = self._one_query(
                rows, raw[rows], ranks[rows]
            )
        return values, gradient, hessian

    def _one_query(self, rows, raw, ranks):
        y = self.y[rows]
        pair_weight = np.abs(self.deltas.swap_deltas(y, ranks))
        pair_weight[y[:, None] <= y] = 0.0
        if self.truncation:
            inside = ranks <= self.truncation
            pair_weight[~(inside[:, None] | inside)] = 0.0
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
            factor = np.log2(1.0 + total) / total
        value = np.sum(pair_weight * np.logaddexp(0.0, -margin))
        gradient = pull.sum(axis=0) - pull.sum(axis=1)
        hessian = curvature.sum(axis=0) + curvature.sum(axis=1)
        return factor * value, factor * gradient, factor * hessian
