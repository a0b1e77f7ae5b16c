"""What all commands share: help, version, interrupts, pipes, warnings."""

import subprocess
import sys
import warnings

import pytest

import skrank
from skrank.cli import main

COMMANDS = (
    "fit", "predict", "rank", "evaluate", "compare", "experiment", "fuse", "explain",
    "export", "index", "search", "features", "demo",
)  # fmt: skip


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(run, option):
    assert run(option) == (0, f"skrank {skrank.__version__}\n", "")


def test_help_names_all_commands_with_examples(ok):
    text = ok("--help")
    for command in COMMANDS:
        assert f"    {command} " in text
    assert "examples:" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(ok, command):
    assert f"  skrank {command}" in ok(command, "--help").partition("example")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["train"], "argument COMMAND: invalid choice: 'train'"),
        (["predict"], "the following arguments are required: model, data"),
        (["demo", "--sed", "x"], "unrecognized arguments: --sed x"),
        (["demo", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
    ],
)
def test_usage_errors_are_one_line(fails, arguments, message):
    assert message in fails(*arguments)


def test_python_m_skrank():
    result = subprocess.run(
        [sys.executable, "-m", "skrank", "predict", "absent", "absent"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "skrank: error: absent: No such file or directory\n"


def stop(error):
    def run(args):
        raise error

    return run


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), (130, "", "skrank: interrupted\n")),
        (BrokenPipeError(), (141, "", "")),
        (MemoryError("for 9 GiB"), (2, "", "not enough memory. for 9 GiB")),
        (RecursionError("maximum"), (2, "", "the input is nested too deeply")),
        (OSError(28, "No space left on device"), (2, "", "[Errno 28] No space left")),
        (OSError(28, "No space left", "f"), (2, "", "error: f: No space left\n")),
        (ValueError("two\n lines"), (2, "", "skrank: error: two lines\n")),
        (ValueError(), (2, "", "skrank: error: ValueError\n")),
        (ValueError("x" * 10**6), (2, "", "x…x")),
        (KeyError("k"), (1, "", "internal error: KeyError: 'k' (see --debug)")),
        (UserWarning("mine"), (2, "", "error: UserWarning: mine")),
    ],
)
def test_errors_of_every_command(run, monkeypatch, tmp_path, command, error, expected):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).touch()
    monkeypatch.setattr(f"skrank.cli._{command}.run", stop(error))
    two = dict.fromkeys(("predict", "rank", "search", "features"), "ab")
    arguments = {**two, "compare": "a"}.get(command, "")
    if command == "index":
        arguments = ["a", "-o", "b"]
    if command == "experiment":
        arguments = ["-o", "a"]
    if command == "export":
        arguments = ["a", "--format", "json"]
    if command == "explain":
        arguments = ["a", "b", "--query", "q"]
    code, out, err = run(command, *arguments)
    assert (code, out) == expected[:2]
    assert expected[2] in err
    assert err.count("\n") == (err != "")
    assert len(err) < 2100


def test_a_reader_that_stops_early(letor, tmp_path):
    """As in ``skrank predict … | head -1`` on output longer than a pipe holds."""
    from skrank.datasets import load_letor
    from skrank.export import save_model
    from skrank.rankers import RankSVM

    save_model(RankSVM().fit(*load_letor(letor / "train.txt")), tmp_path / "model")
    text = (letor / "test.txt").read_text() * 100
    (tmp_path / "long.txt").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "skrank", "predict", "model", "long.txt"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (141, b"")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_one_line_of_a_terminal(run, letor, monkeypatch, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    code, out, err = run("fit", letor / "train.txt", "--ranker", "RankSVM")
    assert code == 0
    assert "\r" not in out
    assert err.startswith("\r") == terminal
    assert "\n" not in err
    if terminal:  # cleared at the end
        assert err.endswith("\r\x1b[K")


def test_debug_shows_the_traceback():
    with pytest.raises(OSError, match="absent"):
        main(["predict", "absent", "absent", "--debug"])


def test_warnings_are_lines(run, letor):
    code, _, err = run(
        "fit", letor / "train.txt", "--ranker", "RankNet", "--set", "max_iter=1"
    )
    assert code == 0
    assert err.startswith("skrank: warning: LBFGS stopped after 1 iterations")
    assert err.count("\n") == 1


def test_warnings_for_programmers_are_not_shown(run, monkeypatch):
    def warn(args):
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.warn(category.__name__, category, stacklevel=1)

    monkeypatch.setattr("sys.warnoptions", [])
    monkeypatch.setattr("skrank.cli._demo.run", warn)
    assert run("demo") == (0, "", "skrank: warning: FutureWarning\n")
