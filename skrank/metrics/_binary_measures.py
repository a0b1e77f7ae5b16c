"""Measures of binary relevance over the whole ranking: AP and reciprocal rank."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from skrank._core import _measures
from skrank._core._segments import segment_sum
from skrank.metrics._base import CutOffMixin, RankedMeasure, checked_grades
from skrank.metrics._gain import Discount, discount_of_ranks
from skrank.metrics._ranked_documents import RankedDocuments, TiesOrThreshold
from skrank.metrics._swap_deltas import DeltaKind, DeltaTerms


def is_relevant(y: np.ndarray, relevance_level: float | None) -> np.ndarray:
    """Return 1.0 for grades above 0, or of at least ``relevance_level``, else 0.0."""
    relevant = y > 0 if relevance_level is None else y >= relevance_level
    return relevant.astype(np.float64)


class BinaryMeasure(RankedMeasure):
    """Base class of measures that tell relevant documents from all others.

    Parameters
    ----------
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.
    """

    relevance_level: float | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"relevance_level": 2}]

    def _name_options(self):
        return {} if self.relevance_level is None else {"rel": self.relevance_level}

    def _relevant(self, y: np.ndarray) -> np.ndarray:
        return is_relevant(y, self.relevance_level)

    def _nonrelevant(self, y: np.ndarray) -> np.ndarray:
        return 1.0 - is_relevant(y, self.relevance_level)

    def _discounted(
        self, documents: RankedDocuments, relevant: np.ndarray, discount: np.ndarray
    ) -> np.ndarray:
        ranked, scores = documents.rank(relevant)
        return _measures.discounted_sum(
            ranked, scores, documents.ptr, discount, documents.n_threads
        )

    def _hits(
        self, documents: RankedDocuments, relevant: np.ndarray, k: int | None
    ) -> np.ndarray:
        """Count the relevant documents among the first k, in expectation under ties."""
        n = documents.max_size if k is None else min(k, documents.max_size)
        # Selecting the first ranks is O(m) per query where sorting is O(m log m).
        if n <= _measures.select_limit() and documents.ties in ("average", "stable"):
            value = relevant
            if documents.retrieved is not None:
                value = np.where(documents.retrieved, relevant, 0.0)
            return _measures.top_dcg(
                value,
                documents.y_score,
                documents.ptr,
                np.ones(n),
                False,
                documents.averages,
                documents.n_threads,
            )
        return self._discounted(documents, relevant, np.ones(n))

    def _terms(
        self,
        kind: DeltaKind,
        y: np.ndarray,
        ptr: np.ndarray,
        k: int | None,
        discount: Discount,
        scale_of_count: Callable[[np.ndarray, np.ndarray], np.ndarray | float],
        *,
        gain: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> DeltaTerms:
        """Return `DeltaTerms` scaled by a function of the number of documents counted.

        Parameters
        ----------
        kind : str
            Form of the measure; see `DeltaTerms`.
        y : ndarray of shape (n_documents,)
            Grades, grouped by query.
        ptr : ndarray of shape (n_queries + 1,)
            Pointer array.
        k : int or None
            Cut-off.
        discount : str, callable or array
            Discount of ranks; see `discount_of_ranks`.
        scale_of_count : callable
            ``scale_of_count(count, ptr)`` returns the scale of each query from its sum
            of gains; queries whose sum is 0 get the scale 0.
        gain : callable, default=None
            Gains of an array of grades: which documents the measure counts; None means
            the relevant ones.
        """
        gain = self._relevant if gain is None else gain
        y, ptr = checked_grades(y, ptr)
        gains = gain(y)
        count = segment_sum(gains, ptr)
        scale = np.where(count > 0, scale_of_count(np.maximum(count, 1), ptr), 0.0)
        n_ranks = int(np.diff(ptr).max(initial=0))
        table = discount_of_ranks(discount, n_ranks, k)
        return DeltaTerms(kind, gains, table, scale, discount, k)


def defined(values: np.ndarray, n_counted: np.ndarray) -> np.ndarray:
    """Return the values, NaN for queries without documents that the measure counts."""
    return np.where(n_counted > 0, values, np.nan)


class AP(CutOffMixin, BinaryMeasure):
    """Average precision; its mean over queries is MAP.

    ``AP = Σ_j P@j · [l_j relevant] / m_1`` with ``m_1`` the number of relevant
    documents.

    Parameters
    ----------
    k : int, default=None
        Cut-off: only relevant documents of the first ``k`` ranks add to the sum.
    denominator : {"relevant", "reachable"}, default="relevant"
        What the sum is divided by: ``m_1``, or ``min(m_1, k)``, the number of relevant
        documents that the first ``k`` ranks can hold.
    ties : str, default="average"
        Treatment of documents of equal score, as in `DCG`; or "threshold", where they
        enter the list together, as in scikit-learn. Of those that reach beyond rank
        ``k``, the number that is expected before it counts.

    Notes
    -----
    Complexity O(n log m) for queries of m documents.

    References
    ----------
    [Liu2011]_, section 1.2.2, eq. 1.7.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import AP
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> AP().per_query(y, scores, np.array([0, 3])).round(4)
    array([0.8333])
    """

    short_name: ClassVar[str] = "map"
    aliases: ClassVar[tuple[str, ...]] = ("ap", "average_precision")
    rank_form: ClassVar[DeltaKind | None] = "average_precision"

    denominator: Literal["relevant", "reachable"] = "relevant"
    # One treatment more than other measures have.
    ties: TiesOrThreshold = "average"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        own = [{"k": 3}, {"k": 3, "denominator": "reachable"}, {"ties": "threshold"}]
        return super()._variants() + own

    def _values(self, documents):
        relevant = self._relevant(documents.y)
        total = documents.sum_by_query(relevant)
        ranked, scores = documents.rank(relevant)
        if self.ties == "threshold":
            k = documents.max_size if self.k is None else self.k
            value = _measures.threshold_precision_sum(
                ranked, scores, documents.ptr, k, documents.n_threads
            )
        else:
            discount = discount_of_ranks("reciprocal", documents.max_size, self.k)
            value = _measures.precision_sum(
                ranked, scores, documents.ptr, discount, documents.n_threads
            )
        return defined(value / np.maximum(self._reachable(total), 1), total)

    def _reachable(self, n_relevant):
        if self.denominator == "reachable" and self.k is not None:
            return np.minimum(n_relevant, self.k)
        return n_relevant

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "average_precision"."""
        return self._terms(
            "average_precision",
            y,
            ptr,
            self.k,
            "reciprocal",
            lambda count, ptr: 1.0 / self._reachable(count),
        )


class RR(CutOffMixin, BinaryMeasure):
    """Reciprocal rank of the first relevant document; its mean is MRR.

    ``RR = 1 / r_1`` with ``r_1`` the rank of the first relevant document; 0 if there is
    none among the first ``k``.

    Notes
    -----
    Complexity O(n log m) for queries of m documents.

    References
    ----------
    [Liu2011]_, section 1.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RR
    >>> y, scores = np.array([0.0, 1.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> RR().per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    short_name: ClassVar[str] = "mrr"
    aliases: ClassVar[tuple[str, ...]] = ("rr", "recip_rank", "reciprocal_rank")
    rank_form: ClassVar[DeltaKind | None] = "reciprocal_rank"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 2}]

    def _values(self, documents):
        relevant = self._relevant(documents.y)
        ranked, scores = documents.rank(relevant)
        discount = discount_of_ranks("reciprocal", documents.max_size, self.k)[: self.k]
        value = _measures.cascade(
            ranked, scores, documents.ptr, discount, documents.n_threads
        )
        return defined(value, documents.sum_by_query(relevant))

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "reciprocal_rank"."""
        return self._terms(
            "reciprocal_rank", y, ptr, self.k, "reciprocal", lambda count, ptr: 1.0
        )
