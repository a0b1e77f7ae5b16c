"""TREC files: judgements (qrels), ranked results (runs), and runs with judgements.

A line of a qrels file is ``query iteration document grade``, a line of a run
``query Q0 document rank score tag``. Fields are separated by any number of blanks.
Blank lines and lines whose first character is ``#`` are passed over, as trec_eval does.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._letor import ParseError, parse_fields, parse_numbers
from skrank._core._parameters import PositiveInt
from skrank._core._queries import QueryIndex
from skrank._core._validation import check_arguments, check_scores, n_rows
from skrank.datasets._container import as_text_list, string_ids
from skrank.datasets._letor import line_of
from skrank.datasets._source import Source, open_for_writing, open_text, source_name


@dataclass(frozen=True, eq=False)
class Qrels:
    """Relevance judgements, one row per judged document.

    Attributes
    ----------
    groups : ndarray of shape (n,), dtype str
        Query id of each row.
    docids : ndarray of shape (n,), dtype object
        Document ids.
    y : ndarray of shape (n,), dtype float64
        Relevance grades; a negative grade means that the document was pooled but not
        judged.
    """

    groups: np.ndarray
    docids: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class Run:
    """Retrieved documents of a system, one row each, in the order of the file.

    Attributes
    ----------
    groups : ndarray of shape (n,), dtype str
        Query id of each row.
    docids : ndarray of shape (n,), dtype object
        Document ids.
    scores : ndarray of shape (n,), dtype float64
        Scores, higher is better. They alone order the documents; ranks are ignored.
    tag : str
        Name of the run, taken from its first line.
    """

    groups: np.ndarray
    docids: np.ndarray
    scores: np.ndarray
    tag: str


def _strings(text: Any, starts: np.ndarray, lengths: np.ndarray) -> list[str]:
    """Return the strings at some spans of a text."""
    raw = bytes(text)
    spans = zip(starts.tolist(), (starts + lengths).tolist())
    if raw.isascii():
        characters = raw.decode("ascii")
        return [characters[a:b] for a, b in spans]
    return [raw[a:b].decode("utf-8", errors="surrogateescape") for a, b in spans]


def _objects(strings: list[str]) -> np.ndarray:
    array = np.empty(len(strings), dtype=object)
    array[:] = strings
    return array


def _read(
    source: Source, layout: str, number_field: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Return query ids, document ids and numbers of a TREC file, and its first tag."""
    fields = layout.split()
    with open_text(source) as text:
        try:
            starts, lengths = parse_fields(text, len(fields))
            if not len(starts):
                raise ValueError(f"{source_name(source)} has no lines '{layout}'")
            numbers = parse_numbers(
                text, starts[:, number_field], lengths[:, number_field]
            )
        except ParseError as error:
            raise _explain(error, text, source, layout, number_field) from None
        queries = _strings(text, starts[:, 0], lengths[:, 0])
        docids = _objects(_strings(text, starts[:, 2], lengths[:, 2]))
        tag = _strings(text, starts[:1, -1], lengths[:1, -1])[0]
        groups = string_ids(queries)
        duplicate = _first_duplicate(groups, docids)
        if duplicate is not None:
            line = line_of(text, int(starts[duplicate, 0]))
            raise ValueError(
                f"{source_name(source)}, line {line}: document {docids[duplicate]!r} "
                f"occurs a second time for query {queries[duplicate]!r}"
            )
    return groups, docids, numbers, tag


def _explain(
    error: ParseError, text: Any, source: Source, layout: str, number_field: int
) -> ValueError:
    """Return the error that tells where a TREC file is malformed and how."""
    end = text.find(b"\n", error.offset)
    words = bytes(text[error.offset : end if end >= 0 else len(text)]).split()
    line = line_of(text, error.offset)
    if error.reason == "too_few_fields":
        problem = (
            f"expected {len(layout.split())} fields '{layout}', found {len(words)}"
        )
    else:
        found = words[0].decode("utf-8", errors="replace")
        problem = (
            f"expected a finite number as {layout.split()[number_field]}, "
            f"found {found!r}"
        )
    return ValueError(f"{source_name(source)}, line {line}: {problem}")


def _first_duplicate(groups: np.ndarray, docids: np.ndarray) -> int | None:
    """Return the first row whose query and document occurred before, or None."""
    # The lines of a query need not be adjacent, and sets of whole queries are compared
    # first: a Python loop over rows is left to the queries that have a duplicate.
    index = QueryIndex.from_groups(groups)
    grouped, ptr = index.take(docids).tolist(), index.ptr.tolist()
    rows = []
    for a, b in pairwise(ptr):
        if len(set(grouped[a:b])) < b - a:
            seen: set = set()
            for i in range(a, b):
                if grouped[i] in seen:
                    rows.append(i if index.order is None else int(index.order[i]))
                    break
                seen.add(grouped[i])
    return min(rows, default=None)


def load_qrels(source: Source) -> Qrels:
    """Load TREC relevance judgements.

    Parameters
    ----------
    source : str, path, file object or bytes
        Lines ``query iteration document grade``, possibly compressed by gzip or bzip2.
        The iteration is not used, and text after the grade is not read.

    Returns
    -------
    Qrels
        Judgements, as arrays ``groups``, ``docids`` and ``y`` of shape (n_judgements,).

    Raises
    ------
    ValueError
        If a line has too few fields, a grade is not a finite number, or a document is
        judged twice for a query. The message names the file and the line.

    Examples
    --------
    >>> from skrank.datasets import load_qrels
    >>> qrels = load_qrels(b"301 0 FR94-1 1\\n301 0 FR94-2 0\\n")
    >>> qrels.groups.tolist(), qrels.docids.tolist(), qrels.y.tolist()
    (['301', '301'], ['FR94-1', 'FR94-2'], [1.0, 0.0])
    """
    groups, docids, grades, _ = _read(source, "query iteration document grade", 3)
    return Qrels(groups, docids, grades)


def load_run(source: Source) -> Run:
    """Load a TREC run: the documents that a system retrieved.

    Parameters
    ----------
    source : str, path, file object or bytes
        Lines ``query Q0 document rank score tag``, possibly compressed by gzip or
        bzip2. As in trec_eval, documents are ordered by the score rather than the rank,
        and text after the tag is not read.

    Returns
    -------
    Run
        Retrieved documents, as arrays ``groups``, ``docids`` and ``scores`` of shape
        (n_retrieved,) in the order of the file, and the ``tag`` of its first line.

    Raises
    ------
    ValueError
        If a line has too few fields, a score is not a finite number, or a document is
        retrieved twice for a query. The message names the file and the line.

    Examples
    --------
    >>> from skrank.datasets import load_run
    >>> run = load_run(b"301 Q0 FR94-1 1 2.5 bm25\\n301 Q0 FR94-9 2 1.5 bm25\\n")
    >>> run.docids.tolist(), run.scores.tolist(), run.tag
    (['FR94-1', 'FR94-9'], [2.5, 1.5], 'bm25')
    """
    return Run(*_read(source, "query Q0 document rank score tag", 4))


def _plain(number: float) -> str:
    """Return the shortest text of a float, without ``.0``."""
    return repr(number).removesuffix(".0")


def _check_fields(groups: Any, docids: Any, n_rows: int) -> list[list[str]]:
    """Return query ids and document ids as strings that can be written."""
    columns = []
    for values, name in ((groups, "groups"), (docids, "docids")):
        if len(values) != n_rows:
            raise ValueError(f"{name} has {len(values)} entries for {n_rows} rows")
        as_text_list(values, name, r"\s|^$|^#")
        columns.append([str(value) for value in values])
    return columns


def _write(path: str | os.PathLike, lines: list[str]) -> None:
    """Write a file that appears only when it is complete."""
    path = Path(path)
    part = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        with open_for_writing(part) as file:
            file.write("".join(lines).encode("utf-8", errors="surrogateescape"))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def dump_qrels(
    groups: npt.ArrayLike,
    docids: npt.ArrayLike,
    y: npt.ArrayLike,
    path: str | os.PathLike,
) -> None:
    """Write TREC relevance judgements.

    Parameters
    ----------
    groups : array-like of shape (n,)
        Query id of each row.
    docids : array-like of shape (n,)
        Document id of each row.
    y : array-like of shape (n,)
        Relevance grades.
    path : str or path
        File to write; compressed if its name ends in ``.gz`` or ``.bz2``.

    Raises
    ------
    ValueError
        If lengths differ, a grade is not finite, or an id is empty, contains blanks or
        begins with ``#``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.datasets import dump_qrels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> dump_qrels([301, 301], ["a", "b"], [2, 0], path)
    >>> print(path.read_text(), end="")
    301 0 a 2
    301 0 b 0
    """
    y = np.asarray(y, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite grades; it contains NaN or infinity")
    queries, names = _check_fields(groups, docids, len(y))
    rows = zip(queries, names, y.tolist())
    _write(path, [f"{q} 0 {docid} {_plain(grade)}\n" for q, docid, grade in rows])


def dump_run(
    groups: npt.ArrayLike,
    docids: npt.ArrayLike,
    scores: npt.ArrayLike,
    path: str | os.PathLike,
    *,
    tag: str = "skrank",
) -> None:
    """Write a TREC run with the best document of each query first.

    Documents with equal scores come in trec_eval's order, the larger id first, so that
    the written ranks are those that trec_eval will give them.

    Parameters
    ----------
    groups : array-like of shape (n,)
        Query id of each row.
    docids : array-like of shape (n,)
        Document id of each row.
    scores : array-like of shape (n,)
        Scores, higher is better.
    path : str or path
        File to write; compressed if its name ends in ``.gz`` or ``.bz2``.
    tag : str, default="skrank"
        Name of the run.

    Raises
    ------
    ValueError
        If lengths differ, a score is not finite, or an id or the tag is empty or
        contains blanks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.datasets import dump_run
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.txt"
    >>> dump_run([301, 301], ["a", "b"], [0.5, 0.75], path)
    >>> print(path.read_text(), end="")
    301 Q0 b 1 0.75 skrank
    301 Q0 a 2 0.5 skrank
    """
    checked = check_scores(scores, n_rows(groups), name="scores")
    if np.isinf(checked).any():
        raise ValueError("scores must be finite to be written to a run")
    as_text_list([tag], "tag", r"\s|^$")
    queries, names = _check_fields(groups, docids, len(checked))
    _, codes = np.unique(np.array(queries), return_inverse=True)
    first = np.full(codes.max(initial=-1) + 1, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    codes = first[codes]  # queries keep the order of their first row
    order = trec_order(codes, checked, np.array(names, dtype=object))
    values, lines, rank, previous = checked.tolist(), [], 0, None
    for i in order.tolist():
        rank = rank + 1 if queries[i] == previous else 1
        previous = queries[i]
        lines.append(f"{previous} Q0 {names[i]} {rank} {_plain(values[i])} {tag}\n")
    _write(path, lines)


def trec_order(codes: np.ndarray, scores: np.ndarray, docids: np.ndarray) -> np.ndarray:
    """Sort documents in the order in which trec_eval ranks them.

    This is by query, then by descending score, then by descending document id. Scores
    are compared in single precision, which is all that trec_eval keeps of them.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Number of the query of each row.
    scores : ndarray of shape (n,)
        Scores, higher is better.
    docids : ndarray of shape (n,), dtype object
        Document ids.

    Returns
    -------
    ndarray of shape (n,), dtype intp
        Row numbers in this order. Complexity: O(n log n).
    """
    # Scores beyond the range of single precision become infinite, and tied.
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    order = np.lexsort((-single, codes))
    tied = (single[order][1:] == single[order][:-1]) & (
        codes[order][1:] == codes[order][:-1]
    )
    # Ids are compared as strings only where scores are tied: sorting all rows by them
    # would take most of the time.
    edges = np.flatnonzero(np.diff(np.r_[False, tied, False].astype(np.int8)))
    for start, stop in edges.reshape(-1, 2):
        rows = order[start : stop + 1]
        order[start : stop + 1] = sorted(rows, key=docids.__getitem__, reverse=True)
    return order


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """A run with its judgements, in trec_eval's sense and order.

    The retrieved documents of evaluated query ``q`` are rows ``ptr[q]:ptr[q + 1]`` of
    the first arrays, best first. The documents that were judged for it but not
    retrieved are rows ``missing_ptr[q]:missing_ptr[q + 1]`` of the ``missing`` arrays.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,), dtype str
        Evaluated queries in ascending order.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointers to the rows of each query; a query may have none under ``complete``.
    y : ndarray of shape (n_retrieved,), dtype float64
        Relevance grades; 0 for a document that was not judged.
    scores : ndarray of shape (n_retrieved,), dtype float64
        Scores of the run.
    groups : ndarray of shape (n_retrieved,), dtype str
        Query id of each retrieved document.
    docids : ndarray of shape (n_retrieved,), dtype object
        Document ids.
    judged : ndarray of shape (n_retrieved,), dtype bool
        Whether the document was judged, which means a grade of at least 0 in the qrels.
    missing_ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointers to the rows of each query among the documents not retrieved.
    missing_y : ndarray of shape (n_missing,), dtype float64
        Grades of documents that were judged but not retrieved.
    missing_docids : ndarray of shape (n_missing,), dtype object
        Document ids of these documents.
    unjudged_queries : ndarray of str
        Queries of the run that have no judgements; they are not evaluated.
    unretrieved_queries : ndarray of str
        Judged queries that the run lacks; they are evaluated only under ``complete``.
    """

    queries: np.ndarray
    ptr: np.ndarray
    y: np.ndarray
    scores: np.ndarray
    groups: np.ndarray
    docids: np.ndarray
    judged: np.ndarray
    missing_ptr: np.ndarray
    missing_y: np.ndarray
    missing_docids: np.ndarray
    unjudged_queries: np.ndarray
    unretrieved_queries: np.ndarray

    @property
    def missing_groups(self) -> np.ndarray:
        """Query id of each document that was judged but not retrieved."""
        return np.repeat(self.queries, np.diff(self.missing_ptr))

    @property
    def n_retrieved(self) -> np.ndarray:
        """Number of retrieved documents of each query, shape (n_queries,)."""
        return np.diff(self.ptr)

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
        return _count(self.y >= level, self.ptr) + _count(
            self.missing_y >= level, self.missing_ptr
        )

    def with_missing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the retrieved documents and, after them, the other judged ones.

        Ideal rankings and recall need all of them. Documents that were not retrieved
        get the score −inf; a measure that gives credit at any rank must leave them out.

        Returns
        -------
        y, scores, groups : ndarrays of shape (n_retrieved + n_missing,)
            Grades, scores and query ids, sorted by query, best first.
        retrieved : ndarray of shape (n_retrieved + n_missing,), dtype bool
            Whether the run has the document.
        """
        n_missing = len(self.missing_y)
        codes = np.r_[_codes(self.ptr), _codes(self.missing_ptr)]
        order = np.argsort(codes, kind="stable")
        retrieved = np.r_[np.ones(len(self.y), bool), np.zeros(n_missing, bool)]
        scores = np.r_[self.scores, np.full(n_missing, -np.inf)]
        y = np.r_[self.y, self.missing_y]
        return y[order], scores[order], self.queries[codes[order]], retrieved[order]


def _codes(ptr: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def _count(mask: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    return np.diff(np.r_[0, np.cumsum(mask, dtype=np.intp)][ptr])


def _rows_by_query(groups: np.ndarray) -> dict[str, np.ndarray]:
    """Return the row numbers of each query id."""
    index = QueryIndex.from_groups(groups)
    rows = np.arange(len(groups)) if index.order is None else index.order
    bounds = zip(index.ptr[:-1], index.ptr[1:])
    return {query: rows[a:b] for query, (a, b) in zip(index.ids.tolist(), bounds)}


def _pointer(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.cumsum([0, *map(len, pieces)], dtype=np.intp)


def _concatenate(pieces: Sequence[np.ndarray], empty: np.ndarray) -> np.ndarray:
    # NumPy refuses to concatenate nothing.
    return np.concatenate([empty, *pieces])


def judge_run(
    qrels: Qrels, run: Run, *, complete: bool = False, depth: PositiveInt | None = None
) -> JudgedRun:
    """Join a run with judgements for evaluation in trec_eval's sense.

    Retrieved documents without a judgement, or with a negative one, count as not
    relevant. Judged documents that were not retrieved are kept apart, because recall
    and ideal rankings need them.

    Parameters
    ----------
    qrels : Qrels
        Judgements.
    run : Run
        Retrieved documents.
    complete : bool, default=False
        Whether judged queries that the run lacks are evaluated as well, with nothing
        retrieved (trec_eval's ``-c``).
    depth : int, default=None
        Number of best documents of each query to keep (trec_eval's ``-M``); None keeps
        all documents.

    Returns
    -------
    JudgedRun
        Retrieved documents with their grades, sorted by query and then in the order in
        which trec_eval ranks them.

    Raises
    ------
    ValueError
        If ``depth`` is not accepted, or no query is both judged and in the run.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, O(m) for m judgements.

    Examples
    --------
    >>> from skrank.datasets import judge_run, load_qrels, load_run
    >>> qrels = load_qrels(b"q1 0 a 1\\nq1 0 b 2\\nq2 0 a 1\\n")
    >>> run = load_run(b"q1 Q0 c 1 0.9 x\\nq1 Q0 a 2 0.8 x\\n")
    >>> judged = judge_run(qrels, run)
    >>> judged.docids.tolist(), judged.y.tolist(), judged.judged.tolist()
    (['c', 'a'], [0.0, 1.0], [False, True])
    >>> judged.missing_docids.tolist(), judged.n_relevant().tolist()
    (['b'], [2])
    >>> judged.unretrieved_queries.tolist()
    ['q2']
    """
    check_arguments(judge_run, depth=depth)
    judged_rows, run_rows = _rows_by_query(qrels.groups), _rows_by_query(run.groups)
    common = sorted(judged_rows.keys() & run_rows.keys())
    if not common:
        raise ValueError(
            "no query is both in the qrels and in the run: the qrels have "
            f"{_sample(judged_rows)}, the run has {_sample(run_rows)}"
        )
    queries = sorted(judged_rows) if complete else common
    ranked = [
        _ranked(run_rows.get(query, np.empty(0, np.intp)), run, depth)
        for query in queries
    ]
    joined = [
        _join(qrels, judged_rows[query], run, rows)
        for query, rows in zip(queries, ranked)
    ]
    rows = _concatenate(ranked, np.empty(0, np.intp))
    grades = _concatenate([grade for grade, _ in joined], np.empty(0))
    missing = _concatenate([left for _, left in joined], np.empty(0, np.intp))
    return JudgedRun(
        queries=np.array(queries),
        ptr=_pointer(ranked),
        y=np.maximum(grades, 0.0),
        scores=run.scores[rows],
        groups=run.groups[rows],
        docids=run.docids[rows],
        judged=grades >= 0,
        missing_ptr=_pointer([left for _, left in joined]),
        missing_y=qrels.y[missing],
        missing_docids=qrels.docids[missing],
        unjudged_queries=np.array(sorted(run_rows.keys() - judged_rows.keys()), str),
        unretrieved_queries=np.array(sorted(judged_rows.keys() - run_rows.keys()), str),
    )


def _sample(rows: dict) -> str:
    names = sorted(rows)[:3]
    return ", ".join(map(repr, names)) + (", ..." if len(rows) > 3 else "")


def _ranked(rows: np.ndarray, run: Run, depth: int | None) -> np.ndarray:
    """Return the rows of one query in the order in which trec_eval ranks them."""
    same_query = np.zeros(len(rows), np.intp)
    order = trec_order(same_query, run.scores[rows], run.docids[rows])
    return rows[order][:depth]


def _join(
    qrels: Qrels, judged: np.ndarray, run: Run, retrieved: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return grades of retrieved rows, −1 if unjudged, and the other judged rows."""
    # Every judged row that is found is taken out, so that the rest was not retrieved.
    row_of = dict(zip(qrels.docids[judged].tolist(), judged.tolist()))
    found = [row_of.pop(docid, -1) for docid in run.docids[retrieved].tolist()]
    row = np.array(found, dtype=np.intp)
    grades = np.where(row >= 0, qrels.y[row], -1.0)
    left = np.fromiter(row_of.values(), np.intp, len(row_of))
    return grades, left[qrels.y[left] >= 0]
