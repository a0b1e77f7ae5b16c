"""Preferences from posteriors and from what users skipped, against closed forms."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import beta

from skrank.click import (
    BayesianBrowsingModel,
    DocumentClickModel,
    Sessions,
    to_preferences,
)
from skrank.click import _labels_preferences as preferences
from skrank.click._labels_posteriors import PosteriorTables, preference_probability
from skrank.rankers import RankSVM


def exactly(a, b, c, d):
    """Return P(R > S) for R ~ Beta(a, b) and S ~ Beta(c, d) with whole numbers a.

    P(S < R) is the sum over i < a of B(c + i, b + d) / ((b + i) B(1 + i, b) B(c, d)).
    """
    i = np.arange(a)
    terms = betaln(c + i, b + d) - np.log(b + i) - betaln(1 + i, b) - betaln(c, d)
    return float(np.exp(terms).sum())


def tables_of(shapes, n_points=129):
    low, high, density = [], [], []
    for a, b in shapes:
        ends = beta.ppf([1e-18, 0.5], a, b)[0], beta.isf(1e-18, a, b)
        ends = (0.0 if a == 1 else ends[0], 1.0 if b == 1 else ends[1])
        r = np.linspace(*ends, n_points)
        low.append(ends[0])
        high.append(ends[1])
        density.append(7 * beta.pdf(r, a, b))  # of any scale
    return PosteriorTables.of(*map(np.array, (low, high, density)))


SHAPES = [(1, 1), (2, 1), (1, 4), (3, 9), (30, 90), (300, 700), (3, 9), (5000, 20000)]


def test_probabilities_of_beta_distributions():
    tables = tables_of(SHAPES)
    first, second = map(np.ravel, np.indices((len(SHAPES), len(SHAPES))))
    found = preference_probability(tables, first, second)
    expected = [exactly(*SHAPES[i], *SHAPES[j]) for i, j in zip(first, second)]
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_equal_posteriors_give_one_half_and_opposites_sum_to_one():
    tables = tables_of(SHAPES)
    first, second = np.array(list(combinations(range(len(SHAPES)), 2))).T
    there = preference_probability(tables, first, second)
    back = preference_probability(tables, second, first)
    np.testing.assert_allclose(there + back, 1.0, rtol=1e-15)
    same = preference_probability(tables, np.array([3, 4]), np.array([6, 4]))
    assert same.tolist() == [0.5, 0.5]
    # At a bound of the relevance a density has a kink, which no rule is exact for.
    edge = tables_of([(1, 2000), (1, 2000)])
    assert preference_probability(edge, np.array([0]), np.array([1])).tolist() == [0.5]


def test_parts_do_not_change_probabilities(monkeypatch):
    tables = tables_of(SHAPES)
    first, second = map(np.ravel, np.indices((len(SHAPES), len(SHAPES))))
    whole = preference_probability(tables, first, second)
    monkeypatch.setattr("skrank.click._labels_posteriors._PAIRS", 5)
    np.testing.assert_array_equal(preference_probability(tables, first, second), whole)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"density": np.ones((1, 4))}, "an odd number of points"),
        ({"high": np.array([0.0])}, "low and high must bound the density"),
        ({"low": np.zeros(2)}, "low and high must bound the density"),
        ({"density": np.zeros((1, 5))}, "density must be positive somewhere"),
        ({"density": np.full((1, 5), np.nan)}, "density must be positive somewhere"),
    ],
)
def test_wrong_tables(change, words):
    given_ = {"low": np.zeros(1), "high": np.ones(1), "density": np.ones((1, 5))}
    with pytest.raises(ValueError, match=words):
        PosteriorTables.of(**(given_ | change))


class Bayes:
    """A model whose relevances have Beta distributions, by document."""

    shapes = {"a": (2, 8), "b": (9, 3), "c": (3, 3)}

    def relevance(self, query, document):
        return np.array([beta.mean(*self.shapes[d]) for d in document.tolist()])

    def relevance_density(self, query, document, n_points):
        tables = tables_of([self.shapes[d] for d in document.tolist()], n_points)
        return tables.low, tables.high, tables.density


SESSIONS = Sessions.from_lists(
    ["q", "p"], [["c", "b", "a"], ["a", "c"]], [[0, 1, 0], [0, 0]]
)


def test_preferences_of_a_model_with_posteriors():
    found = to_preferences(Bayes(), SESSIONS, threshold=0.8)
    shapes = Bayes.shapes
    expected = {}
    for query, documents in (("p", "ac"), ("q", "abc")):
        for one, other in combinations(documents, 2):
            p = exactly(*shapes[one], *shapes[other])
            better, worse = (one, other) if p > 0.5 else (other, one)
            if max(p, 1 - p) > 0.8:
                expected[query, better, worse] = max(p, 1 - p)
    names = zip(found.groups.tolist(), found.preferred.tolist(), found.other.tolist())
    assert dict(zip(names, found.weight.tolist())) == pytest.approx(expected, abs=1e-4)
    assert len(found) == 4


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_preferences_by_differences(size, monkeypatch):
    monkeypatch.setattr(preferences, "_PAIRS", size)
    rng = np.random.RandomState(0)
    queries, documents = np.repeat([3, 1, 2], [6, 1, 9]), np.arange(16) % 6
    documents[7:] = np.arange(9)
    relevance = rng.randint(0, 5, 16) / 4
    order = rng.permutation(16)
    arrays = queries[order], documents[order], relevance[order]
    found = to_preferences(arrays[2], arrays[:2], method="relevance", threshold=0.3)
    expected = sorted(
        (q, d, e, r - s)
        for q, d, r in zip(*arrays)
        for p, e, s in zip(*arrays)
        if p == q and r - s > 0.3
    )
    columns = found.groups, found.preferred, found.other, found.weight
    assert sorted(zip(*(c.tolist() for c in columns))) == expected
    assert (np.diff(found.groups) >= 0).all()


def by_a_loop(rule, sessions):
    """Return the votes for each (query, preferred, other)."""
    votes = {}
    for s in range(len(sessions)):
        rows = slice(*sessions.ptr[s : s + 2])
        document = sessions.document_ids[sessions.document[rows]].tolist()
        click = sessions.click[rows].tolist()
        query = sessions.query_ids[sessions.query[s]]
        last = max((i for i, c in enumerate(click) if c), default=None)
        for i, j in np.ndindex(len(click), len(click)):
            prefers = {
                "click > skip above": click[i] and not click[j] and j < i,
                "last click > skip above": i == last and not click[j] and j < i,
                "click > earlier click": click[i] and click[j] and j < i,
                "click > skip previous": click[i] and not click[j] and j == i - 1,
                "click > skip next": click[i] and not click[j] and j == i + 1,
            }[rule]
            if prefers and document[i] != document[j]:
                key = query, document[i], document[j]
                votes[key] = votes.get(key, 0) + 1
    return votes


RULES = sorted(preferences._RULES)
IMPRESSIONS = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("pq"), IMPRESSIONS), max_size=8),
    st.sampled_from(RULES),
    st.sampled_from([1, 4, 1 << 20]),
)
def test_rules_by_a_loop(log, rule, size):
    sessions = Sessions.from_lists(
        [query for query, _ in log],
        [[d for d, _ in row] for _, row in log],
        [[c for _, c in row] for _, row in log],
    )
    votes = by_a_loop(rule, sessions)
    for limit in (None, 0.5, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(preferences, "_PAIRS", size)
            found = to_preferences(sessions, method=rule, threshold=limit)
        expected = {
            (q, d, e): n - votes.get((q, e, d), 0)
            for (q, d, e), n in votes.items()
            if n - votes.get((q, e, d), 0) > (limit or 0)
        }
        columns = found.groups, found.preferred, found.other
        keys = list(zip(*(c.tolist() for c in columns)))
        assert len(keys) == len(set(keys))
        assert dict(zip(keys, found.weight.tolist())) == expected


def test_differences_of_the_threshold_are_no_preferences():
    pairs = list("qqqq"), list("abcd")
    found = to_preferences([0.5, 1.0, 0.25, 0.0], pairs, threshold=0.5)
    names = zip(found.preferred.tolist(), found.other.tolist())
    assert set(names) == {("b", "c"), ("b", "d")}
    shown = Sessions.from_lists(["q"] * 2, [["a", "b"], ["b", "a"]], [[0, 0], [0, 0]])
    for model in (BayesianBrowsingModel(max_rank=1), DocumentClickModel()):
        assert len(to_preferences(model.fit(shown), shown)) == 0


def test_votes_that_cancel_are_no_preference():
    shown = Sessions.from_lists(["q"] * 2, [["a", "b"], ["b", "a"]], [[0, 1], [0, 1]])
    for threshold in (-1.0, 0.0, 1.0):
        assert len(to_preferences(shown, threshold=threshold)) == 0


def test_a_ranker_learns_from_preferences():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 3))
    groups, docids = np.repeat(np.arange(4), 10), np.tile(np.arange(10), 4)
    worth = X @ [1.0, -2.0, 0.5]
    found = to_preferences(worth, (groups, docids))
    order = rng.permutation(40)
    pairs, weight = found.rows(groups[order], docids[order])
    assert (worth[order][pairs[:, 0]] > worth[order][pairs[:, 1]]).all()
    assert (groups[order][pairs[:, 0]] == groups[order][pairs[:, 1]]).all()
    assert len(pairs) == 4 * 45
    ranker = RankSVM(alpha=1e-4)
    ranker.fit(X[order], preferences=pairs, groups=groups[order], sample_weight=weight)
    agree = np.diff(ranker.predict(X[order])[pairs], axis=1) < 0
    assert agree.mean() > 0.97


def test_documents_without_rows():
    found = to_preferences(SESSIONS)
    assert found.preferred.tolist() == ["b"]
    with pytest.raises(ValueError, match="1 of 1 pairs of the log have no row"):
        found.rows(["q"], ["b"])
    pairs, weight = found.rows(["q"], ["b"], missing="drop")
    assert pairs.shape == (0, 2)
    assert weight.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((SESSIONS,), {"method": "relevance"}, "source must be a model of clicks for"),
        ((Bayes(), SESSIONS), {"method": "click > skip above"}, "source must be Sess"),
        ((SESSIONS, SESSIONS), {}, "pairs must be None, because source is a log"),
        ((Bayes(),), {}, "pairs must be given, because source is a model"),
        (([1.0] * 5, SESSIONS), {"method": "posterior"}, "a method relevance_density"),
        ((SESSIONS,), {"method": "click"}, "method must be"),
        ((SESSIONS,), {"threshold": np.nan}, "threshold must be"),
    ],
)
def test_wrong_arguments(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        to_preferences(*arguments, **options)
