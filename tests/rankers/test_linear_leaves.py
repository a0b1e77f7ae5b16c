"""Linear functions in leaves: against a ridge regression, at limits, and in use."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from _leaves import leaf_of_rows, parents_of, path_to, starts_of_queries

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model, to_elasticsearch, to_json, to_ranklib
from skrank.inspection import shap_values
from skrank.losses import ListNetLoss, LogLoss
from skrank.rankers import MART, BoostedRanker, GBRank, LambdaMART, McRank
from skrank.trees import _forest

FAST = {"n_estimators": 4, "min_samples_leaf": 12, "n_jobs": 1}
FAST |= {"random_state": 0, "learning_rate": 0.4, "max_depth": 3}
LINEAR = FAST | {"linear_leaves": True, "linear_l2": 2.0}


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=16, n_features=5, n_informative=4, random_state=0
    )
    rng = np.random.default_rng(1)
    X = np.where(rng.random(X.shape) < 0.05, np.nan, 100.0 * X)
    X[:, 2] = rng.integers(0, 5, size=len(X))
    return X, y, groups


def derivatives(prepared, loss, raw):
    if loss.has_hessian:
        return prepared.gradient_hessian(raw)[1:]
    gradient = prepared.value_gradient(raw)[1]
    return gradient, np.ones_like(gradient)


def path_features(forest, leaf):
    nodes = path_to(parents_of(forest), leaf)[:-1]
    return np.unique([forest.feature_[k] for k in nodes if forest.category_[k] < 0])


def naive_leaf(X, gradient, hessian, spread, l2):
    """What a ridge regression on the rows of a leaf adds to its constant."""
    known = ~np.isnan(X).any(axis=1)
    center = np.average(X[known], axis=0, weights=hessian[known])
    Z = (X[known] - center) / spread
    A = Z.T @ (hessian[known, None] * Z) + l2 * np.eye(X.shape[1])
    slopes = -np.linalg.solve(A, Z.T @ gradient[known])
    low, high = X[known].min(axis=0), X[known].max(axis=0)

    def add(rows):
        missing = np.isnan(rows).any(axis=1)
        found = ((np.clip(rows, low, high) - center) / spread) @ slopes
        return np.where(missing, 0.0, found)

    return add


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("loss", [LogLoss(), ListNetLoss()], ids=str)
def test_leaves_are_ridge_regressions(loss, growth, data):
    """The whole training, repeated, at rows of training and at others far outside."""
    X, y, groups = data
    others = 2.0 * X[::-1]
    others[:, 2] = X[:, 2]
    ranker = BoostedRanker(loss, growth=growth, categorical_features=[2], **LINEAR)
    forest = ranker.fit(X, y, groups).ensemble_
    prepared = loss.prepare(y, starts_of_queries(groups))
    raw, far = (np.full(len(y), ranker.baseline_[0]) for _ in range(2))
    spread, n_functions = np.nanstd(X, axis=0), 0
    for tree in range(forest.n_trees):
        gradient, hessian = derivatives(prepared, loss, raw)
        if tree == 0:
            penalty = 2.0 * hessian.mean()
        leaf, away = (leaf_of_rows(forest, rows, tree) for rows in (X, others))
        for k in np.unique(leaf):
            own, there = leaf == k, away == k
            weight = hessian[own].sum()
            constant = -0.4 * gradient[own].sum() / weight
            np.testing.assert_allclose(forest.value_[k], constant, rtol=1e-7)
            raw[own] += constant
            far[there] += constant
            path = path_features(forest, k)
            if not (hessian[own] * ~np.isnan(X[own][:, path]).any(axis=1)).any():
                path = path[:0]  # no row has all of the features
            at = slice(*forest.term_start_[k : k + 2])
            np.testing.assert_array_equal(forest.term_feature_[at], path)
            if len(path):
                n_functions += 1
                add = naive_leaf(
                    X[own][:, path], gradient[own], hessian[own], spread[path], penalty
                )
                raw[own] += 0.4 * add(X[own][:, path])
                far[there] += 0.4 * add(others[there][:, path])
    assert n_functions > forest.n_trees
    np.testing.assert_allclose(ranker.predict(X), raw, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ranker.predict(others), far, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_functions_follow_the_gradient_that_the_last_step_leaves(growth, data):
    X, y, groups = data
    loss, rate = LogLoss(), 0.25
    options = LINEAR | {"n_estimators": 1, "learning_rate": rate, "leaf_iterations": 3}
    ranker = BoostedRanker(loss, growth=growth, **options).fit(X, y, groups)
    forest, prepared = ranker.ensemble_, loss.prepare(y, starts_of_queries(groups))
    start = np.full(len(y), ranker.baseline_[0])
    penalty = 2.0 * derivatives(prepared, loss, start)[1].mean()
    leaf = leaf_of_rows(forest, X, 0)
    gradient, hessian = derivatives(prepared, loss, start + forest.value_[leaf] / rate)
    spread, expected = np.nanstd(X, axis=0), ranker.baseline_[0] + forest.value_[leaf]
    for k in np.unique(leaf):
        own, path = leaf == k, path_features(forest, k)
        rows = X[own][:, path]
        add = naive_leaf(rows, gradient[own], hessian[own], spread[path], penalty)
        expected[own] += rate * add(rows)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-6, atol=1e-9)


def test_features_of_immense_spread_are_no_regressors(data):
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    X[:, 0] *= 1e300
    forest = MART(**LINEAR).fit(X, y, groups).ensemble_
    assert (forest.feature_ == 0).any()
    assert len(forest.term_feature_)
    assert not (forest.term_feature_ == 0).any()


def test_constraints_of_no_feature_are_none(data):
    free, zeros = (
        MART(**LINEAR, monotonic_cst=signs).fit(*data).predict(data[0])
        for signs in (None, [0, 0, 0, 0, 0])
    )
    np.testing.assert_array_equal(free, zeros)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"term_feature": 5}, "they ask for feature 5"),
        ({"term_start": (0, -1)}, "terms"),
        ({"term_start": (-1, 1000)}, "terms"),
        ({"term_start": (3, 1000)}, "terms"),
    ],
)
def test_terms_beyond_their_arrays_are_refused(change, problem, data):
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    forest = MART(**LINEAR).fit(X, y, groups).ensemble_
    assert len(forest.term_feature_)
    if "term_feature" in change:
        forest.term_feature_[-1] = change["term_feature"]
    else:
        at, value = change["term_start"]
        forest.term_start_[at] = value
    with pytest.raises(ValueError, match=problem):
        forest.add_to(np.zeros((len(X), 1)), X)


# Under other losses the slightest slope breaks ties, and with them the ranking.
@pytest.mark.parametrize("cls", [BoostedRanker, McRank])
def test_stiff_functions_are_constants(cls, data):
    X, y, groups = data
    stiff = cls(**LINEAR | {"linear_l2": 1e15}).fit(X, y, groups)
    constant = cls(**FAST).fit(X, y, groups)
    np.testing.assert_allclose(stiff.predict(X), constant.predict(X), rtol=1e-7)
    soft = cls(**LINEAR).fit(X, y, groups)
    assert not np.allclose(soft.predict(X), constant.predict(X), rtol=1e-2)


@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_units_of_features_do_not_matter(l2, data):
    X, y, groups = data
    options = LINEAR | {"linear_l2": l2}
    expected = MART(**options).fit(X, y, groups).predict(X)
    factors = np.array([2.0**20, 0.5, 1.0, 8.0, 2.0**-30])
    found = MART(**options).fit(X * factors, y, groups).predict(X * factors)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_equal_columns_without_penalty_are_one(data):
    """Where features hang on each other, one of them does the work of all."""
    X, y, groups = np.nan_to_num(data[0]), *data[1:]
    gradient, hessian = y.mean() - y, np.ones(len(y))
    forest = MART(**FAST | {"max_depth": 6}).fit(X, y, groups).ensemble_.truncated(1)
    parent = parents_of(forest)
    paths = [path_to(parent, k)[:-1] for k in np.flatnonzero(forest.feature_ < 0)]
    first, again = next(
        (a, b)
        for path in paths
        for a in path
        for b in path
        if a < b and forest.feature_[a] == forest.feature_[b]
    )
    twice = np.column_stack([X, X[:, forest.feature_[first]]])
    other = deepcopy(forest)
    other.feature_[again] = 5
    sums = []
    for ensemble, rows in ((forest, X), (other, twice)):
        spread = np.ascontiguousarray(rows.std(axis=0))
        found = _forest.fit_linear_tree(
            rows, gradient, hessian, None, spread, 0.0, *ensemble.arrays()
        )
        ensemble.term_start_, ensemble.term_feature_, ensemble.terms_ = found
        scores = np.zeros((len(rows), 1))
        ensemble.add_to(scores, rows)
        sums.append(scores)
    assert other.term_start_[-1] > forest.term_start_[-1]
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-6, atol=1e-9)


def test_rows_that_were_not_drawn_take_no_part(data, rng):
    X, y, groups = data
    forest = MART(**FAST).fit(X, y, groups).ensemble_.truncated(1)
    rows = np.sort(rng.choice(len(X), 150, replace=False)).astype(np.int32)
    gradient, hessian, spread = rng.normal(size=len(X)), rng.random(len(X)), np.ones(5)
    some = _forest.fit_linear_tree(
        X, gradient, hessian, rows, spread, 1.0, *forest.arrays()
    )
    alone = _forest.fit_linear_tree(
        X[rows], gradient[rows], hessian[rows], None, spread, 1.0, *forest.arrays()
    )
    for a, b in zip(some, alone, strict=True):
        np.testing.assert_array_equal(a, b)


def test_further_steps_are_none_for_squares(data):
    X, y, groups = data
    options = LINEAR | {"subsample": 0.7, "path_smoothing": 2.0}
    one, many = (
        MART(leaf_iterations=n, **options).fit(X, y, groups).predict(X) for n in (1, 3)
    )
    np.testing.assert_allclose(many, one, rtol=1e-7)


def test_threads_order_and_restarts_change_nothing(data, tmp_path):
    X, y, groups = data
    options = LINEAR | {"subsample": 0.8}
    whole = LambdaMART(**options).fit(X, y, groups)
    expected = whole.predict(X)
    order = np.argsort(-groups, kind="stable")
    for rows, n_jobs in ((slice(None), 2), (order, 1)):
        ranker = LambdaMART(**options | {"n_jobs": n_jobs})
        ranker.fit(X[rows], y[rows], groups[rows])
        np.testing.assert_array_equal(ranker.ensemble_.terms_, whole.ensemble_.terms_)
    parts = LambdaMART(**options | {"n_estimators": 2}, warm_start=True)
    parts.fit(X, y, groups).set_params(n_estimators=4).fit(X, y, groups)
    np.testing.assert_array_equal(parts.predict(X), expected)
    *_, last = whole.staged_predict(X)
    np.testing.assert_array_equal(last, expected)
    held = {"X_val": X, "y_val": y, "groups_val": groups}
    watched = LambdaMART(**options).fit(X, y, groups, **held)
    best = watched.validation_curve_[watched.best_iteration_ - 1]
    np.testing.assert_allclose(best, watched.score(X, y, groups))
    save_model(whole, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), expected)
    single = whole.predict(X.astype(np.float32))
    np.testing.assert_allclose(single, expected, atol=0.05 * np.ptp(expected))


def test_some_trees_are_linear_and_some_are_not(data):
    X, y, groups = data
    ranker = MART(**FAST, warm_start=True).fit(X, y, groups)
    ranker.set_params(n_estimators=6, linear_leaves=True).fit(X, y, groups)
    ranker.set_params(n_estimators=8, linear_leaves=False).fit(X, y, groups)
    stages = [np.full(len(y), ranker.baseline_[0]), *ranker.staged_predict(X)]
    forest = ranker.ensemble_
    for t, (before, after) in enumerate(pairwise(stages)):
        flat = np.allclose(after - before, forest.value_[leaf_of_rows(forest, X, t)])
        assert flat == (t not in (4, 5))
        assert forest.truncated(t).is_linear
        shorter = np.full((len(y), 1), ranker.baseline_[0])
        forest.truncated(t).add_to(shorter, X)
        np.testing.assert_array_equal(shorter[:, 0], before)


def test_the_best_documents_are_found_without_all_trees(data):
    X, y, groups = data
    options = LINEAR | {"n_estimators": 25, "linear_l2": 0.1}
    ranker = LambdaMART(**options).fit(X, y, groups)
    for k in (1, 4):
        np.testing.assert_array_equal(
            ranker.top_documents(X, groups, k=k, early_exit=True),
            ranker.top_documents(X, groups, k=k),
        )


@pytest.mark.parametrize(
    ("ranker", "problem"),
    [
        (
            MART(monotonic_cst=[1, 0, 0, 0, 0]),
            "the slopes in the leaves know of no",
        ),
        (MART(dropout=0.5), r"dropout=0\.5 adds values of leaves up exactly"),
        (GBRank(), "linear_leaves=True: GBRank shrinks the values of earlier leaves"),
    ],
)
def test_what_linear_leaves_cannot_be_combined_with(ranker, problem, data):
    with pytest.raises(ValueError, match=problem):
        ranker.set_params(**LINEAR).fit(*data)


def test_what_cannot_be_done_with_linear_leaves_is_said(data):
    X = np.nan_to_num(data[0])
    ranker = MART(**LINEAR).fit(X, *data[1:])
    for write, name in ((to_json, ()), (to_ranklib, ()), (to_elasticsearch, ("name",))):
        with pytest.raises(ValueError, match="cannot be exported: the leaves of its t"):
            write(ranker, *name)
    with pytest.raises(ValueError, match=r"the leaves of its .* functions\. shap_val"):
        shap_values(ranker, X[:3])


def test_functions_of_a_model_file_fit(data, tmp_path):
    ranker = MART(**LINEAR).fit(*data)
    forest = ranker.ensemble_
    good = {n: getattr(forest, n) for n in ("term_start_", "term_feature_", "terms_")}
    for name, wrong in [
        ("term_start_", good["term_start_"][::-1].copy()),
        ("term_start_", good["term_start_"][1:]),
        ("term_feature_", good["term_feature_"] + 5),
        ("term_feature_", good["term_feature_"] - 9),
        ("terms_", good["terms_"][:, 1:].copy()),
        ("terms_", good["terms_"] * np.inf),
        ("terms_", good["terms_"][[0, 1, 3, 2]]),
    ]:
        setattr(forest, name, wrong)
        save_model(ranker, tmp_path / "model")
        with pytest.raises(ValueError, match=r"term|fit|ask for feature"):
            load_model(tmp_path / "model")
        setattr(forest, name, good[name])


@pytest.mark.parametrize("power", [80, -80])
def test_spreads_of_single_precision_are_found_in_double(power, data):
    """Squares of such values leave the range of single precision."""
    X, y, groups = data[0].astype(np.float32), *data[1:]
    expected = MART(**LINEAR).fit(X, y, groups)
    assert expected.ensemble_.is_linear
    scaled = X * np.float32(2.0**power)
    found = MART(**LINEAR).fit(scaled, y, groups).predict(scaled)
    np.testing.assert_allclose(found, expected.predict(X), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factor", [1 / 3, -np.pi, 1e5 / 7])
def test_features_that_are_one_by_rounding_are_one(factor, seed):
    """All rows are in node 3, behind a split by either feature."""
    rng = np.random.default_rng(seed)
    x, gradient = rng.normal(10.0, 1.0, 50), rng.normal(size=50)
    rows = np.column_stack([x, factor * x])
    start, feature, (slopes, *_) = _forest.fit_linear_tree(
        rows,
        gradient,
        None,
        None,
        rows.std(axis=0),
        0.0,
        np.array([0, 1, -1, -1, -1], dtype=np.int32),
        np.full(5, 1e9),
        np.array([1, 3, 0, 0, 0], dtype=np.int32),
        np.zeros(5, dtype=np.uint8),
        np.full(5, -1, dtype=np.int32),
        np.zeros(5),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int32),
        np.zeros((0, 4), dtype=np.uint64),
    )
    assert feature[start[3] : start[4]].tolist() == [0, 1]
    first, second = slopes[start[3] : start[4]]
    assert second == 0.0
    centered = x - x.mean()
    expected = -(centered @ gradient) / (centered @ centered)
    np.testing.assert_allclose(first, expected, rtol=1e-9)
