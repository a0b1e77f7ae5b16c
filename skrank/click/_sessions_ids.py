"""Columns of ids and clicks as the arrays that `Sessions` holds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from skrank._core._id_arrays import id_array, id_list, joined_ids, unmixed
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex, distinct, rows_of_queries
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_hashable,
    check_no_missing_id,
    naming,
)

# The number of each entry, and the distinct ids that the numbers stand for.
Coded = tuple[np.ndarray, np.ndarray]


def ids_of(ids: Any, name: str, what: str) -> np.ndarray:
    """Return ids as an array, after a check that there is one in every row."""
    array = as_ids(ids, name, what)
    check_no_missing_id(array, name, what)
    check_hashable(array, name)
    return array


def distinct_ids(ids: Any, name: str, what: str) -> np.ndarray:
    """Return ids as an array, after a check that none occurs twice."""
    array = ids_of(ids, name, what)
    if not distinct(array):
        raise ValueError(f"{name} must hold each {what} once")
    return array


def as_codes(values: Any, name: str, dtype: type = np.intp) -> np.ndarray:
    """Return an array of whole numbers, after a check that they are."""
    with naming(name):
        array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, got shape "
            f"{array.shape} and dtype {array.dtype}"
        )
    if not array.size and name == "ptr":
        raise ValueError("ptr must hold at least the bound 0")
    return np.ascontiguousarray(array, dtype=dtype)


def as_clicks(values: Any, name: str = "click") -> np.ndarray:
    """Return clicks as bytes 0 and 1."""
    if isinstance(values, np.ndarray) and values.dtype == np.uint8:
        clicks = values
    else:
        clicks = as_numbers(values, name, "clicks")
    if clicks.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {clicks.shape}")
    wrong = (clicks != 0) & (clicks != 1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name} must hold 0 and 1; entry {row} is {clicks[row]:g} (repeated "
            "clicks on a document count once)"
        )
    return np.ascontiguousarray(clicks, dtype=np.uint8)


class IdCodes:
    """Numbers for ids in the order in which they first come, over several lists.

    Attributes
    ----------
    ids : dict
        The number of each id.
    """

    def __init__(self):
        self.ids: defaultdict[Any, int] = defaultdict(count().__next__)

    def codes_of(self, values: Sequence) -> np.ndarray:
        """Return the number of each value, shape (n_values,); new ones get the next."""
        return np.fromiter(map(self.ids.__getitem__, values), np.intp, len(values))

    def names(self) -> list:
        """Return the ids in the order of their numbers."""
        return list(self.ids)


def coded(ids: np.ndarray) -> Coded:
    """Return the number of each id among the distinct ones, and these in order."""
    if ids.dtype.kind not in "OUS":
        index = QueryIndex.from_groups(ids, canonical=True)
        return index.restore(index.codes), index.ids
    # Twenty times as fast as to sort all strings.
    table = IdCodes()
    codes = table.codes_of(ids.tolist())
    return in_order_of_ids(codes, id_array(table.names()))


def in_order_of_ids(codes: np.ndarray, ids: np.ndarray) -> Coded:
    """Return other numbers for the same ids, which then ascend if they compare."""
    index = QueryIndex.from_groups(ids, canonical=True)
    return index.restore(index.codes)[codes], index.ids


def united(lists: Sequence[Coded]) -> Coded:
    """Return numbers of several lists of ids as numbers of the ids of all of them."""
    if all(ids is lists[0][1] for _, ids in lists):
        return np.concatenate([codes for codes, _ in lists]), lists[0][1]
    places, ids = coded(unmixed(reduce(joined_ids, [ids for _, ids in lists])))
    start, parts = 0, []
    for codes, own in lists:
        parts.append(places[start : start + len(own)][codes])
        start += len(own)
    return np.concatenate(parts), ids


def in_sessions(
    session: Coded,
    query: Coded,
    document: Coded,
    position: np.ndarray | None,
    click: np.ndarray,
) -> tuple:
    """Bring rows of impressions into sessions, and these into the order of first rows.

    Parameters
    ----------
    session, query, document : tuple of ndarray
        Number of each row, and the ids.
    position : ndarray of shape (n_impressions,) or None
        Places, counted from 1. None takes the rows as they stand.
    click : ndarray of shape (n_impressions,), dtype uint8
        Clicks.

    Returns
    -------
    tuple
        Arguments of `Sessions`.

    Raises
    ------
    ValueError
        If a session has two queries, or its positions are not 1 to its length.
    """
    rows, ptr = _rows_of_sessions(*session, position)
    session_ids = session[1][session[0][rows[ptr[:-1]]]]
    queries, query_ids = query[0][rows], query[1]
    first = np.repeat(queries[ptr[:-1]], np.diff(ptr))
    wrong = np.flatnonzero(queries != first)
    if len(wrong):
        names = id_list(query_ids[[first[wrong[0]], queries[wrong[0]]]])
        one = id_list(session[1][session[0][rows[wrong[:1]]]])[0]
        raise ValueError(
            f"query must be the same in all rows of a session; session {shown(one)} "
            f"has {shown(names[0])} and {shown(names[1])}"
        )
    documents, clicks = document[0][rows], click[rows]
    firsts = queries[ptr[:-1]]
    return firsts, documents, clicks, ptr, query_ids, document[1], session_ids


def _rows_of_sessions(
    codes: np.ndarray, ids: np.ndarray, positions: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all sessions, in the order of their places, and the bounds."""
    index = QueryIndex.from_groups(codes)
    rows, ptr = index.take(np.arange(len(codes))), index.ptr
    first = rows[ptr[:-1]]
    if (first[1:] < first[:-1]).any():  # not yet in the order of their first rows
        places, ptr = rows_of_queries(ptr, np.argsort(first))
        rows = rows[places]
    if positions is None:
        return rows, ptr
    sessions = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    expected = np.arange(1, len(rows) + 1) - ptr[sessions]
    if not np.array_equal(positions[rows], expected):
        rows = rows[np.lexsort((positions[rows], sessions))]
    wrong = np.flatnonzero(positions[rows] != expected)
    if len(wrong):
        session = sessions[wrong[0]]
        found = positions[rows[ptr[session] : ptr[session + 1]]].tolist()
        one = id_list(ids[codes[rows[wrong[:1]]]])[0]
        raise ValueError(
            "position must count the documents of a session from 1 to "
            f"{len(found)}; session {shown(one)} has {shown(found)}"
        )
    return rows, ptr


def flat(lists: Iterable[Sequence]) -> list:
    """Return the entries of all lists, one after another."""
    return [entry for row in lists for entry in row]


def entries(values: Any, name: str, what: str) -> list:
    """Return the entries of an argument that must hold several."""
    try:
        if isinstance(values, (str, bytes, Mapping)):
            raise TypeError
        return list(values)
    except TypeError:
        raise TypeError(
            f"{name} must be a sequence of {what}, got {shown(values)}"
        ) from None


def lists_of(rows: Any, name: str) -> list[list]:
    """Return the lists of an argument that must hold one for each session."""
    return [entries(row, name, "lists") for row in entries(rows, name, "lists")]
