"""The linear energy, its kernel relative, and whitened coordinates."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from skrank.energies import KernelEnergy, LinearEnergy, _kernel
from skrank.exceptions import NotFiniteError


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 5))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, np.float32])
def test_scores_and_gradient(X, fit_intercept, container):
    rng = np.random.default_rng(1)
    energy = LinearEnergy(fit_intercept=fit_intercept)
    params = rng.normal(size=energy.n_params(5))
    rows = container(X)
    scores, vjp = energy.scores_and_vjp(params, rows)
    expected = X @ params[:5] + (params[5] if fit_intercept else 0.0)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    np.testing.assert_array_equal(scores, energy.scores(params, rows))
    gradient = rng.normal(size=60)
    full = np.append(X.T @ gradient, gradient.sum())[: len(params)]
    np.testing.assert_allclose(vjp(gradient), full, atol=1e-5)
    assert energy.penalty_mask(5).tolist() == [1.0] * 5 + [0.0] * fit_intercept


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_whitened_coordinates_round_trip(X, fit_intercept):
    rng = np.random.default_rng(2)
    energy = LinearEnergy(fit_intercept=fit_intercept)
    frame = energy.coordinates(X * np.logspace(0, -3, 5), alpha=0.0)
    params = rng.normal(size=energy.n_params(5))
    np.testing.assert_allclose(
        frame.to_params(frame.from_params(params)), params, rtol=1e-8
    )
    # <gradient, params> does not depend on the coordinates.
    gradient = rng.normal(size=len(params))
    v = frame.from_params(params)
    np.testing.assert_allclose(frame.pull(gradient) @ v, gradient @ params, rtol=1e-8)


def test_whitened_features_have_unit_covariance(X):
    skewed = X @ np.triu(np.ones((5, 5))) * np.logspace(0, -3, 5)
    frame = LinearEnergy().coordinates(skewed, ptr=np.array([0, 60]))
    basis = np.column_stack([frame.to_params(e) for e in np.eye(5)])
    covariance = np.cov((skewed @ basis).T, bias=True)
    np.testing.assert_allclose(covariance, np.eye(5), atol=1e-3)


def test_wide_rows_get_a_diagonal():
    wide = np.random.default_rng(0).normal(size=(30, 1200))
    assert LinearEnergy().coordinates(wide).factor.ndim == 1
    assert LinearEnergy().coordinates(sparse.csr_matrix(wide)).factor.ndim == 1


def test_sparse_rows_get_the_coordinates_of_dense_ones(X):
    ptr = np.array([0, 20, 25, 60])
    for form in (sparse.csr_matrix, sparse.csr_array):
        for queries in (None, ptr):
            dense = LinearEnergy().coordinates(X, ptr=queries).factor
            found = LinearEnergy().coordinates(form(X), ptr=queries).factor
            np.testing.assert_array_equal(found, dense)


def test_constant_features_do_not_break_the_factor():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[:, 1] = 0.0
    X[:, 3] = X[:, 0]
    frame = LinearEnergy().coordinates(X)
    assert np.isfinite(frame.to_params(np.ones(4))).all()
    assert np.isfinite(LinearEnergy().coordinates(np.zeros((5, 2))).factor).all()


def rbf_kernel_of_two(a, b):
    """Return the value of a kernel between two rows."""
    return float(np.exp(-np.sum((a - b) ** 2) / len(a)))


def test_kernel_features_approximate_the_kernel(X):
    energy = KernelEnergy(kernel="rbf", kernel_params={"gamma": 0.1}, n_components=60)
    features = energy.setup(X, np.random.RandomState(0)).transform(X)
    np.testing.assert_allclose(
        features @ features.T, rbf_kernel(X, gamma=0.1), atol=1e-6
    )


@pytest.mark.parametrize("values", [1, 60, 60 * 7])  # blocks of 1, 1 and 7 rows
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("exact", "params"),
    [
        (rbf_kernel, {"gamma": 0.3}),
        (laplacian_kernel, {"gamma": 0.3}),
        (polynomial_kernel, {"degree": 5, "coef0": 1.0, "gamma": 0.5}),
    ],
)
def test_kernel_features_of_blocks(X, exact, params, container, values, monkeypatch):
    """With all rows as landmarks, products of features are the kernel itself."""
    monkeypatch.setattr(_kernel, "_BLOCK_VALUES", values)
    monkeypatch.setattr(_kernel, "n_threads_for", lambda *_, **__: 3)
    fresh = np.random.default_rng(1).normal(size=(37, 5))
    name = exact.__name__.removesuffix("_kernel")
    energy = KernelEnergy(kernel=name, kernel_params=params, n_components=1000)
    energy.setup(container(X), np.random.RandomState(0))
    features, others = (energy.transform(container(rows)) for rows in (X, fresh))
    for found, rows in ((features, X), (others, fresh)):
        expected = exact(rows, X, **params)
        error = np.abs(found @ features.T - expected).max()
        assert error <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("kernel", ["poly", "polynomial"])
def test_lapack_sees_no_kernel_that_is_not_finite(kernel, X, monkeypatch):
    # It would write a line of its own to the terminal.
    monkeypatch.setattr(np.linalg, "svd", lambda *_: pytest.fail("it is factorised"))
    energy = KernelEnergy(kernel=kernel, n_components=10)
    with pytest.raises(NotFiniteError, match=r"kernel=.* is not finite between some"):
        energy.setup(1e110 * X, np.random.RandomState(0))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_function_is_a_kernel_of_finite_values(value, X):
    energy = KernelEnergy(kernel=lambda a, b: value, n_components=10)
    with pytest.raises(NotFiniteError, match=r"kernel=.* is not finite between some"):
        energy.setup(X, np.random.RandomState(0))


@pytest.mark.parametrize("n_calls", [1, 30, 100, 560])
@pytest.mark.parametrize("kind", [np.linalg.LinAlgError, ValueError, StopIteration])
def test_what_a_kernel_raises_is_told(kind, n_calls, X):
    calls = []

    def kernel(a, b):
        calls.append(1)
        if len(calls) >= n_calls:
            raise kind("my own words")
        return float(a @ b)

    energy = KernelEnergy(kernel=kernel, n_components=10)
    with pytest.raises((ValueError, RuntimeError, StopIteration)) as caught:
        energy.setup(X, np.random.RandomState(0)).transform(X)
    error: BaseException | None = caught.value
    while error is not None and type(error) is not kind:
        error = error.__cause__
    assert "my own words" in str(error)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_components", [1, 10, None])
@pytest.mark.parametrize("kernel", [rbf_kernel_of_two, "rbf", "linear", "sigmoid"])
def test_the_map_is_that_of_scikit_learn(kernel, n_components, container, X):
    if callable(kernel) and container is not np.asarray:
        pytest.skip("functions take rows as arrays")
    X, state = container(X), np.random.RandomState(3)
    energy = KernelEnergy(kernel=kernel, n_components=n_components).setup(X, state)
    alone = Nystroem(
        kernel=kernel, n_components=n_components or X.shape[0], random_state=3
    ).fit(X)
    assert energy.map_.kernel is kernel
    assert vars(energy.map_).keys() == vars(alone).keys()
    assert np.array_equal(energy.map_.component_indices_, alone.component_indices_)
    expected, found = alone.transform(X), energy.map_.transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    # The stream of random numbers goes on behind the permutation.
    other = np.random.RandomState(3)
    other.permutation(X.shape[0])
    assert state.uniform() == other.uniform()


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_kernels_of_histograms(kernel, X):
    counts = np.abs(X)
    counts.setflags(write=False)
    energy = KernelEnergy(kernel=kernel, n_components=20)
    features = energy.setup(counts, np.random.RandomState(0)).transform(counts)
    alone = Nystroem(kernel=kernel, n_components=20, random_state=0)
    expected = alone.fit_transform(np.abs(X))  # which can be written to
    np.testing.assert_allclose(features, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_only_landmarks_must_have_a_finite_kernel_at_first(X, seed):
    X[5] = 1e150  # whose third power is not finite
    energy = KernelEnergy(kernel="poly", n_components=25)
    drawn = np.random.RandomState(seed).permutation(60)[:25]
    rng = np.random.RandomState(seed)
    if 5 in drawn:
        with pytest.raises(NotFiniteError, match="not finite between some rows"):
            energy.setup(X, rng)
    else:
        energy.setup(X, rng)
        assert energy.map_.component_indices_.tolist() == drawn.tolist()


@pytest.mark.parametrize("n_components", [40, None])
@pytest.mark.parametrize("kernel", ["cosine", "poly", "rbf", "additive_chi2"])
def test_features_of_a_kernel_do_not_depend_on_other_rows(kernel, n_components):
    """More landmarks than features magnify rounding, in all of these but "rbf"."""
    X = np.abs(np.random.default_rng(0).normal(size=(301, 6)))
    energy = KernelEnergy(kernel=kernel, n_components=n_components)
    features = energy.setup(X, np.random.RandomState(0)).transform(X)
    for start, end in ((0, 1), (7, 12), (100, 131), (250, 301)):
        found = energy.transform(X[start:end])
        # Small products of OpenBLAS may round otherwise by the last bits.
        np.testing.assert_allclose(found, features[start:end], rtol=1e-13, atol=1e-13)


def test_a_function_as_kernel_sees_no_other_rows(X):
    seen = []

    def kernel(a, b):
        seen.append(a.copy())
        return rbf_kernel_of_two(a, b)

    energy = KernelEnergy(kernel=kernel, n_components=4)
    energy.setup(X, np.random.RandomState(0))
    seen.clear()
    assert energy.transform(X[:3]).shape == (3, 4)
    np.testing.assert_array_equal(np.unique(seen, axis=0), np.unique(X[:3], axis=0))


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_histograms_are_not_negative(kernel, X, monkeypatch):
    monkeypatch.setattr(_kernel, "_BLOCK_VALUES", 1)
    counts = np.abs(X)
    counts[:4, 1] = 0.0
    energy = KernelEnergy(kernel=kernel).setup(counts, np.random.RandomState(0))
    assert np.isfinite(energy.transform(counts)).all()
    counts[7, 2] = -0.5
    message = f"X: kernel='{kernel}' .* numbers >= 0, got -0.5 in row 7; scale"
    for use in (energy.setup, energy.transform):
        with pytest.raises(ValueError, match=message):
            use(counts)
        with pytest.raises(TypeError, match=f"X: kernel='{kernel}' takes no sparse ro"):
            use(sparse.csr_array(np.abs(X)))
