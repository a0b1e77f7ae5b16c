r"""Base class of the conventional relevance models.

Every model here has the form

.. math::
    s(q, d) = \sum_{t \in q \cap d} u(t, q)\, w(t, d)
        + \Big(\sum_{t \in q} u(t, q)\Big)\, o(d) + c(q)

with one weight :math:`w` for each posting, computed once in `fit`, a weight :math:`u`
for each query term, an offset :math:`o` for each document (in language models, the
logarithm of the mass that is left to unseen terms) and a constant :math:`c` for each
query. A new model states these four quantities and nothing else.
"""

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._finite import quiet
from skrank._core._parameters import Parameters, PositiveInt
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_arguments, n_rows
from skrank.text._index import Documents, InvertedIndex, Postings, as_index
from skrank.text._matching import TermMatches, check_pairs, match_pairs
from skrank.text._saving import FittedToIndex
from skrank.text._segments import segment_reduce
from skrank.text._texts import Queries
from skrank.text._tokenizer import Analyzer

_PER_POSTING = 2  # nanoseconds
_CompiledQueries = tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None
]


class BaseTextModel(Parameters, FittedToIndex, metaclass=ABCMeta):
    """Base class of the relevance models over an inverted index.

    Parameters
    ----------
    field : str, default=None
        Name of the field to score; None scores whole documents.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents.
    postings_ : Postings
        Term counts of the scored field.
    weights_ : ndarray of shape (n_postings,)
        Weight of each posting.
    offsets_ : ndarray of shape (n_documents,), or None
        Offset of each document; None where the model has none.
    """

    field: str | None = None
    tokenizer: Analyzer | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    @abstractmethod
    def _weigh_documents(
        self, postings: Postings
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return w of each posting, and o of each document or None."""

    @abstractmethod
    def _weigh_queries(
        self, counts: sparse.csr_array
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return u of each non-zero of ``counts``, and c of each query or None."""

    def fit(self, documents: Documents | InvertedIndex, y: None = None) -> Self:
        """Index documents and weigh their terms.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, one such sequence for each field (in a data frame,
            each column is a field), a `TextCollection`, or a fitted index, which
            several models can share.
        y : None
            Ignored.

        Returns
        -------
        object
            The model itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, or the documents have no such field.
        TypeError
            If a document is missing or no string.
        """
        self._check_parameters()
        self._keep_index(as_index(documents, self.tokenizer))
        self.postings_ = self.index_.postings(self.field)
        self.weights_, self.offsets_ = self._weighed(self.postings_)
        return self

    def _weighed(self, postings: Postings) -> tuple[np.ndarray, np.ndarray | None]:
        """Return weights of postings and offsets of documents that are numbers."""
        with quiet():
            weighed = self._weigh_documents(postings)
        for weights in weighed:
            if weights is not None and not np.isfinite(weights).all():
                raise ValueError(f"{self!r} gives weights beyond the range of numbers")
        return weighed

    def score(self, queries: Queries) -> np.ndarray:
        """Score all documents for each query.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights, as `RM3.expand`
            returns them.

        Returns
        -------
        ndarray of shape (n_queries, n_documents), dtype float64
            Scores, higher is better.

        Raises
        ------
        TypeError
            If a query is missing or neither a string nor such a mapping.
        """
        self._check_fitted("weights_")
        return self._score_counts(self.index_.count_queries(queries))

    def score_pairs(
        self,
        queries: Queries,
        query_of: npt.ArrayLike,
        document_of: npt.ArrayLike,
    ) -> np.ndarray:
        """Score chosen (query, document) pairs.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights, as `RM3.expand`
            returns them.
        query_of, document_of : array-like of shape (n_pairs,), dtype int
            The number of the query and of the document of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,), dtype float64
            Scores, higher is better. Complexity: O(L log P), where L is the number of
            query terms summed over the pairs and P the number of postings.

        Raises
        ------
        ValueError
            If a number names no query or no document.
        TypeError
            If a query is missing or neither a string nor such a mapping.
        """
        self._check_fitted("weights_")
        counts = self.index_.count_queries(queries)
        query_of, document_of = check_pairs(
            query_of, document_of, n_rows(counts), self.postings_.n_documents
        )
        matches = match_pairs(counts, self.postings_, query_of, document_of)
        weighed = self.weights_, self.offsets_
        return self._score_matches(weighed, counts, matches, query_of, document_of)

    def retrieve(
        self, queries: Queries, k: PositiveInt
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best documents for each query.

        Only documents that contain a term of the query are found. Other documents have
        scores, too, which `score` tells, but nothing speaks for them.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights, as `RM3.expand`
            returns them.
        k : int
            Number of documents wanted for each query.

        Returns
        -------
        documents : ndarray of shape (n_queries, n_found), dtype intp
            Document numbers, best first; of documents with equal scores, the lower
            number comes first. ``n_found`` is the largest number of documents that a
            query finds, at most k; where a query finds fewer, -1 fills its row.
        scores : ndarray of shape (n_queries, n_found), dtype float64
            Scores of these documents, -inf where there is none.

        Raises
        ------
        ValueError
            If k is not a whole number >= 1.
        TypeError
            If a query is missing or neither a string nor such a mapping.

        Examples
        --------
        >>> import numpy as np
        >>> from skrank.text import BM25
        >>> model = BM25().fit(["sort an array", "invert a matrix", "sort rows"])
        >>> documents, scores = model.retrieve(["sort", "matrix", "tree"], k=5)
        >>> documents
        array([[ 0,  2],
               [ 1, -1],
               [-1, -1]])
        >>> query_of, place = np.nonzero(documents >= 0)
        >>> query_of, documents[query_of, place]
        (array([0, 0, 1]), array([0, 2, 1]))
        """
        self._check_fitted("weights_")
        check_arguments(self.retrieve, k=k)
        counts = self.index_.count_queries(queries)
        documents, scores = self._search(counts, min(k, self.postings_.n_documents))
        n_found = int((documents >= 0).sum(axis=1).max(initial=0))
        return documents[:, :n_found].copy(), scores[:, :n_found].copy()

    def _search(
        self, counts: sparse.csr_array, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best documents of each query with -1, and -inf, for no more."""
        weighed = self._compiled_queries(counts)
        n_threads = n_threads_for(self._work(counts))
        lists = self.postings_.lists
        return lists.search(
            self.weights_, self.offsets_, *weighed, k=k, n_threads=n_threads
        )[:2]

    def _compiled_queries(self, counts: sparse.csr_array) -> _CompiledQueries:
        """Return pointers, terms, weights, totals and constants of queries."""
        weights, constants = self._weigh_queries(counts)
        totals = None if self.offsets_ is None else _totals(weights, counts)
        ptr = counts.indptr.astype(np.intp)
        terms = counts.indices.astype(np.int32, copy=False)
        return ptr, terms, weights, totals, constants

    def _work(self, counts: sparse.csr_array) -> float:
        """Return the nanoseconds that scoring takes, roughly."""
        frequency = self.postings_.document_frequency
        return float(frequency[counts.indices].sum()) * _PER_POSTING

    def _score_counts(self, counts: sparse.csr_array) -> np.ndarray:
        """Return the scores of all documents."""
        work = self._work(counts) + n_rows(counts) * self.postings_.n_documents
        weighed = self._compiled_queries(counts)
        lists, n_threads = self.postings_.lists, n_threads_for(work)
        return lists.score(self.weights_, self.offsets_, *weighed, n_threads=n_threads)

    def _score_matches(
        self,
        weighed: tuple[np.ndarray, np.ndarray | None],
        counts: sparse.csr_array,
        matches: TermMatches,
        query_of: np.ndarray,
        document_of: np.ndarray,
    ) -> np.ndarray:
        """Return the scores of pairs whose terms were looked up in this field."""
        weights, offsets = weighed
        query_weights, constants = self._weigh_queries(counts)
        products = query_weights[matches.entry] * matches.of_postings(weights)
        scores = matches.reduce(np.add, products)
        if offsets is not None:
            scores += _totals(query_weights, counts)[query_of] * offsets[document_of]
        if constants is not None:
            scores += constants[query_of]
        return scores


def _totals(query_weights, counts):
    """Return the sum of u over the terms of each query."""
    return segment_reduce(np.add, query_weights, counts.indptr)
