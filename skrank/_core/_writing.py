"""Files that appear whole or not at all.

What is written goes to a new file, which takes the place of the old one in a single
step once it is complete. The new file has no name until then where the operating system
has such files (Linux, on its usual file systems). Elsewhere, and in the moment in which
it replaces an old file, it is called ``.skrank-….tmp``. One that a killed process left
is removed when a file is replaced in its folder: nobody holds its lock.
"""

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import IO, Any, Literal

from skrank._core._messages import on_one_line
from skrank._core._paths import checked_path, named_errors

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

# Ids that are not UTF-8 are kept byte by byte.
_TEXT: dict[str, Any] = {
    "encoding": "utf-8",
    "newline": "\n",
    "errors": "surrogateescape",
}
_BLOCK_BYTES = 2**18  # which every packer takes in a fraction of a second
_BLOCK_LINES = 2**12
_CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_DESCRIPTORS = re.compile(r"/proc/(\d+)(/task/\d+)?/fd")
_TEMPORARY = re.compile(r"\.skrank-[0-9a-f]{16}\.tmp")
_YOUNG = 60  # seconds
_MAX_LINKS = 40  # as many as Linux follows


@contextmanager
def atomic_write(
    path: str | os.PathLike, mode: Literal["w", "wb"] = "w"
) -> Iterator[IO]:
    """Open a new file that replaces ``path`` only if the block succeeds.

    An existing file keeps its permissions and, where the process may set it, its owner;
    a symbolic link stays, and the file that it leads to is replaced. Devices and pipes
    are written to as they are, because there is nothing in them to keep whole.

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

    Raises
    ------
    OSError
        If the file cannot be written. The message names it.
    """
    text = {} if "b" in mode else _TEXT
    name = checked_path(path, purpose="write")
    with named_errors(name):
        target, found = _target(name)
        if _is_special(name, found):
            with open(_open_special(name), mode, **text) as file:
                yield file
            return
        temporary = _Temporary(name, target, found)
        try:
            with open(temporary.descriptor, mode, **text) as file:
                yield file
                file.flush()
                # Else the name could survive a loss of power and the content not.
                os.fsync(temporary.descriptor)
                named = temporary.give_name(target)
            if named != target:
                os.replace(named, target)
        except BaseException:
            temporary.remove()
            raise


@contextmanager
def packed_write(
    path: str | os.PathLike, mode: Literal["w", "wb"] = "wb"
) -> Iterator[Any]:
    """Open a file as `atomic_write` does, for what is packed on the way.

    Parameters
    ----------
    path : str or path-like
        File to write; packed if its name ends in ``.gz``, ``.bz2`` or ``.xz``, in
        small letters or capitals.
    mode : {"w", "wb"}, default="wb"
        Mode of the file, as in `atomic_write`.

    Yields
    ------
    file
        A file that takes bytes or text. Equal content makes equal files. An interrupt
        stops it within a fraction of a second, however much is written at once.
    """
    suffix = os.path.splitext(checked_path(path, purpose="write"))[1]
    pack = _PACKERS.get(suffix.lower(), contextlib.nullcontext)
    with atomic_write(path, "wb") as file, pack(file) as packed:
        blocks: Any = _InBlocks(packed)
        if "b" in mode:
            yield blocks
        else:
            with io.TextIOWrapper(blocks, **_TEXT) as text:
                yield text


class _InBlocks(io.BufferedIOBase):
    """A file that hands on bytes in blocks.

    Signals wait while a packer is at work, which takes seconds for a long text.
    """

    def __init__(self, file):
        self._file = file

    def writable(self):
        return True

    def write(self, content):
        content = memoryview(content)
        for start in range(0, len(content), _BLOCK_BYTES):
            self._file.write(content[start : start + _BLOCK_BYTES])
        return len(content)


def blocks_of_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends, some thousands at a time.

    An interrupt stops this within a fraction of a second.

    Parameters
    ----------
    lines : iterable of bytes
        Lines without their ends.

    Yields
    ------
    bytes
    """
    lines = iter(lines)
    while block := list(islice(lines, _BLOCK_LINES)):
        yield b"\n".join([*block, b""])


def _gzip(file):
    # Neither a time nor the name of the temporary file gets into the bytes.
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


_PACKERS = {
    ".gz": _gzip,
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
}


def check_writable(path: str | os.PathLike) -> None:
    """Raise an error if a file could not be written, before long work for it.

    Parameters
    ----------
    path : str or path-like
        File to write later. Nothing is changed now.

    Raises
    ------
    OSError
        If there is no folder for it, it is a folder itself, or may not be written.
    TypeError
        If it is no path.
    """
    name = checked_path(path, purpose="write")
    target, found = _target(name)
    if _is_special(name, found):
        _check_access(name)
    else:
        # No question tells it as surely as the deed.
        temporary = _Temporary(name, target, found)
        os.close(temporary.descriptor)
        temporary.remove()


def _target(name):
    """Return the file that a path leads to, and its status if it exists."""
    target = os.path.realpath(name)
    try:
        # By the path as it was given: that of a descriptor has no other.
        found = os.stat(name)
    except FileNotFoundError:
        found = None
    if os.path.isdir(name) or name.endswith(os.sep):
        raise IsADirectoryError(f"cannot write {on_one_line(name)}: it is a folder")
    if found is None and not os.path.isdir(os.path.dirname(target)):
        folder = os.path.dirname(target)
        raise FileNotFoundError(
            on_one_line(f"cannot write {name}: there is no folder {folder}")
        )
    return target, found


def _is_special(name, found):
    """Whether a path stands for a device, a pipe or an open descriptor."""
    if found is None:
        return False
    return not stat.S_ISREG(found.st_mode) or own_descriptor(name) is not None


def _check_access(name):
    if not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def own_descriptor(name) -> int | None:
    """Return the open descriptor that a path such as /dev/stdout stands for."""
    for _ in range(_MAX_LINKS):
        folder, base = os.path.split(name)
        place = _DESCRIPTORS.fullmatch(os.path.realpath(folder))
        if place and int(place[1]) == os.getpid() and base.isdigit():
            return int(base)
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None


def _open_special(name) -> int:
    number = own_descriptor(name)
    if number is None:
        return os.open(name, os.O_WRONLY | _CLOSED_ON_EXEC)
    # Opened anew, a file behind it would be cut, or written over from its beginning.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return os.dup(number)


class _Temporary:
    """A new file that is going to replace another.

    Attributes
    ----------
    descriptor : int
        Descriptor of the file, open for reading and writing.
    path : str or None
        Its path; None as long as it has no name.
    """

    def __init__(self, name, target, found):
        if found is not None:
            # The folder alone decides whether a file may be replaced. But who made a
            # file read-only wants to keep it.
            _check_access(name)
        self._folder = os.path.dirname(target)
        self.path = None
        try:
            self.descriptor = self._open(0o666 if found is None else 0o600)
        except OSError as error:
            raise OSError(error.errno, error.strerror, name) from None
        _lock(self.descriptor)
        if found is not None:
            _keep_access(self.descriptor, found)

    def _open(self, mode):
        flags = os.O_RDWR | _CLOSED_ON_EXEC
        if hasattr(os, "O_TMPFILE"):
            with contextlib.suppress(OSError):  # not on every file system
                descriptor = os.open(self._folder, flags | os.O_TMPFILE, mode)
                if os.path.exists(_link_of(descriptor)):
                    return descriptor
                os.close(descriptor)
        return self._open_with_name(self._new_path(), flags, mode)

    def _open_with_name(self, path, flags, mode):
        self.path = path  # before it exists: an interrupt may follow at once
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)

    def _new_path(self):
        return os.path.join(self._folder, f".skrank-{secrets.token_hex(8)}.tmp")

    def give_name(self, target: str) -> str:
        """Give the file a name: that of the target, or one to replace it with."""
        if self.path is None:
            with contextlib.suppress(OSError):  # it exists, or there are no hard links
                self._link(target)
                return target
        _remove_abandoned(self._folder)
        if self.path is not None:
            return self.path
        path = self.path = self._new_path()
        try:
            self._link(path)
        except OSError:  # no hard links on this file system
            path = self._copy()
        return path

    def _link(self, path):
        folder = os.open(self._folder, os.O_RDONLY | _CLOSED_ON_EXEC)
        try:
            # The number of a folder makes Python call `linkat`, which alone follows
            # the link to the file.
            os.link(_link_of(self.descriptor), path, src_dir_fd=folder)
        finally:
            os.close(folder)

    def _copy(self) -> str:
        status = os.fstat(self.descriptor)
        path = self._new_path()
        copy = self._open_with_name(path, os.O_RDWR | _CLOSED_ON_EXEC, 0o600)
        _lock(copy)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        with open(copy, "wb") as file, open(os.dup(self.descriptor), "rb") as own:
            _keep_access(copy, status)
            shutil.copyfileobj(own, file)
            file.flush()
            os.fsync(copy)
        return path

    def remove(self) -> None:
        """Remove the file, if it has a name; without one it is gone when closed."""
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


def _lock(descriptor) -> bool:
    """Take the lock of an open file until it is closed; whether nobody else has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody has it, or there are no locks on this file system
        return False
    return True


def _remove_abandoned(folder) -> None:
    """Remove the files of a folder that killed processes have left."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry) -> None:
    found = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode) or time.time() - found.st_ctime < _YOUNG:
        return  # a young one may not be locked yet
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | _CLOSED_ON_EXEC
    descriptor = os.open(entry.path, flags)
    try:
        if _lock(descriptor):
            os.unlink(entry.path)
    finally:
        os.close(descriptor)


def _link_of(descriptor):
    return f"/proc/self/fd/{descriptor}"


def _keep_access(descriptor, status):
    """Give a file the permissions and, if possible, the owner of another."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & 0o777)
