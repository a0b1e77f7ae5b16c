"""What the checks of all parts share: sentences for what is broken, and comparisons."""

import pickle
import re
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank._core._inner import names_of_seeds
from skrank._core._messages import on_one_line

Check = Callable[[Any], None]


def require(condition: Any, part: Any, sentence: str) -> None:
    """Raise an AssertionError that says what a part does not keep.

    Parameters
    ----------
    condition : bool
        Whether the contract is kept.
    part : object
        Part that is checked.
    sentence : str
        What is wrong, as the end of a sentence that begins with the part.
    """
    if not condition:
        raise AssertionError(f"{called(part)} {sentence}")


def called(part: Any) -> str:
    """Return how messages call a part: its representation without addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", on_one_line(" ".join(repr(part).split())))


def same_bits(found: Any, expected: Any) -> bool:
    """Whether arrays, or tuples of arrays, are equal to the last bit."""
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same_bits, found, expected))
    found, expected = np.asarray(found), np.asarray(expected)
    return found.shape == expected.shape and np.array_equal(
        found, expected, equal_nan=expected.dtype.kind == "f"
    )


def close(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-11) -> bool:
    """Whether arrays, or tuples of arrays, are equal but for rounding."""
    if isinstance(expected, tuple):
        pairs = zip(found, expected)
        return len(found) == len(expected) and all(
            close(a, b, rtol, atol) for a, b in pairs
        )
    found, expected = np.asarray(found), np.asarray(expected)
    return found.shape == expected.shape and bool(
        np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    )


def numeric_gradient(
    function: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-4
) -> np.ndarray:
    """Return fourth-order central differences of a scalar function.

    Parameters
    ----------
    function : callable
        Function of an array.
    x : ndarray
        Where its derivatives are wanted.
    step : float, default=1e-4
        Distance of the points.

    Returns
    -------
    ndarray
        Derivatives, of the shape of ``x``.
    """
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = step
        near = function(x + e) - function(x - e)
        far = function(x + 2.0 * e) - function(x - 2.0 * e)
        gradient[i] = (8.0 * near - far) / (12.0 * step)
    return gradient


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def seeded(part: Any) -> Any:
    """Return a copy whose seeds are set, so that it does the same again."""
    copied = clone(part)
    params = copied.get_params(deep=True)
    seeds = {name: 0 for name in names_of_seeds(copied) if params[name] is None}
    return copied.set_params(**seeds)


def copies_of(part: Any) -> list[Any]:
    """Return a clone and an unpickled copy, or raise an AssertionError.

    Functions and classes that no module holds under their name, such as those defined
    within functions, cannot be pickled by anybody; then there is a clone only.
    """
    copied = clone(part)
    require(
        repr(copied.get_params(deep=False)) == repr(part.get_params(deep=False)),
        part,
        "does not keep its parameters when cloned: the constructor must store each "
        "parameter as it is, under its own name",
    )
    if any(map(_is_nameless, [type(part), *part.get_params(deep=True).values()])):
        return [copied]
    try:
        return [copied, pickle.loads(pickle.dumps(part))]
    except Exception as error:
        raise AssertionError(f"{called(part)} cannot be pickled: {error}") from error


def _is_nameless(value):
    """Whether this is a function or class that its module does not hold by its name."""
    if not isinstance(value, FunctionType | type):
        return False
    module = sys.modules.get(value.__module__)
    return getattr(module, value.__qualname__, None) is not value
