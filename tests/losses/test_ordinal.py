"""Losses of thresholds and categories, against plain loops over the equations."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank.losses import CategoricalLoss, SumOfMarginsLoss, ThresholdLoss

GRADES = [0.0, 1.0, 2.5, 4.0]
PTR = [0, 5, 6, 12]
RNG = np.random.default_rng(0)
Y = np.concatenate([GRADES, RNG.choice(GRADES, 8)])
F = RNG.normal(size=12) * 2.0
THRESHOLDS = np.array([-1.0, 0.3, 1.1])
RAW = F[:, None] - THRESHOLDS
PENALTIES = {
    "hinge": lambda z: max(0.0, 1.0 - z),
    "smooth_hinge": lambda z: 0.5 - z if z <= 0 else 0.5 * max(0.0, 1.0 - z) ** 2,
    "squared_hinge": lambda z: max(0.0, 1.0 - z) ** 2,
    "exponential": lambda z: math.exp(-z),
    "logistic": lambda z: math.log(1.0 + math.exp(-z)),
    "squared": lambda z: (1.0 - z) ** 2,
}
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)


def immediate(f, grade, phi):
    """Equation 2.14, with y from 1 to K and b_0 and b_K infinite."""
    y, total = GRADES.index(grade) + 1, 0.0
    if y > 1:
        total += phi(f - THRESHOLDS[y - 2])
    if y < len(GRADES):
        total += phi(THRESHOLDS[y - 1] - f)
    return total


def all_thresholds(f, grade, phi):
    """Equations 2.15 and 2.16."""
    y = GRADES.index(grade) + 1
    return sum(
        phi((-1 if k < y else 1) * (THRESHOLDS[k - 1] - f))
        for k in range(1, len(GRADES))
    )


CONSTRUCTIONS = {"immediate": immediate, "all": all_thresholds}


@each_penalty
@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_values_are_those_of_the_book(construction, penalty):
    loss = ThresholdLoss(construction=construction, penalty=penalty, grades=GRADES)
    found, _ = loss.value_gradient(Y, RAW, PTR)
    losses = [
        CONSTRUCTIONS[construction](*row, PENALTIES[penalty]) for row in zip(F, Y)
    ]
    assert_allclose(found, np.add.reduceat(losses, PTR[:-1]))


@each_penalty
def test_bounds_on_errors_of_grades(penalty):
    """In places: the absolute error by all thresholds, the 0-1 error by the next."""
    places = np.searchsorted(GRADES, Y)
    error = np.abs((RAW >= 0.0).sum(axis=1) - places)
    unit = min(1.0, PENALTIES[penalty](0.0))
    ptr = np.arange(13)
    options = {"penalty": penalty, "grades": GRADES}
    total, _ = ThresholdLoss(**options).value_gradient(Y, RAW, ptr)
    assert np.all(total / unit >= error)
    near = ThresholdLoss(construction="immediate", **options)
    assert np.all(near.value_gradient(Y, RAW, ptr)[0] / unit >= (error > 0))
    assert error.max() > 1


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_sum_of_margins_is_that_of_the_book(construction):
    a, b = np.array([-1.0, 0.2, 1.0]), np.array([-0.5, 0.2, 1.5])
    raw = F[:, None] - np.stack([a, b], axis=1).ravel()
    loss = SumOfMarginsLoss(nu=0.3, construction=construction, grades=GRADES)
    found, _ = loss.value_gradient(Y, raw, PTR)

    def slacks(f, grade):
        y = GRADES.index(grade)
        for k in range(3):
            if y == k or (construction == "all" and y < k):
                yield max(0.0, f - a[k])
            if y == k + 1 or (construction == "all" and y > k + 1):
                yield max(0.0, b[k] - f)

    losses = [sum(slacks(f, grade)) + 0.3 * np.sum(a - b) for f, grade in zip(F, Y)]
    assert_allclose(found, np.add.reduceat(losses, PTR[:-1]))


def test_categories_are_those_of_the_book():
    raw = RNG.normal(size=(12, 4))
    loss = CategoricalLoss(grades=GRADES, gain="exp2")
    found, _ = loss.value_gradient(Y, raw, PTR)
    P = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)  # equation 2.7
    losses = [-math.log(row[GRADES.index(grade)]) for row, grade in zip(P, Y)]
    assert_allclose(found, np.add.reduceat(losses, PTR[:-1]))
    expected = [sum(p * (2**g - 1) for p, g in zip(row, GRADES)) for row in P]
    assert_allclose(loss.to_scores(raw), expected)  # equation 2.8
    huge, _ = loss.value_gradient(Y, 1e5 * raw, PTR)
    assert np.isfinite(huge).all()


def test_one_threshold_takes_scores_without_columns():
    y, raw = np.array([0.0, 1.0, 1.0]), np.array([0.5, -1.0, 2.0])
    loss = ThresholdLoss(grades=(0, 1))
    values, gradient = loss.value_gradient(y, raw, [0, 3])
    columns = loss.value_gradient(y, raw[:, None], [0, 3])
    assert gradient.shape == (3,)
    assert_allclose(columns[0], values)
    assert_allclose(columns[1][:, 0], gradient)
    assert_allclose(loss.to_scores(raw), raw)
    assert_allclose(ThresholdLoss().to_scores(RAW), F - THRESHOLDS.mean())
    pairs = np.repeat(RAW, 2, axis=1)
    assert_allclose(SumOfMarginsLoss().to_scores(pairs), F - THRESHOLDS.mean())


def test_bad_input():
    with pytest.raises(ValueError, match="grades must be at least two finite numbers"):
        ThresholdLoss(grades=(1, 0)).prepare([0.0], [0, 1])
    with pytest.raises(ValueError, match="y holds grade 3, which is not among grades="):
        CategoricalLoss(grades=(0, 2)).prepare([3.0], [0, 1])
    with pytest.raises(ValueError, match=r"y holds grade 1, .*\[0.0, 2.0\]"):
        CategoricalLoss(grades=(0, 2)).prepare([1.0], [0, 1])
    with pytest.raises(ValueError, match="must have 4 scores for each of the 2 doc"):
        ThresholdLoss().value_gradient([0, 1], [0.0, 1.0], [0, 2])
    assert not hasattr(ThresholdLoss(penalty="logistic"), "smoothed")
    assert not hasattr(ThresholdLoss(penalty="hinge").prepare([0], [0, 1]), "hessian")
