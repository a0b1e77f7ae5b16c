"""Attributes of estimators that were read from a file: their kinds and shapes."""

from typing import Any

import numpy as np

from skrank._core._messages import shown


def error_of(owner: Any, name: str, accepted: str, value: Any) -> ValueError:
    """Return an error about an attribute that is not as it must be."""
    return ValueError(
        f"{type(owner).__name__}: {name} must be {accepted}, got {shown(value)}"
    )


def missing(owner: Any, name: str) -> ValueError:
    """Return an error about an attribute that is not there."""
    return ValueError(f"{type(owner).__name__}: the attribute {name} is missing")


def attribute(owner: Any, name: str, kind: Any, accepted: str) -> Any:
    """Return a fitted attribute that must be there and of some kind."""
    if name not in vars(owner):
        raise missing(owner, name)
    value = vars(owner)[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    # Python counts True and False among the whole numbers.
    is_wrong_flag = isinstance(value, bool) and {bool, object}.isdisjoint(kinds)
    if not isinstance(value, kinds) or is_wrong_flag:
        raise error_of(owner, name, accepted, value)
    return value


def array_of(owner: Any, name: str, dtypes: Any, shape: Any) -> np.ndarray:
    """Return an array that must have one of some dtypes; None stands for any length."""
    value = attribute(owner, name, object, "")
    return checked_array(owner, name, value, dtypes, shape)


def checked_array(
    owner: Any, name: str, array: Any, dtypes: Any, shape: Any
) -> np.ndarray:
    """Return a value, known by some name, that must be such an array."""
    accepted = f"an array of {' or '.join(np.dtype(d).name for d in dtypes)}"
    if not isinstance(array, np.ndarray):
        raise error_of(owner, name, accepted, array)
    fits = len(shape) == array.ndim and all(
        n is None or n == found for n, found in zip(shape, array.shape)
    )
    if array.dtype not in dtypes or not fits:
        lengths = ", ".join("n" if n is None else str(n) for n in shape)
        found = f"{array.dtype} of shape {array.shape}"
        raise error_of(owner, name, f"{accepted} of shape ({lengths})", found)
    return array
