"""Measures that compare two rankings, or scores with grades directly."""

import numpy as np

from skrank._core import _measures
from skrank._core._shared_parameters import shares_parameters
from skrank.metrics._base import BaseMeasure, check_choice
from skrank.metrics._ranking import mid_ranks


class _TieAwareMeasure(BaseMeasure):
    """A measure whose definition says what equal scores are worth.

    Parameters
    ----------
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without two documents of different grades; "skip" leaves it out
        of the mean.
    """

    ties = "average"

    def __init__(self, *, empty_query="skip"):
        self.empty_query = empty_query

    def per_query(
        self, y, y_score, ptr, *, docids=None, retrieved=None, n_threads=None
    ):
        """Value of each query; see `BaseMeasure.per_query`.

        Parameters
        ----------
        y : ndarray of shape (n_documents,), dtype float64
            Grades, grouped by query.
        y_score : ndarray of shape (n_documents,), dtype float64
            Scores.
        ptr : ndarray of shape (n_queries + 1,), dtype intp
            Pointer array.
        docids : ndarray of shape (n_documents,), default=None
            Ignored: equal scores need no order here.
        retrieved : ndarray of shape (n_documents,), dtype bool, default=None
            Must be None: these measures compare complete rankings.
        n_threads : int, default=None
            Number of threads.

        Returns
        -------
        ndarray of shape (n_queries,)
            NaN for queries without information if ``empty_query`` is "skip".
        """
        if retrieved is not None and not np.all(retrieved):
            raise ValueError(
                f"{self.name} compares complete rankings; documents outside of the "
                "ranking are not supported"
            )
        return super().per_query(y, y_score, ptr, n_threads=n_threads)


def _pair_counts(ranker):
    """Concordant, discordant and score-tied pairs of different grades."""
    order = _measures.rank_rows(ranker.y_score, None, ranker.ptr, ranker.n_threads)
    return _measures.count_pairs(
        ranker.y[order], ranker.y_score[order], ranker.ptr, ranker.n_threads
    ).T


def _divide(numerator, denominator, otherwise=np.nan):
    out = np.full(len(numerator), otherwise, dtype=np.float64)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


@shares_parameters
class PairwiseAccuracy(_TieAwareMeasure):
    """Share of document pairs of different grades that stand in the right order.

    ``(C + T/2) / (C + D + T)`` with ``C`` concordant, ``D`` discordant and ``T`` pairs
    of equal score. With two grades this is the area under the ROC curve.

    Notes
    -----
    Complexity O(n log m).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import PairwiseAccuracy
    >>> y, scores = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0])
    >>> PairwiseAccuracy().per_query(y, scores, np.array([0, 3])).round(4)
    array([0.3333])
    """

    _name = "pairwise_accuracy"

    def _values(self, ranker):
        right, wrong, tied = _pair_counts(ranker)
        return _divide(right + tied / 2, right + wrong + tied)


@shares_parameters
class KendallTau(_TieAwareMeasure):
    """Rank correlation τ of Kendall between the grades and the ranking.

    Parameters
    ----------
    variant : {"b", "a", "order", "set"}, default="b"
        - "b": ``(C - D) / sqrt(P_y P_s)`` with ``P_y`` and ``P_s`` the pairs without a
          tie in the grades and in the scores; 0 for constant scores.
        - "a": ``(C - D) / (m (m - 1) / 2)``.
        - "order": Liu (2011) eq. 1.10, in [0, 1]: the weighted share of concordant
          pairs when the grades are a total order.
        - "set": Liu (2011) eq. 1.11: the best value of eq. 1.10 over all total orders
          that agree with the grades.
    weight : callable, default=None
        ``weight(higher, lower)`` returns the weight of pairs from arrays of their
        grades, for "order" and "set"; None weighs all pairs equally. Every pair of
        documents has a weight that depends on its documents only, so that the best
        order in eq. 1.11 sorts equal grades as the ranking does.

    Notes
    -----
    Complexity O(n log m), or O(m²) per query with ``weight``.

    Examples
    --------
    The example of Liu (2011), Fig. 1.4:

    >>> import numpy as np
    >>> from skrank.metrics import KendallTau
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> KendallTau(variant="set").per_query(y, scores, np.array([0, 3])).round(4)
    array([0.6667])
    """

    _name = "kendall"

    def __init__(self, *, variant="b", weight=None, **shared):
        super().__init__(**shared)
        self.variant = variant
        self.weight = weight

    def _name_options(self):
        return {} if self.variant == "b" else {"variant": self.variant}

    def _check_options(self):
        super()._check_options()
        check_choice(self.variant, "variant", ("b", "a", "order", "set"))
        if self.weight is not None and self.variant in ("a", "b"):
            raise ValueError("weight applies to variant='order' and 'set' only")

    def _values(self, ranker):
        sizes = np.diff(ranker.ptr).astype(np.float64)
        pairs = sizes * (sizes - 1) / 2
        right, wrong, tied = _pair_counts(ranker)
        decided = right + wrong + tied
        if self.variant == "order" and (decided < pairs).any():
            raise ValueError(
                "variant='order' needs a total order: query number "
                f"{int(np.flatnonzero(decided < pairs)[0])} has documents of equal "
                "grade; use variant='set'"
            )
        if self.variant == "b":
            untied = pairs - self._score_ties(ranker)
            tau = _divide(right - wrong, np.sqrt(decided) * np.sqrt(untied), 0.0)
        elif self.variant == "a":
            tau = _divide(right - wrong, pairs, 0.0)
        elif self.weight is None:
            tau = _divide(right + tied / 2 + (pairs - decided), pairs, 0.0)
        else:
            tau = self._weighted(ranker)
        return np.where(decided > 0, tau, np.nan)

    def _score_ties(self, ranker):
        start, end = mid_ranks(ranker.y_score, ranker.ptr, ranker.n_threads)
        return np.add.reduceat(end - start - 1, ranker.ptr[:-1]) / 2

    def _weighted(self, ranker):
        values = np.zeros(len(ranker.ptr) - 1)
        for q, (a, b) in enumerate(zip(ranker.ptr[:-1], ranker.ptr[1:])):
            values[q] = self._weighted_query(ranker.y[a:b], ranker.y_score[a:b])
        return values

    def _weighted_query(self, y, scores):
        i, j = np.triu_indices(len(y), 1)
        swap = y[i] < y[j]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
        weight = np.asarray(self.weight(y[i], y[j]), dtype=np.float64)
        agreement = (1 + np.sign(scores[i] - scores[j])) / 2
        agreement[y[i] == y[j]] = 1.0
        total = weight.sum()
        return float(np.sum(weight * agreement) / total) if total > 0 else np.nan


@shares_parameters
class SpearmanRho(_TieAwareMeasure):
    """Rank correlation ρ of Spearman between grades and scores.

    Pearson correlation of the ranks, where documents of equal value share their mean
    rank; 0 for constant scores.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import SpearmanRho
    >>> y, scores = np.array([2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0])
    >>> SpearmanRho().per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    _name = "spearman"

    def _values(self, ranker):
        ptr = ranker.ptr
        sizes = np.diff(ptr)
        a, b = (
            self._centred_ranks(values, ptr, sizes, ranker.n_threads)
            for values in (ranker.y, ranker.y_score)
        )
        cross, aa, bb = (
            np.add.reduceat(product, ptr[:-1]) for product in (a * b, a * a, b * b)
        )
        rho = _divide(cross, np.sqrt(aa) * np.sqrt(bb), 0.0)
        return np.where(aa > 0, rho, np.nan)

    @staticmethod
    def _centred_ranks(values, ptr, sizes, n_threads):
        start, end = mid_ranks(values, ptr, n_threads)
        return (start + end - np.repeat(sizes, sizes)) / 2


@shares_parameters
class RankBiasedOverlap(_TieAwareMeasure):
    """Rank-biased overlap of the ranking by scores with the ranking by grades.

    ``RBO = (1 - p) Σ_{d=1}^{m} p^{d-1} A_d + p^m A_m`` with ``A_d`` the share of
    documents that the first ``d`` ranks of both rankings have in common (Webber, Moffat
    and Zobel 2010, eq. 32, for two rankings of the same documents). Documents of equal
    value count with the probability that they are among the first ``d``.

    Parameters
    ----------
    p : float, default=0.9
        Persistence, in (0, 1).

    Notes
    -----
    Complexity O(m²) per query.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RankBiasedOverlap
    >>> y, scores = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    >>> RankBiasedOverlap(p=0.5).per_query(y, scores, np.array([0, 2]))
    array([0.5])
    """

    _name = "rbo"

    def __init__(self, *, p: float = 0.9, **shared):
        super().__init__(**shared)
        self.p = p

    def _check_options(self):
        super()._check_options()
        if not 0 < self.p < 1:
            raise ValueError(f"p must lie between 0 and 1, got {self.p!r}")

    def _name_options(self):
        return {"p": self.p}

    def _values(self, ranker):
        by_grade = mid_ranks(ranker.y, ranker.ptr, ranker.n_threads)
        by_score = mid_ranks(ranker.y_score, ranker.ptr, ranker.n_threads)
        overlap = _measures.rank_biased_overlap(
            *by_grade, *by_score, ranker.ptr, self.p, ranker.n_threads
        )
        one_block = np.minimum.reduceat(
            by_grade[1] - by_grade[0], ranker.ptr[:-1]
        ) == np.diff(ranker.ptr)
        return np.where(one_block, np.nan, overlap)


@shares_parameters
class MeanSquaredError(_TieAwareMeasure):
    """Mean squared difference of scores and grades within a query; lower is better.

    Parameters
    ----------
    empty_query : {"skip", "raise"} or float, default="skip"
        Never used: the error is defined for every query.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import MeanSquaredError
    >>> y, scores = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    >>> MeanSquaredError().per_query(y, scores, np.array([0, 2]))
    array([2.])
    """

    _name = "mse"
    greater_is_better = False

    def _values(self, ranker):
        error = np.square(ranker.y - ranker.y_score)
        return np.add.reduceat(error, ranker.ptr[:-1]) / np.diff(ranker.ptr)
