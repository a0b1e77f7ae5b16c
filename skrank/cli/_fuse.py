"""``skrank fuse``: several runs fused into one."""

import argparse
from typing import Any

from skrank.aggregation import BaseAggregator, join_runs
from skrank.cli import _names
from skrank.cli._errors import CommandError
from skrank.cli._io import lines_of_run, source, write_lines
from skrank.cli._options import check_tag, refuse_others, refuse_unused
from skrank.cli._stdout import print_lines
from skrank.datasets import load_qrels, load_run


def run(args: argparse.Namespace) -> None:
    """Fuse the runs and write the result as a run."""
    if args.list:
        refuse_others(args, "with --list", ("list",))
        if args.runs:
            raise CommandError("--list reads no runs")
        _list()
        return
    _check(args)
    aggregator = _aggregator(args)
    limit = args.max_bytes
    runs = [load_run(source(path, limit), max_bytes=limit) for path in args.runs]
    joined = join_runs(runs, depth=args.depth)
    if args.qrels is not None:
        qrels = load_qrels(source(args.qrels, limit), max_bytes=limit)
        aggregator.fit(joined, qrels)
    fused = aggregator.aggregate(joined)
    lines = lines_of_run(fused, args.tag or fused.tag, args.k)
    write_lines(lines, args.output)


def _check(args):
    if not args.runs:
        raise CommandError("fuse takes runs, as in skrank fuse a.trec b.trec")
    for option, value in (("-k", args.k), ("--depth", args.depth)):
        if value is not None and value < 1:
            raise CommandError(f"{option} must be at least 1, got {value}")
    if args.tag is not None:
        check_tag(args.tag)


def _aggregator(args) -> BaseAggregator:
    """Return the aggregator that the options describe."""
    settings = list(args.settings)
    aggregator = _names.make_aggregator(args.method, settings, args.jobs)
    own = aggregator.get_params(deep=False)
    mode = f"with --method {aggregator.short_name}"
    params: dict[str, Any] = {}
    for option, name in (("norm", "normalization"), ("weights", "weights")):
        value = getattr(args, option)
        if value is None:
            continue
        if name not in own:
            refuse_unused(args, f"{mode}, which has no {name}", (option,))
        if any(setting.partition("=")[0].strip() == name for setting in settings):
            raise CommandError(f"--{option} and --set {name} exclude each other")
        params[name] = None if value == "none" else value
    if args.qrels is None and aggregator._needs_fit():
        raise CommandError(
            f"--method {aggregator.short_name} learns from judged queries; pass "
            "--qrels FILE"
        )
    if not aggregator._needs_fit():
        refuse_unused(args, f"{mode}, which learns nothing", ("qrels",))
    return aggregator.set_params(**params)


def _list():
    """Print all methods."""
    known = sorted(_names.aggregators().values(), key=lambda cls: cls.short_name)
    width = max(len(cls.short_name) for cls in known)
    print_lines(f"{cls.short_name:<{width}}  {_names.summary(cls)}" for cls in known)
