"""Evaluate a measure on grades, scores and queries as users hold them."""

import copy

import numpy as np
import numpy.typing as npt

from skrank._core._parameters import NThreads
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_ids,
    check_grades,
    check_hashable,
    check_no_missing_id,
    check_options,
    check_scores,
    check_weights,
    resolve_groups,
)
from skrank.metrics._base import BaseMeasure, query_weights
from skrank.metrics._registry import get_measure


def _by_query_id(values, ids):
    """Values in ascending order of query id, as they are if ids do not compare."""
    try:
        return values[np.argsort(ids, kind="stable")]
    except TypeError:
        return values


def check_judgements(
    y: npt.ArrayLike, *, name: str = "y", n_samples: int | None = None
) -> np.ndarray:
    """Check grades that may be masked where nobody judged the document.

    Parameters
    ----------
    y : array-like or masked array of shape (n_documents,)
        Grades.
    name : str, default="y"
        Name of the argument in error messages.
    n_samples : int, default=None
        Expected number of grades, if it is known.

    Returns
    -------
    ndarray or masked array of shape (n_documents,), dtype float64
        Grades, masked as they were, with 0 below the mask.
    """
    if not np.ma.isMaskedArray(y):
        return check_grades(y, name=name, n_samples=n_samples)
    grades = check_grades(np.ma.filled(y, 0), name=name, n_samples=n_samples)
    return np.ma.MaskedArray(grades, mask=np.ma.getmaskarray(y).ravel())


def values_of_queries(
    measure: BaseMeasure, y: np.ndarray, y_score: np.ndarray, ptr: np.ndarray, **options
) -> np.ndarray:
    """Evaluate a measure on each query, and warn if its rule for empty ones is all.

    Parameters
    ----------
    measure : BaseMeasure
        Measure. If its ``empty_query`` is a number, it would otherwise be returned
        without a sign that no query was measured.
    y, y_score, ptr, **options
        As in `BaseMeasure.per_query`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Values, as from `BaseMeasure.per_query`.

    Warns
    -----
    UndefinedMetricWarning
        If there are several queries, none of which carries information.
    """
    if isinstance(measure.empty_query, str):
        return measure.per_query(y, y_score, ptr, **options)
    measure._check_parameters()
    skipping = copy.copy(measure)
    skipping.empty_query = "skip"
    values = skipping.per_query(y, y_score, ptr, **options)
    if len(values) > 1 and np.isnan(values).all():
        measure._warn_undefined(stacklevel=4)
    return measure._fill_empty(values)


def check_docids(docids: npt.ArrayLike | None, n_samples: int) -> np.ndarray | None:
    """Return one document id per row as an array, or None if there are none."""
    if docids is None:
        return None
    ids = as_ids(docids, "docids", "document id")
    if len(ids) != n_samples:
        raise ValueError(
            f"docids must hold one id per row: found shape {ids.shape} for "
            f"{n_samples} rows"
        )
    check_no_missing_id(ids, "docids", "document id")
    check_hashable(ids, "docids")
    return ids


def evaluate_measure(
    measure: str | BaseMeasure,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    preset: str | None = None,
    docids: npt.ArrayLike | None = None,
    per_query: bool = False,
    n_jobs: NThreads = None,
) -> float | np.ndarray:
    """Evaluate a measure that is given by name or as an object.

    Parameters
    ----------
    measure : str or BaseMeasure
        A measure or its name, such as ``"ndcg@10"``; see `get_measure`.
    y_true : array-like of shape (n_documents,)
        Grades, finite and not negative; masked where nobody judged the document.
    y_score : array-like of shape (n_documents,)
        Scores, higher is better; −inf for documents that were not retrieved.
    groups : array-like of shape (n_documents,), default=None
        Query id of each row. None reads a pandas index level "qid" of ``y_true``.
    sample_weight : array-like of shape (n_documents,), default=None
        Row weights; a query has the mean weight of its rows.
    preset : str, default=None
        Conventions for what a name leaves open, a key of `PRESETS`.
    docids : array-like of shape (n_documents,), default=None
        Document ids for ``ties="docid"``.
    per_query : bool, default=False
        Whether to return one value per query, in ascending order of query id.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Mean over queries, or the value of each.

    Raises
    ------
    ValueError
        If lengths differ, grades or scores are not valid, or groups are missing.

    Warns
    -----
    UndefinedMetricWarning
        If no query carries information, such as when no grade reaches the relevance
        level.

    Examples
    --------
    >>> from skrank.metrics import evaluate_measure
    >>> evaluate_measure("map", [1, 0, 1], [3, 2, 1], groups=["a", "a", "b"])
    1.0
    """
    check_options(evaluate_measure, locals())
    return evaluate_for(
        "evaluate_measure",
        get_measure(measure, preset),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        docids=docids,
        per_query=per_query,
        n_jobs=n_jobs,
    )


def evaluate_for(
    caller: str,
    measure: BaseMeasure,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    docids: npt.ArrayLike | None = None,
    per_query: bool = False,
    n_jobs: NThreads = None,
) -> float | np.ndarray:
    """Evaluate a measure for a function, which error messages name as the caller."""
    check_options(evaluate_for, locals(), caller=caller)
    y = check_judgements(y_true, name="y_true")
    scores = check_scores(y_score, len(y))
    weight = check_weights(sample_weight, len(y))
    names = check_docids(docids, len(y))
    ids = resolve_groups(groups, y_true, y_score, n_samples=len(y), caller=caller)
    queries = QueryIndex.from_groups(ids)
    values = values_of_queries(
        measure,
        queries.take(y),
        queries.take(scores),
        queries.ptr,
        docids=queries.take(names),
        n_threads=n_jobs,
    )
    if per_query:
        if measure.empty_query == "skip" and np.isnan(values).all():
            measure._warn_undefined(stacklevel=3)
        return _by_query_id(values, queries.ids)
    return measure.mean(values, query_weights(queries.take(weight), queries.ptr))
