"""What callbacks and verbose lines are told of an iteration."""

import re
from typing import Any

import numpy as np
import pytest
import sklearn

from skrank.datasets import make_ranking
from skrank.losses import LambdaBoundLoss, LambdaLoss, LogLoss, YetiRankLoss
from skrank.metrics import NDCG, ndcg_score
from skrank.rankers import (
    MART,
    BoostedRanker,
    EnergyRanker,
    LambdaMART,
    LambdaRank,
    RandomForestRanker,
    RankNet,
    RankSVM,
    YetiRank,
)

SMALL: dict[str, Any] = {"n_estimators": 3, "min_samples_leaf": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_features=5, n_informative=3, random_state=0)


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(**SMALL),
        YetiRank(**SMALL),
        BoostedRanker(LambdaBoundLoss("ndcg2"), **SMALL),
        LambdaRank(max_iter=3, random_state=0),
        EnergyRanker(loss=YetiRankLoss(random_state=0), solver="adam", max_iter=3),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_an_objective_that_may_rise_comes_with_the_measure(ranker, data):
    X, y, groups = data
    told = []
    ranker = sklearn.clone(ranker).set_params(callback=told.append).fit(X, y, groups)
    assert not any(info["descends"] for info in told)
    assert not any("validation" in info for info in told)
    values = [info["evals"]["training"]["ndcg@10"] for info in told]
    np.testing.assert_array_equal(
        values[1:], ranker.evals_result_["training"]["ndcg@10"]
    )
    # The last value is what the model scores; there was nothing to stop early for.
    assert values[-1] == pytest.approx(
        ndcg_score(y, ranker.predict(X), groups=groups, k=10)
    )
    assert len(ranker.validation_curve_) == 0


@pytest.mark.parametrize("ranker", [MART(**SMALL), RankNet(max_iter=30), RankSVM()])
def test_an_objective_that_falls_is_told_alone(ranker, data):
    told = []
    ranker = sklearn.clone(ranker).set_params(callback=told.append).fit(*data)
    assert all(info["descends"] for info in told)
    assert not any("evals" in info for info in told)
    assert ranker.evals_result_ == {}


def test_losses_say_whether_they_descend():
    assert LogLoss().descends
    assert LambdaBoundLoss("arp1").descends
    assert not LambdaBoundLoss("ndcg2++").descends
    assert not LambdaLoss().descends
    assert not YetiRankLoss().descends


def test_nothing_is_measured_where_nobody_looks(data, monkeypatch):
    """Measures of all training queries take time in every iteration."""
    X, y, groups = data

    def forbidden(*args, **kwargs):
        raise AssertionError("nobody looks")

    monkeypatch.setattr(NDCG, "per_query", forbidden)
    for ranker in (LambdaMART(**SMALL), LambdaRank(max_iter=2)):
        assert ranker.fit(X, y, groups).evals_result_ == {}
        with pytest.raises(AssertionError, match="nobody looks"):
            ranker.set_params(evaluate_training=True).fit(X, y, groups)


def test_lines_of_lambdas_show_the_measure(data, capsys):
    LambdaMART(**SMALL, verbose=2, validation_measure=["map", "ndcg@5"]).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    figure = r"\d\.\d{4}"
    form = rf"\[LambdaMART\] iteration     \d  training map {figure} ndcg@5 {figure}"
    assert all(re.fullmatch(form, line) for line in lines)


def test_lines_align(data, capsys):
    X, y, groups = data
    held = groups >= 15
    RankNet(max_iter=25, verbose=2, validation_measure=["map", "ndcg@5"], tol=0.0).fit(
        X[~held],
        y[~held],
        groups[~held],
        X_val={"a": X[held], "b": X},
        y_val={"a": y[held], "b": y},
        groups_val={"a": groups[held], "b": groups},
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 10
    for word in ("objective", " a map", " b map"):
        assert len({line.index(word) for line in lines}) == 1


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(
    "ranker", [RankNet((3,), max_iter=6), MART(**SMALL).set_params(n_estimators=6)]
)
def test_several_callbacks_are_all_told(ranker, kind, data):
    first, last = [], []
    callbacks = [first.append, lambda info: info["iteration"] == 2, last.append]
    ranker = sklearn.clone(ranker).set_params(callback=kind(callbacks)).fit(*data)
    assert len(ranker.loss_curve_) == 2
    assert [info["iteration"] for info in first] == [0, 1, 2]
    assert first == last


def test_forests_tell_several_callbacks(data):
    first, last = [], []
    callbacks = [first.append, last.append]
    RandomForestRanker(n_estimators=2, callback=callbacks, random_state=0).fit(*data)
    assert [set(info) for info in first] == [{"iteration", "objective", "descends"}] * 3
    assert len(last) == 3


@pytest.mark.parametrize("callback", [3, "print", [print, 3], {}])
def test_callbacks_that_are_none_are_refused(callback, data):
    with pytest.raises(ValueError, match="callback must be a function"):
        RankNet(callback=callback).fit(*data)


def test_measures_of_training_queries_leave_the_model_as_it_is(data):
    X, y, groups = data
    held = {"X_val": X[:60], "y_val": y[:60], "groups_val": groups[:60]}
    for ranker in (
        LambdaMART(**SMALL).set_params(n_estimators=10),
        RankNet((4,), max_iter=10, random_state=0),
    ):
        plain = sklearn.clone(ranker).fit(X, y, groups, **held)
        measured = sklearn.clone(ranker).set_params(evaluate_training=True)
        measured.fit(X, y, groups, **held)
        assert measured.best_iteration_ == plain.best_iteration_
        np.testing.assert_array_equal(measured.predict(X), plain.predict(X))
        np.testing.assert_array_equal(
            measured.validation_curve_, plain.validation_curve_
        )
