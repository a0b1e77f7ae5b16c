"""Rounds of any weak rankers, shown by single features."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags

from skrank import rankers
from skrank.datasets import make_ranking
from skrank.metrics import get_measure
from skrank.rankers import MART, RankSVM
from skrank.rankers._rounds import AdditiveRun, BaseAdditiveRanker


@dataclass
class Feature:
    """A weak ranker: a share of one feature."""

    column: int
    weight: float

    def add_to(self, scores, X):
        scores[:, 0] += self.weight * X[:, self.column]


class GreedyRun(AdditiveRun):
    """Add the feature, and the sign, that improve the measure most."""

    def find(self, iteration):
        measure, data = get_measure("ndcg@10"), self.data

        def value(scores):
            return measure.mean(measure.per_query(data.y, scores, data.ptr))

        now = value(self.scores[:, 0])
        tried = [
            (value(self.scores[:, 0] + w * data.X[:, j]), j, w)
            for j in range(data.X.shape[1])
            for w in (1.0, -1.0)
        ]
        best, column, weight = max(tried)
        return (Feature(column, weight) if best > now else None), 1.0 - now


class Greedy(BaseAdditiveRanker):
    """Features added one by one."""

    approach = "listwise"
    _accepts_sparse = False
    n_estimators = 20

    def _new_run(self, data, validation, rng):
        return GreedyRun(self, data, validation, rng)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, random_state=0)


def test_a_run_ends_when_nothing_is_left(data):
    X, y, groups = data
    ranker = Greedy(n_estimators=500).fit(X, y, groups)
    assert 1 < ranker.n_iter_ == len(ranker.weak_rankers_) < 500
    assert (np.diff(ranker.loss_curve_) < 0).all()
    assert ranker.score(X, y, groups) > 0.8
    expected = sum(w.weight * X[:, w.column] for w in ranker.weak_rankers_)
    np.testing.assert_allclose(ranker.predict(X), expected)
    *_, last = ranker.staged_predict(X)
    np.testing.assert_array_equal(last, ranker.predict(X))
    assert len(list(ranker.staged_predict(X))) == ranker.n_iter_


def test_early_stopping_and_warm_starts(data):
    X, y, groups = data
    held = groups >= 20
    val = {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
    train = X[~held], y[~held], groups[~held]
    stopped = Greedy(n_iter_no_change=2).fit(*train, **val)
    assert stopped.best_iteration_ == np.argmax(stopped.validation_curve_) + 1
    assert len(stopped.weak_rankers_) == stopped.best_iteration_
    whole = Greedy(n_estimators=4).fit(*train)
    parts = Greedy(n_estimators=2, warm_start=True).fit(*train)
    parts.set_params(n_estimators=4).fit(*train)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    assert parts.loss_curve_.tolist() == whole.loss_curve_.tolist()
    # Nothing is left to learn: the model stays as it is.
    done = Greedy(n_estimators=500, warm_start=True).fit(*train)
    again = done.loss_curve_.tolist()
    assert done.fit(*train).loss_curve_.tolist() == again
    with pytest.raises(ValueError, match="features"):
        parts.set_params(n_estimators=5).fit(X[:, :2], y, groups)


def test_a_warm_start_without_more_rounds_changes_nothing(data):
    X, y, groups = data
    ranker = Greedy(n_estimators=3, warm_start=True).fit(X, y, groups)
    before = ranker.predict(X)
    curve = ranker.loss_curve_
    ranker.fit(X, y, groups)
    np.testing.assert_array_equal(ranker.predict(X), before)
    np.testing.assert_array_equal(ranker.loss_curve_, curve)
    assert ranker.n_iter_ == ranker.best_iteration_ == len(ranker.weak_rankers_) == 3


BOOSTERS = [
    cls(**params)
    for cls in vars(rankers).values()
    if isinstance(cls, type) and issubclass(cls, BaseAdditiveRanker)
    for params in cls._variants()
]


@pytest.mark.parametrize("init", [None, Ridge()], ids=["", "init"])
@pytest.mark.parametrize("with_scores", [False, True], ids=["", "scores"])
@pytest.mark.parametrize("ranker", BOOSTERS, ids=repr)
def test_two_fits_are_one_to_the_bit(ranker, with_scores, init, data):
    X, y, groups = data
    held = groups >= 20
    scores = np.random.RandomState(0).normal(size=len(y))
    train, val = {}, {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
    if with_scores:
        train["init_score"], val["init_score_val"] = scores[~held], scores[held]
    small = {"init": init, "random_state": 0, "n_iter_no_change": None}
    small |= {"min_samples_leaf": 3, "learning_rate": 0.3}
    known = ranker.get_params(deep=False)
    whole = clone(ranker).set_params(
        n_estimators=7, **{k: v for k, v in small.items() if k in known}
    )
    parts = clone(whole).set_params(n_estimators=3, warm_start=True)
    whole.fit(X[~held], y[~held], groups[~held], **train)
    for n_estimators in (3, 4, 7):
        parts.set_params(n_estimators=n_estimators)
        parts.fit(X[~held], y[~held], groups[~held], **train)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    learned = vars(whole)
    for name in learned:
        if isinstance(learned[name], (np.ndarray, float)):
            np.testing.assert_array_equal(vars(parts)[name], learned[name], name)
    # Scores of validation queries are resumed as well; a run may end before.
    curves = []
    for model in (parts, clone(whole)):
        model.set_params(n_estimators=8)
        model.fit(X[~held], y[~held], groups[~held], **train, **val)
        curves.append(model.validation_curve_[7:])
    np.testing.assert_array_equal(*curves)


def test_what_the_first_ranker_refuses_is_refused_in_ones_own_name(data):
    X, y, groups = data
    X = X.copy()
    X[0, 0] = np.nan
    MART(n_estimators=1).fit(X, y, groups)
    ranker = MART(n_estimators=1, init=RankSVM())
    with pytest.raises(ValueError, match="MART does not accept missing values"):
        ranker.fit(X, y, groups)
    assert not get_tags(ranker).input_tags.allow_nan


@pytest.mark.parametrize("ranker", [Greedy, MART])
def test_reports_begin_before_the_first_round(ranker, data):
    reports = []
    ranker(n_estimators=2, callback=reports.append).fit(*data)
    assert [info["iteration"] for info in reports] == [0, 1, 2]
    assert np.isnan(reports[0]["objective"])
    assert np.isfinite([info["objective"] for info in reports[1:]]).all()
