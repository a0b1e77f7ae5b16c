"""Small folds for experiments."""

import numpy as np
import pytest

from skrank.datasets import dump_letor, load_letor_folds, make_ranking
from skrank.experiments import make_folds


@pytest.fixture(scope="session")
def ranking():
    """Documents of 24 queries with 5 features."""
    return make_ranking(24, n_features=5, n_informative=3, random_state=0)


@pytest.fixture(scope="session")
def folds(ranking):
    """Three folds of the documents."""
    return make_folds(*ranking, n_splits=3)


@pytest.fixture
def letor_folds(folds, tmp_path):
    """The same folds as files."""
    for fold in folds:
        (tmp_path / "data" / fold.name).mkdir(parents=True)
        for part in ("train", "vali", "test"):
            data = getattr(fold, part)
            path = tmp_path / "data" / fold.name / f"{part}.txt"
            dump_letor(data.X, data.y, data.groups, path, docids=data.docids)
    return load_letor_folds(tmp_path / "data", dtype=np.float64)
