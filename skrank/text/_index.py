"""The inverted index: which documents contain which terms, how often and where.

Counts are kept as a sparse matrix of documents × terms in column order, so that a
column is the posting list of a term. Relevance models compute one weight for each
posting, once, in `fit`; a search is then a sparse product, and scoring chosen pairs of
a query and a document is a look-up of postings (`_matching.py`). No model loops over
documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import problem_in, shown
from skrank._core._parameters import Parameters
from skrank._core._validation import called, check_arguments, n_rows
from skrank.text._saving import (
    check_not_fitted,
    join_terms,
    smallest,
    split_terms,
)
from skrank.text._texts import as_texts, check_numbers, columns_of, is_frame
from skrank.text._tokenizer import Analyzer, Tokenizer


class Frame(Protocol):
    """What is read of a data frame, of pandas or of another library."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def __getitem__(self, key: Any, /) -> Any:
        """Return a column."""


Documents = Iterable[str] | Mapping[str, Iterable[str]] | Frame

_DEFAULT_FIELD = "text"
# Whole numbers are exact in float64 up to here.
_MAX_COUNT = 2.0**53
# Attributes of an index in a model file, where they replace others.
_SAVED = ("terms", "term_lengths", "lengths", "counts")


@dataclass(frozen=True, eq=False)
class Postings:
    """Term counts of one field of a collection, with the statistics of the models.

    Parameters
    ----------
    counts : csc_array of shape (n_documents, n_terms), dtype float64
        ``counts[d, t]`` is TF(t, d). Row numbers ascend in every column, and zeros are
        not stored.

    Raises
    ------
    TypeError
        If the counts are no such array.
    ValueError
        If there are no documents, the row numbers of a column do not ascend, or a count
        is not positive, not finite or larger than 2**53.

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

    def __post_init__(self):
        _check_counts(self.counts)

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

        Raises
        ------
        ValueError
            If a number names no term or no document, or the lengths differ.
        """
        n_terms = len(self.counts.indptr) - 1
        terms = check_numbers(terms, n_terms, "terms", "terms")
        documents = check_numbers(documents, self.n_documents, "documents", "documents")
        if len(terms) != len(documents):
            raise ValueError(
                "terms and documents must have the same length, got "
                f"{len(terms)} and {len(documents)}"
            )
        wanted = terms * np.int64(self.n_documents) + documents
        if len(self.keys) == 0:
            return np.full(len(wanted), -1, dtype=np.intp)
        position = np.searchsorted(self.keys, wanted)
        # A key beyond the last posting is compared with the first one, which differs.
        position[position == len(self.keys)] = 0
        position[self.keys[position] != wanted] = -1
        return position


def _check_counts(counts: Any) -> None:
    """Refuse what are no counts, or not in the order in which they are looked up."""
    if not isinstance(counts, sparse.csc_array) or counts.dtype != np.float64:
        raise TypeError(
            f"counts must be a csc_array of float64, got {type(counts).__name__}"
            + (f" of {counts.dtype}" if hasattr(counts, "dtype") else "")
        )
    if n_rows(counts) == 0:
        raise ValueError("counts must have at least one row, a document")
    # Not by has_canonical_format, which is remembered and may be out of date.
    ends = np.diff(counts.indptr)
    column = np.repeat(np.arange(len(ends)), ends)
    same = column[1:] == column[:-1]
    if np.any(same & (counts.indices[1:] <= counts.indices[:-1])):
        raise ValueError("counts must have ascending row numbers in every column")
    if counts.nnz and not (counts.data.min() > 0 and counts.data.max() <= _MAX_COUNT):
        raise ValueError("counts must be numbers > 0 and at most 2**53")


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
        documents : sequence of str, mapping of str to sequence of str, or data frame
            One text per document, or for each field one text per document; the fields
            of a data frame are its columns, and its documents are its rows.
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
            differ in their number of documents or share a name.
        TypeError
            If a document is missing or no string, the documents have no order, or the
            tokenizer returns something else than lists of strings.
        """
        self._check_parameters()
        fields = _as_fields(documents)
        tokenized = {name: self._tokenize(texts) for name, texts in fields.items()}
        terms = sorted(_distinct_terms(tokenized.values()))
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
        check_arguments(self.postings, field=field)
        if field is None and len(self.fields_) == 1:
            field = self.fields_[0]
        if field is None and None not in self._postings:
            parts = [self._postings[name].counts for name in self.fields_]
            total = sparse.csc_array(sum(parts[1:], start=parts[0]))
            total.sort_indices()
            self._postings[None] = Postings(total)
        if field not in self._postings:
            raise ValueError(f"field must be one of {self.fields_}, got {shown(field)}")
        return self._postings[field]

    def count_queries(self, queries: Iterable[str]) -> sparse.csr_array:
        """Count the terms of queries, without terms that no document contains.

        Parameters
        ----------
        queries : sequence of str
            One text per query.

        Returns
        -------
        csr_array of shape (n_queries, n_terms), dtype float64
            Number of times that each query contains each term.

        Raises
        ------
        TypeError
            If a query is missing or no string.
        """
        check_is_fitted(self, "vocabulary_")
        texts = as_texts(queries, "queries")
        return _count(self._tokenize(texts), self.vocabulary_)

    def _saved_state(self) -> dict[str, Any]:
        """Return the attributes that a model file holds; see `_saving`."""
        params = self.get_params(deep=False)
        state = {k: v for k, v in vars(self).items() if k not in params}
        if "vocabulary_" not in state:
            return state
        terms = list(self.vocabulary_)
        if terms != sorted(terms) or list(self.vocabulary_.values()) != list(
            range(len(terms))
        ):
            raise TypeError(
                "InvertedIndex cannot be saved: vocabulary_ is not what fit learns"
            )
        for name in ("vocabulary_", "n_documents_", "_postings"):
            del state[name]
        state["terms"], state["term_lengths"] = join_terms(terms)
        state["lengths"] = self.postings().lengths
        state["counts"] = [smallest(self.postings(f).counts) for f in self.fields_]
        return state

    def _restore_state(self) -> None:
        """Check the attributes that a model file held, and put the index together."""
        if "terms" not in vars(self):
            check_not_fitted(self)
            return
        try:
            parts = [vars(self).pop(name) for name in _SAVED]
            fields: Any = self.fields_
        except (KeyError, AttributeError) as error:
            raise ValueError(f"the index is damaged: {problem_in(error)}") from None
        terms = split_terms(*parts[:2])
        self.vocabulary_ = {term: number for number, term in enumerate(terms)}
        lengths, counts = parts[2:]
        # The number of documents is that of an array which the file holds, so that a
        # small file cannot ask for a large one.
        self.n_documents_ = len(lengths)
        shape = (self.n_documents_, len(terms))
        _check_saved_fields(fields, counts, shape)
        self._postings = {
            name: Postings(part.astype(np.float64))
            for name, part in zip(fields, counts)
        }
        if not np.array_equal(self.postings().lengths, lengths):
            raise ValueError("the lengths of the documents are not those of the counts")

    def _tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        tokenizer = Tokenizer() if self.tokenizer is None else self.tokenizer
        tokenize_all = getattr(tokenizer, "tokenize_all", None)
        if tokenize_all is not None:
            rows = tokenize_all(texts)
        else:
            rows = [called("tokenizer", tokenizer, text) for text in texts]
        return _as_rows(rows, len(texts))


def _check_saved_fields(fields: Any, counts: Any, shape: tuple[int, int]) -> None:
    """Refuse names and counts of fields from a file that do not belong together."""
    if not (
        isinstance(fields, tuple)
        and all(isinstance(name, str) for name in fields)
        and len(set(fields)) == len(fields) > 0
    ):
        raise ValueError(f"fields_ must be different strings, got {shown(fields)}")
    if not isinstance(counts, list) or len(counts) != len(fields):
        raise ValueError("the index must have counts for each of its fields")
    for part in counts:
        if (
            not isinstance(part, sparse.csc_array)
            or part.dtype.kind not in "uf"
            or part.shape != shape
        ):
            raise ValueError(
                f"the counts of a field must be numbers in a csc_array of shape {shape}"
            )


def as_index(
    documents: Documents | InvertedIndex, tokenizer: Analyzer | None = None
) -> InvertedIndex:
    """Return an index as it is, and index anything else."""
    if isinstance(documents, InvertedIndex):
        check_is_fitted(documents, "vocabulary_")
        return documents
    return InvertedIndex(tokenizer).fit(documents)


def _as_fields(documents) -> dict[str, list[str]]:
    """Return the texts of every field."""
    if is_frame(documents):
        documents = columns_of(documents)
    if isinstance(documents, Mapping):
        fields = {
            name: as_texts(texts, f"documents[{shown(name)}]")
            for name, texts in documents.items()
        }
    else:
        fields = {_DEFAULT_FIELD: as_texts(documents, "documents")}
    for name in fields:
        if not isinstance(name, str):
            raise TypeError(f"documents must name fields by strings, got {shown(name)}")
    sizes = {name: len(texts) for name, texts in fields.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"documents must hold one text per document in every field, found {sizes}"
        )
    if not any(sizes.values()):
        raise ValueError("documents is empty; at least one document is needed")
    return fields


def _as_rows(rows: Sequence[Any], n_texts: int) -> list[list[str]]:
    """Check what a tokenizer made of texts: a list of terms for each."""
    if len(rows) != n_texts:
        raise ValueError(
            f"tokenizer must return one list of terms for each of {n_texts} texts, "
            f"returned {len(rows)} lists"
        )
    # The letters of a string are no terms.
    for row in rows:
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise _no_terms(row)
        if isinstance(row, np.ndarray) and row.ndim != 1:
            raise _no_terms(row)
    return [row if isinstance(row, list) else list(row) for row in rows]


def _distinct_terms(fields: Iterable[list[list[str]]]) -> set[str]:
    terms: set[Any] = set()
    for row in (row for rows in fields for row in rows):
        try:
            terms.update(row)
        except TypeError:  # a term that cannot be hashed, such as a list
            raise _no_terms(row) from None
    for term in terms:
        if not isinstance(term, str):
            raise _no_terms(term)
    return terms


def _no_terms(found) -> TypeError:
    return TypeError(f"tokenizer must return lists of strings, returned {shown(found)}")


def _count(rows, vocabulary):
    """Count known terms in a CSR array of texts × terms with sorted columns."""
    number_of = vocabulary.get
    try:
        listed = [number_of(term, -1) for row in rows for term in row]
    except TypeError:  # a term that cannot be hashed
        raise _no_terms(rows) from None
    numbers = np.array(listed, dtype=np.int64)
    text_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    known = numbers >= 0
    shape = (len(rows), len(vocabulary))
    coordinates = (text_of[known], numbers[known])
    counts = sparse.coo_array((np.ones(known.sum()), coordinates), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts
