"""Giving up documents early changes nothing but the work."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skrank.datasets import make_ranking
from skrank.rankers import MART, LambdaMART
from skrank.trees._early_exit import scores_of_contenders


@pytest.fixture(scope="module")
def fitted():
    X, y, groups = make_ranking(n_queries=40, random_state=0)
    X[::7, 1] = np.nan
    ranker = LambdaMART(n_estimators=40, min_samples_leaf=5, random_state=0)
    return ranker.fit(X, y, groups), X, groups


@pytest.mark.parametrize("k", [1, 3, 10, 1000])
def test_the_best_documents_are_the_same(fitted, k):
    ranker, X, groups = fitted
    order = np.random.default_rng(0).permutation(len(X))
    X, groups = X[order], groups[order]
    expected = ranker.top_documents(X, groups, k=k)
    assert_array_equal(ranker.top_documents(X, groups, k=k, early_exit=True), expected)


def test_scores_of_contenders_are_those_of_predict(fitted):
    ranker, X, groups = fitted
    ptr = np.append(0, np.cumsum(np.bincount(groups)))
    scores, n_evaluated = scores_of_contenders(
        ranker.ensemble_, X, np.zeros(len(X)), ptr, 1
    )
    left = np.isfinite(scores)
    assert_array_equal(scores[left], ranker.predict(X)[left])
    assert n_evaluated < len(X) * ranker.ensemble_.n_trees
    assert np.all(np.add.reduceat(left, ptr[:-1]) >= 1)


def test_equal_scores_are_all_contenders(fitted):
    ranker, X, _ = fitted
    same = np.repeat(X[:1], 12, axis=0)
    groups = np.zeros(12, dtype=int)
    rows = ranker.top_documents(same, groups, k=5, early_exit=True)
    assert rows.tolist() == [0, 1, 2, 3, 4]


def test_a_start_from_another_ranker_counts(fitted):
    _, X, groups = fitted
    X = np.nan_to_num(X)
    y = (X[:, 0] > 0).astype(float)
    ranker = LambdaMART(init=MART(n_estimators=3), n_estimators=20, random_state=0)
    ranker.fit(X, y, groups)
    expected = ranker.top_documents(X, groups, k=4)
    assert_array_equal(ranker.top_documents(X, groups, k=4, early_exit=True), expected)


def test_bad_arguments(fitted):
    ranker, X, groups = fitted
    with pytest.raises(ValueError, match="k must be at least 1"):
        ranker.top_documents(X, groups, k=0, early_exit=True)
    with pytest.raises(ValueError, match="groups"):
        ranker.top_documents(X, early_exit=True)
