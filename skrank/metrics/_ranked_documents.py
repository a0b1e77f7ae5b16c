"""From scores to rankings: the treatments of equal scores.

`RankedDocuments` is what a measure sees of the rows that it evaluates: the grades, and
any per-document value in the order that the scores give, with equal scores treated as
the measure asks. The functions below it work on rows grouped by query.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from skrank._core import _measures
from skrank._core._id_arrays import id_text, objects_of
from skrank._core._sparse import read_only

Ties = Literal["average", "stable", "best", "worst", "docid", "random"]
TiesOrThreshold = Literal[
    "average", "stable", "best", "worst", "docid", "random", "threshold"
]
TiesOrFunction = Literal["function", "stable", "best", "worst", "docid", "random"]


def _docid_key(docids):
    """Key that puts the last id of the alphabet first, as trec_eval does."""
    try:
        _, codes = np.unique(docids, return_inverse=True)
    except TypeError:  # ids that do not compare, such as 1 and "a"; trec_eval has text
        texts = objects_of(map(id_text, docids))
        _, codes = np.unique(texts, return_inverse=True)
    return -codes.astype(np.float64)


def _with_unretrieved_last(scores, retrieved):
    """Scores that put documents outside of the ranking behind all others."""
    # A retrieved document may itself have the score -inf; it still comes before them.
    finite = np.maximum(scores, -np.finfo(np.float64).max)
    return np.where(retrieved, finite, -np.inf)


class RankedDocuments:
    """The documents of all queries with the order that their scores give them.

    Parameters
    ----------
    y, y_score : ndarray of shape (n_documents,)
        Grades and scores, grouped by query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    ties : str
        Treatment of equal scores, one of `TiesOrThreshold` or `TiesOrFunction`.
    docids : ndarray of shape (n_documents,) or None
        Needed by ``ties="docid"``.
    retrieved : ndarray of shape (n_documents,) or None
        False marks judged documents that the ranking does not contain; None takes those
        whose score is not −inf.
    judged : ndarray of shape (n_documents,) or None
        False marks documents without a grade; None if all have one.
    random_state : int, RandomState instance or None
        Seed of ``ties="random"``.
    greater_is_better : bool, default=True
        Direction of the measure, which tells ``ties="best"`` from ``ties="worst"``.
    n_threads : int
        Number of threads that kernels may use.
    row_arguments : mapping of str to ndarray, default=None
        What the measure needs beside grades and scores, with one entry per document.
    """

    def __init__(
        self,
        y: np.ndarray,
        y_score: np.ndarray,
        ptr: np.ndarray,
        *,
        ties: TiesOrThreshold | TiesOrFunction,
        docids: npt.ArrayLike | None = None,
        retrieved: npt.ArrayLike | None = None,
        judged: np.ndarray | None = None,
        random_state: int | np.random.RandomState | None = None,
        greater_is_better: bool = True,
        n_threads: int = 1,
        row_arguments: Mapping[str, np.ndarray] | None = None,
    ):
        # A slip in a measure of the user's must not change the data of the caller.
        self.y = read_only(y)
        given = row_arguments or {}
        self.row_arguments = {name: read_only(own) for name, own in given.items()}
        self.ptr = ptr
        self.ties = ties
        self.n_threads = n_threads
        self.judged = judged
        if retrieved is None and len(y_score) and y_score.min() == -np.inf:
            retrieved = y_score > -np.inf
        self.retrieved = (
            None if retrieved is None else np.asarray(retrieved, dtype=bool)
        )
        if self.retrieved is not None:
            y_score = _with_unretrieved_last(y_score, self.retrieved)
        self.y_score = read_only(y_score)
        self._docids = docids
        self._random_state = random_state
        self._greater_is_better = greater_is_better
        if ties == "docid" and docids is None:
            raise ValueError(
                "ties='docid' breaks equal scores by document id: pass docids=, or "
                "choose another treatment of ties such as 'average' or 'stable'"
            )

    @property
    def averages(self) -> bool:
        """Whether equal scores count with their expected value."""
        return self.ties in ("average", "threshold")

    @property
    def max_size(self) -> int:
        """Number of documents of the longest query."""
        return int(np.diff(self.ptr).max())

    @property
    def n_retrieved(self) -> np.ndarray:
        """Number of documents of each query that the ranking contains."""
        if self.retrieved is None:
            return np.diff(self.ptr).astype(np.float64)
        return self.sum_by_query(self.retrieved.astype(np.float64))

    def _key(self, value):
        """Second key of the sort, ascending; None keeps the order of the rows."""
        if self.ties == "docid":
            return _docid_key(self._docids)
        if self.ties == "random":
            rng = check_random_state(self._random_state)
            return rng.permutation(len(self.y)).astype(np.float64)
        if self.ties in ("best", "worst"):
            falling = (self.ties == "best") == self._greater_is_better
            return -value if falling else value
        return None

    def rank(
        self, value: np.ndarray, *, unretrieved: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Values in the order of ranks.

        Parameters
        ----------
        value : ndarray of shape (n_documents,)
            Value of each document, such as its gain; it decides the order of equal
            scores if ``ties`` is "best" or "worst".
        unretrieved : float, default=0.0
            Value that documents outside of the ranking get instead of their own.

        Returns
        -------
        values : ndarray of shape (n_documents,)
            The values in the order of ranks.
        scores : ndarray of shape (n_documents,) or None
            The scores in the order of ranks if ties are averaged, None otherwise.
        """
        key = self._key(value)
        if self.retrieved is not None:
            value = np.where(self.retrieved, value, unretrieved)
        return _measures.rank_values(
            self.y_score, key, value, self.ptr, self.averages, self.n_threads
        )

    def untied_scores(self, value: np.ndarray) -> np.ndarray:
        """Scores without a tie: equal ones are apart by the least step of floats.

        Parameters
        ----------
        value : ndarray of shape (n_documents,)
            Value of each document, which decides the order of equal scores if ``ties``
            is "best" or "worst".

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; −inf for documents outside of the ranking.
        """
        order = _measures.rank_rows(
            self.y_score, self._key(value), self.ptr, self.n_threads
        )
        scores = np.empty(len(order))
        scores[order] = _apart(self.y_score[order], self.ptr)
        if self.retrieved is not None:
            scores[~self.retrieved] = -np.inf
        return scores

    def sum_by_query(self, value: np.ndarray) -> np.ndarray:
        """Sum a value over each query, documents outside of the ranking included."""
        return np.add.reduceat(value, self.ptr[:-1])


def _apart(ranked: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return falling scores of queries as scores that fall at each step.

    Scores without a tie stay as they are, because functions may look at their size.
    """
    equal = ranked[1:] == ranked[:-1]
    equal[ptr[1:-1] - 1] = False
    if not equal.any():
        return ranked
    # Whole numbers in the order of the floats, without one between two neighbours.
    numbers = _numbered(ranked.view(np.int64))
    least = _numbered(np.array(-np.finfo(np.float64).max).view(np.int64))
    for a, b in pairwise(ptr):
        places = np.arange(b - a)
        own = np.minimum.accumulate(numbers[a:b] + places) - places
        numbers[a:b] = np.maximum(own, least + places[::-1])
    return _numbered(numbers).view(np.float64)


def _numbered(bits: np.ndarray) -> np.ndarray:
    """Turn the bits of floats into numbers in their order, and back again."""
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


class DocumentsInOrder(RankedDocuments):
    """Documents that stand in the order of their ranks, best first.

    Those outside of the ranking come last in their query. Whatever sorts them again
    would find the order of the rows, so that it is taken without sorting.
    """

    def rank(
        self, value: np.ndarray, *, unretrieved: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Values in the order of ranks, as of `RankedDocuments.rank`."""
        if self.retrieved is not None:
            value = np.where(self.retrieved, value, unretrieved)
        return np.ascontiguousarray(value, dtype=np.float64), None


def blocks_of_equal_scores(
    y_score: np.ndarray, ptr: np.ndarray, n_threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return first and one-past-last position of each document's block of equals.

    Parameters
    ----------
    y_score : ndarray of shape (n_documents,)
        Scores, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    start, end : ndarray of shape (n_documents,), dtype float64
        0-based; the mean 1-based rank of a document is ``(start + end + 1) / 2``.
    """
    order = _measures.rank_rows(y_score, None, ptr, n_threads)
    ranked = y_score[order]
    starts, sizes = _blocks(ranked, ptr)
    block = np.repeat(starts, sizes)
    first = np.repeat(ptr[:-1], np.diff(ptr))
    start = np.empty(len(ranked))
    end = np.empty(len(ranked))
    start[order] = block - first
    end[order] = block + np.repeat(sizes, sizes) - first
    return start, end


def _blocks(ranked_scores, ptr):
    """First row and number of rows of each block of equal scores within a query."""
    new = np.ones(len(ranked_scores), dtype=bool)
    new[1:] = ranked_scores[1:] != ranked_scores[:-1]
    new[ptr[:-1]] = True
    starts = np.flatnonzero(new)
    return starts, np.diff(np.append(starts, len(ranked_scores)))


def positions(ptr: np.ndarray) -> np.ndarray:
    """Return the 0-based position of each row in its query."""
    return np.arange(ptr[-1]) - np.repeat(ptr[:-1], np.diff(ptr))


def expected_values(
    ranked: np.ndarray, scores: np.ndarray | None, ptr: np.ndarray
) -> np.ndarray:
    """Replace the ranked values of each block of equal scores by their mean.

    Parameters
    ----------
    ranked : ndarray of shape (n_documents,)
        Values in the order of ranks.
    scores : ndarray of shape (n_documents,) or None
        Scores in the order of ranks; None if the order is to be taken as it is.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    if scores is None:
        return ranked
    starts, sizes = _blocks(scores, ptr)
    return np.repeat(np.add.reduceat(ranked, starts) / sizes, sizes)
