"""Measures at the ends of the range of doubles, and without anything to measure.

Expected values come from invariances: only the order of scores counts, only ratios of
weights and of linear gains, and relevance is a matter of a level.
"""

import re
from decimal import Decimal

import numpy as np
import pytest
from _labels import label
from sklearn.exceptions import UndefinedMetricWarning

import skrank.metrics
from skrank._core._registry import public_classes
from skrank.inspection import RankingCurveDisplay, query_permutation_importance
from skrank.metrics import (
    BaseMeasure,
    MeanSquaredError,
    average_precision,
    bootstrap_interval,
    compare,
    dcg_score,
    err_score,
    evaluate_measure,
    fisher_randomization_test,
    get_measure,
    make_ranking_scorer,
    mean_ndcg_score,
    ndcg_score,
    paired_t_test,
    query_mean_squared_error,
    query_weights,
    trec_measures,
    tukey_hsd,
    wilcoxon_test,
)

MEASURES = [
    cls(**options)
    for cls in public_classes(skrank.metrics, BaseMeasure)
    for options in cls._variants()
]
OF_RANKINGS = [m for m in MEASURES if not isinstance(m, MeanSquaredError)]
Y = np.array([0, 1, 2, 0, 1, 2, 4, 0.0])
SCORES = np.array([1, -2, 3, 0, 4, 2, -1, 2.0])
GROUPS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
HUGE, TINY = 2.0**1020, 2.0**-1070


def values(measure, y=Y, scores=SCORES, **options):
    return evaluate_measure(
        measure, y, scores, groups=GROUPS, per_query=True, **options
    )


each_measure = pytest.mark.parametrize("measure", MEASURES, ids=label)
each_measure_of_rankings = pytest.mark.parametrize("measure", OF_RANKINGS, ids=label)


@pytest.mark.parametrize("factor", [HUGE, TINY, 1e300, 5e-324])
@each_measure_of_rankings
def test_only_the_order_of_scores_counts(measure, factor):
    np.testing.assert_array_equal(
        values(measure, scores=SCORES * factor), values(measure)
    )


@each_measure_of_rankings
def test_scores_of_plus_infinity_and_of_minus_zero(measure):
    infinite = np.where(SCORES == 3, np.inf, SCORES)
    np.testing.assert_array_equal(values(measure, scores=infinite), values(measure))
    minus = np.where(SCORES == 0, -0.0, SCORES)
    np.testing.assert_array_equal(values(measure, scores=minus), values(measure))
    grades = np.where(Y == 0, -0.0, Y)
    np.testing.assert_array_equal(values(measure, y=grades), values(measure))


@each_measure
def test_only_ratios_of_weights_count(measure):
    weights = np.array([1, 2, 3, 4, 0, 1, 0, 1.0])
    options = {"groups": GROUPS}
    expected = evaluate_measure(measure, Y, SCORES, sample_weight=weights, **options)
    for factor in (2.0**300, 2.0**-300):
        got = evaluate_measure(
            measure, Y, SCORES, sample_weight=weights * factor, **options
        )
        assert got == pytest.approx(expected, rel=1e-15)
    for factor in (HUGE, TINY):
        with pytest.raises(ValueError, match="the largest sample_weight must lie from"):
            evaluate_measure(
                measure, Y, SCORES, sample_weight=weights * factor, **options
            )
        own = measure.per_query(Y, SCORES, np.array([0, 4, 8]))
        mean = measure.mean(own, np.array([2.0, 1.0]) * factor)
        assert mean == pytest.approx(measure.mean(own, [2.0, 1.0]))


@pytest.mark.parametrize("name", ["map", "mrr", "p@2", "recall@2", "rprec", "bpref"])
@pytest.mark.parametrize("grade", [1e300, 1.7e308, 1e-310, 5e-324])
def test_relevance_is_a_matter_of_a_level(name, grade):
    y = np.where(Y > 0, grade, 0.0)
    expected = values(name, y=np.where(Y > 0, 1.0, 0.0))
    np.testing.assert_array_equal(values(name, y=y), expected)


@pytest.mark.parametrize("name", ["kendall", "spearman", "rbo", "pairwise_accuracy"])
@pytest.mark.parametrize("factor", [2.0**1021, TINY])
def test_only_the_order_of_grades_counts_in_correlations(name, factor):
    np.testing.assert_array_equal(values(name, y=Y * factor), values(name))


@pytest.mark.parametrize("name", ["ndcg(gain=linear)", "meanndcg(gain=linear)"])
def test_only_ratios_of_linear_gains_count(name):
    for factor in (2.0**950, 2.0**-950):
        np.testing.assert_array_equal(values(name, y=Y * factor), values(name))


@pytest.mark.parametrize("function", [dcg_score, ndcg_score])
@pytest.mark.parametrize("k", [2, None, 70])
def test_gains_that_cannot_be_summed_are_named(function, k):
    for y, gain, message in [
        (Y * HUGE, "linear", r"gain must be 0 or from 1e-290 to 1e\+290 for every gra"),
        (Y * TINY, "linear", r"gain must be 0 or from 1e-290 to 1e\+290 for every gra"),
        (Y, [0, 1e300, 1, 1, 1], r"gain must be 0 or from 1e-290 to 1e\+290"),
        (Y, [0, np.inf, 1, 1, 1], "gain must be finite and not negative"),
        (Y * 300, "exp2", "gain='exp2' overflows for grade 1200; use gain='linear'"),
        (Y * HUGE, [0, 1, 2, 3, 4], r"gain has 5 entries.*but y holds grade 4\.49"),
    ]:
        with pytest.raises(ValueError, match=message):
            function(y, SCORES, groups=GROUPS, gain=gain, k=k)
    # The highest grade that exp2 takes, in every row.
    highest = np.full(8, 960.0)
    assert np.isfinite(function(highest, SCORES, groups=GROUPS, k=k))


@pytest.mark.parametrize("grade", [0.25, 1.5, 30.0, *np.arange(60.0, 71.0), 900.0])
def test_gains_of_large_grades_are_those_of_the_formula(grade):
    # Up to some grade they are whole numbers of 64 bits, with a place for the sign.
    expected = np.expm1(grade * np.log(2.0)) if grade < 1.0 else 2.0**grade - 1.0
    for k in (1, None):
        found = dcg_score([grade, 0], [1, 0], groups=[1, 1], k=k)
        assert found == pytest.approx(expected, rel=1e-15)


def test_errors_that_cannot_be_squared_are_named():
    with pytest.raises(ValueError, match=r"mse needs scores within 1e\+145 of the gra"):
        query_mean_squared_error(Y, SCORES * 1e200, groups=GROUPS)
    with pytest.raises(ValueError, match="because it sums squares; y_score and y diff"):
        query_mean_squared_error(Y, SCORES * 1e200, groups=GROUPS)
    with pytest.raises(ValueError, match="mse needs finite scores; y_score holds inf"):
        query_mean_squared_error(Y, np.where(SCORES == 3, -np.inf, 0), groups=GROUPS)
    largest = 2.0**480
    value = query_mean_squared_error([0, 0], [largest, 0], groups=[0, 0])
    assert value == largest**2 / 2


def test_weights_of_pairs_that_cannot_be_summed():
    measure = get_measure("kendall").set_params(
        variant="set", weight=lambda high, low: high - low
    )
    factor = 2.0**1021
    np.testing.assert_array_equal(values(measure, y=Y * factor), values(measure))
    measure.set_params(weight=lambda high, low: np.full(len(high), np.inf))
    with pytest.raises(ValueError, match="weight must be finite for all pairs of grad"):
        values(measure)


# Significance -------------------------------------------------------------------------

A = np.array([0.5, 0.25, 0.75, 1.0, 0.5, 0.125])
B = np.array([0.25, 0.5, 0.25, 0.75, 0.125, 0.125])
factors = pytest.mark.parametrize("factor", [2.0**1023, 2.0**500, 2.0**-500, TINY])


@factors
@pytest.mark.parametrize("test", [paired_t_test, wilcoxon_test])
def test_statistics_do_not_depend_on_the_unit(test, factor):
    assert test(A * factor, B * factor) == test(A, B)
    assert test(A * factor, -A * factor) == test(A, -A)


@factors
def test_differences_and_intervals_scale_with_the_unit(factor):
    expected = fisher_randomization_test(A, B)
    got = fisher_randomization_test(A * factor, B * factor)
    assert got.pvalue == expected.pvalue
    assert got.statistic == pytest.approx(
        expected.statistic * factor, rel=1e-12, abs=TINY
    )
    for method in ("bca", "percentile"):
        options = {"method": method, "n_resamples": 200, "random_state": 0}
        np.testing.assert_allclose(
            bootstrap_interval(A * factor, **options),
            bootstrap_interval(A, **options) * factor,
            rtol=1e-12,
            atol=TINY,
        )
    both = np.column_stack([A, B])
    options = {"n_permutations": 200, "random_state": 0}
    np.testing.assert_array_equal(
        tukey_hsd(both * factor, **options), tukey_hsd(both, **options)
    )


# What evaluates measures --------------------------------------------------------------


class FirstFeature:
    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_scorers_tables_curves_and_importances_of_huge_scores():
    X = np.column_stack([SCORES, np.arange(8.0)])
    large = X * [[1e300, 1.0]]
    scorer = make_ranking_scorer(["ndcg@3", "map"])
    assert scorer(FirstFeature(), large, Y, GROUPS) == scorer(
        FirstFeature(), X, Y, GROUPS
    )
    tables = [
        compare(
            {"a": scores, "b": -scores}, Y, GROUPS, n_permutations=20, n_resamples=20
        )
        for scores in (SCORES, SCORES * 1e300)
    ]
    np.testing.assert_array_equal(tables[0].means, tables[1].means)
    np.testing.assert_array_equal(tables[0].intervals, tables[1].intervals)
    importances = [
        query_permutation_importance(
            FirstFeature(), rows, Y, GROUPS, random_state=0
        ).importances
        for rows in (X, large)
    ]
    np.testing.assert_array_equal(*importances)
    curves = [
        RankingCurveDisplay.from_predictions(Y, {"a": scores}, GROUPS, k=[1, 2]).curves
        for scores in (SCORES, SCORES * 1e300)
    ]
    np.testing.assert_array_equal(curves[0]["a"], curves[1]["a"])


def test_trec_measures_of_huge_numbers():
    run = {"q": {"a": 1e300, "b": 1e299, "c": -1e300}}
    assert trec_measures({"q": {"c": 1}}, run, "recip_rank").summary["recip_rank"] == (
        pytest.approx(1 / 3)
    )
    with pytest.raises(
        ValueError, match=r"qrels holds a grade beyond 1e\+100, whose su"
    ):
        trec_measures({"q": {"a": 1e300}}, run, "ndcg")


# Nothing to measure -------------------------------------------------------------------


def test_a_level_that_no_grade_reaches_is_reported():
    message = r"map\(rel=9\) is undefined: no query carries information \(empty_query="
    with pytest.warns(UndefinedMetricWarning, match=message + "'skip' leaves out"):
        assert np.isnan(evaluate_measure("map(rel=9)", Y, SCORES, groups=GROUPS))
    with pytest.warns(UndefinedMetricWarning, match=message + "'skip' leaves out"):
        assert np.isnan(values("map(rel=9)")).all()
    for per_query in (False, True):
        with pytest.warns(
            UndefinedMetricWarning, match=message + "0.0 is the value of"
        ):
            value = average_precision(
                Y,
                SCORES,
                groups=GROUPS,
                relevance_level=9,
                preset="letor3",
                per_query=per_query,
            )
        np.testing.assert_array_equal(value, 0.0)
    rule = {"empty_query": 0.0, "relevance_level": 9}
    scorer = make_ranking_scorer("map", **rule)
    with pytest.warns(UndefinedMetricWarning, match=message + "0.0 is the value of"):
        assert scorer(FirstFeature(), SCORES[:, None], Y, GROUPS) == 0
    with pytest.warns(UndefinedMetricWarning, match=message + "0.0 is the value of"):
        table = compare(
            {"a": SCORES},
            Y,
            GROUPS,
            measures=[get_measure("map").set_params(**rule)],
            n_resamples=20,
        )
    assert table.means[0, 0] == 0


RATINGS = np.array([1.0, 5, 3, 2, 4])
OF_RATINGS = np.array([7, 7, 7, 8, 8])


@pytest.mark.parametrize(
    "name",
    ["map", "mrr", "p@2", "recall@2", "f@2", "success@1", "rbp", "rprec", "bpref"],
)
def test_measures_that_find_every_document_relevant(name):
    warned = r" finds every document of every query relevant, .* as in 'map\(rel=4\)'$"
    measure = get_measure(name)
    scores = -RATINGS
    with pytest.warns(UndefinedMetricWarning, match=re.escape(measure.name) + warned):
        evaluate_measure(name, RATINGS, scores, groups=OF_RATINGS)
    # No warning where the level tells documents apart, grades do not differ, there is
    # one query, lists have one document, or a ranking lacks some documents.
    for y, run, groups in [
        (np.append(RATINGS, 0), np.append(scores, 0), np.append(OF_RATINGS, 8)),
        (np.ones(5), scores, OF_RATINGS),
        (RATINGS, scores, np.ones(5)),
        (RATINGS, scores, np.arange(5)),
        (RATINGS, np.where(RATINGS == 2, -np.inf, scores), OF_RATINGS),
    ]:
        evaluate_measure(measure, y, run, groups=groups)
    evaluate_measure(
        measure.set_params(relevance_level=4), RATINGS, scores, groups=OF_RATINGS
    )
    evaluate_measure("ndcg", RATINGS, scores, groups=OF_RATINGS)


def test_every_document_counts_for_whether_all_are_relevant():
    y = np.append(np.full(2000, 2.0), [1.0, 0.0])
    groups = np.arange(len(y)) // 2
    assert 0 < evaluate_measure("map", y, np.arange(len(y)), groups=groups) < 1


def test_one_query_that_carries_information_is_enough():
    y = np.r_[np.zeros(4), Y[4:]]
    np.testing.assert_array_equal(np.isnan(values("map", y=y)), [True, False])
    assert values("map(empty_query=0)", y=y)[0] == 0
    # The value of a single query that is without information was given by the user.
    assert average_precision([0, 0], [1, 2], groups=[0, 0], empty_query=0.5) == 0.5


@pytest.mark.parametrize("ties", ["average", "stable"])
@pytest.mark.parametrize("k", [3, None])
def test_gains_of_small_grades_have_all_digits(k, ties):
    # 2^y - 1 is y ln 2 but for terms that are below the last digit.
    y, scores = np.array([1e-17, 2e-17, 0.0]), [3.0, 2.0, 1.0]
    groups = np.zeros(3)
    discount = 1 / np.log2([2, 3, 4])
    found = dcg_score(y, scores, groups=groups, k=k, ties=ties)
    assert found == pytest.approx(np.log(2) * (y @ discount), rel=1e-15)
    expected = (y @ discount) / (np.sort(y)[::-1] @ discount)
    found = ndcg_score(y, scores, groups=groups, k=k, ties=ties)
    assert found == pytest.approx(expected, rel=1e-15)
    if ties == "average" and k is None:
        means = np.cumsum(y * discount) / np.cumsum(np.sort(y)[::-1] * discount)
        found = mean_ndcg_score(y, scores, groups=groups)
        assert found == pytest.approx(means.mean(), rel=1e-15)
        found = err_score(y, scores, groups=groups, max_grade=1)
        assert found == pytest.approx(
            np.log(2) * (y @ [1 / 2, 1 / 4, 1 / 6]), rel=1e-15
        )


def test_gains_of_small_grades_are_those_of_long_arithmetic():
    log2 = Decimal(2).ln()
    for y in (3e-9, 1e-3, 0.1, 0.3, 0.4999999999999999, 0.5, 0.7, 1.5):
        expected = float((Decimal(y) * log2).exp() - 1)
        for k in (1, None, 100):  # selected, sorted by the kernel, ranked before
            found = dcg_score([y], [1.0], groups=[0], k=k)
            assert found == pytest.approx(expected, rel=6e-16), (y, k)


def test_gains_of_whole_grades_are_exact():
    grades = np.arange(53.0)
    found = dcg_score(grades, grades, groups=np.arange(53), per_query=True)
    np.testing.assert_array_equal(found[1:], 2.0 ** grades[1:] - 1)


def test_grades_whose_gains_lose_digits_near_zero_are_refused():
    message = r"needs grades that are 0 or at least 2e-290, got 1e-300; scale the"
    for score in (ndcg_score, dcg_score, mean_ndcg_score):
        with pytest.raises(ValueError, match=message):
            score([1e-300, 0.0, 3.0], [1.0, 2.0, 3.0], groups=[0, 0, 0])


def test_measures_refuse_negative_grades_that_nobody_checked():
    with pytest.raises(
        ValueError, match="grades that are 0 or at least 2e-290, got -1"
    ):
        get_measure("ndcg").per_query(np.array([-1.0, 2.0]), np.zeros(2), [0, 2])


def test_weights_of_queries_have_a_finite_sum():
    with pytest.raises(
        ValueError, match=r"sum over a query is finite, found .* 1e\+308"
    ):
        query_weights(np.full(4, 1e308), [0, 4])
    assert query_weights(np.full(4, 1e308), [0, 1, 2, 3, 4]).tolist() == [1e308] * 4
