"""Rows of equal ids in several lists, and the order of tied documents."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank._core._ids import IdTable, join_ids


class Id:
    """An id whose hash says nothing."""

    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return isinstance(other, Id) and self.name == other.name


def as_objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


NAMES = st.text("abé\0", max_size=3)
OTHERS = (
    st.integers(-2, 2) | st.binary(max_size=1) | st.builds(Id, st.sampled_from("ab"))
)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.lists(st.lists(NAMES | OTHERS, unique=True), min_size=3, max_size=3)
        | st.lists(st.lists(NAMES, unique=True), min_size=3, max_size=3),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0, 1, 3, 32]),
)
def test_joined_ids_are_those_of_a_dictionary(lists, hash_bits):
    entries = [as_objects([d for part in run for d in part]) for run in lists]
    ptr = np.array([np.cumsum([0, *map(len, run)]) for run in lists])
    joined = join_ids(entries, ptr, hash_bits)
    rows, bounds, sources, counts, all_strings, duplicate = joined
    ids = IdTable(entries, sources).take(np.arange(len(sources)))
    assert duplicate is None
    assert all_strings == all(isinstance(d, str) for run in entries for d in run)
    expected = [dict.fromkeys(d for run in lists for d in run[q]) for q in range(3)]
    # Equal ids of different types, such as 0 and False, keep the first of them.
    assert ids.tolist() == [d for table in expected for d in table]
    assert np.diff(bounds).tolist() == [len(table) for table in expected]
    for own, entry in zip(rows, entries):
        assert [ids[row] for row in own] == entry.tolist()
    assert counts.tolist() == [
        sum(d in run[q] for run in lists) for q in range(3) for d in expected[q]
    ]


@pytest.mark.parametrize("hash_bits", [0, 32])
def test_the_first_duplicate_is_found(hash_bits):
    lists = [as_objects(["a", "b", "a"]), as_objects(["b", "c", "c"])]
    ptr = np.array([[0, 2, 3], [0, 1, 3]])
    assert join_ids(lists, ptr, hash_bits)[-1] == (1, 2)
    assert join_ids(lists[:1], ptr[:1], hash_bits)[-1] is None


def test_ids_without_a_hash_are_refused():
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        join_ids([as_objects(["a", [1]])], np.array([[0, 2]]))


def test_comparisons_may_change_the_lists():
    class Vandal(Id):
        __hash__ = Id.__hash__

        def __eq__(self, other):
            lists[0][:] = None
            return super().__eq__(other)

    lists = [as_objects([Vandal(f"d{i}") for i in range(50)]) for _ in range(2)]
    rows, *_ = join_ids(list(lists), np.array([[0, 50], [0, 50]]))
    assert rows[1].tolist() == list(range(50))


@pytest.mark.parametrize("n", [2, 16, 17, 100, 1000])
def test_ties_are_sorted_by_descending_id(n):
    rng = np.random.default_rng(n)
    names = as_objects([f"d{i}é" if i % 2 else f"d{i}" for i in rng.permutation(n)])
    order = rng.permutation(n)
    tied = rng.random(n) < 0.7
    tied[:2] = False, n == 2
    ties = np.split(order, np.flatnonzero(~tied)[1:])
    expected = [r for t in ties for r in sorted(t, key=names.__getitem__, reverse=True)]
    IdTable([names]).sort_ties(order, tied.astype(np.uint8))
    assert order.tolist() == expected


def test_ids_are_ordered_as_python_orders_strings():
    names = as_objects(["", "a", "a\0", "a\0b", "ab", "b", "é", "\udc80", "\U0001f600"])
    order, tied = np.arange(len(names)), np.ones(len(names), dtype=np.uint8)
    tied[0] = 0
    IdTable([names]).sort_ties(order, tied)
    assert names[order].tolist() == sorted(names, reverse=True)


def test_tables_take_ids_of_several_lists():
    lists = [as_objects(["a", "b"]), as_objects([]), as_objects(["b", "c"])]
    ptr = np.array([[0, 2], [0, 0], [0, 2]])
    _, _, sources, *_ = join_ids(lists, ptr)
    table = IdTable(lists, sources)
    for copy in (table, pickle.loads(pickle.dumps(table))):
        assert copy.take(np.array([2, 0, 2, 1])).tolist() == ["c", "a", "c", "b"]


def test_tables_check_rows_and_sources():
    lists = [as_objects(["a", "b"])]
    with pytest.raises(ValueError, match="sources must name entries"):
        IdTable(lists, np.array([2]))
    with pytest.raises(ValueError, match="sources must name entries"):
        IdTable(lists, np.array([1 << 40]))
    with pytest.raises(ValueError, match="sources must name entries"):
        IdTable(lists, np.array([-1]))
    table = IdTable(lists)
    for rows in (np.array([2]), np.array([-1]), None):
        with pytest.raises(ValueError, match="order must hold rows below 2"):
            table.take(rows)
    with pytest.raises(ValueError, match="tied must have length 2"):
        table.sort_ties(np.array([0, 1]), np.zeros(1, dtype=np.uint8))
    with pytest.raises(ValueError, match="tied must be an array"):
        table.sort_ties(np.array([0, 1]), None)
    with pytest.raises(TypeError, match="ids must be strings, found 3"):
        IdTable([as_objects(["a", 3])]).sort_ties(
            np.array([0, 1]), np.array([0, 1], dtype=np.uint8)
        )
