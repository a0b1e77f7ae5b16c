"""TREC files: judgements (qrels) and ranked results (runs).

A line of a qrels file is ``query iteration document grade``, a line of a run
``query Q0 document rank score tag``. Fields are separated by any number of blanks.
Blank lines and lines whose first character is ``#`` are passed over, as trec_eval does.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._best_first import best_first
from skrank._core._finite import quiet
from skrank._core._id_arrays import id_array
from skrank._core._letor import ParseError, parse_fields, parse_numbers
from skrank._core._messages import has_control, shown
from skrank._core._parameters import NBytes
from skrank._core._queries import QueryIndex
from skrank._core._reading import Source, marked, open_text, source_name
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_hashable,
    check_scores,
    naming,
)
from skrank._core._writing import check_writable, packed_write
from skrank.datasets._container import as_text_list, entries_of, texts_of_ids
from skrank.datasets._letor import line_of
from skrank.datasets._runs import Qrels, Run, first_duplicate

_QRELS = "query iteration document grade"
_RUN = "query Q0 document rank score tag"
_CARRIAGE_RETURN = re.compile(rb"\r(?![\r\n]|\Z)")
_GRADE, _SCORE = (
    re.compile(rb"-?\d+(\.0*)?"),
    re.compile(rb"-?\d*\.?\d+([eE][-+]?\d+)?"),
)


# Bytes of comments before the first line of a file, at most.
_LONG_HEAD = 1 << 16


class WrongKindError(ValueError):
    """A file of judgements was read as a run, or a run as judgements."""


def _strings(text: Any, starts: np.ndarray, lengths: np.ndarray) -> Iterator[list[str]]:
    """Yield the strings at the spans of each column, without a copy of all bytes."""
    try:
        characters = str(text, "ascii")
    except UnicodeDecodeError:
        characters = None
    for first, length in zip(starts.T, lengths.T):
        spans = zip(first.tolist(), (first + length).tolist())
        if characters is not None:
            yield [characters[a:b] for a, b in spans]
        else:
            yield [_string(text, a, b) for a, b in spans]


def _string(text: Any, start: int, stop: int) -> str:
    return text[start:stop].decode("utf-8", errors="surrogateescape")


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
            _refuse_carriage_returns(text, source)
            numbers = parse_numbers(
                text, starts[:, number_field], lengths[:, number_field]
            )
        except ParseError as error:
            raise _explain(error, text, source, layout, number_field) from None
        queries, names = _strings(text, starts[:, [0, 2]], lengths[:, [0, 2]])
        docids = _objects(names)
        tag = _string(text, starts[0, -1], starts[0, -1] + lengths[0, -1])
        groups = id_array(queries)
        duplicate = first_duplicate(groups, docids)
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
    if layout == _RUN and _are_judgements(text, error.offset, words):
        return WrongKindError(
            f"{source_name(source)} holds judgements, lines '{_QRELS}', rather than a "
            f"run, lines '{_RUN}'"
        )
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


def is_line_of_run(words: list[bytes]) -> bool:
    """Return whether a line holds a run, whose ranks would be taken for grades.

    Text after the grade of a judgement is allowed, so that only the fields together
    tell.
    """
    if len(words) != 6:
        return False
    is_ranked = _GRADE.fullmatch(words[3]) and _SCORE.fullmatch(words[4])
    return words[1].upper() == b"Q0" or bool(is_ranked and b"." in words[4])


def _refuse_run(text: Any, start: int, source: Source) -> None:
    """Refuse the lines of a run in place of judgements."""
    end = text.find(b"\n", start)
    if is_line_of_run(bytes(text[start : end if end >= 0 else len(text)]).split()):
        raise WrongKindError(
            f"{source_name(source)} holds a run, lines '{_RUN}', rather than "
            f"judgements, lines '{_QRELS}'"
        )


def _are_judgements(text: Any, offset: int, words: list[bytes]) -> bool:
    """Return whether the first line of a text that is no run holds a judgement."""
    if len(words) != 4 or not _GRADE.fullmatch(words[3]):
        return False
    before = bytes(text[:offset]).splitlines() if offset < _LONG_HEAD else [b"x"]
    return all(not line.strip() or line.startswith(b"#") for line in before)


def _refuse_carriage_returns(text: Any, source: Source) -> None:
    """Refuse a carriage return within a line, which some systems end lines with."""
    found = _CARRIAGE_RETURN.search(text)
    if found is not None:
        after = bytes(text[found.end() : found.end() + 4])
        after = after.decode("utf-8", errors="replace")[:1]
        raise ValueError(
            f"{source_name(source)}, line {line_of(text, found.start())}: expected the "
            f"end of the line after a carriage return, found {shown(after)}"
        )


def load_qrels(source: Source, *, max_bytes: NBytes | None = None) -> Qrels:
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


def load_run(source: Source, *, max_bytes: NBytes | None = None) -> Run:
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


def check_fields(groups: Any, docids: Any, n_rows: int) -> list[list[str]]:
    """Return query ids and document ids as strings that can be written and read."""
    columns = []
    for values, name in ((groups, "groups"), (docids, "docids")):
        what = "query id" if name == "groups" else "document id"
        entries = entries_of(values, name, n_rows, what)
        ids = as_ids(values, name)
        check_hashable(ids, name)
        as_text_list(entries, name, r"\s|^$|^#")
        columns.append(texts_of_ids(entries, name))
    queries, documents = (np.array(column, dtype=object) for column in columns)
    again = first_duplicate(queries, documents)
    if again is not None:
        raise ValueError(
            f"docids must name a document once for a query; row {again} has "
            f"{shown(documents[again])} a second time for query {shown(queries[again])}"
        )
    return columns


def _write(path: str | os.PathLike, lines: list[str]) -> None:
    """Write a file that appears only when it is complete."""
    lines[:1] = map(marked, lines[:1])
    with packed_write(path, "w") as file:
        file.writelines(lines)


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
        If lengths differ, a grade is not finite, an id is empty, contains blanks or
        begins with ``#``, two ids have the same text, or a document occurs twice for a
        query.
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
    queries, names = check_fields(groups, docids, len(y))
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
        If lengths differ, a score is not finite, an id or the tag is empty or contains
        blanks, two ids have the same text, or a document occurs twice for a query.
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
    queries, names = check_fields(groups, docids, len(checked))
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
    index = QueryIndex.from_groups(codes, canonical=True)
    single = in_single_precision(index.take(scores))
    order = best_first(single, index.ptr, index.take(docids))
    return order if index.order is None else index.order[order]


def in_single_precision(scores: np.ndarray) -> np.ndarray:
    """Round scores to what trec_eval keeps of them; those out of range are infinite."""
    with quiet():
        return scores.astype(np.float32).astype(np.float64)
