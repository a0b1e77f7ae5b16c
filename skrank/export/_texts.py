"""Texts of other systems, which are read back to compare scores."""

import functools
from collections.abc import Callable
from typing import SupportsFloat
from xml.etree import ElementTree

import numpy as np

from skrank._core._finite import quiet, require_finite_scores
from skrank._core._messages import problem_in, shown

_NO_MODEL = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    ElementTree.ParseError,
)


class FeatureError(ValueError):
    """A model and the rows to score do not fit together."""


def finite_single(number: SupportsFloat | str, what: str) -> np.float32:
    """Return a number of a model in single precision; refuse it if it is not finite.

    Parameters
    ----------
    number : number or str
        What stands in the text.
    what : str
        What it is, for the error message.

    Returns
    -------
    float32
        The number.

    Raises
    ------
    ValueError
        If it is no finite number of single precision.
    """
    with quiet():
        value = np.float32(float(number))
    if not np.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {shown(number)}")
    return value


def reads_text(system: str) -> Callable:
    """Make of a function one that raises a ValueError over a text that is no model.

    Parameters
    ----------
    system : str
        Name of the system that the text is for.

    Returns
    -------
    callable
        Decorator of a function whose first argument is the text.
    """

    def decorate(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        @functools.wraps(function)
        def read(text, *args, **more):
            if not isinstance(text, str):
                raise TypeError(f"text must be that of a model, got {shown(text)}")
            try:
                with quiet():
                    scores = function(text, *args, **more)
            except FeatureError:
                raise
            except _NO_MODEL as error:
                raise ValueError(
                    f"the text is no model that {system} would read: "
                    f"{problem_in(error)}"
                ) from None
            return require_finite_scores(scores, args[0] if args else more["X"])

        return read

    return decorate
