"""What every energy promises, over all public energies and their variants."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from skrank import energies
from skrank._core._registry import by_short_name, public_classes
from skrank._core._threads import blas_threads
from skrank.energies import BaseEnergy

CLASSES = public_classes(energies, BaseEnergy)
ENERGIES = [cls(**variant) for cls in CLASSES for variant in cls._variants()]
each_energy = pytest.mark.parametrize("energy", ENERGIES, ids=repr)
PTR = np.array([0, 5, 6, 14, 20], dtype=np.intp)
N_FEATURES = 4


@pytest.fixture(name="data")
def rows_of_four_queries():
    """Rows with a feature of the query in front, and grades 0, 1 and 2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, N_FEATURES)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, 0.0, -1.0]
    X[:, 0] = np.repeat(rng.normal(size=4), np.diff(PTR))
    return X, np.resize([0.0, 1.0, 2.0, 0.0, 1.0], 20)


def make(energy, X, y, ptr=PTR):
    """A fitted copy, its rows, and parameters off those it starts from."""
    energy = clone(energy)
    with warnings.catch_warnings():
        # No feature belongs to the query alone where there is one query per row.
        warnings.filterwarnings("ignore", "query_features='auto'")
        energy.setup(X, np.random.RandomState(0), y, ptr)
    rows = energy.transform(X)
    start = energy.init_params(rows.shape[1], np.random.RandomState(1))
    rng = np.random.default_rng(2)
    params = start + 0.2 * rng.random(len(start))
    constraint = energy.constraint(rows.shape[1])
    return energy, rows, params if constraint is None else constraint.project(params)


def numeric_gradient(function, params, step=1e-4):
    """Fourth-order central differences."""
    gradient = np.empty_like(params)
    for i in range(len(params)):
        e = step * (np.arange(len(params)) == i)
        near = function(params + e) - function(params - e)
        far = function(params + 2 * e) - function(params - 2 * e)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient


def test_every_energy_has_a_short_name():
    assert list(by_short_name(energies, BaseEnergy).values()) == CLASSES


@each_energy
def test_shapes(energy, data):
    X, y = data
    energy, rows, params = make(energy, X, y)
    assert len(params) == energy.n_params(rows.shape[1])
    mask = energy.penalty_mask(rows.shape[1])
    assert mask.shape == params.shape
    assert set(mask) <= {0.0, 1.0}
    raw = energy.scores(params, rows, PTR)
    assert raw.dtype == np.float64
    columns = 1 if energy.labels_ is None else len(energy.labels_)
    columns = max(columns, energy.n_outputs)
    assert raw.shape == ((20,) if columns == 1 else (20, columns))
    if energy.n_outputs == 1 or energy.short_name == "preference_weights":
        assert energy.document_scores(params, rows, PTR).shape == (20,)


@each_energy
def test_vjp_is_the_derivative(energy, data):
    X, y = data
    # Parameters that fit training rows are those that leave a row out of its average.
    energy, rows, params = make(energy, X, y)

    def scores(w):
        return energy.scores_and_vjp(w, rows, None, PTR)[0]

    raw, vjp = energy.scores_and_vjp(params, rows, None, PTR)
    pull = np.random.default_rng(3).normal(size=raw.shape)
    expected = numeric_gradient(lambda w: np.sum(pull * scores(w)), params, 1e-5)
    assert_allclose(vjp(pull), expected, rtol=1e-5, atol=1e-6)
    assert_array_equal(vjp(pull), vjp(pull))


@each_energy
def test_threads_do_not_change_a_bit(energy, data):
    # Enough rows for threads, in queries of twenty.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, N_FEATURES))
    X[:, 0] = np.repeat(rng.normal(size=100), 20)
    y, ptr = np.resize([0.0, 1.0, 2.0], 2000), np.arange(0, 2001, 20)
    results = []
    for blas, n_jobs in [(1, 1), (2, 2), (1, 3)]:
        energy = clone(energy)
        names = [name for name in energy.get_params() if name.endswith("n_jobs")]
        energy.set_params(**dict.fromkeys(names, n_jobs))
        with blas_threads(blas):
            made, rows, params = make(energy, X, y, ptr)
            raw, vjp = made.scores_and_vjp(params, rows, None, ptr)
            results.append(np.r_[raw.ravel(), vjp(np.ones(raw.shape))])
    assert_array_equal(results[1], results[0])
    assert_array_equal(results[2], results[0])


@each_energy
def test_some_queries_have_the_scores_that_they_have_among_all(energy, data):
    X, y = data
    energy, rows, params = make(energy, X, y)
    all_scores = energy.scores(params, rows, PTR)
    last = energy.scores(params, rows[PTR[2] :], PTR[2:] - PTR[2])
    assert_allclose(last, all_scores[PTR[2] :], rtol=1e-10, atol=1e-12)


@each_energy
def test_the_groups_flag_is_the_truth(energy, data):
    X, y = data
    energy, rows, params = make(energy, X, y)
    raw = energy.scores(params, rows, PTR)
    other = energy.scores(params, rows, np.array([0, 12, 20]))
    if energy.needs_groups:
        assert not np.allclose(raw, other)
    else:
        assert_array_equal(raw, other)
        assert_array_equal(raw, energy.scores(params, rows))


@each_energy
def test_the_sparse_flag_is_the_truth(energy, data):
    X, y = data
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, rows, params = make(energy, X, y)
    if not dense.accepts_sparse:
        return  # rankers refuse CSR matrices before they reach the energy
    thin, thin_rows, _ = make(energy, sparse.csr_array(X), y)
    raw, vjp = dense.scores_and_vjp(params, rows, None, PTR)
    found, thin_vjp = thin.scores_and_vjp(params, thin_rows, None, PTR)
    assert_allclose(found, raw, rtol=1e-8, atol=1e-10)
    pull = np.ones(raw.shape)
    assert_allclose(thin_vjp(pull), vjp(pull), rtol=1e-8, atol=1e-8)


@each_energy
def test_the_linear_flag_is_the_truth(energy, data):
    X, y = data
    energy, rows, params = make(energy, X, y)
    if energy.labels_ is not None:
        return  # what is linear is the score f(x), see `test_label_scalar`

    def scores(w):
        return energy.scores(w, rows, PTR)

    zero, other = np.zeros_like(params), params[::-1] + 1.0
    middle = 0.5 * (scores(params) + scores(other))
    linear = np.allclose(scores(0.5 * (params + other)), middle, atol=1e-10)
    linear &= np.allclose(scores(zero), 0.0)
    assert linear or not energy.linear


@each_energy
def test_flags_about_the_set_of_parameters_and_the_sign_are_the_truth(energy, data):
    X, y = data
    energy, rows, params = make(energy, X, y)
    constraint = energy.constraint(rows.shape[1])
    assert energy.constrained == (constraint is not None)
    if constraint is not None:
        start = energy.init_params(rows.shape[1], np.random.RandomState(0))
        assert constraint.feasible(start)
    if energy.non_negative:
        assert np.all(energy.scores(params, rows, PTR) <= 1e-12)
    if energy.ordered_outputs and energy.n_outputs > 1:
        assert np.all(np.diff(energy.scores(params, rows, PTR), axis=1) <= 0.0)


@each_energy
def test_setup_checks_the_parameters(energy, data):
    X, y = data
    energy = clone(energy)
    checked = []
    energy._check_parameters = lambda: checked.append(energy)
    energy.setup(X, np.random.RandomState(0), y, PTR)
    assert checked == [energy]
