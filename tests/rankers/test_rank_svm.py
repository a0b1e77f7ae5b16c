"""Kernel Ranking SVM against the dual problem over explicit pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from skrank.datasets import make_ranking
from skrank.rankers import RankSVM
from skrank.solvers import LBFGS, SmoothingHomotopy

GAMMA = 0.3
RBF = {"kernel": "rbf", "kernel_params": {"gamma": GAMMA}}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=4, n_features=4, n_informative=2, random_state=0)


def preference_pairs(y, groups):
    u, v = np.nonzero((groups[:, None] == groups) & (y[:, None] > y))
    return np.column_stack([u, v])


def dual_scores(X, y, groups, alpha):
    """Scores of the dual of eq. 3.17, whose examples are differences of rows.

    Every pair stands twice, once with each sign, so that the intercept is 0.
    """
    pairs = preference_pairs(y, groups)
    K = rbf_kernel(X, gamma=GAMMA)
    u, v = np.vstack([pairs, pairs[:, ::-1]]).T
    gram = K[u][:, u] - K[u][:, v] - K[v][:, u] + K[v][:, v]
    sign = np.repeat([1.0, -1.0], len(pairs))
    svm = SVC(kernel="precomputed", C=0.5 / (alpha * len(pairs)), tol=1e-8)
    svm.fit(gram, sign)
    expand = np.zeros(len(X))
    weight = svm.dual_coef_.ravel()
    np.add.at(expand, u[svm.support_], weight)
    np.add.at(expand, v[svm.support_], -weight)
    return K @ expand


def test_all_rows_as_landmarks_solve_the_dual(data):
    X, y, groups = data
    solver = SmoothingHomotopy(final_width=1e-5, max_iter=2000, tol=1e-8)
    ranker = RankSVM(
        **RBF, n_components=None, hinge="linear", alpha=0.01, solver=solver
    ).fit(X, y, groups)
    expected = dual_scores(X, y, groups, alpha=0.01)
    for query in np.unique(groups):
        rows = groups == query
        found = ranker.predict(X[rows])
        centred = expected[rows] - expected[rows].mean()
        assert_allclose(found - found.mean(), centred, atol=2e-3)


def test_as_many_landmarks_as_rows_are_all_of_them(data):
    X, y, groups = data
    exact, drawn = (
        RankSVM(**RBF, n_components=n, random_state=0, solver=LBFGS(tol=1e-10))
        .fit(X, y, groups)
        .predict(X)
        for n in (None, len(X))
    )
    assert_allclose(drawn, exact, rtol=1e-9)


def test_few_landmarks_approximate_all_of_them(data):
    X, y, groups = data

    def scores(n_components):
        settings = {**RBF, "alpha": 0.01, "random_state": 0}
        ranker = RankSVM(**settings, n_components=n_components)
        return ranker.fit(X, y, groups).predict(X)

    exact = scores(None)
    errors = [np.abs(scores(n) - exact).max() for n in (4, len(X) // 3, len(X) - 3)]
    assert errors[0] > errors[1] > errors[2]


def test_a_kernel_learns_from_preferences_alone(data):
    X, y, groups = data
    settings = {**RBF, "n_components": None, "solver": LBFGS(tol=1e-10)}
    graded = RankSVM(**settings).fit(X, y, groups)
    paired = RankSVM(**settings).fit(X, preferences=preference_pairs(y, groups))
    assert_allclose(paired.predict(X), graded.predict(X), atol=1e-3)
