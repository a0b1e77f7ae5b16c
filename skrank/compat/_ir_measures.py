"""A provider of ir_measures: its measures, computed by this package."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from skrank._core._id_arrays import where_among
from skrank._core._validation import check_arguments
from skrank.datasets import Qrels, Run
from skrank.metrics import BaseMeasure, evaluate, get_measure, trec_measures

# What ir_measures calls this provider.
NAME = "skrank"


def _named(name: str, **options: Any) -> BaseMeasure:
    """Return a measure by trec_eval's conventions; arguments of None are left out."""
    given = {key: value for key, value in options.items() if value is not None}
    return get_measure(name, preset="trec_eval").set_params(**given)


def _ndcg(given: dict[str, Any]) -> BaseMeasure:
    gain = "exp2" if given["dcg"] == "exp-log2" else "linear"
    return _named("ndcg", k=given["cutoff"], gain=gain)


def _binary(name: str, *options: str) -> Callable[[dict[str, Any]], BaseMeasure]:
    """Return what makes a measure of relevant documents, with these parameters."""

    def make(given):
        own = {("k" if key == "cutoff" else key): given[key] for key in options}
        return _named(name, relevance_level=given["rel"], **own)

    return make


def _trec(form: str) -> Callable[[dict[str, Any]], str]:
    """Return what makes a name of trec_eval, from a pattern of parameters."""
    return lambda given: form.format(**given)


def _retrieved(given: dict[str, Any]) -> str:
    return "num_ret" if given["rel"] is None else "num_rel_ret"


def _set_precision(given: dict[str, Any]) -> str:
    return "set_relative_P" if given["relative"] else "set_P"


# How the measures of ir_measures are computed: as an object, or by a name of trec_eval.
_MAKERS: dict[str, Callable[[dict[str, Any]], BaseMeasure | str]] = {
    "AP": _binary("map", "cutoff"),
    "Bpref": _binary("bpref"),
    "ERR": lambda given: _named("err", k=given["cutoff"], max_grade=4),
    "IPrec": _trec("iprec_at_recall.{recall}"),
    "infAP": lambda given: "infAP",
    "nDCG": _ndcg,
    "NumQ": lambda given: "num_q",
    "NumRel": lambda given: "num_rel",
    "NumRet": _retrieved,
    "P": _binary("p", "cutoff"),
    "R": _binary("recall", "cutoff"),
    "RBP": _binary("rbp", "cutoff", "p"),
    "Rprec": _binary("rprec"),
    "RR": _binary("rr", "cutoff"),
    "SetAP": lambda given: "set_map",
    "SetF": _trec("set_F.{beta}"),
    "SetP": _set_precision,
    "SetR": lambda given: "set_recall",
    "Success": _binary("success", "cutoff"),
}


def ir_measures_provider(*, first: bool = False) -> Any:
    """Return a provider of ir_measures that computes by this package.

    The provider is registered with ir_measures as ``"skrank"``. It has the conventions
    of trec_eval, in which it agrees with the provider ``pytrec_eval`` but for
    ``IPrec``, which trec_eval computes anew since its version 9, and in addition
    reciprocal ranks with a cut-off, ERR and NDCG with the gain 2^y − 1 (those of
    ``gdeval``), and RBP of relevant documents.

    Parameters
    ----------
    first : bool, default=False
        Whether ir_measures asks this provider before others for the measures that it
        supports, in ``ir_measures.calc_aggregate`` and the like. Otherwise it computes
        only what no other installed provider does, or what its own methods are asked
        for.

    Returns
    -------
    ir_measures.Provider
        The same object for every call.

    Raises
    ------
    ImportError
        If ir_measures is not installed.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents.

    Examples
    --------
    >>> import ir_measures  # doctest: +SKIP
    >>> from ir_measures import AP, nDCG  # doctest: +SKIP
    >>> from skrank.compat import ir_measures_provider
    >>> provider = ir_measures_provider()  # doctest: +SKIP
    >>> provider.calc_aggregate([AP, nDCG @ 10], qrels, run)  # doctest: +SKIP
    {AP: 0.2895, nDCG@10: 0.4017}
    """
    check_arguments(ir_measures_provider, first=first)
    provider = _provider()
    import ir_measures

    pipeline = ir_measures.DefaultPipeline.providers
    if provider in pipeline:
        pipeline.remove(provider)
    pipeline.insert(0 if first else len(pipeline), provider)
    return provider


@cache
def _provider() -> Any:
    """Make and register the provider, whose classes need ir_measures."""
    try:
        from ir_measures import Metric, providers
    except ImportError:
        raise ImportError(
            "ir_measures_provider needs ir_measures; install it with: pip install "
            "ir_measures"
        ) from None

    class SkrankEvaluator(providers.Evaluator):
        """Values of measures for one set of judgements."""

        def __init__(self, measures, qrels):
            self.qrels = Qrels.from_ir_measures(qrels)
            super().__init__(measures, set(self.qrels.groups.tolist()))

        def _iter_calc(self, run) -> Iterator[Any]:
            run = Run.from_ir_measures(run)
            for measure, queries, values in _values(self.measures, self.qrels, run):
                for query, value in zip(queries, values):
                    yield Metric(query_id=query, measure=measure, value=value)

    class SkrankProvider(providers.Provider):
        """Measures of skrank, by the conventions of trec_eval."""

        NAME = NAME
        SUPPORTED_MEASURES = _supported()

        def _evaluator(self, measures, qrels):
            return SkrankEvaluator(list(measures), qrels)

        def install_instructions(self):
            return "pip install skrank"

    return providers.register(SkrankProvider())


def _kind_of(measure: Any, **parameters: Any) -> Any:
    """Return a measure of the same kind with other parameters."""
    return type(measure)(**parameters)


def _supported() -> list:
    """Return the measures of ir_measures, with the parameters that are supported."""
    import ir_measures
    from ir_measures.providers.base import NOT_PROVIDED, Choices
    from ir_measures.providers.base import Any as Anything

    class Level:
        """A grade from which documents are relevant: one that nobody has by default."""

        def __init__(self, optional=False):
            self.optional = optional

        def validate(self, value):
            """Whether this is a grade above 0."""
            if value is NOT_PROVIDED:
                return self.optional
            return isinstance(value, int | float) and value > 0

        def __repr__(self):
            return "ABOVE 0"

    rel, any_value, required = Level(), Anything(), Anything(required=True)
    ranked = {"cutoff": any_value, "rel": rel, "judged_only": any_value}
    cut = {"cutoff": required, "rel": rel, "judged_only": any_value}
    whole = {"rel": rel, "judged_only": any_value}
    return [
        _kind_of(ir_measures.AP, **ranked),
        _kind_of(ir_measures.Bpref, rel=rel),
        _kind_of(ir_measures.ERR, cutoff=any_value),
        _kind_of(ir_measures.IPrec, recall=required, rel=rel, judged_only=any_value),
        _kind_of(ir_measures.infAP, rel=rel),
        _kind_of(
            ir_measures.nDCG,
            cutoff=any_value,
            dcg=Choices("log2"),
            gains=any_value,
            judged_only=any_value,
        ),
        _kind_of(
            ir_measures.nDCG,
            cutoff=any_value,
            dcg=Choices("exp-log2"),
            gains=Choices(NOT_PROVIDED),
            judged_only=any_value,
        ),
        _kind_of(ir_measures.NumQ),
        _kind_of(ir_measures.NumRel, rel=rel),
        _kind_of(ir_measures.NumRet, rel=Level(optional=True)),
        _kind_of(ir_measures.P, **cut),
        _kind_of(ir_measures.R, **cut),
        _kind_of(ir_measures.RBP, cutoff=any_value, p=any_value, rel=rel),
        _kind_of(ir_measures.Rprec, **whole),
        _kind_of(ir_measures.RR, **ranked),
        _kind_of(ir_measures.SetAP, **whole),
        _kind_of(ir_measures.SetF, beta=any_value, **whole),
        _kind_of(ir_measures.SetP, relative=any_value, **whole),
        _kind_of(ir_measures.SetR, rel=rel),
        _kind_of(ir_measures.Success, **cut),
    ]


@dataclass(frozen=True)
class _Wanted:
    """A measure of ir_measures, and what computes it."""

    measure: Any
    given: dict[str, Any]
    maker: BaseMeasure | str

    @classmethod
    def of(cls, measure: Any) -> "_Wanted":
        """Read the parameters of a measure; None stands for those without a value."""
        from ir_measures.providers.base import NOT_PROVIDED

        given = {name: measure[name] for name in measure.SUPPORTED_PARAMS}
        given = {k: None if v is NOT_PROVIDED else v for k, v in given.items()}
        return cls(measure, given, _MAKERS[measure.NAME](given))


def _values(
    measures: Iterable[Any], qrels: Qrels, run: Run
) -> Iterator[tuple[Any, list, list]]:
    """Yield measures with the queries that are judged and retrieved, and the values."""
    run = _rows_of(run, where_among(run.groups, np.unique(qrels.groups)))
    judged = None
    for measure in measures:
        wanted = _Wanted.of(measure)
        grades = qrels
        if wanted.given.get("gains"):
            gains = wanted.given["gains"]
            y = [gains.get(grade, grade) for grade in qrels.y.tolist()]
            grades = Qrels(qrels.groups, qrels.docids, np.array(y, dtype=np.float64))
        ranked = run
        if wanted.given.get("judged_only"):
            judged = _judged_part(qrels, run) if judged is None else judged
            ranked = judged
        if len(ranked.scores):
            yield (measure, *_evaluated(wanted, grades, ranked))


def _rows_of(run: Run, kept: np.ndarray) -> Run:
    return Run(run.groups[kept], run.docids[kept], run.scores[kept], run.tag)


def _judged_part(qrels: Qrels, run: Run) -> Run:
    """Return the rows of a run whose documents are judged."""
    known = qrels.y >= 0
    pairs = set(zip(qrels.groups[known].tolist(), qrels.docids[known].tolist()))
    rows = zip(run.groups.tolist(), run.docids.tolist())
    kept = np.fromiter((row in pairs for row in rows), bool, len(run.scores))
    return _rows_of(run, kept)


def _evaluated(wanted: _Wanted, qrels: Qrels, run: Run) -> tuple[list, list]:
    """Return the queries of a run, and the values of a measure."""
    if wanted.maker == "num_q":
        queries = np.unique(run.groups).tolist()
        return queries, [1] * len(queries)
    if isinstance(wanted.maker, BaseMeasure):
        result = evaluate(qrels, run, wanted.maker)
        (values,) = result.per_query.values()
        return result.query_ids.tolist(), values.tolist()
    level = wanted.given.get("rel") or 1
    found = trec_measures(qrels, run, wanted.maker, relevance_level=level)
    (values,) = found.per_query.values()
    return found.topics, values.tolist()
