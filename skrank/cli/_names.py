"""Rankers, their parts and their parameters by name."""

import ast
import difflib
import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from sklearn.base import RegressorMixin, clone

from skrank._core._messages import shown, words_of
from skrank.aggregation import BaseAggregator
from skrank.cli._errors import CommandError
from skrank.cli._measures import is_own, parse_measure
from skrank.cli._objects import load_class, load_object, names_own
from skrank.discovery import Kind, all_objects
from skrank.export._allowed import SKLEARN_CLASSES, class_of_name
from skrank.metrics import BaseMeasure

_Value = TypeVar("_Value")

# Kinds of the objects that these parameters hold.
_PARTS: dict[str, Kind] = {
    "aggregator": "aggregator",
    "energy": "energy",
    "initial": "aggregator",
    "loss": "loss",
    "ranker": "ranker",
    "solver": "solver",
}
# Parameters that hold measures.
MEASURES = ("measure", "validation_measure", "utility")


def rankers() -> dict[str, type]:
    """Return the rankers that can be constructed from their name alone."""
    return _constructible(all_objects("ranker").values())


def _constructible(classes: Iterable[type]) -> dict[str, type]:
    """Classes by name, without those that cannot do without arguments."""
    return {
        cls.__name__: cls
        for cls in sorted(classes, key=lambda cls: cls.__name__)
        if not _required_parameters(cls)
    }


def _required_parameters(cls):
    parameters = inspect.signature(cls).parameters.values()
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in parameters if p.default is p.empty and p.kind not in several]


def approach(cls: type) -> str:
    """Return "pointwise", "pairwise" or "listwise"; "any" for a free composition."""
    value = getattr(cls, "approach", None)
    return value if isinstance(value, str) else "any"


def summary(cls: type) -> str:
    """Return the first line of a docstring without the name of its class."""
    # Python -OO keeps no docstrings.
    line = (inspect.getdoc(cls) or "").split("\n", 1)[0]
    line = line.removeprefix(f"{cls.__name__}: ")
    return line[:1].upper() + line[1:]


def find(name: str, known: Mapping[str, _Value], what: str) -> _Value:
    """Return the entry of a name, in upper or lower case, or of a short name.

    Parameters
    ----------
    name : str
        Name as the user wrote it; ``module:Name`` is a class of the user's own.
    known : mapping of str to class
        Classes by name; their short names are accepted as well.
    what : str
        Kind of the entries, for error messages.

    Returns
    -------
    class

    Raises
    ------
    CommandError
        If the name is unknown; the message suggests which one was meant.
    """
    if names_own(name):
        own: Any = load_class(name, what)
        return own
    if name in known:
        return known[name]
    lower = {}
    for key, value in known.items():
        for each in (*_other_names(value), key):
            lower[each.lower()] = value
    if name.lower() in lower:
        return lower[name.lower()]
    raise CommandError(f"unknown {what} {shown(name)}{_suggestion(name, known)}")


def _other_names(cls) -> list[str]:
    """Short name and aliases of a class; those that it inherits are not its own."""
    own = vars(cls)
    return [name for name in (own.get("short_name"), *own.get("aliases", ())) if name]


def _suggestion(name, known):
    by_lower = {key.lower(): key for key in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    meant = f"; did you mean {by_lower[close[0]]!r}?" if close else "."
    return f"{meant} There are: {', '.join(known)}"


def make_ranker(
    name: str,
    settings: Sequence[str],
    seed: int | None = None,
    jobs: int | None = None,
) -> Any:
    """Construct a ranker from its name and ``--set`` arguments.

    Parameters
    ----------
    name : str
        Name of the class.
    settings : sequence of str
        Such as ``"alpha=0.1"``.
    seed : int, default=None
        ``random_state``, where the ranker has one.
    jobs : int, default=None
        ``n_jobs``, where the ranker has one.

    Returns
    -------
    BaseRanker
        The ranker, not fitted.

    Raises
    ------
    CommandError
        If a name is unknown.
    """
    ranker = make_object(name, rankers(), "ranker")
    params = _parse_settings(settings)
    _set_params(ranker, params)
    general = {"random_state": seed, "n_jobs": jobs}
    own = ranker.get_params(deep=False)
    if seed is not None:
        _refuse_both("--seed", "random_state", params)
    ranker.set_params(
        **{
            key: value
            for key, value in general.items()
            if value is not None and key in own and key not in params
        }
    )
    return ranker


def make_object(name: str, known: Mapping[str, type], what: str) -> Any:
    """Return an object of the class of a name, with its defaults.

    Parameters
    ----------
    name : str
        As for `find`.
    known : mapping of str to class
        Classes by name.
    what : str
        Kind of the classes, for error messages.

    Returns
    -------
    object

    Raises
    ------
    CommandError
        If the name is unknown, or a class of the user's own needs arguments or is no
        estimator.
    """
    cls = find(name, known, what)
    required = [parameter.name for parameter in _required_parameters(cls)]
    if required:
        raise CommandError(
            f"{what} {shown(name)} cannot be made without arguments: give "
            f"{', '.join(required)} a default"
        )
    return _made(cls, name, what) if names_own(name) else cls()


def _made(cls, name, what):
    """Return an object of a class of the user's own that can be set and cloned."""
    try:
        made = cls()
    except (TypeError, ValueError) as error:
        raise CommandError(
            f"{what} {shown(name)} cannot be made: {words_of(error)}"
        ) from error
    if not isinstance(made, cls):
        raise CommandError(
            f"{what} {shown(name)} must make objects of its own class, made "
            f"{shown(made)}"
        )
    try:
        params = made.get_params(deep=False)
        if not isinstance(params, dict):
            raise TypeError(f"get_params returned {shown(params)}")
        clone(made)  # which each fold and each choice of parameters begins with
    except (TypeError, AttributeError, RuntimeError) as error:
        raise CommandError(
            f"{what} {shown(name)} cannot be cloned; its constructor must store each "
            f"argument under its own name and do nothing else: {words_of(error)}"
        ) from error
    return made


def make_with(name: str, params: Mapping[str, Any]) -> Any:
    """Construct a ranker from its name and its parameters.

    Parameters
    ----------
    name : str
        Name of the class, or ``module:Name``.
    params : mapping of str to object
        Values, of which `parse_value` has read those that were text.

    Returns
    -------
    BaseRanker
        The ranker, not fitted.

    Raises
    ------
    CommandError
        If a name is unknown.
    """
    ranker = make_object(name, rankers(), "ranker")
    _set_params(ranker, params)
    return ranker


class _OwnMeasure:
    """What stands in texts for a measure of the user's own."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return self.name


def with_named_measures(ranker: Any) -> Any:
    """Return a copy to show, in which measures of the user's own are their names.

    Parameters
    ----------
    ranker : estimator
        Ranker, left unchanged.

    Returns
    -------
    estimator
        It is good for nothing but its text.
    """
    shown_one = clone(ranker)
    for name, value in ranker.get_params().items():
        if name.rpartition("__")[2] in MEASURES:
            several = value if isinstance(value, list) else [value]
            if any(map(_is_own_measure, several)):
                named = [
                    _OwnMeasure(m.name) if _is_own_measure(m) else m for m in several
                ]
                given = named if isinstance(value, list) else named[0]
                shown_one.set_params(**{name: given})
    return shown_one


def _is_own_measure(value) -> bool:
    return isinstance(value, BaseMeasure) and is_own(value.name)


def aggregators() -> dict[str, type[BaseAggregator]]:
    """Return the aggregators by name."""
    return _constructible(all_objects("aggregator").values())


def make_aggregator(
    name: str, settings: Sequence[str], jobs: int | None = None
) -> BaseAggregator:
    """Construct an aggregator from its name and ``--set`` arguments.

    Parameters
    ----------
    name : str
        Name, short name or alias of the class.
    settings : sequence of str
        Such as ``"k=10"``.
    jobs : int, default=None
        ``n_jobs``.

    Returns
    -------
    BaseAggregator
        The aggregator, not fitted.

    Raises
    ------
    CommandError
        If a name is unknown.
    """
    aggregator = make_object(name, aggregators(), "method")
    if not isinstance(aggregator, BaseAggregator):
        raise CommandError(
            f"method {shown(name)} must be a class derived from "
            f"skrank.aggregation.BaseAggregator, got {shown(type(aggregator))}"
        )
    set_all(aggregator, settings, jobs)
    return aggregator


def set_all(estimator: Any, settings: Sequence[str], jobs: int | None) -> None:
    """Set parameters of an estimator by ``--set`` arguments, and its threads.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    settings : sequence of str
        Such as ``"k=10"``.
    jobs : int or None
        ``n_jobs``, for which no setting may stand then.

    Raises
    ------
    CommandError
        If a parameter is unknown, or given twice.
    """
    params = _parse_settings(settings)
    _set_params(estimator, params)
    if jobs is not None:
        _refuse_both("--jobs", "n_jobs", params)
        estimator.set_params(n_jobs=jobs)


def _refuse_both(option, name, params):
    if name in params:
        raise CommandError(f"{option} and --set {name} exclude each other")


def configured(estimator: Any, settings: Sequence[str], option: str = "--set") -> Any:
    """Set parameters of an estimator by ``--set`` arguments, and return it.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    settings : sequence of str
        Such as ``"k1=1.2"``.
    option : str, default="--set"
        Option that they were given by, for error messages.

    Returns
    -------
    estimator

    Raises
    ------
    CommandError
        If a parameter is unknown, or given twice.
    """
    _set_params(estimator, _parse_settings(settings, option))
    return estimator


def _parse_settings(settings, option="--set"):
    params = {}
    for setting in settings:
        name, value = _parse_setting(setting, option)
        if name in params:
            raise CommandError(f"{option} {name} is given twice")
        params[name] = value
    return params


def _parse_setting(setting, option):
    name, equals, text = setting.partition("=")
    name, text = name.strip(), text.strip()
    if not equals or not name:
        raise CommandError(f"{option} takes PARAM=VALUE, got {shown(setting)}")
    return name, parse_value(text)


def parse_value(text: str) -> Any:
    """Return the value that a text stands for: a literal of Python or JSON, or a word.

    Parameters
    ----------
    text : str
        Such as ``"0.1"``, ``"[32, 16]"``, ``"null"`` or ``"ListNetLoss"``.

    Returns
    -------
    object
        The value; a word is a text that `make_ranker` and `make_with` may read as the
        name of a part.
    """
    if text in _OF_JSON:
        return _OF_JSON[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _Word(text)


# Python writes lists as JSON does, but not these.
_OF_JSON = {"true": True, "false": False, "null": None}


class _Word(str):
    """A value that is no Python literal: a choice, or the name of a part."""


def _value_of(word, owner, parameter, *, has_own_settings):
    """Object that a word stands for as a parameter: itself, or a part that it names."""
    # A choice that the owner offers may mean more than the class of that name: "sgd" of
    # some rankers is the SGD of a paper, with its learning rate. Only an object has
    # parameters of its own that can be set.
    if not has_own_settings and word in _choices(_hints(owner).get(parameter)):
        return str(word)
    if parameter in MEASURES and is_own(word):
        return parse_measure(word)
    if names_own(word):
        if parameter in _PARTS or parameter == "estimator":
            return make_object(word, {}, parameter)
        return load_object(word, parameter)
    if parameter in _PARTS:
        classes = all_objects(_PARTS[parameter]).values()
    elif parameter == "estimator":
        allowed = [class_of_name(name) for name in SKLEARN_CLASSES]
        classes = [cls for cls in allowed if cls and issubclass(cls, RegressorMixin)]
        classes += all_objects("ranker").values()
    else:
        return str(word)
    return make_object(word, _constructible(classes), parameter)


def _hints(owner):
    try:
        return typing.get_type_hints(type(owner))
    except (NameError, TypeError):  # names that a user's class has for type checkers
        return {}


def _choices(hint) -> list[Any]:
    """Values that an annotation names one by one."""
    if typing.get_origin(hint) is Literal:
        return list(typing.get_args(hint))
    return [value for part in typing.get_args(hint) for value in _choices(part)]


def _set_params(ranker, params):
    """Set parameters, outer ones first, because they may name the owner of others."""
    for name in sorted(params, key=lambda name: name.count("__")):
        owner, value = _owner(ranker, name), params[name]
        if isinstance(value, _Word):
            nested = any(other.startswith(f"{name}__") for other in params)
            parameter = name.rpartition("__")[2]
            value = _value_of(value, owner, parameter, has_own_settings=nested)
        ranker.set_params(**{name: value})


def _owner(ranker, name):
    """Object that has a parameter; the error says which part of a name is wrong."""
    owner = ranker
    *path, _ = name.split("__")
    for i, part in enumerate(path):
        _check_known(owner, part)
        owner = getattr(owner, part)
        if not hasattr(owner, "get_params"):
            outer = "__".join(path[: i + 1])
            raise CommandError(
                f"parameter {name}: {outer} is {shown(owner)}, which has no "
                f"parameters; name it as well, as in {outer}={_example(part)}"
            )
    _check_known(owner, name.rpartition("__")[2])
    return owner


def _check_known(owner, name):
    known = owner.get_params(deep=False)
    if name not in known:
        raise CommandError(
            f"{type(owner).__name__} has no parameter {shown(name)}"
            f"{_suggestion(name, known)}"
        )


def _example(part):
    examples = {"solver": "Adam", "energy": "MLPEnergy", "loss": "ListNetLoss"}
    return examples.get(part, "NAME")
