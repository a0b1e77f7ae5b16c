"""Rows of queries and all that came with them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skrank._core._queries import QueryIndex
from skrank._core._validation import check_scores
from skrank._rows import (
    GroupedRows,
    Preferences,
    SideData,
    check_pairs,
    named_rows,
    read_only,
)
from skrank.base import BaseRanker
from skrank.rankers import IRSVM

GROUPS = np.array(["b", "a", "b", "c", "a", "b"])


def rows(X=None, **kwargs):
    index = QueryIndex.from_groups(GROUPS, canonical=True)
    X = np.arange(6.0)[:, None] if X is None else X
    return GroupedRows.from_index(X, np.arange(6.0), index, **kwargs)


def test_everything_moves_together():
    data = rows(
        sample_weight=np.arange(6.0),
        preferences=Preferences(np.array([[0, 2], [4, 1]]), np.array([1.0, 2.0])),
        side={"position": np.arange(6)},
    )
    assert data.ids.tolist() == ["a", "b", "c"]
    assert data.groups.tolist() == ["a", "a", "b", "b", "b", "c"]
    order = data.y.astype(int).tolist()
    assert order == [1, 4, 0, 2, 5, 3]
    for moved in (data.X[:, 0], data.sample_weight, data.side["position"]):
        assert moved.tolist() == order
    # Rows 0, 2, 4, 1 stand in places 2, 3, 1, 0.
    assert data.preferences.pairs.tolist() == [[2, 3], [1, 0]]


@pytest.mark.parametrize("queries", [[2, 1], [1]])
def test_subset_slices_everything(queries):
    data = rows(
        sample_weight=np.arange(6.0),
        preferences=Preferences(np.array([[0, 2], [4, 1]]), np.array([1.0, 2.0])),
        side={"position": np.arange(6)},
        feature_names=np.array(["x"]),
    )
    part = data.subset(np.array(queries))
    chosen = [row for q in queries for row in np.flatnonzero(data.groups == "abc"[q])]
    assert part.y.tolist() == data.y[chosen].tolist()
    assert part.side["position"].tolist() == part.sample_weight.tolist()
    assert part.ids.tolist() == ["abc"[q] for q in queries]
    assert part.feature_names.tolist() == ["x"]
    best, worst = part.preferences.pairs[0]
    assert (part.y[best], part.y[worst]) == (0.0, 2.0)
    assert part.preferences.weight.tolist() == [1.0]


@pytest.mark.parametrize(
    "make", [sparse.csr_array, pd.DataFrame, np.asarray], ids=["csr", "frame", "array"]
)
def test_kinds_of_rows(make):
    data = rows(make(np.arange(6.0)[:, None]))
    part = data.subset(np.array([1, 0]))
    values = part.X.toarray() if sparse.issparse(part.X) else np.asarray(part.X)
    assert values.ravel().tolist() == part.y.tolist()


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.DataFrame])
def test_one_query_of_any_rows(kind):
    """A ranker of texts holds its rows in a list, of which one query is a slice."""
    data = rows(kind([["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]))
    for queries, expected in (([2], ["d"]), ([2, 0], ["d", "b", "e"])):
        found = np.ravel(data.subset(np.array(queries)).X)
        assert found.tolist() == expected


def test_queries_with_a_preference():
    assert rows().has_preference().tolist() == [True, True, False]
    only = Preferences(np.array([[4, 1]]))
    assert rows(preferences=only).has_preference().tolist() == [True, False, False]
    # Row 0 is the first of query b.
    only = Preferences(np.array([[0, 2]]))
    assert rows(preferences=only).has_preference().tolist() == [False, True, False]


def test_some_queries_are_left_to_train_on():
    train, held = rows().hold_out(0.6, np.random.RandomState(0))
    assert (train.n_queries, held.n_queries) == (1, 2)
    assert sorted([*train.ids, *held.ids]) == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"3 queries and validation_fraction=0\.7 le"):
        rows().hold_out(0.7, np.random.RandomState(0))


def test_preferences_cannot_be_held_out():
    index = QueryIndex.from_groups(GROUPS, canonical=True)
    data = GroupedRows.from_index(
        np.zeros((6, 1)), None, index, preferences=Preferences(np.array([[0, 2]]))
    )
    with pytest.raises(ValueError, match="preferences do not have"):
        data.hold_out(0.5, np.random.RandomState(0))


def test_names_of_columns_reach_inner_rankers():
    frame = named_rows(np.zeros((2, 2)), ["a", "b"])
    assert list(frame.columns) == ["a", "b"]
    assert named_rows(frame, ["a", "b"]) is frame
    bare = np.zeros((2, 2))
    assert named_rows(bare, None) is bare


def test_pairs_are_checked():
    assert check_pairs([[0, 1]], 2).dtype == np.intp
    with pytest.raises(ValueError, match="row numbers from 0 to 1"):
        check_pairs([[0, 2]], 2)


class Positional(BaseRanker):
    """A ranker that wants to know where documents were shown."""

    approach = "pointwise"
    _side_data = (
        SideData(
            "positions",
            lambda values, n_rows, name: check_scores(values, n_rows, name=name),
            "array-like of shape (n_documents,), default=None\n            Ranks.",
            for_validation=True,
        ),
    )

    def _fit(self, data, validation):
        self.data_, self.validation_ = data, validation

    def _predict(self, X):
        return X[:, 0]


def test_declared_side_data_is_checked_grouped_and_routed():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    ranker = Positional()
    ranker.fit(
        X,
        y,
        GROUPS,
        positions=np.arange(6),
        X_val=X,
        y_val=y,
        groups_val=GROUPS,
        positions_val=np.arange(6),
    )
    for data in (ranker.data_, ranker.validation_):
        assert data.side["positions"].tolist() == data.y.tolist()
    requests = ranker.get_metadata_routing().fit.requests
    assert requests["positions"] is True
    assert requests["positions_val"] is True
    assert "positions :" in Positional.fit.__doc__
    with pytest.raises(ValueError, match="positions has 5 scores for 6 documents"):
        ranker.fit(X, y, GROUPS, positions=np.arange(5))
    with pytest.raises(ValueError, match="positions and positions_val must be given"):
        ranker.fit(X, y, GROUPS, positions=y, X_val=X, y_val=y, groups_val=GROUPS)
    with pytest.raises(TypeError, match=r"Positional.fit takes no domains; it takes "):
        ranker.fit(X, y, GROUPS, domains=y)


def test_parts_of_a_fit_in_turn():
    """`partial_fit` comes through the same door, without a reset of the features."""

    class Online(BaseRanker):
        approach = "pointwise"

        def partial_fit(self, X, y, groups=None):
            first = not hasattr(self, "n_features_in_")
            return self._learn(lambda *_: None, X, y, groups, {}, reset=first)

    ranker = Online()
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    ranker.partial_fit(X, y, GROUPS).partial_fit(X[:2], y[:2], ["d", "d"])
    assert ranker.query_ids_.tolist() == ["d"]  # a stream of rankers keeps them
    assert ranker.query_sizes_.tolist() == [2]
    with pytest.raises(ValueError, match="3 features"):
        ranker.partial_fit(np.zeros((6, 3)), y, GROUPS)


def test_entries_in_the_same_place_are_one_number():
    """Kernels and means of squares take every stored entry for a feature."""
    rng = np.random.default_rng(0)
    whole = sparse.csr_matrix(rng.normal(size=(20, 3)))
    halves = (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2))
    parts = sparse.csr_matrix((*halves, 2 * whole.indptr), shape=whole.shape)
    given = parts.data.copy()
    protected = read_only(parts)
    assert protected.nnz == whole.nnz
    assert not protected.data.flags.writeable
    np.testing.assert_array_equal(protected.toarray(), whole.toarray())
    y, groups = rng.integers(0, 3, 20), np.repeat(np.arange(4), 5)
    ranker = IRSVM(kernel="rbf", n_components=5, random_state=0)
    scores = clone(ranker).fit(whole, y, groups).predict(whole)
    np.testing.assert_array_equal(
        clone(ranker).fit(parts, y, groups).predict(parts), scores
    )
    np.testing.assert_array_equal(parts.data, given)
