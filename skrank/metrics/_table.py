"""The table that `compare` returns, and its renderings."""

import html
import itertools
import string
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._parameters import Interval
from skrank._core._validation import check_options
from skrank.metrics._winning import winning_number

#: Numbers of decimals; no double has more than 1074.
Digits = Annotated[int, Interval(0, 1074)]

_LETTERS = string.ascii_lowercase + string.ascii_uppercase
# With more measures than this, a table with intervals is too wide for most screens.
_MOST_WITH_INTERVALS = 3
_ABOUT_TEST = {
    "fisher": "Fisher's randomisation test",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "tukey": "randomised Tukey test",
}
_ABOUT_CORRECTION = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
}
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
}


def _letter(number):
    """Short name of a system: a to z, A to Z, then numbers."""
    if number < len(_LETTERS):
        return _LETTERS[number]
    return f"({number + 1})"


def _width(text):
    """Number of columns that a text takes in a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _pad(text, width, align="<"):
    space = " " * (width - _width(text))
    return text + space if align == "<" else space + text


@dataclass(frozen=True)
class _Cell:
    """One value of the table, in the pieces that renderings put together."""

    value: str
    best: bool
    ends: tuple[str, str]
    marks: str

    @property
    def interval(self):
        return f"[{self.ends[0]}, {self.ends[1]}]"


@dataclass(frozen=True, eq=False)
class ComparisonTable:
    """Means, intervals and significance of several systems on the same queries.

    Printed as aligned plain text; a notebook shows HTML. Systems keep the order in
    which they were given.

    Attributes
    ----------
    systems : tuple of str
        Names of the systems.
    measures : tuple of str
        Names of the measures.
    per_query : dict of str to dict of str to ndarray
        ``per_query[measure][system]`` holds one value per query, in the order of
        ``query_ids``; NaN where the measure is undefined.
    query_ids : ndarray of shape (n_queries,)
        Ids of the queries.
    means : ndarray of shape (n_systems, n_measures)
        Means over the queries on which the measure is defined.
    intervals : ndarray of shape (n_systems, n_measures, 2)
        Bootstrap confidence intervals of the means.
    pvalues : ndarray of shape (n_measures, n_systems, n_systems)
        Corrected p-values of all pairs; NaN for pairs that were not tested.
    greater_is_better : tuple of bool
        Direction of each measure.
    test : str
        Name of the test.
    correction : str or None
        Name of the correction for several tests.
    reference : str or None
        The system with which the others were compared; None for all pairs.
    level : float
        P-values below it count as significant.
    confidence : float
        Coverage of the intervals.
    notes : tuple of str
        What captions say besides.
    conventions : str
        Conventions of the measures, which captions name: gain, discount, relevance
        level, treatment of equal scores and of queries without information.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    per_query: Mapping[str, Mapping[str, np.ndarray]] = field(repr=False)
    query_ids: np.ndarray = field(repr=False)
    means: np.ndarray
    intervals: np.ndarray = field(repr=False)
    pvalues: np.ndarray = field(repr=False)
    greater_is_better: tuple[bool, ...]
    test: str
    correction: str | None
    reference: str | None
    level: float
    confidence: float
    notes: tuple[str, ...] = ()
    conventions: str = ""

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @property
    def _gains(self):
        """Means with the sign that makes higher better."""
        return self.means * np.where(self.greater_is_better, 1.0, -1.0)

    def _gain(self, system, measure):
        return self._gains[self.systems.index(system), self.measures.index(measure)]

    @property
    def wins(self) -> np.ndarray:
        """Which systems win significantly, shape (n_measures, n_systems, n_systems).

        Entry (m, i, j) is True if system i is significantly better than j by measure m.
        """
        gains = self._gains.T
        with quiet():
            return (self.pvalues < self.level) & (gains[:, :, None] > gains[:, None, :])

    @property
    def winning_numbers(self) -> np.ndarray:
        """Number of systems that have a worse mean, shape (n_systems, n_measures)."""
        gains = self._gains
        return (gains[:, None, :] > gains[None, :, :]).sum(axis=1)

    def p_value(self, first: str, second: str, measure: str | None = None) -> float:
        """Return the corrected p-value of a pair of systems.

        Parameters
        ----------
        first : str
            Name of a system.
        second : str
            Name of another system.
        measure : str, default=None
            Name of a measure; None stands for the first one.

        Returns
        -------
        float
            NaN if the pair was not tested.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        measure = self.measures[0] if measure is None else measure
        return float(
            self.pvalues[
                _find(measure, self.measures, "measure"),
                _find(first, self.systems, "system", "first"),
                _find(second, self.systems, "system", "second"),
            ]
        )

    def marks(self, system: str, measure: str) -> str:
        """Return the significance marks of a value.

        Parameters
        ----------
        system : str
            Name of a system.
        measure : str
            Name of a measure.

        Returns
        -------
        str
            Letters of the systems that this one beats significantly; in a table with a
            reference, ``"+"`` or ``"-"`` if it is significantly better or worse.
        """
        wins = self.wins[_find(measure, self.measures, "measure")]
        i = _find(system, self.systems, "system")
        if self.reference is None:
            return "".join(_letter(j) for j in np.flatnonzero(wins[i]))
        r = self.systems.index(self.reference)
        return "+" if wins[i, r] else "-" if wins[r, i] else ""

    def _best(self, i, m):
        gains = self._gains[:, m]
        return bool(
            np.isfinite(gains[i])
            and np.isclose(gains[i], np.nanmax(gains), rtol=1e-12, atol=1e-15)
        )

    def _cells(self, digits):
        """One row of cells for each system."""
        return [
            [
                _Cell(
                    f"{self.means[i, m]:.{digits}f}",
                    self._best(i, m),
                    _ends(self.intervals[i, m], digits),
                    self.marks(system, measure),
                )
                for m, measure in enumerate(self.measures)
            ]
            for i, system in enumerate(self.systems)
        ]

    def _labels(self):
        """Letter of each system, or the mark of the reference."""
        if self.reference is None:
            return [_letter(i) for i in range(len(self.systems))]
        return ["=" if name == self.reference else "" for name in self.systems]

    def _columns(self, digits, intervals, escape, formats):
        """Columns of a rendering whose cells are joined by ``formats``."""
        columns = [
            _column([""], [escape(label) for label in self._labels()]),
            _column(["system"], [escape(name) for name in self.systems]),
        ]
        for measure, cells in zip(self.measures, zip(*self._cells(digits))):
            texts = [_joined(cell, intervals, *formats) for cell in cells]
            columns.append(_column([escape(measure)], texts))
        return columns

    def _shows_intervals(self, intervals):
        if intervals is None:
            return len(self.measures) <= _MOST_WITH_INTERVALS
        return intervals

    def _test_text(self):
        text = _ABOUT_TEST[self.test]
        if self.correction is not None:
            text += f" with {_ABOUT_CORRECTION[self.correction]}"
        return text

    def _notes(self, intervals):
        """Sentences that say what the table shows."""
        notes = [f"Means over {self.n_queries} queries"]
        if intervals:
            notes[0] += f" with {100 * self.confidence:g} % bootstrap intervals"
        if len(self.systems) > 1:
            if self.reference is None:
                about = "letters name the systems that a system beats"
            else:
                about = f"+ and - mark systems better and worse than {self.reference}"
            notes.append(f"{about}, at p < {self.level:g}")
            notes.append(self._test_text())
        for defined, measures in self._defined().items():
            if defined < self.n_queries:
                notes.append(f"{', '.join(measures)} on the {defined} with a value")
        lower = itertools.compress(
            self.measures, (not greater for greater in self.greater_is_better)
        )
        notes.extend(f"lower is better for {measure}" for measure in lower)
        return [*notes, *self.notes]

    def _caption(self, intervals, *more):
        """What the table shows, and the conventions of its measures."""
        sentences = ["; ".join([*self._notes(intervals), *more])]
        if self.conventions:
            sentences.append(self.conventions)
        return ". ".join(sentences) + "."

    def _defined(self):
        """Measures by the number of queries that have a value."""
        measures = {}
        for measure in self.measures:
            values = np.array(list(self.per_query[measure].values()))
            defined = int((~np.isnan(values)).all(axis=0).sum())
            measures.setdefault(defined, []).append(measure)
        return measures

    def to_text(self, *, digits: Digits = 4, intervals: bool | None = None) -> str:
        """Render as aligned plain text.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals, at most 1074.
        intervals : bool, default=None
            Whether to show confidence intervals; None shows them for up to three
            measures.

        Returns
        -------
        str
            A star marks the best mean of each measure.
        """
        check_options(ComparisonTable.to_text, locals())
        intervals = self._shows_intervals(intervals)
        columns = [
            _column([""], self._labels()),
            _column(["system"], self.systems),
        ]
        for measure, cells in zip(self.measures, zip(*self._cells(digits))):
            columns.append(_measure_column(measure, cells, intervals))
        if not any(self._labels()):
            columns = columns[1:]
        lines = ["  ".join(parts).rstrip() for parts in zip(*columns)]
        width = max(_width(line) for line in lines)
        lines.insert(1, "-" * width)
        caption = self._caption(intervals, "* best")
        return "\n".join([*lines, "", *textwrap.wrap(caption, max(width, 72))])

    def to_markdown(self, *, digits: Digits = 4, intervals: bool | None = None) -> str:
        """Render as a Markdown table, the best means in bold.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals, at most 1074.
        intervals : bool, default=None
            Whether to show confidence intervals; None shows them for up to three
            measures.

        Returns
        -------
        str
            A table whose source is aligned too, and a line of notes.
        """
        check_options(ComparisonTable.to_markdown, locals())
        intervals = self._shows_intervals(intervals)
        formats = ("**{}**", " {}", " <sup>{}</sup>")
        columns = self._columns(digits, intervals, _bars_escaped, formats)
        return _markdown(columns, self._caption(intervals))

    def to_latex(self, *, digits: Digits = 4, intervals: bool | None = None) -> str:
        """Render as a LaTeX table for the package booktabs.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals, at most 1074.
        intervals : bool, default=None
            Whether to show confidence intervals; None shows them for up to three
            measures.

        Returns
        -------
        str
            A ``table`` environment with its caption; marks are superscripts.
        """
        check_options(ComparisonTable.to_latex, locals())
        intervals = self._shows_intervals(intervals)
        formats = (
            r"\textbf{{{}}}",
            r" {{\footnotesize {}}}",
            r"$^{{\mathrm{{{}}}}}$",
        )
        columns = self._columns(digits, intervals, _tex, formats)
        return _latex(columns, self._caption(intervals), "l" * len(columns))

    def to_html(self, *, digits: Digits = 4, intervals: bool | None = None) -> str:
        """Render as an HTML table, the best means in bold.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals, at most 1074.
        intervals : bool, default=None
            Whether to show confidence intervals; None shows them for up to three
            measures.

        Returns
        -------
        str
            One ``table`` element; names are escaped.
        """
        check_options(ComparisonTable.to_html, locals())
        intervals = self._shows_intervals(intervals)
        head = "".join(
            f"<th>{html.escape(name)}</th>" for name in ("", "system", *self.measures)
        )
        body = []
        for label, name, row in zip(self._labels(), self.systems, self._cells(digits)):
            cells = [
                _joined(
                    cell, intervals, "<b>{}</b>", " <small>{}</small>", "<sup>{}</sup>"
                )
                for cell in row
            ]
            cells = [html.escape(label), html.escape(name), *cells]
            body.append(
                "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
            )
        notes = html.escape(self._caption(intervals))
        return (
            f"<table><caption>{notes}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table>"
        )

    def to_dict(self) -> dict:
        """Return the results as plain numbers and strings, ready for JSON.

        Returns
        -------
        dict
            ``systems`` maps each name to its measures with ``mean``, ``interval``,
            ``beats`` (significantly) and ``winning_number``; ``pvalues`` holds a list
            for each measure. NaN becomes None.
        """
        numbers, wins = self.winning_numbers, self.wins
        systems = {
            name: {
                measure: {
                    "mean": _plain(self.means[i, m]),
                    "interval": [_plain(end) for end in self.intervals[i, m]],
                    "beats": [self.systems[j] for j in np.flatnonzero(wins[m, i])],
                    "winning_number": int(numbers[i, m]),
                }
                for m, measure in enumerate(self.measures)
            }
            for i, name in enumerate(self.systems)
        }
        return {
            "n_queries": self.n_queries,
            "test": self.test,
            "correction": self.correction,
            "reference": self.reference,
            "level": self.level,
            "confidence": self.confidence,
            "notes": list(self.notes),
            "conventions": self.conventions,
            "systems": systems,
            "pvalues": {
                measure: [[_plain(p) for p in row] for row in self.pvalues[m]]
                for m, measure in enumerate(self.measures)
            },
        }

    def __str__(self):
        return self.to_text()

    def _repr_html_(self):
        return self.to_html()


def _ends(interval, digits):
    low, high = interval
    return f"{low:.{digits}f}", f"{high:.{digits}f}"


def _plain(number):
    return float(number) if np.isfinite(number) else None


def _find(name, names, what, argument=None):
    if not isinstance(name, str) or name not in names:
        given = "" if argument is None else f"{argument}: "
        known = shortened(on_one_line(", ".join(names)), 500)
        raise ValueError(f"{given}unknown {what} {shown(name)}; the table has {known}")
    return names.index(name)


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _bars_escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _markdown(columns, caption) -> str:
    """Return a table in Markdown, of columns of escaped texts of one width each."""
    rows = ["| " + " | ".join(parts) + " |" for parts in zip(*columns)]
    rule = "|" + "|".join("-" * (_width(c[0]) + 2) for c in columns) + "|"
    return "\n".join([rows[0], rule, *rows[1:], "", caption])


def _latex(columns, caption, alignment) -> str:
    """Return a table in LaTeX, of columns of escaped texts, the head first."""
    rows = ["  " + " & ".join(parts) + r" \\" for parts in zip(*columns)]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_tex(caption)}}}",
            rf"  \begin{{tabular}}{{{alignment}}}",
            r"  \toprule",
            rows[0],
            r"  \midrule",
            *rows[1:],
            r"  \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _column(head, texts, align="<"):
    """Texts of a column, padded to its width."""
    texts = [*head, *texts]
    width = max(_width(text) for text in texts)
    return [_pad(text, width, align) for text in texts]


def _measure_column(name, cells, intervals):
    """Column of a measure: value, star, interval and marks, each aligned."""
    values = _column([], [cell.value for cell in cells], ">")
    stars = ["*" if cell.best else " " for cell in cells]
    pieces = [[value + star for value, star in zip(values, stars)]]
    if intervals:
        ends = [_column([], texts, ">") for texts in zip(*(c.ends for c in cells))]
        pieces.append([f"[{low}, {high}]" for low, high in zip(*ends)])
    if any(cell.marks for cell in cells):
        pieces.append(_column([], [cell.marks for cell in cells]))
    return _column([name], [" ".join(parts) for parts in zip(*pieces)])


def _joined(cell, intervals, best, interval, marks):
    """Text of a cell in the formats of a rendering."""
    text = best.format(cell.value) if cell.best else cell.value
    if cell.marks:
        text += marks.format(cell.marks)
    return text + (interval.format(cell.interval) if intervals else "")


def count_wins(
    tables: Mapping[str, ComparisonTable] | Sequence[ComparisonTable],
) -> dict[str, dict[str, int]]:
    """Count the wins of systems over the tables of several data sets.

    Only systems and measures that all tables have are counted; see `winning_number`.

    Parameters
    ----------
    tables : dict of str to ComparisonTable, or sequence of ComparisonTable
        One table for each data set.

    Returns
    -------
    dict of str to dict of str to int
        ``result[measure][system]`` is the winning number of the system.

    Raises
    ------
    ValueError
        If there are no tables, or they share no system or no measure.

    Examples
    --------
    >>> from skrank.metrics import compare, count_wins
    >>> y, groups = [1, 0, 1, 0], [1, 1, 2, 2]
    >>> runs = {"good": [2, 1, 2, 1], "bad": [1, 2, 1, 2]}
    >>> table = compare(runs, y, groups, measures=["map"])
    >>> count_wins([table, table])
    {'map': {'good': 2, 'bad': 0}}
    """
    given: Any = tables.values() if isinstance(tables, Mapping) else tables
    is_array = hasattr(given, "shape")  # also one without axes
    given = list(given) if isinstance(given, Iterable) and not is_array else [given]
    if not all(isinstance(table, ComparisonTable) for table in given):
        raise TypeError(
            "tables must be a sequence or a dict of tables that compare returns, got "
            f"{shown(tables)}"
        )
    if not given:
        raise ValueError("tables must hold at least one table, got none")
    systems = _shared([table.systems for table in given], "system")
    return {
        measure: winning_number(
            {
                system: [table._gain(system, measure) for table in given]
                for system in systems
            }
        )
        for measure in _shared([table.measures for table in given], "measure")
    }


def _shared(names, what):
    shared = [name for name in names[0] if all(name in other for other in names)]
    if not shared:
        raise ValueError(f"the tables have no {what} in common")
    return shared
