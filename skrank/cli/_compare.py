"""``skrank compare``: several systems on the same queries."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from skrank._core._messages import has_control, on_one_line, shown
from skrank.cli import _measures
from skrank.cli._errors import CommandError
from skrank.cli._io import read_scores, report, source
from skrank.cli._options import STANDARD, refuse_unused
from skrank.cli._stdout import check_stdout
from skrank.cli._tables import read_grades
from skrank.datasets import load_qrels, load_run
from skrank.metrics import compare
from skrank.metrics._compare import Design
from skrank.metrics._compare_runs import table_of_runs
from skrank.metrics._conventions import conventions_of


def run(args: argparse.Namespace) -> None:
    """Compare systems and print a table."""
    _check(args)
    check_stdout()
    systems = _named_files(args.systems)
    check_tests(args, len(systems), args.test)
    if args.reference is not None and args.reference not in systems:
        known = ", ".join(systems)
        raise CommandError(
            f"--reference {shown(args.reference)} is none of the systems, which are "
            f"{known}"
        )
    preset = args.preset
    if preset is None and args.qrels is not None:
        preset = "trec_eval"
    measures = list(_measures.parse_metrics(args.metrics, preset).values())
    options = {
        "test": args.test,
        "correction": None if args.correction == "none" else args.correction,
        "reference": args.reference,
        "level": args.level,
        "random_state": args.seed,
    }
    if args.qrels is not None:
        design = Design(**options, preset=preset)
        table = _compare_runs(args, systems, design, measures)
    else:
        rows = _read_scores(args, systems)
        table = compare(*rows, measures=measures, **options, n_jobs=args.jobs)
        table = replace(table, conventions=conventions_of(measures, preset))
    print_table(table, args, "compare")


def _check(args):
    check_format(args)
    if args.qrels is not None:
        refuse_unused(args, "with --qrels", ("label", "qid"))
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


def check_tests(args: argparse.Namespace, n_systems: int, test: str) -> None:
    """Raise an error if options of tests are given that change nothing.

    Parameters
    ----------
    args : Namespace
        Arguments.
    n_systems : int
        Number of the systems.
    test : str
        Name of the test.
    """
    if n_systems < 2:
        mode = "on a single system, which is compared with no other"
        refuse_unused(args, mode, ("test", "correction", "level", "reference"))
    if test == "tukey":
        refuse_unused(args, "with --test tukey, which corrects itself", ("correction",))


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


def _named_files(texts):
    """Files by the name given in ``name=file``, or by their own without suffixes."""
    systems = {}
    for text, name, path in zip(texts, *_names_and_paths(texts)):
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


def _names_and_paths(texts) -> tuple[list[str], list[str]]:
    """Return names that are given or made of paths, as short as they differ."""
    names, paths, unnamed = [], [], []
    for place, text in enumerate(texts):
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            unnamed.append(place)
            name, path = Path(text).name.split(".")[0] or Path(text).name, text
        names.append(name)
        paths.append(path)
    # Of a.x.run and a.y.run, the first part says nothing.
    for longer in (lambda path: Path(path).stem, lambda path: Path(path).name):
        found = [longer(paths[i]) if i in unnamed else n for i, n in enumerate(names)]
        alike = [[j for j, n in enumerate(names) if n == name] for name in names]
        # Of one file that is given twice, all names are the same.
        differ = [len({found[j] for j in places}) > 1 for places in alike]
        names = [f if d else n for f, d, n in zip(found, differ, names)]
    return names, paths


def _read_scores(args, systems):
    limit = args.max_bytes
    data = read_grades(args)
    scores = {
        name: read_scores(path, len(data.y), limit) for name, path in systems.items()
    }
    return scores, data.y, data.groups


def _compare_runs(args, systems, design, measures):
    limit = args.max_bytes
    qrels = load_qrels(source(args.qrels, limit), max_bytes=limit)
    tables = {
        name: (qrels, load_run(source(path, limit), max_bytes=limit))
        for name, path in systems.items()
    }
    called = {name: on_one_line(path) for name, path in systems.items()}
    return table_of_runs(design, measures, tables, called, args.jobs)
