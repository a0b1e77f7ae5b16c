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
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Parameters, PositiveInt
from skrank._core._validation import check_arguments, n_rows
from skrank.text._index import Documents, InvertedIndex, Postings, as_index
from skrank.text._matching import TermMatches, check_pairs, match_pairs
from skrank.text._saving import FittedToIndex
from skrank.text._segments import segment_reduce
from skrank.text._tokenizer import Analyzer

# `retrieve` holds at most this many dense scores at once: 32 MB.
_BLOCK_SCORES = 4_000_000


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
            each column is a field), or a fitted index, which several models can share.
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
        self.index_ = as_index(documents, self.tokenizer)
        self.postings_ = self.index_.postings(self.field)
        with np.errstate(all="ignore"):
            self.weights_, self.offsets_ = self._weigh_documents(self.postings_)
        for weights in (self.weights_, self.offsets_):
            if weights is not None and not np.isfinite(weights).all():
                raise ValueError(f"{self!r} gives weights beyond the range of numbers")
        return self

    def score(self, queries: Iterable[str]) -> np.ndarray:
        """Score all documents for each query.

        Parameters
        ----------
        queries : sequence of str
            One text per query.

        Returns
        -------
        ndarray of shape (n_queries, n_documents), dtype float64
            Scores, higher is better.

        Raises
        ------
        TypeError
            If a query is missing or no string.
        """
        check_is_fitted(self, "weights_")
        return self._score_counts(self.index_.count_queries(queries))

    def score_pairs(
        self,
        queries: Iterable[str],
        query_of: npt.ArrayLike,
        document_of: npt.ArrayLike,
    ) -> np.ndarray:
        """Score chosen (query, document) pairs.

        Parameters
        ----------
        queries : sequence of str
            One text per query.
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
            If a query is missing or no string.
        """
        check_is_fitted(self, "weights_")
        counts = self.index_.count_queries(queries)
        query_of, document_of = check_pairs(
            query_of, document_of, n_rows(counts), self.postings_.n_documents
        )
        matches = match_pairs(counts, self.postings_, query_of, document_of)
        return self._score_matches(counts, matches, query_of, document_of)

    def retrieve(
        self, queries: Iterable[str], k: PositiveInt
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best documents for each query.

        Only documents that contain a term of the query are found. Other documents have
        scores, too, which `score` tells, but nothing speaks for them.

        Parameters
        ----------
        queries : sequence of str
            One text per query.
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
            If a query is missing or no string.

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
        check_is_fitted(self, "weights_")
        check_arguments(self.retrieve, k=k)
        counts = self.index_.count_queries(queries)
        k = min(k, self.postings_.n_documents)
        n_queries = n_rows(counts)
        documents = np.empty((n_queries, k), dtype=np.intp)
        scores = np.empty((n_queries, k))
        step = max(1, _BLOCK_SCORES // self.postings_.n_documents)
        for start in range(0, n_queries, step):
            block = slice(start, start + step)
            dense = self._score_counts(counts[block])
            dense[~self._matches(counts[block])] = -np.inf
            # A stable sort keeps equal scores in the order of the document numbers; a
            # partition would be faster but leaves ties in any order.
            documents[block] = np.argsort(-dense, axis=1, kind="stable")[:, :k]
            scores[block] = np.take_along_axis(dense, documents[block], axis=1)
        found = scores > -np.inf
        documents[~found] = -1
        n_found = int(found.sum(axis=1).max(initial=0))
        return documents[:, :n_found].copy(), scores[:, :n_found].copy()

    def _matches(self, counts: sparse.csr_array) -> np.ndarray:
        """Return whether each document contains a term of each query."""
        queries, documents = (
            type(matrix)(
                (np.ones(matrix.nnz, bool), matrix.indices, matrix.indptr),
                shape=matrix.shape,
            )
            for matrix in (counts, self.postings_.counts)
        )
        return (queries @ documents.T).toarray()

    def _score_counts(self, counts: sparse.csr_array) -> np.ndarray:
        """Return the scores of all documents, by one sparse product."""
        query_weights, constants = self._weigh_queries(counts)
        queries = sparse.csr_array(
            (query_weights, counts.indices, counts.indptr), shape=counts.shape
        )
        # The weights take the place of the counts, so that the structure of the matrix
        # is shared and nothing of the size of the index is copied.
        documents = self.postings_.counts
        documents = sparse.csc_array(
            (self.weights_, documents.indices, documents.indptr), shape=documents.shape
        )
        scores = (queries @ documents.T).toarray()
        if self.offsets_ is not None:
            scores += np.outer(_totals(query_weights, counts), self.offsets_)
        if constants is not None:
            scores += constants[:, None]
        return scores

    def _score_matches(
        self,
        counts: sparse.csr_array,
        matches: TermMatches,
        query_of: np.ndarray,
        document_of: np.ndarray,
    ) -> np.ndarray:
        """Return the scores of pairs whose terms were looked up in this field."""
        query_weights, constants = self._weigh_queries(counts)
        products = query_weights[matches.entry] * matches.of_postings(self.weights_)
        scores = matches.reduce(np.add, products)
        if self.offsets_ is not None:
            scores += (
                _totals(query_weights, counts)[query_of] * self.offsets_[document_of]
            )
        if constants is not None:
            scores += constants[query_of]
        return scores


def _totals(query_weights, counts):
    """Return the sum of u over the terms of each query."""
    return segment_reduce(np.add, query_weights, counts.indptr)
