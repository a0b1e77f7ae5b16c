"""Users and rankers that meet: lists are shown, clicked on, and learned from."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from skrank._core._queries import rows_of_queries, take_rows
from skrank._core._validation import check_grades
from skrank._rows import GroupedRows
from skrank.click import SimulatedUser
from skrank.metrics import BaseMeasure
from skrank.online._base import Lists

#: A user, or the behaviour of one who looks at one document after the other.
User = SimulatedUser | Literal["perfect", "navigational", "informational"]

# Impressions between two looks at what was shown: their documents are kept till then.
_CHUNK = 2048


def user_of(user: User) -> SimulatedUser:
    """Return a user, of whom only the behaviour may be given."""
    return user if isinstance(user, SimulatedUser) else SimulatedUser(user)


class Audience:
    """Users of one kind, whose clicks depend on the grades of all documents.

    Probabilities of clicks are looked up once: to look up those of each list anew would
    take longer than to learn from it.

    Parameters
    ----------
    user : SimulatedUser or str
        User, or the behaviour of one.
    y : ndarray of shape (n_documents,)
        Grades; without ``max_grade``, those of all documents tell the best one.
    """

    def __init__(self, user: User, y: np.ndarray):
        self._user = user_of(user)
        grades = check_grades(y)
        self._attraction = self._user.click_probability(grades)
        self._stop = self._user.stop_probability(grades)

    def click(self, rows: np.ndarray, ptr: np.ndarray, rng) -> np.ndarray:
        """Draw clicks on lists of documents.

        Parameters
        ----------
        rows : ndarray of shape (n_shown,)
            Documents in the order in which they are shown, list after list.
        ptr : ndarray of shape (n_impressions + 1,)
            Bounds of the lists, none of which is empty.
        rng : RandomState
            Source of randomness.

        Returns
        -------
        ndarray of shape (n_shown,), dtype uint8
            1 for documents that are clicked.
        """
        return self._user._clicks(self._attraction[rows], self._stop[rows], ptr, rng)


class LearnsFromClicks(Protocol):
    """What a ranker needs to meet users."""

    def _show(self, X: Any, ptr: np.ndarray, rng) -> Lists: ...

    def _follow(
        self, X: Any, ptr: np.ndarray, lists: Lists, clicked: np.ndarray, weight: Any
    ) -> None: ...


class Shown(NamedTuple):
    """Documents that were shown in some impressions.

    Attributes
    ----------
    queries : ndarray of shape (n_impressions,)
        Query of each impression.
    rows : ndarray of shape (n_shown,)
        Rows of the documents.
    ptr : ndarray of shape (n_impressions + 1,)
        Bounds of the lists.
    n_clicks : int
        Number of clicks.
    """

    queries: np.ndarray
    rows: np.ndarray
    ptr: np.ndarray
    n_clicks: int


def interact(
    ranker: LearnsFromClicks,
    data: GroupedRows,
    audience: Audience,
    queries: np.ndarray,
    rng,
    batch_size: int = 1,
) -> Iterator[Shown]:
    """Show lists to users and learn from their clicks, one batch after the other.

    Parameters
    ----------
    ranker : object
        What shows and learns.
    data : GroupedRows
        Documents of the queries.
    audience : Audience
        Users.
    queries : ndarray of shape (n_impressions,)
        Query of each impression.
    rng : RandomState
        Source of randomness.
    batch_size : int, default=1
        Number of impressions whose clicks are learned from together.

    Yields
    ------
    Shown
        What was shown in the last few thousand impressions.
    """
    weights = _query_weights(data)
    for start in range(0, len(queries), _CHUNK * batch_size):
        chunk = queries[start : start + _CHUNK * batch_size]
        shown, sizes, n_clicks = [], [], 0
        for first in range(0, len(chunk), batch_size):
            batch = chunk[first : first + batch_size]
            rows, ptr = _rows_of(data.ptr, batch)
            X = take_rows(data.X, rows)
            lists = ranker._show(X, ptr, rng)
            within = np.repeat(data.ptr[batch], np.diff(lists.ptr)) + lists.shown
            clicked = audience.click(within, lists.ptr, rng)
            weight = None if weights is None else weights[batch]
            ranker._follow(X, ptr, lists, clicked, weight)
            shown.append(within)
            sizes.append(np.diff(lists.ptr))
            n_clicks += int(clicked.sum())
        bounds = np.concatenate(([0], np.cumsum(np.concatenate(sizes))))
        yield Shown(chunk, np.concatenate(shown), bounds, n_clicks)


def _rows_of(ptr, batch) -> tuple[Any, np.ndarray]:
    """Return the rows of some queries, and the bounds of these."""
    if len(batch) == 1:  # of one query, rows need not be copied
        start, stop = ptr[batch[0]], ptr[batch[0] + 1]
        return slice(start, stop), np.array([0, stop - start], dtype=np.intp)
    return rows_of_queries(ptr, batch)


def _query_weights(data: GroupedRows) -> np.ndarray | None:
    if data.sample_weight is None:
        return None
    sums = np.add.reduceat(np.asarray(data.sample_weight, float), data.ptr[:-1])
    return sums / data.sizes


def values_of_lists(
    measure: BaseMeasure, y: np.ndarray, ptr: np.ndarray, shown: Shown
) -> np.ndarray:
    """Return the measure of what was shown, shape (n_impressions,).

    Documents of the query that were not shown count as not retrieved.
    """
    rows, bounds = rows_of_queries(ptr, shown.queries)
    scores = np.full(len(rows), -np.inf)
    sizes = np.diff(shown.ptr)
    places = np.arange(len(shown.rows)) - np.repeat(shown.ptr[:-1], sizes)
    shift = np.repeat(bounds[:-1] - ptr[shown.queries], sizes)
    scores[shown.rows + shift] = -places
    return measure.per_query(np.asarray(y, dtype=np.float64)[rows], scores, bounds)
