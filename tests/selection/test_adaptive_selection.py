"""Selectors that read grades as they go, against plain loops over their definitions."""

from itertools import combinations, permutations

import numpy as np
import pytest

from skrank._core._choices import picks_by_difference, picks_by_mixture
from skrank._core._queries import QueryIndex
from skrank.datasets import make_ranking
from skrank.rankers import RankSVM
from skrank.selection import HedgePooling, MTCSelection
from skrank.selection._training_base import ranks_of_systems

RNG = np.random.default_rng(0)
GROUPS = np.sort(RNG.integers(0, 6, 70))
SCORES = RNG.normal(size=(70, 4))
SCORES[RNG.random((70, 4)) < 0.3] = np.nan
Y = RNG.integers(0, 3, 70).astype(float)
INDEX = QueryIndex.from_groups(GROUPS)
RANKS = ranks_of_systems(SCORES, INDEX.ptr)
QUERIES = [np.arange(a, b) for a, b in zip(INDEX.ptr[:-1], INDEX.ptr[1:])]


def expected_sum_precision(ranks, chance):
    """The expected sum of precisions at relevant documents, whose x are independent."""
    total = 0.0
    for i, own in enumerate(ranks):
        for j in range(i + 1):
            both = chance[i] if i == j else chance[i] * chance[j]
            total += both / max(own, ranks[j])
    return total


def weights(ranks, chance, i):
    """By how much a grade of i changes the expected differences of systems."""
    found = 0.0
    for s, t in combinations(range(ranks.shape[1]), 2):
        gaps = []
        for known in (0.0, 1.0):
            changed = chance.copy()
            changed[i] = known
            gaps.append(
                expected_sum_precision(ranks[:, s], changed)
                - expected_sum_precision(ranks[:, t], changed)
            )
        found += abs(gaps[1] - gaps[0])
    return found


def mtc(ranks, relevant, n, prior):
    """Documents of one query in the order in which they are picked."""
    chance, picked = np.full(len(ranks), prior), []
    left = [i for i in range(len(ranks)) if np.isfinite(ranks[i]).any()]
    for _ in range(min(n, len(left))):
        best = max(left, key=lambda i: weights(ranks, chance, i))
        picked.append(best)
        left.remove(best)
        chance[best] = relevant[best]
    return picked


def hedge(ranks, relevant, n, beta):
    """Documents of one query in the order in which they are picked."""
    found = np.isfinite(ranks)
    vouched = np.zeros(ranks.shape)
    for i, s in zip(*np.nonzero(found)):
        depth = found[:, s].sum()
        vouched[i, s] = 0.5 * sum(1 / k for k in range(int(ranks[i, s]), depth + 1))
    weight, picked = np.ones(ranks.shape[1]), []
    left = [i for i in range(len(ranks)) if found[i].any()]
    for _ in range(min(n, len(left))):
        best = max(left, key=lambda i: vouched[i] @ weight)
        picked.append(best)
        left.remove(best)
        loss = vouched[best] * (-1.0 if relevant[best] else 1.0)
        weight *= beta**loss
        weight /= weight.sum()
    return picked


def in_order(pick, rows):
    """Documents of a query, numbered within it, in the order of picks."""
    picked = np.flatnonzero(pick[rows] >= 0)
    return picked[np.argsort(pick[rows][picked])].tolist()


WANTED = np.array([3, 0, 99, 1, 5, 4], dtype=np.int32)


@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_minimal_collections_take_the_greatest_change(prior):
    relevant = (Y > 0).astype(float)
    pick = picks_by_difference(RANKS, relevant, WANTED, INDEX.ptr, prior)
    for q, rows in enumerate(QUERIES):
        expected = mtc(RANKS[rows], relevant[rows], WANTED[q], prior)
        assert in_order(pick, rows) == expected


@pytest.mark.parametrize("beta", [0.5, 0.01])
def test_hedge_takes_what_the_mixture_vouches_for(beta):
    relevant = (Y > 0).astype(float)
    log_beta = float(np.log(beta))
    pick = picks_by_mixture(RANKS, relevant, WANTED, INDEX.ptr, log_beta)
    for q, rows in enumerate(QUERIES):
        assert in_order(pick, rows) == hedge(
            RANKS[rows], relevant[rows], WANTED[q], beta
        )


@pytest.mark.parametrize(
    ("selector", "reference"),
    [
        (MTCSelection(0.4, relevance_level=2, prior=0.2), (mtc, 0.2)),
        (HedgePooling(0.4, relevance_level=2, beta=0.3), (hedge, 0.3)),
    ],
    ids=["MTC", "Hedge"],
)
def test_selectors_take_a_share_of_what_was_retrieved(selector, reference):
    order = RNG.permutation(70)
    chosen = selector.select(SCORES[order], GROUPS[order], y=Y[order])
    # Rows of a query keep their order here, by which ties are broken.
    expected = []
    function, option = reference
    for q in range(6):
        rows = np.flatnonzero(GROUPS[order] == q)
        ranks = ranks_of_systems(SCORES[order][rows], np.array([0, len(rows)]))
        size = int(np.isfinite(ranks).any(axis=1).sum())
        relevant = (Y[order][rows] >= 2).astype(float)
        n = max(1, int(0.4 * size + 0.5))
        expected += rows[function(ranks, relevant, n, option)].tolist()
    assert chosen.rows.tolist() == sorted(expected)
    assert (chosen.probability == 1).all()
    retrieved = np.isfinite(SCORES[order]).any(axis=1)
    assert chosen.pool.tolist() == np.flatnonzero(retrieved).tolist()


def test_where_systems_agree_reciprocal_ranks_decide():
    scores = np.repeat([[1.0], [3.0], [2.0]], 2, axis=1)
    one = [0, 0, 0]
    assert MTCSelection(0.3).select(scores, one, y=[0, 0, 0]).rows.tolist() == [1]
    assert MTCSelection(0.3).select(scores[:, 0], one, y=[0] * 3).rows.tolist() == [1]


def test_only_grades_of_selected_documents_are_read():
    for selector in (MTCSelection(0.3), HedgePooling(0.3)):
        chosen = selector.select(SCORES, GROUPS, y=Y)
        other = 2.0 - Y
        other[chosen.rows] = Y[chosen.rows]
        again = selector.select(SCORES, GROUPS, y=other)
        assert again.rows.tolist() == chosen.rows.tolist()


def test_hedge_finds_more_relevant_documents_than_chance():
    X, y, groups = make_ranking(n_queries=60, random_state=0)
    # Systems of which one is right, and the others are chance.
    noise = np.random.default_rng(0).normal(size=(len(y), 5))
    scores = np.column_stack([y + 0.1 * noise[:, 0], noise[:, 1:]])
    chosen = HedgePooling(0.2).select(scores, groups, y=y)
    # Half of what the one system would find by itself.
    best = HedgePooling(0.2).select(scores[:, 0], groups, y=y)
    chance = (y > 0).mean()
    found = (y[chosen.rows] > 0).mean()
    assert found > (chance + (y[best.rows] > 0).mean()) / 2
    assert len(X) == len(y)


@pytest.mark.parametrize("kernel", [picks_by_difference, picks_by_mixture])
def test_threads_do_not_matter(kernel):
    relevant = (Y > 0).astype(float)
    option = 0.5 if kernel is picks_by_difference else -0.7
    one = kernel(RANKS, relevant, WANTED, INDEX.ptr, option)
    two = kernel(RANKS, relevant, WANTED, INDEX.ptr, option, n_threads=3)
    np.testing.assert_array_equal(one, two)


def test_selections_train_a_ranker():
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    new = X + 0.1 * np.random.default_rng(1).normal(size=X.shape)
    for selector in (MTCSelection(0.4), HedgePooling(0.4)):
        rows = selector.select(X, groups, y=y).rows
        ranker = RankSVM().fit(X[rows], y[rows], groups[rows])
        score = ranker.score(new, y, groups=groups + 100)
        assert score > ranker.score(-new, y, groups=groups + 100)


def test_nothing_retrieved_selects_nothing():
    missing = np.full((4, 2), np.nan)
    for selector in (MTCSelection(1.0), HedgePooling(1.0)):
        chosen = selector.select(missing, [0, 0, 1, 1], y=[1, 0, 1, 0])
        assert len(chosen.rows) == len(chosen.pool) == 0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"MTCSelection.select needs y with the gra"):
        MTCSelection().select(SCORES, GROUPS)
    with pytest.raises(ValueError, match="y has 2 grades for 70 rows"):
        HedgePooling().select(SCORES, GROUPS, y=[1, 0])
    with pytest.raises(ValueError, match=r"beta must be a number in \(0, 1\)"):
        HedgePooling(beta=1.0).select(SCORES, GROUPS, y=Y)
    with pytest.raises(ValueError, match=r"prior must be a number in \(0, 1\)"):
        MTCSelection(prior=0.0).select(SCORES, GROUPS, y=Y)
    with pytest.raises(ValueError, match="ranks must be from 1 to the size"):
        picks_by_mixture(RANKS * 99, Y, WANTED, INDEX.ptr, -1.0)


def test_rounding_breaks_no_ties():
    """Sums over systems round differently in another order of the systems."""
    nan = np.nan
    scores = [[1, 0, 0, 3], [nan, 2, nan, 0], [3, 3, 3, 1], [0, nan, 1, 2]]
    # Rows 1 and 3 weigh 27/8 each; the inverse ranks of row 3 have the greater sum.
    for columns in permutations(range(4)):
        systems = np.array(scores, dtype=float)[:, columns]
        found = MTCSelection(0.3).select(systems, [0] * 4, y=[0, 1, 1, 0])
        assert found.rows.tolist() == [3]
    scores = [[nan, nan, 1, 0, 0], [nan, 2, 0, 2, 1], [nan, nan, 2, nan, 2]]
    # The mixture vouches for rows 1 and 2 with 11/6 each.
    for columns in permutations(range(5)):
        systems = np.array(scores, dtype=float)[:, columns]
        found = HedgePooling(0.3).select(systems, [0] * 3, y=[0, 0, 1])
        assert found.rows.tolist() == [1]
