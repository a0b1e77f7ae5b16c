"""Measures by name, ``ndcg@10`` or ``P(rel=2)@5``, and from functions."""

import ast
import difflib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, NamedTuple

from skrank._core._messages import shown
from skrank._core._registry import aliases, by_short_name
from skrank.metrics._base import BaseMeasure
from skrank.metrics._function_measure import FunctionMeasure, MetricFunction
from skrank.metrics._presets import preset_options
from skrank.metrics._trec_names import own_name


class Names(NamedTuple):
    """Names of measures: the classes by short name, and further spellings."""

    measures: dict[str, type[BaseMeasure]]
    aliases: dict[str, str]


@cache
def measure_names() -> Names:
    """Return the names that the public measure classes state."""
    # The package lists its classes only after it has imported this module.
    measures = by_short_name("skrank.metrics", BaseMeasure)
    return Names(measures, aliases(measures))


_OPTION_ALIASES = {"rel": "relevance_level"}
# What ranx calls measures that differ from those of the same family by an option.
_WITH_OPTIONS = {
    "ndcg_burges": ("ndcg", {"gain": "exp2"}),
    "dcg_burges": ("dcg", {"gain": "exp2"}),
}
# The end of a name of ranx, such as map@5-l2, that tells the lowest relevant grade.
_LEVEL = re.compile(r"(?P<rest>.*?)-l(?P<level>\d+)\s*", re.IGNORECASE | re.DOTALL)
# Persistence as ranx writes it; "rbp.0" and "rbp.1" mean something to trec_eval.
_PERSISTENCE = re.compile(r"\s*rbp\.(?![01]\s*$)(?P<digits>\d+)\s*", re.IGNORECASE)
_DCG_FORMS = {"log2": "linear", "exp-log2": "exp2"}

_NAME = re.compile(
    r"""\s* (?P<family> [A-Za-z_][\w-]*? ) \s*
    (?: \( (?P<options> [^()]* ) \) )? \s*
    (?: @ \s* (?P<k> \d+ ) )? \s*""",
    re.VERBOSE,
)


def known_measures() -> list[str]:
    """List the short names that `get_measure` takes, without cut-offs and options.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> from skrank.metrics import known_measures
    >>> "ndcg" in known_measures()
    True
    """
    return sorted(measure_names().measures)


def _literal(text):
    """A Python literal, or the text itself: ``gain=linear`` needs no quotes."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # of deep nesting
        return text.strip()


def parse_options(text: str, name: str) -> dict:
    """Return the options between the brackets of the name of a measure."""
    options = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = item.partition("=")
        if not equals:
            raise ValueError(
                f"options of measure {name!r} must read name=value, got {shown(item)}"
            )
        key = key.strip()
        key = _OPTION_ALIASES.get(key, key)
        if key in options or {key, *options} >= {"dcg", "gain"}:
            raise ValueError(f"measure {shown(name)} has the option {key!r} twice")
        options[key] = _literal(value.strip())
    if "dcg" in options:  # ir_measures' name of the gain
        form = options.pop("dcg")
        if form not in _DCG_FORMS:
            raise ValueError(
                f"dcg must be one of {list(_DCG_FORMS)}, got {shown(form)}"
            )
        options["gain"] = _DCG_FORMS[form]
    return options


def _suggestion(name):
    """What the user may have meant by an unknown name, in brackets."""
    parts = re.match(r"\s*([A-Za-z_-]+)(.*)", name, re.DOTALL)
    if parts is None:
        return ""
    names = measure_names()
    known = [*names.measures, *names.aliases, *_WITH_OPTIONS]
    family = parts[1].lower().replace("-", "_")
    close = difflib.get_close_matches(family, known, n=1)
    if not close:
        return ""
    rest = re.fullmatch(r"\s*(?:\([^()]*\))?\s*@\s*\d+\s*", parts[2])
    meant = close[0] + ("" if rest is None else parts[2].strip())
    return "" if meant == name else f" (did you mean {meant!r}?)"


def _without_ranx(name: str) -> tuple[str, dict]:
    """Return a name without the level that ranx writes, and the option that it is."""
    options = {}
    level = _LEVEL.fullmatch(name)
    if level is not None:
        options["relevance_level"] = int(level["level"])
        if not options["relevance_level"]:
            raise ValueError(
                f"measure {shown(name)}: the level after -l must be at least 1, got 0"
            )
        name = level["rest"]
    persistence = _PERSISTENCE.fullmatch(name)
    if persistence is not None:
        raise ValueError(
            f"measure {shown(name)} of ranx adds up grades, and that of this package "
            f"counts relevant documents; say 'rbp(p=0.{persistence['digits']})', which "
            "is the same where no grade is above 1"
        )
    return name, options


def is_of_ranx(name: str) -> bool:
    """Return whether ranx alone writes a name like this, as ``"map@5-l2"``.

    Parameters
    ----------
    name : str
        Name of a measure.

    Returns
    -------
    bool
        Also True if there is no such measure.
    """
    family = re.split(r"[@(]", name)[0].strip().lower()
    spelt = _LEVEL.fullmatch(name) or _PERSISTENCE.fullmatch(name)
    return spelt is not None or family in _WITH_OPTIONS


def _refuse_level(name: str, family: str) -> None:
    """Raise an error about a relevance level of a measure that has none."""
    advice = f", which {family} does not have"
    if family in ("ndcg", "dcg"):
        advice = (
            ", which ranx takes to leave out lower grades; say so by the gain, as in "
            f"{family.upper()}(gain={{0: 0, 1: 0, 2: 2, 3: 3}}) for linear gains from "
            "grade 2 on"
        )
    raise ValueError(f"measure {shown(name)} ends in a relevance level{advice}")


def name_if_foreign(measure: object) -> object:
    """Return the name of a measure object of ir_measures, all else as it is."""
    if not any(
        base.__name__ == "Measure" and base.__module__.startswith("ir_measures.")
        for base in type(measure).__mro__
    ):
        return measure
    name, given = str(measure), getattr(measure, "params", {})
    if not name.startswith("RBP"):
        return name
    if "rel" not in given:
        raise ValueError(
            f"measure {name} of ir_measures adds up grades, and that of this package "
            "counts relevant documents, as RBP(rel=1) of ir_measures does"
        )
    # The defaults of p differ.
    options = f"RBP(p={given.get('p', 0.8)},rel={given['rel']})"
    return options + (f"@{given['cutoff']}" if "cutoff" in given else "")


def parse_measure(name: str) -> tuple[type[BaseMeasure], dict]:
    """Return the class and the options that a name stands for.

    Parameters
    ----------
    name : str
        ``family[(option=value, ...)][@k]``, or as trec_eval writes it, such as
        ``"ndcg_cut_10"``; case does not matter.

    Returns
    -------
    measure_class : type
        Subclass of `BaseMeasure`.
    options : dict
        Arguments of its constructor.

    Raises
    ------
    ValueError
        If the name is unknown or the measure has no such option.
    """
    own, told = _without_ranx(name)
    match = _NAME.fullmatch(own_name(own))
    names = measure_names()
    family = "" if match is None else match["family"].lower().replace("-", "_")
    family, fixed = _WITH_OPTIONS.get(family, (family, {}))
    family = names.aliases.get(family, family)
    head, at, cut_off = own.partition("@")
    if match is None and at and _NAME.fullmatch(head) and not cut_off.strip().isdigit():
        raise ValueError(
            f"measure {shown(name)} must have a whole number after @, as in 'ndcg@10', "
            f"got {shown(cut_off)}"
        )
    if family == "hits":
        raise ValueError(
            f"measure {shown(name)}: ranx counts relevant documents, which is k times "
            "'p@k'; trec_eval's 'num_rel_ret' is their sum over the queries"
        )
    if match is None or family not in names.measures:
        raise ValueError(
            f"unknown measure {shown(name)}{_suggestion(name)}; known are "
            f"{', '.join(known_measures())}, each with an optional cut-off and "
            "options, as in 'ndcg@10' or 'rbp(p=0.8)'"
        )
    options = parse_options(match["options"] or "", name)
    if not fixed.keys().isdisjoint(options):
        raise ValueError(f"measure {shown(name)} has the option 'gain' twice")
    options |= fixed
    if match["k"]:
        if "k" in options:
            raise ValueError(f"measure {shown(name)} has two cut-offs")
        options["k"] = int(match["k"])
    measure_class = names.measures[family]
    accepted = inspect.signature(measure_class).parameters
    if "relevance_level" in told and "relevance_level" not in accepted:
        _refuse_level(name, family)
    if not told.keys().isdisjoint(options):
        raise ValueError(f"measure {shown(name)} has two relevance levels")
    options |= told
    for key in options:
        if key not in accepted:
            what = "cut-off @k" if key == "k" else f"option {key!r}"
            raise ValueError(
                f"measure {name!r} takes no {what}; {family} takes "
                f"{', '.join(accepted)}"
            )
    return measure_class, options


@dataclass(frozen=True)
class _NamesMeasure:
    """Strings that name a measure, with options that it takes."""

    def __contains__(self, value):
        try:
            get_measure(value)._check_parameters()
        except (TypeError, ValueError):
            return False
        return True

    def __str__(self):
        return f"such as 'ndcg@10' that names one of {', '.join(known_measures())}"


#: A measure, or the name of one.
NamedMeasure = Annotated[str, _NamesMeasure()] | BaseMeasure
#: A measure, the name of one, or a function that computes one.
MeasureLike = NamedMeasure | MetricFunction


def get_measure(
    measure: str | BaseMeasure | Callable, preset: str | None = None
) -> BaseMeasure:
    """Return a measure from its name, or from a function that computes it.

    Parameters
    ----------
    measure : str, BaseMeasure or callable
        A name such as ``"ndcg@10"``, ``"map"``, ``"err@20"``, ``"p@5"``,
        ``"rbp(p=0.8)"``; trec_eval's spelling, such as ``"ndcg_cut_10"`` or ``"P_5"``,
        which leaves the conventions to ``preset``; a function ``f(y_true, y_score)`` of
        one query, which becomes a `FunctionMeasure`, or one of this package, such as
        `ndcg_score`; a measure of ir_measures, which stands for its name; or a measure,
        which is returned as it is. Names of ranx that mean the same are known as well:
        ``"hit_rate@5"``, ``"ndcg_burges@10"``, and ``"map@5-l2"`` where documents are
        relevant from grade 2 on.
    preset : str, default=None
        Conventions for what the name leaves open, a key of `PRESETS`.

    Returns
    -------
    BaseMeasure
        A new measure, or the given one.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known ones and suggests one.
    TypeError
        If ``measure`` is neither a name nor a measure nor a function.

    Examples
    --------
    >>> from skrank.metrics import get_measure
    >>> get_measure("nDCG@5")
    NDCG(k=5)
    >>> get_measure("ndcg@5", preset="trec_eval").gain
    'linear'
    >>> def top_grade(y_true, y_score):
    ...     return y_true[y_score.argmax()]
    >>> get_measure(top_grade).name
    'top_grade'
    """
    if isinstance(measure, BaseMeasure):
        if preset is not None:
            raise ValueError(
                "preset applies to names of measures only; set the options of "
                f"{measure!r} directly"
            )
        return measure
    if isinstance(measure, type) and issubclass(measure, BaseMeasure):
        raise TypeError(
            f"measure must be a measure object, got the class {measure.__name__}; "
            f"construct one, as in {measure.__name__}()"
        )
    name = name_if_foreign(measure)
    if isinstance(name, str):
        try:
            measure_class, options = parse_measure(name)
        except ValueError as error:
            if isinstance(measure, str):
                raise
            raise ValueError(
                f"{error}; skrank.compat.ir_measures_provider() returns a provider "
                "that computes more measures of ir_measures"
            ) from None
        return measure_class(**{**preset_options(preset, measure_class), **options})
    if not callable(measure) or isinstance(measure, type):
        raise TypeError(
            "measure must be a name such as 'ndcg@10', a measure object or a function "
            f"f(y_true, y_score), got {shown(measure)}"
        )
    return measure_of_function(measure, preset)


def measure_of_function(
    function: Callable, preset: str | None = None, **kwargs
) -> BaseMeasure:
    """Return the measure that a function computes, with arguments of the function.

    Parameters
    ----------
    function : callable
        Function of one query, or one of this package, which stands for its class.
    preset : str, default=None
        Conventions, for functions of this package only.
    **kwargs : dict
        Keyword arguments of the function.

    Returns
    -------
    BaseMeasure
        A `FunctionMeasure`, or a measure of the class that a function of this package
        stands for.

    Raises
    ------
    ValueError
        If there is a preset for a function of somebody else's.
    """
    measure_class = getattr(function, "measure_class", None)
    if measure_class is not None:
        return measure_class(**{**preset_options(preset, measure_class), **kwargs})
    if preset is not None:
        raise ValueError(
            f"preset={preset!r} needs a measure by name, got a function; pass the "
            "conventions to the function as keyword arguments"
        )
    return FunctionMeasure(function, kwargs=kwargs or None)


def measure_at_worst(measure: MeasureLike) -> BaseMeasure:
    """Return a measure, by which nothing is won with equal scores.

    A function may break ties by the order of the rows: of documents of equal score it
    sees the least relevant one first, unless it is one of the scores themselves.
    """
    chosen = get_measure(measure)
    if isinstance(chosen, FunctionMeasure) and chosen.ties == "function":
        return chosen._with(ties="worst") if chosen.has_swap_deltas else chosen
    return chosen


def __getattr__(name):
    if name == "MEASURES":
        return measure_names().measures
    if name == "ALIASES":
        return measure_names().aliases
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
