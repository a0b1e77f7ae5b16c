"""Examination and relevance from clicks alone."""

import numpy as np
import pytest
from _biased_clicks import click_data
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.rankers import BoostedRanker
from skrank.unbiased import RegressionEM

DATA = click_data(2500, spread=2.0, noise=0.0)
X, Y, GROUPS, CLICKS, POSITIONS, CURVE = DATA


def _fit(*args, positions=POSITIONS, clicks=CLICKS, **options):
    return RegressionEM(*args, **options).fit(X, clicks, GROUPS, positions=positions)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=str)
def test_propensities_are_found_from_clicks(estimator):
    model = _fit(estimator)
    assert_allclose(model.propensities_, CURVE, atol=0.1)
    assert model.propensities_[0] == 1.0
    assert model.score(X, Y, GROUPS) > 0.93


def _by_loop(n_documents, document, places, clicks, n_iter):
    """Expectation and maximisation with a relevance for each document, row by row."""
    rates = [clicks[places == k].mean() for k in range(places.max() + 1)]
    theta = 0.5 * np.array(rates) / max(rates)
    gamma = np.array([clicks[document == d].mean() for d in range(n_documents)])
    for _ in range(n_iter):
        theta = np.clip(theta, 1e-6, 1 - 1e-6)
        gamma = np.clip(gamma, 1e-6, 1 - 1e-6)
        examined, relevant = np.empty(len(clicks)), np.empty(len(clicks))
        for row, c in enumerate(clicks):
            t, g = theta[places[row]], gamma[document[row]]
            examined[row] = 1.0 if c else t * (1 - g) / (1 - t * g)
            relevant[row] = 1.0 if c else g * (1 - t) / (1 - t * g)
        theta = np.array([examined[places == k].mean() for k in range(len(theta))])
        gamma = np.array([relevant[document == d].mean() for d in range(n_documents)])
    return theta, gamma


@pytest.mark.parametrize("curve", [[1.0, 0.6, 0.3], [0.4, 0.9, 0.6]], ids=str)
def test_a_relevance_for_each_document_is_plain_expectation_maximisation(curve):
    rng = np.random.RandomState(0)
    document, places = rng.randint(4, size=600), rng.randint(3, size=600)
    chance = np.array(curve)[places] * np.array([0.1, 0.3, 0.5, 0.9])[document]
    clicks = (rng.random_sample(600) < chance).astype(float)
    rows = OneHotEncoder(sparse_output=False).fit_transform(document[:, None])
    # Least squares on indicators without intercept take the mean of each document.
    model = RegressionEM(LinearRegression(fit_intercept=False), max_iter=7, tol=0.0)
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        model.fit(rows, clicks, np.arange(600) // 6, positions=places + 1)
    theta, gamma = _by_loop(4, document, places, clicks, 7)
    assert_allclose(model.examination_, theta, rtol=1e-8)
    assert_allclose(model.predict(np.eye(4)), gamma, rtol=1e-8)
    assert model.n_iter_ == 7
    # With means in both steps, the likelihood never falls.
    assert (np.diff(model.loss_curve_) <= 1e-12).all()


@pytest.mark.filterwarnings("ignore:RegressionEM did not converge")
def test_it_stops_where_relative_propensities_change_by_no_more_than_tol():
    rows = {"estimator": LinearRegression(), "tol": 0.0}
    curves = [_fit(**rows, max_iter=n).propensities_ for n in range(1, 5)]
    changes = np.abs(np.diff(curves, axis=0)).max(axis=1)  # from iteration 2 on
    assert (np.diff(changes) < 0).all()
    with pytest.warns(ConvergenceWarning, match=f"changed by {changes[2]:.2g};"):
        _fit(**rows, max_iter=4)
    stopped = _fit(LinearRegression(), tol=float(changes[2]))
    assert stopped.n_iter_ == 4
    assert_array_equal(stopped.propensities_, curves[3])


def test_a_first_place_that_no_row_has_is_as_the_second():
    """Changes are relative to the propensity of the first place, which is filled."""
    rows = {"estimator": LinearRegression(), "max_iter": 4}
    with pytest.warns(ConvergenceWarning, match=r"still changed by 0\.0"):
        model = _fit(**rows, tol=1e-9, positions=POSITIONS + 1)
    assert_array_equal(model.propensities_[:2], 1.0)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        plain = _fit(**rows, tol=1e-9)
    assert_array_equal(model.propensities_[1:], plain.propensities_)
    assert_array_equal(model.loss_curve_, plain.loss_curve_)


def test_shares_of_clicks_with_impressions_are_repeated_rows():
    rows = np.repeat(np.arange(len(X)), 2)
    rng = np.random.RandomState(0)
    clicks = (rng.random_sample(len(rows)) < 0.3 * CURVE[POSITIONS[rows] - 1]) * 1.0
    shares = clicks.reshape(-1, 2).mean(axis=1)
    options = {"estimator": LinearRegression(), "tol": 0.05}
    long = RegressionEM(**options).fit(
        X[rows], clicks, GROUPS[rows], positions=POSITIONS[rows]
    )
    short = RegressionEM(**options).fit(
        X, shares, GROUPS, positions=POSITIONS, sample_weight=np.full(len(X), 2.0)
    )
    assert_allclose(short.propensities_, long.propensities_, rtol=1e-6)


def test_classifiers_and_regressors_agree_on_balanced_data():
    """Both classes of a logistic regression have the shares of the expectation."""
    classes = _fit(LogisticRegression(C=1e6), max_iter=30, tol=0.01)
    trees = _fit(BoostedRanker(n_estimators=5, random_state=0), tol=1.0)
    assert set(classes.estimator_.classes_) == {0.0, 1.0}
    assert trees.n_iter_ == 1
    chance = classes.predict(X[:50])
    assert ((chance > 0) & (chance < 1)).all()


def test_the_order_of_queries_does_not_matter():
    order = np.random.RandomState(0).permutation(len(X))
    model = RegressionEM(tol=0.1)
    one = model.fit(X, CLICKS, GROUPS, positions=POSITIONS).propensities_
    other = model.fit(
        X[order], CLICKS[order], GROUPS[order], positions=POSITIONS[order]
    )
    assert_allclose(other.propensities_, one, rtol=1e-9)


def test_threads_do_not_change_a_bit():
    one, two = (
        _fit(BoostedRanker(n_estimators=5, random_state=0, n_jobs=n), tol=0.1)
        for n in (1, 4)
    )
    assert_array_equal(one.propensities_, two.propensities_)


@pytest.mark.parametrize("own", [None, 7])
def test_a_seed_makes_the_fit_the_same_to_the_bit(own):
    options = {"n_estimators": 5, "subsample": 0.5, "random_state": own}

    def fit(seed):
        model = _fit(BoostedRanker(**options), tol=0.2, random_state=seed)
        return np.append(model.propensities_, model.predict(X[:50]))

    assert_array_equal(fit(3), fit(3))
    assert not np.array_equal(fit(3), fit(4))
    assert_array_equal(fit(np.random.RandomState(3)), fit(3))
    # Without one, the estimator has its own.
    assert np.array_equal(fit(None), fit(None)) == (own is not None)


def test_the_seed_is_that_of_the_default_estimator(monkeypatch):
    default = RegressionEM._default_estimator
    drawing = {"subsample": 0.5, "n_estimators": 5}
    monkeypatch.setattr(
        RegressionEM,
        "_default_estimator",
        lambda self: default(self).set_params(**drawing),
    )
    one, other = (_fit(tol=0.2, random_state=5) for _ in range(2))
    assert_array_equal(one.propensities_, other.propensities_)
    assert_array_equal(one.predict(X), other.predict(X))


def test_places_without_weight_lie_between_their_neighbours():
    rows = POSITIONS != 3
    weight = np.where(rows, 1.0, 0.0)
    options = {"estimator": LinearRegression(), "tol": 0.1}
    model = RegressionEM(**options).fit(
        X, CLICKS, GROUPS, positions=POSITIONS, sample_weight=weight
    )
    p = model.propensities_
    assert_allclose(p[2], np.sqrt(p[1] * p[3]))


def test_places_that_no_row_has_lie_between_their_neighbours():
    model = _fit(positions=np.where(POSITIONS >= 3, POSITIONS + 2, POSITIONS), tol=0.1)
    curve = model.propensities_
    assert len(curve) == 8
    assert_allclose(np.diff(np.log(curve[1:5]), 2), 0.0, atol=1e-9)


def test_a_model_file_brings_it_back(tmp_path):
    model = _fit(LogisticRegression(), tol=0.1)
    save_model(model, tmp_path / "em.skrank")
    again = load_model(tmp_path / "em.skrank")
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.propensities_, model.propensities_)


def test_bad_clicks_are_refused():
    with pytest.raises(ValueError, match="shares of clicks from 0 to 1, got 3"):
        _fit(clicks=2.0 + CLICKS)
    with pytest.raises(ValueError, match=r"RegressionEM.fit needs positions"):
        RegressionEM().fit(X, CLICKS, GROUPS)
    with (
        pytest.warns(UserWarning, match="no query prefers"),
        pytest.raises(ValueError, match="y holds no clicks"),
    ):
        _fit(clicks=np.zeros(len(X)))
    with pytest.raises(InvalidParameterError, match="max_iter must be"):
        _fit(max_iter=0)


@pytest.mark.filterwarnings("ignore:RegressionEM did not converge")
def test_the_loss_is_a_mean_over_weighted_rows():
    weight = np.random.RandomState(0).exponential(size=len(X))
    model = RegressionEM(LinearRegression(), max_iter=1, tol=0.0)
    model.fit(X, CLICKS, GROUPS, positions=POSITIONS, sample_weight=weight)
    chance = model.examination_[POSITIONS - 1]
    chance = chance * np.clip(model.predict(X), 1e-6, 1 - 1e-6)
    losses = -np.log(np.where(CLICKS > 0, chance, 1 - chance))
    expected = (weight * losses).sum() / weight.sum()
    assert_allclose(model.loss_curve_, [expected], rtol=1e-10)
