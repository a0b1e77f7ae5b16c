"""TREC files: judgements (qrels), ranked results (runs), and runs with judgements.

A line of a qrels file is ``query iteration document grade``, a line of a run
``query Q0 document rank score tag``. Fields are separated by any number of blanks.
Blank lines and lines whose first character is ``#`` are passed over, as trec_eval does.
"""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_array, in_order
from skrank._core._letor import ParseError, parse_fields, parse_numbers
from skrank._core._messages import has_control, shown
from skrank._core._parameters import PositiveInt
from skrank._core._queries import QueryIndex
from skrank._core._reading import Source, open_text, source_name
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_groups,
    check_no_missing_id,
    check_scores,
    n_rows,
    naming,
)
from skrank._core._writing import check_writable, packed_write
from skrank.datasets._container import as_text_list, entries_of
from skrank.datasets._letor import line_of

_QRELS = "query iteration document grade"
_RUN = "query Q0 document rank score tag"


@dataclass(frozen=True, eq=False)
class Qrels:
    """Relevance judgements, one row per judged document.

    Attributes
    ----------
    groups : ndarray of shape (n,), dtype str or object
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
    groups : ndarray of shape (n,), dtype str or object
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
    source: Source, layout: str, number_field: int, max_bytes: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Return query ids, document ids and numbers of a TREC file, and its first tag."""
    fields = layout.split()
    with open_text(source, max_bytes) as text:
        try:
            starts, lengths = parse_fields(text, len(fields))
            if not len(starts):
                raise ValueError(f"{source_name(source)} has no lines '{layout}'")
            if layout == _QRELS:
                _refuse_run(text, int(starts[0, 0]), source)
            numbers = parse_numbers(
                text, starts[:, number_field], lengths[:, number_field]
            )
        except ParseError as error:
            raise _explain(error, text, source, layout, number_field) from None
        queries = _strings(text, starts[:, 0], lengths[:, 0])
        docids = _objects(_strings(text, starts[:, 2], lengths[:, 2]))
        tag = _strings(text, starts[:1, -1], lengths[:1, -1])[0]
        groups = id_array(queries)
        duplicate = _first_duplicate(groups, docids)
        if duplicate is not None:
            line = line_of(text, int(starts[duplicate, 0]))
            raise ValueError(
                f"{source_name(source)}, line {line}: document "
                f"{shown(docids[duplicate])} occurs a second time for query "
                f"{shown(queries[duplicate])}"
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
            f"found {shown(found)}"
        )
    return ValueError(f"{source_name(source)}, line {line}: {problem}")


def _refuse_run(text: Any, start: int, source: Source) -> None:
    """Refuse the lines of a run, whose ranks would be taken for grades.

    Text after the grade is allowed, so that only the fields together tell.
    """
    end = text.find(b"\n", start)
    words = bytes(text[start : end if end >= 0 else len(text)]).split()
    if len(words) == 6 and words[1].upper() == b"Q0":
        raise ValueError(
            f"{source_name(source)} holds a run, lines '{_RUN}', rather than "
            f"judgements, lines '{_QRELS}'"
        )


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


def load_qrels(source: Source, *, max_bytes: PositiveInt | None = None) -> Qrels:
    """Load TREC relevance judgements.

    Parameters
    ----------
    source : str, path, file object or bytes
        Lines ``query iteration document grade``, possibly compressed by gzip, bzip2, xz
        or zip. The iteration is not used, and text after the grade is not read.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking. None sets no limit to
        plain files and 1 GiB to pipes and devices; packed text may be a hundred times
        as large as its file, and 256 MiB in any case.

    Returns
    -------
    Qrels
        Judgements, as arrays ``groups``, ``docids`` and ``y`` of shape (n_judgements,).

    Raises
    ------
    ValueError
        If a line has too few fields, a grade is not a finite number, or a document is
        judged twice for a query (the message names the file and the line), if the file
        holds a run, or if it is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import load_qrels
    >>> qrels = load_qrels(b"301 0 FR94-1 1\\n301 0 FR94-2 0\\n")
    >>> qrels.groups.tolist(), qrels.docids.tolist(), qrels.y.tolist()
    (['301', '301'], ['FR94-1', 'FR94-2'], [1.0, 0.0])
    """
    check_arguments(load_qrels, max_bytes=max_bytes)
    groups, docids, grades, _ = _read(source, _QRELS, 3, max_bytes)
    return Qrels(groups, docids, grades)


def load_run(source: Source, *, max_bytes: PositiveInt | None = None) -> Run:
    """Load a TREC run: the documents that a system retrieved.

    Parameters
    ----------
    source : str, path, file object or bytes
        Lines ``query Q0 document rank score tag``, possibly compressed by gzip, bzip2,
        xz or zip. As in trec_eval, documents are ordered by the score rather than the
        rank, and text after the tag is not read.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking. None sets no limit to
        plain files and 1 GiB to pipes and devices; packed text may be a hundred times
        as large as its file, and 256 MiB in any case.

    Returns
    -------
    Run
        Retrieved documents, as arrays ``groups``, ``docids`` and ``scores`` of shape
        (n_retrieved,) in the order of the file, and the ``tag`` of its first line.

    Raises
    ------
    ValueError
        If a line has too few fields, a score is not a finite number, or a document is
        retrieved twice for a query (the message names the file and the line), or if the
        file is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import load_run
    >>> run = load_run(b"301 Q0 FR94-1 1 2.5 bm25\\n301 Q0 FR94-9 2 1.5 bm25\\n")
    >>> run.docids.tolist(), run.scores.tolist(), run.tag
    (['FR94-1', 'FR94-9'], [2.5, 1.5], 'bm25')
    """
    check_arguments(load_run, max_bytes=max_bytes)
    return Run(*_read(source, _RUN, 4, max_bytes))


def _plain(number: float) -> str:
    """Return the shortest text of a float, without ``.0``."""
    return repr(number).removesuffix(".0")


def _check_fields(groups: Any, docids: Any, n_rows: int) -> list[list[str]]:
    """Return query ids and document ids as strings that can be written."""
    columns = []
    for values, name in ((groups, "groups"), (docids, "docids")):
        what = "query id" if name == "groups" else "document id"
        entries = entries_of(values, name, n_rows, what)
        check_no_missing_id(as_ids(values, name), name, what)
        as_text_list(entries, name, r"\s|^$|^#")
        columns.append([str(value) for value in entries])
    return columns


def _write(path: str | os.PathLike, lines: list[str]) -> None:
    """Write a file that appears only when it is complete."""
    with packed_write(path) as file:
        file.write("".join(lines).encode("utf-8", errors="surrogateescape"))


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
        File to write; compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.

    Raises
    ------
    ValueError
        If lengths differ, a grade is not finite, or an id is empty, contains blanks or
        begins with ``#``.
    OSError
        If the file cannot be written.

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
    check_writable(path)
    with naming("y"):
        y = as_numbers(y, "y", "numeric relevance grades")
        if y.ndim != 1:
            raise ValueError(f"y must be one-dimensional, got shape {y.shape}")
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
        File to write; compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    tag : str, default="skrank"
        Name of the run.

    Raises
    ------
    ValueError
        If lengths differ, a score is not finite, or an id or the tag is empty or
        contains blanks.
    OSError
        If the file cannot be written.

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
    check_writable(path)
    check_arguments(dump_run, tag=tag)
    with naming("scores"):
        values = as_numbers(scores, "scores", "numeric scores")
        if values.ndim != 1:
            raise ValueError(f"scores must be one-dimensional, got {shown(scores)}")
        checked = check_scores(values, len(values), name="scores")
    if np.isinf(checked).any():
        raise ValueError("scores must be finite to be written to a run")
    as_text_list([tag], "tag", r"\s|^$")
    if has_control(tag):
        raise ValueError(f"tag must not hold control characters, got {shown(tag)}")
    queries, names = _check_fields(groups, docids, len(checked))
    numbers = {query: i for i, query in enumerate(dict.fromkeys(queries))}
    codes = np.array([numbers[query] for query in queries], dtype=np.intp)
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


def _count(mask: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    return np.diff(np.r_[0, np.cumsum(mask, dtype=np.intp)][ptr])


def _rows_by_query(groups: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """Return the row numbers of each query id."""
    index = QueryIndex.from_groups(check_groups(groups, n_rows(groups), name=name))
    rows = np.arange(len(groups)) if index.order is None else index.order
    bounds = zip(index.ptr[:-1], index.ptr[1:])
    return {query: rows[a:b] for query, (a, b) in zip(index.ids.tolist(), bounds)}


def judge_run(
    qrels: Qrels | Mapping[Any, Mapping[Any, float]],
    run: Run | Mapping[Any, Mapping[Any, float]],
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
    qrels : Qrels or mapping {query: {document: grade}}
        Judgements.
    run : Run or mapping {query: {document: score}}
        Retrieved documents. A `Qrels` and a `Run` may come in either order.
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
        If ``depth`` is not accepted, an id is missing, or no query is both judged and
        in the run.
    TypeError
        If the tables are of another kind.

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
    if isinstance(qrels, Run) and isinstance(run, Qrels):
        qrels, run = run, qrels
    judged = _as_kind(qrels, "qrels", Qrels)
    ranked = _as_kind(run, "run", Run)
    scores = check_scores(ranked.scores, n_rows(ranked.groups), name="run.scores")
    grades = as_numbers(judged.y, "qrels.y", "numeric relevance grades")
    if np.isnan(grades).any():
        row = int(np.flatnonzero(np.isnan(grades))[0])
        raise ValueError(f"qrels.y must hold grades; row {row} has none")
    judged, ranked = replace(judged, y=grades), replace(ranked, scores=scores)
    judged_rows = _rows_by_query(judged.groups, "qrels.groups")
    run_rows = _rows_by_query(ranked.groups, "run.groups")
    common = in_order(judged_rows.keys() & run_rows.keys())
    if not common:
        raise ValueError(
            "no query is both in the qrels and in the run: the qrels have "
            f"{_sample(judged_rows)}, the run has {_sample(run_rows)}"
        )
    queries = in_order(judged_rows) if complete else common
    none = np.empty(0, np.intp)
    parts = [
        _join(judged, judged_rows[query], ranked, run_rows.get(query, none), depth)
        for query in queries
    ]
    sizes = [len(part.grades) for part in parts]
    return JudgedRun(
        queries=id_array(queries),
        ptr=np.cumsum([0, *sizes], dtype=np.intp),
        y=np.ma.concatenate([part.grades for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
        groups=id_array(queries, np.array(sizes)),
        docids=np.concatenate([part.docids for part in parts]),
        unjudged_queries=id_array(in_order(run_rows.keys() - judged_rows.keys())),
        unretrieved_queries=id_array(in_order(judged_rows.keys() - run_rows.keys())),
    )


def _as_kind(table: Any, name: str, kind: type) -> Any:
    """Return a table of this kind, also from nested mappings."""
    if isinstance(table, kind):
        return table
    if not isinstance(table, Mapping) or not all(
        isinstance(documents, Mapping) for documents in table.values()
    ):
        raise TypeError(
            f"judge_run: {name} must be a {kind.__name__}, as load_{name} returns it, "
            f"or a mapping {{query: {{document: number}}}}, got {shown(table)}"
        )
    groups = [query for query, documents in table.items() for _ in documents]
    docids = [docid for documents in table.values() for docid in documents]
    numbers = [n for documents in table.values() for n in documents.values()]
    values = as_numbers(numbers, name)
    columns = as_ids(groups, name), as_ids(docids, name).astype(object), values
    return kind(*columns) if kind is Qrels else kind(*columns, tag="skrank")


def _sample(rows: dict) -> str:
    names = in_order(rows)[:3]
    return ", ".join(map(shown, names)) + (", ..." if len(rows) > 3 else "")


class _Joined(NamedTuple):
    """The documents of one query: the retrieved ones, then the other judged ones."""

    grades: np.ma.MaskedArray
    scores: np.ndarray
    docids: np.ndarray


def _join(
    qrels: Qrels, judged: np.ndarray, run: Run, rows: np.ndarray, depth: int | None
) -> _Joined:
    """Join one query; ``judged`` and ``rows`` are its rows in the qrels and the run."""
    order = trec_order(np.zeros(len(rows), np.intp), run.scores[rows], run.docids[rows])
    retrieved = rows[order][:depth]
    scores = _tied_in_single_precision(run.scores[retrieved])
    # Every judged row that is found is taken out, so that the rest was not retrieved.
    row_of = dict(zip(qrels.docids[judged].tolist(), judged.tolist()))
    found = [row_of.pop(docid, -1) for docid in run.docids[retrieved].tolist()]
    left = np.fromiter(row_of.values(), np.intp, len(row_of))
    left = left[qrels.y[left] >= 0]
    row = np.array(found, dtype=np.intp)
    grades = np.r_[np.where(row >= 0, qrels.y[row], -1.0), qrels.y[left]]
    return _Joined(
        np.ma.MaskedArray(np.maximum(grades, 0.0), mask=grades < 0),
        np.r_[scores, np.full(len(left), -np.inf)],
        np.r_[run.docids[retrieved], qrels.docids[left]],
    )


def _tied_in_single_precision(scores: np.ndarray) -> np.ndarray:
    """Replace scores in trec_eval's order that it takes for equal by their maximum."""
    if not len(scores):
        return scores
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    starts = np.flatnonzero(np.r_[True, single[1:] != single[:-1]])
    sizes = np.diff(np.append(starts, len(scores)))
    tied = np.repeat(np.maximum.reduceat(scores, starts), sizes)
    # Minus infinity stands for documents that were not retrieved.
    return np.maximum(tied, -np.finfo(np.float64).max)
