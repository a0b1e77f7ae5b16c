"""What every ranker shares: input, groups, scoring and ranking.

A ranker implements ``_fit(data, validation)`` on rows that are already checked and
grouped by query, and ``_predict(X)`` for scores. Everything a user can get wrong is
dealt with here, once.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._core._compat import CallbackSupportMixin, with_callbacks
from skrank._core._queries import QueryIndex
from skrank._core._segments import segment_ranks
from skrank._core._validation import (
    check_grades,
    check_groups,
    check_scores,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank._objective import RankingData
from skrank.metrics import check_query_leakage, ndcg_score

__all__ = ["BaseRanker"]


class BaseRanker(CallbackSupportMixin, BaseEstimator):
    """Base class of all rankers.

    Subclasses implement ``_fit(data, validation)``, which sets fitted attributes, and
    ``_predict(X)``, which returns scores. Groups reach `fit` and `score` by
    scikit-learn's metadata routing without any ``set_fit_request``.
    """

    __metadata_request__fit = {
        "groups": True,
        "X_val": True,
        "y_val": True,
        "groups_val": True,
    }
    __metadata_request__score = {"groups": True}

    #: "pointwise", "pairwise" or "listwise"; shown in the tables of the guide.
    approach: str
    _accepts_sparse = True
    _accepts_missing = False

    def fit(
        self,
        X,
        y,
        groups=None,
        *,
        sample_weight=None,
        X_val=None,
        y_val=None,
        groups_val=None,
    ):
        """Learn to rank the documents of each query.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades >= 0; higher is better.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, as any hashable id and in any order. If None, the
            ids are read from a level named "qid" of the pandas index of ``y`` or ``X``.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document. In pairwise losses the weight of the preferred
            document multiplies the pair; in listwise losses the mean weight of a
            query's documents multiplies the query.
        X_val : array-like of shape (n_val_documents, n_features), default=None
            Rows of validation queries, for early stopping and model selection.
        y_val : array-like of shape (n_val_documents,), default=None
            Their grades.
        groups_val : array-like of shape (n_val_documents,), default=None
            Their queries.

        Returns
        -------
        BaseRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or grades or features are not finite.
        """
        return self._checked_fit(
            X, y, groups, sample_weight, (X_val, y_val, groups_val)
        )

    @with_callbacks
    def _checked_fit(self, X, y, groups, sample_weight, validation, init_score=None):
        data, index = self._training_data(X, y, groups, sample_weight, init_score)
        held_out = self._validation_data(*validation)
        self.query_ids_ = index.ids
        self.query_sizes_ = index.sizes
        self.n_queries_without_preference_ = int((~data.has_preference()).sum())
        self._callback_context = self._init_callback_context(max_subtasks=None)
        try:
            self._fit(data, held_out)
        finally:
            del self._callback_context
        return self

    def _training_data(self, X, y, groups, sample_weight, init_score):
        given_X, given_y = X, y
        X = self._check_rows(X, y=y, reset=True)
        y = check_grades(y, n_samples=X.shape[0], warn=True)
        ids = resolve_groups(
            groups,
            given_y,
            given_X,
            n_samples=X.shape[0],
            caller=f"{type(self).__name__}.fit",
        )
        sample_weight = check_weights(sample_weight, X.shape[0])
        index = QueryIndex.from_groups(ids, canonical=True)
        score = _check_init_score(init_score, X.shape[0], "init_score")
        return RankingData.grouped(X, y, index, sample_weight, score), index

    def _validation_data(self, X_val, y_val, groups_val, init_score_val=None):
        if X_val is None and y_val is None and groups_val is None:
            return None
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val must be given together")
        X = self._check_rows(X_val, reset=False)
        y = check_grades(y_val, n_samples=X.shape[0], name="y_val")
        ids = resolve_groups(
            groups_val,
            y_val,
            X_val,
            n_samples=X.shape[0],
            caller=f"{type(self).__name__}.fit with X_val",
            name="groups_val",
        )
        index = QueryIndex.from_groups(ids, canonical=True)
        score = _check_init_score(init_score_val, X.shape[0], "init_score_val")
        return RankingData.grouped(X, y, index, init_score=score)

    def _check_rows(self, X, *, reset, y="no_validation"):
        """Check rows alone; grades are checked by rules of our own."""
        if isinstance(y, str) or y is not None:
            y = "no_validation"
        return validate_data(
            self,
            X,
            y=y,  # None reaches scikit-learn, which says that y is required
            reset=reset,
            accept_sparse="csr" if self._accepts_sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite="allow-nan" if self._accepts_missing else True,
        )

    def _fit(self, data: RankingData, validation: RankingData | None) -> Any:
        raise NotImplementedError

    def _predict(self, X):
        raise NotImplementedError

    def predict(self, X):
        """Score documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better. Only differences within a query mean anything.
        """
        check_is_fitted(self)
        return self._predict(self._check_rows(X, reset=False))

    def rank(self, X, groups=None):
        """Rank the documents of each query.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.

        Returns
        -------
        ndarray of shape (n_documents,)
            1 for the best document of its query; equal scores keep the row order.
        """
        ranks, _ = self._ranks(X, groups, "rank")
        return ranks

    def top_documents(self, X, groups=None, *, k: int = 10):
        """Rows of the best documents of each query.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.
        k : int, default=10
            Documents per query; a query with fewer gives all it has.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, query after query and best first.

        Raises
        ------
        ValueError
            If ``k`` is below 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        ranks, index = self._ranks(X, groups, "top_documents")
        return first_rows(index.take(ranks), index, k)

    def _ranks(self, X, groups, method):
        ids = resolve_groups(
            groups, X, n_samples=n_rows(X), caller=f"{type(self).__name__}.{method}"
        )
        scores = np.asarray(self._scores(X, ids), dtype=np.float64)
        index = QueryIndex.from_groups(check_groups(ids, len(scores)))
        ranks = segment_ranks(index.take(scores), index.ptr)
        return index.restore(np.asarray(ranks, dtype=np.intp)), index

    def score(self, X, y, groups=None, sample_weight=None) -> float:
        """Mean NDCG@10 over queries.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; a query weighs as much as its documents on average.

        Returns
        -------
        float
            Between 0 and 1.
        """
        groups = resolve_groups(
            groups, y, X, n_samples=n_rows(X), caller=f"{type(self).__name__}.score"
        )
        check_query_leakage(self, groups)
        return ndcg_score(
            y, self._scores(X, groups), groups=groups, k=10, sample_weight=sample_weight
        )

    def _scores(self, X, groups):
        """Scores for a caller who knows the queries."""
        return self.predict(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        return tags


def _check_init_score(init_score, n_samples, name):
    """Return finite scores to start from, or None where there are none."""
    if init_score is None:
        return None
    scores = check_scores(init_score, n_samples, name=name)
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} must be finite")
    return scores


def first_rows(ranks, index: QueryIndex, k: int):
    """Row numbers of ranks 1 to k, query after query and best first.

    Parameters
    ----------
    ranks : ndarray of shape (n_documents,)
        Ranks within queries, grouped by query.
    index : QueryIndex
        Of the rows.
    k : int
        Last rank.

    Returns
    -------
    ndarray of shape (n_selected,)
        Row numbers.
    """
    rows = np.arange(len(ranks)) if index.order is None else index.order
    kept = np.flatnonzero(ranks <= k)
    return rows[kept[np.lexsort((ranks[kept], index.codes[kept]))]]


class GroupsAtPredictMixin:
    """Rankers whose scores of a document may depend on the others of its query.

    `predict` then takes ``groups``, which scikit-learn's metadata routing passes on
    through pipelines without any ``set_predict_request``.
    """

    __metadata_request__predict = {"groups": True}

    @property
    def _needs_groups(self) -> bool:
        """Whether this model, once fitted, needs the groups."""
        return True

    def predict(self, X, groups=None):
        """Score documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order. Needed by models in which a document's
            score depends on the other documents of its query, ignored by others.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better. Only differences within a query mean anything.

        Raises
        ------
        ValueError
            If the model needs groups and there are none.
        """
        check_is_fitted(self)
        return self._by_query(self._predict, X, groups, "predict")

    def _by_query(self, function, X, groups, method):
        """Rows of ``function(X, ptr)``, with the queries if the model needs them."""
        rows = self._check_rows(X, reset=False)
        if not self._needs_groups:
            return function(rows)
        ids = resolve_groups(
            groups,
            X,
            n_samples=rows.shape[0],
            caller=f"{type(self).__name__}.{method}",
        )
        index = QueryIndex.from_groups(check_groups(ids, rows.shape[0]))
        return index.restore(function(index.take(rows), index.ptr))

    def _scores(self, X, groups):
        return self.predict(X, groups)
