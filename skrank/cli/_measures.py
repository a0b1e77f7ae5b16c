"""Measures on the command line: parsing, evaluating, printing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown, words_of
from skrank._core._queries import QueryIndex
from skrank.cli._errors import CommandError
from skrank.cli._io import plain_number
from skrank.cli._objects import load_object, names_own
from skrank.datasets._container import document_names
from skrank.metrics import BaseMeasure, FunctionMeasure, get_measure
from skrank.metrics._conventions import conventions_of
from skrank.metrics._presets import preset_options
from skrank.metrics._registry import parse_options

_OWN = re.compile(
    r"(?P<object> [^()@]*? ) \s* (?: \( (?P<options> [^()]* ) \) )? \s*"
    r"(?: @ \s* (?P<k> \d+ ) )?",
    re.VERBOSE,
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of one set of queries.

    Attributes
    ----------
    names : list of str
        Names of the measures, as the user wrote them.
    means : list of float
        Mean of each measure over the queries.
    per_query : list of ndarray
        Values of each measure, in the order of ``query_ids``.
    query_ids : ndarray
        Ids of the queries.
    n_documents : int
        Number of documents.
    conventions : str
        Conventions of the measures, in words.
    """

    names: list[str]
    means: list[float]
    per_query: list[np.ndarray]
    query_ids: np.ndarray
    n_documents: int
    conventions: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return counts and means, ready for JSON."""
        means = {n: plain_number(m) for n, m in zip(self.names, self.means)}
        return {
            "queries": len(self.query_ids),
            "documents": self.n_documents,
            "metrics": means,
        }


def parse_metrics(
    text: str, preset: str | None, option: str = "--metrics"
) -> dict[str, BaseMeasure]:
    """Return the measures of a comma-separated list; commas in parentheses stay.

    Parameters
    ----------
    text : str
        Such as ``"ndcg@10,rbp(p=0.8),mine:revenue"``.
    preset : str or None
        Conventions for what the names leave open.
    option : str, default="--metrics"
        Option that the list was given to, for error messages.

    Returns
    -------
    dict of str to BaseMeasure
        By name, as the user wrote it; measures of the user's own by their ``name``,
        which is ``module:Name`` with options and cut-off unless they have a label.
    """
    measures: dict[str, BaseMeasure] = {}
    for text_of_one in split_names(text, option):
        measure = parse_measure(text_of_one, preset)
        name = measure.name if is_own(text_of_one) else text_of_one
        if name in measures:
            raise CommandError(f"{option} names {shown(name)} twice")
        measures[name] = measure
    return measures


def split_names(text: str, option: str = "--metrics") -> list[str]:
    """Return the names of a comma-separated list; commas in parentheses stay."""
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]
    names = [name for name in names if name]
    if not names:
        raise CommandError(f"{option} is empty; name measures, as in ndcg@10,map")
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise CommandError(f"{option} names {shown(repeated[0])} twice")
    return names


def is_own(text: str) -> bool:
    """Return whether a text names a measure of the user's own, as ``module:Name``."""
    match = _OWN.fullmatch(text)
    return match is not None and names_own(match["object"])


def parse_measure(text: str, preset: str | None = None) -> BaseMeasure:
    """Return the measure of a name, or of ``module:Name`` with options and cut-off.

    Parameters
    ----------
    text : str
        Such as ``"ndcg@10"``, ``"mine:revenue"`` or ``"mine:Fallout(rel=2)@5"``.
    preset : str, default=None
        Conventions for what the name leaves open; functions have their own.

    Returns
    -------
    BaseMeasure

    Raises
    ------
    CommandError
        If there is no such object, or it is no measure.
    """
    match = _OWN.fullmatch(text)
    if match is None or not names_own(match["object"]):
        return get_measure(text, preset)
    options = parse_options(match["options"] or "", text)
    found = load_object(match["object"], "measure")
    if match["k"]:
        if "k" in options:
            raise CommandError(f"measure {shown(text)} has two cut-offs")
        options["k"] = int(match["k"])
    try:
        measure = _measure_of(found, dict(options), preset)
    except (TypeError, ValueError) as error:
        raise CommandError(f"measure {shown(text)}: {words_of(error)}") from error
    if measure is None:
        raise CommandError(
            f"measure {shown(text)} must be a function f(y_true, y_score) or a class "
            f"derived from skrank.metrics.BaseMeasure, got {shown(found)}"
        )
    if measure._row_names():
        raise CommandError(
            f"measure {shown(text)} needs {', '.join(measure._row_names())} with one "
            "entry per row, for which the command line has no place"
        )
    _call(measure, match["object"], options)
    return measure


def _call(measure, name, given):
    """Let a measure of the user's own be called by its module as well."""
    if not isinstance(measure, FunctionMeasure):
        if not measure._name_options():
            # Its class does not say which options belong to the name.
            told = [f"{key}={value}" for key, value in given.items() if key != "k"]
            name += f"({','.join(told)})" if told else ""
        vars(measure)["short_name"] = name
    elif measure.label is None:
        _, bracket, options = measure.name.partition("@")[0].partition("(")
        measure.label = name + bracket + options


def _measure_of(found, options, preset) -> BaseMeasure | None:
    """Measure of an object of the user's with options; None if it is none."""
    if isinstance(found, type) and issubclass(found, BaseMeasure):
        measure = found(**{**preset_options(preset, found), **options})
    elif isinstance(found, BaseMeasure):
        measure = found._with(**options)
    elif callable(found) and not isinstance(found, type):
        k = options.pop("k", None)
        measure = FunctionMeasure(found, kwargs=options or None, k=k)
    else:
        return None
    measure._check_parameters()
    return measure


def evaluate(
    measures: Mapping[str, BaseMeasure],
    data: Any,
    scores: npt.ArrayLike,
    n_jobs: int | None = None,
    preset: str | None = None,
) -> Evaluation:
    """Evaluate scores on the grades and queries of a data set."""
    index = QueryIndex.from_groups(data.groups)
    y = index.take(data.y)
    grouped = index.take(np.asarray(scores, dtype=np.float64))
    by_docid = any(getattr(m, "ties", None) == "docid" for m in measures.values())
    docids = index.take(document_names(data)) if by_docid else None
    per_query = [
        measure.per_query(y, grouped, index.ptr, docids=docids, n_threads=n_jobs)
        for measure in measures.values()
    ]
    means = [m.mean(values) for m, values in zip(measures.values(), per_query)]
    told = conventions_of(measures.values(), preset)
    return Evaluation(list(measures), means, per_query, index.ids, len(y), told)


def aligned_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; all columns but the first are aligned right."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in [head, *rows]
    ]
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return lines
