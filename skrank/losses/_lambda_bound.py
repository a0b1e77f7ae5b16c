"""The bounds of the LambdaLoss framework: NDCG-Loss1, NDCG-Loss2 and ARP losses."""

from copy import copy
from dataclasses import field
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from skrank._core import _pair_losses, _segments
from skrank._core._parameters import Positive
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics import NDCG
from skrank.metrics._gain import Gain, gain_of_grades

Bound = Literal["ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2"]


class LambdaBoundLoss(BaseLoss):
    r"""Bounds of NDCG and of the average relevance position, by logistic pairs.

    With :math:`\pi_u` the rank of document u in the current ranking, :math:`G_u` its
    gain divided by the DCG of the best ranking, :math:`D_u = \log_2(1 + \pi_u)` and
    :math:`\ell_{uv} = \log_2(1 + e^{-\sigma (f(x_u) - f(x_v))})`, which is 1 or more if
    v is ahead of u, the loss of a query is

    ===========  ===================================================================
    "ndcg1"      :math:`\sum_{u \ne v} \frac{G_u}{D_u} \ell_{uv}`
    "ndcg2"      :math:`\sum_{y_u > y_v} \delta_{uv} |G_u - G_v|\, \ell_{uv}`
    "ndcg2++"    :math:`\sum_{y_u > y_v} (\rho_{uv} + \mu\, \delta_{uv})
                 |G_u - G_v|\, \ell_{uv}`
    "arp1"       :math:`\frac{1}{\sum_u y_u} \sum_{u \ne v} y_u\, \ell_{uv}`
    "arp2"       :math:`\frac{1}{\sum_u y_u} \sum_{y_u > y_v} (y_u - y_v)\, \ell_{uv}`
    ===========  ===================================================================

    with :math:`\rho_{uv} = |1 / D_u - 1 / D_v|`, which are the weights of `LambdaLoss`,
    and, for a pair that is :math:`d = |\pi_u - \pi_v|` ranks apart,
    :math:`\delta_{uv} = 1 / \log_2(1 + d) - 1 / \log_2(2 + d)`.

    "ndcg1" is at least 1 − NDCG. "arp1" is at least the average relevance position,
    :math:`\sum_u y_u \pi_u / \sum_u y_u`, minus 1, and "arp2" at least that position
    minus its minimum; their weights do not depend on the ranking, and they are convex.
    "ndcg2" is the tight step of a procedure that expects the ranking and then minimises
    with its weights held: the ranking :math:`\pi` is that by the scores, and the
    gradient is taken with all weights fixed. So the losses of NDCG jump where the
    ranking changes: solvers that compare values between steps (L-BFGS) may stop early;
    SGD, Adam and boosting use the gradient only, and `IteratedWeights` alternates the
    two steps in full. Documents with equal scores rank in the order of the rows.

    The unit is the query: the mean of the loss is over queries with different grades. A
    pair has the weight of document u. Complexity: O(m²) for a query of m documents.

    Parameters
    ----------
    bound : {"ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2"}, default="ndcg2++"
        Which of the losses.
    mu : float, default=10.0
        Factor :math:`\mu` of the differences by distance in "ndcg2++".
    sigma : float, default=1.0
        Steepness of the logistic function.
    gain : {"exp2", "linear"}, callable, mapping or array, default="exp2"
        Gain of a grade in the losses of NDCG; those of the average relevance position
        take the grades themselves.

    References
    ----------
    [Wang2018]_, sections 4.2, 5.1, 5.2 and 6.

    Examples
    --------
    >>> from skrank.losses import LambdaBoundLoss
    >>> loss = LambdaBoundLoss("ndcg1")
    >>> values, gradient = loss.value_gradient([0, 1], [0, 0], [0, 2])
    >>> values.round(4).tolist()  # one document is relevant, in rank 2
    [0.6309]
    """

    short_name: ClassVar[str] = "lambda_bound"
    unit = "query"
    shift_invariant = True
    has_hessian = True

    bound: Bound = field(default="ndcg2++", kw_only=False)
    mu: Positive = 10.0
    sigma: Positive = 1.0
    gain: Gain = "exp2"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"bound": "ndcg1", "sigma": 2.0},
            {"bound": "ndcg2", "gain": "linear"},
            {"bound": "ndcg2++", "mu": 2.0},
            {"bound": "arp1"},
            {"bound": "arp2"},
        ]

    @property
    def convex(self):
        """Whether the loss is convex: where no weight depends on the ranking."""
        return self.bound in ("arp1", "arp2")

    @property
    def descends(self):
        """Whether training lowers the loss: where no weight depends on the ranking."""
        return self.convex

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedBound(self, y, ptr, sample_weight, n_threads)


class _Terms(NamedTuple):
    """What weighs the pairs; see `lambda_bound`."""

    gain: np.ndarray
    discount: np.ndarray
    apart: np.ndarray | None
    by_discount: float
    scale: np.ndarray


def _require_no_negative(gain, y):
    if (gain < 0).any():
        worst = int(np.argmin(gain))
        raise ValueError(
            "LambdaBoundLoss: y must hold grades whose gain is not negative, found "
            f"{y[worst]:g} with the gain {gain[worst]:g} in row {worst}"
        )


def _terms(loss: LambdaBoundLoss, y, ptr) -> _Terms:
    longest = int(np.max(np.diff(ptr), initial=0))
    ones = np.ones(longest)
    if loss.bound in ("arp1", "arp2"):
        gain = gain_of_grades("linear", y)
        total = _segments.segment_sum(gain, ptr)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return _Terms(gain, ones, ones if loss.bound == "arp2" else None, 0.0, scale)
    found = NDCG(gain=loss.gain).delta_terms(y, ptr)
    apart = None
    if loss.bound != "ndcg1":
        distance = np.arange(1.0, longest)
        apart = 1.0 / np.log2(1.0 + distance) - 1.0 / np.log2(2.0 + distance)
        apart = np.append(0.0, apart)[:longest]
        if loss.bound == "ndcg2++":
            apart *= loss.mu
    by_discount = 1.0 if loss.bound == "ndcg2++" else 0.0
    return _Terms(found.gain, found.discount, apart, by_discount, found.scale)


class _PreparedBound(PreparedLoss):
    #: Scores whose ranking weighs the pairs; None for the current ones.
    ranking: np.ndarray | None = None

    n_columns = 1

    def __init__(self, loss, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        terms = _terms(loss, self.y, self.ptr)
        _require_no_negative(terms.gain, self.y)
        self.sigma = float(loss.sigma)
        self.apart, self.by_discount = terms.apart, terms.by_discount
        self.gain = np.ascontiguousarray(terms.gain, dtype=np.float64)
        self.discount = np.ascontiguousarray(terms.discount, dtype=np.float64)
        query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(query_weight.sum())
        # Logarithms to base 2, of queries that have a preference.
        self.scale = np.where(query_weight > 0, terms.scale / np.log(2.0), 0.0)

    def value_gradient(self, raw):
        return self.gradient_hessian(raw)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return _pair_losses.lambda_bound(
            self._scores(raw),
            self.ptr,
            self.apart is None,
            self.gain,
            self.discount,
            self.apart,
            self.by_discount,
            self.scale,
            self.weight,
            self.sigma,
            self.n_threads,
            self.ranking,
        )

    def held_at(self, raw):
        """Return the same loss with its weights held at the ranking by some scores.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Scores by which documents are ranked.

        Returns
        -------
        PreparedLoss
            A convex function of scores: its pairs keep their weights.
        """
        held = copy(self)
        held.ranking = self._scores(raw)
        return held
