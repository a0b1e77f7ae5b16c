"""How well each feature alone ranks the documents, and in which direction."""

from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._finite import at_most_one, quiet
from skrank._core._informative import warn_of_data
from skrank._core._parameters import NThreads
from skrank._core._threads import effective_n_threads
from skrank._rows import GroupedRows
from skrank.losses import BaseLoss
from skrank.metrics._registry import MeasureLike, measure_at_worst
from skrank.selection._feature_base import BaseCountedSelector, largest


def columns_of(X: Any) -> Any:
    """Return a function that reads a column of rows as an array of floats."""
    if not sparse.issparse(X):
        return lambda j: np.asarray(X[:, j], dtype=np.float64)
    by_column = X.tocsc()
    return lambda j: by_column[:, [j]].toarray()[:, 0].astype(np.float64)


def missing_last(scores: np.ndarray) -> np.ndarray:
    """Return scores in which those that are missing are below all others."""
    missing = np.isnan(scores)
    if not missing.any():
        return scores
    if missing.all():
        return np.zeros(len(scores))
    with quiet():  # below the least float there is -inf
        lowest = np.nextafter(scores[~missing].min(), -np.inf)
    return np.where(missing, lowest, scores)


class Judge:
    """What a measure or a loss says of scores of the training rows.

    Parameters
    ----------
    importance : measure, its name, function or BaseLoss
        What judges; greater values of `of` are better.
    rows : GroupedRows
        Training rows.
    n_threads : int
        Number of threads.
    """

    def __init__(self, importance, rows: GroupedRows, n_threads: int):
        self.rows, self.n_threads = rows, n_threads
        self.is_loss = isinstance(importance, BaseLoss)
        if self.is_loss:
            self.prepared = importance.prepare(
                np.asarray(rows.y), rows.ptr, n_threads=n_threads
            )
            self.zero = self._loss(np.zeros(rows.n_documents))
        else:
            self.measure = measure_at_worst(importance)

    def _loss(self, scores) -> float:
        total = self.prepared.total_weight
        value = float(self.prepared.value_gradient(scores)[0].sum())
        return value / total if total > 0 else 0.0

    def of(self, scores: np.ndarray) -> float:
        """Return the value of a measure, or by how much a loss falls; NaN if none."""
        if self.is_loss:
            known = np.nan_to_num(_standardized(scores))
            return self.zero - self._loss(known)
        values = self.measure.per_query(
            np.asarray(self.rows.y),
            missing_last(scores),
            self.rows.ptr,
            n_threads=self.n_threads,
        )
        if np.isnan(values).all():
            return np.nan
        return self.measure.sign * self.measure.mean(values)


def _standardized(scores):
    """Return scores of mean 0 and variance 1, without which losses compare units."""
    scores = at_most_one(scores)
    centred = scores - np.nanmean(scores) if not np.isnan(scores).all() else scores
    spread = np.sqrt(np.nanmean(centred**2)) if not np.isnan(scores).all() else 0.0
    return centred / spread if spread > 0 else np.zeros(len(scores))


def judge_features(
    rows: GroupedRows, importance: Any, n_threads: int, owner: str
) -> tuple[np.ndarray, np.ndarray]:
    """Judge each feature as a ranking by its values, falling and rising.

    Parameters
    ----------
    rows : GroupedRows
        Training rows, grouped by query.
    importance : measure, its name, function or BaseLoss
        What judges a ranking.
    n_threads : int
        Number of threads.
    owner : str
        Name of the selector, for a warning.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        The better one of both values of each feature, greater is better.
    directions : ndarray of shape (n_features,), dtype int64
        1 where large values rank first, -1 where small values do.
    """
    n_features = rows.X.shape[1]
    importances = np.zeros(n_features)
    directions = np.ones(n_features, dtype=np.int64)
    judge = Judge(importance, rows, n_threads)
    column = columns_of(rows.X)
    for j in range(n_features):
        values = column(j)
        falling, rising = judge.of(values), judge.of(-values)
        if np.isnan(falling):
            _warn_of_no_information(owner, judge.measure, rows)
            break
        importances[j] = max(falling, rising)
        directions[j] = 1 if falling >= rising else -1
    return importances, directions


def _warn_of_no_information(owner, measure, rows):
    if rows.has_preference().any():  # of others the user has been told
        warn_of_data(
            f"{owner} finds all features equally important, because no query has a "
            f"value of {measure.name}"
        )


class SelectByMeasure(BaseCountedSelector):
    r"""Keep the features that rank documents best, each on its own.

    .. math:: w_j = \max\Bigl( \frac{1}{Q} \sum_q M(x_{\cdot j}; y_q),\;
              \frac{1}{Q} \sum_q M(-x_{\cdot j}; y_q) \Bigr)

    where M is the measure of the ranking of a query by the values of feature j: of some
    features large values are good, of others small ones. This filter sees neither a
    ranker nor what features have in common; `GAS` sees the latter.

    Documents whose value is missing rank last, in either direction. Complexity: O(n
    log m) for each feature, with n documents and m in a query.

    Parameters
    ----------
    importance : measure, str, callable or BaseLoss, default="ndcg@10"
        Measure, or loss, that judges a ranking. The value of a loss is by how much it
        falls if the scores are the values of the feature, scaled to mean 0 and variance
        1, instead of 0.
    threshold : float or None, default=None
        Lowest importance of a feature to keep. With a threshold,
        ``n_features_to_select`` is the largest number to keep, and None means all.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs.

    Attributes
    ----------
    importances_ : ndarray of shape (`n_features_in_`,)
        Importance :math:`w_j` of each feature, greater is better. Measures of which
        less is better have the opposite sign.
    directions_ : ndarray of shape (`n_features_in_`,), dtype int64
        1 where large values rank first, -1 where small values do.

    See Also
    --------
    GAS : Features that are good, and differ from each other.
    QueryRFE : Features that a ranker needs.

    References
    ----------
    [Liu2011]_, section 13.3.3; [Geng2007]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.selection import SelectByMeasure
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> SelectByMeasure(5).fit_transform(X, y, groups=groups).shape == (len(X), 5)
    True
    """

    importance: MeasureLike | BaseLoss = "ndcg@10"
    threshold: float | None = None
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_features_to_select": 1, "importance": "map(rel=2)", "n_jobs": 1},
            {"threshold": 0.1, "importance": "ndcg"},
        ]

    def _selected(self, rows):
        n_threads = effective_n_threads(self.n_jobs)
        self.importances_, self.directions_ = judge_features(
            rows, self.importance, n_threads, type(self).__name__
        )
        if self.threshold is None:
            return largest(self.importances_, self._n_wanted())
        n = len(self.importances_)
        if self.n_features_to_select is not None:
            n = self._n_wanted()
        best = largest(self.importances_, n)
        kept = best[self.importances_[best] >= self.threshold]
        if not len(kept):
            raise ValueError(
                f"SelectByMeasure: threshold={self.threshold:g} leaves no feature; the "
                f"largest importance is {self.importances_.max():g}"
            )
        return kept
