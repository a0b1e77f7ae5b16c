"""Which columns of the rows hold names, as a fitted model takes them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin

from skrank._core._exact import values_of
from skrank._core._inner import without_searches
from skrank._core._levels import column_of, missing_in


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps of a fitted estimator in their order, those that do something.

    Parameters
    ----------
    estimator : estimator
        Ranker, pipeline or search; pipelines may stand in pipelines.

    Returns
    -------
    list of estimators
    """
    estimator = without_searches(estimator)
    if not hasattr(estimator, "steps"):
        return [estimator]
    found = []
    for _, step in estimator.steps:
        if step is not None and not isinstance(step, str):  # "passthrough"
            found += steps_of(step)
    return found


def keeps_columns(estimator: Any) -> bool:
    """Return whether the columns of the rows reach the last step in their places."""
    return all(isinstance(s, OneToOneFeatureMixin) for s in steps_of(estimator)[:-1])


def categorical_in(estimator: Any, d: int) -> np.ndarray:
    """Return which of the d columns of the rows a fitted estimator takes for names.

    Parameters
    ----------
    estimator : estimator
        Fitted ranker, pipeline or search, or anything else that predicts.
    d : int
        Number of columns.

    Returns
    -------
    ndarray of shape (d,), dtype bool
        Behind a step that does not keep the columns in their places, nothing is known.
    """
    mask = np.zeros(d, dtype=bool)
    for step in steps_of(estimator):
        own = _own_categories(step, d)
        if len(own) == d:
            mask |= own
        if not isinstance(step, OneToOneFeatureMixin):
            break
    return mask


def _own_categories(step: Any, d: int) -> np.ndarray:
    """Return which columns are names to one step; of none, an empty array."""
    if hasattr(step, "_inner_models"):
        parts = [categorical_in(model, d) for model in step._inner_models()]
        return np.any(parts, axis=0) if parts else np.zeros(0, dtype=bool)
    encoder = getattr(step, "encoder_", step)
    mask = getattr(encoder, "is_categorical_", None)
    if mask is None and hasattr(encoder, "levels_"):
        mask = np.isin(np.arange(d), getattr(encoder, "columns_", ()))
    return np.zeros(0, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)


def levels_as_given(
    estimator: Any,
    X: Any,
    reaching: Any,
    data: np.ndarray,
    chosen: Sequence[int] | slice = slice(None),
) -> np.ndarray | None:
    """Return values of features in which those of categorical columns are as given.

    Parameters
    ----------
    estimator : estimator
        Fitted ranker, pipeline or search.
    X : array-like of shape (n_documents, n_features)
        Rows, as the user has them.
    reaching : array-like of shape (n_documents, n_features_of_last_step)
        Rows, as they reach the last step.
    data : ndarray of shape (n_chosen, n_features_of_last_step)
        Numbers that this step makes of the chosen rows.
    chosen : sequence of int, default=slice(None)
        Rows that are wanted; all by default.

    Returns
    -------
    ndarray of shape (n_chosen, n_features_of_last_step), dtype object, or None
        Strings and numbers, None where a level is missing; None if there is no
        categorical column.
    """
    rows, model = reaching, steps_of(estimator)[-1]
    if keeps_columns(estimator):
        rows, model = X, estimator
    categorical = np.flatnonzero(categorical_in(model, data.shape[1]))
    if sparse.issparse(rows) or not len(categorical):
        return None
    if not hasattr(rows, "shape"):
        rows = np.asarray(rows, dtype=object)
    values = data.astype(object)
    for j in categorical.tolist():
        column = values_of(column_of(rows, j))[chosen]
        known = ~missing_in(column)
        values[:, j] = None
        values[known, j] = [_whole(level) for level in column[known].tolist()]
    return values


def _whole(level: Any) -> Any:
    """Return a number such as 7.0, which a number of a shop may have become, as 7."""
    whole = isinstance(level, float) and level.is_integer()
    return int(level) if whole else level
