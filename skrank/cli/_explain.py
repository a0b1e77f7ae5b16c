"""``skrank explain``: what each feature contributes to the place of a document."""

import argparse
from typing import Any, NamedTuple

import numpy as np

from skrank._core._messages import on_one_line, shown
from skrank._core._segments import segment_ranks
from skrank.cli._errors import CommandError
from skrank.cli._io import Documents, plain_number, report, rows_of, write_lines
from skrank.cli._measures import aligned_table
from skrank.cli._models import naming_files
from skrank.cli._options import STANDARD, refuse_unused
from skrank.cli._predict import scored
from skrank.datasets._container import document_names
from skrank.inspection import explain_preference, shap_values
from skrank.inspection._categories import keeps_columns
from skrank.inspection._explanation import text_of_value


class _Contributions(NamedTuple):
    """Contributions to one score, or to the difference of two.

    Attributes
    ----------
    features : list of str
        Names of the features.
    data : ndarray of shape (n_documents, n_features)
        Their values, those of categories as the file has them.
    values : ndarray of shape (n_features,)
        Their contributions.
    base : float or None
        What the contributions are added to; None for a difference.
    """

    features: list[str]
    data: np.ndarray
    values: np.ndarray
    base: float | None


def run(args: argparse.Namespace) -> None:
    """Explain the score of a document, or the difference of two."""
    if args.top < 1:
        raise CommandError(f"--top must be at least 1, got {args.top}")
    if args.against is not None:
        refuse_unused(args, "with --against", ("background",))
    if args.json == STANDARD and args.output is None:
        refuse_unused(args, "with --json -, which prints all features", ("top",))
    model, data, scores = scored(args)
    rows = np.flatnonzero(np.asarray(data.groups, dtype=str) == args.query)
    if not len(rows):
        raise CommandError(
            f"--query: {on_one_line(args.data)} has no query {shown(args.query)}"
        )
    ranks = segment_ranks(scores[rows], np.array([0, len(rows)]))
    names = document_names(data)[rows]
    places = _places(args, names, ranks)
    with naming_files(args.data):
        found = _explained(model, rows_of(data, rows), data, places, args)
    documents = [
        {
            "document": str(names[place]),
            "score": float(scores[rows][place]),
            "rank": int(ranks[place]),
        }
        for place in places
    ]
    _show(found, documents, len(rows), args)


def _places(args, names, ranks) -> list[int]:
    """Return where the documents stand that the arguments name."""
    places = [int(np.argmin(ranks))]
    if args.document is not None:
        places = [_place(names, args.document, "--document", args.query)]
    if args.against is not None:
        places.append(_place(names, args.against, "--against", args.query))
        if places[0] == places[1]:
            raise CommandError(
                f"--against must name another document than {shown(args.against)}, "
                "which is to be explained"
            )
    return places


def _place(names, name, option, query) -> int:
    places = np.flatnonzero(names == name)
    if len(places) != 1:
        count = "no document" if not len(places) else f"{len(places)} documents"
        raise CommandError(f"{option}: query {shown(query)} has {count} {shown(name)}")
    return int(places[0])


def _explained(
    model: Any, own: Documents, data: Documents, places: list[int], args: Any
) -> _Contributions:
    if len(places) == 2:
        pair = explain_preference(model, own.X, places[0], places[1], own.groups)
        names = _names(pair.feature_names, model, data)
        return _Contributions(names, _values_of(pair), pair.values, None)
    background: Any = {"query": "query", "all": data.X, "covers": None}[args.background]
    found = shap_values(
        model,
        own.X,
        background,
        own.groups,
        background_groups=data.groups if args.background == "all" else None,
        n_jobs=args.jobs,
    )
    (row,) = places
    return _Contributions(
        _names(found.feature_names, model, data),
        _values_of(found)[[row]],
        found.values[row],
        float(found.base_values[row]),
    )


def _values_of(explanation: Any) -> np.ndarray:
    given = explanation.display_data
    return explanation.data if given is None else given


def _names(names: list[str], model: Any, data: Documents) -> list[str]:
    """Return names of features; those without any have the numbers of LETOR text."""
    if names != [f"x{j}" for j in range(len(names))]:
        return names
    columns = getattr(data.X, "columns", getattr(model, "feature_names_in_", None))
    if columns is None:
        return [str(j) for j in range(1, len(names) + 1)]
    return [str(column) for column in columns] if keeps_columns(model) else names


def _show(found: _Contributions, documents, n_documents, args) -> None:
    order = np.argsort(-np.abs(found.values), kind="stable")
    document = {
        "query": args.query,
        "documents": documents,
        **({} if found.base is None else {"base": found.base}),
        "features": [
            {
                "feature": found.features[j],
                "values": [_plain(value) for value in found.data[:, j]],
                "contribution": float(found.values[j]),
            }
            for j in order
        ],
    }
    lines = [
        f"query {args.query}, document {d['document']}: score {d['score']:.6g}, rank "
        f"{d['rank']} of {n_documents}"
        for d in documents
    ]
    lines += ["", *_table(found, order, args.top)]
    if args.output is not None:
        write_lines(lines, args.output)
        lines = []
    report("\n".join(lines), document, "explain", args.json)


def _table(found: _Contributions, order, top) -> list[str]:
    head = ["feature", "value", "contribution"]
    if len(found.data) == 2:
        head = ["feature", "value", "against", "contribution"]
    gap = [""] * len(found.data)
    rows = [
        [
            on_one_line(found.features[j]),
            *(text_of_value(value, 6) for value in found.data[:, j]),
            _signed(phi),
        ]
        for j, phi in zip(order[:top], found.values[order[:top]])
    ]
    rest = found.values[order[top:]]
    if len(rest):
        what = "1 other" if len(rest) == 1 else f"{len(rest)} others"
        rows.append([what, *gap, _signed(rest.sum())])
    if found.base is None:
        rows.append(["difference", *gap, _signed(found.values.sum())])
    else:
        rows.append(["compared with", *gap, _signed(found.base)])
        rows.append(["score", *gap, _signed(found.base + found.values.sum())])
    return aligned_table(head, rows)


def _signed(number) -> str:
    return f"{number:+.6f}" if 1e-4 <= abs(number) < 1e6 else f"{number:+.5g}"


def _plain(value) -> str | int | float | None:
    if value is None or isinstance(value, str | int):
        return value
    return plain_number(value)
