"""The classes that a model file may name.

Loading a file constructs objects of the classes listed here and of no others, so that a
file from an untrusted source cannot run code.
"""

import functools
import importlib
import inspect
import pkgutil

from sklearn.base import BaseEstimator

import skrank

_NOT_MODELS = ("cli", "export")

#: Estimators of scikit-learn whose fitted state is made of arrays and plain values.
SKLEARN_CLASSES = (
    "sklearn.compose.ColumnTransformer",
    "sklearn.decomposition.PCA",
    "sklearn.decomposition.TruncatedSVD",
    "sklearn.feature_selection.SelectFromModel",
    "sklearn.feature_selection.VarianceThreshold",
    "sklearn.impute.MissingIndicator",
    "sklearn.impute.SimpleImputer",
    "sklearn.kernel_approximation.Nystroem",
    "sklearn.kernel_approximation.RBFSampler",
    "sklearn.linear_model.BayesianRidge",
    "sklearn.linear_model.ElasticNet",
    "sklearn.linear_model.HuberRegressor",
    "sklearn.linear_model.Lasso",
    "sklearn.linear_model.LinearRegression",
    "sklearn.linear_model.LogisticRegression",
    "sklearn.linear_model.Ridge",
    "sklearn.pipeline.FeatureUnion",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing.Binarizer",
    "sklearn.preprocessing.FunctionTransformer",
    "sklearn.preprocessing.KBinsDiscretizer",
    "sklearn.preprocessing.MaxAbsScaler",
    "sklearn.preprocessing.MinMaxScaler",
    "sklearn.preprocessing.Normalizer",
    "sklearn.preprocessing.OneHotEncoder",
    "sklearn.preprocessing.OrdinalEncoder",
    "sklearn.preprocessing.PolynomialFeatures",
    "sklearn.preprocessing.PowerTransformer",
    "sklearn.preprocessing.QuantileTransformer",
    "sklearn.preprocessing.RobustScaler",
    "sklearn.preprocessing.StandardScaler",
    "sklearn.svm.LinearSVC",
    "sklearn.svm.LinearSVR",
)


def _public_packages():
    for module in pkgutil.iter_modules(skrank.__path__):
        if not module.name.startswith("_") and module.name not in _NOT_MODELS:
            yield importlib.import_module(f"skrank.{module.name}")


@functools.cache
def skrank_classes() -> dict[str, type]:
    """Return the public estimators, losses, energies, solvers and measures by name."""
    classes = {}
    for package in _public_packages():
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if inspect.isclass(value) and issubclass(value, BaseEstimator):
                classes[f"{package.__name__}.{name}"] = value
    return classes


@functools.cache
def _names():
    named = {cls: name for name, cls in skrank_classes().items()}
    named.update((_import(name), name) for name in SKLEARN_CLASSES)
    return named


def _import(name):
    # Called for names of the list above only, never for one that comes from a file.
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def name_of_class(cls: type) -> str | None:
    """Return the public name of an allowed class, None for any other class.

    Parameters
    ----------
    cls : type
        Class of an object that is to be saved.

    Returns
    -------
    str or None
        Public name, such as ``"skrank.rankers.RankNet"``.
    """
    return _names().get(cls)


def class_of_name(name: str) -> type | None:
    """Return the allowed class of a public name, None for any other name.

    Parameters
    ----------
    name : str
        Name as returned by `name_of_class`. Nothing is imported for unknown names.

    Returns
    -------
    type or None
    """
    if name in SKLEARN_CLASSES:
        return _import(name)
    return skrank_classes().get(name)
