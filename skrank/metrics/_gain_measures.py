"""Measures of graded relevance: DCG, NDCG, mean NDCG and ERR."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from skrank._core import _measures
from skrank._core._parameters import Interval
from skrank._core._segments import segment_cumsum, segment_sum
from skrank.metrics._base import CutOffMixin, RankedMeasure, checked_grades
from skrank.metrics._gain import (
    Discount,
    Gain,
    check_exp2_gain,
    discount_of_ranks,
    exp2_minus_1,
    falling,
    gain_of_grades,
)
from skrank.metrics._ranked_documents import expected_values, positions
from skrank.metrics._swap_deltas import DeltaKind, DeltaTerms

_SELECT_LIMIT = _measures.select_limit()


def _max_size(ptr):
    return int(np.diff(ptr).max(initial=0))


def _is_exp2(gain: Gain) -> bool:
    # An array, which a gain may be, would compare element by element.
    return isinstance(gain, str) and gain == "exp2"


class _GainMeasure(RankedMeasure):
    """Base class of measures with a gain of grades and a discount of ranks.

    Parameters
    ----------
    gain : {"exp2", "linear"}, callable, mapping or array, default="exp2"
        Gain G of grade l: ``2^l - 1``, ``l``, a function of an array of grades, a
        mapping, or a table indexed by grade.
    discount : {"log2", "letor", "reciprocal"}, callable or array, default="log2"
        Discount η of rank j: ``1 / log2(1 + j)``; 1 for ranks 1 and 2 and ``1 /
        log2(j)`` after them; ``1 / j``; a function of an array of ranks; or a table.
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without a document of positive gain; "skip" leaves it out of
        the mean.
    """

    gain: Gain = "exp2"
    discount: Discount = "log2"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [
            {},
            {"gain": "linear", "discount": "letor"},
            {"gain": [0, 1, 2, 4, 8], "discount": "reciprocal"},
        ]


class DCG(CutOffMixin, _GainMeasure):
    """Discounted cumulative gain.

    ``DCG@k = Σ_{j ≤ k} G(l_j) η(j)`` with ``l_j`` the grade of the document at rank
    ``j``.

    Notes
    -----
    Complexity for n documents in Q queries of m documents: O(n + Q k²) for ``k <= 64``,
    where the first ranks are selected, and O(n log m) otherwise.

    References
    ----------
    [Liu2011]_, section 1.2.2, eq. 1.8.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import DCG
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> DCG(k=3).per_query(y, scores, np.array([0, 3]))
    array([1.5])
    """

    short_name: ClassVar[str] = "dcg"
    rank_form: ClassVar[DeltaKind | None] = "gain_discount"
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 3}]

    def _discount(self, n_ranks):
        return discount_of_ranks(self.discount, n_ranks, self.k)

    def _values(self, documents):
        dcg, ideal = self._dcg_and_ideal(documents)
        return np.where(ideal > 0, dcg, np.nan)

    def _dcg_and_ideal(self, documents):
        """DCG of the ranking and of the best ranking of each query."""
        discount = self._discount(documents.max_size)[: self.k]
        # exp2 grows with the grade: the kernels may then rank by grade and compute the
        # gains of the first ranks only.
        lazy = _is_exp2(self.gain)
        if lazy:
            check_exp2_gain(documents.y)
        value = documents.y if lazy else gain_of_grades(self.gain, documents.y)
        ideal = _measures.ideal_dcg(
            value, documents.ptr, discount, lazy, documents.n_threads
        )
        if len(discount) <= _SELECT_LIMIT and documents.ties in ("average", "stable"):
            return self._select(documents, value, discount, lazy), ideal
        if lazy:
            value = gain_of_grades(self.gain, documents.y)
        ranked, scores = documents.rank(value)
        dcg = _measures.discounted_sum(
            ranked, scores, documents.ptr, discount, documents.n_threads
        )
        return dcg, ideal

    def _select(self, documents, value, discount, lazy):
        if documents.retrieved is not None:
            value = np.where(documents.retrieved, value, 0.0)
        return _measures.top_dcg(
            value,
            documents.y_score,
            documents.ptr,
            discount,
            lazy,
            documents.averages,
            documents.n_threads,
        )

    def _scale(self, y, gain, discount, ptr):
        ideal = _measures.ideal_dcg(gain, ptr, discount, False)
        return (ideal > 0).astype(np.float64)

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "gain_discount"."""
        y, ptr = checked_grades(y, ptr)
        gain = gain_of_grades(self.gain, y)
        discount = self._discount(_max_size(ptr))
        scale = self._scale(y, gain, discount, ptr)
        return DeltaTerms("gain_discount", gain, discount, scale, self.discount, self.k)


class NDCG(DCG):
    """Normalised discounted cumulative gain.

    ``NDCG@k = DCG@k / Z_k`` with ``Z_k`` the DCG@k of the best ranking. That is the one
    by grade, because the discount must not rise with the rank.

    Parameters
    ----------
    short_query : {"keep", "zero"}, default="keep"
        Value of a query with fewer than ``k`` documents: as defined, or 0, which is
        what the LETOR 4.0 script reports.

    References
    ----------
    [Liu2011]_, section 1.2.2, eq. 1.9.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import NDCG
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> NDCG().per_query(y, scores, np.array([0, 3])).round(2)
    array([0.92])
    """

    short_name: ClassVar[str] = "ndcg"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    short_query: Literal["keep", "zero"] = "keep"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [*super()._variants(), {"k": 5, "short_query": "zero"}]

    def _discount(self, n_ranks):
        return falling(super()._discount(n_ranks))

    def _short(self, ptr):
        """Which queries are too short to count."""
        if self.short_query == "keep" or self.k is None:
            return np.zeros(len(ptr) - 1, dtype=bool)
        return np.diff(ptr) < self.k

    def _values(self, documents):
        dcg, ideal = self._dcg_and_ideal(documents)
        full = np.full(len(dcg), np.nan)
        values = np.divide(dcg, ideal, out=full, where=ideal > 0)
        values[self._short(documents.ptr) & (ideal > 0)] = 0.0
        return values

    def _scale(self, y, gain, discount, ptr):
        ideal = _measures.ideal_dcg(gain, ptr, discount, False)
        informative = (ideal > 0) & ~self._short(ptr)
        return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=informative)


class MeanNDCG(_GainMeasure):
    """Mean of NDCG@j over all ranks j of the list.

    ``MeanNDCG = (1/m) Σ_{j=1}^{m} NDCG@j`` with ``m`` the number of documents of the
    query, as the LETOR scripts report it. The discount must not rise with the rank.

    Notes
    -----
    Complexity O(n log m) for queries of m documents. There are no `DeltaTerms`: the
    change of a mean of ratios is not a product of a gain and a discount.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import MeanNDCG
    >>> y, scores = np.array([1.0, 0.0]), np.array([1.0, 2.0])
    >>> MeanNDCG().per_query(y, scores, np.array([0, 2])).round(4)
    array([0.3155])
    """

    short_name: ClassVar[str] = "meanndcg"
    aliases: ClassVar[tuple[str, ...]] = ("mean_ndcg",)

    def _values(self, documents):
        ptr = documents.ptr
        gain = gain_of_grades(self.gain, documents.y)
        discount = falling(discount_of_ranks(self.discount, documents.max_size))
        discount = discount[positions(ptr)]
        ranked, scores = documents.rank(gain)
        dcg = segment_cumsum(expected_values(ranked, scores, ptr) * discount, ptr)
        best = gain[_measures.rank_rows(gain, None, ptr, documents.n_threads)]
        ideal = segment_cumsum(best * discount, ptr)
        informative = best[ptr[:-1]] > 0
        ratio = np.divide(dcg, ideal, out=np.zeros(len(dcg)), where=ideal > 0)
        return np.where(
            informative, np.add.reduceat(ratio, ptr[:-1]) / np.diff(ptr), np.nan
        )


class ERR(CutOffMixin, RankedMeasure):
    """Expected reciprocal rank.

    ``ERR@k = Σ_{j ≤ k} (1/j) R_j Π_{i<j} (1 - R_i)`` with ``R = (2^l - 1) /
    2^{max_grade}`` the probability that a document of grade ``l`` satisfies the user.

    Parameters
    ----------
    max_grade : float, default=4
        Highest grade of the scale. It is fixed, not read from the data, so that values
        of different samples are comparable; a higher grade in the data is an error.
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without a grade above 0; "skip" leaves it out of the mean.

    Notes
    -----
    Complexity O(n log m) for queries of m documents; with ``ties="average"`` a block of
    ``b`` documents of equal score, of which ``c`` have a positive ``R``, costs O(b + c
    d) on top, with ``d`` the least of ``b``, ``k`` and about 50 over the mean of ``R``
    in the block.

    References
    ----------
    [Chapelle2009]_, eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import ERR
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> ERR(max_grade=1).per_query(y, scores, np.array([0, 3])).round(4)
    array([0.5833])
    """

    short_name: ClassVar[str] = "err"
    rank_form: ClassVar[DeltaKind | None] = "cascade"

    max_grade: Annotated[float, Interval(None, 1000)] = 4

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"k": 3, "max_grade": 5}]

    def _name_options(self):
        return {} if self.max_grade == 4 else {"max_grade": self.max_grade}

    def _stop(self, y):
        """Probability that each document satisfies the user."""
        if len(y) and y.max() > self.max_grade:
            raise ValueError(
                f"y holds grade {y.max():g} above max_grade={self.max_grade:g}; set "
                "max_grade to the highest grade of the scale"
            )
        return exp2_minus_1(y) / 2.0**self.max_grade

    def _values(self, documents):
        stop = self._stop(documents.y)
        ranked, scores = documents.rank(stop)
        discount = discount_of_ranks("reciprocal", documents.max_size, self.k)[: self.k]
        value = _measures.cascade(
            ranked, scores, documents.ptr, discount, documents.n_threads
        )
        return np.where(documents.sum_by_query(stop) > 0, value, np.nan)

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms:
        """Return `DeltaTerms` of kind "cascade"."""
        y, ptr = checked_grades(y, ptr)
        stop = self._stop(y)
        discount = discount_of_ranks("reciprocal", _max_size(ptr), self.k)
        scale = (segment_sum(stop, ptr) > 0).astype(np.float64)
        return DeltaTerms("cascade", stop, discount, scale, "reciprocal", self.k)
