"""Whole numbers that floats cannot tell apart stay apart, wherever they are levels."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skrank._core._exact import beyond_floats, order_of, values_of
from skrank._core._id_arrays import id_array
from skrank._core._levels import levels_of, places_among
from skrank.export import load_model, save_model
from skrank.inspection import feature_variation
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import LambdaMART
from skrank.trees import BinMapper

LARGE = 2**60
IDS = np.array([LARGE, LARGE + 1] * 20)
Y = np.array([0.0, 1.0] * 20)
GROUPS = np.repeat(np.arange(4), 10)
FAST = {"n_estimators": 3, "min_samples_leaf": 2, "random_state": 0}


@pytest.mark.parametrize(
    ("values", "reach"),
    [
        (np.array([2**53]), True),
        (np.array([-(2**53)]), True),
        (np.array([2**63], dtype=np.uint64), True),
        (np.array([2.0**53, np.nan]), True),
        (np.array([2**53 - 1, 1 - 2**53]), False),
        (np.array([np.nan]), False),
        (np.array([], dtype=np.int64), False),
        (np.array([1], dtype=np.int8), False),
        (np.array([np.inf], dtype=np.float16), False),
        (np.array(["a"]), False),
    ],
)
def test_numbers_beyond_floats(values, reach):
    assert beyond_floats(values) is reach


WITH_GAP = [LARGE + 1, None, LARGE]
COLUMNS = {
    "Int64": pd.Series(WITH_GAP, dtype="Int64"),
    "UInt64": pd.Series(WITH_GAP, dtype="UInt64"),
    "object": pd.Series(WITH_GAP, dtype=object),
    "category": pd.Series(WITH_GAP, dtype="Int64").astype("category"),
    "categories": pd.Series(pd.Categorical(WITH_GAP, [LARGE + 1, LARGE])),
    "masked": np.ma.masked_array([LARGE + 1, 0, LARGE], [False, True, False]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_levels_beside_a_gap_keep_their_digits(kind):
    column = COLUMNS[kind]
    levels, places = levels_of(column, "id")
    assert levels.tolist() == [LARGE, LARGE + 1]
    assert places.tolist() == [1, -1, 0]
    assert places_among(levels, column, "id").tolist() == [1, -1, 0]
    np.testing.assert_array_equal(order_of(values_of(column)), [1, np.nan, 0])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("other", [np.int8, np.int64, np.uint64])
def test_signed_and_unsigned_numbers_are_compared_exactly(dtype, other):
    levels = np.array([3, 100], dtype=dtype)
    values = np.array([100, 3, 5], dtype=other)
    assert places_among(levels, values, "id").tolist() == [1, 0, -1]
    levels = np.array([LARGE, LARGE + 1, 2**63 - 1], dtype=dtype)
    if other != np.int8:
        values = np.array([LARGE + 1, LARGE + 2, LARGE], dtype=other)
        assert places_among(levels, values, "id").tolist() == [1, -1, 0]
    levels = np.array([-1, 2**62]) if dtype == np.int64 else levels
    far = np.array([-1]) if dtype == np.uint64 else np.array([2**64 - 1], np.uint64)
    assert places_among(levels, far, "id").tolist() == [-1]


def test_floats_cannot_name_such_levels():
    levels = np.array([LARGE, LARGE + 1])
    with pytest.raises(ValueError, match=r"^id holds numbers of dtype float64, which"):
        places_among(levels, np.array([float(LARGE), np.nan]), "id")
    assert places_among(levels, np.array([5.0, np.nan]), "id").tolist() == [-1, -1]


def test_ids_in_lists_keep_their_digits():
    ids = [2**63, 2**63 + 1, -1]
    assert id_array(ids).tolist() == ids
    assert id_array([LARGE + 1, 0.5]).tolist() == [LARGE + 1, 0.5]
    assert id_array([1, 0.5]).dtype == np.float64


@pytest.mark.parametrize("form", ["frame", "array", "masked"])
def test_trees_keep_ids_apart(form, tmp_path):
    def table(ids):
        made = {
            "frame": lambda: pd.DataFrame({"id": ids}),
            "array": lambda: ids[:, None],
            "masked": lambda: np.ma.masked_array(ids[:, None], False),
        }
        return made[form]()

    given = {"categorical_features": [0], **FAST}
    ranker = LambdaMART(**given).fit(table(IDS), Y, GROUPS)
    few = LambdaMART(**given).fit(table(IDS - LARGE), Y, GROUPS)
    expected = few.predict(table(IDS - LARGE))
    assert len(np.unique(expected)) == 2
    np.testing.assert_array_equal(ranker.predict(table(IDS)), expected)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    unsigned = table(IDS.astype(np.uint64))
    np.testing.assert_array_equal(loaded.predict(unsigned), expected)
    with pytest.raises(ValueError, match=r"X: column .* dtype float64, which cannot"):
        loaded.predict(table(IDS.astype(float)))


def test_target_statistics_keep_ids_apart():
    encoder = QueryTargetEncoder(["id"], smooth=0, random_state=0)
    encoder.fit(pd.DataFrame({"id": IDS}), Y, GROUPS)
    for dtype in ("int64", "uint64", "Int64", "category"):
        encoded = encoder.transform(pd.DataFrame({"id": IDS}).astype(dtype))
        np.testing.assert_allclose(encoded["id"], Y - 0.5)


@pytest.mark.parametrize(
    "X",
    [
        IDS[:, None],
        IDS[:, None].tolist(),
        IDS[:, None].astype(object),
        pd.DataFrame({"id": IDS}),
        pd.DataFrame({"id": pd.array(IDS, dtype="UInt64")}),
        pd.DataFrame({"id": IDS}, dtype=object),
        sparse.csr_matrix(IDS[:, None]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_ids_vary(X):
    found = feature_variation(X, GROUPS)
    assert found.is_constant.tolist() == [False]
    assert found.share.tolist() == [1.0]
    constant = feature_variation(X, np.arange(40) % 2)
    assert constant.is_query_constant.tolist() == [True]


def test_ids_beside_a_gap_vary():
    ids = pd.array(IDS, dtype="Int64")
    ids[3] = pd.NA
    frame = pd.DataFrame({"id": ids, "text": np.where(Y, "1e300", "2")})
    assert feature_variation(frame, GROUPS).share.tolist() == [1.0, 1.0]
    assert not feature_variation(frame, np.arange(40)).is_constant.any()


def test_bins_have_no_room_for_such_categories():
    mapper = BinMapper(categorical_features=[0])
    for X in (IDS[:, None], IDS[:, None].tolist(), pd.DataFrame({"id": IDS})):
        with pytest.raises(ValueError, match=r"^categorical feature 0 holds whole num"):
            mapper.fit(X)
    BinMapper().fit(IDS[:, None])
    mapper.fit(IDS[:, None].astype(float))
    assert mapper.fit(IDS[:, None] - LARGE).n_bins_.tolist() == [2]
