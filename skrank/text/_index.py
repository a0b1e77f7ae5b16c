"""The inverted index: which documents contain which terms, how often and where.

Counts are kept as a sparse matrix of documents × terms in column order, so that a
column is the posting list of a term. Relevance models compute one weight for each
posting, once, in `fit`; a search is then a sparse product, and scoring chosen pairs of
a query and a document is a look-up of postings (`_matching.py`). No model loops over
documents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Parameters
from skrank._core._validation import n_rows
from skrank.text._tokenizer import Analyzer, Tokenizer

Documents = Sequence[str] | Mapping[str, Sequence[str]]

_DEFAULT_FIELD = "text"


@dataclass(frozen=True, eq=False)
class Postings:
    """Term counts of one field of a collection, with the statistics of the models.

    Parameters
    ----------
    counts : csc_array of shape (n_documents, n_terms), dtype float64
        ``counts[d, t]`` is TF(t, d). Row numbers ascend in every column.

    Examples
    --------
    >>> from skrank.text import InvertedIndex
    >>> postings = InvertedIndex().fit(["sort an array", "array of arrays"]).postings()
    >>> postings.lengths
    array([2., 2.])
    >>> postings.document_frequency
    array([2., 1.])
    """

    counts: sparse.csc_array

    @property
    def n_documents(self) -> int:
        """Number of documents, N, including those whose field is empty."""
        return n_rows(self.counts)

    @property
    def document_of(self) -> np.ndarray:
        """Document of each posting, shape (n_postings,)."""
        return self.counts.indices

    @cached_property
    def term_of(self) -> np.ndarray:
        """Term of each posting, shape (n_postings,)."""
        sizes = np.diff(self.counts.indptr)
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def lengths(self) -> np.ndarray:
        """LEN(d), the number of terms of each document, shape (n_documents,)."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def n_distinct(self) -> np.ndarray:
        """Number of different terms of each document, shape (n_documents,)."""
        return np.bincount(self.document_of, minlength=self.n_documents).astype(float)

    @cached_property
    def document_frequency(self) -> np.ndarray:
        """n(t), the number of documents that contain each term, shape (n_terms,)."""
        return np.diff(self.counts.indptr).astype(np.float64)

    @cached_property
    def collection_frequency(self) -> np.ndarray:
        """TF(t, C), the occurrences of each term in all documents, shape (n_terms,)."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()

    @property
    def average_length(self) -> float:
        """Mean of LEN(d) over all documents, called avdl."""
        return float(self.lengths.mean())

    @cached_property
    def keys(self) -> np.ndarray:
        """Key ``term * n_documents + document`` of each posting, ascending."""
        return self.term_of * np.int64(self.n_documents) + self.document_of

    def find(self, terms: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Find the postings of (term, document) pairs by binary search.

        Parameters
        ----------
        terms, documents : ndarray of shape (n,)
            Term and document numbers.

        Returns
        -------
        ndarray of shape (n,), dtype intp
            Position of each pair among the postings; -1 where the document does not
            contain the term. Complexity: O(n log P) for P postings.
        """
        wanted = terms * np.int64(self.n_documents) + documents
        if len(self.keys) == 0:
            return np.full(len(wanted), -1, dtype=np.intp)
        position = np.searchsorted(self.keys, wanted)
        # A key beyond the last posting is compared with the first one, which differs.
        position[position == len(self.keys)] = 0
        position[self.keys[position] != wanted] = -1
        return position


class InvertedIndex(Parameters, BaseEstimator):
    """Inverted index of a collection of documents with one or several fields.

    Parameters
    ----------
    tokenizer : callable, default=None
        Maps a text to its list of terms; None takes ``Tokenizer()``. If it has a method
        ``tokenize_all``, that is called once for all texts instead.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Number of each term, in alphabetical order; shared by all fields.
    fields_ : tuple of str
        Names of the fields.
    n_documents_ : int
        Number of documents.

    Examples
    --------
    >>> from skrank.text import InvertedIndex
    >>> index = InvertedIndex().fit(["sort an array", "array of sorted arrays"])
    >>> sorted(index.vocabulary_)
    ['array', 'sort', 'sorted']
    >>> index.postings().counts.toarray()
    array([[1., 1., 0.],
           [2., 0., 1.]])
    """

    tokenizer: Analyzer | None = dataclass_field(default=None, kw_only=False)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"tokenizer": Tokenizer(stemmer=None)}, {"tokenizer": str.split}]

    def fit(self, documents: Documents, y: None = None) -> Self:
        """Index documents.

        Parameters
        ----------
        documents : sequence of str, or mapping of str to sequence of str
            One text per document, or for each field one text per document.
        y : None
            Ignored.

        Returns
        -------
        InvertedIndex
            The index itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, there are no documents, or the fields
            differ in their number of documents.
        """
        self._check_parameters()
        fields = _as_fields(documents)
        tokenized = {name: self._tokenize(texts) for name, texts in fields.items()}
        terms = sorted(
            set().union(*(row for rows in tokenized.values() for row in rows))
        )
        self.vocabulary_ = {term: number for number, term in enumerate(terms)}
        self.fields_ = tuple(tokenized)
        self._postings: dict[str | None, Postings] = {
            name: Postings(_count(rows, self.vocabulary_).tocsc())
            for name, rows in tokenized.items()
        }
        self.n_documents_ = self._postings[self.fields_[0]].n_documents
        return self

    def postings(self, field: str | None = None) -> Postings:
        """Return counts and statistics of one field, or of whole documents.

        Parameters
        ----------
        field : str, default=None
            Name of a field; None adds the counts of all fields up.

        Returns
        -------
        Postings
            Counts of the field. Those of whole documents are computed once.

        Raises
        ------
        ValueError
            If there is no such field.
        """
        check_is_fitted(self, "vocabulary_")
        if field is None and len(self.fields_) == 1:
            field = self.fields_[0]
        if field is None and None not in self._postings:
            parts = [self._postings[name].counts for name in self.fields_]
            total = sparse.csc_array(sum(parts[1:], start=parts[0]))
            total.sort_indices()
            self._postings[None] = Postings(total)
        if field not in self._postings:
            raise ValueError(f"field must be one of {self.fields_}, got {field!r}")
        return self._postings[field]

    def count_queries(self, queries: Sequence[str]) -> sparse.csr_array:
        """Count the terms of queries, without terms that no document contains.

        Parameters
        ----------
        queries : sequence of str
            One text per query.

        Returns
        -------
        csr_array of shape (n_queries, n_terms), dtype float64
            Number of times that each query contains each term.
        """
        check_is_fitted(self, "vocabulary_")
        return _count(self._tokenize(_as_texts(queries, "queries")), self.vocabulary_)

    def _tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        tokenizer = Tokenizer() if self.tokenizer is None else self.tokenizer
        tokenize_all = getattr(tokenizer, "tokenize_all", None)
        if tokenize_all is not None:
            return tokenize_all(texts)
        return [list(tokenizer(text)) for text in texts]


def as_index(
    documents: Documents | InvertedIndex, tokenizer: Analyzer | None = None
) -> InvertedIndex:
    """Return an index as it is, and index anything else."""
    if isinstance(documents, InvertedIndex):
        check_is_fitted(documents, "vocabulary_")
        return documents
    return InvertedIndex(tokenizer).fit(documents)


def _as_fields(documents):
    fields = (
        documents if isinstance(documents, Mapping) else {_DEFAULT_FIELD: documents}
    )
    fields = {name: _as_texts(texts, "documents") for name, texts in fields.items()}
    sizes = {name: len(texts) for name, texts in fields.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(
            f"documents must hold one text per document in every field, found {sizes}"
        )
    if not all(sizes.values()):
        raise ValueError("documents is empty; at least one document is needed")
    return fields


def _as_texts(texts, name) -> list[str]:
    if isinstance(texts, str):
        raise TypeError(f"{name} must be a sequence of strings, got one string")
    return list(texts)


def _count(rows, vocabulary):
    """Count known terms in a CSR array of texts × terms with sorted columns."""
    number_of = vocabulary.get
    numbers = np.array(
        [number_of(term, -1) for row in rows for term in row], dtype=np.int64
    )
    text_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    known = numbers >= 0
    shape = (len(rows), len(vocabulary))
    coordinates = (text_of[known], numbers[known])
    counts = sparse.coo_array((np.ones(known.sum()), coordinates), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts
