"""Bytes of any source: packings, pipes, limits, damage, and names in messages."""

import bz2
import errno
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
import zipfile
import zlib
from itertools import accumulate, pairwise

import pytest

from skrank._core import _reading
from skrank._core._reading import (
    ChangedError,
    EmptyError,
    LimitError,
    NamedText,
    byte_limit,
    lines_of,
    open_bytes,
    open_lines,
    open_pieces,
    open_text,
)

TEXT = b"".join(b"line %d\n" % i for i in range(3000))


def zipped(text, *more):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, content in enumerate((text, *more)):
            archive.writestr(f"{i}.txt", content)
    return buffer.getvalue()


PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": zipped,
}
STREAMS = ["gzip", "bzip2", "xz"]


def read(source, max_bytes=None):
    with open_text(source, max_bytes) as text:
        return bytes(text)


def joined(source):
    return b"".join(open_pieces(source))


def outcome(path):
    """The text, or the message of a ValueError; other errors are none that may be."""
    try:
        return read(path), None
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("packing", PACKERS)
def test_every_source_of_every_packing(packing, tmp_path):
    content = PACKERS[packing](TEXT)
    path = tmp_path / "text"
    path.write_bytes(content)
    assert read(path) == TEXT
    assert read(str(path)) == TEXT
    assert read(content) == TEXT
    assert read(memoryview(content)) == TEXT
    assert read(io.BytesIO(content)) == TEXT
    assert read(NamedText("n", content)) == TEXT
    with path.open("rb") as file:
        assert read(file) == TEXT


@pytest.mark.parametrize("packing", STREAMS)
@pytest.mark.parametrize("size", [0, 1, 3000])
def test_streams_that_follow_each_other(packing, size, monkeypatch):
    """Their ends and the zeros between them may lie anywhere in the pieces read."""
    pack = PACKERS[packing]
    content = pack(TEXT) + pack(b"") + b"\0" * size + pack(b"end\n") + b"\0" * size
    for piece in (1, 7, 2**20):
        monkeypatch.setattr(_reading, "_PIECE", piece)
        monkeypatch.setattr(_reading, "_UNPACKED_PIECE", 11 * piece)
        assert read(content) == TEXT + b"end\n"


@pytest.mark.parametrize("packing", STREAMS)
def test_what_follows_a_stream_is_not_lost_in_silence(packing):
    with pytest.raises(ValueError, match="<text> is damaged: "):
        read(PACKERS[packing](TEXT) + b"garbage")


@pytest.mark.parametrize("packing", [*STREAMS, "zip"])
def test_every_truncation_and_flipped_byte(packing, tmp_path):
    """Nothing but a ValueError with the name comes out, or the text itself."""
    text = TEXT[:300]
    content = PACKERS[packing](text)
    path = tmp_path / "damaged.txt"
    for i in range(len(content)):
        mask = 1 << (i % 8)
        flipped = content[:i] + bytes([content[i] ^ mask]) + content[i + 1 :]
        for damaged in (content[:i], flipped):
            path.write_bytes(damaged)
            found, message = outcome(path)
            if message is None:
                # A flipped byte of the magic number makes other text of it.
                assert found in (text, damaged)
            else:
                assert "damaged.txt is " in message
                assert "\n" not in message
                assert len(message) < 1000


def test_an_archive_holds_one_file():
    with pytest.raises(ValueError, match="expected one file in the archive, found 2"):
        read(zipped(TEXT, TEXT))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_that_python_unpacks_without_a_limit_are_refused(method):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        archive.writestr("text", TEXT)
    with pytest.raises(ValueError, match=r"'text' is packed by method 1[24] of"):
        read(content.getvalue())


def test_memory_that_an_error_still_uses_hides_no_interrupt(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(TEXT)

    def interrupt(view):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_text(path) as text:
        interrupt(memoryview(text))


@pytest.mark.parametrize("packing", PACKERS)
def test_streams_may_fill_a_bytearray_again_and_again(packing):
    class Refilling(io.BytesIO):
        filled = bytearray()

        def read(self, size=-1):
            self.filled[:] = super().read(7)
            return self.filled

    content = PACKERS[packing](TEXT)
    assert b"".join(open_pieces(Refilling(content))) == TEXT
    assert read(Refilling(content)) == TEXT


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize(
    "error", [TimeoutError("timed out"), RuntimeError("mine"), KeyError("mine")]
)
def test_a_stream_that_fails_is_not_damaged(packing, error):
    class Failing(io.BytesIO):
        n_calls = 0

        def read(self, size=-1):
            self.n_calls += 1
            if self.n_calls > 2:
                raise error
            return super().read(20)

    with pytest.raises(type(error)) as raised:
        list(open_pieces(Failing(PACKERS[packing](TEXT))))
    assert raised.value is error


def test_zstandard(monkeypatch):
    frame = b"\x28\xb5\x2f\xfd" + b"\0" * 9
    monkeypatch.setitem(sys.modules, "zstandard", None)
    message = "^<text>: to read Zstandard, a library is needed: pip install zstandard"
    with pytest.raises(ImportError, match=message):
        read(frame)
    monkeypatch.undo()
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(TEXT)
    assert read(packed + packed) == TEXT * 2
    with pytest.raises(ValueError, match="is damaged"):
        read(packed[:-3])


# Limits


@pytest.mark.parametrize("packing", PACKERS)
def test_the_limit_is_that_of_the_text(packing, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(PACKERS[packing](TEXT))
    assert read(path, len(TEXT)) == TEXT
    message = f"text holds more than {len(TEXT) - 1} bytes.* larger max_bytes"
    with pytest.raises(LimitError, match=message):
        read(path, len(TEXT) - 1)


def test_the_default_limit_of_packed_text(monkeypatch):
    """A hundred times the packed size, but at least 256 MiB."""
    assert byte_limit(0, None) == byte_limit(2**21, None) == 2**28
    assert byte_limit(10**9, None) == 10**11
    assert byte_limit(10**9, 5) == 5
    monkeypatch.setattr(_reading, "_SMALL", 10**4)
    for pack in (gzip.compress, bz2.compress, lzma.compress, zipped):
        bomb = pack(b"0" * 10**6)
        with pytest.raises(LimitError, match="<text> holds more than"):
            read(bomb)
        assert len(read(bomb, 10**6)) == 10**6


def test_text_that_is_not_packed_has_no_limit_by_default(monkeypatch, tmp_path):
    monkeypatch.setattr(_reading, "_SMALL", 1)
    (tmp_path / "text").write_bytes(TEXT)
    assert read(tmp_path / "text") == read(io.BytesIO(TEXT)) == TEXT


def test_an_endless_stream_is_read_up_to_the_limit():
    with pytest.raises(LimitError, match="/dev/zero holds more than 5000 bytes"):
        read("/dev/zero", 5000)


def test_no_memory_for_the_text_names_the_file(tmp_path):
    class Greedy:
        name = "greedy.txt"

        def read(self, size):
            raise MemoryError

    with pytest.raises(OSError, match=r"Cannot allocate memory: 'greedy\.txt'"):
        read(Greedy())


# Files of other kinds


@pytest.mark.parametrize("packing", PACKERS)
def test_a_pipe(packing, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[PACKERS[packing](TEXT)])
    writer.start()
    try:
        assert read(path) == TEXT
    finally:
        writer.join()


def test_a_file_that_pretends_to_be_empty(monkeypatch):
    assert b"processor" in read("/proc/cpuinfo")
    # It may have no end, as a device may.
    monkeypatch.setattr(_reading, "ENDLESS", 10)
    with open("/proc/cpuinfo", "rb") as file:
        for source in ("/proc/cpuinfo", file):
            with pytest.raises(LimitError, match="cpuinfo holds more than 10 bytes"):
                read(source)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", ValueError, "text is empty"),
        (gzip.compress(b"", mtime=0), ValueError, "text is empty"),
        ("é".encode("utf-16"), ValueError, "text is UTF-16 text, expected UTF-8"),
    ],
)
def test_files_without_text(content, error, message, tmp_path):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(error, match=message):
        read(tmp_path / "text")


def test_paths_that_name_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        read(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="path of the file to read is empty"):
        read("")
    with pytest.raises(ValueError, match=r"the path 'a\\x00b' holds a NUL character"):
        read("a\0b")
    with pytest.raises(TypeError, match="expected a path, an open file or bytes"):
        read(3)


def test_a_name_that_is_not_utf_8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    with open(path, "wb") as file:
        file.write(TEXT)
    assert read(path) == TEXT
    with open(path, "wb"), pytest.raises(ValueError, match="is empty"):
        read(path)


def test_the_mark_at_the_beginning_is_no_text(tmp_path):
    marked = b"\xef\xbb\xbf" + TEXT
    (tmp_path / "text").write_bytes(marked)
    assert read(tmp_path / "text") == read(gzip.compress(marked)) == TEXT


class Trickling:
    """A stream that gives so many bytes at a time, whatever it is asked for."""

    def __init__(self, content, *sizes):
        self._file, self._sizes = io.BytesIO(content), list(sizes)

    def read(self, size):
        return self._file.read(self._sizes.pop(0) if self._sizes else 4096)


@pytest.mark.parametrize("sizes", [(1,) * 9, (2, 1), (3,), (3, 1), (4,), (5, 1)])
@pytest.mark.parametrize("packing", ["plain", *STREAMS])
def test_the_first_bytes_may_come_one_by_one(packing, sizes):
    for text in (TEXT, b"\xef\xbb\xbf" + TEXT):
        stream = Trickling(PACKERS[packing](text), *sizes)
        assert b"".join(open_pieces(stream)) == TEXT
    for text in (b"a", b"ab", b"abc", b"\xef\xbb\xbfabc"):
        stream = Trickling(PACKERS[packing](text), *sizes)
        assert b"".join(open_pieces(stream)) == text.lstrip(b"\xef\xbb\xbf")


@pytest.mark.parametrize("packing", STREAMS)
@pytest.mark.parametrize("sizes", [(1, 1, 2), (1, 2, 5), (2, 1, 3), (2, 9), (3, 3)])
def test_the_mark_may_come_in_parts_that_are_packed_alone(packing, sizes):
    for text in (b"0 qid:1 1:1", b"\xef\xbb\xbf0 qid:1 1:1"):
        ends = [0, *accumulate(sizes), len(text)]
        content = b"".join(PACKERS[packing](text[a:b]) for a, b in pairwise(ends))
        assert b"".join(open_pieces(content)) == b"0 qid:1 1:1"


def test_what_may_have_no_end_has_a_limit(monkeypatch):
    monkeypatch.setattr(_reading, "ENDLESS", len(TEXT))
    for content in (TEXT, TEXT + b"x"):
        assert b"".join(open_pieces(Trickling(content), endless=True)) == content
        assert b"".join(open_pieces(Trickling(content), 10**6)) == content
    assert b"".join(open_pieces(Trickling(TEXT))) == TEXT
    with pytest.raises(LimitError, match=rf"<text> holds more than {len(TEXT)} bytes"):
        list(open_pieces(Trickling(TEXT + b"x")))


def test_the_limit_of_a_packed_stream_grows_with_what_was_read(monkeypatch, tmp_path):
    monkeypatch.setattr(_reading, "_SMALL", 10)
    monkeypatch.setattr(_reading, "_RATIO", 3)
    noise, path = os.urandom(2**14), tmp_path / "text"
    for text in (noise, noise + bytes(2**14), noise + bytes(2**16)):
        packed = gzip.compress(text)
        path.write_bytes(packed)
        for source in (path, Trickling(packed)):
            if len(text) <= 3 * len(packed):
                assert b"".join(open_pieces(source)) == text
                continue
            with pytest.raises(LimitError, match=f"more than {3 * len(packed)} bytes"):
                list(open_pieces(source))
    # Of a file, the size is known before the rest of it is read.
    monkeypatch.setattr(_reading, "_PIECE", 1000)
    path.write_bytes(gzip.compress(bytes(2**14) + noise))
    assert b"".join(open_pieces(path)) == bytes(2**14) + noise


@pytest.mark.parametrize("read", [read, joined])
def test_a_stream_of_xz_that_wants_much_memory(read, tmp_path):
    """Half a gigabyte, by the size of the dictionary that its first block names."""
    packed = bytearray(lzma.compress(TEXT))
    end = 12 + 4 * packed[12]
    head = packed[12:end].replace(b"\x21\x01\x16", b"\x21\x01\x22")
    packed[12 : end + 4] = head + zlib.crc32(head).to_bytes(4, "little")
    assert lzma.decompress(packed) == TEXT
    path = tmp_path / "text.xz"
    path.write_bytes(packed)
    with pytest.raises(ValueError, match=r"text\.xz .*Memory usage limit exceeded"):
        read(path)


# Files that others change


class Changed:
    """A file that somebody else changes as soon as its second piece is read."""

    def __init__(self, file, change):
        self._file, self._change, self._n_pieces = file, change, 0

    def _next(self):
        self._n_pieces += 1
        if self._n_pieces == 2:
            self._change()

    def read(self, size):
        self._next()
        return self._file.read(size)

    def readinto(self, buffer):
        self._next()
        return self._file.readinto(buffer)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.fixture
def changed(monkeypatch, tmp_path):
    """Return a function that writes a text to a file, which is changed in its midst."""

    def write(change, text=TEXT):
        path = tmp_path / "text"
        path.write_bytes(text)
        monkeypatch.setattr(_reading, "_PIECE", 4096)
        monkeypatch.setattr(
            _reading,
            "open",
            lambda *args: Changed(
                io.FileIO(*args),
                lambda: change(path),
            ),
            raising=False,
        )
        return path

    return write


@pytest.mark.parametrize("read", [read, joined])
@pytest.mark.parametrize("pack", [bytes, bz2.compress])
def test_a_file_that_is_shortened_while_it_is_read(read, pack, changed):
    path = changed(lambda path: os.truncate(path, 5000), pack(os.urandom(2**15)))
    with pytest.raises(ChangedError, match=r"/text changed while it was read$"):
        read(path)


@pytest.mark.parametrize("read", [read, joined])
def test_a_shortened_file_may_have_its_old_time(read, changed):
    def shorten(path):
        status = path.stat()
        os.truncate(path, 5000)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    with pytest.raises(ChangedError, match=r"/text changed while it was read$"):
        read(changed(shorten, os.urandom(2**14)))


@pytest.mark.parametrize("read", [read, joined])
def test_a_shortened_file_may_have_its_old_size_again(read, changed, monkeypatch):
    path = changed(lambda path: os.truncate(path, 5000), os.urandom(2**14))
    stat = os.fstat

    def stat_of_refilled(descriptor):
        os.truncate(path, 2**14)
        return stat(descriptor)

    os.utime(path, ns=(0, 0))
    monkeypatch.setattr(os, "fstat", stat_of_refilled)
    with pytest.raises(ChangedError, match=r"/text changed while it was read$"):
        read(path)


@pytest.mark.parametrize("read", [read, joined])
def test_a_file_that_grows_is_read_up_to_its_size_at_the_beginning(read, changed):
    def append(path):
        with path.open("ab") as file:
            file.write(b"more\n" * 9999)

    path = changed(append)
    assert read(path) == TEXT
    assert path.stat().st_size > len(TEXT)


@pytest.mark.parametrize("read", [read, joined])
def test_a_file_system_may_claim_another_size(read, changed, monkeypatch):
    path, stat = changed(lambda path: None), os.fstat

    def claimed(descriptor):
        fields = list(stat(descriptor))
        fields[6] += 4096
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", claimed)
    assert read(path) == TEXT


def test_what_was_read_is_memory_of_its_own(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    with open_text(path) as text:
        path.write_bytes(b"x" * len(TEXT))
        assert bytes(text) == TEXT


# Where a mapping of the file is parsed, these end the process.
OF_OTHERS = """
import os, sys
from skrank.click import iter_sessions
from skrank.datasets import _letor, iter_jsonl_documents, iter_trec_documents

path, case = sys.argv[1:]
LONG = b"1 qid:1 " + b" ".join(b"%d:0.5" % i for i in range(1, 300)) + b"\\n"
SHORT = b"1 qid:1 1:1\\n"
TEXTS = {
    "rewritten": LONG * 1000,
    "sessions": b"session\\tquery\\tdocument\\tposition\\tclick\\n"
    + b"".join(b"%d\\tq\\td\\t1\\t0\\n" % i for i in range(150_000)),
    "jsonl": b"".join(b'{"_id": "%d", "text": "a"}\\n' % i for i in range(80_000)),
    "trec": b"".join(
        b"<DOC>\\n<DOCNO>%d</DOCNO>\\n<TEXT>\\na\\n</TEXT>\\n</DOC>\\n" % i
        for i in range(50_000)
    ),
}
with open(path, "wb") as file:
    file.write(TEXTS[case])

if case == "rewritten":
    parse_letor = _letor.parse_letor

    def parse(*args):
        # Between the passes of the parser, the lines become more and shorter.
        *args, check_size = args

        def check(*sizes):
            check_size(*sizes)
            with open(path, "r+b") as file:
                size = os.path.getsize(path)
                file.write((SHORT * (size // len(SHORT) + 1))[: size - 1] + b"\\n")

        return parse_letor(*args, check)

    _letor.parse_letor = parse
    print(_letor.load_letor(path).X.shape)
else:
    readers = {
        "sessions": lambda path: iter_sessions(path, 1000),
        "jsonl": iter_jsonl_documents,
        "trec": iter_trec_documents,
    }
    found = readers[case](path)
    next(found)
    os.truncate(path, 100)
    try:
        for _ in found:
            pass
    except ValueError as error:
        print(error)
"""


@pytest.mark.parametrize("case", ["rewritten", "sessions", "jsonl", "trec"])
def test_what_others_do_to_a_file_does_not_end_the_process(case, tmp_path):
    path = tmp_path / "text"
    done = subprocess.run(
        [sys.executable, "-c", OF_OTHERS, path, case],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    words = {"rewritten": "(1000, 299)"}
    expected = words.get(case, f"{path} changed while it was read")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, expected, "")


def test_a_kernel_may_lack_large_pages(tmp_path, monkeypatch):
    class Memory(_reading.mmap.mmap):
        def madvise(self, advice):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(_reading.mmap, "mmap", Memory)
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    assert read(path) == TEXT


# Streams that do not block


def non_blocking(content, **how):
    """A pipe that holds some bytes, and to which more could be written."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, content)
    return open(reader, **how), writer


@pytest.mark.parametrize(
    "how", [{"mode": "rb", "buffering": 0}, {"mode": "rb"}, {"mode": "r"}]
)
@pytest.mark.parametrize("read", [read, joined])
@pytest.mark.parametrize(
    "content",
    [b"", b"1 qid:1 1:1\n", gzip.compress(TEXT, mtime=0)[:40]],
    ids=["nothing", "text", "packed"],
)
def test_nothing_yet_is_not_the_end(how, read, content):
    if how["mode"] == "r":
        content = content[:0] if content.startswith(b"\x1f") else content
    file, writer = non_blocking(content, **how)
    with file, pytest.raises(BlockingIOError, match="nothing to read yet") as caught:
        read(NamedText("pipe", file) if how["mode"] == "r" else file)
    os.close(writer)
    assert "the stream is non-blocking" in str(caught.value)


@pytest.mark.parametrize("how", [{"mode": "rb"}, {"mode": "r"}])
def test_a_stream_that_does_not_block_may_have_an_end(how):
    file, writer = non_blocking(TEXT, **how)
    os.close(writer)
    with file:
        assert read(file) == TEXT


def test_files_that_are_open_for_text():
    assert read(io.StringIO("é\udcff")) == "é".encode() + b"\xff"


def test_bytes_as_they_are(tmp_path):
    content = gzip.compress(TEXT)
    with open_bytes(content) as raw:
        assert bytes(raw) == content
    with pytest.raises(LimitError), open_bytes(content, 10):
        pass


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_are_those_of_the_text(pack, end, tmp_path, monkeypatch):
    monkeypatch.setattr("skrank._core._reading._PIECE", 7)
    monkeypatch.setattr("skrank._core._reading._UNPACKED_PIECE", 5)
    lines = [b"one", b"", b"a line that is longer than a piece", b"two\r", b"end"]
    path = tmp_path / "lines"
    path.write_bytes(pack(b"\xef\xbb\xbf" + b"\n".join(lines) + end))
    for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
        assert list(open_lines(source)) == list(enumerate(lines, start=1))
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(path.read_bytes(),))
    writer.start()
    assert list(open_lines(fifo)) == list(enumerate(lines, start=1))
    writer.join()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_streams_without_an_end_are_read_as_far_as_they_are_needed(pack):
    class Endless:
        name, packed = "<stdin>", pack(b"a line\n" * 10**5)

        def read(self, size):
            return self.packed

    lines = lines_of(open_pieces(Endless(), endless=True), "<stdin>")
    taken = [next(lines) for _ in range(10**6)]
    assert taken[-1] == (10**6, b"a line")
    limited = lines_of(open_pieces(Endless(), 10**6, endless=True), "<stdin>")
    with pytest.raises(LimitError, match="<stdin> holds more than 1000000 bytes"):
        list(limited)


def test_a_zip_file_in_a_stream_is_read_as_a_whole():
    content = zipped(TEXT)
    assert len(list(open_lines(io.BytesIO(content)))) == 3000
    with pytest.raises(LimitError):
        list(open_lines(io.BytesIO(content), 1000))


def test_an_empty_stream_is_told():
    with pytest.raises(EmptyError, match="<text> is empty"):
        list(open_lines(io.BytesIO()))


def test_lines_have_limits(tmp_path):
    text = b"a" * 50 + b"\n" + b"b" * 10
    assert len(list(open_lines(text, 61, longest=50))) == 2
    with pytest.raises(ValueError, match="a line is longer than 49 bytes"):
        list(open_lines(text, longest=49))
    with pytest.raises(ValueError, match="a line is longer than 49 bytes"):
        list(open_lines(text[:50], longest=49))  # which has no end yet
    with pytest.raises(ValueError, match="holds more than 60 bytes"):
        list(open_lines(gzip.compress(text), 60))
    with pytest.raises(ValueError, match="<text> is empty"):
        list(open_lines(b""))
    with pytest.raises(ValueError, match="<text> is damaged"):
        list(open_lines(gzip.compress(text)[:-3]))
    # Nothing but the first piece is read for the first line.
    lines = open_lines(gzip.compress(b"first\n" + b"x" * 2**23)[:-9])
    assert next(lines) == (1, b"first")
    with pytest.raises(ValueError, match="is damaged"):
        list(lines)


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
@pytest.mark.parametrize("more", [b"", b"a\0"])
def test_a_mark_of_utf_16_is_told(mark, more):
    with pytest.raises(ValueError, match="is UTF-16 text, expected UTF-8"):
        list(open_lines(mark + more))
