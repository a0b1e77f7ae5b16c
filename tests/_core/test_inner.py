"""Estimators inside others: what reaches them, how they score."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, clone
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVR
from sklearn.utils.validation import check_is_fitted

from skrank._core._inner import (
    accepts,
    allows_missing,
    allows_sparse,
    as_floats,
    as_scores,
    check_predicts,
    fit_inner,
    name_of,
    names_of_seeds,
    needs_groups,
    scores_of,
    without_searches,
)
from skrank.datasets import make_ranking
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold, QuerySubsample
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import BoltzRank, ListNet, RankSVM

X, Y, GROUPS = make_ranking(n_queries=20, random_state=0)
X_POSITIVE = np.abs(X)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, size=len(Y))
PAIRWISE = BoltzRank(pairwise_potential=True, max_iter=2, random_state=0)
SEARCH = GridSearchCV(
    RankSVM(),
    {"alpha": [0.1, 1.0]},
    cv=QueryKFold(2),
    scoring=make_ranking_scorer("ndcg"),
)


class Recorder(BaseEstimator):
    """A regressor that remembers what its `fit` was given."""

    __metadata_request__fit = {"groups": True, "X_val": True, "y_val": True}

    def fit(self, X, y, groups=None, sample_weight=None, X_val=None, y_val=None):
        self.given_ = {
            "X": X,
            "groups": groups,
            "sample_weight": sample_weight,
            "X_val": X_val,
            "y_val": y_val,
        }
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (RankSVM(), False),
        (PAIRWISE, True),
        (make_pipeline(StandardScaler(), RankSVM()), False),
        (make_pipeline(StandardScaler(), PAIRWISE), True),
        (make_pipeline(QueryStandardScaler(), RankSVM()), True),
        (Ridge(), False),
        (SEARCH, False),
    ],
)
def test_who_wants_groups_for_predictions(estimator, expected):
    assert accepts(estimator, "predict", "groups") is expected
    model = fit_inner(estimator, X, Y, groups=GROUPS)
    assert needs_groups(model) is expected
    assert scores_of(model, X, GROUPS).shape == Y.shape


def test_boltzrank_without_pairs_takes_groups_but_needs_none():
    model = fit_inner(
        clone(PAIRWISE).set_params(pairwise_potential=False), X, Y, groups=GROUPS
    )
    assert accepts(model, "predict", "groups")
    assert not needs_groups(model)


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: make_pipeline(e)])
def test_everything_reaches_a_ranker_in_a_pipeline(wrap):
    model = fit_inner(
        wrap(Recorder()),
        X,
        Y,
        groups=GROUPS,
        given={"sample_weight": WEIGHT},
        validation={"X_val": X[:5], "y_val": Y[:5], "groups_val": GROUPS[:5]},
    )
    given = (model[-1] if hasattr(model, "steps") else model).given_
    np.testing.assert_array_equal(given["groups"], GROUPS)
    np.testing.assert_array_equal(given["sample_weight"], WEIGHT)
    np.testing.assert_array_equal(given["X_val"], X[:5])
    np.testing.assert_array_equal(given["y_val"], Y[:5])


def test_validation_rows_are_transformed_like_training_rows():
    model = fit_inner(
        make_pipeline(StandardScaler(), Recorder()),
        X,
        Y,
        validation={"X_val": X, "y_val": Y},
    )
    np.testing.assert_allclose(model[-1].given_["X_val"], model[-1].given_["X"])
    check_is_fitted(model)


def test_validation_rows_are_scaled_by_their_own_queries():
    """A pipeline alone would scale them by the queries of the training rows."""
    held = GROUPS < 5
    model = fit_inner(
        make_pipeline(QueryStandardScaler(), StandardScaler(), Recorder()),
        X[~held],
        Y[~held],
        groups=GROUPS[~held],
        validation={"X_val": X[held], "y_val": Y[held], "groups_val": GROUPS[held]},
    )
    by_query = QueryStandardScaler()
    rows = by_query.fit_transform(X[~held], groups=GROUPS[~held])
    scaler = StandardScaler().fit(rows)
    expected = scaler.transform(by_query.transform(X[held], groups=GROUPS[held]))
    np.testing.assert_allclose(model[-1].given_["X_val"], expected)
    assert scores_of(model, X, GROUPS).shape == Y.shape


def test_steps_that_a_memory_copies_are_those_of_the_model(tmp_path):
    model = fit_inner(
        make_pipeline(
            StandardScaler(), MaxAbsScaler(), Recorder(), memory=str(tmp_path)
        ),
        X,
        Y,
        validation={"X_val": X, "y_val": Y},
    )
    check_is_fitted(model[0])
    np.testing.assert_array_equal(scores_of(model, X), np.zeros(len(Y)))


def test_validation_rows_may_be_none():
    absent = {"X_val": None, "y_val": None, "groups_val": None}
    pipeline = make_pipeline(StandardScaler(), RankSVM())
    model = fit_inner(pipeline, X, Y, groups=GROUPS, validation=absent)
    scaled = StandardScaler().fit_transform(X)
    expected = RankSVM().fit(scaled, Y, GROUPS).predict(scaled)
    np.testing.assert_array_equal(scores_of(model, X), expected)


def test_a_column_of_scores_is_one_score_per_document():
    column = np.array([[0.5, 9.0], [-1.0, 9.0]])[:, :1]
    found = as_scores(column, RankSVM(), 2)
    np.testing.assert_array_equal(found, [0.5, -1.0])
    assert found.flags.c_contiguous


def test_wrong_scores_are_told_with_their_method_and_their_row():
    name = r"^the result of RankSVM\.decision_function must "
    for wrong, message in (
        ([1.0, 2.0, np.nan], r"not hold NaN, found in row 2$"),
        (np.zeros((3, 2)), r"hold one score for each of 3 documents.*\(3, 2\)$"),
        (np.zeros((2, 1)), r"hold one score for each of 3 documents.*\(2,\)$"),
    ):
        with pytest.raises(ValueError, match=name + message):
            as_scores(wrong, RankSVM(), 3, "decision_function")


class NotANumber(Recorder):
    """A ranker by name whose decisions are NaN."""

    def decision_function(self, X):
        return np.full(len(X), np.nan)


def test_the_method_that_was_asked_for_is_named():
    with pytest.raises(ValueError, match=r"of NotANumber\.decision_function must not"):
        scores_of(NotANumber(), X, response_method="decision_function")


def test_seeds_are_found_at_any_depth():
    nested = make_pipeline(StandardScaler(), make_pipeline(ListNet()))
    assert names_of_seeds(nested) == ["pipeline__listnet__random_state"]
    assert names_of_seeds(ListNet()) == ["random_state"]


def test_seeds_are_set_on_the_clone_and_its_parts():
    rng = np.random.RandomState(0)
    pipeline = make_pipeline(StandardScaler(), ListNet())
    first, second = (
        fit_inner(pipeline, X, Y, groups=GROUPS, rng=rng)[-1].random_state
        for _ in range(2)
    )
    assert first != second
    assert pipeline[-1].random_state is None


def test_what_cannot_be_fitted_is_named():
    for wrong in (LogisticRegression, "RankSVM", None):
        with pytest.raises(TypeError, match="base must be an estimator with fit, got"):
            fit_inner(wrong, X, Y, owner="base")


def test_a_transformer_between_takes_no_weights():
    weighted = fit_inner(
        make_pipeline(StandardScaler(), RankSVM()),
        X,
        Y,
        groups=GROUPS,
        given={"sample_weight": WEIGHT},
    )
    scaled = StandardScaler().fit_transform(X)
    expected = RankSVM().fit(scaled, Y, GROUPS, sample_weight=WEIGHT).predict(scaled)
    np.testing.assert_array_equal(scores_of(weighted, X), expected)


def test_weights_are_not_dropped_silently():
    with pytest.raises(
        TypeError, match=r"base: KNeighborsRegressor\.fit takes no sample"
    ):
        fit_inner(
            KNeighborsRegressor(), X, Y, given={"sample_weight": WEIGHT}, owner="base"
        )


def test_the_given_estimator_is_left_alone():
    estimator = make_pipeline(StandardScaler(), ListNet())
    before = repr(estimator)
    fit_inner(estimator, X, Y, groups=GROUPS, given={"sample_weight": WEIGHT})
    assert repr(estimator) == before
    assert not hasattr(estimator[-1], "coef_")


def test_classifiers_rank_by_the_expected_grade():
    model = LogisticRegression().fit(X, Y)
    expected = model.predict_proba(X) @ model.classes_
    np.testing.assert_array_equal(scores_of(model, X), expected)
    marked = LogisticRegression().fit(X, Y > 1)
    np.testing.assert_array_equal(scores_of(marked, X), marked.predict_proba(X)[:, 1])
    named = LogisticRegression().fit(X, np.where(Y > 1, "good", "bad"))
    with pytest.raises(ValueError, match="numeric classes"):
        scores_of(named, X)
    with pytest.raises(AttributeError, match="none of the response methods"):
        scores_of(StandardScaler(), X)


def test_what_predicts_is_no_class():
    check_predicts(RankSVM(), "ranker")
    for wrong in (RankSVM, StandardScaler(), None):
        with pytest.raises(TypeError, match=r"^ranker must be a fitted estimator with"):
            check_predicts(wrong, "ranker")


def test_names():
    assert name_of(RankSVM()) == "RankSVM"
    assert name_of(make_pipeline(StandardScaler(), RankSVM())) == "RankSVM"
    assert name_of(SEARCH) == "RankSVM"
    found = clone(SEARCH)
    found.best_estimator_ = make_pipeline(StandardScaler(), ListNet())
    assert name_of(found) == "ListNet"


def test_libraries_without_tags_check_their_rows_themselves():
    class Foreign:
        def fit(self, X, y):
            return self

    assert allows_missing(Foreign())
    assert allows_sparse(Foreign())
    assert not allows_missing(RankSVM())


def test_a_search_hands_groups_to_its_best_estimator():
    search = GridSearchCV(
        PAIRWISE,
        {"mix": [0.5, 0.9]},
        cv=QueryKFold(2),
        scoring=make_ranking_scorer("ndcg"),
    )
    model = fit_inner(search, X, Y, groups=GROUPS)
    assert needs_groups(model)
    expected = model.best_estimator_.predict(X, groups=GROUPS)
    np.testing.assert_array_equal(scores_of(model, X, GROUPS), expected)
    assert np.isfinite(make_ranking_scorer("ndcg")(model, X, Y, groups=GROUPS))


def test_a_search_within_a_pipeline_stays_there():
    search = GridSearchCV(PAIRWISE, {"mix": [0.5, 0.9]})
    search.best_estimator_ = PAIRWISE
    pipeline = make_pipeline(StandardScaler(), make_pipeline(search))
    opened = without_searches(pipeline)
    assert opened[-1][-1] is PAIRWISE
    assert opened[0] is pipeline[0]
    assert pipeline[-1][-1] is search
    assert without_searches(opened) is opened


@pytest.mark.parametrize(
    "estimator",
    [
        StandardScaler(),
        make_pipeline(StandardScaler()),
        StandardScaler,
        RankSVM,
        BaseEstimator(),
        "RankSVM",
        None,
    ],
    ids=str,
)
def test_what_is_no_ranker_is_named(estimator):
    with pytest.raises(
        TypeError, match=r"^owner must (score documents|be an estimator)"
    ):
        fit_inner(estimator, X, Y, groups=GROUPS, owner="owner")
    with pytest.raises(TypeError, match=r"^estimator must (score doc|be an estimator)"):
        QuerySubsample(estimator).fit(X, Y, groups=GROUPS)


class InPlace(TransformerMixin, BaseEstimator):
    """A step that writes into the rows that it is given."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X *= 2
        return X


@pytest.mark.parametrize("kind", ["array", "column order", "frame", "csr"])
@pytest.mark.parametrize(
    "last", [RankSVM(), Ridge(), LinearSVR(max_iter=10_000, random_state=0)]
)
def test_steps_that_write_do_not_change_the_data(kind, last):
    X, y, groups = (a.copy() for a in (X_POSITIVE, Y, GROUPS))
    form = {
        "array": np.array,
        "column order": np.asfortranarray,
        "frame": pd.DataFrame,
        "csr": sparse.csr_matrix,
    }[kind]
    rows, kept = form(X), form(X.copy())
    pipeline = make_pipeline(MaxAbsScaler(copy=False), last)
    validation = {"X_val": rows, "y_val": y, "groups_val": groups}
    expected, model = (
        fit_inner(estimator, rows, y, groups=groups, validation=validation)
        for estimator in (make_pipeline(MaxAbsScaler(), last), pipeline)
    )
    np.testing.assert_array_equal(
        scores_of(model, rows, groups), scores_of(expected, rows, groups)
    )
    after = rows.toarray() if kind == "csr" else np.asarray(rows)
    before = kept.toarray() if kind == "csr" else np.asarray(kept)
    np.testing.assert_array_equal(after, before)
    for array, owned in ((y, Y), (groups, GROUPS)):
        np.testing.assert_array_equal(array, owned)
        assert array.flags.writeable
    if kind in ("array", "column order"):
        assert rows.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            fit_inner(make_pipeline(InPlace(), last), rows, y, groups=groups)
        np.testing.assert_array_equal(rows, before)
    if kind == "frame":
        fit_inner(make_pipeline(InPlace(), last), rows, y, groups=groups)
        np.testing.assert_array_equal(np.asarray(rows), before)


class KnowsNoRouting(RegressorMixin, BaseEstimator):
    """A regressor that says of routing what some of scikit-learn say."""

    def fit(self, X, y, sample_weight=None, **others):
        self.others_, self.weight_ = others, sample_weight
        return self

    def predict(self, X, **others):
        return X[:, 0] + len(others)

    def get_metadata_routing(self):
        raise NotImplementedError("KnowsNoRouting has not implemented routing yet.")


class AsksItself(KnowsNoRouting):
    """A regressor whose routing is asked of itself, like that of RidgeCV."""

    def get_metadata_routing(self):
        return self.get_metadata_routing()


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("odd", [KnowsNoRouting(), AsksItself()])
@pytest.mark.parametrize(
    "wrap", [lambda e: e, make_pipeline, lambda e: StackingRegressor([("e", e)], e)]
)
def test_routing_that_cannot_be_asked_hands_nothing_on(wrap, odd, routing):
    model = wrap(odd)
    assert not accepts(model, "fit", "groups")
    assert not accepts(model, "predict", "groups")
    model.fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=routing):
        assert not needs_groups(model)
        np.testing.assert_array_equal(scores_of(model, X, GROUPS), model.predict(X))


def test_what_the_signature_names_is_given_without_routing():
    for odd in (KnowsNoRouting(), AsksItself()):
        given = {"sample_weight": WEIGHT}
        model = fit_inner(odd, X, Y, groups=GROUPS, given=given)
        np.testing.assert_array_equal(model.weight_, WEIGHT)
        assert not model.others_


@pytest.mark.parametrize("last", [None, RidgeCV()])
def test_a_stack_with_its_default_is_scored(last):
    """RidgeCV, which is the default, asks its scorer for routing, and that asks it."""
    stack = StackingRegressor([("ridge", Ridge())], last).fit(X, Y)
    found = make_ranking_scorer("ndcg@10")(stack, X, Y, groups=GROUPS)
    assert found == ndcg_score(Y, stack.predict(X), groups=GROUPS, k=10)
    model = fit_inner(stack, X, Y, groups=GROUPS)
    np.testing.assert_array_equal(scores_of(model, X, GROUPS), stack.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_answers_are_as_compiled_code_takes_them(dtype):
    answer = np.arange(8).astype(dtype)[::2]
    found = as_floats(answer, "Own.scores", 4)
    assert found.flags.c_contiguous
    assert found.dtype == np.float64
    assert found.tolist() == [0.0, 2.0, 4.0, 6.0]
