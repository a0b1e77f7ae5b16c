"""Small LETOR files for the commands."""

import numpy as np
import pytest

from skrank.cli import main
from skrank.datasets import dump_letor, make_ranking

_PARTS = {"train": range(18), "vali": range(18, 24), "test": range(24, 30)}


@pytest.fixture(scope="session")
def letor(tmp_path_factory):
    """Folder with train.txt, vali.txt and test.txt; documents have names."""
    folder = tmp_path_factory.mktemp("letor")
    X, y, groups = make_ranking(
        n_queries=30, n_features=6, n_informative=4, random_state=0
    )
    names = np.array([f"d{i}" for i in range(len(y))])
    for part, queries in _PARTS.items():
        rows = np.isin(groups, np.unique(groups)[list(queries)])
        path = folder / f"{part}.txt"
        dump_letor(X[rows], y[rows], groups[rows], path, docids=names[rows])
    return folder


@pytest.fixture
def run(capsys):
    """Run a command; return its exit code, output and error output."""

    def run_command(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_command


@pytest.fixture
def ok(run):
    """Run a command that must succeed in silence; return its output."""

    def run_command(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        return out

    return run_command


@pytest.fixture
def fails(run):
    """Run a command that must fail with one line; return it."""

    def run_command(*arguments):
        code, out, err = run(*arguments)
        assert code == 2
        assert out == ""
        assert err.startswith("skrank: error: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("skrank: error: ").rstrip("\n")

    return run_command
