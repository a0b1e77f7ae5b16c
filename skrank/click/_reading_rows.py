"""Logs as tables with one row per impression: lines of tab-separated fields, Parquet.

A block of rows is a few columns of equal length.
"""

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from skrank._core._id_arrays import id_array, id_list
from skrank._core._messages import shown
from skrank.click._sessions import COLUMNS, Sessions
from skrank.click._sessions_ids import (
    Coded,
    IdCodes,
    as_clicks,
    ids_of,
    in_order_of_ids,
    in_sessions,
)

_NEEDED = {"session", "query", "document", "click"}
_CLICKS = {b"0": 0, b"1": 1, b"False": 0, b"True": 1, b"false": 0, b"true": 1}
_NO_CLICK = 2
_WHOLE_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,17}")  # as int64 holds it


Ids = list | np.ndarray


@dataclass
class Rows:
    """Columns of a block of rows.

    Attributes
    ----------
    session, query, document : list or ndarray
        Ids.
    position : ndarray of int64, or None
        Places, counted from 1.
    click : ndarray of uint8
        Clicks.
    line : ndarray of int64
        Line or row of the file in which each row stands, counted from 1.
    """

    session: Ids
    query: Ids
    document: Ids
    position: np.ndarray | None
    click: np.ndarray
    line: np.ndarray

    def __len__(self) -> int:
        return len(self.click)

    def __getitem__(self, part: slice) -> "Rows":
        position = None if self.position is None else self.position[part]
        return Rows(
            self.session[part],
            self.query[part],
            self.document[part],
            position,
            self.click[part],
            self.line[part],
        )

    @classmethod
    def joined(cls, blocks: Sequence["Rows"]) -> "Rows":
        """Return the rows of several blocks, all of them from one file."""
        if len(blocks) == 1:
            return blocks[0]
        session, query, document = (
            _joined([getattr(block, name) for block in blocks])
            for name in ("session", "query", "document")
        )
        positions = [block.position for block in blocks if block.position is not None]
        return cls(
            session,
            query,
            document,
            np.concatenate(positions) if positions else None,
            np.concatenate([block.click for block in blocks]),
            np.concatenate([block.line for block in blocks]),
        )


def _joined(columns: list) -> Ids:
    if isinstance(columns[0], list):
        return [one for column in columns for one in column]
    return np.concatenate(columns)


@dataclass(frozen=True)
class Layout:
    """Where the columns of a table of text stand.

    Attributes
    ----------
    places : dict of str to int
        Number of each column; "position" may be missing.
    n_fields : int
        Number of fields of a line.
    line_of_names : int
        Number of the line that holds the names of the columns; 0 if there is none.
    """

    places: dict[str, int]
    n_fields: int
    line_of_names: int

    @classmethod
    def of(cls, line: bytes, number: int, name: str) -> "Layout":
        """Return the layout that the first line of a table tells.

        Parameters
        ----------
        line : bytes
            The first line that is not empty.
        number : int
            Its number.
        name : str
            Name of the file, for messages.

        Raises
        ------
        ValueError
            If there are neither names nor as many fields as a table without them has.
        """
        fields = [field.decode("utf-8", "replace") for field in line.split(b"\t")]
        if not set(fields) >= _NEEDED:
            if len(fields) == len(COLUMNS):
                places = {column: i for i, column in enumerate(COLUMNS)}
                return cls(places, len(fields), 0)
            raise ValueError(
                f"{name}, line {number}: expected the fields {', '.join(COLUMNS)}, or "
                f"these names among others, separated by tabs; found {shown(fields)}"
            )
        for column in COLUMNS:
            if fields.count(column) > 1:
                raise ValueError(
                    f"{name}, line {number}: the name {column!r} occurs twice"
                )
        places = {c: fields.index(c) for c in COLUMNS if c in fields}
        return cls(places, len(fields), number)


def read_lines(text: bytes, first_line: int, layout: Layout, name: str) -> Rows:
    """Read lines of tab-separated fields.

    Parameters
    ----------
    text : bytes
        Whole lines.
    first_line : int
        Number of the first of them.
    layout : Layout
        Where the columns stand. The line of names is passed over.
    name : str
        Name of the file, for messages.

    Returns
    -------
    Rows
        Rows whose ids are bytes.

    Raises
    ------
    ValueError
        If a line has too few fields or too many, or one that is not accepted. The
        message names the file and the line.
    """
    lines = [line.rstrip(b"\r") for line in text.split(b"\n")]
    numbers = np.arange(first_line, first_line + len(lines))
    kept = np.fromiter(map(bool, lines), bool, len(lines))
    kept &= numbers > layout.line_of_names
    numbers = numbers[kept]
    lines = [line for line, keep in zip(lines, kept.tolist()) if keep]
    n_tabs = np.fromiter(map(bytes.count, lines, repeat(b"\t")), np.intp, len(lines))
    wrong = np.flatnonzero(n_tabs != layout.n_fields - 1)
    if len(wrong):
        raise ValueError(
            f"{name}, line {numbers[wrong[0]]}: expected {layout.n_fields} fields, "
            f"separated by tabs, found {n_tabs[wrong[0]] + 1}"
        )
    fields = b"\t".join(lines).split(b"\t") if lines else []
    columns = {c: fields[i :: layout.n_fields] for c, i in layout.places.items()}
    for column in ("session", "query", "document"):
        if b"" in columns[column]:
            line = numbers[columns[column].index(b"")]
            raise ValueError(f"{name}, line {line}: the {column} has no id")
    positions = columns.get("position")
    return Rows(
        columns["session"],
        columns["query"],
        columns["document"],
        None if positions is None else _places(positions, numbers, name),
        _clicks(columns["click"], numbers, name),
        numbers,
    )


def _places(fields: list[bytes], numbers: np.ndarray, name: str) -> np.ndarray:
    # Few places differ, so that looking at each of them once is fast, too.
    place_of = {
        field: int(field) for field in set(fields) if _WHOLE_NUMBER.fullmatch(field)
    }
    try:
        return np.fromiter(map(place_of.__getitem__, fields), np.int64, len(fields))
    except KeyError:
        row = next(i for i, field in enumerate(fields) if field not in place_of)
        raise ValueError(
            f"{name}, line {numbers[row]}: expected a whole number from 1 as position, "
            f"found {shown_bytes(fields[row])}"
        ) from None


def _clicks(fields: list[bytes], numbers: np.ndarray, name: str) -> np.ndarray:
    known = map(_CLICKS.get, fields, repeat(_NO_CLICK))
    clicks = np.fromiter(known, np.uint8, len(fields))
    wrong = np.flatnonzero(clicks == _NO_CLICK)
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{name}, line {numbers[row]}: expected 0 or 1 as click, found "
            f"{shown_bytes(fields[row])}"
        )
    return clicks


def shown_bytes(field: bytes) -> str:
    """Return an id or another field as messages show it."""
    return shown(field.decode("utf-8", "replace"))


def decoded(names: list[bytes], numeric: bool, what: str, file: str) -> np.ndarray:
    """Return ids that were read as bytes: text, or whole numbers if that is asked for.

    Parameters
    ----------
    names : list of bytes
        Ids.
    numeric : bool
        Whether they are numbers.
    what : str
        What they identify.
    file : str
        Name of the file, for messages.

    Returns
    -------
    ndarray of shape (n_ids,)

    Raises
    ------
    ValueError
        If one of them is no whole number, but must be, or is written in another way
        than numbers are.
    """
    if not numeric:
        return id_array([one.decode("utf-8", "surrogateescape") for one in names])
    for one in names:
        if not _WHOLE_NUMBER.fullmatch(one):
            raise ValueError(
                f"{file}: numeric_ids=True needs whole numbers of at most 18 digits as "
                f"ids of each {what}, found {shown_bytes(one)}"
            )
    return np.array(list(map(int, names)), dtype=np.int64)


class RowLog:
    """Sessions in the making, from one block of rows after another.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    numeric_ids : bool
        Whether ids that are bytes become numbers.
    hint : str, default=""
        What errors about a session end with.
    """

    def __init__(self, name: str, numeric_ids: bool, hint: str = ""):
        self.name, self.numeric_ids, self.hint = name, numeric_ids, hint
        self._tables = {c: IdCodes() for c in ("session", "query", "document")}
        self._codes: dict[str, list] = {c: [] for c in self._tables}
        self._position: list[np.ndarray] = []
        self._click: list[np.ndarray] = []
        self._as_bytes: set[str] = set()

    def add(self, rows: Rows) -> None:
        """Add the rows of a block."""
        for column, table in self._tables.items():
            ids = getattr(rows, column)
            if len(ids) and isinstance(ids[0], bytes):
                self._as_bytes.add(column)
            self._codes[column].append(table.codes_of(ids))
        self._click.append(rows.click)
        if rows.position is not None:
            self._position.append(rows.position)

    def sessions(self) -> Sessions:
        """Return the sessions of all blocks.

        Raises
        ------
        ValueError
            If a session has two queries or its positions are not 1 to its length.
        """
        session, query, document = (
            self._column(column, in_order=column != "session")
            for column in self._tables
        )
        position = np.concatenate(self._position) if self._position else None
        click = np.concatenate(self._click) if self._click else np.empty(0, np.uint8)
        try:
            return Sessions(*in_sessions(session, query, document, position, click))
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}{self.hint}") from None

    def _column(self, column: str, in_order: bool) -> Coded:
        codes = np.concatenate([np.empty(0, np.intp), *self._codes[column]])
        names = self._tables[column].names()
        if column in self._as_bytes:
            ids = decoded(names, self.numeric_ids, column, self.name)
        else:
            ids = id_array(names)
        return in_order_of_ids(codes, ids) if in_order else (codes, ids)


def columns_of_arrow(table: Any, name: str, first_row: int = 1) -> Rows:
    """Return the rows of a table or a batch of Arrow.

    Parameters
    ----------
    table : pyarrow.Table
        Table with columns of the names of a log; others are passed over.
    name : str
        Name of the file, for messages.
    first_row : int, default=1
        Number of its first row, for messages.

    Returns
    -------
    Rows

    Raises
    ------
    ValueError
        If a column is missing or an entry is not accepted.
    """
    names = table.schema.names
    for column in COLUMNS:
        found = names.count(column)
        if found > 1 or (not found and column in _NEEDED):
            problem = "no" if not found else "more than one"
            raise ValueError(
                f"{name} has {problem} column {column!r}; its columns are "
                f"{shown(names)}"
            )
    present = [column for column in COLUMNS if column in names]
    columns: dict[str, Any] = {c: as_array(table.column(c)) for c in present}
    for column in ("session", "query", "document"):
        ids = ids_of(columns[column], f"{name}: column {column!r}", f"{column} id")
        columns[column] = id_list(ids) if ids.dtype == object else ids
    position = columns.get("position")
    if position is not None and position.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: column 'position' must hold whole numbers, found "
            f"{table.schema.field('position').type}, or missing entries"
        )
    return Rows(
        columns["session"],
        columns["query"],
        columns["document"],
        None if position is None else position.astype(np.int64),
        as_clicks(columns["click"], f"{name}: column 'click'"),
        np.arange(first_row, first_row + table.num_rows),
    )


def as_array(column: Any) -> np.ndarray:
    """Return a column of Arrow, in which a missing number or text is seen.

    Times of a zone are Python's, for NumPy has none that know it.
    """
    pa = importlib.import_module("pyarrow")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy()
