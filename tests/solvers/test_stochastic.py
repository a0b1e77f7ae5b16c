"""SGD and Adam on objectives whose minimum is known."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skrank.solvers._adam import Adam
from skrank.solvers._sgd import SGD


class Ridge:
    """Mean over queries of |x_q w - y_q|^2 / 2, plus alpha |w|^2 / 2."""

    def __init__(self, X, y, alpha=0.1, log=None):
        self.X = X
        self.y = y
        self.alpha = alpha
        self.log = log
        self.n_queries = len(y)

    def value_gradient(self, params):
        residual = self.X @ params - self.y
        n = len(self.y)
        value = 0.5 * residual @ residual / n + 0.5 * self.alpha * params @ params
        return value, self.X.T @ residual / n + self.alpha * params

    def batch(self, queries, rng):
        if self.log is not None:
            self.log.append(np.array(queries))
        return Ridge(self.X[queries], self.y[queries], self.alpha)

    def minimum(self):
        """Normal equations: (X'X / n + alpha I) w = X'y / n."""
        n, d = self.X.shape
        return np.linalg.solve(
            self.X.T @ self.X / n + self.alpha * np.eye(d), self.X.T @ self.y / n
        )


class Fixed:
    """An objective whose gradient is the same everywhere, or given step by step."""

    n_queries = 1

    def __init__(self, gradients, value=1.0):
        self.gradients = iter(gradients)
        self.value = value

    def batch(self, queries, rng):
        return self

    def value_gradient(self, params):
        # After the last step only the value is asked for.
        gradient = next(self.gradients, np.full(len(params), np.nan))
        return self.value, np.array(gradient, dtype=float)


@pytest.fixture
def ridge(rng):
    X = rng.normal(size=(100, 4))
    return Ridge(X, X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=100))


def solve(solver, objective, start=None, seed=0, monitor=None):
    start = np.zeros(4) if start is None else start
    return solver.solve(objective, start, np.random.RandomState(seed), monitor)


@pytest.mark.parametrize("schedule", ["inverse", "inverse_sqrt", "linear", "cosine"])
@pytest.mark.parametrize(
    "solver",
    [
        SGD(learning_rate=0.3, momentum=0.0),
        SGD(learning_rate=0.1, momentum=0.9, nesterov=False),
        SGD(learning_rate=0.1, momentum=0.9, nesterov=True),
        Adam(learning_rate=0.1),
    ],
    ids=["sgd", "momentum", "nesterov", "adam"],
)
def test_mini_batches_approach_the_closed_form(ridge, solver, schedule):
    solver.set_params(schedule=schedule, max_iter=300, tol=None, batch_queries=20)
    result = solve(solver, ridge)
    assert_allclose(result.params, ridge.minimum(), atol=0.03)
    assert result.n_iter == len(result.history) == 300
    best = ridge.value_gradient(ridge.minimum())[0]
    assert_allclose(result.value, best, rtol=0.02)


@pytest.mark.parametrize(
    "solver",
    [
        SGD(learning_rate=0.3, momentum=0.0),
        SGD(learning_rate=0.1),
        Adam(learning_rate=0.05, schedule="linear"),
    ],
    ids=["sgd", "nesterov", "adam"],
)
def test_full_batches_reach_the_closed_form(ridge, solver):
    solver.set_params(batch_queries=100, max_iter=800, tol=None)
    assert_allclose(solve(solver, ridge).params, ridge.minimum(), atol=1e-5)


class Sums(Ridge):
    """`Ridge` divided by the number of rows a batch has on average, four a query."""

    total_weight = 4.0


def test_a_rate_per_unit_multiplies_the_sum_over_the_units(ridge):
    ridge = Sums(ridge.X, ridge.y)
    ridge.batch = lambda queries, rng: Sums(ridge.X[queries], ridge.y[queries])
    rule = {"momentum": 0.0, "max_iter": 3, "batch_queries": 1}
    summed = solve(SGD(learning_rate=0.01, per_unit=True, **rule), ridge)
    mean = solve(SGD(learning_rate=0.04, **rule), ridge)
    assert_allclose(summed.params, mean.params, rtol=1e-14)
    with pytest.raises(TypeError, match="an objective with total_weight"):
        solve(SGD(per_unit=True), Fixed([[1.0]]))


def adam_by_hand(gradients, rate, beta_1, beta_2, epsilon):
    """Algorithm 1 of Kingma & Ba, one number at a time."""
    w = m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)
        w -= rate * m_hat / (math.sqrt(v_hat) + epsilon)
    return w


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_adam_follows_algorithm_1(rng, n_steps):
    gradients = rng.normal(size=(n_steps, 3))
    rule = {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3}
    solver = Adam(max_iter=n_steps, tol=None, **rule)
    result = solve(solver, Fixed(gradients), start=np.zeros(3))
    expected = [adam_by_hand(column, *rule.values()) for column in gradients.T]
    assert_allclose(result.params, expected, rtol=1e-13)


def test_first_step_of_adam_is_the_learning_rate():
    # m̂ = g and v̂ = g², so the step is the sign of the gradient.
    result = solve(
        Adam(learning_rate=0.1, max_iter=1, tol=None),
        Fixed([[3.0, -200.0]]),
        start=np.zeros(2),
    )
    assert_allclose(result.params, [-0.1, 0.1], rtol=1e-8)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_follows_its_recursion(nesterov):
    # Rate 0.5, momentum 0.5, gradients 2, 4, 0:
    #   velocity: -1, -0.5 - 2 = -2.5, -1.25
    #   plain sum of velocities: -4.75
    #   Nesterov adds 0.5 velocity - 0.5 gradient: -1.5, -3.25, -0.625
    solver = SGD(
        learning_rate=0.5, momentum=0.5, nesterov=nesterov, max_iter=3, tol=None
    )
    result = solve(solver, Fixed([[2.0], [4.0], [0.0]]), start=np.zeros(1))
    assert_allclose(result.params, [-5.375 if nesterov else -4.75])


@pytest.mark.parametrize(
    ("schedule", "total"),
    # Constant gradient 1: the parameter is minus the sum of the factors.
    [
        ("constant", 4.0),
        ("inverse", 1 + 1 / 2 + 1 / 3 + 1 / 4),
        ("inverse_sqrt", 1 + 2**-0.5 + 3**-0.5 + 4**-0.5),
        ("linear", 1 + 3 / 4 + 2 / 4 + 1 / 4),
        ("cosine", 1 + (1 + 2**-0.5) / 2 + 1 / 2 + (1 - 2**-0.5) / 2),
        (lambda t: float(t == 2), 1.0),
    ],
)
def test_schedules(schedule, total):
    solver = SGD(
        learning_rate=1.0, momentum=0.0, schedule=schedule, max_iter=4, tol=None
    )
    result = solve(solver, Fixed([[1.0]] * 4), start=np.zeros(1))
    assert_allclose(result.params, [-total])


def test_clipping_shortens_long_gradients_only():
    # (3, 4) has norm 5 and becomes (0.6, 0.8); (0.3, 0.4) stays.
    solver = SGD(learning_rate=1.0, momentum=0.0, clip_norm=1.0, max_iter=2, tol=None)
    result = solve(solver, Fixed([[3.0, 4.0], [0.3, 0.4]]), start=np.zeros(2))
    assert_allclose(result.params, [-0.9, -1.2])


def test_average_of_parameters():
    # Parameters -1, -2, -3; weights 1/4, 1/2, 1 of decay 1/2 over their sum 7/4.
    solver = SGD(learning_rate=1.0, momentum=0.0, average=0.5, max_iter=3, tol=None)
    seen = []
    result = solve(
        solver,
        Fixed([[1.0]] * 3),
        start=np.zeros(1),
        monitor=lambda params, n_iter, value: seen.append(params[0]),
    )
    assert_allclose(result.params, [-(1 / 4 + 2 / 2 + 3) / (7 / 4)])
    assert_allclose(seen, [-1, -(1 / 2 + 2) / (3 / 2), result.params[0]])


@pytest.mark.parametrize(("n", "batch"), [(10, 4), (10, 3), (5, 50), (1, 1), (7, 7)])
def test_every_epoch_visits_each_query_once(rng, n, batch):
    log = []
    objective = Ridge(rng.normal(size=(n, 4)), rng.normal(size=n), log=log)
    solve(SGD(batch_queries=batch, max_iter=2, tol=None, learning_rate=0.01), objective)
    n_batches = math.ceil(n / batch)
    assert len(log) == 2 * n_batches
    for epoch in (log[:n_batches], log[n_batches:]):
        assert_array_equal(np.sort(np.concatenate(epoch)), np.arange(n))
        sizes = [len(queries) for queries in epoch]
        assert max(sizes) <= batch
        assert max(sizes) - min(sizes) <= 1


def test_history_is_the_mean_over_queries(rng):
    # With steps too small to matter, batches of different sizes (4, 3, 3) must add up
    # to the objective over all queries.
    objective = Ridge(rng.normal(size=(10, 4)), rng.normal(size=10))
    start = rng.normal(size=4)
    solver = SGD(learning_rate=1e-12, batch_queries=4, max_iter=1, tol=None)
    result = solve(solver, objective, start)
    assert_allclose(result.history, [objective.value_gradient(start)[0]], rtol=1e-9)
    assert_allclose(result.value, objective.value_gradient(start)[0], rtol=1e-9)


@pytest.mark.parametrize("solver", [SGD(max_iter=1), Adam(max_iter=1, average=0.9)])
def test_the_value_is_the_objective_at_the_end_of_the_way(ridge, solver):
    # The history is a mean over an epoch, in which these solvers go a long way.
    result = solve(solver.set_params(learning_rate=0.1), ridge)
    assert result.value == ridge.value_gradient(result.params)[0]
    assert result.value < 0.9 * result.history[-1]


def test_the_lowest_value_is_that_of_the_best_restart(ridge):
    results = [
        solve(SGD(max_iter=1), ridge, start=5 * np.random.default_rng(i).normal(size=4))
        for i in range(20)
    ]
    objectives = [ridge.value_gradient(result.params)[0] for result in results]
    assert np.argmin([result.value for result in results]) == np.argmin(objectives)


@pytest.mark.parametrize("solver", [SGD(), Adam()], ids=["sgd", "adam"])
@pytest.mark.parametrize("make_rng", [np.random.RandomState, np.random.default_rng])
def test_same_seed_same_bits(ridge, solver, make_rng):
    solver.set_params(max_iter=5, tol=None)
    start = np.zeros(4)
    one, two, other = (
        solver.solve(ridge, start, make_rng(seed)).params for seed in (1, 1, 2)
    )
    assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert_array_equal(start, 0)  # the start is left unchanged


def test_monitor_is_called_once_per_epoch_and_stops(ridge):
    calls = []

    def monitor(params, n_iter, value):
        calls.append((params, n_iter, value))
        return n_iter == 3

    result = solve(Adam(max_iter=50), ridge, monitor=monitor)
    assert [n_iter for _, n_iter, _ in calls] == [1, 2, 3]
    assert [value for _, _, value in calls] == result.history
    assert result.converged
    assert result.n_iter == 3
    # Each call got parameters of its own, the last ones those returned.
    assert not np.array_equal(calls[0][0], calls[2][0])
    assert_array_equal(calls[2][0], result.params)


def test_plateau_ends_training():
    # The value never falls: epoch 1 sets the best, then 3 epochs of waiting.
    solver = SGD(n_iter_no_change=3, max_iter=50, tol=1e-3)
    result = solve(solver, Fixed([[0.0]] * 50), start=np.zeros(1))
    assert result.converged
    assert result.n_iter == 4


def test_epochs_without_plateau_warn_only_if_tol_is_set(ridge):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 while"):
        result = solve(Adam(max_iter=2, tol=1e-3), ridge)
    assert not result.converged
    assert not solve(Adam(max_iter=2, tol=None), ridge).converged


def test_divergence_names_the_learning_rate(ridge):
    solver = SGD(learning_rate=1e3, max_iter=500, tol=None)
    with pytest.raises(ValueError, match=r"SGD diverged in epoch .* smaller than 1000"):
        solve(solver, ridge)
    with pytest.raises(ValueError, match="diverged in epoch 1"):
        solve(Adam(), Fixed([[0.0]], value=np.nan), start=np.zeros(1))
    with pytest.raises(ValueError, match="diverged in epoch 1"):
        solve(Adam(), Fixed([[np.nan]]), start=np.zeros(1))


def test_objective_without_batches_is_refused():
    with pytest.raises(TypeError, match="Adam needs an objective with value_gradient"):
        solve(Adam(), object())


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (SGD(learning_rate=0), "learning_rate must be a number > 0, got 0"),
        (SGD(learning_rate=np.nan), "learning_rate must be a number > 0, got nan"),
        (SGD(momentum=1.0), r"momentum must be a number in \[0, 1\), got 1.0"),
        (SGD(batch_queries=0), "batch_queries must be a whole number >= 1 or None"),
        (SGD(max_iter=2.5), "max_iter must be a whole number >= 1, got 2.5"),
        (SGD(n_iter_no_change=True), "n_iter_no_change must be a whole number >= 1"),
        (SGD(tol=-1e-3), "tol must be a number >= 0 or None, got -0.001"),
        (SGD(schedule="step"), "schedule must be 'constant', .* or a function"),
        (SGD(clip_norm=0.0), "clip_norm must be a number > 0 or None"),
        (SGD(average=1.0), "average must"),
        (Adam(beta_1=-0.1), "beta_1 must"),
        (Adam(beta_2=1), "beta_2 must"),
        (Adam(epsilon=0), "epsilon must"),
        (Adam(learning_rate="a"), "learning_rate must be .* got 'a'"),
    ],
)
def test_bad_hyper_parameters(ridge, solver, message):
    with pytest.raises(ValueError, match=message):
        solve(solver, ridge)


@pytest.mark.parametrize("solver", [SGD(max_iter=50), Adam(max_iter=50, tol=1e-9)])
def test_nothing_to_learn_takes_one_epoch(solver):
    objective = Fixed([[0.0, 0.0]], value=0.0)
    objective.total_weight = 0.0
    result = solver.solve(objective, np.ones(2), np.random.RandomState(0))
    assert result.n_iter == 1
    assert result.converged
    assert_array_equal(result.params, [1.0, 1.0])
