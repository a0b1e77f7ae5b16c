"""What is said of fits that have learned no order, and of which fits it is said."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.rankers import LambdaMART, ListNet, RankSVM, RobustSparseRanker

EQUAL = "has learned no order"


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=12,
        docs_per_query=(3, 9),
        n_features=5,
        n_informative=3,
        random_state=0,
    )
    return X, y.astype(float), groups


def warnings_of(ranker, *data, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TrainingDataWarning)
        ranker.fit(*data, **more)
    return [str(w.message) for w in caught]


class FirstFeature(RankSVM):
    """A ranker whose scores are the first feature, whatever it has learned."""

    def _predict(self, X, ptr=None):
        if not len(X):
            raise ValueError("no rows")
        return X[:, 0]


class WithinOne(FirstFeature):
    """The same, with errors of scores of up to 1."""

    _equal_within = 1.0


class FirstFeatureOfTrees(LambdaMART):
    """The same with trees, to which starting scores can be given."""

    def _predict(self, X, ptr=None):
        return X[:, 0]


class WithoutScores(RankSVM):
    """A ranker that cannot score."""

    def _predict(self, X, ptr=None):
        raise RuntimeError("no scores")


@pytest.mark.parametrize("score", [1024.0, -1024.0])
@pytest.mark.parametrize(("n_units", "equal"), [(0, True), (4, True), (5, False)])
def test_scores_up_to_four_rounding_errors_apart_are_equal(score, n_units, equal, data):
    X, y, groups = data
    X = X.copy()
    X[:, 0] = score
    X[::2, 0] += np.sign(score) * n_units * 1024.0 * np.finfo(np.float64).eps
    told = warnings_of(FirstFeature(), X, y, groups)
    assert [EQUAL in message for message in told] == [True] * equal


@pytest.mark.parametrize(("spread", "equal"), [(1.0, True), (1.5, False)])
def test_scores_within_the_errors_of_a_ranker_are_equal(spread, equal, data):
    X, y, groups = data
    X = X.copy()
    X[:, 0] = spread * (np.arange(len(y)) % 2)
    told = warnings_of(WithinOne(), X, y, groups)
    assert [EQUAL in message for message in told] == [True] * equal


def test_queries_longer_than_the_rows_looked_at_first_are_looked_at():
    y = np.arange(600) % 3
    X = np.zeros((600, 2))
    X[:, 1] = y
    (message,) = warnings_of(FirstFeature(), X, y, np.arange(600) // 300)
    assert EQUAL in message
    X[-1, 0] = 1.0
    assert warnings_of(FirstFeature(), X, y, np.arange(600) // 300) == []


def test_rankers_that_cannot_score_are_told_of_where_they_are_to(data):
    X, y, groups = data
    (message,) = warnings_of(RankSVM(), 1e-20 * X, y, groups)
    assert EQUAL in message
    ranker = WithoutScores()
    assert warnings_of(ranker, 1e-20 * X, y, groups) == []
    with pytest.raises(RuntimeError, match="no scores"):
        ranker.predict(X)


def test_the_scores_that_training_starts_from_count(data):
    X, y, groups = data
    ranker = LambdaMART(
        n_estimators=2, min_samples_leaf=2, l2_regularization=1e30, random_state=0
    )
    # What the trees add is lost in the rounding of 1, but the grades are an order.
    (message,) = warnings_of(ranker, X, y, groups, init_score=np.ones(len(y)))
    assert f"{EQUAL}: " in message
    assert "because l2_regularization=1e+30 is stronger" in message
    assert warnings_of(ranker, X, y, groups, init_score=y) == []
    # What was learned may undo the order that the start has.
    ranker = FirstFeatureOfTrees(n_estimators=2, min_samples_leaf=2)
    (message,) = warnings_of(ranker, X, y, groups, init_score=-X[:, 0])
    assert EQUAL in message


def test_grades_are_compared_with_each_other(data):
    X, y, groups = data
    (message,) = warnings_of(ListNet(), X, 5.0 + 1e-9 * y, groups)
    assert "no two grades in y differ by more than 4e-09 (scale them)" in message


def test_several_penalties_are_named_together(data):
    (message,) = warnings_of(RobustSparseRanker(l1=10.0, alpha=1e5), *data)
    assert "because alpha=100000 and l1=10 are stronger than what" in message


def test_penalties_of_zero_are_not_named(data):
    X, y, groups = data
    X = np.column_stack([np.zeros(len(X)), X])
    (message,) = warnings_of(FirstFeature(alpha=0.0), X, y, groups)
    assert "alpha" not in message


def test_features_are_compared_in_the_queries_with_preferences():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    told = warnings_of(FirstFeature(), X, [1, 0, 2, 2], [0, 0, 1, 1])
    assert not any(EQUAL in message for message in told)


def test_weights_on_equal_grades_only_are_named():
    X = np.column_stack([np.zeros(4), np.arange(4.0)])
    ranker = FirstFeatureOfTrees(n_estimators=1, min_samples_leaf=1)
    weight = [1.0, 1.0, 0.0, 0.0]
    (message,) = warnings_of(ranker, X, [1, 1, 0, 2], np.zeros(4), sample_weight=weight)
    assert "only documents of equal grades" in message


def test_missing_values_hide_no_spread():
    spread = 0.01 * (np.arange(20) % 5)
    X = np.column_stack([np.zeros(20), spread, np.full(20, np.nan)])
    X[3, 1] = np.nan
    ranker = FirstFeatureOfTrees(n_estimators=1, min_samples_leaf=1)
    (message,) = warnings_of(ranker, X, np.arange(20) % 3, np.zeros(20))
    assert "no feature in X varies by more than 0.04" in message


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_the_spread_of_features_of_any_type_is_named(dtype):
    spread = 2**40 * (np.arange(20) % 2)
    X = np.column_stack([np.zeros(20), spread]).astype(dtype)
    ranker = FirstFeatureOfTrees(n_estimators=1, min_samples_leaf=1)
    (message,) = warnings_of(ranker, X, np.arange(20) % 3, np.zeros(20))
    assert "features in X vary by as much as 1.1e+12" in message


def test_tiny_weights_of_preferences_are_named(data):
    X = 1e-20 * data[0]
    pairs = np.array([[0, 1], [1, 2]])
    for weight, told in ((None, False), ([1e-20, 1e-7], True), ([1e-20, 1.0], False)):
        (message,) = warnings_of(RankSVM(), X, preferences=pairs, sample_weight=weight)
        assert ("sample_weight holds no number" in message) == told


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_missing_values_of_sparse_rows_hide_no_spread(data):
    X, y, groups = data
    X = 1e-300 * X
    X[0] = np.nan
    ranker = LambdaMART(n_estimators=2, min_samples_leaf=2, l2_regularization=1e30)
    for rows in (X, sparse.csr_matrix(X)):
        (message,) = warnings_of(ranker, rows, y, groups, init_score=np.ones(len(y)))
        assert "no feature in X varies by more than" in message
