"""The measures of trec_eval by name, with their parameters.

`columns` turns names such as "P.5,10", "ndcg_cut_10" or "official" into `Column`
objects, one for each line of output.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skrank._core._parameters import Interval
from skrank.metrics import _trec_preferences as of_preferences
from skrank.metrics import _trec_topic as of_topic

Format = Literal["qrels", "qrels_jg", "prefs", "qrels_prefs"]
Summary = Literal["mean", "sum", "geometric", "count", "runid", "none"]
Judgements = Literal["any", "qrels", "groups", "preferences"]

# What the formats of trec_eval's option -R hold.
FORMATS: dict[str, Judgements] = {
    "qrels": "qrels",
    "qrels_jg": "groups",
    "prefs": "preferences",
    "qrels_prefs": "preferences",
}

_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = tuple(i / 10 for i in range(11))
_FINITE = Interval(None)
_SHARE = Interval(0, 1)
_NOT_NEGATIVE = Interval(0)
_MULTIPLES = tuple(i / 5 for i in range(1, 11))


@dataclass(frozen=True)
class Family:
    """A measure of trec_eval with its parameters.

    ``kind`` tells how parameters are read and printed: one measure per rank cut-off
    ("cuts") or per number ("levels"); or a single measure with one number ("number"),
    one whole number ("whole"), a list of numbers ("numbers"), grade=gain pairs
    ("pairs"), or nothing ("none"). ``bounds`` holds the numbers that are accepted.
    ``judgements`` tells which form of judgements ``function`` takes.
    """

    function: Any
    kind: str = "none"
    default: Any = None
    summary: Summary = "mean"
    judgements: Judgements = "qrels"
    bounds: Interval = _FINITE


def _of_groups(function, kind="none", default=None, bounds=_FINITE):
    mean = of_topic.mean_over_groups(function)
    return Family(mean, kind, default, judgements="groups", bounds=bounds)


def _of_preferences(function, summary: Summary = "mean"):
    return Family(function, summary=summary, judgements="preferences")


FAMILIES: dict[str, Family] = {
    "runid": Family(None, summary="runid", judgements="any"),
    "num_q": Family(None, summary="count", judgements="any"),
    "num_ret": Family(of_topic.num_retrieved, summary="sum"),
    "num_rel": Family(of_topic.num_relevant, summary="sum"),
    "num_rel_ret": Family(of_topic.num_relevant_retrieved, summary="sum"),
    "map": Family(of_topic.average_precision),
    "gm_map": Family(of_topic.average_precision, summary="geometric"),
    "Rprec": Family(of_topic.r_precision, default=1.0),
    "bpref": Family(of_topic.bpref),
    "recip_rank": Family(of_topic.reciprocal_rank),
    "iprec_at_recall": Family(
        of_topic.interpolated_precision, "levels", _RECALLS, bounds=_SHARE
    ),
    "P": Family(of_topic.precision, "cuts", _CUTS),
    "relstring": Family(
        of_topic.relevance_string, "whole", 10, summary="none", bounds=_NOT_NEGATIVE
    ),
    "recall": Family(of_topic.recall, "cuts", _CUTS),
    "infAP": Family(of_topic.inferred_ap),
    "gm_bpref": Family(of_topic.bpref, summary="geometric"),
    "Rprec_mult": Family(
        of_topic.r_precision, "levels", _MULTIPLES, bounds=_NOT_NEGATIVE
    ),
    "utility": Family(of_topic.utility, "numbers", (1.0, -1.0, 0.0, 0.0)),
    "11pt_avg": Family(
        of_topic.mean_interpolated_precision, "numbers", _RECALLS, bounds=_SHARE
    ),
    "binG": Family(of_topic.binary_g),
    "G": Family(of_topic.graded_g, "pairs", {}),
    "ndcg": Family(of_topic.ndcg, "pairs", {}),
    "ndcg_rel": Family(of_topic.ndcg_rel, "pairs", {}),
    "Rndcg": Family(of_topic.r_ndcg, "pairs", {}),
    "ndcg_cut": Family(of_topic.ndcg_cut, "cuts", _CUTS),
    "map_cut": Family(of_topic.average_precision, "cuts", _CUTS),
    "relative_P": Family(of_topic.relative_precision, "cuts", _CUTS),
    "success": Family(of_topic.success, "cuts", (1, 5, 10)),
    "set_P": Family(of_topic.set_precision),
    "set_relative_P": Family(of_topic.set_relative_precision),
    "set_recall": Family(of_topic.set_recall),
    "set_map": Family(of_topic.set_map),
    "set_F": Family(of_topic.set_f, "number", 1.0, bounds=_NOT_NEGATIVE),
    "num_nonrel_judged_ret": Family(of_topic.num_nonrelevant_judged, summary="sum"),
    "rbp": Family(of_topic.rbp, "number", 0.9, bounds=_SHARE),
    "rbp_resid": Family(of_topic.rbp_residual),
    "unj": Family(of_topic.unjudged_share, "cuts", (5, 10, 20)),
    "prefs_num_prefs_poss": _of_preferences(
        of_preferences.number("possible", "all"), "sum"
    ),
    "prefs_num_prefs_ful": _of_preferences(
        of_preferences.number("fulfilled", "all"), "sum"
    ),
    "prefs_num_prefs_ful_ret": _of_preferences(
        of_preferences.number("fulfilled", "retrieved"), "sum"
    ),
    "prefs_simp": _of_preferences(of_preferences.simple("all")),
    "prefs_pair": _of_preferences(of_preferences.by_pair("all")),
    "prefs_avgjg": _of_preferences(of_preferences.by_group("all")),
    "prefs_avgjg_Rnonrel": _of_preferences(of_preferences.by_group_balanced("all")),
    "prefs_simp_ret": _of_preferences(of_preferences.simple("retrieved")),
    "prefs_pair_ret": _of_preferences(of_preferences.by_pair("retrieved")),
    "prefs_avgjg_ret": _of_preferences(of_preferences.by_group("retrieved")),
    "prefs_avgjg_Rnonrel_ret": _of_preferences(
        of_preferences.by_group_balanced("retrieved")
    ),
    "prefs_simp_imp": _of_preferences(of_preferences.simple("implied")),
    "prefs_pair_imp": _of_preferences(of_preferences.by_pair("implied")),
    "prefs_avgjg_imp": _of_preferences(of_preferences.by_group("implied")),
    "map_avgjg": _of_groups(of_topic.average_precision),
    "P_avgjg": _of_groups(of_topic.precision, "cuts", _CUTS),
    "Rprec_mult_avgjg": _of_groups(
        of_topic.r_precision, "levels", _MULTIPLES, _NOT_NEGATIVE
    ),
}


def _all_of(judgements):
    return tuple(n for n, f in FAMILIES.items() if f.judgements in ("any", judgements))


_OFFICIAL = tuple(FAMILIES)[: tuple(FAMILIES).index("P") + 1]
_ALL_PREFS = _all_of("preferences")
GROUPS: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "all_trec": _all_of("qrels"),
    "set": (
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_relative_P",
        "set_recall",
        "set_map",
        "set_F",
    ),
    "prefs": _ALL_PREFS[: _ALL_PREFS.index("prefs_avgjg") + 1],
    "all_prefs": _ALL_PREFS,
    "qrels_jg": _all_of("groups"),
}
# What "official" and "all" stand for, by the form of the judgements.
_OF_FORM = {
    "qrels": {"official": "official", "all": "all_trec"},
    "groups": {"official": "qrels_jg", "all": "qrels_jg"},
    "preferences": {"official": "prefs", "all": "all_prefs"},
}


@dataclass(frozen=True)
class Column:
    """One line of trec_eval's output: a family with one parameter."""

    name: str
    family: Family
    parameter: Any

    def of(self, topic):
        """Value of a topic."""
        return self.family.function(topic, self.parameter)


def columns(measures: str | Sequence[str], judgements: Judgements) -> list[Column]:
    """Return the columns that names ask for, in trec_eval's order, each once.

    Parameters
    ----------
    measures : str or sequence of str
        Names of measures and of groups of measures.
    judgements : {"qrels", "groups", "preferences"}
        Form of the judgements; measures that need another one are an error.

    Returns
    -------
    list of Column
    """
    specs = [measures] if isinstance(measures, str) else list(measures)
    specs = [_OF_FORM[judgements].get(spec, spec) for spec in specs]
    in_groups = [name for spec in specs for name in GROUPS.get(spec, ())]
    named = {_split(spec)[0] for spec in specs if spec not in GROUPS}
    # A measure named by itself replaces the default parameters it has in a group.
    specs = [spec for spec in specs if spec not in GROUPS]
    specs += [name for name in in_groups if name not in named]
    order = {name: i for i, name in enumerate(FAMILIES)}
    specs.sort(key=lambda spec: order[_split(spec)[0]])
    found = list({c.name: c for spec in specs for c in _columns_of(spec)}.values())
    for column in found:
        needed = column.family.judgements
        if needed not in ("any", judgements):
            formats = [repr(name) for name, form in FORMATS.items() if form == needed]
            raise ValueError(
                f"measure {column.name!r} needs judgements in the format "
                f"{' or '.join(formats)}"
            )
    return found


def _columns_of(spec):
    name, text = _split(spec)
    family = FAMILIES[name]
    if text is None:
        parameters = family.default
    else:
        parameters = _parse_parameters(family, text, spec)
    if family.kind == "cuts":
        return [Column(f"{name}_{k}", family, k) for k in parameters]
    if family.kind == "levels":
        return [Column(f"{name}_{x:.2f}", family, x) for x in parameters]
    if family.function is of_topic.utility and len(parameters) != 4:
        raise _parameter_error(spec, "four numbers")
    printed = name if text is None else f"{name}_{text}"
    return [Column(printed, family, parameters)]


def _split(spec):
    """Family name and parameter text of "P.5,10", "P_5" or "map"."""
    if spec in FAMILIES:
        return spec, None
    candidates = [
        name for name in FAMILIES if re.match(re.escape(name) + r"[._]", spec)
    ]
    if not candidates:
        raise ValueError(
            f"unknown trec_eval measure {spec!r}; known are {', '.join(FAMILIES)} and "
            f"the groups {', '.join(GROUPS)}"
        )
    name = max(candidates, key=len)
    return name, spec[len(name) + 1 :]


# trec_eval's names of measures that this package has, too, as objects.
_OWN_NAMES = {
    "p": "p",
    "recall": "recall",
    "success": "success",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "set_p": "p",
    "set_recall": "recall",
    "set_f": "f",
}


def own_name(name: str) -> str:
    """Return the name by which this package knows a measure of trec_eval.

    Parameters
    ----------
    name : str
        A name such as ``"ndcg_cut_10"`` or ``"P.5"``; case does not matter.

    Returns
    -------
    str
        A name such as ``"ndcg@10"``; the name itself if it is none of trec_eval's.
    """
    match = re.fullmatch(r"\s*([a-z_]+?)(?:[._](\d+))?\s*", name.lower())
    family = None if match is None else _OWN_NAMES.get(match[1])
    if match is None or family is None:
        return name
    # Measures of sets have no cut-off, and the others that are named so have one.
    if match[1].startswith("set_") == (match[2] is not None):
        return name
    return family if match[2] is None else f"{family}@{match[2]}"


def _parameter_error(spec, expected):
    return ValueError(f"parameters of measure {spec!r} must be {expected}")


def _parse_parameters(family, text, spec):
    """Parameters of a family from the text after its name."""
    if family.kind not in _READERS:
        raise ValueError(f"measure {spec!r} takes no parameters")
    try:
        value = _READERS[family.kind]([item for item in text.split(",") if item])
    except (ValueError, IndexError, OverflowError) as error:
        raise _parameter_error(spec, f"of the form trec_eval takes ({error})") from None
    if family.kind == "cuts" and (not value or not 1 <= value[0] <= value[-1] < 2**63):
        raise _parameter_error(spec, "positive cut-offs below 2**63")
    if any(number not in family.bounds for number in _numbers_in(value)):
        raise _parameter_error(spec, f"{family.bounds}" or "finite numbers")
    return value


def _numbers_in(value):
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list | tuple) else [value]


def _number(text):
    return int(text) if re.fullmatch(r"\d+", text) else float(text)


def _pairs(items):
    pairs = (item.split("=") for item in items)
    return {float(grade): float(gain) for grade, gain in pairs}


_READERS: dict[str, Callable[[list[str]], Any]] = {
    # trec_eval reads a whole number and ignores what follows it, as in 23.4.
    "cuts": lambda items: sorted(int(float(item)) for item in items),
    "levels": lambda items: sorted(float(item) for item in items),
    "numbers": lambda items: tuple(float(item) for item in items),
    "whole": lambda items: int(float(items[0])),
    "number": lambda items: _number(items[0].removeprefix("p=")),
    "pairs": _pairs,
}
