"""Rankers where scikit-learn wants regressors, with queries that travel in X.

Voting, stacking and partial dependence refuse what is not a regressor, and the
``predict`` of a search, of an ensemble or of `cross_val_predict` hands on X alone. All
of them slice X row by row: queries that are a column of X reach every `predict`.
"""

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skrank._core._columns import column_of, place_of, without_column
from skrank._core._finite import checked_rows
from skrank._core._inner import (
    accepts,
    allows_missing,
    allows_sparse,
    fit_inner,
    needs_groups,
    scores_of,
)
from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import Parameters
from skrank._core._queries import QueryIndex
from skrank._core._sparse import check_sparse
from skrank._core._tables import refuse_series
from skrank._core._validation import (
    check_groups,
    check_options,
    n_rows,
    naming,
    qid_of_index,
    resolve_groups,
)
from skrank._validation_sets import validation_sets
from skrank.base import ArrayOrCSR
from skrank.metrics import make_ranking_scorer
from skrank.metrics._gain import Gain
from skrank.metrics._registry import MeasureLike
from skrank.preprocessing import QueryMinMaxScaler, QueryStandardScaler

_SCALERS = {"min-max": QueryMinMaxScaler, "zmuv": QueryStandardScaler}


class RankingRegressor(MetaEstimatorMixin, RegressorMixin, Parameters, BaseEstimator):
    """A ranker as a regressor of scikit-learn, with queries in a column of X.

    Tools of scikit-learn that take regressors only take the adapter: `VotingRegressor`,
    `StackingRegressor`, `partial_dependence` and its display. With ``groups_column``,
    the queries are a column of X, which the ranker does not see. They then reach every
    `fit`, `predict` and `score` of a tool, since all tools slice X: rankers that score
    whole queries, and scalers of queries in a pipeline, predict inside of all of them.
    Without it, queries are known as everywhere: from ``groups``, or from a level "qid"
    of the pandas index of X or y.

    Validation rows go through the pipeline inside, with their own queries.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline, a search or any estimator that scores documents; it is
        cloned, never changed.
    groups_column : int or str, default=None
        Number or name of the column of X that holds the query ids. None leaves X as it
        is.
    normalization : {"min-max", "zmuv"} or None, default=None
        Scale of the scores that `predict` returns, within each query: from 0 to 1, or
        of zero mean and unit variance. Scores of different rankers have different
        scales, and a mean of them is one of the largest; None leaves them as they are.

    Attributes
    ----------
    estimator_ : estimator
        Fitted estimator.
    n_features_in_ : int
        Number of columns of X, that of the query ids included.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X was a data frame.

    See Also
    --------
    PeerRanker : Rankers of other libraries behind the interface of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import VotingRegressor
    >>> from skrank.compat import RankingRegressor
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ListNet, RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> X = np.column_stack([groups, X])
    >>> options = {"groups_column": 0, "normalization": "zmuv"}
    >>> vote = VotingRegressor([
    ...     ("svm", RankingRegressor(RankSVM(), **options)),
    ...     ("net", RankingRegressor(ListNet(), **options)),
    ... ])
    >>> vote.fit(X, y).predict(X).shape == y.shape
    True
    """

    estimator: Any = field(kw_only=False)
    groups_column: int | str | None = None
    normalization: Literal["min-max", "zmuv"] | None = None

    __metadata_request__fit = dict.fromkeys(
        ("groups", "sample_weight", "X_val", "y_val", "groups_val", "times"), True
    )
    __metadata_request__predict = {"groups": True}
    __metadata_request__score = dict.fromkeys(
        ("groups", "sample_weight", "measure", "gain", "times"), True
    )

    def fit(
        self,
        X: ArrayOrCSR,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        X_val: ArrayOrCSR | None = None,
        y_val: npt.ArrayLike | None = None,
        groups_val: npt.ArrayLike | None = None,
        times: npt.ArrayLike | None = None,
        **side_data: Any,
    ) -> Self:
        """Fit the estimator on X without the column of queries.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. It may be passed beside ``groups_column``, as for a
            splitter that needs it, and must then divide the rows in the same way.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document.
        X_val : array-like of shape (n_val_documents, n_features), default=None
            Validation rows, with the same columns as X. Several sets come in a list, a
            tuple or a mapping by their names, here and in the two arguments below.
        y_val : array-like of shape (n_val_documents,), default=None
            Relevance grades of the validation rows.
        groups_val : array-like of shape (n_val_documents,), default=None
            The query of each validation row.
        times : array-like of shape (n_documents,), default=None
            Time of each row, for rankers, which keep them for the check of leakage.
        **side_data : array-likes
            Further data that the estimator learns from.

        Returns
        -------
        RankingRegressor
            The fitted adapter.

        Raises
        ------
        ValueError
            If there is no such column, queries are missing, or ``groups`` and the
            column divide the rows differently.
        TypeError
            If something is given that the estimator does not take.
        """
        self._check_parameters()
        X = self._checked(X, reset=True)
        rows, ids = self._rows_and_queries(X, groups, y)
        given = {"sample_weight": sample_weight, **side_data}
        if times is not None and accepts(self.estimator, "fit", "times"):
            given["times"] = times
        held_out = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
        if not accepts(self.estimator, "fit", "X_val"):
            # Others would be refused, too, if they were named in the signature.
            given |= held_out
        has_steps = hasattr(self.estimator, "steps")
        if X_val is not None and (self.groups_column is not None or has_steps):
            held_out = self._validation(held_out)
        self.estimator_ = fit_inner(
            self.estimator, rows, y, groups=ids, given=given, validation=held_out
        )
        return self

    def predict(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the scores of documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document, with the same columns as in `fit`.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, for estimators that need it, where no column holds
            it.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better.

        Raises
        ------
        ValueError
            If queries are needed and unknown, or X has other columns than in `fit`.
        """
        check_is_fitted(self)
        self._check_parameters()
        X = self._checked(X, reset=False)
        rows, ids = self._rows_and_queries(X, groups)
        scores = scores_of(self.estimator_, rows, ids)
        if self.normalization is None:
            return scores
        ids = resolve_groups(
            ids, n_samples=len(scores), caller="RankingRegressor.predict"
        )
        scaler = _SCALERS[self.normalization]()
        return scaler.fit_transform(scores[:, None], groups=ids).ravel()

    def score(
        self,
        X: ArrayOrCSR,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        measure: MeasureLike = "ndcg@10",
        gain: Gain | None = None,
        times: npt.ArrayLike | None = None,
    ) -> float:
        """Return the mean of a measure over queries, as rankers do.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, where no column holds it.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document; a query has the mean weight of its documents.
        measure : str, BaseMeasure or callable, default="ndcg@10"
            Measure, its name or a function, as in `skrank.metrics.get_measure`.
        gain : str, callable or mapping, default=None
            Gain of a grade, for measures that have one; None leaves that of the
            measure.
        times : array-like of shape (n_documents,), default=None
            Time of each row, for the check of leakage after a fit with ``times``.

        Returns
        -------
        float
            Mean of the measure; of an error, of which less is better, its negative.
        """
        given = {"measure": measure, "gain": gain}
        check_options(RankingRegressor.score, given, caller="RankingRegressor.score")
        options: dict[str, Any] = {} if gain is None else {"gain": gain}
        scorer: Any = make_ranking_scorer(measure, **options)
        return scorer(self, X, y, groups, sample_weight, times=times)

    @property
    def _needs_groups(self) -> bool:
        return self.normalization is not None or needs_groups(self.estimator_)

    def _checked(self, X: Any, *, reset) -> Any:
        """Check the columns of rows, whose values the estimator inside checks."""
        check_sparse(X)
        refuse_series(X)
        rows: Any = unmasked(X)
        if not hasattr(rows, "shape"):
            with naming("X"):
                rows = np.asarray(rows)
        with naming("X"):
            if len(rows.shape) != 2:
                raise ValueError(
                    "Expected 2D array, got an array of shape "
                    f"{rows.shape}. Reshape your data: X must have one row per document"
                )
            return checked_rows(self, rows, reset=reset, skip_check_array=True)

    def _validation(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return validation rows without the column of queries, and their queries."""
        sets = validation_sets(given)
        if self.groups_column is not None:
            for held in sets:
                X, y, groups = held.arguments.values()
                X = self._table(X, f"X_val{held.place}")
                X, ids = self._rows_and_queries(X, groups, y, of=f"_val{held.place}")
                held.arguments.update(X_val=X, groups_val=ids)
        if len(sets) == 1 and not sets[0].place:
            return sets[0].arguments
        # By their names, several sets pass through a pipeline one by one.
        return {
            argument: {held.name: held.arguments[argument] for held in sets}
            if any(held.arguments[argument] is not None for held in sets)
            else None
            for argument in given
        }

    def _table(self, X: Any, name: str) -> Any:
        """Return validation rows, of which a column can be taken out."""
        with naming(name):
            rows: Any = X if hasattr(X, "shape") else np.asarray(X)
        if len(rows.shape) != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{name} must have one row per document and the {self.n_features_in_} "
                f"columns of X, that of the queries included, got {_shape_of(rows)}"
            )
        return rows

    def _rows_and_queries(self, X, groups, y=None, of="") -> tuple[Any, Any]:
        """Return X without the column of queries, and the query of each row."""
        if self.groups_column is None:
            if groups is None:
                return X, qid_of_index(y, X)
            return X, check_groups(groups, n_rows(X), name=f"groups{of}")
        j = place_of(self.groups_column, X, "groups_column")
        rows, ids = without_column(X, j), self._ids_in(X, j, of)
        if groups is None:
            return rows, ids
        given = check_groups(groups, n_rows(X), name=f"groups{of}")
        if not _same_queries(given, ids):
            raise ValueError(
                f"groups{of} and the column {self.groups_column!r} of X{of} divide the "
                "rows into different queries; pass one of them, or make them agree"
            )
        return rows, given

    def _queries_in(self, X) -> np.ndarray | None:
        """Return the ids in the column of queries, or None if there is no column."""
        if self.groups_column is None:
            return None
        return self._ids_in(X, place_of(self.groups_column, X, "groups_column"))

    def _ids_in(self, X, j, of="") -> np.ndarray:
        """Return the ids in a column; refuse floats that are no numbers of queries."""
        name = f"the column {self.groups_column!r} of X{of}"
        ids = column_of(X, j)
        ids = check_groups(ids, n_rows(X), name=name)
        if ids.dtype.kind == "f":
            fractions = ids[ids != np.trunc(ids)]
            if len(fractions):
                raise ValueError(
                    f"{name} must hold the ids of queries, as whole numbers where they "
                    f"are floats, got {shown(fractions[0])}"
                )
            exact = 2.0 ** (np.finfo(_dtype_of(X, ids)).nmant + 1)
            if len(ids) and np.abs(ids).max() > exact:
                raise ValueError(
                    f"{name} must hold ids up to {exact:.0f}, beyond which "
                    "neighbouring whole numbers are one float, got "
                    f"{shown(np.abs(ids).max())}; number the queries from 0"
                )
        return ids

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = allows_sparse(self.estimator)
        tags.input_tags.allow_nan = allows_missing(self.estimator)
        return tags


def _shape_of(rows) -> str:
    """Return how messages call rows of a wrong shape."""
    return f"an array of shape {rows.shape}" if len(rows.shape) else shown(rows.item())


def _dtype_of(X, ids) -> np.dtype:
    """Return the type in which ids were kept, before they were taken out of X."""
    dtype = getattr(X, "dtype", ids.dtype)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind == "f" else ids.dtype


def _same_queries(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two arrays of ids put the same rows together."""
    one, other = QueryIndex.from_groups(first), QueryIndex.from_groups(second)
    if one.n_queries != other.n_queries:
        return False
    codes = one.restore(one.codes) * other.n_queries + other.restore(other.codes)
    return len(np.unique(codes)) == one.n_queries
