"""Ranking data in tables."""

import sys

import numpy as np
import pytest

from skrank.datasets import load_table

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame(
    {
        "query": ["b", "b", "a"],
        "doc": [3, 1, 2],
        "grade": [2, 0, 1],
        "bm25": [0.1, 0.2, np.nan],
        "length": [10, 20, 30],
    }
)
NAMES = {"label": "grade", "qid": "query", "docid": "doc"}


def _check(data):
    np.testing.assert_array_equal(
        data.X, np.array([[0.1, 10], [0.2, 20], [np.nan, 30]], dtype=np.float32)
    )
    assert data.y.tolist() == [2, 0, 1]
    assert data.groups.tolist() == ["b", "b", "a"]
    assert data.docids.tolist() == ["3", "1", "2"]
    assert data.feature_names.tolist() == ["bm25", "length"]


@pytest.mark.parametrize(
    ("name", "separator"),
    [("t.csv", ","), ("t.tsv", "\t"), ("t.csv.gz", ","), ("t.TSV", "\t")],
)
def test_text_tables(tmp_path, name, separator):
    FRAME.to_csv(tmp_path / name, sep=separator, index=False)
    _check(load_table(tmp_path / name, **NAMES))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "t.parquet")
    _check(load_table(tmp_path / "t.parquet", **NAMES))


def test_chosen_features_and_frames(tmp_path):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    data = load_table(
        path, label="grade", qid="query", features=["length"], as_frame=True
    )
    assert data.X.columns.tolist() == ["length"]
    assert data.y.index.get_level_values("qid").tolist() == ["b", "b", "a"]
    assert data.docids is None
    double = load_table(path, dtype=np.float64, **NAMES)
    assert double.X.dtype == np.float64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "rel"}, r"t\.csv has no column 'rel'; its columns are: query, doc"),
        ({"features": ["pr"]}, "has no column 'pr'"),
        ({"qid": "doc", "docid": None}, "column 'query' must be numeric, found dtype"),
        (
            {"label": "query", "qid": "grade", "docid": None},
            "column 'query' must be numeric",
        ),
        (
            {"label": "bm25", "features": ["length"]},
            "column 'bm25' has no finite grade in row 2",
        ),
        (
            {"qid": "bm25", "features": ["length"]},
            "column 'bm25' must hold one query id per row; row 2 has none",
        ),
    ],
)
def test_unfit_columns(tmp_path, change, message):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(ValueError, match=message):
        load_table(path, **{**NAMES, **change})


def test_other_files(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.csv, \.tsv or \.parquet"):
        load_table(tmp_path / "t.xlsx", **NAMES)
    (tmp_path / "t.csv").write_text("query,doc,grade,f\n")
    with pytest.raises(ValueError):
        load_table(tmp_path / "t.csv", **NAMES)


def test_without_pandas(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"load_table needs pandas.*skrank\[pandas\]"):
        load_table(tmp_path / "t.csv", **NAMES)
