"""OWPC against a direct search, and its limit cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skrank.datasets import make_ranking
from skrank.losses import OWPCLoss
from skrank.rankers import IRSVM, OWPC, RankSVM
from skrank.solvers import LBFGS, SmoothingHomotopy


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=15, n_features=5, n_informative=3, random_state=0)


@pytest.mark.parametrize("hinge", ["linear", "squared"])
def test_uniform_weights_make_it_the_ranking_svm(data, hinge):
    sharp = SmoothingHomotopy(final_width=1e-4, tol=1e-9)
    solver = sharp if hinge == "linear" else LBFGS(tol=1e-10)
    settings = {"hinge": hinge, "alpha": 0.01, "solver": solver}
    for normalization, same in (("pair", RankSVM), ("query", IRSVM)):
        ranker = OWPC(weights="uniform", normalization=normalization, **settings)
        found = ranker.fit(*data).coef_
        expected = same(**settings).fit(*data).coef_
        assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weights", ["reciprocal", "max"])
@pytest.mark.parametrize("hinge", ["linear", "squared"])
def test_the_solver_comes_close_to_the_minimum(weights, hinge):
    X, y, groups = make_ranking(
        n_queries=10, n_features=2, n_informative=2, random_state=1
    )
    ptr = np.append(0, np.cumsum(np.unique(groups, return_counts=True)[1]))
    loss = OWPCLoss(weights, hinge=hinge, normalization="query").prepare(y, ptr)

    def objective(w):
        value = loss.value_gradient(X @ w)[0].sum() / loss.total_weight
        return value + 0.005 * w @ w

    ranker = OWPC(weights=weights, hinge=hinge, alpha=0.01).fit(X, y, groups)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000}
    best = minimize(objective, ranker.coef_, method="Nelder-Mead", options=options)
    assert objective(ranker.coef_) <= best.fun * (1 + 2e-3)


def test_the_largest_loss_alone_cares_for_the_top():
    """One worse document is like the best one, and many others are its opposite.

    No feature separates the best document from its like, against which it is lost as
    much as against the others together under equal weights.
    """
    X = np.array([[1.0, 0.0], [1.0, 1.0], *[[2.0, -0.5]] * 8])
    y, groups = np.array([1.0] + [0.0] * 9), np.zeros(10)

    def top(weights):
        ranker = OWPC(weights=weights, alpha=0.5).fit(X, y, groups)
        return ranker.coef_ @ [0.0, -1.0]  # margin against the single document

    assert top("max") > 0.0 > top("uniform")


def test_rows_of_which_no_plane_is_exact_enough():
    X, y, groups = make_ranking(
        n_queries=12,
        docs_per_query=(2, 7),
        n_features=6,
        n_informative=3,
        n_grades=3,
        random_state=0,
    )
    ranker = OWPC(weights="max", normalization="document")
    with pytest.raises(ValueError, match="alpha must be raised, or X must be scaled"):
        ranker.fit(1e6 * X, y, groups)
