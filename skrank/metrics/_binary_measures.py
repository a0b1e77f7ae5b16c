"""Measures of binary relevance: precision, recall, AP, reciprocal rank, bpref …"""

import numpy as np

from skrank._core import _measures
from skrank._core._shared_parameters import shares_parameters
from skrank.metrics._base import BaseMeasure, CutOffMixin, DeltaTerms
from skrank.metrics._gain import discount_of_ranks
from skrank.metrics._ranking import TIES


def is_relevant(y, relevance_level):
    """Float array of 0 and 1: grade > 0, or at least ``relevance_level``."""
    relevant = y > 0 if relevance_level is None else y >= relevance_level
    return relevant.astype(np.float64)


@shares_parameters
class BinaryMeasure(BaseMeasure):
    """Common part of measures with a relevance level.

    Parameters
    ----------
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.
    """

    def __init__(self, *, relevance_level=None, **shared):
        super().__init__(**shared)
        self.relevance_level = relevance_level

    def _relevant(self, y):
        return is_relevant(y, self.relevance_level)

    def _discounted(self, ranker, relevant, discount):
        ranked, scores = ranker.rank(relevant)
        return _measures.discounted_sum(
            ranked, scores, ranker.ptr, discount, ranker.n_threads
        )

    def _hits(self, ranker, relevant):
        """Expected number of relevant documents among the first k."""
        n = ranker.max_size if self.k is None else min(self.k, ranker.max_size)
        if n <= _measures.select_limit() and ranker.ties in ("average", "stable"):
            value = relevant
            if ranker.retrieved is not None:
                value = np.where(ranker.retrieved, relevant, 0.0)
            return _measures.top_dcg(
                value,
                ranker.y_score,
                ranker.ptr,
                np.ones(n),
                False,
                ranker.averages,
                ranker.n_threads,
            )
        return self._discounted(ranker, relevant, np.ones(n))

    def _terms(self, kind, y, ptr, discount, scale_of_relevant):
        """`DeltaTerms` whose scale is a function of the number of relevant ones."""
        relevant = self._relevant(np.asarray(y, dtype=np.float64))
        ptr = np.asarray(ptr, dtype=np.intp)
        count = np.add.reduceat(relevant, ptr[:-1])
        scale = np.where(count > 0, scale_of_relevant(np.maximum(count, 1), ptr), 0.0)
        n_ranks = int(np.diff(ptr).max())
        table = discount_of_ranks(discount, n_ranks, self.k)
        return DeltaTerms(kind, relevant, table, scale)


def defined(values, n_relevant):
    return np.where(n_relevant > 0, values, np.nan)


@shares_parameters
class AP(CutOffMixin, BinaryMeasure):
    """Average precision; its mean over queries is MAP.

    ``AP = Σ_j P@j · [l_j relevant] / m_1`` with ``m_1`` the number of relevant
    documents (Liu 2011, eq. 1.7).

    Parameters
    ----------
    k : int, default=None
        Cut-off: only relevant documents of the first ``k`` ranks add to the sum.
    denominator : {"relevant", "reachable"}, default="relevant"
        ``m_1``, or ``min(m_1, k)``.
    ties : str, default="average"
        Treatment of equal scores, as in `DCG`; or "threshold", where documents of equal
        score enter the list together, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import AP
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> AP().per_query(y, scores, np.array([0, 3])).round(4)
    array([0.8333])
    """

    _name = "map"
    _ties = (*TIES, "threshold")

    def __init__(self, k=None, *, denominator="relevant", **shared):
        super().__init__(k, **shared)
        self.denominator = denominator

    def _check_options(self):
        super()._check_options()
        if self.denominator not in ("relevant", "reachable"):
            raise ValueError(
                "denominator must be 'relevant' or 'reachable', "
                f"got {self.denominator!r}"
            )

    def _values(self, ranker):
        relevant = self._relevant(ranker.y)
        total = ranker.sum_by_query(relevant)
        ranked, scores = ranker.rank(relevant)
        if self.ties == "threshold":
            k = ranker.max_size if self.k is None else self.k
            value = _measures.threshold_precision_sum(
                ranked, scores, ranker.ptr, k, ranker.n_threads
            )
        else:
            discount = discount_of_ranks("reciprocal", ranker.max_size, self.k)
            value = _measures.precision_sum(
                ranked, scores, ranker.ptr, discount, ranker.n_threads
            )
        return defined(value / np.maximum(self._reachable(total), 1), total)

    def _reachable(self, n_relevant):
        if self.denominator == "reachable" and self.k is not None:
            return np.minimum(n_relevant, self.k)
        return n_relevant

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "average_precision"."""
        return self._terms(
            "average_precision",
            y,
            ptr,
            "reciprocal",
            lambda count, ptr: 1.0 / self._reachable(count),
        )


@shares_parameters
class RR(CutOffMixin, BinaryMeasure):
    """Reciprocal rank of the first relevant document; its mean is MRR.

    ``RR = 1 / r_1``, 0 if there is none among the first ``k`` (Liu 2011, §1.2.2).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RR
    >>> y, scores = np.array([0.0, 1.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> RR().per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    _name = "mrr"

    def _values(self, ranker):
        relevant = self._relevant(ranker.y)
        ranked, scores = ranker.rank(relevant)
        discount = discount_of_ranks("reciprocal", ranker.max_size, self.k)
        value = _measures.cascade(
            ranked, scores, ranker.ptr, discount, ranker.n_threads
        )
        return defined(value, ranker.sum_by_query(relevant))

    def delta_terms(self, y, ptr):
        """Return `DeltaTerms` of kind "reciprocal_rank"."""
        return self._terms(
            "reciprocal_rank", y, ptr, "reciprocal", lambda count, ptr: 1.0
        )
