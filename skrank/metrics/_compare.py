"""Comparison of several systems on the same queries."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._inner import scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, NThreads, PositiveInt, Seed
from skrank._core._queries import QueryIndex
from skrank._core._sparse import is_mapping
from skrank._core._validation import (
    check_options,
    check_scores,
    n_rows,
    naming,
    resolve_groups,
)
from skrank.metrics._base import BaseMeasure
from skrank.metrics._conventions import conventions_of
from skrank.metrics._evaluate import check_docids, check_judgements, values_of_queries
from skrank.metrics._leakage import check_query_leakage
from skrank.metrics._registry import get_measure
from skrank.metrics._row_arguments import check_row_arguments, refuse_unused, rows_for
from skrank.metrics._significance import (
    bootstrap_interval,
    fisher_randomization_test,
    holm_correction,
    paired_t_test,
    tukey_hsd,
    wilcoxon_test,
)
from skrank.metrics._table import ComparisonTable


def _per_query(measures, grades, scores, index, docids, rows, n_threads):
    """Values of each measure, shape (n_queries, n_systems)."""
    found = []
    for measure in measures:
        options = {"docids": docids, "n_threads": n_threads}
        options |= rows_for(measure, rows, index)
        columns = [
            values_of_queries(measure, grades, run, index.ptr, **options)
            for run in scores.values()
        ]
        found.append(np.column_stack(columns))
    return found


def compare(
    runs: Mapping[str, Any],
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    X: Any = None,
    measures: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable] = (
        "ndcg@10",
        "map",
    ),
    test: Literal["fisher", "t", "wilcoxon", "tukey"] = "fisher",
    correction: Literal["holm", "bonferroni"] | None = "holm",
    reference: str | None = None,
    level: Fraction = 0.05,
    confidence: Fraction = 0.95,
    preset: str | None = None,
    docids: npt.ArrayLike | None = None,
    row_arguments: Mapping[str, Any] | None = None,
    n_permutations: PositiveInt = 10_000,
    n_resamples: PositiveInt = 2_000,
    random_state: Seed = 0,
    n_jobs: NThreads = None,
) -> ComparisonTable:
    """Compare systems on the same queries, with intervals and significance.

    For runs and judgements as `evaluate` takes them there is `compare_runs`.

    Every measure is one family of tests for the correction: all pairs of systems, or
    all systems against ``reference``. A query on which a measure is undefined (such as
    one without relevant documents) is left out for all systems and counted in the
    notes of the table.

    Parameters
    ----------
    runs : dict of str to array-like of shape (n_samples,), or to fitted ranker
        Scores of each system, higher is better, −inf for documents that it did not
        retrieve; or a fitted estimator whose ``predict`` gives the scores for ``X``.
    y : array-like of shape (n_samples,)
        Grades of the documents; masked where nobody judged the document.
    groups : array-like of shape (n_samples,), default=None
        Query of each row; None reads a pandas index level ``qid`` of ``y`` or ``X``.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Documents, needed if ``runs`` holds rankers.
    measures : sequence of str, measures or callables, default=("ndcg@10", "map")
        Measures, their names or functions of one query, as in `get_measure`.
    test : {"fisher", "t", "wilcoxon", "tukey"}, default="fisher"
        `fisher_randomization_test`, `paired_t_test`, `wilcoxon_test` or `tukey_hsd`.
    correction : {"holm", "bonferroni"} or None, default="holm"
        Correction for several tests; Tukey's test needs none and ignores it.
    reference : str, default=None
        Name of the system with which the others are compared; None for all pairs.
    level : float, default=0.05
        P-values below it count as significant.
    confidence : float, default=0.95
        Coverage of the bootstrap intervals.
    preset : str, default=None
        Conventions of the measures, as in `get_measure`.
    docids : array-like of shape (n_samples,), default=None
        Document ids, needed by conventions that break ties by them (trec_eval).
    row_arguments : dict of str to array-like, default=None
        What else measures need, with one entry per row, by name.
    n_permutations : int, default=10_000
        Number of permutations of the tests ``"fisher"`` and ``"tukey"``.
    n_resamples : int, default=2_000
        Number of bootstrap samples.
    random_state : int, RandomState instance or None, default=0
        Seed of permutations and samples; the same integer gives the same table.
    n_jobs : int, default=None
        Number of threads that measures use; None asks for all CPUs.

    Returns
    -------
    ComparisonTable
        The results; they print as a table and have other renderings.

    Raises
    ------
    ValueError
        If there are no runs, lengths differ, a name or an option is unknown, or X is
        missing.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import compare
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 3, size=400), np.repeat(np.arange(40), 10)
    >>> runs = {"good": y + rng.normal(size=400), "random": rng.normal(size=400)}
    >>> table = compare(runs, y, groups, measures=["ndcg@5"])
    >>> table.marks("good", "ndcg@5"), table.marks("random", "ndcg@5")
    ('b', '')
    """
    check_options(compare, locals())
    check_names_of_runs(runs, reference, "scores or fitted rankers")
    n = n_rows(y, "y")
    ids = resolve_groups(groups, y, X, n_samples=n, caller="compare")
    index = QueryIndex.from_groups(ids, canonical=True)
    grades = index.take(check_judgements(y, n_samples=n))
    scores = {
        str(name): index.take(_scores_of(name, run, X, ids, n))
        for name, run in runs.items()
    }
    systems = tuple(scores)
    design = Design(
        test=test,
        correction=correction,
        reference=reference,
        level=level,
        confidence=confidence,
        n_permutations=n_permutations,
        n_resamples=n_resamples,
        random_state=random_state,
        preset=preset,
    )
    resolved = resolve_measures(measures, preset)
    ids_of_ties = index.take(check_docids(docids, n))
    rows = check_row_arguments(row_arguments, n)
    refuse_unused(rows, resolved)
    values = _per_query(resolved, grades, scores, index, ids_of_ties, rows, n_jobs)
    return design.table(resolved, systems, values, index.ids)


_PAIRED = {"t": paired_t_test, "wilcoxon": wilcoxon_test}


def check_names_of_runs(runs: Any, reference: str | None, what: str) -> None:
    """Raise an error unless runs have names, the reference being one of them.

    Parameters
    ----------
    runs : object
        What was given as a dict of runs.
    reference : str or None
        Name of a system.
    what : str
        What a run may be, for the message.

    Raises
    ------
    ValueError
        If it is no dict, or empty, or names repeat or do not hold the reference.
    """
    if not is_mapping(runs) or not runs:
        raise ValueError(
            f"runs must be a dict of names to {what} with at least one entry, got "
            f"{shown(runs)}"
        )
    if len({str(name) for name in runs}) < len(runs):
        raise ValueError(f"names of runs must differ as text, got {list(runs)}")
    if reference is not None and reference not in [str(name) for name in runs]:
        raise ValueError(
            f"reference {shown(reference)} is not among runs: {shown(list(runs))}"
        )


def _scores_of(name, run, X, groups, n_samples):
    """Scores of a run, or of a ranker's predictions for X."""
    if hasattr(run, "predict"):
        if X is None:
            raise ValueError(
                f"runs[{shown(name)}] is a ranker, which needs X to predict"
            )
        check_query_leakage(run, groups, stacklevel=4)
        run = scores_of(run, X, groups, response_method="predict")
    return check_scores(run, n_samples, name=f"runs[{shown(name)}]")


def resolve_measures(
    measures: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable],
    preset: str | None,
    argument: str = "measures",
) -> list[BaseMeasure]:
    """Return measures of which some may be given by their names.

    Parameters
    ----------
    measures : str, measure, function, or sequence of them
        Measures, as in `compare`.
    preset : str or None
        Conventions of those that are named.
    argument : str, default="measures"
        Name of the argument, for error messages.

    Returns
    -------
    list of BaseMeasure

    Raises
    ------
    ValueError
        If there are none, one is unknown, or two have the same name.
    """
    if not isinstance(measures, Sequence) or isinstance(measures, str):
        measures = [measures]
    with naming(argument):
        resolved = [
            measure
            if isinstance(measure, BaseMeasure)
            else get_measure(measure, preset if _has_conventions(measure) else None)
            for measure in measures
        ]
    names = [measure.name for measure in resolved]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"{argument} must be named once each and at least one: {names}"
        )
    return resolved


def _has_conventions(measure) -> bool:
    """Return whether a preset may decide on something; functions decide themselves."""
    return not callable(measure) or hasattr(measure, "measure_class")


def _tested_pairs(n_systems, reference):
    """Pairs of systems of one family of tests."""
    if reference is None:
        return list(itertools.combinations(range(n_systems), 2))
    return [(reference, i) for i in range(n_systems) if i != reference]


def _pvalues(values, pairs, design):
    """Corrected p-values of the pairs, from values of shape (n_queries, n_systems)."""
    if design.test == "tukey":
        matrix = tukey_hsd(
            values,
            n_permutations=design.n_permutations,
            random_state=design.random_state,
        )
        return np.array([matrix[pair] for pair in pairs])
    options = {}
    if design.test == "fisher":
        options = {
            "n_permutations": design.n_permutations,
            "random_state": design.random_state,
        }
    run_test = {**_PAIRED, "fisher": fisher_randomization_test}[design.test]
    single = np.array(
        [run_test(values[:, i], values[:, j], **options).pvalue for i, j in pairs]
    )
    if design.correction == "holm":
        return holm_correction(single)
    if design.correction == "bonferroni":
        return np.minimum(single * len(single), 1.0)
    return single


@dataclass(frozen=True, kw_only=True)
class Design:
    """How the values of measures are turned into a table with tests.

    The attributes are the arguments of `compare`.
    """

    test: Literal["fisher", "t", "wilcoxon", "tukey"] = "fisher"
    correction: Literal["holm", "bonferroni"] | None = "holm"
    reference: str | None = None
    level: float = 0.05
    confidence: float = 0.95
    n_permutations: int = 10_000
    n_resamples: int = 2_000
    random_state: int | np.random.RandomState | None = 0
    preset: str | None = None

    def table(
        self,
        measures: Sequence[BaseMeasure],
        systems: Sequence[str],
        values: Sequence[np.ndarray],
        query_ids: np.ndarray,
        notes: Sequence[str] = (),
    ) -> ComparisonTable:
        """Compare systems by their values on each query.

        Parameters
        ----------
        measures : sequence of BaseMeasure
            Measures.
        systems : sequence of str
            Names of the systems.
        values : sequence of ndarray of shape (n_queries, n_systems)
            Values of each measure.
        query_ids : ndarray of shape (n_queries,)
            Ids of the queries.
        notes : sequence of str, default=()
            What the caption says besides.

        Returns
        -------
        ComparisonTable
        """
        systems = tuple(systems)
        place = None if self.reference is None else systems.index(self.reference)
        analysed = [self._analyse(columns, place) for columns in values]
        both = list(zip(measures, values))
        return ComparisonTable(
            systems=systems,
            measures=tuple(m.name for m in measures),
            per_query={m.name: dict(zip(systems, v.T)) for m, v in both},
            query_ids=query_ids,
            means=np.array([[m.mean(c) for c in v.T] for m, v in both]).T,
            intervals=np.stack([intervals for intervals, _ in analysed], axis=1),
            pvalues=np.stack([pvalues for _, pvalues in analysed]),
            greater_is_better=tuple(m.greater_is_better for m in measures),
            test=self.test,
            correction=None if self.test == "tukey" else self.correction,
            reference=self.reference,
            level=self.level,
            confidence=self.confidence,
            notes=tuple(notes),
            conventions=conventions_of(measures, self.preset),
        )

    def _analyse(self, values, reference):
        """Return intervals and matrix of p-values; NaN for fewer than two queries."""
        n_systems = values.shape[1]
        pvalues = np.full((n_systems, n_systems), np.nan)
        defined = values[~np.isnan(values).any(axis=1)]
        if len(defined) < 2:
            return np.full((n_systems, 2), np.nan), pvalues
        intervals = bootstrap_interval(
            defined,
            confidence=self.confidence,
            n_resamples=self.n_resamples,
            random_state=self.random_state,
        )
        pairs = _tested_pairs(n_systems, reference)
        if pairs:
            first, second = np.array(pairs).T
            pvalues[first, second] = _pvalues(defined, pairs, self)
            pvalues[second, first] = pvalues[first, second]
        return intervals, pvalues
