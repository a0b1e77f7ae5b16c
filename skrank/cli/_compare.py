"""``skrank compare``: several systems on the same queries."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank._core._id_arrays import id_array
from skrank._core._messages import has_control, shown
from skrank._core._validation import check_grades
from skrank.cli import _measures
from skrank.cli._errors import CommandError
from skrank.cli._io import read_letor, read_scores, report, source
from skrank.cli._models import naming_files
from skrank.cli._options import STANDARD, refuse_unused
from skrank.datasets import judge_run, load_qrels, load_run
from skrank.metrics import compare


def run(args: argparse.Namespace) -> None:
    """Compare systems and print a table."""
    _check(args)
    systems = _named_files(args.systems)
    if args.reference is not None and args.reference not in systems:
        known = ", ".join(systems)
        raise CommandError(
            f"--reference {shown(args.reference)} is none of the systems, which are "
            f"{known}"
        )
    read = _read_scores if args.qrels is None else _read_runs
    scores, y, groups = read(args, systems)
    preset = args.preset
    if preset is None and args.qrels is not None:
        preset = "trec_eval"
    measures = _measures.parse_metrics(args.metrics, preset).values()
    if args.qrels is not None:
        measures = [_in_order_of_run(measure) for measure in measures]
    table = compare(
        scores,
        y,
        groups,
        measures=list(measures),
        test=args.test,
        correction=None if args.correction == "none" else args.correction,
        reference=args.reference,
        level=args.level,
        random_state=args.seed,
        n_jobs=args.jobs,
    )
    print_table(table, args, "compare")


def _check(args):
    check_format(args)
    if args.test == "tukey":
        refuse_unused(args, "with --test tukey, which corrects itself", ("correction",))
    if args.test in ("t", "wilcoxon"):
        refuse_unused(args, f"with --test {args.test}, which draws nothing", ("seed",))
    if (args.qrels is None) == (args.letor is None):
        raise CommandError(
            "compare takes --qrels FILE (systems are TREC runs) or --letor FILE "
            "(systems are files of scores)"
        )
    if args.letor is not None and args.preset == "trec_eval":
        raise CommandError(
            "--preset trec_eval breaks ties by document id, which files of scores do "
            "not name; compare TREC runs with --qrels"
        )


def check_format(args: argparse.Namespace) -> None:
    """Raise an error if a table is asked for in whose place JSON is printed."""
    if args.json == STANDARD and args.format != "json":
        refuse_unused(args, "with --json -, which prints no table", ("format",))


def print_table(
    table: Any,
    args: argparse.Namespace,
    command: str,
    extra: dict[str, Any] | None = None,
) -> None:
    """Print a comparison in the format that was asked for.

    Parameters
    ----------
    table : ComparisonTable
        The comparison, or what renders like one.
    args : Namespace
        Arguments of the command: ``format`` and ``json``.
    command : str
        Name of the command, for the JSON.
    extra : dict, default=None
        Further entries of the JSON.
    """
    document = {**table.to_dict(), **(extra or {})}
    render = {
        "plain": table.to_text,
        "markdown": table.to_markdown,
        "latex": table.to_latex,
        "json": lambda: json.dumps(document, indent=1, allow_nan=False),
    }
    if args.format == "json" and args.json is None:
        args.json = "-"
    report(render[args.format](), document, command, args.json)


def _in_order_of_run(measure):
    """Return the measure for the scores of a run, which have no ties left."""
    if "ties" not in measure.get_params(deep=False):
        return measure
    return clone(measure).set_params(ties="stable")


def _named_files(texts):
    """Files by the name given in ``name=file``, or by their own without suffixes."""
    systems = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = Path(text).name.split(".")[0] or Path(text).name, text
        if not name.strip() or has_control(name):
            raise CommandError(
                "the name of a system must not be empty nor hold control characters, "
                f"got {shown(name)} in {shown(text)}"
            )
        if name in systems:
            raise CommandError(
                f"two systems are called {shown(name)}; name them, as in "
                f"a={systems[name]} b={path}"
            )
        systems[name] = path
    return systems


def _read_scores(args, systems):
    limit = args.max_bytes
    data = read_letor(args.letor, sparse=True, n_jobs=args.jobs, max_bytes=limit)
    with naming_files(args.letor):
        check_grades(data.y)
    scores = {
        name: read_scores(path, len(data.y), limit) for name, path in systems.items()
    }
    return scores, data.y, data.groups


def _read_runs(args, systems):
    """Scores of all systems on the union of judged and retrieved documents."""
    limit = args.max_bytes
    qrels = load_qrels(source(args.qrels, limit), max_bytes=limit)
    runs = {
        name: load_run(source(path, limit), max_bytes=limit)
        for name, path in systems.items()
    }
    judged = {name: judge_run(qrels, run, complete=True) for name, run in runs.items()}
    rows, y, groups = _union(qrels, judged)
    scores = {}
    for name, run in judged.items():
        # Documents that the run lacks come below all documents that it has.
        scores[name] = np.full(len(y), -np.inf)
        keys = zip(run.groups.tolist(), run.docids.tolist())
        # Positions, not scores: trec_eval's order of ties is settled already.
        position = -np.arange(len(run.y), dtype=np.float64)
        position[~run.retrieved] = -np.inf
        scores[name][[rows[key] for key in keys]] = position
    return scores, y, groups


def _union(qrels, judged):
    """Rows by (query, document), grades and queries of all judged or retrieved ones."""
    grades = {}
    for query, docid, grade in zip(
        qrels.groups.tolist(), qrels.docids.tolist(), qrels.y.tolist()
    ):
        grades[query, docid] = grade
    for run in judged.values():
        for key in zip(run.groups.tolist(), run.docids.tolist()):
            grades.setdefault(key, -1.0)
    rows = {key: row for row, key in enumerate(grades)}
    y = np.fromiter(grades.values(), np.float64, len(grades))
    # A negative judgement means pooled but not judged, which is not relevant.
    y = np.ma.MaskedArray(np.maximum(y, 0.0), mask=y < 0)
    return rows, y, id_array([query for query, _ in grades])
