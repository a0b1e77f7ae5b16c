"""Texts of other systems, which are read back to compare scores."""

import functools
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np

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
                return function(text, *args, **more)
            except FeatureError:
                raise
            except _NO_MODEL as error:
                raise ValueError(
                    f"the text is no model that {system} would read: "
                    f"{problem_in(error)}"
                ) from None

        return read

    return decorate
