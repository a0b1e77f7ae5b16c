"""Evaluate runs against judgements by any measure of the package."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from skrank._core._id_arrays import id_array
from skrank._core._messages import shown
from skrank._core._parameters import NThreads, PositiveInt
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_options
from skrank.datasets._judged_run import JoinedRun, join_run
from skrank.datasets._run_likes import QrelsLike, RunLike, qrels_and_run
from skrank.datasets._runs import Qrels, Run
from skrank.metrics._base import BaseMeasure
from skrank.metrics._conventions import conventions_of
from skrank.metrics._evaluate import values_of_queries
from skrank.metrics._evaluation_result import EvaluationResult
from skrank.metrics._ranked_documents import DocumentsInOrder, RankedDocuments
from skrank.metrics._registry import get_measure, name_if_foreign
from skrank.metrics._trec import trec_measures
from skrank.metrics._trec_names import Column, columns

_TREC_EVAL = "trec_eval"
# Treatments of equal scores that need to know nothing of the measure.
_SHARED = ("docid", "average", "stable")


def evaluate(
    qrels: QrelsLike,
    run: RunLike,
    measures: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable] = (
        "ndcg@10",
        "map",
    ),
    *,
    preset: str | None = None,
    complete: bool = False,
    depth: PositiveInt | None = None,
    n_jobs: NThreads = None,
) -> EvaluationResult:
    """Evaluate a run against judgements, per query and in the mean.

    The conventions are those of trec_eval unless ``preset`` says otherwise: the gain is
    the grade, equal scores (in single precision) are ordered by decreasing document id,
    a query without relevant documents counts 0, and only queries that are both judged
    and in the run are evaluated. Judged documents that were not retrieved count as
    relevant documents and in ideal rankings.

    Parameters
    ----------
    qrels : Qrels, mapping {query: {document: grade}}, data frame, path or other table
        Judgements, as from `skrank.datasets.load_qrels`, or the path of such a file. A
        data frame has the columns ``query_id``, ``doc_id`` and ``relevance``, as in
        ir_measures, or ``qid``, ``docno`` and ``label``, as in PyTerrier. Three arrays,
        of queries, documents and grades, a ``Qrels`` of ranx and records of ir_measures
        are taken, too.
    run : Run, mapping {query: {document: score}}, data frame, path or other table
        Retrieved documents, likewise; a data frame has the column ``score``. Runs and
        judgements in each other's place are an error. Mappings and arrays look alike:
        of them, it is found out only if the first has fractions and the second none.
    measures : str, measure, callable or sequence of them, default=("ndcg@10", "map")
        Measures, their names, or functions of one query; see `get_measure`. Under
        trec_eval's conventions, the measures that `trec_measures` alone knows, such as
        ``"infAP"`` or ``"num_rel_ret"``, can be named, too.
    preset : str, default=None
        Conventions for what names leave open, a key of `PRESETS`; None means
        "trec_eval". Measures that are objects have their own. Documents of equal score
        are in "row order" as the run lists them.
    complete : bool, default=False
        Whether judged queries that the run lacks are evaluated as well, with nothing
        retrieved (trec_eval's ``-c``).
    depth : int, default=None
        Number of best documents of each query to evaluate (trec_eval's ``-M``); None
        takes all documents. Where it cuts between equal scores, those of greatest
        document id stay, whatever the preset.
    n_jobs : int, default=None
        Number of threads that measures use; None asks for all CPUs.

    Returns
    -------
    EvaluationResult
        Values by measure and query; it prints as a table.

    Raises
    ------
    ValueError
        If a measure or the preset is unknown, a measure is named twice, no query is
        both judged and in the run, ids of documents have different types in judgements
        and run, an id is missing, a document occurs twice for a
        query, a score is NaN, or numbers tell that run and judgements are swapped.
    TypeError
        If a table is of another kind, or run and judgements are swapped.
    OSError
        If a file cannot be read.

    Warns
    -----
    UndefinedMetricWarning
        If no query carries information for a measure, or one of binary relevance finds
        every document relevant though grades differ.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents and judgements.

    Examples
    --------
    >>> from skrank.metrics import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1}}
    >>> run = {"q1": {"b": 0.9, "a": 0.8}, "q2": {"a": 0.5, "d": 0.1}}
    >>> result = evaluate(qrels, run, ["ndcg@10", "map", "num_rel_ret"])
    >>> result
    measure       value
    -------------------
    ndcg@10      0.7398
    map          0.6250
    num_rel_ret       2
    <BLANKLINE>
    Means over 2 queries; num_rel_ret is a sum. Conventions of preset
    trec_eval: linear gain y; discount 1/log2(1 + rank); equal scores by
    falling document id; 0 for queries without relevant documents; relevant
    above 0.
    >>> result["map"], result.per_query["map"].tolist()
    (0.625, [0.25, 1.0])
    """
    check_options(evaluate, locals())
    wanted = _resolved(measures, preset or _TREC_EVAL)
    table = qrels_and_run(qrels, run, "evaluate")
    joined = Layouts(table, complete, depth)
    values, summaries, kinds = {}, {}, {}
    for name, measure in wanted.items():
        if isinstance(measure, Column):
            found = trec_measures(*table, name, complete=complete, max_results=depth)
            values[name] = found.per_query[name]
            summaries[name] = found.summary[name]
            kinds[name] = found.summarised_by[name]
        else:
            values[name] = joined.values_of(measure, n_jobs)
            summaries[name] = measure.mean(values[name])
            kinds[name] = "mean"
    any_join = joined.any()
    return EvaluationResult(
        measures=tuple(wanted),
        query_ids=id_array(any_join.queries),
        per_query=values,
        summary=summaries,
        summarised_by=kinds,
        run_id=table[1].tag,
        preset=preset or _TREC_EVAL,
        complete=complete,
        unjudged_queries=any_join.unjudged_queries,
        unretrieved_queries=any_join.unretrieved_queries,
        conventions=_conventions(wanted.values(), preset or _TREC_EVAL),
    )


def _conventions(measures, preset):
    """The conventions of measures in words; columns are trec_eval's own."""
    ours = [measure for measure in measures if isinstance(measure, BaseMeasure)]
    return conventions_of(ours, preset) or f"Conventions of preset {preset}"


class Layouts:
    """A run joined with judgements, in the orders of documents that measures take."""

    def __init__(self, table: tuple[Qrels, Run], complete: bool, depth: int | None):
        self._table, self._complete, self._depth = table, complete, depth
        self._made: dict[bool, JoinedRun] = {}
        self._documents: dict[tuple[str, int], RankedDocuments | None] = {}

    def of(self, ranked: bool) -> JoinedRun:
        """Return the documents in trec_eval's order, or in that of the run."""
        if ranked not in self._made:
            self._made[ranked] = join_run(
                *self._table, self._complete, self._depth, ranked=ranked
            )
        return self._made[ranked]

    def any(self) -> JoinedRun:
        """Return any of the orders, for what they share."""
        return next(iter(self._made.values()), None) or self.of(True)

    def values_of(self, measure: BaseMeasure, n_jobs: int | None) -> np.ndarray:
        """Return one value per query."""
        ties = getattr(measure, "ties", None)
        joined = self.of(ties == "docid")
        shared = None
        if ties in _SHARED and measure._evaluates_documents():
            shared = self._shared(ties, effective_n_threads(n_jobs))
        if ties == "docid":
            # They are in this order already, and comparing ids again takes long.
            measure = copy.copy(measure)
            measure.ties = "stable"
        options = {} if shared else {"n_threads": n_jobs}
        return values_of_queries(
            measure, joined.y, joined.scores, joined.ptr, documents=shared, **options
        )

    def _shared(self, ties: Any, n_threads: int) -> RankedDocuments | None:
        """Return the documents as all measures of a treatment of ties see them.

        None if there is a query without documents, which measures are not to see.
        """
        key = ties, n_threads
        if key not in self._documents:
            joined = self.of(ties == "docid")
            kind = DocumentsInOrder if ties == "docid" else RankedDocuments
            has_all = bool((joined.ptr[1:] > joined.ptr[:-1]).all())
            self._documents[key] = (
                kind(
                    joined.y.filled(0.0),
                    joined.scores,
                    joined.ptr,
                    ties="stable" if ties == "docid" else ties,
                    judged=~np.ma.getmaskarray(joined.y),
                    n_threads=n_threads,
                )
                if has_all
                else None
            )
        return self._documents[key]


def _resolved(measures, preset) -> dict[str, BaseMeasure | Column]:
    """Return measures by the names that the user gave, or by their own."""
    if isinstance(measures, (str, BaseMeasure)) or callable(measures):
        measures = [measures]
    is_single = isinstance(measures, (bytes, bytearray)) or not getattr(
        measures, "ndim", 1
    )
    if is_single or not isinstance(measures, Iterable):
        raise TypeError(
            "evaluate: measures must be a measure, the name of one, or a sequence of "
            f"them, got {shown(measures)}"
        )
    named = [pair for measure in measures for pair in _named(measure, preset)]
    if not named:
        raise ValueError("evaluate: measures must name at least one measure, got none")
    wanted = dict(named)
    if len(wanted) < len(named):
        names = [name for name, _ in named]
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"evaluate: measures has {shown(repeated)} twice")
    return wanted


def _named(given, preset) -> list[tuple[str, BaseMeasure | Column]]:
    """Return a measure with its name; several for a name of trec_eval with cut-offs."""
    if isinstance(given, BaseMeasure):
        return [(given.name, given)]
    measure: Any = name_if_foreign(given)
    if not isinstance(measure, str):
        has_conventions = hasattr(measure, "measure_class")
        found = get_measure(measure, preset if has_conventions else None)
        return [(found.name, found)]
    try:
        return [(measure, get_measure(given, preset))]
    except ValueError:
        if preset != _TREC_EVAL:
            raise
        known = _trec_columns(measure)
        if not known:
            raise
    return [(column.name, column) for column in known]


def _trec_columns(name) -> list[Column]:
    """Return the numbers that trec_eval knows by a name, none if there are none."""
    try:
        found = columns(name, "qrels")
    except ValueError:
        return []
    return [column for column in found if column.family.function is not None]
