"""Label-dependent energies over one score."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skrank.energies import (
    AbsoluteLabelEnergy,
    EmbeddingEnergy,
    KernelEnergy,
    LinearEnergy,
    MLPEnergy,
    ProductLabelEnergy,
    SquaredLabelEnergy,
)

GRADES = np.array([0.0, 1.0, 3.0])
FORMULAS = {
    SquaredLabelEnergy: lambda f, r: 0.5 * (f - r) ** 2,
    AbsoluteLabelEnergy: lambda f, r: abs(f - r),
    ProductLabelEnergy: lambda f, r: -(2 * r - 3.0) / 3.0 * f,  # 0, 1, 3 on [-1, 1]
}
BASES = [
    None,
    LinearEnergy(),
    KernelEnergy(n_components=7, fit_intercept=True),
    MLPEnergy((4,), activation="tanh"),
]
each_energy = pytest.mark.parametrize("energy", FORMULAS, ids=lambda cls: cls.__name__)
each_base = pytest.mark.parametrize("base", BASES, ids=lambda b: type(b).__name__)


@pytest.fixture
def data(rng):
    return rng.normal(size=(20, 3)), rng.choice(GRADES, 20)


def make(energy, base, data, rng):
    """A fitted energy, transformed rows, parameters and the score they give."""
    X, y = data
    energy = energy(base).setup(X, np.random.RandomState(0), y)
    rows = energy.transform(X)
    params = rng.normal(size=energy.n_params(rows.shape[1]))
    return energy, rows, params, energy.base_.scores(params, rows)


@each_energy
@each_base
def test_scores_are_the_formula_and_documents_go_by_f(energy, base, data, rng):
    formula = FORMULAS[energy]
    energy, rows, params, f = make(energy, base, data, rng)
    expected = [[-formula(score, r) for r in GRADES] for score in f]
    raw = energy.scores(params, rows)
    np.testing.assert_array_equal(energy.labels_, GRADES)
    np.testing.assert_allclose(raw, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(energy.document_scores(params, rows), f)
    # The most compatible label never falls as f grows.
    assert np.all(np.diff(np.argmax(raw, axis=1)[np.argsort(f)]) >= 0)


@each_energy
@each_base
def test_vjp_is_the_derivative(energy, base, data, rng):
    energy, rows, params, _ = make(energy, base, data, rng)
    raw, vjp = energy.scores_and_vjp(params, rows)
    np.testing.assert_allclose(raw, energy.scores(params, rows), rtol=1e-12)
    pull = rng.normal(size=raw.shape)
    expected = np.empty(len(params))
    for i in range(len(params)):
        e = 1e-6 * (np.arange(len(params)) == i)
        up, down = (np.sum(pull * energy.scores(params + s * e, rows)) for s in (1, -1))
        expected[i] = (up - down) / 2e-6
    np.testing.assert_allclose(vjp(pull), expected, rtol=1e-6, atol=1e-6)


@each_energy
def test_everything_else_is_the_base_energy(energy, data):
    X, y = data
    made = energy(MLPEnergy((4,), dropout=0.5)).setup(X, y=y)
    base = made.base_
    assert made.accepts_sparse
    assert not made.linear
    assert made.n_params(3) == base.n_params(3)
    np.testing.assert_array_equal(made.penalty_mask(3), base.penalty_mask(3))
    assert (made.constrained, made.constraint(3)) == (False, None)
    draws = [e.init_params(3, np.random.RandomState(0)) for e in (made, base)]
    np.testing.assert_array_equal(*draws)
    noisy = made.scores_and_vjp(draws[0], X, np.random.RandomState(0))[0]
    assert not np.array_equal(noisy, made.scores(draws[0], X))
    linear = energy().setup(X, y=y)
    assert linear.linear
    assert linear.fit_intercept
    # Coordinates are those of pointwise losses: not centred within queries.
    frame = linear.coordinates(X, 0.1, np.array([0, 10, 20])).factor
    np.testing.assert_array_equal(frame, linear.base_.coordinates(X, 0.1).factor)


@each_energy
def test_sparse_rows(energy, data, rng):
    made, X, params, _ = make(energy, None, data, rng)
    np.testing.assert_allclose(
        made.scores(params, sparse.csr_array(X)), made.scores(params, X), rtol=1e-12
    )


@each_energy
def test_given_labels(energy, data):
    X, y = data
    made = energy(labels=[3, 0, 1, 2]).setup(X, y=y)
    assert made.labels_.tolist() == [0.0, 1.0, 2.0, 3.0]
    for labels, message in [
        ([0, 1], "lacks 3"),
        ([0, 1, 1, 3], "distinct finite numbers"),
        ([], "distinct finite numbers"),
        ([0, 1, np.inf, 3], "distinct finite numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            energy(labels=labels).setup(X, y=y)
    with pytest.raises(ValueError, match="setup needs the grades"):
        energy().setup(X)
    with pytest.raises(ValueError, match=r"at most 256 different grades.*got 257"):
        energy().setup(np.zeros((257, 1)), y=np.arange(257.0))
    with pytest.raises(ValueError, match="257 distinct labels"):
        energy(labels=np.arange(257.0)).setup(X, y=y)


@each_energy
@pytest.mark.parametrize("base", [MLPEnergy(n_outputs=2), EmbeddingEnergy()])
def test_a_base_has_one_score(energy, base, data):
    X, y = data
    with pytest.raises(TypeError, match="one score per document"):
        energy(base).setup(X, y=y)


def test_setup_again_starts_from_the_parameters(data):
    X, y = data
    energy = AbsoluteLabelEnergy(MLPEnergy((2,))).setup(X, y=y)
    again = energy.set_params(base=None).setup(X[:, :2], y=np.zeros(20))
    assert isinstance(again.base_, LinearEnergy)
    assert again.labels_.tolist() == [0.0]
    assert clone(energy).get_params()["base"] is None


def test_codes_of_labels():
    X = np.zeros((2, 1))
    binary = ProductLabelEnergy().setup(X, y=np.array([0.0, 1.0]))
    assert binary.codes_.tolist() == [-1.0, 1.0]  # Fang, eq. 5
    grades = ProductLabelEnergy(codes="grades", labels=GRADES).setup(X)
    assert grades.codes_.tolist() == GRADES.tolist()
    given = ProductLabelEnergy(codes=[-1, 0, 5], labels=GRADES).setup(X)
    assert given.codes_.tolist() == [-1.0, 0.0, 5.0]
    assert ProductLabelEnergy(labels=[2]).setup(X).codes_.tolist() == [1.0]
    for codes in ("ordinal", [0, 1], [0, 1, np.nan]):
        with pytest.raises(ValueError, match="codes must"):
            ProductLabelEnergy(codes=codes, labels=GRADES).setup(X)
