"""Scorers over estimators in which any part may take groups, at any depth.

The expected value is always that of steps called by hand, each given its groups.
"""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.inspection import query_permutation_importance
from skrank.metrics import (
    QueryLeakageWarning,
    check_query_leakage,
    compare,
    make_ranking_scorer,
    ndcg_score,
)
from skrank.model_selection import QueryKFold, query_learning_curve
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import BoltzRank, RankSVM

X, Y, GROUPS = make_ranking(n_queries=16, random_state=0)
X = X[:, :6] * (1 + GROUPS[:, None])  # scaling by query and over all rows differ
SCORER = make_ranking_scorer("ndcg@10")
CV = QueryKFold(2)


def search(estimator):
    return GridSearchCV(estimator, {}, cv=CV, scoring=SCORER, error_score="raise")


def scaled(train, rows):
    scaler = QueryStandardScaler().fit(X[train], groups=GROUPS[train])
    return scaler.transform(X[rows], groups=GROUPS[rows])


def ranked(ranker, train, rows):
    """Scores of a ranker on rows that are scaled by hand."""
    ranker = clone(ranker).fit(scaled(train, train), Y[train], groups=GROUPS[train])
    return ranker.predict(scaled(train, rows))


def by_column(train, rows):
    """Scores of RankSVM on three scaled columns and the others as they are."""
    parts = [
        np.hstack([scaled(train, part)[:, :3], X[part, 3:]]) for part in (train, rows)
    ]
    return RankSVM().fit(parts[0], Y[train], GROUPS[train]).predict(parts[1])


def two_scalings(train, rows):
    plain = StandardScaler().fit(X[train])
    parts = [
        np.hstack([scaled(train, part), plain.transform(X[part])])
        for part in (train, rows)
    ]
    return RankSVM().fit(parts[0], Y[train], GROUPS[train]).predict(parts[1])


def regressed(train, rows):
    model = LinearRegression().fit(scaled(train, train), Y[train])
    return model.predict(scaled(train, rows))


def by_ranksvm(train, rows):
    return ranked(RankSVM(), train, rows)


PIPELINE = make_pipeline(QueryStandardScaler(), RankSVM())
MODELS = {
    "pipeline": (PIPELINE, by_ranksvm),
    "inner pipeline first": (
        make_pipeline(make_pipeline(QueryStandardScaler()), RankSVM()),
        by_ranksvm,
    ),
    "inner pipeline last": (make_pipeline("passthrough", PIPELINE), by_ranksvm),
    "union": (
        make_pipeline(make_union(QueryStandardScaler(), StandardScaler()), RankSVM()),
        two_scalings,
    ),
    "columns": (
        make_pipeline(
            ColumnTransformer(
                [
                    ("scaled", make_pipeline(QueryStandardScaler()), [0, 1, 2]),
                    ("kept", "passthrough", [3, 4, 5]),
                ]
            ),
            RankSVM(),
        ),
        by_column,
    ),
    "regressor": (make_pipeline(QueryStandardScaler(), LinearRegression()), regressed),
    "wrapper": (
        TransformedTargetRegressor(
            make_pipeline(QueryStandardScaler(), LinearRegression())
        ),
        regressed,
    ),
    "search": (search(PIPELINE), by_ranksvm),
    "search last": (
        make_pipeline(QueryStandardScaler(), search(RankSVM())),
        by_ranksvm,
    ),
    "search of searches": (search(search(PIPELINE)), by_ranksvm),
    "search in a pipeline": (
        make_pipeline("passthrough", search(PIPELINE)),
        by_ranksvm,
    ),
}
models = pytest.mark.parametrize(
    ("model", "scores_by_hand"), MODELS.values(), ids=list(MODELS)
)


@pytest.fixture(params=[True, False], ids=["routing", "qid_index"])
def handed_over(request):
    """X, y and further arguments, with routing and without."""
    with sklearn.config_context(enable_metadata_routing=request.param):
        if request.param:
            yield X, Y, {"groups": GROUPS}
        else:
            pd = pytest.importorskip("pandas")
            index = pd.Index(GROUPS, name="qid")
            yield pd.DataFrame(X, index=index), pd.Series(Y, index=index), {}


@models
def test_searches_and_cross_validation(handed_over, model, scores_by_hand):
    rows, y, params = handed_over
    expected = []
    for train, test in CV.split(X, Y, GROUPS):
        scores = scores_by_hand(train, test)
        expected.append(ndcg_score(Y[test], scores, groups=GROUPS[test], k=10))
    options = {"params": params} if params else {}
    got = cross_val_score(
        model, rows, y, cv=CV, scoring=SCORER, error_score="raise", **options
    )
    np.testing.assert_allclose(got, expected)
    found = search(clone(model)).fit(rows, y, **params)
    assert found.best_score_ == pytest.approx(np.mean(expected))
    everything = np.arange(len(Y))
    scores = scores_by_hand(everything, everything)
    on_all = pytest.approx(ndcg_score(Y, scores, groups=GROUPS, k=10))
    assert found.score(rows, y, **params) == on_all
    assert SCORER(found, rows, y, **params) == on_all
    assert SCORER(found, X, Y, groups=GROUPS) == on_all


@models
def test_tools_that_take_groups(handed_over, model, scores_by_hand):
    rows, y, params = handed_over
    fitted = clone(model).fit(rows, y, **params)
    everything = np.arange(len(Y))
    scores = scores_by_hand(everything, everything)
    expected = ndcg_score(Y, scores, groups=GROUPS, k=10)
    table = compare({"model": fitted}, Y, GROUPS, X=X, measures=["ndcg@10"])
    assert table.means[0, 0] == pytest.approx(expected)
    importance = query_permutation_importance(fitted, X, Y, GROUPS, n_repeats=1)
    assert importance.baseline == pytest.approx(expected)


def test_learning_curve_of_a_query_scaler(handed_over):
    rows, y, params = handed_over
    curve = query_learning_curve(
        PIPELINE, rows, y, params.get("groups"), cv=CV, train_sizes=[1.0]
    )
    folds = [(train, test) for train, test in CV.split(X, Y, GROUPS)]
    for k, (train, test) in enumerate(folds):
        scores = by_ranksvm(np.sort(train), test)
        expected = ndcg_score(Y[test], scores, groups=GROUPS[test], k=10)
        assert curve.test_scores[0, k] == pytest.approx(expected)


def test_a_search_in_a_pipeline_hands_groups_to_a_relational_ranker():
    relational = BoltzRank(pairwise_potential=True, max_iter=2, random_state=0)
    model = make_pipeline(QueryStandardScaler(), search(relational))
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(X, Y, groups=GROUPS)
    everything = np.arange(len(Y))
    expected = model[-1].best_estimator_.predict(
        scaled(everything, everything), groups=GROUPS
    )
    assert SCORER(model, X, Y, groups=GROUPS) == pytest.approx(
        ndcg_score(Y, expected, groups=GROUPS, k=10)
    )


def test_bagging_of_what_takes_groups():
    model = make_pipeline(
        QueryStandardScaler(), BaggingRegressor(n_estimators=2, random_state=0)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            model, X, Y, cv=CV, scoring=SCORER, params={"groups": GROUPS}
        )
    assert np.isfinite(scores).all()


def test_leakage_is_seen_through_a_target_transformer():
    with sklearn.config_context(enable_metadata_routing=True):
        model = TransformedTargetRegressor(PIPELINE, check_inverse=False)
        model.fit(X, Y, groups=GROUPS)
    with pytest.warns(QueryLeakageWarning, match="training data of RankSVM"):
        check_query_leakage(model, GROUPS[:3])


def test_an_index_that_a_step_drops_is_explained():
    pd = pytest.importorskip("pandas")
    index = pd.Index(GROUPS, name="qid")
    rows, y = pd.DataFrame(X, index=index).rename(columns=str), pd.Series(Y, index)
    model = make_pipeline(StandardScaler(), QueryStandardScaler(), RankSVM())
    model.fit(rows, y)
    with pytest.raises(ValueError, match="return arrays drop the index of X; set_outp"):
        model.predict(rows)
    # The scorer reads the queries before the first step, and hands them past it.
    direct = SCORER(model, rows, y)
    kept = clone(model).set_output(transform="pandas").fit(rows, y)
    np.testing.assert_allclose(
        ndcg_score(Y, kept.predict(rows), groups=GROUPS, k=10), direct
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cross_val_score(model, rows, y, cv=CV, scoring=SCORER)
    assert np.isfinite(scores).all()
