"""Tables of documents, CSV and Parquet, for the commands that read LETOR text.

The names of the columns are kept, so that a model finds its features in other tables,
wherever they stand there, and reads as text what was text in training.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skrank._core._levels import FROM_DTYPE
from skrank._core._messages import on_one_line, shown
from skrank._core._validation import check_grades
from skrank.cli._errors import CommandError
from skrank.cli._io import Documents, read_letor
from skrank.cli._models import naming_files
from skrank.cli._options import COLUMN_OPTIONS, refuse_unused
from skrank.datasets import load_table
from skrank.datasets._tables import kind_of_table

# Not .txt, which is the end of LETOR text.
_ENDS = (".csv", ".tsv", ".tab", ".parquet", ".pq")


class Columns(NamedTuple):
    """The columns of features, and those of them that are read as names.

    Attributes
    ----------
    features : sequence of str or None
        Names of the features; None for all other columns.
    names : sequence of str or "from_dtype"
        Those that are read as names; of text as it stands.
    were_text : bool, default=False
        Whether they were text in training, which a table of another kind may hold as
        whole numbers.
    """

    features: Sequence[str] | None
    names: Any
    were_text: bool = False


def is_table(path: Any) -> bool:
    """Return whether the name of a file says that it is a table."""
    return isinstance(path, str) and kind_of_table(path) in _ENDS


def check_columns(
    args: argparse.Namespace, files: dict[str, Any], *, needs_qid: bool = True
) -> bool:
    """Return whether the files are tables; check that the options belong to them.

    Parameters
    ----------
    args : Namespace
        Arguments.
    files : dict of str to path
        Files by what they are for; the first decides what all must be.
    needs_qid : bool, default=True
        Whether the queries of the documents must be known.

    Returns
    -------
    bool

    Raises
    ------
    CommandError
        If some are tables and others are not, or options are missing or mean nothing.
    """
    first = next(iter(files.values()))
    tables = is_table(first)
    for name, path in files.items():
        if is_table(path) != tables:
            kind = "a table" if tables else "LETOR text"
            raise CommandError(
                f"--{name}: {_spoken(path)} must be {kind}, as {_spoken(first)} is"
            )
    if not tables:
        refuse_unused(args, "on LETOR text", COLUMN_OPTIONS)
    elif args.qid is None and needs_qid:
        raise CommandError(
            f"{_spoken(first)} is a table: name the column of the query ids by --qid"
        )
    return tables


def _spoken(path: Any) -> str:
    return on_one_line(str(path))


def read_table(args: argparse.Namespace, path: str, columns: Columns) -> Documents:
    """Read a table; documents have no grades unless ``--label`` names their column.

    Parameters
    ----------
    args : Namespace
        Arguments.
    path : str
        File to read.
    columns : Columns
        Features to read.

    Returns
    -------
    Documents
    """
    with _naming_options(args, columns):
        data = load_table(
            path,
            label=getattr(args, "label", None),
            qid=args.qid,
            docid=args.docid,
            features=columns.features,
            categorical_features=columns.names,
            dtype=np.float64,
            as_frame=True,
            max_bytes=args.max_bytes,
        )
    if columns.were_text:
        for column in columns.names:
            levels = data.X[column].cat
            kind = levels.categories.dtype.kind
            if kind in "iu":
                data.X[column] = levels.rename_categories(str)
            elif kind in "bf":  # before any work that would be lost
                raise CommandError(
                    f"{_spoken(path)}: column {shown(column)} holds numbers of dtype "
                    f"{levels.categories.dtype}, but was text in training; make it "
                    "text or whole numbers"
                )
    y: Any = None if data.y is None else data.y.to_numpy()
    return Documents(data.X, y, data.groups, data.docids)


@contextmanager
def _naming_options(args, columns: Columns) -> Iterator[None]:
    """Speak of options where an error of `load_table` speaks of its arguments."""
    try:
        yield
    except ValueError as error:
        problem, found, _ = str(error).partition("; name the columns to use in ")
        if not found:
            raise
        advice = "name the columns that hold names by --categorical"
        if hasattr(args, "features"):  # which an experiment has for each ranker
            advice += ", or those to use by --features"
        if columns.were_text:  # training has said what the columns hold
            advice = "it held numbers in training"
        raise CommandError(f"{problem}; {advice}") from error


def read_grades(args: argparse.Namespace) -> Documents:
    """Read the documents that ``--letor`` names, LETOR text or a table, with grades.

    Parameters
    ----------
    args : Namespace
        Arguments.

    Returns
    -------
    Documents

    Raises
    ------
    CommandError
        If options are missing or mean nothing.
    ValueError
        If the file cannot be read, or the grades are none.
    """
    limit = args.max_bytes
    if check_columns(args, {"letor": args.letor}):
        if args.label is None:
            raise CommandError(
                f"{_spoken(args.letor)} is a table: name the column of the grades by "
                "--label"
            )
        if args.label == args.qid:
            raise CommandError(
                f"--label and --qid name the same column, {shown(args.label)}"
            )
        table = {"label": args.label, "qid": args.qid, "features": ()}
        found = load_table(args.letor, as_frame=True, max_bytes=limit, **table)
        data = Documents(found.X, found.y.to_numpy(), found.groups, None)
    else:
        options = {"sparse": True, "n_jobs": args.jobs, "max_bytes": limit}
        data = read_letor(args.letor, **options)
    with naming_files(args.letor):
        check_grades(data.y)
    return data


def columns_of_options(args: argparse.Namespace) -> Columns:
    """Return the columns that ``--features`` and ``--categorical`` name."""
    features = None if args.features is None else args.features.split(",")
    names = FROM_DTYPE if args.categorical is None else args.categorical.split(",")
    return Columns(features, names)


def check_scaled_columns(X: Any, path: str, normalize: str) -> None:
    """Raise an error if features are to be scaled that are names.

    Parameters
    ----------
    X : DataFrame
        Features of a table.
    path : str
        The table.
    normalize : str
        "none" or the name of a scaling.
    """
    named = [column for column in X.columns if hasattr(X[column].dtype, "categories")]
    if named and normalize != "none":
        raise CommandError(
            f"{_spoken(path)}: --normalize {normalize} scales numbers, but column "
            f"{shown(named[0])} holds names; choose columns of numbers by --features, "
            "or leave out --normalize"
        )


def columns_of_frame(X: Any) -> Columns:
    """Return the columns of a table that was read, for others to be read alike."""
    names = [
        column
        for column in X.columns
        if hasattr(X[column].dtype, "categories")
        and _has_text(X[column].cat.categories)
    ]
    return Columns(list(X.columns), names, were_text=True)


def columns_of_model(model: BaseEstimator) -> Columns:
    """Return the columns that a fitted model knows, if it knows any by name."""
    features = getattr(model, "feature_names_in_", None)
    if features is None:
        return Columns(None, FROM_DTYPE)
    as_text = set()
    steps = (
        [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    )
    for step in steps:
        encoder = getattr(step, "encoder_", step)
        known = getattr(step, "feature_names_in_", features)
        for j, levels in zip(
            getattr(encoder, "columns_", ()), getattr(encoder, "levels_", ())
        ):
            if _has_text(levels) and known[j] in features:
                as_text.add(known[j])
    names = [name for name in features if name in as_text]
    return Columns(list(features), names, were_text=True)


def _has_text(levels: Any) -> bool:
    return any(isinstance(level, str) for level in levels)
