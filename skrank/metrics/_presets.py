"""Conventions of other tools, as one table.

What tools call "NDCG@10" or "MAP" differs in gain, discount, equal scores, queries
without relevant documents, lists shorter than the cut-off and the denominator of AP. A
preset fills in what a call leaves open. Parity tests hold the rows against the tools
or their published output, except ``letor3`` and ``mslr``: those follow the description
of their scripts, whose output was not at hand.

Two peculiarities are not copied: with weights, LightGBM and XGBoost add the value 1 of
an empty query to the weighted sum of NDCG without its weight; and XGBoost's ``pre@k``
divides by the length of lists shorter than k.
"""

from dataclasses import dataclass, field
from typing import Any

from skrank._core._messages import shown

PresetOptions = dict[str, Any]


@dataclass(frozen=True)
class Preset:
    """Conventions of one tool.

    Parameters
    ----------
    description : str
        What the tool does, in one line.
    common : dict
        Options of every measure that has them.
    measures : dict
        Options of single measures, by class name; they take precedence over ``common``.

    Examples
    --------
    >>> from skrank.metrics import PRESETS
    >>> PRESETS["letor4"].common["discount"], PRESETS["letor4"].measures["NDCG"]
    ('letor', {'short_query': 'zero'})
    """

    description: str
    common: PresetOptions = field(default_factory=dict)
    measures: dict[str, PresetOptions] = field(default_factory=dict)


_CAPPED_AP = {"AP": {"denominator": "reachable"}}

PRESETS: dict[str, Preset] = {
    "skrank": Preset(
        "gain 2^y - 1, discount 1/log2(1 + j), expected value of equal scores; queries "
        "without relevant documents left out",
        {
            "gain": "exp2",
            "discount": "log2",
            "ties": "average",
            "empty_query": "skip",
        },
    ),
    "trec_eval": Preset(
        "gain is the grade, discount 1/log2(1 + j), equal scores by decreasing "
        "document id (needs docids), 0 without relevant documents, AP@k over all "
        "relevant ones, RBP with p = 0.9",
        {
            "gain": "linear",
            "discount": "log2",
            "ties": "docid",
            "empty_query": 0.0,
        },
        {"RBP": {"p": 0.9}},
    ),
    "letor3": Preset(
        "gain 2^y - 1, discount 1 for ranks 1 and 2 and 1/log2(j) after, equal scores "
        "in row order, 0 without relevant documents",
        {
            "gain": "exp2",
            "discount": "letor",
            "ties": "stable",
            "empty_query": 0.0,
        },
    ),
    "letor4": Preset(
        "as letor3, and NDCG@k is 0 for queries with fewer than k documents",
        {
            "gain": "exp2",
            "discount": "letor",
            "ties": "stable",
            "empty_query": 0.0,
        },
        {"NDCG": {"short_query": "zero"}},
    ),
    "mslr": Preset(
        "as letor3 with discount 1/log2(1 + j)",
        {
            "gain": "exp2",
            "discount": "log2",
            "ties": "stable",
            "empty_query": 0.0,
        },
    ),
    "sklearn": Preset(
        "gain is the grade, discount 1/log2(1 + j), expected value of equal scores, 0 "
        "without relevant documents; AP over thresholds of the score",
        {
            "gain": "linear",
            "discount": "log2",
            "ties": "average",
            "empty_query": 0.0,
        },
        {"AP": {"ties": "threshold"}},
    ),
    "lightgbm": Preset(
        "gain 2^y - 1, discount 1/log2(1 + j), equal scores in row order, 1 without "
        "relevant documents, AP@k over min(relevant, k)",
        {
            "gain": "exp2",
            "discount": "log2",
            "ties": "stable",
            "empty_query": 1.0,
        },
        _CAPPED_AP,
    ),
    "xgboost": Preset(
        "gain 2^y - 1, discount 1/log2(1 + j), equal scores in row order, 1 without "
        "relevant documents, AP@k over min(relevant, k)",
        {
            "gain": "exp2",
            "discount": "log2",
            "ties": "stable",
            "empty_query": 1.0,
        },
        _CAPPED_AP,
    ),
}


def preset_options(preset: str | None, measure_class: type) -> PresetOptions:
    """Return the options that a preset gives a measure.

    Parameters
    ----------
    preset : str or None
        Key of `PRESETS`; None means "skrank".
    measure_class : type
        Subclass of `BaseMeasure`.

    Returns
    -------
    dict
        Arguments of the constructor of the measure.

    Raises
    ------
    ValueError
        If the preset is unknown.
    """
    name = "skrank" if preset is None else preset
    if not isinstance(name, str) or name not in PRESETS:
        known = ", ".join(repr(key) for key in PRESETS)
        raise ValueError(f"preset must be one of {known}, got {shown(preset)}")
    conventions = PRESETS[name]
    accepted = measure_class._get_param_names()
    options = {k: v for k, v in conventions.common.items() if k in accepted}
    return {**options, **conventions.measures.get(measure_class.__name__, {})}
