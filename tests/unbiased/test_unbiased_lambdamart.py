"""LambdaMART whose pairs have weights by place."""

import numpy as np
import pytest
import sklearn
from _biased_clicks import click_data
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV

from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.losses import LambdaLoss
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import LambdaMART
from skrank.unbiased import UnbiasedLambdaMART
from skrank.unbiased._unbiased_lambdamart import DebiasedPairs

DATA = click_data(1000)
X, Y, GROUPS, CLICKS, POSITIONS, CURVE = DATA
SMALL = {"n_estimators": 5, "random_state": 0}


def _fit(positions=POSITIONS, **options):
    ranker = UnbiasedLambdaMART(**(SMALL | options))
    return ranker.fit(X, CLICKS, GROUPS, positions=positions)


def test_it_comes_closer_to_the_skyline_than_lambdamart():
    options = {"n_estimators": 60, "random_state": 0}
    naive = LambdaMART(**options).fit(X, CLICKS, GROUPS).score(X, Y, GROUPS)
    own = _fit(**options, regularization=0.0)
    assert own.score(X, Y, GROUPS) > naive + 0.02
    assert (own.propensities_[1:] < 0.7).all()


def test_documents_in_one_place_leave_lambdamart_to_the_bit():
    plain = LambdaMART(**SMALL).fit(X, CLICKS, GROUPS)
    own = _fit(positions=np.ones(len(X)))
    assert_array_equal(own.predict(X), plain.predict(X))
    assert own.propensities_.tolist() == own.unclicked_ratios_.tolist() == [1.0]


def test_much_regularization_leaves_lambdamart_to_the_bit():
    plain = LambdaMART(**SMALL).fit(X, CLICKS, GROUPS)
    own = _fit(regularization=1e300)
    assert_array_equal(own.predict(X), plain.predict(X))
    assert (own.propensities_ == 1.0).all()


def test_ratios_are_found_anew_from_the_scores_after_each_tree():
    start = np.random.RandomState(0).standard_normal(len(X))  # or ties would be broken
    ranker = UnbiasedLambdaMART(n_estimators=4, random_state=0, regularization=0.5)
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, init_score=start)
    loss = LambdaLoss("ndcg@30", normalize=True, damping=0.1)
    pairs = DebiasedPairs(loss.prepare(CLICKS, _ptr()), POSITIONS - 1, 0.5, None)
    for n_trees, scores in enumerate(ranker.staged_predict(X), start=1):
        if n_trees < 4:
            pairs.update(scores + start)
    # The last ratios are those that the last tree was grown with.
    assert_allclose(ranker.propensities_, pairs.ratios[0], rtol=1e-9)
    assert_allclose(ranker.unclicked_ratios_, pairs.ratios[1], rtol=1e-9)


def test_a_warm_start_takes_places_that_it_has_not_seen_for_equal_ones():
    start = np.random.RandomState(0).standard_normal(len(X))
    options = {"random_state": 0, "regularization": 0.5, "warm_start": True}
    ranker = UnbiasedLambdaMART(n_estimators=2, **options)
    given = X, CLICKS, GROUPS
    ranker.fit(*given, positions=np.minimum(POSITIONS, 3), init_score=start)
    loss = LambdaLoss("ndcg@30", normalize=True, damping=0.1)
    pairs = DebiasedPairs(loss.prepare(CLICKS, _ptr()), POSITIONS - 1, 0.5, None)
    for own, old in zip(pairs.ratios, (ranker.propensities_, ranker.unclicked_ratios_)):
        own[:] = 1.0
        own[:3] = old
    pairs.update(ranker.predict(X) + start)
    ranker.set_params(n_estimators=3).fit(*given, positions=POSITIONS, init_score=start)
    assert_allclose(ranker.propensities_, pairs.ratios[0], rtol=1e-9)
    assert_allclose(ranker.unclicked_ratios_, pairs.ratios[1], rtol=1e-9)


def _ptr():
    return np.arange(1001) * 6


def test_the_best_iteration_keeps_its_ratios():
    held = {"X_val": X[:300], "y_val": Y[:300], "groups_val": GROUPS[:300]}
    options = SMALL | {"n_estimators": 12, "n_iter_no_change": None}
    ranker = UnbiasedLambdaMART(**options)
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, **held)
    kept = ranker.best_iteration_
    again = _fit(
        **options | {"n_estimators": kept, "learning_rate": ranker.learning_rate_}
    )
    assert_array_equal(again.propensities_, ranker.propensities_)


def test_a_warm_start_goes_on_as_if_training_had_never_stopped():
    options = {"learning_rate": 0.2, "regularization": 0.3}
    whole = _fit(n_estimators=6, **options)
    parts = _fit(n_estimators=2, warm_start=True, **options)
    parts.set_params(n_estimators=6).fit(X, CLICKS, GROUPS, positions=POSITIONS)
    assert_array_equal(parts.predict(X), whole.predict(X))
    assert_array_equal(parts.propensities_, whole.propensities_)


def test_a_warm_start_of_which_no_round_is_kept_leaves_the_ratios():
    held = {"X_val": X[:300], "y_val": Y[:300], "groups_val": GROUPS[:300]}
    options = {"n_estimators": 12, "early_stopping": True, "warm_start": True}
    ranker = UnbiasedLambdaMART(**SMALL | options, n_iter_no_change=3)
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS, **held)
    ranker.set_params(n_estimators=ranker.best_iteration_ + 20, learning_rate=50.0)
    before = ranker.propensities_, ranker.unclicked_ratios_, ranker.predict(X)
    # Other places are seen, of which the ratios that are kept say nothing.
    ranker.fit(X, CLICKS, GROUPS, positions=POSITIONS + 1, **held)
    after = ranker.propensities_, ranker.unclicked_ratios_, ranker.predict(X)
    for old, new in zip(before, after, strict=True):
        assert_array_equal(new, old)


def test_threads_and_the_order_of_queries_do_not_change_a_bit():
    order = np.concatenate([np.flatnonzero(q == GROUPS) for q in range(999, -1, -1)])
    one = _fit(n_jobs=1)
    two = UnbiasedLambdaMART(**SMALL, n_jobs=4).fit(
        X[order], CLICKS[order], GROUPS[order], positions=POSITIONS[order]
    )
    assert_array_equal(one.predict(X), two.predict(X))
    assert_array_equal(one.propensities_, two.propensities_)


@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.3, "learning_rate": 0.5},
        {"leaf_iterations": 2},
        {"subsample": 0.5},
        {"measure": "dcg@3", "truncation": 2},
        {"normalize": False, "damping": None, "clip": 0.3},
    ],
    ids=str,
)
def test_options_of_boosting_work(options):
    ranker = _fit(**options)
    assert np.isfinite(ranker.predict(X)).all()
    assert np.isfinite(ranker.propensities_).all()


def test_row_weights_count_clicks():
    weight = np.where(CLICKS > 0, 3.0, 1.0)
    ranker = UnbiasedLambdaMART(**SMALL).fit(
        X, CLICKS, GROUPS, positions=POSITIONS, sample_weight=weight
    )
    plain = _fit()
    assert np.abs(ranker.predict(X) - plain.predict(X)).max() > 1e-6


def test_positions_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            UnbiasedLambdaMART(**SMALL),
            {"regularization": [0.0, 1.0]},
            cv=QueryKFold(2),
            scoring=make_ranking_scorer("ndcg@5"),
        ).fit(X, CLICKS, groups=GROUPS, positions=POSITIONS)
    assert len(search.best_estimator_.propensities_) == 6


def test_a_model_file_brings_it_back(tmp_path):
    ranker = _fit()
    save_model(ranker, tmp_path / "model.skrank")
    again = load_model(tmp_path / "model.skrank")
    assert_array_equal(again.predict(X), ranker.predict(X))
    assert_array_equal(again.propensities_, ranker.propensities_)
    assert_array_equal(again.unclicked_ratios_, ranker.unclicked_ratios_)


def test_places_that_no_row_has_lie_between_their_neighbours():
    curve = _fit(
        positions=np.where(POSITIONS >= 3, POSITIONS + 1, POSITIONS)
    ).propensities_
    assert_allclose(curve[2], np.sqrt(curve[1] * curve[3]))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"UnbiasedLambdaMART.fit needs positions"):
        UnbiasedLambdaMART(**SMALL).fit(X, CLICKS, GROUPS)
    with pytest.raises(InvalidParameterError, match="measure must be a measure whose"):
        _fit(measure="map")
    with pytest.raises(InvalidParameterError, match="regularization must be"):
        _fit(regularization=-1.0)
    with pytest.raises(InvalidParameterError, match="clip must be"):
        _fit(clip=0.0)


def test_ratios_below_the_limit_count_as_the_limit():
    plain = LambdaLoss("ndcg@5").prepare(CLICKS, _ptr())
    raw, found = np.random.default_rng(0).normal(size=len(CLICKS)), []
    for ratio, clip in ((0.1, 0.3), (0.3, None), (0.1, None)):
        pairs = DebiasedPairs(plain, POSITIONS - 1, 0.0, clip)
        pairs.ratios[0][2:] = ratio
        found.append(pairs.sums(raw)[1])
    assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()
