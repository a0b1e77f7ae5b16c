"""An energy with several ordered outputs fits into everything around it.

The model is ordinal regression: one score f(x) and ascending thresholds b_1 < b_2 < ...
between grades, trained by the logistic loss of every threshold (all-threshold loss).
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skrank.datasets import make_ranking
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.losses import BaseLoss
from skrank.losses._base import PreparedLoss
from skrank.rankers import EnergyRanker
from skrank.solvers import LBFGS, Adam


class ThresholdEnergy(BaseEnergy):
    """Scores f(x) - b_k with b_1 and the logarithms of the increments as parameters."""

    ordered_outputs = True

    def setup(self, X, rng=None, y=None, ptr=None):
        super().setup(X, rng, y, ptr)
        self.n_outputs = len(np.unique(y)) - 1
        self.score_ = LinearEnergy().setup(X, rng, y, ptr)
        return self

    def n_params(self, n_features):
        return n_features + self.n_outputs

    def init_params(self, n_features, rng):
        return np.zeros(self.n_params(n_features))

    def penalty_mask(self, n_features):
        return np.repeat([1.0, 0.0], [n_features, self.n_outputs])

    def thresholds(self, params):
        first, *steps = params[-self.n_outputs :]
        return first + np.concatenate([[0.0], np.cumsum(np.exp(steps))])

    def scores(self, params, X, ptr=None):
        return self.document_scores(params, X)[:, None] - self.thresholds(params)

    def document_scores(self, params, X, ptr=None):
        return self.score_.scores(params[: -self.n_outputs], X)

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        f, pull = self.score_.scores_and_vjp(params[: -self.n_outputs], X)

        def vjp(gradient):
            to_thresholds = -gradient.sum(axis=0)
            behind = np.cumsum(to_thresholds[::-1])[::-1]  # of this one and later ones
            to_steps = behind[1:] * np.exp(params[len(params) - self.n_outputs + 1 :])
            to_params = pull(gradient.sum(axis=1))
            return np.concatenate([to_params, behind[:1], to_steps])

        return f[:, None] - self.thresholds(params), vjp


class AllThresholdLoss(BaseLoss):
    """Logistic loss of every threshold, on which side of it the grade lies."""

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _Prepared(y, ptr, sample_weight, n_threads)


class _Prepared(PreparedLoss):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.total_weight = float(len(self.y))

    def value_gradient(self, raw):
        side = np.where(self.y[:, None] > np.arange(raw.shape[1]), 1.0, -1.0)
        values = np.logaddexp(0.0, -side * raw).sum(axis=1)
        return np.add.reduceat(values, self.ptr[:-1]), -side * expit(-side * raw)


@pytest.mark.parametrize(
    "solver", [LBFGS(tol=1e-5), Adam(learning_rate=0.05)], ids=["lbfgs", "adam"]
)
def test_ordinal_regression(solver):
    X, y, groups = make_ranking(n_queries=30, random_state=0)
    ranker = EnergyRanker(ThresholdEnergy(), AllThresholdLoss(), solver=solver)
    ranker.set_params(random_state=0).fit(X, y, groups)
    assert ranker.score(X, y, groups) > 0.8
    thresholds = ranker.energy_.thresholds(ranker.params_)
    assert len(thresholds) == 4
    assert np.all(np.diff(thresholds) > 0.0)
    # Every column of energies is -(f - b_k); documents are ranked by f.
    f = ranker.predict(X)
    columns = ranker.energy_.scores(ranker.params_, X)
    assert_allclose(columns, f[:, None] - thresholds)
    assert np.all(np.diff(columns, axis=1) < 0.0)


def test_derivative_of_ordered_outputs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), np.resize([0.0, 1.0, 2.0, 3.0], 8)
    energy = ThresholdEnergy().setup(X, None, y)
    params = rng.normal(size=energy.n_params(3))
    raw, vjp = energy.scores_and_vjp(params, X)
    pull = rng.normal(size=raw.shape)
    slopes = [
        np.sum(pull * (energy.scores(params + e, X) - energy.scores(params - e, X)))
        / 2e-6
        for e in 1e-6 * np.eye(len(params))
    ]
    assert_allclose(vjp(pull), slopes, rtol=1e-6, atol=1e-8)
