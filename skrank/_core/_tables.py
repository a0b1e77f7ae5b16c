"""What cannot stand for rows: a single column, and columns that hold no numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from skrank._core._levels import column_of, is_frame, number_in_text
from skrank._core._messages import shown
from skrank._core._missing import is_missing

# What NumPy says of objects that are no numbers, and of lists among numbers.
_ABOUT_OBJECTS = ("float() argument must be", "setting an array element")


# How a message goes on that names the place of text, where numbers are wanted.
FOR_NUMBERS = (
    "rankers of trees take columns of names, and QueryTargetEncoder turns them into "
    "numbers"
)


@contextmanager
def naming_text(
    X: Any, name: str = "X", *, takes_names: bool = False, in_fit: bool = True
) -> Iterator[None]:
    """Name the place of text and of objects that were to be turned into numbers.

    The rows are searched only after that has failed.

    Parameters
    ----------
    X : object
        Argument that may be a data frame, a table or an array of objects.
    name : str, default="X"
        Name of the argument in the error message.
    takes_names : bool, default=False
        Whether the estimator takes columns of names, by ``categorical_features``.
    in_fit : bool, default=True
        Whether it is to learn from the rows which columns these are.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        if is_frame(X) and not len(X.columns):
            raise ValueError(
                f"{name} must have columns, got a {type(X).__name__} of shape {X.shape}"
            ) from error
        if any(words in str(error) for words in _ABOUT_OBJECTS):
            _name_object(X, name, error)
        if "could not convert" not in str(error):
            raise
        place = _place_of_text(X)
        if place is None:
            raise
        column, row, text = place
        if takes_names:
            advice = _advice(X, name) if in_fit else "the column held numbers in fit"
        else:
            advice = FOR_NUMBERS
        raise ValueError(
            f"{name}: could not convert string to float: {shown(text)} in row {row} of "
            f"column {shown(column)}; {advice}"
        ) from error


def _advice(X: Any, name: str) -> str:
    """Return how columns of names are told to an estimator that takes them."""
    if is_frame(X):
        return "a column of names must be one of categorical_features"
    if hasattr(X, "to_pandas"):
        return (
            f"{name}.to_pandas() makes a data frame, whose columns of strings are "
            "taken as names"
        )
    return (
        "an array does not say which of its columns hold names: give them as "
        "categorical_features=, or pass a data frame, which a ColumnTransformer makes "
        "after set_output(transform='pandas')"
    )


def _name_object(X: Any, name: str, error: Exception) -> None:
    """Raise an error that names the first object that is no number, if it is found."""
    if is_frame(X):
        columns = [(f"column {shown(label)}", j) for j, label in enumerate(X.columns)]
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        columns = [(f"column {j}", j) for j in range(X.shape[1])]
    else:
        return
    for place, j in columns:
        column = X[:, j] if isinstance(X, np.ndarray) else column_of(X, j)
        for row, value in enumerate(np.asarray(column, dtype=object).tolist()):
            if not (is_missing(value) or _is_number(value)):
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(
                    f"{name} must hold numbers, got {shown(value)} in row {row} of "
                    f"{place}: {error}"
                ) from error


def _is_number(value: Any) -> bool:
    try:
        return np.ndim(value) == 0 and isinstance(float(value), float)
    except OverflowError:  # which is another matter
        return True
    except (TypeError, ValueError):
        return False


def _place_of_text(X: Any) -> tuple[Any, int, str] | None:
    """Return the column, the row and the value of the first text that is no number."""
    for label, values in _columns_that_may_hold_text(X):
        for row, value in enumerate(values):
            if isinstance(value, str) and number_in_text(value) is None:
                return label, row, str(value)
    return None


def _columns_that_may_hold_text(X: Any) -> Iterator[tuple[Any, list]]:
    """Yield the name or the number of each column of rows, and its values."""
    if is_frame(X):
        for j, label in enumerate(X.columns):
            yield label, np.asarray(column_of(X, j), dtype=object).tolist()
    elif hasattr(X, "column_names") and hasattr(X, "to_pandas"):  # of Arrow
        for j, label in enumerate(X.column_names):
            yield label, X.column(j).to_pylist()
    else:
        rows = np.asarray(X if hasattr(X, "dtype") else _as_objects(X))
        if rows.ndim == 2 and rows.dtype.kind in "OUT":
            for j in range(rows.shape[1]):
                yield j, rows[:, j].tolist()


def _as_objects(rows: Any) -> np.ndarray:
    """Return rows as an array of objects; an empty one if they are no rows."""
    try:
        return np.asarray(rows, dtype=object)
    except ValueError:  # of different lengths
        return np.empty(0)


def refuse_series(X: Any, name: str = "X") -> None:
    """Refuse a column or a query of a data frame in place of rows.

    Parameters
    ----------
    X : object
        Argument that may be a data frame or a series.
    name : str, default="X"
        Name of the argument in the error message.

    Raises
    ------
    ValueError
        If it is a series of pandas or polars.
    TypeError
        If it is a lazy frame of polars.
    """
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a LazyFrame; pass {name}.collect()")
    if hasattr(X, "to_frame") and len(getattr(X, "shape", ())) == 1:
        raise ValueError(
            f"{name} must be two-dimensional, with one row per document and one column "
            f"per feature, got a {type(X).__name__} of {len(X)} values; "
            f"{name}.to_frame() is a table of one column"
        )


def refuse_dates(X: Any, name: str = "X") -> None:
    """Refuse dates, durations, records and lists in place of numbers.

    NumPy turns dates into numbers of a unit that nobody chose, or complains of types.
    Anything else is passed over.

    Parameters
    ----------
    X : object
        Argument that may be an array or a data frame.
    name : str, default="X"
        Name of the argument in the error message.

    Raises
    ------
    ValueError
        If the array or a column holds dates, durations, records or lists.
    """
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind and kind in "mMV":
        raise ValueError(f"{name} must hold numbers, got dtype {X.dtype}")
    columns, dtypes = getattr(X, "columns", ()), getattr(X, "dtypes", ())
    for column, dtype in zip(columns, dtypes):
        is_temporal = getattr(dtype, "is_temporal", bool)  # of polars
        if getattr(dtype, "kind", "") in ("m", "M") or is_temporal():
            raise ValueError(
                f"{name} must hold numbers, but column {shown(column)} has dtype "
                f"{dtype}; turn it into numbers, such as days, or leave it out"
            )
        is_nested = getattr(dtype, "is_nested", bool)  # of polars as well
        if is_nested():
            raise ValueError(
                f"{name} must hold numbers, but column {shown(column)} has dtype "
                f"{dtype}; give each of its parts a column, or leave it out"
            )
