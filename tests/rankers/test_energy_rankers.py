"""The three energy-based rankers of Fang and Liu, sections 5.1 to 5.3."""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank._core._queries import QueryIndex
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.energies import KernelEnergy, LinearEnergy, MLPEnergy, ThresholdEnergy
from skrank.exceptions import TrainingDataWarning
from skrank.losses import (
    BPRLoss,
    CDNLoss,
    ListNetLoss,
    ListwiseEnergyLoss,
    SquaredHingeLoss,
    ThresholdLoss,
)
from skrank.metrics import ndcg_score
from skrank.rankers import (
    EnergyListwise,
    EnergyPairwise,
    EnergyPointwise,
    EnergyRanker,
    LogisticRanker,
    RankSVM,
    SortNet,
)
from skrank.solvers import LBFGS, SGD, SmoothingHomotopy

RATE, ALPHA, EPOCHS = 0.01, 0.1, 3
PAPER = SGD(
    learning_rate=RATE, momentum=0.0, per_unit=True, batch_queries=1, max_iter=EPOCHS
)


@pytest.fixture(scope="module")
def graded():
    X, y, groups = make_ranking(
        n_queries=20, n_features=6, n_informative=4, random_state=0
    )
    order = np.argsort(groups, kind="stable")
    return X[order], y[order], groups[order]


def descend(X, y, ptr, gradient, units_per_query):
    """Plain stochastic gradient descent from zero, a step after each query."""
    rng = np.random.RandomState(0)
    theta = np.zeros(X.shape[1])
    for _ in range(EPOCHS):
        for q in rng.permutation(len(ptr) - 1):
            rows = slice(ptr[q], ptr[q + 1])
            step = gradient(theta, X[rows], y[rows])
            theta = theta - RATE * (step + units_per_query * ALPHA * theta)
    return theta


def pointwise_rule(gamma, labels):
    def gradient(theta, X, y):
        total = np.zeros_like(theta)
        for x, r in zip(X, y):
            f = theta @ x
            wrong = min((s for s in labels if s != r), key=lambda s: abs(f - s))
            total += 2 * (f - r) * x
            total -= gamma * np.exp(-abs(f - wrong)) * np.sign(f - wrong) * x
        return total

    return gradient


def pairwise_rule(cap, margin):
    """Eq. 28 for every pair of a query, with E = -theta'x."""

    def gradient(theta, X, y):
        total = np.zeros_like(theta)
        for u in range(len(y)):
            for v in range(len(y)):
                excess = margin - theta @ X[u] + theta @ X[v]
                if y[u] > y[v] and 0 <= excess <= cap:
                    total += X[v] - X[u]
        return total

    return gradient


def listwise_rule(k, cap, margin):
    """The update of section 5.3, with the rows' order among equal grades."""

    def gradient(theta, X, y):
        total, energy = np.zeros_like(theta), 0.0
        if len(set(y)) < 2:
            return total
        ranked = X[np.argsort(-y, kind="stable")]
        m = len(ranked)
        share = np.array([1.0] + [1.0 / np.log2(t) for t in range(2, m + 1)])
        share /= share.sum()
        for j in range(min(k, m)):
            slope = -ranked[j]  # of the energy
            for t in range(j, m):
                slope = slope + share[t] * ranked[t]
            total += slope
            energy += slope @ theta
        return total if 0 <= margin + energy <= cap else np.zeros_like(theta)

    return gradient


def pointers(groups):
    return QueryIndex.from_groups(groups).ptr


def n_pairs(y, ptr):
    return sum(int(np.sum(y[a:b, None] > y[None, a:b])) for a, b in pairwise(ptr))


@pytest.mark.parametrize("gamma", [0.001, 0.5])
@pytest.mark.parametrize("single", [False, True], ids=["queries", "documents"])
def test_pointwise_sgd_is_the_update_rule(gamma, single, graded):
    X, y, groups = graded
    X = 0.1 * X
    if single:  # as in the paper, a step after each document
        groups = np.arange(len(y))
    ptr = pointers(groups)
    rule = pointwise_rule(gamma, np.unique(y))
    expected = descend(X, y, ptr, rule, len(y) / (len(ptr) - 1))
    ranker = EnergyPointwise(gamma=gamma, alpha=ALPHA, solver=PAPER, random_state=0)
    # A ranker takes single documents for an oversight, and says so.
    told = pytest.warns(TrainingDataWarning, match="every query has a single document")
    with told if single else nullcontext():
        found = ranker.fit(X, y, groups).params_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("cap", "margin"), [(0.1, 0.0), (1.0, 0.0), (0.7, 0.5)])
@pytest.mark.parametrize("single", [False, True], ids=["queries", "pairs"])
def test_pairwise_sgd_is_equation_28(cap, margin, single, graded):
    X, y, groups = graded
    if single:  # as in the paper, a step after each pair: one pair a query
        rows = [
            [a + np.argmax(y[a:b]), a + np.argmin(y[a:b])]
            for a, b in pairwise(pointers(groups))
        ]
        rows = np.ravel(rows)
        X, y, groups = X[rows], y[rows], groups[rows]
    ptr = pointers(groups)
    units = n_pairs(y, ptr) / (len(ptr) - 1)
    expected = descend(X, y, ptr, pairwise_rule(cap, margin), units)
    ranker = EnergyPairwise(
        cap=cap, margin=margin, alpha=ALPHA, solver=PAPER, random_state=0
    )
    found = ranker.fit(X, y, groups).params_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("cap", "margin"), [(5.0, 0.0), (0.5, 0.0), (1.0, 0.7)])
def test_listwise_sgd_is_the_update_rule(cap, margin, graded):
    X, y, groups = graded
    ptr = pointers(groups)
    share = np.mean([len(set(y[a:b])) > 1 for a, b in pairwise(ptr)])
    expected = descend(X, y, ptr, listwise_rule(3, cap, margin), share)
    ranker = EnergyListwise(
        top_k=3,
        cap=cap,
        margin=margin,
        normalization="list",
        ties="stable",
        alpha=ALPHA,
        solver=PAPER,
        random_state=0,
    )
    found = ranker.fit(X, y, groups).params_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("ranker", "rate", "epochs"),
    [
        (EnergyPointwise, 5e-4, 20),
        (EnergyPairwise, 1e-4, 10),
        (EnergyListwise, 1e-5, 10),
    ],
)
def test_sgd_by_name_is_that_of_table_4(ranker, rate, epochs, graded):
    settings = {"alpha": ALPHA, "random_state": 0}
    named = ranker(solver="sgd", **settings).fit(*graded)
    solver = SGD(
        learning_rate=rate,
        momentum=0.0,
        per_unit=True,
        batch_queries=1,
        max_iter=epochs,
    )
    spelled = ranker(solver=solver, **settings).fit(*graded)
    assert named.n_iter_ == epochs
    np.testing.assert_array_equal(named.params_, spelled.params_)
    assert ranker(solver="sgd", max_iter=2, **settings).fit(*graded).n_iter_ == 2


def test_pairwise_without_cap_is_the_ranking_svm(graded):
    settings = {"alpha": 0.01, "solver": SmoothingHomotopy(final_width=0.01)}
    pairs = EnergyPairwise(cap=np.inf, margin=1.0, **settings).fit(*graded)
    svm = RankSVM(hinge="linear", margin=1.0, **settings).fit(*graded)
    np.testing.assert_allclose(pairs.coef_, svm.coef_, rtol=1e-3, atol=1e-4)


def test_pointwise_without_exponential_is_ridge_regression(graded):
    X, y, groups = graded
    ranker = EnergyPointwise(gamma=0.0, alpha=0.2, tol=1e-9).fit(X, y, groups)
    # mean (f - y)^2 + alpha/2 |w|^2 is ridge with n alpha / 2.
    ridge = Ridge(alpha=0.1 * len(y), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ranker.params_, ridge.coef_, rtol=1e-5, atol=1e-8)


def test_listwise_with_all_lists_active_is_a_mean(graded):
    # Without cap and with a margin out of reach the loss is linear: alpha w is the
    # mean over the lists of X'c.
    X, y, groups = graded
    prepared = ListwiseEnergyLoss(5, normalization="sublist").prepare(
        y, pointers(groups)
    )
    ranker = EnergyListwise(cap=np.inf, margin=1e3, alpha=10.0).fit(X, y, groups)
    expected = X.T @ prepared.coefficients / prepared.total_weight / 10.0
    np.testing.assert_allclose(ranker.coef_, expected, rtol=1e-5)


def test_balanced_classes_weigh_every_grade_the_same(graded):
    X, y, groups = graded
    counts = np.bincount(y.astype(int))
    weight = (len(y) / (len(counts) * counts))[y.astype(int)]
    by_hand = EnergyPointwise().fit(X, y, groups, sample_weight=weight)
    balanced = EnergyPointwise(class_weight="balanced").fit(X, y, groups)
    np.testing.assert_allclose(balanced.params_, by_hand.params_, rtol=1e-6)
    # Weights of rows count as copies do.
    twice = np.where(groups < 8, 2.0, 1.0)
    weighted = EnergyPointwise(class_weight="balanced").fit(
        X, y, groups, sample_weight=twice
    )
    rows = np.repeat(np.arange(len(y)), twice.astype(int))
    copied = EnergyPointwise(class_weight="balanced").fit(
        X[rows], y[rows], groups[rows]
    )
    np.testing.assert_allclose(weighted.params_, copied.params_, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="class_weight must be 'balanced' or None"):
        EnergyPointwise(class_weight="even").fit(X, y, groups)


def test_the_cap_gives_up_wrong_judgements():
    # 90 pairs ask for a larger coefficient and 15, four times as far apart, for a
    # smaller one: a hinge settles in between, a cap lets go of the 15.
    difference = np.concatenate([np.linspace(0.5, 1.5, 90), np.full(15, -4.0)])
    X = np.zeros((210, 1))
    X[::2, 0] = difference
    pairs = np.arange(210).reshape(105, 2)
    alpha = 1e-4
    capped = EnergyPairwise(cap=2.0, alpha=alpha).fit(X, preferences=pairs)
    hinge = EnergyPairwise(cap=np.inf, alpha=alpha).fit(X, preferences=pairs)
    # Without the 15, every pair keeps the margin of 1 from a coefficient of 2 on.
    assert capped.coef_[0] == pytest.approx(2.0, abs=0.05)
    # The hinge stops where short pairs, of total length 60, hold 15 * 4 in balance.
    short = difference[:90][np.cumsum(difference[:90]) <= 60.0]
    assert hinge.coef_[0] == pytest.approx(1.0 / short.max(), rel=0.02)


@pytest.mark.parametrize("ranker", [EnergyPointwise, EnergyPairwise])
def test_networks_learn(ranker, graded):
    X, y, groups = graded
    network = ranker((8,), alpha=1e-3, max_iter=40, random_state=0).fit(X, y, groups)
    assert network.score(X, y, groups) > 0.8


def test_networks_start_without_the_cap(graded):
    # At random parameters most lists are beyond the cap, where there is no gradient.
    X, y, groups = graded
    settings = {"alpha": 1e-3, "max_iter": 40, "random_state": 0}
    stuck = EnergyListwise((8,), solver="adam", **settings).fit(X, y, groups)
    freed = EnergyListwise((8,), **settings).fit(X, y, groups)
    assert freed.n_iter_ == 80
    assert freed.score(X, y, groups) > stuck.score(X, y, groups) + 0.1


@pytest.mark.parametrize("ranker", [EnergyPairwise, EnergyListwise])
def test_no_margin_is_for_the_descent_of_the_paper(ranker, graded):
    with pytest.raises(ValueError, match="margin=0 makes scores that are all zero"):
        ranker(margin=0.0).fit(*graded)
    fitted = ranker(margin=0.0, solver="sgd", random_state=0).fit(*graded)
    assert np.all(fitted.coef_ != 0.0)


@pytest.mark.parametrize("ranker", [EnergyPairwise, EnergyListwise])
def test_full_batch_reaches_a_stationary_point(ranker, graded):
    X, y, groups = graded
    fitted = ranker(random_state=0).fit(X, y, groups)
    # No single coefficient can be changed for the better.
    loss, ptr = fitted.loss_, pointers(groups)
    prepared = loss.prepare(y, ptr)

    def objective(w):
        values, _ = prepared.value_gradient(X @ w)
        return values.sum() / prepared.total_weight + 0.5 * fitted.alpha * (w @ w)

    best = objective(fitted.coef_)
    for i in range(X.shape[1]):
        for step in (-0.02, 0.02):
            moved = fitted.coef_.copy()
            moved[i] += step
            assert objective(moved) > best - 1e-3


def test_pointwise_predicts_labels(graded):
    X, y, groups = graded
    ranker = EnergyPointwise(alpha=1e-3, solver=LBFGS()).fit(X, y, groups)
    labels = ranker.predict_labels(X)
    f = ranker.predict(X)
    nearest = np.unique(y)[np.argmin(np.abs(f[:, None] - np.unique(y)), axis=1)]
    np.testing.assert_array_equal(labels, nearest)
    np.testing.assert_allclose(ranker.energies(X, labels=y), np.abs(f - y))


@pytest.mark.parametrize("ranker", [RankSVM(), SortNet(max_iter=1, random_state=0)])
def test_scores_without_labels_predict_none(ranker, graded):
    """SortNet scores documents only within queries, which this method does not take."""
    X, y, groups = graded
    fitted = ranker.fit(X, y, groups)
    with pytest.raises(ValueError, match="Energy does not depend on the label; use a"):
        fitted.predict_labels(X)


def test_all_thresholds_are_one_model(graded):
    """Energies, parameters and curves are those of all models, not of the last one."""
    X, y, groups = graded
    ranker = LogisticRanker(threshold="all", early_stopping=True, random_state=0)
    ranker.fit(X, y, groups)
    n_models = len(ranker.thresholds_)
    assert ranker.params_.shape == (n_models * (X.shape[1] + 1),)
    np.testing.assert_array_equal(ranker.energies(X), -ranker.predict(X))
    assert len(ranker.loss_curve_) == ranker.n_iter_ == len(ranker.validation_curve_)
    alone = [
        LogisticRanker(threshold=value, tol=1e-9).fit(X, y, groups).loss_curve_[-1]
        for value in ranker.thresholds_
    ]
    joint = LogisticRanker(threshold="all", tol=1e-9).fit(X, y, groups)
    assert joint.loss_curve_[-1] == pytest.approx(sum(alone), rel=1e-6)


def test_validation_rows_pass_through_the_kernel(graded):
    X, y, groups = graded
    held = groups >= 14
    ranker = EnergyRanker(KernelEnergy(n_components=10), max_iter=20, random_state=0)
    ranker.fit(
        X[~held],
        y[~held],
        groups[~held],
        X_val=X[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    assert ranker.params_.shape == (10,)
    best = ranker.validation_curve_[ranker.best_iteration_ - 1]
    assert best == ranker.validation_curve_.max()
    found = ndcg_score(y[held], ranker.predict(X[held]), groups=groups[held], k=10)
    assert found == pytest.approx(best, rel=1e-12)


def test_the_parts_of_the_user_are_left_alone(graded):
    parts = KernelEnergy(n_components=10), ListNetLoss(), LBFGS()
    before = [dict(vars(part)) for part in parts]
    energy, loss, solver = parts
    options = {"solver": solver, "max_iter": 3, "tol": 0.1, "random_state": 0}
    ranker = EnergyRanker(energy, loss, **options).fit(*graded)
    assert [vars(part) for part in parts] == before
    assert ranker.energy_ is not energy
    assert ranker.loss_ is not loss


def test_a_warm_start_at_all_thresholds(graded):
    X, y, groups = graded
    ranker = LogisticRanker(threshold="all", warm_start=True).fit(X, y, groups)
    first, loss = ranker.n_iter_, ranker.loss_curve_[-1]
    ranker.fit(X, y, groups)
    assert ranker.n_iter_ < first
    assert ranker.params_.shape == (len(ranker.thresholds_) * (X.shape[1] + 1),)
    if ranker.n_iter_:
        assert ranker.loss_curve_[-1] <= loss
    with pytest.raises(ValueError, match=r"has 28 parameters, this one 7"):
        ranker.fit(X, np.minimum(y, 1.0), groups)


def test_all_thresholds_by_stochastic_descent_follow_the_seed(graded):
    options = {"threshold": "all", "solver": "sgd", "max_iter": 2}
    first, again, other = (
        LogisticRanker(**options, random_state=seed).fit(*graded).params_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(again, first)
    assert np.abs(other - first).max() > 1e-8


def test_batches_of_all_thresholds_share_the_noise(graded):
    X, y, groups = graded
    data = GroupedRows(X, y, pointers(groups))
    ranker = LogisticRanker(threshold="all")
    ranker.thresholds_ = np.array([1.0, 2.0])
    energy, loss = ranker._clone_parts()
    joint = ranker._objective(energy, loss, data, 1)
    noise = np.random.RandomState(0)
    assert [o.rng for o in joint.batch(np.array([0, 2]), noise).objectives] == [
        noise,
        noise,
    ]


def test_whitening_at_all_thresholds_moves_no_minimum(graded):
    X, y, groups = graded
    X = X * [1.0, 20.0, 0.1, 1.0, 3.0, 0.5] + X[:, :1]
    whitened, plain = (
        LogisticRanker(
            threshold="all",
            alpha=1e-2,
            solver=LBFGS(whiten=whiten, max_iter=5000, tol=1e-9),
        ).fit(X, y, groups)
        for whiten in (True, False)
    )
    assert whitened.n_iter_ < plain.n_iter_
    # Without whitening the solver ends where no step lowers the objective in double
    # precision. That fixes the objective to 12 digits and the probabilities to 6; a
    # rare grade says less about its intercept, whose digits differ with the version of
    # SciPy.
    np.testing.assert_allclose(
        whitened.loss_curve_[-1], plain.loss_curve_[-1], rtol=2e-12
    )
    odds, expected = whitened.predict_odds(X), plain.predict_odds(X)
    np.testing.assert_allclose(
        odds / (1 + odds), expected / (1 + expected), rtol=0, atol=5e-6
    )


@pytest.mark.parametrize(
    ("ranker", "parameter"),
    [
        (EnergyPointwise(gamma=1e300), "gamma of SquareExponentialLoss"),
        (
            EnergyRanker(loss=SquaredHingeLoss(margin=1e300)),
            "margin of SquaredHingeLoss",
        ),
    ],
    ids=["gamma", "margin"],
)
def test_parameters_that_make_a_loss_overflow_are_named(ranker, parameter):
    data = make_ranking(n_queries=5, random_state=0)
    with pytest.raises(ValueError, match=f"; lower {parameter}, which is 1e\\+300$"):
        ranker.fit(*data)


@pytest.mark.parametrize(
    ("energy", "loss", "told"),
    [
        (ThresholdEnergy(n_thresholds=3), ThresholdLoss(), "ThresholdEnergy makes 3"),
        (LinearEnergy(), ThresholdLoss(), "LinearEnergy makes 1"),
        (ThresholdEnergy(), BPRLoss(), "BPRLoss takes 1 with"),
        (MLPEnergy((2,), n_outputs=3), ListNetLoss(), "ListNetLoss takes 1 with"),
        (MLPEnergy((2,), n_outputs=3), CDNLoss(), "CDNLoss takes 1 or 2 with"),
    ],
)
def test_energies_make_as_many_scores_as_the_loss_takes(energy, loss, told, graded):
    ranker = EnergyRanker(energy=energy, loss=loss, max_iter=2, random_state=0)
    with pytest.raises(ValueError, match="energy and loss do not fit") as caught:
        ranker.fit(*graded)
    assert told in str(caught.value)
