"""Measures of graded relevance: DCG, NDCG, mean NDCG and ERR."""

import numpy as np

from skrank._core import _measures
from skrank._core._shared_parameters import shares_parameters
from skrank.metrics._base import BaseMeasure, CutOffMixin, DeltaTerms
from skrank.metrics._gain import (
    check_gain,
    discount_of_ranks,
    gain_of_grades,
    is_monotone,
)
from skrank.metrics._ranking import expected_values, positions, segment_cumsum

_SELECT_LIMIT = _measures.select_limit()


def _max_size(ptr):
    return int(np.diff(ptr).max())


@shares_parameters
class _GainMeasure(BaseMeasure):
    """Measures with a gain of grades and a discount of ranks.

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

    def __init__(self, *, gain="exp2", discount="log2", **shared):
        super().__init__(**shared)
        self.gain = gain
        self.discount = discount


@shares_parameters
class DCG(CutOffMixin, _GainMeasure):
    """Discounted cumulative gain.

    ``DCG@k = Σ_{j ≤ k} G(l_j) η(j)`` with ``l_j`` the grade of the document at rank
    ``j`` (Liu 2011, eq. 1.8).

    Notes
    -----
    Complexity O(n + Q k²) for ``k <= 64`` by selection, O(n log m) otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import DCG
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> DCG(k=3).per_query(y, scores, np.array([0, 3]))
    array([1.5])
    """

    _name = "dcg"

    def _values(self, ranker):
        dcg, ideal = self._dcg_and_ideal(ranker)
        return np.where(ideal > 0, dcg, np.nan)

    def _dcg_and_ideal(self, ranker):
        """DCG of the ranking and of the best ranking, per query."""
        check_gain(self.gain, ranker.y)
        discount = discount_of_ranks(self.discount, ranker.max_size, self.k)
        discount = discount if self.k is None else discount[: self.k]
        lazy = is_monotone(self.gain) and self.gain == "exp2"
        value = ranker.y if lazy else gain_of_grades(self.gain, ranker.y)
        ideal = _measures.ideal_dcg(value, ranker.ptr, discount, lazy, ranker.n_threads)
        if len(discount) <= _SELECT_LIMIT and ranker.ties in ("average", "stable"):
            return self._select(ranker, value, discount, lazy), ideal
        if lazy:
            value = gain_of_grades(self.gain, ranker.y)
        ranked, scores = ranker.rank(value)
        dcg = _measures.discounted_sum(
            ranked, scores, ranker.ptr, discount, ranker.n_threads
        )
        return dcg, ideal

    def _select(self, ranker, value, discount, lazy):
        if ranker.retrieved is not None:
            value = np.where(ranker.retrieved, value, 0.0)
        return _measures.top_dcg(
            value,
            ranker.y_score,
            ranker.ptr,
            discount,
            lazy,
            ranker.averages,
            ranker.n_threads,
        )

    def _scale(self, y, gain, discount, ptr):
        ideal = _measures.ideal_dcg(gain, ptr, discount, False)
        return (ideal > 0).astype(np.float64)

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "gain_discount"."""
        y = np.ascontiguousarray(y, dtype=np.float64)
        ptr = np.ascontiguousarray(ptr, dtype=np.intp)
        gain = gain_of_grades(self.gain, y)
        discount = discount_of_ranks(self.discount, _max_size(ptr), self.k)
        scale = self._scale(y, gain, discount, ptr)
        return DeltaTerms("gain_discount", gain, discount, scale)


@shares_parameters
class NDCG(DCG):
    """Normalised discounted cumulative gain.

    ``NDCG@k = DCG@k / Z_k`` with ``Z_k`` the DCG@k of the best ranking (Liu 2011,
    eq. 1.9).

    Parameters
    ----------
    short_query : {"keep", "zero"}, default="keep"
        Value of a query with fewer than ``k`` documents: as defined, or 0 as the
        LETOR 4.0 script has it.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import NDCG
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> NDCG().per_query(y, scores, np.array([0, 3])).round(2)
    array([0.92])
    """

    _name = "ndcg"

    def __init__(self, k=None, *, short_query="keep", **shared):
        super().__init__(k, **shared)
        self.short_query = short_query

    def _check_options(self):
        super()._check_options()
        if self.short_query not in ("keep", "zero"):
            raise ValueError(
                f"short_query must be 'keep' or 'zero', got {self.short_query!r}"
            )

    def _short(self, ptr):
        if self.short_query == "keep" or self.k is None:
            return np.zeros(len(ptr) - 1, dtype=bool)
        return np.diff(ptr) < self.k

    def _values(self, ranker):
        dcg, ideal = self._dcg_and_ideal(ranker)
        full = np.full(len(dcg), np.nan)
        values = np.divide(dcg, ideal, out=full, where=ideal > 0)
        values[self._short(ranker.ptr) & (ideal > 0)] = 0.0
        return values

    def _scale(self, y, gain, discount, ptr):
        ideal = _measures.ideal_dcg(gain, ptr, discount, False)
        informative = (ideal > 0) & ~self._short(ptr)
        return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=informative)


@shares_parameters
class MeanNDCG(_GainMeasure):
    """Mean of NDCG@j over all ranks j of the list.

    ``MeanNDCG = (1/m) Σ_{j=1}^{m} NDCG@j`` with ``m`` the number of documents of the
    query, as the LETOR scripts report it.

    Notes
    -----
    It has no `DeltaTerms`: the change of a mean of ratios is no product of two terms.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import MeanNDCG
    >>> y, scores = np.array([1.0, 0.0]), np.array([1.0, 2.0])
    >>> MeanNDCG().per_query(y, scores, np.array([0, 2])).round(4)
    array([0.3155])
    """

    _name = "meanndcg"

    def _values(self, ranker):
        ptr = ranker.ptr
        gain = gain_of_grades(self.gain, ranker.y)
        discount = discount_of_ranks(self.discount, ranker.max_size)[positions(ptr)]
        ranked, scores = ranker.rank(gain)
        dcg = segment_cumsum(expected_values(ranked, scores, ptr) * discount, ptr)
        best = gain[_measures.rank_rows(gain, None, ptr, ranker.n_threads)]
        ideal = segment_cumsum(best * discount, ptr)
        informative = best[ptr[:-1]] > 0
        ratio = np.divide(dcg, ideal, out=np.zeros(len(dcg)), where=ideal > 0)
        return np.where(
            informative, np.add.reduceat(ratio, ptr[:-1]) / np.diff(ptr), np.nan
        )


@shares_parameters
class ERR(CutOffMixin, BaseMeasure):
    """Expected reciprocal rank.

    ``ERR@k = Σ_{j ≤ k} (1/j) R_j Π_{i<j} (1 - R_i)`` with ``R = (2^l - 1) /
    2^{max_grade}``, the chance that a user is satisfied by a document of grade ``l``
    (Chapelle et al. 2009, eq. 4).

    Parameters
    ----------
    max_grade : float, default=4
        Highest grade of the scale. It is fixed, not read from the data, so that values
        of different samples are comparable; a higher grade in the data is an error.
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without a grade above 0; "skip" leaves it out of the mean.

    Notes
    -----
    With ``ties="average"`` a block of ``b`` documents of equal score costs O(b·k).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import ERR
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> ERR(max_grade=1).per_query(y, scores, np.array([0, 3])).round(4)
    array([0.5833])
    """

    _name = "err"

    def __init__(self, k=None, *, max_grade: float = 4, **shared):
        super().__init__(k, **shared)
        self.max_grade = max_grade

    def _name_options(self):
        return {} if self.max_grade == 4 else {"max_grade": self.max_grade}

    def _stop(self, y):
        if len(y) and y.max() > self.max_grade:
            raise ValueError(
                f"y holds grade {y.max():g} above max_grade={self.max_grade:g}; set "
                "max_grade to the highest grade of the scale"
            )
        return (np.exp2(y) - 1) / 2.0**self.max_grade

    def _values(self, ranker):
        stop = self._stop(ranker.y)
        ranked, scores = ranker.rank(stop)
        discount = discount_of_ranks("reciprocal", ranker.max_size, self.k)
        value = _measures.cascade(
            ranked, scores, ranker.ptr, discount, ranker.n_threads
        )
        return np.where(ranker.sum_by_query(stop) > 0, value, np.nan)

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "cascade"."""
        stop = self._stop(np.asarray(y, dtype=np.float64))
        ptr = np.asarray(ptr, dtype=np.intp)
        discount = discount_of_ranks("reciprocal", _max_size(ptr), self.k)
        scale = (np.add.reduceat(stop, ptr[:-1]) > 0).astype(np.float64)
        return DeltaTerms("cascade", stop, discount, scale)
