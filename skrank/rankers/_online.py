"""Rankers that learn from one document or query after another."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from skrank._core._id_arrays import comparable_ids, id_keys, joined_ids, where_among
from skrank._core._parameters import PositiveInt
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR
from skrank.rankers._iterations import BaseIterativeRanker, EarlyStoppingMixin


class BaseOnlineRanker(EarlyStoppingMixin, BaseIterativeRanker):
    """Base class of rankers that change after each document or query they see.

    A subclass implements `_begin`, `_pass`, `_current` and `_scores_at`. `fit` makes
    several passes in random order; `partial_fit` makes one, in the order of the rows.
    A stream takes constant memory: of its queries, the last 10,000 are remembered.

    Parameters
    ----------
    max_iter : int, default=20
        Number of passes over the training rows at most.
    shuffle : bool, default=True
        Whether each pass of `fit` goes over the rows in an order of its own. Without
        it, a pass goes over the queries in the order of their ids, and over the rows of
        a query in their own; one pass is then what `partial_fit` makes of such rows.
    callback : callable or sequence of callables, default=None
        Function that is called before the first pass and after each one with a dict of
        ``iteration`` (0 before the first), ``objective``, ``descends`` (True: it is
        meant to fall), ``params`` (the current parameters) and, where there are
        validation queries, ``evals`` (the value of each measure, by the names of the
        set and of the measure) and ``validation`` (the value that decides). If it
        returns True, training stops. Of several functions all are called.

    Attributes
    ----------
    params_ : ndarray of shape (n_params,)
        Learned parameters.
    n_iter_ : int
        Number of passes of `fit`.
    best_iteration_ : int
        Pass whose parameters were kept.
    loss_curve_ : ndarray of shape (n_iterations,)
        Mean loss met during each pass.
    validation_curve_ : ndarray
        Validation measure that decides after each pass, if there were validation
        queries.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the training queries; after `partial_fit`, of the last 10,000 of them.
    query_sizes_ : ndarray of shape (n_queries,)
        Number of rows seen of each of these queries.
    query_grades_ : ndarray of shape (n_queries, 2)
        Lowest and highest grade seen in each of these queries.
    n_queries_without_preference_ : int
        Number of training queries all of whose rows, in whatever calls they came, have
        the same grade.
    """

    __metadata_request__partial_fit = {"groups": True, "sample_weight": True}

    max_iter: PositiveInt = 20
    shuffle: bool = True

    #: Longest memory of queries that `partial_fit` leaves.
    _n_remembered: ClassVar[int] = 10_000

    #: What a pass goes over, one after the other.
    _steps_over: ClassVar[Literal["documents", "queries"]] = "documents"

    def _begin(self, data: GroupedRows) -> None:
        """Forget what was learned, and make the state to start from."""
        raise NotImplementedError

    def _pass(self, data: GroupedRows, order: np.ndarray) -> float:
        """Learn from rows, or queries, in this order; return the mean loss on the way.

        0 says that nothing was left to learn, and ends `fit`.
        """
        raise NotImplementedError

    def _current(self) -> np.ndarray:
        """Return the parameters that the state stands for."""
        raise NotImplementedError

    def _scores_at(self, params: np.ndarray, X: Any) -> np.ndarray:
        """Return the scores of documents under some parameters."""
        raise NotImplementedError

    def _n_steps(self, data) -> int:
        over_queries = self._steps_over == "queries"
        return data.n_queries if over_queries else data.n_documents

    def _order(self, data, rng) -> np.ndarray:
        n = self._n_steps(data)
        return rng.permutation(n) if self.shuffle else np.arange(n)

    def _fit(self, data, validation):
        rng = check_random_state(self.random_state)
        data, validation = self._hold_out(data, validation, rng)
        self._begin(data)

        def scores_of(params, rows):
            return self._scores_at(params, rows.X)

        monitor = self._monitor(data, validation, scores_of)
        monitor.start(self._current())
        curve: list[float] = []
        while len(curve) < self.max_iter:
            curve.append(self._pass(data, self._order(data, rng)))
            stop = monitor(self._current(), len(curve), curve[-1])
            if stop or curve[-1] == 0.0:
                break
        kept = monitor.best_state
        self.params_ = np.array(self._current() if kept is None else kept)
        self._store_progress(monitor, len(curve), curve)

    def partial_fit(
        self,
        X: ArrayOrCSR,
        y: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows in one pass, in the order in which they come.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades >= 0; higher is better.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. Queries whose rows are adjacent are learned from in
            the order in which they come.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document.

        Returns
        -------
        BaseRanker
            The ranker.

        Raises
        ------
        ValueError
            If groups are missing, lengths or the number of features differ, or grades
            or features are not finite.
        """
        first = not hasattr(self, "params_")
        given = {"sample_weight": sample_weight}
        return self._learn(
            self._update, X, y, groups, given, reset=first, in_order=True
        )

    def _update(self, data, validation):
        if not hasattr(self, "params_"):
            self._begin(data)
        self._pass(data, np.arange(self._n_steps(data)))
        self.params_ = np.array(self._current())

    def _note_queries(self, data, index, reset):
        known = vars(self).get("query_ids_")
        y, first = np.asarray(data.y, dtype=np.float64), data.ptr[:-1]
        low, high = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
        if reset or known is None:
            super()._note_queries(data, index, reset)
            self.query_grades_ = np.column_stack([low, high])
            return
        # A call of few queries costs a look through those known, and no more.
        again = np.flatnonzero(where_among(known, index.ids))
        own, ids = comparable_ids(known[again], index.ids)
        places = dict(zip(id_keys(own), again.tolist()))
        at = np.array([places.get(query, -1) for query in id_keys(ids)])
        self._join_queries(index, np.column_stack([low, high]), at.astype(np.intp))

    def _join_queries(self, index, grades, at) -> None:
        """Add queries to those known; ``at`` is their place there, or -1."""
        old, new = at[at >= 0], at < 0
        sizes, of_known = self.query_sizes_.copy(), self.query_grades_.copy()
        sizes[old] += index.sizes[~new]
        without = -_n_equal(of_known[old])
        of_known[old, 0] = np.minimum(of_known[old, 0], grades[~new, 0])
        of_known[old, 1] = np.maximum(of_known[old, 1], grades[~new, 1])
        without += _n_equal(of_known[old]) + _n_equal(grades[new])
        ids = joined_ids(self.query_ids_, index.ids[new])
        first = max(0, len(ids) - self._n_remembered)
        self.query_ids_ = ids[first:].copy()
        self.query_sizes_ = np.concatenate([sizes, index.sizes[new]])[first:].copy()
        self.query_grades_ = np.concatenate([of_known, grades[new]])[first:].copy()
        self.n_queries_without_preference_ += without

    def _predict(self, X):
        return np.asarray(self._scores_at(self.params_, X), dtype=np.float64)


def _n_equal(grades) -> int:
    """Return the number of queries whose lowest and highest grades are the same."""
    return int((grades[:, 0] == grades[:, 1]).sum())
