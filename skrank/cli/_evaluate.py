"""``skrank evaluate``: a run against judgements, or scores against LETOR grades."""

import numpy as np

from skrank.cli import _measures, _trec
from skrank.cli._errors import CommandError
from skrank.cli._io import (
    check_writable,
    plain_number,
    read_letor,
    read_scores,
    report,
)
from skrank.datasets import judge_run, load_qrels, load_run


def run(args):
    """Evaluate and report."""
    check_writable(args.json)
    if args.letor is not None or args.scores is not None:
        _run_letor(args)
    else:
        _run_trec(args)


def _run_trec(args):
    if args.run is None or args.qrels is None:
        raise CommandError(
            "evaluate takes a run and judgements, or --letor FILE --scores FILE"
        )
    measures = _trec.parse_measures(args.measure or ["official"])
    loaded = load_run(args.run)
    judgements = load_qrels(args.qrels)
    joined = judge_run(judgements, loaded, complete=args.complete, depth=args.max_docs)
    judged = _trec.Judged(joined, args.level)
    lines = list(_trec.evaluate_run(judged, measures))
    official = args.measure is None or {"official", "all", "all_trec"} & {*args.measure}
    text = []
    if args.per_query:
        text += _query_lines(judged.queries, lines)
    if not args.no_summary:
        head = [("runid", loaded.tag), ("num_q", len(judged.queries))]
        summary = [(line.name, line.total) for line in lines]
        summary = (head if official else []) + summary
        text += [_trec.format_line(name, "all", value) for name, value in summary]
    document = _document(args, loaded.tag, judged.queries, lines)
    report("\n".join(text), document, "evaluate", args.json)


def _query_lines(queries, lines):
    return [
        _trec.format_line(line.name, query, line.values[i])
        for i, query in enumerate(queries)
        for line in lines
        if line.for_queries
    ]


def _document(args, tag, queries, lines):
    """JSON of a run: counts stay integers."""
    document = {
        "run": tag,
        "measures": {"num_q": len(queries)} | {x.name: _number(x.total) for x in lines},
    }
    if args.per_query:
        document["queries"] = {
            str(query): {x.name: _number(x.values[i]) for x in lines if x.for_queries}
            for i, query in enumerate(queries)
        }
    return document


def _number(value):
    return int(value) if isinstance(value, np.integer) else plain_number(value)


def _run_letor(args):
    if args.letor is None or args.scores is None:
        raise CommandError("--letor FILE and --scores FILE go together")
    if args.run is not None or args.measure is not None:
        raise CommandError(
            "--letor evaluates scores by --metrics; a run, judgements and -m belong to "
            "the other form"
        )
    measures = _measures.parse_metrics(args.metrics, args.preset)
    data = read_letor(args.letor, sparse=True, n_jobs=args.jobs)
    scores = read_scores(args.scores, len(data.y))
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
    return "\n".join(_trec.format_line(*line) for line in lines)


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
