"""Rankers against the estimators and formulas that they must agree with."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from skrank.energies import LinearEnergy, MLPEnergy
from skrank.exceptions import TrainingDataWarning
from skrank.losses import (
    ListNetLoss,
    LogisticLoss,
    LogLoss,
    SquaredHingeLoss,
)
from skrank.metrics import evaluate_measure, make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import (
    EnergyRanker,
    LambdaRank,
    ListMLE,
    ListNet,
    LogisticRanker,
    RankNet,
    RankSVM,
    SubsetRegression,
)
from skrank.solvers import LBFGS, Adam, SmoothingHomotopy

ALPHA = 1e-2


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(25), rng.integers(2, 12, size=25))
    X = rng.normal(size=(len(groups), 4))
    y = np.digitize(X @ [1.5, -1.0, 0.5, 0] + rng.normal(size=len(X)), [-0.5, 1.0, 2.0])
    return X, y.astype(float), groups


def all_pairs(y, groups):
    """Every (preferred, other) pair of rows, by brute force."""
    same = groups[:, None] == groups[None, :]
    return np.argwhere(same & (y[:, None] > y[None, :]))


def pair_differences(X, y, groups):
    """Signed differences for a binary classifier, and their classes."""
    pairs = all_pairs(y, groups)
    difference = X[pairs[:, 0]] - X[pairs[:, 1]]
    sign = np.where(np.arange(len(pairs)) % 2, 1, -1)
    return difference * sign[:, None], sign


@pytest.mark.parametrize("hinge", ["squared", "linear"])
def test_rank_svm_is_an_svm_on_pair_differences(data, hinge):
    X, y, groups = data
    D, sign = pair_differences(X, y, groups)
    svm = LinearSVC(
        loss="squared_hinge" if hinge == "squared" else "hinge",
        C=1 / (ALPHA * len(D)),
        fit_intercept=False,
        dual=True,
        tol=1e-8,
        max_iter=200_000,
        random_state=0,
    ).fit(D, sign)
    solver = None if hinge == "squared" else SmoothingHomotopy(final_width=1e-5)
    ranker = RankSVM(alpha=ALPHA, hinge=hinge, solver=solver).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, svm.coef_[0], atol=2e-5)


def test_linear_hinge_objective_is_minimal(data):
    X, y, groups = data
    ranker = RankSVM(alpha=ALPHA, hinge="linear").fit(X, y, groups)
    pairs = all_pairs(y, groups)
    D = X[pairs[:, 0]] - X[pairs[:, 1]]

    def objective(w):
        return np.maximum(0, 1 - D @ w).mean() + 0.5 * ALPHA * w @ w

    at_result = objective(ranker.coef_)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 1e-1):
        near = ranker.coef_ + scale * rng.normal(size=(50, 4))
        assert at_result <= min(map(objective, near)) + 1e-4


def test_rank_svm_margin_scales_the_solution(data):
    X, y, groups = data
    # f/M minimises the unit-margin problem, so coefficients grow with the margin.
    one = RankSVM(alpha=ALPHA, margin=1.0).fit(X, y, groups)
    two = RankSVM(alpha=ALPHA, margin=2.0).fit(X, y, groups)
    np.testing.assert_allclose(two.coef_, 2 * one.coef_, rtol=1e-4)


def test_kernel_rank_svm_fits_what_a_line_cannot(data):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    X = rng.normal(size=(300, 2))
    y = (np.abs(X[:, 0]) > 1).astype(float)
    linear = RankSVM().fit(X, y, groups).score(X, y, groups)
    kernel = RankSVM(kernel="rbf", kernel_params={"gamma": 1.0}, random_state=0)
    assert kernel.fit(X, y, groups).score(X, y, groups) > 0.98 > linear
    again = RankSVM(kernel="rbf", kernel_params={"gamma": 1.0}, random_state=0)
    np.testing.assert_array_equal(again.fit(X, y, groups).predict(X), kernel.predict(X))


def test_linear_ranknet_is_logistic_regression_on_pairs(data):
    X, y, groups = data
    D, sign = pair_differences(X, y, groups)
    reference = LogisticRegression(
        C=1 / (ALPHA * len(D)), fit_intercept=False, tol=1e-10, max_iter=1000
    ).fit(D, sign)
    ranker = RankNet(alpha=ALPHA).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, reference.coef_[0], atol=1e-5)


def test_pair_weights_are_those_of_the_preferred_document(data):
    X, y, groups = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    pairs = all_pairs(y, groups)
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    pair_weight = weight[pairs[:, 0]]

    def objective(w):
        losses = np.logaddexp(0, -D @ w)
        return pair_weight @ losses / pair_weight.sum() + 0.5 * ALPHA * w @ w

    expected = minimize(objective, np.zeros(4), tol=1e-10).x
    ranker = RankNet(alpha=ALPHA).fit(X, y, groups, sample_weight=weight)
    np.testing.assert_allclose(ranker.coef_, expected, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_ranker_is_logistic_regression(data, weighted):
    X, y, groups = data
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, size=len(y)) if weighted else np.ones(len(y))
    reference = LogisticRegression(
        C=1 / (ALPHA * weight.sum()), tol=1e-10, max_iter=1000
    ).fit(X, y >= 2, sample_weight=weight)
    ranker = LogisticRanker(alpha=ALPHA, threshold=2)
    ranker.fit(X, y, groups, sample_weight=weight if weighted else None)
    np.testing.assert_allclose(ranker.coef_, reference.coef_[0], atol=1e-5)
    np.testing.assert_allclose(ranker.intercept_, reference.intercept_[0], atol=1e-5)
    np.testing.assert_allclose(
        ranker.predict_odds(X), np.exp(reference.decision_function(X)), rtol=1e-4
    )


def test_odds_are_finite(data):
    X, y, groups = data
    ranker = LogisticRanker(alpha=ALPHA, threshold=2).fit(X, y, groups)
    far = ranker.predict_odds(1e5 * X)
    assert far.max() == pytest.approx(np.finfo(np.float64).max, rel=1e-12)
    assert np.isfinite(far).all()
    assert far.min() >= 0.0
    with pytest.raises(ValueError, match=r"^X"):
        ranker.predict_odds(np.sign(X) * 1e308)


def test_logistic_ranker_at_every_boundary(data):
    X, y, groups = data
    options = {"alpha": ALPHA, "tol": 1e-9}
    ranker = LogisticRanker(**options, threshold="all").fit(X, y, groups)
    assert ranker.thresholds_.tolist() == [1, 2, 3]
    expected = np.zeros(len(y))
    for row, threshold in enumerate(ranker.thresholds_):
        single = LogisticRanker(**options, threshold=threshold).fit(X, y, groups)
        np.testing.assert_allclose(ranker.coef_[row], single.coef_, atol=1e-6)
        odds = single.predict_odds(X)
        expected += odds / (1 + odds)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-6)
    with (
        pytest.raises(ValueError, match="at least two distinct grades"),
        pytest.warns(TrainingDataWarning, match="all 141 documents have the same"),
    ):
        ranker.fit(X, np.ones(len(y)), groups)


def test_subset_regression_is_weighted_ridge(data):
    X, y, groups = data
    gain = 2.0**y - 1
    reference = Ridge(2.0).fit(X, gain, sample_weight=1 + 3 * gain / gain.max())
    ranker = SubsetRegression(alpha=2.0, gain="exp2", importance=3.0).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, reference.coef_, rtol=1e-10)
    np.testing.assert_allclose(ranker.predict(X), reference.predict(X), rtol=1e-10)


def test_subset_regression_takes_any_regressor(data):
    X, y, groups = data
    forest = RandomForestRegressor(n_estimators=20, random_state=0)
    ranker = SubsetRegression(forest).fit(X, y, groups)
    assert not hasattr(ranker, "coef_")
    order = np.argsort(groups, kind="stable")
    expected = forest.fit(X[order], y[order]).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    with pytest.raises(ValueError, match="importance must be a number >= 0"):
        SubsetRegression(importance=-1).fit(X, y, groups)


def informative_queries(y, groups):
    """Rows of each query that has a preference."""
    rows = [np.flatnonzero(groups == q) for q in np.unique(groups)]
    return [r for r in rows if np.ptp(y[r]) > 0]


def test_listnet_minimises_its_cross_entropy(data):
    X, y, groups = data
    queries = informative_queries(y, groups)

    def objective(w):
        losses = [-softmax(y[r]) @ log_softmax(X[r] @ w) for r in queries]
        return np.mean(losses) + 0.5 * ALPHA * w @ w

    expected = minimize(objective, np.zeros(4), tol=1e-10).x
    ranker = ListNet(alpha=ALPHA).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, expected, atol=1e-4)


@pytest.mark.parametrize("top_k", [None, 3])
def test_listmle_minimises_its_likelihood(data, top_k):
    X, y, groups = data
    queries = informative_queries(y, groups)

    def query_loss(scores, k):
        steps = range(len(scores) if k is None else min(k, len(scores)))
        return -sum(log_softmax(scores[j:])[0] for j in steps)

    def objective(w):
        losses = []
        for rows in queries:
            ordered = rows[np.argsort(-y[rows], kind="stable")]
            losses.append(query_loss(X[ordered] @ w, top_k))
        return np.mean(losses) + 0.5 * ALPHA * w @ w

    expected = minimize(objective, np.zeros(4), tol=1e-10).x
    ranker = ListMLE(alpha=ALPHA, ties="stable", top_k=top_k).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, expected, atol=1e-4)


@pytest.mark.parametrize(
    "ranker",
    [ListMLE(ties="random"), ListNet(top_k=3, n_samples=32)],
    ids=["ListMLE", "ListNet"],
)
def test_the_seed_decides_what_a_loss_draws(data, ranker):
    X, y, groups = data
    first, again, other = (
        ranker.set_params(random_state=seed).fit(X, y, groups).coef_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


@pytest.mark.parametrize("measure", ["ndcg@10", "map", "mrr", "err@10"])
@pytest.mark.parametrize("hidden", [(), (8,)])
def test_lambdarank_optimises_any_measure(data, measure, hidden):
    X, y, groups = data

    def evaluate(scores):
        return evaluate_measure(measure, y, scores, groups=groups)

    ranker = LambdaRank(
        hidden_layer_sizes=hidden, measure=measure, random_state=0, max_iter=60
    )
    scores = ranker.fit(X, y, groups).predict(X)
    chance = np.random.default_rng(0).normal(size=len(y))
    gap = evaluate(y) - evaluate(chance)
    assert evaluate(y) - evaluate(scores) < 0.4 * gap


@pytest.mark.parametrize("ranker", [RankSVM(alpha=ALPHA), RankNet(alpha=ALPHA)])
def test_explicit_preferences_equal_grades(data, ranker):
    X, y, groups = data
    by_grade = ranker.fit(X, y, groups).coef_
    by_pair = ranker.fit(X, preferences=all_pairs(y, groups)).coef_
    assert not hasattr(ranker.loss_, "pairs")
    np.testing.assert_allclose(by_pair, by_grade, atol=1e-5)
    checked = ranker.fit(X, groups=groups, preferences=all_pairs(y, groups)).coef_
    # With the queries known, whitening uses them: the same minimum, other steps.
    np.testing.assert_allclose(checked, by_pair, atol=1e-5)


def test_weighted_preferences_equal_repetition(data):
    X, y, groups = data
    pairs = all_pairs(y, groups)
    weight = 1.0 + (np.arange(len(pairs)) % 3 == 0)
    repeated = np.concatenate([pairs, pairs[weight == 2]])
    ranker = RankSVM(alpha=ALPHA)
    weighted = ranker.fit(X, preferences=pairs, sample_weight=weight).coef_
    np.testing.assert_allclose(
        weighted, ranker.fit(X, preferences=repeated).coef_, atol=1e-6
    )


@pytest.mark.parametrize(
    ("preferences", "message"),
    [
        (np.zeros((0, 2), int), "at least one pair"),
        ([[0, 1, 2]], r"shape \(n_pairs, 2\)"),
        ([[0.0, 1.0]], "row numbers, got dtype"),
        ([[0, 10_000]], "row numbers from 0 to"),
        ([[3, 3]], "prefers a document to itself"),
    ],
)
def test_bad_preferences(data, preferences, message):
    X, _, _ = data
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(X, preferences=preferences)


def test_preferences_stay_within_a_query(data):
    X, y, groups = data
    other = np.flatnonzero(groups != groups[0])[0]
    with pytest.raises(ValueError, match="pair 0 joins two"):
        RankSVM().fit(X, groups=groups, preferences=[[0, other]])
    with pytest.raises(ValueError, match="either y or preferences"):
        RankSVM().fit(X, y, groups, preferences=[[0, 1]])


def test_energy_ranker_composes_what_named_rankers_name(data):
    X, y, groups = data
    free = EnergyRanker(
        LinearEnergy(fit_intercept=True),
        LogisticLoss(threshold=1.0),
        solver=LBFGS(),
        alpha=0.1,
    ).fit(X, y, groups)
    named = LogisticRanker(alpha=0.1).fit(X, y, groups)
    np.testing.assert_array_equal(free.predict(X), named.predict(X))
    np.testing.assert_array_equal(free.energies(X), -free.predict(X))


def test_energy_ranker_parameters_reach_its_parts():
    ranker = EnergyRanker(LinearEnergy(), LogisticLoss(), solver=LBFGS())
    names = set(ranker.get_params())
    assert {"energy__fit_intercept", "loss__threshold", "solver__max_iter"} <= names


def test_grid_search_chooses_among_parts(data):
    X, y, groups = data
    grid = [
        {"loss": [LogLoss(), ListNetLoss()], "alpha": [1e-3, 1e-1]},
        {"loss": [SquaredHingeLoss()], "loss__margin": [0.5, 1.0]},
        {
            "energy": [MLPEnergy(hidden_layer_sizes=(4,))],
            "energy__activation": ["relu", "tanh"],
            "solver": [Adam(max_iter=3)],
        },
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            EnergyRanker(loss=LogLoss(), random_state=0),
            grid,
            cv=QueryKFold(3),
            scoring=make_ranking_scorer("ndcg@10"),
            error_score="raise",
        ).fit(X, y, groups=groups)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.best_estimator_.score(X, y, groups) > 0.8


def test_warm_start_continues(data):
    X, y, groups = data
    ranker = RankNet(alpha=ALPHA, warm_start=True).fit(X, y, groups)
    first = ranker.n_iter_
    assert ranker.fit(X, y, groups).n_iter_ < first
    with pytest.raises(ValueError, match="RankNet is expecting 4 features"):
        ranker.fit(X[:, :3], y, groups)


def test_unknown_hinge(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="hinge must be 'squared' or 'linear'"):
        RankSVM(hinge="cubic").fit(X, y, groups)
