"""Normalisation of the scores of each query and run.

Every function takes the scores of one run, grouped by query, and returns them
normalised. Where the spread of the scores of a query is 0, there is nothing to divide
by, and the normalised scores are those of the numerator, 0.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from skrank._core._finite import quiet
from skrank._core._segments import segment_order
from skrank.aggregation._joined import JoinedRuns

Normalization = Literal[
    "min-max",
    "max",
    "sum",
    "zmuv",
    "rank",
    "borda",
    "min-max-inverted",
    "min_max",  # ranx knows both spellings
    "min_max_inverted",
]

# Scores beyond this power of two are scaled: sums of their squares may leave the range.
_MOST_EXPONENT = 400


class _Column(NamedTuple):
    """Retrieved documents of one run."""

    scores: np.ndarray
    ranks: np.ndarray
    ptr: np.ndarray
    n_candidates: np.ndarray  # documents of any run, by query

    def reduced(self, ufunc: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Reduce values within queries, and repeat the result for each document."""
        return np.repeat(_reduce(ufunc, values, self.ptr), np.diff(self.ptr))

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sum values within queries, in the order of the scores.

        The order in which the documents of a query come then makes no difference, not
        even in the last digit: equal scores have equal values.
        """
        first = np.repeat(self.ptr[:-1], np.diff(self.ptr))
        order = segment_order(self.scores, self.ptr)  # counted from the first
        return self.reduced(np.add, values[first + order])

    @property
    def scaled(self) -> np.ndarray:
        """Scores in a unit of their query in which no sum of squares leaves the range.

        Units are powers of two, so that nothing is rounded but what vanishes beside the
        largest score, and 1 for all scores that runs usually have.
        """
        exponent = np.frexp(self.reduced(np.maximum, np.abs(self.scores)))[1]
        odd = np.abs(exponent) > _MOST_EXPONENT
        if not odd.any():
            return self.scores
        return np.ldexp(self.scores, np.where(odd, -exponent, 0))

    @property
    def sizes(self) -> np.ndarray:
        """Number of documents of the query of each document."""
        sizes = np.diff(self.ptr)
        return np.repeat(sizes, sizes)


def _reduce(ufunc: np.ufunc, values: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Reduce values within queries; 0 for queries without documents."""
    held = ptr[1:] > ptr[:-1]
    result = np.zeros(len(held))
    if held.any():
        result[held] = ufunc.reduceat(values, ptr[:-1][held])
    return result


def _divided(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    # A difference that is positive may still be too small to divide by.
    with quiet():
        return numerator / np.where(denominator > 0, denominator, 1.0)


def _min_max(column: _Column) -> np.ndarray:
    scores = column.scaled
    low, high = column.reduced(np.minimum, scores), column.reduced(np.maximum, scores)
    return _divided(scores - low, high - low)


def _min_max_inverted(column: _Column) -> np.ndarray:
    scores = column.scaled
    low, high = column.reduced(np.minimum, scores), column.reduced(np.maximum, scores)
    return _divided(high - scores, high - low)


def _max(column: _Column) -> np.ndarray:
    high = column.reduced(np.maximum, column.scores)
    if (high < 0).any():
        raise ValueError(
            "normalization='max' divides by the largest score of each query, which "
            f"must not be negative, got {high.min():g}; 'min-max' takes any scores"
        )
    return _divided(column.scores, high)


def _sum(column: _Column) -> np.ndarray:
    scores = column.scaled
    shifted = scores - column.reduced(np.minimum, scores)
    return _divided(shifted, column.summed(shifted))


def _zmuv(column: _Column) -> np.ndarray:
    scores = column.scaled
    centred = scores - column.summed(scores) / column.sizes
    variance = column.summed(centred**2) / column.sizes
    # Equal scores leave rounding errors of their mean, which are no spread.
    low = column.reduced(np.minimum, scores)
    constant = low == column.reduced(np.maximum, scores)
    return np.where(constant, 0.0, _divided(centred, np.sqrt(variance)))


def _rank(column: _Column) -> np.ndarray:
    return 1.0 - (column.ranks - 1.0) / column.sizes


def _borda(column: _Column) -> np.ndarray:
    candidates = np.repeat(column.n_candidates, np.diff(column.ptr))
    return 1.0 - (column.ranks - 1.0) / candidates


_NORMALIZATIONS: dict[str, Callable[[_Column], np.ndarray]] = {
    "min-max": _min_max,
    "min-max-inverted": _min_max_inverted,
    "max": _max,
    "sum": _sum,
    "zmuv": _zmuv,
    "rank": _rank,
    "borda": _borda,
}


def normalized(
    joined: JoinedRuns,
    normalization: Normalization | None = None,
    missing: str | float = "skip",
) -> np.ndarray:
    """Return the normalised scores of joined runs.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    normalization : str, default=None
        Normalisation; None leaves scores as they are.
    missing : {"skip", "minimum"} or float, default="skip"
        Normalised score of documents that a run lacks, NaN for "skip", except that
        "borda" then shares the points that are left.

    Returns
    -------
    ndarray of shape (n_runs, n_documents)
        Normalised scores. Complexity: O(n) for n retrieved documents, and O(n log n)
        for "sum", "zmuv", "rank" and "borda".
    """
    parts, fill = normalized_parts(joined, normalization, missing)
    result = np.full((joined.n_runs, joined.n_documents), np.nan)
    for run, part in enumerate(parts):
        result[run, joined.rows_of(run)[0]] = part
        if fill is not None:
            values = np.repeat(fill[:, run], joined.sizes)
            np.copyto(result[run], values, where=~joined.retrieved[:, run])
    return result


def normalized_parts(
    joined: JoinedRuns,
    normalization: Normalization | None = None,
    missing: str | float = "skip",
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return the normalised scores of each run, in the order of its documents.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    normalization : str, default=None
        Normalisation, as `normalized` takes it.
    missing : {"skip", "minimum"} or float, default="skip"
        Normalised score of documents that a run lacks, as `normalized` takes it.

    Returns
    -------
    parts : list of ndarray of shape (n_run,)
        Normalised scores, in the order of `JoinedRuns.rows_of`.
    fill : ndarray of shape (n_queries, n_runs) or None
        Normalised score of the documents that a run lacks, by query; NaN or None if
        there is none.
    """
    parts, fills = [], []
    n_candidates = joined.sizes
    name = None if normalization is None else normalization.replace("_", "-")
    for run in range(joined.n_runs):
        _, ptr = joined.rows_of(run)
        scores = joined.scores_of(run)
        if name is not None:
            ranks = joined.own_ranks[run] if name in ("rank", "borda") else scores
            column = _Column(scores, ranks, ptr, n_candidates)
            scores = _NORMALIZATIONS[name](column)
        parts.append(scores)
        fill = _fill(normalization, missing, scores, ptr, n_candidates)
        if fill is not None:
            # A run that has nothing for a query says nothing of its documents.
            fill[ptr[1:] == ptr[:-1]] = np.nan
            fills.append(fill)
    return parts, np.stack(fills, axis=1) if fills else None


def _fill(normalization, missing, scores, ptr, n_candidates) -> np.ndarray | None:
    """Return the score of missing documents by query; None: there is none."""
    if missing == "minimum":
        return _reduce(np.minimum, scores, ptr)
    if not isinstance(missing, str):
        return np.full(len(n_candidates), float(missing))
    if normalization == "borda":  # the points that are left are shared
        with quiet():
            return 0.5 - (np.diff(ptr) - 1.0) / (2.0 * n_candidates)
    return None
