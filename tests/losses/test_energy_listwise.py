"""The energy of a list against the sums of the paper, written out."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from skrank.losses import ListwiseEnergyLoss
from skrank.losses._energy_listwise import position_coefficients, ramp

PTR = np.array([0, 5, 6, 13, 16, 25, 27])
NORMALIZATIONS = ["list", "sublist"]


@pytest.fixture
def data(rng):
    """Grades with ties, and scores."""
    return rng.integers(0, 3, PTR[-1]).astype(float), rng.normal(size=PTR[-1])


def list_energy(energies, k, normalization):
    """Eq. 29-31, term by term, for energies in the order of the ranking."""
    m = len(energies)
    discount = [1.0] + [1.0 / np.log2(t) for t in range(2, m + 1)]
    total = 0.0
    for j in range(min(k, m)):
        norm = sum(discount if normalization == "list" else discount[j:])
        total += energies[j]
        total -= sum(energies[t] * discount[t] / norm for t in range(j, m))
    return total


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("k", [1, 2, 5, 100])
def test_energy_is_the_double_sum(k, normalization, data):
    y, scores = data
    loss = ListwiseEnergyLoss(k, ties="stable", normalization=normalization)
    found = loss.prepare(y, PTR).list_energies(scores)
    for q, (a, b) in enumerate(pairwise(PTR)):
        ideal = np.argsort(-y[a:b], kind="stable")
        expected = list_energy(-scores[a:b][ideal], k, normalization)
        np.testing.assert_allclose(found[q], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_average_of_ties_is_the_mean_over_all_ideal_rankings(normalization, rng):
    y = np.array([1.0, 0, 2, 1, 0, 1])
    scores = rng.normal(size=6)
    loss = ListwiseEnergyLoss(4, normalization=normalization)
    found = loss.prepare(y, [0, 6]).list_energies(scores)[0]
    ideal = [o for o in permutations(range(6)) if np.all(np.diff(y[list(o)]) <= 0)]
    expected = [list_energy(-scores[list(o)], 4, normalization) for o in ideal]
    assert len(ideal) == 12  # 3! orders of the ones, 2! of the zeros
    np.testing.assert_allclose(found, np.mean(expected), rtol=1e-13)


def test_random_ties_are_one_of_the_ideal_rankings(rng):
    y = np.array([1.0, 0, 1, 1, 0])
    scores = rng.normal(size=5)
    ideal = [o for o in permutations(range(5)) if np.all(np.diff(y[list(o)]) <= 0)]
    possible = [list_energy(-scores[list(o)], 3, "list") for o in ideal]
    seen = set()
    for seed in range(30):
        loss = ListwiseEnergyLoss(3, ties="random", random_state=seed)
        energy = loss.prepare(y, [0, 5]).list_energies(scores)[0]
        distance = np.abs(np.array(possible) - energy)
        assert distance.min() < 1e-12
        seen.add(int(np.argmin(distance)))
        again = loss.prepare(y, [0, 5]).list_energies(scores)[0]
        assert again == energy
    assert len(seen) > 3


@pytest.mark.parametrize("size", [1, 2, 7, 300])
@pytest.mark.parametrize("k", [1, 5, None])
def test_coefficients_of_positions(size, k):
    # P sums to one over the list, and min(t, k) is at most k; a mean of a sublist
    # takes away exactly what its first document adds.
    as_printed = position_coefficients(size, k, "list")
    means = position_coefficients(size, k, "sublist")
    top = size if k is None else min(k, size)
    position = np.arange(1, size + 1)
    share = 1.0 / np.log2(np.maximum(position, 2))
    share /= share.sum()
    np.testing.assert_allclose(
        as_printed, (position <= top) - share * np.minimum(position, top), atol=1e-14
    )
    np.testing.assert_allclose(means.sum(), 0.0, atol=1e-10)
    if top == 1:
        np.testing.assert_allclose(as_printed, means, atol=1e-14)


def test_the_second_position_counts_as_the_first():
    # 1 / log2(2) = 1: the first two weights of eq. 31 are equal, 1/2 each.
    np.testing.assert_allclose(position_coefficients(2, 1, "list"), [0.5, -0.5])
    # Two top positions, as printed: 1 - 1/2 and 1 - 2/2.
    np.testing.assert_allclose(position_coefficients(2, 2, "list"), [0.5, 0.0])


def test_the_update_rule_is_active_at_both_kinks():
    # c = (1/2, -1/2), so E_list = -(s_0 - s_1) / 2.
    loss = ListwiseEnergyLoss(top_k=1, cap=2.0)
    for difference, value, active in [
        (0.2, 0.0, False),
        (0.0, 0.0, True),
        (-2.0, 1.0, True),
        (-4.0, 2.0, True),
        (-4.2, 2.0, False),
    ]:
        values, gradient = loss.value_gradient([1, 0], [difference, 0.0], [0, 2])
        assert values[0] == value
        assert gradient.tolist() == ([-0.5, 0.5] if active else [0.0, 0.0])


def test_without_cap_the_relaxed_loss_is_a_hinge(data):
    y, scores = data
    loss = ListwiseEnergyLoss(3, cap=0.2, margin=0.5)
    relaxed = loss.relaxed()
    assert relaxed.convex
    assert not loss.convex
    energies = loss.prepare(y, PTR).list_energies(scores)
    varied = [len(set(y[a:b])) > 1 for a, b in pairwise(PTR)]
    np.testing.assert_allclose(
        relaxed.value_gradient(y, scores, PTR)[0],
        np.where(varied, np.maximum(0.0, 0.5 + energies), 0.0),
    )


@pytest.mark.parametrize("cap", [0.3, 2.0, np.inf])
@pytest.mark.parametrize("width", [0.01, 0.5, 4.0])
def test_smooth_ramp(cap, width):
    z = np.linspace(-3, 10, 1001)
    sharp, _ = ramp(z, cap)
    values, slopes = ramp(z, cap, width)
    assert np.all(np.abs(values - sharp) <= width / 2 + 1e-12)
    step = 1e-6
    differences = ramp(z + step, cap, width)[0] - ramp(z - step, cap, width)[0]
    np.testing.assert_allclose(slopes, differences / (2 * step), atol=2e-4)
    far = ramp(np.array([-1e30, 1e30]), cap, width)
    assert far[0].tolist()[0] == 0.0
    if cap < np.inf:
        np.testing.assert_allclose(far[0][1], cap)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"ties": "best"}, "ties must be 'average', 'stable' or 'random'"),
        ({"normalization": "query"}, "normalization must be 'list' or 'sublist'"),
        ({"top_k": 0}, "top_k must be a whole number >= 1 or None, got 0"),
        ({"cap": 0.0}, "cap must be a number > 0, or infinity, got 0.0"),
        ({"margin": -1.0}, "margin must be a number >= 0, got -1.0"),
        ({"width": "1"}, "width must be a number >= 0, got '1'"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        ListwiseEnergyLoss(**params).prepare([1.0, 0.0], [0, 2])
