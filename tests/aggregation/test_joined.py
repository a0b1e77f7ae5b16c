"""Joining runs of every kind into one table."""

import datetime
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from _runs import ranks_of

from skrank.aggregation import RRF, CombSUM, JoinedRuns, aggregate, join_runs
from skrank.aggregation._joined import best_first, join_for_now
from skrank.datasets import Run


def as_run(run, tag="r", seed=None):
    rows = [(q, d, s) for q, entry in run.items() for d, s in entry.items()]
    if seed is not None:
        rows = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    groups = np.array([q for q, _, _ in rows])
    docids = np.array([d for _, d, _ in rows], dtype=object)
    return Run(groups, docids, np.array([s for *_, s in rows]), tag)


def as_table(joined):
    """Scores by query and document."""
    return {
        (q, d): scores
        for q, d, scores in zip(joined.groups, joined.docids, joined.scores.tolist())
    }


def test_scores_and_ranks_are_those_of_the_runs(runs):
    joined = join_runs(runs)
    table = {
        (q, d): row
        for row, (q, d) in enumerate(zip(joined.groups.tolist(), joined.docids))
    }
    assert len(table) == joined.n_documents
    for number, run in enumerate(runs):
        found = ~np.isnan(joined.scores[:, number])
        assert found.sum() == sum(map(len, run.values()))
        for q, entry in run.items():
            ranks = ranks_of(entry)
            for d, score in entry.items():
                assert joined.scores[table[q, d], number] == score
                assert joined.ranks[table[q, d], number] == ranks[d]
    assert np.isnan(joined.ranks[~joined.retrieved]).all()
    expected = [[len(run.get(q, {})) for run in runs] for q in joined.queries]
    assert joined.n_retrieved.tolist() == expected


def test_runs_and_dictionaries_give_the_same_table(runs):
    of_dicts = join_runs(runs)
    of_runs = join_runs([as_run(run, f"t{i}") for i, run in enumerate(runs)])
    shuffled = join_runs([as_run(run, seed=i) for i, run in enumerate(runs)])
    np.testing.assert_array_equal(of_dicts.scores, of_runs.scores)
    np.testing.assert_array_equal(of_dicts.ranks, of_runs.ranks)
    assert of_runs.tags == ("t0", "t1", "t2", "t3")
    assert of_dicts.tags == ("run0", "run1", "run2", "run3")
    assert of_runs.queries.dtype.kind == "U"
    first, second = as_table(of_dicts), as_table(shuffled)
    assert first.keys() == second.keys()
    np.testing.assert_array_equal(
        [first[key] for key in first], [second[key] for key in first]
    )


def test_arrays_are_grouped_and_may_miss_scores():
    scores = [[1.0, np.nan], [2.0, -np.inf], [np.nan, 3.0], [4.0, 5.0]]
    joined = join_runs(scores, ["b", "a", "b", "a"])
    assert joined.docids is None
    np.testing.assert_array_equal(joined.queries, ["a", "b"])
    np.testing.assert_array_equal(
        joined.scores, [[2, np.nan], [4, 5], [1, np.nan], [np.nan, 3]]
    )
    np.testing.assert_array_equal(
        joined.ranks, [[2, np.nan], [1, 1], [1, np.nan], [np.nan, 1]]
    )


def test_a_frame_names_its_runs_and_queries():
    index = pd.Index(["a", "a"], name="qid")
    frame = pd.DataFrame({"bm25": [1.0, 2.0], "dense": [0.5, None]}, index=index)
    joined = join_runs(frame)
    assert joined.tags == ("bm25", "dense")
    assert joined.n_queries == 1


def test_a_mapping_names_the_runs():
    joined = join_runs({"x": {"q": {"a": 1.0}}, "y": {"q": {"b": 1.0}}})
    assert joined.tags == ("x", "y")


@pytest.mark.parametrize("depth", [1, 3, 100])
def test_depth_keeps_the_best_documents(runs, depth):
    cut = [
        {
            q: {d: e[d] for d, r in ranks_of(e).items() if r <= depth}
            for q, e in run.items()
        }
        for run in runs
    ]
    expected, found = join_runs(cut), join_runs(runs, depth=depth)
    first, second = as_table(expected), as_table(found)
    assert first.keys() == second.keys()
    np.testing.assert_array_equal(
        [first[key] for key in first], [second[key] for key in first]
    )
    np.testing.assert_array_equal(
        sorted(map(tuple, np.nan_to_num(expected.ranks))),
        sorted(map(tuple, np.nan_to_num(found.ranks))),
    )


def test_depth_keeps_the_rows_of_an_array():
    joined = join_runs([[1.0], [3.0], [2.0]], [0, 0, 0], depth=2)
    np.testing.assert_array_equal(joined.scores.ravel(), [np.nan, 3, 2])


def test_empty_queries_and_ids_that_are_numbers():
    joined = join_runs([{1: {7: 1.0, 10: 1.0}, 2: {}}, {1: {10: 2.0}}])
    assert joined.sizes.tolist() == [2, 0]
    assert joined.docids.tolist() == [7, 10]
    # Ids are compared as a file would hold them: "7" > "10".
    assert joined.ranks[:, 0].tolist() == [1.0, 2.0]
    assert isinstance(joined, JoinedRuns)


@pytest.mark.parametrize("seed", range(5))
def test_best_first_is_a_sort_by_score_and_id(seed):
    rng = np.random.default_rng(seed)
    ptr = np.array([0, 0, 7, 7, 20, 21, 21])
    values = rng.integers(0, 4, 21).astype(float)
    ids = np.array([f"d{i}" for i in rng.permutation(21)], object)
    expected = [
        row
        for a, b in pairwise(ptr)
        for row in sorted(range(a, b), key=lambda i: (values[i], ids[i]), reverse=True)
    ]
    assert best_first(values, ptr, ids).tolist() == expected
    stable = [
        row
        for a, b in pairwise(ptr)
        for row in sorted(range(a, b), key=lambda i: -values[i])
    ]
    assert best_first(values, ptr).tolist() == stable
    # Documents that are sorted already take another way.
    again = best_first(values[expected], ptr, ids[expected])
    assert again.tolist() == list(range(21))


@pytest.mark.parametrize(
    ("runs", "groups", "message"),
    [
        ([], None, "runs must be a sequence of Run objects or of dictionaries"),
        ({"q": {"d": 1.0}}, None, "runs must be a sequence of Run objects"),
        (
            [{"q": {"d": 1.0}}, as_run({"q": {"d": 1.0}})],
            None,
            "must all be of one kind",
        ),
        (as_run({"q": {"d": 1.0}}), None, "got one Run; put it into a list"),
        ([{"q": {"d": np.nan}}], None, r"runs\[0\] must hold finite scores"),
        ([{"q": {"d": "x"}}], None, r"runs\[0\] must hold numeric scores"),
        (
            [{"q": {"d": np.ones(2)}}],
            None,
            r"numeric scores, found an array of shape \(2,\) in place of one",
        ),
        ([{"q": {"d": 1.0}, "r": 3}], None, "found 3 in place of {document: score}"),
        (
            [{"q": {"d": 1.0}}, {"q": None}],
            None,
            r"runs\[1\] must be {query: {document: score}}, found None in place of",
        ),
        ([{"q": None}], None, r"dictionaries .*; found \{'q': None\}"),
        ([{"q": {"d": 1.0}}, None], None, "must all be of one kind, got dict, None"),
        ([{"q": {None: 1.0}}], None, "must hold one document id per row"),
        ([{"q": {"d": 1.0}}], [0], "groups belongs to runs in an array"),
        (
            [1.0, 2.0],
            [0, 0],
            r"must have the shape \(n_documents, n_runs\), got \(2,\)",
        ),
        (np.empty((0, 2)), [], "runs has no rows"),
        ([[np.inf]], [0], "it contains infinity"),
        ([[1.0]], None, "aggregation of runs needs to know the query of every row"),
        ([[1.0], [2.0]], [0], "found 1 ids for 2 rows"),
        (
            [Run(np.array(["q", "q"]), np.array(["a", "a"], object), np.ones(2), "t")],
            None,
            r"runs\[0\] retrieves document 'a' a second time for query 'q'",
        ),
        (
            [Run(np.array(["q"]), np.array(["a", "b"], object), np.ones(1), "t")],
            None,
            r"runs\[0\].docids has 2 ids for 1 rows",
        ),
    ],
)
def test_bad_runs_are_refused(runs, groups, message):
    with pytest.raises((TypeError, ValueError), match=message):
        join_runs(runs, groups)


@pytest.mark.parametrize("depth", [None, 2])
def test_joined_runs_keep_what_was_joined(depth):
    runs = [
        as_run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}),
        as_run({"q": {"b": 2.0, "d": 1.0}}),
    ]
    joined, kept = join_runs(runs, depth=depth), join_runs(runs, depth=depth)
    assert "scores" in vars(joined)
    expected = RRF().aggregate(kept), CombSUM().aggregate(kept)
    runs[0].docids[:], runs[0].scores[:] = ["x", "y", "z"], -1.0
    found = RRF().aggregate(joined), CombSUM().aggregate(joined)
    for before, after in zip(expected, found):
        assert before.docids.tolist() == after.docids.tolist()
        assert before.scores.tolist() == after.scores.tolist()


def test_runs_that_change_are_joined_anew():
    first = as_run({"q": {"a": 3.0, "b": 2.0}})
    runs = [first, as_run({"q": {"b": 3.0, "c": 1.0}})]
    assert RRF().aggregate(runs).docids.tolist() == ["b", "a", "c"]
    first.docids[:] = ["c", "d"]
    assert RRF().aggregate(runs).docids.tolist() == ["c", "b", "d"]


def test_joined_runs_and_their_ids_can_be_saved(runs):
    listed = [as_run(run, f"t{i}") for i, run in enumerate(runs)]
    for joined in (join_runs(listed), join_for_now(listed, None)):
        copy = pickle.loads(pickle.dumps(joined))
        np.testing.assert_array_equal(copy.scores, joined.scores)
        np.testing.assert_array_equal(copy.docids, joined.docids)
        np.testing.assert_array_equal(copy.ranks, joined.ranks)


IDS = {
    "text": ["a", "b", "é", "d\0", "d"],
    "bytes": [b"a", b"b", b"c", b"d\0", b"d"],
    "numbers": [7, 10, 3, -1, 2**70],
    "dates": [datetime.date(2020, 1, day) for day in range(1, 6)],
    "mixed": ["a", 7, b"a", (1, 2), "7"],
    "objects": [np.str_("a"), "b", np.str_("c"), "d", np.int64(5)],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("method", ["rrf", "combsum", "combmnz", "borda"])
def test_runs_of_all_ids_are_fused_as_dictionaries(kind, method):
    ids = IDS[kind]
    runs = [
        {"q": dict(zip(ids[:4], [4.0, 4.0, 2.0, 1.0])), "r": {ids[0]: 1.0}},
        {"q": dict(zip(ids[1:], [1.0, 2.0, 3.0, 3.0])), "s": {ids[4]: 1.0}},
    ]
    listed = []
    for run in runs:
        docids = np.empty(5, dtype=object)
        docids[:] = [d for entry in run.values() for d in entry]
        scores = np.array([s for entry in run.values() for s in entry.values()])
        groups = np.repeat(list(run), [len(entry) for entry in run.values()])
        listed.append(Run(groups, docids, scores, "t"))
    fused = aggregate(listed, method)
    expected = [
        (query, docid, score)
        for query, entry in aggregate(runs, method).items()
        for docid, score in entry.items()
    ]
    found = zip(fused.groups.tolist(), fused.docids.tolist(), fused.scores.tolist())
    assert list(found) == expected


def test_empty_runs_take_part():
    empty = Run(np.array([], dtype="U1"), np.array([], object), np.array([]), "e")
    run = as_run({"q": {"a": 3.0, "b": 2.0}})
    fused = RRF().aggregate([empty, run])
    assert fused.docids.tolist() == ["a", "b"]
    assert RRF().aggregate([empty, empty]).docids.tolist() == []


def test_bad_depths_are_refused():
    with pytest.raises(ValueError, match="depth must be a whole number >= 1"):
        join_runs([{"q": {"a": 1.0}}], depth=0)
    joined = join_runs([{"q": {"a": 1.0}}])
    with pytest.raises(ValueError, match="joined runs have it"):
        join_runs(joined, [0])


def test_runs_from_a_generator_are_refused():
    with pytest.raises(TypeError, match=r"a sequence of runs, .* got a generator"):
        join_runs({"q": {"a": 1.0}} for _ in range(2))


@pytest.mark.parametrize("missing", [None, np.nan, np.float64("nan")])
def test_queries_of_dictionaries_need_ids(missing):
    with pytest.raises(ValueError, match=r"runs\[1\] must name each query by an id"):
        join_runs([{"q": {"a": 1.0}}, {missing: {"a": 1.0}}])


@pytest.mark.parametrize("place", ["queries", "documents"])
def test_dates_of_dictionaries_meet_whatever_their_type(place):
    days = [datetime.datetime(2020, 1, day) for day in (1, 2)]
    others = list(np.array(days, dtype="M8[D]"))

    def run(dates):
        if place == "queries":
            return {date: {"a": 1.0} for date in dates}
        return {"q": {date: float(i) for i, date in enumerate(dates)}}

    joined = join_runs([run(days), run(others)])
    assert joined.scores.shape == (2, 2)
    assert not np.isnan(joined.scores).any()
    mixed = join_runs([{others[0]: {"a": 1.0}, "q": {"a": 1.0}}, {days[0]: {"a": 1.0}}])
    assert mixed.queries.tolist() == [days[0], "q"]
