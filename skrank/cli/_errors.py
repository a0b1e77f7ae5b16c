"""Errors of the command line."""

from skrank._core._messages import on_one_line


class CommandError(Exception):
    """A mistake that the user can put right, described in one clear line."""


def printable(text: str) -> str:
    """Return a line with escapes in place of control characters and of odd bytes."""
    return on_one_line(text).encode(errors="backslashreplace").decode()
