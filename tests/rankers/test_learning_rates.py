"""Learning rates that change from round to round."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import MART, GBRank, LambdaMART, YetiRank

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
