"""``skrank evaluate``: a run against judgements, or scores against LETOR grades.

The measures, their names and their layout are those of `skrank.metrics.trec_measures`.
"""

import numpy as np

from skrank._core._validation import check_grades
from skrank.cli import _measures
from skrank.cli._errors import CommandError
from skrank.cli._io import (
    plain_number,
    read_letor,
    read_scores,
    report,
    source,
)
from skrank.cli._models import naming_files
from skrank.cli._options import STANDARD, given, refuse_unused
from skrank.cli._trec import read_judgements, read_zscores
from skrank.datasets import load_run
from skrank.metrics import trec_measures
from skrank.metrics._trec import trec_line

# Options of trec_eval, which are conventions of --preset for LETOR text.
_OF_RUNS = ("complete", "level", "max_docs", "judgement_format", "zscores")


def run(args):
    """Evaluate and report."""
    if args.json == STANDARD:
        refuse_unused(args, "with --json -, which prints no lines", ("no_summary",))
    if args.letor is not None or args.scores is not None:
        _run_letor(args)
    else:
        _run_trec(args)


def _run_trec(args):
    if args.run is None or args.qrels is None:
        raise CommandError(
            "evaluate takes a run and judgements, or --letor FILE --scores FILE"
        )
    if "metrics" in given(args):
        raise CommandError(
            "--metrics has no effect on a run and judgements, whose measures are named "
            "by -m as trec_eval names them, as in -m map -m ndcg_cut.10"
        )
    refuse_unused(args, "on a run and judgements", ("preset", "jobs"))
    if args.judgement_format in ("prefs", "qrels_prefs"):
        # Preferences have no relevant documents, only better ones.
        refuse_unused(args, f"with -R {args.judgement_format}", ("level",))
    limit = args.max_bytes
    run = load_run(source(args.run, limit), max_bytes=limit)
    result = trec_measures(
        (run.groups, run.docids, run.scores),
        read_judgements(args.qrels, args.judgement_format, limit),
        args.measure or "official",
        judgement_format=args.judgement_format,
        relevance_level=args.level,
        max_results=args.max_docs,
        complete=args.complete,
        run_id=run.tag,
    )
    if args.zscores is not None:
        result = result.standardized(read_zscores(args.zscores, limit))
    lines = list(result.lines(args.per_query))
    if args.no_summary:
        lines = lines[: len(lines) - len(result.summary)]
    document = _trec_document(result, run.tag, args.per_query)
    report("\n".join(lines), document, "evaluate", args.json)


def _trec_document(result, tag, per_query):
    """Summary and values of queries for JSON: counts stay integers."""
    summary = {k: v for k, v in result.summary.items() if not isinstance(v, str)}
    measures = {"num_q": len(result.topics), **summary}
    document = {
        "run": tag,
        "measures": {name: _plain(value) for name, value in measures.items()},
    }
    if per_query:
        document["queries"] = {
            str(query): {
                name: _plain(values[i])
                for name, values in result.per_query.items()
                if result.summarised_by[name] != "geometric"
            }
            for i, query in enumerate(result.topics)
        }
    return document


def _plain(value):
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, int | np.integer) else plain_number(value)


def _run_letor(args):
    if args.letor is None or args.scores is None:
        raise CommandError("--letor FILE and --scores FILE go together")
    if args.run is not None or args.measure is not None:
        raise CommandError(
            "--letor evaluates scores by --metrics; a run, judgements and -m belong to "
            "the other form"
        )
    refuse_unused(args, "with --letor", _OF_RUNS)
    measures = _measures.parse_metrics(args.metrics, args.preset)
    limit = args.max_bytes
    data = read_letor(args.letor, sparse=True, n_jobs=args.jobs, max_bytes=limit)
    with naming_files(args.letor):
        check_grades(data.y)
    scores = read_scores(args.scores, len(data.y), limit)
    result = _measures.evaluate(measures, data, scores, args.jobs)
    report(
        _letor_text(args, result), _letor_document(args, result), "evaluate", args.json
    )


def _letor_text(args, result):
    lines = []
    if args.per_query:
        lines += [
            (name, query, float(values[i]))
            for i, query in enumerate(result.query_ids)
            for name, values in zip(result.names, result.per_query)
        ]
    if not args.no_summary:
        lines += [(name, "all", mean) for name, mean in zip(result.names, result.means)]
    return "\n".join(trec_line(*line) for line in lines)


def _letor_document(args, result):
    document = {"run": args.scores, "measures": result.to_dict()["metrics"]}
    if args.per_query:
        document["queries"] = {
            str(query): {
                name: plain_number(values[i])
                for name, values in zip(result.names, result.per_query)
            }
            for i, query in enumerate(result.query_ids)
        }
    return document
