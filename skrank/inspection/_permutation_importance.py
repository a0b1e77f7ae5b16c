"""What a ranking loses when a feature no longer tells documents apart."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state, check_scalar

from skrank._core._queries import QueryIndex
from skrank._core._validation import check_grades, check_weights, n_rows, resolve_groups
from skrank.metrics import BaseMeasure, get_measure, query_weights


def query_permutation_importance(
    estimator: Any,
    X,
    y,
    groups=None,
    *,
    measure: str | BaseMeasure = "ndcg@10",
    within: bool = True,
    n_repeats: int = 5,
    sample_weight=None,
    random_state=None,
) -> Bunch:
    r"""Loss of a ranking measure when the values of one feature are permuted.

    .. math:: I_j = M(f; X, y) - \frac{1}{R} \sum_{r=1}^{R} M(f; X^{(j, r)}, y)

    Values move between documents of the same query, so that what is broken is the link
    of the feature to the order of these documents, and nothing else: a feature that is
    the same for all documents of a query has importance 0 on its own, as it should for
    a ranking. scikit-learn's ``permutation_importance`` permutes over all rows, which
    mixes values of different queries and with them their scales; ``within=False`` does
    the same. Complexity: ``n_features * n_repeats`` predictions.

    Parameters
    ----------
    estimator : ranker or any object with ``predict``
        Fitted.
    X : array-like, DataFrame or CSR matrix of shape (n_documents, n_features)
        Rows, better not those of the training queries.
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        The query of each row, in any order. If None, the ids are read from a level
        named "qid" of the pandas index of ``y`` or ``X``.
    measure : str or BaseMeasure, default="ndcg@10"
        What is measured; higher is better.
    within : bool, default=True
        Whether values stay in their query; otherwise they move over all rows.
    n_repeats : int, default=5
        Permutations of each feature.
    sample_weight : array-like of shape (n_documents,), default=None
        Row weights; a query weighs as much as its documents on average.
    random_state : int, RandomState or None, default=None
        Source of the permutations.

    Returns
    -------
    Bunch
        ``importances`` of shape (n_features, n_repeats), their ``importances_mean`` and
        ``importances_std`` over repeats, and ``baseline``, the measure of the rows as
        they are. As in scikit-learn, so that its displays of importances take it, too.

    Raises
    ------
    ValueError
        If groups are missing or lengths differ.

    References
    ----------
    Breiman (2001), Random forests, section 10.

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
    check_scalar(n_repeats, "n_repeats", int, min_val=1)
    rng = check_random_state(random_state)
    judged = _Judged(estimator, X, y, groups, get_measure(measure), sample_weight)
    baseline = judged.measure_of(X)
    n_features = n_columns(X)
    importances = np.empty((n_features, n_repeats))
    for repeat in range(n_repeats):
        # All features see the same permutations: their differences scatter less.
        rows = judged.permutation(rng, within)
        for j in range(n_features):
            importances[j, repeat] = baseline - judged.measure_of(
                _with_column(X, j, rows)
            )
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        baseline=baseline,
    )


class _Judged:
    """An estimator beside the grades that judge it."""

    def __init__(self, estimator, X, y, groups, measure, sample_weight):
        given = resolve_groups(
            groups, y, X, n_samples=n_rows(X), caller="query_permutation_importance"
        )
        self.estimator, self.measure, self.given = estimator, measure, given
        self.index = QueryIndex.from_groups(given)
        self.y = self.index.take(check_grades(y, n_samples=n_rows(X)))
        weight = self.index.take(check_weights(sample_weight, n_rows(X)))
        self.weights = query_weights(weight, self.index.ptr)
        requests = getattr(estimator, "_needs_groups", False)
        self.options = {"groups": given} if requests else {}

    def measure_of(self, X) -> float:
        """Mean of the measure over queries."""
        scores = np.asarray(self.estimator.predict(X, **self.options), dtype=np.float64)
        scores = self.index.take(scores)
        values = self.measure.per_query(self.y, scores, self.index.ptr)
        return float(self.measure.mean(values, self.weights))

    def permutation(self, rng, within):
        """Row from which each row takes its value."""
        keys = rng.random_sample(self.index.n_documents)
        if not within:
            return np.argsort(keys, kind="stable")
        grouped = np.lexsort((keys, self.index.codes))
        rows = np.empty(len(keys), dtype=np.intp)
        order = self.index.order
        if order is None:
            return grouped
        rows[order] = order[grouped]
        return rows


def n_columns(X) -> int:
    """Number of features of an array, a DataFrame, a sparse matrix or nested lists."""
    return X.shape[1] if hasattr(X, "shape") else len(X[0])


def _with_column(X, j, rows):
    """Rows with the values of one feature taken from other rows."""
    if hasattr(X, "iloc"):
        changed = X.copy()
        changed.isetitem(j, X.iloc[rows, j].to_numpy())
        return changed
    if hasattr(X, "tocsc"):
        changed = X.tolil(copy=True)
        changed[:, [j]] = X.tocsr()[rows][:, [j]]
        return changed.tocsr()
    changed = np.array(X)
    changed[:, j] = changed[rows, j]
    return changed
