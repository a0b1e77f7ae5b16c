"""Measures of binary relevance of the first k documents: precision, recall and kin."""

from typing import Any, ClassVar

import numpy as np

from skrank._core import _measures
from skrank._core._parameters import Fraction, Positive
from skrank.metrics._base import CutOffMixin
from skrank.metrics._binary_measures import BinaryMeasure, defined
from skrank.metrics._gain import discount_of_ranks
from skrank.metrics._ranked_documents import expected_values, positions
from skrank.metrics._swap_deltas import DeltaKind, DeltaTerms


class Precision(CutOffMixin, BinaryMeasure):
    """Precision at k.

    ``P@k = |relevant among the first k| / k``. The count of a list shorter than ``k``
    is divided by ``k`` all the same; without ``k``, by the number of documents that the
    list contains.

    References
    ----------
    [Liu2011]_, section 1.2.2, eq. 1.6.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Precision
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> Precision(k=2).per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    short_name: ClassVar[str] = "p"
    aliases: ClassVar[tuple[str, ...]] = ("precision",)
    rank_form: ClassVar[DeltaKind | None] = "gain_discount"
    needs_cut_off: ClassVar[bool] = True

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 2}]

    def _divisor(self, n_relevant, sizes):
        """Divisor of the number of hits in lists of some sizes."""
        return sizes if self.k is None else np.full(len(sizes), float(self.k))

    def _values(self, documents):
        relevant = self._relevant(documents.y)
        total = documents.sum_by_query(relevant)
        # Nothing is found in an empty list, whatever it is divided by.
        sizes = np.maximum(documents.n_retrieved, 1)
        divisor = self._divisor(np.maximum(total, 1), sizes)
        return defined(self._hits(documents, relevant, self.k) / divisor, total)

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "gain_discount"."""
        return self._terms(
            "gain_discount",
            y,
            ptr,
            self.k,
            np.ones_like,
            lambda count, ptr: 1.0 / self._divisor(count, _lengths(ptr)),
        )


class Recall(Precision):
    """Recall at k.

    ``R@k = |relevant among the first k| / m_1`` with ``m_1`` the number of relevant
    documents.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Recall
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> Recall(k=2).per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    short_name: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("r",)

    def _divisor(self, n_relevant, sizes):
        return n_relevant


class FMeasure(Precision):
    """Weighted harmonic mean of precision and recall at k.

    ``F@k = (1 + β²) P R / (β² P + R) = (1 + β²) h / (k + β² m_1)`` with ``h`` relevant
    documents among the first ``k`` and ``m_1`` in all.

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall relative to precision: recall counts ``beta`` times as much.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import FMeasure
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> FMeasure(k=1).per_query(y, scores, np.array([0, 3])).round(4)
    array([0.6667])
    """

    short_name: ClassVar[str] = "f"
    aliases: ClassVar[tuple[str, ...]] = ("f1",)

    beta: Positive = 1.0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 2, "beta": 2.0}]

    def _name_options(self):
        beta = {} if self.beta == 1 else {"beta": self.beta}
        return {**beta, **super()._name_options()}

    def _divisor(self, n_relevant, sizes):
        own = super()._divisor(n_relevant, sizes)
        # Of beta and its inverse, the square of the smaller one does not overflow.
        if self.beta > 1:
            own, n_relevant = n_relevant, own
        b = min(self.beta, 1 / self.beta) ** 2
        return (own + b * n_relevant) / (1 + b)


class Success(CutOffMixin, BinaryMeasure):
    """Success at k: whether there is a relevant document among the first k.

    1 if there is one, 0 if not.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Success
    >>> y, scores = np.array([0.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> Success(k=2).per_query(y, scores, np.array([0, 3]))
    array([0.])
    """

    short_name: ClassVar[str] = "success"
    aliases: ClassVar[tuple[str, ...]] = ("hit", "hit_rate")
    rank_form: ClassVar[DeltaKind | None] = "reciprocal_rank"
    needs_cut_off: ClassVar[bool] = True

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 2}]

    def _values(self, documents):
        relevant = self._relevant(documents.y)
        ranked, scores = documents.rank(relevant)
        discount = discount_of_ranks(np.ones_like, documents.max_size, self.k)[: self.k]
        value = _measures.cascade(
            ranked, scores, documents.ptr, discount, documents.n_threads
        )
        return defined(value, documents.sum_by_query(relevant))

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "reciprocal_rank" with discount 1 up to k."""
        return self._terms(
            "reciprocal_rank", y, ptr, self.k, np.ones_like, lambda c, p: 1.0
        )


class RPrecision(BinaryMeasure):
    """Precision at the number of relevant documents.

    ``Rprec = P@m_1`` with ``m_1`` the number of relevant documents.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RPrecision
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> RPrecision().per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    short_name: ClassVar[str] = "rprec"
    aliases: ClassVar[tuple[str, ...]] = ("r_precision",)

    def _values(self, documents):
        relevant = self._relevant(documents.y)
        total = documents.sum_by_query(relevant)
        ranked, scores = documents.rank(relevant)
        expected = expected_values(ranked, scores, documents.ptr)
        inside = positions(documents.ptr) < np.repeat(total, np.diff(documents.ptr))
        hits = np.add.reduceat(expected * inside, documents.ptr[:-1])
        return defined(hits / np.maximum(total, 1), total)


class Bpref(RPrecision):
    """Binary preference.

    ``bpref = (1/R) Σ_r 1 - min(n_r, R) / min(N, R)`` over the relevant documents, with
    ``n_r`` the number of nonrelevant documents above relevant document ``r``, and ``R``
    and ``N`` the numbers of relevant and of nonrelevant documents in all. Documents
    whose grade is masked, since nobody judged them, count nowhere. This is the form
    that trec_eval computes.

    References
    ----------
    [Buckley2004]_.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import Bpref
    >>> y, scores = np.array([1.0, 0.0, 1.0, 0.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> Bpref().per_query(y, scores, np.array([0, 4]))
    array([0.75])
    """

    short_name: ClassVar[str] = "bpref"

    def _values(self, documents):
        relevant = self._relevant(documents.y)
        total = documents.sum_by_query(relevant)
        grade, sizes = relevant, np.diff(documents.ptr)
        if documents.judged is not None:
            grade = np.where(documents.judged, relevant, -1.0)
            sizes = documents.sum_by_query(documents.judged.astype(np.float64))
        ranked, scores = documents.rank(grade, unretrieved=-1.0)
        others = sizes - total
        value = _measures.preference_sum(
            ranked, scores, documents.ptr, total, others, documents.n_threads
        )
        return defined(value / np.maximum(total, 1), total)


class RBP(CutOffMixin, BinaryMeasure):
    """Rank-biased precision.

    ``RBP = (1 - p) Σ_j g_j p^{j-1}``: the expected gain per document that is looked at,
    for a user who goes on from each document to the next with probability ``p``.

    Parameters
    ----------
    p : float, default=0.8
        Persistence of the user, in (0, 1).
    max_grade : float, default=None
        If given, relevance is graded: ``g = y / max_grade``, every grade above 0 is
        relevant, and ``relevance_level`` has no effect; otherwise ``g`` is 1 for
        relevant documents and 0 for others.

    References
    ----------
    [Moffat2008]_, eq. 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RBP
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> RBP(p=0.5).per_query(y, scores, np.array([0, 3]))
    array([0.625])
    """

    short_name: ClassVar[str] = "rbp"
    rank_form: ClassVar[DeltaKind | None] = "gain_discount"

    p: Fraction = 0.8
    max_grade: Positive | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 3, "p": 0.5}, {"max_grade": 4}]

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

    def _values(self, documents):
        gain = self._relevant(documents.y)
        discount = discount_of_ranks(self._discount, documents.max_size, self.k)
        value = self._discounted(documents, gain, discount)
        return defined(value, documents.sum_by_query(gain))

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "gain_discount"."""
        return self._terms(
            "gain_discount", y, ptr, self.k, self._discount, lambda c, p: 1.0
        )


def _lengths(ptr: np.ndarray) -> np.ndarray:
    """Return lengths of lists; those of empty ones, which lack terms, as 1."""
    return np.maximum(np.diff(ptr), 1).astype(np.float64)
