"""The exact mean of a measure: its values, its values on a grid, and its best step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank._rows import GroupedRows
from skrank.metrics import get_measure
from skrank.rankers._exact_measure import ExactMeasure

COMPILED = ["ndcg@3", "ndcg", "dcg@4", "map", "map@3", "mrr", "err", "p@2", "rbp"]
OTHERS = ["meanndcg", "bpref", "map(ties=threshold)", "ndcg@3(ties=worst)"]
STEPS = np.array([-40.0, -3.0, -1.0, -0.5, -0.01, 0.0, 0.01, 0.3, 0.5, 2.0, 1e4])


def measure_of(name):
    if name == "ndcg@3(ties=worst)":
        return get_measure("ndcg(ties=worst)@3")
    return get_measure(name)


def problem(seed, sizes=(1, 2, 5, 9, 17, 30), n_values=4):
    """Rows, scores and a direction with many equal values."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    y = rng.integers(0, 5, n).astype(float)
    y[:1] = 0.0
    ptr = np.append(0, np.cumsum(sizes)).astype(np.intp)
    y[ptr[1] : ptr[2]] = 2.0  # equal grades
    y[ptr[2] : ptr[3]] = 0.0  # no relevant document
    scores = rng.integers(0, n_values, n) / 4.0
    direction = rng.integers(0, n_values, n) / 2.0
    weight = np.repeat(rng.uniform(0.5, 2.0, len(sizes)), sizes)
    rows = GroupedRows(direction[:, None], y, ptr, sample_weight=weight)
    return rows, scores, direction


def expected_mean(measure, rows, scores):
    values = measure.per_query(rows.y, scores, rows.ptr)
    known = ~np.isnan(values)
    weight = rows.sample_weight[rows.ptr[:-1]]
    return np.average(values[known], weights=weight[known])


@pytest.mark.parametrize("name", COMPILED + OTHERS)
def test_is_the_mean_of_the_measure(name):
    measure = measure_of(name)
    rows, scores, _ = problem(0)
    exact = ExactMeasure(measure, rows, 1)
    expected = measure.per_query(rows.y, scores, rows.ptr)
    assert_allclose(exact.values(scores), np.nan_to_num(expected), atol=1e-15)
    assert_allclose(exact.mean(scores), expected_mean(measure, rows, scores))


@pytest.mark.parametrize("n_values", [2, 4, 1000])
@pytest.mark.parametrize("name", COMPILED + OTHERS)
def test_the_grid_ranks_every_step_anew(name, n_values):
    measure = measure_of(name)
    # More documents than ranks are counted for, too.
    rows, scores, direction = problem(1, (3, 8, 12, 20, 60), n_values)
    exact = ExactMeasure(measure, rows, 1)
    found = exact.on_grid(scores, direction, exact.order(scores), STEPS)
    expected = [expected_mean(measure, rows, scores + t * direction) for t in STEPS]
    assert_allclose(found, expected, rtol=1e-12)


def places_of_change(rows, scores, direction):
    """All steps at which two documents of a query change places."""
    found = []
    for a, b in zip(rows.ptr[:-1], rows.ptr[1:]):
        s, x = scores[a:b], direction[a:b]
        i, j = np.triu_indices(b - a, 1)
        differ = x[i] != x[j]
        found.append((s[i] - s[j])[differ] / (x[j] - x[i])[differ])
    return np.unique(np.concatenate(found))


@pytest.mark.parametrize("n_values", [2, 5, 1000])
@pytest.mark.parametrize("name", COMPILED)
def test_the_exact_search_finds_the_best_of_all_steps(name, n_values):
    measure = measure_of(name)
    for seed in range(5):
        rows, scores, direction = problem(seed, (1, 4, 6, 7, 9, 15), n_values)
        exact = ExactMeasure(measure, rows, 1)
        places = places_of_change(rows, scores, direction)
        # Between two places at which documents change nothing changes.
        angles = np.arctan(np.concatenate([[-np.inf], places, [np.inf]]))
        wide = np.diff(angles) > 1e-9
        between = np.tan(0.5 * (angles[1:] + angles[:-1]))[wide]
        brute = [expected_mean(measure, rows, scores + t * direction) for t in between]
        mean, step = exact.best_on_line(scores, direction)
        assert_allclose(mean, max(brute), rtol=1e-10)
        at_step = expected_mean(measure, rows, scores + step * direction)
        assert_allclose(at_step, mean, rtol=1e-10)
        grid = exact.on_grid(scores, direction, exact.order(scores), STEPS)
        hits = np.isin(STEPS, places)  # on a place itself, scores are equal
        assert grid[~hits].max() <= mean + 1e-12


def test_the_exact_search_goes_through_a_long_query_in_slices():
    # More than two million pairs; half of the documents share their directions.
    rows, scores, direction = problem(4, (1, 2, 3, 2200), 1000)
    direction[::2] = np.round(direction[::2], -1)
    exact = ExactMeasure(get_measure("map"), rows, 1)
    mean, step = exact.best_on_line(scores, direction)
    assert_allclose(exact.mean(scores + step * direction), mean, rtol=1e-10)
    steps = np.tan(np.linspace(-1.57, 1.57, 501))
    grid = exact.on_grid(scores, direction, exact.order(scores), steps)
    assert grid.max() <= mean + 1e-12
    assert_allclose(grid.max(), mean, rtol=0.01)


@pytest.mark.parametrize("name", ["ndcg@3", "map", "err"])
def test_threads_do_not_change_a_bit(name):
    rows, scores, direction = problem(3, (7,) * 200)
    results = []
    for n_threads in (1, 2, 5):
        exact = ExactMeasure(get_measure(name), rows, n_threads)
        grid = exact.on_grid(scores, direction, exact.order(scores), STEPS)
        results.append((grid, exact.best_on_line(scores, direction)))
    for grid, best in results[1:]:
        assert_array_equal(grid, results[0][0])
        assert best == results[0][1]


def test_documents_that_never_part_count_with_their_mean():
    rows = GroupedRows(np.zeros((3, 1)), np.array([1.0, 0.0, 0.0]), np.array([0, 3]))
    exact = ExactMeasure(get_measure("p@1"), rows, 1)
    same = np.array([1.0, 1.0, 0.0])
    # Whatever the step, two documents stay equal: one half is the best there is.
    assert exact.best_on_line(same, same)[0] == pytest.approx(0.5)
    assert exact.mean(np.zeros(3)) == pytest.approx(1 / 3)


def test_queries_without_information_leave_nothing_to_gain():
    rows = GroupedRows(np.zeros((4, 1)), np.zeros(4), np.array([0, 4]))
    exact = ExactMeasure(get_measure("map"), rows, 1)
    scores = np.arange(4.0)
    assert exact.mean(scores) == 0.0
    assert_array_equal(exact.on_grid(scores, scores, exact.order(scores), STEPS), 0.0)


def test_extreme_scores():
    rows, scores, direction = problem(2, (6, 9, 12), 1000)
    exact = ExactMeasure(get_measure("ndcg"), rows, 1)
    expected = exact.best_on_line(scores, direction)
    for size in (1e-30, 1e30):
        mean, step = exact.best_on_line(size * scores, size * direction)
        assert_allclose([mean, step], expected, rtol=1e-9)
        assert exact.mean(size * scores) == exact.mean(scores)


def test_nobody_is_lost_below_a_thousand_documents():
    """So few users get past them all that a double has no number for their share."""
    n = 1500
    y = np.append([0.0, 0.0], np.full(n, 3.0))
    direction = -np.arange(n + 2.0)
    ptr, weight = np.array([0, n + 2]), np.ones(n + 2)
    rows = GroupedRows(direction[:, None], y, ptr, sample_weight=weight)
    measure = get_measure("err")
    exact = ExactMeasure(measure, rows, 1)
    scores = np.zeros(n + 2)
    mean, step = exact.best_on_line(scores, direction)
    ends = [expected_mean(measure, rows, t * direction) for t in (-1.0, 1.0)]
    assert mean == pytest.approx(max(ends), rel=1e-12)
    assert expected_mean(measure, rows, step * direction) == pytest.approx(mean)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_of_equal_values_the_widest_part_of_the_line_is_taken(side, seed):
    # Each query ranks a relevant document first up to a step above 1, and another one
    # beyond a step below 9; sums of these changes differ by their rounding only.
    rng = np.random.default_rng(seed)
    n = 40
    change = rng.uniform(0.0, 3.0, size=(2, n)) + [[1.0], [0.0]]
    scores = np.column_stack([change[0], change[1] - 9.0, np.zeros(n)]).ravel()
    direction = side * np.tile([-1.0, 1.0, 0.0], n)
    y, ptr = np.tile([1.0, 1.0, 0.0], n), 3 * np.arange(n + 1)
    weight = np.repeat(rng.uniform(0.1, 1.0, size=n), 3)
    rows = GroupedRows(direction[:, None], y, ptr, sample_weight=weight)
    mean, step = ExactMeasure(get_measure("p@1"), rows, 1).best_on_line(
        scores, direction
    )
    assert mean == pytest.approx(1.0, abs=1e-12)
    assert side * step < change[0].min()


def test_the_grid_forgets_a_tie_that_has_passed():
    # At one step the first document reaches the second, and is sorted before it.
    scores = np.append([0.0, 0.5], -np.arange(1.0, 59.0))
    direction = np.append(1.0, np.zeros(59))
    rows = GroupedRows(direction[:, None], direction, np.array([0, 60]))
    exact = ExactMeasure(get_measure("mrr"), rows, 1)
    found = exact.on_grid(scores, direction, exact.order(scores), STEPS[STEPS >= 0.0])
    assert found.tolist() == [0.5, 0.5, 0.5, 0.75, 1.0, 1.0]
