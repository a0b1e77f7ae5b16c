"""Features that change places: which rows move, and what is measured of them."""

import numpy as np
import pytest
from scipy import sparse

from skrank._core._columns import with_column
from skrank._core._permutations import falls_by_permutation, shuffled_within


def test_rows_stay_in_their_queries(rng):
    codes = np.repeat([0, 1, 2], [4, 1, 6])
    rows = shuffled_within(codes, np.random.RandomState(0))
    assert sorted(rows) == list(range(11))
    np.testing.assert_array_equal(codes[rows], codes)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_falls_are_differences_of_what_is_measured(kind, rng):
    X = rng.integers(0, 3, size=(8, 3)) * 1.0
    orders = [rng.permutation(8) for _ in range(2)]
    given = iter(orders)

    def measured(rows):
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return float(np.arange(8) @ dense @ [1.0, 10.0, 100.0])

    before, falls = falls_by_permutation(kind(X), measured, 2, lambda: next(given))
    assert before == measured(X)
    for r, order in enumerate(orders):
        for j in range(3):
            moved = X.copy()
            moved[:, j] = X[order, j]
            assert falls[j, r] == before - measured(moved)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_stay_of_their_kind(kind, rng):
    X = kind(rng.integers(0, 3, size=(6, 4)))
    changed = with_column(X, 3, np.linspace(0.0, 1.0, 6))
    assert type(changed) is kind
    assert changed.dtype == np.float64
    expected = X.toarray().astype(float)
    expected[:, 3] = np.linspace(0.0, 1.0, 6)
    np.testing.assert_array_equal(changed.toarray(), expected)
    constant = with_column(X, 0, 7)
    assert constant.dtype == X.dtype
    assert constant.toarray()[:, 0].tolist() == [7] * 6
