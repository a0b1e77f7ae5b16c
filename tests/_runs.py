"""Runs for tests: dictionaries that lack documents, queries and agreement."""

from itertools import combinations

import numpy as np
import pytest


def make_runs(seed=0, n_runs=4, n_queries=6, pool=12, complete=False, ties=False):
    """Dictionaries of runs; a run may lack documents, and the last one a query."""
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(n_runs):
        run = {}
        for q in range(n_queries):
            n = pool if complete else int(rng.integers(1, pool + 1))
            docs = rng.choice(pool, n, replace=False)
            scores = rng.normal(size=n).round(1 if ties else 6) * 10.0**number
            run[f"q{q}"] = {f"d{d}": float(s) for d, s in zip(docs, scores)}
        runs.append(run)
    if not complete and n_queries > 1:
        del runs[-1]["q1"]
    return runs


def make_qrels(runs, seed=1, missing=True):
    """Grades of some of the documents, and of one that no run has."""
    rng = np.random.default_rng(seed)
    qrels = {}
    for q in runs[0]:
        docs = sorted({d for run in runs for d in run.get(q, {})})
        qrels[q] = {d: int(rng.integers(0, 3)) for d in docs if rng.random() < 0.7}
        qrels[q][docs[0]] = 2
        if missing:
            qrels[q]["nowhere"] = 1
    return qrels


def ranks_of(entry):
    """Ranks in one list, of equal scores the larger id first."""
    ordered = sorted(entry, key=lambda d: (entry[d], d), reverse=True)
    return {d: place for place, d in enumerate(ordered, 1)}


def queries_of(runs):
    """For each query, its documents and the lists of all runs, as dictionaries."""
    for q in dict.fromkeys(q for run in runs for q in run):
        lists = [run.get(q, {}) for run in runs]
        yield q, sorted({d for entry in lists for d in entry}), lists


def close(found, expected, **tolerance):
    """Compare two fused runs, query by query and document by document."""
    assert found.keys() == expected.keys()
    tolerance = {"rel": 1e-9, "abs": 1e-12, **tolerance}
    for q in found:
        assert found[q] == pytest.approx(expected[q], **tolerance), q


def votes_of(docs, lists, missing, weights):
    """Weight of the runs that prefer one document to another, by pair."""
    votes = {}
    for d in docs:
        for e in docs:
            votes[d, e] = 0.0
            for weight, entry in zip(weights, lists):
                ranks = ranks_of(entry)
                both = d in ranks and e in ranks and ranks[d] < ranks[e]
                alone = missing == "last" and d in ranks and e not in ranks
                votes[d, e] += weight * (both or alone)
    return votes


def distance(order, votes):
    """Weight of the votes against an order."""
    return sum(votes[e, d] for d, e in combinations(order, 2))
