"""Comparison of runs by judgements."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np

from skrank._core._id_arrays import id_array
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, NThreads, PositiveInt, Seed
from skrank._core._validation import check_options
from skrank.datasets._run_likes import (
    QrelsLike,
    RunLike,
    qrels_and_run,
    refuse_several_as_qrels,
)
from skrank.datasets._runs import Qrels, Run
from skrank.metrics._base import BaseMeasure
from skrank.metrics._compare import Design, check_names_of_runs, resolve_measures
from skrank.metrics._evaluate_runs import Layouts
from skrank.metrics._table import ComparisonTable


def compare_runs(
    qrels: QrelsLike,
    runs: Mapping[str, RunLike],
    measures: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable] = (
        "ndcg@10",
        "map",
    ),
    *,
    test: Literal["fisher", "t", "wilcoxon", "tukey"] = "fisher",
    correction: Literal["holm", "bonferroni"] | None = "holm",
    reference: str | None = None,
    level: Fraction = 0.05,
    confidence: Fraction = 0.95,
    preset: str | None = None,
    n_permutations: PositiveInt = 10_000,
    n_resamples: PositiveInt = 2_000,
    random_state: Seed = 0,
    n_jobs: NThreads = None,
) -> ComparisonTable:
    """Compare runs by judgements, with intervals and significance.

    The values are those of `evaluate` with ``complete=True``: all runs are evaluated on
    all judged queries, and a run retrieves nothing for a query that it lacks. The tests
    are those of `compare`, which takes rows with grades and scores instead.

    Parameters
    ----------
    qrels : Qrels, mapping {query: {document: grade}}, data frame, path or other table
        Judgements, in any form that `evaluate` takes.
    runs : dict of str to Run, mapping, data frame, path or other table
        Runs by the names of the systems, in any form that `evaluate` takes.
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
        Conventions for what names leave open, a key of `PRESETS`; None means
        "trec_eval".
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
        If there are no runs, a name or an option is unknown, or a run and the
        judgements do not go together, as in `evaluate`.
    TypeError
        If a table is of another kind, or both are in each other's place.
    OSError
        If a file cannot be read.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents and judgements, beside the tests.

    Examples
    --------
    >>> from skrank.metrics import compare_runs
    >>> qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(9)}
    >>> good = {query: {"a": 0.9, "b": 0.1} for query in qrels}
    >>> bad = {query: {"a": 0.2, "b": 0.3} for query in qrels}
    >>> table = compare_runs(qrels, {"good": good, "bad": bad}, ["map"])
    >>> table.means.tolist(), table.marks("good", "map")
    ([[1.0], [0.5]], 'b')
    """
    check_options(compare_runs, locals())
    refuse_several_as_qrels(qrels, "compare_runs")
    check_names_of_runs(runs, reference, "runs, such as mappings or paths")
    preset = preset or "trec_eval"
    resolved = resolve_measures(measures, preset)
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
    tables: dict[str, tuple[Qrels, Run]] = {}
    for name, run in runs.items():
        with _named(f"runs[{shown(name)}]"):
            tables[str(name)] = qrels_and_run(qrels, run, "compare_runs")
        qrels = tables[str(name)][0]
    called = {str(name): f"runs[{shown(name)}]" for name in runs}
    return table_of_runs(design, resolved, tables, called, n_jobs)


def table_of_runs(
    design: Design,
    measures: Sequence[BaseMeasure],
    tables: Mapping[str, tuple[Qrels, Run]],
    called: Mapping[str, str],
    n_jobs: int | None = None,
) -> ComparisonTable:
    """Compare runs that were read.

    Parameters
    ----------
    design : Design
        How values become a table.
    measures : sequence of BaseMeasure
        Measures.
    tables : dict of str to (Qrels, Run)
        The judgements, the same for all, and the run of each system.
    called : dict of str to str
        What errors call the run of each system.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ComparisonTable
    """
    columns, queries = [], np.array([])
    for name, table in tables.items():
        with _named(called[name]):
            joined = Layouts(table, complete=True, depth=None)
            queries = id_array(joined.any().queries)
        columns.append([joined.values_of(measure, n_jobs) for measure in measures])
    values = [np.column_stack(of_measure) for of_measure in zip(*columns)]
    return design.table(measures, tuple(tables), values, queries)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of a run before errors about it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if re.match("(compare_runs: )?qrels", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
