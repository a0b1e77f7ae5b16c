"""Any ranker on weighted clicks: what it learns from, and in which machinery."""

import numpy as np
import pytest
import sklearn
from _biased_clicks import click_data
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.click import PositionBasedModel, SimulatedUser
from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import LambdaMART, ListMLE, RankSVM
from skrank.unbiased import (
    InterventionPropensities,
    PropensityWeightedRanker,
    RegressionEM,
    inverse_propensity_weights,
)

DATA = click_data()
X, Y, GROUPS, CLICKS, POSITIONS, CURVE = DATA
ROWS = CURVE[POSITIONS - 1]


def _fit(estimator=None, propensities=CURVE, clicks=CLICKS, **options):
    ranker = PropensityWeightedRanker(estimator, propensities, **options)
    return ranker.fit(X, clicks, GROUPS, positions=POSITIONS)


def _coef(ranker):
    return ranker.estimator_.coef_


def test_unbiased_rankers_find_what_naive_ones_miss():
    skyline = RankSVM().fit(X, Y, GROUPS).score(X, Y, GROUPS)
    naive = RankSVM().fit(X, CLICKS, GROUPS).score(X, Y, GROUPS)
    assert naive < skyline - 0.03
    for estimate in ("clicks", "weights"):
        assert _fit(estimate=estimate).score(X, Y, GROUPS) > 0.5 * (skyline + naive)


@pytest.mark.parametrize("estimate", ["weights", "grades"])
@pytest.mark.parametrize(
    "estimator", [RankSVM(), LambdaMART(n_estimators=5, random_state=0)], ids=repr
)
def test_propensities_of_one_leave_the_plain_ranker_to_the_bit(estimate, estimator):
    plain = estimator.fit(X, CLICKS, GROUPS).predict(X)
    own = _fit(estimator, np.ones(6), estimate=estimate)
    assert_array_equal(own.predict(X), plain)


def test_one_click_a_query_is_the_plain_ranker():
    clicks = (np.arange(len(X)) % 6 == 2).astype(float)
    plain = RankSVM().fit(X, clicks, GROUPS)
    for estimate in ("clicks", "weights"):
        own = _fit(RankSVM(), np.ones(6), clicks, estimate=estimate)
        assert_allclose(_coef(own), plain.coef_, rtol=1e-6)


def test_weights_of_clicks_are_row_weights():
    weight = inverse_propensity_weights(CLICKS, ROWS, clip=0.3, self_normalize=True)
    plain = RankSVM().fit(X, CLICKS, GROUPS, sample_weight=weight)
    own = _fit(RankSVM(), estimate="weights", clip=0.3, self_normalize=True)
    assert_array_equal(_coef(own), plain.coef_)


def test_grades_are_clicks_over_propensities():
    plain = Ridge().fit(X, CLICKS / ROWS)
    own = _fit(Ridge(), estimate="grades")
    # Rows are in another order.
    assert_allclose(_coef(own), plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("estimator", [RankSVM(), ListMLE(solver="lbfgs")], ids=repr)
def test_every_click_is_a_query_of_its_own(estimator):
    """By hand: a copy of the list for each click, with the weight on all its rows."""
    clicks = CLICKS + (np.arange(len(X)) % 7 == 0)  # some documents twice
    rows, grades, weights, queries = [], [], [], []
    for n, clicked in enumerate(np.flatnonzero(clicks)):
        members = np.flatnonzero(GROUPS[clicked] == GROUPS)
        rows.append(members)
        grades.append((members == clicked).astype(float))
        weights.append(np.full(len(members), clicks[clicked] / ROWS[clicked]))
        queries.append(np.full(len(members), n))
    plain = estimator.fit(
        X[np.concatenate(rows)],
        np.concatenate(grades),
        np.concatenate(queries),
        sample_weight=np.concatenate(weights),
    )
    own = _fit(estimator, clicks=clicks, estimate="clicks")
    assert_allclose(_coef(own), plain.coef_, rtol=1e-5)


def test_row_weights_multiply_those_of_clicks():
    weight = np.where(np.arange(len(X)) % 2, 2.0, 0.5)
    for estimate in ("clicks", "weights"):
        own = PropensityWeightedRanker(RankSVM(), CURVE, estimate=estimate)
        own.fit(X, CLICKS, GROUPS, positions=POSITIONS, sample_weight=weight)
        given = PropensityWeightedRanker(RankSVM(), estimate=estimate)
        given.fit(
            X,
            CLICKS,
            GROUPS,
            propensities=ROWS / np.where(CLICKS > 0, weight, 1.0),
            sample_weight=np.where(CLICKS > 0, 1.0, weight),
        )
        assert_allclose(_coef(own), _coef(given), rtol=1e-9)


def test_propensities_of_rows_do_what_those_of_places_do():
    own = PropensityWeightedRanker(RankSVM()).fit(X, CLICKS, GROUPS, propensities=ROWS)
    assert_array_equal(_coef(own), _coef(_fit(RankSVM())))
    assert own.propensities_ is None


def test_an_estimator_finds_the_curve_from_the_same_rows():
    em = RegressionEM(Ridge(), tol=0.05)
    ranker = _fit(RankSVM(), em)
    alone = RegressionEM(Ridge(), tol=0.05)
    alone.fit(X, CLICKS, GROUPS, positions=POSITIONS)
    assert_array_equal(ranker.propensities_, alone.propensities_)
    assert_array_equal(_coef(ranker), _coef(_fit(RankSVM(), alone.propensities_)))
    assert not hasattr(em, "propensities_")


def test_the_order_of_rows_does_not_matter():
    order = np.random.RandomState(0).permutation(len(X))
    mixed = PropensityWeightedRanker(RankSVM(), CURVE).fit(
        X[order], CLICKS[order], GROUPS[order], positions=POSITIONS[order]
    )
    assert_allclose(_coef(mixed), _coef(_fit(RankSVM())), rtol=1e-9)


def test_validation_rows_are_taken_as_they_are():
    ranker = PropensityWeightedRanker(
        LambdaMART(n_estimators=5, random_state=0), CURVE, estimate="weights"
    )
    held = {"X_val": X[:60], "y_val": Y[:60], "groups_val": GROUPS[:60]}
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, **held)
    plain = LambdaMART(n_estimators=5, random_state=0).fit(
        X,
        CLICKS,
        GROUPS,
        sample_weight=inverse_propensity_weights(CLICKS, ROWS),
        **held,
    )
    assert_array_equal(ranker.estimator_.validation_curve_, plain.validation_curve_)


@pytest.mark.parametrize("steps", ["pipeline outside", "pipeline inside"])
def test_positions_find_their_way_through_pipelines_and_searches(steps):
    if steps == "pipeline outside":
        ranker = make_pipeline(
            StandardScaler(), PropensityWeightedRanker(RankSVM(), CURVE)
        )
        prefix = "propensityweightedranker__estimator__"
    else:
        ranker = PropensityWeightedRanker(
            make_pipeline(StandardScaler(), RankSVM()), CURVE
        )
        prefix = "estimator__ranksvm__"
    given = {"groups": GROUPS, "positions": POSITIONS}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ranker,
            {f"{prefix}alpha": [1e-3, 1e2]},
            cv=QueryKFold(3),
            scoring=make_ranking_scorer("ndcg@5"),
        ).fit(X, CLICKS, **given)
        scores = cross_val_score(
            ranker,
            X,
            CLICKS,
            cv=QueryKFold(3),
            scoring=make_ranking_scorer("ndcg@5"),
            params=given,
        )
    assert search.best_score_ >= scores.mean() - 1e-12
    fold = next(QueryKFold(3).split(X, CLICKS, GROUPS))
    train, test = fold
    by_hand = PropensityWeightedRanker(
        make_pipeline(StandardScaler(), RankSVM()), CURVE
    )
    by_hand.fit(X[train], CLICKS[train], GROUPS[train], positions=POSITIONS[train])
    expected = make_ranking_scorer("ndcg@5")(
        by_hand, X[test], CLICKS[test], GROUPS[test]
    )
    assert_allclose(scores[0], expected, atol=0.02)


def test_a_model_file_brings_it_back(tmp_path):
    ranker = _fit(RankSVM(), RegressionEM(Ridge(), tol=0.1))
    save_model(ranker, tmp_path / "model.skrank")
    again = load_model(tmp_path / "model.skrank")
    assert_array_equal(again.predict(X), ranker.predict(X))
    assert_array_equal(again.propensities_, ranker.propensities_)


def test_missing_propensities_are_an_error():
    with pytest.raises(ValueError, match="fit needs positions, the place from 1 on"):
        PropensityWeightedRanker(RankSVM(), CURVE).fit(X, CLICKS, GROUPS)
    with pytest.raises(
        ValueError, match="propensities must be the curve of all places"
    ):
        PropensityWeightedRanker().fit(X, CLICKS, GROUPS, positions=POSITIONS)
    with pytest.raises(ValueError, match="propensities came with the rows of fit and"):
        PropensityWeightedRanker(None, CURVE).fit(X, CLICKS, GROUPS, propensities=ROWS)
    with pytest.raises(ValueError, match="the 3 places that propensities holds, got"):
        _fit(RankSVM(), CURVE[:3])


def test_what_finds_no_propensities_is_refused():
    with pytest.raises(
        TypeError, match=r"propensities: RankSVM.fit takes no positions"
    ):
        _fit(RankSVM(), RankSVM())
    inner = PropensityWeightedRanker(RankSVM(), CURVE)
    nested = _fit(RankSVM(), inner)  # it has a curve, which it was given
    assert_array_equal(nested.propensities_, CURVE)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (InterventionPropensities(), "InterventionPropensities.fit takes no positions"),
        (PositionBasedModel(), "PositionBasedModel.fit takes no positions"),
        (SimulatedUser(examination="position"), "SimulatedUser(.*) is no curve"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_learns_from_logs_is_refused_with_the_remedy(source, problem):
    remedy = "; pass the propensities_ of a fitted estimator or .*to_propensities"
    with pytest.raises(TypeError, match=f"propensities: {problem}{remedy}"):
        _fit(RankSVM(), source)


def test_clicks_are_needed():
    with (
        pytest.warns(UserWarning, match="no query prefers"),
        pytest.raises(ValueError, match="y holds no clicks"),
    ):
        _fit(RankSVM(), clicks=np.zeros(len(X)), estimate="clicks")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimate": "pairs"}, "estimate must be 'weights', 'clicks' or 'grades'"),
        ({"clip": 2.0}, r"clip must be a number in \(0, 1\] or None"),
        ({"self_normalize": 1.5}, "self_normalize must be"),
    ],
)
def test_parameters_out_of_range_are_refused(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        _fit(RankSVM(), **change)


class RidgeThatCounts(Ridge):
    """A regression that notes how many rows it learned from."""

    def fit(self, X, y, sample_weight=None):
        self.n_rows_ = len(y)
        return super().fit(X, y, sample_weight)


def test_clicks_without_weight_make_no_queries():
    clicked = np.flatnonzero(CLICKS)
    weight = np.ones(len(X))
    weight[clicked[::2]] = 0.0
    ranker = PropensityWeightedRanker(RidgeThatCounts(), CURVE, estimate="clicks")
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, sample_weight=weight)
    sizes = np.bincount(GROUPS)[GROUPS[clicked[1::2]]]
    assert ranker.estimator_.n_rows_ == sizes.sum()
    with pytest.raises(
        ValueError, match="y holds no clicks, so that estimate='clicks'"
    ):
        ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, sample_weight=1 - CLICKS)
