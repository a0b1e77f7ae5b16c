"""Files that appear whole or not at all, whatever happens on the way."""

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skrank._core import _writing
from skrank._core._reading import open_text
from skrank._core._writing import (
    _BLOCK_BYTES,
    atomic_write,
    blocks_of_lines,
    check_writable,
    packed_write,
)


def no_links(*args, **more):
    raise OSError(errno.EPERM, "no hard links")


@pytest.fixture(params=["nameless", "named", "without links"])
def way(request, monkeypatch):
    """The ways of the operating systems to make a temporary file."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    if request.param == "without links":
        if not hasattr(os, "O_TMPFILE"):
            pytest.skip("no files without names")
        monkeypatch.setattr(os, "link", no_links)
    return request.param


def write(path, text="new\n"):
    with atomic_write(path) as file:
        file.write(text)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def run(script, *arguments, **more):
    """Run a Python script with the functions of the module in a process of its own."""
    lines = f"from skrank._core._writing import *\nimport os, sys, time\n{script}"
    return subprocess.Popen([sys.executable, "-c", lines, *map(str, arguments)], **more)


@pytest.mark.parametrize(("mask", "mode"), [(0o027, 0o640), (0, 0o666)])
def test_a_new_file_has_the_mode_of_new_files(way, tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write(tmp_path / "new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new") == mode
    assert (tmp_path / "new").read_text() == "new\n"
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o777])
def test_an_old_file_keeps_its_mode(way, tmp_path, mode):
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert (mode_of(path), path.read_text()) == (mode, "new\n")


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o1755, 0o7755])
def test_a_new_file_does_not_run_as_its_owner(way, tmp_path, mode):
    """That the old content may is nothing that was said of the new one."""
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert mode_of(path) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_an_old_file_keeps_its_owner(way, tmp_path):
    path = tmp_path / "old"
    path.touch()
    os.chown(path, 1234, 2345)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_link_stays_and_its_target_is_replaced(way, tmp_path):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    target.write_text("old")
    (tmp_path / "link").symlink_to("folder/target")
    (tmp_path / "outer").symlink_to(tmp_path / "link")
    write(tmp_path / "outer")
    assert (tmp_path / "outer").is_symlink()
    assert (tmp_path / "link").is_symlink()
    assert target.read_text() == "new\n"
    (tmp_path / "dangling").symlink_to("folder/absent")
    write(tmp_path / "dangling")
    assert (tmp_path / "folder" / "absent").read_text() == "new\n"
    assert sorted(os.listdir(tmp_path / "folder")) == ["absent", "target"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(way, tmp_path, error):
    (tmp_path / "old").write_text("old")

    def lines():
        yield "half"
        raise error

    for name in ("old", "new"):
        with pytest.raises(error), atomic_write(tmp_path / name) as file:
            file.writelines(lines())
    assert (tmp_path / "old").read_text() == "old"
    assert os.listdir(tmp_path) == ["old"]


def test_an_interrupt_in_the_last_step_leaves_the_old_file(way, tmp_path, monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    (tmp_path / "old").write_text("old\n")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "old")
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old\n"


def test_a_new_file_gets_its_name_in_one_step(tmp_path, monkeypatch):
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("no files without names")
    monkeypatch.delattr(os, "replace")
    write(tmp_path / "new")
    assert os.listdir(tmp_path) == ["new"]
    path = tmp_path / "other"

    with atomic_write(path) as file:  # somebody else is faster
        file.write("new\n")
        path.write_text("old\n")
        monkeypatch.undo()
    assert path.read_text() == "new\n"
    assert sorted(os.listdir(tmp_path)) == ["new", "other"]


def test_what_killed_processes_left_is_removed(way, tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    path = tmp_path / "old"
    write(path)
    kept = [
        ".skrank-1.tmp",
        ".skrank-0123456789abcdef.tmp.old",
        "skrank-0123456789abcdef.tmp",
        ".skrank-x.tmp",
    ]
    for name in kept:
        (tmp_path / name).touch()
    left = tmp_path / ".skrank-0123456789abcdef.tmp"
    left.touch()
    os.utime(left, (0, 0))
    write(path)
    assert left.exists()  # it may belong to a process that is about to lock it
    monkeypatch.setattr(_writing, "_YOUNG", -1)
    with open(left) as file:
        assert _writing._lock(file.fileno())
        write(path)
        assert left.exists()
    for digit, target in (("1", "nowhere"), ("2", left), ("3", tmp_path / "pipe")):
        (tmp_path / f".skrank-{16 * digit}.tmp").symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / f".skrank-{16 * '4'}.tmp")
    kept += [f".skrank-{16 * digit}.tmp" for digit in "1234"]
    write(path, "last\n")
    assert not left.exists()
    assert path.read_text() == "last\n"
    assert set(kept) < set(os.listdir(tmp_path))


def test_a_copy_of_a_nameless_file_is_not_taken_for_abandoned(tmp_path, monkeypatch):
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("no files without names")
    pytest.importorskip("fcntl")
    path, copy, copied = tmp_path / "old", shutil.copyfileobj, []
    write(path)

    def slow_copy(source, target):
        _writing._remove_abandoned(tmp_path)
        copied.append(source.name)
        copy(source, target)

    monkeypatch.setattr(_writing, "_YOUNG", -1)
    monkeypatch.setattr(_writing.shutil, "copyfileobj", slow_copy)
    monkeypatch.setattr(os, "link", no_links)
    write(path, "last\n")
    assert copied
    assert path.read_text() == "last\n"


def test_a_minute_makes_a_temporary_file_old(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    left = tmp_path / f".skrank-{16 * 'a'}.tmp"
    left.touch()
    changed = os.stat(left).st_ctime
    for age in (59.0, 61.0):
        monkeypatch.setattr(_writing.time, "time", lambda now=changed + age: now)
        assert left.exists()
        _writing._remove_abandoned(tmp_path)
    assert not left.exists()


def test_the_whole_file_is_on_the_disk_before_it_has_its_name(
    way, tmp_path, monkeypatch
):
    """Whichever file takes the name, `fsync` has seen all its bytes, even the last."""
    path, sizes, fsync, replace = tmp_path / "new", {}, os.fsync, os.replace

    def noting_fsync(descriptor):
        fsync(descriptor)
        status = os.fstat(descriptor)
        sizes[status.st_ino] = status.st_size

    def checked_replace(source, target):
        assert sizes[os.stat(source).st_ino] == len(text)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", checked_replace)
    for text in ("short\n", "x" * 100_001):
        write(path, text)
        assert path.read_text() == text


def test_threads_that_write_to_one_path(way, tmp_path):
    """Every content is one of those written, and no writer fails."""
    path, failures, seen = tmp_path / "shared", [], set()
    contents = [str(i) * 50_000 for i in range(4)]
    path.write_text(contents[0])

    def work(content):
        try:
            for _ in range(15):
                write(path, content)
                seen.add(path.read_text())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=[text]) for text in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert seen <= set(contents)
    assert os.listdir(tmp_path) == ["shared"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_leaves_the_old_file_and_nothing_else(tmp_path, number):
    path = tmp_path / "old"
    path.write_text("old")
    process = run(
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write('x' * 10**6)\n"
        "    file.flush()\n"
        "    print('written', flush=True)\n"
        "    time.sleep(60)\n",
        path,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(number)
        assert process.wait(60) == -number
    assert path.read_text() == "old"
    if hasattr(os, "O_TMPFILE"):
        assert os.listdir(tmp_path) == ["old"]


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path):
    path = tmp_path / "old"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: .*old") as caught:
            write(path, "x" * 20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert caught.value.filename == str(path)
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["old"])


# Special files


def test_devices_are_written_to(tmp_path):
    before = os.stat("/dev/null")
    check_writable("/dev/null")
    write("/dev/null")
    with packed_write("/dev/null") as file:
        file.write(b"text")
    after = os.stat("/dev/null")
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    (tmp_path / "link").symlink_to("/dev/null")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write("/dev/full")


def test_a_pipe_is_written_to(tmp_path):
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    check_writable(path)
    reader = threading.Thread(target=lambda: found.append(path.read_text()))
    reader.start()
    write(path)
    reader.join()
    assert found == ["new\n"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_the_standard_output_goes_on_where_it_is(tmp_path, name):
    """What was written to a redirected output before and after stays in it."""
    script = (
        "print('before')\n"
        "check_writable(sys.argv[1])\n"
        "with atomic_write(sys.argv[1]) as file: file.write('between\\n')\n"
        "print('after')"
    )
    with open(tmp_path / "out", "wb") as file:
        assert run(script, name, stdout=file).wait(60) == 0
    assert (tmp_path / "out").read_text() == "before\nbetween\nafter\n"
    with run(script, name, stdout=subprocess.PIPE) as process:
        assert process.communicate(timeout=60)[0] == b"before\nbetween\nafter\n"


# The check before long work


def test_paths_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for function in (check_writable, write):
        for path, error, message in [
            (tmp_path, IsADirectoryError, "is a folder"),
            (f"{tmp_path}/new/", IsADirectoryError, "is a folder"),
            (tmp_path / "no" / "x", FileNotFoundError, f"no folder {tmp_path}/no$"),
            (tmp_path / "file" / "x", NotADirectoryError, "file/x"),
            (tmp_path / ("x" * 300), OSError, "File name too long"),
            (tmp_path / "loop", OSError, "symbolic links"),
            ("", FileNotFoundError, "path of the file to write is empty"),
            ("a\0b", ValueError, r"the path 'a\\x00b' holds a NUL character"),
        ]:
            with pytest.raises(error, match=message):
                function(path)
    check_writable(tmp_path / "new")
    check_writable(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


def test_permissions_are_checked(tmp_path):
    """As an ordinary user, because root may write everywhere."""
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir(mode=0o555)
    file.touch()
    file.chmod(0o444)
    tmp_path.chmod(0o777)
    for parent in Path(tmp_path).parents[:-2]:
        if parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | 0o011)
    script = (
        "if not os.geteuid():\n"
        "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "for path in sys.argv[1:]:\n"
        "    try: check_writable(path)\n"
        "    except PermissionError as error: print(error)\n"
    )
    paths = [folder / "new", file]
    with run(script, *paths, stdout=subprocess.PIPE, text=True) as process:
        found = process.communicate(timeout=60)[0].splitlines()
    assert found == [f"[Errno 13] Permission denied: '{path}'" for path in paths]


# Packed files


@pytest.mark.parametrize(
    ("suffix", "unpack"),
    [
        ("gz", gzip.decompress),
        ("bz2", bz2.decompress),
        ("xz", lzma.decompress),
        ("GZ", gzip.decompress),
        ("Bz2", bz2.decompress),
        ("XZ", lzma.decompress),
    ],
)
def test_packed_files(tmp_path, suffix, unpack):
    contents = []
    for name in ("a", "b"):
        with packed_write(tmp_path / f"{name}.txt.{suffix}") as file:
            file.write(b"line\n" * 10)
        contents.append((tmp_path / f"{name}.txt.{suffix}").read_bytes())
    assert contents[0] == contents[1]
    assert unpack(contents[0]) == b"line\n" * 10


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ""])
def test_text_is_packed_as_its_bytes_are(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    with packed_write(paths[0]) as file:
        file.write("é\n\udcff\n".encode(errors="surrogateescape"))
    with packed_write(paths[1], "w") as file:
        file.writelines(["é\n", "\udcff\n"])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with open_text(paths[1]) as text:
        assert bytes(text) == "é\n".encode() + b"\xff\n"


def test_a_gzip_file_holds_neither_a_time_nor_a_name(way, tmp_path):
    with packed_write(tmp_path / "a.gz") as file:
        file.write(b"line\n")
    # Of its header, bytes 3 to 7 are the flags, one of which announces a name, and the
    # time (RFC 1952, section 2.3).
    assert (tmp_path / "a.gz").read_bytes()[3:8] == bytes(5)


@pytest.mark.parametrize("content", [b"", b"line\n", bytes(2**19 + 1)])
@pytest.mark.parametrize("suffix", [".gz", ""])
def test_files_tell_how_much_they_took(tmp_path, suffix, content):
    with packed_write(tmp_path / f"a{suffix}") as file:
        assert file.write(content) == len(content)


@pytest.mark.parametrize("size", [0, 1, _BLOCK_BYTES, _BLOCK_BYTES + 1])
def test_no_block_loses_a_byte(tmp_path, size):
    with packed_write(tmp_path / "file") as file:
        file.write(b"a" * size)
    assert (tmp_path / "file").read_bytes() == b"a" * size


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_no_packer_is_at_work_for_long(tmp_path, monkeypatch, mode):
    """Because an interrupt waits for it."""
    pieces = []

    class Packer(contextlib.nullcontext):
        def write(self, piece):
            pieces.append(bytes(piece))

        def __enter__(self):
            return self

    monkeypatch.setitem(_writing._PACKERS, ".gz", Packer)
    content = "line\n" * 10**6
    with packed_write(tmp_path / "a.gz", mode) as file:
        file.write(content if mode == "w" else content.encode())
    assert b"".join(pieces) == content.encode()
    assert max(map(len, pieces)) <= 2**18


@pytest.mark.parametrize("mode", ["w", "wb"])
@pytest.mark.parametrize("suffix", [".gz", ".xz", ""])
def test_an_interrupt_leaves_no_packed_file(way, tmp_path, mode, suffix):
    def write_and_stop():
        with packed_write(tmp_path / f"a{suffix}", mode) as file:
            file.write("line\n" if mode == "w" else b"line\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_stop()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n", [0, 1, 4096, 10_000])
def test_lines_come_in_blocks(n):
    lines = [b"%d" % i for i in range(n)]
    blocks = list(blocks_of_lines(iter(lines)))
    assert b"".join(blocks) == b"".join(line + b"\n" for line in lines)
    assert all(0 < block.count(b"\n") <= 4096 for block in blocks)


def test_text_that_is_not_utf_8_is_written_as_it_was(tmp_path):
    write(tmp_path / "text", "é\udcff\n")
    assert (tmp_path / "text").read_bytes() == "é".encode() + b"\xff\n"


def test_the_module_has_no_global_state():
    """The umask, which other threads would see, is never touched."""
    assert "umask" not in Path(_writing.__file__).read_text()


def test_no_descriptor_stays_open(way, tmp_path):
    def next_descriptor():
        number = os.open(os.devnull, os.O_RDONLY)
        os.close(number)
        return number

    path, before = tmp_path / "file", next_descriptor()
    for work in (check_writable, write):
        for _ in ("new", "old"):
            work(path)
            assert next_descriptor() == before


def test_a_number_is_the_name_of_a_file_like_others(tmp_path):
    path = tmp_path / "2"  # also the number of a descriptor
    path.write_text("old")
    write(path)
    assert path.read_text() == "new\n"


def test_what_was_printed_before_comes_first(tmp_path):
    script = (
        "print('first')\n"
        "with packed_write('/dev/stdout', 'w') as file:\n    file.write('second\\n')"
    )
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    with open(tmp_path / "out", "w") as out:
        assert run(script, stdout=out, env=plain).wait(60) == 0
    assert (tmp_path / "out").read_text() == "first\nsecond\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no list of descriptors")
def test_no_descriptor_is_left_open(way, tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for name in "abc":
        write(tmp_path / name)
    assert len(os.listdir("/proc/self/fd")) == before
