"""The loss of multi-class classification into grades."""

from typing import ClassVar

import numpy as np
from scipy.special import softmax

from skrank._core._validation import as_numbers
from skrank.losses._ordinal import GradedLoss, PreparedColumns
from skrank.metrics._gain import Gain, gain_of_grades


class CategoricalLoss(GradedLoss):
    r"""Negative log-likelihood of a document's grade, one of K categories.

    .. math:: L = -\log P(\hat y = y), \qquad
              P(\hat y = k) = \frac{e^{F_k}}{\sum_{s=1}^{K} e^{F_s}}

    A document has K scores, one for each grade. By what they are made into one is the
    expected gain, :math:`\sum_k g(k) P(\hat y = k)`. The unit is the document.
    Complexity: O(n_documents K).

    Parameters
    ----------
    gain : {"linear", "exp2"}, callable, mapping or array, default="linear"
        Increasing function g that turns a grade into its gain.

    References
    ----------
    [Liu2011]_, section 2.3.2, eq. 2.6–2.8; [Li2007]_, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import CategoricalLoss
    >>> loss = CategoricalLoss(grades=(0, 1, 3))
    >>> raw = np.log([[0.2, 0.3, 0.5]])
    >>> values, gradient = loss.value_gradient([3], raw, [0, 1])
    >>> np.exp(-values).round(4).tolist(), gradient.round(4).tolist()
    ([0.5], [[0.2, 0.3, -0.5]])
    >>> loss.to_scores(raw).round(4).tolist()
    [1.8]
    """

    short_name: ClassVar[str] = "categorical"
    # Of all scores of a document, not of one of them alone.
    shift_invariant = True
    has_hessian = True

    gain: Gain = "linear"

    @classmethod
    def _variants(cls):
        return [{}, {"grades": (0, 1, 2, 3), "gain": "exp2"}]

    @property
    def n_outputs(self):
        """Number of scores per document: one for each grade."""
        return len(self.grades)

    def _prepare(self, y, ptr, sample_weight, n_threads):
        rows = (y, ptr, sample_weight, n_threads)
        return _PreparedCategorical(rows, self._places(y), self.n_outputs)

    def to_scores(self, raw):
        """Return the expected gains.

        Parameters
        ----------
        raw : array-like of shape (n_documents, n_grades)
            Scores of the grades.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better.

        Raises
        ------
        ValueError
            If ``raw`` does not hold one number for each document and grade.
        """
        raw = as_numbers(raw, "raw", "scores")
        if raw.ndim != 2 or raw.shape[1] != self.n_outputs:
            raise ValueError(
                f"raw must have the shape (n_documents, {self.n_outputs}), one score "
                f"for each grade, got {raw.shape}"
            )
        gains = gain_of_grades(self.gain, np.asarray(self.grades, dtype=np.float64))
        return softmax(raw, axis=1) @ gains


class _PreparedCategorical(PreparedColumns):
    def __init__(self, rows, places, n_grades):
        super().__init__(*rows, n_columns=n_grades)
        self.places = places

    def _losses(self, raw):
        own = np.arange(len(raw)), self.places
        # Differences first: sums of huge scores would cancel.
        lead = raw - raw.max(axis=1, keepdims=True)
        powers = np.exp(lead)
        totals = powers.sum(axis=1, keepdims=True)
        slopes = powers / totals
        curvatures = slopes * (1.0 - slopes)
        slopes[own] -= 1.0
        return np.log(totals[:, 0]) - lead[own], slopes, curvatures

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw)
