"""Shapes of the arrays that estimators of scikit-learn have learned."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
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

from skrank.export._attributes import attribute, error_of

# Letters are lengths, of which d is the number of features, and the others are what the
# first array with them has. An axis "*" may be missing, or have any length.
_OF_ONE_OUTPUT = (BayesianRidge, HuberRegressor, LinearSVR)
# Lasso is an ElasticNet.
_OF_SEVERAL_OUTPUTS = (ElasticNet, LinearRegression, Ridge)
_CLASSIFIERS = (LinearSVC, LogisticRegression)
_LINEAR = (*_OF_ONE_OUTPUT, *_OF_SEVERAL_OUTPUTS, *_CLASSIFIERS)
_SHAPES: tuple[tuple[Any, dict[str, str]], ...] = (
    (StandardScaler, {"mean_": "d", "var_": "d", "scale_": "d"}),
    (
        MinMaxScaler,
        {
            "scale_": "d",
            "min_": "d",
            "data_min_": "d",
            "data_max_": "d",
            "data_range_": "d",
        },
    ),
    (MaxAbsScaler, {"scale_": "d", "max_abs_": "d"}),
    (RobustScaler, {"center_": "d", "scale_": "d"}),
    (PowerTransformer, {"lambdas_": "d"}),
    (QuantileTransformer, {"quantiles_": "qd", "references_": "q"}),
    (KBinsDiscretizer, {"bin_edges_": "d", "n_bins_": "d"}),
    (SimpleImputer, {"statistics_": "d"}),
    (VarianceThreshold, {"variances_": "d"}),
    (
        PCA,
        {
            "components_": "cd",
            "mean_": "d",
            "explained_variance_": "c",
            "explained_variance_ratio_": "c",
            "singular_values_": "c",
        },
    ),
    (
        TruncatedSVD,
        {
            "components_": "cd",
            "explained_variance_": "c",
            "explained_variance_ratio_": "c",
            "singular_values_": "c",
        },
    ),
    (
        Nystroem,
        {"components_": "cd", "normalization_": "cc", "component_indices_": "c"},
    ),
    (RBFSampler, {"random_weights_": "dc", "random_offset_": "c"}),
    (MissingIndicator, {"features_": "m"}),
    (_OF_ONE_OUTPUT, {"coef_": "d"}),
    (_OF_SEVERAL_OUTPUTS, {"coef_": "*d"}),
    (_CLASSIFIERS, {"coef_": "nd"}),
)


def check_learned_shapes(estimator: Any) -> None:
    """Check that the arrays of an estimator of scikit-learn fit its features.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted estimator; one of another library is passed over.

    Raises
    ------
    ValueError
        If an array has another shape than the number of features and the arrays before
        it say, with the shape that was found and the expected one, or if coefficients
        are not finite.
    """
    shapes = next(
        (shapes for kind, shapes in _SHAPES if isinstance(estimator, kind)), {}
    )
    # What is not there, or is None, the parameters may have left out.
    learned = {name: vars(estimator).get(name) for name in shapes}
    if all(value is None for value in learned.values()):
        return
    lengths = {"d": attribute(estimator, "n_features_in_", int, "a whole number >= 1")}
    for name, value in learned.items():
        if value is not None:
            _check_shape(estimator, name, value, shapes[name], lengths)
    if isinstance(estimator, SimpleImputer):
        _check_filling(estimator)
        _check_indicator(estimator)
    if isinstance(estimator, _LINEAR):
        _check_coefficients(estimator)
        _check_intercept(estimator)
    if isinstance(estimator, MissingIndicator):
        _check_columns(estimator, lengths["d"])
    if isinstance(estimator, (Nystroem, RBFSampler)):
        _check_n_columns(estimator, lengths.get("c"))


def _check_filling(imputer: Any) -> None:
    """Check what stands in for missing values, of which rows to try have none."""
    filling = imputer.statistics_
    if filling.dtype.kind == "f" and np.isinf(filling).any():
        accepted = "finite, or NaN where nothing is known"
        raise error_of(imputer, "statistics_", accepted, filling)


def _check_coefficients(model: Any) -> None:
    """Check that coefficients are finite, and of two axes only if they must be."""
    coef = model.coef_
    _check_finite(model, "coef_", coef.data if sparse.issparse(coef) else coef)
    # Unlike LinearRegression, they keep no matrix of one row.
    if isinstance(model, (ElasticNet, Ridge)) and coef.ndim == 2 and len(coef) == 1:
        accepted = f"an array of shape ({coef.shape[1]},)"
        raise error_of(model, "coef_", accepted, f"shape {coef.shape}")


def _check_finite(model: Any, name: str, values: Any) -> None:
    values = np.asarray(values)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise error_of(model, name, "of finite numbers", values)


def _check_intercept(model: Any) -> None:
    """Check that there is one intercept, or one for each row of the coefficients.

    NumPy would add others to scores of as many rows.
    """
    accepted = "a number or an array of numbers"
    kinds = (int, float, np.floating, np.ndarray)
    intercept = attribute(model, "intercept_", kinds, accepted)
    n_outputs = model.coef_.shape[0] if model.coef_.ndim > 1 else 1
    found = np.shape(intercept)
    if found not in ((), (n_outputs,)):
        accepted = f"a number or an array of shape ({n_outputs},), as coef_ has outputs"
        raise error_of(model, "intercept_", accepted, f"shape {found}")
    _check_finite(model, "intercept_", intercept)


def _check_columns(indicator: Any, n_features: int) -> None:
    """Check the places of the columns that had missing values."""
    places = indicator.features_
    n = attribute(indicator, "_n_features", int, "a whole number >= 1")
    if n != n_features:
        raise error_of(indicator, "_n_features", str(n_features), n)
    within = places.dtype.kind in "iu" and ((places >= 0) & (places < n_features)).all()
    if not within:
        raise error_of(indicator, "features_", f"numbers below {n_features}", places)


def _check_n_columns(kernel: Any, n_columns: int | None) -> None:
    """Check how many columns there are after the map of a kernel."""
    n = attribute(kernel, "_n_features_out", int, "a whole number >= 1")
    if n != n_columns:
        raise error_of(kernel, "_n_features_out", str(n_columns), n)


def _check_indicator(imputer: Any) -> None:
    """Check what marks missing values: of an imputer, it is given masks."""
    indicator = vars(imputer).get("indicator_")
    if indicator is None:
        return
    if not isinstance(indicator, MissingIndicator):
        raise error_of(imputer, "indicator_", "a MissingIndicator", indicator)
    if not vars(indicator).get("_precomputed"):
        raise error_of(imputer, "indicator_", "one that takes masks", indicator)


def _check_shape(owner, name, value, letters: str, lengths: dict[str, int]) -> None:
    """Check the shape of an array, and note the lengths that no other had before."""
    # Coefficients may be sparse, which have a shape as well.
    found: Any = getattr(value, "shape", None)
    known = isinstance(found, tuple)
    accepted = letters.replace("*", "" if known and len(found) == 1 else "n")
    expected = [lengths.get(letter) for letter in accepted]
    fits = known and len(found) == len(expected)
    if not fits or any(n not in (None, m) for n, m in zip(expected, found)):
        words = ", ".join("n" if n is None else str(n) for n in expected)
        words = f"an array of shape ({words}{',' * (len(expected) == 1)})"
        raise error_of(owner, name, words, f"shape {found}" if known else value)
    for letter, length in zip(accepted, found):
        lengths.setdefault(letter, length)
