"""Boosted rankers: against scikit-learn, and how a run may be cut, joined and begun."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from _leaves import as_trees_see_them
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._core._inner import needs_groups, scores_of
from skrank.datasets import make_ranking
from skrank.exceptions import NotFiniteError, TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.losses import (
    LambdaLoss,
    ListMLELoss,
    ListNetLoss,
    LogisticLoss,
    LogLoss,
    SquaredLoss,
)
from skrank.metrics import get_measure, make_ranking_scorer
from skrank.model_selection import QueryKFold, QuerySubsample
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import (
    MART,
    BoltzRank,
    BoostedRanker,
    LambdaMART,
    ListNet,
    McRank,
    RandomForestRanker,
    RankNet,
    RankSVM,
)

FAST = {"n_estimators": 12, "min_samples_leaf": 3, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=40, n_features=8, n_informative=4, random_state=0
    )
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X)
    return X, y, groups


@pytest.fixture(scope="module")
def complete(data):
    """The same rows for rankers that take no missing values."""
    X, y, groups = data
    return np.nan_to_num(X), y, groups


def halves(data):
    X, y, groups = data
    first = groups < np.median(groups)
    return (X[first], y[first], groups[first]), (X[~first], y[~first], groups[~first])


def real_valued(rng, n=600, missing=0.1):
    """Features of few values, so that all bins are the same; no two gains are equal."""
    X = rng.integers(0, 40, size=(n, 6)).astype(float)
    y = 5.0 + np.sin(X[:, 0]) * X[:, 1] / 10 + X[:, 2] / 20 + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.maximum(y, 0.0), np.arange(n) // 20


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize(
    "options",
    [
        {"max_leaf_nodes": 31},
        {"max_leaf_nodes": 5, "min_samples_leaf": 40},
        {"max_leaf_nodes": 31, "max_depth": 3},
        {"max_leaf_nodes": 8, "l2_regularization": 4.0},
    ],
    ids=str,
)
def test_squared_loss_gives_the_trees_of_scikit_learn(rng, options, missing):
    X, y, groups = real_valued(rng, missing=missing)
    peer = HistGradientBoostingRegressor(
        max_iter=10, early_stopping=False, random_state=0, **options
    )
    # The loss there is half of ours, but the penalty is in units of the Hessian here.
    ours = dict(options, learning_rate=0.1, random_strength=0.0)
    ranker = MART(n_estimators=10, stochastic_rounding=False, **ours)
    expected = peer.fit(X, y).predict(X)
    np.testing.assert_allclose(
        ranker.fit(X, y, groups).predict(X), expected, rtol=1e-5, atol=1e-5
    )
    # Where no training row lies between two values, either may be the threshold; with
    # missing values, the two libraries differ in which.
    fresh = X if missing else real_valued(rng, missing=missing)[0]
    np.testing.assert_allclose(
        ranker.predict(fresh), peer.predict(fresh), rtol=1e-5, atol=1e-5
    )
    mean = np.mean((ranker.predict(X) - y) ** 2)
    more = MART(n_estimators=11, stochastic_rounding=False, **ours).fit(X, y, groups)
    np.testing.assert_allclose(more.loss_curve_[-1], mean, rtol=1e-9)


def test_stochastic_rounding_costs_nothing(rng):
    X, y, groups = real_valued(rng)
    errors = [
        np.mean(
            (
                MART(stochastic_rounding=s, random_state=0).fit(X, y, groups).predict(X)
                - y
            )
            ** 2
        )
        for s in (False, True)
    ]
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.05)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(), LogLoss()])
def test_one_leaf_steps_are_newton_steps(loss, data):
    X, y, groups = data
    X = np.nan_to_num(X)
    ranker = BoostedRanker(
        loss,
        n_estimators=1,
        max_leaf_nodes=2,
        learning_rate=1.0,
        **{k: FAST[k] for k in ("min_samples_leaf", "random_state", "n_jobs")},
    ).fit(X, y, groups)
    forest = ranker.ensemble_
    ptr = np.concatenate([[0], np.cumsum(np.bincount(groups)[np.unique(groups)])])
    start = np.full(len(y), ranker.baseline_[0])
    _, gradient, hessian = loss.prepare(y, ptr).gradient_hessian(start)
    left = X[:, forest.feature_[0]] <= forest.threshold_[0]
    for k, rows in ((1, left), (2, ~left)):
        expected = -gradient[rows].sum() / hessian[rows].sum()
        np.testing.assert_allclose(forest.value_[k], expected, rtol=1e-9)


def leaves_of(forest, X, tree):
    """Leaf of every row, by the documented rules."""
    at = np.full(len(X), forest.roots_[tree])
    while (forest.feature_[at] >= 0).any():
        inner = forest.feature_[at] >= 0
        values = X[np.arange(len(X)), np.maximum(forest.feature_[at], 0)]
        left = np.where(
            np.isnan(values), forest.missing_left_[at], values <= forest.threshold_[at]
        ).astype(bool)
        at = np.where(inner, forest.left_[at] + ~left, at)
    return at


@pytest.mark.parametrize("least", [{}, {"min_hessian_leaf": 1.5}], ids=str)
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize(
    "loss", [LogisticLoss(), LogLoss(), LambdaLoss(), ListNetLoss()]
)
def test_leaves_of_all_iterations_are_newton_steps(loss, l2, least, data):
    """The whole training, repeated: -η G / (H + λ h) in every leaf of every tree."""
    X, y, groups = as_trees_see_them(*data)
    options = dict(FAST, n_estimators=4, learning_rate=0.3, l2_regularization=l2)
    options["max_leaf_nodes"] = 31
    ranker = BoostedRanker(loss, **options, **least).fit(X, y, groups)
    forest, raw = ranker.ensemble_, np.full(len(y), ranker.baseline_[0])
    ptr = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [len(y)]])
    prepared, unit = loss.prepare(y, ptr), None
    for tree in range(forest.n_trees):
        if loss.has_hessian:
            _, gradient, hessian = prepared.gradient_hessian(raw)
        else:
            gradient, hessian = prepared.value_gradient(raw)[1], np.ones(len(y))
        unit = hessian.mean() if unit is None else unit
        leaf = leaves_of(forest, X, tree)
        for k in np.unique(leaf):
            rows = leaf == k
            weight = hessian[rows].sum()
            step = -0.3 * gradient[rows].sum() / (weight + l2 * unit)
            np.testing.assert_allclose(forest.value_[k], step, rtol=1e-9)
            np.testing.assert_allclose(forest.weight_[k], weight, rtol=1e-9)
            assert forest.count_[k] == rows.sum() >= FAST["min_samples_leaf"]
            assert weight >= 0.99 * least.get("min_hessian_leaf", 0.0)
            raw[rows] += forest.value_[k]
    assert forest.n_trees == 4
    np.testing.assert_allclose(ranker.predict(X), raw, rtol=1e-9)


def test_the_start_of_a_loss_with_an_optimum_is_near_it(data):
    X, y, groups = data
    squared = MART(n_estimators=1).fit(X, y, groups)
    np.testing.assert_allclose(squared.baseline_, np.mean(y))
    assert LambdaMART(n_estimators=1).fit(X, y, groups).baseline_ == 0.0


def test_rows_without_weight_have_no_best_constant(data):
    X, y, groups = data
    held = np.unique(groups)[np.random.RandomState(0).permutation(40)[:4]]
    ranker = MART(**FAST, early_stopping=True)
    with pytest.warns(TrainingDataWarning, match="none is possible or gains enough"):
        ranker.fit(X, y, groups, sample_weight=np.isin(groups, held))
    assert ranker.baseline_.tolist() == [0.0]
    np.testing.assert_array_equal(ranker.predict(X), 0.0)


def test_losses_without_hessian(data):
    assert not ListMLELoss().has_hessian
    ranker = BoostedRanker(ListMLELoss(), **FAST).fit(*data)
    assert ranker.loss_curve_[-1] < ranker.loss_curve_[0]


def test_the_loss_falls(data):
    for ranker in (MART(**FAST), BoostedRanker(**FAST)):
        assert (np.diff(ranker.fit(*data).loss_curve_) < 0).all()


def test_measures_and_truncation_reach_the_loss(data):
    options = {"measure": "map", "truncation": 3, "sigma": 2.0, "normalize": False}
    ranker = LambdaMART(**options, **FAST).fit(*data)
    assert options.items() <= ranker.loss_.get_params().items()
    assert ranker.score(*data) > 0.8


def test_staged_predict_shows_every_iteration(data):
    X, y, groups = data
    for ranker in (MART(**FAST), LambdaMART(init=RankSVM(), **FAST)):
        ranker.fit(np.nan_to_num(X), y, groups)
        stages = list(ranker.staged_predict(np.nan_to_num(X)))
        assert len(stages) == 12
        np.testing.assert_array_equal(stages[-1], ranker.predict(np.nan_to_num(X)))
        short = clone(ranker).set_params(n_estimators=5)
        short.fit(np.nan_to_num(X), y, groups)
        np.testing.assert_array_equal(stages[4], short.predict(np.nan_to_num(X)))


@pytest.mark.parametrize(
    "params",
    [{}, {"subsample": 0.5, "max_features": 0.4}, {"init": RankSVM()}],
    ids=["rounding", "draws", "init"],
)
def test_a_warm_start_goes_on_as_if_it_had_never_stopped(params, data):
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    at_once = LambdaMART(**FAST, **params).fit(X, y, groups)
    ranker = LambdaMART(**FAST | {"n_estimators": 5}, warm_start=True, **params)
    ranker.fit(X, y, groups).set_params(n_estimators=12).fit(X, y, groups)
    np.testing.assert_array_equal(ranker.predict(X), at_once.predict(X))
    np.testing.assert_array_equal(ranker.loss_curve_, at_once.loss_curve_)
    assert ranker.n_iter_ == ranker.best_iteration_ == 12


def test_a_warm_start_keeps_bins_and_categories(data):
    (X, y, groups), (X2, y2, groups2) = halves(data)
    X, X2 = X.copy(), X2.copy()
    X[:, 0], X2[:, 0] = np.arange(len(X)) % 5, np.arange(len(X2)) % 7 + 2
    ranker = MART(categorical_features=[0], warm_start=True, **FAST).fit(X, y, groups)
    before = ranker.predict(X)
    mapper = ranker.bin_mapper_
    ranker.set_params(n_estimators=14).fit(X2, y2, groups2)
    assert ranker.bin_mapper_ is mapper
    *_, old, _, _ = ranker.staged_predict(X)
    np.testing.assert_array_equal(old, before)


def test_a_warm_start_keeps_the_constraints(data):
    X, y, groups = data
    signs = [1] + [0] * 7
    ranker = MART(warm_start=True, monotonic_cst=signs, **FAST).fit(X, y, groups)
    ranker.set_params(n_estimators=14).fit(X, y, groups)
    np.testing.assert_array_equal(ranker.monotonic_cst_, signs)
    ranker.set_params(n_estimators=15, monotonic_cst=None)
    with pytest.raises(
        ValueError, match=r"constraints \[1, 0, .*, but monotonic_cst=\[0"
    ):
        ranker.fit(X, y, groups)


def test_trees_do_not_sum_features_and_do_not_blame_them(data):
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    X[::7, 0] = 1e300
    assert np.isfinite(MART(**FAST).fit(X, y, groups).predict(X)).all()
    with pytest.raises(NotFiniteError, match=r"lower learning_rate=1e\+300"):
        MART(learning_rate=1e300, **FAST).fit(X, y, groups)


def test_warm_starts_that_do_not_fit(data):
    X, y, groups = data
    ranker = MART(warm_start=True, **FAST).fit(X, y, groups)
    with pytest.raises(ValueError, match="n_estimators=5 is below the 12 rounds"):
        ranker.set_params(n_estimators=5).fit(X, y, groups)
    with pytest.raises(ValueError, match="X has 3 features, but MART is expecting 8"):
        ranker.set_params(n_estimators=15).fit(X[:, :3], y, groups)


def test_a_warm_start_after_early_stopping(data):
    train, held = halves(data)
    names = ("X_val", "y_val", "groups_val")
    validation = dict(zip(names, held))
    ranker = MART(**FAST | {"n_estimators": 60}, n_iter_no_change=3, warm_start=True)
    ranker.fit(*train, **validation)
    kept = ranker.best_iteration_
    assert kept == ranker.ensemble_.n_trees < ranker.n_iter_
    ranker.set_params(n_estimators=kept + 2).fit(*train, **validation)
    assert ranker.n_iter_ == len(ranker.loss_curve_) == kept + 2
    assert len(ranker.validation_curve_) == kept + 2


@pytest.mark.parametrize("measure", ["ndcg@10", "map", "rr", get_measure("err@5")])
def test_early_stopping_keeps_the_best_iteration_of_any_measure(measure, data):
    (X, y, groups), (X_val, y_val, groups_val) = halves(data)
    ranker = LambdaMART(
        **FAST | {"n_estimators": 40}, validation_measure=measure, n_iter_no_change=8
    )
    ranker.fit(X, y, groups, X_val=X_val, y_val=y_val, groups_val=groups_val)
    measure = get_measure(measure)
    ptr = np.append(np.unique(groups_val, return_index=True)[1], len(y_val))
    full = LambdaMART(**FAST | {"n_estimators": 40}).fit(X, y, groups)
    curve = [
        measure.mean(measure.per_query(y_val, scores, ptr))
        for scores in full.staged_predict(X_val)
    ]
    found = ranker.validation_curve_
    np.testing.assert_allclose(found, curve[: len(found)], rtol=1e-12)
    best = int(np.argmax(found))
    assert ranker.best_iteration_ == ranker.ensemble_.n_trees == best + 1
    assert len(found) == min(40, best + 1 + 8)
    expected = list(full.staged_predict(X))[best]
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_trees_improve_on_a_ranker(data):
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    first = RankSVM().fit(X, y, groups)
    ranker = LambdaMART(init=RankSVM(), **FAST).fit(X, y, groups)
    np.testing.assert_array_equal(ranker.init_.predict(X), first.predict(X))
    assert ranker.score(X, y, groups) > first.score(X, y, groups)
    scores = LambdaMART(**FAST).fit(X, y, groups, init_score=first.predict(X))
    np.testing.assert_allclose(
        scores.predict(X) + first.predict(X), ranker.predict(X), rtol=1e-12
    )


def test_scores_to_start_from_follow_their_rows(data):
    X, y, groups = data
    given = np.random.default_rng(0).normal(size=len(y))
    expected = MART(**FAST).fit(X, y, groups, init_score=given)
    inside = np.lexsort((np.arange(len(y)), -groups))  # queries from last to first
    moved = MART(**FAST).fit(
        X[inside], y[inside], groups[inside], init_score=given[inside]
    )
    np.testing.assert_array_equal(moved.predict(X), expected.predict(X))
    # Without trees that could split, what is added is the mean residual.
    flat = MART(n_estimators=1, min_samples_leaf=len(y), learning_rate=1.0)
    with pytest.warns(TrainingDataWarning, match="a split needs 1724 documents"):
        flat.fit(X, y, groups, init_score=given)
    np.testing.assert_allclose(flat.predict(X), np.mean(y - given))
    assert flat.baseline_.tolist() == [0.0]


def test_scores_to_start_from_with_validation(data):
    (X, y, groups), (X_val, y_val, groups_val) = halves(data)
    rng = np.random.default_rng(0)
    given, given_val = rng.normal(size=len(y)), rng.normal(size=len(y_val))
    validation = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
    ranker = MART(**FAST | {"n_estimators": 1})
    ranker.fit(X, y, groups, init_score=given, init_score_val=given_val, **validation)
    measure = get_measure("ndcg@10")
    ptr = np.append(np.unique(groups_val, return_index=True)[1], len(y_val))
    scores = ranker.predict(X_val) + given_val
    expected = measure.mean(measure.per_query(y_val, scores, ptr))
    np.testing.assert_allclose(ranker.validation_curve_, [expected])
    with pytest.raises(ValueError, match="init_score and init_score_val must be given"):
        ranker.fit(X, y, groups, init_score=given, **validation)
    held_out = MART(early_stopping=True, **FAST).fit(X, y, groups, init_score=given)
    assert len(held_out.validation_curve_) > 0


def test_bad_scores_to_start_from(data):
    X, y, groups = data
    for scores in (np.ones(3), np.full(len(y), np.nan), np.full(len(y), np.inf)):
        with pytest.raises(ValueError, match="init_score"):
            MART(**FAST).fit(X, y, groups, init_score=scores)


def test_subsamples_are_of_whole_queries(data):
    X, y, groups = data
    sizes = np.bincount(groups)[np.unique(groups)]
    ranker = MART(**FAST, subsample=0.25).fit(X, y, groups)
    roots = ranker.ensemble_.count_[ranker.ensemble_.roots_]
    assert len(set(roots)) > 1
    ordered = np.sort(sizes)
    assert (roots >= ordered[:10].sum()).all()
    assert (roots <= ordered[-10:].sum()).all()
    full = MART(**FAST, subsample=1.0).fit(X, y, groups)
    assert (full.ensemble_.count_[full.ensemble_.roots_] == len(y)).all()


def test_document_weights_are_repetition_where_rows_do_not_meet(data):
    X, y, groups = np.round(data[0], 1), *data[1:]  # a bin for every value
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    options = {"min_samples_leaf": 1, "stochastic_rounding": False, "max_leaf_nodes": 6}
    options |= {"n_estimators": 10, "learning_rate": 0.1, "random_strength": 0.0}
    weighted = MART(**options).fit(X, y, groups, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = MART(**options).fit(X[rows], y[rows], groups[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_data_frames_keep_feature_names(data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    ranker = MART(**FAST).fit(frame, y, groups)
    expected = MART(**FAST).fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    assert ranker.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(frame[frame.columns[::-1]])


def test_categories_are_names(data):
    _, y, groups = data
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 30, size=len(y))
    names = rng.permutation(1000)[:30].astype(float)
    grades = (codes % 2).astype(float)
    options = FAST | {"n_estimators": 3, "learning_rate": 1.0, "max_leaf_nodes": 2}
    rankers = [
        MART(categorical_features=[0], **options).fit(X, grades, groups)
        for X in (codes[:, None].astype(float), names[codes][:, None])
    ]
    first, second = (
        ranker.predict(X)
        for ranker, X in zip(rankers, (codes[:, None] * 1.0, names[codes][:, None]))
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - grades).max() < 0.3  # one split separates odd from even
    unknown, missing = rankers[0].predict([[77.0], [np.nan]])
    assert unknown == missing


def test_monotonic_scores(data):
    X, y, groups = data
    ranker = LambdaMART(monotonic_cst=[1, -1, 0, 0, 0, 0, 0, 0], **FAST)
    ranker.fit(X, y, groups)
    rows = np.repeat(np.nan_to_num(X[:30]), 50, axis=0)
    for feature, sign in ((0, 1), (1, -1)):
        line = rows.copy()
        line[:, feature] = np.tile(np.linspace(-4, 4, 50), 30)
        scores = ranker.predict(line).reshape(30, 50)
        assert (sign * np.diff(scores, axis=1) >= 0).all()
    with pytest.raises(ValueError, match="feature 0 is categorical and has no order"):
        ranker.set_params(categorical_features=[0]).fit(np.round(X), y, groups)


def test_features_by_name(data):
    X, y, groups = data
    frame = pd.DataFrame(np.round(X), columns=[f"f{j}" for j in range(X.shape[1])])
    by_name = {"categorical_features": ["f3"], "monotonic_cst": {"f0": 1, "f1": -1}}
    by_place = {"categorical_features": [3], "monotonic_cst": [1, -1] + [0] * 6}
    ranker = MART(**FAST, **by_name).fit(frame, y, groups)
    expected = MART(**FAST, **by_place).fit(frame, y, groups)
    np.testing.assert_array_equal(ranker.predict(frame), expected.predict(frame))
    with pytest.raises(ValueError, match="monotonic_cst: no feature is named 'price'"):
        MART(monotonic_cst={"price": 1}).fit(frame, y, groups)
    with pytest.raises(ValueError, match="no feature is named 'f3'; X has none"):
        MART(categorical_features=["f3"]).fit(X, y, groups)
    with pytest.raises(ValueError, match="-1, 0 or 1"):
        MART(monotonic_cst={"f0": 2}).fit(frame, y, groups)


def test_importances(data):
    ranker = MART(**FAST).fit(*data)
    importances = ranker.feature_importances_
    assert importances.shape == (8,)
    np.testing.assert_allclose(importances.sum(), 1.0)
    split = ranker.ensemble_.feature_importances(8, "split")
    np.testing.assert_allclose(split.sum(), 1.0)
    assert ((importances > 0) == (split > 0)).all()


@pytest.mark.parametrize(
    "ranker",
    [
        MART(categorical_features=[0]),
        LambdaMART(init=RankSVM(), subsample=0.5),
        BoostedRanker(ListNetLoss(), early_stopping=True),
        RandomForestRanker(n_estimators=5),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_model_files(ranker, data, tmp_path):
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    X[:, 0] = np.round(X[:, 0])
    ranker = clone(ranker).set_params(random_state=0).fit(X, y, groups)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(
        loaded.feature_importances_, ranker.feature_importances_
    )


def test_grid_search_by_query(data):
    X, y, groups = data
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            LambdaMART(**FAST), {"max_leaf_nodes": [2, 7]}, cv=QueryKFold(2)
        ).fit(X, y, groups=groups)
    assert search.best_score_ > 0.5


def test_float32_rows_make_a_model_that_serves_both_precisions(data):
    X, y, groups = data
    ranker = MART(**FAST).fit(X.astype(np.float32), y, groups)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        ranker.predict(single), ranker.predict(single.astype(np.float64))
    )


def test_leaves_hold_enough_hessian():
    X, y, groups = make_ranking(n_queries=30, random_state=0)
    ranker = LambdaMART(n_estimators=5, min_samples_leaf=1, min_hessian_leaf=2.0)
    ensemble = ranker.fit(X, y, groups).ensemble_
    leaves = ensemble.feature_ < 0
    assert leaves.sum() > 10
    # Rounded hessians decide; a leaf may miss the bound by their resolution.
    assert ensemble.weight_[leaves].min() > 1.98


@pytest.mark.parametrize(
    "init",
    [
        make_pipeline(StandardScaler(), RankSVM()),
        make_pipeline(QueryStandardScaler(), RankSVM()),
        BoltzRank(pairwise_potential=True, max_iter=2, random_state=0),
        Ridge(),
    ],
    ids=["pipeline", "query scaler", "pairs", "regressor"],
)
def test_init_is_any_estimator(init, complete):
    X, y, groups = complete
    ranker = LambdaMART(n_estimators=20, min_samples_leaf=5, init=init, random_state=0)
    ranker.fit(X, y, groups)
    start = scores_of(ranker.init_, X, groups)
    trees = ranker._add_trees(np.zeros((len(y), 1)), X)[:, 0]
    np.testing.assert_allclose(
        ranker.predict(X, groups=groups), start + trees, rtol=1e-12, atol=1e-13
    )
    *_, last = ranker.staged_predict(X, groups=groups)
    np.testing.assert_allclose(last, start + trees, rtol=1e-12, atol=1e-13)
    assert ranker.score(X, y, groups) > 0.7
    if needs_groups(ranker.init_):
        with pytest.raises(ValueError, match=r"LambdaMART.predict needs to know"):
            ranker.predict(X)


def test_init_sees_names_weights_and_validation_queries(complete):
    X, y, groups = complete
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    ranker = LambdaMART(n_estimators=3, init=ListNet(n_iter_no_change=2))
    ranker.fit(
        frame,
        y,
        groups,
        sample_weight=np.ones(len(y)),
        X_val=frame,
        y_val=y,
        groups_val=groups,
    )
    assert ranker.init_.feature_names_in_.tolist() == frame.columns.tolist()
    assert len(ranker.init_.validation_curve_)
    assert np.isfinite(ranker.predict(frame)).all()


@pytest.mark.parametrize(
    "ranker", [MART(**FAST), RankNet(), MART(**FAST, init=Ridge())]
)
def test_the_lowest_value_is_best_where_lower_is_better(ranker, complete):
    """The model is kept by the direction of the validation measure."""
    (X, y, groups), held = halves(complete)
    ranker = clone(ranker).set_params(validation_measure="mse")
    names = ("X_val", "y_val", "groups_val")
    ranker.fit(X, y, groups, **dict(zip(names, held)))
    curve = ranker.validation_curve_
    assert ranker.best_iteration_ == np.argmin(curve) + 1
    measure = make_ranking_scorer("mse")
    assert -measure(ranker, *held[:2], groups=held[2]) == pytest.approx(curve.min())


def test_restarts_are_compared_by_the_direction_of_the_measure(complete):
    train, held = halves(complete)
    val = dict(zip(("X_val", "y_val", "groups_val"), held))
    options = {"hidden_layer_sizes": (3,), "validation_measure": "mse", "max_iter": 5}
    rng = np.random.RandomState(0)
    several = RankNet(**options, n_restarts=3, random_state=0).fit(*train, **val)
    alone = [
        RankNet(**options, random_state=rng).fit(*train, **val).validation_curve_
        for _ in range(3)
    ]
    assert several.validation_curve_.min() == min(curve.min() for curve in alone)


def test_restarts_are_compared_on_validation_queries(complete):
    X, y, groups = complete
    val = {"X_val": X, "y_val": y.max() - y, "groups_val": groups}
    options = {"hidden_layer_sizes": (3,), "max_iter": 5, "n_iter_no_change": None}
    rng = np.random.RandomState(0)
    several = RankNet(**options, n_restarts=4, random_state=0)
    several.fit(X, y, groups, **val)
    alone = [
        RankNet(**options, random_state=rng).fit(X, y, groups, **val) for _ in range(4)
    ]
    best = [ranker.validation_curve_.max() for ranker in alone]
    # Turned round, the judgements are met best where the objective is not lowest.
    lowest = np.argmin([ranker.loss_curve_[-1] for ranker in alone])
    assert np.argmax(best) != lowest
    np.testing.assert_array_equal(several.predict(X), alone[np.argmax(best)].predict(X))
    without = RankNet(**options, n_restarts=4, random_state=0).fit(X, y, groups)
    assert without.loss_curve_[-1] == alone[lowest].loss_curve_[-1]


def test_a_warm_start_never_ends_below_the_model_it_resumes(complete):
    train, held = halves(complete)
    val = dict(zip(("X_val", "y_val", "groups_val"), held))
    options = {"learning_rate": 0.3, "n_iter_no_change": 5, "subsample": 0.5}
    ranker = LambdaMART(**FAST | options, warm_start=True).fit(*train, **val)
    for n_estimators in (30, 60):
        before = ranker.score(*held)
        ranker.set_params(n_estimators=n_estimators).fit(*train, **val)
        assert ranker.score(*held) >= before
        curve = ranker.validation_curve_
        assert ranker.best_iteration_ == np.nanargmax(curve) + 1
        assert len(curve) == len(ranker.loss_curve_)
        assert len(curve) == ranker.n_iter_


def test_rounds_without_validation_queries_have_no_value(complete):
    train, held = halves(complete)
    val = dict(zip(("X_val", "y_val", "groups_val"), held))
    ranker = MART(**FAST | {"n_estimators": 4}, warm_start=True).fit(*train)
    ranker.set_params(n_estimators=7).fit(*train, **val)
    assert np.isnan(ranker.validation_curve_).tolist() == [True] * 4 + [False] * 3


def test_a_fit_that_fails_leaves_the_ranker_as_it_was(complete):
    X, y, groups = complete
    ranker = LambdaMART(**FAST).fit(X, y, groups)
    expected = ranker.predict(X)

    def interrupt(info):
        if info["iteration"] == 3:
            raise KeyboardInterrupt

    ranker.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X[:, :3], y, groups)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    new = clone(ranker)
    with pytest.raises(KeyboardInterrupt):
        new.fit(X, y, groups)
    with pytest.raises(NotFittedError):
        new.predict(X)


def test_a_meta_ranker_that_needs_groups_may_begin(complete):
    X, y, groups = complete
    pairs = BoltzRank(pairwise_potential=True, max_iter=2, random_state=0)
    ranker = LambdaMART(n_estimators=2, init=QuerySubsample(pairs, n_queries=10))
    ranker.fit(X, y, groups)
    assert np.isfinite(ranker.predict(X, groups=groups)).all()
    with pytest.raises(ValueError, match=r"LambdaMART.predict needs to know"):
        ranker.predict(X)


@pytest.mark.parametrize("answer", [True, np.True_])
@pytest.mark.parametrize("at", [0, 3])
def test_a_callback_may_stop_training(answer, at, complete):
    ranker = MART(
        **FAST, callback=lambda info: answer if info["iteration"] == at else 1
    )
    assert ranker.fit(*complete).n_iter_ == max(at, 1)


@pytest.mark.parametrize("name", ["ndcg@0", "rbp(p='a')", "zzz", "ndcg(kk=1)"])
def test_names_of_measures_are_checked_with_the_other_parameters(name, complete):
    for ranker in (LambdaMART(name), MART(validation_measure=name)):
        with pytest.raises(ValueError, match=r"measure must be a string such as"):
            ranker.fit(*complete)


class NaNs(Ridge):
    def predict(self, X):
        return np.full(len(X), np.nan)


def test_a_model_never_holds_nan(complete):
    X, y, groups = complete
    with pytest.raises(ValueError, match="must not hold NaN"):
        LambdaMART(**FAST, init=NaNs()).fit(X, y, groups)
    words = r"SquaredLoss cannot be evaluated, .* lower learning_rate=1e\+308"
    with pytest.raises(ValueError, match=words):
        MART(**FAST | {"learning_rate": 1e308, "max_leaf_nodes": 31}).fit(X, y, groups)
    with pytest.raises(ValueError, match="init_score_val needs X_val"):
        MART(**FAST).fit(X, y, groups, init_score_val=y)


@pytest.mark.parametrize("size", [2**31, 2**40])
@pytest.mark.parametrize("name", ["max_leaf_nodes", "max_depth", "min_samples_leaf"])
@pytest.mark.parametrize("cls", [LambdaMART, RandomForestRanker, McRank])
def test_sizes_of_trees_that_kernels_cannot_hold(cls, name, size, data):
    message = f"{cls.__name__}: {name} must be a whole number .*, got {size}"
    with pytest.raises(ValueError, match=message):
        cls(n_estimators=1, **{name: size}).fit(*data)
    cls(n_estimators=1, **{name: 2**31 - 1})._check_parameters()
