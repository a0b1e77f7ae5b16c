"""Files that are missing are told of before long work."""

import os

import pytest


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (["predict", "", "LETOR"], "path"),
        (["fit", "", "--ranker", "RankSVM"], "source"),
        (["evaluate", "", ""], "source"),
        (["compare", "a=", "--letor", "LETOR"], "source"),
    ],
)
def test_an_empty_path_is_explained(fails, letor, arguments, argument):
    train = str(letor / "train.txt")
    arguments = [train if a == "LETOR" else a for a in arguments]
    message = fails(*arguments)
    assert f"{argument}: the path of the file to read is empty" in message


@pytest.mark.parametrize("place", ["second", "named", "with a sign"])
def test_absent_files_are_named(fails, letor, monkeypatch, tmp_path, place):
    monkeypatch.chdir(tmp_path)
    train = letor / "train.txt"
    arguments = {
        "second": ["fit", train, "--ranker", "RankSVM", "--test", "absent"],
        "named": ["compare", "a=absent", "--letor", train],
        "with a sign": ["fit", "date=2020/absent", "--ranker", "RankSVM"],
    }[place]
    path = arguments[1] if place == "with a sign" else "absent"
    assert fails(*arguments).startswith(f"{path}: No such file or directory")


def test_files_that_may_not_be_read_are_named(fails, letor, monkeypatch):
    train = str(letor / "train.txt")
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode, **more: path != train and may(path, mode)
    )
    message = fails("fit", train, "--ranker", "RankSVM")
    assert message.startswith(f"{train}: Permission denied")
