"""The compiled parser and writer of LETOR text, against Python's own float()."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank._core._letor import (
    ParseError,
    format_dense,
    format_sparse,
    largest_index,
    parse_fields,
    parse_letor,
    parse_numbers,
)


def _parse_values(texts, dtype=np.float64, n_threads=1):
    """Values of a one-column file, as the parser of features reads them."""
    lines = "".join(f"0 qid:1 1:{text}\n" for text in texts)
    return parse_letor(lines.encode(), dtype, False, None, n_threads).X.ravel()


def _bits(values):
    return np.asarray(values, dtype=np.float64).view(np.uint64)


def _random_decimals(rng, n):
    """Decimal numbers of every shape: digits before and after, sign, exponent."""
    texts = []
    digits = rng.integers(0, 10, size=(n, 34)).astype(str)
    for row in digits:
        whole = "".join(row[: rng.integers(0, 12)])
        part = "".join(row[12 : rng.integers(12, 34)])
        text = rng.choice(["", "-", "+"]) + whole
        if part or not whole:
            text += "." + (part or "5")
        if rng.random() < 0.3:
            text += rng.choice(["e", "E"]) + rng.choice(["", "-", "+"])
            text += str(rng.integers(0, 30))
        texts.append(text)
    return texts


def test_random_decimals_are_correctly_rounded(rng):
    texts = _random_decimals(rng, 10_000)
    assert np.array_equal(
        _bits(_parse_values(texts)), _bits([float(text) for text in texts])
    )


def test_short_decimals_are_correctly_rounded(rng):
    # The forms that real files have: a few digits, up to eight decimals.
    values = rng.normal(size=20_000) * 10.0 ** rng.integers(-3, 5, size=20_000)
    texts = [f"{v:.{rng.integers(0, 9)}f}" for v in values]
    assert np.array_equal(_bits(_parse_values(texts)), _bits(list(map(float, texts))))


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-0",
        "-0.0",
        "00012",
        "5.",
        ".5",
        "-.25",
        "+3",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "12345678",
        "123456789",
        "1234567.12345678",
        "0.000000000000000000000001",
        "1e22",
        "1e23",
        "8.5e-324",
        "4.9406564584124654e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "1e-400",
        "-1e-999999999999",
        "0e999999999",
        "0.1e1",
        "179769313486231570" + "0" * 291,
        "0." + "0" * 400 + "1",
        "3.14159265358979323846264338327950288",
        "7.2057594037927933e16",
        "1e-18446744073709551616",  # beyond 64 bits, which must not wrap around to 0
        "1" + "0" * 300 + "e-18446744073709551316",
        "99999999.99999999",
        "999.9999999999999999",
        "9998.1999999999999999",
        "9007199.254740993",
    ],
)
def test_hard_decimals_are_correctly_rounded(text):
    assert _bits(_parse_values([text]))[0] == _bits([float(text)])[0]


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 2**64 - 1).map(lambda i: struct.unpack("<d", struct.pack("<Q", i)))
)
def test_any_double_survives_its_repr(value):
    (value,) = value
    if not np.isfinite(value):
        return
    assert _bits(_parse_values([repr(value)]))[0] == _bits([value])[0]


def test_float32_is_the_rounded_double(rng):
    values = rng.normal(size=5000) * 10.0 ** rng.integers(-9, 9, size=5000)
    texts = [repr(v) for v in values.tolist()]
    single = _parse_values(texts, np.float32)
    assert single.dtype == np.float32
    assert np.array_equal(single, _parse_values(texts).astype(np.float32))


@pytest.mark.parametrize("text", ["nan", "NaN", "NULL", "null", "-nan"])
def test_missing_values(text):
    assert np.isnan(_parse_values([text])[0])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "bad_value"),
        ("-", "bad_value"),
        (".", "bad_value"),
        ("1.2.3", "bad_value"),
        ("1e", "bad_value"),
        ("1e+", "bad_value"),
        ("0x1p3", "bad_value"),
        ("1_000", "bad_value"),
        ("--1", "bad_value"),
        ("1:2", "bad_value"),
        ("12a", "bad_value"),
        ("é", "bad_value"),
        ("nullx", "bad_value"),
        ("inf", "not_finite"),
        ("-Infinity", "not_finite"),
        ("1e309", "not_finite"),
        ("1" + "0" * 309, "not_finite"),
    ],
)
def test_what_is_no_number(text, reason):
    with pytest.raises(ParseError) as caught:
        _parse_values(["1", text])
    assert caught.value.reason == reason
    # The fault is the feature of the second line: "0 qid:1 1:1\n" has 12 bytes.
    assert caught.value.offset == 12 + len("0 qid:1 ")


def _reference(text, n_features):
    """What a plain reader makes of well-formed text."""
    rows, labels = [], []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if not words:
            continue
        labels.append(float(words[0]))
        row = np.zeros(n_features)
        for word in words[2:]:
            index, value = word.split(":")
            row[int(index) - 1] = float(value)
        rows.append(row)
    return np.array(rows), np.array(labels)


def _random_text(rng, n_rows, n_features, density):
    lines = []
    for i in range(n_rows):
        columns = np.flatnonzero(rng.random(n_features) < density) + 1
        values = zip(
            columns, rng.normal(size=n_features), rng.integers(1, 12, n_features)
        )
        blank = rng.choice([" ", "\t", "  "])
        features = blank.join(f"{j}:{value:.{digits}g}" for j, value, digits in values)
        end = rng.choice(["", " ", "\r", " # c:9", "#docid = 7 \r"])
        lines.append(f"{rng.integers(0, 5)} qid:{i // 7} {features}{end}")
        if rng.random() < 0.05:
            lines.append(rng.choice(["", "# all comment 7:1", " \t", "\r"]))
    return "\n".join(lines)


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n"])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_dense_and_sparse_agree_with_a_plain_reader(rng, density, end):
    text = _random_text(rng, 60, 13, density) + end
    X, y = _reference(text, 13)
    dense = parse_letor(text.encode(), np.float64, False, 13, 1)
    assert np.array_equal(dense.X, X)
    assert np.array_equal(dense.y, y)
    sparse = parse_letor(text.encode(), np.float64, True, 13, 1)
    assert np.array_equal(np.diff(sparse.indptr), (X != 0).sum(axis=1))
    rows, columns = np.nonzero(X)
    assert np.array_equal(sparse.indices, columns)
    assert np.array_equal(sparse.data, X[rows, columns])
    assert largest_index(text.encode(), 1) == (len(y), dense.max_index)


def _long_text(rng):
    """Text of several chunks."""
    text = _random_text(rng, 600, 60, 0.5).split("\n") * 20
    return "\n".join(text).encode()


def test_threads_and_chunks_do_not_change_the_result(rng):
    text = _long_text(rng)
    assert len(text) > 3 << 20
    one = parse_letor(text, np.float32, False, None, 1)
    for n_threads in (2, 5):
        many = parse_letor(text, np.float32, False, None, n_threads)
        assert np.array_equal(one.X, many.X)
        for name in ("y", "qid", "qid_start", "qid_length", "comment_start"):
            assert np.array_equal(getattr(one, name), getattr(many, name))
        sparse = parse_letor(text, np.float32, True, None, n_threads)
        assert np.array_equal(sparse.data, one.X[np.nonzero(one.X)])


def test_first_of_several_faults_is_reported(rng):
    lines = _long_text(rng).split(b"\n")
    for bad in (11_000, 7_000, 4_000):
        lines[bad] = b"oops"
    text = b"\n".join(lines)
    for n_threads in (1, 3):
        with pytest.raises(ParseError) as caught:
            parse_letor(text, np.float32, False, None, n_threads)
        assert caught.value.offset == text.index(b"oops")


def test_lines_of_very_different_lengths():
    # Many chunks would begin within one line, which is longer than all others together.
    features = b" ".join(b"%d:1" % j for j in range(1, 400_000))
    text = b"1 qid:3 1:1\n" * 100_000 + b"2 qid:3 " + features + b"\n0 qid:4 2:5\n"
    for n_threads in (1, 2):
        parsed = parse_letor(text, np.float32, True, None, n_threads)
        assert np.bincount(parsed.y.astype(int)).tolist() == [1, 100_000, 1]
        assert parsed.qid[-2:].tolist() == [3, 4]
        assert np.diff(parsed.indptr).tolist() == [1] * 100_000 + [399_999, 1]
        assert (parsed.indices[-1], parsed.data[-1]) == (1, 5.0)


@pytest.mark.parametrize("length", range(1, 40))
def test_no_text_is_read_beyond_its_end(length):
    # Every way to cut a line either parses or is a fault, in a buffer of exact size.
    line = b"1 qid:3 1:0.25 12:123.5 #docid = a end"[:length]
    try:
        parsed = parse_letor(line, np.float64, False, None, 1)
    except ParseError:
        return
    assert parsed.y.tolist() == [1.0]


def test_integer_ids_and_others():
    def ids_are_integers(*ids):
        text = "".join(f"0 qid:{qid} 1:1\n" for qid in ids)
        return parse_letor(text.encode(), np.float32, False, None, 1).integer_qids

    assert ids_are_integers(7, -3, 0, 2**63 - 1)
    assert not ids_are_integers(7, "07")
    assert not ids_are_integers(2**63)
    assert not ids_are_integers("1.0")
    assert not ids_are_integers("a")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_written_numbers_read_back(rng, dtype):
    bits = rng.integers(0, 2**64, size=4000, dtype=np.uint64)
    X = bits.view(dtype)
    X = X[np.isfinite(X)][:3000].reshape(-1, 10)
    n = len(X)
    y = rng.normal(size=n)
    text = format_dense(X, y, [b"q"] * n, [b""] * n, False)
    parsed = parse_letor(text, dtype, False, None, 1)
    assert np.array_equal(parsed.X, X)
    assert np.array_equal(np.signbit(parsed.X), np.signbit(X))
    assert np.array_equal(parsed.y, y)


def test_written_sparse_rows(rng):
    data = np.array([0.5, 0.0, -2.0])
    indices = np.array([1, 2, 0], dtype=np.int32)
    indptr = np.array([0, 2, 2, 3], dtype=np.int64)
    text = format_sparse(
        data, indices, indptr, np.array([1.0, 0.0, 2.5]), [b"a"] * 3, [b"", b" #x", b""]
    )
    assert text == b"1 qid:a 2:0.5\n0 qid:a #x\n2.5 qid:a 1:-2\n"


def test_fields_of_lines():
    text = b"# no\n  a \t bb ccc dd\n\n1 2 3\r\n"
    starts, lengths = parse_fields(text, 3)
    words = [[text[a : a + n] for a, n in zip(*row)] for row in zip(starts, lengths)]
    assert words == [[b"a", b"bb", b"ccc"], [b"1", b"2", b"3"]]
    assert parse_numbers(text, starts[1:, 2], lengths[1:, 2]).tolist() == [3.0]
    with pytest.raises(ParseError) as caught:
        parse_fields(text, 4)
    assert caught.value.reason == "too_few_fields"
    with pytest.raises(ParseError) as caught:
        parse_numbers(text, starts[:, 0], lengths[:, 0])
    assert (caught.value.reason, caught.value.offset) == (
        "bad_value",
        text.index(b"a "),
    )


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        ("1 qid:1", 0),
        ("1 qid:7 2:1 12:1", 12),
        ("1 qid:7 2:1\t12:1 \r", 12),
        ("1 qid:7 3:1 # 9:1", 3),
        ("1 qid:7 3:1#9:1", 3),
        ("1 qid:7 2147483647:1", 2147483647),
        ("1 qid:7 2147483648:1", 2147483647),  # no index: parsing will say so
        ("1 qid:7 9999999999:1", 2147483647),
        ("1 qid:7 12345678901:1", 2147483647),
        ("1 qid:7 0000000000000000012:1", 12),
        ("1 qid:7 a12:1", 0),
        ("1 qid:7 1.2:1", 0),
        ("12:1", 0),
        (":1", 0),
        ("#1 qid:7 12:1\n1 qid:7 3:1", 3),
        ("1 qid:7 3:1\n\n1 qid:7 12:1\n1 qid:7 4:1\n", 12),
    ],
)
def test_the_largest_index_is_the_last_one_of_a_line(text, largest):
    n_lines = sum(not line.startswith("#") and line != "" for line in text.split("\n"))
    assert largest_index(text.encode(), 1) == (n_lines, largest)


def test_an_index_with_many_zeros_before_it():
    text = b"1 qid:7 000000000000000000003:0.5\n"
    for sparse in (False, True):
        parsed = parse_letor(text, np.float64, sparse, None, 1)
        assert parsed.max_index == 3
    assert parsed.indices.tolist() == [2]


@pytest.mark.parametrize("index", [2**31, 2**32 + 1, 2**63 + 1, 2**64 + 1])
def test_an_index_that_would_wrap_around(index):
    text = f"1 qid:7 {index}:0.5\n".encode()
    with pytest.raises(ParseError) as caught:
        parse_letor(text, np.float64, False, 5, 1)
    assert caught.value.reason == "index_too_large"


def test_lines_of_carriage_returns_are_blank():
    text = b"1 qid:7 1:2\n\r\r\n \r\r\r\n0 qid:7 1:3\r\r\n"
    for sparse in (False, True):
        parsed = parse_letor(text, np.float64, sparse, None, 1)
        assert parsed.y.tolist() == [1.0, 0.0]
    assert parsed.data.tolist() == [2.0, 3.0]


def test_zeros_in_the_text_are_not_stored():
    text = b"1 qid:7 1:0 2:-0.0 3:2 4:0e5\n0 qid:7 4:1e-400\n1 qid:7 2:1 3:0\n"
    parsed = parse_letor(text, np.float64, True, None, 1)
    assert parsed.indptr.tolist() == [0, 1, 1, 2]
    assert parsed.indices.tolist() == [2, 1]
    assert parsed.data.tolist() == [2.0, 1.0]


def test_single_precision_that_rounding_twice_would_miss():
    # Read as a double first, the shortest text of this number becomes its neighbour.
    value = np.array([[363742205]], dtype=np.uint32).view(np.float32)
    assert np.float32(float(str(value[0, 0]))) != value
    text = format_dense(value, np.zeros(1), [b"q"], [b""], False)
    X = parse_letor(text, np.float32, False, None, 1).X
    assert np.array_equal(X, value)


def test_rows_and_columns_are_named_before_memory_is_taken():
    sizes = []

    def check_size(n_rows, n_features):
        sizes.append((n_rows, n_features))
        raise MemoryError("enough")

    text = b"1 qid:7 2000000000:0.5\n0 qid:7 1:1"
    for n_features in (None, 2**31 - 1):
        with pytest.raises(MemoryError, match="enough"):
            parse_letor(text, np.float64, False, n_features, 1, False, check_size)
    assert sizes == [(2, 2_000_000_000), (2, 2**31 - 1)]
    with pytest.raises(ValueError, match="n_features must fit 31 bits, got 2147483648"):
        parse_letor(text, np.float64, False, 2**31, 1)
