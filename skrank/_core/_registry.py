"""Classes by their short names.

A class that can be chosen by a string states the string itself::

    class HingeLoss(BaseLoss):
        short_name: ClassVar[str] = "hinge"
        aliases: ClassVar[tuple[str, ...]] = ("pairwise_hinge",)

Everything that turns strings into objects (names of measures, options of the command
line, ``solver="lbfgs"``) reads the public classes of a package here, so that a new
class needs one line in the ``__init__`` of its package and no second list of names.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from skrank._core._parameters import InvalidParameterError, invalid_parameter

__all__ = ["aliases", "by_short_name", "choose", "public_classes", "unknown_name"]

T = TypeVar("T")
Source = str | ModuleType | Iterable[type]


def public_classes(source: Source, base: type[T]) -> list[type[T]]:
    """Return the public subclasses of a base class, each once, in order.

    Parameters
    ----------
    source : str, module or iterable of classes
        A module, or its name, whose ``__all__`` is looked through; or the classes.
    base : type
        Base class, which is not among the results.

    Returns
    -------
    list of type
        Public subclasses.
    """
    if isinstance(source, str):
        source = import_module(source)
    if isinstance(source, ModuleType):
        source = [getattr(source, name) for name in source.__all__]
    found = (x for x in source if isinstance(x, type) and issubclass(x, base))
    return [cls for cls in dict.fromkeys(found) if cls is not base]


def by_short_name(source: Source, base: type[T]) -> dict[str, type[T]]:
    """Return the classes that have a short name, by that name.

    Parameters
    ----------
    source : str, module or iterable of classes
        Source of the classes, as in `public_classes`.
    base : type
        Base class.

    Returns
    -------
    dict of str to type
        Classes in the order of the source. Classes that state no short name, such as
        abstract bases and classes that only users compose, are left out.

    Raises
    ------
    ValueError
        If two classes state the same name.
    """
    classes: dict[str, type[T]] = {}
    for cls in public_classes(source, base):
        # An inherited name belongs to the base class: it would hide one of the two.
        name = vars(cls).get("short_name")
        if name:
            _add(classes, name, cls, cls)
    return classes


def aliases(classes: Mapping[str, type]) -> dict[str, str]:
    """Return the short name that each further spelling stands for.

    Parameters
    ----------
    classes : mapping of str to type
        Mapping as returned by `by_short_name`.

    Returns
    -------
    dict of str to str
        Short name of the class by each entry of ``cls.aliases``.

    Raises
    ------
    ValueError
        If two classes claim one spelling.
    """
    spellings: dict[str, str] = {}
    for name, cls in classes.items():
        for spelling in vars(cls).get("aliases", ()):
            if spelling in classes:
                raise ValueError(
                    f"alias {spelling!r} of {cls.__name__} is the short name of "
                    f"{classes[spelling].__name__}"
                )
            _add(spellings, spelling, name, cls)
    return spellings


def _add(table, name, value, cls) -> None:
    if name in table:
        raise ValueError(f"{cls.__name__} states the name {name!r}, which is taken")
    table[name] = value


def choose(
    name,
    classes: Mapping[str, T],
    owner: object,
    parameter: str,
    *,
    or_a: type | None = None,
) -> T:
    """Return the class, or whatever the mapping holds, that a short name stands for.

    Parameters
    ----------
    name : str
        Name that was given.
    classes : mapping of str to type
        Mapping as returned by `by_short_name`, or a part of it.
    owner : object
        Object whose parameter is looked up, for the error message.
    parameter : str
        Name of the parameter.
    or_a : type, default=None
        A class whose instances the parameter accepts beside names; only the error
        message mentions it, since the caller has taken such objects before.

    Returns
    -------
    type
        Class, or entry of the mapping, of that name.

    Raises
    ------
    InvalidParameterError
        If there is no such name: "Owner: solver must be one of 'adam', 'lbfgs' or
        'sgd', got 'bfgs'".

    Examples
    --------
    >>> from skrank._core._registry import choose
    >>> choose("b", {"a": int, "b": float}, object(), "kind")
    <class 'float'>
    """
    if isinstance(name, str) and name in classes:
        return classes[name]
    raise unknown_name(name, classes, owner, parameter, or_a=or_a)


def unknown_name(
    name, classes: Iterable[str], owner: object, parameter: str, *, or_a=None
) -> InvalidParameterError:
    """Return the error of `choose`, for callers that look names up themselves."""
    known = sorted(classes)
    *words, last = map(repr, known)
    accepted = f"one of {', '.join(words)} or {last}" if words else last
    if or_a is not None:
        article = "an" if or_a.__name__[0] in "AEIOU" else "a"
        accepted += f", or {article} {or_a.__name__}"
    return invalid_parameter(owner, parameter, accepted, name)
