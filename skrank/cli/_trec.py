"""Input files of ``skrank evaluate`` in trec_eval's formats.

Runs and plain judgements are read by `skrank.datasets`; the formats here hold groups of
judgements (``-R``) and statistics of other runs (``-Z``).
"""

import math
from collections.abc import Iterator
from typing import Any

from skrank._core._messages import on_one_line, shown
from skrank.cli._errors import CommandError
from skrank.cli._io import number_in, read_lines, source
from skrank.datasets import load_qrels
from skrank.datasets._trec import WrongKindError, is_line_of_run

_LAYOUTS = {
    "qrels_jg": "query group document grade",
    "qrels_prefs": "query group document grade",
    "prefs": "query group subgroup document level",
}
_ZSCORES = "query measure mean deviation"


def read_judgements(path: str, layout: str, max_bytes: int | None = None) -> Any:
    """Read judgements as `skrank.metrics.trec_measures` takes them.

    Parameters
    ----------
    path : str
        File.
    layout : {"qrels", "qrels_jg", "prefs", "qrels_prefs"}
        Format of the file.
    max_bytes : int, default=None
        Limit of the size of the file.

    Returns
    -------
    Qrels, or list of sequence
        One sequence per field of the formats with groups.
    """
    if layout == "qrels":
        return load_qrels(source(path, max_bytes), max_bytes=max_bytes)
    rows = list(_rows(path, _LAYOUTS[layout], 1, max_bytes))
    if not rows:
        raise CommandError(f"{on_one_line(path)} has no lines '{_LAYOUTS[layout]}'")
    return list(zip(*rows))


def read_zscores(
    path: str, max_bytes: int | None = None
) -> dict[str, dict[str, tuple[float, float]]]:
    """Read means and standard deviations of measures, by query and measure."""
    reference: dict[str, dict[str, tuple[float, float]]] = {}
    for query, measure, mean, deviation in _rows(path, _ZSCORES, 2, max_bytes):
        own = reference.setdefault(query, {})
        if measure in own:
            raise CommandError(
                f"{on_one_line(path)} has the measure {shown(measure)} of query "
                f"{shown(query)} twice"
            )
        own[measure] = (mean, deviation)
    return reference


def _rows(path, layout, numbers, max_bytes) -> Iterator[list]:
    """Yield the fields of each line; the last ``numbers`` of them are numbers."""
    names = layout.split()
    first_number = len(names) - numbers
    for line_number, line in read_lines(path, max_bytes):
        # Bytes, because only blanks of ASCII separate fields, as in the other formats.
        fields = line.split()
        words = fields[: len(names)]
        if words[0].startswith(b"#"):
            continue
        if is_line_of_run(fields):
            raise WrongKindError(
                f"{on_one_line(path)} holds a run, rather than lines '{layout}'"
            )
        where = f"{on_one_line(path)}, line {line_number}"
        if len(words) < len(names):
            raise CommandError(
                f"{where}: expected {len(names)} fields '{layout}', found {len(words)}"
            )
        ids = [word.decode(errors="surrogateescape") for word in words[:first_number]]
        yield ids + [
            _number(word, name, where)
            for word, name in zip(words[first_number:], names[first_number:])
        ]


def _number(word, name, where):
    number = number_in(word)
    if not math.isfinite(number):
        found = shown(word.decode(errors="replace"))
        raise CommandError(f"{where}: expected a number as {name}, found {found}")
    return number
