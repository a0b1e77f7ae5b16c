"""Label-dependent energies over vectors."""

import numpy as np
import pytest
from scipy import sparse

from skrank.energies import EmbeddingEnergy, LinearEnergy, MLPEnergy, PrototypeEnergy

GRADES = np.array([0.0, 1.0, 3.0])
ENERGIES = [
    EmbeddingEnergy(MLPEnergy((4,), activation="tanh", n_outputs=2)),
    EmbeddingEnergy(MLPEnergy((4,), activation="tanh")),  # vectors of length 1
    EmbeddingEnergy("identity"),
    PrototypeEnergy(MLPEnergy((), n_outputs=3)),
    PrototypeEnergy(),
]
each_energy = pytest.mark.parametrize("energy", ENERGIES, ids=repr)


@pytest.fixture
def data(rng):
    return rng.normal(size=(20, 3)), np.resize(GRADES, 20)


def make(energy, data, rng):
    X, y = data
    energy.setup(X, np.random.RandomState(0), y)
    return X, y, rng.normal(size=energy.n_params(3))


@each_energy
def test_scores_are_the_formula(energy, data, rng):
    X, _, params = make(energy, data, rng)
    Z, U = energy.embed(params, X), energy.label_vectors(params)
    factor = 0.5 if isinstance(energy, EmbeddingEnergy) else 1.0
    expected = [[-factor * np.sum((z - u) ** 2) for u in U] for z in Z]
    raw = energy.scores(params, X)
    np.testing.assert_array_equal(energy.labels_, GRADES)
    np.testing.assert_allclose(raw, expected, rtol=1e-12)
    gibbs = np.exp(raw - raw.max(axis=1, keepdims=True))
    gibbs /= gibbs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(energy.document_scores(params, X), gibbs @ GRADES)


@each_energy
def test_vjp_is_the_derivative(energy, data, rng):
    X, _, params = make(energy, data, rng)
    raw, vjp = energy.scores_and_vjp(params, X)
    np.testing.assert_allclose(raw, energy.scores(params, X), rtol=1e-12)
    pull = rng.normal(size=raw.shape)
    expected = np.empty(len(params))
    for i in range(len(params)):
        e = 1e-6 * (np.arange(len(params)) == i)
        up, down = (np.sum(pull * energy.scores(params + s * e, X)) for s in (1, -1))
        expected[i] = (up - down) / 2e-6
    np.testing.assert_allclose(vjp(pull), expected, rtol=1e-6, atol=1e-6)


@each_energy
def test_parameters_are_the_encoder_then_the_vectors(energy, data, rng):
    X, y, params = make(energy, data, rng)
    identity = energy.encoder_ == "identity"
    dim = 3 if identity else energy.encoder_.n_outputs
    n_encoder = 0 if identity else energy.encoder_.n_params(3)
    assert len(params) == n_encoder + 3 * dim
    np.testing.assert_allclose(
        energy.label_vectors(params) - energy.origin_,
        params[n_encoder:].reshape(3, dim),
        atol=1e-12,
    )
    mask = energy.penalty_mask(3)
    if not identity:
        expected = energy.encoder_.penalty_mask(3)
        np.testing.assert_array_equal(mask[:n_encoder], expected)
    assert np.all(mask[n_encoder:] == 1)
    start = energy.init_params(3, np.random.RandomState(0))
    again = energy.init_params(3, np.random.RandomState(0))
    np.testing.assert_array_equal(start, again)
    if identity:
        means = [X[y == label].mean(axis=0) for label in GRADES]
        np.testing.assert_allclose(energy.label_vectors(start), means)


def test_a_label_without_documents_starts_at_the_mean(rng):
    X = rng.normal(size=(6, 2))
    energy = PrototypeEnergy(labels=[0, 1, 2]).setup(
        X, y=np.array([0.0, 1, 1, 0, 0, 1])
    )
    np.testing.assert_allclose(energy.label_vectors(np.zeros(6))[2], X.mean(axis=0))


def test_expected_labels_do_not_overflow():
    X, y = np.array([[0.0], [1e3], [1e9]]), np.array([0.0, 1.0, 1.0])
    energy = PrototypeEnergy().setup(X, y=y)
    assert np.all(np.isfinite(energy.document_scores(np.zeros(2), X)))


def test_sparse_rows(data, rng):
    X, y = data
    energy = EmbeddingEnergy(MLPEnergy((4,), n_outputs=2))
    assert energy.accepts_sparse
    energy.setup(sparse.csr_array(X), y=y)
    params = rng.normal(size=energy.n_params(3))
    np.testing.assert_allclose(
        energy.scores(params, sparse.csr_array(X)), energy.scores(params, X)
    )
    assert not PrototypeEnergy().accepts_sparse
    with pytest.raises(
        TypeError, match=r"takes X as an array, .* an encoder such as MLP"
    ):
        PrototypeEnergy().setup(sparse.csr_array(X), y=y)


@pytest.mark.parametrize("energy", [EmbeddingEnergy, PrototypeEnergy])
def test_bad_arguments(energy, data):
    X, y = data
    with pytest.raises(ValueError, match="encoder must be 'identity', a BaseEnergy"):
        energy("pca").setup(X, y=y)
    with pytest.raises(TypeError, match="an energy with a parameter n_outputs"):
        energy(LinearEnergy()).setup(X, y=y)
    with pytest.raises(ValueError, match="lacks 3"):
        energy("identity", labels=[0, 1]).setup(X, y=y)
