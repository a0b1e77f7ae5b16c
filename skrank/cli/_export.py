"""``skrank export``: a model for a search engine."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skrank._core._messages import on_one_line
from skrank._core._queries import QueryIndex
from skrank._core._segments import segment_ranks
from skrank.cli._errors import CHECK_FAILED, CommandError, ExitCode
from skrank.cli._io import read_letor, read_lines, source, write_lines
from skrank.cli._models import n_features_of_model, naming_files, predict_scores
from skrank.cli._options import STANDARD, refuse_unused
from skrank.cli._stdout import print_lines
from skrank.export import (
    from_json,
    load_model,
    score_elasticsearch,
    score_ranklib,
    score_solr,
    to_elasticsearch,
    to_json,
    to_ranklib,
    to_solr,
)
from skrank.export._elasticsearch import RANKLIB
from skrank.export._scoring import check_feature_names, scoring_function


@dataclass(frozen=True)
class _Format:
    """A format to write models in.

    Attributes
    ----------
    write : callable
        ``write(model, **options)`` returns the text of the model.
    score : callable
        ``score(text, X, feature_names)`` returns the scores that a system computes from
        the text.
    options : tuple of str
        Options of the command that the format takes.
    """

    write: Callable[..., str]
    score: Callable[[str, Any, Any], np.ndarray]
    options: tuple[str, ...]


def _score_json(text, X, feature_names):
    return from_json(text).predict(X)


def _score_ranklib(text, X, feature_names):
    return score_ranklib(text, X)


def _score_elasticsearch(text, X, feature_names):
    return score_elasticsearch(text, X, feature_names=feature_names)


def _score_solr(text, X, feature_names):
    return score_solr(text, X, feature_names=feature_names)


_FORMATS = {
    "json": _Format(to_json, _score_json, ("features",)),
    "elasticsearch": _Format(
        to_elasticsearch, _score_elasticsearch, ("name", "type", "features", "missing")
    ),
    "ranklib": _Format(to_ranklib, _score_ranklib, ("missing",)),
    "solr": _Format(to_solr, _score_solr, ("name", "store", "features", "missing")),
}


def run(args: argparse.Namespace) -> None:
    """Write a model in the format of another system, and check it if asked."""
    format_ = _FORMATS[args.format]
    options = _options(args, format_)
    if args.check is None:
        refuse_unused(args, "without --check", ("jobs",))
    elif args.output in (None, STANDARD):
        raise CommandError("--check prints its result, so --output FILE is needed")
    limit = args.max_bytes
    model = load_model(source(args.model, limit), max_bytes=limit)
    function = scoring_function(model)
    if function.kind == "linear":
        mode = "on a linear model, in which a missing value counts as 0"
        refuse_unused(args, mode, ("missing",))
    names = None if args.features is None else _names_in(args.features, limit)
    if args.type == RANKLIB:
        mode = f"with --type {RANKLIB}, which addresses features by number"
        refuse_unused(args, mode, ("features",))
    elif "features" in format_.options:
        names = options["feature_names"] = _feature_names(args, function, names)
    text = format_.write(model, **options)
    # Checked before it is written, so that a bad file leaves nothing behind.
    checked = None if args.check is None else _checked(args, model, text, names)
    write_lines(text.splitlines(), args.output)
    if checked is not None:
        print_lines([checked.text])
        if checked.n_moved:
            # The file is there to be looked at; what comes next in a script stops.
            raise ExitCode(CHECK_FAILED)


def _feature_names(args, function, names):
    """Return the names given, or else those that the model has."""
    try:
        names = check_feature_names(names, function)
    except ValueError as error:
        file = on_one_line(args.features)
        raise CommandError(str(error).replace("feature_names", file, 1)) from None
    if names is None and args.format != "json":
        raise CommandError(
            f"--features is missing: {args.format} addresses features by name, and "
            "the model has none"
        )
    return names


def _options(args, format_):
    """Options that were given, by argument of the writer; others are refused."""
    allowed = format_.options
    given = {k: getattr(args, k) for k in ("name", "type", "store", "missing")}
    given = {k: v for k, v in given.items() if v is not None}
    for option in (*given, *(["features"] if args.features is not None else [])):
        if option not in allowed:
            raise CommandError(f"--format {args.format} takes no --{option}")
    if "name" in allowed and "name" not in given:
        raise CommandError(f"--format {args.format} needs --name")
    return given


def _names_in(path, max_bytes):
    """Return the names of a file, one from each line that is not blank."""
    lines = read_lines(path, max_bytes)
    try:
        names = [line.decode("utf-8").strip() for _, line in lines]
    except UnicodeDecodeError as error:
        raise CommandError(f"{on_one_line(path)} is not text: {error.reason}") from None
    if not names:
        raise CommandError(f"{on_one_line(path)} holds no names")
    return names


class _Checked(NamedTuple):
    """What was found by scoring a file in both ways.

    Attributes
    ----------
    text : str
        The result for people.
    n_moved : int
        Number of documents that change their rank.
    """

    text: str
    n_moved: int


def _checked(args, model, text, names) -> _Checked:
    data = read_letor(
        args.check,
        n_features_of_model(model),
        n_jobs=args.jobs,
        max_bytes=args.max_bytes,
    )
    with naming_files(args.check):
        expected = np.asarray(predict_scores(model, data), dtype=np.float64)
        score = _FORMATS[args.format].score
        served = score(text, data.X, names).astype(np.float64)
    index = QueryIndex.from_groups(data.groups)
    starts = index.ptr[:-1]
    # A constant that is the same for all documents of a query does not change ranks,
    # and some systems have no place for the constant term of a linear model.
    off = index.take(served - expected)
    spread = np.maximum.reduceat(off, starts) - np.minimum.reduceat(off, starts)
    before, after = (
        segment_ranks(np.ascontiguousarray(index.take(s)), index.ptr)
        for s in (expected, served)
    )
    n_moved = int(np.sum(before != after))
    return _Checked(
        f"{len(off)} documents of {len(starts)} queries: differences of scores are off "
        f"by at most {spread.max():.2g}, {n_moved} documents change their rank",
        n_moved,
    )
