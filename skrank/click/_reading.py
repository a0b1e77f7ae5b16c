"""Logs of interactions in files: sessions read, read piece by piece, and written."""

import importlib
import io
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal

import numpy as np

from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._parameters import NBytes, PositiveInt
from skrank._core._paths import checked_path
from skrank._core._queries import distinct
from skrank._core._reading import (
    Source,
    lines_of,
    open_pieces,
    open_text,
    source_name,
)
from skrank._core._validation import check_arguments
from skrank._core._writing import blocks_of_lines, check_writable, packed_write
from skrank.click._reading_rows import (
    Layout,
    RowLog,
    as_array,
    columns_of_arrow,
    decoded,
    read_lines,
)
from skrank.click._reading_streams import iter_arrow, iter_lines, whole_sessions
from skrank.click._reading_yandex import StrayClicks, YandexLog, blocks_of
from skrank.click._sessions import COLUMNS, Sessions, check_sessions
from skrank.click._sessions_ids import ids_of, in_order_of_ids
from skrank.datasets._container import as_text_list
from skrank.datasets._tables import _read_parquet, kind_of_table

LogFormat = Literal["auto", "yandex", "tsv", "parquet"]

_SUFFIXES = {".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_PARQUET = b"PAR1"
_HEAD = 1 << 16
_ADJACENT = (
    "; the rows of a session must be adjacent here, whereas load_sessions takes rows "
    "in any order"
)


def load_sessions(
    source: Source,
    *,
    format: LogFormat = "auto",
    numeric_ids: bool = False,
    stray_clicks: StrayClicks = "raise",
    max_bytes: NBytes | None = None,
) -> Sessions:
    r"""Load a log of interactions.

    Parameters
    ----------
    source : str, path, file object or bytes
        Log, possibly compressed by gzip, bzip2, xz, zip or Zstandard.
    format : {"auto", "yandex", "tsv", "parquet"}, default="auto"
        Format of the log:

        - "yandex": sessions ``query<TAB>document,document,… : click,click,…``, each of
          which ends at a semicolon or at the end of a line. Clicks name documents.
        - "tsv": one impression per line, whose fields are separated by tabs and not
          quoted: session, query, document, position and click, which is 0 or 1. A
          first line may give the columns these names, in any order; it may then name
          further columns, which are passed over, and leave out the position, so that
          the lines of a session stand for its order. Rows may come in any order. Empty
          lines are passed over, before the names, too.
        - "parquet": a table with columns of these names. It needs pyarrow.
        - "auto": by the end of the name of the file, and without one by what the file
          begins with.
    numeric_ids : bool, default=False
        Whether ids in text become whole numbers. Otherwise they are strings as they
        stand. The ids of Parquet have the types of the columns.
    stray_clicks : {"raise", "drop"}, default="raise"
        What to do with clicks on documents that were not shown in the session, which
        the format of Yandex has: raise an error, or leave them out.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking. None sets no limit to
        plain files and 1 GiB to pipes and devices; packed text may be a hundred times
        as large as its file, and 256 MiB in any case.

    Returns
    -------
    Sessions
        Sessions in their order in the file.

    Raises
    ------
    ValueError
        If a session is malformed (the message names the file and the line), or the file
        is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.
    ImportError
        If a Parquet file is read without pyarrow.

    See Also
    --------
    iter_sessions : Read a log that does not fit into memory.
    save_sessions : Write a log.

    Examples
    --------
    >>> from skrank.click import load_sessions
    >>> log = b"q1\ta,b,c : b; q1\tb,a,c :\nq2\tc,a : c , a , c\n"
    >>> sessions = load_sessions(log, format="yandex")
    >>> sessions
    Sessions(n_sessions=3, n_impressions=8, n_clicks=3, n_queries=2, n_documents=3)
    >>> sessions.click.tolist()
    [0, 1, 0, 0, 0, 0, 1, 1]
    """
    check_arguments(
        load_sessions,
        format=format,
        numeric_ids=numeric_ids,
        stray_clicks=stray_clicks,
        max_bytes=max_bytes,
    )
    name = source_name(source)
    with open_text(source, max_bytes) as text:
        kind = _format_of(source, format, text)
        if kind == "parquet":
            return _load_parquet(bytes(text), name, max_bytes)
        if kind == "yandex":
            return _load_yandex(text, name, numeric_ids, stray_clicks)
        return _load_lines(text, name, numeric_ids)


def format_by_name(source: Source, given: str = "auto") -> str | None:
    """Return the format of a log that was given or that its name tells, or None.

    Parameters
    ----------
    source : str, path, file object or bytes
        Log.
    given : str, default="auto"
        Format that was given.

    Returns
    -------
    str or None
    """
    if given != "auto":
        return given
    if isinstance(source, (str, os.PathLike)):
        return _SUFFIXES.get(kind_of_table(source))
    return None


def _format_of(source: Source, given: str, text: Any) -> str:
    """Return the format of a log that begins with a text."""
    by_name = format_by_name(source, given)
    if by_name is not None:
        return by_name
    head = bytes(text[:_HEAD])
    if head[: len(_PARQUET)] == _PARQUET:
        return "parquet"
    session = head.lstrip().split(b"\n", 1)[0].split(b";", 1)[0]
    return "yandex" if session.count(b"\t") == 1 and b":" in session else "tsv"


def _load_yandex(text, name, numeric_ids, stray_clicks) -> Sessions:
    log = YandexLog(name, stray_clicks)
    return _made(log, [log.read(*block) for block in blocks_of(text)], numeric_ids)


def _made(log: YandexLog, parts: list, numeric_ids: bool) -> Sessions:
    """Return the sessions of the blocks of a log."""
    query, document, click, sizes = map(np.concatenate, zip(*parts))
    if not len(query):
        raise ValueError(f"{log.name} has no sessions")
    query_ids = decoded(log.queries.names(), numeric_ids, "query", log.name)
    document_ids = decoded(log.documents.names(), numeric_ids, "document", log.name)
    query, query_ids = in_order_of_ids(query, query_ids)
    document, document_ids = in_order_of_ids(document, document_ids)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    return Sessions(query, document, click, ptr, query_ids, document_ids)


def _load_lines(text, name, numeric_ids) -> Sessions:
    log, layout = RowLog(name, numeric_ids), None
    for block, first_line in blocks_of(text, (b"\n",)):
        if layout is None:
            layout = _layout_of(block, first_line, name)
        if layout is not None:
            log.add(read_lines(block, first_line, layout, name))
    return _with_rows(log.sessions(), name)


def _layout_of(block: bytes, first_line: int, name: str) -> Layout | None:
    """Return what the first line tells that is not empty, None if all of them are."""
    for number, line in enumerate(io.BytesIO(block), start=first_line):
        if line.rstrip(b"\r\n"):
            return Layout.of(line.rstrip(b"\r\n"), number, name)
    return None


def _load_parquet(content: bytes, name: str, max_bytes: int | None) -> Sessions:
    _pyarrow("load_sessions")
    log = RowLog(name, False)
    rows: Any = _read_parquet(
        content, name, max_bytes, lambda table: columns_of_arrow(table, name)
    )
    log.add(rows)
    return _with_rows(log.sessions(), name)


def _with_rows(sessions: Sessions, name: str) -> Sessions:
    if not len(sessions):
        raise ValueError(f"{name} has no rows")
    return sessions


def _pyarrow(caller: str) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError(
            f"{caller}: Parquet needs pyarrow; install it with: pip install pyarrow"
        ) from None


def iter_sessions(
    source: Source,
    chunk: PositiveInt = 1_000_000,
    *,
    format: LogFormat = "auto",
    numeric_ids: bool = False,
    stray_clicks: StrayClicks = "raise",
    max_bytes: NBytes | None = None,
) -> Iterator[Sessions]:
    r"""Read a log of interactions piece by piece.

    Parameters
    ----------
    source : str, path, file object or bytes
        Log, as `load_sessions` takes it; a Parquet file must be a path. Pipes and open
        files are read piece by piece, too, and may have no end.
    chunk : int, default=1_000_000
        Largest number of impressions of a piece. Sessions stay whole; one that has more
        impressions comes alone.
    format : {"auto", "yandex", "tsv", "parquet"}, default="auto"
        Format of the log, as in `load_sessions`. The rows of a session must be adjacent
        in tables.
    numeric_ids : bool, default=False
        Whether ids in text become whole numbers.
    stray_clicks : {"raise", "drop"}, default="raise"
        What to do with clicks on documents that were not shown.
    max_bytes : int, default=None
        Largest number of bytes of the text, as in `load_sessions`; None sets no limit
        to pipes and devices either.

    Returns
    -------
    iterator of Sessions
        Sessions in their order in the file; each piece has its own numbers of ids.

    Raises
    ------
    ValueError
        As in `load_sessions`, or if a session of a table comes again after another one.
    OSError
        If the file cannot be read.

    See Also
    --------
    load_sessions : Read a log as a whole.

    Notes
    -----
    A model with ``partial_fit`` learns from the pieces. Of each session of a table
    eight bytes are kept, to notice that it comes again.

    Examples
    --------
    >>> from skrank.click import iter_sessions
    >>> log = b"q1\ta,b,c : b; q1\tb,a,c :\nq2\tc,a : c , a , c\n"
    >>> for part in iter_sessions(log, 5, format="yandex"):
    ...     print(part)
    Sessions(n_sessions=1, n_impressions=3, n_clicks=1, n_queries=1, n_documents=3)
    Sessions(n_sessions=1, n_impressions=3, n_clicks=0, n_queries=1, n_documents=3)
    Sessions(n_sessions=1, n_impressions=2, n_clicks=2, n_queries=1, n_documents=2)
    """
    check_arguments(
        iter_sessions,
        chunk=chunk,
        format=format,
        numeric_ids=numeric_ids,
        stray_clicks=stray_clicks,
        max_bytes=max_bytes,
    )
    name = source_name(source)
    kind: str = format
    pieces: Iterator[bytes] = open_pieces(source, max_bytes, endless=True)
    if format == "auto":
        head = _head_of(pieces)
        kind, pieces = _format_of(source, format, head), chain([head], pieces)
    if kind == "parquet":
        _pyarrow("iter_sessions")
        blocks, unit = iter_arrow(checked_path(source, "source"), name, chunk), "row"
        return _pieces_of_rows(whole_sessions(blocks, name, unit), name, False, chunk)
    lines = lines_of(pieces, name)
    if kind == "yandex":
        return _pieces_of_yandex(lines, name, numeric_ids, stray_clicks, chunk)
    blocks = whole_sessions(iter_lines(lines, name, chunk), name, "line")
    return _pieces_of_rows(blocks, name, numeric_ids, chunk)


def _head_of(pieces: Iterator[bytes]) -> bytes:
    """Take pieces of a text until they tell its format."""
    head = b""
    while len(head) < _HEAD and (piece := next(pieces, b"")):
        head += piece
    return head


def _pieces_of_rows(blocks, name, numeric_ids, chunk) -> Iterator[Sessions]:
    n_sessions = 0
    for rows in blocks:
        log = RowLog(name, numeric_ids, _ADJACENT)
        log.add(rows)
        sessions = log.sessions()
        n_sessions += len(sessions)
        yield from _cut(sessions, chunk)
    if not n_sessions:
        raise ValueError(f"{name} has no rows")


def _pieces_of_yandex(
    lines, name, numeric_ids, stray_clicks, chunk
) -> Iterator[Sessions]:
    n_sessions = 0
    held, first, n_rows = [], 1, 0
    for number, line in lines:
        held.append(line)
        n_rows += line.count(b"\t") + line.count(b",")  # clicks are counted, too
        if n_rows >= chunk:
            for sessions in _read_held(held, first, name, numeric_ids, stray_clicks):
                n_sessions += len(sessions)
                yield from _cut(sessions, chunk)
            held, first, n_rows = [], number + 1, 0
    for sessions in _read_held(held, first, name, numeric_ids, stray_clicks):
        n_sessions += len(sessions)
        yield from _cut(sessions, chunk)
    if not n_sessions:
        raise ValueError(f"{name} has no sessions")


def _read_held(held, first, name, numeric_ids, stray_clicks) -> Iterator[Sessions]:
    if any(line.strip() for line in held):
        log = YandexLog(name, stray_clicks)
        blocks = blocks_of(b"\n".join(held))
        parts = [log.read(block, line + first - 1) for block, line in blocks]
        if any(len(part[0]) for part in parts):
            yield _made(log, parts, numeric_ids)


def _cut(sessions: Sessions, chunk: int) -> Iterator[Sessions]:
    """Yield sessions, as many at a time as have no more impressions than a piece."""
    ptr, start = sessions.ptr, 0
    while start < len(sessions):
        stop = int(np.searchsorted(ptr, ptr[start] + chunk, side="right")) - 1
        stop = max(stop, start + 1)
        part = sessions[start:stop]
        yield part if len(part) == len(sessions) else part.compact()
        start = stop


def kind_to_write(name: str, argument: str = "path") -> str:
    """Return the kind of file that sessions are written to.

    Parameters
    ----------
    name : str
        Name of the file.
    argument : str, default="path"
        Where the name comes from, for the error message.

    Returns
    -------
    str
        ``"parquet"`` or the kind of a table of text.

    Raises
    ------
    ValueError
        If the name has another end.
    """
    kind = _SUFFIXES.get(kind_of_table(name))
    packed = name.lower().endswith((".zip", ".zst"))
    if kind is None or packed or (kind == "parquet" and not _is_plain(name)):
        raise ValueError(
            f"{argument} must end in .tsv, .tsv.gz, .tsv.bz2, .tsv.xz or .parquet, "
            f"got {shown(name)}"
        )
    return kind


def save_sessions(sessions: Sessions, path: str | os.PathLike) -> None:
    """Write a log of interactions as a table with one row per impression.

    Parameters
    ----------
    sessions : Sessions
        Log to write.
    path : str or path
        File to write. A name that ends in ``.tsv`` makes lines of tab-separated fields
        under a line of names, compressed if ``.gz``, ``.bz2`` or ``.xz`` follows;
        ``.parquet`` makes a table of Parquet.

    Raises
    ------
    ValueError
        If the name has another end, an id cannot be written, two ids have the same
        text, two sessions have the same id, or a session has no documents.
    TypeError
        If ``sessions`` is something else, or an id of text is bytes.
    OSError
        If the file cannot be written.
    ImportError
        If a Parquet file is written without pyarrow.

    Notes
    -----
    Numbers from 0 become the ids of sessions that have none. Text does not tell the
    type of ids: ``load_sessions(path, numeric_ids=True)`` reads whole numbers again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skrank.click import Sessions, load_sessions, save_sessions
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.tsv"
    >>> save_sessions(Sessions.from_lists(["q"], [["a", "b"]], [[0, 1]]), path)
    >>> print(path.read_text().expandtabs(10), end="")
    session   query     document  position  click
    0         q         a         1         0
    0         q         b         2         1
    >>> load_sessions(path).click.tolist()
    [0, 1]
    """
    check_sessions(sessions)
    check_writable(path)
    name = checked_path(path, purpose="write")
    kind = kind_to_write(name)
    if (sessions.sizes == 0).any():
        raise ValueError(
            f"sessions: session {int(np.argmin(sessions.sizes))} has no documents, and "
            "a table of impressions cannot hold it; sessions[sessions.sizes > 0] "
            "leaves such sessions out"
        )
    if kind == "parquet":
        blocks: Iterable[bytes] = [_parquet(sessions)]
    else:
        blocks = blocks_of_lines(table_lines(sessions))
    with packed_write(path) as file:
        file.writelines(blocks)


def _is_plain(name: str) -> bool:
    return _SUFFIXES.get(os.path.splitext(name)[1].lower()) == "parquet"


def _parquet(sessions: Sessions) -> bytes:
    pa = _pyarrow("save_sessions")
    parquet = importlib.import_module("pyarrow.parquet")
    columns: dict[str, Any] = sessions.columns()
    for column, ids, codes in (
        ("session", sessions.session_ids, sessions.session),
        ("query", sessions.query_ids, sessions.query[sessions.session]),
        ("document", sessions.document_ids, sessions.document),
    ):
        if ids is not None:
            columns[column] = _arrow_ids(pa, parquet, ids, column).take(pa.array(codes))
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def _arrow_ids(pa: Any, parquet: Any, ids: np.ndarray, column: str) -> Any:
    """Return ids as a column of Arrow, after a check that they come back equal."""
    if any(isinstance(one, bytes) for one in ids.tolist()):
        raise TypeError(f"{column}_ids must hold text, got bytes among them")
    # Arrow cuts texts of a fixed width at the first NUL.
    given: Any = ids.astype(object) if ids.dtype.kind == "U" else ids
    try:
        held = pa.chunked_array([pa.array(given)])
        file = io.BytesIO()
        parquet.write_table(pa.table({column: held}), file)
        read = parquet.read_table(file).column(column)
        found = id_list(ids_of(as_array(read), f"{column}_ids", f"{column} id"))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"sessions: Parquet cannot hold ids of these types: {error}"
        ) from None
    given = id_list(ids)
    if found != given:
        place = next(i for i, one in enumerate(found) if one != given[i])
        raise ValueError(
            f"sessions: Parquet cannot hold ids of these types: {shown(given[place])} "
            f"of {column}_ids would become {shown(found[place])}"
        )
    return held


def table_lines(sessions: Sessions) -> Iterator[bytes]:
    """Yield the lines of a table with one impression per line, under one of names.

    Parameters
    ----------
    sessions : Sessions
        Log.

    Yields
    ------
    bytes
        A line without its end.

    Raises
    ------
    ValueError
        If an id cannot be written, or two of them are the same as text.
    """
    ids = sessions.session_ids
    sessions.columns()  # which refuses ids that occur twice
    names = range(len(sessions)) if ids is None else id_list(ids)
    session = _texts(names, "session_ids")[sessions.session]
    query = _texts(id_list(sessions.query_ids), "query_ids")
    document = _texts(id_list(sessions.document_ids), "document_ids")
    columns = (
        session,
        query[sessions.query[sessions.session]],
        document[sessions.document],
        _texts(range(int(sessions.position.max(initial=0)) + 1), "")[sessions.position],
        _texts(range(2), "")[sessions.click],
    )
    yield b"\t".join(column.encode() for column in COLUMNS)
    yield from map(b"\t".join, zip(*columns))  # each id was turned into text once


def _texts(ids: Any, name: str) -> np.ndarray:
    encoded = as_text_list(ids, name, r"[\t\r\n]")
    texts = np.empty(len(encoded), dtype=object)
    texts[:] = encoded
    if b"" in encoded:
        raise ValueError(f"{name} holds an id without any characters")
    if not distinct(texts):
        raise ValueError(f"{name} holds two ids of the same text, such as 1 and '1'")
    return texts
