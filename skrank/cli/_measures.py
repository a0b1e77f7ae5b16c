"""Measures on the command line: parsing, evaluating, printing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank.cli._errors import CommandError
from skrank.cli._io import plain_number
from skrank.metrics import BaseMeasure, get_measure


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
    """

    names: list[str]
    means: list[float]
    per_query: list[np.ndarray]
    query_ids: np.ndarray
    n_documents: int

    def to_dict(self) -> dict[str, Any]:
        """Return counts and means, ready for JSON."""
        means = {n: plain_number(m) for n, m in zip(self.names, self.means)}
        return {
            "queries": len(self.query_ids),
            "documents": self.n_documents,
            "metrics": means,
        }


def parse_metrics(text: str, preset: str | None) -> dict[str, BaseMeasure]:
    """Return the measures of a comma-separated list; commas in parentheses stay.

    Parameters
    ----------
    text : str
        Such as ``"ndcg@10,rbp(p=0.8)"``.
    preset : str or None
        Conventions for what the names leave open.

    Returns
    -------
    dict of str to BaseMeasure
        By name, as the user wrote it.
    """
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]
    names = [name for name in names if name]
    if not names:
        raise CommandError("--metrics is empty; name measures, as in ndcg@10,map")
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise CommandError(f"--metrics names {shown(repeated[0])} twice")
    return {name: get_measure(name, preset) for name in names}


def evaluate(
    measures: Mapping[str, BaseMeasure],
    data: Any,
    scores: npt.ArrayLike,
    n_jobs: int | None = None,
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
    return Evaluation(list(measures), means, per_query, index.ids, len(y))


def document_names(data: Any) -> np.ndarray:
    """Return the document ids of LETOR text; lines stand in where there are none."""
    lines = np.array([f"line{i}" for i in range(1, len(data.y) + 1)], dtype=object)
    if data.docids is None:
        return lines
    return np.where(data.docids == "", lines, data.docids)


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
