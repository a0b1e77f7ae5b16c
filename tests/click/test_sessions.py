"""The container of sessions: what goes in comes out, in any order and in any slice."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, cross_val_score, train_test_split

from skrank.click import Sessions

LISTS = [["a", "b"], ["b", "a", "c"], [], ["c"]]
CLICKS = [[0, 1], [1, 0, 1], [], [0]]
QUERIES = ["q", "q", "p", "p"]


def made(**options):
    return Sessions.from_lists(QUERIES, LISTS, CLICKS, **options)


def as_lists(sessions):
    """Return what the container holds as plain lists of ids."""
    shown = sessions.document_ids[sessions.document].tolist()
    click = sessions.click.tolist()
    bounds = list(zip(sessions.ptr[:-1].tolist(), sessions.ptr[1:].tolist()))
    return (
        sessions.query_ids[sessions.query].tolist(),
        [shown[a:b] for a, b in bounds],
        [click[a:b] for a, b in bounds],
    )


def test_lists_come_out_as_they_went_in():
    sessions = made()
    assert as_lists(sessions) == (QUERIES, LISTS, CLICKS)
    assert len(sessions) == 4
    assert sessions.shape == (4,)
    assert sessions.n_impressions == 6
    assert sessions.n_clicks == 3
    assert sessions.position.tolist() == [1, 2, 1, 2, 3, 1]
    assert sessions.session.tolist() == [0, 0, 1, 1, 1, 3]
    assert (sessions.click.dtype, sessions.query.dtype) == (np.uint8, np.intp)
    assert repr(sessions) == (
        "Sessions(n_sessions=4, n_impressions=6, n_clicks=3, n_queries=2, "
        "n_documents=3)"
    )


@settings(max_examples=50)
@given(st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5), min_size=1))
def test_rows_in_any_order_make_the_same_sessions(lists):
    rng = np.random.RandomState(len(lists))
    clicks = [rng.randint(0, 2, len(row)).tolist() for row in lists]
    queries = [row[0] for row in lists]
    rows = [
        (s, queries[s], d, place + 1, c)
        for s, row in enumerate(lists)
        for place, (d, c) in enumerate(zip(row, clicks[s]))
    ]
    mixed = [rows[i] for i in rng.permutation(len(rows))]
    found = Sessions.from_arrays(*zip(*mixed))
    order = np.argsort(found.session_ids)
    assert as_lists(found[order]) == (queries, lists, clicks)
    first_rows = list(dict.fromkeys(row[0] for row in mixed))
    assert found.session_ids.tolist() == first_rows


@pytest.mark.parametrize(
    "index",
    [
        slice(1, 3),
        slice(None, None, -1),
        slice(3, 1),
        slice(0, 4, 2),
        np.array([True, False, False, True]),
        np.array([3, 0, 0, -2]),
        np.array([], dtype=int),
        [],
        [1],
        (np.array([2, 1]), Ellipsis),
    ],
)
def test_slices_are_those_of_lists(index):
    sessions = made(session_ids=["s", "t", "u", "v"])
    part = sessions[index]
    numbers = index[0] if isinstance(index, tuple) else index
    numbers = np.array(numbers, int) if isinstance(numbers, list) else numbers
    chosen = np.arange(4)[numbers]
    expected = tuple([rows[i] for i in chosen] for rows in (QUERIES, LISTS, CLICKS))
    assert as_lists(part) == expected
    assert part.query_ids is sessions.query_ids or np.shares_memory(
        part.query_ids, sessions.query_ids
    )
    assert part.session_ids.tolist() == [["s", "t", "u", "v"][i] for i in chosen]


def test_one_number_is_one_session_and_iteration_ends():
    sessions = made()
    assert [as_lists(one)[1][0] for one in sessions] == LISTS
    with pytest.raises(IndexError, match="numbers of sessions must be from -4 to 3"):
        sessions[4]


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ("a", TypeError, "a slice, a mask or an array of numbers"),
        ([0.5], TypeError, "a slice, a mask or an array of numbers"),
        ([True], IndexError, r"must have shape \(4,\), got \(1,\)"),
        ([[0]], IndexError, "must be one-dimensional"),
    ],
)
def test_wrong_indices(index, error, words):
    with pytest.raises(error, match=words):
        made()[index]


def test_arrays_cannot_be_changed_and_survive_pickling():
    sessions = made()
    for name in ("query", "document", "click", "ptr"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(sessions[1:], name)[:1] = 0
    assert as_lists(pickle.loads(pickle.dumps(sessions))) == as_lists(sessions)


def test_the_arrays_of_the_user_stay_writeable():
    click = np.zeros(2, dtype=np.uint8)
    Sessions(np.zeros(1, int), np.arange(2), click, [0, 2], ["q"], ["a", "b"])
    click[0] = 1


def test_pairs_are_the_distinct_ones():
    sessions = made()
    pair, pair_query, pair_document = sessions.pairs()
    query = sessions.query[sessions.session]
    expected = sorted(set(zip(query.tolist(), sessions.document.tolist())))
    assert list(zip(pair_query.tolist(), pair_document.tolist())) == expected
    assert pair_query[pair].tolist() == query.tolist()
    assert pair_document[pair].tolist() == sessions.document.tolist()
    assert sessions.pairs()[0] is pair


def test_ids_of_any_kind_stay_different():
    lists = [[1, "1", (1, 2)], [frozenset({1}), 2**70]]
    sessions = Sessions.from_lists([1.5, ("q",)], lists, [[0, 0, 1], [1, 0]])
    assert as_lists(sessions) == ([1.5, ("q",)], lists, [[0, 0, 1], [1, 0]])


class _Clicks(BaseEstimator):
    """Score by the rate of clicks in the log that was fitted."""

    def fit(self, X, y=None):
        self.rate_ = X.n_clicks / X.n_impressions
        return self

    def score(self, X, y=None):
        return self.rate_ + X.n_clicks


def test_scikit_learn_slices_sessions():
    rng = np.random.RandomState(0)
    sessions = Sessions.from_lists(
        list("abcdefghij"), [["x", "y"]] * 10, rng.randint(0, 2, (10, 2)).tolist()
    )
    expected = [
        sessions[train].click.mean() + sessions[test].n_clicks
        for train, test in KFold(5).split(sessions)
    ]
    assert cross_val_score(_Clicks(), sessions, cv=KFold(5)).tolist() == expected
    train, test = train_test_split(sessions, test_size=3, random_state=0)
    found = as_lists(Sessions.concat([train, test]))[0]
    assert (len(train), len(test), sorted(found)) == (7, 3, list("abcdefghij"))


def test_concat_unites_ids_of_different_kinds():
    one = Sessions.from_lists(["q", "p"], [["b", "a"], ["c"]], [[1, 0], [1]], ["s", 1])
    two = Sessions.from_lists([1, "p"], [[1, "a"], ["d"]], [[0, 1], [0]], ["t", "u"])
    both = Sessions.concat([one, two, one[:0]])
    assert as_lists(both) == tuple(a + b for a, b in zip(as_lists(one), as_lists(two)))
    assert both.session_ids.tolist() == ["s", 1, "t", "u"]
    assert len(both.query_ids) == 3
    assert len(both.document_ids) == 5
    assert Sessions.concat([one, made()]).session_ids is None


def test_concat_of_slices_keeps_the_numbers():
    sessions = made()
    both = Sessions.concat([sessions[:1], sessions[1:]])
    assert np.array_equal(both.document, sessions.document)
    assert np.array_equal(both.ptr, sessions.ptr)


def test_compact_leaves_out_what_does_not_occur():
    part = made()[3:].compact()
    assert part.query_ids.tolist() == ["p"]
    assert part.document_ids.tolist() == ["c"]
    assert as_lists(part) == as_lists(made()[3:])


@pytest.mark.parametrize("ids", [None, ["s", "t", "u", "v"]])
def test_frames_and_back(ids):
    pytest.importorskip("pandas")
    sessions = made(session_ids=ids)[[0, 1, 3]]
    frame = sessions.to_frame()
    assert list(frame) == ["session", "query", "document", "position", "click"]
    mixed = frame.sample(frac=1, random_state=1).rename(columns={"click": "c"})
    back = Sessions.from_frame(mixed, click="c")
    order = np.argsort(back.session_ids)
    assert as_lists(back[order]) == as_lists(sessions)
    in_rows = Sessions.from_frame(frame.drop(columns="position"), position=None)
    assert as_lists(in_rows) == as_lists(sessions)


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(made().columns())
    assert as_lists(Sessions.from_frame(frame))[1] == [row for row in LISTS if row]


def test_wrong_frames():
    pd = pytest.importorskip("pandas")
    frame = made().to_frame()
    with pytest.raises(ValueError, match="frame has no column 'clicked'; its columns"):
        Sessions.from_frame(frame, click="clicked")
    with pytest.raises(ValueError, match="more than one column 'click'"):
        Sessions.from_frame(pd.concat([frame, frame[["click"]]], axis=1))
    with pytest.raises(TypeError, match="frame must be a data frame"):
        Sessions.from_frame([[1]])


def test_a_table_needs_distinct_ids():
    twice = made(session_ids=["s", "t", "u", "v"])[[0, 0]]
    with pytest.raises(ValueError, match="session_ids holds an id twice"):
        twice.columns()


GOOD = {
    "session": [1, 1, 2],
    "query": ["q", "q", "p"],
    "document": ["b", "a", "a"],
    "position": [2, 1, 1],
    "click": [1, 0, 0],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"click": [1, 0]}, "click must hold one entry per impression: found 2 for 3"),
        ({"position": [2, 1]}, "position must hold one entry per impression"),
        ({"click": [1, 0, 2]}, "click must hold 0 and 1; entry 2 is 2"),
        ({"click": [1, 0, np.nan]}, "click must hold 0 and 1; entry 2 is nan"),
        ({"click": ["x", 0, 1]}, "click must hold clicks"),
        ({"query": ["q", "p", "p"]}, "session 1 has 'q' and 'p'|session 1 has 'p' and"),
        ({"query": ["q", None, "p"]}, "query"),
        ({"document": ["a", np.nan, "b"]}, "document"),
        ({"position": [1, 1, 1]}, r"from 1 to 2; session 1 has \[1.0, 1.0\]"),
        ({"position": [3, 1, 1]}, r"from 1 to 2; session 1 has \[1.0, 3.0\]"),
        ({"position": [1, 0, 1]}, "position must count the documents"),
        ({"position": [1, None, 1]}, "position must count the documents"),
        ({"session": [[1, 1, 2]]}, "session must be one-dimensional"),
    ],
)
def test_wrong_columns(change, words):
    with pytest.raises(ValueError, match=words):
        Sessions.from_arrays(**(GOOD | change))


CODED = {
    "query": [0, 1],
    "document": [0, 1, 1],
    "click": [0, 1, 0],
    "ptr": [0, 2, 3],
    "query_ids": ["q", "p"],
    "document_ids": ["a", "b"],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ptr": [0, 3]}, "ptr must hold the 3 bounds of the 2 sessions of query"),
        ({"ptr": [0, 2, 2]}, "ptr must hold the 3 bounds"),
        ({"ptr": [1, 2, 3]}, "ptr must hold the 3 bounds"),
        ({"ptr": []}, "ptr must hold at least the bound 0"),
        ({"document": [0, 1, 1], "ptr": [0, 4, 3]}, "ptr must ascend"),
        ({"ptr": [0.0, 2.0, 3.0]}, "ptr must be a one-dimensional array of integers"),
        ({"click": [0, 1]}, "click must hold one entry per impression: found 2"),
        ({"query": [0, 2]}, "query must hold numbers of query_ids, from 0 to 1"),
        ({"query": [0, -1]}, "query must hold numbers of query_ids"),
        ({"document": [0, 1, 2]}, "document must hold numbers of document_ids"),
        ({"query_ids": ["q", "q"]}, "query_ids must hold each query id once"),
        ({"document_ids": [1, np.nan]}, "document_ids"),
        ({"session_ids": ["s"]}, "session_ids must hold one id per session: found 1"),
    ],
)
def test_wrong_numbers(change, words):
    with pytest.raises(ValueError, match=words):
        Sessions(**(CODED | change))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["q"], [["a"]], []), "got 1, 1 and 0"),
        ((["q"], [["a"]], [[0, 1]]), "session 0 has 2 for 1 documents"),
        ((["q"], [[None]], [[0]]), "documents"),
        ((["q"], [["a", "b"]], [[[0, 1], 1]]), "clicks must hold numbers, got"),
        ((["q"], [["a", "b"]], [["0", "1"]]), "clicks must hold numbers, got"),
    ],
)
def test_wrong_lists(arguments, words):
    with pytest.raises(ValueError, match=words):
        Sessions.from_lists(*arguments)


def test_wrong_parts():
    with pytest.raises(ValueError, match="parts must hold at least one"):
        Sessions.concat([])
    with pytest.raises(TypeError, match="parts must be a sequence of Sessions"):
        Sessions.concat([made(), "x"])


def test_no_sessions_at_all():
    empty = Sessions.from_lists([], [], [])
    assert (len(empty), empty.n_impressions, len(empty[:0])) == (0, 0, 0)
    assert [len(a) for a in empty.pairs()] == [0, 0, 0]
    assert as_lists(Sessions.concat([empty, made()])) == (QUERIES, LISTS, CLICKS)
