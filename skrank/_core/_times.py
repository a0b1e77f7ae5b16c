"""Times of rows, by which queries are split and leakage is told."""

import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_no_missing_id,
    level_of_index,
)

TIME_LEVEL = "time"


def times_of_index(*containers: Any) -> np.ndarray | None:
    """Return the values of the level "time" of the index of a pandas object."""
    return level_of_index(TIME_LEVEL, "times", containers)


def check_times(
    times: npt.ArrayLike, n_samples: int, *, name: str = "times"
) -> np.ndarray:
    """Check that there is one time in every row.

    Parameters
    ----------
    times : array-like of shape (n_samples,)
        Numbers, dates of NumPy or pandas, or ``datetime`` objects.
    n_samples : int
        Number of rows.
    name : str, default="times"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_samples,)
        Numbers or ``datetime64``; dates with a time zone are in UTC.

    Raises
    ------
    ValueError
        If the length or the shape is wrong, or a time is missing.
    TypeError
        If the times are text or otherwise neither numbers nor dates.
    """
    array = as_ids(unmasked(times), name, "time")
    if len(array) != n_samples:
        raise ValueError(
            f"{name} must hold one time per row: found {len(array)} times for "
            f"{n_samples} rows"
        )
    check_no_missing_id(array, name, "time")
    if array.dtype == object:
        array = _of_objects(array, name)
    if array.dtype.kind not in "biufmM":
        raise TypeError(
            f"{name} must hold numbers or dates, got {shown(array.ravel()[0])}; "
            "pandas.to_datetime makes dates of text"
        )
    return array


def _of_objects(array: np.ndarray, name: str) -> np.ndarray:
    """Return Python's dates as those of NumPy, and Python's numbers as floats."""
    if all(isinstance(value, datetime.date) for value in array):
        zoned = [getattr(value, "tzinfo", None) is not None for value in array]
        if any(zoned) and not all(zoned):
            raise ValueError(
                f"{name} must hold dates that all have a time zone or none"
            )
        try:
            return np.array([_in_utc(v) for v in array], dtype="datetime64[us]")
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{name} must hold dates that NumPy knows") from error
    if any(isinstance(value, str | bytes) for value in array):
        return array.astype(str)  # which is refused by name
    try:
        return as_numbers(array, name)
    except ValueError:
        raise TypeError(
            f"{name} must hold numbers or dates, got {shown(array[0])}"
        ) from None


def _in_utc(value: datetime.date) -> datetime.date:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value
