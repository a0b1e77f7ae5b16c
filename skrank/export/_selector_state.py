"""What selectors of features have learned, and how it must fit together."""

from typing import Any

import numpy as np

from skrank.export._attributes import array_of, attribute, error_of, missing

_FLOAT, _WHOLE = [np.float64], [np.int64]
# Arrays by name: their types, and their axes as names of lengths.
_ARRAYS: dict[str, tuple[list, tuple[str, ...]]] = {
    "coefs_": (_FLOAT, ("steps", "features")),
    "directions_": (_WHOLE, ("features",)),
    "entry_l1_": (_FLOAT, ("features",)),
    "gains_": (_FLOAT, ("kept",)),
    "importances_": (_FLOAT, ("features",)),
    "l1s_": (_FLOAT, ("steps",)),
    "n_features_tried_": (_WHOLE, ("sizes",)),
    "order_": (_WHOLE, ("kept",)),
    "ranking_": (_WHOLE, ("features",)),
    "similarity_": (_FLOAT, ("features", "features")),
    "validation_values_": (_FLOAT, ("sizes", "folds")),
}
# What each class learns besides the mask of features.
_LEARNED = {
    "GAS": ("importances_", "directions_", "similarity_", "order_", "gains_"),
    "L1PathSelector": ("l1s_", "coefs_", "entry_l1_"),
    "QueryRFE": ("ranking_",),
    "QueryRFECV": ("ranking_", "n_features_tried_", "validation_values_"),
    "SelectByMeasure": ("importances_", "directions_"),
}


def check_feature_selector(selector: Any) -> None:
    """Raise an error if learned attributes do not make a working selector of features.

    Parameters
    ----------
    selector : BaseFeatureSelector
        Fitted selector that was read from a file; an estimator inside it has been
        checked before.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind or of the wrong shape, or
        attributes contradict each other.
    """
    n = attribute(selector, "n_features_in_", int, "a whole number >= 1")
    if n < 1:
        raise error_of(selector, "n_features_in_", "a whole number >= 1", n)
    support = array_of(selector, "support_", [np.bool_], (n,))
    kept = np.flatnonzero(support)
    if not len(kept):
        raise error_of(selector, "support_", "True for some features", support)
    n_kept = attribute(selector, "n_features_", int, "a whole number >= 1")
    if n_kept != len(kept):
        raise error_of(selector, "n_features_", f"{len(kept)}, as support_", n_kept)
    _check_names(selector, n)
    lengths: dict[str, int] = {"features": n, "kept": len(kept)}
    for name in _LEARNED[type(selector).__name__]:
        _check_array(selector, name, lengths)
    if "order_" in vars(selector) and set(selector.order_) != set(kept):
        raise error_of(selector, "order_", "the kept features", selector.order_)
    if "ranking_" in vars(selector):
        ranking = selector.ranking_
        if ((ranking == 1) != support).any() or ranking.min() < 1:
            raise error_of(selector, "ranking_", "1 for the kept features", ranking)
        _check_estimator(selector, len(kept))
    if type(selector).__name__ == "GAS":
        value = attribute(selector, "objective_", float, "a number")
        if not np.isfinite(value):
            raise error_of(selector, "objective_", "a finite number", value)


def _check_names(selector, n) -> None:
    """Check the names of features, where there are any."""
    names = vars(selector).get("feature_names_in_")
    if names is None:
        return
    fits = isinstance(names, np.ndarray) and names.shape == (n,)
    if not fits or not all(isinstance(name, str) for name in names.tolist()):
        raise error_of(selector, "feature_names_in_", f"{n} names", names)


def _check_array(selector, name, lengths) -> None:
    """Check the type and the shape of an array, and that its numbers are finite."""
    dtypes, axes = _ARRAYS[name]
    shape = tuple(lengths.get(axis) for axis in axes)
    array = array_of(selector, name, dtypes, shape)
    lengths.update(zip(axes, array.shape))
    # Folds whose queries have no value of the measure are left out by NaN.
    if name != "validation_values_" and not np.isfinite(array).all():
        raise error_of(selector, name, "finite", array)
    if name == "directions_" and not (np.abs(array) == 1).all():
        raise error_of(selector, name, "1 or -1", array)


def _check_estimator(selector, n_kept) -> None:
    """Check the ranker inside, which was fitted on the kept features."""
    if "estimator_" not in vars(selector):
        raise missing(selector, "estimator_")
    model = selector.estimator_
    found = getattr(model, "n_features_in_", n_kept)
    if not hasattr(model, "predict") or found != n_kept:
        raise error_of(
            selector, "estimator_", f"an estimator fitted on {n_kept} features", model
        )
