"""All 25 methods of ranx and its normalisations, on runs without equal scores."""

import os

import numpy as np
import pytest
from _runs import close, make_qrels, make_runs

from skrank.aggregation import get_aggregator

WEIGHTS = [0.2, 0.3, 0.4]
#: Parameters of ranx by method, and those of skrank.
METHODS = {
    "bayesfuse": ({}, {}),
    "mapfuse": ({}, {}),
    "posfuse": ({}, {}),
    "probfuse": ({"n_segments": 4}, {"n_segments": 4}),
    "segfuse": ({}, {}),
    "slidefuse": ({"w": 2}, {"window": 2}),
    "anz": ({}, {}),
    "bordafuse": ({}, {}),
    "gmnz": ({"gamma": 0.5}, {"gamma": 0.5}),
    "isr": ({}, {}),
    "log_isr": ({}, {}),
    "logn_isr": ({"sigma": 0.2}, {"sigma": 0.2}),
    "max": ({}, {}),
    "med": ({}, {}),
    "min": ({}, {}),
    "mixed": ({"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "mnz": ({}, {}),
    "rbc": ({"phi": 0.8}, {"phi": 0.8}),
    "rrf": ({"k": 10}, {"k": 10}),
    "sum": ({}, {}),
    "w_bordafuse": ({"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "wmnz": ({"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "wsum": ({"weights": WEIGHTS}, {"weights": WEIGHTS}),
}
NORMALIZATIONS = ["min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda"]

pytestmark = [
    pytest.mark.skipif(
        "SKRANK_SLOW_TESTS" not in os.environ,
        reason="ranx compiles for minutes; set SKRANK_SLOW_TESTS to run it",
    ),
    pytest.mark.filterwarnings("ignore"),  # numba warns about its own future
]


def complete(runs):
    """Runs that all have all queries, as ranx wants them, and positive scores."""
    queries = dict.fromkeys(q for run in runs for q in run)
    return [
        {q: {d: abs(s) for d, s in run.get(q, {"d0": 1.0}).items()} for q in queries}
        for run in runs
    ]


RUNS = complete(make_runs(11, n_runs=3))
QRELS = {q: {d: g for d, g in t.items() if g} for q, t in make_qrels(RUNS).items()}


@pytest.fixture
def ranx():
    return pytest.importorskip("ranx")


def theirs(ranx, method, normalization, params):
    runs = [ranx.Run(run, name=str(i)) for i, run in enumerate(RUNS)]
    if get_aggregator(method).learns:
        import ranx.fusion as fusion
        from ranx.normalization import norm_switch

        normed = [norm_switch("min-max")(run) for run in runs]
        train = getattr(fusion, f"{method}_train")
        own = {k: v for k, v in params.items() if k == "n_segments"}
        learned = train(ranx.Qrels(QRELS), normed, **own)
        name = {"bayesfuse": "log_odds", "mapfuse": "map_scores"}.get(method, "probs")
        params = {k: v for k, v in params.items() if k != "n_segments"}
        params = {**params, name: learned}
    fused = ranx.fuse(runs, norm=normalization, method=method, params=params)
    return {q: dict(entry) for q, entry in fused.to_dict().items()}


@pytest.mark.parametrize("method", METHODS)
def test_methods(ranx, method):
    their_params, params = METHODS[method]
    aggregator = get_aggregator(method, **params)
    if aggregator._needs_fit():
        aggregator.fit(RUNS, QRELS)
    expected = theirs(ranx, method, "min-max", their_params)
    close(aggregator.aggregate(RUNS), expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_normalizations(ranx, normalization):
    expected = theirs(ranx, "sum", normalization, {})
    found = get_aggregator("sum", normalization=normalization).aggregate(RUNS)
    close(found, expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 0.75]])
def test_orders_by_majority(ranx, weights):
    # Three complete lists with a little noise, whose majorities make no circle.
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(3):
        scores = -np.arange(12.0) + rng.normal(size=12) * 0.6
        runs.append({"q": {f"d{i}": float(s) for i, s in enumerate(scores)}})
    method = "condorcet" if weights is None else "w_condorcet"
    params = {} if weights is None else {"weights": weights}
    fused = ranx.fuse(
        [ranx.Run(run, name=str(i)) for i, run in enumerate(runs)],
        norm=None,
        method=method,
        params=params,
    )
    found = get_aggregator(method, **params).aggregate(runs)
    assert found["q"] == dict(fused.to_dict()["q"])
