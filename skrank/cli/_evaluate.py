"""``skrank evaluate``: judgements and a run, or scores against LETOR grades.

The measures, their names and their layout are those of `skrank.metrics.trec_measures`;
measures of the package are evaluated as by `skrank.metrics.evaluate`.
"""

import contextlib
import difflib
import re

import numpy as np

from skrank._core._messages import shown
from skrank.cli import _measures
from skrank.cli._errors import CommandError
from skrank.cli._io import (
    plain_number,
    read_scores,
    report,
    source,
)
from skrank.cli._options import STANDARD, given, refuse_unused
from skrank.cli._tables import read_grades
from skrank.cli._trec import read_judgements, read_zscores
from skrank.datasets import load_run
from skrank.datasets._trec import WrongKindError
from skrank.metrics import evaluate, get_measure, known_measures, trec_measures
from skrank.metrics._conventions import conventions_of
from skrank.metrics._registry import is_of_ranx
from skrank.metrics._trec import trec_line
from skrank.metrics._trec_names import FAMILIES, GROUPS

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
            "evaluate takes judgements and a run, or --letor FILE --scores FILE"
        )
    refuse_unused(args, "on judgements and a run", ("jobs", "label", "qid"))
    if args.judgement_format != "qrels":
        mode = f"with -R {args.judgement_format}, which trec_eval's measures read"
        refuse_unused(args, mode, ("metrics", "preset"))
    if args.judgement_format in ("prefs", "qrels_prefs"):
        # Preferences have no relevant documents, only better ones.
        refuse_unused(args, f"with -R {args.judgement_format}", ("level",))
    ours, names = _sorted_names(args)
    judgements, run = _read(args)
    result = trec_measures(
        judgements,
        run,
        names or ("num_q" if ours else "official"),
        judgement_format=args.judgement_format,
        relevance_level=args.level,
        max_results=args.max_docs,
        complete=args.complete,
        run_id=run.tag,
    )
    if not names and ours:
        result.per_query.clear()
        result.summary.clear()
    if ours:
        _add_ours(result, ours, judgements, run, args)
    conventions = _conventions_of_runs(ours, args.preset)
    if args.zscores is not None:
        result = result.standardized(read_zscores(args.zscores, args.max_bytes))
    lines = list(result.lines(args.per_query))
    if args.no_summary:
        lines = lines[: len(lines) - len(result.summary)]
    elif conventions:
        lines.insert(len(lines) - len(result.summary), _line_of(conventions))
    document = _trec_document(result, run.tag, args.per_query)
    if conventions:
        document["conventions"] = conventions
    report("\n".join(lines), document, "evaluate", args.json)


def _read(args):
    """Return judgements and a run."""
    limit = args.max_bytes
    try:
        judgements = read_judgements(args.qrels, args.judgement_format, limit)
        return judgements, load_run(source(args.run, limit), max_bytes=limit)
    except WrongKindError as error:
        raise CommandError(f"{error}; the order is: evaluate QRELS RUN") from None


def _sorted_names(args):
    """Sort the names of -m and --metrics by whose measures they are.

    Returns
    -------
    ours : list of str or BaseMeasure
        Names of measures of skrank: those of --metrics, those of -m that trec_eval does
        not have, and all of them if a preset is to decide on their conventions; and
        measures of the user's own.
    names : list of str
        Names of trec_eval.
    """
    listed = list(args.measure or [])
    metrics = []
    if "metrics" in given(args) or ("preset" in given(args) and not listed):
        metrics = _measures.split_names(args.metrics)
    by_trec = [
        name
        for name in listed
        if args.preset in (None, "trec_eval")
        and _is_of_trec_eval(name)
        and not _measures.is_own(name)
    ]
    ours = [name for name in [*metrics, *listed] if name not in by_trec]
    return [_ours(name, args) for name in dict.fromkeys(ours)], by_trec


def _ours(name, args):
    """Return a name that skrank has, or a measure of the user's own."""
    if _measures.is_own(name):
        measure = _measures.parse_measure(name, args.preset or "trec_eval")
    else:
        measure = name
        _check_ours(name, args.preset)
    _refuse_trec_options(args, name)
    return measure


def _is_of_trec_eval(name):
    if is_of_ranx(name):
        return False
    families = {name, *(name[:i] for i, sign in enumerate(name) if sign in "._")}
    return name in (*GROUPS, "all") or not families.isdisjoint(FAMILIES)


def _check_ours(name, preset):
    """Raise an error unless skrank has a measure; it tells names that are close."""
    if preset in (None, "trec_eval") and _is_of_trec_eval(name):
        return
    stem = re.split(r"[@(]|-l\d", name)[0].strip()
    try:
        get_measure(name, preset)
    except ValueError as error:
        if not str(error).startswith("unknown measure"):
            raise
        if _is_of_trec_eval(name):
            raise CommandError(
                f"{shown(name)} is a measure of trec_eval only, on which --preset "
                f"{preset} has no effect"
            ) from None
        known = [*FAMILIES, *GROUPS, "all", *known_measures()]
        close = dict.fromkeys(difflib.get_close_matches(stem, known, n=5))
        meant = f"; did you mean {', '.join(close)}?" if close else "."
        raise CommandError(
            f"unknown measure {shown(name)}{meant} There are trec_eval's "
            f"{', '.join([*FAMILIES, *GROUPS, 'all'])}, and skrank's "
            f"{', '.join(known_measures())} with options and cut-offs, as in ndcg@10"
        ) from None


def _refuse_trec_options(args, name):
    """Refuse options that measures of trec_eval alone have."""
    if args.judgement_format != "qrels" or args.zscores is not None:
        option = "-Z" if args.judgement_format == "qrels" else "-R"
        raise CommandError(
            f"{option} is for measures of trec_eval, of which {shown(name)} is none"
        )
    mode = f"on {name}, which states it itself, as in p(rel=2)@5"
    refuse_unused(args, mode, ("level",))


def _add_ours(result, ours, qrels, run, args):
    """Add the values of measures of skrank, as `skrank.metrics.evaluate` returns them.

    Parameters
    ----------
    result : TrecResult
        Result of the other measures, which is changed.
    ours : list of str or BaseMeasure
        The measures, or their names.
    qrels, run : Qrels, Run
        The judgements and the run.
    args : Namespace
        Arguments of the command.
    """
    found = evaluate(
        qrels, run, ours, preset=args.preset, complete=args.complete,
        depth=args.max_docs,
    )  # fmt: skip
    place = {str(query): at for at, query in enumerate(found.query_ids.tolist())}
    rows = [place[str(topic)] for topic in result.topics]
    for name in found.measures:
        result.per_query[name] = found.per_query[name][rows]
        result.summary[name] = found.summary[name]
        result.summarised_by[name] = found.summarised_by[name]


def _conventions_of_runs(ours, preset):
    """Conventions of the measures that are not trec_eval's; nothing without any."""
    preset = preset or "trec_eval"
    return conventions_of(_measures_among(ours, preset), preset)


def _measures_among(ours, preset):
    """Yield measures of skrank; the other names are those of trec_eval alone."""
    for measure in ours:
        with contextlib.suppress(ValueError):
            yield get_measure(measure, preset if isinstance(measure, str) else None)


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
            "--letor evaluates scores by --metrics; judgements, a run and -m belong to "
            "the other form"
        )
    refuse_unused(args, "with --letor", _OF_RUNS)
    measures = _measures.parse_metrics(args.metrics, args.preset)
    data = read_grades(args)
    scores = read_scores(args.scores, len(data.y), args.max_bytes)
    result = _measures.evaluate(measures, data, scores, args.jobs, args.preset)
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
        if result.conventions:
            lines.append(_fields_of(result.conventions))
        lines += [(name, "all", mean) for name, mean in zip(result.names, result.means)]
    return "\n".join(trec_line(*line) for line in lines)


def _line_of(conventions):
    return trec_line(*_fields_of(conventions))


def _fields_of(conventions):
    """Fields of a line of text, as that of trec_eval which names the run."""
    told = conventions.removeprefix("Conventions: ").removeprefix("Conventions of ")
    return "conventions", "all", told


def _letor_document(args, result):
    document = {
        "run": args.scores,
        "measures": result.to_dict()["metrics"],
        "conventions": result.conventions,
    }
    if args.per_query:
        document["queries"] = {
            str(query): {
                name: plain_number(values[i])
                for name, values in zip(result.names, result.per_query)
            }
            for i, query in enumerate(result.query_ids)
        }
    return document
