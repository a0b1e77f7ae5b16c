"""Checks of what users pass: queries, relevance grades, weights and other arguments.

Each check of data returns an array that the kernels take, or raises an error that names
the argument, what was found and what is accepted. Arguments of functions are checked
against their annotations, in the words that `Parameters` has for those of classes.
"""

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from skrank._core._config import get_config
from skrank._core._finite import checked_array
from skrank._core._id_arrays import UnitError, id_array, unmixed
from skrank._core._messages import shown, words_of
from skrank._core._missing import of_polars, refuse_mask, unmasked, where_missing
from skrank._core._numbers import as_numbers
from skrank._core._parameters import InvalidParameterError, _rule, accepted_by
from skrank._core._sparse import is_mapping

QID_LEVEL = "qid"

_INDEX_AND_SINGLE = (
    "Steps of a pipeline that return arrays drop the index of X; "
    "set_output(transform='pandas') keeps it. To treat all rows as one single query "
    "use skrank.config_context(assume_single_query=True)."
)
_TWO_WAYS = (
    "Pass groups=, one query id per row. Inside scikit-learn's tools either enable "
    "metadata routing (sklearn.set_config(enable_metadata_routing=True)) and pass "
    "groups to the outermost fit (params={'groups': groups} for cross_val_score and "
    "its relatives), or give y a pandas index with a level named 'qid'. "
    + _INDEX_AND_SINGLE
)
_AFTER_FIT = (".predict", ".transform", ".energies", ".staged_predict")
_TWO_WAYS_AFTER_FIT = (
    "Pass groups=, one query id per row (with metadata routing, also to the predict of "
    "a pipeline), or give X, as a data frame, an index with a level named 'qid'. "
    "Searches and cross_val_predict hand no groups on to predict; the index works, "
    "or a column of X with skrank.compat.RankingRegressor. " + _INDEX_AND_SINGLE
)


def check_arguments(function: Callable, **given) -> None:
    """Check arguments of a function against the annotations of its parameters.

    Parameters
    ----------
    function : callable
        Function whose annotations state the values that its arguments may have.
    **given : objects
        Arguments to check, by name.

    Raises
    ------
    InvalidParameterError
        If an argument is of the wrong type or out of range; both a ValueError and a
        TypeError.
    """
    _check_arguments(function, None, given)


def _check_arguments(function: Callable, caller: str | None, given: Mapping) -> None:
    function = getattr(function, "__func__", function)
    own = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    spoken = own if caller is None else caller
    for name, value in given.items():
        accepts, accepted = _argument_rule(function, name)
        if not accepts(value):
            words = accepted_by(accepted, value)
            raise InvalidParameterError(
                f"{spoken}: {name} must be {words}, got {shown(value)}"
            )


def check_options(
    function: Callable, given: Mapping[str, Any], *, caller: str | None = None
) -> None:
    """Check all options of a function, which is how it begins.

    Parameters
    ----------
    function : callable
        Function whose parameters after the data are options, passed by name.
    given : mapping of str to object
        Its arguments, which are ``locals()`` where nothing else has been assigned.
        Options that hold data, one entry for each row, are checked with the rows.
    caller : str, default=None
        Name of the function that the user called, for error messages. None stands for
        ``function`` itself.

    Raises
    ------
    InvalidParameterError
        If an option is of the wrong type or out of range.
    """
    function = getattr(function, "__func__", function)
    options = {name: given[name] for name in _options(function)}
    _check_arguments(function, caller, options)


@cache
def _options(function: Callable) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    hints = typing.get_type_hints(function, include_extras=True)
    data = (npt.ArrayLike, npt.ArrayLike | None)
    return [
        p.name
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and hints.get(p.name) not in data
    ]


@cache
def _argument_rule(function: Callable, name: str):
    """Return the test and the description of one argument."""
    return _rule(typing.get_type_hints(function, include_extras=True)[name])


@contextmanager
def naming(
    name: str, *, only_where_silent: bool = False, what: str | None = None
) -> Iterator[None]:
    """Put the name of an argument before errors of scikit-learn and NumPy about it.

    Parameters
    ----------
    name : str
        Name of the argument that is checked.
    only_where_silent : bool, default=False
        Whether errors that speak of the estimator are left as they are.
    what : str, default=None
        What the argument must be, for errors that do not name it.
    """
    try:
        yield
    except OverflowError:  # integers beyond the range of floating-point numbers
        raise ValueError(
            f"{name} must hold numbers of at most 1.8e308 in size"
        ) from None
    except (TypeError, ValueError) as error:
        message = words_of(error)
        named = rf"(?<!\w){re.escape(name)}(?!\w)"
        if message == str(error) and (
            re.search(named, message)
            or (only_where_silent and re.search(r"\bestimator\b", message))
        ):
            raise
        # scikit-learn prints all of the data here.
        message = re.sub(r"(Complex data not supported).*", r"\1", message)
        if "inhomogeneous" in message:
            message = f"{name} must hold rows of equal length"
        # "Input X contains NaN" speaks of X where it means the argument.
        message = re.sub(r"^(Input )?[Xy] ", lambda m: f"{m[1] or ''}{name} ", message)
        if not re.search(named, message):
            message = f"{name}{f' must be {what}' if what else ''}: {message}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message) from error


@contextmanager
def calling(name: str) -> Iterator[None]:
    """Say which argument it was if a function of the user's takes other arguments.

    Parameters
    ----------
    name : str
        Name of the argument that is called.

    Raises
    ------
    TypeError or ValueError
        The error of the function, with the name of the argument before it.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"the function {name} failed: {_of_call(error)}") from error


def called(name: str, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function of the user's; name the argument if it does not take the call.

    Errors that arise within the function are its own and stay as they are.
    """
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"the function {name} failed: {_of_call(error)}") from error


def _of_call(error: BaseException) -> str:
    """Return what an error says of a call with arrays, which `int` and `float` refuse.

    NumPy has said so in other words in each of its versions.
    """
    message = words_of(error)
    if re.search("converted to (a )?Python scalar", message):
        return "it takes single numbers, and is called with arrays of them"
    return message


def n_rows(array: Any, name: str = "X") -> int:
    """Return the number of rows of an array, sparse matrix, data frame or list.

    Parameters
    ----------
    array : array-like, sparse matrix or data frame
        Argument that has rows.
    name : str, default="X"
        Name of the argument in the error message.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    TypeError
        If the argument has no rows.
    """
    if not (isinstance(array, str | bytes | Set | type) or is_mapping(array)):
        shape = getattr(array, "shape", None)
        if shape is None and hasattr(array, "__array__"):
            shape = np.shape(array)
        if isinstance(shape, tuple) and shape:
            return shape[0]
        if shape is None and hasattr(array, "__len__"):
            return len(array)
    raise TypeError(f"{name} must have one row per document, got {shown(array)}")


def qid_of_index(*containers: Any) -> np.ndarray | None:
    """Return the query ids in the index of a pandas object; see `level_of_index`."""
    return level_of_index(QID_LEVEL, "queries", containers)


def level_of_index(
    name: str, what: str, containers: Sequence[Any]
) -> np.ndarray | None:
    """Return the values of a level of the index of a pandas object.

    Parameters
    ----------
    name : str
        Name of the level, such as "qid".
    what : str
        What the level holds, for the error message.
    containers : sequence of objects
        Objects to look at in turn; the first whose index has the level decides.
        Anything without an ``index`` that has ``names`` is passed over, so that pandas
        need not be imported.

    Returns
    -------
    ndarray or None
        One value per row; None if no object has the level.

    Raises
    ------
    ValueError
        If two objects with as many rows have different values.
    """
    levels = []
    for container in containers:
        index: Any = getattr(container, "index", None)
        if name in (getattr(index, "names", None) or ()):
            levels.append(index.get_level_values(name))
    if not levels:
        return None
    first, *others = levels
    for other in others:
        if len(other) == len(first) and not first.equals(other):
            row = int(np.argmax(np.asarray(first) != np.asarray(other)))
            raise ValueError(
                f"X and y name different {what} for the same rows in the level "
                f"{name!r} of their indices, first in row {row} ({first[row]!r:.50} "
                f"and {other[row]!r:.50}); bring their rows into the same order"
            )
    return np.asarray(first)


def _sizes_hint(groups, n_samples) -> str:
    """Return a hint if sizes of queries were given where ids are expected."""
    try:
        sizes = np.asarray(groups)
        if sizes.ndim == 1 and sizes.dtype.kind in "iuf" and sizes.sum() == n_samples:
            return (
                " These look like group sizes; skrank takes one id per row: "
                "np.repeat(np.arange(len(sizes)), sizes) converts them."
            )
    except (TypeError, ValueError):
        pass
    return ""


def as_ids(
    groups: npt.ArrayLike, name: str = "groups", what: str = "query id"
) -> np.ndarray:
    """Return a one-dimensional array of ids, in which each keeps its type.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Ids; tuples stay whole.
    name : str, default="groups"
        Name of the argument in error messages.
    what : str, default="query id"
        What the ids are.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    if sparse.issparse(groups):
        raise TypeError(f"{name} must be a one-dimensional array, got a sparse matrix")
    refuse_mask(groups, name, what)
    groups = of_polars(groups)
    if _is_column_of_lists(groups):
        groups = [row[0] for row in typing.cast(list, groups)]
    try:
        plain = _is_plain(groups)
        ids = id_array(typing.cast(list, groups)) if plain else np.asarray(groups)
        ids = unmixed(ids.ravel() if ids.ndim == 2 and ids.shape[1] == 1 else ids)
    except UnitError as error:
        raise ValueError(f"{name}: {error}") from None
    except ValueError:  # lists of different lengths
        raise ValueError(
            f"{name} must be one-dimensional with one {what} per row, got "
            f"{shown(groups)}"
        ) from None
    if ids.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional with one {what} per row, got "
            + (f"an array of shape {ids.shape}" if ids.ndim else shown(groups))
        )
    return ids


def _is_plain(values: Any) -> bool:
    """Return whether these are Python objects in a list, a tuple or the like."""
    return (
        isinstance(values, Sequence)
        and not isinstance(values, (str, bytes, bytearray, memoryview))
        and not hasattr(values, "__array__")
    )


def _is_column_of_lists(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and all(
        type(row) is list and len(row) == 1 for row in values
    )


def check_no_missing_id(
    ids: np.ndarray, name: str = "groups", what: str = "query id"
) -> None:
    """Check that there is an id in every row.

    Parameters
    ----------
    ids : ndarray of shape (n_samples,)
        Ids of any type.
    name : str, default="groups"
        Name of the argument in error messages.
    what : str, default="query id"
        What the ids are.

    Raises
    ------
    ValueError
        If an id is None, NaN, infinite, NaT or ``pandas.NA``.
    """
    if ids.dtype.kind in "fc":
        missing = ~np.isfinite(ids)
    elif ids.dtype.kind in "mM":
        missing = np.isnat(ids)
    elif ids.dtype == object:
        missing = where_missing(ids)
    else:
        return
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"{name} must hold one {what} per row; row {first} has none ({ids[first]})"
        )


def check_ptr(
    ptr: npt.ArrayLike, n_rows: int | None = None, *, name: str = "ptr"
) -> np.ndarray:
    """Check a pointer array, which tells the rows of each query.

    Parameters
    ----------
    ptr : array-like of shape (n_queries + 1,)
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
    n_rows : int, default=None
        Number of rows, if it is known.
    name : str, default="ptr"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Raises
    ------
    ValueError
        If the numbers do not ascend from 0 to the number of rows.
    """
    pointers = np.asarray(unmasked(ptr)) if _is_rows(ptr) else np.zeros(())
    fits = pointers.ndim == 1 and len(pointers) > 0 and pointers.dtype.kind in "iu"
    if fits:
        pointers = np.ascontiguousarray(pointers, dtype=np.intp)
        fits = pointers[0] == 0 and bool((pointers[1:] >= pointers[:-1]).all())
        fits = fits and n_rows in (None, pointers[-1])
    if not fits:
        end = (
            "the number of rows" if n_rows is None else f"the number of rows, {n_rows}"
        )
        raise ValueError(
            f"{name} must hold whole numbers that ascend from 0 to {end}, got "
            f"{shown(ptr)}"
        )
    return pointers


def _is_rows(values: Any) -> bool:
    """Return whether NumPy can make an array with axes of this."""
    try:
        return np.ndim(values) > 0
    except ValueError:  # lists of different lengths
        return False


def check_groups(
    groups: npt.ArrayLike, n_samples: int, *, name: str = "groups"
) -> np.ndarray:
    """Check an array of query ids.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        One hashable query id per row, in any order.
    n_samples : int
        Number of rows that need an id.
    name : str, default="groups"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_samples,)
        Query ids; integers, floats, strings and objects keep their type.

    Raises
    ------
    ValueError
        If the length or the shape is wrong, or an id is missing.
    TypeError
        If ids are not hashable or not an array.
    """
    ids = as_ids(groups, name)
    if len(ids) != n_samples:
        raise ValueError(
            f"{name} must hold one query id per row: found {len(ids)} ids for "
            f"{n_samples} rows.{_sizes_hint(groups, n_samples)}"
        )
    check_no_missing_id(ids, name)
    check_hashable(ids, name)
    return ids


def check_hashable(ids: np.ndarray, name: str) -> None:
    """Check that ids are hashable, which lists are not.

    Parameters
    ----------
    ids : ndarray of shape (n_samples,)
        Ids of any type.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    TypeError
        If one of them is not.
    """
    if ids.dtype != object:
        return
    for value in ids:
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{name} must hold hashable ids, got {shown(value)}"
            ) from None


def resolve_groups(
    groups: npt.ArrayLike | None,
    *containers: Any,
    n_samples: int,
    caller: str,
    name: str = "groups",
) -> np.ndarray:
    """Return the query ids of a call, from its argument or a pandas index level "qid".

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or None
        Argument of the call, which is preferred to an index.
    *containers : objects
        ``y`` and ``X`` as they were passed, whose index may carry the ids.
    n_samples : int
        Number of rows.
    caller : str
        Name of the function that needs the ids, for the error message.
    name : str, default="groups"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_samples,)
        One query id per row.

    Raises
    ------
    ValueError
        If there are no groups and ``assume_single_query`` is off.
    """
    if groups is None:
        groups = qid_of_index(*containers)
    if groups is None:
        if get_config()["assume_single_query"]:
            return np.zeros(n_samples, dtype=np.intp)
        if name != "groups":  # of validation rows, which no tool passes on
            raise ValueError(
                f"{caller} needs to know the query of every validation row: pass "
                f"{name}=, one query id per row, or give y_val a pandas index with a "
                "level named 'qid'"
            )
        ways = _TWO_WAYS_AFTER_FIT if caller.endswith(_AFTER_FIT) else _TWO_WAYS
        raise ValueError(f"{caller} needs to know the query of every row. {ways}")
    return check_groups(groups, n_samples, name=name)


def check_grades(
    y: npt.ArrayLike,
    *,
    name: str = "y",
    n_samples: int | None = None,
    warn: bool = False,
) -> np.ndarray:
    """Check that relevance grades are finite and not negative.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        One grade per document; binary, graded or real.
    name : str, default="y"
        Name of the argument in error messages.
    n_samples : int, default=None
        Expected number of grades, if it is known.
    warn : bool, default=False
        Whether a column vector causes a DataConversionWarning.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64
        Relevance grades.

    Raises
    ------
    ValueError
        If a grade is missing, infinite, negative or no number, or the length differs.
    """
    refuse_mask(y, name, "grade", "; drop the rows that nobody judged, or fill them")
    with naming(name):
        column = column_or_1d(of_polars(y), warn=warn)
        grades = as_numbers(column, name, "numeric relevance grades")
    grades = np.ascontiguousarray(grades)
    if n_samples is not None and len(grades) != n_samples:
        raise ValueError(f"{name} has {len(grades)} grades for {n_samples} rows")
    if len(grades) == 0:
        raise ValueError(f"{name} is empty; at least one document is needed")
    bad = ~np.isfinite(grades)
    # scikit-learn's checks of estimators look for "Input y contains NaN".
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{name} must hold finite grades; Input {name} contains "
            f"{'NaN' if np.isnan(grades[first]) else 'infinity'} "
            f"(first in row {first}, {int(bad.sum())} in all)"
        )
    if grades.min() < 0:
        first = int(np.flatnonzero(grades < 0)[0])
        raise ValueError(
            f"{name} must hold grades >= 0; row {first} has {grades[first]:g}. Shift "
            "the grades, or drop rows that mean 'not judged'."
        )
    return grades


def check_scores(
    y_score: npt.ArrayLike, n_samples: int, *, name: str = "y_score"
) -> np.ndarray:
    """Check that there is one predicted score for every document.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores, higher is better. They may be infinite, since they only order the
        documents.
    n_samples : int
        Expected number of scores.
    name : str, default="y_score"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64
        Predicted scores.

    Raises
    ------
    ValueError
        If a score is NaN or the length differs.
    TypeError
        If scores are a sparse matrix.
    """
    if sparse.issparse(y_score):
        raise TypeError(
            f"{name} must hold numeric scores in an array, got a sparse matrix"
        )
    with naming(name):
        scores = as_numbers(
            column_or_1d(unmasked(of_polars(y_score))), name, "numeric scores"
        )
    scores = np.ascontiguousarray(scores)
    if len(scores) != n_samples:
        raise ValueError(f"{name} has {len(scores)} scores for {n_samples} documents")
    missing = np.isnan(scores)
    if missing.any():
        raise ValueError(
            f"{name} contains NaN: {int(missing.sum())} of {len(scores)} scores, "
            f"first in row {int(np.flatnonzero(missing)[0])}; a document without a "
            "score cannot be ranked"
        )
    return scores


# The square of the largest weight, too, is far from the ends of the range of doubles.
_LEAST_WEIGHT = 1e-100


def _numeric_weights(weight, name):
    """Weights with NaN for what is missing; sparse ones are left to scikit-learn."""
    if sparse.issparse(weight):
        return weight
    return as_numbers(weight, name, "numeric weights")


def check_weights(
    sample_weight: npt.ArrayLike | None, n_samples: int, *, name: str = "sample_weight"
) -> np.ndarray | None:
    """Check that row weights are finite, not negative and not all zero.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), a number, or None
        Weight of each document. A weight that is constant within a query is a weight
        of the query.
    n_samples : int
        Number of rows.
    name : str, default="sample_weight"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64, or None
        Weight of each document; None if there are no weights.

    Raises
    ------
    ValueError
        If a weight is not finite or negative, all are zero, or the length differs.
    """
    if sample_weight is None:
        return None
    with naming(name):
        numbers = _numeric_weights(sample_weight, name)
        if np.isscalar(sample_weight):
            numbers = np.full(n_samples, numbers)
        weight = checked_array(
            numbers, ensure_2d=False, dtype=np.float64, input_name=name
        )
    # The wording of scikit-learn, which its checks of estimators look for.
    if weight.ndim != 1:
        raise ValueError(
            f"{name}: Sample weights must be 1D array or scalar, got {weight.ndim}D"
        )
    if len(weight) != n_samples:
        raise ValueError(
            f"{name}.shape == {weight.shape}, expected {(n_samples,)}: one weight per "
            "row; repeat the weight of a query on each of its rows"
        )
    if len(weight) == 0 or weight.min() < 0 or not weight.any():
        raise ValueError(f"{name} must not be negative, nor zero everywhere")
    if not _LEAST_WEIGHT <= weight.max() <= 1 / _LEAST_WEIGHT:
        raise ValueError(
            f"the largest {name} must lie from {_LEAST_WEIGHT:g} to "
            f"{1 / _LEAST_WEIGHT:g}, because sums of weights would overflow or vanish; "
            f"got {weight.max():g}; scale the weights"
        )
    return np.ascontiguousarray(weight)
