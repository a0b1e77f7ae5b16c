"""The standard output, whose failures are errors that name it.

Nothing heavy is imported here, so that help and errors of usage appear at once.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from skrank._core._messages import shown
from skrank._core._paths import named_errors
from skrank.cli._errors import CommandError
from skrank.cli._options import STDOUT


def check_stdout() -> None:
    """Raise an error, before the work begins, if the standard output is closed."""
    if sys.stdout is None:
        raise CommandError("the standard output is closed")


@contextlib.contextmanager
def standard_output() -> Iterator[Any]:
    """Yield the standard output, and flush it.

    Raises
    ------
    CommandError
        If it is closed, or its encoding lacks a character.
    OSError
        If it cannot be written to. The error has its name.
    """
    check_stdout()
    try:
        with named_errors(STDOUT):
            yield sys.stdout
            sys.stdout.flush()
    except UnicodeEncodeError as error:
        missing = shown(error.object[error.start : error.end])
        raise CommandError(
            f"{STDOUT}: the encoding {error.encoding} lacks {missing}; with the "
            "environment variable PYTHONIOENCODING=utf-8 it can be printed"
        ) from None


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on the standard output."""
    with standard_output() as stream:
        stream.writelines(f"{line}\n" for line in lines)


class Version(argparse.Action):
    """Print the version and leave."""

    def __init__(self, option_strings, dest, version, **more):
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, **more)
        self.version = version

    def __call__(self, parser, namespace, values, option_string=None):
        """Print the version and leave."""
        print_lines([self.version])
        parser.exit()


@contextlib.contextmanager
def lenient_stdout() -> Iterator[None]:
    """Print ids and names of files that are no UTF-8 byte by byte, as they came."""
    stream: Any = sys.stdout
    if not hasattr(stream, "reconfigure"):
        yield
        return
    errors = stream.errors
    stream.reconfigure(errors="surrogateescape")
    try:
        yield
    finally:
        # A stream that cannot be written to cannot be flushed for this either.
        with contextlib.suppress(OSError, ValueError):
            stream.reconfigure(errors=errors)


def discard_stdout() -> None:
    """Keep the interpreter from complaining about the closed pipe when it exits."""
    # Under a test, the standard output is no real file.
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_or_discard() -> None:
    """Print what is left of the output, or discard it if that is impossible."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        discard_stdout()
