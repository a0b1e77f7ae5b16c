"""Measures by name: ``ndcg@10``, ``map``, ``rbp(p=0.8)``, ``P(rel=2)@5``."""

import ast
import inspect
import re

from skrank.metrics._base import BaseMeasure
from skrank.metrics._binary_measures import AP, RR
from skrank.metrics._correlation_measures import (
    KendallTau,
    MeanSquaredError,
    PairwiseAccuracy,
    RankBiasedOverlap,
    SpearmanRho,
)
from skrank.metrics._gain_measures import DCG, ERR, NDCG, MeanNDCG
from skrank.metrics._presets import preset_options
from skrank.metrics._set_measures import (
    RBP,
    Bpref,
    FMeasure,
    Precision,
    Recall,
    RPrecision,
    Success,
)

MEASURES: dict[str, type[BaseMeasure]] = {
    "ndcg": NDCG,
    "dcg": DCG,
    "map": AP,
    "mrr": RR,
    "err": ERR,
    "rbp": RBP,
    "p": Precision,
    "recall": Recall,
    "f": FMeasure,
    "success": Success,
    "rprec": RPrecision,
    "bpref": Bpref,
    "meanndcg": MeanNDCG,
    "pairwise_accuracy": PairwiseAccuracy,
    "kendall": KendallTau,
    "spearman": SpearmanRho,
    "rbo": RankBiasedOverlap,
    "mse": MeanSquaredError,
}

# Other spellings, among them those of ir_measures and trec_eval.
ALIASES: dict[str, str] = {
    "ap": "map",
    "average_precision": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "precision": "p",
    "r": "recall",
    "f1": "f",
    "hit": "success",
    "r_precision": "rprec",
    "mean_ndcg": "meanndcg",
    "auc": "pairwise_accuracy",
    "tau": "kendall",
    "kendall_tau": "kendall",
    "rho": "spearman",
    "rank_biased_overlap": "rbo",
}

_OPTION_ALIASES = {"rel": "relevance_level"}
_DCG_FORMS = {"log2": "linear", "exp-log2": "exp2"}

_NAME = re.compile(
    r"""\s* (?P<family> [A-Za-z_][\w]*? ) \s*
    (?: \( (?P<options> [^()]* ) \) )? \s*
    (?: @ \s* (?P<k> \d+ ) )? \s*""",
    re.VERBOSE,
)


def known_measures() -> list[str]:
    """List the names that `get_measure` takes, without cut-offs and options.

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
    return sorted(MEASURES)


def _literal(text, name):
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
                f"options of measure {name!r} must read name=value, got {item!r}"
            )
        key = key.strip()
        options[_OPTION_ALIASES.get(key, key)] = _literal(value.strip(), name)
    if "dcg" in options:  # ir_measures' name of the gain
        form = options.pop("dcg")
        if form not in _DCG_FORMS:
            raise ValueError(f"dcg must be one of {list(_DCG_FORMS)}, got {form!r}")
        options["gain"] = _DCG_FORMS[form]
    return options


def parse_measure(name: str) -> tuple[type[BaseMeasure], dict]:
    """Class and options that a name stands for.

    Parameters
    ----------
    name : str
        ``family[(option=value, ...)][@k]``; case does not matter.

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
    match = _NAME.fullmatch(name)
    family = match["family"].lower() if match else ""
    family = ALIASES.get(family, family)
    if family not in MEASURES:
        raise ValueError(
            f"unknown measure {name!r}; known are {', '.join(known_measures())}, each "
            "with an optional cut-off and options, as in 'ndcg@10' or 'rbp(p=0.8)'"
        )
    options = _parse_options(match["options"] or "", name)
    if match["k"]:
        options["k"] = int(match["k"])
    accepted = inspect.signature(MEASURES[family]).parameters
    for key in options:
        if key not in accepted:
            what = "cut-off @k" if key == "k" else f"option {key!r}"
            raise ValueError(
                f"measure {name!r} takes no {what}; {family} takes "
                f"{', '.join(accepted)}"
            )
    return MEASURES[family], options


def get_measure(measure, preset=None) -> BaseMeasure:
    """Return a measure from its name.

    Parameters
    ----------
    measure : str or BaseMeasure
        A name such as ``"ndcg@10"``, ``"map"``, ``"err@20"``, ``"p@5"``,
        ``"rbp(p=0.8)"``; or a measure, which is returned as it is.
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
