"""The cosine between scores and grades."""

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from skrank._core import _segments
from skrank._core._parameters import Positive
from skrank.losses._base import (
    BaseLoss,
    PreparedLoss,
    informative_query_weights,
)


class RankCosineLoss(BaseLoss):
    r"""Cosine loss: one minus the cosine between scores and grades, halved.

    .. math:: L(f; \mathbf{x}, \mathbf{y}) = \frac12 - \frac{\sum_j \varphi(y_j)
              \varphi(f(x_j))}{2 \sqrt{\sum_j \varphi^2(y_j)}
              \sqrt{\sum_j \varphi^2(f(x_j))}}

    with :math:`\varphi(s) = s` ("linear"), :math:`e^{\gamma s}` ("exponential") or
    :math:`1 / (1 + e^{-\gamma s})` ("logistic"). The loss of a query is between 0 and
    1, however many documents it has; under "linear" it does not change when all scores
    are multiplied by the same positive number, and under "exponential" when the same
    number is added to all of them. Not convex. The unit is the query; queries whose
    grades are all equal count nothing.

    Under "linear", scores that are all zero (below 2.3e-308 in size) have no direction:
    the loss is then ½, and the gradient the one towards the grades, :math:`-\varphi(y)
    / (2 \lVert \varphi(y) \rVert)`. Scores of documents of grade 0 must be 0 there,
    which a linear energy needs an intercept for. Complexity: O(n_documents).

    Parameters
    ----------
    transformation : {"linear", "exponential", "logistic"}, default="exponential"
        Transformation :math:`\varphi` of scores and grades.
    gamma : float, default=1.0
        Steepness :math:`\gamma` of the transformations that are not linear.

    References
    ----------
    [Liu2011]_, section 2.5.3, eq. 2.20; [Qin2008]_, section 4.

    Examples
    --------
    >>> from skrank.losses import RankCosineLoss
    >>> loss = RankCosineLoss("linear")
    >>> loss.value_gradient([1, 0], [1.0, 1.0], [0, 2])[0].round(4).tolist()
    [0.1464]
    """

    short_name: ClassVar[str] = "rank_cosine"
    unit = "query"
    convex = False

    transformation: Literal["linear", "exponential", "logistic"] = field(
        default="exponential", kw_only=False
    )
    gamma: Positive = 1.0

    @property
    def shift_invariant(self):
        """Whether adding a constant to all scores of a query changes nothing."""
        return self.transformation == "exponential"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"transformation": "linear"},
            {"transformation": "logistic", "gamma": 2.0},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedCosine(self, y, ptr, sample_weight, n_threads)


class _PreparedCosine(PreparedLoss):
    """The transformed grades of every query, scaled to length 1."""

    n_columns = 1

    def __init__(self, loss, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.transformation = loss.transformation
        self.gamma = float(loss.gamma)
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        self.sizes = np.diff(self.ptr)
        target, _ = self._transformed(self.y)
        self.target = target / self._rows(self._lengths(target))

    def value_gradient(self, raw):
        raw = self._scores(raw)
        image, slope = self._transformed(raw)
        length = self._lengths(image)
        direction = image / self._rows(length)
        cosine = _segments.segment_sum(self.target * direction, self.ptr)
        off = self._rows(cosine) * direction - self.target
        values = 0.5 * self.query_weight * np.clip(1.0 - cosine, 0.0, 2.0)
        # Divided last: lengths of huge scores are large, and of tiny ones small.
        gradient = self._rows(0.5 * self.query_weight) * off * slope
        return values, gradient / self._rows(length)

    def _rows(self, of_query):
        return np.repeat(of_query, self.sizes)

    def _lengths(self, image):
        """Lengths of the vectors of all queries; 1 for those that vanish."""
        largest = self._largest(np.abs(image))
        tiny = np.finfo(np.float64).tiny  # slopes of smaller ones overflow
        largest[largest < tiny] = 1.0
        scaled = image / self._rows(largest)
        squares = _segments.segment_sum(scaled * scaled, self.ptr)
        return largest * np.sqrt(np.where(squares > 0.0, squares, 1.0))

    def _largest(self, numbers):
        largest = np.zeros(self.n_queries)
        full = self.sizes > 0
        starts = self.ptr[:-1][full]
        if len(starts):
            largest[full] = np.maximum.reduceat(numbers, starts)
        return largest

    def _transformed(self, scores):
        """Return the transformed scores of each query, up to a factor, and slopes."""
        if self.transformation == "linear":
            return scores, np.ones_like(scores)
        if self.transformation == "logistic":
            image = expit(self.gamma * scores)
            return image, self.gamma * image * expit(-self.gamma * scores)
        # The factor cancels, and keeps exponentials from overflow.
        image = np.exp(self.gamma * (scores - self._rows(self._largest(scores))))
        return image, self.gamma * image
