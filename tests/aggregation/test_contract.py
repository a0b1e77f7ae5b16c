"""What holds for every aggregator and every choice of its options."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from _labels import label
from _runs import close, make_qrels, make_runs
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score

from skrank.aggregation import (
    ISR,
    RRF,
    Borda,
    CombSUM,
    Kemeny,
    WeightedFusion,
    aggregate,
    get_aggregator,
    join_runs,
    known_aggregators,
)
from skrank.aggregation._joined import made_equal
from skrank.aggregation._registry import aggregator_names
from skrank.datasets import Run, dump_run, load_run
from skrank.discovery import all_objects
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold

AGGREGATORS = all_objects("aggregator")
CASES = [
    (name, variant)
    for name, cls in AGGREGATORS.items()
    for variant in ({}, *filter(None, cls._variants()))
]
EVERY = pytest.mark.parametrize(
    ("name", "variant"),
    CASES,
    ids=[label(f"{n}-{v}" if v else n) for n, v in CASES],
)
# Iterations add what the runs say in their order.
TOLERANT = {"MC1", "MC2", "MC3", "MC4", "PlackettLuce"}
# Of documents that are equally good, these take the order of the ids or of the rows.
OF_ORDERS = {"Condorcet", "Kemeny", "LocalKemeny", "Mallows"}


def make(name, variant):
    own = {"ranker": Ridge()} if name == "LearnedFusion" else {}
    return AGGREGATORS[name](**own, **variant)


def fitted(name, variant, runs, y=None, groups=None):
    aggregator = make(name, variant)
    if aggregator._needs_fit():
        aggregator.fit(runs, make_qrels(runs) if y is None else y, groups)
    return aggregator


def positive(runs):
    """Runs without negative scores, which one normalisation refuses."""
    return [
        {q: {d: abs(s) for d, s in entry.items()} for q, entry in run.items()}
        for run in runs
    ]


def as_runs(runs):
    made = []
    for i, run in enumerate(runs):
        rows = [(q, d, s) for q, entry in run.items() for d, s in entry.items()]
        docids = np.array([d for _, d, _ in rows], dtype=object)
        scores = np.array([s for *_, s in rows])
        made.append(Run(np.array([q for q, *_ in rows]), docids, scores, f"r{i}"))
    return made


@EVERY
def test_runs_of_every_kind_are_fused_alike(name, variant):
    runs = positive(make_runs())
    aggregator = fitted(name, variant, runs)
    of_dicts = aggregator.aggregate(runs)
    fused = aggregator.aggregate(as_runs(runs))
    assert isinstance(fused, Run)
    assert fused.tag == aggregator.short_name
    again = {}
    for q, d, s in zip(fused.groups.tolist(), fused.docids, fused.scores.tolist()):
        again.setdefault(q, {})[d] = s
    assert again == of_dicts
    assert {q: list(entry) for q, entry in again.items()} == {
        q: sorted(entry, key=lambda d: (entry[d], d), reverse=True)
        for q, entry in of_dicts.items()
    }
    joined = join_runs(runs)
    assert aggregator.aggregate(joined) == of_dicts
    scores = aggregator.predict(joined.scores, joined.groups)
    of_rows = {}
    for q, d, s in zip(joined.groups, joined.docids, scores.tolist()):
        of_rows.setdefault(q, {})[d] = s
    if name not in OF_ORDERS:
        close(of_rows, of_dicts, rel=1e-5)
    for q, docids in zip(joined.queries, np.split(joined.docids, joined.ptr[1:-1])):
        assert sorted(of_dicts[q]) == sorted(docids)


@EVERY
def test_the_order_of_runs_does_not_matter(name, variant):
    runs = positive(make_runs(3))
    aggregator = make(name, variant)
    if aggregator._needs_fit():
        pytest.skip("runs are told apart in fit")
    first, second = aggregator.aggregate(runs), aggregator.aggregate(runs[::-1])
    if name in TOLERANT:
        close(first, second, rel=1e-3, abs=1e-4)
    else:
        assert first == second


@pytest.mark.parametrize(
    "name",
    [n for n, c in AGGREGATORS.items() if hasattr(c, "weights") and n not in TOLERANT],
)
def test_the_order_of_runs_with_fractions_as_weights_does_not_matter(name):
    """Sums such as 0.1 + 0.2 + 0.3 depend on their order, and so could majorities."""
    weights = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.1])
    rng = np.random.default_rng(0)
    for seed in range(15):
        runs = make_runs(seed, n_runs=6, n_queries=3)
        fused = make(name, {"weights": weights.tolist()}).aggregate(runs)
        order = rng.permutation(6)
        moved = make(name, {"weights": weights[order].tolist()})
        assert moved.aggregate([runs[i] for i in order]) == fused


@EVERY
def test_the_order_of_rows_and_queries_does_not_matter(name, variant):
    joined = join_runs(positive(make_runs(3)))
    y = np.random.default_rng(0).integers(0, 3, joined.n_documents)
    aggregator = fitted(name, variant, joined.scores, y, joined.groups)
    expected = aggregator.predict(joined.scores, joined.groups)
    rng = np.random.default_rng(1)
    place = rng.permutation(joined.n_queries)
    queries = np.argsort(np.repeat(place, joined.sizes), kind="stable")
    moved = aggregator.predict(joined.scores[queries], joined.groups[queries])
    np.testing.assert_array_equal(moved, expected[queries])
    if name not in OF_ORDERS:
        rows = rng.permutation(joined.n_documents)
        moved = aggregator.predict(joined.scores[rows], joined.groups[rows])
        np.testing.assert_allclose(moved, expected[rows], rtol=1e-3, atol=1e-4)


@EVERY
def test_queries_are_fused_one_by_one(name, variant):
    runs = positive(make_runs(4))
    aggregator = fitted(name, variant, runs)
    together = aggregator.aggregate(runs)
    for q in runs[0]:
        alone = aggregator.aggregate([{q: run[q]} if q in run else {} for run in runs])
        assert alone == {q: together[q]}


@EVERY
def test_small_cases(name, variant):
    one_run = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "p": {"a": 1.0}, "empty": {}}]
    qrels = {"q": {"a": 1, "b": 1}, "p": {"a": 1}}
    aggregator = fitted(name, variant, one_run, qrels)
    fused = aggregator.aggregate(one_run)
    assert [sorted(entry) for entry in fused.values()] == [["a", "b", "c"], ["a"], []]
    if variant.get("normalization") != "min-max-inverted" and name != "LearnedFusion":
        assert fused["q"]["a"] >= fused["q"]["b"] >= fused["q"]["c"]
    two = [*one_run, {"r": {"z": 1.0}}]
    aggregator = fitted(name, variant, two, qrels)
    assert list(aggregator.aggregate(two)["r"]) == ["z"]
    scores = np.array([[1.0], [np.nan]])
    aggregator = fitted(name, variant, scores, [1, 0], [0, 0])
    found = aggregator.predict(scores, [0, 0])
    assert np.isfinite(found[0])
    assert found[1] == -np.inf


@EVERY
def test_copies_and_states(name, variant):
    runs = positive(make_runs(5))
    aggregator = make(name, variant)
    qrels = make_qrels(runs)
    assert aggregator.fit(runs, qrels) is aggregator
    fused = aggregator.aggregate(runs)
    assert pickle.loads(pickle.dumps(aggregator)).aggregate(runs) == fused
    again = clone(aggregator)
    assert not hasattr(again, "n_runs_")
    assert again.fit(runs, qrels).aggregate(runs) == fused
    assert aggregator.n_runs_ == 4
    assert repr(aggregator).startswith(name)
    threads = clone(aggregator).set_params(n_jobs=1)
    assert threads.fit(runs, qrels).aggregate(runs) == fused


@EVERY
def test_the_result_may_be_cut(name, variant):
    runs = positive(make_runs(6))
    aggregator = fitted(name, variant, runs)
    whole = aggregator.aggregate(runs)
    cut = aggregator.aggregate(runs, top_k=3)
    assert cut == {q: dict(list(entry.items())[:3]) for q, entry in whole.items()}
    joined = join_runs(runs)
    scores = aggregator.aggregate(joined.scores, joined.groups, top_k=2)
    kept = np.add.reduceat(scores > -np.inf, joined.ptr[:-1])
    assert (kept == np.minimum(joined.sizes, 2)).all()
    shallow = aggregator.aggregate(runs, depth=2)
    assert max(map(len, shallow.values())) <= 8


@EVERY
def test_wrong_parameters_are_refused(name, variant):
    aggregator = make(name, variant).set_params(n_jobs=0)
    with pytest.raises(ValueError, match=f"{name}: n_jobs must be"):
        aggregator.fit([{"q": {"a": 1.0}}], {"q": {"a": 1}})
    with pytest.raises(TypeError, match="has no parameter 'nonsense'"):
        AGGREGATORS[name](nonsense=1)


WEIGHTED = [n for n in AGGREGATORS if "weights" in make(n, {}).get_params(deep=False)]


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "weights must hold one number per run, 2 in all"),
        ([1.0, -1.0], r"weights must be numbers from 0 to 5.6e\+102 that are not all"),
        ([1e308, 1.0], r"weights must be numbers from 0 to 5.6e\+102 that are not all"),
        ([1.0, np.nan], "weights must be numbers from 0 to"),
        ([0.0, 0.0], "not all zero"),
        ([1.0, np.inf], "not all zero"),
        ("ab", "weights must be"),
    ],
)
def test_wrong_weights_are_refused(name, weights, message):
    runs = [{"q": {"a": 1.0}}] * 2
    with pytest.raises(ValueError, match=message):
        make(name, {"weights": weights}).aggregate(runs)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_are_repetitions(name):
    runs = make_runs(7, n_runs=3)
    weighted = make(name, {"weights": [1, 2, 3]}).aggregate(runs)
    repeated = [runs[0], runs[1], runs[1], runs[2], runs[2], runs[2]]
    expected = make(name, {}).aggregate(repeated)
    counting = {"CombMNZ", "CombGMNZ", "WMNZ", "MixedFusion"}
    counting |= {"ISR", "LogISR", "LogNISR"}
    if name not in counting:  # they count runs as well
        close(weighted, expected, rel=1e-3, abs=1e-4)


def test_a_grid_search_over_runs_as_features():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 8)
    y = rng.integers(0, 3, len(groups)).astype(float)
    X = np.column_stack([y + rng.normal(size=len(y)), 100 * rng.random(len(y))])
    X[rng.random(X.shape) < 0.1] = np.nan
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            CombSUM(),
            {"normalization": ["zmuv", None], "weights": [[1, 0], [0, 1]]},
            cv=QueryKFold(3),
            scoring=make_ranking_scorer("ndcg@5"),
        ).fit(X, y, groups=groups)
        assert search.best_params_["weights"] == [1, 0]
        values = cross_val_score(
            WeightedFusion(max_iter=1),
            X,
            y,
            cv=QueryKFold(3),
            params={"groups": groups},
        )
    assert np.isfinite(values).all()
    assert search.best_estimator_.predict(X, groups).shape == y.shape


def test_fused_runs_are_written_and_read(tmp_path):
    fused = aggregate(as_runs(make_runs()), "borda")
    dump_run(fused.groups, fused.docids, fused.scores, tmp_path / "run", tag="borda")
    again = load_run(tmp_path / "run")
    assert again.docids.tolist() == fused.docids.tolist()
    np.testing.assert_array_equal(again.scores, fused.scores)


def test_the_function_does_what_the_method_does():
    runs = make_runs()
    found = aggregate(runs, "isr", depth=3, top_k=4)
    assert found == ISR().aggregate(runs, depth=3, top_k=4)
    for limits in ({}, {"depth": 3}, {"top_k": 4}):
        assert found != ISR().aggregate(runs, **limits)
    assert aggregate(runs) == RRF().aggregate(runs) != ISR().aggregate(runs)
    scores, groups = np.random.default_rng(0).random((6, 2)), [0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(
        aggregate(scores, "rrf", groups), RRF().aggregate(scores, groups)
    )


def test_names():
    names = aggregator_names()
    assert sorted(cls.short_name for cls in AGGREGATORS.values()) == known_aggregators()
    # All methods of ranx, by its names.
    theirs = (
        "bayesfuse bordafuse anz gmnz max med min mnz sum condorcet isr log_isr "
        "logn_isr mapfuse mixed posfuse probfuse rbc rrf segfuse slidefuse "
        "w_bordafuse w_condorcet wmnz wsum"
    )
    for name in theirs.split():
        assert name in names.aggregators or name in names.aliases
    assert isinstance(get_aggregator("Log-ISR"), AGGREGATORS["LogISR"])
    assert get_aggregator("rrf", k=3).k == 3
    aggregator = RRF()
    assert get_aggregator(aggregator) is aggregator
    assert isinstance(get_aggregator("wsum"), CombSUM)
    assert isinstance(get_aggregator("W-BordaFuse"), Borda)
    for wrong in ("best", ["rrf"], {"rrf"}, RRF, None):
        message = "method must be an aggregator or the name of"
        with pytest.raises(ValueError, match=message):
            get_aggregator(wrong)
    with pytest.raises(ValueError, match="k applies to names of methods only"):
        get_aggregator(aggregator, k=3)
    with pytest.raises(TypeError, match="RRF has no parameter 'normalization'"):
        aggregate([{"q": {"a": 1.0}}], "rrf", normalization="max")
    with pytest.raises(ValueError, match="top_k must be a whole number >= 1"):
        aggregate([{"q": {"a": 1.0}}], top_k=0)


def test_scores_that_overflow_are_refused():
    runs = [{"q": {"a": 1e308}}, {"q": {"a": 1e308}}]
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="the fused scores are not finite"),
    ):
        aggregate(runs, "combsum", normalization=None)


def test_large_components_stay_apart():
    runs = make_runs(8, n_runs=3, n_queries=2, pool=40, complete=True)
    kemeny = Kemeny(dynamic_size=8).fit(runs)
    assert (kemeny.lower_bound_ <= kemeny.distance_).all()


@pytest.mark.parametrize("name", ["mc1", "mc2", "mc3", "mc4", "plackett_luce"])
def test_rounding_decides_no_order(name):
    """Twins of mirrored runs tie, and the order of runs and lines changes no order."""
    rng = np.random.default_rng(0)
    twins = {"a": "b", "b": "a"}
    for _ in range(40):
        docs = ["a", "b", *"cdefgh"]
        runs = []
        for _ in range(rng.integers(1, 4)):
            listed = ["a", *rng.permutation(docs[1:])[: rng.integers(2, 8)].tolist()]
            scores = rng.permutation(len(listed)).tolist()
            run = dict(zip(listed, scores))
            runs += [run, {twins.get(d, d): score for d, score in run.items()}]
        fused = aggregate([{"q": run} for run in runs], name)["q"]
        assert fused["a"] == fused["b"]
        moved = [
            {"q": {d: runs[i][d] for d in rng.permutation(list(runs[i])).tolist()}}
            for i in rng.permutation(len(runs))
        ]
        again = aggregate(moved, name)["q"]
        assert list(again) == list(fused)
        close({"q": again}, {"q": fused}, abs=1e-9)


def test_only_differences_of_rounding_are_made_equal():
    values = np.array([1.0, 1.0 + 1e-15, 1.0 - 1e-8, 0.0, 2e-12, 2e-12 - 2e-27, 1.0])
    found = made_equal(values, np.array([0, 4, 4, 7]))
    expected = values[[1, 1, 2, 3, 4, 4, 6]]
    np.testing.assert_array_equal(found, expected)


@EVERY
def test_masked_scores_are_not_retrieved(name, variant):
    rng = np.random.default_rng(0)
    scores, groups = rng.random((12, 3)), np.repeat([0, 1], 6)
    hidden = rng.random(scores.shape) < 0.3
    y = rng.integers(0, 3, 12)
    missing = np.where(hidden, np.nan, scores)
    aggregator = fitted(name, variant, missing, y, groups)
    masked = np.ma.masked_array(scores, hidden)
    found = aggregator.predict(masked, groups)
    assert (found == aggregator.predict(missing, groups)).all()
    if aggregator._needs_fit():
        with pytest.raises(ValueError, match="drop the rows that nobody judged"):
            fitted(name, variant, missing, np.ma.masked_array(y, y == 2), groups)
    y = np.ma.masked_array(y, y == 2)
    expected = ndcg_score(y, found, groups=groups, k=10)
    assert aggregator.score(masked, y, groups) == expected


@EVERY
def test_rows_that_no_run_retrieved_change_nothing(name, variant):
    rng = np.random.default_rng(1)
    rows = np.full((12, 3), np.nan)
    rows[[0, 1, 2, 4, 6, 7, 8, 11]] = rng.permutation(24).reshape(8, 3)
    rows[[1, 6], [0, 2]] = np.nan
    groups = np.repeat([1, 2], 6)
    aggregator = make(name, variant)
    if aggregator._needs_fit():
        pytest.skip("judgements tell of such rows, too")
    found = ~np.isnan(rows).all(axis=1)
    fused = aggregator.predict(rows, groups)
    assert (fused[~found] == -np.inf).all()
    assert_allclose(fused[found], aggregator.predict(rows[found], groups[found]))
    aggregator.fit(rows, None, groups)
    of_rows = vars(clone(aggregator).fit(rows[found], None, groups[found]))
    for key, value in vars(aggregator).items():
        if key.endswith("_") and np.ndim(value) == 1 and len(value) == 2:
            assert_allclose(value, of_rows[key])


@pytest.mark.parametrize("bad", [[1, 0], ["a"] * 6, [np.nan] * 6, [-1] * 6, [1j] * 6])
def test_grades_to_score_by_are_named(bad):
    X, groups = np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"^y( must|:| has)"):
        RRF().score(X, bad, groups)
    y = np.array([1.0, 0, 2, 0, 1, 0])
    expected = ndcg_score(y, RRF().predict(X, groups), groups=groups, k=10)
    assert RRF().score(X, y, groups) == expected
    hidden = np.ma.masked_array(y, [1, 0, 0, 0, 0, 0])
    assert RRF().score(X, hidden, groups) != expected
    index = pd.MultiIndex.from_arrays([groups, range(6)], names=["qid", "docid"])
    assert RRF().score(X, pd.Series(y, index)) == expected
