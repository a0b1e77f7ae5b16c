"""Numbers of any kind as floats, and what is no number: text, dates and the like."""

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._messages import shown
from skrank._core._missing import of_polars, unmasked, where_missing

_DATES = np.datetime64, np.timedelta64
_TEXTS = str, bytes, bytearray


def as_numbers(values: npt.ArrayLike, name: str, what: str = "numbers") -> np.ndarray:
    """Return an array of floats in which a missing value of any kind is NaN.

    Parameters
    ----------
    values : array-like
        Numbers, with missing values as NumPy, pandas or Python have them. Text is
        none, even if it is that of a number.
    name : str
        Name of the argument in error messages.
    what : str, default="numbers"
        What the argument must hold.

    Returns
    -------
    ndarray of dtype float64

    Raises
    ------
    ValueError
        If a value is no number.
    """
    if sparse.issparse(values):
        raise TypeError(f"{name} must hold {what} in an array, got a sparse matrix")
    try:
        array = np.asarray(unmasked(of_polars(values)))
    except ValueError:  # lists of different lengths
        raise ValueError(f"{name} must hold {what}, got {shown(values)}") from None
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # longer numbers become infinite
            return array.astype(np.float64, copy=False)
    if array.dtype == object:
        missing = where_missing(array.ravel()).reshape(array.shape)
        array = np.where(missing, np.nan, array)
    try:
        if array.dtype != object or is_mixed(array):  # text and dates would pass, too
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        found = f"dtype {array.dtype}" if array.ndim else shown(values)
        if array.ndim and array.size:
            found += f", such as {shown(_no_number(array))}"
        raise ValueError(f"{name} must hold {what}, got {found}") from None


def is_mixed(
    objects: np.ndarray, others: tuple[type, ...] = (*_DATES, *_TEXTS)
) -> bool:
    """Return whether some objects are of types that NumPy would turn into numbers."""
    kinds = set(map(type, objects.ravel().tolist()))
    return any(issubclass(kind, others) for kind in kinds)


def _no_number(array: np.ndarray) -> Any:
    """Return the first of some objects that is no number, or too large for a float."""
    items = array.ravel().tolist()
    others = (item for item in items if not _is_float(item))
    return next(others, items[0])


def _is_float(item: Any) -> bool:
    if not isinstance(item, numbers.Real) or isinstance(item, _DATES):
        return False
    try:
        float(item)
    except OverflowError:
        return False
    return True
