"""Readers and writers of logs: what a plain loop reads, piece by piece and damaged."""

import bz2
import datetime
import gzip
import uuid
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from _odd import Call, odd_answers
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank._core._id_arrays import id_array
from skrank.click import Sessions, iter_sessions, load_sessions, save_sessions
from skrank.click import _reading as reading
from skrank.click import _reading_yandex as yandex

LOG = b"q1\ta,b,c : b; q1\tb,a,c :  ; \r\n\ntwo words\tc,a : c , a , c\nq1\tx :;"


def as_lists(sessions):
    """Return (query, documents, clicked documents) of each session."""
    shown = sessions.document_ids[sessions.document].tolist()
    marks = sessions.click.tolist()
    queries = sessions.query_ids[sessions.query].tolist()
    bounds = zip(sessions.ptr[:-1].tolist(), sessions.ptr[1:].tolist())
    return [
        (q, shown[a:b], [d for d, c in zip(shown[a:b], marks[a:b]) if c])
        for q, (a, b) in zip(queries, bounds)
    ]


def read_by_a_loop(text):
    """Read the format of Yandex without any care for speed."""
    found = []
    for line in text.split("\n"):
        for session in line.split(";"):
            if session.strip():
                query, rest = session.split("\t")
                documents, clicks = rest.split(":")
                documents = [d.strip() for d in documents.split(",")]
                clicks = {c.strip() for c in clicks.split(",")}
                clicked = [d for d in documents if d in clicks]
                found.append((query.strip(), documents, clicked))
    return found


def test_sessions_of_yandex():
    found = as_lists(load_sessions(LOG))
    assert found == [
        ("q1", ["a", "b", "c"], ["b"]),
        ("q1", ["b", "a", "c"], []),
        ("two words", ["c", "a"], ["c", "a"]),
        ("q1", ["x"], []),
    ]
    assert found == read_by_a_loop(LOG.decode())


@st.composite
def logs(draw):
    ids = st.sampled_from(["a", "b", "cc", "1", "é", "01"])
    sessions = draw(
        st.lists(st.tuples(ids, st.lists(ids, min_size=1, unique=True)), min_size=1)
    )
    text = ""
    for query, documents in sessions:
        clicks = draw(st.lists(st.sampled_from(documents), max_size=3))
        end = draw(st.sampled_from([";", "\n", "; \n", " ;", "\n\n", ";;"]))
        text += f"{query}\t{','.join(documents)} : {' , '.join(clicks)}{end}"
    return text


@settings(max_examples=60, deadline=None)
@given(logs(), st.integers(1, 40), st.integers(1, 12))
def test_yandex_by_a_loop_in_blocks_and_in_pieces(text, size, chunk):
    expected = read_by_a_loop(text)
    data = text.encode()
    assert as_lists(load_sessions(data, format="yandex")) == expected
    log = yandex.YandexLog("log", "raise")
    parts = [log.read(*block) for block in yandex.blocks_of(data, size=size)]
    assert as_lists(reading._made(log, parts, False)) == expected
    pieces = list(iter_sessions(data, chunk, format="yandex"))
    assert [one for piece in pieces for one in as_lists(piece)] == expected
    for piece in pieces:
        assert piece.n_impressions <= chunk or len(piece) == 1


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"q1\ta : a\nq2 a,b : a\n", "line 2: expected a session .*found 'q2 a,b : a'"),
        (b"q1\ta : a;\n\n q2\ta,b\n", "line 3: expected a session .*, found"),
        (b"q1\ta : a; q2\ta : b : c", "line 1: expected a session"),
        (b"q1\ta\tb : a", "line 1: expected a session"),
        (b"q1\n\ta : a", "line 1: expected a session .* found 'q1'"),
        (b"q1\ta : a\nq2\ta,,b : a", "line 2: expected the id of a document, found no"),
        (b"q1\ta : a ,", "line 1: expected the id of a clicked document, found noth"),
        (b"q1\ta : a\n \ta : a", "line 2: expected the id of a query, found nothing"),
        (b"q1\t : a", "line 1: expected the id of a document"),
        (b"q1\ta :;\nq1\tb : a", "line 2: document 'a' was clicked and not shown"),
        (b"q1\ta : z", "line 1: document 'z' was clicked and not shown in this"),
        (b"", "<text> is empty"),
        (b" ; \n;", "<text> has no sessions"),
    ],
)
@pytest.mark.parametrize("load", [load_sessions, iter_sessions])
def test_damaged_logs_of_yandex(log, words, load):
    with pytest.raises(ValueError, match=words):
        list(load(log, format="yandex"))


def test_the_lines_of_later_blocks_are_counted(monkeypatch):
    log = b"q\ta : a\n" * 500 + b"q\ta\n"
    cut = yandex.blocks_of
    monkeypatch.setattr(reading, "blocks_of", lambda data, *ends: cut(data, *ends, 64))
    with pytest.raises(ValueError, match="line 501: expected a session"):
        load_sessions(log, format="yandex")
    with pytest.raises(ValueError, match="line 501: expected a session"):
        list(iter_sessions(log, 7, format="yandex"))


def test_stray_clicks_are_left_out_on_request():
    log = b"q\ta,b : z , a , c; q\tc : a"
    found = as_lists(load_sessions(log, stray_clicks="drop"))
    assert found == [("q", ["a", "b"], ["a"]), ("q", ["c"], [])]
    pieces = iter_sessions(log, 1, format="yandex", stray_clicks="drop")
    assert [len(piece) for piece in pieces] == [1, 1]


def test_a_click_on_a_document_shown_twice_is_on_the_first():
    sessions = load_sessions(b"q\ta,b,a : a", format="yandex")
    assert sessions.click.tolist() == [1, 0, 0]


def test_ids_are_text_unless_numbers_are_asked_for():
    log = b"7\t10,9 : 9"
    assert load_sessions(log).document_ids.tolist() == ["10", "9"]
    numbers = load_sessions(log, numeric_ids=True)
    assert numbers.document_ids.tolist() == [9, 10]
    assert numbers.document_ids.dtype == np.int64
    with pytest.raises(ValueError, match="ids of each document, found '01'"):
        load_sessions(b"7\t01 :", numeric_ids=True)


TABLE = (
    b"session\tquery\tdocument\tposition\tclick\n"
    b"s1\tq\tb\t2\t1\n"
    b"s1\tq\ta\t1\t0\n"
    b"\n"
    b"s2\tp\ta\t1\tTrue\r\n"
)
EXPECTED = [("q", ["a", "b"], ["b"]), ("p", ["a"], ["a"])]


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.split(b"\n", 1)[1],
        b"click\tother\tdocument\tquery\tsession\n0\tx\ta\tq\ts1\n1\t\tb\tq\ts1\n"
        b"true\tz\ta\tp\ts2",
        b"\n\r\n" + TABLE,
        b"\r\n\n" + TABLE.split(b"\n", 1)[1],
        TABLE.replace(b"\n", b"\r\r\n"),
    ],
)
@pytest.mark.parametrize("size", [5, 1 << 22])
def test_tables_of_text(table, size, monkeypatch):
    pieces_of = partial(reading.blocks_of, size=size)
    monkeypatch.setattr(reading, "blocks_of", pieces_of)
    sessions = load_sessions(table)
    assert as_lists(sessions) == EXPECTED
    assert sessions.session_ids.tolist() == ["s1", "s2"]
    for chunk in (1, 2, 3, 100):
        pieces = list(iter_sessions(table, chunk))
        assert [one for piece in pieces for one in as_lists(piece)] == EXPECTED


def test_rows_in_any_order_are_for_whole_logs():
    table = b"s1\tq\tb\t2\t1\ns2\tp\ta\t1\t1\ns1\tq\ta\t1\t0\n"
    assert as_lists(load_sessions(table)) == EXPECTED
    for chunk in (1, 2, 3):
        words = "the rows of a session must be adjacent|session 's1' comes again after"
        with pytest.raises(ValueError, match=words):
            list(iter_sessions(table, chunk))
    in_turn = table.replace(b"\t2\t1\n", b"\t1\t1\n")
    for chunk in (1, 2, 3):
        with pytest.raises(ValueError, match="line 3: session 's1' comes again after"):
            list(iter_sessions(in_turn, chunk))


def test_a_session_that_comes_again_much_later_is_noticed():
    rows = [f"s{i}\tq\ta\t1\t0\n" for i in [*range(300), 17]]
    with pytest.raises(ValueError, match="line 301: session 's17' comes again"):
        list(iter_sessions("".join(rows).encode(), 10))
    pieces = list(iter_sessions("".join(rows[:300]).encode(), 10))
    assert (len(pieces), sum(map(len, pieces))) == (31, 300)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            (b"\t2\t1\n", b"\t2\n"),
            "line 2: expected 5 fields, separated by tabs, found",
        ),
        ((b"\t1\t0\n", b"\t1\t0\t\n"), "line 3: expected 5 fields"),
        ((b"\t2\t1\n", b"\t2\t2\n"), "line 2: expected 0 or 1 as click, found '2'"),
        ((b"\ta\t1\tT", b"\ta\tx\tT"), "line 5: expected a whole number from 1 as pos"),
        ((b"\ta\t1\tT", b"\ta\t1.0\tT"), "line 5: expected a whole number from 1"),
        ((b"\ta\t1\tT", b"\ta\t" + b"9" * 30 + b"\tT"), "line 5: expected a whole"),
        ((b"\ta\t1\t0", b"\t\t1\t0"), "line 3: the document has no id"),
        ((b"s1\tq\tb", b"\tq\tb"), "line 2: the session has no id"),
        ((b"s1\tq\tb", b"s1\tp\tb"), "<text>: query must be the same in all rows"),
        ((b"b\t2\t1", b"b\t3\t1"), r"from 1 to 2; session 's1' has \[1, 3\]"),
        ((b"position", b"click"), "line 1: the name 'click' occurs twice"),
        ((b"document", b"x\ty"), "line 1: expected the fields session, query"),
        ((b"session\t", b"\n\n"), "line 3: expected the fields session, query"),
        ((b"session\tquery", b"\nquery\tquery\tsession"), "line 2: the name 'query'"),
        ((b"session", b" \nsession"), "line 1: expected the fields session, query"),
        *(
            ((b"\ta\t1\tT", b"\ta\t" + place + b"\tT"), "line 5: expected a whole")
            for place in (b"+1", b"0_1", b" 1", b"1 ", b"01", b"", "١".encode())
        ),
        ((b"True", b"TRUE"), "line 5: expected 0 or 1 as click, found 'TRUE'"),
    ],
)
@pytest.mark.parametrize("load", [load_sessions, iter_sessions])
def test_damaged_tables(change, words, load):
    with pytest.raises(ValueError, match=words):
        list(load(TABLE.replace(*change, 1), format="tsv"))


@pytest.mark.parametrize("load", [load_sessions, iter_sessions])
@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"session\tquery\tdocument\tclick\n", "has no rows"),
        (b"\n\r\n", "has no rows"),
        (b"\n \n", "line 2: expected the fields session"),
    ],
)
def test_tables_without_rows(load, log, words):
    with pytest.raises(ValueError, match=words):
        list(load(log, format="tsv"))


@pytest.mark.parametrize("load", [load_sessions, iter_sessions])
def test_words_and_digits_of_clicks(load):
    words = (b"0", b"1", b"False", b"True", b"false", b"true")
    lines = [b"s%d\tq\ta\t1\t%s\n" % pair for pair in enumerate(words)]
    found = load(b"".join(lines), format="tsv")
    parts = [found] if load is load_sessions else list(found)
    clicks = np.concatenate([part.click for part in parts])
    assert clicks.tolist() == [0, 1, 0, 1, 0, 1]


def test_packed_files_and_formats_by_name(tmp_path):
    for name, data in [
        ("log.tsv", TABLE),
        ("log.tsv.gz", gzip.compress(TABLE)),
        ("log.bz2", bz2.compress(TABLE)),
        ("log", TABLE),
    ]:
        path = tmp_path / name
        path.write_bytes(data)
        assert as_lists(load_sessions(path)) == EXPECTED
        parts = iter_sessions(path)
        assert [one for part in parts for one in as_lists(part)] == EXPECTED
    packed = tmp_path / "damaged.tsv.gz"
    packed.write_bytes(gzip.compress(TABLE)[:-9])
    with pytest.raises(ValueError, match=r"damaged.tsv.gz is damaged"):
        load_sessions(packed)


def made(seed=0, n=20, kind=str):
    rng = np.random.RandomState(seed)
    lists = [rng.permutation(6)[: rng.randint(1, 6)].tolist() for _ in range(n)]
    return Sessions.from_lists(
        list(map(kind, rng.randint(0, 5, n).tolist())),
        [list(map(kind, row)) for row in lists],
        [rng.randint(0, 2, len(row)).tolist() for row in lists],
        [kind(-i) for i in range(n)],
    )


@pytest.mark.parametrize(
    "suffix", [".tsv", ".tsv.gz", ".tsv.xz", ".tsv.GZ", ".TSV.BZ2", ".parquet"]
)
@pytest.mark.parametrize("kind", [str, int])
def test_what_is_saved_is_loaded(tmp_path, suffix, kind):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"log{suffix}"
    sessions = made(kind=kind)
    save_sessions(sessions, path)
    assert (path.read_bytes()[:7] == b"session") == (suffix == ".tsv")
    options = {"numeric_ids": kind is int}
    found = load_sessions(path, **options)
    assert as_lists(found) == as_lists(sessions)
    assert found.session_ids.tolist() == sessions.session_ids.tolist()
    for chunk in (1, 4, 7, 50):
        parts = list(iter_sessions(path, chunk, **options))
        assert as_lists(Sessions.concat(parts)) == as_lists(sessions)
        assert all(p.n_impressions <= chunk or len(p) == 1 for p in parts)
    if suffix != ".parquet":
        with open(path, "rb") as file:
            parts = list(iter_sessions(file, 4, **options))
        assert as_lists(Sessions.concat(parts)) == as_lists(sessions)
    save_sessions(sessions[::-1], tmp_path / f"again{suffix}")
    again = load_sessions(tmp_path / f"again{suffix}", **options)
    assert as_lists(again) == as_lists(sessions)[::-1]


def test_a_table_is_written_while_its_lines_are_made(tmp_path, monkeypatch):
    """An interrupt ends it at once, and no list of all lines is needed."""
    made_so_far = []

    def lines(sessions):
        for i in range(100_000):
            made_so_far.append(i)
            yield b"%d" % i

    def stop(file, content):
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "table_lines", lines)
    monkeypatch.setattr("skrank._core._writing._InBlocks.write", stop)
    with pytest.raises(KeyboardInterrupt):
        save_sessions(made(), tmp_path / "log.tsv.gz")
    assert 0 < len(made_so_far) < 10_000
    assert list(tmp_path.iterdir()) == []


def test_sessions_without_ids_are_numbered(tmp_path):
    sessions = Sessions.from_lists(["q", "q"], [["a", "b"], ["a"]], [[0, 1], [0]])
    save_sessions(sessions, tmp_path / "log.tsv")
    assert (tmp_path / "log.tsv").read_text() == (
        "session\tquery\tdocument\tposition\tclick\n"
        "0\tq\ta\t1\t0\n0\tq\tb\t2\t1\n1\tq\ta\t1\t0\n"
    )


@pytest.mark.parametrize(
    ("sessions", "name", "words"),
    [
        (made(), "log.txt", "path must end in .tsv"),
        (made(), "log.tsv.zip", "path must end in .tsv"),
        (made(), "log.tsv.ZIP", "path must end in .tsv"),
        (made(), "log.parquet.gz", "path must end in .tsv"),
        (made()[[0, 0]], "log.tsv", "session_ids holds an id twice"),
        (
            Sessions.from_lists(["q"], [[1, "1"]], [[0, 0]]),
            "log.tsv",
            "document_ids holds two ids of the same text",
        ),
        (
            Sessions.from_lists(["q"], [["a\tb"]], [[0]]),
            "log.tsv",
            "document_ids must not contain what separates fields",
        ),
        (Sessions.from_lists([""], [["a"]], [[0]]), "log.tsv", "query_ids holds an id"),
        (Sessions.from_lists(["q"], [[]], [[]]), "log.tsv", "session 0 has no docum"),
    ],
)
def test_what_cannot_be_saved(tmp_path, sessions, name, words):
    with pytest.raises(ValueError, match=words):
        save_sessions(sessions, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", ["1", 2**70])
def test_ids_that_parquet_cannot_hold(other, tmp_path):
    pytest.importorskip("pyarrow")
    sessions = Sessions.from_lists(["q"], [[1, other]], [[0, 0]])
    with pytest.raises(ValueError, match="Parquet cannot hold ids of these types"):
        save_sessions(sessions, tmp_path / "log.parquet")


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        ([b"x", "x"], TypeError, "must hold text, got bytes"),
        (np.array([b"x", b"x\0y"]), TypeError, "must hold text, got bytes"),
        (
            [(1, 2), (3, 4)],
            ValueError,
            "Parquet cannot hold ids of these types: .*hash",
        ),
        (
            [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5)],
            ValueError,
            r"datetime\(2020, 1, 1, 5, 0\) of {}_ids would become .*2020-01-01",
        ),
        (
            [datetime.time(1, tzinfo=datetime.UTC), datetime.time(2)],
            ValueError,
            "of {}_ids would become datetime.time",
        ),
        ([uuid.UUID(int=1), uuid.UUID(int=2)], ValueError, "{}_ids|UUID"),
    ],
    ids=["bytes and text", "bytes", "tuples", "days and times", "times", "uuid"],
)
@pytest.mark.parametrize("role", ["session", "query", "document"])
def test_ids_that_parquet_would_change(ids, kind, message, role, tmp_path):
    pytest.importorskip("pyarrow")
    if isinstance(ids, list):
        ids = id_array(ids)
    plain = {"session": None, "query": ["q", "p"], "document": ["a", "b"]}
    given = plain | {role: ids}
    sessions = Sessions(
        [0, 1],
        [0, 1],
        [1, 0],
        [0, 1, 2],
        given["query"],
        given["document"],
        given["session"],
    )
    with pytest.raises(kind, match=message.format(role)):
        save_sessions(sessions, tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("zone", [datetime.UTC, ZoneInfo("Europe/Berlin")])
def test_times_keep_their_zone_in_parquet(zone, tmp_path):
    pytest.importorskip("pyarrow")
    ids = [datetime.datetime(2020, 1, 1, hour, tzinfo=zone) for hour in (5, 6)]
    sessions = Sessions.from_lists(ids, [["a"], ["b"]], [[1], [0]])
    path = tmp_path / "log.parquet"
    save_sessions(sessions, path)
    expected = [(ids[0], ["a"], ["a"]), (ids[1], ["b"], [])]
    assert as_lists(load_sessions(path)) == expected
    assert [one for part in iter_sessions(path) for one in as_lists(part)] == expected


@pytest.mark.parametrize("name", ["log.parquet", "log.tsv"])
def test_ids_that_begin_with_nul_stay_apart(name, tmp_path):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    shown = [["\0a", "\0b"], ["\0a"]]
    ids = ["\0s", "\0t"]
    sessions = Sessions.from_lists(["\0q", "\0r"], shown, [[1, 0], [1]], ids)
    save_sessions(sessions, tmp_path / name)
    loaded = load_sessions(tmp_path / name)
    assert as_lists(loaded) == as_lists(sessions)
    assert loaded.session_ids.tolist() == ids


def test_damaged_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "log.parquet"
    columns = {"session": [1, 1], "query": ["q", "q"], "document": ["a", "b"]}
    good = columns | {"position": [1, 2], "click": [0, 1]}
    for change, words in [
        ({"click": [0, 3]}, "column 'click' must hold 0 and 1; entry 1 is 3"),
        ({"click": [0, None]}, "column 'click' must hold 0 and 1"),
        ({"position": [1, None]}, "column 'position' must hold whole numbers"),
        ({"position": [1.0, 2.0]}, "column 'position' must hold whole numbers"),
        ({"document": ["a", None]}, "column 'document'"),
        ({"session": [1, None]}, "column 'session'"),
        ({"query": ["q", "p"]}, "log.parquet: query must be the same"),
    ]:
        parquet.write_table(pa.table(good | change), path)
        for load in (load_sessions, iter_sessions):
            with pytest.raises(ValueError, match=words):
                list(load(path))
    parquet.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match="has no column 'click'; its columns are"):
        load_sessions(path)
    parquet.write_table(pa.table(good), path)
    path.write_bytes(path.read_bytes()[:-20])
    for load in (load_sessions, iter_sessions):
        with pytest.raises(ValueError, match=r"log.parquet is damaged"):
            list(load(path))


def test_dictionaries_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {
        "session": [5, 5, 6],
        "query": pa.array(["q", "q", "p"]).dictionary_encode(),
        "document": pa.array(["a", "b", "a"]).dictionary_encode(),
        "click": [False, True, True],
        "more": [0, 0, 0],
    }
    parquet.write_table(pa.table(table), tmp_path / "log.parquet")
    assert as_lists(load_sessions(tmp_path / "log.parquet")) == EXPECTED
    parts = iter_sessions(tmp_path / "log.parquet", 1)
    assert [one for part in parts for one in as_lists(part)] == EXPECTED


@pytest.mark.parametrize("binary", ["session", "query", "document"])
def test_ids_of_one_column_may_be_binary(binary, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"session": [5, 5, 6], "query": [1, 1, 2], "document": ["a", "b", "a"]}
    ids = [str(one) for one in columns[binary]]
    table = columns | {binary: pa.array(ids, type=pa.binary()), "click": [0, 1, 1]}
    path = tmp_path / "log.parquet"
    parquet.write_table(pa.table(table), path)
    columns |= {binary: ids, "position": None, "click": [0, 1, 1]}
    expected = Sessions.from_arrays(**columns)
    assert as_lists(load_sessions(path)) == as_lists(expected)
    parts = iter_sessions(path, 1)
    assert [one for part in parts for one in as_lists(part)] == as_lists(expected)


def test_the_shared_sample(data_dir):
    folder = data_dir / "yandex-clicks"
    if not folder.is_dir():
        pytest.skip("the sample of Yandex is absent")
    with pytest.raises(ValueError, match="was clicked and not shown"):
        load_sessions(folder / "trainSample")
    sessions = load_sessions(folder / "trainSample", stray_clicks="drop")
    text = (folder / "trainSample").read_text()
    assert as_lists(sessions) == read_by_a_loop(text)
    assert len(sessions) == 35_064


def calls(tmp_path):
    """Return valid calls of the readers and of the writer."""
    path = tmp_path / "odd.tsv"
    path.write_bytes(TABLE)
    shared = dict.fromkeys(("max_bytes",))
    options = {"format": "tsv", "numeric_ids": False, "stray_clicks": "drop"} | shared
    return [
        Call(load_sessions, lambda: {"source": TABLE} | options),
        Call(
            lambda **given: list(iter_sessions(**given)),
            lambda: {"source": path, "chunk": 5} | options,
        ),
        Call(save_sessions, lambda: {"sessions": made(), "path": tmp_path / "o.tsv"}),
    ]


def test_odd_arguments(tmp_path, monkeypatch):
    monkeypatch.setenv("SKRANK_ODD_EVERY", "1")
    monkeypatch.chdir(tmp_path)
    for call in calls(tmp_path):
        call.run()
        names = [name for name in call.names() if name != "source"]
        assert not list(odd_answers(call, names))


@pytest.mark.parametrize("load", [load_sessions, iter_sessions])
@pytest.mark.parametrize("source", [None, 3, object(), [], Sessions])
def test_odd_sources(load, source):
    with pytest.raises(TypeError, match="source"):
        list(load(source, format="tsv"))


def test_parquet_is_streamed_from_files_only():
    with pytest.raises(TypeError, match="source must be a path"):
        iter_sessions(b"PAR1", format="parquet")


def test_files_that_are_absent(tmp_path):
    for load in (load_sessions, iter_sessions):
        with pytest.raises(FileNotFoundError, match=r"none.tsv"):
            list(load(tmp_path / "none.tsv"))


def test_stray_clicks_stay_out_of_the_sessions_before():
    text = b"q\ta,b : a\nq\ta : zz\n"
    sessions = load_sessions(text, format="yandex", stray_clicks="drop")
    assert sessions.click.tolist() == [1, 0, 0]


def test_blank_lines_before_a_log_do_not_hide_its_format():
    expected = load_sessions(LOG).click.tolist()
    assert load_sessions(b"\n\n" + LOG).click.tolist() == expected
