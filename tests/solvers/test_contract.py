"""What every solver promises, over all public solvers and their variants."""

import numpy as np
import pytest
from _labels import label
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skrank import solvers
from skrank._core._registry import by_short_name, public_classes
from skrank.solvers import BaseSolver, RelaxedStart, SmoothingHomotopy
from skrank.testing import contract_checks
from skrank.testing._solvers import OnlySome, RidgeObjective, solve

CLASSES = public_classes(solvers, BaseSolver)
SOLVERS = [cls(**variant) for cls in CLASSES for variant in cls._variants()]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=repr)
# Near the minimum, steps of the gradient of some queries go back and forth.
BATCH_TOLERANCE = 0.1


@pytest.fixture
def toy():
    return RidgeObjective.example()


def test_every_solver_has_a_short_name():
    assert list(by_short_name(solvers, BaseSolver).values()) == CLASSES


@pytest.mark.parametrize(
    ("solver", "check"),
    [case for solver in SOLVERS for case in contract_checks(solver)],
    ids=lambda value: getattr(value, "__name__", None) or label(value),
)
def test_contract(solver, check):
    check(solver)


@pytest.mark.parametrize("wrapper", [SmoothingHomotopy, RelaxedStart])
def test_a_wrapping_solver_checks_the_one_inside(wrapper, toy):
    toy = OnlySome(toy, ["value_gradient", "smoothed", "relaxed"])
    toy.smoothed = lambda width: toy
    toy.relaxed = lambda: toy
    with pytest.raises(TypeError, match="Adam needs an objective with batch"):
        solve(wrapper(solvers.Adam()), toy)
    with pytest.raises(ValueError, match="Adam: beta_1 must be a number in"):
        solve(wrapper(solvers.Adam(beta_1=2.0)), toy)


def test_a_refusal_says_why(toy):
    toy = OnlySome(toy, ["value_gradient"])
    toy.why_not = lambda name: f"the toy has no {name} version"
    match = (
        "SmoothingHomotopy needs an objective with smoothed, which OnlySome does not "
        "offer; the toy has no smoothed version"
    )
    with pytest.raises(TypeError, match=match):
        solve(SmoothingHomotopy(), toy)


class Odd(RidgeObjective):
    """An objective whose gradient is of the user's making."""

    make = staticmethod(lambda value, gradient: (value, gradient))

    def value_gradient(self, params):
        return self.make(*super().value_gradient(params))

    def batch(self, queries, rng):
        part = Odd(self.X[queries], self.y[queries], self.alpha)
        part.make = self.make
        return part


ODD = {
    "short": lambda value, gradient: (value, gradient[:-1]),
    "long": lambda value, gradient: (value, np.append(gradient, 0.0)),
    "scalar": lambda value, gradient: (value, 1.0),
    "none": lambda value, gradient: (value, None),
    "alone": lambda value, gradient: value,
}


@each_solver
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_gradients_that_do_not_fit_are_refused(solver, make, toy):
    odd = Odd(toy.X, toy.y, toy.alpha)
    odd.make = make
    message = (
        "value_gradient must (return a value and|return a gradient of|hold numbers)"
    )
    with pytest.raises((TypeError, ValueError), match=message):
        clone(solver).solve(odd, np.zeros(toy.X.shape[1]), np.random.RandomState(0))


@each_solver
def test_gradients_may_be_of_any_type(solver, toy):
    odd = Odd(toy.X, toy.y, toy.alpha)
    odd.make = lambda value, gradient: (value, gradient.tolist())
    start = np.zeros(toy.X.shape[1])
    same = [
        clone(solver).solve(objective, start, np.random.RandomState(0)).params
        for objective in (toy, odd)
    ]
    assert_array_equal(*same)
