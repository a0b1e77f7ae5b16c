r"""What all conventional relevance models share.

Every model here has the form

.. math::
    s(q, d) = \sum_{t \in q \cap d} u(t, q)\, w(t, d)
        + \Big(\sum_{t \in q} u(t, q)\Big)\, o(d) + c(q)

with one weight :math:`w` per posting, computed once in `fit`, a weight :math:`u` per
query term, an offset :math:`o` per document (language models: the mass left to unseen
terms) and a constant :math:`c` per query. A new model says what these four are and
nothing else.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank.text._index import Documents, InvertedIndex, as_index
from skrank.text._matching import check_pairs, match_pairs
from skrank.text._segments import segment_reduce

_BLOCK_SCORES = 4_000_000  # dense scores held at once by retrieve, 32 MB


class BaseTextModel(BaseEstimator, metaclass=ABCMeta):
    """Relevance model over an inverted index."""

    @abstractmethod
    def _weigh_documents(self, postings):
        """Return (w of each posting, o of each document or None)."""

    @abstractmethod
    def _weigh_queries(self, counts):
        """Return (u of each non-zero of counts, c of each query or None)."""

    def fit(self, documents: Documents | InvertedIndex, y=None):
        """Index documents and weigh their terms.

        Parameters
        ----------
        documents : sequence of str, mapping of str to sequence of str, or InvertedIndex
            One text per document, fields of such texts, or an index made before,
            which several models can share.
        y : None
            Ignored.

        Returns
        -------
        object
            The model itself.
        """
        self.index_ = as_index(documents, self.tokenizer)
        self.postings_ = self.index_.postings(self.field)
        self.weights_, self.offsets_ = self._weigh_documents(self.postings_)
        return self

    def score(self, queries: Sequence[str]) -> np.ndarray:
        """Score all documents.

        Parameters
        ----------
        queries : sequence of str
            One text per query.

        Returns
        -------
        ndarray of shape (n_queries, n_documents), dtype float64
            Scores, higher is better.
        """
        check_is_fitted(self, "weights_")
        return self._score_counts(self.index_.count_queries(queries))

    def score_pairs(
        self, queries: Sequence[str], query_of: ArrayLike, document_of: ArrayLike
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
            Scores, higher is better. Complexity: O(L log P) for L query terms over all
            pairs and P postings.

        Raises
        ------
        ValueError
            If a number names no query or no document.
        """
        check_is_fitted(self, "weights_")
        counts = self.index_.count_queries(queries)
        query_of, document_of = check_pairs(
            query_of, document_of, counts.shape[0], self.postings_.n_documents
        )
        matches = match_pairs(counts, self.postings_, query_of, document_of)
        return self._score_matches(counts, matches, query_of, document_of)

    def retrieve(self, queries: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best documents of each query.

        Parameters
        ----------
        queries : sequence of str
            One text per query.
        k : int
            Number of documents; at most all of them are returned.

        Returns
        -------
        documents : ndarray of shape (n_queries, min(k, n_documents)), dtype intp
            Document numbers, best first; of equal scores the lower number first.
        scores : ndarray of shape (n_queries, min(k, n_documents)), dtype float64
            Their scores.

        Raises
        ------
        ValueError
            If k is not positive.
        """
        check_is_fitted(self, "weights_")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        counts = self.index_.count_queries(queries)
        k = min(k, self.postings_.n_documents)
        documents = np.empty((counts.shape[0], k), dtype=np.intp)
        scores = np.empty((counts.shape[0], k))
        step = max(1, _BLOCK_SCORES // self.postings_.n_documents)
        for start in range(0, counts.shape[0], step):
            block = slice(start, start + step)
            dense = self._score_counts(counts[block])
            documents[block] = np.argsort(-dense, axis=1, kind="stable")[:, :k]
            scores[block] = np.take_along_axis(dense, documents[block], axis=1)
        return documents, scores

    def _score_counts(self, counts):
        """Scores of all documents for counted queries, by one sparse product."""
        query_weights, constants = self._weigh_queries(counts)
        queries = sparse.csr_array(
            (query_weights, counts.indices, counts.indptr), shape=counts.shape
        )
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

    def _score_matches(self, counts, matches, query_of, document_of):
        """Scores of pairs whose terms were looked up in this model's field."""
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
    return segment_reduce(np.add, query_weights, counts.indptr)


def check_range(value, name, low, high, accepted):
    """Check that a parameter is a number with low <= value <= high."""
    if not isinstance(value, Real) or not low <= value <= high:
        raise ValueError(f"{name} must be {accepted}, got {value!r}")
