"""Nested rankers and multiple hyperplanes, step by step from their definitions."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._rows import GroupedRows, Preferences
from skrank.compat import PeerRanker
from skrank.datasets import make_ranking
from skrank.exceptions import NotFiniteError, TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import (
    MART,
    MultipleHyperplaneRanker,
    NestedRanker,
    PreferenceOrdering,
    RankBoost,
    RankSVM,
    SubsetRegression,
)
from skrank.rankers._multiple_hyperplane import borda_counts

META = [NestedRanker(depths=(8, 4)), MultipleHyperplaneRanker()]


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        n_queries=16, docs_per_query=(3, 14), n_grades=3, random_state=0
    )


def first_rows(scores, groups, k):
    """Rows of the first k documents of each query."""
    kept = [
        rows[np.argsort(-scores[rows], kind="stable")[:k]]
        for rows in (np.flatnonzero(groups == q) for q in np.unique(groups))
    ]
    return np.sort(np.concatenate(kept))


def test_nested_rankers_rank_the_best_documents_again(data):
    X, y, groups = data
    # With less regularisation the last stage, three documents a query, is separable,
    # and L-BFGS needs hundreds of iterations.
    base = RankSVM(alpha=0.1)
    first = clone(base).fit(X, y, groups)
    best = first_rows(first.predict(X), groups, 6)
    second = clone(base).fit(X[best], y[best], groups[best])
    scores = second.predict(X[best])
    final = best[first_rows(scores, groups[best], 3)]
    third = clone(base).fit(X[final], y[final], groups[final])
    ranker = NestedRanker(base, depths=(6, 3)).fit(X, y, groups)
    for model, twin in zip(ranker.estimators_, (first, second, third)):
        np.testing.assert_array_equal(model.coef_, twin.coef_)
    ranks = ranker.rank(X, groups)
    for q in np.unique(groups):
        rows = np.flatnonzero(groups == q)
        order = rows[np.argsort(-first.predict(X[rows]))]
        head = order[:6][np.argsort(-second.predict(X[order[:6]]))]
        top = head[:3][np.argsort(-third.predict(X[head[:3]]))]
        expected = [*top, *head[3:], *order[6:]]
        assert rows[np.argsort(ranks[rows])].tolist() == expected


def test_stages_that_change_nothing_share_a_ranker(data):
    X, y, groups = data
    ranker = NestedRanker(RankSVM(), depths=(100, 50, 4)).fit(X, y, groups)
    assert ranker.estimators_[0] is ranker.estimators_[1] is ranker.estimators_[2]
    assert ranker.estimators_[3] is not ranker.estimators_[0]
    none = NestedRanker(RankSVM(), depths=()).fit(X, y, groups)
    plain = RankSVM().fit(X, y, groups)
    np.testing.assert_array_equal(none.rank(X, groups), plain.rank(X, groups))


def test_stages_that_share_a_ranker_still_do_in_a_model_file(tmp_path):
    # A base whose scores depend on which documents the query has.
    base = MultipleHyperplaneRanker(SubsetRegression())
    ranker = NestedRanker(base, depths=(20, 10, 5))
    ranker.fit(*make_ranking(n_queries=20, docs_per_query=8, random_state=0))
    assert ranker.is_trained_.tolist() == [True, False, False, True]
    X, _, groups = make_ranking(n_queries=10, docs_per_query=30, random_state=1)
    expected = ranker.predict(X, groups)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X, groups), expected)
    del ranker.is_trained_  # as in a pickle of an older version
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(X, groups), expected)


@pytest.mark.parametrize("depths", [(3, 3), (3, 5), (0,), (2.5,), (True,)])
def test_bad_depths(depths, data):
    with pytest.raises(ValueError, match=r"depths must be .*(whole number|that fall)"):
        NestedRanker(depths=depths).fit(*data)


def test_documents_with_equal_scores_keep_their_places():
    X = np.array([[3.0, 0], [2, 0], [1, 0], [0, 0]])
    ranker = NestedRanker(Ridge(), depths=(3,)).fit(X, [1.0, 1, 1, 0], np.zeros(4))
    # The first three have one grade, of which nothing can be learned.
    assert ranker.rank(X, np.zeros(4)).tolist() == [1, 2, 3, 4]


def naive_borda(scores):
    less = (scores[None, :] < scores[:, None]).sum(axis=1)
    equal = (scores[None, :] == scores[:, None]).sum(axis=1) - 1
    return less + 0.5 * equal


def test_places_that_no_stage_has_learned_are_told(data):
    ranker = NestedRanker(RankSVM(alpha=1e14), depths=(8,))
    with pytest.warns(TrainingDataWarning, match="its estimators give all documents"):
        ranker.fit(*data)


def test_borda_counts():
    rng = np.random.default_rng(0)
    ptr = np.array([0, 4, 4, 5, 12])
    scores = rng.integers(0, 4, 12).astype(float)
    found = borda_counts(scores, ptr)
    for a, b in pairwise(ptr):
        np.testing.assert_array_equal(found[a:b], naive_borda(scores[a:b]))


@pytest.mark.parametrize("aggregation", ["borda", "score"])
def test_multiple_hyperplanes_are_eq_3_20(aggregation, data):
    X, y, groups = data
    given = {(1, 0): 0.5, (2, 0): 2.0, (2, 1): 1.0}
    ranker = MultipleHyperplaneRanker(weights=given, aggregation=aggregation)
    ranker.fit(X, y, groups)
    expected = np.zeros(len(y))
    for (k, l), weight in given.items():
        rows = (y == k) | (y == l)
        scores = RankSVM().fit(X[rows], y[rows], groups[rows]).predict(X)
        for q in np.unique(groups):
            part = scores[groups == q]
            part = naive_borda(part) if aggregation == "borda" else part
            expected[groups == q] += weight * part
    known = {} if aggregation == "score" else {"groups": groups}
    np.testing.assert_allclose(ranker.predict(X, **known), expected, atol=1e-12)
    assert ranker.pairs_.tolist() == [[1, 0], [2, 0], [2, 1]]


def test_weights_are_learned_on_validation_queries(data):
    X, y, groups = data
    held = groups >= 10
    val = {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
    train = X[~held], y[~held], groups[~held]
    base = SubsetRegression()
    plain = MultipleHyperplaneRanker(base).fit(*train)
    ranker = MultipleHyperplaneRanker(base, weights="validation").fit(*train, **val)
    known = X[held], y[held], groups[held]
    assert ranker.score(*known) >= plain.score(*known)
    with pytest.raises(ValueError, match="weights='validation' needs validation quer"):
        ranker.fit(*train)


def test_many_grades_are_joined(data):
    X, y, groups = data
    fine = y + 0.01 * (np.arange(len(y)) % 7)
    ranker = MultipleHyperplaneRanker(max_levels=4).fit(X, fine, groups)
    assert len(ranker.estimators_) == 6
    levels = np.searchsorted(np.unique(ranker.pairs_), fine, side="right")
    sizes = np.bincount(levels)[1:]
    assert sizes.max() < 2 * sizes.min()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({(3, 0): 1.0}, r"no ranker is for the grades \(3, 0\); there are those for"),
        ({(2, 0): -1.0}, "weights must be a mapping from"),
        ({2: 1.0}, "weights must be a mapping from"),
    ],
)
def test_bad_weights(weights, message, data):
    with pytest.raises(ValueError, match=message):
        MultipleHyperplaneRanker(weights=weights).fit(*data)


# What all meta rankers share ----------------------------------------------------------

each = pytest.mark.parametrize("meta", META, ids=lambda meta: type(meta).__name__)


@each
@pytest.mark.parametrize(
    "base",
    [
        make_pipeline(StandardScaler(), RankSVM()),
        Ridge(),
        MART(n_estimators=3, min_samples_leaf=2),
        MultipleHyperplaneRanker(max_levels=2),
        NestedRanker(SubsetRegression(), depths=(5,)),
    ],
    ids=lambda base: type(base).__name__,
)
def test_any_base_is_fitted_weighed_and_saved(meta, base, data, tmp_path):
    X, y, groups = data
    ranker = clone(meta).set_params(estimator=base)
    held = {"X_val": X, "y_val": y, "groups_val": groups}
    ranker.fit(X, y, groups, sample_weight=np.ones(len(y)), **held)
    scores = ranker.predict(X, groups)
    assert ranker.score(X, y, groups) > 0.6
    save_model(ranker, tmp_path / "model.skrank")
    again = load_model(tmp_path / "model.skrank")
    np.testing.assert_array_equal(again.predict(X, groups), scores)
    # Queries mixed up; documents of equal score keep their order.
    place = np.concatenate([np.arange(n) for n in np.bincount(groups)])
    order = np.lexsort((groups, place))
    mixed = ranker.predict(X[order], groups[order])
    np.testing.assert_allclose(mixed, scores[order])


@each
def test_data_frames_reach_the_base_as_they_are(meta, data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    ranker = clone(meta).set_params(estimator=Ridge()).fit(frame, y, groups)
    assert ranker.estimators_[0].feature_names_in_.tolist() == list(frame)
    order = np.random.default_rng(0).permutation(len(y))
    plain = clone(ranker).fit(X, y, groups)
    np.testing.assert_allclose(
        ranker.predict(frame.iloc[order], groups[order]),
        plain.predict(X[order], groups[order]),
    )


@each
def test_parameters_of_the_base_are_searched(meta, data):
    X, y, groups = data
    pipe = make_pipeline(StandardScaler(), clone(meta).set_params(estimator=RankSVM()))
    name = type(meta).__name__.lower()
    grid = {f"{name}__estimator__alpha": [1e-3, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            pipe, grid, cv=QueryKFold(2), scoring=make_ranking_scorer("ndcg@10")
        ).fit(X, y, groups=groups)
    assert search.best_score_ > 0.6


@each
def test_what_the_base_does_not_take(meta, data):
    X, y, groups = data

    class Unweighted(Ridge):
        def fit(self, X, y):
            return super().fit(X, y)

    ranker = clone(meta).set_params(estimator=Unweighted())
    with pytest.raises(TypeError, match=r"estimator: Unweighted\.fit takes no sample"):
        ranker.fit(X, y, groups, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="predict needs to know the query"):
        ranker.fit(X, y, groups).predict(X)


@each
@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("base", [None, Ridge()])
def test_values_that_are_not_finite(meta, data, base, value, as_frame):
    X, y, groups = data
    wrong = X.copy()
    wrong[3, 1] = value
    if as_frame:
        X, wrong = (pd.DataFrame(rows).add_prefix("f") for rows in (X, wrong))
    ranker = clone(meta).set_params(estimator=base)
    found = f"contains {'NaN' if np.isnan(value) else 'infinity'}"
    own = rf"\n{type(meta).__name__} does not accept" if np.isnan(value) else ""
    with pytest.raises(ValueError, match=rf"^Input X {found}.*{own}"):
        clone(ranker).fit(wrong, y, groups)
    fitted = clone(ranker).fit(X, y, groups)
    with pytest.raises(ValueError, match=rf"^Input X {found}.*{own}"):
        fitted.predict(wrong, groups)
    if base is None:  # validation rows are not for other estimators
        with pytest.raises(ValueError, match=rf"^Input X_val {found}.*{own}"):
            ranker.fit(X, y, groups, X_val=wrong, y_val=y, groups_val=groups)


@each
@pytest.mark.parametrize("as_frame", [False, True])
def test_values_that_are_too_large(meta, data, as_frame):
    X, y, groups = data
    X = X.copy()
    X[3, 1] = 1e300
    rows = pd.DataFrame(X).add_prefix("f") if as_frame else X
    name = type(meta).__name__
    with pytest.raises(NotFiniteError, match=rf"^{name}: X must hold .* found 1e\+300"):
        clone(meta).fit(rows, y, groups)


def test_values_that_the_base_takes(data):
    X, y, groups = data
    X = X.copy()
    X[3, 1] = np.nan
    trees = MART(n_estimators=2, min_samples_leaf=5)
    scores = NestedRanker(trees).fit(X, y, groups).predict(X, groups)
    assert np.isfinite(scores).all()


def test_threads_change_no_bit(data):
    forest = RandomForestRegressor(5, random_state=0)
    found = [
        MultipleHyperplaneRanker(forest, n_jobs=n).fit(*data).predict(data[0], data[2])
        for n in (None, 2)
    ]
    np.testing.assert_array_equal(*found)


def test_some_rows_of_queries(data):
    X, y, groups = data
    ptr = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(y))
    rows = GroupedRows(X, y, ptr, ids=np.unique(groups), sample_weight=y + 1)
    kept = (y > 0) & (groups != 3)
    part = rows.where(kept)
    np.testing.assert_array_equal(part.X, X[kept])
    np.testing.assert_array_equal(part.groups, groups[kept])
    np.testing.assert_array_equal(part.sample_weight, y[kept] + 1)
    pairs = np.array([[0, 1], [2, 1]])
    judged = GroupedRows(X, None, ptr, preferences=Preferences(pairs))
    kept = np.ones(len(y), dtype=bool)
    kept[0] = False
    assert judged.where(kept).preferences.pairs.tolist() == [[1, 0]]


@pytest.mark.parametrize("ranker", META, ids=repr)
def test_columns_of_one_name_are_refused_by_name(ranker, data):
    X, y, groups = data
    frame = pd.DataFrame(X[:, :2], columns=["a", "a"])
    try:
        RankSVM().fit(frame, y, groups)
    except ValueError as error:
        words = re.escape(str(error))
    else:
        pytest.skip("this release of scikit-learn takes columns of one name")
    with pytest.raises(ValueError, match=f"^{words}$") as caught:
        clone(ranker).fit(frame, y, groups)
    assert str(caught.value).startswith("X: ")


@pytest.mark.parametrize("ranker", META, ids=repr)
@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0], [2.0]]])
def test_a_series_is_refused_by_name(ranker, values):
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        clone(ranker).fit(pd.Series(values), [0, 1], [0, 0])


def test_pairs_of_grades_without_weight_have_no_hyperplane():
    X = np.random.RandomState(0).randn(6, 2)
    y, groups = [2, 1, 0, 2, 1, 0], [0, 0, 0, 1, 1, 1]
    ranker = MultipleHyperplaneRanker()
    ranker.fit(X, y, groups, sample_weight=[1, 0, 1, 1, 0, 0])
    assert ranker.pairs_.tolist() == [[2.0, 0.0]]
    with pytest.warns(TrainingDataWarning, match="only documents of equal grades"):
        ranker.fit(X, y, groups, sample_weight=[1, 0, 0, 1, 0, 0])
    assert len(ranker.pairs_) == 0


class Faulty(BaseEstimator):
    """A ranker of somebody else, which predicts what no document can have."""

    def __init__(self, value=np.nan):
        self.value = value

    def fit(self, X, y, group=None):
        """Return nothing, as some libraries do."""
        self.fitted_ = True

    def predict(self, X):
        if isinstance(self.value, str) and self.value == "columns":
            return np.zeros((len(X), 2))
        if isinstance(self.value, str) and self.value == "few":
            return np.zeros(len(X) - 1)
        return np.array([0.0] * (len(X) - 1) + [self.value])


class Faithful(Faulty):
    def fit(self, X, y):
        self.fitted_ = True
        return self


@pytest.mark.parametrize("value", [np.nan, np.inf, "word", "columns", "few", 1j, None])
@pytest.mark.parametrize(
    "make",
    [
        lambda base: NestedRanker(base),
        lambda base: MultipleHyperplaneRanker(base),
        lambda base: PreferenceOrdering([("one", base)]),
    ],
    ids=["nested", "hyperplanes", "ordering"],
)
def test_scores_of_rankers_inside_are_numbers(make, value):
    X = np.random.RandomState(0).randn(6, 2)
    y, groups = [2, 1, 0, 2, 1, 0], [0, 0, 0, 1, 1, 1]
    message = "Faithful.*(scores|score for each|must not hold NaN)"
    with pytest.raises(ValueError, match=message):
        make(Faithful(value)).fit(X, y, groups).predict(X, groups)


@pytest.mark.parametrize("value", [np.nan, "word", "columns", "few", 1j, None])
def test_scores_of_wrapped_rankers_are_numbers(value):
    X = np.random.RandomState(0).randn(6, 2)
    y, groups = [2, 1, 0, 2, 1, 0], [0, 0, 0, 1, 1, 1]
    ranker = PeerRanker(Faulty(value)).fit(X, y, groups)
    message = (
        r"the result of Faulty.predict must (hold (scores|one score)|not hold NaN)"
    )
    with pytest.raises(ValueError, match=message):
        ranker.predict(X)
    with pytest.raises(ValueError, match=message):
        ranker.rank(X, groups)


class LastColumn(Faithful):
    """A sound regressor whose predictions are a view of its rows."""

    def fit(self, X, y):
        """Forget to return the regressor."""
        self.fitted_ = True

    def predict(self, X):
        return X[:, -1]


@pytest.mark.parametrize(
    "make",
    [
        lambda base: NestedRanker(base, depths=(4, 2)),
        lambda base: MultipleHyperplaneRanker(base),
        lambda base: PreferenceOrdering([("one", base)]),
        lambda base: SubsetRegression(base),
        lambda base: RankBoost(n_estimators=2, init=base),
    ],
    ids=["nested", "hyperplanes", "ordering", "regression", "boosting"],
)
def test_rankers_inside_may_return_any_layout(make):
    X, y, groups = make_ranking(n_queries=4, random_state=0)
    assert make(LastColumn()).fit(X, y, groups).predict(X, groups).shape == y.shape


@pytest.mark.parametrize(
    "ranker",
    [
        MultipleHyperplaneRanker(SubsetRegression()),
        PreferenceOrdering([("a", SubsetRegression())]),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_more_threads_than_any_machine_has(ranker, data):
    expected = clone(ranker).fit(*data).predict(data[0], data[2])
    many = clone(ranker).set_params(n_jobs=30_000).fit(*data)
    np.testing.assert_array_equal(many.predict(data[0], data[2]), expected)
    for n_jobs in (10**6, -(10**6)):
        with pytest.raises(ValueError, match=f"n_jobs must be .* got {n_jobs}"):
            clone(ranker).set_params(n_jobs=n_jobs).fit(*data)
