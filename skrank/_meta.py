"""Rankers that hold other estimators."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MetaEstimatorMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import NotFiniteError, checked_array, checked_rows
from skrank._core._informative import inner_fit
from skrank._core._inner import (
    allows_missing,
    allows_sparse,
    fit_inner,
    needs_groups,
    scores_of,
)
from skrank._core._missing import rows_with_nan
from skrank._core._sparse import check_sparse, read_only
from skrank._core._tables import refuse_series
from skrank._core._threads import blas_threads, jobs_for
from skrank._core._validation import naming, qid_of_index
from skrank._rows import GroupedRows, named_rows
from skrank.base import ArrayOrCSR, BaseRanker, GroupsAtPredictMixin


class BaseMetaRanker(GroupsAtPredictMixin, MetaEstimatorMixin, BaseRanker):
    """Base class of rankers that are made of other estimators.

    These may be rankers, pipelines or any estimators of scikit-learn. Rows reach them
    as they were given, together with the groups, weights, preferences, side data and
    validation queries that they accept. Subclasses declare a parameter ``estimator``,
    implement ``_fit(data, validation)`` by `_fit_inner` and ``_predict(X, groups)`` by
    `_inner_scores`, and list the fitted estimators in `_inner_models` if they hold
    others than ``estimator_``. One whose ``estimator`` may be None says in
    `_default_estimator` what that stands for.
    """

    def _default_estimator(self) -> Any:
        """Return the estimator that stands in where the user gave None."""
        return None

    def _chosen_estimator(self) -> Any:
        """Return the estimator to fit."""
        return self._default_estimator() if self.estimator is None else self.estimator

    @property
    def _accepts_missing(self) -> bool:
        return allows_missing(self._chosen_estimator())

    @property
    def _accepts_sparse(self) -> bool:
        return allows_sparse(self._chosen_estimator())

    def _inner_models(self) -> Sequence[Any]:
        """Return the fitted estimators inside."""
        return [self.estimator_]

    @property
    def _needs_groups(self) -> bool:
        return any(needs_groups(model) for model in self._inner_models())

    def _check_rows(self, X, *, reset, needs_y=False, name="X", training=False) -> Any:
        """Check the shape of rows, whose values the estimators inside check."""
        if needs_y:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        check_sparse(X, name)
        refuse_series(X, name)
        if not hasattr(X, "iloc"):  # data frames keep the types of their columns
            accepted: Any = {"accept_sparse": "csr", "dtype": None}
            with naming(name):
                X = checked_array(
                    rows_with_nan(X),
                    ensure_all_finite=False,
                    estimator=self,
                    input_name="X",
                    **accepted,
                )
        with naming(name):
            return read_only(checked_rows(self, X, reset=reset, skip_check_array=True))

    def _train(self, method, data, validation) -> None:
        def named(data, validation):
            held = None if validation is None else validation.X
            with self._naming_itself(X=data.X, X_val=held):
                method(data, validation)

        super()._train(named, data, validation)

    @contextmanager
    def _naming_itself(self, **rows: Any) -> Iterator[None]:
        """Let errors about values of rows name this ranker, and not one inside it.

        The estimators inside decide which values they take, and rows are looked through
        only after one of them has complained.
        """
        try:
            yield
        except ValueError as error:
            if not re.search(r"contains (NaN|infinity)", str(error)):
                raise
            for name, values in rows.items():
                if values is not None:
                    self._require_finite(values, name, error)
            raise

    def _require_finite(self, values, name, cause) -> None:
        accepted: Any = {
            "accept_sparse": True,
            "dtype": None,
            "ensure_all_finite": "allow-nan" if self._accepts_missing else True,
            "ensure_min_samples": 0,
        }
        try:
            rows = rows_with_nan(values)
            checked_array(rows, estimator=self, input_name="X", **accepted)
        except ValueError as error:
            # scikit-learn adds its advice only where the rows are called X, and of
            # objects it says "Input contains NaN".
            message = re.sub(r"^Input (X )?", f"Input {name} ", str(error), count=1)
            raise ValueError(message) from cause

    def _fit_inner(
        self,
        estimator,
        data: GroupedRows,
        validation: GroupedRows | None = None,
        owner: str = "estimator",
        rng: np.random.RandomState | None = None,
    ) -> Any:
        """Return a clone of an estimator, fitted on rows of queries; see `fit_on`."""
        return fit_on(estimator, data, validation, owner, rng)

    def _inner_scores(self, model, X, groups=None) -> np.ndarray:
        """Return the scores of a fitted estimator."""
        scores = scores_of(model, X, groups)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise NotFiniteError(
                f"{type(self).__name__}: {type(model).__name__} must predict finite "
                f"scores, got {scores[row]} in row {row}; scale the features to the "
                "range of those of training"
            )
        return scores

    def predict(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the scores of documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, for the estimators inside that ask for it.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better. Only differences within a query mean anything.
        """
        check_is_fitted(self)
        if groups is None:
            groups = qid_of_index(X)
        with self._naming_itself(X=X):
            return self._predicted(self._check_rows(X, reset=False), groups)

    def _scores_of_rows(self, data: GroupedRows) -> np.ndarray:
        return self._predicted(named_rows(data.X, data.feature_names), data.groups)

    def _predict(self, X, groups=None) -> np.ndarray:
        raise NotImplementedError


class BaseQueryMetaRanker(BaseMetaRanker):
    """Base class of meta rankers that may put scores together query by query.

    Subclasses implement ``_predict(X, ptr=None)`` on rows that are grouped by query if
    ``_needs_groups``, and ungrouped, without ``ptr``, if not.
    """

    def predict(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the scores of documents.

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
            If the model needs groups and there are none, X does not fit the training
            rows, or a score is not finite.
        """
        check_is_fitted(self)
        with self._naming_itself(X=X):
            return self._by_query(self._predicted, X, groups, "predict")

    def _scores_by_query(self, model, X, ptr: Any = None) -> np.ndarray:
        """Return the scores of a fitted estimator for rows that are grouped."""
        groups = None
        if ptr is not None:
            groups = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        return self._inner_scores(model, X, groups)

    def _scores_of_rows(self, data: GroupedRows) -> np.ndarray:
        named = named_rows(data.X, data.feature_names)
        return self._predicted(named, data.ptr if self._needs_groups else None)

    def _predict(self, X, ptr: Any = None) -> np.ndarray:
        raise NotImplementedError


def in_parallel(function, tasks: Iterable[tuple], n_jobs: int | None) -> list[Any]:
    """Return ``function(*task)`` of all tasks, several at a time.

    Parameters
    ----------
    function : callable
        Function that fits an estimator.
    tasks : iterable of tuple
        Arguments of each call.
    n_jobs : int or None
        Number of threads, as in joblib.

    Returns
    -------
    list
        Results, in the order of the tasks. Threads of BLAS would add numbers in another
        order for another number of tasks at a time, so there is one of them.
    """
    tasks = list(tasks)
    with blas_threads(1):
        run = Parallel(n_jobs=jobs_for(len(tasks), n_jobs), prefer="threads")
        try:
            return list(run(delayed(function)(*task) for task in tasks))
        except RuntimeError as error:
            # What Python makes of a StopIteration that passes joblib's generators.
            if isinstance(error.__cause__, StopIteration):
                raise error.__cause__ from None
            raise


def _as_arguments(validation: GroupedRows) -> dict[str, Any]:
    """Return one set of validation queries as arguments of `fit`."""
    return {
        "X_val": named_rows(validation.X, validation.feature_names),
        "y_val": validation.y,
        "groups_val": validation.groups,
        **{f"{name}_val": values for name, values in validation.side.items()},
    }


def fit_on(
    estimator,
    data: GroupedRows,
    validation: GroupedRows | None = None,
    owner: str = "estimator",
    rng: np.random.RandomState | None = None,
) -> Any:
    """Return a clone of an estimator, fitted on rows of queries.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline or a scikit-learn estimator; left unchanged.
    data : GroupedRows
        Training rows.
    validation : GroupedRows, default=None
        Validation rows, handed to estimators that take them.
    owner : str, default="estimator"
        Name of the parameter that holds the estimator, for error messages.
    rng : RandomState, default=None
        Source of the seeds of the clone; None leaves its own.

    Returns
    -------
    estimator
        The fitted clone.

    Raises
    ------
    TypeError
        If there are weights, preferences or side data that the estimator does not take.
    """
    given: dict[str, Any] = {"sample_weight": data.sample_weight, **data.side}
    if data.preferences is not None:
        given["preferences"] = data.preferences.pairs
        given["sample_weight"] = data.preferences.weight
    held_out: dict[str, Any] = {}
    if validation is not None:
        sets = {name: _as_arguments(rows) for name, rows in validation.sets().items()}
        held_out = next(iter(sets.values()))
        if validation.set_names not in ((), ("validation",)):
            held_out = {
                argument: {name: given[argument] for name, given in sets.items()}
                for argument in held_out
            }
    with inner_fit():
        return fit_inner(
            estimator,
            named_rows(data.X, data.feature_names),
            data.y,
            groups=data.groups,
            given=given,
            validation=held_out,
            owner=owner,
            rng=rng,
        )
