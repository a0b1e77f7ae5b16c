"""A short run of the fuzz targets, and the tool that runs them for longer."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz._mutate import mutate
from fuzz._targets import TARGETS, Target, problem_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["letor", "fields", "logs"])
def test_mutated_text_is_read_or_refused(name):
    target = TARGETS[name]
    for number in range(150):
        data = target.case(0, number)
        assert not problem_of(target, data), data


def test_index_files_to_start_from_work():
    target = TARGETS["index"]
    for number in range(len(target.seeds)):
        target.run(target.case(0, number))
        for kind in (1, 2):  # mapped, and overwritten by itself
            target.run(bytes([number, kind]) + target.seeds[number])


def test_changes_of_index_files_get_past_the_checksums():
    target, messages = TARGETS["index"], []
    for number in range(60):
        try:
            target.run(target.case(0, number))
        except ValueError as error:
            messages.append(str(error))
    assert sum("checksum" in message for message in messages) < len(messages) / 2
    assert len(messages) < 60


@pytest.mark.parametrize("name", ["model", "index"])
def test_mutated_files_work_or_are_refused(tmp_path, name):
    # In a process of its own, which may crash.
    command = [sys.executable, "-m", "tests.fuzz", name, "--seconds", "600"]
    command += ["--cases", "150", "--failures", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout, done.stderr[-2000:])
    assert done.stdout == f"{name}: 150 cases, 0 failed\n"


def test_cases_follow_from_their_seed():
    target = TARGETS["letor"]
    first = [target.case(1, number) for number in range(50)]
    assert first == [target.case(1, number) for number in range(50)]
    assert first != [target.case(2, number) for number in range(50)]
    assert first[: len(target.seeds)] == target.seeds


@pytest.mark.parametrize("data", [b"", b"a", b"1 qid:1 1:1\n"])
def test_any_input_can_be_mutated(data):
    rng = np.random.default_rng(0)
    found = {mutate(data, words, rng) for words in ((), (b"x",)) for _ in range(100)}
    assert len(found) > 10
    assert max(map(len, found)) <= 1 << 16


def test_other_errors_than_value_errors_are_problems():
    class Wrong(Target):
        name = "wrong"

        def run(self, data):
            raise {
                b"a": ValueError("one whole sentence"),
                b"b": ValueError("short"),
            }.get(data, KeyError("c"))

    assert problem_of(Wrong(), b"a") == ""
    assert problem_of(Wrong(), b"b") == "no sentence: ValueError('short')"
    assert problem_of(Wrong(), b"c") == "KeyError: 'c'"
