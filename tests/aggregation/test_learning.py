"""Methods that learn from judged queries, against loops over lists."""

import warnings
from itertools import pairwise
from math import ceil, log

import numpy as np
import pytest
from _runs import close, make_qrels, make_runs, queries_of, ranks_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from skrank.aggregation import (
    Borda,
    CombSUM,
    LearnedFusion,
    LocalKemeny,
    WeightedFusion,
    get_aggregator,
    join_runs,
)
from skrank.aggregation._judgements import judgements_of, measured_runs
from skrank.datasets import Qrels
from skrank.exceptions import TrainingDataWarning
from skrank.metrics import AP, get_measure

BOUNDS = [0, 5, 10, 15, 20, 30, 100, 200, 500, 1000]
SEGMENTS = [0] + [10 * 2**k - 5 for k in range(10)]


def hit_lists(run, qrels):
    """Whether each document of each judged query is relevant, the best first."""
    lists = []
    for q, grades in qrels.items():
        ranks = ranks_of(run.get(q, {}))
        lists.append([grades.get(d, 0) >= 1 for d in sorted(ranks, key=ranks.get)])
    return lists


def shares(lists, bounds):
    return [
        sum(sum(hits[a:b]) / (b - a) for hits in lists) / len(lists)
        for a, b in pairwise(bounds)
    ]


def position_probabilities(lists):
    longest = max(map(len, lists))
    return [
        sum(hits[p] for hits in lists if len(hits) > p)
        / sum(len(hits) > p for hits in lists)
        for p in range(longest)
    ]


def posfuse(lists, rank, n, score):
    known = position_probabilities(lists)
    return known[rank - 1] if rank <= len(known) else 0.0


def slidefuse(lists, rank, n, score):
    first, last = max(rank - 1 - 2, 0), min(rank - 1 + 2, n - 1)
    return sum(position_probabilities(lists)[first : last + 1]) / (last - first + 1)


def probfuse(lists, rank, n, score):
    segment = (rank - 1) // ceil(n / 3)
    total = 0.0
    for hits in lists:
        length = ceil(len(hits) / 3)
        part = hits[segment * length : (segment + 1) * length]
        total += sum(part) / len(part) if part else 0.0
    return total / len(lists) / (segment + 1)


def segfuse(lists, rank, n, score):
    segment = max(k for k, a in enumerate(SEGMENTS) if rank - 1 >= a)
    return shares(lists, SEGMENTS)[segment] * (score + 1)


def bayesfuse(lists, rank, n, score):
    if rank is None:
        return log(0.001 / 0.999)
    segment = max(k for k, a in enumerate(BOUNDS) if rank - 1 >= a)
    p = shares(lists, BOUNDS)[segment] or 0.001
    return log(p / ((1 - p) or 0.001))


METHODS = [posfuse, slidefuse, probfuse, segfuse, bayesfuse]
PARAMS = {"slidefuse": {"window": 2}, "probfuse": {"n_segments": 3}}


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_positions(runs, method):
    qrels = make_qrels(runs)
    del qrels["q0"]  # a query of the runs that nobody judged
    aggregator = get_aggregator(method.__name__, **PARAMS.get(method.__name__, {}))
    found = aggregator.fit(runs, qrels).aggregate(runs)
    known = [hit_lists(run, qrels) for run in runs]
    expected = {}
    for q, docs, entries in queries_of(runs):
        expected[q] = dict.fromkeys(docs, 0.0)
        for lists, entry in zip(known, entries):
            ranks, values = ranks_of(entry), list(entry.values())
            for d in docs:
                if d in entry:
                    low, high = min(values), max(values)
                    score = (entry[d] - low) / ((high - low) or 1)
                    part = method(lists, ranks[d], len(entry), score)
                    expected[q][d] += part
                elif method is bayesfuse:
                    expected[q][d] += method(lists, None, 0, 0)
    close(found, expected)


@pytest.mark.parametrize("method", [*METHODS, "mapfuse", "weighted"])
def test_the_order_of_training_queries_does_not_matter(method):
    rng = np.random.default_rng(0)
    names = [f"q{i}" for i in range(40)]
    run = {}
    for q in names:  # lists of many lengths, of which every query has one
        run[q] = dict.fromkeys(range(int(rng.integers(1, 90))), 1.0)
        run[q] = {d: float(rng.normal()) for d in run[q]}
    qrels = {q: {d: int(rng.integers(0, 2)) for d in run[q]} for q in names}
    name = method if isinstance(method, str) else method.__name__
    expected = get_aggregator(name).fit([run], qrels).aggregate([run])
    for _ in range(5):
        moved = rng.permutation(names).tolist()
        one, known = {q: run[q] for q in moved}, {q: qrels[q] for q in moved}
        assert get_aggregator(name).fit([one], known).aggregate([run]) == expected


@pytest.mark.parametrize(
    ("method", "expected"),
    [("posfuse", [1, 1, 0, 0]), ("slidefuse", [1, 2 / 3, 1 / 3, 0])],
)
def test_ranks_behind_all_training_lists_are_not_relevant(method, expected):
    params = {"window": 1} if method == "slidefuse" else {}
    fusion = get_aggregator(method, **params)
    fusion.fit([{"q": {"a": 2.0, "b": 1.0}}], {"q": {"a": 1, "b": 1}})
    fused = fusion.aggregate([{"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}])
    assert [fused["q"][d] for d in "abcd"] == pytest.approx(expected)


def test_odds_of_certain_relevance_and_of_ranks_behind_the_last_bound():
    runs = [{"q": {i: -float(i) for i in range(1, 1003)}}]
    relevant = {i for i in runs[0]["q"] if i <= 5 or 500 < i <= 1000}
    fusion = get_aggregator("bayesfuse")
    fused = fusion.fit(runs, {"q": dict.fromkeys(relevant, 1)}).aggregate(runs)
    for i, score in fused["q"].items():
        assert score == pytest.approx(log(1000 if i in relevant else 0.001 / 0.999))


def test_segfuse_ends_behind_its_last_segment():
    end = 10 * 2**9 - 5
    runs = [{"q": {i: -float(i) for i in range(1, end + 2)}}]
    fusion = get_aggregator("segfuse").fit(runs, {"q": dict.fromkeys(runs[0]["q"], 1)})
    assert [len(learned) for learned in fusion.estimates_] == [10]
    fused = fusion.aggregate(runs)["q"]
    assert fused[end] == pytest.approx(1 + 1 / end)
    assert fused[end + 1] == 0


def average_precision(entry, grades):
    ranks = ranks_of(entry)
    hits = [grades.get(d, 0) >= 1 for d in sorted(ranks, key=ranks.get)]
    n_relevant = sum(grade >= 1 for grade in grades.values())
    found = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    return sum(found) / n_relevant


def test_mapfuse(runs):
    qrels = make_qrels(runs)
    means = [
        np.mean([average_precision(run.get(q, {}), qrels[q]) for q in qrels])
        for run in runs
    ]
    fusion = get_aggregator("mapfuse").fit(runs, qrels)
    np.testing.assert_allclose(fusion.weights_, means)
    joined = join_runs(runs)
    judgements = judgements_of(joined, qrels)
    np.testing.assert_allclose(measured_runs(joined, judgements, AP()), means)
    expected = {
        q: {
            d: sum(
                m / ranks_of(entry)[d] for m, entry in zip(means, lists) if d in entry
            )
            for d in docs
        }
        for q, docs, lists in queries_of(runs)
    }
    close(fusion.aggregate(runs), expected)


def as_qrels(qrels):
    rows = [(q, d, g) for q, grades in qrels.items() for d, g in grades.items()]
    docids = np.array([d for _, d, _ in rows], dtype=object)
    grades = np.array([g for *_, g in rows], dtype=float)
    return Qrels(np.array([q for q, *_ in rows]), docids, grades)


@pytest.mark.parametrize("method", ["mapfuse", "posfuse", "weighted"])
def test_judgements_of_every_kind_are_the_same(runs, method):
    qrels = make_qrels(runs, missing=False)
    joined = join_runs(runs)
    y = [qrels[q].get(d, 0) for q, d in zip(joined.groups, joined.docids)]
    of_dicts = get_aggregator(method).fit(runs, qrels)
    of_qrels = get_aggregator(method).fit(joined, as_qrels(qrels))
    of_array = get_aggregator(method).fit(joined.scores, y, joined.groups)
    close(of_qrels.aggregate(runs), of_dicts.aggregate(runs))
    scores = of_array.predict(joined.scores, joined.groups)
    assert np.isfinite(scores).all()


def value_of(fused, qrels, measure):
    joined = join_runs([fused])
    judgements = judgements_of(joined, qrels)
    return measured_runs(joined, judgements, get_measure(measure))[0]


@pytest.mark.parametrize("measure", ["ndcg@10", "map"])
@pytest.mark.parametrize("aggregator", [None, Borda(), CombSUM(normalization="sum")])
def test_weights_raise_the_measure(runs, aggregator, measure):
    qrels = make_qrels(runs)
    start = WeightedFusion(aggregator=aggregator, measure=measure, search="none")
    start.fit(runs, qrels)
    learned = WeightedFusion(aggregator=aggregator, measure=measure).fit(runs, qrels)
    joined = join_runs(runs)
    values = measured_runs(joined, judgements_of(joined, qrels), get_measure(measure))
    np.testing.assert_allclose(start.weights_, values / values.sum())
    assert learned.weights_.sum() == pytest.approx(1)
    assert learned.train_value_ >= start.train_value_
    fused = learned.aggregate(runs)
    assert value_of(fused, qrels, measure) == pytest.approx(learned.train_value_)


def test_runs_that_are_equally_bad_have_equal_weights():
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1.0, "b": 2.0}}]
    fusion = WeightedFusion(search="none")
    with pytest.warns(TrainingDataWarning, match="y has 1 relevant documents that no"):
        fusion.fit(runs, {"q": {"c": 1}})
    assert fusion.weights_.tolist() == [0.5, 0.5]
    assert fusion.train_value_ == 0


def test_weights_follow_a_power_of_the_measure():
    runs = make_runs()
    qrels = make_qrels(runs)
    joined = join_runs(runs)
    values = measured_runs(joined, judgements_of(joined, qrels), get_measure("map"))
    assert len(set(values)) == len(runs)
    for power in (0.0, 0.5, 2.0):
        fusion = WeightedFusion(measure="map", search="none", power=power)
        expected = values**power / (values**power).sum()
        np.testing.assert_allclose(fusion.fit(runs, qrels).weights_, expected)


def test_a_run_below_zero_starts_at_zero_and_may_come_back():
    # The first run has the better half on top, and the second one the better document
    # of each half. Together they sort, where the second one weighs 1/3 to 1 times as
    # much; alone, four of its six pairs are wrong.
    X = np.array([[0.9, 0.3], [1.0, 0.0], [0.0, 1.0], [0.1, 0.7]])
    y, groups = [3, 2, 1, 0], [0] * 4
    start = WeightedFusion(measure="tau", search="none").fit(X, y, groups)
    assert start.weights_.tolist() == [1.0, 0.0]
    assert start.train_value_ == pytest.approx(1 / 3)
    learned = WeightedFusion(measure="tau").fit(X, y, groups)
    assert learned.train_value_ == pytest.approx(1.0)
    assert 1 / 3 < learned.weights_[1] / learned.weights_[0] < 1
    assert learned.score(X, y, groups) == 1.0


def test_a_run_that_breaks_ties_badly_gets_no_weight():
    # Any weight of the second run puts the relevant document behind another one, with
    # which it ties in the first run, where it is the one with the larger id.
    runs = {"c": 1.0, "b": 1.0, "a": 0.0}, {"c": 0.0, "b": 1.0, "a": 0.5}
    judged = {"q": {"c": 1.0, "b": 0.0, "a": 0.0}}
    fusion = WeightedFusion(measure="map").fit([{"q": run} for run in runs], judged)
    assert fusion.weights_.tolist() == [1.0, 0.0]
    assert fusion.train_value_ == 1.0


@pytest.mark.parametrize("method", [WeightedFusion(), get_aggregator("mapfuse")])
def test_equal_scores_of_an_array_are_no_merit(method):
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(20), 6), rng.integers(0, 3, 120).astype(float)
    runs = np.column_stack([y + rng.normal(size=120), np.zeros(120)])
    orders = [np.lexsort((-y, groups)), np.lexsort((y, groups)), rng.permutation(120)]
    found = [
        clone(method).fit(runs[order], y[order], groups[order]).weights_
        for order in orders
    ]
    assert found[0][0] > found[0][1]
    for weights in found[1:]:
        np.testing.assert_allclose(weights, found[0], rtol=1e-12)


@pytest.mark.parametrize(
    "method", ["probfuse", "posfuse", "segfuse", "slidefuse", "bayesfuse"]
)
@pytest.mark.parametrize(
    ("judged", "n_missed"), [({"xd1": 1.0}, 1), ({"a": 0.0, "b": 0.0}, 0)]
)
def test_judgements_without_a_relevant_document_are_warned_of(method, judged, n_missed):
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    message = f"learns nothing, because .* y has {n_missed} relevant documents"
    with pytest.warns(TrainingDataWarning, match=message):
        get_aggregator(method).fit(runs, {"q": judged})


def test_methods_that_need_no_judgements_keep_the_order_of_the_rows(runs):
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(5), 6), rng.integers(0, 3, 30).astype(float)
    scores = rng.normal(size=(30, 3))
    model = get_aggregator("plackett_luce")
    alone = clone(model).fit(scores, groups=groups).worths_
    np.testing.assert_array_equal(clone(model).fit(scores, y, groups).worths_, alone)


def test_weights_are_searched_again_while_it_helps():
    values = []
    for seed in range(4):
        runs = make_runs(seed, n_runs=6)
        qrels = make_qrels(runs)
        values.append(
            [
                WeightedFusion(max_iter=n).fit(runs, qrels).train_value_
                for n in (1, 2, 10)
            ]
        )
    assert (np.diff(values) >= 0).all()
    assert (np.diff(values) > 1e-6).any(axis=0).all()


def test_the_aggregator_that_is_weighted_stays_as_it_was(runs):
    borda = Borda()
    fusion = WeightedFusion(aggregator=borda).fit(runs, make_qrels(runs))
    assert borda.weights is None
    assert fusion.aggregator_.weights == fusion.weights_.tolist()


def test_weights_lower_a_measure_that_is_to_be_small():
    """The better run, which has the smaller value, has the greater weight."""
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 3, size=60), np.repeat(range(6), 10)
    X = rng.normal(size=(60, 2)) + np.column_stack([y, -y])
    start = WeightedFusion(measure="mse", search="none").fit(X, y, groups)
    errors = measured_runs(
        join_runs(X, groups), judgements_of(join_runs(X, groups), y), get_measure("mse")
    )
    assert errors[0] < errors[1]
    assert start.weights_[0] > start.weights_[1]
    learned = WeightedFusion(measure="mse").fit(X, y, groups)
    assert learned.train_value_ < start.train_value_


def test_a_useless_run_gets_no_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=400).astype(float)
    groups = np.repeat(np.arange(20), 20)
    X = np.column_stack([y + rng.normal(size=400) * 0.3, rng.normal(size=400)])
    fusion = WeightedFusion(measure="map").fit(X, y, groups)
    assert fusion.weights_[0] > 0.8
    assert fusion.score(X, y, groups) > CombSUM().score(X, y, groups)


@pytest.mark.parametrize("features", [("score",), ("reciprocal_rank", "retrieved")])
def test_a_ranker_learns_from_the_scores(runs, features):
    qrels = make_qrels(runs)
    fusion = LearnedFusion(ranker=Ridge(), features=features, missing="minimum")
    fused = fusion.fit(runs, qrels).aggregate(runs)
    assert fusion.ranker_.n_features_in_ == len(runs) * len(features)
    joined = join_runs(runs)
    columns = fusion._features(joined)
    judgements = judgements_of(joined, qrels)
    expected = Ridge().fit(columns, judgements.grades).predict(columns)
    rows = zip(joined.groups, joined.docids, expected)
    for q, d, score in rows:
        assert fused[q][d] == pytest.approx(score)


def test_features_of_a_document_in_the_runs(runs):
    """Zero in the columns of the runs that have not retrieved it."""
    fusion = LearnedFusion(ranker=Ridge(), features=("retrieved", "reciprocal_rank"))
    joined = join_runs(runs)
    ranks = [{q: ranks_of(found) for q, found in run.items()} for run in runs]
    for row, q, d in zip(fusion._features(joined), joined.groups, joined.docids):
        own = [run.get(q, {}).get(d, np.inf) for run in ranks]
        assert row.tolist() == [*(np.isfinite(own) * 1.0), *(1.0 / np.array(own))]


def test_documents_that_no_run_retrieved_need_no_model():
    table, grades = np.array([[1.0, 2.0], [3.0, 0.5], [2.0, 2.0]]), [0, 2, 1]
    fusion = LearnedFusion(ranker=Ridge()).fit(table, grades, [1, 1, 1])
    found = fusion.predict(np.full((3, 2), np.nan), [1, 1, 1])
    np.testing.assert_array_equal(found, np.full(3, -np.inf))


def test_an_initial_order_may_be_learned(runs):
    qrels = make_qrels(runs)
    kemeny = LocalKemeny(initial=get_aggregator("mapfuse"))
    with pytest.raises(NotFittedError):
        kemeny.aggregate(runs)
    with pytest.raises(ValueError, match="learns from judged queries"):
        kemeny.fit(runs)
    assert kemeny.fit(runs, qrels).aggregate(runs).keys() == runs[0].keys()


RUNS = make_runs()
QRELS = make_qrels(RUNS)


@pytest.mark.parametrize(
    ("aggregator", "runs", "y", "message"),
    [
        ("posfuse", RUNS, None, "PosFuse.fit learns from judged queries: pass y"),
        ("posfuse", RUNS, [1.0], "y must be Qrels or a dictionary"),
        ("posfuse", [[1.0]], QRELS, "y must hold one grade per row"),
        ("posfuse", RUNS, {"other": {"a": 1}}, "no query of the runs is judged"),
        ("posfuse", RUNS, {"q0": 1}, "found 1 in place of {document: grade}"),
        ("posfuse", RUNS, {"q0": {"d": np.nan}}, "finite grades; query 'q0' does not"),
        ("mapfuse", RUNS, {"q0": {"d1": 0}}, "is defined for no judged query"),
        ("learned", RUNS, QRELS, "LearnedFusion: ranker must be a ranker, such as"),
        (
            WeightedFusion(aggregator=get_aggregator("combmax")),
            RUNS,
            QRELS,
            "aggregator must be an aggregator that has weights",
        ),
        (WeightedFusion(measure="x"), RUNS, QRELS, "measure must be a string such as"),
    ],
)
def test_bad_input_is_refused(aggregator, runs, y, message):
    groups = [0] if isinstance(runs[0], list) else None
    with pytest.raises((ValueError, TypeError), match=message):
        get_aggregator(aggregator).fit(runs, y, groups)


def test_other_runs_than_those_of_fit_are_refused():
    fusion = get_aggregator("mapfuse").fit(RUNS, QRELS)
    with pytest.raises(ValueError, match="was fitted to 4 runs, got 3"):
        fusion.aggregate(RUNS[:3])
    with pytest.raises(NotFittedError):
        get_aggregator("mapfuse").aggregate(RUNS)


@pytest.mark.parametrize("measure", ["map", "dcg"])  # below 1 and above
@pytest.mark.parametrize("power", [300.0, 1e5])
def test_powers_beyond_the_range_of_numbers_favour_the_best_run(measure, power):
    # The relevant documents are second and third in one run, and last in the other.
    worse = {"q": {f"d{k}": float(k) for k in range(20)}}
    better = {"q": {f"d{k}": float(20 - k) for k in range(20)}}
    qrels = {"q": {"d1": 3, "d2": 1}}
    fusion = WeightedFusion(measure=measure, search="none", power=power)
    fusion.fit([worse, better], qrels)
    np.testing.assert_allclose(fusion.weights_, [0.0, 1.0], atol=1e-9)


def test_shares_of_segments_do_not_depend_on_the_order_of_queries():
    """Not by a bit, although the thirds and sevenths of lists are rounded."""
    rng = np.random.default_rng(0)
    run = {
        f"q{q}": {f"d{j}": float(-j) for j in range(n)}
        for q, n in enumerate(rng.integers(3, 40, 60))
    }
    qrels = {
        q: {d: int(rng.random() < 0.5) for d in documents}
        for q, documents in run.items()
    }
    aggregator = get_aggregator("probfuse").set_params(n_segments=3)
    found = []
    for _ in range(5):
        queries = [f"q{q}" for q in rng.permutation(60)]
        aggregator.fit([{q: run[q] for q in queries}], {q: qrels[q] for q in queries})
        found.append(aggregator.estimates_[0])
    for estimates in found[1:]:
        np.testing.assert_array_equal(estimates, found[0])


def test_who_learns_nothing_is_not_warned_of_judgements():
    runs = [{"q": {"a": 1.0}}, {"q": {"b": 1.0}}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CombSUM().fit(runs, {"q": {"z": 1}})
