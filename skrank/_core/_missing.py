"""Missing values of many kinds, and what a mask hides: missing, or an error."""

from typing import Any

import numpy as np


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or ``pandas.NA``."""
    if value is None:
        return True
    # Only NaN, of any type, differs from itself, and comparisons with NA give NA.
    differs = value != value
    if isinstance(differs, bool):
        return differs
    return differs is value or (np.ndim(differs) == 0 and bool(differs))


def where_missing(values) -> np.ndarray:
    """Return which objects are missing, as `is_missing` tells."""
    try:  # without a call for each of them
        return np.array([v is None or v != v for v in values], dtype=bool)
    except (TypeError, ValueError):
        return np.fromiter(map(is_missing, values), bool, len(values))


def unmasked(values: Any) -> Any:
    """Return numbers in which what a mask hides is NaN, as anything missing is.

    Parameters
    ----------
    values : object
        Argument that may be a masked array.

    Returns
    -------
    object
        Argument itself unless a part of it is masked.
    """
    if not _is_masked(values):
        return values
    kept = object if values.dtype.kind not in "biuf" else np.float64
    return values.astype(kept).filled(np.nan)


def refuse_mask(values: Any, name: str, what: str, remedy: str = "") -> None:
    """Refuse a masked array in which something is masked; pass over anything else.

    Parameters
    ----------
    values : object
        Argument that may be a masked array.
    name : str
        Name of the argument in the error message.
    what : str
        What every row must have.
    remedy : str, default=""
        What the user can do about it.

    Raises
    ------
    ValueError
        If something is masked.
    """
    if _is_masked(values):
        mask = np.ma.getmaskarray(values)
        masked = np.flatnonzero(mask.reshape(len(mask), -1).any(axis=1))
        raise ValueError(
            f"{name} must hold one {what} per row; row {masked[0]} is masked, "
            f"{len(masked)} in all{remedy}"
        )


def _is_masked(values) -> bool:
    # NumPy's own test alone would look into arrays of pandas, which have masks, too.
    return np.ma.isMaskedArray(values) and np.ma.is_masked(values)
