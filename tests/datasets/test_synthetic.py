"""Synthetic data: the generative model's promises."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skrank.datasets import _synthetic, make_ranking


def n_discordant(y, utility, groups):
    """Pairs of a query that the utility orders against the grades."""
    total = 0
    for query in np.unique(groups):
        rows = groups == query
        higher = y[rows][:, None] > y[rows]
        total += (higher & (utility[rows][:, None] < utility[rows])).sum()
    return total


def test_shapes_ids_and_sizes():
    X, y, groups = make_ranking(30, (2, 9), 7, n_informative=3, random_state=0)
    sizes = np.bincount(groups)
    assert len(sizes) == 30
    assert set(sizes) <= set(range(2, 10))
    assert len(set(sizes)) > 4
    assert X.shape == (sizes.sum(), 7)
    assert y.shape == groups.shape == (sizes.sum(),)
    assert (np.diff(groups) >= 0).all()
    assert set(np.bincount(make_ranking(4, 6, random_state=0)[2])) == {6}


@pytest.mark.parametrize("n_grades", [2, 5])
def test_grades_have_their_shares(n_grades):
    y = make_ranking(100, 20, n_grades=n_grades, random_state=0)[1]
    shares = 0.45 ** np.arange(n_grades)
    shares /= shares.sum()
    np.testing.assert_allclose(np.bincount(y.astype(int)) / 2000, shares, atol=5.1e-4)
    weights = [0.25] * 3 + [0.0, 0.25]
    y = make_ranking(10, 20, grade_weights=weights, random_state=0)[1]
    np.testing.assert_array_equal(np.bincount(y.astype(int)), [50, 50, 50, 0, 50])


@pytest.mark.parametrize("nonlinearity", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("query_effect", [0.0, 2.0])
def test_utility_is_the_optimal_ranking(nonlinearity, query_effect):
    options = {
        "nonlinearity": nonlinearity,
        "query_effect": query_effect,
        "return_utility": True,
        "random_state": 0,
    }
    X, y, groups, utility = make_ranking(noise=0.0, **options)
    assert n_discordant(y, utility, groups) == 0
    np.testing.assert_allclose(utility.std(), 1.0)
    noisy = make_ranking(noise=1.0, **options)
    assert n_discordant(noisy[1], noisy[3], groups) > 0
    np.testing.assert_array_equal(noisy[3], utility)  # noise is drawn afterwards
    np.testing.assert_array_equal(noisy[0], X)


def test_utility_depends_on_informative_features_only():
    X, _, _, utility = make_ranking(
        100, 20, 8, n_informative=3, return_utility=True, random_state=1
    )
    model = LinearRegression().fit(X, utility)
    np.testing.assert_allclose(model.coef_[3:], 0, atol=1e-12)
    assert model.score(X, utility) == pytest.approx(1.0)
    X, _, _, utility = make_ranking(
        100, 20, 8, n_informative=3, nonlinearity=1, return_utility=True, random_state=1
    )
    products = X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 2] * X[:, 0]
    assert np.corrcoef(products, utility)[0, 1] == pytest.approx(1.0)


def test_query_effect_makes_rich_and_poor_queries():
    def spread(query_effect):
        _, y, groups = make_ranking(200, 20, query_effect=query_effect, random_state=0)
        return np.array([y[groups == q].mean() for q in range(200)]).std()

    assert spread(2.0) > 2 * spread(0.0)


def test_missing_values_and_shuffle():
    complete = make_ranking(20, 30, return_utility=True, random_state=0)
    X, y, _, utility = make_ranking(
        20, 30, missing=0.2, return_utility=True, random_state=0
    )
    gone = np.isnan(X)
    assert abs(gone.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / X.size)
    np.testing.assert_array_equal(X[~gone], complete[0][~gone])
    np.testing.assert_array_equal(utility, complete[3])
    np.testing.assert_array_equal(y, complete[1])

    mixed = make_ranking(20, 30, shuffle=True, return_utility=True, random_state=0)
    assert (np.diff(mixed[2]) < 0).any()
    order = np.lexsort((mixed[3], mixed[2]))
    expected = np.lexsort((complete[3], complete[2]))
    for shuffled, original in zip(mixed, complete):
        np.testing.assert_array_equal(shuffled[order], original[expected])


def test_same_seed_same_data():
    for a, b in zip(make_ranking(random_state=3), make_ranking(random_state=3)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_queries": 0},
            "make_ranking: n_queries must be a whole number >= 1",
        ),
        ({"n_grades": 1}, "n_grades must be a whole number >= 2, got 1"),
        ({"n_informative": 30}, "n_informative=30 must not exceed n_features=20"),
        ({"docs_per_query": (5, 2)}, r"with low <= high, got \(5, 2\)"),
        ({"docs_per_query": 0}, "docs_per_query must be a whole number >= 1 or"),
        ({"docs_per_query": 2.5}, "docs_per_query must be a whole number >= 1 or"),
        ({"docs_per_query": (1, 2, 3)}, "a sequence of 2 values, each a whole number"),
        ({"grade_weights": [1, 2]}, "grade_weights must hold 5 numbers >= 0"),
        ({"grade_weights": [0] * 5}, "not all zero"),
        ({"grade_weights": list("abcde")}, "grade_weights must hold 5 numbers >= 0"),
        ({"grade_weights": [[1], [1, 2]]}, "grade_weights must hold 5 numbers >= 0"),
        ({"grade_weights": [1, 1, 1, 1, np.inf]}, "grade_weights must hold 5 numbers"),
        ({"grade_weights": [1, 1, 1, 1, np.nan]}, "grade_weights must hold 5 numbers"),
        ({"grade_weights": [1j] * 5}, "grade_weights must hold 5 numbers >= 0"),
        ({"noise": -1}, r"noise must be a number in \[0, 1e\+100\], got -1"),
        ({"noise": 1e308}, r"noise must be a number in \[0, 1e\+100\], got 1e\+308"),
        ({"shuffle": "no"}, "shuffle must be True or False, got 'no'"),
        ({"return_utility": 1}, "return_utility must be True or False, got 1"),
        ({"nonlinearity": 2}, r"nonlinearity must be a number in \[0, 1\], got 2"),
        ({"query_effect": np.inf}, r"query_effect must be a number in \[0, 1e\+100"),
        ({"missing": 1}, r"missing must be a number in \[0, 1\), got 1"),
        ({"random_state": "a"}, "random_state must be a whole number in"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**parameters)


def test_large_weights_and_spreads_give_the_shares_that_they_ask_for():
    small = make_ranking(grade_weights=[4, 3, 2, 1, 1], random_state=0)[1]
    large = make_ranking(
        grade_weights=[4e307, 3e307, 2e307, 1e307, 1e307], random_state=0
    )
    np.testing.assert_array_equal(small, large[1])
    _, y, _ = make_ranking(noise=1e100, query_effect=1e100, random_state=0)
    assert set(y) == {0, 1, 2, 3, 4}


def test_draws_in_steps_are_those_of_one(monkeypatch):
    """Signals are answered between them."""
    options = {"n_queries": 9, "missing": 0.2, "random_state": 3}
    whole = make_ranking(**options)
    monkeypatch.setattr(_synthetic, "_STEP", 50)
    for one, other in zip(make_ranking(**options), whole):
        np.testing.assert_array_equal(one, other)
