"""Runs and judgements in any form that users hold them in, the judgements first."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from skrank._core._finite import quiet
from skrank._core._levels import is_frame, names_of_columns
from skrank._core._messages import shown
from skrank._core._paths import checked_path
from skrank._core._validation import as_ids, as_numbers
from skrank.datasets._runs import FRAMES, Qrels, Run, is_of_ranx
from skrank.datasets._trec import WrongKindError, load_qrels, load_run

QrelsLike = Qrels | Mapping[Any, Mapping[Any, float]] | str | os.PathLike | Any
RunLike = Run | Mapping[Any, Mapping[Any, float]] | str | os.PathLike | Any

_Kind = Literal["qrels", "run"]
_CLASSES: dict[_Kind, type] = {"qrels": Qrels, "run": Run}
_LOADERS: dict[_Kind, Callable[[Any], Any]] = {"qrels": load_qrels, "run": load_run}
_WORDS: dict[_Kind, str] = {"qrels": "judgements", "run": "a run"}
_NUMBERS: dict[_Kind, str] = {"qrels": "grade", "run": "score"}


def qrels_and_run(qrels: QrelsLike, run: RunLike, caller: str) -> tuple[Qrels, Run]:
    """Return judgements and a run as objects of the package.

    Parameters
    ----------
    qrels : Qrels, mapping, data frame, path, object of ranx or sequence
        Judgements.
    run : Run, mapping, data frame, path, object of ranx or sequence
        Retrieved documents.
    caller : str
        Name of the function that the user called.

    Returns
    -------
    qrels : Qrels
        The judgements.
    run : Run
        The run.

    Raises
    ------
    ValueError
        If ids are missing, numbers are no numbers, a document occurs twice for a query,
        or only the numbers tell that the two are swapped.
    TypeError
        If one of the two is of another kind, or the run comes first.
    """
    qrels, run = in_their_places(qrels, run, caller)
    judged = table_of("qrels", qrels, caller)
    ranked = table_of("run", run, caller)
    if kind_of(qrels) is None and kind_of(run) is None:
        refuse_swapped_numbers(judged.y, ranked.scores, caller)
    return judged, ranked


def in_their_places(qrels: Any, run: Any, caller: str) -> tuple[Any, Any]:
    """Return judgements and a run, unless they are known to be swapped.

    Parameters
    ----------
    qrels, run : objects
        Tables of any form; iterators, which can be read only once, become lists.
    caller : str
        Name of the function that the user called.

    Returns
    -------
    tuple of objects
        Both tables.

    Raises
    ------
    TypeError
        If one of them is known to be the other.
    """
    qrels = list(qrels) if isinstance(qrels, Iterator) else qrels
    run = list(run) if isinstance(run, Iterator) else run
    wrong = []
    if kind_of(qrels) == "run":
        wrong.append("a run as qrels")
    if kind_of(run) == "qrels":
        wrong.append("judgements as run")
    if wrong:
        raise TypeError(f"{_order(caller)}, got {' and '.join(wrong)}")
    return qrels, run


def refuse_several_as_qrels(qrels: Any, caller: str) -> None:
    """Raise an error if a mapping of names to tables stands in place of judgements."""
    if any(map(_is_table, qrels.values() if isinstance(qrels, Mapping) else ())):
        raise TypeError(
            f"{caller} takes judgements first and then runs, as in {caller}(qrels, "
            "runs), got several tables as qrels"
        )


def _is_table(entry: Any) -> bool:
    """Return whether an entry of a mapping is a table, not the grades of a query."""
    if isinstance(entry, Mapping):
        return len(entry) > 0 and _is_nested(entry)
    return isinstance(entry, (str, os.PathLike)) or kind_of(entry) is not None


def _order(caller: str) -> str:
    return f"{caller} takes judgements first and then a run, {caller}(qrels, run)"


def kind_of(table: Any) -> _Kind | None:
    """Return whether something holds judgements or a run, None where nothing tells."""
    for kind, cls in _CLASSES.items():
        if isinstance(table, cls) or is_of_ranx(table, cls.__name__):
            return kind
    if is_frame(table):
        names = [str(name) for name in names_of_columns(table)]
        # Frames of ranx call grades scores, too.
        has_scores = "score" in names and "q_id" not in names
        has_grades = any(known[3] in names for known in list(FRAMES.values())[:2])
        return _one_of(has_grades, has_scores)
    first = table[0] if isinstance(table, (list, tuple)) and len(table) else None
    fields = getattr(first, "_fields", ())
    return _one_of("relevance" in fields, "score" in fields)


def _one_of(is_qrels: bool, is_run: bool) -> _Kind | None:
    if is_qrels == is_run:
        return None
    return "qrels" if is_qrels else "run"


def refuse_swapped_numbers(grades: np.ndarray, scores: np.ndarray, caller: str) -> None:
    """Raise an error if grades have fractions and scores do not: they are swapped."""
    with quiet():  # infinite scores have no remainder
        has_fractions = np.isfinite(grades).all() and (grades % 1).any()
        looks_swapped = has_fractions and len(scores) and not (scores % 1).any()
    if looks_swapped:
        raise ValueError(
            f"{_order(caller)}; here qrels holds fractions and run whole numbers only, "
            "as if they were swapped; if they are not, pass Qrels.from_dict(qrels)"
        )


def table_of(kind: _Kind, table: Any, caller: str) -> Any:
    """Return a `Qrels` or a `Run` of any form; ``kind`` is the name of the argument.

    Parameters
    ----------
    kind : {"qrels", "run"}
        What it is.
    table : object
        Table in any form.
    caller : str
        Name of the function that the user called.

    Returns
    -------
    Qrels or Run
    """
    cls: Any = _CLASSES[kind]
    if isinstance(table, cls):
        return table
    if isinstance(table, (str, os.PathLike)):
        return _loaded(kind, table, caller)
    tag = {"tag": "skrank"} if kind == "run" else {}
    if is_of_ranx(table, cls.__name__):
        return cls.from_ranx(table)
    if is_frame(table):
        given = dict.fromkeys(("query", "document", _NUMBERS[kind]))
        return cls(*cls._columns_of_frame(table, kind, given), **tag)
    if _is_nested(table):
        return cls(*cls._columns_of_dict(table, kind), **tag)
    if isinstance(table, (list, tuple)) and len(table):
        if hasattr(table[0], "_fields"):
            return cls(*cls._columns_of_records(table, kind), **tag)
        columns = _columns(table, kind)
        if columns is not None:
            return cls(*cls._checked(kind, *columns), **tag)
    raise TypeError(
        f"{caller}: {kind} must be a {cls.__name__}, a mapping {{query: {{document: "
        f"{_NUMBERS[kind]}}}}}, a data frame, a path, three arrays, or such a table of "
        f"ranx or ir_measures, got {shown(table)}"
    )


def _loaded(kind, path, caller):
    path = checked_path(path, kind)
    try:
        return _LOADERS[kind](path)
    except WrongKindError as error:
        raise ValueError(f"{_order(caller)}, but {error}") from None
    except OSError as error:
        # The operating system knows nothing of arguments.
        text = f"{kind}: cannot read {shown(path)}: {error.strerror or error}"
        raise type(error)(text) from error


def _is_nested(table):
    return isinstance(table, Mapping) and all(
        isinstance(documents, Mapping) for documents in table.values()
    )


def _columns(table, name):
    """Return three columns of equal length, or None if these are none."""
    try:
        if len(table) != 3:
            return None
        queries, docids = as_ids(table[0], name), as_ids(table[1], name)
        numbers = as_numbers(table[2], name)
    except (TypeError, ValueError):
        return None
    return (queries, docids, numbers) if numbers.ndim == 1 else None
