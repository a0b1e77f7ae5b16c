"""Documents that are not of the indexed collection, seen with its statistics.

A feature must mean the same for a document that arrives later as for those that a model
was fitted to. Hence frequencies, the number of documents and the mean length stay those
of the collection, and only counts and lengths are the document's own. Terms that the
collection does not contain count in its length and nowhere else: no statistic could
tell how rare they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skrank.text._index import InvertedIndex, Postings, count_terms, documents_of


@dataclass(frozen=True, eq=False)
class ChangedPostings(Postings):
    """Changed counts of the documents of a collection, with its statistics and lengths.

    Attributes
    ----------
    collection : Postings
        Postings of the same field of the collection.
    """

    collection: Postings

    @property
    def collection_size(self) -> int:
        """Number of documents of the collection."""
        return self.collection.collection_size

    @cached_property
    def lengths(self) -> np.ndarray:
        """LEN(d), the number of terms of each document in the collection."""
        return self.collection.lengths

    @property
    def document_frequency(self) -> np.ndarray:
        """n(t) in the collection."""
        return self.collection.document_frequency

    @property
    def collection_frequency(self) -> np.ndarray:
        """TF(t, C) in the collection."""
        return self.collection.collection_frequency

    @property
    def average_length(self) -> float:
        """Mean of LEN(d) in the collection."""
        return self.collection.average_length


@dataclass(frozen=True, eq=False)
class OtherPostings(ChangedPostings):
    """Term counts of other documents, with the statistics of a collection.

    Attributes
    ----------
    n_unknown, n_unknown_distinct : ndarray of shape (n_documents,), dtype float64
        Number of terms of each document that the field of the collection does not
        contain, and the number of different ones.
    """

    n_unknown: np.ndarray
    n_unknown_distinct: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """LEN(d), the number of terms of each document, known or not."""
        return np.asarray(self.counts.sum(axis=1)).ravel() + self.n_unknown

    @cached_property
    def n_distinct(self) -> np.ndarray:
        """Number of different terms of each document, known or not."""
        known = np.bincount(self.document_of, minlength=self.n_documents)
        return known + self.n_unknown_distinct


class OtherDocuments:
    """Documents of the fields of an index that the index does not hold.

    Parameters
    ----------
    index : InvertedIndex
        Fitted index, whose tokenizer, vocabulary and statistics are used.
    documents : sequence of str, mapping, data frame or TextCollection
        Documents as `InvertedIndex.fit` takes them, with all fields of the index.

    Raises
    ------
    ValueError
        If a field is missing, or the fields differ in their number of documents.
    TypeError
        If a document is missing or no string.
    """

    def __init__(self, index: InvertedIndex, documents):
        fields, _ = documents_of(documents)
        missing = [name for name in index.fields_ if name not in fields]
        if missing:
            raise ValueError(
                f"documents must have the fields {index.fields_} of the index, "
                f"got {tuple(fields)}"
            )
        self._index = index
        self._rows = {n: index._tokenize(fields[n]) for n in index.fields_}
        self.n_documents_ = len(self._rows[index.fields_[0]])

    def postings(self, field: str | None) -> OtherPostings:
        """Return the counts of one field, or of whole documents for None.

        Those of whole documents of several fields hold the counts of these, too, as
        models need them that weigh fields before they add them up. There a term counts
        in each field if any field of the collection has it.
        """
        names = self._index.fields_
        if field is not None or len(names) == 1:
            return self._counted(self._rows[field or names[0]], field)
        whole = [
            [term for part in parts for term in part]
            for parts in zip(*self._rows.values())
        ]
        frequency = self._index.postings().document_frequency
        fields = {n: self._counted(self._rows[n], n, frequency) for n in names}
        return self._counted(whole, None, fields=fields)

    def _counted(
        self,
        rows: list[list[str]],
        field: str | None,
        frequency: np.ndarray | None = None,
        fields: Mapping[str, Postings] | None = None,
    ) -> OtherPostings:
        """Return the counts of terms that are known, with the statistics of a field."""
        collection = self._index.postings(field)
        if frequency is None:
            frequency = collection.document_frequency
        vocabulary = self._index.vocabulary_
        known = [
            [t for t in row if t in vocabulary and frequency[vocabulary[t]] > 0]
            for row in rows
        ]
        unknown = [len(row) - len(kept) for row, kept in zip(rows, known)]
        distinct = [len(set(row)) - len(set(kept)) for row, kept in zip(rows, known)]
        return OtherPostings(
            count_terms(known, vocabulary).tocsc(),
            collection,
            np.array(unknown, dtype=float),
            np.array(distinct, dtype=float),
            fields=fields,
        )
