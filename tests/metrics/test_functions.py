"""Functions on user input: queries, weights, presets and error messages."""

import inspect
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank.metrics import (
    PRESETS,
    _functions,
    average_precision,
    evaluate_measure,
    get_measure,
    kendall_tau,
    ndcg_score,
    precision_at_k,
    rank_biased_overlap,
    winning_number,
)

FUNCTIONS = {
    name: function
    for name, function in vars(_functions).items()
    if hasattr(function, "measure_class")
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_equals_measure_on_rows_in_any_order(name, ragged):
    _, y, groups = ragged
    y = y + np.arange(len(y)) * 1e-3  # a total order, for every variant
    y[0] = 0.0  # or else all documents were relevant
    scores = np.cos(np.arange(len(y)))
    function = FUNCTIONS[name]
    order = np.argsort(groups, kind="stable")
    ptr = np.r_[0, np.cumsum(np.bincount(groups))]
    measure = function.measure_class()
    expected = measure.per_query(y[order], scores[order], ptr)
    values = function(y, scores, groups=groups, per_query=True)
    np.testing.assert_array_equal(values, expected)
    assert function(y, scores, groups=groups) == measure.mean(expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_is_that_of_the_class_and_of_all_functions(name):
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    shared = ["groups", "sample_weight", "preset", "docids", "per_query", "n_jobs"]
    own = inspect.signature(function.measure_class).parameters
    assert set(parameters) == {"y_true", "y_score", *shared, *own}
    for key, parameter in own.items():
        assert parameters[key].default == parameter.default
    with pytest.raises(TypeError, match=f"^{name} takes no cutoff; it takes groups, "):
        function([1], [1], groups=[0], cutoff=3)


def test_values_come_in_the_order_of_query_ids():
    groups = ["b", "b", "a", "a"]
    values = average_precision(
        [1, 0, 0, 1], [2, 1, 2, 1], groups=groups, per_query=True
    )
    np.testing.assert_array_equal(values, [0.5, 1.0])  # "a", then "b"


def test_groups_from_a_pandas_index():
    index = pd.MultiIndex.from_arrays([[0, 1], ["q", "q"]], names=["doc", "qid"])
    assert ndcg_score(pd.Series([1, 0], index=index), [1.0, 2.0]) < 1


def test_missing_groups_are_an_error_that_names_both_ways():
    with pytest.raises(ValueError, match=r"ndcg_score needs .*Pass groups=.*qid"):
        ndcg_score([1, 0], [1, 2])
    with skrank.config_context(assume_single_query=True):
        assert ndcg_score([1, 0], [1, 0]) == 1


def test_sample_weight_is_that_of_rows():
    y, scores, groups = [1, 0, 1, 0], [2, 1, 1, 2], [0, 0, 1, 1]
    value = average_precision(y, scores, groups=groups, sample_weight=[1, 3, 1, 1])
    assert value == (2 * 1.0 + 1 * 0.5) / 3
    repeated = average_precision(y + y[:2], scores + scores[:2], groups=[*groups, 2, 2])
    assert value == repeated


def test_options_of_the_call_win_over_the_preset():
    y, scores, groups = [2, 1, 0], [1, 2, 3], [0, 0, 0]
    linear = ndcg_score(y, scores, groups=groups, preset="sklearn")
    exp2 = ndcg_score(y, scores, groups=groups, preset="sklearn", gain="exp2")
    assert linear != exp2 == ndcg_score(y, scores, groups=groups)
    assert get_measure("ndcg@5", preset="lightgbm").empty_query == 1.0
    assert get_measure("map@5", preset="lightgbm").denominator == "reachable"
    assert get_measure("ndcg(gain='linear')", preset="letor4").gain == "linear"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_gives_valid_measures(preset):
    for name in ("ndcg@3", "dcg", "map", "mrr", "err", "rbp", "p@3", "auc", "bpref"):
        value = evaluate_measure(
            name,
            [1, 0, 2],
            [1, 2, 3],
            groups=[0, 0, 0],
            preset=preset,
            docids=[1, 2, 3],
        )
        assert np.isfinite(value)


@pytest.mark.parametrize(
    ("y", "scores", "options", "message"),
    [
        ([1, np.nan], [1, 2], {}, "Input y_true contains NaN"),
        ([1, -1], [1, 2], {}, "row 1 has -1"),
        ([1, 0], [1, np.nan], {}, "y_score contains NaN"),
        ([1, 0], [1], {}, "y_score has 1 scores for 2 documents"),
        ([], [], {}, "y_true is empty"),
        ([1, 0], [1, 2], {"groups": [2]}, "look like group sizes"),
        ([1, 0], [1, 2], {"sample_weight": [1]}, "sample_weight"),
        ([1, 0], [1, 2], {"docids": [1]}, "docids must hold one id per row"),
        ([1, 0], [1, 2], {"preset": "ranklib"}, "preset must be one of 'skrank'"),
        ([1, 0], [1, 2], {"preset": "trec_eval"}, "pass docids="),
        ([1, 0], [1, 2], {"ties": "fair"}, "NDCG: ties must be 'average', 'stable'"),
    ],
)
def test_bad_input(y, scores, options, message):
    with pytest.raises(ValueError, match=message):
        ndcg_score(y, scores, **{"groups": [0] * len(y), **options})


def test_precision_of_lists_shorter_than_k():
    assert precision_at_k([1, 1], [1, 2], groups=[0, 0], k=4) == 0.5


def test_liu_kendall_example_and_weights():
    """Liu (2011), after eq. 1.11: the two orders give 2/3 and 1/3."""
    options = {"groups": [0, 0, 0]}
    ranking = [3, 2, 1]
    for total_order, tau in (([3, 1, 2], 2 / 3), ([2, 1, 3], 1 / 3)):
        value = kendall_tau(total_order, ranking, variant="order", **options)
        assert value == pytest.approx(tau)
    assert kendall_tau([1, 0, 1], ranking, variant="set", **options) == pytest.approx(
        2 / 3
    )
    # weights 1, 2, 1 of the pairs (3,2), (3,1), (2,1); only (3,1) and (2,1) wrong
    value = kendall_tau(
        [3, 2, 1],
        [2, 3, 1],
        variant="order",
        weight=lambda higher, lower: higher - lower,
        **options,
    )
    assert value == pytest.approx((2 + 1) / 4)


def test_weighted_kendall_with_unit_weight_is_the_plain_one(ragged):
    _, y, groups = ragged
    scores = np.round(np.sin(np.arange(len(y))), 1)
    plain, weighted = (
        kendall_tau(y, scores, groups=groups, variant="set", weight=w, per_query=True)
        for w in (None, lambda higher, lower: np.ones(len(higher)))
    )
    np.testing.assert_allclose(plain, weighted)


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_weighted_kendall_of_several_infinite_scores(infinity):
    """Equal scores are equal also where they have no difference."""
    y, finite = [0, 1, 2, 3], np.array([4.0, 3.0, 1.0, 1.0])
    finite[2:] *= np.sign(infinity) * 9
    scores = np.where(np.abs(finite) == 9, infinity, finite)
    options = {"groups": [0] * 4, "variant": "set", "weight": np.subtract}
    expected = kendall_tau(y, finite, **options)
    assert 0 < expected < 1
    assert kendall_tau(y, scores, **options) == expected


def test_rank_biased_overlap_equals_its_definition(rng):
    m, p = 9, 0.7
    y, scores = rng.permutation(m).astype(float), rng.permutation(m).astype(float)
    first, second = np.argsort(-y), np.argsort(-scores)
    agreement = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, m + 1)]
    expected = (1 - p) * sum(p ** (d - 1) * a for d, a in enumerate(agreement, 1))
    expected += p**m * agreement[-1]
    value = rank_biased_overlap(y, scores, groups=np.zeros(m), p=p)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("nDCG@10", "ndcg@10"),
        ("AP", "map"),
        ("RR@10", "mrr@10"),
        (" p @ 5 ", "p@5"),
        ("R@100", "recall@100"),
        ("rbp(p=0.9)", "rbp(p=0.9)"),
        ("RBP(rel=2)@5", "rbp(p=0.8,rel=2)@5"),
        ("P(rel=2)@3", "p(rel=2)@3"),
        ("F1@5", "f@5"),
        ("kendall(variant='set')", "kendall(variant=set)"),
        ("nDCG(dcg='exp-log2')@5", "ndcg@5"),
        ("hit_rate@5", "success@5"),
        ("r-precision", "rprec"),
        ("ndcg_burges@5", "ndcg@5"),
        ("dcg_burges", "dcg"),
        ("map-l2", "map(rel=2)"),
        ("precision@5-l3", "p(rel=3)@5"),
        ("MRR@10-L2", "mrr(rel=2)@10"),
        ("r-precision-l2", "rprec(rel=2)"),
    ],
)
def test_names_are_parsed_and_round_trip(name, canonical):
    measure = get_measure(name)
    assert measure.name == str(measure) == canonical
    assert get_measure(canonical).get_params() == measure.get_params()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "ndgc@10",
            r"'ndgc@10' \(did you mean 'ndcg@10'\?\); known are bpref, dcg, .*ndcg",
        ),
        ("hits@5", "'hits@5': ranx counts relevant documents, which is k times 'p@k'"),
        ("hits-l2", "'hits-l2': ranx counts relevant documents"),
        ("ndcg@10-l2", r"lower grades; say so by the gain, as in NDCG\(gain={0: 0, 1"),
        ("err-l2", "'err-l2' ends in a relevance level, which err does not have"),
        ("map-l0", "'map-l0': the level after -l must be at least 1, got 0"),
        ("map(rel=1)-l2", r"'map\(rel=1\)-l2' has two relevance levels"),
        ("mapp-l2", r"unknown measure 'mapp-l2' \(did you mean 'map'\?\)"),
        ("map@x-l2", "must have a whole number after @, as in 'ndcg@10', got 'x'"),
        ("Recal(rel=2)@5", r"\(did you mean 'recall\(rel=2\)@5'\?\); known are"),
        (
            "rbp.80",
            r"of ranx adds up grades, .*'rbp\(p=0.80\)', which is the same",
        ),
        ("xyz@5", "unknown measure 'xyz@5'; known are"),
        ("ndcg_burges(gain=linear)", "has the option 'gain' twice"),
        ("ndcg@", "must have a whole number after @, as in 'ndcg@10', got ''"),
        ("ndcg@ten", "must have a whole number after @"),
        ("", "unknown measure"),
        ("kendall@3", "takes no cut-off @k"),
        ("map(p=3)", "takes no option 'p'; map takes k"),
        ("rbp(0.8)", "must read name=value"),
        ("ndcg(dcg='x')", "dcg must be one of"),
        (
            "rbp(p=0.8, p=0.9)",
            r"'rbp\(p=0.8, p=0.9\)' has the option 'p' twice",
        ),
        ("p(rel=1,relevance_level=2)", "has the option 'relevance_level' twice"),
        ("ndcg(dcg=log2,gain=exp2)", "has the option 'gain' twice"),
        ("ndcg(k=5)@10", r"measure 'ndcg\(k=5\)@10' has two cut-offs"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        get_measure(name)


def test_the_gain_of_a_name_precedes_that_of_a_preset():
    assert get_measure("ndcg@5", "trec_eval").gain == "linear"
    assert get_measure("ndcg_burges@5", "trec_eval").gain == "exp2"


def foreign(text, **params):
    """Stand in for a measure of ir_measures, which shows itself as text."""
    base = type("Measure", (), {"__module__": "ir_measures.measures.base"})
    own = {"__str__": lambda self: text, "params": params, "__call__": None}
    return type("_Own", (base,), own)()


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        (foreign("nDCG@10", cutoff=10), "ndcg@10"),
        (foreign("AP(rel=2)", rel=2), "map(rel=2)"),
        (foreign("RBP(rel=1)", rel=1), "rbp(p=0.8,rel=1)"),
        (foreign("RBP(rel=1,p=0.5)@3", rel=1, p=0.5, cutoff=3), "rbp(p=0.5,rel=1)@3"),
    ],
    ids=str,
)
def test_measures_of_ir_measures_stand_for_their_names(measure, name):
    assert get_measure(measure, "trec_eval").name == name


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (foreign("Judged@5"), "unknown measure 'Judged@5'; known are.*_provider"),
        (
            foreign("P(judged_only=True)@5"),
            "measure 'P.*' takes no option 'judged_only.*_provider",
        ),
        (
            foreign("RBP(p=0.8)", p=0.8),
            r"measure RBP\(p=0.8\) of ir_measures adds up g",
        ),
    ],
    ids=lambda value: str(value)[:6],
)
def test_measures_of_ir_measures_that_are_unknown(measure, message):
    with pytest.raises(ValueError, match=message):
        get_measure(measure)


def test_get_measure_takes_objects_without_preset():
    measure = get_measure("map")
    assert get_measure(measure) is measure
    with pytest.raises(ValueError, match="preset applies to names"):
        get_measure(measure, preset="mslr")
    with pytest.raises(TypeError, match="got 5"):
        get_measure(5)


LIU_ALGORITHMS = [
    "Regression",
    "RankSVM",
    "RankBoost",
    "FRank",
    "ListNet",
    "AdaRank",
    "SVMmap",
]
# NDCG@1 and MAP of Liu (2011), tables 11.1 to 11.7.
LIU_NDCG1 = {
    "TD2003": [0.320, 0.320, 0.280, 0.300, 0.400, 0.260, 0.320],
    "TD2004": [0.360, 0.413, 0.507, 0.493, 0.360, 0.413, 0.293],
    "NP2003": [0.447, 0.580, 0.600, 0.540, 0.567, 0.580, 0.560],
    "NP2004": [0.373, 0.507, 0.427, 0.480, 0.533, 0.480, 0.520],
    "HP2003": [0.420, 0.693, 0.667, 0.653, 0.720, 0.733, 0.713],
    "HP2004": [0.387, 0.573, 0.507, 0.600, 0.600, 0.613, 0.627],
    "OHSUMED": [0.446, 0.496, 0.463, 0.530, 0.533, 0.539, 0.523],
}
LIU_MAP = {
    "TD2003": [0.241, 0.263, 0.227, 0.203, 0.275, 0.228, 0.245],
    "TD2004": [0.208, 0.224, 0.261, 0.239, 0.223, 0.219, 0.205],
    "NP2003": [0.564, 0.696, 0.707, 0.664, 0.690, 0.678, 0.687],
    "NP2004": [0.514, 0.659, 0.564, 0.601, 0.672, 0.622, 0.662],
    "HP2003": [0.497, 0.741, 0.733, 0.710, 0.766, 0.771, 0.742],
    "HP2004": [0.526, 0.668, 0.625, 0.682, 0.690, 0.722, 0.718],
    "OHSUMED": [0.422, 0.433, 0.441, 0.444, 0.446, 0.449, 0.445],
}


def test_values_that_differ_by_rounding_do_not_win():
    assert winning_number([[0.1 + 0.2], [0.3]]).tolist() == [0, 0]
    assert winning_number([[0.3 + 1e-9], [0.3], [0.1 + 0.2]]).tolist() == [2, 0, 0]
    assert winning_number([[1e308], [-1e308], [0.0]]).tolist() == [2, 0, 1]
    assert winning_number([[1e-300], [0.0]]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("results", "published"),
    [
        (LIU_NDCG1, [4, 21, 18, 18, 29, 26, 23]),
        (LIU_MAP, [4, 24, 19, 15, 33, 27, 25]),
    ],
)
def test_winning_numbers_of_liu_table_11_8(results, published):
    table = np.array(list(results.values())).T
    np.testing.assert_array_equal(winning_number(table), published)
    by_name = winning_number(dict(zip(LIU_ALGORITHMS, table)))
    assert by_name == dict(zip(LIU_ALGORITHMS, published))
    assert winning_number(pd.DataFrame(table, index=LIU_ALGORITHMS)) == by_name
    np.testing.assert_array_equal(
        winning_number(-table, greater_is_better=False), published
    )


@pytest.mark.parametrize("shape", [(1, 4), (7, 1), (40, 30), (3, 200_000)])
def test_winning_numbers_count_pairs(shape):
    rng = np.random.default_rng(0)
    scores = rng.integers(-2, 4, size=shape).astype(np.float64)
    scores[scores == 3.0] = np.nan
    scores[scores == 0.0] *= -1.0  # the two zeros are equal
    expected = [(row > scores).sum() for row in scores]
    np.testing.assert_array_equal(winning_number(scores), expected)
    expected = [(row < scores).sum() for row in scores]
    found = winning_number(scores, greater_is_better=False)
    np.testing.assert_array_equal(found, expected)


def test_winning_numbers_need_no_table_of_pairs():
    """The pairs of 4,000 algorithms on 500 data sets would take 8 GB."""
    scores = np.arange(2_000_000.0).reshape(4_000, 500)
    tracemalloc.start()
    try:
        wins = winning_number(scores)
        assert tracemalloc.get_traced_memory()[1] < 10 * scores.nbytes
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(wins, 500 * np.arange(4_000))


def test_winning_numbers_of_many_algorithms():
    n = 2**18 + 1
    scores = np.random.default_rng(0).permutation(n)[:, None].astype(np.float64)
    np.testing.assert_array_equal(winning_number(scores), scores[:, 0])


def test_winning_numbers_of_series_are_by_data_set():
    """On OHSUMED, b wins with 0.5 against 0.4, and on MQ with 0.7 against 0.6."""
    a, b = pd.Series({"MQ": 0.6, "OH": 0.4}), pd.Series({"OH": 0.5, "MQ": 0.7})
    assert winning_number({"a": a, "b": b}) == {"a": 0, "b": 2}
    assert winning_number({"a": [0.6, 0.4], "b": b[::-1]}) == {"a": 0, "b": 2}
    with pytest.raises(ValueError, match=r"scores\['a'\] and .*'b'.* such as 'MQ'"):
        winning_number({"a": a, "b": b.rename({"MQ": "TD"})})


def test_winning_number_refuses_two_rows_of_one_name():
    with pytest.raises(ValueError, match="found the name 'a' in its index more than"):
        winning_number(pd.DataFrame({"d": [1.0, 2.0, 3.0]}, index=["b", "a", "a"]))


def test_winning_number_with_missing_results_and_bad_tables():
    np.testing.assert_array_equal(winning_number([[1, np.nan], [0, 5]]), [1, 0])
    with pytest.raises(ValueError, match="rows of lengths"):
        winning_number({"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="table of algorithms"):
        winning_number([1, 2])
    with pytest.raises(ValueError, match="finite"):
        winning_number([[np.inf], [1]])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_messages_name_the_function(name):
    function = FUNCTIONS[name]
    for wrong in ({"per_query": 2}, {"n_jobs": "a"}):
        with pytest.raises(ValueError, match=rf"^{name}: {next(iter(wrong))} must be"):
            function([1, 0], [2, 1], groups=[1, 1], **wrong)


@pytest.mark.parametrize(("step", "expected"), [(1e-10, [1, 1, 3]), (1e-14, [0] * 3)])
def test_differences_by_rounding_are_no_wins(step, expected):
    table = np.array([[1.0, -1.0], [1 + step, -1 - step], [1 + 2 * step, -1.0]])
    assert winning_number(table).tolist() == expected
