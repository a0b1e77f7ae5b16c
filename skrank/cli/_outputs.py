"""The check of output files, before a command begins.

Nothing heavy is imported here, so that errors appear at once.
"""

import argparse
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from skrank._core._messages import on_one_line
from skrank._core._writing import check_writable, own_descriptor
from skrank.cli._errors import CommandError
from skrank.cli._options import (
    STANDARD,
    STDOUT,
    InputData,
    InputPath,
    OutputFolder,
    OutputPath,
    path_of,
    paths,
)

_STDOUT = 1  # its descriptor
_OWN = re.compile(r"(?<![\w.])((?:[^\W\d]\w*\.)*[^\W\d]\w*):[^\W\d]")  # module:Name
_PART = re.compile(r"(train|vali|valid|validation|test)(\.(?i:txt(\.(gz|bz2|xz))?))?")
_FOLD = re.compile(r"fold[-_ ]?\d+", re.IGNORECASE)


def check_outputs(args: argparse.Namespace) -> None:
    """Raise an error before long work whose results could not be written.

    Nor may a result replace a file that is read, or one in a folder that is read: the
    model or the data would be gone.
    Paths such as /dev/stdout become "-", so that all of them mean the same.

    Parameters
    ----------
    args : Namespace
        Arguments.
    """
    for folder in paths(args, OutputFolder):
        if not folder:
            raise CommandError("the folder of the results must not have an empty name")
    read = [path_of(text) for text in paths(args, InputPath)]
    files = {*_identities(read), *map(_identity, _modules(args.argv))}
    folders = {
        os.path.realpath(path) for path in read if not isinstance(path, InputData)
    }
    seen = set()
    for path in paths(args, OutputPath):
        if path != STANDARD:
            check_writable(path)
        place = os.path.realpath(f"/dev/fd/{_STDOUT}" if path == STANDARD else path)
        if place in seen and place != os.path.realpath(os.devnull):
            raise CommandError(
                f"two results cannot both be written to {on_one_line(path)}"
            )
        around = {place, *map(str, Path(place).parents)}
        is_inside = not around.isdisjoint(folders) and os.path.isfile(place)
        if is_inside or _is_among(path, files):
            raise _is_read(path)
        seen.add(place)
    _check_standard_output(files)
    for name, path in vars(args).items():
        if isinstance(path, OutputPath) and own_descriptor(path) == _STDOUT:
            setattr(args, name, OutputPath(STANDARD))


def check_results(
    args: argparse.Namespace, data: dict[str, str], texts: Iterable[str]
) -> None:
    """Raise an error if what an experiment writes is what its definition reads.

    Parameters
    ----------
    args : Namespace
        Arguments, which `check_outputs` has found good.
    data : dict of str to str
        Paths of the data by the names of their folders of results.
    texts : iterable of str
        Texts of the definition, which may name code as ``module:Name``.
    """
    read = [InputData(path) for path in data.values()]
    files = set(_identities(read))
    places = {os.path.realpath(file) for path in read for file in _files(path)}
    for name in data:
        folder = os.path.join(args.output, name)
        inside = os.path.realpath(folder)
        if any(_is_within(place, inside) for place in places):
            raise _is_read(folder)
        for path in paths(args, OutputPath):
            if path != STANDARD and _is_within(os.path.realpath(path), inside):
                raise CommandError(
                    f"{on_one_line(path)} is in a folder of the results, whose files "
                    "it could replace"
                )
    files.update(map(_identity, _modules(texts)))
    for path in paths(args, OutputPath):
        if _is_among(path, files):
            raise _is_read(path)
    _check_standard_output(files)


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts of a definition, however deep they are."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def _is_within(place: str, folder: str) -> bool:
    return Path(place).is_relative_to(folder)


def _files(path: str) -> Iterator[str]:
    """Yield a file of data, or the files of the folds of a folder."""
    if not os.path.isdir(path):
        yield path
        return
    for entry in sorted(os.listdir(path)):
        inner = os.path.join(path, entry)
        if os.path.isfile(inner) and _PART.fullmatch(entry):
            yield inner
        elif os.path.isdir(inner) and _FOLD.fullmatch(entry):
            parts = [part for part in os.listdir(inner) if _PART.fullmatch(part)]
            yield from (os.path.join(inner, part) for part in sorted(parts))


def _identities(read: Iterable[str]) -> Iterator[tuple[int, int] | None]:
    for path in read:
        for file in _files(path) if isinstance(path, InputData) else [path]:
            yield _identity(file, sys.stdin)


def _identity(path: str, stream: Any = None) -> tuple[int, int] | None:
    """Return what a file has in common with no other; None if it is no plain file.

    A standard stream may be such a file as well.
    """
    try:
        status = os.fstat(stream.fileno()) if path == STANDARD else os.stat(path)
    except (AttributeError, OSError, ValueError):  # closed, or no real file
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _is_among(path: str, files: set[tuple[int, int] | None]) -> bool:
    identity = _identity(path, sys.stdout)
    return identity is not None and identity in files


def _check_standard_output(files: set[tuple[int, int] | None]) -> None:
    if _is_among(STANDARD, files):
        raise _is_read(STDOUT)


def _is_read(path: str) -> CommandError:
    return CommandError(
        f"{on_one_line(path)} is read; a command cannot write to it as well"
    )


def _modules(texts: Iterable[str]) -> Iterator[str]:
    """Yield the files of the modules that texts name, with the packages around them."""
    for name in {name for text in texts for name in _OWN.findall(str(text))}:
        parts = name.split(".")
        for folder in (os.getcwd(), *sys.path):
            for n in range(1, len(parts) + 1):
                module = os.path.join(folder, *parts[:n])
                yield f"{module}.py"
                yield os.path.join(module, "__init__.py")
