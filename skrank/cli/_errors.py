"""Errors of the command line."""


class CommandError(Exception):
    """A mistake that the user can put right, described in one clear line."""


def printable(text: str) -> str:
    """Return a text with escapes in place of bytes that are not UTF-8."""
    return text.encode(errors="backslashreplace").decode()
