"""Precision, recall and their relatives: what stands among the first k."""

import numpy as np

from skrank._core import _measures
from skrank._core._shared_parameters import shares_parameters
from skrank.metrics._base import CutOffMixin
from skrank.metrics._binary_measures import BinaryMeasure, defined
from skrank.metrics._gain import discount_of_ranks
from skrank.metrics._ranking import expected_values, positions


@shares_parameters
class Precision(CutOffMixin, BinaryMeasure):
    """Precision at k.

    ``P@k = |relevant among the first k| / k`` (Liu 2011, eq. 1.6). A list shorter than
    ``k`` is divided by ``k`` all the same; without ``k``, by its length.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Precision
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> Precision(k=2).per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    _name = "p"

    def _divisor(self, n_relevant, ptr):
        sizes = np.diff(ptr).astype(np.float64)
        return sizes if self.k is None else np.full(len(sizes), float(self.k))

    def _values(self, ranker):
        relevant = self._relevant(ranker.y)
        total = ranker.sum_by_query(relevant)
        divisor = self._divisor(np.maximum(total, 1), ranker.ptr)
        return defined(self._hits(ranker, relevant) / divisor, total)

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "gain_discount"."""
        return self._terms(
            "gain_discount",
            y,
            ptr,
            np.ones_like,
            lambda count, ptr: 1.0 / self._divisor(count, ptr),
        )


@shares_parameters
class Recall(Precision):
    """Recall at k.

    ``R@k = |relevant among the first k| / |relevant|``.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Recall
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> Recall(k=2).per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    _name = "recall"

    def _divisor(self, n_relevant, ptr):
        return n_relevant


@shares_parameters
class FMeasure(Precision):
    """Weighted harmonic mean of precision and recall at k.

    ``F@k = (1 + β²) P R / (β² P + R) = (1 + β²) h / (k + β² m_1)`` with ``h`` relevant
    documents among the first ``k`` and ``m_1`` in all.

    Parameters
    ----------
    beta : float, default=1.0
        How much more recall counts than precision.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import FMeasure
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> FMeasure(k=1).per_query(y, scores, np.array([0, 3])).round(4)
    array([0.6667])
    """

    _name = "f"

    def __init__(self, k=None, *, beta: float = 1.0, **shared):
        super().__init__(k, **shared)
        self.beta = beta

    def _check_options(self):
        super()._check_options()
        if not self.beta > 0:
            raise ValueError(f"beta must be positive, got {self.beta!r}")

    def _name_options(self):
        beta = {} if self.beta == 1 else {"beta": self.beta}
        return {**beta, **super()._name_options()}

    def _divisor(self, n_relevant, ptr):
        b = self.beta**2
        return (super()._divisor(n_relevant, ptr) + b * n_relevant) / (1 + b)


@shares_parameters
class Success(CutOffMixin, BinaryMeasure):
    """Whether there is a relevant document among the first k.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Success
    >>> y, scores = np.array([0.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> Success(k=2).per_query(y, scores, np.array([0, 3]))
    array([0.])
    """

    _name = "success"

    def _values(self, ranker):
        relevant = self._relevant(ranker.y)
        ranked, scores = ranker.rank(relevant)
        discount = discount_of_ranks(np.ones_like, ranker.max_size, self.k)
        value = _measures.cascade(
            ranked, scores, ranker.ptr, discount, ranker.n_threads
        )
        return defined(value, ranker.sum_by_query(relevant))

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "reciprocal_rank" with discount 1 up to k."""
        return self._terms("reciprocal_rank", y, ptr, np.ones_like, lambda c, p: 1.0)


@shares_parameters
class RPrecision(BinaryMeasure):
    """Precision at the number of relevant documents.

    ``Rprec = P@m_1`` with ``m_1`` relevant documents.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RPrecision
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> RPrecision().per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    _name = "rprec"

    def _values(self, ranker):
        relevant = self._relevant(ranker.y)
        total = ranker.sum_by_query(relevant)
        ranked, scores = ranker.rank(relevant)
        expected = expected_values(ranked, scores, ranker.ptr)
        inside = positions(ranker.ptr) < np.repeat(total, np.diff(ranker.ptr))
        hits = np.add.reduceat(expected * inside, ranker.ptr[:-1])
        return defined(hits / np.maximum(total, 1), total)


@shares_parameters
class Bpref(RPrecision):
    """Binary preference.

    ``bpref = (1/R) Σ_r 1 - min(n_r, R) / min(N, R)`` over the relevant documents, with
    ``n_r`` nonrelevant ones above the document, ``R`` relevant and ``N`` nonrelevant
    ones in all (Buckley and Voorhees 2004, as trec_eval computes it).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Bpref
    >>> y, scores = np.array([1.0, 0.0, 1.0, 0.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> Bpref().per_query(y, scores, np.array([0, 4]))
    array([0.75])
    """

    _name = "bpref"

    def _values(self, ranker):
        relevant = self._relevant(ranker.y)
        total = ranker.sum_by_query(relevant)
        ranked, scores = ranker.rank(relevant, unretrieved=-1.0)
        others = np.diff(ranker.ptr) - total
        value = _measures.preference_sum(
            ranked, scores, ranker.ptr, total, others, ranker.n_threads
        )
        return defined(value / np.maximum(total, 1), total)


@shares_parameters
class RBP(CutOffMixin, BinaryMeasure):
    """Rank-biased precision.

    ``RBP = (1 - p) Σ_j g_j p^{j-1}`` (Moffat and Zobel 2008, eq. 3): what a user gains
    per document who goes on to the next one with probability ``p``.

    Parameters
    ----------
    p : float, default=0.8
        Persistence, in (0, 1).
    max_grade : float, default=None
        If given, relevance is graded: ``g = y / max_grade``; otherwise ``g`` is 1 for
        relevant documents and 0 for others.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RBP
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> RBP(p=0.5).per_query(y, scores, np.array([0, 3]))
    array([0.625])
    """

    _name = "rbp"

    def __init__(self, k=None, *, p: float = 0.8, max_grade=None, **shared):
        super().__init__(k, **shared)
        self.p = p
        self.max_grade = max_grade

    def _check_options(self):
        super()._check_options()
        if not 0 < self.p < 1:
            raise ValueError(f"p must lie between 0 and 1, got {self.p!r}")

    def _name_options(self):
        grade = {} if self.max_grade is None else {"max_grade": self.max_grade}
        return {"p": self.p, **grade, **super()._name_options()}

    def _relevant(self, y):
        if self.max_grade is None:
            return super()._relevant(y)
        if len(y) and y.max() > self.max_grade:
            raise ValueError(
                f"y holds grade {y.max():g} above max_grade={self.max_grade:g}"
            )
        return y / self.max_grade

    def _discount(self, ranks):
        return (1 - self.p) * self.p ** (ranks - 1)

    def _values(self, ranker):
        gain = self._relevant(ranker.y)
        discount = discount_of_ranks(self._discount, ranker.max_size, self.k)
        value = self._discounted(ranker, gain, discount)
        return defined(value, ranker.sum_by_query(gain))

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "gain_discount"."""
        return self._terms("gain_discount", y, ptr, self._discount, lambda c, p: 1.0)
