"""Logs of clicks, summed up over the documents that rankers are compared on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown, words_of
from skrank._core._queries import QueryIndex
from skrank._core._segments import segment_sum
from skrank._core._validation import as_numbers, naming
from skrank.click import Sessions, to_propensities
from skrank.click._browsing import BaseBrowsingModel
from skrank.click._labels import is_column
from skrank.click._pair_table import PairTable, places_among
from skrank.click._sessions import check_sessions
from skrank.click._sessions_ids import coded, ids_of
from skrank.click._sessions_lookup import _raise_missing, find_rows
from skrank.unbiased._positions import (
    MOST,
    at_positions,
    check_curve,
    check_propensities,
)

# Impressions that are less likely to be looked at cannot stand for others.
LEAST = 1e-100
# Rewards, weights and predictions may have this size; squares of products stay finite.
LARGEST = 1e50
# Groups of sessions whose sums are kept, so that logs need not be: a thousand of them
# tell a standard error to about two percent.
N_GROUPS = 4096


class Documents:
    """Documents of queries, grouped by query, that the impressions of a log are among.

    Parameters
    ----------
    groups : array-like of shape (n_documents,)
        Query id of each document.
    docids : array-like of shape (n_documents,)
        Document id of each.

    Attributes
    ----------
    index : QueryIndex
        Queries.
    groups, docids : ndarray of shape (n_documents,)
        Ids in the order of the queries, and of the documents of each.
    """

    def __init__(self, groups: npt.ArrayLike, docids: npt.ArrayLike):
        queries = ids_of(groups, "groups", "query id")
        documents = ids_of(docids, "docids", "document id")
        if not len(queries):
            raise ValueError("groups must hold at least one query id, got none")
        find_rows(queries[:0], documents[:0], queries, documents)  # twice the same?
        self.index = _index_of(queries, documents)
        self.groups = self.index.take(queries)
        self.docids = self.index.take(documents)
        own = coded(self.groups), coded(self.docids)
        (query, query_ids), (document, document_ids) = own
        self._table, places = PairTable.of_ids(query_ids, document_ids, query, document)
        rows = np.arange(len(query))
        if places is not None:
            rows[places] = np.arange(len(query))
        # A pair that is not known is number −1: the last one.
        self._row_of_pair = np.append(rows, -1)
        numbers = np.zeros(len(self._table.query_ids), dtype=np.intp)
        numbers[self._table.query] = self.index.codes[rows]
        self._number_of_query = np.append(numbers, -1)

    def __len__(self) -> int:
        return len(self.groups)

    def rows_of(self, sessions: Sessions, missing: str) -> np.ndarray:
        """Return the row of each impression, −1 where it has none."""
        pair, query, document = sessions.pairs()
        known = self._table.locate(sessions)
        if missing == "raise" and (known < 0).any():
            of_pair = np.zeros(len(query), dtype=np.intp)
            of_pair[pair] = known
            _raise_missing(
                sessions.query_ids[query],
                sessions.document_ids[document],
                of_pair < 0,
                self.groups,
                self.docids,
            )
        return self._row_of_pair[known]

    def queries_of(self, sessions: Sessions) -> np.ndarray:
        """Return the number of the query of each session, −1 where it has none."""
        places = places_among(self._table.query_ids, sessions.query_ids)
        return self._number_of_query[places][sessions.query]


def _index_of(queries: np.ndarray, documents: np.ndarray) -> QueryIndex:
    """Return the index of queries in which documents come in the order of their ids.

    Sums over the documents of a query then do not depend on the order of the rows.
    """
    by_document = np.argsort(coded(documents)[0], kind="stable")
    index = QueryIndex.from_groups(queries[by_document], canonical=True)
    order = index.take(by_document)
    if np.array_equal(order, np.arange(len(order))):
        return replace(index, order=None)
    return replace(index, order=order)


def examination_of(
    source: Any, sessions: Sessions, given: npt.ArrayLike | None
) -> np.ndarray:
    """Return how likely each impression was looked at, shape (n_impressions,).

    Parameters
    ----------
    source : object or None
        Curve of places, or what `to_propensities` takes for a model.
    sessions : Sessions
        Log.
    given : array-like of shape (n_impressions,) or None
        Propensity of each impression, in place of the source.

    Raises
    ------
    ValueError
        If there is neither source nor propensities, or both.
    """
    if given is not None:
        if source is not None:
            raise ValueError(
                "propensities came with the log and as a parameter; set the parameter "
                "to None, or leave those of the impressions out"
            )
        return check_propensities(given, sessions.n_impressions)
    if source is None:
        raise ValueError(
            "propensities must be given: a curve of places, a model of clicks or an "
            "estimator of propensities as the parameter, or one number for each "
            "impression as the argument of evaluate"
        )
    if is_column(source):
        return at_positions(check_curve(source), sessions.position)
    try:
        examined = to_propensities(source, sessions, clip=LEAST)
    except (TypeError, ValueError) as error:  # which speak of its argument model
        words = re.sub(r"^(the function )?model\b", "propensities", words_of(error))
        with naming("propensities"):
            raise type(error)(words) from None
    if isinstance(source, BaseBrowsingModel):
        # A log tells examination but for a factor. The first place is taken to be
        # looked at always, as estimators of propensities do.
        first = examined[sessions.position == 1].max(initial=LEAST)
        examined = np.minimum(examined / first, 1.0)
    return examined


# Attributes of the sums below that have a number for each document.
_OF_DOCUMENTS = (
    "clicks",
    "examined",
    "weight",
    "square",
    "predicted",
    "supported",
    "full_weight",
)


@dataclass
class Sums:
    """What a log says of each document, whatever the ranker that is asked about.

    Attributes
    ----------
    sessions : ndarray of shape (n_queries,)
        Number of sessions of each query.
    clicks : ndarray of shape (n_documents,)
        Number of clicks on each document.
    examined : ndarray of shape (n_documents,)
        Sum of the probabilities that it was looked at.
    weight, square : ndarray of shape (n_documents,)
        Sum of the weights of its clicks, and of their squares.
    predicted : ndarray of shape (n_documents,)
        What ``weight`` would be in the mean if every look were a click.
    supported : ndarray of shape (n_documents,)
        Number of sessions that have a say about it.
    full_weight : ndarray of shape (n_documents,)
        Sum of the weights of its clicks without clipping.
    n_unranked, n_left_out : int
        Number of impressions, and of sessions, whose document or query is not known.
    """

    sessions: np.ndarray
    clicks: np.ndarray
    examined: np.ndarray
    weight: np.ndarray
    square: np.ndarray
    predicted: np.ndarray
    supported: np.ndarray
    full_weight: np.ndarray
    n_unranked: int = 0
    n_left_out: int = 0

    @classmethod
    def zeros(cls, n_queries: int, n_documents: int) -> "Sums":
        """Return the sums of an empty log."""
        zeros = np.zeros((len(_OF_DOCUMENTS), n_documents))
        of_documents: dict[str, Any] = dict(zip(_OF_DOCUMENTS, zeros))
        return cls(np.zeros(n_queries), **of_documents)

    def weigh(self, exposure: np.ndarray, clip: float, ptr: np.ndarray) -> None:
        """Weigh all clicks on a document by the inverse of one number."""
        inverse = inverse_of(exposure, clip)
        self.weight, self.square = self.clicks * inverse, self.clicks * inverse**2
        self.predicted = self.examined * inverse
        self.full_weight = self.clicks * inverse_of(exposure, 0.0)
        self.supported = np.repeat(self.sessions, np.diff(ptr)) * (exposure > LEAST)

    def leave_out(self, queries: np.ndarray, ptr: np.ndarray) -> None:
        """Forget what the log says of some queries, given by a mask."""
        self.sessions[queries] = 0.0
        rows = np.repeat(queries, np.diff(ptr))
        for name in _OF_DOCUMENTS:
            getattr(self, name)[rows] = 0.0


def inverse_of(propensity: np.ndarray, clip: float) -> np.ndarray:
    """Return clipped inverse propensities, 0 where nothing is ever looked at."""
    inverse = np.zeros(len(propensity))
    floored = np.maximum(propensity, clip)
    np.divide(1.0, floored, out=inverse, where=propensity > LEAST)
    return inverse


@dataclass(frozen=True)
class Part:
    """Some sessions of a log, and where their documents stand.

    Attributes
    ----------
    click : ndarray of shape (n_impressions,), dtype float64
        Clicks; 0 for documents that are not known.
    ptr : ndarray of shape (n_sessions + 1,)
        Bounds of the sessions.
    row : ndarray of shape (n_impressions,)
        Row of each impression; 0 where it is not known.
    query : ndarray of shape (n_sessions,)
        Number of the query of each session, −1 where it is not known.
    examined : ndarray of shape (n_impressions,)
        Probability of a look; 0 for documents that are not known.
    """

    click: np.ndarray
    ptr: np.ndarray
    row: np.ndarray
    query: np.ndarray
    examined: np.ndarray
    n_unranked: int

    def weights(self, exposure: np.ndarray | None, clip: float) -> np.ndarray:
        """Return the weight that a click on each impression would have."""
        seen = self.examined if exposure is None else exposure[self.row]
        weights = inverse_of(seen, clip)
        weights[self.examined == 0] = 0.0
        return weights

    def add_to(self, sums: Sums, clip: float, *, fixed: bool) -> None:
        """Add the sessions to the sums of a log.

        Parameters
        ----------
        sums : Sums
            Sums.
        clip : float
            Least propensity.
        fixed : bool
            Whether clicks weigh by the place where they happened.
        """
        n = len(sums.clicks)
        add = lambda numbers: np.bincount(self.row, numbers, n)
        known = self.query >= 0
        sums.sessions += np.bincount(self.query[known], minlength=len(sums.sessions))
        sums.clicks += add(self.click)
        sums.examined += add(self.examined)
        sums.n_unranked += self.n_unranked
        sums.n_left_out += int(np.count_nonzero(~known))
        if not fixed:
            return
        weights = self.weights(None, clip)
        sums.weight += add(self.click * weights)
        sums.square += add(self.click * weights**2)
        sums.predicted += add(self.examined * weights)
        sums.supported += add((weights > 0).astype(np.float64))
        whole = inverse_of(self.examined, 0.0)
        sums.full_weight += add(self.click * whole)

    def values(self, each: np.ndarray) -> np.ndarray:
        """Return the sum of numbers of impressions over each session."""
        return segment_sum(np.ascontiguousarray(each), self.ptr)


def parts_of(
    sessions: Any,
    documents: Documents,
    source: Any,
    given: npt.ArrayLike | None,
    missing: str,
    *,
    needed: bool,
) -> Iterator[Part]:
    """Yield the parts of a log with the places of their documents.

    Parameters
    ----------
    sessions : Sessions or iterable of Sessions
        Log, or its parts.
    documents : Documents
        Documents that are ranked.
    source : object or None
        Where propensities come from.
    given : array-like of shape (n_impressions,) or None
        Propensity of each impression.
    missing : {"raise", "drop"}
        What is done with impressions that are of no document.
    needed : bool
        Whether there must be propensities.
    """
    for part in _sequence_of(sessions, given):
        row = documents.rows_of(part, missing)
        if needed or source is not None or given is not None:
            examined = examination_of(source, part, given)
        else:
            examined = np.ones(part.n_impressions)
        known = row >= 0
        click = np.where(known, part.click, 0).astype(np.float64)
        query = documents.queries_of(part)
        yield Part(
            click,
            part.ptr,
            np.where(known, row, 0),
            query,
            np.where(known, examined, 0.0),
            int(np.count_nonzero(~known & (query >= 0)[part.session])),
        )


def _sequence_of(sessions, given) -> Iterable[Sessions]:
    if isinstance(sessions, Sessions):
        return [sessions]
    wrong = isinstance(sessions, (str, bytes, Mapping, np.ndarray, type))
    try:
        parts = iter(() if wrong else sessions)
    except TypeError:
        wrong, parts = True, iter(())
    if wrong:
        check_sessions(sessions, what="Sessions, or parts of them")
    if given is not None:
        raise ValueError(
            "propensities of impressions need sessions in one piece, not in parts; "
            "join them by Sessions.concat, or give the parameter propensities"
        )
    return (check_sessions(part, what="parts that are Sessions") for part in parts)


def check_exposure(exposure: Any, documents: Documents) -> np.ndarray:
    """Return the exposure of each document in the order of the queries, checked."""
    if isinstance(exposure, str):
        raise ValueError(
            "exposure must be None, 'logged', or hold one number for each document, "
            f"got {shown(exposure)}"
        )
    numbers = as_numbers(exposure, "exposure")
    if numbers.shape != (len(documents),):
        raise ValueError(
            "exposure must be None, 'logged', or hold one number for each of the "
            f"{len(documents)} documents, got {shown(exposure)}"
        )
    wrong = ~((numbers >= 0) & (numbers <= MOST))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"exposure must hold numbers from 0 to {MOST:g}, how likely each document "
            f"was looked at; row {row} has {numbers[row]:g}"
        )
    return documents.index.take(numbers)
