"""Text from any source: a path, a compressed file, an open file, or bytes."""

import bz2
import gzip
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

Source = str | os.PathLike | bytes | bytearray | memoryview | IO

_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"


def source_name(source: Any) -> str:
    """Return the name of a source in error messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<text>"


def _decompressed(text: Any) -> Any:
    """Return the text, unpacked if it begins like a gzip or a bzip2 file."""
    start = bytes(text[:3])
    if start[:2] == _GZIP:
        return gzip.decompress(text)
    if start == _BZIP2:
        return bz2.decompress(text)
    return text


def _bytes_of(source: Any) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if not hasattr(source, "read"):
        raise TypeError(
            "expected a path, an open file or bytes, got "
            f"{type(source).__name__}: {source!r:.80}"
        )
    text = source.read()
    return text.encode() if isinstance(text, str) else text


@contextmanager
def open_text(source: Source) -> Iterator[Any]:
    """Yield the bytes of a source; a plain file is mapped rather than copied.

    Parameters
    ----------
    source : str, path, file object or bytes
        File or text to read. Compression by gzip or bzip2 is recognised by its first
        bytes.

    Yields
    ------
    bytes or mmap
        Text of the source.

    Raises
    ------
    ValueError
        If the source is empty.
    TypeError
        If the source is neither a path, a file object nor bytes.
    """
    if not isinstance(source, (str, os.PathLike)):
        text = _decompressed(_bytes_of(source))
        _check_not_empty(text, source)
        yield text
        return
    with Path(source).open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            _check_not_empty(b"", source)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            text = _decompressed(mapped)
            _check_not_empty(text, source)
            yield text


def _check_not_empty(text: Any, source: Any) -> None:
    if not len(text):
        raise ValueError(f"{source_name(source)} is empty")


def open_for_writing(path: str | os.PathLike) -> Any:
    """Open a file for writing bytes, compressed if its name ends in .gz or .bz2."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        # A constant time stamp makes the same bytes of the same data.
        return gzip.GzipFile(path, "wb", mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(path, "wb")
    return Path(path).open("wb")
