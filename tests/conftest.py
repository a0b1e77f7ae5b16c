"""Fixtures that several test modules share."""

import os
from pathlib import Path

import numpy as np
import pytest

_DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the real LETOR and TREC files; skips the test where it is absent."""
    folder = Path(os.environ.get("SKRANK_DATA", _DEFAULT_DATA))
    if not folder.is_dir():
        pytest.skip(f"real data not found in {folder}; set SKRANK_DATA to its folder")
    return folder


@pytest.fixture
def rng():
    """A random generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture
def ragged(rng):
    """A small ragged data set (X, y, groups), rows of a query not adjacent."""
    sizes = rng.integers(1, 12, size=20)
    groups = np.repeat(np.arange(20), sizes)
    rng.shuffle(groups)
    X = rng.normal(size=(len(groups), 6))
    utility = X @ np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    y = np.digitize(utility + 0.3 * rng.normal(size=len(groups)), [-1, 0.5, 2])
    return X, y.astype(float), groups
