"""``skrank fit``: train a ranker, evaluate it and save it."""

import argparse
import inspect
import os
import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skrank._core._parameters import InvalidParameterError
from skrank._core._paths import named_errors
from skrank._core._validation import check_grades
from skrank.cli import _measures, _names
from skrank.cli._errors import CommandError
from skrank.cli._io import (
    Progress,
    plain_number,
    read_letor,
    report,
    rows_of,
    source,
)
from skrank.cli._models import naming_files, predict_scores, train_model
from skrank.cli._options import STANDARD, refuse_others
from skrank.cli._stdout import print_lines, standard_output
from skrank.datasets import load_letor_folds
from skrank.datasets._letor import n_features_of
from skrank.export import save_model
from skrank.model_selection import QueryKFold


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
    """

    name: str
    seconds: float
    sets: dict[str, Any]
    model: Any


def run(args: argparse.Namespace) -> None:
    """Train, evaluate, save and report."""
    if args.list:
        refuse_others(args, "with --list", ("list", "ranker"))
        if args.train is not None:
            raise CommandError("--list reads no training file")
        _list(args)
        return
    _check(args)
    if args.save == STANDARD and sys.stdout is None:
        raise CommandError("the standard output is closed")
    measures = _measures.parse_metrics(args.metrics, args.preset)
    ranker = _names.make_ranker(args.ranker, args.settings, args.seed, args.jobs)
    progress = Progress(args.verbose)
    data = {} if args.letor_folds is not None else _sets(args)
    splits = _letor_folds(args) if args.letor_folds is not None else _splits(args, data)
    runs = [_train(args, ranker, measures, *split, progress) for split in splits]
    if args.save is not None:
        model = runs[0].model
        if args.folds is not None:
            # The folds estimate the quality; the model to keep learns from all queries.
            model = clone(ranker)
            with naming_files(args.train):
                model, _ = train_model(
                    model, args.normalize, data["train"], None, progress
                )
        _save(model, args.save)
    report(
        _text(args, ranker, measures, runs),
        _document(args, ranker, measures, runs),
        "fit",
        args.json,
        sys.stderr if args.save == STANDARD else None,
    )


def _save(model, path):
    if path == STANDARD:
        with standard_output() as stream:
            save_model(model, stream.buffer)
    else:
        with named_errors(path):
            save_model(model, path)


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
    paths = {"train": args.train, "validation": args.validation, "test": args.test}
    limit = args.max_bytes
    sources = {
        name: source(path, limit) for name, path in paths.items() if path is not None
    }
    # The last features may be 0 throughout one of the files, which then looks narrower.
    width = max(
        n_features_of(each, args.jobs, limit, sparse=args.sparse)
        for each in sources.values()
    )
    return {name: _read(args, each, width) for name, each in sources.items()}


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
        with naming_files(files["train"], files["validation"]):
            model, seconds = train_model(
                ranker, args.normalize, sets["train"], sets.get("validation"), progress
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
    return _Run(name, seconds, evaluations, model)


def _files(args, name) -> dict[str, Any]:
    """Names of the files of a split, by the names of the sets."""
    if args.letor_folds is not None:
        fold = os.path.join(args.letor_folds, name)
        return dict.fromkeys(("train", "validation", "test"), fold)
    test = args.train if args.test is None else args.test  # a part of it by --folds
    return {"train": args.train, "validation": args.validation, "test": test}


def _mean_over_runs(runs, part, measure):
    return float(np.mean([run.sets[part].means[measure] for run in runs]))


def _text(args, ranker, measures, runs):
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
    if args.save is not None:
        lines += ["", f"model written to {args.save}"]
    return "\n".join(lines)


def _one_line(ranker):
    return " ".join(repr(ranker).split())


def _document(args, ranker, measures, runs):
    params = {name: repr(value) for name, value in ranker.get_params().items()}
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
