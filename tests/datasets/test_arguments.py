"""Odd arguments of all readers and writers: one line that names the argument."""

import io

import numpy as np
import pytest

from skrank.datasets import (
    dump_letor,
    dump_qrels,
    dump_run,
    iter_jsonl_documents,
    iter_trec_documents,
    judge_run,
    load_cranfield,
    load_jsonl_documents,
    load_jsonl_queries,
    load_letor,
    load_letor_folds,
    load_qrels,
    load_run,
    load_see_also,
    load_table,
    load_trec_documents,
    load_trec_topics,
    load_tsv_queries,
)
from skrank.export import load_model
from skrank.metrics import trec_measures

LETOR, QRELS, RUN = b"1 qid:1 1:.5\n", b"q1 0 a 1\n", b"q1 Q0 a 1 .5 t\n"
DOC = b"<DOC><DOCNO>1</DOCNO></DOC>"
TEXT_READERS = (
    *(load_jsonl_documents, load_jsonl_queries, load_trec_documents),
    *(load_trec_topics, load_tsv_queries),
)
ENCODINGS = [None, 3, "no such", "utf-16", "", b"utf-8", "\ud800", "base64"]
NEITHER = [None, 3, 1.5, object(), [], b"x", Exception]
FLAGS = ["yes", 1, None, np.array([1, 2]), object()]
COLUMNS = [None, 3, object(), "a", {1}, iter("a"), np.array(5), [b"a"]]
NUMBERS = ["a", None, [object()], ["a"], [1, [2]], [1j], [[1.0]]]
NAMES = [None, [1], {}, np.array([1, 2])]


@pytest.fixture
def valid(tmp_path):
    """Functions and valid arguments."""
    table = tmp_path / "t.csv"
    table.write_text("q,g,f\nq1,2,0.5\nq1,0,0.25\n")
    for part in ("train", "vali", "test"):
        (tmp_path / "Fold1").mkdir(exist_ok=True)
        (tmp_path / "Fold1" / f"{part}.txt").write_bytes(LETOR)
    out = {"path": tmp_path / "out"}
    ids = {"groups": [1], "docids": ["a"]}
    return {
        load_letor: {"source": LETOR},
        load_qrels: {"source": QRELS},
        load_run: {"source": RUN},
        load_cranfield: {"folder": tmp_path},
        iter_jsonl_documents: {"source": b'{"id": 1}'},
        load_jsonl_documents: {"source": b'{"id": 1, "a": "b"}'},
        load_jsonl_queries: {"source": b'{"id": 1, "a": "b"}'},
        iter_trec_documents: {"source": DOC},
        load_trec_documents: {"source": DOC},
        load_trec_topics: {"source": b"<top><num>1</top>"},
        load_tsv_queries: {"source": b"1\ta"},
        load_table: {"path": table, "label": "g", "qid": "q"},
        load_letor_folds: {"folder": tmp_path},
        load_see_also: {"packages": ("joblib",)},
        dump_letor: {"X": [[1.0]], "y": [1], "groups": [1], **out},
        dump_qrels: {**ids, "y": [1], **out},
        dump_run: {**ids, "scores": [1], **out},
        judge_run: {"qrels": load_qrels(QRELS), "run": load_run(RUN)},
    }


CASES = [
    *((f, "source", NEITHER[:5]) for f in (load_letor, load_qrels, load_run)),
    *((f, "path", NEITHER) for f in (load_table, dump_letor, dump_qrels, dump_run)),
    *((f, "source", ["\ud800", "", "\0"]) for f in (load_letor, load_run)),
    *((f, "path", ["\ud800", "", "\0"]) for f in (load_table, dump_letor, dump_run)),
    (load_letor_folds, "folder", [*NEITHER, "\ud800", ""]),
    (load_cranfield, "folder", [*NEITHER, "\ud800", ""]),
    *((f, "source", [*NEITHER[:5], "\ud800", "", "\0"]) for f in TEXT_READERS),
    *((f, "max_bytes", ["a", 0, -1, 1.5]) for f in (load_cranfield, *TEXT_READERS)),
    *((f, "encoding", ENCODINGS) for f in (load_trec_topics, load_tsv_queries)),
    *((f, "encoding", ENCODINGS) for f in (load_trec_documents, iter_trec_documents)),
    *((f, "id_key", [3, b"id", ["id"]]) for f in (load_jsonl_documents,)),
    *((f, "fields", [3, "a", [], [3], object()]) for f in (iter_jsonl_documents,)),
    *(
        (f, "fields", [3, "a", ["a"], {}, {"a": []}, {"a": 3}, {3: "a"}, {"a": [3]}])
        for f in (load_trec_documents, iter_trec_documents)
    ),
    (load_see_also, "data_home", [3, b"x", ""]),
    *((f, "dtype", ["inf", 3, (), [1], "\ud800"]) for f in (load_letor, load_table)),
    *((load_letor, flag, FLAGS) for flag in ("sparse", "clip", "as_frame")),
    (load_table, "as_frame", FLAGS),
    (load_see_also, "as_frame", FLAGS),
    (dump_letor, "skip_zeros", FLAGS),
    (judge_run, "complete", FLAGS),
    *((load_table, name, NAMES[1:]) for name in ("label", "qid", "docid")),
    (load_table, "features", [3, "f", b"f", [None], [[1]], object(), ["x"]]),
    (load_letor_folds, "folds", [3, "1", ["a"], object(), [1.0]]),
    (load_letor_folds, "bogus", [1]),
    (load_see_also, "packages", [3, None, [3], b"x", ["no such"], "", object()]),
    *((f, "docids", COLUMNS) for f in (dump_qrels, dump_run)),
    *((dump_letor, name, COLUMNS[1:]) for name in ("docids", "comments")),
    (dump_letor, "X", ["a", [["a"]], [[1j]], [1, [2]], None, [[1], [2, 3]]]),
    *((f, "y", NUMBERS) for f in (dump_letor, dump_qrels)),
    (dump_run, "scores", NUMBERS),
    *((f, "groups", [None, 3, object()]) for f in (dump_letor, dump_qrels, dump_run)),
    (dump_run, "tag", [None, 3, b"t", "", "a b", "\ud800"]),
]


@pytest.mark.parametrize(
    ("function", "name", "values"), CASES, ids=lambda v: getattr(v, "__name__", None)
)
def test_odd_arguments_are_named(valid, tmp_path, function, name, values):
    for value in values:
        arguments = {**valid[function], name: value}
        with pytest.raises((TypeError, ValueError, OSError, ImportError)) as caught:
            function(**arguments)
        message = str(caught.value)
        assert name in message
        assert "\n" not in message.strip()
        assert not isinstance(caught.value, UnicodeError)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "function",
    [load_letor, load_qrels, load_run, load_table, iter_trec_documents, *TEXT_READERS],
    ids=lambda function: function.__name__,
)
def test_limits_may_exceed_what_kernels_count(valid, function):
    assert function(**valid[function], max_bytes=50 * 2**30) is not None


def test_files_that_cannot_be_read(tmp_path):
    class Numbers:
        def read(self, size):
            return 3

    with (
        open(tmp_path / "out", "w") as file,
        pytest.raises(TypeError, match=r"^source: expected a file that is open for r"),
    ):
        load_letor(file)
    with pytest.raises(TypeError, match="reads bytes or text, got 3 of"):
        load_letor(Numbers())
    assert len(load_letor(io.StringIO(LETOR.decode())).y) == 1


def test_paths_with_line_ends_take_one_line(tmp_path):
    path = tmp_path / "a\nb\x1b.txt"
    path.write_bytes(b"x\n")
    for load in (load_letor, load_qrels, load_run):
        with pytest.raises(ValueError, match=r"a\\nb\\x1b\.txt, line 1: expected"):
            load(path)


def test_paths_in_place_of_tables_are_read(tmp_path):
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_bytes(QRELS)
    run.write_bytes(RUN)
    expected = judge_run(load_qrels(QRELS), load_run(RUN))
    judged = judge_run(qrels, str(run))
    assert judged.docids.tolist() == expected.docids.tolist()
    with pytest.raises(FileNotFoundError, match=r"run: cannot read .*absent'"):
        judge_run(qrels, tmp_path / "absent")
    for one, other, found in (
        (run, qrels, "run holds a run, lines 'query Q0 "),
        (qrels, qrels, "qrels holds judgements, lines 'query iteration"),
    ):
        order = r"judge_run takes judgements first and then a run, judge_run\(qrels"
        with pytest.raises(ValueError, match=f"{order}.*, but .*{found}"):
            judge_run(one, other)
    with pytest.raises(
        TypeError, match=r"qrels must be a mapping \{query: \{group: \{do"
    ):
        trec_measures(str(qrels), run, "all", judgement_format="qrels_jg")


def test_a_model_in_a_pipe_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("skrank.export._model_file.ENDLESS", 100)
    with pytest.raises(ValueError, match="/dev/zero holds more than 200 bytes"):
        load_model("/dev/zero", max_bytes=200)
    with pytest.raises(ValueError, match="/dev/null is damaged or"):
        load_model("/dev/null", max_bytes=2**40)
    with pytest.raises(TypeError, match=r"^path: expected a path, an open file or byt"):
        load_model(None)
