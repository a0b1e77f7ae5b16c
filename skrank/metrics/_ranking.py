"""From scores to rankings: the treatments of equal scores."""

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _measures

TIES = ("average", "stable", "best", "worst", "docid", "random")


def _docid_key(docids):
    """Key that puts the last id of the alphabet first, as trec_eval does."""
    _, codes = np.unique(docids, return_inverse=True)
    return -codes.astype(np.float64)


def _with_unretrieved_last(scores, retrieved):
    """Scores that put documents outside of the ranking behind all others."""
    finite = np.maximum(scores, -np.finfo(np.float64).max)
    return np.where(retrieved, finite, -np.inf)


class Ranker:
    """The documents of all queries with the order that their scores give them.

    Parameters
    ----------
    y, y_score : ndarray of shape (n_documents,)
        Grades and scores, grouped by query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    ties : str
        One of `TIES`.
    docids : ndarray of shape (n_documents,) or None
        Needed by ``ties="docid"``.
    retrieved : ndarray of shape (n_documents,) or None
        False for judged documents outside of the ranking.
    random_state : int, RandomState instance or None
        Used by ``ties="random"``.
    n_threads : int
        Threads of the kernels.
    """

    def __init__(
        self,
        y,
        y_score,
        ptr,
        *,
        ties,
        docids=None,
        retrieved=None,
        random_state=None,
        n_threads=1,
    ):
        self.y = y
        self.ptr = ptr
        self.ties = ties
        self.n_threads = n_threads
        self.retrieved = (
            None if retrieved is None else np.asarray(retrieved, dtype=bool)
        )
        if self.retrieved is not None:
            y_score = _with_unretrieved_last(y_score, self.retrieved)
        self.y_score = y_score
        self._docids = docids
        self._random_state = random_state
        if ties == "docid" and docids is None:
            raise ValueError(
                "ties='docid' breaks equal scores by document id: pass docids=, or "
                "choose another treatment of ties such as 'average' or 'stable'"
            )

    @property
    def averages(self):
        """Whether equal scores count with their expected value."""
        return self.ties in ("average", "threshold")

    @property
    def max_size(self):
        """Number of documents of the longest query."""
        return int(np.diff(self.ptr).max())

    def _key(self, value):
        if self.ties == "docid":
            return _docid_key(self._docids)
        if self.ties == "random":
            rng = check_random_state(self._random_state)
            return rng.permutation(len(self.y)).astype(np.float64)
        if self.ties == "best":
            return -value
        return value if self.ties == "worst" else None

    def rank(self, value, *, unretrieved=0.0):
        """Values in the order of ranks.

        Parameters
        ----------
        value : ndarray of shape (n_documents,)
            What the measure sums; decides the order of equal scores if ``ties`` is
            "best" or "worst".
        unretrieved : float, default=0.0
            Stands for documents outside of the ranking.

        Returns
        -------
        values : ndarray of shape (n_documents,)
            Ranked values.
        scores : ndarray of shape (n_documents,) or None
            Ranked scores if ties are averaged, None otherwise.
        """
        key = self._key(value)
        if self.retrieved is not None:
            value = np.where(self.retrieved, value, unretrieved)
        return _measures.rank_values(
            self.y_score, key, value, self.ptr, self.averages, self.n_threads
        )

    def sum_by_query(self, value):
        """Sum over each query, unretrieved documents included."""
        return np.add.reduceat(value, self.ptr[:-1])


def mid_ranks(y_score, ptr, n_threads=1):
    """First and one-past-last position of each document's block of equal scores.

    Parameters
    ----------
    y_score : ndarray of shape (n_documents,)
        Scores, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.
    n_threads : int, default=1
        Threads.

    Returns
    -------
    start, end : ndarray of shape (n_documents,), dtype float64
        0-based; the mean 1-based rank of a document is ``(start + end + 1) / 2``.
    """
    order = _measures.rank_rows(y_score, None, ptr, n_threads)
    ranked = y_score[order]
    new = np.ones(len(ranked), dtype=bool)
    new[1:] = ranked[1:] != ranked[:-1]
    new[ptr[:-1]] = True
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(ranked)))
    block = np.repeat(starts, sizes)
    first = np.repeat(ptr[:-1], np.diff(ptr))
    start = np.empty(len(ranked))
    end = np.empty(len(ranked))
    start[order] = block - first
    end[order] = block + np.repeat(sizes, sizes) - first
    return start, end


def segment_cumsum(values, ptr):
    """Cumulative sum that starts anew with each query."""
    total = np.cumsum(values)
    before = np.where(ptr[:-1] > 0, total[ptr[:-1] - 1], 0.0)
    return total - np.repeat(before, np.diff(ptr))


def positions(ptr):
    """0-based position of each row in its query."""
    return np.arange(ptr[-1]) - np.repeat(ptr[:-1], np.diff(ptr))


def expected_values(ranked, scores, ptr):
    """Ranked values with each block of equal scores replaced by its mean.

    Parameters
    ----------
    ranked : ndarray of shape (n_documents,)
        Values in the order of ranks.
    scores : ndarray of shape (n_documents,) or None
        Ranked scores; None if the order is to be taken as it is.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    if scores is None:
        return ranked
    new = np.ones(len(ranked), dtype=bool)
    new[1:] = scores[1:] != scores[:-1]
    new[ptr[:-1]] = True
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(ranked)))
    return np.repeat(np.add.reduceat(ranked, starts) / sizes, sizes)
