"""Whole numbers beyond 2^53, which floats cannot tell apart.

Ids often are such numbers. As floats, neighbours of them would become one.
"""

from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._missing import unmasked, where_missing

_FIRST_LOST = 2**53  # is the same float as the next whole number
_WHOLE = "iu"


def beyond_floats(values: np.ndarray) -> bool:
    """Return whether numbers reach to where floats do not hold every whole number."""
    small = 4 if values.dtype.kind == "f" else 8  # bytes of a type that reaches as far
    if values.dtype.kind not in "iuf" or values.dtype.itemsize < small:
        return False
    with quiet():
        low = values.dtype.kind != "u" and bool((values <= -_FIRST_LOST).any())
        return low or bool((values >= _FIRST_LOST).any())


def values_of(column: Any) -> np.ndarray:
    """Return the values of a column, of which whole numbers keep all their digits.

    Parameters
    ----------
    column : array-like of shape (n_rows,)
        Column of an array or of a data frame.

    Returns
    -------
    ndarray of shape (n_rows,)
        Objects where whole numbers stand beside missing ones and floats would not do.
    """
    values = np.asarray(unmasked(column))
    if values.dtype.kind != "f" or not _of_whole_numbers(column):
        return values
    if not beyond_floats(values):
        return values
    return np.asarray(unmasked(column.astype(object)))


def _of_whole_numbers(column: Any) -> bool:
    dtype = getattr(column, "dtype", None)
    categories = getattr(dtype, "categories", None)
    dtype = getattr(categories, "dtype", dtype)
    kind = getattr(dtype, "kind", "")
    return bool(kind) and kind in _WHOLE and hasattr(column, "astype")


def order_of(values: np.ndarray) -> np.ndarray:
    """Return the place of each value among the different ones, as floats.

    Parameters
    ----------
    values : ndarray
        Whole numbers, or objects that are whole numbers, floats or None.

    Returns
    -------
    ndarray of dtype float64
        Of the shape of the values; equal ones have the same place, missing ones NaN.
    """
    flat = values.ravel()
    known = np.ones(len(flat), dtype=bool)
    if flat.dtype == object:
        known = ~where_missing(flat)
    places = np.full(len(flat), np.nan)
    places[known] = np.unique(flat[known], return_inverse=True)[1].ravel()
    return places.reshape(values.shape)


def whole_numbers_as(values: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, Any]:
    """Return whole numbers in the widest type of a sign, and which of them it holds.

    Parameters
    ----------
    values : ndarray
        Whole numbers of any type.
    dtype : dtype
        Type of which the sign is taken.

    Returns
    -------
    numbers : ndarray of dtype int64 or uint64
        Numbers; those that the type does not hold mean nothing.
    held : ndarray of bool
        Which ones it holds.
    """
    numbers = values.astype(np.int64 if dtype.kind == "i" else np.uint64)
    return numbers, (numbers < 0) == (values < 0)
