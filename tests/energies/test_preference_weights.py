"""Weights of preferences, and the set that parameters stay in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from skrank.energies import (
    LinearEnergy,
    MLPEnergy,
    NadarayaWatsonEnergy,
    PreferenceWeightsEnergy,
)
from skrank.energies._constraint import NonNegativeL1Ball
from skrank.rankers import StructRank


@pytest.mark.parametrize("n_weights", [1, 2])
@pytest.mark.parametrize(
    "energy", [None, MLPEnergy((3,)), NadarayaWatsonEnergy()], ids=repr
)
def test_columns_and_their_derivatives(rng, energy, n_weights):
    X, y = rng.uniform(size=(12, 4)), rng.integers(0, 3, 12).astype(float)
    weighted = PreferenceWeightsEnergy(energy, n_weights=n_weights).setup(X, None, y)
    Z = weighted.transform(X)
    params = weighted.init_params(Z.shape[1], np.random.RandomState(0)) + 0.1
    assert len(params) == weighted.n_params(Z.shape[1])
    raw, vjp = weighted.scores_and_vjp(params, Z)
    inner, _ = weighted.energy_.scores_and_vjp(params[:-n_weights], Z)
    expected = inner[:, None] * params[-n_weights:]
    assert_allclose(raw, expected[:, 0] if n_weights == 1 else expected, rtol=1e-13)
    assert_array_equal(
        weighted.document_scores(params, Z),
        weighted.energy_.scores(params[:-n_weights], Z),
    )
    pull = rng.normal(size=raw.shape)
    slopes = []
    for step in 1e-5 * np.eye(len(params)):
        up, down = (weighted.scores_and_vjp(params + s, Z)[0] for s in (step, -step))
        slopes.append(np.sum(pull * (up - down)) / 2e-5)
    assert_allclose(vjp(pull), slopes, rtol=1e-6, atol=1e-8)


def test_what_is_constrained():
    X, y = np.zeros((3, 4)), np.zeros(3)
    linear = PreferenceWeightsEnergy(LinearEnergy(fit_intercept=True)).setup(X, None, y)
    assert_array_equal(linear.constraint(4).mask, [False] * 5 + [True] * 2)
    local = PreferenceWeightsEnergy(NadarayaWatsonEnergy(), n_weights=1, l1_bound=2.0)
    constraint = local.setup(X, None, y).constraint(5)
    assert_array_equal(constraint.mask, [True] * 5)
    assert constraint.radius == 2.0
    assert linear.accepts_sparse
    assert not local.accepts_sparse
    assert_array_equal(linear.penalty_mask(4), [1, 1, 1, 1, 0, 1, 1])
    with pytest.raises(ValueError, match="l1_bound must be a number > 0 or None"):
        PreferenceWeightsEnergy(l1_bound=0.0).setup(X, None, y)


def test_a_bound_of_the_inner_energy_is_not_dropped(rng):
    X, y = rng.uniform(size=(6, 2)), np.array([0.0, 1, 0, 1, 0, 1])
    bounded = NadarayaWatsonEnergy(l1_bound=2.0)
    with pytest.raises(ValueError, match="pass l1_bound beside energy"):
        PreferenceWeightsEnergy(bounded).setup(X, None, y)
    with pytest.raises(ValueError, match="pass l1_bound beside energy"):
        StructRank(energy=bounded).fit(X, y, [0, 0, 0, 1, 1, 1])


def test_projection_equals_the_quadratic_programme(rng):
    for _ in range(10):
        x = rng.normal(size=7) * 2.0
        mask = rng.random(7) < 0.7
        ball = NonNegativeL1Ball(mask, 1.5)
        found = ball.project(x)
        assert_array_equal(found[~mask], x[~mask])
        peer = minimize(
            lambda p, x=x: np.sum((p - x) ** 2),
            np.where(mask, 0.1, x),
            jac=lambda p, x=x: 2.0 * (p - x),
            bounds=[(0.0, None) if m else (None, None) for m in mask],
            constraints={
                "type": "ineq",
                "fun": lambda p, mask=mask: 1.5 - p[mask].sum(),
            },
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 200},
        )
        assert_allclose(found, peer.x, atol=1e-6)
        assert ball.feasible(found)
        assert_allclose(ball.project(found), found, atol=1e-15)


def test_projection_of_feasible_points_and_without_a_bound():
    x = np.array([0.5, 0.0, 0.25])
    assert_array_equal(NonNegativeL1Ball([1, 1, 1], 1.0).project(x), x)
    signs = NonNegativeL1Ball([1, 1, 0])
    assert_array_equal(signs.project(np.array([-1.0, 9.0, -2.0])), [0.0, 9.0, -2.0])
    assert not signs.feasible(np.array([-1.0, 0.0, 0.0]))
    assert signs.feasible(np.array([1.0, 0.0, -1.0]))
    # By hand: 3 and 1 onto sum 2 is 2 and 0, 3 and 2 onto sum 2 is 1.5 and 0.5.
    ball = NonNegativeL1Ball([1, 1], 2.0)
    assert_array_equal(ball.project(np.array([3.0, 1.0])), [2.0, 0.0])
    assert_array_equal(ball.project(np.array([3.0, 2.0])), [1.5, 0.5])
    assert not ball.feasible(np.array([1.5, 1.0]))
