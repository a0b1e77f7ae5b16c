"""Validation queries as `fit` takes them, in one set or several, and measures."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skrank._core._messages import shown
from skrank._core._sparse import is_mapping
from skrank.metrics import BaseMeasure, get_measure

#: Name of the training queries among the sets that are measured.
TRAINING = "training"


def measures_of(given: Any) -> list[BaseMeasure]:
    """Return the measures that a parameter ``validation_measure`` holds.

    Parameters
    ----------
    given : str, BaseMeasure or sequence of them
        A measure, or several of them.

    Returns
    -------
    list of BaseMeasure
        The first one decides.
    """
    several = isinstance(given, list | tuple)
    return [get_measure(each) for each in (given if several else [given])]


class ValidationSet(NamedTuple):
    """The arguments of `fit` that make one set of validation queries.

    Attributes
    ----------
    name : str
        Name of the set.
    place : str
        Where the set stands in each argument, such as "[1]", for error messages; empty
        where there is one set that no list or mapping holds.
    arguments : dict
        ``X_val``, ``y_val`` and further arguments, by their names.
    """

    name: str
    place: str
    arguments: dict[str, Any]


def validation_sets(given: Mapping[str, Any]) -> list[ValidationSet]:
    """Take the arguments of `fit` about validation queries apart, set by set.

    Parameters
    ----------
    given : mapping
        ``X_val`` and other arguments by their names; None for what was not passed.

    Returns
    -------
    list of ValidationSet
        One for each entry of ``X_val`` where that is a mapping, or a list or tuple with
        tables in it, whose entries are called "validation_0", "validation_1" and so on;
        otherwise one, called "validation".

    Raises
    ------
    ValueError
        If there is no set, a name is kept for something else, or another argument does
        not have one entry for each set.
    TypeError
        If a name is no string.
    """
    X = given["X_val"]
    if is_mapping(X):
        _check_names(X)
        places = {name: f"[{name!r}]" for name in X}
        taken = {name: _of_names(name, value, X) for name, value in given.items()}
    elif isinstance(X, list | tuple) and any(_is_table(entry) for entry in X):
        places = {_name(i, len(X)): f"[{i}]" for i in range(len(X))}
        taken = {name: _in_order(name, value, len(X)) for name, value in given.items()}
    else:
        for name, value in given.items():
            _require_one_set(name, value)
        return [ValidationSet("validation", "", dict(given))]
    return [
        ValidationSet(name, place, {key: values[i] for key, values in taken.items()})
        for i, (name, place) in enumerate(places.items())
    ]


def _require_one_set(name, value) -> None:
    """Refuse several sets in another argument than X_val, which holds one."""
    entries = value if isinstance(value, list | tuple) else []
    if is_mapping(value) or any(
        isinstance(entry, list | tuple) or np.ndim(entry) for entry in entries[:1]
    ):
        if name == "X_val":
            return
        raise ValueError(
            f"X_val is one table of validation rows, but {name} holds several arrays; "
            "pass several sets of validation queries as a list or mapping in X_val, too"
        )


def _name(number, n_sets) -> str:
    return "validation" if n_sets == 1 else f"validation_{number}"


def _is_table(value) -> bool:
    """Return whether an entry of a list holds rows, and is not a row itself."""
    if sparse.issparse(value):
        return True
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) == 2
    if not isinstance(value, list | tuple) or not value:
        return False
    return isinstance(value[0], list | tuple | np.ndarray)


def _check_names(X) -> None:
    if not X:
        raise ValueError("X_val must hold at least one set of validation queries")
    for name in X:
        if not isinstance(name, str):
            raise TypeError(
                f"names of sets in X_val must be strings, got {shown(name)}"
            )
        if name == TRAINING:
            raise ValueError(
                f"X_val: {name!r} is the name of the queries that are learned from "
                "(evaluate_training=True); choose another name for a validation set"
            )


def _of_names(name, value, X) -> list[Any]:
    """Return the entries of a mapping in the order of X_val; None stands for none."""
    if value is None:
        return [None] * len(X)
    if not is_mapping(value) or set(value) != set(X):
        found = shown(list(value)) if is_mapping(value) else shown(value)
        raise ValueError(
            f"{name} must be a mapping with the names of X_val, {shown(list(X))}, got "
            f"{found}"
        )
    return [value[key] for key in X]


def _in_order(name, value, n_sets) -> list[Any]:
    if value is None:
        return [None] * n_sets
    if not isinstance(value, list | tuple) or len(value) != n_sets:
        raise ValueError(
            f"{name} must be a list or tuple of {n_sets}, one entry for each set of "
            f"validation queries in X_val, got {shown(value)}"
        )
    return list(value)
