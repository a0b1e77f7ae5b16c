"""Ranking data in tables."""

import csv
import io
import re
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skrank.datasets import load_table
from skrank.datasets._tables import _odd_row
from skrank.rankers import MART

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
            "grades of the label column 'query' must be numbers, found 'b' in line 2$",
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


def write(folder, text):
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


ROWS = "query,doc,grade,bm25\nb,3,2,0.5\na,1,1,0.25\n"


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        ROWS.rstrip("\n"),
        ROWS.replace("\n", "\r\n"),
        "\ufeff" + ROWS,
        "\ufeff" + ROWS.replace("\n", "\r\n"),
    ],
)
def test_ends_of_lines_and_marks(tmp_path, text):
    data = load_table(write(tmp_path, text), **NAMES)
    assert data.X.tolist() == [[0.5], [0.25]]
    assert data.groups.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROWS.replace("bm25", "grade"), "t.csv has more than one column 'grade'"),
        (ROWS.replace("bm25", "doc"), "t.csv has more than one column 'doc'"),
        (
            ROWS.replace("b,3,2", "b,3,2,7,8"),
            "t.csv, line 2: expected 4 fields, as of names, found 6$",
        ),
        (ROWS.replace("b,3,2,0.5", "b,3,2"), "line 2: expected 4 fields, .* found 3$"),
        (ROWS.replace("a,1,1,0.25", "a"), "line 3: expected 4 fields, .* found 1$"),
        (ROWS + "c,3,2,\n\n\nc,3\n", "line 7: expected 4 fields, .* found 2$"),
        (
            (ROWS + "c,3").replace("\n", "\r"),
            "line 4: expected 4 fields, .* found 2$",
        ),
        (
            (ROWS + "c,3").replace("\n", "\r\n"),
            "line 4: expected 4 fields, .* found 2$",
        ),
        (ROWS + '"c,\n""",3\nd,1,2,1', "line 4: expected 4 fields, .* found 2$"),
        (ROWS + '"c,\n\r\n""",3,2,1\n"d,"\n', "line 7: expected 4 fields, .* found 1$"),
        (ROWS + 'c"d,"e,"f,\n', "line 4: expected 4 fields, .* found 3$"),
        (ROWS + 'c"d,2"\n', "line 4: expected 4 fields, .* found 2$"),
        (ROWS + '"c","d"",,"\n', "line 4: expected 4 fields, .* found 2$"),
        (ROWS + "c,3,2,1,7\n", "line 4: expected 4 fields, .* found 5$"),
        (ROWS + '"c\n",3,2,1,7\n', "line 4: expected 4 fields, .* found 5$"),
        (ROWS + 'c,3,2,1\n"c,""\n', "line 5: expected a quote that ends"),
        (ROWS.replace("0.5", "inf"), "column 'bm25' is not finite in row 0"),
        (ROWS.replace("0.5", "1e300"), "is not finite in row 0, or beyond the range"),
        (ROWS.replace("0.5", "'x'"), "column 'bm25' must be numeric"),
        (ROWS.replace("bm25", "x" * 10**6).replace("0.5", "y"), "column 'x+…x+'"),
        (ROWS.encode() + b"\xff\xfe,1,1,1\n", "line 4: expected UTF-8, .* 0xff"),
        (
            ("é" * 2**20 + "\n").encode() + b"\xe9",
            "line 2: expected UTF-8, .* 0xe9; save",
        ),
        (  # a character lies across two blocks
            ("x" + "é" * 2**20 + "\n").encode() + b"\xe9",
            "line 2: expected UTF-8, .* 0xe9",
        ),
        (
            ROWS.replace("b,", "\xe9,").encode("latin-1"),
            "line 2: expected UTF-8, .* 0xe9",
        ),
        (ROWS + 'a,"', "line 4: expected a quote that ends the field"),
        (ROWS.encode("utf-16"), "t.csv is UTF-16 text"),
        (b"", "t.csv is empty"),
        ("\n", "t.csv: expected a line of names of columns, found blanks"),
        ("\n" * 2**20 + ROWS + "c,3", "line 1048580: expected 4 fields, .* found 2$"),
        (b"\0" * 100, "t.csv has no column 'grade'"),
    ],
)
def test_unfit_text(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_table(write(tmp_path, text), **NAMES)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "end",
    [
        *("c,3,2,", "c,3,2,\n\n", '"c\n",3,2,\n', '"c,,"",",3,2,""\n', '"c"" ,d",3,2,'),
        *(
            "c,3,2,\n \t \n",
            "c,3,2,\r\r",
            "\n\nc,3,2,NA\n",
            '"c""d"e"f,3,2,\n',
            '"c,,\r"x,3,2,',
        ),
    ],
)
@pytest.mark.parametrize("separator", [",", "\t"])
def test_missing_cells_are_no_missing_fields(tmp_path, end, separator):
    path = tmp_path / ("t.csv" if separator == "," else "t.tsv")
    text = ROWS + end.replace(" \t ", "  ")
    path.write_text(text.replace(",", separator), newline="")
    X = load_table(path, **NAMES).X
    np.testing.assert_array_equal(X, np.float32([[0.5], [0.25], [np.nan]]))


@given(st.text(st.sampled_from('a",\n\r'), max_size=20))
@settings(deadline=None, max_examples=300)
def test_rows_are_told_apart_as_the_standard_library_does(text):
    text = "f,g,h\n" + text
    *rows, last = csv.reader(io.StringIO(text + "\nend", newline=""))
    assume(last == ["end"])  # else a quote is open, which pandas refuses before
    expected = next((len(row) for row in rows if len(row) not in (0, 3)), None)
    found = _odd_row(text.encode(), b",")
    assert (found and found[1]) == expected
    assert found is None or found[2] == 3


def test_odd_rows_before_numbers_of_more_than_64_bits(tmp_path):
    path = write(tmp_path, f"a,f\n1,{2**64 - 1}\n1\n")
    with pytest.raises(ValueError, match=r"line 3: expected 2 fields, .* found 1"):
        load_table(path, label=None, qid=None)


def test_rows_of_tabs_are_no_blank_lines(tmp_path):
    (tmp_path / "t.tsv").write_text((ROWS + ",\n").replace(",", "\t"))
    with pytest.raises(ValueError, match=r"line 4: expected 4 fields, .* found 2$"):
        load_table(tmp_path / "t.tsv", **NAMES)


def test_tables_of_one_column(tmp_path):
    path = write(tmp_path, "f\n1\n\nNA\n2\n")
    X = load_table(path, label=None, qid=None).X
    np.testing.assert_array_equal(X, [[1], [np.nan], [2]])


WIDE = 2**65 + 2**20


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([WIDE, 1], [2.0**65 + 2.0**20, 1.0]),
        ([-WIDE, ""], [-(2.0**65) - 2.0**20, np.nan]),
        ([WIDE, "1.5"], [2.0**65 + 2.0**20, 1.5]),
        ([WIDE, " -25e-1 "], [2.0**65 + 2.0**20, -2.5]),
        ([2**64 - 1, -1], [2.0**64, -1.0]),
        ([2**64 - 1, ""], [2.0**64, np.nan]),
        ([2**64 - 1, "NA"], [2.0**64, np.nan]),
        ([WIDE, "null"], [2.0**65 + 2.0**20, np.nan]),
        ([10**300, "+.5"], [1e300, 0.5]),
    ],
)
def test_whole_numbers_of_more_than_64_bits(tmp_path, cells, expected):
    rows = "".join(f"{WIDE + i},{cells[1]},{cell}\n" for i, cell in enumerate(cells))
    path = write(tmp_path, "id,x,f\n" + rows)
    options = {"features": ["f"], "dtype": np.float64, "docid": "id"}
    data = load_table(path, label=None, qid="id", **options)
    np.testing.assert_array_equal(data.X[:, 0], expected)
    # As ids, they are not rounded.
    assert data.groups.tolist() == data.docids.tolist() == [str(WIDE), str(WIDE + 1)]
    names = {"categorical_features": ["id"], "as_frame": True}
    frame = load_table(path, label=None, qid=None, features=["id"], **names).X
    assert frame["id"].tolist() == [str(WIDE), str(WIDE + 1)]
    by_dtype = {"categorical_features": "from_dtype", "as_frame": True}
    frame = load_table(path, label=None, qid="id", **options, **by_dtype).X
    assert frame["f"].dtype == np.float64


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("x", "column 'f' must be numeric"),
        ("True", "column 'f' must be numeric"),
        ("1_0", "column 'f' must be numeric"),
        ("\u0663", "column 'f' must be numeric"),
        ("1" * 400, "column 'f' is not finite in row 1"),
        ("1" * 5000, "column 'f' is not finite in row 1"),
    ],
)
def test_what_stands_beside_such_numbers(tmp_path, cell, message):
    path = write(tmp_path, f"f\n{WIDE}\n{cell}\n")
    with pytest.raises(ValueError, match=message):
        load_table(path, label=None, qid=None)


def test_decimal_numbers_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    large = 2**70 + 1
    columns = {
        "q": pa.array([Decimal(large), Decimal(large + 1)], pa.decimal128(38, 0)),
        "small": pa.array([Decimal(7), Decimal(5)], pa.decimal128(5, 0)),
        "id": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "y": pa.array([Decimal("1.5"), Decimal("0.0")], pa.decimal128(5, 1)),
        "a": pa.array([Decimal(large), None], pa.decimal256(60, 0)),
        "b": pa.array([Decimal("0.25"), Decimal("-3.50")], pa.decimal128(9, 2)),
    }
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns), path)
    named = {"label": "y", "docid": "id", "dtype": np.float64, "features": ["a", "b"]}
    data = load_table(path, qid="q", **named)
    np.testing.assert_array_equal(data.X, [[2.0**70, 0.25], [np.nan, -3.5]])
    assert data.y.tolist() == [1.5, 0]
    assert data.groups.tolist() == [str(large), str(large + 1)]
    assert data.docids.tolist() == ["1.50", ""]
    assert load_table(path, qid="small", **named).groups.tolist() == [7, 5]
    names = {"categorical_features": ["q"], "as_frame": True, "features": ["q", "b"]}
    X = load_table(path, label=None, qid=None, **names).X
    assert X["q"].tolist() == [str(large), str(large + 1)]
    assert X["b"].tolist() == [0.25, -3.5]


def test_a_second_column_of_a_name_that_is_not_used(tmp_path):
    path = write(tmp_path, "query,grade,bm25,x,x\na,1,0.5,1,2\na,0,0.25,3,4\n")
    data = load_table(path, label="grade", qid="query", features=["bm25"])
    assert data.X.tolist() == [[0.5], [0.25]]
    with pytest.raises(ValueError, match="more than one column 'x'"):
        load_table(path, label="grade", qid="query")


def test_ids_of_two_types_stay_apart_in_long_files(tmp_path):
    """Read in blocks, the id 7 of one block and "7" of another would be two."""
    lines = [f"{i % 9},{i % 2},{i}" for i in range(300_000)] + ["x,1,2"]
    path = write(tmp_path, "\n".join(["query,grade,f", *lines]))
    groups = load_table(path, label="grade", qid="query").groups
    assert set(groups.tolist()) == {*map(str, range(9)), "x"}


def test_rows_without_an_id_of_a_document(tmp_path):
    path = write(tmp_path, ROWS.replace("b,3", "b,"))
    docids = load_table(path, **NAMES).docids.tolist()
    assert docids[0] == ""


def test_missing_values_of_every_type(tmp_path):
    pytest.importorskip("pyarrow")
    frame = FRAME.astype({"length": "Int64", "grade": "Int64"})
    frame.loc[0, "length"] = pd.NA
    frame.to_parquet(tmp_path / "t.parquet")
    assert np.isnan(load_table(tmp_path / "t.parquet", **NAMES).X[0, 1])
    frame.loc[1, "grade"] = pd.NA
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="'grade' has no finite grade in row 1"):
        load_table(tmp_path / "t.parquet", **NAMES)


def test_the_type_of_the_features(tmp_path):
    with pytest.raises(ValueError, match=r"dtype must be np\.float32 or np\.float64"):
        load_table(write(tmp_path, ROWS), dtype=np.int32, **NAMES)


def test_limits_of_tables(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"query": np.zeros(10**5, int), "grade": 1, "f": 0.5})
    names = {"label": "grade", "qid": "query"}
    monkeypatch.setattr("skrank._core._reading._SMALL", 10**4)
    for name in ("t.csv.gz", "t.csv.zip", "t.csv.xz", "t.parquet"):
        path = tmp_path / name
        if name == "t.parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        with pytest.raises(ValueError, match=f"{name} holds more than .* max_bytes"):
            load_table(path, max_bytes=10**5, **names)
        assert len(load_table(path, max_bytes=10**8, **names).y) == 10**5
    with pytest.raises(ValueError, match="holds more than"):  # 2.4 MB in a few kB
        load_table(tmp_path / "t.parquet", **names)


def test_the_limit_of_parquet_is_the_size_of_the_numbers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [np.ones(10**5), np.full(10**5, 0.5)]
    # Where values may be missing, there is also a bit for each.
    fields = [pa.field(c, pa.float64(), nullable=False) for c in ("grade", "f")]
    table = pa.table(columns, schema=pa.schema(fields))
    parquet.write_table(table, tmp_path / "t.parquet")
    named = {"label": "grade", "qid": None}
    size = 2 * 8 * 10**5
    assert len(load_table(tmp_path / "t.parquet", max_bytes=size, **named).y) == 10**5
    with pytest.raises(ValueError, match=f"holds more than {size - 1} bytes"):
        load_table(tmp_path / "t.parquet", max_bytes=size - 1, **named)


def test_check_sums_of_parquet_are_compared(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, values = tmp_path / "t.parquet", [0.1, 0.2, 0.3, 0.7]
    plain = {"compression": "NONE", "use_dictionary": False, "write_statistics": False}
    parquet.write_table(
        pa.table({"f": values}), path, write_page_checksum=True, **plain
    )
    np.testing.assert_array_equal(
        load_table(path, label=None, qid=None).X[:, 0], np.float32(values)
    )
    content, number = path.read_bytes(), np.float64(0.7).tobytes()
    assert content.count(number) == 1
    path.write_bytes(content.replace(number, np.float64(0.8).tobytes()))
    with pytest.raises(ValueError, match=r"t\.parquet is damaged: .*(CRC|checksum)"):
        load_table(path, label=None, qid=None)


def test_text_of_parquet_is_utf_8(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    ids = pa.array([b"a", b"\xff"]).view(pa.string())
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"id": ids, "f": [1.0, 2.0]}), path)
    # Also where nobody asked for the column.
    for docid in ("id", None):
        with pytest.raises(ValueError, match=r"t\.parquet is damaged: .*UTF8"):
            load_table(path, label=None, qid=None, docid=docid, features=["f"])


@pytest.mark.parametrize("first", ["b", "s", "l"])
@pytest.mark.parametrize("second", ["b", "s", "l", "f"])
def test_columns_of_one_name_that_nobody_asks_for(first, second, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "b": pa.array([True, False]),
        "s": pa.array(["x", "y"]).dictionary_encode(),
        "l": pa.array([[1, 2], [3, 4]]),
        "f": pa.array([0.5, 0.25]),
    }
    parts = [columns["f"], columns[first], columns[second]]
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(parts, names=["f", "z", "z"]), path)
    data = load_table(path, label=None, qid=None, features=["f"])
    assert data.X.ravel().tolist() == [0.5, 0.25]


def test_damaged_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    content = path.read_bytes()
    for i in range(0, len(content), 23):
        path.write_bytes(content[:i])
        with pytest.raises(ValueError, match=r"t\.parquet is (damaged: .|empty)"):
            load_table(path, **NAMES)
        path.write_bytes(content[:i] + bytes([content[i] ^ 255]) + content[i + 1 :])
        try:
            load_table(path, **NAMES)
        except ValueError as error:
            message = str(error)
        else:  # no check sum covers the bytes of the values
            message = "t.parquet"
        assert "t.parquet" in message


def test_damaged_parquet_is_told_in_one_line(tmp_path):
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    whole, messages = path.read_bytes(), []
    for at in range(4, len(whole) - 8, 7):
        path.write_bytes(whole[:at] + b"\x1b\n\x00\x07" + whole[at + 4 :])
        try:
            load_table(path, **NAMES)
        except ValueError as error:
            messages.append(str(error))
    assert messages
    assert [message for message in messages if not message.isprintable()] == []


SITES = """query,grade,site,shop,bm25
1,2,news,007,0.5
1,0,,NA,0.25
2,1,blog,7,1
"""


def test_columns_of_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(SITES)
    named = {"label": "grade", "qid": "query", "as_frame": True}
    data = load_table(path, categorical_features=["shop", "site"], **named)
    assert data.X.columns.tolist() == data.feature_names.tolist()
    assert data.X.columns.tolist() == ["site", "shop", "bm25"]
    assert data.X["shop"].tolist() == ["007", "NA", "7"]
    assert data.X["site"].isna().tolist() == [False, True, False]
    assert data.X.dtypes.map(str).tolist() == ["category", "category", "float32"]
    assert data.X.index.equals(data.y.index)
    MART(n_estimators=2, min_samples_leaf=1).fit(data.X, data.y)
    by_dtype = load_table(path, categorical_features="from_dtype", **named).X
    assert by_dtype.dtypes.map(str).tolist() == ["category", "float32", "float32"]
    pd.testing.assert_series_equal(by_dtype["site"], data.X["site"])


def test_columns_of_names_in_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = FRAME.assign(site=["x", None, "y"])
    frame["kind"] = frame["query"].astype("category")
    path, options = tmp_path / "t.parquet", NAMES | {"as_frame": True}
    frame.to_parquet(path)
    names = ["length", "site", "kind"]
    X = load_table(path, categorical_features=names, **options).X
    assert X.dtypes.map(str).tolist() == ["float32", *["category"] * 3]
    assert X["length"].tolist() == [10, 20, 30]
    X = load_table(path, categorical_features="from_dtype", **options).X
    assert X.dtypes.map(str).tolist() == ["float32", "float32", "category", "category"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"categorical_features": ["zoo"]}, r"categorical_features\[0\]: .* no column"),
        ({"categorical_features": "site"}, "categorical_features must be a sequence"),
        ({"features": ["bm25"]}, "categorical_features: 'site' is no feature"),
        ({"as_frame": False}, "categorical_features need as_frame=True"),
        ({"categorical_features": ["shop"]}, "'site' must be numeric, found dtype"),
    ],
)
def test_unfit_columns_of_names(tmp_path, change, message):
    path = tmp_path / "t.csv"
    path.write_text(SITES)
    named = {"label": "grade", "qid": "query", "as_frame": True}
    with pytest.raises(ValueError, match=message):
        load_table(path, **{**named, "categorical_features": ["site"]} | change)


def test_documents_without_grades(tmp_path):
    FRAME.drop(columns="grade").to_csv(tmp_path / "t.csv", index=False)
    for as_frame in (False, True):
        data = load_table(
            tmp_path / "t.csv", label=None, qid="query", docid="doc", as_frame=as_frame
        )
        assert data.y is None
        assert data.feature_names.tolist() == ["bm25", "length"]


def test_ids_of_text_stand_as_they_are(tmp_path):
    rows = ["01,007", "1,7", "1.0,1e5", "NA,100000", "01,NA", "1,"]
    path = tmp_path / "ids.csv"
    path.write_text("q,id,y,a\n" + "".join(f"{row},1,0.5\n" for row in rows))
    data = load_table(path, label="y", qid="q", docid="id")
    assert data.groups.tolist() == ["01", "1", "1.0", "NA", "01", "1"]
    assert data.docids.tolist() == ["007", "7", "1e5", "100000", "NA", ""]
    large = 2**53 + 1
    path.write_text(f"q,id,y,a\n{large},1,1,2\n{large - 1},2,0,3\n-5,3,0,3\n")
    data = load_table(path, label="y", qid="q", docid="id")
    assert data.groups.tolist() == [large, large - 1, -5]
    assert data.groups.dtype == np.int64


def test_document_numbers_of_parquet_with_a_gap(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"q": [1, 1], "id": [2**60 + 1, None], "y": [1.0, 0.0], "a": [1.0, 2.0]}
    parquet.write_table(pa.table(columns), tmp_path / "ids.parquet")
    data = load_table(tmp_path / "ids.parquet", label="y", qid="q", docid="id")
    assert data.docids.tolist() == [str(2**60 + 1), ""]


TYPES = {"query": "Int64", "page": "Int32", "grade": "UInt8", "old": "boolean"}


@pytest.fixture
def nullable(tmp_path):
    """A Parquet file of the types of pandas that know missing values, and its frame."""
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "query": [1, 1, 2, 2],
            "page": [7, 8, 9, None],
            "grade": [1, 0, 1, 0],
            "old": [True, None, False, True],
            "shop": pd.array([2**60, 2**60 + 1, None, 5], dtype="Int64"),
            "f": [0.1, 0.2, 0.3, 0.4],
        }
    ).astype(TYPES)
    return tmp_path / "t.parquet", frame


GIVEN = {"label": "grade", "qid": "query", "docid": "page"}


def test_parquet_of_nullable_numbers(nullable):
    path, frame = nullable
    frame.to_parquet(path)
    data = load_table(path, **GIVEN, features=["old", "f"], dtype=np.float64)
    assert data.docids.tolist() == ["7", "8", "9", ""]
    assert data.groups.tolist() == [1, 1, 2, 2]
    assert data.y.tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(data.X[:, 0], [1, np.nan, 0, 1])
    names = {"categorical_features": ["shop"], "as_frame": True}
    shops = load_table(path, **GIVEN, **names).X["shop"]
    assert shops.cat.categories.tolist() == [5, 2**60, 2**60 + 1]
    assert shops.isna().tolist() == [False, False, True, False]


def test_parquet_with_an_index(nullable):
    path, frame = nullable
    frame = frame.drop(columns=["shop", "old"])
    frame.set_index(["query", "page"]).to_parquet(path)
    data = load_table(path, label="grade", qid="query", docid="page")
    assert data.groups.tolist() == [1, 1, 2, 2]
    assert data.docids.tolist() == ["7", "8", "9", ""]
    assert data.feature_names.tolist() == ["f"]
    # Unless it is asked for, an index is no feature.
    assert load_table(path, label="grade", qid="query").feature_names.tolist() == ["f"]
    chosen = load_table(path, label="grade", qid="query", features=["page"])
    np.testing.assert_array_equal(chosen.X[:, 0], [7, 8, 9, np.nan])
    frame.set_index(np.array([5, 3, 1, 0])).to_parquet(path)
    assert load_table(path, **GIVEN).feature_names.tolist() == ["f"]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([["a"], ["b"], [], ["a"]], "found lists or the like; turn"),
        ([["a"]] * 4, "found lists or the like; turn"),
        ([[1, 2]] * 4, "found lists or the like; turn"),
        ([{"a": 1}, {"a": 2}, None, {"a": 1}], "found lists or the like; turn"),
        ([b"a", b"b", None, b"a"], "found b'a'; turn"),
    ],
)
def test_what_cannot_be_a_name_is_told_with_its_file(nullable, values, found):
    path, frame = nullable
    frame.assign(tags=values).to_parquet(path)
    message = rf"t\.parquet: column 'tags' is categorical and must hold .*{found}"
    with pytest.raises(ValueError, match=message):
        load_table(path, **GIVEN, categorical_features=["tags"], as_frame=True)


def test_a_line_of_names_alone(tmp_path):
    (tmp_path / "t.csv").write_text("query,page,grade,f\n")
    with pytest.raises(ValueError, match=r"t\.csv has no rows"):
        load_table(tmp_path / "t.csv", **GIVEN)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"features": ["a", "b", "a"]}, "features must name each column once, got 'a'"),
        ({"categorical_features": ["a", "a"]}, "categorical_features must name each"),
        ({"features": ["grade", "a"]}, "features must not hold the label 'grade'"),
    ],
)
def test_features_are_named_once_and_are_no_labels(tmp_path, columns, message):
    path = tmp_path / "t.csv"
    path.write_text("qid,grade,a,b\n1,0,3,1\n1,1,2,2\n")
    for as_frame in (False, True):
        with pytest.raises(ValueError, match=message):
            load_table(path, label="grade", qid="qid", as_frame=as_frame, **columns)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("q,y,f\na,1,0\na,x,0\na,z,0\n", "'x' in line 3"),
        ("\nq,y,f\r\n\r\na,,0\r\na,-,0\r\na,1,0\r\n", "'-' in line 5"),
        ('q,y,f\n"a\nb",1,0\n\n"a\n",1e,0\n', "'1e' in line 5"),
        ("q,y,f\na,,0\na,2020-01-01,0\n", "'2020-01-01' in line 3"),
    ],
)
def test_grades_that_are_no_numbers_are_found_by_line(tmp_path, text, found):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    told = f"t.csv: grades of the label column 'y' must be numbers, found {found}$"
    for features in (None, [], ["f"]):
        with pytest.raises(ValueError, match=told):
            load_table(path, label="y", qid="q", features=features)


def test_grades_of_parquet_that_are_no_numbers_are_found_by_row(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    for grades, found in ([None, "1", "b"], "'b' in row 2"), (["1", "2"], "'1' in row"):
        pd.DataFrame({"y": grades, "f": 0.5}).to_parquet(path)
        told = f"grades of the label column 'y' must be numbers, found {found}"
        with pytest.raises(ValueError, match=told):
            load_table(path, label="y", qid=None)


def test_grades_that_are_all_missing_in_a_column_of_text(tmp_path):
    pytest.importorskip("pyarrow")
    grades = pd.Series([None, None], dtype="string")
    pd.DataFrame({"y": grades, "f": 0.5}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="'y' has no finite grade in row 0"):
        load_table(tmp_path / "t.parquet", label="y", qid=None)


def test_half_floats_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    halves = pa.array(np.array([1, 1, 2.5], dtype=np.float16))
    columns = {"q": halves, "y": halves, "a": halves, "c": halves}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    named = {"label": "y", "qid": "q", "categorical_features": ["c"], "as_frame": True}
    data = load_table(tmp_path / "t.parquet", **named)
    assert data.X["a"].tolist() == data.y.tolist() == [1.0, 1.0, 2.5]
    assert data.X["c"].cat.codes.tolist() == [0, 0, 1]
    assert data.X.index.get_level_values("qid").tolist() == [1.0, 1.0, 2.5]


def test_document_ids_of_parquet_that_are_no_text(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"d": pa.array([b"a", b"\xff"]), "y": pa.array([1, 0])}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(
        ValueError, match=r"t\.parquet: column 'd' holds bytes that are"
    ):
        load_table(tmp_path / "t.parquet", label="y", qid=None, docid="d")


@pytest.mark.parametrize("odd", ["-0", "01", "9999999999999999999", "+1"])
def test_text_that_no_number_would_be_written_as_stays_text(odd, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"q,y,f\n{odd},1,2\n0,0,3\n1,0,4\n")
    assert load_table(path, label="y", qid="q").groups.tolist() == [odd, "0", "1"]


@pytest.mark.parametrize("name", [pd.NA, [1], {}], ids=str)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "argument", ["label", "qid", "docid", "features", "categorical_features"]
)
def test_what_names_no_column_is_refused_before_the_file_is_read(
    name, kind, argument, tmp_path
):
    of_list = argument.endswith("features")
    options = {"label": "y", "qid": "q", argument: ["a", name] if of_list else name}
    place = f"{argument}[1]" if of_list else argument
    with pytest.raises(
        ValueError, match=f"{re.escape(place)} must be the name of a co"
    ):
        load_table(tmp_path / f"none.{kind}", as_frame=True, **options)
