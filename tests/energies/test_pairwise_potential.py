"""PairwisePotentialEnergy against a loop over pairs, finite differences and limits."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skrank._core import _energies, _threads
from skrank.energies import LinearEnergy, MLPEnergy, PairwisePotentialEnergy

PTR = np.array([0, 5, 6, 6, 13, 15])  # one document, and none at all


def scaled_tanh(z):
    return 1.7159 * np.tanh(2.0 * z / 3.0)


def pair_sums(units, ptr, weight, bias, average):
    """Pair by pair: hidden units of both documents, output, sum over the others."""
    n_hidden = len(weight)
    total = np.zeros(len(units))
    for a, b in pairwise(ptr):
        for j in range(a, b):
            for k in range(a, b):
                if j != k:
                    hidden = scaled_tanh(units[j, :n_hidden] + units[k, n_hidden:])
                    total[j] += scaled_tanh(weight @ hidden + bias)
            if average and b - a > 1:
                total[j] /= b - a - 1
    return total


def make(rng, n_features=4, **params):
    X = rng.normal(size=(PTR[-1], n_features)) * [1.0, 3.0, 0.2, 10.0] + [0, 1, -2, 5]
    energy = PairwisePotentialEnergy(**params).setup(X)
    start = energy.init_params(n_features, rng)
    # Biases off 0, so that their gradients are seen.
    return X, energy, start + 0.3 * rng.normal(size=len(start))


def numeric_gradient(function, params, step=1e-4):
    """Fourth-order central differences."""
    gradient = np.empty_like(params)
    for i in range(len(params)):
        e = step * (np.arange(len(params)) == i)
        near = function(params + e) - function(params - e)
        far = function(params + 2 * e) - function(params - 2 * e)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("n_hidden", [1, 3, 9])
@pytest.mark.parametrize("size", [0.1, 3.0, 400.0, 1e5])
def test_kernel_is_the_sum_over_pairs(rng, n_hidden, average, size):
    # From 400 on, exponentials of the sums leave the range of a double.
    units = size * rng.normal(size=(PTR[-1], 2 * n_hidden))
    weight = rng.normal(size=n_hidden)
    found = _energies.potential_scores(units, PTR, weight, 0.3, average, 1)
    expected = pair_sums(units, PTR, weight, 0.3, average)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_saturated_units_that_cancel(rng):
    # Large numbers of both documents whose sums are small.
    units = np.concatenate(
        [900.0 + rng.normal(size=(5, 2)), -900.0 + rng.normal(size=(5, 2))], axis=1
    )
    ptr, weight = np.array([0, 5]), rng.normal(size=2)
    found = _energies.potential_scores(units, ptr, weight, 0.1, False, 1)
    assert_allclose(found, pair_sums(units, ptr, weight, 0.1, False), rtol=1e-10)


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_kernel_gradient(rng, size):
    n_hidden = 3
    units = rng.normal(size=(PTR[-1], 2 * n_hidden))
    units[:5] += np.repeat([size, -size], n_hidden)  # beyond 260: the wide path
    weight, pull = rng.normal(size=n_hidden), rng.normal(size=PTR[-1])

    def value(v):
        u, w = v[: units.size].reshape(units.shape), v[units.size :]
        return pull @ pair_sums(u, PTR, w[:-1], w[-1], True)

    of_units, of_output = _energies.potential_gradient(
        units, PTR, weight, 0.3, True, pull, 1
    )
    expected = numeric_gradient(value, np.r_[units.ravel(), weight, 0.3])
    found = np.r_[of_units.ravel(), of_output.sum(axis=0)]
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("individual", [None, LinearEnergy(), MLPEnergy((3, 2))])
def test_scores_and_vjp(rng, individual, standardize, average):
    X, energy, params = make(
        rng,
        individual=individual,
        n_hidden=2,
        standardize=standardize,
        average=average,
    )
    raw, vjp = energy.scores_and_vjp(params, X, None, PTR)
    assert_allclose(raw, energy.scores(params, X, PTR), rtol=1e-12)
    # Concatenated features of both documents through one network.
    first = energy.individual_.n_params(4)
    mean, scale = (X.mean(0), X.std(0)) if standardize else (0.0, 1.0)
    Z = (X - mean) / scale
    matrix, bias = params[first : first + 16].reshape(4, 4), params[first + 16 :]
    units = np.c_[Z @ matrix[:, :2] + bias[:2], Z @ matrix[:, 2:] + bias[2:4]]
    alone = energy.individual_.scores(params[:first], X)
    pairs = pair_sums(units, PTR, params[-3:-1], params[-1], average)
    assert_allclose(raw, alone + pairs, rtol=1e-10, atol=1e-12)
    pull = rng.normal(size=len(X))
    expected = numeric_gradient(lambda w: energy.scores(w, X, PTR) @ pull, params)
    assert_allclose(vjp(pull), expected, rtol=1e-6, atol=1e-7)


def test_queries_do_not_see_each_other(rng):
    X, energy, params = make(rng)
    raw = energy.scores(params, X, PTR)
    for a, b in pairwise(PTR):
        alone = energy.scores(params, X[a:b], np.array([0, b - a]))
        assert_allclose(alone, raw[a:b], rtol=1e-12)
    other = np.array([0, 6, 15])
    assert np.abs(energy.scores(params, X, other) - raw).max() > 1e-3


def test_order_of_the_documents_does_not_matter(rng):
    X, energy, params = make(rng)
    ptr = np.array([0, len(X)])
    order = rng.permutation(len(X))
    raw = energy.scores(params, X, ptr)
    assert_allclose(energy.scores(params, X[order], ptr), raw[order], rtol=1e-12)


def test_no_output_weight_leaves_the_individual_potential(rng):
    X, energy, params = make(rng)
    params[-6:] = 0.0  # five weights and the bias
    alone = energy.individual_.scores(params[: energy.individual_.n_params(4)], X)
    assert_array_equal(energy.scores(params, X, PTR), alone)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_bit(rng, monkeypatch, n_jobs):
    monkeypatch.setattr(_threads, "_WORTH_A_TEAM", 0)
    X = rng.normal(size=(400, 4))
    ptr = np.concatenate(([0], np.sort(rng.integers(0, 400, 20)), [400]))
    pull = rng.normal(size=400)
    results = []
    for threads in (1, n_jobs):
        energy = PairwisePotentialEnergy(n_jobs=threads).setup(X)
        params = 0.1 + energy.init_params(4, np.random.RandomState(0))
        raw, vjp = energy.scores_and_vjp(params, X, None, ptr)
        results.append(np.r_[raw, vjp(pull)])
    assert_array_equal(*results)


def test_sparse_rows(rng):
    X, energy, params = make(rng)
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense, thin = energy.setup(X), PairwisePotentialEnergy().setup(sparse.csr_array(X))
    found = thin.scores(params, sparse.csr_array(X), PTR)
    assert_allclose(found, dense.scores(params, X, PTR), rtol=1e-9)


def test_initial_parameters_and_penalty():
    energy = PairwisePotentialEnergy(n_hidden=50).setup(np.eye(100))
    params = energy.init_params(100, np.random.RandomState(0))
    first = energy.individual_.n_params(100)
    assert len(params) == first + 100 * 100 + 100 + 50 + 1
    # Glorot: 2 / (fan_in + fan_out), of 200 features and 50 units.
    assert_allclose(params[first : first + 10_000].var(), 2 / 250, rtol=0.05)
    assert_array_equal(params[first + 10_000 :], 0.0)  # biases and output weights
    mask = energy.penalty_mask(100)
    assert_array_equal(mask[:first], energy.individual_.penalty_mask(100))
    assert_array_equal(mask[first:], np.repeat([1.0, 0, 1, 0], [10_000, 100, 50, 1]))


class LabelledEnergy(LinearEnergy):
    """An energy that depends on the label."""

    labels_ = np.array([0.0, 1.0])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_hidden": 0}, ValueError, r"n_hidden must be a whole number in \[1, "),
        ({"n_hidden": 2.5}, ValueError, "got 2.5"),
        ({"individual": LabelledEnergy()}, TypeError, r"got LabelledEnergy\(\)"),
        ({"individual": PairwisePotentialEnergy()}, TypeError, "one by one"),
    ],
)
def test_bad_hyper_parameters(params, error, message):
    with pytest.raises(error, match=message):
        PairwisePotentialEnergy(**params).setup(np.zeros((3, 2)))


def test_scores_before_setup():
    with pytest.raises(NotFittedError, match="call setup"):
        PairwisePotentialEnergy().scores(np.zeros(10), np.zeros((1, 2)), PTR)
