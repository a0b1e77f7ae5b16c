"""Several sets of validation queries: how they are passed, and what is made of them."""

import re
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from skrank._validation_sets import validation_sets
from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.metrics import NDCG, ndcg_score
from skrank.rankers import (
    MART,
    CoordinateAscent,
    EnergyRanker,
    LambdaMART,
    MultipleHyperplaneRanker,
    NestedRanker,
    PRank,
    RankGP,
    RankNet,
    RankSVM,
)

RANKERS = {
    "energies": RankNet(max_iter=4),
    "networks": RankNet((3,), max_iter=4, random_state=0),
    "trees": MART(n_estimators=4, min_samples_leaf=2, random_state=0),
    "dropout": LambdaMART(
        n_estimators=4, dropout=0.5, min_samples_leaf=2, random_state=0
    ),
    "passes": PRank(max_iter=4, random_state=0),
    "weights": CoordinateAscent(max_iter=2, n_restarts=1, random_state=0),
    "formulas": RankGP(population_size=20, max_iter=2, random_state=0),
}


@pytest.fixture(scope="module")
def parts():
    """Training queries and two sets of validation queries, as (X, y, groups)."""
    X, y, groups = make_ranking(
        n_queries=24, n_features=5, n_informative=3, random_state=0
    )
    cuts = [groups < 12, (groups >= 12) & (groups < 17), groups >= 17]
    return [(X[rows], y[rows], groups[rows]) for rows in cuts]


def held(sets, kind: Any = tuple) -> dict[str, Any]:
    """Validation arguments of `fit`, each a tuple or a list."""
    names = ("X_val", "y_val", "groups_val")
    return dict(zip(names, map(kind, zip(*sets)), strict=True))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ranker", RANKERS.values(), ids=list(RANKERS))
def test_curves_are_those_of_each_set_alone(ranker, parts):
    train, *sets = parts
    ranker = sklearn.clone(ranker).set_params(
        n_iter_no_change=None,
        validation_measure=["ndcg@5", "mse"],
        evaluate_training=True,
    )
    logs = ranker.fit(*train, **held(sets)).evals_result_
    assert list(logs) == ["training", "validation_0", "validation_1"]
    for name, rows in zip(logs, parts, strict=True):
        alone = sklearn.clone(ranker).set_params(evaluate_training=False)
        alone.fit(*train, **held([rows]))
        assert list(alone.evals_result_) == ["validation"]
        for measure in ("ndcg@5", "mse"):
            expected = alone.evals_result_["validation"][measure]
            np.testing.assert_allclose(logs[name][measure], expected, rtol=1e-9)
        np.testing.assert_array_equal(
            alone.validation_curve_, alone.evals_result_["validation"]["ndcg@5"]
        )


def test_the_values_are_those_of_the_staged_scores(parts):
    train, *sets = parts
    ranker = LambdaMART(
        n_estimators=4, random_state=0, validation_measure="ndcg@5"
    ).fit(*train, **held(sets))
    for of_set, (X, y, groups) in zip(ranker.evals_result_.values(), sets, strict=True):
        stages = list(ranker.staged_predict(X))
        assert len(stages) == ranker.best_iteration_ >= 1
        values = [ndcg_score(y, scores, groups=groups, k=5) for scores in stages]
        np.testing.assert_allclose(of_set["ndcg@5"][: len(stages)], values)


@pytest.mark.parametrize(
    ("rule", "combine"), [("last", lambda v: v[-1]), ("mean", np.mean), ("worst", min)]
)
def test_the_rule_chooses_the_iteration(rule, combine, parts):
    train, *sets = parts
    ranker = RankNet((4,), max_iter=15, validation_rule=rule, random_state=3)
    ranker.fit(*train, **held(sets))
    curves = [of_set["ndcg@10"] for of_set in ranker.evals_result_.values()]
    expected = [combine(list(values)) for values in zip(*curves, strict=True)]
    np.testing.assert_allclose(ranker.validation_curve_, expected)
    assert ranker.best_iteration_ == np.argmax(expected) + 1


def test_worst_is_the_highest_where_low_values_are_better(parts):
    train, *sets = parts
    ranker = MART(
        n_estimators=3, validation_rule="worst", validation_measure="mse"
    ).fit(*train, **held(sets))
    curves = [of_set["mse"] for of_set in ranker.evals_result_.values()]
    np.testing.assert_array_equal(ranker.validation_curve_, np.max(curves, axis=0))


def test_a_mapping_names_the_sets(parts):
    train, first, second = parts
    by_name: dict[str, Any] = {
        "X_val": {"old": first[0], "new": second[0]},
        # The order of the rows decides, and not that of the grades.
        "y_val": {"new": second[1], "old": first[1]},
        "groups_val": {"new": second[2], "old": first[2]},
    }
    ranker = RankNet(max_iter=30).fit(*train, **by_name)
    listed = RankNet(max_iter=30).fit(*train, **held([first, second], list))
    assert list(ranker.evals_result_) == ["old", "new"]
    for name, other in zip(ranker.evals_result_, listed.evals_result_):
        np.testing.assert_array_equal(
            ranker.evals_result_[name]["ndcg@10"],
            listed.evals_result_[other]["ndcg@10"],
        )
    np.testing.assert_array_equal(ranker.coef_, listed.coef_)


def test_tables_of_every_kind_are_sets(parts):
    pd = pytest.importorskip("pandas")
    train, first, second = parts
    expected = RankNet(max_iter=30).fit(*train, **held([first, second])).coef_
    kinds = {
        "lists": lambda X: X.tolist(),
        "rows": list,
        "sparse": sparse.csr_matrix,
        "sparse array": sparse.csr_array,
    }
    for kind in kinds.values():
        sets = held([first, second])
        sets["X_val"] = [kind(X) for X in sets["X_val"]]
        np.testing.assert_allclose(
            RankNet(max_iter=30).fit(*train, **sets).coef_, expected
        )
    sets = held([first, second])
    index = [pd.Index(groups, name="qid") for groups in sets.pop("groups_val")]
    sets["y_val"] = [pd.Series(y, i) for y, i in zip(sets["y_val"], index)]
    np.testing.assert_array_equal(
        RankNet(max_iter=30).fit(*train, **sets).coef_, expected
    )


@pytest.mark.parametrize("kind", [list, np.asarray, np.ndarray.tolist])
def test_a_list_of_rows_is_one_set(kind, parts):
    train, first, _ = parts
    given = dict(zip(("X_val", "y_val", "groups_val"), map(kind, first)))
    ranker = RankNet(max_iter=30).fit(*train, **given)
    assert list(ranker.evals_result_) == ["validation"]


def test_queries_of_two_sets_with_the_same_id_stay_two(parts):
    train, first, _ = parts
    X, y, groups = first
    same = RankNet(max_iter=30).fit(*train, **held([first, (X, y, groups)]))
    logs = list(same.evals_result_.values())
    np.testing.assert_array_equal(logs[0]["ndcg@10"], logs[1]["ndcg@10"])
    text = (X, y, groups.astype(str))
    mixed = RankNet(max_iter=30).fit(*train, **held([first, text]))
    np.testing.assert_array_equal(mixed.coef_, same.coef_)


def test_scores_to_start_from_belong_to_each_set(parts):
    train, *sets = parts
    rng = np.random.default_rng(0)
    start, *starts = [rng.normal(size=len(y)) for _, y, _ in parts]
    fitted = MART(n_estimators=3, random_state=0).fit(
        *train, init_score=start, init_score_val=starts, **held(sets)
    )
    for name, rows, scores in zip(fitted.evals_result_, sets, starts, strict=True):
        alone = MART(n_estimators=3, random_state=0).fit(
            *train,
            init_score=start,
            init_score_val=scores,
            **held([rows], lambda v: v[0]),
        )
        np.testing.assert_array_equal(
            fitted.evals_result_[name]["ndcg@10"], alone.validation_curve_
        )
    with pytest.raises(ValueError, match="init_score_val must be a list or tuple of 2"):
        MART(n_estimators=3, random_state=0).fit(
            *train, init_score=start, init_score_val=starts[:1], **held(sets)
        )


def test_a_pipeline_transforms_a_tuple_of_sets(parts):
    train, *sets = parts
    X, y, groups = train
    scaler = StandardScaler().fit(X)
    expected = RankNet(max_iter=30).fit(
        scaler.transform(X),
        y,
        groups,
        **held([(scaler.transform(A), b, g) for A, b, g in sets]),
    )
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = Pipeline(
            [("scale", StandardScaler()), ("rank", RankNet(max_iter=30))],
            transform_input=["X_val"],
        ).fit(X, y, groups=groups, **held(sets))
    np.testing.assert_allclose(pipe[-1].coef_, expected.coef_)


@pytest.mark.parametrize("n_sets", [1, 2])
def test_rankers_inside_others_see_the_sets(n_sets, parts):
    train, *sets = parts
    names = ["first", "second"][:n_sets]
    given = {
        argument: dict(zip(names, values))
        for argument, values in held(sets[:n_sets]).items()
    }
    nested = NestedRanker(
        Pipeline([("scale", StandardScaler()), ("rank", RankNet(max_iter=30))])
    ).fit(*train, **given)
    model = nested.estimators_[0]
    scaler = StandardScaler().fit(train[0])
    given["X_val"] = {name: scaler.transform(X) for name, X in given["X_val"].items()}
    alone = RankNet(max_iter=30).fit(scaler.transform(train[0]), *train[1:], **given)
    assert list(model[-1].evals_result_) == names
    np.testing.assert_allclose(model[-1].coef_, alone.coef_)


def test_weights_of_hyperplanes_are_those_of_the_last_set(parts):
    train, *sets = parts
    both = MultipleHyperplaneRanker(weights="validation").fit(*train, **held(sets))
    last = MultipleHyperplaneRanker(weights="validation").fit(*train, **held(sets[1:]))
    # The rankers inside stop by the last set as well.
    np.testing.assert_array_equal(both.weights_, last.weights_)


def test_a_set_without_preferences_is_named(parts):
    train, first, (X, y, groups) = parts
    with pytest.warns(
        TrainingDataWarning, match="of the validation queries 'validation_1' cannot"
    ):
        RankNet(max_iter=30).fit(*train, **held([first, (X, np.ones(len(y)), groups)]))


def test_a_warm_start_goes_on_with_the_logs(parts):
    train, *sets = parts
    # Errors of small steps fall with every round, so that all rounds are kept.
    ranker = MART(
        learning_rate=0.05, validation_measure="mse", min_samples_leaf=2, random_state=0
    )
    once = sklearn.clone(ranker).set_params(n_estimators=5).fit(*train, **held(sets))
    ranker.set_params(warm_start=True, n_estimators=2).fit(*train, **held(sets))
    assert ranker.best_iteration_ == 2
    first: dict[str, Any] = {
        "X_val": {"validation_1": sets[1][0]},
        "y_val": {"validation_1": sets[1][1]},
    }
    ranker.set_params(n_estimators=3).fit(
        *train, **first, groups_val={"validation_1": sets[1][2]}
    )
    ranker.set_params(n_estimators=5).fit(*train, **held(sets))
    for name, missed in (("validation_0", [2]), ("validation_1", [])):
        expected = once.evals_result_[name]["mse"]
        expected[missed] = np.nan  # rounds in which the set was not measured
        np.testing.assert_array_equal(ranker.evals_result_[name]["mse"], expected)


A, GRADES = np.zeros((3, 2)), np.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("X_val", "y_val", "groups_val", "message"),
    [
        (
            [A, A],
            GRADES,
            None,
            "y_val must be a list or tuple of 2, one entry for each",
        ),
        ([A, A], [GRADES], None, "y_val must be a list or tuple of 2"),
        ([A, A], None, GRADES, "groups_val must be a list or tuple of 2"),
        ({}, {}, {}, "X_val must hold at least one set"),
        ({"a": A}, {"b": GRADES}, None, "names of X_val, ['a'], got ['b']"),
        ({"a": A}, GRADES, None, "y_val must be a mapping with the names of X_val"),
        ({"training": A}, {"training": GRADES}, None, "choose another name"),
        (A, [GRADES, GRADES], None, "X_val is one table of validation rows, but y_val"),
        (A, GRADES, {"a": GRADES}, "but groups_val holds several arrays"),
    ],
)
def test_sets_that_do_not_fit_together(X_val, y_val, groups_val, message):
    given = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
    with pytest.raises(ValueError, match=re.escape(message)):
        validation_sets(given)


@pytest.mark.parametrize("name", ["y_val", "groups_val"])
@pytest.mark.parametrize("value", [[[0, 1], [0]], ((0,), (1, 2)), [GRADES, GRADES]])
def test_arrays_of_several_sets_need_several_tables(name, value):
    """Lists of different lengths are several arrays, too."""
    given = {"X_val": A, "y_val": None, "groups_val": None, name: value}
    with pytest.raises(ValueError, match=f"but {name} holds several arrays"):
        validation_sets(given)


@pytest.mark.parametrize(
    "X_val",
    [A, A.tolist(), list(A), tuple(A), [], [[], []], [1.0, 2.0], ["ab", "cd"], 5],
    ids=repr,
)
@pytest.mark.parametrize("y_val", [GRADES, [0, 1, 0], (0, 1, 0), [], None], ids=repr)
def test_what_holds_no_tables_is_one_set(X_val, y_val):
    given = {"X_val": X_val, "y_val": y_val, "groups_val": None}
    ((name, place, arguments),) = validation_sets(given)
    assert (name, place) == ("validation", "")
    assert all(arguments[key] is given[key] for key in given)


@pytest.mark.parametrize("kind", [sparse.dok_matrix, sparse.dok_array])
def test_rows_in_a_dictionary_of_keys_are_one_table(kind, parts):
    (X, y, groups), (X_val, y_val, groups_val), _ = parts
    given = {"y_val": y_val, "groups_val": groups_val}
    nested = NestedRanker(
        Pipeline([("scale", MaxAbsScaler()), ("rank", RANKERS["trees"])]), depths=(3,)
    )
    for ranker in (RANKERS["trees"], nested):
        found = [
            clone(ranker)
            .fit(X, y, groups, X_val=table, **given)
            .predict(X, groups=groups)
            for table in (sparse.csr_array(X_val), kind(X_val))
        ]
        np.testing.assert_array_equal(*found)
    with pytest.raises(TypeError, match="y_val: Sparse data was passed"):
        RANKERS["trees"].fit(
            X, y, groups, X_val=X_val, **given | {"y_val": kind(y_val[:, None])}
        )


@pytest.mark.parametrize("table", [A, A.tolist(), list(A), sparse.csr_array(A)])
def test_a_list_of_one_table_is_one_set_with_a_place(table):
    given = {"X_val": [table], "y_val": [GRADES], "groups_val": None}
    ((name, place, arguments),) = validation_sets(given)
    assert (name, place) == ("validation", "[0]")
    assert arguments["X_val"] is table


def test_names_of_sets_are_strings():
    with pytest.raises(
        TypeError, match="names of sets in X_val must be strings, got 1"
    ):
        validation_sets({"X_val": {1: A}, "y_val": {1: GRADES}, "groups_val": None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_val": lambda X: X[:, :2]}, r"X_val\[1\] has 2 features"),
        ({"y_val": lambda y: y[1:]}, r"y_val\[1\] has \d+ grades for"),
        ({"y_val": lambda y: -1 - y}, r"y_val\[1\] must hold grades >= 0"),
        (
            {"y_val": lambda y: None},
            r"X_val\[1\] and y_val\[1\] must be given together",
        ),
        ({"groups_val": lambda g: None}, r"pass groups_val\[1\]="),
        ({"X_val": lambda X: np.full(X.shape, np.nan)}, r"X_val\[1\] contains NaN"),
    ],
)
def test_a_mistake_names_the_place(change, message, parts):
    train, *sets = parts
    given = held(sets, list)
    ((argument, function),) = change.items()
    given[argument][1] = function(given[argument][1])
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(*train, **given)


def test_measures_may_be_objects_names_and_functions(parts):
    train, *sets = parts

    def top_grade(y_true, y_score):
        return y_true[y_score.argmax()]

    ranker = RankNet(max_iter=30, validation_measure=["map", NDCG(k=3), top_grade])
    logs = ranker.fit(*train, **held(sets)).evals_result_
    assert list(logs["validation_0"]) == ["map", "ndcg@3", "top_grade"]


@pytest.mark.parametrize("measures", [[], ["ndcg@10", NDCG(k=10)], ["x"], [3]])
def test_measures_that_cannot_be_told_apart_are_refused(measures, parts):
    train, *sets = parts
    with pytest.raises(ValueError, match="validation_measure must be"):
        RankNet(validation_measure=measures).fit(*train, **held(sets))


def test_preferences_have_no_measure_of_training():
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="evaluate_training=True measures graded"):
        EnergyRanker(evaluate_training=True).fit(X, preferences=[[2, 0], [1, 0]])


def measured(ranker, n_rounds, rows=None, **params):
    """A warm start with other measures, or other sets; the ranker goes on in place."""
    ranker.set_params(n_estimators=n_rounds, n_iter_no_change=None, **params)
    return ranker.fit(*rows[0], **(held(rows[1:]) if rows[1:] else {}))


def test_rounds_of_a_warm_start_without_a_measure_are_nan(parts):
    # Errors of small steps fall with every round, so that all rounds are kept.
    ranker = MART(learning_rate=0.05, warm_start=True, random_state=0)
    options = {"validation_measure": ["mse", "ndcg@5"]}
    once = sklearn.clone(ranker).set_params(warm_start=False)
    both = measured(once, 6, parts[:2], **options)
    ranker = measured(ranker, 2, parts[:2], validation_measure="mse")
    ranker = measured(ranker, 4, parts[:2], **options)
    ranker = measured(ranker, 5, parts[:1])
    np.testing.assert_array_equal(ranker.validation_curve_[4:], [np.nan])
    ranker = measured(ranker, 6, parts[:2], validation_measure="mse")
    logs, expected = ranker.evals_result_["validation"], both.evals_result_
    for measure, missed in (("mse", [4]), ("ndcg@5", [0, 1, 4, 5])):
        curve = expected["validation"][measure].copy()
        curve[missed] = np.nan
        np.testing.assert_array_equal(logs[measure], curve)
    np.testing.assert_array_equal(ranker.validation_curve_, logs["mse"])
    assert len(ranker.validation_curve_) == ranker.n_iter_ == 6


def test_the_curve_of_a_warm_start_is_that_of_one_measure(parts):
    ranker = MART(learning_rate=0.05, warm_start=True, random_state=0)
    ranker = measured(ranker, 2, parts[:2], validation_measure="mse")
    ranker = measured(ranker, 4, parts[:2], validation_measure="ndcg@5")
    n = ranker.n_iter_
    assert n == 4
    curve = ranker.evals_result_["validation"]["ndcg@5"]
    assert np.isnan(curve[:2]).all()
    assert np.isfinite(curve[2:]).all()
    np.testing.assert_array_equal(ranker.validation_curve_, curve)
    errors = ranker.evals_result_["validation"]["mse"]
    assert len(errors) == n
    assert np.isnan(errors[2:]).all()
    assert np.isfinite(errors[:2]).all()
