"""Comparison by interleaving: counts, exact tests, and users who prefer the better."""

import numpy as np
import pytest
from scipy import sparse, stats

from skrank.click import SimulatedUser
from skrank.datasets import make_ranking
from skrank.metrics import holm_correction
from skrank.online import (
    BalancedInterleaving,
    InterleavingComparison,
    ProbabilisticInterleaving,
    compare_interleaved,
)
from skrank.rankers import RankSVM

X, Y, GROUPS = make_ranking(n_queries=40, random_state=0)
NOISE = np.random.default_rng(0).normal(size=len(Y))
RUNS = {"good": Y + 0.5 * NOISE, "fair": Y + 2.0 * NOISE, "bad": NOISE}
METHODS = ["team_draft", "probabilistic"]


def test_wins_rates_and_tests_are_those_of_plain_counts():
    credits = np.random.default_rng(0).integers(0, 4, size=(50, 3)).astype(float)
    found = InterleavingComparison.from_credits(credits, list("abc"), confidence=0.9)
    single = []
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        won = sum(row[i] > row[j] for row in credits)
        lost = sum(row[i] < row[j] for row in credits)
        assert found.wins[i, j] == won
        assert found.wins[j, i] == lost
        assert found.win_rates[i, j] == pytest.approx(won / (won + lost))
        assert found.win_rates[j, i] == pytest.approx(lost / (won + lost))
        # Clopper and Pearson by quantiles of the beta distribution.
        low = stats.beta.ppf(0.05, won, lost + 1)
        high = stats.beta.ppf(0.95, won + 1, lost)
        np.testing.assert_allclose(found.intervals[i, j], [low, high])
        np.testing.assert_allclose(found.intervals[j, i], [1 - high, 1 - low])
        tail = stats.binom.cdf(min(won, lost), won + lost, 0.5)
        single.append(min(1.0, 2.0 * tail))
    corrected = holm_correction(np.array(single))
    np.testing.assert_allclose(found.pvalues[[0, 0, 1], [1, 2, 2]], corrected)
    np.testing.assert_allclose(found.pvalues.T, found.pvalues)
    assert np.isnan(np.diagonal(found.pvalues)).all()
    np.testing.assert_allclose(found.mean_credits, credits.mean(axis=0))
    assert found.names == ("a", "b", "c")
    lines = str(found).splitlines()
    assert len(lines) == 4
    assert f"{found.wins[0, 1]} : {found.wins[1, 0]}" in lines[1]


def test_no_decided_impression_says_nothing():
    found = InterleavingComparison.from_credits(np.ones((5, 2)))
    assert np.isnan(found.win_rates).all()
    assert found.intervals[0, 1].tolist() == [0.0, 1.0]
    assert found.pvalues[0, 1] == 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("user", ["perfect", "navigational", "informational"])
def test_users_prefer_the_better_rankings(method, user):
    found = compare_interleaved(
        RUNS, Y, GROUPS, method=method, user=user, n_impressions=2000, random_state=0
    )
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        assert found.win_rates[i, j] > 0.5
    assert found.pvalues[0, 2] < 0.01


@pytest.mark.parametrize("method", ["balanced", *METHODS])
def test_equal_rankings_are_not_told_apart(method):
    runs = {"one": RUNS["fair"], "other": 3.0 * RUNS["fair"]}
    user = SimulatedUser("informational", noise=0.2)
    found = compare_interleaved(
        runs, Y, GROUPS, method=method, user=user, n_impressions=3000, random_state=0
    )
    decided = found.wins[0, 1] + found.wins[1, 0]
    if method == "team_draft":
        low, high = stats.binom.interval(0.9999, decided, 0.5)
        assert low <= found.wins[0, 1] <= high
    else:  # in every list, not only in the mean
        assert decided == 0


def test_shared_credits_have_less_variance_than_those_of_teams():
    runs = {name: RUNS[name] for name in ("good", "fair")}
    team, shared = (
        compare_interleaved(
            runs, Y, GROUPS, method=m, n_impressions=3000, random_state=0
        )
        for m in METHODS
    )
    assert shared.pvalues[0, 1] < 1e-6
    assert team.pvalues[0, 1] < 1e-6


def test_rankers_and_scores_give_the_same_comparison():
    train = GROUPS < 20
    ranker = RankSVM().fit(X[train], Y[train], GROUPS[train])
    test = X[~train], Y[~train], GROUPS[~train]
    options = {"n_impressions": 50, "random_state": 0, "method": "balanced"}
    noise = NOISE[~train]
    one = compare_interleaved(
        {"a": ranker, "b": noise}, *test[1:], X=test[0], **options
    )
    scores = {"a": ranker.predict(test[0]), "b": noise}
    two = compare_interleaved(scores, *test[1:], **options)
    np.testing.assert_array_equal(one.wins, two.wins)
    with pytest.raises(ValueError, match=r"runs\['a'\] is a ranker, which needs X"):
        compare_interleaved({"a": ranker, "b": noise}, *test[1:])


@pytest.mark.parametrize("method", [BalancedInterleaving(length=3), *METHODS])
def test_seeds_threads_and_the_order_of_rows(method):
    runs = {"a": RUNS["good"], "b": RUNS["bad"]}
    options = {"method": method, "n_impressions": 5000, "random_state": 1}
    one = compare_interleaved(runs, Y, GROUPS, n_jobs=1, **options)
    two = compare_interleaved(runs, Y, GROUPS, n_jobs=2, **options)
    order = np.argsort(-GROUPS, kind="stable")
    moved = {name: run[order] for name, run in runs.items()}
    three = compare_interleaved(moved, Y[order], GROUPS[order], **options)
    for other in (two, three):
        np.testing.assert_array_equal(one.wins, other.wins)
        np.testing.assert_array_equal(one.mean_credits, other.mean_credits)
    assert one.n_impressions == 5000


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="runs must be at least two, got 1"):
        compare_interleaved({"a": Y}, Y, GROUPS)
    with pytest.raises(ValueError, match="runs must be a dict of names to scores"):
        compare_interleaved(sparse.dok_matrix((len(Y), 2)), Y, GROUPS)
    with pytest.raises(ValueError, match="takes 2 rankings, got 3"):
        compare_interleaved(RUNS, Y, GROUPS, method=ProbabilisticInterleaving())
    with pytest.raises(ValueError, match="method must be"):
        compare_interleaved(RUNS, Y, GROUPS, method="draft")
    with pytest.raises(ValueError, match="credits must have a row for each impression"):
        InterleavingComparison.from_credits([[1.0], [2.0]])
    with pytest.raises(ValueError, match="names must hold one name for each of the 2"):
        InterleavingComparison.from_credits([[1.0, 0.0]], [[1], [2, 3], [4]])
    with pytest.raises(ValueError, match="credits must be finite"):
        InterleavingComparison.from_credits([[1.0, np.inf]])
    with pytest.raises(ValueError, match="one name for each of the 2 rankers"):
        InterleavingComparison.from_credits([[1.0, 0.0]], ["a"])
