"""What `evaluate` returns: values by measure and query, and their renderings."""

import html
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank._core._id_arrays import id_list, id_text
from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._validation import check_options
from skrank.datasets._container import import_pandas
from skrank.metrics._table import (
    Digits,
    _bars_escaped,
    _column,
    _latex,
    _markdown,
    _tex,
    _width,
)
from skrank.metrics._trec_names import Summary

_SUMMARIES = {"sum": "a sum", "geometric": "a geometric mean"}
_LINE = 72


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationResult:
    """Values of measures for a run, per query and in the mean.

    Printed as aligned plain text; a notebook shows HTML. ``result[name]`` is the mean
    of a measure, and ``float(result)`` that of the only one.

    Attributes
    ----------
    measures : tuple of str
        Names of the measures, as they were given.
    query_ids : ndarray of shape (n_queries,)
        Ids of the evaluated queries, in ascending order.
    per_query : dict of str to ndarray of shape (n_queries,)
        Values of each measure, in the order of ``query_ids``; NaN where the measure is
        undefined.
    summary : dict of str to float
        Mean of each measure over the queries on which it is defined; for a few of
        trec_eval's measures the sum or the geometric mean.
    summarised_by : dict of str to str
        What the summary of each measure is: "mean", "sum" or "geometric".
    run_id : str
        Name of the run.
    preset : str
        Conventions of the measures that were named.
    complete : bool
        Whether judged queries that the run lacks were evaluated as well.
    unjudged_queries : ndarray
        Queries of the run that have no judgements; they are not evaluated.
    unretrieved_queries : ndarray
        Judged queries that the run lacks.
    conventions : str
        Conventions of the measures, in words: gain, discount, equal scores, queries
        without information. Measures that trec_eval alone has follow trec_eval.
    """

    measures: tuple[str, ...]
    query_ids: np.ndarray
    per_query: Mapping[str, np.ndarray]
    summary: Mapping[str, float]
    summarised_by: Mapping[str, Summary]
    run_id: str
    preset: str
    complete: bool
    unjudged_queries: np.ndarray
    unretrieved_queries: np.ndarray
    conventions: str = ""

    @property
    def n_queries(self) -> int:
        """Number of evaluated queries."""
        return len(self.query_ids)

    def __getitem__(self, name: str) -> float:
        if not isinstance(name, str) or name not in self.summary:
            known = shortened(on_one_line(", ".join(self.measures)), 500)
            raise KeyError(f"no measure {shown(name)} among {known}")
        return self.summary[name]

    def __float__(self):
        if len(self.measures) != 1:
            raise TypeError(
                f"one measure is a number, but there are {len(self.measures)}; choose "
                f"one, as in result[{self.measures[0]!r}]"
            )
        return float(self.summary[self.measures[0]])

    def to_pandas(self) -> Any:
        """Convert the values of the queries to a data frame.

        Returns
        -------
        DataFrame
            One row per query, with the query ids as index ``query_id``, and one column
            per measure.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pd = import_pandas("EvaluationResult.to_pandas")
        index = pd.Index(
            id_list(self.query_ids), dtype=object, name="query_id", tupleize_cols=False
        )
        return pd.DataFrame(dict(self.per_query), index=index)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain numbers and strings, ready for JSON.

        Returns
        -------
        dict
            ``measures`` maps names to means and ``queries`` maps queries, as text, to
            their values by name, in the layout of ``skrank evaluate --json``; with
            ``run``, ``preset`` and ``conventions``. NaN becomes None.
        """
        queries = {
            id_text(query): {
                name: _plain(values[i]) for name, values in self.per_query.items()
            }
            for i, query in enumerate(id_list(self.query_ids))
        }
        return {
            "run": self.run_id,
            "preset": self.preset,
            "conventions": self.conventions,
            "measures": {name: _plain(self.summary[name]) for name in self.measures},
            "queries": queries,
        }

    def to_text(self, *, per_query: bool = False, digits: Digits = 4) -> str:
        """Render as aligned plain text.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to show one line per query as well, and the measures as columns.
        digits : int, default=4
            Number of decimals, at most 1074.

        Returns
        -------
        str
            A table, a sentence on what it shows, and one on the conventions.
        """
        check_options(EvaluationResult.to_text, locals())
        lines = ["  ".join(row) for row in zip(*self._columns(per_query, digits))]
        lines.insert(1, "-" * max(map(_width, lines)))
        return "\n".join([*lines, "", *textwrap.wrap(self._caption(), _LINE)])

    def to_markdown(self, *, per_query: bool = False, digits: Digits = 4) -> str:
        """Render as a Markdown table.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to show one line per query as well, and the measures as columns.
        digits : int, default=4
            Number of decimals, at most 1074.

        Returns
        -------
        str
            A table whose source is aligned too, and a line of notes.
        """
        check_options(EvaluationResult.to_markdown, locals())
        columns = self._columns(per_query, digits, _bars_escaped)
        return _markdown(columns, self._caption())

    def to_latex(self, *, per_query: bool = False, digits: Digits = 4) -> str:
        """Render as a LaTeX table for the package booktabs.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to show one line per query as well, and the measures as columns.
        digits : int, default=4
            Number of decimals, at most 1074.

        Returns
        -------
        str
            A ``table`` environment with its caption.
        """
        check_options(EvaluationResult.to_latex, locals())
        columns = self._columns(per_query, digits, _tex)
        return _latex(columns, self._caption(), "l" + "r" * (len(columns) - 1))

    def to_html(self, *, per_query: bool = False, digits: Digits = 4) -> str:
        """Render as an HTML table.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to show one line per query as well, and the measures as columns.
        digits : int, default=4
            Number of decimals, at most 1074.

        Returns
        -------
        str
            One ``table`` element; names are escaped.
        """
        check_options(EvaluationResult.to_html, locals())
        head, *rows = self._rows(per_query, digits)
        notes = html.escape(self._caption())
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
        return (
            f"<table><caption>{notes}</caption><thead><tr>{_cells('th', head)}</tr>"
            f"</thead><tbody>{body}</tbody></table>"
        )

    def _columns(self, per_query, digits, escape: Callable[[str], str] = str):
        """Columns of texts of one width each, the numbers to the right."""
        columns = zip(*self._rows(per_query, digits))
        return [
            _column([], map(escape, texts), ">" if place else "<")
            for place, texts in enumerate(columns)
        ]

    def _rows(self, per_query, digits):
        """Texts of the cells, the head first."""
        means = [_text(self.summary[name], digits) for name in self.measures]
        if not per_query:
            return [("measure", "value"), *zip(self.measures, means)]
        values = [
            [_text(value, digits) for value in self.per_query[name].tolist()]
            for name in self.measures
        ]
        queries = [on_one_line(id_text(query)) for query in id_list(self.query_ids)]
        return [("query", *self.measures), *zip(queries, *values), ("all", *means)]

    def _caption(self):
        """What the table shows, and the conventions of its measures."""
        sentences = ["; ".join(self._notes()), self.conventions]
        return " ".join(f"{sentence}." for sentence in sentences if sentence)

    def _notes(self):
        """What the table shows, in parts of a sentence."""
        notes = [f"Means over {_counted(self.n_queries, 'query', 'queries')}"]
        for name in self.measures:
            if self.summarised_by[name] in _SUMMARIES:
                notes.append(f"{name} is {_SUMMARIES[self.summarised_by[name]]}")
            defined = int(np.count_nonzero(~np.isnan(self.per_query[name])))
            if defined < self.n_queries:
                notes.append(f"{name} on the {defined} with a value")
        if len(self.unretrieved_queries):
            lacked = _counted(
                len(self.unretrieved_queries), "judged query", "judged queries"
            )
            treated = "counted with nothing retrieved" if self.complete else "left out"
            notes.append(f"{lacked} not in the run, {treated}")
        if len(self.unjudged_queries):
            other = _counted(len(self.unjudged_queries), "query", "queries")
            notes.append(f"{other} of the run not judged, left out")
        return notes

    def __repr__(self):
        return self.to_text()

    def _repr_html_(self):
        return self.to_html()


def _counted(number, one, several):
    return f"{number} {one if number == 1 else several}"


def _text(value, digits):
    if isinstance(value, int | np.integer):
        return str(value)
    return f"{value:.{digits}f}"


def _cells(tag, texts):
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _plain(value):
    if isinstance(value, int | np.integer):
        return int(value)
    return float(value) if np.isfinite(value) else None
