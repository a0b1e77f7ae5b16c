"""What every energy promises, over all public energies and their variants."""

import re

import numpy as np
import pytest
from _damaged import DAMAGED, damaged
from _labels import label
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from skrank import energies
from skrank._core._registry import by_short_name, public_classes
from skrank.energies import BaseEnergy
from skrank.testing import contract_checks
from skrank.testing._energies import N_FEATURES, PTR, example_rows, set_up

CLASSES = public_classes(energies, BaseEnergy)
ENERGIES = [cls(**variant) for cls in CLASSES for variant in cls._variants()]
each_energy = pytest.mark.parametrize("energy", ENERGIES, ids=repr)


@pytest.fixture(name="data")
def rows_of_four_queries():
    return example_rows()


@pytest.mark.parametrize(
    ("energy", "check"),
    [case for energy in ENERGIES for case in contract_checks(energy)],
    ids=lambda value: getattr(value, "__name__", None) or label(value),
)
def test_contract(energy, check):
    check(energy)


def test_every_energy_has_a_short_name():
    assert list(by_short_name(energies, BaseEnergy).values()) == CLASSES


@each_energy
def test_rows_may_have_any_layout(energy, data):
    energy, rows, params = set_up(energy, *data)
    if sparse.issparse(rows):
        pytest.skip("the rows of this energy are sparse")
    expected = energy.scores(params, rows, PTR)
    training = energy.scores_and_vjp(params, rows, None, PTR)[0]
    wider = np.repeat(rows, 2, axis=1)
    for same in (np.asfortranarray(rows), wider[:, ::2], rows.tolist()):
        assert_array_equal(energy.scores(params, same, PTR), expected)
        found = energy.scores_and_vjp(params, same, None, PTR)[0]
        assert_array_equal(found, training)


@each_energy
def test_damaged_sparse_rows_are_refused(energy, data):
    energy, rows, params = set_up(energy, *data)
    fresh = type(energy)(**energy.get_params(deep=False))
    calls = [
        lambda X: fresh.setup(X, np.random.RandomState(0)),
        lambda X: energy.transform(X),
        lambda X: energy.scores(params, X, PTR),
        lambda X: energy.scores_and_vjp(params, X=X, ptr=PTR),
        lambda X: energy.document_scores(params, X, PTR),
        lambda X: energy.coordinates(X=X, alpha=0.1),
    ]
    for kind, format in DAMAGED:
        X = damaged(kind, format, n_columns=rows.shape[1])
        for call in calls:
            with pytest.raises((TypeError, ValueError), match=r"X .* sparse matrix"):
                call(X)


@each_energy
def test_rows_of_whole_numbers_are_rows(energy, data):
    energy, rows, params = set_up(energy, *data)
    if sparse.issparse(rows):
        pytest.skip("the rows of this energy are sparse")
    whole = np.rint(rows)
    expected = energy.scores(params, whole, PTR)
    assert_array_equal(energy.scores(params, whole.astype(int), PTR), expected)
    assert_array_equal(energy.scores(params, whole.astype(np.float16), PTR), expected)
    with pytest.raises(ValueError, match="Expected 2D array"):
        energy.scores(params, rows[0], PTR)


@each_energy
def test_layouts_are_copied_as_they_are(energy, data):
    energy, rows, params = set_up(energy, *data)
    if sparse.issparse(rows):
        pytest.skip("the rows of this energy are sparse")
    single, unknown = rows.astype(np.float32), rows.copy()
    unknown[0, 0] = np.nan  # of which the scores tell, whatever the layout
    for given in (single, unknown):
        expected = energy.scores(params, given, PTR)
        found = energy.scores(params, np.asfortranarray(given), PTR)
        assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    none = energy.scores(params, np.zeros((0, rows.shape[1]), dtype=int), [0])
    assert len(none) == 0


@each_energy
def test_parameters_may_be_a_list_but_no_matrix(energy, data):
    energy, rows, params = set_up(energy, *data)
    rounded = params.astype(np.float32)
    expected = energy.scores(rounded.astype(np.float64), rows, PTR)
    for same in (rounded, rounded.tolist()):
        assert_array_equal(energy.scores(same, rows, PTR), expected)
    with pytest.raises(
        ValueError, match=r"params must hold the .* got shape \(.*, 1\)"
    ):
        energy.scores(params[:, None], rows, PTR)


@each_energy
@pytest.mark.parametrize("change", [1, -1])
def test_the_number_of_parameters_is_checked(energy, change, data):
    energy, rows, params = set_up(energy, *data)
    other = np.resize(params, max(len(params) + change, 0))
    message = f"params must hold the {len(params)} parameters of"
    with pytest.raises(ValueError, match=message):
        energy.scores(other, rows, PTR)
    with pytest.raises(ValueError, match=message):
        energy.scores_and_vjp(other, rows, None, PTR)


@each_energy
def test_parameters_of_any_layout_and_sparse_rows(energy, data):
    energy, rows, params = set_up(energy, *data)
    expected = energy.scores(params, rows, PTR)
    strided = np.repeat(params, 2)[::2]
    assert_array_equal(energy.scores(strided, rows, PTR), expected)
    if not energy.accepts_sparse:
        for call in (
            lambda X: energy.scores(params, X, PTR),
            lambda X: energy.document_scores(params, X, PTR),
            lambda X: energy.transform(X),
            lambda X: energy.coordinates(X, 0.1),
            lambda X: clone(energy).setup(X, np.random.RandomState(0)),
        ):
            with pytest.raises(TypeError, match="takes X as an array, got a sparse"):
                call(sparse.csr_matrix(rows))


def said_of(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return "nothing"


@each_energy
def test_setup_comes_first(energy, data):
    made, rows, params = set_up(energy, *data)
    fresh = clone(energy)
    expected = r"^nothing$|call setup\(X, \.\.\.\) first|^params must hold"
    learned = [name for name in vars(made) if name not in vars(fresh)]
    for call in (
        lambda: fresh.transform(data[0]),
        lambda: fresh.scores(params, rows, PTR),
        lambda: fresh.scores_and_vjp(params, rows, None, PTR),
        lambda: fresh.document_scores(params, rows, PTR),
        lambda: fresh.init_params(rows.shape[1], np.random.RandomState(0)),
    ):
        assert re.search(expected, said_of(call))
    for name in learned:
        assert not hasattr(fresh, name) or getattr(fresh, name) is None
    with pytest.raises(AttributeError, match=rf"^'{type(energy).__name__}' .* 'other'"):
        fresh.other  # noqa: B018


@pytest.mark.parametrize(
    "energy", [each for each in ENERGIES if each.needs_groups], ids=repr
)
@pytest.mark.parametrize(
    "ptr",
    [
        None,
        [0, 3],
        [0, 10**7],
        [-1, 20],
        [0, 9, 4, 20],
        [[0, 20]],
        [0, 2.5, 20],
        "a",
        [],
    ],
    ids=repr,
)
def test_pointers_are_checked(energy, ptr, data):
    energy, rows, params = set_up(energy, *data)
    message = (
        "^ptr must hold whole numbers that ascend from 0 to the number of rows, 20"
    )
    for call in (
        lambda: energy.scores(params, rows, ptr),
        lambda: energy.scores_and_vjp(params, rows, None, ptr),
        lambda: energy.document_scores(params, rows, ptr=ptr),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_pointers_are_checked_before_training(data):
    X, y = data
    message = (
        "^ptr must hold whole numbers that ascend from 0 to the number of rows, 20"
    )
    with pytest.raises(ValueError, match=message):
        energies.GaussianEnergy().setup(X, np.random.RandomState(0), y, [0, 30])
    with pytest.raises(ValueError, match=message):
        energies.LinearEnergy().coordinates(X, 0.1, [0, 30])


def test_queries_without_documents_do_not_change_coordinates(data):
    energy, X = energies.LinearEnergy(), data[0]
    with_empty = np.sort([*PTR, 5, 20, 20])
    theta = np.ones(N_FEATURES)
    expected = energy.coordinates(X, 0.1, PTR).to_params(theta)
    found = energy.coordinates(X, 0.1, with_empty).to_params(theta)
    assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "energy", [each for each in ENERGIES if each.accepts_sparse], ids=repr
)
def test_sparse_rows_of_any_format_are_taken(energy, data):
    X, y = data
    energy, _, params = set_up(energy, sparse.csr_array(X), y)
    fresh = clone(energy)
    for format in ("coo", "csc", "bsr", "lil", "dok", "dia"):
        other = sparse.csr_array(X).asformat(format)
        rows = energy.transform(other)
        expected = energy.scores(params, energy.transform(sparse.csr_array(X)), PTR)
        assert_array_equal(energy.scores(params, rows, PTR), expected)
        energy.coordinates(other, 0.1)
        energy.coordinates(X=other, ptr=PTR)
        fresh.setup(other, np.random.RandomState(0), y, PTR)


def test_energies_without_features_have_equal_scores():
    rows = np.zeros((3, 0), dtype=int)
    assert energies.LinearEnergy().scores(np.zeros(0), rows).tolist() == [0.0] * 3
