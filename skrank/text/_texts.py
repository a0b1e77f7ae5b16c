"""Texts and the numbers of texts, as users pass them: checked and named in errors."""

from collections.abc import Iterable, Mapping, Set
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._missing import refuse_mask

Queries = Iterable[str | Mapping[str, float]]

# Whole numbers are exact in float64 up to here.
MAX_COUNT = 2.0**53


def as_texts(texts: Any, name: str) -> list[str]:
    """Return texts as a list.

    Parameters
    ----------
    texts : iterable of str
        A list, a column of a data frame, a one-dimensional array, a generator …
    name : str
        Name of the argument in error messages.

    Returns
    -------
    list of str
        The texts; strings of NumPy stay as they are.

    Raises
    ------
    TypeError
        If there is one text instead of several, the texts have no order or more than
        one dimension, or one of them is missing or no string.
    """
    listed = _listed(texts, name)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"{name} must hold strings; item {place} {_describe(text)}")
    return listed


def _listed(texts, name) -> list:
    found = _why_not_texts(texts)
    if found is not None:
        raise TypeError(f"{name} must be a sequence of strings, got {found}")
    return list(texts)


def as_queries(queries: Queries, name: str) -> list[str | Mapping[str, float]]:
    """Return queries as a list of texts and of terms with weights.

    Parameters
    ----------
    queries : iterable of str or mapping of str to float
        Queries.
    name : str
        Name of the argument in error messages.

    Returns
    -------
    list of str or mapping

    Raises
    ------
    ValueError
        If a weight is negative, not a number, or too large.
    TypeError
        If the queries have no order, or one is neither a string nor such a mapping.
    """
    listed = _listed(queries, name)
    for place, query in enumerate(listed):
        if isinstance(query, Mapping):
            _check_weights(query, f"{name} must hold strings or weights: item {place}")
        elif not isinstance(query, str):
            found = _describe(query)
            raise TypeError(f"{name} must hold strings; item {place} {found}")
    return listed


def _check_weights(query: Mapping, where: str) -> None:
    for term, weight in query.items():
        if not isinstance(term, str):
            raise TypeError(f"{where} has the term {shown(term)}, expected a string")
        if not isinstance(weight, Real) or isinstance(weight, bool | np.bool_):
            raise TypeError(f"{where} gives {shown(term)} the weight {shown(weight)}")
        number: Any = weight  # whole ones need not fit into a float
        if not 0 <= number <= MAX_COUNT:
            raise ValueError(
                f"{where} gives {shown(term)} the weight {shown(weight)}, expected a "
                "number from 0 to 2**53"
            )


def _why_not_texts(texts) -> str | None:
    """Return what is wrong with a container of texts; None if nothing is."""
    if isinstance(texts, str):
        return "one string"
    if isinstance(texts, bytes | bytearray | memoryview):
        return "bytes; decode them first"
    if is_frame(texts):
        return "a data frame; pass one of its columns"
    if isinstance(texts, Mapping):
        return "a mapping"
    if hasattr(texts, "ids") and hasattr(texts, "fields"):
        return f"{shown(texts)}; pass one of its fields"
    if isinstance(texts, Set) and not hasattr(texts, "mapping"):  # views have an order
        return "a set, which has no order"
    if not isinstance(texts, Iterable) or isinstance(texts, type):
        return f"{shown(texts)}"
    n_dimensions = getattr(texts, "ndim", 1)
    if n_dimensions != 1:
        return f"an array of {n_dimensions} dimensions"
    return None


def _describe(text) -> str:
    if isinstance(text, bytes):
        return "is bytes; decode them first"
    if is_missing(text):
        return f"is missing ({text!r}); put an empty string where there is no text"
    return f"is of type {type(text).__name__}"


def is_missing(value) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def is_frame(value) -> bool:
    """Return whether a value is a data frame, of pandas or of another library."""
    if type(value).__name__ == "LazyFrame":  # which has no columns to read yet
        return False
    columns = getattr(value, "columns", None)  # a method of `Sessions`
    is_there = columns is not None and not callable(columns)
    return is_there and hasattr(value, "__getitem__")


def columns_of(frame: Any, name: str = "documents") -> dict[str, Any]:
    """Return the columns of a data frame by name.

    Parameters
    ----------
    frame : data frame
        One text per row in every column.
    name : str, default="documents"
        Name of the argument in error messages.

    Returns
    -------
    dict of str to column

    Raises
    ------
    ValueError
        If columns share a name.
    """
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise ValueError(
            f"{name} must have columns of different names, got {shown(names)}"
        )
    return {column: frame[column] for column in names}


def check_numbers(
    numbers: npt.ArrayLike, bound: int, name: str, kind: str
) -> np.ndarray:
    """Return numbers of queries, documents or terms as an array.

    Parameters
    ----------
    numbers : array-like of int
        Numbers to check.
    bound : int
        How many there are to choose from.
    name : str
        Name of the argument in error messages.
    kind : str
        What is numbered, such as "queries".

    Returns
    -------
    ndarray of shape (n,), dtype intp

    Raises
    ------
    ValueError
        If they are no integers from 0 to ``bound - 1`` in one dimension.
    """
    refuse_mask(numbers, name, "number")
    try:
        found = np.asarray(numbers)
    except ValueError:  # lists of different lengths
        found = np.empty((0, 0), dtype=object)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, got {shown(numbers)}"
            if found.dtype == object
            else f"{name} must be a one-dimensional array of integers, got an array of "
            f"shape {found.shape} and dtype {found.dtype}"
        )
    if found.size and not (found.min() >= 0 and found.max() < bound):
        accepted = f"numbers from 0 to {bound - 1}" if bound else f"nothing: no {kind}"
        raise ValueError(
            f"{name} must hold {accepted}, found {found.min()} to {found.max()}"
        )
    return found.astype(np.intp)
