"""Errors of the command line."""

from skrank._core._messages import on_one_line

#: Exit code where ``export --check`` finds documents that change their rank.
CHECK_FAILED = 3
#: Exit code where a training of ``experiment`` has failed.
TRAININGS_FAILED = 4


class CommandError(Exception):
    """A mistake that the user can put right, described in one clear line."""


class ExitCode(SystemExit):
    """An exit code that a command chooses, unlike an exit of code of the user's."""


def printable(text: str) -> str:
    """Return a line with escapes in place of control characters and of odd bytes."""
    return on_one_line(text).encode(errors="backslashreplace").decode()
