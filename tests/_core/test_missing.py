"""Missing values of many kinds, and masks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skrank._core._missing import is_missing, rows_with_nan, unmasked
from skrank._core._validation import (
    as_numbers,
    check_grades,
    check_groups,
    check_ptr,
    check_scores,
    check_weights,
)
from skrank._rows import check_pairs
from skrank.datasets import make_ranking
from skrank.experiments import make_folds
from skrank.losses import LogLoss
from skrank.metrics import bpref_score, make_ranking_scorer, ndcg_score
from skrank.model_selection import query_learning_curve
from skrank.preprocessing import (
    QueryStandardScaler,
    order_to_grades,
    preferences_to_grades,
)
from skrank.rankers import MART, MultipleHyperplaneRanker, NestedRanker, RankSVM
from skrank.text import inverse_document_frequency
from skrank.text._texts import check_numbers


def test_what_is_missing():
    missing = [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")]
    assert all(map(is_missing, missing))
    assert not any(map(is_missing, [0, "", "nan", (), (1, None), np.array([np.nan])]))


def test_masked_numbers_are_missing():
    for values in ([1, 2, 3], [1.0, 2.0, 3.0], [True, False, True]):
        found = as_numbers(np.ma.masked_array(values, [0, 1, 0]), "a")
        assert np.isnan(found).tolist() == [False, True, False]
        assert not np.isnan(as_numbers(np.ma.masked_array(values), "a")).any()
    with pytest.raises(ValueError, match="y_score contains NaN: 1 of 3 scores, first"):
        check_scores(np.ma.masked_array([1, 2, 3], [0, 1, 0]), 3)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        check_weights(np.ma.masked_array([1, 2, 3], [0, 1, 0]), 3)
    with pytest.raises(ValueError, match=r"preferences must hold one pair .* row 1 is"):
        check_pairs(np.ma.masked_array([[0, 1], [1, 2]], [[0, 0], [0, 1]]), 3)
    assert check_grades(np.ma.masked_array([0, 1])).tolist() == [0.0, 1.0]


def test_masks_without_effect_change_nothing():
    X, y, groups = make_ranking(n_queries=5, n_features=4, n_informative=3)
    plain = RankSVM().fit(X, y, groups).coef_
    wrapped = RankSVM().fit(*map(np.ma.masked_array, (X, y, groups))).coef_
    assert (plain == wrapped).all()


@pytest.mark.filterwarnings("ignore::skrank.metrics.QueryLeakageWarning")
def test_scores_keep_the_mask_of_grades():
    X, y, groups = make_ranking(
        n_queries=8, n_features=4, n_informative=3, random_state=1
    )
    ranker = RankSVM().fit(X, y, groups)
    y = np.ma.masked_array(y, y == y.max())
    scores = ranker.predict(X)
    found = ranker.score(X, y, groups)
    assert found == ndcg_score(y, scores, groups=groups, k=10)
    assert found != ndcg_score(y.data, scores, groups=groups, k=10)
    for measure, name in ((bpref_score, "bpref"), (ndcg_score, "ndcg")):
        expected = measure(y, scores, groups=groups)
        for scored in (name, measure):
            scorer = make_ranking_scorer(scored)
            assert scorer(ranker, X, y, groups=groups) == expected


def columns_of_polars():
    """Pairs of a column of polars and what its values are."""
    polars = pytest.importorskip("polars")
    big = 2**53
    return [
        (polars.Series(["a", "a\0"]), ["a", "a\0"]),
        (polars.Series(["a", None]), ["a", None]),
        (polars.Series([1, 2], dtype=polars.UInt8), [1, 2]),
        (polars.Series([1, None]), [1.0, np.nan]),
        (polars.Series([big, big + 1, None]), [big, big + 1, None]),
        (polars.Series([1, 2], dtype=polars.Int128), [1, 2]),
        (polars.Series([1.5, None]), [1.5, np.nan]),
        (polars.Series([True, False]), [True, False]),
        (polars.Series([True, None]), [True, None]),
        (polars.Series([None, None]), [None, None]),
        (polars.Series(["u", "v"], dtype=polars.Categorical), ["u", "v"]),
    ]


def test_columns_of_polars_keep_what_they_hold():
    for column, expected in columns_of_polars():
        found = unmasked(column)
        assert isinstance(found, np.ndarray)
        for value, wanted in zip(found.tolist(), expected, strict=True):
            assert value == wanted or (value != value and wanted != wanted)


NESTED = {
    "one field": ([{"a": 1.0}, {"a": 0.0}], None),
    "two fields": ([{"a": 1.0, "b": 2}, {"a": 0.0, "b": 1}], None),
    "a record missing": ([{"a": 1.0}, None], None),
    "lists": ([[1.0], [0.0]], None),
    "lists of all lengths": ([[1.0], [0.0, 2.0]], None),
    "arrays": ([[1.0], [0.0]], 1),
}


@pytest.mark.parametrize("in_frame", [False, True], ids=["column", "frame"])
@pytest.mark.parametrize("kind", NESTED)
def test_nested_columns_of_polars_are_refused_by_name(kind, in_frame):
    polars = pytest.importorskip("polars")
    values, width = NESTED[kind]
    dtype = None if width is None else polars.Array(polars.Float64, width)
    column = polars.Series("a", values, dtype=dtype)
    given = column.to_frame() if in_frame else column
    with pytest.raises(ValueError, match=r"^y must hold numeric relevance grades, got"):
        check_grades(given)
    with pytest.raises(ValueError, match=r"^y_score must hold numeric scores, got"):
        check_scores(given, 2)
    with pytest.raises(ValueError, match=r"^sample_weight must hold numeric weights"):
        check_weights(given, 2)
    refused = "groups must hold (hashable ids|one query id per row), got|row 1 has none"
    with pytest.raises((TypeError, ValueError), match=refused):
        check_groups(given, 2)


def test_frames_of_polars_with_one_column_are_columns():
    polars = pytest.importorskip("polars")
    wide = polars.DataFrame({"a": polars.Series([1, 0], dtype=polars.Int128)})
    assert check_grades(wide).tolist() == [1.0, 0.0]
    assert check_scores(wide, 2).tolist() == [1.0, 0.0]
    assert check_groups(wide, 2).tolist() == [1, 0]
    two = wide.with_columns(b=polars.col("a"))
    with pytest.raises(ValueError, match=r"y should be a 1d array, .* shape \(2, 2\)"):
        check_grades(two)
    with pytest.raises(ValueError, match=r"groups must be one-dim.* shape \(2, 2\)"):
        check_groups(two, 2)


def test_nested_columns_of_rows_are_named():
    polars = pytest.importorskip("polars")
    X, y, groups = make_ranking(n_queries=5, n_features=4, n_informative=3)
    records = polars.Series([{"a": value} for value in X[:, 1].tolist()])
    frame = polars.DataFrame({"size": X[:, 0], "record": records})
    for ranker in (RankSVM(), MART(n_estimators=2)):
        with pytest.raises(
            ValueError, match=r"^X must hold numbers, but column 'record'"
        ):
            ranker.fit(frame, y, groups)


def _with(value, kind):
    """Rows of objects, the first of which is missing or no number."""
    rows = X.astype(object)
    rows[0, 0] = value
    return {"array": rows, "list": rows.tolist(), "frame": pd.DataFrame(rows)}[kind]


X, Y, GROUPS = make_ranking(n_queries=8, n_features=4, n_informative=3, random_state=0)
over_kinds = pytest.mark.parametrize("kind", ["array", "list", "frame"])
over_missing = pytest.mark.parametrize(
    "missing", [pd.NA, pd.NaT, None, np.nan], ids=str
)


@over_kinds
@over_missing
def test_missing_objects_are_missing_values_of_trees(kind, missing):
    plain, rows = X.copy(), _with(missing, kind)
    plain[0, 0] = np.nan
    options = {"n_estimators": 3, "min_samples_leaf": 2, "random_state": 0}
    expected = MART(**options).fit(plain, Y, GROUPS).predict(plain)
    ranker = MART(**options).fit(rows, Y, GROUPS)
    np.testing.assert_array_equal(ranker.predict(rows), expected)
    scaled = QueryStandardScaler().fit_transform(rows, groups=GROUPS)
    expected = QueryStandardScaler().fit_transform(plain, groups=GROUPS)
    np.testing.assert_array_equal(scaled, expected)


@over_kinds
@over_missing
@pytest.mark.parametrize(
    "ranker", [RankSVM(), NestedRanker(), MultipleHyperplaneRanker()], ids=str
)
def test_missing_objects_are_refused_by_name(kind, missing, ranker):
    rows = _with(missing, kind)
    with pytest.raises(ValueError, match=r"^Input X contains NaN"):
        ranker.fit(rows, Y, GROUPS)
    fitted = clone(ranker).fit(X, Y, GROUPS)
    held = {"X_val": rows, "y_val": Y, "groups_val": GROUPS}
    with pytest.raises(ValueError, match=r"^Input X_val contains NaN"):
        fitted.fit(X, Y, GROUPS, **held)


def test_only_what_is_missing_is_replaced():
    plain = np.ones((2, 2))
    assert rows_with_nan(plain) is plain
    listed = [[1.0, 2.0], [3.0, 4.0]]
    assert rows_with_nan(listed) is listed
    objects = np.array([["a", None], [np.nan, 1]], dtype=object)
    assert rows_with_nan(objects) is objects
    frame = pd.DataFrame({"a": ["x", pd.NA, None], "b": [1.0, 2, 3]}, dtype=object)
    changed = rows_with_nan(frame)
    assert frame.loc[1, "a"] is pd.NA
    assert changed["a"].tolist()[::2] == ["x", None]
    assert np.isnan(changed.loc[1, "a"])
    assert changed.index.equals(frame.index)
    assert changed["b"].tolist() == [1.0, 2.0, 3.0]


@over_kinds
@pytest.mark.parametrize("value", [[1, 2], pd.Interval(0, 1), 1j, {}], ids=str)
@pytest.mark.parametrize("ranker", [RankSVM(), MART(), NestedRanker()], ids=str)
def test_objects_that_are_no_numbers_are_named(kind, value, ranker):
    rows = _with(value, kind)
    if kind == "list":
        where = "X"
    else:
        where = r"X must hold numbers, got .* in row 0 of column 0: .*(float|element)"
    with pytest.raises((TypeError, ValueError), match=f"^{where}"):
        ranker.fit(rows, Y, GROUPS)


def test_whole_numbers_beneath_a_mask_are_not_read():
    def masked(values):
        mask = np.zeros(np.shape(values), dtype=bool)
        mask.flat[-1] = True
        return np.ma.masked_array(values, mask=mask)

    with pytest.raises(ValueError, match="ptr must hold whole numbers that ascend"):
        check_ptr(masked([0, 2, 4]))
    with pytest.raises(ValueError, match="order must hold the positions 1 to 2"):
        order_to_grades(masked([1, 2]), [0, 0])
    with pytest.raises(ValueError, match="pairs must hold one pair of row numbers per"):
        preferences_to_grades(masked([[0, 1], [1, 2]]), [0, 0, 0])
    with pytest.raises(ValueError, match="document_frequency must hold numbers from 0"):
        inverse_document_frequency(masked([1, 2]), 3)
    with pytest.raises(ValueError, match="query_of must hold one number per row; row"):
        check_numbers(masked([0, 1]), 2, "query_of", "queries")
    X, y, groups = make_ranking(n_queries=5, n_features=3, n_informative=2)
    with pytest.raises(ValueError, match="train_sizes must hold shares"):
        query_learning_curve(
            RankSVM(),
            X,
            pd.Series(y, pd.Index(groups, name="qid")),
            train_sizes=masked([2, 3]),
        )
    assert np.isnan(LogLoss().to_scores(masked([0.5, 1.0]))[1])
    train = make_folds(masked(X), y, groups, n_splits=5)[0].train
    assert type(train.X) is np.ndarray
