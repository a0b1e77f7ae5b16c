"""What rankers have learned is checked when their files are loaded."""

import numpy as np
import pytest
from _tamper import GROUPS, X, Y, npy, read, write
from scipy import sparse

from skrank.compat import PyTerrierLearner
from skrank.export import load_model, save_model
from skrank.rankers import AdaRank, AssociationRuleRanker, RankSVM


@pytest.fixture
def data():
    """Rows, grades and queries."""
    return X, Y, GROUPS


def edited(model, path, array=None, params=None, **state):
    """Save a model, then change what the file says of it."""
    save_model(model, path)
    document, members = read(path)
    if array is not None:
        name, content = array
        members[document["model"]["state"][name]["member"]] = npy(content)
    document["model"]["state"].update(state)
    document["model"]["params"].update(params or {})
    write(path, document, members)
    return path


def test_features_without_scales_take_no_memory(data, tmp_path, monkeypatch):
    """A place for each of them filled the memory when a small file was loaded."""
    ranker = AdaRank(n_estimators=3).fit(*data)
    path = edited(ranker, tmp_path / "m", n_features_in_=10**9)
    message = rf"scales_ must be an array of float64 of shape \({10**9}\)"
    with pytest.raises(ValueError, match=message):
        load_model(path)

    def tocsc(X):
        raise MemoryError

    monkeypatch.setattr(sparse.csr_array, "tocsc", tocsc)
    # A model that has chosen no feature needs no scales.
    ranker.alphas_, ranker.features_ = ranker.alphas_[:0], ranker.features_[:0]
    loaded = load_model(edited(ranker, tmp_path / "m", n_features_in_=10**9))
    assert not loaded.predict(sparse.csr_array((3, 10**9))).any()


@pytest.mark.parametrize("inner", [None, "x", 1.5, []])
def test_an_estimator_within_another_is_one(inner, data, tmp_path):
    learner = PyTerrierLearner(RankSVM())
    learner.fit(*data[:2], group=np.unique(data[2], return_counts=True)[1])
    path = edited(learner, tmp_path / "m", estimator_=inner)
    with pytest.raises(ValueError, match="estimator_ must be an estimator"):
        load_model(path)


@pytest.mark.parametrize("code", [-1, 5, 10**9, 2**63 - 1])
def test_codes_of_grades_are_those_of_grades(code, data, tmp_path):
    """Counting codes took a place for each number below the largest, if not less."""
    ranker = AssociationRuleRanker(mining="predict").fit(*data)
    assert len(ranker.grades_) == 5
    codes = ranker.training_codes_.copy()
    codes[4] = code
    path = edited(ranker, tmp_path / "m", array=("training_codes_", codes))
    with pytest.raises(ValueError, match="training_codes_ must be numbers below 5"):
        load_model(path)
