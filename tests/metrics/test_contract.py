"""What every public measure promises, over the option variants that it names itself.

What is promised of which measure, the classes state: there is no list of measures here.
"""

import doctest
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from _labels import label
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

import skrank.metrics
from skrank._core._registry import aliases, by_short_name, public_classes
from skrank.metrics import (
    AP,
    NDCG,
    BaseMeasure,
    FunctionMeasure,
    Precision,
    get_measure,
    known_measures,
    make_ranking_scorer,
    mean_ndcg_score,
    query_weights,
)
from skrank.metrics._base import RankedMeasure
from skrank.metrics._registry import measure_names
from skrank.testing import contract_checks


def measures_of_page(name):
    """The measures that a page of the documentation defines, by running its code."""
    page = Path(__file__).parents[2] / "doc" / name
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    found = {"__name__": f"doc.{name}"}
    for example in examples:
        if not example.exc_msg:
            # As in an interactive session, which prints the values of expressions.
            exec(compile(example.source, name, "exec"), found)
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, type) and value.__module__ == found["__name__"]
    }


CLASSES = public_classes(skrank.metrics, BaseMeasure)
PAGE = measures_of_page("add_a_measure.rst")
Fallout = PAGE["Fallout"]
MEASURES = [
    cls(**options) for cls in (*CLASSES, *PAGE.values()) for options in cls._variants()
]
TIES = ("average", "stable", "best", "worst", "docid")
# Whether a query has what a measure may need, by its grades 0 and 4.
HOLDS = {
    "relevant documents": lambda y: 4 in y,
    "nonrelevant documents": lambda y: 0 in y,
    "different grades": lambda y: len(set(y)) > 1,
    None: lambda y: True,
}


def measures_with_ties():
    for measure in MEASURES:
        if isinstance(measure, RankedMeasure):
            for ties in TIES:
                yield clone(measure).set_params(ties=ties)
        else:
            yield measure


def each(measures=MEASURES):
    measures = list(measures)
    return pytest.mark.parametrize("measure", measures, ids=label)


@pytest.fixture
def queries(rng):
    """Grades, scores with ties, pointers and document ids."""
    sizes = np.array([1, 7, 12, 2, 300, 5, 1])
    ptr = np.r_[0, np.cumsum(sizes)]
    y = rng.integers(0, 5, ptr[-1]).astype(float)
    y[ptr[2] : ptr[3]] = 0.0
    y[ptr[3] : ptr[4]] = [1.0, 0.0]
    y[-1] = 3.0
    scores = np.round(rng.normal(size=ptr[-1]))
    return y, scores, ptr, rng.permutation(ptr[-1]).astype(str)


def test_every_public_measure_is_known_by_its_name():
    names = by_short_name(skrank.metrics, BaseMeasure)
    assert sorted(names) == known_measures()
    # Functions have names of their own.
    assert {*names.values(), FunctionMeasure} == set(CLASSES)
    spellings = aliases(names)
    for spelling, name in spellings.items():
        assert type(get_measure(spelling)) is names[name]
    assert spellings["ap"] == "map"


def test_a_new_measure_is_one_class_and_one_line(monkeypatch):
    monkeypatch.setattr(skrank.metrics, "Fallout", Fallout, raising=False)
    monkeypatch.setattr(skrank.metrics, "__all__", [*skrank.metrics.__all__, "Fallout"])
    measure_names.cache_clear()
    try:
        measure = get_measure("Fallout(rel=2)@3")
        assert "fallout" in known_measures()
    finally:
        monkeypatch.undo()
        measure_names.cache_clear()
    assert isinstance(measure, Fallout)
    assert measure.name == "fallout(rel=2)@3"
    assert "fallout" not in known_measures()


def test_best_and_worst_ties_follow_the_direction():
    y, scores, ptr = np.array([1.0, 0.0, 0.0]), np.zeros(3), np.array([0, 3])
    found = {
        ties: Fallout(1, ties=ties).per_query(y, scores, ptr)[0]
        for ties in ("best", "average", "worst")
    }
    assert found == {"best": 0.0, "average": pytest.approx(1 / 3), "worst": 0.5}
    delta = Fallout(1).swap_deltas(y, [1, 2, 3])
    np.testing.assert_allclose(delta, [[0, 0.5, 0.5], [0.5, 0, 0], [0.5, 0, 0]])


@each()
def test_variants_are_constructor_arguments(measure):
    measure._check_parameters()
    assert clone(measure).get_params() == measure.get_params()
    assert str(measure).startswith(measure.short_name)


@pytest.mark.parametrize(
    ("measure", "check"),
    [case for measure in measures_with_ties() for case in contract_checks(measure)],
    ids=lambda value: getattr(value, "__name__", None) or label(value),
)
def test_contract(measure, check):
    check(measure)


@each(measures_with_ties())
def test_ranking_by_grade_is_best_and_by_falling_grade_worst(measure, queries, rng):
    y, _, ptr, docids = queries
    options = {"docids": docids}
    best = measure.per_query(y, y, ptr, **options)
    worst = measure.per_query(y, -y, ptr, **options)
    for _ in range(5):
        # Scores on the scale of the grades, since errors are measured on it.
        scores = rng.permutation(y) + rng.normal(size=len(y))
        values = measure.per_query(y, scores, ptr, **options)
        tolerance = -1e-12
        assert np.nanmin(measure.sign * (best - values)) >= tolerance
        if measure.has_swap_deltas:
            assert np.nanmin(measure.sign * (values - worst)) >= tolerance


@each()
def test_undefined_queries_follow_the_rule(measure):
    lists = ([0.0], [4.0], [0.0, 0.0, 0.0], [4.0, 4.0], [0.0, 4.0, 0.0])
    y, ptr = np.concatenate(lists), np.r_[0, np.cumsum([len(y) for y in lists])]
    scores = np.arange(len(y), dtype=float)
    undefined = [not HOLDS[measure.undefined_without](y) for y in lists]
    values = measure.per_query(y, scores, ptr)
    np.testing.assert_array_equal(np.isnan(values), undefined)
    filled = clone(measure).set_params(empty_query=-7.0)
    expected = np.where(undefined, -7.0, values)
    np.testing.assert_array_equal(filled.per_query(y, scores, ptr), expected)
    strict = clone(measure).set_params(empty_query="raise")
    if any(undefined):
        message = f"undefined for .* without {measure.undefined_without}; set"
        with pytest.raises(ValueError, match=message):
            strict.per_query(y, scores, ptr)
        assert measure.undefined_without in _warning_of_the_mean(measure)
    else:
        np.testing.assert_array_equal(strict.per_query(y, scores, ptr), values)


def _warning_of_the_mean(measure):
    with pytest.warns(UndefinedMetricWarning, match="is undefined") as caught:
        assert np.isnan(measure.mean([np.nan]))
    return str(caught[0].message)


@each(m for m in MEASURES if not m.has_swap_deltas)
def test_measures_without_swap_deltas_refuse_by_name(measure):
    message = f"measure '{measure.name}' has no swap deltas"
    with pytest.raises(ValueError, match=message):
        measure.swap_deltas([1.0, 0.0], [1, 2])
    with pytest.raises(ValueError, match=message):
        measure.delta_terms(np.array([1.0, 0.0]), np.array([0, 2]))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (NDCG(discount=cast(Any, "linear")), "NDCG: discount must be"),
        (AP(denominator=cast(Any, "k")), "AP: denominator must be"),
        (Precision(k=0), "Precision: k must be"),
    ],
)
def test_swap_deltas_of_wrong_parameters(measure, message):
    with pytest.raises(ValueError, match=message):
        measure.swap_deltas([1.0, 0.0], [1, 2])


def test_measures_of_scores_have_no_swap_deltas():
    assert {cls.has_swap_deltas for cls in CLASSES} == {True, False}
    # Measures of ranks do not notice a monotone change of the scores; these do.
    y, scores, ptr = np.array([2.0, 0.0, 1.0]), np.array([0.3, 0.1, 0.5]), [0, 3]
    for measure in MEASURES:
        values = measure.per_query(y, scores, np.array(ptr))
        cubed = measure.per_query(y, scores**3, np.array(ptr))
        assert np.array_equal(values, cubed, equal_nan=True) == measure.has_swap_deltas


@each()
def test_direction(measure):
    low, high = (0.25, 0.75) if measure.greater_is_better else (0.75, 0.25)
    assert measure.sign == (1 if measure.greater_is_better else -1)
    assert measure.is_better(high, low)
    assert not measure.is_better(low, high)
    assert not measure.is_better(low, low)
    assert measure.is_better(low, np.nan)
    assert not measure.is_better(np.nan, low)
    assert not measure.is_better(np.nan, np.nan)


@each()
def test_scorers_follow_the_direction(measure, rng):
    y, groups = rng.integers(0, 4, 60).astype(float), np.repeat(np.arange(6), 10)

    class Model:
        def __init__(self, scores):
            self.scores = scores

        def predict(self, X):
            return self.scores

    scorer = make_ranking_scorer(measure)
    good, bad = Model(y), Model(-y - 1)
    X = np.zeros((60, 1))
    values = scorer(good, X, y, groups), scorer(bad, X, y, groups)
    if measure.needs_cut_off and measure.k is None:
        assert values[0] == values[1]  # these count the whole list, in any order
    else:
        assert values[0] > values[1]


def test_functions_of_this_package_tell_scorers_their_direction():
    class Model:
        def predict(self, X):
            return np.array([1.0, 2.0])

    scorer = make_ranking_scorer(skrank.metrics.query_mean_squared_error)
    assert scorer(Model(), np.zeros((2, 1)), [0, 0], groups=[1, 1]) == -2.5


@pytest.mark.parametrize("huge", ["grades", "scores", "both"])
@pytest.mark.parametrize("measure", MEASURES, ids=label)
def test_a_query_has_its_value_whatever_stands_beside_it(measure, huge, rng):
    """No sum runs over several queries, where small terms would be lost."""
    y, scores = np.array([0, 1, 2, 0, 3, 1, 4, 0, 0, 2.0]), rng.normal(size=10)
    beside, beside_scores = np.array([4.0, 0, 1, 0, 2]), rng.normal(size=5)
    beside_scores *= 1.0 if huge == "grades" else 1e100
    if huge != "scores" and takes_large_grades(measure):
        beside[0] = 60.0
    alone = [
        measure.per_query(y, scores, np.array([0, 10]))[0],
        measure.per_query(beside, beside_scores, np.array([0, 5]))[0],
    ]
    together = measure.per_query(
        np.r_[y, beside], np.r_[scores, beside_scores], np.array([0, 10, 15])
    )
    np.testing.assert_array_equal(together, alone)
    together = measure.per_query(
        np.r_[beside, y], np.r_[beside_scores, scores], np.array([0, 5, 15])
    )
    np.testing.assert_array_equal(together, alone[::-1])


def takes_large_grades(measure):
    """Whether neither a highest grade nor a table of gains limits the grades."""
    bounded = getattr(measure, "max_grade", None) is not None
    return not bounded and not isinstance(getattr(measure, "gain", None), list)


def test_the_mean_ndcg_of_a_query_beside_one_of_high_grades():
    # (1 + 2/log2(3) + ...) / ideal at each rank, by hand for grades 2, 1, 0.
    arguments = [2.0, 1, 0], [1.0, 2, 3]
    alone = mean_ndcg_score(*arguments, groups=[1, 1, 1])
    log3 = np.log2(3)
    dcg = np.cumsum([0, 1 / log3, 3 / 2])
    ideal = np.cumsum([3, 1 / log3, 0])
    assert alone == pytest.approx(np.mean(dcg / ideal))
    beside = mean_ndcg_score(
        [60.0, 0, *arguments[0]],
        [1.0, 0, *arguments[1]],
        groups=[0, 0, 1, 1, 1],
        per_query=True,
    )
    np.testing.assert_array_equal(beside, [1.0, alone])


@pytest.mark.parametrize("empty", [0, 1, 2])
@pytest.mark.parametrize("measure", MEASURES, ids=label)
def test_a_query_without_documents_has_no_value(measure, empty, rng):
    y, scores = np.array([0, 1, 2, 0, 3, 1.0]), rng.normal(size=6)
    expected = measure.per_query(y, scores, np.array([0, 3, 6]))
    ptr = np.insert([0, 3, 6], empty, [0, 3, 6][empty])
    got = measure.per_query(y, scores, ptr)
    np.testing.assert_array_equal(got, np.insert(expected, empty, np.nan))
    filled = clone(measure).set_params(empty_query=0.5).per_query(y, scores, ptr)
    assert filled[empty] == 0.5
    nothing = measure.per_query(np.empty(0), np.empty(0), np.array([0, 0]))
    np.testing.assert_array_equal(nothing, [np.nan])
    np.testing.assert_array_equal(
        query_weights(np.arange(6.0), ptr), np.insert([1.0, 4.0], empty, 0.0)
    )


@pytest.mark.parametrize("measure", MEASURES, ids=label)
def test_nan_has_no_place_in_a_ranking(measure):
    y, ptr = np.array([0.0, 1, 2] * 10), np.array([0, 10, 30])
    for every in (1, 3):
        scores = np.arange(30.0)
        scores[::every] = np.nan
        with pytest.raises(
            ValueError, match="y_score must not hold NaN, found in row 0"
        ):
            measure.per_query(y, scores, ptr)
    hidden = np.ma.masked_array(np.arange(30.0), mask=np.arange(30) == 4)
    with pytest.raises(ValueError, match="y_score must not hold NaN, found in row 4"):
        measure.per_query(y, hidden, ptr)
    y[7] = np.nan
    with pytest.raises(ValueError, match="y must not hold NaN, found in row 7"):
        measure.per_query(y, np.arange(30.0), ptr)


def test_infinities_have_a_place_in_a_ranking():
    """Their sum is NaN; −inf stands for what was not retrieved."""
    scores = np.array([np.inf, -np.inf, 0.0])
    values = AP().per_query(np.array([0.0, 0.0, 1.0]), scores, np.array([0, 3]))
    assert values.tolist() == [0.5]


@pytest.mark.parametrize("value", ["-" * 3000 + "1", "-" * 200_000 + "1"])
def test_deeply_nested_options_are_taken_for_text(value):
    with pytest.raises(ValueError, match="NDCG: gain must be"):
        get_measure(f"ndcg(gain={value})")._check_parameters()
