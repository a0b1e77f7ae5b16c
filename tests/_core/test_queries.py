"""Grouping rows by query."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank._core._queries import QueryIndex, rows_of_queries, take_rows


def reference_groups(groups, canonical):
    """Rows of each id: in order of the ids if canonical, else of appearance."""
    ids = sorted(set(groups)) if canonical else list(dict.fromkeys(groups))
    return ids, [[i for i, g in enumerate(groups) if g == name] for name in ids]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_canonical_index_groups_rows_by_sorted_id(groups):
    index = QueryIndex.from_groups(np.array(groups), canonical=True)
    ids, rows = reference_groups(groups, canonical=True)
    order = np.arange(len(groups)) if index.order is None else index.order
    assert index.ids.tolist() == ids
    assert [order[a:b].tolist() for a, b in zip(index.ptr, index.ptr[1:])] == rows
    assert index.n_documents == len(groups)
    assert index.sizes.tolist() == [len(r) for r in rows]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_take_and_restore_are_inverse(groups):
    index = QueryIndex.from_groups(np.array(groups))
    values = np.arange(len(groups)) * 1.5
    np.testing.assert_array_equal(index.restore(index.take(values)), values)
    grouped = index.take(np.array(groups))
    assert (grouped == index.ids[index.codes]).all()


@pytest.mark.parametrize(
    "groups",
    [np.array([3, 3, 1, 1, 1, 2]), np.array(["b", "b", "a"]), np.array([7])],
)
def test_contiguous_rows_are_not_moved(groups):
    index = QueryIndex.from_groups(groups)
    assert index.order is None
    X = np.ones((len(groups), 2))
    assert index.take(X) is X


def test_canonical_moves_queries_that_are_not_ascending():
    index = QueryIndex.from_groups(np.array([3, 3, 1]), canonical=True)
    assert index.ids.tolist() == [1, 3]
    assert index.order.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [("a", 1), ("b", 2), ("a", 1)],
        ["x", 1, "x"],
        [frozenset([1]), frozenset([2]), frozenset([1])],
    ],
)
def test_any_hashable_id(values):
    groups = np.empty(3, dtype=object)
    groups[:] = values
    index = QueryIndex.from_groups(groups, canonical=True)
    assert index.sizes.tolist().count(2) == 1
    assert index.n_queries == 2
    order = index.order
    assert order[index.ptr[np.argmax(index.sizes)]] == 0


@pytest.mark.parametrize("canonical", [True, False])
@pytest.mark.parametrize(
    "values",
    [
        [(1,), np.int8(1)],
        [(1,), np.int8(1), "a", (1,)],
        [(1, 2), np.int8(1), (1, 2)],
        [0.1, np.float32(0.1), "a", np.float32(0.1), 0.1],
        [np.uint64(2**64 - 1), 2.0**64, "a"],
        [np.float16(0.1), 2.0**64, "a", np.float16(0.1)],
        [np.False_, 2**63, (1,), np.False_],
        [Fraction(1, 2), np.uint64(2**64 - 1), np.int16(1)],
    ],
    ids=repr,
)
def test_objects_are_the_same_in_any_order(values, canonical):
    for rows in permutations(range(len(values))):
        groups = np.empty(len(rows), dtype=object)
        groups[:] = [values[row] for row in rows]
        index = QueryIndex.from_groups(groups, canonical=canonical)
        found = index.restore(index.codes)
        number_of = {name: number for number, name in enumerate(dict.fromkeys(groups))}
        pairs = {(number_of[name], code) for name, code in zip(groups, found)}
        assert len(pairs) == len(number_of) == index.n_queries


def test_index_is_frozen():
    index = QueryIndex.from_groups(np.array([0, 0, 1]))
    with pytest.raises(AttributeError):
        index.ptr = None
    with pytest.raises(ValueError, match="read-only"):
        index.ptr[0] = 1


def test_rows_of_queries():
    ptr = np.array([0, 2, 5, 6])
    rows, chosen = rows_of_queries(ptr, np.array([2, 0]))
    assert rows.tolist() == [5, 0, 1]
    assert chosen.tolist() == [0, 1, 3]


def test_rows_of_empty_and_repeated_queries(rng):
    ptr = np.append(0, np.cumsum(rng.integers(0, 4, size=30)))
    queries = rng.integers(0, 30, size=50)
    rows, chosen = rows_of_queries(ptr, queries)
    each = [np.arange(ptr[q], ptr[q + 1]) for q in queries]
    assert rows.tolist() == np.concatenate(each).tolist()
    assert np.diff(chosen).tolist() == [len(own) for own in each]
    rows, chosen = rows_of_queries(ptr, queries[:0])
    assert (rows.tolist(), chosen.tolist()) == ([], [0])


@pytest.mark.parametrize("query", [-1, 3])
def test_rows_of_a_query_that_does_not_exist(query):
    with pytest.raises(ValueError, match=f"below 3 and not below 0, got {query}"):
        rows_of_queries(np.array([0, 2, 5, 6]), np.array([0, query]))


def test_rows_of_queries_of_a_pointer_array_that_descends():
    with pytest.raises(ValueError, match="ptr must ascend"):
        rows_of_queries(np.array([0, 2, 1]), np.array([1]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_taken_in_any_order_of_memory(rng, order):
    X = np.array(rng.normal(size=(6, 3)), order=order)
    rows = np.array([4, 0, 4])
    np.testing.assert_array_equal(take_rows(X, rows), [X[4], X[0], X[4]])
    np.testing.assert_array_equal(take_rows(X[::2], rows[:0]), X[:0])


@pytest.mark.parametrize("canonical", [True, False])
def test_no_rows(canonical):
    index = QueryIndex.from_groups(np.array([]), canonical=canonical)
    assert index.n_queries == 0
    assert index.ptr.tolist() == [0]


@pytest.mark.parametrize("kind", [np.int64, np.int8, float, str, object])
@pytest.mark.parametrize("canonical", [True, False])
def test_mixed_rows_keep_their_order_within_queries(kind, canonical):
    groups = np.random.default_rng(0).integers(0, 9, 500).astype(kind)
    index = QueryIndex.from_groups(groups, canonical=canonical)
    expected = sorted(range(500), key=lambda row: (groups[row], row))
    np.testing.assert_array_equal(index.order, expected)
    assert index.order.dtype == np.intp


def test_an_id_that_comes_again_after_many_others():
    groups = np.append(np.arange(20_000), 0)
    index = QueryIndex.from_groups(groups)
    assert index.n_queries == 20_000
    assert index.take(np.arange(20_001))[:3].tolist() == [0, 20_000, 1]
