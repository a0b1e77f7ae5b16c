"""Functions as measures, wherever a measure is asked for."""

import functools
import pickle
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.aggregation import WeightedFusion
from skrank.datasets import Qrels, Run, make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.inspection import RankingCurveDisplay, query_permutation_importance
from skrank.losses import (
    BoltzmannLoss,
    LambdaLoss,
    PermutationHingeLoss,
    SmoothMeasureLoss,
    StructuredHingeLoss,
)
from skrank.metrics import (
    BaseMeasure,
    FunctionMeasure,
    compare,
    evaluate,
    evaluate_measure,
    get_measure,
    make_ranking_scorer,
    ndcg_score,
)
from skrank.model_selection import QueryKFold
from skrank.rankers import (
    IRSVM,
    AdaRank,
    CoordinateAscent,
    LambdaMART,
    LambdaRank,
    MultipleHyperplaneRanker,
    RankGP,
    RankSVM,
)
from skrank.selection import GAS, SelectByMeasure


def discounted(y_true, y_score):
    """DCG of linear gain, ties in the order of the rows; NaN without a gain."""
    if not y_true.any():
        return np.nan
    order = np.argsort(-y_score, kind="stable")
    return float(np.sum(y_true[order] / np.log2(2 + np.arange(len(order)))))


def revenue(y_true, y_score, price, tax=0.0):
    """Price of the first document if it is relevant."""
    first = np.argmax(y_score)
    return price[first] * (y_true[first] > 0) * (1.0 - tax)


def at_most(y_true, y_score, *, k):
    """Sum of the grades of the first k documents."""
    return y_true[np.argsort(-y_score, kind="stable")[:k]].sum()


def by_query(y, groups, value):
    return np.array([value(np.flatnonzero(groups == q)) for q in np.unique(groups)])


class FirstFeature(BaseEstimator):
    """Scores by the first feature."""

    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.sign * X[:, 0]


@pytest.fixture
def rows(ragged):
    """Rows of which one query has no relevant document, with prices."""
    X, y, groups = ragged
    y = np.where(groups == groups.min(), 0.0, y)
    return X, y, groups, np.random.default_rng(5).uniform(1, 9, len(y))


def test_a_function_is_the_measure_that_it_computes(rows):
    X, y, groups, _ = rows
    same = get_measure("dcg(gain=linear)")
    expected = evaluate_measure(same, y, X[:, 0], groups=groups, per_query=True)
    found = evaluate_measure(discounted, y, X[:, 0], groups=groups, per_query=True)
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-14)
    mean = evaluate_measure(discounted, y, X[:, 0], groups=groups)
    assert mean == pytest.approx(np.nanmean(found))


def test_weights_of_rows_become_weights_of_queries(rows):
    X, y, groups, weight = rows
    values = by_query(y, groups, lambda q: discounted(y[q], X[q, 0]))
    weights = by_query(y, groups, lambda q: weight[q].mean())
    mean = evaluate_measure(discounted, y, X[:, 0], groups=groups, sample_weight=weight)
    defined = ~np.isnan(values)
    assert mean == pytest.approx(np.average(values[defined], weights=weights[defined]))


def test_nan_follows_the_rule_for_empty_queries(rows):
    X, y, groups, _ = rows
    given = {"y_true": y, "y_score": X[:, 0], "groups": groups, "per_query": True}
    skipped = evaluate_measure(FunctionMeasure(discounted), **given)
    filled = evaluate_measure(FunctionMeasure(discounted, empty_query=0.5), **given)
    np.testing.assert_array_equal(filled, np.where(np.isnan(skipped), 0.5, skipped))
    strict = FunctionMeasure(discounted, empty_query="raise")
    why = r"undefined for \d+ of \d+ queries .* for which discounted returns NaN; set"
    with pytest.raises(ValueError, match=why):
        evaluate_measure(strict, **given)
    with pytest.warns(
        UndefinedMetricWarning,
        match="leaves out queries for which discounted returns NaN",
    ):
        assert np.isnan(evaluate_measure(discounted, 0 * y, y, groups=groups))


def test_tables_count_the_queries_that_a_function_leaves_out(rows):
    X, y, groups, _ = rows
    n = np.sum(by_query(y, groups, lambda q: y[q].any()))
    assert n < len(np.unique(groups))
    table = compare({"a": X[:, 0], "b": X[:, 1]}, y, groups, measures=[discounted])
    assert table.measures == ("discounted",)
    assert f"discounted on the {n} with a value" in " ".join(str(table).split())


def test_row_arguments_are_sliced_by_query(rows):
    X, y, groups, price = rows
    values = by_query(y, groups, lambda q: revenue(y[q], X[q, 0], price[q]))
    given = {"groups": groups, "row_arguments": {"price": price}}
    found = evaluate_measure(revenue, y, X[:, 0], per_query=True, **given)
    np.testing.assert_array_equal(found, values)
    taxed = FunctionMeasure(revenue, kwargs={"tax": 0.5})
    assert taxed.name == "revenue(tax=0.5)"
    np.testing.assert_allclose(
        evaluate_measure(taxed, y, X[:, 0], per_query=True, **given), values / 2
    )
    table = compare(
        {"a": X[:, 0], "b": y},
        y,
        groups,
        measures=["map", taxed, revenue],
        row_arguments={"price": price},
    )
    np.testing.assert_array_equal(table.per_query["revenue"]["a"], values)
    names = np.array([f"{p:.1f}" for p in price], dtype=object)
    whole = FunctionMeasure(lambda y, s, price: float(price[np.argmax(s)]))
    found = evaluate_measure(
        whole, y, X[:, 0], groups=groups, per_query=True, row_arguments={"price": names}
    )
    first = by_query(y, groups, lambda q: float(names[q][np.argmax(X[q, 0])]))
    np.testing.assert_array_equal(found, first)


def test_row_arguments_that_are_wrong_are_named(rows):
    X, y, groups, price = rows
    scores = X[:, 0]
    with pytest.raises(ValueError, match="'revenue' needs price, with one entry per"):
        evaluate_measure(revenue, y, scores, groups=groups)
    for given, error, message in [
        ({"prize": price}, TypeError, "no measure takes prize .*; they take price"),
        ({"price": price[1:]}, ValueError, "price must hold one entry for each of"),
        ({"price": 3.0}, ValueError, "price must hold one entry .* got 3.0"),
        ([price], TypeError, "row_arguments must be a"),
    ]:
        with pytest.raises(error, match=message):
            evaluate_measure(revenue, y, scores, groups=groups, row_arguments=given)
    with pytest.raises(TypeError, match=r"no measure takes price .*; they take none"):
        evaluate_measure(
            "map", y, scores, groups=groups, row_arguments={"price": price}
        )
    with pytest.raises(TypeError, match="'map' takes no price with one entry per row"):
        get_measure("map").per_query(
            y, scores, np.array([0, len(y)]), row_arguments={"price": price}
        )


class PricedAt(BaseMeasure):
    """A class that needs prices."""

    short_name = "priced"
    bounds = (0.0, np.inf)
    undefined_without = None
    row_arguments = ("price",)

    def _values(self, documents):
        return documents.sum_by_query(documents.row_arguments["price"])


class Returning(BaseMeasure):
    """A class whose values were computed elsewhere."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def _check_parameters(self):
        pass

    def _values(self, documents):
        return self.values


@pytest.mark.parametrize(
    ("values", "returned"),
    [
        (None, "None"),
        (1.0, r"1\.0, which has the shape \(\)"),
        (np.array([1.0]), r"array\(\[1\.\]\), which has the shape \(1,\)"),
        ([0.5, 0.5, 0.5], r"\[0\.5, 0\.5, 0\.5\], which has the shape \(3,\)"),
        ([0.5, np.inf], "infinity for query number 1"),
        (["a", "b"], r"\['a', 'b'\]"),
        ([[1.0], [1.0, 0.5]], r"\[\[1\.0\], \[1\.0, 0\.5\]\]"),
    ],
)
def test_classes_must_return_one_number_per_query(values, returned):
    message = (
        r"^Returning\._values must return one finite number, or NaN, for each of 2 "
        f"queries, returned {returned}$"
    )
    with pytest.raises(TypeError, match=message):
        Returning(values).per_query(np.ones(3), np.ones(3), np.array([0, 1, 3]))


def test_classes_may_return_any_sequence_of_numbers():
    rows = (np.ones(3), np.ones(3), np.array([0, 1, 3]))
    assert Returning([1, 0]).per_query(*rows).tolist() == [1.0, 0.0]
    found = Returning((np.nan, True)).per_query(*rows)
    np.testing.assert_array_equal(found, [np.nan, 1.0])


def test_classes_may_need_row_arguments(rows):
    X, y, groups, price = rows
    found = evaluate_measure(
        PricedAt(),
        y,
        X[:, 0],
        groups=groups,
        per_query=True,
        row_arguments={"price": price},
    )
    sums = by_query(y, groups, lambda q: price[q].sum())
    np.testing.assert_allclose(found, sums)
    again = pickle.loads(pickle.dumps(clone(PricedAt(empty_query=1.0))))
    assert again.get_params() == {"empty_query": 1.0}


@pytest.mark.parametrize("alias", [None, "cost"])
def test_scorers_route_row_arguments(rows, alias):
    X, y, groups, price = rows
    scorer = make_ranking_scorer(revenue)
    name = "price"
    if alias is not None:
        scorer.set_score_request(price=alias)
        name = alias
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FirstFeature(),
            {"sign": [-1.0, 1.0]},
            scoring=scorer,
            cv=QueryKFold(3),
        ).fit(X, y, groups=groups, **{name: price})
        results = cross_validate(
            make_pipeline(StandardScaler(), FirstFeature()),
            X,
            y,
            scoring={"money": scorer, "map": make_ranking_scorer("map")},
            cv=QueryKFold(3),
            params={"groups": groups, name: price},
        )
    expected = [
        np.mean(
            by_query(
                y[test],
                groups[test],
                lambda q, test=test: revenue(y[test][q], X[test][q, 0], price[test][q]),
            )
        )
        for _, test in QueryKFold(3).split(X, y, groups)
    ]
    np.testing.assert_allclose(results["test_money"], expected)
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(expected))


def test_arguments_with_a_default_are_stated_to_be_of_rows(rows):
    X, y, groups, price = rows

    def optional(y_true, y_score, price=None):
        return 0.0 if price is None else revenue(y_true, y_score, price)

    scorer = make_ranking_scorer(optional, row_arguments=["price"])
    found = scorer(FirstFeature(), X, y, groups=groups, price=price)
    values = by_query(y, groups, lambda q: revenue(y[q], X[q, 0], price[q]))
    assert found == pytest.approx(values.mean())
    assert make_ranking_scorer(optional)(FirstFeature(), X, y, groups=groups) == 0.0
    with pytest.raises(TypeError, match=r"takes groups, .* and .*, not \['price'\]"):
        make_ranking_scorer(optional)(FirstFeature(), X, y, groups, price=price)
    with pytest.raises(ValueError, match="'optional' needs price"):
        scorer(FirstFeature(), X, y, groups=groups)


def test_functions_of_all_rows_are_called_once(rows):
    X, y, groups, _ = rows
    calls = []

    def total(y_true, y_score, groups, sample_weight=None, price=None):
        calls.append(len(y_true))
        return float(len(np.unique(groups)))

    scorer = make_ranking_scorer(total)
    n = len(np.unique(groups))
    assert scorer(FirstFeature(), X, y, groups=groups) == n
    assert evaluate_measure(total, y, X[:, 0], groups=groups) == n
    assert calls == [len(y)] * 2
    each = evaluate_measure(total, y, X[:, 0], groups=groups, per_query=True)
    assert each.tolist() == [1.0] * n
    assert max(calls[2:]) < len(y)


def test_functions_of_this_package_stand_for_their_measures():
    assert repr(get_measure(ndcg_score)) == repr(get_measure("ndcg"))
    given = get_measure(ndcg_score, preset="letor4")
    assert repr(given) == repr(get_measure("ndcg", preset="letor4"))


def test_swap_deltas_are_those_of_the_same_measure(rows):
    _, y, groups, _ = rows
    same = get_measure("dcg(gain=linear)")
    for query in np.unique(groups)[1:6]:
        grades = y[groups == query]
        ranks = np.random.default_rng(query).permutation(len(grades)) + 1
        np.testing.assert_allclose(
            get_measure(discounted).swap_deltas(grades, ranks),
            same.swap_deltas(grades, ranks),
            atol=1e-12,
        )


@pytest.mark.parametrize("truncation", [None, 1, 3])
def test_lambdas_of_a_function_are_those_of_the_same_measure(rows, truncation):
    X, y, groups, _ = rows
    order = np.argsort(groups, kind="stable")
    y, scores = y[order], X[order, 0]
    ptr = np.r_[0, np.cumsum(np.unique(groups, return_counts=True)[1])]
    calls = []

    def counted(y_true, y_score):
        calls.append(len(y_true))
        return discounted(y_true, y_score)

    found = LambdaLoss(counted, truncation=truncation).prepare(y, ptr)
    values, gradient = found.value_gradient(scores)
    same = LambdaLoss("dcg(gain=linear)", truncation=truncation)
    expected, slope = same.value_gradient(y, scores, ptr)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-12)
    calls.clear()
    found.value_gradient(scores)
    # One call for each pair of different grades that counts, one for the ranking.
    pairs = 0
    for a, b in pairwise(ptr):
        if len(set(y[a:b])) > 1:
            first, second = np.triu_indices(b - a, 1)
            ranks = np.argsort(np.argsort(-scores[a:b], kind="stable"))
            top = np.minimum(ranks[first], ranks[second]) < (truncation or b)
            pairs += 1 + np.sum(top & (y[a:b][first] != y[a:b][second]))
    assert len(calls) == pairs


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(discounted, n_estimators=5, min_samples_leaf=1, random_state=0),
        LambdaRank(discounted, max_iter=3, random_state=0),
        CoordinateAscent(discounted, n_restarts=1, random_state=0),
        RankGP(discounted, population_size=20, max_iter=2, random_state=0),
        IRSVM(rank_pair_weights=FunctionMeasure(discounted), max_iter=20),
        RankSVM(validation_measure=discounted, early_stopping=True, random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_rankers_learn_as_from_the_same_measure(ranker):
    X, y, groups = make_ranking(n_queries=20, n_features=10, random_state=1)
    name = next(
        key for key, value in ranker.get_params().items() if "discounted" in repr(value)
    ).partition("__")[0]
    function = clone(ranker).fit(X, y, groups)
    named = clone(ranker).set_params(**{name: "dcg(gain=linear)"}).fit(X, y, groups)
    for fitted in (function, named):
        assert fitted.score(X, y, groups) > 0.6
    np.testing.assert_allclose(
        function.predict(X, groups), named.predict(X, groups), rtol=1e-4, atol=1e-4
    )


def test_adarank_needs_the_bounds_of_a_function():
    X, y, groups = make_ranking(n_queries=20, n_features=10, random_state=1)
    with pytest.raises(InvalidParameterError, match="whose bounds are stated, as in"):
        AdaRank(discounted).fit(X, y, groups)

    def share(y_true, y_score):
        return at_most(y_true, y_score, k=2) / at_most(y_true, y_true, k=2)

    measure = FunctionMeasure(share, bounds=(0.0, 1.0))
    ranker = AdaRank(measure, n_estimators=20).fit(X, y, groups)
    assert ranker.score(X, y, groups) > 0.6


def test_searches_gain_nothing_from_the_order_of_the_rows():
    # The rows are sorted by grade, and a function that keeps their order would find
    # equal scores best.
    rng = np.random.default_rng(0)
    y = np.tile([3.0, 2.0, 1.0, 0.0], 20)
    groups = np.repeat(np.arange(20), 4)
    X = np.column_stack([y + rng.normal(size=80), np.zeros(80)])
    ranker = CoordinateAscent(discounted, n_restarts=1, random_state=0)
    assert ranker.fit(X, y, groups).coef_[0] > 0.0
    for selector in (SelectByMeasure, GAS):
        values = selector(1, importance=discounted).fit(X, y, groups).importances_
        assert values[0] > values[1]
    cost = FunctionMeasure(lambda y, s: -discounted(y, s), greater_is_better=False)
    ranker = CoordinateAscent(cost, n_restarts=1, random_state=0).fit(X, y, groups)
    assert ranker.coef_[0] > 0.0


def test_weights_of_levels_gain_nothing_from_the_order_of_the_rows():
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    orders = np.lexsort((-y, groups)), np.lexsort((y, groups))
    found = []
    for order in orders:
        ranker = MultipleHyperplaneRanker(
            RankSVM(), weights="validation", validation_measure=discounted
        )
        held = {"X_val": X[order], "y_val": y[order], "groups_val": groups[order]}
        found.append(ranker.fit(X, y, groups, **held).weights_)
    np.testing.assert_array_equal(*found)


def test_ties_may_be_broken_before_the_function_sees_them():
    y, scores, ptr = np.array([0.0, 2.0, 1.0]), np.zeros(3), np.array([0, 3])

    def first(y_true, y_score):
        return y_true[np.argmax(y_score)]

    found = {
        ties: FunctionMeasure(first, ties=ties).per_query(y, scores, ptr)[0]
        for ties in ("function", "stable", "best", "worst")
    }
    assert found == {"function": 0.0, "stable": 0.0, "best": 2.0, "worst": 0.0}
    # The most or the least relevant one, whatever the direction of the function.
    for ties in ("best", "worst"):
        lower = FunctionMeasure(first, ties=ties, greater_is_better=False)
        assert lower.per_query(y, scores, ptr)[0] == found[ties]
    by_id = FunctionMeasure(first, ties="docid")
    assert by_id.per_query(y, scores, ptr, docids=np.array(["a", "b", "c"])) == [1.0]
    # What is not retrieved stays outside of the ranking.
    seen = []
    told = FunctionMeasure(lambda y, s: seen.append(s) or 0.0, ties="best")
    told.per_query(y, np.array([1.0, -np.inf, 1.0]), ptr)
    assert seen[0].tolist() == [1.0 - 2**-53, -np.inf, 1.0]


def test_displays_importances_and_fusion_take_functions(rows):
    X, y, groups = rows[:3]
    display = RankingCurveDisplay.from_predictions(
        y, {"first": X[:, 0]}, groups=groups, measure=at_most, k=[1, 3]
    )
    expected = [
        by_query(y, groups, lambda q, k=k: at_most(y[q], X[q, 0], k=k)).mean()
        for k in (1, 3)
    ]
    (curve,) = display.curves.values()
    np.testing.assert_allclose(curve, expected)
    assert display.measure_name == "at_most"
    importance = query_permutation_importance(
        FirstFeature(), X, y, groups, measure=discounted, random_state=0
    )
    assert importance.importances_mean[0] > 0.0
    assert not importance.importances_mean[1:].any()
    run = {"1": {"a": 0.5, "b": 0.4}, "2": {"a": 0.1, "c": 0.2}}
    qrels = {"1": {"b": 1}, "2": {"a": 1}}
    fusion = WeightedFusion(measure=discounted).fit([run, run], qrels)
    assert np.isfinite(fusion.weights_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": "map"}, "function must be a function f"),
        ({"function": FunctionMeasure}, "function must be a function f"),
        ({"kwargs": {"power": 2}}, "kwargs must be arguments that discounted takes"),
        ({"row_arguments": ["cost"]}, "row_arguments must be arguments that disc"),
        ({"row_arguments": ["y_true"]}, "row_arguments must be names other than"),
        ({"bounds": (1.0, 0.0)}, "bounds must be two numbers, the lower one first"),
        ({"k": 3}, "k must be None, because discounted takes no k"),
        ({"ties": "average"}, "ties must be 'function', "),
        ({"greater_is_better": "no"}, "greater_is_better must be True or False"),
    ],
)
def test_bad_parameters_are_named(options, message):
    measure = FunctionMeasure(**{"function": discounted, **options})
    with pytest.raises(InvalidParameterError, match=message):
        measure.per_query(np.array([1.0]), np.array([1.0]), np.array([0, 1]))


@pytest.mark.parametrize("returned", ["many", None, np.inf, [1.0, 2.0]])
def test_what_a_function_returns_is_checked(returned):
    with pytest.raises(TypeError, match="the function measure, <lambda>, must return"):
        evaluate_measure(lambda y, s: returned, [1, 0], [1, 2], groups=[1, 1])


def test_functions_that_take_other_arguments_are_named():
    with pytest.raises(TypeError, match=r"the function measure failed: .* takes 1 pos"):
        evaluate_measure(lambda y: 1.0, [1, 0], [1, 2], groups=[1, 1])
    for wrong in (FunctionMeasure, dict, 3, None):
        with pytest.raises(TypeError, match="measure must be a"):
            evaluate_measure(wrong, [1, 0], [1, 2], groups=[1, 1])
    with pytest.raises(ValueError, match="preset='mslr' needs a measure by name"):
        get_measure(discounted, preset="mslr")


def test_functions_may_spoil_what_they_are_given(rows):
    X, y, groups = rows[:3]
    before = y.copy()

    def spoiling(y_true, y_score):
        y_true.sort()
        y_score[:] = 0.0
        return y_true[-1]

    found = evaluate_measure(spoiling, y, X[:, 0], groups=groups, per_query=True)
    np.testing.assert_array_equal(found, by_query(y, groups, lambda q: y[q].max()))
    np.testing.assert_array_equal(y, before)


def test_names_clones_and_pickles():
    partial = functools.partial(at_most, k=2)
    assert get_measure(partial).name == "at_most"
    assert FunctionMeasure(at_most, k=3).name == "at_most@3"
    assert FunctionMeasure(at_most, k=3, label="top").name == "top@3"
    measure = FunctionMeasure(at_most, k=3, greater_is_better=False)
    for copy in (clone(measure), pickle.loads(pickle.dumps(measure))):
        assert copy.get_params() == measure.get_params()
        assert not copy.greater_is_better
        assert copy.sign == -1


def test_losses_without_a_place_for_functions_say_why():
    y, ptr = [2, 1, 0], [0, 3]
    with pytest.raises(
        InvalidParameterError, match="because functions do not say what"
    ):
        SmoothMeasureLoss(discounted).prepare(y, ptr)
    with pytest.raises(InvalidParameterError, match="functions do not say how to find"):
        StructuredHingeLoss(discounted).prepare(y, ptr)
    errors = FunctionMeasure(discounted, has_swap_deltas=False)
    with pytest.raises(InvalidParameterError, match="two documents change by swapping"):
        LambdaLoss(errors).prepare(y, ptr)
    scores = [0.3, 0.1, 0.2]
    for kind in (BoltzmannLoss, PermutationHingeLoss):
        found = kind(discounted).value_gradient(y, scores, ptr)
        same = kind("dcg(gain=linear)").value_gradient(y, scores, ptr)
        for a, b in zip(found, same):
            np.testing.assert_allclose(a, b, atol=1e-12)


# Objects that state what their class leaves open -------------------------------------


class Cost(BaseMeasure):
    """Sum of a cost of documents before the first relevant one."""

    undefined_without = None
    share: float = 1.0

    def _values(self, documents):
        cost = documents.row_arguments[self.row_arguments[0]]
        return self.share * documents.sum_by_query(cost)


def _stated():
    measure = Cost(share=0.5)
    measure.short_name = "price of it"
    measure.row_arguments = ("price",)
    measure.greater_is_better = False
    measure.bounds = (0.0, np.inf)
    return measure


def test_what_an_object_states_is_cloned():
    measure = _stated()
    for copied in (clone(measure), clone(clone(measure)), clone(measure, safe=False)):
        assert copied is not measure
        assert (copied.name, copied.share) == ("price of it", 0.5)
        assert copied._row_names() == ("price",)
        assert (copied.sign, copied.bounds) == (-1, (0.0, np.inf))
    assert Cost().name == "Cost"
    inside = clone(LambdaMART(validation_measure=[_stated(), "map"]))
    assert inside.validation_measure[0].name == "price of it"
    labelled = clone(FunctionMeasure(revenue, label="sales", row_arguments=["price"]))
    assert (labelled.name, labelled._row_names()) == ("sales", ("price",))


def test_scorers_keep_what_an_object_states(rows):
    X, y, groups, price = rows
    model = FirstFeature().fit(X, y)
    scorer = make_ranking_scorer(_stated())
    expected = -0.5 * np.mean(by_query(y, groups, lambda q: price[q].sum()))
    for each in (scorer, clone(scorer), pickle.loads(pickle.dumps(scorer))):
        found = each(model, X, y, groups=groups, price=price)
        assert found == pytest.approx(expected)
        assert repr(each) == "make_ranking_scorer('price of it')"
    other = make_ranking_scorer(_stated(), share=0.25)
    assert other(model, X, y, groups=groups, price=price) == pytest.approx(expected / 2)
    assert scorer == make_ranking_scorer(_stated())
    assert scorer != make_ranking_scorer(Cost(share=0.5))


def test_swaps_are_those_of_the_object():
    measure = FunctionMeasure(discounted)
    wanted = measure.swap_deltas([2, 0, 1], [1, 2, 3])
    measure.short_name = "own"
    np.testing.assert_array_equal(measure.swap_deltas([2, 0, 1], [1, 2, 3]), wanted)


@pytest.mark.parametrize("ties", ["stable", "best", "worst", "random"])
def test_scores_are_told_apart_by_the_least_step(ties):
    y = np.array([0.0, 2, 1, 1, 0, 2, 1, 0])
    scores = np.array([0.5, 0.5, 0.5, -0.0, 0.0, -0.0, 3.0, 2.0])
    seen = []

    def look(y, scores):
        seen.append(scores)
        return 1.0

    measure = FunctionMeasure(look, ties=ties, random_state=0)
    given = [*scores, 1.0, -7.5], np.repeat([0, 1], [8, 2])
    evaluate_measure(measure, [*y, 0, 1], given[0], groups=given[1])
    first, second = seen
    assert second.tolist() == [1.0, -7.5]
    assert len(set(first)) == 8
    assert (np.abs(first - scores) <= 2 * np.spacing(0.5)).all()
    assert (first[:3] > first[3:6].max()).all()
    if ties != "random":
        key = {"stable": np.arange(8), "best": -y, "worst": y}[ties]
        order = np.lexsort((np.arange(8), key, -scores))
        assert np.argsort(-first).tolist() == order.tolist()


@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_the_largest_scores_are_told_apart(end):
    largest = end * np.finfo(np.float64).max
    seen = []
    measure = FunctionMeasure(lambda y, s: float(seen.append(s) or 0), ties="stable")
    evaluate_measure(measure, [0, 1, 2], [largest] * 3, groups=[0] * 3)
    assert np.isfinite(seen[0]).all()
    assert (np.diff(seen[0]) < 0).all()
    np.testing.assert_allclose(seen[0], largest, rtol=1e-15)


def test_a_function_of_the_scores_sees_them_in_searches():
    def correlation(y, scores):
        return float(np.corrcoef(y, scores)[0, 1])

    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(8), 10), rng.integers(0, 3, 80)
    X = np.exp(rng.normal(size=(80, 4)) + 0.3 * y[:, None])
    found = SelectByMeasure(importance=correlation).fit(X, y, groups).importances_
    expected = [evaluate_measure(correlation, y, x, groups=groups) for x in X.T]
    np.testing.assert_array_equal(found, np.abs(expected))


def test_functions_of_the_scores_themselves_are_left_alone_in_searches():
    def error(y, scores):
        return float(np.mean((y - scores) ** 2))

    X, y, groups = make_ranking(n_queries=8, random_state=0)
    X = np.round(X)
    measure = FunctionMeasure(error, greater_is_better=False, has_swap_deltas=False)
    found = SelectByMeasure(importance=measure).fit(X, y, groups).importances_
    expected = [
        -min(evaluate_measure(measure, y, s * x, groups=groups) for s in (1, -1))
        for x in X.T
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_slip_of_a_measure_or_a_gain_changes_no_data():
    class Slip(BaseMeasure):
        short_name = "slip_of_tests"

        def _values(self, documents):
            documents.y[:] = 0.0
            return np.zeros(len(documents.ptr) - 1)

    def gain(y):
        return np.subtract(np.exp2(y, out=y), 1.0, out=y)

    y, scores = np.array([2.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="read-only"):
        evaluate_measure(Slip(), y, scores, groups=[0, 0, 0])
    found = ndcg_score(y, scores, groups=[0, 0, 0], gain=gain)
    assert found == ndcg_score(y, scores, groups=[0, 0, 0], gain="exp2")
    assert y.tolist() == [2.0, 0.0, 1.0]


@pytest.mark.parametrize("ties", ["function", "stable", "best", "worst", "docid"])
def test_runs_and_rows_give_the_same_scores(ties):
    def square(y, scores):
        return float(np.mean((y - scores) ** 2))

    groups, docids = ["p"] * 3 + ["q"] * 2, list("abcde")
    qrels = Qrels(groups, docids, [2.0, 1, 0, 1, 0])
    run = Run(groups, docids, [2.5, 1.5, 1.5, 1.25, 0.25], "run")
    measure = FunctionMeasure(square, ties=ties, greater_is_better=False)
    by_id = {"docids": np.array(docids)} if ties == "docid" else {}
    expected = evaluate_measure(measure, qrels.y, run.scores, groups=groups, **by_id)
    assert 0.4 < expected < 0.6
    assert evaluate(qrels, run, [measure])[measure.name] == expected
