"""Text from wherever it comes: a path, a compressed file, an open file, or bytes."""

import bz2
import gzip
import mmap
import os
from contextlib import contextmanager
from pathlib import Path

_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"


def source_name(source) -> str:
    """What error messages call a source."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<text>"


def _decompressed(text):
    """The text itself, unpacked if it begins like a gzip or a bzip2 file."""
    start = bytes(text[:3])
    if start[:2] == _GZIP:
        return gzip.decompress(text)
    if start == _BZIP2:
        return bz2.decompress(text)
    return text


def _bytes_of(source):
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
def open_text(source):
    """Yield the bytes of a source; a plain file is mapped, not copied.

    Parameters
    ----------
    source : str, path, file object or bytes
        Compression by gzip or bzip2 is seen from the first bytes.

    Yields
    ------
    bytes or mmap
        The text.

    Raises
    ------
    ValueError
        If there is no text at all.
    TypeError
        If the source is none of these.
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


def _check_not_empty(text, source):
    if not len(text):
        raise ValueError(f"{source_name(source)} is empty")


def open_for_writing(path):
    """Open a file for writing bytes, compressed if its name ends in .gz or .bz2."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.GzipFile(path, "wb", mtime=0)  # the same bytes at any time
    if suffix == ".bz2":
        return bz2.BZ2File(path, "wb")
    return Path(path).open("wb")
