"""The format of the Yandex relevance prediction challenge, in its sample by PyClick.

A session is ``query<TAB>document,document,… : click,click,…``; sessions end at a
semicolon or at the end of a line. All sessions of a query may stand in one line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal

import numpy as np

from skrank._core._messages import shown
from skrank.click._sessions_ids import IdCodes

StrayClicks = Literal["raise", "drop"]

# Bytes of text whose fields are in memory at once, as objects of Python.
_BLOCK = 1 << 22
_TAB, _COMMA, _COLON, _END = 1, 2, 3, 4
_KINDS = np.zeros(256, dtype=np.uint8)
for _character, _kind in zip(b"\t,:;\n", (_TAB, _COMMA, _COLON, _END, _END)):
    _KINDS[_character] = _kind
_TO_ENDS = bytes.maketrans(b"\t,:;", b"\n" * 4)
_LAYOUT = "'query<TAB>document,… : click,…'"
_LENGTH = 60  # characters of a session that a message quotes


@dataclass
class YandexLog:
    """Sessions in the making, from one block of text after another.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    stray_clicks : {"raise", "drop"}
        What to do with clicks on documents that were not shown.
    queries, documents : IdCodes
        Numbers of the ids of all blocks.
    n_stray : int
        Number of clicks left out so far.
    """

    name: str
    stray_clicks: StrayClicks
    queries: IdCodes = field(default_factory=IdCodes)
    documents: IdCodes = field(default_factory=IdCodes)
    n_stray: int = 0

    def read(self, text: bytes, first_line: int = 1) -> tuple[np.ndarray, ...]:
        """Read the sessions of a text that ends with a session.

        Parameters
        ----------
        text : bytes
            Whole sessions.
        first_line : int, default=1
            Number of the line in which the text begins.

        Returns
        -------
        query, document, click, sizes : ndarray
            Number of the query of each session, numbers of documents, clicks, and the
            number of documents of each session.

        Raises
        ------
        ValueError
            If a session is malformed. The message names the file and the line.
        """
        at, kind, fields = _fields_of(text)
        lengths = np.fromiter(map(len, fields), np.intp, len(fields))
        place = _Place(self.name, text, at, first_line)
        first, tab, colon, end = _bounds(kind, lengths, place)
        counts = colon - tab, end - colon
        role = np.zeros(len(fields), dtype=np.uint8)
        for number, (start, sizes) in enumerate(zip((tab, colon), counts), start=1):
            role[_ranges(start + 1, sizes)] = number
        role[first] = 3
        no_click = colon + 1
        no_click = no_click[(counts[1] == 1) & (lengths[no_click] == 0)]
        role[no_click] = 0  # a session without clicks
        _check_fields(lengths, role, place)
        query = self.queries.codes_of(list(compress(fields, (role == 3).tolist())))
        document = self.documents.codes_of(list(compress(fields, (role == 1).tolist())))
        click = np.zeros(len(document), dtype=np.uint8)
        clicked = np.flatnonzero(role == 2)
        session = np.searchsorted(end, clicked)
        shown_in = np.repeat(np.arange(len(query)), counts[0])
        known = self.documents.ids
        # An id that no list has shown yet is shown in no session of this block.
        codes = [known.get(fields[i], -1) for i in clicked.tolist()]
        rows = _rows_clicked(shown_in, document, session, np.array(codes, np.intp))
        stray = clicked[rows < 0]
        if len(stray):
            self._stray(fields, stray, place)
        click[rows[rows >= 0]] = 1
        return query, document, click, counts[0]

    def _stray(self, fields, clicked, place) -> None:
        if self.stray_clicks == "raise":
            document = fields[clicked[0]].decode("utf-8", errors="replace")
            raise place.error(
                int(clicked[0]),
                f"document {shown(document)} was clicked and not shown in this "
                "session; stray_clicks='drop' leaves such clicks out",
            )
        self.n_stray += len(clicked)


@dataclass
class _Place:
    """Where a block of text stands in a file, for messages."""

    name: str
    text: bytes
    at: np.ndarray
    first_line: int

    def error(self, place: int, problem: str) -> ValueError:
        """Return an error about a field, or about a session that begins with it."""
        start = int(self.at[place - 1]) + 1 if place else 0
        # Blanks and ends of lines before a field belong to it.
        while self.text[start : start + 1].isspace():
            start += 1
        line = self.first_line + self.text.count(b"\n", 0, start)
        return ValueError(f"{self.name}, line {line}: {problem}")

    def session(self, first: int, last: int) -> str:
        """Return the text from one field to another."""
        start = int(self.at[first - 1]) + 1 if first else 0
        text = self.text[start : int(self.at[last])].strip()
        return shown(text.decode("utf-8", errors="replace"), _LENGTH)


def blocks_of(
    data: Any, ends: Sequence[bytes] = (b";", b"\n"), size: int = _BLOCK
) -> Iterator[tuple[bytes, int]]:
    """Cut a text after some of its ends; yield blocks and the lines they begin in."""
    start, line = 0, 1
    while start < len(data):
        stop = min(start + size, len(data))
        if stop < len(data):
            cut = max(data.rfind(end, start, stop) for end in ends)
            if cut < 0:
                later = [data.find(end, stop) for end in ends]
                cut = min((end for end in later if end >= 0), default=len(data) - 1)
            stop = cut + 1
        block = bytes(data[start:stop])
        yield block, line
        line += block.count(b"\n")
        start = stop


def _fields_of(text: bytes) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """Return the separators, their kinds, and what stands before each of them."""
    kinds = _KINDS[np.frombuffer(text, dtype=np.uint8)]
    at = np.append(np.flatnonzero(kinds), len(text))
    kind = np.append(kinds[at[:-1]], _END)
    fields = list(map(bytes.strip, text.translate(_TO_ENDS).split(b"\n")))
    return at, kind, fields


def _bounds(kind: np.ndarray, lengths: np.ndarray, place: _Place) -> tuple:
    """Return the first field, the tab, the colon and the end of each session."""
    end = np.flatnonzero(kind == _END)
    first = np.append(0, end[:-1] + 1)
    blank = (first == end) & (lengths[first] == 0)
    first, end = first[~blank], end[~blank]
    tabs, colons = np.flatnonzero(kind == _TAB), np.flatnonzero(kind == _COLON)
    wrong = kind[first] != _TAB
    for marks in (tabs, colons):
        wrong |= np.searchsorted(marks, end) - np.searchsorted(marks, first) != 1
    if wrong.any():
        number = int(np.flatnonzero(wrong)[0])
        ends = int(first[number]), int(end[number])
        raise place.error(
            ends[0], f"expected a session {_LAYOUT}, found {place.session(*ends)}"
        )
    # All fields before the first tab of a session stand in others, so these belong to
    # the sessions in turn.
    return first, tabs, colons, end


def _check_fields(lengths: np.ndarray, role: np.ndarray, place: _Place) -> None:
    """Check that no id is empty."""
    empty = np.flatnonzero((role > 0) & (lengths == 0))
    if len(empty):
        what = ("document", "clicked document", "query")[role[empty[0]] - 1]
        raise place.error(int(empty[0]), f"expected the id of a {what}, found nothing")


def _rows_clicked(
    session: np.ndarray,
    document: np.ndarray,
    clicked_in: np.ndarray,
    clicked: np.ndarray,
) -> np.ndarray:
    """Return the first row that shows the clicked document in its session, -1 if none.

    Only sessions with clicks are searched.
    """
    rows = np.flatnonzero(np.isin(session, clicked_in))
    if not len(rows):
        return np.full(len(clicked), -1, dtype=np.intp)
    width = int(document.max()) + 1
    keys = session[rows] * width + document[rows]
    order = np.argsort(keys, kind="stable")
    wanted = clicked_in * width + clicked
    place = np.searchsorted(keys[order], wanted)
    found = order[np.minimum(place, len(order) - 1)]
    shown_there = (clicked >= 0) & (keys[found] == wanted)
    return np.where(shown_there, rows[found], -1)


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the whole numbers from each start on, as many as its size tells."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - ends + sizes, sizes
    )
