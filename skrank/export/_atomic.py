"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal


@contextmanager
def atomic_write(
    path: str | os.PathLike, mode: Literal["w", "wb"] = "w"
) -> Iterator[IO]:
    """Open a new file that replaces ``path`` only if the block succeeds.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing one stays as it is until the end.
    mode : {"w", "wb"}, default="w"
        Mode of the file; text is written as UTF-8 with ``\\n`` at line ends.

    Yields
    ------
    file
        A temporary file in the same folder, because only within one file system a
        file can replace another in one step.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    file = _create(temporary, path, mode, text)
    try:
        with file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create(temporary, path, mode, text):
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    try:
        return open(temporary, mode, **text)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"cannot write {path}: there is no folder {path.parent}"
        ) from None
