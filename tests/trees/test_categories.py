"""Numbers of levels, against counts by hand."""

import collections

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import OrdinalEncoder

from skrank.rankers import MART
from skrank.trees import BinMapper, CategoryEncoder

FRAME = pd.DataFrame({"score": [0.5, 1.5, 2.5, 3.5], "site": ["b", "c", None, "b"]})


def test_levels_are_numbered_as_scikit_learn_numbers_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({c: rng.choice(list("qwertz"), 40) for c in "ab"})
    frame.loc[3, "a"] = np.nan
    encoded = CategoryEncoder().fit(frame).transform(frame)
    expected = OrdinalEncoder().fit_transform(frame)
    np.testing.assert_array_equal(encoded.to_numpy(), expected)


def test_unseen_and_missing_levels_become_nan():
    encoder = CategoryEncoder().fit(FRAME)
    found = encoder.transform(FRAME.assign(site=["a", None, "c", "b"]))
    np.testing.assert_array_equal(found["site"], [np.nan, np.nan, 1, 0])
    np.testing.assert_array_equal(found["score"], FRAME["score"])
    assert encoder.is_categorical_.tolist() == [False, True]


def test_rare_levels_share_the_last_number():
    rng = np.random.default_rng(1)
    column = rng.zipf(1.3, size=3000) % 1000
    names = np.array([f"n{value:04d}" for value in column], dtype=object)
    frame = pd.DataFrame({"site": names})
    encoder = CategoryEncoder(max_levels=20).fit(frame)
    numbers = encoder.transform(frame)["site"].to_numpy()
    counts = collections.Counter(names)
    # The 19 most frequent ones; of equally frequent ones those that come first.
    kept = sorted(counts, key=lambda name: (-counts[name], name))[:19]
    place = {name: k for k, name in enumerate(sorted(kept))}
    assert numbers.tolist() == [place.get(name, 19) for name in names]
    assert np.isnan(encoder.transform(pd.DataFrame({"site": ["new"]}))["site"][0])


def test_columns_of_few_numbers_stay_as_they_are():
    X = np.column_stack([np.arange(300.0), np.arange(300) % 9, np.arange(300)])
    encoder = CategoryEncoder(categorical_features=[1]).fit(X)
    assert encoder.transform(X) is X
    encoder = CategoryEncoder(categorical_features=[0, 1], max_levels=100).fit(X)
    assert encoder.columns_.tolist() == [0]
    np.testing.assert_array_equal(encoder.transform(X)[:, 1:], X[:, 1:])
    assert encoder.transform(X)[:, 0].tolist() == [*range(99)] + [99] * 201
    np.testing.assert_array_equal(X[:, 0], X[:, 2])
    assert encoder.transform(X.astype(np.float32)).dtype == np.float32


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"site": rng.choice([f"s{k}" for k in range(90)], 400)})
    rows = rng.permutation(400)
    first = CategoryEncoder(max_levels=30).fit(frame)
    second = CategoryEncoder(max_levels=30).fit(frame.iloc[rows])
    assert first.levels_[0].tolist() == second.levels_[0].tolist()
    np.testing.assert_array_equal(first.numbers_, second.numbers_)


def test_lists_and_arrays_of_objects():
    rows = [["b", 1.0], ["a", 2.0], [3, 4.0]]
    encoder = CategoryEncoder(categorical_features=[0]).fit(rows)
    assert encoder.levels_[0].tolist() == [3, "a", "b"]
    assert encoder.transform(rows).tolist() == [[2, 1], [1, 2], [0, 4]]
    assert not CategoryEncoder().fit(rows).is_categorical_.any()


@pytest.mark.parametrize(
    "X", [3.0, None, "a", [1, 2], [[1, 2], [3]], np.zeros((2, 2, 2))]
)
@pytest.mark.parametrize("features", ["from_dtype", None, [0], ["a"]])
def test_what_is_no_table_is_refused(X, features):
    encoder = CategoryEncoder(categorical_features=features)
    with pytest.raises(ValueError, match=r"Expected 2D array, got .* one row per doc"):
        encoder.fit(X)
    encoder = CategoryEncoder().fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"Expected 2D array, got .* one row per doc"):
        encoder.transform(X)


@pytest.mark.parametrize("make", [sparse.coo_array, sparse.csr_array])
def test_sparse_arrays_of_one_axis_are_refused(make):
    X, groups = make(np.array([1.0, 2.0])), [0, 0]
    if X.ndim != 1:
        pytest.skip("this version of SciPy has none")
    ranker = MART(n_estimators=1, min_samples_leaf=1).fit(np.eye(2), [1, 0], groups)
    for call in (
        CategoryEncoder().fit,
        BinMapper().fit,
        BinMapper().fit(np.eye(2)).transform,
        lambda X: MART().fit(X, [1, 0], groups),
        ranker.predict,
    ):
        with pytest.raises(
            ValueError, match=r"Expected 2D|must have rows and features"
        ):
            call(X)


def test_errors_name_the_column():
    with pytest.raises(
        ValueError, match="X: column 'site' is categorical and must hold"
    ):
        CategoryEncoder(categorical_features=["site"]).fit(
            FRAME.assign(site=[("a",)] * 4)
        )
    encoder = CategoryEncoder().fit(FRAME)
    with pytest.raises(ValueError, match="column 'site' holds numbers, but its levels"):
        encoder.transform(FRAME.assign(site=1.5))
    with pytest.raises(ValueError, match="X must be a table of 2 columns, got 1"):
        encoder.transform(FRAME[["site"]])
    with pytest.raises(ValueError, match="max_levels must be a whole number in"):
        CategoryEncoder(max_levels=300).fit(FRAME)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_rows_without_categories_are_left_alone(form, kind):
    X = getattr(sparse, f"{form}_{kind}")(np.eye(3))
    encoder = CategoryEncoder().fit(X)
    assert encoder.transform(X) is X
    assert encoder.is_categorical_.tolist() == [False] * 3
    encoder = CategoryEncoder(categorical_features=[1]).fit([[0.1, "a"], [0.2, "b"]])
    with pytest.raises(ValueError, match="X must be a table of 2 columns, got 3"):
        encoder.transform(X)
