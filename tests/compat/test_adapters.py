"""Rankers as regressors: every tool predicts what a loop written by hand predicts.

The queries are a column of X, in an array and in a data frame, or the index of X. The
rankers score whole queries, so that a prediction without its queries would fail, and
one with others would differ.
"""

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import (
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank.compat import RankingRegressor
from skrank.export import load_model, save_model
from skrank.inspection import query_permutation_importance
from skrank.metrics import QueryLeakageWarning, make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold, QuerySubsample
from skrank.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from skrank.rankers import (
    BoltzRank,
    LambdaMART,
    PRank,
    PreferenceOrdering,
    SubsetRegression,
)

pd = pytest.importorskip("pandas")

CV = QueryKFold(3)
NDCG = make_ranking_scorer("ndcg@10")
RANKERS = {
    "potentials": BoltzRank(pairwise_potential=True, max_iter=3, random_state=0),
    "ordering": PreferenceOrdering(),
    "scaled": make_pipeline(QueryStandardScaler(), SubsetRegression()),
}
rankers = pytest.mark.parametrize("ranker", RANKERS.values(), ids=list(RANKERS))


class Task:
    """Rows whose queries are in a column, or in the index."""

    def __init__(self, kind):
        rng = np.random.default_rng(3)
        self.groups = rng.permutation(np.repeat(np.arange(12), rng.integers(4, 9, 12)))
        self.features = rng.normal(size=(len(self.groups), 3))
        utility = self.features @ [2.0, 1.0, 0.0] + rng.normal(size=len(self.groups))
        self.y = self.grades = np.digitize(utility, [0, 2]).astype(float)
        self.column, self.kind = None, kind
        frame = pd.DataFrame(self.features, columns=list("abc"))
        if kind == "array":
            self.X, self.column = np.insert(self.features, 1, self.groups, axis=1), 1
        elif kind == "frame":
            self.X, self.column = frame.assign(user=self.names), "user"
        else:
            self.X = frame.set_index(pd.Index(self.groups, name="qid"))
            self.y = pd.Series(self.grades, index=self.X.index)
        self.splits = list(CV.split(self.features, self.grades, self.groups))

    @property
    def names(self):
        return [f"user {i:03d}" for i in self.groups]

    def adapted(self, ranker, **options):
        return RankingRegressor(ranker, groups_column=self.column, **options)

    def rows(self, rows):
        return self.X[rows] if self.kind == "array" else self.X.iloc[rows]

    def model(self, ranker, rows):
        """A ranker, or a pipeline, fitted with the groups passed by name."""
        X = self.features
        if self.kind != "array":
            X = pd.DataFrame(X, columns=list("abc")).to_numpy()
        with sklearn.config_context(enable_metadata_routing=True):
            return clone(ranker).fit(
                X[rows], self.grades[rows], groups=self.groups[rows]
            )

    def scores(self, ranker, train, test):
        with sklearn.config_context(enable_metadata_routing=True):
            return self.model(ranker, train).predict(
                self.features[test], groups=self.groups[test]
            )

    def cross_validated(self, ranker):
        return [
            ndcg_score(
                self.grades[test],
                self.scores(ranker, train, test),
                groups=self.groups[test],
                k=10,
            )
            for train, test in self.splits
        ]


@pytest.fixture(params=["array", "frame", "index"])
def task(request):
    return Task(request.param)


ALL = slice(None)


@rankers
def test_predictions_of_a_search(task, ranker):
    search = GridSearchCV(
        task.adapted(ranker), {}, cv=task.splits, scoring=NDCG, error_score="raise"
    ).fit(task.X, task.y)
    np.testing.assert_allclose(
        [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)],
        task.cross_validated(ranker),
    )
    expected = task.scores(ranker, ALL, ALL)
    np.testing.assert_allclose(search.predict(task.X), expected)
    value = ndcg_score(task.grades, expected, groups=task.groups, k=10)
    assert search.score(task.X, task.y) == pytest.approx(value)


@rankers
def test_cross_val_predict(task, ranker):
    got = cross_val_predict(task.adapted(ranker), task.X, task.y, cv=task.splits)
    for train, test in task.splits:
        np.testing.assert_allclose(got[test], task.scores(ranker, train, test))


@rankers
@pytest.mark.parametrize("routing", [True, False], ids=["routing", "plain"])
def test_groups_for_the_splitter_may_be_passed_beside_the_column(task, ranker, routing):
    """With routing they reach the adapter and the scorer as well."""
    groups = task.names if task.kind == "frame" else task.groups
    expected = task.cross_validated(ranker)
    with sklearn.config_context(enable_metadata_routing=routing):
        options = {"params": {"groups": groups}} if routing else {"groups": groups}
        for scoring in (NDCG, None):
            got = cross_val_score(
                task.adapted(ranker), task.X, task.y, cv=CV, scoring=scoring, **options
            )
            np.testing.assert_allclose(got, expected)
        search = GridSearchCV(task.adapted(ranker), {}, cv=CV, scoring=NDCG)
        search.fit(task.X, task.y, groups=groups)
        assert search.best_score_ == pytest.approx(np.mean(expected))
        np.testing.assert_allclose(
            search.predict(task.X), task.scores(ranker, ALL, ALL)
        )


@rankers
def test_voting(task, ranker):
    vote = VotingRegressor(
        [("a", task.adapted(ranker)), ("b", task.adapted(SubsetRegression(alpha=1e3)))]
    )
    others = SubsetRegression(alpha=1e3)
    for train, test in task.splits:
        vote.fit(task.rows(train), task.y[train] if task.column else task.y.iloc[train])
        expected = task.scores(ranker, train, test) + task.scores(others, train, test)
        np.testing.assert_allclose(vote.predict(task.rows(test)), expected / 2)


def test_voting_with_routing(task):
    ranker = RANKERS["potentials"]
    vote = VotingRegressor([("a", task.adapted(ranker))])
    with sklearn.config_context(enable_metadata_routing=True):
        vote.fit(task.X, task.y, groups=task.groups, sample_weight=np.ones(len(task.y)))
    np.testing.assert_allclose(vote.predict(task.X), task.scores(ranker, ALL, ALL))


@rankers
def test_stacking(task, ranker):
    stack = StackingRegressor([("a", task.adapted(ranker))], cv=task.splits)
    stack.fit(task.X, task.y)
    first = np.empty((len(task.grades), 1))
    for train, test in task.splits:
        first[test, 0] = task.scores(ranker, train, test)
    final = RidgeCV().fit(first, task.grades)
    expected = final.predict(task.scores(ranker, ALL, ALL)[:, None])
    np.testing.assert_allclose(stack.predict(task.X), expected)


@pytest.mark.parametrize(
    ("ranker", "display"),
    [*((ranker, False) for ranker in RANKERS.values()), (RANKERS["potentials"], True)],
    ids=[*RANKERS, "display"],
)
def test_partial_dependence(task, ranker, display):
    feature, place = (0, 0) if task.kind == "array" else ("a", 0)
    model = task.adapted(ranker).fit(task.X, task.y)
    if display:
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        shown = PartialDependenceDisplay.from_estimator(
            model, task.X, [feature], grid_resolution=3
        )
        grid, average = shown.lines_[0, 0].get_data()
        matplotlib.pyplot.close("all")
    else:
        result = partial_dependence(model, task.X, [feature], grid_resolution=3)
        grid, average = result["grid_values"][0], result["average"][0]
    by_hand = task.model(ranker, ALL)
    for value, got in zip(grid, average, strict=True):
        changed = task.features.copy()
        changed[:, place] = value
        with sklearn.config_context(enable_metadata_routing=True):
            expected = by_hand.predict(changed, groups=task.groups).mean()
        assert got == pytest.approx(expected)


@rankers
@pytest.mark.parametrize("scoring", [None, NDCG], ids=["score", "scorer"])
def test_permutation_importance(task, ranker, scoring):
    model = task.adapted(ranker).fit(task.X, task.y)
    found = permutation_importance(
        model, task.X, task.y, scoring=scoring, n_repeats=3, random_state=0
    )
    value = ndcg_score(
        task.grades, task.scores(ranker, ALL, ALL), groups=task.groups, k=10
    )
    columns = {"array": [0, 2, 3]}.get(task.kind, [0, 1, 2])
    assert found["importances"][columns[0]].mean() > 0.05
    # The first feature is permuted as scikit-learn does it, and scored by hand.
    random_state = np.random.RandomState(0)
    seed = random_state.randint(np.iinfo(np.int32).max + 1)
    rng, changed = np.random.RandomState(seed), task.features.copy()
    order = np.arange(len(task.grades))
    rng.shuffle(order)
    changed[:, 0] = changed[order, 0]
    with sklearn.config_context(enable_metadata_routing=True):
        scores = task.model(ranker, ALL).predict(changed, groups=task.groups)
    permuted = ndcg_score(task.grades, scores, groups=task.groups, k=10)
    assert found["importances"][columns[0], 0] == pytest.approx(value - permuted)


@rankers
def test_curves(task, ranker):
    _, _, scores = learning_curve(
        task.adapted(ranker), task.X, task.y, cv=task.splits, train_sizes=[1.0]
    )
    np.testing.assert_allclose(scores[0], task.cross_validated(ranker))
    _, scores = validation_curve(
        task.adapted(ranker),
        task.X,
        task.y,
        param_name="normalization",
        param_range=[None, "zmuv"],
        cv=task.splits,
        scoring=NDCG,
    )
    # A scale of its own for every query changes no order of documents.
    np.testing.assert_allclose(scores[1], task.cross_validated(ranker))


def test_halving_over_numbers_of_queries(task):
    ranker = QuerySubsample(RANKERS["potentials"])
    search = HalvingGridSearchCV(
        task.adapted(ranker),
        {"estimator__estimator__random_state": [0, 1]},
        resource="estimator__n_queries",
        min_resources=4,
        max_resources=8,
        factor=2,
        cv=task.splits,
        scoring=NDCG,
        error_score="raise",
    ).fit(task.X, task.y)
    assert search.n_resources_ == [4, 8]
    best = search.best_estimator_.get_params()["estimator"]
    np.testing.assert_allclose(search.predict(task.X), task.scores(best, ALL, ALL))


def test_bagging_of_rows_keeps_the_queries():
    task, ranker = Task("array"), RANKERS["ordering"]
    bag = BaggingRegressor(
        task.adapted(ranker), n_estimators=2, bootstrap=False, random_state=0
    ).fit(task.X, task.y)
    np.testing.assert_allclose(bag.predict(task.X), task.scores(ranker, ALL, ALL))


@pytest.mark.parametrize(
    ("name", "scaler"),
    [("zmuv", QueryStandardScaler()), ("min-max", QueryMinMaxScaler())],
)
def test_normalization_is_that_of_the_scalers(task, name, scaler):
    ranker = SubsetRegression()
    model = task.adapted(ranker, normalization=name).fit(task.X, task.y)
    scores = task.scores(ranker, ALL, ALL)[:, None]
    expected = scaler.fit_transform(scores, groups=task.groups).ravel()
    np.testing.assert_allclose(model.predict(task.X), expected)


def test_validation_rows_go_through_the_pipeline_with_their_own_queries(task):
    ranker = LambdaMART(
        n_estimators=5, min_samples_leaf=2, validation_measure="map", random_state=0
    )
    adapted = task.adapted(make_pipeline(QueryStandardScaler(), ranker))
    train, held = task.splits[0]
    y = task.y if task.column else task.y.to_numpy()
    more = {} if task.column else {"groups_val": task.groups[held]}
    adapted.fit(
        task.rows(train),
        task.y[train] if task.column else task.y.iloc[train],
        X_val=task.rows(held),
        y_val=y[held],
        **more,
    )
    scaler = QueryStandardScaler()
    expected = clone(ranker).fit(
        scaler.fit_transform(task.features[train], groups=task.groups[train]),
        task.grades[train],
        task.groups[train],
        X_val=scaler.transform(task.features[held], groups=task.groups[held]),
        y_val=task.grades[held],
        groups_val=task.groups[held],
    )
    got = adapted.estimator_[-1].validation_curve_
    np.testing.assert_allclose(got, expected.validation_curve_)


def test_any_estimator_can_be_adapted(task):
    model = task.adapted(make_pipeline(StandardScaler(), LinearRegression()))
    model.fit(task.X, task.y)
    expected = LinearRegression().fit(task.features, task.grades)
    np.testing.assert_allclose(model.predict(task.X), expected.predict(task.features))
    assert is_regressor(model)
    assert model.n_features_in_ == task.X.shape[1]


def test_score_takes_a_measure_and_a_gain(task):
    model = task.adapted(SubsetRegression()).fit(task.X, task.y)
    scores = task.scores(SubsetRegression(), ALL, ALL)
    expected = ndcg_score(task.grades, scores, groups=task.groups, k=3, gain="linear")
    got = model.score(task.X, task.y, measure="ndcg@3", gain="linear")
    assert got == pytest.approx(expected)


def test_leakage_is_told(task):
    model = task.adapted(SubsetRegression()).fit(task.X, task.y)
    some = np.arange(20)
    y = task.y if task.column else task.y.to_numpy()
    with pytest.warns(QueryLeakageWarning, match="training data of SubsetRegression"):
        model.score(task.rows(some), y[some])


def test_clones_pickles_and_files(task, tmp_path):
    model = task.adapted(RANKERS["potentials"], normalization="zmuv")
    assert clone(model).get_params()["normalization"] == "zmuv"
    expected = model.fit(task.X, task.y).predict(task.X)
    read = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(read.predict(task.X), expected)
    save_model(model, tmp_path / "model.skrank")
    read = load_model(tmp_path / "model.skrank")
    np.testing.assert_array_equal(read.predict(task.X), expected)


def test_other_containers():
    task, ranker = Task("array"), SubsetRegression()
    expected = task.scores(ranker, ALL, ALL)
    for X in (sparse.csr_array(task.X), task.X.tolist(), np.ma.array(task.X)):
        model = task.adapted(ranker).fit(X, task.y)
        np.testing.assert_allclose(model.predict(X), expected)
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(task.X, schema=list("axbc"))
    model = RankingRegressor(ranker, groups_column="x").fit(frame, task.y)
    np.testing.assert_allclose(model.predict(frame), expected)


def test_query_permutation_importance_finds_the_queries_of_the_index():
    task = Task("index")
    model = task.adapted(RANKERS["potentials"]).fit(task.X, task.y)
    found = query_permutation_importance(model, task.X, task.y, random_state=0)
    assert found.importances_mean.shape == (3,)


@pytest.mark.parametrize(
    ("options", "given", "error", "message"),
    [
        (
            {"groups_column": 9},
            {},
            ValueError,
            "groups_column must be from 0 to 3, got",
        ),
        ({"groups_column": "q"}, {}, ValueError, "groups_column: no column is named"),
        ({"groups_column": 1.5}, {}, TypeError, "groups_column must be a whole number"),
        (
            {"normalization": "max"},
            {},
            ValueError,
            "normalization must be 'min-max' or 'z",
        ),
        ({}, {}, ValueError, r"SubsetRegression\.fit needs to know the query"),
        (
            {"groups_column": 1},
            {"groups": "half"},
            ValueError,
            "groups and the column 1 of X divide the rows into different queries",
        ),
        (
            {"groups_column": 1},
            {"X_val": "half"},
            ValueError,
            r"X_val and y_val must be given together",
        ),
        (
            {"estimator": 5},
            {},
            TypeError,
            "estimator must be an estimator with fit, got",
        ),
        (
            {"groups_column": 1, "estimator": LinearRegression()},
            {"positions": "half"},
            TypeError,
            r"LinearRegression\.fit takes no positions",
        ),
    ],
)
def test_what_is_refused(options, given, error, message):
    task = Task("array")
    half = {"groups": task.groups // 2, "X_val": task.X, "positions": task.groups}
    model = RankingRegressor(**{"estimator": SubsetRegression(), **options})
    with pytest.raises(error, match=message):
        model.fit(task.X, task.y, **{name: half[name] for name in given})


def test_ids_that_floats_cannot_tell_apart_are_refused():
    task = Task("array")
    X = task.X.astype(np.float32)
    RankingRegressor(SubsetRegression(), groups_column=1).fit(X, task.y)
    X[:, 1] += 2.0**25
    with pytest.raises(ValueError, match="the column 1 of X must hold ids up to 16777"):
        RankingRegressor(SubsetRegression(), groups_column=1).fit(X, task.y)
    X[0, 1] = np.nan
    with pytest.raises(ValueError, match="one query id per row; row 0 has none"):
        RankingRegressor(SubsetRegression(), groups_column=1).fit(X, task.y)


def test_normalization_without_queries_is_refused():
    task = Task("array")
    model = RankingRegressor(LinearRegression(), normalization="zmuv")
    model.fit(task.features, task.y)
    with pytest.raises(
        ValueError, match=r"RankingRegressor\.predict needs to know the"
    ):
        model.predict(task.features)


@pytest.fixture
def single_query():
    with skrank.config_context(assume_single_query=True):
        yield


@parametrize_with_checks([RankingRegressor(SubsetRegression())])
@pytest.mark.usefixtures("single_query")
@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def three_sets(task):
    """Rows of the training queries and of two sets for validation."""
    groups = task.groups
    return [np.flatnonzero(groups % 3 == i) for i in range(3)]


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize(
    "ranker",
    [
        PRank(max_iter=5, random_state=0),
        make_pipeline(QueryStandardScaler(), PRank(max_iter=5, random_state=0)),
    ],
    ids=["ranker", "pipeline"],
)
@pytest.mark.parametrize(
    "gather",
    [list, tuple, lambda sets: dict(zip(["a", "b"], sets))],
    ids=["list", "tuple", "mapping"],
)
def test_several_validation_sets_have_their_queries_in_a_column(kind, ranker, gather):
    task = Task(kind)
    train, *held = three_sets(task)
    fitted = task.adapted(ranker).fit(
        task.rows(train),
        task.grades[train],
        X_val=gather([task.rows(rows) for rows in held]),
        y_val=gather([task.grades[rows] for rows in held]),
    )
    expected = RankingRegressor(ranker).fit(
        task.features[train],
        task.grades[train],
        task.groups[train],
        X_val=gather([task.features[rows] for rows in held]),
        y_val=gather([task.grades[rows] for rows in held]),
        groups_val=gather([task.groups[rows] for rows in held]),
    )
    logs, others = (
        (r.estimator_[-1] if hasattr(ranker, "steps") else r.estimator_).evals_result_
        for r in (fitted, expected)
    )
    assert list(logs) == list(others)
    assert len(logs) == 2
    for name in logs:
        np.testing.assert_array_equal(logs[name]["ndcg@10"], others[name]["ndcg@10"])


@pytest.mark.parametrize(
    ("X_val", "message"),
    [
        ([], r"X_val must have .* the 4 columns of X, .* got an array of shape \(0,\)"),
        (5, r"X_val must have one row per document .* got 5"),
        ({}, "X_val must hold at least one set of validation queries"),
        ({"a": 5}, r"X_val\['a'\] must have one row per document .* got 5"),
        ([np.ones((2, 4)), np.ones((2, 3))], r"X_val\[1\] must have .* \(2, 3\)"),
        ([np.ones((2, 4)), np.full((2, 4), np.nan)], r"column 1 of X_val\[1\]"),
    ],
)
def test_odd_validation_rows_are_named(X_val, message):
    task = Task("array")
    y_val: Any = [0, 1]
    if isinstance(X_val, dict):
        y_val = {name: [0, 1] for name in X_val}
    elif X_val and X_val != 5:
        y_val = [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match=message):
        task.adapted(PRank(max_iter=2, random_state=0)).fit(
            task.X, task.y, X_val=X_val, y_val=y_val
        )


@pytest.mark.parametrize("pipe", [False, True])
def test_estimators_that_know_no_queries_get_nothing_silently(pipe):
    X, y, groups = skrank.datasets.make_ranking(n_queries=8, random_state=0)
    inner = LinearRegression()
    adapter = RankingRegressor(
        make_pipeline(StandardScaler(), inner) if pipe else inner
    )
    held_out = {"X_val": X, "y_val": y, "groups_val": groups}
    for given in (held_out, {"X_val": "x"}, {"groups_val": groups}):
        name = next(iter(given))
        with pytest.raises(TypeError, match=rf"LinearRegression.fit takes no {name}"):
            adapter.fit(X, y, groups=groups, **given)
    for wrong in (groups[:-1], np.full(len(y), np.nan)):
        with pytest.raises(ValueError, match=r"^groups must hold one query id per row"):
            adapter.fit(X, y, groups=wrong)
        with pytest.raises(ValueError, match=r"^groups must hold one query id per row"):
            adapter.fit(X, y, groups=groups).predict(X, groups=wrong)
