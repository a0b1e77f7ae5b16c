"""TREC files and the join of a run with judgements."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.datasets import (
    Qrels,
    Run,
    dump_letor,
    dump_qrels,
    dump_run,
    judge_run,
    load_qrels,
    load_run,
)

QRELS = b"""# judged in 1997
q1  0\ta  1
q1 0 b 2
  q1 0 c#4 0
q2 0 a -1\r

q2 0 z 0.5
"""
RUN = b"""q1 Q0 x 1 0.5 tag
# not a document
q2\tQ0\ta\t1\t 3e-1 other
q1 Q0 b 7 2 tag and more
"""


def test_judgements():
    qrels = load_qrels(QRELS)
    assert qrels.groups.tolist() == ["q1", "q1", "q1", "q2", "q2"]
    assert qrels.docids.tolist() == ["a", "b", "c#4", "a", "z"]
    assert qrels.y.tolist() == [1, 2, 0, -1, 0.5]


def test_run():
    run = load_run(RUN)
    assert run.groups.tolist() == ["q1", "q2", "q1"]
    assert run.docids.tolist() == ["x", "a", "b"]
    assert run.scores.tolist() == [0.5, 0.3, 2]
    assert run.tag == "tag"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"q 0 a 1\nq 0 b\n", "line 2: expected 4 fields .*grade', found 3"),
        (b"q 0 a one\n", "line 1: expected a finite number as grade, found 'one'"),
        (b"q 0 a nan", "line 1: expected a finite number as grade, found 'nan'"),
        (b"q 0 a 1\n#\nq 0 a 0\n", "line 3: document 'a' occurs a second time .* 'q'"),
        (b"q 0 a 1\nr 0 a 0\nq 0 a 1", "line 3: document 'a' occurs a second time"),
        (b"# nothing\n", "has no lines 'query iteration document grade'"),
        (b"", "is empty"),
    ],
)
def test_malformed_judgements(tmp_path, text, message):
    path = tmp_path / "qrels.txt"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=f"qrels.txt.*{message}"):
        load_qrels(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"q Q0 a 1 2.0\n", "line 1: expected 6 fields .* tag', found 5"),
        (b"q Q0 a 1 high t\n", "line 1: expected a finite number as score, found 'hi"),
        (b"q Q0 a 1 inf t\n", "line 1: expected a finite number as score, found 'inf"),
        (b"q Q0 a 1 2 t\nq Q0 a 2 1 t", "line 2: document 'a' occurs a second time"),
    ],
)
def test_malformed_runs(text, message):
    with pytest.raises(ValueError, match=f"<text>, {message}"):
        load_run(text)


def test_a_run_is_no_judgements(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 1 3.0 x\nq Q0 b 2 2.0 x\n")
    with pytest.raises(ValueError, match=r"run\.txt holds a run, lines 'query Q0 doc"):
        load_qrels(path)
    # Text after the grade, and Q0 as the iteration, are common in judgements.
    assert load_qrels(b"q Q0 a 1\nq 0 b 2 by ann\n").y.tolist() == [1, 2]


def test_judged_run():
    judged = judge_run(load_qrels(QRELS), load_run(RUN))
    assert judged.queries.tolist() == ["q1", "q2"]
    assert judged.ptr.tolist() == [0, 4, 6]
    assert judged.docids.tolist() == ["b", "x", "a", "c#4", "a", "z"]
    assert judged.y.tolist() == [2, None, 1, 0, None, 0.5]
    assert judged.y.data.tolist() == [2, 0, 1, 0, 0, 0.5]
    assert judged.judged.tolist() == [True, False, True, True, False, True]
    assert judged.scores.tolist() == [2, 0.5, -np.inf, -np.inf, 0.3, -np.inf]
    assert judged.groups.tolist() == ["q1"] * 4 + ["q2"] * 2
    assert judged.retrieved.tolist() == [True, True, False, False, True, False]
    assert judged.n_retrieved.tolist() == [2, 1]
    assert judged.missing_ptr.tolist() == [0, 2, 3]
    assert judged.missing_docids.tolist() == ["a", "c#4", "z"]
    assert judged.missing_y.tolist() == [1, 0, 0.5]
    assert judged.missing_groups.tolist() == ["q1", "q1", "q2"]
    assert judged.n_relevant().tolist() == [2, 0]
    assert judged.n_relevant(0.5).tolist() == [2, 1]
    with pytest.warns(DeprecationWarning, match="y, scores, groups and retrieved hold"):
        y, scores, groups, retrieved = judged.with_missing()
    assert y.tolist() == [2, 0, 1, 0, 0, 0.5]
    assert scores.tolist() == [2, 0.5, -np.inf, -np.inf, 0.3, -np.inf]
    assert groups.tolist() == ["q1"] * 4 + ["q2"] * 2
    assert retrieved.tolist() == [True, True, False, False, True, False]


def test_queries_on_one_side_only():
    qrels = load_qrels(b"q1 0 a 1\nq2 0 b 1\n")
    run = load_run(b"q3 Q0 a 1 1 t\nq1 Q0 a 1 1 t\n")
    judged = judge_run(qrels, run)
    assert judged.queries.tolist() == ["q1"]
    assert judged.unjudged_queries.tolist() == ["q3"]
    assert judged.unretrieved_queries.tolist() == ["q2"]
    complete = judge_run(qrels, run, complete=True)
    assert complete.queries.tolist() == ["q1", "q2"]
    assert complete.ptr.tolist() == [0, 1, 2]
    assert complete.missing_ptr.tolist() == [0, 0, 1]
    assert complete.n_relevant().tolist() == [1, 1]
    assert complete.n_retrieved.tolist() == [1, 0]


def test_nothing_in_common():
    qrels, run = load_qrels(b"q1 0 a 1\n"), load_run(b"1 Q0 a 1 1 t\n")
    with pytest.raises(ValueError, match="the qrels have 'q1', the run has '1'"):
        judge_run(qrels, run)
    with pytest.raises(ValueError, match="depth must be a whole number >= 1 or None"):
        judge_run(qrels, run, depth=0)


def test_ties_and_depth():
    # Equal scores, also those that differ beyond single precision: larger id first.
    run = load_run(
        b"q Q0 a 1 1.0 t\nq Q0 c 1 1.0 t\nq Q0 b 1 1.00000000001 t\nq Q0 d 1 0.5 t\n"
    )
    judged = judge_run(load_qrels(b"q 0 a 1\n"), run)
    assert judged.docids.tolist() == ["c", "b", "a", "d"]
    tied = 1.00000000001  # what trec_eval cannot tell apart is tied
    assert judged.scores.tolist() == [tied, tied, tied, 0.5]
    shallow = judge_run(load_qrels(b"q 0 a 1\n"), run, depth=2)
    assert shallow.docids[shallow.retrieved].tolist() == ["c", "b"]
    assert shallow.missing_docids.tolist() == ["a"]


def test_a_run_in_place_of_judgements_is_an_error():
    qrels, run = load_qrels(QRELS), load_run(RUN)
    order = r"judge_run takes judgements first and then a run, judge_run\(qrels, run\)"
    with pytest.raises(TypeError, match=f"{order}, got a run as qrels and judgements"):
        judge_run(run, qrels)
    with pytest.raises(TypeError, match=f"{order}, got judgements as run$"):
        judge_run(qrels, qrels)
    with pytest.raises(TypeError, match=r"qrels must be a Qrels, a mapping .* \[1\]"):
        judge_run([1], run)


def test_nested_mappings_are_tables():
    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1}}
    run = {"q1": {"c": 0.9, "a": 0.8}}
    judged = judge_run(qrels, run)
    tables = judge_run(
        load_qrels(b"q1 0 a 1\nq1 0 b 2\nq2 0 a 1\n"),
        load_run(b"q1 Q0 c 1 0.9 x\nq1 Q0 a 2 0.8 x\n"),
    )
    assert judged.docids.tolist() == tables.docids.tolist() == ["c", "a", "b"]
    assert judged.y.tolist() == tables.y.tolist() == [None, 1.0, 2.0]
    assert judged.unretrieved_queries.tolist() == ["q2"]


def test_scores_beyond_single_precision_are_still_retrieved():
    ids = np.array(["q"] * 3), np.array(["a", "b", "c"], dtype=object)
    run = Run(*ids, np.array([-1e300, -np.inf, 1e300]), "t")
    judged = judge_run(Qrels(*ids, np.ones(3)), run)
    assert judged.retrieved.all()
    assert judged.docids.tolist() == ["c", "b", "a"]


def test_missing_ids_scores_and_grades_are_named():
    ids = np.array(["q", "q"]), np.array(["a", "b"], dtype=object)
    qrels, run = Qrels(*ids, np.ones(2)), Run(*ids, np.ones(2), "t")
    holes = np.array(["q", None], dtype=object)
    with pytest.raises(ValueError, match=r"run\.groups must hold .*; row 1 has none"):
        judge_run(qrels, replace(run, groups=holes))
    with pytest.raises(ValueError, match=r"qrels\.groups must hold .*; row 1 has none"):
        judge_run(replace(qrels, groups=holes), run)
    with pytest.raises(ValueError, match=r"run\.scores contains NaN"):
        judge_run(qrels, replace(run, scores=np.array([1.0, np.nan])))
    with pytest.raises(ValueError, match=r"qrels\.y must hold grades; row 1 has none"):
        judge_run(replace(qrels, y=np.array([1.0, np.nan])), run)


_ids = st.lists(
    st.tuples(
        st.sampled_from(["7", "q1", "é"]), st.integers(0, 20).map("doc{}".format)
    ),
    min_size=1,
    max_size=30,
    unique=True,
)
_numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=50)
@given(_ids, st.data())
def test_round_trips(tmp_path_factory, rows, data):
    folder = tmp_path_factory.mktemp("trec")
    numbers = data.draw(
        st.lists(_numbers, min_size=len(rows), max_size=len(rows)), label="numbers"
    )
    groups, docids = map(list, zip(*rows))
    dump_qrels(groups, docids, numbers, folder / "qrels.gz")
    qrels = load_qrels(folder / "qrels.gz")
    assert qrels.groups.tolist() == groups
    assert qrels.docids.tolist() == docids
    assert qrels.y.tolist() == numbers
    dump_run(groups, docids, numbers, folder / "run", tag="t")
    run = load_run(folder / "run")
    found = dict(
        zip(zip(run.groups.tolist(), run.docids.tolist()), run.scores.tolist())
    )
    assert found == dict(zip(rows, numbers))
    # Written in the order in which it will be ranked.
    judged = judge_run(Qrels(run.groups, run.docids, np.ones(len(rows))), run)
    for query in set(groups):
        assert (
            judged.docids[judged.groups == query].tolist()
            == run.docids[run.groups == query].tolist()
        )


def test_written_run(tmp_path):
    dump_run([1, 2, 1, 1], ["a", "b", "c", "d"], [1, 5, 2, 1], tmp_path / "run.txt")
    assert (tmp_path / "run.txt").read_text() == (
        "1 Q0 c 1 2 skrank\n1 Q0 d 2 1 skrank\n1 Q0 a 3 1 skrank\n2 Q0 b 1 5 skrank\n"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": ["a b"]}, "groups must not contain"),
        ({"docids": [""]}, "docids must not contain"),
        ({"docids": ["a\vb"]}, "docids must not contain"),
        ({"groups": ["a\fb"]}, "groups must not contain"),
        ({"docids": ["a", "b"]}, "docids has 2 entries for 1 rows"),
        ({"scores": [np.inf]}, "scores must be finite"),
        ({"scores": [np.nan]}, "scores contains NaN"),
        ({"tag": "my run"}, "tag must not contain"),
        ({"tag": "\x1b[31mx"}, r"tag must not hold control .*, got '\\x1b\[31mx'"),
    ],
)
def test_what_cannot_be_written(tmp_path, change, message):
    arguments = {"groups": ["q"], "docids": ["a"], "scores": [1.0]}
    with pytest.raises(ValueError, match=message):
        dump_run(**{**arguments, **change}, path=tmp_path / "run.txt")
    with pytest.raises(ValueError, match="y must hold finite grades"):
        dump_qrels(["q"], ["a"], [np.nan], tmp_path / "qrels.txt")
    assert not list(tmp_path.iterdir())


def test_comments_of_real_files(data_dir):
    folder = data_dir / "trec_eval"
    plain = load_qrels(folder / "qrels.test")
    commented = load_qrels(folder / "qrels.test.with-comments")
    assert len(plain.y) == len(commented.y) == 3681
    assert np.array_equal(plain.y, commented.y)
    assert np.array_equal(plain.groups, commented.groups)
    with pytest.raises(
        ValueError, match="line 3685: document 'CR93E-10279' occurs a s"
    ):
        load_qrels(folder / "qrels.comments.123")  # several judges, one file
    hashes = load_qrels(folder / "qrels.comment.test")
    assert len(hashes.y) == 5890
    assert hashes.docids[0] == "msmarco_v2.1_doc_00_880019750#4_1633802806"
    run = load_run(folder / "results.comment.test")
    assert run.tag == "comment.test"


def _expected(path):
    """trec_eval's output as {(measure, query): text}."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return {(name.strip(), query): value for name, query, value in lines}


def _measures(judged, q):
    """Some of trec_eval's measures by their definition, for one query."""
    rows = slice(judged.ptr[q], judged.ptr[q + 1])
    relevant = judged.y.data[rows][judged.retrieved[rows]] >= 1
    ranks = np.flatnonzero(relevant) + 1
    n_relevant = judged.n_relevant()[q]
    precision = np.arange(1, len(ranks) + 1) / ranks
    return {
        "num_ret": len(relevant),
        "num_rel": n_relevant,
        "num_rel_ret": len(ranks),
        "map": precision.sum() / n_relevant,
        "recip_rank": 1 / ranks[0] if len(ranks) else 0,
        "P_10": relevant[:10].sum() / 10,
    }


@pytest.mark.parametrize(
    ("run", "expected", "options"),
    [
        ("results.test", "out.test.aq", {}),
        ("results.trunc", "out.test.aqc", {"complete": True}),
        ("results.trunc", "out.test.aqcM", {"complete": True, "depth": 100}),
    ],
)
def test_parity_with_trec_eval(data_dir, run, expected, options):
    folder = data_dir / "trec_eval"
    qrels = load_qrels(folder / "qrels.test")
    judged = judge_run(qrels, load_run(folder / run), **options)
    expected = _expected(folder / expected)
    for q, query in enumerate(judged.queries.tolist()):
        for name, value in _measures(judged, q).items():
            text = expected.get((name, query))
            if text is None:  # trec_eval -c prints queries without documents in "all"
                assert judged.n_retrieved[q] == 0
                continue
            form = f"{value:.4f}" if "." in text else str(value)
            assert form == text, (name, query)
    assert int(expected["num_q", "all"]) == len(judged.queries)
    total = sum(int(value) for value in judged.n_relevant())
    assert int(expected["num_rel", "all"]) == total


def test_compressed_run():
    assert load_run(gzip.compress(RUN)).tag == "tag"


def test_long_files_with_other_characters():
    lines = [f"q{i % 50} Q0 dokument-ü-{i} 1 {i / 7!r} t" for i in range(3000)]
    run = load_run("\n".join(lines).encode())
    assert isinstance(run, Run)
    assert run.docids[2999] == "dokument-ü-2999"
    assert run.scores.tolist() == [i / 7 for i in range(3000)]


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA])
def test_missing_ids_are_not_written(tmp_path, hole):
    path = tmp_path / "run"
    with pytest.raises(ValueError, match="groups must hold one query id per row; row"):
        dump_run(["q", hole], ["a", "b"], [1.0, 2.0], path)
    with pytest.raises(ValueError, match="docids must hold one document id per row; r"):
        dump_qrels(["q", "q"], ["a", hole], [1, 2], path)
    with pytest.raises(ValueError, match="y must hold finite grades"):
        dump_qrels(["q", "q"], ["a", "b"], [1, hole], path)
    assert not path.exists()


# Odd ids


LONG = "q" * 10**6


def test_one_long_id_does_not_widen_all_others(tmp_path):
    """Strings of one width for all rows would take 200 GB here."""
    lines = [f"{i % 99} Q0 d{i} 1 {i} x" for i in range(50_000)]
    text = "\n".join([*lines, f"{LONG} Q0 d 1 0 x"]).encode()
    run = load_run(text)
    assert run.groups[-1] == LONG
    assert run.groups[:3].tolist() == ["0", "1", "2"]
    qrels = load_qrels(f"{LONG} 0 d 1\n5 0 d5 1\n".encode())
    judged = judge_run(qrels, run)
    assert judged.queries.tolist() == ["5", LONG]
    dump_run(run.groups, run.docids, run.scores, tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert set(zip(again.groups, again.docids)) == set(zip(run.groups, run.docids))


def test_ids_that_end_in_nul_stay_apart():
    qrels = load_qrels(b"a\0 0 d 1\na 0 d 0\n")
    assert qrels.groups.tolist() == ["a\0", "a"]
    assert qrels.y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (load_qrels, f"{LONG} 0 {LONG} 1\n" * 2),
        (load_qrels, f"q 0 d {LONG}\n"),
        (load_run, f"{LONG} Q0 {LONG} 1 2 x\n" * 2),
        (load_run, f"q Q0 d 1 {LONG} x\n"),
        (load_run, f"{LONG} {LONG}\n"),
    ],
)
def test_messages_about_long_ids_are_short(load, text):
    with pytest.raises(ValueError, match=r"<text>, line [12]: ") as caught:
        load(text.encode())
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("docid", "message"),
    [
        ("a\ud800", r"row 0 has 'a\\ud800'"),
        ("\udcc3\udca9", r"UTF-8 can hold; row 0 has '\\udcc3\\udca9'"),  # "é" in bytes
        ("a b" * 10**6, "row 0 has 'a ba b"),
    ],
)
def test_ids_that_cannot_be_written(tmp_path, docid, message):
    with pytest.raises(ValueError, match=message) as caught:
        dump_qrels(["q"], [docid], [1], tmp_path / "qrels")
    assert len(str(caught.value)) < 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    # A mark, one before what would be a comment, and how packed files begin.
    [
        "\ufeffq",
        "\ufeff",
        "\ufeff#q",
        "BZh9",
        "PK\x03\x04",
        "(\udcb5/\udcfd",
        "\x1f\udc8b",
        "\udcfd7zXZ\0",
    ],
)
@pytest.mark.parametrize("name", ["file", "file.gz"])
def test_the_first_id_may_look_like_something_else(query, name, tmp_path):
    groups, path = [query, "q"], tmp_path / name
    dump_qrels(groups, ["a", "b"], [1, 0], path)
    assert load_qrels(path).groups.tolist() == groups
    dump_run(groups, ["a", "b"], [1, 0], path)
    assert load_run(path).groups.tolist() == groups


def test_files_of_plain_ids_have_no_mark(tmp_path):
    dump_qrels(["é", "q"], ["a", "b"], [1, 0], tmp_path / "qrels")
    assert (tmp_path / "qrels").read_bytes() == "é 0 a 1\nq 0 b 0\n".encode()


@pytest.mark.parametrize("dump", [dump_run, dump_qrels])
def test_a_document_is_written_once_for_a_query(dump, tmp_path):
    groups, docids = ["p", "q", "p"], ["a", "a", "a"]
    with pytest.raises(ValueError, match="row 2 has 'a' a second time for query 'p'"):
        dump(groups, docids, [1, 2, 3], tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
    dump(groups[:2], docids[:2], [1, 2], tmp_path / "file")


def test_limits_of_trec_files():
    text = gzip.compress(b"q 0 d 1\n" + b"\n" * 10**5)
    with pytest.raises(ValueError, match="holds more than 9999 bytes"):
        load_qrels(text, max_bytes=9999)
    assert load_qrels(text).y.tolist() == [1]
    with pytest.raises(ValueError, match="load_run: max_bytes must be"):
        load_run(text, max_bytes=-1)


@pytest.mark.parametrize(
    ("load", "line"), [(load_run, "q Q0 {} 1 3 t"), (load_qrels, "q 0 {} 1")]
)
def test_a_carriage_return_alone_ends_no_line(load, line, tmp_path):
    first, second = line.format("a"), line.format("é")
    for end in ("\r\n", "\r\r\n"):
        text = first + end + second + end
        assert load(text.encode()).docids.tolist() == ["a", "é"]
        assert load((first + end + second + "\r").encode()).docids.tolist()[1:] == ["é"]
    text = f"{first}\n{second}\r{first}\n".encode()
    (tmp_path / "file").write_bytes(text)
    for source, name in [(text, "<text>"), (tmp_path / "file", "file")]:
        message = (
            f"{name}, line 2: expected the end of the line after a carr.* found 'q'"
        )
        with pytest.raises(ValueError, match=message):
            load(source)


def test_the_first_line_names_the_system():
    run = load_run(b"q Q0 a 1 2 first\nq Q0 b 2 1 second\n")
    assert run.tag == "first"


def test_ids_that_are_no_text_come_back_as_they_are(tmp_path):
    text = b"q\xff Q0 d\xfe 1 2 tag\nq\xff Q0 d\xfd 2 1 tag\n"
    run = load_run(text)
    assert [d.encode(errors="surrogateescape") for d in run.docids] == [
        b"d\xfe",
        b"d\xfd",
    ]


@pytest.mark.parametrize("dump", [dump_run, dump_qrels, dump_letor])
def test_ids_of_the_same_text_are_not_written(dump, tmp_path):
    def written(groups, docids):
        path = tmp_path / "file"
        if dump is dump_letor:
            dump(np.eye(3), [1, 0, 2], groups, path, docids=docids)
        else:
            dump(groups, docids, [1, 0, 2], path)
        return path.read_text()

    a, b = ["a", "b", "c"], ["q", "q", "q"]
    with pytest.raises(ValueError, match=r"^groups: two ids have the same text"):
        written([1, "1", 2], a)
    objects = np.array([1, 1.0, 2], dtype=object)
    if dump is dump_letor:
        for wrong in (objects, np.array([True, 1, 2], dtype=object), [0.5, 1.0, 2.0]):
            with pytest.raises(
                TypeError, match=r"^groups must hold .* strings .* got "
            ):
                written(wrong, a)
        return
    with pytest.raises(ValueError, match=r"^docids: two ids have the same text"):
        written(b, [1, "1", 2])
    assert written(objects, a).count("1.0 ") == 0
    moments = np.array(["2020-01-01T00:00:00.5"] * 3, "M8[ns]")
    assert written(moments, a).startswith("2020-01-01T00:00:00.500000000 ")


@pytest.mark.parametrize("kind", [Run, Qrels])
def test_tables_of_lists(kind):
    tag = ["x"] if kind is Run else []
    table = kind(["q", "q"], ["a", "b"], [2, 0], *tag)
    assert table.to_dict() == {"q": {"a": 2.0, "b": 0.0}}
    assert table.docids.dtype == object
    assert len(table.to_pandas()) == 2
    with pytest.raises(ValueError, match=f"^{kind.__name__} must hold as many"):
        kind(["q"], ["a", "b"], [2, 0], *tag)


def test_ids_that_look_like_comments_are_not_written(tmp_path):
    for role in ({"groups": ["#q", "p"]}, {"docids": ["#a", "b"]}):
        ids = {"groups": ["q", "p"], "docids": ["a", "b"]} | role
        with pytest.raises(ValueError, match="must not contain what separates fields"):
            dump_qrels(**ids, y=[1, 2], path=tmp_path / "qrels")


def test_judgements_with_further_fields_are_no_run():
    assert load_qrels(b"q 0 d 1 3 t\n").y.tolist() == [1.0]
    for text in (b"q q0 d 1 3 t\n", b"q Q0 d 1 3 t\n", b"q 0 d 1 3.5 t\n"):
        with pytest.raises(ValueError, match="holds a run, lines 'query Q0 document"):
            load_qrels(text)
