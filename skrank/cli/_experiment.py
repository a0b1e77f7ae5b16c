"""``skrank experiment``: rankers tuned and compared on the folds of data sets."""

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from skrank._core._levels import FROM_DTYPE
from skrank._core._messages import on_one_line, shown
from skrank._core._tables import FOR_NUMBERS
from skrank.cli import _measures
from skrank.cli._compare import check_format, check_tests
from skrank.cli._errors import TRAININGS_FAILED, CommandError, ExitCode, printable
from skrank.cli._experiment_definition import Definition, definition_of
from skrank.cli._io import check_folds, report, source
from skrank.cli._models import FOR_NUMBERS_HERE, SCALERS, check_scaling
from skrank.cli._options import COLUMN_OPTIONS, STANDARD, refuse_unused
from skrank.cli._outputs import check_results
from skrank.cli._stdout import check_stdout
from skrank.cli._tables import Columns, check_scaled_columns, is_table, read_table
from skrank.datasets import LetorFold, load_letor, load_letor_folds
from skrank.experiments import Experiment, ExperimentResult, make_folds
from skrank.experiments._folds import feature_columns
from skrank.experiments._grid import one_line

_OUTPUTS = {
    "plain": "to_text",
    "markdown": "to_markdown",
    "latex": "to_latex",
}
_DEFAULT_METRICS = "ndcg@10,map"
_OFTEN = 1.0  # seconds between two lines of progress


def run(args: argparse.Namespace) -> None:
    """Run the experiment on all data sets, and print a table for each."""
    check_format(args)
    check_stdout()
    definition = definition_of(args)
    _check_options(args, definition)
    check_results(args, definition.data, definition.texts)
    experiment = _experiment(definition, args.jobs)
    folds = {
        name: _folds(path, definition, args) for name, path in definition.data.items()
    }
    command = shlex.join(["skrank", *map(str, args.argv)])
    results = {}
    for name in definition.data:
        shown_progress = None if args.quiet else _Lines(name if len(folds) > 1 else "")
        with _naming(definition.data[name]):
            results[name] = experiment.run(
                folds[name](),
                os.path.join(args.output, name),
                callback=shown_progress,
                command=command,
            )
        _tell(name, results[name], args.quiet)
    _print(results, args)
    if any(result.failures for result in results.values()):
        raise ExitCode(TRAININGS_FAILED)


def _check_options(args: argparse.Namespace, definition: Definition) -> None:
    """Refuse options that have nothing to do in an experiment; its file may."""
    rows, options = definition.rows.values(), definition.options
    check_tests(args, len(rows), options.get("test", "fisher"))
    stops = options.get("early_stopping") or any(row.early_stopping for row in rows)
    if not stops and all(len(row.configurations()) == 1 for row in rows):
        mode = "without --grid or --early-stopping, where nothing is chosen"
        refuse_unused(args, mode, ("select",))


def _experiment(definition: Definition, jobs: int | None) -> Experiment:
    options = dict(definition.options)
    preset = options.get("preset")
    measures = _parsed(options.get("measures", _DEFAULT_METRICS), preset)
    selection = measures[0]
    if "selection" in options:
        several = _parsed(options["selection"], preset)
        if len(several) > 1:
            raise CommandError(
                f"--select takes one measure, got {shown(options['selection'])}"
            )
        selection = several[0]
    normalize = options.get("normalize", "none")
    if normalize not in ("none", *SCALERS):
        raise CommandError(
            f"normalize must be one of none, {', '.join(SCALERS)}, got "
            f"{shown(normalize)}"
        )
    check_scaling(normalize, sparse=options.get("sparse", False))
    correction = options.get("correction", "holm")
    own = ("features", "seeds", "early_stopping", "reference", "test", "level")
    return Experiment(
        definition.rows,
        measures=measures,
        selection=selection,
        preset=preset,
        scaler=None if normalize == "none" else SCALERS[normalize](),
        correction=None if correction == "none" else correction,
        n_jobs=1 if jobs is None else jobs,
        **{name: options[name] for name in own if name in options},
    )


def _parsed(measures, preset):
    text = measures if isinstance(measures, str) else ",".join(measures)
    return list(_measures.parse_metrics(text, preset).values())


def _folds(path: str, definition: Definition, args: argparse.Namespace) -> Any:
    """Return a function that opens the folds of a folder or of a file.

    What can be checked at once is checked at once: the files of folds, and that options
    of tables are given for tables.
    """
    options = definition.options
    dtype = options.get("dtype", "float32")
    load = {
        "dtype": {"float32": np.float32, "float64": np.float64}.get(dtype, dtype),
        "sparse": options.get("sparse", False),
        "max_bytes": args.max_bytes,
    }
    if os.path.isdir(path):
        _refuse(options, (*COLUMN_OPTIONS, "folds", "shuffle"), f"on the folder {path}")
        folds = _open(path, load)
        return lambda: folds
    if is_table(path):
        _refuse(options, ("sparse", "dtype"), f"on the table {path}")
        for key in ("label", "qid"):
            if key not in options:
                raise CommandError(
                    f"{on_one_line(path)} is a table: --{key} names its column of "
                    f"{'grades' if key == 'label' else 'query ids'}"
                )
        return lambda: _cut(_table(path, definition, args), options)
    _refuse(options, COLUMN_OPTIONS, f"on the LETOR text {path}")
    return lambda: _cut(load_letor(source(path, args.max_bytes), **load), options)


def _refuse(options, keys, mode):
    for key in keys:
        if key in options and key != "features":
            raise CommandError(f"--{key} has no effect {on_one_line(mode)}")


def _open(folder: str, load: dict[str, Any]) -> Any:
    """Open a folder of folds, or one that holds the files of a single fold."""
    try:
        return [LetorFold(folder, **load)]
    except FileNotFoundError:
        return load_letor_folds(folder, **load)


def _table(path, definition, args):
    options = definition.options
    columns = {key: options.get(key) for key in ("label", "qid", "docid")}
    names = options.get("categorical")
    if isinstance(names, str):
        names = names.split(",")
    read = argparse.Namespace(**columns, max_bytes=args.max_bytes)
    named = FROM_DTYPE if names is None else names
    data = read_table(read, path, Columns(None, named))
    for row in definition.rows.values():
        features = options.get("features") if row.features is None else row.features
        chosen = feature_columns(features, data.X.columns)
        X = data.X if chosen is None else data.X.iloc[:, chosen]
        check_scaled_columns(X, path, options.get("normalize", "none"))
    return data


def _cut(data, options):
    n_folds, shuffle = options.get("folds", 5), options.get("shuffle")
    check_folds(n_folds, 3, data.groups)
    if shuffle is not None and not 0 <= shuffle < 2**32:
        raise CommandError(f"--shuffle must be from 0 to 2**32 - 1, got {shuffle}")
    return make_folds(
        data.X,
        data.y,
        data.groups,
        docids=data.docids,
        n_splits=n_folds,
        shuffle=shuffle is not None,
        random_state=shuffle,
    )


class _Lines:
    """Lines on the standard error that say how far the trainings are.

    Parameters
    ----------
    name : str
        Name of the data set; empty if there is only one.
    """

    def __init__(self, name: str):
        self.name = name
        self._last = -np.inf

    def __call__(self, progress: Any) -> None:
        """Show a line, unless the last one is of just now."""
        now = time.monotonic()
        is_last = progress.done == progress.total
        if now - self._last < _OFTEN and not progress.error and not is_last:
            return
        self._last = now
        seed = f"seed {progress.seed}" if progress.seed else ""
        words = [
            self.name,
            progress.fold,
            progress.ranker,
            one_line(progress.params),
            seed,
        ]
        told = progress.error or f"{progress.seconds:.2f} s"
        left = (
            f"; {_duration(progress.seconds_left)} left"
            if progress.seconds_left
            else ""
        )
        _say(
            f"[{progress.done}/{progress.total}] {' '.join(filter(None, words))}: "
            f"{told}{left}"
        )


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Have an error about text in the place of numbers name the file, as of ``fit``."""
    try:
        yield
    except ValueError as error:
        if FOR_NUMBERS not in str(error):
            raise
        # Before it stands that all rankers failed, and the kind of the first error.
        problem = _for_commands(str(error)).rpartition("ValueError: ")[2]
        raise CommandError(f"{on_one_line(path)}: {problem}") from error


def _for_commands(text: str) -> str:
    return text.replace(FOR_NUMBERS, FOR_NUMBERS_HERE)


def _say(text):
    line = printable(_for_commands(text))
    print(f"skrank: {line}", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _tell(name: str, result: ExperimentResult, quiet: bool) -> None:
    """Say how many trainings were made, and what went wrong."""
    if not quiet:
        text = (
            f"{name}: {result.n_trained} trained, {result.n_stored} from earlier runs"
        )
        if result.n_unused:
            text += (
                f"; {result.n_unused} stored trainings belong to other data, "
                "parameters or code, and are not used"
            )
        _say(text)
        for each in result.warnings:
            _say(f"warning: {each['ranker']}, {each['count']} fits: {each['warning']}")
    if result.failures:
        first = result.failures[0]
        _say(
            f"{name}: {len(result.failures)} trainings failed, the first one of "
            f"{first['ranker']} on {first['fold']}: {first['error']}"
        )


def _print(results: dict[str, ExperimentResult], args: argparse.Namespace) -> None:
    document = {"data": {name: result.to_dict() for name, result in results.items()}}
    if args.format == "json":
        text = json.dumps(document, indent=1, allow_nan=False)
        report(text, document, "experiment", args.json or STANDARD)
        return
    texts = []
    for name, result in results.items():
        text = getattr(result.table, _OUTPUTS[args.format])()
        texts.append(
            f"{_heading(name, args.format)}{text}" if len(results) > 1 else text
        )
    report("\n\n".join(texts), document, "experiment", args.json)


def _heading(name, form):
    return {"plain": f"{name}\n\n", "markdown": f"## {name}\n\n"}.get(
        form, f"% {name}\n"
    )
