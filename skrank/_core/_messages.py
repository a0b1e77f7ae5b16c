"""Values as error messages show them."""

import re
from typing import Any

_LENGTH = 80
_OF_CODE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError)
# Python's setting for how many digits may become a number.
_SETTING = "set_int_max_str_digits"
# They would break a line in two, or command a terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def shown(value: Any, length: int = _LENGTH) -> str:
    """Return the representation of a value, shortened in the middle.

    A message must not fail over the value that it complains about, nor hold megabytes
    of it.

    Parameters
    ----------
    value : object
        Value to show; its type stands in if it has no representation.
    length : int, default=80
        Largest number of characters.

    Returns
    -------
    str
        Such as ``'a'``, or ``'aaaa…aaaa'``.
    """
    try:
        # A text is cut before it is quoted, which takes up to ten times its memory.
        if isinstance(value, (str, bytes, bytearray)) and len(value) > 4 * length:
            half = 2 * length
            text = repr(value[:half])[:half] + repr(value[-half:])[-half:]
        else:
            text = " ".join(repr(value).splitlines())  # arrays take several lines
    except Exception:
        text = f"<{type(value).__name__}>"
    return shortened(on_one_line(text), length)


def problem_in(error: Exception) -> str:
    """Return what an error says about data that somebody else wrote, in one line.

    Errors of code that meets values of the wrong kind speak of the code alone.
    """
    if isinstance(error, KeyError) and error.args:
        return f"it lacks {shown(error.args[0])}"
    if isinstance(error, AttributeError) and error.name is not None:
        return f"it lacks {shown(error.name)} where that belongs"
    if isinstance(error, _OF_CODE) and not isinstance(error, ValueError):
        return "its parts are not of the kind that belongs there"
    return shortened(words_of(error), 200)


def words_of(error: BaseException) -> str:
    """Return the message of an error of another library, on one line."""
    words = " ".join(str(error).split())
    if _SETTING in words:  # which is advice for programmers, against a bad number
        return "a whole number has too many digits"
    return on_one_line(words)


def shortened(text: str, length: int = _LENGTH) -> str:
    """Return a text of at most ``length`` characters: its beginning and its end."""
    if len(text) <= length:
        return text
    end = length // 3
    return f"{text[: length - end - 1]}…{text[len(text) - end :]}"


def has_control(text: str) -> bool:
    """Whether a text holds line ends or other control characters."""
    return _CONTROL.search(text) is not None


def surrogate_at(text: str) -> int:
    """Return the place of the first half of a surrogate pair; -1 if there is none.

    Such a half is what an escape of JSON can say and UTF-8 cannot hold, so that no file
    could be written with it.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return -1


def on_one_line(text: str) -> str:
    """Return a text with escapes in place of line ends and other control characters."""
    return _CONTROL.sub(lambda m: m[0].encode("unicode_escape").decode(), text)
