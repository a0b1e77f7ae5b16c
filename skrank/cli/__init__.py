"""The command line.

``skrank fit | predict | rank | evaluate | compare | experiment | fuse | explain |
export | index | search | features | clicks | demo``

Results go to the standard output, progress and problems go to the standard error. The
exit code is 0 for success, 2 for bad input, 3 if ``export --check`` finds other ranks,
4 if a training of ``experiment`` has failed, 130 after an interrupt, 141 if nobody
reads the output, and 1 for a mistake of skrank itself.
"""

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence

from skrank._core._messages import shortened, words_of
from skrank.cli._errors import CommandError, ExitCode, printable
from skrank.cli._inputs import check_inputs
from skrank.cli._interrupts import INTERRUPTED, Interrupts
from skrank.cli._objects import failure_of_own
from skrank.cli._options import STANDARD, InputPath, paths
from skrank.cli._outputs import check_outputs
from skrank.cli._parser import build_parser
from skrank.cli._stdout import discard_stdout, flush_or_discard, lenient_stdout

__all__ = ["main"]

_INTERNAL, _BAD_INPUT, _BROKEN_PIPE = 1, 2, 141
_EXPECTED = (
    CommandError,
    ValueError,
    TypeError,
    OSError,
    ImportError,
    MemoryError,
    RecursionError,
)
_LINE = 2000  # characters of a message at most


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
    if sys.stderr is None:  # closed: messages must not get into the results
        sys.stderr = io.StringIO()
    args, interrupts = None, Interrupts(_report_interrupt)
    try:
        with interrupts.noted(), warnings.catch_warnings(), lenient_stdout():
            args = build_parser().parse_args(argv)
            args.argv = sys.argv[1:] if argv is None else list(argv)
            _show_warnings_as_lines()
            _run(args, interrupts)
        return 0
    except SystemExit as exit_:
        # Help and usage errors of the parser, or a code that a command chose.
        if args is None or isinstance(exit_, ExitCode):
            return int(exit_.code or 0)
        words = " ".join(filter(None, ["SystemExit:", words_of(exit_)]))
        _report(f"error: {failure_of_own(exit_) or f'ended by {words}'}")
        flush_or_discard()
        return _BAD_INPUT
    except KeyboardInterrupt:
        _report_interrupt()
        return INTERRUPTED
    except BrokenPipeError:
        discard_stdout()
        return _BROKEN_PIPE
    except Exception as error:
        if interrupts.seen:
            _report_interrupt()
            return INTERRUPTED
        if args is not None and args.debug:
            raise
        problem = _problem(error)
        _report(_internal(error) if problem is None else f"error: {problem}")
        flush_or_discard()
        return _INTERNAL if problem is None else _BAD_INPUT


def _run(args, interrupts):
    several = [path for path in paths(args, InputPath) if _is_standard(path)]
    if len(several) > 1:
        raise CommandError("only one file can be the standard input")
    check_inputs(args)
    check_outputs(args)
    # Only one command is imported, so that help and errors appear at once.
    with interrupts.among_imports():
        command = importlib.import_module(f"skrank.cli._{args.command}")
    command.run(args)


def _is_standard(path):
    # Systems that are compared may have names, as in bm25=-.
    return path == STANDARD or path.endswith(f"={STANDARD}")


def _report(text):
    with contextlib.suppress(OSError):  # the exit code tells it then
        print(f"skrank: {printable(text)}", file=sys.stderr)


def _report_interrupt():
    _report("interrupted")


def _problem(error):
    """Return what the user can put right; None for a mistake of skrank."""
    if isinstance(error, Warning):  # by `python -W error`
        return f"{type(error).__name__}: {_one_line(error)}"
    known = isinstance(error, _EXPECTED)
    # Code of the user's may recurse as well, and fail in any other way.
    if not known or isinstance(error, RecursionError):
        own = failure_of_own(error)
        if own is not None:
            return own
    return _one_line(error) if known else None


def _one_line(error):
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, FileNotFoundError) and error.errno and error.filename is None:
        # All calls but those that ask for the working directory name their file.
        return "the working directory does not exist any more"
    if isinstance(error, MemoryError):
        return " ".join(f"not enough memory. {error}".split()).rstrip(".")
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    # Errors whose hints name arguments of Python have another text for commands.
    text = getattr(error, "for_command", None) or str(error)
    return shortened(" ".join(text.split()), _LINE) or type(error).__name__


def _internal(error):
    text = shortened(words_of(error), _LINE)
    return f"internal error: {type(error).__name__}: {text} (see --debug)"


def _show_warnings_as_lines():
    if not sys.warnoptions:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)

    def show(message, category, filename, lineno, file=None, line=None):
        _report(f"warning: {_one_line(message)}")

    warnings.showwarning = show
