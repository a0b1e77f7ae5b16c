"""Features within queries, against a loop over queries."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skrank.inspection import feature_variation


def loop(X, groups):
    """Return the share of queries in which each column of objects varies."""
    parts = [X[groups == query] for query in set(groups.tolist())]
    parts = [part for part in parts if len(part) > 1]
    return [
        np.mean([len({str(v) for v in part[:, j]}) > 1 for part in parts])
        for j in range(X.shape[1])
    ]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.permutation(60), rng.integers(1, 6, 60))
    groups = rng.permutation(groups)
    X = rng.integers(0, 3, (len(groups), 6)).astype(float)
    X[:, 1] = groups % 7  # of the query
    X[:, 2] = 4  # everywhere
    X[groups != 3, 3] = 0  # varies in one query at most
    X[:, 4] = np.where(groups % 2, np.nan, 1)
    X[rng.random(len(groups)) < 0.3, 5] = np.nan
    X[np.flatnonzero(groups == 3)[:1], 3] = 9
    return X, groups


def test_variation_is_that_of_a_loop(rows):
    X, groups = rows
    found = feature_variation(X, groups)
    np.testing.assert_allclose(found.share, loop(X, groups))
    assert found.is_query_constant.tolist() == [False, True, False, False, True, False]
    assert found.is_constant.tolist() == [False, False, True, False, False, False]
    assert found.n_queries == sum(np.unique(groups, return_counts=True)[1] > 1)
    X[:, 2] = np.nan
    assert feature_variation(X, groups).is_constant[2]


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
def test_sparse_rows_vary_like_dense_ones(rows, form):
    X, groups = rows
    expected = feature_variation(X, groups)
    found = feature_variation(form(X), groups)
    for name in ("share", "is_query_constant", "is_constant"):
        np.testing.assert_array_equal(vars(found)[name], vars(expected)[name])
    empty = feature_variation(form(np.zeros((len(groups), 2))), groups)
    assert empty.is_constant.all()


def test_names_and_missing_names(rows):
    X, groups = rows
    frame = pd.DataFrame(X).rename(columns="f{}".format)
    frame["site"] = np.array(["a", "b", None], dtype=object)[X[:, 0].astype(int)]
    frame["market"] = pd.Categorical(np.where(groups % 2, "fr", "de"))
    found = feature_variation(frame, groups)
    np.testing.assert_allclose(found.share, loop(frame.to_numpy(), groups))
    assert found.share[6] == found.share[0]
    assert found.is_query_constant[7]
    indexed = frame.set_index(pd.Index(groups, name="qid"))
    np.testing.assert_array_equal(feature_variation(indexed).share, found.share)


def test_the_report_names_features(rows):
    X, groups = rows
    frame = pd.DataFrame(X).rename(columns="f{}".format)
    found = feature_variation(frame, groups)
    text = found.to_text().splitlines()
    assert text == [
        f"6 features in {found.n_queries} queries of two or more documents",
        "constant within every query: f1, f4",
        "constant in all rows: f2",
        f"varying in fewer than 10% of the queries: f3 ({found.share[3]:.1%})",
    ]
    assert "constant within every query: 1, 4" in feature_variation(X, groups).to_text()


def test_queries_of_one_document():
    found = feature_variation([[1.0], [2.0]], groups=[0, 1])
    assert (found.share.tolist(), found.n_queries) == ([0.0], 0)
    assert found.is_query_constant.tolist() == [True]


def test_bad_input_is_named(rows):
    X, groups = rows
    with pytest.raises(ValueError, match="feature_variation needs to know the query"):
        feature_variation(X)
    with pytest.raises(ValueError, match="X must have rows and features"):
        feature_variation(X[:, 0], groups)
    with pytest.raises(ValueError, match="X must hold numbers"):
        feature_variation(np.full((len(groups), 1), "a"), groups)
    frame = pd.DataFrame({"when": pd.to_datetime(np.arange(len(groups)), unit="D")})
    with pytest.raises(ValueError, match="column 'when' must hold numbers"):
        feature_variation(frame, groups)


def test_parts_of_an_entry_are_one_number():
    """Entries of a CSR matrix that stand in the same place are summed."""
    parts = np.array([1.0, 1, 2, 2, 2]), np.zeros(5, int), np.array([0, 2, 3, 4, 5])
    X = sparse.csr_matrix(parts, shape=(4, 1))
    found = feature_variation(X, [0, 0, 1, 1])
    assert found.is_constant.tolist() == [True]
    assert found.share.tolist() == [0.0]
    assert X.nnz == 5
    # Two parts do not stand for two documents either.
    parts = np.array([1.0, 1]), np.zeros(2, int), np.array([0, 2, 2])
    X = sparse.csr_matrix(parts, shape=(2, 1))
    assert feature_variation(X, [0, 0]).share.tolist() == [1.0]
