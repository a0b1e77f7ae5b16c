"""Rows in an order that nothing changes, and rows in which one column is another."""

from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._missing import is_missing, unmasked
from skrank._rows import read_only


def in_order(X: Any) -> Any:
    """Return sparse rows in the order that SciPy would bring them into in place.

    Nested lists become arrays, and what a mask hides becomes missing; other rows are
    returned as they are.
    """
    if hasattr(X, "tocsr"):
        return read_only(X.tocsr())
    if hasattr(X, "shape"):
        return unmasked(X)
    array = np.asarray(X)
    # NumPy turns numbers next to strings into strings.
    return np.asarray(X, dtype=object) if array.dtype.kind in "SU" else array


def with_column(X: Any, j: int, values: Any) -> Any:
    """Return a copy of the rows with other values in a column."""
    if hasattr(X, "iloc"):
        changed = X.copy()
        changed.isetitem(j, values)
        return changed
    if hasattr(X, "with_columns"):
        return X.with_columns(_column_of_polars(X[:, j], values))
    if hasattr(X, "tocsc"):
        # CSR rows cannot be written to in place without moving all entries behind.
        changed = X.astype(_dtype_for(X.dtype, values)).tolil(copy=True)
        changed[:, [j]] = np.broadcast_to(values, (X.shape[0],))[:, None]
        return changed.tocsr()
    X = np.asarray(X)
    changed = np.array(X, dtype=_dtype_for(X.dtype, values))
    changed[:, j] = values
    return changed


def _column_of_polars(old: Any, values: Any) -> Any:
    """Return other values as a column of polars, of the type of names as it was."""
    if np.ndim(values):
        items = values.tolist()
    else:  # NumPy would cut zero bytes off the end of text
        items = [getattr(values, "item", lambda: values)()] * len(old)
    items = [None if is_missing(item) else item for item in items]
    of_text = [isinstance(item, str) for item in items if item is not None]
    if any(of_text) and not all(of_text):
        raise ValueError(
            f"column {shown(old.name)}: values must be names or numbers, not both"
        )
    new = type(old)(old.name, items)
    names = str(old.dtype).startswith(("Categorical", "Enum"))
    return new.cast(old.dtype, strict=False) if names and all(of_text) else new


def _dtype_for(dtype: np.dtype, values: Any) -> np.dtype:
    """Return a type of rows that holds other values, too, which NumPy would cut off."""
    if dtype.kind in "SU":
        return np.dtype(object)
    added = np.asarray(values).dtype
    if dtype.kind in "biu" and added.kind in "biuf":
        return np.result_type(dtype, added)
    return dtype
