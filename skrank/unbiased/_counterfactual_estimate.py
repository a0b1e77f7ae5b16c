"""What counterfactual evaluation returns: estimates, intervals and their support."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._validation import check_options
from skrank.metrics import bootstrap_interval
from skrank.metrics._significance import scale_of, scales_of
from skrank.metrics._table import Digits, _column, _width

IntervalKind = Literal["t", "bootstrap"]

_LINE = 72


class EstimatedDifference(NamedTuple):
    """The difference of two rankers on the same log.

    Attributes
    ----------
    estimate : float
        Estimate of the first ranker less that of the second.
    standard_error : float
        Its standard error.
    interval : tuple of float
        Lower and upper end of its confidence interval.
    pvalue : float
        Two-sided p-value of the t-test of no difference.
    """

    estimate: float
    standard_error: float
    interval: tuple[float, float]
    pvalue: float


class Intervals(NamedTuple):
    """How intervals are made.

    Attributes
    ----------
    kind : {"t", "bootstrap"}
        Student's t, or the bootstrap.
    confidence : float
        Coverage.
    n_resamples : int
        Number of bootstrap samples.
    random_state : int, RandomState instance or None
        Seed of these.
    """

    kind: IntervalKind
    confidence: float
    n_resamples: int
    random_state: Any

    def of_means(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the standard error and the interval of the mean of each column."""
        n, width = values.shape
        known = np.isfinite(values).all(axis=0)
        errors, ends = np.full(width, np.nan), np.full((width, 2), np.nan)
        if n > 1 and known.any():
            errors[known], ends[known] = self._of_known(values[:, known])
        return errors, ends

    def _of_known(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(values)
        scales = scales_of(values)
        scaled = values / scales
        errors = scaled.std(axis=0, ddof=1) / np.sqrt(n) * scales
        if self.kind == "bootstrap":
            ends = bootstrap_interval(
                values,
                confidence=self.confidence,
                n_resamples=self.n_resamples,
                random_state=self.random_state,
            )
            return errors, ends
        half = errors * stats.t.ppf(0.5 + self.confidence / 2, n - 1)
        means = scaled.mean(axis=0) * scales
        return errors, np.column_stack([means - half, means + half])


def values_of_units(
    sums: np.ndarray, norms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return ratios of totals, and numbers of units whose means they are.

    The ratio :math:`\hat\theta = \sum_u A_u / \sum_u B_u` varies over samples of units
    as the mean of :math:`\hat\theta + (A_u - \hat\theta B_u) / \bar B` does.

    Parameters
    ----------
    sums : ndarray of shape (n_units, n_runs)
        Numerators :math:`A_u`.
    norms : ndarray of shape (n_units,)
        Denominators :math:`B_u`.
    """
    scale = scale_of(norms)
    sums, norms = sums / scale, norms / scale
    total = norms.sum()
    if not total > 0:
        return np.full(sums.shape[1], np.nan), np.full(sums.shape, np.nan)
    ratio = sums.sum(axis=0) / total
    inverse = len(norms) / total
    return ratio, ratio + (sums - norms[:, None] * ratio) * inverse


@dataclass(frozen=True, eq=False, repr=False)
class CounterfactualEstimate:
    """What rankers would have reached, by what users did with other rankings.

    Printed as aligned plain text; a notebook shows HTML.

    Attributes
    ----------
    names : tuple of str
        Names of the rankers.
    estimator : str
        How they were evaluated.
    measure_name : str
        Name of the measure.
    greater_is_better : bool
        Direction of the measure.
    estimates : ndarray of shape (n_runs,)
        Estimate of the measure of each ranker.
    standard_errors : ndarray of shape (n_runs,)
        Standard errors, by what differs between queries or sessions; NaN for fewer than
        two of these.
    intervals : ndarray of shape (n_runs, 2)
        Confidence intervals.
    values : ndarray of shape (n_units, n_runs)
        Numbers of queries or of groups of sessions whose means the estimates are. Those
        of two rankers belong together.
    query_ids : ndarray of shape (n_queries,)
        Ids of the queries of the log.
    n_sessions : ndarray of shape (n_queries,)
        Number of sessions of each query.
    per_query : dict of str to ndarray of shape (n_queries,)
        Estimate for each query; NaN where a self-normalised one has no click.
    n_clicks : int or None
        Number of clicks; None where lists have rewards instead.
    effective_sample_sizes : ndarray of shape (n_runs,)
        Number of clicks, or lists, of equal weight that would tell as much; NaN where
        nothing is weighted.
    clipped_share : float
        Share of the weight of all clicks, or lists, that clipping has cut off.
    n_unsupported : ndarray of shape (n_runs,)
        Number of documents with a weight in the measure of which the log does not tell
        anything.
    unsupported_shares : ndarray of shape (n_runs,)
        Share of the weight of the measure, over all sessions, of which the log does not
        tell anything.
    unit : str
        What varies: "query" or "session".
    intervals_by : Intervals
        How intervals are made.
    notes : tuple of str
        What else the caption says.
    """

    names: tuple[str, ...]
    estimator: str
    measure_name: str
    greater_is_better: bool
    estimates: np.ndarray
    standard_errors: np.ndarray
    intervals: np.ndarray
    values: np.ndarray
    query_ids: np.ndarray
    n_sessions: np.ndarray
    per_query: Mapping[str, np.ndarray]
    n_clicks: int | None
    effective_sample_sizes: np.ndarray
    clipped_share: float
    n_unsupported: np.ndarray
    unsupported_shares: np.ndarray
    unit: str
    intervals_by: Intervals
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        return float(self.estimates[self._place(name)])

    def difference(self, first: str, second: str) -> EstimatedDifference:
        """Compare two rankers on the same log, unit by unit.

        What both have in common cancels, so that the interval is narrower than those of
        the two estimates make believe.

        Parameters
        ----------
        first : str
            Name of a ranker.
        second : str
            Name of another one.

        Returns
        -------
        EstimatedDifference
            Estimate of the first less that of the second, with its standard error,
            interval and p-value.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        i, j = self._place(first, "first"), self._place(second, "second")
        values = self.values[:, i] - self.values[:, j]
        errors, ends = self.intervals_by.of_means(values[:, None])
        estimate, error = float(self.estimates[i] - self.estimates[j]), float(errors[0])
        pvalue = np.nan
        if error > 0:
            pvalue = 2 * float(stats.t.sf(abs(estimate) / error, len(values) - 1))
        elif error == 0:
            pvalue = float(estimate == 0)
        low, high = ends[0].tolist()
        return EstimatedDifference(estimate, error, (low, high), pvalue)

    def _place(self, name, argument="name") -> int:
        if not isinstance(name, str) or name not in self.names:
            known = shortened(on_one_line(", ".join(self.names)), 500)
            raise ValueError(
                f"{argument} must be the name of a ranker, one of {known}; got "
                f"{shown(name)}"
            )
        return self.names.index(name)

    def to_text(self, *, digits: Digits = 4) -> str:
        """Render as aligned plain text.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals, at most 1074.

        Returns
        -------
        str
            A table with a line for each ranker, and sentences on what it shows.
        """
        check_options(CounterfactualEstimate.to_text, locals())
        columns = zip(*self._rows(digits))
        aligned = [_column([], c, ">" if i else "<") for i, c in enumerate(columns)]
        lines = ["  ".join(row) for row in zip(*aligned)]
        lines.insert(1, "-" * max(map(_width, lines)))
        return "\n".join([*lines, "", *textwrap.wrap(self._caption(), _LINE)])

    def to_html(self, *, digits: Digits = 4) -> str:
        """Render as an HTML table.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals, at most 1074.

        Returns
        -------
        str
            One ``table`` element; names are escaped.
        """
        check_options(CounterfactualEstimate.to_html, locals())
        head, *rows = self._rows(digits)
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
        return (
            f"<table><caption>{html.escape(self._caption())}</caption><thead><tr>"
            f"{_cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _rows(self, digits) -> list[tuple[str, ...]]:
        """Texts of the cells, the head first."""
        number = lambda value: f"{value:.{digits}f}"
        interval = f"{100 * self.intervals_by.confidence:g} % interval"
        head = ["ranker", self.measure_name, "std. error", interval]
        weighted = not np.isnan(self.effective_sample_sizes).all()
        seen = not np.isnan(self.unsupported_shares).all()
        head += ["eff. size"] * weighted + ["no support"] * seen
        ends = [_column([], map(number, column), ">") for column in self.intervals.T]
        rows = [tuple(head)]
        for i, name in enumerate(self.names):
            row = [on_one_line(name), number(self.estimates[i])]
            row += [number(self.standard_errors[i]), f"[{ends[0][i]}, {ends[1][i]}]"]
            if weighted:
                row.append(f"{self.effective_sample_sizes[i]:.0f}")
            if seen:
                row.append(f"{100 * self.unsupported_shares[i]:.1f} %")
            rows.append(tuple(row))
        return rows

    def _caption(self) -> str:
        """What the table shows."""
        queries, sessions = len(self.query_ids), int(self.n_sessions.sum())
        kind = "t" if self.intervals_by.kind == "t" else "bootstrap"
        units = "queries" if self.unit == "query" else "sessions"
        told = f"{sessions} sessions"
        if self.n_clicks is not None:
            told += f" of {queries} queries with {self.n_clicks} clicks"
        elif self.unit == "query":
            told += f" of {queries} queries"
        sentences = [
            f"Estimator {self.estimator}, from {told}; {kind} intervals over {units}"
        ]
        if not self.greater_is_better:
            sentences[0] += f"; lower is better for {self.measure_name}"
        if self.clipped_share > 0:
            sentences.append(
                f"Clipping cut off {100 * self.clipped_share:.2g} % of the weight"
            )
        return " ".join(f"{one}." for one in [*sentences, *self.notes])

    def __str__(self):
        return self.to_text()

    def __repr__(self):
        found = ", ".join(
            f"{name}={value:.4g}" for name, value in zip(self.names, self.estimates)
        )
        return f"{type(self).__name__}({self.measure_name}: {found})"

    def _repr_html_(self):
        return self.to_html()


def _cells(kind: str, texts: Sequence[str]) -> str:
    return "".join(f"<{kind}>{html.escape(text)}</{kind}>" for text in texts)
