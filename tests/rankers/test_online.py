"""What online rankers share, shown by the perceptron of Crammer and Singer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skrank.datasets import make_ranking
from skrank.rankers._online import BaseOnlineRanker


class Perceptron(BaseOnlineRanker):
    """PRank: a direction and ordered thresholds, changed by every mistake."""

    approach = "pointwise"
    _accepts_sparse = False

    def _begin(self, data):
        self.grades_ = np.unique(data.y)
        self.state_ = np.zeros(data.X.shape[1] + len(self.grades_) - 1)

    def _pass(self, data, order):
        d = data.X.shape[1]
        w, b = self.state_[:d], self.state_[d:]
        place = np.searchsorted(self.grades_, data.y)
        mistakes = 0
        for row in order:
            side = np.where(np.arange(len(b)) < place[row], 1.0, -1.0)
            wrong = (data.X[row] @ w - b) * side <= 0
            w += (side * wrong).sum() * data.X[row]
            b -= side * wrong
            mistakes += wrong.sum()
        return mistakes / len(order)

    def _current(self):
        return self.state_.copy()

    def _scores_at(self, params, X):
        return X @ params[: X.shape[1]]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, random_state=0)


def by_hand(X, y):
    w, b = np.zeros(X.shape[1]), np.zeros(len(np.unique(y)) - 1)
    grades = np.unique(y).tolist()
    for x, grade in zip(X, y):
        side = [1 if r < grades.index(grade) else -1 for r in range(len(b))]
        wrong = [s * (w @ x - t) <= 0 for s, t in zip(side, b)]
        w = w + sum(s for s, bad in zip(side, wrong) if bad) * x
        b = b - np.array([s * bad for s, bad in zip(side, wrong)])
    return np.r_[w, b]


def test_a_stream_is_learned_in_its_own_order(data):
    X, y, groups = data
    backwards = np.argsort(-groups, kind="stable")
    rows = X[backwards], y[backwards], groups[backwards]
    ranker = Perceptron().partial_fit(*rows)
    np.testing.assert_allclose(ranker.params_, by_hand(*rows[:2]))
    forwards = Perceptron().partial_fit(X, y, groups)
    assert np.abs(ranker.params_ - forwards.params_).max() > 1e-3


def test_parts_of_a_stream_are_the_stream(data):
    X, y, groups = data
    whole = Perceptron().partial_fit(X, y, groups)
    parts = Perceptron()
    for start in range(0, 20, 5):
        part = (groups >= start) & (groups < start + 5)
        parts.partial_fit(X[part], y[part], groups[part])
    np.testing.assert_array_equal(parts.params_, whole.params_)
    np.testing.assert_array_equal(parts.query_ids_, whole.query_ids_)
    np.testing.assert_array_equal(parts.query_sizes_, whole.query_sizes_)
    np.testing.assert_array_equal(parts.query_grades_, whole.query_grades_)
    parts.partial_fit(X[part], y[part], groups[part])
    assert len(parts.query_ids_) == 20
    assert parts.query_sizes_[-1] == 2 * whole.query_sizes_[-1]


def test_fit_makes_passes_and_keeps_the_best(data):
    X, y, groups = data
    val = {"X_val": X, "y_val": y, "groups_val": groups}
    ranker = Perceptron(max_iter=8, random_state=0, n_iter_no_change=None)
    ranker.fit(X, y, groups, **val)
    assert ranker.best_iteration_ == np.argmax(ranker.validation_curve_) + 1
    assert ranker.score(X, y, groups) == pytest.approx(ranker.validation_curve_.max())
    assert len(ranker.loss_curve_) == ranker.n_iter_ == 8
    again = clone(ranker).fit(X, y, groups, **val)
    np.testing.assert_array_equal(again.params_, ranker.params_)
    assert ranker.score(X, y, groups) > 0.8


def test_groups_are_routed_and_other_features_refused(data):
    X, y, groups = data
    requests = Perceptron().get_metadata_routing().partial_fit.requests
    assert requests == {"groups": True, "sample_weight": True}
    ranker = Perceptron().partial_fit(X, y, groups)
    before = ranker.params_.copy()
    with pytest.raises(ValueError, match="features"):
        ranker.partial_fit(X[:, :-1], y, groups)
    np.testing.assert_array_equal(ranker.params_, before)
    with pytest.raises(ValueError, match="needs to know the query"):
        Perceptron().partial_fit(X, y)


OTHERS = {
    "dates": pd.to_datetime(range(4), unit="D"),
    "durations": np.arange(4).astype("m8[D]"),
    # NumPy lists these as numbers.
    "nanoseconds": np.arange(4).astype("m8[ns]"),
    "moments": np.arange(4).astype("M8[ns]"),
    "strings": ["0", "1", "2", "3"],
    "large": np.arange(4, dtype=np.uint64) + 2**63,
    "fractions": np.arange(4) + 0.5,
    "tuples": [("a", 0), ("a", 1), ("a", 2), ("a", 3)],
}


@pytest.mark.parametrize("first", [False, True], ids=["then", "before"])
@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_ids_of_another_type_stay_other_ids(others, first):
    rng = np.random.RandomState(0)
    X, y = rng.rand(4, 3), [0, 1, 2, 0]
    batches = [[1, 2, 3, 2**60 + 1], others]
    ranker = Perceptron()
    for groups in [*batches[:: -1 if first else 1], *batches]:
        ranker.partial_fit(X, y, groups)
    assert len(ranker.query_ids_) == 8
    assert ranker.query_sizes_.tolist() == [2] * 8
    assert {1, 2, 3, 2**60 + 1} <= set(ranker.query_ids_.tolist())


@pytest.mark.parametrize("n_rows", [1, 3, 7])
def test_queries_without_preference_are_counted_however_they_come(n_rows):
    groups = np.repeat(list("abcd"), [4, 3, 1, 4])
    y = np.array([1.0, 1, 2, 1, 0, 0, 0, 5, 2, 2, 2, 2])
    X = np.random.default_rng(0).normal(size=(12, 3))
    ranker = Perceptron()
    for start in range(0, 12, n_rows):
        part = slice(start, start + n_rows)
        ranker.partial_fit(X[part], y[part], groups[part])
    assert ranker.query_ids_.tolist() == list("abcd")
    assert ranker.query_grades_.tolist() == [[1, 2], [0, 0], [5, 5], [2, 2]]
    assert ranker.n_queries_without_preference_ == 3
    ranker.partial_fit(X[:2], [3.0, 1.0], ["d", "a"])
    assert ranker.n_queries_without_preference_ == 2
    assert ranker.fit(X, y, groups).n_queries_without_preference_ == 3
