"""Evaluate a measure on grades, scores and queries as users hold them."""

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import UndefinedMetricWarning

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
from skrank.metrics._binary_measures import BinaryMeasure
from skrank.metrics._function_measure import FunctionMeasure
from skrank.metrics._ranked_documents import RankedDocuments
from skrank.metrics._registry import get_measure
from skrank.metrics._row_arguments import check_row_arguments, refuse_unused, rows_for


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
    measure: BaseMeasure,
    y: np.ndarray,
    y_score: np.ndarray,
    ptr: np.ndarray,
    *,
    documents: RankedDocuments | None = None,
    **options: Any,
) -> np.ndarray:
    """Evaluate a measure on each query, and warn if its rule for empty ones is all.

    Parameters
    ----------
    measure : BaseMeasure
        Measure. If its ``empty_query`` is a number, it would otherwise be returned
        without a sign that no query was measured.
    y, y_score, ptr, **options
        As in `BaseMeasure.per_query`.
    documents : RankedDocuments, default=None
        The same documents as several measures see them; then there are no options.

    Returns
    -------
    ndarray of shape (n_queries,)
        Values, as from `BaseMeasure.per_query`.

    Warns
    -----
    UndefinedMetricWarning
        If there are several queries, none of which carries information, or a measure of
        binary relevance finds all documents of all of them relevant.
    """
    _warn_all_relevant(measure, y, y_score, ptr, stacklevel=4)

    def values_of(measure):
        if documents is not None:
            return measure._of_documents(documents)
        return measure.per_query(y, y_score, ptr, **options)

    if isinstance(measure.empty_query, str):
        return values_of(measure)
    measure._check_parameters()
    skipping = copy.copy(measure)
    skipping.empty_query = "skip"
    values = values_of(skipping)
    if len(values) > 1 and np.isnan(values).all():
        measure._warn_undefined(stacklevel=4)
    return measure._fill_empty(values)


_FIRST = 1000


def _warn_all_relevant(measure, y, y_score, ptr, stacklevel):
    """Warn where every ranking is as good as any other, as with ratings from 1 to 5."""
    if not isinstance(measure, BinaryMeasure) or len(ptr) < 3:
        return
    measure._check_parameters()
    grades = np.asarray(y)  # 0 below a mask
    # Nearly always the first documents tell.
    for part in (grades[:_FIRST], grades):
        if not len(part) or not measure._relevant(part).all():
            return
    if grades.min() == grades.max() or np.isneginf(y_score).any():
        return
    if (ptr[1:] - ptr[:-1]).max() > 1:
        warnings.warn(
            f"{measure.name} finds every document of every query relevant, so that all "
            "rankings are equally good; set relevance_level, as in 'map(rel=4)'",
            UndefinedMetricWarning,
            stacklevel=stacklevel,
        )


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


def mean_over_queries(
    measure: BaseMeasure,
    y: np.ndarray,
    y_score: np.ndarray,
    groups: np.ndarray,
    sample_weight: np.ndarray | None = None,
    row_arguments: Mapping[str, np.ndarray] | None = None,
) -> float:
    """Return the mean of a measure over queries of checked rows, in any order.

    Parameters
    ----------
    measure : BaseMeasure
        Measure. A function that takes groups is called once, with all rows.
    y, y_score : ndarray of shape (n_documents,)
        Grades and scores.
    groups : ndarray of shape (n_documents,)
        Query of each row.
    sample_weight : ndarray of shape (n_documents,), default=None
        Row weights.
    row_arguments : dict of str to ndarray, default=None
        Row-aligned arguments; the measure gets those that it takes.

    Returns
    -------
    float
    """
    given = row_arguments or {}
    if isinstance(measure, FunctionMeasure) and measure.takes_groups:
        own = {name: given[name] for name in measure._row_names() if name in given}
        return measure._of_all_rows(y, y_score, groups, sample_weight, own)
    index = QueryIndex.from_groups(groups)
    rows = rows_for(measure, given, index)
    values = values_of_queries(
        measure, index.take(y), index.take(y_score), index.ptr, **rows
    )
    return measure.mean(values, query_weights(index.take(sample_weight), index.ptr))


def evaluate_measure(
    measure: str | BaseMeasure | Callable,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    preset: str | None = None,
    docids: npt.ArrayLike | None = None,
    row_arguments: Mapping[str, Any] | None = None,
    per_query: bool = False,
    n_jobs: NThreads = None,
) -> float | np.ndarray:
    """Evaluate a measure that is given by name, as an object or as a function.

    Parameters
    ----------
    measure : str, BaseMeasure or callable
        A measure, its name, such as ``"ndcg@10"``, or a function
        ``f(y_true, y_score)`` of one query; see `get_measure`.
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
    row_arguments : dict of str to array-like, default=None
        What else the measure needs, with one entry per row, by name.
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
        level, or if all grades reach it though they differ.

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
        row_arguments=row_arguments,
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
    row_arguments: Mapping[str, Any] | None = None,
    per_query: bool = False,
    n_jobs: NThreads = None,
) -> float | np.ndarray:
    """Evaluate a measure for a function, which error messages name as the caller."""
    check_options(evaluate_for, locals(), caller=caller)
    y = check_judgements(y_true, name="y_true")
    scores = check_scores(y_score, len(y))
    weight = check_weights(sample_weight, len(y))
    names = check_docids(docids, len(y))
    extra = check_row_arguments(row_arguments, len(y))
    refuse_unused(extra, [measure])
    ids = resolve_groups(groups, y_true, y_score, n_samples=len(y), caller=caller)
    if isinstance(measure, FunctionMeasure) and measure.takes_groups and not per_query:
        return mean_over_queries(measure, y, scores, ids, weight, extra)
    queries = QueryIndex.from_groups(ids)
    values = values_of_queries(
        measure,
        queries.take(y),
        queries.take(scores),
        queries.ptr,
        docids=queries.take(names),
        n_threads=n_jobs,
        **rows_for(measure, extra, queries),
    )
    if per_query:
        if measure.empty_query == "skip" and np.isnan(values).all():
            measure._warn_undefined(stacklevel=3)
        return _by_query_id(values, queries.ids)
    return measure.mean(values, query_weights(queries.take(weight), queries.ptr))
