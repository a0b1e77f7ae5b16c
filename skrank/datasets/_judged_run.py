"""Runs joined with judgements, so that measures give the values of trec_eval."""

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from numbers import Number
from typing import NamedTuple

import numpy as np

from skrank._core._best_first import best_first
from skrank._core._id_arrays import (
    comparable_ids,
    id_array,
    id_list,
    id_objects,
    in_order,
)
from skrank._core._ids import IdTable, join_ids
from skrank._core._messages import shown
from skrank._core._parameters import PositiveInt
from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_groups,
    check_hashable,
    check_no_missing_id,
    check_scores,
    n_rows,
)
from skrank.datasets._run_likes import QrelsLike, RunLike, qrels_and_run
from skrank.datasets._runs import Qrels, Run
from skrank.datasets._trec import in_single_precision


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """A run with its judgements, in the form that measures take.

    The documents of evaluated query ``q`` are rows ``ptr[q]:ptr[q + 1]``: the retrieved
    ones, best first in trec_eval's order, and after them those that were judged but not
    retrieved. With ``y``, ``scores`` and ``groups``, measures give trec_eval's values,
    in the case of documents of equal score under ``ties="docid"``, or
    ``preset="trec_eval"``, and ``docids``: a document of score −inf is outside of the
    ranking, so that it earns nothing but counts as a relevant document and in the ideal
    ranking, and a document with a masked grade is not relevant, and unknown to measures
    that compare judged documents only, such as bpref.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,), dtype str
        Evaluated queries in ascending order.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointers to the rows of each query.
    y : masked array of shape (n_documents,), dtype float64
        Relevance grades; masked, with 0 below the mask, where a document was not
        judged, which means no grade or a negative one in the qrels.
    scores : ndarray of shape (n_documents,), dtype float64
        Scores of the run, equal where trec_eval, which keeps single precision, cannot
        tell them apart; −inf where the document was not retrieved.
    groups : ndarray of shape (n_documents,), dtype str
        Query id of each document.
    docids : ndarray of shape (n_documents,), dtype object
        Document ids.
    unjudged_queries : ndarray of str
        Queries of the run that have no judgements; they are not evaluated.
    unretrieved_queries : ndarray of str
        Judged queries that the run lacks; they are evaluated only under ``complete``.
    """

    queries: np.ndarray
    ptr: np.ndarray
    y: np.ma.MaskedArray
    scores: np.ndarray
    groups: np.ndarray
    docids: np.ndarray
    unjudged_queries: np.ndarray
    unretrieved_queries: np.ndarray

    @property
    def judged(self) -> np.ndarray:
        """Whether each document was judged, shape (n_documents,), dtype bool."""
        return ~np.ma.getmaskarray(self.y)

    @property
    def retrieved(self) -> np.ndarray:
        """Whether the run has each document, shape (n_documents,), dtype bool."""
        return self.scores > -np.inf

    @property
    def missing_y(self) -> np.ndarray:
        """Grades of the documents that were judged but not retrieved."""
        return self.y.data[~self.retrieved]

    @property
    def missing_docids(self) -> np.ndarray:
        """Ids of the documents that were judged but not retrieved."""
        return self.docids[~self.retrieved]

    @property
    def missing_groups(self) -> np.ndarray:
        """Query id of each document that was judged but not retrieved."""
        return self.groups[~self.retrieved]

    @property
    def missing_ptr(self) -> np.ndarray:
        """Pointers to the documents of each query among those not retrieved."""
        return np.append(0, np.cumsum(_count(~self.retrieved, self.ptr)))

    @property
    def n_retrieved(self) -> np.ndarray:
        """Number of retrieved documents of each query, shape (n_queries,)."""
        return _count(self.retrieved, self.ptr)

    def n_relevant(self, level: float = 1.0) -> np.ndarray:
        """Count the relevant documents of each query, retrieved or not.

        Parameters
        ----------
        level : float, default=1.0
            Smallest grade that counts as relevant.

        Returns
        -------
        ndarray of shape (n_queries,), dtype intp
            Number of relevant documents.
        """
        check_arguments(JudgedRun.n_relevant, level=level)
        return _count(self.y.data >= level, self.ptr)

    def with_missing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays that measures take, and which documents were retrieved.

        Deprecated: the attributes hold all documents.

        Returns
        -------
        y, scores, groups : ndarrays of shape (n_documents,)
            The attributes of these names.
        retrieved : ndarray of shape (n_documents,), dtype bool
            Whether the run has the document.
        """
        warnings.warn(
            "JudgedRun.with_missing is deprecated: y, scores, groups and retrieved "
            "hold the documents that were not retrieved, too",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.y.data, self.scores, self.groups, self.retrieved


def judge_run(
    qrels: QrelsLike,
    run: RunLike,
    *,
    complete: bool = False,
    depth: PositiveInt | None = None,
) -> JudgedRun:
    """Join a run with judgements, so that measures give the values of trec_eval.

    Retrieved documents without a judgement, or with a negative one, count as not
    relevant. Judged documents that were not retrieved stand below all others and earn
    nothing, but recall and ideal rankings count them.

    Parameters
    ----------
    qrels : Qrels, mapping {query: {document: grade}}, data frame, path or other table
        Judgements, in any form that `skrank.metrics.evaluate` takes.
    run : Run, mapping {query: {document: score}}, data frame, path or other table
        Retrieved documents, likewise.
    complete : bool, default=False
        Whether judged queries that the run lacks are evaluated as well, with nothing
        retrieved (trec_eval's ``-c``).
    depth : int, default=None
        Number of best documents of each query to keep (trec_eval's ``-M``); None keeps
        all documents.

    Returns
    -------
    JudgedRun
        Documents with grades and scores, sorted by query and then in the order in which
        trec_eval ranks them.

    Raises
    ------
    ValueError
        If ``depth`` is not accepted, an id is missing, a document occurs twice for a
        query, no query is both judged and in the run, or no document can be, because
        the types of their ids differ.
    TypeError
        If the tables are of another kind, or the run comes first.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, O(m) for m judgements.

    Examples
    --------
    >>> from skrank.datasets import judge_run, load_qrels, load_run
    >>> from skrank.metrics import average_precision
    >>> qrels = load_qrels(b"q1 0 a 1\\nq1 0 b 2\\nq2 0 a 1\\n")
    >>> run = load_run(b"q1 Q0 c 1 0.9 x\\nq1 Q0 a 2 0.8 x\\n")
    >>> judged = judge_run(qrels, run)
    >>> judged.docids.tolist(), judged.scores.tolist()
    (['c', 'a', 'b'], [0.9, 0.8, -inf])
    >>> judged.y.tolist(), judged.n_relevant().tolist()
    ([None, 1.0, 2.0], [2])
    >>> average_precision(judged.y, judged.scores, groups=judged.groups)
    0.25
    >>> judged.unretrieved_queries.tolist()
    ['q2']
    """
    check_arguments(judge_run, complete=complete, depth=depth)
    joined = join_run(*qrels_and_run(qrels, run, "judge_run"), complete, depth)
    return JudgedRun(
        queries=id_array(joined.queries),
        ptr=joined.ptr,
        y=joined.y,
        scores=joined.scores,
        groups=id_array(joined.queries, np.diff(joined.ptr)),
        docids=joined.ids.take(np.arange(len(joined.y))),
        unjudged_queries=joined.unjudged_queries,
        unretrieved_queries=joined.unretrieved_queries,
    )


class JoinedRun(NamedTuple):
    """What `JudgedRun` holds; ids of documents and rows are not collected yet."""

    queries: list
    ptr: np.ndarray
    y: np.ma.MaskedArray
    scores: np.ndarray
    ids: IdTable
    unjudged_queries: np.ndarray
    unretrieved_queries: np.ndarray


def join_run(
    qrels: Qrels,
    run: Run,
    complete: bool = False,
    depth: int | None = None,
    *,
    ranked: bool = True,
) -> JoinedRun:
    """Join a run with judgements.

    Parameters
    ----------
    qrels : Qrels
        Judgements.
    run : Run
        Retrieved documents.
    complete : bool, default=False
        Whether judged queries that the run lacks belong to the result.
    depth : int, default=None
        Number of best documents of each query to keep, in trec_eval's order.
    ranked : bool, default=True
        Whether retrieved documents come in trec_eval's order, with equal scores where
        it cannot tell them apart. Otherwise they keep their order and their scores.

    Returns
    -------
    JoinedRun
    """
    scores = check_scores(run.scores, n_rows(run.groups), name="run.scores")
    grades = _grades_of(qrels)
    columns = _ids_of("qrels", qrels, grades), _ids_of("run", run, scores)
    queries, documents = (comparable_ids(*ids) for ids in zip(*columns))
    judged = _Side.of(queries[0], documents[0], grades)
    retrieved = _Side.of(queries[1], documents[1], scores)
    common = in_order(judged.numbers.keys() & retrieved.numbers.keys())
    if not common:
        raise ValueError(
            "no query is both in the qrels and in the run: the qrels have "
            f"{sample_of_ids(judged.numbers, 'queries')}, the run has "
            f"{sample_of_ids(retrieved.numbers, 'queries')}"
        )
    queries = in_order(judged.numbers) if complete else common
    documents = retrieved.rows_of(queries)
    order = None
    if ranked or depth is not None:
        documents, order = _in_order_of_trec_eval(documents, depth, ranked)
    ptr, grades, scores, ids = _join(documents, judged.rows_of(queries), queries, order)
    return JoinedRun(
        queries,
        ptr,
        np.ma.MaskedArray(np.maximum(grades, 0.0), mask=grades < 0),
        scores,
        ids,
        id_array(in_order(retrieved.numbers.keys() - judged.numbers.keys())),
        id_array(in_order(judged.numbers.keys() - retrieved.numbers.keys())),
    )


def _grades_of(qrels):
    grades = as_numbers(qrels.y, "qrels.y", "numeric relevance grades")
    if np.isnan(grades).any():
        row = int(np.flatnonzero(np.isnan(grades))[0])
        raise ValueError(f"qrels.y must hold grades; row {row} has none")
    return grades


def _ids_of(name: str, table: Qrels | Run, values: np.ndarray) -> tuple:
    """Return the ids of the queries and the documents of one side, checked."""
    queries = check_groups(table.groups, n_rows(values), name=f"{name}.groups")
    ids = as_ids(table.docids, f"{name}.docids", "document id")
    if len(ids) != len(queries):
        raise ValueError(f"{name}.docids has {len(ids)} ids for {len(queries)} rows")
    return queries, ids


def sample_of_ids(ids: Iterable, kind: str) -> str:
    """Return the first ids for a message, or that there are none of their kind."""
    known = in_order(set(ids))
    if not known:
        return f"no {kind}"
    return ", ".join(map(shown, known[:3])) + (", ..." if len(known) > 3 else "")


def refuse_other_types(retrieved: Collection, judged: Collection) -> None:
    """Raise an error if not one id can match, because the types of ids differ."""
    kinds = [{_kind(docid) for docid in ids} for ids in (retrieved, judged)]
    if all(kinds) and kinds[0].isdisjoint(kinds[1]):
        raise ValueError(
            "no document of the run is judged, because the types of ids differ: the "
            f"qrels have the documents {sample_of_ids(judged, 'documents')}, the "
            f"run has {sample_of_ids(retrieved, 'documents')}"
        )


def _kind(docid) -> type:
    """Type of an id, the same for ids that can be equal."""
    for kind in (str, bytes, Number):
        if isinstance(docid, kind):
            return kind
    return type(docid)


class _Rows(NamedTuple):
    """Documents of some queries with their scores or grades."""

    ptr: np.ndarray
    docids: np.ndarray
    values: np.ndarray


class _Side(NamedTuple):
    """A run, or judgements, with the number of each query among its own."""

    index: QueryIndex
    numbers: dict
    docids: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, queries, docids, values: np.ndarray) -> "_Side":
        """Group the rows of one side."""
        index = QueryIndex.from_groups(queries)
        numbers = {query: i for i, query in enumerate(id_list(index.ids))}
        return cls(index, numbers, index.take(id_objects(docids)), index.take(values))

    def rows_of(self, queries: list) -> _Rows:
        """Return the rows of some queries, none for those that it lacks."""
        if queries == list(self.numbers):
            return _Rows(self.index.ptr, self.docids, self.values)
        chosen = [self.numbers[query] for query in queries if query in self.numbers]
        rows, _ = rows_of_queries(self.index.ptr, np.array(chosen, dtype=np.intp))
        sizes = np.zeros(len(queries), dtype=np.intp)
        sizes[[query in self.numbers for query in queries]] = self.index.sizes[chosen]
        ptr = np.append(0, np.cumsum(sizes))
        return _Rows(ptr, self.docids[rows], self.values[rows])


def _in_order_of_trec_eval(
    documents: _Rows, depth: int | None, ranked: bool
) -> tuple[_Rows, np.ndarray | None]:
    """Find the order of documents, and leave out those below a depth.

    Returns
    -------
    documents : _Rows
        Documents, with values in the order to come.
    order : ndarray of shape (n_documents,) or None
        Row of each document in this order; None if they stand in it.
    """
    ptr = documents.ptr
    single = in_single_precision(documents.values)
    order = best_first(single, ptr, documents.docids)
    values = documents.values
    if ranked:
        values = _tied(values[order], single[order], ptr)
    if depth is None:  # moving numbers, once they are joined, is cheaper than ids
        return _Rows(ptr, documents.docids, values), order
    places = np.arange(len(order)) - np.repeat(ptr[:-1], np.diff(ptr))
    kept = places < depth
    order, values = order[kept], values[kept] if ranked else values
    ptr = np.append(0, np.cumsum(np.minimum(np.diff(ptr), depth)))
    if not ranked:
        order = np.sort(order)
        values = values[order]
    return _Rows(ptr, documents.docids[order], values), None


def _tied(scores: np.ndarray, single: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Replace ranked scores that are equal in single precision by their maximum."""
    if not len(scores):
        return scores
    new = np.ones(len(scores), dtype=bool)
    new[1:] = single[1:] != single[:-1]
    new[ptr[:-1][np.diff(ptr) > 0]] = True
    if new.all():
        return scores
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(scores)))
    return np.repeat(np.maximum.reduceat(scores, starts), sizes)


def _join(
    documents: _Rows, judged: _Rows, queries: list, order: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, IdTable]:
    """Join the two sides: the retrieved documents of a query, then the other ones."""
    lists = [documents.docids, judged.docids]
    pointers = np.array([documents.ptr, judged.ptr])
    try:
        joined = join_ids(lists, pointers)
    except TypeError:  # there is a list among the ids
        for name, ids in zip(("run", "qrels"), lists):
            check_hashable(ids, f"{name}.docids")
        raise
    (retrieved, graded), ptr, sources, _, all_strings, duplicate = joined
    if not all_strings:  # strings are never missing
        for name, ids in zip(("run", "qrels"), lists):
            check_no_missing_id(ids, f"{name}.docids", "document id")
    if duplicate is not None:
        side, entry = duplicate
        query = queries[int(np.searchsorted(pointers[side], entry, "right")) - 1]
        raise ValueError(
            f"{('run', 'qrels')[side]} holds document {shown(lists[side][entry])} a "
            f"second time for query {shown(query)}"
        )
    grades, scores = np.full(ptr[-1], -1.0), np.full(ptr[-1], -np.inf)
    grades[graded] = judged.values
    if len(retrieved) and len(graded) and len(retrieved) + len(graded) == ptr[-1]:
        refuse_other_types(*(ids.tolist() for ids in lists))
    # Minus infinity stands for documents that were not retrieved.
    scores[retrieved] = np.maximum(documents.values, -np.finfo(np.float64).max)
    if order is not None:
        moved = np.arange(len(grades))
        moved[retrieved] = retrieved[order]
        grades, sources = grades[moved], sources[moved]
    # What was neither retrieved nor judged, only pooled, is of no use.
    kept = (scores > -np.inf) | (grades >= 0)
    if not kept.all():
        ptr = np.append(0, np.cumsum(kept))[ptr]
        grades, scores, sources = grades[kept], scores[kept], sources[kept]
    return ptr, grades, scores, IdTable(lists, sources)


def _count(mask: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    return np.diff(np.r_[0, np.cumsum(mask, dtype=np.intp)][ptr])
