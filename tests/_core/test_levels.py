"""Levels of columns as users have them, against plain loops."""

import tracemalloc
import types

import numpy as np
import pandas as pd
import pytest

from skrank._core._levels import (
    categorical_mask,
    columns_of_names,
    levels_of,
    n_columns,
    places_among,
    warn_of_unknown_numbers,
    with_columns,
)
from skrank.exceptions import UnknownLevelsWarning

NAMES = ["news", "shop", None, "blog", "shop"]
COLUMNS = {
    "list": np.array(NAMES, dtype=object),
    "object": pd.Series(NAMES, dtype=object),
    "str": pd.Series(NAMES, dtype="str"),
    "string": pd.Series(NAMES, dtype="string"),
    "category": pd.Series(NAMES, dtype="category"),
    "declared": pd.Series(pd.Categorical(NAMES, ["shop", "zoo", "news", "blog"])),
    "arrow": pd.Series(NAMES, dtype="string[pyarrow]"),
    "masked": np.ma.masked_array(
        ["news", "shop", "?", "blog", "shop"], [0, 0, 1, 0, 0]
    ),
}


def as_objects(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize("kind", COLUMNS)
def test_levels_are_the_names_that_occur(kind):
    levels, places = levels_of(COLUMNS[kind], "site")
    assert levels.tolist() == ["blog", "news", "shop"]
    assert places.tolist() == [1, 2, -1, 0, 2]
    assert places_among(levels, COLUMNS[kind], "site").tolist() == places.tolist()


NUMBERS = [3, 7, 3, -1]


@pytest.mark.parametrize(
    "column",
    [
        np.array(NUMBERS),
        np.array(NUMBERS, dtype=np.float32),
        np.array(NUMBERS, dtype=object),
        pd.Series(NUMBERS, dtype="Int64"),
        pd.Series(NUMBERS, dtype="category"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_numbers_are_levels_by_their_value(column):
    levels, places = levels_of(column, "site")
    assert levels.tolist() == [-1, 3, 7]
    assert places.tolist() == [1, 2, 1, 0]
    for other in (np.array([7.0, 4.0, np.nan]), pd.Series([7, 4, None], dtype="Int64")):
        assert places_among(levels, other, "site").tolist() == [2, -1, -1]


def test_levels_are_known_in_either_precision():
    levels, _ = levels_of(np.array([0.1, 0.7]), "site")
    single = np.array([0.7, 0.1, 0.2], dtype=np.float32)
    assert places_among(levels, single, "site").tolist() == [1, 0, -1]
    levels, _ = levels_of(single, "site")
    assert places_among(levels, np.array([0.1, 0.7]), "site").tolist() == [0, 2]


def test_numbers_come_before_strings():
    levels, places = levels_of(np.array(["b", 2, "a", 10, True], dtype=object), "site")
    assert levels.tolist() == [1, 2, 10, "a", "b"]
    assert places.tolist() == [4, 1, 3, 2, 0]
    assert places_among(levels, as_objects("2", 1.0, "b"), "site").tolist() == [
        -1,
        0,
        4,
    ]


def test_names_that_end_in_nul_or_differ_in_width_stay_apart():
    levels, places = levels_of(np.array(["a\0", "a", "a" * 99], dtype=object), "site")
    assert len(levels) == 3
    assert places_among(levels, as_objects("a", "a\0"), "site").tolist() == [0, 1]
    assert places[1] == 0


def test_a_column_without_any_value_has_no_levels():
    for column in (
        np.array([None, np.nan]),
        np.full(2, np.nan),
        pd.Series([pd.NA] * 2),
    ):
        levels, places = levels_of(column, "site")
        assert len(levels) == 0
        assert places.tolist() == [-1, -1]
        assert places_among(levels, as_objects("a", None), "site").tolist() == [-1, -1]
        assert places_among(levels, [1.0, np.nan], "site").tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (pd.Series(pd.to_datetime(["2020-01-01"])), "dtype datetime64"),
        (pd.Series([pd.Timestamp(0)], dtype=object), "Timestamp"),
        (np.array([("a", 1), None], dtype=object), "a"),
        (np.array([["a"], None], dtype=object), "lists or the like"),
        (np.array([b"a"]), "dtype |S1"),
        (np.array([1j]), "dtype complex128"),
    ],
)
def test_other_values_are_refused(values, found):
    with pytest.raises(
        ValueError, match="site is categorical and must hold strings"
    ) as e:
        levels_of(values, "site")
    assert found in str(e.value)


def test_strings_in_place_of_numbers_are_no_unseen_levels():
    with pytest.raises(
        ValueError, match="site holds strings, but its levels in fit were"
    ):
        places_among(np.array([1, 2]), np.array(["1", None], dtype=object), "site")
    with pytest.raises(
        ValueError, match="site holds numbers, but its levels in fit were"
    ):
        places_among(np.array(["1", "2"]), np.array([1.0, np.nan]), "site")
    with pytest.raises(ValueError, match="lists or the like"):
        places_among(np.array(["1", "2"]), np.array([["1"], None], object), "site")


def test_dtypes_of_data_frames_say_which_columns_hold_names():
    frame = pd.DataFrame({k: pd.Series(v) for k, v in COLUMNS.items() if k != "masked"})
    assert columns_of_names(frame).all()
    codes = pd.Series(NUMBERS).astype("category")
    numbers = {
        "float": [0.5] * 4,
        "bool": [True] * 4,
        "Int64": pd.Series(NUMBERS, dtype="Int64"),
        "object": pd.Series([1, 2, None, 0.5], dtype=object),
    }
    found = columns_of_names(pd.DataFrame(numbers | {"codes": codes}))
    assert found.tolist() == [False] * 4 + [True]
    words = [
        "String",
        "Categorical",
        "Enum(categories=['a'])",
        "Float64",
        "List(String)",
    ]
    other = types.SimpleNamespace(columns=list("abcde"), dtypes=words)
    assert columns_of_names(other).tolist() == [True, True, True, False, False]


def test_masks_and_indices_and_names():
    names = ["a", "b", "c"]
    for given in ([1], [False, True, False], ["b"], np.array([1]), np.array(["b"])):
        assert categorical_mask(given, 3, names).tolist() == [False, True, False]
    for given in (None, [], np.array([])):
        assert not categorical_mask(given, 3, names).any()
    with pytest.raises(
        ValueError, match="no feature is named 'd'; those of X are a, b"
    ):
        categorical_mask(["d"], 3, names)


def test_tables_have_columns():
    assert n_columns([[1, 2], [3, 4]]) == n_columns(pd.DataFrame(np.eye(2))) == 2
    assert n_columns([[1, 2], [3]]) is None
    assert n_columns([1, 2]) is None


class PolarsLike:
    """What is used of a data frame of polars."""

    def __init__(self, **series):
        self.series = series
        self.columns = list(series)
        self.dtypes = [s.dtype for s in series.values()]
        self.shape = (len(next(iter(series.values()))), len(series))

    def __getitem__(self, key):
        return list(self.series.values())[key[1]]

    def with_columns(self, series):
        return PolarsLike(**self.series | {s.name: s for s in series})


def test_numbers_take_the_place_of_columns():
    numbers = {1: np.array([1.0, np.nan])}
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    changed = with_columns(frame, numbers)
    pd.testing.assert_frame_equal(changed, pd.DataFrame({"a": [1, 2], "b": numbers[1]}))
    assert frame["b"].tolist() == ["x", "y"]
    for table in (np.array([[1, 0], [2, 0]]), np.array([["1", "x"], ["2", "y"]])):
        changed = with_columns(table, numbers)
        np.testing.assert_array_equal(changed.astype(float), [[1, 1], [2, np.nan]])

    class Series(pd.Series):
        def __init__(self, name, values):
            super().__init__(values, name=name)

    polars = PolarsLike(a=Series("a", [1, 2]), b=Series("b", ["x", "y"]))
    changed = with_columns(polars, numbers)
    assert changed.series["a"].tolist() == [1, 2]
    np.testing.assert_array_equal(changed.series["b"], numbers[1])


@pytest.mark.parametrize(
    ("levels", "column", "found"),
    [
        (
            ["5", "7"],
            ["5.0", "x", None],
            "2 different .* it holds '5.0', .* such as '5';",
        ),
        (["a", "b"], ["c", "d", "c"], "2 different .* it holds 'c', .* such as 'a';"),
        ([1, 2], [3, 4, np.nan], "2 different .* it holds 3.0, .* such as 1;"),
        (["a", 2], ["b", 10**400], "2 different .* it holds 'b', .* such as 2;"),
    ],
)
def test_a_column_of_unknown_levels_is_told(levels, column, found):
    levels, _ = levels_of(as_objects(*levels), "site")
    column = pd.Series(column)
    with pytest.warns(UnknownLevelsWarning, match=found):
        places = places_among(levels, column, "site")
    assert (places == -1).all()


def test_new_levels_beside_known_ones_are_usual():
    levels, _ = levels_of(as_objects("a", "b"), "site")
    for column in (["c", "d", "a"], ["c", "c"], [None, None], []):
        places_among(levels, as_objects(*column), "site")
    numbers = np.array([1.0, 2.0])
    warn_of_unknown_numbers(numbers, np.r_[np.arange(3.0, 99), 2], "site")
    warn_of_unknown_numbers(numbers, np.array([3.0, 3, np.nan]), "site")
    with pytest.warns(UnknownLevelsWarning, match="97 different values of site"):
        warn_of_unknown_numbers(numbers, np.arange(3.0, 100), "site")


def test_long_names_of_categories_are_held_once():
    codes = np.arange(20_000) % 3 - 1
    names = ["y" * 5000, "never seen", "x" * 5000]
    column = pd.Series(pd.Categorical.from_codes(np.where(codes > 0, 2, codes), names))
    tracemalloc.start()
    levels, places = levels_of(column, "names")
    again = places_among(levels, column[:4], "names")
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
    assert levels.tolist() == [names[2], names[0]]
    assert places[:4].tolist() == again.tolist() == [-1, 1, 0, -1]
