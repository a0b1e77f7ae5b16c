"""Sparse clicks smoothed by a random walk between queries and documents."""

from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._id_arrays import comparable_ids, id_keys, id_list
from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, PositiveInt
from skrank._core._validation import check_arguments
from skrank.click._sessions import Sessions, check_sessions
from skrank.click._sessions_ids import ids_of

_Share = Annotated[float, Interval(0, 1)]

_ROWS = 512  # queries whose similarities are in memory at once


class ClickGraph(Parameters, BaseEstimator):
    r"""Clicks on documents that users of similar queries have clicked.

    Queries and documents are the two sides of a graph whose edges are weighted by the
    number :math:`W_{ij}` of clicks. A walk from a query to a document, by the
    probabilities :math:`A_{ij} = W_{ij} / \sum_k W_{ik}`, and back, by
    :math:`B_{ji} = W_{ij} / \sum_k W_{kj}`, comes to queries for which users have
    clicked on the same documents. The probability of coming from one query to another
    is their similarity, and smoothed clicks are those of similar queries:

    .. math:: \tilde W = (1 - \mu)\, W + \mu\, (A B)^n\, W .

    Parameters
    ----------
    mixing : float, default=0.5
        Share :math:`\mu`, from 0 to 1, of the clicks of similar queries.
    n_steps : int, default=1
        Number n of walks there and back.
    min_similarity : float, default=0.0
        Similarities below this are taken for 0. It bounds the memory: of each query at
        most 1/min_similarity others are kept.

    Attributes
    ----------
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the queries.
    document_ids_ : ndarray of shape (n_documents,)
        Ids of the documents.
    clicks_ : CSR array of shape (n_queries, n_documents)
        Numbers of clicks.
    similarity_ : CSR array of shape (n_queries, n_queries)
        Probability of coming from a query to another. The row of a query without any
        click is empty.
    smoothed_ : CSR array of shape (n_queries, n_documents)
        Smoothed clicks.

    Notes
    -----
    A query without any click has no neighbors in the graph, and stays without.
    Complexity: that of sparse products, a few hundred queries at a time.

    References
    ----------
    [Liu2011]_, section 13.2.2.2; [Gao2009]_.

    Examples
    --------
    >>> from skrank.click import ClickGraph, Sessions
    >>> lists = [["guide", "maps"], ["maps", "hotels"]]
    >>> log = Sessions.from_lists(["rome", "roma"], lists, [[1, 1], [1, 0]])
    >>> graph = ClickGraph().fit(log)
    >>> graph.similarity_.toarray().tolist()  # from "roma", then from "rome"
    [[0.5, 0.5], [0.25, 0.75]]
    >>> graph.relevance("roma", "guide")  # which was never shown for "roma"
    0.2
    """

    mixing: _Share = 0.5
    n_steps: PositiveInt = 1
    min_similarity: _Share = 0.0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"mixing": 0.2, "n_steps": 2, "min_similarity": 0.1}]

    def fit(self, sessions: Sessions, y: Any = None) -> Self:
        """Count the clicks of a log, and smooth them.

        Parameters
        ----------
        sessions : Sessions
            Log.
        y : None
            Not used; it is here for the tools of scikit-learn.

        Returns
        -------
        ClickGraph
            The graph itself.
        """
        self._check_parameters()
        sessions = check_sessions(sessions)
        rows = np.flatnonzero(sessions.click)
        query = sessions.query[sessions.session[rows]]
        shape = len(sessions.query_ids), len(sessions.document_ids)
        ones = np.ones(len(rows))
        clicks = sparse.csr_array((ones, (query, sessions.document[rows])), shape=shape)
        clicks.sum_duplicates()
        self.query_ids_ = np.array(sessions.query_ids)
        self.document_ids_ = np.array(sessions.document_ids)
        self.clicks_ = clicks
        self.similarity_ = self._similarities(clicks)
        own, others = clicks * (1.0 - self.mixing), self.similarity_ @ clicks
        smoothed = sparse.csr_array(own + others * self.mixing)
        smoothed.eliminate_zeros()
        smoothed.sort_indices()
        self.smoothed_ = smoothed
        return self

    def _similarities(self, clicks) -> sparse.csr_array:
        """Return (A B)^n, a few rows at a time, without what is too small."""
        there = _stochastic(clicks)
        back = _stochastic(sparse.csr_array(clicks.T))
        blocks = []
        for start in range(0, clicks.shape[0], _ROWS):
            walk = there[start : start + _ROWS] @ back
            for _ in range(self.n_steps - 1):
                walk = self._pruned(walk) @ there @ back
            blocks.append(self._pruned(walk))
        n = clicks.shape[0]
        if not blocks:
            return sparse.csr_array((n, n))
        return sparse.csr_array(sparse.vstack(blocks))

    def _pruned(self, walk) -> sparse.csr_array:
        walk = sparse.csr_array(walk)
        walk.data[walk.data < self.min_similarity] = 0.0
        walk.eliminate_zeros()
        walk.sort_indices()
        return walk

    def relevance(
        self, query: npt.ArrayLike, document: npt.ArrayLike
    ) -> float | np.ndarray:
        r"""Return the share of each document in the smoothed clicks of its query.

        .. math:: r_{ij} = \tilde W_{ij} / \textstyle\sum_k \tilde W_{ik}

        Parameters
        ----------
        query : id, or array-like of shape (n_pairs,)
            Query ids.
        document : id, or array-like of shape (n_pairs,)
            Document ids.

        Returns
        -------
        float or ndarray of shape (n_pairs,)
            Shares, 0 for queries and documents that the log has no click on.
        """
        check_is_fitted(self)
        queries, documents = ids_of_pairs_of(query, document)
        row = _places(self.query_ids_, queries)
        column = _places(self.document_ids_, documents)
        totals = self.smoothed_.sum(axis=1)
        known = (row >= 0) & (column >= 0)
        known[known] = totals[row[known]] > 0
        shares = np.zeros(len(row))
        values = _values_at(self.smoothed_, row[known], column[known])
        shares[known] = values / totals[row[known]]
        is_one = not is_list(query) and not is_list(document)
        return float(shares[0]) if is_one else shares

    def similar_queries(self, query: Any, k: PositiveInt = 10) -> list[tuple]:
        """Return the queries that a walk from a query comes to, the likeliest first.

        Parameters
        ----------
        query : object
            Query id.
        k : int, default=10
            Largest number of queries.

        Returns
        -------
        list of (id, float)
            Other queries and their similarities, ties in the order of the ids.

        Raises
        ------
        ValueError
            If the log does not hold the query.
        """
        check_is_fitted(self)
        check_arguments(self.similar_queries, k=k)
        place = _places(self.query_ids_, ids_of([query], "query", "query id"))[0]
        if place < 0:
            raise ValueError(f"query {shown(query)} is none of the log")
        similarity = self.similarity_
        own = slice(*similarity.indptr[place : place + 2])
        column, value = similarity.indices[own], np.array(similarity.data[own], float)
        column, value = column[column != place], value[column != place]
        order = np.lexsort((column, np.negative(value)))[:k]
        names = id_list(self.query_ids_[column[order]])
        return list(zip(names, value[order].tolist()))


def _stochastic(weights) -> sparse.csr_array:
    """Return rows divided by their sums; empty rows stay empty."""
    totals = weights.sum(axis=1)
    scale = np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0)
    shares = weights.copy()
    shares.data *= np.repeat(scale, np.diff(weights.indptr))
    return shares


def _values_at(matrix, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return entries of a CSR array whose indices ascend in each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys = rows * matrix.shape[1] + matrix.indices
    wanted = row * matrix.shape[1] + column
    if not len(keys):
        return np.zeros(len(row))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, matrix.data[place], 0.0)


def is_list(ids: Any) -> bool:
    """Return whether these are several ids; a tuple may be one."""
    return np.ndim(ids) > 0 if hasattr(ids, "__array__") else isinstance(ids, list)


def ids_of_pairs_of(query: Any, document: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return one query id and one document id for each pair, of which one may be one.

    Parameters
    ----------
    query, document : id, or array-like of shape (n_pairs,)
        Ids.

    Returns
    -------
    tuple of ndarray of shape (n_pairs,)
    """
    queries = ids_of(query if is_list(query) else [query], "query", "query id")
    documents = ids_of(
        document if is_list(document) else [document], "document", "document id"
    )
    if not is_list(query):
        queries = np.repeat(queries, len(documents))
    if not is_list(document):
        documents = np.repeat(documents, len(queries))
    if len(queries) != len(documents):
        raise ValueError(
            f"query and document must have as many ids, got {len(queries)} and "
            f"{len(documents)}"
        )
    return queries, documents


def _places(known: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return the number of each id among known ones, −1 for others."""
    known, ids = comparable_ids(known, ids)
    table = {key: number for number, key in enumerate(id_keys(known))}
    return np.fromiter((table.get(k, -1) for k in id_keys(ids)), np.intp, len(ids))
