"""Warning about queries that are both trained on and tested on."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._config import get_config
from skrank._core._id_arrays import comparable_ids, id_list
from skrank._core._parameters import PositiveInt
from skrank._core._queries import QueryIndex
from skrank._core._times import check_times
from skrank._core._validation import as_ids, check_arguments, check_groups

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


def last_times(times: np.ndarray, index: QueryIndex) -> np.ndarray:
    """Return the time of the last row of each query, shape (n_queries,)."""
    return np.maximum.reduceat(index.take(times), index.ptr[:-1])


def _all_later(times, index: QueryIndex, ranker: Any) -> set[Any]:
    """Return the scored queries whose rows are no earlier than those of training."""
    known = getattr(ranker, "query_times_", None)
    if times is None or known is None or len(known) != len(ranker.query_ids_):
        return set()
    first = np.minimum.reduceat(index.take(times), index.ptr[:-1])
    kinds = {first.dtype.kind, known.dtype.kind}
    if len(kinds) > 1 and kinds & {"m", "M"}:
        return set()  # dates and numbers do not compare
    ids, own = comparable_ids(index.ids, ranker.query_ids_)
    trained = dict(zip(id_list(own), range(len(known))))
    return {
        query
        for query, time in zip(id_list(ids), first)
        if query in trained and time >= known[trained[query]]
    }


def check_query_leakage(
    estimator: Any,
    groups: npt.ArrayLike,
    *,
    times: npt.ArrayLike | None = None,
    stacklevel: PositiveInt = 3,
) -> None:
    """Warn if some of the scored queries were in the training data.

    The rule compares ids and numbers of rows of queries, and times where they are
    known:

    - no scored query was trained on: nothing to say;
    - the scored queries are exactly the training queries, each with as many rows as in
      training: that is a training score, asked for on purpose (``return_train_score``,
      learning curves, ``ranker.score(X_train, ...)``), and stays silent;
    - the ranker was fitted with ``times``, and no scored row of a shared query is
      earlier than the last training row of that query: that is a split by time, as from
      `skrank.model_selection.TemporalQuerySplit`, and stays silent;
    - anything else, such as rows of one query on both sides of a `KFold` or a test file
      that repeats some training queries: `QueryLeakageWarning`.

    Estimators that do not keep ``query_ids_`` and ``query_sizes_`` are not checked. Nor
    is anything under ``config_context(check_leakage=False)``, and under
    ``config_context(assume_single_query=True)``, where ids carry no information.
    Complexity: O(n) when the rows of a query are adjacent.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker, or a pipeline or search around one.
    groups : array-like of shape (n_samples,)
        Query id of each scored row.
    times : array-like of shape (n_samples,), default=None
        Time of each scored row, as numbers or dates.
    stacklevel : int, default=3
        As in `warnings.warn`; 3 points to the caller of the caller.

    Warns
    -----
    QueryLeakageWarning
        With the number of shared queries and the first of them.
    """
    check_arguments(check_query_leakage, stacklevel=stacklevel)
    ranker = fitted_ranker(estimator)
    trained_ids = getattr(ranker, "query_ids_", None)
    config = get_config()
    if trained_ids is None or config["assume_single_query"]:
        return
    if not config["check_leakage"]:
        return
    ids = as_ids(groups)
    index = QueryIndex.from_groups(check_groups(ids, len(ids)))
    known = None if times is None else check_times(times, len(ids))
    of_rows, of_ranker = map(id_list, comparable_ids(index.ids, trained_ids))
    scored = dict(zip(of_rows, index.sizes.tolist()))
    trained = dict(zip(of_ranker, ranker.query_sizes_.tolist()))
    shared = [query for query in scored if query in trained]
    if not shared or _is_training_data(scored, trained):
        return
    later = _all_later(known, index, ranker)
    shared = [query for query in shared if query not in later]
    if shared:
        _warn(shared, len(scored), type(ranker).__name__, stacklevel + 1)


def _warn(shared: list[Any], n_scored: int, name: str, stacklevel: int) -> None:
    shown = ", ".join(repr(query) for query in shared[:_SHOWN])
    more = ", ..." if len(shared) > _SHOWN else ""
    warnings.warn(
        f"{len(shared)} of the {n_scored} scored queries ({shown}{more}) were in "
        f"the training data of {name}, so the score is too good. "
        "Split by query (skrank.model_selection.QueryKFold, train_test_query_split); "
        "if these are different queries, give them ids of their own. Where rows are "
        "split by time on purpose, pass times to fit and to the scoring, or switch the "
        "check off by skrank.config_context(check_leakage=False).",
        QueryLeakageWarning,
        stacklevel=stacklevel,
    )
