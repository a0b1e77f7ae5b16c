"""What every public measure promises, over the option variants that it names itself."""

import subprocess
import sys
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

import skrank.metrics
from skrank._core._registry import aliases, by_short_name, public_classes
from skrank.metrics import (
    BaseMeasure,
    Precision,
    Success,
    get_measure,
    known_measures,
    make_ranking_scorer,
)
from skrank.metrics._base import CutOffMixin, RankedMeasure
from skrank.metrics._binary_measures import BinaryMeasure, defined
from skrank.metrics._registry import measure_names

CLASSES = public_classes(skrank.metrics, BaseMeasure)
MEASURES = [cls(**options) for cls in CLASSES for options in cls._variants()]
TIES = ("average", "stable", "best", "worst", "docid")
# Measures whose values may lie outside of [0, 1], with their ranges.
RANGES = {"dcg": (0, np.inf), "mse": (0, np.inf), "spearman": (-1, 1)}


def measures_with_ties():
    for measure in MEASURES:
        if isinstance(measure, RankedMeasure):
            for ties in TIES:
                yield clone(measure).set_params(ties=ties)
        else:
            yield measure


def each(measures=MEASURES):
    measures = list(measures)
    return pytest.mark.parametrize("measure", measures, ids=map(repr, measures))


def range_of(measure):
    if measure.short_name == "kendall" and measure.variant in ("a", "b"):
        return -1, 1
    return RANGES.get(measure.short_name, (0, 1))


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
    assert set(names.values()) == set(CLASSES)
    spellings = aliases(names)
    for spelling, name in spellings.items():
        assert type(get_measure(spelling)) is names[name]
    assert spellings["ap"] == "map"


class Fallout(CutOffMixin, BinaryMeasure):
    """Share of the nonrelevant documents that stand among the first k."""

    short_name: ClassVar[str] = "fallout"
    greater_is_better: ClassVar[bool] = False

    def _values(self, documents):
        wrong = 1.0 - self._relevant(documents.y)
        total = documents.sum_by_query(wrong)
        return defined(
            self._hits(documents, wrong, self.k) / np.maximum(total, 1), total
        )


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


@each(measures_with_ties())
def test_values_lie_in_the_range_of_the_measure(measure, queries):
    y, scores, ptr, docids = queries
    low, high = range_of(measure)
    values = measure.per_query(y, scores, ptr, docids=docids)
    assert values.shape == (len(ptr) - 1,)
    defined = values[~np.isnan(values)]
    assert len(defined)
    assert (defined >= low).all()
    assert (defined <= high + 1e-12).all()


@each(measures_with_ties())
def test_a_query_does_not_depend_on_the_others(measure, queries):
    y, scores, ptr, docids = queries
    together = measure.per_query(y, scores, ptr, docids=docids)
    alone = [
        measure.per_query(
            y[a:b], scores[a:b], np.array([0, b - a]), docids=docids[a:b]
        )[0]
        for a, b in pairwise(ptr)
    ]
    np.testing.assert_array_equal(together, alone)


@each(measures_with_ties())
def test_the_order_of_rows_does_not_matter(measure, queries, rng):
    y, scores, ptr, docids = queries
    if getattr(measure, "ties", None) == "stable":  # here only the order of rows counts
        scores = rng.permutation(len(scores)).astype(float)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(ptr)])
    np.testing.assert_allclose(
        measure.per_query(y[order], scores[order], ptr, docids=docids[order]),
        measure.per_query(y, scores, ptr, docids=docids),
        rtol=1e-12,
    )


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
def test_undefined_queries_follow_the_rule(measure, queries):
    y, scores, ptr, _ = queries
    values = measure.per_query(y, scores, ptr)
    if measure.short_name == "mse":
        assert not np.isnan(values).any()
        return
    assert np.isnan(values[2])  # all grades are 0
    one_document = measure.per_query(np.array([3.0]), np.zeros(1), np.array([0, 1]))
    needs_pairs = not isinstance(measure, RankedMeasure)
    assert np.isnan(one_document[0]) == needs_pairs
    filled = clone(measure).set_params(empty_query=-7.0)
    expected = np.where(np.isnan(values), -7.0, values)
    np.testing.assert_array_equal(filled.per_query(y, scores, ptr), expected)
    with pytest.raises(ValueError, match="is undefined for"):
        clone(measure).set_params(empty_query="raise").per_query(y, scores, ptr)


@each(m for m in MEASURES if m.has_swap_deltas)
@pytest.mark.parametrize("m", [1, 2, 7])
def test_swap_deltas_are_the_changes_that_swaps_make(measure, m, rng):
    y = rng.integers(0, 5, m).astype(float)
    ranks = rng.permutation(m) + 1
    filled = clone(measure).set_params(empty_query=0.0)
    ptr = np.array([0, m])

    def value(ranks):
        return filled.per_query(y, -ranks.astype(float), ptr)[0]

    deltas = measure.swap_deltas(y, ranks)
    assert deltas.shape == (m, m)
    for i in range(m):
        for j in range(m):
            swapped = ranks.copy()
            swapped[[i, j]] = ranks[[j, i]]
            change = value(swapped) - value(ranks)
            assert deltas[i, j] == pytest.approx(change, abs=1e-12)


@each(m for m in MEASURES if not m.has_swap_deltas)
def test_measures_without_swap_deltas_refuse_by_name(measure):
    message = f"measure '{measure.name}' has no swap deltas"
    with pytest.raises(ValueError, match=message):
        measure.swap_deltas([1.0, 0.0], [1, 2])
    with pytest.raises(ValueError, match=message):
        measure.delta_terms(np.array([1.0, 0.0]), np.array([0, 2]))


def test_measures_of_scores_have_no_swap_deltas():
    without = [cls.short_name for cls in CLASSES if not cls.has_swap_deltas]
    assert without == ["mse"]
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
    if isinstance(measure, Precision | Success) and measure.k is None:
        assert values[0] == values[1]  # these count the whole list, in any order
    else:
        assert values[0] > values[1]


def test_functions_of_this_package_tell_scorers_their_direction():
    class Model:
        def predict(self, X):
            return np.array([1.0, 2.0])

    scorer = make_ranking_scorer(skrank.metrics.query_mean_squared_error)
    assert scorer(Model(), np.zeros((2, 1)), [0, 0], groups=[1, 1]) == -2.5


def test_functions_work_without_docstrings():
    code = "from skrank.metrics import ndcg_score as f; assert f.__doc__ is None\n"
    code += "if f([1, 0], [1, 2], groups=[1, 1]) == 1: raise SystemExit(1)"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True, timeout=120)
