"""Scaling within queries: a loop over queries, scikit-learn's scalers and pipelines."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank.datasets import make_ranking
from skrank.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from skrank.rankers import RankNet

PAIRS = [
    (QueryMinMaxScaler(), MinMaxScaler()),
    (QueryMinMaxScaler((-2, 3)), MinMaxScaler((-2, 3))),
    (QueryStandardScaler(), StandardScaler()),
    (QueryStandardScaler(with_mean=False), StandardScaler(with_mean=False)),
    (QueryStandardScaler(with_std=False), StandardScaler(with_std=False)),
]


def loop_over_queries(scaler, X, groups):
    scaled = np.empty_like(X)
    for query in set(np.asarray(groups).tolist()):
        rows = np.asarray(groups) == query
        scaled[rows] = scaler.fit_transform(X[rows])
    return scaled


@pytest.fixture(autouse=True)
def _quiet_all_nan_columns():
    with np.errstate(all="raise"):
        yield


@pytest.mark.parametrize(("scaler", "reference"), PAIRS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_query_is_scaled_as_scikit_learn_scales_it(
    scaler, reference, dtype, ragged, monkeypatch
):
    X, _, groups = ragged
    X = X.astype(dtype)
    X[:, 1] = 7  # constant everywhere
    X[::5, 2] = np.nan
    single = np.isin(groups, np.flatnonzero(np.bincount(groups) == 1))
    X[single, 2] = 1.0  # scikit-learn warns about columns without any value
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-9}
    expected = loop_over_queries(reference, X, groups)
    scaled = scaler.fit_transform(X, groups=groups)
    np.testing.assert_allclose(scaled, expected, **{"atol": 1e-12, **tolerance})
    assert scaled.dtype == dtype
    monkeypatch.setattr("skrank.preprocessing._query_scaling._BLOCK_VALUES", 1)
    np.testing.assert_array_equal(scaler.transform(X, groups=groups), scaled)


ragged_groups = st.lists(st.integers(0, 4), min_size=1, max_size=30)


@given(groups=ragged_groups, seed=st.integers(0, 100))
@settings(deadline=None, max_examples=50)
def test_results_follow_the_rows(groups, seed):
    rng = np.random.default_rng(seed)
    groups = np.array(groups)
    assume(len(np.unique(groups)) < len(groups) or len(groups) == 1)  # warned of
    X = rng.integers(-3, 4, size=(len(groups), 3)).astype(float)
    order = rng.permutation(len(groups))
    for scaler in (QueryMinMaxScaler(), QueryStandardScaler()):
        scaled = scaler.fit_transform(X, groups=groups)
        permuted = scaler.transform(X[order], groups=groups[order].astype(str))
        np.testing.assert_allclose(permuted, scaled[order], atol=1e-12)
        again = scaler.transform(scaled, groups=groups)
        np.testing.assert_allclose(again, scaled, atol=1e-9)  # idempotent


def test_minmax_stays_in_its_range(rng):
    groups = np.repeat(np.arange(500), 7)
    X = rng.standard_normal((len(groups), 4)) * 10.0 ** rng.integers(-20, 20, (3500, 1))
    scaled = QueryMinMaxScaler((0.1, 0.7)).fit_transform(X, groups=groups)
    assert scaled.min() == 0.1
    assert scaled.max() <= 0.7
    best = scaled.reshape(500, 7, 4).max(axis=1)
    np.testing.assert_allclose(best, 0.7)


def test_constant_features_become_zero_and_nan_stays():
    X = np.array([[0.1, np.nan], [0.1, np.nan], [0.1, np.nan], [5.0, 2.0]])
    for scaler in (QueryMinMaxScaler(), QueryStandardScaler()):
        scaled = scaler.fit_transform(X, groups=[1, 1, 1, 2])
        np.testing.assert_array_equal(scaled[:, 0], 0)
        np.testing.assert_array_equal(np.isnan(scaled), np.isnan(X))


@pytest.mark.parametrize(
    "scaler", [QueryMinMaxScaler(), QueryStandardScaler()], ids=str
)
def test_input_is_left_alone(scaler, rng):
    X = rng.standard_normal((6, 2))
    X.flags.writeable = False
    before = X.copy()
    scaler.fit_transform(X, groups=[0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(X, before)


def test_pipeline_with_routing_passes_groups_everywhere(ragged):
    X, y, groups = ragged
    scaled = QueryStandardScaler().fit_transform(X, groups=groups)
    expected = Ridge().fit(scaled, y).predict(scaled)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(QueryMinMaxScaler(), QueryStandardScaler(), Ridge())
        pipe.fit(X, y, groups=groups)
        np.testing.assert_allclose(pipe.predict(X, groups=groups), expected)
        search = GridSearchCV(pipe, {"ridge__alpha": [1.0]}, cv=GroupKFold(3))
        search.fit(X, y, groups=groups)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        np.testing.assert_allclose(
            search.best_estimator_.predict(X, groups=groups), expected
        )


def test_pipeline_without_routing_reads_the_index_of_x(ragged):
    X, y, groups = ragged
    frame = pd.DataFrame(X, index=pd.Index(groups, name="qid")).add_prefix("f")
    scaled = QueryMinMaxScaler().fit_transform(X, groups=groups)
    expected = LinearRegression().fit(scaled, y).predict(scaled)
    pipe = make_pipeline(QueryMinMaxScaler(), LinearRegression()).fit(frame, y)
    np.testing.assert_allclose(pipe.predict(frame), expected)
    chain = make_pipeline(
        QueryStandardScaler(), QueryMinMaxScaler(), LinearRegression()
    )
    chain.set_output(transform="pandas").fit(frame, y)  # frames keep their index
    np.testing.assert_allclose(chain.predict(frame), expected)


def test_fit_transform_reads_the_index_of_y(ragged):
    X, y, groups = ragged
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    np.testing.assert_array_equal(
        QueryMinMaxScaler().fit_transform(X, series),
        QueryMinMaxScaler().fit_transform(X, groups=groups),
    )


def test_output_is_a_frame_with_names(ragged):
    X, _, groups = ragged
    frame = pd.DataFrame(X).add_prefix("f")
    scaler = QueryMinMaxScaler().set_output(transform="pandas")
    scaled = scaler.fit_transform(frame, groups=groups)
    assert scaled.columns.tolist() == frame.columns.tolist()
    assert scaler.get_feature_names_out().tolist() == frame.columns.tolist()


def test_missing_groups_and_bad_ranges_are_named():
    X = np.ones((3, 1))
    with pytest.raises(ValueError, match=r"QueryMinMaxScaler.transform needs to know"):
        QueryMinMaxScaler().fit_transform(X)
    with pytest.raises(ValueError, match="found 2 ids for 3 rows"):
        QueryMinMaxScaler().fit(X, groups=[1, 2])
    with pytest.raises(ValueError, match=r"feature_range must be \(a, b\) with a < b"):
        QueryMinMaxScaler((1, 1)).fit(X)
    scaler = QueryMinMaxScaler().fit(X, groups=[1, 1, 1])
    for groups in ("abc", {1, 2, 3}, {1: 1, 2: 1, 3: 1}, iter([1, 1, 1])):
        with pytest.raises(TypeError, match="groups must have one row per document"):
            scaler.transform(X, groups=groups)


def _expected_failures(estimator):
    return {
        "check_methods_subset_invariance": (
            "rows are scaled by the statistics of the rows that transform gets; under "
            "assume_single_query every subset is another query"
        )
    }


@parametrize_with_checks(
    [QueryMinMaxScaler(), QueryStandardScaler()],
    expected_failed_checks=_expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    with skrank.config_context(assume_single_query=True), np.errstate(all="warn"):
        check(estimator)


def exact(scaler, column):
    """Scale one column of one query by fractions, rounded at the end."""
    numbers = [Fraction(float(value)) for value in column]
    mean = sum(numbers) / len(numbers)
    width = max(numbers) - min(numbers)
    if isinstance(scaler, QueryMinMaxScaler):
        return [float((v - min(numbers)) / width) for v in numbers]
    if not scaler.with_std:
        return [float(v - mean) for v in numbers]
    # In units of the width, the variance is neither too large nor too small.
    variance = sum(((v - mean) / width) ** 2 for v in numbers) / len(numbers)
    location = mean if scaler.with_mean else 0
    return [float((v - location) / width) / math.sqrt(variance) for v in numbers]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "scaler",
    [
        QueryMinMaxScaler(),
        QueryStandardScaler(),
        QueryStandardScaler(with_mean=False),
        QueryStandardScaler(with_std=False),
    ],
    ids=str,
)
def test_features_of_any_size_are_scaled_exactly(scaler, dtype):
    limits = np.finfo(dtype)
    steps = np.array([0.0, 1.0, 0.5, 0.25], dtype=dtype)
    columns = [
        limits.max * steps,
        limits.max * (steps - dtype(0.5)),
        np.sqrt(limits.max) * steps,
        limits.tiny * steps,
        limits.smallest_subnormal * 4 * steps,
        dtype(limits.max) ** dtype(-0.7) * (steps + 3),
        np.array([0, -1, 1, 2], dtype=dtype),
    ]
    X = np.column_stack(columns).astype(dtype)
    rows = np.concatenate([X, X[:1]])  # and a query of one document
    scaled = scaler.fit_transform(rows, groups=[1, 1, 1, 1, 2])
    expected = np.column_stack([exact(scaler, column) for column in X.T])
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    keeps_units = scaler.get_params().get("with_std") is False
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(
            scaled[:4],
            expected.astype(dtype),
            rtol=tolerance,
            atol=2 * limits.smallest_subnormal if keeps_units else tolerance,
        )
    assert scaled.dtype == dtype
    # What neighbours do does not matter.
    alone = [scaler.fit_transform(c[:, None], groups=[1] * 4) for c in X.T]
    np.testing.assert_array_equal(np.hstack(alone), scaled[:4])


def test_missing_values_among_features_of_any_size():
    X = np.array([[1e300, np.nan], [np.nan, 1e-300], [-1e300, 3e-300], [0, np.nan]])
    for scaler in (QueryMinMaxScaler(), QueryStandardScaler()):
        scaled = scaler.fit_transform(X, groups=[0] * 4)
        for j in (0, 1):
            there = ~np.isnan(X[:, j])
            np.testing.assert_allclose(scaled[there, j], exact(scaler, X[there, j]))
        np.testing.assert_array_equal(np.isnan(scaled), np.isnan(X))


def test_centred_values_beyond_the_range_are_named():
    X = np.array([[1.7e308]] * 9 + [[-1.7e308]])
    with pytest.raises(ValueError, match=r"X holds values .* beyond the range of flo"):
        QueryStandardScaler(with_std=False).fit_transform(X, groups=[0] * 10)


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (0, np.inf), (0, 1e31)])
def test_ranges_beyond_single_precision_are_named(bounds):
    with pytest.raises(ValueError, match="feature_range must be "):
        QueryMinMaxScaler(bounds).fit(np.ones((2, 1)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2], [3]], "^X must hold rows of equal length"),
        ({"a": 1}, r"^X must hold numbers, got \{'a': 1\}$"),
        (
            np.array([[1.0, pd.Interval(0, 1)]], dtype=object),
            r"^X must hold numbers, got Interval.* in row 0 of column 1: float\(\)",
        ),
        (
            np.array([[10**400]], dtype=object),
            "^X must hold numbers of at most",
        ),
        (
            np.array([["a"]]),
            "^X: could not convert string to float: 'a' in row 0 of column 0;",
        ),
        (np.array([[np.inf]]), "X contains infinity"),
        (np.ones((1, 1, 1)), "X|dim 3"),
        (sparse.csr_array(np.eye(2)), "Sparse data was passed for X"),
    ],
)
def test_what_is_no_table_of_numbers_is_named(X, message):
    for scaler in (QueryMinMaxScaler(), QueryStandardScaler()):
        with pytest.raises((TypeError, ValueError), match=message):
            scaler.fit_transform(X, groups=[0])


def test_validation_rows_of_a_pipeline_are_named():
    """Groups of the training rows reach the scaler with the rows of X_val."""
    X, y, groups = make_ranking(n_queries=12, random_state=0)
    held = groups >= 8
    steps = [("scale", QueryStandardScaler()), ("rank", RankNet())]
    told = "X_val of a pipeline.*RankingRegressor"
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match=rf"found \d+ ids for \d+ rows.*{told}"),
    ):
        Pipeline(steps, transform_input=["X_val"]).fit(
            X[~held], y[~held], groups=groups[~held],
            X_val=X[held], y_val=y[held], groups_val=groups[held],
        )  # fmt: skip


def test_the_least_floats_are_scaled():
    X = np.array([[-1e-310], [0.0], [-5e-311]])
    found = QueryMinMaxScaler().fit_transform(X, groups=[1, 1, 1])
    np.testing.assert_allclose(found.ravel(), [0.0, 1.0, 0.5], rtol=1e-9)
