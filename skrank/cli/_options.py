"""Options of the command line that know whether and how they were given."""

import argparse
import os
from collections.abc import Iterable

from skrank._core._messages import has_control, shown
from skrank.cli._errors import CommandError

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
STANDARD = "-"
STDOUT = "<stdout>"  # its name in messages
#: Options that say which columns of a table are what.
COLUMN_OPTIONS = ("label", "qid", "docid", "features", "categorical")


class InputPath(str):
    """Path of a file to read; "-" is the standard input."""


class NamedInput(InputPath):
    """Path of a file to read, maybe as NAME=PATH."""


class InputData(InputPath):
    """Path of a file to read, or of a folder with the files of folds."""


class NamedData(InputData, NamedInput):
    """Path of such a file or folder, maybe as NAME=PATH."""


class OutputPath(str):
    """Path of a file to write; "-" is the standard output."""


class OutputFolder(str):
    """Path of a folder to write files into."""


class StoreOnce(argparse.Action):
    """Keep the value of an option, which may be given only once."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Store the value."""
        if self.dest in given(namespace) and option_string:
            parser.error(f"argument {option_string}: given twice")
        _note(namespace, self.dest, option_string)
        setattr(namespace, self.dest, values)


class StoreTrue(argparse.Action):
    """Keep that a flag was given."""

    def __init__(self, option_strings, dest, default=False, **more):
        super().__init__(option_strings, dest, nargs=0, default=default, **more)

    def __call__(self, parser, namespace, values, option_string=None):
        """Store True."""
        _note(namespace, self.dest, option_string)
        setattr(namespace, self.dest, True)


class Append(argparse.Action):
    """Keep all values of an option that may be given several times."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Append the value."""
        _note(namespace, self.dest, option_string)
        former = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*former, values])


def given(args: argparse.Namespace) -> dict[str, str]:
    """Return the options that were given, as they were spelt, by their destination."""
    return getattr(args, "given", {})


def _note(namespace, dest, option_string):
    if option_string is not None:
        namespace.given = {**given(namespace), dest: option_string}


def refuse_unused(args: argparse.Namespace, mode: str, unused: Iterable[str]) -> None:
    """Raise an error if an option was given that means nothing in this mode.

    Parameters
    ----------
    args : Namespace
        Arguments.
    mode : str
        The mode, as the end of a sentence, such as ``"with --list"``.
    unused : iterable of str
        Destinations of the options that are not used.
    """
    odd = [option for dest, option in given(args).items() if dest in set(unused)]
    if odd:
        raise CommandError(f"{odd[0]} has no effect {mode}")


def refuse_others(args: argparse.Namespace, mode: str, used: Iterable[str]) -> None:
    """Raise an error if an option was given that is not among those of this mode."""
    refuse_unused(args, mode, given(args).keys() - {*used, "debug"})


def check_tag(tag: str) -> None:
    """Raise an error if something can be no tag of a run."""
    if not tag or any(map(str.isspace, tag)) or has_control(tag):
        raise CommandError(
            "--tag must be a word without blanks or control characters, got "
            f"{shown(tag)}"
        )


def paths(args: argparse.Namespace, kind: type[str]) -> list[str]:
    """Return all paths to read, or to write, among the arguments."""
    values = [v if isinstance(v, list) else [v] for v in vars(args).values()]
    return [path for several in values for path in several if isinstance(path, kind)]


def path_of(text: str) -> str:
    """Return the path of an argument that may be NAME=PATH, as the commands read it."""
    _, equals, path = text.partition("=")
    named = isinstance(text, NamedInput) and equals and not os.path.exists(text)
    return type(text)(path) if named else text


def byte_count(text: str) -> int:
    """Return the number of bytes that a text such as ``"20G"`` stands for."""
    unit = _UNITS.get(text[-1:].upper(), 1)
    number = text if unit == 1 else text[:-1]
    try:
        count = int(number) * unit
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(
            f"expected a number of bytes such as 500M or 20G, got {text!r:.80}"
        )
    return count


def number_list(text: str) -> list[float]:
    """Return the numbers of a text such as ``"2,1,0.5"``."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected numbers such as 2,1,0.5, got {text!r:.80}"
        ) from None
