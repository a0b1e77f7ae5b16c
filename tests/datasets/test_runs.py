"""Runs and judgements to and from dictionaries, data frames and other libraries."""

import importlib.util
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.datasets import Qrels, Run, judge_run, load_qrels, load_run
from skrank.metrics import trec_measures

needs_ranx = pytest.mark.skipif(
    importlib.util.find_spec("ranx") is None, reason="ranx is not installed"
)
NAMES = ["ir_measures", "pyterrier", "ranx"]
RUN = load_run(b"q2 Q0 b 1 2.5 bm25\nq1 Q0 a 1 -1e-3 bm25\nq2 Q0 a 2 1 bm25\n")
QRELS = load_qrels(b"q2 0 a 2\nq1 0 a -1\nq2 0 c 0\n")


def same(one, other):
    """Whether two tables hold the same rows, ids of the same type among them."""
    assert type(one) is type(other)
    for name in ("groups", "docids"):
        left, right = getattr(one, name).tolist(), getattr(other, name).tolist()
        assert left == right
        assert list(map(type, left)) == list(map(type, right))
    np.testing.assert_array_equal(one._numbers, other._numbers)
    assert one._numbers.dtype == other._numbers.dtype == np.float64
    assert getattr(one, "tag", None) == getattr(other, "tag", None)
    return True


def test_dictionaries():
    assert RUN.to_dict() == {"q2": {"b": 2.5, "a": 1.0}, "q1": {"a": -1e-3}}
    assert QRELS.to_dict() == {"q2": {"a": 2.0, "c": 0.0}, "q1": {"a": -1.0}}
    run = Run.from_dict({1: {"a": 2, (1, 2): 0.5}, 3: {}, 2: {7: 1}}, tag="x")
    assert run.groups.tolist() == [1, 1, 2]
    assert run.docids.tolist() == ["a", (1, 2), 7]
    assert same(run, Run.from_dict(run.to_dict(), tag="x"))


_ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=3)
_tables = st.dictionaries(
    _ids | st.integers(0, 9),
    st.dictionaries(_ids, st.floats(allow_nan=False), min_size=1, max_size=4),
    max_size=4,
)


@settings(deadline=None, max_examples=50)
@given(_tables, st.sampled_from(NAMES))
def test_round_trips(table, names):
    run = Run.from_dict(table, tag="t")
    assert run.to_dict() == table
    assert same(run, Run.from_dict(run.to_dict(), tag="t"))
    if len(run.scores):
        assert same(run, Run.from_pandas(run.to_pandas(names), tag="t"))


@pytest.mark.parametrize("names", NAMES)
def test_data_frames(names):
    columns = {
        "ir_measures": ["query_id", "doc_id", "score", "relevance"],
        "pyterrier": ["qid", "docno", "score", "label"],
        "ranx": ["q_id", "doc_id", "score", "score"],
    }[names]
    frame, judged = RUN.to_pandas(names), QRELS.to_pandas(names)
    assert list(frame.columns) == columns[:3]
    assert list(judged.columns) == [*columns[:2], columns[3]]
    assert judged[columns[3]].dtype == np.int64
    assert same(Run.from_pandas(frame, tag="bm25"), RUN)
    assert same(Qrels.from_pandas(judged), QRELS)
    # Rows keep their order whatever the index says.
    shuffled = frame.set_axis([2, 0, 1])
    assert same(Run.from_pandas(shuffled, tag="bm25"), RUN)
    strings = judged.astype({columns[0]: "string", columns[1]: "category"})
    assert same(Qrels.from_pandas(strings), QRELS)


def test_grades_with_fractions_stay_floats():
    qrels = Qrels.from_dict({"q": {"a": 0.5, "b": 1}})
    assert qrels.to_pandas()["relevance"].tolist() == [0.5, 1.0]


def test_columns_of_other_names():
    frame = pd.DataFrame({"topic": ["q"], "doc_id": ["a"], "bm25": [2.0], "score": [1]})
    assert Run.from_pandas(frame, query="topic").scores.tolist() == [1]
    run = Run.from_pandas(frame, query="topic", score="bm25", tag="bm25")
    assert run.to_dict() == {"q": {"a": 2.0}}
    grades = frame.rename(columns={"bm25": "g"})
    qrels = Qrels.from_pandas(grades, query="topic", document="doc_id", grade="g")
    assert qrels.y.tolist() == [2]


FRAME = pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "score": [2.0, 1.0]})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop(columns="qid"), "no column of query ids among .* 'query_id' or"),
        (FRAME.assign(query_id="x"), "several columns of query ids among"),
        (FRAME.assign(docno=["a", "a"]), "document 'a' a second time for query 'q'"),
        (FRAME.assign(docno=["a", None]), "one document id per row; row 1 has none"),
        (FRAME.assign(qid=["q", np.nan]), "one query id per row; row 1 has none"),
        (FRAME.assign(score=[1, np.nan]), "must hold scores; row 1 has nan"),
        (FRAME.assign(score=["x", "y"]), "must hold numeric scores"),
        (pd.concat([FRAME, FRAME["qid"]], axis=1), "has two columns called 'qid'"),
    ],
)
def test_frames_that_hold_no_run(frame, message):
    with pytest.raises(ValueError, match=f"^frame .*{message}"):
        Run.from_pandas(frame)
    if "qid" in frame and list(frame.columns).count("qid") == 1:
        message = message.replace("scores", "grades")
        with pytest.raises(ValueError, match=f"^frame .*{message}"):
            Qrels.from_pandas(frame)


def test_other_things_are_no_tables():
    for make, word in ((Run.from_dict, "score"), (Qrels.from_dict, "grade")):
        for wrong in ([1], {"q": 1}, {"q": [1]}, None):
            with pytest.raises(TypeError, match=rf"^table must .*document: {word}}}}}"):
                make(wrong)
        with pytest.raises(ValueError, match=f"^table must hold numeric {word}s"):
            make({"q": {"a": "x"}})
        with pytest.raises(ValueError, match=r"^table must hold one query id per row"):
            make({None: {"a": 1}})
    with pytest.raises(TypeError, match=r"^frame must be a data frame, got \[1\]"):
        Run.from_pandas([1])
    with pytest.raises(
        TypeError, match=r"^records must hold records of ir_measures wit"
    ):
        Run.from_ir_measures([("q", "a", 1.0)])
    with pytest.raises(TypeError, match=r"^run must be a Run of ranx, got {}"):
        Run.from_ranx({})
    with pytest.raises(TypeError, match=r"^qrels must be a Qrels of ranx, got {}"):
        Qrels.from_ranx({})
    with pytest.raises(ValueError, match=r"^table must hold grades; row 0 has inf"):
        Qrels.from_dict({"q": {"a": np.inf}})


def test_a_document_that_occurs_twice():
    double = Run(np.array(["q", "q"]), np.array(["a", "a"], object), np.ones(2), "t")
    with pytest.raises(ValueError, match="Run holds document 'a' a second time for qu"):
        double.to_dict()
    with pytest.raises(
        ValueError, match="run holds document 'a' a second time for que"
    ):
        judge_run({"q": {"a": 1}}, double)
    twice = Qrels(double.groups, double.docids, double.scores)
    with pytest.raises(
        ValueError, match="qrels holds document 'a' a second time for q"
    ):
        judge_run(twice, {"q": {"b": 1}})


def test_ids_that_cannot_be_compared():
    lists = np.empty(1, object)
    lists[0] = ["a"]
    run = Run(np.array(["q"]), lists, np.ones(1), "t")
    with pytest.raises(TypeError, match=r"run\.docids"):
        judge_run({"q": {"a": 1}}, run)


@pytest.mark.parametrize(
    ("qrels", "run", "found"),
    [
        (RUN, QRELS, "a run as qrels and judgements as run"),
        (RUN.to_pandas(), QRELS.to_pandas(), "a run as qrels and judgements as run"),
        (RUN.to_pandas("pyterrier"), RUN, "a run as qrels"),
        (QRELS, QRELS.to_pandas("pyterrier"), "judgements as run"),
    ],
)
def test_tables_in_the_place_of_each_other(qrels, run, found):
    with pytest.raises(TypeError, match=f"judge_run takes judgements .*, got {found}$"):
        judge_run(qrels, run)


def test_numbers_tell_that_mappings_are_swapped():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.5, "b": 0.5}}
    for pair in (
        (run, qrels),
        ((["q"], ["a"], [1.5]), qrels),
        (RUN.to_pandas("ranx"), QRELS.to_pandas("ranx")),
    ):
        with pytest.raises(
            ValueError, match="here qrels holds fractions and run whole"
        ):
            judge_run(*pair)
    assert judge_run(Qrels.from_dict(run), qrels).y.tolist() == [1.5, 0.5]
    assert judge_run(qrels, {"q": {"a": np.inf}}).scores[0] > 1e300


def test_every_form_is_the_same_table(tmp_path):
    expected = judge_run(QRELS, RUN)
    ids = RUN.groups.tolist(), RUN.docids.tolist()
    for qrels in (QRELS.to_dict(), *(QRELS.to_pandas(names) for names in NAMES)):
        for run in (
            RUN.to_dict(),
            (*ids, RUN.scores),
            *(RUN.to_pandas(names) for names in NAMES),
        ):
            judged = judge_run(qrels, run)
            assert judged.docids.tolist() == expected.docids.tolist()
            assert judged.y.tolist() == expected.y.tolist()
            assert judged.scores.tolist() == expected.scores.tolist()


def test_frames_of_polars():
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(RUN.to_pandas())
    assert same(Run.from_pandas(frame, tag="bm25"), RUN)
    expected = judge_run(QRELS, RUN)
    assert judge_run(QRELS.to_dict(), frame).y.tolist() == expected.y.tolist()


def test_other_libraries_that_are_not_installed(monkeypatch):
    for module, method in (
        ("ranx", RUN.to_ranx),
        ("ir_measures", QRELS.to_ir_measures),
    ):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(ImportError, match=f"needs {module}; install it with: pip"):
            method()


# ranx ---------------------------------------------------------------------------------


@needs_ranx
def test_ranx():
    run, qrels = RUN.to_ranx(), QRELS.to_ranx()
    assert type(run).__module__.startswith("ranx")
    assert run.name == "bm25"
    assert Run.from_ranx(run).tag == "bm25"
    assert Run.from_ranx(run).to_dict() == RUN.to_dict()
    assert Qrels.from_ranx(qrels).to_dict() == QRELS.to_dict()
    judged, expected = judge_run(qrels, run), judge_run(QRELS, RUN)
    assert judged.docids.tolist() == expected.docids.tolist()
    with pytest.raises(TypeError, match="got a run as qrels and judgements as run"):
        judge_run(run, qrels)


@needs_ranx
def test_what_ranx_cannot_hold():
    with pytest.raises(ValueError, match=r"whole numbers as grades; row 1 has 0\.5"):
        Qrels.from_dict({"q": {"a": 1, "b": 0.5}}).to_ranx()
    with pytest.raises(ValueError, match=r"cannot hold the id 'a\\x00'"):
        Run.from_dict({"q": {"a\0": 1}}).to_ranx()
    with pytest.raises(
        ValueError, match="two ids have the same text, such as 1 and '1'"
    ):
        Run.from_dict({"q": {1: 1, "1": 2}}).to_ranx()
    with pytest.raises(ValueError, match="two ids have the same text"):
        Run.from_dict({1: {"a": 1}, "1": {"b": 2}}).to_ranx()
    for table in (
        Run(["q"] * 2, ["a"] * 2, [1.0, 2.0], "run"),
        Qrels(["q"] * 2, ["a"] * 2, [1, 0]),
    ):
        with pytest.raises(ValueError, match="holds document 'a' a second time"):
            table.to_ranx()
    numbers = Run.from_ranx(Run.from_dict({1: {2: 0.5}}).to_ranx())
    assert numbers.to_dict() == {"1": {"2": 0.5}}


def test_replaced_columns_are_checked():
    with pytest.raises(ValueError, match=r"run\.docids has 1 ids for 3 rows"):
        judge_run(QRELS, replace(RUN, docids=RUN.docids[:1]))


@pytest.mark.parametrize("place", ["groups", "docids"])
def test_a_column_of_ids_is_an_array_of_them(place):
    columns = {
        "groups": np.array(["a", "a", "b"]),
        "docids": np.array(["x", "y", "x"], dtype=object),
    }
    columns[place] = columns[place][:, None]
    run = Run(*columns.values(), np.array([3.0, 2.0, 1.0]), "run")
    assert run.to_dict() == {"a": {"x": 3.0, "y": 2.0}, "b": {"x": 1.0}}
    run = Run(*columns.values(), np.array([[3.0], [2.0], [1.0]]), "run")
    assert run.scores.tolist() == [3.0, 2.0, 1.0]
    with pytest.raises(ValueError, match=r"^Qrels must hold one grade per row, got an"):
        Qrels(*columns.values(), np.zeros((3, 2)))
    qrels = Qrels(*columns.values(), np.array([1.0, 0.0, 1.0]))
    assert trec_measures(qrels, run, "map").summary["map"] == 1.0
