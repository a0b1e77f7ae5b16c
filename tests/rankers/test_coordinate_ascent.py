import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.export import to_ranklib
from skrank.metrics import AP, NDCG, evaluate_measure
from skrank.rankers import CoordinateAscent


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_features=6, n_informative=4, random_state=1)


def measured(ranker, data, measure):
    X, y, groups = data
    return evaluate_measure(measure, y, ranker.predict(X), groups=groups)


@pytest.mark.parametrize("line_search", ["grid", "exact"])
def test_the_curve_is_the_measure_of_the_predictions_and_never_falls(data, line_search):
    ranker = CoordinateAscent(
        "map", n_restarts=1, line_search=line_search, tol=0.0, random_state=0
    ).fit(*data)
    assert (np.diff(ranker.loss_curve_) <= 0).all()
    assert_allclose(1 - ranker.loss_curve_[-1], measured(ranker, data, "map"))


def brute_force_pass(X, y, groups, order, steps):
    """One pass over the coordinates by ranking all documents for every step."""

    def mean(weights):
        return evaluate_measure("ndcg@10", y, X @ weights, groups=groups)

    weights = np.full(X.shape[1], 1 / X.shape[1])
    best = mean(weights)
    for j in order:
        candidates, size = [(0.0, best)], np.abs(weights).sum()
        for t in sorted(
            [*size * steps, *-size * steps, -weights[j]], key=lambda t: (abs(t), -t)
        ):
            moved = weights.copy()
            moved[j] += t
            candidates.append((t, mean(moved)))
        highest = max(value for _, value in candidates)
        step = next(t for t, value in candidates if value > highest - 1e-12)
        weights[j] += step
        best = highest
    return weights / np.abs(weights).sum()


def test_one_pass_is_that_of_brute_force():
    X, y, groups = make_ranking(
        n_queries=15, docs_per_query=8, n_features=4, n_informative=3, random_state=3
    )
    # Spreads between 1 and 2, so that weights are those of the features.
    means = np.add.reduceat(X, np.arange(0, len(X), 8)) / 8
    X = 1.5 * X / np.abs(X - np.repeat(means, 8, axis=0)).mean(axis=0)
    ranker = CoordinateAscent(n_restarts=1, max_iter=1, random_state=5).fit(
        X, y, groups
    )
    rng = np.random.RandomState(5)
    steps = 0.001 * (2.0 ** np.arange(1, 26) - 1)
    expected = brute_force_pass(X, y, groups, rng.permutation(4), steps)
    found = ranker.coef_ / np.abs(ranker.coef_).sum()
    assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(ranker.coef_).sum() == pytest.approx(1.0)


def test_exact_lines_reach_at_least_what_the_grid_reaches(data):
    options = {"n_restarts": 1, "max_iter": 1, "random_state": 0, "n_steps": 30}
    X, y, groups = data
    one = X[:, :1]
    both = np.column_stack([one, X[:, 1]])
    losses = {
        how: CoordinateAscent(line_search=how, **options)
        .fit(both, y, groups)
        .loss_curve_[0]
        for how in ("grid", "exact")
    }
    assert losses["exact"] <= losses["grid"] + 1e-12


def test_scaling_features_by_powers_of_two_changes_nothing(data):
    X, y, groups = data
    factors = 2.0 ** np.array([-100, -3, 0, 1, 60, 100])
    ranker = CoordinateAscent(n_restarts=1, random_state=0)
    plain = ranker.fit(X, y, groups).coef_
    scaled = ranker.fit(X * factors, y, groups).coef_
    assert_array_equal(scaled * factors, plain)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_extreme_features(data, size):
    X, y, groups = data
    ranker = CoordinateAscent(n_restarts=1, random_state=0).fit(X * size, y, groups)
    assert ranker.score(X * size, y, groups) > 0.8


def test_features_that_say_nothing_have_no_weight(data):
    X, y, groups = data
    X = np.column_stack([X, np.ones(len(y)), np.sin(groups)])
    ranker = CoordinateAscent(n_restarts=2, start="random", random_state=0)
    assert_array_equal(ranker.fit(X, y, groups).coef_[-2:], 0.0)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("line_search", ["grid", "exact"])
@pytest.mark.parametrize(
    ("y", "groups"),
    [
        ([0.0] * 6, [0, 0, 0, 1, 1, 1]),
        ([2.0] * 6, [0, 0, 0, 1, 1, 1]),
        ([0.0, 1, 2, 0, 1, 2], range(6)),
    ],
    ids=["no relevant document", "equal grades", "one document"],
)
def test_nothing_to_learn(line_search, y, groups):
    X = np.arange(12.0).reshape(6, 2) % 5
    ranker = CoordinateAscent(line_search=line_search, random_state=0)
    ranker.fit(X, np.array(y), np.array(groups))
    assert np.isfinite(ranker.coef_).all()
    assert ranker.n_iter_ == 1


def test_ties_cannot_be_exploited():
    # By row order, a weight of 0 would rank perfectly.
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    y = np.array([1.0, 0.0, 1.0, 0.0])
    ranker = CoordinateAscent("p@1", n_restarts=1, random_state=0)
    ranker.fit(X, y, [0, 0, 1, 1])
    assert ranker.coef_[0] < 0
    assert ranker.loss_curve_[-1] == 0


def test_sparse_rows_give_the_same_weights(data):
    X, y, groups = data
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = CoordinateAscent(n_restarts=1, random_state=0).fit(X, y, groups)
    rows = sparse.csr_matrix(X)
    thin = CoordinateAscent(n_restarts=1, random_state=0).fit(rows, y, groups)
    assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)


def test_more_starts_are_never_worse(data):
    losses = []
    for n in (1, 4):
        ranker = CoordinateAscent(n_restarts=n, start="random", random_state=0)
        ranker.fit(*data)
        losses.append(ranker.loss_curve_[-1])
    assert losses[1] <= losses[0]


def test_the_first_start_is_never_random(data):
    options = {"n_restarts": 1, "random_state": 0}
    expected = CoordinateAscent(**options).fit(*data).coef_
    ranker = CoordinateAscent(start="random", **options)
    assert_array_equal(ranker.fit(*data).coef_, expected)


@pytest.mark.parametrize("line_search", ["grid", "exact"])
def test_a_start_ends_without_a_tolerance_where_nothing_is_gained(data, line_search):
    ranker = CoordinateAscent(
        "map", n_restarts=1, line_search=line_search, tol=0.0, random_state=0
    ).fit(*data)
    gains = -np.diff(ranker.loss_curve_)
    assert 1 < ranker.n_iter_ < 100
    assert (gains[:-1] > 0).all()
    assert gains[-1] == 0


def test_steps_beyond_all_numbers_are_left_out(data):
    ranker = CoordinateAscent(n_restarts=1, step_factor=1e30, random_state=0)
    assert np.isfinite(ranker.fit(*data).coef_).all()


def test_validation_chooses_the_start(data):
    X, y, groups = data
    held = groups >= 30
    best, losses = [], []
    for n in range(1, 7):
        ranker = CoordinateAscent(
            "map", n_restarts=n, start="random", max_iter=1, random_state=0
        ).set_params(validation_measure="map")
        ranker.fit(
            *(part[~held] for part in data),
            X_val=X[held],
            y_val=y[held],
            groups_val=groups[held],
        )
        best.append(ranker.validation_curve_.max())
        losses.append(ranker.loss_curve_[-1])
    # The first starts are the same, and one more is taken only where it is better.
    assert (np.diff(best) >= 0).all()
    assert best[-1] > best[0]
    assert (np.diff(losses) > 0).any()


def test_validation_chooses_the_pass(data):
    X, y, groups = data
    held = groups >= 30
    ranker = CoordinateAscent(
        "map", validation_measure="map", n_iter_no_change=2, random_state=0
    )
    ranker.fit(
        X[~held],
        y[~held],
        groups[~held],
        X_val=X[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    assert ranker.best_iteration_ == np.argmax(ranker.validation_curve_) + 1
    value = evaluate_measure(
        "map", y[held], ranker.predict(X[held]), groups=groups[held]
    )
    assert_allclose(value, ranker.validation_curve_.max())


def test_query_weights_count():
    # Two queries that contradict each other.
    X, y = np.array([[0.0], [1.0]] * 2), np.array([1.0, 0.0, 0.0, 1.0])
    for weight, sign in (([2.0, 2.0, 1.0, 1.0], -1), ([1.0, 1.0, 2.0, 2.0], 1)):
        ranker = CoordinateAscent("map", n_restarts=1, random_state=0)
        ranker.fit(X, y, [0, 0, 1, 1], sample_weight=weight)
        assert np.sign(ranker.coef_[0]) == sign


def test_a_callback_ends_a_start(data):
    ranker = CoordinateAscent(tol=0.0, callback=lambda info: info["iteration"] == 1)
    assert ranker.fit(*data).n_iter_ == 1


def test_exports_as_a_linear_model(data):
    ranker = CoordinateAscent(n_restarts=1, random_state=0).fit(*data)
    assert to_ranklib(ranker).startswith("## Linear")


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("mse", "CoordinateAscent: measure must be a measure of rankings"),
        (NDCG(ties="stable"), "measure must be a measure whose ties is one of"),
        (AP(ties="best"), "measure must be a measure whose ties is one of"),
    ],
)
def test_measures_that_are_refused(data, measure, message):
    with pytest.raises(InvalidParameterError, match=message):
        CoordinateAscent(measure).fit(*data)


def test_exact_lines_need_terms(data):
    with pytest.raises(ValueError, match="line_search='exact' needs a measure with"):
        CoordinateAscent("bpref", line_search="exact").fit(*data)
