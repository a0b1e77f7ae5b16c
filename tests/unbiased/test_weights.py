"""Weights of clicks, and checks of places and propensities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skrank.exceptions import InvalidParameterError
from skrank.unbiased import (
    DualLearningRanker,
    RegressionEM,
    UnbiasedLambdaMART,
    inverse_propensity_weights,
)
from skrank.unbiased._positions import (
    Places,
    at_positions,
    check_curve,
    check_positions,
)

CLICKS = np.array([1.0, 0, 2, 0, 1])
PROPENSITIES = np.array([1.0, 0.5, 0.1, 0.1, 0.5])


def test_clicked_rows_weigh_the_inverse_of_their_propensity():
    weights = inverse_propensity_weights(CLICKS, PROPENSITIES)
    assert weights.tolist() == [1.0, 1.0, 10.0, 1.0, 2.0]


def test_no_weight_exceeds_the_inverse_of_the_clip():
    weights = inverse_propensity_weights(CLICKS, PROPENSITIES, clip=0.25)
    assert weights.tolist() == [1.0, 1.0, 4.0, 1.0, 2.0]


def test_self_normalised_weights_have_mean_one_over_clicks():
    weights = inverse_propensity_weights(CLICKS, PROPENSITIES, self_normalize=True)
    assert_allclose(np.average(weights, weights=CLICKS), 1.0)
    plain = inverse_propensity_weights(CLICKS, PROPENSITIES)
    clicked = CLICKS > 0
    assert_allclose(weights[clicked] / weights[0], plain[clicked] / plain[0])
    assert (weights[~clicked] == 1.0).all()
    # A factor that all propensities have in common is of no account.
    halved = inverse_propensity_weights(CLICKS, PROPENSITIES / 2, self_normalize=True)
    assert_allclose(weights, halved)


def test_without_clicks_there_is_nothing_to_normalise():
    weights = inverse_propensity_weights([0, 0], [0.5, 0.1], self_normalize=True)
    assert weights.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clicks": [-1, 0]}, "clicks must hold grades >= 0"),
        ({"propensities": [0.5]}, r"propensities must hold one number for each of the"),
        ({"propensities": [0.5, 0]}, "propensities must hold numbers from 1e-100 to"),
        ({"propensities": [0.5, np.nan]}, "row 1 has nan"),
        ({"propensities": [1e101, 1e100]}, r"1e-100 to 1e\+100; row 0 has 1e\+101"),
        ({"propensities": [1e-100, 1e-101]}, "row 1 has 1e-101"),
        ({"clip": 0.0}, r"clip must be a number in \(0, 1\] or None, got 0.0"),
        ({"self_normalize": "no"}, "self_normalize must be"),
    ],
)
def test_bad_arguments_are_refused(given, message):
    arguments = {"clicks": [1, 0], "propensities": [0.5, 0.2]} | given
    with pytest.raises((ValueError, InvalidParameterError), match=message):
        inverse_propensity_weights(**arguments)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([0, 1], "positions must hold whole numbers from 1.*row 0 has 0"),
        ([1, 1.5], "row 1 has 1.5"),
        ([1, None], "row 1 has nan"),
        ([1, 1_000_001], "whole numbers from 1 to 1000000, .* row 1 has 1000001"),
        ([1, 2, 3], r"one number for each of the 2 rows, got shape \(3,\)"),
        (["a", "b"], "positions must hold numbers"),
    ],
)
def test_bad_positions_are_refused(positions, message):
    with pytest.raises(ValueError, match=message):
        check_positions(positions, 2)


def test_positions_become_whole_numbers():
    places = check_positions([1.0, 12.0], 2)
    assert places.dtype == np.intp
    assert places.tolist() == [1, 12]


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ([], "propensities must hold one number for each place"),
        ([[1.0]], "propensities must hold one number for each place"),
        ([1.0, -0.5], "got -0.5 for place 2"),
        ([1.0, np.inf], "got inf for place 2"),
    ],
)
def test_bad_curves_are_refused(curve, message):
    with pytest.raises(ValueError, match=message):
        check_curve(curve)


def test_curves_are_read_by_place():
    curve = np.array([1.0, 0.5, 0.25])
    assert at_positions(curve, np.array([3, 1])).tolist() == [0.25, 1.0]
    with pytest.raises(ValueError, match="the 3 places that propensities holds, got"):
        at_positions(curve, np.array([1, 4]))


def test_unseen_places_lie_between_those_that_were_seen():
    places = Places.of(np.array([3, 1, 3, 6]))
    assert (places.place.tolist(), places.number.tolist()) == ([1, 3, 6], [1, 0, 1, 2])
    curve = places.curve(np.array([1.0, 0.25, 2.0]))
    assert_allclose(curve, [1.0, 0.5, 0.25, 0.5, 1.0, 2.0])
    assert_array_equal(curve[[0, 2, 5]], [1.0, 0.25, 2.0])
    whole = np.array([0.3, 0.7])
    assert_array_equal(Places.of(np.array([2, 1, 2])).curve(whole), whole)


def test_curves_are_level_beyond_the_places_that_were_seen():
    # The first place is among them, but no row is there; the last has no weight.
    places = Places.of(np.array([2, 4, 5]), np.array([1.0, 2.0, 0.0]))
    assert places.seen.tolist() == [False, True, True, False]
    numbers = np.array([9.0, 1.0, 0.25, 9.0])
    assert_allclose(places.filled(numbers), [1.0, 1.0, 0.25, 0.25])
    assert_allclose(places.curve(numbers), [1.0, 1.0, 0.5, 0.25, 0.25])


def test_curves_of_earlier_rows_are_read_by_place():
    places = Places.of(np.array([2, 7, 3]))
    assert places.read(np.array([1.0, 0.5, 0.25]), 9.0).tolist() == [
        1.0,
        0.5,
        0.25,
        9.0,
    ]


RANKERS = [
    RegressionEM(max_iter=4, tol=1.0, random_state=0),
    DualLearningRanker(max_iter=4, random_state=0),
    UnbiasedLambdaMART(n_estimators=4, min_samples_leaf=5, random_state=0),
]


def _rows():
    rng = np.random.RandomState(0)
    X, clicks = rng.standard_normal((200, 3)), (rng.random_sample(200) < 0.4) * 1.0
    return X, clicks, np.repeat(np.arange(50), 4)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_a_place_far_below_all_others_costs_no_work(ranker):
    X, clicks, groups = _rows()
    near = clone(ranker).fit(X, clicks, groups, positions=[1, 2, 3, 4] * 50)
    far = clone(ranker).fit(X, clicks, groups, positions=[1, 2, 3, 10**6] * 50)
    assert_array_equal(far.predict(X), near.predict(X))
    assert len(far.propensities_) == 10**6
    assert_array_equal(far.propensities_[[0, 1, 2, -1]], near.propensities_)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
@pytest.mark.parametrize("last", [1_000_001, 999_999_999])
def test_a_number_that_stands_for_no_place_is_refused(ranker, last):
    X, clicks, groups = _rows()
    words = f"positions must hold .* from 1 to 1000000, .*; row 3 has {last}$"
    with pytest.raises(ValueError, match=words):
        clone(ranker).fit(X, clicks, groups, positions=[1, 2, 3, last] * 50)


def test_curves_are_read_by_place_where_places_have_gaps():
    places = Places.of(np.array([5, 3, 9]))
    curve = np.array([1.0, 0.8, 0.6, 0.4, 0.2])
    assert places.read(curve, 9.0).tolist() == [1.0, 0.6, 0.2, 9.0]


def test_shares_of_clicks_are_clicks():
    weights = inverse_propensity_weights([0.5, 0.0, 0.01], [0.5, 0.5, 0.25])
    assert weights.tolist() == [2.0, 1.0, 4.0]


@pytest.mark.parametrize("size", [1.0, 5e307, 1.7e308])
def test_weights_are_normalised_by_clicks_of_any_number(size):
    found = inverse_propensity_weights(
        [size, 0.0, size], [1.0, 0.5, 0.5], self_normalize=True
    )
    assert_allclose(found, [2 / 3, 1.0, 4 / 3], rtol=1e-15)
