"""Rows of features for the documents of a log, which a ranker learns from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import comparable_ids, id_keys, id_list
from skrank._core._messages import shown
from skrank._core._queries import take_rows
from skrank._core._sparse import check_sparse
from skrank._core._validation import as_numbers, check_arguments, n_rows
from skrank.click._sessions import Sessions, check_sessions
from skrank.click._sessions_ids import IdCodes, ids_of

Missing = Literal["raise", "drop"]


@dataclass(frozen=True, eq=False)
class ClickRows:
    """Rows of features with clicks, one for each impression of a log.

    Unpacks into ``X, y, groups``, the arrays that ``fit`` takes.

    Attributes
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,), dtype float64
        Clicks.
    groups : ndarray of shape (n_rows,), dtype intp
        Number of the session of each row: the list of a session is a query of its own,
        whose clicks are compared with each other.
    positions : ndarray of shape (n_rows,), dtype intp
        Place of each row in its list, counted from 1.
    propensities : ndarray of shape (n_rows,), or None
        Probability that the user has looked at the row.
    query : ndarray of shape (n_rows,)
        Id of the query of each row, by which the log can be split.
    """

    X: Any
    y: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    propensities: np.ndarray | None
    query: np.ndarray

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.groups))


def to_rows(
    sessions: Sessions,
    X: Any,
    groups: npt.ArrayLike,
    docids: npt.ArrayLike,
    *,
    propensities: npt.ArrayLike | None = None,
    missing: Missing = "raise",
) -> ClickRows:
    """Look up the features of what a log shows.

    Parameters
    ----------
    sessions : Sessions
        Log.
    X : array, sparse matrix or data frame of shape (n_documents, n_features)
        Features of documents for queries.
    groups : array-like of shape (n_documents,)
        Query id of each row of ``X``, of the same kind as those of the log.
    docids : array-like of shape (n_documents,)
        Document id of each row; a document has one row for a query.
    propensities : array-like of shape (n_impressions,), default=None
        Probability that each impression was looked at, as `to_propensities` returns it.
    missing : {"raise", "drop"}, default="raise"
        What to do with impressions whose document has no row: raise an error, or leave
        them out. The places of the others stay what they were.

    Returns
    -------
    ClickRows
        One row for each impression, in the order of the log.

    Raises
    ------
    ValueError
        If lengths differ, a document has no row, or more than one for a query.
    TypeError
        If ``sessions`` is something else.

    See Also
    --------
    to_propensities : Propensities of the impressions of a log.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import Sessions, to_rows
    >>> sessions = Sessions.from_lists(
    ...     ["q", "q"], [["b", "a"], ["a", "b"]], [[1, 0], [0, 1]]
    ... )
    >>> rows = to_rows(sessions, np.array([[0.1], [0.2]]), ["q", "q"], ["a", "b"])
    >>> rows.X.ravel().tolist(), rows.y.tolist(), rows.groups.tolist()
    ([0.2, 0.1, 0.1, 0.2], [1.0, 0.0, 0.0, 1.0], [0, 0, 1, 1])
    """
    check_arguments(to_rows, missing=missing)
    sessions = check_sessions(sessions)
    check_sparse(X)
    n = n_rows(X)
    groups, docids = (
        ids_of(groups, "groups", "query id"),
        ids_of(docids, "docids", "document id"),
    )
    if not n == len(groups) == len(docids):
        raise ValueError(
            f"X, groups and docids must have as many rows, got {n}, {len(groups)} and "
            f"{len(docids)}"
        )
    pair, query, document = sessions.pairs()
    row = find_rows(
        sessions.query_ids[query],
        sessions.document_ids[document],
        groups,
        docids,
        missing=missing,
    )[pair]
    if propensities is not None:
        propensities = as_numbers(propensities, "propensities", "numbers")
        if propensities.shape != (sessions.n_impressions,):
            raise ValueError(
                f"propensities must hold one number for each of "
                f"{sessions.n_impressions} impressions, got shape {propensities.shape}"
            )
    kept = np.flatnonzero(row >= 0)
    session = sessions.session[kept]
    return ClickRows(
        take_rows(X, row[kept]),
        sessions.click[kept].astype(np.float64),
        session,
        sessions.position[kept],
        None if propensities is None else propensities[kept],
        sessions.query_ids[sessions.query[session]],
    )


def find_rows(
    queries: np.ndarray,
    documents: np.ndarray,
    groups: npt.ArrayLike,
    docids: npt.ArrayLike,
    *,
    missing: Missing = "raise",
) -> np.ndarray:
    """Return the row of each pair of query and document in a table.

    Parameters
    ----------
    queries, documents : ndarray of shape (n_pairs,)
        Ids of the pairs.
    groups, docids : array-like of shape (n_rows,)
        Ids of the rows of the table.
    missing : {"raise", "drop"}, default="raise"
        Whether a pair without a row is an error.

    Returns
    -------
    ndarray of shape (n_pairs,), dtype intp
        Numbers of rows, −1 for pairs that have none.

    Raises
    ------
    ValueError
        If a pair has no row and must have one, or has several.
    """
    groups = ids_of(groups, "groups", "query id")
    docids = ids_of(docids, "docids", "document id")
    if len(groups) != len(docids):
        raise ValueError(
            f"groups and docids must have as many rows, got {len(groups)} and "
            f"{len(docids)}"
        )
    queries, groups = comparable_ids(queries, groups)
    documents, docids = comparable_ids(documents, docids)
    query_table, document_table = IdCodes(), IdCodes()
    own = (
        query_table.codes_of(id_keys(groups)),
        document_table.codes_of(id_keys(docids)),
    )
    width = max(len(document_table.ids), 1)
    keys = own[0] * width + own[1]
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        row = int(order[twice[0] + 1])
        raise ValueError(
            f"docids must hold a document once for a query; row {row} has "
            f"{shown(id_list(docids)[row])} a second time for query "
            f"{shown(id_list(groups)[row])}"
        )
    wanted = [
        np.fromiter((table.ids.get(key, -1) for key in id_keys(ids)), np.intp, len(ids))
        for table, ids in ((query_table, queries), (document_table, documents))
    ]
    known = (wanted[0] >= 0) & (wanted[1] >= 0)
    if len(keys):
        key = wanted[0] * width + wanted[1]
        place = np.minimum(np.searchsorted(ordered, key), len(keys) - 1)
        known &= ordered[place] == key
        rows = np.where(known, order[place], -1)
    else:
        rows = np.full(len(queries), -1, dtype=np.intp)
    if missing == "raise" and not known.all():
        _raise_missing(queries, documents, ~known, groups, docids)
    return rows


def _raise_missing(queries, documents, unknown, groups, docids) -> None:
    first = int(np.flatnonzero(unknown)[0])
    hint = ""
    for name, ids, own in (("groups", queries, groups), ("docids", documents, docids)):
        kinds = type(id_list(ids)[first]), {type(one) for one in id_list(own)}
        if kinds[0] not in kinds[1] and kinds[1]:
            other = min(kind.__name__ for kind in kinds[1])
            hint += (
                f"; {name} holds {other}, the log {kinds[0].__name__} (text is read as "
                "numbers by numeric_ids=True)"
            )
    raise ValueError(
        f"docids: {int(unknown.sum())} of {len(queries)} pairs of the log have no row, "
        f"such as document {shown(id_list(documents)[first])} of query "
        f"{shown(id_list(queries)[first])}; missing='drop' leaves them out{hint}"
    )
