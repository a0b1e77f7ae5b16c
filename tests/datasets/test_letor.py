"""LETOR text through the public reader and writer."""

import bz2
import gzip
import io
import os
import tracemalloc
from mmap import ACCESS_READ, mmap

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse as sp
from sklearn.datasets import load_svmlight_file

from skrank._core._letor import parse_letor
from skrank._core._queries import QueryIndex
from skrank._core._validation import check_groups, resolve_groups
from skrank.datasets import _letor, dump_letor, load_letor, load_qrels
from skrank.datasets._letor import n_features_of

TEXT = (
    b"# a comment line\r\n"
    b"2 qid:10 1:0.5 3:1 #docid = GX1 inc = 1 prob = 0.08\r\n"
    b"\r\n"
    b"0 qid:10 2:0.25 \t#docid = GX2 inc = 0 prob = 0.5\r\n"
    b"1.5 qid:9 1:-3e-1 2:NULL   \r\n"
)


def test_the_parts_of_a_text():
    data = load_letor(TEXT, dtype=np.float64)
    X, y, groups = data
    np.testing.assert_array_equal(X, [[0.5, 0, 1], [0, 0.25, 0], [-0.3, np.nan, 0]])
    assert y.tolist() == [2, 0, 1.5]
    assert groups.tolist() == [10, 10, 9]
    assert groups.dtype == np.int64
    assert data.feature_names.tolist() == ["1", "2", "3"]
    assert data.docids.tolist() == ["GX1", "GX2", ""]
    assert data.comments.tolist() == [
        "docid = GX1 inc = 1 prob = 0.08",
        "docid = GX2 inc = 0 prob = 0.5",
        "",
    ]


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs NumPy 2")
def test_query_ids_of_numpys_strings_are_written(tmp_path):
    path = tmp_path / "letor.txt"
    groups = np.array(["a", "b"], dtype=np.dtypes.StringDType())
    dump_letor(np.ones((2, 1)), [1, 0], groups, path)
    assert load_letor(path).groups.tolist() == ["a", "b"]


def test_no_comments_no_docids():
    data = load_letor(b"1 qid:1 1:1\n")
    assert data.comments is None
    assert data.docids is None


@pytest.mark.parametrize(
    ("comment", "docid"), [("#docid=a b", "a"), ("# doc7", "doc7"), ("#docé", "docé")]
)
def test_other_comments(comment, docid):
    data = load_letor(f"1 qid:1 1:1 {comment}\n".encode())
    assert data.docids.tolist() == [docid]


@pytest.mark.parametrize("blank", list("\xa0\x85\u2028\u3000\x1c\x1f"))
def test_blanks_that_are_no_ascii_belong_to_ids(blank, tmp_path):
    docids, path = [f"a{blank}b", f"{blank}c"], tmp_path / "rows.txt"
    dump_letor(np.ones((2, 1)), [0, 1], [1, 1], path, docids=docids)
    assert load_letor(path).docids.tolist() == docids
    row = f"1 qid:1 1:1 # a{blank}b \n".encode()
    assert load_letor(row).docids.tolist() == [f"a{blank}b"]


def test_comment_without_a_document():
    data = load_letor(b"1 qid:1 1:1 # a few words\n")
    assert data.docids is None
    assert data.comments.tolist() == [" a few words"]


@pytest.mark.parametrize("ids", ["numbers", "words"])
def test_every_kind_of_source(ids, tmp_path):
    content = TEXT if ids == "numbers" else TEXT.replace(b"qid:", b"qid:q")
    loaded = load_letor(content)
    expected, groups = loaded.X, loaded.groups
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    packed = {"a.txt.gz": gzip.compress(content), "a.txt.bz2": bz2.compress(content)}
    for name, compressed in packed.items():
        (tmp_path / name).write_bytes(compressed)
    with path.open("rb") as binary, path.open(encoding="utf-8") as text:
        for source in (
            path,
            str(path),
            binary,
            text,
            bytearray(content),
            io.BytesIO(content),
            io.StringIO(content.decode()),
            *packed.values(),
            *(tmp_path / name for name in packed),
        ):
            loaded = load_letor(source)
            np.testing.assert_array_equal(loaded.X, expected)
            assert loaded.groups.tolist() == groups.tolist()


def test_a_file_of_whole_pages(tmp_path):
    # Nothing is mapped behind such a file: reading on would be a crash.
    line = b"1 qid:1 1:0.5 "
    for size in (4096, 8192):
        path = tmp_path / f"{size}.txt"
        path.write_bytes(b"1 qid:1 1:1\n" + line.ljust(size - 12 - 5) + b"9:2.5")
        assert load_letor(path).X[1].tolist() == [0.5] + [0] * 7 + [2.5]


def test_string_ids():
    assert load_letor(b"1 qid:q1 1:1\n0 qid:7 1:1").groups.tolist() == ["q1", "7"]
    assert load_letor(b"1 qid:07 1:1\n0 qid:7 1:1").groups.tolist() == ["07", "7"]
    assert load_letor("1 qid:é 1:1\n".encode()).groups.tolist() == ["é"]


def test_more_features_than_the_file_has():
    X = load_letor(TEXT, n_features=5).X
    assert X.shape == (3, 5)
    assert not X[:, 3:].any()
    assert load_letor(TEXT, n_features=5, sparse=True).X.shape == (3, 5)


def test_a_text_without_features():
    X, y, _ = load_letor(b"1 qid:1\n0 qid:1 # c\n")
    assert X.shape == (2, 0)
    assert y.tolist() == [1, 0]
    assert load_letor(b"1 qid:1\n", sparse=True).X.shape == (1, 0)


def test_sparse_equals_dense():
    X = load_letor(TEXT, sparse=True).X
    assert sp.issparse(X)
    assert X.format == "csr"
    np.testing.assert_array_equal(X.toarray(), load_letor(TEXT).X)


def test_as_frame():
    pytest.importorskip("pandas")
    data = load_letor(TEXT, as_frame=True)
    assert data.X.index.equals(data.y.index)
    assert data.X.columns.tolist() == ["1", "2", "3"]
    groups = resolve_groups(None, data.y, n_samples=3, caller="a test")
    assert groups.tolist() == [10, 10, 9]
    sparse = load_letor(TEXT, as_frame=True, sparse=True)
    np.testing.assert_array_equal(sparse.X.to_numpy(), data.X.to_numpy())


BAD_LINES = [
    (b"x qid:1 1:1", "expected a finite grade at the start of the line, found 'x'"),
    (b"nan qid:1 1:1", "expected a finite grade at the start of the line, found 'nan'"),
    (b"inf qid:1 1:1", "expected a finite grade at the start of the line, found 'inf'"),
    (b"1 1:1", "expected 'qid:' and a query id after the grade, found '1:1'"),
    (b"1", "expected 'qid:' and a query id after the grade, found the end of the line"),
    (b"1 qid: 1:1", "expected a query id after 'qid:', found 'qid:'"),
    (b"1 qid:1 1", "expected a feature 'index:value', found '1' without a colon"),
    (b"1 qid:1 1 :2", "expected a feature 'index:value', found '1' without a colon"),
    (b"1 qid:1 :5", "expected a feature 'index:value', found ':5'"),
    (b"1 qid:1 a:5", "expected a feature 'index:value', found 'a:5'"),
    (b"1 qid:1 1.5:5", "expected a feature 'index:value', found '1.5:5'"),
    (b"1 qid:1 -1:5", "expected a feature 'index:value', found '-1:5'"),
    (b"1 qid:1 1:1 x", "expected a feature 'index:value', found 'x'"),
    (b"1 qid:1 1:1 qid:2", "expected a feature 'index:value', found 'qid:2'"),
    (b"1 qid:1 0:5", "expected a feature index of at least 1, found '0:5'"),
    (
        b"1 qid:1 2:1 2:1",
        "expected ascending feature indices without repetition, found",
    ),
    (
        b"1 qid:1 2:1 1:1",
        "expected ascending feature indices without repetition, found",
    ),
    (
        b"1 qid:1 9:1 1:1",
        "expected ascending feature indices without repetition, found",
    ),
    (b"1 qid:1 9:1 x:1", "expected a feature 'index:value', found 'x:1'"),
    (b"1 qid:1 2147483648:1", "expected a feature index of at most 2147483647, found"),
    (
        b"1 qid:1 99999999999999999999:1",
        "expected a feature index of at most 2147483647",
    ),
    (b"1 qid:1 1:", "expected a number after the colon, found '1:'"),
    (b"1 qid:1 1:abc", "expected a number after the colon, found '1:abc'"),
    (b"1 qid:1 1:1:1", "expected a number after the colon, found '1:1:1'"),
    (b"1 qid:1 1:inf", "expected a finite value (or NULL or nan for a missing one), f"),
    (
        b"1 qid:1 1:1e999",
        "expected a finite value (or NULL or nan for a missing one), f",
    ),
    (b"1 qid:1 1:1\rx", "expected the end of the line after a carriage return, found"),
    (
        b"1 qid:1 1:1 # a\r0 qid:1 1:2 # b\r",  # lines of old Macs
        "expected the end of the line after a carriage return, found '0'",
    ),
    (b"1 qid:1 1:1 \x00", "expected a feature 'index:value', found '\\x00'"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n0 qid:1 1:1 2:2\n"])
def test_malformed_lines(tmp_path, line, message, sparse, end):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"0 qid:1 1:1 2:0.5\n# comment\n" + line + end)
    with pytest.raises(ValueError) as caught:
        load_letor(path, sparse=sparse)
    assert str(caught.value).startswith(f"{path}, line 3: {message}")


def test_an_index_beyond_n_features():
    with pytest.raises(ValueError, match=r"<text>, line 1: .* at most n_features=2, f"):
        load_letor(b"1 qid:1 1:1 3:1\n", n_features=2)


def test_a_value_beyond_float32():
    text = b"1 qid:1 1:1e+308 2:-1e39\n"
    with pytest.raises(ValueError, match=r"line 1: .* range of float32, .*np\.float64"):
        load_letor(text)
    assert load_letor(text, dtype=np.float64).X.tolist() == [[1e308, -1e39]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clipped_values(dtype):
    # Istella's mark of a missing value rounds to infinity even in double precision.
    text = b"1 qid:1 1:1.79769313486232e+308 2:-inf 3:1e30\n"
    largest = np.finfo(dtype).max
    data = load_letor(text, dtype=dtype, clip=True)
    assert data.X.tolist() == [[largest, -largest, dtype(1e30)]]
    with pytest.raises(ValueError, match="clip=True takes the largest one instead"):
        load_letor(text, dtype=dtype)
    with pytest.raises(ValueError, match="expected a number after the colon"):
        load_letor(b"1 qid:1 1:x\n", dtype=dtype, clip=True)


def test_the_line_number_far_into_a_text():
    good = b"1 qid:1 1:0.125 2:0.5\n"
    with pytest.raises(ValueError, match=r"<text>, line 200001: "):
        load_letor(good * 200_000 + b"1 qid:1 1;2\n" + good)


def test_empty_sources(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.txt is empty"):
        load_letor(path)
    with pytest.raises(ValueError, match="<text> is empty"):
        load_letor(gzip.compress(b""))
    with pytest.raises(ValueError, match="has no documents"):
        load_letor(b"# nothing\n\n")


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"dtype must be np\.float32 or np\.float64"):
        load_letor(TEXT, dtype=np.int32)
    with pytest.raises(ValueError, match="n_features must be a whole number >= 0"):
        load_letor(TEXT, n_features=-1)
    with pytest.raises(TypeError, match="expected a path, an open file or bytes"):
        load_letor(3)
    with pytest.raises(FileNotFoundError):
        load_letor(tmp_path / "absent.txt")


@st.composite
def _data_sets(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    n = sum(sizes)
    width = 32 if dtype == np.float32 else 64
    number = st.floats(allow_nan=True, allow_infinity=False, width=width)
    X = draw(hnp.arrays(dtype, (n, draw(st.integers(1, 5))), elements=number))
    y = draw(hnp.arrays(np.float64, n, elements=st.floats(0, 1e300)))
    letters = st.text(
        st.characters(exclude_categories=["Z", "C"], exclude_characters="#")
    )
    kind = st.integers(-(2**63), 2**63 - 1) | letters.filter(bool)
    ids = draw(st.lists(kind, min_size=len(sizes), max_size=len(sizes)))
    if any(isinstance(qid, str) for qid in ids):
        ids = [f"q{qid}" for qid in ids]
    return X, y, np.repeat(np.array(ids), sizes)


@settings(deadline=None, max_examples=60)
@given(_data_sets(), st.booleans())
def test_round_trip(tmp_path_factory, data, sparse):
    X, y, groups = data
    path = tmp_path_factory.mktemp("letor") / "data.txt"
    dump_letor(sp.csr_matrix(X) if sparse else X, y, groups, path)
    back = load_letor(path, dtype=X.dtype, n_features=X.shape[1])
    np.testing.assert_array_equal(back.X, X)
    if not sparse:
        number = ~np.isnan(X)  # a missing value has no sign
        assert np.array_equal(np.signbit(back.X)[number], np.signbit(X)[number])
    assert np.array_equal(back.y, y)
    assert np.array_equal(back.groups, groups)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_round_trip_of_everything(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    data = load_letor(TEXT)
    dump_letor(*data, path, comments=data.comments)
    back = load_letor(path)
    np.testing.assert_array_equal(back.X, data.X)
    assert back.docids.tolist() == data.docids.tolist()
    assert back.comments.tolist() == data.comments.tolist()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_what_is_written(tmp_path):
    path = tmp_path / "a.txt"
    X = np.array([[0.1, 0.0], [0.0, -2.5]], dtype=np.float32)
    dump_letor(X, [1, 0.5], ["a", "a"], path, docids=["d1", "d2"], comments=["", "x y"])
    assert path.read_text() == (
        "1 qid:a 1:0.1 2:0 #docid = d1\n0.5 qid:a 1:0 2:-2.5 #docid = d2 x y\n"
    )
    dump_letor(X, [1, 0.5], [4, 4], path, skip_zeros=True)
    assert path.read_text() == "1 qid:4 1:0.1\n0.5 qid:4 2:-2.5\n"


def test_sparse_with_unsorted_and_repeated_entries(tmp_path):
    X = sp.csr_matrix(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    dump_letor(X, [1], [1], tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "1 qid:1 1:2 3:4\n"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": [[np.inf]]}, ValueError, "X must not contain infinity"),
        ({"X": [1.0]}, ValueError, "X must be two-dimensional"),
        ({"y": [1, 2]}, ValueError, r"y has shape \(2,\), expected \(1,\)"),
        ({"y": [np.nan]}, ValueError, "y must hold finite grades"),
        ({"groups": ["a b"]}, ValueError, "groups must not contain .* row 0 has 'a b'"),
        ({"groups": ["a#b"]}, ValueError, "groups must not contain"),
        ({"groups": [""]}, ValueError, "groups must not be empty"),
        ({"groups": [1.5]}, TypeError, "groups must hold integers or strings"),
        ({"groups": [1, 1]}, ValueError, "found 2 ids for 1 rows"),
        ({"docids": ["a b"]}, ValueError, "docids must not contain"),
        ({"docids": ["a", "b"]}, ValueError, "docids has 2 entries for 1 rows"),
        ({"docids": [None]}, ValueError, r"docids .* row 0 has none \(None\)"),
        ({"docids": [np.nan]}, ValueError, r"docids .* row 0 has none \(nan\)"),
        ({"comments": ["a\nb"]}, ValueError, "comments must not contain"),
        ({"comments": [pd.NA]}, ValueError, r"comments .* row 0 has none \(<NA>\)"),
    ],
)
def test_what_cannot_be_written(tmp_path, change, error, message):
    arguments = {"X": [[1.0]], "y": [1], "groups": [1], "path": tmp_path / "a.txt"}
    with pytest.raises(error, match=message):
        dump_letor(**{**arguments, **change})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "MQ2008/Fold1/train.txt",
        "OHSUMED/Fold2/vali.txt",
        "OHSUMED-min/Fold3/test.txt",
        "MSLR-sample/msn1.fold1.train.5k.txt",
    ],
)
def test_parity_with_scikit_learn(data_dir, name):
    path = data_dir / name
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    ours = load_letor(path, dtype=np.float64)
    assert np.array_equal(ours.X, X.toarray())
    assert np.array_equal(ours.y, y)
    assert np.array_equal(ours.groups, qid)
    single = load_letor(path)
    assert np.array_equal(single.X, ours.X.astype(np.float32))
    sparse = load_letor(path, sparse=True)
    assert np.array_equal(sparse.X.toarray(), single.X)


def test_docids_of_real_files(data_dir):
    data = load_letor(data_dir / "MQ2008/Fold1/train.txt")
    assert data.docids[0] == "GX008-86-4444840"
    assert all(data.docids)


WIDE = b"1 qid:1 1:1\n0 qid:1 2000000000:1\n"


@pytest.mark.parametrize("sparse", [False, True])
def test_one_large_index_is_named_with_the_parameter_that_accepts_it(sparse):
    message = (
        "^<text>, line 2: expected a feature index of at most 16777216, found "
        "'2000000000:1'; n_features=2000000000 or more accepts it$"
    )
    with pytest.raises(ValueError, match=message):
        load_letor(WIDE, sparse=sparse)
    with pytest.raises(ValueError, match=message):
        n_features_of(io.BytesIO(WIDE), sparse=sparse)


def test_names_of_many_features_take_no_memory():
    tracemalloc.start()
    data = load_letor(WIDE, sparse=True, n_features=2_000_000_000)
    assert data.X.shape == (2, 2_000_000_000)
    assert data.X[1, 1_999_999_999] == 1.0
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_the_largest_index_that_is_trusted():
    X = load_letor(b"1 qid:1 16777216:1\n", sparse=True).X
    assert X.shape == (1, 2**24)
    with pytest.raises(ValueError, match="n_features=16777217 or more accepts it"):
        load_letor(b"1 qid:1 16777217:1\n", sparse=True)


def test_a_dense_matrix_that_would_be_nearly_all_zeros():
    text = b"1 qid:1 16000000:1\n" * 17
    message = (
        "^<text>: the matrix of 17 rows and 16000000 features would be nearly all "
        "zeros; sparse=True stores the others only, and n_features=16000000 makes the "
        "matrix dense all the same$"
    )
    with pytest.raises(ValueError, match=message):
        load_letor(text)
    with pytest.raises(ValueError, match=message):
        n_features_of(text)
    assert load_letor(text, sparse=True).X.nnz == 17
    half = b"1 qid:1 8388608:1\n"  # two rows hold 2^24 numbers
    assert n_features_of(half * 2) == 2**23
    with pytest.raises(ValueError, match="the matrix of 3 rows and 8388608 features"):
        n_features_of(half * 3)
    assert n_features_of(text, sparse=True) == n_features_of(text[:19]) == 16_000_000


def test_a_long_text_may_make_a_larger_dense_matrix(monkeypatch):
    monkeypatch.setattr(_letor, "_DENSE_NUMBERS", 4)
    rows = b"1 qid:1 256:1\n" * 4  # 14 bytes each, of which each allows 64 numbers
    assert load_letor(rows).X.shape == (4, 256)
    monkeypatch.setattr(_letor, "_NUMBERS_PER_BYTE", 18)
    with pytest.raises(ValueError, match="the matrix of 4 rows and 256 features would"):
        load_letor(rows)


def test_a_dense_matrix_beyond_all_memory():
    n_rows, width = 2**18, 2**31 - 1  # 2^52 bytes: more than an address has bits
    text = b"1 qid:1\n" * n_rows
    message = "^<text>: there is not enough memory for the matrix of 262144 rows and"
    with pytest.raises(ValueError, match=message) as caught:
        load_letor(text, n_features=width, dtype=np.float64)
    assert str(caught.value).endswith("; sparse=True stores no zeros")


def test_one_long_id_does_not_widen_all_rows():
    long = "a" * 500_000
    text = f"1 qid:{long} 1:1\n" + "0 qid:b 1:1\n0 qid:c 1:1\n" * 10_000
    tracemalloc.start()
    groups = load_letor(text.encode()).groups
    assert tracemalloc.get_traced_memory()[1] < 1e7  # fixed width would take 4e10
    tracemalloc.stop()
    assert groups.dtype == object
    assert groups[[0, 1, 2, -1]].tolist() == [long, "b", "c", "c"]
    assert len({id(value) for value in groups}) == 3
    qrels = f"{long} 0 d1 1\n" + "".join(f"b 0 d{i} 1\n" for i in range(100))
    assert load_qrels(qrels.encode()).groups.dtype.kind == "O"


def test_ids_that_end_in_zero_bytes_are_other_ids():
    groups = load_letor(b"1 qid:a\0 1:1\n0 qid:a 1:1\n").groups
    assert groups.tolist() == ["a\0", "a"]
    assert check_groups(groups, 2).tolist() == ["a\0", "a"]
    assert QueryIndex.from_groups(groups).n_queries == 2
    assert load_qrels(b"a\0 0 d 1\na 0 d 1\n").groups.tolist() == ["a\0", "a"]
    assert load_letor(b"1 qid:a 1:1\n").groups.dtype == np.dtype("<U1")


@pytest.mark.skipif("SKRANK_SLOW_TESTS" not in os.environ, reason="reads 2 GiB of text")
def test_an_id_of_more_than_two_gibibytes(tmp_path):
    # The id is a hole in the file, so that it takes neither time nor room to write.
    path = tmp_path / "long.txt"
    with path.open("wb") as file:
        file.write(b"1 qid:")
        file.seek(2**31)
        file.write(b" 1:0.5\n")
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:
        parsed = parse_letor(text, np.float64, False, None, 1)
    assert parsed.qid_length.tolist() == [2**31 - 6]
    assert parsed.X.tolist() == [[0.5]]


def test_frames_of_ids_that_are_not_utf8(tmp_path):
    path = tmp_path / "letor.txt"
    path.write_bytes(b"1 qid:\xa0a 1:2\n0 qid:1 1:1\n")
    data = load_letor(path, as_frame=True)
    expected = load_letor(path).groups.tolist()
    assert data.X.index.get_level_values("qid").tolist() == expected
    assert data.y.tolist() == [1, 0]


@pytest.mark.parametrize("index", [2**31, 3 * 10**9, 10**12])
def test_the_largest_index_is_told_from_one_beyond_all(index):
    text = b"1 qid:1 1:1\n1 qid:1 %d:1\n" % index
    message = "line 2: expected a feature index of at most 2147483647, found"
    for sparse in (False, True):
        with pytest.raises(ValueError, match=message):
            n_features_of(text, sparse=sparse)


def test_sparse_rows_of_several_blocks_are_written(tmp_path):
    X = sp.csr_matrix(np.arange(9000.0).reshape(3000, 3))
    dump_letor(X, np.ones(3000), np.ones(3000, dtype=int), tmp_path / "rows")
    read = load_letor(tmp_path / "rows", dtype=np.float64).X
    np.testing.assert_array_equal(read, X.toarray())
