"""L-BFGS and the smoothing homotopy on objectives with known minima."""

import warnings

import numpy as np
import pytest
from _line import Line
from scipy.optimize import rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning

from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy
from skrank.exceptions import NotFiniteError, TrainingDataWarning
from skrank.losses import (
    HingeLoss,
    LogisticLoss,
    LogLoss,
    LVQ2Loss,
    PerceptronLoss,
    SquaredHingeLoss,
)
from skrank.rankers import EnergyRanker, LogisticRanker, RankCosine, RankSVM
from skrank.solvers import LBFGS, Adam, SmoothingHomotopy
from skrank.solvers._base import finite_value, finite_value_gradient


class Quadratic:
    """Ridge regression with its closed form."""

    def __init__(self, X, y, alpha):
        self.X, self.y, self.alpha = X, y, alpha

    def value_gradient(self, w):
        residual = self.X @ w - self.y
        n = len(self.y)
        value = 0.5 * residual @ residual / n + 0.5 * self.alpha * w @ w
        return value, self.X.T @ residual / n + self.alpha * w

    def coordinates(self):
        return LinearEnergy().coordinates(self.X, self.alpha)

    def minimum(self):
        n, d = self.X.shape
        gram = self.X.T @ self.X / n + self.alpha * np.eye(d)
        return np.linalg.solve(gram, self.X.T @ self.y / n)


@pytest.fixture
def ill_conditioned():
    rng = np.random.default_rng(0)
    mix = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    X = rng.normal(size=(400, 20)) @ (mix * np.logspace(0, -3, 20)) @ mix.T
    return Quadratic(X, rng.normal(size=400), 1e-9)


def test_reaches_the_closed_form(ill_conditioned):
    result = LBFGS(tol=1e-9).solve(ill_conditioned, np.zeros(20), None)
    best = ill_conditioned.value_gradient(ill_conditioned.minimum())[0]
    assert result.converged
    assert result.value - best < 1e-10
    assert len(result.history) == result.n_iter
    assert (np.diff(result.history) <= 0).all()


def test_whitening_saves_iterations(ill_conditioned):
    whitened = LBFGS(tol=1e-8).solve(ill_conditioned, np.zeros(20), None)
    plain = LBFGS(tol=1e-8, whiten=False, max_iter=5000).solve(
        ill_conditioned, np.zeros(20), None
    )
    assert whitened.n_iter * 3 < plain.n_iter


def test_too_few_iterations_warn():
    class Rosenbrock:
        def value_gradient(self, w):
            return rosen(w), rosen_der(w)

    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations"):
        result = LBFGS(max_iter=3).solve(Rosenbrock(), np.zeros(6), None)
    assert not result.converged


@pytest.mark.parametrize(
    ("ranker", "advice"),
    [
        (RankSVM(max_iter=1), r"; raise max_iter or alpha, or scale the features$"),
        (RankSVM(max_iter=1, alpha=0.0), r"; raise max_iter, or scale the features$"),
        # Whose alpha must be 0.
        (RankCosine("linear", max_iter=1), r"; raise max_iter, or scale the features$"),
        (LogisticRanker(max_iter=1), r"; raise max_iter or alpha, or scale"),
        (RankSVM(hinge="linear", max_iter=1), r"; raise max_iter or alpha, or scale"),
        (RankSVM(hinge="linear", max_iter=1, alpha=0.0), r"; raise max_iter, or scale"),
    ],
)
def test_advice_to_raise_a_penalty_only_where_there_is_one(ranker, advice):
    data = make_ranking(n_queries=10, random_state=0)
    with pytest.warns(ConvergenceWarning, match=advice):
        ranker.fit(*data)


@pytest.mark.parametrize(
    ("alpha", "advice"),
    [(0.1, "; scale the features or raise alpha$"), (0.0, "; scale the features$")],
)
def test_advice_where_an_objective_is_not_finite(alpha, advice):
    class Broken:
        def value_gradient(self, w):
            return np.nan, w

    broken = Broken()
    broken.alpha = alpha
    with pytest.raises(ValueError, match=advice):
        LBFGS().solve(broken, np.ones(2), None)


def test_monitor_stops(ill_conditioned):
    seen = []

    def monitor(params, n_iter, value):
        seen.append((n_iter, value, ill_conditioned.value_gradient(params)[0]))
        return n_iter == 2

    solver = LBFGS(whiten=False)
    result = solver.solve(ill_conditioned, np.zeros(20), None, monitor)
    assert result.n_iter == 2
    assert result.converged
    assert [n for n, _, _ in seen] == [1, 2]
    np.testing.assert_allclose([v for _, v, _ in seen], [v for _, _, v in seen])


def test_missing_capability_is_named():
    with pytest.raises(TypeError, match="LBFGS needs an objective with value_gradient"):
        LBFGS().solve(object(), np.zeros(2), None)


def test_non_finite_objective():
    class Broken:
        def value_gradient(self, w):
            return np.nan, w

    with pytest.raises(ValueError, match="became nan"):
        LBFGS().solve(Broken(), np.ones(2), None)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["value", "gradient", "loss"])
@pytest.mark.parametrize("remedy", [None, "lower learning_rate"])
def test_what_is_not_finite_is_told_with_its_remedy(part, bad, remedy):
    class Broken:
        def value_gradient(self, w):
            if part == "loss":
                raise NotFiniteError(f"the loss met {bad}")
            return (bad, w) if part == "value" else (1.0, np.array([0.0, bad]))

    told = {
        "value": f"the objective became {bad}",
        "gradient": "the objective has a gradient that is not finite",
        "loss": f"the loss met {bad}",
    }
    message = f"^{told[part]}; {remedy or 'scale the features'}$"
    with pytest.raises(NotFiniteError, match=message):
        finite_value_gradient(Broken(), np.ones(2), remedy)
    if part == "gradient":  # which is not asked for
        assert finite_value(Broken(), np.ones(2), remedy) == 1.0
    else:
        with pytest.raises(NotFiniteError, match=message):
            finite_value(Broken(), np.ones(2), remedy)


class Absolute:
    """|w - 3| + |w + 1|/2, smoothed by the pseudo-Huber function."""

    def __init__(self, width=0.0):
        self.width = width

    def smoothed(self, width):
        return Absolute(width)

    def value_gradient(self, w):
        value, slope = 0.0, np.zeros(1)
        for weight, centre in ((1.0, 3.0), (0.5, -1.0)):
            t = w - centre
            if self.width:
                root = np.sqrt(t**2 + (0.5 * self.width) ** 2)
                value += weight * float(root[0])
                slope += weight * t / root
            else:
                value += weight * abs(float(t[0]))
                slope += weight * np.sign(t)
        return value, slope


def test_homotopy_reaches_the_kink():
    result = SmoothingHomotopy(final_width=1e-4).solve(Absolute(), np.zeros(1), None)
    assert abs(result.params[0] - 3.0) < 1e-3
    np.testing.assert_allclose(result.value, 2.0, atol=1e-3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"final_width": 2.0}, "final_width must be at most width=1, got 2"),
        ({"final_width": 0.0}, "final_width must be a number > 0"),
        ({"factor": 1.0}, r"factor must be a number in \(0, 1\)"),
    ],
)
def test_homotopy_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        SmoothingHomotopy(**params).solve(Absolute(), np.zeros(1), None)


# Losses without a margin are 0 where all scores are equal, which they are at first.
NO_MARGIN = [HingeLoss(margin=0), PerceptronLoss(), LVQ2Loss()]


@pytest.fixture(scope="module")
def rows():
    return make_ranking(n_queries=20, random_state=0)


@pytest.mark.parametrize("loss", NO_MARGIN, ids=repr)
def test_a_kink_at_the_start_is_named_with_what_helps(loss, rows):
    ranker = EnergyRanker(LinearEnergy(), loss, solver="lbfgs")
    with pytest.warns(ConvergenceWarning, match="kink where it starts.* use a margin"):
        ranker.fit(*rows)
    assert not ranker.converged_
    assert not ranker.coef_.any()
    # Both pieces of advice help.
    advised = EnergyRanker(LinearEnergy(), loss, solver=Adam(), random_state=0)
    assert advised.fit(*rows).score(*rows) > 0.75
    wide = type(loss)(margin=1.0) if "margin" in loss.get_params() else HingeLoss()
    advised = EnergyRanker(LinearEnergy(), wide, solver=LBFGS(tol=1e-2))
    assert advised.fit(*rows).score(*rows) > 0.75


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        (HingeLoss(margin=0, width=0.1), LBFGS()),
        (HingeLoss(margin=0), SmoothingHomotopy()),
        (LVQ2Loss(), SmoothingHomotopy()),
    ],
    ids=repr,
)
def test_a_flat_start_is_named_with_what_helps(loss, solver, rows):
    ranker = EnergyRanker(LinearEnergy(), loss, solver=solver)
    with pytest.warns(ConvergenceWarning, match="gradient is 0 .* a margin above 0"):
        ranker.fit(*rows)
    assert not ranker.converged_
    assert not ranker.coef_.any()


def test_a_start_at_the_minimum_and_data_without_preferences_are_silent(rows):
    X, y, groups = rows
    ranker = EnergyRanker(loss=LogLoss(), warm_start=True)
    first = ranker.fit(X, y, groups).params_
    np.testing.assert_allclose(ranker.fit(X, y, groups).params_, first, atol=1e-4)
    assert ranker.converged_
    # Of such data the ranker warns; the solver has nothing to add.
    with pytest.warns(TrainingDataWarning, match="same grade") as caught:
        idle = EnergyRanker(loss=HingeLoss()).fit(X, np.ones_like(y), groups)
    assert len(caught) == 1
    assert not idle.coef_.any()


def test_a_late_kink_is_told_from_too_few_iterations():
    class Ridge:
        """A crease along the diagonal, which no step downhill can follow."""

        def value_gradient(self, w):
            crease = abs(w[0] - w[1])
            slope = np.sign(w[0] - w[1]) * np.array([10.0, -10.0])
            return 10.0 * crease + 0.5 * float(w @ w) + w.sum(), slope + w + 1.0

    # Which starts end at the crease depends on the version of SciPy.
    messages = []
    for start in 3 * np.random.RandomState(0).normal(size=(30, 2)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = LBFGS().solve(Ridge(), start, None)
        assert found.converged == (not caught)
        if found.converged:
            np.testing.assert_allclose(found.params, [-1.0, -1.0], atol=1e-4)
        messages += [str(each.message) for each in caught]
    assert messages
    assert all("kinks use SmoothingHomotopy" in message for message in messages)


@pytest.mark.parametrize("seed", [4, 6, 230, 381, 456, 467])
def test_long_line_searches_beside_a_hinge(seed):
    # Two to four documents of one query: with whitened features, the curvature on the
    # two sides of the hinge differs by orders of magnitude. SciPy's number of steps in
    # a line search is too small for these.
    rng = np.random.RandomState(seed)
    n, d = rng.randint(2, 5), rng.randint(1, 25)
    X = rng.randn(n, d) * 10.0 ** rng.uniform(-1, 1) + rng.randn(d) * rng.randint(0, 3)
    y = rng.randint(0, 3, n)
    y[:2] = 0, 1
    ranker = RankSVM(alpha=10.0 ** rng.randint(-6, 0)).fit(X, y, np.zeros(n))
    # Any two grades that differ are a pair; at the minimum its gradient is 0.
    better, worse = np.nonzero(y[:, None] > y)
    difference = X[better] - X[worse]
    lack = np.maximum(0.0, 1.0 - difference @ ranker.coef_)
    gradient = -2.0 * lack @ difference / len(lack) + ranker.alpha * ranker.coef_
    assert np.abs(gradient).max() <= 1e-5 * max(1.0, np.abs(difference).max())


# In the first query a feature prefers what it despises in the second, so that by the
# symmetry of every loss of pairs its best weight is 0.
CANCELLING = (np.array([[1.0], [-1.0], [-1.0], [1.0]]), [1, 0, 1, 0], [0, 0, 1, 1])


@pytest.mark.parametrize("loss", [LogLoss(), SquaredHingeLoss(), HingeLoss()], ids=repr)
@pytest.mark.parametrize("solver", [LBFGS(), LBFGS(whiten=False)], ids=repr)
def test_a_flat_start_of_a_convex_loss_is_its_minimum(loss, solver):
    # Any other warning would be an error.
    ranker = EnergyRanker(loss=loss, solver=solver, alpha=0.0)
    with pytest.warns(TrainingDataWarning, match="features say nothing of the order"):
        ranker.fit(*CANCELLING)
    assert ranker.converged_
    assert ranker.coef_.tolist() == [0.0]


def test_a_start_that_rounding_makes_a_minimum_has_no_kink():
    # The loss of the last fit is below what a step of double precision changes.
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    loss = LogisticLoss()
    ranker = EnergyRanker(loss=loss, alpha=0.0, solver=LBFGS(tol=0.0), warm_start=True)
    rows = (X, [0, 1, 0, 1], [0, 0, 1, 1])
    first = ranker.fit(*rows).params_
    values, gradient = loss.value_gradient(rows[1], X @ first, [0, 2, 4])
    assert 0.0 < values.sum() < 1e-12
    assert np.spacing(first[0]) > np.abs(X.T @ gradient).max() > 0.0
    assert ranker.fit(*rows).converged_


class Rounded:
    """A smooth convex function whose values are exact to a few units in the last place.

    The last places depend on the point, as those of long sums do.
    """

    convex = True

    def __init__(self, seed, height=1.0):
        rng = np.random.default_rng(seed)
        self.height = height
        self.A = rng.normal(size=(6, 6))
        self.b = rng.normal(size=6)

    def value_gradient(self, w):
        z = self.A @ w - self.b
        value = np.logaddexp(z, -z).sum() + self.height
        places = np.random.default_rng(w.view(np.uint64)).integers(-4, 5)
        return value + places * np.spacing(value), self.A.T @ np.tanh(z)


@pytest.mark.parametrize("seed", [57, 74, 85, 106, 137, 171, 208, 269, 281])
def test_rounding_that_ends_a_line_search_is_convergence(seed):
    """Beyond the digits of the objective no step lowers it, whatever tol asks for."""
    function = Rounded(seed)
    result = LBFGS(tol=1e-13).solve(function, np.zeros(6), None)
    assert result.converged
    assert np.abs(function.value_gradient(result.params)[1]).max() < 1e-6


@pytest.mark.parametrize("seed", range(30))
def test_rounding_of_large_values_is_convergence(seed):
    """A step lowers the value by the square of the slope, which must be above 1e-9."""
    function = Rounded(seed, height=1e6)
    result = LBFGS(tol=1e-13).solve(function, np.zeros(6), None)
    assert result.converged
    assert np.abs(function.value_gradient(result.params)[1]).max() < 1e-3


@pytest.mark.parametrize("seed", [24, 52, 107, 123, 130])
def test_rounding_of_large_values_beside_their_minimum_is_convergence(seed):
    """Where the slope at the start is too small to measure others by."""
    exact = LBFGS(tol=1e-9).solve(Rounded(seed), np.zeros(6), None).params
    function = Rounded(seed, height=1e6)
    assert LBFGS(tol=1e-13).solve(function, exact + 0.01, None).converged


@pytest.mark.parametrize("rise", [0.0, 1.0])
def test_a_slope_within_rounding_of_a_large_value_is_that_of_a_minimum(rise):
    """Wherever one goes, the value is the same, or higher."""
    flat = Line(lambda w: 1e6 + rise * abs(w), lambda w: 1e-3)
    assert LBFGS().solve(flat, np.zeros(1), None).converged


def test_steps_from_what_looks_like_a_minimum_may_still_be_too_few():
    flat = Line(lambda w: 1e3 + 1e-8 * (w - 3) ** 4, lambda w: 4e-8 * (w - 3) ** 3)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        result = LBFGS(max_iter=1, tol=0.0).solve(flat, np.zeros(1), None)
    assert not result.converged


def test_a_kink_at_the_start_is_tried_once():
    kink = Line(lambda w: 1.0 + abs(w), lambda w: 1.0)
    with pytest.warns(ConvergenceWarning, match="kink where it starts"):
        LBFGS().solve(kink, np.zeros(1), None)
    # The start, and then no more than one line search.
    assert kink.n_calls <= 22


@pytest.mark.parametrize("n_calls", [0, 1, 3])
@pytest.mark.parametrize("loss", [LogLoss(), HingeLoss()], ids=str)
def test_an_exhausted_iterator_of_a_callback_is_no_end(loss, n_calls):
    """SciPy takes what the iterator raises for the wish to stop."""
    calls = iter(range(n_calls + 1))
    ranker = EnergyRanker(LinearEnergy(), loss, callback=lambda _: next(calls) * 0)
    with pytest.raises(StopIteration):
        ranker.fit(*make_ranking(n_queries=12, random_state=1))
    assert not hasattr(ranker, "params_")
