"""Mallows' model against sums over all orders."""

import inspect
from itertools import combinations, permutations
from typing import get_args

import numpy as np
import pytest
from _runs import make_runs, queries_of, ranks_of
from scipy.optimize import minimize_scalar

from skrank.aggregation import Kemeny, Mallows
from skrank.aggregation._mallows import fitted_dispersion

WEIGHTS = np.array([1.0, 0.5, 2.0, 3.0])


def n_swaps(order, consensus):
    place = {d: i for i, d in enumerate(consensus)}
    return sum(place[d] > place[e] for d, e in combinations(order, 2))


def log_probability(entry, consensus, theta):
    """Logarithm of the probability of all orders that begin with a list."""
    own = sorted(entry, key=ranks_of(entry).__getitem__)
    mass = {
        order: np.exp(-theta * n_swaps(order, consensus))
        for order in permutations(consensus)
    }
    begins = sum(p for order, p in mass.items() if list(order[: len(own)]) == own)
    return np.log(begins / sum(mass.values()))


@pytest.mark.parametrize("complete", [True, False])
def test_dispersion_and_likelihood(complete):
    runs = make_runs(5, n_queries=4, pool=5, complete=complete)
    mallows = Mallows(weights=WEIGHTS).fit(runs)
    consensus = mallows.aggregate(runs)
    assert consensus == Kemeny(weights=WEIGHTS).aggregate(runs)
    for number, (q, _, lists) in enumerate(queries_of(runs)):
        order = tuple(consensus[q])

        def value(theta, order=order, lists=lists):
            return sum(
                weight * log_probability(entry, order, theta)
                for weight, entry in zip(WEIGHTS, lists)
                if entry
            )

        theta = mallows.dispersion_[number]
        found = mallows.log_likelihood_[number]
        if theta == np.inf:
            assert mallows.distance_[number] == 0
            assert found == 0
            continue
        assert found == pytest.approx(value(theta))
        best = minimize_scalar(lambda t, value=value: -value(t), bounds=(0, 20))
        assert found >= -best.fun - 1e-6


def test_runs_that_agree_have_infinite_dispersion():
    runs = [{"q": {"a": 2.0, "b": 1.0}}] * 2
    mallows = Mallows().fit(runs)
    assert mallows.dispersion_.tolist() == [np.inf]
    assert mallows.log_likelihood_.tolist() == [0.0]


def test_runs_that_contradict_each_other_are_scattered_by_chance():
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1.0, "b": 2.0}}]
    mallows = Mallows().fit(runs)
    assert mallows.dispersion_.tolist() == [0.0]
    assert mallows.log_likelihood_ == pytest.approx([2 * np.log(0.5)])


@pytest.mark.parametrize("theta", [1e-6, 1e-3, 0.5, 5.0, 100.0])
def test_the_mean_distance_of_a_parameter_gives_it_back(theta):
    m = 30
    left = np.arange(m, 0, -1)
    v = np.arange(m)
    p = [np.exp(-theta * v[:n]) / np.exp(-theta * v[:n]).sum() for n in left]
    mean = sum(float(own @ v[: len(own)]) for own in p)
    found, _ = fitted_dispersion(mean, np.array([m]), m, np.ones(1))
    assert found == pytest.approx(theta, rel=1e-5, abs=1e-9)


def test_only_lists_with_documents_left_have_a_closed_form():
    with pytest.raises(ValueError, match="Mallows: missing must be 'last'"):
        Mallows(missing="skip").fit([{"q": {"a": 1.0}}])
    hint = inspect.signature(Mallows).parameters["missing"].annotation
    assert get_args(hint) == ("last",)
