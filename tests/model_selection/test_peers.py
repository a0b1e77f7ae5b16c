"""LightGBM, XGBoost and CatBoost with skrank's splitters, scorers and wrapper."""

import inspect
import sys
import types

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.compat import PeerRanker
from skrank.metrics import QueryLeakageWarning, make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.rankers import RankSVM

NDCG = make_ranking_scorer("ndcg@10")


def lightgbm():
    peer = pytest.importorskip("lightgbm")
    return peer.LGBMRanker(
        n_estimators=8, min_child_samples=2, num_leaves=4, verbose=-1, n_jobs=1
    )


def xgboost():
    peer = pytest.importorskip("xgboost")
    return peer.XGBRanker(n_estimators=8, max_depth=2, n_jobs=1, tree_method="hist")


def catboost():
    peer = pytest.importorskip("catboost")
    return peer.CatBoostRanker(
        iterations=8, depth=2, verbose=0, thread_count=1, allow_writing_files=False
    )


def fit_lightgbm(X, y, codes, weight=None):
    sizes = np.bincount(codes)
    return lightgbm().fit(X, y, group=sizes, sample_weight=weight)


def fit_xgboost(X, y, codes, weight=None):
    if weight is not None:
        weight = [weight[codes == q].mean() for q in np.unique(codes)]
    return xgboost().fit(X, y, qid=codes, sample_weight=weight)


def fit_catboost(X, y, codes, weight=None):
    return catboost().fit(X, y, group_id=codes, sample_weight=weight)


N_TREES = {
    "lightgbm": "n_estimators",
    "xgboost": "n_estimators",
    "catboost": "iterations",
}
peers = pytest.mark.parametrize(
    ("make", "fit_by_hand"),
    [(lightgbm, fit_lightgbm), (xgboost, fit_xgboost), (catboost, fit_catboost)],
    ids=list(N_TREES),
)


@pytest.fixture
def task(rng):
    groups = rng.permutation(np.repeat([f"q{i}" for i in range(18)], 9))
    X = rng.normal(size=(len(groups), 5))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=len(groups)), [0, 1.5])
    return X, y, groups


def sorted_by_query(X, y, groups, *more):
    order = np.argsort(groups, kind="stable")
    codes = np.unique(groups[order], return_inverse=True)[1]
    return (X[order], y[order], codes, *(array[order] for array in more))


@peers
def test_fit_of_shuffled_rows_is_the_fit_of_sorted_rows(make, fit_by_hand, task):
    X, y, groups = task
    expected = fit_by_hand(*sorted_by_query(X, y, groups)).predict(X)
    ranker = PeerRanker(make()).fit(X, y, groups)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert ranker.score(X, y, groups) == pytest.approx(
        ndcg_score(y, expected, groups=groups, k=10)
    )
    best = np.flatnonzero(ranker.rank(X, groups) == 1)
    assert len(best) == 18
    for row in best:
        assert expected[row] == expected[groups == groups[row]].max()
    assert ranker.feature_importances_.shape == (5,)
    assert ranker.n_features_in_ == 5


@peers
def test_weights_follow_their_rows(make, fit_by_hand, task, rng):
    X, y, groups = task
    _, codes = np.unique(groups, return_inverse=True)
    weight = rng.uniform(0.1, 3, size=18)[codes]
    expected = fit_by_hand(*sorted_by_query(X, y, groups, weight)).predict(X)
    ranker = PeerRanker(make()).fit(X, y, groups, sample_weight=weight)
    np.testing.assert_array_equal(ranker.predict(X), expected)


@peers
@pytest.mark.parametrize("routing", [True, False], ids=["routing", "qid_index"])
def test_grid_search(make, fit_by_hand, task, routing):
    X, y, groups = task
    params, target = {"groups": groups}, y
    if not routing:
        pd = pytest.importorskip("pandas")
        target, params = pd.Series(y, index=pd.Index(groups, name="qid")), {}
    pipe = make_pipeline(StandardScaler(), PeerRanker(make()))
    name = f"peerranker__estimator__{N_TREES[make.__name__]}"
    cv = QueryKFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            pipe, {name: [2, 8]}, cv=cv, scoring=NDCG, error_score="raise"
        ).fit(X, target, **params)
    expected = []
    for train, test in cv.split(X, y, groups):
        scaler = StandardScaler().fit(X[train])
        rows = sorted_by_query(scaler.transform(X[train]), y[train], groups[train])
        scores = fit_by_hand(*rows).predict(scaler.transform(X[test]))
        expected.append(ndcg_score(y[test], scores, groups=groups[test], k=10))
    got = [search.cv_results_[f"split{k}_test_score"][1] for k in range(3)]
    np.testing.assert_allclose(got, expected)


@peers
def test_early_stopping_data_reach_the_library(make, fit_by_hand, task):
    X, y, groups = task
    train = groups < "q3"
    ranker = PeerRanker(make()).fit(
        X[train],
        y[train],
        groups[train],
        X_val=X[~train],
        y_val=y[~train],
        groups_val=groups[~train],
    )
    fitted = ranker.estimator_
    history = {
        "lightgbm": lambda: fitted.evals_result_["valid_0"],
        "xgboost": lambda: fitted.evals_result()["validation_0"],
        "catboost": lambda: fitted.get_evals_result()["validation"],
    }[make.__name__]()
    assert len(next(iter(history.values()))) == 8


def test_xgboost_alone_with_skranks_splitter(task):
    # training rows come query after query in the order of the ids, as XGBoost wants
    X, y, groups = task
    codes = np.unique(groups, return_inverse=True)[1]
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = xgboost().set_fit_request(qid="groups")
        got = cross_val_score(
            ranker, X, y, cv=QueryKFold(3), scoring=NDCG, params={"groups": codes}
        )
        wrapped = cross_val_score(
            PeerRanker(xgboost()),
            X,
            y,
            cv=QueryKFold(3),
            scoring=NDCG,
            params={"groups": groups},
        )
    np.testing.assert_allclose(got, wrapped)


def test_data_frames_keep_their_columns(task):
    pd = pytest.importorskip("pandas")
    X, y, groups = task
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["site"] = pd.Categorical(np.where(X[:, 0] > 0, "left", "right"))
    ranker = PeerRanker(lightgbm()).fit(frame, y, groups)
    assert list(ranker.estimator_.feature_name_) == [*"abcde", "site"]
    assert ranker.estimator_.booster_.pandas_categorical == [["left", "right"]]
    assert ranker.predict(frame).shape == (len(y),)


class Sized(BaseEstimator):
    """A ranker that wants sizes, as LightGBM does."""

    def fit(self, X, y, group=None):
        self.seen_ = X, y, group
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_any_ranker_with_such_a_fit(task):
    X, y, groups = task
    ranker = PeerRanker(Sized()).fit(X, y, groups)
    expected_X, expected_y, codes = sorted_by_query(X, y, groups)
    np.testing.assert_array_equal(ranker.estimator_.seen_[0], expected_X)
    np.testing.assert_array_equal(ranker.estimator_.seen_[1], expected_y)
    np.testing.assert_array_equal(ranker.estimator_.seen_[2], np.bincount(codes))
    np.testing.assert_array_equal(ranker.query_ids_, np.unique(groups))
    assert not hasattr(ranker.estimator, "seen_")
    assert clone(ranker).get_params()["estimator"].get_params() == {}
    ranker.score(X, y, groups)
    with pytest.warns(QueryLeakageWarning, match="PeerRanker"):
        ranker.score(X[:20], y[:20], groups[:20])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            LinearRegression(),
            "LinearRegression.fit has none of the parameters qid, gro",
        ),
        (RankSVM(), "RankSVM.fit takes groups as it is"),
        ("lambdamart", "estimator must have fit and predict, got 'lambdamart'"),
    ],
)
def test_others_are_refused(estimator, message, task):
    with pytest.raises(TypeError, match=message):
        PeerRanker(estimator).fit(*task)


def test_missing_groups(task):
    X, y, _ = task
    with pytest.raises(ValueError, match=r"PeerRanker\.fit needs to know the query"):
        PeerRanker(Sized()).fit(X, y)
    with pytest.raises(ValueError, match="X_val and y_val must be given together"):
        PeerRanker(Sized()).fit(*task, X_val=X)
    with pytest.raises(TypeError, match=r"Sized\.fit takes no sample_weight"):
        PeerRanker(Sized()).fit(*task, sample_weight=np.ones(len(y)))


class Fake(BaseEstimator):
    """Base class of stand-ins for the rankers of libraries."""

    def _note(self, X, y, **given):
        self.given_ = {"X": X, "y": y, **given}
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


class FakeLightGBM(Fake):
    """Takes sizes of queries."""

    feature_importances_ = np.array([1, 0, 0, 0, 0])

    def fit(self, X, y, sample_weight=None, group=None, eval_set=None, eval_group=None):
        return self._note(
            X,
            y,
            sample_weight=sample_weight,
            group=group,
            eval_set=eval_set,
            eval_group=eval_group,
        )


class FakeNewLightGBM(Fake):
    """Takes validation rows and grades apart."""

    def fit(self, X, y, group=None, eval_X=None, eval_y=None, eval_group=None):
        return self._note(
            X, y, group=group, eval_X=eval_X, eval_y=eval_y, eval_group=eval_group
        )


class FakeXGBoost(Fake):
    """Takes numbers of queries and one weight for each of them."""

    def fit(
        self,
        X,
        y,
        group=None,
        qid=None,
        sample_weight=None,
        eval_set=None,
        eval_qid=None,
    ):
        return self._note(
            X,
            y,
            group=group,
            qid=qid,
            sample_weight=sample_weight,
            eval_set=eval_set,
            eval_qid=eval_qid,
        )


class FakeCatBoost(Fake):
    """Takes a query id for each row."""

    feature_importances_ = np.array([])

    def fit(self, X, y, group_id=None, sample_weight=None, eval_set=None):
        return self._note(
            X, y, group_id=group_id, sample_weight=sample_weight, eval_set=eval_set
        )

    def get_feature_importance(self, type):
        return {"PredictionValuesChange": np.arange(5.0)}[type]


class Pool:
    """Rows of CatBoost."""

    def __init__(self, data, label=None, group_id=None):
        self.data, self.label, self.group_id = data, label, group_id


@pytest.fixture
def uneven(rng):
    """Training and validation rows, sorted by query, with weights of the former."""
    sizes = np.array([4, 2, 5, 3]), np.array([3, 6])
    parts = []
    for size, first in zip(sizes, ("a", "v")):
        groups = np.repeat([f"{first}{i}" for i in range(len(size))], size)
        X, y = rng.normal(size=(size.sum(), 5)), rng.integers(0, 3, size.sum())
        parts.append((X, y.astype(float), groups))
    return *parts, rng.uniform(0.5, 2.0, len(parts[0][1]))


def given_to(fake, uneven):
    """Arguments that reach the `fit` of a library."""
    train, (X_val, y_val, groups_val), weight = uneven
    ranker = PeerRanker(fake)
    more = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
    if "sample_weight" in inspect.signature(fake.fit).parameters:
        more["sample_weight"] = weight
    given = ranker.fit(*train, **more).estimator_.given_
    np.testing.assert_array_equal(given["X"], train[0])
    np.testing.assert_array_equal(given["y"], train[1])
    return ranker, given


def test_arguments_of_lightgbm(uneven):
    ranker, given = given_to(FakeLightGBM(), uneven)
    assert given["group"].tolist() == [4, 2, 5, 3]
    np.testing.assert_array_equal(given["sample_weight"], uneven[2])
    assert [sizes.tolist() for sizes in given["eval_group"]] == [[3, 6]]
    ((X_val, y_val),) = given["eval_set"]
    np.testing.assert_array_equal(X_val, uneven[1][0])
    np.testing.assert_array_equal(y_val, uneven[1][1])
    assert ranker.feature_importances_.tolist() == [1, 0, 0, 0, 0]
    _, given = given_to(FakeNewLightGBM(), uneven)
    assert [sizes.tolist() for sizes in given["eval_group"]] == [[3, 6]]
    np.testing.assert_array_equal(given["eval_X"][0], uneven[1][0])
    np.testing.assert_array_equal(given["eval_y"][0], uneven[1][1])


def test_arguments_of_xgboost(uneven):
    _, given = given_to(FakeXGBoost(), uneven)
    assert given["group"] is None
    assert given["qid"].tolist() == [0] * 4 + [1] * 2 + [2] * 5 + [3] * 3
    means = [part.mean() for part in np.split(uneven[2], [4, 6, 11])]
    np.testing.assert_allclose(given["sample_weight"], means)
    assert [ids.tolist() for ids in given["eval_qid"]] == [[0] * 3 + [1] * 6]
    np.testing.assert_array_equal(given["eval_set"][0][0], uneven[1][0])
    np.testing.assert_array_equal(given["eval_set"][0][1], uneven[1][1])
    without = PeerRanker(FakeXGBoost()).fit(*uneven[0]).estimator_.given_
    assert without["sample_weight"] is without["eval_set"] is None


def test_arguments_of_catboost(uneven, monkeypatch):
    library = types.ModuleType("catboost")
    library.Pool = Pool
    monkeypatch.setitem(sys.modules, "catboost", library)
    ranker, given = given_to(FakeCatBoost(), uneven)
    assert given["group_id"].tolist() == [0] * 4 + [1] * 2 + [2] * 5 + [3] * 3
    np.testing.assert_array_equal(given["sample_weight"], uneven[2])
    pool = given["eval_set"]
    assert pool.group_id.tolist() == [0] * 3 + [1] * 6
    np.testing.assert_array_equal(pool.data, uneven[1][0])
    np.testing.assert_array_equal(pool.label, uneven[1][1])
    assert ranker.feature_importances_.tolist() == [0, 1, 2, 3, 4]


def test_classes_and_odd_predictions_of_other_libraries_are_named():
    X, y, groups = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1]), [0, 0, 1, 1]
    with pytest.raises(TypeError, match="estimator must have fit and predict, got <cl"):
        PeerRanker(FakeLightGBM).fit(X, y, groups=groups)
    ranker = PeerRanker(FakeLightGBM()).fit(X, y, groups=groups)
    for found, message in (
        (np.ones(3), r"must hold one score for each of 4 documents, .* shape \(3,\)"),
        (
            np.ones((4, 2)),
            r"one score for each of 4 documents, got an array of shape \(4, 2\)",
        ),
    ):
        ranker.estimator_.predict = lambda X, found=found: found
        with pytest.raises(ValueError, match=message):
            ranker.predict(X)
