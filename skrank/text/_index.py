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
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import problem_in, shown
from skrank._core._parameters import Parameters
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_arguments, n_rows
from skrank.text._collection import TextCollection, as_ids_array
from skrank.text._positions import check_positions, join_positions
from skrank.text._postings import Lists
from skrank.text._saving import (
    check_ascending,
    check_not_fitted,
    join_terms,
    smallest,
    split_terms,
)
from skrank.text._segments import starts_of_segments
from skrank.text._texts import (
    MAX_COUNT,
    Queries,
    as_queries,
    as_texts,
    check_numbers,
    columns_of,
    is_frame,
)
from skrank.text._tokenizer import Analyzer, Tokenizer
from skrank.text._words import Words, count_terms, tokenize_all, words_of


class Frame(Protocol):
    """What is read of a data frame, of pandas or of another library."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def __getitem__(self, key: Any, /) -> Any:
        """Return a column."""


Documents = Iterable[str] | Mapping[str, Iterable[str]] | Frame | TextCollection

_DEFAULT_FIELD = "text"
_MOST_DOCUMENTS = np.iinfo(np.int32).max
_WRONG_COUNT = 3  # as `Lists.fault` says it
_PER_FIND = 200  # nanoseconds of a binary search
# Attributes of an index in a model file, where they replace others.
_SAVED = ("terms", "term_lengths", "lengths", "counts")
_SAVED_IDS = ("ids", "id_lengths")  # files of an index without ids lack them


@dataclass(frozen=True, eq=False)
class Postings:
    """Term counts of one field of a collection, with the statistics of the models.

    Parameters
    ----------
    counts : csc_array of shape (n_documents, n_terms), dtype float64
        ``counts[d, t]`` is TF(t, d). Row numbers ascend in every column, and zeros are
        not stored.
    positions : ndarray of shape (n_occurrences,), dtype int32, default=None
        Places of terms among the terms of their documents, counted from 0: ascending,
        for one posting after the other. None if the index does not keep them.
    fields : mapping of str to Postings, default=None
        Postings of the fields that whole documents consist of; None for a field.

    Raises
    ------
    TypeError
        If the counts are no such array.
    ValueError
        If there are no documents, the row numbers of a column do not ascend, a count
        is not positive, not finite or larger than 2**53, or the positions do not number
        the terms of each document.

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
    positions: np.ndarray | None = dataclass_field(default=None, kw_only=True)
    fields: "Mapping[str, Postings] | None" = dataclass_field(
        default=None, kw_only=True
    )

    def __post_init__(self):
        _check_type(self.counts)
        fault = self.lists.fault(self.counts.data, MAX_COUNT)
        if fault == _WRONG_COUNT:
            raise ValueError("counts must be numbers > 0 and at most 2**53")
        if fault:
            raise ValueError("counts must have ascending row numbers in every column")
        if self.positions is not None:
            check_positions(self.positions, self.counts, self.lengths)

    @property
    def n_documents(self) -> int:
        """Number of documents, N, including those whose field is empty."""
        return n_rows(self.counts)

    @property
    def collection_size(self) -> int:
        """Number of documents that the frequencies are counted in."""
        return self.n_documents

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

    @cached_property
    def position_starts(self) -> np.ndarray:
        """Start of the positions of each posting, shape (n_postings + 1,)."""
        return starts_of_segments(self.counts.data)

    @property
    def average_length(self) -> float:
        """Mean of LEN(d) over all documents, called avdl."""
        return float(self.lengths.mean())

    @cached_property
    def keys(self) -> np.ndarray:
        """Key ``term * n_documents + document`` of each posting, ascending."""
        return self.term_of * np.int64(self.n_documents) + self.document_of

    @cached_property
    def lists(self) -> Lists:
        """The postings as compiled code takes them."""
        return _lists_of(self.counts)

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
        return self.lists.find(terms, documents, n_threads_for(_PER_FIND * len(terms)))


def _check_type(counts: Any) -> None:
    """Refuse what are no counts of documents."""
    if not isinstance(counts, sparse.csc_array) or counts.dtype != np.float64:
        raise TypeError(
            f"counts must be a csc_array of float64, got {type(counts).__name__}"
            + (f" of {counts.dtype}" if hasattr(counts, "dtype") else "")
        )
    if n_rows(counts) == 0:
        raise ValueError("counts must have at least one row, a document")


def _lists_of(counts: sparse.csc_array) -> Lists:
    """Return the postings of counts as compiled code takes them."""
    indices: np.ndarray = counts.indices
    if indices.dtype != np.int32 and indices.max(initial=0) > _MOST_DOCUMENTS:
        raise ValueError("counts must have at most 2**31 - 1 rows")
    return Lists(
        np.ascontiguousarray(counts.indptr, dtype=np.intp),
        np.ascontiguousarray(indices, dtype=np.int32),
        n_rows(counts),
    )


class InvertedIndex(Parameters, BaseEstimator):
    """Inverted index of a collection of documents with one or several fields.

    Parameters
    ----------
    tokenizer : callable, default=None
        Maps a text to its list of terms; None takes ``Tokenizer()``. If it has a method
        ``tokenize_all``, that is called once for all texts instead.
    with_positions : bool, default=False
        Whether to keep where terms stand, which proximity and phrases need: 4 bytes for
        each term of a document, where counts take 12 for each different one.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Number of each term, in alphabetical order; shared by all fields.
    fields_ : tuple of str
        Names of the fields.
    n_documents_ : int
        Number of documents.
    ids_ : ndarray of shape (n_documents,), dtype object, or None
        Ids of the documents of a `TextCollection`; None for other documents.

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
    with_positions: bool = False
    _saved_names: ClassVar[tuple[str, ...]] = (*_SAVED, *_SAVED_IDS, "positions")

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"tokenizer": Tokenizer(stemmer=None)},
            {"tokenizer": str.split},
            {"with_positions": True},
        ]

    def fit(self, documents: Documents, y: None = None) -> Self:
        """Index documents.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or TextCollection
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
        fields, ids = documents_of(documents)
        words = {
            name: words_of(self.tokenizer, texts) for name, texts in fields.items()
        }
        terms = sorted(set().union(*(part.distinct_terms() for part in words.values())))
        self.vocabulary_ = {term: number for number, term in enumerate(terms)}
        self.fields_ = tuple(words)
        self._postings: dict[str | None, Postings] = {
            name: _counted(part, self.vocabulary_, self.with_positions)
            for name, part in words.items()
        }
        self.n_documents_ = self._postings[self.fields_[0]].n_documents
        self.ids_ = ids
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
            self._postings[None] = _whole({f: self._postings[f] for f in self.fields_})
        if field not in self._postings:
            raise ValueError(f"field must be one of {self.fields_}, got {shown(field)}")
        return self._postings[field]

    def _holds(self, postings: Postings) -> bool:
        """Return whether `postings` made these, and `fit` was not called since."""
        return any(postings is own for own in vars(self).get("_postings", {}).values())

    def count_queries(self, queries: Queries) -> sparse.csr_array:
        """Count the terms of queries, without terms that no document contains.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights, as `RM3.expand`
            returns them. Such terms are those of the index, which the tokenizer made.

        Returns
        -------
        csr_array of shape (n_queries, n_terms), dtype float64
            Number of times that each query contains each term, or its weight.

        Raises
        ------
        ValueError
            If a weight is negative or larger than 2**53.
        TypeError
            If a query is missing or neither a string nor a mapping of terms to numbers.
        """
        check_is_fitted(self, "vocabulary_")
        listed = as_queries(queries, "queries")
        rows = iter(self._tokenize([q for q in listed if isinstance(q, str)]))
        rows = [next(rows) if isinstance(q, str) else list(q) for q in listed]
        weights = [
            np.ones(len(row)) if isinstance(q, str) else np.array(list(q.values()))
            for q, row in zip(listed, rows)
        ]
        return count_terms(rows, self.vocabulary_, np.concatenate([[], *weights]))

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
        ids = state.pop("ids_", None)
        if ids is not None:
            state["ids"], state["id_lengths"] = join_terms(ids.tolist())
        for name in ("vocabulary_", "n_documents_", "_postings"):
            del state[name]
        state["terms"], state["term_lengths"] = join_terms(terms)
        state["lengths"] = self.postings().lengths
        state["counts"] = [smallest(self.postings(f).counts) for f in self.fields_]
        positions = [self.postings(f).positions for f in self.fields_]
        if all(part is not None for part in positions):
            state["positions"] = positions
        return state

    def _restore_state(self) -> None:
        """Check the attributes that a model file held, and put the index together."""
        if "terms" not in vars(self):
            check_not_fitted(self)
            return
        ids = [vars(self).pop(name, None) for name in _SAVED_IDS]
        positions = vars(self).pop("positions", None)
        try:
            parts = [vars(self).pop(name) for name in _SAVED]
            fields: Any = self.fields_
        except (KeyError, AttributeError) as error:
            raise ValueError(f"the index is damaged: {problem_in(error)}") from None
        terms = split_terms(*parts[:2])
        check_ascending(terms)
        self.vocabulary_ = {term: number for number, term in enumerate(terms)}
        lengths, counts = parts[2:]
        # The number of documents is that of an array which the file holds, so that a
        # small file cannot ask for a large one.
        self.n_documents_ = len(lengths)
        shape = (self.n_documents_, len(terms))
        _check_saved_fields(fields, counts, shape)
        self.ids_ = _restored_ids(ids, self.n_documents_)
        if positions is None:
            positions = [None] * len(fields)
        elif not isinstance(positions, list) or len(positions) != len(fields):
            raise ValueError("the index must have positions for each of its fields")
        self._postings = {
            name: Postings(part.astype(np.float64, copy=False), positions=places)
            for name, part, places in zip(fields, counts, positions)
        }
        if not np.array_equal(self.postings().lengths, lengths):
            raise ValueError("the lengths of the documents are not those of the counts")

    def _tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        tokenizer = Tokenizer() if self.tokenizer is None else self.tokenizer
        return tokenize_all(tokenizer, texts)


def _counted(words: Words, vocabulary: dict[str, int], positions: bool) -> Postings:
    """Return the postings of one field."""
    counts, found = words.count(vocabulary, positions)
    return Postings(counts, positions=found)


def _whole(fields: dict[str, Postings]) -> Postings:
    """Return the postings of whole documents: fields, one after the other."""
    parts = list(fields.values())
    counts = [part.counts for part in parts]
    total = sparse.csc_array(sum(counts[1:], start=counts[0]))
    total.sort_indices()
    positions = None
    if all(part.positions is not None for part in parts):
        positions = join_positions(_lists_of(total), parts)
    return Postings(total, positions=positions, fields=fields)


def _restored_ids(saved: list[Any], n_documents: int) -> np.ndarray | None:
    """Return the ids of the documents from a file, if it has any."""
    if all(part is None for part in saved):
        return None
    ids = split_terms(*saved)
    if len(ids) != n_documents or len(set(ids)) < len(ids):
        raise ValueError(
            f"the ids of {n_documents} documents must be as many, and differ"
        )
    return as_ids_array(ids)


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
    documents: Documents | InvertedIndex,
    tokenizer: Analyzer | None = None,
    *,
    with_positions: bool = False,
) -> InvertedIndex:
    """Return an index as it is, and index anything else."""
    if not isinstance(documents, InvertedIndex):
        return InvertedIndex(tokenizer, with_positions=with_positions).fit(documents)
    check_is_fitted(documents, "vocabulary_")
    if with_positions and documents.postings().positions is None:
        raise ValueError(
            "documents must be an index with positions; make it by "
            "InvertedIndex(with_positions=True)"
        )
    return documents


def documents_of(
    documents: Documents,
) -> tuple[dict[str, list[str]], np.ndarray | None]:
    """Return the texts of every field, and the ids of the documents if they have any.

    Parameters
    ----------
    documents : sequence of str, mapping, data frame or TextCollection
        Documents.

    Returns
    -------
    fields : dict of str to list of str
    ids : ndarray of shape (n_documents,), or None
    """
    ids = None
    if isinstance(documents, TextCollection):
        documents, ids = documents.fields, documents.ids
    elif is_frame(documents):
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
    return fields, ids
