"""Samples by the prior of average precision, and what is estimated from them.

Pools are small enough to list all samples with their probabilities.
"""

from collections import Counter
from itertools import combinations, product
from math import comb, factorial, prod

import numpy as np
import pytest

from skrank._core._queries import QueryIndex
from skrank.aggregation import join_runs
from skrank.datasets import Qrels, load_qrels, load_run
from skrank.metrics import average_precision, evaluate, trec_measures
from skrank.selection import (
    DepthPooling,
    InfAPSampling,
    StatAPSampling,
    TrainingSelection,
    stat_ap,
)
from skrank.selection._stat_ap import estimated_sums, prior_of_average_precision
from skrank.selection._training_base import ranks_of_systems

# Scores of two systems for the documents of one query, the last one of which only the
# second system retrieved, and grades.
SCORES = np.array(
    [[7.0, 3], [6, 7], [5, 2], [4, 6], [3, 1], [2, 5], [1, 4], [np.nan, 0]]
)
Y = np.array([1.0, 0, 1, 1, 0, 0, 1, 0])
ONE = np.zeros(8, dtype=int)


def prior(scores):
    """The prior of documents of one query, by the plain formula."""
    total = np.zeros(len(scores))
    for own in np.asarray(scores, dtype=float).T:
        found = [i for i in np.argsort(-own, kind="stable") if np.isfinite(own[i])]
        for rank, i in enumerate(found, start=1):
            tail = sum(1 / k for k in range(rank, len(found) + 1))
            total[i] += (1 + tail) / (2 * len(found)) / scores.shape[1]
    return total


def strata(weights, n):
    """Documents of each stratum, by falling weight."""
    order = np.argsort(-weights, kind="stable").tolist()
    count = max(1, len(order) // n)
    ends = [*range(n, count * n, n), len(order)]
    return [order[a:b] for a, b in zip([0, *ends], ends)]


def all_samples(weights, n):
    """Every sample of n documents, with its probability."""
    parts = strata(weights, n)
    share = [sum(weights[part]) / sum(weights) for part in parts]
    samples = Counter()
    for times in product(range(n + 1), repeat=len(parts)):
        if sum(times) != n:
            continue
        chance = factorial(n) / prod(map(factorial, times))
        chance *= prod(d**k for d, k in zip(share, times))
        ways = prod(comb(len(part), k) for part, k in zip(parts, times))
        choices = [combinations(part, k) for part, k in zip(parts, times)]
        for each in product(*choices):
            samples[tuple(sorted(sum(each, ())))] += chance / ways
    return samples


def selection_of(rows, weights, n):
    """What `select` returns for a sample, by the definitions."""
    parts = strata(weights, n)
    of = {i: number for number, part in enumerate(parts) for i in part}
    stratum = np.array([of[i] for i in rows])
    size = np.array([len(parts[b]) for b in stratum])
    share = np.array([sum(weights[parts[b]]) for b in stratum]) / sum(weights)
    zeros = np.zeros(len(rows), dtype=np.intp)
    return TrainingSelection(
        np.array(rows), n * share / size, np.arange(8), zeros, stratum, size
    )


def test_the_prior_is_the_share_of_sum_precision():
    found = prior_of_average_precision(
        ranks_of_systems(SCORES, np.array([0, 8])), QueryIndex.from_groups(ONE)
    )
    np.testing.assert_allclose(found, prior(SCORES), rtol=1e-14)
    assert found.sum() == pytest.approx(1.0)
    # Sum precision adds 1 / i for relevant documents at ranks j <= i, half of it for
    # the one and half for the other.
    terms = np.tril(np.repeat(1 / np.arange(1.0, 8), 7).reshape(7, 7))
    expected = (terms.sum(axis=0) + terms.sum(axis=1)) / (2 * terms.sum())
    np.testing.assert_allclose(prior(SCORES[:7, :1]), expected, rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_probabilities_are_those_of_all_samples(n):
    samples = all_samples(prior(SCORES), n)
    assert sum(samples.values()) == pytest.approx(1.0)
    single, double = np.zeros(8), np.zeros((8, 8))
    for rows, chance in samples.items():
        single[list(rows)] += chance
        double[np.ix_(rows, rows)] += chance
    for seed in range(40):
        chosen = StatAPSampling(n / 8, random_state=seed).select(SCORES, ONE)
        assert tuple(chosen.rows) in samples
        np.testing.assert_allclose(chosen.probability, single[chosen.rows], rtol=1e-12)
        u, v = np.divmod(np.arange(n * n), n)
        both = chosen.joint_probability(u, v)
        expected = double[np.ix_(chosen.rows, chosen.rows)].ravel()
        np.testing.assert_allclose(both, expected, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3])
def test_samples_are_as_frequent_as_they_are_probable(n):
    samples = all_samples(prior(SCORES), n)
    rng = np.random.RandomState(0)
    # Many queries at once are as many draws.
    copies = 4000
    groups = np.repeat(np.arange(copies), 8)
    chosen = StatAPSampling(n / 8, random_state=rng).select(
        np.tile(SCORES, (copies, 1)), groups
    )
    rows = chosen.rows.reshape(copies, n) % 8
    counts = Counter(map(tuple, rows.tolist()))
    for sample, chance in samples.items():
        spread = np.sqrt(copies * chance * (1 - chance))
        assert abs(counts[sample] - copies * chance) < 5 * spread + 1, sample
    assert set(counts) <= set(samples)


def sum_precision(ranks, y):
    """Sum of the precisions at the ranks of relevant documents."""
    found = sorted(rank for rank, grade in zip(ranks, y) if grade and rank < np.inf)
    return sum(hits / rank for hits, rank in enumerate(found, start=1))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_estimates_have_no_bias(n):
    ranks = ranks_of_systems(SCORES, np.array([0, 8]))
    weights = prior(SCORES)
    number, precision = 0.0, np.zeros(2)
    for rows, chance in all_samples(weights, n).items():
        selection = selection_of(rows, weights, n)
        kept = list(rows)
        own = estimated_sums(selection, Y[kept] > 0, ranks[kept], 1)
        number += chance * own[0][0]
        precision += chance * own[1][0]
    assert number == pytest.approx(Y.sum())
    expected = [sum_precision(own, Y) for own in ranks.T]
    np.testing.assert_allclose(precision, expected, rtol=1e-12)


def test_estimates_of_uniform_samples_have_no_bias():
    ranks = ranks_of_systems(SCORES, np.array([0, 8]))
    totals = np.zeros(3)
    for rows in combinations(range(8), 3):
        zeros, three = np.zeros(3, dtype=np.intp), np.full(3, 8)
        selection = TrainingSelection(
            np.array(rows), np.full(3, 3 / 8), np.arange(8), zeros, zeros, three
        )
        kept = list(rows)
        number, precision = estimated_sums(selection, Y[kept] > 0, ranks[kept], 1)
        totals += np.append(number, precision) / comb(8, 3)
    expected = [Y.sum(), *(sum_precision(own, Y) for own in ranks.T)]
    np.testing.assert_allclose(totals, expected, rtol=1e-12)


def by_pairs(selection, y, ranks):
    """The estimate of one query, by sums over pairs."""
    relevant = [k for k, i in enumerate(selection.rows) if y[i] > 0]
    number = sum(1 / selection.probability[k] for k in relevant)
    total = 0.0
    for k in relevant:
        for other in relevant:
            if ranks[other] <= ranks[k] < np.inf:
                both = selection.joint_probability([k], [other])[0]
                total += 1 / (ranks[k] * both)
    return total / number if number else 0.0


@pytest.mark.parametrize("sampling", [StatAPSampling, InfAPSampling])
def test_estimates_are_sums_over_pairs(sampling):
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 5, 150)
    scores = rng.normal(size=(150, 3))
    scores[rng.random((150, 3)) < 0.2] = -np.inf
    y = rng.integers(0, 3, 150).astype(float)
    chosen = sampling(0.3, random_state=0).select(scores, groups)
    found = stat_ap(chosen, y, scores, groups)
    assert found.shape == (5, 3)
    single = stat_ap(chosen, y, scores[:, 1], groups)
    np.testing.assert_array_equal(single, found[:, 1])
    strict = stat_ap(chosen, y, scores, groups, relevance_level=2)
    index = QueryIndex.from_groups(groups, canonical=True)
    ranks = index.restore(ranks_of_systems(index.take(scores), index.ptr))
    for q in range(5):
        mine = np.flatnonzero(chosen.query == q)
        part = TrainingSelection(
            chosen.rows[mine],
            chosen.probability[mine],
            chosen.pool,
            chosen.query[mine],
            chosen.stratum[mine],
            chosen.stratum_size[mine],
        )
        for s in range(3):
            own = ranks[part.rows, s]
            expected = by_pairs(part, y, own)
            assert found[q, s] == pytest.approx(expected, rel=1e-12)
            expected = by_pairs(part, np.where(y >= 2, y, 0), own)
            assert strict[q, s] == pytest.approx(expected, rel=1e-12)


def test_strata_of_two_queries_are_none_together():
    """What lies above in a stratum of the same number of another query is no pair."""
    # The last stratum of each query has the number of the first one of the next.
    strata = [[0, 1, 1], [1, 1, 2], [2, 2, 0]]
    ranks = np.array([[2.0, 3, 5], [1, 4, 6], [2, 6, 7]])
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.2, 0.9, 9)
    sizes = np.array([4, 3, 3, 5, 2, 2, 6, 6, 3])
    selection = TrainingSelection(
        np.arange(9),
        probability,
        np.arange(9),
        np.repeat(range(3), 3),
        np.ravel(strata),
        sizes,
    )
    number, precision = estimated_sums(
        selection, np.ones(9, dtype=bool), ranks.reshape(9, 1), 3
    )
    np.testing.assert_allclose(number, (1 / probability).reshape(3, 3).sum(axis=1))
    for q in range(3):
        own = range(3 * q, 3 * q + 3)
        expected = sum(
            1 / (ranks.ravel()[k] * selection.joint_probability([k], [i])[0])
            for k in own
            for i in own
            if i <= k
        )
        assert precision[q, 0] == pytest.approx(expected, rel=1e-12)


def test_all_documents_give_average_precision():
    rng = np.random.default_rng(1)
    groups, scores = rng.integers(0, 9, 200), rng.normal(size=200)
    y = rng.integers(0, 2, 200)
    expected = average_precision(y, scores, groups=groups, per_query=True)
    for selector in (StatAPSampling(1.0), InfAPSampling(1.0), DepthPooling(500)):
        chosen = selector.select(scores, groups)
        assert (chosen.probability == 1).all()
        np.testing.assert_allclose(stat_ap(chosen, y, scores, groups), expected)


def test_large_shares_are_uniform():
    chosen = StatAPSampling(0.6, random_state=0).select(SCORES, ONE)
    np.testing.assert_array_equal(chosen.probability, [5 / 8] * 5)


def test_the_order_of_queries_does_not_matter():
    rng = np.random.default_rng(2)
    groups, scores = rng.integers(0, 6, 90), rng.normal(size=(90, 2))
    order = np.argsort(-groups, kind="stable")
    sampling = StatAPSampling(0.3, random_state=0)
    one = sampling.select(scores, groups)
    moved = sampling.select(scores[order], groups[order])
    assert sorted(order[moved.rows]) == one.rows.tolist()
    assert sorted(moved.probability) == sorted(one.probability)


def test_documents_of_different_queries_are_independent():
    groups = np.repeat([0, 1], 4)
    chosen = StatAPSampling(0.5, random_state=0).select(np.arange(8.0), groups)
    pi = chosen.probability
    both = chosen.joint_probability([0, 1], [2, 3])
    np.testing.assert_allclose(both, pi[:2] * pi[2:])


def test_judgements_are_of_the_queries_that_were_selected_from():
    rng = np.random.default_rng(0)
    groups, scores = np.repeat(range(4), 10), rng.permutation(40) * 1.0
    y, docids = rng.integers(0, 2, 40), [f"d{i}" for i in range(40)]
    chosen = InfAPSampling(0.5, random_state=0).select(scores, groups)
    assert len(chosen.to_qrels(y, groups, docids).y) == 40
    with pytest.raises(ValueError, match="those of the selection are others"):
        chosen.to_qrels(y, np.repeat(range(8), 5), docids)
    with pytest.raises(ValueError, match="those of the selection are others"):
        chosen.to_qrels(y, np.repeat(range(2), 20), docids)
    # Where all selected rows are of the first of two queries, the pool tells.
    first = DepthPooling(2).select(np.zeros(8), ONE)
    pooled = TrainingSelection(
        first.rows,
        first.probability,
        np.arange(8),
        first.query,
        first.stratum,
        first.stratum_size,
    )
    with pytest.raises(ValueError, match="row 4 is of query 1, from which nothing"):
        pooled.to_qrels(Y, np.repeat(range(2), 4), range(8))


def test_documents_are_judged_once_per_query():
    groups = np.array([0, 1, 0, 1, 0])
    chosen = InfAPSampling(1.0, random_state=0).select(np.arange(5.0), groups)
    qrels = chosen.to_qrels([1] * 5, groups, ["a", "a", "b", "b", "c"])
    assert len(qrels.y) == 5
    with pytest.raises(
        ValueError, match=r"docids must .* row 3 has 'a' a second time for query 1"
    ):
        chosen.to_qrels([1] * 5, groups, ["a", "a", "b", "a", "c"])
    # Rows outside the pool are nobody's.
    part = InfAPSampling(1.0, random_state=0).select([1, 2, np.nan], [0] * 3)
    assert len(part.to_qrels([1, 0, 0], [0] * 3, ["a", "b", "b"]).y) == 2
    with pytest.raises(ValueError, match="docids must hold one document id per row"):
        chosen.to_qrels([1] * 5, groups, ["a", None, "b", "a", "c"])
    with pytest.raises(ValueError, match="with one document id per row"):
        chosen.to_qrels([1] * 5, groups, [["a", "b"]] * 5)


def infap_by_formula(run, grades, sampled):
    """infAP of a ranking, document by document, where the whole run is the pool."""
    seen, hits, values = 0, 0, []
    for above, docid in enumerate(run):
        if docid in sampled and grades.get(docid, 0) > 0:
            if above:
                share = (hits + 1e-5) / (seen + 2e-5)
                values.append(1 / (above + 1) + above / (above + 1) * share)
            else:
                values.append(1.0)
        if docid in sampled:
            seen += 1
            hits += grades.get(docid, 0) > 0
    return np.mean(values) if values else 0.0


def test_judgements_of_samples_give_the_estimates_of_trec_eval():
    rng = np.random.default_rng(0)
    docids = np.array([f"d{i}" for i in range(40)])
    groups = np.repeat(["a", "b"], 20)
    scores, y = rng.permutation(40) * 1.0, rng.integers(0, 2, 40) * 1.0
    chosen = InfAPSampling(0.5, random_state=1).select(scores, groups)
    qrels = chosen.to_qrels(y, groups, docids)
    assert isinstance(qrels, Qrels)
    assert (qrels.y == -1).sum() == 20
    run = {q: {docids[i]: scores[i] for i in np.flatnonzero(groups == q)} for q in "ab"}
    found = evaluate(qrels, run, "infAP").per_query["infAP"]
    grades, sampled = dict(zip(docids, y)), set(docids[chosen.rows])
    for q, value in zip("ab", found):
        ranking = sorted(run[q], key=lambda d: -run[q][d])
        assert value == pytest.approx(infap_by_formula(ranking, grades, sampled))


def test_expected_precision_of_infap_is_precision():
    """Over all samples that judge a document and any above it, infAP is precision."""
    y = {"d0": 1, "d1": 0, "d2": 1, "d3": 0, "d4": 1}
    run = {"q": {f"d{i}": 9.0 - i for i in range(5)}}
    values = []
    for others in combinations(range(4), 2):
        sampled = {f"d{i}" for i in others} | {"d4"}
        # Of the sample, d4 alone is relevant, or its value is the rest of the sum.
        qrels = {"q": {d: (y[d] if d in sampled else -1) for d in y}}
        total = trec_measures(qrels, run, "infAP").summary["infAP"]
        relevant = [d for d in sampled if y[d]]
        above = sampled - {"d4"}
        rest = infap_by_formula(list(run["q"]), y, above)
        n_above = len(relevant) - 1
        values.append(total * len(relevant) - rest * n_above)
    # Precision at the rank of d4 is 3/5.
    assert np.mean(values) == pytest.approx(3 / 5, abs=1e-4)


@pytest.fixture(scope="module")
def judged_run(data_dir):
    """A run of trec_eval's, its judgements, and both in one table of rows."""
    qrels = load_qrels(data_dir / "trec_eval" / "qrels.test")
    run = load_run(data_dir / "trec_eval" / "results.test")
    # Judged documents that the run lacks are in the pool, too.
    known = {
        query: {docid: 1.0 for docid, grade in grades.items() if grade >= 0}
        for query, grades in qrels.to_dict().items()
    }
    joined = join_runs([run.to_dict(), known])
    assert joined.docids is not None
    graded = qrels.to_dict()
    pairs = zip(joined.groups, joined.docids)
    y = np.array([max(graded.get(q, {}).get(d, 0), 0) for q, d in pairs])
    # Ranks, because trec_eval orders equal scores by ids.
    return qrels, run, joined, y, -joined.ranks[:, 0]


def test_estimates_from_all_documents_are_those_of_trec_eval(judged_run):
    qrels, run, joined, y, scores = judged_run
    expected = trec_measures(qrels, run, "map")
    chosen = StatAPSampling(1.0).select(joined.scores, joined.groups)
    found = stat_ap(chosen, y, scores, joined.groups)
    by_query = dict(zip(sorted(set(joined.groups)), found))
    np.testing.assert_allclose(
        [by_query[q] for q in expected.topics], expected.per_query["map"], rtol=1e-12
    )
    # Nothing is left to infer, but for trec_eval's small constant.
    full = InfAPSampling(1.0).select(joined.scores, joined.groups)
    judged = full.to_qrels(y, joined.groups, joined.docids)
    inferred = trec_measures(judged, run, "infAP").per_query["infAP"]
    np.testing.assert_allclose(inferred, expected.per_query["map"], atol=1e-4)


def test_means_of_estimates_are_those_of_trec_eval(judged_run):
    _, _, joined, y, scores = judged_run
    index = QueryIndex.from_groups(joined.groups, canonical=True)
    ranks = index.restore(ranks_of_systems(index.take(scores)[:, None], index.ptr))
    codes = index.restore(index.codes)
    exact = [
        (y[mine].sum(), sum_precision(ranks[mine, 0], y[mine]))
        for mine in (codes == q for q in range(index.n_queries))
    ]
    estimates = []
    for seed in range(200):
        chosen = StatAPSampling(0.2, random_state=seed).select(
            joined.scores, joined.groups
        )
        number, precision = estimated_sums(
            chosen, y[chosen.rows] > 0, ranks[chosen.rows], index.n_queries
        )
        estimates.append(np.column_stack([number, precision[:, 0]]))
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    assert (np.abs(np.mean(estimates, axis=0) - exact) < 5 * error + 1e-9).all()


def test_bad_arguments_are_named():
    chosen = DepthPooling(2).select(SCORES, ONE)
    with pytest.raises(TypeError, match="selection must be a TrainingSelection, as"):
        stat_ap([1, 2], Y, SCORES, ONE)
    with pytest.raises(ValueError, match="groups must hold the queries of the rows"):
        stat_ap(chosen, Y, SCORES, np.arange(8))
    with pytest.raises(ValueError, match=r"scores must hold one row .* got shape \(0,"):
        stat_ap(chosen, [], [], [])
    with pytest.raises(ValueError, match="first must hold whole numbers from 0 to"):
        chosen.joint_probability([0.5], [0])
    with pytest.raises(ValueError, match="first and second must have one length"):
        chosen.joint_probability([0, 1], [0])
    with pytest.raises(ValueError, match="at least 8; got 2"):
        chosen.to_qrels([1, 0], [0, 0], ["a", "b"])
    with pytest.raises(ValueError, match="docids has 2 ids for 8 rows"):
        chosen.to_qrels(Y, ONE, ["a", "b"])


def test_systems_count_in_the_prior_of_queries_of_which_they_retrieved_something():
    index = QueryIndex.from_groups(np.array([0, 0, 0, 1, 1]))
    ranks = np.array([[1, 2, 3, 2, 1], [2, 1, np.inf, np.inf, np.inf]]).T
    prior = prior_of_average_precision(ranks, index)
    np.testing.assert_allclose(np.bincount(index.codes, prior), 1)
    of_first = prior_of_average_precision(ranks[:, :1], index)
    np.testing.assert_allclose(prior[3:], of_first[3:])


@pytest.mark.parametrize("name", ["first", "second"])
@pytest.mark.parametrize(
    ("places", "message"),
    [
        (0, "must be one-dimensional, with a place in rows for each pair, got 0$"),
        ([[0]], r"must be one-dimensional.* got \[\[0\]\]$"),
        ([True], r"must hold whole numbers from 0 to 2, places in rows, got \[True\]$"),
        ([3], r"must hold whole numbers from 0 to 2, places in rows, got \[3\]$"),
    ],
)
def test_places_that_are_none_are_named(name, places, message):
    chosen = StatAPSampling(1.0, random_state=0).select([3, 2, 1], [0] * 3)
    given = {"first": [0], "second": [0], name: places}
    with pytest.raises(ValueError, match=f"^{name} {message}"):
        chosen.joint_probability(**given)


def test_a_query_of_which_nothing_was_retrieved_has_no_sample():
    scores = np.array([3.0, 2.0, 1.0, np.nan, np.nan])
    sample = StatAPSampling(0.5, random_state=0).select(scores, [1, 1, 1, 2, 2])
    assert (sample.rows < 3).all()
    assert sample.stratum_size.max() <= 3
