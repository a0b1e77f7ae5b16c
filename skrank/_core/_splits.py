"""Row numbers that a splitter, of the user's perhaps, yields."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._missing import refuse_mask
from skrank._core._validation import naming

_PAIRS = "a splitter that yields pairs of row numbers, which gave"


def splits_of(
    cv: Any, X: Any, y: Any, groups: Any, n_rows: int, refused: Callable[[str], Any]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of both parts of each split.

    Parameters
    ----------
    cv : splitter
        What makes the splits, from the three arguments that follow.
    X, y, groups : object
        Rows, grades and queries.
    n_rows : int
        Number of rows.
    refused : callable
        Makes the error to raise of a description of what is accepted, and what was
        found instead.

    Returns
    -------
    list of (ndarray, ndarray)
        Row numbers of each part, which are copies, for some splitters use one array
        again and again; a mask of rows becomes their numbers.
    """
    splits = []
    with naming("cv"):
        for split in cv.split(X, y, groups):
            if not isinstance(split, tuple | list | np.ndarray) or len(split) != 2:
                raise refused(f"{_PAIRS} {shown(split)}")
            for part in split:
                refuse_mask(part, "cv", "row number")
            splits.append(tuple(map(np.array, split)))
    if not splits:
        raise refused(f"{_PAIRS} none")
    return [tuple(_rows_of(part, n_rows, refused) for part in s) for s in splits]


def _rows_of(part: np.ndarray, n_rows: int, refused: Callable[[str], Any]) -> Any:
    if part.ndim == 1 and part.dtype.kind == "b" and len(part) == n_rows:
        part = np.flatnonzero(part)
    is_rows = part.ndim == 1 and part.dtype.kind in "iu" and part.size
    if not is_rows or part.min() < -n_rows or part.max() >= n_rows:
        raise refused(f"{_PAIRS} {shown(part)}")
    return part.astype(np.intp)
