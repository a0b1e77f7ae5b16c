"""Measures that compare two rankings, or scores with grades directly."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from skrank._core import _measures
from skrank._core._finite import quiet
from skrank._core._parameters import Fraction, invalid_parameter
from skrank._core._validation import as_numbers, calling
from skrank.metrics._base import BaseMeasure, Needed
from skrank.metrics._gain import numbers_of_function
from skrank.metrics._ranked_documents import blocks_of_equal_scores


class _TieAwareMeasure(BaseMeasure):
    """Base class of measures whose definition says what equal scores are worth.

    Parameters
    ----------
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without two documents of different grades; "skip" leaves it out
        of the mean, "raise" makes it an error.
    """

    undefined_without: ClassVar[Needed | None] = "different grades"

    def per_query(
        self,
        y: np.ndarray,
        y_score: np.ndarray,
        ptr: np.ndarray,
        *,
        docids: np.ndarray | None = None,
        retrieved: np.ndarray | None = None,
        n_threads: int | None = None,
    ) -> np.ndarray:
        """Evaluate the measure on each query; see `BaseMeasure.per_query`.

        Parameters
        ----------
        y : ndarray of shape (n_documents,), dtype float64
            Grades, grouped by query.
        y_score : ndarray of shape (n_documents,), dtype float64
            Scores, higher is better.
        ptr : ndarray of shape (n_queries + 1,), dtype intp
            Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
        docids : ndarray of shape (n_documents,), default=None
            Not used: equal scores need no order here.
        retrieved : ndarray of shape (n_documents,), dtype bool, default=None
            Must be None: these measures compare complete rankings.
        n_threads : int, default=None
            Number of threads.

        Returns
        -------
        ndarray of shape (n_queries,)
            NaN for queries without information if ``empty_query`` is "skip".

        Raises
        ------
        ValueError
            As in `BaseMeasure.per_query`, or if documents are not retrieved.
        """
        if retrieved is not None and not as_numbers(retrieved, "retrieved").all():
            raise ValueError(
                f"{self.name} compares complete rankings; retrieved must be None, or "
                "True for all documents"
            )
        return super().per_query(y, y_score, ptr, n_threads=n_threads)


def _pair_counts(documents):
    """Numbers of concordant, discordant and score-tied pairs of different grades."""
    order = _measures.rank_rows(
        documents.y_score, None, documents.ptr, documents.n_threads
    )
    return _measures.count_pairs(
        documents.y[order], documents.y_score[order], documents.ptr, documents.n_threads
    ).T


def _divide(numerator, denominator, otherwise=np.nan):
    out = np.full(len(numerator), otherwise, dtype=np.float64)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


class PairwiseAccuracy(_TieAwareMeasure):
    """Share of document pairs of different grades that stand in the right order.

    ``(C + T/2) / (C + D + T)`` with ``C`` the number of concordant pairs, ``D`` that of
    discordant pairs and ``T`` that of pairs of equal score. With two grades this is the
    area under the ROC curve.

    Notes
    -----
    Complexity O(n log m) for queries of m documents.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import PairwiseAccuracy
    >>> y, scores = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0])
    >>> PairwiseAccuracy().per_query(y, scores, np.array([0, 3])).round(4)
    array([0.3333])
    """

    short_name: ClassVar[str] = "pairwise_accuracy"
    aliases: ClassVar[tuple[str, ...]] = ("auc",)

    def _values(self, documents):
        right, wrong, tied = _pair_counts(documents)
        return _divide(right + tied / 2, right + wrong + tied)


def _difference(higher, lower):
    return higher - lower


_WEIGHTED = {"variant": "set", "weight": _difference}


class KendallTau(_TieAwareMeasure):
    """Rank correlation τ of Kendall between the grades and the ranking.

    Parameters
    ----------
    variant : {"b", "a", "order", "set"}, default="b"
        - "b": ``(C - D) / sqrt(P_y P_s)`` with ``C`` and ``D`` the numbers of
          concordant and discordant pairs and ``P_y`` and ``P_s`` the numbers of pairs
          without a tie in the grades and in the scores; 0 for constant scores.
        - "a": ``(C - D) / (m (m - 1) / 2)``.
        - "order": the weighted share of concordant pairs, in [0, 1], for grades that
          are a total order ([Liu2011]_, eq. 1.10).
        - "set": the best value of "order" over all total orders that agree with the
          grades ([Liu2011]_, eq. 1.11). Two documents of equal grade count 1, also if
          their scores are equal; of different grades and equal scores, 1/2.
    weight : callable, default=None
        ``weight(higher, lower)`` returns the weights >= 0 of some pairs from arrays of
        their grades, for "order" and "set"; None weighs all pairs equally. The weight
        of a pair depends on its two documents only, so that the best order of "set"
        sorts equal grades as the ranking does.

    Notes
    -----
    Complexity O(n log m) for queries of m documents, or O(m²) time and O(m) memory per
    query with ``weight``.

    References
    ----------
    [Liu2011]_, section 1.2.2, eq. 1.10–1.11.

    Examples
    --------
    The example of [Liu2011]_, Fig. 1.4:

    >>> import numpy as np
    >>> from skrank.metrics import KendallTau
    >>> y, scores = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> KendallTau(variant="set").per_query(y, scores, np.array([0, 3])).round(4)
    array([0.6667])
    """

    short_name: ClassVar[str] = "kendall"
    aliases: ClassVar[tuple[str, ...]] = ("tau", "kendall_tau")
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    variant: Literal["b", "a", "order", "set"] = "b"
    weight: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        # "order" needs grades without ties, which common data do not have.
        return [{}, {"variant": "a"}, {"variant": "set"}, _WEIGHTED]

    def _name_options(self):
        return {} if self.variant == "b" else {"variant": self.variant}

    def _check_parameters(self):
        super()._check_parameters()
        if self.weight is not None and self.variant in ("a", "b"):
            accepted = "None unless variant is 'order' or 'set'"
            raise invalid_parameter(self, "weight", accepted, self.weight)

    def _values(self, documents):
        sizes = np.diff(documents.ptr).astype(np.float64)
        pairs = sizes * (sizes - 1) / 2
        right, wrong, tied = _pair_counts(documents)
        decided = right + wrong + tied
        if self.variant == "order" and (decided < pairs).any():
            raise ValueError(
                "variant='order' needs a total order: query number "
                f"{int(np.flatnonzero(decided < pairs)[0])} has documents of equal "
                "grade; use variant='set'"
            )
        if self.variant == "b":
            untied = pairs - self._score_ties(documents)
            tau = _divide(right - wrong, np.sqrt(decided) * np.sqrt(untied), 0.0)
        elif self.variant == "a":
            tau = _divide(right - wrong, pairs, 0.0)
        elif self.weight is None:
            tau = _divide(right + tied / 2 + (pairs - decided), pairs, 0.0)
        else:
            tau = self._weighted(documents, self.weight)
        return np.where(decided > 0, tau, np.nan)

    def _score_ties(self, documents):
        start, end = blocks_of_equal_scores(
            documents.y_score, documents.ptr, documents.n_threads
        )
        return np.add.reduceat(end - start - 1, documents.ptr[:-1]) / 2

    @staticmethod
    def _weighted(documents, weight):
        values = np.zeros(len(documents.ptr) - 1)
        for q, (a, b) in enumerate(zip(documents.ptr[:-1], documents.ptr[1:])):
            y, scores = documents.y[a:b], documents.y_score[a:b]
            values[q] = _weighted_agreement(y, scores, weight)
        return values


# Blocks of so many pairs take some megabytes, and let Ctrl-C in between.
_PAIRS_AT_ONCE = 2**17
# Sums of weights of more than this might overflow, unless an exact factor shrinks them.
_LARGEST_WEIGHT, _SHRINK = 1e250, -200


def _weighted_agreement(y, scores, weight_of_pairs):
    """Weighted share of the pairs of a query that stand in the right order."""
    agreed = total = 0.0
    shrink = 0
    for i, j in _blocks_of_pairs(len(y)):
        swap = y[i] < y[j]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
        weight = _checked_weights(weight_of_pairs, y[i], y[j])
        if not shrink and weight.max() > _LARGEST_WEIGHT:
            shrink = _SHRINK
            agreed, total = np.ldexp([agreed, total], shrink)
        weight = np.ldexp(weight, shrink)
        # Two scores of -inf have no difference, but they compare as equal.
        above = (scores[i] > scores[j]).astype(np.float64) - (scores[i] < scores[j])
        agreement = (1 + above) / 2
        agreement[y[i] == y[j]] = 1.0
        agreed += np.sum(weight * agreement)
        total += weight.sum()
    return float(agreed / total) if total > 0 else np.nan


def _blocks_of_pairs(m):
    """Yield the first and the second document of all pairs, some rows at a time."""
    rows = max(1, _PAIRS_AT_ONCE // max(m, 1))
    for a in range(0, m - 1, rows):
        first = np.arange(a, min(a + rows, m - 1))
        sizes = m - 1 - first
        i = np.repeat(first, sizes)
        starts = np.cumsum(sizes) - sizes
        yield i, np.arange(len(i)) + np.repeat(first + 1 - starts, sizes)


def _checked_weights(weight_of_pairs, higher, lower):
    with np.errstate(over="ignore"), calling("weight"):
        found = weight_of_pairs(higher, lower)
    weight = numbers_of_function("weight", found, len(higher))
    if not np.isfinite(weight).all():
        raise ValueError("weight must be finite for all pairs of grades in y")
    if weight.min() < 0:
        raise ValueError(
            "weight must not be negative for any pair of grades in y, got "
            f"{weight.min():g}"
        )
    return weight


class SpearmanRho(_TieAwareMeasure):
    """Rank correlation ρ of Spearman between grades and scores.

    Pearson correlation of the ranks, where documents of equal value share their mean
    rank; 0 for constant scores.

    Notes
    -----
    Complexity O(n log m) for queries of m documents.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import SpearmanRho
    >>> y, scores = np.array([2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0])
    >>> SpearmanRho().per_query(y, scores, np.array([0, 3]))
    array([0.5])
    """

    short_name: ClassVar[str] = "spearman"
    aliases: ClassVar[tuple[str, ...]] = ("rho",)
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def _values(self, documents):
        ptr = documents.ptr
        sizes = np.diff(ptr)
        a, b = (
            self._centred_ranks(values, ptr, sizes, documents.n_threads)
            for values in (documents.y, documents.y_score)
        )
        cross, aa, bb = (
            np.add.reduceat(product, ptr[:-1]) for product in (a * b, a * a, b * b)
        )
        rho = _divide(cross, np.sqrt(aa) * np.sqrt(bb), 0.0)
        return np.where(aa > 0, rho, np.nan)

    @staticmethod
    def _centred_ranks(values, ptr, sizes, n_threads):
        start, end = blocks_of_equal_scores(values, ptr, n_threads)
        return (start + end - np.repeat(sizes, sizes)) / 2


class RankBiasedOverlap(_TieAwareMeasure):
    """Rank-biased overlap of the ranking by scores with the ranking by grades.

    ``RBO = (1 - p) Σ_{d=1}^{m} p^{d-1} A_d + p^m A_m`` with ``A_d`` the share of
    documents that the first ``d`` ranks of both rankings have in common. Documents of
    equal value count with the probability that they are among the first ``d``.

    Parameters
    ----------
    p : float, default=0.9
        Persistence of the user, in (0, 1): the smaller it is, the more the first ranks
        count.

    Notes
    -----
    Complexity O(m log m) for a query of m documents: O(m) after sorting.

    References
    ----------
    [Webber2010]_, eq. 32, for two rankings of the same documents.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import RankBiasedOverlap
    >>> y, scores = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    >>> RankBiasedOverlap(p=0.5).per_query(y, scores, np.array([0, 2]))
    array([0.5])
    """

    short_name: ClassVar[str] = "rbo"
    aliases: ClassVar[tuple[str, ...]] = ("rank_biased_overlap",)

    p: Fraction = 0.9

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"p": 0.5}]

    def _name_options(self):
        return {"p": self.p}

    def _values(self, documents):
        by_grade = blocks_of_equal_scores(
            documents.y, documents.ptr, documents.n_threads
        )
        by_score = blocks_of_equal_scores(
            documents.y_score, documents.ptr, documents.n_threads
        )
        overlap = _measures.rank_biased_overlap(
            *by_grade, *by_score, documents.ptr, self.p, documents.n_threads
        )
        one_block = np.minimum.reduceat(
            by_grade[1] - by_grade[0], documents.ptr[:-1]
        ) == np.diff(documents.ptr)
        return np.where(one_block, np.nan, overlap)


# Squares of such differences can be summed.
_LARGEST_ERROR = 1e145


class MeanSquaredError(_TieAwareMeasure):
    """Mean squared difference of scores and grades within a query; lower is better.

    ``MSE = (1/m) Σ_i (y_i - s_i)²``. It depends on the scores, not only on their order,
    and therefore has no swap deltas. Scores must be finite.

    Parameters
    ----------
    empty_query : {"skip", "raise"} or float, default="skip"
        Without effect: the error is defined for every query.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import MeanSquaredError
    >>> y, scores = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    >>> MeanSquaredError().per_query(y, scores, np.array([0, 2]))
    array([2.])
    """

    short_name: ClassVar[str] = "mse"
    greater_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    undefined_without: ClassVar[Needed | None] = None
    has_swap_deltas: ClassVar[bool] = False

    def _values(self, documents):
        with quiet():
            difference = documents.y - documents.y_score
        largest = np.abs(difference).max(initial=0.0)
        if not np.isfinite(documents.y_score).all():
            raise ValueError(
                f"{self.name} needs finite scores; y_score holds infinity, as for "
                "documents that were not retrieved, which have no error"
            )
        if largest > _LARGEST_ERROR:
            raise ValueError(
                f"{self.name} needs scores within {_LARGEST_ERROR:g} of the grades, "
                f"because it sums squares; y_score and y differ by {largest:g}"
            )
        error = np.square(difference)
        return np.add.reduceat(error, documents.ptr[:-1]) / np.diff(documents.ptr)
