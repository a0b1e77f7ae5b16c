"""Normalisations and methods with a formula, against loops over documents."""

import statistics
from math import log, sqrt

import numpy as np
import pytest
from _runs import close, make_runs, queries_of, ranks_of

from skrank.aggregation import MAPFuse, aggregate, get_aggregator
from skrank.aggregation._comb import median_of_runs
from skrank.aggregation._sums import sum_of_runs

WEIGHTS = [1.0, 0.5, 2.0, 3.0]


def normalized(entry, name, n_candidates):
    """Normalised scores of one list."""
    if not entry:
        return {}
    values, ranks = list(entry.values()), ranks_of(entry)
    low, high, n = min(values), max(values), len(values)
    mean = sum(values) / n
    spread = sqrt(sum((v - mean) ** 2 for v in values) / n)
    shifted = sum(v - low for v in values)
    rules = {
        None: lambda d, v: v,
        "min-max": lambda d, v: (v - low) / (high - low or 1),
        "min-max-inverted": lambda d, v: (high - v) / (high - low or 1),
        "max": lambda d, v: v / high,
        "sum": lambda d, v: (v - low) / (shifted or 1),
        "zmuv": lambda d, v: (v - mean) / (spread or 1) if low < high else 0,
        "rank": lambda d, v: 1 - (ranks[d] - 1) / n,
        "borda": lambda d, v: 1 - (ranks[d] - 1) / n_candidates,
    }
    return {d: rules[name](d, v) for d, v in entry.items()}


def own_scores(d, lists):
    return [(w, entry[d]) for w, entry in zip(WEIGHTS, lists) if d in entry]


FORMULAS = {
    "combmin": lambda x: min(s for _, s in x),
    "combmax": lambda x: max(s for _, s in x),
    "combmed": lambda x: statistics.median(s for _, s in x),
    "combsum": lambda x: sum(w * s for w, s in x),
    "combanz": lambda x: sum(w * s for w, s in x) / sum(w for w, _ in x),
    "combmnz": lambda x: len(x) * sum(w * s for w, s in x),
    "combgmnz": lambda x: len(x) ** 1.5 * sum(w * s for w, s in x),
    "wmnz": lambda x: sum(w for w, _ in x) * sum(s for _, s in x),
    "mixed": lambda x: sqrt(len(x)) * sum(w * s for w, s in x),
}
NORMALIZATIONS = [None, "min-max", "min-max-inverted", "sum", "zmuv", "rank"]


def params_of(name):
    params = {"gamma": 1.5} if name == "combgmnz" else {}
    if "weights" in get_aggregator(name).get_params():
        params["weights"] = WEIGHTS
    return params


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("name", FORMULAS)
def test_comb_methods(runs, name, normalization):
    expected = {}
    for q, docs, lists in queries_of(runs):
        lists = [normalized(entry, normalization, len(docs)) for entry in lists]
        expected[q] = {d: FORMULAS[name](own_scores(d, lists)) for d in docs}
    found = aggregate(runs, name, normalization=normalization, **params_of(name))
    close(found, expected)


def test_normalization_by_the_maximum():
    runs = [{"q": {"a": 4.0, "b": 1.0}, "p": {"a": 0.0}}, {"q": {"b": 2.0}}]
    assert aggregate(runs, "combsum", normalization="max") == {
        "q": {"b": 1.25, "a": 1.0},
        "p": {"a": 0.0},
    }
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        aggregate([{"q": {"a": -1.0}}], "combsum", normalization="max")


SCALE_FREE = ["min-max", "min-max-inverted", "max", "sum", "zmuv"]


@pytest.mark.parametrize("exponent", [-1020, -900, -700, -550, 500, 550, 900, 1021])
@pytest.mark.parametrize("normalization", SCALE_FREE)
def test_normalized_scores_do_not_depend_on_the_unit(normalization, exponent):
    # Queries of other units stand beside them.
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.5, 2.0, (12, 2))
    groups = np.repeat([0, 1, 2], 4)
    scaled = np.ldexp(scores, np.where(groups == 1, exponent, 0)[:, None])
    options = {"normalization": normalization, "weights": [1.0, 0.3]}
    expected = aggregate(scores, "combsum", groups, **options)
    np.testing.assert_array_equal(
        aggregate(scaled, "combsum", groups, **options), expected
    )


@pytest.mark.parametrize("normalization", [n for n in SCALE_FREE if n != "max"])
def test_normalization_over_the_whole_range(normalization):
    most = np.finfo(np.float64).max
    scores = np.array([[-most], [most], [0.0], [most], [1e-300]])
    found, expected = (
        aggregate(values, "combsum", [0] * 5, normalization=normalization)
        for values in (scores, np.array([[-1.0], [1.0], [0.0], [1.0], [0.0]]))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


def test_sums_beyond_the_range_are_refused():
    most = np.finfo(np.float64).max
    with pytest.raises(ValueError, match="CombSUM: the fused scores are not finite"):
        aggregate([[most, most], [0.0, 1.0]], "combsum", [0, 0], normalization=None)


def test_borda_normalization_shares_what_is_left():
    runs = [{"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 9.0, "c": 1.0, "d": 0.0}}]
    found = aggregate(runs, "combsum", normalization="borda")["q"]
    left = 0.5 - (2 - 1) / (2 * 4), 0.5 - (3 - 1) / (2 * 4)
    expected = {
        "a": 1 + left[1],
        "b": 0.75 + 1,
        "c": 0.75 + left[0],
        "d": 0.5 + left[0],
    }
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("missing", "score"), [("skip", 1.0), ("minimum", 0.5), (-1.0, 0.0), (0, 0.5)]
)
def test_policies_for_missing_scores(missing, score):
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 2.0, "c": 2.0}}, {}]
    found = aggregate(runs, "combanz", missing=missing)["q"]
    # Run 2 gives b and c the score 0 each, and run 3 says nothing of the query.
    assert found == {"a": score, "b": 0.25, "c": 0.0}


def rank_parts(d, lists, function):
    return [
        (w, function(ranks_of(entry)[d]))
        for w, entry in zip(WEIGHTS, lists)
        if d in entry
    ]


def total(parts):
    return sum(w * x for w, x in parts)


RANK_FORMULAS = {
    "rrf": lambda d, lists: total(rank_parts(d, lists, lambda r: 1 / (60 + r))),
    "rbc": lambda d, lists: total(
        rank_parts(d, lists, lambda r: 0.05 * 0.95 ** (r - 1))
    ),
    "isr": lambda d, lists: (
        total(x := rank_parts(d, lists, lambda r: 1 / r**2)) * len(x)
    ),
    "log_isr": lambda d, lists: (
        total(x := rank_parts(d, lists, lambda r: 1 / r**2)) * log(len(x))
    ),
    "logn_isr": lambda d, lists: (
        total(x := rank_parts(d, lists, lambda r: 1 / r**2)) * log(len(x) + 0.01)
    ),
}


@pytest.mark.parametrize("name", RANK_FORMULAS)
def test_methods_of_ranks(runs, name):
    expected = {
        q: {d: RANK_FORMULAS[name](d, lists) for d in docs}
        for q, docs, lists in queries_of(runs)
    }
    close(aggregate(runs, name, weights=WEIGHTS), expected)


def borda_points(entry, docs, missing):
    ranks, m = ranks_of(entry), len(docs)
    if not entry:
        return dict.fromkeys(docs)
    left = {"average": (m - len(entry) + 1) / 2, "zero": 0.0, "skip": None}[missing]
    return {d: m - ranks[d] + 1 if d in ranks else left for d in docs}


@pytest.mark.parametrize("missing", ["average", "zero", "skip"])
def test_borda(runs, missing):
    expected = {}
    for q, docs, lists in queries_of(runs):
        points = [borda_points(entry, docs, missing) for entry in lists]
        expected[q] = {}
        for d in docs:
            given = [(w, p[d]) for w, p in zip(WEIGHTS, points) if p[d] is not None]
            share = sum(w for w, _ in given) if missing == "skip" else 1.0
            expected[q][d] = total(given) / share
    close(aggregate(runs, "borda", weights=WEIGHTS, missing=missing), expected)


def test_borda_gives_every_run_as_many_points():
    runs = make_runs(3)
    for q, docs, lists in queries_of(runs):
        points = aggregate([{q: entry} for entry in lists if entry], "borda")[q]
        n = len([entry for entry in lists if entry])
        assert sum(points.values()) == pytest.approx(
            n * len(docs) * (len(docs) + 1) / 2
        )


@pytest.mark.parametrize("missing", ["last", "average", "skip"])
def test_median_rank(runs, missing):
    expected = {}
    for q, docs, lists in queries_of(runs):
        expected[q] = {}
        for d in docs:
            ranks = []
            for entry in filter(None, lists):
                n = len(entry)
                other = {"last": n + 1, "average": (n + 1 + len(docs)) / 2}.get(missing)
                ranks.append(ranks_of(entry).get(d, other))
            ranks = [rank for rank in ranks if rank is not None]
            expected[q][d] = -statistics.median(ranks)
    close(aggregate(runs, "median", missing=missing), expected)


@pytest.mark.parametrize("n_runs", [3, 7, 10, 11, 30])
def test_sums_do_not_depend_on_the_order_of_runs(n_runs):
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(n_runs, 300)) * 10.0 ** rng.integers(
        -8, 8, size=(n_runs, 300)
    )
    parts[rng.random(parts.shape) < 0.3] = np.nan
    first = sum_of_runs(parts)
    known = np.sort(np.where(np.isnan(parts), 0.0, parts), axis=0)
    assert (first == np.add.reduce(known, axis=0)).all()
    for _ in range(5):
        assert (sum_of_runs(rng.permutation(parts)) == first).all()
    np.testing.assert_allclose(first, np.nansum(parts, axis=0), rtol=1e-12, atol=1e-9)


def test_median_of_runs():
    parts = np.random.default_rng(0).normal(size=(5, 50))
    parts[np.random.default_rng(1).random(parts.shape) < 0.4] = np.nan
    parts[0] = np.where(np.isnan(parts).all(axis=0), 0.0, parts[0])
    np.testing.assert_allclose(median_of_runs(parts), np.nanmedian(parts, axis=0))
    assert np.isnan(median_of_runs(np.full((2, 1), np.nan)))


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        ("min-max", {"a": 0.0, "b": 0.0}),
        ("min-max-inverted", {"a": 0.0, "b": 0.0}),
        ("sum", {"a": 0.0, "b": 0.0}),
        ("zmuv", {"a": 0.0, "b": 0.0}),
        ("max", {"a": 1.0, "b": 1.0}),
        ("rank", {"a": 1 - 1 / 2, "b": 1.0}),
        ("borda", {"a": 1 - 1 / 2, "b": 1.0}),
    ],
)
def test_normalizations_of_equal_scores(normalization, expected):
    runs = [{"q": {"a": 5.0, "b": 5.0}}]
    fused = aggregate(runs, "combsum", normalization=normalization)
    assert fused == {"q": expected}


@pytest.mark.parametrize(
    "normalization", ["min-max", "min-max-inverted", "sum", "zmuv"]
)
def test_equal_scores_whose_mean_is_rounded_have_no_spread(normalization):
    lengths = range(2, 30)
    assert {np.full(n, 0.1).mean() for n in lengths} != {0.1}
    runs = [{n: dict.fromkeys(range(n), 0.1) for n in lengths}]
    fused = aggregate(runs, "combsum", normalization=normalization)
    assert {score for scores in fused.values() for score in scores.values()} == {0.0}


@pytest.mark.parametrize("name", ["min_max", "min_max_inverted"])
def test_normalizations_have_the_spelling_of_ranx_too(runs, name):
    expected = aggregate(runs, "combsum", normalization=name.replace("_", "-"))
    assert aggregate(runs, "combsum", normalization=name) == expected
    with pytest.raises(TypeError, match="did you mean 'normalization'"):
        aggregate(runs, "combsum", norm=name)


@pytest.mark.parametrize("name", ["min-max", "max", "sum", "zmuv", "rank", "borda"])
def test_the_order_of_documents_makes_no_difference(name):
    """Not even in the last digit."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        scores = rng.integers(1, 40, size=(3, 8)) / 7
        runs = [{"q": dict(zip("abcdefgh", row.tolist()))} for row in scores]
        moved = [
            {"q": {d: run["q"][d] for d in rng.permutation([*"abcdefgh"]).tolist()}}
            for run in runs
        ]
        fused = aggregate(runs, "combsum", normalization=name)["q"]
        again = aggregate(moved, "combsum", normalization=name)["q"]
        assert list(again.items()) == list(fused.items())


def test_the_order_of_training_queries_makes_no_difference():
    rng = np.random.default_rng(0)
    queries, documents = [*"pqrstuvwxyz"], [*"abcdefgh"]
    for _ in range(20):
        run = {q: dict(zip(documents, rng.random(8).tolist())) for q in queries}
        grades = {q: dict(zip(documents, [0, 1, 1, 0, 0, 2, 0, 0])) for q in queries}
        moved = {q: run[q] for q in rng.permutation(queries).tolist()}
        weights = MAPFuse().fit([run], grades).weights_
        again = MAPFuse().fit([moved], grades).weights_
        np.testing.assert_array_equal(again, weights)
