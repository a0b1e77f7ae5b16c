"""Columns of rows of any kind: by number and by name, and rows with others or fewer."""

from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._exact import beyond_floats, values_of
from skrank._core._messages import shown
from skrank._core._missing import is_missing
from skrank._core._parameters import is_integer
from skrank._core._tables import refuse_series
from skrank._core._validation import as_numbers


def n_columns(X: Any) -> int:
    """Return the number of columns of an array, a table, a matrix or nested lists."""
    refuse_series(X)
    if not hasattr(X, "shape"):
        return len(X[0])
    if len(X.shape) < 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead. Reshape your data: "
            "X must be two-dimensional, one row per document and one column per feature"
        )
    return X.shape[1]


def column_of(X: Any, j: int) -> np.ndarray:
    """Return the values of a column: numbers as floats where some are missing."""
    if hasattr(X, "tocsr"):
        return np.ravel(X.tocsr()[:, [j]].toarray())
    if hasattr(X, "iloc"):
        values = values_of(X.iloc[:, j])
    else:
        values = values_of(
            X[:, j] if hasattr(X, "with_columns") else np.asarray(X)[:, j]
        )
    if values.dtype != object or any(isinstance(value, str) for value in values):
        return values
    try:
        numbers = as_numbers(values, "X")
    except ValueError:  # which the estimator may know how to take
        return values
    return values if beyond_floats(numbers) else numbers


def place_of(feature: Any, X: Any, name: str = "feature") -> int:
    """Return the number of a column, given by its number or its name.

    Parameters
    ----------
    feature : int or str
        Number or name.
    X : array-like of shape (n_rows, n_columns)
        Rows.
    name : str, default="feature"
        Name of the parameter, for error messages.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If there is no such column.
    TypeError
        If it is neither an integer nor a string.
    """
    count = n_columns(X)
    if isinstance(feature, str):
        names = [str(column) for column in getattr(X, "columns", ())]
        if feature not in names:
            known = f"those of X are {', '.join(names[:9])}" if names else "X has none"
            more = ", …" * (len(names) > 9)
            raise ValueError(
                f"{name}: no column is named {shown(feature)}; {known}{more}"
            )
        return names.index(feature)
    if not is_integer(feature):
        raise TypeError(
            f"{name} must be the number or the name of a column, got {shown(feature)}"
        )
    if not 0 <= feature < count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {feature}")
    return int(feature)


def without_column(X: Any, j: int) -> Any:
    """Return the rows without a column, of the kind that they were."""
    kept = np.delete(np.arange(n_columns(X)), j)
    if hasattr(X, "iloc"):
        return X.iloc[:, kept]
    if hasattr(X, "with_columns"):
        return X[:, kept.tolist()]
    if hasattr(X, "tocsr"):
        return X.tocsr()[:, kept]
    array = X if hasattr(X, "shape") else np.asarray(X)
    return array[:, kept]


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
        columns = X.tocsc().astype(_dtype_for(X.dtype, values))
        own = np.broadcast_to(values, (X.shape[0],))[:, None].astype(columns.dtype)
        parts = [columns[:, :j], sparse.csc_array(own), columns[:, j + 1 :]]
        joined = sparse.hstack(parts, format="csr")
        # Old versions of SciPy join arrays to a matrix.
        is_array = isinstance(X, sparse.sparray)
        return sparse.csr_array(joined) if is_array else sparse.csr_matrix(joined)
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
