"""Paths of files as arguments, and their names in errors."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from skrank._core._messages import shown


def checked_path(path: Any, name: str = "path", purpose: str = "read") -> str:
    """Return a path as a string that the operating system can take.

    Parameters
    ----------
    path : str or path-like
        Path.
    name : str, default="path"
        Name of the argument in error messages.
    purpose : {"read", "write"}, default="read"
        What the file is for, in error messages.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If it is neither a string nor a path-like object that stands for one.
    FileNotFoundError
        If it is empty.
    ValueError
        If no file can have the name.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(
            f"{name} must be a path, a string or pathlib.Path, got {shown(path)}"
        )
    if not text:
        raise FileNotFoundError(f"{name}: the path of the file to {purpose} is empty")
    if "\0" in text:
        raise ValueError(f"{name}: the path {shown(text)} holds a NUL character")
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: no file can be called {shown(text)}, which {error.encoding} "
            "cannot hold"
        ) from None
    return text


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Give errors of the operating system the name of the file where they have none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = name
        raise
