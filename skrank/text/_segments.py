"""Reductions over consecutive, possibly empty segments of a vector."""

import numpy as np


def segment_reduce(ufunc, values, ptr, empty=0.0):
    """Reduce ``values[ptr[i]:ptr[i + 1]]`` for every i.

    Parameters
    ----------
    ufunc : numpy ufunc
        ``np.add``, ``np.minimum``, ``np.maximum`` …
    values : ndarray of shape (ptr[-1],)
        What to reduce.
    ptr : ndarray of shape (n_segments + 1,)
        Where the segments start.
    empty : float, default=0.0
        Value of an empty segment.

    Returns
    -------
    ndarray of shape (n_segments,), dtype float64
    """
    reduced = np.full(len(ptr) - 1, empty, dtype=np.float64)
    filled = np.flatnonzero(ptr[1:] > ptr[:-1])
    if len(filled):  # reduceat would return a value of the next segment for empty ones
        reduced[filled] = ufunc.reduceat(values, ptr[filled])
    return reduced
