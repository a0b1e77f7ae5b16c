"""Significance tests against SciPy, enumeration and closed forms."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skrank.metrics._significance import (
    bootstrap_interval,
    fisher_randomization_test,
    holm_correction,
    paired_t_test,
    tukey_hsd,
    wilcoxon_test,
)

ALTERNATIVES = ["two-sided", "greater", "less"]
PAIRED = [paired_t_test, wilcoxon_test, fisher_randomization_test]


@pytest.fixture
def pair(rng):
    a = rng.uniform(size=12)
    return a, np.clip(a + rng.normal(0.05, 0.1, size=12), 0, 1)


LABELS = [
    [f"q{i}" for i in range(12)],
    pd.RangeIndex(12, name="qid"),
    pd.RangeIndex(12),
    pd.MultiIndex.from_product([["x", "y", "z"], range(4)]),
]


@pytest.mark.parametrize("labels", LABELS, ids=["text", "qid", "range", "levels"])
@pytest.mark.parametrize("test", PAIRED)
def test_series_are_aligned_by_their_labels(pair, test, labels, rng):
    a, b = (pd.Series(values, index=labels) for values in pair)
    expected = test(*pair)
    for order in (np.arange(12)[::-1], rng.permutation(12)):
        np.testing.assert_allclose(test(a, b.iloc[order]), expected)
        np.testing.assert_allclose(test(a.iloc[order], b), expected)


@pytest.mark.parametrize("test", PAIRED)
def test_what_has_no_labels_is_by_place(pair, test):
    a, b = pair
    labels = [f"q{i % 3}" for i in range(12)]
    for first in (a, pd.Series(a), pd.Series(a, index=labels)):
        for second in (list(b), pd.Series(b), pd.Series(b, index=labels)):
            assert test(first, second) == test(a, b)


@pytest.mark.parametrize("test", PAIRED)
def test_series_of_different_queries_are_refused(test):
    a = pd.Series([0.1, 0.2, 0.4], index=["x", "y", "z"])
    for labels, told in (
        (
            ["y", "x", "w"],
            "a and b name different queries .* such as 'z', which only a",
        ),
        (["y", "x", "x"], "different queries .* such as 'z', which only a has"),
        ([1, 2, 3], "different queries .* such as 'x', which only a has"),
    ):
        with pytest.raises(ValueError, match=told):
            test(a, a.set_axis(labels))
    b = a.set_axis(["x", "y", "y"])
    for first, second in ((b, a), (a[:2], b[:2].set_axis(["y", "y"]))):
        with pytest.raises(ValueError, match="different queries"):
            test(first, second)
    with pytest.raises(ValueError, match="a names the query 'y' more than once"):
        test(b, b[::-1])


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_t_is_scipys(pair, alternative):
    expected = stats.ttest_rel(*pair, alternative=alternative)
    result = paired_t_test(*pair, alternative=alternative)
    np.testing.assert_allclose(result, [expected.statistic, expected.pvalue])


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [12, 50, 60, 300])
def test_wilcoxon_is_scipys(rng, n, alternative, zero_method):
    a, b = rng.uniform(size=n), rng.uniform(size=n)
    options = {"alternative": alternative, "zero_method": zero_method}
    if n > 50:  # SciPy's exact test does not take zeros
        b[3] = a[3]
        a[5], b[5] = b[6], a[6]
    expected = stats.wilcoxon(a, b, **options)
    assert wilcoxon_test(a, b, **options).pvalue == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_wilcoxon_with_ties_enumerates_all_signs(alternative, zero_method):
    d = np.array([0.1, 0.1, 0.0, -0.1, 0.2, 0.2, 0.3, -0.4, 0.5, 0.0])
    if zero_method == "wilcox":
        d = d[d != 0]
    ranks = stats.rankdata(np.abs(d))[d != 0]
    observed = np.sum(ranks * np.sign(d[d != 0]))
    signs = np.array(list(itertools.product([1, -1], repeat=len(ranks))))
    sums = signs @ ranks
    expected = {
        "two-sided": np.mean(np.abs(sums) >= abs(observed)),
        "greater": np.mean(sums >= observed),
        "less": np.mean(sums <= observed),
    }[alternative]
    result = wilcoxon_test(
        d, np.zeros(len(d)), alternative=alternative, zero_method=zero_method
    )
    assert result.statistic == observed
    assert result.pvalue == pytest.approx(expected)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_fisher_enumerates_all_signs(pair, alternative):
    a, b = pair
    expected = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
    )
    result = fisher_randomization_test(a, b, alternative=alternative)
    np.testing.assert_allclose(result, [expected.statistic, expected.pvalue])


def test_fisher_by_hand_counts_ties():
    # differences 1, 1, 2: sums of 8 sign vectors are 4, 2, 2, 0, 0, -2, -2, -4
    d = np.array([1.0, 1.0, 2.0])
    sums = [np.dot(s, d) for s in itertools.product([1, -1], repeat=3)]
    for signs in itertools.product([1, -1], repeat=3):
        observed = np.dot(signs, d)
        expected = np.mean(np.abs(sums) >= abs(observed))
        result = fisher_randomization_test(d * signs, np.zeros(3))
        assert result.pvalue == expected


def test_fisher_ignores_queries_without_difference(pair):
    a, b = pair
    padded = fisher_randomization_test(np.r_[a, np.ones(500)], np.r_[b, np.ones(500)])
    assert padded.pvalue == fisher_randomization_test(a, b).pvalue  # stays exact
    assert padded.statistic == pytest.approx((a - b).sum() / 512)


def test_fisher_draws_come_near_the_enumeration(pair):
    exact = fisher_randomization_test(*pair).pvalue
    n = 4000  # fewer than 2^12, so that signs are drawn
    drawn = fisher_randomization_test(*pair, n_permutations=n, random_state=0).pvalue
    assert abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / n) + 1 / n
    again = fisher_randomization_test(*pair, n_permutations=n, random_state=0).pvalue
    assert drawn == again


def test_fisher_draws_over_several_blocks_agree_with_the_t_test(rng):
    d = rng.normal(0.03, 1.0, size=3000)  # 2e7 signs: five blocks
    result = fisher_randomization_test(
        d, np.zeros(3000), n_permutations=7000, random_state=0
    )
    assert result.pvalue == pytest.approx(stats.ttest_1samp(d, 0).pvalue, abs=0.03)


@pytest.mark.parametrize("test", PAIRED)
def test_swapping_changes_only_the_sign(test, pair):
    a, b = pair
    there, back = test(a, b), test(b, a)
    assert there.statistic == pytest.approx(-back.statistic)
    assert there.pvalue == pytest.approx(back.pvalue)


@pytest.mark.parametrize("test", PAIRED)
def test_equal_rankers_have_p_one(test):
    assert test([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]) == (0.0, 1.0)


def test_constant_difference_is_the_limit_of_the_t_test():
    assert paired_t_test([1.0, 1.0], [0.5, 0.5]) == (np.inf, 0.0)
    assert paired_t_test([1.0, 1.0], [0.5, 0.5], alternative="less").pvalue == 1.0


@pytest.mark.parametrize("test", PAIRED)
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0], [1.0], "aligned by query, got 2 and 1"),
        ([1.0, np.nan], [1.0, 2.0], "a has 1 values that are not finite, first at"),
        ([1.0], [1.0], "at least 2 queries, got 1"),
        ([[1.0]], [1.0], "a must hold one value per query"),
    ],
)
def test_bad_input_of_paired_tests(test, a, b, message):
    with pytest.raises(ValueError, match=message):
        test(a, b)
    with pytest.raises(ValueError, match="zero_method must be"):
        wilcoxon_test([1.0, 2.0], [2.0, 3.0], zero_method="zsplit")
    with pytest.raises(
        ValueError, match=r"alternative must be .two-sided., .greater. or .less., got"
    ):
        test([1.0, 2.0], [2.0, 3.0], alternative="more")


@pytest.mark.parametrize("n", [10, 60])
def test_intervals_do_not_depend_on_the_unit(n):
    """Means that are equal but for rounding count as equal, as of whole numbers."""
    hits = np.random.default_rng(1).binomial(10, 0.35, (5, n)).astype(float)
    for row in hits:
        whole = bootstrap_interval(row, random_state=0)
        shares = bootstrap_interval(row / 10, random_state=0)
        np.testing.assert_allclose(10 * shares, whole, rtol=1e-9)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_bootstrap_is_scipys_up_to_the_draws(rng, method):
    values = rng.beta(0.6, 2.0, size=60)  # skewed, so that BCa differs
    expected = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        method=method,
        vectorized=True,
        random_state=np.random.default_rng(1),  # "rng" is new in SciPy 1.15
    ).confidence_interval
    got = bootstrap_interval(values, n_resamples=20_000, method=method, random_state=0)
    np.testing.assert_allclose(got, expected, atol=0.02 * np.ptp(expected))


def test_bootstrap_columns_are_columns_alone(rng):
    values = rng.uniform(size=(30, 3))
    together = bootstrap_interval(values, n_resamples=500, random_state=0)
    alone = [bootstrap_interval(v, n_resamples=500, random_state=0) for v in values.T]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_bootstrap_columns_of_different_sizes(rng):
    column = rng.random(8)
    sizes = 2.0 ** np.array([0, -900, 900])
    found = bootstrap_interval(column[:, None] * sizes, random_state=0)
    alone = bootstrap_interval(column, random_state=0)
    np.testing.assert_array_equal(found / sizes[:, None], [alone] * 3)


def test_bootstrap_covers_the_mean_as_often_as_promised(rng):
    samples = rng.exponential(size=(200, 40))
    intervals = [
        bootstrap_interval(s, n_resamples=400, confidence=0.9, random_state=i)
        for i, s in enumerate(samples)
    ]
    covered = np.mean([low <= 1.0 <= high for low, high in intervals])
    assert 0.82 < covered < 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "confidence must be a number in"),
        ({"method": "basic"}, "method must be"),
        ({"n_resamples": 0}, "n_resamples must be a whole number >= 1"),
    ],
)
def test_bad_options_of_the_bootstrap(options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_interval([0.1, 0.2], **options)
    with pytest.raises(ValueError, match="at least 2 queries"):
        bootstrap_interval([0.1])


def test_holm_by_its_definition(rng):
    p = rng.uniform(size=9) ** 2
    order = np.argsort(p)
    expected = np.empty(9)
    for i in range(9):
        steps = [(9 - j) * p[order[j]] for j in range(i + 1)]
        expected[order[i]] = min(1.0, max(steps))
    np.testing.assert_allclose(holm_correction(p), expected)
    assert holm_correction([]).shape == (0,)
    with pytest.raises(ValueError, match=r"numbers in \[0, 1\]"):
        holm_correction([0.1, np.nan])


def test_tukey_of_two_systems_is_fishers_test(pair):
    values = np.column_stack(pair)
    n = 20_000
    p = tukey_hsd(values, n_permutations=n, random_state=0)
    exact = fisher_randomization_test(*pair).pvalue
    assert abs(p[0, 1] - exact) < 4 * np.sqrt(exact * (1 - exact) / n) + 1 / n
    np.testing.assert_array_equal(p, p.T)
    np.testing.assert_array_equal(np.diag(p), 1.0)


def test_tukey_by_enumeration(rng):
    values = rng.uniform(size=(4, 3))
    orders = list(itertools.permutations(range(3)))
    ranges = np.array(
        [
            np.ptp(np.mean([row[list(o)] for row, o in zip(values, chosen)], axis=0))
            for chosen in itertools.product(orders, repeat=4)
        ]
    )
    means = values.mean(axis=0)
    expected = [[np.mean(ranges >= abs(x - y) - 1e-12) for y in means] for x in means]
    p = tukey_hsd(values, n_permutations=20_000, random_state=0)
    np.testing.assert_allclose(p, expected, atol=0.015)


def test_tukey_is_never_below_the_uncorrected_test(rng):
    values = rng.uniform(size=(200, 4)) + [0, 0, 0.05, 0.1]
    p = tukey_hsd(values, n_permutations=2000, random_state=0)
    for i, j in itertools.combinations(range(4), 2):
        single = fisher_randomization_test(
            values[:, i], values[:, j], n_permutations=2000, random_state=0
        )
        assert p[i, j] >= single.pvalue - 0.03


ROUNDED = [[0.1, 0.2], [0.7, 0.8], [0.4, 0.3]]


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v,
        lambda v: v + 1e6,
        lambda v: -v,
        lambda v: v - 1e6,
        lambda v: 1e12 * v,
        lambda v: np.vstack([v + 1e6, [0.0, 0.0]]),
    ],
)
def test_permutations_that_equal_the_observation_but_for_rounding_count(change):
    """Differences of 0.1, 0.1 and -0.1 sum to 0.1 at least, whatever their signs."""
    values = change(np.array(ROUNDED))
    assert tukey_hsd(values, n_permutations=300, random_state=0)[0, 1] == 1.0


@pytest.mark.parametrize("factor", [1.0, -1.0, 1e12])
def test_signs_that_equal_the_observation_but_for_rounding_count(factor):
    values = factor * np.array(ROUNDED)
    assert fisher_randomization_test(*values.T).pvalue == 1.0


def test_tukey_counts_what_is_larger_and_nothing_else():
    """One of four permutations of the signs reaches the sum of all differences."""
    values = np.array([[0.1, 0.2], [0.7, 0.8], [0.3, 0.4]])
    p = tukey_hsd(values, n_permutations=8000, random_state=0)
    assert p[0, 1] == pytest.approx(0.25, abs=0.02)
    p = tukey_hsd(values * 1e-9, n_permutations=8000, random_state=0)
    assert p[0, 1] == pytest.approx(0.25, abs=0.02)


def test_tukey_of_systems_without_any_difference():
    p = tukey_hsd(np.zeros((3, 2)), n_permutations=50, random_state=0)
    np.testing.assert_array_equal(p, np.ones((2, 2)))


def test_tukey_needs_two_systems():
    with pytest.raises(ValueError, match="at least 2 queries"):
        tukey_hsd([[0.1], [0.2]])


def test_missing_values_are_named():
    holes = [0.1, pd.NA, 0.2]
    for run_test in (paired_t_test, wilcoxon_test, fisher_randomization_test):
        with pytest.raises(ValueError, match="b has 1 values that are not finite"):
            run_test([0.1, 0.2, 0.3], holes)
    with pytest.raises(ValueError, match="values has 1 values that are not finite"):
        bootstrap_interval(holes)
    with pytest.raises(ValueError, match=r"pvalues must be a vector of numbers in \[0"):
        holm_correction(holes)
    with pytest.raises(ValueError, match="a must hold numbers, got dtype <U1"):
        paired_t_test(["x", "y"], [1, 2])


@pytest.mark.parametrize("number", [np.int8(127), np.uint8(255), np.int16(32767)])
def test_numbers_of_draws_may_have_any_type(number, rng):
    a, b = rng.random(20), rng.random(20) + 0.1
    table = np.column_stack([a, b])
    for draw in (
        lambda n: tukey_hsd(table, n_permutations=n, random_state=0)[0, 1],
        lambda n: fisher_randomization_test(a, b, n_permutations=n, random_state=0),
        lambda n: bootstrap_interval(a, n_resamples=n, random_state=0).tolist(),
    ):
        assert draw(number) == draw(int(number))


# Differences 10, 1, 7, 2, 1, -1, -5, 1 and 0.
WHOLE = np.array([10, 1, 10, 4, 4, 1, 8, 4, 8.0]), np.array([0, 0, 3, 2, 3, 2, 9, 3, 8])


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
@pytest.mark.parametrize("divisor", [10, 3, 7, 1e-9, 1e200])
def test_differences_that_are_equal_but_for_rounding_are_ties(divisor, zero_method):
    a, b = WHOLE
    expected = wilcoxon_test(a, b, zero_method=zero_method)
    result = wilcoxon_test(a / divisor, b / divisor, zero_method=zero_method)
    assert result == expected
    signs = fisher_randomization_test(a / divisor, b / divisor)
    assert signs.pvalue == fisher_randomization_test(a, b).pvalue


def test_differences_that_are_small_but_no_rounding_are_no_ties():
    a = np.array([0.1, 0.1 + 1e-9, 0.1 + 2e-9, 0.1 + 3e-9])
    ranked = wilcoxon_test(a, np.array([0.0, 0.2 + 2e-9, 0.0, 0.0]))
    assert ranked.statistic == 1 - 2 + 3 + 4
    large = wilcoxon_test([1e60, 2.0, 1.0, 5.0], [0.0, 0.0, 4.0, 4.0])
    assert large.statistic == 4 + 2 - 3 + 1


@pytest.mark.parametrize("test", PAIRED)
def test_values_that_are_equal_but_for_rounding_have_p_one(test):
    a = np.full(12, 0.1 + 0.2)
    assert a[0] != 0.3
    assert test(a, np.full(12, 0.3)) == (0.0, 1.0)


def test_differences_that_are_constant_but_for_rounding():
    a, b = np.array([0.4, 0.7, 1.0, 0.3]), np.array([0.1, 0.4, 0.7, 0.0])
    assert np.ptp(a - b) > 0
    assert paired_t_test(a, b) == (np.inf, 0.0)


def test_drawn_signs_count_the_observed_ones():
    """Of 70 equal differences no draw of 50 finds all signs equal: p is 1 / 51."""
    result = fisher_randomization_test(
        np.ones(70), np.zeros(70), n_permutations=50, random_state=0
    )
    assert result.pvalue == 1 / 51


SKEWED = np.r_[np.zeros(30), 1.0]


@pytest.mark.parametrize("confidence", [1 - 1e-11, 1 - 1e-13, 1 - 1e-16])
@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("values", [SKEWED, -SKEWED, np.arange(5.0)])
def test_near_certainty_the_interval_covers_all_resamples(values, method, confidence):
    """There are too few of them to tell such levels apart."""
    options = {"n_resamples": 200, "random_state": 0}
    interval = bootstrap_interval(
        values, confidence=confidence, method=method, **options
    )
    rng = np.random.RandomState(0)
    drawn = values[rng.randint(0, len(values), size=(200, len(values)))].mean(axis=1)
    np.testing.assert_allclose(interval, [drawn.min(), drawn.max()], rtol=1e-7)


def test_intervals_grow_with_the_confidence():
    levels = [0.5, 0.9, 0.99, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12, 1 - 1e-15]
    for values in (SKEWED, -SKEWED, np.arange(9.0) ** 3):
        ends = [
            bootstrap_interval(values, confidence=c, random_state=0) for c in levels
        ]
        low, high = np.transpose(ends)
        assert (np.diff(low) <= 0).all()
        assert (np.diff(high) >= 0).all()


def test_a_confidence_of_any_type():
    expected = bootstrap_interval(SKEWED, confidence=0.25, random_state=0)
    for kind in (np.longdouble, np.float16):
        found = bootstrap_interval(SKEWED, confidence=kind(0.25), random_state=0)
        np.testing.assert_array_equal(found, expected)
    nearly_one = np.longdouble(1) - np.finfo(np.longdouble).eps
    low, high = bootstrap_interval(SKEWED, confidence=nearly_one, random_state=0)
    assert low == 0.0 < high


def test_resamples_that_equal_the_mean_count_half():
    """Means of 0 and 1 are symmetric: tenths of a binomial number, without bias."""
    interval = bootstrap_interval([0.0, 1.0] * 5, confidence=0.8, random_state=0)
    expected = stats.binom.ppf([0.1, 0.9], 10, 0.5) / 10
    np.testing.assert_allclose(interval, expected, rtol=1e-12)


def test_the_interval_of_equal_values_is_their_value():
    resampled = [np.full(n, 0.1).mean() for n in range(2, 30)]
    assert set(resampled) != {0.1}  # sums are rounded
    for n in range(2, 30):
        values = np.column_stack([np.full(n, 0.1), np.arange(n)])
        found = bootstrap_interval(values, n_resamples=50, random_state=0)
        np.testing.assert_array_equal(found[0], [0.1, 0.1])


def test_differences_beyond_rounding_have_ranks_of_their_own():
    differences = 1e-10 * np.array([1.0, 2.0, 3.0])
    assert wilcoxon_test(1.0 + differences, np.ones(3)).statistic == 6.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.1 + 0.2, 0.0, 0.9], [0.0, 0.3, 0.0]),
        ([0.3, 1e6, 0.9], [0.0, 1e6 + 0.3, 0.0]),
    ],
)
def test_differences_equal_but_for_rounding_share_a_rank(a, b):
    # Of .3, -.3 and .9, with their signs.
    assert wilcoxon_test(a, b).statistic == 1.5 - 1.5 + 3.0
    assert wilcoxon_test(a, b).pvalue == wilcoxon_test([3, 0, 9], [0, 3, 0]).pvalue


def test_a_difference_that_is_constant_but_for_rounding():
    assert paired_t_test([0.1, 1e6 + 0.1], [0.0, 1e6]).pvalue == 0.0


def test_statistics_equal_but_for_rounding_are_as_extreme():
    # Of the signs of .3, -.1 and -.2, five of eight sums are 0 or more.
    a, b = [0.3, 1e6, 1e6], [0.0, 1e6 + 0.1, 1e6 + 0.2]
    found = fisher_randomization_test(a, b, alternative="greater")
    assert found.pvalue == 5 / 8


def test_the_p_value_of_two_sides_is_at_most_one():
    # Both ends of the distribution hold the observation, which lies in its middle.
    assert wilcoxon_test([1.0, 0.0], [0.0, 1.0]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # The rounding of the larger number counts, whichever side it is on.
        ([0.1 + 0.2, 0.3, 0.0, 0.0, 0.4], [0.0, 0.0, 0.1, 0.2, 0.0], "pvalue"),
        ([0.0, 0.0, 0.1, 0.2, 0.0], [0.1 + 0.2, 0.3, 0.0, 0.0, 0.4], "pvalue"),
        ([100000.2, 0.0, 3.0], [100000.1, 0.1, 0.0], 3.0),
        ([0.3 * (1 + 1e-13), 0.3], [0.3, 0.1], 1.0),
    ],
)
def test_rounding_is_that_of_both_numbers(a, b, expected):
    found = wilcoxon_test(a, b)
    if expected == "pvalue":
        assert found.pvalue == 0.25
    else:
        assert found.statistic == expected


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1.0, 1e60, 1e200])
def test_the_t_test_has_no_unit(scale):
    a, b = scale * np.array([3.0, 5.0, 4.0]), scale * np.array([1.0, 2.0, 2.0])
    assert paired_t_test(a, b).statistic == pytest.approx(7.0, rel=1e-9)
