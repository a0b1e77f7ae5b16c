"""Partial dependence by query, and interaction strength, against plain loops."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._core._columns import with_column
from skrank._core._inner import scores_of
from skrank._core._missing import is_missing
from skrank.compat import RankingRegressor
from skrank.datasets import make_ranking
from skrank.inspection import (
    interaction_strength,
    query_partial_dependence,
    query_permutation_importance,
)
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.preprocessing import (
    QueryMinMaxScaler,
    QueryStandardScaler,
    QueryTargetEncoder,
)
from skrank.rankers import MART, LambdaMART, ListNet, PreferenceOrdering, RankSVM


class Product:
    """A fitted scorer with an interaction of two features."""

    def predict(self, X):
        X = np.asarray(X)
        return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 7.0


class Shifted(Product):
    """A scorer that adds a number to the scores of each query."""

    def predict(self, X, groups):
        return super().predict(X) + 100.0 * groups


def by_loop(predict, X, groups, changes):
    """Curves of all documents and their mean over queries, as they are defined."""
    scores = predict(X)
    curves = np.empty((len(X), len(changes)))
    for at, change in enumerate(changes):
        for i in range(len(X)):
            row = X[i].copy()
            for j, value in change.items():
                row[j] = value
            curves[i, at] = predict(row[None])[0] - scores[groups == groups[i]].mean()
    queries = [curves[groups == query].mean(axis=0) for query in np.unique(groups)]
    return curves, np.mean(queries, axis=0)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "lists"])
def test_one_feature(ragged, kind):
    X, y, groups = ragged
    ranker = RankSVM().fit(X, y, groups)
    if kind != "sparse":
        ranker = MART(n_estimators=5, min_samples_leaf=3, random_state=0).fit(
            X, y, groups
        )
    grid = [-1.0, 0.0, 0.5]
    curves, average = by_loop(ranker.predict, X, groups, [{2: v} for v in grid])
    rows, feature = {
        "array": (X, 2),
        "frame": (pd.DataFrame(X, columns=list("abcdef")), "c"),
        "sparse": (sparse.csr_matrix(X), 2),
        "lists": (X.tolist(), 2),
    }[kind]
    if kind == "frame":
        ranker = MART(n_estimators=5, min_samples_leaf=3, random_state=0).fit(
            rows, y, groups
        )
    result = query_partial_dependence(
        ranker, rows, feature, groups, grid=grid, individual=True
    )
    np.testing.assert_allclose(result.average, average, atol=1e-12)
    np.testing.assert_allclose(result.individual, curves, atol=1e-12)
    np.testing.assert_array_equal(result.grid_values[0], grid)


def test_two_features(ragged):
    X, _, groups = ragged
    grids = [-1.0, 2.0], [0.5, 1.0, 3.0]
    changes = [{0: a, 1: b} for a in grids[0] for b in grids[1]]
    _, average = by_loop(Product().predict, X, groups, changes)
    result = query_partial_dependence(Product(), X, (0, 1), groups, grid=grids)
    np.testing.assert_allclose(result.average.ravel(), average, atol=1e-12)
    assert "individual" not in result


def test_a_constant_of_the_query_changes_nothing(ragged):
    X, _, groups = ragged
    plain = query_partial_dependence(Product(), X, 1, groups)
    shifted = query_partial_dependence(Shifted(), X, 1, groups)
    np.testing.assert_allclose(plain.average, shifted.average, atol=1e-10)


def test_the_default_grid(ragged):
    X, _, groups = ragged
    X[:, 3] = np.arange(len(X)) % 4
    X[5, 3] = np.nan
    few = query_partial_dependence(Product(), X, 3, groups)
    np.testing.assert_array_equal(few.grid_values[0], [0, 1, 2, 3])
    many = query_partial_dependence(Product(), X, 2, groups, grid_resolution=9)
    low, high = np.quantile(X[:, 2], [0.05, 0.95])
    np.testing.assert_allclose(many.grid_values[0], np.linspace(low, high, 9))


def test_rankers_that_need_groups(ragged):
    X, _, _ = ragged
    with pytest.raises(ValueError, match=r"a score of Shifted depends on the other"):
        interaction_strength(Shifted(), X)


def test_interactions_by_their_definition(ragged):
    X, _, _ = ragged
    X = X[:30, :3]
    result = interaction_strength(Product(), X, n_samples=1000)

    def dependence(columns):
        found = []
        for row in X:
            changed = X.copy()
            changed[:, columns] = row[columns]
            found.append(Product().predict(changed).mean())
        return np.array(found) - np.mean(found)

    for a, b in [(0, 1), (0, 2), (1, 2)]:
        joint = dependence([a, b])
        rest = joint - dependence([a]) - dependence([b])
        expected = np.sqrt(np.sum(rest**2) / np.sum(joint**2))
        assert result.strength[a, b] == pytest.approx(expected, abs=1e-12)
        assert result.strength[b, a] == result.strength[a, b]
        assert result.amount[a, b] == pytest.approx(np.sqrt(np.mean(rest**2)))
    assert result.strength[0, 1] > 0.5
    assert result.strength[0, 2] < 1e-10


def test_a_product_of_centred_features_is_all_interaction():
    X = np.array([[a, b, 0.0] for a in (-1, 1) for b in (-1, 1)], dtype=float)
    result = interaction_strength(Product(), X, [0, 1])
    np.testing.assert_allclose(result.strength, [[0, 1], [1, 0]])


def test_a_sample_is_drawn_by_its_seed(ragged):
    X, y, groups = ragged
    ranker = MART(n_estimators=5, min_samples_leaf=3, random_state=0).fit(X, y, groups)
    one, two, other = (
        interaction_strength(ranker, X, [0, 1], n_samples=9, random_state=seed)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.amount, two.amount)
    assert (one.amount != other.amount).any()


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (6, r"^feature must be from 0 to 5, got 6"),
        ("a", r"^feature: no column is named 'a'; X has none"),
        ((0, 1, 2), r"^feature must be a column or a pair"),
        ((1, 1), r"^feature must name two columns"),
        (1.5, r"^feature must be the number or the name of a column, got 1.5"),
    ],
)
def test_features_that_are_not_there(ragged, feature, message):
    X, _, groups = ragged
    with pytest.raises((TypeError, ValueError), match=message):
        query_partial_dependence(Product(), X, feature, groups)


def test_bad_arguments_are_named(ragged):
    X, _, groups = ragged
    with pytest.raises(ValueError, match=r"groups"):
        query_partial_dependence(Product(), X, 0)
    with pytest.raises(ValueError, match=r"^grid must hold one array for each of 2"):
        query_partial_dependence(Product(), X, (0, 1), groups, grid=[1.0])
    with pytest.raises(ValueError, match=r"^grid must hold arrays of values"):
        query_partial_dependence(Product(), X, 0, groups, grid=[[1.0]])
    with pytest.raises(TypeError, match=r"^features must be a sequence"):
        interaction_strength(Product(), X, "ab")
    with pytest.raises(ValueError, match=r"^features must name each column once"):
        interaction_strength(Product(), X, [0, 0])


GROUPS = np.repeat(np.arange(6), 10)
FAST = {"n_estimators": 3, "min_samples_leaf": 2, "random_state": 0}


@pytest.fixture(scope="module")
def named():
    """Names of which some are missing, grades and a number."""
    rng = np.random.default_rng(0)
    names = rng.choice(["a", "b"], 60).astype(object)
    names[::7] = None
    y = rng.integers(0, 2, 60) + (names == "a") * 1.0
    return names, y, rng.normal(size=60)


def test_an_adapter_needs_queries_only_where_its_ranker_does():
    X, y, groups = make_ranking(n_queries=6, docs_per_query=8, random_state=0)
    ranker = LambdaMART(**FAST)
    given = {"n_samples": 9, "random_state": 0}
    alone = interaction_strength(clone(ranker).fit(X, y, groups), X, [0, 1], **given)
    adapter = RankingRegressor(ranker).fit(X, y, groups=groups)
    found = interaction_strength(adapter, X, [0, 1], **given)
    np.testing.assert_array_equal(found.amount, alone.amount)
    adapter = RankingRegressor(ranker, normalization="zmuv")
    adapter.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="RankingRegressor depends on the other doc"):
        interaction_strength(adapter, X, [0, 1], **given)


@pytest.mark.parametrize("dtype", ["string", "as it is", "category", object, "array"])
def test_names_beside_missing_ones(named, dtype):
    names, y, number = named
    X = pd.DataFrame({"n": number, "site": names})
    if dtype == "array":
        X = X.to_numpy(object)
    elif dtype != "as it is":
        X = X.astype({"site": dtype})
    given = [1] if dtype == "array" else "from_dtype"
    ranker = LambdaMART(categorical_features=given, **FAST).fit(X, y, GROUPS)
    result = query_partial_dependence(ranker, X, 1, GROUPS)
    assert result.grid_values[0].tolist() == ["a", "b"]
    more = query_partial_dependence(ranker, X, 1, GROUPS, grid=["b", None, np.nan, "a"])
    np.testing.assert_allclose(more.average[[3, 0]], result.average)
    assert more.average[1] == more.average[2]
    assert more.average[1] != more.average[3]
    pair = query_partial_dependence(ranker, X, (0, 1), GROUPS, grid_resolution=2)
    assert pair.average.shape == (2, 2)
    interaction_strength(ranker, X, n_samples=4, random_state=0)


def test_numbers_and_strings_in_one_column(named):
    _, y, number = named
    mixed = np.resize(np.array([3, "x", None, 1], dtype=object), 60)
    X = pd.DataFrame({"n": number, "site": mixed})
    ranker = LambdaMART(categorical_features=["site"], **FAST).fit(X, y, GROUPS)
    result = query_partial_dependence(ranker, X, "site", GROUPS)
    assert result.grid_values[0].tolist() == [1, 3, "x"]
    given = query_partial_dependence(ranker, X, "site", GROUPS, grid=["x", 3])
    np.testing.assert_allclose(given.average, result.average[[2, 1]])


@pytest.mark.parametrize("kind", ["Int64", "Float64", "object", "masked"])
def test_numbers_beside_missing_ones(named, kind):
    _, y, number = named
    few = np.resize([2, 0, 1, 1], 60)
    hidden = np.arange(60) % 7 == 0
    if kind == "masked":
        X = np.ma.masked_array(np.column_stack([number, few]), False)
        X[hidden, 1] = np.ma.masked
    else:
        values = pd.Series(few, dtype=kind)
        values[hidden] = None if kind == "object" else pd.NA
        X = pd.DataFrame({"n": number, "few": values})
    ranker = LambdaMART(**FAST).fit(X, y, GROUPS)
    result = query_partial_dependence(ranker, X, 1, GROUPS)
    assert result.grid_values[0].tolist() == [0, 1, 2]
    given = query_partial_dependence(ranker, X, 1, GROUPS, grid=[2, pd.NA, None])
    assert given.average[0] == result.average[2]
    assert given.average[1] == given.average[2]
    interaction_strength(ranker, X, n_samples=9, random_state=0)


@pytest.mark.parametrize("how", ["alone", "scaled", "nested", "encoded", "inner"])
def test_numbers_that_are_names_have_no_numbers_between(how):
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 70, 300)
    X, groups = np.column_stack([rng.normal(size=300), shop]), np.arange(300) // 10
    y = shop % 2 * 1.0
    ranker = LambdaMART(categorical_features=[1], **FAST | {"n_estimators": 9})
    model = {
        "alone": ranker,
        "scaled": make_pipeline(StandardScaler(), ranker),
        "nested": make_pipeline("passthrough", make_pipeline(StandardScaler(), ranker)),
        "encoded": make_pipeline(QueryTargetEncoder([1], random_state=0), RankSVM()),
        "inner": PreferenceOrdering([("trees", ranker)], features="none"),
    }[how]
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(X, y, groups=groups)
    result = query_partial_dependence(model, X, 1, groups, grid_resolution=20)
    values, counts = np.unique(shop, return_counts=True)
    expected = sorted(values[np.argsort(-counts, kind="stable")[:20]])
    assert result.grid_values[0].tolist() == expected
    assert np.ptp(result.average) > 0.1
    amount = query_partial_dependence(model, X, 0, groups, grid_resolution=5)
    assert np.ptp(np.diff(amount.grid_values[0])) < 1e-12


def test_the_most_frequent_names_are_taken():
    names = np.repeat(["d", "c", "b", "a"], [3, 1, 1, 5]).astype(object)
    result = query_partial_dependence(
        ByLength(), names[:, None], 0, np.zeros(10), grid_resolution=2
    )
    assert result.grid_values[0].tolist() == ["a", "d"]


class ByLength:
    """A scorer of names and numbers by what they look like."""

    def predict(self, X):
        return np.array([len(str(row[-1])) for row in np.asarray(X)], dtype=float)


@pytest.mark.parametrize("make", [np.array, sparse.csr_matrix, np.ndarray.tolist])
def test_whole_numbers_can_be_replaced_by_others(make):
    X = make(np.array([[1, 2], [3, 4]]))
    result = query_partial_dependence(Sum(), X, 1, [0, 0], grid=[0.5, 2.0**40])
    assert np.diff(result.average).tolist() == [2.0**40 - 0.5]


class Sum:
    """A scorer that adds the features."""

    def predict(self, X):
        return np.ravel(np.asarray(X.sum(axis=1)))


def test_names_are_not_cut_off():
    X = np.array([["a"], ["b"]])
    result = query_partial_dependence(ByLength(), X, 0, [0, 0], grid=["a", "long"])
    assert np.diff(result.average).tolist() == [3.0]
    mixed = [["a", 1.5], ["b", 2.5]]
    result = query_partial_dependence(ByLength(), mixed, 0, [0, 0], grid=["a"])
    assert result.average.tolist() == [0.0]


def test_features_that_no_tree_uses_do_not_interact(ragged):
    X, y, groups = ragged
    X = np.column_stack([X, np.ones(len(X)), np.full(len(X), 2.0)])
    ranker = MART(n_estimators=20, min_samples_leaf=5).fit(X, y, groups)
    d = X.shape[1]
    found = interaction_strength(ranker, X, n_samples=20, random_state=0)
    assert found.strength.max() > 0
    assert (found.strength[d - 2 :] == 0).all()
    assert (found.amount[d - 2 :] == 0).all()


def test_frames_of_polars_stay_frames():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    kinds = {"site": rng.choice(list("abc"), 200), "x": rng.random(200)}
    kinds["kind"] = polars.Series(rng.choice(["u", "v"], 200)).cast(
        polars.Enum(["u", "v"])
    )
    X, groups = polars.DataFrame(kinds), np.repeat(np.arange(10), 20)
    y = rng.integers(0, 3, 200)
    ranker = MART(n_estimators=5, min_samples_leaf=5, random_state=0).fit(X, y, groups)
    same = ranker.predict(X)
    for j, name in enumerate(X.columns):
        changed = with_column(X, j, X[name].to_numpy())
        np.testing.assert_array_equal(ranker.predict(changed), same)
        constant = with_column(X, j, X[name][0])
        assert constant[name].unique().to_list() == [X[name][0]]
        # No warning that names of features were lost.
        query_partial_dependence(ranker, X, name, groups)
    query_permutation_importance(ranker, X, y, groups, n_repeats=2, random_state=0)


@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_levels_of_polars_are_names_or_missing(kind):
    polars = pytest.importorskip("polars")
    dtype = polars.Enum(["a", "b"]) if kind == "Enum" else getattr(polars, kind)
    names = polars.Series(["a", "b"] * 50, dtype=dtype)
    X = polars.DataFrame({"name": names, "x": np.arange(100.0)})
    groups, y = np.repeat(np.arange(5), 20), np.arange(100) % 2
    ranker = MART(n_estimators=3, min_samples_leaf=3).fit(X, y, groups)
    grid = ["a", "b", np.nan, None]
    found = query_partial_dependence(ranker, X, "name", groups, grid=grid).average
    assert found[0] < found[1]
    assert found[2] == found[3]
    for odd in ([1, 2], ["a", 1], [b"a"]):
        with pytest.raises(ValueError, match="name"):
            query_partial_dependence(ranker, X, "name", groups, grid=odd)


def test_columns_of_polars_take_other_numbers():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(100, 2)), np.repeat(np.arange(5), 20)
    y = (X[:, 0] > 0).astype(int)
    ranker = MART(n_estimators=3).fit(pd.DataFrame(X, columns=["a", "b"]), y, groups)
    for column in (X[:, 0] > 0, [None] * 100, np.arange(100) % 2):
        frame = polars.DataFrame({"a": column, "b": X[:, 1]})
        rows = pd.DataFrame({"a": np.array(column, float), "b": X[:, 1]})
        found, expected = (
            query_partial_dependence(
                ranker, Z, 0, groups, grid=[0.2, 5.0, -1.0]
            ).average
            for Z in (frame, rows)
        )
        np.testing.assert_allclose(np.ptp(found), np.ptp(expected))


def among_others(predict, X, groups, changes):
    """Curves of single documents that change among the others, and their mean."""
    before = predict(X)
    curves = np.empty((len(X), len(changes)))
    for at, change in enumerate(changes):
        for i in range(len(X)):
            rows = X.copy()
            for j, value in change.items():
                rows[i, j] = value
            scores, query = predict(rows), groups == groups[i]
            curves[i, at] = scores[i] - before[query].mean()
            others = query & (np.arange(len(X)) != i)
            if others.any():
                curves[i, at] += (before - scores)[others].mean()
    queries = [curves[groups == query].mean(axis=0) for query in np.unique(groups)]
    return curves, np.mean(queries, axis=0)


DEPENDENT = {
    "scaled": make_pipeline(QueryStandardScaler(), RankSVM(alpha=0.1)),
    "nested": make_pipeline(
        StandardScaler(), make_pipeline(QueryMinMaxScaler(), ListNet())
    ),
    "columns": make_pipeline(
        ColumnTransformer([("scaled", QueryStandardScaler(), [0, 1, 2])]), RankSVM()
    ),
    "searched": GridSearchCV(
        make_pipeline(QueryStandardScaler(), RankSVM()),
        {"ranksvm__alpha": [0.1]},
        cv=QueryKFold(2),
        scoring=make_ranking_scorer("ndcg"),
    ),
    "ordering": PreferenceOrdering([("svm", RankSVM())], features="none"),
    "normalised": RankingRegressor(RankSVM(), normalization="zmuv"),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_scores_that_depend_on_the_query(name):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([7, 3, 5, 4, 6], [5, 1, 4, 4, 2]))
    X = rng.normal(size=(16, 4))
    y = (X[:, 1] + 0.3 * rng.normal(size=16) > 0) * 1.0
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(DEPENDENT[name]).fit(X, y, groups=groups)

        def predict(rows):
            return scores_of(model, rows, groups)

        for feature, grid, changes in [
            (1, [-1.0, 0.5, 2.0], [{1: v} for v in (-1.0, 0.5, 2.0)]),
            ((0, 1), ([0.5], [-1, 1]), [{0: 0.5, 1: -1.0}, {0: 0.5, 1: 1.0}]),
        ]:
            curves, average = among_others(predict, X, groups, changes)
            result = query_partial_dependence(
                model, X, feature, groups, grid=grid, individual=True
            )
            found = result.individual.reshape(curves.shape)
            np.testing.assert_allclose(found, curves, atol=1e-12)
            np.testing.assert_allclose(result.average.ravel(), average, atol=1e-12)
            assert np.ptp(average) > 0.1


class Names:
    """A scorer of names by the length, above the shortest of their query."""

    def predict(self, X, groups):
        names = np.asarray(X)[:, 1]
        length = np.array([0 if is_missing(s) else len(s) for s in names], float)
        least = {g: length[groups == g].min() for g in np.unique(groups)}
        return length - [least[g] for g in groups]


@pytest.mark.parametrize("kind", ["object", "string", "category", "array", "polars"])
def test_names_among_others(kind):
    names = np.array(["a", "bb", "ccc", "a"] * 3, dtype=object)
    numbers, groups = np.arange(12), np.repeat([1, 0], 6)
    if kind == "array":
        X = np.column_stack([numbers, names])
    elif kind == "polars":
        X = pytest.importorskip("polars").DataFrame({"n": numbers, "s": names.tolist()})
    else:
        X = pd.DataFrame({"n": numbers, "s": pd.Series(names, dtype=kind)})
    result = query_partial_dependence(Names(), X, 1, groups, grid=["a", "four", None])
    rows = np.column_stack([numbers, names])
    changes = [{1: v} for v in ("a", "four", None)]
    _, expected = among_others(
        lambda rows: Names().predict(rows, groups), rows, groups, changes
    )
    np.testing.assert_allclose(result.average, expected)


def test_large_numbers_stay_exact_among_others():
    class Last:
        def predict(self, X, groups):
            return (np.asarray(X)[:, 0] % 8).astype(float)

    X = np.array([[2**60 + 1], [2**60 + 2], [2**60 + 3]])
    result = query_partial_dependence(Last(), X, 0, [0, 0, 0], grid=[2**60 + 5])
    assert result.average.tolist() == [3.0]
    few = query_partial_dependence(Sum(), X[:, :] * 0, 0, [0, 0, 0], grid=[0.5])
    assert few.average.tolist() == [0.5]


def test_scores_whose_squares_overflow_are_refused():
    X, y, groups = make_ranking(n_queries=10, random_state=0)
    ranker = RankSVM().fit(X, y, groups)
    message = r"estimator must give scores from -1e\+150 to 1e\+150, .* scale X or"
    with pytest.raises(ValueError, match=message):
        interaction_strength(ranker, X * 1e300, [0, 1])
    for grid in ([0, 1.7e308], [-1.7e308]):
        with pytest.raises(ValueError, match=message):
            query_partial_dependence(ranker, X, 0, groups, grid=grid)
    one, large = (
        interaction_strength(ranker, factor * X, [0, 1], random_state=0)
        for factor in (1, 2.0**400)
    )
    np.testing.assert_allclose(large.strength, one.strength)


@pytest.mark.parametrize("make", [np.asarray, list], ids=["array", "list"])
def test_rows_without_columns_are_refused(make):
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    ranker = RankSVM().fit(X, y, groups)
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D .* X must be two"):
        query_partial_dependence(ranker, make(y), 0, groups)


def test_columns_that_are_none_are_named():
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    ranker = RankSVM().fit(X, y, groups)
    for feature in (np.array(1.0), np.array(1), [[1], [2, 3]]):
        with pytest.raises((TypeError, ValueError), match=r"^feature must be"):
            query_partial_dependence(ranker, X, feature, groups)
        with pytest.raises(TypeError, match=r"^features must be"):
            interaction_strength(ranker, X, feature)
    for duration in ([np.timedelta64(1, "s")], np.array([1], "m8[s]")):
        message = "^features must be the number or the name of a column, got "
        message += r"(np|numpy)\.timed"
        with pytest.raises(TypeError, match=message):
            interaction_strength(ranker, X, duration)
    with pytest.raises(ValueError, match="grid must hold one array for each of 2"):
        query_partial_dependence(ranker, X, [0, 1], groups, grid=np.array(1.0))


def test_rows_of_different_lengths_are_refused():
    ranker = RankSVM().fit(np.eye(2), [0, 1], [1, 1])
    with pytest.raises(ValueError, match=r"^X must hold rows of equal length$"):
        query_partial_dependence(ranker, [[1], [1, 2]], 0, [1, 1])
    with pytest.raises(ValueError, match=r"^X must hold rows of equal length$"):
        query_permutation_importance(ranker, [[1], [1, 2]], [0, 1], [1, 1])
