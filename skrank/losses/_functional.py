"""Loss functionals of energies, and the two ways of reading them.

A loss functional compares the energy of a right answer with those of wrong ones. What
is an answer is the *reading*:

- pointwise: the label of a document. Its own label is right, the others are wrong;
  among these the one of lowest energy, the most offending one, stands for all.
- pairwise: one of two documents. The preferred document is right, the other wrong.

A functional states its value for two energies once, in ``_contrast``, and everything
pointwise follows. Of a pairwise sum it says besides how to take it without visiting
every pair, in ``_prepare_pairs``.
"""

from numbers import Real

import numpy as np
from scipy.special import expit

from skrank._core import _label_energies, _segments
from skrank.losses._base import BaseLoss, PreparedLoss
from skrank.losses._pairs import PairLossMixin

_READINGS = ("pairwise", "pointwise")


class EnergyFunctional(PairLossMixin, BaseLoss):
    """Base class of loss functionals of energies.

    Parameters
    ----------
    reading : {"pairwise", "pointwise"}, default="pairwise"
        Whether the energy of a preferred document is compared with that of another
        document of its query, or the energy of a document's own label with those of the
        other labels. The latter needs an energy that depends on the label. Under
        "pairwise" such an energy counts with its minimum over the labels, which is what
        ``energies`` of a ranker returns; ``predict`` has its own rule for each energy.
    """

    reads_labels = True

    def __init__(self, *, reading: str = "pairwise"):
        self.reading = reading

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return "document" if self.reading == "pointwise" else "pair"

    @property
    def compares_minima(self):
        """Whether documents are compared by their minima over the labels."""
        return self.reading == "pairwise"

    def prepare(self, y, ptr, sample_weight=None, *, labels=None, n_threads: int = 1):
        """Bind the loss to the grades of a data set.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Relevance grades, grouped by query.
        ptr : array-like of shape (n_queries + 1,), dtype intp
            Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; None means ones.
        labels : array-like of shape (n_labels,), default=None
            Labels of the columns of the scores, ascending; None for scores that do not
            depend on the label.
        n_threads : int, default=1
            Number of threads of the compiled code. It does not change any result.

        Returns
        -------
        PreparedLoss
        """
        if self.reading not in _READINGS:
            raise ValueError(
                f"reading must be 'pairwise' or 'pointwise', got {self.reading!r}"
            )
        self._check_parameters()
        if self.reading == "pointwise":
            self._require_labels(labels)
            return _PreparedLabels(self, y, ptr, sample_weight, n_threads, labels)
        pairs = self._prepare_pairs(y, ptr, sample_weight, n_threads)
        return pairs if labels is None else PreparedMinimum(pairs, len(labels))

    def _require_labels(self, labels):
        if labels is None:
            raise TypeError(
                f"{type(self).__name__}(reading='pointwise') compares the energies of "
                "the labels of a document, but there is one energy per document; use "
                "an energy that depends on the label, such as AbsoluteLabelEnergy, or "
                "reading='pairwise'"
            )

    def _check_parameters(self):
        """Raise an error that names a parameter out of range."""

    def _contrast(self, right, wrong):
        """Values, and slopes with respect to the right and to the wrong energy."""
        raise NotImplementedError

    def _prepare_pairs(self, y, ptr, sample_weight, n_threads):
        """Return a prepared loss that sums `_contrast` over all preference pairs."""
        raise NotImplementedError

    def _of_labels(self, raw, column, n_threads):
        """Values, and slopes in the energies -raw of all labels."""
        right, wrong, offender = _label_energies.offenders(raw, column)
        values, up, down = self._contrast(right, wrong)
        slopes = _label_energies.scatter(up, down, column, offender, raw.shape[1])
        return values, slopes

    def pair_loss(self, better, worse):
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
        values, right, wrong = self._contrast(-better, -worse)
        return values, -right, -wrong


class MarginFunctional(EnergyFunctional):
    """Functionals of the difference of the two energies alone.

    Subclasses implement `margin_loss`; the margin is the wrong energy minus the right.
    """

    shift_invariant = True

    def margin_loss(self, margins):
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

    def _contrast(self, right, wrong):
        values, slopes = self.margin_loss(wrong - right)
        return values, -slopes, slopes


class _PreparedLabels(PreparedLoss):
    """A functional over the labels of every document."""

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
        if self.weight is not None:
            values = values * self.weight
            slopes *= self.weight[:, None]
        # Not minus: untouched labels keep a plain zero.
        np.subtract(0.0, slopes, out=slopes)
        return _segments.segment_sum(values, self.ptr), slopes


class PreparedMinimum:
    """A loss of documents whose energy is the minimum over the labels (Fang, eq. 3).

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

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; of equal energies the first counts."""
        raw = label_scores(raw, self.documents.n_documents, self.n_labels)
        rows, column = np.arange(len(raw)), np.argmax(raw, axis=1)
        values, slopes = self.documents.value_gradient(raw[rows, column])
        gradient = np.zeros_like(raw)
        gradient[rows, column] = slopes
        return values, gradient


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


def check_at_least_zero(value, name: str) -> float:
    """Check a hyper-parameter that must be a finite number, 0 or more.

    Parameters
    ----------
    value : object
        What the user passed.
    name : str
        Name of the hyper-parameter.

    Returns
    -------
    float
    """
    if not isinstance(value, Real) or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a number >= 0, got {value!r}")
    return float(value)
