"""Reading data and writing results."""

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skrank._version import __version__
from skrank.cli._errors import CommandError
from skrank.datasets import load_letor
from skrank.export._atomic import atomic_write


class Documents(NamedTuple):
    """Some rows of a data set, with the attributes of `RankingData` used here."""

    X: Any
    y: np.ndarray
    groups: np.ndarray
    docids: np.ndarray | None


def rows_of(data, rows) -> Documents:
    """Rows of a data set, in the order given."""
    docids = None if data.docids is None else data.docids[rows]
    return Documents(data.X[rows], data.y[rows], data.groups[rows], docids)


def read_letor(path, n_features=None, *, sparse=False, n_jobs=None):
    """Read LETOR text; more features than the model has are an error."""
    try:
        return load_letor(path, n_features=n_features, sparse=sparse, n_jobs=n_jobs)
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not text: {error}") from None


def read_scores(path, n_documents):
    """Read one score per line."""
    scores = np.empty(n_documents)
    count = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            if count == n_documents:
                raise CommandError(
                    f"{path}, line {number}: more scores than the {n_documents} "
                    "documents"
                )
            scores[count] = _score(line, path, number)
            count += 1
    if count < n_documents:
        raise CommandError(f"{path} has {count} scores for {n_documents} documents")
    return scores


def _score(line, path, number):
    # RankLib writes "query <tab> document <tab> score": the last field is the score.
    text = line.split()[-1]
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if np.isnan(score):
        raise CommandError(f"{path}, line {number}: expected a score, found {text!r}")
    return score


def check_writable(path):
    """Fail before long work if its result could not be written."""
    if path is None or path == "-":
        return
    if Path(path).is_dir():
        raise CommandError(f"cannot write {path}: it is a folder")
    if not Path(path).absolute().parent.is_dir():
        raise CommandError(f"cannot write {path}: there is no folder for it")


def write_lines(lines, path=None):
    """Write lines to a file, which appears only when complete, or print them."""
    if path is None or path == "-":
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def report(text, document, command, json_path):
    """Print the text of a result, or its JSON; write the JSON to a file if asked.

    Parameters
    ----------
    text : str
        For people.
    document : dict
        For programs; see the help of the command.
    command : str
        Name of the command.
    json_path : str or None
        File for the JSON; "-" prints it instead of the text.
    """
    if json_path is not None:
        header = {"command": command, "version": __version__}
        content = json.dumps({**header, **document}, indent=1, allow_nan=False)
        if json_path == "-":
            print(content)
            return
        write_lines([content], json_path)
    print(text)


def plain_number(value):
    """Float for JSON; None where there is no value."""
    return float(value) if np.isfinite(value) else None


class Progress:
    """Says on the standard error what is going on.

    Lines that stay, if ``verbose``; otherwise one line that is overwritten, if the
    standard error is a terminal; otherwise nothing.

    Parameters
    ----------
    verbose : bool
        Whether to keep every line.
    """

    def __init__(self, verbose):
        self.verbose = verbose
        self.live = not verbose and sys.stderr.isatty()
        self._shown = 0.0

    def __call__(self, text):
        """Show what is being done now."""
        if self.verbose:
            print(f"skrank: {text}", file=sys.stderr, flush=True)
        elif self.live:
            self._shown = time.monotonic()
            print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)

    def iteration(self, name):
        """Return a callback for rankers that shows their iterations."""

        def show(info):
            number = info["iteration"]
            due = _is_round(number) if self.verbose else self._is_due()
            if due:
                self(_iteration_text(name, info))

        return show if self.verbose or self.live else None

    def clear(self):
        """Remove the line that is overwritten."""
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _is_due(self):
        return time.monotonic() - self._shown > 0.1


def _is_round(number):
    """1, 2, 5, 10, 20, 50, …"""
    digits = str(number)
    return digits[0] in "125" and not digits[1:].strip("0")


def _iteration_text(name, info):
    text = f"{name}: iteration {info['iteration']}, objective {info['objective']:.6g}"
    if "validation" in info:
        text += f", validation {info['validation']:.4f}"
    return text
