"""Reductions over consecutive segments of a vector, which may be empty."""

from collections.abc import Sequence

import numpy as np


def segment_reduce(
    ufunc: np.ufunc, values: np.ndarray, ptr: np.ndarray, empty: float = 0.0
) -> np.ndarray:
    """Reduce ``values[ptr[i]:ptr[i + 1]]`` for every i.

    Parameters
    ----------
    ufunc : numpy ufunc
        ``np.add``, ``np.minimum``, ``np.maximum`` …
    values : ndarray of shape (ptr[-1],)
        Values to reduce.
    ptr : ndarray of shape (n_segments + 1,)
        Start of each segment, and the end of the last one.
    empty : float, default=0.0
        Value of an empty segment.

    Returns
    -------
    ndarray of shape (n_segments,), dtype float64
    """
    reduced = np.full(len(ptr) - 1, empty, dtype=np.float64)
    filled = np.flatnonzero(ptr[1:] > ptr[:-1])
    # For an empty segment, reduceat would return a value of the next one.
    if len(filled):
        reduced[filled] = ufunc.reduceat(values, ptr[filled])
    return reduced


def starts_of_segments(sizes: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return where segments begin that follow each other, and where the last one ends.

    Parameters
    ----------
    sizes : array-like of shape (n_segments,)
        Size of each segment, whole numbers.

    Returns
    -------
    ndarray of shape (n_segments + 1,), dtype intp
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.intp)
    np.cumsum(sizes, out=starts[1:], dtype=np.intp)
    return starts
