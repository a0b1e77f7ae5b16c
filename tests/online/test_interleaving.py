"""Interleavings against plain loops, enumeration over all draws, and known results."""

import itertools
from collections import Counter

import numpy as np
import pytest

from skrank.exceptions import InvalidParameterError
from skrank.online import (
    BalancedInterleaving,
    ProbabilisticInterleaving,
    ProbabilisticMultileaving,
    TeamDraftInterleaving,
    TeamDraftMultileaving,
)
from skrank.online._rankings import Rankings, rankings_of_ids

A, B = ["a", "b", "c"], ["b", "d", "a"]
METHODS = [
    BalancedInterleaving,
    TeamDraftInterleaving,
    ProbabilisticInterleaving,
    TeamDraftMultileaving,
    ProbabilisticMultileaving,
]
MULTI = [TeamDraftMultileaving, ProbabilisticMultileaving]
over_methods = pytest.mark.parametrize("method", METHODS)


def balanced_lists(rankings, length):
    """All lists of balanced interleaving with probabilities, by its pseudo-code."""
    for begins in range(2):
        shown, k = [], [0, 0]
        while len(shown) < length:
            turn = begins if k[begins] <= k[1 - begins] else 1 - begins
            if k[turn] >= len(rankings[turn]):
                turn = 1 - turn
            if k[turn] >= len(rankings[turn]):
                break
            document = rankings[turn][k[turn]]
            k[turn] += 1
            if document not in shown:
                shown.append(document)
        yield tuple(shown), 0.5


def draft_lists(rankings, length, shown=(), teams=()):
    """All lists and teams of a draft with their probabilities, round by round."""
    if len(shown) >= length or all(set(r) <= set(shown) for r in rankings):
        yield shown, teams, 1.0
        return
    orders = list(itertools.permutations(range(len(rankings))))
    for order in orders:
        now, of = list(shown), list(teams)
        for r in order:
            left = [d for d in rankings[r] if d not in now]
            if left and len(now) < length:
                now.append(left[0])
                of.append(r)
        for *rest, chance in draft_lists(rankings, length, tuple(now), tuple(of)):
            yield *rest, chance / len(orders)


def soft_chances(ranking, shown, tau):
    """Probabilities of the documents of a ranking that are left."""
    weights = {d: (k + 1.0) ** -tau for k, d in enumerate(ranking) if d not in shown}
    return {d: w / sum(weights.values()) for d, w in weights.items()}


def soft_lists(rankings, length, tau, shown=(), teams=()):
    """All lists and assignments of probabilistic interleaving."""
    able = [r for r, one in enumerate(rankings) if not set(one) <= set(shown)]
    if len(shown) == length or not able:
        yield shown, teams, 1.0
        return
    for r in able:
        for d, p in soft_chances(rankings[r], shown, tau).items():
            for *rest, chance in soft_lists(
                rankings, length, tau, (*shown, d), (*teams, r)
            ):
                yield *rest, chance * p / len(able)


def drawn(method, rankings, n=4000):
    """Frequencies of lists and teams."""
    one, ids = rankings_of_ids(rankings)
    sizes = np.tile(np.diff(one.lists), n)
    many = Rankings(
        np.tile(one.document, n),
        np.append(0, np.cumsum(sizes)),
        one.n_rankings,
        np.arange(n + 1) * len(ids),
    )
    lists = method._deal(many, 11)
    shown, teams = (part.reshape(n, -1).tolist() for part in (lists.shown, lists.team))
    found = Counter(
        (tuple(ids[one].tolist()), tuple(two)) for one, two in zip(shown, teams)
    )
    return {key: count / n for key, count in found.items()}


def assert_close(frequencies, chances, n=4000):
    """Compare with probabilities by five standard deviations."""
    assert set(frequencies) <= set(chances)
    for key, chance in chances.items():
        error = 5.0 * np.sqrt(chance * (1.0 - chance) / n) + 1e-12
        assert abs(frequencies.get(key, 0.0) - chance) <= error, key


def test_balanced_lists_are_those_of_the_pseudo_code():
    for rankings, length in [((A, B), 4), ((A, B), 2), ((["x"], A), 4)]:
        chances = Counter()
        for shown, chance in balanced_lists(rankings, length):
            chances[shown] += chance
        found = Counter()
        for (shown, _), share in drawn(
            BalancedInterleaving(length=length), rankings
        ).items():
            found[shown] += share
        assert_close(found, chances)


@pytest.mark.parametrize(
    ("method", "rankings", "length"),
    [
        (TeamDraftInterleaving, (A, B), 3),
        (TeamDraftInterleaving, (["x"], A), 4),
        (TeamDraftMultileaving, (A, B, ["c", "d"]), 3),
        (TeamDraftMultileaving, (A, B, ["c", "d"]), 2),
    ],
)
def test_drafts_are_those_of_an_enumeration(method, rankings, length):
    chances = Counter()
    for shown, teams, chance in draft_lists(rankings, length):
        chances[shown, teams] += chance
    assert_close(drawn(method(length=length), rankings), chances)


@pytest.mark.parametrize("rankings", [(A, B), (["x"], A), (A, B, ["c", "d"])])
def test_soft_lists_are_those_of_an_enumeration(rankings):
    chances = Counter()
    for shown, teams, chance in soft_lists(rankings, 3, 1.5):
        chances[shown, teams] += chance
    method = ProbabilisticMultileaving(length=3, tau=1.5)
    assert_close(drawn(method, rankings), chances)


def test_marginal_credit_is_the_mean_over_assignments():
    rankings, method = (A, B, ["c", "d"]), ProbabilisticMultileaving(length=4, tau=2.0)
    of_list: dict = {}
    for shown, teams, chance in soft_lists(rankings, 4, 2.0):
        of_list.setdefault(shown, []).append((teams, chance))
    seen = set()
    for seed in range(60):
        mixed = method.interleave(rankings, seed)
        shown = tuple(mixed.documents.tolist())
        seen.add(shown)
        clicks = np.array([1, 0, 1, 1])
        expected = np.zeros(3)
        for teams, chance in of_list[shown]:
            expected += chance * np.bincount(teams, weights=clicks, minlength=3)
        expected /= sum(chance for _, chance in of_list[shown])
        np.testing.assert_allclose(mixed.credit(clicks), expected, rtol=1e-12)
    assert len(seen) > 10


def test_balanced_credit_is_that_of_its_definition():
    for seed in range(20):
        mixed = BalancedInterleaving().interleave((A, B), seed)
        for clicks in itertools.product([0, 1], repeat=len(mixed)):
            clicked = [d for d, c in zip(mixed.documents, clicks) if c]
            expected = [0, 0]
            if clicked:
                depths = [r.index(clicked[-1]) + 1 for r in (A, B) if clicked[-1] in r]
                k = min(depths)
                expected = [len(set(clicked) & set(r[:k])) for r in (A, B)]
            assert mixed.credit(clicks).tolist() == expected


def test_the_published_fault_of_balanced_interleaving():
    """A user who clicks at random prefers the ranking with the new document second.

    The example of Radlinski, Kurup and Joachims: b c d a against a b c d.
    """
    first, second = list("abcd"), list("bcda")
    preferred = Counter()
    for shown, chance in balanced_lists((first, second), 4):
        mixed = next(
            found
            for seed in range(50)
            if tuple(
                (
                    found := BalancedInterleaving().interleave((first, second), seed)
                ).documents.tolist()
            )
            == shown
        )
        for place in range(4):
            credit = mixed.credit(np.arange(4) == place)
            preferred[int(np.sign(credit[1] - credit[0]))] += chance / 4
    assert preferred[1] > preferred[-1]


@pytest.mark.parametrize(
    "lists",
    [
        lambda r: ((s, t, p) for s, t, p in draft_lists(r, 4)),
        lambda r: ((s, t, p) for s, t, p in soft_lists(r, 4, 3.0)),
    ],
)
def test_random_clicks_favour_nobody_in_expectation(lists):
    """A click in any place is credited to both rankings with the same probability."""
    credit = np.zeros((4, 2))
    for _, teams, chance in lists((list("abcd"), list("bcda"))):
        credit[np.arange(4), list(teams)] += chance
    np.testing.assert_allclose(credit, 0.5)


@over_methods
def test_equal_rankings_have_equal_expected_credit(method):
    """Over all drafts, and within every list where credits are shared."""
    instance = method(length=None)
    sums = np.zeros(2)
    for shown, teams, chance in draft_lists((A, A), 3):
        assert list(shown) == A
        sums += chance * np.bincount(teams, weights=[1, 0, 1], minlength=2)
    np.testing.assert_allclose(sums, 1.0)
    if instance._scheme != "team_draft":
        for seed in range(30):
            credit = instance.interleave((A, A), seed).credit([1, 0, 1])
            assert credit[0] == credit[1]


def test_equal_probabilities_give_equal_credit():
    """Documents that both rankings have at the same rank, drawn as the first one."""
    rng = np.random.default_rng(0)
    for seed in range(200):
        one = rng.permutation(list("abcdef"))
        other = one.copy()
        i, j = rng.choice(6, 2, replace=False)
        other[[i, j]] = other[[j, i]]
        mixed = ProbabilisticInterleaving().interleave((list(one), list(other)), seed)
        if mixed.documents[0] in (one[i], one[j]):
            continue
        credit = mixed.credit([1, 0, 0, 0, 0, 0])
        assert credit.tolist() == [0.5, 0.5]


@over_methods
def test_the_better_ranking_wins_in_expectation(method):
    good = "a" if method is BalancedInterleaving else "b"
    better, worse = [good, *"xyz"], [*"zyx", good]
    margin = 0.0
    for seed in range(100):
        mixed = method().interleave((better, worse), seed)
        credit = mixed.credit(mixed.documents == good)
        margin += credit[0] - credit[1]
    assert margin > 10


@over_methods
def test_every_document_is_shown_once_and_by_its_team(method):
    rankings = [[4, 2, 9], [2, 7, 4, 1]]
    for seed in range(50):
        mixed = method(length=None).interleave(rankings, seed)
        assert sorted(mixed.documents.tolist()) == [1, 2, 4, 7, 9]
        for document, team in zip(mixed.documents.tolist(), mixed.teams):
            assert document in rankings[team]
        short = method(length=2).interleave(rankings, seed)
        assert len(short) == len(short.documents) == 2


@over_methods
def test_the_same_seed_draws_the_same_list(method):
    lists = [method().interleave((A, B), 7) for _ in range(2)]
    assert lists[0].documents.tolist() == lists[1].documents.tolist()
    assert repr(lists[0]) == repr(lists[1])


def test_ids_keep_their_type():
    mixed = TeamDraftInterleaving().interleave([[1, "1"], ["1", (2, 3)]], 0)
    assert set(mixed.documents.tolist()) == {1, "1", (2, 3)}


@over_methods
def test_threads_change_nothing(method):
    rng = np.random.default_rng(0)
    ptr = np.append(0, np.cumsum(rng.integers(1, 30, 200)))
    scores = rng.normal(size=(ptr[-1], 2)).round(1)
    found = []
    for n_threads in (1, 2, 5):
        rankings = Rankings.from_scores(scores, ptr, 3, n_threads)
        lists = method()._deal(rankings, 5, n_threads)
        clicked = (lists.shown % 3 == 0).astype(np.uint8)
        credit = method()._credits(lists, clicked, n_threads)
        found.append((rankings.document, lists.shown, lists.team, credit))
    for other in found[1:]:
        for one, two in zip(found[0], other):
            np.testing.assert_array_equal(one, two)


def test_rankings_follow_scores_and_ties_are_drawn():
    scores = np.array([[1.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.5, 1.0]])
    firsts = Counter()
    for seed in range(400):
        found = Rankings.from_scores(scores, np.array([0, 4]), seed)
        one, two = found.document[:4].tolist(), found.document[4:].tolist()
        assert set(one[:2]) == {1, 2}
        assert one[2:] == [0, 3]
        assert two[0] == 3
        # Ties in both stand in the same order.
        assert [d for d in two if d in (1, 2)] == one[:2]
        firsts[one[0]] += 1
    assert abs(firsts[1] - 200) < 60


@pytest.mark.parametrize("method", [m for m in METHODS if m not in MULTI])
def test_two_rankings_are_asked_for(method):
    with pytest.raises(ValueError, match=r"takes 2 rankings, got 3"):
        method().interleave([A, B, A])
    with pytest.raises(ValueError, match="at least two, got 1"):
        method().interleave([A])


@over_methods
def test_wrong_input_is_refused(method):
    with pytest.raises(ValueError, match=r"rankings\[1\] must hold each document once"):
        method().interleave([A, ["a", "a"]])
    with pytest.raises(ValueError, match=r"rankings\[0\] is empty"):
        method().interleave([[], A])
    with pytest.raises(TypeError, match="must be a sequence of rankings of ids"):
        method().interleave(5)
    with pytest.raises(TypeError, match=r"rankings\[0\] must hold hashable ids"):
        method().interleave([np.array([{}, {}], dtype=object), A])
    with pytest.raises(InvalidParameterError, match="length must be"):
        method(length=0).interleave([A, B])
    mixed = method().interleave([A, B], 0)
    with pytest.raises(ValueError, match="each of the 4 documents that were shown"):
        mixed.credit([1, 0])
    with pytest.raises(ValueError, match=r"clicks must be 0 or 1, got 2.0 in place 3"):
        mixed.credit([1, 0, 0, 2])


def test_a_negative_tau_is_refused():
    with pytest.raises(InvalidParameterError, match="tau must be a number in"):
        ProbabilisticInterleaving(tau=-1).interleave([A, B])


def test_tau_of_any_size_gives_finite_credits():
    ranking = list(range(300))
    for tau in (0.0, 3.0, 50.0):
        method = ProbabilisticInterleaving(tau=tau, length=None)
        mixed = method.interleave([ranking, ranking[::-1]], 0)
        credit = mixed.credit(np.ones(300))
        assert np.isfinite(credit).all()
        assert sorted(mixed.documents.tolist()) == ranking
        assert credit.sum() == pytest.approx(300)


@pytest.mark.parametrize(
    "ranking", [["a", None], np.ma.masked_array([1, 2], mask=[0, 1])]
)
def test_documents_without_an_id_are_named(ranking):
    message = r"rankings\[0\] must hold one document id per row; row 1"
    with pytest.raises(ValueError, match=message):
        TeamDraftInterleaving().interleave([ranking, ["b"]])


def test_a_list_is_judged_by_what_drew_it():
    method = ProbabilisticInterleaving(tau=3.0)
    mixed = method.interleave([["a", "b", "c"], ["b", "a", "c"]], random_state=0)
    credits = mixed.credit([1, 0, 0])
    assert credits[0] != credits[1]
    method.set_params(tau=0.0)
    np.testing.assert_array_equal(mixed.credit([1, 0, 0]), credits)


def test_rankings_as_one_array():
    for method in (TeamDraftInterleaving(), BalancedInterleaving()):
        lists = [[1, 2, 3], [3, 1, 2]]
        found, expected = (
            method.interleave(rankings, random_state=0)
            for rankings in (np.array(lists), lists)
        )
        assert list(found.documents) == list(expected.documents)
    with pytest.raises(TypeError, match="rankings must be a sequence of rankings"):
        TeamDraftInterleaving().interleave(np.array(3))


def test_rankings_of_different_lengths_may_be_objects_of_an_array():
    rankings = np.empty(2, dtype=object)
    rankings[:] = ["a", "b"], ["b", "c", "a"]
    found = TeamDraftInterleaving().interleave(rankings, random_state=0)
    expected = TeamDraftInterleaving().interleave(rankings.tolist(), random_state=0)
    assert found.documents.tolist() == expected.documents.tolist()
