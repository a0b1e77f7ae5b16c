"""Every tool of scikit-learn that splits, fits and scores, with groups.

The whole matrix runs twice: with metadata routing, where groups are passed once, and
without it, where they travel in the index of y. Each result must equal a loop over
folds written by hand that hands groups over explicitly, and no ranker may ever be
trained on part of a query of its fold.
"""

import functools
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skrank.base import BaseRanker
from skrank.metrics import QueryLeakageWarning, make_ranking_scorer, ndcg_score
from skrank.model_selection import (
    QueryKFold,
    QueryShuffleSplit,
    QuerySubsample,
    query_learning_curve,
)
from skrank.rankers import BoltzRank, ListNet, RankSVM, SubsetRegression

pd = pytest.importorskip("pandas")

ALPHAS = [1e-4, 1e3]
CV = QueryKFold(3)
NDCG = make_ranking_scorer("ndcg@10")
COLUMNS = ["a", "b", "c", "d"]


class Task:
    """A small ranking task, and how groups are handed over."""

    def __init__(self, routing):
        rng = np.random.default_rng(3)
        self.groups = rng.permutation(np.repeat(np.arange(14), rng.integers(4, 9, 14)))
        n = len(self.groups)
        self.X = rng.normal(size=(n, 4)) * [1, 1, 10, 0.1]
        utility = self.X @ [2.0, 1.0, 0.02, 0.0] + rng.normal(size=n)
        self.grades = np.digitize(utility, [0, 2]).astype(float)
        self.routing = routing
        self.y, self.params = self.grades, {"groups": self.groups}
        if not routing:
            self.y = pd.Series(self.grades, index=pd.Index(self.groups, name="qid"))
            self.params = {}
        self.full_sizes = dict(zip(*np.unique(self.groups, return_counts=True)))

    def splits(self, cv=CV):
        return list(cv.split(self.X, self.grades, self.groups))

    def fit(self, estimator, rows, columns=slice(None), **params):
        """Fit by hand, the groups given to the ranker itself."""
        X = self.X[:, columns]
        estimator = clone(estimator).set_params(**params)
        y, groups = self.grades[rows], self.groups[rows]
        if not hasattr(estimator, "steps"):
            return estimator.fit(X[rows], y, groups=groups)
        transformer, ranker = estimator[:-1], estimator[-1]
        estimator[-1].fit(transformer.fit_transform(X[rows]), y, groups=groups)
        return make_pipeline(*(step for _, step in transformer.steps), ranker)

    def score(self, estimator, rows, columns=slice(None)):
        scores = estimator.predict(self.X[rows][:, columns])
        return ndcg_score(self.grades[rows], scores, groups=self.groups[rows], k=10)

    def cross_validate(self, estimator, cv=CV, columns=slice(None), **params):
        """Test scores of a loop over folds."""
        return [
            self.score(self.fit(estimator, train, columns, **params), test, columns)
            for train, test in self.splits(cv)
        ]


@pytest.fixture(params=[True, False], ids=["routing", "qid_index"])
def task(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield Task(request.param)


@pytest.fixture
def fits(monkeypatch):
    """Sizes of the queries of every fit of a ranker."""
    seen = []
    original = BaseRanker._learn

    @functools.wraps(original)
    def fit(self, *args, **kwargs):
        original(self, *args, **kwargs)
        seen.append(dict(zip(self.query_ids_, self.query_sizes_)))
        return self

    monkeypatch.setattr(BaseRanker, "_learn", fit)
    return seen


RANKERS = {
    "ranksvm": (RankSVM(max_iter=50), "alpha"),
    "regression": (SubsetRegression(), "alpha"),
    "pipeline": (make_pipeline(StandardScaler(), RankSVM()), "ranksvm__alpha"),
}
rankers = pytest.mark.parametrize(
    ("ranker", "alpha"), RANKERS.values(), ids=list(RANKERS)
)


def assert_whole_queries(fits, task, at_least):
    assert len(fits) >= at_least
    for sizes in fits:
        assert sizes == {query: task.full_sizes[query] for query in sizes}
        assert len(sizes) < len(task.full_sizes) or len(fits) > 1


@rankers
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search(task, ranker, alpha, n_jobs):
    search = GridSearchCV(
        ranker, {alpha: ALPHAS}, cv=CV, scoring=NDCG, n_jobs=n_jobs, error_score="raise"
    ).fit(task.X, task.y, **task.params)
    for i, value in enumerate(ALPHAS):
        got = [search.cv_results_[f"split{k}_test_score"][i] for k in range(3)]
        np.testing.assert_allclose(got, task.cross_validate(ranker, **{alpha: value}))
    best = task.fit(ranker, np.arange(len(task.X)), **search.best_params_)
    np.testing.assert_allclose(search.predict(task.X), best.predict(task.X))
    expected = task.score(best, np.arange(len(task.X)))
    assert search.score(task.X, task.y, **task.params) == pytest.approx(expected)


def test_grid_search_keeps_queries_whole(task, fits):
    GridSearchCV(RankSVM(), {"alpha": ALPHAS}, cv=CV, scoring=NDCG).fit(
        task.X, task.y, **task.params
    )
    assert_whole_queries(fits, task, at_least=7)
    assert fits[-1] == task.full_sizes


def test_default_score_of_a_ranker(task):
    search = GridSearchCV(RankSVM(), {"alpha": ALPHAS}, cv=CV, error_score="raise")
    search.fit(task.X, task.y, **task.params)
    expected = np.mean(task.cross_validate(RankSVM(), alpha=ALPHAS[0]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(expected)


@rankers
def test_randomized_search(task, ranker, alpha):
    search = RandomizedSearchCV(
        ranker, {alpha: ALPHAS}, n_iter=2, cv=CV, scoring=NDCG, random_state=0
    ).fit(task.X, task.y, **task.params)
    for params, got in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"]
    ):
        assert got == pytest.approx(np.mean(task.cross_validate(ranker, **params)))


@rankers
def test_nested_search(task, ranker, alpha):
    search = GridSearchCV(ranker, {alpha: ALPHAS}, cv=QueryKFold(2), scoring=NDCG)
    options = {"params": task.params} if task.routing else {}
    got = cross_val_score(search, task.X, task.y, cv=CV, scoring=NDCG, **options)
    expected = []
    for train, test in task.splits():
        inner = list(QueryKFold(2).split(train, groups=task.groups[train]))
        means = [
            np.mean(
                [
                    task.score(task.fit(ranker, train[a], **{alpha: v}), train[b])
                    for a, b in inner
                ]
            )
            for v in ALPHAS
        ]
        best = task.fit(ranker, train, **{alpha: ALPHAS[np.argmax(means)]})
        expected.append(task.score(best, test))
    np.testing.assert_allclose(got, expected)


def test_halving_over_a_parameter_of_the_ranker(task, fits):
    search = HalvingGridSearchCV(
        RankSVM(),
        {"alpha": [1e-4, 1e-2, 1.0, 1e3]},
        resource="max_iter",
        min_resources=25,
        max_resources=100,
        factor=2,
        cv=CV,
        scoring=NDCG,
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(task.X, task.y, **task.params)
    assert search.n_resources_ == [25, 50, 100]
    assert_whole_queries(fits, task, at_least=3 * (4 + 2 + 1) + 1)
    last = np.flatnonzero(search.cv_results_["iter"] == 2)
    for i in last:
        params = search.cv_results_["params"][i]
        expected = np.mean(task.cross_validate(RankSVM(), **params))
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(expected)


def test_halving_over_numbers_of_queries(task, fits):
    search = HalvingGridSearchCV(
        QuerySubsample(SubsetRegression()),
        {"estimator__alpha": [1e-4, 1.0, 1e2, 1e4]},
        resource="n_queries",
        min_resources=3,
        max_resources=12,
        factor=2,
        cv=CV,
        scoring=NDCG,
        error_score="raise",
    ).fit(task.X, task.y, **task.params)
    assert search.n_resources_ == [3, 6, 12]
    assert_whole_queries(fits, task, at_least=3 * (4 + 2 + 1) + 1)
    assert min(len(sizes) for sizes in fits) == 3
    first = search.cv_results_["params"][0]
    assert first["n_queries"] == 3
    ranker = QuerySubsample(SubsetRegression())
    expected = np.mean(task.cross_validate(ranker, **first))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(expected)


def test_halving_over_rows_runs_but_leaves_fragments(task, fits):
    # scikit-learn draws rows here; nothing a splitter can do. The guide says to take
    # a parameter or QuerySubsample as the resource instead.
    HalvingGridSearchCV(
        SubsetRegression(),
        {"alpha": [1.0, 1e3]},
        factor=2,
        cv=CV,
        scoring=NDCG,
        random_state=0,
        error_score="raise",
    ).fit(task.X, task.y, **task.params)
    with pytest.raises(AssertionError):
        assert_whole_queries(fits, task, at_least=1)


@rankers
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_val_score(task, ranker, alpha, n_jobs):
    options = {"params": task.params} if task.routing else {}
    got = cross_val_score(
        ranker, task.X, task.y, cv=CV, scoring=NDCG, n_jobs=n_jobs, **options
    )
    np.testing.assert_allclose(got, task.cross_validate(ranker))


@rankers
def test_cross_validate_with_train_scores(task, ranker, alpha, fits):
    names = ["ndcg@10", "map"]
    options = {"params": task.params} if task.routing else {}
    got = cross_validate(
        ranker,
        task.X,
        task.y,
        cv=QueryShuffleSplit(3, test_size=0.3, random_state=0),
        scoring={name: make_ranking_scorer(name) for name in names},
        return_train_score=True,  # silent: the training data is scored as a whole
        return_indices=True,
        error_score="raise",
        **options,
    )
    assert_whole_queries(fits, task, at_least=3)
    splits = task.splits(QueryShuffleSplit(3, test_size=0.3, random_state=0))
    for k, (train, test) in enumerate(splits):
        np.testing.assert_array_equal(got["indices"]["test"][k], test)
        fitted = task.fit(ranker, train)
        assert got["test_ndcg@10"][k] == pytest.approx(task.score(fitted, test))
        assert got["train_ndcg@10"][k] == pytest.approx(task.score(fitted, train))


@rankers
def test_cross_val_predict(task, ranker, alpha):
    options = {"params": task.params} if task.routing else {}
    got = cross_val_predict(ranker, task.X, task.y, cv=CV, **options)
    expected = np.empty(len(task.X))
    for train, test in task.splits():
        expected[test] = task.fit(ranker, train).predict(task.X[test])
    np.testing.assert_allclose(got, expected)


@rankers
def test_learning_curve(task, ranker, alpha, fits):
    options = {"params": task.params} if task.routing else {}
    sizes, _, got = learning_curve(
        ranker, task.X, task.y, cv=CV, scoring=NDCG, train_sizes=[0.5, 1.0], **options
    )
    splits = task.splits()
    for i, size in enumerate(sizes):
        expected = [
            task.score(task.fit(ranker, train[:size]), test) for train, test in splits
        ]
        np.testing.assert_allclose(got[i], expected)
    for trained in fits:  # rows come query after query: only the last may be cut
        cut = [q for q, size in trained.items() if size != task.full_sizes[q]]
        assert len(cut) <= 1


@rankers
def test_query_learning_curve(task, ranker, alpha, fits):
    groups = task.groups if task.routing else None
    curve = query_learning_curve(
        ranker, task.X, task.y, groups, cv=CV, train_sizes=[3, 6, 9]
    )
    np.testing.assert_array_equal(curve.train_sizes, [3, 6, 9])
    assert_whole_queries(fits, task, at_least=9)
    assert sorted(len(trained) for trained in fits) == [3] * 3 + [6] * 3 + [9] * 3
    assert [set(fits[k]) < set(fits[3 + k]) for k in range(3)] == [True] * 3
    for i in range(3):
        for k, (_, test) in enumerate(task.splits()):
            rows = np.flatnonzero(np.isin(task.groups, list(fits[3 * i + k])))
            expected = task.score(task.fit(ranker, rows), test)
            assert curve.test_scores[i, k] == pytest.approx(expected)


@rankers
def test_validation_curve(task, ranker, alpha):
    options = {"params": task.params} if task.routing else {}
    _, got = validation_curve(
        ranker,
        task.X,
        task.y,
        param_name=alpha,
        param_range=ALPHAS,
        cv=CV,
        scoring=NDCG,
        **options,
    )
    expected = [task.cross_validate(ranker, **{alpha: value}) for value in ALPHAS]
    np.testing.assert_allclose(got, expected)


def test_rfecv(task, fits):
    selector = RFECV(SubsetRegression(), cv=CV, scoring=NDCG)
    if not task.routing:  # RFECV turns y into an array, so only routing can help
        with pytest.raises(ValueError, match="QueryKFold needs to know the query"):
            selector.fit(task.X, task.y)
        return
    selector.fit(task.X, task.y, **task.params)
    assert_whole_queries(fits, task, at_least=3 * 4)
    all_features = selector.cv_results_["mean_test_score"][-1]
    assert all_features == pytest.approx(
        np.mean(task.cross_validate(SubsetRegression()))
    )
    assert selector.support_[0]


def test_sequential_feature_selection(task, fits):
    selector = SequentialFeatureSelector(
        SubsetRegression(), n_features_to_select=1, cv=CV, scoring=NDCG
    ).fit(task.X, task.y, **task.params)
    assert_whole_queries(fits, task, at_least=3 * 4)
    means = [
        np.mean(task.cross_validate(SubsetRegression(), columns=[j])) for j in range(4)
    ]
    np.testing.assert_array_equal(selector.get_support(indices=True), np.argmax(means))


def test_pipeline_with_pandas_output(task):
    pipe = make_pipeline(StandardScaler(), RankSVM()).set_output(transform="pandas")
    X = pd.DataFrame(task.X, columns=COLUMNS, index=getattr(task.y, "index", None))
    options = {"params": task.params} if task.routing else {}
    results = cross_validate(
        pipe, X, task.y, cv=CV, scoring=NDCG, return_estimator=True, **options
    )
    plain = make_pipeline(StandardScaler(), RankSVM())
    np.testing.assert_allclose(results["test_score"], task.cross_validate(plain))
    assert list(results["estimator"][0][-1].feature_names_in_) == COLUMNS


def test_pipeline_score_and_fit(task):
    pipe = make_pipeline(StandardScaler(), RankSVM()).fit(task.X, task.y, **task.params)
    expected = task.score(
        task.fit(make_pipeline(StandardScaler(), RankSVM()), np.arange(len(task.X))),
        np.arange(len(task.X)),
    )
    assert pipe.score(task.X, task.y, **task.params) == pytest.approx(expected)


def test_column_transformer(task):
    columns = ColumnTransformer(
        [("scale", StandardScaler(), ["a", "c"]), ("range", MinMaxScaler(), ["b"])]
    )
    X = pd.DataFrame(task.X, columns=COLUMNS, index=getattr(task.y, "index", None))
    options = {"params": task.params} if task.routing else {}
    pipe = make_pipeline(columns, RankSVM())
    got = cross_val_score(pipe, X, task.y, cv=CV, scoring=NDCG, **options)
    for k, (train, test) in enumerate(task.splits()):
        fitted = clone(columns).fit(X.iloc[train])
        ranker = RankSVM().fit(
            fitted.transform(X.iloc[train]),
            task.grades[train],
            groups=task.groups[train],
        )
        expected = ndcg_score(
            task.grades[test],
            ranker.predict(fitted.transform(X.iloc[test])),
            groups=task.groups[test],
            k=10,
        )
        assert got[k] == pytest.approx(expected)


def test_plain_kfold_is_told_apart(task):
    options = {"params": task.params} if task.routing else {}
    with pytest.warns(QueryLeakageWarning, match="training data of RankSVM"):
        cross_val_score(RankSVM(), task.X, task.y, cv=KFold(3), **options)


def test_groups_without_routing_fail_in_fit():
    task = Task(routing=True)
    search = GridSearchCV(RankSVM(), {"alpha": ALPHAS}, cv=CV, scoring=NDCG)
    with pytest.raises(ValueError, match=r"RankSVM\.fit needs to know the query of ev"):
        search.fit(task.X, task.y, groups=task.groups)
    with pytest.raises(ValueError, match="by metadata routing only"):
        query_learning_curve(RankSVM(), task.X, task.y, task.groups)


@pytest.mark.parametrize("sizes", [[0], [0.0, 1.0], [1.5], [100]])
def test_bad_sizes_of_the_learning_curve(sizes):
    task = Task(routing=False)
    with pytest.raises(ValueError, match="train_sizes must hold shares"):
        query_learning_curve(RankSVM(), task.X, task.y, train_sizes=sizes)


@pytest.mark.parametrize("cv", [np.array(3), np.array(3.0)])
def test_an_array_without_axes_makes_no_splits_of_a_learning_curve(cv):
    task = Task(routing=False)
    with pytest.raises(TypeError, match="cv must be a number of folds, a splitter, or"):
        query_learning_curve(RankSVM(), task.X, task.y, cv=cv)


@pytest.mark.parametrize(
    ("n_queries", "error", "message"),
    [
        (0, ValueError, "QuerySubsample: n_queries must be a number in"),
        (
            1.5,
            ValueError,
            r"a number in \(0, 1\], a whole number >= 1 or None, got 1.5",
        ),
        ("all", TypeError, "n_queries must be a number in"),
    ],
)
def test_bad_numbers_of_queries(n_queries, error, message):
    task = Task(routing=False)
    with pytest.raises(error, match=message):
        QuerySubsample(RankSVM(), n_queries=n_queries).fit(task.X, task.y)


def test_subsample_takes_weights_and_shares():
    task = Task(routing=False)
    weight = np.random.default_rng(0).uniform(size=len(task.X))
    ranker = QuerySubsample(SubsetRegression(), n_queries=0.5)
    ranker.fit(task.X, task.y, sample_weight=weight)
    assert len(ranker.trained_ids_) == 7
    rows = np.isin(task.groups, ranker.trained_ids_)
    expected = SubsetRegression().fit(
        task.X[rows], task.grades[rows], task.groups[rows], sample_weight=weight[rows]
    )
    np.testing.assert_allclose(ranker.predict(task.X), expected.predict(task.X))
    assert ranker.n_features_in_ == 4


def test_subsample_hands_groups_to_rankers_that_score_whole_queries():
    task = Task(routing=False)
    boltzrank = BoltzRank(pairwise_potential=True, max_iter=3, random_state=0)
    ranker = QuerySubsample(boltzrank, n_queries=8)
    frame = pd.DataFrame(task.X, columns=COLUMNS)
    ranker.fit(frame, task.grades, task.groups)
    rows = np.isin(task.groups, ranker.trained_ids_)
    expected = clone(boltzrank).fit(frame[rows], task.grades[rows], task.groups[rows])
    np.testing.assert_array_equal(
        ranker.predict(frame, task.groups), expected.predict(frame, task.groups)
    )
    assert ranker.feature_names_in_.tolist() == COLUMNS
    with pytest.warns(QueryLeakageWarning):
        ranker.score(frame[:9], task.grades[:9], task.groups[:9])
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            ranker, frame, task.grades, cv=CV, params={"groups": task.groups}
        )
    assert np.isfinite(scores).all()


def test_learning_curves_of_errors_are_scores():
    task = Task(routing=False)
    options = {"train_sizes": [3, 9], "cv": QueryKFold(3)}
    ranker = SubsetRegression()
    curve = query_learning_curve(ranker, task.X, task.y, scoring="mse", **options)
    assert (curve.test_scores < 0).all()
    assert curve.test_scores[1].mean() > curve.test_scores[0].mean()


IDS = np.repeat([f"q{i}" for i in range(30, 16, -1)], 5)


@pytest.mark.parametrize(
    ("share", "n_chosen"), [(1e-9, 1), (0.4, 5), (0.5, 7), (1.0, 14), (3, 3), (99, 14)]
)
def test_subsample_chooses_whole_queries_by_their_ids(share, n_chosen, rng):
    X, y = rng.normal(size=(70, 3)), rng.integers(0, 3, size=70)
    rows = rng.permutation(70)
    X, y, groups = X[rows], y[rows], IDS[rows]
    ranker = QuerySubsample(SubsetRegression(), n_queries=share, random_state=3)
    ranker.fit(X, y, groups)
    drawn = np.random.RandomState(3).permutation(14)[:n_chosen]
    expected = np.unique(IDS)[np.sort(drawn)]
    assert ranker.trained_ids_.tolist() == expected.tolist()
    chosen = np.isin(groups, expected)
    alone = SubsetRegression().fit(X[chosen], y[chosen], groups[chosen])
    assert ranker.estimator_.query_ids_.tolist() == expected.tolist()
    np.testing.assert_array_equal(ranker.predict(X), alone.predict(X))


def test_subsample_hands_on_validation_queries(rng):
    X, y = rng.normal(size=(70, 3)), rng.integers(0, 3, size=70)
    val = {"X_val": X[:30], "y_val": y[:30], "groups_val": IDS[:30]}
    inner = ListNet(max_iter=10, alpha=0.0)
    ranker = QuerySubsample(inner, n_queries=4).fit(X, y, IDS, **val)
    chosen = np.isin(IDS, ranker.trained_ids_)
    alone = clone(inner).fit(X[chosen], y[chosen], IDS[chosen], **val)
    assert len(ranker.estimator_.validation_curve_)
    np.testing.assert_array_equal(
        ranker.estimator_.validation_curve_, alone.validation_curve_
    )
    np.testing.assert_array_equal(ranker.predict(X), alone.predict(X))
