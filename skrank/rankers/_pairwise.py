"""Rankers that also learn from explicit preference pairs."""

import numpy as np

from skrank._core._compat import with_callbacks
from skrank._core._validation import check_groups, check_weights
from skrank._objective import RankingData
from skrank.losses import ExplicitPairsLoss


class PreferenceMixin:
    """Pairwise rankers: `fit` takes grades or ``preferences=``."""

    _preferences = None

    def fit(
        self,
        X,
        y=None,
        groups=None,
        *,
        preferences=None,
        sample_weight=None,
        X_val=None,
        y_val=None,
        groups_val=None,
    ):
        """Learn from grades, or from explicit preference pairs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,), default=None
            Relevance grades >= 0; higher is better. None with ``preferences``.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, as any hashable id and in any order. If None, the
            ids are read from a level named "qid" of the pandas index of ``y`` or ``X``.
            Optional with ``preferences``, whose pairs are then checked against it.
        preferences : array-like of shape (n_pairs, 2), default=None
            Row numbers: the first document of a pair is preferred to the second.
        sample_weight : array-like, default=None
            Weight of each document, where the weight of the preferred document
            multiplies a pair; with ``preferences``, weight of each pair.
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
            If groups are missing, lengths differ, grades or features are not finite,
            both grades and preferences are given, or a pair crosses two queries.
        """
        validation = (X_val, y_val, groups_val)
        if preferences is None:
            return self._checked_fit(X, y, groups, sample_weight, validation)
        if y is not None:
            raise ValueError("pass either y or preferences, not both")
        return self._fit_preferences(X, groups, preferences, sample_weight, validation)

    @with_callbacks
    def _fit_preferences(self, X, groups, preferences, sample_weight, validation):
        if self.early_stopping and validation[0] is None:
            raise ValueError(
                "early_stopping holds out graded queries, which preferences do not "
                "have; pass X_val, y_val and groups_val"
            )
        X = self._check_rows(X, reset=True)
        n = X.shape[0]
        pairs = _check_pairs(preferences, n)
        ids = np.zeros(n, dtype=np.intp) if groups is None else check_groups(groups, n)
        crossing = np.flatnonzero(ids[pairs[:, 0]] != ids[pairs[:, 1]])
        if len(crossing):
            raise ValueError(
                f"preferences must stay within a query; pair {crossing[0]} joins two"
            )
        held_out = self._validation_data(*validation)
        self.query_ids_ = np.unique(ids) if groups is not None else ids[:0]
        self.query_sizes_ = np.zeros(len(self.query_ids_), dtype=np.intp)
        weight = check_weights(sample_weight, len(pairs))
        everything = np.array([0, n], dtype=np.intp)
        self._callback_context = self._init_callback_context(max_subtasks=None)
        self._preferences = (pairs, weight)
        try:
            self._fit(RankingData(X, np.zeros(n), everything), held_out)
        finally:
            del self._callback_context, self._preferences
        return self

    def _clone_parts(self):
        energy, loss = super()._clone_parts()
        if self._preferences is not None:
            loss = ExplicitPairsLoss(loss, *self._preferences)
        return energy, loss

    def _store(self, energy, loss, result, monitor):
        # The pairs belong to the training data, not to the model.
        loss = loss if self._preferences is None else loss.loss
        super()._store(energy, loss, result, monitor)


def _check_pairs(preferences, n_samples):
    pairs = np.asarray(preferences)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise ValueError(
            "preferences must have shape (n_pairs, 2) with at least one pair, got "
            f"{pairs.shape}"
        )
    if pairs.dtype.kind not in "iu":
        raise ValueError(f"preferences must hold row numbers, got dtype {pairs.dtype}")
    if pairs.min() < 0 or pairs.max() >= n_samples:
        raise ValueError(
            f"preferences must hold row numbers from 0 to {n_samples - 1}, found "
            f"{pairs.min()} to {pairs.max()}"
        )
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise ValueError(f"preferences: pair {same[0]} prefers a document to itself")
    return pairs.astype(np.intp)
