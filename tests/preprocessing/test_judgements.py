"""Conversions between grades, preference pairs and total orders."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.preprocessing import (
    _preferences,
    grades_to_order,
    grades_to_preferences,
    order_to_grades,
    order_to_preferences,
    preferences_to_grades,
    preferences_to_order,
)

judged = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([0, 0, 1, 2, 3.5])),
    min_size=1,
    max_size=25,
).map(lambda rows: (np.array([g for _, g in rows]), np.array([q for q, _ in rows])))
quick = settings(deadline=None, max_examples=80)


def pair_set(pairs):
    found = set(map(tuple, np.asarray(pairs).tolist()))
    assert len(found) == len(pairs)
    return found


def reference_pairs(y, groups):
    return {
        (u, v)
        for u in range(len(y))
        for v in range(len(y))
        if groups[u] == groups[v] and y[u] > y[v]
    }


@given(judged)
@quick
def test_pairs_are_those_of_a_double_loop(data):
    y, groups = data
    assert pair_set(grades_to_preferences(y, groups)) == reference_pairs(y, groups)


def test_steps_give_the_pairs_of_one(monkeypatch):
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    params = {"max_pairs_per_query": 30, "random_state": 0}
    expected = [grades_to_preferences(y, groups, **kw) for kw in ({}, params)]
    monkeypatch.setattr(_preferences, "_STEP", 7)
    found = [grades_to_preferences(y, groups, **kw) for kw in ({}, params)]
    for pairs, pairs_of_one in zip(found, expected, strict=True):
        assert pairs.dtype == np.intp
        np.testing.assert_array_equal(pairs, pairs_of_one)


@given(judged, st.integers(1, 12))
@quick
def test_sampled_pairs_are_some_of_all(data, limit):
    y, groups = data
    everything = reference_pairs(y, groups)
    pairs = grades_to_preferences(y, groups, max_pairs_per_query=limit, random_state=0)
    assert pair_set(pairs) <= everything
    for query in set(groups.tolist()):
        available = sum(groups[u] == query for u, _ in everything)
        assert sum(groups[pairs[:, 0]] == query) == min(available, limit)


def test_samples_are_uniform_and_reproducible():
    y, groups = np.array([2, 1, 1, 0]), np.zeros(4)
    rng = np.random.RandomState(0)
    counts: dict = {}
    for _ in range(3000):
        for pair in grades_to_preferences(
            y, groups, max_pairs_per_query=2, random_state=rng
        ):
            counts[tuple(pair)] = counts.get(tuple(pair), 0) + 1
    assert len(counts) == 5
    # 2 of 5 pairs each time: 1200 expected, standard deviation sqrt(3000 * .4 * .6)
    assert all(abs(count - 1200) < 5 * 27 for count in counts.values())
    first, second = (
        grades_to_preferences(y, groups, max_pairs_per_query=3, random_state=7)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@given(judged)
@quick
def test_levels_of_all_pairs_are_the_ranks_of_the_grades(data):
    y, groups = data
    levels = preferences_to_grades(grades_to_preferences(y, groups), groups)
    for query in set(groups.tolist()):
        rows = groups == query
        _, dense = np.unique(y[rows], return_inverse=True)
        np.testing.assert_array_equal(levels[rows], dense)


@given(judged)
@quick
def test_wins_count_documents_beaten(data):
    y, groups = data
    wins = preferences_to_grades(
        grades_to_preferences(y, groups), groups, method="wins"
    )
    expected = [sum((groups == groups[u]) & (y < y[u])) for u in range(len(y))]
    np.testing.assert_array_equal(wins, expected)


@given(judged, st.sampled_from(["stable", "random"]))
@quick
def test_orders_go_round_without_loss(data, ties):
    y, groups = data
    order = grades_to_order(y, groups, ties=ties, random_state=0)
    for query in set(groups.tolist()):
        rows = groups == query
        assert sorted(order[rows]) == list(range(1, rows.sum() + 1))
        assert (np.diff(y[rows][np.argsort(order[rows])]) <= 0).all()
    np.testing.assert_array_equal(
        grades_to_order(order_to_grades(order, groups), groups), order
    )
    pairs = order_to_preferences(order, groups)
    np.testing.assert_array_equal(preferences_to_order(pairs, groups), order)
    np.testing.assert_array_equal(
        preferences_to_grades(pairs, groups), order_to_grades(order, groups)
    )


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20),
    st.integers(0, 50),
)
@quick
def test_any_acyclic_pairs_are_respected_and_levels_are_longest_chains(edges, seed):
    rename = np.random.default_rng(seed).permutation(10)
    pairs = [(rename[max(e)], rename[min(e)]) for e in edges if e[0] != e[1]]
    groups = np.zeros(10)

    def chain(u):
        return max((1 + chain(v) for w, v in pairs if w == u), default=0)

    levels = preferences_to_grades(pairs, groups)
    np.testing.assert_array_equal(levels, [chain(u) for u in range(10)])
    order = preferences_to_order(pairs, groups)
    assert all(order[u] < order[v] for u, v in pairs)


def test_stable_ties_keep_the_order_of_rows():
    order = grades_to_order([1, 1, 2, 1], ["q"] * 4)
    np.testing.assert_array_equal(order, [2, 3, 1, 4])


def test_queries_can_come_from_a_pandas_index():
    y = pd.Series([0, 1, 1, 0], index=pd.Index(["a", "a", "b", "b"], name="qid"))
    assert pair_set(grades_to_preferences(y)) == {(1, 0), (2, 3)}
    order = pd.Series(grades_to_order(y), index=y.index)
    assert pair_set(order_to_preferences(order)) == {(1, 0), (2, 3)}
    np.testing.assert_array_equal(order_to_grades(order), [0, 1, 1, 0])


def test_no_pairs():
    assert grades_to_preferences([1, 1, 0], ["a", "a", "b"]).shape == (0, 2)
    np.testing.assert_array_equal(preferences_to_grades([], ["a", "b"]), [0, 0])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 1], [1, 2], [2, 0]], "cycle; in query 'a' rows .* > .* > .* > .* do"),
        ([[1, 0], [0, 0]], "cycle; in query 'a' rows 0 > 0 do"),
        ([[0, 3]], "rows 0 and 3 belong to queries 'a' and 'b'"),
        ([[0, 4]], "pairs must hold row numbers from 0 to 3, found 0 to 4"),
        ([[-1, 0]], "found -1 to 0"),
        ([[0, 1, 2]], r"shape \(n_pairs, 2\), got shape \(1, 3\)"),
        ([[0.0, 1.0]], "dtype float64"),
    ],
)
def test_bad_pairs_are_named(pairs, message):
    with pytest.raises(ValueError, match=message):
        preferences_to_grades(pairs, ["a", "a", "a", "b"])


def test_wins_accept_cycles():
    grades = preferences_to_grades([[0, 1], [1, 0], [0, 1]], [0, 0], method="wins")
    np.testing.assert_array_equal(grades, [2, 1])


@pytest.mark.parametrize("order", [[1, 1, 1], [0, 1, 1], [2, 3, 1], [1, 2.5, 1]])
def test_bad_orders_are_named(order):
    with pytest.raises(ValueError, match=r"positions 1 to 2 of query .*'a'.*found"):
        order_to_grades(order, ["a", "a", "b"])


def test_other_bad_arguments_are_named():
    with pytest.raises(ValueError, match="method must be 'levels' or 'wins'"):
        preferences_to_grades([[0, 1]], [0, 0], method="mean")
    with pytest.raises(ValueError, match="ties must be 'stable' or 'random'"):
        grades_to_order([1], [0], ties="first")
    with pytest.raises(ValueError, match="max_pairs_per_query must be a whole numb"):
        grades_to_preferences([1, 0], [0, 0], max_pairs_per_query=0)
    with pytest.raises(ValueError, match="grades_to_preferences needs to know"):
        grades_to_preferences([1, 0])
    with pytest.raises(ValueError, match="order_to_preferences needs to know"):
        order_to_preferences([1, 2])


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA])
def test_missing_positions_and_grades_are_named(hole):
    with pytest.raises(ValueError, match="order must hold the positions 1 to 2 of"):
        order_to_grades([1, hole], groups=[0, 0])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        grades_to_order([1, hole], groups=[0, 0])
    with pytest.raises(ValueError, match=r"groups must hold .* row 1 has none"):
        order_to_grades([1, 2], groups=[0, hole])
