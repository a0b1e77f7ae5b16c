"""Queries as users pass them: with ids of their own or with numbers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skrank._core._id_arrays import id_array
from skrank._core._messages import shown
from skrank._core._validation import as_ids, check_hashable, check_no_missing_id
from skrank.text import TextCollection
from skrank.text._texts import as_queries, as_texts

QueryTexts = (
    TextCollection
    | Mapping[Any, str | Mapping[str, float]]
    | Iterable[str | Mapping[str, float]]
)


class NamedQueries(NamedTuple):
    """Queries with their ids.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        Ids, all different.
    texts : list of str or mapping of str to float
        A text for each query, or its terms with their weights.
    """

    ids: np.ndarray
    texts: list[Any]


def named_queries(queries: QueryTexts, field: str | None = None) -> NamedQueries:
    """Return queries with their ids.

    Parameters
    ----------
    queries : TextCollection, mapping of id to query, or sequence of queries
        Queries; those of a sequence have the numbers of their places as ids.
    field : str, default=None
        Field of a `TextCollection` that is asked; None takes its only one.

    Returns
    -------
    NamedQueries

    Raises
    ------
    ValueError
        If there is no such field, or several and none was chosen.
    TypeError
        If a query is no text.
    """
    if isinstance(queries, TextCollection):
        return NamedQueries(queries.ids, field_of_queries(queries, field))
    if field is not None:
        raise ValueError(
            "field says which texts of a TextCollection are queries; got "
            f"{shown(field)} with a {type(queries).__name__}"
        )
    if isinstance(queries, Mapping):
        listed = as_queries(queries.values(), "queries")
        # Of no ids, NumPy would make an array of floats.
        ids = id_array(list(queries)) if queries else np.zeros(0, dtype=object)
        check_no_missing_id(ids, "queries", "query id")
        return NamedQueries(ids, listed)
    listed = as_queries(queries, "queries")
    return NamedQueries(np.arange(len(listed)), listed)


def field_of_queries(queries: TextCollection, field: str | None) -> list[str]:
    """Return the texts of one field; without a name, of the only one."""
    known = list(queries.fields)
    if field is None and len(known) > 1:
        raise ValueError(f"queries have the fields {known}; choose one by field=")
    if field is not None and field not in known:
        raise ValueError(f"field must be one of {known}, got {shown(field)}")
    return queries.fields[known[0] if field is None else field]


class Pairs(NamedTuple):
    """Rows of a query and a document each.

    Attributes
    ----------
    texts : list of str
        Text of the query of each row.
    docids : list
        Id of the document of each row.
    """

    texts: list[str]
    docids: list[Any]


def pairs_of(X: Any) -> Pairs:
    """Return the two columns of rows that hold a query and a document.

    Parameters
    ----------
    X : array-like of shape (n, 2) or data frame
        Text of the query and id of the document; a data frame has them in the columns
        "query" and "document".

    Returns
    -------
    Pairs

    Raises
    ------
    ValueError
        If X has not two such columns, or an id is missing.
    TypeError
        If a query is no string, or an id is not hashable.
    """
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        missing = [name for name in ("query", "document") if name not in X.columns]
        if missing:
            raise ValueError(
                f"X must have the columns 'query' and 'document', got "
                f"{shown(list(X.columns))}"
            )
        columns = [list(X["query"]), list(X["document"])]
    else:
        columns = _columns_of_array(X)
    # First of all, because a list of one id would pass for the id.
    check_hashable(np.fromiter(columns[1], dtype=object, count=len(columns[1])), "X")
    ids = as_ids(columns[1], "X", "document id")
    if len(ids):
        check_no_missing_id(ids, "X", "document id")
    return Pairs(as_texts(columns[0], "the queries of X"), columns[1])


def _columns_of_array(X: Any) -> list[list[Any]]:
    """Return the columns of an array of two columns, or of a list of pairs."""
    if (
        isinstance(X, str | bytes | Mapping | type)
        or sparse.issparse(X)
        or not hasattr(X, "__len__")
    ):
        raise TypeError(
            "X must hold pairs of the text of a query and the id of a document, got "
            f"{shown(X)}"
        )
    shape = getattr(X, "shape", None)
    if shape is None:
        rows = list(X)
        if all(isinstance(row, list | tuple) and len(row) == 2 for row in rows):
            return [[row[place] for row in rows] for place in (0, 1)]
        wrong = next(r for r in rows if not isinstance(r, list | tuple) or len(r) != 2)
        raise ValueError(
            "X must hold pairs of the text of a query and the id of a document, found "
            f"the row {shown(wrong)}"
        )
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(
            "X must have two columns, the texts of queries and the ids of documents, "
            f"got an array of shape {tuple(shape)}"
        )
    rows = np.asarray(X)
    return [rows[:, 0].tolist(), rows[:, 1].tolist()]
