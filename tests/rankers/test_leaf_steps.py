"""Leaf values by several Newton steps: against a plain loop, and at their limits."""

import numpy as np
import pytest
from _growing import grow, make_grower
from _leaves import (
    as_trees_see_them,
    leaf_of_rows,
    parents_of,
    path_to,
    starts_of_queries,
)

from skrank.datasets import make_ranking
from skrank.losses import LambdaLoss, ListNetLoss, LogisticLoss, LogLoss
from skrank.rankers import MART, BoostedRanker, GBRank, LambdaMART, McRank
from skrank.rankers._leaf_steps import refine_leaves
from skrank.rankers._query_sampling import QuerySample

FAST = {"n_estimators": 3, "min_samples_leaf": 5, "n_jobs": 1}
FAST |= {"random_state": 0, "learning_rate": 0.3, "max_depth": 3}


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=15, n_features=5, n_informative=4, random_state=0
    )
    return (
        np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X),
        y,
        groups,
    )


def derivatives(prepared, loss, raw):
    if loss.has_hessian:
        return prepared.gradient_hessian(raw)
    values, gradient = prepared.value_gradient(raw)
    return values, gradient, np.ones_like(gradient)


def anchor(forest, parent, leaf, k, gradient, hessian, l2, more):
    """What the first step finds for the parent of leaf k, drawn along the path."""
    value = 0.0
    for depth, node in enumerate(path_to(parent, k)[:-1]):
        rows = [node in path_to(parent, own) for own in leaf]
        pull = more if depth else 0.0
        weight = hessian[rows].sum() + l2 + pull
        value = (pull * value - gradient[rows].sum()) / weight
    return value


def naive_values(forest, tree, leaf, raw, evaluate, *, n_steps, l2, more):
    """Values of the leaves of one tree, by their equations."""
    parent = parents_of(forest)
    values, gradient, hessian = evaluate(raw)
    leaves = np.unique(leaf)
    anchors = {
        k: anchor(forest, parent, leaf, k, gradient, hessian, l2, more) for k in leaves
    }

    def penalised(u, values):
        apart = [(parent[k] >= 0) * (u[k] - anchors[k]) ** 2 for k in leaves]
        return values.sum() + 0.5 * (
            l2 * sum(v**2 for v in u.values()) + more * sum(apart)
        )

    u = dict.fromkeys(leaves, 0.0)
    least = penalised(u, values)
    for step in range(n_steps):
        target = {}
        for k in leaves:
            rows, pull = leaf == k, more if parent[k] >= 0 else 0.0
            slope = gradient[rows].sum() + l2 * u[k] + pull * (u[k] - anchors[k])
            target[k] = u[k] - slope / (hessian[rows].sum() + l2 + pull)
        for share in (1.0, 0.5, 0.25, 0.125):
            trial = {k: u[k] + share * (target[k] - u[k]) for k in leaves}
            values, gradient, hessian = evaluate(
                raw + np.array([trial[k] for k in leaf])
            )
            loss = penalised(trial, values)
            if loss < least:
                break
        else:
            return u if step else target
        u, least = trial, loss
    return u


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (LogisticLoss(), {"l2_regularization": 3.0}),
        (LogLoss(), {"path_smoothing": 4.0}),
        (LogLoss(), {"path_smoothing": 2.0, "l2_regularization": 1.0}),
        (LambdaLoss(), {}),
        (ListNetLoss(), {}),
    ],
    ids=str,
)
def test_values_are_those_of_a_plain_loop(loss, options, growth, data):
    X, y, groups = as_trees_see_them(*data)
    steps = 4
    ranker = BoostedRanker(
        loss, leaf_iterations=steps, growth=growth, **FAST, **options
    )
    forest = ranker.fit(X, y, groups).ensemble_
    prepared = loss.prepare(y, starts_of_queries(groups))
    raw = np.full(len(y), ranker.baseline_[0])
    for tree in range(forest.n_trees):
        leaf = leaf_of_rows(forest, X, tree)
        expected = naive_values(
            forest,
            tree,
            leaf,
            raw,
            lambda at: derivatives(prepared, loss, at),
            n_steps=steps,
            l2=options.get("l2_regularization", 0.0) * ranker.hessian_unit_,
            more=options.get("path_smoothing", 0.0),
        )
        assert len(expected) > 2
        for k, value in expected.items():
            np.testing.assert_allclose(forest.value_[k], 0.3 * value, rtol=1e-7)
        raw = raw + forest.value_[leaf]
    np.testing.assert_allclose(ranker.predict(X), raw, rtol=1e-9)


def test_many_steps_find_the_minimum_in_each_leaf(data):
    X, y, groups = data
    options = {"n_estimators": 1, "learning_rate": 1.0, "l2_regularization": 0.5}
    ranker = BoostedRanker(LogisticLoss(), leaf_iterations=12, **FAST | options)
    ranker.fit(X, y, groups)
    prepared = LogisticLoss().prepare(y, starts_of_queries(groups))
    _, gradient, _ = prepared.gradient_hessian(ranker.predict(X))
    leaf = leaf_of_rows(ranker.ensemble_, X, 0)
    for k in np.unique(leaf):
        pull = 0.5 * ranker.hessian_unit_ * ranker.ensemble_.value_[k]
        np.testing.assert_allclose(gradient[leaf == k].sum(), -pull, atol=1e-6)


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_more_steps_never_come_to_a_greater_loss(growth, data):
    """Under a loss of pairs, whose documents lie in different leaves."""
    X, y, groups = data
    losses = []
    for n_steps in (2, 3, 5, 9):
        options = {"n_estimators": 2, "learning_rate": 1.0, "growth": growth}
        ranker = BoostedRanker(leaf_iterations=n_steps, **FAST | options)
        losses.append(ranker.fit(X, y, groups).loss_curve_[1])
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"l2_regularization": 5.0, "path_smoothing": 2.0},
        {"subsample": 0.5, "growth": "depth"},
        {"subsample": 0.5, "sampling": "minimal_variance", "growth": "symmetric"},
        {"sampling": "bayesian", "monotonic_cst": [1, -1, 0, 0, 0]},
    ],
    ids=str,
)
def test_one_step_is_enough_for_squares(options, data):
    one, many = (MART(leaf_iterations=n, **FAST, **options).fit(*data) for n in (1, 4))
    np.testing.assert_allclose(many.predict(data[0]), one.predict(data[0]), rtol=1e-9)


def test_each_score_is_refined_with_the_others_as_they_were(data):
    X, y, groups = data
    ranker = McRank(leaf_iterations=3, **FAST | {"n_estimators": 1}).fit(X, y, groups)
    forest, start = ranker.ensemble_, np.tile(ranker.baseline_, (len(y), 1))
    prepared = ranker.loss_.prepare(y, starts_of_queries(groups))

    def column(k, raw):
        trial = start.copy()
        trial[:, k] = raw
        values, gradient, hessian = prepared.gradient_hessian(trial)
        return values, gradient[:, k], hessian[:, k]

    assert forest.n_trees == forest.n_outputs > 2
    for k in range(forest.n_trees):
        leaf = leaf_of_rows(forest, X, k)
        expected = naive_values(
            forest,
            k,
            leaf,
            start[:, k],
            lambda raw, k=k: column(k, raw),
            n_steps=3,
            l2=0.0,
            more=0.0,
        )
        for node, value in expected.items():
            np.testing.assert_allclose(forest.value_[node], 0.3 * value, rtol=1e-7)


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_constraints_hold_at_every_step(growth, data):
    X, y, groups = data
    options = {"monotonic_cst": [-1, 1, 0, 0, 0], "leaf_iterations": 5}
    ranker = BoostedRanker(growth=growth, **FAST | {"n_estimators": 8}, **options)
    ranker.fit(X, y, groups)
    rows = np.nan_to_num(X[:40])
    grid = np.linspace(-4, 4, 30)
    for feature, sign in ((0, -1), (1, 1)):
        varied = np.repeat(rows, len(grid), axis=0)
        varied[:, feature] = np.tile(grid, len(rows))
        curves = ranker.predict(varied).reshape(len(rows), -1)
        assert (sign * np.diff(curves, axis=1) >= 0).all()


def test_threads_and_the_order_of_queries_change_nothing(data):
    X, y, groups = data
    options = FAST | {"leaf_iterations": 3, "subsample": 0.6}
    expected = LambdaMART(**options).fit(X, y, groups).ensemble_.value_
    order = np.argsort(-groups, kind="stable")
    for rows, n_jobs in ((slice(None), 2), (order, 1)):
        ranker = LambdaMART(**options | {"n_jobs": n_jobs})
        ranker.fit(X[rows], y[rows], groups[rows])
        np.testing.assert_array_equal(ranker.ensemble_.value_, expected)


def test_warm_starts_refine_as_if_never_stopped(data):
    options = FAST | {"leaf_iterations": 2}
    parts = LambdaMART(**options | {"n_estimators": 1}, warm_start=True).fit(*data)
    parts.set_params(n_estimators=3).fit(*data)
    whole = LambdaMART(**options).fit(*data)
    np.testing.assert_array_equal(parts.ensemble_.value_, whole.ensemble_.value_)


def test_means_of_targets_need_no_second_step(data):
    with pytest.raises(ValueError, match="leaf_iterations=2: GBRank fits its trees to"):
        GBRank(leaf_iterations=2, **FAST).fit(*data)


def test_a_step_needs_the_gradients_of_all_rows():
    grower = make_grower(np.arange(6.0)[:, None])[1]
    grow(grower, np.ones(6))
    for arrays in ((np.ones(5),), (np.ones(6), np.ones(5)), (np.ones(6), np.ones(7))):
        with pytest.raises(ValueError, match="must have one entry per row, 6; got"):
            grower.step(*arrays)


class OneLeaf:
    """A grower of one leaf of value u, with the penalty u²/2, that notes its moves."""

    def __init__(self, value, target):
        self.last, self.target, self.value = value, target, target
        self.moves = []

    def go(self, share):
        self.moves.append(share)
        self.value = self.last + share * (self.target - self.last)

    def penalty(self, before=False):
        return 0.5 * (self.last if before else self.value) ** 2

    def add_to(self, raw, output):
        raw[:, output] += self.value

    def step(self, gradient, hessian):
        self.last, self.target = self.value, self.value - float(gradient[0]) * 8.0


def linear(raw):
    """The loss -u, and its derivatives."""
    return -raw[:, 0], -np.ones_like(raw), np.ones_like(raw)


@pytest.mark.parametrize(
    ("value", "target", "n_steps", "moves"),
    [
        # With the penalty, the least is at 1; -u + u²/2 is 4 at 4, 0 at 0 and at 2.
        (0.0, 1.5, 1, [1.0]),
        (0.0, 4.0, 1, [1.0, 0.5, 0.25]),
        (2.0, 1.0, 1, [1.0]),
        # Nowhere below the start, 0: the first step is taken as a whole.
        (2.0, 6.0, 1, [1.0, 0.5, 0.25, 0.125, 1.0]),
        # From 1, no step helps, and a later one is not taken.
        (0.0, 1.0, 3, [1.0, 1.0, 0.5, 0.25, 0.125, 0.0]),
    ],
)
def test_steps_are_halved_until_loss_and_penalty_fall(value, target, n_steps, moves):
    grower = OneLeaf(value, target)
    scores = np.full((1, 1), value)

    def derivatives(raw):
        # The scores before the tree are those without its value.
        return linear(raw - value if raw is not scores else raw)

    ptr = np.array([0, 1])
    refine_leaves(grower, n_steps, scores, 0, derivatives, QuerySample(), ptr)
    assert grower.moves == moves


class OneLeafOfSome(OneLeaf):
    """A grower like `OneLeaf`, of a tree that was grown on the first row only."""

    def add_to(self, raw, output):
        raw[:1, output] += self.value


@pytest.mark.parametrize(
    ("factor", "target", "moves"),
    [
        # -u + u²/2 is 0 at 2 and falls below its start at 1; the query that was not
        # drawn would add 10 to what comes after a step.
        (None, 1.0, [1.0]),
        (None, 3.0, [1.0, 0.5]),
        # -2 u + u²/2 has its least at 2, where -u + u²/2 is no less than at 0.
        (2.0, 2.0, [1.0]),
        (2.0, 3.0, [1.0]),
        # -u / 4 + u²/2 is 0 at 1/2 and has its least at 1/4.
        (0.25, 1.0, [1.0, 0.5, 0.25]),
    ],
)
def test_losses_count_as_often_as_queries_were_drawn(factor, target, moves):
    grower = OneLeafOfSome(0.0, target)
    factor = None if factor is None else np.array([factor, 0.0])
    sample = QuerySample(np.array([0], dtype=np.int32), factor=factor)

    def derivatives(raw):
        values, gradient, hessian = linear(raw)
        return values + [0.0, 10.0], gradient, hessian

    ptr = np.array([0, 1, 2])
    refine_leaves(grower, 1, np.zeros((2, 1)), 0, derivatives, sample, ptr)
    assert grower.moves == moves


@pytest.mark.filterwarnings("ignore:BoostedRanker. no tree has a split")
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_a_tree_of_one_leaf_has_no_path_to_smooth(growth, data):
    X, y, groups = data
    options = FAST | {"min_samples_leaf": len(y), "growth": growth}
    start = np.linspace(-2.0, 3.0, len(y))
    plain, smooth = (
        BoostedRanker(LogisticLoss(), leaf_iterations=4, path_smoothing=more, **options)
        .fit(X, y > 2, groups, init_score=start)
        .ensemble_
        for more in (0.0, 1e4)
    )
    assert len(plain.value_) == plain.n_trees
    assert (np.abs(plain.value_) > 0.1).all()
    np.testing.assert_array_equal(smooth.value_, plain.value_)
