"""The conventions of measures in words, for captions of tables."""

from collections.abc import Iterable, Iterator, Sequence

from skrank.metrics._base import BaseMeasure
from skrank.metrics._function_measure import FunctionMeasure
from skrank.metrics._presets import preset_options

_GAINS = {"exp2": "gain 2^y - 1", "linear": "linear gain y"}
_DISCOUNTS = {
    "log2": "discount 1/log2(1 + rank)",
    "letor": "discount 1 at ranks 1 and 2, 1/log2(rank) after",
    "reciprocal": "discount 1/rank",
}
_TIES = {
    "average": "expected value of equal scores",
    "stable": "equal scores in the order of the rows",
    "docid": "equal scores by falling document id",
    "best": "the best order of equal scores",
    "worst": "the worst order of equal scores",
    "random": "equal scores in random order",
    "threshold": "equal scores as one threshold",
    "function": "equal scores as the function treats them",
}


def conventions_of(measures: Iterable[BaseMeasure], preset: str | None = None) -> str:
    """Return the conventions of measures as one sentence.

    Parameters
    ----------
    measures : iterable of BaseMeasure
        Measures.
    preset : str, default=None
        Preset that the measures were made with. It is named unless a measure differs
        from it.

    Returns
    -------
    str
        Conventions that not all measures share say whose they are. Empty if the
        measures know of no conventions.

    Examples
    --------
    >>> from skrank.metrics import get_measure
    >>> from skrank.metrics._conventions import conventions_of
    >>> conventions_of([get_measure("rr", "letor3")], "letor3").partition(";")[0]
    'Conventions of preset letor3: relevant above 0'
    """
    measures = list(measures)
    told = [dict(_phrases(measure)) for measure in measures]
    keys = dict.fromkeys(key for phrases in told for key in phrases)
    texts = [text for key in keys for text in _shared_or_named(key, measures, told)]
    if not texts:
        return ""
    # Presets say nothing about functions.
    classes = [m for m in measures if not isinstance(m, FunctionMeasure)]
    named = classes and preset is not None and all(_follows(m, preset) for m in classes)
    head = f"Conventions of preset {preset}" if named else "Conventions"
    return f"{head}: {'; '.join(texts)}"


def _shared_or_named(key: str, measures: Sequence[BaseMeasure], told) -> Iterator[str]:
    """Yield the answers to one question, with names of measures where they differ."""
    names: dict[str, list[str]] = {}
    for measure, phrases in zip(measures, told):
        if key in phrases:
            names.setdefault(phrases[key], []).append(measure.name)
    for text, whose in names.items():
        yield text if len(names) == 1 else f"{text} ({', '.join(whose)})"


def _phrases(measure: BaseMeasure) -> Iterator[tuple[str, str]]:
    """Yield what a measure says about each question that it has an answer to."""
    options = measure.get_params(deep=False)
    if "gain" in options:
        yield "gain", _named(options["gain"], _GAINS, "gain as given")
    if "discount" in options:
        yield "discount", _named(options["discount"], _DISCOUNTS, "discount as given")
    if "relevance_level" in options:
        level = options["relevance_level"]
        above = "above 0" if level is None else f"from grade {level:g}"
        yield "relevance_level", f"relevant {above}"
    if options.get("short_query") == "zero" and measure.k is not None:
        yield "short_query", "0 for queries shorter than the cut-off"
    if options.get("denominator") == "reachable" and measure.k is not None:
        yield "denominator", "AP over at most as many documents as the cut-off"
    if "ties" in options:
        yield "ties", _TIES[options["ties"]]
    if measure.empty_query != "raise" and (which := measure._undefined_queries()):
        yield "empty_query", _about_empty(measure.empty_query, which)


def _named(option, names, otherwise):
    return names.get(option, otherwise) if isinstance(option, str) else otherwise


def _about_empty(rule, which):
    if rule == "skip":
        return f"{which} left out"
    return f"{rule:g} for {which}"


def _follows(measure: BaseMeasure, preset: str) -> bool:
    """Whether a measure has the options that a preset gives to its class."""
    options = measure.get_params(deep=False)
    wanted = preset_options(preset, type(measure))
    return all(_is_same(options[name], value) for name, value in wanted.items())


def _is_same(value, other):
    return type(value) is type(other) and value == other
