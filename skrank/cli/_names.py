"""Rankers, their parts and their parameters by name."""

import ast
import difflib
import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from sklearn.base import RegressorMixin

from skrank._core._messages import shown
from skrank.aggregation import BaseAggregator
from skrank.cli._errors import CommandError
from skrank.discovery import Kind, all_objects
from skrank.export._allowed import SKLEARN_CLASSES, class_of_name

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
    return [p for p in parameters if p.default is p.empty]


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
        Name as the user wrote it.
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
    ranker = find(name, rankers(), "ranker")()
    params = _parse_settings(settings)
    _set_params(ranker, params)
    general = {"random_state": seed, "n_jobs": jobs}
    own = ranker.get_params(deep=False)
    if seed is not None and "random_state" in params:
        raise CommandError("--seed and --set random_state exclude each other")
    ranker.set_params(
        **{
            key: value
            for key, value in general.items()
            if value is not None and key in own and key not in params
        }
    )
    return ranker


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
    aggregator = find(name, aggregators(), "method")()
    params = _parse_settings(settings)
    _set_params(aggregator, params)
    if jobs is not None and "n_jobs" not in params:
        aggregator.set_params(n_jobs=jobs)
    return aggregator


def _parse_settings(settings):
    params = {}
    for name, value in map(_parse_setting, settings):
        if name in params:
            raise CommandError(f"--set {name} is given twice")
        params[name] = value
    return params


def _parse_setting(setting):
    name, equals, text = setting.partition("=")
    name, text = name.strip(), text.strip()
    if not equals or not name:
        raise CommandError(f"--set takes PARAM=VALUE, got {shown(setting)}")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, _Word(text)


class _Word(str):
    """A value that is no Python literal: a choice, or the name of a part."""


def _value_of(word, owner, parameter, *, has_own_settings):
    """Object that a word stands for as a parameter: itself, or a part that it names."""
    # A choice that the owner offers may mean more than the class of that name: "sgd" of
    # some rankers is the SGD of a paper, with its learning rate. Only an object has
    # parameters of its own that can be set.
    if not has_own_settings and word in _choices(_hints(owner).get(parameter)):
        return str(word)
    if parameter in _PARTS:
        classes = all_objects(_PARTS[parameter]).values()
    elif parameter == "estimator":
        allowed = [class_of_name(name) for name in SKLEARN_CLASSES]
        classes = [cls for cls in allowed if cls and issubclass(cls, RegressorMixin)]
    else:
        return str(word)
    return find(word, _constructible(classes), parameter)()


def _hints(owner):
    return typing.get_type_hints(type(owner))


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
                f"--set {name}: {outer} is {shown(owner)}, which has no parameters; "
                f"name it first, as in --set {outer}={_example(part)}"
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
