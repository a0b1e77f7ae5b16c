"""The container of interaction logs: what users were shown, and what they clicked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_list, joined_ids
from skrank._core._levels import is_frame
from skrank._core._messages import shown
from skrank._core._queries import distinct, rows_of_queries
from skrank._core._validation import as_numbers
from skrank.click._models import number_pairs
from skrank.click._sessions_ids import (
    as_clicks,
    as_codes,
    coded,
    distinct_ids,
    entries,
    flat,
    ids_of,
    in_sessions,
    lists_of,
    united,
)
from skrank.datasets._container import import_pandas

COLUMNS = ("session", "query", "document", "position", "click")


@dataclass(frozen=True, eq=False, repr=False)
class Sessions:
    r"""Sessions of users: a query, the documents shown for it, and the clicks on them.

    A session holds one query and the list of documents that was shown for it, the best
    place first. A row, called an impression, is one document of one list. All rows
    stand in a few arrays: those of session :math:`s` are ``ptr[s]:ptr[s + 1]``, from
    the first place to the last. Queries and documents are numbers that point into
    ``query_ids`` and ``document_ids``.

    `from_arrays`, `from_lists`, `from_frame` and `load_sessions` make it from ids; the
    constructor takes the numbers themselves, checks them and does not copy arrays of
    the right type. Sessions can be sliced: ``sessions[:100]``, with a mask or with an
    array of numbers, so that the splitters and ``cross_val_score`` of scikit-learn take
    them. Slices keep the ids of the whole. A slice of whole numbers from one session to
    the next does not copy its rows.

    Parameters
    ----------
    query : array-like of shape (n_sessions,), dtype intp
        Number of the query of each session.
    document : array-like of shape (n_impressions,), dtype intp
        Number of the document of each impression.
    click : array-like of shape (n_impressions,), dtype uint8
        1 for documents that were clicked, otherwise 0.
    ptr : array-like of shape (n_sessions + 1,), dtype intp
        Bounds of the sessions.
    query_ids : array-like of shape (n_queries,)
        Ids of the queries, of any hashable kind, each once.
    document_ids : array-like of shape (n_documents,)
        Ids of the documents, of any hashable kind, each once.
    session_ids : array-like of shape (n_sessions,), default=None
        Ids of the sessions. None if they have none.

    Raises
    ------
    ValueError
        If lengths do not belong together, a number has no id, bounds do not ascend, a
        click is neither 0 nor 1, or an id is missing or occurs twice.

    Notes
    -----
    Repeated clicks on a document count once. The same document may stand in a list
    more than once.

    Examples
    --------
    >>> from skrank.click import Sessions
    >>> sessions = Sessions.from_lists(
    ...     ["jaguar", "jaguar"], [["car", "cat"], ["cat", "car"]], [[0, 1], [1, 0]]
    ... )
    >>> sessions
    Sessions(n_sessions=2, n_impressions=4, n_clicks=2, n_queries=1, n_documents=2)
    >>> sessions.document_ids[sessions.document].tolist()
    ['car', 'cat', 'cat', 'car']
    >>> sessions[1:].click.tolist()
    [1, 0]
    """

    query: np.ndarray
    document: np.ndarray
    click: np.ndarray
    ptr: np.ndarray
    query_ids: np.ndarray
    document_ids: np.ndarray
    session_ids: np.ndarray | None = field(default=None)

    def __post_init__(self):
        checked = {
            "query": as_codes(self.query, "query"),
            "document": as_codes(self.document, "document"),
            "click": as_clicks(self.click),
            "ptr": as_codes(self.ptr, "ptr"),
            "query_ids": distinct_ids(self.query_ids, "query_ids", "query id"),
            "document_ids": distinct_ids(
                self.document_ids, "document_ids", "document id"
            ),
        }
        if self.session_ids is not None:
            ids = ids_of(self.session_ids, "session_ids", "session id")
            checked["session_ids"] = ids
        for name, array in checked.items():
            # Kernels trust what was checked here: nobody may change it later.
            array = array.view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check()

    def _check(self):
        n, n_rows, ptr = len(self.query), len(self.document), self.ptr
        if len(ptr) != n + 1 or ptr[0] != 0 or ptr[-1] != n_rows:
            raise ValueError(
                f"ptr must hold the {n + 1} bounds of the {n} sessions of query, from "
                f"0 to the number of entries of document, {n_rows}; got {shown(ptr)}"
            )
        if (ptr[1:] < ptr[:-1]).any():
            raise ValueError("ptr must ascend, because it bounds the sessions")
        if len(self.click) != n_rows:
            raise ValueError(
                f"click must hold one entry per impression: found {len(self.click)} "
                f"for {n_rows} documents"
            )
        if self.session_ids is not None and len(self.session_ids) != n:
            raise ValueError(
                f"session_ids must hold one id per session: found "
                f"{len(self.session_ids)} for {n} sessions"
            )
        for name, codes, ids in (
            ("query", self.query, self.query_ids),
            ("document", self.document, self.document_ids),
        ):
            if len(codes) and (codes.min() < 0 or codes.max() >= len(ids)):
                raise ValueError(
                    f"{name} must hold numbers of {name}_ids, from 0 to {len(ids) - 1}"
                    f"; found {codes.min()} to {codes.max()}"
                )

    @classmethod
    def from_arrays(
        cls,
        session: npt.ArrayLike,
        query: npt.ArrayLike,
        document: npt.ArrayLike,
        position: npt.ArrayLike | None,
        click: npt.ArrayLike,
    ) -> Self:
        """Make sessions from columns with one row per impression, in any order.

        Parameters
        ----------
        session : array-like of shape (n_impressions,)
            Id of the session of each row, of any hashable kind.
        query : array-like of shape (n_impressions,)
            Id of the query; the same in all rows of a session.
        document : array-like of shape (n_impressions,)
            Id of the document.
        position : array-like of shape (n_impressions,) or None
            Place of the document in its list, counted from 1. None takes the rows of
            each session in the order in which they stand.
        click : array-like of shape (n_impressions,)
            1 or True for documents that were clicked, otherwise 0 or False.

        Returns
        -------
        Sessions
            Sessions in the order of their first rows, with ``session_ids``.
            Complexity: O(n log n), and O(n) for sessions whose rows are adjacent and
            in order, apart from the ids.

        Raises
        ------
        ValueError
            If columns differ in length, an id is missing, a session has two queries,
            the positions of a session are not 1 to its number of rows, or a click is
            neither 0 nor 1.

        Examples
        --------
        >>> from skrank.click import Sessions
        >>> sessions = Sessions.from_arrays(
        ...     session=[1, 1, 2], query=["q", "q", "p"], document=["b", "a", "a"],
        ...     position=[2, 1, 1], click=[1, 0, 0],
        ... )
        >>> sessions.document_ids[sessions.document].tolist(), sessions.click.tolist()
        (['a', 'b', 'a'], [0, 1, 0])
        """
        columns = {
            "session": ids_of(session, "session", "session id"),
            "query": ids_of(query, "query", "query id"),
            "document": ids_of(document, "document", "document id"),
            "click": as_clicks(click),
        }
        n = len(columns["session"])
        if position is not None:
            columns["position"] = as_numbers(position, "position", "places").ravel()
        for name, column in columns.items():
            if len(column) != n:
                raise ValueError(
                    f"{name} must hold one entry per impression: found {len(column)} "
                    f"for {n} entries of session"
                )
        sessions, queries, documents = (
            coded(columns[name]) for name in ("session", "query", "document")
        )
        places = columns.get("position")
        return cls(*in_sessions(sessions, queries, documents, places, columns["click"]))

    @classmethod
    def from_lists(
        cls,
        queries: npt.ArrayLike,
        documents: Iterable[Sequence],
        clicks: Iterable[Sequence],
        session_ids: npt.ArrayLike | None = None,
    ) -> Self:
        """Make sessions from one list of documents and one of clicks per session.

        Parameters
        ----------
        queries : array-like of shape (n_sessions,)
            Id of the query of each session.
        documents : iterable of sequences
            Ids of the documents shown, the first place first.
        clicks : iterable of sequences
            0 or 1 for each document.
        session_ids : array-like of shape (n_sessions,), default=None
            Ids of the sessions.

        Returns
        -------
        Sessions

        Raises
        ------
        ValueError
            If lists differ in length, an id is missing or a click is neither 0 nor 1.

        Examples
        --------
        >>> from skrank.click import Sessions
        >>> Sessions.from_lists(["q"], [["a", "b", "c"]], [[0, 1, 0]]).ptr.tolist()
        [0, 3]
        """
        shown_lists = lists_of(documents, "documents")
        click_lists = lists_of(clicks, "clicks")
        query_codes, query_ids = coded(ids_of(queries, "queries", "query id"))
        if not len(query_codes) == len(shown_lists) == len(click_lists):
            raise ValueError(
                f"queries, documents and clicks must hold one entry per session, got "
                f"{len(query_codes)}, {len(shown_lists)} and {len(click_lists)}"
            )
        for i, (row, marks) in enumerate(zip(shown_lists, click_lists)):
            if len(row) != len(marks):
                raise ValueError(
                    f"clicks must hold one entry per document: session {i} has "
                    f"{len(marks)} for {len(row)} documents"
                )
        ptr = np.concatenate(([0], np.cumsum([len(row) for row in shown_lists])))
        documents = ids_of(flat(shown_lists), "documents", "document id")
        codes, document_ids = coded(documents)
        click = as_numbers(flat(click_lists), "clicks")
        ids = None
        if session_ids is not None:
            ids = ids_of(session_ids, "session_ids", "session id")
        ptr = ptr.astype(np.intp)
        return cls(query_codes, codes, click, ptr, query_ids, document_ids, ids)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        session: str = "session",
        query: str = "query",
        document: str = "document",
        position: str | None = "position",
        click: str = "click",
    ) -> Self:
        """Make sessions from a data frame with one row per impression, in any order.

        Parameters
        ----------
        frame : DataFrame
            Table of pandas or polars.
        session, query, document : str
            Names of its columns of ids, as `from_arrays` takes them.
        position : str or None, default="position"
            Name of the column of places, counted from 1. None takes the rows of each
            session in the order in which they stand.
        click : str, default="click"
            Name of the column of clicks.

        Returns
        -------
        Sessions
            Sessions in the order of their first rows, with ``session_ids``.

        Raises
        ------
        TypeError
            If it is no data frame.
        ValueError
            If there is no such column, or as told in `from_arrays`.
        """
        if not is_frame(frame) or not hasattr(frame, "shape"):
            raise TypeError(f"frame must be a data frame, got {shown(frame)}")
        own = list(frame.columns)
        columns = []
        for name in (session, query, document, position, click):
            if name is None:
                columns.append(None)
                continue
            if not isinstance(name, str):
                raise TypeError(
                    "session, query, document, position and click must be names of "
                    f"columns, got {shown(name)}"
                )
            if own.count(name) != 1:
                problem = "has no" if name not in own else "has more than one"
                raise ValueError(
                    f"frame {problem} column {shown(name)}; its columns are "
                    f"{shown(own)}"
                )
            columns.append(frame[name])
        return cls.from_arrays(*columns)

    @classmethod
    def concat(cls, parts: Iterable["Sessions"]) -> Self:
        """Join sessions of several logs; equal ids are the same query or document.

        Parameters
        ----------
        parts : iterable of Sessions
            Sessions to join, at least one.

        Returns
        -------
        Sessions
            All sessions, in their order. It has ``session_ids`` if all parts have.

        Raises
        ------
        TypeError
            If a part is not of this class.
        ValueError
            If there is none.

        Examples
        --------
        >>> from skrank.click import Sessions
        >>> one = Sessions.from_lists(["q"], [["a", "b"]], [[0, 1]])
        >>> two = Sessions.from_lists(["p"], [["b", "c"]], [[1, 0]])
        >>> Sessions.concat([one, two]).document_ids.tolist()
        ['a', 'b', 'c']
        """
        parts = entries(parts, "parts", "Sessions")
        if not parts:
            raise ValueError("parts must hold at least one log of sessions")
        for part in parts:
            check_sessions(part, "parts", "a sequence of Sessions")
        query, query_ids = united([(p.query, p.query_ids) for p in parts])
        document, document_ids = united([(p.document, p.document_ids) for p in parts])
        ids = [p.session_ids for p in parts if p.session_ids is not None]
        sizes = np.concatenate([p.sizes for p in parts])
        return cls(
            query,
            document,
            np.concatenate([p.click for p in parts]),
            np.concatenate(([0], np.cumsum(sizes))).astype(np.intp),
            query_ids,
            document_ids,
            reduce(joined_ids, ids) if len(ids) == len(parts) else None,
        )

    def __len__(self) -> int:
        return len(self.query)

    @property
    def shape(self) -> tuple[int]:
        """Number of sessions, as a tuple; scikit-learn counts samples by it."""
        return (len(self.query),)

    @property
    def n_impressions(self) -> int:
        """Number of documents shown, over all sessions."""
        return len(self.document)

    @property
    def n_clicks(self) -> int:
        """Number of impressions that were clicked."""
        return int(np.count_nonzero(self.click))

    @property
    def sizes(self) -> np.ndarray:
        """Number of documents of each session, shape (n_sessions,)."""
        return np.diff(self.ptr)

    @cached_property
    def session(self) -> np.ndarray:
        """Number of the session of each impression, shape (n_impressions,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def position(self) -> np.ndarray:
        """Place of each impression in its list, from 1, shape (n_impressions,)."""
        return np.arange(1, self.n_impressions + 1) - self.ptr[self.session]

    def __repr__(self) -> str:
        return (
            f"Sessions(n_sessions={len(self)}, n_impressions={self.n_impressions}, "
            f"n_clicks={self.n_clicks}, n_queries={len(self.query_ids)}, "
            f"n_documents={len(self.document_ids)})"
        )

    def __getitem__(self, index: Any) -> Self:
        # scikit-learn asks for the rows of arrays by (rows, ...).
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]
        chosen = self._chosen(index)
        if isinstance(chosen, slice):
            start, stop = chosen.start, chosen.stop
            rows = slice(self.ptr[start], self.ptr[stop])
            ptr = self.ptr[start : stop + 1] - self.ptr[start]
        else:
            rows, ptr = rows_of_queries(self.ptr, chosen)
        ids = self.session_ids
        return self._of_rows(
            query=self.query[chosen],
            document=self.document[rows],
            click=self.click[rows],
            ptr=ptr,
            session_ids=None if ids is None else ids[chosen],
        )

    def _of_rows(self, **arrays: np.ndarray | None) -> Self:
        """Return sessions with other rows and the same ids, which need no check."""
        part = object.__new__(type(self))
        arrays = {"query_ids": self.query_ids, "document_ids": self.document_ids} | (
            arrays
        )
        for name, array in arrays.items():
            if array is not None:
                array = np.ascontiguousarray(array).view()
                array.flags.writeable = False
            object.__setattr__(part, name, array)
        return part

    def _chosen(self, index: Any) -> Any:
        """Return the numbers of the chosen sessions, or a slice of step 1."""
        n = len(self)
        if isinstance(index, slice):
            start, stop, step = index.indices(n)
            if step == 1:
                return slice(start, max(start, stop))
            return np.arange(start, stop, step, dtype=np.intp)
        numbers = np.asarray(index)
        if numbers.dtype.kind not in "biu" and numbers.size:
            raise TypeError(
                "sessions are chosen by a slice, a mask or an array of numbers, got "
                f"{shown(index)}"
            )
        if numbers.dtype.kind == "b":
            if numbers.shape != (n,):
                raise IndexError(
                    f"a mask of sessions must have shape ({n},), got {numbers.shape}"
                )
            return np.flatnonzero(numbers)
        numbers = np.atleast_1d(numbers).astype(np.intp)
        if numbers.ndim != 1:
            raise IndexError(
                f"numbers of sessions must be one-dimensional, got {numbers.shape}"
            )
        if len(numbers) and (numbers.min() < -n or numbers.max() >= n):
            raise IndexError(
                f"numbers of sessions must be from {-n} to {n - 1}, found "
                f"{numbers.min()} to {numbers.max()}"
            )
        return np.where(numbers < 0, numbers + n, numbers)

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number the distinct pairs of query and document.

        Returns
        -------
        pair : ndarray of shape (n_impressions,), dtype intp
            Number of the pair of each impression.
        pair_query : ndarray of shape (n_pairs,), dtype intp
            Number of the query of each pair, in ascending order.
        pair_document : ndarray of shape (n_pairs,), dtype intp
            Number of the document of each pair; ascending within a query.

        Examples
        --------
        >>> from skrank.click import Sessions
        >>> lists = [["a", "b"], ["b", "a"], ["a"]]
        >>> clicks = [[0, 1], [1, 0], [0]]
        >>> sessions = Sessions.from_lists(["q", "q", "p"], lists, clicks)
        >>> pair, pair_query, pair_document = sessions.pairs()
        >>> pair.tolist(), pair_query.tolist(), pair_document.tolist()
        ([1, 2, 2, 1, 0], [0, 1, 1], [0, 0, 1])
        """
        return self._pairs

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        arrays = number_pairs(
            np.repeat(self.query, self.sizes),
            self.document,
            len(self.query_ids),
            len(self.document_ids),
        )
        for array in arrays:
            array.flags.writeable = False
        return arrays

    def compact(self) -> Self:
        """Leave out the ids of queries and documents that do not occur.

        Returns
        -------
        Sessions
            The same sessions, with other numbers.
        """
        queries, query = np.unique(self.query, return_inverse=True)
        documents, document = np.unique(self.document, return_inverse=True)
        return replace(
            self,
            query=query,
            document=document,
            query_ids=self.query_ids[queries],
            document_ids=self.document_ids[documents],
        )

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns of a table with one row per impression.

        Returns
        -------
        dict of str to ndarray
            Columns ``session``, ``query``, ``document``, ``position`` and ``click``, as
            `from_arrays` takes them. Numbers from 0 stand for sessions without ids.

        Raises
        ------
        ValueError
            If two sessions have the same id, so that their rows could not be told
            apart, as after resampling.
        """
        ids = self.session_ids
        if ids is not None and not distinct(ids):
            raise ValueError(
                "session_ids holds an id twice, so that a table could not tell the "
                "rows of these sessions apart; dataclasses.replace(sessions, "
                "session_ids=None) leaves the ids out"
            )
        return {
            "session": self.session if ids is None else ids[self.session],
            "query": self.query_ids[self.query[self.session]],
            "document": self.document_ids[self.document],
            "position": self.position,
            "click": self.click,
        }

    def to_frame(self) -> Any:
        """Convert to a data frame of pandas with one row per impression.

        Returns
        -------
        DataFrame
            The columns of `columns`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If two sessions have the same id.
        """
        pd = import_pandas("Sessions.to_frame")
        columns = {
            name: pd.Series(id_list(column), dtype=object)
            if column.dtype.kind in "OUS"
            else column
            for name, column in self.columns().items()
        }
        return pd.DataFrame(columns)


def check_sessions(sessions: Any, name: str = "sessions", what: str = "") -> Sessions:
    """Check that an argument holds sessions.

    Parameters
    ----------
    sessions : object
        Argument.
    name : str, default="sessions"
        Its name.
    what : str, default=""
        What it must be, if that is not Sessions.

    Returns
    -------
    Sessions

    Raises
    ------
    TypeError
        If it holds something else.
    """
    if not isinstance(sessions, Sessions):
        raise TypeError(
            f"{name} must be {what or 'Sessions'}, such as Sessions.from_arrays or "
            f"load_sessions return, got {shown(sessions)}"
        )
    return sessions
