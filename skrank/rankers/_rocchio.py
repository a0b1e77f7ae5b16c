"""Rocchio's relevance feedback."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import NotFiniteError, quiet, require_finite_scores
from skrank._core._id_arrays import comparable_ids, id_list
from skrank._core._parameters import (
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    invalid_parameter,
)
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._segments import segment_ranks
from skrank._core._validation import as_numbers
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR, BaseRanker, GroupsAtPredictMixin


class Rocchio(GroupsAtPredictMixin, BaseRanker):
    r"""Rocchio: the query moves towards relevant documents and away from others.

    .. math:: \tilde q = \alpha q + \beta \frac{1}{m^+} \sum_{j : y_j \ge k} x_j
              - \gamma \frac{1}{m^-} \sum_{j : y_j < k} x_j, \qquad
              f(x_j) = \tilde q^T x_j

    Features span the space in which queries and documents meet, such as weights of
    terms. `fit` takes grades as feedback and learns one vector for each query: more
    documents of these queries are ranked by them. A query without feedback is ranked by
    the mean of all vectors, which with ``n_blind`` is first updated by blind feedback:
    the best documents then count as relevant, the others as irrelevant.

    An update is a gradient step of length 1 from q on the loss

    .. math:: L(w) = \sum_{j} \begin{cases}
              \frac{1}{m^+} \bigl(\frac{1 - \alpha}{4} \lVert w \rVert^2
              - \beta w^T x_j\bigr), & y_j \ge k, \\
              \frac{1}{m^-} \bigl(\frac{1 - \alpha}{4} \lVert w \rVert^2
              + \gamma w^T x_j\bigr), & y_j < k, \end{cases}

    so that repeated updates tend to its minimum if :math:`\alpha < 1`. Where documents
    of a query are all of one kind, their sum has :math:`(1 - \alpha) / 2` in place of
    the quarter, as both sums have together elsewhere.

    Complexity: O(n d) for n documents with d features, whatever the number of updates.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight :math:`\alpha` of the original query.
    beta : float, default=0.75
        Weight :math:`\beta` of the mean relevant document; 0.75 and 0.15 are the usual
        values.
    gamma : float, default=0.15
        Weight :math:`\gamma` of the mean irrelevant document.
    query : array-like of shape (n_features,), default=None
        Original vector q of all queries; None means 0.
    threshold : float, default=1.0
        Lowest grade k that counts as relevant.
    n_updates : int, default=1
        Number of updates, each from the vector of the one before.
    n_blind : int, default=0
        Number of documents that count as relevant in blind feedback; 0 for none.

    Attributes
    ----------
    vectors_ : ndarray or CSR matrix of shape (n_queries, n_features)
        Vector of each training query, in the order of ``query_ids_``.
    mean_vector_ : ndarray of shape (n_features,)
        Mean of the vectors; a query has the mean weight of its documents.
    loss_curve_ : ndarray of shape (n_updates,)
        Mean loss over the queries before each update.

    References
    ----------
    [Rocchio1971]_; [Liu2011]_, section 2.5.1, eq. 2.17–2.19; [Manning2008]_, section
    9.1.1, for the weights.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import Rocchio
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = Rocchio().fit(X, y, groups)
    >>> ranker.vectors_.shape == (30, X.shape[1])
    True
    """

    _penalties: ClassVar = ()  # alpha is the weight of the original query
    approach = "pointwise"

    alpha: NonNegative = 1.0
    beta: NonNegative = 0.75
    gamma: NonNegative = 0.15
    query: npt.ArrayLike | None = field(default=None)
    threshold: float = 1.0
    n_updates: PositiveInt = 1
    n_blind: NonNegativeInt = 0

    @classmethod
    def _variants(cls):
        return [{}, {"alpha": 0.5, "n_updates": 20}, {"n_blind": 3, "gamma": 0.0}]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        weight = data.sample_weight
        weight = np.ones(data.n_documents) if weight is None else weight
        relevant = np.asarray(data.y) >= self.threshold
        of_query = np.add.reduceat(weight, data.ptr[:-1]) / data.sizes
        self.vectors_ = self._updated(self._origin(), data, relevant, weight, of_query)
        if not np.isfinite(self.loss_curve_).all():
            raise NotFiniteError(
                f"Rocchio: the loss became {self.loss_curve_[-1]}; scale the features "
                "and query, or choose smaller alpha, beta, gamma or n_updates"
            )
        total = of_query.sum()
        share = of_query / total if total else of_query
        self.mean_vector_ = np.ravel(share @ self.vectors_)

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from super()._learned()
        for name in ("vectors_", "mean_vector_"):
            values: Any = getattr(self, name)
            yield name, values.data if sparse.issparse(values) else values

    def _origin(self) -> np.ndarray:
        """Return the original query."""
        d = self.n_features_in_
        if self.query is None:
            return np.zeros(d)
        query = as_numbers(self.query, "query")
        if query.shape != (d,) or not np.isfinite(query).all():
            raise invalid_parameter(
                self, "query", f"{d} finite numbers, one for each feature", self.query
            )
        return query

    def _updated(self, origin, data, relevant, weight, of_query):
        """Return the vectors of queries; all updates of one are a geometric series."""
        moves = self.beta * _means(data.X, data.ptr, weight * relevant)
        moves = moves - self.gamma * _means(data.X, data.ptr, weight * ~relevant)
        sizes = self.alpha ** np.arange(self.n_updates + 1.0)
        sums = np.append(0.0, np.cumsum(sizes[:-1]))
        self.loss_curve_ = np.array(
            [
                self._loss(moves, origin, size, total, of_query)
                for size, total in zip(sizes[:-1], sums[:-1])
            ]
        )
        vectors = sums[-1] * moves
        if not origin.any():  # sparse vectors of many queries stay sparse
            return vectors
        vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
        return vectors + sizes[-1] * origin

    def _loss(self, moves, origin, size, total, of_query) -> float:
        """Return the mean loss at ``size`` times the origin plus ``total`` moves."""
        along = np.ravel(moves @ origin)
        squares = moves.multiply(moves) if sparse.issparse(moves) else moves * moves
        squares = np.ravel(squares.sum(axis=1))
        norms = size**2 * (origin @ origin) + 2 * size * total * along
        norms = norms + total**2 * squares
        values = 0.5 * (1 - self.alpha) * norms - size * along - total * squares
        return float(np.average(values, weights=of_query if of_query.any() else None))

    def predict(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the scores of documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order, by the ids that `fit` was given.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better. Only differences within a query mean anything.

        Raises
        ------
        ValueError
            If there are no groups, X does not fit the training rows, or a score is not
            finite.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        ids = self._query_ids("predict", groups, X, n_samples=rows.shape[0])
        index = QueryIndex.from_groups(ids)
        grouped = rows if index.order is None else take_rows(rows, index.order)
        with quiet():
            scores = index.restore(self._scores_of_queries(grouped, index))
            return require_finite_scores(scores, rows)

    def _scores_of_rows(self, data: GroupedRows) -> np.ndarray:
        return self._scores_of_queries(data.X, QueryIndex.from_groups(data.groups))

    def _scores_of_queries(self, X, index) -> np.ndarray:
        own, ids = map(id_list, comparable_ids(self.query_ids_, index.ids))
        places = {query: place for place, query in enumerate(own)}
        known = np.array([places.get(query, -1) for query in ids], dtype=np.intp)
        of_row = np.repeat(known, index.sizes)
        mean = np.asarray(self.mean_vector_)
        scores = np.asarray(X @ mean, dtype=np.float64)
        if self.n_blind and (known < 0).any():
            scores = scores + self._blind_moves(X, index, scores)
        learned = np.flatnonzero(of_row >= 0)
        if len(learned):
            scores[learned] = _dots(
                take_rows(X, learned), self.vectors_, of_row[learned]
            )
        return scores

    def _blind_moves(self, X, index, scores) -> np.ndarray:
        """Return what blind feedback adds to scores."""
        best = segment_ranks(scores, index.ptr) <= self.n_blind
        weight = np.ones(len(scores))
        moves = self.beta * _means(X, index.ptr, weight * best)
        moves = moves - self.gamma * _means(X, index.ptr, weight * ~best)
        added = _dots(X, moves, index.codes)
        # The mean vector is the query of this feedback.
        return added + (self.alpha - 1.0) * scores


def _means(X, ptr, weight):
    """Return the weighted mean row of each query, 0 where there is no weight."""
    n, n_queries = len(weight), len(ptr) - 1
    totals = np.add.reduceat(weight, ptr[:-1]) if n_queries else np.zeros(0)
    sizes = np.diff(ptr)
    share = weight / np.repeat(np.where(totals > 0, totals, 1.0), sizes)
    gather = sparse.csr_matrix((share, np.arange(n), ptr), shape=(n_queries, n))
    return gather @ X


def _dots(X, vectors, places) -> np.ndarray:
    """Return the product of each row with the vector at its place."""
    if sparse.issparse(X) or sparse.issparse(vectors):
        products = sparse.csr_matrix(X).multiply(sparse.csr_matrix(vectors)[places])
        return np.ravel(products.sum(axis=1)).astype(np.float64)
    return np.einsum("ij,ij->i", X, vectors[places], dtype=np.float64)
