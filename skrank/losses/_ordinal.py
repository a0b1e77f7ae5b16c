"""Losses of scores and ordered thresholds between grades."""

from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from skrank._core import _segments
from skrank._core._parameters import (
    NonNegative,
    Numbers,
    invalid_parameter,
)
from skrank._core._validation import as_numbers
from skrank.losses._base import BaseLoss, PreparedLoss, weighted
from skrank.losses._functional import hinge

#: Grades of the collections of web search, such as MSLR.
FIVE_GRADES = (0, 1, 2, 3, 4)

Construction = Literal["all", "immediate"]
Penalty = Literal[
    "hinge", "smooth_hinge", "squared_hinge", "exponential", "logistic", "squared"
]


class GradedLoss(BaseLoss):
    """Base class of losses with several scores per document, by known grades.

    Parameters
    ----------
    grades : sequence of float, default=(0, 1, 2, 3, 4)
        All grades that there are, ascending; they need not be consecutive.
    """

    unit = "document"

    grades: Numbers = FIVE_GRADES

    def _check_parameters(self):
        super()._check_parameters()
        grades = np.asarray(self.grades, dtype=np.float64)
        ascends = grades.ndim == 1 and bool(np.all(grades[1:] > grades[:-1]))
        if not ascends or len(grades) < 2 or not np.isfinite(grades).all():
            accepted = "at least two finite numbers in ascending order"
            raise invalid_parameter(self, "grades", accepted, self.grades)

    def _places(self, y) -> np.ndarray:
        """Return the place of each grade among those that there are."""
        grades = np.asarray(self.grades, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        places = np.minimum(np.searchsorted(grades, y), len(grades) - 1)
        unknown = y[grades[places] != y]
        if len(unknown):
            raise ValueError(
                f"{type(self).__name__}: y holds grade {unknown[0]:g}, which is not "
                f"among grades={grades.tolist()!s:.100}"
            )
        return places


class PreparedColumns(PreparedLoss):
    """A loss of single documents, bound, that reads several scores of each.

    Subclasses implement `_losses`, which returns the loss of each document, and its
    first and second derivatives with respect to the scores; the last may be None where
    `gradient_hessian` is not offered.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, n_columns):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.n_columns = n_columns
        self.total_weight = float(
            self.n_documents if self.weight is None else self.weight.sum()
        )

    def _losses(self, raw):
        raise NotImplementedError

    def _columns(self, raw):
        raw = np.ascontiguousarray(raw, dtype=np.float64)
        if raw.shape == (self.n_documents,) and self.n_columns == 1:
            return raw[:, None]
        if raw.shape != (self.n_documents, self.n_columns):
            raise ValueError(
                f"{self.loss_name}: raw must have {self.n_columns} scores for each of "
                f"the {self.n_documents} documents; got shape {raw.shape}"
            )
        return raw

    def _evaluate(self, raw):
        """Return values per query, gradient and second derivatives, like ``raw``."""
        losses, slopes, curvatures = self._losses(self._columns(raw))
        losses, slopes = weighted(losses, self.weight), weighted(slopes, self.weight)
        shape = np.shape(raw)
        if curvatures is not None:
            curvatures = weighted(curvatures, self.weight).reshape(shape)
        return (
            _segments.segment_sum(np.ascontiguousarray(losses), self.ptr),
            slopes.reshape(shape),
            curvatures,
        )

    def value_gradient(self, raw):
        return self._evaluate(raw)[:2]


def _hinge(margins, width):
    values, slopes = hinge(1.0 - margins, width)
    return values, -slopes, ((slopes > 0.0) & (slopes < 1.0)) / (width or 1.0)


def _squared_hinge(margins):
    gap = np.maximum(0.0, 1.0 - margins)
    return np.square(gap), -2.0 * gap, 2.0 * (gap > 0.0)


def _exponential(margins):
    values = np.exp(-margins)
    return values, -values, values


def _logistic(margins):
    wrong = expit(-margins)
    return np.logaddexp(0.0, -margins), -wrong, wrong * expit(margins)


def _squared(margins):
    gap = 1.0 - margins
    return np.square(gap), -2.0 * gap, np.full_like(gap, 2.0)


_PENALTIES = {
    "smooth_hinge": partial(_hinge, width=1.0),
    "squared_hinge": _squared_hinge,
    "exponential": _exponential,
    "logistic": _logistic,
    "squared": _squared,
}


def _has_kinks(loss) -> bool:
    return loss.penalty == "hinge"


class ThresholdLoss(GradedLoss):
    r"""Penalties for scores on the wrong side of the thresholds between grades.

    A document has K − 1 scores :math:`f - b_k`, its distances from the thresholds
    between K grades. With its grade in place :math:`y` from 1 to K, the all-threshold
    and the immediate-threshold construction are

    .. math::
       L_{\text{all}} = \sum_{k=1}^{K-1} \phi\bigl(s(k, y)(b_k - f)\bigr), \qquad
       L_{\text{imm}} = \phi(f - b_{y-1}) + \phi(b_y - f),

    where :math:`s(k, y) = -1` for :math:`k < y` and 1 otherwise, and terms of
    :math:`b_0 = -\infty` and :math:`b_K = \infty` are left out. The penalties
    :math:`\phi(z)` are

    =================== =========================================================
    ``"hinge"``         :math:`\max(0, 1 - z)`
    ``"smooth_hinge"``  :math:`\tfrac12 - z` for :math:`z \le 0`, then
                        :math:`\tfrac12 \max(0, 1 - z)^2`
    ``"squared_hinge"`` :math:`\max(0, 1 - z)^2`
    ``"exponential"``   :math:`e^{-z}`
    ``"logistic"``      :math:`\log(1 + e^{-z})`
    ``"squared"``       :math:`(1 - z)^2`
    =================== =========================================================

    A penalty that is at least 1 for :math:`z \le 0` makes the all-threshold loss a
    bound on the absolute error :math:`|\hat y - y|` in places of grades, and the
    immediate-threshold loss one on the 0–1 error of the grade: all but
    ``"smooth_hinge"`` and ``"logistic"``, which do so when divided by
    :math:`\phi(0)`. (The sum of the book runs to K, which is meant for penalties that
    vanish at infinity.) The unit is the document. Complexity: O(n_documents K).

    Parameters
    ----------
    construction : {"all", "immediate"}, default="all"
        Which thresholds a document is compared with: all of them, or those next to its
        grade.
    penalty : str, default="logistic"
        Function :math:`\phi` of the table.
    width : float, default=0.0
        Length of the parabola that replaces the kink of ``penalty="hinge"``.

    References
    ----------
    [Liu2011]_, section 2.4.3, eq. 2.14–2.16; [Rennie2005]_, sections 3 and 4.

    Examples
    --------
    >>> from skrank.losses import ThresholdLoss
    >>> loss = ThresholdLoss(penalty="hinge", grades=(0, 1, 2))
    >>> distances = [[0.5, 0.25], [-1.5, -3.0]]  # of two documents, from b_1 and b_2
    >>> values, gradient = loss.value_gradient([1, 0], distances, [0, 2])
    >>> values.tolist(), gradient.tolist()
    ([1.75], [[-1.0, 1.0], [0.0, 0.0]])
    """

    short_name: ClassVar[str] = "threshold"

    construction: Construction = "all"
    penalty: Penalty = "logistic"
    width: NonNegative = 0.0

    @classmethod
    def _variants(cls):
        variants = [
            {"construction": construction, "penalty": penalty}
            for construction in ("all", "immediate")
            for penalty in ("hinge", *_PENALTIES)
        ]
        few = {"grades": (0, 1, 2, 3)}
        return [{}, {"penalty": "hinge", "width": 0.4}, *(v | few for v in variants)]

    @property
    def n_outputs(self):
        """Number of scores per document: one for each threshold."""
        return len(self.grades) - 1

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``."""
        return not _has_kinks(self)

    def _penalty(self):
        if _has_kinks(self):
            return partial(_hinge, width=float(self.width))
        return _PENALTIES[self.penalty]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        sides = sides_of_thresholds(self._places(y), self.n_outputs, self.construction)
        rows = (y, ptr, sample_weight, n_threads)
        return _PreparedThreshold(rows, sides, self._penalty(), self.has_hessian)

    @available_if(_has_kinks)
    def smoothed(self, width: float) -> Self:
        """Return the loss with a parabola in place of the kink of the hinge.

        Parameters
        ----------
        width : float
            Length of the parabola; each term changes by ``width / 2`` at most.

        Returns
        -------
        ThresholdLoss
            The smooth loss.
        """
        return self._with(width=width)

    def to_scores(self, raw):
        """Return the mean distance from the thresholds, which orders as f does.

        Parameters
        ----------
        raw : array-like of shape (n_documents, n_outputs) or (n_documents,)
            Distances from the thresholds, or scores themselves.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better.

        Raises
        ------
        ValueError
            If ``raw`` does not hold numbers in one or two dimensions.
        """
        return _mean_distances(raw)


def _mean_distances(raw) -> np.ndarray:
    """Return the mean of the columns of raw scores, if there are any."""
    raw = as_numbers(raw, "raw", "scores")
    if raw.ndim not in (1, 2):
        raise ValueError(
            "raw must have the shape (n_documents, n_outputs) or (n_documents,), got "
            f"{raw.shape}"
        )
    return raw if raw.ndim == 1 else raw.mean(axis=1)


def sides_of_thresholds(places, n_thresholds: int, construction: str) -> np.ndarray:
    """Return on which side of each threshold a score belongs.

    Parameters
    ----------
    places : ndarray of shape (n_documents,), dtype intp
        Places of the grades, from 0.
    n_thresholds : int
        Number of thresholds.
    construction : {"all", "immediate"}
        Which thresholds a document is compared with.

    Returns
    -------
    ndarray of shape (n_documents, n_thresholds)
        1 above, −1 below, 0 where the threshold does not count.
    """
    behind = np.asarray(places)[:, None] - np.arange(n_thresholds)
    sides = np.where(behind > 0, 1.0, -1.0)
    if construction == "immediate":
        sides[(behind > 1) | (behind < 0)] = 0.0
    return sides


class _PreparedThreshold(PreparedColumns):
    def __init__(self, rows, sides, penalty, has_hessian):
        super().__init__(*rows, n_columns=sides.shape[1])
        self.sides, self.penalty, self.has_hessian = sides, penalty, has_hessian

    def _losses(self, raw):
        values, slopes, curvatures = self.penalty(self.sides * raw)
        counts = np.abs(self.sides)
        return (values * counts).sum(axis=1), self.sides * slopes, counts * curvatures

    @available_if(lambda self: self.has_hessian)
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw)


class SumOfMarginsLoss(GradedLoss):
    r"""Sum of the margins between grades, against documents that lie within them.

    Between neighbouring grades lie two thresholds, :math:`a_k \le b_k`, and a document
    has the 2 (K − 1) scores :math:`f - a_1, f - b_1, f - a_2, \ldots` Documents of the
    grade in place k should lie below :math:`a_k`, those of the next one above
    :math:`b_k`:

    .. math:: L = \max(0, f - a_y) + \max(0, b_{y-1} - f)
              - \nu \sum_{k=1}^{K-1} (b_k - a_k)

    The unit is the document. Complexity: O(n_documents K).

    Parameters
    ----------
    nu : float, default=0.01
        Weight :math:`\nu` of the margins relative to the mean of the documents.
        Without a bound on the thresholds, L is bounded below for :math:`\nu` up to the
        share of the lowest, and of the highest grade in the documents.
    construction : {"immediate", "all"}, default="immediate"
        Whether a document is compared with the thresholds next to its grade, as above,
        or with all of them.
    width : float, default=0.0
        Length of the parabola that replaces each kink.

    References
    ----------
    [Liu2011]_, section 2.4.2, eq. 2.13; [Shashua2003]_, section 3.

    Examples
    --------
    >>> from skrank.losses import SumOfMarginsLoss
    >>> loss = SumOfMarginsLoss(nu=0.5, grades=(0, 1))
    >>> distances = [[1.0, -1.0]]  # of a document that lies between a_1 and b_1
    >>> values, gradient = loss.value_gradient([1], distances, [0, 1])
    >>> values.tolist(), gradient.tolist()
    ([0.0], [[-0.5, -0.5]])
    """

    short_name: ClassVar[str] = "sum_of_margins"

    nu: NonNegative = 0.01
    construction: Construction = "immediate"
    width: NonNegative = 0.0

    @classmethod
    def _variants(cls):
        few = {"grades": (0, 1, 2, 3)}
        return [{}, few | {"construction": "all", "nu": 0.1}, few | {"width": 0.4}]

    @property
    def n_outputs(self):
        """Number of scores per document: two for each pair of neighbouring grades."""
        return 2 * (len(self.grades) - 1)

    def _prepare(self, y, ptr, sample_weight, n_threads):
        n_pairs = len(self.grades) - 1
        sides = sides_of_thresholds(self._places(y), n_pairs, self.construction)
        rows = (y, ptr, sample_weight, n_threads)
        return _PreparedMargins(rows, sides, float(self.nu), float(self.width))

    def smoothed(self, width: float) -> Self:
        """Return the loss with a parabola in place of each kink.

        Parameters
        ----------
        width : float
            Length of the parabola; each term changes by ``width / 2`` at most.

        Returns
        -------
        SumOfMarginsLoss
            The smooth loss.
        """
        return self._with(width=width)

    def to_scores(self, raw):
        """Return the mean distance from the thresholds, which orders as f does.

        Parameters
        ----------
        raw : array-like of shape (n_documents, n_outputs) or (n_documents,)
            Distances from the thresholds, or scores themselves.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better.

        Raises
        ------
        ValueError
            If ``raw`` does not hold numbers in one or two dimensions.
        """
        return _mean_distances(raw)


class _PreparedMargins(PreparedColumns):
    def __init__(self, rows, sides, nu, width):
        super().__init__(*rows, n_columns=2 * sides.shape[1])
        self.below, self.above = sides < 0.0, sides > 0.0
        self.nu, self.width = nu, width

    def _losses(self, raw):
        over, under = raw[:, 0::2], -raw[:, 1::2]  # f - a_k and b_k - f
        values, slopes = zip(*(hinge(gap, self.width) for gap in (over, under)))
        losses = (values[0] * self.below + values[1] * self.above).sum(axis=1)
        losses = losses - self.nu * (over + under).sum(axis=1)
        gradient = np.empty_like(raw)
        gradient[:, 0::2] = slopes[0] * self.below - self.nu
        gradient[:, 1::2] = self.nu - slopes[1] * self.above
        return losses, gradient, None
