"""Warning about queries that are both trained on and tested on."""

import warnings
from typing import Any

import numpy as np

from skrank._core._config import get_config
from skrank._core._queries import QueryIndex
from skrank._core._validation import as_ids, check_groups

_SHOWN = 3  # so many shared queries are named in the warning
# Where searches and wrappers keep the estimator that they have fitted.
_WRAPPED = ("best_estimator_", "estimator_", "regressor_")


class QueryLeakageWarning(UserWarning):
    """A ranker is scored on queries of its training data."""


def fitted_ranker(estimator: Any) -> Any:
    """Return the fitted estimator inside pipelines, searches and other wrappers.

    Parameters
    ----------
    estimator : estimator
        Anything with ``predict``.

    Returns
    -------
    estimator
        The innermost one found through ``steps``, ``best_estimator_``, ``estimator_``
        or ``regressor_``; the first on the way that keeps its training queries.
    """
    while not hasattr(estimator, "query_ids_"):
        if getattr(estimator, "steps", None):
            inner = estimator.steps[-1][1]
        else:
            held = (getattr(estimator, name, None) for name in _WRAPPED)
            inner = next((part for part in held if part is not None), None)
        if inner is None:
            break
        estimator = inner
    return estimator


def _is_training_data(scored, trained):
    """Whether all training queries are scored, each with the rows it had."""
    return scored.keys() == trained.keys() and all(
        trained[query] in (0, size)  # 0 where a ranker knows only the ids
        for query, size in scored.items()
    )


def check_query_leakage(
    estimator: Any, groups: np.ndarray, *, stacklevel: int = 3
) -> None:
    """Warn if some of the scored queries were in the training data.

    The rule compares ids and numbers of rows of queries:

    - no scored query was trained on: nothing to say;
    - the scored queries are exactly the training queries, each with as many rows as in
      training: that is a training score, asked for on purpose (``return_train_score``,
      learning curves, ``ranker.score(X_train, ...)``), and stays silent;
    - anything else, such as rows of one query on both sides of a `KFold` or a test file
      that repeats some training queries: `QueryLeakageWarning`.

    Estimators that do not keep ``query_ids_`` and ``query_sizes_`` are not checked, nor
    is anything under ``config_context(assume_single_query=True)``, where ids carry no
    information. Complexity: O(n) when the rows of a query are adjacent.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker, or a pipeline or search around one.
    groups : ndarray of shape (n_samples,)
        Query id of each scored row.
    stacklevel : int, default=3
        As in `warnings.warn`; 3 points to the caller of the caller.

    Warns
    -----
    QueryLeakageWarning
        With the number of shared queries and the first of them.
    """
    ranker = fitted_ranker(estimator)
    trained_ids = getattr(ranker, "query_ids_", None)
    if trained_ids is None or get_config()["assume_single_query"]:
        return
    ids = as_ids(groups)
    index = QueryIndex.from_groups(check_groups(ids, len(ids)))
    scored = dict(zip(index.ids.tolist(), index.sizes.tolist()))
    trained = dict(zip(trained_ids.tolist(), ranker.query_sizes_.tolist()))
    shared = [query for query in scored if query in trained]
    if not shared or _is_training_data(scored, trained):
        return
    shown = ", ".join(repr(query) for query in shared[:_SHOWN])
    more = ", ..." if len(shared) > _SHOWN else ""
    warnings.warn(
        f"{len(shared)} of the {len(scored)} scored queries ({shown}{more}) were in "
        f"the training data of {type(ranker).__name__}, so the score is too good. "
        "Split by query (skrank.model_selection.QueryKFold, train_test_query_split); "
        "if these are different queries, give them ids of their own.",
        QueryLeakageWarning,
        stacklevel=stacklevel,
    )
