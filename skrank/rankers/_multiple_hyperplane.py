"""Multiple hyperplane ranker."""

from collections.abc import Mapping
from dataclasses import field
from itertools import combinations
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np

from skrank._core._parameters import Interval, NThreads, invalid_parameter
from skrank._meta import BaseQueryMetaRanker, fit_on, in_parallel
from skrank._monitor import Evaluator
from skrank._rows import GroupedRows
from skrank.metrics._registry import MeasureLike, measure_at_worst
from skrank.rankers._rank_svm import RankSVM

# Factors that are tried on one weight at a time, and how often all weights are gone
# through.
_FACTORS = (0.0, 0.25, 0.5, 2.0, 4.0)
_SWEEPS = 3


class MultipleHyperplaneRanker(BaseQueryMetaRanker):
    r"""Multiple hyperplane ranker: one ranker for each pair of grades.

    .. math:: f(x) = \sum_{k > l} \alpha_{kl} B_{kl}(x)

    where ranker :math:`f_{kl}` has been trained on the documents of the grades k and l
    alone, and :math:`B_{kl}(x)` is its Borda count: the number of documents of the
    query to which :math:`f_{kl}` prefers x, of which those with an equal score count
    half. The difference between the best and the good documents thus need not be of the
    same kind as that between the good and the bad ones.

    Complexity: K (K − 1) / 2 rankers for K grades, each on a part of the documents.

    Parameters
    ----------
    estimator : estimator, default=None
        A ranker, a pipeline or a scikit-learn estimator, of which each pair of grades
        gets a clone; None means `RankSVM`, as in the paper.
    weights : {"uniform", "validation"} or mapping, default="uniform"
        Weights :math:`\alpha_{kl}`: all 1; or those of which the measure of the
        validation queries, which must then be passed to `fit`, is best, changed one by
        one from 1; or numbers >= 0 by pairs (higher grade, lower grade), of which those
        left out are 0.
    aggregation : {"borda", "score"}, default="borda"
        Whether to add Borda counts, or the scores :math:`f_{kl}(x)` themselves, as eq.
        3.20 is printed. Scores need no groups in `predict`, but must have one scale.
    max_levels : int, default=10
        Most grades that are told apart. If there are more, neighbouring grades are
        joined to this many levels of about equal numbers of documents.
    validation_measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure by which ``weights="validation"`` chooses; of several sets of validation
        queries, the last one is measured.
    n_jobs : int, default=None
        Number of rankers that are trained at a time, by threads; None means 1, because
        most rankers use all CPUs themselves. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of estimator
        Fitted rankers, one for each pair of grades that a query has both of.
    pairs_ : ndarray of shape (n_rankers, 2)
        Higher and lower grade of each ranker; with joined grades the lowest of each.
    weights_ : ndarray of shape (n_rankers,)
        Weight of each ranker.

    References
    ----------
    [Qin2007]_; [Liu2011]_, section 3.3.1, eq. 3.20.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import MultipleHyperplaneRanker
    >>> X, y, groups = make_ranking(n_queries=30, n_grades=3, random_state=0)
    >>> ranker = MultipleHyperplaneRanker().fit(X, y, groups)
    >>> ranker.pairs_.tolist()
    [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0]]
    """

    approach = "pairwise"

    estimator: Any = field(default=None, kw_only=False)
    weights: Literal["uniform", "validation"] | Mapping = "uniform"
    aggregation: Literal["borda", "score"] = "borda"
    max_levels: Annotated[int, Interval(2)] = 10
    validation_measure: MeasureLike = "ndcg@10"
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        from skrank.rankers._subset_regression import SubsetRegression

        return [
            {},
            {"aggregation": "score", "estimator": SubsetRegression()},
            {"max_levels": 2},
        ]

    def _default_estimator(self):
        return RankSVM()

    def _inner_models(self):
        return self.estimators_

    @property
    def _needs_groups(self) -> bool:
        return self.aggregation == "borda" or super()._needs_groups

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        if self.weights == "validation" and validation is None:
            raise ValueError(
                "weights='validation' needs validation queries: pass X_val, y_val and "
                "groups_val"
            )
        edges = self._edges(data.y)
        level = np.searchsorted(edges, np.asarray(data.y), side="right") - 1
        pairs = self._common_pairs(level, data, len(edges))
        held = None
        if validation is not None:
            held = np.searchsorted(edges, np.asarray(validation.y), side="right") - 1
        base = self._chosen_estimator()
        self.estimators_ = in_parallel(
            fit_on,
            (
                (
                    base,
                    _of_levels(data, level, pair),
                    _of_levels(validation, held, pair),
                )
                for pair in pairs
            ),
            self.n_jobs,
        )
        self.pairs_ = edges[np.array(pairs, dtype=np.intp).reshape(-1, 2)]
        self.weights_ = self._given_weights()
        if self.weights == "validation":
            self.weights_ = self._best_weights(validation)

    def _edges(self, y) -> np.ndarray:
        """Return the lowest grade of each level, ascending."""
        grades, counts = np.unique(y, return_counts=True)
        if len(grades) <= self.max_levels:
            return grades
        before = np.cumsum(counts) - counts
        level = before * self.max_levels // len(y)
        return grades[np.flatnonzero(np.diff(level, prepend=-1))]

    def _common_pairs(self, level, data, n_levels) -> list[tuple[int, int]]:
        """Return the pairs of levels, higher first, that some query has both of.

        Rows without weight do not count: there is nothing to learn from them.
        """
        codes = np.repeat(np.arange(data.n_queries), data.sizes)
        weight = data.sample_weight
        counted = slice(None) if weight is None else weight > 0
        has = np.zeros((data.n_queries, n_levels), dtype=bool)
        has[codes[counted], level[counted]] = True
        return [
            (k, l)
            for l, k in combinations(range(n_levels), 2)
            if (has[:, k] & has[:, l]).any()
        ]

    def _given_weights(self) -> np.ndarray:
        if isinstance(self.weights, str):
            return np.ones(len(self.pairs_))
        known = {tuple(pair): place for place, pair in enumerate(self.pairs_.tolist())}
        weights = np.zeros(len(known))
        for pair, weight in self.weights.items():
            is_weight = isinstance(weight, Real) and float(weight) >= 0
            if np.shape(pair) != (2,) or not is_weight:
                raise invalid_parameter(
                    self,
                    "weights",
                    "a mapping from (higher grade, lower grade) to numbers >= 0",
                    self.weights,
                )
            place = known.get(tuple(map(float, pair)))
            if place is None:
                raise ValueError(
                    f"weights: no ranker is for the grades {pair}; there are those for "
                    f"{', '.join(map(str, known))}"
                )
            weights[place] = weight
        return weights

    def _best_weights(self, validation) -> np.ndarray:
        """Return the weights that are best on the validation queries."""
        measure = measure_at_worst(self.validation_measure)
        sign = 1.0 if measure.greater_is_better else -1.0
        points = self._points(validation.X, validation.ptr)
        evaluate = Evaluator(
            [measure], lambda weights, _: points @ weights, validation=validation
        )

        def value(weights):
            found: Any = evaluate.deciding(evaluate(weights))
            return sign * found

        weights = self.weights_
        best = value(weights)
        for _ in range(_SWEEPS):
            for place in range(len(weights)):
                here = weights[place] or 1.0
                for factor in _FACTORS:
                    tried = weights.copy()
                    tried[place] = here * factor
                    found = value(tried)
                    if found > best:
                        best, weights = found, tried
        return weights

    def _points(self, X, ptr: Any = None) -> np.ndarray:
        """Return what each ranker gives to each document, (n_documents, n_rankers)."""
        points = np.empty((X.shape[0], len(self.estimators_)))
        for place, model in enumerate(self.estimators_):
            scores = self._scores_by_query(model, X, ptr)
            if self.aggregation == "borda":
                scores = borda_counts(scores, ptr)
            points[:, place] = scores
        return points

    def _predict(self, X, ptr: Any = None) -> np.ndarray:
        return self._points(X, ptr) @ self.weights_


def _of_levels(data, level, pair) -> GroupedRows | None:
    """Return the rows of two levels; None if there are none."""
    if data is None:
        return None
    kept = np.isin(level, pair)
    return data.where(kept) if kept.any() else None


def borda_counts(scores: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return how many documents of its query each document is above.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array of the queries.

    Returns
    -------
    ndarray of shape (n_documents,)
        Number of documents with a lower score, and half of the others with an equal
        one. Complexity: one sort.
    """
    n = len(scores)
    codes = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    order = np.lexsort((scores, codes))
    s, c = scores[order], codes[order]
    is_first = np.ones(n, dtype=bool)  # of the documents of one score
    is_first[1:] = (s[1:] != s[:-1]) | (c[1:] != c[:-1])
    first = np.flatnonzero(is_first)
    run = np.cumsum(is_first) - 1
    lengths = np.diff(np.append(first, n))
    counts = np.empty(n)
    counts[order] = (first - ptr[c[first]] + 0.5 * (lengths - 1))[run]
    return counts
