"""BoltzmannLoss: energies by the double sum of the paper, samples, and limits."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.energies import LinearEnergy
from skrank.losses import BoltzmannLoss
from skrank.losses import _boltzmann as module
from skrank.losses._boltzmann import RANK_WEIGHTS, energy_table
from skrank.metrics import AP, NDCG, get_measure


def energy(ranks, scores, g, scale=1.0):
    """Equation 4 of the paper, pair by pair."""
    m = len(ranks)
    total = 0.0
    for j, k in itertools.permutations(range(m), 2):
        if ranks[j] > ranks[k]:
            weight = g(np.array([float(ranks[j] - ranks[k])]), m)[0]
            total += scale * weight * (scores[j] - scores[k])
    return 2.0 / (m * (m - 1)) * total


def samples_of(prepared, q):
    """1-based ranks of query q, (n_samples, m)."""
    samples = prepared.samples
    m = prepared.ptr[q + 1] - prepared.ptr[q]
    flat = samples.places[samples.start[q] : samples.start[q] + m * samples.n_samples]
    return flat.reshape(samples.n_samples, m).astype(int) + 1


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


G = {**RANK_WEIGHTS, "cubic": lambda x, m: (x / m) ** 3}


@pytest.fixture
def data(rng):
    sizes = np.array([6, 1, 11, 4, 2])
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    y[:3], y[18:22] = [0.0, 1.0, 2.0], 1.0
    return y, rng.normal(size=len(y)), ptr


@pytest.mark.parametrize("g", list(G))
@pytest.mark.parametrize("m", [2, 3, 8])
def test_energy_is_linear_in_the_scores(rng, g, m):
    table = energy_table(m, G[g], 1.7)
    for _ in range(5):
        ranks, scores = rng.permutation(m) + 1, rng.normal(size=m)
        expected = energy(ranks, scores, G[g], 1.7)
        assert_allclose(table[ranks - 1] @ scores, expected, atol=1e-13)


def test_linear_table_in_closed_form():
    # The differences of a rank to all others sum to m times its distance to the mean.
    m, r = 9, np.arange(1, 10)
    assert_allclose(energy_table(m), 4.0 * (r - 5.0) / (m - 1) ** 2, atol=1e-15)
    assert energy_table(1).tolist() == [0.0]


def test_agreement_has_lower_energy():
    # Eq. 4: less compatible rankings have more energy (Liu's eq. 4.28 turns it round).
    table = energy_table(3)
    assert table @ [3.0, 2.0, 1.0] < 0 < table @ [1.0, 2.0, 3.0]


@pytest.mark.parametrize("mix", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("g", list(G))
def test_value_is_that_of_the_equations(data, g, mix):
    y, scores, ptr = data
    loss = BoltzmannLoss("ndcg@3", n_samples=15, mix=mix, g=G[g], scale=2.0)
    prepared = loss.prepare(y, ptr)
    values, _ = prepared.value_gradient(scores)
    for q in (0, 2, 4):
        rows = slice(ptr[q], ptr[q + 1])
        if len(np.unique(y[rows])) < 2:
            assert values[q] == 0.0
            continue
        ranks = samples_of(prepared, q)
        p = softmax(-np.array([energy(r, scores[rows], G[g], 2.0) for r in ranks]))
        target = softmax(-np.array([energy(r, y[rows], G[g], 2.0) for r in ranks]))
        one = np.array([0, len(ranks[0])])
        gain = [NDCG(k=3).per_query(y[rows], -1.0 * r, one)[0] for r in ranks]
        expected = -mix * (p @ gain) + (1 - mix) * -(target @ np.log(p))
        assert_allclose(values[q], expected, rtol=1e-12)


def test_cross_entropy_alone_is_least_at_the_grades(data):
    # Gibbs: cross entropy is least where both distributions agree.
    y, _, ptr = data
    values, gradient = BoltzmannLoss(mix=0.0, n_samples=30).value_gradient(y, y, ptr)
    assert_allclose(gradient, 0.0, atol=1e-14)
    assert np.any(values > 0)


def test_expected_gain_of_equal_scores_is_the_mean_gain(data):
    y, scores, ptr = data
    prepared = BoltzmannLoss(mix=1.0, n_samples=30).prepare(y, ptr)
    values, _ = prepared.value_gradient(0.0 * scores)
    gain = np.where(prepared.query_weight > 0, prepared.samples.gain.mean(axis=1), 0.0)
    assert_allclose(values, -gain, rtol=1e-12)


def test_great_scores_put_all_probability_on_one_ranking(data):
    y, _, ptr = data
    values, _ = BoltzmannLoss("ndcg", mix=1.0).value_gradient(y, 1e6 * y, ptr)
    weight = BoltzmannLoss().prepare(y, ptr).query_weight
    assert_allclose(values, -weight, rtol=1e-9)  # NDCG 1 where there is something


def new_grades(y, ranks):
    """Grades at the ranks, as the ranking by exchanged grades would have them."""
    return y[np.argsort(ranks)]


@pytest.mark.parametrize("grades", [(1.0, 0.0), (2.0, 1.0, 0.0), (4, 2.5, 1, 0.5, 0)])
def test_scheme_of_the_samples(grades):
    """Which grades move in which part of the sample (section 4.2 of the paper)."""
    rng = np.random.default_rng(1)
    y = rng.permutation(np.repeat(grades, 6)).astype(float)
    n = 1000
    prepared = BoltzmannLoss(n_samples=n).prepare(y, [0, len(y)])
    ranks = samples_of(prepared, 0)
    assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(len(y)) + 1, (n, 1)))
    found = np.array([new_grades(y, r) for r in ranks])
    ideal = np.sort(y)[::-1]
    assert_array_equal(found[0], ideal)
    levels = np.array(sorted(grades, reverse=True))
    seen = [set(np.unique(ideal[found[i] != ideal])) for i in range(n)]
    bounds = [1, 350, 550, 775]
    top = {levels[0], levels[1]}
    assert all(s == top for s in seen[1:350])
    neighbours = [set(pair) for pair in itertools.pairwise(levels)]
    lower = neighbours[1:] or neighbours
    assert all(s in lower for s in seen[350:550])
    assert all(any(s == pair for s in seen[350:550]) for pair in lower)
    assert all(s == {levels[0], levels[-1]} for s in seen[550:775])
    # In swaps of n documents, n is uniform in 1 ... 6.
    for a, b in itertools.pairwise(bounds):
        swapped = (found[a:b] != ideal).sum(axis=1) // 2
        assert_allclose(swapped.mean(), 3.5, atol=5 * np.sqrt(35 / 12 / (b - a)))
    # Permutations: the mean rank of every document is the middle one.
    error = ranks[775:].mean(axis=0) - (len(y) + 1) / 2
    assert np.abs(error).max() < 5 * len(y) / np.sqrt(12 * 225)


def test_ties_are_resolved_at_random():
    y = np.array([1.0, 0, 0, 0, 0])
    prepared = BoltzmannLoss(n_samples=2000).prepare(y, [0, 5])
    ranks = samples_of(prepared, 0)
    kept = ranks[1:1100][ranks[1:1100, 1] != 1]  # second document not on top
    counts = np.bincount(kept[:, 1], minlength=6)[2:]
    assert counts.min() > 0.8 * counts.mean()


def test_samples_cover_the_range_of_the_gain():
    # Figure 3a of the paper: above one half first, below in the end.
    rng = np.random.default_rng(0)
    y = np.repeat([2.0, 1.0, 0.0], [10, 20, 120])[rng.permutation(150)]
    gain = BoltzmannLoss("ndcg@5").prepare(y, [0, 150]).samples.gain[0]
    assert gain[0] == 1.0
    assert gain[:55].mean() > 0.5 > gain[55:].mean()
    assert gain.min() < 0.2


def test_samples_of_a_query_do_not_depend_on_others(data):
    y, _, ptr = data
    loss = BoltzmannLoss(n_samples=20)
    whole = loss.prepare(y, ptr)
    part = loss.prepare(y[ptr[2] : ptr[3]], [0, ptr[3] - ptr[2]])
    assert_array_equal(samples_of(part, 0), samples_of(whole, 2))
    other = BoltzmannLoss(n_samples=20, random_state=1).prepare(y, ptr)
    assert np.any(samples_of(other, 2) != samples_of(whole, 2))


@pytest.mark.parametrize("weight", [None, "rows"])
def test_subset_is_the_loss_of_these_queries(data, rng, weight):
    y, scores, ptr = data
    weight = rng.uniform(1, 2, len(y)) if weight else None
    # A fresh seed: only the samples that were drawn can give equal values.
    prepared = BoltzmannLoss(random_state=None).prepare(y, ptr, weight)
    values, gradient = prepared.value_gradient(scores)
    queries = np.array([4, 0, 2])
    subset = prepared.subset(queries)
    rows = np.concatenate([np.arange(ptr[q], ptr[q + 1]) for q in queries])
    found, slope = subset.value_gradient(scores[rows])
    assert_array_equal(found, values[queries])
    assert_array_equal(slope, gradient[rows])
    assert_allclose(subset.total_weight, prepared.query_weight[queries].sum())


def test_batches_share_the_samples_of_the_objective(data, rng):
    y, _, ptr = data
    X = rng.normal(size=(len(y), 2))
    loss = BoltzmannLoss(n_samples=20, random_state=None)
    objective = Objective(LinearEnergy().setup(X), loss, GroupedRows(X, y, ptr), 0.0)
    params = rng.normal(size=2)
    whole, _ = objective.value_gradient(params)
    shares = [[0, 1], [2], [3, 4]]
    parts = [objective.batch(np.array(s)).value_gradient(params)[0] for s in shares]
    # A batch is divided by its share of the queries.
    total = sum(len(s) / 5 * part for s, part in zip(shares, parts))
    assert_allclose(total, whole, rtol=1e-12)


@pytest.mark.parametrize("measure", ["map", "ndcg@5", "err@3", AP(relevance_level=2)])
def test_gains_are_those_of_the_measure(data, monkeypatch, measure):
    y, _, ptr = data
    monkeypatch.setattr(module, "_BLOCK_ROWS", 40)  # many blocks
    prepared = BoltzmannLoss(measure, n_samples=12).prepare(y, ptr)
    measure = get_measure(measure)
    for q in range(len(ptr) - 1):
        rows, one = slice(ptr[q], ptr[q + 1]), np.array([0, ptr[q + 1] - ptr[q]])
        expected = [
            np.nan_to_num(measure.per_query(y[rows], -1.0 * r, one)[0])
            for r in samples_of(prepared, q)
        ]
        assert_allclose(prepared.samples.gain[q], expected)


def test_long_lists_have_wider_ranks():
    n = (1 << 16) + 5
    y = np.zeros(n)
    y[:3] = 1.0
    for length, kind in ((n, np.uint32), (100, np.uint16)):
        prepared = BoltzmannLoss(n_samples=2).prepare(y[:length], [0, length])
        assert prepared.samples.places.dtype == kind
        ranks = samples_of(prepared, 0)
        assert_array_equal(np.sort(ranks[1]), np.arange(length) + 1)
        scores = np.linspace(1.0, 0.0, length)
        values, gradient = prepared.value_gradient(scores)
        assert np.isfinite(values).all()
        assert_allclose(gradient.sum(), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mix": 1.5}, r"mix must be a number in \[0, 1\], got 1.5"),
        ({"n_samples": 1}, "n_samples must be a whole number >= 2, got 1"),
        ({"g": "square"}, "g must be 'linear', 'sign' or 'logistic' or a function"),
        ({"scale": 0.0}, "scale must be a number > 0"),
        ({"measure": "mse"}, "measure must be one of which more is better"),
        ({"measure": "gcnd"}, "gcnd"),
    ],
)
def test_bad_hyper_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        BoltzmannLoss(**params).prepare([1.0, 0.0], [0, 2])
