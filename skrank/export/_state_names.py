"""Names of the attributes that model files may hold, besides parameters.

What a fit learns ends in an underscore. The other names are listed, so that a file
cannot set what Python or scikit-learn reads from any object that has it, such as how
metadata is routed.
"""

import inspect
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Lasso
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

from skrank.export._attributes import attribute, error_of


class Kind(NamedTuple):
    """What a listed attribute must be.

    Attributes
    ----------
    kind : type or tuple of types
        Accepted types.
    accepted : str
        What is accepted, for the error message.
    """

    kind: Any
    accepted: str


_DICT = Kind(dict, "a dictionary")
_DTYPE = Kind(np.dtype, "a dtype")
_FLAG = Kind(bool, "True or False")
_INTEGER = Kind(int, "a whole number")
_LIST = Kind(list, "a list")
_NUMBER = Kind((float, int, np.floating), "a number")
_INFREQUENT = {
    "_infrequent_enabled": _FLAG,
    "_infrequent_indices": _LIST,
    "_default_to_infrequent_mappings": _LIST,
}
#: Attributes of scikit-learn's classes whose names do not end in an underscore.
LISTED: dict[type, dict[str, Kind]] = {
    ColumnTransformer: {
        "_columns": _LIST,
        "_remainder": Kind((tuple, list), "a triple"),
        "_transformer_to_input_indices": _DICT,
        "_transformers_feature_names_out": Kind(np.ndarray, "an array"),
    },
    FeatureUnion: {"_transformers_feature_names_out": _LIST},
    KBinsDiscretizer: {"_encoder": Kind(OneHotEncoder, "a OneHotEncoder")},
    Lasso: {"l1_ratio": _NUMBER},
    MissingIndicator: {"_n_features": _INTEGER, "_precomputed": _FLAG},
    Nystroem: {"_n_features_out": _INTEGER},
    OneHotEncoder: {
        **_INFREQUENT,
        "_drop_idx_after_grouping": Kind((np.ndarray, type(None)), "an array or None"),
        "_n_features_outs": _LIST,
    },
    OrdinalEncoder: {**_INFREQUENT, "_missing_indices": _DICT},
    PCA: {"_fit_svd_solver": Kind(str, "a string")},
    PolynomialFeatures: dict.fromkeys(
        ("_min_degree", "_max_degree", "_n_out_full"), _INTEGER
    ),
    PowerTransformer: {"_scaler": Kind(StandardScaler, "a StandardScaler")},
    RBFSampler: {"_gamma": _NUMBER, "_n_features_out": _INTEGER},
    SimpleImputer: {"_fill_dtype": _DTYPE, "_fit_dtype": _DTYPE},
}
_OUTPUT = "_sklearn_output_config"
_OUTPUTS = ("default", "pandas", "polars")
# They learn nothing themselves: their parts do, which are parameters.
_WITHOUT_STATE = (Pipeline, FeatureUnion)


def is_learned_name(name: str) -> bool:
    """Return whether a name is one of those that `fit` gives to what it learns."""
    return name.endswith("_") and not name.startswith("_")


def check_state_name(cls: type, name: str) -> None:
    """Refuse the name of anything that objects of a class do not hold as data.

    Parameters
    ----------
    cls : type
        Class that model files may name.
    name : str
        Name of an attribute that is no parameter.

    Raises
    ------
    ValueError
        If it would shadow a method or change how the object behaves, or is no name of
        what the class learns.
    """
    # Setting __class__, for one, would turn the object into one of another class.
    if not name.isidentifier() or name.startswith("__"):
        raise ValueError(f"{name!r} is not an attribute of {cls.__name__}")
    if callable(getattr(cls, name, None)):
        raise ValueError(f"{name!r} is a method of {cls.__name__}, not an attribute")
    # What a class says of all its objects, such as what it learns from.
    if not name.endswith("_") and hasattr(cls, name):
        raise ValueError(
            f"{name!r} belongs to the class {cls.__name__} and is not learned"
        )
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property) and found.fset is None:
        raise ValueError(f"{name!r} of {cls.__name__} is computed and not learned")
    known = is_learned_name(name) and not issubclass(cls, _WITHOUT_STATE)
    if not known and name not in _listed_names(cls):
        raise ValueError(f"{cls.__name__} learns no attribute {name!r}")


def _listed_names(cls: Any) -> set[str]:
    names = {*LISTED.get(cls, ()), *getattr(cls, "_saved_names", ())}
    return names | {_OUTPUT} if hasattr(cls, "set_output") else names


def check_listed(estimator: Any) -> None:
    """Check the attributes of a loaded estimator whose names are listed.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator of an allowed class.

    Raises
    ------
    ValueError
        If one of those that are there is of another kind.
    """
    for name, kind in LISTED.get(type(estimator), {}).items():
        if name in vars(estimator):
            attribute(estimator, name, kind.kind, kind.accepted)
    if _OUTPUT not in vars(estimator):
        return
    outputs = vars(estimator)[_OUTPUT]
    fits = isinstance(outputs, dict) and all(
        key == "transform" and isinstance(output, str) and output in _OUTPUTS
        for key, output in outputs.items()
    )
    if not fits:
        accepted = f"a dictionary of 'transform' and one of {', '.join(_OUTPUTS)}"
        raise error_of(estimator, _OUTPUT, accepted, outputs)
