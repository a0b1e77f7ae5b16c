"""Association rules against eq. 2.9–2.11 of the book, rule by rule."""

import itertools
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.rankers import AssociationRuleRanker
from skrank.rankers._association_rules import _halves


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        n_queries=12, n_features=4, n_informative=3, n_grades=3, random_state=0
    )


def naive(ranker, X, y, X_new, weight):
    """Rules by counting rows, and scores by looking at every rule."""
    old, new = ranker._items(X), ranker._items(X_new)
    grades, total = np.unique(y), weight.sum()
    rules = {}
    for size in range(1, ranker.max_size + 1):
        for features in itertools.combinations(range(X.shape[1]), size):
            for items in {tuple(row[list(features)]) for row in old}:
                has = np.isin(old, items).sum(axis=1) == size
                for grade in grades:
                    both = weight[has & (y == grade)].sum()
                    support, confidence = both / total, both / weight[has].sum()
                    if (
                        both > 0
                        and support >= ranker.min_support
                        and confidence >= ranker.min_confidence
                    ):
                        rules[items, grade] = support, confidence
    scores = []
    for row in new:
        theta = {}
        for grade in grades:
            found = [
                confidence
                for (items, of), (_, confidence) in rules.items()
                if of == grade and set(items) <= set(row)
            ]
            theta[grade] = np.mean(found) if found else 0.0
        whole = sum(theta.values())
        mean_grade = np.average(y, weights=weight)
        scores.append(
            sum(g * t / whole for g, t in theta.items()) if whole else mean_grade
        )
    return rules, np.array(scores)


SETTINGS = [
    {},
    {"n_bins": 3, "max_size": 2, "min_support": 0.02},
    {"n_bins": 2, "max_size": 3, "min_support": 0.05, "min_confidence": 0.4},
    {"n_bins": 5, "min_support": 0.1, "min_confidence": 0.6},
]


@pytest.mark.parametrize("params", SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_rules_and_scores(params, weighted, data):
    X, y, groups = data
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    weight = weight if weighted else np.ones(len(y))
    given = {"sample_weight": weight} if weighted else {}
    ranker = AssociationRuleRanker(**params).fit(X, y, groups, **given)
    X_new = np.vstack([X[:20], 3.0 * X[:20]])
    rules, scores = naive(ranker, X, y, X_new, weight)
    found = {}
    for place, items in enumerate(ranker.itemsets_):
        for code in np.flatnonzero(ranker.confidence_[place]):
            items_of = tuple(int(i) for i in items if i >= 0)
            key = (items_of, ranker.grades_[code])
            found[key] = ranker.support_[place, code], ranker.confidence_[place, code]
    assert found.keys() == rules.keys()
    for key, expected in rules.items():
        np.testing.assert_allclose(found[key], expected)
    # Eq. 2.9 counts the rules.
    assert np.count_nonzero(ranker.confidence_) == len(rules)
    np.testing.assert_allclose(ranker.predict(X_new), scores, rtol=1e-10)


@pytest.mark.parametrize("mining", ["fit", "predict"])
@pytest.mark.parametrize("max_size", [1, 2, 3])
@pytest.mark.parametrize(("min_support", "size"), [(0.15, 2), (0.4, 1), (0.9, 0)])
def test_sets_end_where_none_reaches_the_support(min_support, size, max_size, mining):
    """Sets of two ranges, of one or of none, which leaves the mean grade."""
    x = np.repeat([0.0, 0.0, 1.0, 1.0], 5)
    X, y = np.column_stack([x, np.tile([0.0, 1.0], 10)]), (x > 0).astype(float)
    groups = np.arange(20) % 2
    ranker = AssociationRuleRanker(
        max_size=max_size, min_support=min_support, n_bins=2, mining=mining
    )
    told = pytest.warns(TrainingDataWarning, match=f"min_support={min_support:g} is")
    with nullcontext() if size else told:
        ranker.fit(X, y, groups)
    # Rules of the second feature, which says nothing, reach the lowest support alone.
    if size < 2:
        expected = np.full(20, y.mean()) if size == 0 else x
        np.testing.assert_allclose(ranker.predict(X), expected)
    if mining == "fit":
        sizes = (ranker.itemsets_ >= 0).sum(axis=1)
        assert sizes.max(initial=0) == min(size, max_size)


@pytest.mark.parametrize("params", SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_mining_on_demand_gives_the_same_scores(params, weighted, data, tmp_path):
    X, y, groups = data
    given = {"sample_weight": y + 1.0} if weighted else {}
    first = AssociationRuleRanker(**params).fit(X, y, groups, **given)
    later = AssociationRuleRanker(mining="predict", **params)
    later.fit(X, y, groups, **given)
    for rows in (X, X[:1], X[5:9] + 0.1):
        np.testing.assert_allclose(later.predict(rows), first.predict(rows))
    save_model(later, tmp_path / "model.skrank")
    again = load_model(tmp_path / "model.skrank")
    np.testing.assert_array_equal(again.predict(X), later.predict(X))


def test_on_demand_only_what_documents_have_is_looked_at(data):
    X, y, groups = data
    ranker = AssociationRuleRanker(max_size=2, mining="predict").fit(X, y, groups)
    from skrank.rankers._association_rules import _Table

    n = ranker._n_items()
    table = _Table.of(ranker.training_items_, ranker.training_codes_, None, n)
    rows = ranker._items(X[:1])
    itemsets, _, _ = ranker._mine(table, _Table.of(rows, None, None, n))
    assert set(itemsets.ravel()) <= {*rows.ravel().tolist(), -1}


def test_missing_values_are_a_range_of_their_own():
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]] * 5)
    y = np.array([0.0, 1.0, 2.0, 2.0] * 5)
    ranker = AssociationRuleRanker().fit(X, y, np.repeat(range(5), 4))
    assert ranker.predict(X[:4]).tolist() == [0.0, 1.0, 2.0, 2.0]


def test_rules_in_words():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, np.nan], [2.0, 5.0]] * 5)
    y = np.array([0.0, 1.0, 2.0, 2.0] * 5)
    frame = pd.DataFrame(X, columns=["bm25", "age"])
    ranker = AssociationRuleRanker().fit(frame, y, np.repeat(range(5), 4))
    words = ranker.describe(4)
    assert words[0] == "bm25 > 1.5: grade 2 (confidence 1, support 0.5)"
    assert "bm25 <= 0.5: grade 0 (confidence 1, support 0.25)" in words
    assert "0.5 < bm25 <= 1.5: grade 1 (confidence 1, support 0.25)" in words
    assert "age is missing: grade 2 (confidence 1, support 0.25)" in words
    everything = " ".join(ranker.describe(100))
    assert "age is there: grade 0 (confidence 0.33, support 0.25)" in everything
    assert (
        "x0 > 1.5: grade 2"
        in AssociationRuleRanker().fit(X, y, np.repeat(range(5), 4)).describe(1)[0]
    )
    with pytest.raises(ValueError, match="mining='predict' keeps no rules"):
        AssociationRuleRanker(mining="predict").fit(X, y, np.arange(20) // 4).describe()


def test_too_many_grades():
    X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300.0)
    with pytest.raises(ValueError, match="y must have at most 256 different grades"):
        AssociationRuleRanker().fit(X, y, np.arange(300) // 10)


def test_old_numpy_counts_bits_by_a_table(monkeypatch, data):
    X, y, groups = data
    expected = AssociationRuleRanker().fit(X, y, groups).confidence_
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    found = AssociationRuleRanker().fit(X, y, groups).confidence_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mining", ["fit", "predict"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_do_not_depend_on_the_rows_beside(weighted, mining, data):
    X, y, groups = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    ranker = AssociationRuleRanker(max_size=2, mining=mining)
    ranker.fit(X, y, groups, sample_weight=weight)
    expected = ranker.predict(X)
    alone = [ranker.predict(X[i : i + 1])[0] for i in range(40)]
    np.testing.assert_array_equal(alone, expected[:40])
    np.testing.assert_array_equal(ranker.predict(X[3:30]), expected[3:30])


@pytest.mark.parametrize("weighted", [False, True])
def test_mining_on_demand_gives_the_same_bits(weighted, data):
    X, y, groups = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    first, later = (
        AssociationRuleRanker(max_size=2, mining=mining)
        .fit(X, y, groups, sample_weight=weight)
        .predict(X[:30])
        for mining in ("fit", "predict")
    )
    np.testing.assert_array_equal(first, later)


def test_halves_make_the_whole():
    shares = np.random.default_rng(0).random(1000)
    high, low = _halves(shares)
    # Halves of the last bit of both; sums of each are exact.
    assert np.abs(high + low - shares).max() <= 2.0**-54


def test_scores_of_many_grades_do_not_depend_on_other_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(301, 3)), rng.integers(0, 11, 301)
    ranker = AssociationRuleRanker(max_size=2).fit(X, y, groups=np.arange(301) // 43)
    alone = [ranker.predict(X[i : i + 1])[0] for i in range(len(X))]
    np.testing.assert_array_equal(ranker.predict(X), alone)


def test_switching_the_mining_after_the_fit(tmp_path):
    X, y, groups = make_ranking(n_queries=10, random_state=0)
    ranker = AssociationRuleRanker(mining="predict").fit(X, y, groups)
    ranker.set_params(mining="fit")
    save_model(ranker, tmp_path / "m")
    found = load_model(tmp_path / "m").predict(X[:20])
    np.testing.assert_array_equal(found, ranker.predict(X[:20]))
