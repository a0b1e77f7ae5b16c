"""Levels of categorical columns: which columns have them, and names as numbers.

Data frames are recognised by what they have, so that neither pandas nor polars need be
imported.
"""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from skrank._core._exact import beyond_floats, values_of, whole_numbers_as
from skrank._core._id_arrays import id_array
from skrank._core._informative import level_of_caller
from skrank._core._messages import shown
from skrank._core._missing import is_missing, unmasked, where_missing
from skrank._core._validation import naming

#: Types of the parameter ``categorical_features``.
CategoricalFeatures = (
    Literal["from_dtype"]
    | Sequence[int]
    | Sequence[bool]
    | Sequence[str]
    | np.ndarray
    | None
)
FROM_DTYPE: Literal["from_dtype"] = "from_dtype"
# Names of the dtypes of pandas and polars whose values are names, up to their options.
_DTYPES_OF_NAMES = ("category", "categorical", "enum", "str", "string", "utf8")
_DTYPE_OF_CODES = "dictionary<"  # of Arrow, within pandas
_GLANCE = 64  # rows
_NUMBERS = "biuf"  # kinds of dtypes
_TYPES = str | bool | np.bool_ | Real  # of levels
_ACCEPTED = "strings, numbers, True or False"


class UnknownLevelsWarning(UserWarning):
    """No value of a categorical column was there in `fit`, and all count as missing.

    The message names the column, and gives an example of its values and of the levels
    of `fit`: as text, "5.0" is not "5". A column of a single value is not told of.

    Examples
    --------
    >>> import warnings
    >>> from skrank.exceptions import UnknownLevelsWarning
    >>> warnings.simplefilter("error", UnknownLevelsWarning)  # have it raised
    >>> warnings.simplefilter("default", UnknownLevelsWarning)  # or shown once
    """


def is_frame(X: Any) -> bool:
    """Return whether an argument is a data frame, whose columns have dtypes."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def names_of_columns(X: Any) -> list:
    """Return the names of the columns of a data frame; none of anything else."""
    return list(X.columns) if is_frame(X) else []


def n_columns(X: Any) -> int | None:
    """Return the number of columns, or None if X is no table with dense columns."""
    if sparse.issparse(X):
        return None
    shape = getattr(X, "shape", None)
    if shape is None:
        try:
            shape = np.asarray(X).shape
        except ValueError:  # lists of different lengths
            return None
    return shape[1] if len(shape) == 2 else None


def column_of(X: Any, j: int) -> Any:
    """Return a column of a data frame or of an array, of a sparse one in dense form."""
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    if sparse.issparse(X):
        return X[:, [j]].toarray().ravel()
    # A column of a matrix is a matrix.
    return (np.asarray(X) if isinstance(X, np.matrix) else X)[:, j]


def columns_of_names(X: Any) -> np.ndarray:
    """Return which columns of a data frame hold names, going by their dtypes.

    Parameters
    ----------
    X : data frame
        Categorical columns and columns of strings hold names. In pandas, strings may
        have the dtype object; such a column holds names if it has any string.

    Returns
    -------
    ndarray of shape (n_columns,), dtype bool
    """
    mask = np.zeros(len(X.columns), dtype=bool)
    for j, dtype in enumerate(X.dtypes):
        word = str(dtype).lower()
        mask[j] = word.partition("(")[0].partition("[")[0] in _DTYPES_OF_NAMES or (
            word.startswith(_DTYPE_OF_CODES)
        )
        if getattr(dtype, "kind", "") == "O" and word == "object":
            mask[j] = any(
                isinstance(value, str) for value in np.asarray(column_of(X, j))
            )
    return mask


def categorical_columns(X: Any, given: CategoricalFeatures) -> np.ndarray:
    """Return which columns of a table are categorical.

    Parameters
    ----------
    X : data frame or array-like
        Rows.
    given : "from_dtype" or array-like or None
        Columns to take; "from_dtype" goes by the dtypes of a data frame.

    Returns
    -------
    ndarray of shape (n_columns,), dtype bool
        Empty if X is no table of dense columns, which is left to others to refuse.
    """
    d = n_columns(X)
    if not d:
        return np.zeros(0, dtype=bool)
    if isinstance(given, str):
        return columns_of_names(X) if is_frame(X) else np.zeros(d, dtype=bool)
    if given is not None and hasattr(X, "column_names"):
        raise ValueError(
            "X must be an array or a data frame of pandas or polars where "
            f"categorical_features are given, got {shown(type(X))}; X.to_pandas() "
            "makes a data frame"
        )
    return categorical_mask(given, d, names_of_columns(X))


def name_of_column(X: Any, j: int) -> str:
    """Return what a column is called in error messages."""
    names = names_of_columns(X)
    return f"column {shown(names[j]) if names else j}"


def missing_in(column: Any) -> np.ndarray:
    """Return which values of a column are missing."""
    values = np.asarray(unmasked(column))
    if values.dtype == object:
        return where_missing(values)
    return values != values


def categorical_mask(given: Any, d: int, names: Sequence | None = None) -> np.ndarray:
    """Return which of d features are categorical.

    Parameters
    ----------
    given : array-like or None
        Indices, a mask, or names of columns where features may have names.
    d : int
        Number of features.
    names : sequence of str, default=None
        Names of the features, of which there may be none; None where features have no
        names by their nature.

    Returns
    -------
    ndarray of shape (d,), dtype bool

    Raises
    ------
    ValueError
        If there is no such feature.
    """
    mask = np.zeros(d, dtype=bool)
    if given is None:
        return mask
    if names is not None and all(isinstance(feature, str) for feature in given):
        given = [place_of(feature, names, "categorical_features") for feature in given]
    with naming("categorical_features"):
        chosen = np.asarray(given)
    if chosen.size == 0:
        return mask
    if chosen.dtype == bool and chosen.shape != (d,):
        raise ValueError(
            f"categorical_features as a mask must have one entry per feature, "
            f"({d},), got shape {chosen.shape}"
        )
    if chosen.dtype != bool and (
        chosen.dtype.kind not in "iu" or np.any((chosen < 0) | (chosen >= d))
    ):
        raise ValueError(
            f"categorical_features must be a mask or indices from 0 to {d - 1}, "
            f"got {shown(given)}"
        )
    mask[chosen] = True
    return mask


def place_of(feature: str, names: Sequence, parameter: str) -> int:
    """Return the index of a feature that a parameter names."""
    names = list(names)
    if feature not in names:
        known = (
            f"those of X are {', '.join(map(str, names))}" if names else "X has none"
        )
        raise ValueError(f"{parameter}: no feature is named {feature!r}; {known}")
    return names.index(feature)


class _Coded(NamedTuple):
    """A categorical column of pandas, of which each text is held once.

    Attributes
    ----------
    categories : Index
        Categories that occur.
    codes : ndarray of shape (n_rows,), dtype intp
        Place of the category of each row, -1 where it is missing.
    """

    categories: Any
    codes: np.ndarray

    def of_rows(self, of_categories: np.ndarray) -> np.ndarray:
        """Return what rows have of whole numbers of categories, -1 where missing."""
        return np.append(of_categories, -1)[self.codes]


def _by_category(column: Any) -> _Coded | None:
    """Return a column by its categories, or None if it has none."""
    held = getattr(column, "cat", column)
    codes, categories = (getattr(held, name, None) for name in ("codes", "categories"))
    if codes is None or categories is None:
        return None
    used, places = np.unique(np.asarray(codes), return_inverse=True)
    n_missing = int((used < 0).any())  # -1, which comes first
    return _Coded(categories[used[n_missing:]], places - n_missing)


def levels_of(column: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels of a column, and the place of each row's level among them.

    Parameters
    ----------
    column : array-like of shape (n_rows,)
        Strings, numbers or both; None, NaN and the like are missing.
    name : str
        What the column is called in error messages.

    Returns
    -------
    levels : ndarray of shape (n_levels,)
        Levels that occur: numbers ascending, then strings ascending.
    places : ndarray of shape (n_rows,), dtype intp
        Place of the level of each row, -1 where it is missing.

    Raises
    ------
    ValueError
        If a value is neither a string nor a number.
    """
    if (coded := _by_category(column)) is not None:
        levels, found = levels_of(coded.categories, name)
        return levels, coded.of_rows(found)
    values = values_of(column)
    if values.ndim != 1:
        raise _no_names(name, "lists or the like")
    places = np.full(len(values), -1, dtype=np.intp)
    if values.dtype.kind in _NUMBERS:
        known = values == values
        levels, places[known] = np.unique(values[known], return_inverse=True)
        return levels, places
    if values.dtype.kind not in "OU":
        raise _no_names(name, f"dtype {values.dtype}")
    table: dict[Any, int] = {}
    known = (
        ~where_missing(values) if values.dtype == object else np.ones(len(values), bool)
    )
    try:
        found = [table.setdefault(v, len(table)) for v in values[known].tolist()]
    except TypeError:  # what cannot be hashed
        raise _no_names(name, "lists or the like") from None
    for level in table:
        if not isinstance(level, _TYPES):
            raise _no_names(name, shown(level))
    order = sorted(table, key=lambda level: (isinstance(level, str), level))
    place = np.empty(len(table), dtype=np.intp)
    place[[table[level] for level in order]] = np.arange(len(table))
    places[known] = place[found]
    return id_array(order), places


def places_among(levels: np.ndarray, column: Any, name: str) -> np.ndarray:
    """Return the place of each row's value among known levels.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,)
        Levels as `levels_of` returns them.
    column : array-like of shape (n_rows,)
        Values; a number equals another one in the lower of their precisions.
    name : str
        What the column is called in error messages.

    Returns
    -------
    ndarray of shape (n_rows,), dtype intp
        Places; -1 where the value is missing or no known level.

    Raises
    ------
    ValueError
        If the column holds strings where levels are numbers, or the reverse, or floats
        where levels are whole numbers that floats cannot tell apart.
    """
    if (coded := _by_category(column)) is not None:
        return coded.of_rows(places_among(levels, coded.categories, name))
    values = values_of(column)
    if values.dtype.kind in _NUMBERS and levels.dtype.kind in _NUMBERS:
        _check_digits(levels, values, name)
        places = places_of_numbers(levels, values)
    else:
        table = {level: place for place, level in enumerate(levels.tolist())}
        try:
            found = [table.get(entry, -1) for entry in values.tolist()]
        except TypeError:
            raise _no_names(name, "lists or the like") from None
        places = np.array(found, dtype=np.intp)
    if len(levels) and (places < 0).all():
        _tell_of_unknown(levels.tolist(), values.tolist(), name)
    return places


def warn_of_unknown_numbers(levels: np.ndarray, column: np.ndarray, name: str) -> None:
    """Warn if none of the numbers of a column is among ascending levels.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,)
        Levels of `fit`.
    column : ndarray of shape (n_rows,)
        Numbers; NaN is missing.
    name : str
        What the column is called in the message.
    """
    for rows in (slice(_GLANCE), slice(None)):  # mostly, few rows tell
        if not len(levels) or (places_of_numbers(levels, column[rows]) >= 0).any():
            return
    _tell_of_unknown(levels.tolist(), column.tolist(), name)


def places_of_numbers(levels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the place of each number among ascending levels, -1 where it is none."""
    # 0.1 in single and in double precision are the same level.
    dtype = np.result_type(levels, values)
    if levels.dtype.kind == values.dtype.kind == "f":
        dtype = min(values.dtype, levels.dtype, key=lambda t: t.itemsize)
    held: Any = True
    if dtype.kind == "f" and {levels.dtype.kind, values.dtype.kind} == {"i", "u"}:
        # NumPy makes floats of whole numbers with and without a sign.
        known, _ = whole_numbers_as(levels, levels.dtype)
        values, held = whole_numbers_as(values, levels.dtype)
    else:
        known, values = levels.astype(dtype), values.astype(dtype)
    if not len(known):
        return np.full(len(values), -1, dtype=np.intp)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where((known[place] == values) & held, place, -1)


def _check_digits(levels: np.ndarray, values: np.ndarray, name: str) -> None:
    """Refuse floats where levels are whole numbers that floats cannot tell apart."""
    if levels.dtype.kind not in "iu" or values.dtype.kind != "f":
        return
    if beyond_floats(levels) and beyond_floats(values):
        raise ValueError(
            f"{name} holds numbers of dtype {values.dtype}, which cannot tell whole "
            "numbers beyond 2^53 apart, as its levels in fit were; read the column as "
            "whole numbers or strings both times"
        )


def _tell_of_unknown(levels: list, entries: list, name: str) -> None:
    """Warn of a column without any known level, or refuse its kind of values.

    A table that was read in another way has "7" or "7.0" in place of 7, which would
    otherwise count as missing throughout without a word.
    """
    entries = [e for e in dict.fromkeys(entries) if not is_missing(e)]
    for entry in entries:
        if not isinstance(entry, _TYPES):
            raise _no_names(name, shown(entry))
    found = {isinstance(entry, str) for entry in entries}
    known = {isinstance(level, str) for level in levels}
    if found and not found & known:
        kinds = ("numbers", "strings") if known == {True} else ("strings", "numbers")
        raise ValueError(
            f"{name} holds {kinds[0]}, but its levels in fit were {kinds[1]}; read the "
            "column in the same way both times"
        )
    if len(entries) < 2:
        return  # a single value may well be new
    numbers = {number_in_text(level): level for level in levels}
    numbers.pop(None, None)
    alike = (e for e in entries if number_in_text(e) in numbers)
    entry = next(alike, entries[0])
    level = numbers.get(number_in_text(entry), levels[0])
    warnings.warn(
        f"none of the {len(entries)} different values of {name} was a level in fit, "
        f"and all count as missing: it holds {shown(entry)}, where the levels are such "
        f"as {shown(level)}; write them in the same way both times",
        UnknownLevelsWarning,
        stacklevel=level_of_caller(),
    )


def number_in_text(value: Any) -> float | None:
    """Return the number that a name is a text of; None if it is a text of none."""
    try:
        return float(value)
    except (OverflowError, ValueError):
        return None


def _no_names(name: str, found: str) -> ValueError:
    return ValueError(
        f"{name} is categorical and must hold {_ACCEPTED}, found {found}; turn its "
        "values into strings"
    )


def with_columns(X: Any, columns: dict[int, np.ndarray]) -> Any:
    """Return a table with numbers in place of some columns; X stays as it is.

    Parameters
    ----------
    X : data frame or array-like of shape (n_rows, n_columns)
        Table.
    columns : dict of int to ndarray of shape (n_rows,)
        Numbers by the index of the column.

    Returns
    -------
    data frame or ndarray
        A data frame of the same library, or an array.
    """
    if not is_frame(X):
        values = np.array(unmasked(X))
        if values.dtype.kind in "bui":
            values = values.astype(np.float64)  # which have no NaN
        elif values.dtype.kind in "SU":
            values = values.astype(object)
        for j, numbers in columns.items():
            values[:, j] = numbers
        return values
    if hasattr(X, "isetitem"):  # pandas
        changed = X.copy(deep=False)
        for j, numbers in columns.items():
            changed.isetitem(j, numbers)
        return changed
    series = [column_of(X, j) for j in columns]
    return X.with_columns(
        [type(s)(s.name, numbers) for s, numbers in zip(series, columns.values())]
    )
