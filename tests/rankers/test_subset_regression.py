"""Subset regression against the normal equations."""

import numpy as np
import pytest
from scipy import sparse

from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError, TrainingDataWarning
from skrank.rankers import SubsetRegression

FORMS = [np.asarray, sparse.csr_matrix]


def solved(X, target, weight, alpha):
    """Coefficients and constant of ridge regression, by the normal equations."""
    wide = np.column_stack([X, np.ones(len(X))])
    penalty = np.diag([alpha] * X.shape[1] + [0.0])
    found = np.linalg.solve(
        wide.T * weight @ wide + penalty, wide.T @ (weight * target)
    )
    return found[:-1], found[-1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("importance", [0.0, 2.0])
def test_coefficients_solve_the_normal_equations(importance, alpha, form):
    X, y, groups = make_ranking(
        n_queries=20, n_informative=5, n_features=8, random_state=0
    )
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    sample_weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    target = 2.0**y - 1.0
    weight = sample_weight * (1.0 + importance * target / target.max())
    coef, intercept = solved(X, target, weight, alpha)
    ranker = SubsetRegression(alpha=alpha, gain="exp2", importance=importance)
    ranker.fit(form(X), y, groups, sample_weight=sample_weight)
    np.testing.assert_allclose(ranker.coef_, coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ranker.intercept_, intercept, rtol=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("importance", "weight"), [(1e306, None), (1e101, None), (1e60, 1e60)]
)
def test_an_importance_beyond_the_range_of_weights_is_named(importance, weight, form):
    X, y, groups = make_ranking(n_queries=5, random_state=0)
    given = {} if weight is None else {"sample_weight": np.full(len(y), weight)}
    ranker = SubsetRegression(importance=importance)
    message = "^SubsetRegression: importance must be a number with which no weight exc"
    with pytest.raises(InvalidParameterError, match=message):
        ranker.fit(form(X), y, groups, **given)
    ranker = SubsetRegression(importance=1e99).fit(form(X), y, groups)
    assert np.isfinite(ranker.predict(form(X))).all()


@pytest.mark.parametrize("form", FORMS)
def test_scales_may_differ_by_four_powers_of_ten(form):
    rng = np.random.default_rng(0)
    X = rng.random((500, 6))
    y = np.clip(X @ [3, 1, 1, 0, -1, 0.5] + rng.normal(size=500), 0, 4).round()
    X *= [0.01, 0.1, 1.0, 1.0, 10.0, 100.0]
    coef, _ = solved(X, y, np.ones(500), 1.0)
    ranker = SubsetRegression().fit(form(X), y, np.repeat(np.arange(25), 20))
    np.testing.assert_allclose(ranker.coef_, coef, rtol=1e-8)


def test_an_outlier_that_costs_digits_is_told():
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    X[3, 1] = 1e20
    with pytest.warns(TrainingDataWarning, match="scale the features, or look for out"):
        scores = SubsetRegression(alpha=0.0).fit(X, y, groups).predict(X)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_single_precision_are_as_good_as_others(form):
    X, y, groups = make_ranking(
        n_queries=20, n_informative=5, n_features=8, random_state=0
    )
    narrow = form(X.astype(np.float32))
    wide = narrow.astype(np.float64)
    ranker = SubsetRegression().fit(narrow, y, groups)
    exact = SubsetRegression().fit(wide, y, groups)
    assert ranker.coef_.tolist() == exact.coef_.tolist()
    assert ranker.predict(narrow).tolist() == exact.predict(wide).tolist()
