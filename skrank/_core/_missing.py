"""Missing values of many kinds, and what a mask hides: missing, or an error."""

from typing import Any

import numpy as np


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or ``pandas.NA``."""
    if value is None:
        return True
    # Only NaN, of any type, differs from itself, and comparisons with NA give NA.
    try:
        differs = value != value
    except ArithmeticError:  # Decimal's signaling NaN
        return True
    except TypeError:  # a lazy frame, say
        return False
    if isinstance(differs, bool):
        return differs
    return differs is value or (np.ndim(differs) == 0 and bool(differs))


def where_missing(values) -> np.ndarray:
    """Return which objects are missing, as `is_missing` tells."""
    try:  # without a call for each of them
        missing = np.array([v is None or v != v for v in values], dtype=bool)
        if missing.ndim == 1:  # values may be arrays, of equal or different lengths
            return missing
    except (TypeError, ValueError, ArithmeticError):
        pass
    return np.fromiter(map(is_missing, values), bool, len(values))


def is_polars(values: Any) -> bool:
    """Return whether an argument is a column of polars."""
    return hasattr(values, "to_list") and hasattr(values, "null_count")


def of_polars(values: Any) -> Any:
    """Return the array of a column or a frame of polars, and anything else as it is.

    Parameters
    ----------
    values : object
        Argument that should be a column, or a table of one.

    Returns
    -------
    object
        Array of as many dimensions; records and lists in it are objects.
    """
    if is_polars(values):
        return _of_polars(values)
    if not hasattr(values, "get_columns") or not len(values.get_columns()):
        return values
    return np.stack([_of_polars(part) for part in values.get_columns()], axis=1)


def unmasked(values: Any) -> Any:
    """Return numbers in which what a mask hides is NaN, as anything missing is.

    Parameters
    ----------
    values : object
        Argument that may be a masked array, or a column of polars.

    Returns
    -------
    object
        Argument itself unless a part of it is masked; of a column of polars, an array
        in which text and whole numbers are complete.
    """
    if is_polars(values):
        return _of_polars(values)
    if not _is_masked(values):
        return values
    kept = object if values.dtype.kind not in "biuf" else np.float64
    return values.astype(kept).filled(np.nan)


def rows_with_nan(X: Any) -> Any:
    """Return rows in which NaN stands for what a mask hides and for ``pandas.NA``.

    NumPy turns None into a number, NaN, but neither ``pandas.NA`` nor NaT.

    Parameters
    ----------
    X : object
        Argument that may be an array or list of rows, or a data frame.

    Returns
    -------
    object
        Argument itself unless there is anything to replace. A data frame has other
        columns then, of objects as before.
    """
    if hasattr(X, "isetitem"):  # pandas
        changed = X
        for j, dtype in enumerate(X.dtypes):
            if not isinstance(dtype, np.dtype) or dtype.kind != "O":
                continue
            column = X.iloc[:, j]
            values = column.to_numpy()
            replaced = _with_nan(values)
            if replaced is not values:
                changed = X.copy(deep=False) if changed is X else changed
                # A plain array of text would not stay one of objects.
                kept = type(column)(replaced, index=column.index, dtype=object)
                changed.isetitem(j, kept)
        return changed
    rows = np.asarray(X) if isinstance(X, list | tuple) else unmasked(X)
    replaced = _with_nan(rows)
    return X if replaced is rows and isinstance(X, list | tuple) else replaced


def _with_nan(values: Any) -> Any:
    """Return an array whose missing objects are NaN or None; itself if they are."""
    objects = isinstance(values, np.ndarray) and values.dtype == object
    if not objects or values.ndim not in (1, 2):
        return values
    missing = where_missing(values.ravel()).reshape(values.shape)
    kinds = {type(v) for v in values[missing].tolist()}
    if all(kind is type(None) or issubclass(kind, float) for kind in kinds):
        return values
    return np.where(missing & (values != None), np.nan, values)  # noqa: E711


def _of_polars(column) -> np.ndarray:
    """Return the values of a column of polars.

    Its own arrays lose zero bytes at the end of text, the last digits of whole numbers
    beside missing ones, and do not exist for numbers of 128 bits.
    """
    dtype, complete = column.dtype, column.null_count() == 0
    wide = str(dtype).endswith("128")
    if complete and (dtype.is_integer() or str(dtype) == "Boolean"):
        return np.asarray(column.to_list()) if wide else np.asarray(column)
    if dtype.is_integer():
        items = column.to_list()
        if not any(item is not None and abs(item) >= 2**53 for item in items):
            return np.array([np.nan if v is None else v for v in items], np.float64)
        return _objects(items)
    # Arrays of records and lists would lose their names and bounds: of those with one
    # part each, plain numbers would be left.
    if dtype.is_numeric() or dtype.is_temporal():
        return np.asarray(column)
    return _objects(column.to_list())


def _objects(items: list) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


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
        mask = np.atleast_1d(np.ma.getmaskarray(values))
        masked = np.flatnonzero(mask.reshape(len(mask), -1).any(axis=1))
        raise ValueError(
            f"{name} must hold one {what} per row; row {masked[0]} is masked, "
            f"{len(masked)} in all{remedy}"
        )


def _is_masked(values) -> bool:
    # NumPy's own test alone would look into arrays of pandas, which have masks, too.
    return np.ma.isMaskedArray(values) and np.ma.is_masked(values)
