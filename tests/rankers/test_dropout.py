"""Dropout of trees: against the algorithm of the paper, over stages and restarts."""

from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
from _leaves import leaf_of_rows, starts_of_queries

from skrank.datasets import make_ranking
from skrank.exceptions import NotFiniteError
from skrank.export import load_model, save_model
from skrank.losses import HingeLoss
from skrank.metrics import get_measure
from skrank.rankers import MART, BoostedRanker, GBRank, LambdaMART, McRank
from skrank.rankers._dropout import Dropout, draw_dropped

FAST = {"n_estimators": 12, "min_samples_leaf": 5, "n_jobs": 1}
FAST |= {"random_state": 0, "learning_rate": 0.5, "max_depth": 3, "dropout": 0.3}


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=16, n_features=5, n_informative=4, random_state=0
    )
    X[:, 1] = np.rint(2 * X[:, 1])  # few values, which may be names
    return X, y, groups


def halves(data):
    groups = data[2]
    first = groups < np.median(groups)
    held = dict(zip(("X_val", "y_val", "groups_val"), (a[~first] for a in data)))
    return tuple(a[first] for a in data), held


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_the_algorithm_of_the_paper(growth, data):
    """The gradients without some trees, and how all of them shrink, by a plain loop."""
    X, y, groups = data
    ranker = BoostedRanker(growth=growth, **FAST).fit(X, y, groups)
    forest, n = ranker.ensemble_, FAST["n_estimators"]
    prepared = ranker.loss_.prepare(y, starts_of_queries(groups))
    leaf = [leaf_of_rows(forest, X, t) for t in range(n)]
    values, objective = [], []  # of each tree, the values of the rows
    for t in range(n):
        dropped = ranker.dropped_rounds_[ranker.dropped_rounds_[:, 0] == t, 1]
        assert len(dropped) >= min(t, 1)
        assert len(set(dropped)) == len(dropped)
        assert (dropped < t).all()
        full = sum(values, np.full(len(y), ranker.baseline_[0]))
        objective.append(prepared.value_gradient(full)[0].sum() / prepared.total_weight)
        raw = full - sum((values[s] for s in dropped), np.zeros(len(y)))
        _, gradient, hessian = prepared.gradient_hessian(raw)
        step, k = np.zeros(len(y)), len(dropped)
        for node in np.unique(leaf[t]):
            rows = leaf[t] == node
            step[rows] = -0.5 * gradient[rows].sum() / hessian[rows].sum()
        values.append(step / (k + 1))
        for s in dropped:
            values[s] = values[s] * k / (k + 1)
    for t in range(n):
        np.testing.assert_allclose(
            forest.value_[leaf[t]], values[t], rtol=1e-6, atol=1e-8
        )
    np.testing.assert_allclose(ranker.loss_curve_, objective, rtol=1e-9)


def test_rounds_are_drawn_as_often_as_they_should_be():
    counts = np.zeros(10)
    sizes = []
    for seed in range(400):
        drawn = draw_dropped(seed, 10, 0.25)
        counts[drawn] += 1
        sizes.append(len(drawn))
    alone = 0.75**10 / 10  # the one that is drawn where chance left none out
    deviation = np.sqrt(400 * 0.25 * 0.75)
    np.testing.assert_allclose(counts, 400 * (0.25 + alone), atol=4 * deviation)
    assert min(sizes) == 1
    assert len(draw_dropped(0, 0, 1.0)) == 0
    np.testing.assert_array_equal(draw_dropped(3, 7, 1.0), np.arange(7))
    assert len(draw_dropped(3, 7, 1e-9)) == 1


def test_sums_of_values_are_exact(data):
    X, y, groups = data
    ranker = MART(**FAST).fit(X, y, groups)
    units = ranker.ensemble_.value_ / ranker.leaf_unit_
    np.testing.assert_array_equal(units, np.rint(units))
    assert np.log2(ranker.leaf_unit_) % 1 == 0
    # Rounding has cost nothing that counts.
    assert np.abs(ranker.ensemble_.value_).max() / ranker.leaf_unit_ > 2**30


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(subsample=0.7, categorical_features=[1]),
        McRank(),
        MART(leaf_iterations=2, growth="symmetric"),
    ],
    ids=repr,
)
def test_stages_are_what_the_model_was(ranker, data, tmp_path):
    X, y, groups = data
    ranker.set_params(**FAST).fit(X, y, groups)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    for model in (ranker, loaded):
        stages = list(model.staged_predict(X))
        np.testing.assert_allclose(stages[-1], ranker.predict(X), rtol=1e-9)
        for n in (1, 4, 9):
            shorter = copy(ranker).set_params(n_estimators=n, warm_start=False)
            shorter.fit(X, y, groups)
            np.testing.assert_allclose(
                stages[n - 1], shorter.predict(X), rtol=1e-7, atol=1e-8
            )
    assert len(stages) == FAST["n_estimators"]


@pytest.mark.parametrize("cls", [LambdaMART, MART, McRank])
def test_warm_starts_go_on_with_the_same_bits(cls, data):
    X, y, groups = data
    # Sums of large and of small numbers are rounded.
    scores = np.random.RandomState(0).normal(size=len(y)) * (100 if cls is MART else 1)
    start = {} if cls is McRank else {"init_score": scores}
    whole = cls(**FAST).fit(X, y, groups, **start)
    parts = cls(**FAST | {"n_estimators": 5}, warm_start=True)
    parts.fit(X, y, groups, **start).set_params(n_estimators=12)
    parts.fit(X, y, groups, **start)
    np.testing.assert_array_equal(parts.ensemble_.value_, whole.ensemble_.value_)
    np.testing.assert_array_equal(parts.dropped_rounds_, whole.dropped_rounds_)
    np.testing.assert_array_equal(parts.loss_curve_, whole.loss_curve_)


def test_warm_starts_may_begin_and_end_with_dropout(data):
    X, y, groups = data
    ranker = MART(**FAST | {"n_estimators": 4, "dropout": 0.0}, warm_start=True)
    first = ranker.fit(X, y, groups).predict(X)
    ranker.set_params(n_estimators=8, dropout=0.5).fit(X, y, groups)
    np.testing.assert_allclose(list(ranker.staged_predict(X))[3], first, atol=1e-8)
    second = ranker.predict(X)
    ranker.set_params(n_estimators=10, dropout=0.0).fit(X, y, groups)
    np.testing.assert_allclose(list(ranker.staged_predict(X))[7], second, atol=1e-8)
    assert set(ranker.dropped_rounds_[:, 0]) == {4, 5, 6, 7}


def test_early_stopping_keeps_the_model_of_its_best_round(data):
    train, held = halves(data)
    options = FAST | {"n_estimators": 40, "n_iter_no_change": 6}
    ranker = LambdaMART(**options).fit(*train, **held)
    best = ranker.best_iteration_
    assert best < ranker.n_iter_
    np.testing.assert_array_equal(np.argmax(ranker.validation_curve_), best - 1)
    shorter = LambdaMART(**options | {"n_estimators": best}).fit(*train)
    np.testing.assert_array_equal(ranker.ensemble_.value_, shorter.ensemble_.value_)
    np.testing.assert_array_equal(ranker.dropped_rounds_, shorter.dropped_rounds_)
    stages = list(ranker.staged_predict(held["X_val"]))
    measure, ptr = get_measure("ndcg@10"), starts_of_queries(held["groups_val"])
    curve = [measure.mean(measure.per_query(held["y_val"], s, ptr)) for s in stages]
    np.testing.assert_allclose(curve, ranker.validation_curve_[:best], rtol=1e-9)


def test_threads_and_the_order_of_queries_change_nothing(data):
    X, y, groups = data
    expected = LambdaMART(**FAST).fit(X, y, groups).ensemble_.value_
    order = np.argsort(-groups, kind="stable")
    for rows, n_jobs in ((slice(None), 2), (order, 1)):
        ranker = LambdaMART(**FAST | {"n_jobs": n_jobs})
        ranker.fit(X[rows], y[rows], groups[rows])
        np.testing.assert_array_equal(ranker.ensemble_.value_, expected)


def test_rounds_of_a_model_file_exist(data, tmp_path):
    ranker = MART(**FAST).fit(*data)
    for pairs in ([[3, 3]], [[12, 2]], [[2, -1]], [[5, 1], [4, 1]]):
        ranker.dropped_rounds_ = np.array(pairs)
        save_model(ranker, tmp_path / "model")
        with pytest.raises(ValueError, match="dropped_rounds_ must be"):
            load_model(tmp_path / "model")


def test_means_of_trees_leave_none_out(data):
    with pytest.raises(ValueError, match=r"dropout=0\.3: GBRank takes means of all"):
        GBRank(**FAST).fit(*data)


def test_linear_leaves_do_not_shrink(data):
    ranker = MART(**FAST | {"dropout": 0.0}, linear_leaves=True, warm_start=True)
    ranker.fit(*data).set_params(n_estimators=14, linear_leaves=False, dropout=0.1)
    with pytest.raises(ValueError, match=r"dropout=0\.1 shrinks constants, but warm_s"):
        ranker.fit(*data)


def test_a_rate_that_is_too_large_is_named(data):
    with pytest.raises(NotFiniteError, match=r"lower learning_rate=1e\+308"):
        MART(n_estimators=3, dropout=0.5, learning_rate=1e308).fit(*data)


def test_an_estimator_to_start_from_does_what_its_scores_do(data):
    """Trees take the rows in an order of their own, and so do the scores."""
    (X, y, groups), held = halves(data)
    first = MART(**FAST | {"dropout": 0.0, "n_estimators": 2})
    inside = LambdaMART(init=first, **FAST).fit(X, y, groups, **held)
    start = inside.init_.predict(X)
    outside = LambdaMART(**FAST).fit(X, y, groups, init_score=start)
    np.testing.assert_allclose(
        outside.predict(X) + start, inside.predict(X), rtol=1e-9, atol=1e-9
    )
    measure, ptr = get_measure("ndcg@10"), starts_of_queries(held["groups_val"])
    scores = inside.predict(held["X_val"])
    last = measure.mean(measure.per_query(held["y_val"], scores, ptr))
    np.testing.assert_allclose(last, inside.validation_curve_[-1], rtol=1e-9)


@pytest.mark.parametrize("n_halves", [1, 2, 5])
def test_the_unit_of_values_follows_the_learning_rate(n_halves, data):
    whole = MART(**FAST | {"learning_rate": 1.0}).fit(*data)
    slow = MART(**FAST | {"learning_rate": 0.5**n_halves}).fit(*data)
    assert slow.leaf_unit_ * 2.0**n_halves == whole.leaf_unit_


@pytest.mark.parametrize(
    "ranker",
    [
        MART(learning_rate=0.5),
        BoostedRanker(loss=HingeLoss(), learning_rate=0.3),
        MART(learning_rate=[0.5, *([1e-3] * 11)]),
    ],
    ids=["number", "no Hessian", "rates"],
)
def test_the_unit_has_forty_bits_below_the_first_step(ranker, data):
    X, y, groups = data
    ranker.set_params(**{**FAST, "learning_rate": ranker.learning_rate})
    ranker.fit(X, y, groups)
    prepared = ranker.loss_.prepare(y, starts_of_queries(groups))
    start = np.full(len(y), ranker.baseline_[0])
    if ranker.loss_.has_hessian:
        _, gradient, hessian = prepared.gradient_hessian(start)
        weight = hessian.mean()
    else:
        (_, gradient), weight = prepared.value_gradient(start), 1.0
    step = ranker.learning_rates_[0] * np.abs(gradient).max() / weight
    assert ranker.leaf_unit_ / step <= 2.0**-39 < 4.0 * ranker.leaf_unit_ / step
    assert ranker.leaf_unit_ == 2.0 ** (np.ceil(np.log2(step)) - 40)


def test_rounds_are_drawn_apart_from_what_else_is_random():
    """By the seed and the number of the round, and not as rows and trees are."""
    for iteration in (3, 8, 30):
        drawn = draw_dropped(5, iteration, 0.4).tolist()
        for spawned, same in (([5, iteration], False), ([5, iteration, 1], True)):
            state = np.random.SeedSequence(spawned).generate_state(1)
            chances = np.random.RandomState(state).random_sample(iteration)
            assert (drawn == np.flatnonzero(chances < 0.4).tolist()) == same


def test_values_that_are_there_become_multiples_of_the_unit(data):
    X, y, groups = data
    ranker = MART(**FAST | {"n_estimators": 4, "dropout": 0.0}, warm_start=True)
    before = ranker.fit(X, y, groups).ensemble_.value_
    assert ranker.leaf_unit_ == 0.0
    # One of four trees is left out, and would be rounded anyhow.
    ranker.set_params(n_estimators=5, dropout=0.01).fit(X, y, groups)
    units = ranker.ensemble_.value_ / ranker.leaf_unit_
    np.testing.assert_array_equal(units, np.rint(units))
    assert (before / ranker.leaf_unit_ % 1 != 0).any()
    # Files of older versions tell of no rounds and of no unit.
    older = MART(**FAST | {"n_estimators": 4, "dropout": 0.0}, warm_start=True)
    older.fit(X, y, groups)
    del older.leaf_unit_, older.dropped_rounds_
    older.set_params(n_estimators=5, dropout=0.01).fit(X, y, groups)
    assert older.leaf_unit_ == ranker.leaf_unit_
    np.testing.assert_array_equal(older.dropped_rounds_, ranker.dropped_rounds_)
    np.testing.assert_array_equal(older.ensemble_.value_, ranker.ensemble_.value_)


@pytest.mark.parametrize(
    ("gradient", "hessian", "unit"),
    [
        (3.0, 1.0, 2.0**-38),
        (3.0, None, 2.0**-38),
        (3.0, 2.0, 2.0**-39),
        (0.0, 1.0, 0.0),
        (3.0, 0.0, 0.0),
        (1e200, 1e-200, 0.0),
        (np.inf, 1.0, 0.0),
        (np.nan, 1.0, 0.0),
    ],
)
def test_a_step_that_is_no_number_has_no_unit(gradient, hessian, unit):
    """Values stay as they are, and training tells what is wrong."""
    gradient = np.array([gradient / 8, -gradient])
    hessian = None if hessian is None else np.full(2, hessian)
    run = SimpleNamespace(
        _derivatives=lambda: (None, gradient, hessian), rate=lambda iteration: 1.0
    )
    assert Dropout._expected_unit(SimpleNamespace(run=run)) == unit


@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_nothing_to_learn_has_no_unit(data):
    X, y, groups = data
    for ranker, constant in ((LambdaMART(), 0.0), (MART(), 1.0)):
        ranker.set_params(**FAST).fit(X, np.ones_like(y), groups)
        assert ranker.leaf_unit_ == 0.0
        np.testing.assert_array_equal(ranker.predict(X), np.full(len(y), constant))
