"""L1 penalties against the lasso of scikit-learn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy
from skrank.exceptions import TrainingDataWarning
from skrank.losses import LogLoss, SquaredLoss
from skrank.rankers import EnergyRanker
from skrank.solvers import SparseLBFGS


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=15, n_features=8, n_informative=3, random_state=0)


@pytest.mark.parametrize("l1", [1e-3, 0.05, 0.5])
def test_the_squared_loss_becomes_the_lasso(data, l1):
    X, y, groups = data
    ranker = EnergyRanker(
        LinearEnergy(fit_intercept=True),
        SquaredLoss(),
        alpha=0.0,
        solver=SparseLBFGS(l1=l1, tol=1e-9),
    ).fit(X, y, groups)
    unit = SquaredLoss().prepare([0.0], [0, 1]).value_gradient([1.0])[0][0]
    lasso = Lasso(alpha=l1 / (2 * unit), tol=1e-12, max_iter=10_000).fit(X, y)
    assert_allclose(ranker.coef_, lasso.coef_, atol=1e-5)
    assert_allclose(ranker.intercept_, lasso.intercept_, atol=1e-5)
    assert np.array_equal(ranker.coef_ == 0.0, np.abs(lasso.coef_) < 1e-9)


def test_too_few_iterations_are_said(data):
    ranker = EnergyRanker(loss=LogLoss(), solver=SparseLBFGS(max_iter=1))
    with pytest.warns(ConvergenceWarning, match="SparseLBFGS stopped after 1 iter"):
        ranker.fit(*data)


def test_all_zero_is_where_a_strong_penalty_ends(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        ranker = EnergyRanker(loss=LogLoss(), solver=SparseLBFGS(l1=100.0))
        with pytest.warns(TrainingDataWarning, match="solver__l1=100 are stronger"):
            ranker.fit(*data)
    assert not ranker.coef_.any()
    assert ranker.converged_
