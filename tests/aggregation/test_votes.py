"""Majorities: Condorcet-fuse, Copeland's count, local Kemenisation."""

from itertools import pairwise

import numpy as np
import pytest
from _runs import distance, make_runs, queries_of, votes_of

from skrank._core._choices import (
    copeland,
    kendall_distance,
    local_kemeny,
    sort_by_majority,
)
from skrank.aggregation import MC4, Borda, LocalKemeny, aggregate, join_runs

WEIGHTS = [1.0, 0.5, 2.0, 3.0]
MISSING = pytest.mark.parametrize("missing", ["last", "skip"])


@MISSING
def test_copeland_counts_victories(runs, missing):
    found = aggregate(runs, "copeland", weights=WEIGHTS, missing=missing)
    for q, docs, lists in queries_of(runs):
        votes = votes_of(docs, lists, missing, WEIGHTS)
        for d in docs:
            won = sum(votes[d, e] > votes[e, d] for e in docs)
            lost = sum(votes[d, e] < votes[e, d] for e in docs)
            assert found[q][d] == won - lost


@MISSING
def test_condorcet_is_a_path_of_the_majority_graph(runs, missing):
    found = aggregate(runs, "condorcet", weights=WEIGHTS, missing=missing)
    for q, docs, lists in queries_of(runs):
        votes = votes_of(docs, lists, missing, WEIGHTS)
        assert sorted(found[q]) == docs
        assert list(found[q].values()) == list(range(len(docs), 0, -1))
        for d, e in pairwise(found[q]):
            assert votes[d, e] >= votes[e, d]


@MISSING
@pytest.mark.parametrize("initial", [None, MC4(), Borda(missing="zero")])
def test_local_kemenisation(runs, missing, initial):
    aggregator = LocalKemeny(initial=initial, weights=WEIGHTS, missing=missing)
    aggregator.fit(runs)
    found = aggregator.aggregate(runs)
    borda = Borda(weights=WEIGHTS, missing="average" if missing == "last" else "skip")
    before = (borda if initial is None else initial).aggregate(runs)
    for number, (q, docs, lists) in enumerate(queries_of(runs)):
        votes = votes_of(docs, lists, missing, WEIGHTS)
        assert distance(found[q], votes) <= distance(before[q], votes)
        assert aggregator.distance_[number] == pytest.approx(distance(found[q], votes))
        for d, e in pairwise(found[q]):
            assert votes[d, e] >= votes[e, d]


@pytest.mark.parametrize("method", ["local_kemeny", "condorcet", "copeland", "kemeny"])
@pytest.mark.parametrize("seed", range(5))
def test_extended_condorcet_criterion(method, seed):
    runs = make_runs(seed, n_runs=3, n_queries=8, pool=9, complete=True)
    # Two documents that all runs have at the end, whatever else they think.
    for run in runs:
        for entry in run.values():
            low = min(entry.values()) - 1
            entry["d0"], entry["d1"] = low - entry["d0"] % 1, low - entry["d1"] % 1
    found = aggregate(runs, method)
    for q, docs, lists in queries_of(runs):
        votes = votes_of(docs, lists, "last", [1.0] * 3)
        place = {d: i for i, d in enumerate(found[q])}
        assert {place["d0"], place["d1"]} == {len(docs) - 2, len(docs) - 1}
        for n in range(1, len(docs)):
            first = sorted(docs, key=lambda d: -sum(votes[d, e] > 1.5 for e in docs))[
                :n
            ]
            rest = [e for e in docs if e not in first]
            if all(votes[d, e] > votes[e, d] for d in first for e in rest):
                assert max(place[d] for d in first) < min(place[e] for e in rest)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_kernels_against_loops(n_threads):
    rng = np.random.default_rng(0)
    ptr = np.array([0, 0, 40, 41, 130])
    places = rng.integers(0, 60, size=(130, 5)).astype(float)
    places[rng.random(places.shape) < 0.2] = np.nan
    places[rng.random(places.shape) < 0.1] = np.inf
    weight = np.array([1.0, 2.0, 1.0, 1.0, 0.5])
    order = np.concatenate([rng.permutation(b - a) for a, b in pairwise(ptr)])
    order = order.astype(np.int32)
    prefers = (places[:, None] < places[None]) @ weight
    counts, expected = np.zeros(130), np.zeros(len(ptr) - 1)
    for q, (a, b) in enumerate(pairwise(ptr)):
        own = prefers[a:b, a:b]
        counts[a:b] = (own > own.T).sum(1) - (own < own.T).sum(1)
        expected[q] = np.tril(own[np.ix_(order[a:b], order[a:b])], -1).sum()
    np.testing.assert_array_equal(copeland(places, weight, ptr, n_threads), counts)
    found = kendall_distance(places, weight, order, ptr, n_threads)
    np.testing.assert_allclose(found, expected)
    for function in (sort_by_majority, local_kemeny):
        result = function(places, weight, order, ptr, n_threads)
        for a, b in pairwise(ptr):
            assert sorted(result[a:b]) == list(range(b - a))
            for i, j in pairwise(result[a:b]):
                assert prefers[a + i, a + j] >= prefers[a + j, a + i]


@pytest.mark.parametrize("method", ["condorcet", "local_kemeny"])
def test_documents_without_a_majority_stay_in_the_order_of_their_points(method):
    runs = {"a": 2.0, "b": 1.0, "c": 0.0}, {"b": 2.0, "a": 1.0, "c": 0.0}
    found = aggregate([{"q": run} for run in runs], method)["q"]
    assert sorted(found, key=found.get, reverse=True) == ["b", "a", "c"]


def test_a_run_without_the_query_has_no_vote():
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}, {"p": {"c": 1.0}}]
    assert aggregate(runs, "copeland")["q"] == {"a": 1.0, "b": -1.0}
    assert join_runs(runs).n_retrieved.tolist() == [[2, 2, 0], [0, 0, 1]]
