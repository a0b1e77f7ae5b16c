"""The folder of a LETOR data set."""

import gzip

import numpy as np
import pytest

from skrank.datasets import load_letor, load_letor_folds


def _write_fold(folder, width=3, parts=("train", "vali", "test")):
    folder.mkdir(parents=True)
    for number, part in enumerate(parts, start=1):
        text = f"{number} qid:{number} 1:0.5\n0 qid:{number} {width}:1\n"
        (folder / f"{part}.txt").write_text(text)


def test_folds_in_order_and_lazy(tmp_path):
    for number in (10, 2, 1):
        _write_fold(tmp_path / f"Fold{number}")
    (tmp_path / "README.txt").write_text("about")
    folds = load_letor_folds(tmp_path)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
    assert len(folds) == 3
    fold = folds[0]
    assert fold.train is fold.train
    assert fold.train.groups.tolist() == [1, 1]
    assert fold.vali.groups.tolist() == [2, 2]
    assert fold.test.groups.tolist() == [3, 3]
    assert [fold.name for fold in folds[1:]] == ["Fold2", "Fold10"]
    assert [fold.name for fold in load_letor_folds(tmp_path, folds=[2])] == ["Fold2"]


def test_keywords_reach_the_reader(tmp_path):
    _write_fold(tmp_path / "fold1")
    (fold,) = load_letor_folds(tmp_path, dtype=np.float64, n_features=7)
    assert fold.test.X.dtype == np.float64
    assert fold.test.X.shape == (2, 7)


def test_parts_have_one_width(tmp_path):
    _write_fold(tmp_path / "Fold1", width=2)
    (tmp_path / "Fold1" / "vali.txt").write_text("1 qid:1 5:1\n")
    (fold,) = load_letor_folds(tmp_path)
    assert fold.train.X.shape[1] == fold.vali.X.shape[1] == fold.test.X.shape[1] == 5


@pytest.mark.parametrize("name", ["vali.txt.gz", "vali.txt.GZ", "valid.TXT.Gz"])
def test_compressed_parts(tmp_path, name):
    _write_fold(tmp_path / "Fold1", parts=("train", "test"))
    path = tmp_path / "Fold1" / name
    path.write_bytes(gzip.compress(b"1 qid:5 1:1\n"))
    (fold,) = load_letor_folds(tmp_path)
    assert fold.paths["vali"] == path
    assert fold.vali.groups.tolist() == [5]


def test_missing_pieces(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        load_letor_folds(tmp_path / "absent")
    (tmp_path / "train.txt").write_text("")
    with pytest.raises(
        FileNotFoundError, match=r"no folders Fold1, .*found: train\.txt"
    ):
        load_letor_folds(tmp_path)
    _write_fold(tmp_path / "Fold1", parts=("train", "test"))
    with pytest.raises(
        FileNotFoundError,
        match=r"Fold1 has no vali\.txt .*found: test\.txt, train\.txt",
    ):
        load_letor_folds(tmp_path)
    (tmp_path / "Fold1" / "vali.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(FileNotFoundError, match="has no fold 4; it has 1"):
        load_letor_folds(tmp_path, folds=[1, 4])


@pytest.mark.parametrize(
    ("name", "n_features", "n_queries"), [("MQ2008", 46, 784), ("OHSUMED", 45, 106)]
)
def test_real_folds(data_dir, name, n_features, n_queries):
    folds = load_letor_folds(data_dir / name)
    assert [fold.name for fold in folds] == [f"Fold{i}" for i in range(1, 6)]
    test_queries = [set(fold.test.groups.tolist()) for fold in folds]
    assert sum(map(len, test_queries)) == len(set.union(*test_queries)) == n_queries
    fold = folds[0]
    assert fold.train.X.shape[1] == n_features
    path = data_dir / name / "Fold1" / "vali.txt"
    assert np.array_equal(fold.vali.X, load_letor(path).X)
