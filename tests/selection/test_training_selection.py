"""Selectors of documents to train on, against plain loops and all samples."""

from itertools import combinations

import numpy as np
import pytest

from skrank.aggregation import join_runs
from skrank.datasets import make_ranking
from skrank.rankers import RankSVM
from skrank.selection import (
    DepthPooling,
    InfAPSampling,
    LetorSelection,
    StatAPSampling,
)

RNG = np.random.default_rng(0)
GROUPS = RNG.integers(0, 6, 80)
SCORES = RNG.normal(size=(80, 3))
SCORES[RNG.random((80, 3)) < 0.3] = np.nan


def first(scores, groups, query, depth):
    """Rows of the best documents of a query by one system."""
    rows = [i for i in np.flatnonzero(groups == query) if np.isfinite(scores[i])]
    return sorted(rows, key=lambda i: -scores[i])[:depth]


@pytest.mark.parametrize("depth", [1, 3, 100])
def test_pools_are_unions_of_first_ranks(depth):
    expected = {
        row
        for query in range(6)
        for system in range(3)
        for row in first(SCORES[:, system], GROUPS, query, depth)
    }
    chosen = DepthPooling(depth).select(SCORES, GROUPS)
    assert chosen.rows.tolist() == sorted(expected)
    assert chosen.weights.tolist() == [1.0] * len(expected)


def test_letor_takes_the_first_ranks_of_one_system():
    expected = [r for q in range(6) for r in first(SCORES[:, 1], GROUPS, q, 2)]
    chosen = LetorSelection(2, system=1).select(SCORES, GROUPS)
    assert chosen.rows.tolist() == sorted(expected)


def test_pools_of_joined_runs():
    runs = [{"q": {"a": 3.0, "b": 2.0}}, {"q": {"c": 3.0, "b": 2.0}}]
    joined = join_runs(runs)
    assert joined.docids is not None
    rows = DepthPooling(1).select(joined.scores, ["q"] * 3).rows
    assert joined.docids[rows].tolist() == ["a", "c"]


def test_uniform_samples_draw_from_what_was_retrieved():
    chosen = InfAPSampling(0.4, random_state=0).select(SCORES, GROUPS)
    retrieved = np.asarray(np.isfinite(SCORES).any(axis=1))
    assert retrieved[chosen.rows].all()
    for query in range(6):
        size = int(retrieved[query == GROUPS].sum())
        mine = GROUPS[chosen.rows] == query
        assert mine.sum() == max(1, int(0.4 * size + 0.5))
        np.testing.assert_allclose(chosen.probability[mine], mine.sum() / size)


def test_the_only_document_is_certain():
    chosen = InfAPSampling(0.1, random_state=0).select([1.0, 2.0], ["a", "b"])
    assert chosen.rows.tolist() == [0, 1]
    assert chosen.probability.tolist() == [1.0, 1.0]


def test_all_uniform_samples_are_equally_frequent():
    counts = dict.fromkeys(combinations(range(4), 2), 0)
    rng = np.random.RandomState(0)
    for _ in range(1200):
        rows = InfAPSampling(0.5, random_state=rng).select(np.zeros(4), [0] * 4).rows
        counts[tuple(rows.tolist())] += 1
    # Five standard deviations of a binomial count around 200.
    assert max(abs(n - 200) for n in counts.values()) < 5 * np.sqrt(1200 * 5 / 36)


def test_the_order_of_queries_does_not_matter():
    order = np.argsort(-GROUPS, kind="stable")
    sampling = InfAPSampling(0.4, random_state=0)
    moved = sampling.select(SCORES[order], GROUPS[order]).rows
    assert sorted(order[moved]) == sampling.select(SCORES, GROUPS).rows.tolist()


def test_weights_train_a_ranker():
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    chosen = InfAPSampling(0.5, random_state=0).select(X, groups)
    rows = chosen.rows
    ranker = RankSVM().fit(X[rows], y[rows], groups[rows], sample_weight=chosen.weights)
    new = X + 0.1 * np.random.default_rng(1).normal(size=X.shape), y
    score = ranker.score(*new, groups=groups + 100)
    assert score > ranker.score(-new[0], new[1], groups=groups + 100)


@pytest.mark.parametrize("kind", [InfAPSampling, StatAPSampling])
@pytest.mark.parametrize("share", [0.25, 0.9])
def test_documents_that_no_system_retrieved_change_nothing_but_the_draws(kind, share):
    scores = np.full((12, 2), np.nan)
    scores[[1, 3, 4, 6, 7, 8, 9, 11]] = np.random.default_rng(0).normal(size=(8, 2))
    found = np.flatnonzero(~np.isnan(scores[:, 0]))
    probability_of = {}
    for seed in range(40):
        alone = kind(share, random_state=seed).select(scores[found], [0] * 8)
        among = kind(share, random_state=seed).select(scores, [0] * 12)
        assert len(among.rows) == len(alone.rows) == round(8 * share)
        for rows, chosen in ((found[alone.rows], alone), (among.rows, among)):
            for row, probability in zip(rows.tolist(), chosen.probability):
                assert probability_of.setdefault(row, probability) == probability
    assert set(probability_of) == set(found.tolist())


@pytest.mark.parametrize(
    ("share", "n", "expected"),
    [(0.25, 10, 3), (0.1, 25, 3), (0.5, 3, 2), (0.3, 5, 2), (0.1, 15, 2), (0.1, 14, 1)],
)
def test_shares_are_rounded_to_the_nearest_number(share, n, expected):
    selected = InfAPSampling(share, random_state=0).select(range(n), [0] * n)
    assert len(selected.rows) == expected


def test_nothing_retrieved_selects_nothing():
    missing = np.full(4, np.nan)
    for selector in (DepthPooling(), LetorSelection(), InfAPSampling(1.0)):
        assert len(selector.select(missing, [0, 0, 1, 1]).rows) == 0


def test_bad_arguments_are_named():
    with pytest.raises(
        ValueError, match=r"scores must hold one row .* got shape \(2, "
    ):
        DepthPooling().select(np.zeros((2, 2, 2)), [0, 0])
    with pytest.raises(ValueError, match=r"system must be .* below 1; got 1"):
        LetorSelection(system=1).select([1.0], [0])
    with pytest.raises(ValueError, match=r"system must be .* below 2; got 2"):
        LetorSelection(system=2).select(np.zeros((3, 2)), [0, 0, 0])
    with pytest.raises(ValueError, match="share must be a number in"):
        InfAPSampling(1.5).select([1.0], [0])
