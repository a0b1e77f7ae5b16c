"""Input files of ``skrank evaluate`` in trec_eval's formats.

Runs and plain judgements are read by `skrank.datasets`; the formats here hold groups of
judgements (``-R``) and statistics of other runs (``-Z``).
"""

from collections.abc import Iterator

from skrank.cli._errors import CommandError
from skrank.datasets import load_qrels

_LAYOUTS = {
    "qrels_jg": "query group document grade",
    "qrels_prefs": "query group document grade",
    "prefs": "query group subgroup document level",
}
_ZSCORES = "query measure mean deviation"


def read_judgements(path: str, layout: str) -> list:
    """Read judgements as `skrank.metrics.trec_measures` takes them.

    Parameters
    ----------
    path : str
        File.
    layout : {"qrels", "qrels_jg", "prefs", "qrels_prefs"}
        Format of the file.

    Returns
    -------
    list of sequence
        One sequence per field.
    """
    if layout == "qrels":
        qrels = load_qrels(path)
        return [qrels.groups, qrels.docids, qrels.y]
    rows = list(_rows(path, _LAYOUTS[layout], numbers=1))
    if not rows:
        raise CommandError(f"{path} has no lines '{_LAYOUTS[layout]}'")
    return list(zip(*rows))


def read_zscores(path: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Read means and standard deviations of measures, by query and measure."""
    reference: dict[str, dict[str, tuple[float, float]]] = {}
    for query, measure, mean, deviation in _rows(path, _ZSCORES, numbers=2):
        reference.setdefault(query, {})[measure] = (mean, deviation)
    return reference


def _rows(path: str, layout: str, numbers: int) -> Iterator[list]:
    """Yield the fields of each line; the last ``numbers`` of them are numbers."""
    names = layout.split()
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line_number, line in enumerate(file, 1):
            fields: list = line.split()[: len(names)]
            if not fields or fields[0].startswith("#"):
                continue
            where = f"{path}, line {line_number}"
            if len(fields) < len(names):
                raise CommandError(
                    f"{where}: expected {len(names)} fields '{layout}', found "
                    f"{len(fields)}"
                )
            for i in range(len(names) - numbers, len(names)):
                try:
                    fields[i] = float(fields[i])
                except ValueError:
                    raise CommandError(
                        f"{where}: expected a number as {names[i]}, found {fields[i]!r}"
                    ) from None
            yield fields
