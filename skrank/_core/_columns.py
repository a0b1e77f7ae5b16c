"""Columns of rows of any kind: by number and by name, and rows without one of them."""

from typing import Any

import numpy as np

from skrank._core._exact import beyond_floats, values_of
from skrank._core._messages import shown
from skrank._core._tables import refuse_series
from skrank._core._validation import as_numbers


def n_columns(X: Any) -> int:
    """Return the number of columns of an array, a table, a matrix or nested lists."""
    refuse_series(X)
    return X.shape[1] if hasattr(X, "shape") else len(X[0])


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
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
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
