"""Learning rates: given round by round, or chosen by the data."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.losses import HingeLoss
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import MART, BoostedRanker, GBRank, LambdaMART, YetiRank
from skrank.rankers._learning_rates import (
    grown_rate,
    rate_for,
    squares_to_hessian,
)

N = 6
RATES = [0.5 / (1 + i) for i in range(N)]

RANKERS = {
    "plain": MART(min_samples_leaf=3),
    "lambdas": LambdaMART(min_samples_leaf=3),
    "drawn": YetiRank(min_samples_leaf=3, subsample=0.5),
    "dropout": LambdaMART(min_samples_leaf=3, dropout=0.4),
    "newton": LambdaMART(min_samples_leaf=3, leaf_iterations=2),
    "linear": LambdaMART(min_samples_leaf=3, linear_leaves=True),
    "means": GBRank(min_samples_leaf=3),
    "constant": GBRank(min_samples_leaf=3, averaging="constant"),
}
EACH = pytest.mark.parametrize("ranker", RANKERS.values(), ids=list(RANKERS))


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_features=5, n_informative=3, random_state=0)


def decay(i):
    return 0.5 / (1 + i)


def made(ranker, rate, **more):
    return clone(ranker).set_params(
        learning_rate=rate, n_estimators=N, random_state=0, **more
    )


@EACH
def test_functions_lists_and_arrays_are_the_same_schedule(ranker, data):
    scores = [
        made(ranker, rate).fit(*data).predict(data[0])
        for rate in (decay, RATES, tuple(RATES), np.array(RATES), [*RATES, 7.0])
    ]
    for other in scores[1:]:
        np.testing.assert_array_equal(other, scores[0])


@EACH
def test_a_schedule_of_one_rate_is_that_rate(ranker, data):
    # 0.25 is a power of two: sums of it are exact, and so is the fading of the noise.
    fixed = made(ranker, 0.25).fit(*data)
    scheduled = made(ranker, [0.25] * N).fit(*data)
    np.testing.assert_array_equal(scheduled.predict(data[0]), fixed.predict(data[0]))
    np.testing.assert_array_equal(scheduled.learning_rates_, fixed.learning_rates_)
    assert fixed.learning_rates_.tolist() == [0.25] * N
    assert scheduled.learning_rate_ == 0.25


@EACH
def test_a_warm_start_goes_on_as_if_training_had_never_stopped(ranker, data):
    once = made(ranker, decay).fit(*data)
    twice = made(ranker, decay, warm_start=True).set_params(n_estimators=2).fit(*data)
    assert twice.learning_rates_.tolist() == RATES[:2]
    twice.set_params(n_estimators=N).fit(*data)
    # GBRank shrinks its trees once for each fit, so that products are rounded anew.
    digits = 1e-12 if isinstance(ranker, GBRank) else 0.0
    np.testing.assert_allclose(
        twice.predict(data[0]), once.predict(data[0]), rtol=digits, atol=digits
    )
    assert twice.learning_rates_.tolist() == once.learning_rates_.tolist() == RATES


def test_the_first_tree_shrinks_by_the_first_rate(data):
    X = data[0]
    large = LambdaMART(n_estimators=1, learning_rate=[1.0], random_state=0).fit(*data)
    small = LambdaMART(n_estimators=1, learning_rate=[0.125], random_state=0).fit(*data)
    np.testing.assert_allclose(small.predict(X), 0.125 * large.predict(X), rtol=1e-12)


def test_rates_of_rounds_that_are_not_kept_are_forgotten(data):
    X, y, groups = data
    ranker = made(MART(), RATES, early_stopping=True, validation_fraction=0.5)
    ranker.fit(X, y, groups)
    assert ranker.learning_rates_.tolist() == RATES[: ranker.best_iteration_]
    assert ranker.learning_rate_ == pytest.approx(np.mean(RATES))


def test_patience_goes_by_the_mean_rate(data):
    # Four over a mean rate of 0.1, and not over the first one.
    ranker = MART(n_estimators=N, learning_rate=[0.35] + [0.05] * (N - 1)).fit(*data)
    assert ranker._patience() == 40


def test_a_warm_start_takes_other_rates(data):
    ranker = made(MART(), 0.25, warm_start=True).fit(*data)
    ranker.set_params(n_estimators=N + 2, learning_rate=[1.0] * N + [0.1, 0.2])
    assert ranker.fit(*data).learning_rates_.tolist() == [0.25] * N + [0.1, 0.2]


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (lambda i: 1.0 - i, "> 0 in every round, got 0.0 in round 1"),
        (lambda i: np.nan, "> 0 in every round, got nan in round 0"),
        (lambda i: np.inf, "> 0 in every round, got inf in round 0"),
        (lambda i: "0.1", "> 0 in every round, got '0.1' in round 0"),
        (lambda i: None, "> 0 in every round, got None in round 0"),
        (lambda i: True, "> 0 in every round, got True in round 0"),
        ([0.1, 0.1, -1.0, 0.1, 0.1, 0.1], "> 0 in every round, got -1.0 in round 2"),
        ([0.1, 0.2], "a rate for each of the n_estimators=6 rounds, got 2"),
        (np.full((N, 2), 0.1), "in round 0"),
        ([0.1, "x"], "learning_rate must be a number > 0"),
        (0.0, "learning_rate must be a number > 0, 'auto', a function, an array"),
        (-1, "learning_rate must be a number > 0"),
        ("fast", "learning_rate must be a number > 0"),
        ({}, "learning_rate must be a number > 0"),
    ],
)
@pytest.mark.parametrize("ranker", [LambdaMART(), GBRank()])
def test_rates_that_are_none_are_named(ranker, rate, message, data):
    if isinstance(ranker, GBRank):
        message = message.replace(" 'auto',", "")
    with pytest.raises(InvalidParameterError, match=message) as caught:
        made(ranker, rate).fit(*data)
    assert str(caught.value).startswith(f"{type(ranker).__name__}: learning_rate must")


def test_a_function_of_something_else_is_named(data):
    with pytest.raises(TypeError, match="the function learning_rate failed"):
        made(MART(), lambda: 0.1).fit(*data)


def test_a_search_tries_schedules(data):
    X, y, groups = data
    search = GridSearchCV(
        MART(n_estimators=3, random_state=0),
        {"learning_rate": [0.1, decay, [0.3, 0.2, 0.1]]},
        cv=QueryKFold(2),
        scoring=make_ranking_scorer("ndcg@10"),
    )
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, y, groups=groups)
    assert len(search.cv_results_["mean_test_score"]) == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("rate", [RATES, tuple(RATES), np.array(RATES)])
def test_files_keep_a_schedule(rate, data, tmp_path):
    ranker = made(MART(), rate, warm_start=True).set_params(n_estimators=2).fit(*data)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.learning_rates_.tolist() == RATES[:2]
    for model in (ranker, loaded):
        model.set_params(n_estimators=N).fit(*data)
    np.testing.assert_array_equal(loaded.predict(data[0]), ranker.predict(data[0]))


def test_files_hold_no_functions(data, tmp_path):
    ranker = made(MART(), decay).fit(*data)
    with pytest.raises(TypeError, match=r"MART\.learning_rate cannot be saved"):
        save_model(ranker, tmp_path / "model")
    # What was learned needs no function: the rates that were used say all of it.
    ranker.set_params(learning_rate=ranker.learning_rates_)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(data[0]), ranker.predict(data[0]))


@pytest.fixture(scope="module")
def clean():
    return make_ranking(
        n_queries=40,
        docs_per_query=20,
        n_features=4,
        n_informative=4,
        noise=0.0,
        random_state=0,
    )


@pytest.fixture(scope="module")
def noisy(clean):
    X, y, groups = clean
    return X, np.random.default_rng(0).permutation(y), groups


def test_rates_grow_by_the_square_of_half_of_what_gradients_fell():
    assert grown_rate(0.01, 3.0, 3.0) == grown_rate(0.01, 3.0, 1.5) == 0.01
    assert grown_rate(0.01, 3.0, 6.0) == 0.01
    assert grown_rate(0.01, 4.0, 1.0) == pytest.approx(0.04)
    assert grown_rate(0.01, 9.0, 1.5) == pytest.approx(0.09)
    assert grown_rate(0.1, 4.0, 0.1) == grown_rate(0.1, 4.0, 0.0) == 0.3
    # Nothing is known of the start, as of that of old models.
    assert grown_rate(0.1, 0.0, 1.0) == grown_rate(0.1, 0.0, 0.0) == 0.1
    assert grown_rate(0.1, 1.0, np.inf) == 0.1
    assert grown_rate(0.7, 4.0, 0.1) == 0.7
    assert grown_rate(0.1, 1.0, 1e-200) == grown_rate(1e-9, 1e200, 1e-200) == 0.3


def test_gradients_may_vanish():
    X = np.array([[0.0], [1.0]] * 20)
    ranker = YetiRank(
        n_estimators=1000, min_samples_leaf=1, min_hessian_leaf=0, random_state=0
    )
    ranker.fit(X, X[:, 0], np.repeat(np.arange(20), 2))
    assert ranker.learning_rates_[-1] == 0.3
    assert np.isfinite(ranker.predict(X)).all()


@pytest.mark.parametrize(
    ("params", "grows"),
    [
        ({"min_gain_to_noise": 0.5}, True),
        ({"min_gain_to_noise": 0.0}, False),
        ({"dropout": 0.1}, False),
    ],
)
def test_rates_grow_where_trees_are_kept_from_noise(params, grows, clean):
    ranker = MART(n_estimators=60, random_state=0, **params).fit(*clean)
    assert (ranker.learning_rates_[-1] > 1.5 * ranker.learning_rate_) == grows


def test_without_a_hessian_its_unit_is_one(clean):
    ranker = BoostedRanker(HingeLoss(), n_estimators=2, random_state=0).fit(*clean)
    assert ranker.hessian_unit_ == 1.0


def test_models_of_old_files_had_one_rate(clean):
    ranker = MART(n_estimators=3, learning_rate=0.5, warm_start=True).fit(*clean)
    del ranker.learning_rates_
    ranker.set_params(n_estimators=5).fit(*clean)
    assert ranker.learning_rates_.tolist() == [0.5] * 5


@pytest.mark.parametrize("make", [MART, YetiRank, LambdaMART])
def test_rates_grow_where_there_is_little_noise(make, clean, noisy):
    few, many = (
        make(n_estimators=60, random_state=0).fit(*data) for data in (clean, noisy)
    )
    np.testing.assert_array_equal(many.learning_rates_, many.learning_rate_)
    assert few.learning_rates_[0] == few.learning_rate_
    assert few.learning_rates_[-1] > 1.5 * few.learning_rate_
    assert few.learning_rates_.max() <= 0.3
    plain = make(n_estimators=60, learning_rate=few.learning_rate_, random_state=0)
    plain.fit(*clean)
    assert few.loss_curve_[-1] < plain.loss_curve_[-1]


def test_the_rates_are_what_the_gradients_say(clean):
    X, y, groups = clean
    ranker = MART(n_estimators=60, random_state=0).fit(X, y, groups)
    # Half of the squared errors is the loss, whose Hessian is 1.
    errors = 2.0 * ranker.loss_curve_
    assert ranker.gradient_unit_ == pytest.approx(errors[0])
    expected = [grown_rate(ranker.learning_rate_, errors[0], e) for e in errors]
    np.testing.assert_allclose(ranker.learning_rates_, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"max_leaf_nodes": 15},
        {"min_gain_to_noise": 0.0},
        {"dropout": 0.1},
        {"learning_rate": 0.05},
    ],
)
def test_other_rates_stay_what_they_are(options, clean):
    ranker = MART(n_estimators=60, random_state=0, **options).fit(*clean)
    np.testing.assert_array_equal(ranker.learning_rates_, ranker.learning_rate_)


@pytest.mark.parametrize("make", [MART, YetiRank, LambdaMART])
def test_growing_rates_go_on_after_a_warm_start(make, clean, tmp_path):
    # "auto" depends on the number of trees: the rate of the first fit is kept.
    first = make(n_estimators=30, random_state=0, warm_start=True).fit(*clean)
    save_model(first, tmp_path / "first")
    again = load_model(tmp_path / "first")
    for ranker in (first, again):
        ranker.set_params(n_estimators=60).fit(*clean)
    np.testing.assert_array_equal(first.predict(clean[0]), again.predict(clean[0]))
    assert first.learning_rates_[-1] > first.learning_rate_ == first.learning_rates_[0]
    del again.gradient_unit_  # as of an older version
    again.set_params(n_estimators=61).fit(*clean)
    assert again.learning_rates_[-1] == again.learning_rate_


def test_growing_rates_do_not_depend_on_when_training_was_interrupted(clean):
    whole = MART(n_estimators=60, random_state=0).fit(*clean)
    rates = whole.learning_rates_
    parts = MART(n_estimators=40, learning_rate=rates, random_state=0, warm_start=True)
    parts.fit(*clean).set_params(n_estimators=60).fit(*clean)
    np.testing.assert_array_equal(whole.predict(clean[0]), parts.predict(clean[0]))


def test_the_rule_in_numbers():
    assert rate_for(80_000, 1000) == pytest.approx(10 * 2 / 1000)
    assert rate_for(10_000, 100) == pytest.approx(10 / 100)
    assert squares_to_hessian(np.array([1.0, 3.0]), np.array([2.0, 3.0])) == 2.0
    assert squares_to_hessian(np.ones(3), np.zeros(3)) == 0.0
    assert squares_to_hessian(np.array([1e200]), None) == np.inf


def test_dropout_keeps_the_rate():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(600, 2)), np.repeat(np.arange(30), 20)
    y = (X[:, 0] > 0).astype(float)
    options = {"n_estimators": 60, "random_state": 0, "min_gain_to_noise": 0.5}
    grown = MART(**options).fit(X, y, groups)
    assert grown.learning_rates_[-1] > grown.learning_rate_
    kept = MART(dropout=0.1, **options).fit(X, y, groups)
    np.testing.assert_array_equal(kept.learning_rates_, kept.learning_rate_)
