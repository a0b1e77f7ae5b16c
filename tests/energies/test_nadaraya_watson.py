"""Local averages: values, gradients, blocks and rows left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank._core import _threads
from skrank._core._threads import blas_threads
from skrank.energies import NadarayaWatsonEnergy, _nadaraya_watson


def make(rng, n=30, d=4, **params):
    X = rng.uniform(size=(n, d))
    y = rng.integers(0, 3, n).astype(float)
    energy = NadarayaWatsonEnergy(**params).setup(X, np.random.RandomState(0), y)
    return X, y, energy, rng.uniform(0.5, 6.0, d)


def averages(a, X, y, rows, own=None):
    """Equation 7, row by row; ``own`` are rows left out of their own average."""
    out = np.empty(len(rows))
    for b, x in enumerate(rows):
        kernel = np.exp(-0.5 * ((a * (X - x)) ** 2).sum(axis=1))
        if own is not None:
            kernel[own[b]] = 0.0
        out[b] = kernel @ y / kernel.sum()
    return out


def test_scores_are_local_averages(rng):
    X, y, energy, a = make(rng)
    new = rng.uniform(size=(7, 4))
    expected = averages(a, X, y, new)
    assert_allclose(energy.scores(a, energy.transform(new)), expected, rtol=1e-11)
    # Seen again after training, a training row counts itself.
    expected = averages(a, X, y, X)
    assert_allclose(energy.scores(a, energy.transform(X)), expected, rtol=1e-11)


def test_training_leaves_a_row_out_of_its_own_average(rng):
    X, y, energy, a = make(rng)
    X[3] = X[5]  # equal rows count for each other
    energy.setup(X, None, y)
    raw, _ = energy.scores_and_vjp(a, energy.transform(X))
    assert_allclose(raw, averages(a, X, y, X, np.arange(30)), rtol=1e-11)
    batch = energy.transform(X)[[8, 2, 9]]
    raw, _ = energy.scores_and_vjp(a, batch)
    assert_allclose(raw, averages(a, X, y, X[[8, 2, 9]], [8, 2, 9]), rtol=1e-11)
    new = rng.uniform(size=(30, 4))
    raw, _ = energy.scores_and_vjp(a, energy.transform(new))
    assert_allclose(raw, averages(a, X, y, new), rtol=1e-11)
    energy.set_params(leave_one_out=False)
    raw, _ = energy.scores_and_vjp(a, energy.transform(X))
    assert_allclose(raw, averages(a, X, y, X), rtol=1e-11)


def test_landmarks_stand_for_all_rows(rng):
    X, y, energy, a = make(rng, max_landmarks=8)
    kept = energy.landmarks_
    assert len(np.unique(kept)) == 8
    new = rng.uniform(size=(5, 4))
    expected = averages(a, X[kept], y[kept], new)
    assert_allclose(energy.scores(a, energy.transform(new)), expected, rtol=1e-11)
    raw, _ = energy.scores_and_vjp(a, energy.transform(X))
    assert_allclose(
        raw[kept], averages(a, X[kept], y[kept], X[kept], np.arange(8)), rtol=1e-11
    )
    others = np.setdiff1d(np.arange(30), kept)
    assert_allclose(raw[others], averages(a, X[kept], y[kept], X[others]), rtol=1e-11)


@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
def test_vjp_is_the_derivative(rng, monkeypatch, leave_one_out, standardize, blocks):
    if blocks:  # of 3 rows, of which only the first ones are kept
        monkeypatch.setattr(_nadaraya_watson, "_BLOCK_VALUES", 100)
        monkeypatch.setattr(_nadaraya_watson, "_TAPE_VALUES", 300)
    X, _, energy, a = make(rng, leave_one_out=leave_one_out, standardize=standardize)
    Z, pull = energy.transform(X), rng.normal(size=30)
    _, vjp = energy.scores_and_vjp(a, Z)
    expected = []
    for step in 1e-5 * np.eye(4):
        up, down = (energy.scores_and_vjp(a + s, Z)[0] for s in (step, -step))
        expected.append(pull @ (up - down) / 2e-5)
    assert_allclose(vjp(pull), expected, rtol=1e-6, atol=1e-8)


def test_scores_stay_between_the_grades_and_finite(rng):
    _, y, energy, _ = make(rng)
    Z = energy.transform(1e3 * rng.normal(size=(20, 4)))
    for size in (0.0, 1.0, 1e100):  # all equal weights to nearest neighbour
        raw, vjp = energy.scores_and_vjp(np.full(4, size), Z)
        assert np.all((raw >= 0.0) & (raw <= 2.0 + 1e-12))
        assert np.isfinite(vjp(np.ones(20))).all()
    assert_allclose(energy.scores(np.zeros(4), Z), y.mean())


def test_standardised_rows_do_not_depend_on_the_scale(rng):
    X, y, energy, a = make(rng, standardize=True)
    factor = np.array([1e-3, 1.0, 50.0, 1e4])
    other = NadarayaWatsonEnergy(standardize=True).setup(X * factor + 7.0, None, y)
    assert_allclose(
        other.scores(a, other.transform(X * factor + 7.0)),
        energy.scores(a, energy.transform(X)),
        rtol=1e-9,
    )


def test_same_bits_for_any_number_of_threads(rng, monkeypatch):
    monkeypatch.setattr(_threads, "_WORTH_A_POOL", 0)
    monkeypatch.setattr(_nadaraya_watson, "_BLOCK_VALUES", 1 << 14)
    X, _, energy, a = make(rng, n=600, d=10)
    Z, pull = energy.transform(X), rng.normal(size=600)
    results = []
    for blas, n_jobs in [(1, 1), (2, 1), (1, 2), (2, 3)]:
        energy.set_params(n_jobs=n_jobs)
        with blas_threads(blas):
            raw, vjp = energy.scores_and_vjp(a, Z)
            results.append(np.r_[raw, vjp(pull), energy.scores(a, Z)])
    for result in results[1:]:
        assert_array_equal(result, results[0])


def test_initial_scales_meet_the_bound():
    X, y = np.zeros((3, 50)), np.array([0.0, 1.0, 2.0])
    energy = NadarayaWatsonEnergy(l1_bound=2.0).setup(X, None, y)
    Z = energy.transform(X)
    params = energy.init_params(Z.shape[1], np.random.RandomState(0))
    assert len(params) == 50
    assert_allclose(params.sum(), 2.0)
    assert energy.constraint(Z.shape[1]).feasible(params)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"max_landmarks": 0}, ValueError, "max_landmarks"),
        ({"max_landmarks": 1.5}, TypeError, "max_landmarks"),
        ({"l1_bound": -1.0}, ValueError, "l1_bound must be a number > 0 or None"),
    ],
)
def test_bad_hyper_parameters(params, error, message):
    with pytest.raises(error, match=message):
        NadarayaWatsonEnergy(**params).setup(np.zeros((3, 2)), None, np.zeros(3))


def test_grades_are_needed():
    with pytest.raises(ValueError, match="setup needs y"):
        NadarayaWatsonEnergy().setup(np.zeros((3, 2)))
