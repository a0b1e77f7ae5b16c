"""Kemeny's order against enumeration, and its bounds."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from _runs import distance, make_runs, queries_of, votes_of

from skrank.aggregation import Kemeny, LocalKemeny, aggregate
from skrank.aggregation._kemeny import distance_of
from skrank.aggregation._kemeny_programs import best_order, linear_order
from skrank.aggregation._votes import majorities, pair_votes

SOLVERS = {
    "dynamic": {"dynamic_size": 7},
    "integer": {"dynamic_size": 0, "linear_size": 10},
}


def random_votes(seed, m, n_runs=5):
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(m) for _ in range(n_runs)]).T
    return (places[:, None] < places[None]).sum(axis=2).astype(float)


@pytest.mark.parametrize("missing", ["last", "skip"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_against_enumeration(seed, solver, missing):
    runs = make_runs(seed, n_runs=4, n_queries=5, pool=6)
    weights = [1.0, 1.5, 1.0, 2.0]
    kemeny = Kemeny(**SOLVERS[solver], missing=missing, weights=weights).fit(runs)
    found = kemeny.aggregate(runs)
    bounds = kemeny.lower_bound(runs)
    for number, (q, docs, lists) in enumerate(queries_of(runs)):
        votes = votes_of(docs, lists, missing, weights)
        least = min(distance(order, votes) for order in permutations(docs))
        assert distance(found[q], votes) == pytest.approx(least)
        assert kemeny.distance_[number] == pytest.approx(least)
        assert kemeny.lower_bound_[number] == pytest.approx(least)
        assert bounds[number] <= least + 1e-6
    assert kemeny.optimal_.all()


def test_circles_are_the_hard_part():
    runs = [{"q": dict(zip(order, (3, 2, 1)))} for order in ("abc", "bca", "cab")]
    kemeny = Kemeny().fit(runs)
    assert kemeny.distance_.tolist() == [4.0]
    unsolved = Kemeny(dynamic_size=0).fit(runs)
    assert unsolved.distance_.tolist() == [4.0]
    assert unsolved.lower_bound_.tolist() == [3.0]
    assert unsolved.optimal_.tolist() == [False]
    # With the constraints on three documents, the linear program is exact.
    assert unsolved.lower_bound(runs) == pytest.approx([4.0])


@pytest.mark.parametrize("seed", range(3))
def test_large_components(seed):
    runs = make_runs(seed, n_runs=3, n_queries=2, pool=25, complete=True)
    local = LocalKemeny().fit(runs)
    unsolved = Kemeny(dynamic_size=0).fit(runs)
    exact = Kemeny(dynamic_size=10, linear_size=25).fit(runs)
    bounds = unsolved.lower_bound(runs)
    assert exact.optimal_.all()
    np.testing.assert_allclose(exact.lower_bound_, exact.distance_)
    assert (unsolved.lower_bound_ <= bounds + 1e-6).all()
    assert (bounds <= exact.distance_ + 1e-6).all()
    assert (exact.distance_ <= unsolved.distance_).all()
    assert (unsolved.distance_ <= local.distance_).all()


@pytest.mark.parametrize("m", [1, 2, 5, 9])
@pytest.mark.parametrize("seed", range(3))
def test_dynamic_and_integer_programs_agree(seed, m):
    votes = random_votes(seed, m)
    order, value = linear_order(votes, integer=True)
    assert sorted(order) == sorted(best_order(votes)) == list(range(m))
    assert distance_of(votes, order) == pytest.approx(value)
    assert distance_of(votes, best_order(votes)) == pytest.approx(value)
    assert linear_order(votes, integer=False)[1] <= value + 1e-6


@pytest.mark.parametrize("m", [0, 1, 7, 700])
def test_majorities_count_the_votes_of_all_pairs(m):
    rng = np.random.default_rng(m)
    places = rng.permuted(np.repeat(np.arange(m)[:, None], 3, axis=1), axis=0) + 1.0
    places[rng.random(places.shape) < 0.2] = np.nan
    weights = np.array([1.0, 2.0, 4.0])
    votes = pair_votes(places, weights)
    beats, least = majorities(places, weights)
    np.testing.assert_array_equal(beats, votes > votes.T)
    assert least == np.minimum(votes, votes.T)[np.triu_indices(m, 1)].sum()


@pytest.mark.parametrize("seed", [0, 1])
def test_long_lists_take_little_more_than_a_byte_for_each_pair(seed):
    m = 3000
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(m, 5)) + seed * 3 * rng.normal(size=(m, 1))
    tracemalloc.start()
    try:
        aggregate(scores, "kemeny", np.zeros(m))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * m**2


def test_ties_are_broken_by_bordas_order():
    # All orders of two runs that contradict each other are equally good.
    runs = [{"q": {"a": 1, "b": 2, "c": 3}}, {"q": {"a": 3, "b": 2, "c": 1}}]
    assert list(Kemeny().aggregate(runs)["q"]) == ["c", "b", "a"]


def test_the_table_has_a_limit():
    with pytest.raises(ValueError, match=r"must be a whole number in \[0, 20\]"):
        Kemeny(dynamic_size=21).fit([{"q": {"a": 1.0}}])


def test_components_that_are_not_solved_fit_to_their_neighbours():
    """Majorities tie, so that components interleave in the order to start from."""
    scores = {
        "a": [0, 5, 5, 1],
        "b": [1, 0, 0, 5],
        "c": [6, 2, 2, 3],
        "d": [2, 3, 3, 6],
        "e": [3, 6, 4, 0],
        "f": [5, 1, 6, 2],
        "g": [4, 4, 1, 4],
    }
    runs = [{"q": {d: own[r] for d, own in scores.items()}} for r in range(4)]
    ((_, docs, lists),) = queries_of(runs)
    votes = votes_of(docs, lists, "last", np.ones(4))
    kemeny = Kemeny(dynamic_size=0).fit(runs)
    fused = kemeny.aggregate(runs)["q"]
    order = sorted(docs, key=fused.get, reverse=True)
    least = distance(fused, votes)
    assert kemeny.distance_ == least
    for place in range(6):
        swapped = order.copy()
        swapped[place : place + 2] = swapped[place : place + 2][::-1]
        assert distance(swapped, votes) >= least
