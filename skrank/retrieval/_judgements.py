"""Judged rows, grouped by query, and their grades looked up."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank._core._validation import check_groups, qid_of_index
from skrank.retrieval._queries import pairs_of
from skrank.text import InvertedIndex


class Judgements(NamedTuple):
    """Judged documents, ordered by query and number of the document.

    Attributes
    ----------
    index : QueryIndex
        Queries of the rows, in the order of their ids.
    texts : list of str
        Text of each query.
    query_of, document_of : ndarray of shape (n_judged,), dtype intp
        Number of the query and of the document.
    grades : ndarray of shape (n_judged,)
        Grades.
    n_documents : int
        Number of documents of the collection.
    """

    index: QueryIndex
    texts: list[str]
    query_of: np.ndarray
    document_of: np.ndarray
    grades: np.ndarray
    n_documents: int

    def find(self, query_of: np.ndarray, document_of: np.ndarray) -> np.ndarray:
        """Return the judgement of each pair, -1 where nobody judged it."""
        if not len(self.grades):
            return np.full(len(query_of), -1, dtype=np.intp)
        known = self._keys(self.query_of, self.document_of)
        wanted = self._keys(query_of, document_of)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, place, -1)

    def _keys(self, query_of, document_of) -> np.ndarray:
        return query_of.astype(np.int64) * self.n_documents + document_of


def judgements_of(X: Any, y: np.ndarray, groups: Any, index: InvertedIndex):
    """Return judged rows as `Judgements`.

    Parameters
    ----------
    X : array-like of shape (n, 2) or data frame
        Text of the query and id of the document.
    y : ndarray of shape (n,)
        Checked grades.
    groups : ndarray of shape (n,)
        Query ids.
    index : InvertedIndex
        Index of the documents.

    Returns
    -------
    Judgements

    Raises
    ------
    ValueError
        If a document is unknown or judged twice for a query, or a query has two texts.
    """
    pairs = pairs_of(X)
    documents = numbers_of(pairs.docids, index)
    queries = QueryIndex.from_groups(groups, canonical=True)
    texts = _texts_of(queries, pairs.texts)
    query_of = queries.codes
    document_of, grades = queries.take(documents), queries.take(y)
    order = np.lexsort((document_of, query_of))
    document_of = document_of[order]
    again = (np.diff(document_of) == 0) & (np.diff(query_of) == 0)
    if again.any():
        row = int(np.argmax(again))
        docid = names_of(document_of[row : row + 1], index)[0]
        raise ValueError(
            f"X holds document {shown(docid)} a second time for query "
            f"{shown(id_list(queries.ids)[query_of[row]])}"
        )
    return Judgements(
        queries, texts, query_of, document_of, grades[order], index.n_documents_
    )


def groups_of(X: Any, y: Any, groups: Any) -> np.ndarray:
    """Return the query of each row; without ids, by the texts of the queries."""
    texts = pairs_of(X).texts
    if groups is None:
        groups = qid_of_index(y, X)
    if groups is not None:
        return check_groups(groups, len(texts))
    ids = np.empty(len(texts), dtype=object)
    ids[:] = texts
    return ids


def _texts_of(queries: QueryIndex, texts: list[str]) -> list[str]:
    """Return the text of each query."""
    rows = range(len(texts)) if queries.order is None else queries.order.tolist()
    grouped = [texts[row] for row in rows]
    chosen = []
    for number, (a, b) in enumerate(pairwise(queries.ptr.tolist())):
        different = set(grouped[a:b])
        if len(different) > 1:
            one, other = sorted(different)[:2]
            raise ValueError(
                "groups must give a query one text; query "
                f"{shown(id_list(queries.ids)[number])} has {shown(one)} and "
                f"{shown(other)}"
            )
        chosen.append(grouped[a])
    return chosen


def numbers_of(docids: list[Any], index: InvertedIndex) -> np.ndarray:
    """Return the numbers of documents by their ids.

    Where the index has no ids, the numbers themselves are the ids.

    Raises
    ------
    ValueError
        If an id is unknown.
    """
    names = range(index.n_documents_) if index.ids_ is None else index.ids_.tolist()
    place = {name: number for number, name in enumerate(names)}
    numbers = np.array([place.get(docid, -1) for docid in docids], dtype=np.intp)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        kind = (
            f"numbers from 0 to {index.n_documents_ - 1}, since the index has no ids"
            if index.ids_ is None
            else f"ids of the collection, such as {shown(index.ids_[0])}"
        )
        raise ValueError(
            f"X must name documents by {kind}; {len(unknown)} rows have others, the "
            f"first {shown(docids[unknown[0]])} in row {unknown[0]}"
        )
    return numbers


def names_of(document_of: np.ndarray, index: InvertedIndex) -> np.ndarray:
    """Return the ids of documents by their numbers."""
    if index.ids_ is not None:
        return index.ids_[document_of]
    names = np.empty(len(document_of), dtype=object)
    names[:] = document_of.tolist()
    return names
