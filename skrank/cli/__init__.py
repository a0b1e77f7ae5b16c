"""The command line.

``skrank fit | predict | rank | evaluate | compare | export | demo``

Results go to the standard output, progress and problems go to the standard error. The
exit code is 0 for success, 2 for bad input and 130 after an interrupt.
"""

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

from skrank.cli._errors import CommandError
from skrank.cli._parser import build_parser

__all__ = ["main"]

_BAD_INPUT, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; None takes the arguments of the process.

    Returns
    -------
    int
        Exit code.

    Examples
    --------
    >>> from skrank.cli import main
    >>> main(["fit", "--list", "--ranker", "RankSVM"])  # doctest: +ELLIPSIS
    RankSVM: ...
    0
    """
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as exit_:
        return int(exit_.code or 0)
    try:
        with warnings.catch_warnings():
            _show_warnings_as_lines()
            _run(args)
            sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        print("skrank: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return _BROKEN_PIPE
    except (CommandError, ValueError, TypeError, OSError, ImportError) as error:
        if args.debug:
            raise
        print(f"skrank: error: {_one_line(error)}", file=sys.stderr)
        return _BAD_INPUT


def _run(args):
    # Only one command is imported, so that help and errors appear at once.
    importlib.import_module(f"skrank.cli._{args.command}").run(args)


def _one_line(error):
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _show_warnings_as_lines():
    if not sys.warnoptions:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)

    def show(message, category, filename, lineno, file=None, line=None):
        print(f"skrank: warning: {_one_line(message)}", file=sys.stderr)

    warnings.showwarning = show


def _discard_stdout():
    """Keep the interpreter from complaining about the closed pipe when it exits."""
    # Under a test, the standard output is no real file.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
