"""Logs that may be larger than memory, cut into blocks of rows of whole sessions."""

import importlib
import io
from collections.abc import Iterable, Iterator

import numpy as np

from skrank._core._messages import shown
from skrank._core._reading import damage_named
from skrank.click._reading_rows import (
    Ids,
    Layout,
    Rows,
    columns_of_arrow,
    read_lines,
    shown_bytes,
)
from skrank.click._sessions import COLUMNS
from skrank.click._sessions_ids import IdCodes, coded


def iter_arrow(path: str, name: str, n_rows: int) -> Iterator[Rows]:
    """Yield blocks of the rows of a Parquet file."""
    parquet = importlib.import_module("pyarrow.parquet")
    pa = importlib.import_module("pyarrow")
    first = 1
    with (
        damage_named(name, pa.ArrowException, ArithmeticError, TypeError),
        parquet.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        columns = [c for c in file.schema_arrow.names if c in COLUMNS]
        for batch in file.iter_batches(n_rows, columns=columns):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            yield columns_of_arrow(table, name, first)
            first += len(batch)


def iter_lines(
    lines: Iterable[tuple[int, bytes]], name: str, n_rows: int
) -> Iterator[Rows]:
    """Yield blocks of the rows of lines of tab-separated fields."""
    layout, held = None, io.BytesIO()
    first, n_held = 1, 0
    for number, line in lines:
        if layout is None:
            first = number + 1
            if not line.rstrip(b"\r"):
                continue
            layout = Layout.of(line.rstrip(b"\r"), number, name)
            if layout.line_of_names:
                continue
            first = number
        held.write(line + b"\n")
        n_held += 1
        if n_held == n_rows:
            yield read_lines(held.getvalue(), first, layout, name)
            held, first, n_held = io.BytesIO(), number + 1, 0
    if layout is not None and n_held:
        yield read_lines(held.getvalue(), first, layout, name)


class _Ended:
    """Sessions that have ended, eight bytes each; two may be taken for one.

    With ten million sessions, that happens in one log of three hundred thousand.
    """

    def __init__(self):
        self._sorted: list[np.ndarray] = []

    def again(self, hashes: np.ndarray) -> int | None:
        """Note sessions; return the place of one that was noted before, if any."""
        for known in self._sorted:
            places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            found = np.flatnonzero(known[places] == hashes)
            if len(found):
                return int(found[0])
        new = np.sort(hashes)
        # Arrays of like size are merged, so that there are few of them.
        while self._sorted and len(self._sorted[-1]) <= 2 * len(new):
            new = np.sort(np.concatenate([self._sorted.pop(), new]))
        self._sorted.append(new)
        return None


def whole_sessions(blocks: Iterable[Rows], name: str, unit: str) -> Iterator[Rows]:
    """Move the end of each block to the end of its last session.

    Parameters
    ----------
    blocks : iterable of Rows
        Rows, as they follow each other in a file.
    name : str
        Name of the file, for messages.
    unit : str
        What its rows are called in messages.

    Yields
    ------
    Rows
        At least one session.

    Raises
    ------
    ValueError
        If a session comes again after another one.
    """
    rest: list[Rows] = []
    ended = _Ended()
    for block in blocks:
        if not len(block):
            continue
        start = _last_session(block.session)
        goes_on = bool(rest) and rest[-1].session[-1] == block.session[0]
        if start or not goes_on:
            whole = Rows.joined([*rest, block[:start]])
            rest = []
            if len(whole):
                _check_adjacent(whole, ended, name, unit)
                yield whole
        rest.append(block[start:])
    if rest:
        whole = Rows.joined(rest)
        _check_adjacent(whole, ended, name, unit)
        yield whole


def _last_session(sessions: Ids) -> int:
    """Return the first row of the last session of a block."""
    last, row = sessions[-1], len(sessions) - 1
    while row and sessions[row - 1] == last:
        row -= 1
    return row


def _check_adjacent(rows: Rows, ended: _Ended, name: str, unit: str) -> None:
    codes = _codes(rows.session)
    starts = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
    first = np.zeros(len(starts), dtype=bool)
    first[np.unique(codes[starts], return_index=True)[1]] = True
    row = int(starts[~first][0]) if not first.all() else None
    if row is None:
        # By their texts, because the numbers -1 and -2 have one hash.
        hashes = [hash(repr(rows.session[i])) for i in starts.tolist()]
        place = ended.again(np.array(hashes, dtype=np.int64))
        row = None if place is None else int(starts[place])
    if row is not None:
        session = rows.session[row]
        one = shown_bytes(session) if isinstance(session, bytes) else shown(session)
        raise ValueError(
            f"{name}, {unit} {rows.line[row]}: session {one} comes again after other "
            "sessions; sort the file by its sessions, or use load_sessions, which "
            "takes rows in any order"
        )


def _codes(sessions: Ids) -> np.ndarray:
    if isinstance(sessions, np.ndarray):
        return coded(sessions)[0]
    return IdCodes().codes_of(sessions)
