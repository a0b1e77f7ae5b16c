"""What to do where a computation leaves the range of floating-point numbers.

Nothing is refused because it is large: most algorithms take large numbers, and looking
at all values before every fit would take longer than some fits do. Results are looked
at instead, which are few, and only where one is not finite is the cause searched.
"""

import re
from collections.abc import Set
from contextlib import ContextDecorator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from skrank._core._messages import shown
from skrank._core._quiet import Quiet
from skrank._core._sparse import is_mapping

# How NumPy, SciPy and scikit-learn complain about numbers that are not finite.
_COMPLAINT = re.compile(
    r"\b(inf|infs|infinity|nans?|non-finite|finite|overflow|converge)\b", re.I
)


class NotFiniteError(ValueError):
    """A loss, an objective or a model is no longer finite; a ValueError.

    A fit that raises it leaves the ranker as it was.

    Examples
    --------
    >>> from skrank.exceptions import NotFiniteError
    >>> from skrank.losses import SquaredLoss
    >>> try:
    ...     SquaredLoss().value_gradient([0.0, 1.0], [1e300, 0.0], [0, 2])
    ... except NotFiniteError as error:
    ...     print(str(error).partition(";")[0])
    SquaredLoss became inf, because scores reach 1e+300 in size
    """


class quiet(Quiet, ContextDecorator):  # noqa: N801, as numpy.errstate
    """Compute without NumPy's warnings, and errors: a context, and a decorator.

    Unlike `numpy.errstate` it puts the state back after Ctrl-C, too.
    """

    def _recreate_cm(self) -> Self:
        return type(self)()  # each call of a function keeps a state of its own


def checked_array(array: Any, **options: Any) -> Any:
    """Return what scikit-learn's ``check_array`` makes of an array.

    A sum, which may overflow or add opposite infinities, is only its quick test whether
    all numbers are finite; NumPy's warnings of it would come before the error.
    """
    with quiet():
        return check_array(array, **options)


def checked_rows(
    estimator: Any,
    X: Any,
    takes_sparse: bool = False,
    takes_missing: bool = False,
    **options: Any,
) -> Any:
    """Return rows of numbers as scikit-learn's ``validate_data`` does, in this way.

    What is no table at all, such as a text or a mapping, raises a ValueError.
    """
    accepted: Any = {
        "accept_sparse": "csr" if takes_sparse else False,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": "allow-nan" if takes_missing else True,
    }
    if isinstance(X, str | bytes | bytearray | Set | type) or is_mapping(X):
        raise ValueError(f"X must hold numbers, got {shown(X)}")
    with quiet():
        return validate_data(estimator, X, **accepted, **options)


def largest_safe(dtype: Any) -> float:
    """Return the largest number whose squares can be summed in a precision.

    It is the cube root of the largest number of the precision: as many squares as the
    number itself says, far more than there are rows, have a finite sum.
    """
    dtype = np.dtype(dtype)
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return float(np.cbrt(np.finfo(dtype).max))


def at_most_one(values: np.ndarray) -> np.ndarray:
    """Return numbers over the power of two that is just above all of them in size.

    Nothing is rounded but what vanishes beside the largest one, and sums of squares
    neither overflow nor vanish. NaN stays; zeros alone stay as they are.
    """
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.ldexp(values, -int(np.frexp(largest)[1]))


def unsafe_range(name: str, array: Any) -> str | None:
    """Return a sentence about an array whose numbers are too large or too small.

    Parameters
    ----------
    name : str
        Name of the argument that holds the array.
    array : ndarray, CSR matrix, data frame or None
        Numbers; NaN counts as missing.

    Returns
    -------
    str or None
        What was found and what is accepted; None if the numbers are no cause of an
        overflow, or are infinite, which no scale mends.
    """
    if hasattr(array, "iloc"):
        array = array.select_dtypes("number").to_numpy()
    values = array.data if sparse.issparse(array) else array
    dtype = getattr(values, "dtype", None)
    if dtype is None or dtype.kind not in "fiu" or not values.size:
        return None
    values = values[~np.isnan(values)]
    if not values.size:
        return None
    largest = max(float(values.max()), -float(values.min()))
    limit = largest_safe(dtype)
    if limit < largest < np.inf:
        return (
            f"{name} must hold numbers of at most {limit:.2g} in size, because sums of "
            f"squares of larger ones may overflow in {np.dtype(dtype).name}; found "
            f"{largest:.2g}, so scale them"
        )
    if 0 < largest < 1 / limit:
        return (
            f"{name} must not hold numbers below {1 / limit:.2g} alone, because "
            f"dividing by them overflows; the largest is {largest:.2g}, so scale them"
        )
    return None


def is_complaint(error: BaseException) -> bool:
    """Return whether an error may come from numbers that are too large."""
    if isinstance(error, NotFiniteError | np.linalg.LinAlgError | FloatingPointError):
        return True
    return isinstance(error, ValueError) and bool(_COMPLAINT.search(str(error)))


def require_finite_scores(scores: np.ndarray, X: Any) -> np.ndarray:
    """Return predicted scores; raise an error if some of them are not finite.

    Parameters
    ----------
    scores : ndarray
        Scores of documents.
    X : ndarray or CSR matrix
        Rows that they belong to.

    Returns
    -------
    ndarray
        The scores.

    Raises
    ------
    ValueError
        If a score is infinite or NaN.
    """
    finite = np.isfinite(scores)
    if finite.all():
        return scores
    row = int(np.flatnonzero(~finite.reshape(len(scores), -1).all(axis=1))[0])
    values = X[[row]] if hasattr(X, "shape") and not hasattr(X, "iloc") else np.empty(0)
    values = values.data if sparse.issparse(values) else np.asarray(values)
    held = ""
    if values.size and values.dtype.kind in "fiu" and not np.isnan(values).all():
        size = np.nanmax(np.abs(values))
        held = f", whose largest feature has the size {size:.2g},"
    score = scores[row][~finite[row]] if scores.ndim > 1 else scores[row]
    raise NotFiniteError(
        f"X: row {row}{held} gets the score {np.ravel(score)[0]}, and scores must be "
        "finite; scale the features to the range of those of training"
    )
