"""Tests of whether one ranker is better than another on the same queries.

Every function takes per-query arrays of an evaluation measure, aligned by query. The
randomisation tests draw their permutations in blocks, so memory stays bounded, and are
exact where the number of queries allows full enumeration.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.utils import check_random_state

from skrank._core._messages import shown
from skrank._core._parameters import Fraction, PositiveInt, Seed
from skrank._core._validation import as_numbers, check_options
from skrank.metrics._by_index import by_index

_BLOCK = 1 << 22  # so many numbers are drawn at a time: 32 MB of float64
_MOST_EXACT_RANKS = 50  # as in SciPy
_ROUNDING = 1e-12  # relative; values of a measure are right to about 1e-15

Alternative = Literal["two-sided", "greater", "less"]


class SignificanceResult(NamedTuple):
    """Outcome of a paired test.

    Attributes
    ----------
    statistic : float
        The test statistic; its sign is that of ``a - b``.
    pvalue : float
        Probability of a statistic at least as extreme as this one if both rankers were
        equal.
    """

    statistic: float
    pvalue: float


def _check_values(values, name, ndim=(1,)):
    values = as_numbers(values, name)
    if values.ndim not in ndim:
        raise ValueError(
            f"{name} must hold one value per query, got shape {values.shape}"
        )
    missing = ~np.isfinite(values)
    if missing.any():
        raise ValueError(
            f"{name} has {int(missing.sum())} values that are not finite, first at "
            f"query {int(np.argwhere(missing)[0, 0])}; leave out queries on which the "
            "measure is undefined, or set its empty_query rule"
        )
    return values


def scale_of(*arrays):
    """Power of two that brings values near one if sums of powers leave the range.

    The division by it is exact, and it is 1 for all values that measures usually have.
    """
    largest = max(float(np.abs(values).max(initial=0.0)) for values in arrays)
    if largest == 0 or 1e-60 < largest < 1e60:
        return 1.0
    # Neither the scale nor what is divided by it may leave the range of normal numbers.
    return float(np.ldexp(1.0, int(np.clip(np.frexp(largest)[1], -1021, 1023))))


def scales_of(columns):
    """Return powers of two by which columns can be divided before they are squared."""
    return np.array([scale_of(column) for column in columns.T])


def _differences(a, b):
    """Return the differences over a scale, their slack for rounding, and the scale.

    A difference within its slack is rounding alone, and is returned as 0.
    """
    given = {"a": a, "b": b}
    values = {name: _check_values(one, name) for name, one in given.items()}
    a, b = values.values()
    if a.shape != b.shape:
        raise ValueError(
            f"a and b must be aligned by query, got {len(a)} and {len(b)} values"
        )
    if len(a) < 2:
        raise ValueError(f"a test needs at least 2 queries, got {len(a)}")
    a, b = by_index(given, values, "query|queries").values()
    scale = scale_of(a, b)
    a, b = a / scale, b / scale
    slack = _ROUNDING * np.maximum(np.abs(a), np.abs(b))
    d = a - b
    return np.where(np.abs(d) <= slack, 0.0, d), slack, scale


def _rounding_as_ties(sizes, slack):
    """Replace numbers that differ from their neighbours within the slack by the least.

    Differences of decimals such as 0.3 - 0.2 and 0.2 - 0.1 are equal, but their doubles
    are not.
    """
    order = np.argsort(sizes, kind="stable")
    ordered, slack = sizes[order], slack[order]
    apart = np.diff(ordered) > np.maximum(slack[1:], slack[:-1])
    first = np.concatenate(([True], apart))
    tied = np.empty_like(sizes)
    tied[order] = ordered[first][np.cumsum(first) - 1]
    return tied


def _constant_difference(difference, alternative):
    """Limit of the t-test when every query has the same difference."""
    if difference == 0:
        return SignificanceResult(0.0, 1.0)
    favoured = {"two-sided": True, "greater": difference > 0, "less": difference < 0}
    statistic = np.copysign(np.inf, difference)
    return SignificanceResult(float(statistic), 0.0 if favoured[alternative] else 1.0)


def paired_t_test(
    a: npt.ArrayLike, b: npt.ArrayLike, *, alternative: Alternative = "two-sided"
) -> SignificanceResult:
    r"""Run Student's t-test on the differences of two rankers per query.

    .. math:: t = \bar d \, \big/ \, (s_d / \sqrt{n}), \quad d_q = a_q - b_q

    Parameters
    ----------
    a : array-like of shape (n_queries,)
        Values of a measure for the first ranker, one per query.
    b : array-like of shape (n_queries,)
        Values of the measure for the second ranker on the same queries. Two Series
        whose indices are labels are aligned by them; all else is by place.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Whether the mean of ``a`` differs from, exceeds or falls below that of ``b``.

    Returns
    -------
    SignificanceResult
        The statistic t, which has n - 1 degrees of freedom for n queries, and its
        p-value; equal arrays give a p-value of 1. Complexity: O(n).

    Raises
    ------
    ValueError
        If lengths or the queries of two indices differ, a value is not finite or there
        are fewer than 2 queries.

    Examples
    --------
    >>> from skrank.metrics import paired_t_test
    >>> result = paired_t_test([0.5, 0.7, 0.9], [0.4, 0.5, 0.8])
    >>> round(result.statistic, 6), round(result.pvalue, 4)
    (4.0, 0.0572)
    """
    check_options(paired_t_test, locals())
    d, slack, _ = _differences(a, b)
    if np.ptp(d) <= slack.max():
        return _constant_difference(d[0], alternative)
    result: Any = stats.ttest_1samp(d, 0.0, alternative=alternative)
    return SignificanceResult(float(result.statistic), float(result.pvalue))


def _signed_rank_tail(ranks, statistic):
    """P(sum of randomly signed ranks >= statistic), exact, ties included.

    The positive ranks sum to (total + statistic) / 2; average ranks are multiples of
    one half, so the distribution of twice that sum lives on integers.
    """
    doubled = np.rint(2 * ranks).astype(np.intp)
    ways = np.zeros(doubled.sum() + 1)
    ways[0] = 1.0
    for rank in doubled:
        moved = ways[: len(ways) - rank].copy()
        ways *= 0.5
        ways[rank:] += 0.5 * moved
    start = int(np.rint(ranks.sum() + statistic))
    return float(ways[start:].sum())


def wilcoxon_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    zero_method: Literal["wilcox", "pratt"] = "wilcox",
    alternative: Alternative = "two-sided",
) -> SignificanceResult:
    r"""Run Wilcoxon's signed-rank test on the differences of two rankers per query.

    .. math:: W = \sum_q \operatorname{sign}(d_q)\, R_q

    with :math:`R_q` the rank of :math:`|d_q|`, averaged over ties: differences that are
    equal up to rounding. Up to 50 queries with a difference the p-value is exact, ties
    or not; beyond, W is compared with a normal distribution of variance
    :math:`\sum_q R_q^2`.

    Parameters
    ----------
    a : array-like of shape (n_queries,)
        Values of a measure for the first ranker, one per query.
    b : array-like of shape (n_queries,)
        Values of the measure for the second ranker on the same queries. Two Series
        whose indices are labels are aligned by them; all else is by place.
    zero_method : {"wilcox", "pratt"}, default="wilcox"
        Whether queries without difference are dropped before (``"wilcox"``) or after
        ranking (``"pratt"``).
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Whether ``a`` differs from, exceeds or falls below ``b``.

    Returns
    -------
    SignificanceResult
        The statistic W and its p-value; equal arrays give a p-value of 1. Complexity:
        O(n log n) for n queries, and O(n³) if at most 50 of them differ.

    Raises
    ------
    ValueError
        If lengths or the queries of two indices differ, a value is not finite, there
        are fewer than 2 queries or an option is unknown.

    References
    ----------
    [Wilcoxon1945]_.

    Examples
    --------
    >>> from skrank.metrics import wilcoxon_test
    >>> wilcoxon_test([0.5, 0.7, 0.9], [0.4, 0.5, 0.6])
    SignificanceResult(statistic=6.0, pvalue=0.25)
    """
    check_options(wilcoxon_test, locals())
    d, slack, _ = _differences(a, b)
    if not d.any():
        return SignificanceResult(0.0, 1.0)
    if zero_method == "wilcox":
        d, slack = d[d != 0], slack[d != 0]
    sizes = _rounding_as_ties(np.abs(d), slack)
    ranks, d = stats.rankdata(sizes)[d != 0], d[d != 0]
    statistic = float(np.sum(np.sign(d) * ranks))
    if len(d) <= _MOST_EXACT_RANKS:
        tail = lambda w: _signed_rank_tail(ranks, w)
    else:
        spread = np.sqrt(np.sum(ranks**2))
        tail = lambda w: float(stats.norm.sf(w / spread))
    if alternative == "two-sided":
        pvalue = min(1.0, 2 * tail(abs(statistic)))
    else:
        pvalue = tail(statistic if alternative == "greater" else -statistic)
    return SignificanceResult(statistic, pvalue)


def _all_signs(n):
    """Blocks of all 2^n sign vectors of length n as 0/1 rows."""
    step = max(1, _BLOCK // n)
    for start in range(0, 1 << n, step):
        numbers = np.arange(start, min(start + step, 1 << n))[:, None]
        yield (numbers >> np.arange(n)) & 1


def _random_signs(n, n_permutations, rng):
    """Blocks of random sign vectors of length n as 0/1 rows."""
    step = max(1, _BLOCK // n)
    for start in range(0, n_permutations, step):
        rows = min(step, n_permutations - start)
        n_bytes = -(-n // 8)
        octets = np.frombuffer(rng.bytes(rows * n_bytes), dtype=np.uint8)
        yield np.unpackbits(octets.reshape(rows, n_bytes), axis=1, count=n)


def _at_least(sums, observed, alternative, slack):
    """Count the sums that are at least as extreme as the observed one."""
    if alternative == "two-sided":
        return int(np.count_nonzero(np.abs(sums) >= abs(observed) - slack))
    if alternative == "greater":
        return int(np.count_nonzero(sums >= observed - slack))
    return int(np.count_nonzero(sums <= observed + slack))


def fisher_randomization_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    n_permutations: PositiveInt = 100_000,
    alternative: Alternative = "two-sided",
    random_state: Seed = None,
) -> SignificanceResult:
    r"""Run Fisher's randomisation test on the mean difference of two rankers.

    If the rankers were equal, each query could as well have given :math:`-d_q` in place
    of :math:`d_q`. The p-value is the share of sign vectors with

    .. math:: \Big|\tfrac1n \sum_q s_q d_q\Big| \ge \Big|\tfrac1n \sum_q d_q\Big|.

    All :math:`2^m` vectors are enumerated, m being the number of queries with a
    difference, if they are no more than ``n_permutations``; otherwise that many are
    drawn, and the observed one is counted as one of them.

    Parameters
    ----------
    a : array-like of shape (n_queries,)
        Values of a measure for the first ranker, one per query.
    b : array-like of shape (n_queries,)
        Values of the measure for the second ranker on the same queries. Two Series
        whose indices are labels are aligned by them; all else is by place.
    n_permutations : int, default=100_000
        Largest number of sign vectors.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Whether the mean of ``a`` differs from, exceeds or falls below that of ``b``.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    SignificanceResult
        The mean difference and its p-value. Complexity: O(n n_permutations) for n
        queries.

    Raises
    ------
    ValueError
        If lengths or the queries of two indices differ, a value is not finite, there
        are fewer than 2 queries or ``n_permutations`` is below 1.

    References
    ----------
    [Smucker2007]_.

    Examples
    --------
    >>> from skrank.metrics import fisher_randomization_test
    >>> result = fisher_randomization_test([0.5, 0.7, 0.9], [0.4, 0.5, 0.6])
    >>> round(result.statistic, 6), result.pvalue
    (0.2, 0.25)
    """
    check_options(fisher_randomization_test, locals())
    d, slack, scale = _differences(a, b)
    changed = d[d != 0]
    m = len(changed)
    if m == 0:
        return SignificanceResult(0.0, 1.0)
    n_permutations = int(n_permutations)  # of no small type, in which products wrap
    exact = m < 62 and 1 << m <= n_permutations
    rng = check_random_state(random_state)
    blocks = _all_signs(m) if exact else _random_signs(m, n_permutations, rng)
    total = changed.sum()
    # Sums of the same numbers in another order differ by rounding; they count as equal.
    rounding = slack[d != 0].sum()
    hits = sum(
        _at_least(total - 2.0 * (block @ changed), total, alternative, rounding)
        for block in (block.astype(np.float64) for block in blocks)
    )
    # The observed signs are one of the draws, so that the p-value is never 0.
    pvalue = hits / (1 << m) if exact else (hits + 1) / (n_permutations + 1)
    return SignificanceResult(float(d.mean()) * scale, pvalue)


def _resampled_means(values, n_resamples, rng):
    """Means of bootstrap samples of the rows, shape (n_resamples, n_columns)."""
    n = len(values)
    step = max(1, _BLOCK // n)
    means = np.empty((n_resamples, values.shape[1]))
    for start in range(0, n_resamples, step):
        rows = min(step, n_resamples - start)
        cells = rng.randint(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(cells.ravel(), minlength=rows * n).reshape(rows, n)
        means[start : start + rows] = counts.astype(np.float64) @ values / n
    return means


def _bca_levels(values, means, tail):
    """Percentile levels corrected for bias and skewness, (2, n_columns)."""
    centre = values.mean(axis=0)
    # Sums of the same numbers in another order differ by rounding; they count as equal.
    slack = len(values) * np.finfo(np.float64).eps * np.abs(values).mean(axis=0)
    equal = np.abs(means - centre) <= slack
    lower = (means < centre) & ~equal
    below = lower.mean(axis=0) + 0.5 * equal.mean(axis=0)
    bias = stats.norm.ppf(np.clip(below, 1e-12, 1 - 1e-12))
    deviation = values - centre
    spread = np.sum(deviation**2, axis=0) ** 1.5
    skew = np.sum(deviation**3, axis=0) / np.where(spread > 0, 6 * spread, 1.0)
    z = bias + np.array([[-1.0], [1.0]]) * stats.norm.isf(tail)
    # Towards 1 / skew, the corrected level tends to the end of the distribution, and
    # from there on it stays: the formula would go on at the other end.
    denominator = 1 - skew * z
    within = (denominator > 0) & np.isfinite(z)
    corrected = np.divide(z, denominator, out=np.copysign(np.inf, z), where=within)
    return stats.norm.cdf(bias + corrected)


def bootstrap_interval(
    values: npt.ArrayLike,
    *,
    confidence: Fraction = 0.95,
    n_resamples: PositiveInt = 10_000,
    method: Literal["bca", "percentile"] = "bca",
    random_state: Seed = None,
) -> np.ndarray:
    """Return a bootstrap confidence interval of the mean over queries.

    Queries are drawn with replacement. ``"bca"`` corrects the percentiles for bias and
    for skewness; the acceleration that this takes has a closed form for the mean.

    Parameters
    ----------
    values : array-like of shape (n_queries,) or (n_queries, n_systems)
        Values of a measure, one per query. All columns share the same resamples.
    confidence : float, default=0.95
        Coverage of the interval, in (0, 1).
    n_resamples : int, default=10_000
        Number of bootstrap samples.
    method : {"bca", "percentile"}, default="bca"
        Kind of the interval.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (2,) or (n_systems, 2)
        Lower and upper end of the interval. Complexity: O(n_queries n_resamples
        n_systems).

    Raises
    ------
    ValueError
        If a value is not finite, there are fewer than 2 queries or an option is
        unknown.

    References
    ----------
    [Efron1987]_.

    Examples
    --------
    >>> from skrank.metrics import bootstrap_interval
    >>> bootstrap_interval([0.5] * 10, random_state=0)
    array([0.5, 0.5])
    """
    check_options(bootstrap_interval, locals())
    values = _check_values(values, "values", ndim=(1, 2))
    if len(values) < 2:
        raise ValueError(
            f"values must hold at least 2 queries for an interval, got {len(values)}"
        )
    columns = values.reshape(len(values), -1)
    scales = scales_of(columns)
    columns = columns / scales
    means = _resampled_means(
        columns, int(n_resamples), check_random_state(random_state)
    )
    tail = (1 - float(confidence)) / 2  # to full precision, unlike 0.5 + confidence / 2
    if method == "bca":
        levels = _bca_levels(columns, means, tail)
    else:
        levels = np.repeat([[tail], [1 - tail]], columns.shape[1], axis=1)
    ends = [np.quantile(means[:, i], levels[:, i]) for i in range(columns.shape[1])]
    # The mean of equal values is that value, free of the rounding of resampled sums.
    constant = np.ptp(columns, axis=0) == 0
    interval = np.where(constant[:, None], columns[0][:, None], np.array(ends))
    interval = interval * scales[:, None]
    return interval[0] if values.ndim == 1 else interval


def holm_correction(pvalues: npt.ArrayLike) -> np.ndarray:
    r"""Adjust p-values for several tests by Holm's step-down method.

    .. math:: \tilde p_{(i)} = \min\big(1, \max_{j \le i} (m - j + 1)\, p_{(j)}\big)

    Parameters
    ----------
    pvalues : array-like of shape (n_tests,)
        P-values of one family of tests.

    Returns
    -------
    ndarray of shape (n_tests,)
        Adjusted p-values, in the order of the input; comparing them with a level
        bounds the probability of any false discovery by that level. Complexity:
        O(m log m) for m tests.

    Raises
    ------
    ValueError
        If a value does not lie in [0, 1].

    References
    ----------
    [Holm1979]_.

    Examples
    --------
    >>> from skrank.metrics import holm_correction
    >>> holm_correction([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = as_numbers(pvalues, "pvalues")
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError(
            f"pvalues must be a vector of numbers in [0, 1], got {shown(pvalues)}"
        )
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _permuted_ranges(values, n_permutations, rng) -> Iterator[np.ndarray]:
    """Blocks of max - min of the column means after shuffling within each row."""
    n, k = values.shape
    step = max(1, _BLOCK // (n * k))
    for start in range(0, n_permutations, step):
        rows = min(step, n_permutations - start)
        places = rng.random_sample((rows, n, k)).argsort(axis=2)
        means = np.take_along_axis(values[None], places, axis=2).mean(axis=1)
        yield np.ptp(means, axis=1)


def tukey_hsd(
    values: npt.ArrayLike,
    *,
    n_permutations: PositiveInt = 10_000,
    random_state: Seed = None,
) -> np.ndarray:
    r"""Run the randomised Tukey test on all pairs of several rankers.

    Under the hypothesis that all rankers are equal, the values of a query may be
    exchanged among them. The p-value of a pair is the share of permutations whose
    largest difference of means reaches the observed difference of the pair:

    .. math:: p_{ij} = \Pr\big(\max_k \bar x^*_k - \min_k \bar x^*_k
                \ge |\bar x_i - \bar x_j|\big),

    which controls the probability of any false discovery over all pairs.

    Parameters
    ----------
    values : array-like of shape (n_queries, n_systems)
        Values of a measure for each ranker (columns) on every query (rows).
    n_permutations : int, default=10_000
        Number of permutations, not counting the observed one.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (n_systems, n_systems)
        Symmetric matrix of p-values, 1 on the diagonal.
        Complexity: O(n_queries n_systems log(n_systems) n_permutations).

    Raises
    ------
    ValueError
        If a value is not finite, or there are fewer than 2 queries or systems.

    References
    ----------
    [Carterette2012]_, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import tukey_hsd
    >>> values = np.repeat([[0.1, 0.1, 0.9]], 40, axis=0)
    >>> tukey_hsd(values, n_permutations=999, random_state=0)
    array([[1.   , 1.   , 0.001],
           [1.   , 1.   , 0.001],
           [0.001, 0.001, 1.   ]])
    """
    check_options(tukey_hsd, locals())
    values = _check_values(values, "values", ndim=(2,))
    if min(values.shape) < 2:
        raise ValueError(
            "values must have at least 2 queries (rows) and 2 systems (columns), got "
            f"shape {values.shape}"
        )
    values = values / scale_of(values)
    means = values.mean(axis=0)
    observed = np.abs(means[:, None] - means)
    threshold = observed - 1e-12 * np.abs(values).max()
    hits = np.ones(observed.shape)
    n_permutations = int(n_permutations)
    for ranges in _permuted_ranges(
        values, n_permutations, check_random_state(random_state)
    ):
        hits += (ranges[:, None, None] >= threshold).sum(axis=0)
    return hits / (n_permutations + 1)
