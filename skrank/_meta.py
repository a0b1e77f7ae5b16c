"""Rankers that hold other estimators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._core._informative import inner_fit
from skrank._core._inner import (
    allows_missing,
    allows_sparse,
    fit_inner,
    needs_groups,
    scores_of,
)
from skrank._core._validation import check_sparse, naming, qid_of_index
from skrank._rows import GroupedRows, named_rows, read_only
from skrank.base import ArrayOrCSR, BaseRanker, GroupsAtPredictMixin


class BaseMetaRanker(GroupsAtPredictMixin, MetaEstimatorMixin, BaseRanker):
    """Base class of rankers that are made of other estimators.

    These may be rankers, pipelines or any estimators of scikit-learn. Rows reach them
    as they were given, together with the groups, weights, preferences, side data and
    validation queries that they accept. Subclasses declare a parameter ``estimator``,
    implement ``_fit(data, validation)`` by `_fit_inner` and ``_predict(X, groups)`` by
    `_inner_scores`, and list the fitted estimators in `_inner_models` if they hold
    others than ``estimator_``.
    """

    @property
    def _accepts_missing(self) -> bool:
        return allows_missing(self.estimator)

    @property
    def _accepts_sparse(self) -> bool:
        return allows_sparse(self.estimator)

    def _inner_models(self) -> Sequence[Any]:
        """Return the fitted estimators inside."""
        return [self.estimator_]

    @property
    def _needs_groups(self) -> bool:
        return any(needs_groups(model) for model in self._inner_models())

    def _check_rows(self, X, *, reset, needs_y=False, name="X") -> Any:
        """Check the shape of rows, whose values the estimators inside check."""
        if needs_y:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        check_sparse(X, name)
        if not hasattr(X, "iloc"):  # data frames keep the types of their columns
            accepted: Any = {"accept_sparse": "csr", "dtype": None}
            with naming(name):
                X = check_array(
                    X,
                    ensure_all_finite=False,
                    estimator=self,
                    input_name="X",
                    **accepted,
                )
        return read_only(validate_data(self, X, reset=reset, skip_check_array=True))

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
        return np.asarray(scores_of(model, X, groups), dtype=np.float64)

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
        return self._predict(self._check_rows(X, reset=False), groups)

    def _predict(self, X, groups=None) -> np.ndarray:
        raise NotImplementedError


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
        held_out = {f"{name}_val": values for name, values in validation.side.items()}
        held_out["X_val"] = named_rows(validation.X, validation.feature_names)
        held_out["y_val"] = validation.y
        held_out["groups_val"] = validation.groups
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
