"""Pipelines that end in a ranker: their last step and the rows that it sees."""

from typing import Any

import sklearn
from sklearn.utils.validation import check_is_fitted

from skrank._core._inner import accepts, without_searches
from skrank._core._messages import shown
from skrank._core._validation import naming


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself.

    Parameters
    ----------
    estimator : estimator, Pipeline or search
        Fitted or not; a pipeline may end in another one, or in a fitted search, whose
        best estimator counts.

    Returns
    -------
    estimator
    """
    estimator = without_searches(check_is_estimator(estimator))
    while hasattr(estimator, "steps"):
        estimator = estimator[-1]
    return estimator


def check_is_estimator(estimator: Any) -> Any:
    """Return an argument; raise a TypeError unless it is an estimator."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator must be an estimator, got {shown(estimator)}")
    return estimator


def fitted_last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself, if it is fitted."""
    last = last_step(estimator)
    with naming("estimator"):
        check_is_fitted(last)
    return last


def rows_of_last_step(estimator: Any, X, groups) -> Any:
    """Return the rows as they reach the last step of a fitted pipeline.

    Parameters
    ----------
    estimator : estimator, Pipeline or search
        Fitted; a pipeline may end in another one or in a search.
    X : array-like or CSR matrix of shape (n_documents, n_features)
        One row per document.
    groups : array-like of shape (n_documents,)
        The query of each row, handed to the steps that ask for it.

    Returns
    -------
    array-like of shape (n_documents, n_features_of_last_step)
        ``X`` itself if nothing comes before the last step.
    """
    estimator = without_searches(estimator)
    while hasattr(estimator, "steps"):
        if len(estimator) > 1:
            X = _transformed(estimator[:-1], X, groups)
        estimator = estimator[-1]
    return X


def _transformed(before, X, groups):
    metadata = {"groups": groups} if accepts(before, "transform", "groups") else {}
    # Pipelines pass arguments on to their steps by routing and by nothing else.
    with sklearn.config_context(enable_metadata_routing=True):
        return before.transform(X, **metadata)
