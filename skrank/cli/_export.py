"""``skrank export``: a model for a search engine."""

from pathlib import Path

import numpy as np

from skrank._core._queries import QueryIndex
from skrank._core._segments import segment_ranks
from skrank.cli._errors import CommandError
from skrank.cli._io import check_writable, read_letor, write_lines
from skrank.cli._models import n_features_of_model, predict_scores
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
from skrank.export._scoring import scoring_function

# Options that a format takes beside the model.
_OPTIONS = {
    "json": ("features",),
    "elasticsearch": ("name", "type", "features", "missing"),
    "ranklib": ("missing",),
    "solr": ("name", "store", "features", "missing"),
}
_WRITERS = {
    "json": to_json,
    "elasticsearch": to_elasticsearch,
    "ranklib": to_ranklib,
    "solr": to_solr,
}


def run(args):
    """Write a model in the format of another system, and check it if asked."""
    options = _options(args)
    if args.check is not None and args.output is None:
        raise CommandError("--check prints its result, so --output FILE is needed")
    check_writable(args.output)
    model = load_model(args.model)
    names = None if args.features is None else _lines(args.features)
    if "features" in _OPTIONS[args.format]:
        names = names or scoring_function(model).feature_names
        if names is None and args.format != "json":
            raise CommandError(
                f"--features is missing: {args.format} addresses features by name, and "
                "the model has none"
            )
        options["feature_names"] = names
    text = _WRITERS[args.format](model, **options)
    write_lines(text.splitlines(), args.output)
    if args.check is not None:
        print(_checked(args, model, text, names))


def _options(args):
    """Options given, by argument of the writing function; others are refused."""
    allowed = _OPTIONS[args.format]
    given = {k: getattr(args, k) for k in ("name", "type", "store", "missing")}
    given = {k: v for k, v in given.items() if v is not None}
    for option in (*given, *(["features"] if args.features is not None else [])):
        if option not in allowed:
            raise CommandError(f"--format {args.format} takes no --{option}")
    if "name" in allowed and "name" not in given:
        raise CommandError(f"--format {args.format} needs --name")
    return given


def _lines(path):
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not text: {error}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _served(format_, text, X, names):
    """Scores as the system computes them."""
    if format_ == "json":
        return from_json(text).predict(X)
    if format_ == "ranklib":
        return score_ranklib(text, X)
    score = {"elasticsearch": score_elasticsearch, "solr": score_solr}[format_]
    return score(text, X, feature_names=names)


def _checked(args, model, text, names):
    data = read_letor(args.check, n_features_of_model(model), n_jobs=args.jobs)
    expected = np.asarray(predict_scores(model, data), dtype=np.float64)
    served = _served(args.format, text, data.X, names).astype(np.float64)
    index = QueryIndex.from_groups(data.groups)
    starts = index.ptr[:-1]
    # A constant that is the same for all documents of a query does not matter.
    off = index.take(served - expected)
    spread = np.maximum.reduceat(off, starts) - np.minimum.reduceat(off, starts)
    before, after = (
        segment_ranks(np.ascontiguousarray(index.take(s)), index.ptr)
        for s in (expected, served)
    )
    return (
        f"{len(off)} documents of {len(starts)} queries: differences of scores are off "
        f"by at most {spread.max():.2g}, {np.sum(before != after)} documents change "
        "their rank"
    )
