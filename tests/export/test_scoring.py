"""Which models other systems can hold, and how scaling is folded into them."""

import json

import numpy as np
import pandas as pd
import pytest
from _exported import NAMES, TREE_RANKERS
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from skrank.energies import MLPEnergy
from skrank.export import (
    from_json,
    score_elasticsearch,
    score_ranklib,
    score_solr,
    to_elasticsearch,
    to_json,
    to_ranklib,
    to_solr,
)
from skrank.export._scaling import fold_scaling
from skrank.losses import SquaredLoss
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import (
    BoostedRanker,
    EnergyRanker,
    LambdaMART,
    ListNet,
    LogisticRanker,
    RankNet,
    RankSVM,
    SubsetRegression,
)

WRITERS = {
    "json": to_json,
    "elasticsearch": lambda m: to_elasticsearch(m, "m", feature_names=NAMES),
    "ranklib": lambda m: to_ranklib(m, missing="zero"),
    "solr": lambda m: to_solr(m, "m", feature_names=NAMES),
}
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-1, 3)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
]


def fitted(*steps, data):
    X, y, groups = data
    model = make_pipeline(*steps)
    return model.fit(X, y, **{f"{model.steps[-1][0]}__groups": groups})


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_scaler_is_folded_into_the_coefficients(scaler, data):
    X = data[0] * [1.0, 10.0, 1e-3, 1e3, 1.0] + [0.0, 5.0, 0.0, -50.0, 1.0]
    ranker = LogisticRanker().fit(*data)
    step = clone(scaler).fit(X)
    coef, intercept = fold_scaling([("s", step)], ranker.coef_, ranker.intercept_)
    expected = ranker.predict(step.transform(X))
    np.testing.assert_allclose(X @ coef + intercept, expected, rtol=1e-9, atol=1e-9)


def test_several_scalers_and_steps_that_do_nothing(data):
    model = fitted(
        MinMaxScaler(), "passthrough", StandardScaler(), RobustScaler(), RankSVM(),
        data=data,
    )  # fmt: skip
    found = from_json(to_json(model)).predict(data[0])
    np.testing.assert_allclose(found, model.predict(data[0]), rtol=1e-9, atol=1e-9)


def test_scales_that_are_powers_of_two_are_folded_exactly(data):
    X = np.random.default_rng(0).integers(-8, 8, size=data[0].shape) / 4.0
    scaler = StandardScaler().fit(X)
    scaler.mean_, scaler.scale_ = np.full(5, 0.25), np.full(5, 0.5)
    coef, intercept = fold_scaling([("s", scaler)], np.arange(5.0), 1.0)
    assert coef.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert intercept == 1.0 - 0.25 * 20.0


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([VarianceThreshold()], "step 'variancethreshold' .* cannot be folded"),
        ([PowerTransformer(), StandardScaler()], "is a PowerTransformer"),
        ([MinMaxScaler(clip=True)], "step 'minmaxscaler' of the pipeline clips"),
    ],
)
def test_other_steps_are_refused(steps, message, data):
    with pytest.raises(ValueError, match=message):
        to_json(fitted(*steps, RankSVM(), data=data))


def test_scaling_within_queries_is_refused(data):
    X, y, groups = data
    scaler = QueryMinMaxScaler().fit(X)
    ranker = RankSVM().fit(scaler.transform(X, groups=groups), y, groups)
    with pytest.raises(ValueError, match="is a QueryMinMaxScaler"):
        to_json(Pipeline([("scaler", scaler), ("ranker", ranker)]))


def test_steps_before_trees_are_refused(data):
    model = fitted(StandardScaler(), LambdaMART(n_estimators=2), data=data)
    with pytest.raises(ValueError, match=r"'standardscaler' comes before .* of trees"):
        to_json(model)
    alone = fitted("passthrough", LambdaMART(n_estimators=2), data=data)
    assert from_json(to_json(alone)).predict(data[0]).tolist() == (
        alone.predict(data[0]).tolist()
    )


UNSUITABLE = [
    (RankSVM(kernel="rbf", n_components=10), "not those of its coefficients"),
    (RankNet(hidden_layer_sizes=(3,), max_iter=2), "no coefficients"),
    (EnergyRanker(MLPEnergy((3,)), SquaredLoss(), max_iter=2), "no coefficients"),
    (LogisticRanker(threshold="all"), "combines 4 linear functions"),
    (SubsetRegression(HistGradientBoostingRegressor(max_iter=2)), "no coefficients"),
    (SubsetRegression(PoissonRegressor()), "not those of its coefficients"),
    (SubsetRegression(LogisticRegression()), "not those of its coefficients|combines"),
    (SubsetRegression(make_pipeline(StandardScaler(), Ridge())), "no coefficients"),
    (BoostedRanker(n_estimators=2, init=ListNet()), "scores of another ranker"),
]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(("ranker", "reason"), UNSUITABLE, ids=lambda p: str(p)[:40])
def test_other_forms_of_scores_are_refused(writer, ranker, reason, data):
    model = clone(ranker).fit(*data)
    with pytest.raises(ValueError, match=reason):
        WRITERS[writer](model)


def test_several_outputs_are_refused(data):
    ranker = LambdaMART(n_estimators=2).fit(*data)
    ranker.ensemble_.n_outputs = 2
    with pytest.raises(ValueError, match="combines 2 sums of trees"):
        to_json(ranker)


def test_scores_that_are_transformed_are_refused(data):
    class Squared(SquaredLoss):
        def to_scores(self, raw):
            return np.square(raw)

    ranker = BoostedRanker(Squared(), n_estimators=2).fit(*data)
    with pytest.raises(ValueError, match="not the sum of its trees"):
        to_json(ranker)


@pytest.mark.parametrize("writer", ["elasticsearch", "ranklib", "solr"])
def test_splits_by_category_are_refused_by_servers(writer, data):
    X, y, groups = data
    category = np.array([2.0, 0.0, 3.0, 1.0])[np.digitize(X[:, 0], [-1, 0, 1])]
    X = np.column_stack([X[:, 4], category])
    ranker = LambdaMART(n_estimators=5, categorical_features=[1], min_samples_leaf=5)
    ranker.fit(X, y, groups)
    assert (ranker.ensemble_.category_ >= 0).any()
    names = {} if writer == "ranklib" else {"feature_names": ["a", "b"]}
    name = () if writer == "ranklib" else ("m",)
    write = {"elasticsearch": to_elasticsearch, "ranklib": to_ranklib, "solr": to_solr}
    with pytest.raises(ValueError, match="feature 1 is categorical"):
        write[writer](ranker, *name, **names)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_no_ranker_is_refused(writer, data):
    search = GridSearchCV(RankSVM(), {})
    search.best_index_ = 0
    for model in (Ridge(), RankSVM, "RankSVM", make_pipeline(StandardScaler())):
        with pytest.raises(TypeError, match="model must be a fitted ranker of skrank"):
            WRITERS[writer](model)
    with pytest.raises(TypeError, match="export its best_estimator_"):
        WRITERS[writer](search)


@pytest.mark.parametrize("ranker", [RankSVM(), TREE_RANKERS[0]], ids=lambda r: str(r))
def test_rankers_that_are_not_fitted(ranker):
    with pytest.raises(NotFittedError):
        to_json(clone(ranker))


def test_a_linear_regressor_of_scikit_learn(data):
    ranker = SubsetRegression(Lasso(1e-3)).fit(*data)
    document = json.loads(to_json(ranker))
    assert document["coef"] == ranker.estimator_.coef_.tolist()
    assert document["intercept"] == ranker.estimator_.intercept_


@pytest.mark.parametrize(
    ("scaler", "off"),
    [
        (StandardScaler(), {"with_mean": False}),
        (StandardScaler(), {"with_std": False}),
        (RobustScaler(), {"with_centering": False}),
        (RobustScaler(), {"with_scaling": False}),
    ],
    ids=str,
)
def test_a_part_of_a_scaler_that_is_switched_off_after_the_fit(scaler, off, data):
    X = data[0] * [1.0, 10.0, 1e-3, 1e3, 1.0] + [0.0, 5.0, 0.0, -50.0, 1.0]
    ranker = LogisticRanker().fit(*data)
    step = clone(scaler).fit(X).set_params(**off)
    coef, intercept = fold_scaling([("s", step)], ranker.coef_, ranker.intercept_)
    expected = ranker.predict(step.transform(X))
    np.testing.assert_allclose(X @ coef + intercept, expected, rtol=1e-9, atol=1e-9)


SCORERS = {
    "elasticsearch": (score_elasticsearch, {"feature_names": NAMES}),
    "ranklib": (score_ranklib, {}),
    "solr": (score_solr, {"feature_names": NAMES}),
}


@pytest.mark.parametrize("system", SCORERS)
def test_rows_are_numbers(system, data):
    X, y, groups = data
    ranker = LambdaMART(n_estimators=2).fit(X, y, groups)
    score, options = SCORERS[system]
    text = WRITERS[system](ranker)
    dates = X.astype(object)
    dates[0, 0] = np.datetime64("2020-01-01")
    for wrong in (X + 1j, X.astype("M8[s]"), X.astype("m8[s]"), dates):
        with pytest.raises(ValueError, match=r"^X must hold numbers, got [cdto]"):
            score(text, wrong, **options)
    hidden = np.ma.masked_array(X, X > 0)
    expected = score(text, hidden.filled(np.nan), **options)
    np.testing.assert_array_equal(score(text, hidden, **options), expected)
    frame = pd.DataFrame(hidden.filled(np.nan)).astype("Float64")
    np.testing.assert_array_equal(score(text, frame, **options), expected)
