"""GAS: features that rank well and differ from each other."""

from typing import Literal

import numpy as np

from skrank._core._choices import kendall_sums
from skrank._core._parameters import NonNegative, NThreads
from skrank._core._threads import blas_threads, effective_n_threads
from skrank._rows import GroupedRows
from skrank.losses import BaseLoss
from skrank.metrics._registry import MeasureLike
from skrank.selection._feature_base import BaseCountedSelector
from skrank.selection._feature_importance import (
    columns_of,
    judge_features,
    missing_last,
)

Similarity = Literal["kendall", "spearman", "concordance"]


class GAS(BaseCountedSelector):
    r"""Greedy search for features that are important and not similar.

    .. math:: \max_{\xi \in \{0, 1\}^d} \; \sum_i w_i \xi_i
              - c \sum_i \sum_{j \ne i} e_{ij} \xi_i \xi_j,
              \qquad \sum_i \xi_i = t

    where :math:`w_i` is the importance of feature i as a ranking by its values alone,
    in the better one of both directions, and :math:`e_{ij}` the similarity of the
    rankings by features i and j, each in its better direction, on the mean over
    queries. The feature of the largest weight is taken t times, and after each time all
    others pay for what they have in common with it:

    .. math:: w_j \leftarrow w_j - 2 c \, e_{ij}

    which is what feature j then adds to the objective. Where no :math:`e_{ij}` is
    negative and features are never worth less than nothing, the objective of the
    result is at least :math:`1 - 1/e` of the largest one [Nemhauser1978]_.

    Documents whose value is missing rank last. Queries of one document, and features
    that are equal for all documents of a query, add nothing to a similarity.

    Complexity: importances cost O(n d log m) for n documents of d features, m in a
    query, similarities O(n m d² / 64) by the bits of compiled pairs ("kendall" and
    "concordance") or O(n d²) ("spearman"), and the search O(t d). The memory is
    O(n d + d²): sparse rows are made dense.

    Parameters
    ----------
    importance : measure, str, callable or BaseLoss, default="ndcg@10"
        Measure, or loss, that judges the ranking by a feature; the source takes MAP and
        NDCG, and the losses of rankers. See `SelectByMeasure`.
    similarity : {"kendall", "spearman", "concordance"}, default="kendall"
        Similarity of two rankings of a query: Kendall's tau-b, Spearman's rho, both
        between -1 and 1, or the share of the pairs of documents that both order alike,
        between 0 and 1. Without equal values, the last one is
        :math:`(\tau + 1) / 2`, so that it selects what tau selects with half the c.
    c : float, default=0.01
        Weight c of similarities against importances. 0 selects by importance alone, as
        `SelectByMeasure` does.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs.

    Attributes
    ----------
    importances_ : ndarray of shape (`n_features_in_`,)
        Importance :math:`w_i` of each feature before the search.
    directions_ : ndarray of shape (`n_features_in_`,), dtype int64
        1 where large values rank first, -1 where small values do.
    similarity_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Similarities :math:`e_{ij}`.
    order_ : ndarray of shape (`n_features_`,), dtype int64
        Selected features in the order in which they were taken.
    gains_ : ndarray of shape (`n_features_`,)
        What each of them added to the objective.
    objective_ : float
        Value of the objective, the sum of the gains.

    See Also
    --------
    SelectByMeasure : The same importances, without similarities.

    References
    ----------
    [Geng2007]_; [Liu2011]_, section 13.3.3, eq. 13.17.

    Examples
    --------
    The copy of a feature is not taken again:

    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.selection import GAS
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> X = np.column_stack([X, -X])
    >>> selector = GAS(4, c=0.1).fit(X, y, groups)
    >>> len(set(selector.order_ % (X.shape[1] // 2)))
    4
    """

    importance: MeasureLike | BaseLoss = "ndcg@10"
    similarity: Similarity = "kendall"
    c: NonNegative = 0.01
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_features_to_select": 1, "similarity": "spearman", "c": 0.0},
            {"similarity": "concordance", "importance": "map(rel=2)", "n_jobs": 1},
        ]

    def _selected(self, rows):
        n = self._n_wanted()
        n_threads = effective_n_threads(self.n_jobs)
        self.importances_, self.directions_ = judge_features(
            rows, self.importance, n_threads, type(self).__name__
        )
        self.similarity_ = similarities(
            rows, self.directions_, self.similarity, n_threads
        )
        self.order_, self.gains_ = greedy(
            self.importances_, self.similarity_, float(self.c), n
        )
        self.objective_ = float(self.gains_.sum())
        return self.order_


def greedy(
    importances: np.ndarray, similarity: np.ndarray, c: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Take the feature of the largest weight and lower those of its like, n times.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
        Weights to begin with.
    similarity : ndarray of shape (n_features, n_features)
        Similarities.
    c : float
        Weight of similarities.
    n : int
        Number of features to take.

    Returns
    -------
    order : ndarray of shape (n,), dtype int64
        Features that were taken; of equal weights the first.
    gains : ndarray of shape (n,)
        Their weights at that time.
    """
    weights = importances.astype(np.float64)
    order, gains = np.empty(n, dtype=np.int64), np.empty(n)
    for step in range(n):
        order[step] = best = int(np.argmax(weights))
        gains[step] = weights[best]
        weights -= 2.0 * c * similarity[best]
        weights[best] = -np.inf
    return order, gains


def similarities(
    rows: GroupedRows, directions: np.ndarray, kind: Similarity, n_threads: int
) -> np.ndarray:
    """Return the mean similarity over queries of the rankings by every two features.

    Parameters
    ----------
    rows : GroupedRows
        Rows, grouped by query.
    directions : ndarray of shape (n_features,)
        1 where large values rank first, -1 where small values do.
    kind : {"kendall", "spearman", "concordance"}
        Similarity of two rankings.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_features, n_features)
    """
    n_features = rows.X.shape[1]
    values = np.empty((n_features, rows.n_documents))
    column = columns_of(rows.X)
    for j in range(n_features):
        values[j] = missing_last(directions[j] * column(j))
    n_queries = max(1, int((rows.sizes > 1).sum()))
    if kind == "spearman":
        return _spearman_sums(values, rows) / n_queries
    return kendall_sums(values, rows.ptr, kind == "concordance", n_threads) / n_queries


def _spearman_sums(values, rows) -> np.ndarray:
    """Return Spearman's correlation of every two rankings, summed over the queries."""
    codes = np.repeat(np.arange(rows.n_queries), rows.sizes)
    starts, sizes = rows.ptr[:-1], rows.sizes
    for j, of_feature in enumerate(values):
        # Ranks over all rows grow within a query as those of the query do.
        order = np.lexsort((of_feature, codes))
        ordered = of_feature[order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = (ordered[1:] != ordered[:-1]) | (
            codes[order][1:] != codes[order][:-1]
        )
        places = np.flatnonzero(begins)
        ends = np.append(places[1:], len(order)) - 1
        rank = np.empty(len(order))
        rank[order] = (0.5 * (places + ends))[np.cumsum(begins) - 1]
        rank -= np.repeat(np.add.reduceat(rank, starts) / sizes, sizes)
        lengths = np.sqrt(np.add.reduceat(rank * rank, starts))
        scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        values[j] = rank * np.repeat(scale, sizes)
    # The sums of a product of matrices depend on the number of threads of BLAS.
    with blas_threads(1):
        return values @ values.T
