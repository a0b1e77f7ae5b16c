"""Cutting planes: the minimum of the model, known gaps, and what is refused."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.losses import MCELoss, OWPCLoss
from skrank.rankers import (
    OWPC,
    SVMMAP,
    SVMNDCG,
    EnergyRanker,
    LogisticRanker,
    RankSVM,
)
from skrank.solvers import CuttingPlane, SmoothingHomotopy
from skrank.solvers._cutting_plane import _dual, _Model, _Run, simplex_maximum


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_features=6, n_informative=4, random_state=0)


class Absolute:
    """Mean absolute residual plus a penalty, with a kink at every row."""

    def __init__(self, A, b, alpha):
        self.A, self.b = A, b
        self.penalty = np.full(A.shape[1], alpha)

    def value_gradient(self, w):
        residual = self.A @ w - self.b
        value = np.abs(residual).mean() + 0.5 * self.penalty @ w**2
        return value, self.A.T @ np.sign(residual) / len(self.b) + self.penalty * w


class Cone:
    """The largest of some slopes times w, which is 0 at 0, plus a penalty."""

    def __init__(self, slopes, alpha):
        self.slopes = slopes
        self.penalty = np.full(slopes.shape[1], alpha)

    def value_gradient(self, w):
        heights = self.slopes @ w
        best = int(np.argmax(heights))
        slope = self.slopes[best] + self.penalty * w
        return heights[best] + 0.5 * self.penalty @ w**2, slope


class Hill:
    """A concave function."""

    penalty = np.ones(2)

    def value_gradient(self, w):
        return -(w @ w), -2.0 * w


@pytest.mark.parametrize("alpha", [1.0, 1e-8])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_a_minimum_of_zero_is_found(alpha, start):
    # 0 is within the hull of the slopes, so that it is the minimum.
    slopes = np.array([[1.0, 0.2], [-0.7, 0.5], [-0.1, -0.9]])
    result = CuttingPlane().solve(Cone(slopes, alpha), np.full(2, start), None)
    assert result.converged
    assert result.value == 0.0
    assert_allclose(result.params, 0.0, atol=1e-12)


def test_objectives_without_an_exact_plane_are_refused():
    # Neither the height at 0 nor that of the plane at the start has a digit of what is
    # left at the start.
    objective = Absolute(np.array([[1e20]]), np.array([1e20]), 1.0)
    with pytest.raises(ValueError, match="cannot minimise the objective with alpha=1"):
        CuttingPlane().solve(objective, np.nextafter(np.ones(1), 0.0), None)


def test_slopes_whose_lengths_overflow_are_refused():
    objective = Absolute(np.full((1, 2), 1.5e308), np.ones(1), 1.0)
    with pytest.raises(ValueError, match="cannot minimise the objective with alpha=1"):
        CuttingPlane().solve(objective, np.zeros(2), None)


def test_a_minimum_below_zero_is_not_taken_for_zero():
    # The hull does not hold 0: its nearest point is (0.5, 0).
    slopes = np.array([[0.5, 1.0], [0.5, -1.0]])
    result = CuttingPlane(tol=1e-10).solve(Cone(slopes, 1.0), np.zeros(2), None)
    assert result.converged
    assert_allclose(result.params, [-0.5, 0.0], atol=1e-5)
    assert_allclose(result.value, -0.125, rtol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_minimum_of_the_model_meets_its_conditions(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    S = rng.normal(size=(n, int(rng.integers(1, 6))))
    S[n // 2] = S[0]  # planes may repeat
    linear = rng.normal(size=n)
    start = np.eye(n)[rng.integers(n)]
    weights = simplex_maximum(S, linear, start).weights
    assert weights.min() >= 0.0
    assert_allclose(weights.sum(), 1.0)
    slope = linear - S @ (weights @ S)
    assert slope.max() - slope[weights > 0].min() < 1e-8


@pytest.mark.parametrize("alpha", [1.0, 0.01])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_the_gap_is_at_most_the_tolerance(alpha, tol):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 4))
    objective = Absolute(A, A @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=60), alpha)
    found = CuttingPlane(tol=tol).solve(objective, np.zeros(4), rng)

    # The same as a smooth problem: a bound t of each residual, twice constrained.
    def value(z):
        return z[4:].mean() + 0.5 * alpha * z[:4] @ z[:4]

    def slope(z):
        return np.append(alpha * z[:4], np.full(60, 1 / 60))

    M = np.block([[-A, np.eye(60)], [A, np.eye(60)]])
    c = np.append(objective.b, -objective.b)
    best = minimize(
        value,
        np.append(found.params, np.abs(A @ found.params - objective.b)),
        jac=slope,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda z: M @ z + c, "jac": lambda z: M},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert found.converged
    assert -1e-9 <= found.value - best.fun <= found.gap + 1e-9
    assert found.gap <= tol * found.value


def test_the_tolerance_is_a_share_of_the_objective():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(30, 3)), rng.normal(size=30)
    for size in (1.0, 2.0**-20):  # of the objective, at the same parameters
        objective = Absolute(size * A, size * b, size)
        found = CuttingPlane(tol=1e-3).solve(objective, np.zeros(3), rng)
        assert 0 <= found.gap <= 1e-3 * found.value
        assert found.value == objective.value_gradient(found.params)[0]


def test_it_also_begins_where_all_parameters_are_0():
    rng = np.random.default_rng(2)
    objective = Absolute(rng.normal(size=(30, 3)), rng.normal(size=30), 0.01)
    at_zero = objective.value_gradient(np.zeros(3))[0]
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 iterations"):
        found = CuttingPlane(max_iter=1).solve(objective, np.full(3, 1e3), rng)
    assert found.value <= at_zero


def test_it_agrees_with_the_homotopy_on_a_ranking_svm(data):
    planes = RankSVM(hinge="linear", alpha=0.01, solver=CuttingPlane(tol=1e-7))
    smooth = RankSVM(
        hinge="linear",
        alpha=0.01,
        solver=SmoothingHomotopy(final_width=1e-5, tol=1e-9),
    )
    found, expected = planes.fit(*data).coef_, smooth.fit(*data).coef_
    assert_allclose(found, expected, rtol=5e-3, atol=5e-4)


@pytest.mark.parametrize("normalization", ["pair", "query", "document"])
@pytest.mark.parametrize("weights", ["max", "reciprocal"])
@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_kinks_of_the_order_do_not_stop_it(weights, normalization):
    for seed in range(3):
        X, y, groups = make_ranking(
            n_queries=10, n_features=3, n_informative=3, random_state=seed
        )
        ptr = np.append(0, np.cumsum(np.unique(groups, return_counts=True)[1]))
        loss = OWPCLoss(weights, normalization=normalization).prepare(y, ptr)

        def objective(w, X=X, loss=loss):
            value = loss.value_gradient(X @ w)[0].sum() / loss.total_weight
            return value + 0.005 * w @ w

        ranker = OWPC(weights=weights, normalization=normalization, alpha=0.01)
        found = ranker.fit(X, y, groups).coef_
        options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000}
        best = minimize(objective, found, method="Nelder-Mead", options=options)
        assert objective(found) <= best.fun * (1 + 1e-4)


def test_fits_that_end_at_equal_scores_warn():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(400, 3)), np.repeat(np.arange(4), 100)
    y = rng.integers(0, 2, 400)
    with pytest.warns(TrainingDataWarning, match="flatter weights, such as"):
        ranker = OWPC(weights="max").fit(X, y, groups)
    assert not ranker.coef_.any()


def test_every_parameter_needs_a_penalty(data):
    with pytest.raises(ValueError, match="CuttingPlane needs a penalty of every param"):
        RankSVM(alpha=0.0, solver=CuttingPlane()).fit(*data)
    with pytest.raises(ValueError, match="leave intercepts out"):
        LogisticRanker(solver=CuttingPlane()).fit(*data)


def test_what_is_not_convex_is_refused():
    with pytest.raises(ValueError, match="Either the objective is not convex"):
        CuttingPlane().solve(Hill(), np.ones(2), np.random.RandomState(0))


@pytest.mark.parametrize("hinge", ["linear", "squared"])
def test_small_penalties_reach_their_minimum(data, hinge):
    found = [
        RankSVM(hinge=hinge, alpha=alpha, solver=CuttingPlane(tol=1e-6)).fit(*data)
        for alpha in (1e-7, 1e-18)
    ]
    assert all(ranker.converged_ for ranker in found)
    # The penalty no longer matters, where documents of some pairs are out of order.
    assert_allclose(found[0].coef_, found[1].coef_, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("alpha", [1e-40, 1e-50, 1e-150, 1e-300, 1e-310, 5e-324])
@pytest.mark.parametrize("ranker", [RankSVM(), RankSVM(hinge="linear"), OWPC()])
def test_penalties_that_rounding_hides_are_refused_by_name(data, ranker, alpha):
    ranker = clone(ranker).set_params(alpha=alpha, solver=CuttingPlane())
    message = (
        rf"cannot minimise \w+ with alpha={alpha:g}, because rounding .* must be r"
        r"|\w+ became inf, because scores .*; scale the features or raise alpha"
    )
    with pytest.raises(ValueError, match=message):
        ranker.fit(*data)


def test_the_gap_is_told_where_iterations_end(data):
    ranker = RankSVM(hinge="linear", solver=CuttingPlane(max_iter=2))
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 iterations with the"):
        ranker.fit(*data)
    assert not ranker.converged_


def test_planes_that_no_longer_matter_are_dropped(data, monkeypatch):
    ranker = RankSVM(hinge="linear", alpha=1e-4, solver=CuttingPlane(tol=1e-8))
    expected = ranker.fit(*data).coef_
    assert ranker.n_iter_ > 20
    monkeypatch.setattr("skrank.solvers._cutting_plane._IDLE", 3)
    kept = []
    keep = _Model._keep

    def counted(model, which):
        keep(model, which)
        kept.append(len(model.weights))

    monkeypatch.setattr(_Model, "_keep", counted)
    found = ranker.fit(*data)
    assert found.converged_
    assert 1 <= max(kept) < ranker.n_iter_
    assert_allclose(found.coef_, expected, rtol=1e-3, atol=1e-3)


def test_losses_that_say_so_are_not_minimised(data):
    ranker = EnergyRanker(loss=MCELoss(), solver=CuttingPlane(), alpha=0.01)
    with pytest.raises(TypeError, match="needs a convex loss, and MCELoss is not"):
        ranker.fit(*data)


def _of_sizes(seed):
    """Features of very different and large sizes."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** np.append(rng.uniform(-2, 6, 4), 7)
    X = rng.normal(size=(20, 5))
    return X, sizes, rng.integers(0, 3, 20), np.sort(rng.integers(0, 3, 20))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ranker", [OWPC(), SVMMAP(), SVMNDCG()])
@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 10.0])
@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_few_iterations_reach_the_minimum_for_features_of_any_size(seed, ranker, alpha):
    X, sizes, y, groups = _of_sizes(seed)
    ranker = clone(ranker).set_params(alpha=alpha, solver=CuttingPlane(max_iter=200))
    with warnings.catch_warnings():
        # Losses of 0 are known up to rounding alone.
        warnings.filterwarnings("ignore", "CuttingPlane stopped .* rounding leaves")
        ranker.fit(X * sizes, y, groups)
    assert ranker.n_iter_ < 200
    assert ranker.gap_ <= max(1.1e-4 * ranker.loss_curve_[-1], 1e-5)


def test_places_balance_planes_of_very_different_lengths():
    # The first two meet where the first coordinate is 1e-9, whose share of the squared
    # length is lost in their products.
    slopes = np.array([[1e9, 1.0], [-1e9, 1.0], [1.0, -1e-3]])
    constants = np.array([-1.0, 1.0, -5.0])
    found = simplex_maximum(slopes, constants, np.array([1.0, 0.0, 0.0]))
    assert_allclose(found.weights, [0.5, 0.5, 0.0], atol=1e-12)
    assert_allclose(found.place, [1e-9, -1.0], rtol=1e-12)
    assert_allclose(found.value, -0.5, rtol=1e-9)


def test_as_many_planes_as_needed_hold_the_model_up():
    # Planes that differ in nothing must not share the weight.
    slopes = np.repeat(np.array([[1e8, 1.0], [-1e8, 1.0]]), 20, axis=0)
    found = simplex_maximum(slopes, np.zeros(40), np.eye(40)[0])
    assert (found.weights > 0).sum() <= 3


def test_it_stops_where_rounding_leaves_a_gap():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(60, 4)), rng.normal(size=60)
    told = "because rounding leaves the objective .* tol=0 of it; raise alpha, or scale"
    with pytest.warns(ConvergenceWarning, match=told):
        found = CuttingPlane(tol=0.0).solve(Absolute(A, b, 1.0), np.zeros(4), rng)
    assert not found.converged
    assert found.n_iter < 100
    assert 0 < found.gap < 1e-13


@pytest.mark.parametrize("ranker", [OWPC(), SVMMAP(), RankSVM(hinge="linear")])
@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
def test_huge_features_are_refused_or_warned_of(ranker):
    X, _, y, groups = _of_sizes(0)
    ranker = clone(ranker).set_params(solver=CuttingPlane())
    remedy = r"X must be scaled|scale the features"
    with pytest.raises((ValueError, ConvergenceWarning), match=remedy):
        ranker.fit(X * 1e150, y, groups)


def test_the_dual_is_known_at_any_place():
    rng = np.random.default_rng(0)
    slopes, constants = rng.normal(size=(5, 3)), rng.normal(size=5)
    weights = rng.dirichlet(np.ones(5))
    mean = weights @ slopes
    expected = constants @ weights - 0.5 * mean @ mean
    for place in (-mean, rng.normal(size=3)):
        heights = constants + slopes @ place
        assert_allclose(_dual(slopes, weights, place, heights), expected, rtol=1e-12)


def test_the_highest_of_flat_planes_is_found():
    for start in np.eye(2):
        found = simplex_maximum(np.zeros((2, 3)), np.array([1.0, 2.0]), start)
        assert_allclose(found.weights, [0.0, 1.0])
        assert_allclose(found.place, 0.0)
        assert_allclose(found.value, 2.0)


class Dented:
    """A constant that is a little smaller near 0, plus a penalty."""

    penalty = np.ones(1)

    def __init__(self, depth):
        self.depth = depth

    def value_gradient(self, w):
        return 1.0 - self.depth * (abs(w[0]) < 0.5) + 0.5 * w @ w, w


def test_the_gap_is_not_negative():
    # The plane at the start is above the minimum by less than what rounding may do.
    found = CuttingPlane().solve(Dented(4e-4), np.ones(1), None)
    assert found.converged
    assert found.value == 1.0 - 4e-4
    assert found.gap == 0.0
    with pytest.raises(ValueError, match="Either the objective is not convex"):
        CuttingPlane().solve(Dented(4e-3), np.ones(1), None)


def begun():
    """A minimisation that has looked for the minimum of its first plane."""
    rng = np.random.default_rng(0)
    objective = Absolute(rng.normal(size=(30, 3)), rng.normal(size=30), 0.1)
    run = _Run(objective, np.ones(3))
    run.minimised()
    assert run.gap > 1e-3
    return run


def test_rounding_may_hold_the_model_still_for_a_while():
    run = begun()
    for _ in range(10):
        # Each place is seen a few times, which is no end as long as others follow.
        assert [run.is_stuck() for _ in range(5)] == [False] * 5
        run.model.bound += 1e-6
    assert [run.is_stuck() for _ in range(11)] == [False] * 10 + [True]


def test_neither_hidden_gaps_nor_inexact_planes_lead_further():
    run = begun()
    run.inexact = True
    assert run.is_stuck()
    run = begun()
    run.model.rounding = run.gap
    assert run.is_stuck()
    run.at_zero = 0.0
    with pytest.raises(ValueError, match="cannot minimise the objective"):
        run.is_stuck()


@pytest.mark.parametrize(
    ("rounding", "told"),
    [(2e-4, "cannot minimise the objective"), (5e-5, "Either the objective is not c")],
)
def test_rounding_tells_large_features_from_what_is_not_convex(rounding, told):
    run = begun()
    run.model.bound = 1.01 * run.value
    run.model.rounding = rounding * run.value
    with pytest.raises(ValueError, match=told):
        run._check_convex()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_planes_are_as_exact_as_their_rise_lets_them_be(sign):
    # Far from 0, next to the minimum or where the loss is twice as high as at 0.
    far = 1e9 * sign
    run = _Run(Absolute(np.ones((1, 1)), np.array([1e9]), 1e-30), np.array([far - 1.0]))
    assert_allclose(run.model.constants, [1e9], rtol=1e-9)
    expected = np.finfo(np.float64).eps * (1e9 if sign > 0 else 2e9)
    assert_allclose(run.model.errors, [expected], rtol=1e-8)
