"""Checks of what users pass: queries, relevance grades and weights.

Each check returns an array that the kernels take, or raises an error that names the
argument, what was found and what is accepted.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, column_or_1d

from skrank._core._config import get_config

QID_LEVEL = "qid"

_TWO_WAYS = (
    "Pass groups=, one query id per row. Inside scikit-learn's tools either enable "
    "metadata routing (sklearn.set_config(enable_metadata_routing=True)) and pass "
    "groups to the outermost fit (params={'groups': groups} for cross_val_score and "
    "its relatives), or give y a pandas index with a level named 'qid'. To treat all "
    "rows as one single query use skrank.config_context(assume_single_query=True)."
)


def n_rows(array) -> int:
    """Number of rows of an array, a sparse matrix, a data frame or a list."""
    return array.shape[0] if hasattr(array, "shape") else len(array)


def qid_of_index(*containers):
    """Query ids kept in the index of the first pandas object that has a 'qid' level.

    Parameters
    ----------
    *containers : objects
        Asked in turn; anything without an ``index`` that has ``names`` is passed over.

    Returns
    -------
    ndarray or None
        One id per row.
    """
    for container in containers:
        index = getattr(container, "index", None)
        if QID_LEVEL in (getattr(index, "names", None) or ()):
            return np.asarray(index.get_level_values(QID_LEVEL))
    return None


def _sizes_hint(groups, n_samples):
    """The hint for sizes of queries given where ids are expected."""
    try:
        sizes = np.asarray(groups)
        if sizes.ndim == 1 and sizes.dtype.kind in "iuf" and sizes.sum() == n_samples:
            return (
                " These look like group sizes; skrank takes one id per row: "
                "np.repeat(np.arange(len(sizes)), sizes) converts them."
            )
    except (TypeError, ValueError):
        pass
    return ""


def _as_id_array(groups, name):
    """One-dimensional array of hashable ids; tuples stay whole."""
    if sparse.issparse(groups):
        raise TypeError(f"{name} must be a one-dimensional array, got a sparse matrix")
    if isinstance(groups, (list, tuple)):
        if any(isinstance(value, (tuple, frozenset)) for value in groups):
            ids = np.empty(len(groups), dtype=object)
            ids[:] = groups
            return ids
        kinds = {type(value) for value in groups}
        if len(kinds) > 1 and str in kinds:  # NumPy would turn 1 and "1" into one id
            return np.array(groups, dtype=object)
    ids = np.asarray(groups)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids.ravel()
    if ids.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional with one query id per row, "
            f"got an array of shape {ids.shape}"
        )
    return ids


def _check_no_missing_id(ids, name):
    if ids.dtype.kind == "f":
        missing = ~np.isfinite(ids)
    elif ids.dtype.kind in "mM":
        missing = np.isnat(ids)
    elif ids.dtype == object:
        missing = np.array([v is None or v != v for v in ids], dtype=bool)
    else:
        return
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"{name} must hold one query id per row; row {first} has none "
            f"({ids[first]!r})"
        )


def check_groups(groups, n_samples: int, *, name: str = "groups"):
    """Check an array of query ids.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        One hashable id per row, in any order.
    n_samples : int
        Number of rows that the ids must cover.
    name : str, default="groups"
        What error messages call the argument.

    Returns
    -------
    ndarray of shape (n_samples,)
        The ids; integers, floats, strings and objects keep their type.

    Raises
    ------
    ValueError
        If the length or the shape is wrong, or an id is missing.
    TypeError
        If ids are not hashable or not an array.
    """
    ids = _as_id_array(groups, name)
    if len(ids) != n_samples:
        raise ValueError(
            f"{name} must hold one query id per row: found {len(ids)} ids for "
            f"{n_samples} rows.{_sizes_hint(groups, n_samples)}"
        )
    _check_no_missing_id(ids, name)
    if ids.dtype == object:
        try:
            for value in ids:
                hash(value)
        except TypeError as error:
            raise TypeError(f"{name} must hold hashable ids: {error}") from None
    return ids


def resolve_groups(groups, *containers, n_samples: int, caller: str, name="groups"):
    """Find the query ids of a call: the argument, then a pandas 'qid' index level.

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or None
        What the user passed.
    *containers : objects
        The original ``y`` and ``X``, whose index may carry the ids.
    n_samples : int
        Number of rows.
    caller : str
        Who asks, for the error message.
    name : str, default="groups"
        What error messages call the argument.

    Returns
    -------
    ndarray of shape (n_samples,)
        One id per row.

    Raises
    ------
    ValueError
        If there are no groups and ``assume_single_query`` is off.
    """
    if groups is None:
        groups = qid_of_index(*containers)
    if groups is None:
        if get_config()["assume_single_query"]:
            return np.zeros(n_samples, dtype=np.intp)
        raise ValueError(f"{caller} needs to know the query of every row. {_TWO_WAYS}")
    return check_groups(groups, n_samples, name=name)


def check_grades(y, *, name: str = "y", n_samples: int | None = None, warn=False):
    """Check relevance grades: finite and not negative.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        One grade per document; binary, graded or real.
    name : str, default="y"
        What error messages call the argument.
    n_samples : int, default=None
        Expected length, if known.
    warn : bool, default=False
        Whether a column vector is worth a DataConversionWarning.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64

    Raises
    ------
    ValueError
        If a grade is NaN, infinite, negative or not a number, or the length differs.
    """
    y = column_or_1d(y, warn=warn)
    if y.dtype.kind not in "biuf":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must hold numeric relevance grades, got dtype {y.dtype}"
            ) from None
    y = np.ascontiguousarray(y, dtype=np.float64)
    if n_samples is not None and len(y) != n_samples:
        raise ValueError(f"{name} has {len(y)} grades for {n_samples} rows")
    if len(y) == 0:
        raise ValueError(f"{name} is empty; at least one document is needed")
    bad = ~np.isfinite(y)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{name} must hold finite grades; Input {name} contains "
            f"{'NaN' if np.isnan(y[first]) else 'infinity'} (first in row {first}, "
            f"{int(bad.sum())} in all)"
        )
    if y.min() < 0:
        first = int(np.flatnonzero(y < 0)[0])
        raise ValueError(
            f"{name} must hold grades >= 0; row {first} has {y[first]:g}. Shift the "
            "grades, or drop rows that mean 'not judged'."
        )
    return y


def check_scores(y_score, n_samples: int, *, name: str = "y_score"):
    """Check predicted scores: one number per document, NaN is an error.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores, higher is better. Infinite scores are allowed: they only order.
    n_samples : int
        Expected length.
    name : str, default="y_score"
        What error messages call the argument.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64
    """
    scores = column_or_1d(y_score)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if len(scores) != n_samples:
        raise ValueError(f"{name} has {len(scores)} scores for {n_samples} documents")
    missing = np.isnan(scores)
    if missing.any():
        raise ValueError(
            f"{name} contains NaN: {int(missing.sum())} of {len(scores)} scores, "
            f"first in row {int(np.flatnonzero(missing)[0])}; a document without a "
            "score cannot be ranked"
        )
    return scores


def check_weights(sample_weight, n_samples: int, *, name: str = "sample_weight"):
    """Check row weights: finite, not negative, not all zero.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), a number, or None
        Weight of each document. A weight that is constant within a query is a weight
        of the query.
    n_samples : int
        Number of rows.
    name : str, default="sample_weight"
        What error messages call the argument.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64, or None

    Raises
    ------
    ValueError
        If a weight is not finite or negative, all are zero, or the length differs.
    """
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        weight = np.full(n_samples, float(sample_weight))
    else:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name=name
        )
    if weight.ndim != 1:
        raise ValueError(
            f"{name}: Sample weights must be 1D array or scalar, got {weight.ndim}D"
        )
    if len(weight) != n_samples:
        raise ValueError(
            f"{name}.shape == {weight.shape}, expected {(n_samples,)}: one weight per "
            "row; repeat the weight of a query on each of its rows"
        )
    if weight.min() < 0 or not weight.any():
        raise ValueError(f"{name} must not be negative, nor zero everywhere")
    return np.ascontiguousarray(weight)
