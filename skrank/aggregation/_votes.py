"""Votes of the runs between documents."""

from typing import Any, Literal

import numpy as np

from skrank._core._threads import n_threads_for
from skrank.aggregation._base import BaseAggregator, WeightedRunsMixin
from skrank.aggregation._borda import Borda
from skrank.aggregation._joined import JoinedRuns, best_first

# Nanoseconds in which one thread compares two documents in one run, roughly.
_COMPARISON = 2.0
# Pairs of documents whose votes are held at a time: they stay in the cache, and signals
# are answered in between.
_BLOCK = 1 << 18


class BaseVotingAggregator(WeightedRunsMixin, BaseAggregator):
    """Base class of aggregators that see only which document a run prefers to which.

    Parameters
    ----------
    missing : {"last", "skip"}, default="last"
        Votes on documents that a run lacks: "last" takes it that the run prefers every
        document that it retrieved, and has no preference among those that it lacks;
        "skip" takes it that the run has no preference. A run that has nothing for a
        query has no vote in any case.
    """

    missing: Literal["last", "skip"] = "last"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"missing": "skip"}]

    def _voters(self, joined: JoinedRuns) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of each document in the runs, and the weights of the runs.

        A place is NaN where the run has no vote. The runs stand in ascending order of
        their weights, so that the votes of the same runs have the same sum, to the bit,
        in whatever order the runs were given.
        """
        places = joined.ranks
        if self.missing == "last":
            silent = np.repeat(joined.n_retrieved == 0, joined.sizes, axis=0)
            places = np.where(np.isnan(places) & ~silent, np.inf, places)
        weights = self._weights(joined)
        order = np.argsort(weights, kind="stable")
        return np.ascontiguousarray(places[:, order]), weights[order]

    def _threads(self, joined: JoinedRuns) -> int:
        pairs = float(np.square(joined.sizes.astype(np.float64)).sum())
        return n_threads_for(_COMPARISON * joined.n_runs * pairs, self.n_jobs)

    def _borda_order(self, joined: JoinedRuns) -> np.ndarray:
        """Return the documents in Borda's order, counted from their query's first."""
        missing = "average" if self.missing == "last" else "skip"
        start = Borda(weights=self.weights, missing=missing)._combine(joined)
        return local_order(best_first(start, joined.ptr, joined.docids), joined.ptr)


def local_order(rows: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return rows, query after query, counted from the first row of their query."""
    return (rows - np.repeat(ptr[:-1], np.diff(ptr))).astype(np.int32)


def scores_of_order(order: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return scores m, m − 1, … 1 of the documents of each query in an order.

    Parameters
    ----------
    order : ndarray of shape (n_documents,), dtype int32
        Documents, the best first, counted from the first row of their query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    sizes = np.diff(ptr)
    scores = np.empty(len(order))
    left = np.repeat(ptr[1:], sizes) - np.arange(len(order))
    scores[order + np.repeat(ptr[:-1], sizes)] = left
    return scores


def pair_votes(places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weight of the runs that prefer each document of a query to each other.

    Parameters
    ----------
    places : ndarray of shape (m, n_runs)
        Place of each document in each run; NaN: no vote.
    weights : ndarray of shape (n_runs,)
        Weights of the runs.

    Returns
    -------
    ndarray of shape (m, m)
        Entry (i, j) is the weight of the runs that prefer i to j.
        Complexity: O(m² n_runs).
    """
    votes = np.zeros((len(places), len(places)))
    for column, weight in zip(places.T, weights):
        votes += weight * (column[:, None] < column[None, :])
    return votes


def majorities(places: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return which document of a query beats which, and the votes for the losers.

    Parameters
    ----------
    places : ndarray of shape (m, n_runs)
        Place of each document in each run; NaN: no vote.
    weights : ndarray of shape (n_runs,)
        Weights of the runs.

    Returns
    -------
    beats : ndarray of shape (m, m), dtype bool
        Whether the runs that prefer the document of the row to that of the column weigh
        more than those that prefer the latter.
    least : float
        Smaller one of the two weights of a pair, summed over all pairs: no order can
        have fewer votes against it. Complexity: O(m² n_runs), and m² bytes.
    """
    m = len(places)
    columns = np.ascontiguousarray(places.T)
    beats = np.empty((m, m), dtype=bool)
    least = 0.0
    step = max(1, _BLOCK // max(m, 1))
    for start in range(0, m, step):
        own = slice(start, start + step)
        ahead = np.zeros((min(step, m - start), m))
        behind = np.zeros_like(ahead)
        for column, weight in zip(columns, weights):
            ahead += weight * (column[own, None] < column)
            behind += weight * (column[own, None] > column)
        np.greater(ahead, behind, out=beats[own])
        least += float(np.minimum(ahead, behind).sum())
    return beats, least / 2.0
