"""Losses of models of paired comparison in which two documents may tie.

Documents of equal grade are ties. Other pairwise losses leave them out; here their
scores are drawn together.
"""

from dataclasses import field
from typing import Annotated, ClassVar

import numpy as np
from scipy.special import erfcx, expit, log_ndtr

from skrank._core import _pair_losses, _segments
from skrank._core._finite import quiet
from skrank._core._parameters import Interval
from skrank.losses._base import BaseLoss, PreparedLoss, has_preference, weighted
from skrank.losses._pairs import PairIndex

_ROOT = np.sqrt(2.0 / np.pi)
# Scores beyond which second derivatives are those of a square but for rounding.
_FAR = -1e5


class _TiesLoss(BaseLoss):
    """Base class of losses of preferences and ties."""

    unit = "pair"
    shift_invariant = True
    has_hessian = True


class BradleyTerryLoss(_TiesLoss):
    r"""Bradley–Terry model with ties, of Rao and Kupper.

    .. math:: P(u \succ v) = \frac{1}{1 + \theta e^{-d}}, \qquad
              P(u \sim v) = \frac{\theta^2 - 1}{(1 + \theta e^{-d})(1 + \theta e^{d})},
              \qquad d = f(x_u) - f(x_v)

    The loss of a query is the negative log-likelihood of its preferences and of its
    ties, which are the pairs of documents of equal grade. A tie is the less probable
    the farther the two scores are apart. Without any equal grades and with
    :math:`\theta \to 1` the loss is `LogLoss`. A preference weighs as much as its
    preferred document; of a tie, the factor of either document weighs as much as that
    document, so that documents of one grade whose weights differ may make the loss of a
    query negative. Queries whose grades are all equal count nothing.

    Complexity: O(m²) for a query of m documents, with one division and no exponential
    per pair.

    Parameters
    ----------
    theta : float, default=2.0
        Threshold :math:`\theta > 1`; two equally good documents tie with the
        probability :math:`(\theta - 1) / (\theta + 1)`.

    References
    ----------
    [Liu2011]_, section 3.2.7; [Zhou2008]_; [Rao1967]_.

    Examples
    --------
    >>> from skrank.losses import BradleyTerryLoss
    >>> loss = BradleyTerryLoss(theta=3.0)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0, 0, 0], [0, 3])
    >>> bool(abs(values[0] + 2 * np.log(1 / 4) + np.log(1 / 2)) < 1e-12)
    True
    """

    short_name: ClassVar[str] = "bradley_terry"
    theta: Annotated[float, Interval(1, None, "neither")] = field(
        default=2.0, kw_only=False
    )

    @classmethod
    def _variants(cls):
        return [{}, {"theta": 1.2}]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        return _RaoKupper(y, ptr, sample_weight, n_threads, float(self.theta))


class ThurstoneMostellerLoss(_TiesLoss):
    r"""Thurstone–Mosteller model with ties, of Glenn and David.

    .. math:: P(u \succ v) = \Phi(d - \epsilon), \qquad
              P(u \sim v) = \Phi(d + \epsilon) - \Phi(d - \epsilon),
              \qquad d = f(x_u) - f(x_v)

    with the distribution function :math:`\Phi` of the normal distribution. The loss of
    a query is the negative log-likelihood of its preferences and of its ties, which are
    the pairs of documents of equal grade. A preference weighs as much as its preferred
    document, a tie as much as its two documents on average. Queries whose grades are
    all equal count nothing.

    Complexity: O(m²) for a query of m documents.

    Parameters
    ----------
    epsilon : float, default=0.5
        Threshold :math:`\epsilon > 0`: a normal difference of at most this size is a
        tie.

    References
    ----------
    [Liu2011]_, section 3.2.7; [Zhou2008]_; [Glenn1960]_.

    Examples
    --------
    >>> from skrank.losses import ThurstoneMostellerLoss
    >>> loss = ThurstoneMostellerLoss(epsilon=1.0)
    >>> values, gradient = loss.value_gradient([1, 0], [1.0, 0.0], [0, 2])
    >>> values.round(6).tolist()  # the difference is the threshold
    [0.693147]
    """

    short_name: ClassVar[str] = "thurstone_mosteller"
    epsilon: Annotated[float, Interval(0, None, "neither")] = field(
        default=0.5, kw_only=False
    )

    @classmethod
    def _variants(cls):
        return [{}, {"epsilon": 1.3}]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        return _GlennDavid(y, ptr, sample_weight, n_threads, float(self.epsilon))


class _PreparedTies(PreparedLoss):
    """Documents sorted by grade, and how many of them are lower, or tie, with each.

    Attributes
    ----------
    position : ndarray of shape (n_documents,)
        Place of each document by grade in its query, in the order of ``order``.
    upper : ndarray of shape (n_documents,)
        First place of the documents of the same grade, likewise.
    by_grade : ndarray of shape (n_documents,)
        Row of each document, likewise.
    ties : ndarray of shape (n_documents,)
        Half the number of other documents of equal grade, by row; 0 in queries without
        preference.
    """

    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.order, self.lower = _segments.label_order(self.y, self.ptr, self.n_threads)
        sizes = np.diff(self.ptr)
        start = np.repeat(self.ptr[:-1], sizes)
        self.by_grade = self.order + start
        self.position = np.arange(self.n_documents) - start
        self.upper = self._upper(start)
        informative = np.repeat(has_preference(self.y, self.ptr), sizes)
        self.counts = np.repeat(sizes, sizes)
        ties = np.zeros(self.n_documents)
        ties[self.by_grade] = 0.5 * (self.lower - self.upper - 1)
        self.ties = np.where(informative, ties, 0.0)
        worse = np.empty(self.n_documents)
        worse[self.by_grade] = self.counts - self.lower
        if self.weight is None and informative.all():
            self.row_weight = None
        else:
            weight = 1.0 if self.weight is None else self.weight
            self.row_weight = np.where(informative, weight, 0.0)
        self.informative = informative
        self.total_weight = float(np.sum(self._weigh(worse + self.ties)))

    def _upper(self, start):
        """First place of the documents of the same grade, by position."""
        upper = self.position.copy()
        same = (upper > 0) & (
            self.y[self.by_grade] == np.roll(self.y[self.by_grade], 1)
        )
        upper[same] = 0
        return np.maximum.accumulate(upper + start) - start

    def _weigh(self, numbers):
        return weighted(numbers, self.row_weight)

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return self._evaluate(raw, False)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw, True)

    def _evaluate(self, raw, want_hessian):
        raise NotImplementedError


class _RaoKupper(_PreparedTies):
    """The Bradley–Terry loss as logistic losses between two copies of each document.

    A tie is the product of the probabilities that either document is not worse. So all
    terms are of the form log(1 + exp(f(v) - (f(u) - log theta))): one copy of each
    document has its score less log theta and is the preferred one, the other has its
    score and is the other one. The kernel of the logistic loss sums over these pairs,
    and over that of each document with itself, which is taken back.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, theta):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.log_theta = np.log(theta)
        sizes = np.diff(self.ptr)
        self.doubled_ptr = 2 * self.ptr
        n = self.n_documents
        # In each query all preferred copies come first, then all others.
        first = np.arange(n) + np.repeat(self.ptr[:-1], sizes)
        self.preferred, self.other = first, first + self.counts
        self.doubled_order = np.empty(2 * n, dtype=np.int32)
        self.doubled_order[self.preferred] = self.order
        self.doubled_order[self.other] = self.order + self.counts
        self.doubled_lower = np.empty(2 * n, dtype=np.int32)
        self.doubled_lower[self.preferred] = self.counts + self.upper
        self.doubled_lower[self.other] = 2 * self.counts
        self.doubled_weight = None
        if self.row_weight is not None:
            self.doubled_weight = np.zeros(2 * n)
            self.doubled_weight[self.preferred] = self.row_weight
        known = np.log(theta - 1.0) + np.log(theta + 1.0)
        self.known = _segments.segment_sum(self._weigh(self.ties) * known, self.ptr)
        self.own_curvature = self._weigh(
            np.full(n, 2.0 * expit(self.log_theta) * expit(-self.log_theta))
        )

    def _evaluate(self, raw, want_hessian):
        raw = self._centred_scores(raw)
        doubled = np.empty(2 * len(raw))
        doubled[self.preferred] = lowered = raw - self.log_theta
        doubled[self.other] = raw
        values, gradient, hessian = _pair_losses.logistic(
            doubled,
            self.doubled_ptr,
            self.doubled_order,
            self.doubled_lower,
            self.doubled_weight,
            1.0,
            want_hessian,
            self.n_threads,
        )
        gradient = gradient[self.preferred] + gradient[self.other]
        if hessian is not None:
            hessian = hessian[self.preferred] + hessian[self.other]
            # Rounding must not leave a curvature below that of no pair.
            hessian = np.maximum(0.0, hessian - self.own_curvature)
        # Of large scores, log theta lost digits above: take back what was added there.
        alone = self._weigh(np.logaddexp(0.0, raw - lowered))
        # No term is below 0 but by rounding. The constant of a tie may exceed its
        # terms, where the two documents weigh differently.
        values = np.maximum(0.0, values - _segments.segment_sum(alone, self.ptr))
        return values - self.known, gradient, hessian


class _GlennDavid(_PreparedTies):
    """The Thurstone–Mosteller loss, pair by pair in blocks."""

    def __init__(self, y, ptr, sample_weight, n_threads, epsilon):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.epsilon = epsilon
        after = np.where(self.informative, self.position + 1, self.counts)
        self.index = PairIndex(self, after)

    def _evaluate(self, raw, want_hessian):
        raw = self._centred_scores(raw)
        losses, gradient = np.zeros_like(raw), np.zeros_like(raw)
        hessian = np.zeros_like(raw) if want_hessian else None
        for rows, better, worse in self.index.blocks():
            n = rows.stop - rows.start
            y, scores = self.y[rows], raw[rows]
            tied = y[better] == y[worse]
            parts = self._of_pairs(scores[better] - scores[worse], tied)
            if self.row_weight is not None:
                own, others = (
                    self.row_weight[rows][better],
                    self.row_weight[rows][worse],
                )
                weight = np.where(tied, 0.5 * (own + others), own)
                parts = [weighted(part, weight) for part in parts]
            values, slopes, curvatures = parts
            losses[rows] += np.bincount(better, values, n)
            gradient[rows] += np.bincount(better, slopes, n)
            gradient[rows] -= np.bincount(worse, slopes, n)
            if hessian is not None:
                hessian[rows] += np.bincount(better, curvatures, n)
                hessian[rows] += np.bincount(worse, curvatures, n)
        return _segments.segment_sum(losses, self.ptr), gradient, hessian

    def _of_pairs(self, margins, tied):
        """Losses of pairs, with their first and second derivatives."""
        values, slopes, curvatures = np.empty((3, len(margins)))
        for chosen, function in ((~tied, _probit), (tied, _tied_probit)):
            found = function(margins[chosen], self.epsilon)
            values[chosen], slopes[chosen], curvatures[chosen] = found
        return [values, slopes, curvatures]


def _ratio(z):
    """Density over distribution function of the normal distribution."""
    with quiet():  # far above 0, where the ratio is 0
        return _ROOT / erfcx(-z / np.sqrt(2.0))


def _probit(margins, epsilon):
    """Negative logarithm of the probability of a preference, and its derivatives."""
    z = margins - epsilon
    ratio = _ratio(z)
    curvature = np.where(z < _FAR, 1.0, ratio * np.maximum(0.0, z + ratio))
    return -log_ndtr(z), -ratio, np.minimum(curvature, 1.0)


def _tied_probit(margins, epsilon):
    """Negative logarithm of the probability of a tie, and its derivatives.

    All by the absolute margin: on that side both tails are small and keep their digits.
    """
    size = np.abs(margins)
    near, far = epsilon - size, -epsilon - size
    log_near = log_ndtr(near)
    # Logarithm of the ratio of the two tails; the difference of the squares in their
    # exponents is known.
    beyond = near < 0
    share = log_ndtr(np.where(beyond, 0.0, far)) - np.where(beyond, 0.0, log_near)
    scaled = erfcx(-far / np.sqrt(2.0)) / erfcx(-np.minimum(near, 0.0) / np.sqrt(2.0))
    share = np.where(beyond, np.log(scaled) - 2.0 * epsilon * size, share)
    difference = -np.expm1(share)
    at_near = _ratio(near) / difference
    at_far = _ratio(far) * np.exp(share) / difference
    slope = at_near - at_far
    bend = np.where(size < -_FAR, near, 0.0), np.where(size < -_FAR, far, 0.0)
    at = np.minimum(slope, -2.0 * _FAR)
    curvature = at * at + bend[0] * at_near - bend[1] * at_far
    curvature = np.where(size < -_FAR, np.clip(curvature, 0.0, 1.0), 1.0)
    return -log_near - np.log(difference), np.sign(margins) * slope, curvature
