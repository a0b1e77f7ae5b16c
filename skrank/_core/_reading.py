"""Bytes of any source: a path, a pipe, a packed file, an open file, or bytes.

Every reader of the package gets its bytes here, so that damage, limits and the name of
a file in messages are the same everywhere. Packed files are unpacked piece by piece,
and the size is counted while that is done: what a header claims is never trusted.

Plain files are read rather than mapped, because a mapping is memory that others can
change: whoever shortens the file ends the process, and whoever rewrites it makes the
second pass of a parser find other lines than the first. A file that grows, such as a
log, is read up to the size that it had at the beginning.
"""

import bz2
import codecs
import errno
import io
import lzma
import mmap
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

from skrank._core._messages import on_one_line, shortened, shown, words_of
from skrank._core._paths import checked_path, named_errors

# Text that people pack shrinks to a tenth, seldom to a fiftieth. Deflate can shrink it
# to a thousandth, bzip2 and xz to less still.
_RATIO = 100
_SMALL = 2**28
_PIECE, _UNPACKED_PIECE = 2**20, 2**22
_SMALL_PIECE = 2**12
# Of a pipe or a device, which may have no end. Larger data are seldom piped, and what
# may be kept in memory unasked must leave a small machine alive.
ENDLESS = 2**30
_MARKS = codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_MARK_BYTES = len(codecs.BOM_UTF8)
_LENGTH = 300  # characters of what a message quotes
_GZIP_BITS = 31  # a window of 2**15 bytes, and the header and trailer of gzip
_XZ_MEMORY = 2**28  # `xz -9` needs a quarter of this

_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
_ZIP, _ZSTANDARD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"

# Memory of one process only, which a child that it forks does not share either.
_OWN = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    if hasattr(mmap, "MAP_PRIVATE")
    else {}
)

#: What the libraries raise over damaged bytes. RuntimeError comes of a flipped bit that
#: says that a member of a zip archive is encrypted.
DAMAGED = (
    EOFError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class NamedText:
    """Bytes and the name that messages give them.

    Attributes
    ----------
    name : str
        Name of the file that the bytes came from.
    data : bytes-like or file object
        Text, packed or not. Bytes can be read more than once.
    """

    name: str
    data: Any


Source = str | os.PathLike | bytes | bytearray | memoryview | IO | NamedText


class EmptyError(ValueError):
    """A source holds nothing."""


class ChangedError(ValueError):
    """A file was shortened while it was read."""

    def __init__(self, name: str):
        super().__init__(f"{name} changed while it was read")


class LimitError(ValueError):
    """A source holds more bytes than its reader accepts."""

    def __init__(self, name: str, limit: int):
        super().__init__(
            f"{name} holds more than {limit} bytes; if it is to be trusted, a larger "
            "max_bytes (--max-bytes on the command line) lets it pass"
        )


def source_name(source: Any) -> str:
    """Return the name of a source in error messages."""
    if isinstance(source, (str, os.PathLike)):
        name = os.fsdecode(source)
    else:
        name = getattr(source, "name", None)
    return on_one_line(name) if isinstance(name, str) else "<text>"


def byte_limit(n_packed: int, max_bytes: int | None) -> int:
    """Return how many bytes a packed source may unpack to.

    Parameters
    ----------
    n_packed : int
        Size of the packed source.
    max_bytes : int or None
        Limit that the user set; None takes a hundred times the size, which no honest
        text reaches, but at least 256 MiB.

    Returns
    -------
    int
    """
    return max(_SMALL, _RATIO * n_packed) if max_bytes is None else max_bytes


@contextmanager
def open_text(source: Source, max_bytes: int | None = None) -> Iterator[Any]:
    """Yield the bytes of a source, which nobody else can change.

    Parameters
    ----------
    source : str, path, file object, bytes or NamedText
        File or text to read, also a pipe. Packing by gzip, bzip2, xz, zip (one member)
        or Zstandard is recognised by the first bytes.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking. None sets no limit to
        plain files, 1 GiB to pipes and devices, and that of `byte_limit` to what is
        packed.

    Yields
    ------
    bytes, bytearray or mmap
        Text of the source.

    Raises
    ------
    ValueError
        If the source is empty, damaged, larger than ``max_bytes``, or shortened while
        it is read. The message names the source.
    OSError
        If the file cannot be read, or does not fit into memory. BlockingIOError if it
        does not block and has nothing to read yet.
    TypeError
        If the source is neither a path, a file object nor bytes.
    """
    name = source_name(source)
    with open_bytes(source, max_bytes) as raw:
        text = _without_mark(unpacked(raw, name, max_bytes), name)
        if not len(text):
            raise EmptyError(f"{name} is empty")
        yield text


def open_lines(
    source: Source, max_bytes: int | None = None, *, longest: int = 2**26
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a source, with one piece of it in memory at a time.

    Parameters
    ----------
    source : str, path, file object, bytes or NamedText
        File or text to read, packed or not, as `open_text` takes it.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, as in `open_text`.
    longest : int, default=2**26
        Largest number of bytes of a line.

    Yields
    ------
    number : int
        Number of the line, counted from 1.
    line : bytes
        The line without its line feed.

    Raises
    ------
    ValueError
        If the source is empty, damaged, or larger than ``max_bytes``, or a line is
        longer than ``longest``. The message names the source.
    OSError
        If the file cannot be read.
    TypeError
        If the source is neither a path, a file object nor bytes.
    """
    pieces = open_pieces(source, max_bytes)
    return lines_of(pieces, source_name(source), longest)


def lines_of(
    pieces: Iterable[bytes], name: str, longest: int = 2**26
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a text that comes in pieces; see `open_lines`."""
    number, rest = 1, b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if max(len(rest), max(map(len, lines), default=0)) > longest:
            raise ValueError(f"{name}: a line is longer than {longest} bytes")
        for line in lines:
            yield number, line
            number += 1
    if rest:
        yield number, rest


def open_pieces(
    source: Source, max_bytes: int | None = None, *, endless: bool = False
) -> Iterator[bytes]:
    """Yield the bytes of a source piece by piece, unpacked and without a mark.

    Parameters
    ----------
    source : str, path, file object, bytes or NamedText
        File or text to read, as `open_lines` takes it.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, as in `open_text`.
    endless : bool, default=False
        Whether None sets no limit to pipes and devices either, because nobody keeps
        what is read.

    Yields
    ------
    bytes

    Raises
    ------
    ValueError, OSError, TypeError
        As `open_lines`.
    """
    name = source_name(source)

    def stream(file, name, max_bytes, status=None):
        return _Stream(file, name, max_bytes, endless, status)

    with _open_bytes(source, max_bytes, "source", stream) as raw:
        if not (raw.start(1) if isinstance(raw, _Stream) else len(raw)):
            raise EmptyError(f"{name} is empty")
        yield from _text_pieces(raw, name, max_bytes)


class _Stream:
    """What can be read only once, of which the first bytes are looked at before.

    The status of a plain file tells how much of it is read; None stands for all that
    there is.
    """

    def __init__(self, file, name, max_bytes, endless, status=None):
        self._name, self._limit = name, max_bytes
        if max_bytes is None and not endless and not _has_an_end(file):
            self._limit = ENDLESS
        self._size = None if status is None else status.st_size
        if status is None:
            self._pieces = _pieces_of(file, name)
        else:
            self._limit = self._size
            self._pieces = _pieces_of_plain(file, name, status)
        self._held, self._at, self._n_read = b"", 0, 0
        self.failure: Exception | None = None  # of reading, which is no damage

    @property
    def n_packed(self) -> int:
        """Number of bytes of a plain file; of others, that have been read so far."""
        return self._n_read if self._size is None else self._size

    def _fill(self, size: int) -> None:
        """Hold at least so many bytes, or all that there are."""
        if len(self._held) - self._at >= size:
            return
        held, self._at = [self._held[self._at :]], 0
        n_held = len(held[0])
        try:
            with named_errors(self._name):
                while n_held < size and (piece := next(self._pieces, b"")):
                    self._n_read += len(piece)
                    if self._limit is not None and self._n_read > self._limit:
                        raise LimitError(self._name, self._limit)
                    held.append(piece)
                    n_held += len(piece)
        except Exception as error:
            self.failure = error
            raise
        self._held = b"".join(held)

    def start(self, size: int) -> bytes:
        """Return the first bytes without reading them."""
        self._fill(size)
        return self._held[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """Read at most so many bytes; none at the end."""
        piece = self.start(size)
        self._at += len(piece)
        return piece

    def whole(self) -> bytearray:
        """Read all that is left, which is kept in memory."""
        limit = ENDLESS if self._limit is None else self._limit
        return _joined(iter(lambda: self.read(_PIECE), b""), self._name, limit)


def _text_pieces(raw, name, max_bytes) -> Iterator[bytes]:
    """Yield bytes piece by piece, unpacked and without a mark."""
    total, head = 0, b""
    for piece in _unpacked_pieces(raw, name, max_bytes):
        total += len(piece)
        if total - len(piece) < _MARK_BYTES:  # a mark may come in two pieces
            head += piece
            if total < _MARK_BYTES:
                continue
            piece = _without_mark(head, name)
        yield piece
    if total < _MARK_BYTES:
        yield _without_mark(head, name)


def _unpacked_pieces(raw, name, max_bytes) -> Iterator[bytes]:
    is_stream, total = isinstance(raw, _Stream), 0
    start = raw.start(6) if is_stream else bytes(raw[:6])
    unpack = next(
        (u for magic, u in _UNPACKERS.items() if start.startswith(magic)), None
    )
    with damage_named(name, stream=raw if is_stream else None):
        for piece in _slices(raw) if unpack is None else unpack(raw):
            total += len(piece)
            limit = max_bytes
            if unpack is not None:
                limit = byte_limit(raw.n_packed if is_stream else len(raw), max_bytes)
            if limit is not None and total > limit:
                raise LimitError(name, limit)
            yield piece


def _slices(raw) -> Iterator[bytes]:
    if isinstance(raw, _Stream):
        yield from iter(lambda: raw.read(_PIECE), b"")
        return
    for start in range(0, len(raw), _PIECE):
        yield bytes(raw[start : start + _PIECE])


def marked(text: str) -> str:
    """Return text that is read as it is, under a mark if its beginning looks otherwise.

    Parameters
    ----------
    text : str
        Beginning of the text of a file.

    Returns
    -------
    str
        The text, after the mark that readers pass over if it begins with such a mark,
        or like a packed file.
    """
    start = text[:6].encode(errors="surrogateescape")
    return f"\ufeff{text}" if start.startswith((*_MARKS, *_UNPACKERS)) else text


def _without_mark(text, name):
    """Return text without the mark that editors of Windows put at its beginning."""
    start = bytes(text[:_MARK_BYTES])
    if start[:2] in _MARKS:
        raise ValueError(f"{name} is UTF-16 text, expected UTF-8")
    return text[_MARK_BYTES:] if start == codecs.BOM_UTF8 else text


def open_bytes(
    source: Source, max_bytes: int | None = None, *, argument: str = "source"
) -> AbstractContextManager[Any]:
    """Yield the bytes of a source as they are, packed or not.

    Parameters
    ----------
    source : str, path, file object, bytes or NamedText
        File or text to read.
    max_bytes : int, default=None
        Largest number of bytes; None sets no limit to plain files, and 1 GiB to pipes
        and devices, which may have no end.
    argument : str, default="source"
        Name of the argument in error messages.

    Returns
    -------
    context manager of bytes, bytearray or mmap
    """
    return _open_bytes(source, max_bytes, argument, _all_of)


@contextmanager
def _open_bytes(source, max_bytes, argument, read) -> Iterator[Any]:
    """Yield the bytes of a source, or what a function makes of a pipe or open file."""
    name = source_name(source)
    if isinstance(source, NamedText):
        source = source.data
    if isinstance(source, (str, os.PathLike)):
        with open(checked_path(source, argument), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not status.st_size:
                # Pipes, devices and what pretends to be empty.
                status = None
            else:
                _check_size(status.st_size, name, max_bytes)
            raw = read(file, name, max_bytes, status)
            try:
                yield raw
            finally:
                if isinstance(raw, mmap.mmap):
                    # Variables that still hold it need no memory then, but frames of an
                    # error may use it.
                    with suppress(BufferError):
                        raw.close()
        return
    if isinstance(source, (bytes, bytearray, memoryview)):
        raw = bytes(source)
        _check_size(len(raw), name, max_bytes)
    elif hasattr(source, "read"):
        raw = read(source, name, max_bytes)
    else:
        raise TypeError(
            f"{argument}: expected a path, an open file or bytes, got "
            f"{type(source).__name__}: {shown(source)}"
        )
    yield raw


def _check_size(size, name, max_bytes):
    if max_bytes is not None and size > max_bytes:
        raise LimitError(name, max_bytes)


def _all_of(file, name, max_bytes, status=None) -> Any:
    if max_bytes is None and not _has_an_end(file):
        max_bytes = ENDLESS
    with named_errors(name):
        if status is not None:
            return _plain_file(file, name, status)
        return _joined(_pieces_of(file, name), name, max_bytes)


def _plain_file(file, name, status) -> Any:
    """Return the bytes that a plain file had at the beginning."""
    size, at = status.st_size, 0
    memory = _own_memory(size)
    with memoryview(memory) as view:
        while at < size:
            with view[at : at + _PIECE] as piece:
                n_bytes = file.readinto(piece)
            if not n_bytes:
                break
            at += n_bytes
    if at == size:
        return memory
    _check_not_changed(file, name, status)
    with memory:
        return memory[:at]


def _own_memory(size) -> mmap.mmap:
    """Return memory without a file, in large pages where the system has them.

    The system provides these in half the time that it needs for the memory of bytes.
    """
    memory = mmap.mmap(-1, size, **_OWN)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel may be built without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _pieces_of_plain(file, name, status) -> Iterator[bytes]:
    """Yield the bytes that a plain file had at the beginning, piece by piece."""
    left = status.st_size
    while left and (piece := file.read(min(_PIECE, left))):
        left -= len(piece)
        yield piece
    if left:
        _check_not_changed(file, name, status)


def _check_not_changed(file, name, status):
    """Raise an error if a file that ended early has been shortened.

    There are file systems that claim a size which files do not have.
    """
    now = os.fstat(file.fileno())
    if (now.st_size, now.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
        raise ChangedError(name)


def _has_an_end(file) -> bool:
    """Whether an open file is a plain one or in memory; others may go on for ever."""
    if isinstance(file, (io.BytesIO, io.StringIO)):
        return True
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError, TypeError, ValueError):
        return False
    # Those that the operating system makes up are plain files of no size.
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _pieces_of(file, name):
    while piece := _piece_of(file, name):
        # A file that is open for text has decoded its bytes; this takes them back.
        yield piece.encode(errors="surrogateescape") if type(piece) is str else piece


def _piece_of(file, name) -> Any:
    try:
        piece = file.read(_PIECE)
    except io.UnsupportedOperation:
        raise TypeError(
            f"source: expected a file that is open for reading, got {shown(file)}"
        ) from None
    if piece is None or (piece == "" and _may_go_on(file)):
        raise BlockingIOError(
            errno.EAGAIN,
            "the stream is non-blocking, and had nothing to read yet",
            name,
        )
    if not isinstance(piece, (bytes, bytearray, str)):
        raise TypeError(
            f"source: expected a file that reads bytes or text, got {shown(piece)} of "
            f"{shown(file)}"
        )
    # Whoever hands out a bytearray may fill it again.
    return bytes(piece) if isinstance(piece, bytearray) else piece


def _may_go_on(file) -> bool:
    """Whether a file that is open for text said '' although this is not its end.

    Bytes that are not there yet are None, but text that is not there yet looks like the
    end. To ask once more could wait for a person at a terminal, which blocks.
    """
    try:
        return not os.get_blocking(file.fileno()) and file.buffer.read(1) != b""
    except (AttributeError, OSError, TypeError, ValueError):  # no file of the system
        return False


def _joined(pieces, name, limit) -> bytearray:
    """Return all pieces, or raise an error as soon as they exceed the limit."""
    text = bytearray()
    try:
        for piece in pieces:
            if limit is not None and len(text) + len(piece) > limit:
                raise LimitError(name, limit)
            text += piece
    except MemoryError:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), name) from None
    return text


def unpacked(raw: Any, name: str, max_bytes: int | None = None) -> Any:
    """Return bytes as they are, or unpacked if they begin like a packed file.

    Parameters
    ----------
    raw : bytes-like
        Content of a file.
    name : str
        Name of the file, for messages.
    max_bytes : int, default=None
        Largest size of what they unpack to; see `byte_limit` about None.

    Returns
    -------
    bytes-like

    Raises
    ------
    ValueError
        If the bytes are damaged or unpack to more.
    """
    start = bytes(raw[:6])
    for magic, unpack in _UNPACKERS.items():
        if start.startswith(magic):
            with damage_named(name):
                return _joined(unpack(raw), name, byte_limit(len(raw), max_bytes))
    return raw


@contextmanager
def damage_named(
    name: str, *more: type[Exception], stream: _Stream | None = None
) -> Iterator[None]:
    """Turn what libraries raise over damaged bytes into a ValueError with the name.

    Parameters
    ----------
    name : str
        Name of the file.
    *more : type
        Further classes of errors that mean damage.
    stream : _Stream, default=None
        What the bytes are read from, whose own failure is told as it is.
    """
    try:
        yield
    except (ChangedError, EmptyError, LimitError):
        raise
    except ImportError as error:  # of a library that unpacks
        raise ImportError(f"{name}: {error}") from None
    except (OSError, *DAMAGED, *more) as error:
        of_system = isinstance(error, OSError) and error.errno is not None
        if of_system or (stream is not None and error is stream.failure):
            raise
        problem = shortened(words_of(error), _LENGTH) or type(error).__name__
        raise ValueError(f"{name} is damaged: {problem}") from None


def check_packing(members: Iterable[zipfile.ZipInfo]) -> None:
    """Refuse members of an archive that Python unpacks without a limit.

    Parameters
    ----------
    members : iterable of ZipInfo
        Members.

    Raises
    ------
    ValueError
        If one is neither stored nor deflated. A piece of what others pack unpacks
        as a whole, which may be a million times as much.
    """
    for info in members:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(
                f"{shown(info.filename)} is packed by method {info.compress_type} of "
                "zip archives; accepted are members that are stored or deflated"
            )


class _Inflater:
    """Unpacks one member of a gzip file, with the methods of the other libraries.

    The class `gzip.GzipFile` takes up to four times as long.
    """

    def __init__(self):
        self._stream = zlib.decompressobj(_GZIP_BITS)
        self.needs_input = True

    def decompress(self, piece: bytes, max_length: int) -> bytes:
        """Return at most ``max_length`` bytes of what the input so far unpacks to."""
        stream = self._stream
        text = stream.decompress(stream.unconsumed_tail + piece, max_length)
        self.needs_input = not stream.unconsumed_tail and len(text) < max_length
        return text

    @property
    def eof(self) -> bool:
        """Whether the member is complete, and its check sum right."""
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the member."""
        return self._stream.unused_data


def _gunzip(raw) -> Iterator[bytes]:
    return _streams(raw, _Inflater)


def _bunzip2(raw) -> Iterator[bytes]:
    return _streams(raw, bz2.BZ2Decompressor)


def _unxz(raw) -> Iterator[bytes]:
    return _streams(
        raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    )


def _streams(
    raw, unpacker: Callable[[], Any], size: int | None = None
) -> Iterator[bytes]:
    """Unpack streams that follow each other, with zeros between and after them.

    The classes `bz2.BZ2File` and `lzma.LZMAFile` pass over what they do not understand
    after the first stream, so that a damaged second one would be lost in silence.
    """
    file, size = _file(raw), size or _PIECE
    piece = file.read(size)
    while piece:
        stream = unpacker()
        while True:
            yield stream.decompress(piece, _UNPACKED_PIECE)
            if stream.eof:
                break
            piece = b""
            if stream.needs_input and not (piece := file.read(size)):
                raise EOFError("it ends before the end of its stream")
        piece = stream.unused_data.lstrip(b"\0")
        while not piece and (piece := file.read(size)):
            piece = piece.lstrip(b"\0")


def _unzip(raw) -> Iterator[bytes]:
    if isinstance(raw, _Stream):  # its contents stand at its end
        raw = raw.whole()
    # Python's zipfile asks for a method that mapped files lack before Python 3.13.
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [info for info in archive.infolist() if not info.is_dir()]
        if len(members) != 1:
            raise ValueError(f"expected one file in the archive, found {len(members)}")
        check_packing(members)
        with archive.open(members[0]) as file:
            yield from _pieces_of(file, members[0].filename)


def _unzstd(raw) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            "to read Zstandard, a library is needed: pip install zstandard"
        ) from None

    class Stream:
        needs_input = True

        def __init__(self):
            unpacker = zstandard.ZstdDecompressor(max_window_size=_XZ_MEMORY)
            self._stream = unpacker.decompressobj()

        def decompress(self, piece, max_length):
            return self._stream.decompress(piece)

        def __getattr__(self, name):
            return getattr(self._stream, name)

    try:
        # The library takes no limit of the output: small pieces of input set it one.
        yield from _streams(raw, Stream, _SMALL_PIECE)
    except zstandard.ZstdError as error:
        raise ValueError(error) from None


def _file(raw):
    return raw if hasattr(raw, "read") else io.BytesIO(raw)


_UNPACKERS = {
    _GZIP: _gunzip,
    _BZIP2: _bunzip2,
    _XZ: _unxz,
    _ZIP: _unzip,
    _ZSTANDARD: _unzstd,
}
