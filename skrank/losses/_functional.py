"""Loss functionals of energies, and the two ways of reading them.

A loss functional compares the energy of a right answer with those of wrong ones. What
is an answer is the *reading*:

- pointwise: the label of a document. Its own label is right, the others are wrong;
  among these the one of lowest energy, the most offending one, stands for all.
- pairwise: one of two documents. The preferred document is right, the other wrong.

A functional states its value for two energies once, in ``_contrast``, and everything
else follows: pointwise, by the most offending label; pairwise, by a sum over all pairs.
One that knows how to take this sum without visiting every pair says so in
``_prepare_pairs``.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from skrank._core import _one_pass, _segments
from skrank._core._inner import as_floats
from skrank._core._messages import shown
from skrank._core._parameters import invalid_parameter
from skrank._core._validation import as_numbers
from skrank.losses._base import BaseLoss, PreparedLoss, finite_evaluation, weighted
from skrank.losses._pairs import PairSum, PairWeighting


class EnergyFunctional(BaseLoss):
    """Base class of loss functionals of energies.

    Parameters
    ----------
    reading : {"pairwise", "pointwise"}, default="pairwise"
        Whether the energy of a preferred document is compared with that of another
        document of its query, or the energy of a document's own label with those of the
        other labels. The latter needs an energy that depends on the label. Under
        "pairwise" such an energy counts with its minimum over the labels, which is what
        ``energies`` of a ranker returns; ``predict`` has its own rule for each energy.
    normalization : {"pair", "query", "n_pairs"}, default="pair"
        Whether every pair weighs the same, so that long queries decide, or the pairs of
        a query together weigh the mean weight of its rows, so that every query decides
        alike; the mean of the loss is then taken over queries. "n_pairs" divides by the
        number of pairs of the query, too, but leaves ``grade_weights`` as they are, so
        that a query of more important pairs weighs more. Pairwise only.
    grade_weights : callable or mapping, default=None
        Weight of a pair by its two grades: a function of two arrays, the grades of the
        preferred and of the other document of some pairs, that returns an array of
        weights >= 0; or a mapping from (preferred, other) to the weight. It multiplies
        the weight of the preferred document. Weights that depend on the preferred grade
        alone keep the fast sum over pairs; all others visit every pair. Pairwise only.
    """

    reading: Literal["pairwise", "pointwise"] = "pairwise"
    normalization: Literal["pair", "query", "n_pairs"] = "pair"
    grade_weights: Callable | Mapping | None = None

    reads_labels = True

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        if self.reading == "pointwise":
            return "document"
        return "pair" if self.normalization == "pair" else "query"

    @property
    def compares_minima(self):
        """Whether documents are compared by their minima over the labels."""
        return self.reading == "pairwise"

    def _check_parameters(self):
        super()._check_parameters()
        if self.reading == "pairwise":
            return
        for name, only in (("normalization", "pair"), ("grade_weights", None)):
            value = getattr(self, name)
            if value != only:
                accepted = f"{only!r} where reading='pointwise', which has no pairs"
                raise invalid_parameter(self, name, accepted, value)

    @classmethod
    def _variants(cls):
        return [
            {},
            {"normalization": "query"},
            {"grade_weights": _difference, "normalization": "query"},
            {"grade_weights": _difference, "normalization": "n_pairs"},
            {"reading": "pointwise"},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        if self.reading == "pointwise":
            self._require_labels(labels)
            return _PreparedLabels(self, y, ptr, sample_weight, n_threads, labels)
        weighting = PairWeighting.of(self, y)
        rows = (y, ptr, sample_weight, n_threads, weighting)
        if weighting is None or weighting.by_row:
            pairs = self._prepare_pairs(*rows)
        else:
            pairs = PairSum(self, *rows)
        return pairs if labels is None else PreparedMinimum(pairs, len(labels))

    def _require_labels(self, labels):
        if labels is None:
            raise TypeError(
                f"{type(self).__name__}(reading='pointwise') compares the energies of "
                "the labels of a document, but there is one energy per document; use "
                "an energy that depends on the label, such as AbsoluteLabelEnergy, or "
                "reading='pairwise'"
            )

    def _contrast(self, right, wrong):
        """Values, and slopes with respect to the right and to the wrong energy."""
        raise NotImplementedError

    def _prepare_pairs(self, *rows):
        """Return a prepared loss that sums `_contrast` over all preference pairs.

        Parameters
        ----------
        *rows
            The arguments of `PreparedPairs`, in its order.
        """
        return PairSum(self, *rows)

    def _of_labels(self, raw, column, n_threads):
        """Values, and slopes in the energies -raw of all labels."""
        right, wrong, offender = _one_pass.offenders(raw, column)
        values, up, down = self._contrast(right, wrong)
        slopes = _one_pass.scatter(up, down, column, offender, raw.shape[1])
        return values, slopes

    @available_if(lambda self: self.reading == "pairwise")
    def pair_loss(
        self, better: np.ndarray, worse: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Loss and slopes of single pairs.

        Parameters
        ----------
        better : ndarray of shape (n_pairs,)
            Score of the preferred document of each pair.
        worse : ndarray of shape (n_pairs,)
            Score of the other document.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Loss of each pair.
        slopes_better : ndarray of shape (n_pairs,)
            Derivative with respect to the score of the preferred document.
        slopes_worse : ndarray of shape (n_pairs,)
            Derivative with respect to the score of the other document.
        """
        better, worse = as_numbers(better, "better"), as_numbers(worse, "worse")
        if better.shape != worse.shape:
            raise ValueError(
                "better and worse must hold one score for each pair, got shapes "
                f"{better.shape} and {worse.shape}"
            )
        values, right, wrong = self._contrast(-better, -worse)
        return values, -right, -wrong


class BaseMarginLoss(EnergyFunctional):
    """Base class of losses of the margin, the difference of the two energies.

    A subclass states `margin_loss` and is complete with that: the sum over all
    preference pairs, the weightings of pairs, explicit and sampled pairs and the
    pointwise reading follow. If it also states ``margin_curvature(margins)``, the
    second derivative, prepared losses of pairs offer ``gradient_hessian``.

    References
    ----------
    [Fang2016]_, table 2, for the losses; [Liu2011]_, section 3.3.3, for the weightings
    of pairs.
    """

    shift_invariant = True

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``: those of pairs may."""
        return self.reading == "pairwise" and hasattr(self, "margin_curvature")

    def margin_loss(self, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loss and slope of single margins.

        Parameters
        ----------
        margins : ndarray of shape (n_pairs,)
            Score of the right answer minus score of the wrong one.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Loss of each pair.
        slopes : ndarray of shape (n_pairs,)
            Derivative with respect to the margin.
        """
        raise NotImplementedError

    def _of_margins(self, margins) -> tuple[np.ndarray, np.ndarray]:
        """Return what `margin_loss` says of margins: two numbers of each."""
        name, answer = f"{type(self).__name__}.margin_loss", self.margin_loss(margins)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise TypeError(
                f"{name} must return two arrays, values and slopes, got {shown(answer)}"
            )
        # Slopes are turned, which numbers without a sign are not.
        values, slopes = (as_floats(a, name, len(margins), "margins") for a in answer)
        return values, slopes

    def _contrast(self, right, wrong):
        values, slopes = self._of_margins(wrong - right)
        return values, -slopes, slopes


def _difference(better, worse):
    """A weighting by both grades, for `_variants`."""
    return better - worse


class _PreparedLabels(PreparedLoss):
    """A functional over the labels of every document."""

    n_columns = 1

    def __init__(self, functional, y, ptr, sample_weight, n_threads, labels):
        super().__init__(y, ptr, sample_weight, n_threads)
        labels = np.asarray(labels, dtype=np.float64)
        self.functional = functional
        self.n_labels = len(labels)
        self.column = np.searchsorted(labels, self.y)
        found = labels[np.minimum(self.column, self.n_labels - 1)]
        if np.any(found != self.y):
            raise ValueError(
                f"grades must be among the labels {labels.tolist()}, found "
                f"{self.y[found != self.y][0]:g}"
            )
        self.total_weight = float(
            self.n_documents if self.weight is None else self.weight.sum()
        )

    def value_gradient(self, raw):
        raw = label_scores(raw, self.n_documents, self.n_labels)
        values, slopes = self.functional._of_labels(raw, self.column, self.n_threads)
        values, slopes = weighted(values, self.weight), weighted(slopes, self.weight)
        # Not minus: untouched labels keep a plain zero.
        np.subtract(0.0, slopes, out=slopes)
        return _segments.segment_sum(values, self.ptr), slopes


class PreparedMinimum:
    """A loss of documents whose energy is the minimum over the labels.

    The minimum is that of [Fang2016]_, eq. 3.

    Parameters
    ----------
    documents : PreparedLoss
        The loss, bound to the grades.
    n_labels : int
        Number of columns of the scores.
    """

    def __init__(self, documents, n_labels):
        self.documents = documents
        self.n_labels = n_labels
        self.total_weight = documents.total_weight
        self.draws_anew = documents.draws_anew

    @property
    def n_documents(self) -> int:
        """Number of documents, over all queries."""
        return self.documents.n_documents

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; of equal energies the first counts."""
        parts, place, shape = self._at_minimum("value_gradient", raw)
        return parts[0], _placed(parts[1], place, shape)

    @available_if(lambda self: hasattr(self.documents, "gradient_hessian"))
    @finite_evaluation
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        parts, place, shape = self._at_minimum("gradient_hessian", raw)
        return parts[0], *(_placed(part, place, shape) for part in parts[1:])

    @available_if(lambda self: hasattr(self.documents, "subset"))
    def subset(self, queries):
        """Loss of some queries."""
        return PreparedMinimum(self.documents.subset(queries), self.n_labels)

    def _at_minimum(self, method, raw):
        raw = label_scores(raw, self.n_documents, self.n_labels)
        place = np.arange(len(raw)), np.argmax(raw, axis=1)
        return getattr(self.documents, method)(raw[place]), place, raw.shape


def _placed(slopes, place, shape):
    """Slopes of documents as slopes of the labels that stand for them."""
    full = np.zeros(shape)
    full[place] = slopes
    return full


def label_scores(raw, n_documents: int, n_labels: int):
    """Check scores with one column per label.

    Parameters
    ----------
    raw : array-like of shape (n_documents, n_labels)
        Scores.
    n_documents : int
        Number of rows.
    n_labels : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_documents, n_labels)
    """
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    if raw.shape != (n_documents, n_labels):
        raise ValueError(
            "raw must have one number per document and label, shape "
            f"({n_documents}, {n_labels}); got shape {raw.shape}"
        )
    return raw


def hinge(gap, width=0.0):
    """Positive part and its slope, with a parabola of this length for the kink.

    Parameters
    ----------
    gap : ndarray
        By how much a margin is missed.
    width : float, default=0.0
        0 keeps the kink, where the slope is 1.

    Returns
    -------
    values, slopes : ndarrays like ``gap``
    """
    outer = np.maximum(0.0, gap)
    if width == 0.0:
        return outer, (gap >= 0.0).astype(np.float64)
    inner = np.maximum(0.0, outer - width)
    # Two parabolas cancel to a line beyond the width.
    bent = 0.5 * np.minimum(outer, width)
    return inner + bent * np.minimum(outer / width, 1.0), np.minimum(outer / width, 1.0)


def logistic(gap):
    """log(1 + exp(gap)) and its slope.

    Parameters
    ----------
    gap : ndarray
        Energy of the right answer minus that of the wrong one.

    Returns
    -------
    values, slopes : ndarrays like ``gap``
    """
    return np.logaddexp(0.0, gap), expit(gap)
