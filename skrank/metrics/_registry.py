"""Measures by name: ``ndcg@10``, ``map``, ``rbp(p=0.8)``, ``P(rel=2)@5``."""

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, NamedTuple

from skrank._core._messages import shown
from skrank._core._registry import aliases, by_short_name
from skrank.metrics._base import BaseMeasure
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
_DCG_FORMS = {"log2": "linear", "exp-log2": "exp2"}

_NAME = re.compile(
    r"""\s* (?P<family> [A-Za-z_][\w]*? ) \s*
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
    except (ValueError, SyntaxError):
        return text.strip()


def _parse_options(text, name):
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
    match = _NAME.fullmatch(own_name(name))
    names = measure_names()
    family = "" if match is None else match["family"].lower()
    family = names.aliases.get(family, family)
    head, at, cut_off = name.partition("@")
    if match is None and at and _NAME.fullmatch(head) and not cut_off.strip().isdigit():
        raise ValueError(
            f"measure {shown(name)} must have a whole number after @, as in 'ndcg@10', "
            f"got {shown(cut_off)}"
        )
    if match is None or family not in names.measures:
        raise ValueError(
            f"unknown measure {shown(name)}; known are "
            f"{', '.join(known_measures())}, each with an optional cut-off and "
            "options, as in 'ndcg@10' or 'rbp(p=0.8)'"
        )
    options = _parse_options(match["options"] or "", name)
    if match["k"]:
        if "k" in options:
            raise ValueError(f"measure {shown(name)} has two cut-offs")
        options["k"] = int(match["k"])
    measure_class = names.measures[family]
    accepted = inspect.signature(measure_class).parameters
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
MeasureLike = Annotated[str, _NamesMeasure()] | BaseMeasure


def get_measure(measure: str | BaseMeasure, preset: str | None = None) -> BaseMeasure:
    """Return a measure from its name.

    Parameters
    ----------
    measure : str or BaseMeasure
        A name such as ``"ndcg@10"``, ``"map"``, ``"err@20"``, ``"p@5"``,
        ``"rbp(p=0.8)"``; trec_eval's spelling, such as ``"ndcg_cut_10"`` or ``"P_5"``,
        which leaves the conventions to ``preset``; or a measure, which is returned as
        it is.
    preset : str, default=None
        Conventions for what the name leaves open, a key of `PRESETS`.

    Returns
    -------
    BaseMeasure
        A new measure, or the given one.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known ones.
    TypeError
        If ``measure`` is neither a name nor a measure.

    Examples
    --------
    >>> from skrank.metrics import get_measure
    >>> get_measure("nDCG@5")
    NDCG(k=5)
    >>> get_measure("ndcg@5", preset="trec_eval").gain
    'linear'
    """
    if isinstance(measure, BaseMeasure):
        if preset is not None:
            raise ValueError(
                "preset applies to names of measures only; set the options of "
                f"{measure!r} directly"
            )
        return measure
    if not isinstance(measure, str):
        raise TypeError(
            "measure must be a name such as 'ndcg@10' or a measure object, "
            f"got {type(measure).__name__}"
        )
    measure_class, options = parse_measure(measure)
    conventions = preset_options(preset, measure_class)
    return measure_class(**{**conventions, **options})


def __getattr__(name):
    if name == "MEASURES":
        return measure_names().measures
    if name == "ALIASES":
        return measure_names().aliases
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
