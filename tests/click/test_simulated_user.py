"""Simulated users click as often as their probabilities say."""

from itertools import pairwise

import numpy as np
import pytest

from skrank.click import SimulatedUser
from skrank.exceptions import InvalidParameterError


def _repeated(y, n):
    """The same ranking, shown to many users."""
    return np.tile(np.asarray(y, dtype=float), n), np.arange(n + 1) * len(y)


def _by_loop(user, y, ptr, seed):
    """One ranking after the other, one document after the other."""
    draws = np.random.RandomState(seed).random_sample((len(y), 2))
    clicks = np.zeros(len(y), dtype=int)
    for first, stop in pairwise(ptr):
        for row in range(first, stop):
            likes = draws[row, 0] < user.click_probability(y)[row]
            if user.examination == "position":
                seen = draws[row, 1] < (row - first + 1.0) ** -user.eta
                clicks[row] = likes and seen
                continue
            clicks[row] = likes
            if likes and draws[row, 1] < user.stop_probability(y)[row]:
                break
    return clicks


@pytest.mark.parametrize("behaviour", ["perfect", "navigational", "informational"])
@pytest.mark.parametrize("examination", ["cascade", "position"])
def test_clicks_are_those_of_a_loop_over_documents(behaviour, examination):
    rng = np.random.default_rng(0)
    ptr = np.array([0, 5, 5, 6, 30, 42])
    y = rng.integers(0, 5, size=42).astype(float)
    user = SimulatedUser(behaviour, examination=examination, eta=0.7, noise=0.05)
    clicks = user.click(y, ptr, random_state=3)
    assert clicks.dtype == np.uint8
    np.testing.assert_array_equal(clicks, _by_loop(user, y, ptr, 3))


@pytest.mark.parametrize(
    ("behaviour", "click", "stop"),
    [
        ("perfect", [0, 0.2, 0.4, 0.8, 1], [0, 0, 0, 0, 0]),
        ("navigational", [0.05, 0.3, 0.5, 0.7, 0.95], [0.2, 0.3, 0.5, 0.7, 0.9]),
        ("informational", [0.4, 0.6, 0.7, 0.8, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_five_grades_have_the_published_probabilities(behaviour, click, stop):
    user = SimulatedUser(behaviour)
    np.testing.assert_allclose(user.click_probability(np.arange(5)), click)
    np.testing.assert_allclose(user.stop_probability(np.arange(5)), stop)
    # A rare best grade must not change what the others mean.
    fixed = SimulatedUser(behaviour, max_grade=4)
    np.testing.assert_allclose(fixed.click_probability([0, 1]), click[:2])


@pytest.mark.parametrize(
    ("behaviour", "click", "stop"),
    [
        ("perfect", [0, 0.5, 1], [0, 0, 0]),
        ("navigational", [0.05, 0.5, 0.95], [0.2, 0.5, 0.9]),
        ("informational", [0.4, 0.7, 0.9], [0.1, 0.3, 0.5]),
    ],
)
def test_three_grades_have_the_published_probabilities(behaviour, click, stop):
    user = SimulatedUser(behaviour)
    np.testing.assert_allclose(user.click_probability([0, 1, 2]), click)
    np.testing.assert_allclose(user.stop_probability([0, 1, 2]), stop)


def test_grades_between_lie_on_straight_lines():
    user = SimulatedUser("navigational", max_grade=8)
    np.testing.assert_allclose(user.click_probability([1, 8]), [0.175, 0.95])
    assert SimulatedUser("perfect").click_probability([0.0, 12.0]).tolist() == [0, 1]


def test_noise_is_added_to_what_grades_leave():
    user = SimulatedUser("perfect", noise=0.25)
    expected = 0.25 + 0.75 * np.array([0, 0.5, 1])
    np.testing.assert_allclose(user.click_probability([0, 1, 2]), expected)


def test_examination_by_position_has_its_propensities():
    user = SimulatedUser("perfect", examination="position", eta=1.5)
    expected = 1.0 / np.arange(1, 7) ** 1.5
    np.testing.assert_allclose(user.propensities(6), expected)
    y, ptr = _repeated([2] * 6, 40_000)
    rates = user.click(y, ptr, random_state=0).reshape(-1, 6).mean(axis=0)
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert np.all(np.abs(rates - expected) <= 4.5 * error)


def test_cascade_rates_are_the_products_of_not_stopping():
    user = SimulatedUser("navigational")
    y = np.array([1.0, 0.0, 2.0, 1.0])
    click, stop = user.click_probability(y), user.stop_probability(y)
    expected = click * np.append(1.0, np.cumprod(1 - click * stop)[:-1])
    rows, ptr = _repeated(y, 40_000)
    rates = user.click(rows, ptr, random_state=0).reshape(-1, 4).mean(axis=0)
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert np.all(np.abs(rates - expected) <= 4.5 * error)


def test_a_seed_gives_the_same_clicks_again():
    y, ptr = _repeated([2, 1, 0, 0], 50)
    user = SimulatedUser("informational")
    first = user.click(y, ptr, random_state=5)
    np.testing.assert_array_equal(first, user.click(y, ptr, random_state=5))
    generator = np.random.RandomState(5)
    np.testing.assert_array_equal(first, user.click(y, ptr, random_state=generator))
    assert (first != user.click(y, ptr, random_state=generator)).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"behaviour": "lazy"}, "behaviour must be 'perfect', 'navigational' or"),
        ({"examination": "random"}, "examination must be"),
        ({"eta": -1.0}, "eta must be a number >= 0, got -1.0"),
        ({"noise": 1.5}, r"noise must be a number in \[0, 1\], got 1.5"),
        ({"max_grade": 0}, "max_grade must be a number > 0"),
    ],
)
def test_parameters_out_of_range_are_refused(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        SimulatedUser(**change).click([0, 1], [0, 2])


def test_bad_rankings_are_refused():
    user = SimulatedUser(max_grade=2)
    with pytest.raises(ValueError, match="max_grade=2, got 3 in row 1"):
        user.click([0, 3], [0, 2])
    with pytest.raises(ValueError, match="ptr must hold whole numbers that ascend"):
        user.click([0, 1], [0, 3])
    with pytest.raises(ValueError, match="y must hold grades >= 0"):
        user.click([0, -1], [0, 2])
    with pytest.raises(ValueError, match="random_state must be"):
        user.click([0, 1], [0, 2], random_state="a")
    with pytest.raises(ValueError, match="needs examination='position'"):
        user.propensities(3)
    with pytest.raises(ValueError, match="n_positions must be"):
        SimulatedUser(examination="position").propensities(0)
