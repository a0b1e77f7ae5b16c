"""Pipelines that end in a ranker: their last step and the rows that it sees."""

from typing import Any

import sklearn

from skrank._core._inner import accepts


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted or not.

    Returns
    -------
    estimator
    """
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def rows_of_last_step(estimator: Any, X, groups) -> Any:
    """Return the rows as they reach the last step of a fitted pipeline.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted.
    X : array-like or CSR matrix of shape (n_documents, n_features)
        One row per document.
    groups : array-like of shape (n_documents,)
        The query of each row, handed to the steps that ask for it.

    Returns
    -------
    array-like of shape (n_documents, n_features_of_last_step)
        ``X`` itself if nothing comes before the last step.
    """
    if not hasattr(estimator, "steps") or len(estimator) == 1:
        return X
    before = estimator[:-1]
    metadata = {"groups": groups} if accepts(before, "transform", "groups") else {}
    # Pipelines pass arguments on to their steps by routing and by nothing else.
    with sklearn.config_context(enable_metadata_routing=True):
        return before.transform(X, **metadata)
