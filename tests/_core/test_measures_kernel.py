"""Kernels of the measures against NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank._core import _measures


@st.composite
def lists(draw, max_size=200):
    """Ragged values of many kinds: ties, near ties, signed zeros, infinities."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, max_size, draw(st.integers(1, 4)))
    ptr = np.r_[0, np.cumsum(sizes)]
    values = rng.normal(size=ptr[-1])
    kind = draw(st.sampled_from(["plain", "ties", "near ties", "extreme"]))
    if kind == "ties":
        values = np.round(values)  # holds -0.0 and 0.0
    elif kind == "near ties":
        values = 1 + np.round(values) * np.finfo(float).eps
    elif kind == "extreme":
        values = values * 10.0 ** rng.integers(-300, 300, len(values))
        values[rng.random(len(values)) < 0.1] = np.inf
        values[rng.random(len(values)) < 0.1] = -np.inf
    return values, ptr, rng


def slices(ptr):
    return [slice(a, b) for a, b in itertools.pairwise(ptr)]


@settings(deadline=None, max_examples=80)
@given(data=lists())
def test_rank_rows_is_a_stable_descending_sort(data):
    scores, ptr, _ = data
    order = _measures.rank_rows(scores, None, ptr)
    expected = [r.start + np.argsort(-scores[r], kind="stable") for r in slices(ptr)]
    np.testing.assert_array_equal(order, np.concatenate(expected))


@settings(deadline=None, max_examples=40)
@given(data=lists())
def test_rank_rows_breaks_ties_by_key(data):
    scores, ptr, rng = data
    key = rng.integers(0, 3, len(scores)).astype(float)
    expected = [
        r.start + np.lexsort((np.arange(r.stop - r.start), key[r], -scores[r]))
        for r in slices(ptr)
    ]
    np.testing.assert_array_equal(
        _measures.rank_rows(scores, key, ptr), np.concatenate(expected)
    )


@settings(deadline=None, max_examples=40)
@given(data=lists(), with_scores=st.booleans())
def test_rank_values_gathers(data, with_scores):
    scores, ptr, rng = data
    values = rng.normal(size=len(scores))
    order = _measures.rank_rows(scores, None, ptr)
    ranked, ranked_scores = _measures.rank_values(
        scores, None, values, ptr, with_scores
    )
    np.testing.assert_array_equal(ranked, values[order])
    if with_scores:
        np.testing.assert_array_equal(ranked_scores, scores[order])
    else:
        assert ranked_scores is None


def test_rank_rows_of_a_query_too_long_for_packed_keys():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=70_000), 3)
    np.testing.assert_array_equal(
        _measures.rank_rows(scores, None, np.array([0, len(scores)])),
        np.argsort(-scores, kind="stable"),
    )


@pytest.mark.parametrize("k", [1, 2, 10, 16, 17, 64])
@settings(deadline=None, max_examples=25)
@given(data=lists())
def test_selection_equals_sorting(k, data):
    scores, ptr, rng = data
    grade = rng.integers(0, 5, len(scores)).astype(float)
    grade[rng.random(len(grade)) < 0.2] += 0.5
    discount = 1 / np.log2(np.arange(2, k + 2))
    for average in (False, True):
        selected = _measures.top_dcg(grade, scores, ptr, discount, True, average)
        ranked, by_score = _measures.rank_values(
            scores, None, 2**grade - 1, ptr, average
        )
        expected = _measures.discounted_sum(ranked, by_score, ptr, discount)
        np.testing.assert_allclose(selected, expected, rtol=1e-12)


@settings(deadline=None, max_examples=40)
@given(data=lists(), k=st.sampled_from([1, 10, 16, 30, 64, 65, 150, 300]))
def test_ideal_dcg_equals_numpy(data, k):
    grade, ptr, _ = data
    grade = np.minimum(np.abs(np.nan_to_num(grade)), 30.0)
    discount = 1 / np.log2(np.arange(2, k + 2))
    for exp2 in (False, True):
        gain = np.expm1(grade * np.log(2.0)) if exp2 else grade
        expected = []
        for r in slices(ptr):
            best = np.sort(gain[r])[::-1][:k]
            expected.append(best @ discount[: len(best)])
        np.testing.assert_allclose(
            _measures.ideal_dcg(grade, ptr, discount, exp2), expected, rtol=1e-12
        )


@settings(deadline=None, max_examples=40)
@given(data=lists(max_size=60))
def test_count_pairs_equals_all_pairs(data):
    scores, ptr, rng = data
    grade = rng.integers(0, 4, len(scores)).astype(float)
    order = _measures.rank_rows(scores, None, ptr)
    counts = _measures.count_pairs(grade[order], scores[order], ptr)
    for r, counted in zip(slices(ptr), counts):
        preferred = grade[r][:, None] > grade[r][None, :]
        s = scores[r]
        expected = [
            np.sum(preferred & relation)
            for relation in (
                s[:, None] > s[None, :],
                s[:, None] < s[None, :],
                s[:, None] == s[None, :],
            )
        ]
        np.testing.assert_array_equal(counted, expected)


def test_selection_refuses_more_than_its_limit():
    k = _measures.select_limit() + 1
    with pytest.raises(ValueError, match="at most 64 discounts"):
        _measures.top_dcg(
            np.ones(3), np.ones(3), np.array([0, 3]), np.ones(k), True, True
        )


# The reach of the cascade -------------------------------------------------------------


def cascade(stop, scores, discount, ptr=None):
    stop, discount = np.asarray(stop, float), np.asarray(discount, float)
    scores = None if scores is None else np.asarray(scores, float)
    ptr = np.array([0, len(stop)] if ptr is None else ptr)
    return _measures.cascade(stop, scores, ptr, discount)


def expected_cascade(stop, discount):
    """Expected discount where a user stops who reads in a random order: O(n²)."""
    n = len(stop)
    passed = np.zeros(n + 1, dtype=np.longdouble)
    passed[0] = 1  # mean over subsets of size i of the chance to pass all of it
    for t, s in enumerate(np.asarray(stop, dtype=np.longdouble), 1):
        i = np.arange(1, t + 1)
        passed[1 : t + 1] = ((t - i) * passed[1 : t + 1] + i * (1 - s) * passed[:t]) / t
    left = passed[:-1] - passed[1:]
    return float(np.sum(left[: len(discount)] * discount[:n]))


def test_nobody_reads_below_a_document_at_which_everybody_stops():
    for below in (0.5, 1.0, np.nan):
        assert cascade([0.5, 1.0, below], None, [1, 1 / 2, 1 / 3]) == 0.75
        # The two tied documents stop everybody; what follows is not read.
        scores = [2.0, 2.0, 1.0]
        assert cascade([1.0, 1.0, below], scores, [1, 1 / 2, 1 / 3]) == 1.0
    assert cascade([0.0, 0.0, 0.5], None, [1, 1 / 2, 1 / 3]) == pytest.approx(1 / 6)
    tiny = 2.0**-1074  # even the smallest chance to come so far counts
    steps = [1 - 2.0**-53] * 20
    rest = cascade([*steps, 1.0], None, [0.0] * 20 + [1.0])
    assert rest[0] == (2.0**-53) ** 20 > tiny


@pytest.mark.parametrize("stop", [1e-20, 0.1, 1 / 3, 0.7])
def test_a_document_without_ties_stops_exactly_its_share(stop):
    assert cascade([stop], [1.0], [1.0]) == [stop]  # and not 1 - (1 - stop)
    got = cascade([stop, stop], [2.0, 1.0], [1.0, 0.5])
    assert got == [stop + (1 - stop) * stop * 0.5]


@pytest.mark.parametrize("scores", [None, [3.0, 2.0, 1.0, 0.0]])
def test_the_cascade_ends_with_the_discounts_and_with_the_query(scores):
    stop = np.array([0.5, 0.25, 0.5, 1.0])
    discount = np.array([1.0, 0.5, 100.0, 100.0])
    cut = cascade(stop, scores, discount[:2])  # the view must not be read beyond
    assert cut == [0.5 + 0.5 * 0.25 * 0.5]
    two = cascade(stop, scores, discount, ptr=[0, 2, 4])
    np.testing.assert_array_equal(two, [cut[0], 0.5 + 0.5 * 0.5])


@pytest.mark.parametrize("n", [3, 50, 1000])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_document_of_a_block_that_may_stop_the_user(n, place):
    """It has each rank with the same chance."""
    stop, discount = np.zeros(n), 1 / np.arange(1, n + 1.0)
    stop[place] = 0.3
    got = cascade(stop, np.zeros(n), discount)
    np.testing.assert_allclose(got, 0.3 * discount.mean(), rtol=1e-13)


@pytest.mark.parametrize("k", [1, 5, 700])
@pytest.mark.parametrize(
    "level", [[0, 1, 2], [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 3, 4], [3, 4], [1]]
)
def test_blocks_of_graded_documents_in_random_order(k, level, rng):
    """Long blocks are followed only as far as users get."""
    stop = (2.0 ** rng.choice(level, size=700) - 1) / 16
    discount = 1 / np.arange(1, k + 1.0)
    got = cascade(stop, np.zeros(700), discount)
    np.testing.assert_allclose(got, expected_cascade(stop, discount), rtol=1e-13)
    # A document behind the block is reached with the chance to pass the whole block.
    behind = cascade([*stop[:40], 1.0], [1.0] * 40 + [0.0], np.r_[np.zeros(40), 1.0])
    np.testing.assert_allclose(behind, np.prod(1 - stop[:40]), rtol=1e-13)


# Rank-biased overlap ------------------------------------------------------------------


def blocks(values):
    """First and one-past-last position of each document's block of equal values."""
    above = np.array([(values > v).sum() for v in values], dtype=float)
    return above, above + np.array([(values == v).sum() for v in values])


def slow_overlap(first, second, p):
    """The definition, with the chance of every document to be among the first d."""
    m = len(first)
    depth = np.arange(1, m + 1)[:, None]
    chances = [
        np.clip((depth - start) / (end - start), 0, 1)
        for start, end in (blocks(first), blocks(second))
    ]
    agreement = (chances[0] * chances[1]).sum(axis=1) / depth[:, 0]
    weights = (1 - p) * p ** np.arange(m)
    return float(weights @ agreement + p**m * agreement[-1])


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    n_values=st.integers(1, 50),
    p=st.sampled_from([0.1, 0.9, 0.99]),
    seed=st.integers(0, 1000),
)
def test_rank_biased_overlap_is_its_definition(sizes, n_values, p, seed):
    rng = np.random.default_rng(seed)
    ptr = np.r_[0, np.cumsum(sizes)]
    first, second = rng.integers(0, n_values, (2, ptr[-1])).astype(float)
    arrays = [
        np.concatenate([blocks(values[r])[side] for r in slices(ptr)])
        for values in (first, second)
        for side in (0, 1)
    ]
    got = _measures.rank_biased_overlap(*arrays, ptr, p)
    expected = [slow_overlap(first[r], second[r], p) for r in slices(ptr)]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)
    again = _measures.rank_biased_overlap(*arrays, ptr, p, 2)
    np.testing.assert_array_equal(got, again)


def test_rank_biased_overlap_of_a_long_query():
    """Half of the documents agree in blocks; quadratic time would take minutes."""
    m = 400_000
    position = np.arange(m, dtype=float)
    got = _measures.rank_biased_overlap(
        position, position + 1, position, position + 1, np.array([0, m]), 0.9
    )
    np.testing.assert_allclose(got, 1.0)
    other = position[::-1].copy()
    got = _measures.rank_biased_overlap(
        position, position + 1, other, other + 1, np.array([0, m]), 0.5
    )
    assert got[0] < 1e-15


def mean_over_orders(stop, scores, discount):
    """Mean of the cascade over all orders of documents of equal score."""
    blocks = [
        [i for i, s in enumerate(scores) if s == score]
        for score in sorted(set(scores), reverse=True)
    ]
    total, n = 0.0, 0
    for parts in itertools.product(*map(itertools.permutations, blocks)):
        reach = 1.0
        for i, weight in zip(itertools.chain(*parts), discount):
            total += reach * stop[i] * weight
            reach *= 1.0 - stop[i]
        n += 1
    return total / n


@pytest.mark.parametrize("level", [[0.0, 1.0], [0.0, 0.25, 0.5], [0.0, 0.5, 1.0]])
@pytest.mark.parametrize("m", [1, 2, 3, 5, 6])
def test_blocks_behind_other_documents_are_averaged_over_all_orders(level, m, rng):
    for k in (1, m - 1, m, m + 2):
        for highest in (1, 2, 3):
            stop = rng.choice(level, size=m)
            scores = -np.sort(rng.integers(0, highest, size=m).astype(float))
            discount = rng.uniform(0.1, 1.0, size=k)
            expected = mean_over_orders(stop, scores, discount)
            got = cascade(stop, scores, discount)
            np.testing.assert_allclose(got, [expected], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("m", [5, 60])
def test_no_discounts_no_gain(m):
    ptr, grade, scores = np.array([0, m]), np.ones(m), np.arange(m, dtype=float)
    for average in (False, True):
        got = _measures.top_dcg(grade, scores, ptr, np.zeros(0), True, average)
        assert got.tolist() == [0.0]
    assert _measures.ideal_dcg(grade, ptr, np.zeros(0), True).tolist() == [0.0]
