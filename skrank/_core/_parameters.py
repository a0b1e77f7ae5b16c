"""Constructor parameters: declared once, with their types and their ranges.

A class lists its own parameters as annotated class attributes and inherits those of its
bases::

    class RankSVM(BaseEnergyRanker):
        hinge: Literal["squared", "linear"] = "squared"
        margin: NonNegative = 1.0
        alpha = 0.01  # a new default of an inherited parameter

The constructor, which scikit-learn reads, is made from that list by the standard
library's dataclass, so that no parameter can be forgotten on the way to a base class
and type checkers see all of them. What a parameter accepts is read from its annotation
by the one check that every ``fit`` or ``prepare`` begins with, so that every mistake is
reported in the same words.
"""

import difflib
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, field, fields
from functools import cache, update_wrapper
from typing import Annotated, Any, Literal, dataclass_transform

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._unchanged import LEARNING, is_whole, whole

__all__ = [
    "Fraction",
    "Interval",
    "InvalidParameterError",
    "NThreads",
    "NonNegative",
    "NonNegativeInt",
    "NotZero",
    "NumberOrNaN",
    "Numbers",
    "Parameters",
    "Positive",
    "PositiveInt",
    "Seed",
    "UnitPairs",
    "accepted_by",
    "invalid_parameter",
    "own_names",
]


class InvalidParameterError(ValueError, TypeError):
    """A constructor parameter is of the wrong type or out of range.

    Examples
    --------
    >>> from skrank.exceptions import InvalidParameterError
    >>> from skrank.losses import HingeLoss
    >>> try:
    ...     HingeLoss(margin=-1).prepare([0.0, 1.0], [0, 2])
    ... except InvalidParameterError as error:
    ...     print(error)
    HingeLoss: margin must be a number >= 0, got -1
    """

    # Of which parameter of what it tells, and what that accepts, for `own_names`.
    _owner = _name = _accepted = ""


def invalid_parameter(owner, name: str, accepted: str, value) -> InvalidParameterError:
    """Return the error that names the values a parameter accepts and the one it has.

    Parameters
    ----------
    owner : object
        Object that has the parameter.
    name : str
        Name of the parameter.
    accepted : str
        Description of the values that it accepts, such as "a number > 0".
    value : object
        Value that was found.

    Returns
    -------
    InvalidParameterError
        Error to raise.
    """
    error = InvalidParameterError(
        f"{type(owner).__name__}: {name} must be {accepted}, got {shown(value, 100)}"
    )
    error._owner, error._name, error._accepted = type(owner).__name__, name, accepted
    return error


@contextmanager
def own_names(owner: Any, part: Any, names: Mapping[str, str] | None = None):
    """Have errors of a part name the parameters of the object that made it of its own.

    The user has not written the part.

    Parameters
    ----------
    owner : object
        Object with parameters.
    part : object
        What the object has made of its parameters.
    names : mapping of str to str, default=None
        What the object calls parameters of the part that it calls otherwise.

    Raises
    ------
    InvalidParameterError
        In place of one about a parameter of the part.
    """
    try:
        yield
    except InvalidParameterError as error:
        name = (names or {}).get(error._name, error._name)
        if error._owner != type(part).__name__ or not hasattr(owner, name):
            raise
        value = getattr(owner, name)
        raise invalid_parameter(owner, name, error._accepted, value) from None


@dataclass(frozen=True)
class Interval:
    """Numbers between two bounds.

    Parameters
    ----------
    low : float or None
        Lower bound; None for no bound.
    high : float or None, default=None
        Upper bound; None admits every finite number.
    closed : {"both", "left", "right", "neither"}, default="both"
        Bounds that belong to the interval.
    """

    low: float | None
    high: float | None = None
    closed: Literal["both", "left", "right", "neither"] = "both"

    def __contains__(self, value) -> bool:
        if type(value) in (np.float16, np.float32):
            value = float(value)  # these types do not hold all bounds
        if self.low is not None:
            if value < self.low:
                return False
            if value == self.low and self.closed not in ("both", "left"):
                return False
        if self.high is None:
            # Larger integers fit no array.
            return abs(value) < 2**63 if is_integer(value) else math.isfinite(value)
        if self.closed in ("both", "right"):
            return value <= self.high
        return value < self.high

    def __str__(self):
        left, right = self.closed in ("both", "left"), self.closed in ("both", "right")
        if self.high is None:
            return "" if self.low is None else f"{'>=' if left else '>'} {self.low:g}"
        if self.high == math.inf and right:
            return f"{'>=' if left else '>'} {self.low:g}, or infinity"
        low = "-inf" if self.low is None else f"{self.low:.12g}"
        return (
            f"in {'[' if left else '('}{low}, {self.high:.12g}{']' if right else ')'}"
        )


@dataclass(frozen=True)
class NotZero:
    """Every number but 0."""

    def __contains__(self, value):
        return value != 0

    def __str__(self):
        return "other than 0"


@dataclass(frozen=True)
class _FitsKernels:
    """Whole numbers that the compiled code can hold."""

    def __contains__(self, value):
        return abs(int(value)) < 2**31

    def __str__(self):
        return ""  # see `_bound_of_size`


Positive = Annotated[float, Interval(0, None, "neither")]
NonNegative = Annotated[float, Interval(0, None)]
Fraction = Annotated[float, Interval(0, 1, "neither")]
PositiveInt = Annotated[int, Interval(1, None), _FitsKernels()]
NonNegativeInt = Annotated[int, Interval(0, None), _FitsKernels()]
NBytes = Annotated[int, Interval(1, None)]
# Of units that come in pairs, the compiled code must hold twice as many.
UnitPairs = Annotated[int, Interval(1, 2**30 - 1)]
NumberOrNaN = Annotated[float, "or NaN"]
NThreads = Annotated[int, NotZero(), _FitsKernels()] | None
Numbers = Sequence[float] | np.ndarray
Seed = Annotated[int, Interval(0, 2**32 - 1)] | np.random.RandomState | None


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(field, Field)
)
class Parameters:
    """Base class of all classes with constructor parameters.

    The description of the module says how parameters are declared. One that may also be
    given by its place is declared as ``field(default=..., kw_only=False)``.

    Classes of this package learn wholly or not at all: where ``fit`` and the other
    methods of `LEARNING` fail, the object is as it was.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _own_inherited_methods(cls)
        _learn_wholly(cls)
        _declare_new_defaults(cls)
        # A constructor written by hand, here or in the nearest base, is kept.
        made = "__init__" not in vars(cls) and _is_made(super(cls, cls).__init__)
        doc = vars(cls).get("__doc__")  # python -OO keeps none
        cls.__doc__ = doc or " "  # or dataclass would write a signature there
        known = {name for base in cls.__mro__[1:] for name in _fields_of(base)}
        dataclass(init=made, kw_only=True, eq=False, repr=False, match_args=False)(cls)
        if made:
            _put_own_first(cls)
            cls.__init__ = _explaining(cls, cls.__init__)
        elif "__init__" not in vars(cls):
            _require_constructor(cls, known)
        cls.__doc__ = _CompletedDocstring(doc) if doc else None
        # Of abstract classes pydoc reads no descriptor.
        if doc and type(cls) is not type:
            cls.__doc__ = str(cls.__doc__)

    def _check_parameters(self) -> None:
        """Raise an error that names a parameter of the wrong type or out of range.

        Numbers of NumPy become those of Python, because arithmetic in their small types
        would wrap around. Classes whose parameters depend on each other extend this
        method.
        """
        for name, accepts, accepted in _rules(type(self)):
            value = getattr(self, name)
            if not accepts(value):
                words = accepted_by(accepted, value)
                raise invalid_parameter(self, name, words, value)
            is_number = isinstance(value, np.bool_ | np.integer | np.floating)
            if is_number and not isinstance(value, np.timedelta64):  # an integer to it
                setattr(self, name, _of_python(value))
            if isinstance(value, Parameters):
                value._check_parameters()


def _of_python(value: np.generic) -> bool | int | float:
    """Return the same number as Python has it."""
    if isinstance(value, np.bool_):
        return bool(value)
    return int(value) if isinstance(value, np.integer) else float(value)


def _declare_new_defaults(cls) -> None:
    """Annotate attributes that give an inherited parameter another default."""
    inherited: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= _fields_of(base)
    annotations = inspect.get_annotations(cls)
    for name, value in list(vars(cls).items()):
        if name not in inherited or name in annotations or _is_code(value):
            continue
        annotations[name] = inherited[name].type
        setattr(cls, name, field(default=value, kw_only=inherited[name].kw_only))
    cls.__annotations__ = annotations


def _fields_of(cls) -> dict[str, Field]:
    """Return the parameters of a class and of its bases, by name."""
    if "__dataclass_fields__" not in vars(cls):
        return {}
    return {f.name: f for f in fields(cls)}


def _require_constructor(cls, known):
    """Refuse new parameters where an inherited constructor would not know them."""
    own = [name for name in inspect.get_annotations(cls) if name in _fields_of(cls)]
    if own:
        kind = "defaults of" if set(own) <= known else "parameters"
        raise TypeError(
            f"{cls.__name__} declares {kind} {', '.join(own)}, but inherits a "
            "constructor that was written by hand; write its own constructor, too"
        )


def _is_made(constructor) -> bool:
    """Return whether a constructor is ``object``'s, or was made from a declaration."""
    return constructor is object.__init__ or hasattr(constructor, "__signature__")


def _put_own_first(cls) -> None:
    """List a class's own parameters before those of its bases, as readers expect."""
    signature = inspect.signature(cls.__init__)
    declared = [
        name
        for base in cls.__mro__
        if "__dataclass_fields__" in vars(base)
        for name in inspect.get_annotations(base)
        if name in base.__dataclass_fields__
    ]
    places = {name: place for place, name in reversed(list(enumerate(declared)))}
    parameters = [
        p.replace(annotation=_plain(p.annotation))
        for p in signature.parameters.values()
    ]
    by_place = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    by_name.sort(key=lambda parameter: places[parameter.name])
    cls.__init__.__signature__ = signature.replace(parameters=by_place + by_name)


def _explaining(cls, made):
    """Return a constructor whose errors name the class and what it takes."""

    def construct(self, /, *args, **kwargs):
        try:
            made(self, *args, **kwargs)
        except TypeError as error:
            words = _wrong_arguments(cls, args, kwargs)
            if words is None:
                words = str(error).replace(f"{made.__qualname__}()", cls.__name__)
            raise TypeError(words) from None

    return _same_function(construct, made)


def _wrong_arguments(cls, args, kwargs) -> str | None:
    """Say which arguments a constructor does not know; None if it knows all."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    known = [p.name for p in parameters][1:]  # without self
    by_place = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY][1:]
    takes = f"t takes {', '.join(known) or 'none'}"
    for name in kwargs:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            # An abbreviation may be too short to be close.
            close += [each for each in known if len(name) > 2 and each.startswith(name)]
            meant = f"; did you mean {close[0]!r}? I" if close else "; i"
            return f"{cls.__name__} has no parameter {name!r}{meant}{takes}"
    if len(args) > len(by_place):
        allowed = f"only {', '.join(by_place)}" if by_place else "no parameter"
        return (
            f"{cls.__name__} takes {allowed} by place, got {len(args)} values; name "
            f"the others. I{takes}"
        )
    return None


def _same_function(function, original):
    """Give a function the name, the signature and the docstring of another one."""
    update_wrapper(function, original)
    del function.__wrapped__  # it stands for the other one, and does not wrap it
    return function


def _own_inherited_methods(cls) -> None:
    """Give a class the methods of its bases in this package under its own name.

    Python's messages about wrong arguments name the class that a method was written
    in; users know the class that they made.
    """
    if cls.__name__.startswith(("Base", "_")) or cls.__name__.endswith("Mixin"):
        return
    if not cls.__module__.startswith("skrank."):  # classes of users stay as they wrote
        return
    seen = set(vars(cls))
    for base in cls.__mro__[1:]:
        if not base.__module__.startswith("skrank."):
            seen.update(vars(base))
            continue
        for name, method in list(vars(base).items()):
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if is_whole(method):
                method = method.__wrapped__
            # What scikit-learn wrapped must not be wrapped again.
            if isinstance(method, types.FunctionType) and "__wrapped__" not in vars(
                method
            ):
                own = types.FunctionType(
                    method.__code__,
                    method.__globals__,
                    method.__name__,
                    method.__defaults__,
                    method.__closure__,
                )
                own.__kwdefaults__ = method.__kwdefaults__
                _same_function(own, method)
                own.__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, own)


def _learn_wholly(cls) -> None:
    """Let the methods of a class that learn do so wholly or not at all."""
    if not cls.__module__.startswith("skrank."):
        return
    for name in LEARNING:
        method = vars(cls).get(name)
        if isinstance(method, types.FunctionType):
            setattr(cls, name, whole(method))


def _plain(hint):
    """Return an annotation without its ranges, as readers of a signature expect it."""
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return typing.get_args(hint)[0]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(map(_plain, typing.get_args(hint)))]  # noqa: UP007
    return hint


def _is_code(value) -> bool:
    return isinstance(value, property | classmethod | staticmethod) or (
        inspect.isfunction(value)
    )


@cache
def _rules(cls):
    """Return the name, the test and the description of every parameter of a class."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError:  # a user's names for type checkers alone
        hints = {
            f.name: Any if isinstance(f.type, str) else f.type for f in fields(cls)
        }
    return [
        (f.name, *_rule(hints[f.name])) for f in fields(cls) if hints[f.name] is not Any
    ]


_Rule = tuple[Callable[[Any], bool], str]
# Between these marks stands what a message says of large numbers alone.
_MARKS = "\x02", "\x03"
_MARKED = re.compile(f"{_MARKS[0]}(.*?){_MARKS[1]}")


def _rule(hint) -> _Rule:
    """Return the test and the description of the values that an annotation accepts."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in _COMPOSED:
        return _COMPOSED[origin](arguments)
    if isinstance(origin, type):
        if issubclass(origin, Mapping):
            return lambda value: isinstance(value, Mapping), "a mapping"
        if issubclass(origin, Sequence):
            return _sequence(arguments)
        hint = origin
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return _SIMPLE[Any]  # what a type checker knows, but not `isinstance`
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    article = "an" if hint.__name__[0] in "AEIOU" else "a"
    accepted = f"{article} {hint.__name__}"
    if issubclass(hint, Iterable):  # arrays without axes only look as if they were
        return (
            lambda value: (
                isinstance(value, hint) and getattr(value, "shape", None) != ()
            ),
            accepted,
        )
    return lambda value: isinstance(value, hint), accepted


def is_true(value: Any) -> bool:
    """Return whether a parameter, which nothing has checked yet, is True."""
    return isinstance(value, bool | np.bool_) and bool(value)


def _is_number(value) -> bool:
    """Whether a value is a number that the kernels can take as a double."""
    if is_integer(value):
        return abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating) and not math.isnan(value)


def is_integer(value) -> bool:
    # A duration of NumPy counts as an integer there, but is none.
    return isinstance(value, int | np.integer) and not isinstance(
        value, bool | np.timedelta64
    )


def _is_sequence(value) -> bool:
    if hasattr(value, "__array__"):  # an array, or a column of a data frame
        return np.ndim(value) > 0
    if isinstance(value, str | bytes | memoryview):
        return False
    return isinstance(value, Sequence)


def _is_array_of_numbers(value) -> bool:
    if not _is_sequence(value):
        return False
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except ValueError:  # lists of different lengths
        return False


def _annotated(arguments) -> _Rule:
    accepts, accepted = _rule(arguments[0])
    # Other metadata than limits says nothing of values.
    limits = [
        limit
        for limit in arguments[1:]
        if hasattr(limit, "__contains__") and not isinstance(limit, str | bytes)
    ]
    words = " and ".join(filter(None, map(str, limits)))
    bound = _bound_of_size(limits, " and" if arguments[0] is int else ", if whole")
    return (
        lambda value: accepts(value) and all(value in limit for limit in limits),
        f"{accepted} {words}".rstrip() + bound,
    )


def _bound_of_size(limits, joint: str) -> str:
    """Return the words, in marks, for whole numbers that are too large to be held."""
    if any(isinstance(limit, _FitsKernels) for limit in limits):
        size = "2**31"
    elif any(isinstance(limit, Interval) for limit in limits) and all(
        getattr(limit, "high", None) is None for limit in limits
    ):
        size = "2**63"
    else:
        return ""
    above = any(
        isinstance(limit, Interval) and limit.low is not None for limit in limits
    )
    bound = f"below {size}" if above else f"between -{size} and {size}"
    return f"{_MARKS[0]}{joint} {bound}{_MARKS[1]}"


def accepted_by(accepted: str, value) -> str:
    """Return the values that a rule accepts, in the words of a message.

    How large whole numbers may be is of interest only to who has passed a large one.

    Parameters
    ----------
    accepted : str
        Description of the rule.
    value : object
        Value that it refused.

    Returns
    -------
    str
        Description with or without the bound of the size.
    """
    entries = np.ravel(value) if isinstance(value, np.ndarray) else value
    if not isinstance(entries, np.ndarray | list | tuple):
        entries = [value]
    large = any(is_integer(each) and abs(int(each)) >= 2**31 for each in entries)
    return _MARKED.sub(r"\1" if large else "", accepted)


def _union(arguments) -> _Rule:
    rules = [_rule(argument) for argument in arguments]
    # "None" reads better as the last choice.
    rules.sort(key=lambda rule: rule[1] == "None")
    *words, last = [accepted for _, accepted in rules]
    return (
        lambda value: any(accepts(value) for accepts, _ in rules),
        f"{', '.join(words)} or {last}",
    )


def _literal(choices) -> _Rule:
    *words, last = map(repr, choices)
    kinds = tuple(type(choice) for choice in choices)
    # The type comes first: 1 equals True and 1.0, and arrays compare to arrays.
    return (
        lambda value: (
            isinstance(value, kinds)
            and (bool in kinds or not isinstance(value, bool))
            and value in choices
        ),
        f"{', '.join(words)} or {last}" if words else last,
    )


def _sequence(arguments) -> _Rule:
    length = None
    if arguments and arguments[-1] is not Ellipsis and len(arguments) > 1:
        length = len(arguments)
    if not arguments:
        return _is_sequence, "a sequence"
    if length is not None and len(set(arguments)) > 1:
        return _entries_of(arguments)
    accepts, accepted = _rule(arguments[0])
    count = "a sequence" if length is None else f"a sequence of {length} values"
    return (
        lambda value: (
            _is_sequence(value)
            and (length is None or len(value) == length)
            and (len(value) > 0 or np.ndim(value) == 1)
            and all(accepts(entry) for entry in value)
        ),
        f"{count}, each {accepted}",
    )


def _entries_of(arguments) -> _Rule:
    """Return the rule of tuples whose entries differ in kind."""
    rules = [_rule(argument) for argument in arguments]
    return (
        lambda value: (
            _is_sequence(value)
            and len(value) == len(rules)
            and all(accepts(entry) for (accepts, _), entry in zip(rules, value))
        ),
        f"a sequence of ({', '.join(accepted for _, accepted in rules)})",
    )


_SIMPLE: dict[Any, _Rule] = {
    Any: (lambda value: True, "anything"),
    float: (_is_number, "a number"),
    NumberOrNaN: (
        lambda value: _is_number(value) or isinstance(value, float | np.floating),
        "a number or NaN",
    ),
    int: (is_integer, "a whole number"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    str: (lambda value: isinstance(value, str), "a string"),
    np.ndarray: (_is_array_of_numbers, "an array of numbers"),
    npt.ArrayLike: (_is_sequence, "array-like"),
    type(None): (lambda value: value is None, "None"),
    Callable: (callable, "a function"),
}

_COMPOSED: dict[Any, Callable[[tuple], _Rule]] = {
    Annotated: _annotated,
    Literal: _literal,
    typing.Union: _union,
    types.UnionType: _union,
    Callable: lambda arguments: _SIMPLE[Callable],
    tuple: _sequence,
    list: _sequence,
}


# Documentation ----------------------------------------------------------------------

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_DEFAULT = re.compile(r"default=.*$", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


class _CompletedDocstring:
    """Docstring of a class with what those of its bases say of inherited parameters.

    Put together when it is read: few are, and importing the package would take longer.
    """

    def __init__(self, doc):
        self.own = self.doc = doc
        self.complete = False

    def __get__(self, instance, cls):
        owner = next(c for c in cls.__mro__ if vars(c).get("__doc__") is self)
        if not self.complete:
            self.complete = True
            names = list(inspect.signature(owner.__init__).parameters)
            for base in owner.__mro__[1:]:
                # What a base inherits itself may be another base's to say.
                own = vars(base).get("__doc__")
                own = getattr(own, "own", own)
                if "__dataclass_fields__" in vars(base) and own:
                    changed = _new_defaults(owner, base)
                    self.doc = _merged_doc(self.doc, own, names, changed)
        return self.doc


def _sections(doc) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by their headings, in order."""
    parts = _HEADING.split(inspect.cleandoc(doc) + "\n")
    sections = {"": parts[0]}
    sections.update(zip(parts[1::2], parts[2::2]))
    return sections


def _entries(text) -> dict[str, str]:
    """Return the parameter entries of a section by name."""
    blocks = [block.rstrip() for block in _ENTRY.split(text) if block.strip()]
    return {block.split(" :", 1)[0]: block for block in blocks}


def _new_defaults(cls, base) -> dict[str, str]:
    """Return the defaults that a class changes, as docstrings write them."""
    inherited = _fields_of(base)
    return {
        name: repr(f.default).replace("'", '"')
        for name, f in _fields_of(cls).items()
        if name in inherited and f.default != inherited[name].default
    }


def _merged_doc(doc, base_doc, names, changed) -> str:
    """Return a docstring with the entries that only the base class has.

    Parameters come in the order of ``names``, which is that of the signature, and with
    the defaults that the class has ``changed``.
    """
    sections, inherited = _sections(doc), _sections(base_doc)
    for heading in ("Parameters", "Attributes"):
        if heading not in inherited:
            continue
        entries = _entries(sections.get(heading, ""))
        for name, block in _entries(inherited[heading]).items():
            if name in changed:
                block = _DEFAULT.sub(f"default={changed[name]}", block, count=1)
            entries.setdefault(name, block)
        if heading == "Parameters":
            places = {name: place for place, name in enumerate(names)}
            last = len(places)
            entries = dict(
                sorted(entries.items(), key=lambda e: places.get(e[0], last))
            )
        sections[heading] = "\n".join(entries.values())
    order = ["", "Parameters", "Attributes"]
    order += [heading for heading in sections if heading not in order]
    texts = []
    for heading in order:
        if heading in sections:
            title = f"{heading}\n{'-' * len(heading)}\n" if heading else ""
            texts.append((title + sections[heading]).rstrip())
    return "\n\n".join(texts) + "\n"
