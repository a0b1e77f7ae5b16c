"""Standard streams, pipes and files of other kinds, in every place of a path."""

import bz2
import errno
import gzip
import importlib
import io
import json
import lzma
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

from skrank.__main__ import run as run_process
from skrank.cli import main
from skrank.datasets import load_letor
from skrank.export import load_model, save_model
from skrank.rankers import RankSVM

PLACES = [
    ("predict", "-", "LETOR"),
    ("predict", "MODEL", "-"),
    ("rank", "MODEL", "-"),
    ("fit", "-", "--ranker", "RankSVM", "--test", "LETOR"),
    ("fit", "LETOR", "--ranker", "RankSVM", "--validation", "-"),
    ("fit", "LETOR", "--ranker", "RankSVM", "--test", "-"),
    ("fit", "-", "--ranker", "RankSVM", "--folds", "2"),
    ("evaluate", "QRELS", "-"),
    ("evaluate", "-", "RUN"),
    ("evaluate", "-", "RUN", "-R", "qrels_prefs", "-m", "all"),
    ("evaluate", "QRELS", "RUN", "-Z", "-"),
    ("evaluate", "--letor", "-", "--scores", "SCORES"),
    ("evaluate", "--letor", "LETOR", "--scores", "-"),
    ("compare", "a=-", "b=RUN", "--qrels", "QRELS"),
    ("compare", "a=RUN", "b=RUN", "--qrels", "-"),
    ("compare", "a=SCORES", "b=-", "--letor", "LETOR"),
    ("compare", "a=SCORES", "b=SCORES", "--letor", "-"),
    ("export", "-", "--format", "json"),
    ("export", "MODEL", "--format", "json", "--features", "-"),
    ("export", "MODEL", "--format", "json", "-o", "/dev/null", "--check", "-"),
]
# The file whose content stands where "-" is, by its place among the arguments.
CONTENTS = {
    ("predict", 1): "MODEL", ("evaluate", 1): "QRELS", ("evaluate", 2): "RUN",
    ("evaluate", 4): "ZSCORES", ("compare", 1): "RUN", ("compare", 4): "QRELS",
    ("export", 1): "MODEL", ("export", 5): "NAMES",
}  # fmt: skip


def content_of(arguments):
    if "--scores" in arguments and arguments[-1] == "-":
        return "SCORES"
    if arguments[:2] == ("evaluate", "--letor"):
        return "LETOR"
    if arguments[0] == "compare" and "--letor" in arguments:
        return "LETOR" if arguments[-1] == "-" else "SCORES"
    place = next(i for i, a in enumerate(arguments) if a.rpartition("=")[2] == "-")
    return CONTENTS.get((arguments[0], place), "LETOR")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files of every kind."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    lines = {
        "LETOR": [
            f"{i % 3} qid:{i // 5} 1:{rng.random():.3f} 2:{rng.random():.3f} "
            f"#docid = d{i}"
            for i in range(40)
        ],
        "SCORES": [str(i % 7) for i in range(40)],
        "RUN": [f"{i // 5} Q0 d{i} 1 {i % 7} run" for i in range(40)],
        "QRELS": [f"{i // 5} 0 d{i} {i % 3}" for i in range(40)],
        "ZSCORES": [f"{i} map .5 .1" for i in range(8)],
        "NAMES": ["a", "b"],
    }
    paths = {"MODEL": folder / "model"}
    for name, text in lines.items():
        paths[name] = folder / name.lower()
        paths[name].write_text("\n".join(text) + "\n")
    save_model(RankSVM().fit(*load_letor(paths["LETOR"])), paths["MODEL"])
    return paths


def with_paths(arguments, files, name, path):
    """Arguments with paths, and ``path`` in place of "-"."""
    places = {**files, "-": path}
    split = [argument.rpartition("=") for argument in arguments]
    return [f"{n}{e}{places.get(value, value)}" for n, e, value in split]


def without_times(text):
    return [line for line in text.splitlines() if "trained in" not in line]


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_every_input_may_be_the_standard_input_or_a_pipe(
    run, files, monkeypatch, tmp_path, arguments
):
    name = content_of(arguments)
    content = files[name].read_bytes()
    expected = run(*with_paths(arguments, files, name, files[name]))
    assert expected[0] == 0
    stdin = types.SimpleNamespace(buffer=io.BytesIO(content), name="<stdin>")
    monkeypatch.setattr(sys, "stdin", stdin)
    found = run(*with_paths(arguments, files, name, "-"))
    assert found[0] == 0
    assert without_times(found[1]) == without_times(expected[1])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[gzip.compress(content)])
    if name == "MODEL":
        writer = threading.Thread(target=pipe.write_bytes, args=[content])
    writer.start()
    found = run(*with_paths(arguments, files, name, pipe))
    writer.join()
    assert found[0] == 0
    assert without_times(found[1]) == without_times(expected[1])


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_every_input_may_be_unfit(fails, files, tmp_path, arguments):
    name = content_of(arguments)
    content = gzip.compress(files[name].read_bytes())
    (tmp_path / "empty").touch()
    (tmp_path / "damaged").write_bytes(content[:-9])
    (tmp_path / "folder").mkdir()
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for path, message in [
        (tmp_path / "empty", "empty"),
        (tmp_path / "damaged", "damaged"),
        (tmp_path / "folder", "folder: Is a directory"),
        (tmp_path / "absent", "absent: No such file"),
        (strange, ": No such file"),
    ]:
        assert message in fails(*with_paths(arguments, files, name, path))


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_every_input_is_limited(fails, files, tmp_path, arguments):
    name = content_of(arguments)
    path, limit = files[name], "2000"
    if name != "MODEL":
        # A limit that no other file exceeds, such as the model.
        path, limit = tmp_path / "bomb", "100000"
        path.write_bytes(gzip.compress(files[name].read_bytes() + b"\n" * 10**6))
    message = fails(*with_paths(arguments, files, name, path), "--max-bytes", limit)
    assert f"{path} holds more than {limit} bytes" in message
    assert "--max-bytes" in message


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
@pytest.mark.parametrize("path", ["/dev/zero", "-"])
def test_every_input_may_have_no_end(fails, files, monkeypatch, arguments, path):
    """What is read of a device or of a pipe is limited without being asked for."""
    monkeypatch.setattr("skrank._core._reading.ENDLESS", 2**21)
    with open("/dev/zero", "rb") as zeros:
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=zeros))
        message = fails(*with_paths(arguments, files, "", path))
    assert message.startswith(f"{path if path != '-' else '/dev/zero'} holds more than")
    assert "holds more than 2097152 bytes" in message
    assert "--max-bytes" in message


def test_a_plain_file_has_an_end(monkeypatch, files, tmp_path):
    """However it comes: by its path, open, in memory, or as the standard input."""
    monkeypatch.setattr("skrank._core._reading.ENDLESS", 5)
    content = files["LETOR"].read_bytes()
    n_documents = len(load_letor(files["LETOR"]).y)
    assert len(load_letor(io.BytesIO(content)).y) == n_documents
    assert len(load_letor(io.StringIO(content.decode())).y) == n_documents
    with open(files["LETOR"], "rb") as file:
        assert len(load_letor(file).y) == n_documents
    with gzip.open(io.BytesIO(gzip.compress(content))) as file:
        with pytest.raises(ValueError, match="holds more than 5 bytes"):
            load_letor(file)
        file.seek(0)
        assert len(load_letor(file, max_bytes=10**6).y) == n_documents
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[b"1 qid:1 1:1\n"])
    writer.start()
    with pytest.raises(ValueError, match="pipe holds more than 5 bytes"):
        load_letor(pipe)
    writer.join()


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_names_with_line_ends_take_one_line(fails, files, tmp_path, arguments):
    path = tmp_path / "a\nb\x1b[1m"
    assert fails(*with_paths(arguments, files, "", path)).endswith(
        r"a\nb\x1b[1m: No such file or directory"
    )
    path.write_bytes(b"\xff\n")
    assert r"a\nb\x1b[1m" in fails(*with_paths(arguments, files, "", path))


@pytest.mark.parametrize("arguments", PLACES[:3], ids=" ".join)
def test_errors_of_reading_name_the_file(fails, files, arguments):
    message = fails(*with_paths(arguments, files, "", "/proc/self/mem"))
    assert message == "/proc/self/mem: Input/output error"


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_a_standard_input_that_has_nothing_yet(fails, files, monkeypatch, arguments):
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, files[content_of(arguments)].read_bytes())
    with open(reader, "rb") as file:
        buffer = types.SimpleNamespace(read=file.read, name="<stdin>")
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=buffer))
        message = fails(*with_paths(arguments, files, "", "-"))
    os.close(writer)
    assert message == (
        "<stdin>: the stream is non-blocking, and had nothing to read yet"
    )


def test_files_that_do_not_fit_into_memory_are_named(files, monkeypatch):
    def mmap(*args, **options):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr("skrank._core._reading.mmap.mmap", mmap)
    with pytest.raises(OSError, match="Cannot allocate") as caught:
        load_letor(files["LETOR"])
    assert caught.value.filename == str(files["LETOR"])


def test_hints_name_options(fails, ok, files, tmp_path):
    """Those of Python's arguments mean nothing to users of commands."""
    wide = tmp_path / "wide"
    wide.write_text("1 qid:1 1:1\n0 qid:1 2:1\n0 qid:1 16000000:1\n")
    fit = ["fit", "--ranker", "RankSVM"]
    assert fails(*fit, wide) == (
        f"{wide}: the matrix of 3 rows and 16000000 features would be nearly all "
        "zeros; --sparse stores the others only"
    )
    ok(*fit, wide, "--sparse")
    assert "index of at most 2, found '16000000:1'" in fails(
        "predict", files["MODEL"], wide
    )
    for feature in ["17000000:1", "1:1e300", "1:inf"]:
        wide.write_text(f"1 qid:1 1:1\n0 qid:1 {feature}\n")
        message = fails(*fit, wide)
        assert f"{wide}, line " in message
        assert not re.search("n_features|clip|dtype|sparse", message)


def test_only_one_input_is_the_standard_input(fails, files):
    message = "only one file can be the standard input"
    assert message in fails("predict", "-", "-")
    assert message in fails("compare", "a=-", "-", "--qrels", files["QRELS"])


def test_the_standard_input_may_be_closed(fails, files, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert fails("predict", files["MODEL"], "-") == "the standard input is closed"


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "MODEL", "LETOR", "-o", "MODEL"),
        ("predict", "MODEL", "LETOR", "-o", "LETOR"),
        ("fit", "LETOR", "--ranker", "RankSVM", "--save", "LETOR"),
        ("export", "MODEL", "--format", "json", "-o", "MODEL"),
        ("fuse", "RUN", "RUN", "-o", "RUN"),
        ("evaluate", "QRELS", "RUN", "--json", "QRELS"),
        ("explain", "MODEL", "LETOR", "--query", "1", "--json", "MODEL"),
    ],
)
def test_no_file_is_read_and_written(fails, files, command, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(files[command[-1]])
    before = files[command[-1]].read_bytes()
    for path in (files[command[-1]], link):
        words = [files.get(word, word) for word in command[:-1]]
        message = fails(*words, path)
        assert message == f"{path} is read; a command cannot write to it as well"
        assert files[command[-1]].read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "fit LETOR --ranker LambdaMART --validation new=COPY --save COPY",
        "fit LETOR --ranker LambdaMART --validation new=COPY --json COPY",
        "compare a=COPY b=RUN --qrels QRELS --json COPY",
        "fit LETOR --ranker LambdaMART --set measure=mine:gain --save mine.py",
        "fit LETOR --ranker RankSVM --metrics mine:gain@3,map --json mine.py",
        "fit LETOR --ranker pack.inner:Own --save pack/__init__.py",
        "fit --letor-folds folds --ranker RankSVM --json folds/Fold1/train.txt",
        "experiment x=COPY --ranker RankSVM --folds 3 -o out --json COPY",
        "experiment folds --ranker RankSVM -o out --json folds/Fold1/test.txt",
        "experiment folds --ranker RankSVM -o out --json folds/Fold1/vali.TXT",
        "experiment --config own.toml -o out --json COPY",
        "experiment --config own.toml -o out --json mine.py",
        "experiment folds --ranker RankSVM -o .",
        "experiment here=folds/Fold1 --ranker RankSVM -o folds --json out.json",
    ],
)
def test_no_file_is_written_that_is_read_in_other_ways(
    run, fails, files, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    copy = tmp_path / "COPY"
    copy.write_bytes(
        files["RUN" if command.startswith("compare") else "LETOR"].read_bytes()
    )
    (tmp_path / "mine.py").write_text("gain = print\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "folds" / "Fold1").mkdir(parents=True)
    for part in ("train.txt", "vali.TXT", "test.txt"):
        path = tmp_path / "folds" / "Fold1" / part
        path.write_bytes(files["LETOR"].read_bytes())
    (tmp_path / "own.toml").write_text(
        'data = {d = "COPY"}\nrankers = ["RankSVM"]\nmeasures = ["mine:gain"]\n'
    )
    if "here=" in command:  # the folder of the results leads to that of the data
        (tmp_path / "folds" / "here").symlink_to("Fold1")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    words = command.split()
    message = fails(
        *(str(files.get(w, w.replace("=RUN", f"={files['RUN']}"))) for w in words)
    )
    path = {".": "./folds", "out.json": "folds/here"}.get(words[-1], words[-1])
    assert message == f"{path} is read; a command cannot write to it as well"
    after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert after == before


@pytest.mark.parametrize("command", ["predict", "rank"])
def test_files_behind_the_standard_streams_are_not_read_and_written(
    fails, files, command, tmp_path, monkeypatch
):
    path = tmp_path / "data"
    path.write_bytes(files["LETOR"].read_bytes())
    before = path.read_bytes()
    told = "is read; a command cannot write to it as well"
    with path.open() as stdin, path.open("a") as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert fails(command, files["MODEL"], "-", "-o", path) == f"{path} {told}"
        monkeypatch.setattr(sys, "stdout", stdout)
        assert fails(command, files["MODEL"], path) == f"<stdout> {told}"
        assert fails(command, files["MODEL"], "-") == f"<stdout> {told}"
    assert path.read_bytes() == before


PRINTING = [
    ("--version",),
    ("--help",),
    ("fit", "--help"),
    ("fit", "--list"),
    ("fit", "--list", "--ranker", "MART"),
    ("fit", "LETOR", "--ranker=RankSVM"),
    ("fit", "LETOR", "--ranker=RankSVM", "--save", "-"),
    ("predict", "MODEL", "LETOR"),
    ("rank", "MODEL", "LETOR"),
    ("explain", "MODEL", "LETOR", "--query", "1"),
    ("explain", "MODEL", "LETOR", "--query", "1", "--json", "-"),
    ("evaluate", "QRELS", "RUN"),
    ("evaluate", "QRELS", "RUN", "--json", "-"),
    ("evaluate", "--letor", "LETOR", "--scores", "SCORES"),
    ("compare", "a=RUN", "b=RUN", "--qrels", "QRELS"),
    ("fuse", "RUN", "RUN"),
    ("fuse", "--list"),
    ("export", "MODEL", "--format", "json"),
    ("export", "MODEL", "--format", "json", "-o", "/dev/null", "--check", "LETOR"),
]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_the_standard_output_may_be_closed(files, monkeypatch, capsys, arguments):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(with_paths(arguments, files, "", "-")) == 2
    error = capsys.readouterr().err
    assert error == "skrank: error: the standard output is closed\n"


@pytest.mark.parametrize("command", ["fit", "demo", "experiment"])
def test_a_closed_output_is_seen_before_the_work_begins(
    files, monkeypatch, capsys, command
):
    arguments = {
        "fit": ("fit", "LETOR", "--ranker", "RankSVM"),
        "demo": ("demo",),
        "experiment": ("experiment", "LETOR", "--ranker", "RankSVM", "-o", "r"),
    }[command]
    module = importlib.import_module(f"skrank.cli._{command}")
    work = {"fit": "_sets", "demo": "load_see_also", "experiment": "_folds"}[command]
    monkeypatch.setattr(module, work, None)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(with_paths(arguments, files, "", "-")) == 2
    error = capsys.readouterr().err
    assert error == "skrank: error: the standard output is closed\n"


def test_the_error_output_may_be_closed(files, monkeypatch, capsys):
    """Messages do not get into the results."""
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["predict", str(files["MODEL"]), str(files["LETOR"])]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["predict", str(files["MODEL"]), "absent"]) == 2
    assert capsys.readouterr().out == ""


# Output


def test_two_results_go_to_two_places(fails, files, tmp_path):
    base = ["fit", files["LETOR"], "--ranker", "RankSVM"]
    (tmp_path / "link").symlink_to("x")
    for save, json_ in [("x", "x"), ("x", "./x"), ("link", "x"), ("-", "-")]:
        places = [p if p == "-" else tmp_path / p for p in (save, json_)]
        options = ["--save", places[0], "--json", places[1]]
        assert "two results cannot both be written to" in fails(*base, *options)


@pytest.mark.parametrize("other", [os.devnull, "a link"])
def test_several_results_may_be_thrown_away(ok, files, tmp_path, other):
    (tmp_path / "a link").symlink_to(os.devnull)
    json_ = os.path.join(tmp_path, other)
    base = ["fit", files["LETOR"], "--ranker", "RankSVM"]
    assert "model written to" in ok(*base, "--save", os.devnull, "--json", json_)


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_paths_of_the_standard_output_mean_it(ok, fails, bytes_of, files, path):
    base = ["fit", files["LETOR"], "--ranker", "RankSVM"]
    for save, json_ in [("-", path), (path, "-"), (path, "/dev/stdout")]:
        message = fails(*base, "--save", save, "--json", json_)
        assert message == f"two results cannot both be written to {json_}"
    command = ["evaluate", files["QRELS"], files["RUN"], "--json"]
    assert ok(*command, path) == ok(*command, "-")
    coef = load_model(files["MODEL"]).coef_
    found = bytes_of(*base, "--save", path)
    assert load_model(found).coef_.tolist() == coef.tolist()


@pytest.fixture
def bytes_of(monkeypatch):
    """Run a command that must succeed; return the bytes of its output."""

    def run_command(*arguments, encoding="utf-8"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        assert main([str(argument) for argument in arguments]) == 0
        stream.flush()
        return stream.buffer.getvalue()

    return run_command


def test_fit_prints_the_model(bytes_of, files, capsys):
    found = bytes_of("fit", files["LETOR"], "--ranker", "RankSVM", "--save", "-")
    assert "queries" in capsys.readouterr().err
    coef = load_model(files["MODEL"]).coef_
    assert load_model(found).coef_.tolist() == coef.tolist()


@pytest.mark.parametrize("way", ["device", "pipe", "link", "mode"])
def test_outputs_keep_what_they_are(ok, files, tmp_path, way):
    path, found = tmp_path / "out", []
    expected = ok("predict", files["MODEL"], files["LETOR"])
    command = ["predict", files["MODEL"], files["LETOR"], "-o", path]
    if way == "device":
        path.symlink_to("/dev/null")
        ok(*command)
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
        return
    if way == "pipe":
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: found.append(path.read_text()))
        reader.start()
        ok(*command)
        reader.join()
        assert found == [expected]
        return
    (tmp_path / "target").touch(0o600)
    if way == "link":
        path.symlink_to("target")
    else:
        path = (tmp_path / "target").rename(path)
    ok(*command)
    assert path.read_text() == expected
    assert path.is_symlink() == (way == "link")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


OUTPUTS = [
    ("fit", "LETOR", "--ranker", "RankSVM", "--save"),
    ("fit", "LETOR", "--ranker", "RankSVM", "--json"),
    ("predict", "MODEL", "LETOR", "-o"),
    ("rank", "MODEL", "LETOR", "-o"),
    ("explain", "MODEL", "LETOR", "--query", "1", "-o"),
    ("explain", "MODEL", "LETOR", "--query", "1", "--json"),
    ("evaluate", "QRELS", "RUN", "--json"),
    ("evaluate", "--letor", "LETOR", "--scores", "SCORES", "--json"),
    ("compare", "a=RUN", "b=RUN", "--qrels", "QRELS", "--json"),
    ("export", "MODEL", "--format", "json", "-o"),
    ("demo", "--json"),
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=" ".join)
def test_outputs_are_checked_before_the_work(
    fails, files, tmp_path, monkeypatch, arguments
):
    def no_work(args):
        raise AssertionError("the work has begun")

    monkeypatch.setattr(f"skrank.cli._{arguments[0]}.run", no_work)
    for path, message in [
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "x", "there is no folder"),
        (tmp_path / ("x" * 300), "File name too long"),
    ]:
        assert message in fails(*with_paths(arguments, files, "", ""), path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_inputs_are_checked_before_the_work(
    fails, files, tmp_path, monkeypatch, arguments
):
    def no_work(args):
        raise AssertionError("the work has begun")

    monkeypatch.setattr(f"skrank.cli._{arguments[0]}.run", no_work)
    absent = tmp_path / "absent"
    message = fails(*with_paths(arguments, files, "", absent))
    assert message == f"{absent}: No such file or directory"


@pytest.mark.parametrize("more", [["--save", "x"], ["--metrics", "mine:x"]])
def test_a_working_directory_that_is_gone_is_told(
    fails, files, tmp_path, monkeypatch, more
):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    message = fails("fit", files["LETOR"], "--ranker", "RankSVM", *more)
    assert message == "the working directory does not exist any more"


def test_an_input_that_may_not_be_read_is_told_before_the_work(
    fails, files, monkeypatch
):
    monkeypatch.setattr("skrank.cli._inputs.os.access", lambda *asked: False)
    message = fails("predict", files["MODEL"], files["LETOR"])
    assert message == f"{files['MODEL']}: Permission denied"


TEXTS = [
    ("predict", "MODEL", "LETOR", "-o"),
    ("rank", "MODEL", "LETOR", "-o"),
    ("explain", "MODEL", "LETOR", "--query", "1", "-o"),
    ("evaluate", "QRELS", "RUN", "--json"),
    ("compare", "a=RUN", "b=RUN", "--qrels", "QRELS", "--json"),
    ("export", "MODEL", "--format", "json", "-o"),
    ("fuse", "RUN", "RUN", "-o"),
]


@pytest.mark.parametrize(
    ("suffix", "unpack"),
    [(".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)],
)
@pytest.mark.parametrize("arguments", TEXTS, ids=" ".join)
def test_outputs_of_text_are_packed_by_their_names(
    run, files, tmp_path, arguments, suffix, unpack
):
    plain, packed = tmp_path / "out", tmp_path / f"out{suffix}"
    for path in (plain, packed):
        assert run(*with_paths(arguments, files, "", ""), path)[0] == 0
    assert unpack(packed.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("arguments", OUTPUTS[:-1], ids=" ".join)
def test_a_full_device_is_one_line(run, files, arguments):
    code, out, err = run(*with_paths(arguments, files, "", ""), "/dev/full")
    assert (code, out) == (2, "")
    assert err == "skrank: error: /dev/full: No space left on device\n"


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_full_standard_output_is_one_line(files, monkeypatch, capsys, arguments):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(with_paths(arguments, files, "", "-")) == 2
        # Closing the file does not fail: nothing is written once more.
    error = capsys.readouterr().err
    assert error == "skrank: error: <stdout>: No space left on device\n"


def test_names_and_ids_that_are_not_utf_8(bytes_of, files, tmp_path):
    """They are printed and written byte by byte, as they came."""
    data = tmp_path / "data"
    data.write_bytes(b"1 qid:1 1:0.5 #docid = d\xff\n0 qid:1 1:0.25 #docid = e\n")
    out = os.fsdecode(os.fsencode(tmp_path) + b"/out\xfe")
    printed = bytes_of("rank", files["MODEL"], data)
    assert b" d\xff " in printed
    assert bytes_of("rank", files["MODEL"], data, "-o", out) == b""
    with open(out, "rb") as file:
        assert file.read() == printed
    printed = bytes_of("fit", data, "--ranker", "RankSVM", "--save", out)
    assert b"/out\xfe\n" in printed


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_the_encoding_of_the_output_may_lack_characters(
    bytes_of, monkeypatch, capsys, tmp_path, encoding
):
    """Help needs none of them; ids that cannot be printed as they are, are an error."""
    commands = ["fit", "predict", "rank", "evaluate", "compare", "fuse", "explain"]
    others = ["export", "index", "search", "features", "demo"]
    for command in [*([name] for name in [*commands, *others]), []]:
        assert b"--help" in bytes_of(*command, "--help", encoding=encoding)
    (tmp_path / "letor").write_text("1 qid:日本 1:1\n0 qid:日本 1:0\n")
    (tmp_path / "scores").write_text("1\n0\n")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    letor, scores = map(str, [tmp_path / "letor", tmp_path / "scores"])
    assert main(["evaluate", "--letor", letor, "--scores", scores, "-q"]) == 2
    error = capsys.readouterr().err
    assert error == (
        f"skrank: error: <stdout>: the encoding {encoding} lacks '日本'; with the "
        "environment variable PYTHONIOENCODING=utf-8 it can be printed\n"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ends_of_lines_and_marks(ok, files, tmp_path, end, mark):
    expected = json.loads(ok("evaluate", files["QRELS"], files["RUN"], "--json", "-"))
    for name in ("RUN", "QRELS"):
        text = files[name].read_text().replace("\n", end).removesuffix(end)
        (tmp_path / name).write_bytes(mark + text.encode())
    found = ok("evaluate", tmp_path / "QRELS", tmp_path / "RUN", "--json", "-")
    assert json.loads(found) == expected


# Interrupts


def test_an_interrupt_of_reading_is_one_line(tmp_path):
    # Shells have background processes, and so their children, ignore interrupts.
    code = (
        "import signal, sys; from skrank.cli import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "fit", "-", "--ranker", "RankSVM", "--save"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*command, tmp_path / "model"], **pipes) as process:
        # More than a pipe holds, so that the command has begun to read.
        process.stdin.write(b"1 qid:1 1:1\n" * 2**17)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"skrank: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_parsing_is_one_line(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("skrank.cli.build_parser", interrupted)
    assert main([]) == 130
    assert capsys.readouterr().err == "skrank: interrupted\n"


AMONG_IMPORTS = """
import importlib, os, signal, sys, types
from skrank.cli import main

def import_module(name):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        AFTERWARDS
    return types.SimpleNamespace(run=print)

signal.signal(signal.SIGINT, signal.default_int_handler)
importlib.import_module = import_module
sys.exit(main(["demo"]))
"""


@pytest.mark.parametrize(
    "afterwards",
    [
        # As some modules do.
        "raise ImportError('initialization failed') from None",
        # As callbacks of Python's locks do.
        "pass",
    ],
    ids=["another error", "swallowed"],
)
def test_an_interrupt_among_imports_is_one_line(afterwards):
    script = AMONG_IMPORTS.replace("AFTERWARDS", afterwards)
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, check=False, timeout=60)
    expected = (130, b"", b"skrank: interrupted\n")
    assert (result.returncode, result.stdout, result.stderr) == expected


def test_an_interrupt_that_comes_out_as_another_error(monkeypatch, run):
    def interrupted(args):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr("skrank.cli._demo.run", interrupted)
        assert run("demo") == (130, "", "skrank: interrupted\n")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_may_run_in_any_thread(capsys):
    """Only the main thread may set what an interrupt does."""
    codes = []

    def command():
        codes.append(main(["--version"]))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread = threading.Thread(target=command)
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert codes == [0]


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_interrupts_end_the_process_until_a_command_is_known(handler, monkeypatch):
    among_imports, within = [], []

    def command():
        within.append(signal.getsignal(signal.SIGINT))
        return 7

    class Commands(types.ModuleType):
        """A module that notes what an interrupt does while it is imported from."""

        def __getattr__(self, name):
            if name != "main":
                raise AttributeError(name)
            among_imports.append(signal.getsignal(signal.SIGINT))
            return command

    monkeypatch.setitem(sys.modules, "skrank.cli", Commands("skrank.cli"))
    before = signal.signal(signal.SIGINT, handler)
    try:
        assert run_process() == 7
    finally:
        signal.signal(signal.SIGINT, before)
    ends = handler is signal.default_int_handler
    assert set(among_imports) == {signal.SIG_DFL if ends else handler}
    assert within == [handler]


@pytest.mark.parametrize("arguments", OUTPUTS[:-1], ids=" ".join)
def test_an_interrupt_of_writing_leaves_no_file(
    run, files, tmp_path, monkeypatch, arguments
):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr("skrank._core._writing.os.fsync", interrupted)
    code, out, err = run(*with_paths(arguments, files, "", ""), tmp_path / "out")
    assert (code, out, err) == (130, "", "skrank: interrupted\n")
    assert list(tmp_path.iterdir()) == []
