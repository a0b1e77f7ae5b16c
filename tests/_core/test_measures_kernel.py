"""Kernels of the measures against NumPy."""

from itertools import pairwise

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
    return [slice(a, b) for a, b in pairwise(ptr)]


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
        gain = 2**grade - 1 if exp2 else grade
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
