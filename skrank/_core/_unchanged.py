"""Methods that learn wholly or not at all.

What fails halfway, or is interrupted, would leave new attributes beside old ones, of
which `predict` would make what nobody has fitted.
"""

from functools import update_wrapper
from typing import Any

import numpy as np

# Names of the methods that learn, or prepare for it.
LEARNING = (
    "fit",
    "partial_fit",
    "fit_transform",
    "merge",
    "append",
    "propose",
    "setup",
)


def whole(method: Any) -> Any:
    """Return a method that leaves its object as it was where it fails.

    The method may replace attributes and change fitted arrays in place.
    """

    def learn(self, /, *args, **kwargs):
        before = dict(vars(self))
        arrays = [
            (value, value.copy())
            for name, value in before.items()
            if name.endswith("_")
            and isinstance(value, np.ndarray)
            and value.flags.writeable
        ]
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            for array, content in arrays:
                array[...] = content
            raise

    return update_wrapper(learn, method)


def is_whole(method: Any) -> bool:
    """Return whether a function is one that `whole` has made."""
    return getattr(method, "__code__", None) is _CODE


_CODE = whole(lambda self: None).__code__
