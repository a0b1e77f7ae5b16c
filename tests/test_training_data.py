"""Validation rows that missed the transformers of a pipeline."""

import numpy as np
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import LambdaMART, NestedRanker, RankNet

HINT = r"Pipeline\(steps, transform_input=\['X_val'\]\) transforms X_val as well$"
RANKERS = {
    "network": RankNet(early_stopping=False, random_state=0),
    "trees": LambdaMART(n_estimators=5, min_samples_leaf=2, random_state=0),
    "meta": NestedRanker(LambdaMART(n_estimators=2, min_samples_leaf=2)),
}
rankers = pytest.mark.parametrize("ranker", RANKERS.values(), ids=list(RANKERS))


@pytest.fixture
def data():
    X, y, groups = make_ranking(
        n_queries=24, n_features=6, n_informative=4, random_state=0
    )
    held = groups >= 16
    train = (X[~held], y[~held], groups[~held])
    return train, (X[held], y[held], groups[held])


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def fit(pipe, train, held):
    X, y, groups = train
    X_val, y_val, groups_val = held
    return pipe.fit(
        X, y, groups=groups, X_val=X_val, y_val=y_val, groups_val=groups_val
    )


@rankers
def test_another_number_of_columns(ranker, data):
    with pytest.raises(ValueError, match=f"^X_val has 6 features.* 3 features.*{HINT}"):
        fit(make_pipeline(PCA(3), ranker), *data)


def test_missing_values_that_the_training_rows_have_lost(data):
    (X, y, groups), (X_val, *held) = data
    X[0, 0] = X_val[0, 0] = np.nan
    pipe = make_pipeline(SimpleImputer(), RANKERS["network"])
    with pytest.raises(ValueError, match=rf"(?s)Input X_val contains NaN.*{HINT}"):
        fit(pipe, (X, y, groups), (X_val, *held))


@rankers
def test_names_that_the_training_rows_have_lost(ranker, data):
    pd = pytest.importorskip("pandas")
    (X, y, groups), (X_val, *held) = data
    frames = [pd.DataFrame(x).add_prefix("f").assign(site="a") for x in (X, X_val)]
    names = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["site"]), remainder="passthrough"
    ).set_output(transform="pandas")
    with pytest.raises(ValueError, match=HINT):
        fit(make_pipeline(names, ranker), (frames[0], y, groups), (frames[1], *held))


@rankers
def test_other_ranges_of_values(ranker, data):
    (X, y, groups), (X_val, *held) = data
    pipe = make_pipeline(StandardScaler(), ranker)
    shifted = (1000 * X + 5000, y, groups), (1000 * X_val + 5000, *held)
    with pytest.warns(TrainingDataWarning, match=rf"100% of the values.*{HINT}"):
        fit(pipe, *shifted)
    fit(pipe.set_params(transform_input=["X_val"]), *shifted)  # without a warning


def test_few_values_beyond_the_range_are_no_reason_to_warn(data):
    (X, y, groups), (X_val, *held) = data
    X_val[:, :2] += 100
    fit(RANKERS["trees"], (X, y, groups), (X_val, *held))
    X_val[:, 2:4] += 100
    with pytest.warns(TrainingDataWarning, match=r"^LambdaMART: 6\d% of the values"):
        fit(RANKERS["trees"], (X, y, groups), (X_val, *held))


@pytest.mark.parametrize("name", ["network", "trees"])
def test_transform_input_transforms_validation_rows(name, data):
    ranker = RANKERS[name]
    (X, y, groups), (X_val, y_val, groups_val) = data
    scaler = StandardScaler().fit(X)
    expected = sklearn.clone(ranker).fit(
        scaler.transform(X),
        y,
        groups,
        X_val=scaler.transform(X_val),
        y_val=y_val,
        groups_val=groups_val,
    )
    steps = [("scale", StandardScaler()), ("rank", ranker)]
    pipe = fit(Pipeline(steps, transform_input=["X_val"]), *data)
    np.testing.assert_allclose(
        pipe["rank"].validation_curve_, expected.validation_curve_
    )


def test_scalers_of_queries_read_the_queries_of_validation_rows_from_the_index(data):
    pd = pytest.importorskip("pandas")
    (X, y, groups), (X_val, y_val, groups_val) = data
    ranker, scaler = RANKERS["trees"], QueryStandardScaler()
    expected = sklearn.clone(ranker).fit(
        scaler.fit_transform(X, groups=groups),
        y,
        groups,
        X_val=scaler.transform(X_val, groups=groups_val),
        y_val=y_val,
        groups_val=groups_val,
    )
    parts = []
    for rows, grades, ids in data:
        index = pd.Index(ids, name="qid")
        parts.append((pd.DataFrame(rows, index=index), pd.Series(grades, index=index)))
    pipe = make_pipeline(scaler, ranker, transform_input=["X_val"])
    pipe.fit(*parts[0], X_val=parts[1][0], y_val=parts[1][1])
    np.testing.assert_allclose(pipe[-1].validation_curve_, expected.validation_curve_)
