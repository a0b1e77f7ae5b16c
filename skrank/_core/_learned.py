"""What is said of attributes that objects get when they learn."""

from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.exceptions import NotFittedError


class Learned:
    """Mix-in of objects with attributes, such as ``scale_``, that some method sets.

    One that is missing is a `NotFittedError`, which is an AttributeError as well.
    """

    #: What sets the attributes, in words that follow "call".
    _learned_by: ClassVar[str]

    if not TYPE_CHECKING:  # which would believe that there is everything

        def __getattr__(self, name):
            """Tell why an attribute is missing; the others never come here."""
            is_learned = name.endswith("_") and not name.startswith("_")
            if is_learned and not hasattr(type(self), name):
                raise not_learned(self, name)
            return object.__getattribute__(self, name)  # with the error of a property


def not_learned(learned: Any, name: str) -> NotFittedError:
    """Return the error of an object that has not learned an attribute yet."""
    kind = type(learned).__name__
    return NotFittedError(f"{kind} has no {name} yet: call {learned._learned_by} first")
