"""``skrank fit``: train a ranker, evaluate it and save it."""

import argparse
import contextlib
import inspect
import os
import re
import sys
import textwrap
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError
from skrank._core._queries import take_rows
from skrank._core._validation import check_grades
from skrank.cli import _measures, _names
from skrank.cli._errors import CommandError, printable
from skrank.cli._io import (
    Progress,
    check_folds,
    plain_number,
    read_letor,
    report,
    rows_of,
    source,
)
from skrank.cli._models import check_scaling, naming_files, predict_scores, train_model
from skrank.cli._options import COLUMN_OPTIONS, STANDARD, refuse_others, refuse_unused
from skrank.cli._saving import check_savable, save
from skrank.cli._stdout import check_stdout, print_lines
from skrank.cli._tables import (
    check_columns,
    check_scaled_columns,
    columns_of_frame,
    columns_of_options,
    read_table,
)
from skrank.datasets import load_letor_folds
from skrank.datasets._letor import n_features_of
from skrank.inspection import feature_variation
from skrank.metrics._conventions import conventions_of
from skrank.model_selection import QueryKFold

# Rows of training that are looked at first, and features that are named at most.
_GLANCE = 10_000
_MOST_NAMES = 20


class _Run(NamedTuple):
    """One training, on a single split or on a fold.

    Attributes
    ----------
    name : str
        Name of the fold; empty for a single split.
    seconds : float
        Duration of the training.
    sets : dict of str to Evaluation
        Evaluation on each set of the split, by the name of the set.
    model : BaseEstimator
        The fitted model.
    shared : list of str
        Features that all documents of each training query share, in their order.
    """

    name: str
    seconds: float
    sets: dict[str, Any]
    model: Any
    shared: list[str]


def run(args: argparse.Namespace) -> None:
    """Train, evaluate, save and report."""
    if args.list:
        refuse_others(args, "with --list", ("list", "ranker"))
        if args.train is not None:
            raise CommandError("--list reads no training file")
        _list(args)
        return
    _check(args)
    check_stdout()
    measures = _measures.parse_metrics(args.metrics, args.preset)
    ranker = _names.make_ranker(args.ranker, args.settings, args.seed, args.jobs)
    _set_validation_measures(args, ranker)
    if args.save is not None:
        check_savable(ranker)
    progress = Progress(args.verbose)
    data = {} if args.letor_folds is not None else _sets(args)
    splits = _letor_folds(args) if args.letor_folds is not None else _splits(args, data)
    runs = [_train(args, ranker, measures, *split, progress) for split in splits]
    left_out = []
    if args.save is not None:
        model = runs[0].model
        if args.folds is not None:
            # The folds estimate the quality; the model to keep learns from all queries.
            model = clone(ranker)
            with naming_files(args.train):
                model, _ = train_model(
                    model, args.normalize, data["train"], {}, progress
                )
        left_out = save(model, args.save)
    _tell_of_shared(runs)
    report(
        _text(args, ranker, measures, runs, left_out),
        {**_document(args, ranker, measures, runs), "left_out": left_out},
        "fit",
        args.json,
        sys.stderr if args.save == STANDARD else None,
    )


def _check(args):
    if args.ranker is None:
        raise CommandError(
            f"--ranker is missing. There are: {', '.join(_names.rankers())}"
        )
    if (args.train is None) == (args.letor_folds is None):
        raise CommandError("fit takes either a training file or --letor-folds FOLDER")
    if args.folds is not None and args.folds < 2:
        raise CommandError(f"--folds must be at least 2, got {args.folds}")
    several = "--folds" if args.folds is not None else "--letor-folds"
    if args.folds is not None or args.letor_folds is not None:
        for option in ("validation", "test"):
            if getattr(args, option) is not None:
                raise CommandError(f"{several} and --{option} exclude each other")
    if args.letor_folds is not None and args.folds is not None:
        raise CommandError("--folds and --letor-folds exclude each other")
    if args.letor_folds is not None:
        refuse_unused(args, "with --letor-folds", COLUMN_OPTIONS)
    check_scaling(args.normalize, sparse=args.sparse)
    if args.letor_folds is not None and args.save is not None:
        raise CommandError(
            "--save needs one model, --letor-folds trains one for each fold; train on "
            "the file of one fold to save its model"
        )


def _read(args, path, n_features=None):
    return read_letor(
        path,
        n_features,
        sparse=args.sparse,
        n_jobs=args.jobs,
        max_bytes=args.max_bytes,
    )


def _sets(args):
    """Read the files of a single split, by the names of the sets."""
    paths = {"train": args.train, **_validation_files(args), "test": args.test}
    paths = {name: path for name, path in paths.items() if path is not None}
    if check_columns(args, paths):
        return _tables(args, paths)
    limit = args.max_bytes
    sources = {name: source(path, limit) for name, path in paths.items()}
    # The last features may be 0 throughout one of the files, which then looks narrower.
    width = max(
        n_features_of(each, args.jobs, limit, sparse=args.sparse)
        for each in sources.values()
    )
    return {name: _read(args, each, width) for name, each in sources.items()}


def _validation_files(args) -> dict[str, Any]:
    """Files of validation queries by the names of their sets, as rankers name them."""
    given = args.validation or []
    files: dict[str, Any] = {}
    for number, text in enumerate(given):
        name, equals, path = text.partition("=")
        if not equals or os.path.exists(text):
            # As rankers name the sets of a list.
            name = "validation" if len(given) == 1 else f"validation_{number}"
            path = text
        if not re.fullmatch(r"\w+", name) or name in ("train", "test", *files):
            raise CommandError(
                "--validation takes [NAME=]FILE with different names of letters, "
                f"digits and _, other than train and test, got {shown(text)}"
            )
        files[name] = type(text)(path)
    return files


def _set_validation_measures(args, ranker):
    """Set the measures by which training stops, where they are given."""
    if args.validation_measures is None:
        return
    if "validation_measure" not in ranker.get_params(deep=False):
        raise CommandError(
            f"--validation-measures: {type(ranker).__name__} does not stop early"
        )
    if any(each.startswith("validation_measure=") for each in args.settings):
        raise CommandError(
            "--validation-measures and --set validation_measure exclude each other"
        )
    measures = _measures.parse_metrics(
        args.validation_measures, args.preset, "--validation-measures"
    )
    _check_has_validation(args, ranker)
    # Model files and their texts are easier to read with names.
    names = _measures.split_names(args.validation_measures)
    own = [
        measure if args.preset is not None or _measures.is_own(name) else name
        for name, measure in zip(names, measures.values(), strict=True)
    ]
    ranker.set_params(validation_measure=own)


def _check_has_validation(args, ranker):
    """Refuse measures of validation queries where there is nothing to measure."""
    if args.validation is not None or args.letor_folds is not None or args.verbose:
        return
    own = ranker.get_params(deep=False)
    if own.get("early_stopping") or own.get("evaluate_training"):
        return
    instead = ", or --set early_stopping=True" if "early_stopping" in own else ""
    raise CommandError(
        "--validation-measures has no effect without validation queries: add "
        f"--validation FILE{instead}"
    )


def _tables(args, paths):
    """Read the tables of a single split; all have the features of the first."""
    if args.label is None:
        raise CommandError("--label names the column of the grades of a table")
    refuse_unused(args, "on tables", ("sparse",))
    columns, sets = columns_of_options(args), {}
    for name, path in paths.items():  # that of training comes first
        sets[name] = read_table(args, path, columns)
        columns = columns_of_frame(sets["train"].X)
    check_scaled_columns(sets["train"].X, args.train, args.normalize)
    return sets


def _letor_folds(args):
    """Yield the name and the sets, by their names, of every fold of a folder."""
    loaded = load_letor_folds(
        args.letor_folds,
        sparse=args.sparse,
        n_jobs=args.jobs,
        max_bytes=args.max_bytes,
    )
    for fold in loaded:
        parts = {"train": fold.train, "validation": fold.vali, "test": fold.test}
        yield fold.name, parts


def _splits(args, sets):
    """Yield the name and the sets, by their names, of every training."""
    if args.folds is None:
        yield "", sets
        return
    data = sets["train"]
    check_folds(args.folds, 2, data.groups)
    shuffled = args.seed is not None
    splitter = QueryKFold(args.folds, shuffle=shuffled, random_state=args.seed)
    splits = splitter.split(data.X, data.y, data.groups)
    for number, (train, test) in enumerate(splits, 1):
        parts = {"train": rows_of(data, train), "test": rows_of(data, test)}
        yield f"fold {number}", parts


def _train(args, ranker, measures, name, sets, progress):
    ranker = clone(ranker)
    if name:
        progress(name)
    files = _files(args, name)
    for part, data in sets.items():
        with naming_files(files[part]):
            check_grades(data.y)
    try:
        held = {name: each for name, each in sets.items() if name in files["held"]}
        with naming_files(files["train"], files["held"]):
            model, seconds = train_model(
                ranker, args.normalize, sets["train"], held, progress
            )
    except InvalidParameterError:  # names the ranker and the parameter already
        raise
    except (AttributeError, TypeError) as error:
        message = f"{_one_line(ranker)} cannot be trained: {error}"
        raise CommandError(message) from error
    evaluations = {}
    for part, data in sets.items():
        with naming_files(files[part]):
            scores = predict_scores(model, data)
        evaluations[part] = _measures.evaluate(measures, data, scores, args.jobs)
    return _Run(name, seconds, evaluations, model, _shared_features(sets["train"]))


def _shared_features(data) -> list[str]:
    """Return the features that all documents of each query share, but not all rows."""
    columns = np.arange(data.X.shape[1])
    # Nearly all features vary in some of the first queries, which takes no time to see.
    for n in (_GLANCE, len(data.groups)):
        X, groups = take_rows(data.X, slice(n)), data.groups[:n]
        X = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
        found = feature_variation(X, groups)
        columns = columns[found.share == 0]
        if not len(columns):
            return []
    if not found.n_queries:  # each of one document
        return []
    columns = columns[found.is_query_constant[found.share == 0]]
    # Those of LETOR text are numbered from 1.
    return [
        str(data.X.columns[j] if hasattr(data.X, "iloc") else j + 1) for j in columns
    ]


def _tell_of_shared(runs) -> None:
    """Name the features that can order no documents of any training by themselves."""
    names = [
        name for name in runs[0].shared if all(name in run.shared for run in runs[1:])
    ]
    if not names:
        return
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    told = (
        f"skrank: within every training query, these features are constant and order "
        f"no documents by themselves: {', '.join(names[:_MOST_NAMES])}{more}"
    )
    with contextlib.suppress(OSError):  # as of warnings; the results do not need it
        print(printable(told), file=sys.stderr)


def _files(args, name) -> dict[str, Any]:
    """Names of the files of a split by the names of the sets; "held": for stopping."""
    if args.letor_folds is not None:
        fold = os.path.join(args.letor_folds, name)
        every = dict.fromkeys(("train", "validation", "test"), fold)
        return {**every, "held": {"validation": fold}}
    test = args.train if args.test is None else args.test  # a part of it by --folds
    held = _validation_files(args)
    return {"train": args.train, **held, "test": test, "held": held}


def _mean_over_runs(runs, part, measure):
    return float(np.mean([run.sets[part].means[measure] for run in runs]))


def _text(args, ranker, measures, runs, left_out):
    seconds = sum(run.seconds for run in runs)
    lines = [f"{_one_line(ranker)}", f"trained in {seconds:.2f} s", ""]
    rows = []
    for run in runs:
        for part, evaluation in run.sets.items():
            counts = [str(len(evaluation.query_ids)), str(evaluation.n_documents)]
            means = [f"{mean:.4f}" for mean in evaluation.means]
            rows.append([f"{run.name} {part}".strip(), *counts, *means])
    if len(runs) > 1:
        for part in runs[0].sets:
            means = [_mean_over_runs(runs, part, m) for m in range(len(measures))]
            rows.append([f"mean {part}", "", "", *(f"{mean:.4f}" for mean in means)])
    head = ["set", "queries", "documents", *measures]
    lines += _measures.aligned_table(head, rows)
    told = conventions_of(measures.values(), args.preset)
    if told:
        lines += ["", *textwrap.wrap(f"{told}.", max(72, len(lines[-len(rows) - 1])))]
    if args.save is not None:
        lines += ["", f"model written to {args.save}"]
        if left_out:
            told = (
                f"The file leaves out {', '.join(left_out)}: code of your own is never "
                "saved, and predictions do not need it."
            )
            lines += textwrap.wrap(told, 72)
    return "\n".join(lines)


def _one_line(ranker):
    return " ".join(repr(_names.with_named_measures(ranker)).split())


def _document(args, ranker, measures, runs):
    named = _names.with_named_measures(ranker)
    params = {name: repr(value) for name, value in named.get_params().items()}
    mean = {
        part: {
            name: plain_number(_mean_over_runs(runs, part, m))
            for m, name in enumerate(measures)
        }
        for part in runs[0].sets
    }
    return {
        "ranker": type(ranker).__name__,
        "params": params,
        "normalize": args.normalize,
        "preset": args.preset,
        "conventions": conventions_of(measures.values(), args.preset),
        "metrics": list(measures),
        "runs": [
            {
                "name": run.name,
                "seconds": run.seconds,
                "sets": {part: e.to_dict() for part, e in run.sets.items()},
            }
            for run in runs
        ],
        "mean": mean,
        "model": args.save,
    }


def _list(args):
    """Print all rankers, or the parameters of one of them."""
    known = _names.rankers()
    if args.ranker is None:
        width = max(map(len, known))
        print_lines(
            f"{name:<{width}}  {_names.approach(cls):<9}  {_names.summary(cls)}"
            for name, cls in known.items()
        )
        return
    cls = _names.find(args.ranker, known, "ranker")
    lines = [f"{cls.__name__}: {_names.summary(cls)}", ""]
    for name, parameter in inspect.signature(cls).parameters.items():
        lines.append(f"  {name}={parameter.default!r}")
    print_lines(lines)
