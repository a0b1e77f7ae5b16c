"""Selection by the consistency of preferences, against sums over all pairs."""

import tracemalloc
from itertools import product

import numpy as np
import pytest

from skrank._core import _in_steps
from skrank._core._choices import kept_pairs, picks_by_pairs, sums_over_kept
from skrank._core._queries import QueryIndex
from skrank.datasets import make_ranking
from skrank.rankers import RankSVM
from skrank.selection import PPCSelection
from skrank.selection._ppc import _Consistency
from skrank.selection._training_base import Candidates

RNG = np.random.default_rng(0)
GROUPS = RNG.integers(0, 5, 40)
Y = RNG.integers(0, 3, 40).astype(float)
X = RNG.normal(size=(40, 3)) + 100.0


def all_pairs(y, groups):
    """Rows of all pairs of a better and another document, query after query."""
    return [
        (u, v)
        for q in sorted(set(groups))
        for u in np.flatnonzero(groups == q)
        for v in np.flatnonzero(groups == q)
        if y[u] > y[v]
    ]


def columns(X, y, groups, mu):
    """The matrix R with shares of mu below, one column for each pair."""
    pairs = np.array(all_pairs(y, groups))
    numbers = np.array([(groups[pairs[:, 0]] == groups[u]).sum() for u, _ in pairs])
    differences = (X[pairs[:, 0]] - X[pairs[:, 1]]) / numbers[:, None]
    return pairs, np.column_stack([differences, mu / numbers]).T


def of(X, y, groups, mu):
    index = QueryIndex.from_groups(groups, canonical=True)
    candidates = Candidates(index.take(X), index, index.take(y))
    return _Consistency(candidates, mu, "PPCSelection"), index


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_products_are_those_of_all_pairs(mu):
    _, R = columns(X, Y, GROUPS, mu)
    consistent, index = of(X, Y, GROUPS, mu)
    unit = 2.0**consistent.exponent
    np.testing.assert_allclose(
        consistent.gram() * unit**2, R @ R.T, rtol=1e-9, atol=1e-12
    )
    direction = RNG.normal(size=4)
    kept = direction @ R > 0
    slack, scores = consistent.pairs_of(direction)
    np.testing.assert_allclose(
        consistent.product(slack, scores) * unit, R @ kept, rtol=1e-9, atol=1e-12
    )
    listed = kept_pairs(consistent.y, scores, slack, index.ptr)
    rows = np.arange(40) if index.order is None else index.order
    pairs, _ = columns(X, Y, GROUPS, mu)
    assert set(map(tuple, rows[listed])) == set(map(tuple, pairs[kept]))


@pytest.mark.parametrize("mu", [0.0, 0.2, 1000.0])
def test_pairs_of_the_bound_are_those_of_one_sign(mu):
    pairs, R = columns(X, Y, GROUPS, mu)
    vector = np.linalg.svd(R)[2][0]
    chosen = PPCSelection(mu=mu, max_iter=0).select_pairs(X, GROUPS, y=Y)
    values = {s: ((R @ (s * vector > 0)) ** 2).sum() for s in (-1, 1)}
    best = max(values, key=lambda s: values[s])
    kept = set(map(tuple, pairs[best * vector > 0]))
    other = set(map(tuple, pairs[-best * vector > 0]))
    # Without mu, pairs that point in the one direction and in the other are as good.
    assert set(map(tuple, chosen)) in ((kept, other) if mu == 0 else (kept,))
    if mu == 1000.0:
        assert len(chosen) == len(pairs)


@pytest.mark.parametrize("mu", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("n_features", [41, 200])
def test_wide_features_are_compared_in_the_space_of_the_rows(n_features, mu):
    X = np.random.default_rng(3).normal(size=(40, n_features)) + 7.0
    narrow, index = of(X, Y, GROUPS, mu)
    assert narrow.gram().shape == (41, 41)
    wide, _ = of(X, Y, GROUPS, mu)
    means = np.add.reduceat(index.take(X), index.ptr[:-1]) / index.sizes[:, None]
    wide.X = (index.take(X) - means[index.codes]) / 2.0**wide.exponent
    assert wide.gram().shape == (n_features + 1, n_features + 1)
    np.testing.assert_allclose(narrow.X @ narrow.X.T, wide.X @ wide.X.T, atol=1e-12)
    # Of what is exact twice, the greatest eigenvalue and what is taken in the end.
    largest = [np.linalg.eigvalsh(each.gram())[-1] for each in (narrow, wide)]
    assert largest[0] == pytest.approx(largest[1], rel=1e-12)
    _, R = columns(X, Y, GROUPS, mu)
    unit = 2.0**narrow.exponent
    assert largest[0] * unit**2 == pytest.approx(np.linalg.norm(R, 2) ** 2)
    slack, scores = wide.solved(20)
    found_slack, found = narrow.solved(20)
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found_slack, slack, rtol=1e-9, atol=1e-12)
    rows = np.arange(40) if index.order is None else index.order
    listed = rows[kept_pairs(wide.y, scores, slack, index.ptr)]
    chosen = PPCSelection(mu=mu).select_pairs(X, GROUPS, y=Y)
    np.testing.assert_array_equal(chosen, listed)


@pytest.mark.parametrize("mu", [0.0, 0.3, 1e6])
@pytest.mark.parametrize("n_features", [30, 90])
def test_steps_of_linear_algebra_choose_what_one_call_does(n_features, mu, monkeypatch):
    X = np.random.default_rng(5).normal(size=(40, n_features))
    at_once, rows = of(X, Y, GROUPS, mu)[0].solved(20), PPCSelection(0.4, mu=mu)
    expected = rows.select(X, GROUPS, y=Y).rows
    monkeypatch.setattr(_in_steps, "_ONE_CALL", 1)
    monkeypatch.setattr(_in_steps, "_STEP", 1000.0)
    slack, scores = of(X, Y, GROUPS, mu)[0].solved(20)
    np.testing.assert_allclose(slack, at_once[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores, at_once[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(rows.select(X, GROUPS, y=Y).rows, expected)


def test_memory_is_that_of_the_features():
    """Not that of a square matrix of them, which would take 128 MB."""
    X = np.random.default_rng(0).normal(size=(20, 4000))
    tracemalloc.start()
    try:
        PPCSelection(0.5).select(X, GROUPS[:20], y=Y[:20])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * X.nbytes


@pytest.mark.parametrize("power", [-1000, -500, 500, 1020])
@pytest.mark.parametrize("n_features", [3, 60])
def test_features_and_mu_of_any_size_are_compared(power, n_features):
    """A power of two changes no digit, so that no choice changes either."""
    X = np.random.default_rng(4).uniform(-1, 1, size=(40, n_features))
    unit = 2.0**power
    one, other = PPCSelection(0.4, mu=0.5), PPCSelection(0.4, mu=0.5 * unit)
    rows = one.select(X, GROUPS, y=Y).rows
    pairs = one.select_pairs(X, GROUPS, y=Y)
    assert 0 < len(pairs) < len(all_pairs(Y, GROUPS))
    np.testing.assert_array_equal(other.select(X * unit, GROUPS, y=Y).rows, rows)
    np.testing.assert_array_equal(other.select_pairs(X * unit, GROUPS, y=Y), pairs)


@pytest.mark.parametrize("n_features", [3, 60])
def test_a_mu_far_from_the_features_is_none_or_takes_all_pairs(n_features):
    X = np.random.default_rng(4).normal(size=(40, n_features))
    every = set(map(tuple, all_pairs(Y, GROUPS)))
    for mu, size in ((1e200, 1.0), (1.7e308, 1e-300), (1e100, 1e-200)):
        found = PPCSelection(mu=mu).select_pairs(X * size, GROUPS, y=Y)
        assert set(map(tuple, found)) == every
        # Documents are told apart by the margins of pairs all the same.
        rows = PPCSelection(0.4, mu=mu).select(X * size, GROUPS, y=Y).rows
        usual = PPCSelection(0.4, mu=1e6).select(X, GROUPS, y=Y).rows
        np.testing.assert_array_equal(rows, usual)
    for mu, size in ((1.0, 1e200), (1e-200, 1e300)):
        found = PPCSelection(mu=mu).select_pairs(X * size, GROUPS, y=Y)
        none = PPCSelection(mu=0.0).select_pairs(X, GROUPS, y=Y)
        assert set(map(tuple, found)) == set(map(tuple, none))
    # A large feature that is constant in each query hides none of the others.
    constant = np.column_stack([X, 2.0**900 * (GROUPS + 1.0)])
    found = PPCSelection().select_pairs(constant, GROUPS, y=Y)
    expected = PPCSelection().select_pairs(X, GROUPS, y=Y)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(6))
def test_steps_do_not_fall_and_end_where_no_pair_wants_to_move(seed):
    rng = np.random.default_rng(seed)
    groups, mu = np.repeat([0, 1], 4), 0.5
    y, X = rng.integers(0, 3, 8) * 1.0, rng.normal(size=(8, 2))
    pairs, R = columns(X, y, groups, mu)

    def value(chosen):
        taken = set(map(tuple, chosen))
        kept = np.array([tuple(pair) in taken for pair in pairs])
        return ((R @ kept) ** 2).sum(), kept

    values = [
        value(PPCSelection(mu=mu, max_iter=n).select_pairs(X, groups, y=y))[0]
        for n in (0, 1, 2, 50)
    ]
    assert values == sorted(values)
    final, kept = value(PPCSelection(mu=mu, max_iter=50).select_pairs(X, groups, y=y))
    np.testing.assert_array_equal(kept, (R @ kept) @ R > 0)
    # By the step from all subsets of pairs, none of which can be better.
    best = max(((R @ np.array(w)) ** 2).sum() for w in product((0, 1), repeat=len(R.T)))
    first = np.linalg.svd(R)[1][0] ** 2
    vector = np.linalg.svd(R)[2][0]
    bound = first * max(vector[vector > 0].sum(), -vector[vector < 0].sum()) ** 2
    assert bound - 1e-12 <= final <= best + 1e-12


def test_consistency_is_what_is_printed():
    """The sum over two pairs of queries, eq. 13.12, is the square of a length."""
    pairs, R = columns(X, Y, GROUPS, 0.0)
    numbers = [(GROUPS[pairs[:, 0]] == GROUPS[u]).sum() for u, _ in pairs]
    total = sum(
        (X[u] - X[v]) @ (X[a] - X[b]) / (m * n)
        for (u, v), m in zip(pairs, numbers)
        for (a, b), n in zip(pairs, numbers)
    )
    assert total == pytest.approx((R.sum(axis=1) ** 2).sum())
    both = sum(X[u] - X[v] for u in range(3) for v in range(3))
    np.testing.assert_allclose(both, 0.0, atol=1e-9)


def test_eigenvectors_are_those_of_the_kept_pairs():
    consistent, index = of(X, Y, GROUPS, 0.1)
    slack, scores = consistent.solved(20)
    found = consistent.eigenvectors(slack, scores)
    for q in range(index.n_queries):
        own = np.arange(index.ptr[q], index.ptr[q + 1])
        s, y = scores[own], consistent.y[own]
        kept = (y[:, None] > y) & (s[:, None] - s + slack[q] > 0)
        values, vectors = np.linalg.eigh(1.0 * (kept | kept.T))
        assert values[-1] > values[-2] + 0.1
        np.testing.assert_allclose(found[own], np.abs(vectors[:, -1]), atol=1e-6)


def test_sums_over_kept_pairs_are_those_of_a_loop():
    index = QueryIndex.from_groups(np.sort(GROUPS))
    scores, x = RNG.normal(size=40), RNG.normal(size=40)
    slack = RNG.normal(size=5)
    below, above = np.zeros(40), np.zeros(40)
    for q, (a, b) in enumerate(zip(index.ptr[:-1], index.ptr[1:])):
        for u, v in product(range(a, b), repeat=2):
            if Y[u] > Y[v] and scores[u] - scores[v] + slack[q] > 0:
                below[u] += x[v]
                above[v] += x[u]
    for n_threads in (1, 3):
        found = sums_over_kept(Y, scores, slack, x, index.ptr, n_threads)
        np.testing.assert_allclose(found, [below, above])


def test_documents_close_as_many_pairs_as_they_can():
    index = QueryIndex.from_groups(np.sort(GROUPS))
    scores, value = RNG.normal(size=40), RNG.random(40)
    slack, wanted = RNG.normal(size=5), np.array([3, 0, 99, 1, 5], dtype=np.int32)
    pick = picks_by_pairs(Y, scores, slack, value, wanted, index.ptr)
    for q, (a, b) in enumerate(zip(index.ptr[:-1], index.ptr[1:])):
        picked = []

        def closed(i, q=q, picked=picked):
            return sum(
                Y[u] > Y[v] and scores[u] - scores[v] + slack[q] > 0
                for j in picked
                for u, v in ((i, j), (j, i))
            )

        for _ in range(min(wanted[q], b - a)):
            left = [i for i in range(a, b) if i not in picked]
            picked.append(max(left, key=lambda i: (closed(i), value[i])))
        order = a + np.flatnonzero(pick[a:b] >= 0)
        assert order[np.argsort(pick[order])].tolist() == picked


def test_equal_entries_are_ordered_by_the_margins_of_pairs():
    """Where all pairs are selected, the eigenvector knows of grades only."""
    x = np.array([[0.0], [5.0], [4.0], [9.0], [1.0], [2.0]])
    y = np.array([0.0, 1, 0, 1, 0, 1])
    selector = PPCSelection(0.34, mu=100.0)
    assert len(selector.select_pairs(x, [0] * 6, y=y)) == 9
    # The pair of the greatest difference.
    assert selector.select(x, [0] * 6, y=y).rows.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("x", "first"),
    [([-9, 5, 4, 6, 1, 2], 0), ([-8, 5, 4, 7, 1, 2], 0), ([0, 5, 4, 9, 1, 2], 3)],
)
def test_the_document_farthest_from_its_partners_comes_first(x, first):
    x, y = np.array(x, dtype=float)[:, None], np.array([0.0, 1, 0, 1, 0, 1])
    distances = [abs(x[y != grade] - own).sum() for own, grade in zip(x, y)]
    assert np.argmax(distances) == first
    chosen = PPCSelection(0.17, mu=100.0).select(x, [0] * 6, y=y)
    assert chosen.rows.tolist() == [first]


def test_documents_alike_are_taken_in_the_order_of_their_rows():
    x = np.array([[0.0], [0.0], [9.0], [9.0]])
    y = np.array([0.0, 0, 1, 1])
    for rows in (np.arange(4), np.array([1, 0, 3, 2])):
        chosen = PPCSelection(0.5, mu=100.0).select(x[rows], [0] * 4, y=y[rows]).rows
        assert chosen.tolist() == [0, 2]


def test_noise_is_left_out():
    """Pairs whose grades are exchanged are inconsistent with most others."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    X = rng.normal(size=(400, 5))
    utility = X @ np.array([3.0, -2.0, 1.0, 0.0, 0.0])
    y = (utility > 0).astype(float)
    wrong = rng.random(400) < 0.2
    noisy = np.where(wrong, 1 - y, y)
    pairs = PPCSelection(mu=0.0).select_pairs(X, groups, y=noisy)
    every = np.array(all_pairs(noisy, groups))

    def share(pairs):
        return (utility[pairs[:, 0]] > utility[pairs[:, 1]]).mean()

    assert share(pairs) > share(every) + 0.1
    rows = PPCSelection(0.5, mu=0.0).select(X, groups, y=noisy).rows
    assert wrong[rows].mean() < wrong.mean() / 2


def test_each_query_gives_its_share():
    chosen = PPCSelection(0.3).select(X, GROUPS, y=Y)
    sizes = np.bincount(GROUPS)
    expected = np.maximum(1, np.floor(0.3 * sizes + 0.5))
    assert np.bincount(GROUPS[chosen.rows]).tolist() == expected.tolist()
    assert (chosen.probability == 1).all()
    assert chosen.pool.tolist() == list(range(40))


def test_order_of_queries_and_shifts_do_not_matter():
    order = np.argsort(-GROUPS, kind="stable")
    selector = PPCSelection(0.4)
    rows = selector.select(X, GROUPS, y=Y).rows
    moved = selector.select(X[order] + 5.0, GROUPS[order], y=Y[order]).rows
    assert sorted(order[moved]) == rows.tolist()
    pairs = selector.select_pairs(X, GROUPS, y=Y)
    moved = selector.select_pairs(X[order], GROUPS[order], y=Y[order])
    assert set(map(tuple, order[moved])) == set(map(tuple, pairs))


def test_selections_train_a_ranker():
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    new = X + 0.1 * np.random.default_rng(1).normal(size=X.shape)
    rows = PPCSelection(0.4).select(X, groups, y=y).rows
    pairs = PPCSelection().select_pairs(X, groups, y=y)
    for ranker in (
        RankSVM().fit(X[rows], y[rows], groups[rows]),
        RankSVM().fit(X, preferences=pairs, groups=groups),
    ):
        score = ranker.score(new, y, groups=groups + 100)
        assert score > ranker.score(-new, y, groups=groups + 100)


def test_queries_without_preference_have_no_pairs():
    selector = PPCSelection(0.5)
    assert selector.select_pairs(X, GROUPS, y=np.ones(40)).shape == (0, 2)
    assert len(selector.select(X, GROUPS, y=np.ones(40)).rows)
    single = selector.select(X[:1], [0], y=[1])
    assert single.rows.tolist() == [0]
    flat = np.ones((4, 2))
    assert len(PPCSelection(mu=0.0).select_pairs(flat, [0] * 4, y=[0, 1, 1, 2])) == 0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"PPCSelection.select needs y with the gra"):
        PPCSelection().select(X, GROUPS)
    missing = X.copy()
    missing[7, 1] = np.nan
    with pytest.raises(ValueError, match="must be finite numbers; row 7 has others"):
        PPCSelection().select(missing, GROUPS, y=Y)
    with pytest.raises(ValueError, match="mu must be a number >= 0"):
        PPCSelection(mu=-1.0).select_pairs(X, GROUPS, y=Y)
