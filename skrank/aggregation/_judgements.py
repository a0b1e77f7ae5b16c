"""Judgements of the documents of joined runs."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from skrank._core._id_arrays import (
    comparable_ids,
    id_list,
    objects_of,
    rekeyed,
)
from skrank._core._informative import warn_of_data
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._validation import as_ids, as_numbers, check_grades, check_groups
from skrank.aggregation._joined import JoinedRuns, best_first
from skrank.datasets import Qrels
from skrank.metrics import BaseMeasure


class Judgements(NamedTuple):
    """Grades of the documents of joined runs, and of judged documents without a run.

    Attributes
    ----------
    grades : ndarray of shape (n_documents,)
        Relevance grades; 0 for documents that nobody judged.
    judged : ndarray of shape (n_queries,), dtype bool
        Whether the query has a judgement.
    missed : list of ndarray
        For each query, the grades of judged documents that no run retrieved.
    """

    grades: np.ndarray
    judged: np.ndarray
    missed: list[np.ndarray]


def judgements_of(joined: JoinedRuns, y: Any) -> Judgements:
    """Return the judgements of joined runs.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    y : Qrels, mapping or array-like of shape (n_documents,)
        Judgements, as `BaseAggregator.fit` takes them.

    Returns
    -------
    Judgements
        Grades in the order of the rows of ``joined``.

    Raises
    ------
    ValueError
        If grades are not valid or no query of the runs is judged.
    TypeError
        If the judgements are not of the kind that the runs need.
    """
    if joined._index is not None:
        if isinstance(y, Qrels | Mapping):
            raise TypeError("y must hold one grade per row if runs come as an array")
        of_rows = check_grades(y, n_samples=joined.n_documents)
        return Judgements(
            joined._index.take(of_rows),
            np.ones(joined.n_queries, dtype=bool),
            [np.empty(0)] * joined.n_queries,
        )
    if not isinstance(y, Qrels | Mapping):
        raise TypeError(
            "y must be Qrels or a dictionary {query: {document: grade}} if runs name "
            f"their documents, got {type(y).__name__}"
        )
    assert joined.docids is not None
    queries, docids = joined.queries, joined.docids
    if isinstance(y, Qrels):
        groups = check_groups(y.groups, len(y.y), name="y.groups")
        groups, queries = comparable_ids(groups, queries)
        names, docids = comparable_ids(as_ids(y.docids, "y.docids"), docids)
        tables = _tables_of_qrels(groups, names, y.y)
    else:
        tables = _tables_of_dict(y)
        groups, queries = comparable_ids(objects_of(tables), queries)
        names = objects_of(chain.from_iterable(tables.values()))
        names, docids = comparable_ids(names, docids)
        tables = rekeyed(tables, [groups, names], "y")
    asked = id_list(queries)
    judged = np.array([query in tables for query in asked], dtype=bool)
    if not judged.any():
        raise ValueError(
            f"no query of the runs is judged: the runs have {shown(asked[:3])}, y "
            f"has {shown(list(tables)[:3])}"
        )
    entries, bounds = id_list(docids), joined.ptr.tolist()
    grades: list[float] = []
    missed = []
    for query, a, b in zip(asked, bounds, bounds[1:]):
        left = dict(tables.get(query, {}))
        # What is found is taken out, so that the rest was retrieved by no run.
        grades += [left.pop(docid, 0.0) for docid in entries[a:b]]
        missed.append(np.maximum(np.fromiter(left.values(), np.float64, len(left)), 0))
    # A negative grade means pooled but not judged, which is not relevant.
    return Judgements(np.maximum(np.array(grades), 0.0), judged, missed)


def warn_of_judgements(owner: Any, judgements: Judgements) -> None:
    """Warn if no document of the runs is relevant, so that nothing is learned."""
    if len(judgements.grades) and not (judgements.grades > 0).any():
        missed = sum(int((own > 0).sum()) for own in judgements.missed)
        warn_of_data(
            f"{type(owner).__name__} learns nothing, because no document of the runs "
            f"is relevant: of their queries, y has {missed} relevant documents that no "
            "run retrieved; check whether y names documents as the runs do"
        )


def least_relevant_first(
    joined: JoinedRuns, judgements: Judgements
) -> tuple[JoinedRuns, Judgements]:
    """Return runs of an array, and their judgements, by rising grades in each query.

    Documents without ids are ranked in the order of the rows where scores are equal,
    and rows of judged data often come by falling grades, which is no merit of a run.
    """
    codes = np.repeat(np.arange(joined.n_queries), joined.sizes)
    order = np.lexsort((judgements.grades, codes))
    scores = np.asfortranarray(joined.scores[order])
    return (
        replace(joined, _matrix=scores, _index=None),
        judgements._replace(grades=judgements.grades[order]),
    )


def _tables_of_qrels(groups: np.ndarray, docids: np.ndarray, y: np.ndarray) -> dict:
    index = QueryIndex.from_groups(groups)
    entries, grades = id_list(index.take(docids)), index.take(y).tolist()
    bounds = index.ptr.tolist()
    return {
        query: dict(zip(entries[a:b], grades[a:b]))
        for query, a, b in zip(id_list(index.ids), bounds, bounds[1:])
    }


def _tables_of_dict(y: Mapping) -> dict:
    tables = {}
    for query, table in y.items():
        if not isinstance(table, Mapping):
            raise TypeError(
                "y must be {query: {document: grade}}, found "
                f"{shown(table)} in place of {{document: grade}}"
            )
        grades = as_numbers(list(table.values()), "y", "numeric relevance grades")
        if not np.isfinite(grades).all():
            raise ValueError(
                f"y must hold finite grades; query {shown(query)} does not"
            )
        tables[query] = dict(zip(table, grades.tolist()))
    return tables


class JudgedDocuments:
    """All judged queries of joined runs, in the form that measures take.

    Behind the joined documents of a query stand those that no run retrieved.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    judgements : Judgements
        Their judgements.
    """

    def __init__(self, joined: JoinedRuns, judgements: Judgements):
        self._ptr, self._docids = joined.ptr, joined.docids
        chosen = np.flatnonzero(judgements.judged)
        n_missed = np.array([len(missed) for missed in judgements.missed])[chosen]
        self._rows, own = rows_of_queries(joined.ptr, chosen)
        shifts = np.repeat(np.cumsum(n_missed) - n_missed, np.diff(own))
        self.ptr = own + np.append(0, np.cumsum(n_missed))
        self._places = np.arange(len(self._rows)) + shifts
        self.y = np.empty(int(self.ptr[-1]))
        self.y[self._places] = judgements.grades[self._rows]
        behind = np.ones(len(self.y), dtype=bool)
        behind[self._places] = False
        self.y[behind] = np.concatenate([judgements.missed[q] for q in chosen])

    def measure(self, measure: BaseMeasure, scores: np.ndarray) -> float:
        """Return the mean of a measure over the judged queries.

        Parameters
        ----------
        measure : BaseMeasure
            Measure of rankings.
        scores : ndarray of shape (n_documents,)
            Score of each joined document; −inf or NaN where it is not retrieved.

        Returns
        -------
        float
            Mean over the queries in which the measure is defined; NaN if there is none.
        """
        found = scores > -np.inf
        rows = best_first(np.where(found, scores, -np.inf), self._ptr, self._docids)
        # Places stand for scores, so that ties are those of the fused run.
        placed = np.empty(len(scores))
        placed[rows] = -np.arange(len(scores), dtype=np.float64)
        all_scores = np.full(len(self.y), -np.inf)
        all_scores[self._places] = np.where(found, placed, -np.inf)[self._rows]
        values = measure.per_query(self.y, all_scores, self.ptr)
        # In the order of the values, so that the order of the queries does not matter.
        return measure.mean(np.sort(values)) if not np.isnan(values).all() else np.nan


def measured_runs(
    joined: JoinedRuns, judgements: Judgements, measure: BaseMeasure
) -> np.ndarray:
    """Return the mean of a measure over the judged queries, for each run.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    judgements : Judgements
        Their judgements.
    measure : BaseMeasure
        Measure of rankings.

    Returns
    -------
    ndarray of shape (n_runs,)

    Raises
    ------
    ValueError
        If the measure is defined for no query.
    """
    documents = JudgedDocuments(joined, judgements)
    # Ranks break the ties of scores as aggregators break them.
    values = np.array([documents.measure(measure, -r) for r in joined.ranks.T])
    if np.isnan(values).any():
        raise ValueError(
            f"{measure.name} is defined for no judged query of the runs; training "
            "queries need relevant documents"
        )
    return values
