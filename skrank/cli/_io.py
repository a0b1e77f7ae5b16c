"""Reading data and writing results."""

import io
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skrank._core._id_arrays import id_list
from skrank._core._messages import on_one_line, shown
from skrank._core._paths import named_errors
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._reading import (
    EmptyError,
    NamedText,
    marked,
    open_bytes,
    open_text,
    source_name,
)
from skrank._core._writing import packed_write
from skrank._monitor import figures_of
from skrank._version import __version__
from skrank.cli._errors import CommandError
from skrank.cli._options import STANDARD
from skrank.cli._stdout import print_lines
from skrank.datasets import Run, load_letor
from skrank.datasets._letor import n_features_of
from skrank.datasets._trec import trec_order


class Documents(NamedTuple):
    """Documents of a data set, as all commands use them.

    Attributes
    ----------
    X : ndarray, CSR matrix or DataFrame of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,) or None
        Relevance grades; None for a table without any.
    groups : ndarray of shape (n_documents,) or None
        Query ids; None for a table without any.
    docids : ndarray of shape (n_documents,) or None
        Names of the documents, where the file has them.
    """

    X: Any
    y: Any
    groups: Any
    docids: np.ndarray | None


def rows_of(data: Any, rows: np.ndarray) -> Documents:
    """Return some rows of a data set, in the order given."""
    docids = None if data.docids is None else data.docids[rows]
    y = None if data.y is None else data.y[rows]
    return Documents(take_rows(data.X, rows), y, data.groups[rows], docids)


def source(path: str, max_bytes: int | None = None) -> Any:
    """Return what the readers of the package take for a path of the command line.

    Parameters
    ----------
    path : str
        Path; "-" is the standard input.
    max_bytes : int, default=None
        Limit of what is read here.

    Returns
    -------
    str or NamedText
        The path of a file, or the content of what can be read only once.
    """
    if path == STANDARD:
        with open_bytes(stream(path).data, max_bytes) as raw:
            return NamedText("<stdin>", raw)
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with open_bytes(path, max_bytes) as raw:
            return NamedText(path, raw)
    return path


def stream(path: str) -> Any:
    """Return what readers of one piece after another take for a path.

    Parameters
    ----------
    path : str
        Path; "-" is the standard input.

    Returns
    -------
    str or NamedText
        The path, or the standard input, of which nothing has been read.
    """
    if path != STANDARD:
        return path
    if sys.stdin is None:
        raise CommandError("the standard input is closed")
    return NamedText("<stdin>", getattr(sys.stdin, "buffer", sys.stdin))


def read_letor(
    path: Any,
    n_features: int | None = None,
    *,
    sparse: bool = False,
    n_jobs: int | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Read LETOR text; with ``n_features``, it must have some, but not more."""
    if isinstance(path, str):
        path = source(path, max_bytes)
    data = load_letor(
        path,
        n_features=n_features,
        sparse=sparse,
        n_jobs=n_jobs,
        max_bytes=max_bytes,
    )
    is_zero = not (data.X.nnz if sparse else data.X.any())
    # The file may say 0 of every feature, or nothing.
    if (
        n_features is not None
        and is_zero
        and not n_features_of(path, n_jobs, max_bytes, sparse=True)
    ):
        raise CommandError(f"{source_name(path)} holds no features")
    return data


def read_lines(
    path: str, max_bytes: int | None = None, *, may_be_empty: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line that is not blank."""
    try:
        with open_text(source(path, max_bytes), max_bytes) as text:
            for number, line in enumerate(io.BytesIO(text), 1):
                if line.strip():
                    yield number, line
    except EmptyError:
        if not may_be_empty:
            raise


def read_scores(
    path: str, n_documents: int, max_bytes: int | None = None
) -> np.ndarray:
    """Read a file with one score per line; blank lines are skipped."""
    scores = np.empty(n_documents)
    count = 0
    for number, line in read_lines(path, max_bytes, may_be_empty=True):
        if count == n_documents:
            raise CommandError(
                f"{on_one_line(path)}, line {number}: more scores than the "
                f"{n_documents} documents"
            )
        scores[count] = _score(line, path, number)
        count += 1
    if count < n_documents:
        raise CommandError(
            f"{on_one_line(path)} has {count} scores for {n_documents} documents"
        )
    return scores


def number_in(word: bytes) -> float:
    """Return the number that a field holds, NaN if it holds none, as 1_0 does not."""
    try:
        return math.nan if b"_" in word else float(word)
    except ValueError:
        return math.nan


def _score(line, path, number):
    # RankLib writes "query <tab> document <tab> score": the last field is the score.
    text = line.split()[-1]
    score = number_in(text)
    if np.isnan(score):
        found = shown(text.decode(errors="replace"))
        raise CommandError(
            f"{on_one_line(path)}, line {number}: expected a score, found {found}"
        )
    return score


def write_lines(lines: Iterable[str], path: str | None = None) -> None:
    """Write lines to a file, which appears only when it is complete, or print them.

    Parameters
    ----------
    lines : iterable of str
        Lines without their ends.
    path : str, default=None
        File, which is packed if its name ends in ``.gz``, ``.bz2`` or ``.xz``; None and
        "-" are the standard output.
    """
    if path is None or path == STANDARD:
        print_lines(lines)
        return
    with packed_write(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


def check_folds(n_folds: int, least: int, groups: Any) -> None:
    """Raise an error unless the queries of a file can be cut into so many folds."""
    n_queries = QueryIndex.from_groups(groups).n_queries
    if not least <= n_folds <= n_queries:
        raise CommandError(
            f"--folds must be from {least} to the number of queries, {n_queries}, got "
            f"{n_folds}"
        )


def lines_of_run(run: Run, tag: str, k: int | None = None) -> Iterator[str]:
    """Yield the lines of a run, in the order in which trec_eval ranks them.

    Parameters
    ----------
    run : Run
        Documents of queries, at least one.
    tag : str
        Name of the run.
    k : int, default=None
        Number of best documents of each query; None takes all.

    Yields
    ------
    str
        Query, Q0, document, rank, score and tag.
    """
    index = QueryIndex.from_groups(run.groups)
    order = trec_order(index.codes, index.take(run.scores), index.take(run.docids))
    docids, scores = index.take(run.docids), index.take(run.scores)
    as_read: Callable[[str], str] = marked  # of lines, the first may look otherwise
    for query, start, stop in zip(id_list(index.ids), index.ptr, index.ptr[1:]):
        for rank, row in enumerate(order[start:stop][:k].tolist(), 1):
            score = float(scores[row])
            yield as_read(f"{query} Q0 {docids[row]} {rank} {score!r} {tag}")
            as_read = str


def report(
    text: str,
    document: dict[str, Any],
    command: str,
    json_path: str | None,
    file: Any = None,
) -> None:
    """Print a result as text or as JSON; write the JSON to a file if asked.

    Parameters
    ----------
    text : str
        The result for people.
    document : dict
        The result for programs, as described in the help of the command.
    command : str
        Name of the command.
    json_path : str or None
        File for the JSON; "-" prints the JSON instead of the text.
    file : file, default=None
        Where the text is printed; None is the standard output.
    """
    if json_path is not None:
        header = {"command": command, "version": __version__}
        content = json.dumps({**header, **document}, indent=1, allow_nan=False)
        if json_path == "-":
            write_lines([content])
            return
        write_lines([content], json_path)
    if not text:
        return
    if file is None:
        print_lines([text])
    else:
        with named_errors("<stderr>"):
            print(text, file=file)


def plain_number(value: float) -> float | None:
    """Return a float for JSON, which has no NaN: None stands for a missing value."""
    return float(value) if np.isfinite(value) else None


class Progress:
    """Display on the standard error of what is going on.

    It consists of lines that stay if ``verbose``, otherwise of one line that is
    overwritten if the standard error is a terminal, and otherwise of nothing.

    Parameters
    ----------
    verbose : bool
        Whether every line stays.
    """

    def __init__(self, verbose: bool):
        self.verbose = verbose
        self.live = not verbose and sys.stderr.isatty()
        self._shown = 0.0

    def __call__(self, text: str) -> None:
        """Show a line that says what is being done now."""
        if self.verbose:
            print(f"skrank: {text}", file=sys.stderr, flush=True)
        elif self.live:
            self._shown = time.monotonic()
            print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)

    def iteration(self, name: str) -> Callable[[dict], None] | None:
        """Return a callback that shows the iterations of a ranker, or None."""

        def show(info):
            number = info["iteration"]
            # Iteration 0 is the start, of which there is nothing to tell.
            due = _is_round(number) if self.verbose else self._is_due()
            if number and due:
                self(_iteration_text(name, info))

        return show if self.verbose or self.live else None

    def clear(self) -> None:
        """Remove the line that is overwritten."""
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _is_due(self):
        return time.monotonic() - self._shown > 0.1


def _is_round(number):
    """Whether a number is one of 1, 2, 5, 10, 20, 50, …"""
    digits = str(number)
    return digits[0] in "125" and not digits[1:].strip("0")


def _iteration_text(name, info):
    return "  ".join([f"{name}: iteration {info['iteration']:5d}", *figures_of(info)])
