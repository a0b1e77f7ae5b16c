"""Gains of grades and discounts of ranks."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import Numbers
from skrank._core._validation import as_numbers, calling

#: What turns a grade into its gain.
Gain = (
    Literal["exp2", "linear"]
    | Callable[[np.ndarray], np.ndarray]
    | Mapping[float, float]
    | Numbers
)
#: What turns a rank into its discount.
Discount = (
    Literal["log2", "letor", "reciprocal"]
    | Callable[[np.ndarray], np.ndarray]
    | Numbers
)

# Sums of so many gains as fit into memory stay within the range of doubles, and gains
# within their full precision.
_LARGEST_GAIN, _SMALLEST_GAIN = 1e290, 1e-290
_ROUNDING = 1e-12  # relative
_LARGEST_EXP2_GRADE = 960.0  # 2^960 is about 1e289


def numbers_of_function(name: str, found: Any, n: int) -> np.ndarray:
    """Return what a function of the user's returned, as an array of n numbers.

    Parameters
    ----------
    name : str
        Name of the argument that the function is, for error messages.
    found : array-like of shape (n,), or number
        What it returned; a number stands for n equal ones.
    n : int
        How many numbers there must be.

    Returns
    -------
    ndarray of shape (n,), dtype float64

    Raises
    ------
    ValueError
        If it returned something else.
    """
    values = as_numbers(found, f"the result of the function {name}")
    if values.shape not in ((), (n,)):
        raise ValueError(
            f"the function {name} must return one number for each of {n} entries, "
            f"returned an array of shape {values.shape}"
        )
    return np.broadcast_to(values, n)


def _table_gain(table, y):
    """Gains from an array that is indexed by integer grades."""
    table = as_numbers(table, "gain")
    if table.ndim != 1:
        raise ValueError(f"gain as a table must be one-dimensional, got {table.ndim}D")
    whole = np.floor(y) == y
    if not whole.all():
        raise ValueError(
            "gain as a table needs integer grades; use a callable for real grades "
            f"(found {y[~whole][0]:g})"
        )
    if len(y) and y.max() >= len(table):
        raise ValueError(
            f"gain has {len(table)} entries, for grades 0 to {len(table) - 1}, "
            f"but y holds grade {y.max():g}"
        )
    return table[y.astype(np.intp)]


def _mapped_gain(mapping, y):
    grades, codes = np.unique(y, return_inverse=True)
    missing = [grade for grade in grades.tolist() if grade not in mapping]
    if missing:
        raise ValueError(f"gain has no entry for the grades {missing} found in y")
    return as_numbers([mapping[g] for g in grades.tolist()], "gain")[codes]


def exp2_minus_1(y: np.ndarray) -> np.ndarray:
    """Return ``2^y - 1`` to full precision, for grades near 0, too.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades >= 0.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    gains = np.exp2(y) - 1
    # 1 + y loses the last digits of a small y, and a tiny one altogether. From 1/2 on,
    # the difference has all digits, and is exact for integers.
    small = (y > 0) & (y < 0.5)
    if small.any():
        gains[small] = np.expm1(y[small] * math.log(2.0))
    return gains


def _exp2_gain(y):
    check_exp2_gain(y)
    return exp2_minus_1(y)


def _linear_gain(y):
    _check_range(y)
    return y


_GAINS = {"exp2": _exp2_gain, "linear": _linear_gain}


def _check_range(gains):
    """Raise an error if sums of gains overflow or lose precision near zero."""
    if not len(gains):
        return
    bad = gains > _LARGEST_GAIN
    bad |= (gains < _SMALLEST_GAIN) & (gains > 0)
    if bad.any():
        raise ValueError(
            f"gain must be 0 or from {_SMALLEST_GAIN:g} to {_LARGEST_GAIN:g} for every "
            f"grade in y, got {gains[bad][0]:g}; scale the grades"
        )


_INSTEAD_OF_EXP2 = (
    "use gain='linear', as in the measure 'ndcg(gain=linear)@10', or a mapping of "
    "grades to gains"
)


def check_exp2_gain(y: np.ndarray, instead: str = _INSTEAD_OF_EXP2) -> None:
    """Raise an error if sums of ``2^y - 1`` overflow, or lose precision near 0.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades.
    instead : str, default="use gain='linear', ..."
        What the caller can do about it, for the error message.

    Raises
    ------
    ValueError
        If a grade is too high, or too close to 0 without being 0.
    """
    if not len(y):
        return
    if y.max() > _LARGEST_EXP2_GRADE:
        raise ValueError(f"gain='exp2' overflows for grade {y.max():g}; {instead}")
    tiny = y < 2 * _SMALLEST_GAIN
    if np.count_nonzero(tiny) > np.count_nonzero(y == 0):
        raise ValueError(
            f"gain='exp2' needs grades that are 0 or at least {2 * _SMALLEST_GAIN:g}, "
            f"got {y[tiny & (y != 0)][0]:g}; scale the grades"
        )


def gain_of_grades(gain: Gain, y: np.ndarray) -> np.ndarray:
    """Return the gain of each grade.

    Parameters
    ----------
    gain : {"exp2", "linear"}, callable, mapping or array
        ``2^y - 1``; ``y``; a function of an array of grades; a mapping from grade to
        gain; or a table indexed by integer grades.
    y : ndarray of shape (n_documents,)
        Grades.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64

    Raises
    ------
    ValueError
        If a gain is unknown, negative, not finite, or beyond the range of doubles when
        it is summed.
    """
    if isinstance(gain, str):
        if gain not in _GAINS:
            known = "'exp2', 'linear', a function, a mapping or a table"
            raise ValueError(f"gain must be {known}, got {shown(gain)}")
        return _GAINS[gain](y)
    if isinstance(gain, Mapping):
        values = _mapped_gain(gain, y)
    elif callable(gain):
        with calling("gain"):
            found = gain(y.copy())  # which a slip of the user's may change
        values = as_numbers(found, "the result of the function gain")
    else:
        values = _table_gain(gain, y)
    if values.shape != y.shape:
        raise ValueError(f"gain returned shape {values.shape} for grades of {y.shape}")
    if not np.isfinite(values).all() or (len(values) and values.min() < 0):
        raise ValueError("gain must be finite and not negative for every grade")
    _check_range(values)
    return np.ascontiguousarray(values)


def _letor_discount(ranks):
    """Discount of the LETOR scripts: 1 for ranks 1 and 2, then 1 / log2(rank)."""
    return 1.0 / np.log2(np.maximum(ranks, 2.0))


_DISCOUNTS = {
    "log2": lambda ranks: 1.0 / np.log2(1.0 + ranks),
    "letor": _letor_discount,
    "reciprocal": lambda ranks: 1.0 / ranks,
}


def discount_of_ranks(
    discount: Discount, n_ranks: int, k: int | None = None
) -> np.ndarray:
    """Return the discount of the ranks 1 to ``n_ranks``, 0 beyond ``k``.

    Parameters
    ----------
    discount : {"log2", "letor", "reciprocal"}, callable or array
        ``1 / log2(1 + j)``; 1 for the first two ranks and ``1 / log2(j)`` after; ``1 /
        j``; a function of an array of 1-based ranks; or a table, 0 beyond its end.
    n_ranks : int
        Length of the result.
    k : int, default=None
        Cut-off.

    Returns
    -------
    ndarray of shape (n_ranks,), dtype float64

    Raises
    ------
    ValueError
        If a discount is negative or not finite.
    """
    n = n_ranks if k is None else min(k, n_ranks)
    ranks = np.arange(1, n + 1, dtype=np.float64)
    values = np.zeros(n_ranks)
    if isinstance(discount, str):
        values[:n] = _DISCOUNTS[discount](ranks)
        return values
    if callable(discount):
        with calling("discount"):
            found = discount(ranks)
        values[:n] = numbers_of_function("discount", found, n)
    else:
        table = as_numbers(discount, "discount")
        if table.ndim != 1:
            raise ValueError(f"discount table must be 1D, got {table.ndim}D")
        if not table.any():
            raise ValueError(
                "discount must be above 0 for at least one rank, got "
                f"{shown(discount)}; no document would count"
            )
        n = min(n, len(table))
        values[:n] = table[:n]
    if not np.isfinite(values).all() or (len(values) and values.min() < 0):
        raise ValueError("discount must be finite and not negative for every rank")
    return values


def falling(discount: np.ndarray) -> np.ndarray:
    """Return the discount of ranks that falls with the rank, or raise an error.

    Parameters
    ----------
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as `discount_of_ranks` returns it.

    Returns
    -------
    ndarray of shape (n_ranks,)
        The same array.

    Raises
    ------
    ValueError
        If a discount exceeds that of the rank before it by more than rounding.
    """
    rises = np.diff(discount) > _ROUNDING * discount[:-1]
    if rises.any():
        rank = int(np.argmax(rises)) + 1
        raise ValueError(
            "discount must not rise with the rank, because the order by grade would "
            f"not be the best one, by which the measure divides; it is "
            f"{discount[rank - 1]:g} at rank {rank} and {discount[rank]:g} at rank "
            f"{rank + 1}"
        )
    return discount
