"""What estimators of scikit-learn have learned has the shapes that belong together."""

import copy

import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC, LinearSVR

from skrank.export import load_model, save_model
from skrank.export._sklearn_state import check_learned_shapes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
GRADES = RNG.integers(0, 3, 30)

# Each with the arrays of which an axis has one length throughout the estimator.
SHAPED = [
    (StandardScaler(), "mean_ var_ scale_"),
    (MinMaxScaler(), "scale_ min_ data_min_ data_max_ data_range_"),
    (MaxAbsScaler(), "scale_ max_abs_"),
    (RobustScaler(), "center_ scale_"),
    (PowerTransformer(), "lambdas_"),
    (QuantileTransformer(n_quantiles=10), "quantiles_ references_"),
    (
        KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
        "bin_edges_ n_bins_",
    ),
    (SimpleImputer(), "statistics_"),
    (VarianceThreshold(), "variances_"),
    (
        PCA(3),
        "components_ mean_ explained_variance_ explained_variance_ratio_ "
        "singular_values_",
    ),
    (
        TruncatedSVD(3),
        "components_ explained_variance_ explained_variance_ratio_ singular_values_",
    ),
    (Nystroem(n_components=5), "components_ normalization_ component_indices_"),
    (RBFSampler(n_components=5), "random_weights_ random_offset_"),
    (BayesianRidge(), "coef_"),
    (HuberRegressor(), "coef_"),
    (LinearSVR(), "coef_"),
    (ElasticNet(), "coef_"),
    (Lasso(), "coef_"),
    (LinearRegression(), "coef_"),
    (Ridge(), "coef_"),
    (LinearSVC(), "coef_"),
    (LogisticRegression(), "coef_"),
]


def name_of(value):
    return type(value).__name__ if hasattr(value, "fit") else None


@pytest.mark.parametrize(("estimator", "names"), SHAPED, ids=name_of)
def test_no_axis_of_an_array_is_longer_than_the_others_say(estimator, names):
    estimator.fit(X, GRADES)
    check_learned_shapes(estimator)
    for name in names.split():
        array = np.asarray(getattr(estimator, name))
        for axis in range(array.ndim):
            changed = copy.copy(estimator)
            n = array.shape[axis]
            longer = np.take(array, np.arange(n + 1) % n, axis=axis)
            setattr(changed, name, longer)
            with pytest.raises(ValueError, match=r"_ must be .* of shape \("):
                check_learned_shapes(changed)
        for wrong in (array[..., None], array.tolist()):
            changed = copy.copy(estimator)
            setattr(changed, name, wrong)
            with pytest.raises(ValueError, match=f"{name} must be an array of shape"):
                check_learned_shapes(changed)


def test_the_message_says_which_lengths_are_fixed():
    model = PCA(3).fit(X)
    model.components_ = model.components_[:, :2]
    expected = r"components_ must be an array of shape \(n, 4\), got 'shape \(3, 2\)'"
    with pytest.raises(ValueError, match=expected):
        check_learned_shapes(model)
    model = PCA(3).fit(X)
    model.singular_values_ = model.singular_values_[:2]
    expected = r"singular_values_ must be an array of shape \(3,\), got 'shape \(2,\)'"
    with pytest.raises(ValueError, match=expected):
        check_learned_shapes(model)


def test_what_parameters_leave_out_is_not_asked_for():
    for scaler in (StandardScaler(with_std=False), RobustScaler(with_centering=False)):
        check_learned_shapes(scaler.fit(X))
    check_learned_shapes(StandardScaler(with_mean=False, with_std=False).fit(X))
    check_learned_shapes(Ridge(fit_intercept=False).fit(X, GRADES))
    check_learned_shapes(Ridge())  # has learned nothing yet


def test_arrays_are_of_no_use_without_the_number_of_features():
    scaler = StandardScaler().fit(X)
    del scaler.n_features_in_
    with pytest.raises(ValueError, match="the attribute n_features_in_ is missing"):
        check_learned_shapes(scaler)


@pytest.mark.parametrize(
    ("value", "fits"),
    [(np.nan, True), (1e300, True), (np.inf, False), (-np.inf, False)],
)
def test_fillings_are_finite_or_unknown(value, fits):
    imputer = SimpleImputer().fit(X)
    imputer.statistics_[1] = value
    if fits:
        check_learned_shapes(imputer)
        return
    with pytest.raises(ValueError, match="statistics_ must be finite, or NaN where"):
        check_learned_shapes(imputer)


def test_fillings_may_be_names():
    imputer = SimpleImputer(strategy="most_frequent")
    check_learned_shapes(imputer.fit(np.array([["a"], ["b"], ["b"]], dtype=object)))


@pytest.mark.parametrize(
    ("places", "fits"),
    [
        ([0, 3], True),
        ([], True),
        ([0, 4], False),
        ([-1, 0], False),
        ([0.0, 1.0], False),
    ],
)
def test_columns_with_missing_values_are_columns(places, fits):
    rows = X.copy()
    rows[0, [0, 3]] = np.nan
    indicator = MissingIndicator().fit(rows)
    indicator.features_ = np.array(places, dtype=None if places else np.int64)
    if fits:
        check_learned_shapes(indicator)
        return
    with pytest.raises(ValueError, match="features_ must be numbers below 4, got"):
        check_learned_shapes(indicator)


@pytest.mark.parametrize(
    "model", [Ridge(), ElasticNet(), LinearRegression()], ids=name_of
)
def test_a_matrix_of_one_row_is_kept_by_linear_regression_alone(model):
    model.fit(X, GRADES)
    model.coef_ = model.coef_[None, :]
    if isinstance(model, LinearRegression):
        check_learned_shapes(model)
        return
    with pytest.raises(
        ValueError, match=r"coef_ must be an array of shape \(4,\), got"
    ):
        check_learned_shapes(model)


@pytest.mark.parametrize(
    "model", [Ridge(), ElasticNet(), LinearRegression()], ids=name_of
)
def test_several_outputs_have_as_many_intercepts(model):
    model.fit(X, np.column_stack([GRADES, X[:, 0], X[:, 1]]))
    check_learned_shapes(model)
    model.intercept_ = model.intercept_[:2]
    with pytest.raises(ValueError, match=r"intercept_ must be .* of shape \(3,\), as"):
        check_learned_shapes(model)


def test_sparse_coefficients_are_looked_at():
    model = LogisticRegression().fit(X, GRADES).sparsify()
    check_learned_shapes(model)
    model.coef_.data[0] = np.inf
    with pytest.raises(ValueError, match="coef_ must be of finite numbers, got"):
        check_learned_shapes(model)


@pytest.mark.parametrize(
    ("model", "name"),
    [(Ridge(), "coef_"), (Ridge(), "intercept_"), (LinearSVC(), "intercept_")],
)
def test_coefficients_are_numbers(model, name):
    model.fit(X, GRADES)
    setattr(model, name, np.full(np.shape(getattr(model, name)), "1.5"))
    with pytest.raises(ValueError, match=f"{name} must be of finite numbers, got"):
        check_learned_shapes(model)


@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(), Lasso(0.01), HuberRegressor()], ids=name_of
)
def test_one_intercept_may_be_an_array(model, tmp_path):
    expected = model.fit(X, GRADES).predict(X)
    model.intercept_ = np.array([model.intercept_])
    save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), expected)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("intercept_", 2),
        ("intercept_", np.float32(0.5)),
        ("intercept_", np.float64(0.5)),
        ("coef_", np.array([1, 2, 3, 4])),
        ("coef_", np.array([1, 2, 3, 4], dtype=np.uint8)),
        ("coef_", np.array([1, 2, 3, 4], dtype=np.float32)),
    ],
    ids=repr,
)
def test_numbers_of_any_type_are_coefficients(attribute, value, tmp_path):
    model = Ridge().fit(X, GRADES)
    setattr(model, attribute, value)
    check_learned_shapes(model)
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model").predict(X)
    np.testing.assert_array_equal(found, model.predict(X))


def test_models_of_single_precision_are_saved(tmp_path):
    model = Ridge().fit(X.astype(np.float32), GRADES.astype(np.float32))
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model").predict(X)
    np.testing.assert_array_equal(found, model.predict(X))
