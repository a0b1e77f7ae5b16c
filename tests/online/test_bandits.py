"""Dueling bandits and multileaving against plain loops over their update rules."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skrank.datasets import make_ranking
from skrank.online import DuelingBanditRanker, MultileaveRanker

X, Y, GROUPS = make_ranking(n_queries=8, n_features=5, n_informative=3, random_state=0)
BANDITS = [
    DuelingBanditRanker(),
    DuelingBanditRanker(interleaving="probabilistic"),
    MultileaveRanker(n_candidates=4),
    MultileaveRanker(n_candidates=4, update="best"),
    MultileaveRanker(n_candidates=4, interleaving="probabilistic"),
]


def step_of_loop(ranker, proposal, clicks):
    """Sum of the steps of the lists, one after the other."""
    lists = proposal._lists
    total = np.zeros(X.shape[1])
    for i in range(len(proposal)):
        places = slice(proposal.ptr[i], proposal.ptr[i + 1])
        credit = credits_of_loop(ranker, proposal, i, clicks[places])
        winners = [j for j in range(1, len(credit)) if credit[j] > credit[0] + 1e-12]
        if getattr(ranker, "update", None) == "best" and winners:
            best = max(credit[j] for j in winners)
            winners = [j for j in winners if credit[j] == best]
        if winners:
            total += np.mean([lists.directions[i, j - 1] for j in winners], axis=0)
    return total


def credits_of_loop(ranker, proposal, i, clicks):
    """Credits by teams, or by the scores of all candidates and their ranks."""
    lists = proposal._lists
    places = slice(proposal.ptr[i], proposal.ptr[i + 1])
    n_rankings = lists.rankings.n_rankings
    if ranker.interleaving == "team_draft":
        teams = lists.team[places]
        return [sum(clicks[teams == r]) for r in range(n_rankings)]
    rows = np.flatnonzero(proposal.query_ids[i] == GROUPS)
    vectors = [np.zeros(X.shape[1]), *lists.directions[i]]
    credit, weights = np.zeros(n_rankings), []
    for vector in vectors:  # the parameters are zero, and so are the first scores
        scores = X[rows] @ vector
        if not vector.any():
            offset = lists.rankings.lists[i * n_rankings]
            order = lists.rankings.document[offset : offset + len(rows)]
        else:
            order = np.argsort(-scores)
        rank = np.empty(len(rows))
        rank[order] = np.arange(1, len(rows) + 1)
        weights.append(rank**-3.0)
    left = np.ones(len(rows), dtype=bool)
    for row, click in zip(proposal.rows[places], clicks):
        place = rows.tolist().index(row)
        chances = np.array([w[place] / w[left].sum() for w in weights])
        credit += click * chances / chances.sum()
        left[place] = False
    return credit


@pytest.mark.parametrize("ranker", BANDITS, ids=repr)
def test_the_update_is_that_of_a_plain_loop(ranker):
    ranker = ranker.set_params(learning_rate=0.3, random_state=0, length=5)
    rng = np.random.default_rng(1)
    moved = 0.0
    for seed in range(6):
        proposal = ranker.propose(X, GROUPS, random_state=seed)
        ranker.params_ = np.zeros(X.shape[1])
        clicks = (rng.random(len(proposal.rows)) < 0.4).astype(int)
        expected = 0.3 * step_of_loop(ranker, proposal, clicks)
        if seed:  # the rankings of the proposal were those of other parameters
            ranker.propose(X, GROUPS, random_state=seed)
            proposal = ranker.propose(X, GROUPS, random_state=seed)
            expected = 0.3 * step_of_loop(ranker, proposal, clicks)
        ranker.partial_fit(X, clicks, GROUPS, shown=proposal)
        np.testing.assert_allclose(ranker.params_, expected, atol=1e-12)
        moved += np.abs(ranker.params_).sum()
    assert moved > 0.1


@pytest.mark.parametrize("ranker", BANDITS, ids=repr)
def test_without_clicks_nothing_moves(ranker):
    proposal = ranker.propose(X, GROUPS, random_state=0)
    before = ranker.params_.copy()
    ranker.partial_fit(X, np.zeros(len(proposal.rows)), GROUPS, shown=proposal)
    np.testing.assert_array_equal(ranker.params_, before)


def test_candidates_are_unit_vectors_in_all_directions():
    ranker = MultileaveRanker(n_candidates=50)
    directions = ranker.propose(X, GROUPS, random_state=0)._lists.directions
    assert directions.shape == (8, 50, 5)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=2), 1.0)
    second_moment = np.einsum("ijk,ijl->kl", directions, directions) / 400
    np.testing.assert_allclose(second_moment, np.eye(5) / 5, atol=0.06)


def test_one_candidate_is_a_dueling_bandit():
    options = {"random_state": 0, "max_iter": 3}
    one = MultileaveRanker(n_candidates=1, **options).fit(X, Y, GROUPS)
    other = DuelingBanditRanker(**options).fit(X, Y, GROUPS)
    np.testing.assert_array_equal(one.params_, other.params_)


@pytest.mark.parametrize("ranker", BANDITS, ids=repr)
def test_it_learns(ranker):
    X, y, groups = make_ranking(n_queries=60, random_state=0)
    train = groups < 40
    ranker = ranker.set_params(learning_rate=0.1, max_iter=25, random_state=0)
    ranker.fit(X[train], y[train], groups[train])
    learned = ranker.score(X[~train], y[~train], groups[~train])
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    ranker.params_ = direction
    assert learned > ranker.score(X[~train], y[~train], groups[~train]) + 0.1


def test_clicks_alone_are_not_enough():
    with pytest.raises(ValueError, match="needs shown=, what propose returned"):
        DuelingBanditRanker().partial_fit(X, np.zeros(len(X)), GROUPS)


@pytest.mark.parametrize("rows", [X, sparse.csr_matrix(X), X.astype(np.float32)])
def test_candidates_are_scored_around_the_parameters(rows):
    ranker = MultileaveRanker(n_candidates=3, delta=0.3, random_state=0)
    ranker.propose(X, GROUPS)
    ranker.params_ = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    directions = np.random.default_rng(0).normal(size=(8, 3, 5))
    ptr = np.append(np.flatnonzero(np.diff(GROUPS, prepend=-1)), len(GROUPS))
    found = ranker._scores_of_candidates(rows, ptr, directions)
    for row, query in enumerate(GROUPS):
        around = 0.3 * directions[query]
        vectors = ranker.params_ + np.vstack([np.zeros(5), around])
        np.testing.assert_allclose(found[row], vectors @ X[row], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ranker", [DuelingBanditRanker(), MultileaveRanker()], ids=str)
def test_lists_of_candidates_with_other_features_are_refused(ranker):
    X, _, groups = make_ranking(n_queries=2, n_features=20, random_state=0)
    shown = ranker.propose(X, groups, random_state=0)
    clicks = np.zeros(len(shown.rows))
    message = "candidates of 20 parameters, but X takes 3; pass the same rows"
    with pytest.raises(ValueError, match=message):
        clone(ranker).partial_fit(X[:, :3], clicks, groups, shown=shown)


@pytest.mark.parametrize("changed", [{"tau": 0.0}, {"interleaving": "team_draft"}])
def test_lists_are_judged_by_what_drew_them(changed):
    rng = np.random.default_rng(0)
    ranker = MultileaveRanker(n_candidates=4, interleaving="probabilistic")
    other = clone(ranker)
    for seed in range(5):
        shown = ranker.propose(X, groups=GROUPS, random_state=seed)
        also_shown = other.propose(X, groups=GROUPS, random_state=seed)
        clicks = rng.integers(0, 2, len(shown.rows))
        ranker.partial_fit(X, clicks, groups=GROUPS, shown=shown)
        other.set_params(**changed).partial_fit(
            X, clicks, groups=GROUPS, shown=also_shown
        )
        other.set_params(tau=3.0, interleaving="probabilistic")
        np.testing.assert_array_equal(other.params_, ranker.params_)
