"""What every energy promises, over all public energies and their variants."""

import numpy as np
import pytest
from _damaged import DAMAGED, damaged
from _labels import label
from numpy.testing import assert_array_equal
from scipy import sparse

from skrank import energies
from skrank._core._registry import by_short_name, public_classes
from skrank.energies import BaseEnergy
from skrank.testing import contract_checks
from skrank.testing._energies import PTR, example_rows, set_up

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
        with pytest.raises(TypeError, match="takes X as an array, got a sparse matrix"):
            energy.scores(params, sparse.csr_matrix(rows), PTR)


def test_energies_without_features_have_equal_scores():
    rows = np.zeros((3, 0), dtype=int)
    assert energies.LinearEnergy().scores(np.zeros(0), rows).tolist() == [0.0] * 3
