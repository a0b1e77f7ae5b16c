"""Networks over preference edges: kernels, special cases and properties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank._core import _list_losses, _segments
from skrank.losses import CDNLoss, ListMLELoss, LogLoss


def log_terms(u, v):
    """log(1 + e^u + e^v) for all u (rows) and v (columns), and shares of e^u, e^v."""
    u, v = np.broadcast_arrays(u[:, None], v)
    top = np.maximum(0.0, np.maximum(u, v))
    parts = np.exp(-top), np.exp(u - top), np.exp(v - top)
    total = sum(parts)
    return top + np.log(total), parts[1] / total, parts[2] / total


def reference(first, second, y, weight=None):
    """The double sum over edges, written out, and its gradients."""
    i, j = np.nonzero(y[:, None] > y)
    n = len(y)
    if len(i) == 0:
        return 0.0, np.zeros(n), np.zeros(n)
    w = np.ones(n)[i] if weight is None else weight[i]
    terms, p, q = log_terms(first[j] - first[i], second[j] - second[i])
    both = np.outer(w, w) / w.sum()
    pull, second_pull = (both * p).sum(axis=1), (both * q).sum(axis=0)
    gradients = [
        np.bincount(j, part, n) - np.bincount(i, part, n)
        for part in (pull, second_pull)
    ]
    return (both * terms).sum(), *gradients


def edge_pairs(first, second, y, weight=None, direct=False):
    ptr = np.array([0, len(y)])
    order, lower = _segments.label_order(y, ptr, 1)
    values, *gradients = _list_losses.edge_pairs(
        first, second, ptr, order, lower, weight, direct, 1
    )
    return values[0], *gradients


# Narrow and wide ranges on either side: factorised sums, series, sorted windows.
SCALES = [(1, 1), (1e-9, 2), (6, 6), (1, 40), (40, 1), (300, 300), (1e30, 1e29), (0, 0)]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_grades", [2, 3, 40])
@pytest.mark.parametrize("scales", SCALES)
def test_full_kernel_equals_the_double_sum(rng, scales, n_grades, weighted, direct):
    for m in (2, 7, 40):
        y = rng.integers(0, n_grades, m).astype(float)
        first, second = (s * rng.normal(size=m) for s in scales)
        weight = rng.uniform(0.2, 2.0, m) if weighted else None
        expected = reference(first, second, y, weight)
        found = edge_pairs(first, second, y, weight, direct)
        for a, b in zip(found, expected):
            assert_allclose(a, b, rtol=1e-11, atol=1e-12 * (1 + np.abs(b).max()))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 6.0, 100.0])
def test_one_column_serves_both_edges(rng, scale):
    y = rng.integers(0, 3, 60).astype(float)
    x = scale * rng.normal(size=60)
    value, first, second = edge_pairs(x, x, y)
    alone, gradient, nothing = edge_pairs(x, None, y)
    assert nothing is None
    assert_allclose(alone, value, rtol=1e-12)
    assert_allclose(gradient, first + second, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scale", [0.5, 5.0, 20.0, 200.0])
def test_interpolation_equals_the_direct_sum_over_many_edges(rng, scale):
    y = rng.integers(0, 4, 120).astype(float)
    first, second = scale * rng.normal(size=(2, 120))
    fast = edge_pairs(first, second, y)
    direct = edge_pairs(first, second, y, direct=True)
    assert_allclose(fast[0], direct[0], rtol=1e-13)
    for a, b in zip(fast[1:], direct[1:]):
        assert_allclose(a, b, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 30.0, 1e30])
@pytest.mark.parametrize("weighted", [False, True])
def test_star_equals_its_sigmoids_one_by_one(rng, weighted, scale):
    y = rng.integers(0, 4, 30).astype(float)
    x = scale * rng.normal(size=30)
    weight = rng.uniform(0.2, 2.0, 30) if weighted else np.ones(30)
    value, gradient = 0.0, np.zeros(30)
    for i in range(30):
        below = np.flatnonzero(y < y[i])
        if len(below):
            gaps = np.append(0.0, x[below] - x[i])
            top = gaps.max()
            log_sum = top + np.log(np.exp(gaps - top).sum())
            p = weight[i] * np.exp(gaps - log_sum)[1:]
            value += weight[i] * log_sum
            gradient[below] += p
            gradient[i] -= p.sum()
    found = CDNLoss("star").value_gradient(y, x, [0, 30], weight)
    assert_allclose(found[0], [value], rtol=1e-12)
    assert_allclose(found[1], gradient, rtol=1e-10, atol=1e-12)


def test_infinite_differences_are_reported_as_nan():
    value, *_ = edge_pairs(np.array([1e308, -1e308]), None, np.array([0.0, 1.0]))
    assert np.isnan(value)


def two_queries(rng, distinct=False):
    ptr = np.array([0, 9, 10, 30])
    y = rng.integers(0, 3, 30).astype(float)
    if distinct:
        y = np.concatenate([rng.permutation(n) for n in np.diff(ptr)]).astype(float)
    return y, rng.normal(size=30), ptr


@pytest.mark.parametrize("weighted", [False, True])
def test_disconnected_is_ranknet(rng, weighted):
    y, scores, ptr = two_queries(rng)
    weight = rng.uniform(0.2, 2.0, 30) if weighted else None
    ours = CDNLoss("disconnected").prepare(y, ptr, weight)
    theirs = LogLoss().prepare(y, ptr, weight)
    for a, b in zip(ours.value_gradient(scores), theirs.value_gradient(scores)):
        assert_array_equal(a, b)
    assert_allclose(ours.total_weight, theirs.total_weight, rtol=1e-14)


def test_star_is_listmle_where_all_grades_differ(rng):
    y, scores, ptr = two_queries(rng, distinct=True)
    ours = CDNLoss("star").value_gradient(y, scores, ptr)
    theirs = ListMLELoss().value_gradient(y, scores, ptr)
    assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert_allclose(ours[1], theirs[1], rtol=1e-11, atol=1e-13)


def test_full_is_ranknet_once_the_other_edges_are_certain(rng):
    # e^(-w_2 r) -> 0 leaves log(1 + e^(-w_1 r)) of each edge.
    y, scores, ptr = two_queries(rng)
    raw = np.stack([scores, 1000.0 * y], axis=1)
    values, gradient = CDNLoss().value_gradient(y, raw, ptr)
    expected = LogLoss().value_gradient(y, scores, ptr)
    assert_allclose(values, expected[0], rtol=1e-12)
    assert_allclose(gradient[:, 0], expected[1], rtol=1e-10, atol=1e-12)
    assert_allclose(gradient[:, 1], 0.0, atol=1e-12)


@pytest.mark.parametrize("topology", ["full", "disconnected", "star", "random"])
@pytest.mark.parametrize("average", ["edge", "query"])
def test_gradient_of_two_columns(rng, topology, average):
    y, _, ptr = two_queries(rng)
    weight = rng.uniform(0.2, 2.0, 30)
    loss = CDNLoss(topology, average, n_edge_pairs=20, random_state=0)
    prepared = loss.prepare(y, ptr, weight)
    raw = rng.normal(size=(30, 2))
    _, gradient = prepared.value_gradient(raw)
    assert gradient.shape == (30, 2)
    for column in range(2):
        for i in (0, 4, 9, 20):
            step = np.zeros((30, 2))
            step[i, column] = 1e-5
            up = prepared.value_gradient(raw + step)[0].sum()
            down = prepared.value_gradient(raw - step)[0].sum()
            assert_allclose(gradient[i, column], (up - down) / 2e-5, atol=1e-6)
    if topology in ("disconnected", "star"):
        assert_array_equal(gradient[:, 1], 0.0)
    # Every query counts once under its mean weight; one has a single document.
    if average == "query":
        sizes = np.array([weight[:9].mean(), 0.0, weight[10:].mean()])
        assert_allclose(prepared.total_weight, sizes.sum())


@pytest.mark.parametrize("topology", ["full", "disconnected", "random"])
def test_equal_scores_cost_the_logarithm_of_the_outcomes(rng, topology):
    # Each factor is 1/3 (1/2 for one edge alone), whatever the query.
    y, scores, ptr = two_queries(rng)
    for average in ("edge", "query"):
        prepared = CDNLoss(topology, average).prepare(y, ptr)
        mean = prepared.value_gradient(0.0 * scores)[0].sum() / prepared.total_weight
        assert_allclose(mean, np.log(2 if topology == "disconnected" else 3))


@pytest.mark.parametrize("topology", ["full", "disconnected", "star", "random"])
def test_distribution_function(rng, topology):
    """F lies in [0, 1] and grows with every difference of scores."""
    y, scores, ptr = two_queries(rng)
    prepared = CDNLoss(topology, random_state=0).prepare(y, ptr)
    values, gradient = prepared.value_gradient(np.stack([scores, scores], axis=1))
    assert np.all(values >= 0.0)  # -log F
    best = [np.flatnonzero(y[a:b] == y[a:b].max()) + a for a, b in ((0, 9), (10, 30))]
    worst = [np.flatnonzero(y[a:b] == y[a:b].min()) + a for a, b in ((0, 9), (10, 30))]
    assert np.all(gradient[np.concatenate(best)] <= 0.0)
    assert np.all(gradient[np.concatenate(worst)] >= 0.0)
    wider = prepared.value_gradient(scores + 0.5 * y)[0]
    assert np.all(wider <= prepared.value_gradient(scores)[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_random_networks_are_unbiased(rng, weighted):
    y, scores, ptr = two_queries(rng)
    raw = np.stack([scores, rng.normal(size=30)], axis=1)
    weight = rng.uniform(0.2, 2.0, 30) if weighted else None
    values, gradient = CDNLoss().value_gradient(y, raw, ptr, weight)
    loss = CDNLoss("random", n_edge_pairs=10, n_networks=1)
    state = np.random.RandomState(0)
    draws = [
        loss.set_params(random_state=state).value_gradient(y, raw, ptr, weight)
        for _ in range(2000)
    ]
    for place, expected in enumerate((values, gradient)):
        sample = np.array([draw[place] for draw in draws])
        error = sample.std(axis=0) / np.sqrt(len(sample)) + 1e-12
        assert np.all(np.abs(sample.mean(axis=0) - expected) < 5 * error)


def test_random_networks_are_fresh_only_with_a_state(rng):
    y, scores, ptr = two_queries(rng)
    fixed = CDNLoss("random", n_edge_pairs=10, random_state=3)
    fresh = CDNLoss("random", n_edge_pairs=10, random_state=np.random.RandomState(3))
    a, b = (fixed.value_gradient(y, scores, ptr)[0] for _ in range(2))
    c, d = (fresh.value_gradient(y, scores, ptr)[0] for _ in range(2))
    assert_array_equal(a, b)
    assert_array_equal(a, c)
    assert not np.array_equal(c, d)
    prepared = fresh.prepare(y, ptr)
    assert prepared.draws_anew
    assert not fixed.prepare(y, ptr).draws_anew


@pytest.mark.parametrize("topology", ["full", "random", "star"])
@pytest.mark.parametrize("columns", [1, 2])
def test_same_bits_for_any_number_of_threads(topology, columns):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 120, 80)
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    raw = rng.normal(size=(len(y), columns)).squeeze()
    loss = CDNLoss(topology, n_edge_pairs=50, random_state=0)
    one = loss.value_gradient(y, raw, ptr)
    for n_threads in (2, 3):
        many = loss.value_gradient(y, raw, ptr, n_threads=n_threads)
        for a, b in zip(one, many):
            assert_array_equal(a, b)


@pytest.mark.parametrize("topology", ["full", "disconnected", "random", "star"])
def test_data_without_any_edge(topology):
    prepared = CDNLoss(topology).prepare([1.0, 1.0, 2.0], [0, 2, 2, 3])
    assert prepared.total_weight == 0.0
    values, gradient = prepared.value_gradient([0.0, 3.0, 1.0])
    assert values.tolist() == [0.0, 0.0, 0.0]
    assert gradient.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"topology": "ring"},
            "topology must be 'full', 'disconnected', 'random' or 'star'",
        ),
        ({"average": "document"}, "average must be 'edge' or 'query'"),
        ({"n_edge_pairs": 0}, "n_edge_pairs must be a whole number >= 1, got 0"),
        ({"n_networks": 1.5}, "n_networks must be a whole number >= 1, got 1.5"),
    ],
)
def test_bad_hyper_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        CDNLoss(**params).prepare([1.0, 0.0], [0, 2])
