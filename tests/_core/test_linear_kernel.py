"""Products of a dense matrix with vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank._core._energies import matvec, rmatvec


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(0, 70),
    d=st.integers(0, 20),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 100),
)
def test_products_equal_numpy_in_double_precision(n, d, dtype, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    w, v = rng.normal(size=d), rng.normal(size=n)
    wide = X.astype(np.float64)
    np.testing.assert_allclose(matvec(X, w, 2), wide @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rmatvec(X, v, 2), wide.T @ v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_001, 37)).astype(dtype)
    w, v = rng.normal(size=37), rng.normal(size=20_001)
    for n_threads in (2, 3, 5):
        assert (matvec(X, w, n_threads) == matvec(X, w, 1)).all()
        assert (rmatvec(X, v, n_threads) == rmatvec(X, v, 1)).all()


def test_read_only_input():
    X = np.ones((3, 2))
    X.flags.writeable = False
    w = np.ones(2)
    w.flags.writeable = False
    assert matvec(X, w).tolist() == [2.0, 2.0, 2.0]


def test_lengths_are_checked():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="w has 3 entries for 2 features"):
        matvec(X, np.ones(3))
    with pytest.raises(ValueError, match="v has 2 entries for 3 rows"):
        rmatvec(X, np.ones(2))
