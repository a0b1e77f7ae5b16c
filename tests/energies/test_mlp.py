"""MLPEnergy against scikit-learn, finite differences and its own limit cases."""

import pickle
import warnings
from multiprocessing import get_all_start_methods, get_context

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from skrank._core import _threads
from skrank._core._threads import blas_threads
from skrank.energies import (
    ComparatorEnergy,
    GaussianEnergy,
    PairwisePotentialEnergy,
    _mlp,
)
from skrank.energies._feature_scale import feature_scale
from skrank.energies._mlp import MLPEnergy

ACTIVATIONS = ["relu", "tanh", "sigmoid", "identity"]
DEPTHS = [(), (5,), (4, 3), (4, 3, 2)]


def make(rng, n=30, d=4, dtype=np.float64, **params):
    """Rows off the origin, an energy set up on them, and parameters."""
    X = (rng.normal(size=(n, d)) * [1.0, 3.0, 0.2, 10.0] + [0, 1, -2, 5]).astype(dtype)
    energy = MLPEnergy(**params).setup(X)
    start = energy.init_params(d, rng)
    # Biases off 0, so that their gradients are seen.
    return X, energy, start + 0.1 * rng.normal(size=len(start))


def numeric_gradient(function, params, step=1e-4):
    """Fourth-order central differences."""
    gradient = np.empty_like(params)
    for i in range(len(params)):
        shift = np.zeros_like(params)
        shift[i] = step
        near = function(params + shift) - function(params - shift)
        far = function(params + 2 * shift) - function(params - 2 * shift)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("hidden", DEPTHS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_vjp_is_the_derivative(rng, activation, hidden, standardize):
    X, energy, params = make(
        rng,
        hidden_layer_sizes=hidden,
        activation=activation,
        standardize=standardize,
    )
    pull = rng.normal(size=len(X))
    raw, vjp = energy.scores_and_vjp(params, X)
    assert_allclose(raw, energy.scores(params, X), rtol=1e-12)
    expected = numeric_gradient(lambda w: energy.scores(w, X) @ pull, params, 1e-5)
    assert_allclose(vjp(pull), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("output", [*ACTIVATIONS, "scaled_tanh"])
@pytest.mark.parametrize("hidden", [(), (5,)])
def test_vjp_of_outputs(rng, hidden, output, n_outputs):
    X, energy, params = make(
        rng,
        hidden_layer_sizes=hidden,
        activation="scaled_tanh",
        output_activation=output,
        n_outputs=n_outputs,
    )
    raw, vjp = energy.scores_and_vjp(params, X)
    assert raw.shape == ((len(X),) if n_outputs == 1 else (len(X), n_outputs))
    pull = rng.normal(size=raw.shape)
    expected = numeric_gradient(
        lambda w: np.sum(energy.scores(w, X) * pull), params, 1e-5
    )
    assert_allclose(vjp(pull), expected, rtol=1e-6, atol=1e-6)


def test_outputs_share_the_hidden_layers(rng):
    X, energy, params = make(rng, hidden_layer_sizes=(5,), n_outputs=2)
    first = MLPEnergy((5,)).setup(X)
    hidden, last = params[:25], params[25:]
    weight, bias = last[:10].reshape(5, 2), last[10:]
    alone = np.concatenate([hidden, weight[:, 0], bias[:1]])
    assert_allclose(first.scores(alone, X), energy.scores(params, X)[:, 0], rtol=1e-13)


def test_scaled_tanh_is_one_at_one():
    energy = MLPEnergy((), output_activation="scaled_tanh", standardize=False)
    X = np.array([[-1.0], [0.0], [1.0]])
    scores = energy.setup(X).scores(np.array([1.0, 0.0]), X)
    assert_allclose(scores, [-1.0, 0.0, 1.0], atol=1e-4)


@pytest.mark.parametrize("hidden", [(), (7,), (4, 3)])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_scores_equal_those_of_mlp_regressor(rng, activation, hidden):
    name = {"sigmoid": "logistic"}.get(activation, activation)
    X = rng.normal(size=(40, 3))
    peer = MLPRegressor(
        hidden_layer_sizes=hidden, activation=name, max_iter=3, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, rng.normal(size=40))
    energy = MLPEnergy(hidden, activation=activation, standardize=False).setup(X)
    layers = zip(peer.coefs_, peer.intercepts_)
    params = np.concatenate([np.r_[W.ravel(), b] for W, b in layers])
    assert len(params) == energy.n_params(3)
    assert_allclose(energy.scores(params, X), peer.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("hidden", [(), (6,)])
def test_standardisation_equals_standard_scaler_before_a_plain_network(rng, hidden):
    X, energy, params = make(rng, hidden_layer_sizes=hidden, activation="tanh")
    Z = StandardScaler().fit_transform(X)
    plain = clone(energy).set_params(standardize=False).setup(Z)
    raw, vjp = energy.scores_and_vjp(params, X)
    raw_plain, vjp_plain = plain.scores_and_vjp(params, Z)
    assert_allclose(raw, raw_plain, rtol=1e-10, atol=1e-12)
    pull = rng.normal(size=len(X))
    assert_allclose(vjp(pull), vjp_plain(pull), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("make_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_feature_scale_equals_standard_scaler(rng, dtype, make_sparse):
    X = rng.normal(size=(5000, 4)) * [1.0, 1e-3, 1e6, 1.0] + [0.0, 5.0, 1e6, 0.0]
    X[rng.random(X.shape) < 0.5] = 0.0
    X[:, 3] = 0.1  # constant, and not a sum of powers of 2
    X = X.astype(dtype)
    mean, scale = feature_scale(sparse.csr_array(X) if make_sparse else X)
    peer = StandardScaler().fit(X.astype(np.float64))
    assert_allclose(mean, peer.mean_, rtol=1e-12)
    assert_allclose(scale, peer.scale_, rtol=1e-12)
    assert scale[3] == 1.0


def test_feature_scale_counts_repeated_entries_of_a_csr_matrix_as_their_sum():
    # Row 0 holds 1 + 2 in column 0, row 1 holds nothing: mean 1.5, deviation 1.5.
    X = sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2, 2]), shape=(2, 1))
    mean, scale = feature_scale(X)
    assert_array_equal(mean, [1.5])
    assert_array_equal(scale, [1.5])
    assert X.nnz == 2  # the caller's matrix is as it was


def test_single_precision_rows_are_close_to_double(rng):
    X, energy, params = make(rng, n=500, dtype=np.float32, hidden_layer_sizes=(8, 5))
    pull = rng.normal(size=len(X))
    raw, vjp = energy.scores_and_vjp(params, X)
    raw_double, vjp_double = energy.scores_and_vjp(params, X.astype(np.float64))
    assert raw.dtype == vjp(pull).dtype == np.float64
    assert_allclose(raw, raw_double, rtol=1e-4, atol=1e-5)
    size = np.abs(vjp_double(pull)).max()
    assert_allclose(vjp(pull), vjp_double(pull), rtol=1e-4, atol=1e-5 * size)
    assert not np.array_equal(raw, raw_double)  # the products were single precision


def test_features_far_from_zero_keep_their_digits_in_single_precision(rng):
    # Spread 1 at 1e6: folding in float32 would leave errors of about 0.1.
    X = (1e6 + rng.integers(-2, 3, size=(200, 2))).astype(np.float32)
    energy = MLPEnergy((4,), activation="tanh").setup(X)
    params = energy.init_params(2, rng)
    Z = StandardScaler().fit_transform(X.astype(np.float64))
    plain = MLPEnergy((4,), activation="tanh", standardize=False).setup(Z)
    expected = plain.scores(params, Z)
    assert_allclose(energy.scores(params, X), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("tape_bytes", [0, 300, 1 << 28])
@pytest.mark.parametrize("make_sparse", [False, True])
def test_blocks_kept_or_computed_again_give_the_same(
    rng, monkeypatch, make_sparse, tape_bytes, dropout
):
    X, energy, params = make(rng, hidden_layer_sizes=(4, 3), dropout=dropout)
    X = sparse.csr_array(X) if make_sparse else X
    pull = rng.normal(size=X.shape[0])
    if dropout == 0:
        expected, vjp = energy.scores_and_vjp(params, X)
        expected_gradient = vjp(pull)
    monkeypatch.setattr(_mlp, "_BLOCK_VALUES", 4 * 7)  # 7 rows
    if dropout > 0:
        seeded = np.random.RandomState(0)
        expected, vjp = energy.scores_and_vjp(params, X, seeded)
        expected_gradient = vjp(pull)
    monkeypatch.setattr(_mlp, "_TAPE_BYTES", tape_bytes)
    raw, vjp = energy.scores_and_vjp(params, X, np.random.RandomState(0))
    assert_allclose(raw, expected, rtol=1e-12, atol=1e-12)
    assert_allclose(vjp(pull), expected_gradient, rtol=1e-10, atol=1e-12)
    assert_array_equal(vjp(pull), vjp(pull))  # a vjp may be called again


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense(rng, dtype, container):
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.3)
    X = X.astype(dtype)
    pull = rng.normal(size=50)
    dense = MLPEnergy((5,)).setup(X)
    energy = MLPEnergy((5,)).setup(container(X))
    params = dense.init_params(6, rng)
    raw, vjp = energy.scores_and_vjp(params, container(X))
    raw_dense, vjp_dense = dense.scores_and_vjp(params, X)
    tol = 1e-4 if dtype == np.float32 else 1e-10
    assert_allclose(raw, raw_dense, rtol=tol, atol=tol)
    assert_allclose(vjp(pull), vjp_dense(pull), rtol=tol, atol=10 * tol)


def test_integer_fortran_and_read_only_rows(rng):
    X = rng.integers(0, 5, size=(20, 3))
    energy = MLPEnergy((4,)).setup(X)
    params = energy.init_params(3, rng)
    expected = energy.scores(params, X.astype(np.float64))
    read_only = np.asfortranarray(X, dtype=np.float64)
    read_only.flags.writeable = False
    params.flags.writeable = False
    assert_array_equal(energy.scores(params, X), expected)
    raw, vjp = energy.scores_and_vjp(params, read_only)
    assert_allclose(raw, expected, rtol=1e-12)
    assert np.isfinite(vjp(np.ones(20))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dropout_keeps_the_expected_score(rng, dtype):
    # With one hidden layer the score is linear in the noise, so its mean is the score
    # without noise, and each unit adds the variance (a w)^2 p / (1 - p).
    X, energy, params = make(
        rng, n=3, hidden_layer_sizes=(6,), dropout=0.4, dtype=dtype
    )
    state = np.random.RandomState(1)
    n_draws = 4000
    draws = np.array(
        [energy.scores_and_vjp(params, X, state)[0] for _ in range(n_draws)]
    )
    clean = energy.scores(params, X)
    Z = (X - energy.mean_) / energy.scale_
    hidden = np.maximum(Z @ params[:24].reshape(4, 6) + params[24:30], 0)
    deviation = np.sqrt(((hidden * params[30:36]) ** 2).sum(axis=1) * 0.4 / 0.6)
    assert np.all(np.abs(draws.mean(axis=0) - clean) < 5 * deviation / n_draws**0.5)
    assert_allclose(draws.std(axis=0), deviation, rtol=0.1)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_vjp_with_dropout_is_the_derivative_for_the_units_drawn(rng, activation):
    X, energy, params = make(
        rng, hidden_layer_sizes=(6, 5), activation=activation, dropout=0.3
    )
    pull = rng.normal(size=len(X))

    def run(w):
        return energy.scores_and_vjp(w, X, np.random.RandomState(3))

    expected = numeric_gradient(lambda w: run(w)[0] @ pull, params, 1e-5)
    assert_allclose(run(params)[1](pull), expected, rtol=1e-6, atol=1e-6)


def test_no_rng_or_no_dropout_means_no_noise(rng):
    X, energy, params = make(rng, hidden_layer_sizes=(6,), dropout=0.5)
    clean = energy.scores(params, X)
    assert_allclose(energy.scores_and_vjp(params, X)[0], clean, rtol=1e-12)
    quiet = clone(energy).set_params(dropout=0.0).setup(X)
    state = np.random.RandomState(0)
    assert_array_equal(quiet.scores_and_vjp(params, X, state)[0], clean)
    assert state.bytes(4) == np.random.RandomState(0).bytes(4)  # nothing drawn


@pytest.mark.parametrize("make_sparse", [False, True])
def test_same_bits_for_any_number_of_threads(rng, monkeypatch, make_sparse):
    monkeypatch.setattr(_threads, "_WORTH_A_POOL", 0)
    X = rng.normal(size=(3000, 700)).astype(np.float32)
    X = sparse.csr_array(np.where(X > 1, X, 0)) if make_sparse else X
    energy = MLPEnergy((64, 32), dropout=0.2).setup(X)
    params = energy.init_params(700, rng)
    pull = rng.normal(size=X.shape[0])
    results = []
    for blas, n_jobs in [(1, 1), (2, 1), (1, 2), (2, 3), (1, None)]:
        energy.set_params(n_jobs=n_jobs)
        with blas_threads(blas):
            raw, vjp = energy.scores_and_vjp(params, X, np.random.RandomState(0))
            results.append(np.r_[raw, vjp(pull), energy.scores(params, X)])
    for result in results[1:]:
        assert_array_equal(result, results[0])


def _scores_in_child(energy, params, X, pipe):
    pipe.send(energy.scores(params, X))


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_survive_a_fork(rng, monkeypatch):
    monkeypatch.setattr(_threads, "_WORTH_A_POOL", 0)
    X = rng.normal(size=(20_000, 20))
    energy = MLPEnergy(n_jobs=2).setup(X)
    params = energy.init_params(20, rng)
    expected = energy.scores(params, X)  # starts the threads
    here, there = get_context("fork").Pipe()
    child = get_context("fork").Process(
        target=_scores_in_child, args=(energy, params, X, there)
    )
    child.start()
    assert here.poll(20), "the child is stuck"
    assert_array_equal(here.recv(), expected)
    child.join()


@pytest.mark.parametrize(
    ("activation", "variance"),
    # He: 2 / fan_in. Glorot: 2 / (fan_in + fan_out), 16 times that for the sigmoid.
    [
        ("relu", 2 / 200),
        ("tanh", 2 / 500),
        ("sigmoid", 16 * 2 / 500),
        ("identity", 2 / 500),
    ],
)
def test_initial_parameters(activation, variance):
    energy = MLPEnergy(300, activation=activation)
    params = energy.init_params(200, np.random.RandomState(0))
    weights, biases = params[:60000], params[60000:60300]
    assert len(params) == 200 * 300 + 300 + 300 + 1
    assert_allclose(weights.var(), variance, rtol=0.03)
    assert_array_equal(biases, 0)
    assert params[-1] == 0
    again = energy.init_params(200, np.random.RandomState(0))
    assert_array_equal(params, again)


def test_penalty_leaves_biases_out():
    # 2 features, 3 and 1 hidden units: weights 6, 3, 1 and as many biases as units.
    mask = MLPEnergy((3, 1)).penalty_mask(2)
    expected = np.repeat([1, 0, 1, 0, 1, 0], [6, 3, 3, 1, 1, 1])
    assert_array_equal(mask, expected)


def test_constant_features_and_single_row():
    X = np.array([[0.1, 7.0]])
    energy = MLPEnergy((2,)).setup(X)
    assert_array_equal(energy.scale_, [1, 1])
    params = energy.init_params(2, np.random.RandomState(0))
    assert_allclose(energy.scores(params, X), [0.0], atol=1e-14)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"hidden_layer_sizes": 0}, ValueError, "hidden_layer_sizes must be a whole"),
        ({"hidden_layer_sizes": (4, 2.5)}, ValueError, r"got \(4, 2.5\)"),
        ({"hidden_layer_sizes": 2.5}, TypeError, "each a whole number >= 1, got"),
        ({"activation": "swish"}, ValueError, "activation must be 'relu', 'tanh'"),
        ({"activation": None}, ValueError, "got None"),
        ({"dropout": 1.0}, ValueError, r"dropout must be a number in \[0, 1\)"),
        ({"dropout": "a"}, ValueError, "got 'a'"),
    ],
)
def test_bad_hyper_parameters(params, error, message):
    with pytest.raises(error, match=message):
        MLPEnergy(**params).setup(np.zeros((3, 2)))


def test_scores_before_setup():
    with pytest.raises(NotFittedError, match="call setup"):
        MLPEnergy().scores(np.zeros(3 * 64 + 65), np.zeros((1, 2)))


@pytest.mark.parametrize("ask", ["init_params", "penalty_mask"])
def test_networks_that_do_not_fit_into_memory_are_refused(ask):
    energy = MLPEnergy(hidden_layer_sizes=[10**17])
    rng = [np.random.RandomState(0)] if ask == "init_params" else []
    message = r"hidden_layer_sizes=\[1.*\] makes a network of 7e\+17 parameters for 5 f"
    with pytest.raises(ValueError, match=message):
        getattr(energy, ask)(5, *rng)


@pytest.mark.parametrize("ask", ["init_params", "penalty_mask"])
@pytest.mark.parametrize(
    ("energy", "named"),
    [
        (MLPEnergy((), n_outputs=3), r"hidden_layer_sizes=\(\) and n_outputs=3 make "),
        (ComparatorEnergy(7), "n_hidden=7 makes "),
        (PairwisePotentialEnergy(n_hidden=6), r"(n_hidden=6|hidden.*=\(3,\)) makes "),
        (
            GaussianEnergy((2,), n_components=5, query_features=()),
            r"hidden_layer_sizes=\(2,\) and n_components=5 make ",
        ),
    ],
)
def test_the_sizes_that_do_not_fit_have_the_names_of_the_energy(energy, named, ask):
    energy.setup(np.random.default_rng(0).normal(size=(4, 2)))
    rng = [np.random.RandomState(0)] if ask == "init_params" else []
    with pytest.raises(ValueError, match=named + ".*do not fit into memory") as error:
        getattr(energy, ask)(10**18, *rng)
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value)
