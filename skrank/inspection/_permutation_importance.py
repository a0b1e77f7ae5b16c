"""Loss of a ranking measure when a feature no longer tells documents apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, check_random_state

from skrank._core._inner import check_predicts, scores_of
from skrank._core._levels import names_of_columns
from skrank._core._parameters import PositiveInt, Seed
from skrank._core._permutations import falls_by_permutation, shuffled_within
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    check_grades,
    check_options,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank.inspection._columns import in_order
from skrank.metrics import BaseMeasure, get_measure, query_weights


def query_permutation_importance(
    estimator: Any,
    X: Any,
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    measure: str | BaseMeasure | Callable = "ndcg@10",
    within: bool = True,
    n_repeats: PositiveInt = 5,
    sample_weight: npt.ArrayLike | None = None,
    random_state: Seed = None,
) -> Bunch:
    r"""Loss of a ranking measure when the values of one feature are permuted.

    .. math:: I_j = s \left( M(f; X, y)
              - \frac{1}{R} \sum_{r=1}^{R} M(f; X^{(j, r)}, y) \right)

    with :math:`s = 1` for measures of which more is better and :math:`s = -1` for
    errors, so that a feature that the ranking needs has a positive importance.

    Values move between documents of the same query, which breaks the link of the
    feature to the order of these documents and nothing else: a feature that is
    the same for all documents of a query has importance 0 on its own, as it should for
    a ranking. scikit-learn's ``permutation_importance`` permutes over all rows, which
    mixes values of different queries and with them their scales; ``within=False`` does
    the same. Complexity: ``n_features * n_repeats`` predictions.

    Parameters
    ----------
    estimator : ranker, Pipeline or any object with ``predict``
        A fitted ranker; it is given the groups if it asks for them.
    X : array-like, DataFrame or CSR matrix of shape (n_documents, n_features)
        One row per document, preferably not of the training queries.
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        The query of each row, in any order. If None, the ids are read from a level
        named "qid" of the pandas index of ``y`` or ``X``.
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure of the ranking, of either direction.
    within : bool, default=True
        Whether values stay in their query; otherwise they move between all rows.
    n_repeats : int, default=5
        Number of permutations of each feature.
    sample_weight : array-like of shape (n_documents,), default=None
        Row weights; the weight of a query is the mean weight of its documents.
    random_state : int, RandomState or None, default=None
        Source of the permutations.

    Returns
    -------
    Bunch
        ``importances`` of shape (n_features, n_repeats), ``importances_mean`` and
        ``importances_std`` over repeats, ``baseline``, the measure of the rows as they
        are, and ``feature_names``, the names of the columns as a list, or None if
        ``X`` has none. The first three are named as by scikit-learn's
        ``permutation_importance``, so that its displays take this result, too.

    Raises
    ------
    ValueError
        If groups are missing or lengths differ.

    References
    ----------
    [Breiman2001]_, section 10.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import query_permutation_importance
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, random_state=0).fit(X, y, groups)
    >>> result = query_permutation_importance(ranker, X, y, groups, random_state=0)
    >>> result.importances_mean.shape == (X.shape[1],)
    True
    """
    check_options(query_permutation_importance, locals())
    check_predicts(estimator, "estimator")
    rng = check_random_state(random_state)
    judged = _Judged(estimator, X, y, groups, get_measure(measure), sample_weight)
    baseline, falls = falls_by_permutation(
        in_order(X),
        judged.measure_of,
        int(n_repeats),
        lambda: judged.permutation(rng, within),
    )
    importances = judged.sign * falls
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        baseline=baseline,
        feature_names=[str(name) for name in names_of_columns(X)] or None,
    )


class _Judged:
    """An estimator with the grades that judge it."""

    def __init__(self, estimator, X, y, groups, measure, sample_weight):
        given = resolve_groups(
            groups, y, X, n_samples=n_rows(X), caller="query_permutation_importance"
        )
        self.estimator, self.measure, self.given = estimator, measure, given
        self.index = QueryIndex.from_groups(given)
        self.y = self.index.take(check_grades(y, n_samples=n_rows(X)))
        weight = self.index.take(check_weights(sample_weight, n_rows(X)))
        self.weights = query_weights(weight, self.index.ptr)
        self.sign = 1.0 if measure.greater_is_better else -1.0

    def measure_of(self, X) -> float:
        """Mean of the measure over queries, in its own direction."""
        scores = scores_of(self.estimator, X, self.given, response_method="predict")
        scores = self.index.take(np.asarray(scores, dtype=np.float64))
        values = self.measure.per_query(self.y, scores, self.index.ptr)
        return float(self.measure.mean(values, self.weights))

    def permutation(self, rng, within) -> np.ndarray:
        """Return the row from which each row takes its value."""
        if not within:
            keys = rng.random_sample(self.index.n_documents)
            return np.argsort(keys, kind="stable")
        grouped, order = shuffled_within(self.index.codes, rng), self.index.order
        if order is None:
            return grouped
        rows = np.empty(len(order), dtype=np.intp)
        rows[order] = order[grouped]
        return rows
