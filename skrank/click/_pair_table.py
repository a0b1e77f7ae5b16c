"""The pairs of query and document that a model of clicks knows."""

from dataclasses import dataclass

import numpy as np

from skrank._core._id_arrays import (
    comparable_ids,
    id_keys,
    id_list,
    in_order,
    joined_ids,
    unmixed,
)
from skrank.click._sessions import Sessions


@dataclass(frozen=True, eq=False)
class PairTable:
    """Distinct pairs of query and document, in the order of their ids.

    Neither the order of the sessions nor that in which parts of a log were read changes
    the table: all that follows from counts is then the same to the bit.

    Attributes
    ----------
    query_ids, document_ids : ndarrays
        Ids that occur in a pair, each once, in ascending order.
    query, document : ndarrays of shape (n_pairs,), dtype intp
        Numbers of the query and of the document of each pair, ascending.
    """

    query_ids: np.ndarray
    document_ids: np.ndarray
    query: np.ndarray
    document: np.ndarray

    @classmethod
    def of(cls, sessions: Sessions) -> tuple["PairTable", np.ndarray]:
        """Return the pairs of sessions, and the number of that of each impression."""
        pair, query, document = sessions.pairs()
        table, places = cls.of_ids(
            sessions.query_ids, sessions.document_ids, query, document
        )
        return table, pair if places is None else places[pair]

    @classmethod
    def of_ids(
        cls,
        query_ids: np.ndarray,
        document_ids: np.ndarray,
        query: np.ndarray,
        document: np.ndarray,
    ) -> tuple["PairTable", np.ndarray | None]:
        """Return the table of distinct pairs, and their places if they moved."""
        own_queries, query = _used_in_order(query_ids, query)
        own_documents, document = _used_in_order(document_ids, document)
        keys = query * max(len(own_documents), 1) + document
        if (keys[1:] > keys[:-1]).all():
            return cls(own_queries, own_documents, query, document), None
        order = np.argsort(keys, kind="stable")
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.arange(len(order))
        table = cls(own_queries, own_documents, query[order], document[order])
        return table, places

    def __len__(self) -> int:
        return len(self.query)

    @property
    def _width(self) -> int:
        return max(len(self.document_ids), 1)

    def find(self, query: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Return the numbers of pairs of own numbers, −1 for those not in the table."""
        keys = self.query * self._width + self.document
        wanted = query * self._width + document
        places = np.searchsorted(keys, wanted)
        places[places == len(keys)] = 0
        known = (query >= 0) & (document >= 0)
        if len(keys):
            known &= keys[places] == wanted
        else:
            known[:] = False
        return np.where(known, places, -1)

    def find_ids(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return the numbers of pairs of ids, −1 for those not in the table."""
        return self.find(
            places_among(self.query_ids, queries),
            places_among(self.document_ids, documents),
        )

    def locate(self, sessions: Sessions) -> np.ndarray:
        """Return the number of the pair of each impression, −1 for unknown ones."""
        pair, query, document = sessions.pairs()
        queries = places_among(self.query_ids, sessions.query_ids)
        documents = places_among(self.document_ids, sessions.document_ids)
        return self.find(queries[query], documents[document])[pair]

    def union(self, other: "PairTable") -> tuple["PairTable", np.ndarray, np.ndarray]:
        """Return the pairs of two tables, and the places of either one's pairs."""
        query_ids = unmixed(joined_ids(self.query_ids, other.query_ids))
        document_ids = unmixed(joined_ids(self.document_ids, other.document_ids))
        query_ids, queries = _in_order(query_ids)
        document_ids, documents = _in_order(document_ids)
        query = np.concatenate([self.query, other.query + len(self.query_ids)])
        document = np.concatenate(
            [self.document, other.document + len(self.document_ids)]
        )
        width = max(len(document_ids), 1)
        keys, places = np.unique(
            queries[query] * width + documents[document], return_inverse=True
        )
        table = PairTable(query_ids, document_ids, keys // width, keys % width)
        places = places.reshape(-1)
        return table, places[: len(self)], places[len(self) :]


def places_among(known: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return the place of each id among known ones in ascending order; −1 if new."""
    if known is ids:
        return np.arange(len(ids))
    alike = known.dtype.kind == ids.dtype.kind != "O"
    if alike and len(known):
        places = np.searchsorted(known, ids)
        places[places == len(known)] = 0
        return np.where(known[places] == ids, places, -1)
    known, ids = comparable_ids(known, ids)
    place_of = {key: place for place, key in enumerate(id_keys(known))}
    found = (place_of.get(key, -1) for key in id_keys(ids))
    return np.fromiter(found, np.intp, len(ids))


def _used_in_order(ids: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids that some codes stand for, in order, and codes for these."""
    used = np.zeros(len(ids), dtype=bool)
    used[codes] = True
    numbers = np.cumsum(used) - 1
    own, places = _in_order(ids[used])
    return own, places[numbers[codes]]


def _in_order(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ids in ascending order, and the place of each given one.

    Those that do not compare come in the order of their types and texts.
    """
    if ids.dtype.kind != "O":
        if (ids[1:] > ids[:-1]).all():
            return ids, np.arange(len(ids))
        own, places = np.unique(ids, return_inverse=True)
        return own, places.reshape(-1)
    keys = id_list(ids)
    ordered = in_order(dict.fromkeys(keys))
    place_of = {key: place for place, key in enumerate(ordered)}
    own = np.empty(len(ordered), dtype=object)
    own[:] = ordered
    return own, np.fromiter((place_of[key] for key in keys), np.intp, len(keys))
