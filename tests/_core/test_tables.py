"""What cannot be rows: dates, text, single columns and tables of other libraries."""

import types

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from skrank._core._tables import naming_text, refuse_dates
from skrank.compat import RankingRegressor
from skrank.inspection import (
    feature_variation,
    interaction_strength,
    query_partial_dependence,
    query_permutation_importance,
)
from skrank.model_selection import QuerySubsample
from skrank.preprocessing import QueryStandardScaler, QueryTargetEncoder
from skrank.rankers import MART, PRank, PreferenceOrdering, RankSVM
from skrank.trees import CategoryEncoder

Y, GROUPS = [0, 1, 2, 0], [0, 0, 1, 1]
FRAME = pd.DataFrame({"a": [1.0, 2, 3, 4], "when": pd.to_datetime(range(4), unit="D")})


@pytest.mark.parametrize("column", [FRAME["when"], FRAME["when"].dt.tz_localize("UTC")])
@pytest.mark.parametrize("ranker", [RankSVM(), PRank()])
def test_a_column_of_dates_is_named(column, ranker):
    frame = FRAME.assign(when=column)
    with pytest.raises(ValueError, match="X must hold numbers, but column 'when' has"):
        ranker.fit(frame, Y, GROUPS)
    frame["when"] = frame["when"] - frame["when"].iloc[0]
    with pytest.raises(ValueError, match="column 'when' has dtype timedelta64"):
        ranker.fit(frame, Y, GROUPS)


@pytest.mark.parametrize(
    "X",
    [np.zeros((4, 2), "M8[s]"), np.zeros((4, 2), "m8[D]"), np.zeros(4, [("a", "f8")])],
)
def test_arrays_of_dates_and_of_records_are_refused(X):
    with pytest.raises(ValueError, match=r"^X must hold numbers, got dtype"):
        RankSVM().fit(X, Y, GROUPS)


@pytest.mark.parametrize("form", [FRAME, np.zeros((4, 2), "M8[s]")])
def test_validation_rows_of_dates_are_named(form):
    validation = {"X_val": form, "y_val": Y, "groups_val": GROUPS}
    with pytest.raises(ValueError, match=r"^X_val must hold numbers, (but|got)"):
        RankSVM().fit(np.eye(4)[:, :2], Y, GROUPS, **validation)


def test_frames_of_other_libraries_need_no_types_of_numpy():
    frame = types.SimpleNamespace(columns=["a", "b"], dtypes=["Float64", "String"])
    refuse_dates(frame)


@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_a_column_of_text_is_named(kind):
    text = pd.Series(["1", "2", "three", "4"]).astype(kind)
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "shop": text})
    where = "could not convert string to float: 'three' in row 2 of column 'shop'"
    numbers = frame.assign(shop=[0.0, 1, 2, 0])
    fitted = RankSVM().fit(numbers, Y, GROUPS)
    validation = {"X_val": frame, "y_val": Y, "groups_val": GROUPS}
    for call, name in [
        (lambda: RankSVM().fit(frame, Y, GROUPS), "X"),
        (lambda: fitted.predict(frame), "X"),
        (lambda: fitted.fit(numbers, Y, GROUPS, **validation), "X_val"),
        (lambda: QueryStandardScaler().fit(frame, groups=GROUPS), "X"),
    ]:
        with pytest.raises(ValueError, match=f"^{name}: {where}; rankers of trees"):
            call()


SMALL = {"n_estimators": 2, "min_samples_leaf": 1}
SITES = pd.DataFrame({"a": [1.0, 2, 3, 4], "site": ["7", "wiki", "blog", "wiki"]})
OBJECTS = SITES.to_numpy(dtype=object)
OF_ARRAYS = r"an array does not say .* categorical_features=, .* set_output\(transform="


@pytest.mark.parametrize(
    "X",
    [OBJECTS, OBJECTS.tolist(), OBJECTS.astype(str)],
    ids=["objects", "lists", "strings"],
)
@pytest.mark.parametrize("wrap", [lambda e: e, QuerySubsample, RankingRegressor])
def test_text_in_an_array_is_named(X, wrap):
    where = "^X: could not convert string to float: 'wiki' in row 1 of column 1; "
    for ranker, told in [
        (RankSVM(), "rankers of trees take columns of names, and QueryTargetEncoder"),
        (MART(**SMALL), OF_ARRAYS),
    ]:
        with pytest.raises(ValueError, match=where + told):
            wrap(ranker).fit(X, Y, GROUPS)
    named = MART(categorical_features=[1], **SMALL)
    wrap(named).fit(X, Y, GROUPS)  # as is told


def test_what_columns_are_passed_through_is_told():
    """A transformer of columns returns an array, which does not tell names apart."""
    columns = ColumnTransformer([("a", "passthrough", ["a"])], remainder="passthrough")
    model = make_pipeline(columns, MART(**SMALL))
    groups = {"mart__groups": GROUPS}
    with pytest.raises(ValueError, match=OF_ARRAYS):
        model.fit(SITES, Y, **groups)
    columns.set_output(transform="pandas")
    assert model.fit(SITES, Y, **groups)[-1].encoder_.columns_.tolist() == [1]


def test_text_in_a_table_of_arrow_is_named():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_pandas(SITES)
    where = "^X: could not convert string to float: 'wiki' in row 1 of column 'site'; "
    with pytest.raises(ValueError, match=where + r"X\.to_pandas\(\) makes a data"):
        MART(**SMALL).fit(table, Y, GROUPS)
    with pytest.raises(ValueError, match=f"{where}rankers of trees"):
        RankSVM().fit(table, Y, GROUPS)
    MART(**SMALL).fit(table.to_pandas(), Y, GROUPS)


def test_text_where_numbers_were_learned_is_named():
    ranker = MART(**SMALL).fit(np.eye(4)[:, :2], Y, GROUPS)
    with pytest.raises(
        ValueError, match="'wiki' in row 1 of column 1; the column held"
    ):
        ranker.predict(OBJECTS)
    named = MART(categorical_features=["other"])
    with pytest.raises(ValueError, match="row 1 of column 'site'; a column of names"):
        named.fit(SITES.assign(other=0), Y, GROUPS)


def test_rows_of_different_lengths_stay_what_they_are():
    with pytest.raises(ValueError, match="X must hold rows of equal length"):
        RankSVM().fit([[1.0, "wiki"], [1.0], [2.0], [3.0]], Y, GROUPS)
    with pytest.raises(ValueError, match="could not convert"), naming_text([[1], []]):
        float("three")


@pytest.mark.parametrize("ranker", [RankSVM(), MART(n_estimators=2)], ids=str)
def test_frames_without_columns_are_named(ranker):
    with pytest.raises(
        ValueError, match=r"^X must have columns, got a DataFrame of sh"
    ):
        ranker.fit(FRAME[[]], Y, GROUPS)


def test_dates_and_queries_of_polars_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2, 3, 4], "when": FRAME["when"].to_numpy()})
    with pytest.raises(ValueError, match=r"but column 'when' has dtype Datetime"):
        RankSVM().fit(frame, Y, GROUPS)
    with pytest.raises(TypeError, match=r"^X is a LazyFrame; pass X\.collect\(\)"):
        RankSVM().fit(frame.lazy(), Y, GROUPS)
    wide = polars.Series(Y).cast(polars.Int128)
    options = {"n_estimators": 2, "min_samples_leaf": 1, "random_state": 0}
    one, two = (MART(**options) for _ in range(2))
    X = frame.select("a")
    one.fit(X, wide, polars.Series(GROUPS).cast(polars.Int128))
    np.testing.assert_array_equal(one.predict(X), two.fit(X, Y, GROUPS).predict(X))


def test_tables_that_are_no_frames_are_left_to_others():
    table = types.SimpleNamespace(columns=["a"], shape=(3, 1))
    with pytest.raises(ValueError, match="could not convert"), naming_text(table):
        float("three")


def test_columns_of_text_of_numbers_are_numbers():
    frame = pd.DataFrame({"a": ["1", "2.5", "nan", "0"]}, dtype=object)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        RankSVM().fit(frame, Y, GROUPS)
    assert RankSVM().fit(frame.replace("nan", "0"), Y, GROUPS).n_features_in_ == 1


SERIES = FRAME["a"]
BEGIN = r"X must be two-dimensional, .* got a Series of 4 values; X\.to_frame\(\) is"


@pytest.mark.parametrize(
    "call",
    [
        lambda: RankSVM().fit(SERIES, Y, GROUPS),
        lambda: RankSVM().fit(FRAME[["a"]], range(4), GROUPS).predict(SERIES),
        lambda: MART().fit(SERIES, Y, GROUPS),
        lambda: MART().fit(SERIES.astype(str), Y, GROUPS),
        lambda: MART(categorical_features=[0]).fit(SERIES, Y, GROUPS),
        lambda: PreferenceOrdering([("svm", RankSVM())]).fit(SERIES, Y, GROUPS),
        lambda: QueryStandardScaler().fit(SERIES),
        lambda: QueryTargetEncoder().fit(SERIES, Y, GROUPS),
        lambda: QueryTargetEncoder([0]).fit(SERIES.astype(str), Y, GROUPS),
        lambda: CategoryEncoder(categorical_features=[0]).fit(SERIES),
        lambda: feature_variation(SERIES, GROUPS),
        lambda: query_partial_dependence(Constant(), SERIES, 0, GROUPS),
        lambda: query_permutation_importance(Constant(), SERIES, Y, GROUPS),
        lambda: interaction_strength(Constant(), SERIES),
    ],
)
def test_a_column_is_no_table(call):
    with pytest.raises(ValueError, match=f"^{BEGIN}"):
        call()


def test_validation_rows_in_a_column_are_named():
    validation = {"X_val": SERIES, "y_val": Y, "groups_val": GROUPS}
    for ranker in (RankSVM(), MART()):
        with pytest.raises(
            ValueError, match=r"^X_val must be two-dimensional, .* X_val\."
        ):
            ranker.fit(FRAME[["a"]], Y, GROUPS, **validation)


class Constant:
    """A scorer that takes anything."""

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices_and_tables_of_arrow_with_categories():
    X = np.matrix([[0.0, 1.0], [1.0, 2.0], [0.0, 2.0], [1.0, 1.0]])
    with pytest.raises(TypeError, match=r"np\.matrix is not supported"):
        MART(categorical_features=[1]).fit(X, Y, GROUPS)
    encoder = QueryTargetEncoder([1], random_state=0).fit(X, Y, GROUPS)
    np.testing.assert_array_equal(encoder.transform(X), encoder.transform(np.array(X)))
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1.0, 2, 3, 4], "b": [1, 2, 1, 2]})
    message = (
        r"X must be an array or a data frame of pandas or polars .*X\.to_pandas\(\)"
    )
    for estimator in (MART(categorical_features=[1]), QueryTargetEncoder([1])):
        with pytest.raises(ValueError, match=message):
            estimator.fit(table, Y, GROUPS)
