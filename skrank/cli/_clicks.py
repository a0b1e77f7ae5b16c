"""``skrank clicks``: models of clicks, labels from them, and simulated users."""

import argparse
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from skrank import click
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank.cli import _names
from skrank.cli._errors import CommandError
from skrank.cli._io import plain_number, report, source, stream, write_lines
from skrank.cli._options import STANDARD, refuse_others, refuse_unused
from skrank.cli._stdout import print_lines
from skrank.click import (
    BaseClickModel,
    Sessions,
    SimulatedUser,
    iter_sessions,
    load_sessions,
    save_sessions,
    to_labels,
)
from skrank.click._labels import relevance_of
from skrank.click._reading import format_by_name, kind_to_write, table_lines
from skrank.datasets import load_qrels, load_run
from skrank.datasets._trec import check_fields, trec_order
from skrank.export import load_model, save_model

_OF_USERS = ("user", "examination", "eta", "noise", "max_grade", "k")
_DEPTH = 10  # documents of a page of results


def run(args: argparse.Namespace) -> None:
    """Do what the action says."""
    {"fit": _fit, "labels": _labels, "simulate": _simulate}[args.action](args)


def _models() -> dict[str, type[BaseClickModel]]:
    """Return the models of clicks by name."""
    found = (getattr(click, name) for name in click.__all__)
    return {
        cls.__name__: cls
        for cls in found
        if inspect.isclass(cls) and issubclass(cls, BaseClickModel) and cls.short_name
    }


def _fit(args) -> None:
    if args.list:
        refuse_others(args, "with --list", ("list",))
        if args.logs:
            raise CommandError("--list reads no logs")
        known = [(f"{n} ({cls.short_name})", cls) for n, cls in _models().items()]
        width = max(len(name) for name, _ in known)
        print_lines(f"{name:<{width}}  {_names.summary(cls)}" for name, cls in known)
        return
    model = _unfitted(args)
    _check_reading(args, [*args.logs, *([] if args.test is None else [args.test])])
    sets: dict[str, Any] = {}
    test = None if args.test is None else _load(args, args.test)
    if args.chunk is None:
        train = Sessions.concat([_load(args, path) for path in args.logs])
        model.fit(train)
        sets["train"] = _measures(model, train)
    else:
        sets["train"] = _fit_in_parts(model, args)
    if test is not None:
        sets["test"] = _measures(model, test)
    if args.save is not None:
        save_model(model, args.save)
    document = {
        "model": type(model).__name__,
        "params": {name: _plain(v) for name, v in model.get_params().items()},
        "sets": sets,
        "file": args.save,
    }
    report("\n".join(_text(model, sets)), document, "clicks", args.json)


def _unfitted(args) -> BaseClickModel:
    if not args.logs:
        raise CommandError("clicks fit takes logs, as in skrank clicks fit log.tsv")
    if args.model is None:
        raise CommandError("pass --model NAME; 'skrank clicks fit --list' lists them")
    model = _names.find(args.model, _models(), "model")()
    _names.set_all(model, args.settings, args.jobs)
    if args.chunk is not None:
        if args.chunk < 1:
            raise CommandError(f"--chunk must be at least 1, got {args.chunk}")
        if not hasattr(model, "partial_fit"):
            raise CommandError(
                f"--chunk: {type(model).__name__} does not learn piece by piece"
            )
    return model


def _reading(args) -> dict[str, Any]:
    return {
        "format": args.log_format,
        "stray_clicks": args.stray_clicks,
        "numeric_ids": args.numeric_ids,
        "max_bytes": args.max_bytes,
    }


def _check_reading(args, paths) -> None:
    """Refuse options that say nothing about logs whose names tell what they are."""
    kinds = {format_by_name(path, args.log_format) for path in paths}
    if kinds == {"parquet"}:
        refuse_unused(args, "on Parquet, whose ids have a type", ("numeric_ids",))
    if kinds <= {"tsv", "parquet"}:
        mode = "on tables, whose clicks are on documents that were shown"
        refuse_unused(args, mode, ("stray_clicks",))


def _load(args, path) -> Sessions:
    return load_sessions(source(path, args.max_bytes), **_reading(args))


def _fit_in_parts(model: Any, args) -> dict[str, Any]:
    """Fit a model that counts to one piece of the logs after another."""
    counts = np.zeros(3, dtype=np.int64)
    for path in args.logs:
        for part in iter_sessions(stream(path), args.chunk, **_reading(args)):
            model.partial_fit(part)
            counts += len(part), part.n_impressions, part.n_clicks
    return dict(zip(("sessions", "impressions", "clicks"), counts.tolist()))


def _measures(model: BaseClickModel, sessions: Sessions) -> dict[str, Any]:
    by_rank = np.asarray(model.perplexity(sessions, per_rank=True))
    return {
        "sessions": len(sessions),
        "impressions": sessions.n_impressions,
        "clicks": sessions.n_clicks,
        "log_likelihood": plain_number(model.score(sessions)),
        "perplexity": plain_number(float(by_rank.mean())),
        "perplexity_by_rank": [plain_number(value) for value in by_rank],
    }


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    return (
        value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
    )


def _text(model: BaseClickModel, sets: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the result."""
    yield type(model).__name__
    for name, values in sets.items():
        counts = ", ".join(
            f"{values[what]} {what}" for what in ("sessions", "impressions", "clicks")
        )
        yield f"{name}: {counts}"
        if "perplexity" not in values:
            continue
        yield f"  log-likelihood of a session  {_figure(values['log_likelihood'], '-')}"
        yield f"  perplexity                   {_figure(values['perplexity'])}"
        ranks = " ".join(_figure(value) for value in values["perplexity_by_rank"])
        yield f"  perplexity by rank           {ranks}"


def _figure(value: float | None, sign: str = "") -> str:
    return f"{sign}inf" if value is None else f"{value:.4f}"


def _loaded_model(path: str, args) -> Any:
    model = load_model(source(path, args.max_bytes), max_bytes=args.max_bytes)
    if not callable(getattr(model, "relevance", None)):
        raise CommandError(
            f"{path}: expected a model of clicks, found a {type(model).__name__}"
        )
    return model


def _labels(args) -> None:
    if args.log is None:
        refuse_unused(
            args, "without --log", ("log_format", "stray_clicks", "numeric_ids")
        )
    else:
        _check_reading(args, [args.log])
    if args.thresholds is not None:
        refuse_unused(args, "with --thresholds", ("per_query",))
    model = _loaded_model(args.model, args)
    if args.log is not None:
        pairs: Any = _load(args, args.log)
    elif hasattr(model, "relevance_table"):
        table = model.relevance_table()
        pairs = table["query"], table["document"]
    else:
        raise CommandError(
            f"a {type(model).__name__} has no list of pairs; pass --log LOG"
        )
    n_thresholds = 4 if args.thresholds is None else len(args.thresholds)
    options = {
        "n_grades": n_thresholds + 1 if args.grades is None else args.grades,
        "method": "quantile" if args.thresholds is None else "threshold",
        "thresholds": args.thresholds,
        "per_query": args.per_query,
    }
    labels = to_labels(model, pairs, **options)
    queries, documents = check_fields(labels.groups, labels.docids, len(labels.y))
    if args.format == "qrels":
        lines = (
            f"{q} 0 {d} {y:g}" for q, d, y in zip(queries, documents, labels.y.tolist())
        )
    else:
        relevance = relevance_of(model, labels.groups, labels.docids)
        rows = zip(queries, documents, relevance.tolist(), labels.y.tolist())
        lines = (f"{q}\t{d}\t{r!r}\t{y:g}" for q, d, r, y in rows)
        lines = ("query\tdocument\trelevance\tgrade", *lines)
    write_lines(lines, args.output)


def _simulate(args) -> None:
    if (args.model is None) == (args.qrels is None):
        raise CommandError("pass either --qrels FILE or --model FILE")
    for option, value in (("-k", args.k), ("--sessions", args.sessions)):
        if value is not None and not 1 <= value < 2**31:
            raise CommandError(f"{option} must be from 1 to 2**31 - 1, got {value}")
    if not 0 <= args.seed < 2**32:
        raise CommandError(f"--seed must be from 0 to 2**32 - 1, got {args.seed}")
    path = None if args.output == STANDARD else args.output
    if path is not None:
        kind_to_write(path, "-o")
    if args.model is None:
        refuse_unused(
            args, "with --qrels", ("log_format", "stray_clicks", "numeric_ids")
        )
        if args.examination != "position":
            mode = "without --examination position, to which it belongs"
            refuse_unused(args, mode, ("eta",))
        sessions = _of_users(args)
    else:
        refuse_unused(args, "with --model", _OF_USERS)
        _check_reading(args, [args.lists])
        model = _loaded_model(args.model, args)
        if not hasattr(model, "sample"):
            raise CommandError(f"a {type(model).__name__} draws no clicks")
        shown_again = _repeated(_load(args, args.lists), args.sessions)
        sessions = model.sample(shown_again, random_state=args.seed)
    if path is None:
        lines = table_lines(sessions)
        print_lines(line.decode(errors="surrogateescape") for line in lines)
    else:
        save_sessions(sessions, path)


def _repeated(sessions: Sessions, times: int) -> Sessions:
    """Return each session several times in a row, without ids."""
    again = sessions[np.repeat(np.arange(len(sessions)), times)]
    arrays = again.query, again.document, again.click, again.ptr
    return Sessions(*arrays, again.query_ids, again.document_ids)


def _of_users(args) -> Sessions:
    """Return what simulated users do with the rankings of a run."""
    limit = args.max_bytes
    run_ = load_run(source(args.lists, limit), max_bytes=limit)
    qrels = load_qrels(source(args.qrels, limit), max_bytes=limit)
    names = {"user": "behaviour"}
    given = {names.get(name, name): getattr(args, name) for name in _OF_USERS[:-1]}
    user = SimulatedUser(**{name: v for name, v in given.items() if v is not None})
    index = QueryIndex.from_groups(run_.groups)
    order = trec_order(index.codes, index.take(run_.scores), index.take(run_.docids))
    documents, depth = index.take(run_.docids)[order], args.k or _DEPTH
    bounds = zip(index.ptr[:-1].tolist(), index.ptr[1:].tolist())
    lists = [documents[start : min(start + depth, stop)] for start, stop in bounds]
    judged = qrels.to_dict()
    grades = [
        max(judged.get(query, {}).get(document, 0.0), 0.0)
        for query, row in zip(index.ids.tolist(), lists)
        for document in row.tolist()
    ]
    if not any(query in judged for query in index.ids.tolist()):
        raise CommandError(
            f"--qrels judges no query of the run, such as {shown(index.ids[0].item())}"
        )
    no_clicks = [[0] * len(row) for row in lists]
    once = Sessions.from_lists(index.ids, lists, no_clicks)
    sessions = _repeated(once, args.sessions)
    row = np.arange(once.n_impressions)
    marked = Sessions(
        once.query, row, once.click, once.ptr, once.query_ids, row
    )  # whose documents are rows of grades
    y = np.array(grades)[_repeated(marked, args.sessions).document]
    clicks = user.click(y, sessions.ptr, random_state=args.seed)
    arrays = sessions.query, sessions.document, clicks, sessions.ptr
    return Sessions(*arrays, sessions.query_ids, sessions.document_ids)
