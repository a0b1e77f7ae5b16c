"""GBRank and QBRank against the equations of the book, pair by pair."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.losses import SquaredHingeLoss
from skrank.rankers import BoostedRanker, GBRank, QBRank

SMALL = {
    "max_leaf_nodes": 3,
    "min_samples_leaf": 1,
    "stochastic_rounding": False,
    "random_strength": 0.0,
}


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=12, n_features=4, n_informative=3, random_state=0
    )
    return np.round(X, 1), y, groups


def pairs_of(y, groups):
    return [
        (u, v)
        for u, v in itertools.permutations(range(len(y)), 2)
        if groups[u] == groups[v] and y[u] > y[v]
    ]


def tree_on(X, targets):
    """A regression tree on one row for each target."""
    rows, values = zip(*targets)
    return DecisionTreeRegressor(max_leaf_nodes=3, random_state=0).fit(
        X[list(rows)], values
    )


@pytest.mark.parametrize("targets", ["other", "own"])
@pytest.mark.parametrize("averaging", ["constant", "rounds"])
def test_gbrank_is_algorithm_2(targets, averaging, data):
    X, y, groups = data
    tau, eta = 0.7, 0.6
    f = np.zeros(len(y))
    for t in range(1, 5):
        found = []
        for u, v in pairs_of(y, groups):
            if f[u] < f[v] + tau:
                from_u, from_v = (f[v], f[u]) if targets == "other" else (f[u], f[v])
                found += [(u, from_u + tau), (v, from_v - tau)]
        g = tree_on(X, found).predict(X)
        if averaging == "constant":
            f = (f + eta * g) / (1 + eta)
        else:
            f = (t * f + eta * g) / (t + 1)
    ranker = GBRank(
        tau=tau,
        targets=targets,
        averaging=averaging,
        learning_rate=eta,
        n_estimators=4,
        **SMALL,
    )
    np.testing.assert_allclose(ranker.fit(X, y, groups).predict(X), f, rtol=1e-6)


def test_qbrank_fits_halves_of_what_pairs_miss(data):
    X, y, groups = data
    tau, eta = 0.7, 0.6
    f = np.zeros(len(y))
    for _ in range(4):
        found = []
        for u, v in pairs_of(y, groups):
            r = f[v] - f[u] + tau
            if r > 0:
                found += [(u, r / 2), (v, -r / 2)]
        f = f + eta * tree_on(X, found).predict(X)
    ranker = QBRank(tau=tau, learning_rate=eta, n_estimators=4, **SMALL)
    np.testing.assert_allclose(ranker.fit(X, y, groups).predict(X), f, rtol=1e-6)


def test_the_bound_of_qbrank_lies_above_the_loss():
    rng = np.random.default_rng(0)
    r, g_u, g_v = rng.normal(size=(3, 1000))
    r = np.abs(r)
    loss = np.maximum(0.0, r - g_u + g_v) ** 2
    bound = 2 * (g_u - 0.5 * r) ** 2 + 2 * (g_v + 0.5 * r) ** 2
    assert (loss <= bound + 1e-12).all()
    np.testing.assert_allclose(2 * (0.5 * r) ** 2 + 2 * (0.5 * r) ** 2, r**2)


@pytest.mark.parametrize("cls", [GBRank, QBRank])
def test_the_curve_is_the_mean_square_of_what_pairs_miss(cls, data):
    X, y, groups = data
    tau = 0.7
    options = SMALL | {"tau": tau, "learning_rate": 0.5}
    ranker = cls(n_estimators=3, **options).fit(X, y, groups)
    pairs = pairs_of(y, groups)
    for n in range(3):
        f = np.zeros(len(y))
        if n:
            f = cls(n_estimators=n, **options).fit(X, y, groups).predict(X)
        misses = [max(0.0, f[v] - f[u] + tau) for u, v in pairs]
        expected = np.mean(np.square(misses))
        np.testing.assert_allclose(ranker.loss_curve_[n], expected, rtol=1e-6)


def test_qbrank_is_boosting_at_half_the_rate(data):
    """The diagonal of the bound is twice that of the loss."""
    ranker = QBRank(learning_rate=0.2, n_estimators=5, min_samples_leaf=2)
    boosted = BoostedRanker(
        SquaredHingeLoss(), learning_rate=0.1, n_estimators=5, min_samples_leaf=2
    )
    options = {"stochastic_rounding": False, "min_hessian_leaf": 0.0}
    options["random_strength"] = 0.0
    found, expected = (
        r.set_params(**options).fit(*data).predict(data[0]) for r in (ranker, boosted)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_margin_sets_the_scale_only(data):
    X, y, groups = data
    for cls in (GBRank, QBRank):
        one, ten = (
            cls(tau=tau, n_estimators=10, min_samples_leaf=2, random_state=0)
            .fit(X, y, groups)
            .predict(X)
            for tau in (1.0, 8.0)
        )
        np.testing.assert_allclose(8.0 * one, ten, rtol=1e-9)


@pytest.mark.parametrize("averaging", ["constant", "rounds"])
@pytest.mark.parametrize("init", [None, Ridge()])
def test_warm_starts_and_stages(averaging, init, data):
    X, y, groups = data
    options = {"averaging": averaging, "init": init, "random_state": 0}
    options |= {"min_samples_leaf": 2, "learning_rate": 0.5}
    whole = GBRank(n_estimators=6, **options).fit(X, y, groups)
    parts = GBRank(n_estimators=2, warm_start=True, **options).fit(X, y, groups)
    parts.set_params(n_estimators=6).fit(X, y, groups)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    np.testing.assert_array_equal(parts.loss_curve_, whole.loss_curve_)
    # A stage has the scores of the model of so many rounds.
    for ranker in (whole, parts):
        for n, stage in enumerate(ranker.staged_predict(X), start=1):
            model = GBRank(n_estimators=n, **options).fit(X, y, groups)
            np.testing.assert_allclose(stage, model.predict(X), rtol=1e-8)
        assert n == len(ranker.stage_weights_) == 6
        np.testing.assert_array_equal(stage, ranker.predict(X))


def test_scores_to_start_from_fade(data):
    X, y, groups = data
    start = np.linspace(-1, 1, len(y))
    options = {"min_samples_leaf": 2, "random_state": 0, "warm_start": True}
    options |= {"averaging": "constant", "learning_rate": 0.1}
    whole = GBRank(n_estimators=6, **options).fit(X, y, groups, init_score=start)
    parts = GBRank(n_estimators=3, **options).fit(X, y, groups, init_score=start)
    parts.set_params(n_estimators=6).fit(X, y, groups, init_score=start)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    assert whole.start_weight_ == pytest.approx(1.1**-6)


def test_model_files_are_continued_with_the_same_bits(data, tmp_path):
    whole = GBRank(n_estimators=6, min_samples_leaf=2, random_state=0).fit(*data)
    parts = clone(whole).set_params(n_estimators=4, warm_start=True).fit(*data)
    save_model(parts, tmp_path / "model")
    loaded = load_model(tmp_path / "model").set_params(n_estimators=6).fit(*data)
    np.testing.assert_array_equal(loaded.ensemble_.value_, whole.ensemble_.value_)
    # Files of older versions know the values of the model only.
    del parts.shares_, parts.grown_values_
    save_model(parts, tmp_path / "older")
    older = load_model(tmp_path / "older").set_params(n_estimators=6).fit(*data)
    np.testing.assert_allclose(older.predict(data[0]), whole.predict(data[0]), 1e-9)


def test_a_model_of_which_nothing_is_left_goes_on(data):
    """After more than a thousand means of equal shares, early trees weigh nothing."""
    options = {"averaging": "constant", "min_samples_leaf": 2, "random_state": 0}
    options |= {"max_leaf_nodes": 3}
    whole = GBRank(n_estimators=1200, **options).fit(*data)
    parts = GBRank(n_estimators=1150, warm_start=True, **options).fit(*data)
    assert parts.stage_weights_[0] == 0.0 < parts.stage_weights_[-1]
    parts.set_params(n_estimators=1200).fit(*data)
    np.testing.assert_array_equal(parts.predict(data[0]), whole.predict(data[0]))
    older = clone(parts).set_params(n_estimators=1150).fit(*data)
    del older.shares_, older.grown_values_
    older.set_params(n_estimators=1200).fit(*data)
    np.testing.assert_allclose(older.predict(data[0]), whole.predict(data[0]), 1e-9)


def test_early_stopping_keeps_the_best_round(data):
    X, y, groups = data
    held = {"X_val": X, "y_val": y, "groups_val": groups}
    ranker = GBRank(min_samples_leaf=2, n_iter_no_change=3, random_state=0)
    ranker.fit(X, y, groups, **held)
    cut = GBRank(
        n_estimators=ranker.best_iteration_, min_samples_leaf=2, random_state=0
    ).fit(X, y, groups)
    np.testing.assert_allclose(ranker.predict(X), cut.predict(X), rtol=1e-9)
